"""Workbooks that nobody would make by mistake, and some that people do: refused in words before the reader has them.

The reader keeps a place for every cell between the first and the last, so that one stray cell ends the process.
"""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from workbench.analysis.statements import LAYOUTS, read_statement, write_statement
from workbench.errors import StatementRefused

LIMIT_S = 60
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGES = "http://schemas.openxmlformats.org/package/2006/relationships"
HEADER = ["Id", "Date", "Status", "Type", "From", "To", "Amount", "Fee", "Balance"]
GOOD = [
    "1", "2026-01-05 08:01:02", "Successful", "Payment", "FRI:96/MSISDN", "FRI:shop/USER", "100.00", "1.00", "99.00",
]  # fmt: skip
LOGO = b"\x89PNG\r\n\x1a\n<c  <c/><!X<c r='XFD1048576'><v>" + bytes(range(256))
"""A picture, whose bytes may look like anything."""
SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
BOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
FAR = "1048576"
LAST = f"XFD{FAR}"

Book = Callable[..., Path]
Parts = Mapping[str, str | bytes | None]


def cell(place: str = "", text: str = "x") -> str:
    reference = f' r="{place}"' if place else ""
    return f'<c{reference} t="inlineStr"><is><t>{text}</t></is></c>'


def row(number: int, texts: list[str]) -> str:
    cells = (cell(f"{chr(ord('A') + place)}{number}", text) for place, text in enumerate(texts))
    return f'<row r="{number}">{"".join(cells)}</row>'


ROWS = row(1, HEADER) + row(2, GOOD)


def sheet(*rows: str, above: str = "") -> str:
    return f'<worksheet xmlns="{MAIN}">{above}<sheetData>{"".join(rows)}</sheetData></worksheet>'


def relations(*targets: tuple[str, str]) -> str:
    """Kind and target of what a part refers to."""
    each = (f'<Relationship Id="rId{n}" Type="{OFFICE}/{kind}" Target="{to}"/>' for n, (kind, to) in enumerate(targets))
    return f'<Relationships xmlns="{PACKAGES}">{"".join(each)}</Relationships>'


def sheet_of(number: int) -> tuple[str, str]:
    return "worksheet", f"worksheets/sheet{number}.xml"


@pytest.fixture
def book(tmp_path: Path) -> Book:
    """Write a workbook from the text of its sheets, with other parts, or none, in place of these or beside them."""

    def made(*sheets: str, parts: Parts = MappingProxyType({}), name: str = "statement.xlsx") -> Path:
        numbers = range(len(sheets))
        listed = "".join(f'<sheet name="S{n}" sheetId="{n + 1}" r:id="rId{n}"/>' for n in numbers)
        whole = {
            "xl/media/image1.png": LOGO,
            "_rels/.rels": relations(("officeDocument", BOOK)),
            BOOK: f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
            RELATIONS: relations(*(sheet_of(n + 1) for n in numbers), ("sharedStrings", "sharedStrings.xml")),
            **{f"xl/{sheet_of(n + 1)[1]}": sheets[n] for n in numbers},
            TEXTS: "<sst/>",
            **parts,
        }
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, text in whole.items():
                if text is not None:
                    archive.writestr(part, text)
        return tmp_path / name

    return made


def refusals_of(*paths: Path, most_kilobytes: int = 500_000) -> list[str]:
    """Read each in one process of their own, which the reader would end; none of them may have made its grid."""
    code = (
        "import sys\n"
        "from workbench.analysis.statements import read_statement\n"
        "from workbench.errors import StatementRefused\n"
        "for path in sys.argv[1:]:\n"
        "    try: print('read', len(read_statement(path, layout='mtn').rows))\n"
        "    except StatementRefused as refused: print(str(refused).replace(chr(10), ' '))\n"
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )
    done = subprocess.run(  # noqa: S603  this interpreter
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr[-500:]
    *said, kilobytes = done.stdout.splitlines()
    assert int(kilobytes) < most_kilobytes, "a grid was made"
    return said


def far(place: str, text: str = "x") -> str:
    """The last row of a sheet, with a cell."""
    return f'<row r="{FAR}">{cell(place, text)}</row>'


PREFIXED = sheet(ROWS, far(LAST)).replace("<", "<x-1:").replace("<x-1:/", "</x-1:").replace("xmlns=", "xmlns:x-1=")
STRAY = {
    "the only one": (sheet(far(LAST)), LAST),
    "beside good rows": (sheet(ROWS, far(LAST)), LAST),
    "at Z1048576": (sheet(ROWS, far(f"Z{FAR}")), f"Z{FAR}"),
    "one far down, one far right": (
        sheet(ROWS, f'<row r="3">{cell("XFD3")}</row><row>{cell(f"A{FAR}")}</row>'), f"A{FAR} and XFD3",
    ),
    "before the others": (sheet(far(LAST), ROWS), LAST),
    "in a row of another number": (sheet(ROWS, f'<row r="3">{cell(LAST)}</row>'), LAST),
    "without its place": (sheet(ROWS, f'<row r="{FAR}"><c r="XFC{FAR}"/>{cell()}</row>'), LAST),
    "after rows without a number": (sheet(f'<row r="{FAR}"/><row>{cell("Z1")}{cell()}</row>'), "AA1048577"),
    "no number of a row that exists": (sheet(ROWS, f'<row r="3">{cell("A4294967295")}</row>'), "A4294967295"),
    "no column that exists": (sheet(ROWS, f'<row r="3">{cell("AAAAAAA1")}</row>'), "AAAAAAA1"),
    "small by its dimension": (sheet(ROWS, far(LAST), above='<dimension ref="A1:I2"/>'), LAST),
    "with its reference last": (sheet(ROWS, f'<row r="{FAR}"><c t="n" s="a>b" r="{LAST}"><v>1</v></c></row>'), LAST),
    "on another line": (sheet(ROWS, f"<row r='{FAR}'><c\n\tr='{LAST}'><v>1</v></c></row>"), LAST),
    "by a prefix": (PREFIXED, LAST),
}  # fmt: skip


class TestStrayCells:
    @pytest.mark.thorough
    def test_one_is_refused_by_its_name_before_the_grid_is_made(self, book: Book):
        paths = [book(text, name=f"{number}.xlsx") for number, (text, _) in enumerate(STRAY.values())]
        for (where, (_, place)), path, said in zip(STRAY.items(), paths, refusals_of(*paths), strict=True):
            assert said.startswith(f"{path.name} is too large for a grid: "), where
            assert all(each in said for each in (place, "16,777,216", "delete", ".csv")), where

    @pytest.mark.thorough
    def test_several_sheets_are_counted_together(self, book: Book):
        wide = sheet(far(f"J{FAR}"), f'<row r="1">{cell("A1")}</row>')
        # Each alone is within the bound: the second one is made, the third one is not.
        (said,) = refusals_of(book(sheet(ROWS), wide, wide, wide, wide), most_kilobytes=1_000_000)
        assert "its sheets have " in said


NEAR = {
    "a dimension that says too much": sheet(ROWS, above=f'<dimension ref="A1:XFD{FAR}"/>'),
    "looks and no content": sheet(ROWS, f'<row r="{FAR}"><c r="XFD{FAR}" s="1"/><c r="XFC{FAR}" s="1"></c></row>'),
    "a formula over all": sheet(ROWS, f'<row r="3"><c r="A3"><f t="shared" ref="A3:XFD{FAR}" si="0">1</f></c></row>'),
    "rows and cells without a place": sheet(ROWS).replace(' r="', ' was="'),
    "a prefix": sheet(ROWS).replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns=", "xmlns:x="),
    "text like a cell": sheet(ROWS.replace("Payment", f"c r='XFD{FAR}' &lt;c r=&quot;XFD{FAR}&quot;>:c ")),
    "a far column and few rows": sheet(ROWS, f'<row r="3">{cell("XFD3", "")}</row>'),
}


class TestWhatIsReadAsBefore:
    @pytest.mark.thorough
    def test_a_sheet_that_only_looks_large(self, book: Book):
        paths = [book(text, name=f"{number}.xlsx") for number, text in enumerate(NEAR.values())]
        read = dict(zip(NEAR, refusals_of(*paths), strict=True))
        assert {what: said for what, said in read.items() if said not in {"read 1", "read 2"}} == {}

    def test_parts_are_found_whatever_the_case_of_their_names_and_a_name_may_end_otherwise(self, book: Book):
        error = row(3, GOOD).replace(cell("A3", "1"), '<c r="A3" t="e"><v>#REF!</v></c>')
        path = book("", parts={SHEET: None, SHEET.upper(): sheet(ROWS, error)}, name="statement.xls")
        assert "#REF!" in str(read_statement(path).rows["problem"].iloc[1])

    def test_a_number_that_is_none_is_a_bad_row_and_a_moment_is_the_nearest_millisecond(self, book: Book):
        rows = [
            row(n, GOOD).replace(cell(place, GOOD[6]), f'<c r="{place}"><v>{{}}</v></c>')
            for n, place in ((3, "G3"), (4, "G4"))
        ]
        read = read_statement(book(sheet(ROWS, rows[0].format("1e400"), rows[1].format("-INF")))).rows
        assert read["problem"].isna().tolist() == [True, False, False]
        assert read["problem"].str.contains("inf").tolist()[1:] == [True, True]
        for micros, moment in (("999499", "01.999"), ("999500", "02.000")):
            at = f'<c r="B3" t="d"><v>2026-01-05T08:01:01.{micros}</v></c>'
            read = read_statement(book(sheet(row(1, HEADER), row(3, GOOD).replace(cell("B3", GOOD[1]), at)))).rows
            assert read["occurred_at"].iloc[0].isoformat(timespec="milliseconds") == f"2026-01-05T06:01:{moment}+00:00"


ENTITIES = '<!DOCTYPE worksheet [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


class TestBombs:
    @pytest.mark.thorough
    def test_what_unpacks_to_far_more_than_the_file_is_not_unpacked_though_its_size_lies(self, book: Book):
        large = sheet(ROWS, " " * (1 << 27))
        plain = book(sheet(ROWS), parts={TEXTS: b" " * (1 << 27)}, name="plain.xlsx")
        lying = book(large, name="lying.xlsx")
        whole, size = lying.read_bytes(), len(large).to_bytes(4, "little")
        assert whole.count(size) == 2
        lying.write_bytes(whole.replace(size, (700).to_bytes(4, "little")))
        began = os.times()
        assert all("unpacks to more than" in said for said in refusals_of(plain, lying))
        assert sum(os.times()[2:4]) - sum(began[2:4]) < LIMIT_S / 4

    def test_more_cells_than_a_grid_has_are_refused(self, book: Book, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("workbench.analysis.statements.workbooks.MOST_CELLS", 10_000)
        for element in ("<c/>", "<si/>", "<x:c/>"):
            with pytest.raises(StatementRefused, match="more than 10,000 cells"):
                read_statement(book(sheet(ROWS), parts={TEXTS: f"<sst>{element * 10_001}</sst>"}))

    @pytest.mark.parametrize("part", [SHEET, BOOK, TEXTS])
    def test_declarations_are_refused_and_text_of_another_width_hides_none(self, book: Book, part: str):
        with zipfile.ZipFile(book(sheet(ROWS))) as archive:
            text = archive.read(part).decode()
        with pytest.raises(StatementRefused, match="declares a document type"):
            read_statement(book(sheet(ROWS), parts={part: ENTITIES + text}))
        wide = f'<?xml version="1.0" encoding="UTF-16"?>{ENTITIES}{text}'.encode("utf-16")
        with pytest.raises(StatementRefused):
            read_statement(book(sheet(ROWS), parts={part: wide}))


class TestOtherKinds:
    @pytest.mark.parametrize(
        ("sheets", "parts", "words"),
        [
            (1, {"xl/workbook.bin": ""}, r"but not \.xlsx.*Save it as \.xlsx or \.csv"),
            (1, {"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}, r"but not \.xlsx"),
            (1, {SHEET.upper(): sheet(ROWS)}, "damaged"),
            (1, {SHEET: sheet(ROWS, '<row r="3"><c r="?3"><v>1</v></c></row>')}, "damaged.*is not a cell"),
            (2, {RELATIONS: relations(sheet_of(1), sheet_of(1))}, "two of its sheets are one"),
        ],
    )
    def test_what_is_no_workbook_of_ours_is_refused(self, book: Book, sheets: int, parts: dict[str, str], words: str):
        with pytest.raises(StatementRefused, match=words):
            read_statement(book(*[sheet(ROWS)] * sheets, parts=parts))

    def test_one_whose_parts_are_encrypted_is_refused(self, tmp_path: Path):
        path = tmp_path / "statement.xlsx"
        write_statement([{"key": "1", "status": "failed"}], path, LAYOUTS["mtn"])
        whole = bytearray(path.read_bytes())
        for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            place = -1
            while (place := whole.find(signature, place + 1)) >= 0:
                whole[place + flags] |= 1
        path.write_bytes(whole)
        with pytest.raises(StatementRefused, match="damaged"):
            read_statement(path)
