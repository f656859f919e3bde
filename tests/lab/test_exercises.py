"""The exercises: what a check says of each usual mistake, and that nothing a person does makes it raise."""

import base64
import inspect
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from workbench import Workbench, exercises, resources
from workbench.errors import ApiError, ExerciseNotDone, ServiceUnreachable
from workbench.lab.exercises import EXERCISES, FILE_VARIABLE, progress
from workbench.lab.exercises.shape import Exercise, done

PHONE, PROVIDER, PREFIX = "+260961234567", "mtn", "+26096"
BY_NAME = {each.name: each for each in EXERCISES}
ON_THE_BENCH = [each for each in EXERCISES if list(inspect.signature(each.check).parameters) == ["bench"]]


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
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as bench:
        yield bench


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a call prints, on one line."""

    def said(call: Callable[..., object], *given: object) -> str:
        capsys.readouterr()
        call(*given)
        return " ".join(capsys.readouterr().out.split())

    return said


def do(bench: Workbench, code: str, **more: object) -> dict[str, Any]:
    """Run code as a cell of a notebook would, with the names that the notebooks have."""
    pay, names = bench.client, {}

    def attempt(intent_id: str, number: str) -> object:
        pay.payment_intents.confirm(intent_id, phone=number, provider=PROVIDER)
        return pay.wait(intent_id, timeout_s=400)

    names |= {"bench": bench, "pay": pay, "shop": pay, "app": bench.client_with(bench.publishable_key)}
    names |= {"amount": "150.00", "phone": PHONE, "provider": PROVIDER, "prefix": PREFIX, "prefixes": {"mtn": PREFIX}}
    names |= {"Decimal": Decimal, "attempt": attempt, "handset": bench.phone(PHONE), "receiver": bench.receiver}
    names |= {"ServiceUnreachable": ServiceUnreachable, "ApiError": ApiError, "pd": pd, **more}
    exec(code, names)  # noqa: S102  our own lines
    return names


PAID = 'pay.payment_intents.confirm(it.id, phone=phone, provider=provider)\nhandset.enter_pin("1234")\n'
MINE = "whsec_" + base64.b64encode(b"a secret that nobody issued").decode()
EVENT = {"id": "evt_mine", "type": "charge.failed", "timestamp": "", "data": {"object": {}}}


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


def intent(description: str, amount: str = "150.00", more: str = "") -> str:
    return f'it = pay.payment_intents.create(amount=Decimal("{amount}"), description="{description}"{more})\n'


def sale(amount: str) -> str:
    return intent("Sale", amount) + 'attempt(it.id, prefix + "0000001")\n'


def charge(minor: int, key: str, phone: str = "phone") -> str:
    return (
        f"pay.charges.create(amount={minor}, channel=provider, phone={phone}, "
        f'reference="ORDER-2001", idempotency_key="{key}")\n'
    )


def refused(code: str) -> str:
    """Code that the service refuses, which somebody passes over."""
    return f"try:\n    {code.strip()}\nexcept ApiError:\n    pass\n"


def confirmed(by: str, phone: str = "phone", more: str = "") -> str:
    return f"{by}.payment_intents.confirm(it.id, phone={phone}, provider=provider{more})\n"


SECRETLY = ", client_secret=it.client_secret"
WRONG_PINS = 'handset.enter_pin("0000")\n' * 3
FAILS_THEN_PAYS = 'bench.operator.script(prefix + "0000001", ["operator_unavailable", "approve"])\n'
TRIED = 'attempt(it.id, prefix + "0000001")\n'
OUTAGE = "bench.operator.outage(provider, seconds=300)\n"
LATER = "bench.clock.advance(seconds=300)\n"
DOWN = """
is_up = False
@receiver.on("payment_intent.succeeded")
def keep(event):
    if not is_up:
        raise OSError
"""
"""A shop without its database."""
REPLAYED = "bench.clock.advance(days=4)\nis_up = True\npay.deliveries.replay_dead_letters()\n"


MISTAKES = {
    "second_payment": [
        ("", "Not done yet: No intent with the description Fern"),
        (intent("Fern", "3550"), "Not right yet: The Fern is offered for 3550.00 kwacha"),
        (intent("Fern", "35.50"), "Not done yet: The intent for the Fern is there, and no phone"),
        (intent("fern", "35.50") + PAID.splitlines()[0], "Not done yet: A prompt for the Fern"),
        (intent("Fern", "35.50") + confirmed("pay") + "handset.cancel()",
         "The last attempt at the Fern has failed with declined_by_customer"),
        (intent("Fern", "35.50") + confirmed("pay", 'prefix + "0000002"') + "pay.wait(it.id)",
         "has failed with insufficient_funds"),
        (intent("Fern", "35.50") + "pay.payment_intents.cancel(it.id)", "was cancelled"),
        (intent("Monstera") + PAID + intent("Fern", "35.50") + TRIED, "another customer has paid for the Fern"),
    ],
    "exact_amount": [
        (intent("Orchid", "87.35", ', metadata={"order": "A-17"}') + "pay.payment_intents.cancel(it.id)",
         "was cancelled"),
        (intent("Orchid", "8735"), "counts kwacha, not ngwee"),
        (intent("Orchid", "87.53"), "it costs K87.35"),
        (intent("Orchid", "87.35"), "order alone should be A-17"),
        (intent("Orchid", "87.35", ', metadata={"order": "A-71"}'), "order alone should be A-17"),
    ],
    "second_try": [
        (intent("Basil"), "Not done yet: The intent for the Basil is there, and not confirmed"),
        (intent("Basil") + PAID, "No attempt at the Basil has failed with wrong_pin"),
        (intent("Basil") + PAID.replace("1234", "0000"), "waits for a PIN"),
        (intent("Basil") + PAID.replace("1234", "0000") + 'handset.enter_pin("0000")\n' * 2,
         "confirm the same intent again"),
        (intent("Basil") + PAID.splitlines()[0] + "\n" + WRONG_PINS + intent("Basil") + PAID,
         "and another intent was paid"),
        (intent("Basil") + confirmed("pay") + WRONG_PINS + confirmed("pay", 'prefix + "0000001"') + "pay.wait(it.id)",
         "on 2 numbers"),
        (intent("Basil") + confirmed("pay", 'prefix + "0000003"') + "pay.wait(it.id)\n" + PAID, "on 2 numbers"),
        (intent("Basil") + confirmed("pay") + "handset.cancel()\n" + PAID,
         "No attempt at the Basil has failed with wrong_pin"),
    ],
    "net_of_39": [
        (sale("39.00") + sale("1.00"), "the merchant is owed K38.02"),
        (sale("40.00") + "pay.refunds.create(payment_intent=it.id)", "refunded"),
        (intent("Sale", "40.00") + confirmed("pay") + "handset.cancel()", "No payment in the books"),
        ("", "Not done yet: No payment in the books"),
        (sale("39.00"), "Of K39.00 the fee is taken, and the merchant is owed K38.02"),
    ],
    "smallest_fee": [
        (intent("Sale", "0.50"), "No payment that small"),
        ("", "Not done yet: No payment that small"),
        (sale("0.49"), "Of K0.49 the operator keeps nothing"),
        (sale("1.00"), "Of K1.00 the operator keeps a fee. It does so of a smaller payment"),
    ],
    "own_message": [
        ("", "Not done yet: No message"),
        (own("v1,AAAA"), "refused it: signature_mismatch"),
        (own(), "refused it: it is signed, and its body is no event"),
        (own(milliseconds=True), "of seconds, not of milliseconds"),
        (own(body=EVENT, handler="raise OSError"),
         "a handler failed with OSError, in line 5 of handle. Take a type without a handler"),
        (own(body={**EVENT, "type": "charge.succeeded"}), "its type is charge.succeeded, not charge.failed"),
        (own(body={**EVENT, "type": "charge.succeeded"}) + own(body=EVENT), "Done: "),
        (own(body={**EVENT, "id": "evt_yours"}), "its body calls it evt_yours"),
        (f"receiver.secrets.append({MINE!r})" + own(body=EVENT, secret=MINE), "a secret of your own"),
        (own(body=EVENT), "Done: The receiver has taken it for genuine"),
    ],
    "lost_answer": [
        ("", "Not done yet: No charge"),
        (charge(12, "a"), "K0.12, not K12.05"),
        (charge(1205, "a"), "Now suppose that the answer was lost"),
        (charge(1205, "a") + charge(1205, "b"), "The customer has paid 2 times"),
        (charge(1205, "a", 'prefix + "0000005"'), "The charge is pending"),
        (charge(1205, "a") + refused(charge(1206, "a")), "refused with 422"),
        (charge(1205, "a") + refused(charge(1205, "b", 'prefix + "0000002"')),
         "The second request had a key of its own"),
        (refused(charge(1205, "a", 'prefix + "0000002"')) + charge(1205, "b"), "suppose that the answer"),
        (charge(1205, "a") + "pay.charges.list()", "suppose that the answer"),
        (charge(1205, "a") * 2, "Done: Asked 2 times"),
    ],
    "from_the_app": [
        (intent("Lily") + confirmed("pay") + WRONG_PINS + confirmed("app", more=SECRETLY) + 'handset.enter_pin("1234")',
         "It was confirmed with the secret key"),
        (intent("Lily") + refused(confirmed("app")), "The confirm was answered 403"),
        (intent("Lily")
         + 'signed = bench.client_with(pay.auth.token(email="shop@example.com", password="x").access_token)\n'
         + confirmed("signed") + 'handset.enter_pin("1234")', "It was confirmed with an access token"),
        (intent("Lily"), "Not done yet: The intent for the Lily is there, and not confirmed"),
        (intent("Lily") + PAID, "It was confirmed with the secret key"),
        (intent("Lily")
         + "app.payment_intents.confirm(it.id, phone=phone, provider=provider, client_secret=it.client_secret)",
         "the customer has a PIN to enter"),
    ],
    "patience": [
        (intent("Sage"), "and not confirmed"),
        (intent("Sage") + PAID, "begin the outage first"),
        (intent("Sage") + 'bench.operator.outage(provider, seconds=300)\nattempt(it.id, prefix + "0000001")',
         "Let time pass"),
        (FAILS_THEN_PAYS + intent("Sage") + TRIED + TRIED, "begin the outage first"),
        (FAILS_THEN_PAYS + intent("Sage") + TRIED + LATER + TRIED, "begin the outage first"),
        (intent("Sage") + (confirmed("pay", 'prefix + "0000009"') + "pay.wait(it.id)\n" + LATER * 2) * 2,
         "begin the outage first"),
        (OUTAGE + LATER + FAILS_THEN_PAYS + intent("Sage") + TRIED + TRIED, "begin the outage first"),
        (OUTAGE.replace("300", "60") + intent("Sage") + TRIED + LATER + TRIED,
         "The outage was to last 300 seconds, and this one was begun for 60"),
        (OUTAGE + intent("Sage") + TRIED + "bench.operator.outage(provider, seconds=0)\n" + TRIED,
         "while the outage should have lasted"),
        (OUTAGE + intent("Sage") + TRIED + LATER + intent("Sage") + TRIED, "and another intent was paid"),
        (OUTAGE + intent("Sage") + TRIED + LATER + TRIED, "Done: One intent, 2 attempts"),
    ],
    "lost_and_found": [
        (DOWN + intent("Rose") + PAID + "bench.clock.advance(minutes=1)", "After the tenth"),
        (DOWN + intent("Rose") + PAID + "bench.clock.advance(minutes=1)\nis_up = True\nbench.clock.advance(days=4)",
         "before it was a dead letter"),
        (DOWN + intent("Rose") + PAID + "bench.clock.advance(days=4)", "Bring the database back"),
        ("for each in pay.webhook_endpoints.list().data: pay.webhook_endpoints.delete(each.id)\n" + intent("Rose")
         + PAID, "The shop was not told of the Rose"),
        (DOWN + intent("Rose") + PAID + REPLAYED, "Done: "),
        (DOWN + intent("Rose") + PAID + REPLAYED + intent("Rose") + PAID, "Done: "),
        ("", "Not done yet: No Rose"),
        (intent("Rose"), "The customer has not paid"),
        (intent("Rose") + PAID, "while its database was up"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [pytest.param(name, *row, id=f"{name}-{row[1][-20:]}") for name, rows in MISTAKES.items() for row in rows],
)
def test_a_mistake_is_told(bench: Workbench, said: Callable[..., str], name: str, code: str, words: str):
    do(bench, code)
    told = said(exercises.check, name, bench)
    assert words in told
    assert (f'exercises.hint("{name}") helps.' in told) is not told.startswith("Done")


SOLVED_ALONE = ["second_payment", "exact_amount", "second_try", "net_of_39", "smallest_fee", "lost_answer"]
SOLVED_ALONE += ["from_the_app", "patience"]


@pytest.mark.parametrize("name", SOLVED_ALONE)
def test_a_solution_is_right_and_may_be_run_again(bench: Workbench, said: Callable[..., str], name: str):
    for _ in ("once", "run twice"):
        do(bench, BY_NAME[name].solution)
        assert said(exercises.check, name, bench).startswith("Done: ")


SURELY = BY_NAME["charge_surely"].solution
FUNCTIONS = [
    ("def charge_surely(client, order): pass", "Not done yet: The function has not charged anybody"),
    ("def charge_surely(client, order):\n    return client.charges.create(**order, idempotency_key=order['reference'])",
     "Not right yet: The answer was lost and the function gave up"),
    (SURELY, "Done: "),
    (SURELY.replace("return client", "client").replace("    raise Serv", "    # raise Serv"), "Now return the charge"),
    (SURELY.replace("    for _", "    import uuid\n    for _").replace("_key=key", "_key=str(uuid.uuid4())"),
     "The customer has paid 3 times"),
    (SURELY.replace("return", "").replace("range(5)", "iter(int, 1)"), "has asked 100 times"),
    (SURELY.replace("{order['reference']}-attempt-1", "k"), "the key is the same for every order"),
    (SURELY.replace("{order['reference']}", "{order['phone']}"), "the key is the same for every order"),
    (SURELY.replace("    for _", "    import uuid\n    key = str(uuid.uuid4())\n    for _"),
     "Asked for the same order again, as after a restart, the customer has paid 2 times"),
    (SURELY.replace("client.charges", "bench.client.charges"), "another client than the one it was handed"),
    (SURELY.replace("**order", "**{**order, 'amount': 100}"), "The customer has paid K1.00, not K25.00"),
    (SURELY.replace("range(5)", "iter(int, 1)").replace("except ServiceUnreachable", "except Exception")
     .replace("{order['reference']}", ""), "the key is the same for every order"),
    ("def charge_surely(client, order):\n    price = order['amount']\n    return price / 0",
     "ZeroDivisionError: division by zero, in line 3 of charge_surely"),
    (SURELY.replace("**order", "**order['nothing']"), "KeyError: 'nothing', in line 6 of charge_surely"),
    ("def charge_surely(order): pass", "TypeError"),
    ("charge_surely = 7", "TypeError"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "words"), FUNCTIONS, ids=[words[:24] for _, words in FUNCTIONS])
def test_a_function_is_tried_over_a_bad_line(bench: Workbench, said: Callable[..., str], code: str, words: str):
    function = do(bench, code)["charge_surely"]
    assert words in said(exercises.check, "charge_surely", bench, function)


def test_an_order_is_followed_to_the_shop(bench: Workbench, said: Callable[..., str]):
    it = do(bench, intent("Mint"))["it"]
    order = {"intent": it.id, "plant": "Mint", "status": "open"}
    for answer in ("Mint", {"intent": it.id}, {"status": "open: declined_by_customer"}, {**order, "intent": "pi_1"}):
        assert "the order as the shop answers with it" in said(exercises.check, "refused_order", bench, answer)
    fern = {**order, "plant": "Fern"}
    assert "This is the order of a Fern" in said(exercises.check, "refused_order", bench, fern)
    assert "asked nobody" in said(exercises.check, "refused_order", bench, order)
    do(bench, PAID.splitlines()[0], it=it)
    assert "prompt is on the customer's phone" in said(exercises.check, "refused_order", bench, order)
    bench.phone(PHONE).cancel()
    assert "the order as it was before" in said(exercises.check, "refused_order", bench, order)
    order["status"] = "paid"
    assert "'paid' of an order" in said(exercises.check, "refused_order", bench, order)
    order["status"] = "open: declined_by_customer"
    told = {**order, "intent": do(bench, intent("Mint"))["it"].id}
    assert "asked nobody" in said(exercises.check, "refused_order", bench, told)
    assert said(exercises.check, "refused_order", bench, order).startswith("Done: ")


def test_takings_of_the_weekends(bench: Workbench, said: Callable[..., str]):
    for code in ("", sale("5.00")):
        do(bench, code)
        assert said(exercises.check, "weekends", bench, 0).startswith("Not done yet: No payment of a weekend")
    bench.simulate(payments=60, days=14)
    charges = bench.tables.charges
    paid = charges[charges["status"] == "succeeded"]
    right = do(bench, BY_NAME["weekends"].solution, paid=paid)["weekend_minor"]
    in_utc = paid.loc[paid["created_at"].dt.day_of_week >= 5, "amount_minor"].sum()
    assert right != in_utc
    weekday = paid["business_date"].map(lambda day: day.weekday())
    answers = [
        (int(right), "Done: "),
        (right, "Done: "),
        (int(in_utc), "business_date knows that"),
        (int(right) // 100, "These are kwacha"),
        (1, "Which charges count"),
        (int(paid.loc[weekday == 5, "amount_minor"].sum()), "These are the Saturdays alone"),
        (int(paid.loc[weekday == 6, "amount_minor"].sum()), "These are the Sundays alone"),
        (int(paid["amount_minor"].sum()), "These are all days"),
        (float(right), "a whole number of ngwee"),
        ("much", "a whole number of ngwee"),
    ]
    for answer, words in answers:
        assert words in said(exercises.check, "weekends", bench, answer)


BREAKS = pd.DataFrame({
    "account": ["operator:mtn:float"] * 3 + ["bank:settlement"],
    "code": ["fee_mismatch", "amount_mismatch", "timing", "payout_unpaid"],
    "variance_minor": [5, -900, 70, 10_000],
})  # fmt: skip


def test_the_largest_break(said: Callable[..., str]):
    result = SimpleNamespace(breaks=BREAKS, proof=BREAKS[["account"]])
    rows = [
        "2 breaks of this account are larger",
        "Done: amount_mismatch, K9.00",
        "1 break of this account is larger",
        "is one",
    ]
    for place, words in enumerate(rows):
        assert words in said(exercises.check, "largest_break", result, BREAKS.iloc[place])
    assert "Done" in said(exercises.check, "largest_break", result, BREAKS.iloc[[1]])
    for wrong in (BREAKS, 900, "amount_mismatch", BREAKS["code"], BREAKS.iloc[1][["account", "variance_minor"]]):
        assert "one row of result.breaks" in said(exercises.check, "largest_break", result, wrong)
    made_up = BREAKS.iloc[1].copy()
    made_up["variance_minor"] = -100_000
    assert "no row of result.breaks" in said(exercises.check, "largest_break", result, made_up)


def test_one_account_of_many(said: Callable[..., str]):
    whole = SimpleNamespace(breaks=BREAKS, proof=BREAKS[["account"]])
    part = SimpleNamespace(breaks=BREAKS.head(3), proof=BREAKS[["account"]].head(1))
    less = SimpleNamespace(breaks=BREAKS.head(2), proof=BREAKS[["account"]].head(1))
    assert said(exercises.check, "one_account", whole, part).startswith("Done: 3 breaks")
    assert "It finds 2 breaks" in said(exercises.check, "one_account", whole, less)
    assert "It compares bank:settlement, operator:mtn:float" in said(exercises.check, "one_account", whole, whole)
    others = SimpleNamespace(breaks=BREAKS.iloc[[0, 1, 1]], proof=BREAKS[["account"]].head(1))
    assert "not the same breaks" in said(exercises.check, "one_account", whole, others)
    of_hand = BREAKS.query("account == 'operator:mtn:float'")
    for wrong in ("part", of_hand, 3):
        assert "what reconcile returns" in said(exercises.check, "one_account", whole, wrong)


class TestNothingRaises:
    @pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.name)
    def test_whatever_is_handed_over(self, said: Callable[..., str], exercise: Exercise):
        names = list(inspect.signature(exercise.check).parameters)
        for given in (7, "x", Exercise, [], {}):
            assert said(exercises.check, exercise.name, *[given] * len(names)).startswith("Not right yet: ")
        for given in (None, ...):
            assert said(exercises.check, exercise.name, *[given] * len(names)).startswith("Not done yet: ")
        whole = f'exercises.check("{exercise.name}", {", ".join(names)})'
        assert whole in said(exercises.check, exercise.name), "too little is answered with the whole call"

    def test_a_closed_bench_says_what_to_do(self, said: Callable[..., str]):
        with Workbench(seed=7) as bench:
            pass
        for exercise in ON_THE_BENCH:
            told = said(exercises.check, exercise.name, bench)
            assert told.startswith("Not ")
            assert exercise.name == "own_message" or "Run the notebook from its first cell" in told

    @pytest.mark.parametrize("call", [exercises.check, exercises.hint, exercises.solution])
    def test_a_name_that_is_none_is_answered_with_those_that_are(
        self, said: Callable[..., str], call: Callable[..., object]
    ):
        assert "There is no exercise 'fren'. There are: second_payment," in said(call, "fren")


def test_a_run_that_asks_for_it_is_told_by_an_exception(bench: Workbench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(exercises.MUST_BE_DONE, "1")
    with pytest.raises(ExerciseNotDone, match="exact_amount is not done: No intent"):
        exercises.check("exact_amount", bench)
    with pytest.raises(ExerciseNotDone, match="no exercise"):
        exercises.check("fren", bench)
    do(bench, BY_NAME["exact_amount"].solution)
    exercises.check("exact_amount", bench)


def test_each_hint_tells_more_and_the_last_where_the_solution_is(said: Callable[..., str]):
    exercise = BY_NAME["exact_amount"]
    told = [said(exercises.hint, exercise.name) for _ in range(len(exercise.hints) + 2)]
    assert exercise.task in told[0]
    assert [f"Hint {number}" in text for number, text in enumerate(told, start=1)] == [True] * 3 + [False] * 2
    assert told[-1] == told[-2] == 'That was the last one. exercises.solution("exact_amount") shows the code.'


def test_a_solution_is_shown_as_code(capsys: pytest.CaptureFixture[str]):
    exercises.solution("exact_amount")
    shown = capsys.readouterr().out
    assert BY_NAME["exact_amount"].solution in shown
    compile(shown, "a cell", "exec")


def report_of(name: str) -> str:
    row = next(row for row in exercises.report().rows if row[2] == name)
    return row[-1]


def test_the_report_lists_every_exercise_as_not_begun_tried_or_done(bench: Workbench):
    shown = exercises.report()._repr_mimebundle_()
    assert "<caption>Exercises: 0 of" in shown["text/html"]
    assert all(each.notebook in shown["text/plain"] and each.title in shown["text/html"] for each in EXERCISES)
    states = [report_of("exact_amount")]
    for code in ("", intent("Orchid", "1.00"), BY_NAME["exact_amount"].solution, intent("Orchid", "2.00")):
        do(bench, code)
        exercises.check("exact_amount", bench)
        states.append(report_of("exact_amount"))
    assert states == ["not begun", "not begun", "tried", "✓ done", "✓ done"]


class TestProgress:
    FILE = Path(".workbench") / "progress.json"

    @pytest.fixture
    def another(self, bench: Workbench) -> Callable[..., str]:
        """Another notebook, which begins with what was kept; what it prints of a check is thrown away."""

        def another(code: str) -> str:
            progress.cache_clear()
            do(bench, code)
            exercises.check("exact_amount", bench)
            return report_of("exact_amount")

        return another

    def test_it_is_kept_beside_the_notebooks_where_somebody_looks(
        self, another: Callable[..., str], bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        another("")
        assert not self.FILE.exists(), "not done yet is nothing to keep"
        another(intent("Orchid", "1.00"))
        tried = {"exercises": {"exact_amount": "tried"}}
        assert json.loads(self.FILE.read_text()) == tried
        monkeypatch.delenv("JPY_SESSION_NAME")
        another(BY_NAME["exact_amount"].solution)
        assert json.loads(self.FILE.read_text()) == tried, "nobody looks"
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        another("")
        do(bench, BY_NAME["second_payment"].solution)
        # What another notebook keeps meanwhile is not lost.
        self.FILE.write_text('{"exercises": {"second_try": "done", "exact_amount": "done"}}')
        exercises.check("second_payment", bench)
        progress.cache_clear()
        names = ("exact_amount", "second_payment", "second_try")
        assert [report_of(each) for each in names] == ["✓ done"] * 3
        assert [each.name for each in self.FILE.parent.iterdir()] == [self.FILE.name]
        # A file that is named is used in any run.
        monkeypatch.delenv("JPY_SESSION_NAME")
        monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "deep" / "mine.json"))
        another("")
        assert "exact_amount" in (tmp_path / "deep" / "mine.json").read_text()

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"exercises": 7}', '{"exercises": {"a": "b"}}', "\udcff"])
    def test_a_broken_file_is_no_error_and_is_left_as_it_is(
        self,
        another: Callable[..., str],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        text: str,
    ):
        monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
        self.FILE.parent.mkdir()
        written = text.encode("utf-8", "surrogateescape")
        self.FILE.write_bytes(written)
        assert another(BY_NAME["exact_amount"].solution) == "✓ done"
        assert report_of("exact_amount") == "✓ done"
        assert capsys.readouterr().out.count("progress.json, which keeps your progress, cannot be read") == 1
        assert self.FILE.read_bytes() == written

    @pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder in which nobody may write")
    def test_a_place_that_cannot_be_written_to_is_said_once(
        self, another: Callable[..., str], bench: Workbench, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ):  # fmt: skip
        monkeypatch.setenv(FILE_VARIABLE, "/proc/self/progress.json")
        another(BY_NAME["exact_amount"].solution)
        exercises.check("exact_amount", bench)
        assert report_of("exact_amount") == "✓ done"
        assert capsys.readouterr().out.count("cannot be written") == 1


def cells_of(notebook: str) -> list[dict[str, Any]]:
    path = next(each for each in resources.notebooks() if each.stem == notebook)
    return json.loads(path.read_text("utf-8"))["cells"]


class TestTheTable:
    def test_each_notebook_has_an_exercise_and_they_stand_in_its_order(self):
        assert list(dict.fromkeys(each.notebook for each in EXERCISES)) == [each.stem for each in resources.notebooks()]
        assert len(BY_NAME) == len(EXERCISES)

    @pytest.mark.parametrize("notebook", dict.fromkeys(each.notebook for each in EXERCISES))
    def test_the_notebooks_cells_and_words_are_those_of_the_table(self, notebook: str):
        tagged = ["".join(c["source"]) for c in cells_of(notebook) if "exercise" in c["metadata"].get("tags", ())]
        calls = [re.search(r'^exercises\.check\("(\w+)", ([\w, ]+)\)$', source, re.MULTILINE) for source in tagged]
        mine = [each for each in EXERCISES if each.notebook == notebook]
        wanted = [(each.name, ", ".join(inspect.signature(each.check).parameters)) for each in mine]
        assert [(call[1], call[2]) for call in calls if call] == wanted
        texts = ["".join(cell["source"]) for cell in cells_of(notebook) if cell["cell_type"] == "markdown"]
        for exercise in mine:
            assert any(f"**{exercise.title}.** {exercise.task}" in text for text in texts)
            assert len(exercise.hints) >= 2
            assert "exercises.check" not in exercise.solution
            compile(exercise.solution, exercise.name, "exec")


def test_a_check_that_breaks_is_told_and_not_raised(monkeypatch: pytest.MonkeyPatch, said: Callable[..., str]):
    broken = BY_NAME["exact_amount"]._replace(name="broken", check=lambda bench: done(bench.no_such_thing))
    monkeypatch.setattr(exercises, "EXERCISES", (broken,))
    assert "came to an end at AttributeError" in said(exercises.check, "broken", 7)


def test_a_check_leaves_no_trace_of_its_own(bench: Workbench):
    do(bench, BY_NAME["second_try"].solution)
    before = len(bench.trace)
    for each in ON_THE_BENCH:
        exercises.check(each.name, bench)
    assert len(bench.trace) == before
