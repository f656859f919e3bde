"""Dates by explicit formats: one format holds for the whole column of a file, and none is guessed."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statements.cells import Cell, Memo, Wrong, shown, text_of
from workbench.domain.moments import milliseconds, moment
from workbench.errors import StatementRefused

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SHORT_MONTHS = tuple(name[:3] for name in MONTHS)
_MONTH_NUMBER = {name.lower(): place for place, name in enumerate(_SHORT_MONTHS, 1)}
_NOON = 12
_CENTURY = 2000


class _Directive(NamedTuple):
    regex: str
    write: Callable[[datetime], str]


DIRECTIVES: Final = {
    "%Y": _Directive("(?P<Y>[0-9]{4})", lambda at: f"{at.year:04}"),
    "%y": _Directive("(?P<y>[0-9]{2})", lambda at: f"{at.year % 100:02}"),
    "%m": _Directive("(?P<m>[0-9]{1,2})", lambda at: f"{at.month:02}"),
    "%b": _Directive("(?P<b>[A-Za-z]{3})", lambda at: _SHORT_MONTHS[at.month - 1]),
    "%d": _Directive("(?P<d>[0-9]{1,2})", lambda at: f"{at.day:02}"),
    "%H": _Directive("(?P<H>[0-9]{1,2})", lambda at: f"{at.hour:02}"),
    "%I": _Directive("(?P<I>[0-9]{1,2})", lambda at: f"{at.hour % _NOON or _NOON:02}"),
    "%M": _Directive("(?P<M>[0-9]{2})", lambda at: f"{at.minute:02}"),
    "%S": _Directive("(?P<S>[0-9]{2})", lambda at: f"{at.second:02}"),
    "%p": _Directive("(?P<p>[AaPp][Mm])", lambda at: "AM" if at.hour < _NOON else "PM"),
}
"""What a format is made of; everything else in it stands for itself. Days, months and hours may lack their zero."""
_PIECE = re.compile("%.|.", re.DOTALL)
_DAY_WITH_TIME = re.compile(r"(?P<day>[^HIMSp]*?)(?P<gap>[ T])(?P<time>%H[^ T]*)")


class DateFormat:
    """One way to write a day, or a day with its time: `DateFormat("%d/%m/%Y %H:%M:%S")`."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        _check(pattern)
        self.has_time = "%H" in pattern or "%I" in pattern
        split = _DAY_WITH_TIME.fullmatch(pattern)
        self._gap = split["gap"] if split else ""
        self._days = Memo(_reader(split["day"] if split else pattern))
        self._times = Memo(_reader(split["time"] if split else ""))
        self._texts = Memo(_writer(split["day"] + self._gap if split else pattern))
        self._write_time = _writer(split["time"] if split else "")

    def read(self, text: str) -> int | None:
        """Milliseconds since 1970 as if the text were UTC; None where it is not of this format, or no day."""
        if not self._gap:
            return self._days[text]
        day, _, time = text.rpartition(self._gap)
        day_ms, time_ms = self._days[day], self._times[time]
        return None if day_ms is None or time_ms is None else day_ms + time_ms

    def write(self, at: datetime | date) -> str:
        """The text of a local moment or day; what is finer than the format is left out."""
        local = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)  # noqa: DTZ001  local by its meaning
        day = local.replace(hour=0, minute=0, second=0, microsecond=0) if self._gap else local
        return self._texts[day] + self._write_time(local)

    def __repr__(self) -> str:
        return f"DateFormat({self.pattern!r})"


def _parts(pattern: str) -> Iterator[str]:
    return (found[0] for found in _PIECE.finditer(pattern))


def _check(pattern: str) -> None:
    used = [piece for piece in _parts(pattern) if piece[0] == "%"]
    unknown = [piece for piece in used if piece not in DIRECTIVES]
    twice = len(used) != len(set(used))
    if unknown or twice or not {"%d"} < set(used) or not {"%Y", "%y"} & set(used) or not {"%m", "%b"} & set(used):
        raise StatementRefused(
            f"{pattern!r} is not a date format: it names a day, a month and a year, each once, "
            f"by {' '.join(DIRECTIVES)}.",
            format=pattern,
            directives=tuple(DIRECTIVES),
        )


def _reader(pattern: str) -> Callable[[str], int | None]:
    """A function from text to milliseconds; 0 for a part that the pattern does not have."""
    regex = re.compile(
        "".join(DIRECTIVES[piece].regex if piece[0] == "%" else re.escape(piece) for piece in _parts(pattern))
    )

    def read(text: str) -> int | None:
        found = regex.fullmatch(text)
        return _milliseconds(found.groupdict()) if found else None

    return read


def _writer(pattern: str) -> Callable[[datetime], str]:
    parts = [(piece, DIRECTIVES[piece].write if piece[0] == "%" else None) for piece in _parts(pattern)]
    return lambda at: "".join([write(at) if write else piece for piece, write in parts])


def _milliseconds(parts: dict[str, str]) -> int | None:
    hour = int(parts.get("H", 0))
    if "I" in parts:
        hour = int(parts["I"])
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if parts.get("p", "am").lower() == "pm" else 0)
    try:
        day = _date_of(parts) if "d" in parts else date(1970, 1, 1)
        time = (hour, int(parts.get("M", 0)), int(parts.get("S", 0)))
        return milliseconds(datetime(day.year, day.month, day.day, *time, tzinfo=UTC))
    except ValueError:
        return None


def _date_of(parts: dict[str, str]) -> date:
    """Raises ValueError: no such day."""
    year = int(parts["Y"]) if "Y" in parts else _CENTURY + int(parts["y"])
    month = int(parts["m"]) if "m" in parts else _MONTH_NUMBER.get(parts["b"].lower(), 0)
    return date(year, month, int(parts["d"]))


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
