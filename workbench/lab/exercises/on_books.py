"""Checks of the notebooks on a month's books and their reconciliation."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, SupportsIndex

from workbench.lab.exercises.functions import Given, brief, line_of
from workbench.lab.exercises.shape import Bench, Verdict, done, kwacha, not_yet, same, wrong

_SATURDAY = 5
_IN_KWACHA = "This is in kwacha, and the tables count ngwee."


def _whole(value: object, at: str) -> Iterator[Verdict]:
    """Yields a verdict if an amount is not a whole number of ngwee."""
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
    given, answers = weekend_minor.__index__(), dict[int, str]()
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
    if answers.get(given) == "":
        count = int((paid & (in_lusaka >= _SATURDAY)).sum())
        yield done(f"{kwacha(given)} on Saturdays and Sundays, from {count} payments.")
    says = f"{kwacha(given)} is not what customers paid."
    slip = answers.get(given, "Which charges count, and which days?")
    yield wrong(f"{says} {slip}", kwacha(given), "succeeded charges of both days, in ngwee", "weekend_minor =")


def _what_is_left(second: Given, left_minor: SupportsIndex) -> Iterator[Verdict]:
    yield from _whole(left_minor, "left_minor =")
    account, variances = "operator:mtn:float", second.breaks["variance_minor"]
    of_mtn = variances[second.breaks["account"] == account]
    given, right = left_minor.__index__(), int(of_mtn.sum())
    if given == right:
        breaks = "1 break is left, and explains" if len(of_mtn) == 1 else f"{len(of_mtn)} breaks are left, and explain"
        yield done(f"{breaks} the difference of {right:,} ngwee.")
    slips = {
        -right: "The sign is the other way round: a variance is the ledger's side less the statement's.",
        int(of_mtn.abs().sum()): "This adds up the variances without their signs: with signs, some cancel out.",
        int(variances.sum()): "This is the sum over all accounts.",
        len(of_mtn): "This is how many breaks are left, not their sum.", right // 100: _IN_KWACHA,
    }  # fmt: skip
    says = f"The two sides do not differ by {given:,} ngwee."
    slip, sum_of = slips.get(given, "Which rows count, and which column?"), "the sum of variance_minor of"
    yield wrong(f"{says} {slip}", f"{given:,} ngwee", f"{sum_of} {account} in second", "left_minor =")


def _net_by_operator(net_by_operator: Callable[..., Any]) -> Iterator[Verdict]:
    # Figures of another size, so that no answer is typed, and then two refunds that are alike.
    for times, one, other in ((1, 3_000, 2_000), (3, 3_000, 2_000), (1, 2_500, 2_500)):
        charges = _frame(
            id=["ch_1", "ch_2", "ch_3", "ch_4"], status=["succeeded", "succeeded", "failed", "succeeded"],
            amount_minor=[10_000 * times, 4_000 * times, 700 * times, 2_000 * times],
            refunded_minor=[5_000 * times, 0, 0, 0], provider=["mtn", "airtel", "airtel", "airtel"],
        )  # fmt: skip
        refunds = _frame(
            id=["re_1", "re_2", "re_3"], charge=["ch_1", "ch_1", "ch_4"], status=["succeeded", "succeeded", "failed"],
            amount_minor=[one * times, other * times, 500 * times],
        )  # fmt: skip
        net = net_by_operator(charges, refunds)
        says = "The function should return a Series: ngwee by operator."
        yield from same(type(net).__name__, "Series", says, "return", str)
        amounts = [kwacha(minor * times) for minor in (10_000, one, other, 4_000, 2_000, 700, 500)]
        for provider, minor, what, slips in (
            ("mtn", 5_000, "With mtn, {} were paid; {} and {} of them went back.", {
                15_000: "A charge with two refunds counts twice: the join makes two rows of it.",
                10_000: "No refund is subtracted.",
                **dict.fromkeys([10_000 - one, 10_000 - other], "One of two refunds is not subtracted."),
            }),
            ("airtel", 6_000, "With airtel, {3} and {4} were paid; one payment of {5} failed, and one refund of {6}.", {
                6_700: "A charge that failed counts too.", 5_500: "A failed refund is subtracted.",
                2_000: "A payment without a refund does not count.",
            }),
        ):  # fmt: skip
            right, seen = minor * times, net.dropna().get(provider)
            if seen is None:
                says = f"{provider} has no amount. A payment without a refund counts too."
                yield wrong(says, seen=brief(net.to_dict()), expected=f"{provider}: {right}", at="merge")
            if seen != right:
                slip = _IN_KWACHA if seen * 100 == right else slips.get(seen / times, "")
                says = f"{what.format(*amounts)} {slip}".rstrip()
                yield wrong(says, seen=kwacha(round(seen)), expected=kwacha(right), at="merge")
        if net.dtype.kind != "i":
            says = "The amounts are right, but not integers: a missing value or a division makes floats of them."
            yield wrong(says, seen=str(net.dtype), expected="int64", at="fillna")
    yield done("Each payment counts once, less its refunds, in whole ngwee.")


_CASES = (
    ("A1 A2 A4", "A3 A2 A1"), ("B1 B2 B4", "B3 B2 B1"), ("C4 C1 C2 C2 C4", "C1 C3 C2 C1 C3"), ("D1 - D4", "D3 D1"),
    ("E4 E1", "E1 - E3"), ("F1", "F1"),
)  # fmt: skip
"""The cases of `one_sided`: the keys of the ledger and those of the statement, with `-` for a row without a key.

Two cases have each key once; then come keys that a table repeats, a row without a key in the ledger, one on the
statement, and tables that agree.
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
        yield from same(type(keys).__name__, "list", "The function should return a list of keys.", "return", str)
        for key in sorted({key for key in ours + theirs if key}):
            place = "in the ledger" if key in ours else "on the statement"
            often = ", twice," if (ours + theirs).count(key) > 1 else ""
            told = "reported twice: once is enough" if key in keys else "not reported"
            if key not in expected and key in keys:
                yield wrong(f"Both sides have {key}: compare the keys alone.", str(keys), str(expected), "_merge")
            if key in expected and keys.count(key) != 1:
                yield wrong(f"{key} is {place} alone{often} and is {told}.", str(keys), str(expected), "_merge")
        says = "The keys are not in order, or a row without a key is reported."
        yield from same(keys, expected, says, "return", str)
    yield done("Each key that one side alone has is reported once, however often it occurs.")
