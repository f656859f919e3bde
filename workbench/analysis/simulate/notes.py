"""What operators know and the ledger does not: written down while a month is driven, read when statements are."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, NamedTuple, Self

from workbench.domain.phones import OPERATORS


class StatementInfo(NamedTuple):
    """A payment that failed, or whose money moved without a word: `fate` is our code for it."""

    at_ms: int
    number: int
    operator: str
    amount_minor: int
    phone: str
    scenario: str


class Notes:
    """Operator by operator in time order, in files that vanish, so that memory does not grow with them."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        self._files: dict[str, IO[str]] = {
            operator: self._closing.enter_context(TemporaryFile("w+", encoding="utf-8"))  # noqa: SIM115  closed with the notes
            for operator in OPERATORS
        }

    def add(self, reported: StatementInfo) -> None:
        """Write one down."""
        self._files[reported.operator].write(json.dumps(reported) + "\n")

    def of(self, operator: str) -> Iterator[StatementInfo]:
        """Those of an operator, from the first; one reader at a time."""
        file = self._files.get(operator)
        if file is not None:
            file.seek(0)
            for line in file:
                yield StatementInfo(*json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()
