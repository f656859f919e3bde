"""A reconciliation put together by hand: one operator whose books agree, one with breaks of several kinds."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from workbench.analysis import shapes

MTN, BANK = "operator:mtn:float", "bank:settlement"
FIRST = date(2026, 1, 5)
NEW, WEEKS = "0–1", "8–30"  # noqa: RUF001  these are the names of the buckets

Rows = list[dict[str, Any]]


def framed(columns: dict[str, str], rows: Rows) -> pd.DataFrame:
    """A frame with exactly these columns and types; what a row leaves out is missing."""
    return pd.DataFrame(
        {
            name: pd.Series([row.get(name) for row in rows], dtype="object").astype(kind)
            for name, kind in columns.items()
        }
    )


def a_break(code: str, variance: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401  cells are of any type
    return {
        "statement": "mtn.csv", "line": 7, "account": MTN, "key": "1000000001", "code": code, "side": "ledger",
        "entry": "je_1", "ledger_minor": variance, "variance_minor": variance, "currency": "ZMW",
        "business_date": FIRST, "age_days": 1, "bucket": NEW, "phone": "+26096•••4567", "rows": 1,
        "reason": f"The reason of {code}.", "settlement": f"What settles {code}.", "proposal": None,
    } | more  # fmt: skip


BREAKS = [
    a_break("timing", 10_000, line=None, key="1000000002"),
    a_break("amount_mismatch", -200, side="both", ledger_minor=9_800, statement_minor=10_000, key="1000000003"),
    a_break("missing_in_ledger", -4_550, line=9, side="statement", entry=None, ledger_minor=None,
            statement_minor=4_550, key="1000000004", age_days=12, bucket=WEEKS, business_date=date(2026, 1, 9)),
    a_break("missing_in_statement", 123_456_789, line=None, key="1000000005", age_days=40, bucket="31+"),
    a_break("invalid_row", 0, side="statement", entry=None, ledger_minor=None, key=None, business_date=None,
            age_days=None, bucket=None, phone=None, line=11),
]  # fmt: skip


def a_match(**more: Any) -> dict[str, Any]:  # noqa: ANN401  the same
    return {
        "rule": "key", "account": MTN, "group": "1000000009", "side": "ledger", "entry": "je_9", "key": "1000000009",
        "currency": "ZMW", "signed_minor": 15_000, "differences": None,
    } | more  # fmt: skip


MATCHES = [
    a_match(),
    a_match(side="statement", entry=None, statement="mtn.csv", line=2),
    a_match(account=BANK, group="STL20260105", key="je_20", entry="je_20", signed_minor=1, rule="many_to_one"),
]


def in_summary(code: str, account: str = MTN, day: date | None = FIRST, **more: int) -> dict[str, Any]:
    counts = {"ledger_rows": 0, "statement_rows": 0, "ledger_value_minor": 0, "statement_value_minor": 0}
    return {
        "account": account, "business_date": day, "code": code, "currency": "ZMW", **counts, "variance_minor": 0
    } | more  # fmt: skip


SUMMED = [
    in_summary("matched", ledger_rows=1, statement_rows=1, ledger_value_minor=15_000, statement_value_minor=15_000),
    in_summary("matched", BANK, ledger_rows=1, statement_rows=1, ledger_value_minor=500, statement_value_minor=500),
    in_summary("timing", ledger_rows=1, ledger_value_minor=10_000, variance_minor=10_000),
    in_summary("amount_mismatch", ledger_rows=1, statement_rows=1, ledger_value_minor=9_800,
               statement_value_minor=10_000, variance_minor=-200),
    in_summary("missing_in_ledger", day=date(2026, 1, 9), statement_rows=1, statement_value_minor=4_550,
               variance_minor=-4_550),
    in_summary("missing_in_statement", ledger_rows=1, ledger_value_minor=123_456_789, variance_minor=123_456_789),
    in_summary("invalid_row", day=None, statement_rows=1),
]  # fmt: skip


def aged(breaks: Rows) -> Rows:
    return [
        {"account": each["account"], "currency": each["currency"], "code": each["code"], "bucket": each["bucket"],
         "breaks": 1, "rows": each["rows"], "variance_minor": each["variance_minor"]} for each in breaks
    ]  # fmt: skip


def proved(account: str, ledger: int, statement: int, explained: int, note: str | None = None) -> dict[str, Any]:
    return {
        "account": account, "currency": "ZMW", "ledger_minor": ledger, "statement_minor": statement,
        "difference_minor": ledger - statement, "breaks_minor": explained, "tolerated_minor": 0, "brought_minor": 0,
        "opening_minor": 0, "gap_minor": 0, "unexplained_minor": ledger - statement - explained,
        "holds": ledger - statement == explained, "note": note,
    }  # fmt: skip


GIVEN = [
    {"side": "ledger", "name": "ledger.parquet", "sha256": "0" * 64, "rows": 5},
    {"side": "statement", "name": "mtn.csv", "sha256": "1" * 64, "rows": 5, "account": MTN, "first_date": FIRST,
     "last_date": date(2026, 1, 9)},
    {"side": "statement", "name": "<bank>.csv", "sha256": None, "rows": 1, "account": BANK},
]  # fmt: skip

Make = Callable[..., SimpleNamespace]


@pytest.fixture(scope="session")
def reconciled() -> Make:
    """Results by hand, with other rows where a test gives them."""

    def make(
        *,
        breaks: Rows = BREAKS,
        matches: Rows = MATCHES,
        summary: Rows = SUMMED,
        proof: Rows | None = None,
        inputs: Rows = GIVEN,
        ageing: Rows | None = None,
    ) -> SimpleNamespace:
        explained = sum(each["variance_minor"] for each in breaks)
        proof = [proved(MTN, explained + 70_000, 70_000, explained), proved(BANK, 5, 5, 0)] if proof is None else proof
        return SimpleNamespace(
            breaks=framed(dict(shapes.BREAK), breaks),
            matches=framed(dict(shapes.MATCH), matches),
            summary=framed(dict(shapes.SUMMARY), summary),
            ageing=framed(dict(shapes.AGEING), aged(breaks) if ageing is None else ageing),
            proof=framed(dict(shapes.PROOF), proof),
            inputs=framed(dict(shapes.INPUTS), inputs),
            is_clean={each["code"] for each in breaks} <= {"timing"},
        )

    return make


@pytest.fixture(scope="session")
def break_row() -> Callable[..., dict[str, Any]]:
    return a_break


@pytest.fixture(scope="session")
def match_row() -> Callable[..., dict[str, Any]]:
    return a_match


@pytest.fixture(scope="session")
def proof_row() -> Callable[..., dict[str, Any]]:
    return proved


@pytest.fixture(scope="session")
def moment() -> datetime:
    return datetime(2026, 2, 1, 8, 30, tzinfo=UTC)
