"""The exercises on the ledger and its reconciliation."""

from collections.abc import Container, Iterator
from decimal import Decimal
from itertools import product
from typing import Any, SupportsIndex

from workbench.lab.exercises.shape import Bench, Reconciled, Verdict, done, kwacha, not_yet, wrong

_MTN_FLOAT, _DEBTS = "operator:mtn:float", "receivable:merchant:"
_SATURDAY, _SUNDAY = 5, 6
_FLOAT, _OWED, _OPERATORS_FEE = 1100, 2000, 5000
_NET, _GROSS = 3_900, 4_000
_ABOUT = range(_NET - 200, _NET + 200)
_SMALLEST = 50
_SMALL = [each for each in range(1, 101) if each != 33]  # noqa: PLR2004  step 9 makes payments of K0.33 itself


def _posted(bench: Bench, code: int, side: str) -> dict[int, int]:
    """What stood on a kind of account when money was secured, in ngwee by the number of the entry."""
    rows = bench.ledger.postings
    rows = rows[(rows["kind"] == "funds_secured") & (rows["code"] == code) & (rows["side"] == side)]
    return {int(number): int(minor) for number, minor in zip(rows["number"], rows["amount_minor"], strict=True)}


def _unpaid(bench: Bench, minor: int) -> Iterator[Verdict]:
    """Said where an intent of this amount is there, and nobody has paid it."""
    for each in bench.looking().payment_intents.each():
        if each.amount == Decimal(minor) / 100 and each.status != "succeeded":
            yield not_yet(
                f"The intent of {kwacha(minor)} is not paid: confirm it on a number that pays by itself, and wait.",
                seen=each.status, expected="succeeded", at=".confirm(",
            )  # fmt: skip


def _net_of_39(bench: Bench) -> Iterator[Verdict]:
    gross, owed = _posted(bench, _FLOAT, "debit"), _posted(bench, _OWED, "credit")
    refunded = [each.payment_intent or each.id for each in bench.looking().charges.each() if each.amount_refunded]
    rows = bench.ledger.postings
    given_back = set(rows.loc[rows["payment"].isin(refunded), "number"])
    if any(minor == _NET and number not in given_back for number, minor in owed.items()):
        yield done("The customer paid K40.00, the service kept K1.00, and the merchant is owed K39.00.")
    if _NET in owed.values():
        yield wrong(
            "The merchant had K39.00, and the payment was refunded. Take another.",
            seen="refunded", expected="a payment that is not", at="refund",
        )  # fmt: skip
    near = [(minor, owed[number]) for number, minor in gross.items() if minor in _ABOUT]
    if near:
        paid, left = near[-1]
        yield wrong(
            f"The fee is taken from {kwacha(paid)}, and the merchant is owed {kwacha(left)}.",
            seen=kwacha(left), expected=kwacha(_NET), at="amount=",
        )  # fmt: skip
    yield from _in_another_unit(gross, _ABOUT, kwacha(_NET))
    yield from _unpaid(bench, _GROSS)
    yield not_yet("No payment in the books leaves the merchant with K39.00.")


def _in_another_unit(gross: dict[int, int], expected: Container[int], about: str) -> Iterator[Verdict]:
    """Said of an intent in ngwee, or a charge in kwacha."""
    for minor in gross.values():
        if minor % 100 == 0 and minor // 100 in expected:
            yield wrong("An intent counts kwacha, not ngwee.", kwacha(minor), f"about {about}", "amount=")
        if minor * 100 in expected:
            yield wrong("The amount of a charge counts ngwee.", kwacha(minor), f"about {about}", "amount=")


def _smallest_fee(bench: Bench) -> Iterator[Verdict]:
    fees = _posted(bench, _OPERATORS_FEE, "debit")
    gross = _posted(bench, _FLOAT, "debit")
    small = {number: minor for number, minor in gross.items() if minor in _SMALL}
    charged = [minor for number, minor in small.items() if number in fees]
    if _SMALLEST in charged:
        yield done("One percent of 50 ngwee is half a ngwee, which is rounded up. Of 49 the operator keeps nothing.")
    if charged:
        yield wrong(
            f"The operator keeps a fee of {kwacha(min(charged))}, and of a smaller payment too.",
            seen=kwacha(min(charged)), expected="a smaller payment", at="amount=",
        )  # fmt: skip
    if small:
        yield wrong(
            f"The operator keeps nothing of {kwacha(max(small.values()))}: it is too small.",
            seen="no fee", expected="a fee of K0.01", at="amount=",
        )  # fmt: skip
    yield from _in_another_unit(gross, (_SMALLEST,), "half a kwacha")
    yield from _unpaid(bench, _SMALLEST)
    yield not_yet("No payment that small is in the books.")


def _whole(value: object, name: str) -> Iterator[Verdict]:
    """Said of an amount that is no whole number of ngwee."""
    if isinstance(value, float | bool) or not hasattr(value, "__index__"):
        yield wrong(
            "Money is a whole number of ngwee: an int.",
            seen=type(value).__name__, expected="int", at=f"{name} =",
        )  # fmt: skip


_DAYS = {
    "": (_SATURDAY, _SUNDAY),
    "These are all days of the month.": range(7),
    "These are the Saturdays alone.": (_SATURDAY,),
    "These are the Sundays alone: pandas numbers a Saturday 5 and a Sunday 6.": (_SUNDAY,),
    "The Fridays are counted too: pandas numbers a Friday 4.": (4, _SATURDAY, _SUNDAY),
    "These are the days from Monday to Friday.": range(5),
}
_IN_UTC = "These are days in UTC. A weekend in Lusaka begins two hours earlier: business_date knows that."
_FAILED_TOO = "Charges that failed are counted in it."


def _weekends(bench: Bench, weekend_minor: SupportsIndex) -> Iterator[Verdict]:
    yield from _whole(weekend_minor, "weekend_minor")
    given, charges = weekend_minor.__index__(), bench.tables.charges
    paid = charges["status"] == "succeeded"
    in_lusaka = charges["business_date"].map(lambda day: day.weekday())
    if not (in_lusaka[paid] >= _SATURDAY).any():
        yield not_yet("No payment of a weekend is in the tables. Run the notebook from its first cell.")
    in_utc = charges["created_at"].dt.day_of_week
    answers: dict[int, str] = {}
    for days, (rows, failed_too), (weekday, utc) in product(
        _DAYS, ((paid, ""), (paid | ~paid, _FAILED_TOO)), ((in_lusaka, ""), (in_utc, _IN_UTC))
    ):
        chosen = charges[rows & weekday.isin(_DAYS[days])]
        slip, total = " ".join(filter(None, (days, failed_too, utc))), int(chosen["amount_minor"].sum())
        answers.setdefault(total, slip)
        answers.setdefault(total // 100, f"{slip} These are kwacha, and the tables count ngwee.".strip())
        refunded = int(chosen["refunded_minor"].sum())
        answers.setdefault(total - refunded, f"{slip} Refunds are taken off, and customers paid them before.".strip())
        answers.setdefault(len(chosen), f"{slip} This is how many payments there are, not how much they are.".strip())
    if answers.get(given) == "":
        count = int((paid & (in_lusaka >= _SATURDAY)).sum())
        yield done(f"{kwacha(given)} on Saturdays and Sundays, from {count} payments.")
    yield wrong(
        f"{kwacha(given)} is not what customers paid. {answers.get(given, 'Which charges count, and which days?')}",
        seen=kwacha(given), expected="succeeded charges of both days, in ngwee", at="weekend_minor =",
    )  # fmt: skip


def _largest_break(result: Reconciled, largest: Any) -> Iterator[Verdict]:  # noqa: ANN401  a row of pandas, or a first try
    if getattr(largest, "ndim", 0) == 2:  # noqa: PLR2004  a table: of one row it is as good as the row
        largest = largest.iloc[0] if len(largest) == 1 else largest
    if getattr(largest, "ndim", 0) != 1 or not set(result.breaks.columns) <= set(largest.index):
        yield wrong(
            "The answer should be one row of result.breaks, with all its columns.",
            seen=type(largest).__name__, expected="one row", at="largest =",
        )  # fmt: skip
    if largest["account"] != _MTN_FLOAT:
        yield wrong(
            "This break is one of another account.", seen=largest["account"], expected=_MTN_FLOAT, at="largest ="
        )
    breaks = result.breaks
    # As text: what is not known is not equal to itself.
    if not (breaks.map(str) == largest[breaks.columns].map(str)).all(axis=1).any():
        yield wrong(
            "This is no row of result.breaks: hand over one of them as it is.",
            seen="changed values", expected="a row as it is", at="largest =",
        )  # fmt: skip
    sizes = breaks.loc[breaks["account"] == _MTN_FLOAT, "variance_minor"].abs()
    size = abs(int(largest["variance_minor"]))
    if larger := int((sizes > size).sum()):
        are = "break of this account is" if larger == 1 else "breaks of this account are"
        yield wrong(
            f"{larger} {are} larger than {kwacha(size)}, on one side or the other.",
            seen=kwacha(int(largest["variance_minor"])), expected="the largest, without its sign", at="largest =",
        )  # fmt: skip
    yield done(f"{largest['code']}, {kwacha(size)}: begin with this one.")


def _one_account(result: Reconciled, one: Reconciled) -> Iterator[Verdict]:
    if type(one) is not type(result) or not hasattr(one, "proof"):
        yield wrong(
            "The answer should be what reconcile returns.",
            seen=type(one).__name__, expected=type(result).__name__, at="one =",
        )  # fmt: skip
    accounts = sorted(set(one.proof["account"]))
    if accounts != [_MTN_FLOAT]:
        yield wrong(
            "It compares other accounts. Leave their rows out of the file of statements.",
            seen=", ".join(accounts), expected=_MTN_FLOAT, at="COPY",
        )  # fmt: skip
    of_account = result.breaks[result.breaks["account"] == _MTN_FLOAT]
    expected = len(of_account)
    if len(one.breaks) != expected:
        yield wrong(
            "The whole has another number of breaks for this account.",
            seen=f"{len(one.breaks)} breaks", expected=f"{expected} breaks", at="COPY",
        )  # fmt: skip
    found, whole = (
        sorted(zip(breaks["code"].astype(str), breaks["variance_minor"].astype(int), strict=True))
        for breaks in (one.breaks, of_account)
    )
    if found != whole:
        yield wrong(
            f"It finds {expected} breaks, as many as the whole, and not the same breaks. Copy every row.",
            seen="other codes or variances", expected="those of the whole", at="COPY",
        )  # fmt: skip
    yield done(f"{expected} breaks, as many as the whole has for {_MTN_FLOAT}.")


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


def _what_is_left(second: Reconciled, left_minor: SupportsIndex) -> Iterator[Verdict]:
    yield from _whole(left_minor, "left_minor")
    variances = second.breaks["variance_minor"]
    of_mtn = variances[second.breaks["account"] == _MTN_FLOAT]
    given, right = left_minor.__index__(), int(of_mtn.sum())
    slips = {
        -right: "The sign is the other way round: it is the ledger's side less the statement's.",
        int(of_mtn.abs().sum()): "These are the sizes. With their signs, some cancel each other out.",
        int(variances.sum()): "This is the sum over all accounts.",
        len(of_mtn): "This is how many breaks are left, not their sum.",
        right // 100: "These are kwacha, and variance_minor counts ngwee.",
    }
    if given == right:
        breaks = "1 break is left, and explains" if len(of_mtn) == 1 else f"{len(of_mtn)} breaks are left, and explain"
        yield done(f"{breaks} the difference of {right:,} ngwee.")
    yield wrong(
        f"The two sides do not differ by {given:,} ngwee. {slips.get(given, 'Which rows count, and which column?')}",
        seen=f"{given:,} ngwee", expected=f"the sum of variance_minor of {_MTN_FLOAT} in second", at="left_minor =",
    )  # fmt: skip
