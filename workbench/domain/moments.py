"""Moments: integers of milliseconds since 1970, in UTC, and their formats for people and for requests."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from workbench.errors import invalid

LUSAKA_MS: Final = 7_200_000
"""The milliseconds by which Lusaka is ahead of UTC."""
LUSAKA = timezone(timedelta(milliseconds=LUSAKA_MS), "CAT")
"""Africa/Lusaka has no daylight-saving time, so a fixed offset is enough."""

DAY_MS: Final = 86_400_000

START = datetime(2026, 1, 5, 6, tzinfo=UTC)
"""The first moment of a manual clock: a Monday, 08:00 in Lusaka."""

RFC3339: Final = re.compile(
    r"((19|20)[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|1[0-9]|2[0-8]))|(19(0[48]|[2468][048]|[13579][26])|20([02468][048]|[13579][26]))-02-29)"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,3})?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])"
)
"""Matches a moment in a request (RFC 3339) in the years 1900 to 2099."""


def milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970 of an aware datetime."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def moment(at_ms: int) -> datetime:
    """The aware UTC datetime of `at_ms` milliseconds since 1970."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)


def milliseconds_in(text: str, *, param: str) -> int:
    """Milliseconds since 1970 of a moment such as `2026-01-05T08:00:00+02:00` or `2026-01-05T06:00:00.123Z`.

    Raises InvalidRequest, with `param` as the field: no zone, no seconds, more than three decimals, or no such day.
    """
    try:
        return milliseconds(datetime.fromisoformat(text if RFC3339.fullmatch(text) else ""))
    except ValueError:
        message = f"{param} is a moment with its zone, such as 2026-01-05T06:00:00.000Z, not {text[:40]!r}."
        raise invalid(message, param) from None


@lru_cache(4096)  # in one answer and its event most moments are the same
def rfc3339(at_ms: int) -> str:
    """The moment in UTC with milliseconds and `Z`: `2026-01-05T06:00:00.000Z`."""
    return moment(at_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def business_date(at_ms: int) -> str:
    """The day of a moment in Lusaka, ISO 8601: business days begin at 22:00 UTC."""
    return moment(at_ms).astimezone(LUSAKA).date().isoformat()


def day_start_ms(at_ms: int, *, days_on: int = 0) -> int:
    """Midnight in Lusaka at the start of a moment's business day, or `days_on` days later, in ms since 1970."""
    return ((at_ms + LUSAKA_MS) // DAY_MS + days_on) * DAY_MS - LUSAKA_MS


@lru_cache(4096)
def lusaka_text(at_ms: int) -> str:
    """The moment in Lusaka for people, to the second: `2026-01-05 08:00:05`."""
    return moment(at_ms).astimezone(LUSAKA).strftime("%Y-%m-%d %H:%M:%S")


def utc_text(at_ms: int) -> str:
    """The moment in UTC for people, as in tooltips: `2026-01-05 06:00:05 UTC`."""
    return f"{moment(at_ms):%Y-%m-%d %H:%M:%S} UTC"


def in_lusaka(at_ms: int) -> str:
    """The moment for use in a sentence: `2026-01-05 08:00:05 in Lusaka`."""
    return f"{lusaka_text(at_ms)} in Lusaka"


IN_LUSAKA: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}) in Lusaka")
"""Matches a moment written by `in_lusaka`."""


def clock_text(at_ms: int) -> str:
    """The time of day in Lusaka: `08:00:05`."""
    return lusaka_text(at_ms)[11:]


def span(seconds: int, *, units: int = 2) -> str:
    """A duration for people, in its largest units, at most `units` of them: `1 d 2 h`, `5 min`, `20 s`."""
    left_s, parts = max(0, seconds), []
    for size_s, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left_s = divmod(left_s, size_s)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:units]) or "0 s"
