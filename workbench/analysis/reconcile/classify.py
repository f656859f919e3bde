"""The rules, in the order of the facts: every row of both sides lands in exactly one class."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import narwhals.stable.v2 as nw

from workbench.analysis import breaks as codes
from workbench.analysis.reconcile.engines import Engine
from workbench.analysis.reconcile.inputs import effect, nothing, unreadable
from workbench.analysis.reconcile.rules import (
    FLAG,
    LEDGER,
    NUMBER,
    OF_SIDE,
    ONE_SIDED,
    PAIR,
    PARTNERS_WITHIN_MS,
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
from workbench.domain.phones import COUNTRY, GAPS, MOBILE

GROUP = ["account", "g"]
_TIES = ["fresh", "order", "source", "no", "entry", "amount", "fee", "direction", "status"]
"""What tells which of several rows is the first: one that was reported before; the order of the input never does."""


@dataclass(frozen=True)
class Classified:
    """What the rules made of the rows: frames of the engine.

    `open` has every pair that is a break, is one-sided, or agrees only within the tolerance (the shape PAIR);
    `compared` every plain pair, with what was needed to compare it (`widened` gives the rest); `special` the
    rows of the special groups, with the sums of their group.
    """

    open: Frame
    compared: Frame
    special: Frame


def classify(
    engine: Engine, rows: Mapping[str, Frame], bad: Mapping[str, int], tolerance: Tolerance, *, carried: bool
) -> Classified:
    """Run rules 1 to 5 over the rows of both sides; rule 6 goes on from there (`resolve`).

    `bad` is how many rows of each side cannot be used, and `carried` whether there are rows of an earlier run:
    where there are none, none are looked for.
    """
    good = {side: each.filter(~unreadable()) if bad[side] else each for side, each in rows.items()}
    marks = [_marked(side) for side in good.values()]
    if carried:
        marks += [side.filter(_further()).select(*GROUP) for side in good.values()]
    marked = engine.keep(nw.concat(marks).group_by(*GROUP).agg(rows=nw.len()))
    placed = _placed(engine, nw.concat([side.join(marked, on=GROUP, how="semi") for side in good.values()]))
    special = _special(engine, placed.filter(~nw.col("repeated")))
    plain = {
        side: nw.concat([each.join(marked, on=GROUP, how="anti"), _firsts(special, side)])
        for side, each in good.items()
    }
    compared = _compared(plain[LEDGER], plain[STATEMENT], tolerance)
    bads = [_bad(engine, rows[side]) for side in rows if bad[side]]
    single = nw.concat([_repeated(engine, placed), _duplicates(engine, special), *bads])
    found = [
        _alone(engine, single),
        _groups(engine, special).filter(~nw.col("code").is_null()),
        widened(engine, compared.filter(~nw.col("code").is_null())),
    ]
    return Classified(open=engine.keep(nw.concat(found)), compared=compared, special=special)


def _marked(rows: Frame) -> Frame:
    """The groups that have several rows on this side, or a batch."""
    counted = rows.group_by(*GROUP).agg(rows=nw.len(), batched=nw.col("batch").count())
    return counted.filter((nw.col("rows") > 1) | (nw.col("batched") > 0)).select(*GROUP)


def _placed(engine: Engine, rows: Frame) -> Frame:
    """The rows of special groups; `repeated` where periods overlap and a line stands in another file too.

    The same line in another file is the same movement: the balance moved once. Of a line that one file has
    twice and another three times, three moved it. What was carried forward is as one file.
    """
    line = (*GROUP, "side", "key", "currency", "day", "signed")
    counted = rows.with_columns(
        one=nw.lit(1),
        source=nw.col("source").fill_null(""),
        # Of the ledger an open row may be read again, after the closing date, beside a duplicate that was carried.
        fresh=nw.when(nw.col("was").is_null() & (nw.col("side") == STATEMENT)).then(1).otherwise(0),
        file=nw.when(nw.col("was").is_null()).then(nw.col("source")).otherwise(nw.lit("")),
    )
    copies = counted.with_columns(
        copy=nw.col("one").cum_sum().over(*line, "fresh", "file", order_by=_TIES),
        batches=nw.col("batch").count().over(*GROUP),
    )
    occurrences = copies.with_columns(occurrence=nw.col("one").cum_sum().over(*line, "copy", order_by=_TIES))
    repeated = (nw.col("side") == STATEMENT) & (nw.col("occurrence") > 1)
    shape = {**ROW, "fresh": NUMBER, "batches": NUMBER, "repeated": FLAG}
    return engine.keep(engine.conform(occurrences, shape, repeated=repeated))


def _repeated(engine: Engine, placed: Frame) -> Frame:
    """Such a line is of no group: what it reports is part of it already."""
    again = placed.filter(nw.col("repeated"))
    return engine.conform(again, _SINGLE, g=nothing("g"), code=nw.lit(codes.DUPLICATE[STATEMENT]))


def _special(engine: Engine, placed: Frame) -> Frame:
    """The rows of special groups that move something, each with its rank in its group and the sums of both sides."""
    counted = placed.with_columns(
        one=nw.lit(1),
        l_one=nw.when(nw.col("side") == LEDGER).then(1).otherwise(0),
        l_sum=nw.when(nw.col("side") == LEDGER).then(nw.col("signed")).otherwise(0),
        s_sum=nw.when(nw.col("side") == STATEMENT).then(nw.col("signed")).otherwise(0),
    )
    summed = {
        "rank": nw.col("one").cum_sum().over(*GROUP, "side", order_by=_TIES),
        "n": nw.col("one").sum().over(*GROUP),
        "l_n": nw.col("l_one").sum().over(*GROUP),
        "l_sum": nw.col("l_sum").sum().over(*GROUP),
        "s_sum": nw.col("s_sum").sum().over(*GROUP),
        "least_currency": nw.col("currency").min().over(*GROUP),
        "most_currency": nw.col("currency").max().over(*GROUP),
    }
    numbers = dict.fromkeys(("rank", "batches", "n", "l_n", "l_sum", "s_sum"), NUMBER)
    shape = {**ROW, **numbers, "least_currency": WORD, "most_currency": WORD}
    return engine.keep(engine.conform(counted, shape, **summed))


def _firsts(special: Frame, side: str) -> Frame:
    """The rows that go on to be compared: of each group without a batch the first on this side."""
    chosen = (nw.col("batches") == 0) & (nw.col("rank") == 1) & (nw.col("side") == side) & ~_further()
    return special.filter(chosen).select(*ROW)


def _further() -> nw.Expr:
    """True for a row that was a duplicate in an earlier run. It stays one: its first row may be matched and gone."""
    was = nw.col("was")
    return ((was == codes.DUPLICATE[LEDGER]) | (was == codes.DUPLICATE[STATEMENT])).fill_null(value=False)


def _duplicates(engine: Engine, special: Frame) -> Frame:
    """Rule 2: each further row of a group without a batch."""
    further = special.filter((nw.col("batches") == 0) & ((nw.col("rank") > 1) | _further()))
    ours, theirs = (nw.lit(codes.DUPLICATE[side]) for side in PREFIX)
    code = nw.when(nw.col("side") == LEDGER).then(ours).otherwise(theirs)
    return engine.conform(further, _SINGLE, repeated=nw.lit(value=False), code=code)


def _groups(engine: Engine, special: Frame) -> Frame:
    """Rule 3: groups with a batch, a pair each with the sums; `code` is null where they agree."""
    # A row that only has the batch's name as its key is part of the batch as well.
    firsts = special.filter((nw.col("batches") > 0) & (nw.col("rank") == 1)).with_columns(batch=nw.col("g"))
    sides = {
        side: firsts.filter(nw.col("side") == side).with_columns(signed=nw.col(f"{PREFIX[side]}sum")) for side in PREFIX
    }
    left = sides[LEDGER].select(*GROUP, *prefixed(OF_SIDE, "l_"), *prefixed(_SUMS, "x_"))
    right = sides[STATEMENT].select(*prefixed((*GROUP, *OF_SIDE), "s_"), *prefixed(_SUMS, "y_"))
    joined = left.join(right, left_on=GROUP, right_on=["s_account", "s_g"], how="full").with_columns(
        account=nw.coalesce("account", "s_account"),
        g=nw.coalesce("g", "s_g"),
        **{name: nw.coalesce(f"x_{name}", f"y_{name}") for name in _SUMS},
    )
    code = (
        nw.when(~sums_agree() & both_sides()).then(nw.lit(codes.BATCH_MISMATCH))
        .when(~sums_agree()).then(nw.lit(ONE_SIDED))
    )  # fmt: skip
    return engine.conform(joined, PAIR, code=code, rows=nw.col("n"), repeated=nw.col("n") < 0)


_SUMS = ("n", "l_sum", "s_sum", "least_currency", "most_currency")


def sums_agree() -> nw.Expr:
    """True for the rows of a group of which both sides add up to the same, in one currency."""
    return (nw.col("l_sum") == nw.col("s_sum")) & (nw.col("least_currency") == nw.col("most_currency"))


def prefixed(names: Iterable[str], prefix: str) -> list[nw.Expr]:
    """These columns under the name that they have in a pair."""
    return [nw.col(name).alias(f"{prefix}{name}") for name in names]


_NARROW: Mapping[str, tuple[str, ...]] = {
    LEDGER: ("no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "entry", "kind", "refers",
             "state"),
    STATEMENT: ("source", "no", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "kind",
                "refers"),
}  # fmt: skip
"""What goes through the great join. A plain row has no batch, so that its key is its group's name."""


def _compared(ledger: Frame, statement: Frame, tolerance: Tolerance) -> Frame:
    """Rules 4 and 5: one row and one row; `code` is null where they agree to the ngwee, or nothing moved."""
    joined = (
        ledger.select(*GROUP, *prefixed(_NARROW[LEDGER], "l_"))
        .join(
            statement.select(*prefixed(_NARROW[STATEMENT], "s_"), s_account="account", s_g="g"),
            left_on=GROUP,
            right_on=["s_account", "s_g"],
            how="full",
        )
        .with_columns(account=nw.coalesce("account", "s_account"), g=nw.coalesce("g", "s_g"))
    )
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
        fields[TOLERATED] = effect("l_") != effect("s_")
    both = both_sides()
    code = nw.when(~both & nw.coalesce(*moves.values())).then(nw.lit(ONE_SIDED))
    for name, differs in fields.items():
        code = code.when(both & differs.fill_null(value=False)).then(nw.lit(name))
    return joined.with_columns(code=code)


def both_sides() -> nw.Expr:
    """True for a pair that has a row on each side."""
    return ~nw.col("l_no").is_null() & ~nw.col("s_no").is_null()


def widened(engine: Engine, compared: Frame) -> Frame:
    """Plain pairs in the shape PAIR: what did not go through the join follows from what did."""
    made: dict[str, nw.Expr] = {}
    for side, prefix in PREFIX.items():
        there = ~nw.col(f"{prefix}no").is_null()
        made[f"{prefix}key"] = nw.when(there).then(nw.col("g"))
        made[f"{prefix}moves"] = nw.when(there).then(nw.col(f"{prefix}status") == COMPLETED)
        made[f"{prefix}signed"] = nw.when(there).then(effect(prefix))
        absent = [name for name in OF_SIDE if name not in {*_NARROW[side], "key", "moves", "signed"}]
        made |= {f"{prefix}{name}": nothing("g") for name in absent}
    rows = nw.when(both_sides()).then(2).otherwise(1)
    return engine.conform(compared, PAIR, **made, rows=rows, repeated=nw.lit(value=False))


def _bad(engine: Engine, rows: Frame) -> Frame:
    """Rule 1. Such a row is of no group, though another row's group may be called as its would be."""
    made = {"g": nothing("g"), "code": nw.lit(codes.INVALID), "repeated": nw.lit(value=False)}
    return engine.conform(rows.filter(unreadable()), _SINGLE, **made)


def _alone(engine: Engine, rows: Frame) -> Frame:
    """Rows as pairs with nothing on the other side."""
    sided: dict[str, nw.Expr] = {}
    for side, prefix in PREFIX.items():
        mine = nw.col("side") == side
        # Where the condition does not hold there is a null.
        sided |= {f"{prefix}{name}": nw.when(mine).then(nw.col(name)) for name in OF_SIDE}
    return engine.conform(rows, PAIR, **sided, rows=nw.lit(1))


_SINGLE = {**ROW, "code": WORD, "repeated": FLAG}
"""A row that is a break by itself."""


BROKEN: Shape = {**PAIR, "reversed_entry": WORD, "reversed_signed": NUMBER}
"""A pair, and for a reversal on the statement what the ledger has of what it reverses."""

_ALIKE = ("account", "currency", "direction", "amount", "begins", "ends")


def resolve(engine: Engine, opened: Frame, ledger: Frame, cut_after: Mapping[int, int]) -> Frame:
    """Every open pair with its code, in the shape BROKEN; `cut_after` is the last settled day of each account."""
    waiting = engine.keep(opened.filter(nw.col("code") == ONE_SIDED))
    single = waiting.filter(nw.col("l_batch").is_null() & nw.col("s_batch").is_null())
    partners = engine.keep(_partners(engine, single.filter(nw.col("s_no").is_null()), single))
    pairs = partners.filter((nw.col("l_partners") == 1) & (nw.col("s_partners") == 1))
    paired = {
        "code": nw.lit(codes.WRONG_REFERENCE), "rows": nw.lit(2), "repeated": nw.lit(value=False), "g": nw.col("s_g"),
    }  # fmt: skip
    met = engine.keep(_met(partners))
    left = waiting.join(met, on=["account", "g"], how="left")
    lonely = left.filter(nw.col("met").is_null())
    parts = [
        _bare(engine, opened.filter(nw.col("code") != ONE_SIDED)),
        _bare(engine, pairs, **paired),
        _bare(engine, left.filter(nw.col("met") > 1), code=nw.lit(codes.AMBIGUOUS)),
        _named(engine, lonely, ledger, cut_after),
    ]
    return engine.keep(nw.concat(parts))


def _partners(engine: Engine, ledger: Frame, single: Frame) -> Frame:
    """Every two one-sided rows that may be one movement, and how many partners each of them has."""
    left = ledger.filter(~nw.col("l_phone").is_null()).select(
        "account", *(f"l_{name}" for name in OF_SIDE), l_g=nw.col("g"), **_customer("l_")
    )
    right = single.filter(nw.col("l_no").is_null() & ~nw.col("s_phone").is_null()).select(
        *(f"s_{name}" for name in OF_SIDE), s_account=nw.col("account"), s_g=nw.col("g"), **_customer("s_")
    )
    on = [name if name == "account" else f"l_{name}" for name in _ALIKE]
    # Some engines drop the right side's columns that are joined on: they are kept under another name.
    right = right.with_columns(**{f"on_{name}": nw.col(f"s_{name}") for name in _ALIKE})
    near = (
        nw.when(nw.col("l_at").is_null() | nw.col("s_at").is_null())
        .then(nw.col("l_day") == nw.col("s_day"))
        .otherwise((nw.col("l_at") - nw.col("s_at")).abs() <= PARTNERS_WITHIN_MS)
    )
    # Where neither side masks it, the whole number tells two customers apart.
    same = nw.col("l_national") == nw.col("s_national")
    for prefix in PREFIX.values():
        same = same | nw.col(f"{prefix}national").str.contains("[*•]")
    met = left.join(right, left_on=on, right_on=[f"on_{name}" for name in _ALIKE], how="inner").filter(near & same)
    counts = {f"{side}_partners": nw.col("one").sum().over("account", f"{side}_g") for side in ("l", "s")}
    shape = {name: kind for name, kind in PAIR.items() if name not in {"g", "code", "rows", "repeated"}}
    shape |= {"l_g": WORD, "s_g": WORD, **dict.fromkeys(counts, NUMBER)}
    return engine.conform(met.with_columns(one=nw.lit(1)), shape, **counts)


def _customer(prefix: str) -> dict[str, nw.Expr]:
    """What a number has in common with its masked form, however it is written: two digits and the last three.

    What is no mobile number of this country is compared as it is.
    """
    phone = nw.col(f"{prefix}phone")
    national = phone.str.replace_all(GAPS, "").str.replace_all(COUNTRY, "")
    is_mobile = national.str.contains(MOBILE)
    return {
        f"{prefix}national": national,
        f"{prefix}begins": nw.when(is_mobile).then(national.str.slice(0, 2)).otherwise(phone),
        f"{prefix}ends": nw.when(is_mobile).then(national.str.slice(6, 3)).otherwise(nw.lit("")),
    }


def _met(partners: Frame) -> Frame:
    """The one-sided rows that have a partner: `met` is 1 for those of a pair, 2 where more were possible."""
    each = nw.when((nw.col("l_partners") == 1) & (nw.col("s_partners") == 1)).then(1).otherwise(2)
    ends = [partners.select("account", g=nw.col(g), met=each) for g in ("l_g", "s_g")]
    return nw.concat(ends).group_by("account", "g").agg(met=nw.col("met").max())


def _bare(engine: Engine, pairs: Frame, **made: nw.Expr) -> Frame:
    return engine.conform(pairs, BROKEN, reversed_entry=nothing("l_entry"), reversed_signed=nothing("l_no"), **made)


def _named(engine: Engine, lonely: Frame, ledger: Frame, cut_after: Mapping[int, int]) -> Frame:
    """Rules 6b to 6d."""
    reversals = lonely.filter((nw.col("s_kind") == "reversal") & ~nw.col("s_refers").is_null())
    wanted = reversals.select(account="account", key=nw.col("s_refers")).group_by("account", "key").agg(n=nw.len())
    known = (
        ledger.filter(~nw.col("key").is_null())
        .join(wanted, on=["account", "key"], how="semi")
        .group_by("account", "key")
        .agg(reversed_entry=nw.col("entry").min(), reversed_signed=nw.col("signed").max())
        .select("reversed_entry", "reversed_signed", known_account=nw.col("account"), known_key=nw.col("key"))
    )
    asked = lonely.with_columns(
        asks=nw.when((nw.col("s_kind") == "reversal") & nw.col("l_no").is_null())
        .then(nw.col("s_refers"))
        .otherwise(nothing("s_refers"))
    )
    made = asked.join(known, left_on=["account", "asks"], right_on=["known_account", "known_key"], how="left")
    ours = nw.col("s_no").is_null()
    reverses = (ours & ~nw.col("l_refers").is_null()) | ~nw.col("reversed_signed").is_null()
    day = nw.coalesce("s_day", "l_day")
    late = nw.lit(value=False)
    for account, last in cut_after.items():
        late = late | ((nw.col("account") == account) & (day > last))
    code = (
        nw.when(reverses).then(nw.lit(codes.REVERSED_UNMATCHED))
        .when(late).then(nw.lit(codes.TIMING))
        .when(ours & (nw.col("l_kind") == "payout_paid").fill_null(value=False)).then(nw.lit(codes.PAYOUT_UNPAID))
        .when(ours).then(nw.lit(codes.MISSING[LEDGER]))
        .otherwise(nw.lit(codes.MISSING[STATEMENT]))
    )  # fmt: skip
    return engine.conform(made, BROKEN, code=code)
