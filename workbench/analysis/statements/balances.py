"""The running balance, row by row: where it does not follow from the row before, that is a finding."""

from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FINDING: Final = {"line": "int64", "expected_minor": "int64", "found_minor": "int64"}
"""`line` is where the balance stands that does not follow."""

Whole = NDArray[np.int64]


class Running(NamedTuple):
    """What the rows say of the balance; None where they say nothing."""

    opening_minor: int | None
    closing_minor: int | None
    findings: pd.DataFrame


def checked(rows: pd.DataFrame, *, opening: int | None, closing: tuple[int, int] | None, newest_first: bool) -> Running:
    """Go through rows of STATEMENT_ROW in their order, or from the last where the newest stands first.

    `opening` is what the file declares, `closing` its line and what it declares. Between two balances
    stands what the rows between them do; where one of these cannot be read, nothing is said.
    """
    rows = rows.iloc[::-1] if newest_first else rows
    effects, known = effects_of(rows)
    has_balance = rows["balance_minor"].notna().to_numpy(dtype=bool)
    moved, unknown = np.cumsum(effects), np.cumsum(~known)
    points = np.array(
        [
            rows["line"].to_numpy(dtype=np.int64)[has_balance],
            rows["balance_minor"].dropna().to_numpy(dtype=np.int64),
            moved[has_balance],
            unknown[has_balance],
        ]
    )
    ends = (moved[-1], unknown[-1]) if len(rows) else (0, 0)
    before = np.empty((4, 0), np.int64) if opening is None else np.array([[0], [opening], [0], [0]])
    after = np.empty((4, 0), np.int64) if closing is None else np.array([[each] for each in (*closing, *ends)])
    return Running(
        _first(points) if opening is None else opening,
        _last(points, *ends) if closing is None else closing[1],
        _findings(np.concatenate([before, points, after], axis=1)),
    )


def _findings(points: Whole) -> pd.DataFrame:
    """Where one balance does not follow from the one before; of each its line, itself, and what led to it."""
    lines, balances, moved, unknown = points
    expected = balances[:-1] + np.diff(moved)
    wrong = (expected != balances[1:]) & (np.diff(unknown) == 0)
    found = {"line": lines[1:][wrong], "expected_minor": expected[wrong], "found_minor": balances[1:][wrong]}
    return pd.DataFrame(found).astype(FINDING)


def _first(points: Whole) -> int | None:
    """The balance before the first row, from the first that is told."""
    if not points.size or points[3, 0]:
        return None
    return int(points[1, 0] - points[2, 0])


def _last(points: Whole, moved: int, unknown: int) -> int | None:
    """The balance after the last row, from the last that is told."""
    if not points.size or points[3, -1] != unknown:
        return None
    return int(points[1, -1] + moved - points[2, -1])


def effects_of(rows: pd.DataFrame) -> tuple[Whole, NDArray[np.bool_]]:
    """What each row does to the account, signed, and whether that is known."""
    moved: Any = rows["status"] == "completed"
    complete = rows[["direction", "amount_minor", "fee_minor", "status"]].notna().all(axis=1).to_numpy(dtype=bool)
    amounts = rows["amount_minor"].fillna(0).to_numpy(dtype=np.int64)
    fees = rows["fee_minor"].fillna(0).to_numpy(dtype=np.int64)
    signed = np.where((rows["direction"] == "in").to_numpy(dtype=bool), amounts, -amounts) - fees
    effects = np.where(complete & moved.to_numpy(dtype=bool), signed, np.int64(0))
    still = rows["status"].isin(["failed", "pending"]).to_numpy(dtype=bool)
    return effects, complete | still
