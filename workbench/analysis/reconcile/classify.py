"""Rules 1 to 5, in the order of the facts, over the rows of both sides: every row lands in exactly one class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import narwhals.stable.v2 as nw

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine
from workbench.analysis.reconcile.inputs import effect
from workbench.analysis.reconcile.rules import (
    FLAG,
    LEDGER,
    NUMBER,
    ONE_SIDED,
    PREFIX,
    ROW,
    STATEMENT,
    TOLERATED,
    WORD,
    Frame,
    Shape,
    Tolerance,
)
from workbench.analysis.shapes import COMPLETED

GROUP = ["account", "g"]
_TIES = ["fresh", "order", "source", "no", "entry", "amount", "fee", "direction", "status"]
"""What tells which of several rows is the first: one that was reported before; the order of the input never does."""
_SUMS = ("batches", "rank", "n", "l_n", "l_sum", "s_sum")
_SPECIAL: Shape = {
    **ROW, "repeated": FLAG, **dict.fromkeys(_SUMS, NUMBER), "least_currency": WORD, "most_currency": WORD,
}  # fmt: skip


@dataclass(frozen=True)
class Classified:
    """What the rules made of the rows: frames of the engine.

    `compared` has every plain pair, with what was needed to compare it; `special` the rows of the special groups,
    with the sums of their group; `bad` the rows that cannot be used, of those sides that have any.
    """

    compared: Frame
    special: Frame
    bad: list[Frame]


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
    marked = engine.keep(_marked(good.values(), carried=carried))
    inside = nw.concat(list(good.values())).join(marked, on=GROUP, how="semi")
    special = _special(engine, inside, overlaps=overlaps)
    plain = {
        side: nw.concat([each.join(marked, on=GROUP, how="anti"), _firsts(special, side)])
        for side, each in good.items()
    }
    compared = _compared(plain[LEDGER], plain[STATEMENT], tolerance)
    return Classified(compared, special, [rows[side].filter(nw.col("bad")) for side in rows if bad[side]])


def _marked(rows: Iterable[Frame], *, carried: bool) -> Frame:
    """The groups that have several rows on a side, or a batch, or a duplicate of an earlier run."""
    marks = [side.filter(_further()).select(*GROUP) for side in rows] if carried else []
    for side in rows:
        # Each side by itself: over both the great aggregation takes a third longer.
        counted = side.group_by(*GROUP).agg(rows=nw.len(), batches=nw.col("batch").count())
        marks.append(counted.filter((nw.col("rows") > 1) | (nw.col("batches") > 0)).select(*GROUP))
    return nw.concat(marks).group_by(*GROUP).agg(rows=nw.len())


def _special(engine: Engine, rows: Frame, *, overlaps: bool) -> Frame:
    """The rows of special groups, each with its rank in its group and the sums of both sides.

    `repeated` are those where periods overlap and a line stands in another file too.
    """
    ours, theirs = nw.col("side") == LEDGER, nw.col("side") == STATEMENT
    counted = rows.with_columns(
        one=nw.lit(1),
        source=nw.col("source").fill_null(""),
        # Of the ledger an open row may be read again, after the closing date, beside a duplicate that was carried.
        fresh=nw.when(nw.col("was").is_null() & theirs).then(1).otherwise(0),
        repeated=nw.lit(value=False),
        l_one=nw.when(ours).then(1).otherwise(0),
        l_sum=nw.when(ours).then(nw.col("signed")).otherwise(0),
        s_sum=nw.when(theirs).then(nw.col("signed")).otherwise(0),
    )
    # A repeated line is of no group: what it reports is part of it already.
    group = (*GROUP, "repeated")
    sums = {
        "batches": nw.col("batch").count().over(*GROUP),
        "rank": nw.col("one").cum_sum().over(*group, "side", order_by=_TIES),
        "n": nw.col("one").sum().over(*group),
        "l_n": nw.col("l_one").sum().over(*group),
        "l_sum": nw.col("l_sum").sum().over(*group),
        "s_sum": nw.col("s_sum").sum().over(*group),
        "least_currency": nw.col("currency").min().over(*group),
        "most_currency": nw.col("currency").max().over(*group),
    }
    return engine.keep(engine.conform(_told_again(counted) if overlaps else counted, _SPECIAL, **sums))


def _told_again(rows: Frame) -> Frame:
    """Mark as `repeated` what another file has told.

    The same line in another file is the same movement: the balance moved once. Of a line that one file has twice
    and another three times, three moved it. What was carried forward is as one file.
    """
    line = (*GROUP, "side", "key", "currency", "day", "signed")
    files = rows.with_columns(file=nw.when(nw.col("was").is_null()).then(nw.col("source")).otherwise(nw.lit("")))
    copies = files.with_columns(copy=nw.col("one").cum_sum().over(*line, "fresh", "file", order_by=_TIES))
    occurrences = copies.with_columns(occurrence=nw.col("one").cum_sum().over(*line, "copy", order_by=_TIES))
    return occurrences.with_columns(repeated=(nw.col("side") == STATEMENT) & (nw.col("occurrence") > 1))


def _firsts(special: Frame, side: str) -> Frame:
    """The rows that go on to be compared: of each group without a batch the first on this side."""
    first = ~nw.col("repeated") & (nw.col("batches") == 0) & (nw.col("rank") == 1) & ~_further()
    return special.filter(first & (nw.col("side") == side)).select(*ROW)


def _further() -> nw.Expr:
    """True for a row that was a duplicate in an earlier run. It stays one: its first row may be matched and gone."""
    was = nw.col("was")
    return ((was == codes.DUPLICATE[LEDGER]) | (was == codes.DUPLICATE[STATEMENT])).fill_null(value=False)


def open_specials() -> nw.Expr:
    """True for the rows of special groups that break: lines told again, further rows, groups that do not agree."""
    further = (nw.col("batches") == 0) & ((nw.col("rank") > 1) | _further())
    return nw.col("repeated") | further | ((nw.col("batches") > 0) & ~_sums_agree())


def agreed_groups() -> nw.Expr:
    """True for the rows of a batch of which both sides add up to the same, in one currency."""
    return ~nw.col("repeated") & (nw.col("batches") > 0) & _sums_agree()


def _sums_agree() -> nw.Expr:
    return (nw.col("l_sum") == nw.col("s_sum")) & (nw.col("least_currency") == nw.col("most_currency"))


NARROW: Mapping[str, tuple[str, ...]] = {
    LEDGER: ("no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "phone_hash", "entry",
             "kind", "refers", "state"),
    STATEMENT: ("source", "no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone",
                "phone_hash", "kind", "refers"),
}  # fmt: skip
"""What goes through the great join. A plain row has no batch, so that its key is its group's name."""


def _compared(ledger: Frame, statement: Frame, tolerance: Tolerance) -> Frame:
    """Rules 4 and 5: one row and one row; `code` is null where they agree to the ngwee, or nothing moved."""
    left = ledger.select(*GROUP, *_prefixed(NARROW[LEDGER], "l_"))
    right = statement.select(*_prefixed((*GROUP, *NARROW[STATEMENT]), "s_"))
    joined = left.join(right, left_on=GROUP, right_on=["s_account", "s_g"], how="full")
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
    return joined.with_columns(account=nw.coalesce("account", "s_account"), g=nw.coalesce("g", "s_g"), code=code)


def _prefixed(names: Iterable[str], prefix: str) -> list[nw.Expr]:
    """These columns under the name that they have in a pair."""
    return [nw.col(name).alias(f"{prefix}{name}") for name in names]


def both_sides() -> nw.Expr:
    """True for a pair that has a row on each side."""
    return ~nw.col("l_no").is_null() & ~nw.col("s_no").is_null()


def effect_of(side: str) -> nw.Expr:
    """What the row of this side of a pair does to its account."""
    return effect(lambda name: nw.col(f"{PREFIX[side]}{name}"))
