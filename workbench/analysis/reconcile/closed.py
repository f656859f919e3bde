"""Breaks that a period closes: those decided to zero, and open rows of before that met their other part."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import frame, python_rows, untyped
from workbench.analysis.reconcile.decisions import SETTLED, ids_of, known_as
from workbench.analysis.reconcile.engines import texts_of
from workbench.analysis.reconcile.rules import LEDGER
from workbench.analysis.shapes import CARRIED, CLOSED_BREAK, COMPLETED

_SAYS: Mapping[str, str] = {
    **{name: name for name in ("side", "account", "key", "direction", "currency", "status")},
    "day": "business_date", "amount": "amount_minor", "fee": "fee_minor",
}  # fmt: skip
"""Columns that tell a row that was carried forward from other open rows: where it stands may have changed.

The row's name of a column → that of CARRIED.
"""


def groups_closed(breaks: pd.DataFrame) -> pd.Series:
    """For each break that is decided to zero the ids of all that were decided with it; null for every other break.

    Breaks that were matched are, if they add up to zero in each account and currency, and so is a date that was
    accepted: nothing is left to book.
    """
    is_dated = (breaks["code"] == "date_mismatch") & (breaks["verdict"] == "accept")
    is_match = breaks["verdict"] == "match"
    if not (is_dated | is_match).any():
        return pd.Series(pd.NA, index=breaks.index, dtype="string")
    told = python_rows(breaks, "id", "partner")
    ids = ["; ".join(sorted(ids_of({"break": name, "partner": other}))) for name, other in told]
    groups: pd.Series = pd.Series(ids, index=breaks.index, dtype="string").where(is_dated | is_match)
    sums = breaks[is_match].assign(group=groups).groupby(["group", "account", "currency"], observed=True, dropna=False)
    moved = sums["variance_minor"].sum()
    return groups.mask(groups.isin(moved[moved != 0].index.get_level_values("group")))


def met_since(carried: pd.DataFrame, rows: pa.Table) -> pa.Table:
    """The rows that were carried forward (CARRIED) and are part of no break any more, with what each moves as `moved`.

    `rows` are those that are part of breaks.
    """
    kept = untyped(carried, CARRIED)
    amount, fee = (kept[f"{name}_minor"].fill_null(0) for name in ("amount", "fee"))
    gross = pc.if_else(pc.equal(kept["direction"], "in"), amount, pc.negate(amount))
    moves = pc.and_(pc.equal(kept["status"], COMPLETED), pc.is_valid(kept["direction"]))
    moved = pc.if_else(pc.fill_null(moves, fill_value=False), pc.subtract(gross, fee), 0)
    kept = kept.append_column("moved", moved)
    # Of equal rows as many are open as before, at most.
    opened, gone = Counter(texts_of(rows, _SAYS).to_pylist()), []
    for text in texts_of(kept, _SAYS.values()).to_pylist():
        gone.append(not opened[text])
        opened[text] -= opened[text] > 0
    return kept.filter(pa.array(gone, pa.bool_()))


def closed_breaks(decided: pd.DataFrame, met: pa.Table, decisions: pd.DataFrame, settled: pa.Table) -> pd.DataFrame:
    """The frame CLOSED_BREAK: breaks that were `decided` to zero, and those of which the rows `met` their other part.

    `settled` are the pairs that a rule matched, and `decisions` (DECISION) tell who had decided about what was booked.
    """
    if decided.empty and not len(met):
        return frame([], CLOSED_BREAK)
    same = ("id", "account", "key", "code", "currency", "variance_minor", "since_date", "verdict", "who", "when", "why")
    made = [dict(zip(same, row, strict=True)) for row in python_rows(decided, *same)]
    named = ("account", "key", "break", "verdict", "who", "when", "why")
    about = {
        (account, known_as(key)): dict(zip(("id", *named[3:]), row, strict=True))
        for account, key, *row in python_rows(decisions[decisions["state"] == SETTLED], *named)
    }
    rules = settled["rule"].to_pylist()
    by_place = {
        place: rule
        for names in (("account", "l_entry"), ("account", "s_source", "s_no"))
        for place, rule in zip(zip(*(settled[name].to_pylist() for name in names), strict=True), rules, strict=True)
    }
    broken: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in met.to_pylist():
        place = (row["account"], *((row["entry"],) if row["side"] == LEDGER else (row["statement"], row["line"])))
        same_break = tuple(row[name] for name in ("account", "key", "code", "currency", "since_date"))
        begun = dict(zip(("account", "key", "code", "currency", "since_date"), same_break, strict=True))
        made_of = broken.setdefault(same_break, begun | {"variance_minor": 0, "rule": by_place.get(place, "key")})
        made_of["variance_minor"] += row["moved"] if row["side"] == LEDGER else -row["moved"]
    made += [closed | about.get((closed["account"], known_as(closed["key"])), {}) for closed in broken.values()]
    rows = [dict.fromkeys(CLOSED_BREAK) | row for row in made]
    return frame(rows, CLOSED_BREAK).sort_values(["account", "key", "code"], ignore_index=True)


def aside_of(met: pa.Table, rows: pa.Table, gone: pa.Table) -> pd.DataFrame:
    """The rows of each account that no rate counts, since they are of earlier periods, or decided to zero (`gone`).

    The columns are account, currency, and the counts and values of all of them and of those that matched. `rows` are
    part of breaks; `met` were carried forward, and are not.
    """
    waiting, by = rows.filter(pc.is_valid(rows["since"])), ["account", "currency"]
    parts = []
    for part, moved, matched in ((met, "moved", 1), (waiting, "signed", 0), (gone, "signed", 1)):
        value = pc.abs(part[moved])
        counts = {"rows": pa.repeat(1, len(part)), "matched_rows": pa.repeat(matched, len(part))}
        counts |= {"value": value, "matched_value": pc.multiply(value, matched)}
        parts.append(pa.table({name: part[name] for name in by} | counts))
    sums = pa.concat_tables(parts).group_by(by, use_threads=False).aggregate([(name, "sum") for name in counts])
    named = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
    made: pd.DataFrame = named.sort_by([(name, "ascending") for name in by]).to_pandas()
    return made
