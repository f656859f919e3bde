"""A machine that drives a sandbox at random, judged by a model that fits on a screen."""

import json
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workbench import Workbench
from workbench.errors import PaymentDeclined, StateConflict

PHONES = ("+260961234567", "+260971234567", "+260960000001", "+260960000002", "+260960000003", "+260960000004",
          "+260960000005", "+260960000010")  # fmt: skip
TRIES, TIMEOUT_S, ACTS_S, LATE_S = 3, 300, 5, 60
FAILED = ["charge.failed", "payment_intent.payment_failed"]
PAID = ["payment_intent.processing", "charge.succeeded", "payment_intent.succeeded"]
LISTED = {"0000001": ["1234"], "0000002": ["1234"], "0000003": ["0000"] * 3, "0000004": ["cancel"], "0000005": [],
          "0000010": []}  # fmt: skip
"""What the customer on a test number presses; on any other number somebody has to."""
EMPTY, COMES_LATE = "0000002", "0000010"
ENDS = {"credit": "credited", "return": "returned"}
NIGHTLY = {"cleared", "swept", "sweep_credited"}
LATELY = {"late_success", "suspense_settled", "suspense_returned", "sweep_recalled", "float_topped_up"}

MANY = settings.get_current_profile_name() != "workbench"
"""Few histories by default, and many, with more asked of each, by any other profile of Hypothesis."""
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

    def __init__(self, gaps: dict[str, str]) -> None:
        self.gaps = gaps
        self.now_s = 0
        self.payments: dict[str, Payment] = {}
        self.prompts: list[Prompt] = []
        self.acts: list[tuple[int, Prompt]] = []
        self.late: list[tuple[int, Prompt]] = []
        self.suspense: list[tuple[str, str]] = []
        """What came late into suspense: for which payment, and waiting, credited or returned."""

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
            payment.status = self.intent_failed() if of_intent else self.charge_failed(failure)
            happened = (PAID[:1] if right_pin else []) + FAILED
        payment.failure = failure
        payment.events += [each for each in happened if of_intent or each.startswith("charge.")]
        if failure == "prompt_timeout" and prompt.phone.endswith(COMES_LATE):
            self.late.append((self.now_s + LATE_S, prompt))

    def intent_failed(self) -> str:
        return "failed" if self.gaps.get("intent_states") == "failed" else "requires_payment_method"

    def charge_failed(self, failure: str) -> str:
        return self.gaps.get("charge_states", "failed") if failure == "prompt_timeout" else "failed"

    def money_comes(self, late: Prompt) -> None:
        """Late money pays what nothing else has paid, where the register says so; else it waits in suspense."""
        payment = self.payments[late.payment]
        kinds = ["charge", "payment_intent"] if late.payment.startswith("pi_") else ["charge"]
        if self.gaps.get("late_success") != "succeeds" or payment.status == "succeeded":
            self.suspense.append((late.payment, "waiting"))
            payment.events += [f"{kind}.late_success" for kind in kinds]
            return
        for each in [each for each in self.prompts if each.payment == late.payment]:
            self.prompts.remove(each)
            self.acts = [(at_s, prompt) for at_s, prompt in self.acts if prompt is not each]
            payment.events.append("charge.failed")
        payment.status, payment.failure = "succeeded", None
        payment.events += [f"{kind}.succeeded" for kind in kinds]

    def settle(self, place: int, how: str) -> None:
        payment, _ = self.suspense[place]
        self.suspense[place] = (payment, ENDS[how])
        self.payments[payment].events.append(f"suspense.{ENDS[how]}")

    def advance(self, seconds: int) -> None:
        until_s = self.now_s + seconds
        while True:
            # A customer acts long before the prompt of the same moment would close.
            timers = [(at_s, 0, prompt) for at_s, prompt in self.late]
            timers += [(at_s, 1, prompt) for at_s, prompt in self.acts]
            timers += [(each.expires_s, 2, each) for each in self.prompts]
            due = min(timers, key=lambda timer: timer[:2], default=None)
            if due is None or due[0] > until_s:
                break
            self.now_s, kind, prompt = due
            if kind == 0:
                self.late = [(at_s, each) for at_s, each in self.late if each is not prompt]
                self.money_comes(prompt)
            elif kind == 2:
                self.end(prompt, "prompt_timeout")
            else:
                self.acts = [(at_s, each) for at_s, each in self.acts if each is not prompt]
                self.act(prompt)
        self.now_s = until_s

    def late_minor(self, status: str) -> list[int]:
        return [self.payments[payment].minor for payment, each in self.suspense if each == status]

    def earned_minor(self) -> int:
        """What the merchant has earned: less 2.5 %, half up, one ngwee at least."""
        paid = [each.minor for each in self.payments.values() if each.status == "succeeded"] + self.late_minor(
            "credited"
        )
        return sum(minor - max(1, int(minor * Decimal("0.025") + Decimal("0.5"))) for minor in paid)


class Payments(RuleBasedStateMachine):
    """Everything that a merchant, a customer and the clock can do, in any order."""

    gaps: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.bench = Workbench(seed=7, gaps=self.gaps)
        self.key = {"Authorization": f"Bearer {self.bench.secret_key!s}"}
        self.model = Model(self.gaps)
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

    @rule(minor=AMOUNTS, how=st.sampled_from([None, *ENDS]))
    def ask_and_be_paid_late(self, minor: int, how: str | None) -> None:
        self.ask(minor, f"+26096{COMES_LATE}")
        self.advance(TIMEOUT_S + LATE_S)
        if how and self.model.suspense:
            self.settle_one(len(self.model.suspense) - 1, how)

    @precondition(lambda self: self.intents("requires_payment_method"))
    @rule(data=st.data(), phone=PAYERS)
    def ask_again(self, data: st.DataObject, phone: str) -> None:
        self.confirm(data.draw(st.sampled_from(self.intents("requires_payment_method"))), phone)

    @precondition(lambda self: self.intents("requires_action", "succeeded", "failed"))
    @rule(data=st.data(), phone=PAYERS)
    def ask_too_often(self, data: st.DataObject, phone: str) -> None:
        intent = data.draw(st.sampled_from(self.intents("requires_action", "succeeded", "failed")))
        with pytest.raises(StateConflict):
            self.bench.client.payment_intents.confirm(intent, phone=phone, provider="mtn")

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
        prompt = self.model.begin(identifier, phone)
        if self.gaps.get("charge_wait", "answered") == "answered":
            self.model.act(prompt)
        elif LISTED.get(phone[-7:]):
            self.model.acts.append((self.model.now_s + ACTS_S, prompt))
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
            with pytest.raises(StateConflict):
                press()
            return
        press()
        self.model.press(prompt, pressed)

    @rule(seconds=st.sampled_from([0, 1, 4, 5, 5, 60, 295, 299, 300, 100_000]))
    def advance(self, seconds: int) -> None:
        self.bench.clock.advance(seconds)
        self.model.advance(seconds)
        self.the_clock_is_where_the_model_has_it()

    @precondition(lambda self: self.model.suspense)
    @rule(data=st.data(), how=st.sampled_from([*ENDS]))
    def settle(self, data: st.DataObject, how: str) -> None:
        self.settle_one(data.draw(st.integers(0, len(self.model.suspense) - 1)), how)

    def settle_one(self, place: int, how: str) -> None:
        item = self.bench.operator.suspense()[place]["id"]
        if self.model.suspense[place][1] != "waiting":
            with pytest.raises(StateConflict):
                self.bench.operator.settle(item, how)
            return
        self.bench.operator.settle(item, how)
        self.model.settle(place, how)

    @invariant()
    def late_money_is_where_the_model_has_it(self) -> None:
        if self.model.suspense:
            shown = self.bench.operator.suspense()
            assert [(each["payment_intent"] or each["charge"], each["status"]) for each in shown] == self.model.suspense

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
            told[shown.get("payment_intent") or shown.get("charge") or shown["id"]].append(each.type)
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
        assert {kind for _, kind in by_entry} <= {"funds_secured", *NIGHTLY, *LATELY}
        self.balances = dict(balances)
        # A night only moves what is the merchant's from pending to available.
        assert balances[2000] + balances[2010] == self.model.earned_minor()
        gross = sum(each.minor for each in paid) + sum(self.model.late_minor("credited"))
        assert balances[2000] + balances[2010] + balances[4000] == gross
        assert balances[2900] == sum(self.model.late_minor("waiting"))
        if MANY:
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


class ChosenPayments(Payments):
    """The same, where customers are waited for and late money pays."""

    gaps: ClassVar = {"charge_wait": "interactive", "late_success": "succeeds", "charge_states": "expired",
                      "clearing": "t_plus_2"}  # fmt: skip


class FinalPayments(Payments):
    """The same, where a failed attempt ends the intent."""

    gaps: ClassVar = {"charge_wait": "accepted", "intent_states": "failed", "clearing": "immediate"}


class FinalPaymentsPaidLate(Payments):
    """The same, where late money pays what had ended."""

    gaps: ClassVar = {"intent_states": "failed", "late_success": "succeeds"}


TestPayments = Payments.TestCase
TestPayments.settings = settings(max_examples=25 if MANY else 5, stateful_step_count=25, deadline=None)
TestChosenPayments = ChosenPayments.TestCase
TestFinalPayments = pytest.mark.thorough(FinalPayments.TestCase)
TestFinalPaymentsPaidLate = pytest.mark.thorough(FinalPaymentsPaidLate.TestCase)
TestChosenPayments.settings = settings(max_examples=2, stateful_step_count=25, deadline=None)
TestFinalPayments.settings = TestFinalPaymentsPaidLate.settings = TestPayments.settings
