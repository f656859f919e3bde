"""Checks of the notebooks on the ledger, webhooks, charges and idempotency."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from workbench.domain.signatures import TIMESTAMP_HEADER, verify
from workbench.errors import IdempotencyKeyReused, ServiceUnreachable, SignatureRefused
from workbench.lab.exercises.functions import brief, line_of
from workbench.lab.exercises.looking import best_of, charges, json_of
from workbench.lab.exercises.shape import SOMEBODY, Bench, Verdict, done, fresh, kwacha, not_yet, number_of, same, wrong

if TYPE_CHECKING:
    from workbench.receiver import Arrival


_LOST, _PATIENCE = 2, 100


_SURE_MINOR = 2_500


class _AsksForEver(BaseException):
    """Raised past the `except Exception` of a loop that would never end."""


class _Tried:
    """One order that a person's function has charged over a line whose first responses do not arrive."""

    def __init__(self, sandbox: Any, charge: "Callable[..., Any]", reference: str, lost: int = _LOST) -> None:  # noqa: ANN401  a Workbench, as of `fresh`
        import httpx

        from workbench.client import PaymentsClient

        def answered(request: httpx.Request) -> httpx.Response:
            """What was asked for happens, whether or not its response is lost."""
            self.asked += 1
            if self.asked > _PATIENCE:
                raise _AsksForEver
            response = sandbox.http.send(request)
            if self.asked <= lost:
                raise httpx.ReadTimeout("the connection was lost", request=request)
            return httpx.Response(response.status_code, headers=response.headers, content=response.content)

        self.asked = 0
        self.response: Any = None
        self.error: BaseException | None = None
        line = httpx.Client(transport=httpx.MockTransport(answered))
        client = PaymentsClient(sandbox.base_url, str(sandbox.secret_key), http=line)
        order = {"amount": _SURE_MINOR, "channel": "mtn", "phone": SOMEBODY, "reference": reference}
        try:
            self.response = charge(client, order)
        except (ServiceUnreachable, IdempotencyKeyReused, _AsksForEver) as error:
            self.error = error
        self.paid = [each for each in charges(sandbox, reference=reference) if each.status == "succeeded"]


def _charge_surely(bench: Bench, charge_surely: "Callable[..., object]") -> Iterator[Verdict]:
    """Two orders that are alike but for their reference, the second of them once more, and one over a dead line."""
    with fresh(bench) as sandbox:
        yield from _of_one_order(_Tried(sandbox, charge_surely, "SURE-1"))
        another = _Tried(sandbox, charge_surely, "SURE-2")
        if not another.paid:
            yield wrong(
                "The first order is paid, and the second of the same customer is not: the key is the same for every "
                "order. Make it from the order's reference.",
                seen="1 payment", expected="2 payments", at="key",
            )  # fmt: skip
        yield from _of_one_order(another)
        times = len(_Tried(sandbox, charge_surely, "SURE-2").paid)
        if times > 1:
            yield wrong(
                f"Asked for the same order again, as after a restart, the customer has paid {times} times. Make the "
                "key from the order's reference.",
                seen=f"{times} payments", expected="1", at="key",
            )  # fmt: skip
        if isinstance(_Tried(sandbox, charge_surely, "SURE-3", lost=_PATIENCE + 1).error, _AsksForEver):
            yield wrong(
                f"On a line that stays dead, the function has asked {_PATIENCE} times, and goes on. After a few rounds "
                "it should give up.",
                seen=f"{_PATIENCE} requests", expected="a few", at="while",
            )  # fmt: skip
    yield done(f"{_LOST} responses were lost, the customer has paid once, and the shop knows it.")


def _of_one_order(tried: _Tried) -> Iterator[Verdict]:
    """What is wrong with how one order was charged."""
    if isinstance(tried.error, ServiceUnreachable):
        yield wrong(
            "A response was lost and the function gave up. The customer has paid and the shop does not know.",
            seen=f"asked {tried.asked} times", expected=f"more than {_LOST}", at="range(",
        )  # fmt: skip
    if isinstance(tried.error, _AsksForEver):
        yield wrong(
            f"The function has asked {_PATIENCE} times, and goes on. After a few rounds it should give up.",
            seen=f"{_PATIENCE} requests", expected="a few", at="while",
        )  # fmt: skip
    if tried.error is not None:
        raise tried.error
    if not tried.paid:
        yield not_yet("The function has not charged anybody.")
    if len(tried.paid) > 1:
        yield wrong(
            "Every request had a key of its own.",
            seen=f"{len(tried.paid)} payments", expected="1", at="key",
        )  # fmt: skip
    says = "The customer has paid another amount than the order's."
    yield from same(int(tried.paid[0].amount), _SURE_MINOR, says, "create(", kwacha)
    if getattr(tried.response, "id", None) != tried.paid[0].id:
        yield wrong(
            "The customer has paid once, as it should be. Now return the charge, so that the shop knows it.",
            seen=type(tried.response).__name__, expected="the charge", at="create(",
        )  # fmt: skip


_OWN_ID, _TYPE = "evt_mine", "charge.failed"


_REFUSALS = {
    "header_missing": "it needs webhook-id, webhook-timestamp and webhook-signature, and one of them is missing",
    "signature_mismatch": "the signature is not that of this id, this timestamp and this body",
    "timestamp_stale": "the timestamp is older than 300 seconds; bench.clock.now_ms is the present moment",
    "timestamp_in_future": "the timestamp is ahead of bench.clock; bench.clock.now_ms is the present moment",
    "timestamp_malformed": "the timestamp should be a whole number of seconds, not of milliseconds",
}


def _no_event(body: dict[str, Any]) -> str:
    """Why a body is no event: what it lacks, or that one of its members is of another kind."""
    data = body.get("data")
    members = {**body, "data.object": None} if isinstance(data, dict) and "object" in data else body
    missing = [each for each in ("id", "type", "timestamp", "data.object") if each not in members]
    said = f"missing: {', '.join(missing)}" if missing else "id and type should be texts, data.object a JSON object"
    return f"the signature fits, but the body is not an event; {said}"


def _own_message(bench: Bench) -> Iterator[Verdict]:
    receiver = bench.receiver
    mine = [each for each in receiver.arrivals if each.headers.get("webhook-id") == _OWN_ID]
    tries = (_of_arrival(each, receiver.secrets[:1]) for each in mine)
    newest = receiver.arrivals[-1].headers.get("webhook-id", "none") if receiver.arrivals else "no message"
    says = f"No message with the webhook-id {_OWN_ID} has reached the receiver."
    yield from best_of(tries, not_yet(says, seen=f"the newest has {newest}", expected=_OWN_ID, at="webhook-id"))


def _of_arrival(arrival: "Arrival", issued: list[str]) -> Iterator[Verdict]:
    """A message that was wrong before makes the right one a duplicate, which is no mistake of it."""
    event = json_of(arrival.body.decode("utf-8", "replace"))
    if arrival.verdict == "refused":
        is_no_event = arrival.reason == "body_not_an_event"
        why = _no_event(event) if is_no_event else _REFUSALS.get(arrival.reason, arrival.reason)
        yield wrong(f"The receiver refused it: {why}.", seen=arrival.reason, expected="accepted", at="receive(")
    says = "The signature holds, and the type is another. Send it again with the right one."
    yield from same(event.get("type"), _TYPE, says, '"type"', str)
    says = "A message has one id, in its header and in its body. The body has another."
    yield from same(event.get("id"), _OWN_ID, says, '"id"', str)
    if arrival.error is not None:
        why = f"{type(arrival.error).__name__}{line_of(arrival.error)}"
        yield wrong(
            f"The signature holds, and a handler failed with {why}. Take a type without a handler.",
            seen="failed", expected="accepted", at='"type"',
        )  # fmt: skip
    try:
        verify(arrival.body, arrival.headers, issued, now_s=int(arrival.headers[TIMESTAMP_HEADER]))
    except SignatureRefused:
        yield wrong(
            "It is signed with a secret of your own. Sign it with the endpoint's.",
            seen="another secret", expected="receiver.secrets[0]", at="secret",
        )  # fmt: skip
    yield done("The receiver accepted it. Anybody who holds the secret can sign, so keep it safe.")


_MTN_FLOAT, _DEBTS = "operator:mtn:float", "receivable:merchant:"


def _in_debt(bench: Bench) -> Iterator[Verdict]:
    pay = bench.looking()
    sold = [each for each in pay.payment_intents.each() if each.description == "Lily" and each.status == "succeeded"]
    if not sold:
        yield not_yet("No Lily was sold.")
    refunds = {each.id: [refund for refund in pay.refunds.each() if refund.payment_intent == each.id] for each in sold}
    tried = [each for each in sold if refunds[each.id]]
    if not tried:
        yield not_yet("The Lily is sold. Pay out what the merchant has, then refund the Lily.")
    rows = bench.ledger.postings
    debts = rows[(rows["kind"] == "refund_asked") & (rows["side"] == "debit")]
    debts = debts[debts["account"].str.startswith(_DEBTS)]
    # The newest last.
    for lily in reversed(tried):
        price, back = Decimal(str(lily.amount)), sum((each.amount for each in refunds[lily.id]), Decimal())
        owed = Decimal(int(debts.loc[debts["payment"] == lily.id, "amount_minor"].sum())) / 100
        if (owed, back) == (price, price):
            yield done(f"The merchant owes K{price:,.2f} for this Lily. The next clearing takes it first.")
    if back < price:
        yield wrong(
            "Only a part of the Lily was refunded. Refund all of it: without an amount, a refund is of all.",
            seen=f"K{back:,.2f} refunded", expected=f"K{price:,.2f} refunded", at="refunds.create(",
        )  # fmt: skip
    yield wrong(
        "The rest of the refund came out of the merchant's own balance. Let a night pass after the sale, and ask for a "
        "payout of all that is available before the refund.",
        seen=f"K{owed:,.2f} owed", expected=f"K{price:,.2f} owed", at="refunds.create(",
    )  # fmt: skip


_LONG = 1_000_000_000_000_000_020
"""More digits than a float has: with one the fee is some ngwee off."""


_OF_FLOATS = "A float has 15 digits, and money is counted in integers: with more digits the fee is wrong."


def _split_to_the_ngwee(split: Callable[[int], Any]) -> Iterator[Verdict]:
    # Here, so that the exercises alone load no wire types.
    from workbench.domain.gaps import Gaps
    from workbench.domain.payments import fees_of

    for gross in (10_000, 8_735, 100, 20, 1, _LONG):
        returned = split(gross)
        if not isinstance(returned, tuple) or [type(each) for each in returned] != [int, int]:
            yield wrong(
                "The function should return two integers: the merchant's share and the fee.",
                seen=brief(returned), expected="two of type int", at="return",
            )  # fmt: skip
        net, fee = returned
        right = fees_of(gross, Gaps()).merchant_minor
        if (fee, net) == (gross - right, right) and net < fee:
            yield wrong("The share comes first, and then the fee.", seen=kwacha(net), expected=kwacha(fee), at="return")
        of_fee = f"The fee of {kwacha(gross)} is rounded half up to a ngwee, and is at least one."
        yield from same(fee, right, _OF_FLOATS if gross == _LONG else of_fee, "fee =", kwacha)
        if net + fee != gross:
            yield wrong(
                "The shares do not add up to the payment: each was rounded on its own.",
                seen=f"{kwacha(net)} + {kwacha(fee)} = {kwacha(net + fee)}", expected=kwacha(gross), at="net =",
            )  # fmt: skip
    yield done("Share and fee add up to the payment, from one ngwee on.")


_REASONS = {
    "body_reserialised": "The body was parsed and written again, so other bytes were verified than were signed.",
    "signature_mismatch": "Other bytes were verified than were signed, or with another secret.",
}


def _genuine_messages(bench: Bench, type_of: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=Decimal("150.00"))
        sandbox.client.payment_intents.cancel(intent.id)
        now_s = sandbox.clock.now_ms // 1000

        def refusal_or(body: bytes, headers: dict[str, str], moment_s: int) -> tuple[str, object]:
            try:
                return "", type_of(body, headers, sandbox.receiver.secrets[0], moment_s)
            except SignatureRefused as error:
                return error.reason, None

        for arrival in sandbox.receiver.arrivals:
            reason, returned = refusal_or(arrival.body, arrival.headers, now_s)
            if reason:
                says = f"A genuine message does not get through. {_REASONS.get(reason, '')}".rstrip()
                yield wrong(says, seen=reason, expected=arrival.reason, at="verify(")
            says = "A genuine message gets through, and the function returns something else than its type."
            yield from same(returned, arrival.reason, says, "return", brief)
            for what, body, moment_s in (
                ("whose content was changed", arrival.body.replace(b"150.00", b"950.00"), now_s),
                ("that is 301 seconds old", arrival.body, now_s + 301),
            ):
                refused, returned = refusal_or(body, arrival.headers, moment_s)
                if not refused:
                    at = "verify(" if returned == arrival.reason else "except"
                    yield wrong(f"A message {what} gets through.", brief(returned), "SignatureRefused", at)
    yield done("Genuine messages get through, changed and old ones do not.")


def _looks_first(bench: Bench, charge_after_all: Callable[..., Any]) -> Iterator[Verdict]:
    number = number_of("approve")
    scenarios = ("server_error_after", "server_error", "approve")
    with fresh(bench) as sandbox:
        # Each order, and each once more: by then other orders' charges are newer.
        for place, scenario in enumerate((*scenarios, *scenarios)):
            order = {"amount": 2_500, "channel": "mtn", "phone": number, "reference": f"ORDER-{scenario}"}
            sandbox.operator.script(number, [scenario] if place < len(scenarios) else [])
            charge = charge_after_all(sandbox.client, order)
            paid = [each for each in sandbox.client.charges.each() if each.reference == order["reference"]]
            taken = getattr(charge, "reference", order["reference"])
            says = "The function returns the charge of another order. An order's charge is known by its reference."
            yield from same(taken, order["reference"], says, "if charge", str)
            if len(paid) > 1:
                yield wrong(
                    "The customer had paid before, and was charged again.",
                    seen=f"{len(paid)} payments", expected="1", at="-again",
                )  # fmt: skip
            if not paid:
                yield wrong(
                    "The service failed before it had charged the customer, and the order stays unpaid.",
                    seen="0 payments", expected="1", at="except",
                )  # fmt: skip
            if getattr(charge, "id", None) != paid[0].id:
                yield wrong(
                    "The customer has paid once. Now return the charge.",
                    seen=brief(charge), expected="the charge", at="return",
                )  # fmt: skip
    yield done("One payment for each order, whether the service failed before the charge, after it or not at all.")
