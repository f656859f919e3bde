"""The repairs: each as it came is not called, its solution is right, and what it says of wrong attempts at it."""

import inspect
import json
import linecache
import re
import signal
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
_PENDING, _WAITS = 'each.status == "pending"', 'each.status in ("requires_action", "processing")'
_SUMMED, _SUCCEEDED = (
    'refunds.groupby("charge")["amount_minor"].sum().reset_index()',
    'refunds[refunds["status"] == "succeeded"]',
)
_NET = """def net_by_operator(charges, refunds):
    paid = {}
    return (paid["amount_minor"] - paid["refunded_minor"]).groupby(paid["provider"]).sum()
"""
_OF_PAID = 'charges[charges["status"] == "succeeded"]'
_KEYS = "def one_sided(ledger, statement):\n    return {}"
_TOTAL = """def mean_of_parts(parts):
    total = count = 0
    for part in parts:
        amounts = pd.read_parquet(part)["amount_minor"]
        total, count = total + amounts.sum(), count + len(amounts)
    return {}
"""
_BY_SQL = """import duckdb
def net_by_operator(charges, refunds):
    return duckdb.sql('''
        select provider, (sum(c.amount_minor) - sum(coalesce(r.back, 0)))::bigint as net
        from charges c left join (
            select charge, sum(amount_minor) as back from refunds where status = 'succeeded' group by charge
        ) r on r.charge = c.id where c.status = 'succeeded' group by provider
    ''').df().set_index("provider")["net"]
"""
_BY_MERGE = """def net_by_operator(charges, refunds):
    paid = charges[charges["status"] == "succeeded"]
    back = refunds[refunds["status"] == "succeeded"].groupby("charge")["amount_minor"].sum()
    paid = paid.assign(back=paid["id"].map(back).fillna(0).astype("int64"))
    return paid.groupby("provider")["amount_minor"].sum() - paid.groupby("provider")["back"].sum()
"""
_BY_LOOP = """def net_by_operator(charges, refunds):
    net = {}
    for each in charges.itertuples():
        if each.status == "succeeded":
            net[each.provider] = net.get(each.provider, 0) + each.amount_minor
    sent = refunds[refunds["status"] == "succeeded"].merge(charges[["id", "provider"]], left_on="charge", right_on="id")
    for each in sent.itertuples():
        net[each.provider] -= each.amount_minor
    return pd.Series(net)
"""
_KEYS_BY_SQL = """import duckdb
def one_sided(ledger, statement):
    return [key for (key,) in duckdb.sql('''
        select distinct coalesce(l.key, s.key) as key from ledger l full join statement s on l.key = s.key
        where (l.key is null or s.key is null) and coalesce(l.key, s.key) is not null order by key
    ''').fetchall()]
"""
_MEAN_BY_SQL = """import duckdb
def mean_of_parts(parts):
    files = [str(each) for each in parts]
    return duckdb.sql(f"select sum(amount_minor) // count(*) from read_parquet({files})").fetchall()[0][0]
"""
_AT_ONCE = """def mean_of_parts(parts):
    return int(pd.concat([pd.read_parquet(each) for each in parts])["amount_minor"].mean())
"""
_SWALLOWED = """def type_of(body, headers, secret, now_s):
    try:
        verify(body, headers, [secret], now_s=now_s)
        return json.loads(body)["type"]
    except Exception:
        {}
"""
_THEN = "int(headers['webhook-timestamp'])"
# By the exercise's name: (what is replaced in the cell as it came, or nothing for all of it, by what, a piece of what
# is told).
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
        ("return pay", "pay", "order has no return with a value, so it returns None. seen: None"),
        ('price_minor,\n        description="Orchid",\n        metadata={"order": order_number}',
         'Decimal(price_minor) / 100, description="Orchid", metadata={"order": "A-17"}',
         "order A-18 has another metadata than before. seen: {'order': 'A-17'}"),
        ('price_minor,\n        description="Orchid"', "Decimal(price_minor) / 100",
         "another description than before. seen: None expected: 'Orchid'"),
        ("amount=price_minor", "amount=Decimal('87.35')",
         "seen: K87.35 expected: K0.05 line 4: amount=Decimal('87.35'),"),
        ("amount=price_minor", "amount=Decimal(price_minor / 100)",
         "Called as order(pay, 8735, 'A-17'), your code stopped"),
        ("metadata={", "extra={", "TypeError"),
    ],
    # keys
    # confirm_with_ussd
    "unknown_is_not_failed": [
        ('        return "failed"', '        return "paid"',
         (
                 "still move. The function returns while the intent is processing, and is wrong about it. seen: "
                 "'paid'"
             )),
        ("timeout_s=60", "timeout_s=600", "seen: 'failed' expected: 'unknown' line 7: return"),
        ('        return "failed"',
         (
                 '        if pay.payment_intents.retrieve(intent_id).status == "processing":\n'
                 '            return "unknown"\n        return "failed"'
             ), "The prompt is still open, and the customer may yet pay."),
        ('        return "failed"', "        return collect(pay, intent_id, phone, provider)", "StateConflict: "),
        ('else "failed"', 'else "unknown"',
         "presses cancel. The function returns while the intent is requires_payment_method"),
        ('return "paid" if', '"paid" if', "The customer approves. The function returns while the intent is succeeded"),
    ],
    # read_the_ledger
    "split_to_the_ngwee": [
        ("round(gross_minor * 0.975)", "gross_minor - fee", "seen: K0.02 expected: K0.03 line 3: fee ="),
        ("max(1, round(gross_minor * 0.025))", "max(1, (gross_minor * 250 + 5000) // 10000)", "K0.98 + K0.03 = K1.01"),
        ("max(1, round(gross_minor * 0.025))", "(gross_minor * 250 + 5000) // 10000", "each was rounded on its own"),
        ("return net, fee", "return net", "should return two integers: the merchant's share and the fee. seen: 9750"),
        ("",
         (
                 "def split(gross_minor):\n    fee = max(1, int(gross_minor * 0.025 + 0.5))\n"
                 "    return gross_minor - fee, fee"
             ), "A float has 15 digits, and money is counted in integers"),
        ("",
         (
                 "def split(gross_minor):\n    fee = max(1, (gross_minor * 25 + 500) // 1000)\n"
                 "    return fee, gross_minor - fee"
             ), "The share comes first, and then the fee. seen: K2.50 expected: K97.50 line 3: return fee"),
        ("", "def split(gross_minor):\n    print((gross_minor * 25 + 500) // 1000)",
         "split prints its result and returns None. seen: print expected: return line 2: print("),
        ("round(gross_minor * 0.975)", "gross_minor * 0.975", "should return two integers"),
    ],
    # after_the_payment
    # verify_webhooks
    "genuine_messages": [
        (_DUMPED, "json.dumps(event, separators=(',', ':')).encode()", "seen: body_reserialised expected: payment_int"),
        (_DUMPED, "body[:-1]", "line 4: verify(body[:-1]"),
        (f"verify({_DUMPED}, {_REST})", "pass", "whose content was changed gets through"),
        (f"{_DUMPED}, {_REST}", f"body, {_REST[:-5]}{_THEN}", "301 seconds old gets through"),
        ("",
         (
                 "def type_of(body, headers, secret, now_s):\n"
                 "    verify(body, headers, [secret], now_s=now_s)\n"
                 '    return "payment_intent.created"'
             ), "something else than its type. seen: payment_intent.created expected: payment_"),
        ("",
         (
                 "def type_of(body, headers, secret, now_s):\n"
                 "    verify(body, headers, bench.receiver.secrets, now_s=now_s)"
             ), "type_of uses the notebook's bench"),
        ("", _SWALLOWED.format("pass"),
         "whose content was changed gets through. seen: None expected: SignatureRefused line 5: except"),
        ("", _SWALLOWED.format("return False"),
         "whose content was changed gets through. seen: False expected: SignatureRefused line 5: except"),
    ],
    # charge_in_one_call
    # when_payments_fail
    "lets_go": [
        ('while outcome != "succeeded":', 'if outcome != "succeeded":', "seen: 2 attempts expected: 1"),
        ('outcome != "succeeded"', 'outcome in ("payer_busy", "operator_unavailable")', "seen: more than 5 attempts"),
        ('outcome != "succeeded"', 'outcome == "payer_busy"', "The operator was down"),
        ('outcome != "succeeded"', 'outcome not in ("succeeded", "declined_by_customer")', "After insufficient_funds"),
        ('outcome != "succeeded"', 'outcome not in ("succeeded", "limit_reached")',
         "After insufficient_funds, it should"),
        ("",
         (
                 "def collect(attempt, wait):\n    outcome = attempt()\n"
                 '    tries = 1\n    while outcome == "payer_busy" or (outcome == "operator_unavailable" and tries '
                 "< 5):\n        wait(60)\n        outcome = attempt()\n"
                 "        tries += 1\n    return outcome"
             ), "Every attempt ends with payer_busy. seen: more than 5 attempts"),
        ("", 'def collect(attempt, wait):\n    return "succeeded" or attempt()', "The function makes no attempt."),
        ("        outcome = attempt()\n", "", "seen: 6 calls of wait, 1 attempts expected: 0 calls line 6: wait("),
        ("return outcome", "return pause_s", "seen: 120 expected: 'succeeded'"),
    ],
    # retries_dead_letters_and_replay
    "remembered": [
        ("    handled.add(event.id)\n", "", "seen: an empty set expected: evt_"),
        ("handled.add(event.id)", "handled.add(event.type)",
         "handled does not hold its id. It is known by that alone. seen: p"),
        ("",
         (
                 'def handle(event, handled, ship):\n    key = event.data.object["id"]\n'
                 '    if key not in handled:\n        if event.type == "payment_intent.succeeded":\n'
                 "            ship(key)\n            handled.add(key)"
             ), "handled does not hold its id. It is known by that alone. seen: pi_"),
        ("",
         (
                 "def handle(event, handled, ship):\n    if event.id not in handled:\n"
                 '        ship(event.data.object["id"])\n'
                 "        handled.add(event.id)"
             ), "Only one type means: paid. seen: 10 shipped"),
        ("",
         (
                 'def handle(event, handled, ship):\n    if event.type == "payment_intent.succeeded":\n'
                 '        ship(event.data.object["id"])\n'
                 "        handled.add(event.id)"
             ), "seen: 5 shipped expected: 2 shipped line"),
        ('ship(event.data.object["id"])', "ship(event.id)", "something else than the order's id. seen: evt_"),
        ("event.type ==", "event.id not in handled and event.type ==", "ship was not called for a paid order"),
        ('ship(event.data.object["id"])', 'try: ship(event.data.object["id"])\n        except Exception: return',
         "line 8: except Exception"),
    ],
    # idempotency
    "looks_first": [
        ("-again", "-2", "seen: 2 payments expected: 1"),
        ('f"{key}-again"', "key", "stopped with ServiceFailed"),
        ('client.charges.create(**order, idempotency_key=f"{key}-again")', "None", "Now return the charge"),
        ('client.charges.create(**order, idempotency_key=f"{key}-again")', "next(client.charges.each())",
         (
                 "returns the charge of another order. An order's charge is known by its reference. seen: "
                 "ORDER-server_error_after"
             )),
        ("    try:\n", "    order['metadata'] = {}\n    try:\n", "changes order, which belongs to whoever calls it."),
        ("        return client.charges.create(**order, idempotency_key=f",
         (
                 "        for each in client.charges.each():\n"
                 "            if each.reference == order['reference']:\n"
                 "                return each\n            break\n"
                 "        return client.charges.create(**order, idempotency_key=f"
             ), "The customer had paid before, and was charged again. seen: 2 payments"),
    ],
    # your_own_backend
    "any_order": [
        ('return "open"', "return status", "charge.late_success. seen: 'settle' expected: 'paid' line 5:"),
        ('return "open"', 'return "failed"', "order: charge.failed. seen: 'failed' expected: 'open'"),
        ('return "settle"', 'return "paid"', "order: charge.late_success. seen: 'paid' expected: 'settle'"),
        ('return "refunded"', "return status", "seen: 'open' expected: 'refunded'"),
    ],
    # explore_a_month
    "net_by_operator": [
        ("refunds, left", "refunds.drop_duplicates(), left", "counts twice: the join makes two rows of it. seen: K150"),
        ("refunds, left", 'refunds.drop_duplicates("charge"), left', "Of two refunds, one is taken off. seen: K70.00"),
        ("refunds, left", f"{_SUMMED}, left", "A refund that failed is taken off. seen: K55.00 expected: K60.00"),
        ("refunds, left", f"{_SUMMED.replace('refunds', _SUCCEEDED)}, left", "seen: float64 expected: int64 line 5:"),
        ("", _BY_MERGE.replace("].groupby", '].drop_duplicates(["charge", "amount_minor"]).groupby', 1),
         "K25.00 and K25.00 of them went back. Of two refunds, one is taken off"),
        ('how="left"', 'how="inner"', "counts twice: the join makes two rows of it"),
        ("return both", "both", "has no return with a value"),
        ("both.groupby", "-both.groupby", "seen: -K150.00"),
        ("", _NET.format("charges"), "A charge that failed counts too. seen: K67.00 expected: K60.00"),
        ("", _NET.format(_OF_PAID).replace(".groupby", ".div(100).groupby"), "count ngwee. seen: K0.50"),
        ("", _NET.format(_OF_PAID).replace(".groupby", ".mul(1.0).groupby"), "makes floats of them. seen: float64"),
        ("", _NET.format(_OF_PAID).replace(' - paid["refunded_minor"]', ""), "Nothing of what went back is taken off"),
        ("", _NET.format(_OF_PAID + '.query("refunded_minor > 0")'), "airtel has no amount. A payment without"),
        ("", _NET.format(_OF_PAID).replace(".sum()", ".sum().to_dict()"), "seen: dict expected: Series"),
        ("", 'def net_by_operator(charges, refunds):\n    return pd.Series({"mtn": 5000, "airtel": 6000})',
         "K300.00 were paid; K90.00 and K60.00 of them went back. seen: K50.00 expected: K150.00"),
        ("", 'def net_by_operator(charges, refunds):\n    return charges["amount_minor"].sum()',
         "seen: int64 expected: Series"),
        ("    paid = charges", "    charges['net'] = 0\n    paid = charges",
         "changes charges, which belongs to whoever"),
        ("both.groupby", 'both[both["amount_minor_back"].notna()].groupby', "A charge with two refunds counts twice"),
    ],
    # reconcile_and_settle
    "one_sided": [
        ('how="left"', 'how="inner"', "A3 is on the statement alone and is not reported. seen: []"),
        ('how="left"', 'how="right"', "A4 is in the ledger alone and is not reported"),
        ('how="left"', 'how="outer"', "C3 is on the statement alone, twice, and is reported twice: once is enough"),
        ('!= "both"', '== "both"', "Both sides have A1: compare the keys alone. seen: ['A1', 'A2']"),
        ('both.loc[both["_merge"] != "both", "key"]', "{'A3', 'A4'}, reverse=True", "The keys are not in order"),
        ("return sorted", "return len", "should return a list of keys. seen: int"),
        ("return sorted", "return set", "should return a list of keys. seen: set"),
        ("", 'def one_sided(ledger, statement):\n    return ["A3", "A4"]', "B3 is on the statement alone and is not"),
        ('on="key", how="left"', 'how="outer"', "Both sides have A1: compare the keys alone"),
        ("", _KEYS.format("sorted(pd.concat([ledger, statement])['key'].drop_duplicates(keep=False))"),
         "C3 is on the statement alone, twice, and is not reported"),
        ("", _KEYS.format("sorted(pd.concat([ledger, statement]).groupby('key').filter(lambda x: len(x) == 1)['key'])"),
         "C3 is on the statement alone, twice, and is not reported"),
        ("", _KEYS.format("sorted(set(ledger['key']) - set(statement['key']))"), "A3 is on the statement alone"),
        ("", _KEYS.format("sorted(set(ledger['key']) ^ set(statement['key']))"), "A row without a key stopped your"),
        ("", _KEYS.format("sorted(set(ledger['key']) ^ set(statement['key']), key=str)"), "without a key is reported."),
        ("", _KEYS.format("sorted({*map(str, ledger['key'])} ^ {*map(str, statement['key'])})"), "without a key"),
    ],
    # when_the_data_outgrows_the_laptop
    "mean_of_parts": [
        ("sum(means) // len", "sum(means) / len", "stopped with"),
        ("        means.append", "        if len(amounts): means.append", "a file of one row as much as a file of"),
        ("amounts.sum() // len(amounts)", "0 if amounts.empty else int(amounts.mean())", "counts a file of one"),
        (".sum() // len(amounts)", ".sum()", "number of files. Divide it by the number of rows. seen: K70.01"),
        ("sum(means) // len(means)", "sum(means) // 6", "stopped with"),
        ("", _TOTAL.format("total / count"), "a whole number of ngwee: an int. seen: float64 expected: int"),
        ("", _TOTAL.format("round(total / count)"), "the task says down. seen: K46.68 expected: K46.67"),
        ("", _TOTAL.format("-(-total // count)"), "This is rounded up, and the task says down"),
        ("", _TOTAL.format("total"), "This is the sum of all amounts"),
        ("", _TOTAL.format("total // len(parts)"), "is divided by the number of files"),
        ("", _TOTAL.format("4667"), "seen: K46.67 expected: K140.02"),
        ("", _TOTAL.format("count"), "The files hold K90.00; K30.00, K60.00; no rows; K10.00, K70.00"),
        ("", _AT_ONCE, "all files are in memory at once. Keep a sum and a number of rows instead. seen: concat"),
        ("", _TOTAL.format("total // count").replace("    return", "        return"),
         "mean of the first file: the function returns within the loop"),
        ("", _TOTAL.format("total // count").replace("        amounts", "        total = count = 0\n        amounts"),
         "mean of the last file: the loop begins anew"),
    ],
    # what_is_not_documented
    "either_way": [
        ("asked.next_action.ussd_prompt.expires_at", "asked.created + 300",
         "your code stopped, in line 4 of prompt_closes: return asked.created + 300"),
        ("asked.next_action.ussd_prompt.expires_at", "pay.payment_intents.retrieve(intent_id).created + 300",
         "'prompt_timeout_s': 180} the prompt closes at another moment"),
        ("asked.next_action.ussd_prompt.expires_at", "asked.status", "seen: requires_action expected: 17675931"),
        (".confirm(intent_id, phone=phone, provider=provider)\n    return asked.next_action.ussd_prompt.expires_at",
         ".retrieve(intent_id)\n    return asked.created", "No prompt is on the customer's phone"),
    ],
    # certify_your_endpoint
    # going_live
    # tokens_and_plants
    "second_day": [
        ('tokens["access"] = renewed.access_token', "pass", "On day 2 the person has to sign in again"),
        ('tokens["access"] = renewed.access_token', 'tokens["refresh"] = renewed.refresh_token', "day 2"),
        ('auth.refresh(tokens["refresh"])', 'auth.token(email="a@b.c", password="wrong")', "On day 2 the person has"),
        ("    try:\n", '    try:\n        raise AuthenticationFailed("")\n', "day 1 the token was refreshed although"),
        ("    try:\n        return ", "    try:\n        ", "should return the intent. seen: None"),
        ('auth.refresh(tokens["refresh"])', 'auth.token(email="shop@example.com", password="x")',
         "day 2 the function has signed in"),
        ("        renewed", "        return bench.client.payment_intents.retrieve(intent_id)\n        renewed",
         "On day 2 the intent was read with the secret key, not with the person's token. seen: Bearer sk_test_••••"),
    ],
    # your_own_notebooks
    "pages_kept": [
        ("        return status\n", "        keep_pages()\n", "failed: seen: run, keep_pages, keep_pages expected:"),
        ("if status != 0", "if status == 0", "passed: seen: run expected: run, keep_pages line 6: keep_pages()"),
        ("    if status != 0:\n        return status\n", "    status = 0\n", "seen: 0 expected: 1 line 6: return"),
        ("    return status\n\n", "    return run()\n\n", "all have passed: seen: run, keep_pages, run"),
        ("    if status != 0:\n        return status\n    keep_pages()\n    return status",
         "    keep_pages()\n    return status != 0", "in this night all have passed. seen: False expected: 0"),
        ("    if status != 0:\n        return status\n    keep_pages()\n    return status",
         "    keep_pages()\n    return min(status, 1)",
         "in this night a notebook could not be run. seen: 1 expected: 2"),
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _nobody_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    monkeypatch.delenv(exercises.MUST_BE_DONE, raising=False)
    progress.cache_clear()


IMPORTED = {**vars(errors), "errors": errors, "Decimal": Decimal, "json": json, "pd": pd, "verify": verify}
"""What the first cells of the notebooks import."""


def told_of(exercise: Exercise, source: str, bench: Workbench, capsys: pytest.CaptureFixture[str]) -> str:
    """What the check of a cell prints, run as a kernel runs it: under a name by which its lines are found."""
    name = f"cell of {exercise.name}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"bench": bench, "pay": bench.client, "exercises": exercises} | IMPORTED
    capsys.readouterr()
    exec(compile(source, name, "exec"), names)  # noqa: S102  our own cells
    return " ".join(capsys.readouterr().out.split())


_OTHER_WAYS = [
    ("net_by_operator", _BY_SQL), ("net_by_operator", _BY_MERGE), ("net_by_operator", _BY_LOOP),
    ("one_sided", _KEYS_BY_SQL),
    ("one_sided", _KEYS.format("sorted(set(ledger['key'].dropna()) ^ set(statement['key'].dropna()))")),
    ("one_sided", _KEYS.format("sorted({key for key in {*ledger['key']} ^ {*statement['key']} if pd.notna(key)})")),
    ("mean_of_parts", _MEAN_BY_SQL), ("mean_of_parts", _TOTAL.format("int(total / count)")),
    ("mean_of_parts", _TOTAL.format("int(total // count)")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "source"), _OTHER_WAYS)
def test_the_books_may_be_repaired_in_other_ways(
    bench: Workbench, capsys: pytest.CaptureFixture[str], name: str, source: str
):
    cell = REPAIRS[name].cell
    told = told_of(REPAIRS[name], f"{source}\n\n{cell[cell.index('exercises.check(') :]}", bench, capsys)
    assert told.startswith("Done: ")


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
    check = cell[cell.index("exercises.check(") :]
    assert not old or cell.count(old) == 1
    told = told_of(REPAIRS[name], cell.replace(old, new) if old else f"{new}\n\n\n{check}", bench, capsys)
    assert told.startswith("Not right yet: ")
    assert words in told
    assert "expected: " in told or "your code stopped with" in told.lower()
    assert re.findall(r" at 0x|The check cannot use|Traceback|workbench/", told) == []


ASKS = "    return pay.payment_intents.retrieve(intent_id).status"
OF_ANY_FUNCTION = [
    (f"async def may_leave(pay, intent_id):\n{ASKS}", "Write def without async: a call of may_leave would not run it"),
    ("def may_leave(pay, intent_id):\n    yield True", "may_leave has a yield, so a call of it runs nothing"),
    (f"def may_leave(pay):\n{ASKS}",
     "seen: may_leave(pay) expected: may_leave(pay, intent_id) line 1: def may_leave(pay)"),
    ("def may_leave(pay, intent_id):\n    ...", "may_leave has no code any more. seen: an empty function"),
    ("def may_leave(pay, intent_id):\n    print(True)",
     "prints its result and returns None. seen: print expected: return"),
    ("def may_leave(pay, intent_id):\n    pay.wait(intent_id)", "may_leave has no return with a value"),
    (f"def may_leave(it, intent_id):\n{ASKS}", "uses the notebook's pay, and the check hands it another sandbox"),
    ("may_leave = True", "may_leave is no function any more. seen: bool expected: a function line 1: may_leave = True"),
    ("may_leave = lambda pay, intent_id: True",
     "an intent that is requires_payment_method. seen: True expected: False"),
    ("def may_leave(pay, intent_id):\n    return paid",
     "code stopped with NameError: name 'paid' is not defined, in line 2"),
    ("def may_leave(pay, intent_id):\n    return may_leave(pay, intent_id)", "stopped with RecursionError"),
    ("import sys\ndef may_leave(pay, intent_id):\n    return sys.exit(3)",
     "Your code stopped with SystemExit: 3, in line 3"),
    (f"def may_leave(pay, intent_id):\n    while not pay.x_of(intent_id):\n        pass\n{ASKS}",
     "no attribute 'x_of'"),
    ((f"def may_leave(pay, intent_id):\n    while True:\n        try:\n            pay.charges.list()\n"
     f"        except Exception:\n            pass\n{ASKS}"),
     "Your code had not ended after 10 seconds: it loops without end"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "words"), OF_ANY_FUNCTION)
def test_a_fault_of_any_function_is_told(
    bench: Workbench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, source: str, words: str
):
    if "while True" in source:
        set_timer = signal.setitimer
        monkeypatch.setattr(signal, "setitimer", lambda which, after, *more: set_timer(which, after and 0.2, *more))
    check = 'exercises.check("only_when_paid", bench, may_leave)'
    told = told_of(REPAIRS["only_when_paid"], f"{source}\n\n{check}", bench, capsys)
    assert told.startswith("Not right yet: ")
    assert words in told
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0, "it rings no more"


def test_each_has_three_wrong_solutions():
    assert {name: len(rows) >= 3 for name, rows in ATTEMPTS.items()} == dict.fromkeys(REPAIRS, True)
    assert [name for name, each in REPAIRS.items() if "def " not in inspect.cleandoc(each.cell)] == []
