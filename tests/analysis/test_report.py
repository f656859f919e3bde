"""Workbook, page and figures have what the frames have: figures whole, text that stays text, the same bytes again."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import openpyxl
import pandas as pd
import pytest
from openpyxl.utils.escape import unescape
from openpyxl.workbook import Workbook as Opened
from openpyxl.worksheet.worksheet import Worksheet

from workbench.analysis import shapes
from workbench.analysis.breaks import BREAK_CODES, BUCKETS
from workbench.analysis.frames import frame, python_rows
from workbench.analysis.report import captions, figures, overview, page, totals, workbook
from workbench.analysis.report.captions import headline, proofs
from workbench.analysis.report.figures import Figures
from workbench.analysis.report.page import write_page
from workbench.analysis.report.totals import Net
from workbench.analysis.report.workbook import write_workbook
from workbench.errors import ReportRefused
from workbench.render import percent

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
}  # fmt: skip
COLUMNS = {
    "breaks": shapes.BREAK, "matches": shapes.MATCH, "summary": shapes.SUMMARY, "ageing": shapes.AGEING,
    "proof": shapes.PROOF, "inputs": shapes.INPUTS, "suggestions": shapes.SUGGESTION,
    "decisions": shapes.DECISION,
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
        carry_forward=SimpleNamespace(note=""),
        account_names={},
    )


NOTHING = reconciled(breaks=[], matches=[], summary=[], proof=[], inputs=[])


class TestFigures:
    @pytest.mark.parametrize("name", ["ageing", "daily_variance", "match_rate"])
    def test_two_are_the_same_bytes_whatever_a_notebook_has_set_and_no_rows_are_a_picture_too(self, name: str):
        first = getattr(Figures(reconciled()), name)()
        with mpl.rc_context({"figure.facecolor": "black", "font.size": 20, "savefig.dpi": 30, "axes.grid": True}):
            assert getattr(Figures(reconciled()), name)() == first
            assert mpl.rcParams["font.size"] == 20
        assert getattr(Figures(NOTHING), name)().png.startswith(b"\x89PNG")

    def test_many_days_are_told_by_their_largest(self):
        days = [date(2026, 1, 1) + timedelta(days=place) for place in range(60)]
        breaks = [a_break("timing", place, business_date=day) for place, day in enumerate(days)]
        says = repr(Figures(reconciled(breaks=breaks)).daily_variance())
        assert "2026-03-01: 1 break, +0.59" in says
        assert says.endswith("and 52 smaller days.")

    def test_several_currencies_are_not_added(self):
        shown = Figures(reconciled(proof=[proved("a", 1, 1, 0), proved("b", 1, 1, 0) | {"currency": "USD"}]))
        with pytest.raises(ReportRefused, match="USD, ZMW"):
            shown.ageing()
        assert "in USD: none" in repr(shown.ageing("USD"))

    def test_what_is_above_and_below_differs_by_more_than_colour_and_days_without_breaks_leave_room(self):
        figure = figures.daily_variance({date(2026, 1, 1): Net(2, 100, -50), date(2026, 3, 1): Net(1, 0, -7)}, "ZMW")
        above, below = figure.axes[0].containers
        assert [bar.get_height() for bar in above] == [100, 0]
        assert [bar.get_height() for bar in below] == [-50, -7]
        assert {bar.get_hatch() for bar in above} != {bar.get_hatch() for bar in below}
        assert [round(bar.get_x() + bar.get_width() / 2) for bar in above] == [0, 59]
        assert [each.get_text() for each in figure.axes[0].get_xticklabels()][:2] == ["2026-01-01", "2026-01-11"]

    def test_a_share_that_is_not_whole_is_not_drawn_whole(self):
        figure = figures.match_rate([totals.Account("a", "ZMW", 1, 1, 1, 0, 10**12, 10**12 - 1, 1)])
        assert [bar.get_width() for each in figure.axes[0].containers for bar in each] == [9_999, 1]


class TestTotals:
    def test_opposite_variances_do_not_hide_each_other_and_ages_are_in_their_order(self):
        result = reconciled(breaks=[a_break("timing", 500, rows=3), a_break("timing", -500)])
        assert totals.by_day(result) == {FIRST: Net(2, 500, -500)}
        (code,) = totals.by_code(result)
        assert (code.breaks, code.rows, code.up_minor, code.down_minor) == (2, 4, 500, -500)
        result = reconciled(breaks=[a_break("timing", 1, bucket=name) for name in reversed(BUCKETS)])
        assert list(totals.by_bucket(result)) == list(BUCKETS)

    def test_rates_count_both_sides(self):
        bank, mtn = totals.by_account(reconciled())
        assert (bank.matched_rows, bank.all_rows, bank.matched_minor, bank.value_minor) == (2, 2, 1_000, 1_000)
        assert (mtn.matched_rows, mtn.timing_rows, mtn.all_rows, mtn.variance_minor) == (2, 1, 8, 123_462_039)

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
        assert len([value for value in targets if value and value.startswith("data:")]) == 4
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

    def test_headings_are_in_order_tables_have_names_and_what_scrolls_can_be_reached(self, outline: Outline):
        levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h[1-6]", tag)]
        assert (levels[0], levels.count(1)) == (1, 1)
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert len(outline.all("table")) == len(outline.all("caption")) > 5
        assert {each.get("scope") for each in outline.all("th")} == {"col", "row"}
        ids = [each["id"] for _, each in outline.tags if "id" in each]
        regions = [each for each in outline.all("div") if each.get("class") == "scroll"]
        assert len(ids) == len(set(ids))
        assert len(regions) == len(outline.all("table"))
        assert all(each["tabindex"] == "0" and each["aria-labelledby"] in ids for each in regions)

    def test_every_figure_break_and_hash_is_there_as_text(self, outline: Outline):
        alts = "\n".join(each["alt"] or "" for each in outline.all("img"))
        assert len(outline.all("img")) == 3
        assert "0–1 days: 2 breaks, +100.00 and -2.00" in alts  # noqa: RUF001  a bucket's name
        assert "2026-01-09: 1 break, -45.50" in alts
        assert "bank:settlement 100.00 %; operator:mtn:float 0.02 %" in alts
        for code in ("timing", "amount_mismatch", "missing_in_ledger", "missing_in_statement", "invalid_row"):
            expected = {f"The reason of {code}.", f"What settles {code}.", BREAK_CODES[code].meaning}
            assert expected <= set(outline.text_of("p"))
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
        assert all((each["src"] or "").startswith("data:") for each in outline.all("img"))

    def test_the_largest_are_listed_and_the_rest_counted_and_a_long_text_is_cut(self):
        breaks = [a_break("timing", -place, key=f"key{place:05}", reason="x" * 10_000) for place in range(1_200)]
        written = page.page(reconciled(breaks=breaks))
        keys = [text for text in Outline(written).text_of("th") if text.startswith("key0")]
        assert keys == [f"key{place:05}" for place in range(1_199, 1_149, -1)]
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
        assert cells[cells.index("100.01") :][:7] == ["100.01", "1.00", "99.01", "90.01", "2.00", "-88.01", "+0.07"]
        assert "\u201cPaid by CUSTOMER\u201d · Paid / TS" in texts
        assert "Written off by Accounts: as agreed" in outline.text_of("strong")
        assert [each for each in outline.text_of("span") if "new" in each or "since" in each] == [
            "carried since 2026-01-05", "new",
        ]  # fmt: skip
        (first, second) = (row for row in outline.all("tr") if "data-code" in row)
        assert first == {
            "data-code": "amount_mismatch", "data-id": "b2", "data-account": MTN, "data-key": "1000000001",
            "data-verdict": "write_off", "data-partner": "", "data-who": "Accounts", "data-when": "",
            "data-why": "as agreed", "data-since": "carried", "data-partners": "",
        }  # fmt: skip
        assert (second["data-since"], second["data-verdict"]) == ("new", "")

    def test_no_rows_at_all_are_a_page_too(self):
        written = page.page(NOTHING)
        assert Outline(written).text_of("td").count("none") == 5
        assert '<div class="outcome">' in written

    def test_the_headline_counts_breaks_and_names_what_is_worked_out_and_what_does_not_hold(self):
        waiting = "4 breaks to settle, and 1 movement within the cut-off that may still follow."
        assert headline(reconciled()) == f"{waiting} The proof holds to the last ngwee."
        result = reconciled(breaks=[], proof=[proved(MTN, 5, 5, 0)])
        assert headline(result) == "Nothing to settle. The proof holds to the last ngwee."
        assert proofs(result) == [f"{MTN}: the ledger closes at K0.05, the statement at K0.05. They agree."]
        note = "the statement gives no closing balance: it is worked out from its rows"
        worked_out = reconciled(breaks=[], proof=[proved(BANK, 5, 5, 0), proved(MTN, 5, 5, 0, note)])
        assert headline(worked_out) == (
            f"Nothing to settle. The proof holds to the last ngwee, for {MTN} against a closing balance worked out "
            "from the rows."
        )
        result = reconciled(breaks=[], proof=[proved(MTN, 123_456, 100_000, 20_000, "line 9 does not follow")])
        assert f"The proof does not hold for {MTN}." in headline(result)
        (text,) = proofs(result)
        assert text.endswith(
            " The difference is +K234.56: the breaks (+K200.00), and +K34.56 that nothing explains. "
            "It does not hold because line 9 does not follow."
        )
        assert '<div class="outcome open">' in page.page(result)


class TestOverview:
    def test_text_and_page_of_a_notebook_say_the_same_by_what_to_do_and_what_waits_comes_last(self):
        told = {"description": "Paid by CUSTOMER\n<b>for</b> order 7", "statement_amount_minor": 4_600}
        result = reconciled(
            breaks=[a_break("timing", 5), *(a_break("missing_in_ledger", -place, **told) for place in range(9))]
        )
        shown = overview.text(result)
        outline = Outline(overview.html(result))
        assert outline.open == []
        assert {tag for tag, _ in outline.tags} == {"p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert {name for _, named in outline.tags for name in named} == {"style", "scope"}
        lines = [line.strip() for line in shown.splitlines() if line.strip() and "─" not in line]
        cells = [text for _, text in outline.texts]
        assert [each for each in cells if not any(each in line for line in lines)] == []
        todo = [line for line in lines if line.startswith(("To do", "What settles"))]
        assert todo == [
            "To do: What settles missing_in_ledger.",
            "What settles timing.",
        ]
        assert "missing_in_ledger: 9 breaks, -K0.36 net, the oldest 1 day old, the largest 3 of them" in lines
        assert sum("Paid by CUSTOMER <b>for</b> order 7" in line for line in lines) == 3
        assert "46.00" in shown
        result.sign_off, result.suggestions = "Signed off by nobody.", [1, 2]
        assert "Signed off" not in overview.text(result)
        assert "2 suggestions to look at" in overview.html(result)

    def test_what_is_decided_says_by_whom(self):
        decided = {"verdict": "accept", "who": "Accounts"}
        breaks = [a_break("timing", 5), a_break("fee_mismatch", 5, **decided), a_break("fee_mismatch", 4)]
        advice = "1 of 2 decided by Accounts. For the other: What settles fee_mismatch."
        assert f"To do: {advice}" in overview.text(reconciled(breaks=breaks))
        result = reconciled(breaks=breaks[:2])
        result.sign_off = "Signed off by Accounts."
        assert "\n\nDecided by Accounts\n" in overview.text(result)
        assert "Signed off by Accounts." in overview.text(result)

    def test_what_cannot_be_read_has_neither_key_nor_currency_nor_date(self):
        nothing = dict.fromkeys(("key", "currency", "business_date", "age_days", "bucket", "ledger_minor", "entry"))
        result = reconciled(breaks=[a_break("invalid_row", 0, **nothing), a_break("timing", 5)])
        lines = [" ".join(line.split()) for line in overview.text(result).splitlines()]
        assert lines[lines.index("invalid_row: 1 break, 0.00 net") + 3] == "no key in the file 0.00"
        assert '<span class="dim">no key in the file</span>' in page.page(result)

    def test_the_picture_has_every_part_of_the_difference_and_its_bars_are_in_proportion(self):
        picture = captions.picture(reconciled(breaks=[a_break("timing", 1_000), a_break("fee_mismatch", -500)]))
        assert [(what, net, len(bar)) for _, what, net, _, bar in picture.rows] == [
            ("fee_mismatch", "-5.00", 10), ("timing", "+10.00", 20),
        ]  # fmt: skip
        assert [captions.bar(*each) for each in ((1, 10**9), (0, 5), (0, 0))] == ["█", "", ""]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[SimpleNamespace], Opened]]:
    """Write and open again; what was opened is closed."""
    books: list[Opened] = []

    def write_and_open(result: SimpleNamespace) -> Opened:
        write_workbook(result, tmp_path / "out.xlsx")
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
        frames = {name: getattr(result, name) for name in workbook.FRAMES} | {
            "breaks": for_people(result.breaks),
            "proposals": result.breaks[result.breaks["proposal"].notna()][list(workbook.PROPOSED)],
        }
        assert book.sheetnames == ["cover", "breaks", *workbook.FRAMES, "proposals"]
        assert [each.title for each in book if each.sheet_state == "hidden"] == ["proposals"]
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

    def test_the_cover_has_verdict_proof_and_what_to_do_as_numbers_and_every_page_prints_as_wide_as_a_page(
        self, opened: Callable[..., Opened]
    ):
        decided = [
            a_break("fee_mismatch", 7, verdict="accept", who="Accounts", why="=as agreed"),
            a_break("fee_mismatch", -9),
        ]
        result = reconciled(breaks=[a_break("timing", 1_000), *decided])
        result.sign_off = "Signed off by Accounts."
        book = opened(result)
        sheet = book.active
        cells = [[each for each in row if each is not None] for row in sheet.iter_rows(values_only=True)]
        assert sheet.title == "cover"
        assert [row[0] for row in cells[:5]] == [
            "Reconciliation: mtn.csv, <bank>.csv", headline(result), *proofs(result), "Signed off by Accounts.",
        ]  # fmt: skip
        assert [MTN, "fee_mismatch", -0.02, "ZMW", "█"] in cells
        assert [MTN, "timing", 10, "ZMW", "█" * 20] in cells
        advice = {code: f"What settles {code}." for code in ("fee_mismatch", "timing")}
        assert cells[-2:] == [
            [advice["fee_mismatch"], "fee_mismatch", -0.02, "ZMW", 0.07, -0.09, 2, 1, 1, "Accounts"],
            [advice["timing"], "timing", 10, "ZMW", 10, 0, 1, 1, 0, ""],
        ]  # fmt: skip
        for sheet in book:
            shown = sheet.page_setup
            assert (shown.orientation, shown.paperSize, shown.fitToWidth or 1, shown.fitToHeight) == (
                "landscape",
                9,
                1,
                0,
            )
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
            "net variance", "currency", "carried since", "reason", "verdict", "owner", "comment",
        ]  # fmt: skip
        assert {columns[headings[name].column].outlineLevel for name in headings if name not in shown} == {1}
        # About 7 points high on A4, of which a line takes some 150 characters of 11 points.
        assert sum(columns[headings[name].column].width for name in shown) < 260
        assert "proposal" not in headings
        row = {name: sheet.cell(2, cell.column) for name, cell in headings.items()}
        assert (row["owner"].value, row["comment"].value, row["comment"].quotePrefix) == ("Accounts", "=1", True)
        assert row["carried since"].value.date() == FIRST
        assert row["reason"].alignment.wrap_text

    def test_the_largest_are_exact_to_the_ngwee(self, opened: Callable[..., Opened]):
        amounts = [10**15 - 1, -(10**15 - 1), 10**15 - 7, 1, -1, 0, 90_071_992_547_409]
        result = reconciled(matches=[a_match(signed_minor=minor) for minor in amounts])
        assert [row[9] for row in read_back(opened(result)["matches"], result.matches)] == amounts

    def test_what_a_spreadsheet_would_round_is_refused_and_what_was_there_stays(self, tmp_path: Path):
        (tmp_path / "out.xlsx").write_bytes(b"before")
        for minor in (10**15, -(10**15), 2**63 - 1):
            for name in ("out.xlsx", "new.xlsx"):
                with pytest.raises(ReportRefused, match="15 digits"):
                    write_workbook(reconciled(matches=[a_match(signed_minor=minor)]), tmp_path / name)
        assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("out.xlsx", b"before")]

    def test_a_date_before_the_calendar_of_spreadsheets_is_text(self, opened: Callable[..., Opened]):
        days = [date(1, 1, 1), date(1900, 1, 1), date(1900, 2, 28)]
        book = opened(reconciled(breaks=[a_break("timing", 1, business_date=day) for day in days]))
        for place, day in enumerate(days, start=2):
            assert day.isoformat() in [each.value for each in book["breaks"][place]]

    def test_text_stays_text_and_whole_also_when_somebody_edits_the_cell(self, opened: Callable[..., Opened]):
        names = ("statement", "account", "key", "entry", "phone", "reason", "settlement", "proposal")
        book = opened(
            reconciled(
                breaks=[a_break("timing", 1, **dict.fromkeys(names, text)) for text in HOSTILE],
                matches=[a_match(differences=text) for text in HOSTILE],
                inputs=[{"side": "statement", "name": text, "rows": 1} for text in HOSTILE],
            )
        )
        cells = [each for sheet in book for row in sheet.iter_rows() for each in row]
        assert [each.value for each in cells if each.hyperlink or each.data_type not in "sndb"] == []
        for place, text in enumerate(HOSTILE, start=2):
            cells = [each for name in ("breaks", "proposals") for each in book[name][place] if each.data_type == "s"]
            shown = [each for each in cells if unescape(each.value) == text]
            again = {"statement", "account", "key", "entry"}
            assert len(shown) == len(names) + len(again), ascii(text)
            assert {(each.quotePrefix, each.number_format) for each in shown} == {(text in FORMULAS, "@")}, ascii(text)

    def test_what_is_longer_than_a_cell_is_cut_with_a_mark_and_what_just_fits_is_whole(
        self, opened: Callable[..., Opened]
    ):
        sheet = opened(reconciled(breaks=[a_break("timing", 1, reason=each * 40_000) for each in LETTERS]))["breaks"]
        for place, letter in enumerate(LETTERS, start=2):
            (text,) = (each.value for each in sheet[place] if str(each.value).endswith("(cut)"))
            assert workbook.MAX_TEXT - 1 <= len(text.encode("utf-16-le")) // 2 <= workbook.MAX_TEXT
            assert text.removesuffix(workbook.CUT_MARK).strip(letter) == ""
            whole = letter * (workbook.MAX_TEXT // (len(letter.encode("utf-16-le")) // 2))
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

    def test_the_same_results_are_the_same_bytes_and_a_moment_is_noted_only_when_given(self, tmp_path: Path):
        moments = {"a": None, "b": None, "c": datetime(2026, 2, 1, 8, 30, tzinfo=UTC)}
        for name, moment in moments.items():
            write_workbook(reconciled(), tmp_path / f"{name}.xlsx", moment=moment)
        assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
        for name, year in (("a", 2000), ("c", 2026)):
            book = openpyxl.load_workbook(tmp_path / f"{name}.xlsx")
            assert book.properties.created.year == year
            book.close()

    def test_a_folder_that_is_not_there_is_refused_in_one_line(self, tmp_path: Path):
        for write, name in ((write_page, "out.html"), (write_workbook, "out.xlsx")):
            with pytest.raises(ReportRefused, match=rf"nowhere.*{name}.*cannot be written"):
                write(reconciled(), tmp_path / "nowhere" / name)
