import calendar
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain import moments
from workbench.domain.moments import LUSAKA, RFC3339, business_date, milliseconds, milliseconds_in, rfc3339
from workbench.errors import InvalidRequest

DAY_MS = 86_400_000
LAST_MS = 253_402_200_000_000


def test_a_moment_in_utc_and_in_lusaka():
    for at_ms, utc, day, clock in (
        (1_767_592_800_000, "2026-01-05T06:00:00.000Z", "2026-01-05", "08:00:00"),
        (1_767_650_399_999, "2026-01-05T21:59:59.999Z", "2026-01-05", "23:59:59"),
        (1_767_650_400_000, "2026-01-05T22:00:00.000Z", "2026-01-06", "00:00:00"),
        (1_709_157_600_000, "2024-02-28T22:00:00.000Z", "2024-02-29", "00:00:00"),
        (-1, "1969-12-31T23:59:59.999Z", "1970-01-01", "01:59:59"),
    ):
        assert (rfc3339(at_ms), business_date(at_ms), moments.clock_text(at_ms)) == (utc, day, clock)
        assert moments.in_lusaka(at_ms) == f"{day} {clock} in Lusaka"
        assert moments.IN_LUSAKA.findall(f"Made {moments.in_lusaka(at_ms)}.") == [f"{day} {clock}"]


@given(st.integers(-62_135_596_800_000, LAST_MS))
def test_there_and_back_is_the_same_moment(at_ms: int):
    assert milliseconds(moments.moment(at_ms)) == milliseconds(datetime.fromisoformat(rfc3339(at_ms))) == at_ms
    assert at_ms not in range(-2_208_988_800_000, 4_102_444_800_000) or at_ms == milliseconds_in(
        rfc3339(at_ms), param="as_of"
    )


@given(st.integers(-(10**12), LAST_MS), st.integers(0, DAY_MS - 1))
def test_business_days_begin_at_22_utc(days_ms: int, within_ms: int):
    midnight_ms = days_ms // DAY_MS * DAY_MS - 2 * 3_600_000
    assert business_date(midnight_ms + within_ms) == business_date(midnight_ms)
    assert business_date(midnight_ms - 1) != business_date(midnight_ms)
    starts = [moments.day_start_ms(midnight_ms + within_ms, days_on=days) for days in (-1, 0, 3)]
    assert starts == [midnight_ms - DAY_MS, midnight_ms, midnight_ms + 3 * DAY_MS]


def test_one_moment_in_any_zone_is_one_number_of_whole_milliseconds_and_a_naive_datetime_is_none():
    for zone in (UTC, LUSAKA, timezone(timedelta(hours=-5))):
        assert milliseconds(datetime(2026, 1, 5, 6, tzinfo=UTC).astimezone(zone)) == 1_767_592_800_000
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 0, 1_999, tzinfo=UTC)) == 1
    with pytest.raises(TypeError):
        milliseconds(datetime(2026, 1, 5, 6))  # noqa: DTZ001  naive is the point


def test_a_moment_is_read_in_any_zone_and_a_29th_of_february_in_leap_years_alone():
    read = {
        "2026-01-05T06:00:00Z": 1_767_592_800_000, "2026-01-05T08:00:00.5+02:00": 1_767_592_800_500,
        "2026-01-05T06:00:00.001Z": 1_767_592_800_001, "1970-01-01T00:00:00-01:30": 5_400_000,
        "2028-02-29T00:00:00Z": 1_835_395_200_000,
    }  # fmt: skip
    assert {text: milliseconds_in(text, param="as_of") for text in read} == read
    taken = [year for year in range(1900, 2100) if RFC3339.fullmatch(f"{year}-02-29T00:00:00Z")]
    assert taken == [year for year in range(1900, 2100) if calendar.isleap(year)]


def test_what_is_no_moment_is_refused_by_its_name():
    for text in (
        "", "2026-01-05", "2026-01-05T06:00:00", "2026-01-05T06:00Z", "2026-02-29T06:00:00Z", "2026-04-31T06:00:00Z",
        "2026-01-05T24:00:00Z", "2026-01-05T06:00:60Z", "2026-01-05T06:00:00.0001Z", "2126-01-05T06:00:00Z",
        "2026-01-05T06:00:00Z\n",
    ):  # fmt: skip
        with pytest.raises(InvalidRequest, match="as_of is a moment with its zone") as refused:
            milliseconds_in(text, param="as_of")
        assert (refused.value.code, refused.value.param) == ("parameter_invalid", "as_of"), text


@pytest.mark.parametrize(
    ("seconds", "units", "told"),
    [
        (0, 2, "0 s"), (-5, 2, "0 s"), (20, 2, "20 s"), (300, 2, "5 min"), (3_601, 2, "1 h 1 s"),
        (93_784, 2, "1 d 2 h"), (93_784, 4, "1 d 2 h 3 min 4 s"), (93_784, 1, "1 d"),
    ],
)  # fmt: skip
def test_a_span_is_told_in_the_largest_units_that_count(seconds: int, units: int, told: str):
    assert moments.span(seconds, units=units) == told
