"""The repairs: each as it came is not called, its solution is right, and what it says of wrong attempts at it."""

import inspect
import json
import linecache
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from workbench import Workbench, errors, exercises, verify
from workbench.lab.exercises import EXERCISES
from workbench.lab.exercises.progress import FILE_VARIABLE, progress
from workbench.lab.exercises.shape import Exercise

REPAIRS = {each.name: each for each in EXERCISES if each.repair}

_PENDING_TOO = """balance.pending[0].amount + balance.available[0].amount
    if amount == 0:
        return None
"""
_AVAILABLE_ALONE = _PENDING_TOO.partition(" + ")[2]
_DUMPED, _REST = "json.dumps(event).encode()", "headers, [secret], now_s=now_s"
_THEN = "int(headers['webhook-timestamp'])"
# By the exercise's name: (what is replaced in the cell as it came, by what, a piece of what is told).
ATTEMPTS: dict[str, list[tuple[str, str, str]]] = {
    # start_here
    "only_when_paid": [
        ('"requires_payment_method"', '"requires_action"', "an intent that is requires_payment_method"),
        ('== "requires_payment_method"', 'in ("requires_payment_method", "requires_action")',
         "that is processing. seen: True expected: False line 4: if intent.status"),
        ('== "requires_payment_method"', 'in ("requires_payment_method", "requires_action", "processing")',
         "an intent that is canceled"),
        ("return True", "return False", "that is succeeded. seen: False expected: True"),
        ("return True", "True", "that is requires_action. seen: None expected: False"),
    ],
    # create_an_intent
    "priced_in_ngwee": [
        ("amount=price_minor,", "amount=price_minor / 100,", "amount must be a Decimal"),
        ("amount=price_minor,", "amount=price_minor // 100,", "expected: K87.35 line 4: amount=price_minor // 100,"),
        ("amount=price_minor,", "amount=Decimal(price_minor) / 10,", "seen: K873.50"),
        ("return pay", "pay", "should return the intent"),
        ("metadata={", "extra={", "TypeError"),
    ],
    # keys
    "handed_to_the_app": [
        ('"key"', '"api_key"', "take it out and use it. seen: sk_test_•••• expected: pk_test_•••• line 4"),
        ('"key": keys["secret"],', "", "seen: id, client_secret expected: key, id, client_secret"),
        ('keys["secret"],\n        "id": intent.id', 'keys["publishable"],\n        "id": intent.client_secret',
         "the app cannot confirm the intent: "),
        ('keys["secret"],', 'keys["publishable"], "amount": intent.amount,', "no others. seen: key, amount, id,"),
        ("return {", "{", "should return a dict"),
    ],
    # confirm_with_ussd
    "unknown_is_not_failed": [
        ('        return "failed"', '        return "paid"', "the money may still move. The function is wrong"),
        ("timeout_s=60", "timeout_s=600", "seen: 'failed' expected: 'unknown' line 7: return"),
        ('        return "failed"', "        return collect(pay, intent_id, phone, provider)", "StateConflict: "),
        ('else "failed"', 'else "unknown"', "presses cancel. The function is wrong about it. seen: 'unknown'"),
        ('return "paid" if', '"paid" if', "The customer approves. The function is wrong about it. seen: None"),
    ],
    # read_the_ledger
    "split_to_the_ngwee": [
        ("round(gross_minor * 0.975)", "gross_minor - fee", "seen: K0.02 expected: K0.03 line 3: fee ="),
        ("max(1, round(gross_minor * 0.025))", "max(1, (gross_minor * 250 + 5000) // 10000)", "K0.98 + K0.03 = K1.01"),
        ("max(1, round(gross_minor * 0.025))", "(gross_minor * 250 + 5000) // 10000", "each was rounded on its own"),
        ("return net, fee", "return net", "should return two integers"),
        ("round(gross_minor * 0.975)", "gross_minor * 0.975", "should return two integers"),
    ],
    # after_the_payment
    "payout_of_what_is_there": [
        ("pending[0].amount +", "pending[0].amount + 0 *", "seen: K48.75 expected: K97.50 line 4: amount = "),
        ("balance.pending[0].amount +", "Decimal(1000) +", "is more than the K97.50 that is available"),
        (f"{_PENDING_TOO}    return pay", f"{_AVAILABLE_ALONE}    pay", "should return the payout of it"),
        (_PENDING_TOO, _AVAILABLE_ALONE.replace("== 0", "< 0"), "is not more than zero"),
    ],
    # verify_webhooks
    "genuine_messages": [
        (_DUMPED, "json.dumps(event, separators=(',', ':')).encode()", "seen: body_reserialised expected: payment_int"),
        (_DUMPED, "body[:-1]", "line 4: verify(body[:-1]"),
        (f"verify({_DUMPED}, {_REST})", "pass", "whose amount was changed gets through"),
        (f"{_DUMPED}, {_REST}", f"body, {_REST[:-5]}{_THEN}", "301 seconds old gets through"),
    ],
    # charge_in_one_call
    "shipped_unpaid": [
        ("charge is not None", 'charge.status != "failed"', "Nobody has answered the prompt yet"),
        ("charge is not None", 'charge.status == "paid"', "paid. seen: False expected: True line 9: return"),
        ("charge is not None", "charge.status", "A customer has paid. seen: succeeded expected: True"),
        ("return False", "return True", "The wallet holds too little"),
    ],
    # when_payments_fail
    "lets_go": [
        ('while outcome != "succeeded":', 'if outcome != "succeeded":', "seen: 2 attempts expected: 1"),
        ('outcome != "succeeded"', 'outcome in ("payer_busy", "operator_unavailable")', "seen: more than 5 attempts"),
        ('outcome != "succeeded"', 'outcome == "payer_busy"', "The operator was down"),
        ('outcome != "succeeded"', 'outcome not in ("succeeded", "declined_by_customer")', "An expired prompt's money"),
        ("return outcome", "return pause_s", "seen: 120 expected: succeeded"),
    ],
    # retries_dead_letters_and_replay
    "remembered": [
        ("    handled.add(event.id)\n", "", "seen: 5 shipped expected: 2 shipped"),
        ("handled.add(event.id)", "handled.add(event.type)", "seen: 5 shipped expected: 2 shipped"),
        ("event.type ==", "event.id not in handled and event.type ==", "ship was not called for a paid order"),
        ('ship(event.data.object["id"])', "try: ship(7)\n        except Exception: return", "line 8: except Exception"),
    ],
    # idempotency
    "looks_first": [
        ("-again", "-2", "seen: 2 payments expected: 1"),
        ('f"{key}-again"', "key", "stopped with ServiceFailed"),
        ('client.charges.create(**order, idempotency_key=f"{key}-again")', "None", "Now return the charge"),
        ('client.charges.create(**order, idempotency_key=f"{key}-again")', "next(client.charges.each())", "0 payments"),
    ],
    # your_own_backend
    "any_order": [
        ('return "open"', "return status", "charge.late_success. seen: settle expected: paid line 5:"),
        ('return "open"', 'return "failed"', "order: charge.failed. seen: failed expected: open"),
        ('return "settle"', 'return "paid"', "order: charge.late_success. seen: paid expected: settle"),
        ('return "refunded"', "return status", "seen: open expected: refunded"),
    ],
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


IMPORTED = {**vars(errors), "Decimal": Decimal, "json": json, "pd": pd, "verify": verify}
"""What the first cells of the notebooks import."""


def told_of(exercise: Exercise, source: str, bench: Workbench, capsys: pytest.CaptureFixture[str]) -> str:
    """What the check of a cell prints, run as a kernel runs it: under a name by which its lines are found."""
    name = f"cell of {exercise.name}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"bench": bench, "pay": bench.client, "exercises": exercises} | IMPORTED
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
    assert told_of(exercise, as_it_came, bench, capsys).startswith("Not done yet: You have not changed the code yet.")
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
