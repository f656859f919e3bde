"""The column of dates of a whole file: one format holds for all of it, and none is guessed."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statements.cells import Cell, Wrong, shown, text_of
from workbench.analysis.statements.dates import MONTHS, DateFormat
from workbench.domain.moments import milliseconds, moment
from workbench.errors import StatementRefused

ABSENT: Final = np.iinfo(np.int64).min
"""Stands for a date that could not be read."""


class _Reading(NamedTuple):
    line: int
    text: str
    first: int
    second: int


class DateColumn:
    """Takes the dates of a file piece by piece; `decided` gives them all, read by the one format that fits.

    A text that no accepted format reads is a bad row. Among the others, a format that cannot read one
    that another reads is out.
    """

    def __init__(self, name: str, formats: Sequence[DateFormat]) -> None:
        self._name = name
        self._formats = tuple(formats)
        self._alive: dict[DateFormat, list[NDArray[np.int64]]] = {each: [] for each in formats}
        self._differ: dict[tuple[DateFormat, DateFormat], _Reading] = {}
        self._why_out: list[tuple[int, str, DateFormat]] = []

    def add(self, lines: Sequence[int], cells: Sequence[Cell]) -> list[tuple[int, Wrong]]:
        """Read a piece by every format still possible; the places of bad dates, and why."""
        texts = [cell if isinstance(cell, datetime) else text_of(cell).strip() for cell in cells]
        read = {each: _read(each, texts) for each in self._alive}
        anywhere = np.any([values != ABSENT for values in read.values()], axis=0)
        bad = [place for place in np.flatnonzero(~anywhere).tolist() if not self._read_by_one_that_is_out(texts[place])]
        is_bad = np.zeros(len(texts), dtype=bool)
        is_bad[bad] = True
        for each in [each for each, values in read.items() if np.any((values == ABSENT) & ~is_bad)]:
            place = int(np.flatnonzero((read[each] == ABSENT) & ~is_bad)[0])
            self._why_out.append((lines[place], str(texts[place]), each))
            del self._alive[each]
        if not self._alive:
            raise self._mixed()
        for each, parts in self._alive.items():
            parts.append(read[each])
        self._compare(lines, texts, read)
        return [(place, self._why_bad(texts[place])) for place in bad]

    def decided(self) -> tuple[NDArray[np.int64], DateFormat]:
        """Local milliseconds (ABSENT where a date is bad) and the format by which they were read.

        Raises StatementRefused: two formats read the whole column, with different results.
        """
        alive = list(self._alive)
        for first, second in itertools.combinations(alive, 2):
            if (first, second) in self._differ:
                raise self._ambiguous(first, second)
        parts = self._alive[alive[0]]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), alive[0]

    def _read_by_one_that_is_out(self, text: str | datetime) -> bool:
        return any(
            isinstance(text, str) and each.read(text) is not None for each in self._formats if each not in self._alive
        )

    def _compare(
        self, lines: Sequence[int], texts: list[str | datetime], read: dict[DateFormat, NDArray[np.int64]]
    ) -> None:
        for pair in itertools.combinations(self._alive, 2):
            if pair not in self._differ:
                places = np.flatnonzero(read[pair[0]] != read[pair[1]])
                if places.size:
                    at = int(places[0])
                    self._differ[pair] = _Reading(
                        lines[at], str(texts[at]), int(read[pair[0]][at]), int(read[pair[1]][at])
                    )

    def _why_bad(self, text: str | datetime) -> Wrong:
        if text == "":
            return Wrong("is missing")
        return Wrong(f"{shown(text)} is not a date written as {' or '.join(each.pattern for each in self._formats)}")

    def _ambiguous(self, first: DateFormat, second: DateFormat) -> StatementRefused:
        found = self._differ[first, second]
        readings = (_in_words(found.first), _in_words(found.second))
        return StatementRefused(
            f"{self._name}: {found.text} in line {found.line} is {readings[0]} or {readings[1]}, and no other date "
            f"of the file decides it.",
            hint=f"Pass date_format='{first.pattern}' or date_format='{second.pattern}'.",
            file=self._name,
            line=found.line,
            text=found.text,
            formats=(first.pattern, second.pattern),
            readings=readings,
        )

    def _mixed(self) -> StatementRefused:
        said = "; ".join(f"line {line} {text!r} is not {each.pattern}" for line, text, each in self._why_out)
        return StatementRefused(
            f"{self._name} has dates in more than one format: {said}.",
            hint="Pass the one that is meant, date_format='…'; rows in another are then kept as invalid.",
            file=self._name,
            formats=tuple(each.pattern for each in self._formats),
        )


def _read(by: DateFormat, texts: list[str | datetime]) -> NDArray[np.int64]:
    read = by.read
    values = (read(text) if type(text) is str else _native(text) for text in texts)
    return np.fromiter((ABSENT if value is None else value for value in values), dtype=np.int64, count=len(texts))


def _native(at: str | datetime) -> int:
    """A workbook's own moment, which has no zone either."""
    # Days are fractions in a workbook: the nearest millisecond is meant.
    return milliseconds(datetime.fromisoformat(str(at)).replace(tzinfo=UTC) + timedelta(microseconds=500))


def _in_words(at_ms: int) -> str:
    at = moment(at_ms)
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"
