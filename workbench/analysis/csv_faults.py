"""Why a CSV file is no table of some columns, in words for the person who wrote it: the first fault, and its line."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

_MOST_SHOWN: Final = 40
_OTHER_DELIMITERS: Final = {";": "semicolons", "\t": "tabs", "|": "bars"}


_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WRITTEN: Final[Mapping[pa.DataType, tuple[str, str]]] = {
    pa.int64(): ("-?[0-9]{1,19}", "a whole number without separators; an amount is in ngwee, K1,234.50 as 123450"),
    pa.date32(): (_DAY, "a day written as 2026-01-31"),
    pa.timestamp("ms", "UTC"): (
        rf"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,3}})?)?(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)",
        "a moment with its zone, such as 2026-01-31T08:00:00Z or 2026-01-31T10:00:00+02:00",
    ),
}
"""How the cells of a type are written, and what is told where one is not."""


def fault_of(path: Path, schema: pa.Schema) -> str | None:
    """The first fault of a file that Arrow did not take; None where it is not seen here either."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            return _fault(csv.reader(handle), schema)
    except UnicodeDecodeError:
        return "it is not text in UTF-8"
    except csv.Error as wrong:
        return str(wrong)


def missing_columns(found: Sequence[str], schema: pa.Schema) -> str | None:
    """Words for the columns that are not there, and for those that are; None where none is missing."""
    missing = [name for name in schema.names if name not in found]
    if not missing:
        return None
    return f"it has no column {', '.join(missing)}; it has {_listed(found)}"


def _fault(rows: Iterator[list[str]], schema: pa.Schema) -> str | None:
    header = next(rows, None)
    if not header:
        return "it is empty"
    if len(header) == 1 and (mark := next((each for each in _OTHER_DELIMITERS if each in header[0]), None)):
        return f"its cells are parted by {_OTHER_DELIMITERS[mark]}, and by commas they must be"
    if missing := missing_columns(header, schema):
        return missing
    places = {name: header.index(name) for name in schema.names}
    begins = 2
    for row in rows:
        if row and len(row) != len(header):
            return f"line {begins} has {len(row)} cells and the header {len(header)}"
        for field in schema if row else ():
            if why := _why_not(row[places[field.name]], field):
                return f"line {begins}, {field.name}: {why}"
        begins = rows.line_num + 1  # type: ignore[attr-defined]  # the reader of the csv module has it
    return None


def _why_not(cell: str, field: pa.Field) -> str | None:
    written = _WRITTEN.get(field.type)
    if written is None or (not cell and field.nullable):
        return None
    pattern, wanted = written
    return None if re.fullmatch(pattern, cell) else f"{cell[:_MOST_SHOWN]!r} is not {wanted}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:_MOST_SHOWN] for name in names[:_MOST_SHOWN])
