"""The repairs: broken functions that stand in the notebooks, called here once they were changed.

Each is tried in a sandbox of its own, so that the notebook's books and trace stay as they are.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workbench.errors import ApiError, AuthenticationFailed, SignatureRefused
from workbench.lab.exercises.shape import Bench, Verdict, done, fresh, kwacha, wrong

_PHONE, _PAYING_PHONE, _REFUSING_PHONE, _UNDECIDED_PHONE = (
    "+260961234567", "+260960000001", "+260960000004", "+260960000012",
)  # fmt: skip

# start_here


def _only_when_paid(bench: Bench, may_leave: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for status, intent_id in _one_in_each_state(sandbox):
            seen = may_leave(sandbox.client, intent_id)
            if seen is not (status == "succeeded"):
                yield wrong(
                    f"The function is wrong about an intent that is {status}.",
                    seen=repr(seen), expected=repr(status == "succeeded"), at="status",
                )  # fmt: skip
    yield done("Only a paid plant leaves the shop.")


def _one_in_each_state(sandbox: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  a Workbench, as of `fresh`
    """An intent's status and id, for every status that an intent may have."""
    pay, handset = sandbox.client, sandbox.phone(_PHONE)

    def new() -> str:
        return str(pay.payment_intents.create(amount=Decimal("35.50"), description="Fern").id)

    yield "requires_payment_method", new()
    waiting = new()
    pay.payment_intents.confirm(waiting, phone=_PHONE, provider="mtn")
    yield "requires_action", waiting
    handset.enter_pin("1234")
    yield "succeeded", waiting
    undecided = new()
    pay.payment_intents.confirm(undecided, phone=_UNDECIDED_PHONE, provider="mtn")
    sandbox.clock.advance(seconds=10)
    yield "processing", undecided
    given_up = new()
    pay.payment_intents.cancel(given_up)
    yield "canceled", given_up


# create_an_intent


def _priced_in_ngwee(bench: Bench, order: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for minor in (8_735, 5, 120_000):
            intent = order(sandbox.client, minor, "A-17")
            if getattr(intent, "object", None) != "payment_intent":
                yield wrong("The function should return the intent.", at="return")
            if intent.amount != Decimal(minor) / 100:
                yield wrong(
                    "An intent counts kwacha, and the shop's price is in ngwee.",
                    seen=kwacha(int(intent.amount * 100)), expected=kwacha(minor), at="amount=",
                )  # fmt: skip
            if intent.metadata != {"order": "A-17"}:
                yield wrong("The order's number is gone.", seen=str(intent.metadata), expected="{'order': 'A-17'}")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


# keys


def _handed_to_the_app(bench: Bench, for_the_app: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Lily")
        given = for_the_app(intent, {"secret": sandbox.secret_key, "publishable": sandbox.publishable_key})
        if not isinstance(given, dict):
            yield wrong("The function should return a dict.", at="return")
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
        try:
            sandbox.client_with(given["key"]).payment_intents.confirm(
                given["id"], phone=_PHONE, provider="mtn", client_secret=given["client_secret"]
            )
        except ApiError as error:
            yield wrong(f"With this, the app cannot confirm the intent: {error}")
    yield done("The app can confirm this one intent, and nothing else.")


# confirm_with_ussd


def _unknown_is_not_failed(bench: Bench, collect: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for what, phone, right, at in (
            ("The customer approves.", _PAYING_PHONE, "paid", "return"),
            ("The customer presses cancel.", _REFUSING_PHONE, "failed", "return"),
            ("No answer comes, and the money may still move.", _UNDECIDED_PHONE, "unknown", 'return "failed"'),
        ):
            intent = sandbox.client.payment_intents.create(amount=Decimal("35.50"), description="Basil")
            seen = collect(sandbox.client, intent.id, phone, "mtn")
            if seen != right:
                yield wrong(f"{what} The function is wrong about it.", seen=repr(seen), expected=repr(right), at=at)
    yield done("A wait that times out is reported as unknown, and not as a failure.")


# read_the_ledger


def _split_to_the_ngwee(split: Callable[[int], Any]) -> Iterator[Verdict]:
    # Here, so that the exercises alone load no wire types.
    from workbench.domain.gaps import Gaps
    from workbench.domain.payments import fees_of

    for gross in (10_000, 8_735, 100, 20, 1):
        returned = split(gross)
        if not isinstance(returned, tuple) or [type(each) for each in returned] != [int, int]:
            yield wrong("The function should return two integers: the merchant's share and the fee.", at="return")
        net, fee = returned
        right = fees_of(gross, Gaps()).merchant_minor
        if fee != right:
            yield wrong(
                f"The fee of {kwacha(gross)} is rounded half up to a ngwee, and is at least one.",
                seen=kwacha(fee), expected=kwacha(right), at="fee =",
            )  # fmt: skip
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
        _take(pay, 10_000, "cleared")
        sandbox.clock.advance(days=1)
        _take(pay, 5_000, "pending")
        available = pay.balance.retrieve().available[0].amount
        payout = pay_out(pay)
        if getattr(payout, "object", None) != "payout":
            yield wrong(f"K{available} are available, and the function should return the payout of it.", at="return")
        if payout.amount != available:
            yield wrong(
                "The payout is not all that is available.",
                seen=f"K{payout.amount}", expected=f"K{available}", at="amount = ",
            )  # fmt: skip
        if pay_out(pay) is not None:
            yield wrong("Nothing is available any more, and the function should return None.", at="return")
    yield done(f"K{available} were available and another payment was pending: it pays out K{available}.")


def _take(pay: Any, amount_minor: int, order: str) -> None:  # noqa: ANN401  a client of another sandbox
    """A payment that succeeds at once."""
    pay.charges.create(
        amount=amount_minor, channel="mtn", phone="+260961234567", reference=order, idempotency_key=order
    )


# verify_webhooks


def _genuine_messages(bench: Bench, type_of: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        sandbox.client.payment_intents.create(amount=Decimal("150.00"))
        arrival = sandbox.receiver.arrivals[-1]
        secret, now_s = sandbox.receiver.secrets[0], sandbox.clock.now_ms // 1000

        def told(body: bytes, moment_s: int) -> str:
            try:
                return str(type_of(body, arrival.headers, secret, moment_s))
            except SignatureRefused as error:
                return error.reason

        if (seen := told(arrival.body, now_s)) != arrival.reason:
            yield wrong("A genuine message does not get through.", seen=seen, expected=arrival.reason, at="verify(")
        for what, body, moment_s in (
            ("whose amount was changed", arrival.body.replace(b"150.00", b"950.00"), now_s),
            ("that is 301 seconds old", arrival.body, now_s + 301),
        ):
            if (seen := told(body, moment_s)) == arrival.reason:
                yield wrong(f"A message {what} gets through.", seen=seen, expected="SignatureRefused", at="verify(")
    yield done("Genuine messages get through, changed and old ones do not.")


# charge_in_one_call


_OF_CHARGES = {
    "A customer has paid.": ("+260961234567", True),
    "The wallet holds too little, and the charge is declined.": ("+260960000002", False),
    "Nobody has answered the prompt yet, and the charge is pending.": ("+260960000005", False),
}
"""What has become of a charge: the number that does it, and whether goods may leave."""


def _shipped_unpaid(bench: Bench, may_ship: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for what, (phone, expected) in _OF_CHARGES.items():
            seen = may_ship(sandbox.client, 15_000, phone, f"ORDER-{phone[-1]}")
            if seen is not expected:
                yield wrong(what, seen=str(seen), expected=str(expected), at="return")
    yield done("Goods leave for a paid charge, not for a declined one, and not for one that is pending.")


# when_payments_fail


class _TooOften(BaseException):
    """Raised past the `except Exception` of a loop that does not end."""


_ATTEMPTS = 5
_LETS_GO = {
    # What the attempts come to, one after the other, and how many of them are worth making.
    ("declined_by_customer", "succeeded"): (1, "The customer has refused, and was asked again."),
    ("prompt_timeout", "succeeded"): (1, "An expired prompt's money may still come, and the customer was asked again."),
    ("payer_not_found", "succeeded"): (1, "There is no wallet behind the number, however often you ask."),
    ("payer_busy", "succeeded"): (2, "The handset was busy, and the next attempt would have been paid."),
    ("operator_unavailable", "payer_busy", "succeeded"): (3, "The operator was down and would have been back."),
    ("operator_unavailable",) * (_ATTEMPTS + 1): (_ATTEMPTS, "The operator stays down."),
}


def _lets_go(collect: Callable[..., Any]) -> Iterator[Verdict]:
    for script, (expected, fault) in _LETS_GO.items():
        made: list[str] = []
        waited: list[float] = []

        def attempt(made: list[str] = made, script: tuple[str, ...] = script) -> str:
            if len(made) > _ATTEMPTS:
                raise _TooOften
            made.append(script[min(len(made), len(script) - 1)])
            return made[-1]

        with suppress(_TooOften):
            returned = collect(attempt, waited.append)
            if made and returned != made[-1]:
                yield wrong(
                    "The function should return the last outcome.",
                    seen=str(returned), expected=made[-1], at="return",
                )  # fmt: skip
        if len(made) != expected:
            often = f"more than {_ATTEMPTS}" if len(made) > _ATTEMPTS else str(len(made))
            yield wrong(fault, seen=f"{often} attempts", expected=str(expected), at="while")
        if len(waited) != expected - 1:
            yield wrong("There should be a pause between two attempts, and none after the last.", at="wait(")
    yield done("One prompt for whoever refused, and five attempts at most while the operator is the reason.")


# retries_dead_letters_and_replay


def _of_two_payments(bench: Bench) -> list[Any]:
    """The events by which a shop is told of two orders, both paid."""
    with fresh(bench) as sandbox:
        for _ in range(2):
            intent = sandbox.client.payment_intents.create(amount=Decimal(150))
            sandbox.client.payment_intents.confirm(intent.id, phone="+260960000001", provider="mtn")
            sandbox.client.wait(intent.id)
        return list(sandbox.receiver.events)


def _remembered(bench: Bench, handle: Callable[..., Any]) -> Iterator[Verdict]:
    events = _of_two_payments(bench)
    paid = [each for each in events if each.type == "payment_intent.succeeded"]
    handled: set[str] = set()
    refused: list[str] = []
    shipped: list[str] = []

    def ship(intent_id: str) -> None:
        (shipped if refused else refused).append(intent_id)
        if not shipped:
            raise ConnectionError

    is_told = False
    try:
        handle(paid[0], handled, ship)
    except ConnectionError:
        is_told = True
    if not refused:
        yield wrong("ship was not called for a paid order.", at="if event.type")
    if not is_told:
        yield wrong(
            "ship has failed, and the function raised nothing: the service gets a 200 and does not send again.",
            at="except",
        )
    handle(paid[0], handled, ship)
    if not shipped:
        yield wrong(
            "The event came again after ship had failed, and it was taken for handled.",
            seen="nothing shipped", expected="1 shipped", at="handled.add",
        )  # fmt: skip
    for each in (*events, *paid):
        handle(each, handled, ship)
    if shipped != [each.data.object["id"] for each in paid]:
        yield wrong(
            "Two orders were paid, and the service sent each event more than once.",
            seen=f"{len(shipped)} shipped", expected="2 shipped", at="handled",
        )  # fmt: skip
    yield done("What failed is sent again and shipped, and what came twice is shipped once.")


# idempotency


def _looks_first(bench: Bench, charge_after_all: Callable[..., Any]) -> Iterator[Verdict]:
    number = "+260960000001"
    with fresh(bench) as sandbox:
        for scenario in ("server_error_after", "server_error", "approve"):
            order = {"amount": 2_500, "channel": "mtn", "phone": number, "reference": f"ORDER-{scenario}"}
            sandbox.operator.script(number, [scenario])
            charge = charge_after_all(sandbox.client, order)
            paid = [each for each in sandbox.client.charges.each() if each.reference == order["reference"]]
            if len(paid) > 1:
                yield wrong(
                    "The service failed after it had charged the customer, who was charged again.",
                    seen=f"{len(paid)} payments", expected="1", at="-again",
                )  # fmt: skip
            if not paid:
                yield wrong(
                    "The service failed before it had charged the customer, and the order stays unpaid.",
                    seen="0 payments", expected="1", at="except",
                )  # fmt: skip
            if getattr(charge, "id", None) != paid[0].id:
                yield wrong("The customer has paid once. Now return the charge.", at="return")
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
            if status != expected:
                yield wrong(
                    f"The messages came in this order: {', '.join(events)}.",
                    seen=str(status), expected=expected, at=f'"{events[-1]}"',
                )  # fmt: skip
    for status in steps:
        if (after := next_status(status, "charge.blessed")) != status:
            yield wrong("An event of a type that nobody knows changed the status.", seen=str(after), expected=status)
    yield done("The status depends on what the messages say, and not on their order.")


# explore_a_month


def _net_by_operator(net_by_operator: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    charges = pd.DataFrame(
        {
            "id": ["ch_1", "ch_2", "ch_3"],
            "status": ["succeeded", "succeeded", "failed"],
            "amount_minor": [10_000, 4_000, 700],
            "refunded_minor": [5_000, 0, 0],
            "provider": ["mtn", "airtel", "airtel"],
        }
    )
    refunds = pd.DataFrame(
        {
            "id": ["re_1", "re_2"],
            "charge": ["ch_1", "ch_1"],
            "status": ["succeeded"] * 2,
            "amount_minor": [3_000, 2_000],
        }
    )
    slips = {15_000: "A charge with two refunds counts twice: the join makes two rows of it."}
    net = net_by_operator(charges, refunds)
    if not isinstance(net, pd.Series):
        yield wrong(
            "The function should return a Series: ngwee by operator.",
            seen=type(net).__name__,
            expected="Series",
            at="return",
        )
    for provider, expected, of_what in (
        ("airtel", 4_000, "One payment of K40.00 succeeded with airtel, and none was refunded."),
        ("mtn", 5_000, "With mtn, K100.00 were paid; K30.00 and K20.00 of them went back."),
    ):
        if provider not in net:
            yield wrong(
                f"{provider} is missing. A payment without a refund counts too.",
                seen=str(list(net.index)),
                expected="['airtel', 'mtn']",
                at="how=",
            )
        seen = int(net[provider])
        if seen != expected:
            yield wrong(slips.get(seen, of_what), seen=kwacha(seen), expected=kwacha(expected), at="merge")
    if net.dtype.kind != "i":
        yield wrong(
            "The amounts are right, and floats: a missing value has made them so.",
            seen=str(net.dtype),
            expected="int64",
            at="fillna",
        )
    yield done("K50.00 with mtn after two refunds, K40.00 with airtel, in whole ngwee.")


# reconcile_a_statement


def _one_sided(one_sided: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    ledger = pd.DataFrame({"key": ["A-1", "A-2", "A-4"], "amount_minor": [5, 6, 7]})
    statement = pd.DataFrame({"key": ["A-3", "A-2", "A-1"], "amount_minor": [8, 6, 5]})
    keys = one_sided(ledger, statement)
    if not isinstance(keys, list):
        yield wrong(
            "The function should return a list of keys.", seen=type(keys).__name__, expected="list", at="return"
        )
    says = {
        "A-1": "Both sides have A-1.",
        "A-3": "A-3 is on the statement alone, and is not reported.",
        "A-4": "A-4 is in the ledger alone, and is not reported.",
    }
    expected = ["A-3", "A-4"]
    for key in [*(key for key in says if (key in keys) != (key in expected)), *([""] if keys != expected else [])]:
        yield wrong(says.get(key, "Give each key once, in order."), seen=str(keys), expected=str(expected), at="_merge")
    yield done("A-3 of the statement and A-4 of the ledger are both reported.")


# settle_and_decide


def _settle_all(bench: Bench, settle_all: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    fee = {
        "recipe": "fee_raised", "fee_minor": 0, "currency": "ZMW", "account": "operator:mtn:float", "entry": None,
        "occurred_at": "2026-01-05T06:00:00.000Z", "description": "a fee",
    }  # fmt: skip
    proposals = [json.dumps([{**fee, "amount_minor": minor, "reference": f"MP-{minor}"}]) for minor in (2, 3)]
    breaks = pd.DataFrame(
        {
            "code": ["fee_mismatch", "ambiguous", "fee_mismatch", "timing"],
            "proposal": [proposals[0], None, proposals[1], None],
        }
    )
    with fresh(bench) as sandbox:
        without = settle_all(sandbox, breaks)
        posted = len(sandbox.ledger.entries)
    if posted != len(proposals):
        yield wrong(
            "Two of four breaks have a proposal: the first and the third. Not every proposal is posted.",
            seen=f"{posted} posted", expected="2 posted", at="try",
        )  # fmt: skip
    if not isinstance(without, list) or sorted(without) != ["ambiguous", "timing"]:
        yield wrong(
            "Both entries are posted. The codes that no entry settles are not the right ones.",
            seen=str(without), expected="['ambiguous', 'timing']", at="return",
        )  # fmt: skip
    yield done("Two entries are posted, and ambiguous and timing are left for a person.")


# when_the_data_outgrows_the_laptop


def _mean_of_parts(mean_of_parts: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    with TemporaryDirectory() as folder:
        parts = [Path(folder) / "part-0.parquet", Path(folder) / "part-1.parquet"]
        for part, minors in zip(parts, ([1_000, 2_000, 3_000], [10_000]), strict=True):
            pd.DataFrame({"amount_minor": minors}).to_parquet(part)
        mean = mean_of_parts(parts)
    if isinstance(mean, float) or not hasattr(mean, "__index__"):
        yield wrong("A mean of ngwee is a whole number.", seen=type(mean).__name__, expected="int", at="return")
    right = 4_000
    slips = {
        6_000: "The mean of means counts a part of one row as much as a part of three.",
        8_000: "The sum is divided by the number of parts. Divide it by the number of rows.",
    }
    if mean != right:
        yield wrong(
            slips.get(int(mean), "The parts hold K10.00, K20.00 and K30.00, and K100.00."),
            seen=kwacha(int(mean)), expected=kwacha(right), at="return",
        )  # fmt: skip
    yield done("Of K10.00, K20.00 and K30.00 in one part and K100.00 in the other, the mean is K40.00.")


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
            told = prompt_closes(sandbox.client, intent.id, "+260961234567", "mtn")
            action = sandbox.client.payment_intents.retrieve(intent.id).next_action
            if not action:
                yield wrong("No prompt is on the customer's phone: the function should confirm the intent.")
            if told != action.ussd_prompt.expires_at:
                yield wrong(
                    f"Under {gaps or 'the defaults'} the prompt closes at another moment.",
                    seen=str(told), expected=str(action.ussd_prompt.expires_at), at="return",
                )  # fmt: skip
    yield done("It works whatever the response to confirm contains, and however long a prompt waits.")


# certify_your_endpoint

_NOW_S = 1_767_592_800
_SIGNED = (
    ("A message of this second", str(_NOW_S), True), ("A message from 299 s ago", str(_NOW_S - 299), True),
    ("A message from 299 s ahead", str(_NOW_S + 299), True), ("A message from an hour ago", str(_NOW_S - 3600), False),
    ("A message from an hour ahead", str(_NOW_S + 3600), False), ("A header that is missing", None, False),
    ("A header that makes no sense", "soon", False),
)  # fmt: skip


def _fresh_both_ways(is_fresh: Callable[..., object]) -> Iterator[Verdict]:
    for title, timestamp, expected in _SIGNED:
        if (seen := bool(is_fresh(timestamp, _NOW_S))) is not expected:
            does = "is accepted" if seen else "is refused"
            yield wrong(f"{title} {does}.", seen=str(seen), expected=str(expected), at="return")
    yield done("Old messages and messages from the future are refused, and a clock may be off by some minutes.")


# going_live


def _alert_that_fires(bench: Bench, stale: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        pay = sandbox.client
        lost, paid, failed, unasked = (pay.payment_intents.create(amount=5).id for _ in range(4))
        for each, ending in ((lost, 12), (paid, 1), (failed, 2)):
            pay.payment_intents.confirm(each, phone=f"+26096{ending:07}", provider="mtn")
        sandbox.clock.advance(minutes=20)
        recent = pay.payment_intents.create(amount=5).id
        pay.payment_intents.confirm(recent, phone="+260970000012", provider="airtel")
        sandbox.clock.advance(minutes=1)
        named = list(stale(pay, sandbox.clock.now_ms // 1000))
        quiet = {paid: "has succeeded", failed: "has failed", unasked: "nobody confirmed", recent: "is a minute old"}
        for why in (quiet[each] for each in named if each in quiet):
            yield wrong(f"The alert names a payment that {why}.", seen=f"{len(named)} payments", expected="1", at="if")
        if named != [lost]:
            yield wrong(
                "An operator has not answered for 21 minutes, and the alert does not name that payment.",
                seen=str(named), expected=str([lost]), at="if",
            )  # fmt: skip
    yield done("The alert names the payment that is still undecided after 10 minutes, and no other.")


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
                yield wrong(f"On day {day} the person has to sign in again: {error}", at="auth.refresh(")
                return
            if getattr(seen, "id", None) != intent.id:
                yield wrong("The function should return the intent.", at="return")
            refreshed = sum("/v1/auth/refresh" in each.request for each in sandbox.trace.exchanges)
            if refreshed >= day:
                yield wrong(
                    f"On day {day} the token was refreshed although it was valid.",
                    seen=f"{refreshed} refreshes", expected=str(day - 1), at="auth.refresh(",
                )  # fmt: skip
            sandbox.clock.advance(days=1)
    yield done("Signed in once, the person reads the intent on three days.")


# your_own_notebooks


def _night(nightly: Callable[..., object], status: int) -> tuple[object, list[str]]:
    """What a night returns in which the run ends with this exit status, and what it called."""
    calls: list[str] = []

    def run() -> int:
        calls.append("run")
        return status

    return nightly(run, lambda: calls.append("keep_pages")), calls


def _pages_kept(nightly: Callable[..., object]) -> Iterator[Verdict]:
    for status in (0, 1):
        seen, calls = _night(nightly, status)
        if calls != ["run", "keep_pages"]:
            outcome = "a notebook has failed" if status else "all have passed"
            yield wrong(
                f"Called in the night in which {outcome}:", seen=", ".join(calls), expected="run, keep_pages", at="keep"
            )
        if seen != status:
            yield wrong("A CI server goes by the exit status.", seen=str(seen), expected=str(status), at="return")
    yield done("The pages are kept each night, and the exit status says whether all notebooks passed.")
