"""The repairs: each as it came is not called, its solution is right, and what it says of wrong attempts at it."""

import inspect
import json
import re
import signal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from workbench import Workbench, errors, exercises, verify
from workbench.lab.exercises import EXERCISES

REPAIRS = {each.name: each for each in EXERCISES if each.repair}
CHECK = "exercises.check("

_DUMPED, _REST = "json.dumps(event).encode()", "headers, [secret], now_s=now_s"
_SUMMED = 'refunds.groupby("charge")["amount_minor"].sum().reset_index()'
_STATUS = """def next_status(status, event_type):
    steps = ["open", "settle", "paid", "refunded"]
    reports = {{"charge.late_success": "settle", "charge.succeeded": "paid", "refund.succeeded": "refunded"}}
    said = reports.get(event_type, "open")
    return {}
"""
_HIGHER, _FIRST = "max(status, said, key=steps.index)", '    if event_type == "charge.succ'
_NET = """def net_by_operator(charges, refunds):
    paid = {}
    return (paid["amount_minor"] - paid["refunded_minor"]).groupby(paid["provider"]).sum()
"""
_OF_PAID = 'charges[charges["status"] == "succeeded"]'
_KEYS = "def one_sided(ledger, statement):\n    return {}"
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
_KEYS_BY_SQL = """import duckdb
def one_sided(ledger, statement):
    return [key for (key,) in duckdb.sql('''
        select distinct coalesce(l.key, s.key) as key from ledger l full join statement s on l.key = s.key
        where (l.key is null or s.key is null) and coalesce(l.key, s.key) is not null order by key
    ''').fetchall()]
"""
_SWALLOWED = """def type_of(body, headers, secret, now_s):
    try:
        verify(body, headers, [secret], now_s=now_s)
        return json.loads(body)["type"]
    except Exception:
        {}
"""
_CONFIRM = "pay.payment_intents.confirm(intent_id, phone=phone, provider=provider)"
_CLOSES, _READ = "asked.next_action.ussd_prompt.expires_at", "pay.payment_intents.retrieve(intent_id)"
_OTHER_MOMENT = "your function did not return the moment at which the prompt closes. seen: "
_TWICE = f"    try:\n        {_CONFIRM}\n    except errors.ApiError:\n        asked = {_READ}\n    return {_CLOSES}"
_TO_ONE = f'pay.payment_intents.confirm(intent_id, phone="+260961234567", provider="mtn")\n    asked = {_READ}'
_THEN = "int(headers['webhook-timestamp'])"
ASKED_OF = "pay, intent_id, phone, provider"
ASKED = (
    "pay.payment_intents.confirm(intent_id, phone=phone, provider=provider)\n    try:\n"
    "        intent = pay.wait(intent_id"
)
_CANCELED = 'try: pay.payment_intents.cancel(intent_id)\n        except StateConflict: pass\n        return "failed"'
ENDS = "outcome not in AGAIN"
AGAIN = """def collect(attempt, wait):
    AGAIN = ("payer_busy", "operator_unavailable")
    outcome = attempt()
    for asked in range(1, 5):
        if {1}:
            break
        wait({0})
        outcome = attempt()
    return outcome
"""
SHIPS = """def handle(event, handled, ship):
    order = event.data.object["id"]
    if event.id in handled or event.type != "payment_intent.succeeded":
        return
    {}
"""
_AGE = f"\n    if abs(now_s - {_THEN}) > 300:\n        "
_BY_HAND = """import base64, hashlib, hmac
def type_of(body, headers, secret, now_s):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{{headers['webhook-id']}}.{{headers['webhook-timestamp']}}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    if not hmac.compare_digest("v1," + base64.b64encode(digest).decode(), headers["webhook-signature"]):
        raise ValueError("forged")
    {}
    return json.loads(body)["type"]
"""
_SPLIT = "def split(gross_minor):\n    fee = {}\n    return gross_minor - fee, fee"
_ONCE_MORE = 'client.charges.create(**order, idempotency_key=f"{key}-again")'
_RETURN = f"        return {_ONCE_MORE}"
_FOUND = f"""        for each in client.charges.each():
            if each.reference == order["reference"]{{}}:
                {{}}
{_RETURN.replace("{", "{{").replace("}", "}}")}"""


_PRICED, _HANDLED = "pay, price_minor, order_number", "event, handled, ship"


def _whole(name: str, arguments: str, body: str) -> tuple[str, str]:
    """A whole function in place of the cell's."""
    return "", f"def {name}({arguments}):\n    {body}"


# By the exercise's name: functions that do what is asked in another way than the solution.
RIGHT: dict[str, list[tuple[str, str]]] = {
    "net_by_operator": [("", _BY_SQL), ("", _BY_MERGE)],
    "one_sided": [
        ("", _KEYS_BY_SQL),
        ("", _KEYS.format("sorted(set(ledger['key'].dropna()) ^ set(statement['key'].dropna()))")),
    ],
    "lets_go": [
        _whole("collect", "attempt, wait", ("for pause in (60, 60, 60, 60, None):\n        outcome = attempt()\n"
         "        if outcome not in ('payer_busy', 'operator_unavailable') or not pause:\n            return outcome\n"
         "        wait(pause)")),
        _whole("collect", "attempt, wait, left=4", ("outcome = attempt()\n"
         "    if left and outcome in ['payer_busy', 'operator_unavailable']:\n"
         "        wait(900)\n        return collect(attempt, wait, left - 1)\n    return outcome")),
        _whole("collect", "attempt, wait", ("outcome, tries = attempt(), 1\n"
         "    while tries < 5 and (outcome == 'payer_busy' or outcome == 'operator_unavailable'):\n"
         "        wait(Decimal('0.5') * tries)\n        outcome, tries = attempt(), tries + 1\n    return outcome")),
    ],
    "remembered": [
        _whole("handle", _HANDLED, ("if event.type == 'payment_intent.succeeded' and event.id not in handled:\n"
         "        ship(event.data.object['id'])\n        handled.add(event.id)")),
        _whole("handle", _HANDLED, ("if event.id in handled or event.type != 'payment_intent.succeeded':\n"
         "        return\n    handled.add(event.id)\n    try:\n"
         "        ship(event.data.object['id'])\n    except Exception:\n"
         "        handled.discard(event.id)\n        raise")),
        _whole("handle", _HANDLED, ("if event.type == 'payment_intent.succeeded' and event.id not in handled:\n"
         "        try:\n            ship(event.data.object['id'])\n        except ConnectionError as error:\n"
         "            raise RuntimeError('try again later') from error\n    handled |= {event.id}")),
        _whole("handle", _HANDLED, ("if event.type != 'payment_intent.succeeded' or event.id in handled:\n"
         "        return\n    for tried in range(3):\n"
         "        try:\n            ship(event.data.object['id'])\n            break\n"
         "        except Exception:\n            if tried == 2:\n                raise\n    handled.add(event.id)")),
    ],
    "any_order": [
        _whole("next_status", "status, event_type", ("if status == 'refunded' or event_type == 'refund.succeeded':\n"
         "        return 'refunded'\n"
         "    if status == 'paid' or event_type == 'charge.succeeded':\n        return 'paid'\n"
         "    if status == 'settle' or event_type == 'charge.late_success':\n        return 'settle'\n"
         "    return 'open'")),
        _whole("next_status", "status, event_type",
               ("table = {'open': {'charge.succeeded': 'paid', 'charge.late_success': 'settle', "
         "'refund.succeeded': 'refunded'}, 'settle': {'charge.succeeded': 'paid', 'refund.succeeded': 'refunded'}, "
         "'paid': {'refund.succeeded': 'refunded'}}\n"
         "    return table.get(status, {}).get(event_type, status)")),
    ],
    "only_when_paid": [
        _whole("may_leave", "pay, intent_id",
               "if pay.payment_intents.retrieve(intent_id).status == 'succeeded':\n        return True"),
        _whole("may_leave", "pay, intent_id", "return 'succeeded' in pay.payment_intents.retrieve(intent_id).status"),
        _whole("may_leave", "pay, intent_id", ("charge = pay.payment_intents.retrieve(intent_id).latest_charge\n"
         "    return charge is not None and pay.charges.retrieve(charge).status == 'succeeded'")),
    ],
    "priced_in_ngwee": [
        _whole("order", _PRICED, ("return pay.payment_intents.create(amount=Decimal(price_minor).scaleb(-2), "
         "description='Orchid', metadata={'order': order_number})")),
        _whole("order", _PRICED, ("price = Decimal(f'{price_minor // 100}.{price_minor % 100:02}')\n"
         "    order = {'order': order_number}\n"
         "    return pay.payment_intents.create(amount=price, description='Orchid', metadata=order)")),
        _whole("order", _PRICED, ("price = Decimal(str(price_minor / 100))\n"
         "    order = {'order': order_number}\n"
         "    return pay.payment_intents.create(amount=price, description='Orchid', metadata=order)")),
    ],
    "unknown_is_not_failed": [
        _whole("collect", ASKED_OF, (f"{ASKED}, timeout_s=600)\n    except WaitExpired:\n        return 'unknown'\n"
         "    return 'paid' if intent.status == 'succeeded' else 'failed'")),
        _whole("collect", ASKED_OF, (f"{ASKED}, timeout_s=600)\n    except WaitExpired:\n        return 'unknown'\n"
         "    error = intent.last_payment_error\n    if error and error.code == 'prompt_timeout':\n"
         "        return 'unknown'\n    return 'failed' if error else 'paid'")),
        _whole("collect", ASKED_OF, (f"{ASKED}, timeout_s=30)\n    except WaitExpired:\n        pass\n"
         "    status = pay.payment_intents.retrieve(intent_id).status\n"
         "    return {'succeeded': 'paid', 'requires_payment_method': 'failed'}.get(status, 'unknown')")),
    ],
    "split_to_the_ngwee": [
        ("", _SPLIT.format("max(1, int((Decimal(gross_minor) * 25 / 1000).quantize(Decimal(1), 'ROUND_HALF_UP')))")),
        ("", _SPLIT.format("max(1, (gross_minor + 20) // 40)")),
        ("", _SPLIT.format("max(1, (gross_minor + 20) // 40)").replace("fee", "pay")),
        # Names of the notebook that a function inside, or what it holds, has for its own.
        ("", _SPLIT.format("max([1, (gross_minor + 20) // 40], key=lambda pay: pay)")),
        ("", _SPLIT.format("[pay for pay in [max(1, (gross_minor + 20) // 40)] if (lambda: pay)()][0]")),
    ],
    "genuine_messages": [
        ("", _BY_HAND.format(f"{_AGE}raise ValueError('old')")),
        (f"{_DUMPED}, {_REST}", f"body, {_REST}"),
        ("", _SWALLOWED.format("raise RuntimeError('forged') from None")),
    ],
    "looks_first": [
        (_RETURN, _FOUND.format("", "return each")),
        (_RETURN, _FOUND.format("", "return client.wait_charge(each.id)")),
        (_RETURN, _FOUND.format("", "return each").replace("client.charges.each()", "client.charges.list().data")),
        (_RETURN, _FOUND.format("", "return client.charges.retrieve(each.id)").replace("-again", "-attempt-2")),
    ],
}  # fmt: skip
"""Ways to do it that differ from the solution: what is replaced, and by what."""
# By the exercise's name: (what is replaced in the cell as it came, or nothing for all of it, by what, a piece of what
# is told).
ATTEMPTS: dict[str, list[tuple[str, str, str]]] = {
    # start_here
    "only_when_paid": [
        ("return True", "return False", "False for an intent that is succeeded. seen: False expected: True"),
        ("return True", "True", "None for an intent that is succeeded. seen: None expected: True"),
        ("return True", 'return intent.status in ("processing", "succeeded")', "for an intent that is processing"),
        ("return True", 'return "ed" in intent.status', "for an intent that is canceled"),
        ("return True", "return intent.status", "returns 'requires_action' for an intent"),
        ("return False\n    return True", 'return intent.latest_charge is not None\n    return intent.status[0] == "s"',
         "that is requires_payment_method after the customer has pressed cancel"),
        ("return True",
         ('charges = [each for each in pay.charges.each() if each.payment_intent == intent_id]\n'
         '    return bool(charges) and charges[-1].status == "succeeded"'),
         "that is succeeded after the customer has pressed cancel and tried again. seen: False expected: True"),
        ("return True", 'return pay.wait(intent_id).status == "succeeded"',
         "changes an intent that is requires_action. It should only look."),
    ],
    # intents_and_keys
    "priced_in_ngwee": [
        ("amount=price_minor,", "amount=price_minor / 100,", "amount must be a Decimal"),
        ("amount=price_minor,", "amount=price_minor // 100,", "expected: K87.35 line 4: amount=price_minor // 100,"),
        ("amount=price_minor,", 'amount=Decimal(f"{price_minor // 100}.{price_minor % 100}"),',
         "charges K0.50 for a price of 5 ngwee. seen: K0.50 expected: K0.05"),
        ("    return pay", ("    pay.payment_intents.create(amount=Decimal(5))\n    price_minor /= Decimal(100)\n"
         "    return pay"), "has created two intents for one order. seen: 2 expected: 1"),
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
        ("", f"def order({_PRICED}):\n    return 'A-17'", "The function should return the intent. seen: A-17"),
    ],
    # confirm_with_ussd
    "unknown_is_not_failed": [
        ('        return "failed"', '        return "paid"',
         "still move. The function returns 'paid' while the intent is processing. seen: 'paid'"),
        ('        return "failed"',
         ('        if pay.payment_intents.retrieve(intent_id).status == "processing":\n'
         '            return "unknown"\n        return "failed"'),
         "The prompt is still open, and the customer may yet pay."),
        ('        return "failed"', "        return collect(pay, intent_id, phone, provider)", "StateConflict: "),
        ('        return "failed"', '        pay.payment_intents.cancel(intent_id)\n        return "failed"',
         "StateConflict: "),
        ('        return "failed"', f"        {_CANCELED.replace('failed', 'unknown')}",
         "may yet pay. The function cancels the payment instead of reporting what it knows. seen: canceled"),
        ('timeout_s=60)\n    except WaitExpired:\n        return "failed"',
         'timeout_s=0)\n    except WaitExpired:\n        return "unknown"',
         "The function returns 'unknown' while the intent is requires_action. seen: 'unknown' expected: 'paid'"),
        ('else "failed"', 'else "unknown"',
         "presses cancel. The function returns 'unknown' while the intent is requires_payment_method"),
        ('return "paid" if', '"paid" if', "approves. The function returns None while the intent is succeeded"),
        ('    return "paid" if', ('    if intent.status != "succeeded":\n'
         "        pay.payment_intents.confirm(intent_id, phone=phone, provider=provider)\n"
         '        intent = pay.wait(intent_id)\n    return "paid" if'),
         "presses cancel. The function sends 2 prompts: it should ask the customer once. seen: 2 expected: 1"),
        ('return "paid" if intent.status == "succeeded" else "failed"', "return intent.status",
         "returns 'succeeded' while the intent is succeeded. seen: 'succeeded' expected: 'paid'"),
        ('return "paid" if intent.status == "succeeded" else "failed"', "return intent", "seen: PaymentIntent("),
        ("", 'def collect(pay, intent_id, phone, provider):\n    return "paid"', "The function sends 0 prompts"),
        ('        return "failed"', "        raise", "your code stopped with WaitExpired"),
    ],
    # read_the_ledger
    "split_to_the_ngwee": [
        ("max(1, round(gross_minor * 0.025))", "(gross_minor * 250 + 5000) // 10000", "do not add up to the payment"),
        ("return net, fee", "return net", "Return two integers: the merchant's share and the fee. seen: 9750"),
        ("", _SPLIT.format("max(1, int(gross_minor * 0.025 + 0.5))"), "A floating-point number holds 15 digits"),
        ("", _SPLIT.format("-(-gross_minor * 250 // 10000)"), "K87.35 is rounded half up to a ngwee"),
        ("", _SPLIT.format("(gross_minor * 250 + 5000) // 10000"), "seen: K0.00 expected: K0.01"),
        ("", _SPLIT.format("round(Decimal(gross_minor) * Decimal('0.025'), 0)"), "(Decimal('9750'), Decimal('250'))"),
        ("",
         ("def split(gross_minor):\n    fee = max(1, (gross_minor * 25 + 500) // 1000)\n"
         "    return fee, gross_minor - fee"),
         "The share comes first, and then the fee. seen: K2.50 expected: K97.50 line 3: return fee"),
        ("", "def split(gross_minor):\n    print((gross_minor * 25 + 500) // 1000)",
         "split prints its result and returns None. seen: print expected: return line 2: print("),
    ],
    # verify_webhooks
    "genuine_messages": [
        (_DUMPED, "body[:-1]", "line 4: verify(body[:-1]"),
        (f"{_DUMPED}, {_REST}", f"body, {_REST}, tolerance_s=0", "A genuine message does not get through. The"),
        ("", _BY_HAND.format("pass"), "that is 301 seconds old gets through"),
        ("", _BY_HAND.format(f"\n    if now_s - {_THEN} > 300:\n        raise ValueError('old')"),
         "A message from the future, 301 seconds early, gets through"),
        ("", _BY_HAND.format(f"{_AGE}raise ValueError('old')").replace("{headers['webhook-timestamp']}.", ""),
         "ValueError: forged"),
        ("", _BY_HAND.format(f"{_AGE}return None"), "refuses a message that is 301 seconds old by returning None. Its"),
        ("",
         ("def type_of(body, headers, secret, now_s):\n"
         "    verify(body, headers, [secret], now_s=now_s)\n"
         '    return "payment_intent.created"'),
         "something other than its type. seen: payment_intent.created expected: payment_"),
        ("",
         ("def type_of(body, headers, secret, now_s):\n"
         "    verify(body, headers, bench.receiver.secrets, now_s=now_s)"), "type_of uses the notebook's bench"),
        ("", _SWALLOWED.format("pass"),
         "whose content was changed by returning None. Its caller cannot tell this from a message without a type:"),
        ("", _SWALLOWED.format("return False"),
         "changed by returning False. Its caller cannot tell this from a genuine message: raise an exception."),
        ("", _SWALLOWED.format("return json.loads(body)['type']"), "A message whose content was changed gets through."),
    ],
    # when_payments_fail
    "lets_go": [
        ('outcome != "succeeded"', 'outcome == "payer_busy"', "The operator was down"),
        ("",
         ("def collect(attempt, wait):\n    outcome = attempt()\n"
         '    tries = 1\n    while outcome == "payer_busy" or (outcome == "operator_unavailable" and tries '
         "< 5):\n        wait(60)\n        outcome = attempt()\n"
         "        tries += 1\n    return outcome"), "Every attempt ends with payer_busy. seen: more than 5 attempts"),
        ("", 'def collect(attempt, wait):\n    return "succeeded" or attempt()', "The function makes no attempt."),
        ("        outcome = attempt()\n", "", "seen: 6 calls of wait, 1 attempts expected: 0 calls line 6: wait("),
        ("", AGAIN.format("60", ENDS).replace("return outcome", "return 60"), "seen: 60 expected: 'insuff"),
        ("", AGAIN.format("60", "asked == 1 and outcome not in AGAIN or outcome == 'succeeded'"),
         "The second attempt ended with insufficient_funds, after payer_busy. After insufficient_funds, it should not"),
        ("", AGAIN.format("60", "outcome not in (*AGAIN, 'declined_by_customer')"), "After declined_by_customer, it"),
        ("", AGAIN.format("60", ENDS).replace("range(1, 5)", "range(1, 4)"), "The fifth attempt would"),
        ("", AGAIN.format("0", ENDS), "A pause lets no time pass: the next attempt meets"),
        ("", AGAIN.format("-60", ENDS), "seen: -60 expected: above 0 line 7: wait(-60)"),
        ("", AGAIN.format("240 / 2**asked", ENDS), "get shorter, so the operator gets more requests."),
        ("", AGAIN.format("30 * 86400", ENDS), "more than an hour. seen: 2592000 expected: 3600 seconds"),
        ("", AGAIN.format("float('nan')", ENDS), "A pause lets no time pass"),
        ("", AGAIN.format("'60'", ENDS), "takes a number of seconds. seen: '60' expected: a number"),
        ("", AGAIN.format("60); wait(60", ENDS), "There should be one pause between two attempts, and none"),
        ("", AGAIN.format("60", ENDS).replace("    outcome = attempt()\n", "    wait(1)\n    outcome ="
         " attempt()\n", 1), "none before the first or after the last. seen: 1 calls of wait, 1 attempts"),
    ],
    # retries_dead_letters_and_replay
    "remembered": [
        ("handled.add(event.id)", "handled.add(event.type)",
         "the id of this event, and nothing else. seen: p"),
        ("",
         ("def handle(event, handled, ship):\n    if event.id not in handled:\n"
         '        ship(event.data.object["id"])\n'
         "        handled.add(event.id)"), "Only one type of event means that the order is paid. seen: 10 shipped"),
        ("",
         ('def handle(event, handled, ship):\n    if event.type == "payment_intent.succeeded":\n'
         '        ship(event.data.object["id"])\n'
         "        handled.add(event.id)"), "seen: 5 shipped expected: 2 shipped line"),
        ('ship(event.data.object["id"])', "ship(event.id)", "something other than the order's id. seen: evt_"),
        ("", SHIPS.format("try:\n        ship(order)\n    except Exception:\n        pass\n    handled.add(event.id)"),
         "ship has failed, and the function raised nothing"),
        ("", SHIPS.format("ship(order)\n    ship(order)\n    handled.add(event.id)"), "seen: 4 shipped expected: 2"),
        ("", SHIPS.format("ship(order)\n    handled.update([event.id, order])"), "and nothing else. seen: evt_"),
        ("", SHIPS.format("ship(order)\n    handled = handled | {event.id}"), "seen: an empty set expected: evt_"),
        ("", SHIPS.format("ship(order)\n    handled.add(event.id)").replace("event.id in handled", "handled"),
         "seen: 1 shipped expected: 2 shipped"),
        ("", SHIPS.format("ship(order)\n    handled.add(event.id)").replace("payment_intent.s", "charge.s"),
         "ship was not called for a paid order. seen: no call"),
    ],
    # idempotency
    "looks_first": [
        ('f"{key}-again"', "key", "keeps a 500 under its key. The function sent the request again under it"),
        (_ONCE_MORE, "None", "Now return it. seen: None expected: the charge line"),
        (_ONCE_MORE, "next(client.charges.each())",
         ("returns the charge of another order. An order's charge is known by its reference. seen: A expected: B")),
        ("    try:\n", "    order['metadata'] = {}\n    try:\n", "changes order, which belongs to whoever calls it."),
        (_RETURN, _FOUND.format(' and each.status != "pending"', "return each"), "The charge was pending, and the cus"),
        (_RETURN, _FOUND.format("", "return each").replace(_ONCE_MORE, "None"),
         "The service failed before the charge, and the order is unpaid. seen: none expected: 1"),
        (_RETURN, _FOUND.format("", "return each.id"), "The order has one charge. Now return it. seen: ch_"),
        (_RETURN, "        raise", "code stopped with ServiceFailed"),
    ],

    # your_own_backend
    "any_order": [
        ('return "open"', "return status", "charge.late_success. seen: 'settle' expected: 'paid' line 5:"),
        ('return "refunded"', "return status", "seen: 'open' expected: 'refunded'"),
        ("", _STATUS.format(_HIGHER).replace('"paid", "refunded"', '"refunded", "paid"'),
         "seen: 'paid' expected: 'refunded'"),
        ("", _STATUS.format("max(status, said)"), "seen: 'settle' expected: 'paid'"),
        ("", _STATUS.format("min(status, said, key=steps.index)"),
         "order: charge.late_success. seen: 'open' expected: 'settle'"),
        ("", _STATUS.format("said if steps.index(said) > steps.index(status) else None"),
         "order: charge.failed. seen: None expected: 'open'"),
        ("", _STATUS.format("said if steps.index(said) == steps.index(status) + 1 else status"),
         "order: charge.succeeded. seen: 'open' expected: 'paid'"),
        ("", _STATUS.format("steps[min(steps.index(status) + steps.index(said), 3)]"),
         "order: charge.late_success, charge.late_success. seen: 'paid' expected: 'settle'"),
        ("", _STATUS.format(_HIGHER).replace('.get(event_type, "open")', "[event_type]"), "stopped with KeyError"),
        ("", "seen = []\n\n\n" + _STATUS.format("max(seen, key=steps.index)").replace(
            "    return", "    seen.append(said)\n    return"), "expected: "),
        ("", _STATUS.format(f'"open" if event_type == "charge.blessed" else {_HIGHER}'),
         "does not know changed the status of an order that was settle. seen: 'open' expected: 'settle'"),
    ],
    # explore_a_month
    "net_by_operator": [
        ("refunds, left", 'refunds.drop_duplicates("charge"), left', "One of two refunds is not subtracted. seen: K70"),
        ("refunds, left", f"{_SUMMED}, left", "A failed refund is subtracted. seen: K55.00 expected: K60.00"),
        ("", _BY_MERGE.replace("].groupby", '].drop_duplicates(["charge", "amount_minor"]).groupby', 1),
         "K25.00 and K25.00 of them went back. One of two refunds is not subtracted"),
        ("return both", "both", "has no return with a value"),
        ("", _NET.format("charges"), "A charge that failed counts too. seen: K67.00 expected: K60.00"),
        ("", _NET.format(_OF_PAID).replace(".groupby", ".div(100).groupby"), "count ngwee. seen: K0.50"),
        ("", _NET.format(_OF_PAID).replace(".groupby", ".mul(1.0).groupby"), "makes floats of them. seen: float64"),
        ("", _NET.format(_OF_PAID).replace(' - paid["refunded_minor"]', ""), "No refund is subtracted"),
        ("", _NET.format(_OF_PAID + '.query("refunded_minor > 0")'), "airtel has no amount. A payment without"),
        ("", _NET.format(_OF_PAID).replace(".sum()", ".sum().to_dict()"), "seen: dict expected: Series"),
        ("", 'def net_by_operator(charges, refunds):\n    return pd.Series({"mtn": 5000, "airtel": 6000})',
         "K300.00 were paid; K90.00 and K60.00 of them went back. seen: K50.00 expected: K150.00"),
        ("    paid = charges", "    charges['net'] = 0\n    paid = charges",
         "changes charges, which belongs to whoever"),
    ],
    # reconcile_and_settle
    "one_sided": [
        ('how="left"', 'how="right"', "A4 is in the ledger alone and is not reported"),
        ('how="left"', 'how="outer"', "C3 is on the statement alone, twice, and is reported twice: once is enough"),
        ('!= "both"', '== "both"', "Both sides have A1: compare the keys alone. seen: ['A1', 'A2']"),
        ('both.loc[both["_merge"] != "both", "key"]', "{'A3', 'A4'}, reverse=True", "The keys are not in order"),
        ("return sorted", "return len", "should return a list of keys. seen: int"),
        ("", 'def one_sided(ledger, statement):\n    return ["A3", "A4"]', "B3 is on the statement alone and is not"),
        ("", _KEYS.format("sorted(pd.concat([ledger, statement]).groupby('key').filter(lambda x: len(x) == 1)['key'])"),
         "C3 is on the statement alone, twice, and is not reported"),
        ("", _KEYS.format("sorted(set(ledger['key']) ^ set(statement['key']))"), "A row without a key stopped your"),
        ("", _KEYS.format("sorted(set(ledger['key']) ^ set(statement['key']), key=str)"), "without a key is reported."),
    ],
    # going_live
    "either_way": [
        (_CLOSES, f"{_READ}.created + 300", f"prompt_timeout_s = 180, {_OTHER_MOMENT}17"),
        (_CLOSES, "asked.status", f"With the defaults, {_OTHER_MOMENT}requires_action"),
        (_CLOSES, f"{_CLOSES} if asked.next_action else None",
         f"With confirm_response = accepted, {_OTHER_MOMENT}None"),
        (_CLOSES, f"str({_READ}.next_action.ussd_prompt.expires_at)", f"With the defaults, {_OTHER_MOMENT}17"),
        (_CONFIRM, _READ, "'NoneType' object has no attribute 'ussd_prompt'"),
        (f"{_CONFIRM}\n    return {_CLOSES}", f"{_READ}\n    return asked.created",
         "your code sent 0 confirms. seen: 0"),
        (f"    return {_CLOSES}", f"    if not asked.next_action:\n        asked = {_CONFIRM}\n    return {_CLOSES}",
         "code stopped with"),
        (f"    return {_CLOSES}", _TWICE, "With the defaults, your code sent 2 confirms. seen: 2 expected: 1"),
        (f"asked = {_CONFIRM}", _TO_ONE,
         "the prompt is not on this customer's phone alone. seen: +260961234567 expected:"),
    ],
}  # fmt: skip


IMPORTED = {**vars(errors), "errors": errors, "Decimal": Decimal, "json": json, "pd": pd, "verify": verify}
"""What the first cells of the notebooks import."""


@pytest.fixture
def tried(bench: Workbench, run_cell: Callable[[str, dict[str, Any]], str]) -> Callable[[str, str, str], str]:
    """Replaces code of a repair's cell, or all of it, and returns what its check prints."""

    def tried(name: str, old: str, new: str) -> str:
        cell = REPAIRS[name].written.cell
        assert not old or cell.count(old) == 1
        source = cell.replace(old, new) if old else f"{new}\n\n\n{cell[cell.index(CHECK) :]}"
        return run_cell(source, {"bench": bench, "pay": bench.client, "exercises": exercises} | IMPORTED)

    return tried


@pytest.mark.parametrize("name", REPAIRS)
def test_as_it_came_it_is_not_called_and_its_solution_is_right(
    bench: Workbench, tried: Callable[[str, str, str], str], name: str
):
    before = len(bench.trace)
    as_it_came = tried(name, CHECK, f"# a remark changes nothing\n{CHECK}")
    assert as_it_came.startswith("Not done yet: You have not changed the code yet.")
    assert tried(name, CHECK, f"7\n{CHECK}").startswith("Not right yet: "), "it is broken"
    for _ in ("once", "again"):
        assert tried(name, "", REPAIRS[name].solution).startswith("Done: ")
    assert len(bench.trace) == before, "it is tried in a sandbox of its own"


@pytest.mark.parametrize(
    ("name", "old", "new", "words"), [(name, *row) for name, rows in ATTEMPTS.items() for row in rows]
)
def test_a_wrong_attempt_is_told_its_fault(
    tried: Callable[[str, str, str], str], name: str, old: str, new: str, words: str
):
    told = tried(name, old, new)
    assert told.startswith("Not right yet: ")
    assert words in told
    assert "expected: " in told or "your code stopped with" in told.lower()
    assert re.findall(r" at 0x|The check cannot use|Traceback|workbench/", told) == []


@pytest.mark.parametrize(("name", "old", "new"), [(name, *row) for name, rows in RIGHT.items() for row in rows])
def test_another_right_way_is_right(tried: Callable[[str, str, str], str], name: str, old: str, new: str):
    assert tried(name, old, new).startswith("Done: ")


ASKS = "    return pay.payment_intents.retrieve(intent_id).status"
OF_ANY_FUNCTION = [
    (f"async def may_leave(pay, intent_id):\n{ASKS}", "Write def without async: a call of may_leave would not run it"),
    ("def may_leave(pay, intent_id):\n    yield True", "may_leave has a yield, so a call of it runs nothing"),
    (f"def may_leave(pay):\n{ASKS}",
     "seen: may_leave(pay) expected: may_leave(pay, intent_id) line 1: def may_leave(pay)"),
    ("def may_leave(pay, intent_id):\n    ...", "may_leave has no return with a value"),
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
    tried: Callable[[str, str, str], str], monkeypatch: pytest.MonkeyPatch, source: str, words: str
):
    if "while True" in source:
        set_timer = signal.setitimer
        monkeypatch.setattr(signal, "setitimer", lambda which, after, *more: set_timer(which, after and 0.2, *more))
    told = tried("only_when_paid", "", source)
    assert told.startswith("Not right yet: ")
    assert words in told
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0, "it rings no more"


def test_each_has_eight_wrong_solutions():
    assert {name: len(rows) >= 8 for name, rows in ATTEMPTS.items()} == dict.fromkeys(REPAIRS, True)
    assert [name for name, each in REPAIRS.items() if "def " not in inspect.cleandoc(each.written.cell)] == []
