"""Dates by explicit formats: one format holds for the whole column of a file, and none is guessed."""

import itertools
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statements.cells import Cell, Memo, Wrong, refused, shown, text_of
from workbench.domain.moments import milliseconds, moment
from workbench.errors import StatementRefused

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SHORT_MONTHS = tuple(name[:3] for name in MONTHS)
_MONTH_NUMBER = {
    **{name[:length].lower(): place for place, name in enumerate(MONTHS, 1) for length in (3, None)}, "sept": 9,
}  # fmt: skip
_NOON = 12
_CENTURY = 2000
_YEARS = range(1900, 3000)
_NANO = 9
_SECONDS = 3
DIRECTIVES: Final[dict[str, tuple[str, Callable[[datetime], str]]]] = {
    "%Y": ("[0-9]{4}", lambda at: f"{at.year:04}"),
    "%y": ("[0-9]{2}", lambda at: f"{at.year % 100:02}"),
    "%m": ("[0-9]{1,2}", lambda at: f"{at.month:02}"),
    "%b": ("[A-Za-z]{3,9}", lambda at: _SHORT_MONTHS[at.month - 1]),
    "%d": ("[0-9]{1,2}", lambda at: f"{at.day:02}"),
    "%H": ("[0-9]{1,2}", lambda at: f"{at.hour:02}"),
    "%I": ("[0-9]{1,2}", lambda at: f"{at.hour % _NOON or _NOON:02}"),
    "%M": ("[0-9]{2}", lambda at: f"{at.minute:02}"),
    "%S": ("[0-9]{2}", lambda at: f"{at.second:02}"),
    "%f": ("[0-9]{1,9}", lambda at: f"{at.microsecond // 1000:03}"),
    "%z": ("Z|z|[+-][0-9]{2}(?::?[0-9]{2})?", lambda at: f"{at:%z}"),
    "%p": ("[AaPp][Mm]", lambda at: "AM" if at.hour < _NOON else "PM"),
}
"""What a format is made of, how it is read and written; everything else in it stands for itself.

Days, months and hours may lack their zero, and a month may be short or long. Of a fraction of a second milliseconds
are kept. A moment with its zone is read as UTC.
"""
_PIECES = re.compile("%.|.", re.DOTALL)
_DAY_WITH_TIME = re.compile(r"(?P<day>[^HIMSpfz]*?)(?P<gap>[ T])(?P<time>%H[^ T]*|%I[^ T]*(?: ?%p)?)")


class DateFormat:
    """One way to write a day, or a day with its time: `DateFormat("%d/%m/%Y %H:%M:%S")`.

    Formats with the same `read` read each time once for all of them.
    """

    def __init__(self, pattern: str, read: dict[str, Memo[str, int | None]] | None = None) -> None:
        self.pattern = pattern
        _check(pattern)
        self.has_time = "%H" in pattern or "%I" in pattern
        self.has_zone = "%z" in pattern
        split = _DAY_WITH_TIME.fullmatch(pattern)
        self._gap = split["gap"] if split else ""
        self.is_parted = self._gap == " "
        self._days = Memo(_reader(split["day"] if split else pattern))
        self._blanks = split["time"].count(" ") if split else 0
        times = _reader(split["time"] if split else "")
        known = {} if read is None else read
        # Where a column of times has an empty cell, a blank ends the text: a day alone.
        of = Memo(times if self._gap != " " else lambda text: times(text) if text else 0)
        self._times = known.setdefault(self._gap + split["time"] if split else "", of)
        self._texts = Memo(_writer(split["day"] + self._gap if split else pattern))
        self._write_time = _writer(split["time"] if split else "")

    def read(self, text: str) -> int | None:
        """Milliseconds since 1970, without a zone as if in UTC; None where it is not of this format, or no day."""
        day, time = self._parts(text) if self._gap else (text, "")
        day_ms, time_ms = self._days[day], self._times[time]
        return None if day_ms is None or time_ms is None else day_ms + time_ms

    def _parts(self, text: str) -> tuple[str, str]:
        if not self._blanks:
            day, _, time = text.rpartition(self._gap)
            return day, time
        day, gap, time = text.rpartition(" ")
        before, earlier_gap, earlier = day.rpartition(self._gap)
        return (before, earlier + gap + time) if earlier_gap and time else (day, time) if not time else ("", "")

    def all_in(self, text: str) -> list[int | None]:
        """The days that stand in a text between others, such as `From 01-10-2026 To 31-10-2026`."""
        return [self.read(found[0]) for found in _regex(self.pattern).finditer(text)]

    def with_time(self, day: datetime, time: str) -> datetime | None:
        """A workbook's day with a time of this format; None where it is not of this format."""
        after = self._times[time] if self._gap else None
        return None if after is None else day + timedelta(milliseconds=after)

    def day_and_time(self, at: datetime) -> tuple[str, str]:
        """The texts of a local moment for two columns."""
        return self._parts(self.write(at))

    def write(self, at: datetime | date) -> str:
        """The text of a local moment or day; what is finer than the format is left out."""
        local = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)  # noqa: DTZ001  local by its meaning
        day = local.replace(hour=0, minute=0, second=0, microsecond=0) if self._gap else local
        return self._texts[day] + self._write_time(local)


def _check(pattern: str) -> None:
    pieces = [piece for piece in _PIECES.findall(pattern) if piece[0] == "%"]
    used = set(pieces)
    known = len(used) == len(pieces) and used <= DIRECTIVES.keys()
    if not (known and "%d" in used and {"%Y", "%y"} & used and {"%m", "%b"} & used):
        raise StatementRefused(
            f"{pattern!r} is not a date format: it names a day, a month and a year, each once, "
            f"by {' '.join(DIRECTIVES)}.",
            format=pattern,
            directives=tuple(DIRECTIVES),
        )


def _reader(pattern: str) -> Callable[[str], int | None]:
    """A function from text to milliseconds; 0 for a part that the pattern does not have."""
    match = _regex(pattern).fullmatch
    return lambda text: _milliseconds(found.groupdict()) if (found := match(text)) else None


def _regex(pattern: str) -> re.Pattern[str]:
    parts = (
        f"(?P<{piece[1]}>{DIRECTIVES[piece][0]})" if piece[0] == "%" else re.escape(piece)
        for piece in _PIECES.findall(pattern)
    )
    return re.compile("".join(parts))


def _writer(pattern: str) -> Callable[[datetime], str]:
    parts = [(piece, DIRECTIVES[piece][1] if piece[0] == "%" else None) for piece in _PIECES.findall(pattern)]
    return lambda at: "".join([write(at) if write else piece for piece, write in parts])


def _milliseconds(parts: dict[str, str]) -> int | None:
    """None for an hour or a day that there is not."""
    hour, year, month, day = int(parts.get("H", 0)), 1970, 1, 1
    if "I" in parts:
        hour = int(parts["I"])
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if parts.get("p", "am").lower() == "pm" else 0)
    if "d" in parts:
        year = int(parts["Y"]) if "Y" in parts else _CENTURY + int(parts["y"])
        if year not in _YEARS:
            return None
        month = int(parts["m"]) if "m" in parts else _MONTH_NUMBER.get(parts["b"].lower(), 0)
        day = int(parts["d"])
    fraction = int(parts["f"].ljust(_NANO, "0")[:3]) if "f" in parts else 0
    try:
        zone = _zone(parts["z"]) if "z" in parts else UTC
        at = datetime(year, month, day, hour, int(parts.get("M", 0)), int(parts.get("S", 0)), tzinfo=zone)
    except ValueError:
        return None
    return milliseconds(at) + fraction


def _zone(text: str) -> timezone:
    """Raises ValueError: a zone of a day or more."""
    hours, minutes = (0, 0) if text in "Zz" else (int(text[1:3]), int(text[3:].strip(":") or 0))
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))


ABSENT: Final = np.iinfo(np.int64).min
"""Stands for a date that could not be read."""


class DateColumn:
    """Takes the dates of a file piece by piece; `decided` gives them all, read by the one format that fits.

    A text that no accepted format reads is a bad row. Among the others, a format that cannot read one
    that another reads is out.
    """

    def __init__(self, name: str, formats: Sequence[DateFormat]) -> None:
        self._name = name
        self._formats = tuple(formats)
        self._alive: dict[DateFormat, list[NDArray[np.int64]]] = {each: [] for each in formats}
        self._differ: dict[tuple[DateFormat, DateFormat], tuple[int, str, list[str]]] = {}
        """The first line of which two formats make different days: its number, its text, and both days in words."""
        self._why_out: list[str] = []
        self.without_time: set[int] = set()
        """The lines of which a column of times says nothing: their day is no moment."""

    def add(
        self, lines: Sequence[int], cells: Sequence[Cell], times: Sequence[Cell] | None = None
    ) -> list[tuple[int, Wrong]]:
        """Read a piece by every format still possible; the places of bad dates, and why. `times` stand beside days."""
        texts = [cell if isinstance(cell, datetime) else text_of(cell).strip() for cell in cells]
        if times is not None:
            after = [text_of(cell).strip() for cell in times]
            self.without_time.update(line for line, text in zip(lines, after, strict=True) if not text)
            texts = [self._joined(*each) for each in zip(texts, after, strict=True)]
        read = {each: _read(each, texts) for each in self._alive}
        is_date = np.any([values != ABSENT for values in read.values()], axis=0)
        for place in np.flatnonzero(~is_date).tolist():
            # Of a format that is out, too.
            is_date[place] = any(each.read(str(texts[place])) is not None for each in self._formats)
        for each, values in read.items():
            unread = is_date & (values == ABSENT)
            if unread.any():
                place = int(np.argmax(unread))
                self._why_out.append(f"line {lines[place]} {str(texts[place])!r} is not {each.pattern}")
                del self._alive[each]
            else:
                self._alive[each].append(values)
        if not self._alive:
            raise refused(
                self._name,
                f"has dates in more than one format: {'; '.join(self._why_out)}.",
                hint="Pass the one that is meant, date_format='…'; rows in another are then kept as invalid.",
                formats=tuple(each.pattern for each in self._formats),
            )
        for pair in itertools.combinations(self._alive, 2):
            differs = np.not_equal(*(read[each] for each in pair))
            if pair not in self._differ and differs.any():
                at = int(np.argmax(differs))
                self._differ[pair] = lines[at], str(texts[at]), [_in_words(int(read[each][at])) for each in pair]
        why = f"is not a date written as {' or '.join(each.pattern for each in self._formats)}"
        bad = np.flatnonzero(~is_date).tolist()
        return [(place, Wrong(f"{shown(texts[place])} {why}" if texts[place] else "is missing")) for place in bad]

    def _joined(self, day: str | datetime, time: str) -> str | datetime:
        if isinstance(day, str):
            return day and f"{day} {time}"
        return next(filter(None, (each.with_time(day, time) for each in self._formats)), f"{day:%Y-%m-%d} {time}")

    def decided(self) -> tuple[NDArray[np.int64], DateFormat]:
        """Local milliseconds (ABSENT where a date is bad) and the format by which they were read.

        Raises StatementRefused: two formats read the whole column, with different results.
        """
        for pair in filter(self._differ.__contains__, itertools.combinations(self._alive, 2)):
            line, text, days = self._differ[pair]
            patterns = tuple(each.pattern for each in pair)
            facts = {"file": self._name, "line": line, "text": text, "formats": patterns, "readings": tuple(days)}
            hint = f"Pass date_format='{patterns[0]}' or date_format='{patterns[1]}'."
            why = f"{text} in line {line} is {' or '.join(days)}, and no other date of the file decides it."
            raise StatementRefused(f"{self._name}: {why}", hint=hint, **facts)
        chosen, parts = next(iter(self._alive.items()))
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), chosen


def _read(by: DateFormat, texts: list[str | datetime]) -> NDArray[np.int64]:
    # A workbook's own moment has no zone either, and may be finer than ours: the nearest millisecond is meant.
    read, half = by.read, timedelta(microseconds=500)
    values = (read(at) if isinstance(at, str) else _unzoned(at + half, by) for at in texts)
    return np.fromiter((ABSENT if value is None else value for value in values), dtype=np.int64, count=len(texts))


def _unzoned(at: datetime, by: DateFormat) -> int | None:
    return None if by.has_zone else milliseconds(at.replace(tzinfo=UTC))


def _in_words(at_ms: int) -> str:
    at = moment(at_ms)
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"
