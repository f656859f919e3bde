"""The table of scenarios: each number on one row alone, and every name that a row leads to is there."""

from workbench.domain import scenarios
from workbench.domain.payments import FAILURES
from workbench.domain.scenarios import ASKABLE, PERSON, SCENARIOS, TEST_NUMBERS, scenario_on

NUMBERS = [number for row in SCENARIOS.values() for number in row.numbers]


def test_a_number_stands_on_one_row():
    assert len({each.ending for each in NUMBERS}) == len(NUMBERS) == len(TEST_NUMBERS)


def test_what_can_be_asked_for_has_a_number():
    assert {name for name, row in SCENARIOS.items() if row.numbers} == {*ASKABLE} == {*SCENARIOS} - {PERSON}


def test_what_a_row_leads_to_is_there():
    assert {each.then for each in NUMBERS if each.then} <= {*ASKABLE}
    failures = {row.refusal or row.rejection for row in SCENARIOS.values()} - {None}
    assert failures | {*scenarios.OF_REFUNDS, *scenarios.OF_PAYOUTS} <= {*FAILURES}


def test_a_number_acts_as_its_row_says_at_first_and_then_otherwise():
    for ending, attempts, found in (
        ("0000013", [(1, 0), (2, 0), (3, 9)], ["insufficient_funds", "approve", "approve"]),
        ("0000009", [(1, 0), (2, 599_999), (3, 600_000)], ["operator_unavailable"] * 2 + ["approve"]),
        ("0000004", [(1, 0), (2, 0)], ["declined_by_customer"] * 2),
        ("1234567", [(1, 0)], [PERSON]),
    ):
        assert [scenario_on(ending, attempt=nth, since_first_ms=after_ms) for nth, after_ms in attempts] == found
