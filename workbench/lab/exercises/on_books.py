"""Checks of the notebooks on a month's books and their reconciliation."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, SupportsIndex

from workbench.lab.exercises.shape import Bench, Reconciled, Verdict, done, kwacha, not_yet, wrong

_MTN_FLOAT, _DEBTS = "operator:mtn:float", "receivable:merchant:"


_SATURDAY, _SUNDAY = 5, 6


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
