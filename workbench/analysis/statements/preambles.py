"""What a file says of itself above its header: labels and values."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from workbench.analysis.statements.cells import Amounts, Cell, Wrong, shown, text_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.grids import Line
from workbench.analysis.statements.layouts import Layout, heading_key
from workbench.domain.moments import moment
from workbench.errors import StatementRefused


class Declared(NamedTuple):
    """None for what the file does not say; balances in minor units, the closing one with its line."""

    account: str | None = None
    currency: str | None = None
    first: date | None = None
    last: date | None = None
    opening: int | None = None
    closing: tuple[int, int] | None = None


def declared_in(name: str, layout: Layout, above: Sequence[Line]) -> Declared:
    """The fields of a preamble: `Label,value`, `Label:,value` or `Label: value`.

    Raises StatementRefused: a value that is no day or amount, a label twice with different values, or a period
    that ends before it begins.
    """
    labels = {heading_key(label): field for field, label in layout.preamble.items()}
    readers = _readers(layout)
    made: dict[str, Any] = {}
    for line, cells in above:
        label, value = _pair(cells)
        field = labels.get(heading_key(label))
        if field is None or value == "":
            continue
        read = readers[field](value)
        if read is None or isinstance(read, Wrong):
            why = read or f"{shown(value)} is not a day written as {layout.preamble_date}"
            raise StatementRefused(f"{name}, line {line}: {label} {why}.", file=name, line=line, label=label)
        if made.setdefault(field, (line, read))[1] != read:
            raise StatementRefused(
                f"{name} has two values for {label}, the other in line {line}.", file=name, line=line
            )
    values = {field: found if field == "closing" else found[1] for field, found in made.items()}
    declared = Declared(**values)
    if declared.first and declared.last and declared.first > declared.last:
        raise StatementRefused(
            f"{name} says that its period ends on {declared.last}, before it begins on {declared.first}.",
            hint=f"Days are read as {layout.preamble_date}.",
            file=name,
        )
    return declared


def _pair(cells: list[Cell]) -> tuple[str, Cell]:
    filled = [cell for cell in cells if cell != ""]
    if len(filled) == 1:
        label, _, value = text_of(filled[0]).partition(":")
        return label, value.strip()
    return text_of(filled[0]).strip().removesuffix(":"), filled[1]


def _readers(layout: Layout) -> dict[str, Callable[[Cell], Any]]:
    days, amounts = DateFormat(layout.preamble_date), Amounts(layout.decimal, layout.thousands)

    def day(cell: Cell) -> date | None:
        if isinstance(cell, datetime):
            return cell.date()
        at = None if isinstance(cell, Decimal) else days.read(cell.strip())
        return None if at is None else moment(at).date()

    def text(cell: Cell) -> str:
        return text_of(cell).strip()

    return {
        "account": text,
        "currency": lambda cell: text(cell).upper(),
        "first": day,
        "last": day,
        "opening": amounts.read,
        "closing": amounts.read,
    }
