"""Payments where the register has other choices than its defaults, through both doors."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from itertools import count, product
from typing import Any

import pytest

from tests.conftest import DOORS, charge_of, check_books
from workbench import Workbench
from workbench.analysis.frames import money
from workbench.domain.money import ISO_4217
from workbench.errors import ApiError, PaymentDeclined, StateConflict, WaitExpired
from workbench.handset import Phone

PHONE, OTHER = "+260961234567", "+260971234567"
COMES_LATE, APPROVES = "+260960000010", "+260960000001"
DAY_S = 86_400
INTENT = {"amount": 100, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
_KEYS = count()

Opened = Callable[..., AbstractContextManager[Workbench]]


THOROUGH = pytest.mark.thorough
BOTH = pytest.mark.parametrize("opened", DOORS, indirect=True)
"""In the test line these go through the other door too; all do in a thorough run."""


@pytest.fixture(params=[DOORS[0], pytest.param(DOORS[1], marks=THOROUGH)])
def opened(request: pytest.FixtureRequest) -> Opened:
    """A bench with some choices: in process, or connected to the same over a socket. Its books hold at the end."""

    @contextmanager
    def bench_with(**gaps: object) -> Iterator[Workbench]:
        with Workbench(seed=7, gaps=gaps) as bench:
            if request.param == DOORS[0]:
                yield bench
            else:
                with bench.serve() as at, Workbench.connect(at.base_url, at.secret_key, at.publishable_key) as other:
                    assert other.receiver.secrets
                    yield other
            check_books(bench)

    return bench_with


def asked(bench: Workbench, amount: int = 10_000, phone: str = PHONE, **more: Any) -> Any:  # noqa: ANN401  a charge
    """A charge, with an idempotency key of its own unless one is given."""
    made = {"idempotency_key": f"key-{next(_KEYS)}", "channel": "mtn", **more}
    return bench.client.charges.create(amount=amount, phone=phone, **made)


def prompted(bench: Workbench, phone: str = PHONE, amount: str = "100.00", intent: str = "") -> str:
    """An intent that is confirmed, which asks a customer for their PIN."""
    intent = intent or bench.client.payment_intents.create(amount=Decimal(amount)).id
    bench.client.payment_intents.confirm(intent, phone=phone, provider="mtn")
    return intent


def told(bench: Workbench, payment: str) -> list[str]:
    """The types of the events about a payment, in order."""
    events = [
        each
        for each in bench.client.events.each()
        if payment in (each.data.object["id"], each.data.object.get("payment_intent"))
    ]
    return [each.type for each in events[::-1]]


def rows_of(response: Any) -> set[str]:  # noqa: ANN401  an httpx response
    """The rows of the register that a response says it relied on."""
    return {*response.headers["Sandbox-Provenance"].partition('gaps="')[2].rstrip('"').split()}


def got(bench: Workbench, path: str) -> Any:  # noqa: ANN401  an httpx response
    return bench.http.get(path, headers={"Authorization": f"Bearer {bench.secret_key}"})


def books(bench: Workbench) -> dict[int, int]:
    """The balance of each kind of account, on its normal side."""
    return bench.ledger.accounts.groupby("code")["balance_minor"].sum().to_dict()


WAITS = {"interactive": 200, "accepted": 202}
"""The status of a charge that waits, by the choice."""


@pytest.mark.parametrize("choice", ["interactive", pytest.param("accepted", marks=THOROUGH)])
class TestAChargeThatWaits:
    @BOTH
    def test_it_is_pending_until_its_customer_has_answered(self, opened: Opened, choice: str):
        with opened(charge_wait=choice) as bench:
            made = asked(bench, reference="order-1")
            assert (made.status, made.failure_code, told(bench, made.id)) == ("pending", None, ["charge.pending"])
            phone = bench.phone(PHONE)
            assert "order-1" in phone.screen
            phone.enter_pin("0000")
            assert bench.client.charges.retrieve(made.id).status == "pending"
            phone.enter_pin("1234")
            assert bench.client.wait_charge(made.id, timeout_s=0).status == "succeeded"
            assert told(bench, made.id) == ["charge.pending", "charge.succeeded"]
            call = next(row for row in bench.trace if row["what"] == "POST /v1/charges")
            assert call["result"] == str(WAITS[choice])

    @pytest.mark.parametrize(
        ("press", "failure"),
        [(Phone.cancel, "declined_by_customer"), (Phone.ignore, "prompt_timeout"), (lambda _: None, "prompt_timeout")],
    )
    def test_it_fails_as_its_customer_has_it(
        self, opened: Opened, choice: str, press: Callable[[Phone], object], failure: str
    ):
        with opened(charge_wait=choice) as bench:
            made = asked(bench)
            press(bench.phone(PHONE))
            bench.clock.advance(299)
            assert bench.client.charges.retrieve(made.id).status == (
                "failed" if failure == "declined_by_customer" else "pending"
            )
            ended = bench.client.wait_charge(made.id)
            assert (ended.status, ended.failure_code) == ("failed", failure)
            assert told(bench, made.id) == ["charge.pending", "charge.failed"]
            assert books(bench) == {}

    def test_a_test_number_acts_by_itself_and_nobody_is_declined_within_the_call(self, opened: Opened, choice: str):
        with opened(charge_wait=choice) as bench:
            made = [asked(bench, phone=f"+26096000000{ending}") for ending in (1, 2, 3, 4, 7, 9)]
            assert {each.status for each in made} == {"pending"}
            bench.clock.advance(5)
            now = [bench.client.charges.retrieve(each.id) for each in made]
            assert [each.failure_code for each in now] == [
                None, "insufficient_funds", "wrong_pin", "declined_by_customer", "payer_not_found",
                "operator_unavailable",
            ]  # fmt: skip
            assert books(bench)[1100] == 10_000 - 100

    def test_the_same_key_gives_the_pending_response_again_and_prompts_nobody(self, opened: Opened, choice: str):
        with opened(charge_wait=choice) as bench:
            first = asked(bench, idempotency_key="once")
            bench.phone(PHONE).enter_pin("1234")
            again = asked(bench, idempotency_key="once")
            assert (again.id, again.status) == (first.id, "pending")
            assert not bench.phone(PHONE).waiting
            results = [row["result"] for row in bench.trace if row["what"] == "POST /v1/charges"]
            assert results == [str(WAITS[choice])] * 2

    def test_several_prompts_queue_and_a_wait_may_run_out(self, opened: Opened, choice: str):
        with opened(charge_wait=choice) as bench:
            first, second = asked(bench), asked(bench, amount=20_000)
            assert bench.phone(PHONE).shown["queued"] == 1
            bench.phone(PHONE).enter_pin("1234")
            with pytest.raises(WaitExpired, match="is still pending"):
                bench.client.wait_charge(second.id, timeout_s=0)
            assert [bench.client.charges.retrieve(each.id).status for each in (first, second)] == [
                "succeeded", "pending",
            ]  # fmt: skip
            assert bench.tables.charges["status"].tolist() == ["succeeded", "pending"]
            assert f"{WAITS[choice]} pending" in str(bench.trace.sequence)

    def test_what_it_relied_on_is_said(self, opened: Opened, choice: str):
        with opened(charge_wait=choice) as bench:
            auth, key = (str(bench.secret_key), ""), {"Idempotency-Key": "a"}
            made = bench.http.post("/v1/charges", auth=auth, headers=key, json=charge_of(PHONE))
            assert made.status_code == WAITS[choice]
            assert "charge_wait" in rows_of(made)


STATES = [
    dict(zip(("intent_states", "charge_states"), each, strict=True))
    for each in product(("retryable", "failed"), ("three", "expired"))
]


@pytest.mark.parametrize("states", [*STATES[::3], *(pytest.param(each, marks=THOROUGH) for each in STATES[1:3])])
class TestLateMoneyThatPays:
    def test_the_payment_is_succeeded_and_can_be_refunded(self, opened: Opened, states: dict[str, str]):
        with opened(late_success="succeeds", **states) as bench:
            intent, alone = prompted(bench, COMES_LATE), asked(bench, 5_000, COMES_LATE)
            ended_intent = bench.client.wait(intent)
            assert ended_intent.last_payment_error.code == "prompt_timeout"
            ended = "expired" if states["charge_states"] == "expired" else "failed"
            failed = bench.client.payment_intents.retrieve(intent)
            assert failed.status == ("failed" if states["intent_states"] == "failed" else "requires_payment_method")
            assert bench.client.charges.retrieve(failed.latest_charge).status == ended
            assert bench.client.charges.retrieve(alone.id).status == ended
            bench.clock.advance(60)
            paid = bench.client.payment_intents.retrieve(intent)
            assert (paid.status, paid.last_payment_error) == ("succeeded", None)
            assert bench.client.charges.retrieve(alone.id).status == "succeeded"
            assert told(bench, intent)[-2:] == ["charge.succeeded", "payment_intent.succeeded"]
            assert told(bench, alone.id) == ["charge.pending", "charge.failed", "charge.succeeded"]
            assert books(bench).get(2900) is None
            refund = bench.client.refunds.create(payment_intent=intent, amount=Decimal("0.01"))
            bench.clock.advance(5)
            assert bench.client.refunds.retrieve(refund.id).status == "succeeded"
            assert "late_success" in rows_of(got(bench, f"/v1/payment_intents/{intent}"))

    def test_what_was_canceled_stays_so_and_the_money_waits(self, opened: Opened, states: dict[str, str]):
        with opened(late_success="succeeds", **states) as bench:
            intent = prompted(bench, COMES_LATE)
            bench.clock.advance(300)
            if states["intent_states"] == "failed":
                for again in (bench.client.payment_intents.cancel, lambda each: prompted(bench, intent=each)):
                    with pytest.raises(StateConflict, match="failed") as refused:
                        again(intent)
                    assert refused.value.facts["current"] == "failed"
                return
            bench.client.payment_intents.cancel(intent)
            bench.clock.advance(60)
            assert bench.client.payment_intents.retrieve(intent).status == "canceled"
            assert told(bench, intent)[-2:] == ["charge.late_success", "payment_intent.late_success"]
            assert books(bench)[2900] == 10_000


def test_an_intent_that_ends_with_its_first_attempt_is_tried_again_as_another(opened: Opened):
    with opened(intent_states="failed") as bench:
        ended = []
        for order in ("order-1", "order-1", "order-2"):
            intent = bench.client.payment_intents.create(amount=10, description=order).id
            ended.append(bench.client.wait(prompted(bench, "+260960000013", intent=intent)).status)
        assert ended == ["failed", "succeeded", "failed"]


class TestLateMoneyBesideAnotherAttempt:
    @BOTH
    def test_a_prompt_that_is_open_is_withdrawn(self, opened: Opened):
        with opened(late_success="succeeds") as bench:
            intent = prompted(bench, COMES_LATE)
            bench.clock.advance(300)
            first = bench.client.payment_intents.retrieve(intent).latest_charge
            prompted(bench, OTHER, intent=intent)
            bench.clock.advance(60)
            paid = bench.client.payment_intents.retrieve(intent)
            assert (paid.status, paid.latest_charge, paid.next_action) == ("succeeded", first, None)
            assert paid.payment_method.mobile_money.phone.endswith("010")
            assert not bench.phone(OTHER).waiting
            assert "canceled" in bench.phone(OTHER).screen
            bench.client.refunds.create(payment_intent=intent)
            assert [each.failure_code for each in bench.client.charges.each()] == ["canceled_by_merchant", None]

    def test_what_another_attempt_has_paid_is_not_paid_twice(self, opened: Opened):
        with opened(late_success="succeeds") as bench:
            intent = prompted(bench, COMES_LATE)
            bench.clock.advance(300)
            prompted(bench, OTHER, intent=intent)
            bench.phone(OTHER).enter_pin("1234")
            bench.clock.advance(60)
            assert told(bench, intent)[-1] == "payment_intent.late_success"
            assert books(bench)[2900] == 10_000
            assert bench.client.payment_intents.retrieve(intent).status == "succeeded"

    def test_of_an_attempt_that_nobody_knows_about_it_waits_too(self, opened: Opened):
        with opened(late_success="succeeds") as bench:
            intent = prompted(bench, COMES_LATE)
            bench.clock.advance(300)
            prompted(bench, "+260960000012", intent=intent)
            bench.clock.advance(60)
            assert bench.client.payment_intents.retrieve(intent).status == "processing"
            assert books(bench)[2900] == 10_000


class TestClearing:
    @pytest.mark.parametrize(
        ("choice", "available"),
        [("immediate", [9_750, 14_625, 14_625, 14_625]), ("next_day", [0, 9_750, 14_625, 14_625]),
         ("t_plus_2", [0, 0, 9_750, 14_625])],
    )  # fmt: skip
    def test_each_day_is_cleared_at_its_time(self, opened: Opened, choice: str, available: list[int]):
        with opened(clearing=choice) as bench:
            asked(bench)
            seen = [books(bench).get(2010, 0)]
            bench.clock.advance(DAY_S)
            asked(bench, 5_000)
            for _ in range(3):
                seen.append(books(bench).get(2010, 0))
                bench.clock.advance(DAY_S)
            assert seen == available

    def test_in_two_days_a_refund_takes_of_what_came_first(self, opened: Opened):
        with opened(clearing="t_plus_2") as bench:
            first = asked(bench)
            bench.clock.advance(DAY_S)
            asked(bench, 5_000)
            bench.client.refunds.create(charge=first.id)
            bench.clock.advance(DAY_S)
            assert books(bench)[2000] == 14_625 - 10_000
            bench.clock.advance(DAY_S)
            assert books(bench)[2010] == 14_625 - 10_000

    def test_what_is_settled_long_after_is_cleared_too(self, opened: Opened):
        with opened(clearing="t_plus_2") as bench:
            prompted(bench, COMES_LATE)
            bench.clock.advance(5 * DAY_S)
            entry = bench.ledger.entries["id"].iloc[0]
            bench.control.settle({"recipe": "suspense_settled", "entry": entry})
            bench.clock.advance(3 * DAY_S)
            assert books(bench)[2010] == 9_750

    def test_what_was_undone_after_it_was_cleared_keeps_no_night_going(self, opened: Opened):
        with opened(clearing="t_plus_2") as bench:
            asked(bench)
            bench.clock.advance(3 * DAY_S)
            bench.control.settle({"recipe": "reversed", "entry": bench.ledger.entries["id"].iloc[0]})
            bench.clock.advance(3 * DAY_S)
            before = bench.control.clock().seq
            bench.clock.advance(10 * DAY_S)
            assert (books(bench)[2000], bench.control.clock().seq - before) == (-9_750, 0)

    @pytest.mark.parametrize(
        "clearing", ["next_day", *(pytest.param(each, marks=THOROUGH) for each in ("immediate", "t_plus_2"))]
    )
    def test_payouts_are_made_by_themselves(self, opened: Opened, clearing: str):
        with opened(payouts="daily", clearing=clearing) as bench:
            for _ in range(3):
                asked(bench)
                bench.clock.advance(DAY_S)
            bench.clock.advance(5 * DAY_S)
            assert [(each.amount, each.status) for each in bench.client.payouts.each()] == [
                (Decimal("97.50"), "paid")
            ] * 3
            types = [each.type for each in bench.client.events.each(type="payout.*")]
            assert sorted(types) == ["payout.created"] * 3 + ["payout.paid"] * 3
            with pytest.raises(StateConflict, match="available"):
                bench.client.payouts.create(amount=1)


class TestAFeeThatGoesBack:
    def test_in_proportion_and_undone_with_a_refund_that_fails(self, opened: Opened):
        with opened(fee_on_refund="returned") as bench:
            made = asked(bench, 10_001)
            shop = {"charge": made.id}
            bench.client.refunds.create(**shop, amount=3_333)
            failing = bench.http.post(
                "/v1/refunds", json={**shop, "amount": 3_333}, headers={"Sandbox-Scenario": "limit_reached"},
                auth=(str(bench.secret_key), ""),
            )  # fmt: skip
            assert failing.status_code == 200
            assert books(bench)[4000] == 250 - 83 - 84
            bench.clock.advance(5)
            assert books(bench)[4000] == 250 - 83
            bench.client.refunds.create(**shop)
            bench.clock.advance(5)
            assert {code: minor for code, minor in books(bench).items() if minor and code != 1010} == {5000: 100}


class TestCurrencies:
    @BOTH
    @pytest.mark.parametrize("unit", ["minor", "major"])
    def test_each_has_its_own_decimals_in_the_books(self, opened: Opened, unit: str):
        with opened(currencies="iso4217", charge_amount_unit=unit) as bench:
            for code in ("JPY", "USD", "KWD", "UYW"):
                one = 10 ** ISO_4217[code].decimals
                amount = 100 if unit == "major" else 100 * one
                made = asked(bench, amount, currency=code.lower())
                assert (made.amount, made.currency) == (amount, code.lower())
                of_code = bench.ledger.accounts.query("currency == @code").set_index("code")["balance_minor"]
                fee = int(Decimal("2.5") * one + Decimal("0.5"))
                assert (of_code[1100], of_code[4000]) == (99 * one, fee), code
            assert bench.tables.charges["amount_minor"].tolist() == [100, 10_000, 100_000, 1_000_000]
            read = ["100", "100.00", "100.000", "100.0000"]
            assert money(bench.tables.charges)["amount"].tolist() == read
            assert money(bench.ledger.postings.query("line == 1"))["amount"].tolist() == read
            bench.clock.advance(DAY_S)
            available = {each.currency: each.amount for each in bench.client.balance.retrieve().available}
            assert [*available] == ["ZMW", "JPY", "KWD", "USD", "UYW"]
            bench.client.payouts.create(amount=available["KWD"], currency="KWD")
            assert "currencies" in rows_of(got(bench, f"/v1/charges/{made.id}"))

    def test_bounds_are_of_each_currency(self, opened: Opened):
        with opened(currencies="iso4217", amount_bounds="1_to_20000") as bench:
            for code in ("JPY", "ZMW", "KWD"):
                one = 10 ** ISO_4217[code].decimals
                for amount in (one, 20_000 * one):
                    assert asked(bench, amount, currency=code.lower()).amount == amount
                for amount in (one - 1, 20_000 * one + 1):
                    with pytest.raises(ApiError) as refused:
                        asked(bench, amount, currency=code.lower())
                    assert refused.value.code in ("amount_out_of_bounds", "amount_not_positive"), (code, amount)

    def test_what_has_no_minor_unit_and_what_was_retired_is_refused(self, opened: Opened):
        with opened(currencies="iso4217") as bench:
            for code, why in (
                ("XAU", "currency_unsupported"),
                ("ZMK", "currency_retired"),
                ("ABC", "currency_unsupported"),
            ):
                with pytest.raises(ApiError) as refused:
                    bench.client.payment_intents.create(amount=1, currency=code)
                assert refused.value.code == why


class TestNumbers:
    def test_a_national_number_is_the_same_customer_everywhere(self, opened: Opened):
        with opened(phone_format="national") as bench:
            bench.operator.script("0961234567", ["insufficient_funds", "server_error"])
            with pytest.raises(PaymentDeclined):
                asked(bench, phone="+260961234567")
            with pytest.raises(ApiError, match="before it did anything"):
                asked(bench, phone="0961234567")
            intent = prompted(bench, "0961234567")
            assert bench.phone(PHONE).waiting
            bench.phone("0961234567").enter_pin("1234")
            assert bench.client.payment_intents.retrieve(intent).payment_method.mobile_money.phone == "+26096••••567"

    @pytest.mark.parametrize(("ids", "shown"), [("short", "zed"), ("long", "ZED_MOBILE_ZMB")])
    def test_zed_mobile_has_its_own_accounts_and_may_be_down(self, opened: Opened, ids: str, shown: str):
        with opened(zed_mobile="zed", operator_ids=ids) as bench:
            made = asked(bench, phone="+260791234567", channel="zed")
            assert (made.channel, made.provider, made.warnings) == (shown, shown, [])
            assert asked(bench, phone="+260981234567").warnings == [
                "channel is mtn, and the number belongs to zed, which is asked for the money."
            ]
            bench.client.refunds.create(charge=made.id)
            bench.clock.advance(3 * DAY_S)
            names = {*bench.ledger.accounts["account"]}
            assert {"operator:zed:float", "operator:zed:in_transit", "expense:operator_fee:zed"} <= names
            assert bench.ledger.accounts.set_index("account")["balance_minor"]["operator:zed:float"] == 0
            bench.operator.outage("zed", seconds=600)
            with pytest.raises(PaymentDeclined, match="down"):
                asked(bench, phone="+260581234567", channel="ZED_mobile_ZMB")


class TestAmounts:
    @BOTH
    def test_whole_units_are_of_charges_alone(self, opened: Opened):
        with opened(charge_amount_unit="major") as bench:
            intent = prompted(bench, amount="87.35")
            bench.phone(PHONE).enter_pin("1234")
            charge = bench.client.payment_intents.retrieve(intent).latest_charge
            part = bench.client.refunds.create(payment_intent=intent, amount=Decimal("7.35"))
            shown = bench.client.charges.retrieve(charge)
            assert (shown.amount, shown.amount_refunded, shown.refunded) == (Decimal("87.35"), Decimal("7.35"), False)
            rest = bench.client.refunds.create(charge=charge)
            assert (part.amount, rest.amount) == (Decimal("7.35"), 80)
            assert bench.client.charges.retrieve(charge).refunded
            assert bench.tables.charges[["amount_minor", "refunded_minor"]].to_numpy().tolist() == [[8_735, 8_735]]
            assert bench.tables.refunds["amount_minor"].tolist() == [735, 8_000]
            assert asked(bench, 150).amount == 150
            assert b'"amount":87.35' in got(bench, f"/v1/charges/{charge}").content

    def test_half_a_ngwee_goes_to_the_even_one(self, opened: Opened):
        with opened(intent_amount_scale="half_even") as bench:
            made = [bench.client.payment_intents.create(amount=Decimal(each)) for each in ("1.005", "1.015", "1.02")]
            assert [each.amount for each in made] == [Decimal("1.00"), Decimal("1.02"), Decimal("1.02")]
            with pytest.raises(ApiError) as refused:
                bench.client.payouts.create(amount=Decimal("1.005"))
            assert refused.value.code == "amount_too_precise"

    def test_a_charge_that_looks_a_hundred_times_off_says_so(self, opened: Opened):
        with opened(currencies="iso4217") as bench:
            usual = [asked(bench, 15_000 + place, phone=APPROVES) for place in range(20)]
            assert not any(each.warnings for each in usual)
            for amount, says in ((150, "far less"), (1_500_000, "far more")):
                (warning,) = asked(bench, amount).warnings
                assert says in warning
                assert "K150.10" in warning
            assert asked(bench, 700_000).warnings == []
            assert asked(bench, 100, currency="jpy").warnings == [], "beside those of its own currency"


@BOTH
def test_all_of_it_together(opened: Opened):
    """Every alternative of these at once."""
    with opened(
        charge_wait="accepted", late_success="succeeds", intent_states="failed", charge_states="expired",
        clearing="t_plus_2", payouts="daily", fee_on_refund="returned", currencies="iso4217", zed_mobile="zed",
        phone_format="national", intent_amount_scale="half_even", charge_amount_unit="major", operator_ids="long",
    ) as bench:  # fmt: skip
        zed = asked(bench, 150, phone="0981234567", channel="zed", currency="jpy")
        bench.phone("0981234567").enter_pin("1234")
        late = asked(bench, 20, phone="0960000010")
        bench.clock.advance(299)
        assert bench.client.charges.retrieve(late.id).status == "pending"
        bench.clock.advance(1)
        assert bench.client.charges.retrieve(late.id).status == "expired"
        bench.client.refunds.create(charge=zed.id, amount=50)
        bench.clock.advance(60)
        assert bench.client.charges.retrieve(late.id).status == "succeeded"
        bench.clock.advance(4 * DAY_S)
        assert {(each.currency, each.amount, each.status) for each in bench.client.payouts.each()} == {
            ("JPY", Decimal(97), "paid"), ("ZMW", Decimal("19.50"), "paid"),
        }  # fmt: skip


RELIED: list[tuple[dict[str, object], str, str, dict[str, object]]] = [
    # The choices, the row, where it is asked for, and what.
    ({"phone_format": "national"}, "phone_format", "charges", {"phone": "0961234567"}),
    ({"zed_mobile": "zed"}, "zed_mobile", "charges", {"phone": "+260981234567"}),
    ({"currencies": "iso4217"}, "currencies", "charges", {"currency": "usd"}),
    ({"intent_amount_scale": "half_even"}, "intent_amount_scale", "payment_intents", {"amount": 1.005}),
]


@pytest.mark.parametrize(("gaps", "row", "path", "changes"), RELIED, ids=[row for _, row, _, _ in RELIED])
def test_a_response_names_the_row_that_let_its_request_pass_and_others_do_not(
    opened: Opened, gaps: dict[str, object], row: str, path: str, changes: dict[str, object]
):
    bodies = {"charges": charge_of(PHONE), "payment_intents": INTENT}
    with opened(**gaps) as bench:
        auth = (str(bench.secret_key), "") if path == "charges" else None
        bearer = {"Authorization": f"Bearer {bench.secret_key}"} if auth is None else {}
        for place, body in enumerate((bodies[path], bodies[path] | changes)):
            headers = {"Idempotency-Key": f"key-{place}", **bearer}
            response = bench.http.post(f"/v1/{path}", json=body, auth=auth, headers=headers)
            assert response.status_code == 200, response.text
            assert (row in rows_of(response)) == bool(place)


def test_what_hangs_on_a_time_says_by_which_rows(opened: Opened):
    with opened() as bench:
        intent = prompted(bench, COMES_LATE)
        path = f"/v1/payment_intents/{intent}"
        seen = [rows_of(got(bench, path)) & {"late_success", "prompt_timeout_s"}]
        bench.clock.advance(300)
        assert [*seen, rows_of(got(bench, path)) & {"late_success", "prompt_timeout_s"}] == [
            {"prompt_timeout_s"}, {"late_success", "prompt_timeout_s"},
        ]  # fmt: skip
        assert {"clearing", "payouts"} <= rows_of(got(bench, "/v1/balance"))
