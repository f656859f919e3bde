"""The table of scenarios: each number on one row alone, and every name that a row leads to is there."""

from workbench.domain.payments import FAILURES
from workbench.domain.scenarios import ASKABLE, OF_PAYOUTS, OF_REFUNDS, PERSON, SCENARIOS, TEST_NUMBERS

NUMBERS = [number for row in SCENARIOS.values() for number in row.numbers]


def test_a_number_stands_on_one_row():
    assert len({each.ending for each in NUMBERS}) == len(NUMBERS) == len(TEST_NUMBERS)


def test_what_can_be_asked_for_has_a_number():
    assert {name for name, row in SCENARIOS.items() if row.numbers} == {*ASKABLE} == {*SCENARIOS} - {PERSON}


def test_what_a_row_leads_to_is_there():
    assert {each.then for each in NUMBERS if each.then} <= {*ASKABLE}
    failures = {row.refusal or row.rejection for row in SCENARIOS.values()} - {None}
    assert failures | {*OF_REFUNDS, *OF_PAYOUTS} <= {*FAILURES}
