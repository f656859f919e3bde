"""How many rows and how much of their value agree, by account, day and code; how old the breaks are; the inputs."""

from typing import Any

import pandas as pd

from workbench.analysis.breaks import CODES, MATCHED
from workbench.analysis.frames import frame
from workbench.analysis.reconcile.columns import LEDGER, STATEMENT
from workbench.analysis.shapes import AGEING, SUMMARY

_NO_DAY, _NO_CURRENCY = -(2**40), ""
_BY = ["account", "day", "code", "currency"]
_COUNTS = ["ledger_rows", "statement_rows", "ledger_value_minor", "statement_value_minor"]


def summary_of(read: dict[str, pd.DataFrame], rows: pd.DataFrame, breaks: pd.DataFrame) -> pd.DataFrame:
    """The frame SUMMARY: `read` are the totals of both sides, `rows` the rows that are part of breaks."""
    parts = []
    for side in (LEDGER, STATEMENT):
        total = _keyed(read[side]).groupby(["account", "day", "currency"])[["rows", "value"]].sum().reset_index()
        mine = _keyed(rows[rows["side"] == side])
        broken = mine.assign(rows=1, value=mine["signed"].abs()).groupby(_BY)[["rows", "value"]].sum().reset_index()
        rest = broken.assign(rows=-broken["rows"], value=-broken["value"])
        both = pd.concat([total, rest[total.columns]]).assign(code=MATCHED)
        names = {"rows": f"{side}_rows", "value": f"{side}_value_minor"}
        parts.append(pd.concat([both, broken]).rename(columns=names))
    variance = breaks[["account", "code", "currency", "variance_minor"]].astype(
        {"code": "string", "currency": "string"}
    )
    days = breaks["business_date"].astype("int32[pyarrow]").astype("Int64")
    parts.append(_keyed(variance.assign(day=days)))
    whole = pd.concat(parts, ignore_index=True).astype({"code": "string", "day": "Int64"})
    counts = [*_COUNTS, "variance_minor"]
    for name in counts:
        whole[name] = whole[name].fillna(0).astype("int64")
    made = whole.groupby(_BY)[counts].sum().reset_index()
    # A day on which every row is part of a break has nothing matched.
    made = made[(made["code"] != MATCHED) | (made["ledger_rows"] + made["statement_rows"] > 0)]
    made = made.sort_values(_BY, ignore_index=True)
    records: list[dict[Any, Any]] = [
        {**row, "business_date": None if row["day"] == _NO_DAY else row["day"], "currency": row["currency"] or None}
        for row in made.to_dict("records")
    ]
    result = frame(records, SUMMARY)
    result["code"] = result["code"].cat.set_categories([MATCHED, *CODES])
    return result


def _keyed(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows with words for what is missing: nulls are no keys to group by."""
    return rows.assign(day=rows["day"].fillna(_NO_DAY), currency=rows["currency"].fillna(_NO_CURRENCY))


def ageing_of(breaks: pd.DataFrame) -> pd.DataFrame:
    """The frame AGEING: the breaks of each bucket, oldest last."""
    grouped = breaks.groupby(["account", "currency", "code", "bucket"], observed=True, dropna=False)
    made = grouped.agg(breaks=("rows", "size"), rows=("rows", "sum"), variance_minor=("variance_minor", "sum"))
    made = made.reset_index().sort_values(["account", "currency", "code", "bucket"], ignore_index=True)
    kept = {name: kind for name, kind in AGEING.items() if name not in {"code", "bucket"}}
    return made[list(AGEING)].astype(kept)
