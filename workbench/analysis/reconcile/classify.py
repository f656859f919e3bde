"""Compares rows by key: every row is unusable, repeated, part of a pair or group that agrees, or open.

The rows of one account with one key or batch are a group. If a group has several rows on a side, the engine pairs equal
rows, and marks groups whose sides have equal sums. The remaining rows are open, and this module pairs them.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import break_codes as codes
from workbench.analysis.frames import with_column
from workbench.analysis.reconcile.engines import (
    Frame,
    SqlEngine,
    among,
    apart,
    arrow_schema,
    both,
    column_list,
    conform,
    equality,
)
from workbench.analysis.reconcile.inputs import GROUP, LEDGER, OF_SIDE, PREFIX, ROW, SIDES, STATEMENT, dated
from workbench.analysis.shapes import COMPLETED, Columns
from workbench.errors import ReconcileRefused

ONE_SIDED: Final = "one_sided"
"""Intermediate code of a row or group without a partner, until `breaks` gives it its final code."""
TOLERATED: Final = "tolerated"
"""Intermediate code of a pair that differs only within the tolerance: it is no break."""


@dataclass(frozen=True)
class Tolerance:
    """The most by which the amounts and the fees of two rows with one key may differ, in minor units.

    Each account's rules say how many days apart its rows may be, and what matches rows without a common key: see
    `analysis.rules`. Raises ReconcileRefused: a limit is not a whole number from 0 up.

    >>> Tolerance(amount_minor=1)
    Tolerance(amount_minor=1, fee_minor=0)
    """

    amount_minor: int = 0
    fee_minor: int = 0

    def __post_init__(self) -> None:
        for name in ("amount_minor", "fee_minor"):
            check_whole(name, getattr(self, name), "Tolerance")


class Allowed(NamedTuple):
    """Limits within which two rows with one key agree; amounts are in minor units.

    `days` is SQL for the most days between the dates of a pair, by account; `most_days` is the largest such number.
    `by_amount` is account → True if a rule takes the row of the nearest day; only accounts with rules by amount.
    `ends` is account → its closing date, in days since 1970, for accounts whose later ledger rows belong to the next
    period, unless the statement has a row for them.
    """

    amount_minor: int
    fee_minor: int
    days: str
    most_days: int
    by_amount: Mapping[str, bool]
    ends: Mapping[str, int]


def check_whole(name: str, value: object, function: str) -> None:
    """Raises ReconcileRefused if `value`, the argument `name` of `function`, is not an integer from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        text = f"{function} takes a whole number from 0 up as `{name}`, not {value!r}."
        raise ReconcileRefused(text, hint="Amounts are in minor units: one ngwee is 1, one kwacha 100.")


_TIES = ["fresh", "order", "day", "key", "amount", "fee", "direction", "status", "currency", "kind", "refers", "state",
         "ends", "source", "no", "entry"]  # fmt: skip
"""The columns that sort the rows of a group: rows of earlier runs come first, then the contents decide.

The position in a file counts last, since another export may order equal rows differently. `ends` has the last three
digits of a customer's number, which a masked number shows too.
"""
SPECIAL: Columns = {
    **ROW, "pair": "string", "told_again": "bool", "agrees": "bool",
    "ends": "string", **dict.fromkeys(("fresh", "batches", "n", "l_n", "l_sum", "s_sum", "stands", "moved"), "int64"),
}  # fmt: skip
"""A row of a special group (see _marked), with its outcome.

Two equal rows, one of each side, share a `pair`. `agrees` marks unpaired rows of a group whose sides have the same sum;
`told_again` marks repeated rows, which do not count. `stands` is the number of paired rows with the same side, key and
direction, and `moved` the number of rows of the group that count. `n` and `l_n` are the numbers of unpaired rows in the
group, of both sides and of the ledger; `l_sum` and `s_sum` are their sums on each side. `batches` is the number of the
group's rows that have a batch; `fresh` is 1 for a statement row of this run's files, else 0.
"""
_ALIKE = ("direction", "amount", "fee", "currency")
"""Two completed rows with one key match if they agree in these fields."""
_NEAREST: Sequence[tuple[tuple[str, ...], bool, bool]] = (
    (("key", *_ALIKE), True, False),
    (_ALIKE, True, False),
    (("direction", "amount"), False, False),
    (("amount",), True, False),
    (("direction",), True, False),
    (("key",), False, True),
)
"""The passes that pair the remaining rows of a group, in order: the fields that must agree, and two flags.

The first flag limits a pass to completed rows. The second limits a pass to one row of each side: a completed row that
is no duplicate, or any row of a group without a pair. The rows of a pair may differ in other fields, and then the
pair gets a code.
"""


_OF_GROUP: Final = "partition by account, g"
_SETTLED: Final = f"coalesce(was = '{codes.MATCHED}', false)"
"""SQL that is true for a statement line that an earlier run matched."""
_IS_NEW: Final = f"(was is null or was = '{codes.MATCHED}')"
"""SQL that is true for a row that is in a file of this run."""
_CONTENTS: Final = (
    "batch",
    "at",
    "direction",
    "amount",
    "fee",
    "status",
    "kind",
    "refers",
    "problem",
    "ends",
    "balance_minor",
)
"""The further columns in which unusable lines agree if one repeats the other."""
_IN_ORDER: Final = ", ".join(f'"{name}" nulls first' for name in _TIES)
_LEFT_OUT = {LEDGER: {"batch", "problem", "source"}, STATEMENT: {"batch", "problem", "entry", "state"}}
NARROW = {side: [name for name in OF_SIDE if name not in names] for side, names in _LEFT_OUT.items()}
"""Side → the columns that take part in the join of all rows."""
_PAIRED: Columns = {**ROW, "pair": "string"}
_MARK: Columns = {"account": "string", "g": "string", "rows": "int64", "batches": "int64"}
_OPEN_ROW: Columns = {**SPECIAL, "parts": "string"}
"""An open row of a special group.

If a payment and its fee are two lines, they are one row with a fee, and `parts` has both lines as JSON (columns
OF_SIDE), the payment first.
"""
COMPARED: Columns = {"account": "string", "g": "string", "pair": "string", "code": "string"} | {
    f"{prefix}{name}": ROW[name] for side, prefix in PREFIX.items() for name in NARROW[side]
}
"""Two rows that were compared, or a row without a partner, whose other side is null."""
_FeesOf = dict[tuple[str, str], dict[int, int]]
"""Group (`account` and `g`) → the places of its payments → the places of their fees: see _fees."""
_PAIR: Columns = {**COMPARED, **{f"{prefix}parts": "string" for prefix in PREFIX.values()}}


_FILE: Final = ["account", "source"]
"""Columns that identify a statement."""
LINE = ["account", "source", "no", "g", "signed"]
"""Columns that identify a statement line, even in a table without line numbers."""
BOTH_SIDES: Final = "l_amount is not null and s_amount is not null"
"""SQL that is true for a pair with a row on each side."""


@dataclass(frozen=True)
class Classified:
    """The result of `classify`.

    `agreed` has the pairs that agree, exactly or within the tolerance; `opened` has all pairs with a code, which may
    lack a side. `special` has the rows of the special groups, `members` those open rows of special groups that are in
    no pair. Pairs in `opened` and rows in `members` have `parts` (see _OPEN_ROW). `bad` has the unusable rows, one
    frame for each side that has any.
    """

    agreed: Frame
    special: Frame
    opened: pa.Table
    members: pa.Table
    bad: list[Frame]

    def settled_lines(self) -> Frame:
        """SQL for the statement lines that agree with the ledger, or are repeated.

        The columns are those of LINE, and `lines`, the number of equal lines.
        """
        shape = {name: ROW[name] for name in LINE}
        of_pair = {"source": "s_source", "no": "s_no", "g": "s_key", "signed": "s_signed"}
        pairs = conform(self.agreed, shape, BOTH_SIDES, **of_pair)
        is_settled = f"side = '{STATEMENT}' and (agrees or told_again)"
        lines = both(pairs, conform(self.special, shape, is_settled, g="coalesce(batch, key)"))
        return f"(select {column_list(LINE)}, count(*) as lines from {lines} group by {column_list(LINE)})"

    def settled_later(self, engine: SqlEngine, ends: Mapping[str, int]) -> pa.Table:
        """The statement lines that agree with the ledger by key, but are dated after their account's closing date.

        Columns account, key, day and signed. `ends` is account → closing date, in days since 1970; lines of accounts
        that `ends` lacks are left out.
        """
        shape = {name: ROW[name] for name in ("account", "key", "day", "signed")}
        if not ends:
            return arrow_schema(shape).empty_table()
        pairs = conform(self.agreed, shape, BOTH_SIDES, key="s_key", day="s_day", signed="s_signed")
        lines = both(pairs, conform(self.special, shape, f"side = '{STATEMENT}' and agrees"))
        return engine.table(f"(select * from {lines} where {dated(engine, ends, '>')})", shape)


def classify(
    engine: SqlEngine,
    rows: Mapping[str, Frame],
    bad: Mapping[str, int],
    allowed: Allowed,
    *,
    carried: bool,
    overlaps: bool,
) -> Classified:
    """Compares the rows of both sides by key and batch; `breaks` gives the rows without a partner their codes.

    `rows` is side → its rows, `bad` side → the number of unusable ones. `carried` is true if `rows` include rows of an
    earlier run. If `overlaps` is false, no line can be in two files, and repeated lines are not looked for.
    """
    special_rows = partial(special_of, engine, overlaps=overlaps, ends=allowed.ends)
    good = {side: conform(frame, ROW, "not bad") if bad[side] else frame for side, frame in rows.items()}
    marked = engine.keep(_marked(good.values(), carried=carried))
    everything = both(*good.values())
    plain = {side: apart(frame, marked, GROUP) for side, frame in good.items()}
    joined = _compared(plain, allowed, GROUP, pair="''")
    # Most pairs agree: only the others, and special groups, are read with all columns.
    marks = both(marked, conform(joined, _MARK, "code is not null", rows="0", batches="0"))
    marks = f"(select x.*, y.rows, y.batches from {everything} x join {marks} y on {equality(GROUP)})"
    inside = engine.keep(marks)
    single = conform(inside, _PAIRED, "rows = 0", pair="''")
    special = engine.arrow(arrow_schema(SPECIAL).empty_table(), SPECIAL)
    pairs, unpaired = arrow_schema(_PAIR).empty_table(), arrow_schema(_OPEN_ROW).empty_table()
    # Most ledgers have no special group: the rules for them are the longest.
    if len(engine.table(f"(select rows from {marked} limit 1)", {"rows": "int64"})):
        special = special_rows(f"(select * from {inside} where rows > 0)")
        special, pairs, unpaired = _members(engine, special, everything, allowed)
        single = both(single, conform(special, _PAIRED, "pair <> ''"))
    near = _within(single, allowed)
    opened = engine.table(f"(select * from {near} where code is not null)", COMPARED)
    compared = both(conform(joined, COMPARED, "code is null"), near)
    broken = [part.filter(pc.not_equal(part["code"], TOLERATED)).select(GROUP) for part in (opened, pairs)]
    if carried:
        # The groups that hold only open rows of an earlier run disagreed then, and still do.
        waits = f"count(*) = count(case when was is not null and was <> '{codes.MATCHED}' then 1 end)"
        waiting = f"(select account, g from {everything} group by account, g having {waits})"
        broken.append(engine.table(waiting, {name: ROW[name] for name in GROUP}))
    names = _names_of_lone(engine, pa.concat_tables([*broken, unpaired.select(GROUP)]), everything, allowed.ends)
    if len(names):
        renamed = engine.keep(engine.arrow(names, dict.fromkeys((*GROUP, "name"), "string")))
        named = f"(select x.*, y.name from {everything} x join {renamed} y on {equality(GROUP)})"
        named = conform(named, ROW, g="name")
        named = f"(select *, count(batch) over (partition by account, g) as batches from {named})"
        again = special_rows(named, respelt=True)
        again, *others = _members(engine, again, everything, allowed)
        more_pairs = _within(conform(again, _PAIRED, "pair <> ''"), allowed)
        more = engine.table(f"(select * from {more_pairs} where code is not null)", COMPARED), *others
        compared, special = (
            both(apart(frame, renamed, GROUP), other) for frame, other in ((compared, more_pairs), (special, again))
        )
        opened, pairs, unpaired = (
            pa.concat_tables([table.join(names, GROUP, join_type="left anti"), other])
            for table, other in zip((opened, pairs, unpaired), more, strict=True)
        )
    opened = pa.concat_tables([opened, pairs.filter(pc.is_valid(pairs["code"]))], promote_options="default")
    pairs = pairs.filter(pc.invert(has_parts(pairs)))
    compared = both(compared, engine.arrow(pairs, COMPARED)) if len(pairs) else compared
    agreed = f"(select * from {compared} where code is null or code = '{TOLERATED}')"
    invalid = {side: conform(frame, ROW, "bad") for side, frame in rows.items() if bad[side]}
    if overlaps and STATEMENT in invalid:
        told_again = conform(special, _FILE, f"told_again and side = '{STATEMENT}'")
        invalid[STATEMENT], repeated = _split_repeated(engine, invalid[STATEMENT], told_again)
        special = both(special, repeated)
    return Classified(agreed, special, opened, unpaired, list(invalid.values()))


def _marked(rows: Iterable[Frame], *, carried: bool) -> Frame:
    """SQL for the special groups: those with several rows on a side, a batch, or certain rows of an earlier run.

    Such a row of an earlier run is settled, a duplicate, or open and not completed; `carried` is true if there are rows
    of an earlier run. The result has the columns _MARK. `batches` counts the group's rows with a batch. `rows` counts
    all rows of each side that has several rows or a batch, and adds 1 for each such row of an earlier run.
    """
    # Each side by itself: one aggregation over both takes a third longer.
    marks = [
        f"""(select account, g, count(*) as rows, count(batch) as batches from {side}
             group by account, g having count(*) > 1 or count(batch) > 0)""" for side in rows
    ]  # fmt: skip
    if carried:
        duplicates = tuple(codes.DUPLICATE.values())
        known = f"was in ('{codes.MATCHED}', {str(duplicates)[1:-1]}) or was is not null and status <> '{COMPLETED}'"
        marks += [conform(side, _MARK, known, rows="1", batches="0") for side in rows]
    sums = ", ".join(f"cast(sum({name}) as bigint) as {name}" for name in ("rows", "batches"))
    return f"(select account, g, {sums} from {both(*marks)} group by account, g)"


def _members(
    engine: SqlEngine, special: Frame, everything: Frame, allowed: Allowed
) -> tuple[Frame, pa.Table, pa.Table]:
    """Pairs the open rows among `special` (columns SPECIAL); `everything` has all rows of both sides.

    Returns `special`, the pairs with their code (columns _PAIR), and the rows in no pair (columns _OPEN_ROW), which are
    duplicates and all open rows of groups with a batch. In a group with a fee on a line of its own, the rows that do
    not agree are paired anew; of these, the returned `special` has only the repeated rows, and those that agree then.
    """
    rows = engine.table(f"(select * from {special} where not (told_again or agrees or pair <> ''))", SPECIAL)
    rows = rows.append_column("parts", pa.nulls(len(rows), pa.string()))
    batched = pc.greater(rows["batches"], 0)
    single = rows.filter(pc.invert(batched))
    groups = {name: ROW[name] for name in GROUP}
    moving = single.filter(pc.equal(single["status"], COMPLETED)).group_by(GROUP).aggregate([])
    whole = arrow_schema(_OPEN_ROW).empty_table()
    if len(moving):
        counted = f"(select * from {special} where not (told_again or agrees))"
        counted = among(counted, engine.arrow(moving, groups), GROUP)
        whole = with_fees(engine, engine.table(counted, SPECIAL), everything, allowed.by_amount)
    split = whole.group_by(GROUP).aggregate([])
    if len(split):
        single = pa.concat_tables([single.join(split, GROUP, join_type="left anti").select(list(_OPEN_ROW)), whole])
    pairs, unpaired = nearest(single)
    pairs = with_codes(engine, pairs, _PAIR, allowed)
    if len(split):
        regrouped = engine.keep(engine.arrow(split, groups))
        settled = f"(select * from {special} where told_again or agrees)"
        agreed = engine.arrow(_lines_agreed(pairs), SPECIAL)
        special = engine.keep(both(apart(special, regrouped, GROUP), among(settled, regrouped, GROUP), agreed))
    return special, pairs, pa.concat_tables([rows.filter(batched), unpaired])


def with_fees(engine: SqlEngine, rows: pa.Table, everything: Frame, by_amount: Mapping[str, bool]) -> pa.Table:
    """Joins a payment and its fee on two lines to one row, and returns all rows of the groups where that happened.

    `rows` (columns SPECIAL) are the rows of all groups without a batch; the result has the columns _OPEN_ROW. The lines
    are joined if the other side has a fee under this key too, in a column or on a line of its own, or if it has no
    movement under this key. In the second case, in accounts of `by_amount` (see Allowed), each line may match a row of
    its own amount. There the lines stay apart if a rule takes the row of the nearest day, and also if `everything`, the
    rows of both sides, has a row that a line can match (see _without_rows_of_their_own).
    """
    rows = rows.take(_order(rows))
    names = [*GROUP, "side", "key", "day", "currency", "direction", "amount", "fee", "status", "kind", "refers"]
    groups: defaultdict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: {side: [] for side in SIDES})
    for place, row in enumerate(rows.select(names).to_pylist()):
        if row["status"] == COMPLETED:
            groups[row["account"], row["g"]][row["side"]].append({**row, "place": place})
    joined: _FeesOf = defaultdict(dict)
    lone: _FeesOf = {}
    for group, (ours, theirs) in ((group, sides.values()) for group, sides in groups.items()):
        our_fees, their_fees = _fees(ours, theirs), _fees(theirs, ours)
        for mine, others, other_fees in ((our_fees, theirs, their_fees), (their_fees, ours, our_fees)):
            if mine and not others and group[0] in by_amount:
                lone |= {} if by_amount[group[0]] else {group: mine}
            elif mine and (not others or other_fees or any(row["fee"] for row in others)):
                joined[group] |= mine
    joined |= _without_rows_of_their_own(engine, rows, everything, lone) if lone else {}
    fees = dict(chain(*(mine.items() for mine in joined.values())))
    moved = {group: sum(map(len, groups[group].values())) - len(mine) for group, mine in joined.items()}
    lines = iter(rows.select(OF_SIDE).take(pa.array([*chain(*fees.items())], pa.int64())).to_pylist())
    columns = {name: rows[name].to_pylist() for name in ("amount", "fee", "signed")}
    parts: list[str | None] = [None] * len(rows)
    for payment, fee in fees.items():
        parts[payment] = json.dumps([next(lines), next(lines)])
        columns["fee"][payment] = columns["amount"][fee]
        columns["signed"][payment] -= columns["amount"][fee]
    group_of, gone = [*zip(*(rows[name].to_pylist() for name in GROUP), strict=True)], {*fees.values()}
    columns |= {"stands": [0] * len(rows), "moved": [moved.get(group, 0) for group in group_of]}
    for name in ("fee", "signed", "stands", "moved"):
        rows = with_column(rows, name, pa.array(columns[name], pa.int64()))
    rows = rows.append_column("parts", pa.array(parts, pa.string()))
    return rows.filter(
        pa.array([group in moved and place not in gone for place, group in enumerate(group_of)], pa.bool_())
    )


def _without_rows_of_their_own(engine: SqlEngine, rows: pa.Table, everything: Frame, lone: _FeesOf) -> _FeesOf:
    """The groups of `lone` whose lines become one row, since no line can match a row of its own amount.

    A group's lines stay apart if the other side of the account has, on any day, a row of the net amount of one line.
    They also stay apart if their sum equals the sum of a group whose lines stay apart, since a row of that sum on the
    other side could belong to either group.
    """
    shape = {name: ROW[name] for name in ("account", "side", "currency", "signed")}
    of_rows = [*zip(*(rows[name].to_pylist() for name in shape), strict=True)]
    lines = engine.arrow(rows.take(pa.array([*chain(*chain(*map(dict.items, lone.values())))], pa.int64())), shape)
    on = f"{equality(('account', 'currency', 'signed'))} and x.side <> y.side"
    matching = engine.rows(f"(select x.* from {lines} x semi join {everything} y on {on})", shape)
    own = {tuple(row.values()) for row in matching}

    def sums(group: tuple[str, str]) -> set[tuple[Any, ...]]:
        return {(*of_rows[payment][:3], of_rows[payment][3] + of_rows[fee][3]) for payment, fee in lone[group].items()}

    stay = {group for group, fees in lone.items() if any(of_rows[place] in own for place in chain(*fees.items()))}
    of_others = set(chain(*map(sums, stay)))
    return {group: fees for group, fees in lone.items() if group not in stay and of_others.isdisjoint(sums(group))}


Row = dict[str, Any]
"""The values of a row, and its `place` in the table."""
_FEE: Final = "fee"
_MAY_BE_FEE: Final = (_FEE, "other", "", None)
_MOST_OF_FEE, _LEAST_PAYMENT = 4, 10
"""A line without the type `fee` is a fee up to 4 times the other side's fee, or 1/10 of the payment if it has none."""
_MOST_LINES: Final = 20
"""The most rows of one key on a side among which payments and their fees are searched."""


def _fees(rows: Sequence[Row], others: Sequence[Row]) -> dict[int, int]:
    """The place of each payment that lacks a fee → the place of the line that is its fee, among `rows` of one side.

    A fee goes out on the day of its payment, and `others`, the group's rows on the other side, have no equal line. A
    line is no fee if its type is not `fee` or `other`, if it names a payment that it reverses, or if it is too large.
    """
    if not 1 < len(rows) <= _MOST_LINES:
        return {}
    with_fee = [row for row in others if row["fee"] or row["kind"] == _FEE]
    fee_there = max((row["fee"] or row["amount"] for row in with_fee), default=0)
    like = {(row["direction"], row["amount"]) for row in with_fee}
    equal = Counter((row["direction"], row["amount"]) for row in others if not row["fee"])
    # The payment that has a fee on the other side comes first, then one that comes in.
    payments = sorted(
        (row for row in rows if not row["fee"] and row["kind"] != _FEE),
        key=lambda row: ((row["direction"], row["amount"]) not in like, row["direction"] == "out"),
    )
    fees: dict[int, int] = {}
    for line in sorted(rows, key=lambda line: (line["kind"] != _FEE, abs(line["amount"] - fee_there))):
        is_fee, movement = line["kind"] == _FEE, (line["direction"], line["amount"])
        equal[movement] -= 1
        may_be = line["kind"] in _MAY_BE_FEE and line["direction"] == "out" and line["amount"]
        if equal[movement] >= 0 or not may_be or line["fee"] or line["refers"] or line["place"] in fees:
            continue
        for row in payments:
            most = row["amount"] if is_fee else fee_there * _MOST_OF_FEE or row["amount"] // _LEAST_PAYMENT
            fits = line["amount"] <= min(most, row["amount"] - 1) and row["place"] not in {*fees, *fees.values()}
            if fits and all(row[name] == line[name] for name in ("key", "day", "currency")):
                fees[row["place"]] = line["place"]
                break
    return fees


def has_parts(pairs: pa.Table) -> pa.ChunkedArray:
    """True for each pair with a payment whose fee is a line of its own."""
    return pc.or_(*(pc.is_valid(pairs[f"{prefix}parts"]) for prefix in PREFIX.values()))


def parts_of(row: Mapping[str, Any], prefix: str = "") -> list[dict[str, Any]]:
    """The lines (columns OF_SIDE) of a row, or of one side of a pair; empty if the pair lacks that side.

    `prefix` is that of the side's columns in a pair, `l_` or `s_`, and empty for a row.
    """
    if row[f"{prefix}parts"] is not None:
        lines: list[dict[str, Any]] = json.loads(row[f"{prefix}parts"])
        return lines
    return [] if row[f"{prefix}no"] is None else [{name: row.get(f"{prefix}{name}") for name in OF_SIDE}]


def _lines_agreed(pairs: pa.Table) -> pa.Table:
    """The lines (columns SPECIAL) of pairs (columns _PAIR) that agree and have a fee on a line of its own."""
    is_agreed = pc.fill_null(pc.equal(pairs["code"], TOLERATED), fill_value=True)
    lines = []
    for pair in pairs.filter(pc.and_(is_agreed, has_parts(pairs))).to_pylist():
        ours, theirs = (parts_of(pair, prefix) for prefix in PREFIX.values())
        of_pair = {"account": pair["account"], "g": pair["g"], "pair": "", "agrees": True, "told_again": False}
        of_pair |= {"l_n": len(ours), "n": len(ours + theirs)}
        lines += [{**line, **of_pair, "side": LEDGER} for line in ours]
        lines += [{**line, **of_pair, "side": STATEMENT} for line in theirs]
    return pa.Table.from_pylist(lines, arrow_schema(SPECIAL))


def _compared(rows: Mapping[str, Frame], allowed: Allowed, on: Sequence[str], **more: str) -> Frame:
    """SQL for pairs (columns COMPARED, with their code) of rows that agree in the columns `on`, and for lone rows.

    A row without a partner has null in the columns of the missing side. `more` has the SQL of further columns.
    """
    ours, theirs = (
        conform(rows[side], names := [f"{prefix}{name}" for name in (*on, *NARROW[side])],
                **{name: f'"{name.removeprefix(prefix)}"' for name in names})
        for side, prefix in PREFIX.items()
    )  # fmt: skip
    agree = " and ".join(f"l_{name} = s_{name}" for name in on)
    joined = f"(select * from {ours} l full join {theirs} s on {agree})"
    named = {name: f"coalesce(l_{name}, s_{name})" for name in on} | more
    shape = {name: kind for name, kind in COMPARED.items() if name != "code"}
    return conform(conform(joined, shape, **named), COMPARED, code=code_of(allowed))


def _within(rows: Frame, allowed: Allowed) -> Frame:
    """SQL for the pairs (columns COMPARED) of the `rows` of special groups; the two rows of a pair have one `pair`."""
    sides = {side: f"(select * from {rows} where side = '{side}')" for side in SIDES}
    return _compared(sides, allowed, (*GROUP, "pair"))


def code_of(allowed: Allowed) -> str:
    """SQL for the code of a pair; null if its rows agree and their days are near enough.

    Null also for a single row that moved no money. The code is TOLERATED if amounts or fees differ by no more than
    `allowed` permits.
    """
    fields = {
        codes.CURRENCY_MISMATCH: "l_currency <> s_currency",
        "status_mismatch": f"(l_status = '{COMPLETED}') <> (s_status = '{COMPLETED}')",
        "direction_mismatch": "l_direction <> s_direction",
        "amount_mismatch": f"abs(l_amount - s_amount) > {allowed.amount_minor}",
        "fee_mismatch": f"abs(l_fee - s_fee) > {allowed.fee_minor}",
        "date_mismatch": f"abs(l_day - s_day) > {allowed.days}",
        codes.LATE_SUCCESS: "l_state = 'in_suspense'",
    }
    if allowed.amount_minor or allowed.fee_minor:
        fields[TOLERATED] = "l_signed <> s_signed"
    tried = " ".join(f"when {differs} then '{name}'" for name, differs in fields.items())
    one_sided = f"case when coalesce(l_status, s_status) = '{COMPLETED}' then '{ONE_SIDED}' end"
    return f"case when not ({BOTH_SIDES}) then {one_sided} {tried} end"


def with_codes(engine: SqlEngine, pairs: pa.Table, shape: Columns, allowed: Allowed) -> pa.Table:
    """The pairs with the columns `shape`; the engine works out the column `code`."""
    if not len(pairs):
        return arrow_schema(shape).empty_table()
    stored = {name: kind for name, kind in shape.items() if name != "code"}
    return engine.table(conform(engine.arrow(pairs, stored), shape, code=code_of(allowed)), shape)


def special_of(
    engine: SqlEngine, rows: Frame, *, overlaps: bool, ends: Mapping[str, int], respelt: bool = False
) -> Frame:
    """SQL for the rows of special groups (see _marked) with the columns SPECIAL.

    `rows` has the columns of ROW, and `batches`: how many rows of the group have a batch. With `overlaps`, lines that
    another file repeats or an earlier run settled are marked as `told_again`. With `respelt`, a group may have several
    spellings of a key, and rows with the same spelling are paired first. Unpaired ledger rows dated after their
    account's closing date in `ends` agree only together with a statement row, and only if the other rows of the group
    do not agree without them.
    """
    shape = {name: SPECIAL[name] for name in (*ROW, "batches", "ends", "fresh", "pair", "told_again")}
    frame = conform(
        rows, shape, source="coalesce(source, '')", ends="right(phone, 3)", pair="''", told_again="false",
        # An open ledger row after the closing date may be read again, beside a duplicate that was carried.
        fresh=f"case when {_IS_NEW} and side = '{STATEMENT}' then 1 else 0 end",
    )  # fmt: skip
    frame = _told_again(frame, shape) if overlaps else frame
    adds = f"not told_again and (status = '{COMPLETED}' or batches > 0)"
    counted = {"adds": adds} | {f"{prefix}left": f"{adds} and side = '{side}'" for side, prefix in PREFIX.items()}
    shape |= dict.fromkeys(counted, "int64")
    frame = conform(frame, shape, **{name: f"case when {term} then 1 else 0 end" for name, term in counted.items()})
    for by in (("key", *_ALIKE), _ALIKE) if respelt else (_ALIKE,):
        frame = _paired(frame, shape, by)
    counts = {
        "moved": f"cast(sum(adds) over ({_OF_GROUP}) as bigint)",
        "stands": f"cast(sum(adds - l_left - s_left) over ({_OF_GROUP}, side, direction, key) as bigint)",
        "later": f"case when l_left > 0 and ({dated(engine, ends, '>')}) then 1 else 0 end",
        "part": "0",
    }
    shape |= dict.fromkeys(counts, "int64")
    frame = conform(frame, shape, **counts)
    if ends:
        of_period = _summed(frame, shape, "later")
        is_settled = f"max(case when agrees and later = 0 then 1 else 0 end) over ({_OF_GROUP})"
        frame = conform(of_period, shape, part=f"later * {is_settled}")
    return engine.keep(conform(_summed(frame, shape, "part"), SPECIAL))


def _summed(rows: Frame, shape: Columns, part: str) -> Frame:
    """SQL for the rows with the numbers and sums of the unpaired rows of their part of the group, and with `agrees`.

    Rows of a group that are equal in the column `part` are one part. Its unpaired rows agree if both sides have the
    same sum in one currency; without a statement row, they must not include a ledger row of the next period (`later`).
    """
    over = f"over ({_OF_GROUP}, {part})"
    terms = {
        "n": "l_left + s_left", "l_n": "l_left", "l_sum": "l_left * signed", "s_sum": "s_left * signed",
        "l_later": "later",
    }  # fmt: skip
    windows = {name: f"cast(sum({term}) {over} as bigint)" for name, term in terms.items()}
    currency = "case when l_left + s_left > 0 then currency end"
    windows |= {name: f"{name}({currency}) {over}" for name in ("min", "max")}
    whole = {**shape, **dict.fromkeys(windows, "int64")}
    several = "(n > 1 and not (l_n = 1 and n - l_n = 1) or batches > 0) and (l_later = 0 or n > l_n)"
    agrees = f'l_left + s_left > 0 and {several} and l_sum = s_sum and "min" = "max"'
    return conform(conform(rows, whole, **windows), {**whole, "agrees": "bool"}, agrees=agrees)


def _split_repeated(engine: SqlEngine, invalid: Frame, told_again: Frame) -> tuple[Frame, Frame]:
    """Splits unusable statement rows into those that count (columns ROW) and repeated lines (columns SPECIAL).

    _told_again finds the repeated lines, which do not count; here their other contents (_CONTENTS) must agree too. A
    row with neither key nor date always counts. A row with neither key nor balance counts too, unless an earlier run
    left it open, or its file overlaps another: the file repeats a row with a key or balance, or has one of the usable
    repeated rows, whose files are `told_again` (columns _FILE).
    """
    numbers = dict.fromkeys((name for name, kind in SPECIAL.items() if kind == "int64" and name not in ROW), "0")
    numbers |= {"fresh": f"case when {_IS_NEW} then 1 else 0 end"}
    unmarked = conform(
        invalid, SPECIAL, pair="''", told_again="false", agrees="false", ends="right(phone, 3)", **numbers
    )
    marked = engine.keep(_told_again(unmarked, SPECIAL, f", {column_list(_CONTENTS)}"))
    is_known = "told_again and coalesce(key, cast(balance_minor as string)) is not null"
    files = f"(select distinct *, true as repeats from {both(told_again, conform(marked, _FILE, is_known))})"
    joined = f"(select x.*, y.repeats from {marked} x left join {files} y on {equality(_FILE)})"
    was_open = f'min(fresh) over ({_OF_GROUP}, key, currency, "day", signed, {column_list(_CONTENTS)}) = 0'
    joined = engine.keep(f"(select *, {was_open} as was_open from {joined})")
    is_sure = f"coalesce(repeats, was_open or {_SETTLED} or coalesce(key, cast(balance_minor as string)) is not null)"
    repeated = f"told_again and {is_sure} and coalesce(key, cast(day as string)) is not null"
    return conform(joined, ROW, f"not ({repeated})"), conform(joined, SPECIAL, repeated)


def _told_again(rows: Frame, shape: Columns, contents: str = "") -> Frame:
    """SQL that marks lines as `told_again` if another file repeats them or an earlier run settled them.

    Such lines do not count in the group. The same line in two files is one movement. If one file has a line twice and
    another three times, three count. Rows that were carried forward count as one file. A line that an earlier run
    settled does not repeat an open row. `contents` is SQL for further columns in which repeated lines agree.
    """
    line = f'{_OF_GROUP}, side, key, currency, "day", signed, {_SETTLED}{contents}'
    file = f"case when {_IS_NEW} then source else '' end"
    whole = {**shape, "copy": "int64"}
    copies = conform(rows, whole, copy=f"row_number() over ({line}, fresh, {file} order by {_IN_ORDER})")
    nth = f"row_number() over ({line}, copy order by {_IN_ORDER})"
    marked = conform(copies, shape, told_again=f"side = '{STATEMENT}' and {nth} > 1 or {_SETTLED}")
    named = "case when batch is not null and not told_again then 1 else 0 end"
    return conform(marked, shape, batches=f"cast(sum({named}) over ({_OF_GROUP}) as bigint)")


def _paired(rows: Frame, shape: Columns, by: tuple[str, ...]) -> Frame:
    """SQL that gives one `pair` to the n-th row of each side, among unpaired completed rows with equal columns `by`."""
    within = f"{_OF_GROUP}, {column_list(by)}"
    sums = [f"cast(sum({name}) over ({within}) as bigint)" for name in ("l_left", "s_left")]
    # The ledger's rows come first, so that one order does for both sides.
    order = f"order by side, {_IN_ORDER} rows unbounded preceding"
    nth = f"cast(sum(l_left + s_left) over ({within} {order}) as bigint)"
    counts = dict(zip(("ours", "theirs", "nth"), (*sums, nth), strict=True))
    counted = conform(rows, {**shape, **dict.fromkeys(counts, "int64")}, **counts)
    nth = "(nth - s_left * ours)"
    is_met = f"l_left + s_left > 0 and batches = 0 and {nth} <= least(ours, theirs)"
    name = " || ' ' || ".join(f"cast({column} as string)" for column in (*by, nth))
    paired = {"pair": f"case when {is_met} then {name} else pair end"}
    return conform(counted, shape, **paired, **{
        column: f"case when {is_met} then 0 else {column} end" for column in ("l_left", "s_left")
    })  # fmt: skip


def firsts(members: pa.Table) -> pa.ChunkedArray:
    """A mask of `members`: True for the first row of each side of each group, in the order of the columns _TIES."""
    keys, order = [*GROUP, "side"], _order(members)
    ordered = members.select(keys).take(order).append_column("at", order)
    first = ordered.group_by(keys, use_threads=False).aggregate([("at", "first")])["at_first"]
    return pc.is_in(pa.array(range(len(members)), order.type), first)


def _order(rows: pa.Table) -> pa.Array:
    """The indices of rows in the order of the columns _TIES; the engines sort in the same order."""
    return pc.sort_indices(rows, [(name, "ascending", "at_start") for name in _TIES])


def respelt(groups: pa.Table) -> pa.Table:
    """The groups (`account` and `g`) whose keys differ only in spelling; `name` is their common bare key.

    `groups` has only groups that disagree: in all others, both sides spell the key in the same way.
    """
    once = groups.select(GROUP).group_by(GROUP).aggregate([])
    named = once.append_column("name", pa.array([bare_key(key) for key in once["g"].to_pylist()], pa.string()))
    several = named.group_by(["account", "name"]).aggregate([("g", "count")])
    several = several.filter(pc.greater(several["g_count"], 1)).select(["account", "name"])
    return named.join(several, ["account", "name"], join_type="left semi")


def _names_of_lone(engine: SqlEngine, groups: pa.Table, everything: Frame, ends: Mapping[str, int]) -> pa.Table:
    """Selects the `groups` that only one side has, and whose keys differ only in spelling: see `respelt`.

    A key that both sides have in one spelling is no other key. A key that only the ledger has, after its account's
    closing date in `ends`, waits for the next period. `everything` has all rows of both sides.
    """
    names, shape = respelt(groups), {name: ROW[name] for name in GROUP}
    if not len(names):
        return names
    rows = among(everything, engine.arrow(names.select(GROUP), shape), GROUP)
    is_due = f"case when side = '{LEDGER}' and ({dated(engine, ends, '>')}) then 0 else 1 end"
    lone = f"(select account, g from {rows} group by account, g having min(side) = max(side) and max({is_due}) = 1)"
    return respelt(engine.table(lone, shape))


_UNSEEN = "[\\s\u00a0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]"
"""A pattern for white space that matches the same characters in every engine."""


def bare_key(key: str) -> str:
    """A key in lower case, without white space and leading zeros: keys that differ only in these are one key.

    A key that consists of zeros keeps one zero.
    """
    written = re.sub(_UNSEEN, "", key).lower()
    return written.lstrip("0") or written[:1]


def bare_key_in_sql(engine: SqlEngine, key: str) -> str:
    """SQL that applies `bare_key` to the SQL expression `key`."""
    written = f"lower({engine.WITHOUT.format(key, engine.text(_UNSEEN))})"
    nonzero = engine.WITHOUT.format(written, engine.text("^0+"))
    return f"coalesce(nullif({nonzero}, ''), left({written}, 1))"


def nearest(opened: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Pairs the open rows of groups without a batch (columns _OPEN_ROW); returns the pairs, and the duplicates.

    A pair has the columns of the ledger row as `l_…` and of the statement row as `s_…`; one of the rows may be missing.
    A duplicate has no partner, while another row of its side has the same key and direction. A row in the other
    direction (a refund or a charge), or with another spelling of the key, is no duplicate.
    """
    ordered = opened.take(_order(opened))
    rows = ordered.select([*GROUP, "side", "key", *_ALIKE, "status", "was", "stands", "moved"]).to_pylist()
    moves = [row["status"] == COMPLETED for row in rows]
    groups = [tuple(row[name] for name in GROUP) for row in rows]
    free, pairs = sorted(range(len(rows)), key=lambda place: not moves[place]), []
    # Rows that did not move are paired first to first only in groups without an equal pair.
    moved = Counter(group for group, is_moving in zip(groups, moves, strict=True) if is_moving)
    unpaired_groups = {group for group, row in zip(groups, rows, strict=True) if row["moved"] == moved[group]}
    stands = Counter[tuple[object, ...]]()
    for by, only_moved, only_firsts in _NEAREST:
        alike: defaultdict[tuple[object, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place in free:
            is_first = groups[place] in unpaired_groups or (moves[place] and not _is_duplicate(rows[place], stands))
            if (moves[place] or not only_moved) and (is_first or not only_firsts):
                fields = (*groups[place], *(rows[place][name] for name in by))
                alike[fields][rows[place]["side"] == STATEMENT].append(place)
        last = 1 if only_firsts else None
        new = [pair for sides in alike.values() for pair in zip(*(places[:last] for places in sides), strict=False)]
        pairs += new
        paired = set(chain(*new))
        free = [place for place in free if place not in paired]
        unpaired_groups -= {groups[place] for place in paired}
        stands.update(_duplicate_key(rows[place]) for place in paired)
    duplicates, single = [], []
    for place in sorted(free):
        row = rows[place]
        if moves[place] and _is_duplicate(row, stands):
            duplicates.append(place)
        else:
            single.append((None, place) if row["side"] == STATEMENT else (place, None))
        stands[_duplicate_key(row)] += 1
    return _side_by_side(ordered, [*pairs, *single]), ordered.take(pa.array(duplicates, pa.int64()))


def _is_duplicate(row: dict[str, object], stands: Counter[tuple[object, ...]]) -> bool:
    """True if a row with the same side, key, direction and status is already paired, or counted in `stands`.

    Also true if an earlier run carried the row forward as a duplicate. `stands` counts rows by _duplicate_key.
    """
    return bool(row["stands"] or stands[_duplicate_key(row)] or row["was"] in codes.DUPLICATE.values())


def _duplicate_key(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in (*GROUP, "side", "key", "direction", "status"))


def _side_by_side(rows: pa.Table, pairs: Sequence[tuple[int | None, ...]]) -> pa.Table:
    """A table with one pair in each row; `pair` numbers the pairs of a group from 1.

    `pairs` has, for each pair, the indices in `rows` of its ledger row and its statement row; None for a missing row.
    """
    columns: dict[str, pa.ChunkedArray] = {}
    for place, prefix in enumerate(("l_", "s_")):
        mine = rows.take(pa.array([pair[place] for pair in pairs], pa.int64()))
        columns |= {f"{prefix}{name}": mine[name] for name in rows.column_names}
    columns |= {name: pc.coalesce(columns[f"l_{name}"], columns[f"s_{name}"]) for name in GROUP}
    numbers: dict[tuple[object, ...], Iterator[int]] = defaultdict(partial(count, 1))
    groups = zip(*(columns[name].to_pylist() for name in GROUP), strict=True)
    return pa.table({**columns, "pair": pa.array([str(next(numbers[group])) for group in groups], pa.string())})
