"""The workbook, opened again: every figure is the frames', and no text has become anything but text."""

import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openpyxl
import pandas as pd
import pytest
from openpyxl.utils.escape import unescape
from openpyxl.workbook import Workbook as Opened
from openpyxl.worksheet.worksheet import Worksheet

from workbench.analysis.frames import python_rows
from workbench.analysis.report import workbook, write_workbook
from workbench.analysis.shapes import BREAK
from workbench.errors import ReportRefused

Make = Callable[..., SimpleNamespace]
Row = Callable[..., dict[str, Any]]

HOSTILE = [
    "=1+1", "=cmd|' /C calc'!A0", "+260961234567", "-5", "@SUM(A1:A9)", "\t=1", "\r=1", "\n=1", "|x", "%x",
    '=HYPERLINK("http://example.invalid","x")', "http://example.invalid/a", "mailto:a@example.invalid",
    "internal:Sheet1!A1", "{=1}", "_x0041_", "\x07bell", "<b>&amp;</b>", "1234567890123456789", "1e5", "TRUE",
    "2026-01-05", " both ends ", " =1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff201", "\u200b=1",
    "\u202eesrever", "Ünïcödé 🪴", "",
]  # fmt: skip


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


class TestFigures:
    def test_every_cell_is_the_frames(self, opened: Callable[..., Opened], reconciled: Make):
        result = reconciled()
        book = opened(result)
        assert book.sheetnames == list(workbook.SHEETS)
        for name in workbook.SHEETS:
            frame = getattr(result, name)
            assert read_back(book[name], frame) == list(python_rows(frame, *frame.columns)), name

    def test_amounts_are_numbers_in_kwacha_that_add_up(self, opened: Callable[..., Opened], reconciled: Make):
        result = reconciled()
        sheet = opened(result)["breaks"]
        column = [each.value for each in sheet[1]].index("net variance")
        cells_ = [row[column] for row in sheet.iter_rows(min_row=2)]
        assert {each.number_format for each in cells_} == {"#,##0.00"}
        assert [each.data_type for each in cells_] == ["n"] * len(cells_)
        assert round(sum(each.value for each in cells_) * 100) == result.breaks["variance_minor"].sum()

    def test_the_largest_are_exact_to_the_ngwee(self, opened: Callable[..., Opened], reconciled: Make, match_row: Row):
        amounts = [10**15 - 1, -(10**15 - 1), 10**15 - 7, 1, -1, 0, 90_071_992_547_409]
        result = reconciled(matches=[match_row(signed_minor=minor) for minor in amounts])
        assert [row[9] for row in read_back(opened(result)["matches"], result.matches)] == amounts

    @pytest.mark.parametrize("minor", [10**15, -(10**15), 2**63 - 1])
    def test_what_a_spreadsheet_would_round_is_refused(
        self, tmp_path: Path, reconciled: Make, match_row: Row, minor: int
    ):
        with pytest.raises(ReportRefused, match="15 digits"):
            write_workbook(reconciled(matches=[match_row(signed_minor=minor)]), tmp_path / "out.xlsx")
        assert list(tmp_path.iterdir()) == []

    def test_dates_are_dates(self, opened: Callable[..., Opened], reconciled: Make):
        sheet = opened(reconciled())["breaks"]
        cell = sheet.cell(2, [each.value for each in sheet[1]].index("business date") + 1)
        assert (cell.is_date, cell.value.date(), cell.number_format) == (True, date(2026, 1, 5), "yyyy-mm-dd")

    def test_a_date_before_the_calendar_of_spreadsheets_is_text(
        self, opened: Callable[..., Opened], reconciled: Make, break_row: Row
    ):
        days = [date(1, 1, 1), date(1900, 1, 1), date(1900, 2, 28)]
        sheet = opened(reconciled(breaks=[break_row("timing", 1, business_date=day) for day in days]))["breaks"]
        for place, day in enumerate(days, start=2):
            assert day.isoformat() in [each.value for each in sheet[place]]

    def test_moments_are_utc(self, opened: Callable[..., Opened], reconciled: Make):
        result = reconciled()
        result.matches["occurred_at"] = pd.Series(
            [pd.Timestamp("2026-01-05T08:01:02.345Z")] * len(result.matches), dtype="datetime64[ms, UTC]"
        )
        sheet = opened(result)["matches"]
        assert sheet.cell(1, 12).value == "occurred at (UTC)"
        assert sheet.cell(2, 12).value == datetime(2026, 1, 5, 8, 1, 2, 345_000)  # noqa: DTZ001  a sheet has no zones


class TestText:
    def test_it_stays_text_and_whole(self, opened: Callable[..., Opened], reconciled: Make, break_row: Row):
        names = ("statement", "account", "key", "entry", "phone", "reason", "settlement", "proposal")
        result = reconciled(breaks=[break_row("timing", 1, **dict.fromkeys(names, text)) for text in HOSTILE])
        sheet = opened(result)["breaks"]
        assert [each.data_type for row in sheet.iter_rows() for each in row if each.data_type not in "snd"] == []
        for place, text in enumerate(HOSTILE, start=2):
            cells_ = [each for each in sheet[place] if each.data_type == "s" and each.column <= len(BREAK)]
            assert [unescape(each.value) for each in cells_].count(text) == len(names), ascii(text)
            assert all(each.hyperlink is None for each in sheet[place]), ascii(text)

    def test_it_stays_text_when_somebody_edits_the_cell(
        self, opened: Callable[..., Opened], reconciled: Make, break_row: Row
    ):
        texts = [f"{start}1" for start in (*"=+-@\t\r\uff1d\uff0b\uff0d\uff20", " =", "\u00a0+", "\ufeff@")]
        sheet = opened(reconciled(breaks=[break_row("timing", 1, reason=text) for text in texts]))["breaks"]
        for place, text in enumerate(texts, start=2):
            cell = sheet.cell(place, 17)
            assert (unescape(cell.value), cell.quotePrefix, cell.number_format) == (text, True, "@")

    def test_no_cell_of_any_sheet_is_a_formula(self, tmp_path: Path, reconciled: Make, break_row: Row, match_row: Row):
        hostile = [break_row("timing", 1, key=text, reason=text) for text in HOSTILE]
        inputs = [{"side": "statement", "name": text, "rows": 1} for text in HOSTILE]
        result = reconciled(breaks=hostile, matches=[match_row(differences=text) for text in HOSTILE], inputs=inputs)
        write_workbook(result, tmp_path / "out.xlsx")
        with zipfile.ZipFile(tmp_path / "out.xlsx") as archive:
            texts = {name: archive.read(name) for name in archive.namelist()}
        sheets = [text for name, text in texts.items() if "worksheets/" in name]
        assert len(sheets) == 6
        assert all(mark not in text for text in sheets for mark in (b"<f>", b"<f ", b"hyperlink"))
        assert [name for name in texts if "rels" in name and "sheet" in name] == []

    @pytest.mark.parametrize("letter", ["x", "🪴"], ids=["letters", "surrogate pairs"])
    def test_what_is_longer_than_a_cell_is_cut_with_a_mark(
        self, opened: Callable[..., Opened], reconciled: Make, break_row: Row, letter: str
    ):
        sheet = opened(reconciled(breaks=[break_row("timing", 1, reason=letter * 40_000)]))["breaks"]
        text = sheet.cell(2, 17).value
        assert workbook.MAX_TEXT - 1 <= len(text.encode("utf-16-le")) // 2 <= workbook.MAX_TEXT
        assert text.removesuffix(workbook.CUT_MARK).strip(letter) == ""
        assert text.endswith("(cut)")

    @pytest.mark.parametrize("letter", ["x", "🪴"], ids=["letters", "surrogate pairs"])
    def test_what_just_fits_is_whole(self, letter: str):
        text = letter * (workbook.MAX_TEXT // (len(letter.encode("utf-16-le")) // 2))
        assert workbook.cut(text) == text
        assert workbook.cut(text + letter) != text + letter


class TestSheets:
    def test_headings_are_frozen_filtered_and_wide_enough(self, opened: Callable[..., Opened], reconciled: Make):
        result = reconciled()
        book = opened(result)
        for name in workbook.SHEETS:
            sheet, frame = book[name], getattr(result, name)
            assert sheet.freeze_panes == "A2"
            last = openpyxl.utils.get_column_letter(len(frame.columns))
            assert sheet.auto_filter.ref == f"A1:{last}{len(frame) + 1}"
            for column in sheet.iter_cols(min_row=1, max_row=1):
                width = sheet.column_dimensions[openpyxl.utils.get_column_letter(column[0].column)].width
                assert width > len(column[0].value)

    def test_more_rows_than_a_sheet_holds_go_on_in_the_next(
        self, opened: Callable[..., Opened], reconciled: Make, match_row: Row, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(workbook, "MAX_ROWS", 4)
        result = reconciled(matches=[match_row(signed_minor=place) for place in range(7)], breaks=[])
        book = opened(result)
        assert [each for each in book.sheetnames if "matches" in each] == ["matches", "matches 2", "matches 3"]
        found = [read_back(book[name], result.matches) for name in ("matches", "matches 2", "matches 3")]
        assert [len(each) for each in found] == [3, 3, 1]
        assert [*found[0], *found[1], *found[2]] == list(python_rows(result.matches, *result.matches.columns))
        assert all(book[name].cell(1, 1).value == "rule" for name in ("matches", "matches 2", "matches 3"))

    def test_no_rows_leave_the_headings(self, opened: Callable[..., Opened], reconciled: Make):
        book = opened(reconciled(breaks=[], matches=[], summary=[], proof=[], inputs=[]))
        assert {book[name].max_row for name in workbook.SHEETS} == {1}


class TestFile:
    def test_the_same_results_are_the_same_bytes(self, tmp_path: Path, reconciled: Make):
        for name in ("a.xlsx", "b.xlsx"):
            write_workbook(reconciled(), tmp_path / name)
        assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()

    def test_a_moment_is_noted_only_when_given(self, tmp_path: Path, reconciled: Make, moment: datetime):
        made = []
        for each in (None, moment):
            write_workbook(reconciled(), tmp_path / "out.xlsx", moment=each)
            book = openpyxl.load_workbook(tmp_path / "out.xlsx")
            made.append(book.properties.created)
            book.close()
        assert [each.year for each in made] == [2000, 2026]

    def test_a_folder_that_is_not_there_is_refused_in_one_line(self, tmp_path: Path, reconciled: Make):
        with pytest.raises(ReportRefused, match=r"nowhere.*out.xlsx.*cannot be written"):
            write_workbook(reconciled(), tmp_path / "nowhere" / "out.xlsx")

    def test_what_was_there_stays_when_writing_fails(self, tmp_path: Path, reconciled: Make, match_row: Row):
        write_workbook(reconciled(), tmp_path / "out.xlsx")
        before = (tmp_path / "out.xlsx").read_bytes()
        with pytest.raises(ReportRefused):
            write_workbook(reconciled(matches=[match_row(signed_minor=10**16)]), tmp_path / "out.xlsx")
        assert (tmp_path / "out.xlsx").read_bytes() == before
        assert [each.name for each in tmp_path.iterdir()] == ["out.xlsx"]
