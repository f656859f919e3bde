"""Rule 6: what only one side has. A partner under another key, a reversal, a matter of days, or missing."""

from collections.abc import Mapping
from functools import reduce

import narwhals.stable.v2 as nw

from workbench.analysis.breaks import AMBIGUOUS, MISSING, PAYOUT_UNPAID, REVERSED_UNMATCHED, TIMING, WRONG_REFERENCE
from workbench.analysis.reconcile.columns import LEDGER, NUMBER, OF_SIDE, PAIR, STATEMENT, WORD, Frame, Shape
from workbench.analysis.reconcile.engines import Engine, conform
from workbench.analysis.reconcile.rows import nothing
from workbench.analysis.reconcile.rules import ONE_SIDED, PARTNERS_WITHIN_MS
from workbench.domain.phones import COUNTRY, GAPS, MOBILE

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
        "code": nw.lit(WRONG_REFERENCE), "rows": nw.lit(2), "told_twice": nw.lit(value=False), "g": nw.col("s_g"),
    }  # fmt: skip
    met = engine.keep(_met(partners))
    left = waiting.join(met, on=["account", "g"], how="left")
    lonely = left.filter(nw.col("met").is_null())
    parts = [
        _bare(engine, opened.filter(nw.col("code") != ONE_SIDED)),
        _bare(engine, pairs, **paired),
        _bare(engine, left.filter(nw.col("met") > 1), code=nw.lit(AMBIGUOUS)),
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
    same = (nw.col("l_national") == nw.col("s_national")) | _is_masked("l_") | _is_masked("s_")
    met = left.join(right, left_on=on, right_on=[f"on_{name}" for name in _ALIKE], how="inner").filter(near & same)
    counts = {f"{side}_partners": nw.col("one").sum().over("account", f"{side}_g") for side in ("l", "s")}
    shape = {name: kind for name, kind in PAIR.items() if name not in {"g", "code", "rows", "told_twice"}}
    shape |= {"l_g": WORD, "s_g": WORD, **dict.fromkeys(counts, NUMBER)}
    return conform(engine, met.with_columns(one=nw.lit(1)), shape, **counts)


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


def _is_masked(prefix: str) -> nw.Expr:
    return nw.col(f"{prefix}national").str.contains("[*•]")


def _met(partners: Frame) -> Frame:
    """The one-sided rows that have a partner: `met` is 1 for those of a pair, 2 where more were possible."""
    each = nw.when((nw.col("l_partners") == 1) & (nw.col("s_partners") == 1)).then(1).otherwise(2)
    ends = [partners.select("account", g=nw.col(g), met=each) for g in ("l_g", "s_g")]
    return nw.concat(ends).group_by("account", "g").agg(met=nw.col("met").max())


def _bare(engine: Engine, pairs: Frame, **made: nw.Expr) -> Frame:
    return conform(engine, pairs, BROKEN, reversed_entry=nothing("l_entry"), reversed_signed=nothing("l_no"), **made)


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
    late = reduce(
        lambda found, item: found | ((nw.col("account") == item[0]) & (day > item[1])),
        cut_after.items(),
        nw.lit(value=False),
    )
    code = (
        nw.when(reverses).then(nw.lit(REVERSED_UNMATCHED))
        .when(late).then(nw.lit(TIMING))
        .when(ours & (nw.col("l_kind") == "payout_paid").fill_null(value=False)).then(nw.lit(PAYOUT_UNPAID))
        .when(ours).then(nw.lit(MISSING[LEDGER]))
        .otherwise(nw.lit(MISSING[STATEMENT]))
    )  # fmt: skip
    return conform(engine, made, BROKEN, code=code)
