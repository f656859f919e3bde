"""The same classification by hand in pandas, as it is usually written: frames merged, masks, and a code a mask."""

from pathlib import Path

import pandas as pd

GROUP = ["account", "g"]
FIELDS = {
    "currency_mismatch": "currency",
    "status_mismatch": "moves",
    "direction_mismatch": "direction",
    "amount_mismatch": "amount_minor",
    "fee_mismatch": "fee_minor",
}


def reconcile_by_pandas(ledger: Path, statement: Path) -> pd.DataFrame:
    """The breaks, with code, account, key, line, entry and variance."""
    ours, theirs = _side(ledger, ["number"]), _side(statement, ["statement", "line"])
    found = [_breaks(side[side["bad"]], "invalid_row", sign) for side, sign in ((ours, 1), (theirs, -1))]
    ours, theirs = ours[~ours["bad"]], theirs[~theirs["bad"]]
    batched = pd.concat([side.loc[side["batch"].notna(), GROUP] for side in (ours, theirs)]).drop_duplicates()
    plain, groups = [], []
    for side, code, sign in ((ours, "duplicate_in_ledger", 1), (theirs, "duplicate_in_statement", -1)):
        inside = side.merge(batched, on=GROUP, how="left", indicator=True)["_merge"].eq("both").to_numpy()
        rest = side[~inside]
        again = rest.duplicated(GROUP)
        found.append(_breaks(rest[again], code, sign))
        plain.append(rest[~again])
        groups.append(side[inside].groupby(GROUP).agg(effect=("effect", "sum"), key=("key", "first")))
    sums = groups[0].join(groups[1], how="outer", lsuffix="_l", rsuffix="_s")
    off = sums[sums["effect_l"].fillna(0) != sums["effect_s"].fillna(0)]
    code = pd.Series("batch_mismatch", index=off.index)
    code = code.mask(off["effect_l"].isna(), "missing_in_ledger").mask(off["effect_s"].isna(), "missing_in_statement")
    variance = off["effect_l"].fillna(0) - off["effect_s"].fillna(0)
    found.append(off.assign(code=code, key=off["key_s"].fillna(off["key_l"]), variance=variance).reset_index())
    pairs = plain[0].merge(plain[1], on=GROUP, how="outer", suffixes=("_l", "_s"), indicator=True)
    found.extend(_paired(pairs[pairs["_merge"] == "both"]))
    found.extend(_one_sided(pairs, theirs))
    columns = ["code", "account", "key", "line", "entry", "variance"]
    return pd.concat([part.reindex(columns=columns) for part in found], ignore_index=True)


def _breaks(rows: pd.DataFrame, code: str, sign: int) -> pd.DataFrame:
    return rows.assign(code=code, variance=rows["effect"] * sign)


def _side(path: Path, order: list[str]) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    frame["g"] = frame["batch"].fillna(frame["key"])
    frame["moves"] = frame["status"] == "completed"
    amount = frame["amount_minor"].where(frame["direction"] == "in", -frame["amount_minor"])
    frame["effect"] = (amount - frame["fee_minor"]).where(frame["moves"], 0)
    frame["bad"] = frame["key"].isna() | (frame["amount_minor"] < 0) | (frame["fee_minor"] < 0)
    frame["day"] = pd.to_datetime(frame["business_date"])
    return frame.sort_values(["occurred_at", *order])


def _paired(both: pd.DataFrame) -> list[pd.DataFrame]:
    masks = {code: (both[f"{name}_l"] != both[f"{name}_s"]) for code, name in FIELDS.items()}
    masks["date_mismatch"] = (both["day_l"] - both["day_s"]).abs().dt.days > 1
    masks["late_success"] = both["state"] == "in_suspense"
    left = pd.Series(data=True, index=both.index)
    found = []
    for code, mask in masks.items():
        mine = both[mask & left]
        found.append(mine.assign(code=code, key=mine["key_s"], variance=mine["effect_l"] - mine["effect_s"]))
        left &= ~mask
    return found


def _one_sided(pairs: pd.DataFrame, theirs: pd.DataFrame) -> list[pd.DataFrame]:
    only = {}
    for side, name in (("l", "left_only"), ("s", "right_only")):
        rows = pairs[(pairs["_merge"] == name) & pairs[f"moves_{side}"].eq(other=True)]
        kept = {
            column: column.removesuffix(f"_{side}")
            for column in rows.columns
            if not column.endswith("_s" if side == "l" else "_l")
        }
        only[side] = rows[list(kept)].rename(columns=kept)
    alike = ["account", "currency", "direction", "amount_minor", "phone"]
    met = only["l"][only["l"]["phone"].notna()].merge(only["s"], on=alike, suffixes=("_l", "_s"))
    met = met[(met["occurred_at_l"] - met["occurred_at_s"]).abs() <= pd.Timedelta(minutes=15)]
    once = (met.groupby("g_l")["g_s"].transform("size") == 1) & (met.groupby("g_s")["g_l"].transform("size") == 1)
    pairs = met[once]
    found = [pairs.assign(code="wrong_reference", key=pairs["key_s"], variance=pairs["effect_l"] - pairs["effect_s"],
                          line=pairs["line_s"], entry=pairs["entry_l"])]  # fmt: skip
    last = theirs.groupby("account")["day"].max()
    for side, sign, missing in (("l", 1, "missing_in_statement"), ("s", -1, "missing_in_ledger")):
        rows = only[side]
        code = pd.Series(missing, index=rows.index)
        if side == "l":
            code = code.mask(rows["kind"] == "payout_paid", "payout_unpaid")
        code = code.mask(rows["day"] > rows["account"].map(last) - pd.Timedelta(days=1), "timing")
        if side == "l":
            code = code.mask(rows["reverses"].notna(), "reversed_unmatched")
        code = code.mask(rows["g"].isin(met.loc[~once, f"g_{side}"]), "ambiguous")
        rows = rows.assign(code=code, variance=rows["effect"] * sign)
        found.append(rows[~rows["g"].isin(pairs[f"g_{side}"])])
    return found
