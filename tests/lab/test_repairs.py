"""The repairs: each as it came is not called, its solution is right, and what it says of wrong attempts at it."""

import inspect
import linecache
from decimal import Decimal
from typing import Any

import pytest

from workbench import Workbench, exercises
from workbench.errors import AuthenticationFailed
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
    # reconcile_a_statement
    # settle_and_decide
    # when_the_data_outgrows_the_laptop
    # what_is_not_documented
    "either_way": [
        ("asked.next_action.ussd_prompt.expires_at", "asked.created + 300", "with TypeError"),
        ("asked.next_action.ussd_prompt.expires_at", "pay.payment_intents.retrieve(intent_id).created + 300",
         "'prompt_timeout_s': 180} the prompt closes at another moment"),
        ("asked.next_action.ussd_prompt.expires_at", "asked.status", "seen: requires_action expected: 17675931"),
        (".confirm(intent_id, phone=phone, provider=provider)\n    return asked.next_action.ussd_prompt.expires_at",
         ".retrieve(intent_id)\n    return asked.created", "No prompt is on the customer's phone"),
    ],
    # certify_your_endpoint
    "fresh_both_ways": [
        ("<= 300", "<= 3600", "A message from an hour ago is accepted. seen: True expected: False line 5: return"),
        ("now_s - int(timestamp)", "int(timestamp) - now_s", "A message from an hour ago is accepted"),
        ("return now_s", "return 0 <= now_s", "A message from 299 s ahead is refused"),
        ("if timestamp is None or not timestamp.isdecimal():\n        return False\n    return now_s - int(timestamp)",
         "return abs(now_s - int(timestamp))", "with TypeError"),
    ],
    # going_live
    "alert_that_fires": [
        ('each.status == "pending"', 'each.status != "succeeded"', "that nobody confirmed. seen: 3 payments"),
        ('each.status == "pending"', 'each.status == "succeeded"', "names a payment that has succeeded"),
        ('each.status == "pending" and now_s - each.created > 600', 'each.status == "processing"', "is a minute old"),
        ('each.status == "pending"', 'each.status == "requires_action"', "does not name that payment. seen: []"),
    ],
    # tokens_and_plants
    "second_day": [
        ('tokens["access"] = renewed.access_token', "pass", "On day 2 the person has to sign in again"),
        ('tokens["access"] = renewed.access_token', 'tokens["refresh"] = renewed.refresh_token', "day 2"),
        ('auth.refresh(tokens["refresh"])', 'auth.token(email="a@b.c", password="wrong")', "On day 2 the person has"),
        ("    try:\n", '    try:\n        raise AuthenticationFailed("")\n', "day 1 the token was refreshed although"),
        ("    try:\n        return ", "    try:\n        ", "should return the intent"),
    ],
    # your_own_notebooks
    "pages_kept": [
        ("        return status\n", "        keep_pages()\n", "failed: seen: run, keep_pages, keep_pages expected:"),
        ("if status != 0", "if status == 0", "passed: seen: run expected: run, keep_pages line 6: keep_pages()"),
        ("    if status != 0:\n        return status\n", "    status = 0\n", "seen: 0 expected: 1 line 6: return"),
        ("    return status\n\n", "    return run()\n\n", "all have passed: seen: run, keep_pages, run"),
    ],
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
    names["AuthenticationFailed"] = AuthenticationFailed
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
