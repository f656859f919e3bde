"""The plan of a month, without a service: the shape of a day, amounts, customers, and draws by their own keys."""

import math
from collections import Counter
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from workbench.analysis.simulate.month import CHARGE, FAILURES, HOURLY_SHARES, Chances, Plan, PlannedPayment, Traffic
from workbench.domain.moments import DAY_MS, START, day_start_ms, milliseconds
from workbench.domain.phones import mask_phone, msisdn_from
from workbench.domain.scenarios import APPROVE

START_MS = day_start_ms(milliseconds(START), days_on=1)
MANY = 20_000
DAYS = 20


def planned(seed: str = "7", *, payments: int = MANY, days: int = DAYS, **traffic: object) -> Plan:
    made = Traffic(**traffic)  # type: ignore[arg-type]  whatever a test sets
    return Plan(Chances(seed), made, payments=payments, days=days, start_ms=START_MS)


@pytest.fixture(scope="module")
def month() -> list[PlannedPayment]:
    return list(planned())


@pytest.mark.thorough
def test_moments_are_in_order_and_come_by_the_shape_of_a_day_with_a_part_of_them_on_each(month: list[PlannedPayment]):
    assert all(first.at_ms <= second.at_ms for first, second in pairwise(month))
    assert START_MS <= month[0].at_ms <= month[-1].at_ms <= planned().end_ms
    hours = Counter((each.at_ms - START_MS) % DAY_MS // 3_600_000 for each in month)
    for hour, share in enumerate(HOURLY_SHARES):
        part = share / sum(HOURLY_SHARES)
        assert abs(hours[hour] - MANY * part) <= 4 * math.sqrt(MANY * part * (1 - part)) + 1, hour
    days = Counter((each.at_ms - START_MS) // DAY_MS for each in month)
    each, error = MANY / DAYS, math.sqrt(MANY / DAYS)
    assert all(abs(days[day] - each) < 5 * error for day in range(DAYS))


def test_amounts_are_lognormal_whole_ngwee_within_bounds(month: list[PlannedPayment]):
    amounts = [each.amount_minor for each in month]
    assert all(type(each) is int for each in amounts)
    assert fmean(amounts) == pytest.approx(Traffic.mean_minor, rel=0.03)
    assert pstdev(math.log(each) for each in amounts) == pytest.approx(Traffic.sigma, rel=0.03)
    assert sum(amount % 100 == 0 for amount in amounts) < MANY / 50
    bound = [each.amount_minor for each in planned(payments=2000, smallest_minor=10_000, largest_minor=30_000)]
    assert (min(bound), max(bound)) == (10_000, 30_000)


def test_fates_come_as_often_as_their_rates(month: list[PlannedPayment]):
    fates = Counter(each.scenario for each in month)
    for code, per_100k in FAILURES.items():
        expected = MANY * per_100k / 100_000
        assert abs(fates[code] - expected) < 5 * math.sqrt(expected), code
    assert fates[APPROVE] / MANY == pytest.approx(0.91, abs=0.02)


def test_customers_come_back_and_are_told_apart_by_their_masked_numbers(month: list[PlannedPayment]):
    phones = Counter(each.phone for each in month)
    assert max(phones.values()) > 20 > min(phones.values())
    assert len({mask_phone(phone) for phone in phones}) == len(phones)
    for each in month[:2000]:
        assert msisdn_from(each.phone, param="phone").operator.id == each.operator
        assert not each.phone[6:].startswith("0"), "a test number acts by itself"


def test_the_same_is_paid_again_within_the_minute_and_never_a_third_time(month: list[PlannedPayment]):
    again = [
        second.number
        for first, second in pairwise(month)
        if (second.phone, second.amount_minor) == (first.phone, first.amount_minor)
    ]
    assert len(again) / MANY == pytest.approx(0.02, rel=0.2)
    for number in again:
        assert month[number].at_ms - month[number - 1].at_ms < 60_000
        assert month[number].flow == CHARGE
        assert number + 1 not in again


def test_refunds_are_of_what_was_paid_and_of_no_more_and_their_rate_shifts_no_other_draw(month: list[PlannedPayment]):
    refunded = [each for each in month if each.refund_minor]
    assert all(each.scenario == APPROVE and 0 < each.refund_minor <= each.amount_minor for each in refunded)
    full = sum(each.refund_minor == each.amount_minor for each in refunded)
    assert full / len(refunded) == pytest.approx(0.6, abs=0.1)
    none = list(planned(refunds_per_100k=0))
    assert [each._replace(refund_minor=0) for each in month] == none


def test_more_customers_than_a_masked_number_tells_apart_are_refused():
    for customers in (0, 3001):
        with pytest.raises(ValueError, match="from 1 to 3000"):
            Traffic(customers=customers)
