"""Bad requests and what is answered, through both doors: status, code and field, and nothing left behind."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import httpx
import pytest

from tests.doors.conftest import CHARGE, INTENT, Wire, method
from workbench.merchant.receiver import Arrival

LIVE_SECRET = "sk" + "_live_" + "x" * 24
LIVE_PUBLISHABLE = "pk" + "_live_" + "x" * 24
OTHER_TEST_KEY = "sk" + "_test_" + "x" * 24
MEGABYTE = 1 << 20
DEEP = "[" * 40 + "]" * 40
DEEPER = "[" * 100_000
WITHIN = "payment_method.mobile_money"


class Given:
    """What stands before a bad request is sent: an intent, and for some a prompt or a payment."""

    def __init__(self, wire: Wire, state: str = "an intent") -> None:
        self.wire = wire
        self.bench = wire.bench
        self.intent = wire.intent().json()
        self.path = f"/v1/payment_intents/{self.intent['id']}"
        self.number = wire.new_number()
        if state in ("prompted", "paid"):
            wire.confirm(self.intent["id"], self.number)
        if state == "paid":
            wire.pin(self.number)
        wire.bench.clock.advance(0)

    def confirm(self, headers: Mapping[str, str] | None = None, **fields: str | None) -> httpx.Response:
        body = self.wire.written({"payment_method": method(), **fields})
        return self.wire.post(f"{self.path}/confirm", body, self.wire.bearer if headers is None else headers)

    def intent_with(self, headers: Mapping[str, str]) -> httpx.Response:
        return self.wire.post("/v1/payment_intents", self.wire.written(INTENT), headers)

    def charge_with(self, headers: Mapping[str, str]) -> httpx.Response:
        body = self.wire.written({**CHARGE, "phone": json.dumps(self.number)})
        return self.wire.post("/v1/charges", body, headers)

    def get(self, path: str, authorization: str | None = None) -> httpx.Response:
        return self.wire.get(path, authorization and {"Authorization": authorization})

    def open(self, path: str, content: bytes, authorization: str | None = None) -> httpx.Response:
        """A POST with no key, or with what stands for one."""
        return self.wire.post(path, content, {"Authorization": authorization} if authorization else {})

    def body(self, path: str, content: bytes) -> httpx.Response:
        """This body to this operation, with all else in order."""
        own = self.wire.basic if path == "/v1/charges" else self.wire.bearer
        return self.wire.post(path, content, {**own, "Idempotency-Key": self.wire.new_key()})

    def script(self, answers: list[str] | None, phone: str = "+260961234567") -> httpx.Response:
        told = {"phone": phone, "answers": answers}
        body = {name: each for name, each in told.items() if each is not None}
        return self.body("/sandbox/operator/script", json.dumps(body).encode())

    def typed(self, content_type: str | None) -> httpx.Response:
        headers = self.wire.bearer | ({} if content_type is None else {"Content-Type": content_type})
        return self.bench.http.post("/v1/payment_intents", content=self.wire.written(INTENT), headers=headers)

    def plain(self, verb: str, path: str) -> httpx.Response:
        return self.bench.http.request(verb, path, headers=self.wire.bearer)

    def too_much(self, verb: str, path: str) -> httpx.Response:
        """Two mebibytes, in chunks, that tell no length."""
        chunks = iter([b"x" * MEGABYTE] * 2)
        return self.bench.http.request(verb, path, content=chunks, headers=self.wire.bearer)


Send = Callable[[Given], httpx.Response]
SendKey = Callable[[Given, str], httpx.Response]


class Case(NamedTuple):
    name: object
    send: Send
    status: int
    code: str
    param: str | None = None
    given: str = "an intent"


# Both codes → the JSON texts of an amount that are refused with them: of an intent, of a charge.
AMOUNTS: Mapping[tuple[str | None, str | None], list[str | None]] = {
    ("amount_not_positive", "amount_not_positive"): ["0", "0.00", "-0.0", "-150"],
    ("amount_too_precise", "parameter_invalid"): [
        "150.005", "150.001", "150." + "0" * 30 + "1", "149." + "9" * 40, "1e-400", "1e-999999999"],
    ("number_invalid", "number_invalid"): ["NaN", "Infinity", "-Infinity", "1e99999999999999999999", "9" * 500],
    ("amount_too_large", "parameter_invalid"): ["1e400", "1e999999999"],
    ("amount_too_large", None): ["10000000000.00"],
    (None, "amount_too_large"): ["1000000000000"],
    (None, "parameter_invalid"): ["150.5", str(2**63)],
    ("parameter_invalid", "parameter_invalid"): ['"150"', "true", "null", "[150]", '{"value": 150}'],
    ("parameter_missing", "parameter_missing"): [None],
}  # fmt: skip
# Code → the JSON texts that are refused with it.
CURRENCIES: Mapping[str, list[str | None]] = {
    "currency_unsupported": ['"USD"', '""', '" ZMW"'], "currency_retired": ['"ZMK"', '"zmk"'],
    "parameter_invalid": ["967", "null"], "parameter_missing": [None],
}  # fmt: skip
PHONES: Mapping[str, list[str | None]] = {
    "phone_without_wallet": ['"+260211234567"', '"+260981234567"', '"+260791234567"'],
    "phone_invalid": [
        '"+12025550123"', '"0971234567"', '"+260 97 1234567"', '"+260-97-1234567"', '"260971234567"', '"+26097123456"',
        '"+2609712345678"', r'"+260971234567\n"', '"+26097１２３４５６７"', '""'],  # noqa: RUF001  full-width digits are the point
    "parameter_invalid": ["260971234567"], "parameter_missing": [None],
}  # fmt: skip
OPERATORS: Mapping[str, list[str | None]] = {
    "operator_unknown": ['"vodafone"', '""'], "parameter_invalid": ["1"], "parameter_missing": [None],
}  # fmt: skip
PINS = ("abcd", "123", "12345", "", "１２３４")  # noqa: RUF001  the same

# Bodies that are no JSON object, the same for every operation: code, field → the bytes.
NO_BODIES: Mapping[tuple[str, str | None], list[bytes]] = {
    ("body_not_json", None): [
        b"amount=150.00", b'{"amount": 150.00, "curr', b'{"amount": 150.00,}', b"{}{}", b"\xef\xbb\xbf{}", b"   "],
    ("parameter_invalid", None): [b'[{"amount": 150.00}]', b'"amount"', b"null"],
    ("body_too_deep", None): [f'{{"metadata": {DEEP}}}'.encode(), DEEPER.encode()],
    ("duplicate_key", "amount"): [b'{"amount": 1, "amount": 100}', b'{"amount": 1, "\\u0061mount": 100}'],
    ("duplicate_key", "color"): [
        b'{"metadata": {"color": "green", "color": "red"}}', b'{"metadata": [{"color": "green", "color": "red"}]}'],
    ("body_not_utf8", None): ['{"description": "Bäume"}'.encode("latin-1"), '{"amount": 150}'.encode("utf-16"),
                              b'{"\\udf3f": 1}'],
    ("body_not_utf8", "description"): [b'{"description": "\\ud83c"}'],
    ("body_missing", None): [b""],
}  # fmt: skip
FORM = "application/x-www-form-urlencoded"
MEDIA_TYPES = (FORM, "text/plain", "application/jsonp",
               "application/json; charset=latin-1", None)  # fmt: skip


def amounts() -> Iterator[Case]:
    for (of_intent, of_charge), texts in AMOUNTS.items():
        for text in texts:
            if of_intent:
                yield Case(text, lambda g, t=text: g.wire.intent(amount=t), 400, of_intent, "amount")
            if of_charge:
                yield Case(text, lambda g, t=text: g.wire.charge(amount=t), 400, of_charge, "amount")


def fields() -> Iterator[Case]:
    tables: list[tuple[Mapping[str, list[str | None]], str, Callable[[Given, str | None], httpx.Response]]] = [
        (CURRENCIES, "currency", lambda g, text: g.wire.intent(currency=text)),
        (CURRENCIES, "currency", lambda g, text: g.wire.charge(currency=text)),
        (PHONES, "phone", lambda g, text: g.wire.charge(phone=text)),
        (PHONES, f"{WITHIN}.phone", lambda g, text: g.confirm(payment_method=method(phone=text))),
        (OPERATORS, "channel", lambda g, text: g.wire.charge(channel=text)),
        (OPERATORS, f"{WITHIN}.provider", lambda g, text: g.confirm(payment_method=method(provider=text))),
    ]
    for table, param, send in tables:
        for code, texts in table.items():
            for text in texts:
                yield Case((param, text), lambda g, s=send, t=text: s(g, t), 400, code, param)


def bodies() -> Iterator[Case]:
    for (code, param), contents in NO_BODIES.items():
        for path, content in itertools.product(("/v1/payment_intents", "/v1/charges"), contents):
            yield Case((path, content[:50]), lambda g, p=path, c=content: g.body(p, c), 400, code, param)
    for given in MEDIA_TYPES:
        yield Case(given, lambda g, t=given: g.typed(t), 415, "media_type_unsupported", "Content-Type")
    for text in PINS:
        yield Case(text, lambda g, t=text: g.wire.pin(g.number, t), 400, "pin_invalid", "text", given="prompted")


# Status, code, field, and in what state the intent is → the requests that are so refused.
Table = Mapping[tuple[object, ...], list[Send]]
TOKEN, REFRESH = "/v1/auth/token", "/v1/auth/refresh"
OTHER = f"Bearer {OTHER_TEST_KEY}"
KEYS: Table = {
    (401, "key_missing"): [
        lambda g: g.intent_with({}),
        lambda g: g.charge_with({}),
        lambda g: g.wire.get(g.path, {}),
        lambda g: g.intent_with({"Authorization": ""}),
    ],
    (401, "key_invalid"): [
        lambda g: g.intent_with({"Authorization": OTHER}),
        lambda g: g.charge_with(g.wire.user(OTHER_TEST_KEY)),
        lambda g: g.open("/plants", b"{}", OTHER),
        lambda g: g.intent_with({"Authorization": f"Bearer {str(g.bench.secret_key)[:-1]}"}),
        lambda g: g.intent_with({"Authorization": "Bearer"}),
        lambda g: g.charge_with({"Authorization": "Basic %%%"}),
        lambda g: g.charge_with({"Authorization": "Basic /////w=="}),
        lambda g: g.charge_with(g.wire.user(str(g.bench.secret_key), "green")),
        lambda g: g.charge_with(g.wire.user("", str(g.bench.secret_key))),
    ],
    (401, "scheme_wrong"): [
        lambda g: g.intent_with({"Authorization": "open sesame"}),
        lambda g: g.intent_with({"Authorization": str(g.bench.secret_key)}),
        lambda g: g.intent_with(g.wire.basic),
        lambda g: g.charge_with(g.wire.bearer),
    ],
    (403, "key_not_allowed"): [
        lambda g: g.intent_with(g.wire.publishable),
        lambda g: g.charge_with(g.wire.user(str(g.bench.publishable_key))),
        lambda g: g.wire.get("/sandbox/trace", g.wire.publishable),
        lambda g: g.wire.post("/v1/webhook_endpoints", b"{}", g.wire.publishable),
    ],
    (403, "client_secret_missing", "client_secret"): [
        lambda g: g.wire.get(g.path, g.wire.publishable),
        lambda g: g.confirm(g.wire.publishable),
        lambda g: g.confirm(g.wire.publishable, client_secret="null"),
    ],
    (403, "client_secret_wrong", "client_secret"): [
        lambda g: g.confirm(g.wire.publishable, client_secret='"green"'),
        lambda g: g.confirm(client_secret='"green"'),
        lambda g: g.get(f"{g.path}?client_secret=green"),
    ],
    (401, "refresh_token_invalid", "refresh_token"): [lambda g: g.open(REFRESH, b'{"refresh_token": "green"}')],
    (400, "parameter_missing", "refresh_token"): [lambda g: g.open(REFRESH, b"")],
    (401, "credentials_wrong", "password"): [lambda g: g.open(TOKEN, b'{"email": "a@b.c", "password": "wrong"}')],
    (400, "parameter_invalid", "password"): [lambda g: g.open(TOKEN, b'{"email": "a@b.c", "password": ""}')],
    (400, "parameter_invalid", "email"): [lambda g: g.open(TOKEN, b'{"email": "ada", "password": "green"}')],
}
LIVE_BEARER = f"Bearer {LIVE_SECRET}"
LIVE: Table = {
    (401, "live_key_in_sandbox"): [
        *(lambda g, spelling=each: g.intent_with({"Authorization": spelling}) for each in (
            LIVE_BEARER, f"Bearer {LIVE_PUBLISHABLE}", f"bearer {LIVE_SECRET}", f"Bearer  {LIVE_SECRET}", LIVE_SECRET,
            f"Token {LIVE_SECRET}")),
        *(lambda g, pair=each: g.charge_with(g.wire.user(*pair)) for each in (
            (LIVE_SECRET,), (LIVE_PUBLISHABLE,), ("", LIVE_SECRET), ("nobody", LIVE_SECRET))),
        lambda g: g.open("/plants", b"{}", LIVE_BEARER),
        lambda g: g.open(TOKEN, b"{}", LIVE_BEARER),
        lambda g: g.get("/v1/nothing", LIVE_BEARER),
        lambda g: g.get("/sandbox/clock", LIVE_BEARER),
        lambda g: g.open(REFRESH, f'{{"refresh_token": "{LIVE_SECRET}"}}'.encode()),
        lambda g: g.get(f"/v1/charges?key={LIVE_SECRET}"),
        *(lambda g, given=each: g.intent_with({**g.wire.bearer, **given}) for each in (
            {"X-Api-Key": LIVE_SECRET}, {"Authorization": f"Basic {LIVE_SECRET}:"},
            {"Authorization": f'Bearer "{LIVE_SECRET}"'})),
    ],
}  # fmt: skip
STATES: Table = {
    (400, "parameter_invalid", "payment_method_types"): [
        lambda g, types=each: g.wire.intent(payment_method_types=types) for each in ('["card"]', "[]")],
    (400, "parameter_invalid", "type"): [lambda g: g.wire.charge(type='"card"')],
    (400, "parameter_invalid", "payment_method.type"): [lambda g: g.confirm(payment_method=method(kind="card"))],
    (404, "intent_not_found", "id"): [
        lambda g: g.get("/v1/payment_intents/pi_none"), lambda g: g.wire.confirm("pi_none", g.number)],
    (404, "charge_not_found", "id"): [
        lambda g: g.get("/v1/charges/ch_none"), lambda g: g.get(f"/v1/charges/{g.intent['id']}")],
    (409, "state_conflict", "status", "prompted"): [lambda g: g.confirm()],
    (409, "state_conflict", "status", "paid"): [lambda g: g.confirm()],
    (409, "no_prompt", "phone", "paid"): [lambda g: g.wire.pin(g.number)],
    (409, "no_prompt", "phone"): [
        lambda g: g.wire.pin(g.number),
        *(lambda g, key=each: g.wire.press(g.number, key) for each in ("cancel", "ignore"))],
    (400, "parameter_missing", "text", "prompted"): [lambda g: g.wire.press(g.number, "input", b"{}")],
    (400, "phone_without_wallet", "phone"): [
        lambda g: g.script([], "+260981234567"), lambda g: g.get("/sandbox/phones/+260211234567"),
        lambda g: g.get("/sandbox/phones/+260211234567/messages")],
    **{(400, code, field): [lambda g, body=each: g.body("/sandbox/clock/advance", body) for each in wrong]
       for code, field, wrong in (
           ("parameter_invalid", "seconds", [
               b'{"seconds": %s}' % text for text in (b"-1", b"1e12", b"1e999999", b"0.0001")]),
           ("parameter_invalid", "days", [b'{"days": "3"}', b'{"days": -1}', b'{"days": 1000000}']),
           ("parameter_invalid", "hours", [b'{"hours": 1.5}']),
           ("parameter_invalid", "minutes", [b'{"minutes": null}']),
           ("parameter_missing", "seconds", [b"{}", b'{"day": 3}']))},
    **{(400, code, "answers"): [lambda g, answers=each: g.script(answers) for each in wrong]
       for code, wrong in (
           ("scenario_unknown", [["approve", "person"], ["bank_refused"]]),
           ("parameter_invalid", [["approve"] * 101]), ("parameter_missing", [None]))},
    (400, "phone_invalid", "phone"): [lambda g: g.script([], "0961234567")],
    (400, "parameter_invalid", "since"): [lambda g: g.get("/sandbox/trace?since=yesterday")],
}  # fmt: skip
HEADERS: Table = {
    (400, "version_unknown", "Api-Version"): [
        lambda g, named=each: g.intent_with({**g.wire.bearer, "Api-Version": named}) for each in ("2", "")],
    (400, "idempotency_key_missing", "Idempotency-Key"): [lambda g: g.charge_with(g.wire.basic)],
    (400, "idempotency_key_invalid", "Idempotency-Key"): [
        *(lambda g, key=each: g.charge_with({**g.wire.basic, "Idempotency-Key": key})
          for each in ("", '""', "k" * 256, "a\tb", "a, b", '"a", "b"', '"a', r'"a\b"', '"a"b"')),
        lambda g: g.intent_with({**g.wire.bearer, "Idempotency-Key": "k" * 256}),
    ],
    (413, "body_too_large"): [
        lambda g: g.wire.intent(description=json.dumps("x" * MEGABYTE)),
        lambda g: g.wire.charge(reference=json.dumps("x" * 3 * MEGABYTE)),
        *(lambda g, verb=verb, path=path: g.too_much(verb, path) for verb, path in (
            ("POST", "/v1/dead_letters/replay"), ("POST", "/sandbox/reset"), ("GET", "/v1/charges"),
            ("GET", "/sandbox/clock"), ("DELETE", "/v1/webhook_endpoints/we_x"))),
    ],
    (404, "path_not_found"): [lambda g, path=each: g.get(path) for each in ("/v1/nothing", "/v2", "/plants/")],
    (405, "method_not_allowed"): [
        lambda g: g.plain("PUT", g.path),
        *(lambda g, asked=each: g.plain(*asked.split()) for each in (
            "DELETE /v1/payment_intents", "GET /plants", "DELETE /sandbox/clock"))],
}  # fmt: skip


def cases_of(table: Table) -> Iterator[Case]:
    for answer, sends in table.items():
        for number, send in enumerate(sends):
            yield Case((answer, number), send, *answer)


TABLES = {"keys": KEYS, "live": LIVE, "states": STATES, "headers": HEADERS}
GROUPS: Mapping[str, Iterable[Case]] = {
    "amounts": [*amounts()],
    "fields": [*fields()],
    "bodies": [*bodies()],
    **{name: [*cases_of(table)] for name, table in TABLES.items()},
}
CLEAR_FROM = 14
"""`id is required.` is the shortest message that says what is wrong."""


class Left(NamedTuple):
    """What is compared before and after bad requests: the entries, the events, the receiver's last message."""

    entries: int
    events: set[str]
    last: Arrival | None


def look(wire: Wire, since: int) -> Left:
    wire.bench.clock.advance(0)
    arrivals = wire.bench.receiver.arrivals
    return Left(len(wire.entries()), wire.events(since), arrivals[-1] if arrivals else None)


@pytest.mark.parametrize("group", GROUPS)
def test_a_bad_request_is_refused_by_name_and_leaves_nothing(wire: Wire, group: str):
    since, bench = wire.last_seq(), wire.bench
    given = {state: Given(wire, state) for state in ("an intent", "prompted", "paid")}
    hidden = [str(bench.secret_key), str(bench.publishable_key), *bench.receiver.secrets,
              *(each.intent["client_secret"] for each in given.values()),
              LIVE_SECRET, LIVE_PUBLISHABLE, OTHER_TEST_KEY]  # fmt: skip
    before = look(wire, since)
    for case in GROUPS[group]:
        response = case.send(given[case.given])
        problem = response.json()
        told = response.status_code, problem.get("code"), problem.get("param")
        assert told == (case.status, case.code, case.param), case.name
        assert_problem(response)
        # What is wrong with a PIN the customer reads, who knows of no field.
        if case.status == 400 and case.param and case.code != "pin_invalid":
            assert case.param.rpartition(".")[2] in problem["detail"], case.name
        assert not [secret for secret in hidden if secret in response.text], case.name
    assert look(wire, since) == before


def assert_problem(response: httpx.Response) -> None:
    """RFC 9457 with the documented `error` and `message` as members too."""
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["request-id"] == problem["request_id"]
    assert problem["status"] == problem["error"] == response.status_code
    assert problem["message"] == problem["detail"]
    assert len(problem["message"]) > CLEAR_FROM
    assert {"type", "title", "instance"} <= problem.keys()
    assert "%E2%80%A2" not in problem["instance"], "a masked number is readable"
    if response.status_code == 401:
        assert "realm=" in response.headers["www-authenticate"]
    if response.status_code == 405:
        assert response.headers["allow"]


def test_a_media_type_is_taken_in_every_spelling(wire: Wire):
    parameters = ("", "; charset=utf-8", ';charset="UTF-8"')
    for content_type in ("Application/JSON", *(f"application/json{each}" for each in parameters)):
        assert Given(wire).typed(content_type).status_code == 200


WRONG_CHARGE = {"amount": "0", "currency": '"USD"', "type": '"card"', "channel": '"vodafone"', "phone": '"0961234567"'}
WRONG_HOOK = b'{"url": "ftp://a.example", "enabled_events": ["charge.paid"]}'
WRONG_METHOD = method('"1"', '"vodafone"', "card")
SCRIPT = b'{"phone": "+260961234567", "answers": ["none"]}'


def test_every_field_that_breaks_a_rule_is_listed(wire: Wire):
    given, inside = Given(wire), "/" + WITHIN.replace(".", "/")
    for response, pointers in (
        (wire.intent(amount='"150"', currency="1", payment_method_types=None),
         "/amount /currency /payment_method_types"),
        (wire.intent(amount="-1", currency='"USD"', payment_method_types='["card"]'),
         "/currency /amount /payment_method_types"),
        (wire.charge(**WRONG_CHARGE), "/currency /amount /type /channel /phone"),
        (given.confirm(payment_method=WRONG_METHOD), f"/payment_method/type {inside}/provider {inside}/phone"),
        (given.body("/v1/payouts", b'{"amount": 0, "currency": "ZMK"}'), "/currency /amount"),
        (given.body("/v1/webhook_endpoints", WRONG_HOOK), "/url /enabled_events"),
        (given.confirm(client_secret='"wrong"'), "/client_secret"),
        (given.body("/v1/refunds", b'{"charge": "ch_0"}'), "/charge"),
        (given.body("/sandbox/operator/script", SCRIPT), "/answers"),
    ):  # fmt: skip
        problem = response.json()
        assert [each["pointer"] for each in problem["errors"]] == pointers.split()
        assert problem["param"] == pointers.split()[0][1:].replace("/", ".")
        assert all(each["detail"] for each in problem["errors"])
        assert problem["errors"][0]["detail"] in problem["detail"]
    # What is no field of the body is not listed.
    for refused in (wire.get("/v1/charges/ch_0"), wire.charge(key="k" * 256)):
        assert refused.json()["param"] in ("id", "Idempotency-Key")
        assert "errors" not in refused.json()


@pytest.mark.socket
def test_a_body_of_exactly_a_mebibyte_is_read_and_so_is_one_in_chunks(wire: Wire):
    body = wire.written(INTENT)
    for content in (body.ljust(MEGABYTE), iter([body[:7], body[7:]])):
        assert wire.post("/v1/payment_intents", content, wire.bearer).status_code == 200


def test_a_path_and_a_key_that_are_not_ascii_are_read_as_they_are_written(wire: Wire):
    for named, shown in (("b\u00e4\u20ac", "b\u00e4\u20ac"), ("%FF", "\ufffd")):
        refused = wire.get(f"/v1/payment_intents/{named}")
        assert (refused.status_code, refused.json()["code"]) == (404, "intent_not_found")
        assert shown in refused.json()["detail"]
    for key in ("Bearer schl\u00fcssel", "Basic schl\u00fcssel", "Basic"):
        refused = wire.bench.http.get("/v1/charges/x", headers={"Authorization": key.encode("latin-1")})
        assert (refused.status_code, refused.json()["code"]) == (401, "key_invalid")


# Where a key lands by mistake → the request that puts it there.
MISPLACED: Mapping[str, SendKey] = {
    "scheme": lambda g, key: g.intent_with({"Authorization": f"Token {key}"}),
    "path": lambda g, key: g.wire.get(f"/v1/payment_intents/{key}"),
    "unknown_path": lambda g, key: g.wire.get(f"/v1/{key}"),
    "query": lambda g, key: g.wire.get(f"{g.path}?client_secret={key}"),
    "currency": lambda g, key: g.wire.intent(currency=json.dumps(key)),
    "channel": lambda g, key: g.wire.charge(channel=json.dumps(key)),
    "type": lambda g, key: g.wire.charge(type=json.dumps(key)),
    "field_twice": lambda g, key: g.body("/v1/payment_intents", f'{{"{key}": 1, "{key}": 1}}'.encode()),
    "version": lambda g, key: g.intent_with({**g.wire.bearer, "Api-Version": key}),
    "content_type": lambda g, key: g.typed(key),
    "client_secret": lambda g, key: g.confirm(client_secret=json.dumps(key)),
    "a form": lambda g, key: g.wire.post(TOKEN, f"password={key}".encode(), {"Content-Type": FORM}),
    "no JSON": lambda g, key: g.open(TOKEN, f"{{'password': '{key}'}}".encode()),
    "a list": lambda g, key: g.open(TOKEN, json.dumps({"email": "a@b.c", "password": [key]}).encode()),
}
# A number in the place of a text.
NUMBERS: Mapping[str, SendKey] = {
    "password": lambda g, number: g.open(TOKEN, f'{{"email": "a@b.c", "password": {number}}}'.encode()),
    "pin": lambda g, number: g.wire.press(g.number, "input", f'{{"text": {number}}}'.encode()),
}


def test_a_key_in_the_wrong_place_is_neither_given_back_nor_in_the_trace(wire: Wire):
    """Messages cut what they quote, so that half of a key is looked for."""
    given = Given(wire)
    for table, key in ((MISPLACED, str(wire.bench.secret_key)), (NUMBERS, "12345678")):
        for place, send in table.items():
            since = wire.last_seq()
            answer = send(given, key)
            assert answer.status_code >= 400, place
            traced = wire.trace(since)
            # A key press is a step of the customer's, and no call of the merchant's.
            assert [row["kind"] for row in traced][-1:] == ["call"] * (place != "pin")
            assert key[:19] not in answer.text + json.dumps(traced), place


def test_no_secret_stands_in_the_trace_of_a_whole_payment(wire: Wire):
    bench, since = wire.bench, wire.last_seq()
    intent_id, phone = wire.prompt()
    wire.pin(phone)
    token = wire.post(TOKEN, b'{"email": "ada@example.com", "password": "monstera-99"}', {}).json()
    wire.post(REFRESH, wire.written({"refresh_token": json.dumps(token["refresh_token"])}), {})
    client_secret = wire.get(f"/v1/payment_intents/{intent_id}").json()["client_secret"]
    tail = wire.new_number()[-7:]
    assert wire.charge(phone=rf'"\u002b26096{tail}"').status_code == 200
    bench.clock.advance(0)
    keys = [str(bench.secret_key), str(bench.publishable_key), wire.basic["Authorization"], *bench.receiver.secrets]
    hidden = [*keys, client_secret, phone[-7:], tail, token["access_token"], token["refresh_token"], "monstera-99"]
    own = bench.trace[-len(wire.trace(since)) :]
    shown = [repr(own), str(list(own)), str(own._repr_mimebundle_()), repr(bench), repr(bench.client)]
    shown += [repr(each) for each in own.exchanges]
    assert not [secret for text in shown for secret in hidden if secret in text]
