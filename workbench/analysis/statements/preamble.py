"""Reads the labels in the lines above a header: account, currency, period, opening and closing balance."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Final

from workbench.analysis.statements.cells import (
    Amounts,
    Cell,
    Line,
    Wrong,
    currencies_named,
    file_refusal,
    quoted,
    text_of,
)
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import CODE, PREAMBLE_FIELDS, Layout, Preamble, heading_key
from workbench.analysis.statements.recognising import RecognisedFile
from workbench.domain.moments import moment
from workbench.domain.money import ISO_4217
from workbench.errors import StatementRefused

_ENDS: Final = {"first": 0, "last": -1}
"""Field → the index of its day in a value with both days of the period."""
_LACKING: Final = "Pass {0}='…', or write {0} = \"…\" above [columns] in its layout: a draft has the line as `# ? {0}`."
_WANTED: Final = {"currency": "a currency's code", "opening": "an amount", "closing": "an amount"}


def declared(
    file: RecognisedFile, account: str | None, currency: str | None, *, by_row: bool = False
) -> tuple[Preamble, int, str, str]:
    """The values above the header, the line of the closing balance (0 if none), the account, and the currency.

    `account` and `currency` are the caller's. With `by_row`, each row names its account, and the returned account is
    empty. A line has labels, each before its value: `Label,value`, `Label:,value` or `Label: value`. Raises
    StatementRefused: a value that is no day, code or amount; a label with two different values; a balance in another
    currency than the file; a period that ends before it begins; or an account or currency that differs from the
    caller's.
    """
    name, layout = file.cell_rows.name, file.layout
    passed = currency and currency.strip().upper()
    if passed and not CODE.fullmatch(passed):
        raise StatementRefused(f"A currency is a code of three letters, such as ZMW, not {currency!r}.")
    preamble, closing_line = _preamble(name, layout, file.above, passed)
    if by_row and account:
        raise file_refusal(name, f"names the account of each row, but {account!r} was passed too.")
    account = "" if by_row else _agreed(name, "account", account, preamble.account, layout.account)
    return preamble, closing_line, account, _agreed(name, "currency", passed, preamble.currency, layout.currency)


def _agreed(name: str, setting: str, passed: str | None, in_file: str | None, otherwise: str | None) -> str:
    """The caller's value `passed`, else the file's `in_file`, else the layout's `otherwise`; each may be None.

    `setting` names the value in messages, and `name` the file. Raises StatementRefused: the values of the caller and
    the file differ, or all are None.
    """
    if passed and in_file and passed != in_file:
        text = f"declares the {setting} {in_file!r}, but {passed!r} was passed."
        raise file_refusal(name, text, passed=passed, found=in_file)
    value = passed or in_file or otherwise
    if value is None:
        raise file_refusal(name, f"does not name its {setting}.", hint=_LACKING.format(setting), lacks=setting)
    return value


def _preamble(name: str, layout: Layout, above: Sequence[Line], currency: str | None) -> tuple[Preamble, int]:
    """The values of the labels above the header, and the line of the closing balance (0 if none).

    `currency` is the caller's; if None, the currency of the file or the layout applies.
    """
    labels = {field: heading_key(label) for field, label in layout.preamble.items()}
    values: dict[str, tuple[int, Any]] = {}
    currencies: set[str] = set()
    labelled = [
        (line, field, label, value)
        for line, cells in above
        for label, value in pairs_of(cells)
        for field in labels
        if labels[field] == heading_key(label) and value != ""
    ]
    # The currency first: the balances are read by its decimals, and may stand above it.
    in_file = next((code for _, field, _, value in labelled if field == "currency" and (code := code_in(value))), None)
    of_file = currency or in_file or layout.currency
    readers = _readers(layout, of_file, [(field, value) for _, field, _, value in labelled if field in _ENDS])
    for line, field, label, value in labelled:
        read = readers[field](value)
        if read is None or isinstance(read, Wrong):
            written = " or ".join(layout.preamble_dates)
            why = read or f"{quoted(value)} is not {_WANTED.get(field, f'a day written as {written}')}"
            raise StatementRefused(f"{name}, line {line}: {label} {why}.", file=name, line=line, label=label)
        currencies.update(currencies_named(value) if field in ("opening", "closing") else ())
        if values.setdefault(field, (line, read))[1] != read:
            raise file_refusal(name, f"has two values for {label}, the other in line {line}.", line=line)
    read_all = Preamble(*(values.get(field, (0, None))[1] for field in PREAMBLE_FIELDS))
    if currencies and of_file not in currencies:
        named = " or ".join(sorted(currencies))
        raise file_refusal(name, f"has balances in {named} above its header, and is in {of_file}.")
    if read_all.first and read_all.last and read_all.first > read_all.last:
        text = f"has a period that ends on {read_all.last}, before it begins on {read_all.first}."
        raise file_refusal(name, text, hint=f"Days are read as {' or '.join(layout.preamble_dates)}.")
    return read_all, values.get("closing", (0, None))[0]


def pairs_of(cells: list[Cell]) -> Iterator[tuple[str, Cell]]:
    """Yields the labels in a line, each with its value: in one cell, split by a colon, or in two cells."""
    filled = [cell for cell in cells if cell != ""]
    if len(filled) == 1:
        label, _, value = text_of(filled[0]).partition(":")
        yield label, value.strip()
    for heading, cell in zip(filled[::2], filled[1::2], strict=False):
        yield text_of(heading).strip().removesuffix(":"), cell


def code_in(cell: Cell) -> str | None:
    """The code of a currency in a cell above the header; text may follow a known code, as in `ZMW (Kwacha)`."""
    text = text_of(cell).strip().upper()
    code = text[:3]
    return code if CODE.fullmatch(text) or (code in ISO_4217 and not text[3:4].isalnum()) else None


def _readers(layout: Layout, currency: str, ends: Sequence[tuple[str, Cell]]) -> dict[str, Callable[[Cell], Any]]:
    """Field above the header → the function that reads its value.

    `ends` has (field, cell) for the first and the last day of the period. Only formats that read both cells are used,
    or all formats if there are none.
    """
    amounts = Amounts(layout.decimal, layout.thousands, currency, is_minor=layout.is_minor)
    is_one_cell = layout.preamble.get("first") == layout.preamble.get("last")

    def read(days: DateFormat, field: str, cell: Cell) -> date | None:
        if isinstance(cell, datetime):
            return cell.date()
        text = text_of(cell).strip()
        at = days.all_in(text) if is_one_cell else [days.read(text)]
        end = at[_ENDS[field]] if at else None
        return None if end is None else moment(end).date()

    formats = [*map(DateFormat, layout.preamble_dates)]
    formats = [date_format for date_format in formats if all(read(date_format, *end) for end in ends)] or formats

    def day(field: str, cell: Cell) -> date | Wrong | None:
        days = sorted({at for date_format in formats if (at := read(date_format, field, cell))})
        if len(days) > 1:
            return Wrong(f"{quoted(cell)} is {' or '.join(map(str, days))}: keep one of them in preamble_date")
        return days[0] if days else None

    return {
        "account": lambda cell: text_of(cell).strip(),
        "currency": code_in,
        **{field: partial(day, field) for field in _ENDS},
        **dict.fromkeys(("opening", "closing"), amounts.read),
    }
