"""Tables to files and back without loss: Parquet, and CSV that tells an empty text from none."""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from workbench.analysis.csv_faults import fault_of, missing_columns
from workbench.analysis.frames import schema_of, typed, untyped
from workbench.analysis.shapes import Columns

PARQUET, CSV = ".parquet", ".csv"


def write(rows: pd.DataFrame | Iterable[pa.Table], path: Path | str, columns: Columns, *, marked: bool = False) -> None:
    """Write a table of these columns, or Arrow tables one after the other, by the path's ending.

    In CSV every text stands in quotes and what is empty in none, amounts are whole minor units, moments UTC;
    `marked` files begin with the mark of UTF-8, without which spreadsheets take them for their own code page.
    Raises ValueError: another ending than .parquet or .csv, or a column that is missing.
    """
    target = Path(path)
    tables = [untyped(rows, columns)] if isinstance(rows, pd.DataFrame) else rows
    schema = schema_of(columns)
    if _ending(target) == PARQUET:
        with pyarrow.parquet.ParquetWriter(target, schema) as parquet:
            for each in tables:
                parquet.write_table(each)
        return
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    with pa.OSFile(str(target), "wb") as file:
        file.write(codecs.BOM_UTF8 if marked else b"")
        with pyarrow.csv.CSVWriter(file, schema, write_options=options) as text:
            for each in tables:
                text.write_table(each)


def read(path: Path | str, columns: Columns) -> pd.DataFrame:
    """A table of these columns as it was written, with its types.

    Raises ValueError: another ending than .parquet or .csv, or the file is no table of these columns.
    """
    return typed(pages(path, columns), columns)


def pages(path: Path | str, columns: Columns) -> Iterator[pa.Table]:
    """The same piece by piece, as Arrow tables, for a table that memory does not hold."""
    source, schema = Path(path), schema_of(columns)
    opened = _parquet if _ending(source) == PARQUET else _csv
    try:
        for batch in opened(source, schema):
            yield pa.Table.from_batches([batch]).select(schema.names).cast(schema)
    except (KeyError, ValueError) as error:
        why = (fault_of(source, schema) if opened is _csv else None) or str(error).rstrip(".")
        raise ValueError(f"{source.name} is no table of these columns: {why}.") from None


def _parquet(source: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    file = pyarrow.parquet.ParquetFile(source)
    if missing := missing_columns(file.schema_arrow.names, schema):
        raise ValueError(missing)
    yield from file.iter_batches()


def _csv(source: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    reader = pyarrow.csv.open_csv(
        source,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    yield from reader


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in (PARQUET, CSV):
        raise ValueError(f"{path.name} ends in neither {PARQUET} nor {CSV}.")
    return ending
