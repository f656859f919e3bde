"""Books in CSV with all columns of LEDGER_MOVEMENT, read by Arrow at once where each cell means what it says."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.files import pages
from workbench.analysis.frames import arranged, typed
from workbench.analysis.phone_key import PhoneKey
from workbench.analysis.shapes import DIRECTIONS, LEDGER_MOVEMENT, MOVEMENT, STATEMENT_ROW, STATUSES, Columns
from workbench.analysis.statements.cells import LONGEST_KEY, MAX_DIGITS, text_of
from workbench.analysis.statements.fields import readers_of
from workbench.analysis.statements.layouts import LEDGER_FIELDS, Preamble
from workbench.analysis.statements.recognising import Found
from workbench.analysis.statements.statement import Whole, checked, newest_first

ALIKE: Final = {
    **{name: name for name in ("account", "key", "batch", "direction", "currency", "status", "phone")},
    **{name: name for name in LEDGER_FIELDS}, "moment": "occurred_at", "day": "business_date",
}  # fmt: skip
"""Field → the column of LEDGER_MOVEMENT that holds it; one of amounts is `amount_minor`, or `amount` in major units."""


class LedgerRows(NamedTuple):
    """A ledger as STATEMENT_ROW has it, the fields that only a ledger has, local times, and what opens the books."""

    rows: pd.DataFrame
    made: Mapping[str, list[Any]]
    local: Whole
    newest_first: bool
    openings: Mapping[Any, int] = {}
    """Account → the balance brought forward, where one is told."""


_WHOLE: Final[Columns] = {**LEDGER_MOVEMENT, "balance_minor": "Int64"}
_PLAIN: Final = r"^[^\s#\",\p{C}\p{Z}]([^#\",\p{C}\p{Zl}\p{Zp}]*[^\s#\",\p{C}\p{Z}])?$"
"""A text that is read as it stands, wherever it stands: no blanks round it, no error of a spreadsheet, no quotes."""
_LIKE_A_NUMBER: Final = r"^[0-9][.,][0-9]+[Ee]\+[0-9]+$"
_LIMIT: Final = 10**MAX_DIGITS - 1
_BETWEEN: Final[Mapping[str, tuple[int, int]]] = {
    "amount_minor": (1, _LIMIT),
    "fee_minor": (0, _LIMIT),
    "number": (1 - 10**18, 10**18 - 1),
    "balance_minor": (-_LIMIT, _LIMIT),
    **dict.fromkeys(("occurred_at", "business_date"), (1, 80_000)),
}
"""Column → the least and the most that is taken; of moments and days the number of the day."""
_ONE_OF: Final = {"direction": DIRECTIONS, "status": STATUSES}
_NEEDED: Final = {"account", "key", "currency", *_BETWEEN} - {"balance_minor"}


def plain_rows(content: Path | pa.Table, found: Found, key: PhoneKey) -> LedgerRows | None:
    """The rows of a CSV with all columns of LEDGER_MOVEMENT, which Arrow reads at once; the cells are not looked at.

    None where one of them may mean something else than it says: then each is read, and refused with its reason.
    """
    if not isinstance(content, Path) or sorted(map(text_of, found.header)) != sorted(_WHOLE) or not _is_plain(content):
        return None
    try:
        given = pa.concat_tables(pages(content, _WHOLE))
    except ValueError:
        return None
    if not all(_is_as_it_says(given[name], name) for name in _WHOLE):
        return None
    read = readers_of(found.layout, found.layout.currency, key)["phone"]
    phones = given["phone"].fill_null("").combine_chunks().dictionary_encode()
    seen = [read[number] for number in phones.dictionary.to_pylist()]
    columns = {name: pa.nulls(len(given)) for name in STATEMENT_ROW} | {name: given[name] for name in MOVEMENT}
    for place, name in enumerate(("phone", "phone_hash")):
        columns[name] = pa.array([each[place] for each in seen], pa.string()).take(phones.indices)
    columns |= {"line": pa.array(range(2, len(given) + 2)), "balance_minor": given["balance_minor"]}
    rows = arranged(columns, STATEMENT_ROW)
    frame, local = typed([rows], STATEMENT_ROW), given["occurred_at"].cast(pa.int64()).to_numpy()
    fields = {
        name: given[column].to_pylist() for name, column in ALIKE.items() if name in LEDGER_FIELDS and name != "day"
    }
    fields["day"] = given["business_date"].cast(pa.int32()).to_pylist()
    return LedgerRows(frame, fields, local, newest_first(local, partial(checked, frame, Preamble(), 0)))


def _is_plain(path: Path) -> bool:
    """Whether each quote of a CSV stands at an end of its cell, and no number is hexadecimal."""
    text = path.read_bytes()
    ends = (b',"', b'\n"', b'",', b'"\n', b'"\r')
    at_ends = sum(map(text.count, ends)) + text.startswith((b'"', BOM_UTF8 + b'"')) + text.endswith(b'"')
    return text.count(b'"') == at_ends and not text.count(b"0x") + text.count(b"0X")


def _is_as_it_says(column: pa.ChunkedArray, name: str) -> bool:
    """Whether every cell of a column means what it is written as."""
    if column.null_count and name in _NEEDED:
        return False
    if name in _ONE_OF:
        return {*pc.unique(column).to_pylist()} <= {*_ONE_OF[name]}
    if name in _BETWEEN:
        days = pa.types.is_temporal(column.type)
        ends = pc.min_max(column.cast(pa.date32()).cast(pa.int32()) if days else column).as_py()
        least, most = _BETWEEN[name]
        return ends["min"] is None or (ends["min"] >= least and ends["max"] <= most)
    pattern = "^[A-Z]{3}$" if name == "currency" else _PLAIN
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    is_plain = pc.and_not(*(pc.match_substring_regex(column, each) for each in (pattern, _LIKE_A_NUMBER)))
    return pc.all(is_plain).as_py() is not False and longest <= LONGEST_KEY
