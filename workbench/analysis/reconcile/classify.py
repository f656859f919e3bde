"""Rules 1 to 5, in the order of the facts, over the rows of both sides: every row lands in exactly one class."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine
from workbench.analysis.reconcile.inputs import effect, nothing
from workbench.analysis.reconcile.rules import (
    FLAG,
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
from workbench.analysis.shapes import COMPLETED

GROUP = ["account", "g"]
_TIES = ["fresh", "order", "source", "no", "entry", "amount", "fee", "direction", "status"]
"""What tells which of several rows is the first: one that was reported before; the order of the input never does."""
_SUMS = ("batches", "rank", "n", "l_n", "l_sum", "s_sum")
SPECIAL: Shape = {**ROW, "pair": WORD, **dict.fromkeys(("told_again", "agrees", "further"), FLAG),
                  **dict.fromkeys(_SUMS, NUMBER)}  # fmt: skip
_WORKED: Shape = {
    **SPECIAL, **dict.fromkeys(("fresh", "one", "l_one", "l_signed", "s_signed"), NUMBER), "moves": FLAG,
}  # fmt: skip

_ALIKE: Sequence[tuple[bool, tuple[str, ...]]] = (
    (True, ("key", "direction", "amount", "fee", "currency")),
    (True, ("direction", "amount", "fee", "currency")),
)
"""In what two rows of one group are one movement: those first that write the key alike. If true, only what moved."""
_NEAREST: Sequence[tuple[bool, tuple[str, ...]]] = (
    (False, ("direction", "amount")),
    (True, ("amount",)),
    (True, ("direction",)),
)
"""In what order those of which the sums do not agree are compared: they differ in a field, which is the break."""


@dataclass(frozen=True)
class Classified:
    """What the rules made of the rows: frames of the engine.

    `compared` has every pair, with what was needed to compare it, and `open` those of them that have a code;
    `special` has the rows of the special groups, with the sums of their group; `bad` the rows that cannot be used,
    of those sides that have any.
    """

    compared: Frame
    open: Frame
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
    everything = nw.concat(list(good.values()))
    inside = everything.join(marked, on=GROUP, how="semi")
    plain = _compared(*(good[side].join(marked, on=GROUP, how="anti") for side in SIDES), tolerance)
    opened = engine.keep(_with_code(plain))
    special = _special(engine, inside, overlaps=overlaps)
    within = _within(special, tolerance)
    groups = (opened, _with_code(within), special.filter(open_specials()))
    if respelt := _respelt(engine, nw.concat([each.select(*GROUP) for each in groups])):
        names = engine.keep(engine.arrow(respelt, {"account": WHOLE, "g": TEXT, "name": TEXT}))
        again = everything.join(names, on=GROUP, how="inner").with_columns(g=nw.col("name")).select(*ROW)
        rest = inside.join(names, on=GROUP, how="anti").select(*ROW)
        special = _special(engine, nw.concat([rest, again]), overlaps=overlaps, respelt=True)
        within = _within(special, tolerance)
        plain, opened = (each.join(names, on=GROUP, how="anti") for each in (plain, opened))
    compared, opened = nw.concat([plain, within]), nw.concat([opened, _with_code(within)])
    return Classified(compared, opened, special, [rows[side].filter(nw.col("bad")) for side in rows if bad[side]])


def _marked(rows: Iterable[Frame], *, carried: bool) -> Frame:
    """The groups that have several rows on a side, or a batch, or a row that an earlier run knew to say nothing new."""
    marks = [side.filter(_further() | _settled()).select(*GROUP) for side in rows] if carried else []
    for side in rows:
        # Each side by itself: over both the great aggregation takes a third longer.
        counted = side.group_by(*GROUP).agg(rows=nw.len(), batches=nw.col("batch").count())
        marks.append(counted.filter((nw.col("rows") > 1) | (nw.col("batches") > 0)).select(*GROUP))
    return nw.concat(marks).group_by(*GROUP).agg(rows=nw.len())


def _respelt(engine: Engine, groups: Frame) -> pa.Table | None:
    """Of the groups that do not agree those that one name would make one: `account`, `g`, and that `name`.

    Groups that agree are what both sides call them, and need no other name.
    """
    named = engine.table(groups.group_by(*GROUP).agg(n=nw.len()), {"account": NUMBER, "g": WORD})
    names = pa.array([_bare(each) for each in named["g"].to_pylist()], pa.string())
    found = named.append_column("name", names)
    several = found.group_by(["account", "name"]).aggregate([("g", "count")])
    found = found.join(several.filter(pc.greater(several["g_count"], 1)), ["account", "name"], join_type="left semi")
    return found if len(found) else None


def _bare(key: str) -> str:
    """A key without what never parts a pair: white space, case and leading zeros."""
    written = re.sub(r"[\s\u200b-\u200d\u2060\ufeff]", "", key).casefold()
    return written.lstrip("0") or written[:1]


def _special(engine: Engine, rows: Frame, *, overlaps: bool, respelt: bool = False) -> Frame:
    """The rows of special groups, each with what it came to within its group, in the shape SPECIAL.

    `told_again` are those that another file has too; of one `pair` are a row of each side; `agrees` tells those of
    which both sides add up to the same, and `further` is a row that its side has already, and nothing answers.
    """
    ours, theirs = nw.col("side") == LEDGER, nw.col("side") == STATEMENT
    counted = rows.with_columns(
        one=nw.lit(1),
        source=nw.col("source").fill_null(""),
        # Of the ledger an open row may be read again, after the closing date, beside a duplicate that was carried.
        fresh=nw.when(_is_new() & theirs).then(1).otherwise(0),
        pair=nothing("g"),
        moves=nw.col("status") == COMPLETED,
        l_one=nw.when(ours).then(1).otherwise(0),
        l_signed=nw.when(ours).then(nw.col("signed")).otherwise(0),
        s_signed=nw.when(theirs).then(nw.col("signed")).otherwise(0),
        batches=nw.col("batch").count().over(*GROUP),
        told_again=nw.lit(value=False), agrees=nw.lit(value=False), further=nw.lit(value=False),
        **dict.fromkeys(("rank", "n", "l_n", "l_sum", "s_sum"), nw.lit(0)),
    )  # fmt: skip
    told = _told_again(counted) if overlaps else counted
    alike = engine.keep(engine.conform(_paired(told, _ALIKE if respelt else _ALIKE[1:]), _WORKED))
    # Nearly every row has its partner now: what takes longer is for the others.
    done = ~nw.col("pair").is_null() | nw.col("told_again")
    left = engine.keep(engine.conform(_added_up(alike.filter(~done)), _WORKED))
    nearest = nw.concat([alike.filter(done), _paired(left, _NEAREST).select(*_WORKED)])
    return engine.keep(engine.conform(_ranked(nearest), SPECIAL))


def _told_again(rows: Frame) -> Frame:
    """Mark as `told_again` what another file has told, or what was settled before.

    The same line in another file is the same movement: the balance moved once. Of a line that one file has twice
    and another three times, three moved it. What was carried forward is as one file.
    """
    line = (*GROUP, "side", "key", "currency", "day", "signed")
    files = rows.with_columns(file=nw.when(_is_new()).then(nw.col("source")).otherwise(nw.lit("")))
    copies = files.with_columns(copy=nw.col("one").cum_sum().over(*line, "fresh", "file", order_by=_TIES))
    occurrences = copies.with_columns(occurrence=nw.col("one").cum_sum().over(*line, "copy", order_by=_TIES))
    again = (nw.col("side") == STATEMENT) & (nw.col("occurrence") > 1)
    return occurrences.with_columns(told_again=again | _settled())


def _paired(rows: Frame, orders: Sequence[tuple[bool, tuple[str, ...]]]) -> Frame:
    """Give one `pair` to the n-th row of each side, of those alike in these columns that have none yet."""
    for number, (only_moved, by) in enumerate(orders):
        free = nw.col("pair").is_null() & ~nw.col("agrees") & ~nw.col("told_again") & (nw.col("batches") == 0)
        within = (*GROUP, "free", *by)
        moved = () if only_moved else ("still",)
        met = (
            rows.with_columns(
                free=free & nw.col("moves") if only_moved else free,
                still=nw.when(nw.col("moves")).then(0).otherwise(1),
            )
            .with_columns(
                nth=nw.col("one").cum_sum().over(*within, "side", order_by=[*moved, *_TIES]),
                ours=nw.col("l_one").sum().over(*within),
                both=nw.col("one").sum().over(*within),
            )
        )  # fmt: skip
        is_met = nw.col("free") & (nw.col("nth") <= nw.col("ours")) & (nw.col("nth") <= nw.col("both") - nw.col("ours"))
        name = nw.concat_str(
            nw.lit(f"{number}"), *(nw.col(each).cast(nw.String) for each in (*by, "nth")), separator=" "
        )
        rows = met.with_columns(pair=nw.when(is_met).then(name).otherwise(nw.col("pair")))
    return rows


def _added_up(rows: Frame) -> Frame:
    """The sums of both sides of each group, of what moved: one row and one row are compared, and not added up."""
    group = (*GROUP, "counts")
    counted = rows.with_columns(counts=nw.col("moves") | (nw.col("batches") > 0))
    summed = counted.with_columns(
        n=nw.col("one").sum().over(*group),
        l_n=nw.col("l_one").sum().over(*group),
        l_sum=nw.col("l_signed").sum().over(*group),
        s_sum=nw.col("s_signed").sum().over(*group),
        least=nw.col("currency").min().over(*group),
        most=nw.col("currency").max().over(*group),
    )
    one_and_one = (nw.col("l_n") == 1) & (nw.col("n") - nw.col("l_n") == 1)
    several = ((nw.col("n") > 1) & ~one_and_one) | (nw.col("batches") > 0)
    is_one = (nw.col("l_sum") == nw.col("s_sum")) & (nw.col("least") == nw.col("most"))
    return summed.with_columns(agrees=nw.col("counts") & several & is_one)


def _ranked(rows: Frame) -> Frame:
    """The place of each row on its side of its group, and which are duplicates.

    A duplicate goes the way of another row of its key and its side, and has no partner; what goes the other way, a
    refund or a charge, is a movement of its own, and so is what writes its key in another way.
    """
    alone = nw.col("pair").is_null() & ~nw.col("agrees") & ~nw.col("told_again")
    way = (*GROUP, "told_again", "side", "moves", "direction", "key")
    placed = rows.with_columns(last=nw.when(alone).then(1).otherwise(0)).with_columns(
        rank=nw.col("one").cum_sum().over(*GROUP, "told_again", "side", order_by=_TIES),
        place=nw.col("one").cum_sum().over(*way, order_by=["last", *_TIES]),
    )
    is_further = alone & nw.col("moves") & (nw.col("batches") == 0) & ((nw.col("place") > 1) | _further())
    name = nw.concat_str(nw.col("side"), nw.col("rank").cast(nw.String), separator=" ")
    return placed.with_columns(further=is_further, pair=nw.when(alone).then(name).otherwise(nw.col("pair")))


def _within(special: Frame, tolerance: Tolerance) -> Frame:
    """What of special groups is compared row by row."""
    single = (nw.col("batches") == 0) & ~(nw.col("told_again") | nw.col("agrees") | nw.col("further"))
    return _compared(*(special.filter(single & (nw.col("side") == side)) for side in SIDES), tolerance, "pair")


def _with_code(compared: Frame) -> Frame:
    return compared.filter(~nw.col("code").is_null())


def _further() -> nw.Expr:
    """True for a row that was a duplicate in an earlier run. It stays one: its first row may be matched and gone."""
    was = nw.col("was")
    return ((was == codes.DUPLICATE[LEDGER]) | (was == codes.DUPLICATE[STATEMENT])).fill_null(value=False)


def _settled() -> nw.Expr:
    """True for a line that was matched before the last close."""
    return (nw.col("was") == codes.MATCHED).fill_null(value=False)


def _is_new() -> nw.Expr:
    """True for a row that stands in a file of this run."""
    return nw.col("was").is_null() | _settled()


def open_specials() -> nw.Expr:
    """True for the rows of special groups that break as such: duplicates, and batches that do not add up."""
    return nw.col("further") | ((nw.col("batches") > 0) & ~nw.col("agrees") & ~nw.col("told_again"))


LINE = ["account", "source", "no", "g", "signed"]
"""What tells the lines of statements apart, where some table has no numbers for them."""


def settled_lines(classified: Classified) -> Frame:
    """The lines that agree with the ledger, or stand twice: the columns LINE, and how many `lines` each is."""
    agreed = classified.compared.filter(both_sides() & agreed_pairs())
    pairs = agreed.select("account", source="s_source", no="s_no", g="s_key", signed=effect_of(STATEMENT))
    groups = classified.special.filter((nw.col("side") == STATEMENT) & (nw.col("agrees") | nw.col("told_again")))
    named = groups.select(*(name for name in LINE if name != "g"), g=nw.coalesce("batch", "key")).select(*LINE)
    return nw.concat([pairs.select(*LINE), named]).group_by(*LINE).agg(lines=nw.len())


def agreed_pairs() -> nw.Expr:
    """True for what agrees, if only within the tolerance."""
    return nw.col("code").is_null() | (nw.col("code") == TOLERATED)


NARROW: Mapping[str, tuple[str, ...]] = {
    LEDGER: ("no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "entry", "kind", "refers",
             "state"),
    STATEMENT: ("source", "no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "kind",
                "refers"),
}  # fmt: skip
"""What goes through the great join. A plain row has no batch, so that its key is its group's name."""


def _compared(ledger: Frame, statement: Frame, tolerance: Tolerance, *by: str) -> Frame:
    """Rules 4 and 5: one row and one row; `code` is null where they agree to the ngwee, or nothing moved.

    Rows of special groups are joined `by` their pair too, and bring their keys.
    """
    on, also = [*GROUP, *by], ["key"] * len(by)
    left = ledger.select(*on, *_prefixed([*NARROW[LEDGER], *also], "l_"))
    right = statement.select(*_prefixed([*on, *NARROW[STATEMENT], *also], "s_"))
    joined = left.join(right, left_on=on, right_on=[f"s_{name}" for name in on], how="full")
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
    made = {name: nw.coalesce(name, f"s_{name}") for name in on}
    if not by:
        keys = {f"{prefix}key": nw.when(~nw.col(f"{prefix}no").is_null()).then(made["g"]) for prefix in PREFIX.values()}
        made |= {**keys, "pair": nothing("g")}
    return joined.with_columns(**made, code=code).select(*COMPARED)


COMPARED = [
    *GROUP, "pair", "code", *(f"{PREFIX[side]}{name}" for side, names in NARROW.items() for name in (*names, "key")),
]  # fmt: skip
"""The columns of what was compared."""


def _prefixed(names: Iterable[str], prefix: str) -> list[nw.Expr]:
    """These columns under the name that they have in a pair."""
    return [nw.col(name).alias(f"{prefix}{name}") for name in names]


def both_sides() -> nw.Expr:
    """True for a pair that has a row on each side."""
    return ~nw.col("l_no").is_null() & ~nw.col("s_no").is_null()


def effect_of(side: str) -> nw.Expr:
    """What the row of this side of a pair does to its account."""
    return effect(lambda name: nw.col(f"{PREFIX[side]}{name}"))
