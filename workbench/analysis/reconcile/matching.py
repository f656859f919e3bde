"""Matches rows without a common key by the rules of their account, or proposes pairs by the customer's number.

The rows that have no partner by key come as Arrow tables, so the result is the same on each engine.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.analysis.break_codes import has_key
from workbench.analysis.frames import day_of
from workbench.analysis.phone_key import HASH_SEPARATOR
from workbench.analysis.reconcile.engines import UNIT, mapped
from workbench.analysis.reconcile.inputs import PREFIX, SIDES
from workbench.analysis.rules import NARRATIVE, MatchRule, MatchRules
from workbench.domain.phones import COUNTRY_CODE, HIDDEN, international

Places = NDArray[np.int64]
Pairs = Sequence[tuple[int, int]]
"""Pairs of rows: the index of the ledger row and that of the statement row in the table of rows without a partner."""
Describe = Callable[[pa.Table], Sequence[str | None]]
"""A function that returns the statement's description of each row of a table."""
PARTNERS_BY: Final = "phone, amount and time"
_REACH_MS: Final = 15 * 60 * 1_000
"""The longest time, in milliseconds, between two rows of one customer that may be one movement."""
_NAMED: Final = 5
"""The most candidates of a side that a text names."""
_LONG_ENOUGH: Final = 4
"""The fewest letters and digits of a key that is searched in narratives; a shorter key may occur there by chance."""


class Candidates(NamedTuple):
    """The candidates of one or more rows, found by the rule named `rule`.

    `places` has the indices of the candidates on the ledger's side and on the statement's. `fitting` has the candidates
    of the opposite side that may be the partner; the others only make that partner uncertain. The search by a
    customer's number ends early, so its candidates may be incomplete.
    """

    rule: str
    places: Sequence[Places]
    fitting: Places


class Partners(NamedTuple):
    """The matches and proposals for rows without a partner.

    `matched` has the pairs of each rule, `proposed` the pairs that a person must accept. `candidates` has a text for
    each row that fits some row of the other side but is in no pair, with the names of the rows that fit; it is null for
    all other rows. `unsure` counts the rows that have no partner only because their customers' numbers cannot be
    compared.
    """

    matched: Sequence[tuple[MatchRule, Pairs]]
    proposed: Pairs
    candidates: pa.Array
    unsure: int


def match_without_keys(
    waiting: pa.Table, rules: Mapping[str, MatchRules], describe: Describe, is_misdated: NDArray[np.bool_],
    is_batch: NDArray[np.bool_],
) -> Partners:  # fmt: skip
    """Matches rows of `waiting` by the rules of their account, and proposes pairs by the customer's number.

    `rules` is account → its rules, of which the first, by key, is skipped. `describe` looks up statement descriptions.
    `is_misdated` is True for each row with an impossible date: rules match such rows too, but no pair with such a row
    is proposed. `is_batch` is True for each batch of the ledger; rules match no other grouped rows.
    """
    single = pc.invert(waiting["grouped"]).to_numpy()
    matched: list[tuple[MatchRule, Pairs]] = []
    candidates: dict[int, Candidates] = {}
    is_taken = np.zeros(len(waiting), np.bool_)
    for account, declared in rules.items():
        if not declared[1:]:
            continue
        is_here = pc.equal(waiting["account"], account).to_numpy()
        free, batches = np.flatnonzero(single & is_here), np.flatnonzero(is_batch & is_here)
        for rule in declared[1:]:
            if rule.has_window:
                pairs, unclear = _within(waiting, free, rule)
            else:
                pairs, unclear = _in_narratives(waiting, free, describe)
                taken = {*unclear, *(place for pair in pairs for place in pair)}
                left = free[[place not in taken for place in free.tolist()]]
                pairs = [*pairs, *_batches_in_narratives(waiting, batches, left, describe)]
            matched.append((rule, pairs))
            candidates |= unclear
            is_taken[np.array(pairs, np.int64).ravel()] = True
            free = free[~is_taken[free]]
    single &= ~is_taken & ~is_misdated
    ours, theirs, unsure = _partners(waiting, np.flatnonzero(single))
    proposed, unclear = _only_candidates(PARTNERS_BY, ours, theirs)
    done = {place for pair in proposed for place in pair}
    uncertain = {at: like for at, like in (candidates | unclear).items() if not is_taken[at] and at not in done}
    named = _named(waiting, uncertain, is_taken)
    texts = pa.array([named.get(place) for place in range(len(waiting))], pa.string())
    return Partners(matched, proposed, texts, unsure)


_Fits = Mapping[int, Sequence[int]]
"""Index of a row → the indices of its possible partners on the other side, at most a few."""


def _only_candidates(rule: str, ours: _Fits, theirs: _Fits) -> tuple[Pairs, dict[int, Candidates]]:
    """The pairs of rows that are each other's only candidate, and for each other row its candidates.

    `rule` is the rule's name. `ours` has the ledger rows with their candidates, `theirs` the statement rows.
    """
    pairs = [(mine, other) for mine, (other, *more) in ours.items() if not more and theirs[other] == [mine]]
    done, unclear = {place for pair in pairs for place in pair}, {}
    for mine, others in ((ours, theirs), (theirs, ours)):
        for place, fitting in mine.items():
            if place not in done:
                own = sorted({place, *(row for other in fitting for row in others[other])})
                like = [own, fitting] if mine is ours else [fitting, own]
                unclear[place] = Candidates(
                    rule, [np.array(places, np.int64) for places in like], np.array(fitting, np.int64)
                )
    return pairs, unclear


def _named(waiting: pa.Table, candidates: Mapping[int, Candidates], is_taken: NDArray[np.bool_]) -> dict[int, str]:
    """Index of a row → a text with the names and days of its candidates, the ledger's first.

    Rows that a later rule has matched (`is_taken`) are no longer candidates; a row without candidates has no text.
    """
    likes = {id(like): like for like in candidates.values() if not is_taken[like.fitting].all()}
    free = {at: [some[~is_taken[some]] for some in like.places] for at, like in likes.items()}
    names: dict[int, str] = {}
    for side, (prefix, *stands) in enumerate((("l_", "l_entry"), ("s_", "s_source", "s_no"))):
        places = sorted({place for sides in free.values() for place in sides[side][:_NAMED].tolist()})
        rows = waiting.select([f"{prefix}key", f"{prefix}day", *stands]).take(pa.array(places, pa.int64()))
        for place, key, day, *where in zip(places, *(column.to_pylist() for column in rows.columns), strict=True):
            called = key if has_key(key) else " line ".join(map(str, where))
            names[place] = f"{called} of {day_of(day)}"
    texts = {}
    for at, sides in free.items():
        like, parts = likes[at], []
        for side_name, some in zip(SIDES, sides, strict=True):
            # The search for customers ends early: how many more there are is not known.
            others = "others" if like.rule == PARTNERS_BY else f"{len(some) - _NAMED} more"
            more = f" and {others}" if len(some) > _NAMED else ""
            parts.append(f"{', '.join(names[row] for row in some[:_NAMED].tolist())}{more} of the {side_name}")
        if sum(map(len, sides)) < sum(map(len, like.places)):
            parts.append("a later rule matched the others")
        texts[at] = f"{like.rule}: {'; '.join(parts)}"
    return {place: texts[id(like)] for place, like in candidates.items() if id(like) in texts}


def _within(waiting: pa.Table, free: Places, rule: MatchRule) -> tuple[Pairs, dict[int, Candidates]]:
    """The certain pairs of one amount within the rule's window, and the candidates of rows that fit uncertainly.

    Two rows are a certain pair if each is the other's only candidate, and no third row of the amount, on either side,
    is within twice the window of either. A rule by the `nearest` day then pairs the remaining rows that fit. Amounts
    are net, so a pair never changes the difference of the balances. `free` has the indices of the rows to match.
    """
    fields = {"phone": "phone", "fee": "fee", "type": "kind"}
    columns = [fields[field] for field in rule.on if field in fields]
    measure, reach = ("day", rule.days or 0) if rule.minutes is None else ("at", rule.minutes * 60)
    places = pa.array(free)
    at, *values = (
        pc.coalesce(*(waiting[f"{prefix}{name}"].take(places) for prefix in PREFIX.values()))
        for name in (measure, "currency", "direction", "signed", *columns)
    )
    if "phone" in rule.on:
        place = 3 + columns.index("phone")
        values[place] = mapped(values[place], _visible_digits)
    texts = pc.binary_join_element_wise(*(text.cast(pa.string()) for text in values), UNIT)
    has_all = pc.and_(pc.is_valid(texts), pc.is_valid(at))
    free, texts, at = free[has_all.to_numpy()], texts.filter(has_all), at.filter(has_all)
    if not len(free):
        return [], {}
    like = texts.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    moments = at.to_numpy() // (1 if rule.minutes is None else 1_000)
    # Rows of two amounts stand so far apart on one line that no window holds both.
    line = like * (int(np.ptp(moments)) + 4 * reach + 1) + moments - moments.min()
    is_ledger = pc.is_null(waiting["s_no"].take(pa.array(free))).to_numpy()
    sides = [_Line(free[mine], line[mine]) for mine in (is_ledger, ~is_ledger)]
    ledger, statement = sides

    def are_alone(positions: Places) -> NDArray[np.bool_]:
        """True for each position (see _Line) around which each side has exactly one row within twice the window."""
        is_alone: NDArray[np.bool_] = np.logical_and(*(side.count(positions, 2 * reach) == 1 for side in sides))
        return is_alone

    def fitting(mine: _Line, other: _Line) -> tuple[Places, Places, NDArray[np.bool_]]:
        """The rows of `mine` that fit some row of `other` within the window, and the first such row of each.

        The mask is True where neither of the two fits any other row.
        """
        rows = np.flatnonzero(other.count(mine.line, reach) > 0)
        firsts = other.first_from(mine.line[rows], reach)
        return rows, firsts, are_alone(mine.line[rows]) & are_alone(other.line[firsts])

    rows, partner, is_sure = fitting(ledger, statement)
    pairs = list(zip(ledger.places[rows][is_sure].tolist(), statement.places[partner][is_sure].tolist(), strict=True))
    customers = [
        _customers(waiting, [pair[side] for pair in pairs], prefix) for side, prefix in enumerate(PREFIX.values())
    ]
    pairs = [pair for pair, mine, other in zip(pairs, *customers, strict=True) if is_one_customer(*mine, *other)]
    done = {place for pair in pairs for place in pair}
    if rule.nearest:
        return [*pairs, *_nearest(waiting, sides, done, reach)], {}
    unclear: dict[int, Candidates] = {}
    for mine, other in (sides, sides[::-1]):
        by_position: dict[int, Candidates] = {}
        counts = np.array([side.count(mine.line, 2 * reach) for side in sides])
        firsts = np.array([side.first_from(mine.line, 2 * reach) for side in sides])
        rows, nearer, is_sure = fitting(mine, other)
        fits = other.count(mine.line, reach)
        for row, near in zip(rows[~is_sure].tolist(), nearer[~is_sure].tolist(), strict=True):
            begins, ends = firsts[:, row].tolist(), (firsts + counts)[:, row].tolist()
            some = [side.places[first:last] for side, first, last in zip(sides, begins, ends, strict=True)]
            # Rows of one day have the same candidates.
            candidates = Candidates(rule.name, some, other.places[near : near + fits[row]])
            unclear[int(mine.places[row])] = by_position.setdefault(int(mine.line[row]), candidates)
    return pairs, unclear


class _Line:
    """The rows of a side, sorted by position: a row's position is a number that combines its amount and its moment.

    Rows of one amount are adjacent, in order of time, and far from rows of any other amount. `places` has the rows'
    indices in the table of rows without a partner, and `line` their positions.
    """

    def __init__(self, places: Places, line: Places) -> None:
        order = np.argsort(line, kind="stable")
        self.places, self.line = places[order], line[order]

    def count(self, positions: Places, reach: int) -> Places:
        """For each of `positions`, the number of rows whose position differs by at most `reach`."""
        return np.searchsorted(self.line, positions + reach, "right") - self.first_from(positions, reach)

    def first_from(self, positions: Places, reach: int) -> Places:
        """For each of `positions`, the index in `line` of the first row whose position differs by at most `reach`.

        If there is no such row (`count` is 0), the index has no meaning.
        """
        return np.searchsorted(self.line, positions - reach, "left")


def _nearest(waiting: pa.Table, sides: Sequence[_Line], done: set[int], reach: int) -> Iterator[tuple[int, int]]:
    """Yields pairs of rows at most `reach` days apart, those of the nearest days first; rows in `done` are left out.

    `sides` are the ledger's rows and the statement's. Several rows of one day are paired in the order of the table.
    The two rows of a pair never have different customers.
    """
    ours, theirs = (
        [(place, position) for place, position in zip(side.places.tolist(), side.line.tolist(), strict=True)
         if place not in done] for side in sides
    )  # fmt: skip
    mine, others = (
        dict(zip(side.places.tolist(), _customers(waiting, side.places, prefix), strict=True))
        for prefix, side in zip(PREFIX.values(), sides, strict=True)
    )
    for shift in sorted(range(-reach, reach + 1), key=lambda days: (abs(days), -days)):
        by_position = defaultdict(list)
        for place, position in theirs:
            by_position[position].append(place)
        pairs = []
        for place, position in ours:
            near = by_position.get(position + shift, [])
            other = next((other for other in near if is_one_customer(*mine[place], *others[other])), None)
            if other is not None:
                near.remove(other)
                pairs.append((place, other))
        yield from pairs
        paired = {place for pair in pairs for place in pair}
        ours, theirs = ([row for row in side if row[0] not in paired] for side in (ours, theirs))


_RUN: Final = re.compile(r"[^\W_]+")


def keys_in_texts(keys: Iterable[tuple[str | None, int]]) -> Callable[[str | None], set[int]]:
    """Returns a function from a text to the places of those `keys` (key, place) that it contains as whole words."""
    places_of = defaultdict(list)
    for key, place in keys:
        runs = tuple(_RUN.findall((key or "").casefold()))
        if has_key(key) and sum(map(len, runs)) >= _LONG_ENOUGH:
            places_of[runs].append(place)
    lengths = {len(runs) for runs in places_of}

    def places_in(text: str | None) -> set[int]:
        runs = _RUN.findall((text or "").casefold())
        parts = (tuple(runs[at : at + many]) for at in range(len(runs)) for many in lengths)
        return {place for part in parts for place in places_of.get(part, ())}

    return places_in


def _in_narratives(
    waiting: pa.Table, free: Places, describe: Describe, name: str = "l_key"
) -> tuple[Pairs, dict[int, Candidates]]:
    """The pairs of a ledger row and the statement row whose description contains its key; and further candidates.

    The description of a pair contains no other ledger key, and no other description contains the pair's key. `free` has
    the indices of the rows to match. `name` is the column with the key of a ledger row.
    """
    is_ours = pc.is_null(waiting["s_no"]).to_numpy()[free]
    booked, reported = free[is_ours], free[~is_ours]
    keys = waiting[name].take(pa.array(booked)).to_pylist()
    keys_in = keys_in_texts(zip(keys, booked.tolist(), strict=True))
    ours, theirs = defaultdict(list), {}
    for place, text in zip(reported.tolist(), describe(waiting.take(pa.array(reported))), strict=True):
        if bookings := sorted(keys_in(text)):
            theirs[place] = bookings
        for booking in bookings:
            ours[booking].append(place)
    return _only_candidates(NARRATIVE, ours, theirs)


def _batches_in_narratives(waiting: pa.Table, batches: Places, free: Places, describe: Describe) -> Pairs:
    """The pairs of a batch of the ledger and the only statement row whose description contains the batch's name.

    The row moves the sum of the batch. `batches` and `free` have the indices of the batches and of the rows to match.
    """
    if not len(batches):
        return []
    pairs, _ = _in_narratives(waiting, np.concatenate([batches, free]), describe, "l_batch")
    sums = (
        waiting.select([f"{prefix}currency", f"{prefix}signed"]).take(
            pa.array([pair[side] for pair in pairs], pa.int64())
        )
        for side, prefix in enumerate(PREFIX.values())
    )
    rows = (zip(*(column.to_pylist() for column in table.columns), strict=True) for table in sums)
    return [pair for pair, mine, other in zip(pairs, *rows, strict=True) if mine == other]


def _number(phone: str | None) -> str | None:
    return (international(phone) or phone or None) if phone else None


def _visible_digits(phone: str | None) -> str | None:
    """The digits of a customer's number that a mask leaves visible; other text, and None, are returned unchanged."""
    number = _number(phone)
    if number is None or not number.startswith("+"):
        return number
    return f"{number[:6] if number.startswith(COUNTRY_CODE) else len(number)}…{number[-3:]}"


def _customers(waiting: pa.Table, places: Places | Sequence[int], prefix: str) -> list[tuple[str | None, str | None]]:
    """The customer's number and its hash for the rows of one side (`prefix`) with the indices `places`."""
    indices = pa.array(places, pa.int64())
    phones, hashes = (waiting[f"{prefix}{name}"].take(indices).to_pylist() for name in ("phone", "phone_hash"))
    return [*zip(map(_number, phones), hashes, strict=True)]


def is_one_customer(mine: str | None, hashed: str | None, other: str | None, other_hashed: str | None) -> bool | None:
    """True if the visible digits and the hashes of two numbers agree; a missing number or hash agrees with any.

    None if the visible digits agree, but the hashes were made with different keys and cannot be compared.
    """
    if mine is None or other is None:
        return True
    digits = zip(mine, other, strict=False)
    if len(mine) != len(other) or not all(a == b or HIDDEN in {a, b} for a, b in digits):
        return False
    if hashed is None or other_hashed is None or hashed == other_hashed:
        return True
    return False if hashed.rpartition(HASH_SEPARATOR)[0] == other_hashed.rpartition(HASH_SEPARATOR)[0] else None


_BY_TIME, _BY_DAY, _WITHOUT_TIME = "by time", "by day", "without time"


class _Waiting(NamedTuple):
    """A row without a partner; `place` is its index in the table of such rows.

    `alike` joins account, currency, direction, amount and the visible digits of the customer's number.
    """

    alike: str
    number: str
    hashed: str | None
    at: int | None
    day: int
    place: int


_AtTime = tuple[int, int, _Waiting]
"""The moment or day of a row, its index, and the row: rows are sorted in the order of the first two."""


def _partners(waiting: pa.Table, free: Places) -> tuple[_Fits, _Fits, int]:
    """The possible partners of ledger rows and of statement rows by the customer's number, and a number of rows.

    The number counts rows that have no partner only because their customers' numbers cannot be compared. `free` has the
    indices of the rows to look at.
    """
    sides = []
    for prefix in PREFIX.values():
        has_phone = pc.and_(*(pc.is_valid(waiting[f"{prefix}{name}"]) for name in ("no", "phone"))).to_numpy()
        places = pa.array(free[has_phone[free]])
        names = ("currency", "direction", "amount", "phone", "phone_hash", "at", "day")
        mine = waiting.select(["account", *(f"{prefix}{name}" for name in names)]).take(places)
        same = [mine[f"{prefix}{name}"].cast(pa.string()) for name in names[:3]]
        number, ends = (mapped(mine[f"{prefix}phone"], shorten) for shorten in (_number, _visible_digits))
        alike = pc.binary_join_element_wise(mine["account"], *same, ends, UNIT)
        columns = (alike, number, *(mine[f"{prefix}{name}"] for name in names[4:]), places)
        sides.append(pa.table(dict(zip(_Waiting._fields, columns, strict=True))))
    # Most rows are like no row of the other side: they are left out before any becomes an object.
    like = (
        mine.join(other.select(["alike"]), "alike", join_type="left semi")
        for mine, other in zip(sides, sides[::-1], strict=True)
    )
    ledger_rows, statement_rows = (
        [_Waiting(*row) for row in zip(*(column.to_pylist() for column in mine.columns), strict=True)] for mine in like
    )
    (ours, unsure), (theirs, more) = _fitting(ledger_rows, statement_rows), _fitting(statement_rows, ledger_rows)
    return ours, theirs, unsure + more


def _fitting(mine: Sequence[_Waiting], others: Sequence[_Waiting]) -> tuple[_Fits, int]:
    """Index of each row of `mine` → the indices of its partners in `others`, if it has any, and a number of rows.

    The number counts rows that have no partner only because their customers' numbers cannot be compared.
    """
    by_kind: dict[tuple[str, str], list[_AtTime]] = defaultdict(list)
    for row in others:
        by_kind[row.alike, _BY_DAY].append((row.day, row.place, row))
        family, measure = (_WITHOUT_TIME, row.day) if row.at is None else (_BY_TIME, row.at)
        by_kind[row.alike, family].append((measure, row.place, row))
    for rows in by_kind.values():
        rows.sort(key=itemgetter(0, 1))
    fits, unsure = {}, 0
    for row in mine:
        fitting, maybe = [], False
        for other in _near(row, by_kind):
            is_one = is_one_customer(row.number, row.hashed, other.number, other.hashed)
            fitting += [other.place] if is_one else []
            maybe = maybe or is_one is None
            if len(fitting) > _NAMED:
                break
        if fitting:
            fits[row.place] = fitting
        unsure += maybe and not fitting
    return fits, unsure


def _near(row: _Waiting, by_kind: Mapping[tuple[str, str], Sequence[_AtTime]]) -> Iterator[_Waiting]:
    """Yields the rows that fit `row` in time, and in all but the hidden digits of the customer's number.

    A row without a time fits every row of its day. `by_kind` is (`alike`, one of _BY_DAY, _BY_TIME and
    _WITHOUT_TIME) → rows, sorted by moment for _BY_TIME, else by day.
    """
    searched = [(_BY_DAY, row.day, 0)]
    if row.at is not None:
        searched = [(_BY_TIME, row.at, _REACH_MS), (_WITHOUT_TIME, row.day, 0)]
    for family, middle, reach in searched:
        rows = by_kind.get((row.alike, family), ())
        for measure, _, other in islice(rows, bisect_left(rows, middle - reach, key=itemgetter(0)), None):
            if measure > middle + reach:
                break
            yield other
