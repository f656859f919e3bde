"""The exercises: what a check says of each usual mistake, and that nothing a person does makes it raise."""

import base64
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from workbench import Workbench, exercises, resources
from workbench.domain.gaps import Gaps
from workbench.errors import ApiError, ExerciseNotDone, ServiceUnreachable
from workbench.going_live import checklist
from workbench.lab.exercises import EXERCISES, check
from workbench.lab.exercises.progress import FILE_VARIABLE, progress
from workbench.lab.exercises.shape import Exercise, done
from workbench.register import relied_on

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
    "app_with_token": 'token = pay.auth.token(email="shop@example.com", password="x").access_token\n'
    f"bench.client_with(token){CONFIRM}phone)",
    "attempt": 'attempt(it.id, prefix + "0000001")',
    "pin": 'handset.enter_pin("1234")',
    "bad": 'handset.enter_pin("0000")',
    "refuse": "handset.cancel()",
    "refund": "pay.refunds.create(payment_intent=it.id)",
    "charge": CHARGE.format("{0}", "{1}", "phone"),
    "charge_at": CHARGE.format("{0}", "{1}", 'prefix + "000000{2}"'),
    "charge_refused": TRY.format(CHARGE.format("{0}", "{1}", "phone")),
    "charge_at_refused": TRY.format(CHARGE.format("{0}", "{1}", 'prefix + "000000{2}"')),
    "list": "pay.charges.list()",
    "no_json": 'bench.http.post("/v1/charges", content="{{", auth=(str(bench.secret_key), ""))',
    "outage": "bench.operator.outage(provider, seconds={0})",
    "fails_then_pays": 'bench.operator.script(prefix + "0000001", ["operator_unavailable", "approve"])',
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
}
"""What people do, a word for each: `buy:Fern:35.50 ring pin`. `it` is the intent that was made last."""


def code_of(story: str) -> str:
    steps = (step.split(":") for step in story.split())
    return "".join(STEPS[name].format(*values, "150.00" if name == "buy" else "") + "\n" for name, *values in steps)


WITHOUT_CODE = ["how_mobile_money_works", "for_support_staff"]
"""Notebooks for readers who write none: there is nothing to repair in them."""


@pytest.fixture(autouse=True)
def _nobody_has_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A process in which nothing has been done, in a folder of its own; nobody looks."""
    for name in (FILE_VARIABLE, exercises.MUST_BE_DONE, "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    progress.cache_clear()
    exercises._hints_shown.clear()  # noqa: SLF001  what a new kernel would not know
    yield
    progress.cache_clear()


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:

    def said(call: Callable[..., object], *given: object) -> str:
        capsys.readouterr()
        call(*given)
        return " ".join(capsys.readouterr().out.split())

    return said


def do(bench: Workbench, code: str, **more: object) -> dict[str, Any]:
    pay = bench.client

    def attempt(intent_id: str, number: str) -> object:
        pay.payment_intents.confirm(intent_id, phone=number, provider=PROVIDER)
        return pay.wait(intent_id, timeout_s=400)

    names = {"bench": bench, "pay": pay, "shop": pay, "app": bench.client_with(bench.publishable_key)}
    names |= {"amount": "150.00", "phone": PHONE, "provider": PROVIDER, "prefix": PREFIX, "prefixes": {"mtn": PREFIX}}
    names |= {"Decimal": Decimal, "attempt": attempt, "handset": bench.phone(PHONE), "receiver": bench.receiver}
    names |= {"ServiceUnreachable": ServiceUnreachable, "ApiError": ApiError, "pd": pd, **more}
    exec(code, names)  # noqa: S102  our own lines
    return names


def own(
    signature: str = "", *, milliseconds: bool = False, body: object = None, handler: str = "pass", secret: str = ""
) -> str:
    """A message that somebody signs, with a mistake in it."""
    return f"""
from workbench.domain.signatures import headers_for
@receiver.on("charge.failed")
def handle(event):
    {handler}
body = {json.dumps(body or {}).encode()!r}
secret = {secret!r} or receiver.secrets[0]
headers = headers_for(secret, "evt_mine", bench.clock.now_ms // {1 if milliseconds else 1000}, body)
headers["webhook-signature"] = {signature!r} or headers["webhook-signature"]
receiver.receive(body, headers)
"""


MISTAKES = {
    "second_payment": {
        "": "Not done yet: No intent with the description Fern",
        "buy:Fern:3550": "Not right yet: The amount of the Fern is not its price. seen: K3,550.00 expected: K35.50",
        "buy:Fern:35.50": "Not done yet: The intent for the Fern is there, and no prompt",
        "buy:fern:35.50 ring": "Not done yet: A prompt for the Fern",
        "buy:Fern:35.50 ring refuse": "The last attempt at the Fern has failed with declined_by_customer",
        "buy:Fern:35.50 annul": "was canceled",
        "buy:Monstera ring pin buy:Fern:35.50 attempt": "Another customer has paid for the Fern",
    },
    "exact_amount": {
        "order:Orchid:87.35:A-17 annul": "was canceled",
        "buy:Orchid:8735": "counts kwacha, not ngwee. seen: K8,735.00 expected: K87.35",
        "buy:Orchid:87.53": "is not its price. seen: K87.53 expected: K87.35",
        "buy:Orchid:87.35": "the metadata is not. seen: {} expected: {'order': 'A-17'}",
        "order:Orchid:87.35:17": "seen: {'order': '17'}",
    },
    "second_try": {
        "buy:Basil": "Not done yet: The intent for the Basil is there, and not confirmed",
        "buy:Basil ring pin": "No attempt at the Basil has failed with wrong_pin",
        "buy:Basil ring bad": "waits for a PIN",
        "buy:Basil ring bad bad bad": "confirm the same intent again",
        "buy:Basil ring bad bad bad buy:Basil ring pin": "and another intent was paid",
        "buy:Basil ring bad bad bad ring_at:1": "on the same number. seen: +26096••••001, +26096••••567 expected: one",
        "buy:Basil ring refuse ring pin": "seen: declined_by_customer, no failure expected: wrong_pin, no failure",
    },
    "net_of_39": {
        "": "Not done yet: No payment in the books",
        "buy:Sale:39.00 attempt": "merchant is owed K38.02. seen: K38.02 expected: K39.00",
        "buy:Sale:39.00 attempt buy:Sale:1.00 attempt": "the merchant is owed K38.02",
        "buy:Sale:40.00 attempt refund": "refunded",
    },
    "in_debt": {
        "": "Not done yet: No Lily",
        "buy:Lily ring": "Not done yet: No Lily",
        "buy:Lily ring pin": "Not done yet: The Lily is sold",
        "buy:Lily:80.00 ring pin refund": "seen: K2.00 owed expected: K80.00 owed",
        "buy:Lily ring pin later:86400 refund": "came out of the merchant's own balance",
    },
    "smallest_fee": {
        "": "Not done yet: No payment that small",
        "buy:Sale:0.49 attempt": "keeps nothing of K0.49: it is too small. seen: no fee",
        "buy:Sale:1.00 attempt": "keeps a fee of K1.00, and of a smaller payment too",
    },
    "lost_answer": {
        "": "Not done yet: No charge",
        "charge:12:a": "seen: K0.12 expected: K12.05",
        "charge:1205:a": "Now suppose that the response was lost",
        "charge:1205:a charge:1205:b": "seen: 2 payments expected: 1 payment",
        "charge_at:1205:a:5": "no test number. seen: pending expected: succeeded",
        "charge:1205:a charge_refused:1206:a": "refused with 422",
        "charge:1205:a charge_at_refused:1205:b:2": "The second request had a key of its own",
        "charge:1205:a list no_json": "suppose that the response",
        "charge:1205:a charge:1205:a": "Done: Asked 2 times",
    },
    "from_the_app": {
        "buy:Lily": "Not done yet: The intent for the Lily is there, and not confirmed",
        "buy:Lily ring pin": "It was confirmed with the secret key, which an app must not hold",
        "buy:Lily app_without_secret": "The confirm was rejected; bench.trace.exchanges shows why. seen: 403",
        "buy:Lily app_with_token pin": "It was confirmed with an access token",
        "buy:Lily app": "the customer has a PIN to enter",
    },
    "patience": {
        "buy:Sage": "and not confirmed",
        "buy:Sage ring pin": "begin the outage first",
        "buy:Sage outage:300 attempt": "Let time pass",
        "fails_then_pays buy:Sage attempt attempt": "begin the outage first",
        "buy:Sage ring_at:9 later:600 ring_at:9 later:600": "begin the outage first",
        "outage:300 later:300 fails_then_pays buy:Sage attempt attempt": "begin the outage first",
        "outage:60 buy:Sage attempt later:300 attempt": "seen: 60 seconds expected: 300 seconds",
        "outage:300 buy:Sage attempt outage:0 attempt": "while the outage should have lasted",
        "outage:300 buy:Sage attempt later:300 buy:Sage attempt": "and another intent was paid",
        "outage:300 buy:Sage attempt later:300 attempt": "Done: One intent, 2 attempts",
    },
    "lost_and_found": {
        "": "Not done yet: No Rose",
        "buy:Rose": "The customer has not paid",
        "buy:Rose ring pin": "while its database was up",
        "deaf buy:Rose ring pin": "The shop was not told of the Rose",
        "down buy:Rose ring pin later:60": "let more time pass. seen: 2 failed attempts expected: 10",
        "down buy:Rose ring pin later:60 up later:345600": "before it was a dead letter",
        "down buy:Rose ring pin later:345600": "Bring the database back",
        "down buy:Rose ring pin later:345600 up replay buy:Rose ring pin": "Done: ",
    },
    "relied_on_late": {
        "": "Not done yet: No payment relies on late_success",
        "buy:Lily ring": "The prompt is still open",
        "buy:Lily ring later:3600": "no money came after it. Use the test number whose money comes late. seen: prompt",
        "buy:Lily ring_at:5 later:3600": "prompt_timeout on +26096••••005 expected: a number whose money comes late",
    },
}
TOKEN = 'pay.auth.token(email="shop@example.com", password="x").access_token'
WRONG_TYPE = {**EVENT, "type": "charge.succeeded"}
SURELY = BY_NAME["charge_surely"].solution
SIGNATURE = SURELY.partition("\n")[0]
CASES = [
    *((name, code_of(story), words) for name, rows in MISTAKES.items() for story, words in rows.items()),
    *(("own_message", code, words) for code, words in {
        "": "Not done yet: No message",
        own("v1,AAAA"): "refused it: signature_mismatch",
        own(): "refused it: it is signed, and its body is no event",
        own(milliseconds=True): "of seconds, not of milliseconds",
        own(body=EVENT, handler="raise OSError"):
            "a handler failed with OSError, in line 5 of handle. Take a type without a handler",
        own(body=WRONG_TYPE): "seen: charge.succeeded expected: charge.failed",
        own(body=WRONG_TYPE) + own(body=EVENT): "Done: ",
        own(body={**EVENT, "id": "evt_yours"}): "The body has another. seen: evt_yours expected: evt_mine",
        f"receiver.secrets.append({MINE!r})" + own(body=EVENT, secret=MINE): "a secret of your own",
        own(body=EVENT): "Done: The receiver accepted it",
    }.items()),
    *(("plant_by_token", code, words) for code, words in {
        "": "Not done yet: No plant with the name Aloe",
        'pay.plants.create(id=1, name="Aloe")': "registered with a key. Ask for a token, and make a client with it. "
            "seen: Bearer sk_test_•••• expected: Bearer at_••••",
        'bench.http.post("/plants", json={"name": "Aloe"}, headers={"Authorization": "Bearer at_x"})':
            "The service refused the Aloe: bench.trace.exchanges[-1] says why. seen: 401 expected: 200",
        f'bench.client_with({TOKEN}).plants.create(id=1, name="Fern")': "Not done yet: No plant with the name Aloe",
        f'bench.client_with({TOKEN}).plants.create(id=1, name="Aloe")': "Done: ",
    }.items()),
    *(("charge_surely", code, words) for code, words in {
        f"{SIGNATURE} pass": "Not done yet: The function has not charged anybody",
        f"{SIGNATURE}\n    return client.charges.create(**order, idempotency_key=order['reference'])":
            "Not right yet: A response was lost and the function gave up",
        SURELY: "Done: ",
        SURELY.replace("return client", "client").replace("    raise", "    # raise"): "Now return the charge",
        SURELY.replace("    for _", "    import uuid\n    for _").replace("_key=key", "_key=str(uuid.uuid4())"):
            "seen: 3 payments expected: 1",
        SURELY.replace("return", "").replace("range(5)", "iter(int, 1)"): "has asked 100 times",
        SURELY.replace("{order['reference']}-attempt-1", "k"): "the key is the same for every order",
        SURELY.replace("    for _", "    import uuid\n    key = str(uuid.uuid4())\n    for _"):
            "Asked for the same order again, as after a restart, the customer has paid 2 times",
        SURELY.replace("client.charges", "bench.client.charges"): "another client than the one it was handed",
        SURELY.replace("**order", "**{**order, 'amount': 100}"): "seen: K1.00 expected: K25.00",
        SURELY.replace("**order", "**order | {'amount': 100 + _}"): "IdempotencyKeyReused: ",
        SURELY.replace("range(5)", "iter(int, 1)").replace("except ServiceUnreachable", "except Exception")
            .replace("{order['reference']}", ""): "the key is the same for every order",
        f"{SIGNATURE}\n    price = order['amount']\n    return price / 0":
            "ZeroDivisionError: division by zero, in line 3 of charge_surely",
        "charge_surely = 7": "TypeError",
    }.items()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "words"), CASES, ids=[f"{name}-{words[-20:]}" for name, _, words in CASES])
def test_a_mistake_is_told(bench: Workbench, said: Said, name: str, code: str, words: str):
    names = do(bench, code)
    told = said(check, name, *(names[each] for each in inspect.signature(BY_NAME[name].check).parameters))
    assert words in told
    assert (f'exercises.hint("{name}") helps.' in told) is not told.startswith("Done")


@pytest.mark.parametrize(
    "name", [each.name for each in ON_THE_BENCH if each.name not in {"own_message", "lost_and_found"}]
)
def test_a_solution_is_right_and_may_be_run_again(bench: Workbench, said: Said, name: str):
    for _ in ("once", "run twice"):
        do(bench, BY_NAME[name].solution)
        assert said(check, name, bench).startswith("Done: ")


def test_an_order_is_followed_to_the_shop(bench: Workbench, said: Said):
    it, paid = (do(bench, code_of(story))["it"] for story in ("buy:Mint", "buy:Mint attempt"))
    order = {"intent": it.id, "plant": "Mint", "status": "open"}
    refused = {**order, "status": "open: declined_by_customer"}
    for story, mint, words in (
        ("", "Mint", "the order as the shop answers with it"),
        ("", {"intent": it.id}, "the order as the shop answers with it"),
        ("", {**order, "intent": "pi_1"}, "the order as the shop answers with it"),
        ("", {**order, "plant": "Fern"}, "This is another order. seen: Fern expected: Mint"),
        ("", order, "asked nobody"),
        ("ring", order, "prompt is on the customer's phone"),
        ("refuse", order, "the order as it was before"),
        ("", {**order, "status": "paid"}, "seen: paid expected: open: declined_by_customer"),
        ("", {**refused, "intent": paid.id}, "did not refuse. seen: paid expected: declined_by_customer"),
        ("", refused, "Done: "),
    ):
        do(bench, code_of(story), it=it)
        assert words in said(check, "refused_order", bench, mint)


def test_words_and_digits_that_were_read_off_a_page(bench: Workbench, said: Said, tmp_path: Path):
    for answer, words in (
        ("merchant", "days later"), ("Provider", "who keeps the wallets"), ("bank", "sweep"),
        ("customer", "give it away"), ("wallet", "one of these words"), (" Operator ", "Done: "),
    ):  # fmt: skip
        assert words in said(check, "who_has_it", answer)
    for ending, scenario in (("001", "approve"), ("005", "prompt_timeout"), ("010", "late_success")):
        bench.operator.script(f"{PREFIX}4567{ending}", [scenario])
        story = do(bench, code_of("buy:Sale"))
        bench.client.payment_intents.confirm(story["it"].id, phone=f"{PREFIX}4567{ending}", provider=PROVIDER)
        bench.clock.advance(minutes=10)
    for answer, words in (
        ("567", "seen: 567 expected: one of 001, 005, 010"), ("005", "This payment is prompt_timeout"),
        ("001", "This payment is succeeded, and no money came"), ("10", "ends in 10."), ("010", "Done: K150.00 came"),
    ):  # fmt: skip
        assert words in said(check, "came_late", bench, answer)
    junit = tmp_path / "junit.xml"
    junit.write_text('<a><testcase name="one"/><testcase name="two"><failure/></testcase></a>')
    for answer, words in (
        ("one", "no element failure inside. seen: one"), ("three", "There are: one; two"), ("failure", "seen: failure"),
        ("two", "Done: "),
    ):  # fmt: skip
        assert words in said(check, "failed_case", junit, answer)


def test_takings_of_the_weekends(bench: Workbench, said: Said):
    for story in ("", "buy:Sale:5.00 attempt"):
        do(bench, code_of(story))
        assert said(check, "weekends", bench, 0).startswith("Not done yet: No payment of a weekend")
    bench.simulate(payments=60, days=14)
    charges = bench.tables.charges
    paid = charges[charges["status"] == "succeeded"]
    right = do(bench, BY_NAME["weekends"].solution, paid=paid)["weekend_minor"]
    in_utc = paid.loc[paid["created_at"].dt.day_of_week >= 5, "amount_minor"].sum()
    assert right != in_utc
    weekday = paid["business_date"].map(lambda day: day.weekday())
    answers = [
        (right, "Done: "),
        (int(in_utc), "business_date knows that"),
        (int(right) // 100, "These are kwacha"),
        (1, "Which charges count"),
        (int(paid.loc[weekday == 5, "amount_minor"].sum()), "These are the Saturdays alone"),
        (int(paid.loc[weekday == 6, "amount_minor"].sum()), "These are the Sundays alone"),
        (int(paid.loc[weekday < 5, "amount_minor"].sum()), "These are the days from Monday to Friday"),
        (int(paid["amount_minor"].sum()), "These are all days"),
        (float(right), "a whole number of ngwee: an int. seen: float expected: int"),
    ]
    for answer, words in answers:
        assert words in said(check, "weekends", bench, answer)


def test_a_reconciliation_and_one_account_of_it(said: Said):
    breaks = pd.DataFrame({
        "account": ["operator:mtn:float"] * 3 + ["bank:settlement"],
        "code": ["fee_mismatch", "amount_mismatch", "timing", "payout_unpaid"],
        "variance_minor": [5, -900, 70, 10_000],
    })  # fmt: skip
    proof = breaks[["account"]]
    whole = SimpleNamespace(breaks=breaks, proof=proof)

    def part(*places: int) -> SimpleNamespace:
        return SimpleNamespace(breaks=breaks.iloc[[*places]], proof=proof.head(1))

    made_up = breaks.iloc[1].copy()
    made_up["variance_minor"] = -100_000
    rows: list[tuple[str, str, list[object]]] = [
        ("largest_break", "2 breaks of this account are larger", [breaks.iloc[0]]),
        ("largest_break", "Done: amount_mismatch, K9.00", [breaks.iloc[1], breaks.iloc[[1]]]),
        ("largest_break", "1 break of this account is larger", [breaks.iloc[2]]),
        ("largest_break", "of another account. seen: bank:settlement expected: operator:mtn:float", [breaks.iloc[3]]),
        ("largest_break", "one row of result.breaks",
         [breaks, 900, "amount_mismatch", breaks["code"], breaks.iloc[1][["account", "variance_minor"]]]),
        ("largest_break", "no row of result.breaks", [made_up]),
        ("what_is_left", "Done: 3 breaks are left", [-825]),
        ("what_is_left", "The sign is the other way round", [825]),
        ("what_is_left", "These are the sizes", [975]),
        ("what_is_left", "the sum over all accounts", [9175]),
        ("what_is_left", "Which rows count", [-8]),
        ("what_is_left", "a whole number of ngwee", [-8.25, "-825"]),
        ("one_account", "Done: 3 breaks", [part(0, 1, 2)]),
        ("one_account", "seen: 2 breaks expected: 3 breaks", [part(0, 1)]),
        ("one_account", "It compares other accounts", [whole]),
        ("one_account", "not the same breaks", [part(0, 1, 1)]),
        ("one_account", "what reconcile returns. seen: ", ["part", breaks.query("account == 'operator:mtn:float'"), 3]),
    ]  # fmt: skip
    for name, words, answers in rows:
        assert [each for each in answers if words not in said(check, name, whole, each)] == [], words


def test_a_report_of_an_exam_and_a_list_before_going_live(bench: Workbench, said: Said):
    def report(*verdicts: str) -> SimpleNamespace:
        rows = [SimpleNamespace(title=f"of {each}", verdict=each, came="500", expected="200") for each in verdicts]
        return SimpleNamespace(rows=tuple(rows))

    for given, words in (
        (report(), "should be the report of an exam"),
        (report("passed", "failed"), "fails 1 of 2 checks, the first of them: of failed. seen: 500 expected: 200"),
        (report("passed", "not examined"), "1 checks were not examined, such as: of not examined. Let the exam count"),
        (report("passed"), "Done: All 1 checks"),
    ):
        assert words in said(check, "passes_the_exam", given)
    trace = bench.control.trace()
    names = {"checklist": checklist, "exam": None, "trace": trace, "relied_on": [*relied_on(trace)]}
    solved = do(bench, BY_NAME["nothing_guessed"].solution, **names)
    for given, words in (
        (report("passed"), "a list as checklist"),
        (checklist(trace=trace), "rows are still guessed, the first of them success_status. seen: "),
        (checklist(asdict(Gaps())), "Pass the trace too"),
        (solved["answer"], "Done: "),
    ):
        assert words in said(check, "nothing_guessed", given)


class TestNothingRaises:
    @pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.name)
    def test_whatever_is_handed_over(self, said: Said, exercise: Exercise):
        names = list(inspect.signature(exercise.check).parameters)
        for given in (7, "x", Exercise, [], {}):
            assert said(check, exercise.name, *[given] * len(names)).startswith("Not right yet: ")
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
        broken = BY_NAME["exact_amount"]._replace(name="broken", check=lambda bench: done(bench.no_such_thing))
        monkeypatch.setattr(exercises, "EXERCISES", (broken,))
        assert "stopped with AttributeError" in said(check, "broken", 7)


def test_a_name_that_is_none_and_a_run_in_which_all_must_be_done(
    bench: Workbench, said: Said, monkeypatch: pytest.MonkeyPatch
):
    for call in (check, exercises.hint, exercises.solution):
        assert "There is no exercise 'fren'. There are: second_payment," in said(call, "fren")
    monkeypatch.setenv(exercises.MUST_BE_DONE, "1")
    for name, words in (("exact_amount", "exact_amount is not done: No intent"), ("fren", "no exercise")):
        with pytest.raises(ExerciseNotDone, match=words):
            check(name, bench)
    do(bench, BY_NAME["exact_amount"].solution)
    check("exact_amount", bench)


def test_each_hint_tells_more_and_the_last_where_the_solution_is(said: Said, capsys: pytest.CaptureFixture[str]):
    exercise = BY_NAME["exact_amount"]
    told = [said(exercises.hint, exercise.name) for _ in range(len(exercise.hints) + 2)]
    assert [exercise.task in each for each in told] == [True] * 5
    # Those that were shown are shown again.
    assert [text.count("Hint ") for text in told] == [1, 2, 3, 3, 3]
    assert told[-1] == told[-2]
    assert ['exercises.solution("exact_amount") shows the code.' in each for each in told] == [False] * 3 + [True] * 2
    exercises.solution("exact_amount")
    shown = capsys.readouterr().out
    assert exercise.solution in shown
    compile(shown, "a cell", "exec")


def report_of(name: str) -> str:
    return next(row[-1] for row in exercises.report().table.rows if row[2] == name)


@pytest.fixture
def another(bench: Workbench) -> Said:
    """Another notebook, which begins with what was kept: how far its report says that the exercise is."""

    def another(code: str) -> str:
        progress.cache_clear()
        do(bench, code)
        check("exact_amount", bench)
        return report_of("exact_amount")

    return another


class TestProgress:
    def test_it_is_reported_and_kept_beside_the_notebooks_where_somebody_looks(
        self, another: Said, bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        shown = exercises.report()._repr_mimebundle_()
        assert "<caption>Exercises: 0 of" in shown["text/html"]
        places = re.findall(r"<small>(.*?)<br>(\d) of (\d) done</small>", shown["text/html"])
        assert [title for title, *_ in places] == [each.title for each in resources.course().values()]
        assert (sum(int(each[1]) for each in places), sum(int(each[2]) for each in places)) == (0, len(EXERCISES))
        assert all(
            resources.notebook_name(each.notebook) in shown["text/plain"] and each.title in shown["text/html"]
            for each in EXERCISES
        )
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        assert (another(""), FILE.exists()) == ("not begun", False), "not done yet is nothing to keep"
        assert another(code_of("buy:Orchid:1.00")) == "tried"
        assert json.loads(FILE.read_text()) == {"exercises": {"exact_amount": "tried"}}
        monkeypatch.delenv("JPY_SESSION_NAME")
        assert another(BY_NAME["exact_amount"].solution) == "✓ done"
        assert json.loads(FILE.read_text()) == {"exercises": {"exact_amount": "tried"}}, "nobody looks"
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        another("")
        do(bench, BY_NAME["second_payment"].solution)
        # What another notebook keeps meanwhile is not lost.
        FILE.write_text('{"exercises": {"second_try": "done", "exact_amount": "done"}}')
        check("second_payment", bench)
        assert another(code_of("buy:Orchid:2.00")) == "✓ done", "what was done once stays done"
        assert {report_of(each) for each in ("second_payment", "second_try")} == {"✓ done"}
        assert [each.name for each in FILE.parent.iterdir()] == [FILE.name]
        # A file that is named is used in any run.
        monkeypatch.delenv("JPY_SESSION_NAME")
        monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "deep" / "mine.json"))
        another("")
        assert "exact_amount" in (tmp_path / "deep" / "mine.json").read_text()

    def test_a_file_that_cannot_be_read_or_written_is_no_error_said_once_and_left_as_it_is(
        self, another: Said, bench: Workbench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        FILE.parent.mkdir()
        do(bench, BY_NAME["exact_amount"].solution)
        for text in ("", "{", "[]", "{}", '{"exercises": 7}', '{"exercises": {"a": "b"}}', "\udcff"):
            written = text.encode("utf-8", "surrogateescape")
            FILE.write_bytes(written)
            assert (another(""), report_of("exact_amount")) == ("✓ done", "✓ done")
            assert capsys.readouterr().out.count("progress.json, which keeps your progress, cannot be read") == 1
            assert FILE.read_bytes() == written
        Path("gone").symlink_to("nowhere")
        monkeypatch.setenv(FILE_VARIABLE, "gone/mine.json")
        assert another("") == "✓ done"
        check("exact_amount", bench)
        assert capsys.readouterr().out.count("cannot be written") == 1


def test_the_notebooks_cells_and_words_are_those_of_the_table_in_their_order():
    course = resources.course()
    assert list(dict.fromkeys(each.notebook for each in EXERCISES)) == list(course)
    assert len(BY_NAME) == len(EXERCISES)
    calls = []
    for each in course.values():
        cells = json.loads(each.path.read_text("utf-8"))["cells"]
        sources = ["".join(each["source"]) for each in cells if "exercise" in each["metadata"].get("tags", ())]
        calls += [re.findall(r'^exercises\.check\("(\w+)", ([\w, ]+)\)$', source, re.MULTILINE) for source in sources]
    wanted = [[(each.name, ", ".join(inspect.signature(each.check).parameters))] for each in EXERCISES]
    assert calls == wanted
    assert [slug for slug in course if slug not in [each.notebook for each in EXERCISES if each.repair]] == WITHOUT_CODE
    for exercise in EXERCISES:
        assert (bool(exercise.title), bool(exercise.task), len(exercise.hints) >= 2) == (True, True, True)
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
