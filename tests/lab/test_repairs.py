"""The repairs: each as it came is not called, its solution is right, and what it says of wrong attempts at it."""

import inspect
import linecache
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from workbench import Workbench, exercises
from workbench.errors import LedgerRefused, StateConflict
from workbench.lab.exercises import EXERCISES
from workbench.lab.exercises.progress import FILE_VARIABLE, progress
from workbench.lab.exercises.shape import Exercise

REPAIRS = {each.name: each for each in EXERCISES if each.repair}

# By the exercise's name: (what is replaced in the cell as it came, by what, a piece of what is told).
ATTEMPTS: dict[str, list[tuple[str, str, str]]] = {
    # start_here
    # how_mobile_money_works
    # create_an_intent
    "priced_in_ngwee": [
        ("amount=price_minor,", "amount=price_minor / 100,", "amount must be a Decimal"),
        ("amount=price_minor,", "amount=price_minor // 100,", "expected: K87.35 line 4: amount=price_minor // 100,"),
        ("amount=price_minor,", "amount=Decimal(price_minor) / 10,", "seen: K873.50"),
        ("return pay", "pay", "should return the intent"),
        ("metadata={", "extra={", "TypeError"),
    ],
    # keys
    # confirm_with_ussd
    # read_the_ledger
    # after_the_payment
    # verify_webhooks
    # charge_in_one_call
    # when_payments_fail
    # retries_dead_letters_and_replay
    # idempotency
    # your_own_backend
    # for_support_staff
    # explore_a_month
    "net_by_operator": [
        ("refunds, left", "refunds.drop_duplicates(), left", "counts twice: the join makes two rows of it. seen: K150"),
        ('how="left"', 'how="inner"', "airtel is missing"),
        ("refunds, left", 'refunds.drop_duplicates("charge"), left', "of them went back. seen: K70.00"),
        ('charges[charges["status"] == "succeeded"]', "charges", "seen: K47.00 expected: K40.00"),
        ("refunds, left", 'refunds.groupby("charge")["amount_minor"].sum().reset_index(), left', "seen: float64"),
        ("return both", "both", "should return a Series"),
    ],
    # reconcile_a_statement
    "one_sided": [
        ('how="left"', 'how="inner"', "A-3 is on the statement alone, and is not reported. seen: []"),
        ('how="left"', 'how="right"', "A-4 is in the ledger alone"),
        ('!= "both"', '== "both"', "Both sides have A-1. seen: ['A-1', 'A-2']"),
        ('both.loc[both["_merge"] != "both", "key"]', "{'A-3', 'A-4'}, reverse=True", "Give each key once, in order."),
        ("return sorted", "return len", "should return a list of keys. seen: int"),
    ],
    # settle_and_decide
    "settle_all": [
        ("without.append(each.code)", "pass", "Not every proposal is posted. seen: 1 posted"),
        ("except LedgerRefused", "except StateConflict", "Your code stopped with LedgerRefused"),
        ("bench.settle(each)", "isinstance(each.proposal, str) and bench.settle(each)", "not the right ones. seen: []"),
        ("bench.settle(each)", "without.append(each.code)", "seen: 0 posted"),
    ],
    # when_the_data_outgrows_the_laptop
    "mean_of_parts": [
        ("sum(means) // len", "sum(means) / len", "A mean of ngwee is a whole number. seen: float"),
        ("amounts.sum() // len(amounts)", "int(amounts.mean())", "counts a part of one row as much as a part of three"),
        (".sum() // len(amounts)", ".sum()", "number of parts. Divide it by the number of rows. seen: K80.00"),
        ("sum(means) // len(means)", "sorted(means)[len(means) // 2]", "seen: K100.00 expected: K40.00"),
    ],
    # what_is_not_documented
    # certify_your_endpoint
    # going_live
    # tokens_and_plants
    # your_own_notebooks
}  # fmt: skip


@pytest.fixture(autouse=True)
def _nobody_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    monkeypatch.delenv(exercises.MUST_BE_DONE, raising=False)
    progress.cache_clear()


def told_of(exercise: Exercise, source: str, bench: Workbench, capsys: pytest.CaptureFixture[str]) -> str:
    """What the check of a cell prints, run as a kernel runs it: under a name by which its lines are found."""
    name = f"cell of {exercise.name}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"bench": bench, "pay": bench.client, "Decimal": Decimal, "exercises": exercises}
    names |= {"LedgerRefused": LedgerRefused, "StateConflict": StateConflict, "pd": pd}
    capsys.readouterr()
    exec(compile(source, name, "exec"), names)  # noqa: S102  our own cells
    return " ".join(capsys.readouterr().out.split())


def solved(exercise: Exercise) -> str:
    check = exercise.cell[exercise.cell.index("exercises.check(") :]
    return f"{exercise.solution}\n{check}"


@pytest.mark.parametrize("exercise", REPAIRS.values(), ids=REPAIRS)
def test_as_it_came_it_is_not_called_and_its_solution_is_right(
    exercise: Exercise, bench: Workbench, capsys: pytest.CaptureFixture[str]
):
    as_it_came = f"{exercise.cell}\n# a remark changes nothing"
    before = len(bench.trace)
    assert told_of(exercise, as_it_came, bench, capsys).startswith("Not done yet: The code is as it came.")
    assert told_of(exercise, f"{exercise.cell}\n7", bench, capsys).startswith("Not right yet: "), "it is broken"
    for _ in ("once", "again"):
        assert told_of(exercise, solved(exercise), bench, capsys).startswith("Done: ")
    assert len(bench.trace) == before, "it is tried in a sandbox of its own"


@pytest.mark.parametrize(
    ("name", "old", "new", "words"), [(name, *row) for name, rows in ATTEMPTS.items() for row in rows]
)
def test_a_wrong_attempt_is_told_its_fault(
    bench: Workbench, capsys: pytest.CaptureFixture[str], name: str, old: str, new: str, words: str
):
    cell = REPAIRS[name].cell
    assert cell.count(old) == 1
    told = told_of(REPAIRS[name], cell.replace(old, new), bench, capsys)
    assert told.startswith("Not ")
    assert words in told


def test_each_has_three_wrong_attempts():
    assert {name: len(rows) >= 3 for name, rows in ATTEMPTS.items()} == dict.fromkeys(REPAIRS, True)
    assert [name for name, each in REPAIRS.items() if "def " not in inspect.cleandoc(each.cell)] == []
