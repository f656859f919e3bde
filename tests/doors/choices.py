"""Each alternative of the register at work: a row, what is done, and what is then seen by each value of the row."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from typing import Any, NamedTuple

import httpx
import pytest

from tests.conftest import INTENT, Caller, bearer, charge_of, is_true_soon, method_on, refusal
from workbench import Workbench
from workbench.analysis.frames import money
from workbench.domain.money import ISO_4217
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.domain.wire.payments_and_payouts import Charge
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import (
    ApiError,
    InvalidRequest,
    NotFound,
    PaymentDeclined,
    RateLimited,
    StateConflict,
    WaitExpired,
)
from workbench.merchant import receiver
from workbench.session import Phone

PHONE, AIRTEL, ZED = "+260961234567", "+260971234567", "+260981234567"
APPROVES, BROKE, NOBODY_ANSWERS, COMES_LATE, UNKNOWN = (f"+2609600000{end}" for end in ("01", "02", "05", "10", "12"))
DAY_S = 86_400
COMMAND, SOCKET = "command", "socket"
"""Where a choice is seen besides in process: by `workbench serve` with all of its other choices, or over a socket."""
NUMBERED: Mapping[str, object] = {
    "confirm_response": "accepted", "pagination": "page", "token_credentials": "one_account",
    "token_field": "data.token", "key_rotation": "overlap", "rate_limit": "100_per_60",
}  # fmt: skip
LEAST: Mapping[str, object] = {
    "extra_endpoints": "absent", "endpoint_registration": "dashboard", "token_field": "token",
}  # fmt: skip
_numbers = count()


def rows_in(response: httpx.Response) -> set[str]:
    """The rows that a response says it relied on."""
    return {*response.headers["Sandbox-Provenance"].partition('gaps="')[2].rstrip('"').split()}


class Looks(Caller):
    """A sandbox in which some rows are switched: what a merchant and a customer do there, and what is then seen."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench, str(bench.secret_key))
        self.pay, self.advance = bench.client, bench.clock.advance

    # What is done, and read

    def intent(self, **changes: object) -> httpx.Response:
        return self.post("/v1/payment_intents", {**INTENT, "amount": 100, **changes})

    def charge(self, key: str = "k", **changes: object) -> httpx.Response:
        body = {**charge_of(PHONE), **changes}
        return self.post("/v1/charges", body, Idempotency_Key=key)

    def confirmed(self, phone: str = PHONE, **more: object) -> httpx.Response:
        path = f"/v1/payment_intents/{self.intent().json()['id']}/confirm"
        return self.post(path, {**method_on(phone), **more})

    def charged(self, amount: int = 10_000, phone: str = PHONE, **more: str) -> Charge:
        """A charge by the client, with an idempotency key of its own unless one is given."""
        given = {"idempotency_key": f"key-{next(_numbers)}", "channel": "mtn", **more}
        return self.pay.charges.create(amount=amount, phone=phone, **given)

    def prompted(self, phone: str = PHONE, amount: str = "100.00", intent_id: str = "") -> str:
        """An intent that is confirmed, which asks a customer for their PIN."""
        intent_id = intent_id or self.pay.payment_intents.create(amount=Decimal(amount)).id
        self.pay.payment_intents.confirm(intent_id, phone=phone, provider="mtn")
        return intent_id

    def paid(self, phone: str = PHONE) -> str:
        made = self.prompted(phone)
        self.bench.phone(phone).enter_pin("1234")
        return made

    def after_each(self, steps: tuple[int, ...], look: Callable[[], object]) -> list[object]:
        """What is seen when the clock has moved by each of some steps."""
        return [(self.advance(step), look())[1] for step in steps]

    def events_of(self, payment: str) -> list[str]:
        """The types of the events about a payment, in order."""
        objects = [(each.type, each.data.object) for each in self.pay.events.each()]
        return [kind for kind, thing in objects[::-1] if payment in (thing["id"], thing.get("payment_intent"))]

    def books(self) -> dict[int, int]:
        """The balance of each kind of account, on its normal side."""
        return self.bench.ledger.accounts.groupby("code")["balance_minor"].sum().to_dict()

    def statuses(self, *payments: str) -> list[str]:
        groups = (self.pay.payment_intents if each.startswith("pi_") else self.pay.charges for each in payments)
        return [group.retrieve(each).status for group, each in zip(groups, payments, strict=True)]

    def calls(self) -> list[str]:
        """The merchant's calls so far."""
        return [row["what"] for row in self.bench.trace if row["kind"] == "call"]

    @contextmanager
    def answering(self, status: int, times: int = 1_000) -> Iterator[None]:
        """The shop's server answers so many webhooks with this status, and from 500 on takes none of them."""
        receiver._STATUS.setdefault(status, f"{status} As Asked")  # noqa: SLF001  it never gives some of them
        respond, seen = self.bench.receiver._respond, count()  # noqa: SLF001  the merchant's server

        def other(environ: dict[str, object]) -> tuple[int, bytes]:
            if next(seen) >= times:
                return respond(environ)
            return status, b"" if status >= 500 else respond(environ)[1]

        self.bench.receiver._respond = other  # type: ignore[method-assign]  # noqa: SLF001  the same
        yield
        self.bench.receiver._respond = respond  # type: ignore[method-assign]  # noqa: SLF001  the same

    # Clearing and payouts

    def cleared(self) -> list[int]:
        """What is available on each of four days, with a payment on the first and one on the second."""
        seen = []
        for amount in (10_000, 5_000, 0, 0):
            if amount:
                self.charged(amount)
            seen.append(self.books().get(2010, 0))
            assert str(self.pay.balance.retrieve().available[0].amount) == f"{seen[-1] / 100:.2f}"
            self.advance(DAY_S)
        return seen

    def refunded_before_it_is_cleared(self) -> list[int]:
        """What is pending after a refund of the first payment and a night, and available after another night."""
        first = self.charged()
        self.advance(DAY_S)
        self.charged(5_000)
        self.pay.refunds.create(charge=first.id)
        first_night, second_night = self.after_each((DAY_S, DAY_S), self.books)
        return [first_night[2000], second_night[2010]]

    def settled_long_after(self) -> int:
        self.prompted(COMES_LATE)
        self.advance(5 * DAY_S)
        self.bench.control.settle({"recipe": "suspense_settled", "entry": self.bench.ledger.entries["id"].iloc[0]})
        self.advance(3 * DAY_S)
        return self.books()[2010]

    def undone_after_it_was_cleared(self) -> tuple[int, int]:
        """What is pending, and how much happened in ten nights after it: it keeps none of them going."""
        self.charged()
        self.advance(3 * DAY_S)
        self.bench.control.settle({"recipe": "reversed", "entry": self.bench.ledger.entries["id"].iloc[0]})
        self.advance(3 * DAY_S)
        before = self.bench.control.clock().seq
        self.advance(10 * DAY_S)
        return self.books()[2000], self.bench.control.clock().seq - before

    def paid_out(self) -> tuple[list[tuple[str, str]], list[str], str]:
        """The payouts after three payments, their events, and why one more is refused."""
        for _ in range(3):
            self.charged()
            self.advance(DAY_S)
        self.advance(5 * DAY_S)
        made = [(str(each.amount), each.status) for each in self.pay.payouts.each()]
        types = sorted(each.type for each in self.pay.events.each(type="payout.*"))
        return made, types, self.post("/v1/payouts", {"amount": 1, "currency": "ZMW"}).json().get("code", "")

    def fee_after_refunds(self) -> list[object]:
        """What is left of the fee on 100.01 after a third goes back, after another one fails, and after the rest."""
        made, seen = self.charged(10_001), list[object]()
        for minor, headers in ((3_333, {}), (3_333, {"Sandbox_Scenario": "limit_reached"}), (6_668, {})):
            assert self.post("/v1/refunds", {"charge": made.id, "amount": minor}, **headers).status_code == 200
            seen += self.after_each((0, 5), lambda: self.books()[4000])
        return [*seen, {code: minor for code, minor in self.books().items() if minor and code != 1010}]

    # Currencies, numbers and amounts

    def in_other_currencies(self) -> list[object]:
        """The amounts of intents in yen, whole and not, and the status of a charge in dinars."""
        yen = [self.intent(currency="JPY", amount=each).json().get("amount") for each in (100, 100.5)]
        return [*yen, self.charge(currency="kwd", amount=100_005).status_code]

    def of_each_currency(self) -> list[int]:
        """The amounts of a hundred units in four currencies, as they are asked for: the books have their decimals."""
        in_whole_units, asked_for = self.bench.gaps["charge_amount_unit"]["value"] == "major", []
        for code in ("JPY", "USD", "KWD", "UYW"):
            one = 10 ** ISO_4217[code].decimals
            asked_for.append(100 if in_whole_units else 100 * one)
            made = self.charged(asked_for[-1], currency=code.lower())
            assert (made.amount, made.currency) == (asked_for[-1], code.lower())
            of_code = self.bench.ledger.accounts.query("currency == @code").set_index("code")["balance_minor"]
            fee = int(Decimal("2.5") * one + Decimal("0.5"))
            assert (of_code[1100], of_code[4000]) == (99 * one, fee), code
        assert self.bench.tables.charges["amount_minor"].tolist() == [100, 10_000, 100_000, 1_000_000]
        read = ["100", "100.00", "100.000", "100.0000"]
        assert money(self.bench.tables.charges)["amount"].tolist() == read
        assert money(self.bench.ledger.postings.query("line == 1"))["amount"].tolist() == read
        self.advance(DAY_S)
        available = {each.currency: each.amount for each in self.pay.balance.retrieve().available}
        assert [*available] == ["ZMW", "JPY", "KWD", "USD", "UYW"]
        self.pay.payouts.create(amount=available["KWD"], currency="KWD")
        assert "currencies" in rows_in(self.get(f"/v1/charges/{made.id}"))
        return asked_for

    def at_the_bounds_of_each_currency(self) -> Mapping[str, list[str]]:
        """Currency → how its least and largest amounts are answered, and those beyond them."""
        responses: dict[str, list[str]] = {}
        for code in ("JPY", "ZMW", "KWD"):
            one = 10 ** ISO_4217[code].decimals
            responses[code] = [
                self.charge(f"{code}-{amount}", amount=amount, currency=code.lower()).json().get("code", "paid")
                for amount in (one, 20_000 * one, one - 1, 20_000 * one + 1)
            ]
        return responses

    def beyond_the_bounds(self) -> tuple[int, int]:
        return self.charge(amount=99).status_code, self.intent(amount=20_001).status_code

    def by_a_national_number(self) -> list[object]:
        made = [self.charge(key=each, phone=each).status_code for each in ("0961234567", "96")]
        return [*made, "paid" in self.bench.phone(PHONE).screen]

    def one_customer_by_both_numbers(self) -> str:
        self.bench.operator.script("0961234567", ["insufficient_funds", "server_error"])
        with pytest.raises(PaymentDeclined):
            self.charged()
        with pytest.raises(ApiError, match="before it did anything"):
            self.charged(phone="0961234567")
        made = self.prompted("0961234567")
        assert self.bench.phone(PHONE).waiting
        self.bench.phone("0961234567").enter_pin("1234")
        return str(self.pay.payment_intents.retrieve(made).payment_method.mobile_money.phone)

    def from_zed(self) -> tuple[str | None, bool]:
        made = self.charge(phone=ZED, channel="zed").json()
        return made.get("provider"), "operator:zed:float" in [*self.bench.ledger.accounts["account"]]

    def zed_as_any_operator(self) -> tuple[str, str | None]:
        """It has accounts of its own, is warned of like any other, and may be down."""
        made = self.charged(phone="+260791234567", channel="zed")
        assert made.warnings == []
        assert self.charged(phone=ZED).warnings == [
            "channel is mtn, and the number belongs to zed, which is asked for the money."
        ]
        self.pay.refunds.create(charge=made.id)
        self.advance(3 * DAY_S)
        balances = self.bench.ledger.accounts.set_index("account")["balance_minor"]
        assert {"operator:zed:float", "operator:zed:in_transit", "expense:operator_fee:zed"} <= {*balances.index}
        assert balances["operator:zed:float"] == 0
        self.bench.operator.outage("zed", seconds=600)
        with pytest.raises(PaymentDeclined, match="down"):
            self.charged(phone="+260581234567", channel="ZED_mobile_ZMB")
        return made.channel, made.provider

    def of_150_units(self) -> tuple[int, bool, int]:
        """What the response has of it, whether a fee is taken, and what is posted."""
        made = self.charge(amount=150).json()["amount"]
        return made, self.books().get(4000, 0) > 0, int(self.bench.ledger.postings["amount_minor"].iloc[0])

    def whole_units_are_of_charges_alone(self) -> list[object]:
        """What a charge of an intent shows before and after its refunds, and what the tables have."""
        intent_id = self.prompted(amount="87.35")
        self.bench.phone(PHONE).enter_pin("1234")
        made = self.pay.payment_intents.retrieve(intent_id).latest_charge
        part = self.pay.refunds.create(payment_intent=intent_id, amount=Decimal("7.35"))
        shown = self.pay.charges.retrieve(made)
        rest = self.pay.refunds.create(charge=made)
        assert self.pay.charges.retrieve(made).refunded
        assert self.bench.tables.charges[["amount_minor", "refunded_minor"]].to_numpy().tolist() == [[8_735, 8_735]]
        assert self.bench.tables.refunds["amount_minor"].tolist() == [735, 8_000]
        assert self.charged(150).amount == 150
        text = self.get(f"/v1/charges/{made}").text.partition('"amount":')[2].partition(",")[0]
        return [shown.amount, shown.amount_refunded, shown.refunded, part.amount, rest.amount, text]

    def of_half_a_ngwee(self) -> list[object]:
        """It goes to the even one, in intents alone."""
        assert self.post("/v1/payouts", {"amount": 1.005, "currency": "ZMW"}).json()["code"] == "amount_too_precise"
        assert self.pay.payment_intents.create(amount=Decimal("1.02")).amount == Decimal("1.02")
        return [self.intent(amount=each).json().get("amount") for each in (1.005, 1.015, 0.004)]

    def warned_of_a_hundredth(self) -> list[str]:
        """The warnings of an amount that looks a hundred times off, among those of its own currency."""
        usual = [self.charged(15_000 + place, phone=APPROVES) for place in range(20)]
        assert not any(each.warnings for each in usual)
        warnings = []
        for amount, says in ((150, "far less"), (1_500_000, "far more")):
            (warning,) = self.charged(amount).warnings
            assert "K150.10" in warning
            warnings.append(says if says in warning else warning)
        assert self.charged(700_000).warnings == []
        assert self.charged(100, currency="jpy").warnings == [], "beside those of its own currency"
        return warnings

    def fees(self) -> tuple[int, int]:
        self.charge()
        return self.books().get(4000, 0), self.books().get(5000, 0)

    def relying_on(self, row: str, path: str, **changes: object) -> list[bool]:
        """Whether the row is named in the response to a usual request, and in the one that it let pass."""
        usual = charge_of(PHONE) if path == "/v1/charges" else INTENT
        came = [self.post(path, body) for body in (usual, {**usual, **changes})]
        assert [each.status_code for each in came] == [200, 200], came[1].text
        return [row in rows_in(each) for each in came]

    # Charges that wait, states, late money

    def answered_within_the_call_or_not(self) -> list[object]:
        """The first response, whether the customer is asked, where the charge stands after a wrong PIN and the right
        one, and what is told of it.
        """
        made, phone = self.charge(reference="order-1"), self.bench.phone(PHONE)
        body, then = made.json(), list[str]()
        is_asked = phone.waiting and "order-1" in phone.screen and self.events_of(body["id"]) == ["charge.pending"]
        for pin in ("0000", "1234") if is_asked else ():
            phone.enter_pin(pin)
            then += self.statuses(body["id"])
        assert "charge_wait" in rows_in(made)
        assert self.pay.wait_charge(body["id"], timeout_s=0).status == "succeeded"
        result = next(row for row in self.bench.trace if row["what"] == "POST /v1/charges")["result"]
        assert (result, body["failure_code"]) == (str(made.status_code), None)
        assert self.bench.is_served or self.events_of(body["id"]) == [each.type for each in self.bench.receiver.events]
        return [made.status_code, body["status"], is_asked, then, self.events_of(body["id"])]

    def failing_as_the_customer_has_it(self) -> list[tuple[str, ...]]:
        """How a charge stands a second before its time is over, why it failed then, and what was told of it."""
        seen = []
        for press in (Phone.cancel, Phone.ignore, lambda _: None):
            made = self.charged()
            press(self.bench.phone(PHONE))
            self.advance(299)
            before, ended = self.statuses(made.id)[0], self.pay.wait_charge(made.id)
            seen.append((before, ended.status, str(ended.failure_code), *self.events_of(made.id)))
        assert self.books() == {}
        return seen

    def by_test_numbers(self) -> list[str | None]:
        """None is declined within the call; each acts by itself."""
        made = [self.charged(phone=f"+26096000000{ending}") for ending in (1, 2, 3, 4, 7, 9)]
        assert {each.status for each in made} == {"pending"}
        self.advance(5)
        assert self.books()[1100] == 10_000 - 100
        return [self.pay.charges.retrieve(each.id).failure_code for each in made]

    def repeated_after_it_was_paid(self) -> list[str]:
        """The same key gives the pending response once more and prompts nobody."""
        first = self.charged(idempotency_key="once")
        self.bench.phone(PHONE).enter_pin("1234")
        again = self.charged(idempotency_key="once")
        assert (again.id, again.status) == (first.id, "pending")
        assert not self.bench.phone(PHONE).waiting
        return [row["result"] for row in self.bench.trace if row["what"] == "POST /v1/charges"]

    def several_prompts_queue(self) -> str:
        """How the first response stands in the diagram; a wait may run out."""
        first, second = self.charged(), self.charged(amount=20_000)
        assert self.bench.phone(PHONE).shown["queued"] == 1
        self.bench.phone(PHONE).enter_pin("1234")
        with pytest.raises(WaitExpired, match="is still pending"):
            self.pay.wait_charge(second.id, timeout_s=0)
        assert self.statuses(first.id, second.id) == ["succeeded", "pending"]
        assert self.bench.tables.charges["status"].tolist() == ["succeeded", "pending"]
        return re.findall(r"20. pending", str(self.bench.trace.sequence))[0]

    def unanswered(self, phone: str, seconds: int) -> list[str]:
        """Where an intent and a charge of its own stand after so many seconds in which nobody pressed anything."""
        made = self.confirmed(phone).json()["id"], self.charge(phone=phone).json()["id"]
        self.advance(seconds)
        return self.statuses(*made)

    def late_money_that_pays(self) -> list[str]:
        """How intent, its charge and one of its own stand when the prompt has expired; a minute later both are paid."""
        intent_id, own = self.prompted(COMES_LATE), self.charged(5_000, COMES_LATE)
        assert self.pay.wait(intent_id).last_payment_error.code == "prompt_timeout"
        attempt = self.pay.payment_intents.retrieve(intent_id).latest_charge
        ended = self.statuses(intent_id, attempt, own.id)
        self.advance(60)
        now = self.pay.payment_intents.retrieve(intent_id)
        assert (now.status, now.last_payment_error) == ("succeeded", None)
        assert self.statuses(own.id) == ["succeeded"]
        assert self.events_of(intent_id)[-2:] == ["charge.succeeded", "payment_intent.succeeded"]
        assert self.events_of(own.id) == ["charge.pending", "charge.failed", "charge.succeeded"]
        assert self.books().get(2900) is None
        refund = self.pay.refunds.create(payment_intent=intent_id, amount=Decimal("0.01"))
        self.advance(5)
        assert self.pay.refunds.retrieve(refund.id).status == "succeeded"
        assert "late_success" in rows_in(self.get(f"/v1/payment_intents/{intent_id}"))
        return ended

    def late_money_of_what_was_canceled(self) -> list[object]:
        """An intent that has ended is neither canceled nor tried again; of one that was canceled the money waits."""
        intent_id = self.prompted(COMES_LATE)
        self.advance(300)
        if self.statuses(intent_id) == ["failed"]:
            for again in (self.pay.payment_intents.cancel, lambda each: self.prompted(intent_id=each)):
                with pytest.raises(StateConflict, match="failed") as refused:
                    again(intent_id)
                assert refused.value.facts["current"] == "failed"
            return ["failed"]
        self.pay.payment_intents.cancel(intent_id)
        self.advance(60)
        return [*self.statuses(intent_id), *self.events_of(intent_id)[-2:], self.books()[2900]]

    def tried_again_as_another(self) -> list[str]:
        """How three intents end whose customer fails once for each order."""
        made = [self.pay.payment_intents.create(amount=10, description=order).id for order in ("a", "a", "b")]
        return [self.pay.wait(self.prompted("+260960000013", intent_id=each)).status for each in made]

    def late_beside_an_open_prompt(self) -> list[str | None]:
        """The prompt is withdrawn."""
        intent_id = self.prompted(COMES_LATE)
        self.advance(300)
        first = self.pay.payment_intents.retrieve(intent_id).latest_charge
        self.prompted(AIRTEL, intent_id=intent_id)
        self.advance(60)
        now = self.pay.payment_intents.retrieve(intent_id)
        assert (now.status, now.latest_charge, now.next_action) == ("succeeded", first, None)
        assert now.payment_method.mobile_money.phone.endswith("010")
        assert not self.bench.phone(AIRTEL).waiting
        assert "canceled" in self.bench.phone(AIRTEL).screen
        self.pay.refunds.create(payment_intent=intent_id)
        return [each.failure_code for each in self.pay.charges.each()]

    def late_beside_another_attempt(self) -> list[object]:
        """What another attempt has paid is not paid twice, and beside one of which nobody knows the money waits too."""
        seen: list[object] = []
        for other in (AIRTEL, UNKNOWN):
            intent_id = self.prompted(COMES_LATE)
            self.advance(300)
            self.prompted(other, intent_id=intent_id)
            if other == AIRTEL:
                self.bench.phone(other).enter_pin("1234")
            self.advance(60)
            assert self.events_of(intent_id)[-1] == "payment_intent.late_success"
            seen += [*self.statuses(intent_id), self.books()[2900]]
        return seen

    def confirmed_beside_late_money(self) -> tuple[int, str | None, int]:
        """Status, code and number of warnings where an attempt before was paid late."""
        made = self.confirmed(COMES_LATE).json()["id"]
        self.advance(400)
        answer = self.post(f"/v1/payment_intents/{made}/confirm", method_on(PHONE))
        return answer.status_code, answer.json().get("code"), len(answer.json().get("warnings", []))

    def relied_on_as_time_passes(self) -> list[set[str]]:
        path = f"/v1/payment_intents/{self.prompted(COMES_LATE)}"
        rows = {"late_success", "prompt_timeout_s"}
        assert {"clearing", "payouts"} <= rows_in(self.get("/v1/balance"))
        return self.after_each((0, 300), lambda: rows_in(self.get(path)) & rows)

    def expired_after(self, seconds: int) -> list[object]:
        """How an intent stands a second before so much time has passed, and then."""
        made = self.confirmed(NOBODY_ANSWERS).json()["id"]
        return self.after_each((seconds - 1, 1), lambda: self.statuses(made)[0])

    # Keys, tokens and callers

    def rolled(self) -> list[list[tuple[int, bool]]]:
        """How two keys that were rolled, the second revoked then, are answered now, before a day is over, and then."""
        keys = self.pay.api_keys
        self.new_window()
        first, second = keys.create(), keys.create()
        rolled_s = self.bench.clock.now_ms // 1000
        newer = keys.roll(first.id), keys.roll(second.id)
        assert {each.status for each in newer} == {"active"}
        listed = {each.id: each for each in keys.list(limit=100)}
        overlaps = self.bench.gaps["key_rotation"]["value"] == "overlap"
        assert listed[first.id].status == "rolled"
        assert not overlaps or listed[first.id].works_until == rolled_s + DAY_S
        assert not listed[newer[0].id].works_until
        with pytest.raises(StateConflict):
            keys.roll(first.id)
        if overlaps:
            assert keys.revoke(second.id).status == "revoked"

        def look() -> list[tuple[int, bool]]:
            came = [self.get("/v1/balance", key=str(each.value)) for each in (first, second)]
            return [(each.status_code, "key_rotation" in rows_in(each)) for each in came]

        seen = self.after_each((0, DAY_S - 1, 1), look)
        with pytest.raises(StateConflict):
            keys.revoke(first.id)
        return seen

    def signed_in(self) -> list[object]:
        """Who is given a token, and the members of the response."""
        account = {"email": self.bench.email or "a@example.com", "password": str(self.bench.password) or "a"}
        bodies = (account, {"email": "a@example.com", "password": "open sesame"})
        came = [self.post("/v1/auth/token", each) for each in bodies]
        assert str(self.pay.auth.token(**account).access_token).startswith("at_")
        return [*(each.status_code for each in came), [*came[0].json()][:2]]

    def one_account_signs_in(self) -> list[str]:
        """The members in which its token is wrapped."""
        self.new_window()
        assert self.bench.email.endswith("@merchant.example")
        assert str(self.bench.password) not in repr(self.bench.password)
        good = {"email": self.bench.email, "password": str(self.bench.password)}
        answer = self.post("/v1/auth/token", good)
        assert [*answer.json()] == ["data"]
        assert {"token_credentials", "token_field"} <= rows_in(answer)
        assert "no-store" in answer.headers["Cache-Control"]
        for wrong in ({"email": "a@example.com"}, {"password": "greenhouse"}, {"password": "wrong"}):
            refused = self.post("/v1/auth/token", {**good, **wrong})
            assert refusal(refused) == (401, "credentials_wrong", "password")
            assert "token_credentials" in rows_in(refused)
        token = self.pay.auth.token(**good)
        newer = self.pay.auth.refresh(str(token.refresh_token))
        assert self.bench.client_with(str(newer.access_token)).balance.retrieve().object == "balance"
        trace = self.get("/sandbox/trace").text
        shown = (self.bench.password, token.access_token, newer.access_token, newer.refresh_token)
        assert not [each for each in shown if str(each) in trace]
        return [*answer.json()["data"]]

    def with_a_token(self) -> list[int]:
        token = str(self.pay.auth.token(email="a@example.com", password="open sesame").access_token)
        plant = self.post("/plants", {"id": 1, "name": "Monstera"}, key=token)
        return [plant.status_code, self.get("/v1/balance", key=token).status_code]

    def refresh_by_header(self) -> int:
        token = self.pay.auth.token(email="a@example.com", password="open sesame")
        return self.post("/v1/auth/refresh", key=str(token.access_token)).status_code

    def confirm_as_app(self) -> int:
        made = self.pay.payment_intents.create(amount=Decimal(100))
        app = self.bench.client_with(str(self.bench.publishable_key))
        try:
            app.payment_intents.confirm(made.id, phone=PHONE, provider="mtn", client_secret=str(made.client_secret))
        except ApiError as error:
            return error.status
        return 200

    def charge_with_a_bearer(self) -> int:
        headers = {**bearer(self.bench), "Idempotency-Key": "k"}
        return self.bench.http.post("/v1/charges", json={}, headers=headers).status_code

    def charge_without_a_key(self) -> int:
        return self.bench.http.post(
            "/v1/charges", json=charge_of(PHONE), auth=(str(self.bench.secret_key), "")
        ).status_code

    # Webhooks

    def attempts(self, status: int, seconds: int = 10 * DAY_S) -> list[int]:
        """How many attempts there are at a receiver that answers so in so many seconds, and at how many moments."""
        with self.answering(status):
            self.charge()
            self.advance(seconds)
        moments = [row["at"] for row in self.bench.trace if row["kind"] == "webhook"]
        return [len(moments), len({*moments})]

    def failing_for_a_week(self) -> str:
        """The state of an endpoint that answered nothing but 500 to an event a day."""
        with self.answering(500):
            for day in range(7):
                self.charge(key=f"day-{day}")
                self.advance(days=1)
        (endpoint,) = self.get("/v1/webhook_endpoints").json()["data"]
        return str(endpoint["status"])

    def first_in_the_body(self) -> list[object]:
        """What a message begins with, and what is read of it alike in any form."""
        self.intent()
        (event,) = self.pay.events.list().data
        name = next(iter(json.loads(self.bench.receiver.arrivals[-1].body)))
        return [name, event.request.id is not None, event.timestamp == self.bench.receiver.events[-1].timestamp]

    def arrived(self) -> list[str]:
        self.intent()
        last = self.bench.receiver.arrivals[-1]
        return [last.verdict, *last.headers]

    def types_that_arrive(self) -> list[str]:
        """The types of events of an intent that is made, a charge and a decline."""
        self.intent(), self.charge(), self.charge(key="declined", phone=BROKE)
        return [each.type for each in self.bench.receiver.events]

    def in_which_order(self) -> list[str]:
        """The types of a payment's events as they were taken, within 10 s, by a server that was down for the first."""
        with self.answering(500, times=1):
            self.confirmed()
            self.bench.phone(PHONE).enter_pin("1234")
            self.advance(10)
        return [each.type.partition(".")[2] for each in self.bench.receiver.events]

    def come_after(self) -> list[object]:
        """How many messages of a charge have come after 29 s, and after another second."""
        self.charge()
        return self.after_each((29, 1), lambda: len(self.bench.receiver.arrivals))

    def verdicts(self) -> list[str]:
        return [each.verdict for each in self.bench.receiver.arrivals]

    def dead_letters(self) -> list[object]:
        """How many there are ten days after a server was down, and forty days after it."""
        with self.answering(500):
            self.charge()
            self.advance(10 * DAY_S)
        return self.after_each((0, 30 * DAY_S), lambda: len(self.pay.deliveries.list(status="dead_letter")))

    def sent_again(self) -> list[str]:
        """What a receiver that dedupes by id makes of a message that is replayed."""
        self.charge()
        self.pay.deliveries.replay(self.pay.deliveries.list().data[0].id)
        return self.verdicts()

    def late_by_500_s(self) -> str:
        """The verdict on the last message, received again so much later."""
        self.charge()
        last = self.bench.receiver.arrivals[-1]
        self.advance(500)
        self.bench.receiver.receive(last.body, last.headers)
        return self.bench.receiver.arrivals[-1].verdict

    # Errors, repeats and headers

    def declined_to_the_client(self) -> list[object]:
        """What the client makes of a decline, in whatever form it comes."""
        with pytest.raises(PaymentDeclined) as declined:
            self.charged(phone=BROKE)
        error = declined.value
        return [error.decline_code, error.code, *self.statuses(*filter(None, [error.facts.get("charge")]))]

    def first_members(self) -> list[object]:
        refused = self.intent(amount=0)
        return [refused.headers["Content-Type"], *sorted(refused.json())[:2], self.declined_to_the_client()]

    def reused(self) -> tuple[int, str]:
        self.charge()
        return refusal(self.charge(amount=1))[:2]

    def failing_by_number_and_script(self) -> tuple[int, int]:
        by_number = self.charge(phone=BROKE).status_code
        self.post("/sandbox/operator/script", {"phone": PHONE, "answers": ["limit_reached"]})
        return by_number, self.charge(key="scripted").status_code

    def is_replayed(self, **changes: object) -> bool:
        return "Idempotent-Replayed" in self.charge(**changes).headers

    def kept_for(self, seconds: int) -> list[object]:
        """Whether the same is answered again now, before so much time has passed, and then."""
        return self.after_each((0, seconds - 1, 1), self.is_replayed)

    def of_a_version(self) -> tuple[bool, str]:
        named = self.post("/v1/payment_intents", {}, Api_Version="0").json()["code"]
        return "Api-Version" in self.intent().headers, named

    def deprecated(self) -> list[object]:
        """The headers of an operation that is marked, twice; nothing says so of another one, or before and after."""

        def described() -> list[str]:
            paths = self.get("/openapi.json").json()["paths"].values()
            return [each["operationId"] for path in paths for each in path.values() if "deprecated" in each]

        seen = []
        for _ in range(2):
            assert described() == []
            assert "Deprecation" not in self.get("/v1/balance").headers
            moments = {"deprecated_at": "2026-01-05T00:00:00Z", "sunset_at": "2026-12-31T22:00:00Z"}
            assert self.bench.control.deprecate("retrieveBalance", **moments).sunset_at == "2026-12-31T22:00:00.000Z"
            answer = self.get("/v1/balance")
            assert "Deprecation" not in self.get("/v1/charges").headers
            named = [answer.headers.get(name) for name in ("Deprecation", "Sunset")]
            seen.append([*named, "deprecation" in rows_in(answer), described()])
            self.bench.control.deprecate("retrieveBalance", marked=False)
        assert seen[0] == seen[1]
        self.bench.control.deprecate("createPaymentIntent")
        return [*seen[0], self.intent().headers.get("Deprecation")]

    def not_to_be_marked(self) -> list[int]:
        """What is no operation, or no moment, or one that has passed."""
        seen = []
        for operation, moments in (
            ("payCash", {}), ("retrieveBalance", {"sunset_at": "2020-01-01T00:00:00Z"}),
            ("retrieveBalance", {"deprecated_at": "soon"}),
        ):  # fmt: skip
            with pytest.raises((NotFound, StateConflict, InvalidRequest)) as refused:
                self.bench.control.deprecate(operation, **moments)
            seen.append(refused.value.status)
        return seen

    # Pages, and calls in a minute

    def new_window(self) -> None:
        self.advance(seconds=60)

    def use_up(self) -> None:
        """Call until the calls of this minute are used up."""
        while "Retry-After" not in self.get("/v1/balance").headers:
            pass

    def calls_in_a_minute(self) -> list[object]:
        """How many of 101 calls were answered with each status: now, 59 seconds later, and another one later."""
        return self.after_each(
            (0, 59, 1), lambda: dict(Counter(self.get("/v1/balance").status_code for _ in range(101)))
        )

    def confirmed_and_repeated(self) -> list[object]:
        """The status of a confirm that is sent twice, and what it tells; the client understands it."""
        made = self.intent().json()["id"]
        path = f"/v1/payment_intents/{made}/confirm"
        came = [self.post(path, method_on("+260961234568"), Idempotency_Key=made) for _ in range(2)]
        assert [each.json() for each in came] == [{"id": made, "status": "requires_action"}] * 2
        assert {"confirm_response", "intent_states"} <= rows_in(came[0])
        assert "currency_case" not in rows_in(came[0])
        assert "Idempotent-Replayed" in came[1].headers
        again = self.pay.payment_intents.create(amount=1)
        now = self.pay.payment_intents.confirm(again.id, phone="+260961234569", provider="mtn")
        assert (now.id, now.status) == (again.id, "requires_action")
        return [each.status_code for each in came]

    def by_numbers_of_pages(self) -> list[str]:
        """The members of a page; the client turns them, and a cursor is a parameter that there is not."""
        pay = self.bench.client
        self.new_window()
        made = [pay.payment_intents.create(amount=each).id for each in range(1, 6)][::-1]
        first = self.get("/v1/payment_intents?per_page=3")
        body = first.json()
        assert ([each["id"] for each in body["data"]], body["page"], body["per_page"]) == (made[:3], 1, 3)
        assert "pagination" in rows_in(first)
        assert [each.id for each in pay.payment_intents.list(limit=2, page=2)] == made[2:4]
        assert pay.payment_intents.list(limit=2, page=2).has_more
        last = pay.payment_intents.list(limit=1, page=body["total"])
        assert (len(last), last.has_more) == (1, False)
        assert pay.payment_intents.list(page=1000).data == []
        assert len([*pay.payment_intents.each()]) == body["total"]
        for misplaced in ({"starting_after": made[0]}, {"ending_before": made[0]}):
            with pytest.raises(InvalidRequest, match="by numbers of pages"):
                pay.payment_intents.list(**misplaced)
        for wrong in ("page=0", "per_page=0", "per_page=101", "page=x", f"page={2**31}"):
            answer = self.get(f"/v1/charges?{wrong}")
            assert refusal(answer) == (400, "parameter_invalid", wrong.partition("=")[0])
        for name in made[:2]:
            pay.payment_intents.cancel(name)
        of_type = self.get("/v1/events?type=payment_intent.canceled&per_page=1").json()
        assert (len(of_type["data"]), of_type["total"]) == (1, 2)
        ignored = self.get(f"/v1/payment_intents?starting_after={made[0]}&per_page=1")
        assert ignored.json()["data"][0]["id"] == made[0]
        return sorted(body)

    def a_hundred_calls_of_an_account(self) -> list[str]:
        """What is told of the limit, from the first call of a minute to the first of the next."""
        self.new_window()
        made = self.post("/sandbox/accounts", {"name": "OTHER"}).json()
        headers = {"Authorization": f"Bearer {made['secret_key']}"}
        first = self.bench.http.post("/plants", json={"id": 1, "name": "Monstera"}, headers=headers)
        assert first.headers["RateLimit-Policy"] == '"default";q=100;w=60'
        # What is refused counts, as what is done; what has no account, or is the sandbox's own, does not.
        second = self.bench.http.post("/v1/payment_intents", headers=headers).headers["RateLimit"]
        for path in ("/v1/nothing", "/sandbox/clock", "/openapi.json"):
            assert "RateLimit" not in self.bench.http.get(path, headers=headers).headers
        assert "RateLimit" not in self.get("/v1/balance", key="sk_test_none").headers
        assert "RateLimit" not in self.bench.http.get("/v1/balance", headers={**headers, UNSEEN: "true"}).headers
        self.advance(seconds=20.5)
        left = [self.bench.http.get("/v1/balance", headers=headers).headers["RateLimit"] for _ in range(98)]
        assert left == [f'"default";r={each};t=40' for each in range(97, -1, -1)]
        key = {"Idempotency-Key": "limited"}
        refused = self.bench.http.post("/v1/payment_intents", json=INTENT, headers={**headers, **key})
        assert refusal(refused) == (429, "rate_limited", None)
        assert refused.headers["Retry-After"] == "40"
        assert "rate_limit" in rows_in(refused)
        with pytest.raises(RateLimited) as limited:
            self.bench.client_with(made["secret_key"]).balance.retrieve()
        assert limited.value.facts["retry_after_s"] == 40
        assert self.pay.balance.retrieve().object == "balance"
        self.advance(seconds=39)
        assert self.bench.http.get("/v1/balance", headers=headers).headers["Retry-After"] == "1"
        self.advance(seconds=1)
        # Nothing was done and nothing kept: the same is sent again.
        again = self.bench.http.post("/v1/payment_intents", json=INTENT, headers={**headers, **key})
        assert (again.status_code, "Idempotent-Replayed" in again.headers) == (200, False)
        return [first.headers["RateLimit"], second, refused.headers["RateLimit"], again.headers["RateLimit"]]

    def the_bench_goes_on(self) -> list[bool]:
        """Whether tables, events and console are there where the calls of the minute are used up."""
        self.new_window()
        assert self.bench.receiver.secrets
        name = self.paid("+260961234572")
        assert is_true_soon(lambda: "payment_intent.succeeded" in [each.type for each in self.bench.receiver.events])
        self.use_up()
        return [
            name in [*self.bench.tables.payments["id"]],
            len(self.bench.tables.events) >= 5,
            bool(str(self.bench.console())),
        ]

    def a_reset_lets_every_account_begin_anew(self) -> list[tuple[bool, str]]:
        """Whether a mark is there, and what is left of the limit: first, then, and after a reset."""
        self.bench.control.deprecate("retrieveBalance")
        seen = []
        for then in (self.bench.clock.advance, self.bench.reset, self.bench.clock.advance):
            answer = self.get("/v1/balance")
            seen.append(("Deprecation" in answer.headers, answer.headers["RateLimit"]))
            then()
        return seen

    # Nothing but what the interface shows

    def endpoints_that_are_assumed(self) -> list[object]:
        return [self.get("/v1/charges").status_code, self.get("/v1/refunds/x").json()["code"],
                self.post("/v1/payment_intents", {}).status_code]  # fmt: skip

    def nothing_but_what_is_shown(self) -> list[int]:
        """The statuses of what is only assumed; the client's methods for it find nothing."""
        made = self.pay.payment_intents.create(amount=150)
        seen = []
        for method, path, row in (
            ("GET", f"/v1/payment_intents/{made.id}", "extra_endpoints"), ("GET", "/v1/charges", "extra_endpoints"),
            ("POST", "/v1/refunds", "extra_endpoints"), ("DELETE", "/v1/api_keys/x", "extra_endpoints"),
            ("GET", "/v1/webhook_endpoints", "endpoint_registration"), ("HEAD", "/v1/events", "extra_endpoints"),
        ):  # fmt: skip
            answer = self.call(method, path)
            seen.append(answer.status_code)
            assert row in rows_in(answer), path
            assert answer.text == "" if method == "HEAD" else answer.json()["code"] == "path_not_found"
        other = self.call("PUT", "/v1/charges")
        assert (other.status_code, other.headers["Allow"]) == (405, "POST")
        assert self.call("PUT", "/v1/refunds").status_code == 404
        for again in (self.pay.payment_intents.retrieve, self.pay.wait):
            with pytest.raises(NotFound):
                again(made.id)
        return seen

    def the_dashboard_has_the_rest(self) -> list[str]:
        """The calls that it leaves in the trace, for a secret key alone."""
        name = self.paid("+260961234573")
        before = len(self.calls())
        path = f"{DASHBOARD}/payment_intents"
        answer = self.get(path)
        assert (answer.json()["url"], name in answer.text) == (path, True)
        assert answer.headers["Sandbox-Provenance"].startswith("sandbox")
        assert self.bench.http.get(path).status_code == 401
        assert self.get(path, key=str(self.bench.publishable_key)).status_code == 403
        made = self.bench.acting.refunds.create(payment_intent=name, amount=1)
        assert (made.amount, self.bench.looking().refunds.retrieve(made.id).status) == (1, "pending")
        self.bench.acting.payment_intents.cancel(self.pay.payment_intents.create(amount=1).id)
        return self.calls()[before:]

    def one_endpoint_by_the_dashboard(self) -> list[object]:
        assert self.bench.receiver.secrets
        (endpoint,) = self.bench.acting.webhook_endpoints.each()
        assert endpoint.url == self.bench.receiver_url
        with pytest.raises(StateConflict) as refused:
            self.bench.acting.webhook_endpoints.create(url="http://127.0.0.1:9/more")
        answer = self.post(f"{DASHBOARD}/webhook_endpoints", {"url": "http://127.0.0.1:9/more"})
        assert self.bench.acting.webhook_endpoints.roll_secret(endpoint.id).secret
        return [refused.value.code, answer.status_code, "endpoint_registration" in rows_in(answer)]

    def tables_console_and_handset_go_on(self) -> int:
        """How many deliveries are made of an event that is replayed."""
        assert self.bench.receiver.secrets
        name = self.paid("+260961234574")
        assert name in [*self.bench.tables.payments["id"]]
        for each in ("charges", "refunds", "payouts", "events", "deliveries"):
            assert getattr(self.bench.tables, each) is not None
        assert "There is no such path" not in str(self.bench.console())
        self.bench.delivery_faults("duplicate")
        self.bench.delivery_faults()
        event = next(iter(self.bench.looking().events.each()))
        assert str(self.pay.auth.token(email="a@example.com", password="a").access_token).startswith("at_")
        return len(self.bench.acting.events.replay(event.id).data)


class Choice(NamedTuple):
    """What is done in a sandbox, and what is seen by each value of a row."""

    row: str
    look: Callable[[Looks], object]
    seen: Mapping[Any, object]
    """Value of the row → what the look returns."""
    also: Mapping[str, object] = {}
    """Other rows that are switched meanwhile."""
    where: str = ""


MINUTE = [{200: 101}, {200: 101}, {200: 101}]
FIRST, ASKED, THEN = "requires_payment_method", "requires_action", ["charge.pending", "charge.succeeded"]
PAID_OUT = ([("97.50", "paid")] * 3, ["payout.created"] * 3 + ["payout.paid"] * 3, "balance_insufficient")
DECLINED = ["insufficient_funds", "payment_declined", "failed"]
# fmt: off
CHOICES = [
    # 1. Clearing and payouts
    Choice("clearing", Looks.cleared, {"next_day": [0, 9_750, 14_625, 14_625],
        "immediate": [9_750, 14_625, 14_625, 14_625], "t_plus_2": [0, 0, 9_750, 14_625]}),
    Choice("clearing", Looks.refunded_before_it_is_cleared, {"t_plus_2": [4_625, 4_625]}),
    Choice("clearing", Looks.settled_long_after, {"next_day": 9_750, "t_plus_2": 9_750}),
    Choice("clearing", Looks.undone_after_it_was_cleared, {"t_plus_2": (-9_750, 0)}),
    Choice("payouts", Looks.paid_out, {"on_request": ([], [], ""), "daily": PAID_OUT}),
    *(Choice("payouts", Looks.paid_out, {"daily": PAID_OUT}, {"clearing": each}) for each in ("immediate", "t_plus_2")),

    # 2. Resources and their fields
    Choice("success_status", lambda it: (it.intent().status_code, it.charge().status_code),
        {"200": (200, 200), "201_created": (201, 201)}),
    Choice("currencies", Looks.in_other_currencies, {"zmw": [None, None, 400], "iso4217": [100, None, 200]}),
    Choice("currencies", Looks.of_each_currency, {"iso4217": [100, 10_000, 100_000, 1_000_000]}, {}, SOCKET),
    Choice("currencies", Looks.of_each_currency, {"iso4217": [100] * 4}, {"charge_amount_unit": "major"}, SOCKET),
    Choice("currencies", Looks.warned_of_a_hundredth, {"iso4217": ["far less", "far more"]}),
    Choice("currencies", lambda it: it.relying_on("currencies", "/v1/charges", currency="usd"),
        {"iso4217": [False, True]}),
    Choice("currency_case", lambda it: (it.intent(currency="zmw").status_code, it.charge(currency="ZMW").status_code),
        {"either": (200, 200), "strict": (400, 400)}),
    Choice("payment_method_types", lambda it: it.intent(payment_method_types=["mobile_money", "card"]).status_code,
        {"includes": 200, "only": 400}),
    Choice("required_fields", lambda it: it.charge().status_code, {"minimum": 200, "with_reference": 400}),
    Choice("intent_fields", lambda it: [*sorted(it.intent().json())[:3], len(it.intent().json())],
        {"full": ["amount", "canceled_at", "cancellation_reason", 18],
         "minimal": ["client_secret", "id", "status", 3]}),
    Choice("unknown_fields", lambda it: it.intent(colour="green").status_code, {"ignored": 200, "refused": 400}),
    Choice("operator_ids", lambda it: it.charge().json()["channel"], {"short": "mtn", "long": "MTN_MOMO_ZMB"}),
    Choice("phone_format", Looks.by_a_national_number,
        {"e164": [400, 400, False], "national": [200, 400, True]}),
    Choice("phone_format", Looks.one_customer_by_both_numbers, {"national": "+26096••••567"}),
    Choice("phone_format", lambda it: it.relying_on("phone_format", "/v1/charges", phone="0961234567"),
        {"national": [False, True]}),
    Choice("zed_mobile", Looks.from_zed, {"refused": (None, False), "zed": ("zed", True)}),
    Choice("zed_mobile", Looks.zed_as_any_operator, {"zed": ("zed", "zed")}),
    Choice("zed_mobile", Looks.zed_as_any_operator, {"zed": ("ZED_MOBILE_ZMB",) * 2}, {"operator_ids": "long"}),
    Choice("zed_mobile", lambda it: it.relying_on("zed_mobile", "/v1/charges", phone=ZED), {"zed": [False, True]}),
    Choice("charge_amount_unit", Looks.of_150_units, {"minor": (150, True, 150), "major": (150, True, 15_000)}),
    Choice("charge_amount_unit", Looks.whole_units_are_of_charges_alone, {"major": [
        Decimal("87.35"), Decimal("7.35"), False, Decimal("7.35"), 80, "87.35"]}, {}, SOCKET),
    Choice("intent_amount_scale", Looks.of_half_a_ngwee,
        {"exact": [None, None, None], "half_even": [1.0, 1.02, None]}),
    Choice("intent_amount_scale", lambda it: it.relying_on("intent_amount_scale", "/v1/payment_intents", amount=1.005),
        {"half_even": [False, True]}),
    Choice("channel_and_provider", lambda it: it.charge(phone=AIRTEL).json()["provider"],
        {"asked_and_moved": "airtel", "equal": "mtn"}),
    Choice("operator_mismatch", lambda it: it.charge(phone=AIRTEL).status_code, {"accepted": 200, "refused": 400}),
    Choice("merchant_fee", Looks.fees, {"2.5%": (250, 100), "none": (0, 100), "flat_1.00": (100, 100)}),
    Choice("operator_fee", Looks.fees, {"1.0%": (250, 100), "none": (250, 0)}),
    Choice("fee_on_refund", Looks.fee_after_refunds, {
        "kept": [250] * 6 + [{4000: 250, 5000: 100, 1310: 250}],
        "returned": [167, 167, 83, 167, 0, 0, {5000: 100}]}),

    # 3. States and transitions
    Choice("intent_states", lambda it: it.unanswered(NOBODY_ANSWERS, 300),
        {"retryable": [FIRST, "failed"], "failed": ["failed", "failed"]}),
    Choice("intent_states", Looks.tried_again_as_another, {"failed": ["failed", "succeeded", "failed"]}),
    Choice("charge_states", lambda it: it.unanswered(NOBODY_ANSWERS, 300),
        {"three": [FIRST, "failed"], "expired": [FIRST, "expired"]}),
    Choice("late_success", lambda it: it.unanswered(COMES_LATE, 360),
        {"suspense": [FIRST, "failed"], "succeeds": ["succeeded", "succeeded"]}),
    *(Choice("late_success", look, {"succeeds": seen}, {"intent_states": intents, "charge_states": charges})
        for intents, is_last in (("retryable", False), ("failed", True))
        for charges, ended in (("three", "failed"), ("expired", "expired"))
        for look, seen in (
            (Looks.late_money_that_pays, ["failed" if is_last else FIRST, ended, ended]),
            (Looks.late_money_of_what_was_canceled, ["failed"] if is_last else [
                "canceled", "charge.late_success", "payment_intent.late_success", 10_000]))),
    Choice("late_success", Looks.late_beside_an_open_prompt, {"succeeds": ["canceled_by_merchant", None]}, {}, SOCKET),
    Choice("late_success", Looks.late_beside_another_attempt,
        {"succeeds": ["succeeded", 10_000, "processing", 20_000]}),
    Choice("late_success", Looks.relied_on_as_time_passes,
        {"suspense": [{"prompt_timeout_s"}, {"late_success", "prompt_timeout_s"}]}),
    Choice("charge_wait", Looks.answered_within_the_call_or_not, {
        "answered": [200, "succeeded", False, [], ["charge.succeeded"]],
        "interactive": [200, "pending", True, ["pending", "succeeded"], THEN],
        "accepted": [202, "pending", True, ["pending", "succeeded"], THEN]}, {}, SOCKET),
    *(Choice("charge_wait", look, dict.fromkeys(("interactive", "accepted"), seen)) for look, seen in (
        (Looks.failing_as_the_customer_has_it, [
            ("failed", "failed", "declined_by_customer", "charge.pending", "charge.failed"),
            *[("pending", "failed", "prompt_timeout", "charge.pending", "charge.failed")] * 2]),
        (Looks.by_test_numbers, [None, "insufficient_funds", "wrong_pin", "declined_by_customer", "payer_not_found",
                                 "operator_unavailable"]))),
    Choice("charge_wait", Looks.repeated_after_it_was_paid, {"interactive": ["200"] * 2, "accepted": ["202"] * 2}),
    Choice("charge_wait", Looks.several_prompts_queue, {"interactive": "200 pending", "accepted": "202 pending"}),
    Choice("prompt_timeout_s", lambda it: it.expired_after(60), {300: [ASKED, ASKED], 60: [ASKED, FIRST]}),
    Choice("prompt_timeout_s", lambda it: it.expired_after(180), {300: [ASKED, ASKED], 180: [ASKED, FIRST]}),
    Choice("prompt_timeout_s", lambda it: it.expired_after(600), {300: [FIRST, FIRST], 600: [ASKED, FIRST]}),
    Choice("pin_attempts", lambda it: (it.confirmed(), it.bench.phone(PHONE).enter_pin("0000").waiting)[1],
        {3: True, 1: False}),
    Choice("confirm_with_money_in_suspense", Looks.confirmed_beside_late_money,
        {"accepted": (200, None, 1), "refused": (409, "money_in_suspense", 0)}),

    # 4. Endpoints
    Choice("confirm_response", lambda it: (it.confirmed().status_code, len(it.confirmed().json())),
        {"intent": (200, 18), "accepted": (202, 2)}),
    Choice("confirm_response", Looks.confirmed_and_repeated, {"accepted": [202, 202]}, NUMBERED, COMMAND),
    Choice("client_secret_on_confirm", lambda it: it.confirmed().status_code,
        {"with_publishable_key": 200, "always": 400}),
    Choice("extra_endpoints", Looks.endpoints_that_are_assumed,
        {"offered": [200, "refund_not_found", 400], "absent": [404, "path_not_found", 400]}),
    Choice("extra_endpoints", Looks.nothing_but_what_is_shown, {"absent": [404] * 6}, LEAST, COMMAND),
    Choice("extra_endpoints", Looks.the_dashboard_has_the_rest,
        {"absent": ["POST /v1/payment_intents"]}, LEAST, COMMAND),
    Choice("extra_endpoints", Looks.tables_console_and_handset_go_on, {"absent": 1}, LEAST, COMMAND),
    Choice("pagination", lambda it: sorted(it.get("/v1/events?page=2&per_page=1").json()), {
        "cursor": ["data", "has_more", "object", "url"],
        "page": ["data", "object", "page", "per_page", "total", "url"]}),
    Choice("pagination", Looks.by_numbers_of_pages,
        {"page": ["data", "object", "page", "per_page", "total", "url"]}, NUMBERED, COMMAND),
    Choice("token_credentials", lambda it: it.signed_in()[:2], {"any": [200, 200], "one_account": [200, 401]}),
    Choice("token_field", lambda it: it.signed_in()[2], {
        "access_token": ["access_token", "refresh_token"], "token": ["token", "refresh_token"],
        "data.token": ["data"]}),
    Choice("token_field", Looks.one_account_signs_in,
        {"data.token": ["token", "refresh_token", "token_type", "expires_in"]}, NUMBERED, COMMAND),
    Choice("refresh_request", Looks.refresh_by_header, {"body_or_header": 200, "body": 400}),

    # 5. Keys
    Choice("access_token_use", Looks.with_a_token, {"everywhere": [200, 200], "plants": [200, 403]}),
    Choice("publishable_key", Looks.confirm_as_app, {"own_intent": 200, "nothing": 403}),
    Choice("auth_schemes", Looks.charge_with_a_bearer, {"as_documented": 401, "either": 400}),
    Choice("key_rotation", Looks.rolled, {"at_once": [[(401, True), (401, True)]] * 3,
        "overlap": [[(200, True), (401, False)]] * 2 + [[(401, True), (401, False)]]}, NUMBERED, COMMAND),

    # 6. Webhooks
    Choice("event_types", Looks.types_that_arrive, {
        "by_object": ["payment_intent.created", "charge.succeeded", "charge.failed"],
        "collection": ["collection.successful", "collection.failed"]}),
    Choice("event_payload", Looks.first_in_the_body,
        {"envelope": ["id", True, True], "cloudevents": ["specversion", True, True]}),
    Choice("signature_scheme", Looks.arrived, {
        "standard_webhooks": ["accepted", "webhook-id", "webhook-timestamp", "webhook-signature"],
        "stripe": ["accepted", "stripe-signature"], "github": ["accepted", "x-hub-signature-256"]}),
    Choice("signature_tolerance_s", Looks.late_by_500_s, {300: "refused", 600: "duplicate"}),
    Choice("endpoint_registration", lambda it: it.get("/v1/webhook_endpoints").status_code,
        {"api": 200, "dashboard": 404}),
    Choice("endpoint_registration", Looks.one_endpoint_by_the_dashboard,
        {"dashboard": ["endpoint_exists", 409, True]}, LEAST, COMMAND),
    Choice("retry_schedule_s", lambda it: it.attempts(500), {
        (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400): [10, 10],
        (0, 5, 300, 1800, 7200, 18000, 36000, 36000): [8, 8], (0, *(1800,) * 48): [49, 49], (0,): [1, 1]}),
    Choice("delivery_success", lambda it: it.attempts(204)[0], {"2xx": 1, "200_201_202": 10}),
    Choice("delivery_gone", lambda it: it.attempts(410)[0], {"disables": 1, "retried": 10}),
    Choice("delivery_retry_after", lambda it: it.attempts(429, seconds=10)[0],
        {"honoured": 1, "ignored": 2}),
    Choice("dead_letter", Looks.dead_letters, {"kept": [1, 1], "dropped": [1, 0]}),
    Choice("endpoint_disable_after_s", Looks.failing_for_a_week, {432_000: "disabled", 0: "enabled"}),
    Choice("replay", Looks.sent_again,
        {"same_id": ["accepted", "duplicate"], "new_id": ["accepted", "accepted"]}),
    Choice("ordering", Looks.in_which_order, {
        "unordered": ["requires_action", "processing", "succeeded", "succeeded", "created"],
        "per_object": ["succeeded", "created", "requires_action", "processing", "succeeded"],
        "out_of_order": ["succeeded", "succeeded", "created", "requires_action", "processing"]}),
    Choice("repeats", lambda it: (it.charge(), it.verdicts())[1],
        {"once": ["accepted"], "duplicate": ["accepted", "duplicate"]}),
    Choice("lateness", Looks.come_after, {"at_once": [1, 1], "thirty_seconds": [0, 1]}),

    # 7. Errors and failures
    Choice("error_format", Looks.first_members, {
        "problem": ["application/problem+json", "code", "detail", DECLINED],
        "plain": ["application/json", "error", "message", [None, "payment_declined"]],
        "envelope": ["application/json", "error", DECLINED]}),
    Choice("reused_key_status", Looks.reused,
        {status: (status, "idempotency_key_reused") for status in (422, 400, 409)}),
    Choice("declined_status", lambda it: [it.charge(phone=BROKE).status_code, it.charge(phone=BROKE).json()["status"]],
        {"402": [402, 402], "200": [200, "failed"]}),
    Choice("failure_triggers", Looks.failing_by_number_and_script,
        {"numbers_header_script": (402, 402), "header": (200, 200)}),

    # 8. Limits and idempotency
    Choice("rate_limit", Looks.calls_in_a_minute, {
        "none": MINUTE, "100_per_60": [{200: 100, 429: 1}, {429: 101}, {200: 100, 429: 1}]}),
    Choice("rate_limit", Looks.a_hundred_calls_of_an_account, {
        "100_per_60": [f'"default";r={left};t={until}' for left, until in ((99, 60), (98, 60), (0, 40), (99, 60))]},
        NUMBERED, COMMAND),
    Choice("rate_limit", Looks.the_bench_goes_on, {"100_per_60": [True] * 3}, NUMBERED, COMMAND),
    Choice("rate_limit", Looks.a_reset_lets_every_account_begin_anew, {"100_per_60": [
        (marked, f'"default";r={left};t=60') for marked, left in ((True, 99), (True, 98), (False, 99))]}),
    Choice("amount_bounds", Looks.beyond_the_bounds, {"none": (200, 200), "1_to_20000": (400, 400)}),
    Choice("amount_bounds", Looks.at_the_bounds_of_each_currency, {"1_to_20000": {
        "JPY": ["paid", "paid", "amount_not_positive", "amount_out_of_bounds"],
        "ZMW": ["paid", "paid", "amount_out_of_bounds", "amount_out_of_bounds"],
        "KWD": ["paid", "paid", "amount_out_of_bounds", "amount_out_of_bounds"]}},
        {"currencies": "iso4217"}),
    Choice("idempotency_required", Looks.charge_without_a_key, {"charges": 400, "never": 200}),
    Choice("idempotency_retention_s", lambda it: it.kept_for(21_600),
        {86_400: [False, True, True], 21_600: [False, True, False]}),
    Choice("idempotency_retention_s", lambda it: it.kept_for(DAY_S),
        {86_400: [False, True, False], 2_592_000: [False, True, True]}),
    Choice("idempotency_keeps_errors", lambda it: [it.is_replayed(phone=BROKE) for _ in range(2)],
        {"declines": [False, True], "none": [False, False]}),

    # 9. Versioning
    Choice("version_header", Looks.of_a_version,
        {"api_version": (True, "version_unknown"), "none": (False, "parameter_missing")}),
    Choice("deprecation", Looks.deprecated, {
        "headers": ["@1767571200", "Thu, 31 Dec 2026 22:00:00 GMT", True, ["retrieveBalance"], "@1767592800"],
        "none": [None, None, False, [], None]}),
    Choice("deprecation", Looks.not_to_be_marked, {"headers": [404, 409, 400]}),
]
# fmt: on
