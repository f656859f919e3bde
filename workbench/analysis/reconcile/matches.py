"""Every row that agrees, a row for each side's row: worked out when it is asked for."""

from collections.abc import Sequence

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from workbench.analysis.frames import schema_of, typed
from workbench.analysis.reconcile.classify import PREFIX, Classified, both_sides, sums_agree, widened
from workbench.analysis.reconcile.columns import LEDGER, NUMBER, STATEMENT, WORD, Frame, Shape
from workbench.analysis.reconcile.engines import Engine, conform
from workbench.analysis.reconcile.rows import named, nothing
from workbench.analysis.reconcile.rules import MATCH_RULES, TOLERATED
from workbench.analysis.shapes import MATCH
from workbench.domain.money import money_text

_AGREED: Shape = {
    **dict.fromkeys(("rule", "group", "side", "statement", "entry", "key", "currency"), WORD),
    **dict.fromkeys(("account", "line", "signed", "amount_off", "fee_off", "days_off"), NUMBER),
}
_SORTED = ["account", "group", "side", "statement", "line", "entry", "key"]


def matches_of(engine: Engine, classified: Classified, accounts: Sequence[str]) -> pd.DataFrame:
    """The frame MATCH, in an order that depends on nothing but its rows."""
    agreed = [*_agreed_pairs(engine, classified.compared), _agreed_groups(engine, classified.special)]
    found = named(engine.collect(nw.concat(agreed)), accounts)
    columns = {name: found["signed" if name == "signed_minor" else name] for name in MATCH if name != "differences"}
    columns["differences"] = pa.array(_differences(found), pa.string())
    made = typed([pa.table(columns).cast(schema_of(MATCH))], MATCH)
    made["rule"] = made["rule"].cat.set_categories(list(MATCH_RULES))
    return made.sort_values(_SORTED, kind="stable", ignore_index=True)


def _agreed_pairs(engine: Engine, compared: Frame) -> list[Frame]:
    found = widened(engine, compared.filter(nw.col("code").is_null() | (nw.col("code") == TOLERATED)))
    agreed = found.with_columns(both=both_sides())
    made = []
    for side, prefix in PREFIX.items():
        mine = agreed.filter(~nw.col(f"{prefix}no").is_null())
        made.append(
            conform(
                engine,
                mine,
                _AGREED,
                rule=nw.when(nw.col("both")).then(nw.lit("key")).otherwise(nw.lit("nothing_moved")),
                group=nw.col("g"),
                side=nw.lit(side),
                statement=nw.col("s_source") if side == STATEMENT else nothing("g"),
                line=nw.col("s_no") if side == STATEMENT else nothing("l_no"),
                entry=nw.col("l_entry") if side == LEDGER else nothing("g"),
                key=nw.col(f"{prefix}key"),
                currency=nw.col(f"{prefix}currency"),
                signed=nw.col(f"{prefix}signed"),
                amount_off=nw.col("s_amount") - nw.col("l_amount"),
                fee_off=nw.col("s_fee") - nw.col("l_fee"),
                days_off=nw.col("s_day") - nw.col("l_day"),
            )
        )
    return made


def _agreed_groups(engine: Engine, special: Frame) -> Frame:
    agreed = special.filter((nw.col("batches") > 0) & sums_agree()).with_columns(s_n=nw.col("n") - nw.col("l_n"))
    rule = (
        nw.when((nw.col("l_n") == 0) | (nw.col("s_n") == 0)).then(nw.lit("nets_to_zero"))
        .when((nw.col("l_n") == 1) & (nw.col("s_n") == 1)).then(nw.lit("key"))
        .when(nw.col("l_n") == 1).then(nw.lit("one_to_many"))
        .when(nw.col("s_n") == 1).then(nw.lit("many_to_one"))
        .otherwise(nw.lit("many_to_many"))
    )  # fmt: skip
    ours = nw.col("side") == LEDGER
    return conform(
        engine,
        agreed,
        _AGREED,
        rule=rule,
        group=nw.col("g"),
        statement=nw.when(~ours).then(nw.col("source")).otherwise(nothing("source")),
        line=nw.when(~ours).then(nw.col("no")).otherwise(nothing("no")),
        entry=nw.when(ours).then(nw.col("entry")).otherwise(nothing("entry")),
        **dict.fromkeys(("amount_off", "fee_off", "days_off"), nothing("no")),
    )


def _differences(found: pa.Table) -> Sequence[str | None]:
    """Text is built only where a row differs at all."""
    names = ("amount_off", "fee_off", "days_off")
    offs = zip(*(found[name].fill_null(0).to_pylist() for name in names), found["currency"].to_pylist(), strict=True)
    return [_apart(*off) if any(off[:3]) else None for off in offs]


def _apart(amount: int, fee: int, days: int, currency: str) -> str:
    parts = [f"{name} {money_text(off, currency)}" for name, off in (("amount", amount), ("fee", fee)) if off]
    return "; ".join([*parts, *([f"{days} day{'s' if abs(days) > 1 else ''}"] if days else [])])
