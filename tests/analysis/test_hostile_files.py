"""More than a hundred files that nobody should send, and that somebody does, as statements and as ledgers.

Each is refused in words, or its rows are kept with their reasons. In the thorough run all go through the command line,
those of the tables of reading too, and what they take is measured.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from tests.analysis.test_statements_bad_input import GOOD, HEADER, PROBLEMS, REFUSED, with_cells
from workbench.analysis import files
from workbench.analysis.shapes import LEDGER_MOVEMENT
from workbench.cli import app

MOST_KILOBYTES, MOST_S = 1_000_000, 20
NOBODY = 65_534
LIMIT_S = 600
LEDGER_ROW = {
    "account": "operator:mtn:float", "key": "001", "occurred_at": "2026-01-05T06:01:02Z", "direction": "in",
    "business_date": "2026-01-05", "amount_minor": "10000", "fee_minor": "100", "currency": "ZMW", "entry": "je_1",
    "status": "completed", "number": "1", "kind": "funds_secured", "state": "posted", "balance_minor": "9900",
}  # fmt: skip
NAMES = ",".join(LEDGER_MOVEMENT)
BIG = 2**63 - 1


class Run(NamedTuple):
    """Files for one run of the command: what they are called, how it ends, and what it says."""

    name: str
    ledger: Path
    statements: list[Path]
    status: int
    words: str

    @property
    def arguments(self) -> list[str]:
        return ["reconcile", *map(str, (self.ledger, *self.statements))]


def ledger_row(**cells: object) -> str:
    made = dict.fromkeys(LEDGER_MOVEMENT, "") | LEDGER_ROW | {name: str(cell) for name, cell in cells.items()}
    return ",".join(made.values())


def ledger_text(*rows: str) -> str:
    return "\n".join([NAMES, *(rows or [ledger_row()]), ""])


def rows_apart(count: int, **cells: str) -> str:
    """A statement of so many rows, each with its own key; `{}` in a cell is its number."""
    usual = with_cells(**{"Id": "{}"} | cells)
    return "\n".join([HEADER, *(usual.replace("{}", str(number)) for number in range(count))])


LEDGERS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "ledger.csv is empty"),
    "blank": ("\n\n", "does not have the columns of a ledger"),
    "headings alone": (NAMES, "It has no row at all"),
    "bytes": (bytes(range(256)) * 40, "not text in UTF-8"),
    "cp1252": (ledger_text(ledger_row(phone="café")).encode("cp1252"), "line 2 has other bytes"),
    "a PDF": (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3", "is a PDF"),
    "a workbook by another name": (b"PK\x03\x04 and no more", "it is damaged or incomplete"),
    "a column that lacks": (
        ledger_text().replace("key", "ref"),
        "key, occurred_at and amount are needed; it has account, ref",
    ),
    "a heading twice": (ledger_text().replace("payment", "key"), "key"),
    "a short row": (ledger_text(ledger_row(), "a,b"), "the row has 2 cells and the header 18 (1 row, line 3)"),
    "a long row": (ledger_text(ledger_row() + ",x"), "the row has 19 cells and the header 18 (1 row, line 2)"),
    "an open quote": (ledger_text(ledger_row(), '"x'), "cannot be split into cells at line 3"),
    "no number": (ledger_text(ledger_row(number="")), "number is missing (1 row, line 2)"),
    "day first": (
        ledger_text(ledger_row(business_date="05/01/2026")),
        "business_date '05/01/2026' is not a day written as %Y-%m-%d",
    ),
    "a cell of 10 MB": (ledger_text(ledger_row(key="x" * 10_000_000)), "a cell has more than 1,048,576 characters"),
}
KEPT_IN_A_LEDGER: list[tuple[dict[str, object], str]] = [
    ({"key": ""}, "no key"), ({"fee_minor": -5}, "a negative fee"), ({"amount_minor": -5}, "a negative amount"),
    ({"currency": ""}, "no currency"), ({"business_date": ""}, "no business date"),
    ({"direction": "CR"}, "'CR' as direction, which is none of in, out"),
    ({"status": "Paid"}, "'Paid' as status, which is none of completed, failed, pending"),
    ({"amount_minor": BIG // 10}, "more than 13 digits in its amount"),
    ({"amount_minor": -(BIG // 10), "direction": "out"}, "a negative amount, more than 13 digits in its amount"),
    ({"fee_minor": BIG // 10}, "more than 13 digits in its fee"),
    ({"business_date": "0001-01-01", "occurred_at": "0001-01-01T00:00:00Z"}, "no business date"),
    ({"business_date": "9999-12-31", "occurred_at": "9999-12-31T23:59:59Z"}, "no business date"),
    ({"key": "", "direction": "=1+1"}, "no key, '=1+1' as direction"),
]  # fmt: skip
"""Rows that are kept as invalid, and why; a date that is missing may be one that no calendar has."""
TABLES = {
    "a float": (lambda rows: rows.assign(amount_minor=rows["amount_minor"].astype(float)), 2, "cannot be a float"),
    "a text": (lambda rows: rows.assign(amount_minor="100"), 2, "amount_minor is String"),
    "no column": (lambda rows: rows.drop(columns="key"), 2, "key, occurred_at and amount are needed"),
    "no zone": (lambda rows: rows.assign(occurred_at=rows["occurred_at"].dt.tz_localize(None)), 2, "its time zone"),
    "2^63": (lambda rows: rows.assign(amount_minor=pd.array([2**63], "uint64")), 2, "too large for 64 bits"),
    "2^63 - 1": (lambda rows: rows.assign(amount_minor=BIG), 1, "1 of 1 rows of ledger.parquet cannot be read"),
    "its least": (lambda rows: rows.assign(fee_minor=-(2**63)), 1, "a negative fee, more than 13 digits in its fee"),
    "the year 29349": (
        lambda rows: rows.assign(business_date=pd.arrays.ArrowExtensionArray(pa.array([10**7], pa.date32()))),
        1, "First reason: no business date",
    ),
}  # fmt: skip
"""What a pandas user may write to Parquet, how the command ends, and what it says."""


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def good_files(folder: Path) -> tuple[Path, Path]:
    """A ledger in Parquet and in CSV, and a statement that it agrees with."""
    ledger, statement = folder / "ledger.parquet", written(folder / "mtn.csv", f"{HEADER}\n{GOOD}\n")
    rows = files.read(written(folder / "ledger.csv", ledger_text()), LEDGER_MOVEMENT)
    files.write(rows, ledger, LEDGER_MOVEMENT)
    return ledger, statement


def refused(folder: Path) -> Iterator[Run]:
    """Every file that cannot be used, in the place of one that can."""
    ledger, statement = good_files(folder)
    for number, (content, told) in enumerate(REFUSED):
        # What is said of Python to call is said of options on the command line.
        words = "name it with --layout" if "replace(LAYOUTS" in told else told
        path = written(folder / f"s{number}" / "statement.csv", content)
        yield Run(f"a statement: {words}", ledger, [path], 2, words)
    for number, (name, (content, words)) in enumerate(LEDGERS.items()):
        yield Run(f"a ledger: {name}", written(folder / f"l{number}" / "ledger.csv", content), [statement], 2, words)
    parquet = ledger.read_bytes()
    damaged = {
        "none": b"", "garbage": b"PAR1" + bytes(100), "cut short": parquet[:-50],
        "damaged within": parquet[:50] + bytes(400) + parquet[450:],
    }  # fmt: skip
    for number, (name, content) in enumerate(damaged.items()):
        path = written(folder / f"p{number}" / "ledger.parquet", content)
        yield Run(f"Parquet as ledger: {name}", path, [statement], 2, "ledger.parquet")
        # Of a statement its columns are looked at first.
        words = "no column statement" if name == "damaged within" else "ledger.parquet is not a Parquet file"
        yield Run(f"Parquet as statement: {name}", ledger, [path], 2, words)
    copy = written(folder / "copy.csv", statement.read_bytes())
    other = written(folder / "other" / "mtn.csv", f"{HEADER}\n{GOOD.replace('001', '002')}\n")
    odd = written(folder / "ledger.ods", b"PK\x03\x04")
    yield from (
        Run("one file twice", ledger, [statement, statement], 2, "given twice: mtn.csv and mtn.csv"),
        Run("a copy of a file", ledger, [statement, copy], 2, "given twice: mtn.csv and copy.csv"),
        Run("two files of one name", ledger, [statement, other], 2, "two different files need two names"),
        Run("a folder as statement", ledger, [folder], 2, "is a directory"),
        Run("a folder as ledger", folder, [statement], 2, "is a directory"),
        Run("no statement there", ledger, [folder / "none.csv"], 2, "there is no such file"),
        Run("no ledger there", folder / "none.csv", [statement], 2, "there is no such file"),
        Run("another kind of ledger", odd, [statement], 2, "ledger.ods"),
        Run(
            "a ledger as statement", ledger, [written(folder / "books.csv", ledger_text())], 2, "give the ledger first"
        ),
        Run("a device", ledger, [Path(os.devnull)], 2, "null is empty"),
    )


def kept(folder: Path) -> Iterator[Run]:
    """Files that are read, though there is something with them."""
    ledger, statement = good_files(folder)
    later = GOOD.replace("001,2026-01-05", "002,2026-01-06")
    twice = ledger_text(ledger_row(), ledger_row(key="002", number=2, entry="je_2", business_date="2026-01-06"))
    both = written(folder / "both.csv", twice)
    overlap = [written(folder / name, "\n".join(rows)) for name, rows in
               (("first.csv", [HEADER, GOOD, later]), ("second.csv", [HEADER, later]))]  # fmt: skip
    for number, (name, (change, status, words)) in enumerate(TABLES.items()):
        path = folder / f"t{number}" / "ledger.parquet"
        path.parent.mkdir()
        change(files.read(ledger, LEDGER_MOVEMENT)).to_parquet(path)
        yield Run(f"a table: {name}", path, [statement], status, words)
    for name, content, status, words in (
        ("headings alone", HEADER, 1, "headings alone.csv has no rows and no closing balance: nothing is proven. "),
        ("with a mark", b"\xef\xbb\xbf" + statement.read_bytes(), 0, "Nothing to settle."),
        ("UTF-16", statement.read_text().encode("utf-16"), 0, "Nothing to settle."),
        ("lines of a Mac", statement.read_bytes().replace(b"\n", b"\r"), 0, "Nothing to settle."),
        ("wide for nothing", f"{HEADER}{',' * 2_000}\n{GOOD}{',' * 2_000}", 0, "Nothing to settle."),
        ("a long key", rows_apart(3, Id="x" * 10_000 + "{}"), 1, "timing"),
        ("formulas", rows_apart(3, Id="=HYPERLINK({})"), 1, "timing"),
        ("controls", rows_apart(3, Id="\x1b[2J\u202e\x07{}"), 1, "timing"),
        ("1900", f"{HEADER}\n{GOOD.replace('2026', '1900')}", 1, "date_mismatch"),
        ("2062", f"{HEADER}\n{GOOD.replace('2026', '2062')}", 1, "date_mismatch"),
        ("a sum of 65 bits", rows_apart(10_000, Amount="9" * 13 + ".00"), 2, "too large for 64 bits"),
    ):  # fmt: skip
        yield Run(f"a statement: {name}", ledger, [written(folder / f"{name}.csv", content)], status, words)
    yield Run("periods that overlap", both, overlap, 1, "1 line repeated in overlapping files")


def check(run: Run, status: int, stdout: str, stderr: str) -> None:
    """How a run has to end, and that it says so in one message."""
    assert status == run.status, (run.name, stdout[:300], stderr[-300:])
    assert run.words in stdout + stderr, (run.name, stdout[:500], stderr[-500:])
    assert "Traceback" not in stdout + stderr, run.name
    if status == 2:
        assert stdout == "", run.name
        assert [line.startswith("Error: ") for line in stderr.splitlines()].count(True) == 1, (run.name, stderr)


def invoked(run: Run, *options: str) -> None:
    """Run the command here; what it does not refuse on purpose fails the test."""
    done = CliRunner(catch_exceptions=False).invoke(app, [*run.arguments, *options])
    check(run, done.exit_code, done.stdout, done.stderr)


def invalid(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 20)
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["code"] == "invalid_row"]


def test_rows_that_cannot_be_used_are_kept_on_both_sides_with_their_reasons(tmp_path: Path):
    rows = [ledger_row(**{"number": n, "entry": f"je_{n}"} | cells) for n, (cells, _) in enumerate(KEPT_IN_A_LEDGER, 2)]
    theirs = [row if isinstance(row, str) else with_cells(**row) for row, _ in PROBLEMS]
    # A table of somebody else's making; books in CSV are refused with such rows.
    text, ledger = written(tmp_path / "books.csv", ledger_text(ledger_row(), *rows)), tmp_path / "ledger.parquet"
    files.write(files.read(text, LEDGER_MOVEMENT), ledger, LEDGER_MOVEMENT)
    statement = written(tmp_path / "mtn.csv", "\n".join([HEADER, GOOD, *theirs]))
    most = f"{len(rows)} of {len(rows) + 1} rows of ledger.parquet cannot be read: check the layout. First reason: "
    invoked(Run("rows", ledger, [statement], 1, most), "--out", str(tmp_path / "b.csv"))
    found = invalid(tmp_path / "b.csv")
    by_line = {row["line"]: row["reason"] for row in found if row["side"] == "statement"}
    by_entry = {row["entry"]: row["reason"] for row in found if row["side"] == "ledger"}
    assert len(by_line) + len(by_entry) == len(found) == len(PROBLEMS) + len(rows)
    for line, (_, words) in enumerate(PROBLEMS, 3):
        assert words in by_line[str(line)]
    for number, (_, words) in enumerate(KEPT_IN_A_LEDGER, 2):
        assert words in by_entry[f"je_{number}"]


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that everybody may enter, unlike those of tests."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_what_may_not_be_opened_is_refused_by_its_name(outside: Path):
    ledger, statement = good_files(outside)
    shut = outside / "shut"
    closed = {path: written(shut / path.name, path.read_bytes()) for path in (ledger, statement)}
    locked = {path: written(path.with_stem("locked"), path.read_bytes()) for path in (ledger, statement)}
    books = written(outside / "locked_books.csv", ledger_text())
    for path in (*outside.iterdir(), shut):
        path.chmod(0 if path.name.startswith(("locked", "shut")) else 0o644)
    shut_out = closed[ledger], locked[ledger], books
    runs = [Run("the ledger", each, [statement], 2, "cannot be read") for each in shut_out]
    said = "cannot be read: Permission denied. Check its name"
    runs += [Run("a statement", ledger, [each[statement]], 2, said) for each in (closed, locked)]
    invoked(Run("loads what it needs", ledger, [statement], 0, "Nothing to settle"))
    own = os.geteuid()
    try:
        if own == 0:
            # What root may read tells nothing.
            os.seteuid(NOBODY)
        for run in runs:
            invoked(run)
    finally:
        os.seteuid(own)
        shut.chmod(0o755)


MEASURED = """
import json, sys, time
from click.testing import CliRunner
from workbench.cli import app
for arguments in json.loads(sys.stdin.read()):
    began = time.process_time()
    done = CliRunner().invoke(app, arguments)
    print(json.dumps([done.exit_code, done.stdout, done.stderr + (repr(done.exception) if done.exit_code > 2 else ""),
                      time.process_time() - began,
                      *(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))]))
"""


def sheet_of(path: Path, rows: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/workbook.xml", '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>')
        book.writestr("xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="a" Type="/worksheet" '
                      'Target="worksheets/sheet1.xml"/></Relationships>')  # fmt: skip
        book.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{rows}</sheetData></worksheet>")
    return path


def heavy(folder: Path) -> Iterator[Run]:
    """What is large, or would be."""
    ledger, statement = good_files(folder)
    cell = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    keys = [ledger_row(number=n, entry=f"je_{n}", key="x" * 1_000_000 + str(n)) for n in range(1, 41)]
    commas, lines = "," * 100_000, "x\n" * 5_000_000
    wide = f"{NAMES}{commas}\n{ledger_row()}{commas}\n"
    table = files.read(ledger, LEDGER_MOVEMENT).assign(key="x" * 10_000_000)
    files.write(table, folder / "wide.parquet", LEDGER_MOVEMENT)
    yield from (
        Run("400 MB unpacked", ledger, [sheet_of(folder / "bomb.xlsx", " " * 400_000_000)], 2, "unpacks to more than"),
        Run("a far cell", ledger, [sheet_of(folder / "far.xlsx", cell)], 2, "is too large for a grid"),
        Run("10 MB in a cell", ledger, [written(folder / "a.csv", rows_apart(1, Id="x" * 10_000_000))], 2, "character"),
        Run("lines in a cell", ledger, [written(folder / "b.csv", f'{HEADER}\n"{lines}"')], 2, "characters"),
        Run("keys of 1 MB", ledger, [written(folder / "c.csv", rows_apart(40, Id="x" * 1_000_000 + "{}"))], 1,
            "40 of 40 rows of c.csv cannot be read"),
        Run("a ledger's keys of 1 MB", written(folder / "k.csv", ledger_text(*keys)), [statement], 2,
            "has more than 32,767 characters (40 rows, the first is line 2)"),
        Run("a ledger's key of 10 MB", folder / "wide.parquet", [statement], 0, "timing"),
        Run("100,000 columns", ledger, [written(folder / "d.csv", f"{HEADER}{commas}\n{GOOD}{commas}\n")], 0, ""),
        Run("a ledger of 100,000 columns", written(folder / "w.csv", wide), [statement], 0, "Nothing to settle"),
        Run("100,000 bad rows", ledger, [written(folder / "e.csv", rows_apart(100_000, Amount='"1,234.5O"'))], 1,
            "100,000 of 100,000 rows of e.csv cannot be read"),
    )  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("made", [refused, kept, heavy])
def test_none_of_them_takes_a_gigabyte_or_twenty_seconds(made: object, tmp_path: Path):
    runs = list(made(tmp_path))  # type: ignore[operator]  one of three functions
    # A process's peak holds what its allocators kept of the command before, which is much after a large file.
    apart = [[run] for run in runs] if made is heavy else [runs]
    ended = [line for together in apart for line in measured(together)]
    for run, (status, stdout, stderr, took_s, kilobytes) in zip(runs, ended, strict=True):
        check(run, status, stdout, stderr)
        assert took_s < MOST_S, run.name
        assert kilobytes < MOST_KILOBYTES, run.name


def measured(runs: list[Run]) -> list[tuple[int, str, str, float, int]]:
    """Of each run, in one process: exit status, output, errors, seconds of CPU, and the peak of memory in kB so far."""
    done = subprocess.run(  # noqa: S603  this interpreter
        [sys.executable, "-c", MEASURED], input=json.dumps([run.arguments for run in runs]), capture_output=True,
        text=True, check=True, timeout=LIMIT_S,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]
