"""A machine that drives a sandbox at random, judged by a model that fits on a screen."""

import json
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workbench import Workbench
from workbench.errors import PaymentDeclined, StateConflict

PHONES = ("+260961234567", "+260971234567", "+260960000001", "+260960000002", "+260960000003", "+260960000004",
          "+260960000005")  # fmt: skip
TRIES, TIMEOUT_S, ACTS_S = 3, 300, 5
FAILED = ["charge.failed", "payment_intent.payment_failed"]
PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
LISTED = {"0000001": ["1234"], "0000002": ["1234"], "0000003": ["0000"] * 3, "0000004": ["cancel"], "0000005": []}
"""What the customer on a test number presses; on any other number somebody has to."""
EMPTY = "0000002"
NIGHTLY = {"cleared", "swept", "sweep_credited"}

AMOUNTS = st.integers(1, 5_000_000)
PAYERS = st.sampled_from(PHONES)
PRESSED = st.sampled_from(["1234", "1234", "0000", "0000", "cancel", "ignore"])


@dataclass
class Payment:
    """What the model knows of an intent, or of a charge on its own."""

    minor: int
    status: str
    events: list[str] = field(default_factory=list)
    failure: str | None = None


@dataclass
class Prompt:
    """One prompt on one handset."""

    payment: str
    phone: str
    expires_s: int
    tries: int = TRIES
    ignored: bool = False


class Model:
    """Payments, prompts that are open and timers that run, in plain lists."""

    def __init__(self) -> None:
        self.now_s = 0
        self.payments: dict[str, Payment] = {}
        self.prompts: list[Prompt] = []
        self.acts: list[tuple[int, Prompt]] = []

    def begin(self, payment: str, phone: str) -> Prompt:
        prompt = Prompt(payment, phone, self.now_s + TIMEOUT_S)
        self.prompts.append(prompt)
        return prompt

    def top(self, phone: str) -> Prompt | None:
        """The prompt that a person sees: the oldest on the handset that was not put away."""
        return next((each for each in self.prompts if each.phone == phone and not each.ignored), None)

    def press(self, prompt: Prompt, pressed: str) -> None:
        if pressed == "ignore":
            prompt.ignored = True
        elif pressed == "cancel":
            self.end(prompt, "declined_by_customer")
        elif pressed == "1234":
            self.end(prompt, "insufficient_funds" if prompt.phone.endswith(EMPTY) else None, right_pin=True)
        else:
            prompt.tries -= 1
            if prompt.tries == 0:
                self.end(prompt, "wrong_pin")

    def act(self, prompt: Prompt) -> None:
        for pressed in LISTED.get(prompt.phone[-7:], ["1234"]):
            if prompt in self.prompts and not prompt.ignored:
                self.press(prompt, pressed)

    def end(self, prompt: Prompt, failure: str | None, *, right_pin: bool = False) -> None:
        self.prompts.remove(prompt)
        self.acts = [(at_s, each) for at_s, each in self.acts if each is not prompt]
        payment = self.payments[prompt.payment]
        of_intent = prompt.payment.startswith("pi_")
        if failure is None:
            payment.status, happened = "succeeded", PAID
        else:
            payment.status = "requires_payment_method" if of_intent else "failed"
            happened = (PAID[:1] if right_pin else []) + FAILED
        payment.failure = failure
        payment.events += [each for each in happened if of_intent or each.startswith("charge.")]

    def advance(self, seconds: int) -> None:
        until_s = self.now_s + seconds
        while True:
            # A customer acts long before the prompt of the same moment would close.
            timers = [(at_s, 0, prompt) for at_s, prompt in self.acts]
            timers += [(each.expires_s, 1, each) for each in self.prompts]
            due = min(timers, key=lambda timer: timer[:2], default=None)
            if due is None or due[0] > until_s:
                break
            self.now_s, closes, prompt = due
            if closes:
                self.end(prompt, "prompt_timeout")
            else:
                self.acts = [(at_s, each) for at_s, each in self.acts if each is not prompt]
                self.act(prompt)
        self.now_s = until_s

    def earned_minor(self) -> int:
        """What the merchant has earned: less 2.5 %, half up, one ngwee at least."""
        paid = [each.minor for each in self.payments.values() if each.status == "succeeded"]
        return sum(minor - max(1, int(minor * Decimal("0.025") + Decimal("0.5"))) for minor in paid)


class Payments(RuleBasedStateMachine):
    """Everything that a merchant, a customer and the clock can do, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Workbench(seed=7)
        self.key = {"Authorization": f"Bearer {self.bench.secret_key!s}"}
        self.model = Model()
        self.charges = 0
        self.balances: dict[int, int] = {}
        """Code → credits less debits, by the postings that there are."""

    def teardown(self) -> None:
        with closing(self.bench):
            self.the_sandbox_says_the_same_of_itself()

    @rule(minor=AMOUNTS)
    def create(self, minor: int) -> None:
        self.created(minor)

    def created(self, minor: int) -> str:
        intent = self.bench.client.payment_intents.create(amount=Decimal(minor) / 100)
        self.model.payments[intent.id] = Payment(minor, "requires_payment_method", ["payment_intent.created"])
        return intent.id

    @rule(minor=AMOUNTS, phone=PAYERS)
    def ask(self, minor: int, phone: str) -> None:
        self.confirm(self.created(minor), phone)

    @rule(minor=AMOUNTS, phone=PAYERS, pressed=PRESSED)
    def ask_and_answer(self, minor: int, phone: str, pressed: str) -> None:
        self.ask(minor, phone)
        self.press(phone, pressed)

    @rule(minor=AMOUNTS, phone=PAYERS)
    def ask_and_wait(self, minor: int, phone: str) -> None:
        self.ask(minor, phone)
        self.advance(ACTS_S)

    @precondition(lambda self: self.intents("requires_payment_method"))
    @rule(data=st.data(), phone=PAYERS)
    def ask_again(self, data: st.DataObject, phone: str) -> None:
        self.confirm(data.draw(st.sampled_from(self.intents("requires_payment_method"))), phone)

    @precondition(lambda self: self.intents("requires_action", "succeeded"))
    @rule(data=st.data(), phone=PAYERS)
    def ask_too_often(self, data: st.DataObject, phone: str) -> None:
        intent = data.draw(st.sampled_from(self.intents("requires_action", "succeeded")))
        self.refused(partial(self.bench.client.payment_intents.confirm, intent, phone=phone, provider="mtn"))

    def intents(self, *statuses: str) -> list[str]:
        found = [name for name, each in self.model.payments.items() if each.status in statuses]
        return [name for name in found if name.startswith("pi_")]

    def confirm(self, intent: str, phone: str) -> None:
        confirmed = self.bench.client.payment_intents.confirm(intent, phone=phone, provider="mtn")
        assert confirmed.status == "requires_action"
        payment = self.model.payments[intent]
        payment.status, payment.failure = "requires_action", None
        payment.events.append("payment_intent.requires_action")
        prompt = self.model.begin(intent, phone)
        if LISTED.get(phone[-7:]):
            self.model.acts.append((self.model.now_s + ACTS_S, prompt))

    @rule(minor=AMOUNTS, phone=PAYERS)
    def charge(self, minor: int, phone: str) -> None:
        self.charges += 1
        try:
            made = self.bench.client.charges.create(
                amount=minor, channel="mtn", phone=phone, idempotency_key=f"order-{self.charges}"
            )
            identifier, status = made.id, made.status
        except PaymentDeclined as declined:
            identifier, status = declined.facts["charge"], "failed"
        payment = self.model.payments[identifier] = Payment(minor, "pending")
        self.model.act(self.model.begin(identifier, phone))
        assert status == payment.status
        if status == "pending":
            payment.events.append("charge.pending")

    @precondition(lambda self: self.model.prompts)
    @rule(data=st.data(), pressed=PRESSED)
    def answer(self, data: st.DataObject, pressed: str) -> None:
        self.press(data.draw(st.sampled_from([each.phone for each in self.model.prompts])), pressed)

    @rule(phone=PAYERS, pressed=PRESSED)
    def press(self, phone: str, pressed: str) -> None:
        handset = self.bench.phone(phone)
        press = {"cancel": handset.cancel, "ignore": handset.ignore}.get(pressed, partial(handset.enter_pin, pressed))
        prompt = self.model.top(phone)
        assert handset.waiting == (prompt is not None)
        if prompt is None:
            self.refused(press)
            return
        press()
        self.model.press(prompt, pressed)

    @rule(seconds=st.sampled_from([0, 1, 4, 5, 5, 60, 295, 299, 300, 100_000]))
    def advance(self, seconds: int) -> None:
        self.bench.clock.advance(seconds)
        self.model.advance(seconds)
        self.the_clock_is_where_the_model_has_it()

    @invariant()
    def every_payment_is_where_the_model_has_it(self) -> None:
        intents = {
            each.id: (each.status, each.last_payment_error.code if each.last_payment_error else None)
            for each in self.bench.client.payment_intents.list(limit=100)
        }
        charges = {
            each.id: (each.status, each.failure_code)
            for each in self.bench.client.charges.list(limit=100)
            if each.payment_intent is None
        }
        assert intents | charges == {name: (each.status, each.failure) for name, each in self.model.payments.items()}

    @invariant()
    def every_event_came_once_and_in_order(self) -> None:
        told = defaultdict(list)
        for each in self.bench.receiver.events:
            shown = each.data.object
            told[shown.get("payment_intent") or shown["id"]].append(each.type)
        assert told == {name: each.events for name, each in self.model.payments.items() if each.events}
        assert {each.verdict for each in self.bench.receiver.arrivals} <= {"accepted"}

    @invariant()
    def the_books_are_right(self) -> None:
        by_entry: dict[tuple[str, str], int] = defaultdict(int)
        balances: dict[int, int] = defaultdict(int)
        for row in self.panel("ledger/postings")["data"]:
            signed = row["amount_minor"] if row["side"] == "credit" else -row["amount_minor"]
            by_entry[row["entry"], row["kind"]] += signed
            balances[row["code"]] += signed
        assert not any(by_entry.values())
        paid = [each for each in self.model.payments.values() if each.status == "succeeded"]
        assert sum(kind == "funds_secured" for _, kind in by_entry) == len(paid)
        assert {kind for _, kind in by_entry} <= {"funds_secured", *NIGHTLY}
        self.balances = dict(balances)
        # A night only moves what is the merchant's from pending to available.
        assert balances[2000] + balances[2010] == self.model.earned_minor()
        assert balances[2000] + balances[2010] + balances[4000] == sum(each.minor for each in paid)
        if settings.get_current_profile_name() != "workbench":
            self.the_sandbox_says_the_same_of_itself()

    def the_sandbox_says_the_same_of_itself(self) -> None:
        """In the test line asked at the end alone: what was ever wrong in these is still wrong then."""
        assert self.panel("ledger/verify")["holds"]
        self.the_clock_is_where_the_model_has_it()
        balances: dict[int, int] = defaultdict(int)
        for row in self.panel("ledger/accounts")["data"]:
            balances[row["code"]] += row["credit_minor"] - row["debit_minor"]
        assert balances == self.balances

    def the_clock_is_where_the_model_has_it(self) -> None:
        assert self.bench.clock.now_ms == 1_767_592_800_000 + self.model.now_s * 1000

    def panel(self, path: str) -> Any:  # noqa: ANN401  JSON
        return json.loads(self.bench.http.get(f"/sandbox/{path}", headers=self.key).content)

    def refused(self, call: Any) -> None:  # noqa: ANN401  a function of no arguments
        try:
            call()
        except StateConflict:
            return
        message = "the sandbox took what the model refuses"
        raise AssertionError(message)


TestPayments = Payments.TestCase
TestPayments.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
