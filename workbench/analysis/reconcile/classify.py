"""Rules 1 to 5, in the order of the facts, over the rows of both sides: every row lands in exactly one class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine, arrow_schema
from workbench.analysis.reconcile.inputs import effect
from workbench.analysis.reconcile.rules import (
    GROUP,
    LEDGER,
    NUMBER,
    ONE_SIDED,
    PREFIX,
    ROW,
    SIDES,
    STATEMENT,
    TEXT,
    TOLERATED,
    WHOLE,
    WORD,
    Frame,
    Shape,
    Tolerance,
)
from workbench.analysis.reconcile.within import SPECIAL, nearest, respelt, settled, special_of
from workbench.analysis.shapes import COMPLETED

Both = TypeVar("Both", nw.LazyFrame[Any], nw.DataFrame[Any])

NARROW: Mapping[str, tuple[str, ...]] = {
    LEDGER: ("key", "no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "phone_hash",
             "entry", "kind", "refers", "state"),
    STATEMENT: ("key", "source", "no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone",
                "phone_hash", "kind", "refers"),
}  # fmt: skip
"""What goes through the great join."""
_ON = [*GROUP, "pair"]
_MARK: Shape = {"account": NUMBER, "g": WORD, "batches": NUMBER}
COMPARED: Shape = {"account": NUMBER, "g": WORD, "pair": WORD, "code": WORD} | {
    f"{prefix}{name}": ROW[name] for side, prefix in PREFIX.items() for name in (*NARROW[side], "signed")
}
"""What is said of two rows that were compared, or of one that had no other."""


@dataclass(frozen=True)
class Classified:
    """What the rules made of the rows.

    `compared` has every pair that the engine compared, and `special` the rows of the special groups. Here are `left`,
    those that were compared of what was left of special groups, `opened`, every pair that has a code, and `members`,
    the rows of special groups that are open as such. `bad` has the rows that cannot be used, of sides that have any.
    """

    compared: Frame
    special: Frame
    left: pa.Table
    opened: pa.Table
    members: pa.Table
    bad: list[Frame]

    def agreed(self, engine: Engine) -> Frame:
        """Every pair that agrees, if only within the tolerance."""
        kinds = {name: TEXT if COMPARED[name] is WORD else WHOLE for name in COMPARED if not name.endswith("_signed")}
        both = nw.concat([each.select(*kinds) for each in (self.compared, engine.arrow(self.left, kinds))])
        return both.filter(nw.col("code").is_null() | (nw.col("code") == TOLERATED))


def classify(
    engine: Engine,
    rows: Mapping[str, Frame],
    bad: Mapping[str, int],
    tolerance: Tolerance,
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
    special = special_of(engine, everything.join(marked, on=GROUP, how="inner"), overlaps=overlaps)
    plain = {side: _narrow(each.join(marked, on=GROUP, how="anti"), side, nw.lit("")) for side, each in good.items()}
    compared = _compared({side: nw.concat([plain[side], _alike(special, side)]) for side in SIDES}, tolerance)
    opened, members = _opened(engine, compared), _members(engine, special)
    is_broken = pc.not_equal(opened["code"], TOLERATED)
    # What did not move is no break, unless it was part of one.
    moves = pc.or_(pc.equal(members["status"], COMPLETED), pc.greater(members["batches"], 0))
    counts = pc.or_(moves, pc.is_valid(members["was"]))
    names = respelt(pa.concat_tables([opened.filter(is_broken).select(GROUP), members.filter(counts).select(GROUP)]))
    if len(names):
        here = engine.keep(engine.arrow(names, {"account": WHOLE, "g": TEXT, "name": TEXT}))
        named = everything.join(here, on=GROUP, how="inner").with_columns(g=nw.col("name")).select(*ROW)
        named = named.with_columns(batches=nw.col("batch").count().over(*GROUP))
        again = special_of(engine, named, overlaps=overlaps, respelt=True)
        pairs = _compared({side: _alike(again, side) for side in SIDES}, tolerance)
        more = _opened(engine, pairs), _members(engine, again)
        compared, special = (
            nw.concat([each.join(here, on=GROUP, how="anti"), other])
            for each, other in ((compared, pairs), (special, again))
        )
        opened, members = (
            pa.concat_tables([each.join(names, GROUP, join_type="left anti"), other])
            for each, other in zip((opened, members), more, strict=True)
        )
    batched = pc.greater(members["batches"], 0)
    both, further = nearest(members.filter(pc.invert(batched)))
    left = _coded(nw.from_native(both), tolerance).to_native().select(list(COMPARED)).cast(arrow_schema(COMPARED))
    opened = pa.concat_tables([opened, left.filter(pc.is_valid(left["code"]))])
    members = pa.concat_tables([members.filter(batched), further])
    return Classified(compared, special, left, opened, members, [rows[s].filter(nw.col("bad")) for s in rows if bad[s]])


def _marked(engine: Engine, rows: Iterable[Frame], *, carried: bool) -> Frame:
    """The groups that have several rows on a side, or a batch, or what an earlier run knew to be told again.

    Of each it is known how many of its rows have a batch.
    """
    was = nw.col("was")
    known = settled() | reduce(or_, [(was == code).fill_null(value=False) for code in codes.DUPLICATE.values()])
    known |= ~was.is_null() & (nw.col("status") != COMPLETED)
    marks = [engine.conform(side.filter(known), _MARK, batches=nw.lit(0)) for side in rows] if carried else []
    for side in rows:
        # Each side by itself: over both the great aggregation takes a third longer.
        counted = side.group_by(*GROUP).agg(rows=nw.len(), batches=nw.col("batch").count())
        marks.append(engine.conform(counted.filter((nw.col("rows") > 1) | (nw.col("batches") > 0)), _MARK))
    return nw.concat(marks).group_by(*GROUP).agg(batches=nw.col("batches").sum())


def _alike(special: Frame, side: str) -> Frame:
    """What of special groups has a row that is alike on the other side."""
    return _narrow(special.filter((nw.col("pair") != "") & (nw.col("side") == side)), side, nw.col("pair"))


def _narrow(rows: Frame, side: str, pair: nw.Expr) -> Frame:
    """What goes through the great join."""
    prefix = PREFIX[side]
    return rows.select(
        *(nw.col(name).alias(f"{prefix}{name}") for name in (*GROUP, *NARROW[side])), pair.alias(f"{prefix}pair")
    )


def _members(engine: Engine, special: Frame) -> pa.Table:
    """What of special groups is left: no row of the other side is alike, and no sums agree."""
    is_done = nw.col("told_again") | nw.col("agrees") | (nw.col("pair") != "")
    return engine.table(special.filter(~is_done), SPECIAL)


def _opened(engine: Engine, compared: Frame) -> pa.Table:
    effects = {f"{prefix}signed": effect_of(side) for side, prefix in PREFIX.items()}
    return engine.table(compared.filter(~nw.col("code").is_null()), COMPARED, **effects)


LINE = ["account", "source", "no", "g", "signed"]
"""What tells the lines of statements apart, where some table has no numbers for them."""


def settled_lines(engine: Engine, classified: Classified) -> Frame:
    """The lines that agree with the ledger, or stand twice: the columns LINE, and how many `lines` each is."""
    agreed = classified.agreed(engine).filter(both_sides())
    pairs = agreed.select("account", source="s_source", no="s_no", g="s_key", signed=effect_of(STATEMENT))
    groups = classified.special.filter((nw.col("side") == STATEMENT) & (nw.col("agrees") | nw.col("told_again")))
    named = groups.with_columns(g=nw.coalesce("batch", "key"))
    return nw.concat([each.select(*LINE) for each in (pairs, named)]).group_by(*LINE).agg(lines=nw.len())


def _compared(rows: Mapping[str, Frame], tolerance: Tolerance) -> Frame:
    """Rules 4 and 5: one row and one row, of both sides."""
    ours, theirs = ([f"{prefix}{name}" for name in _ON] for prefix in PREFIX.values())
    joined = rows[LEDGER].join(rows[STATEMENT], left_on=ours, right_on=theirs, how="full")
    named = {name: nw.coalesce(*both) for name, *both in zip(_ON, ours, theirs, strict=True)}
    return _coded(joined, tolerance, **named)


def _coded(joined: Both, tolerance: Tolerance, **more: nw.Expr) -> Both:
    """The pairs with a `code`: null where they agree to the ngwee, or nothing moved."""
    moves = {side: (nw.col(f"{prefix}status") == COMPLETED) for side, prefix in PREFIX.items()}
    fields = {
        "currency_mismatch": nw.col("l_currency") != nw.col("s_currency"),
        "status_mismatch": moves[LEDGER] != moves[STATEMENT],
        "direction_mismatch": nw.col("l_direction") != nw.col("s_direction"),
        "amount_mismatch": (nw.col("l_amount") - nw.col("s_amount")).abs() > tolerance.amount_minor,
        "fee_mismatch": (nw.col("l_fee") - nw.col("s_fee")).abs() > tolerance.fee_minor,
        "date_mismatch": (nw.col("l_day") - nw.col("s_day")).abs() > tolerance.days,
        codes.LATE_SUCCESS: nw.col("l_state") == "in_suspense",
    }
    if tolerance.amount_minor or tolerance.fee_minor:
        fields[TOLERATED] = effect_of(LEDGER) != effect_of(STATEMENT)
    both = both_sides()
    code = nw.when(~both & nw.coalesce(*moves.values())).then(nw.lit(ONE_SIDED))
    for name, differs in fields.items():
        code = code.when(both & differs.fill_null(value=False)).then(nw.lit(name))
    return joined.with_columns(code=code, **more)


def both_sides() -> nw.Expr:
    """True for a pair that has a row on each side."""
    return ~nw.col("l_no").is_null() & ~nw.col("s_no").is_null()


def effect_of(side: str) -> nw.Expr:
    """What the row of this side of a pair does to its account."""
    return effect(lambda name: nw.col(f"{PREFIX[side]}{name}"))
