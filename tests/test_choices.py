"""Every alternative that the register offers, seen at work; what has no row here is not offered."""

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from workbench import Workbench, receiver
from workbench.domain.gaps import REGISTER
from workbench.errors import ApiError, PaymentDeclined

PHONE = "+260961234567"
AIRTEL = "+260971234567"
BROKE = "+260960000002"
NOBODY_ANSWERS = "+260960000005"
COMES_LATE = "+260960000010"
ZED = "+260981234567"
DAY_S = 86_400


def bearer(bench: Workbench, key: str = "") -> dict[str, str]:
    return {"Authorization": f"Bearer {key or bench.secret_key!s}"}


def post(bench: Workbench, path: str, body: dict[str, Any], **headers: str) -> Any:  # noqa: ANN401  an httpx response
    return bench.http.post(path, json=body, headers={**bearer(bench), **headers})


def intent(bench: Workbench, **changes: Any) -> Any:  # noqa: ANN401  an httpx response
    body = {"amount": 100, "currency": "ZMW", "payment_method_types": ["mobile_money"], **changes}
    return post(bench, "/v1/payment_intents", {name: value for name, value in body.items() if value is not None})


def charge(bench: Workbench, *, key: str | None = "k", **changes: Any) -> Any:  # noqa: ANN401  an httpx response
    body = {"amount": 10_000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": PHONE, **changes}
    headers = {} if key is None else {"Idempotency-Key": key}
    return bench.http.post("/v1/charges", json=body, headers=headers, auth=(str(bench.secret_key), ""))


def confirmed(bench: Workbench, phone: str = PHONE, **more: Any) -> Any:  # noqa: ANN401  an httpx response
    made = intent(bench).json()
    method = {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": "mtn"}}
    return post(bench, f"/v1/payment_intents/{made['id']}/confirm", {"payment_method": method, **more})


def fees(bench: Workbench) -> tuple[int, int]:
    charge(bench)
    balance = bench.ledger.accounts.set_index("code")["balance_minor"]
    return int(balance.get(4000, 0)), int(balance.get(5000, 0))


def attempts(bench: Workbench, status: int, *, seconds: int = 10 * DAY_S) -> list[int]:
    """How many attempts there are at a receiver that answers `status` in so many seconds, and at how many moments."""
    receiver._STATUS.setdefault(status, f"{status} As Asked")  # noqa: SLF001  statuses that the receiver never gives
    answer = bench.receiver._respond  # noqa: SLF001  the merchant's server, answering otherwise
    bench.receiver._respond = lambda environ: (status, answer(environ)[1])  # type: ignore[method-assign]  # noqa: SLF001  the same
    charge(bench)
    bench.clock.advance(seconds)
    moments = [row["at"] for row in bench.trace if row["kind"] == "webhook"]
    return [len(moments), len(set(moments))]


def failing_for_a_week(bench: Workbench) -> str:
    """The state of an endpoint that answered nothing but 500 to an event a day."""
    bench.receiver._respond = lambda environ: (500, b"")  # type: ignore[method-assign]  # noqa: ARG005, SLF001  the merchant's server, down
    for day in range(7):
        charge(bench, key=f"day-{day}")
        bench.clock.advance(days=1)
    (endpoint,) = bench.http.get("/v1/webhook_endpoints", headers=bearer(bench)).json()["data"]
    return str(endpoint["status"])


def first_in_the_body(bench: Workbench) -> list[object]:
    """What a message begins with, and what is read of it alike in any form."""
    intent(bench)
    (event,) = bench.client.events.list().data
    name = next(iter(json.loads(bench.receiver.arrivals[-1].body)))
    return [name, event.request.id is not None, event.timestamp == bench.receiver.events[-1].timestamp]


def arrived(bench: Workbench) -> list[str]:
    intent(bench)
    last = bench.receiver.arrivals[-1]
    return [last.verdict, *last.headers]


def in_which_order(bench: Workbench) -> list[str]:
    """The types of the events, as they came within 10 s, of an intent that is asked for and paid at once."""
    confirmed(bench)
    bench.phone(PHONE).enter_pin("1234")
    bench.clock.advance(10)
    return [each.type.partition(".")[2] for each in bench.receiver.events]


def come_after(bench: Workbench, *moments_s: int) -> list[int]:
    """How many messages of a charge have come after each of some steps."""
    charge(bench)
    return after_each(bench, moments_s, lambda: len(bench.receiver.arrivals))


def told_of(bench: Workbench) -> list[str]:
    """The types of events of an intent that is made, a charge and a decline."""
    intent(bench), charge(bench), charge(bench, key="declined", phone=BROKE)
    return [each.type for each in bench.receiver.events]


def failing(bench: Workbench, *, seconds: int) -> None:
    """A charge whose message a server that is down does not take, and so much time."""
    answer = bench.receiver._respond  # noqa: SLF001  the merchant's server
    bench.receiver._respond = lambda environ: (500, b"")  # type: ignore[method-assign]  # noqa: ARG005, SLF001  down
    charge(bench)
    bench.clock.advance(seconds)
    bench.receiver._respond = answer  # type: ignore[method-assign]  # noqa: SLF001  up again


def dead_letters(bench: Workbench) -> list[int]:
    """How many dead letters there are ten days and forty days after it."""
    failing(bench, seconds=10 * DAY_S)
    look = lambda: len(bench.client.deliveries.list(status="dead_letter"))  # noqa: E731  looked at twice
    return after_each(bench, (0, 30 * DAY_S), look)


def sent_again(bench: Workbench) -> list[str]:
    """What a receiver that dedupes by id makes of a message that is replayed."""
    charge(bench)
    bench.client.deliveries.replay(bench.client.deliveries.list().data[0].id)
    return [each.verdict for each in bench.receiver.arrivals]


def order_of(bench: Workbench) -> list[str]:
    """The types of an intent's events as they were taken by a server that was down for the first."""
    answer, seen = bench.receiver._respond, list[object]()  # noqa: SLF001  the merchant's server

    def down_at_first(environ: Any) -> tuple[int, bytes]:  # noqa: ANN401  of WSGI
        seen.append(environ)
        return answer(environ) if len(seen) > 1 else (500, b"")

    bench.receiver._respond = down_at_first  # type: ignore[method-assign]  # noqa: SLF001  the same
    made = bench.client.payment_intents.create(amount=Decimal(100))
    bench.client.payment_intents.cancel(made.id)
    bench.clock.advance(10)
    return [each.type.partition(".")[2] for each in bench.receiver.events]


def declined_to_the_client(bench: Workbench) -> list[object]:
    """What the client makes of a decline, in whatever form it comes."""
    with pytest.raises(PaymentDeclined) as declined:
        bench.client.charges.create(amount=100, channel="mtn", phone=BROKE, idempotency_key="to-the-client")
    error = declined.value
    return [error.decline_code, error.code, bench.client.charges.retrieve(error.facts["charge"]).status == "failed"]


def with_a_token(bench: Workbench) -> list[int]:
    token = str(bench.client.auth.token(email="a@example.com", password="open sesame").access_token)
    plant = bench.http.post("/plants", json={"id": 1, "name": "Monstera"}, headers=bearer(bench, token))
    return [plant.status_code, bench.http.get("/v1/balance", headers=bearer(bench, token)).status_code]


def reused(bench: Workbench) -> tuple[int, str]:
    charge(bench)
    answer = charge(bench, amount=1)
    return answer.status_code, answer.json()["code"]


def scripted(bench: Workbench) -> int:
    post(bench, "/sandbox/operator/script", {"phone": PHONE, "answers": ["limit_reached"]})
    return int(charge(bench, key="scripted").status_code)


def late_by(bench: Workbench, seconds: int) -> str:
    """The verdict on the last message, received again so many seconds later."""
    charge(bench)
    last = bench.receiver.arrivals[-1]
    bench.clock.advance(seconds)
    bench.receiver.receive(last.body, last.headers)
    return bench.receiver.arrivals[-1].verdict


def after_each(bench: Workbench, steps: tuple[int, ...], look: Callable[[], object]) -> list[Any]:
    """What is seen when the clock has moved by each of some steps."""
    return [(bench.clock.advance(step), look())[1] for step in steps]


def expired_after(bench: Workbench, seconds: int) -> list[str]:
    made = confirmed(bench, NOBODY_ANSWERS).json()["id"]
    return after_each(bench, (seconds - 1, 1), lambda: bench.client.payment_intents.retrieve(made).status)


def kept_for(bench: Workbench, seconds: int) -> list[bool]:
    return after_each(bench, (0, seconds - 1, 1), lambda: "Idempotent-Replayed" in charge(bench).headers)


def wrong_pin(bench: Workbench) -> bool:
    confirmed(bench)
    return bench.phone(PHONE).enter_pin("0000").waiting


def refresh_by_header(bench: Workbench) -> int:
    token = bench.client.auth.token(email="a@example.com", password="open sesame")
    return int(bench.http.post("/v1/auth/refresh", headers=bearer(bench, str(token.access_token))).status_code)


def confirm_as_app(bench: Workbench) -> int:
    made = bench.client.payment_intents.create(amount=Decimal(100))
    app = bench.client_with(str(bench.publishable_key))
    try:
        app.payment_intents.confirm(made.id, phone=PHONE, provider="mtn", client_secret=str(made.client_secret))
    except ApiError as error:
        return error.status
    return 200


def waiting(bench: Workbench) -> list[object]:
    made = charge(bench)
    prompted = bench.phone(PHONE).waiting
    if prompted:
        bench.phone(PHONE).enter_pin("1234")
    now = bench.client.charges.retrieve(made.json()["id"]).status
    return [made.status_code, made.json()["status"], prompted, now, [each.type for each in bench.receiver.events]]


def unanswered(bench: Workbench, phone: str, seconds: int) -> list[str]:
    """Where an intent and a charge of its own stand after so many seconds in which nobody pressed anything."""
    made, alone = confirmed(bench, phone).json(), charge(bench, phone=phone).json()
    bench.clock.advance(seconds)
    intents, charges = bench.client.payment_intents, bench.client.charges
    return [intents.retrieve(made["id"]).status, charges.retrieve(alone["id"]).status]


def cleared(bench: Workbench) -> list[object]:
    """What is available of a payment now, after the coming midnight, and after another."""
    charge(bench)
    balance = bench.client.balance
    return after_each(bench, (0, DAY_S, DAY_S), lambda: str(balance.retrieve().available[0].amount))


def paid_out(bench: Workbench) -> list[tuple[str, str]]:
    charge(bench)
    bench.clock.advance(2 * DAY_S)
    return [(str(each.amount), each.status) for each in bench.client.payouts.list()]


def refunded(bench: Workbench) -> list[int]:
    """What is left of the fee on 100.01 after each of three refunds of a third."""
    made = bench.client.charges.create(amount=10_001, channel="mtn", phone=PHONE, idempotency_key="to-refund")

    def refund(amount: int) -> int:
        bench.client.refunds.create(charge=made.id, amount=amount)
        return int(bench.ledger.accounts.set_index("code")["balance_minor"][4000])

    return [refund(amount) for amount in (3_333, 3_333, 3_335)]


def in_yen(bench: Workbench) -> list[object]:
    made = [intent(bench, currency="JPY", amount=each).json().get("amount") for each in (100, 100.5)]
    return [*made, charge(bench, currency="kwd", amount=100_005).status_code, intent(bench, currency="XAU").status_code]


def get(bench: Workbench, path: str, key: str = "") -> Any:  # noqa: ANN401  an httpx response
    return bench.http.get(path, headers=bearer(bench, key))


def signed_in(bench: Workbench) -> list[Any]:
    """Who is given a token, and the members of the answer."""
    answers = [
        post(bench, "/v1/auth/token", {"email": email or "a@example.com", "password": password})
        for email, password in ((bench.email, str(bench.password) or "a"), ("a@example.com", "open sesame"))
    ]
    return [*(each.status_code for each in answers), [*answers[0].json()][:2]]


def rolled(bench: Workbench) -> list[int]:
    """How a secret key is answered when it was rolled, a second before a day is over, and then."""
    made = post(bench, "/v1/api_keys", {}).json()
    post(bench, f"/v1/api_keys/{made['id']}/roll", {})
    return after_each(bench, (0, DAY_S - 1, 1), lambda: get(bench, "/v1/balance", made["value"]).status_code)


def calls(bench: Workbench, number: int) -> dict[int, int]:
    """How many of so many calls were answered with each status."""
    return dict(Counter(get(bench, "/v1/balance").status_code for _ in range(number)))


def deprecated(bench: Workbench) -> str | None:
    bench.control.deprecate("createPaymentIntent")
    return str(intent(bench).headers.get("Deprecation"))


def confirmed_again(bench: Workbench) -> tuple[int, str | None, int]:
    """Status, code and number of warnings where an attempt before was paid late."""
    made = confirmed(bench, "+260960000010").json()["id"]
    bench.clock.advance(400)
    method = {"type": "mobile_money", "mobile_money": {"phone": PHONE, "provider": "mtn"}}
    answer = post(bench, f"/v1/payment_intents/{made}/confirm", {"payment_method": method})
    return answer.status_code, answer.json().get("code"), len(answer.json().get("warnings", []))


Seen = Callable[[Workbench], Any]
CHOICES: list[tuple[str, Any, Seen, Any, Any]] = [
    # name, alternative, what is looked at, with the default, with the alternative
    ("clearing", "immediate", cleared, ["0.00", "97.50", "97.50"], ["97.50", "97.50", "97.50"]),
    ("clearing", "t_plus_2", cleared, ["0.00", "97.50", "97.50"], ["0.00", "0.00", "97.50"]),
    ("payouts", "daily", paid_out, [], [("97.50", "paid")]),
    ("currencies", "iso4217", in_yen, [None, None, 400, 400], [100, None, 200, 400]),
    ("success_status", "201_created", lambda b: (intent(b).status_code, charge(b).status_code), (200, 200), (201, 201)),
    ("currency_case", "strict", lambda b: (intent(b, currency="zmw").status_code,
     charge(b, currency="ZMW").status_code), (200, 200), (400, 400)),
    ("payment_method_types", "only", lambda b: intent(b, payment_method_types=["mobile_money", "card"]).status_code,
     200, 400),
    ("required_fields", "with_reference", lambda b: charge(b).status_code, 200, 400),
    ("intent_fields", "minimal", lambda b: [*sorted(intent(b).json())[:3], len(intent(b).json())],
     ["amount", "canceled_at", "cancellation_reason", 18], ["client_secret", "id", "status", 3]),
    ("unknown_fields", "refused", lambda b: intent(b, colour="green").status_code, 200, 400),
    ("operator_ids", "long", lambda b: charge(b).json()["channel"], "mtn", "MTN_MOMO_ZMB"),
    ("phone_format", "national", lambda b: [*(charge(b, key=each, phone=each).status_code
     for each in ("0961234567", "96")), "paid" in b.phone(PHONE).screen], [400, 400, False], [200, 400, True]),
    ("zed_mobile", "zed", lambda b: (charge(b, phone=ZED, channel="zed").json().get("provider"),
     *("operator:zed:float" in each for each in [[*b.ledger.accounts["account"]]])), (None, False), ("zed", True)),
    ("intent_amount_scale", "half_even", lambda b: [intent(b, amount=each).json().get("amount")
     for each in (1.005, 1.015, 0.004)], [None, None, None], [1.0, 1.02, None]),
    ("fee_on_refund", "returned", refunded, [250, 250, 250], [167, 83, 0]),
    ("intent_states", "failed", lambda b: unanswered(b, NOBODY_ANSWERS, 300), ["requires_payment_method", "failed"],
     ["failed", "failed"]),
    ("charge_states", "expired", lambda b: unanswered(b, NOBODY_ANSWERS, 300), ["requires_payment_method", "failed"],
     ["requires_payment_method", "expired"]),
    ("late_success", "succeeds", lambda b: unanswered(b, COMES_LATE, 360), ["requires_payment_method", "failed"],
     ["succeeded", "succeeded"]),
    ("charge_wait", "interactive", waiting, [200, "succeeded", False, "succeeded", ["charge.succeeded"]],
     [200, "pending", True, "succeeded", ["charge.pending", "charge.succeeded"]]),
    ("charge_wait", "accepted", waiting, [200, "succeeded", False, "succeeded", ["charge.succeeded"]],
     [202, "pending", True, "succeeded", ["charge.pending", "charge.succeeded"]]),
    ("charge_amount_unit", "major", lambda b: (charge(b, amount=150).json()["amount"], fees(b)[0] > 0,
     int(b.ledger.postings["amount_minor"].iloc[0])), (150, True, 150), (150, True, 15_000)),
    ("channel_and_provider", "equal", lambda b: charge(b, phone=AIRTEL).json()["provider"], "airtel", "mtn"),
    ("operator_mismatch", "refused", lambda b: charge(b, phone=AIRTEL).status_code, 200, 400),
    ("merchant_fee", "none", fees, (250, 100), (0, 100)),
    ("merchant_fee", "flat_1.00", fees, (250, 100), (100, 100)),
    ("operator_fee", "none", fees, (250, 100), (250, 0)),
    ("prompt_timeout_s", 60, lambda b: expired_after(b, 60), ["requires_action"] * 2,
     ["requires_action", "requires_payment_method"]),
    ("prompt_timeout_s", 180, lambda b: expired_after(b, 180), ["requires_action"] * 2,
     ["requires_action", "requires_payment_method"]),
    ("prompt_timeout_s", 600, lambda b: expired_after(b, 600), ["requires_payment_method"] * 2,
     ["requires_action", "requires_payment_method"]),
    ("pin_attempts", 1, wrong_pin, True, False),
    ("confirm_with_money_in_suspense", "refused", confirmed_again, (200, None, 1), (409, "money_in_suspense", 0)),
    ("client_secret_on_confirm", "always", lambda b: confirmed(b).status_code, 200, 400),
    ("refresh_request", "body", refresh_by_header, 200, 400),
    ("publishable_key", "nothing", confirm_as_app, 200, 403),
    ("auth_schemes", "either", lambda b: post(b, "/v1/charges", {}, **{"Idempotency-Key": "k"}).status_code, 401, 400),
    ("event_types", "collection", told_of, ["payment_intent.created", "charge.succeeded", "charge.failed"],
     ["collection.successful", "collection.failed"]),
    ("event_payload", "cloudevents", first_in_the_body, ["id", True, True], ["specversion", True, True]),
    ("signature_scheme", "stripe", arrived, ["accepted", "webhook-id", "webhook-timestamp", "webhook-signature"],
     ["accepted", "stripe-signature"]),
    ("signature_scheme", "github", arrived, ["accepted", "webhook-id", "webhook-timestamp", "webhook-signature"],
     ["accepted", "x-hub-signature-256"]),
    ("dead_letter", "dropped", dead_letters, [1, 1], [1, 0]),
    ("replay", "new_id", sent_again, ["accepted", "duplicate"], ["accepted", "accepted"]),
    ("ordering", "per_object", order_of, ["canceled", "created"], ["created", "canceled"]),
    ("ordering", "out_of_order", in_which_order,
     ["created", "requires_action", "processing", "succeeded", "succeeded"],
     ["succeeded", "succeeded", "created", "requires_action", "processing"]),
    ("repeats", "duplicate", lambda b: (charge(b), [each.verdict for each in b.receiver.arrivals])[1],
     ["accepted"], ["accepted", "duplicate"]),
    ("lateness", "thirty_seconds", lambda b: come_after(b, 29, 1), [1, 1], [0, 1]),
    ("signature_tolerance_s", 600, lambda b: late_by(b, 500), "refused", "duplicate"),
    ("retry_schedule_s", (0, 5, 300, 1800, 7200, 18000, 36000, 36000), lambda b: attempts(b, 500), [10, 10], [8, 8]),
    ("retry_schedule_s", (0, *(1800,) * 48), lambda b: attempts(b, 500), [10, 10], [49, 49]),
    ("retry_schedule_s", (0,), lambda b: attempts(b, 500), [10, 10], [1, 1]),
    ("delivery_success", "200_201_202", lambda b: attempts(b, 204)[0], 1, 10),
    ("delivery_gone", "retried", lambda b: attempts(b, 410)[0], 1, 10),
    ("delivery_retry_after", "ignored", lambda b: attempts(b, 429, seconds=10)[0], 1, 2),
    ("endpoint_disable_after_s", 0, failing_for_a_week, "disabled", "enabled"),
    ("failure_triggers", "header", lambda b: (charge(b, phone=BROKE).status_code, scripted(b)), (402, 402), (200, 200)),
    ("idempotency_keeps_errors", "none", lambda b: ["Idempotent-Replayed" in charge(b, phone=BROKE).headers
     for _ in range(2)], [False, True], [False, False]),
    ("error_format", "plain", lambda b: (intent(b, amount=0).headers["Content-Type"],
     sorted(intent(b, amount=0).json())[:2]),
     ("application/problem+json", ["code", "detail"]), ("application/json", ["error", "message"])),
    ("error_format", "envelope", lambda b: [min(intent(b, amount=0).json()), declined_to_the_client(b)],
     ["code", ["insufficient_funds", "payment_declined", True]],
     ["error", ["insufficient_funds", "payment_declined", True]]),
    ("access_token_use", "plants", with_a_token, [200, 200], [200, 403]),
    ("reused_key_status", 400, reused, (422, "idempotency_key_reused"), (400, "idempotency_key_reused")),
    ("reused_key_status", 409, reused, (422, "idempotency_key_reused"), (409, "idempotency_key_reused")),
    ("declined_status", "200", lambda b: (charge(b, phone=BROKE).status_code, charge(b, phone=BROKE).json()["status"]),
     (402, 402), (200, "failed")),
    ("amount_bounds", "1_to_20000", lambda b: (charge(b, amount=99).status_code, intent(b, amount=20_001).status_code),
     (200, 200), (400, 400)),
    ("idempotency_required", "never", lambda b: charge(b, key=None).status_code, 400, 200),
    ("idempotency_retention_s", 21_600, lambda b: kept_for(b, 21_600), [False, True, True], [False, True, False]),
    ("idempotency_retention_s", 2_592_000, lambda b: kept_for(b, DAY_S), [False, True, False], [False, True, True]),
    ("confirm_response", "accepted", lambda b: (confirmed(b).status_code, len(confirmed(b).json())),
     (200, 18), (202, 2)),
    ("extra_endpoints", "absent", lambda b: [get(b, "/v1/charges").status_code, get(b, "/v1/refunds/x").json()["code"],
     post(b, "/v1/payment_intents", {}).status_code], [200, "refund_not_found", 400], [404, "path_not_found", 400]),
    ("pagination", "page", lambda b: sorted(get(b, "/v1/events?page=2&per_page=1").json()),
     ["data", "has_more", "object", "url"], ["data", "object", "page", "per_page", "total", "url"]),
    ("token_credentials", "one_account", lambda b: signed_in(b)[:2], [200, 200], [200, 401]),
    ("token_field", "token", lambda b: signed_in(b)[2], ["access_token", "refresh_token"], ["token", "refresh_token"]),
    ("token_field", "data.token", lambda b: signed_in(b)[2], ["access_token", "refresh_token"], ["data"]),
    ("key_rotation", "overlap", rolled, [401, 401, 401], [200, 200, 401]),
    ("endpoint_registration", "dashboard", lambda b: get(b, "/v1/webhook_endpoints").status_code, 200, 404),
    ("rate_limit", "100_per_60", lambda b: after_each(b, (0, 59, 1), lambda: calls(b, 101)),
     [{200: 101}, {200: 101}, {200: 101}], [{200: 100, 429: 1}, {429: 101}, {200: 100, 429: 1}]),
    ("deprecation", "none", deprecated, "@1767592800", "None"),
    ("version_header", "none", lambda b: ("Api-Version" in intent(b).headers,
     post(b, "/v1/payment_intents", {}, **{"Api-Version": "0"}).json()["code"]),
     (True, "version_unknown"), (False, "parameter_missing")),
]  # fmt: skip
TIMEOUTS = {("delivery_timeout_s", 5), ("delivery_timeout_s", 30)}
"""Seen where a receiver really hangs, over a socket."""


@pytest.mark.parametrize(
    ("name", "alternative", "look", "by_default", "switched"),
    CHOICES,
    ids=[f"{row[0]}-{row[1]}"[:60] for row in CHOICES],
)
def test_an_alternative_is_a_value_to_switch(name: str, alternative: Any, look: Seen, by_default: Any, switched: Any):  # noqa: ANN401  values of several types
    with Workbench(seed=7) as bench:
        assert look(bench) == by_default
    with Workbench(seed=7, gaps={name: alternative}) as bench:
        assert look(bench) == switched
        bench.ledger.verify()


def test_every_alternative_that_is_offered_is_seen_at_work():
    offered = {(gap.name, value) for gap in REGISTER for value in gap.alternatives}
    assert offered == {(row[0], row[1]) for row in CHOICES} | TIMEOUTS
