"""What may be one movement among the open breaks: references that are nearly alike, and rows that add up to others.

Only proposed, and only where nothing else that was searched fits: a person decides. How far is searched is fixed, and
what was left out because of it is said.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import Any, Final, NamedTuple

import pandas as pd

from workbench.analysis.breaks import DUPLICATE, INVALID
from workbench.analysis.frames import day_number, frame, python_rows
from workbench.analysis.reconcile.rules import LEDGER, SIDES, STATEMENT
from workbench.analysis.shapes import SUGGESTION
from workbench.domain.money import money_text

NEAR_REFERENCE, SUM, NOT_SEARCHED = "near_reference", "sum", "not_searched"
WITHIN_DAYS: Final = 3
"""How far the days of rows may be apart that are proposed as one movement."""
_LENGTHS: Final = range(5, 65)
"""Of shorter keys one character is too much of it; longer ones are texts."""
_ALIKE_AT_MOST = 20_000
"""So many open rows of one amount are searched for references that are nearly alike."""
_CHOSEN_FROM: Final = 12
"""Out of so many rows every choice is tried; of more, some choice fits nearly any sum."""
_TARGETS_AT_MOST = 2_000
"""For so many rows, the greatest first, choices of others are tried."""

_ALIKE = "account, direction and amount are the same, and"
_NAMED = 5
"""So many rows of a sum are named in words."""

Proposal = tuple[str, Sequence["_Open"], str]
"""The kind, the breaks, and why."""


class _Open(NamedTuple):
    """A break that stands on one side: `amount` is gross and `moved` net, both with the sign of what it does.

    A duplicate `is_further`: its side has another row of its key, and it may be what has lost a key of its own.
    """

    name: str
    account: str
    currency: str
    side: str
    key: str | None
    amount: int
    moved: int
    day: int
    is_further: bool


def suggestions_of(breaks: pd.DataFrame) -> pd.DataFrame:
    """The frame SUGGESTION of a frame BREAK: each break is part of one suggestion at most."""
    opened = list(_open_rows(breaks))
    near, left_out = _near_references(opened)
    taken = {each.name for _, rows, _ in near for each in rows}
    sums, unsearched = _sums([each for each in opened if not each.is_further and each.name not in taken])
    count = Counter(each.name for _, rows, _ in sums for each in rows)
    alone = [made for made in sums if all(count[each.name] == 1 for each in made[1])]
    made = [_suggestion(*each) for each in (*near, *alone)]
    made.sort(key=lambda row: (row["kind"], row["account"], row["breaks"]))
    said = dict.fromkeys(SUGGESTION) | {"kind": NOT_SEARCHED, "breaks": "", "amount_minor": 0}
    return frame([*made, *(said | {"why": why} for why in (left_out, unsearched) if why)], SUGGESTION)


def _open_rows(breaks: pd.DataFrame) -> Iterator[_Open]:
    """What is on one side alone, moves money, and is not decided."""
    kept = breaks[breaks["side"].isin(SIDES) & (breaks["code"] != INVALID) & breaks["verdict"].isna()]
    same = ("id", "code", "account", "currency", "side", "key", "business_date", "entry", "statement", "line")
    for side in SIDES:
        mine = kept[kept["side"] == side]
        told = (f"{side}_minor", f"{side}_amount_minor")
        for name, code, account, currency, _, key, day, entry, source, line, moved, gross in python_rows(
            mine, *same, *told
        ):
            if moved:
                called = name or (f"{entry or key}" if side == LEDGER else f"{source} line {line}")
                amount = moved if gross is None else gross if moved > 0 else -gross
                is_further = code in DUPLICATE.values()
                yield _Open(called, account, currency, side, key, amount, moved, day_number(day), is_further)


def _suggestion(kind: str, rows: Sequence[_Open], why: str) -> Mapping[str, Any]:
    first = rows[0]
    moved = sum(each.moved for each in rows if each.side == first.side)
    return {
        "kind": kind, "account": first.account, "breaks": "; ".join(each.name for each in rows),
        "currency": first.currency, "amount_minor": moved, "why": why,
    }  # fmt: skip


def _near_references(opened: Sequence[_Open]) -> tuple[list[Proposal], str]:
    """Two rows of one amount whose keys are one slip apart, neither of them from any other; and what was left out."""
    alike, left_out = defaultdict(list), 0
    for each in opened:
        if each.key is not None and len(each.key) in _LENGTHS:
            alike[each.account, each.currency, each.amount].append(each)
    pairs: list[tuple[_Open, _Open, str]] = []
    for rows in alike.values():
        if len(rows) > _ALIKE_AT_MOST:
            left_out += len(rows)
        elif len({each.side for each in rows}) > 1:
            pairs += _one_slip_apart(rows)
    count = Counter(each.name for *both, _ in pairs for each in both)
    made: list[Proposal] = [
        (
            NEAR_REFERENCE,
            (ours, theirs),
            f"{ours.key} of the ledger and {theirs.key} of the statement {slip}; {_ALIKE} {_days_apart(ours, theirs)}."
            + "".join(f" The {row.side} has {row.key} in another row too." for row in (ours, theirs) if row.is_further),
        )
        for ours, theirs, slip in pairs
        if count[ours.name] == count[theirs.name] == 1
    ]
    why = f"The references of {left_out:,} rows were not compared: more than {_ALIKE_AT_MOST:,} have the same amount."
    return made, why if left_out else ""


def _one_slip_apart(rows: Sequence[_Open]) -> Iterator[tuple[_Open, _Open, str]]:
    """Each pair of the two sides that fits, with the slip in words; keys that share no shortened form are not met."""
    forms: dict[str, dict[str, list[_Open]]] = {side: defaultdict(list) for side in SIDES}
    for each in rows:
        for form in _shortened(each.key or ""):
            forms[each.side][form].append(each)
    ours, theirs = forms.values()
    met = {
        (mine.name, other.name): (mine, other)
        for form in ours.keys() & theirs.keys()
        for mine, other in product(ours[form], theirs[form])
        if abs(mine.day - other.day) <= WITHIN_DAYS and not (mine.is_further and other.is_further)
    }
    for mine, other in met.values():
        if slip := _slip(mine.key or "", other.key or ""):
            yield mine, other, slip


def _shortened(key: str) -> set[str]:
    return {key, *(key[:place] + key[place + 1 :] for place in range(len(key)))}


def _slip(one: str, other: str) -> str:
    """What sets two texts apart, if it is one slip; empty otherwise."""
    if len(one) != len(other):
        longer, shorter = sorted((one, other), key=len, reverse=True)
        return "differ by one character too many" if shorter in _shortened(longer) else ""
    if one == other:
        return ""
    apart = [place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(apart) == 1:
        return "differ in one character"
    first, last = apart[0], apart[-1] + 1
    swapped = last - first == len("ab") and one[first:last] == other[first:last][::-1]
    return "differ in two adjacent characters that are swapped" if swapped else ""


def _days_apart(one: _Open, other: _Open) -> str:
    apart = abs(one.day - other.day)
    return "so is the day" if not apart else f"the days are {apart} apart" if apart > 1 else "the days follow"


class _Day(NamedTuple):
    """The open rows of one side on a day, the smallest first, and what they move: alone and together."""

    rows: Sequence[_Open]
    sizes: Sequence[int]
    moved: int


_Days = Mapping[int, _Day]


def _sums(opened: Sequence[_Open]) -> tuple[list[Proposal], str]:
    """Rows that add up to one of the other side, or to several of one day; and what was left out."""
    found: list[Proposal] = []
    tried = left_out = 0
    days = _by_day(opened)
    for each in sorted(opened, key=lambda each: (-abs(each.moved), each.name)):
        other = STATEMENT if each.side == LEDGER else LEDGER
        near = _near(each.day, days[_alike(each)].get(other, {}))
        size = abs(each.moved)
        smaller = {day: bisect_left(rows.sizes, size) for day, rows in near.items()}
        several = sum(smaller.values()) > 1
        if not several or any(size in rows.sizes[smaller[day] : smaller[day] + 1] for day, rows in near.items()):
            continue
        if sum(smaller.values()) > _CHOSEN_FROM:
            fitting, how = _whole_days(each.moved, near), "run of whole days"
        elif tried < _TARGETS_AT_MOST:
            tried += 1
            parts = [part for day, rows in near.items() for part in rows.rows[: smaller[day]]]
            fitting, how = _choices(each.moved, parts), "choice of rows"
        else:
            left_out += 1
            continue
        if len(fitting) == 1:
            moved, name = money_text(each.moved, each.currency), each.key or each.name
            rows = [part.key or part.name for part in fitting[0][:_NAMED]] + ["…"][: len(fitting[0]) > _NAMED]
            why = f"{name} moves {moved}, the sum of {len(fitting[0])} rows of the other side ({', '.join(rows)})"
            found.append((SUM, (each, *fitting[0]), f"{why}, and of no other {how} within {WITHIN_DAYS} days."))
    for both in days.values():
        found += _days_that_agree(both)
    many = f"{left_out:,} row{'s' if left_out > 1 else ''}"
    why = f"No sum was searched for {many}: only the {_TARGETS_AT_MOST:,} largest are."
    return found, why if left_out else ""


def _alike(row: _Open) -> tuple[str, str, bool]:
    return row.account, row.currency, row.moved > 0


def _by_day(opened: Sequence[_Open]) -> Mapping[tuple[str, str, bool], Mapping[str, _Days]]:
    """The rows of an account, a currency and a direction: side → day → rows."""
    made: dict[tuple[str, str, bool], dict[str, dict[int, _Day]]] = defaultdict(lambda: defaultdict(dict))
    order = sorted(opened, key=lambda each: (_alike(each), each.side, each.day, abs(each.moved), each.name))
    for (alike, side, day), group in groupby(order, lambda each: (_alike(each), each.side, each.day)):
        rows = list(group)
        made[alike][side][day] = _Day(rows, [abs(each.moved) for each in rows], sum(each.moved for each in rows))
    return made


def _near(day: int, days: _Days) -> _Days:
    return {each: days[each] for each in _around(day) if each in days}


def _around(day: int) -> range:
    return range(day - WITHIN_DAYS, day + WITHIN_DAYS + 1)


def _choices(target: int, rows: Sequence[_Open]) -> list[list[_Open]]:
    """Every choice of several rows that adds up to the target; none of them is the target alone."""
    sums = [0]
    for row in rows:
        sums += [each + row.moved for each in sums]
    # The bits of a sum's place say which rows are in it.
    fitting = [place for place, moved in enumerate(sums) if moved == target]
    return [[row for bit, row in enumerate(rows) if place >> bit & 1] for place in fitting]


def _whole_days(target: int, days: _Days) -> list[list[_Open]]:
    """Every run of whole days that adds up to the target."""
    there = sorted(days)
    runs = [there[first:last] for first in range(len(there)) for last in range(first + 1, len(there) + 1)]
    fitting = [run for run in runs if sum(days[day].moved for day in run) == target]
    return [[row for day in run for row in days[day].rows] for run in fitting]


def _days_that_agree(both: Mapping[str, _Days]) -> Iterator[Proposal]:
    """Several rows of a day that add up to several of the other side, on a day near to it, where no other day does."""
    sums = {side: {day: rows.moved for day, rows in both.get(side, {}).items() if len(rows.rows) > 1} for side in SIDES}
    ours, theirs = (
        {day: [near for near in _around(day) if sums[other].get(near) == moved] for day, moved in sums[side].items()}
        for side, other in zip(SIDES, SIDES[::-1], strict=True)
    )
    for day, near in ours.items():
        if len(near) == 1 and theirs[near[0]] == [day]:
            left, right = both[LEDGER][day].rows, both[STATEMENT][near[0]].rows
            moved = money_text(sums[LEDGER][day], left[0].currency)
            why = f"The {len(left)} open rows of a day of the ledger and {len(right)} of one of the statement each move"
            yield SUM, (*left, *right), f"{why} {moved}, and no other day within {WITHIN_DAYS} days does."
