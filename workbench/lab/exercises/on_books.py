"""The exercises on the ledger and its reconciliation."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, SupportsIndex

from workbench.lab.exercises.shape import Bench, Reconciled, Verdict, done, kwacha, not_yet, wrong

_MTN_FLOAT = "operator:mtn:float"
_SATURDAY, _SUNDAY = 5, 6
_FLOAT, _OWED, _OPERATORS_FEE = 1100, 2000, 5000
_NET = 3_900
_ABOUT = range(_NET - 200, _NET + 200)
_SMALLEST = 50
_SMALL = [each for each in range(1, 101) if each != 33]  # noqa: PLR2004  step 9 makes payments of K0.33 itself


def _posted(bench: Bench, code: int, side: str) -> dict[int, int]:
    """What stood on a kind of account when money was secured, in ngwee by the number of the entry."""
    rows = bench.ledger.postings
    rows = rows[(rows["kind"] == "funds_secured") & (rows["code"] == code) & (rows["side"] == side)]
    return {int(number): int(minor) for number, minor in zip(rows["number"], rows["amount_minor"], strict=True)}


def _net_of_39(bench: Bench) -> Iterator[Verdict]:
    gross, owed = _posted(bench, _FLOAT, "debit"), _posted(bench, _OWED, "credit")
    refunded = [each.payment_intent or each.id for each in bench.looking().charges.each() if each.amount_refunded]
    rows = bench.ledger.postings
    given_back = set(rows.loc[rows["payment"].isin(refunded), "number"])
    if any(minor == _NET and number not in given_back for number, minor in owed.items()):
        yield done("The customer paid K40.00, the service kept K1.00, and the merchant is owed K39.00.")
    if _NET in owed.values():
        yield wrong("The merchant had K39.00, and the payment was refunded. Take another.", at="refund")
    near = [(minor, owed[number]) for number, minor in gross.items() if minor in _ABOUT]
    if near:
        paid, left = near[-1]
        yield wrong(
            f"The fee is taken from {kwacha(paid)}, and the merchant is owed {kwacha(left)}.",
            seen=kwacha(left), expected=kwacha(_NET), at="amount=",
        )  # fmt: skip
    yield not_yet("No payment in the books leaves the merchant with K39.00.")


def _smallest_fee(bench: Bench) -> Iterator[Verdict]:
    fees = _posted(bench, _OPERATORS_FEE, "debit")
    small = {number: minor for number, minor in _posted(bench, _FLOAT, "debit").items() if minor in _SMALL}
    charged = [minor for number, minor in small.items() if number in fees]
    if _SMALLEST in charged:
        yield done("One percent of 50 ngwee is half a ngwee, which is rounded up. Of 49 the operator keeps nothing.")
    if charged:
        yield wrong(f"The operator keeps a fee of {kwacha(min(charged))}, and of a smaller payment too.", at="amount=")
    if small:
        yield wrong(
            f"The operator keeps nothing of {kwacha(max(small.values()))}: it is too small.",
            seen="no fee", expected="a fee of K0.01", at="amount=",
        )  # fmt: skip
    yield not_yet("No payment that small is in the books.")


def _weekends(bench: Bench, weekend_minor: SupportsIndex) -> Iterator[Verdict]:
    if isinstance(weekend_minor, float) or not hasattr(weekend_minor, "__index__"):
        yield wrong(
            "Money is a whole number of ngwee: an int.",
            seen=type(weekend_minor).__name__, expected="int", at="weekend_minor =",
        )  # fmt: skip
    given = weekend_minor.__index__()
    charges = bench.tables.charges
    paid = charges["status"] == "succeeded"
    days = charges["business_date"].map(lambda day: day.weekday())
    of_a_weekend = days >= _SATURDAY

    def taken(rows: object) -> int:
        return int(charges.loc[rows, "amount_minor"].sum())

    right = taken(paid & of_a_weekend)
    if right == 0:
        yield not_yet("No payment of a weekend is in the tables. Run the notebook from its first cell.")
    in_utc = "It goes by days in UTC. A weekend in Lusaka begins two hours earlier: business_date knows that."
    slips = {
        taken(paid): "These are all days of the month.",
        taken(paid & (days == _SATURDAY)): "These are the Saturdays alone.",
        taken(paid & (days == _SUNDAY)): "These are the Sundays alone.",
        taken(of_a_weekend): "Charges that failed are counted in it.",
        taken(paid & (charges["created_at"].dt.day_of_week >= _SATURDAY)): in_utc,
        taken(paid & ~of_a_weekend): "These are the days from Monday to Friday.",
        right // 100: "These are kwacha. The tables count ngwee.",
    }
    if given == right:
        yield done(f"{kwacha(right)} on Saturdays and Sundays, from {(paid & of_a_weekend).sum()} payments.")
    yield wrong(
        f"It is not {kwacha(given)}. {slips.get(given, 'Which charges count, and which days?')}", at="weekend_minor ="
    )


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
        yield wrong("This is no row of result.breaks: hand over one of them as it is.", at="largest =")
    sizes = breaks.loc[breaks["account"] == _MTN_FLOAT, "variance_minor"].abs()
    size = abs(int(largest["variance_minor"]))
    if larger := int((sizes > size).sum()):
        are = "break of this account is" if larger == 1 else "breaks of this account are"
        yield wrong(f"{larger} {are} larger than {kwacha(size)}, on one side or the other.", at="largest =")
    yield done(f"{largest['code']}, {kwacha(size)}: begin with this one.")


def _one_account(result: Reconciled, one: Reconciled) -> Iterator[Verdict]:
    if type(one) is not type(result) or not hasattr(one, "proof"):
        yield wrong(
            "The answer should be what reconcile returns.",
            seen=type(one).__name__,
            expected=type(result).__name__,
            at="one =",
        )
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
            f"It finds {expected} breaks, as many as the whole, and not the same breaks. Copy every row.", at="COPY"
        )
    yield done(f"{expected} breaks, as many as the whole has for {_MTN_FLOAT}.")


def _in_debt(bench: Bench) -> Iterator[Verdict]:
    lilies = {each.id: each for each in bench.looking().payment_intents.each() if each.description == "Lily"}
    price = max(
        (Decimal(str(each.amount)) for each in lilies.values() if each.status == "succeeded"), default=Decimal()
    )
    owed = sum(each.amount for each in bench.looking().balance.retrieve().owed)
    if not price:
        yield not_yet("No Lily was sold.")
    if owed >= price:
        yield done(f"The merchant owes K{owed:,.2f}. The next clearing takes it first.")
    if not any(each.payment_intent in lilies for each in bench.looking().refunds.each()):
        yield not_yet("The Lily is sold. Pay out what the merchant has, then refund the Lily.")
    yield wrong(
        "The rest of the refund came out of the merchant's own balance. Let a night pass after the sale, and ask for a "
        "payout of all that is available before the refund.",
        seen=f"K{owed:,.2f} owed", expected=f"K{price:,.2f} owed", at="refunds.create(",
    )  # fmt: skip


def _what_is_left(second: Reconciled, left_minor: SupportsIndex) -> Iterator[Verdict]:
    if isinstance(left_minor, float) or not hasattr(left_minor, "__index__"):
        yield wrong(
            "Money is a whole number of ngwee: an int.",
            seen=type(left_minor).__name__,
            expected="int",
            at="left_minor =",
        )
    variances = second.breaks["variance_minor"]
    of_mtn = variances[second.breaks["account"] == _MTN_FLOAT]
    given, right = left_minor.__index__(), int(of_mtn.sum())
    slips = {
        -right: "The sign is the other way round: it is the ledger's side less the statement's.",
        int(of_mtn.abs().sum()): "These are the sizes. With their signs, some cancel each other out.",
        int(variances.sum()): "This is the sum over all accounts.",
    }
    if given == right:
        yield done(f"{len(of_mtn)} breaks are left, and together they explain the difference of {right:,} ngwee.")
    yield wrong(
        f"It is not {given:,} ngwee. {slips.get(given, 'Which rows count, and which column?')}", at="left_minor ="
    )
