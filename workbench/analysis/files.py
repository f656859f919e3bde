"""Writes tables to Parquet and CSV and reads them back without loss; errors name the first faulty line of a CSV."""

import codecs
import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from workbench.analysis.frames import schema_of, typed, untyped
from workbench.analysis.shapes import Columns
from workbench.errors import ReportRefused

PARQUET, CSV = ".parquet", ".csv"
NUMBER_FORMATS: Final = ("#,##0", *(f"#,##0.{'0' * decimals}" for decimals in range(1, 5)))
"""Spreadsheet formats of amounts; the index is the currency's number of decimals."""
MAX_TEXT: Final = 32_767
"""The most characters of a spreadsheet's cell, counted in UTF-16 units."""
_MOST_SHOWN: Final = 40
_OTHER_DELIMITERS: Final = {";": "semicolons", "\t": "tabs", "|": "bars"}
_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WRITTEN: Final[Mapping[pa.DataType, tuple[str, str]]] = {
    pa.int64(): ("-?[0-9]{1,18}", "a whole number without separators; amounts are in minor units, K1,234.50 as 123450"),
    pa.date32(): (_DAY, "a day written as 2026-01-31"),
    pa.timestamp("ms", "UTC"): (
        rf"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,3}})?)?(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)",
        "a moment with its zone, such as 2026-01-31T08:00:00Z or 2026-01-31T10:00:00+02:00",
    ),
}
"""Column type → the pattern that its cells in a CSV must match, and the words for such a cell in an error."""


def _fault_of(path: Path, schema: pa.Schema) -> str | None:
    """Describes the first fault of a CSV file that Arrow rejected; None if the csv module finds no fault."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            return _fault(csv.reader(handle), schema)
    except UnicodeDecodeError:
        return "it is not text in UTF-8"
    except csv.Error as wrong:
        return str(wrong)


def _missing(names: Sequence[str], schema: pa.Schema) -> str | None:
    """Says which columns of `schema` are not in `names`, and what `names` are; None if all are there."""
    missing = [name for name in schema.names if name not in names]
    listed = ", ".join(name[:_MOST_SHOWN] for name in names[:_MOST_SHOWN])
    return f"it has no column {', '.join(missing)}; it has {listed}" if missing else None


def _fault(rows: Iterator[list[str]], schema: pa.Schema) -> str | None:
    header = next(rows, None)
    if not header:
        return "it is empty"
    if len(header) == 1 and (mark := next((sign for sign in _OTHER_DELIMITERS if sign in header[0]), None)):
        return f"its cells are separated by {_OTHER_DELIMITERS[mark]}, and must be separated by commas"
    if missing := _missing(header, schema):
        return missing
    places = {name: header.index(name) for name in schema.names}
    begins = 2
    for row in rows:
        if row and len(row) != len(header):
            return f"line {begins} has {len(row)} cells and the header {len(header)}"
        for field in schema if row else ():
            cell, (pattern, wanted) = row[places[field.name]], _WRITTEN.get(field.type, ("(?s:.*)", ""))
            if (cell or not field.nullable) and not re.fullmatch(pattern, cell):
                return f"line {begins}, {field.name}: {cell[:_MOST_SHOWN]!r} is not {wanted}"
        begins = rows.line_num + 1  # type: ignore[attr-defined]  # the reader of the csv module has it
    return None


def write(rows: pd.DataFrame, path: Path | str, columns: Columns, *, marked: bool = False) -> None:
    """Writes `rows`, with these columns, to a .parquet or .csv file.

    In CSV, every text is in quotes and a null is an empty cell without quotes; amounts are whole minor units, moments
    UTC. With `marked`, a CSV begins with the byte-order mark of UTF-8; without the mark, spreadsheets assume another
    encoding. Raises ValueError: another ending than .parquet or .csv, or a missing column.
    """
    target, table = Path(path), untyped(rows, columns)
    if _ending(target) == PARQUET:
        pyarrow.parquet.write_table(table, target)
        return
    with pa.OSFile(str(target), "wb") as file:
        file.write(codecs.BOM_UTF8 if marked else b"")
        pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(quoting_style="needed"))


def read(path: Path | str, columns: Columns) -> pd.DataFrame:
    """Reads a table with these columns and types from a .parquet or .csv file; leaves out other columns.

    Raises ValueError: another ending, or a file that is no table with these columns.
    """
    return typed([_table_in(Path(path), schema_of(columns))], columns)


def _table_in(source: Path, schema: pa.Schema) -> pa.Table:
    is_parquet = _ending(source) == PARQUET
    try:
        return (_parquet if is_parquet else _csv)(source, schema).select(schema.names).cast(schema)
    except (KeyError, ValueError, NotImplementedError) as error:
        fault = None if is_parquet else _fault_of(source, schema)
        if not fault and "Empty CSV file" in str(error):
            # A line of headings that nothing ends, not even a line break, is a table without rows to us.
            return schema.empty_table()
        why = fault or str(error).rstrip(".")
        raise ValueError(f"{source.name} is no table of these columns: {why}.") from None


def _parquet(source: Path, schema: pa.Schema) -> pa.Table:
    try:
        file = pyarrow.parquet.ParquetFile(source)
    except pa.ArrowInvalid:
        raise ValueError("it is not a Parquet file") from None
    if missing := _missing(file.schema_arrow.names, schema):
        raise ValueError(missing)
    return file.read()


def _csv(source: Path, schema: pa.Schema) -> pa.Table:
    nulls = {"null_values": [""], "strings_can_be_null": True, "quoted_strings_can_be_null": False}
    return pyarrow.csv.read_csv(
        source,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(column_types=schema, **nulls),
    )


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in (PARQUET, CSV):
        raise ValueError(f"{path.name} ends in neither {PARQUET} nor {CSV}.")
    return ending


@contextmanager
def written_whole(path: Path, *, makes_folder: bool = False) -> Iterator[Path]:
    """Yields a temporary path; if the block succeeds, its file replaces `path`, otherwise the old file stays.

    `makes_folder` creates a missing folder of `path`. Raises ReportRefused: there is no folder, or writing fails.
    """
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Tried first, so that a caller that writes for minutes fails at once.
        unfinished.touch()
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise ReportRefused(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
