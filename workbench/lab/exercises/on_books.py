"""Checks for the notebooks on the ledger, webhooks, charges and idempotency, a month's books, and going live."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import product
from typing import Any, SupportsIndex

from workbench.domain.signatures import verify
from workbench.errors import ServiceFailed, SignatureRefused
from workbench.lab.exercises.judging import Answer, Fault, line_of
from workbench.lab.exercises.verdicts import (
    SOMEBODY,
    Bench,
    Sale,
    Verdict,
    best_of,
    brief,
    charges,
    done,
    fresh,
    json_of,
    kwacha,
    not_yet,
    number_of,
    sale_of,
    unequal,
    wrong,
)

_LOST, _PATIENCE, _MINOR = 2, 100, 2_500
_ORDER: dict[str, Any] = {"amount": _MINOR, "channel": "mtn", "phone": SOMEBODY}


class _Tried:
    """One order, charged by a learner's function over a connection that loses the first `lost` responses."""

    def __init__(self, sandbox: Bench, charge: Callable[..., Any], lost: int = 0, **changed: object) -> None:
        import httpx

        says = f"The function has asked {_PATIENCE} times, and goes on. After a few rounds it should give up"
        goes_on = Fault(says, f"{_PATIENCE} requests", "a few", "while")

        def answered(request: httpx.Request) -> httpx.Response:
            self.requests += (is_asked := request.method == "POST")
            if self.requests == _PATIENCE + 1:
                raise goes_on
            if self.requests > _PATIENCE:  # a bare `except:` has swallowed it: a payment ends its loop
                sandbox.client.charges.create(**_ORDER, idempotency_key="end")
                return httpx.Response(200, text=sandbox.trace.exchanges[-1].response.partition("\n\n")[2])
            response = sandbox.http.send(request)
            if is_asked and self.requests <= lost:
                raise httpx.ReadTimeout("the connection was lost", request=request)
            return httpx.Response(response.status_code, headers=response.headers, content=response.content)

        order = {**_ORDER, **changed}
        line = httpx.Client(transport=httpx.MockTransport(answered))
        self.requests, self.response = 0, None
        self.error: Exception | None = None
        try:
            self.response = charge(type(sandbox.client)(sandbox.base_url, str(sandbox.secret_key), http=line), order)
        except Exception as error:  # noqa: BLE001  any exception is a way to give up
            self.error = error
        if self.requests > _PATIENCE:
            raise goes_on
        self.charges = charges(sandbox, reference=str(order["reference"]))
        self.paid = [charge for charge in self.charges if charge.status == "succeeded"]


def _charge_surely(bench: Bench, charge_surely: Callable[..., object]) -> Iterator[Verdict]:
    """Tests a function with two orders, one of them repeated, a decline, a mistake and a dead connection."""
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
            if tried.requests > most:
                says = f"{when} the function has charged again. Only after a lost response should it repeat a request."
                yield wrong(says, f"{tried.requests} requests", "1 request", "except")
            if tried.error is None and getattr(tried.response, "id", "") not in [charge.id for charge in tried.charges]:
                says = f"{when} the function raises no exception, so its caller does not learn that there is no charge."
                yield wrong(says, f"returned {brief(tried.response)}", "an exception", "return")
    yield done(f"{_LOST} responses were lost, the customer has paid once, and the shop knows it.")


def _of_one_order(tried: _Tried, lost: int) -> Iterator[Verdict]:
    """Yields a verdict if the order in `tried`, whose first `lost` responses were lost, was charged wrongly."""
    if tried.error and 0 < tried.requests <= lost:
        says = "A response was lost and the function gave up. The customer has paid and the shop does not know."
        events = f"{tried.requests} requests, then {type(tried.error).__name__}{line_of(tried.error)}"
        yield wrong(says, events, f"more than {lost} requests", "range(")
    if tried.error:
        raise tried.error
    if not tried.charges:
        yield not_yet("The function has not charged anybody.")
    if len(tried.paid) > 1:
        yield wrong("Every request had a key of its own.", f"{len(tried.paid)} payments", "1", "key")
    says = "The customer has paid another amount than the order's."
    yield from unequal(int(tried.charges[0].amount), _MINOR, says, "create(", kwacha)
    if getattr(tried.response, "id", None) != tried.charges[0].id:
        says = "The customer has paid once, as it should be. Now return the charge, so that the shop knows it."
        yield wrong(says, brief(tried.response), "the charge", "create(")


_OWN_ID, _TYPE = "evt_mine", "charge.failed"
_NO_EVENT = "The body is not an event: it needs id, type and timestamp as texts, and data with an object in it."


def _own_message(bench: Bench) -> Iterator[Verdict]:
    arrivals = bench.receiver.arrivals
    ids = [{name.lower(): text for name, text in arrival.headers.items()}.get("webhook-id") for arrival in arrivals]
    tries = (
        _verdict_on_arrival(bench, arrival) for arrival, own_id in zip(arrivals, ids, strict=True) if own_id == _OWN_ID
    )
    says = f"No message with the webhook-id {_OWN_ID} has reached the receiver."
    yield from best_of(tries, not_yet(says, str(["no message", *ids][-1]), _OWN_ID, "webhook-id"))


def _verdict_on_arrival(bench: Bench, arrival: Any) -> Iterator[Verdict]:  # noqa: ANN401  the receiver's
    """Yields the verdict on a message to the receiver; a correct message passes even if it counted as a duplicate."""
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
    yield from unequal(event.get("type"), _TYPE, says, '"type"', str)
    says = "A message has the same id in its header and in its body. Here the body has another id."
    yield from unequal(event.get("id"), _OWN_ID, says, '"id"', str)
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
        yield from unequal(fee, right, _OF_FLOATS if gross == _LONG else of_fee, "fee =", kwacha)
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
                yield from unequal(returned, arrival.reason, says, "return", brief)
            for kind, message, moment_s in (
                ("whose content was changed", (body.replace(b"150.00", b"950.00"), headers), now_s),
                ("that is 301 seconds old", (body, headers), now_s + 301),
                ("from the future, 301 seconds early,", (body, headers), now_s - 301),
                ("signed with another secret", sandbox.sign(body, "wrong_secret"), now_s),
            ):
                try:
                    returned = type_of(*message, secret, moment_s)
                except Exception:  # noqa: BLE001, S112  any exception is a refusal
                    continue
                if returned == arrival.reason:
                    yield wrong(f"A message {kind} gets through.", brief(returned), "an exception", "verify(")
                says = f"The function refuses a message {kind} by returning {brief(returned)}. Its caller cannot tell "
                other = "a message without a type" if returned is None else "a genuine message"
                yield wrong(f"{says}this from {other}: raise an exception.", brief(returned), "an exception", "except")
    yield done("Genuine messages get through. Changed, old and early messages do not.")


def _looks_first(bench: Bench, charge_after_all: Callable[..., Any]) -> Iterator[Verdict]:
    approves, waits = number_of("approve"), number_of("prompt_timeout")
    after = "server_error_after"
    orders = {"A": (approves, [after]), "B": (approves, ["server_error"]), "C": (waits, [after]), "D": (approves, [])}
    with fresh(bench) as sandbox:
        # Each order is tried twice: the second time, other orders' charges are newer.
        for place, reference in enumerate([*orders, *orders]):
            number, scenarios = orders[reference]
            order = {**_ORDER, "phone": number, "reference": reference}
            sandbox.operator.script(number, scenarios if place < len(orders) else [])
            before, charge, failed = len(sandbox.trace.exchanges), None, None
            try:
                charge = charge_after_all(sandbox.client, order)
            except ServiceFailed as error:
                failed = error
            of_order = charges(sandbox, reference=reference)
            says = "The function returns the charge of another order. An order's charge is known by its reference."
            yield from unequal(getattr(charge, "reference", reference), reference, says, "if charge", str)
            if len(of_order) > 1:
                had = "charge was pending" if number == waits else "customer had paid before"
                yield wrong(
                    f"The {had}, and the customer was charged again.", f"{len(of_order)} charges", "1", "-again"
                )
            if of_order and getattr(charge, "id", None) == of_order[0].id:
                continue
            if any("Idempotent-Replayed" in exchange.response for exchange in sandbox.trace.exchanges[before:]):
                says = "The service keeps a 500 under its key. The function sent the request again under it, and"
                yield wrong(f"{says} the same 500 came back. Look for the charge first.", "500", "the charge", "_key=")
            if failed:
                raise failed
            if not of_order:
                yield wrong("The service failed before the charge, and the order is unpaid.", "none", "1", "except")
            yield wrong("The order has one charge. Now return it.", brief(charge), "the charge", "return")
    yield done("One charge for each order, whether the service failed before the charge, after it or not at all.")


_SATURDAY = 5
_IN_KWACHA = "This is in kwacha, and the tables count ngwee."


def _whole(value: object, at: str) -> Iterator[Verdict]:
    """Yields a verdict if an amount is not an integer of ngwee."""
    if isinstance(value, float | bool) or not hasattr(value, "__index__"):
        yield wrong("Money is a whole number of ngwee: an int.", seen=type(value).__name__, expected="int", at=at)


def _frame(**columns: list[Any]) -> Any:  # noqa: ANN401  a DataFrame
    import pandas as pd

    return pd.DataFrame(columns)


_DAYS = {
    "": (_SATURDAY, 6),
    "It counts all days of the month.": range(7),
    "It counts the Saturdays alone.": (_SATURDAY,),
    "It counts the Sundays alone: pandas numbers a Saturday 5 and a Sunday 6.": (6,),
    "It counts the Fridays too: pandas numbers a Friday 4.": (4, _SATURDAY, 6),
    "It counts the days from Monday to Friday.": range(5),
}
_IN_UTC = "It takes the days in UTC. A weekend in Lusaka begins two hours earlier: use business_date."


def _weekends(bench: Bench, weekend_minor: SupportsIndex) -> Iterator[Verdict]:
    charges = bench.tables.charges
    paid = charges["status"] == "succeeded"
    in_lusaka = charges["business_date"].map(lambda day: day.weekday())
    if not (in_lusaka[paid] >= _SATURDAY).any():
        yield not_yet("No payment of a weekend is in the tables. Run the notebook from its first cell.")
    yield from _whole(weekend_minor, "weekend_minor =")
    guess_minor, answers = weekend_minor.__index__(), dict[int, str]()
    in_utc = charges["created_at"].dt.day_of_week
    for days, (rows, failed_too), (weekday, utc) in product(
        _DAYS, ((paid, ""), (paid | ~paid, "It counts failed charges too.")), ((in_lusaka, ""), (in_utc, _IN_UTC))
    ):
        chosen = charges[rows & weekday.isin(_DAYS[days])]
        total, refunded = (int(chosen[name].sum()) for name in ("amount_minor", "refunded_minor"))
        for answer, slip in (
            (total, ""), (total // 100, _IN_KWACHA), (len(chosen), "It is how many payments there are, not how much."),
            (total - refunded, "Your sum is after refunds; the task asks for the sum before refunds."),
        ):  # fmt: skip
            answers.setdefault(answer, " ".join(filter(None, (days, failed_too, utc, slip))))
    if answers.get(guess_minor) == "":
        count = int((paid & (in_lusaka >= _SATURDAY)).sum())
        yield done(f"{kwacha(guess_minor)} on Saturdays and Sundays, from {count} payments.")
    says = f"{kwacha(guess_minor)} is not what customers paid."
    slip = answers.get(guess_minor, "Which charges count, and which days?")
    yield wrong(f"{says} {slip}", kwacha(guess_minor), "succeeded charges of both days, in ngwee", "weekend_minor =")


def _what_is_left(second: Answer, left_minor: SupportsIndex) -> Iterator[Verdict]:
    yield from _whole(left_minor, "left_minor =")
    account, variances = "operator:mtn:float", second.breaks["variance_minor"]
    of_mtn = variances[second.breaks["account"] == account]
    guess_minor, right = left_minor.__index__(), int(of_mtn.sum())
    if guess_minor == right:
        breaks = "1 break is left, and explains" if len(of_mtn) == 1 else f"{len(of_mtn)} breaks are left, and explain"
        yield done(f"{breaks} the difference of {right:,} ngwee.")
    slips = {
        -right: "The sign is the other way round: a variance is the ledger's side less the statement's.",
        int(of_mtn.abs().sum()): "This adds up the variances without their signs: with signs, some cancel out.",
        int(variances.sum()): "This is the sum over all accounts.",
        len(of_mtn): "This is how many breaks are left, not their sum.", right // 100: _IN_KWACHA,
    }  # fmt: skip
    says = f"The two sides do not differ by {guess_minor:,} ngwee."
    slip, sum_of = slips.get(guess_minor, "Which rows count, and which column?"), "the sum of variance_minor of"
    yield wrong(f"{says} {slip}", f"{guess_minor:,} ngwee", f"{sum_of} {account} in second", "left_minor =")


def _net_by_operator(net_by_operator: Callable[..., Any]) -> Iterator[Verdict]:
    # Then figures of another size, so that a typed answer fails, and then two equal refunds.
    for times, first, second in ((1, 3_000, 2_000), (3, 3_000, 2_000), (1, 2_500, 2_500)):
        charges = _frame(
            id=["ch_1", "ch_2", "ch_3", "ch_4"], status=["succeeded", "succeeded", "failed", "succeeded"],
            amount_minor=[10_000 * times, 4_000 * times, 700 * times, 2_000 * times],
            refunded_minor=[5_000 * times, 0, 0, 0], provider=["mtn", "airtel", "airtel", "airtel"],
        )  # fmt: skip
        refunds = _frame(
            id=["re_1", "re_2", "re_3"], charge=["ch_1", "ch_1", "ch_4"], status=["succeeded", "succeeded", "failed"],
            amount_minor=[first * times, second * times, 500 * times],
        )  # fmt: skip
        net = net_by_operator(charges, refunds)
        says = "The function should return a Series: ngwee by operator."
        yield from unequal(type(net).__name__, "Series", says, "return", str)
        amounts = [kwacha(minor * times) for minor in (10_000, first, second, 4_000, 2_000, 700, 500)]
        for provider, minor, facts, slips in (
            ("mtn", 5_000, "With mtn, {} were paid; {} and {} of them went back.", {
                15_000: "A charge with two refunds counts twice: the join makes two rows of it.",
                10_000: "No refund is subtracted.",
                **dict.fromkeys([10_000 - first, 10_000 - second], "One of two refunds is not subtracted."),
            }),
            ("airtel", 6_000, "With airtel, {3} and {4} were paid; one payment of {5} failed, and one refund of {6}.", {
                6_700: "A charge that failed counts too.", 5_500: "A failed refund is subtracted.",
                2_000: "A payment without a refund does not count.",
            }),
        ):  # fmt: skip
            right, net_minor = minor * times, net.dropna().get(provider)
            if net_minor is None:
                says = f"{provider} has no amount. A payment without a refund counts too."
                yield wrong(says, seen=brief(net.to_dict()), expected=f"{provider}: {right}", at="merge")
            if net_minor != right:
                slip = _IN_KWACHA if net_minor * 100 == right else slips.get(net_minor / times, "")
                says = f"{facts.format(*amounts)} {slip}".rstrip()
                yield wrong(says, seen=kwacha(round(net_minor)), expected=kwacha(right), at="merge")
        if net.dtype.kind != "i":
            says = "The amounts are right, but not integers: a missing value or a division makes floats of them."
            yield wrong(says, seen=str(net.dtype), expected="int64", at="fillna")
    yield done("Each payment counts once, less its refunds, in whole ngwee.")


_CASES = (
    ("A1 A2 A4", "A3 A2 A1"), ("B1 B2 B4", "B3 B2 B1"), ("C4 C1 C2 C2 C4", "C1 C3 C2 C1 C3"), ("D1 - D4", "D3 D1"),
    ("E4 E1", "E1 - E3"), ("F1", "F1"),
)  # fmt: skip
"""Cases for `one_sided`: (keys of the ledger, keys of the statement), with `-` for a row without a key.

In two cases each key occurs once; then come keys that repeat in one table, a row without a key in the ledger, one on
the statement, and tables that agree.
"""


def _one_sided(one_sided: Callable[..., Any]) -> Iterator[Verdict]:
    for sides in _CASES:
        ours, theirs = ([None if key == "-" else key for key in side.split()] for side in sides)
        expected = sorted({key for key in {*ours} ^ {*theirs} if key})
        # No amount is like another, so that rows agree by their keys alone.
        tables = [_frame(key=side, amount_minor=[*range(at, at + len(side))]) for at, side in ((5, ours), (50, theirs))]
        try:
            keys = one_sided(*tables)
        except (TypeError, ValueError) as error:
            if "-" not in "".join(sides) or not line_of(error):
                raise
            yield wrong(f"A row without a key stopped your function{line_of(error)}", str(error), str(expected), "key")
            return
        yield from unequal(type(keys).__name__, "list", "The function should return a list of keys.", "return", str)
        for key in sorted({key for key in ours + theirs if key}):
            place = "in the ledger" if key in ours else "on the statement"
            often = ", twice," if (ours + theirs).count(key) > 1 else ""
            outcome = "reported twice: once is enough" if key in keys else "not reported"
            if key not in expected and key in keys:
                yield wrong(f"Both sides have {key}: compare the keys alone.", str(keys), str(expected), "_merge")
            if key in expected and keys.count(key) != 1:
                yield wrong(f"{key} is {place} alone{often} and is {outcome}.", str(keys), str(expected), "_merge")
        says = "The keys are not in order, or a row without a key is reported."
        yield from unequal(keys, expected, says, "return", str)
    yield done("Each key that one side alone has is reported once, however often it occurs.")


_SUBJECTS = {"payment_intent": "orders", "charge": "orders", "refund": "orders", "suspense": "orders", "payout": "bank"}
"""Object of an event → the subject under which the strict shop in the notebook files the event."""


def _passes_the_exam(examined: Answer, Repaired: Answer) -> Iterator[Verdict]:  # noqa: N803  a class
    if not (callable(examined) and callable(Repaired)):
        says = "Repaired should be a class, or a function, that takes a sandbox and returns a shop."
        yield wrong(says, type(Repaired).__name__, "class Repaired(Strict)", "Repaired =")
        return
    shops: list[Any] = []

    def build(bench: Bench) -> object:
        shops.append(Repaired(bench))
        return shops[-1]

    rows = examined(build).rows
    if failed := [row for row in rows if row.verdict == "failed"]:
        first = failed[0]
        says = f"The shop fails {len(failed)} of {len(rows)} checks, the first of them: {first.title}. {first.why}"
        yield wrong(says, first.came, first.expected, "class ")
    if left_out := [row.title for row in rows if row.came == "--orders would examine it"]:
        says = f"The exam left {len(left_out)} of {len(rows)} checks out, the first of them: {left_out[0]}."
        yield wrong(f"{says} Let it count the orders.", f"{len(left_out)} not examined", "none", "examined")
    files = getattr(shops[-1], "files", None)
    if not isinstance(files, Mapping):
        yield wrong("The shop has no files any more.", type(files).__name__, "files: event id → subject", "class ")
        return
    for event in shops[-1].receiver.events:
        subject = _SUBJECTS.get(event.type.partition(".")[0], "other")
        says = f"The shop has accepted an event of the type {event.type} and has not filed it under {subject!r}."
        yield from unequal(files.get(event.id, "not filed"), subject, says, "files")
    says = "The shop has more in its files than the events that it has accepted."
    yield from unequal(len(files), len(shops[-1].receiver.events), says, "files", str)
    passed = sum(row.verdict == "passed" for row in rows)
    yield done(f"All {passed} examined checks are passed, orders included, and each event is filed.")


_SETUPS: tuple[tuple[dict[str, object], str, str], ...] = (
    ({}, "mtn", "+260961234567"),
    ({"confirm_response": "accepted"}, "airtel", "+260971234567"),
    ({"confirm_response": "accepted", "prompt_timeout_s": 180}, "zamtel", "+260951234567"),
)
"""(rows of the register to switch in a sandbox, the operator of its customer, the customer's phone)."""


def _either_way(bench: Bench, prompt_closes: Callable[..., Any]) -> Iterator[Verdict]:
    for gaps, operator, phone in _SETUPS:
        where = f"With {', '.join(f'{name} = {value}' for name, value in gaps.items()) or 'the defaults'}"
        with fresh(bench, gaps=gaps) as sandbox:
            intent = sandbox.client.payment_intents.create(amount=5)
            try:
                returned = prompt_closes(sandbox.client, intent.id, phone, operator)
            except (AttributeError, TypeError) as error:
                if not gaps or not line_of(error):
                    raise
                says = f"{where}, the response to the confirm has only id and status. Your code stopped{line_of(error)}"
                yield wrong(says, "no next_action in the response", "when the prompt closes", ".confirm(")
                return
            confirms = sum(f"/{intent.id}/confirm " in exchange.request for exchange in sandbox.trace.exchanges)
            says = f"{where}, your code sent {confirms} confirms."
            yield from unequal(confirms, 1, says, ".confirm(", brief)
            rung = " and ".join(number for _, _, number in _SETUPS if sandbox.phone(number).waiting)
            says = f"{where}, the prompt is not on this customer's phone alone."
            yield from unequal(rung or "none", phone, says, "phone=", str)
            closes = sandbox.client.payment_intents.retrieve(intent.id).next_action.ussd_prompt.expires_at
            says = f"{where}, your function did not return the moment at which the prompt closes."
            yield from unequal(returned, closes, says, "return", brief)
    yield done("It works whatever the response to the confirm contains, and however long a prompt waits.")
