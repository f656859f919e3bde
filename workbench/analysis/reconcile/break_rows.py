"""The pairs that do not agree, as the frame of breaks; and every row that is part of one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from workbench.analysis.breaks import BREAK_CODES, BUCKETS, CODES, bucket_of, proposal_of, reason_of
from workbench.analysis.frames import frame, in_pandas
from workbench.analysis.reconcile.classify import Classified
from workbench.analysis.reconcile.engines import Engine
from workbench.analysis.reconcile.inputs import named
from workbench.analysis.reconcile.rules import LEDGER, OF_SIDE, PREFIX, ROW, STATEMENT, TOLERATED, Frame
from workbench.analysis.shapes import BREAK
from workbench.domain.phones import mask_column

_SORTED = ["account", "business_date", "code", "statement", "line", "key", "entry", "side", "reason"]


@dataclass(frozen=True)
class Broken:
    """What was collected: `pairs` in the shape BROKEN, and `members`, the rows of those that are groups."""

    pairs: pa.Table
    members: pa.Table

    @property
    def tolerated(self) -> Mapping[str, int]:
        """By how much matches within the tolerance differ, ledger less statement, by account."""
        made: dict[str, int] = defaultdict(int)
        for pair in self.pairs.select(["account", "code", "l_signed", "s_signed"]).to_pylist():
            if pair["code"] == TOLERATED:
                made[pair["account"]] += pair["l_signed"] - pair["s_signed"]
        return made


def collect_broken(engine: Engine, classified: Classified, resolved: Frame, accounts: Sequence[str]) -> Broken:
    """Bring the breaks here, and of groups their rows."""
    groups = classified.special.filter(nw.col("batches") > 0).select(*ROW)
    members = groups.join(resolved.select("account", "g"), on=["account", "g"], how="semi")
    return Broken(*(named(engine.collect(each), accounts) for each in (resolved, members)))


def breaks_of(broken: Broken, closing: Mapping[str, int], expected_in: Mapping[str, str]) -> pd.DataFrame:
    """The frame BREAK, in an order that depends on nothing but its rows.

    `closing` is the last day of each account, `expected_in` the names of its statements.
    """
    members = _ledger_members(broken.members)
    rows = [
        _break(pair, members.get((pair["account"], pair["g"]), ()), closing, expected_in)
        for pair in broken.pairs.to_pylist()
        if pair["code"] != TOLERATED
    ]
    made = frame(rows, BREAK).sort_values(_SORTED, kind="stable", ignore_index=True)
    made["code"] = made["code"].cat.set_categories(CODES)
    made["bucket"] = made["bucket"].cat.set_categories(list(BUCKETS), ordered=True)
    return made


def _ledger_members(members: pa.Table) -> Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]:
    found = defaultdict(list)
    for row in sorted(members.to_pylist(), key=lambda row: (row["no"], row["entry"] or "")):
        if row["side"] == LEDGER:
            found[row["account"], row["g"]].append({f"l_{name}": row[name] for name in OF_SIDE})
    return found


def _break(
    pair: Mapping[str, Any],
    members: Sequence[Mapping[str, Any]],
    closing: Mapping[str, int],
    expected_in: Mapping[str, str],
) -> dict[str, Any]:
    has = {side: pair[f"{prefix}no"] is not None for side, prefix in PREFIX.items()}
    mine = PREFIX[STATEMENT if has[STATEMENT] else LEDGER]
    days = [day for day in (pair["l_day"], pair["s_day"]) if day is not None]
    day = min(days) if days else None
    age = None if day is None else max(closing[pair["account"]] - day, 0)
    ledger, statement = (pair["l_signed"] if has[LEDGER] else None, pair["s_signed"] if has[STATEMENT] else None)
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
        "proposal": proposal_of(pair, members),
    }


def broken_rows(broken: Broken) -> pd.DataFrame:
    """Each row of either side that is part of a break: the columns ROW, with `code` and `repeated`."""
    pairs = in_pandas(broken.pairs)
    pairs = pairs[pairs["code"] != TOLERATED]
    groups = in_pandas(broken.members)
    text = pairs[["account", "g", "code", "repeated"]]
    grouped = pd.MultiIndex.from_frame(groups[["account", "g"]])
    plain = pairs[~pd.MultiIndex.from_frame(pairs[["account", "g"]]).isin(grouped)]
    parts = [groups.merge(text.drop_duplicates(["account", "g"]), on=["account", "g"])]
    for side, prefix in PREFIX.items():
        part = plain[plain[f"{prefix}no"].notna()]
        named = part.rename(columns={f"{prefix}{name}": name for name in OF_SIDE})
        parts.append(named.assign(side=pd.Series(side, index=named.index, dtype="string")))
    wanted = ["side", "account", "g", *OF_SIDE, "code", "repeated"]
    return pd.concat([part[wanted] for part in parts], ignore_index=True)
