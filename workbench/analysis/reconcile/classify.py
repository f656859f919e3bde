"""Rules 1 to 5, in the order of the facts, over the rows of both sides: every row lands in exactly one class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine, arrow_schema
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
from workbench.analysis.reconcile.within import SPECIAL, nearest, respelt, settled, special_of
from workbench.analysis.shapes import COMPLETED

Both = TypeVar("Both", nw.LazyFrame[Any], nw.DataFrame[Any])

_LEFT_OUT = {LEDGER: {"batch", "problem", "source"}, STATEMENT: {"batch", "problem", "entry", "state"}}
NARROW = {side: [name for name in OF_SIDE if name not in names] for side, names in _LEFT_OUT.items()}
"""What goes through the great join."""
_PAIRED = (*ROW, "pair")
_MARK: Shape = {"account": nw.Int64, "g": nw.String, "rows": nw.Int64, "batches": nw.Int64}
COMPARED: Shape = {"account": nw.Int64, "g": nw.String, "pair": nw.String, "code": nw.String} | {
    f"{prefix}{name}": ROW[name] for side, prefix in PREFIX.items() for name in NARROW[side]
}
"""What is said of two rows that were compared, or of one that had no other."""


@dataclass(frozen=True)
class Classified:
    """What the rules made of the rows.

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
        both = nw.concat([self.compared, engine.arrow(self.left, COMPARED)])
        return both.filter(nw.col("code").is_null() | (nw.col("code") == TOLERATED))


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
    good = {side: each.filter(~nw.col("bad")) if bad[side] else each for side, each in rows.items()}
    marked = engine.keep(_marked(engine, good.values(), carried=carried))
    everything = nw.concat(list(good.values()))
    plain = {side: each.join(marked, on=GROUP, how="anti") for side, each in good.items()}
    great = _compared(plain, allowed, GROUP, pair=nw.lit(""))
    # Most pairs agree: all columns are read of the others alone, and of special groups.
    none = {"rows": nw.lit(0), "batches": nw.lit(0)}
    differing = engine.keep(engine.conform(great.filter(~nw.col("code").is_null()), _MARK, **none))
    inside = engine.keep(everything.join(nw.concat([marked, differing]), on=GROUP, how="inner"))
    several, single = (inside.filter(each) for each in (nw.col("rows") > 0, nw.col("rows") == 0))
    # Most ledgers have no special group: the rules for them are the longest of all texts of a query.
    special = engine.arrow(arrow_schema(SPECIAL).empty_table(), SPECIAL)
    if engine.has_rows(several):
        special = special_of(engine, several, overlaps=overlaps)
    paired = single.with_columns(pair=nw.lit("")).select(*_PAIRED)
    near = _compared_within(nw.concat([paired, _alike(special)]), allowed)
    compared = great.filter(nw.col("code").is_null())
    left, further = _members(engine, special, allowed)
    opened, compared = _opened(engine, near), nw.concat([compared, near])
    broken = [each.select(GROUP) for each in (_differing(opened), _differing(left), further)]
    names = respelt(pa.concat_tables([*broken, *(_known(engine, everything) if carried else [])]))
    if len(names):
        here = engine.keep(engine.arrow(names, {"account": nw.Int64, "g": nw.String, "name": nw.String}))
        named = everything.join(here, on=GROUP, how="inner").with_columns(g=nw.col("name")).select(*ROW)
        named = named.with_columns(batches=nw.col("batch").count().over(*GROUP))
        again = special_of(engine, named, overlaps=overlaps, respelt=True)
        pairs = _compared_within(_alike(again), allowed)
        more = _opened(engine, pairs), *_members(engine, again, allowed)
        compared, special = (
            nw.concat([each.join(here, on=GROUP, how="anti"), other])
            for each, other in ((compared, pairs), (special, again))
        )
        opened, left, further = (
            pa.concat_tables([each.join(names, GROUP, join_type="left anti"), other])
            for each, other in zip((opened, left, further), more, strict=True)
        )
    opened = pa.concat_tables([opened, left.filter(pc.is_valid(left["code"]))])
    return Classified(compared, special, left, opened, further, [rows[s].filter(nw.col("bad")) for s in rows if bad[s]])


def _known(engine: Engine, rows: Frame) -> list[pa.Table]:
    """The groups of nothing but open rows of an earlier run, which did not agree then, and do not by being fewer."""
    opened = rows.filter(~nw.col("was").is_null() & ~settled()).group_by(*GROUP).agg(opened=nw.len())
    counted = rows.group_by(*GROUP).agg(rows=nw.len()).join(opened, on=GROUP, how="inner")
    shape = {name: ROW[name] for name in GROUP}
    return [engine.table(counted.filter(nw.col("rows") == nw.col("opened")), shape)]


def _marked(engine: Engine, rows: Iterable[Frame], *, carried: bool) -> Frame:
    """The groups that have several rows on a side, or a batch, or what an earlier run knew to be told again.

    Of each it is known how many of its rows have a batch, and of the sides that mark it how many there are.
    """
    was = nw.col("was")
    known = settled() | reduce(or_, [(was == code).fill_null(value=False) for code in codes.DUPLICATE.values()])
    known |= ~was.is_null() & (nw.col("status") != COMPLETED)
    made = {"rows": nw.lit(1), "batches": nw.lit(0)}
    marks = [engine.conform(side.filter(known), _MARK, **made) for side in rows] if carried else []
    for side in rows:
        # Each side by itself: over both the great aggregation takes a third longer.
        counted = side.group_by(*GROUP).agg(rows=nw.len(), batches=nw.col("batch").count())
        marks.append(engine.conform(counted.filter((nw.col("rows") > 1) | (nw.col("batches") > 0)), _MARK))
    sums = {name: nw.col(name).sum() for name in ("rows", "batches")}
    return engine.conform(nw.concat(marks).group_by(*GROUP).agg(**sums), _MARK)


def _alike(special: Frame) -> Frame:
    """What of special groups has a row that is alike on the other side."""
    return special.filter(nw.col("pair") != "").select(*_PAIRED)


def _members(engine: Engine, special: Frame, allowed: Allowed) -> tuple[pa.Table, pa.Table]:
    """What of special groups has no like on the other side and adds up to nothing: what is compared, and the rest.

    The rest are duplicates, and the rows of groups with a batch.
    """
    is_done = nw.col("told_again") | nw.col("agrees") | (nw.col("pair") != "")
    rows = engine.table(special.filter(~is_done), SPECIAL)
    batched = pc.greater(rows["batches"], 0)
    both, further = nearest(rows.filter(pc.invert(batched)))
    left = coded(nw.from_native(both), allowed).to_native().select(list(COMPARED)).cast(arrow_schema(COMPARED))
    return left, pa.concat_tables([rows.filter(batched), further])


def _differing(pairs: pa.Table) -> pa.Table:
    """The pairs with a code that is a break's."""
    return pairs.filter(pc.not_equal(pairs["code"], TOLERATED))


def _opened(engine: Engine, compared: Frame) -> pa.Table:
    return engine.table(compared.filter(~nw.col("code").is_null()), COMPARED)


LINE = ["account", "source", "no", "g", "signed"]
"""What tells the lines of statements apart, where some table has no numbers for them."""


def settled_lines(engine: Engine, classified: Classified) -> Frame:
    """The lines that agree with the ledger, or stand twice: the columns LINE, and how many `lines` each is."""
    agreed = classified.agreed(engine).filter(both_sides())
    pairs = agreed.select("account", source="s_source", no="s_no", g="s_key", signed="s_signed")
    groups = classified.special.filter((nw.col("side") == STATEMENT) & (nw.col("agrees") | nw.col("told_again")))
    named = groups.with_columns(g=nw.coalesce("batch", "key"))
    return nw.concat([each.select(*LINE) for each in (pairs, named)]).group_by(*LINE).agg(lines=nw.len())


def _compared(rows: Mapping[str, Frame], allowed: Allowed, on: Sequence[str], **more: nw.Expr) -> Frame:
    """Rules 4 and 5: one row and one row, of both sides."""
    sides = [
        rows[side].select(*(nw.col(name).alias(f"{prefix}{name}") for name in (*on, *NARROW[side])))
        for side, prefix in PREFIX.items()
    ]
    ours, theirs = ([f"{prefix}{name}" for name in on] for prefix in PREFIX.values())
    joined = sides[0].join(sides[1], left_on=ours, right_on=theirs, how="full")
    named = {name: nw.coalesce(*both) for name, *both in zip(on, ours, theirs, strict=True)}
    return coded(joined, allowed, **named, **more).select(*COMPARED)


def _compared_within(rows: Frame, allowed: Allowed) -> Frame:
    """The same for rows of special groups, by the pair that they are of."""
    return _compared({side: rows.filter(nw.col("side") == side) for side in SIDES}, allowed, (*GROUP, "pair"))


def coded(joined: Both, allowed: Allowed, **more: nw.Expr) -> Both:
    """The pairs with a `code`: null where they agree to the ngwee, or nothing moved."""
    account = more.get("account", nw.col("account"))
    moves = {side: (nw.col(f"{prefix}status") == COMPLETED) for side, prefix in PREFIX.items()}
    fields = {
        "currency_mismatch": nw.col("l_currency") != nw.col("s_currency"),
        "status_mismatch": moves[LEDGER] != moves[STATEMENT],
        "direction_mismatch": nw.col("l_direction") != nw.col("s_direction"),
        "amount_mismatch": (nw.col("l_amount") - nw.col("s_amount")).abs() > allowed.amount_minor,
        "fee_mismatch": (nw.col("l_fee") - nw.col("s_fee")).abs() > allowed.fee_minor,
        "date_mismatch": allowed.is_far((nw.col("l_day") - nw.col("s_day")).abs(), account),
        codes.LATE_SUCCESS: nw.col("l_state") == "in_suspense",
    }
    if allowed.amount_minor or allowed.fee_minor:
        fields[TOLERATED] = nw.col("l_signed") != nw.col("s_signed")
    both = both_sides()
    code = nw.when(~both & nw.coalesce(*moves.values())).then(nw.lit(ONE_SIDED))
    for name, differs in fields.items():
        code = code.when(both & differs.fill_null(value=False)).then(nw.lit(name))
    return joined.with_columns(code=code, **more)


def both_sides() -> nw.Expr:
    """True for a pair that has a row on each side."""
    return ~nw.col("l_amount").is_null() & ~nw.col("s_amount").is_null()
