"""The repairs: broken functions that stand in the notebooks, called here once they were changed.

Each is tried in a sandbox of its own, so that the notebook's books and trace stay as they are, and with two sets of
figures where one could be copied from a message.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from workbench.errors import AuthenticationFailed, SignatureRefused
from workbench.lab.exercises.functions import Watched, brief, line_of
from workbench.lab.exercises.shape import (
    SOMEBODY,
    Bench,
    Verdict,
    calls_of,
    done,
    fresh,
    kwacha,
    number_of,
    same,
    wrong,
)

if TYPE_CHECKING:
    from workbench.domain.wire.trace_rows import TracedCall

# start_here


def _only_when_paid(bench: Bench, may_leave: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for status, intent_id in _one_in_each_state(sandbox):
            says = f"The function is wrong about an intent that is {status}."
            yield from same(may_leave(sandbox.client, intent_id), status == "succeeded", says, "status")
    yield done("Only a paid plant leaves the shop.")


def _one_in_each_state(sandbox: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  a Workbench, as of `fresh`
    """An intent's status and id, for every status that an intent may have."""
    pay, handset = sandbox.client, sandbox.phone(SOMEBODY)

    def new() -> str:
        return str(pay.payment_intents.create(amount=Decimal("35.50"), description="Fern").id)

    yield "requires_payment_method", new()
    waiting = new()
    pay.payment_intents.confirm(waiting, phone=SOMEBODY, provider="mtn")
    yield "requires_action", waiting
    handset.enter_pin("1234")
    yield "succeeded", waiting
    undecided = new()
    pay.payment_intents.confirm(undecided, phone=number_of("operator_unknown"), provider="mtn")
    sandbox.clock.advance(seconds=10)
    yield "processing", undecided
    given_up = new()
    pay.payment_intents.cancel(given_up)
    yield "canceled", given_up


# create_an_intent


def _priced_in_ngwee(bench: Bench, order: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for minor, number in ((8_735, "A-17"), (5, "A-18"), (120_000, "B-1")):
            intent = order(sandbox.client, minor, number)
            if getattr(intent, "object", None) != "payment_intent":
                yield wrong(
                    "The function should return the intent.",
                    seen=brief(intent), expected="a PaymentIntent", at="return",
                )  # fmt: skip
            says = "An intent counts kwacha, and the shop's price is in ngwee."
            yield from same(int(intent.amount * 100), minor, says, "amount=", kwacha)
            says = f"The amount is right, and the intent of order {number} has another {{}} than before."
            yield from same(intent.metadata, {"order": number}, says.format("metadata"), "metadata=")
            yield from same(intent.description, "Orchid", says.format("description"), "description=")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


# keys


def _handed_to_the_app(bench: Bench, for_the_app: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Lily")
        given = for_the_app(intent, {"secret": sandbox.secret_key, "publishable": sandbox.publishable_key})
        if not isinstance(given, dict):
            yield wrong("The function should return a dict.", seen=type(given).__name__, expected="dict", at="return")
        if any(sandbox.secret_key in str(each) for each in given.values()):
            yield wrong(
                "The app would get the secret key, and whoever has the app could take it out and use it.",
                seen="sk_test_••••", expected="pk_test_••••", at='secret"]',
            )  # fmt: skip
        if given.keys() != {"key", "id", "client_secret"}:
            yield wrong(
                "The app needs three members and no others.",
                seen=", ".join(given), expected="key, id, client_secret", at="return",
            )  # fmt: skip
        own = {"key": sandbox.publishable_key, "id": intent.id, "client_secret": intent.client_secret}
        if others := [name for name, value in own.items() if given[name] != value]:
            yield wrong(
                f"With this, the app cannot confirm the intent: {others[0]} is not its own.",
                seen=f"another {others[0]}", expected="the publishable key, and the intent's id and client secret",
                at=f'"{others[0]}"',
            )  # fmt: skip
    yield done("The app can confirm this one intent, and nothing else.")


# confirm_with_ussd


_ASKED = {
    "approve": "The customer approves.",
    "declined_by_customer": "The customer presses cancel.",
    "operator_unknown": "No answer comes, and the money may still move.",
    "prompt_timeout": "The prompt is still open, and the customer may yet pay.",
}
_DECIDED = {"approve": "paid", "declined_by_customer": "failed"}
_OUTCOMES = {"succeeded": "paid", "requires_payment_method": "failed"}


def _unknown_is_not_failed(bench: Bench, collect: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for scenario, what in _ASKED.items():
            intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Basil")
            seen = collect(sandbox.client, intent.id, number_of(scenario), "mtn")
            status = sandbox.client.payment_intents.retrieve(intent.id).status
            # Of a function that waits longer, a prompt without an answer may have failed.
            right = _DECIDED.get(scenario) or _OUTCOMES.get(status, "unknown")
            says = f"{what} The function returns while the intent is {status}, and is wrong about it."
            yield from same(seen, right, says, f"return {json.dumps(seen)}" if seen else "return")
    yield done("A wait that times out is reported as unknown, and not as a failure.")


# read_the_ledger


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


# after_the_payment


def _payout_of_what_is_there(bench: Bench, pay_out: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        pay = sandbox.client
        # More is available than pending, and then less.
        for yesterday_minor, today_minor in ((10_000, 5_000), (4_000, 90_000)):
            _take(pay, yesterday_minor)
            sandbox.clock.advance(days=1)
            _take(pay, today_minor)
            available = pay.balance.retrieve().available[0].amount
            payout = pay_out(pay)
            if getattr(payout, "object", None) != "payout":
                yield wrong(
                    f"K{available} are available, and the function should return the payout of it.",
                    seen=brief(payout), expected="a Payout", at="return",
                )  # fmt: skip
            yield from same(
                payout.amount, available, "The payout is not all that is available.", "amount = ", "K{}".format
            )
            says = "Nothing is available any more, and the function should return None."
            yield from same(pay_out(pay), None, says, "return", brief)
    yield done("It pays out all that is available, and nothing of what is pending.")


def _take(pay: Any, amount_minor: int) -> None:  # noqa: ANN401  a client of another sandbox
    """A payment that succeeds at once."""
    order = f"ORDER-{amount_minor}"
    pay.charges.create(amount=amount_minor, channel="mtn", phone=SOMEBODY, reference=order, idempotency_key=order)


# verify_webhooks


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


# charge_in_one_call


_OF_CHARGES: tuple[tuple[dict[str, str], dict[str, str]], ...] = (
    ({}, {
        "approve": "A customer has paid.",
        "insufficient_funds": "The wallet holds too little, and the charge is declined.",
        "prompt_timeout": "Nobody has answered the prompt yet, and the charge is pending.",
    }),
    ({"declined_status": "200"}, {"insufficient_funds": "Where a service declines with 200, the charge is failed."}),
)  # fmt: skip
"""What becomes of charges, scenario by scenario, under choices of the register."""


def _shipped_unpaid(bench: Bench, may_ship: Callable[..., Any]) -> Iterator[Verdict]:
    for gaps, cases in _OF_CHARGES:
        with fresh(bench, gaps=gaps) as sandbox:
            for place, (scenario, what) in enumerate(cases.items()):
                amount_minor, order = 15_000 + place, f"ORDER-{place}"
                seen = may_ship(sandbox.client, amount_minor, number_of(scenario), order)
                charges = [(each.reference, each.amount) for each in sandbox.client.charges.each()][: -place or None]
                if charges != [(order, amount_minor)]:
                    yield wrong(
                        "The function should make one charge, of this order and its amount.",
                        seen=", ".join(f"{name}: {kwacha(int(minor))}" for name, minor in charges) or "no charge",
                        expected=f"{order}: {kwacha(amount_minor)}", at="create(",
                    )  # fmt: skip
                yield from same(seen, scenario == "approve", what, "return")
    yield done("Goods leave for a paid charge, not for a declined one, and not for one that is pending.")


# when_payments_fail


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


# retries_dead_letters_and_replay


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


# idempotency


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


# your_own_backend

_LEADS_TO = {
    "charge.failed": "open",
    "charge.late_success": "settle",
    "charge.succeeded": "paid",
    "refund.succeeded": "refunded",
}
"""Event → the status that an order has at least. From the lowest to the highest."""


def _any_order(next_status: Callable[[str, str], Any]) -> Iterator[Verdict]:
    steps = [*_LEADS_TO.values()]
    for count in range(1, len(_LEADS_TO) + 1):
        for events in permutations(_LEADS_TO, count):
            status = "open"
            for each in events:
                status = next_status(status, each)
            expected = max((_LEADS_TO[each] for each in events), key=steps.index)
            yield from same(
                status, expected, f"The messages came in this order: {', '.join(events)}.", f'"{events[-1]}"'
            )
    for status in steps:
        says = "An event of a type that nobody knows changed the status."
        yield from same(next_status(status, "charge.blessed"), status, says, "return")
    yield done("The status depends on what the messages say, and not on their order.")


# explore_a_month


def _net_by_operator(net_by_operator: Callable[..., Any]) -> Iterator[Verdict]:
    for times in (1, 3):
        yield from _of_net(net_by_operator, times)
    yield done("Each payment counts once, less what went back of it, in whole ngwee.")


def _of_net(net_by_operator: Callable[..., Any], times: int) -> Iterator[Verdict]:
    """What is wrong with the takings, of figures that are so many times as high."""
    import pandas as pd

    charges = pd.DataFrame(
        [("ch_1", "succeeded", 10_000, 5_000, "mtn"), ("ch_2", "succeeded", 4_000, 0, "airtel"),
         ("ch_3", "failed", 700, 0, "airtel"), ("ch_4", "succeeded", 2_000, 0, "airtel")],
        columns=["id", "status", "amount_minor", "refunded_minor", "provider"],
    )  # fmt: skip
    refunds = pd.DataFrame(
        [("re_1", "ch_1", "succeeded", 3_000), ("re_2", "ch_1", "succeeded", 2_000), ("re_3", "ch_4", "failed", 500)],
        columns=["id", "charge", "status", "amount_minor"],
    )
    for table, column in ((charges, "amount_minor"), (charges, "refunded_minor"), (refunds, "amount_minor")):
        table[column] *= times
    net = net_by_operator(charges, refunds)
    if not isinstance(net, pd.Series):
        yield wrong(
            "The function should return a Series: ngwee by operator.",
            seen=type(net).__name__, expected="Series", at="return",
        )  # fmt: skip
    of_what = "With airtel, {} and {} were paid, one payment of {} failed, and so did a refund of {}."
    gross, *parts = (kwacha(each * times) for each in (10_000, 3_000, 2_000))
    for provider, right, what, slips in (
        ("mtn", 5_000, f"With mtn, {gross} were paid; {' and '.join(parts)} of them went back.", {
            15_000: "A charge with two refunds counts twice: the join makes two rows of it.",
            10_000: "Nothing of what went back is taken off.", 7_000: "Of two refunds, one is taken off.",
            8_000: "Of two refunds, one is taken off.",
        }),
        ("airtel", 6_000, of_what.format(*(kwacha(each * times) for each in (4_000, 2_000, 700, 500))), {
            6_700: "A charge that failed counts too.", 5_500: "A refund that failed is taken off.",
            2_000: "A payment without a refund does not count.",
        }),
    ):  # fmt: skip
        if provider not in net:
            yield wrong(
                f"{provider} is missing. A payment without a refund counts too.",
                seen=str(list(net.index)), expected="['airtel', 'mtn']", at="how=",
            )  # fmt: skip
        seen = int(net[provider])
        if seen != right * times:
            slip = slips.get(seen // times, "These are kwacha." if seen * 100 == right * times else "")
            says = f"{what} {slip}".rstrip()
            yield wrong(says, seen=kwacha(seen), expected=kwacha(right * times), at="merge")
    if net.dtype.kind != "i":
        yield wrong(
            "The amounts are right, and floats: a missing value or a division has made them so.",
            seen=str(net.dtype), expected="int64", at="fillna",
        )  # fmt: skip


# reconcile_a_statement


def _one_sided(one_sided: Callable[..., Any]) -> Iterator[Verdict]:
    for letter in "AB":
        yield from _of_two_sides(one_sided, *(f"{letter}-{number}" for number in range(1, 5)))
    yield done("What the statement alone has, and what the ledger alone has, are both reported.")


def _of_two_sides(
    one_sided: Callable[..., Any], both: str, other: str, statements: str, ledgers: str
) -> Iterator[Verdict]:
    """What is wrong with the keys that one of two tables has."""
    import pandas as pd

    ledger = pd.DataFrame({"key": [both, other, ledgers], "amount_minor": [5, 6, 7]})
    statement = pd.DataFrame({"key": [statements, other, both], "amount_minor": [8, 9, 5]})
    keys = one_sided(ledger, statement)
    if not isinstance(keys, list):
        yield wrong(
            "The function should return a list of keys.", seen=type(keys).__name__, expected="list", at="return"
        )
    says = {
        both: f"Both sides have {both}.",
        other: f"Both sides have {other}, with different amounts: join on the key alone.",
        statements: f"{statements} is on the statement alone, and is not reported.",
        ledgers: f"{ledgers} is in the ledger alone, and is not reported.",
    }
    expected = [statements, ledgers]
    for key in [*(key for key in says if (key in keys) != (key in expected)), *([""] if keys != expected else [])]:
        yield wrong(says.get(key, "Give each key once, in order."), seen=str(keys), expected=str(expected), at="_merge")


# settle_and_decide


def _settle_all(bench: Bench, settle_all: Callable[..., Any]) -> Iterator[Verdict]:
    # None where a break has no proposal.
    for fees_minor in ((2, None, 3, None), (None, 4, None, None, 5, 6)):
        yield from _of_a_night(bench, settle_all, fees_minor)
    yield done("Every proposed entry is posted, and what has none is left for a person.")


def _of_a_night(bench: Bench, settle_all: Callable[..., Any], fees_minor: tuple[int | None, ...]) -> Iterator[Verdict]:
    """What is wrong with how a night's breaks were settled."""
    import pandas as pd

    fee = {
        "recipe": "fee_raised", "fee_minor": 0, "currency": "ZMW", "account": "operator:mtn:float", "entry": None,
        "occurred_at": "2026-01-05T06:00:00.000Z", "description": "a fee",
    }  # fmt: skip
    left = iter(("timing", "ambiguous", "invalid_row"))
    rows = [
        (next(left), None) if minor is None
        else ("fee_mismatch", json.dumps([{**fee, "amount_minor": minor, "reference": f"MP-{minor}"}]))
        for minor in fees_minor
    ]  # fmt: skip
    with fresh(bench) as sandbox:
        without = settle_all(sandbox, pd.DataFrame(rows, columns=["code", "proposal"]))
        posted = len(sandbox.ledger.entries)
    proposed, expected = sum(map(bool, fees_minor)), sorted(code for code, proposal in rows if not proposal)
    if posted != proposed:
        yield wrong(
            f"{proposed} of {len(rows)} breaks have a proposal. Not every proposal is posted.",
            seen=f"{posted} posted", expected=f"{proposed} posted", at="try",
        )  # fmt: skip
    if not isinstance(without, list):
        yield wrong(
            "The entries are posted. The function should return a list of codes.",
            seen=type(without).__name__, expected="list", at="return",
        )  # fmt: skip
    if sorted(map(str, without)) != expected:
        yield wrong(
            "The entries are posted. The codes that no entry settles are not the right ones.",
            seen=brief(without), expected=str(expected), at="append",
        )  # fmt: skip


# when_the_data_outgrows_the_laptop


_PARTS = ((9_000,), (3_000, 6_000), (1_000, 2_000, 3_000, 4_000))


def _mean_of_parts(mean_of_parts: Watched) -> Iterator[Verdict]:
    for times in (1, 3):
        yield from _of_a_mean(mean_of_parts, [[minor * times for minor in part] for part in _PARTS])
    if "concat" in mean_of_parts.uses:
        yield wrong(
            "The mean is right, and all files are in memory at once. Keep a sum and a number of rows instead.",
            seen="concat", expected="one file at a time", at="concat",
        )  # fmt: skip
    yield done("Every row counts once, however the rows are divided among the files.")


def _of_a_mean(mean_of_parts: Callable[..., Any], parts: list[list[int]]) -> Iterator[Verdict]:
    """What is wrong with the mean of these amounts, in a file each."""
    import pandas as pd

    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"part-{number}.parquet" for number, _ in enumerate(parts)]
        for path, minors in zip(paths, parts, strict=True):
            pd.DataFrame({"amount_minor": minors}).to_parquet(path)
        mean = mean_of_parts(paths)
    if isinstance(mean, float) or not hasattr(mean, "__index__"):
        yield wrong("A mean of ngwee is a whole number.", seen=type(mean).__name__, expected="int", at="return")
    total, means = sum(map(sum, parts)), [sum(part) // len(part) for part in parts]
    right = total // sum(map(len, parts))
    slips = {
        sum(means) // len(means): "The mean of means counts a part of one row as much as a part of four.",
        total // len(parts): "The sum is divided by the number of parts. Divide it by the number of rows.",
        total // len(parts[-1]): "The sum of all parts is divided by the rows of the last one.",
        total: "This is the sum of all amounts.",
        means[0]: "This is the mean of the first part: the function returns within the loop.",
        means[-1]: "This is the mean of the last part: the loop begins anew with each.",
    }
    if mean != right:
        held = "; ".join(", ".join(map(kwacha, part)) for part in parts)
        yield wrong(
            slips.get(int(mean), f"The files hold {held}."),
            seen=kwacha(int(mean)), expected=kwacha(right), at="return",
        )  # fmt: skip


# what_is_not_documented

_GUESSES: tuple[dict[str, object], ...] = (
    {},
    {"confirm_response": "accepted"},
    {"confirm_response": "accepted", "prompt_timeout_s": 180},
)


def _either_way(bench: Bench, prompt_closes: Callable[..., Any]) -> Iterator[Verdict]:
    for gaps in _GUESSES:
        with fresh(bench, gaps=gaps) as sandbox:
            intent = sandbox.client.payment_intents.create(amount=5)
            try:
                told = prompt_closes(sandbox.client, intent.id, SOMEBODY, "mtn")
            except (AttributeError, TypeError) as error:
                if not gaps or not line_of(error):
                    raise
                yield wrong(
                    f"Where the response to confirm has the id and the status alone, your code stopped{line_of(error)}",
                    seen="no next_action in the response", expected="when the prompt closes", at=".confirm(",
                )  # fmt: skip
                return
            action = sandbox.client.payment_intents.retrieve(intent.id).next_action
            if not action:
                yield wrong(
                    "No prompt is on the customer's phone: the function should confirm the intent.",
                    seen="no prompt", expected="a prompt", at="def ",
                )  # fmt: skip
            says = f"Under {gaps or 'the defaults'} the prompt closes at another moment."
            yield from same(told, action.ussd_prompt.expires_at, says, "return", brief)
    yield done("It works whatever the response to confirm contains, and however long a prompt waits.")


# certify_your_endpoint

_NOW_S = 1_767_592_800
_SIGNED = (
    ("A message of this second", str(_NOW_S), True), ("A message from 299 s ago", str(_NOW_S - 299), True),
    ("A message from 299 s ahead", str(_NOW_S + 299), True), ("A message from 300 s ago", str(_NOW_S - 300), True),
    ("A message from 300 s ahead", str(_NOW_S + 300), True), ("A message from 301 s ago", str(_NOW_S - 301), False),
    ("A message from 301 s ahead", str(_NOW_S + 301), False), ("A message from an hour ago", str(_NOW_S - 3600), False),
    ("A message from an hour ahead", str(_NOW_S + 3600), False), ("A header that is missing", None, False),
    ("A header that is empty", "", False), ("A header that makes no sense", "soon", False),
)  # fmt: skip


def _fresh_both_ways(is_fresh: Callable[..., object]) -> Iterator[Verdict]:
    for title, timestamp, expected in _SIGNED:
        seen = bool(is_fresh(timestamp, _NOW_S))
        yield from same(seen, expected, f"{title} is {'accepted' if seen else 'refused'}.", "return")
    yield done("Old messages and messages from the future are refused, and a clock may be off by some minutes.")


# going_live


def _alert_that_fires(bench: Bench, stale: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        ids = _intents_of_an_hour(sandbox)
        named = stale(sandbox.client, sandbox.clock.now_ms // 1000)
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        yield wrong("The function should return a list of ids.", seen=brief(named), expected="['pi_…']", at="return")
    for intent_id, (what, is_stale) in ids.items():
        if (intent_id in named) is not is_stale:
            does, seen, due = ("does not name", "not named", "named") if is_stale else ("names", "named", "not named")
            yield wrong(f"The alert {does} a payment that {what}.", seen=seen, expected=due, at="if")
    yield done("The alert names the payments that are still undecided after 10 minutes, and no other.")


def _intents_of_an_hour(sandbox: Any) -> dict[str, tuple[str, bool]]:  # noqa: ANN401  a Workbench, as of `fresh`
    """Intents by their ids: what became of each, and whether an alert should name it."""
    pay = sandbox.client
    made: dict[str, tuple[str, bool]] = {}

    def ask(what: str, number: str, provider: str = "mtn", *, is_stale: bool = False) -> None:
        intent = pay.payment_intents.create(amount=5)
        made[intent.id] = (what, is_stale)
        if number:
            pay.payment_intents.confirm(intent.id, phone=number, provider=provider)

    ask("an operator has not decided for 11 minutes", number_of("operator_unknown"), is_stale=True)
    ask("has succeeded", number_of("approve"))
    ask("has failed", number_of("insufficient_funds"))
    ask("is 11 minutes old, with a prompt that is still open", "", is_stale=True)
    # More than one page of them.
    for _ in range(12):
        ask("nobody confirmed", "")
    sandbox.clock.advance(minutes=2)
    ask("is undecided for 9 minutes only", number_of("operator_unknown").replace("+26096", "+26097"), "airtel")
    sandbox.clock.advance(minutes=6)
    prompted = next(each for each, (_, is_stale) in reversed(made.items()) if is_stale)
    pay.payment_intents.confirm(prompted, phone=SOMEBODY, provider="mtn")
    sandbox.clock.advance(minutes=3)
    return made


# tokens_and_plants


def _second_day(bench: Bench, read_intent: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=5)
        token = sandbox.client.auth.token(email="shop@example.com", password="x")  # noqa: S106  any will do here
        tokens = {"access": token.access_token, "refresh": token.refresh_token}
        for day in (1, 2, 3):
            try:
                seen = read_intent(sandbox, tokens, intent.id)
            except AuthenticationFailed as error:
                yield wrong(
                    f"On day {day} the person has to sign in again: {error}",
                    seen="AuthenticationFailed", expected="the intent", at="auth.refresh(",
                )  # fmt: skip
                return
            if getattr(seen, "id", None) != intent.id:
                yield wrong("The function should return the intent.", brief(seen), "the intent", "return")
            yield from _of_calls(calls_of(sandbox), intent.id, day)
            sandbox.clock.advance(days=1)
    yield done("Signed in once, the person reads the intent on three days.")


def _of_calls(calls: "list[TracedCall]", intent_id: str, day: int) -> Iterator[Verdict]:
    """What is wrong with how the intent was read, however often by then."""
    refreshed = sum("/v1/auth/refresh" in each.target for each in calls)
    if refreshed >= day:
        yield wrong(
            f"On day {day} the token was refreshed although it was valid.",
            seen=f"{refreshed} refreshes", expected=str(day - 1), at="auth.refresh(",
        )  # fmt: skip
    if sum("/v1/auth/token" in each.target for each in calls) > 1:
        yield wrong(
            f"On day {day} the function has signed in anew, and a program should keep no password.",
            seen="auth.token", expected="auth.refresh", at="auth.token(",
        )  # fmt: skip
    held = [each.request.headers["Authorization"] for each in calls if each.target.endswith(intent_id)]
    if any("at_" not in each for each in held):
        yield wrong(
            f"On day {day} the intent was read with the secret key, not with the person's token.",
            seen=held[-1], expected="Bearer at_••••", at="bench.client.payment_intents",
        )  # fmt: skip


# your_own_notebooks


def _night(nightly: Callable[..., object], status: int) -> tuple[object, list[str]]:
    """What a night returns in which the run ends with this exit status, and what it called."""
    calls: list[str] = []

    def run() -> int:
        calls.append("run")
        return status

    return nightly(run, lambda: calls.append("keep_pages")), calls


def _pages_kept(nightly: Callable[..., object]) -> Iterator[Verdict]:
    for status, outcome in enumerate(("all have passed", "a notebook has failed", "a notebook could not be run")):
        seen, calls = _night(nightly, status)
        if calls != ["run", "keep_pages"]:
            yield wrong(
                f"Called in the night in which {outcome}:",
                seen=", ".join(calls) or "nothing", expected="run, keep_pages", at="keep",
            )  # fmt: skip
        yield from same(seen, status, f"A CI server goes by the exit status, and in this night {outcome}.", "return")
    yield done("The pages are kept each night, and the exit status says whether all notebooks passed.")
