"""What is open, here: pairs that do not agree, what rule 6 makes of those on one side, and the frame of breaks.

Nothing of it is a table any more. The breaks are few beside the rows, and each is shown to a person.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from workbench.analysis import breaks as codes
from workbench.analysis.frames import frame
from workbench.analysis.reconcile.classify import NARROW, Classified, effect_of, open_specials
from workbench.analysis.reconcile.engines import Engine
from workbench.analysis.reconcile.rules import (
    FLAG,
    LEDGER,
    NUMBER,
    OF_SIDE,
    ONE_SIDED,
    PARTNERS_WITHIN_MS,
    PREFIX,
    ROW,
    STATEMENT,
    TEXT,
    WHOLE,
    WORD,
    Frame,
    Shape,
)
from workbench.analysis.shapes import BREAK
from workbench.domain.phones import COUNTRY, GAPS, MOBILE, mask_column

Row = dict[str, Any]
"""A row in the shape ROW, with its account's name."""
Pair = dict[str, Any]
"""What is said of one thing by both sides, or by one: then the other side's `no` is null.

`account`, `g`, `code`, `rows`, `repeated`, the `members` of a group, and of each side the columns OF_SIDE as `l_…`
and `s_…`: for a group those of its first row on that side, where `signed` is the sum. Of a reversal on the statement
`reversed_entry` and `reversed_signed` are what the ledger has of what it reverses.
"""
_NOTHING: Pair = {
    **{f"{prefix}{name}": None for prefix in PREFIX.values() for name in OF_SIDE},
    "rows": 1, "repeated": False, "members": (), "reversed_entry": None, "reversed_signed": None,
}  # fmt: skip
_COMPARED: Shape = {"account": NUMBER, "g": WORD, "code": WORD} | {
    f"{prefix}{name}": ROW[name] for side, prefix in PREFIX.items() for name in (*NARROW[side], "signed")
}


def open_pairs(
    engine: Engine, classified: Classified, ledger: Frame, accounts: Sequence[str], cut_after: Mapping[str, int]
) -> list[Pair]:
    """Every pair that is a break, or agrees only within the tolerance.

    `ledger` has every row of these accounts, and `cut_after` is the last settled day of each.
    """
    found = [*_bad(engine, classified.bad), *_compared(engine, classified.compared), *_specials(engine, classified)]
    for pair in found:
        pair["account"] = accounts[pair["account"]]
        for row in pair["members"]:
            row["account"] = pair["account"]
    return _resolved(engine, found, ledger, accounts, cut_after)


def _bad(engine: Engine, bad: Sequence[Frame]) -> Iterator[Pair]:
    """Rule 1. Such a row is of no group, though another row's group may be called as its would be."""
    for rows in bad:
        for row in engine.rows(rows, ROW):
            yield _alone({**row, "g": None}, codes.INVALID)


def _compared(engine: Engine, compared: Frame) -> Iterator[Pair]:
    differ = compared.filter(~nw.col("code").is_null())
    effects = {f"{prefix}signed": effect_of(side) for side, prefix in PREFIX.items()}
    for row in engine.rows(differ, _COMPARED, **effects):
        pair = {**_NOTHING, **row}
        there = [prefix for prefix in PREFIX.values() if row[f"{prefix}no"] is not None]
        for prefix in PREFIX.values():
            # What did not go through the join follows from what did.
            pair |= {f"{prefix}key": row["g"]} if prefix in there else {f"{prefix}signed": None}
        yield {**pair, "rows": len(there)}


def _specials(engine: Engine, classified: Classified) -> Iterator[Pair]:
    """Rules 2 and 3: lines told again, further rows of a key, and groups with a batch that do not agree."""
    shape = {**ROW, "repeated": FLAG, "batches": NUMBER, "rank": NUMBER}
    rows = engine.rows(classified.special.filter(open_specials()), shape)
    batched = [row for row in rows if row["batches"] and not row["repeated"]]
    for row in rows:
        if row["repeated"]:
            yield {**_alone({**row, "g": None}, codes.DUPLICATE[STATEMENT]), "repeated": True}
        elif not row["batches"]:
            yield _alone(row, codes.DUPLICATE[row["side"]])
    for _, members in groupby(sorted(batched, key=_group), key=_group):
        yield _of_group(list(members))


def _group(row: Row) -> tuple[int, str]:
    return row["account"], row["g"]


def _of_group(members: list[Row]) -> Pair:
    """A pair with the sums. A row that only has the batch's name as its key is part of the batch as well."""
    pair = {**_NOTHING, "account": members[0]["account"], "g": members[0]["g"], "rows": len(members)}
    firsts = [row for row in members if row["rank"] == 1]
    for first in firsts:
        signed = sum(row["signed"] for row in members if row["side"] == first["side"])
        pair |= _sided({**first, "batch": first["g"], "signed": signed})
    return {**pair, "members": members, "code": codes.BATCH_MISMATCH if len(firsts) > 1 else ONE_SIDED}


def _alone(row: Row, code: str) -> Pair:
    return {**_NOTHING, **_sided(row), "account": row["account"], "g": row["g"], "code": code}


def _sided(row: Row) -> Pair:
    prefix = PREFIX[row["side"]]
    return {f"{prefix}{name}": row[name] for name in OF_SIDE}


def _resolved(
    engine: Engine, found: Sequence[Pair], ledger: Frame, accounts: Sequence[str], cut_after: Mapping[str, int]
) -> list[Pair]:
    """The pairs with a code for those that stand on one side."""
    waiting = [pair for pair in found if pair["code"] == ONE_SIDED]
    made = [pair for pair in found if pair["code"] != ONE_SIDED]
    partners = _partners([pair for pair in waiting if not pair["members"]])
    count = Counter(id(pair) for both in partners for pair in both)
    met = set()
    for ours, theirs in partners:
        if count[id(ours)] == count[id(theirs)] == 1:
            met |= {id(ours), id(theirs)}
            right = {name: value for name, value in theirs.items() if name.startswith(PREFIX[STATEMENT])}
            made.append({**ours, **right, "code": codes.WRONG_REFERENCE, "rows": 2})
    lonely = [pair for pair in waiting if id(pair) not in met]
    asked = [pair for pair in lonely if pair["s_kind"] == "reversal" and not count[id(pair)]]
    known = _reversed(engine, ledger, accounts, {(pair["account"], pair["s_refers"]) for pair in asked})
    for pair in lonely:
        if count[id(pair)]:
            made.append({**pair, "code": codes.AMBIGUOUS})
            continue
        whole = pair | known.get((pair["account"], pair["s_refers"]), {}) if pair["s_kind"] == "reversal" else pair
        made.append({**whole, "code": _lonely(whole, cut_after[pair["account"]])})
    return made


def _partners(waiting: Sequence[Pair]) -> list[tuple[Pair, Pair]]:
    """Every two one-sided rows that may be one movement."""
    theirs = defaultdict(list)
    for pair in waiting:
        if pair["l_no"] is None and pair["s_phone"] is not None:
            national, alike = _alike(pair, PREFIX[STATEMENT])
            theirs[alike].append((national, pair))
    found = []
    for pair in waiting:
        if pair["s_no"] is None and pair["l_phone"] is not None:
            mine, alike = _alike(pair, PREFIX[LEDGER])
            found += [
                (pair, other) for national, other in theirs.get(alike, ())
                # Where neither side masks it, the whole number tells two customers apart.
                if (mine == national or re.search("[*•]", mine + national)) and _near(pair, other)
            ]  # fmt: skip
    return found


def _alike(pair: Pair, prefix: str) -> tuple[str, tuple[Any, ...]]:
    """A customer's number in national form, and what two rows of one movement have in common.

    However it is written, a number has two digits and the last three in common with its masked form. What is no
    mobile number of this country is compared as it is.
    """
    phone = pair[f"{prefix}phone"]
    national = re.sub(COUNTRY, "", re.sub(GAPS, "", phone))
    ends = (national[:2], national[6:]) if re.fullmatch(MOBILE, national) else (phone, "")
    return national, (
        pair["account"],
        *(pair[f"{prefix}{name}"] for name in ("currency", "direction", "amount")),
        *ends,
    )


def _near(ours: Pair, theirs: Pair) -> bool:
    if ours["l_at"] is None or theirs["s_at"] is None:
        return bool(ours["l_day"] == theirs["s_day"])
    return bool(abs(ours["l_at"] - theirs["s_at"]) <= PARTNERS_WITHIN_MS)


def _reversed(
    engine: Engine, ledger: Frame, accounts: Sequence[str], wanted: set[tuple[str, str | None]]
) -> Mapping[tuple[str, str], Pair]:
    """What the ledger has of the keys that reversals on the statement name, by account and key."""
    keys = [(accounts.index(account), key) for account, key in wanted if key is not None]
    if not keys:
        return {}
    named = pa.table({"account": [place for place, _ in keys], "key": [key for _, key in keys]})
    there = ledger.join(engine.arrow(named, {"account": WHOLE, "key": TEXT}), on=["account", "key"], how="semi")
    found = defaultdict(list)
    for row in engine.rows(there, {"account": NUMBER, "key": WORD, "entry": WORD, "signed": NUMBER}):
        found[accounts[row["account"]], row["key"]].append(row)
    return {
        name: {
            "reversed_entry": min((row["entry"] for row in rows if row["entry"] is not None), default=None),
            "reversed_signed": max(row["signed"] for row in rows),
        }
        for name, rows in found.items()
    }


def _lonely(pair: Pair, last: int) -> str:
    """Rules 6b to 6d."""
    ours = pair["s_no"] is None
    if (ours and pair["l_refers"] is not None) or pair["reversed_signed"] is not None:
        return codes.REVERSED_UNMATCHED
    if (pair["l_day"] if ours else pair["s_day"]) > last:
        return codes.TIMING
    if ours and pair["l_kind"] == "payout_paid":
        return codes.PAYOUT_UNPAID
    return codes.MISSING[LEDGER if ours else STATEMENT]


_SORTED = ["account", "business_date", "code", "statement", "line", "key", "entry", "side", "reason"]


def breaks_of(pairs: Sequence[Pair], closing: Mapping[str, int], expected_in: Mapping[str, str]) -> pd.DataFrame:
    """The frame BREAK, in an order that depends on nothing but its rows.

    `closing` is the last day of each account, `expected_in` the names of its statements.
    """
    made = frame((_break(pair, closing, expected_in) for pair in pairs), BREAK)
    made = made.sort_values(_SORTED, kind="stable", ignore_index=True)
    made["code"] = made["code"].cat.set_categories(codes.CODES)
    made["bucket"] = made["bucket"].cat.set_categories(list(codes.BUCKETS), ordered=True)
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
        "bucket": None if age is None else codes.bucket_of(age),
        "phone": mask_column(pair["s_phone"] or pair["l_phone"] or "") or None,
        "rows": pair["rows"],
        "reason": codes.reason_of(pair),
        "settlement": codes.BREAK_CODES[pair["code"]].settlement,
        "proposal": codes.proposal_of(pair, _ledger_members(pair)),
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
