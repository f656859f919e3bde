"""The exercises: what a check says of each usual mistake, and that nothing a person does makes it raise."""

import ast
import base64
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tests.conftest import cells_of
from workbench import Workbench, exercises, resources
from workbench.errors import ApiError, ExerciseNotDone, InvalidRequest, PaymentDeclined, ServiceUnreachable
from workbench.lab.exercises import EXERCISES, FILE_VARIABLE, check, progress
from workbench.lab.exercises.judging import Exercise

Said = Callable[..., str]
PHONE, PROVIDER, PREFIX = "+260961234567", "mtn", "+26096"
BY_NAME = {each.name: each for each in EXERCISES}
ON_THE_BENCH = [each for each in EXERCISES if list(inspect.signature(each.check).parameters) == ["bench"]]
FILE = Path(".workbench") / "progress.json"
MINE = "whsec_" + base64.b64encode(b"a secret that nobody issued").decode()
EVENT = {"id": "evt_mine", "type": "charge.failed", "timestamp": "", "data": {"object": {}}}
TRY, CONFIRM = "try:\n    {}\nexcept ApiError:\n    pass", ".payment_intents.confirm(it.id, provider=provider, phone="
CHARGE = 'pay.charges.create(amount={0}, channel=provider, phone={2}, reference="ORDER-2001", idempotency_key="{1}")'
STEPS = {
    "buy": 'it = pay.payment_intents.create(amount=Decimal("{1}"), description="{0}")',
    "order": 'it = pay.payment_intents.create(amount=Decimal("{1}"), description="{0}", metadata={{"order": "{2}"}})',
    "annul": "pay.payment_intents.cancel(it.id)",
    "ring": f"pay{CONFIRM}phone)",
    "ring_at": f'pay{CONFIRM}prefix + "000000{{0}}")\npay.wait(it.id)',
    "app": f"app{CONFIRM}phone, client_secret=it.client_secret)",
    "app_without_secret": TRY.format(f"app{CONFIRM}phone)"),
    "app_with_another": "secret = shop.payment_intents.create(amount=Decimal(5)).client_secret\n"
    + TRY.format(f"app{CONFIRM}phone, client_secret=secret)"),
    "app_with_token": 'token = pay.auth.token(email="shop@example.com", password="x").access_token\n'
    f"bench.client_with(token){CONFIRM}phone)",
    "attempt": 'attempt(it.id, prefix + "0000001")',
    "pin": 'handset.enter_pin("1234")',
    "bad": 'handset.enter_pin("0000")',
    "refuse": "handset.cancel()",
    "refund": "pay.refunds.create(payment_intent=it.id, amount={0} or None)",
    "refund_charge": "pay.refunds.create(charge=pay.payment_intents.retrieve(it.id).latest_charge, amount={0} or None)",
    "pay_out": 'pay.payouts.create(amount=pay.balance.retrieve().available[0].amount, currency="ZMW")',
    "charge": CHARGE.format("{0}", "{1}", "phone"),
    "outage": "bench.operator.outage(provider, seconds={0})",
    "later": "bench.clock.advance(seconds={0})",
    "deaf": "for each in pay.webhook_endpoints.list().data: pay.webhook_endpoints.delete(each.id)",
    "down": """
is_up = False
@receiver.on("payment_intent.succeeded")
def keep(event):
    if not is_up:
        raise OSError
""",
    "up": "is_up = True",
    "replay": "pay.deliveries.replay_dead_letters()",
    "replay_each": "for each in pay.deliveries.list(limit=100).data:\n"
    '    if each.status != "delivered": pay.deliveries.replay(each.id)',
    "hurry": "for each in pay.deliveries.list(status='pending').data * 10: pay.deliveries.replay(each.id)",
    "replay_event": 'pay.events.replay(pay.deliveries.list(status="dead_letter").data[0].event)',
    "no_secrets": "kept = [*receiver.secrets]\nreceiver.secrets.clear()",
    "secrets": "receiver.secrets[:] = kept",
    "outage_of_airtel": 'bench.operator.outage("airtel", seconds=300)',
}
"""What people do, a word for each: `buy:Fern:35.50 ring pin`. `it` is the intent that was made last."""


def code_of(story: str) -> str:
    steps = (step.split(":") for step in story.split())
    usual = {"buy": "150.00", "refund": "None", "refund_charge": "None"}
    return "".join(STEPS[name].format(*values, usual.get(name, "")) + "\n" for name, *values in steps)


@pytest.fixture(autouse=True)
def _nobody_has_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A process in which nothing has been done, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    progress.cache_clear()
    exercises._hints_shown.clear()  # noqa: SLF001  what a new kernel would not know
    yield
    progress.cache_clear()


def do(bench: Workbench, code: str, **more: object) -> dict[str, Any]:
    pay = bench.client

    def attempt(intent_id: str, number: str) -> object:
        pay.payment_intents.confirm(intent_id, phone=number, provider=PROVIDER)
        return pay.wait(intent_id, timeout_s=400)

    names = {"bench": bench, "pay": pay, "shop": pay, "app": bench.client_with(bench.publishable_key)}
    names |= {"amount": "150.00", "phone": PHONE, "provider": PROVIDER, "prefix": PREFIX, "prefixes": {"mtn": PREFIX}}
    names |= {"Decimal": Decimal, "attempt": attempt, "handset": bench.phone(PHONE), "receiver": bench.receiver}
    names |= {"ServiceUnreachable": ServiceUnreachable, "ApiError": ApiError, "pd": pd}
    names |= {"PaymentDeclined": PaymentDeclined, "InvalidRequest": InvalidRequest, **more}
    exec(code, names)  # noqa: S102  our own lines
    return names


def own(  # noqa: PLR0913  one mistake each, by name
    signature: str = "",
    *,
    milliseconds: bool = False,
    body: object = None,
    handler: str = "pass",
    secret: str = "",
    at: str = "",
    spaces: bool = False,
    drop: str = "",
) -> str:
    """A message that somebody signs, with a mistake in it."""
    return f"""
from workbench.domain.signatures import headers_for
@receiver.on("charge.failed")
def handle(event):
    {handler}
body = {json.dumps(body or {}).encode()!r}
secret = {secret!r} or receiver.secrets[0]
headers = headers_for(secret, "evt_mine", bench.clock.now_ms // {1 if milliseconds else 1000} {at}, body)
headers["webhook-signature"] = {signature!r} or headers["webhook-signature"]
headers.pop({drop!r}, None)
body = body.replace(b": ", b":") if {spaces} else body
receiver.receive(body, headers)
"""


MISTAKES = {
    "second_payment": {
        "": "Not done yet: No intent with the description Fern is there. exercises.hint",
        "buy:Ferm:35.50 ring pin": "seen: the newest has 'Ferm' expected: 'Fern'",
        "buy:Fern:0.36 ring pin": "Not right yet: The amount of the Fern is not its price. seen: K0.36",
        "buy:Fern:35.50": "Not done yet: The intent for the Fern is there, and no prompt",
        "buy:Fern:35.50 ring pin buy:Fern:35.50 ring": "Done: ",
        "buy:Fern:35.50 ring pin buy:Fern:35.50 annul": "Done: ",
        "buy:Fern:3550.00 ring pin buy:Fern:35.50 ring": "Not done yet: A prompt for the Fern",
        "buy:fern:35.50 ring pin": "The description is written differently. seen: 'fern' expected: 'Fern'",
        "buy:Fern:35.50 ring refuse": "The last attempt at the Fern has failed with declined_by_customer",
        "buy:Fern:35.50 ring bad bad bad": "The last attempt at the Fern has failed with wrong_pin",
        "buy:Fern:35.50 ring annul": "was canceled",
        "buy:Monstera ring pin buy:Fern:35.50 attempt": "Another customer has paid for the Fern",
    },
    "second_try": {
        "buy:Basil ring bad bad pin": "No attempt at the Basil has failed with wrong_pin",
        "buy:Basil ring bad bad bad": "at the Basil has failed with wrong_pin. Confirm the same intent again",
        "buy:Basil ring bad bad bad ring": "A prompt for the Basil waits on the phone.",
        "buy:Basil ring bad bad bad ring refuse": "has failed with declined_by_customer. Confirm the same intent again",
        "buy:Basil ring bad bad bad buy:Basil ring": "and another was created. One intent should see both",
        "buy:Basil ring bad bad bad ring pin buy:Basil ring pin": "The customer has paid twice",
        "buy:Basil ring bad bad bad ring_at:1": "on the same number. seen: +26096••••001, +26096••••567 expected: one",
        "buy:Basil ring_at:3 ring pin": "Another customer has tried again",
        "buy:Basil ring bad bad bad ring pin": "Done: One intent, 2 attempts: wrong_pin, and then paid.",
        "buy:Basil ring bad bad bad ring refuse ring pin": "Done: One intent, 3 attempts",
    },
    "in_debt": {
        "": "Not done yet: No intent with the description Lily is there",
        "buy:lily:80.00 ring pin later:86400 pay_out refund": "seen: 'lily' expected: 'Lily'",
        "buy:Lily ring": "waits on the phone. Enter the PIN 1234 on it. seen: requires_action expected: succeeded",
        "buy:Lily ring refuse": "at the Lily has failed with declined_by_customer. Confirm the same intent",
        "buy:Rose:80.00 ring pin later:86400 pay_out refund buy:Lily:60.00 ring pin": "Not done yet: The Lily is sold",
        "buy:Rose:90.00 ring pin later:86400 pay_out buy:Lily:80.00 ring pin refund": "seen: K2.00 owed",
        "buy:Lily ring pin later:86400 refund": "came out of the merchant's own balance",
        "buy:Lily:80.00 ring pin later:86400 pay_out refund": "Done: The merchant owes K80.00 for this Lily",
        "buy:Lily:80.00 ring pin later:86400 pay_out refund:50 refund:30": "Done: The merchant owes K80.00",
        "buy:Lily:80.00 ring pin later:86400 pay_out refund_charge": "Done: The merchant owes K80.00",
        "buy:Lily:80.00 ring pin later:86400 pay_out refund_charge:5000": "seen: K50.00 refunded expected: K80.00",
        "buy:Lily:80.00 ring pin refund buy:Lily:70.00 ring pin later:86400 pay_out refund": "Done: ",
    },
    "from_the_app": {
        "buy:Lily ring refuse app pin": "The intent was confirmed with the secret key, which an app must not hold",
        "buy:Lily app_without_secret": "rejected: With a publishable key, client_secret is required. seen: 403",
        "buy:Lily app_with_another": "rejected: client_secret is of another intent. seen: 403 expected: 200",
        "buy:Lily app_with_token pin": "The intent was confirmed with an access token",
        "buy:Lily app": "A prompt for the Lily waits on the phone. Enter the PIN 1234 on it.",
        "buy:Lily app refuse": "The last attempt at the Lily has failed with declined_by_customer",
        "buy:Lily app pin buy:Lily app pin": "The customer has paid twice: two intents for one Lily.",
        "buy:Lily app pin buy:Lily app": "Done: ",
        "buy:lily app pin": "seen: 'lily' expected: 'Lily'",
    },
    "patience": {
        "buy:Sage": "no prompt was sent yet: confirm it",
        "buy:Sage outage:300 attempt": "The last attempt has met the outage. Let the whole outage pass",
        "outage:300 buy:Sage attempt later:100 attempt": "seen: failed with operator_unavailable: 2 expected:",
        "outage:60 buy:Sage attempt later:300 attempt": "seen: 60 seconds expected: 300 seconds",
        "outage:300 buy:Sage attempt outage:0 attempt": "while the outage should have lasted",
        "outage:300 buy:Sage attempt later:300 buy:Sage attempt": "and another was created. One intent should",
        "outage_of_airtel buy:Sage attempt": "begin the outage first",
        "outage:300 buy:Sage attempt later:300 ring refuse": "last attempt at the Sage has failed with declined",
        "outage:300 buy:Sage attempt later:300 ring_at:2": "at the Sage has failed with insufficient_funds",
        "outage:300 buy:Sage attempt later:100 ring_at:9 later:300 ring_at:9": "the operator was not down: a script or",
        "outage:60 buy:Sage attempt later:60 outage:300 attempt later:300 attempt": "Done: One intent, 3 attempts",
        "outage:300 buy:Sage attempt later:300 ring refuse attempt": "Done: One intent, 3 attempts",
        "outage:300 buy:Sage attempt later:100 attempt later:200 attempt": "Done: One intent, 3 attempts",
        "outage:300 buy:Sage attempt later:300 attempt": "Done: One intent, 2 attempts",
    },
    "lost_and_found": {
        "buy:Rose ring pin": "while its database was up",
        "deaf buy:Rose ring pin": "The shop was not told of the Rose",
        "down buy:Rose ring pin later:60": "let more time pass. seen: 2 failed attempts expected: 10",
        "down buy:Rose ring pin later:345600 replay": "Bring the database back, and have it replayed.",
        "down buy:Rose ring pin up replay_each": "before it was a dead letter. Keep the database down. seen: 1 failed",
        "down buy:Rose ring pin hurry up replay_each": "while the service still retried it. Let time pass, with",
        "no_secrets buy:Rose ring pin later:345600 secrets replay": "The receiver refused the message, and its handler",
        "down buy:Rose ring pin later:86400 up later:259200": "before it was a dead letter",
        "down buy:Rose ring pin later:345600 replay up later:60": "Done: ",
        "down buy:Rose ring pin later:345600 up replay_each": "Done: ",
        "down buy:Rose ring pin later:345600 up replay_event": "Done: ",
        "down buy:Rose ring pin later:345600 up replay buy:Rose ring pin": "Done: ",
    },
}
WRONG_TYPE = {**EVENT, "type": "charge.succeeded"}
SURELY = BY_NAME["charge_surely"].solution
SIGNATURE = SURELY.partition("\n")[0]
ALONE, RAISES, ENDLESS = "except ServiceUnreachable", SURELY[SURELY.index("    raise") :], "iter(int, 1)"
AGAIN = "client.charges.create(**order, idempotency_key=key"
CASES = [
    *((name, code_of(story), words) for name, rows in MISTAKES.items() for story, words in rows.items()),
    *(("own_message", code, words) for code, words in {
        "": "Not done yet: No message with the webhook-id evt_mine",
        own(body={**EVENT, "id": 7}): "not an event: it needs id, type and timestamp as texts",
        own(milliseconds=True): "The present second is bench.clock.now_ms // 1000. seen: timestamp_",
        own(body=EVENT, at="+ 301"): "The present second is bench.clock.now_ms // 1000. seen: timestamp_in_future",
        own(body=EVENT, at="- 301"): "The message was signed 301 s ago; 300 s are allowed.",
        own(body=EVENT, secret=MINE): "No signature fits these bytes with this secret",
        own(body=EVENT, spaces=True): "The signature fits the same JSON written another way",
        own(body=EVENT, drop="webhook-timestamp"): "The header webhook-timestamp is missing",
        own(body=EVENT, handler="raise OSError"):
            "a handler failed with OSError, in line 5 of handle: raise OSError. Take a type without a handler",
        own(body=WRONG_TYPE): "seen: charge.succeeded expected: charge.failed",
        own(body=WRONG_TYPE) + own(body=EVENT): "Done: ",
        own(body={**EVENT, "id": "evt_yours"}): "Here the body has another id. seen: evt_yours expected: evt_mine",
        f"receiver.secrets.append({MINE!r})" + own(body=EVENT, secret=MINE): "a secret of your own",
        own(body=EVENT): "Done: The receiver accepted it",
        own(body=EVENT).replace("e(body, headers)", "e(body, {name.title(): each for name, each in headers.items()})"):
            "Done: The receiver accepted it",
        f"receiver.receive(*bench.sign({EVENT!r}))": "Done: The receiver accepted it",
    }.items()),
    *(("charge_surely", code, words) for code, words in {
        f"{SIGNATURE} pass": "Not done yet: The function has not charged anybody",
        SURELY: "Done: ",
        SURELY.replace("return client", "client"): "charge_surely has no return with a value",
        SURELY.replace(f"return {AGAIN})", f"return len(str({AGAIN})))"):
            "Now return the charge, so that the shop knows it. seen: ",
        SURELY.replace("{order['reference']}-attempt-1", "k"): "the key is the same for every order",
        SURELY.replace("    for _", "    import uuid\n    key = str(uuid.uuid4())\n    for _"):
            "Asked for the same order again, as after a restart, the customer has paid 2 times",
        SURELY.replace("client.charges", "bench.client.charges"): "charge_surely uses the notebook's bench",
        SURELY.replace("range(5)", ENDLESS).replace(ALONE, "except"): "The function has asked 100 times, and goes on",
        SURELY.replace("    key", "    order['currency'] = 'ZMW'\n    key"): "charge_surely changes order",
        SURELY.replace("range(5)", "range(2)"):
            "The customer has paid and the shop does not know. seen: 2 requests, then RuntimeError",
        SURELY.replace("**order", "**{**order, 'amount': 100}"): "seen: K1.00 expected: K25.00",
        SURELY.replace("**order", "**order | {'amount': 100 + _}"): "IdempotencyKeyReused: ",
        SURELY.replace(ALONE, "except ApiError"): "A response was lost and the function gave up",
        SURELY.replace(ALONE, "except (ServiceUnreachable, PaymentDeclined)"): "seen: 5 requests expected: 1 request",
        SURELY.replace(ALONE, "except (ServiceUnreachable, InvalidRequest)"):
            "After an invalid request (400) the function has charged again",
        SURELY.replace(RAISES, "    return 'unknown'"): "seen: returned unknown expected: an exception line 8: return",
        SURELY.replace("    raise", f"    return {AGAIN} + '-2')\n    raise"): "Done: ",
        SURELY.replace(ALONE, "except PaymentDeclined:\n            return None\n        except ServiceUnreachable"):
            "After a decline (402) the function raises no exception",
        SURELY.replace(ALONE, "except PaymentDeclined as error:\n            return client.charges.retrieve("
            "error.facts['charge'])\n        except ServiceUnreachable"): "Done: ",
        SURELY.replace("RuntimeError", "ServiceUnreachable"): "Done: ",
        SURELY.replace("range(5)", "range(3)"): "Done: ",
        SURELY.replace("-attempt-1", ""): "Done: ",
        f"{SIGNATURE}\n    try:\n        return {AGAIN[:-3]}order['reference'])\n    {ALONE}:\n        for each in "
        "client.charges.each():\n            if each.reference == order['reference']:\n                return each\n"
        "        raise": "Done: ",
        SURELY.replace("_key=key", "_key=f'{key}-{_}'"):
            "Every request had a key of its own",
        f"{SIGNATURE}\n    price = order['amount']\n    return price / 0":
            "ZeroDivisionError: division by zero, in line 3 of charge_surely",
        "charge_surely = 7": "charge_surely is no function any more. seen: int expected: a function line 1",
    }.items()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "words"), CASES, ids=[f"{name}-{words[-20:]}" for name, _, words in CASES])
def test_a_mistake_is_told(bench: Workbench, verdict_on: Said, name: str, code: str, words: str):
    verdict = verdict_on(name, code, do(bench, "", exercises=exercises))
    assert words in verdict
    assert_names_its_fault(verdict)
    assert (f'exercises.hint("{name}") helps.' in verdict) is not verdict.startswith("Done")


@pytest.mark.parametrize(
    "name", [each.name for each in ON_THE_BENCH if each.name not in {"own_message", "lost_and_found"}]
)
def test_a_solution_is_right_and_may_be_run_again(bench: Workbench, said: Said, name: str):
    for _ in ("once", "run twice"):
        do(bench, BY_NAME[name].solution)
        assert said(check, name, bench).startswith("Done: ")


def _at_the_shop(bench: Workbench) -> dict[str, Any]:
    """A shop in this process that keeps its orders as the notebook's does."""
    orders: list[dict[str, Any]] = []

    class Shop:
        def shown(self, number: int) -> dict[str, Any]:
            order = orders[number - 1]
            intent = bench.client.payment_intents.retrieve(order["intent"])
            error = intent.last_payment_error
            status = "paid" if intent.status == "succeeded" else "open"
            return order | {"status": status, "reason": error.code if error else ""}

    def buy(plant: str) -> dict[str, Any]:
        intent = bench.client.payment_intents.create(amount=Decimal(150), description=plant)
        bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider=PROVIDER)
        orders.append({"number": len(orders) + 1, "intent": intent.id, "plant": plant})
        return shop.shown(len(orders))

    shop = Shop()
    return {"buy": buy, "shop": shop}


def _of_two_weeks(bench: Workbench) -> dict[str, Any]:
    bench.simulate(payments=60, days=14)
    charges = bench.tables.charges
    paid = charges[charges["status"] == "succeeded"]
    return {"charges": charges, "paid": paid, "weekday": pd.to_datetime(paid["business_date"]).dt.day_of_week}


def _reconciled(_: Workbench) -> dict[str, Any]:
    breaks = pd.DataFrame({
        "account": ["operator:mtn:float"] * 3 + ["bank:settlement"],
        "code": ["fee_mismatch", "amount_mismatch", "timing", "payout_unpaid"],
        "variance_minor": [5, -900, 70, 10_000],
    })  # fmt: skip
    proof = breaks[["account"]]

    def part(*places: int) -> SimpleNamespace:
        return SimpleNamespace(breaks=breaks.iloc[[*places]], proof=proof.head(1))

    whole = SimpleNamespace(breaks=breaks, proof=proof)
    return {"result": whole, "second": whole, "breaks": breaks, "part": part}


def _examined(_: Workbench) -> dict[str, Any]:
    """What the notebook defines above the exercise: its shops, and how it examines one."""
    code = [each for each in cells_of("going_live") if "outputs" in each and "exercise" not in str(each["metadata"])]
    defining = (ast.Import, ast.ImportFrom, ast.AnnAssign, ast.ClassDef, ast.FunctionDef)
    tree = [each for cell in code for each in ast.parse(cell["source"]).body if isinstance(each, defining)]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(tree, []), "going_live", "exec"), names)  # noqa: S102  our own cells
    return {name: names[name] for name in ("Shop", "Strict", "Forgetful", "examined")}


REPAIRED = """
class Repaired(Strict):
    def __init__(self, bench):
        Shop.__init__(self, bench{})
        self.files = {{}}
        self.receiver.on({})(self.file)

    def file(self, event):
        subject = event.type.partition(".")[0]
        {}
"""
FILED = 'self.files[event.id] = self.subjects.get(subject, "other")'
LIKE_A_FUNCTION = """
def Repaired(bench):
    shop, shop_files = Shop(bench), {}
    shop.files = shop_files

    @shop.receiver.on("*")
    def file(event):
        known = {**Strict.subjects, "plant": "other"}
        shop_files[event.id] = known.get(event.type.split(".")[0], "other")

    return shop
"""
BLIND = "\nall_of_it = examined\ndef examined(make):\n    return all_of_it(make, with_orders=False)"
TWICE = "\n    def fulfil(self, event):\n        self.fulfilled[event.data.object['id']] += 2"
WEEKEND, OF_MTN = 'weekend_minor = {}.loc[{}, "amount_minor"].sum()', "breaks[breaks.account == 'operator:mtn:float']"
READ_AGAIN = "\nbench.clock.advance(0)\nmint = shop.shown(mint['number'])"
CANCEL = "\nbench.phone(phone).cancel()"
ANSWERS: dict[str, tuple[Callable[[Workbench], dict[str, Any]], dict[str, str]]] = {
    "refused_order": (_at_the_shop, {
        'mint = "Mint"': "mint is not the order as shop.shown returns it",
        'mint = buy("Mint")["intent"]': "seen: pi_",
        'mint = {"number": 1, "plant": "Mint", "status": "open", "reason": "",\n'
        '        "intent": bench.client.payment_intents.create(amount=Decimal(150)).id}':
            "The shop has asked nobody for the money of this order.",
        'mint = buy("Fern")': "an order of another plant. seen: Fern expected: Mint",
        f'mint = buy("Mint"){CANCEL}': "before the shop heard of the refusal",
        f'mint = buy("Mint")\nbench.phone(phone).enter_pin("1234"){READ_AGAIN}':
            "did not refuse this payment. seen: paid expected: declined_by_customer",
        f'mint = buy("Mint")\nbench.clock.advance(minutes=6){READ_AGAIN}':
            "did not refuse this payment. seen: prompt_timeout",
        f'mint = buy("Mint"){CANCEL}\nmint |= {{"status": "failed", "reason": "declined_by_customer"}}':
            "seen: failed, declined_by_customer expected: open, declined_by_customer",
    }),
    "weekends": (_of_two_weeks, {
        WEEKEND.format("paid", "weekday >= 0"): "It counts all days of the month",
        WEEKEND.format("paid", "weekday == 5"): "It counts the Saturdays alone",
        WEEKEND.format("paid", "weekday > 5"): "It counts the Sundays alone: pandas numbers a Saturday 5",
        WEEKEND.format("paid", "weekday < 5"): "It counts the days from Monday to Friday",
        WEEKEND.format("paid", "weekday >= 4"): "It counts the Fridays too",
        WEEKEND.format("paid", "paid.created_at.dt.day_of_week >= 5"): "two hours earlier: use business_date",
        WEEKEND.format("charges", "charges.created_at.dt.day_of_week >= 5"):
            "It counts failed charges too. It takes the days in UTC",
        WEEKEND.format("charges", "pd.to_datetime(charges.business_date).dt.day_of_week >= 5"): "failed charges too",
        f"{WEEKEND.format('paid', 'weekday >= 5')} // 100": "This is in kwacha, and the tables count ngwee",
        f"{WEEKEND.format('paid', 'weekday >= 5')} / 100": "a whole number of ngwee: an int. seen: float64",
        "weekend_minor = (paid.amount_minor - paid.refunded_minor)[weekday >= 5].sum()":
            "Your sum is after refunds; the task asks for the sum before refunds",
        "weekend_minor = int((weekday >= 5).sum())": "how many payments there are, not how much",
        "weekend_minor = 1": "Which charges count, and which days? seen: K0.01",
        "weekend_minor = sum(each.amount_minor for each in paid.itertuples() if each.business_date.weekday() > 4)":
            "Done: ",
        "by_day = paid.groupby(weekday)['amount_minor'].sum()\nweekend_minor = by_day.get(5, 0) + by_day.get(6, 0)":
            "Done: ",
        "import duckdb\nweekend_minor = duckdb.sql('''select sum(amount_minor) from charges where status = 'succeeded' "
        "and isodow(business_date) > 5''').fetchall()[0][0]": "Done: ",
    }),
    "what_is_left": (_reconciled, {
        f"left_minor = int({OF_MTN}.variance_minor.sum())":
            "Done: 3 breaks are left, and explain the difference of -825",
        "left_minor = breaks.groupby('account')['variance_minor'].sum()['operator:mtn:float']": "Done: ",
        "import duckdb\nleft_minor = duckdb.sql(\"select sum(variance_minor) from breaks where account like '%mtn%'\")"
        ".fetchall()[0][0]": "Done: ",
        "left_minor = -825": "This is right, and it is typed",
        f"left_minor = -int({OF_MTN}.variance_minor.sum())": "The sign is the other way round",
        f"left_minor = int({OF_MTN}.variance_minor.abs().sum())": "This adds up the variances without their signs",
        "left_minor = int(breaks.variance_minor.sum())":
            "the sum over all accounts. seen: 9,175 ngwee expected: the sum",
        f"left_minor = len({OF_MTN})": "how many breaks are left, not their sum",
        "left_minor = -9": "This is in kwacha, and the tables count ngwee", "left_minor = -8": "Which rows count",
        "left_minor = -8.25": "a whole number of ngwee: an int. seen: float",
        f"left_minor = {OF_MTN}.variance_minor": "seen: Series",
    }),
    "passes_the_exam": (_examined, {
        BY_NAME["passes_the_exam"].solution: "Done: All 34 examined checks are passed, orders included",
        LIKE_A_FUNCTION: "Done: ",
        REPAIRED.format("", '"*"', FILED.replace("get(subject", "get(event.type.split('.')[0]")): "Done: ",
        "Repaired = Strict": "The shop fails 3 of 37 checks, the first of them: An event of a type that you do not",
        "Repaired = Strict(bench)": "a class, or a function, that takes a sandbox and returns a shop. seen: Strict",
        "Repaired = Shop": "The shop has no files any more. seen: NoneType",
        REPAIRED.format(", tolerance_s=7200", '"*"', FILED): "fails 2 of 37 checks, the first of them: A message from",
        REPAIRED.format("", '"*"', "self.files[event.id] = self.subjects[subject]"):
            "The shop fails 1 of 37 checks, the first of them: An event of a type that you do not know.",
        REPAIRED.format("", '"*"', FILED.replace(', "other"', "")):
            "of the type plant.watered and has not filed it under 'other'. seen: None expected: 'other'",
        REPAIRED.format("", '"*"', "self.files[event.id] = 'other'"): "it under 'orders'. seen: 'other'",
        REPAIRED.format("", '"*"', f"{FILED}\n        self.files[event.type] = 'other'"):
            "more in its files than the events that it has accepted. seen:",
        REPAIRED.format(", seen=Forgetful()", '"*"', FILED): "The same message again: its order",
        REPAIRED.format("", '"*"', FILED) + TWICE: "A paid payment: its order",
        REPAIRED.format("", '"*"', FILED) + BLIND: "The exam left 12 of 37 checks out",
        f"{REPAIRED.format('', '*', FILED)}".replace("(*)", "(event)"): "code stopped with NameError",
    }),
}  # fmt: skip


@pytest.fixture
def verdict_on(run_cell: Said) -> Said:
    """Puts code above the check of an exercise, and returns what the check prints."""

    def verdict_on(name: str, code: str, names: dict[str, Any]) -> str:
        check = next(line for line in BY_NAME[name].written.cell.splitlines() if line.startswith("exercises.check("))
        return run_cell(f"{code}\n\n{check}\n", names)

    return verdict_on


def test_an_order_that_was_left_on_the_phone_is_cleared_and_the_cell_run_again(bench: Workbench, verdict_on: Said):
    names = do(bench, "", exercises=exercises, **_at_the_shop(bench))
    refused = f'mint = buy("Mint"){CANCEL}{READ_AGAIN}'
    assert "prompt is still on the customer's phone" in verdict_on("refused_order", 'mint = buy("Mint")', names)
    assert "Cancel every prompt" in verdict_on("refused_order", refused, names)
    bench.phone(PHONE).cancel()
    for _ in ("once", "again"):
        assert verdict_on("refused_order", refused, names).startswith("Done: ")


@pytest.mark.parametrize(
    ("name", "code", "words"), [(name, *row) for name, (_, rows) in ANSWERS.items() for row in rows.items()]
)
def test_an_answer_is_judged(bench: Workbench, verdict_on: Said, name: str, code: str, words: str):
    names_of, _ = ANSWERS[name]
    names = do(bench, "", exercises=exercises, **names_of(bench))
    verdict = verdict_on(name, code, names)
    assert words in verdict
    assert_names_its_fault(verdict)


@pytest.mark.parametrize(("checks", "is_cell"), [
    ('exercises.check("second_payment", bench)', True),
    ('exercises.check("second_try", bench)\nexercises.check("second_payment", bench)', False),
    ('for name in ["second_payment"]:\n    exercises.check(name, bench)', False),
])  # fmt: skip
def test_a_script_of_several_checks_is_no_cell_whose_line_is_named(
    bench: Workbench, run_cell: Said, checks: str, *, is_cell: bool
):
    told = run_cell(f"{code_of('buy:Fern:3550')}\n{checks}\n", do(bench, "", exercises=exercises))
    assert "seen: K3,550.00" in told
    assert (" line 1: it = pay" in told) is is_cell


def test_a_cell_that_is_run_again_may_sell_again_and_one_that_sells_twice_stays_wrong_until_it_sells_once(
    bench: Workbench, said: Said
):
    once = "buy:Fern:35.50 ring pin"
    told = []
    for story in (once, once, f"{once} {once}", "", once, ""):
        do(bench, code_of(story))
        told.append(said(check, "second_payment", bench).partition(":")[0])
    assert told == ["Done", "Done", "Not right yet", "Not right yet", "Done", "Done"]


def assert_names_its_fault(verdict: str) -> None:
    """What was seen and expected, or where the code stopped, and nothing of the inside of a check."""
    assert verdict.startswith(("Done: ", "Not done yet: ", "Not right yet: "))
    assert not verdict.startswith("Not right yet: ") or "expected: " in verdict or "code stopped with" in verdict
    assert re.findall(r" at 0x|The check cannot use|Traceback|workbench/", verdict) == []


def test_every_task_has_eight_wrong_solutions():
    wrong = Counter(name for name, _, words in CASES if not words.startswith("Done"))
    wrong += Counter(name for name, (_, rows) in ANSWERS.items() for words in rows.values() if words[:4] != "Done")
    tasks = [each.name for each in EXERCISES if not each.repair]
    assert {name: wrong[name] >= 8 for name in tasks} == dict.fromkeys(tasks, True)
    assert set(wrong) == set(tasks)


def test_without_a_weekend_there_is_nothing_to_add_up(bench: Workbench, said: Said):
    for story in ("", "buy:Sale:5.00 attempt"):
        do(bench, code_of(story))
        assert said(check, "weekends", bench, 0).startswith("Not done yet: No payment of a weekend")


class TestNothingRaises:
    @pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.name)
    @pytest.mark.thorough
    def test_whatever_is_handed_over(self, said: Said, exercise: Exercise):
        names = list(inspect.signature(exercise.check).parameters)
        for given in (7, "x", Exercise, [], {}):
            told = said(check, exercise.name, *[given] * len(names))
            assert told.startswith("Not right yet: ")
            assert "bench" not in names or "hand it your Workbench. seen: " in told
        for given in (None, ...):
            assert said(check, exercise.name, *[given] * len(names)).startswith("Not done yet: ")
        whole = f'exercises.check("{exercise.name}", {", ".join(names)})'
        assert whole in said(check, exercise.name), "too little is answered with the whole call"

    def test_a_closed_bench_says_what_to_do_and_a_check_that_breaks_that_it_did(
        self, said: Said, monkeypatch: pytest.MonkeyPatch
    ):
        with Workbench(seed=7) as bench:
            pass
        for exercise in ON_THE_BENCH:
            told = said(check, exercise.name, bench)
            assert told.startswith("Not ")
            assert exercise.name == "own_message" or "Run the notebook from its first cell" in told
        broken = replace(BY_NAME["second_payment"], check=lambda _: iter(()))
        monkeypatch.setattr(exercises, "EXERCISES", (broken,))
        assert "The check cannot use what it was handed (StopIteration: " in said(check, "second_payment", 7)


def test_a_name_that_is_none_and_a_run_in_which_all_must_be_done(
    bench: Workbench, said: Said, monkeypatch: pytest.MonkeyPatch
):
    for call in (check, exercises.hint, exercises.solution):
        assert "There is no exercise 'fren'. There are: second_payment," in said(call, "fren")
    monkeypatch.setenv(exercises.MUST_BE_DONE, "1")
    for name, words in (("second_payment", "second_payment is not done: No intent"), ("fren", "no exercise")):
        with pytest.raises(ExerciseNotDone, match=words):
            check(name, bench)
    do(bench, BY_NAME["second_payment"].solution)
    check("second_payment", bench)


def test_each_hint_tells_more_and_the_last_where_the_solution_is(said: Said, capsys: pytest.CaptureFixture[str]):
    exercise = BY_NAME["second_payment"]
    told = [said(exercises.hint, exercise.name) for _ in range(len(exercise.hints) + 2)]
    assert [exercise.written.task in each for each in told] == [True] * 5
    # Those that were shown are shown again.
    assert [text.count("Hint ") for text in told] == [1, 2, 3, 3, 3]
    assert told[-1] == told[-2]
    assert ['exercises.solution("second_payment") shows the code.' in each for each in told] == [False] * 3 + [True] * 2
    exercises.solution("second_payment")
    shown = capsys.readouterr().out
    assert exercise.solution in shown
    compile(shown, "a cell", "exec")


def report_of(name: str) -> str:
    return next(row[-1] for row in exercises.report().rows if row[2] == name)


@pytest.fixture
def another(bench: Workbench) -> Said:
    """Another notebook, which begins with what was kept: how far its report says that the exercise is."""

    def another(code: str) -> str:
        progress.cache_clear()
        do(bench, code)
        check("second_payment", bench)
        return report_of("second_payment")

    return another


class TestProgress:
    def test_it_is_reported_and_kept_beside_the_notebooks_where_somebody_looks(
        self, another: Said, bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        shown = exercises.report()._repr_mimebundle_()
        assert "<caption>Exercises: 0 of" in shown["text/html"]
        assert all(
            resources.notebook_name(each.notebook) in shown["text/plain"] and each.written.title in shown["text/html"]
            for each in EXERCISES
        )
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        assert (another(""), FILE.exists()) == ("not begun", False), "not done yet is nothing to keep"
        assert another(code_of("buy:Fern:1.00")) == "… tried"
        assert json.loads(FILE.read_text()) == {"exercises": {"second_payment": "tried"}}
        monkeypatch.delenv("JPY_SESSION_NAME")
        assert another(BY_NAME["second_payment"].solution) == "✓ done"
        assert json.loads(FILE.read_text()) == {"exercises": {"second_payment": "tried"}}, "nobody looks"
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        another("")
        do(bench, BY_NAME["from_the_app"].solution)
        # What another notebook keeps meanwhile is not lost.
        # An exercise of an earlier course is no exercise of this one.
        FILE.write_text('{"exercises": {"second_try": "done", "second_payment": "done", "pages_kept": "done"}}')
        check("from_the_app", bench)
        assert another(code_of("buy:Fern:2.00")) == "✓ done", "what was done once stays done"
        assert {report_of(each) for each in ("from_the_app", "second_try")} == {"✓ done"}
        assert [each.name for each in FILE.parent.iterdir()] == [FILE.name]
        # A notebook beside the course, in a folder of its own, goes on with what was kept.
        (tmp_path / "more").mkdir()
        monkeypatch.chdir(tmp_path / "more")
        progress.cache_clear()
        assert report_of("second_try") == "✓ done"
        monkeypatch.chdir(tmp_path)
        # A file that is named is used in any run.
        monkeypatch.delenv("JPY_SESSION_NAME")
        monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "deep" / "mine.json"))
        another("")
        assert "second_payment" in (tmp_path / "deep" / "mine.json").read_text()

    def test_a_file_that_cannot_be_read_or_written_is_no_error_said_once_and_left_as_it_is(
        self, another: Said, bench: Workbench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        FILE.parent.mkdir()
        do(bench, BY_NAME["second_payment"].solution)
        for text in ("", "{", "[]", "{}", '{"exercises": 7}', '{"exercises": {"a": "b"}}', "\udcff"):
            written = text.encode("utf-8", "surrogateescape")
            FILE.write_bytes(written)
            assert (another(""), report_of("second_payment")) == ("✓ done", "✓ done")
            assert capsys.readouterr().out.count("progress.json, which keeps your progress, cannot be read") == 1
            assert FILE.read_bytes() == written
        Path("gone").symlink_to("nowhere")
        monkeypatch.setenv(FILE_VARIABLE, "gone/mine.json")
        assert another("") == "✓ done"
        check("second_payment", bench)
        assert capsys.readouterr().out.count("cannot be written") == 1


def test_the_notebooks_cells_and_words_are_those_of_the_table_in_their_order():
    course = resources.course()
    numbered = [slug for slug, each in course.items() if each.number]
    assert list(dict.fromkeys(each.notebook for each in EXERCISES)) == numbered
    assert len(BY_NAME) == len(EXERCISES)
    calls = []
    for slug in course:
        sources = [cell["source"] for cell in cells_of(slug) if "exercise" in cell["metadata"].get("tags", ())]
        calls += [re.findall(r'^exercises\.check\("(\w+)", ([\w, ]+)\)$', source, re.MULTILINE) for source in sources]
    wanted = [[(each.name, ", ".join(inspect.signature(each.check).parameters))] for each in EXERCISES]
    assert calls == wanted
    counts = Counter(each.notebook for each in EXERCISES)
    assert counts == dict.fromkeys(numbered, 2)
    assert {each.notebook for each in EXERCISES if each.repair} == {*numbered}
    for exercise in EXERCISES:
        assert all(exercise.written)
        assert len(exercise.hints) >= 2
        assert "exercises.check" not in exercise.solution
        compile(exercise.solution, exercise.name, "exec")
        # A line of the solution may stand in the last hint alone.
        lines = [each.strip() for each in exercise.solution.splitlines() if len(each.strip()) > 12]
        assert [hint for hint in exercise.hints[:-1] if any(each in hint for each in lines)] == []


def test_a_check_leaves_no_trace_of_its_own(bench: Workbench):
    do(bench, BY_NAME["second_try"].solution)
    before = len(bench.trace)
    for each in ON_THE_BENCH:
        check(each.name, bench)
    assert len(bench.trace) == before
