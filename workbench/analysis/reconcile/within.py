"""Groups of several rows under one key: pairs that are one movement, rows that add up, and duplicates.

Rows that are alike, and groups that add up, are found by the engine; what is left of a group is open, and here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Final

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine, conform, listed
from workbench.analysis.reconcile.rules import GROUP, PREFIX, ROW, STATEMENT, Frame, Shape
from workbench.analysis.shapes import COMPLETED

_TIES = ["fresh", "order", "day", "key", "amount", "fee", "direction", "status", "currency", "kind", "refers", "state",
         "ends", "source", "no", "entry"]  # fmt: skip
"""The order of the rows of a group: rows that were reported before come first, then their contents decide.

Where they stand tells it last, of rows that say the same: another export may have them in another order. `ends` is
what of a customer's number is seen when it is masked too, as it is in rows that are carried forward.
"""
SPECIAL: Shape = {
    **ROW, "pair": nw.String, "told_again": nw.Boolean, "agrees": nw.Boolean,
    "ends": nw.String, **dict.fromkeys(("fresh", "batches", "n", "l_n", "l_sum", "s_sum", "stands", "moved"), nw.Int64),
}  # fmt: skip
"""A row of a special group, with what it came to in it.

Of one `pair` are a row of each side that are alike; `agrees` tells the rows of which both sides add up to the same,
and `told_again` those that count once and stand twice. `stands` is how many rows of its side and key that go the same
way are paired, and `moved` how many of its group moved at all. `n`, `l_n`, `l_sum` and `s_sum` are how many rows of
both sides and of the ledger are left of its group, and what they move.
"""
_ALIKE = ("direction", "amount", "fee", "currency")
"""Two completed rows with one key match on these fields."""
_NEAREST: Sequence[tuple[tuple[str, ...], bool, bool]] = (
    (("direction", "amount"), False, False),
    (("amount",), True, False),
    (("direction",), True, False),
    (("key",), False, True),
)
"""Fields by which the remaining rows are paired, one set after another. Such pairs differ in a field, and are compared.

With the first flag only completed rows are paired. With the second only first rows are: a completed row that is no
duplicate, or any row of a group in which no row is paired yet.
"""


_OF_GROUP: Final = "partition by account, g"
_SETTLED: Final = f"coalesce(was = '{codes.MATCHED}', false)"
"""True for a line that was matched before the last close."""
_IS_NEW: Final = f"(was is null or was = '{codes.MATCHED}')"
"""True for a row that stands in a file of this run."""
_IN_ORDER: Final = ", ".join(f'"{name}" nulls first' for name in _TIES)


def special_of(engine: Engine, rows: Frame, *, overlaps: bool, respelt: bool = False) -> Frame:
    """The rows of special groups in the shape SPECIAL, `batches` known; the keys of `respelt` groups differ."""
    shape = {name: SPECIAL[name] for name in (*ROW, "batches", "ends", "fresh", "pair", "told_again")}
    found = conform(
        rows, shape, source="coalesce(source, '')", ends="right(phone, 3)", pair="''", told_again="false",
        # Of the ledger an open row may be read again, after the closing date, beside a duplicate that was carried.
        fresh=f"case when {_IS_NEW} and side = '{STATEMENT}' then 1 else 0 end",
    )  # fmt: skip
    found = _told_again(found, shape) if overlaps else found
    adds = f"not told_again and (status = '{COMPLETED}' or batches > 0)"
    counted = {"adds": adds} | {f"{prefix}left": f"{adds} and side = '{side}'" for side, prefix in PREFIX.items()}
    shape |= dict.fromkeys(counted, nw.Int64)
    found = conform(found, shape, **{name: f"case when {term} then 1 else 0 end" for name, term in counted.items()})
    for by in (("key", *_ALIKE), _ALIKE) if respelt else (_ALIKE,):
        found = _paired(found, shape, by)
    sums = {
        "n": "sum(l_left + s_left)", "l_n": "sum(l_left)", "l_sum": "sum(l_left * signed)",
        "s_sum": "sum(s_left * signed)", "moved": "sum(adds)", "stands": "sum(adds - l_left - s_left)",
    }  # fmt: skip
    over = {"stands": f"{_OF_GROUP}, side, direction, key"}
    made = {name: f"cast({term} over ({over.get(name, _OF_GROUP)}) as bigint)" for name, term in sums.items()}
    currency = "case when l_left + s_left > 0 then currency end"
    made |= {name: f"{name}({currency}) over ({_OF_GROUP})" for name in ("min", "max")}
    summed = conform(found, {**shape, **dict.fromkeys(made, nw.Int64)}, **made)
    several = "(n > 1 and not (l_n = 1 and n - l_n = 1) or batches > 0)"
    agrees = f'l_left + s_left > 0 and {several} and l_sum = s_sum and "min" = "max"'
    return engine.keep(conform(summed, SPECIAL, agrees=agrees))


def _told_again(rows: Frame, shape: Shape) -> Frame:
    """Mark as `told_again` what another file has told, or what was settled before: it adds nothing to its group.

    The same line in another file is the same movement: the balance moved once. Of a line that one file has twice
    and another three times, three moved it. What was carried forward is as one file.
    """
    line = f'{_OF_GROUP}, side, key, currency, "day", signed'
    file = f"case when {_IS_NEW} then source else '' end"
    whole = {**shape, "copy": nw.Int64}
    copies = conform(rows, whole, copy=f"row_number() over ({line}, fresh, {file} order by {_IN_ORDER})")
    nth = f"row_number() over ({line}, copy order by {_IN_ORDER})"
    marked = conform(copies, shape, told_again=f"side = '{STATEMENT}' and {nth} > 1 or {_SETTLED}")
    named = "case when batch is not null and not told_again then 1 else 0 end"
    return conform(marked, shape, batches=f"cast(sum({named}) over ({_OF_GROUP}) as bigint)")


def _paired(rows: Frame, shape: Shape, by: tuple[str, ...]) -> Frame:
    """Give one `pair` to the n-th row of each side, of those that moved, have none yet, and are alike in this."""
    within = f"{_OF_GROUP}, {listed(by)}"
    sums = [f"cast(sum({name}) over ({within}) as bigint)" for name in ("l_left", "s_left")]
    # The ledger's rows come first, so that one order does for both sides.
    order = f"order by side, {_IN_ORDER} rows unbounded preceding"
    nth = f"cast(sum(l_left + s_left) over ({within} {order}) as bigint)"
    counts = dict(zip(("ours", "theirs", "nth"), (*sums, nth), strict=True))
    counted = conform(rows, {**shape, **dict.fromkeys(counts, nw.Int64)}, **counts)
    nth = "(nth - s_left * ours)"
    is_met = f"l_left + s_left > 0 and batches = 0 and {nth} <= least(ours, theirs)"
    name = " || ' ' || ".join(f"cast({column} as string)" for column in (*by, nth))
    made = {"pair": f"case when {is_met} then {name} else pair end"}
    return conform(counted, shape, **made, **{
        column: f"case when {is_met} then 0 else {column} end" for column in ("l_left", "s_left")
    })  # fmt: skip


def firsts(members: pa.Table) -> pa.ChunkedArray:
    """True for the first row of each side of each group, in an order that the order of the input never changes."""
    keys, order = [*GROUP, "side"], _order(members)
    ordered = members.select(keys).take(order).append_column("at", order)
    first = ordered.group_by(keys, use_threads=False).aggregate([("at", "first")])["at_first"]
    return pc.is_in(pa.array(range(len(members)), order.type), first)


def _order(rows: pa.Table) -> pa.Array:
    """The places of rows as the engines sort them."""
    return pc.sort_indices(rows, [(name, "ascending", "at_start") for name in _TIES])


def respelt(groups: pa.Table) -> pa.Table:
    """Finds groups (`account` and `g`) that disagree and whose keys are one when written alike, with its `name`.

    Groups that agree are what both sides call them, and need no other name.
    """
    once = groups.select(GROUP).group_by(GROUP).aggregate([])
    named = once.append_column("name", pa.array([_bare(key) for key in once["g"].to_pylist()], pa.string()))
    several = named.group_by(["account", "name"]).aggregate([("g", "count")])
    several = several.filter(pc.greater(several["g_count"], 1)).select(["account", "name"])
    return named.join(several, ["account", "name"], join_type="left semi")


_UNSEEN = "[\\s\u00a0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]"
"""White space, in characters of which each engine knows a class."""


def alike(engine: Engine, key: str) -> str:
    """The bare spelling that several keys share, as SQL: see _bare."""
    return engine.replaced(f"lower({engine.replaced(key, _UNSEEN)})", "^0+")


def _bare(key: str) -> str:
    """A key without what never parts a pair: white space, case and leading zeros."""
    written = re.sub(_UNSEEN, "", key).casefold()
    return written.lstrip("0") or written[:1]


def nearest(left: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Pairs the rows that are left of groups without a batch (SPECIAL), and splits off duplicates.

    The first has the rows of both sides side by side, as `l_…` and `s_…`; a side may be missing. A duplicate goes
    the way of another row of its key and its side, and has no partner. What goes the other way, a refund or a charge,
    is a movement of its own; so is what writes its key in another way.
    """
    ordered = left.take(_order(left))
    rows = ordered.select(
        [*GROUP, "side", "key", "direction", "amount", "status", "was", "stands", "moved"]
    ).to_pylist()
    moves = [row["status"] == COMPLETED for row in rows]
    groups = [tuple(row[name] for name in GROUP) for row in rows]
    free, met = sorted(range(len(rows)), key=lambda place: not moves[place]), []
    # What did not move is paired first to first only where nothing of the group has its like.
    moved = Counter(group for group, is_moving in zip(groups, moves, strict=True) if is_moving)
    alone = {group for group, row in zip(groups, rows, strict=True) if row["moved"] == moved[group]}
    stands = Counter[tuple[object, ...]]()
    for by, only_moved, only_firsts in _NEAREST:
        alike: defaultdict[tuple[object, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place in free:
            is_first = groups[place] in alone or (moves[place] and not _is_further(rows[place], stands))
            if (moves[place] or not only_moved) and (is_first or not only_firsts):
                of = (*groups[place], *(rows[place][name] for name in by))
                alike[of][rows[place]["side"] == STATEMENT].append(place)
        last = 1 if only_firsts else None
        found = [both for sides in alike.values() for both in zip(*(places[:last] for places in sides), strict=False)]
        met += found
        taken = set(chain(*found))
        free = [place for place in free if place not in taken]
        alone -= {groups[place] for place in taken}
        stands.update(_way(rows[place]) for place in taken)
    further, single = [], []
    for place in sorted(free):
        row = rows[place]
        if moves[place] and _is_further(row, stands):
            further.append(place)
        else:
            single.append((None, place) if row["side"] == STATEMENT else (place, None))
        stands[_way(row)] += 1
    return _side_by_side(ordered, [*met, *single]), ordered.take(pa.array(further, pa.int64()))


def _is_further(row: dict[str, object], stands: Counter[tuple[object, ...]]) -> bool:
    """True if another row of its key and side goes the same way and stands, or did in an earlier run."""
    return bool(row["stands"] or stands[_way(row)] or row["was"] in codes.DUPLICATE.values())


def _way(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in (*GROUP, "side", "key", "direction", "status"))


def _side_by_side(rows: pa.Table, met: Sequence[tuple[int | None, ...]]) -> pa.Table:
    """The rows at these places, a pair a row; its `pair` is the how many-th it is of its group."""
    made: dict[str, pa.ChunkedArray] = {}
    for place, prefix in enumerate(("l_", "s_")):
        mine = rows.take(pa.array([both[place] for both in met], pa.int64()))
        made |= {f"{prefix}{name}": mine[name] for name in rows.column_names}
    made |= {name: pc.coalesce(made[f"l_{name}"], made[f"s_{name}"]) for name in GROUP}
    groups, counted = zip(*(made[name].to_pylist() for name in GROUP), strict=True), Counter[tuple[object, ...]]()
    numbers = []
    for group in groups:
        counted[group] += 1
        numbers.append(str(counted[group]))
    return pa.table({**made, "pair": pa.array(numbers, pa.string())})
