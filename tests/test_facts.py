"""What pages and notebooks say of a rule is what the product's own tables say."""

import ast
import re

import pytest

from tests.conftest import code_of, prose_of
from workbench import resources
from workbench.domain.gaps import Gaps
from workbench.domain.payments import ADVICE, FAILURES, offer_again_s
from workbench.domain.phones import OPERATORS, WITHOUT_WALLET
from workbench.domain.scenarios import PAYOUT_SCENARIOS, TEST_NUMBERS, UNKNOWN

GUIDE = resources.guide_paths()
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
UNDECIDED = {UNKNOWN, "canceled_by_merchant"}
"""Codes that one of the two pages tells by a status instead."""


def rows_of(page: str) -> dict[str, tuple[str, str]]:
    """By failure code, what happened and the advice, as the page's table has them."""
    return {
        code: (says, advice) for code, says, advice in ROW.findall(GUIDE[page].read_text("utf-8")) if code in FAILURES
    }


def test_every_failure_of_a_payment_has_an_advice():
    assert {*ADVICE} == {*FAILURES} - {*PAYOUT_SCENARIOS}


@pytest.mark.parametrize(("page", "field"), [("scenarios", "shop"), ("support", "customer")])
def test_the_pages_give_the_advice_of_the_table(page: str, field: str):
    expected = {code: (FAILURES[code], getattr(each, field)) for code, each in ADVICE.items()}
    told = rows_of(page)
    assert told == {code: each for code, each in expected.items() if code in told}
    assert {*expected} - {*told} <= UNDECIDED
    # A status that is not a failure code says the same.
    assert page != "support" or GUIDE[page].read_text("utf-8").count(ADVICE[UNKNOWN].customer) == 1


def test_the_notebook_on_failures_gives_the_advice_of_the_table():
    (source,) = [each for each in code_of("when_payments_fail") if each.startswith("TO_DO = {")]
    to_do = ast.literal_eval(source[source.index("{") : source.index("}") + 1])
    # An intent has no failure code while its operator has not answered.
    told = {UNKNOWN if each == "processing" else each: advice for each, advice in to_do.items()}
    expected = {code: each.shop for code, each in ADVICE.items() if code != "canceled_by_merchant"}
    assert {code: told[code] for code in expected} == expected
    assert {*told} - {*expected} == {"succeeded", "late_success"}


def test_ten_minutes_count_from_the_last_prompt_and_one_number_stays_undecided():
    minutes = offer_again_s(Gaps()) // 60
    assert minutes == 10
    unanswered = next(f"…{ending}" for ending, each in TEST_NUMBERS.items() if "never answers" in each.says)
    for page in ("scenarios", "support"):
        text = " ".join(GUIDE[page].read_text("utf-8").split())
        assert re.search(r"[Tt]en minutes (?:after|count from|from) the last prompt", text), page
        assert not re.search(r"after the (?:first|previous) prompt", text), page
        assert f"{unanswered}" in text, page
        assert "however long you wait" in text, page
    assert "ten minutes after the last prompt" in prose_of("confirm_with_ussd")


def test_the_first_notebook_has_the_operators_and_the_beginnings_of_their_numbers():
    told = dict(re.findall(r"^\| ([\w ]+)[^|]* \| ((?:`\+260\d\d`(?:, )?)+) \|$", prose_of("start_here"), re.MULTILINE))
    zed = [prefix for prefix, owner in WITHOUT_WALLET.items() if owner == "Zed Mobile"]
    expected = {each.name: each.prefixes for each in OPERATORS.values()} | {
        "Zed Mobile": zed,
        "no operator known": ["79"],
    }
    assert told == {name: ", ".join(f"`+260{prefix}`" for prefix in prefixes) for name, prefixes in expected.items()}
