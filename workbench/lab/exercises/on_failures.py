"""Checks of the notebooks on failures, retries and a backend of one's own."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from workbench.lab.exercises.functions import brief
from workbench.lab.exercises.looking import best_of, best_sale, charges, intents
from workbench.lab.exercises.shape import Bench, Verdict, done, fresh, not_yet, number_of, same, wrong

if TYPE_CHECKING:
    from workbench.domain.wire import Charge, PaymentIntent


_DOWN, _OUTAGE_S = "operator_unavailable", 300


def _patience(bench: Bench) -> Iterator[Verdict]:
    yield from best_sale(bench, "Sage", partial(_of_sage, bench))


def _of_sage(
    bench: Bench, intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None]
) -> Iterator[Verdict]:
    if not attempts:
        yield not_yet("The intent for the Sage is there, and not confirmed.")
    failed = [each for each in attempts if each.failure_code == _DOWN]
    if not failed and _DOWN in codes_met and intent.status == "succeeded":
        yield wrong(
            "One intent has met the outage, and another intent was paid. One intent should see both.",
            seen="two intents", expected="one intent, confirmed twice", at=".create(",
        )  # fmt: skip
    if not failed:
        yield wrong(
            "The operator was not down when you tried: begin the outage first, and take a new intent.",
            seen=", ".join(each.failure_code or each.status for each in attempts), expected=f"{_DOWN}, succeeded",
            at="attempt(",
        )  # fmt: skip
    # A script and a test number fail one customer with the same code, while the operator is up.
    outages = [each for each in bench.operator.outages if each.provider == failed[0].provider]
    met = [each for each in outages if each.covers(failed[0].created)]
    if not met:
        yield wrong(
            "This attempt failed and the operator was not down: a script or a test number fails one customer alone. "
            "With bench.operator.outage, begin the outage first, and take a new intent.",
            seen="no outage", expected=f"an outage of {_OUTAGE_S} seconds", at="phone=",
        )  # fmt: skip
    yield from same(int(met[0].seconds), _OUTAGE_S, "The outage has another length.", "outage(", "{} seconds".format)
    if intent.status != "succeeded" and len(failed) > 1:
        yield not_yet(
            "The last attempt has met the outage too. Let all of it pass before you confirm the same intent again.",
            seen=f"{len(failed)} attempts failed with {_DOWN}", expected="1", at="advance(",
        )  # fmt: skip
    if intent.status != "succeeded":
        yield not_yet("The first attempt has met the outage. Let time pass, and confirm the same intent again.")
    if met[0].covers(attempts[-1].created):
        yield wrong(
            "It was paid while the outage should have lasted: let time pass instead of ending it.",
            seen="paid during the outage", expected="paid after it", at="outage(",
        )  # fmt: skip
    yield done(f"One intent, {len(attempts)} attempts, paid once the operator was back.")


_MAX_ATTEMPTS = 10
"""After so many without success a delivery is a dead letter."""


def _lost_and_found(bench: Bench) -> Iterator[Verdict]:
    yield from best_of((_of_rose(bench, each) for each in intents(bench, "Rose")), not_yet("No Rose has been sold."))


def _of_rose(bench: Bench, intent: "PaymentIntent") -> Iterator[Verdict]:
    from workbench.domain.wire.trace_rows import webhook_of

    if intent.status != "succeeded":
        yield not_yet("The customer has not paid for the Rose.")
    shops = {each.id for each in bench.looking().webhook_endpoints.each() if each.url == bench.receiver_url}
    has_arrived = [
        row["result"].startswith("2")
        for row in bench.trace.for_(intent.id)
        if row["kind"] == "webhook" and row["what"] == "payment_intent.succeeded" and webhook_of(row).endpoint in shops
    ]
    failed = has_arrived.index(True) if True in has_arrived else len(has_arrived)
    if not has_arrived:
        yield not_yet("The shop was not told of the Rose: its endpoint has to be there and enabled when it is sold.")
    if has_arrived[0]:
        yield wrong(
            "The shop was told of the Rose while its database was up. Sell another while it is down.",
            seen="the first attempt arrived", expected=f"{_MAX_ATTEMPTS} failed attempts", at="sell(",
        )  # fmt: skip
    if failed < _MAX_ATTEMPTS and True in has_arrived:
        yield wrong(
            "An attempt has reached the shop, before it was a dead letter. Keep the database down.",
            seen=f"{failed} failed attempts", expected=f"{_MAX_ATTEMPTS}", at="advance(",
        )  # fmt: skip
    if failed < _MAX_ATTEMPTS:
        yield not_yet(
            "The message is no dead letter yet: let more time pass.",
            seen=f"{failed} failed attempts", expected=f"{_MAX_ATTEMPTS}", at="advance(",
        )  # fmt: skip
    if True not in has_arrived:
        yield not_yet("It is a dead letter. Bring the database back, and have it replayed.")
    yield done("Lost as a dead letter, replayed, and taken by the shop.")


_REFUSED = "declined_by_customer"


def _refused_order(bench: Bench, mint: dict[str, Any]) -> Iterator[Verdict]:
    known = {each.id: each for each in bench.looking().payment_intents.each()}
    if not isinstance(mint, dict) or not {"number", "status", "reason"} <= {*mint} or mint.get("intent") not in known:
        yield wrong(
            "mint is not the order as shop.shown returns it, with its number, intent, status and reason.",
            seen=brief(mint), expected="a dict", at="mint =",
        )  # fmt: skip
    if mint.get("plant") != "Mint":
        yield wrong("mint holds an order of another plant.", seen=str(mint.get("plant")), expected="Mint", at="buy(")
    attempts = charges(bench, payment_intent=mint["intent"])
    if not attempts:
        yield not_yet("The shop has asked nobody for the money of this order.")
    others = {each.id for each in known.values() if each.description in ("Mint", None)} - {mint["intent"]}
    if _overlap(bench, mint["intent"], others):
        yield wrong(
            "Two prompts for a Mint were on the phone at once, so the customer could pay twice. Cancel every prompt "
            "with bench.phone(phone).cancel(), then order once.",
            seen="2 intents at once", expected="1 intent", at="buy(",
        )  # fmt: skip
    if attempts[-1].status == "pending":
        yield not_yet("The prompt is still on the customer's phone. Refuse the payment there.")
    if attempts[-1].failure_code != _REFUSED:
        seen = attempts[-1].failure_code or "paid"
        yield wrong("The customer did not refuse this payment.", seen=seen, expected=_REFUSED, at="phone")
    if (mint["status"], mint["reason"]) == ("open", ""):
        yield wrong(
            "mint is the order as it was before the shop heard of the refusal. Let the webhook arrive, and read the "
            "order again.",
            seen="no reason", expected=_REFUSED, at="mint =",
        )  # fmt: skip
    if (mint["status"], mint["reason"]) != ("open", _REFUSED):
        seen, expected = f"{mint['status']}, {mint['reason']}", f"open, {_REFUSED}"
        yield wrong("This is not what the shop knows of the order.", seen=seen, expected=expected, at="mint =")
    yield done("The customer refused, a webhook told the shop, and the order is open with its reason.")


def _overlap(bench: Bench, intent_id: str, others: set[str]) -> bool:
    """Whether another intent was pending, or made, after this intent was."""
    pending = {each.payment_intent for each in charges(bench, status="pending")}
    for event in bench.looking().events.each():  # the newest first
        about = event.data.object
        if event.type == "payment_intent.created" and about["id"] == intent_id:
            break
        if others & {about["id"], about.get("payment_intent")}:
            return True
    return bool(others & pending)


class _TooOften(BaseException):
    """Raised past the `except Exception` of a loop that does not end."""


_ATTEMPTS = 5


_ASKED_AGAIN_AFTER = ("payer_busy", "operator_unavailable")


def _scripts() -> Iterator[tuple[tuple[str, ...], int, str]]:
    """What attempts come to one after the other, how many of them are worth making, and why."""
    from workbench.domain.payments import FAILURES

    for code, why in FAILURES.items():
        if code not in _ASKED_AGAIN_AFTER:
            yield (code, "succeeded"), 1, f"After {code}, it should not ask again. {why}"
    yield ("payer_busy", "succeeded"), 2, "The handset was busy, and the next attempt would have been paid."
    yield (*_ASKED_AGAIN_AFTER[::-1], "succeeded"), 3, "The operator was down and would have been back."
    for code in _ASKED_AGAIN_AFTER:
        yield (code,) * (_ATTEMPTS + 1), _ATTEMPTS, f"Every attempt ends with {code}."


def _lets_go(collect: Callable[..., Any]) -> Iterator[Verdict]:
    for script, expected, fault in _scripts():
        made: list[str] = []
        waited: list[float] = []

        def attempt(made: list[str] = made, script: tuple[str, ...] = script) -> str:
            if len(made) > _ATTEMPTS:
                raise _TooOften
            made.append(script[min(len(made), len(script) - 1)])
            return made[-1]

        def wait(seconds: float, waited: list[float] = waited) -> None:
            if len(waited) > _ATTEMPTS:
                raise _TooOften
            waited.append(seconds)

        with suppress(_TooOften):
            returned = collect(attempt, wait)
            if made:
                yield from same(returned, made[-1], "The function should return the last outcome.", "return")
        if len(made) != expected:
            often = f"more than {_ATTEMPTS}" if len(made) > _ATTEMPTS else str(len(made))
            says = fault if made else "The function makes no attempt."
            yield wrong(says, seen=f"{often} attempts", expected=str(expected), at="while" if made else "def ")
        if len(waited) != expected - 1:
            yield wrong(
                "There should be a pause between two attempts, and none after the last.",
                seen=f"{len(waited)} calls of wait, {expected} attempts", expected=f"{expected - 1} calls", at="wait(",
            )  # fmt: skip
    yield done("One prompt for whoever refused, and five attempts at most while the operator is the reason.")


def _of_two_payments(bench: Bench) -> list[Any]:
    """The events by which a shop is told of two orders, both paid."""
    with fresh(bench) as sandbox:
        for _ in range(2):
            intent = sandbox.client.payment_intents.create(amount=Decimal(150))
            sandbox.client.payment_intents.confirm(intent.id, phone=number_of("approve"), provider="mtn")
            sandbox.client.wait(intent.id)
        return list(sandbox.receiver.events)


class _Orders:
    """What a shop ships; the first time its database is down."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.shipped: list[str] = []

    def ship(self, intent_id: str) -> None:
        (self.shipped if self.refused else self.refused).append(intent_id)
        if not self.shipped:
            raise ConnectionError


def _remembered(bench: Bench, handle: Callable[..., Any]) -> Iterator[Verdict]:
    events = _of_two_payments(bench)
    paid = [each for each in events if each.type == "payment_intent.succeeded"]
    expected = [each.data.object["id"] for each in paid]
    handled: set[str] = set()
    orders = _Orders()
    yield from _of_the_first(handle, paid[0], handled, orders)
    if handled != {paid[0].id}:
        yield wrong(
            "One event is handled, and handled does not hold its id. It is known by that alone.",
            seen=", ".join(sorted(map(str, handled))) or "an empty set", expected=paid[0].id, at="handled",
        )  # fmt: skip
    for each in (*events, *paid):
        handle(each, handled, orders.ship)
    if orders.shipped != expected:
        of_all = len(orders.shipped) >= len(events)
        others = " Only one type means: paid." if of_all else ""
        yield wrong(
            f"Two orders were paid, and the service sent each event more than once.{others}",
            seen=f"{len(orders.shipped)} shipped", expected="2 shipped", at="ship(" if of_all else "handled",
        )  # fmt: skip
    yield done("What failed is sent again and shipped, and what came twice is shipped once.")


def _of_the_first(handle: Callable[..., Any], event: Any, handled: set[str], orders: _Orders) -> Iterator[Verdict]:  # noqa: ANN401  an event as the receiver keeps it
    """What is wrong with how an event was handled that failed once."""
    intent_id = event.data.object["id"]
    is_told = False
    try:
        handle(event, handled, orders.ship)
    except ConnectionError:
        is_told = True
    if not orders.refused:
        yield wrong("ship was not called for a paid order.", seen="no call", expected="1 call", at="if event.type")
    if orders.refused != [intent_id]:
        yield wrong("ship was called with something else than the order's id.", orders.refused[0], intent_id, "ship(")
    if not is_told:
        yield wrong(
            "ship has failed, and the function raised nothing: the service gets a 200 and does not send again.",
            seen="no error", expected="ConnectionError", at="except",
        )  # fmt: skip
    handle(event, handled, orders.ship)
    if not orders.shipped:
        yield wrong(
            "The event came again after ship had failed, and it was taken for handled.",
            seen="nothing shipped", expected="1 shipped", at="handled.add",
        )  # fmt: skip


_LEADS_TO = {
    "charge.failed": "open",
    "charge.late_success": "settle",
    "charge.succeeded": "paid",
    "refund.succeeded": "refunded",
}
"""Event → the status that an order has at least. From the lowest to the highest."""


def _any_order(next_status: Callable[[str, str], Any]) -> Iterator[Verdict]:
    steps = [*_LEADS_TO.values()]
    for count in range(1, len(_LEADS_TO) + 2):
        for events in product(_LEADS_TO, repeat=count):  # some of them more than once
            status = "open"
            for each in events:
                status = next_status(status, each)
            expected = max((_LEADS_TO[each] for each in events), key=steps.index)
            yield from same(
                status, expected, f"The messages came in this order: {', '.join(events)}.", f'"{events[-1]}"'
            )
    for status in steps:
        says = f"An event that your function does not know changed the status of an order that was {status}."
        yield from same(next_status(status, "charge.blessed"), status, says, "return")
    yield done("The status depends on what the messages say, and not on their order or number.")
