"""Workbook and page have what the frames have: amounts whole, text that stays text, the same bytes again."""

import base64
import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape
from openpyxl.workbook import Workbook as Opened
from openpyxl.worksheet.worksheet import Worksheet

from workbench.analysis import files, shapes
from workbench.analysis.break_codes import BREAK_CODES, BUCKETS, CODES
from workbench.analysis.frames import frame, python_rows
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.reconcile.decisions import Signatures
from workbench.analysis.report import captions, outputs, page, totals, workbook
from workbench.analysis.report.captions import headline
from workbench.analysis.report.page import write_page
from workbench.analysis.report.workbook import write_workbook
from workbench.analysis.statements import read_ledger, read_statement
from workbench.bench import Workbench
from workbench.cli import app
from workbench.errors import ReconcileRefused, ReportRefused
from workbench.text.render import percent

Row = dict[str, Any]
MTN, BANK = "operator:mtn:float", "bank:settlement"
FIRST = date(2026, 1, 5)
VOID = {"meta", "link", "img", "br", "input", "hr"}
LETTERS = ("x", "🪴")
"""The second is a surrogate pair in UTF-16."""
FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", "-5+1", "@SUM(A1:A9)", "\t=1", "\r=1", "\n=1", "|x", "%x",
    '=HYPERLINK("http://example.invalid","x")', " =1+1", "\u00a0+1", "\ufeff@1", "\uff1d1+1", "\uff0b1", "\uff0d1",
    "\uff201", "\u200b=1",
]  # fmt: skip
"""What a spreadsheet would run if somebody typed it."""
HOSTILE = [
    *FORMULAS, "http://example.invalid/a", "mailto:a@example.invalid", "internal:Sheet1!A1", "{=1}", "_x0041_",
    "\x07bell", "<b>&amp;</b>", "1234567890123456789", "1e5", "TRUE", "2026-01-05", " both ends ", "\u202eesrever",
    "Ünïcödé 🪴", "", "+260961234567", "-5",
]  # fmt: skip


def a_break(code: str, variance: int, **more: object) -> Row:
    return {
        "statement": "mtn.csv", "line": 7, "account": MTN, "key": "1000000001", "code": code, "side": "ledger",
        "entry": "je_1", "ledger_minor": variance, "variance_minor": variance, "currency": "ZMW",
        "business_date": FIRST, "age_days": 1, "bucket": "0–1", "phone": "+26096•••4567", "rows": 1,  # noqa: RUF001  a bucket's name
        "reason": f"The reason of {code}.", "settlement": f"What settles {code}.", **more,
    }  # fmt: skip


def a_match(**more: object) -> Row:
    return {
        "rule": "key", "account": MTN, "group": "1000000009", "side": "ledger", "entry": "je_9", "key": "1000000009",
        "currency": "ZMW", "signed_minor": 15_000, **more,
    }  # fmt: skip


def in_summary(code: str, ledger: int, statement: int, account: str = MTN, day: date | None = FIRST) -> Row:
    """What one row of either side moves, and none where it is zero."""
    return {
        "account": account, "business_date": day, "code": code, "currency": "ZMW", "ledger_rows": int(ledger > 0),
        "statement_rows": int(statement > 0), "ledger_value_minor": ledger, "statement_value_minor": statement,
        "variance_minor": ledger - statement, "moved_minor": abs(ledger) + abs(statement),
    }  # fmt: skip


def proved(account: str, ledger: int, statement: int, explained: int, note: str | None = None) -> Row:
    off = ledger - statement
    return {
        **dict.fromkeys(("tolerated_minor", "brought_minor", "opening_minor", "gap_minor"), 0), "account": account,
        "currency": "ZMW", "ledger_minor": ledger, "statement_minor": statement, "difference_minor": off,
        "breaks_minor": explained, "unexplained_minor": off - explained, "holds": off == explained, "note": note,
    }  # fmt: skip


ROWS: dict[str, list[Row]] = {
    "breaks": [
        a_break("timing", 10_000, line=None, key="1000000002"),
        a_break("amount_mismatch", -200, side="both", ledger_minor=9_800, statement_minor=10_000, key="1000000003"),
        a_break("missing_in_ledger", -4_550, line=9, side="statement", entry=None, ledger_minor=None,
                statement_minor=4_550, key="1000000004", age_days=12, bucket="8–30", business_date=date(2026, 1, 9)),  # noqa: RUF001  the same
        a_break("missing_in_statement", 123_456_789, line=None, key="1000000005", age_days=40, bucket="31+"),
        a_break("invalid_row", 0, side="statement", entry=None, ledger_minor=None, key=None, business_date=None,
                age_days=None, bucket=None, phone=None, line=11),
    ],
    "matches": [
        a_match(),
        a_match(side="statement", entry=None, statement="mtn.csv", line=2),
        a_match(account=BANK, group="STL20260105", key="je_20", entry="je_20", signed_minor=1, rule="many_to_one"),
    ],
    "summary": [
        in_summary("matched", 15_000, 15_000), in_summary("matched", 500, 500, BANK),
        in_summary("timing", 10_000, 0), in_summary("amount_mismatch", 9_800, 10_000),
        in_summary("missing_in_ledger", 0, 4_550, day=date(2026, 1, 9)),
        in_summary("missing_in_statement", 123_456_789, 0),
        in_summary("invalid_row", 0, 0, day=None) | {"statement_rows": 1},
    ],
    "inputs": [
        {"side": "ledger", "name": "ledger.parquet", "sha256": "0" * 64, "rows": 5},
        {"side": "statement", "name": "mtn.csv", "sha256": "1" * 64, "rows": 5, "account": MTN, "first_date": FIRST,
         "last_date": date(2026, 1, 9)},
        {"side": "statement", "name": "<bank>.csv", "rows": 1, "account": BANK},
    ],
    "suggestions": [],
    "decisions": [],
    "closed": [],
}  # fmt: skip
COLUMNS = {
    "breaks": shapes.BREAK, "matches": shapes.MATCH, "summary": shapes.SUMMARY, "ageing": shapes.AGEING,
    "proof": shapes.PROOF, "inputs": shapes.INPUTS, "suggestions": shapes.SUGGESTION,
    "decisions": shapes.DECISION, "closed": shapes.CLOSED_BREAK,
}  # fmt: skip


def reconciled(**given: list[Row]) -> SimpleNamespace:
    """An operator with breaks of several kinds, and a bank whose books agree; other rows where a test gives them."""
    rows = ROWS | given
    explained = sum(each["variance_minor"] for each in rows["breaks"])
    usual = {
        "proof": [proved(MTN, explained + 70_000, 70_000, explained), proved(BANK, 5, 5, 0)],
        "ageing": [each | {"breaks": 1} for each in rows["breaks"]],
    }
    rows = usual | rows
    return SimpleNamespace(
        **{
            name: frame([dict.fromkeys(columns) | row for row in rows[name]], columns)
            for name, columns in COLUMNS.items()
        },
        notes=(),
        sign_off="No break has been decided.",
        carry_note="",
        aside=pd.DataFrame(),
        account_names={},
        signatures=Signatures(),
    )


NOTHING = reconciled(breaks=[], matches=[], summary=[], proof=[], inputs=[])


class TestTotals:
    def test_opposite_variances_do_not_hide_each_other_and_ages_are_in_their_order(self):
        result = reconciled(breaks=[a_break("timing", 500, rows=3), a_break("timing", -500)])
        assert captions.variances(result, "ZMW", "business_date").rows == ((f"{FIRST}", "2", "5.00", "5.00"),)
        (code,) = totals.sums_by_code(result)
        assert (code.breaks, code.rows, code.up_minor, code.down_minor) == (2, 4, 500, -500)
        result = reconciled(breaks=[a_break("timing", 1, bucket=name) for name in reversed(BUCKETS)])
        assert [name for name, *_ in captions.variances(result, "ZMW", "bucket").rows] == list(BUCKETS)

    def test_a_share_is_cut_and_not_rounded(self):
        shares = {(0, 0): "none", (0, 1): "0.00 %", (1, 1): "100.00 %", (10**15 - 1, 10**15): "99.99 %"}
        assert {each: percent(*each) for each in shares} == shares


class Outline(HTMLParser):
    """Tags in order with their attributes, the text of each, and what was left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for inside, text in self.texts if inside == tag]


@pytest.fixture(scope="module")
def outline() -> Outline:
    return Outline(page.page(reconciled()))


class TestPage:
    def test_nothing_is_fetched_and_one_script_runs_and_every_tag_is_closed_in_the_same_bytes(self, tmp_path: Path):
        write_page(reconciled(), tmp_path / "out.html")
        written = (tmp_path / "out.html").read_text("utf-8")
        outline = Outline(written)
        assert written == page.page(reconciled())
        assert outline.open == []
        assert not {"iframe", "object", "embed", "form", "base"} & {tag for tag, _ in outline.tags}
        attributes = [each for _, named in outline.tags for each in named.items()]
        targets = [value for name, value in attributes if name in {"src", "href"}]
        assert len([value for value in targets if value and value.startswith("data:")]) == 1
        assert all(value and value.startswith(("data:", "#")) for value in targets)
        assert re.findall(r"https?:|url\(|@import|//[a-z]", re.sub(r'(src|href)="data:[^"]*"', "", written)) == []
        assert [name for name, _ in attributes if name.startswith("on")] == []
        policies = [each["content"] for each in outline.all("meta") if each.get("http-equiv")]
        ((script,), (allowed,)) = outline.text_of("script"), re.findall("'sha256-(.*)'", str(policies))
        assert base64.b64decode(allowed) == hashlib.sha256(f"{script}\n".encode()).digest()
        assert policies == [
            f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'"
        ]
        assert re.findall("fetch|XMLHttp|WebSocket|sendBeacon|innerHTML|eval|localStorage|__", script) == []

    def test_tables_have_names_and_their_headings_say_of_what(self, outline: Outline):
        assert len(outline.all("table")) == len(outline.all("caption")) > 5
        assert {each.get("scope") for each in outline.all("th")} == {"col", "row"}

    def test_every_figure_break_and_hash_is_there_as_text(self, outline: Outline):
        assert outline.all("img") == []
        assert {"100.00 %", "0.02 %", "-45.50"} <= set(outline.text_of("td"))
        nets = {f"Breaks by {what}, net of fees, in ZMW" for what in ("age", "business date")}
        assert nets <= set(outline.text_of("caption"))
        for code in ("timing", "amount_mismatch", "missing_in_ledger", "missing_in_statement", "invalid_row"):
            assert {f"The reason of {code}.", f"What settles {code}."} <= set(outline.text_of("p"))
            assert BREAK_CODES[code].meaning in outline.text_of("span")
        assert {"0" * 64, "1" * 64, "not a file"} <= set(outline.text_of("td"))

    def test_no_text_becomes_markup(self):
        hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}'
        names = (
            "statement", "account", "key", "entry", "phone", "reason", "settlement", "description", "words", "verdict",
            "partner", "who", "why", "rule", "id",
        )  # fmt: skip
        result = reconciled(
            breaks=[a_break("timing", 1, **dict.fromkeys(names, hostile))],
            inputs=[{"side": "statement", "name": hostile, "rows": 1}],
            proof=[proved(hostile, 70_001, 70_000, 1, hostile)],
        )
        result.sign_off = hostile
        outline = Outline(page.page(result))
        assert len(outline.all("script")) == 1
        assert hostile in outline.text_of("th")
        assert outline.all("img") == []

    def test_the_largest_are_listed_and_the_rest_counted_and_a_long_text_is_cut(self):
        breaks = [a_break("timing", -place, key=f"key{place:05}", reason="x" * 10_000) for place in range(1_200)]
        written = page.page(reconciled(breaks=breaks))
        keys = [text for text in Outline(written).text_of("th") if text.startswith("key0")]
        assert keys == [f"key{place:05}" for place in range(1_199, 1_149, -1)]
        (section,) = Outline(written).all("section")
        rest = [key for _, _, key, *_ in json.loads(section["data-rest"] or "")]
        assert rest == [f"key{place:05}" for place in range(1_150)], "which a whole code is decided with"
        assert json.loads(section["data-rest"] or "")[7] == ["", MTN, "key00007", "timing", "", "-0.07"]
        assert "timing: the 50 largest; 1,150 more are in the workbook" in written
        assert "x" * 600 + "…" in written
        assert "x" * 601 not in written

    def test_a_break_has_gross_fee_and_net_of_both_sides_its_narrative_its_age_and_what_is_decided(self):
        said = {"description": "Paid by CUSTOMER", "words": "Paid / TS", "since_date": FIRST, "id": "b2"}
        ledger = {"ledger_amount_minor": 10_001, "ledger_fee_minor": 100, "ledger_minor": 9_901}
        statement = {"statement_amount_minor": 9_001, "statement_fee_minor": 200, "statement_minor": -8_801}
        decided = {"verdict": "write_off", "who": "Accounts", "why": "as agreed"}
        both = a_break("amount_mismatch", 7, **said, **decided) | ledger | statement
        result = reconciled(breaks=[both, a_break("timing", 5)])
        outline = Outline(page.page(result))
        cells, texts = outline.text_of("td"), outline.text_of("p")
        assert cells[cells.index("99.01") :][:3] == ["99.01", "-88.01", "+0.07"]
        gross = "ledger gross 100.01, ledger fee 1.00, statement gross 90.01, statement fee 2.00"
        assert any(gross in text and "carried since 2026-01-05" in text for text in texts)
        assert sum("new" in text for text in texts) == 1
        assert "\u201cPaid by CUSTOMER\u201d · Paid / TS" in outline.text_of("summary")
        assert "Written off by Accounts: as agreed" in outline.text_of("strong")

    def test_no_rows_at_all_are_a_page_too(self):
        written = page.page(NOTHING)
        assert Outline(written).text_of("td").count("none") == 3
        assert '<div class="outcome">' in written

    def test_the_headline_counts_breaks_and_names_what_is_worked_out_and_what_does_not_hold(self):
        waiting = "4 breaks to settle, and 1 movement within the cut-off that may still follow."
        assert headline(reconciled()) == f"{waiting} The proof holds to the last ngwee."
        result = reconciled(breaks=[], proof=[proved(MTN, 5, 5, 0)])
        assert headline(result) == "Nothing to settle. The proof holds to the last ngwee."
        note = "the statement gives no closing balance: it is worked out from its rows"
        worked_out = reconciled(breaks=[], proof=[proved(BANK, 5, 5, 0), proved(MTN, 5, 5, 0, note)])
        assert headline(worked_out) == (
            f"Nothing to settle. The proof holds to the last ngwee, for {MTN} against a closing balance worked out "
            "from the rows."
        )
        result = reconciled(breaks=[], proof=[proved(MTN, 123_456, 100_000, 20_000, "line 9 does not follow")])
        assert f"The proof does not hold for {MTN}." in headline(result)
        assert '<div class="outcome open">' in page.page(result)


class TestOverview:
    def test_text_and_page_of_a_notebook_say_the_same_reconciliation_first_then_what_to_do(self):
        told = {"description": "Paid by CUSTOMER\n<b>for</b> order 7", "statement_minor": 4_600}
        closed = {"account": MTN, "key": "7", "code": "timing", "currency": "ZMW", "variance_minor": 5, "rule": "key"}
        breaks = [a_break("timing", 5), *(a_break("missing_in_ledger", -place, **told) for place in range(9))]
        result = reconciled(breaks=breaks, closed=[closed])
        shown = captions.overview_text(result)
        outline = Outline(captions.overview_html(result))
        assert outline.open == []
        assert {tag for tag, _ in outline.tags} == {"p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert {name for _, named in outline.tags for name in named} == {"style", "scope"}
        lines = [line.strip() for line in shown.splitlines() if line.strip() and "─" not in line]
        assert [text for _, text in outline.texts if not any(text in line for line in lines)] == []
        begins = [
            "Reconciliation of operator:mtn:float", "9 breaks to settle, by what", "missing_in_ledger: What settles",
            "Closed in this period", "Breaks by what to do", "No break has been decided.",
        ]  # fmt: skip
        places = [next(n for n, line in enumerate(lines) if line.startswith(text)) for text in begins]
        assert places == sorted(places)
        assert sum("Paid by CUSTOMER <b>for</b> order 7" in line for line in lines) == 9
        assert any("matched by key" in line for line in lines)
        result.sign_off, result.suggestions = "Signed off by nobody.", [1, 2]
        assert "Signed off by nobody." in captions.overview_text(result)
        assert "2 suggestions to look at" in captions.overview_html(result)

    def test_what_is_decided_says_by_whom(self):
        decided = {"verdict": "accept", "who": "Accounts"}
        breaks = [a_break("timing", 5), a_break("fee_mismatch", 5, **decided), a_break("fee_mismatch", 4)]
        assert "1 of 2 decided by Accounts" in captions.overview_text(reconciled(breaks=breaks))
        assert any(
            line.endswith("  Decided by Accounts")
            for line in captions.overview_text(reconciled(breaks=breaks[:2])).splitlines()
        )


def by_account(result: SimpleNamespace) -> dict[str, list[tuple[str, int | None, int]]]:
    """Account → the lines of its reconciliation: text, items and minor units."""
    return {
        account.account: [(each.text, each.items, each.minor) for each in account.lines]
        for account in totals.balances(result)
    }


class TestReconciliation:
    def test_items_stand_by_kind_on_the_side_that_changes_and_both_adjusted_balances_agree(self):
        charge = {"side": "statement", "proposal": '[{"recipe": "fee_raised"}]'}
        breaks = [
            a_break("missing_in_statement", 700), a_break("missing_in_statement", -300), a_break("timing", -50),
            a_break("missing_in_ledger", 20, **charge), a_break("missing_in_ledger", -900, side="statement"),
            a_break("missing_in_ledger", 60, side="statement"), a_break("amount_mismatch", 8, side="both"),
            a_break("wrong_reference", 0, side="both"),
        ]  # fmt: skip
        assert by_account(reconciled(breaks=breaks))[MTN] == [
            ("Balance per statement", None, 70_000),
            ("plus receipts in the books, not yet on the statement", 1, 700),
            ("less outstanding payments", 2, -350),
            ("Adjusted balance per statement", None, 70_350),
            ("Balance per books", None, 69_538),
            ("plus receipts on the statement, not in the books", 1, 900),
            ("less payments on the statement, not in the books", 1, -60),
            ("less charges not booked", 1, -20),
            ("less errors: booked with another amount", 1, -8),
            ("Adjusted balance per books", None, 70_350),
        ]
        first, _ = captions.reconciliations(reconciled(breaks=breaks))
        assert first.caption == f"Reconciliation of {MTN} at 2026-01-09, in ZMW: both adjusted balances agree"
        assert first.rows[2] == ("less outstanding payments", "2", "-3.50")

    @pytest.mark.parametrize(
        ("theirs", "said"),
        [
            (-15_900, [("plus errors: booked with another amount", 1, 900)]),
            (-14_900, [("less errors: booked with another amount", 1, -100)]),
            (-15_000, []),
        ],
    )
    def test_a_pair_that_a_person_matched_is_one_error_of_its_difference(
        self, theirs: int, said: list[tuple[str, int, int]]
    ):
        ours = a_break("missing_in_statement", 15_000, id="b1", verdict="match", partner="b2")
        other = a_break("missing_in_ledger", theirs, side="statement", id="b2", verdict="match", partner="b1")
        left = by_account(reconciled(breaks=[ours, other]))[MTN]
        assert left[:2] == [(f"{name} per statement", None, 70_000) for name in ("Balance", "Adjusted balance")]
        assert left[3:-1] == said
        assert left[-1] == ("Adjusted balance per books", None, 70_000)

    def test_an_entry_that_is_written_off_leaves_the_statements_balance_and_corrects_the_books(self):
        lost = a_break("missing_in_statement", 7_700, verdict="write_off", proposal="[]")
        left = by_account(reconciled(breaks=[lost]))[MTN]
        assert ("less entries written off", 1, -7_700) in left
        assert ("Adjusted balance per statement", None, 70_000) in left

    def test_a_timing_difference_that_is_written_off_waits_for_the_statement_since_no_entry_books_it(self):
        result = reconciled(breaks=[a_break("timing", 7_700, verdict="write_off")])
        assert outputs.journal(result).empty
        assert ("Adjusted balance per statement", None, 77_700) in by_account(result)[MTN]

    def test_what_is_matched_on_one_side_alone_stays_with_the_items_of_that_side(self):
        both = [a_break("missing_in_ledger", variance, side="statement", id=name, verdict="match", partner=other)
                for variance, name, other in ((-900, "b1", "b2"), (400, "b2", "b1"))]  # fmt: skip
        assert ("plus receipts on the statement, not in the books", 1, 500) in by_account(reconciled(breaks=both))[MTN]

    @pytest.mark.thorough
    @given(st.lists(st.tuples(st.sampled_from(CODES), st.sampled_from(("ledger", "statement", "both")),
                              st.integers(-10**6, 10**6)), max_size=12),
           st.integers(-100, 100), st.integers(-100, 100), st.integers(-100, 100), st.integers(0, 12))  # fmt: skip
    def test_the_adjusted_balances_differ_by_what_nothing_explains(
        self, found: list[tuple[str, str, int]], tolerated: int, brought: int, rest: int, matched: int
    ):
        group = [f"b{n}" for n in range(len(found))][:matched]
        breaks = [
            a_break(code, variance, side=side) | ({"id": f"b{n}", "verdict": "match", "partner": "; ".join(
                each for each in group if each != f"b{n}")} if n < matched else {})
            for n, (code, side, variance) in enumerate(found)
        ]  # fmt: skip
        explained = sum(variance for *_, variance in found) + tolerated + brought
        proof = proved(MTN, 5_000 + explained + rest, 5_000, explained)
        result = reconciled(breaks=breaks, proof=[proof | {"tolerated_minor": tolerated, "brought_minor": brought}])
        lines = [line for account in totals.balances(result) for line in account.lines]
        statement, books = (each.minor for each in lines if each.text.startswith("Adjusted"))
        assert books - statement == rest
        assert (
            sum(each.minor for each in lines if each.items is not None) == statement + books - 10_000 - explained - rest
        )


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[SimpleNamespace], Opened]]:
    """Write and open again; what was opened is closed."""
    books: list[Opened] = []

    def write_and_open(result: SimpleNamespace) -> Opened:
        write_workbook(result, tmp_path / "out.xlsx", matches=True)
        books.append(openpyxl.load_workbook(tmp_path / "out.xlsx"))
        return books[-1]

    yield write_and_open
    for book in books:
        book.close()


def as_in_frame(value: object, name: str, kind: object) -> object:
    """A cell's value as it is in the frame."""
    if value is None:
        return None
    if name.endswith("_minor"):
        return int(Decimal(str(value)).scaleb(2).to_integral_exact())
    if "date32" in str(kind):
        return value.date() if isinstance(value, datetime) else value
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def read_back(sheet: Worksheet, frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return [
        tuple(as_in_frame(value, name, frame.dtypes[name]) for name, value in zip(frame.columns, values, strict=True))
        for values in sheet.iter_rows(min_row=2, values_only=True)
    ]


def columns_of(sheet: Worksheet) -> dict[int, Any]:
    """Column → how it is shown; alike neighbours are written as one."""
    return {column: each for each in sheet.column_dimensions.values() for column in range(each.min, each.max + 1)}


def for_people(breaks: pd.DataFrame) -> pd.DataFrame:
    """The breaks in the order of their sheet."""
    rest = [name for name in breaks.columns if name not in workbook.READ and name != "proposal"]
    return breaks[[*workbook.READ, *rest]]


class TestWorkbook:
    def test_every_cell_is_the_frames_below_headings_that_are_frozen_filtered_and_wide_enough(
        self, opened: Callable[..., Opened]
    ):
        result = reconciled()
        book = opened(result)
        frames = {name: getattr(result, name) for name in (*workbook.FRAMES, "matches")}
        frames |= {"breaks": for_people(result.breaks)}
        assert book.sheetnames == ["cover", "breaks", *workbook.FRAMES, "matches"]
        assert {each.sheet_state for each in book} == {"visible"}
        for name, rows in frames.items():
            sheet = book[name]
            assert read_back(sheet, rows) == list(python_rows(rows, *rows.columns)), name
            assert sheet.freeze_panes == ("C2" if name == "breaks" else "A2")
            last = openpyxl.utils.get_column_letter(len(rows.columns))
            assert sheet.auto_filter.ref == f"A1:{last}{len(rows) + 1}"
            wide = {column: each.width for column, each in columns_of(sheet).items()}
            assert name == "breaks" or all(wide[cell.column] > len(cell.value) for cell in sheet[1])
        sheet = book["breaks"]
        headings = [each.value for each in sheet[1]]
        cells = [row[headings.index("net variance")] for row in sheet.iter_rows(min_row=2)]
        assert {(each.number_format, each.data_type) for each in cells} == {("#,##0.00", "n")}
        assert round(sum(each.value for each in cells) * 100) == result.breaks["variance_minor"].sum()
        cell = sheet.cell(2, headings.index("business date") + 1)
        assert (cell.is_date, cell.value.date(), cell.number_format) == (True, FIRST, "yyyy-mm-dd")
        book = opened(NOTHING)
        assert {sheet.max_row for sheet in book if sheet.title != "cover"} == {1}

    def test_the_cover_has_the_reconciliation_and_what_to_do_with_totals_as_formulas_and_prints_as_wide_as_a_page(
        self, opened: Callable[..., Opened], tmp_path: Path
    ):
        decided = [
            a_break("fee_mismatch", 7, verdict="accept", who="Accounts", why="=as agreed"),
            a_break("fee_mismatch", -9),
        ]
        result = reconciled(breaks=[a_break("timing", 1_000), *decided])
        result.sign_off = "Signed off by Accounts."
        result.signatures = Signatures().signed("Ann", "", FIRST)
        book = opened(result)
        sheet = book.active
        cells = [[each for each in row if each is not None] for row in sheet.iter_rows(values_only=True)]
        assert sheet.title == "cover"
        assert [row[0] for row in cells[:2]] == ["Reconciliation: mtn.csv, <bank>.csv", headline(result)]
        assert ["plus receipts in the books, not yet on the statement", 1, 10] in cells
        assert ["Difference: books less statement, both adjusted", "=ROUND(C17-C15,2)"] in cells
        advice = {code: f"What settles {code}." for code in ("fee_mismatch", "timing")}
        net = [f"=SUMIFS(breaks!$M:$M,breaks!$D:$D,B{row},breaks!$N:$N,D{row})" for row in (21, 22)]
        assert [row for row in cells if "ZMW" in row] == [
            [advice["fee_mismatch"], "fee_mismatch", net[0], "ZMW", 0.07, 0.09, 2, 1, 1, "Accounts"],
            [advice["timing"], "timing", net[1], "ZMW", 10, 0, 1, 1, 0, ""],
        ]  # fmt: skip
        assert [row for row in cells[-5:] if row] == [
            ["Signed off by Accounts."], ["Prepared by", "Ann", "on", "2026-01-05"], ["Reviewed by", "", "on", ""],
        ]  # fmt: skip
        with_values = openpyxl.load_workbook(tmp_path / "out.xlsx", data_only=True)
        shown = [row for row in with_values["cover"].iter_rows(values_only=True) if row[0]]
        totals_of = [row[2] for row in shown if str(row[0]).startswith(("Adjusted", "Difference"))]
        assert totals_of == [710, 710, 0, 0.05, 0.05, 0]
        assert [row[2] for row in shown if row[3] == "ZMW"] == [-0.02, 10]
        with_values.close()
        for sheet in book:
            page = sheet.page_setup
            fits = (page.orientation, page.paperSize, page.fitToWidth or 1, page.fitToHeight)
            assert fits == ("landscape", 9, 1, 0)
            assert sheet.sheet_properties.pageSetUpPr.fitToPage
            assert sheet.print_title_rows == (None if sheet.title == "cover" else "$1:$1")

    def test_the_breaks_are_read_and_filled_in_on_a_page_and_the_rest_is_folded_away(
        self, opened: Callable[..., Opened]
    ):
        sheet = opened(reconciled(breaks=[a_break("timing", 1, who="Accounts", why="=1", since_date=FIRST)]))["breaks"]
        columns = columns_of(sheet)
        headings = {cell.value: cell for cell in sheet[1]}
        shown = [name for name, cell in headings.items() if not columns[cell.column].hidden]
        assert shown == [
            "account", "key", "business date", "code", "narrative", "the file's own words",
            "ledger gross", "ledger fee", "ledger net", "statement gross", "statement fee", "statement net",
            "net variance", "currency", "carried since", "reason", "verdict", "partner", "owner", "comment",
        ]  # fmt: skip
        assert {columns[headings[name].column].outlineLevel for name in headings if name not in shown} == {1}
        # About 7 points high on A4, of which a line takes some 150 characters of 11 points.
        assert sum(columns[headings[name].column].width for name in shown) < 260
        assert "proposal" not in headings
        row = {name: sheet.cell(2, cell.column) for name, cell in headings.items()}
        assert (row["owner"].value, row["comment"].value, row["comment"].quotePrefix) == ("Accounts", "=1", True)
        assert row["carried since"].value.date() == FIRST
        assert row["reason"].alignment.wrap_text
        (offered,) = sheet.data_validations.dataValidation
        assert (offered.formula1, next(iter(offered.sqref.ranges)).coord.split(":")[0]) == (
            '"match,accept,write_off,ignore,open"', row["verdict"].coordinate,
        )  # fmt: skip

    def test_a_row_is_as_high_as_its_longest_text(self, opened: Callable[..., Opened]):
        breaks = [a_break("timing", 1, reason=each) for each in ("short", "four words " * 20, "x" * 10_000)]
        heights = [opened(reconciled(breaks=breaks))["breaks"].row_dimensions[row].height for row in (2, 3, 4)]
        assert heights[0] < heights[1] < heights[2] <= 409, "which is the highest that a row can be"
        assert heights[1] >= 15 * 220 / workbook.READ["reason"]

    def test_the_matches_are_written_when_asked_for(self, tmp_path: Path):
        write_workbook(
            reconciled(closed=[{"account": MTN, "code": "timing", "variance_minor": 1}]), tmp_path / "out.xlsx"
        )
        book = openpyxl.load_workbook(tmp_path / "out.xlsx")
        assert book.sheetnames == ["cover", "breaks", "closed", *workbook.FRAMES]
        book.close()

    def test_the_largest_are_exact_to_the_ngwee(self, opened: Callable[..., Opened]):
        amounts = [10**15 - 1, -(10**15 - 1), 10**15 - 7, 1, -1, 0, 90_071_992_547_409]
        result = reconciled(matches=[a_match(signed_minor=minor) for minor in amounts])
        assert [row[9] for row in read_back(opened(result)["matches"], result.matches)] == amounts

    def test_what_a_spreadsheet_would_round_is_refused_and_what_was_there_stays(self, tmp_path: Path):
        (tmp_path / "out.xlsx").write_bytes(b"before")
        for minor in (10**15, -(10**15), 2**63 - 1):
            for name in ("out.xlsx", "new.xlsx"):
                with pytest.raises(ReportRefused, match="15 digits"):
                    write_workbook(reconciled(matches=[a_match(signed_minor=minor)]), tmp_path / name, matches=True)
        assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("out.xlsx", b"before")]

    def test_a_date_before_the_calendar_of_spreadsheets_is_text(self, opened: Callable[..., Opened]):
        days = [date(1, 1, 1), date(1900, 1, 1), date(1900, 2, 28)]
        book = opened(reconciled(breaks=[a_break("timing", 1, business_date=day) for day in days]))
        for place, day in enumerate(days, start=2):
            assert day.isoformat() in [each.value for each in book["breaks"][place]]

    def test_text_stays_text_and_whole_also_when_somebody_edits_the_cell(self, opened: Callable[..., Opened]):
        names = ("statement", "account", "key", "entry", "phone", "reason", "settlement")
        book = opened(
            reconciled(
                breaks=[a_break("timing", 1, **dict.fromkeys(names, text)) for text in HOSTILE],
                matches=[a_match(differences=text) for text in HOSTILE],
                inputs=[{"side": "statement", "name": text, "rows": 1} for text in HOSTILE],
            )
        )
        cells = [each for sheet in book for row in sheet.iter_rows() for each in row]
        ours = re.compile(r"=(SUM|SUMIFS|ROUND)\([BCD$M:N0-9,breaks!-]+\)")
        run = [each.value for each in cells if each.hyperlink or each.data_type not in "sndb"]
        assert [each for each in run if not ours.fullmatch(str(each))] == []
        assert len(run) == 7, "the totals of the cover"
        for place, text in enumerate(HOSTILE, start=2):
            cells = [each for each in book["breaks"][place] if each.data_type == "s"]
            shown = [each for each in cells if unescape(each.value) == text]
            assert len(shown) == len(names), ascii(text)
            assert {(each.quotePrefix, each.number_format) for each in shown} == {(text in FORMULAS, "@")}, ascii(text)

    def test_what_is_longer_than_a_cell_is_cut_with_a_mark_and_what_just_fits_is_whole(
        self, opened: Callable[..., Opened]
    ):
        sheet = opened(reconciled(breaks=[a_break("timing", 1, reason=each * 40_000) for each in LETTERS]))["breaks"]
        for place, letter in enumerate(LETTERS, start=2):
            (text,) = (each.value for each in sheet[place] if str(each.value).endswith("(cut)"))
            assert files.MAX_TEXT - 1 <= len(text.encode("utf-16-le")) // 2 <= files.MAX_TEXT
            assert text.removesuffix(workbook.CUT_MARK).strip(letter) == ""
            whole = letter * (files.MAX_TEXT // (len(letter.encode("utf-16-le")) // 2))
            assert workbook.cut(whole) == whole
            assert workbook.cut(whole + letter) != whole + letter

    def test_more_rows_than_a_sheet_holds_go_on_in_the_next(
        self, opened: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(workbook, "MAX_ROWS", 4)
        result = reconciled(matches=[a_match(signed_minor=place) for place in range(7)], breaks=[])
        book = opened(result)
        sheets = [book[name] for name in book.sheetnames if "matches" in name]
        assert [each.title for each in sheets] == ["matches", "matches 2", "matches 3"]
        found = [read_back(each, result.matches) for each in sheets]
        assert [len(each) for each in found] == [3, 3, 1]
        assert [*found[0], *found[1], *found[2]] == list(python_rows(result.matches, *result.matches.columns))
        assert all(each.cell(1, 1).value == "rule" for each in sheets)

    def test_the_same_results_are_the_same_bytes(self, tmp_path: Path):
        for name in ("a", "b"):
            write_workbook(reconciled(), tmp_path / f"{name}.xlsx")
        assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()

    def test_a_folder_that_is_not_there_is_refused_in_one_line(self, tmp_path: Path):
        for write, name in ((write_page, "out.html"), (write_workbook, "out.xlsx")):
            with pytest.raises(ReportRefused, match=rf"nowhere.*{name}.*cannot be written"):
                write(reconciled(), tmp_path / "nowhere" / name)


BOOKED = """date,account,debit,credit,currency,narrative,reference
2026-01-05,Bank,100.00,,ZMW,sale,A1
2026-01-05,Bank,50.00,,ZMW,sale,A2
2026-01-06,Bank,,30.00,ZMW,paid,A3
2026-01-06,Bank,70.00,,ZMW,sale,A4
2026-01-07,Bank,70.00,,ZMW,sale twice,A5
2026-01-07,Bank,70.00,,ZMW,sale twice,A5
2026-01-20,Bank,1.00,,ZMW,sale,A6
"""
TOLD = """Date,Ref,Text,In,Out
2026-01-05,A1,sale,100.00,
2026-01-05,A2,sale,45.00,
2026-01-06,B1,unknown,20.00,
2026-01-06,,SMS FEE,,5.00
2026-01-07,A5,sale,70.00,
2026-01-20,A6,sale,1.00,
"""
BOOKS_LAYOUT = """name = "books"
dates = ["%Y-%m-%d"]
[columns]
moment = "date"
account = "account"
debit = "debit"
credit = "credit"
currency = "currency"
description = "narrative"
key = "reference"
"""
BANK_LAYOUT = """name = "bank"
dates = ["%Y-%m-%d"]
account = "Bank"
makes_keys = true
[columns]
moment = "Date"
key = "Ref"
description = "Text"
credit = "In"
debit = "Out"
"""
CHARGE = '[[rule]]\nname = "charges"\nnarrative = "SMS FEE"\nkind = "fee"\nexpected = true\n'


class Desk:
    """Books, a bank's statement, rules and their layouts in a folder."""

    def __init__(self, folder: Path, told: str = TOLD) -> None:
        self.folder = folder
        files = {"books.csv": BOOKED, "bank.csv": told, "books.toml": BOOKS_LAYOUT, "bank.toml": BANK_LAYOUT}
        for name, text in {**files, "rules.toml": CHARGE}.items():
            (folder / name).write_text(text, "utf-8")

    def run(self, decisions: pd.DataFrame | None = None) -> Reconciliation:
        books = read_ledger(self.folder / "books.csv", layout=self.folder / "books.toml")
        bank = read_statement(self.folder / "bank.csv", layout=self.folder / "bank.toml")
        return reconcile(books, bank, decisions=decisions, rules=self.folder / "rules.toml")


class TestJournal:
    def test_what_waits_for_the_other_side_is_ignored_or_not_decided_is_not_booked(self):
        proposal = '[{"recipe": "reversed"}]'
        decided = {"verdict": "accept", "proposal": proposal, "id": "b1"}
        kept = a_break("missing_in_ledger", -5, **decided, side="statement")
        others = [
            *(kept | {"verdict": verdict} for verdict in (None, "ignore", "match", "tolerated")),
            *(kept | each for each in ({"proposal": None}, {"variance_minor": 0, "ledger_minor": 0})),
            *(a_break(code, 5, **decided) for code in ("missing_in_statement", "timing")),
        ]
        assert outputs.journal(reconciled(breaks=others)).empty
        assert outputs.journal_note(reconciled(breaks=[kept, *others, kept | {"key": None}])) == (
            "Decided breaks that have no entry in the journal: 3 ignored, matched or tolerated, 1 that no known entry "
            "settles, 1 without an amount, 2 for the other side to book, 1 without a key."
        )
        assert not outputs.journal_note(reconciled(breaks=[kept]))
        for form, breaks, is_said in (("xero", [kept], True), ("xero", others, False), ("sage", [kept], False)):
            note = outputs.journal_note(reconciled(breaks=breaks), form)
            assert ("Xero takes no manual journal on a bank account" in note) == is_said
        booked = {"reversed": 7, "rounded_up": 1, "fee_raised": 900}
        proposal = json.dumps([{"recipe": recipe, "amount_minor": minor} for recipe, minor in booked.items()])
        both = a_break("amount_mismatch", 899, **decided | {"proposal": proposal})
        lines = outputs.journal(
            reconciled(breaks=[both, both | {"variance_minor": 903, "ledger_minor": 903, "id": "b2"}])
        )
        posted = [*python_rows(lines, "account", "debit_minor", "credit_minor")]
        assert posted[:3] == [(MTN, 0, 899), ("rounding", 0, 1), ("charges", 900, 0)]
        assert posted[3:] == [(MTN, 0, 903), ("rounding", 0, 1), ("charges", 900, 0), ("suspense", 4, 0)]
        named = {MTN: "1200", "suspense": "9998"}
        lines = outputs.journal(reconciled(breaks=[kept, *others]), named, date(2026, 2, 1))
        assert list(python_rows(lines, "date", "account", "debit_minor", "credit_minor")) == [
            (date(2026, 2, 1), "1200", 5, 0), (date(2026, 2, 1), "9998", 0, 5),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("form", "expected"),
        [
            ("general", ["2026-01-06,1200,,5.00,ZMW,{text} {id},{key}", "2026-01-06,7901,5.00,,ZMW,{text} {id},{key}"]),
            ("sage", [f"{at},0,06/01/2026,{{key}},{{text}} {{id}},5.00,T9,0.00" for at in ("JC,,1200", "JD,,7901")]),
            (
                "xero",
                [f"{{text}} {{id}},06/01/2026,{{key}},{end}5.00" for end in ("1200,Tax Exempt,-", "7901,Tax Exempt,")],
            ),
            ("quickbooks", ["{id},06/01/2026,1200,{key} {text},,5.00", "{id},06/01/2026,7901,{key} {text},5.00,"]),
        ],
    )  # fmt: skip
    @pytest.mark.thorough
    def test_each_program_has_its_own_columns_from_the_command_line(
        self, form: str, expected: list[str], tmp_path: Path
    ):
        desk = Desk(tmp_path)
        (charge,) = desk.run().breaks.query("rule == 'charges'").to_dict("records")
        paths = [str(tmp_path / name) for name in ("books.csv", "bank.csv")]
        options = {"ledger-layout": "books.toml", "layout": "bank.toml", "rules": "rules.toml", "journal": "j.csv"}
        given = [f"--{name}={tmp_path / file}" for name, file in options.items()]
        given += ["--journal-form", form, "--journal-account", "Bank=1200", "--journal-account", "charges=7901"]
        done = CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *paths, *given])
        assert f"Written: {tmp_path / 'j.csv'}" in done.output.replace("\n", "")
        first, *lines = csv.reader((tmp_path / "j.csv").read_text("utf-8").splitlines())
        facts = {"id": charge["id"], "key": charge["key"], "text": "SMS FEE (expected: charges)"}
        assert [",".join(cells) for cells in lines] == [each.format_map(facts) for each in expected]
        assert first == [*outputs.FORMS[form]]
        assert "has no code" not in done.output
        without = CliRunner().invoke(app, ["reconcile", *paths, *given[:-4]])
        assert ("has no code for Bank and charges" in " ".join(without.output.split())) == (form != "general")
        (tmp_path / "j.csv").unlink()
        wrong = CliRunner().invoke(app, ["reconcile", *paths, *given, "--journal-account", "chrges=1"])
        assert wrong.exit_code == 2
        assert "called 'chrges'. Did you mean charges? The names are Bank, charges, interest, rounding" in wrong.output
        assert not (tmp_path / "j.csv").exists()

    @pytest.mark.thorough
    def test_interest_that_a_rule_names_is_posted_to_the_account_of_interest(self, tmp_path: Path):
        desk = Desk(tmp_path)
        rules = (tmp_path / "rules.toml").read_text("utf-8").replace('kind = "fee"', 'kind = "interest"')
        (tmp_path / "rules.toml").write_text(rules, "utf-8")
        lines = desk.run().journal(tmp_path / "j.csv", accounts={"interest": "4900"})
        assert [*python_rows(lines, "account", "debit_minor", "credit_minor")] == [("Bank", 0, 500), ("4900", 500, 0)]
        assert len((tmp_path / "j.csv").read_text("utf-8").splitlines()) == 1 + len(lines)

    @pytest.mark.parametrize(
        ("text", "why", "details"),
        [
            ("MONTHLY FEE", "seen", "MONTHLY FEE (written off: seen)"),
            ("MONTHLY SERVICE CHARGE", "bank charges of May", "MONTHLY SERVICE CHARGE (written off:...)"),
            ("A VERY LONG TEXT (SEE MINUTES) OF THE BANK'S OWN", "x", "A VERY LONG TEXT (SEE MINUTES) OF THE..."),
            ("X" * 60, "x", "X" * 41 + "..."),
        ],
    )
    def test_the_details_for_sage_end_with_a_word_and_a_closed_bracket(
        self, text: str, why: str, details: str, tmp_path: Path
    ):
        row = a_break("missing_in_ledger", -5, verdict="write_off", why=why, description=text, id="b1", proposal="[]")
        outputs.write_journal(reconciled(breaks=[row]), tmp_path / "j.csv", "sage")
        lines = csv.DictReader((tmp_path / "j.csv").read_text("utf-8").splitlines())
        assert {line["Details"] for line in lines} == {f"{details} b1"}

    def test_what_is_written_off_goes_against_its_own_account(self):
        off = a_break("missing_in_statement", 700, verdict="write_off", why="seen", id="b1", proposal="[{}]")
        lines = outputs.journal(reconciled(breaks=[off]))
        told = [*python_rows(lines, "account", "debit_minor", "credit_minor")]
        assert told == [(MTN, 0, 700), ("written off", 700, 0)]

    def test_of_unknown_money_the_fee_is_a_charge(self):
        net = {"ledger_minor": None, "statement_minor": 495, "statement_fee_minor": 5, "side": "statement"}
        proposal = '[{"recipe": "unknown_credit", "amount_minor": 500, "fee_minor": 5}]'
        came = a_break("missing_in_ledger", -495, **net, verdict="accept", why="seen", id="b1", proposal=proposal)
        told = python_rows(outputs.journal(reconciled(breaks=[came])), "account", "debit_minor", "credit_minor")
        assert [*told] == [(MTN, 500, 0), (MTN, 0, 5), ("charges", 5, 0), ("suspense", 0, 500)]

    @pytest.mark.parametrize("form", outputs.FORMS)
    def test_a_reference_is_exact_and_a_file_has_no_more_lines_than_its_program_takes(self, form: str, tmp_path: Path):
        keys = [text for text in FORMULAS if text == text.strip() and len(text) <= 30] + [f"K{n}" for n in range(300)]
        kept = {"verdict": "accept", "proposal": '[{"recipe": "x"}]', "side": "statement"}
        breaks = [a_break("missing_in_ledger", -n, key=key, id=f"b{n}", **kept) for n, key in enumerate(keys, 1)]
        result = reconciled(breaks=breaks)
        paths = outputs.write_journal(result, tmp_path / "j.csv", form)
        names = ["j.csv", "j-2.csv", "j-3.csv"] if form == "xero" else ["j.csv"]
        assert sorted(paths) == sorted(tmp_path.iterdir()) == sorted(tmp_path / name for name in names)
        files_ = [[*csv.reader(path.read_text("utf-8").splitlines())] for path in paths]
        assert {tuple(first) for first, *_ in files_} == {tuple(outputs.FORMS[form])}
        assert all(len(lines) <= 300 for _, *lines in files_ if form == "xero")
        place = {"general": 6, "sage": 5, "xero": 2, "quickbooks": 3}[form]
        told = [line[place] for _, *lines in files_ for line in lines]
        begins = [f"{key} missing_in_ledger (accepted)" if form == "quickbooks" else key for key in keys for _ in "dc"]
        assert [text[: len(begin)] for text, begin in zip(told, begins, strict=True)] == begins
        assert f"would run {len(keys) - 300} of its references" in outputs.journal_note(result)
        # The parts of a longer journal do not stay beside a new one; a file that is no journal does.
        (tmp_path / "j-4.csv").write_text("mine", "utf-8")
        assert outputs.write_journal(reconciled(breaks=breaks[:1]), tmp_path / "j.csv", form) == [tmp_path / "j.csv"]
        assert {path.name for path in tmp_path.iterdir()} == {"j.csv", "j-4.csv"}

    @pytest.mark.parametrize("form", outputs.FORMS)
    def test_a_journal_deletes_no_other_journal_whose_name_has_a_number(self, form: str, tmp_path: Path):
        kept = {"verdict": "accept", "proposal": '[{"recipe": "x"}]', "side": "statement"}
        january, february = (
            reconciled(breaks=[a_break("missing_in_ledger", -n, key=f"{month}{n}", id=f"b{n}", **kept) for n in (1, 2)])
            for month in ("January", "February")
        )
        for result, name in ((january, "j.csv"), (february, "j-2.csv"), (january, "j.csv")):
            assert outputs.write_journal(result, tmp_path / name, form) == [tmp_path / name]
        assert "February1" in (tmp_path / "j-2.csv").read_text("utf-8")

    def test_a_form_without_a_column_for_currencies_takes_one_and_an_unknown_form_is_refused(self, tmp_path: Path):
        kept = a_break("missing_in_ledger", -5, verdict="accept", proposal='[{"recipe": "x"}]', side="statement")
        result = reconciled(breaks=[kept, kept | {"currency": "USD"}])
        for form, text in (("sage", "USD, ZMW"), ("ledger", "general, sage, xero, quickbooks")):
            with pytest.raises(ReportRefused, match=text):
                outputs.write_journal(result, tmp_path / "j.csv", form)
        with pytest.raises(ReportRefused, match=r"j\.xlsx is not one"):
            outputs.write_journal(result, tmp_path / "j.xlsx")
        assert not [*tmp_path.iterdir()]


class TestSignOff:
    def test_a_clean_result_is_signed_with_the_hashes_of_files_layouts_and_rules(self, tmp_path: Path):
        clean = Desk(tmp_path, "".join(TOLD.splitlines(keepends=True)[:2]))
        (tmp_path / "books.csv").write_text("".join(BOOKED.splitlines(keepends=True)[:2]), "utf-8")
        result = clean.run()
        assert result.is_clean
        assert result.sign_off.endswith("Neither prepared nor reviewed by anybody yet.")
        signed = result.sign(prepared_by="Ann", on=date(2026, 2, 1)).sign(reviewed_by="Ben", on=date(2026, 2, 3))
        assert signed.sign_off.endswith("Prepared by Ann on 2026-02-01; reviewed by Ben on 2026-02-03.")
        hashed = dict(python_rows(result.inputs, "name", "sha256"))
        for name in ("books.csv", "bank.csv", "rules.toml"):
            assert hashed[name] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
            assert f"{name} {hashed[name][:12]}" in signed.sign_off
        assert all(f"layout {name} {hashed[name][:12]}" in signed.sign_off for name in ("books", "bank"))
        assert repr(signed).count("Prepared by Ann") == 1

    def test_nobody_reviews_what_the_same_person_prepared(self):
        with pytest.raises(ReconcileRefused, match="another person"):
            Signatures().signed("Ann", "", FIRST).signed("", " ann ", FIRST)

    @pytest.mark.thorough
    def test_a_table_in_memory_has_a_hash_of_its_rows_whichever_library_holds_it(self, tmp_path: Path):
        rows = read_ledger(Desk(tmp_path).folder / "books.csv", layout=tmp_path / "books.toml").rows
        tables = [rows, pa.Table.from_pandas(rows, preserve_index=False), rows.iloc[:-1]]
        bank = read_statement(tmp_path / "bank.csv", layout=tmp_path / "bank.toml")
        hashes = [reconcile(each, bank).inputs["sha256"].iloc[0] for each in tables]
        assert re.fullmatch("[0-9a-f]{64}", hashes[0])
        assert (hashes[1] == hashes[0], hashes[2] == hashes[0]) == (True, False)
        by_row = reconcile(rows, bank.rows).inputs.set_index("name")["sha256"]
        assert re.fullmatch("[0-9a-f]{64}", by_row["bank.csv"])

    def test_the_ledger_of_a_sandbox_has_the_head_of_its_chain(self, tmp_path: Path):
        with Workbench(seed=3) as bench:
            bench.simulate(payments=5, days=1, out=tmp_path / "day")
            result = reconcile(bench.ledger, read_statement(tmp_path / "day" / "statements" / "mtn.csv"))
            assert f"head of the sandbox's chain of entries {bench.ledger.verify()[:12]}" in result.sign_off
