"""The pairs that do not agree, as the frame of breaks; and every row that is part of one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.analysis.breaks import BREAK_CODES, BUCKETS, CODES, bucket_of, proposal_of, reason_of
from workbench.analysis.frames import frame
from workbench.analysis.reconcile.pairs import Pair, Row
from workbench.analysis.reconcile.rules import LEDGER, OF_SIDE, PREFIX, STATEMENT
from workbench.analysis.shapes import BREAK
from workbench.domain.phones import mask_column

_SORTED = ["account", "business_date", "code", "statement", "line", "key", "entry", "side", "reason"]


def breaks_of(pairs: Sequence[Pair], closing: Mapping[str, int], expected_in: Mapping[str, str]) -> pd.DataFrame:
    """The frame BREAK, in an order that depends on nothing but its rows.

    `closing` is the last day of each account, `expected_in` the names of its statements.
    """
    made = frame((_break(pair, closing, expected_in) for pair in pairs), BREAK)
    made = made.sort_values(_SORTED, kind="stable", ignore_index=True)
    made["code"] = made["code"].cat.set_categories(CODES)
    made["bucket"] = made["bucket"].cat.set_categories(list(BUCKETS), ordered=True)
    return made


def _break(pair: Pair, closing: Mapping[str, int], expected_in: Mapping[str, str]) -> dict[str, Any]:
    has = {side: pair[f"{prefix}no"] is not None for side, prefix in PREFIX.items()}
    mine = PREFIX[STATEMENT if has[STATEMENT] else LEDGER]
    day = min((day for day in (pair["l_day"], pair["s_day"]) if day is not None), default=None)
    age = None if day is None else max(closing[pair["account"]] - day, 0)
    ledger, statement = (pair[f"{prefix}signed"] if has[side] else None for side, prefix in PREFIX.items())
    return {
        "statement": pair["s_source"] if has[STATEMENT] else expected_in[pair["account"]],
        "line": pair["s_no"],
        "account": pair["account"],
        "key": pair[f"{mine}key"],
        "code": pair["code"],
        "side": "both" if all(has.values()) else LEDGER if has[LEDGER] else STATEMENT,
        "entry": pair["l_entry"],
        "ledger_minor": ledger,
        "statement_minor": statement,
        "variance_minor": 0 if pair["repeated"] else (ledger or 0) - (statement or 0),
        "currency": pair[f"{mine}currency"],
        "business_date": day,
        "age_days": age,
        "bucket": None if age is None else bucket_of(age),
        "phone": mask_column(pair["s_phone"] or pair["l_phone"] or "") or None,
        "rows": pair["rows"],
        "reason": reason_of(pair),
        "settlement": BREAK_CODES[pair["code"]].settlement,
        "proposal": proposal_of(pair, _ledger_members(pair)),
    }


def _ledger_members(pair: Pair) -> list[Pair]:
    mine = sorted(
        (row for row in pair["members"] if row["side"] == LEDGER), key=lambda row: (row["no"], row["entry"] or "")
    )
    return [{f"l_{name}": row[name] for name in OF_SIDE} for row in mine]


def broken_rows(pairs: Sequence[Pair]) -> Iterator[Row]:
    """Each row of either side that is part of a break, with its `side`, `code` and `repeated`."""
    for pair in pairs:
        shared = {name: pair[name] for name in ("account", "code", "repeated")}
        for row in pair["members"]:
            yield {**row, **shared}
        for side, prefix in PREFIX.items():
            if not pair["members"] and pair[f"{prefix}no"] is not None:
                yield {"side": side, **shared, **{name: pair[f"{prefix}{name}"] for name in OF_SIDE}}
