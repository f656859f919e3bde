"""Reconciling by hand-made rows: what is refused, what is carried, what settles, what is said."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from workbench.analysis import files
from workbench.analysis.breaks import BREAK_CODES
from workbench.analysis.reconcile import BUCKETS, CODES, CarryForward, Reconciliation, Tolerance, reconcile
from workbench.analysis.shapes import (
    AGEING,
    AHEAD,
    BREAK,
    CARRIED,
    CLOSED,
    INPUTS,
    LEDGER_MOVEMENT,
    MATCH,
    PROOF,
    STATEMENT_ROW,
    SUMMARY,
)
from workbench.errors import ReconcileRefused

ACCOUNT = "operator:mtn:float"
ENGINES = ["duckdb", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("pandas", "polars"))]
Row = dict[str, object]


def movement(key: str | None, amount: int, *, day: int = 5, **more: object) -> Row:
    at = datetime(2026, 1, day, 10, tzinfo=UTC)
    return {
        "account": ACCOUNT, "key": key, "batch": None, "occurred_at": at, "business_date": date(2026, 1, day),
        "direction": "in", "amount_minor": amount, "fee_minor": 0, "currency": "ZMW", "status": "completed",
        "phone": None, **more,
    }  # fmt: skip


def effect(row: Row) -> int:
    if row["status"] != "completed" or row["direction"] not in {"in", "out"}:
        return 0
    return (row["amount_minor"] if row["direction"] == "in" else -row["amount_minor"]) - row["fee_minor"]


def ledger_of(*rows: Row, opening: int = 0) -> pd.DataFrame:
    """Entries in the order given, with the balance that runs with them."""
    made, balance = [], opening
    for number, row in enumerate(rows, start=1):
        balance += effect(row)
        usual = {"entry": f"je_{number}", "number": number, "kind": "funds_secured", "state": "posted"}
        made.append({**usual, "payment": None, "reverses": None, **row, "balance_minor": balance})
    return pd.DataFrame(made, columns=list(LEDGER_MOVEMENT)).astype(dict(LEDGER_MOVEMENT))


def statement_of(*rows: Row, name: str = "mtn.csv", opening: int | None = 0, jump: int = 0) -> pd.DataFrame:
    """Lines in the order given; with an opening balance each has the balance after it."""
    made, balance = [], opening
    for line, row in enumerate(rows, start=2):
        balance = None if balance is None else balance + effect(row) + (jump if line == 3 else 0)
        usual = {"statement": name, "line": line, "type": "payment", "related": None, "problem": None}
        made.append({**usual, "description": "", "balance_minor": balance, **row})
    return pd.DataFrame(made, columns=list(STATEMENT_ROW)).astype(dict(STATEMENT_ROW))


def codes(result: Reconciliation) -> list[tuple[str | None, str]]:
    return sorted(
        ((None if pd.isna(key) else key), code)
        for key, code in zip(result.breaks["key"], result.breaks["code"], strict=True)
    )


LEDGER = ledger_of(movement("a", 100), movement("b", 200, fee_minor=2))
STATEMENT = statement_of(movement("a", 100), movement("b", 200, fee_minor=2))
UNTOLD = pd.Series([None, None], dtype="category")


class TestWhatAgrees:
    def test_nothing_is_left(self):
        result = reconcile(LEDGER, STATEMENT)
        assert result.is_clean
        assert result.breaks.empty
        assert list(result.matches["rule"]) == ["key"] * 4
        assert result.proof.loc[0, "note"] == "to the last minor unit"
        assert result.rates.loc[0, ["by_count", "by_value"]].tolist() == [1.0, 1.0]

    def test_what_the_proof_rests_on_is_shown(self):
        assert repr(reconcile(LEDGER, STATEMENT)).endswith("holds")
        unreadable = statement_of(movement(None, 0, problem="no amount"), opening=None)
        shown = repr(reconcile(LEDGER, unreadable))
        assert "holds: the statement gives no closing balance" in shown
        assert "0.00 %" in shown

    def test_every_frame_has_its_declared_columns_and_types(self):
        for result in (reconcile(LEDGER, STATEMENT), reconcile(LEDGER, statement_of(movement("c", 1, day=2)))):
            for shape, frame in {
                "BREAK": (BREAK, result.breaks), "MATCH": (MATCH, result.matches), "SUMMARY": (SUMMARY, result.summary),
                "AGEING": (AGEING, result.ageing), "PROOF": (PROOF, result.proof), "INPUTS": (INPUTS, result.inputs),
                "CARRIED": (CARRIED, result.carry_forward.rows), "CLOSED": (CLOSED, result.carry_forward.closed),
                "AHEAD": (AHEAD, result.carry_forward.ahead),
            }.items():  # fmt: skip
                assert {name: str(kind) for name, kind in frame[1].dtypes.items()} == dict(frame[0]), shape

    def test_a_tolerance_lets_a_difference_pass_and_the_proof_tells_it(self):
        theirs = statement_of(movement("a", 101), movement("b", 200, fee_minor=3, day=6))
        result = reconcile(LEDGER, theirs, tolerance=Tolerance(amount_minor=1, fee_minor=1))
        assert result.is_clean
        assert result.matches["differences"].dropna().unique().tolist() == ["amount K0.01", "fee K0.01; 1 day"]
        line = result.proof.iloc[0]
        assert (line["holds"], line["tolerated_minor"], line["difference_minor"]) == (True, 0, 0)
        strict = reconcile(LEDGER, theirs)
        assert codes(strict) == [("a", "amount_mismatch"), ("b", "fee_mismatch")]

    def test_it_tells_what_went_in(self, tmp_path: Path):
        LEDGER.to_parquet(tmp_path / "ledger.parquet")
        STATEMENT.to_parquet(tmp_path / "mtn.parquet")
        result = reconcile(tmp_path / "ledger.parquet", tmp_path / "mtn.parquet")
        assert result.inputs["name"].tolist() == ["ledger.parquet", "mtn.csv"]
        assert result.inputs["rows"].tolist() == [2, 2]
        assert result.inputs["sha256"].str.fullmatch("[0-9a-f]{64}").all()

    def test_it_shows_itself_as_text_and_as_html(self):
        result = reconcile(LEDGER, STATEMENT)
        assert "2 ledger rows and 2 statement rows: clean" in repr(result)
        assert "<caption>2 ledger rows" in result._repr_html_()


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("ledger", "statement", "said"),
        [
            (LEDGER.drop(columns="fee_minor"), STATEMENT, "The ledger has no column fee_minor"),
            (LEDGER, STATEMENT.drop(columns=["line", "problem"]), "The statement has no column line, problem"),
            (LEDGER.astype({"amount_minor": "float64"}), STATEMENT, "No float holds money"),
            (LEDGER, STATEMENT.astype({"balance_minor": "Float64"}), "balance_minor is Float64"),
            (LEDGER.assign(occurred_at=LEDGER["occurred_at"].dt.tz_localize(None)), STATEMENT, "its time zone"),
            (LEDGER.assign(business_date="2026-01-05"), STATEMENT, "business_date is String, where a date belongs"),
            (LEDGER.astype({"business_date": "string"}), STATEMENT, "files.read.path, LEDGER_MOVEMENT"),
            (LEDGER, STATEMENT.assign(currency="USD"), "mtn.csv is in USD, the ledger's operator:mtn:float in ZMW"),
            (LEDGER.assign(currency=UNTOLD), STATEMENT.assign(currency=UNTOLD), "says in which currency operator:mtn"),
            (LEDGER.assign(account="bank:settlement"), STATEMENT, "no row of operator:mtn:float"),
            (LEDGER.iloc[:0], STATEMENT, "It has no row at all"),
            (LEDGER, STATEMENT.iloc[:0], "The statement has no rows"),
            (LEDGER, [], "There is no statement"),
            (LEDGER, {"a": 1}, "is a dict, which is no table.*read_statement"),
            (None, STATEMENT, "The ledger is a NoneType, which is no table.*bench.ledger"),
            (LEDGER[["account", "entry"]], STATEMENT, "The ledger has no column.*bench.ledger.statement_of"),
            (LEDGER, "nowhere/*.parquet", "no file is at nowhere"),
        ],
    )  # fmt: skip
    def test_by_name_and_reason(self, ledger: pd.DataFrame, statement: object, said: str):
        with pytest.raises(ReconcileRefused, match=said.replace("(", r"\(")):
            reconcile(ledger, statement)

    @pytest.mark.parametrize("wrong", [{"amount_minor": -1}, {"fee_minor": 0.5}, {"days": True}])
    def test_a_tolerance_that_is_none(self, wrong: Row):
        with pytest.raises(ReconcileRefused, match=next(iter(wrong))):
            Tolerance(**wrong)

    @pytest.mark.parametrize(
        "wrong", [{"tolerance": 1}, {"cut_off": -1}, {"engine": "dask"}, {"carry_forward": "kept"}]
    )
    def test_a_setting_that_is_none(self, wrong: Row):
        with pytest.raises(ReconcileRefused):
            reconcile(LEDGER, STATEMENT, **wrong)

    def test_a_file_that_is_no_parquet(self, tmp_path: Path):
        (tmp_path / "mtn.csv").write_text("Id,Date\n")
        with pytest.raises(ReconcileRefused, match=r"mtn\.csv is no Parquet file.*read_statement"):
            reconcile(LEDGER, tmp_path / "mtn.csv")

    def test_the_same_file_twice(self, tmp_path: Path):
        one, other = file_of(STATEMENT, name="mtn.csv"), file_of(STATEMENT, name="copy.csv")
        with pytest.raises(ReconcileRefused, match=r"given twice: mtn\.csv and copy\.csv"):
            reconcile(LEDGER, [one, other])
        STATEMENT.to_parquet(tmp_path / "mtn.parquet")
        with pytest.raises(ReconcileRefused, match="given twice"):
            reconcile(LEDGER, [tmp_path / "mtn.parquet"] * 2)


NONE_FOUND = pd.DataFrame(columns=["line", "expected_minor", "found_minor"])


def file_of(rows: pd.DataFrame, *, name: str = "mtn.csv", **more: object) -> SimpleNamespace:
    """What reading a file gives."""
    usual = {
        "name": name, "sha256": "0" * 64, "account": ACCOUNT, "currency": "ZMW", "rows": rows,
        "opening_minor": None, "closing_minor": None, "period": None, "findings": NONE_FOUND,
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


class TestStatementFiles:
    def test_headers_alone_leave_all_that_is_settled_missing(self):
        empty = file_of(
            STATEMENT.iloc[:0], opening_minor=0, closing_minor=0, period=(date(2026, 1, 1), date(2026, 1, 31))
        )
        result = reconcile(LEDGER, empty)
        assert codes(result) == [("a", "missing_in_statement"), ("b", "missing_in_statement")]
        assert result.breaks["age_days"].tolist() == [26, 26]
        assert result.breaks["bucket"].tolist() == ["8–30", "8–30"]  # noqa: RUF001  an en dash, as in print
        assert result.proof.loc[0, "holds"]

    @pytest.mark.parametrize("ledger", [LEDGER.iloc[:0], LEDGER.assign(account="bank:settlement")])
    def test_payments_that_all_failed_need_no_account_in_the_ledger(self, ledger: pd.DataFrame):
        failed = statement_of(movement("a", 100, status="failed"), movement("b", 200, status="pending"))
        result = reconcile(ledger, failed)
        assert result.breaks.empty
        assert result.matches["rule"].tolist() == ["nothing_moved"] * 2
        assert result.proof.loc[0, "holds"]

    def test_a_balance_that_does_not_follow_is_a_line_of_its_own(self):
        result = reconcile(LEDGER, statement_of(movement("a", 100), movement("b", 200, fee_minor=2), jump=7))
        line = result.proof.iloc[0]
        assert not line["holds"]
        assert (line["gap_minor"], line["unexplained_minor"], line["opening_minor"]) == (7, -7, 0)
        assert line["note"] == "the statement's balances jump by K0.07 beyond its rows"

    def test_nor_does_one_that_comes_right_again_further_down(self):
        found = pd.DataFrame({"line": [2, 3], "expected_minor": [100, 401], "found_minor": [203, 298]})
        line = reconcile(LEDGER, file_of(STATEMENT, findings=found)).proof.iloc[0]
        assert not line["holds"]
        assert line["unexplained_minor"] == 0
        assert line["note"] == (
            "the running balance of mtn.csv does not follow in line 2, and in 1 more: K1.00 expected, K2.03 found"
        )

    def test_one_wholly_in_another_currency_is_refused(self):
        theirs = statement_of(movement("a", 100, currency="USD"), movement("b", 200, currency="USD"))
        with pytest.raises(ReconcileRefused, match="USD"):
            reconcile(LEDGER, file_of(theirs))

    def test_another_opening_balance_does_not_hold_either(self):
        result = reconcile(LEDGER, file_of(STATEMENT, opening_minor=50, closing_minor=348))
        assert not result.proof.loc[0, "holds"]
        assert result.proof.loc[0, "opening_minor"] == -50

    def test_the_newest_row_may_stand_first(self):
        rows = [movement("a", 100, day=4), movement("b", 200, fee_minor=2)]
        theirs = statement_of(*rows)
        theirs["line"] = [3, 2]
        assert reconcile(ledger_of(*rows), theirs).proof.loc[0, "holds"]

    def test_an_old_row_that_comes_last_is_no_sign_of_that(self):
        rows = [movement("a", 100, day=4), movement("b", 200, fee_minor=2), movement("c", 7, day=3)]
        line = reconcile(ledger_of(*rows), statement_of(*rows)).proof.iloc[0]
        assert line["holds"]
        assert (line["statement_minor"], line["opening_minor"], line["gap_minor"]) == (305, 0, 0)

    def test_overlapping_files_tell_a_line_twice_and_the_proof_still_holds(self):
        one = statement_of(movement("a", 100, day=4), movement("b", 200, fee_minor=2), name="first.csv")
        two = statement_of(movement("b", 200, fee_minor=2), movement("c", 50, day=6), name="second.csv", opening=100)
        ledger = ledger_of(movement("a", 100, day=4), movement("b", 200, fee_minor=2), movement("c", 50, day=6))
        result = reconcile(ledger, [one, two])
        assert codes(result) == [("b", "duplicate_in_statement")]
        again = result.breaks.iloc[0]
        assert (again["statement"], again["line"], again["variance_minor"]) == ("second.csv", 2, 0)
        assert pd.isna(again["proposal"])
        assert result.proof.loc[0, "holds"]

    def test_of_a_line_that_the_second_file_has_twice_one_moved_the_balance(self):
        one = statement_of(movement("a", 100), name="first.csv")
        two = statement_of(movement("a", 100), movement("a", 100), name="second.csv")
        result = reconcile(ledger_of(movement("a", 100)), [one, two])
        assert result.breaks["variance_minor"].tolist() == [0, -100]
        assert result.proof.loc[0, ["difference_minor", "holds"]].tolist() == [-100, True]

    def test_two_lines_that_both_files_have_moved_it_twice(self):
        twice = [movement("a", 100), movement("a", 100)]
        files_of = [statement_of(*twice, name=name) for name in ("first.csv", "second.csv")]
        result = reconcile(ledger_of(movement("a", 100)), files_of)
        assert sorted(result.breaks["variance_minor"]) == [-100, 0, 0]
        assert result.proof.loc[0, ["difference_minor", "holds"]].tolist() == [-100, True]

    def test_a_line_booked_twice_in_one_file_moves_the_balance_twice(self):
        result = reconcile(ledger_of(movement("a", 100)), statement_of(movement("a", 100), movement("a", 100)))
        assert codes(result) == [("a", "duplicate_in_statement")]
        assert result.proof.loc[0, ["difference_minor", "breaks_minor", "holds"]].tolist() == [-100, -100, True]


class TestBatches:
    PARTS = (movement("p", 100, day=4, batch="b"), movement("q", 50, day=4, batch="b"), movement("c", 7, day=6))

    def test_a_line_that_two_files_tell_is_added_once(self):
        p, q, c = self.PARTS
        one = statement_of(p, q, name="first.csv")
        two = statement_of(q, c, name="second.csv", opening=100)
        result = reconcile(ledger_of(movement("b", 150, day=4), c), [one, two])
        assert codes(result) == [("q", "duplicate_in_statement")]
        again = result.breaks.iloc[0]
        assert (again["statement"], again["line"], again["variance_minor"]) == ("second.csv", 2, 0)
        assert result.matches["rule"].tolist() == ["one_to_many"] * 3 + ["key"] * 2
        assert result.proof.loc[0, "holds"]

    def test_so_is_one_whose_batch_only_the_ledger_knows(self):
        _, _, c = self.PARTS
        credit = movement("b", 150, day=4)
        one, two = statement_of(credit, name="first.csv"), statement_of(credit, c, name="second.csv")
        halves = [movement(f"je_{number}", 75, day=4, batch="b") for number in (1, 2)]
        result = reconcile(ledger_of(*halves, c), [one, two])
        assert codes(result) == [("b", "duplicate_in_statement")]
        assert result.proof.loc[0, "holds"]

    def test_a_line_that_is_told_again_in_the_next_period_is_added_once_too(self):
        p, q, c = self.PARTS
        whole = ledger_of(movement("b", 150, day=4), c)
        first = reconcile(whole.iloc[:1], statement_of(p, name="mtn.csv"))
        assert codes(first) == [("p", "batch_mismatch")]
        second = reconcile(whole, statement_of(p, q, c, name="mtn.csv"), carry_forward=first.carry_forward)
        assert codes(second) == [("p", "duplicate_in_statement")]
        assert second.proof.loc[0, "holds"]

    def test_a_row_named_as_its_batch_has_no_partner_outside_it(self):
        whole = [movement("b", 100, phone="p"), movement("part", 100, phone="p", batch="b")]
        result = reconcile(ledger_of(movement("a", 100, phone="p")), statement_of(*whole), cut_off=0)
        assert codes(result) == [("a", "missing_in_statement"), ("b", "missing_in_ledger")]
        assert result.breaks["rows"].tolist() == [2, 1]
        assert len(result.carry_forward.rows) == 3


class TestBadRows:
    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"key": None}, "no key"),
            ({"amount_minor": None}, "no amount"),
            ({"fee_minor": -5}, "a negative fee"),
            ({"business_date": None}, "no business date"),
            ({"direction": "across"}, "'across' as direction, which is none of in, out"),
            ({"problem": "the date is 31 February."}, "the date is 31 February"),
        ],
    )
    def test_each_is_a_break_with_its_reason(self, wrong: Row, said: str):
        theirs = (
            statement_of(movement("a", 100), {**movement("b", 200), **wrong}) if "amount_minor" not in wrong else None
        )
        if theirs is None:
            theirs = statement_of(movement("a", 100), movement("b", 0))
            theirs.loc[1, "amount_minor"] = pd.NA
        result = reconcile(ledger_of(movement("a", 100)), theirs)
        bad = result.breaks.iloc[0]
        assert (bad["code"], bad["line"]) == ("invalid_row", 3)
        assert bad["reason"] == f"The row cannot be used: {said}."
        assert result.proof.loc[0, "unexplained_minor"] == 0

    def test_text_of_any_length_and_formulas_are_only_text(self):
        long = "=cmd|'/c calc'!A1" * 600
        result = reconcile(LEDGER, statement_of(movement("a", 100), movement(long, 1), movement("b", 200, fee_minor=2)))
        assert result.breaks["key"].tolist() == [long]


@pytest.mark.parametrize("engine", ENGINES)
class TestTablesOfOtherMakes:
    def test_an_empty_text_is_neither_a_key_nor_a_batch(self, engine: str):
        ledger = ledger_of(movement("a", 300, batch=""), movement("b", 5, batch=""), movement("", 7))
        theirs = statement_of(movement("a", 5, batch=""), movement("b", 300, batch=""), movement("", 7))
        result = reconcile(ledger, theirs, engine=engine)
        assert sorted(result.breaks["code"]) == ["amount_mismatch", "amount_mismatch", "invalid_row", "invalid_row"]
        assert result.breaks.loc[result.breaks["code"] == "invalid_row", "reason"].unique().tolist() == [
            "The row cannot be used: no key."
        ]

    @pytest.mark.parametrize("unit", ["ns", "us", "s"])
    def test_moments_may_be_finer_or_coarser_and_of_any_zone(self, unit: str, engine: str, tmp_path: Path):
        phoned = [movement(key, 100, phone="+26096••••567") for key in ("a", "z")]
        tables = [
            rows.assign(occurred_at=rows["occurred_at"].dt.as_unit(unit).dt.tz_convert("Africa/Lusaka"))
            for rows in (ledger_of(phoned[0]), statement_of(phoned[1]))
        ]
        tables[0].to_parquet(tmp_path / "ledger.parquet")
        for ledger in (tables[0], tmp_path / "ledger.parquet"):
            assert codes(reconcile(ledger, tables[1], engine=engine)) == [("z", "wrong_reference")]

    def test_a_number_is_the_same_however_each_side_writes_it(self, engine: str):
        spellings = ["+260961234567", "260961234567", "0961234567", "961234567", "+260 96-123 4567", "26096****567"]
        masked = "+26096••••567"
        pairs = [pair for each in spellings for pair in ((each, masked), (masked, each), (each, "0961234567"))]
        result = reconciled(pairs, engine)
        assert codes(result) == [(f"z{place:02}", "wrong_reference") for place in range(len(pairs))]
        assert set(result.breaks["phone"]) == {masked}
        assert result.carry_forward.rows["phone"].tolist() == [masked] * 2 * len(pairs)

    def test_two_whole_numbers_that_differ_are_two_customers(self, engine: str):
        pairs = [("0961234567", "0969999567"), ("+260961234567", "260971234567"), ("+254712345678", "+254712345679"),
                 ("p", "q")]  # fmt: skip
        assert "wrong_reference" not in set(reconciled(pairs, engine).breaks["code"])

    def test_what_is_no_number_of_a_mobile_is_compared_as_it_is(self, engine: str):
        pairs = [(each, each) for each in ("p", "+254712345678", "Mwansa")]
        assert codes(reconciled(pairs, engine)) == [(f"z{place:02}", "wrong_reference") for place in range(3)]


def reconciled(phones: list[tuple[str, str]], engine: str) -> Reconciliation:
    """Of each pair a payment with its number as each side writes it, alike in all but the key."""
    ours = [movement(f"a{place:02}", 100 + place, phone=each) for place, (each, _) in enumerate(phones)]
    theirs = [movement(f"z{place:02}", 100 + place, phone=each) for place, (_, each) in enumerate(phones)]
    return reconcile(ledger_of(*ours), statement_of(*theirs), engine=engine)


class TestCarryForward:
    def test_what_was_matched_before_is_refused_when_it_is_told_again(self):
        ledger = ledger_of(*(movement(key, 100, day=day) for key, day in (("a", 3), ("b", 5), ("c", 6))))
        first = reconcile(ledger.iloc[:2], statement_of(movement("a", 100, day=3), movement("b", 100)))
        overlapping = statement_of(movement("b", 100), movement("c", 100, day=6), name="next.csv", opening=100)
        with pytest.raises(ReconcileRefused, match=r"told again: next\.csv in 1 lines, the first of them 2"):
            reconcile(ledger, overlapping, carry_forward=first.carry_forward)
        following = statement_of(movement("c", 100, day=6), name="next.csv", opening=200)
        assert reconcile(ledger, following, carry_forward=first.carry_forward).is_clean

    def test_what_was_open_joins_in_with_its_age_and_what_was_read_is_not_read_again(self):
        january = ledger_of(movement("a", 100, day=30), movement("b", 200, day=31), movement("x", 5, day=3))
        first = reconcile(january, statement_of(movement("a", 100, day=30), movement("q", 1, day=31)))
        assert codes(first) == [("b", "timing"), ("q", "timing"), ("x", "missing_in_statement")]
        carried = first.carry_forward
        assert carried.closed.loc[0, ["statement_minor", "last_number"]].tolist() == [101, 3]
        february = ledger_of(
            movement("a", 100, day=30), movement("b", 200, day=31), movement("x", 5, day=3),
            february_of("c", 40, 2), february_of("d", 60, 3),
        )  # fmt: skip
        theirs = statement_of(
            movement("b", 200, day=31), february_of("c", 40, 2), february_of("d", 60, 3), opening=101, name="feb.csv"
        )
        second = reconcile(february, theirs, carry_forward=carried)
        assert codes(second) == [("q", "missing_in_ledger"), ("x", "missing_in_statement")]
        assert second.breaks.set_index("key")["age_days"].to_dict() == {"q": 3, "x": 31}
        assert second.rows_read == {"ledger": 4, "statement": 4}
        assert second.proof.loc[0, "holds"]

    def test_another_run_with_nothing_new_finds_the_same(self):
        ledger = ledger_of(
            *(movement(key, amount, day=3) for key, amount in (("a", 100), ("b", 200), ("c", 7))),
            *(movement(key, 5, day=day) for key, day in (("d", 3), ("d", 9), ("e", 9), ("e", 10), ("f", 3), ("g", 9))),
        )
        theirs = statement_of(
            *(movement(key, amount, day=3) for key, amount in (("a", 101), ("z", 9), ("d", 5), ("f", 5), ("f", 5))),
            *(movement(key, amount, day=9) for key, amount in (("c", 7), ("e", 5), ("g", 5), ("g", 5))),
        )
        first = reconcile(ledger, theirs)
        assert {
            ("d", "duplicate_in_ledger"), ("e", "duplicate_in_ledger"), ("f", "duplicate_in_statement"),
            ("g", "duplicate_in_statement"),
        } < set(codes(first))  # fmt: skip
        closing = int(theirs["balance_minor"].iloc[-1])
        nothing = file_of(theirs.iloc[:0], name="empty.csv", opening_minor=closing, closing_minor=closing)
        again = reconcile(ledger, nothing, carry_forward=first.carry_forward)
        assert codes(again) == codes(first)
        assert again.proof.loc[0, "holds"]
        pd.testing.assert_frame_equal(again.carry_forward.rows, first.carry_forward.rows)
        pd.testing.assert_frame_equal(again.carry_forward.closed, first.carry_forward.closed)

    def test_a_duplicate_stays_one_whatever_else_is_new(self):
        ledger = ledger_of(movement("a", 100), movement("a", 100), movement("b", 50))
        first = reconcile(ledger, statement_of(movement("a", 100), movement("b", 50), movement("b", 50)))
        assert codes(first) == [("a", "duplicate_in_ledger"), ("b", "duplicate_in_statement")]
        assert not first.is_clean
        theirs = statement_of(movement("a", 100, day=8), movement("b", 50, day=8), opening=200, name="next.csv")
        second = reconcile(ledger, theirs, carry_forward=first.carry_forward)
        assert codes(second) == [
            ("a", "duplicate_in_ledger"), ("a", "timing"), ("b", "duplicate_in_statement"),
            ("b", "duplicate_in_statement"),
        ]  # fmt: skip
        assert second.proof.loc[0, "holds"]

    @pytest.mark.parametrize("engine", ENGINES)
    def test_what_was_booked_twice_after_the_closing_date_still_meets_its_line(self, engine: str):
        ledger = ledger_of(movement("a", 100), movement("b", 50, day=8), movement("b", 50, day=8))
        first = reconcile(ledger, statement_of(movement("a", 100)), engine=engine)
        assert codes(first) == [("b", "duplicate_in_ledger"), ("b", "timing")]
        theirs = statement_of(movement("b", 50, day=8), movement("c", 9, day=12), opening=100, name="next.csv")
        second = reconcile(ledger, theirs, engine=engine, carry_forward=first.carry_forward)
        assert codes(second) == [("b", "duplicate_in_ledger"), ("c", "timing")]
        assert second.breaks.loc[0, "entry"] == "je_3"
        assert second.proof.loc[0, "holds"]

    def test_a_duplicate_of_a_line_that_two_files_told_stays_one(self):
        one = statement_of(movement("a", 100), name="one.csv")
        two = statement_of(movement("a", 100), movement("a", 100), name="two.csv")
        ledger = ledger_of(movement("a", 90))
        first = reconcile(ledger, [one, two])
        assert sorted(first.breaks["variance_minor"]) == [-100, -10, 0]
        nothing = file_of(one.iloc[:0], name="empty.csv", opening_minor=200, closing_minor=200)
        again = reconcile(ledger, nothing, carry_forward=first.carry_forward)
        assert sorted(again.breaks["variance_minor"]) == [-100, -10]
        overlapping = reconcile(
            ledger, statement_of(*[movement("a", 100)] * 2, name="two.csv"), carry_forward=first.carry_forward
        )
        assert sorted(overlapping.breaks["variance_minor"]) == [-100, -10, 0, 0]
        assert overlapping.proof.loc[0, "holds"]

    def test_a_duplicate_that_is_settled_is_open_no_more(self):
        ledger = ledger_of(movement("a", 100), movement("a", 100), movement("b", 50))
        theirs = statement_of(movement("a", 100), movement("b", 50), movement("b", 50))
        first = reconcile(ledger, theirs)
        for proposal in first.breaks["proposal"]:
            ledger = settled(ledger, proposal)
        nothing = file_of(theirs.iloc[:0], name="empty.csv", opening_minor=200, closing_minor=200)
        assert reconcile(ledger, nothing, carry_forward=first.carry_forward).breaks.empty

    @pytest.mark.parametrize("engine", ENGINES)
    def test_what_was_matched_ahead_of_the_closing_date_is_not_opened_again(self, engine: str):
        ledger = ledger_of(
            movement("a", 100), movement("b", 50, day=6), movement("c", 9, day=4),
            movement("je_4", 9, day=8, direction="out", batch="c", kind="reversed", reverses="je_3"),
            movement("d", 7, day=9),
        )  # fmt: skip
        first = reconcile(ledger, statement_of(movement("a", 100), movement("b", 50)), engine=engine)
        assert codes(first) == [("d", "timing")]
        assert first.carry_forward.ahead["entry"].tolist() == ["je_2", "je_4"]
        nothing = file_of(STATEMENT.iloc[:0], name="empty.csv", opening_minor=150, closing_minor=150)
        again = reconcile(ledger, nothing, engine=engine, carry_forward=first.carry_forward)
        assert codes(again) == codes(first)
        assert again.proof.loc[0, "holds"]
        pd.testing.assert_frame_equal(again.carry_forward.ahead, first.carry_forward.ahead)
        following = statement_of(movement("d", 7, day=9), opening=150, name="next.csv")
        last = reconcile(ledger, following, engine=engine, carry_forward=again.carry_forward)
        assert last.breaks.empty
        assert last.proof.loc[0, "holds"]
        assert last.carry_forward.ahead.empty
        with pytest.raises(ReconcileRefused, match="told again"):
            reconcile(
                ledger,
                statement_of(movement("b", 50), name="again.csv"),
                engine=engine,
                carry_forward=first.carry_forward,
            )

    def test_the_state_of_an_open_row_is_that_of_today(self):
        late = movement("a", 100, day=3)
        first = reconcile(ledger_of({**late, "state": "in_suspense"}), statement_of(late, movement("z", 1, day=9)))
        assert ("a", "late_success") in codes(first)
        theirs = statement_of(movement("z2", 1, day=10), opening=101, name="next.csv")
        second = reconcile(ledger_of(late), theirs, carry_forward=first.carry_forward)
        assert codes(second) == [("z", "missing_in_ledger"), ("z2", "timing")]

    @pytest.mark.parametrize("ending", [".parquet", ".csv"])
    def test_it_is_kept_in_files(self, ending: str, tmp_path: Path):
        ledger = ledger_of(movement("a", 100), movement("a", 100), movement("b", 50))
        left = reconcile(ledger, statement_of(movement("a", 100), movement("z", 50))).carry_forward
        for name, frame, columns in (("rows", left.rows, CARRIED), ("closed", left.closed, CLOSED)):
            files.write(frame, tmp_path / f"{name}{ending}", columns)
        rows, closed = (
            files.read(tmp_path / f"{name}{ending}", columns)
            for name, columns in (("rows", CARRIED), ("closed", CLOSED))
        )
        pd.testing.assert_frame_equal(rows, left.rows, check_categorical=False)
        theirs = file_of(STATEMENT.iloc[:0], name="empty.csv", opening_minor=150, closing_minor=150)
        again = reconcile(ledger, theirs, carry_forward=CarryForward(rows, closed))
        assert codes(again) == [("a", "duplicate_in_ledger"), ("b", "timing"), ("z", "timing")]

    def test_it_shows_itself_as_text_and_as_html(self):
        left = reconcile(LEDGER, statement_of(movement("a", 100), movement("q", 1_050, day=6))).carry_forward
        text = repr(left).splitlines()
        assert text[0] == "Carried forward: 2 open rows"
        assert text[3].split() == [ACCOUNT, "2026-01-06", "1", "1", "K11.50"]
        assert '<td style="text-align:right">K11.50</td>' in left._repr_html_()

    def test_it_needs_its_columns(self):
        with pytest.raises(ReconcileRefused, match="side"):
            CarryForward(pd.DataFrame(), pd.DataFrame())


def february_of(key: str, amount: int, day: int) -> Row:
    at = datetime(2026, 2, day, 10, tzinfo=UTC)
    return movement(key, amount, occurred_at=at, business_date=at.date())


POSTED = {"kind": "unknown_credit"}


def settled(ledger: pd.DataFrame, proposal: str) -> pd.DataFrame:
    """The ledger with the entries that a proposal asks for, as the sandbox shows them on the account."""
    rows = ledger.drop(columns="balance_minor").to_dict("records")
    for body in json.loads(proposal):
        number = len(rows) + 1
        named = next((row for row in rows if row["entry"] == body["entry"]), None)
        batch = body["reference"]
        if body["recipe"] in {"reversed", "payout_returned"}:
            batch = batch or named["batch"] if not pd.isna(named["batch"]) else batch or named["key"]
        amount = settled_effect(body, named)
        rows.append(
            movement(
                f"je_{number}", abs(amount), direction="in" if amount >= 0 else "out", batch=batch,
                entry=f"je_{number}", number=number, kind=body["recipe"],
                reverses=body["entry"] if body["recipe"] == "reversed" else None,
            )
        )  # fmt: skip
    clean = [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]
    return ledger_of(*clean)


def settled_effect(body: dict, named: dict | None) -> int:
    amount, fee = body["amount_minor"], body["fee_minor"]
    plain = {
        "unknown_credit": amount - fee, "unknown_debit": -amount - fee, "fee_raised": -amount, "fee_lowered": amount,
        "rounded_up": amount, "rounded_down": -amount, "redated": 0,
    }  # fmt: skip
    assert not fee or body["recipe"] not in {"fee_raised", "fee_lowered", "rounded_up", "rounded_down", "redated"}
    if body["recipe"] in plain:
        return plain[body["recipe"]]
    return effect(named) if body["recipe"] == "reposted" else -effect(named)


OPEN = {
    "amount_mismatch": (movement("k", 500), movement("k", 700)),
    "rounding": (movement("k", 500), movement("k", 499)),
    "fee_mismatch": (movement("k", 500, fee_minor=5), movement("k", 500, fee_minor=2)),
    "amount and fee": (movement("k", 500, fee_minor=5), movement("k", 900, fee_minor=9)),
    "direction_mismatch": (movement("k", 500, fee_minor=5), movement("k", 500, fee_minor=5, direction="out")),
    "status_mismatch": (movement("k", 500, fee_minor=5), movement("k", 500, fee_minor=5, status="failed")),
    "date_mismatch": (movement("k", 500, day=1, fee_minor=5), movement("k", 500, day=7, fee_minor=5)),
    "missing_in_statement": (movement("k", 500, day=1), None),
    "a batch that is missing": (movement("je_1", 500, day=1, batch="stl"), None),
    "payout_unpaid": (movement("k", 500, day=1, direction="out", kind="payout_paid"), None),
    "missing_in_ledger": (None, movement("k", 500, day=1, fee_minor=5)),
    "a debit": (None, movement("k", 500, day=1, fee_minor=5, direction="out")),
    "a fee": (None, movement("k", 500, day=1, direction="out", type="fee")),
    "batch_mismatch": (movement("je_1", 500, batch="stl"), movement("stl", 800)),
    "wrong_reference": (movement("k", 500, fee_minor=5, phone="p"), movement("l", 500, fee_minor=4, phone="p")),
    "reversed_unmatched": (None, movement("r", 100, direction="out", type="reversal", related="base", fee_minor=1)),
}


class TestSettling:
    @pytest.mark.parametrize("case", OPEN)
    def test_the_proposed_entries_make_the_next_run_clean(self, case: str):
        ours, theirs = OPEN[case]
        base = movement("base", 100, fee_minor=3, day=8)
        ledger = ledger_of(*([ours] if ours else []), base)
        statement = statement_of(*([theirs] if theirs else []), base)
        found = reconcile(ledger, statement)
        assert len(found.breaks) == 1
        assert reconcile(settled(ledger, found.breaks.loc[0, "proposal"]), statement).breaks.empty

    def test_a_second_line_settles_too(self):
        ledger = ledger_of(movement("k", 500))
        statement = statement_of(movement("k", 500), movement("k", 500))
        proposal = reconcile(ledger, statement).breaks.loc[0, "proposal"]
        assert reconcile(settled(ledger, proposal), statement).breaks.empty

    def test_a_second_entry_settles_too(self):
        ledger = ledger_of(movement("k", 500), movement("k", 500))
        statement = statement_of(movement("k", 500))
        proposal = reconcile(ledger, statement).breaks.loc[0, "proposal"]
        assert [body["entry"] for body in json.loads(proposal)] == ["je_2"]
        assert reconcile(settled(ledger, proposal), statement).breaks.empty

    def test_late_money_is_settled_from_suspense(self):
        found = reconcile(ledger_of(movement("k", 500, state="in_suspense")), statement_of(movement("k", 500)))
        [body] = json.loads(found.breaks.loc[0, "proposal"])
        assert (body["recipe"], body["entry"], body["amount_minor"]) == ("suspense_settled", "je_1", 500)


class TestWords:
    def test_every_code_has_words(self):
        assert tuple(BREAK_CODES) == CODES
        assert all(row.meaning and row.reason and row.settlement for row in BREAK_CODES.values())

    def test_the_figures_stand_in_the_reason(self):
        result = reconcile(ledger_of(movement("k", 123_450)), statement_of(movement("k", 23_450, fee_minor=5)))
        assert result.breaks.loc[0, "reason"] == (
            "k is K1,234.50 gross in the ledger and K234.50 gross on the statement: K1,000.00 apart; "
            "with fees of K0.00 and K0.05 that is K1,234.50 net and K234.45 net."
        )

    @pytest.mark.parametrize(
        ("age", "bucket"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (30, 3), (31, 4)]
    )
    def test_the_buckets(self, age: int, bucket: int):
        closing = datetime(2026, 2, 1, 10, tzinfo=UTC)
        opened = pd.Timestamp(closing) - pd.Timedelta(days=age)
        row = movement("k", 1, occurred_at=opened.to_pydatetime(), business_date=opened.date())
        last = movement("last", 1, occurred_at=closing, business_date=closing.date())
        result = reconcile(ledger_of(row, last), statement_of(last), cut_off=0)
        assert result.breaks.loc[0, ["age_days", "bucket"]].tolist() == [age, list(BUCKETS)[bucket]]
