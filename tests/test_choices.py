"""Every alternative that the register offers, seen at work; what has no row here is not offered."""

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


Seen = Callable[[Workbench], Any]
CHOICES: list[tuple[str, Any, Seen, Any, Any]] = [
    # name, alternative, what is looked at, with the default, with the alternative
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
    ("client_secret_on_confirm", "always", lambda b: confirmed(b).status_code, 200, 400),
    ("refresh_request", "body", refresh_by_header, 200, 400),
    ("publishable_key", "nothing", confirm_as_app, 200, 403),
    ("auth_schemes", "either", lambda b: post(b, "/v1/charges", {}, **{"Idempotency-Key": "k"}).status_code, 401, 400),
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
