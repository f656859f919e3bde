"""What makes a check worth little is said first: days that cannot be, files that cannot be read, or have no rows."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import pytest

from tests.analysis.test_reconcile import (
    A,
    B,
    Case,
    Row,
    codes,
    facts,
    file_of,
    ledger_of,
    movement,
    statement_of,
    together,
    without_rows,
)
from tests.conftest import Shop
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.report.captions import headline, is_proven
from workbench.analysis.shapes import EXACT, NOTHING_PROVEN
from workbench.analysis.statements import read_statement
from workbench.domain.moments import LUSAKA
from workbench.errors import ReconcileRefused

JANUARY = (date(2026, 1, 1), date(2026, 1, 31))
TODAY = JANUARY[1]


def dated(key: str, amount: int, year: int) -> Row:
    """A movement on the fifth of January of a year."""
    at = datetime(year, 1, 5, 10, tzinfo=UTC)
    return movement(key, amount, occurred_at=at, business_date=at.date())


AFTER = "The row cannot be used: it is dated 2062-01-05, after 2026-01-31, the day of the reconciliation."
FAR, OLD = dated("far", 7, 2062), dated("old", 9, 1900)
AS_OF: dict[str, tuple[Case, Row]] = {
    "a line of a later day is invalid and closes nothing": (
        (ledger_of(A, B), [statement_of(A, B, FAR)]),
        {"codes": [("far", "invalid_row")], "statement_minor": 305, "variance_minor": [-7], "carried": 1, "closes": 5,
         "proposal": [None], "reason": [AFTER]},
    ),
    "a row of the ledger of a later day is one of the next period": (
        (ledger_of(A, movement("b", 5, day=40), movement("c", 6, day=80)), [statement_of(A)]),
        {"codes": [], "ledger_minor": 100, "closes": 5, "carried": 0, "ahead": [], "holds": True},
    ),
    "a lone row of the ledger is invalid where its year is mistyped": (
        (ledger_of(A, B, FAR), [statement_of(A, B)]), {"codes": [("far", "invalid_row")], "variance_minor": [7],
                                                       "closes": 5, "carried": 0, "ahead": []},
    ),
    "a line with a partner has another date": (
        (ledger_of(A, movement("far", 7)), [statement_of(A, FAR)]),
        {"codes": [("far", "date_mismatch")], "closes": 5, "age_days": [0]},
    ),
    "what both sides date so agrees and closes nothing": (
        (ledger_of(A, FAR), [statement_of(A, FAR)]), {"codes": [], "closes": 5, "ahead": ["je_2"], "holds": True},
    ),
    "nor does a payment that failed": (
        (ledger_of(A), [statement_of(A, {**FAR, "status": "failed"})]), {"codes": [], "closes": 5, "holds": True},
    ),
    "with nothing before it the day itself is the closing date": (
        (ledger_of(FAR), [statement_of(FAR)]), {"codes": [], "closes": 31},
    ),
    "a file's own last day is no later than that": (
        (ledger_of(A), [file_of(statement_of(A), period=(date(2026, 1, 1), date(2026, 3, 31)))]), {"closes": 31},
    ),
}  # fmt: skip
PERIODS: dict[str, tuple[Case, Row]] = {
    "lines outside of the period that a file tells are invalid but for a day": (
        (ledger_of(A), [file_of(statement_of(OLD, A, movement("one", 1, day=32), movement("two", 2, day=33), FAR),
                                period=JANUARY)]),
        {"codes": [("far", "invalid_row"), ("old", "invalid_row"), ("one", "timing"), ("two", "invalid_row")],
         "closes": 31, "breaks_minor": -19, "unexplained_minor": 0, "carried": 4,
         "reason": [f"The row cannot be used: it is dated {said} day of its file." for said in
                    ("1900-01-05, before the first", "2026-02-02, after the last", "2062-01-05, after the last")]},
    ),
    "a lone row of the ledger over a year after all others is invalid": (
        (ledger_of(A, B, FAR), [statement_of(A, B)]),
        {"codes": [("far", "invalid_row")], "variance_minor": [7], "closes": 5, "holds": True,
         "reason": ["The row cannot be used: it is dated 2062-01-05, over a year after all other rows of the ledger."]},
    ),
    "of two rows of the ledger either may be mistyped": (
        (ledger_of(A, FAR), [statement_of(A)]), {"codes": [], "ledger_minor": 100, "closes": 5, "holds": True},
    ),
    "headings alone prove nothing": (
        (ledger_of(), [file_of(statement_of())]),
        {"holds": False, "note": f"headings alone prove nothing.csv has no rows {NOTHING_PROVEN}", "codes": []},
    ),
    "nor do they where the ledger has rows": (
        (ledger_of(A), [file_of(statement_of())]), {"holds": False, "codes": [("a", "timing")]},
    ),
    "nor do rows of which none can be read": (
        (ledger_of(A), [statement_of({**A, "problem": "Amount is odd"}, opening=None)]),
        {"holds": False, "note": f"mtn.csv has no row that can be read {NOTHING_PROVEN}"},
    ),
    "a row that cannot be used closes nothing": (
        (ledger_of(A), [statement_of(A, {**movement("odd", 1, day=20), "problem": "Amount is odd"})]), {"closes": 5},
    ),
    "balances without rows prove that nothing moved": (
        (ledger_of(), [without_rows(500)]), {"holds": True, "note": EXACT, "statement_minor": 500},
    ),
    "a balance in few rows": (
        (ledger_of(A, B), [file_of(statement_of(A, B, movement("c", 1), movement("d", 1)), followed=1)]),
        {"holds": True, "note": "the running balance of a balance in few rows.csv was compared in 1 of 4 rows"},
    ),
    "a balance in half of the rows that have one before them": (
        (ledger_of(A, B, movement("c", 1)), [file_of(statement_of(A, B, movement("c", 1)), followed=1)]),
        {"holds": True, "note": EXACT},
    ),
}  # fmt: skip


@cache
def run(as_of: date | None) -> Reconciliation:
    return together({name: case for name, (case, _) in TABLES[as_of].items()}, as_of=as_of)


TABLES: Mapping[date | None, dict[str, tuple[Case, Row]]] = {TODAY: AS_OF, None: PERIODS}


@pytest.mark.parametrize(("as_of", "name"), [(as_of, name) for as_of, table in TABLES.items() for name in table])
def test_of_days_and_rows_it_says(as_of: date | None, name: str):
    expected, result = TABLES[as_of][name][1], run(as_of)
    closed = result.carry_forward.of([name]).closed["closing_date"].iloc[0]
    found = facts(result, name) | {"closes": (closed - JANUARY[0]).days + 1}
    found["reason"] = [each for each in found["reason"] if "cannot be used" in each]
    assert {each: found[each] for each in expected} == expected


def test_a_line_of_an_impossible_day_stays_invalid_in_the_next_month_and_any_other_is_as_it_was():
    told = file_of(statement_of(OLD, A, movement("lost", 3, day=10), FAR), period=JANUARY)
    first = reconcile(ledger_of(A), told)
    later = movement("b", 5, day=40)
    days = (date(2026, 2, 1), date(2026, 2, 28))
    february = file_of(statement_of(later, opening=119), name=told.name, sha256="1", period=days)
    second = reconcile(ledger_of(A, later), february, carry_forward=first.carry_forward)
    for result in (first, second):
        # Both months' files have one name, and the second has a period of its own.
        assert codes(result.breaks) == [("far", "invalid_row"), ("lost", "missing_in_ledger"), ("old", "invalid_row")]
        assert result.proof["holds"].all()
    assert second.breaks["reason"].tolist() == first.breaks["reason"].tolist()


@pytest.mark.parametrize("line", [FAR, OLD], ids=["after the day", "before the file"])
@pytest.mark.parametrize("as_of", [None, date(2026, 2, 28)])
def test_a_line_of_an_impossible_day_has_the_partner_that_is_booked_in_the_next_month(line: Row, as_of: date | None):
    told = file_of(statement_of(line, A), period=JANUARY)
    first = reconcile(ledger_of(A), told, as_of=TODAY)
    assert codes(first.breaks) == [(line["key"], "invalid_row")]
    booked, later = movement(line["key"], line["amount_minor"], day=40), movement("b", 5, day=41)
    rows = statement_of(later, name="feb.csv", opening=100 + line["amount_minor"])
    february = file_of(rows, name="feb.csv", sha256="1")
    second = reconcile(ledger_of(A, booked, later), february, carry_forward=first.carry_forward, as_of=as_of)
    at_once = reconcile(ledger_of(A, booked, later), [told, february], as_of=date(2026, 2, 28))
    for result in (second, at_once):
        assert codes(result.breaks) == [(line["key"], "date_mismatch")]
        assert result.proof["holds"].all()
    assert second.breaks["id"].tolist() == at_once.breaks["id"].tolist()


def test_the_clock_of_a_sandbox_bounds_its_ledger(shop: Shop):
    shop.charge()
    ledger = shop.bench.ledger
    today = shop.bench.clock.now.astimezone(LUSAKA).date()
    assert ledger.business_date == today
    told = [FAR, movement("now", 3, business_date=today)]
    result = reconcile(ledger, statement_of(*told))
    assert result.carry_forward.closed["closing_date"].tolist() == [today]
    assert ("far", "invalid_row") in codes(result.breaks)
    later = reconcile(ledger, statement_of(*told), as_of=date(2062, 1, 5))
    assert later.carry_forward.closed["closing_date"].tolist() == [date(2062, 1, 5)]


@pytest.mark.thorough
def test_a_last_day_long_after_all_others_is_said():
    near, late = movement("near", 3, day=9), movement("late", 7, day=60)
    years = [dated("old", 1, 2025), dated("older", 2, 2024), dated("new", 4, 2026)]
    for rows, more, says in (
        ([A, near, FAR, {**FAR, "key": "other"}], {}, "operator:mtn:float closes on 2062-01-05 because of 2 of 4 rows"),
        ([A, near, FAR], {}, None),
        ([A, near, late], {}, "operator:mtn:float closes on 2026-03-01 because of 1 of 3 rows of mtn.csv"),
        ([A, near], {}, None),
        (years, {}, None),
        ([FAR], {}, None),
        ([A, near, {**FAR, "problem": "odd"}], {}, None),
        ([A, near, FAR], {"as_of": TODAY}, None),
    ):
        result = reconcile(ledger_of(*rows), file_of(statement_of(*rows)), **more)
        assert result.proof["holds"].all()
        assert [note[: len(says or note)] for note in result.notes] == ([says] if says else [])
        assert all(note in result._repr_html_() for note in result.notes)


@pytest.mark.thorough
def test_a_lone_row_of_a_year_mistyped_closes_nothing_though_nobody_says_what_day_it_is():
    near = movement("near", 3, day=9)
    for rows, closes, found in (
        ([A, near, FAR], near, [("far", "invalid_row")]),
        ([A, near, FAR, {**FAR, "key": "too"}], FAR, [("far", "timing"), ("too", "timing")]),
        ([A, near, movement("next", 7, day=9 + 366)], movement("next", 7, day=9 + 366), [("next", "timing")]),
        (
            [dated("old", 1, 2020), dated("mid", 2, 2023), dated("next", 4, 2025)],
            dated("next", 4, 2025),
            [("mid", "missing_in_ledger"), ("next", "timing"), ("old", "missing_in_ledger")],
        ),
        ([A, FAR], FAR, [("far", "timing")]),
    ):
        told = file_of(statement_of(*rows), period=(rows[0]["business_date"], rows[-1]["business_date"]))
        result = reconcile(ledger_of(A, near), told)
        assert result.carry_forward.closed["closing_date"].tolist() == [closes["business_date"]]
        assert [each for each in codes(result.breaks) if each[0] != "near"] == found
        assert result.proof["holds"].all()


@pytest.mark.parametrize("wrong", ["2026-01-31", datetime(2026, 1, 31, tzinfo=UTC), 20_000])
def test_what_is_no_day_is_refused(wrong: object):
    with pytest.raises(ReconcileRefused, match="is not a day"):
        reconcile(ledger_of(A), statement_of(A), as_of=wrong)


class TestTheHeadline:
    @pytest.mark.thorough
    def test_it_begins_with_files_of_which_half_or_more_of_their_own_rows_cannot_be_read(self):
        odd = [{**movement(f"k{place}", 5), "problem": f"Amount '{place}O' is odd"} for place in range(4)]
        result = reconcile(ledger_of(A, B), statement_of(*odd[:2], A, B))
        begins = "2 of 4 rows of mtn.csv cannot be read: check the layout. First reason: Amount '0O' is odd."
        assert headline(result).startswith(f"{begins} 2 breaks to settle.")
        assert repr(result).startswith(f"{begins} 2 breaks to settle.")
        assert not is_proven(result)
        later = movement("c", 5, day=6)
        told = statement_of(later, opening=315)
        second = reconcile(ledger_of(A, B, later), told, carry_forward=result.carry_forward)
        assert headline(second).startswith("2 breaks to settle."), "what is carried is no row of the file"
        fewer = reconcile(ledger_of(A, B), statement_of(odd[0], A, B))
        assert headline(fewer).startswith("1 break to settle.")
        assert is_proven(fewer)

    def test_it_says_that_nothing_is_proven(self):
        result = reconcile(ledger_of(), file_of(statement_of()))
        assert headline(result) == (
            "mtn.csv has no rows and no closing balance: nothing is proven. Nothing to settle. "
            "The proof does not hold for operator:mtn:float."
        )
        assert not is_proven(result)


@pytest.mark.parametrize(
    ("balances", "amounts", "says"),
    [
        (["100.00", "200.00", "300.00"], ["100.00"] * 3, "agrees in every row"),
        (["100.00", "", "300.00"], ["100.00"] * 3, "agrees where compared, in 2 of 3 rows"),
        (["", "", "300.00"], ["100.00"] * 3, "agrees where compared, in 0 of 3 rows"),
        (["100.00", "200.00", "300.00"], ["100.00", "odd", "100.00"], "agrees where compared, in 2 of 3 rows"),
        (["100.00", "200.00", "300.00"], ["100.00", "100.00", "odd"], "agrees where compared, in 2 of 3 rows"),
        (["100.00"], ["100.00"], "agrees where compared, in 0 of 1 rows"),
        (["", ""], ["100.00"] * 2, "not given"),
    ],
)
def test_a_running_balance_says_in_how_many_rows_it_was_followed(
    balances: list[str], amounts: list[str], says: str, tmp_path: Path
):
    rows = [
        f"{place},2026-01-05 08:0{place}:00,Successful,Payment,FRI:96/MSISDN,FRI:shop/USER,{amount},0.00,{balance}"
        for place, (amount, balance) in enumerate(zip(amounts, balances, strict=True))
    ]
    path = tmp_path / "mtn.csv"
    path.write_text("\n".join(["Id,Date,Status,Type,From,To,Amount,Fee,Balance", *rows]))
    read = read_statement(path)
    assert says in repr(read)
    assert "nan" not in repr(read)
