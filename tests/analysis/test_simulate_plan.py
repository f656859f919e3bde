"""The plan of a month, without a service: the shape of a day, amounts, customers, and draws by their own keys."""

import math
from collections import Counter
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from workbench.analysis.shapes import LEDGER_MOVEMENT
from workbench.analysis.simulate.plan import CHARGE, DAY_MS, FAILURES, HOURLY_SHARES, Chances, Payment, Plan, Traffic
from workbench.analysis.simulate.rows import known_from
from workbench.domain.moments import START, day_start_ms, milliseconds
from workbench.domain.phones import mask_phone, msisdn_from
from workbench.domain.scenarios import APPROVE, LATE

START_MS = day_start_ms(milliseconds(START), days_on=1)
MANY = 20_000
DAYS = 20


def planned(seed: str = "7", *, payments: int = MANY, days: int = DAYS, late: int = 0, **traffic: object) -> Plan:
    made = Traffic(**traffic)  # type: ignore[arg-type]  whatever a test sets
    return Plan(Chances(seed), made, payments=payments, days=days, start_ms=START_MS, late=late)


@pytest.fixture(scope="module")
def month() -> list[Payment]:
    return list(planned())


def test_payments_come_by_the_shape_of_a_day(month: list[Payment]):
    hours = Counter((each.at_ms - START_MS) % DAY_MS // 3_600_000 for each in month)

    def differs(shares: tuple[float, ...]) -> bool:
        """Whether any hour is further from its share than four of its standard errors."""
        parts = [share / sum(shares) for share in shares]
        errors = [math.sqrt(MANY * part * (1 - part)) for part in parts]
        return any(abs(hours[hour] - MANY * parts[hour]) > 4 * errors[hour] + 1 for hour in range(24))

    assert not differs(HOURLY_SHARES)
    assert differs((1.0,) * 24)
    assert differs((*HOURLY_SHARES[1:], HOURLY_SHARES[0]))


def test_moments_are_in_order_within_the_period_and_days_have_their_parts(month: list[Payment]):
    assert all(first.at_ms <= second.at_ms for first, second in pairwise(month))
    assert START_MS <= month[0].at_ms <= month[-1].at_ms <= planned().end_ms
    days = Counter((each.at_ms - START_MS) // DAY_MS for each in month)
    each, error = MANY / DAYS, math.sqrt(MANY / DAYS)
    assert all(abs(days[day] - each) < 5 * error for day in range(DAYS))


def test_amounts_are_lognormal_whole_ngwee_within_bounds(month: list[Payment]):
    amounts = [each.amount_minor for each in month]
    assert all(type(each) is int for each in amounts)
    assert fmean(amounts) == pytest.approx(Traffic.mean_minor, rel=0.03)
    assert pstdev(math.log(each) for each in amounts) == pytest.approx(Traffic.sigma, rel=0.03)
    assert sum(amount % 100 == 0 for amount in amounts) < MANY / 50
    bound = [each.amount_minor for each in planned(payments=2000, smallest_minor=10_000, largest_minor=30_000)]
    assert (min(bound), max(bound)) == (10_000, 30_000)


def test_fates_come_as_often_as_their_rates(month: list[Payment]):
    fates = Counter(each.scenario for each in month)
    for code, failure in FAILURES.items():
        expected = MANY * failure.per_100k / 100_000
        assert abs(fates[code] - expected) < 5 * math.sqrt(expected), code
    assert fates[APPROVE] / MANY == pytest.approx(0.91, abs=0.02)


def test_customers_come_back_and_are_told_apart_by_their_masked_numbers(month: list[Payment]):
    phones = Counter(each.phone for each in month)
    assert max(phones.values()) > 20 > min(phones.values())
    assert len({mask_phone(phone) for phone in phones}) == len(phones)
    for each in month[:2000]:
        assert msisdn_from(each.phone, param="phone").operator.id == each.operator
        assert not each.phone[6:].startswith("0"), "a test number acts by itself"


def test_the_same_is_paid_again_within_the_minute_and_never_a_third_time(month: list[Payment]):
    again = [
        second.number
        for first, second in pairwise(month)
        if (second.phone, second.amount_minor) == (first.phone, first.amount_minor)
    ]
    assert len(again) / MANY == pytest.approx(0.02, rel=0.2)
    for number in again:
        assert month[number].at_ms - month[number - 1].at_ms < 60_000
        assert month[number].way == CHARGE
        assert number + 1 not in again


def test_refunds_are_of_what_was_paid_and_of_no_more(month: list[Payment]):
    refunded = [each for each in month if each.refund_minor]
    assert all(each.scenario == APPROVE and 0 < each.refund_minor <= each.amount_minor for each in refunded)
    full = sum(each.refund_minor == each.amount_minor for each in refunded)
    assert full / len(refunded) == pytest.approx(0.6, abs=0.1)


def test_a_rate_shifts_no_other_draw():
    some, none = list(planned(payments=500)), list(planned(payments=500, refunds_per_100k=0))
    assert any(each.refund_minor for each in some)
    assert [each._replace(refund_minor=0, refund_after_ms=0) for each in some] == none


def test_one_seed_is_one_plan():
    assert list(planned("1", payments=200)) == list(planned("1", payments=200)) != list(planned("2", payments=200))


def test_so_many_come_late_as_are_asked_for():
    for asked, found in ((0, 0), (5, 5), (200, 90)):
        plan = planned(payments=100, late=asked, late_per_100k=0)
        assert sum(each.scenario == LATE for each in plan) == found


def test_small_plans_and_too_many_customers():
    for payments in (0, 1, 2):
        made = list(planned(payments=payments, days=1))
        assert len(made) == payments
        assert all(START_MS <= each.at_ms < START_MS + DAY_MS for each in made)
    for customers in (0, 3001):
        with pytest.raises(ValueError, match="from 1 to 3000"):
            Traffic(customers=customers)


def test_a_large_payout_leaves_the_bank_in_parts_that_make_the_whole():
    paid = {
        "account": "bank:settlement",
        "kind": "payout_paid",
        "key": "po_1",
        "direction": "out",
        "occurred_at": START,
    }
    movement = {**dict.fromkeys(LEDGER_MOVEMENT), **paid, "amount_minor": 1_700_003, "fee_minor": 0}
    (known,) = known_from([movement], Chances("1"))
    assert [row.amount_minor for row in known.rows] == [425_003, 425_000, 425_000, 425_000]
    assert {row.batch for row in known.rows} == {"po_1"}
