"""Suggests breaks that may be one movement: a typing error in a key or amount, a narrative, or a sum shows it.

A person decides about all suggestions. The search has fixed limits, and reports what it left out.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, combinations, islice, product
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.break_codes import DUPLICATE, INVALID, VERDICTS, has_key
from workbench.analysis.frames import frame, python_rows
from workbench.analysis.reconcile.inputs import LEDGER, SIDES, STATEMENT
from workbench.analysis.reconcile.matching import keys_in_texts
from workbench.analysis.report.captions import counted
from workbench.analysis.rules import AMOUNT, MatchRules
from workbench.analysis.shapes import SUGGESTION
from workbench.domain.money import money_text

WITHIN_DAYS: Final = 3
"""The most days between the rows of a suggestion by reference or by sum."""
MOST: Final = 5
"""The most candidates of a row that are suggested: more candidates are no evidence."""
_KEY_LENGTHS: Final = range(5, 65)
"""The lengths of keys for which a partner is searched: a shorter key fits by chance, a longer one is free text."""
_NUMBER: Final = re.compile(
    r"(?i)(?<![+\w])(?:(?:chq|cheque|check)\W{0,2}(?:no\W{0,2})?(\d+)|(\d{5,}))(?![\w•]|\.\d|,\d\d?\b)"
)
"""A cheque's number in a narrative, or any number of five digits or more: fewer digits fit by chance.

Digits beside • are a customer's number, and digits before decimals are an amount.
"""
_CHEQUE: Final = re.compile("(?:chq|chk|cheque|check)(?:no)?")
"""The letters before a cheque's number, in lower case."""
_KEY_NUMBER: Final = re.compile(r"\D{0,12}?0*([1-9]\d*)")
"""A key that is a number, perhaps after a prefix and leading zeros, as in `CHQ 000412`."""
_TIMES_THE_WINDOW: Final = 4
"""Rows of equal amount are suggested up to this many times as far apart as the account's rules by amount allow."""
_EVERY_CHOICE: Final = 12
"""Of up to this many rows, all combinations are tried; of more rows, combinations of up to `_PARTS`."""
_PARTS: Final = 4
_CHOSEN_FROM: Final = 16
"""The most rows that are combined: those of the nearest days."""
_TARGETS_AT_MOST: Final = 2_000
"""The most rows for which a sum of other rows is searched; the largest rows come first."""
_BOTH: Final = "both"
_OTHER: Final = {LEDGER: STATEMENT, STATEMENT: LEDGER}


class _Break(NamedTuple):
    """A break that may be part of a suggestion. `apart` is the ledger's net amount less the statement's.

    `amount` is the row's gross amount, or the net amount of a batch, with the sign of the effect on the account; None
    for a row that moves no money, and for a break with rows on both sides. `is_duplicate` marks a row whose key another
    row of its side has; the key may be mistyped. `is_unread` marks a row that cannot be used. `numbers` has the numbers
    in the row's key and narrative, such as a cheque's: see _numbers. `beyond` has the distances in days, longer than a
    rule by amount allows, at which two rows of one amount are suggested. `verdict` is a person's verdict, None for an
    undecided break.
    """

    name: str
    account: str
    currency: str | None
    side: str
    key: str | None
    text: str
    amount: int | None
    apart: int
    day: int | None
    is_duplicate: bool = False
    is_unread: bool = False
    numbers: Mapping[str, tuple[str, str]] = MappingProxyType({})
    beyond: range = range(0)
    verdict: str | None = None

    @property
    def label(self) -> str:
        """The row's key; if it has none, the name of its break."""
        return self.key if self.key is not None and has_key(self.key) else self.name

    @property
    def moved(self) -> int:
        """The net effect on the account of the side that has the row; for a break with both sides, `apart`."""
        return -self.apart if self.side == STATEMENT else self.apart

    @property
    def is_movement(self) -> bool:
        """True if the break moves money, its day is known, and its row is usable and no duplicate."""
        return bool(self.apart) and self.day is not None and not self.is_duplicate and not self.is_unread


Proposal = tuple[Sequence[_Break], str]
"""The breaks of a suggestion, and its reason in words."""
_LeftOut = set[str]
"""Names of the breaks for which the search ended at a limit, such as MOST candidates."""


def suggestions_of(
    breaks: pd.DataFrame, proof: pd.DataFrame | None = None, rules: Mapping[str, MatchRules] = MappingProxyType({})
) -> pd.DataFrame:
    """The suggestions (columns SUGGESTION) for `breaks` (columns BREAK) that nothing has closed.

    Each has an undecided break; its other breaks may be ignored, or accepted and not yet booked. With `proof` (columns
    PROOF), rows that equal an account's unexplained difference are suggested too. `rules` is account → its matching
    rules: if some match by amount, rows are also suggested that are further apart than these rules allow.
    """
    beyond = {}
    for account, declared in rules.items():
        if windows := [rule.days for rule in declared if rule.on == (AMOUNT,) and rule.days is not None]:
            beyond[account] = range(min(windows) + 1, _TIMES_THE_WINDOW * max(windows) + 1)
    opened, suggestions, known, notes = [*_open_breaks(breaks, beyond)], [], set(), []
    if proof is not None:
        for account, currency, minor in python_rows(proof, "account", "currency", "unexplained_minor"):
            opened += [_Break("", account, currency, _BOTH, None, "", None, minor, None)] if minor else []
    for kind, (find, bound) in _KINDS.items():
        left_out: _LeftOut = set()
        for rows, why in find(opened, left_out):
            names = frozenset(item.name for item in rows)
            decided = [row for row in rows if row.verdict]
            if names not in known and len(decided) < len(rows):
                known.add(names)
                so_far = [f" So far {row.label} is {VERDICTS[row.verdict]}." for row in decided if row.verdict]
                ids, first = "; ".join(row.name for row in rows if row.name), rows[0]
                moved = sum(row.moved for row in rows if row.side == first.side)
                suggestions.append((kind, first.account, ids, first.currency, moved, "".join([why, *so_far])))
        if left_out:
            notes.append(("not_searched", None, "", None, 0, bound.format(counted(len(left_out), "row"))))
    suggestions.sort(key=itemgetter(0, 1, 2))
    return frame((dict(zip(SUGGESTION, row, strict=True)) for row in [*suggestions, *notes]), SUGGESTION)


def _open_breaks(breaks: pd.DataFrame, beyond: Mapping[str, range]) -> Iterator[_Break]:
    """Yields the undecided, ignored and accepted breaks that move money, cannot be read, or have rows on both sides.

    An ignored break waits for the row that one side lacks, an accepted one for its booking. `beyond` is account → the
    days `beyond` of its breaks.
    """
    names = ("id", "code", "account", "currency", "side", "key", "business_date", "entry", "statement", "line",
             "description", "words", "variance_minor", "verdict")  # fmt: skip
    amounts = tuple(f"{side}_{name}" for side in SIDES for name in ("minor", "amount_minor"))
    waits = breaks["verdict"].isna() | breaks["verdict"].isin(["ignore", "accept"])
    for values in python_rows(breaks[waits], *names, *amounts):
        row = dict(zip((*names, *amounts), values, strict=True))
        side, key, code = row["side"], row["key"], row["code"]
        moved, gross = row.get(f"{side}_minor") or 0, row.get(f"{side}_amount_minor")
        place = row["entry"] or key if side == LEDGER else f"{row['statement']} line {row['line']}"
        day = None if row["business_date"] is None else row["business_date"].toordinal()
        begins = _Break(
            row["id"] or place, row["account"], row["currency"], side, key, "", None, 0, day, verdict=row["verdict"]
        )  # fmt: skip
        if side == _BOTH:
            yield begins._replace(apart=row["variance_minor"] or 0)
        elif moved or code == INVALID:
            texts = [key if has_key(key) else None, *([row["description"], row["words"]] if side == STATEMENT else [])]
            yield begins._replace(
                text=" ".join(filter(None, texts)),
                amount=None if not moved else moved if gross is None else gross if moved > 0 else -gross,
                apart=moved if side == LEDGER else -moved,
                is_duplicate=code in DUPLICATE.values(),
                is_unread=code == INVALID,
                numbers=_numbers(key, f"{row['description']} {row['words']}"),
                beyond=beyond.get(row["account"], range(0)),
            )


def _numbers(key: str | None, narrative: str) -> dict[str, tuple[str, str]]:
    """Number without leading zeros → its text and its prefix, for the numbers in a narrative and that of a key.

    A key's number is its only number, and the text is the whole key. A prefix has only letters, in lower case; it is
    `cheque` for each spelling of this word, and empty for a narrative's number that is no cheque's.
    """
    found = ((cheque or digits, "cheque" if cheque else "") for cheque, digits in _NUMBER.findall(narrative))
    numbers = {text.lstrip("0"): (text, prefix) for text, prefix in found if text.strip("0")}
    if key is not None and has_key(key) and (match := _KEY_NUMBER.fullmatch(key)):
        letters = "".join(filter(str.isalpha, key)).casefold()
        numbers.setdefault(match[1], (key, "cheque" if _CHEQUE.fullmatch(letters) else letters))
    return numbers


def _few(pairs: Sequence[tuple[_Break, _Break, str]], left_out: _LeftOut) -> Iterator[tuple[_Break, _Break, str, str]]:
    """Yields the pairs whose rows have at most MOST candidates, each with a sentence about the other candidates.

    A pair is two breaks and a text, which is passed on. Names of rows with more candidates are added to `left_out`.
    """
    count = Counter(row.name for *pair, _ in pairs for row in pair)
    for mine, other, fact in pairs:
        many = max(count[mine.name], count[other.name])
        if many > MOST:
            left_out.update(row.name for row in (mine, other) if count[row.name] > MOST)
        else:
            yield mine, other, fact, f" It is one of {many} that fit." if many > 1 else ""


def _near_references(opened: Sequence[_Break], left_out: _LeftOut) -> Iterator[Proposal]:
    """Yields pairs of a ledger row and a statement row of one amount whose keys differ by one typing error.

    The rows are at most WITHIN_DAYS apart, if both days are known; a row that cannot be read may be of any amount.
    Names of rows with too many candidates go into `left_out`.
    """
    keyed = [row for row in opened if row.side in SIDES and len(row.key or "") in _KEY_LENGTHS and has_key(row.key)]
    unread = {(row.account, row.side) for row in keyed if row.amount is None}
    alike: dict[tuple[Any, ...], dict[str, list[_Break]]] = defaultdict(lambda: {side: [] for side in SIDES})
    for row in keyed:
        if row.amount is not None:
            alike[row.account, row.currency, row.amount][row.side].append(row)
        if row.amount is None or (row.account, _OTHER[row.side]) in unread:
            alike[(row.account,)][row.side].append(row)
    likely = {
        (mine.name, other.name): (mine, other)
        for shared, sides in alike.items() if all(sides.values())
        for mine, other in _sharing(sides, left_out)
        if (mine.day is None or other.day is None or abs(mine.day - other.day) <= WITHIN_DAYS)
        and not (mine.is_duplicate and other.is_duplicate)
        and (len(shared) > 1 or mine.amount is None or other.amount is None)
    }  # fmt: skip
    pairs = [(*pair, slip) for pair in likely.values() if (slip := _typing_error(*pair))]
    for ours, theirs, slip, others in _few(pairs, left_out):
        same = "account, direction and amount are the same, and"
        unknown = "one row cannot be read, and"
        fits = unknown if ours.is_unread or theirs.is_unread else same
        again = "".join(f" The {e.side} has {e.key} in another row too." for e in (ours, theirs) if e.is_duplicate)
        why = f"{ours.key} of the ledger and {theirs.key} of the statement {slip}; {fits} {_days_apart(ours, theirs)}."
        yield (ours, theirs), f"{why}{again}{others}"


def _sharing(sides: Mapping[str, Sequence[_Break]], left_out: _LeftOut) -> Iterator[tuple[_Break, _Break]]:
    """Yields pairs of rows of both sides whose keys become equal if one character is left out of one or of both.

    If more than MOST rows of a side share a shortened key, they make no pairs, and their names are added to `left_out`.
    """
    forms: dict[str, dict[str, list[_Break]]] = defaultdict(lambda: {side: [] for side in SIDES})
    for row in chain(*sides.values()):
        for form in _shortened(row.key or ""):
            forms[form][row.side].append(row)
    for ours, theirs in (of_form.values() for of_form in forms.values() if all(of_form.values())):
        if max(len(ours), len(theirs)) <= MOST:
            yield from product(ours, theirs)
        else:
            left_out.update(row.name for row in (*ours, *theirs))


def _shortened(key: str) -> set[str]:
    return {key, *(key[:place] + key[place + 1 :] for place in range(len(key)))}


def _typing_error(mine: _Break, other: _Break) -> str:
    """The typing error by which two keys differ, in words; empty if they differ by more than one."""
    key, other_key = mine.key or "", other.key or ""
    if len(key) != len(other_key):
        longer, shorter = sorted((key, other_key), key=len, reverse=True)
        return "differ by one character too many" if shorter in _shortened(longer) else ""
    apart = [place for place, (a, b) in enumerate(zip(key, other_key, strict=True)) if a != b]
    if not apart:
        return "are the same" if mine.is_unread or other.is_unread else ""
    if len(apart) == 1:
        return "differ in one character"
    first, last = apart[0], apart[-1] + 1
    swapped = last - first == len("ab") and key[first:last] == other_key[first:last][::-1]
    return "differ in two adjacent characters that are swapped" if swapped else ""


def _days_apart(mine: _Break, other: _Break) -> str:
    if mine.day is None or other.day is None:
        return "a day is unknown"
    apart = abs(mine.day - other.day)
    return "so is the day" if not apart else f"the days are {apart} apart" if apart > 1 else "the days follow"


def _in_texts(opened: Sequence[_Break], left_out: _LeftOut) -> Iterator[Proposal]:
    """Yields a row whose key occurs as a whole in the narrative of a row of the other side, with that row.

    The amounts may differ. Names of rows with too many candidates are added to `left_out`.
    """
    keyed = [item for item in opened if item.side in SIDES and len(item.key or "") in _KEY_LENGTHS]
    pairs: dict[tuple[str, str], tuple[_Break, _Break, str]] = {}
    for side in SIDES:
        places_in = keys_in_texts((item.key, place) for place, item in enumerate(keyed) if item.side == side)
        for other in opened:
            for row in (keyed[place] for place in (places_in(other.text) if other.side == _OTHER[side] else ())):
                if row.account == other.account and row.key != other.key:
                    ours, theirs = (row, other) if side == LEDGER else (other, row)
                    fact = f"{row.key} of the {side} stands in what the {other.side} says of {other.label}"
                    pairs.setdefault((ours.name, theirs.name), (ours, theirs, fact))
    for ours, theirs, fact, others in _few([*pairs.values()], left_out):
        off = ours.apart + theirs.apart
        amounts = f"they move {money_text(abs(off), ours.currency)} apart" if off else "they move the same"
        yield (ours, theirs), f"{fact}; {amounts}, {_days_apart(ours, theirs)}.{others}"


def _shared_numbers(opened: Sequence[_Break], _: _LeftOut) -> Iterator[Proposal]:
    """Yields two rows with the same effect if their keys or narratives have a number that few rows have.

    Few are at most MOST rows of a side: a number that more rows have, such as the account's own, says nothing about one
    row. The days may differ, and so may leading zeros. Numbers after different prefixes are different numbers.
    """
    by_number: dict[tuple[str, str], dict[str, list[_Break]]] = defaultdict(lambda: {side: [] for side in SIDES})
    for row in opened:
        for number in row.numbers if row.is_movement else ():
            by_number[row.account, number][row.side].append(row)
    for (_account, number), of_sides in by_number.items():
        ours, theirs = of_sides.values()
        for mine, other in product(ours, theirs) if max(len(ours), len(theirs)) <= MOST else ():
            written, prefixes = map(set, zip(mine.numbers[number], other.numbers[number], strict=True))
            if mine.moved == other.moved and mine.currency == other.currency and len(prefixes - {""}) <= 1:
                called = f"{mine.label} of the ledger and {other.label} of the statement"
                same = "account, direction and net amount are the same"
                name = number if len(written) > 1 else written.pop()
                yield (mine, other), f"{called} both name {name}; {same}, and {_days_apart(mine, other)}."


def _beyond_window(opened: Sequence[_Break], _: _LeftOut) -> Iterator[Proposal]:
    """Yields two rows that are the only open rows of their net amount, and further apart than a rule by amount allows.

    Their distance in days exceeds the shortest window of these rules, and is at most four times the longest.
    """
    by_effect: dict[tuple[Any, ...], dict[str, list[_Break]]] = defaultdict(lambda: {side: [] for side in SIDES})
    for row in opened:
        if row.side in SIDES and row.apart:
            by_effect[row.account, row.currency, row.moved][row.side].append(row)
    for ours, theirs in (of_sides.values() for of_sides in by_effect.values()):
        for mine, other in zip(ours, theirs, strict=True) if len(ours) == len(theirs) == 1 else ():
            days = abs((mine.day or 0) - (other.day or 0))
            if mine.is_movement and other.is_movement and days in mine.beyond:
                called = f"{mine.label} of the ledger and {other.label} of the statement"
                amount, window = money_text(abs(mine.moved), mine.currency), counted(mine.beyond.start - 1, "day")
                why = f"{called} are the only open rows that move {amount} in their direction"
                yield (mine, other), f"{why}; {_days_apart(mine, other)}, and the rule by amount allows {window}."


def _swapped_digits(opened: Sequence[_Break], _: _LeftOut) -> Iterator[Proposal]:
    """Yields two rows on near days whose amounts differ only by a swap of two adjacent digits.

    Neither of the two fits a third row in this way.
    """
    by_amount: dict[tuple[Any, ...], list[_Break]] = defaultdict(list)
    rows = [row for row in opened if row.side in SIDES and row.amount is not None and row.is_movement]
    for row in rows:
        if row.side == STATEMENT:
            by_amount[row.account, row.currency, row.amount].append(row)
    pairs = [
        (row, other) for row in rows if row.side == LEDGER
        for amount in _swapped(row.amount or 0) for other in by_amount.get((row.account, row.currency, amount), ())
        if abs((row.day or 0) - (other.day or 0)) <= WITHIN_DAYS
    ]  # fmt: skip
    count = Counter(row.name for pair in pairs for row in pair)
    for mine, other in pairs:
        if count[mine.name] == count[other.name] == 1:
            amounts = " and ".join(money_text(abs(row.amount or 0), row.currency) for row in (mine, other))
            called = f"{mine.label} of the ledger and {other.label} of the statement"
            why = f"{called} move {amounts}, which differ in two adjacent digits that are swapped"
            yield (mine, other), f"{why}; account and direction are the same, and {_days_apart(mine, other)}."


def _swapped(amount: int) -> set[int]:
    """The other amounts that result if two adjacent digits of an amount are swapped; the sign stays."""
    text, sign = str(abs(amount)), 1 if amount > 0 else -1
    swaps = (f"{text[:at]}{text[at + 1]}{text[at]}{text[at + 2 :]}" for at in range(len(text) - 1))
    return {sign * int(swap) for swap in swaps if swap[0] != "0"} - {amount}


def _differences(opened: Sequence[_Break], left_out: _LeftOut) -> Iterator[Proposal]:
    """Yields an open row that equals the difference of a pair, together with the pair.

    Also yields an open row that equals an account's unexplained difference. Names of pairs and accounts with too many
    such rows are added to `left_out`.
    """
    by_effect: dict[tuple[Any, ...], list[_Break]] = defaultdict(list)
    for item in opened:
        if item.side in SIDES and item.apart:
            by_effect[item.account, item.currency, item.apart].append(item)
    for target in opened:
        if target.side == _BOTH and target.apart:
            # The unexplained difference may be a row that was counted twice, or not at all.
            ways = (-target.apart,) if target.name else (-target.apart, target.apart)
            rows = [row for way in ways for row in by_effect[target.account, target.currency, way]]
            if len(rows) > MOST:
                left_out.add(target.name or target.account)
                continue
            others = f" It is one of {len(rows)} that fit." if len(rows) > 1 else ""
            amount = money_text(abs(target.apart), target.currency)
            subject = f"The difference of {target.label}" if target.name else "The difference that is not explained"
            for row in rows:
                days = f", {_days_apart(target, row)}" if target.name else ""
                fits = f"{subject}, {amount}, is what {row.label} of the {row.side} moves{days}.{others}"
                yield (target, row), fits


class _Day(NamedTuple):
    """The open rows of one side on one day, the smallest first, with the size of each in minor units, and their sum."""

    rows: Sequence[_Break]
    sizes: Sequence[int]
    total: int


def _sums(opened: Sequence[_Break], left_out: _LeftOut) -> Iterator[Proposal]:
    """Yields a row with rows of the other side whose sum equals it, or a pair with rows whose sum equals its variance.

    Names of rows for which a limit ended the search are added to `left_out`.
    """
    movements = sorted((row for row in opened if row.is_movement), key=lambda row: (abs(row.apart), row.name))
    alike: dict[tuple[Any, ...], dict[int, list[_Break]]] = defaultdict(lambda: defaultdict(list))
    for row in movements:
        alike[row.account, row.currency, row.side, row.apart > 0][row.day or 0].append(row)
    days: dict[tuple[Any, ...], dict[int, _Day]] = defaultdict(dict)
    for like, of_days in alike.items():
        for day, rows in of_days.items():
            sizes = [abs(row.apart) for row in rows]
            days[like][day] = _Day(rows, sizes, sum(sizes))
    targets = sorted(movements, key=lambda row: (-abs(row.apart), row.name))
    left_out.update(row.name for row in targets[_TARGETS_AT_MOST:])
    for row in targets[:_TARGETS_AT_MOST]:
        for side in SIDES if row.side == _BOTH else [_OTHER[row.side]]:
            of_side, size, day = days[row.account, row.currency, side, row.apart < 0], abs(row.apart), row.day or 0
            shifts = range(WITHIN_DAYS + 1)  # the nearest days come first
            near = {at: of_side[at] for shift in shifts for at in {day - shift, day + shift} & of_side.keys()}
            smaller = {at: bisect_left(of_day.sizes, size) for at, of_day in near.items()}
            many = sum(smaller.values())
            if many < len("ab") or any(size in near[at].sizes[place : place + 1] for at, place in smaller.items()):
                continue
            left_out.update([row.name] if many > _CHOSEN_FROM else [])
            parts = [*islice((part for at, place in smaller.items() for part in near[at].rows[:place]), _CHOSEN_FROM)]
            moves = np.array([abs(part.apart) for part in parts])
            fitting = [
                [parts[place] for place in places[chosen]]
                for places in _combinations(len(parts)) for chosen in np.flatnonzero(moves[places].sum(axis=1) == size)
            ]  # fmt: skip
            # Every run of whole days may be paid in one sum.
            runs = [sorted(near)[first:last] for first, last in combinations(range(len(near) + 1), 2)]
            whole = [run for run in runs if sum(near[at].total for at in run) == size]
            fitting += [[part for at in run for part in near[at].rows] for run in whole]
            fitting = [*{frozenset(part.name for part in rows): rows for rows in fitting}.values()]
            if len(fitting) > MOST:
                left_out.add(row.name)
                continue
            subject = f"The difference of {row.label} is" if row.side == _BOTH else f"{row.label} moves"
            moved = money_text(row.moved, row.currency)
            only = "and of no others" if len(fitting) == 1 else f"which is one of {len(fitting)} sums that fit"
            for rows in fitting:
                names = [part.label for part in rows[:MOST]] + ["…"][: len(rows) > MOST]
                why = f"{subject} {moved}, the sum of {len(rows)} rows of the {side} ({', '.join(names)})"
                yield (row, *rows), f"{why}, {only} within {WITHIN_DAYS} days."


@cache
def _combinations(many: int) -> list[NDArray[np.int64]]:
    """The combinations of 2, 3, … of `many` rows: an array of indices for each size, one combination on each line."""
    most = many if many <= _EVERY_CHOICE else _PARTS
    flat = ((size, chain.from_iterable(combinations(range(many), size))) for size in range(2, most + 1))
    return [np.fromiter(places, np.int64).reshape(-1, size) for size, places in flat]


_KINDS: Final[Mapping[str, tuple[Callable[[Sequence[_Break], _LeftOut], Iterator[Proposal]], str]]] = {
    "near_reference": (
        _near_references,
        f"The references of {{}} are like more than {MOST} others, of which not all are compared or proposed.",
    ),
    "in_text": (_in_texts, f"The keys or texts of {{}} fit more than {MOST} others, which are not proposed."),
    "shared_number": (_shared_numbers, ""),
    "swapped_digits": (_swapped_digits, ""),
    "beyond_window": (_beyond_window, ""),
    "difference": (_differences, f"More than {MOST} rows make up for the difference of {{}}: none is proposed."),
    "sum": (
        _sums,
        (
            f"Not every sum was tried or proposed for {{}}: only of the {_TARGETS_AT_MOST:,} largest, out of the "
            f"{_CHOSEN_FROM} rows of the nearest days, and where at most {MOST} sums fit."
        ),
    ),
}  # fmt: skip
"""Kind of suggestion → its search, and the sentence about rows for which a limit ended the search.

The kinds are tried in this order; a later kind does not suggest the same breaks again.
"""
