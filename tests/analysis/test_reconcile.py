"""Reconciling by hand-made rows: what is refused, what is carried, what settles, what is said.

A run of the rules costs far more than the rows of a case, so the cases of a table are accounts of one run.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from workbench import Workbench
from workbench.analysis import shapes
from workbench.analysis.frames import frame, python_rows, untyped
from workbench.analysis.reconcile import BUCKETS, CarryForward, Reconciliation, Tolerance, reconcile
from workbench.analysis.shapes import CARRIED, CLOSED, INPUTS, LEDGER_MOVEMENT, STATEMENT_ROW
from workbench.analysis.statements import Statement, read_statement
from workbench.errors import ReconcileRefused

ACCOUNT = "operator:mtn:float"
KINDS: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda rows: rows,
    "polars": pl.from_pandas,
    "lazy polars": lambda rows: pl.from_pandas(rows).lazy(),
    "arrow": lambda rows: pl.from_pandas(rows).to_arrow(),
    "duckdb": lambda rows: duckdb.from_arrow(pa.Table.from_pandas(rows, preserve_index=False)),
}
"""The libraries whose tables are taken → how one is made."""
SOME_KINDS = ["pandas", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("duckdb", "polars"))]
Row = dict[str, object]
Case = tuple[pd.DataFrame, list[object]]
"""A ledger, and what is held against it."""


def movement(key: str | None, amount: int | None, *, day: int = 5, **more: object) -> Row:
    at = datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(days=day - 1)
    return {
        "account": ACCOUNT, "key": key, "batch": None, "occurred_at": at, "business_date": at.date(),
        "direction": "in", "amount_minor": amount, "fee_minor": 0, "currency": "ZMW", "status": "completed",
        "phone": None, **more,
    }  # fmt: skip


def effect(row: Row) -> int:
    if row["status"] != "completed" or row["direction"] not in {"in", "out"} or row["amount_minor"] is None:
        return 0
    return (row["amount_minor"] if row["direction"] == "in" else -row["amount_minor"]) - row["fee_minor"]


def ledger_of(*rows: Row) -> pd.DataFrame:
    """Entries in the order given, with the balance of their account."""
    made, balances = [], Counter[object]()
    for number, row in enumerate(rows, start=1):
        balances[row["account"]] += effect(row)
        usual = {"entry": f"je_{number}", "number": number, "kind": "funds_secured", "state": "posted"}
        balance = {"balance_minor": balances[row["account"]]}
        made.append(dict.fromkeys(LEDGER_MOVEMENT) | usual | row | balance)
    return frame(made, LEDGER_MOVEMENT)


UNKNOWN = pd.Series([None] * 3, dtype="Int64")
"""The balances of a ledger that has none."""


def statement_of(*rows: Row, name: str = "mtn.csv", opening: int | None = 0, jump: int = 0) -> pd.DataFrame:
    """Lines in the order given; with an opening balance each has the balance after it."""
    made, balance = [], opening
    for line, row in enumerate(rows, start=2):
        balance = None if balance is None else balance + effect(row) + (jump if line == 3 else 0)
        usual = {"statement": name, "line": line, "type": "payment", "description": "", "balance_minor": balance}
        made.append(dict.fromkeys(STATEMENT_ROW) | usual | row)
    return frame(made, STATEMENT_ROW)


def file_of(rows: pd.DataFrame, *, name: str = "mtn.csv", **more: Any) -> Statement:  # noqa: ANN401  its fields
    """What reading a file gives."""
    usual = {
        "name": name, "sha256": "0" * 64, "layout": "mtn", "account": ACCOUNT, "currency": "ZMW",
        "table": untyped(rows, STATEMENT_ROW),
        "opening_minor": None, "closing_minor": None, "period": None,
        "findings": pd.DataFrame(columns=["line", "expected_minor", "found_minor"]), "followed": len(rows),
    }  # fmt: skip
    return Statement(**{**usual, **more})


def without_rows(balance: int, **more: object) -> Statement:
    """The file of a period in which nothing happened."""
    return file_of(statement_of(), opening_minor=balance, closing_minor=balance, **more)


def together(cases: Mapping[str, Case], kind: str = "pandas", **settings: object) -> Reconciliation:
    """One run over all cases, each an account of its own; tables are of this kind."""
    ledger = pd.concat([rows.assign(account=name) for name, (rows, _) in cases.items()], ignore_index=True)
    given = [(each, name) for name, (_, statements) in cases.items() for each in statements]
    lines = [each.assign(account=name) for each, name in given if isinstance(each, pd.DataFrame)]
    reported = [renamed(each, name) for each, name in given if isinstance(each, Statement)]
    made = KINDS[kind]
    return reconcile(made(ledger), [made(pd.concat(lines, ignore_index=True)), *reported], **settings)


def renamed(reported: Statement, name: str) -> Statement:
    rows = reported.rows.assign(account=name, statement=f"{name}.csv")
    return replace(reported, name=f"{name}.csv", sha256=name, account=name, table=untyped(rows, STATEMENT_ROW))


def codes(breaks: pd.DataFrame) -> list[tuple[str | None, str]]:
    found = zip(breaks["key"], breaks["code"], strict=True)
    return sorted([(None if pd.isna(key) else key, code) for key, code in found], key=str)


def facts(result: Reconciliation, account: str) -> dict[str, object]:
    """What there is to say of one account: its line of the proof, and columns of its breaks in their order."""
    frames = (result.breaks, result.matches, result.summary, result.proof)
    breaks, matches, summary, proof = (frame[frame["account"] == account] for frame in frames)
    carried = result.carry_forward.of([account])
    bodies = [body for each in breaks["proposal"].dropna() for body in json.loads(each)]
    return {
        **{name: [None if pd.isna(each) else each for each in breaks[name]] for name in shapes.BREAK},
        **proof.to_dict("records")[0],
        "codes": codes(breaks),
        "recipes": [body["recipe"] for body in bodies],
        "proposed": [body["amount_minor"] for body in bodies],
        "proposed of": [body["entry"] for body in bodies],
        "proposed under": [body["reference"] for body in bodies],
        "rules": matches["rule"].tolist(),
        "told again": summary.loc[summary["code"] == "told_again", "statement_rows"].sum(),
        "read": summary[["ledger_rows", "statement_rows"]].sum().tolist(),
        "carried": len(carried.rows),
        "phones carried": carried.rows["phone"].tolist(),
        "closed": carried.closed[["statement_minor", "last_number"]].to_numpy().tolist(),
        "ahead": carried.ahead["entry"].tolist(),
    }


A, B = movement("a", 100), movement("b", 200, fee_minor=2)
LEDGER, STATEMENT = ledger_of(A, B), statement_of(A, B)
OUT_AGAIN = movement("d", 100, direction="out")
EARLY, LATER, LATEST = movement("a", 100, day=4), movement("b", 200, fee_minor=2), movement("c", 50, day=6)
P, Q, C = movement("p", 100, day=4, batch="b"), movement("q", 50, day=4, batch="b"), movement("c", 7, day=6)
CREDIT = movement("b", 150, day=4)
AT, QUARTER = A["occurred_at"], timedelta(minutes=15)
MASKED = "+26096••••567"
SPELLINGS = ["+260961234567", "260961234567", "0961234567", "961234567", "+260 96-123 4567", "26096****567"]
ONE_CUSTOMER = [pair for each in SPELLINGS for pair in ((each, MASKED), (MASKED, each), (each, "0961234567"))]
TWO_CUSTOMERS = [("0961234567", "0969999567"), ("+260961234567", "260971234567"), ("+254712345678", "+254712345679"),
                 ("p", "q")]  # fmt: skip
LONG = "=cmd|'/c calc'!A1" * 600


def phoned(phones: list[tuple[str, str]]) -> Case:
    """Of each pair a payment with its number as each side writes it, alike in all but the key."""
    ours = [movement(f"a{place:02}", 100 + place, phone=each) for place, (each, _) in enumerate(phones)]
    theirs = [movement(f"z{place:02}", 100 + place, phone=each) for place, (_, each) in enumerate(phones)]
    return ledger_of(*ours), [statement_of(*theirs)]


def bad_row(**wrong: object) -> Case:
    return ledger_of(A), [statement_of(A, {**movement("b", 200), **wrong})]


def aged(days: int) -> Case:
    last = movement("last", 1, day=32)
    return ledger_of(movement("k", 1, day=32 - days), last), [statement_of(last)]


BAD = {
    "no key": {"key": None}, "no amount": {"amount_minor": None}, "a negative fee": {"fee_minor": -5},
    "no business date": {"business_date": None}, "the date is 31 February": {"problem": "the date is 31 February."},
    "'across' as direction, which is none of in, out": {"direction": "across"},
}  # fmt: skip
AGES = {0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 7: 2, 8: 3, 30: 3, 31: 4}
FINDINGS = pd.DataFrame({"line": [2, 3], "expected_minor": [100, 401], "found_minor": [203, 298]})
OUT, FEE, FAILED = {"direction": "out"}, {"fee_minor": 3}, {"status": "failed"}
AGREE = {"codes": [], "difference_minor": 0}
ONE_KEY = {
    "a refund": ([(100,), (30, OUT)], [(30, OUT), (100,)], {**AGREE, "rules": ["key"] * 4}),
    "a charge of its own": ([(100, FEE)], [(100,), (3, OUT)], {**AGREE, "rules": ["one_to_many"] * 3}),
    "a payment in two parts": ([(60,), (40,)], [(100,)], {**AGREE, "rules": ["many_to_one"] * 3}),
    "parts on both sides": ([(60,), (40,)], [(70,), (30,)], {**AGREE, "rules": ["many_to_many"] * 4}),
    "two rows on both sides": ([(100,)] * 2, [(100,)] * 2, {**AGREE, "rules": ["key"] * 4}),
    "what came and went": ([(100,)], [(100,), (5,), (5, OUT)], {**AGREE, "rules": ["nets_to_zero"] * 2 + ["key"] * 2}),
    "a try that failed": ([(100,)], [(100, FAILED), (100,)], {**AGREE, "rules": ["nothing_moved"] + ["key"] * 2}),
    "a true duplicate": ([(100,)], [(100,)] * 2, {"code": ["duplicate_in_statement"], "rules": ["key"] * 2}),
    "a refund that differs": ([(100,), (30, OUT)], [(100,), (40, OUT)],
                              {"code": ["amount_mismatch"], "variance_minor": [10], "rules": ["key"] * 2}),
    "a refund that differs by its way": ([(100,), (30, OUT)], [(100,), (30,)], {"code": ["direction_mismatch"]}),
    "a refund on one side is no duplicate": ([(100,), (30, OUT)], [(100,)], {"code": ["timing"], "rules": ["key"] * 2}),
    "another fee beside a refund": ([(100, FEE), (30, OUT)], [(100,), (30, OUT)], {"code": ["fee_mismatch"]}),
    "one and one of one sum still differ": ([(50,), (100,)], [(50,), (103, FEE)], {"code": ["amount_mismatch"]}),
    "nothing alike": ([(100,), (100,)], [(70, OUT)], {"code": ["direction_mismatch", "duplicate_in_ledger"]}),
}  # fmt: skip
"""What the rows of one key come to: those of the ledger, and those of the statement."""
KEYS: dict[str, tuple[list[str], list[str], list[str], int]] = {
    "spaces, case and leading zeros": (["00123", "AB 12", " c\u00a0"], ["123", "ab12", "C"], [], 6),
    "zeros within": (["mp0012"], ["MP12"], ["MP12", "mp0012"], 0),
    "nothing but zeros": (["000"], ["0"], [], 2),
    "two of one side are no duplicate": (["abc", "ABC"], ["abc"], ["ABC"], 2),
    "those written alike first": (["abc", "ABC"], ["Abc", "ABC"], [], 4),
    "all of a key": (["0k", "0k"], ["K", "k"], [], 4),
    "another spelling of a key of both sides": (["712"], ["0712", "712"], ["0712"], 2),
}
SINGLE: dict[str, tuple[Case, Row]] = {
    "headers alone leave all that is settled missing": (
        (LEDGER, [without_rows(0, period=(date(2026, 1, 1), date(2026, 1, 31)))]),
        {"codes": [("a", "missing_in_statement"), ("b", "missing_in_statement")], "age_days": [26, 26],
         "bucket": ["8–30", "8–30"], "holds": True},  # noqa: RUF001  an en dash, as in print
    ),
    "payments that all failed need no account in the ledger": (
        (LEDGER.iloc[:0], [statement_of({**A, "status": "failed"}, {**B, "status": "pending"})]),
        {"codes": [], "rules": ["nothing_moved"] * 2, "holds": True},
    ),
    "of several currencies the proof has the statement's commonest, and does not hold for the others": (
        (ledger_of({**A, "currency": "AUD"}, {**B, "currency": "AUD"}, C).assign(balance_minor=UNKNOWN),
         [statement_of({**A, "currency": "AUD"}, B, C, opening=None)]),
        {"currency": "ZMW", "codes": [("b", "currency_mismatch")], "holds": False, "unexplained_minor": 0},
    ),
    "and holds where each row in another currency is a break": (
        (ledger_of({**A, "currency": "AUD"}, {**B, "currency": "AUD"}, C).assign(balance_minor=UNKNOWN),
         [statement_of(B, C)]),
        {"currency": "ZMW", "codes": [("a", "missing_in_statement"), ("b", "currency_mismatch")], "holds": True},
    ),
    "a balance that does not follow": (
        (LEDGER, [statement_of(A, B, jump=7)]),
        {"holds": False, "gap_minor": 7, "unexplained_minor": -7, "opening_minor": 0,
         "note": "the statement's balances jump by K0.07 beyond its rows"},
    ),
    "nor does one that comes right again": (
        (LEDGER, [file_of(STATEMENT, findings=FINDINGS)]),
        {"holds": False, "unexplained_minor": 0, "note": "the running balance of nor does one that comes right "
         "again.csv does not agree in line 2, and in 1 more: K1.00 expected, K2.03 found"},
    ),
    "another opening balance": (
        (LEDGER, [file_of(STATEMENT, opening_minor=50, closing_minor=348)]), {"holds": False, "opening_minor": -50},
    ),
    "the newest row first": (
        (ledger_of(EARLY, LATER), [statement_of(EARLY, LATER).assign(line=[3, 2])]), {"codes": [], "holds": True},
    ),
    "so it is where what came in went out again and either order follows": (
        (ledger_of(EARLY, OUT_AGAIN), [statement_of(EARLY, OUT_AGAIN).assign(line=[3, 2])]),
        {"codes": [], "holds": True, "opening_minor": 0, "statement_minor": 0},
    ),
    "an old row last is no sign of that": (
        (ledger_of(EARLY, LATER, movement("c", 7, day=3)), [statement_of(EARLY, LATER, movement("c", 7, day=3))]),
        {"holds": True, "statement_minor": 305, "opening_minor": 0, "gap_minor": 0},
    ),
    "overlapping files tell a line twice": (
        (ledger_of(EARLY, LATER, LATEST), [statement_of(EARLY, LATER, name="first.csv"),
                                           statement_of(LATER, LATEST, name="second.csv", opening=100)]),
        {"codes": [], "rules": ["key"] * 2 + ["told_again"] + ["key"] * 4, "told again": 1, "read": [3, 4],
         "holds": True},
    ),
    "of a line that the second file has twice one moved the balance": (
        (ledger_of(A), [statement_of(A, name="first.csv"), statement_of(A, A, name="second.csv")]),
        {"variance_minor": [-100], "told again": 1, "difference_minor": -100, "holds": True},
    ),
    "two lines that both files have moved it twice": (
        (ledger_of(A), [statement_of(A, A, name="first.csv"), statement_of(A, A, name="second.csv")]),
        {"variance_minor": [-100], "told again": 2, "difference_minor": -100, "holds": True},
    ),
    "a line twice in one file moves the balance twice": (
        (ledger_of(A), [statement_of(A, A)]),
        {"codes": [("a", "duplicate_in_statement")], "difference_minor": -100, "breaks_minor": -100, "holds": True},
    ),
    "part of a batch that two files tell is added once": (
        (ledger_of(CREDIT, C), [statement_of(P, Q, name="first.csv"),
                                statement_of(Q, C, name="second.csv", opening=100)]),
        {"codes": [], "rules": ["one_to_many"] * 3 + ["told_again"] + ["key"] * 2, "told again": 1, "holds": True},
    ),
    "so is one whose batch only the ledger knows": (
        (ledger_of(*(movement(f"je_{n}", 75, day=4, batch="b") for n in (1, 2)), C),
         [statement_of(CREDIT, name="first.csv"), statement_of(CREDIT, C, name="second.csv")]),
        {"codes": [], "told again": 1, "holds": True},
    ),
    **{f"one key: {name}": (
        (ledger_of(*(movement("k", *row[:1], **dict(*row[1:])) for row in ours)),
         [statement_of(*(movement("k", *row[:1], **dict(*row[1:])) for row in theirs))]), {**expected, "holds": True})
       for name, (ours, theirs, expected) in ONE_KEY.items()},
    **{f"keys: {name}": (
        (ledger_of(*(movement(key, 100) for key in ours)), [statement_of(*(movement(key, 100) for key in theirs))]),
        {"codes": [(key, "timing") for key in left], "rules": ["key"] * agree, "holds": True})
       for name, (ours, theirs, left, agree) in KEYS.items()},
    "a line of a batch that failed is part of it": (
        (ledger_of(CREDIT), [statement_of(P, Q, {**P, "key": "r", "status": "failed"})]),
        {"codes": [], "rules": ["one_to_many"] * 4, "holds": True},
    ),
    "kwacha and dollars are not added up": (
        (ledger_of(A, movement("k", 60), movement("k", 40)),
         [statement_of(A, movement("k", 100, currency="USD"))]), {"rules": ["key"] * 2},
    ),
    "a batch of both sides is added up": (
        (ledger_of(P, Q), [statement_of(P, Q)]), {"codes": [], "rules": ["many_to_many"] * 4, "holds": True},
    ),
    "a row named as its batch has no partner outside it": (
        (ledger_of({**A, "phone": "p"}, movement("x", 1, day=9)),
         [statement_of(movement("b", 100, phone="p"), movement("part", 100, phone="p", batch="b"),
                       movement("x", 1, day=9))]),
        {"codes": [("a", "missing_in_statement"), ("b", "missing_in_ledger")], "rows": [2, 1], "carried": 3},
    ),
    **{f"a bad row: {said}": (
        bad_row(**wrong), {"line": [3], "reason": [f"The row cannot be used: {said}."],
                           "unexplained_minor": 0})
       for said, wrong in BAD.items()},
    "text of any length and formulas are only text": (
        (LEDGER, [statement_of(A, movement(LONG, 1), B)]), {"codes": [(LONG, "timing")]},
    ),
    "an empty text is neither a key nor a batch": (
        (ledger_of(movement("a", 300, batch=""), movement("b", 5, batch=""), movement("", 7)),
         [statement_of(movement("a", 5, batch=""), movement("b", 300, batch=""), movement("", 7))]),
        {"codes": [("a", "amount_mismatch"), ("b", "amount_mismatch"), *[(None, "invalid_row")] * 2]},
    ),
    "a number is the same however each side writes it": (
        phoned(ONE_CUSTOMER),
        {"codes": [(f"z{place:02}", "wrong_reference") for place in range(len(ONE_CUSTOMER))],
         "phone": [MASKED] * len(ONE_CUSTOMER), "phones carried": [MASKED] * 2 * len(ONE_CUSTOMER)},
    ),
    "two whole numbers that differ are two customers": (
        phoned(TWO_CUSTOMERS), {"codes": [(f"{side}{n:02}", "timing") for side in "az" for n in range(4)]},
    ),
    "what is no number of a mobile is compared as it is": (
        phoned([(each, each) for each in ("p", "+254712345678", "Mwansa")]),
        {"codes": [(f"z{place:02}", "wrong_reference") for place in range(3)]},
    ),
    "of several that fit none is chosen, on whichever side they are": (
        (ledger_of(*(movement(key, amount, phone="p") for key, amount in (("a", 1), ("b", 1), ("c", 2)))),
         [statement_of(*(movement(key, amount, phone="p") for key, amount in (("x", 1), ("y", 2), ("z", 2))))]),
        {"codes": [(key, "ambiguous") for key in "abcxyz"]},
    ),
    "a quarter of an hour apart is one movement and a second more is two": (
        (ledger_of(*(movement(f"a{n}", n, phone="p") for n in (1, 2))),
         [statement_of(*(movement(f"z{n}", n, phone="p", occurred_at=AT + QUARTER + timedelta(seconds=n - 1))
                         for n in (1, 2)))]),
        {"codes": [("a2", "timing"), ("z1", "wrong_reference"), ("z2", "timing")]},
    ),
    "a reversal is proposed by the entry that it reverses": (
        (ledger_of(A), [statement_of(A, movement("r", 100, direction="out", type="reversal", related="a"))]),
        {"codes": [("r", "reversed_unmatched")], "proposed of": ["je_1"]},
    ),
    "a key of zeros is not a key of spaces": (
        (ledger_of(movement("\u00a0", 50), movement("000", 100)),
         [statement_of(movement("\u00a0", 50), movement("000", 100),
                       movement("r", 100, direction="out", type="reversal", related="0"))]),
        {"codes": [("r", "reversed_unmatched")], "proposed of": ["je_2"]},
    ),
    "without the entry that it reverses it is unknown money, and once": (
        (ledger_of(A | {"entry": None}), [statement_of(A, movement("r", 100, direction="out", type="reversal",
                                                                   related="a", fee_minor=1))]),
        {"codes": [("r", "reversed_unmatched")], "recipes": ["unknown_debit"]},
    ),
    "a payment that was larger is booked as a debit": (
        (ledger_of(movement("k", 500, **OUT)), [statement_of(movement("k", 700, **OUT))]),
        {"codes": [("k", "amount_mismatch")], "recipes": ["unknown_debit"], "proposed": [200]},
    ),
    "what differs in amount and fee is booked as one entry each": (
        (ledger_of(movement("k", 500, fee_minor=5)), [statement_of(movement("k", 900, fee_minor=9))]),
        {"codes": [("k", "amount_mismatch")], "recipes": ["unknown_credit", "fee_raised"], "proposed": [400, 4]},
    ),
    "half a kwacha or less is booked as rounding": (
        (ledger_of(movement("k", 500)), [statement_of(movement("k", 450))]),
        {"codes": [("k", "amount_mismatch")], "recipes": ["rounded_down"], "proposed": [50]},
    ),
    "a charge is booked together with its fee": (
        (ledger_of(A), [statement_of(A, movement("k", 500, fee_minor=5, type="fee", **OUT))]),
        {"codes": [("k", "missing_in_ledger")], "recipes": ["fee_raised"], "proposed": [505]},
    ),
    "what failed in the ledger alone is booked": (
        (ledger_of(movement("k", 500, status="failed"), A), [statement_of(movement("k", 500), A)]),
        {"codes": [("k", "status_mismatch")], "recipes": ["unknown_credit"], "proposed": [500]},
    ),
    "a batch that only the statement has is booked as one sum": (
        (ledger_of(A), [statement_of(A, P, Q)]),
        {"codes": [("b", "missing_in_ledger")], "recipes": ["unknown_credit"], "proposed": [150]},
    ),
    "an entry of another date is redated": (
        (ledger_of(movement("k", 500, day=1)), [statement_of(movement("k", 500, day=7))]),
        {"codes": [("k", "date_mismatch")], "recipes": ["redated"], "proposed of": ["je_1"], "age_days": [6]},
    ),
    "a payout that the bank did not pay comes back under its reference": (
        (ledger_of(movement("k", 500, day=1, kind="payout_paid", **OUT), C), [statement_of(C)]),
        {"codes": [("k", "payout_unpaid")], "recipes": ["payout_returned"], "proposed under": ["k"]},
    ),
    "under another reference a lower fee is booked too": (
        (ledger_of(movement("k", 500, fee_minor=5, phone="p")),
         [statement_of(movement("l", 500, fee_minor=4, phone="p"))]),
        {"codes": [("l", "wrong_reference")], "recipes": ["reversed", "reposted", "fee_lowered"],
         "proposed": [500, 500, 1]},
    ),
    "the figures stand in the reason": (
        (ledger_of(movement("k", 123_450)), [statement_of(movement("k", 23_450, fee_minor=5))]),
        {"reason": [("k is K1,234.50 gross in the ledger and K234.50 gross on the statement: K1,000.00 apart; "
                     "with fees of K0.00 and K0.05 that is K1,234.50 net and K234.45 net.")]},
    ),
    **{f"{days} days old": (aged(days), {"age_days": [days], "bucket": [list(BUCKETS)[bucket]]})
       for days, bucket in AGES.items()},
}  # fmt: skip


@cache
def single(kind: str) -> Reconciliation:
    return together({name: case for name, (case, _) in SINGLE.items()}, kind)


@pytest.mark.parametrize("kind", SOME_KINDS)
@pytest.mark.parametrize("name", SINGLE)
def test_of_one_period_it_says(name: str, kind: str):
    found, expected = facts(single(kind), name), SINGLE[name][1]
    assert {each: found[each] for each in expected} == expected


class TestTheResult:
    def test_what_agrees_leaves_nothing_and_tells_what_went_in(self, tmp_path: Path):
        LEDGER.to_parquet(tmp_path / "ledger.parquet")
        STATEMENT.to_parquet(tmp_path / "mtn.parquet")
        result = reconcile(tmp_path / "ledger.parquet", str(tmp_path / "mtn.parq*"))
        assert result.is_clean
        assert result.breaks.empty
        assert list(result.matches["rule"]) == ["key"] * 4
        assert result.proof.loc[0, "note"] == "to the last minor unit"
        assert result.rates.loc[0, ["by_count", "by_value"]].tolist() == [1.0, 1.0]
        first = "Nothing to settle. The proof holds to the last ngwee.\n\nReconciliation of "
        assert repr(result).startswith(first)
        assert "to settle, by what to do" not in repr(result)
        assert "<caption>Reconciliation of " in result._repr_html_()
        assert result.inputs["name"].tolist() == ["ledger.parquet", "mtn.csv"]
        assert result.inputs["rows"].tolist() == [2, 2]
        assert result.inputs["sha256"].str.fullmatch("[0-9a-f]{64}").all()
        assert wrong_types(result) == []

    def test_what_the_proof_rests_on_is_shown(self):
        result = reconcile(LEDGER, statement_of(movement(None, 0, problem="no amount"), movement("z", 7), opening=None))
        assert "agree; the statement gives no closing balance" in repr(result)
        assert "0.00 %" in repr(result)
        assert not result.is_clean
        assert wrong_types(result) == []

    def test_a_tolerance_lets_a_difference_pass_and_the_proof_tells_it(self):
        theirs = statement_of(movement("a", 101), movement("b", 200, fee_minor=3, day=6))
        result = reconcile(LEDGER, theirs, tolerance=Tolerance(amount_minor=1, fee_minor=1))
        assert result.is_clean
        assert result.matches["differences"].dropna().unique().tolist() == ["amount K0.01", "fee K0.01; 1 day"]
        line = result.proof.iloc[0]
        assert (line["holds"], line["tolerated_minor"], line["difference_minor"]) == (True, 0, 0)
        found = codes(reconcile(LEDGER, theirs).breaks)
        assert found == [("a", "amount_mismatch"), ("b", "fee_mismatch")]

    @pytest.mark.parametrize("kind", SOME_KINDS)
    @pytest.mark.parametrize("unit", ["ns", "s"])
    def test_moments_may_be_finer_or_coarser_and_of_any_zone(self, unit: str, kind: str, tmp_path: Path):
        ledger, theirs = (
            rows.assign(occurred_at=rows["occurred_at"].dt.as_unit(unit).dt.tz_convert("Africa/Lusaka"))
            for rows in (ledger_of({**A, "phone": MASKED}), statement_of(movement("z", 100, phone=MASKED)))
        )
        ledger.to_parquet(tmp_path / "ledger.parquet")
        result = reconcile(tmp_path / "ledger.parquet", KINDS[kind](theirs))
        assert codes(result.breaks) == [("z", "wrong_reference")]

    def test_a_proposal_is_json_in_ascii_whatever_a_key_is_made_of(self):
        keys = ["plain", 'a "quoted" key', "back\\slash", "\u017c\u00f3\u0142w \U0001f422", "tab\tand\x7f", "n\u0142"]
        found = reconcile(
            ledger_of({**A, "key": "o"}), statement_of(*(movement(key, 100) for key in keys)), cut_off=0
        ).breaks
        texts = dict(zip(found["key"], found["proposal"], strict=True))
        for key in keys:
            (body,) = json.loads(texts[key])
            assert (body["reference"], json.dumps([body])) == (key, texts[key])


def wrong_types(result: Reconciliation) -> list[str]:
    """The frames that have not exactly their declared columns and types."""
    left = result.carry_forward
    frames = [(getattr(shapes, name.upper()), getattr(result, name)) for name in ("summary", "ageing", "proof")]
    frames += [(shapes.BREAK, result.breaks), (shapes.MATCH, result.matches), (INPUTS, result.inputs)]
    frames += [(CARRIED, left.rows), (CLOSED, left.closed), (shapes.AHEAD, left.ahead)]
    return [
        f"{list(shape)}: {frame.dtypes}"
        for shape, frame in frames
        if {name: str(kind) for name, kind in frame.dtypes.items()} != dict(shape)
    ]


BLANK = pd.Series([None, None], dtype="category")
IN_DOLLARS = file_of(STATEMENT.assign(currency="USD"))


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("ledger", "statement", "expected"),
        [
            (LEDGER.drop(columns="fee_minor"), STATEMENT, "The ledger has no column fee_minor"),
            (LEDGER, STATEMENT.drop(columns=["line", "problem"]), "The statement has no column line, problem"),
            (LEDGER.astype({"amount_minor": "float64"}), STATEMENT, "Money cannot be a float"),
            (LEDGER, STATEMENT.astype({"balance_minor": "Float64"}), "balance_minor is Float64"),
            (LEDGER.assign(occurred_at=LEDGER["occurred_at"].dt.tz_localize(None)), STATEMENT, "its time zone"),
            (LEDGER.assign(business_date="2026-01-05"), STATEMENT, "business_date is String instead of a date"),
            (LEDGER.astype({"business_date": "string"}), STATEMENT, "Read a ledger of your own with read_ledger"),
            (LEDGER, STATEMENT.assign(currency="USD"), "mtn.csv is in USD, the ledger's operator:mtn:float in ZMW"),
            (LEDGER, IN_DOLLARS, "mtn.csv is in USD"),
            (LEDGER.assign(currency=BLANK), STATEMENT.assign(currency=BLANK), "names the currency of operator:mtn"),
            (LEDGER.assign(account="bank:settlement"), STATEMENT, "no row of operator:mtn:float"),
            (LEDGER.iloc[:0], STATEMENT, "It has no row at all"),
            (LEDGER, STATEMENT.iloc[:0], "The statement has no rows"),
            (LEDGER, [], "There is no statement"),
            (LEDGER, {"a": 1}, "is a dict, which is not a table.*read_statement"),
            (None, STATEMENT, "The ledger is a NoneType, which is not a table.*bench.ledger"),
            (LEDGER[["account", "entry"]], STATEMENT, "The ledger has no column.*bench.ledger.statement_of"),
            (LEDGER, "nowhere/*.parquet", "there is no file nowhere"),
            (LEDGER, [file_of(STATEMENT), file_of(STATEMENT, name="copy.csv")], r"twice: mtn\.csv and copy\.csv"),
        ],
    )  # fmt: skip
    def test_by_name_and_reason(self, ledger: pd.DataFrame, statement: object, expected: str):
        with pytest.raises(ReconcileRefused, match=expected):
            reconcile(ledger, statement)

    @pytest.mark.parametrize("wrong", [{"amount_minor": -1}, {"fee_minor": 0.5}])
    def test_a_tolerance_that_is_none(self, wrong: Row):
        with pytest.raises(ReconcileRefused, match=next(iter(wrong))):
            Tolerance(**wrong)

    @pytest.mark.parametrize(
        "wrong", [{"tolerance": 1}, {"cut_off": -1}, {"engine": "polars"}, {"carry_forward": "kept"}]
    )
    def test_a_setting_that_is_none(self, wrong: Row):
        with pytest.raises(ReconcileRefused):
            reconcile(LEDGER, STATEMENT, **wrong)

    def test_files_that_are_no_parquet_or_given_twice(self, tmp_path: Path):
        (tmp_path / "mtn.txt").write_text("Id,Date\n")
        with pytest.raises(ReconcileRefused, match=r"mtn\.txt is not a Parquet file\. .*read_statement"):
            reconcile(LEDGER, tmp_path / "mtn.txt")
        STATEMENT.to_parquet(tmp_path / "mtn.parquet")
        with pytest.raises(ReconcileRefused, match="given twice"):
            reconcile(LEDGER, [tmp_path / "mtn.parquet"] * 2)

    def test_a_carry_forward_without_its_columns(self):
        with pytest.raises(ReconcileRefused, match="side"):
            CarryForward(pd.DataFrame(), pd.DataFrame())


TWICE = ledger_of(A, A, movement("b", 50))
B50 = movement("b", 50)
JANUARY = [movement("a", 100, day=30), movement("b", 200, day=31), movement("x", 5, day=3)]
FEBRUARY = [movement("c", 40, day=33), movement("d", 60, day=34)]
AGAIN_LATER = ledger_of(LATEST, movement("c", 50, day=7))
BOOKED_AHEAD = ledger_of(A, movement("b", 50, day=8), movement("b", 50, day=8))
TOLD_BY_TWO = [statement_of(A, name="one.csv"), statement_of(A, A, name="two.csv")]
AHEAD_OF_CLOSING = ledger_of(
    A, movement("b", 50, day=6), movement("c", 9, day=4),
    movement("je_4", 9, day=8, direction="out", batch="c", kind="reversed", reverses="je_3"), movement("d", 7, day=9),
)  # fmt: skip
REFUNDED = [movement("a", 30, day=4, **OUT), movement("a", 8, day=9, **OUT)]
SUSPENDED = movement("a", 100, day=3)
D, IN_BATCH = movement("d", 7, day=9), [movement("p2", 4, day=8, batch="b"), movement("q2", 6, day=10, batch="b")]
DUPLICATES = [("a", "duplicate_in_ledger"), ("b", "duplicate_in_statement")]
TWO_PERIODS: dict[str, tuple[Case, Row, Case, Row]] = {
    "what was open joins in with its age and what was read is not read again": (
        (ledger_of(*JANUARY), [statement_of(JANUARY[0], movement("q", 1, day=31))]),
        {"codes": [("b", "timing"), ("q", "timing"), ("x", "missing_in_statement")], "closed": [[101, 3]]},
        (ledger_of(*JANUARY, *FEBRUARY), [statement_of(JANUARY[1], *FEBRUARY, opening=101, name="feb.csv")]),
        {"codes": [("q", "missing_in_ledger"), ("x", "missing_in_statement")], "age_days": [31, 3],
         "read": [4, 4], "holds": True},
    ),
    "a duplicate stays one until the other side has it as often": (
        (TWICE, [statement_of(A, B50, B50)]), {"codes": DUPLICATES},
        (TWICE, [statement_of(movement("a", 100, day=6), movement("b", 50, day=8), opening=200, name="next.csv")]),
        {"codes": [DUPLICATES[1]] * 2, "rules": ["key"] * 2, "holds": True},
    ),
    "what follows under a key that was closed is a movement of its own": (
        (ledger_of(EARLY), [statement_of(EARLY, C)]), {"codes": [("c", "timing")]},
        (ledger_of(EARLY, *REFUNDED), [statement_of(*REFUNDED, opening=107, name="next.csv")]),
        {"codes": [("c", "missing_in_ledger")], "rules": ["key"] * 4, "holds": True},
    ),
    "what follows of a payment in two parts makes it whole": (
        (ledger_of(A), [statement_of({**A, "amount_minor": 60})]), {"codes": [("a", "amount_mismatch")]},
        (ledger_of(A), [statement_of(movement("a", 40, day=9), opening=60, name="n.csv")]),
        {"codes": [], "rules": ["one_to_many"] * 3, "holds": True},
    ),
    "a key that was left open is found however it is written then": (
        (ledger_of(movement("00a", 100), C), [statement_of(C)]), {"codes": [("00a", "missing_in_statement")]},
        (ledger_of(movement("00a", 100), C), [statement_of(movement("A", 100, day=6), opening=7, name="n.csv")]),
        {"codes": [], "rules": ["key"] * 2, "holds": True},
    ),
    "a line that comes later is the further one however early its date": (
        (ledger_of(movement("x", 1, day=9)), [statement_of(movement("k", 50), movement("x", 1, day=9))]),
        {"code": ["missing_in_ledger"]},
        (ledger_of(movement("x", 1, day=9)),
         [statement_of(movement("k", 70, day=3), movement("y", 1, day=10), opening=51, name="next.csv")]),
        {"code": ["duplicate_in_statement", "missing_in_ledger", "timing"], "holds": True},
    ),
    "what was booked twice after the closing date still meets its line": (
        (BOOKED_AHEAD, [statement_of(A)]), {"codes": [], "ledger_minor": 100, "carried": 1, "holds": True},
        (BOOKED_AHEAD, [statement_of(movement("b", 50, day=8), movement("c", 9, day=12), opening=100, name="n.csv")]),
        {"codes": [("b", "duplicate_in_ledger"), ("c", "timing")], "entry": ["je_3", None], "holds": True},
    ),
    "a second entry after the closing date is a duplicate of the first when nothing is new": (
        (AGAIN_LATER, [statement_of(LATEST)]), {"codes": [], "ledger_minor": 50, "carried": 1, "holds": True},
        (AGAIN_LATER, [file_of(statement_of(), opening_minor=50, closing_minor=50, period=(date(2026, 1, 7),) * 2)]),
        {"codes": [("c", "duplicate_in_ledger")], "ledger_minor": 100, "holds": True},
    ),
    "a duplicate of a line that two files told stays one": (
        (ledger_of({**A, "amount_minor": 90}), TOLD_BY_TWO), {"variance_minor": [-10, -100]},
        (ledger_of({**A, "amount_minor": 90}), [without_rows(200)]), {"variance_minor": [-10, -100]},
    ),
    "and where it overlaps": (
        (ledger_of({**A, "amount_minor": 90}), TOLD_BY_TWO), {"told again": 1},
        (ledger_of({**A, "amount_minor": 90}), TOLD_BY_TWO[1:]),
        {"variance_minor": [-10, -100], "told again": 2, "holds": True},
    ),
    "what was matched ahead of the closing date is not opened again": (
        (AHEAD_OF_CLOSING, [statement_of(A, B50)]),
        {"codes": [("c", "missing_in_statement")], "ahead": ["je_2"], "ledger_minor": 159},
        (AHEAD_OF_CLOSING, [without_rows(150)]),
        {"codes": [("c", "missing_in_statement")], "ahead": ["je_2"], "ledger_minor": 159, "holds": True},
    ),
    "a row of the ledger after the closing date is one of the next period": (
        (ledger_of(A, D), [statement_of(A)]),
        {"codes": [], "ledger_minor": 100, "difference_minor": 0, "read": [1, 1], "carried": 0, "holds": True},
        (ledger_of(A, D), [statement_of(D, opening=100, name="next.csv")]),
        {"codes": [], "ledger_minor": 107, "read": [1, 1], "rules": ["key"] * 2, "holds": True},
    ),
    "so is a payout, a reversal, and a batch that begins after it": (
        (ledger_of(A, {**D, "kind": "payout_paid"}, {**D, "key": "e", "reverses": "je_1"}, *IN_BATCH),
         [statement_of(A)]),
        {"codes": [], "ledger_minor": 100, "read": [1, 1], "carried": 0, "holds": True},
        (ledger_of(A, {**D, "kind": "payout_paid"}, {**D, "key": "e", "reverses": "je_1"}, *IN_BATCH),
         [statement_of(movement("f", 5, day=12), opening=100, name="next.csv")]),
        {"codes": [("b", "missing_in_statement"), ("d", "payout_unpaid"), ("e", "reversed_unmatched"), ("f", "timing")],
         "since_date": [None] * 4, "ledger_minor": 124, "holds": True},
    ),
    "of a batch that begins before it, each row is one of its own period": (
        (ledger_of(A, P, IN_BATCH[0]), [statement_of(A)]),
        {"codes": [("b", "missing_in_statement")], "rows": [1], "ledger_minor": 200, "carried": 1, "holds": True},
        (ledger_of(A, P, IN_BATCH[0]), [statement_of(movement("b", 104, day=9), opening=100, name="next.csv")]),
        {"codes": [], "rules": ["many_to_one"] * 3, "ledger_minor": 204, "holds": True},
    ),
    "the last day that a file states is the closing date": (
        (ledger_of(A, D, {**D, "key": "e", "business_date": date(2026, 1, 10)}),
         [file_of(statement_of(A), period=(date(2026, 1, 1), date(2026, 1, 9)))]),
        {"codes": [("d", "timing")], "ledger_minor": 107, "carried": 1, "holds": True},
        (ledger_of(A, D, {**D, "key": "e", "business_date": date(2026, 1, 10)}),
         [statement_of(D, {**D, "key": "e", "business_date": date(2026, 1, 10)}, opening=100, name="next.csv")]),
        {"codes": [], "ledger_minor": 114, "holds": True},
    ),
    "the state of an open row is that of today": (
        (ledger_of({**SUSPENDED, "state": "in_suspense"}), [statement_of(SUSPENDED, movement("z", 1, day=9))]),
        {"codes": [("a", "late_success"), ("z", "timing")]},
        (ledger_of(SUSPENDED), [statement_of(movement("z2", 1, day=10), opening=101, name="next.csv")]),
        {"codes": [("z", "missing_in_ledger"), ("z2", "timing")]},
    ),
    "a batch is open since its first row was carried": (
        (ledger_of(A, P), [statement_of(A)]), {"codes": [("b", "missing_in_statement")]},
        (ledger_of(A, P, movement("q", 50, day=3, batch="b")), [statement_of(C, opening=100, name="n.csv")]),
        {"codes": [("b", "missing_in_statement"), ("c", "timing")], "rows": [2, 1],
         "since_date": [date(2026, 1, 5), None]},
    ),
    "a line of a batch that is told again is added once too": (
        (ledger_of(CREDIT), [statement_of(P)]), {"codes": [("b", "batch_mismatch")]},
        (ledger_of(CREDIT, C), [statement_of(P, Q, C)]), {"codes": [], "told again": 1, "holds": True},
    ),
}  # fmt: skip


@cache
def two_periods() -> tuple[Reconciliation, Reconciliation]:
    first = together({name: case for name, (case, *_) in TWO_PERIODS.items()})
    following = {name: case for name, (*_, case, _) in TWO_PERIODS.items()}
    return first, together(following, carry_forward=first.carry_forward)


class TestCarryForward:
    @pytest.mark.parametrize("name", TWO_PERIODS)
    def test_of_two_periods_it_says(self, name: str):
        for result, expected in zip(two_periods(), TWO_PERIODS[name][1::2], strict=True):
            found = facts(result, name)
            assert {each: found[each] for each in expected} == expected

    @pytest.mark.thorough
    def test_accounts_that_a_run_does_not_look_at_are_carried_as_they_were(self):
        name = "what was matched ahead of the closing date is not opened again"
        _, again = two_periods()
        following = statement_of(movement("d", 7, day=9), opening=150, name="next.csv")
        last = together({name: (AHEAD_OF_CLOSING, [following])}, carry_forward=again.carry_forward)
        assert last.breaks.empty
        assert last.proof.loc[0, "holds"]
        kept = last.carry_forward
        assert kept.of([name]).ahead.empty
        assert set(kept.closed["account"]) == set(TWO_PERIODS)
        assert len(kept.rows) == len(again.carry_forward.rows) - 1, "the reversal is in this period"


NUMBERS = "0961234567, +260 96 123 4567, 254712345678, +44 7700 900123, FRI:254712345678/MSISDN"
MASKED_NUMBERS = "096••••567, +260 96••••567, 254••••678, +44••••123, FRI:254••••678/MSISDN"
SAID = {"description": f"CUSTOMER for order 20260105123456 by {NUMBERS}", "words": "Paid / TS"}
KEPT_OF_IT = (f"CUSTOMER for order 20260105123456 by {MASKED_NUMBERS}", "Paid / TS")


class TestNarratives:
    @pytest.mark.thorough
    def test_text_and_age_of_what_is_open_survive_two_closes_with_numbers_masked(self):
        """The files of all months have one name, and lines of the same numbers."""

        def rows(frame: pd.DataFrame, *names: str) -> list[tuple[object, ...]]:
            return sorted(python_rows(frame, *names), key=str)

        parts = [movement(key, 10, day=4, batch="batch", **SAID) for key in ("p", "q")]
        nameless = movement(None, 9, day=4, description="no key", words="")
        ours = ledger_of(A, {**B, "fee_minor": 5}, movement("only", 7, day=4))
        months = [reconcile(ours, statement_of(A, {**B, **SAID}, *parts, nameless))]
        for day in (36, 66):
            last = months[-1]
            new = [movement(None, 9, day=day, description=f"of {day}"), movement(f"k{day}", 1, day=day)]
            told = statement_of(*new, opening=int(last.proof["statement_minor"][0]))
            told = told.drop(columns=["words"]) if day == 36 else told
            months.append(reconcile(ours, told, carry_forward=last.carry_forward))
        end, second = date(2026, 1, 5), date(2026, 2, 5)
        names = ["code", "key", "description", "words", "since_date"]
        for result, since in ((months[0], None), (months[1], end), (months[2], end)):
            found = rows(result.breaks, *names)
            assert found[0] == ("fee_mismatch", "b", *KEPT_OF_IT, since)
            assert ("missing_in_ledger", "batch", *KEPT_OF_IT, since) in found
            assert ("missing_in_statement", "only", None, None, since) in found
            assert ("invalid_row", None, "no key", None, since) in found
            kept = rows(result.carry_forward.rows, "key", "description", "words", "since_date")
            assert [row for row in kept if row[0] in {"p", "q"}] == [(key, *KEPT_OF_IT, end) for key in ("p", "q")]
        assert ("invalid_row", None, "of 36", None, None) in rows(months[1].breaks, *names)
        found = rows(months[2].breaks, *names)
        assert ("invalid_row", None, "of 36", None, second) in found
        assert ("invalid_row", None, "of 66", None, None) in found
        gross = [f"{side}_{what}_minor" for side in ("ledger", "statement") for what in ("amount", "fee")]
        by_code = {row[0]: row[1:] for row in rows(months[2].breaks, "code", *gross)}
        assert by_code["fee_mismatch"] == (200, 5, 200, 2)
        assert by_code["missing_in_statement"] == (7, 0, None, None)
        assert by_code["missing_in_ledger"] in {(None, None, 1, 0), (None,) * 4}

    @pytest.mark.parametrize("kind", SOME_KINDS)
    def test_what_only_the_ledger_has_shows_its_own_text_which_decides_nothing(self, kind: str, tmp_path: Path):
        ours = ledger_of(*(movement(key, 9, day=5) for key in "xyz"), movement("d", 7), {**P, "key": "p1"}, P,
                         movement("x", 9, account="other"))  # fmt: skip
        texts = [SAID["description"], "of y", None, "of d", "of p1", "of p", "of another account"]
        ours = ours.assign(description=pd.array(texts, "string"))
        made, told = KINDS[kind], statement_of(movement("d", 8, description="of the line"))
        (tmp_path / "rules.toml").write_text('[[rule]]\nnarrative = "of"\nkind = "fee"\nexpected = true\n')
        first = reconcile(made(ours), made(told), rules=tmp_path / "rules.toml")
        plain = reconcile(made(ours.drop(columns="description")), made(told), rules=tmp_path / "rules.toml")
        found = {"x": KEPT_OF_IT[0], "y": "of y", "z": None, "d": "of the line", "b": "of p"}
        assert dict(python_rows(first.breaks, "key", "description")) == found
        for shown in ("breaks", "suggestions", "inputs", "closed"):
            left = (getattr(each, shown).assign(description=None) for each in (first, plain))
            pd.testing.assert_frame_equal(*left)
        pd.testing.assert_frame_equal(first.carry_forward.read, plain.carry_forward.read)
        assert first.breaks["rule"].notna().sum() == 1, "a rule looks for the statement's text"
        later = partial(reconcile, statement=without_rows(8), carry_forward=first.carry_forward)
        for ledger in (ours.drop(columns="description"), ours.iloc[5:]):
            assert dict(python_rows(later(made(ledger)).breaks, "key", "description")) == found


def test_lines_without_a_number_are_told_apart_by_their_keys():
    lines = statement_of({**C, "description": "of c"}, {**OUT_AGAIN, "description": "of d"}).assign(line=0)
    found = python_rows(reconcile(LEDGER, lines).breaks, "key", "description")
    assert dict(found) == {"c": "of c", "d": "of d", "a": None, "b": None}


def test_a_carry_forward_shows_itself_as_text_and_as_html():
    left = reconcile(LEDGER, statement_of(A, movement("q", 1_050, day=6))).carry_forward
    text = repr(left).splitlines()
    assert text[0] == "Carried forward: 2 open rows"
    assert text[3].split() == [ACCOUNT, "2026-01-06", "1", "1", "K11.50"]
    assert '<td style="text-align:right">K11.50</td>' in left._repr_mimebundle_()["text/html"]


K500 = movement("k", 500)
WITHOUT_ENTRY = {"ambiguous", "currency_mismatch", "timing", "invalid_row"}


def test_a_charge_of_the_bank_is_to_be_booked_and_other_money_to_be_found_out():
    rows = [movement("c", 5, direction="out", type="fee"), movement("m", 7, day=1)]
    advice = dict(python_rows(reconcile(ledger_of(A), statement_of(A, *rows)).breaks, "key", "settlement"))
    assert advice == {"c": "Book the fee.", "m": "Find out whose money it is; until then, book it as unknown money."}


def test_a_shops_own_payments_may_be_of_any_type():
    ledger = ledger_of(movement("a", 100), movement("b", 100))
    ledger["payment"] = pd.Series([1, "order-2"], dtype=object)
    assert codes(reconcile(ledger, [statement_of(movement("a", 100))]).breaks) == [("b", "timing")]


class TestSettling:
    def test_of_two_entries_the_further_one_is_reversed_and_late_money_comes_from_suspense(self):
        found = reconcile(ledger_of({**K500, "state": "in_suspense"}, A, A), statement_of(K500, A))
        bodies = {body["recipe"]: body for proposal in found.breaks["proposal"] for body in json.loads(proposal)}
        assert {recipe: body["entry"] for recipe, body in bodies.items()} == {
            "suspense_settled": "je_1", "reversed": "je_3",
        }  # fmt: skip
        assert bodies["suspense_settled"]["amount_minor"] == 500


@pytest.mark.thorough
def test_all_that_is_proposed_is_taken_by_the_service_and_the_next_run_finds_it_settled(tmp_path: Path):
    bench = Workbench()
    bench.simulate(payments=130, days=5, seed=3, out=tmp_path)
    statements = [read_statement(each) for each in sorted((tmp_path / "statements").iterdir())]
    accounts = sorted({each.account for each in statements})

    def run() -> pd.DataFrame:
        ledger = pd.concat([bench.ledger.statement_of(account) for account in accounts], ignore_index=True)
        result = reconcile(ledger, statements)
        assert result.proof["holds"].all()
        return result.breaks

    found = run()
    # The ledger itself, as it is at hand in a notebook, is the same as its tables.
    pd.testing.assert_frame_equal(reconcile(bench.ledger, statements).breaks, found)
    assert found["code"].nunique() > 15
    proposed = found[found["proposal"].notna()]
    assert set(found["code"]) - set(proposed["code"]) <= WITHOUT_ENTRY
    for item in proposed.to_dict("records"):
        bench.settle(item)
    left = run()
    assert set(left["code"]) <= WITHOUT_ENTRY
    assert sorted(left["key"].fillna("")) == sorted(found.loc[found["proposal"].isna(), "key"].fillna(""))


@pytest.mark.thorough
def test_what_two_spellings_left_open_does_not_agree_by_being_fewer_when_nothing_is_new():
    ours = [movement("k1", 30), movement("k1", 50)]
    theirs = [movement("K1", 100), movement("K1", 100, direction="out"), movement("K1", 30)]
    first = reconcile(ledger_of(*ours), statement_of(*theirs))
    again = reconcile(ledger_of(*ours), without_rows(30), carry_forward=first.carry_forward)
    for result in (first, again):
        assert codes(result.breaks) == [("K1", "amount_mismatch"), ("K1", "timing")]


def line(key: str, amount: int, **more: object) -> Row:
    """A line of books that name no kind, or of a statement without types; an amount below zero goes out."""
    way = {"direction": "out" if amount < 0 else "in", "kind": None, "type": "other"}
    return movement(key, abs(amount), **{**way, **more})


FEE = {"type": "fee"}
A_PAYMENT = line("k", 26000)
OF_ONE_KEY: Mapping[str, tuple[list[Row], list[Row], list[tuple[str, int, int]]]] = {
    # A fee on a line of its own is compared with the other side's fee.
    "another fee": ([A_PAYMENT, line("k", -260)], [line("k", 26000, fee_minor=390)], [("fee_mismatch", 3, 130)]),
    "lines on both sides": (
        [A_PAYMENT, line("k", -260)], [A_PAYMENT, line("k", -390, **FEE)], [("fee_mismatch", 4, 130)],
    ),
    "another fee and amount": (
        [line("k", 64580), line("k", -646)], [line("k", 65480, fee_minor=655)], [("amount_mismatch", 3, -891)],
    ),
    "lines on the statement": (
        [line("k", 26000, fee_minor=260)], [A_PAYMENT, line("k", -390)], [("fee_mismatch", 3, 130)],
    ),
    "money going out": (
        [line("k", -26000), line("k", -260)], [line("k", -26000, fee_minor=390)], [("fee_mismatch", 3, 130)],
    ),
    "a failed payment": (
        [A_PAYMENT, line("k", -260)], [line("k", 26000, status="failed")], [("status_mismatch", 3, 25740)],
    ),
    "only in the books": ([A_PAYMENT, line("k", -390)], [], [("missing_in_statement", 2, 25610)]),
    "only on the statement": ([], [A_PAYMENT, line("k", -390, **FEE)], [("missing_in_ledger", 2, -25610)]),
    "at the month's end": (
        [], [line("k", 26000, day=9), line("k", -390, day=9, **FEE)], [("timing", 2, -25610)],
    ),
    "a receipt typed twice": (
        [A_PAYMENT, line("k", -390), A_PAYMENT], [line("k", 26000, fee_minor=390)], [("duplicate_in_ledger", 1, 26000)],
    ),
    "typed twice with its fee": (
        [A_PAYMENT, line("k", -390)] * 2, [line("k", 26000, fee_minor=390)], [("duplicate_in_ledger", 2, 25610)],
    ),
    "told twice": (
        [A_PAYMENT, line("k", -390)], [line("k", 26000, fee_minor=390)] * 2, [("duplicate_in_statement", 1, -25610)],
    ),
    "a fee booked twice": (
        [A_PAYMENT, line("k", -260), line("k", -390)], [line("k", 26000, fee_minor=390)],
        [("missing_in_statement", 1, -260)],
    ),
    "a fee in a column, corrected on a line": (
        [line("k", 26000, fee_minor=260), line("k", -130)], [line("k", 26000, fee_minor=390)], [],
    ),
    # Any other line is a movement of its own.
    "a refund of a part": (
        [A_PAYMENT, line("k", -10000)], [line("k", 26000, fee_minor=390)],
        [("fee_mismatch", 2, 390), ("missing_in_statement", 1, -10000)],
    ),
    "a refund of a part beside the fee": (
        [A_PAYMENT, line("k", -260), line("k", -10000)], [line("k", 26000, fee_minor=390)],
        [("fee_mismatch", 3, 130), ("missing_in_statement", 1, -10000)],
    ),
    "a small refund that both have": (
        [A_PAYMENT, line("k", -300)], [line("k", 26000, fee_minor=390), line("k", -300)], [("fee_mismatch", 2, 390)],
    ),
    "a small refund by its type": (
        [line("k", 26000, fee_minor=260)], [A_PAYMENT, line("k", -390, type="refund")],
        [("fee_mismatch", 2, -260), ("missing_in_ledger", 1, 390)],
    ),
    "a reversal": (
        [A_PAYMENT, line("k", -260), line("k", -26000)], [line("k", 26000, fee_minor=390)],
        [("fee_mismatch", 3, 130), ("missing_in_statement", 1, -26000)],
    ),
    "a small reversal by its reference": (
        [A_PAYMENT, line("k", -260, reverses="je_0")], [line("k", 26000, fee_minor=390)],
        [("fee_mismatch", 2, 390), ("reversed_unmatched", 1, -260)],
    ),
    "a small line on another day": (
        [A_PAYMENT, line("k", -260, day=6)], [line("k", 26000, fee_minor=390)],
        [("fee_mismatch", 2, 390), ("missing_in_statement", 1, -260)],
    ),
    "two payments": (
        [A_PAYMENT, line("k", 260)], [line("k", 26000, fee_minor=390)],
        [("fee_mismatch", 2, 390), ("duplicate_in_ledger", 1, 260)],
    ),
    "a fee that the other side lacks": (
        [A_PAYMENT, line("k", -260)], [A_PAYMENT], [("missing_in_statement", 1, -260)],
    ),
}  # fmt: skip
"""What the lines of one key are on both sides → the breaks, each with its code, number of rows and variance."""


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_of_the_lines_of_one_key_a_payment_and_its_fee_count_as_one(kind: str):
    last = line("last", 7, day=9)
    cases = {name: (ledger_of(last, *ours), [statement_of(last, *theirs, name=f"{name}.csv")])
             for name, (ours, theirs, _) in OF_ONE_KEY.items()}  # fmt: skip
    result = together(cases, kind)
    assert result.proof["holds"].all()
    for name, (ours, theirs, expected) in OF_ONE_KEY.items():
        breaks, matches = (frame[frame["account"] == name] for frame in (result.breaks, result.matches))
        found = sorted(python_rows(breaks, "code", "rows", "variance_minor"))
        assert found == sorted(expected), name
        assert breaks["rows"].sum() + len(matches) == len(ours) + len(theirs) + 2, name
        assert matches["signed_minor"].sum() == sum(map(effect, [last, last, *ours, *theirs])) - sum(
            minor for side in ("ledger", "statement") for minor in breaks[f"{side}_minor"].dropna()
        ), name
    # The same ledger, and nothing new: what is open is open still, under the same names.
    nothing = [without_rows(minor, name=f"{name}.csv", sha256=name, account=name)
               for name, minor in python_rows(result.proof, "account", "statement_minor")]  # fmt: skip
    ledger = pd.concat([rows.assign(account=name) for name, (rows, _) in cases.items()], ignore_index=True)
    again = reconcile(KINDS[kind](ledger), nothing, carry_forward=result.carry_forward)
    assert again.proof["holds"].all()
    is_timing = result.breaks["code"] == "timing"
    assert {*again.breaks["id"]} >= {*result.breaks["id"][~is_timing]}
    assert len(again.breaks) == len(result.breaks)


def test_fees_on_lines_of_their_own_within_the_tolerance_pass_and_the_proof_tells_it():
    ours, theirs = ledger_of(line("k", 26000), line("k", -389)), statement_of(line("k", 26000, fee_minor=390))
    result = reconcile(ours, theirs, tolerance=Tolerance(fee_minor=1))
    assert result.breaks.empty
    assert result.proof[["holds", "tolerated_minor"]].to_numpy().tolist() == [[True, 1]]
    assert result.matches["signed_minor"].tolist() == [26000, -389, 25610]


def test_what_accepting_another_fee_books_leaves_nothing_open(tmp_path: Path):
    pair = [line("k", 26000), line("k", -260)]
    first = partial(reconcile, ledger_of(*pair), statement_of(line("k", 26000, fee_minor=390)))
    first().decide(tmp_path / "d.csv", who="Ann").decide(first().breaks["id"][0], "accept", why="tariff")
    decided = first(decisions=tmp_path / "d.csv")
    booked = decided.journal()
    names = ("account", "reference", "debit_minor", "credit_minor")
    assert [*python_rows(booked, *names)] == [(ACCOUNT, "k", 0, 130), ("charges", "k", 130, 0)]
    told = without_rows(25610, name="february.csv")
    second = reconcile(ledger_of(*pair, line("k", -130)), told, carry_forward=decided.carry_forward)
    assert second.breaks.empty
    assert second.proof["holds"].all()
    assert [*python_rows(second.closed, "key", "code", "variance_minor")] == [("k", "fee_mismatch", 130)]


def test_a_rule_without_a_key_matches_a_payment_with_its_fee_and_its_lines_are_settled():
    ours = ledger_of(line("booking-1", 26000), line("booking-1", -390), line("last", 7, day=9))
    told = statement_of(
        line("x1", 26000, fee_minor=390, description="FOR BOOKING-1"), line("last", 7, day=9)
    )  # fmt: skip
    result = reconcile(ours, told, match=[{"on": ["key"]}, {"on": ["key in narrative"]}])
    assert result.breaks.empty
    assert result.matched_by == {"key in narrative": 1}
    by_rule = result.matches[result.matches["rule"] == "key in narrative"]
    assert by_rule["signed_minor"].tolist() == [26000, -390, 25610]
    assert len({*by_rule["group"]}) == 1
