"""How the cells of each field are read in one layout: functions from a cell to a value, or words why not."""

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from typing import Any, Final

from workbench.analysis.statements.cells import Amounts, Cell, Memo, Wrong, error_in, shown, text_of
from workbench.analysis.statements.layouts import Layout, heading_key
from workbench.domain.phones import masked_number

_CODE: Final = re.compile("[A-Z]{3}")


def readers_of(layout: Layout, currency: str) -> dict[str, Memo[Cell, Any]]:
    """Name → reader, each remembering what it has read."""
    amounts = Amounts(layout.decimal, layout.thousands)
    not_negative = _checked(amounts, lambda minor: minor < 0, "negative", empty=0)
    own = re.compile(translate(layout.own))
    return {
        "amount": _sound(_checked(amounts, lambda minor: minor <= 0, "not more than zero")),
        "signed": _sound(_checked(amounts, lambda minor: minor == 0, "zero")),
        "half": _sound(not_negative),
        "fee": _sound(not_negative),
        "balance": _sound(amounts.read),
        "status": _sound(_words(layout.statuses)),
        "direction": _sound(_words(layout.directions)),
        "type": _sound(_words(layout.types, otherwise="other")),
        "currency": _sound(lambda cell: _currency(cell, currency)),
        "phone": Memo(_phone_in(layout.party)),
        "own": Memo(lambda cell: bool(layout.own and own.fullmatch(text_of(cell).strip()))),
    }


def _sound(read: Callable[[Cell], Any]) -> Memo[Cell, Any]:
    """A reader that takes no error of a spreadsheet for a value."""

    def sound(cell: Cell) -> Any:  # noqa: ANN401  what the reader gives
        return error_in(cell) or read(cell)

    return Memo(sound)


def _checked(
    amounts: Amounts, is_wrong: Callable[[int], bool], words: str, *, empty: int | None = None
) -> Callable[[Cell], int | Wrong]:
    """Amounts of which not every one is right; an empty cell means `empty`, or is wrong."""

    def read(cell: Cell) -> int | Wrong:
        minor = amounts.read(cell)
        if minor is None:
            return Wrong("is missing") if empty is None else empty
        if isinstance(minor, Wrong):
            return minor
        return Wrong(f"{shown(cell)} is {words}") if is_wrong(minor) else minor

    return read


def _words(words: Mapping[str, str], *, otherwise: str | None = None) -> Callable[[Cell], str | Wrong]:
    """Words as they are compared; one that is not declared means `otherwise`, or is wrong."""
    values = {heading_key(word): value for word, value in words.items()}

    def read(cell: Cell) -> str | Wrong:
        text = text_of(cell)
        value = values.get(heading_key(text), otherwise)
        if value is None:
            return Wrong(f"{shown(text)} is none of {', '.join(words)}" if text.strip() else "is missing")
        return value

    return read


def _currency(cell: Cell, otherwise: str) -> str | Wrong:
    """Any code of three letters: whether it is the account's is for the reconciliation to say."""
    text = text_of(cell).strip().upper() or otherwise
    return text if _CODE.fullmatch(text) else Wrong(f"{shown(cell)} is not a currency")


def _phone_in(party: str) -> Callable[[Cell], str | None]:
    """The masked number in a party as the layout writes it, or bare."""
    before, after = party.split("{phone}", 1)

    def read(cell: Cell) -> str | None:
        text = text_of(cell).strip()
        return masked_number(text.removeprefix(before).removesuffix(after))

    return read
