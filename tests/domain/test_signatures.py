import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain import signatures, webhooks
from workbench.domain.ids import Draws
from workbench.domain.masking import Secret, mask
from workbench.domain.signatures import SCHEMES, SIGNATURE_HEADER, STANDARD, headers_for, verify
from workbench.domain.webhooks import Signer
from workbench.errors import SignatureRefused
from workbench.resources import fixture

NOW_S = 1_767_592_800
ID = "evt_1"
BODY = '{"id":"evt_1","type":"charge.succeeded","data":{"object":{"amount":150.00,"description":"Café"}}}'.encode()
OURS, OTHERS, OLD = (f"whsec_{base64.b64encode(seed * 32).decode()}" for seed in (b"a", b"b", b"c"))


def signed(body: bytes = BODY, secret: str = OURS, at_s: int = NOW_S) -> dict[str, str]:
    return headers_for(secret, ID, at_s, body)


def signature_of(secret: str, message_id: str = ID, at_s: int = NOW_S, body: bytes = BODY) -> str:
    return headers_for(secret, message_id, at_s, body)[SIGNATURE_HEADER]


def reason(body: bytes, headers: dict[str, str], secrets: Any = (OURS,), **more: Any) -> str:  # noqa: ANN401  some secrets
    with pytest.raises(SignatureRefused) as refused:
        verify(body, headers, secrets, **{"now_s": NOW_S, **more})
    assert refused.value.facts == {"reason": refused.value.reason}
    return refused.value.reason


def test_the_published_example():
    vector = json.loads(fixture("standard_webhooks_vector.json").read_text("utf-8"))
    body = vector["body"].encode()
    for secret in (vector["secret"], f"whsec_{vector['secret']}"):
        headers = headers_for(secret, vector["id"], vector["timestamp"], body)
        assert headers == {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }  # fmt: skip
        assert verify(body, headers, [secret], now_s=vector["timestamp"]) == vector["id"]


KEYS = st.binary(min_size=24, max_size=64)
IDS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", min_size=1, max_size=30)
OBJECTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=10), max_size=4)
JSON_BODIES = OBJECTS.map(lambda value: json.dumps(value).encode())


@given(KEYS, IDS, JSON_BODIES, st.integers(1, 4_000_000_000))
def test_the_reference_library_verifies_ours_and_we_its(key: bytes, message_id: str, body: bytes, at_s: int):
    secret = "whsec_" + base64.b64encode(key).decode()
    library = standardwebhooks.Webhook(secret)
    # That library verifies by the wall clock.
    now_s = int(datetime.now(UTC).timestamp())
    for more in ({}, {"also": [OTHERS]}):
        assert library.verify(body, headers_for(secret, message_id, now_s, body, **more)) == json.loads(body)
    assert library.verify(body, headers_for(OTHERS, message_id, now_s, body, also=[secret])) == json.loads(body)
    signature = library.sign(message_id, datetime.fromtimestamp(at_s, UTC), body.decode())
    assert signature == signature_of(secret, message_id, at_s, body)
    headers = {"webhook-id": message_id, "webhook-timestamp": str(at_s), "webhook-signature": signature}
    assert verify(body, headers, [secret], now_s=at_s) == message_id


def test_any_of_several_signatures_and_secrets_may_match_and_headers_are_named_in_any_case():
    for rename in (str.lower, str.upper, str.title):
        assert verify(BODY, {rename(name): value for name, value in signed().items()}, [OURS], now_s=NOW_S) == ID
    ours, others = (signature_of(secret) for secret in (OURS, OTHERS))
    for text in (f"{others} {ours}", f"{ours} {others}", f"v1a,{ours[3:]} {ours}", f"nonsense  {ours} "):
        assert verify(BODY, {**signed(), "webhook-signature": text}, [OURS], now_s=NOW_S) == ID
    for secrets in ([OURS, OLD], iter([OLD, OURS]), OURS):
        assert verify(BODY, signed(), secrets, now_s=NOW_S) == ID


def test_within_the_tolerance_a_message_is_fresh_and_outside_it_is_not():
    for age_s, tolerance_s in ((-300, 300), (300, 300), (600, 600), (0, 0)):
        assert verify(BODY, signed(at_s=NOW_S - age_s), [OURS], now_s=NOW_S, tolerance_s=tolerance_s) == ID
    for age_s, tolerance_s in ((301, 300), (-301, 300), (601, 600), (1, 0), (NOW_S, 300)):
        why = "timestamp_stale" if age_s > 0 else "timestamp_in_future"
        assert reason(BODY, signed(at_s=NOW_S - age_s), tolerance_s=tolerance_s) == why


def test_each_header_is_needed():
    for name in signed():
        without = {each: value for each, value in signed().items() if each != name}
        assert reason(BODY, {**without, name: ""}) == "header_missing"
        with pytest.raises(SignatureRefused, match=name) as refused:
            verify(BODY, without, [OURS], now_s=NOW_S)
        assert refused.value.reason == "header_missing"


MALFORMED = {
    "webhook-timestamp": [
        "now", "1.5", "-1", " 1767592800", "1767592800\n", "1_767_592_800", "\uff11\uff17", "9" * 13,
    ],
    "webhook-signature": ["v1a,abc", "abc", "V1,abc", " "],
}  # fmt: skip


def test_a_timestamp_is_whole_seconds_a_signature_of_version_1_and_a_secret_whsec_and_base64():
    for header, texts in MALFORMED.items():
        for text in texts:
            assert reason(BODY, {**signed(), header: text}) == f"{header.removeprefix('webhook-')}_malformed"
    for secret in ("", "whsec_", "whsec_not base64", "whsec_é", "whsec_c2hvcnQ=", "whsec_==="):
        assert reason(BODY, signed(), [secret]) == "secret_malformed"
        with pytest.raises(SignatureRefused, match="The secret is not whsec_"):
            signature_of(secret)


MISMATCHED = [
    (BODY, signed(secret=OTHERS)), (BODY + b" ", signed(BODY + b"  ")), (b"", signed()), (b"not json", signed()),
    (BODY.replace(b"150.00", b"15.00"), signed()), (BODY, {**signed(), "webhook-id": "evt_2"}),
    (BODY, {**signed(), "webhook-timestamp": str(NOW_S + 1)}), (BODY, {**signed(), "webhook-id": "\ud800"}),
    *((BODY, {**signed(), "webhook-signature": text}) for text in (
        "v1,", signed()["webhook-signature"][:-2], "v1,é", "v1,\ud800",
    )),
    *((body, signed()) for body in (b'{"a":"\\ud800"}', b'{"\\udfff":1}', b"[" * 100_000, b'{"amount":1e400}',
                                    b'{"amount":' + b"1" * 5_000 + b"}", b"\xff")),
]  # fmt: skip


def test_the_mistake_is_named():
    for body, headers in MISMATCHED:
        assert reason(body, headers) == "signature_mismatch", (body[:40], headers)
    assert reason(BODY, signed(), []) == "signature_mismatch"
    digest = base64.b64decode(signature_of(OURS).removeprefix("v1,"))
    assert reason(BODY, {**signed(), "webhook-signature": f"v1,{digest.hex()}"}) == "signature_is_hex"
    for text in (OURS, OURS.removeprefix("whsec_")):
        assert reason(BODY, signed(secret=base64.b64encode(text.encode()).decode())) == "key_not_decoded"


def test_a_body_that_was_parsed_and_written_again_is_recognised():
    for amount in (b"150.00", b"150.50", b"15000", b"9999999999.99"):
        sent = BODY.replace(b"150.00", amount)
        value = json.loads(sent)
        dense: dict[str, Any] = {"separators": (",", ":")}
        for how in ({}, dense, {**dense, "ensure_ascii": False}, {"indent": 2, "ensure_ascii": False}):
            arrived = json.dumps(value, **how).encode()
            assert arrived == sent or reason(arrived, signed(sent)) == "body_reserialised"


TEXTS = st.dictionaries(st.sampled_from(sorted(signed())), st.text(max_size=20), max_size=3)


@given(st.binary(max_size=40), TEXTS, st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_any_message_and_one_changed_byte_are_refused(body: bytes, headers: dict[str, str], place: int, bits: int):
    with pytest.raises(SignatureRefused):
        verify(body, {**signed(), **headers}, [OURS], now_s=NOW_S)
    changed = bytearray(BODY)
    changed[place] ^= bits
    assert reason(bytes(changed), signed()) in ("signature_mismatch", "body_reserialised")


def test_every_pair_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch):
    pairs = []

    def compare(one: bytes, two: bytes) -> bool:
        pairs.append((one, two))
        return one == two

    monkeypatch.setattr(signatures.hmac, "compare_digest", compare)
    several = " ".join(signature_of(secret) for secret in (OURS, OTHERS, OLD))
    verify(BODY, {**signed(), "webhook-signature": several}, [OURS, OLD], now_s=NOW_S)
    # The first pair fits already, and the others are compared all the same.
    assert len(pairs) == 2 * 3
    assert all(type(one) is type(two) is bytes for one, two in pairs)


# The other schemes, each by its published algorithm, written here again.


def by_stripe(secret: str, at_s: int, body: bytes) -> str:
    """docs.stripe.com/webhooks: the timestamp, a point and the payload, under the endpoint's secret as it is."""
    return hmac.new(secret.encode("utf-8"), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()


def by_github(secret: str, body: bytes) -> str:
    """docs.github.com, "Validating webhook deliveries"."""
    return "sha256=" + hmac.new(secret.encode("utf-8"), msg=body, digestmod=hashlib.sha256).hexdigest()


def of(scheme: str, body: bytes = BODY, secret: str = OURS, at_s: int = NOW_S, **more: Any) -> dict[str, str]:  # noqa: ANN401  of headers_for
    return headers_for(secret, ID, at_s, body, scheme=scheme, **more)


def test_githubs_published_example_and_what_stripes_own_library_computed():
    assert of("github", b"Hello, World!", "It's a Secret to Everybody") == {
        "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    }
    assert of("stripe", b'{"test": 2432232314}', "whsec_test_secret", 1614265330) == {
        "Stripe-Signature": "t=1614265330,v1=10c96c6fd3f320fcfc264cdc4f476c15060ede8e8a08404cea2ddf3b72544a9c"
    }


TEXTS = st.text(min_size=1, max_size=40)


@given(TEXTS, TEXTS, JSON_BODIES, st.integers(1, 4_000_000_000))
def test_each_is_as_it_is_published_and_verified_by_what_was_written_from_it(
    secret: str, other: str, body: bytes, at_s: int
):
    several = f"t={at_s},v1={by_stripe(secret, at_s, body)},v1={by_stripe(other, at_s, body)}"
    assert of("stripe", body, secret, at_s, also=[other]) == {"Stripe-Signature": several}
    # There is room for one.
    assert of("github", body, secret, at_s, also=[other]) == {"X-Hub-Signature-256": by_github(secret, body)}
    found = json.loads(body).get("id", "")
    for headers, scheme in (
        ({"stripe-signature": several}, "stripe"),
        ({"STRIPE-SIGNATURE": f"t={at_s}, v0=nonsense, v1=nonsense, v1={by_stripe(secret, at_s, body)}"}, "stripe"),
        ({"x-hub-signature-256": by_github(secret, body)}, "github"),
    ):
        for secrets in ([secret], [other, secret]):
            assert verify(body, headers, secrets, now_s=at_s, scheme=scheme) == (
                found if isinstance(found, str) else ""
            )


def of_another(scheme: str, digest: bytes) -> dict[str, str]:
    written = SCHEMES[scheme].encode
    return SCHEMES[scheme].write(ID, NOW_S, [written(digest)])


NOT_BASE64 = "whsec_a secret of no form"
BASE64 = base64.b64encode(bytes.fromhex(by_stripe(OURS, NOW_S, BODY))).decode()
BARE = OURS.removeprefix("whsec_")
REASONS: list[tuple[str, str, bytes, dict[str, str]]] = [
    ("stripe", "header_missing", BODY, signed()),
    ("stripe", "header_missing", BODY, {"Stripe-Signature": ""}),
    *(("stripe", "timestamp_malformed", BODY, {"Stripe-Signature": text}) for text in (
        "nonsense", "v1=abc", "t=,v1=abc", "t=-1,v1=abc", "t=1.5,v1=abc", "T=1,v1=abc",
    )),
    *(("stripe", "signature_malformed", BODY, {"Stripe-Signature": text}) for text in (
        f"t={NOW_S}", f"t={NOW_S},v0=abc", f"t={NOW_S},V1=abc",
    )),
    ("stripe", "signature_is_base64", BODY, {"Stripe-Signature": f"t={NOW_S},v1={BASE64}"}),
    ("stripe", "key_not_the_text", BODY, {"Stripe-Signature": f"t={NOW_S},v1={by_stripe(BARE, NOW_S, BODY)}"}),
    ("stripe", "key_not_the_text", BODY, of_another("stripe", hmac.digest(
        base64.b64decode(BARE), f"{NOW_S}.".encode() + BODY, "sha256"))),
    ("stripe", "timestamp_not_signed", BODY, of_another("stripe", hmac.digest(OURS.encode(), BODY, "sha256"))),
    ("stripe", "body_reserialised", json.dumps(json.loads(BODY)).encode(), of("stripe", BODY)),
    ("stripe", "signature_mismatch", BODY, of("stripe", secret=OTHERS)),
    ("stripe", "signature_mismatch", BODY, {"Stripe-Signature": f"t={NOW_S + 1},v1={by_stripe(OURS, NOW_S, BODY)}"}),
    ("stripe", "timestamp_stale", BODY, of("stripe", at_s=NOW_S - 301)),
    ("stripe", "timestamp_in_future", BODY, of("stripe", at_s=NOW_S + 301)),
    ("github", "header_missing", BODY, of("stripe")),
    *(("github", "signature_malformed", BODY, {"X-Hub-Signature-256": text}) for text in (
        "nonsense", "sha1=abc", by_github(OURS, BODY)[7:], "SHA256=abc",
    )),
    ("github", "signature_is_base64", BODY, {"X-Hub-Signature-256": "sha256=" + base64.b64encode(
        bytes.fromhex(by_github(OURS, BODY)[7:])).decode()}),
    ("github", "key_not_the_text", BODY, {"X-Hub-Signature-256": by_github(BARE, BODY)}),
    ("github", "body_reserialised", json.dumps(json.loads(BODY)).encode(), of("github")),
    ("github", "signature_mismatch", BODY.replace(b"150.00", b"15.00"), of("github")),
    ("github", "signature_mismatch", BODY, of("github", secret=OTHERS)),
]  # fmt: skip


def test_a_refusal_by_any_scheme_names_the_mistake():
    for scheme, why, body, headers in REASONS:
        assert reason(body, headers, scheme=scheme) == why, (scheme, headers)
    for scheme in ("stripe", "github"):
        assert reason(BODY, of(scheme), [""], scheme=scheme) == "secret_malformed"
        # A secret of any form is one.
        assert reason(BODY, of(scheme), [NOT_BASE64], scheme=scheme) == "signature_mismatch"
        with pytest.raises(SignatureRefused, match="missing") as refused:
            verify(BODY, signed(), [OURS], now_s=NOW_S, scheme=scheme)
        assert "scheme standard_webhooks" in refused.value.hint
    assert verify(BODY, of("github", at_s=1), [OURS], now_s=NOW_S, scheme="github") == ID, "it has no timestamp"


def test_of_two_times_in_one_header_the_first_is_signed_and_tells_the_age():
    """An old message is not made young by a second time, which nobody signed."""
    given = f"v1={by_stripe(OURS, NOW_S, BODY)}"
    for later_s, expected in ((NOW_S + 300, ""), (NOW_S + 301, "timestamp_stale")):
        first, last = ({"Stripe-Signature": f"{times},{given}"} for times in
                       (f"t={NOW_S},t={later_s}", f"t={later_s},t={NOW_S}"))  # fmt: skip
        if expected:
            assert reason(BODY, first, scheme="stripe", now_s=later_s) == expected
        else:
            assert verify(BODY, first, [OURS], now_s=later_s, scheme="stripe") == ID
        assert reason(BODY, last, scheme="stripe", now_s=later_s) == "signature_mismatch"


@pytest.mark.parametrize("body", [b"no JSON", b"[1]", b'{"id": 5}', b"{}", b"[" * 100_000])
def test_the_id_of_a_message_that_carries_none_in_its_headers_is_the_bodys(body: bytes):
    for scheme in ("stripe", "github"):
        assert verify(BODY, of(scheme), [OURS], now_s=NOW_S, scheme=scheme) == ID
        assert verify(body, of(scheme, body), [OURS], now_s=NOW_S, scheme=scheme) == ""


def test_a_new_secret_has_the_form_of_its_scheme_is_masked_and_is_one_in_every_other():
    for scheme in SCHEMES:
        secret = Draws("7").webhook_secret("we_1", 1, scheme=scheme)
        assert mask(f"{secret}, {Secret(secret)!r}") == "whsec_••••, 'whsec_••••'"
        for other in SCHEMES:
            assert verify(BODY, of(other, secret=secret), [secret], now_s=NOW_S, scheme=other) == ID


@pytest.mark.parametrize("body", [b'{"id": "evt_1"}\n', b'{\n "id": "evt_1"\n}', b"{}", b"{ }\n", b"[{}]", b"7"])
def test_a_body_that_is_changed_on_purpose_is_another_and_stays_json(body: bytes):
    by = Signer(OURS, ID, NOW_S, STANDARD, 300, "application/json")
    for how in ("tampered", "reserialised"):
        changed, headers = webhooks.signed(by, body, how)
        assert (json.loads(changed) is not None, changed == body) == (True, False)
        assert reason(changed, headers) in ("signature_mismatch", "body_reserialised")
