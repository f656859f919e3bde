"""Dates by explicit formats: the pattern is data, its reading and writing follow from it.

`strptime` reads month names by the machine's locale and takes 5 µs a text; these formats read English
names and remember the days and times that they have seen.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Final, NamedTuple

from workbench.analysis.statements.cells import Memo
from workbench.domain.moments import milliseconds
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
        day = _day(parts) if "d" in parts else date(1970, 1, 1)
        time = (hour, int(parts.get("M", 0)), int(parts.get("S", 0)))
        return milliseconds(datetime(day.year, day.month, day.day, *time, tzinfo=UTC))
    except ValueError:
        return None


def _day(parts: dict[str, str]) -> date:
    """Raises ValueError: no such day."""
    year = int(parts["Y"]) if "Y" in parts else _CENTURY + int(parts["y"])
    month = int(parts["m"]) if "m" in parts else _MONTH_NUMBER.get(parts["b"].lower(), 0)
    return date(year, month, int(parts["d"]))
