"""Rules 1 to 5, in the order of the facts, over the rows of both sides: every row lands in exactly one class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine, apart, arrow_schema, both, conform, listed, same
from workbench.analysis.reconcile.rules import (
    GROUP,
    LEDGER,
    OF_SIDE,
    ONE_SIDED,
    PREFIX,
    ROW,
    SIDES,
    STATEMENT,
    TOLERATED,
    Allowed,
    Frame,
    Shape,
)
from workbench.analysis.reconcile.within import SPECIAL, nearest, respelt, special_of
from workbench.analysis.shapes import COMPLETED

_LEFT_OUT = {LEDGER: {"batch", "problem", "source"}, STATEMENT: {"batch", "problem", "entry", "state"}}
NARROW = {side: [name for name in OF_SIDE if name not in names] for side, names in _LEFT_OUT.items()}
"""The columns that go through the great join."""
_PAIRED: Shape = {**ROW, "pair": nw.String}
_MARK: Shape = {"account": nw.Int64, "g": nw.String, "rows": nw.Int64, "batches": nw.Int64}
COMPARED: Shape = {"account": nw.Int64, "g": nw.String, "pair": nw.String, "code": nw.String} | {
    f"{prefix}{name}": ROW[name] for side, prefix in PREFIX.items() for name in NARROW[side]
}
"""Two rows that were compared, or one row without a partner."""


@dataclass(frozen=True)
class Classified:
    """The rows after rules 1 to 5.

    `compared` has every pair that the engine compared, and `special` the rows of the special groups. Here are `left`,
    those that were compared here, `opened`, every pair that has a code, and `members`, the rows of special groups that
    are open as such. `bad` has the rows that cannot be used, of sides that have any.
    """

    compared: Frame
    special: Frame
    left: pa.Table
    opened: pa.Table
    members: pa.Table
    bad: list[Frame]

    def agreed(self, engine: Engine) -> Frame:
        """Every pair that agrees, if only within the tolerance."""
        pairs = both(self.compared, engine.arrow(self.left, COMPARED))
        return f"(select * from {pairs} where code is null or code = '{TOLERATED}')"


def classify(
    engine: Engine,
    rows: Mapping[str, Frame],
    bad: Mapping[str, int],
    allowed: Allowed,
    *,
    carried: bool,
    overlaps: bool,
) -> Classified:
    """Run rules 1 to 5 over the rows of both sides; rule 6 goes on from what is open (`pairs`).

    `bad` is how many rows of each side cannot be used, `carried` whether there are rows of an earlier run, and
    `overlaps` whether a line may stand in two files: where there are none, none are looked for.
    """
    good = {side: conform(frame, ROW, "not bad") if bad[side] else frame for side, frame in rows.items()}
    marked = engine.keep(_marked(good.values(), carried=carried))
    everything = both(*good.values())
    plain = {side: apart(frame, marked, GROUP) for side, frame in good.items()}
    great = _compared(plain, allowed, GROUP, pair="''")
    # Most pairs agree: all columns are read of the others alone, and of special groups.
    inside = both(marked, conform(great, _MARK, "code is not null", rows="0", batches="0"))
    inside = engine.keep(f"(select x.*, y.rows, y.batches from {everything} x join {inside} y on {same(GROUP)})")
    single = conform(inside, _PAIRED, "rows = 0", pair="''")
    special = engine.arrow(arrow_schema(SPECIAL).empty_table(), SPECIAL)
    left, further = arrow_schema(COMPARED).empty_table(), arrow_schema(SPECIAL).empty_table()
    # Most ledgers have no special group: the rules for them are the longest.
    if len(engine.table(f"(select rows from {marked} limit 1)", {"rows": nw.Int64})):
        special = special_of(engine, f"(select * from {inside} where rows > 0)", overlaps=overlaps)
        left, further = _members(engine, special, allowed)
        single = both(single, _alike(special))
    near = _within(single, allowed)
    opened, compared = _opened(engine, near), both(conform(great, COMPARED, "code is null"), near)
    broken = [part.select(GROUP) for part in (_differing(opened), _differing(left), further)]
    names = respelt(pa.concat_tables([*broken, *(_known(engine, everything) if carried else [])]))
    if len(names):
        here = engine.keep(engine.arrow(names, {"account": nw.Int64, "g": nw.String, "name": nw.String}))
        named = conform(f"(select x.*, y.name from {everything} x join {here} y on {same(GROUP)})", ROW, g="name")
        named = f"(select *, count(batch) over (partition by account, g) as batches from {named})"
        again = special_of(engine, named, overlaps=overlaps, respelt=True)
        pairs = _within(_alike(again), allowed)
        more = _opened(engine, pairs), *_members(engine, again, allowed)
        compared, special = (
            both(apart(frame, here, GROUP), other) for frame, other in ((compared, pairs), (special, again))
        )
        opened, left, further = (
            pa.concat_tables([table.join(names, GROUP, join_type="left anti"), other])
            for table, other in zip((opened, left, further), more, strict=True)
        )
    opened = pa.concat_tables([opened, left.filter(pc.is_valid(left["code"]))])
    return Classified(compared, special, left, opened, further, [conform(rows[s], ROW, "bad") for s in rows if bad[s]])


def _known(engine: Engine, rows: Frame) -> list[pa.Table]:
    """The groups of nothing but open rows of an earlier run, which did not agree then, and do not by being fewer."""
    opened = f"count(*) = count(case when was is not null and was <> '{codes.MATCHED}' then 1 end)"
    groups = f"(select account, g from {rows} group by account, g having {opened})"
    return [engine.table(groups, {name: ROW[name] for name in GROUP})]


def _marked(rows: Iterable[Frame], *, carried: bool) -> Frame:
    """The groups that have several rows on a side, or a batch, or what an earlier run knew to be told again.

    Of each it is known how many of its rows have a batch, and of the sides that mark it how many there are.
    """
    # Each side by itself: over both the great aggregation takes a third longer.
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


def _alike(special: Frame) -> Frame:
    """The rows of special groups that have an equal row on the other side."""
    return conform(special, _PAIRED, "pair <> ''")


def _members(engine: Engine, special: Frame, allowed: Allowed) -> tuple[pa.Table, pa.Table]:
    """Splits the other rows of special groups that do not add up: pairs that are compared, and the rest.

    The rest are duplicates, and the rows of groups with a batch.
    """
    rows = engine.table(f"(select * from {special} where not (told_again or agrees or pair <> ''))", SPECIAL)
    batched = pc.greater(rows["batches"], 0)
    pairs, further = nearest(rows.filter(pc.invert(batched)))
    return coded_here(engine, pairs, COMPARED, allowed), pa.concat_tables([rows.filter(batched), further])


def _differing(pairs: pa.Table) -> pa.Table:
    """The pairs with a code that is a break's."""
    return pairs.filter(pc.not_equal(pairs["code"], TOLERATED))


def _opened(engine: Engine, compared: Frame) -> pa.Table:
    return engine.table(f"(select * from {compared} where code is not null)", COMPARED)


LINE = ["account", "source", "no", "g", "signed"]
"""Columns that tell statement lines apart, even in a table without line numbers."""


def settled_lines(engine: Engine, classified: Classified) -> Frame:
    """The lines that agree with the ledger, or stand twice: the columns LINE, and how many `lines` each is."""
    shape = {name: ROW[name] for name in LINE}
    of_pair = {"source": "s_source", "no": "s_no", "g": "s_key", "signed": "s_signed"}
    pairs = conform(classified.agreed(engine), shape, BOTH_SIDES, **of_pair)
    told = f"side = '{STATEMENT}' and (agrees or told_again)"
    lines = both(pairs, conform(classified.special, shape, told, g="coalesce(batch, key)"))
    return f"(select {listed(LINE)}, count(*) as lines from {lines} group by {listed(LINE)})"


def _compared(rows: Mapping[str, Frame], allowed: Allowed, on: Sequence[str], **more: str) -> Frame:
    """Rules 4 and 5: one row and one row, of both sides."""
    ours, theirs = (
        conform(rows[side], dict.fromkeys(names := [f"{prefix}{name}" for name in (*on, *NARROW[side])]),
                **{name: f'"{name.removeprefix(prefix)}"' for name in names})
        for side, prefix in PREFIX.items()
    )  # fmt: skip
    agree = " and ".join(f"l_{name} = s_{name}" for name in on)
    joined = f"(select * from {ours} l full join {theirs} s on {agree})"
    named = {name: f"coalesce(l_{name}, s_{name})" for name in on} | more
    shape = {name: kind for name, kind in COMPARED.items() if name != "code"}
    return conform(conform(joined, shape, **named), COMPARED, code=code_of(allowed))


def _within(rows: Frame, allowed: Allowed) -> Frame:
    """Rules 4 and 5 for rows of special groups, by their `pair`."""
    sides = {side: f"(select * from {rows} where side = '{side}')" for side in SIDES}
    return _compared(sides, allowed, (*GROUP, "pair"))


BOTH_SIDES: Final = "l_amount is not null and s_amount is not null"
"""True for a pair that has a row on each side."""


def code_of(allowed: Allowed) -> str:
    """The code of a pair: null where it agrees to the ngwee, or nothing moved."""
    fields = {
        "currency_mismatch": "l_currency <> s_currency",
        "status_mismatch": f"(l_status = '{COMPLETED}') <> (s_status = '{COMPLETED}')",
        "direction_mismatch": "l_direction <> s_direction",
        "amount_mismatch": f"abs(l_amount - s_amount) > {allowed.amount_minor}",
        "fee_mismatch": f"abs(l_fee - s_fee) > {allowed.fee_minor}",
        "date_mismatch": f"abs(l_day - s_day) > {allowed.days_of_account}",
        codes.LATE_SUCCESS: "l_state = 'in_suspense'",
    }
    if allowed.amount_minor or allowed.fee_minor:
        fields[TOLERATED] = "l_signed <> s_signed"
    tried = " ".join(f"when {differs} then '{name}'" for name, differs in fields.items())
    alone = f"case when coalesce(l_status, s_status) = '{COMPLETED}' then '{ONE_SIDED}' end"
    return f"case when not ({BOTH_SIDES}) then {alone} {tried} end"


def coded_here(engine: Engine, pairs: pa.Table, shape: Shape, allowed: Allowed) -> pa.Table:
    """Pairs that were made here, with their codes, in this shape."""
    if not len(pairs):
        return arrow_schema(shape).empty_table()
    given = {name: kind for name, kind in shape.items() if name != "code"}
    return engine.table(conform(engine.arrow(pairs, given), shape, code=code_of(allowed)), shape)
