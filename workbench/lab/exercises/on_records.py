"""Checks of the notebooks on the ledger, webhooks, charges and idempotency."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from workbench.domain.signatures import verify
from workbench.errors import ServiceFailed, SignatureRefused
from workbench.lab.exercises.functions import Fault, brief, line_of
from workbench.lab.exercises.looking import Sale, best_of, charges, json_of, sale_of
from workbench.lab.exercises.shape import SOMEBODY, Bench, Verdict, done, fresh, kwacha, not_yet, number_of, same, wrong

_LOST, _PATIENCE, _MINOR = 2, 100, 2_500
_ORDER: dict[str, Any] = {"amount": _MINOR, "channel": "mtn", "phone": SOMEBODY}


class _Tried:
    """One order, charged by a person's function over a connection that loses the first `lost` responses."""

    def __init__(self, sandbox: Bench, charge: Callable[..., Any], lost: int = 0, **changed: object) -> None:
        import httpx

        says = f"The function has asked {_PATIENCE} times, and goes on. After a few rounds it should give up"
        goes_on = Fault(says, f"{_PATIENCE} requests", "a few", "while")

        def answered(request: httpx.Request) -> httpx.Response:
            self.asked += (is_asked := request.method == "POST")
            if self.asked == _PATIENCE + 1:
                raise goes_on
            if self.asked > _PATIENCE:  # a bare `except:` has swallowed it: a payment ends its loop
                sandbox.client.charges.create(**_ORDER, idempotency_key="end")
                return httpx.Response(200, text=sandbox.trace.exchanges[-1].response.partition("\n\n")[2])
            response = sandbox.http.send(request)
            if is_asked and self.asked <= lost:
                raise httpx.ReadTimeout("the connection was lost", request=request)
            return httpx.Response(response.status_code, headers=response.headers, content=response.content)

        order = {**_ORDER, **changed}
        line = httpx.Client(transport=httpx.MockTransport(answered))
        self.asked, self.response = 0, None
        self.error: Exception | None = None
        try:
            self.response = charge(type(sandbox.client)(sandbox.base_url, str(sandbox.secret_key), http=line), order)
        except Exception as error:  # noqa: BLE001  any exception is a way to give up
            self.error = error
        if self.asked > _PATIENCE:
            raise goes_on
        self.made = charges(sandbox, reference=str(order["reference"]))
        self.paid = [charge for charge in self.made if charge.status == "succeeded"]


def _charge_surely(bench: Bench, charge_surely: Callable[..., object]) -> Iterator[Verdict]:
    """Tries two orders with different references, one of them again, a decline, a mistake and a dead connection."""
    with fresh(bench) as sandbox:
        yield from _of_one_order(_Tried(sandbox, charge_surely, _LOST, reference="SURE-1"), _LOST)
        another = _Tried(sandbox, charge_surely, 1, reference="SURE-2")
        by_reference = "Make the key from the order's reference."
        if not another.paid:
            says = "The first order is paid, and the second of the same customer is not: the key is the same for every "
            yield wrong(f"{says}order. {by_reference}", "1 payment", "2 payments", "key")
        yield from _of_one_order(another, 1)
        if (times := len(_Tried(sandbox, charge_surely, reference="SURE-2").paid)) > 1:
            says = f"Asked for the same order again, as after a restart, the customer has paid {times} times."
            yield wrong(f"{says} {by_reference}", f"{times} payments", "1", "key")
        for number, (when, most, lost, phone) in enumerate((
            ("After a decline (402)", 1, 0, number_of("insufficient_funds")),
            ("After an invalid request (400)", 1, 0, SOMEBODY.replace("+260", "0")),
            ("On a line that stays dead", _PATIENCE, _PATIENCE, SOMEBODY),
        ), start=3):  # fmt: skip
            tried = _Tried(sandbox, charge_surely, lost, reference=f"SURE-{number}", phone=phone)
            if tried.asked > most:
                says = f"{when} the function has charged again. Only after a lost response should it repeat a request."
                yield wrong(says, f"{tried.asked} requests", "1 request", "except")
            if tried.error is None and getattr(tried.response, "id", "") not in [charge.id for charge in tried.made]:
                says = f"{when} the function raises no exception, so its caller does not learn that there is no charge."
                yield wrong(says, f"returned {brief(tried.response)}", "an exception", "return")
    yield done(f"{_LOST} responses were lost, the customer has paid once, and the shop knows it.")


def _of_one_order(tried: _Tried, lost: int) -> Iterator[Verdict]:
    """Yields a verdict if one order was charged wrongly."""
    if tried.error and 0 < tried.asked <= lost:
        says = "A response was lost and the function gave up. The customer has paid and the shop does not know."
        seen = f"{tried.asked} requests, then {type(tried.error).__name__}{line_of(tried.error)}"
        yield wrong(says, seen, f"more than {lost} requests", "range(")
    if tried.error:
        raise tried.error
    if not tried.made:
        yield not_yet("The function has not charged anybody.")
    if len(tried.paid) > 1:
        yield wrong("Every request had a key of its own.", f"{len(tried.paid)} payments", "1", "key")
    says = "The customer has paid another amount than the order's."
    yield from same(int(tried.made[0].amount), _MINOR, says, "create(", kwacha)
    if getattr(tried.response, "id", None) != tried.made[0].id:
        says = "The customer has paid once, as it should be. Now return the charge, so that the shop knows it."
        yield wrong(says, brief(tried.response), "the charge", "create(")


_OWN_ID, _TYPE = "evt_mine", "charge.failed"
_NO_EVENT = "The body is not an event: it needs id, type and timestamp as texts, and data with an object in it."


def _own_message(bench: Bench) -> Iterator[Verdict]:
    arrivals = bench.receiver.arrivals
    ids = [{name.lower(): text for name, text in arrival.headers.items()}.get("webhook-id") for arrival in arrivals]
    tries = (_of_arrival(bench, arrival) for arrival, own_id in zip(arrivals, ids, strict=True) if own_id == _OWN_ID)
    says = f"No message with the webhook-id {_OWN_ID} has reached the receiver."
    yield from best_of(tries, not_yet(says, str(["no message", *ids][-1]), _OWN_ID, "webhook-id"))


def _of_arrival(bench: Bench, arrival: Any) -> Iterator[Verdict]:  # noqa: ANN401  the receiver's
    """Yields a verdict on a message; a right message may count as a duplicate after a wrong one with the same id."""
    event, now_s = json_of(arrival.body.decode("utf-8", "replace")), bench.clock.now_ms // 1000
    secrets, why = bench.receiver.secrets, _NO_EVENT
    if arrival.verdict == "refused":
        try:
            verify(arrival.body, arrival.headers, secrets, now_s=now_s)
        except SignatureRefused as error:
            why = str(error)
        clock = " The present second is bench.clock.now_ms // 1000." if "timestamp" in arrival.reason else ""
        yield wrong(f"The receiver refused the message. {why}{clock}", arrival.reason, "accepted", "receive(")
    says = "The signature is right, but the type is wrong. Send the message again with the right type."
    yield from same(event.get("type"), _TYPE, says, '"type"', str)
    says = "A message has the same id in its header and in its body. Here the body has another id."
    yield from same(event.get("id"), _OWN_ID, says, '"id"', str)
    if arrival.error is not None:
        why = f"{type(arrival.error).__name__}{line_of(arrival.error)}"
        says = f"The signature holds, and a handler failed with {why}. Take a type without a handler."
        yield wrong(says, "failed", "accepted", '"type"')
    try:
        verify(arrival.body, arrival.headers, secrets[:1], now_s=now_s, tolerance_s=now_s)
    except SignatureRefused:
        says = "The message is signed with a secret of your own, not with the endpoint's."
        yield wrong(says, "another secret", "receiver.secrets[0]", "secret")
    yield done("The receiver accepted it. Anybody who holds the secret can sign, so keep it safe.")


@sale_of("Lily")
def _in_debt(bench: Bench, lily: Sale) -> Iterator[Verdict]:
    yield from lily.unpaid()
    rows = bench.ledger.postings
    rows = rows[(rows["kind"] == "refund_asked") & (rows["payment"] == lily.intent.id)]
    if rows.empty:
        yield not_yet("The Lily is sold. Pay out what the merchant has, then refund the Lily.")
    parts = (rows["side"] == "credit", rows["account"].str.startswith("receivable:merchant:"))
    back, owed = (Decimal(int(rows.loc[part, "amount_minor"].sum())) / 100 for part in parts)
    price = Decimal(str(lily.intent.amount))
    if back < price:
        says = "Only a part of the Lily was refunded. Refund all of it: without an amount, a refund is of all."
        yield wrong(says, f"K{back:,.2f} refunded", f"K{price:,.2f} refunded", "refunds.create(")
    if owed < price:
        says = "The rest of the refund came out of the merchant's own balance. Before the refund, let a night pass and"
        yield wrong(f"{says} pay out all that is available.", f"K{owed:,.2f} owed", f"K{price:,.2f} owed", "refunds.")
    yield done(f"The merchant owes K{price:,.2f} for this Lily. The next clearing takes it first.")


_LONG = 1_000_000_000_000_000_020
_OF_FLOATS = "A floating-point number holds 15 digits, and this amount has more: count money in integers."


def _split_to_the_ngwee(split: Callable[[int], Any]) -> Iterator[Verdict]:
    for gross in (10_000, 8_735, 100, 20, 1, _LONG):
        returned = split(gross)
        if not isinstance(returned, tuple) or [type(value) for value in returned] != [int, int]:
            yield wrong("Return two integers: the merchant's share and the fee.", brief(returned), "two int", "return")
        net, fee = returned
        right = max(1, (gross * 250 + 5_000) // 10_000)
        if (fee, net) == (gross - right, right) and net < fee:
            yield wrong("The share comes first, and then the fee.", kwacha(net), kwacha(fee), "return")
        of_fee = f"The fee of {kwacha(gross)} is rounded half up to a ngwee, and is at least one."
        yield from same(fee, right, _OF_FLOATS if gross == _LONG else of_fee, "fee =", kwacha)
        if net + fee != gross:
            added = f"{kwacha(net)} + {kwacha(fee)} = {kwacha(net + fee)}"
            yield wrong("The share and the fee do not add up to the payment.", added, kwacha(gross), "net =")
    yield done("Share and fee add up to the payment, from one ngwee on.")


def _genuine_messages(bench: Bench, type_of: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        sandbox.client.payment_intents.cancel(sandbox.client.payment_intents.create(amount=Decimal("150.00")).id)
        now_s, secret = sandbox.clock.now_ms // 1000, sandbox.receiver.secrets[0]
        for arrival in sandbox.receiver.arrivals:
            body, headers = arrival.body, arrival.headers
            try:
                returned = type_of(body, headers, secret, now_s + 5)
            except SignatureRefused as error:
                yield wrong(f"A genuine message does not get through. {error}", error.reason, arrival.reason, "verify(")
            else:
                says = "A genuine message gets through, and the function returns something other than its type."
                yield from same(returned, arrival.reason, says, "return", brief)
            for what, given, moment_s in (
                ("whose content was changed", (body.replace(b"150.00", b"950.00"), headers), now_s),
                ("that is 301 seconds old", (body, headers), now_s + 301),
                ("from the future, 301 seconds early,", (body, headers), now_s - 301),
                ("signed with another secret", sandbox.sign(body, "wrong_secret"), now_s),
            ):
                try:
                    returned = type_of(*given, secret, moment_s)
                except Exception:  # noqa: BLE001, S112  any exception is a refusal
                    continue
                if returned == arrival.reason:
                    yield wrong(f"A message {what} gets through.", brief(returned), "an exception", "verify(")
                says = f"The function refuses a message {what} by returning {brief(returned)}. Its caller cannot tell "
                other = "a message without a type" if returned is None else "a genuine message"
                yield wrong(f"{says}this from {other}: raise an exception.", brief(returned), "an exception", "except")
    yield done("Genuine messages get through. Changed, old and early messages do not.")


def _looks_first(bench: Bench, charge_after_all: Callable[..., Any]) -> Iterator[Verdict]:
    approves, waits = number_of("approve"), number_of("prompt_timeout")
    after = "server_error_after"
    orders = {"A": (approves, [after]), "B": (approves, ["server_error"]), "C": (waits, [after]), "D": (approves, [])}
    with fresh(bench) as sandbox:
        # Each order, and each once more: by then other orders' charges are newer.
        for place, reference in enumerate([*orders, *orders]):
            number, scenarios = orders[reference]
            order = {**_ORDER, "phone": number, "reference": reference}
            sandbox.operator.script(number, scenarios if place < len(orders) else [])
            before, charge, failed = len(sandbox.trace.exchanges), None, None
            try:
                charge = charge_after_all(sandbox.client, order)
            except ServiceFailed as error:
                failed = error
            made = charges(sandbox, reference=reference)
            says = "The function returns the charge of another order. An order's charge is known by its reference."
            yield from same(getattr(charge, "reference", reference), reference, says, "if charge", str)
            if len(made) > 1:
                had = "charge was pending" if number == waits else "customer had paid before"
                yield wrong(f"The {had}, and the customer was charged again.", f"{len(made)} charges", "1", "-again")
            if made and getattr(charge, "id", None) == made[0].id:
                continue
            if any("Idempotent-Replayed" in exchange.response for exchange in sandbox.trace.exchanges[before:]):
                says = "The service keeps a 500 under its key. The function sent the request again under it, and"
                yield wrong(f"{says} the same 500 came back. Look for the charge first.", "500", "the charge", "_key=")
            if failed:
                raise failed
            if not made:
                yield wrong("The service failed before the charge, and the order is unpaid.", "none", "1", "except")
            yield wrong("The order has one charge. Now return it.", brief(charge), "the charge", "return")
    yield done("One charge for each order, whether the service failed before the charge, after it or not at all.")
