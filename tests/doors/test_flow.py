"""Payments from end to end through both doors: the customer, the clock, the retries, the receiver."""

import base64
import http.client
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest

from workbench import PaymentsClient, Receiver, Workbench
from workbench.domain.phones import mask_phone
from workbench.domain.signatures import headers_for
from workbench.domain.wire import Charge, PaymentIntent
from workbench.errors import (
    AuthenticationFailed,
    InvalidRequest,
    PaymentDeclined,
    PermissionDenied,
    StateConflict,
    WaitExpired,
)
from workbench.receiver import Event

if TYPE_CHECKING:
    from tests.doors.conftest import Wire

NewNumber = Callable[..., str]
Row = tuple[int, str, str | None, int, str]

DAY_S = 86_400
PIN = "1234"
WRONG = "9999"
PAID_IN_ORDER = [
    "payment_intent.created",
    "payment_intent.requires_action",
    "payment_intent.processing",
    "charge.succeeded",
    "payment_intent.succeeded",
]


def own_events(bench: Workbench, payment: str) -> list[str]:
    """The types of the accepted events about one payment, in the order of their arrival."""
    bench.clock.advance(0)
    return [
        event.type
        for event in bench.receiver.events
        if payment in (event.data.object["id"], event.data.object.get("payment_intent"))
    ]


def confirmed(bench: Workbench, phone: str, *, amount: str = "150.00", provider: str = "mtn") -> PaymentIntent:
    intent = bench.client.payment_intents.create(amount=Decimal(amount), description="Monstera")
    return bench.client.payment_intents.confirm(intent.id, phone=phone, provider=provider)


def charged(bench: Workbench, phone: str, key: str, *, amount: int = 15_000, channel: str = "mtn") -> Charge:
    return bench.client.charges.create(amount=amount, channel=channel, phone=phone, idempotency_key=key)


class TestTheFirstCell:
    def test_a_payment_reads_as_it_was_designed(self, bench: Workbench):
        pay = bench.client
        assert bench.receiver.secrets

        intent = pay.payment_intents.create(
            amount=Decimal("150.00"),
            currency="ZMW",
            payment_method_types=["mobile_money"],
            description="Monstera",
        )
        intent = pay.payment_intents.confirm(intent.id, phone="+260961234567", provider="mtn")
        phone = bench.phone("+260961234567")
        phone.enter_pin("1234")

        assert pay.payment_intents.retrieve(intent.id).status == "succeeded"
        postings = bench.ledger.postings
        own = postings[postings["payment"] == intent.id]
        debits = int(own.loc[own["side"] == "debit", "amount_minor"].sum())
        assert debits == int(own["amount_minor"].sum()) - debits == 15_150
        assert str(own["amount_minor"].dtype) == "int64"
        assert own_events(bench, intent.id) == PAID_IN_ORDER
        before = bench.clock.now_ms
        bench.clock.advance(hours=5)
        assert bench.clock.now_ms >= before + 5 * 3_600_000
        assert bench.ledger.verify()
        assert len(bench.trace.for_(intent.id)) >= len(PAID_IN_ORDER)

    def test_the_answer_to_confirm_says_what_comes_next(self, bench: Workbench, new_number: NewNumber):
        intent = confirmed(bench, new_number())
        assert intent.status == "requires_action"
        assert intent.next_action.type == "ussd_prompt"
        expires_s = intent.next_action.ussd_prompt.expires_at - bench.clock.now_ms / 1000
        assert 298 <= expires_s <= 300

    def test_the_customers_number_is_masked_in_answers(self, bench: Workbench, new_number: NewNumber):
        phone = new_number()
        intent = confirmed(bench, phone)
        masked = f"{phone[:6]}••••{phone[-3:]}"
        assert intent.payment_method.mobile_money.phone == masked
        assert intent.next_action.ussd_prompt.phone == masked

    def test_a_number_of_another_operator_is_taken_with_a_warning(self, bench: Workbench, new_number: NewNumber):
        charge = charged(bench, new_number("97"), new_number(), channel="mtn")
        assert (charge.status, charge.channel, charge.provider) == ("succeeded", "mtn", "airtel")
        assert len(charge.warnings) == 1

    @pytest.mark.parametrize("name", ["mtn", "MTN", "MTN_MOMO_ZMB", "mtn_momo_zmb"])
    def test_an_operator_has_a_short_and_a_long_name(self, bench: Workbench, new_number: NewNumber, name: str):
        assert charged(bench, new_number(), new_number(), channel=name).channel == "mtn"


class TestIdempotency:
    def test_the_same_key_and_body_give_the_same_bytes_and_one_entry(self, wire: "Wire"):
        key, phone = wire.new_key(), json.dumps(wire.new_number())
        first, again = wire.charge(key=key, phone=phone), wire.charge(key=key, phone=phone)
        assert first.content == again.content
        assert first.status_code == again.status_code == 200
        assert "idempotent-replayed" not in first.headers
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["content-type"] == first.headers["content-type"]
        assert len(wire.entries(first.json()["id"])) == 1

    def test_a_replay_sends_no_event(self, wire: "Wire"):
        key, phone = wire.new_key(), json.dumps(wire.new_number())
        charge_id = wire.charge(key=key, phone=phone).json()["id"]
        wire.charge(key=key, phone=phone)
        wire.bench.clock.advance(0)
        assert wire.types(charge_id) == ["charge.succeeded"]

    def test_another_body_is_refused(self, wire: "Wire"):
        key, phone = wire.new_key(), json.dumps(wire.new_number())
        first = wire.charge(key=key, phone=phone)
        other = wire.charge(key=key, phone=phone, amount="15001")
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
        assert other.json()["param"] == "Idempotency-Key"
        assert wire.charge(key=key, phone=phone).content == first.content

    def test_a_key_in_quotes_is_the_same_key(self, wire: "Wire"):
        key, phone = wire.new_key(), json.dumps(wire.new_number())
        bare, quoted = wire.charge(key=key, phone=phone), wire.charge(key=f'"{key}"', phone=phone)
        assert bare.content == quoted.content

    @pytest.mark.parametrize(
        "form",
        ["{}", "{:k<255}", '"{:k<255}"', "{} with spaces", "~!{}"],
        ids=["short", "255", "quoted", "spaces", "signs"],
    )
    def test_a_key_is_up_to_255_printable_characters(self, wire: "Wire", form: str):
        assert wire.charge(key=form.format(wire.new_key())).status_code == 200

    @pytest.mark.parametrize(("seconds", "same"), [(DAY_S - 10, True), (DAY_S, False)], ids=["kept", "forgotten"])
    def test_a_key_is_kept_for_a_day_of_the_clock(self, wire: "Wire", seconds: int, *, same: bool):
        key, phone = wire.new_key(), json.dumps(wire.new_number())
        first = wire.charge(key=key, phone=phone)
        wire.bench.clock.advance(seconds)
        again = wire.charge(key=key, phone=phone)
        assert again.status_code == 200
        assert (again.json()["id"] == first.json()["id"]) is same
        assert ("idempotent-replayed" in again.headers) is same

    def test_a_decline_is_kept(self, wire: "Wire"):
        key = wire.new_key()
        first = wire.charge(key=key, phone='"+260960000002"')
        again = wire.charge(key=key, phone='"+260960000002"')
        assert first.status_code == again.status_code == 402
        assert first.content == again.content
        assert again.headers["idempotent-replayed"] == "true"

    def test_a_fault_of_the_body_is_not_kept(self, wire: "Wire"):
        key = wire.new_key()
        assert wire.charge(key=key, amount="0").status_code == 400
        corrected = wire.charge(key=key)
        assert corrected.status_code == 200
        assert "idempotent-replayed" not in corrected.headers

    def test_a_refused_caller_does_not_use_the_key_up(self, wire: "Wire"):
        key, body = wire.new_key(), wire.charge().request.content
        assert wire.post("/v1/charges", body, {"Idempotency-Key": key}).status_code == 401
        assert wire.post("/v1/charges", body, {**wire.basic, "Idempotency-Key": key}).status_code == 200

    def test_the_same_key_on_another_path_is_another_key(self, wire: "Wire"):
        key = wire.new_key()
        assert wire.charge(key=key).status_code == 200
        intent = wire.post(
            "/v1/payment_intents", wire.intent().request.content, {**wire.bearer, "Idempotency-Key": key}
        )
        assert intent.status_code == 200
        assert intent.json()["object"] == "payment_intent"

    def test_intents_and_confirms_take_a_key_too(self, bench: Workbench, new_number: NewNumber):
        pay, key, phone = bench.client, f"order-{new_number()[4:]}", new_number()
        one, two = (pay.payment_intents.create(amount=Decimal("5.00"), idempotency_key=key) for _ in range(2))
        assert one.id == two.id
        one, two = (
            pay.payment_intents.confirm(one.id, phone=phone, provider="mtn", idempotency_key=key) for _ in range(2)
        )
        assert one.latest_charge == two.latest_charge

    def test_at_once_from_eight_threads_is_one_charge(self, wire: "Wire"):
        key, phone = wire.new_key(), json.dumps(wire.new_number())
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: wire.charge(key=key, phone=phone), range(8)))
        assert {each.status_code for each in answers} == {200}
        assert len({each.content for each in answers}) == 1
        assert sum("idempotent-replayed" in each.headers for each in answers) == 7


# Ending → seconds until it is settled, the intent's status then, why it failed, a charge's status code and status.
TEST_NUMBERS = {
    "0000001": (5, "succeeded", None, 200, "succeeded"),
    "0000002": (5, "requires_payment_method", "insufficient_funds", 402, "failed"),
    "0000003": (5, "requires_payment_method", "wrong_pin", 402, "failed"),
    "0000004": (5, "requires_payment_method", "declined_by_customer", 402, "failed"),
    "0000005": (300, "requires_payment_method", "prompt_timeout", 200, "pending"),
    "0000006": (5, "requires_payment_method", "limit_reached", 402, "failed"),
}


class TestTestNumbers:
    @pytest.mark.parametrize(("prefix", "provider"), [("96", "mtn"), ("97", "airtel"), ("95", "zamtel")])
    @pytest.mark.parametrize(("ending", "row"), TEST_NUMBERS.items(), ids=TEST_NUMBERS)
    def test_an_intent_follows_its_row(self, bench: Workbench, ending: str, row: Row, prefix: str, provider: str):
        after_s, status, failure, _, _ = row
        intent = confirmed(bench, f"+260{prefix}{ending}", provider=provider)
        assert intent.status == "requires_action"
        bench.clock.advance(after_s - 2)
        assert bench.client.payment_intents.retrieve(intent.id).status == "requires_action"
        bench.clock.advance(2)
        settled = bench.client.payment_intents.retrieve(intent.id)
        assert settled.status == status
        assert (settled.last_payment_error and settled.last_payment_error.code) == failure

    @pytest.mark.parametrize(("ending", "row"), TEST_NUMBERS.items(), ids=TEST_NUMBERS)
    def test_its_events_end_as_the_row_does(self, bench: Workbench, ending: str, row: Row):
        assert bench.receiver.secrets
        after_s, _, failure, _, _ = row
        intent = confirmed(bench, f"+26096{ending}")
        bench.clock.advance(after_s)
        ends = ["charge.failed", "payment_intent.payment_failed"] if failure else PAID_IN_ORDER[-2:]
        assert own_events(bench, intent.id)[:2] == PAID_IN_ORDER[:2]
        assert own_events(bench, intent.id)[-2:] == ends

    @pytest.mark.parametrize(("ending", "row"), TEST_NUMBERS.items(), ids=TEST_NUMBERS)
    def test_a_charge_is_answered_at_once(self, wire: "Wire", ending: str, row: Row):
        _, _, failure, code, status = row
        response = wire.charge(phone=f'"+26096{ending}"')
        problem = response.json()
        assert response.status_code == code
        charge_id = problem["id"] if code == 200 else problem["charge"]
        assert wire.get(f"/v1/charges/{charge_id}").json()["status"] == status
        if code == 402:
            assert (problem["code"], problem["decline_code"]) == ("payment_declined", failure)
            assert problem["message"]
            assert wire.get(f"/v1/charges/{charge_id}").json()["failure_code"] == failure
        wire.bench.clock.advance(300)
        assert wire.get(f"/v1/charges/{charge_id}").json()["status"] == ("failed" if failure else "succeeded")
        assert len(wire.entries(charge_id)) == (0 if failure else 1)
        ends = "charge.failed" if failure else "charge.succeeded"
        assert wire.types(charge_id) == (["charge.pending", ends] if status == "pending" else [ends])

    def test_a_declined_charge_is_an_exception_that_names_the_charge(self, bench: Workbench, new_number: NewNumber):
        with pytest.raises(PaymentDeclined) as declined:
            charged(bench, "+260970000004", new_number(), channel="airtel")
        assert declined.value.decline_code == "declined_by_customer"
        assert bench.client.charges.retrieve(declined.value.facts["charge"]).status == "failed"


class TestTokens:
    def test_a_token_ends_on_the_clock(self, bench: Workbench):
        token = bench.client.auth.token(email="ada@example.com", password="green")
        holder = bench.client_with(token.access_token)
        assert holder.plants.create(id=1, name="Monstera").name == "Monstera"
        bench.clock.advance(seconds=DAY_S)
        with pytest.raises(AuthenticationFailed, match="expired") as refused:
            holder.plants.create(id=1, name="Monstera")
        assert refused.value.code == "token_expired"

    def test_a_refresh_retires_the_old_pair(self, bench: Workbench):
        old = bench.client.auth.token(email="ada@example.com", password="green")
        new = bench.client.auth.refresh(old.refresh_token)
        assert bench.client_with(new.access_token).plants.create(id=1, name="Monstera")
        with pytest.raises(AuthenticationFailed, match="replaced"):
            bench.client_with(old.access_token).plants.create(id=1, name="Monstera")
        with pytest.raises(AuthenticationFailed, match="used before"):
            bench.client.auth.refresh(old.refresh_token)

    def test_a_bearer_in_the_header_is_refreshed_without_a_body(self, wire: "Wire"):
        token = wire.post("/v1/auth/token", b'{"email": "ada@example.com", "password": "green"}', {}).json()
        response = wire.bench.http.post(
            "/v1/auth/refresh", headers={"Authorization": f"Bearer {token['access_token']}"}
        )
        assert response.status_code == 200
        assert response.json()["access_token"] != token["access_token"]

    @pytest.mark.parametrize("path", ["token", "refresh"])
    def test_no_cache_may_keep_a_token(self, wire: "Wire", path: str):
        response = wire.post("/v1/auth/token", b'{"email": "ada@example.com", "password": "green"}', {})
        if path == "refresh":
            body = wire.written({"refresh_token": json.dumps(response.json()["refresh_token"])})
            response = wire.post("/v1/auth/refresh", body, {})
        assert response.headers["cache-control"] == "no-store"


class TestPublishableKey:
    def test_it_confirms_and_retrieves_with_the_client_secret(self, bench: Workbench, new_number: NewNumber):
        browser = bench.client_with(str(bench.publishable_key))
        intent = bench.client.payment_intents.create(amount=Decimal("20.00"))
        browser.payment_intents.confirm(
            intent.id, phone=new_number(), provider="mtn", client_secret=intent.client_secret
        )
        seen = browser.payment_intents.retrieve(intent.id, client_secret=intent.client_secret)
        assert seen.status == "requires_action"

    def test_another_intents_client_secret_does_not_do(self, bench: Workbench, new_number: NewNumber):
        browser = bench.client_with(str(bench.publishable_key))
        intent, other = (bench.client.payment_intents.create(amount=Decimal("20.00")) for _ in range(2))
        with pytest.raises(PermissionDenied) as refused:
            browser.payment_intents.confirm(
                intent.id, phone=new_number(), provider="mtn", client_secret=other.client_secret
            )
        assert (refused.value.code, refused.value.param) == ("client_secret_wrong", "client_secret")


class TestTheHandset:
    def test_several_prompts_queue_on_one_handset(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        first, second = (confirmed(bench, number, amount=amount) for amount in ("10.00", "20.00"))
        phone = bench.phone(number)
        assert "ZMW 10.00" in phone.screen
        assert "1 more behind it" in repr(phone)
        phone.enter_pin(PIN)
        assert "ZMW 20.00" in phone.screen
        assert bench.client.payment_intents.retrieve(first.id).status == "succeeded"
        assert bench.client.payment_intents.retrieve(second.id).status == "requires_action"
        phone.enter_pin(PIN)
        assert bench.client.payment_intents.retrieve(second.id).status == "succeeded"
        assert not phone.waiting

    def test_cancel_declines(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent = confirmed(bench, number)
        bench.phone(number).cancel()
        settled = bench.client.payment_intents.retrieve(intent.id)
        assert settled.last_payment_error.code == "declined_by_customer"
        assert "Nothing was paid" in bench.phone(number).screen

    def test_ignore_waits_for_the_time_out(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent = confirmed(bench, number)
        assert not bench.phone(number).ignore().waiting
        assert bench.client.payment_intents.retrieve(intent.id).status == "requires_action"
        bench.clock.advance(minutes=5)
        assert bench.client.payment_intents.retrieve(intent.id).last_payment_error.code == "prompt_timeout"

    def test_three_wrong_pins_fail_the_attempt(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent, phone = confirmed(bench, number), bench.phone(number)
        assert "Tries left: 2" in phone.enter_pin(WRONG).screen
        assert "Tries left: 1" in phone.enter_pin(WRONG).screen
        assert "too often" in phone.enter_pin(WRONG).screen
        assert bench.client.payment_intents.retrieve(intent.id).last_payment_error.code == "wrong_pin"
        with pytest.raises(StateConflict):
            phone.enter_pin(PIN)

    def test_two_wrong_pins_and_the_right_one_pay(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent, phone = confirmed(bench, number), bench.phone(number)
        phone.enter_pin(WRONG).enter_pin(WRONG).enter_pin(PIN)
        assert bench.client.payment_intents.retrieve(intent.id).status == "succeeded"

    def test_a_failed_intent_is_confirmed_again(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent = confirmed(bench, number)
        bench.phone(number).cancel()
        again = bench.client.payment_intents.confirm(intent.id, phone=number, provider="mtn")
        assert again.latest_charge != intent.latest_charge
        assert again.last_payment_error is None
        bench.phone(number).enter_pin(PIN)
        assert bench.client.payment_intents.retrieve(intent.id).status == "succeeded"
        payments = [row for row in bench.trace if row["kind"] == "entry" and row["payment"] == intent.id]
        assert len(payments) == 1

    def test_what_is_no_pin_is_refused_and_costs_no_try(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        confirmed(bench, number)
        phone = bench.phone(number)
        with pytest.raises(InvalidRequest) as refused:
            phone.enter_pin("12a4")
        assert (refused.value.code, refused.value.param) == ("pin_invalid", "text")
        assert "3 tries left" in repr(phone)

    def test_a_handset_shows_itself_as_text(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        phone = bench.phone(number)
        assert "no prompt waits" in repr(phone)
        confirmed(bench, number)
        lines = repr(phone).splitlines()
        assert lines[0] == f"{mask_phone(number)} (mtn)"
        assert lines[1].startswith("╭")
        assert lines[-2].startswith("╰")
        assert len({len(line) for line in lines[1:-1]}) == 1
        assert lines[-1].startswith("waits for a PIN until")

    def test_a_handset_shows_itself_as_html(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent = bench.client.payment_intents.create(amount=Decimal("5.00"), description="<b>Fern & Co</b>")
        bench.client.payment_intents.confirm(intent.id, phone=number, provider="mtn")
        shown = bench.phone(number)._repr_mimebundle_()  # what Jupyter calls
        assert shown.keys() == {"text/plain", "text/html"}
        assert "<b>Fern & Co</b>" in shown["text/plain"]
        assert "&lt;b&gt;Fern &amp; Co&lt;/b&gt;" in shown["text/html"]
        assert "<b>" not in shown["text/html"]
        assert "<script" not in shown["text/html"]
        assert f'aria-label="Phone {mask_phone(number)}, mtn"' in shown["text/html"]


class TestWait:
    def test_it_polls_until_the_payment_has_ended(self, bench: Workbench):
        assert bench.client.wait(confirmed(bench, "+260960000001").id).status == "succeeded"

    def test_it_ends_on_a_failure_too(self, bench: Workbench):
        settled = bench.client.wait(confirmed(bench, "+260960000005").id)
        assert settled.last_payment_error.code == "prompt_timeout"

    def test_it_gives_up(self, bench: Workbench, new_number: NewNumber):
        intent = confirmed(bench, new_number())
        with pytest.raises(WaitExpired, match="still requires_action after 20 s") as expired:
            bench.client.wait(intent.id, timeout_s=20)
        assert expired.value.facts["status"] == "requires_action"

    def test_it_moves_the_clock_and_does_not_sleep(self, bench: Workbench, new_number: NewNumber):
        intent, before_ms = confirmed(bench, new_number()), bench.clock.now_ms
        with pytest.raises(WaitExpired):
            bench.client.wait(intent.id, timeout_s=60, poll_s=30)
        assert bench.clock.now_ms >= before_ms + 60_000


class TestWaitOnAClockThatStandsStill:
    """Over real HTTP, where the sandbox's clock moves by `advance` alone."""

    @pytest.fixture
    def here(self) -> Iterator[Workbench]:
        with Workbench(seed=7) as bench:
            yield bench

    def test_a_client_of_its_own_keeps_to_its_limit_and_says_why(self, here: Workbench):
        intent = confirmed(here, "+260960000001")
        with here.serve() as served, PaymentsClient(served.base_url, str(served.secret_key)) as pay:
            started = time.monotonic()
            with pytest.raises(WaitExpired, match=r"after 0\.4 s\. The sandbox's clock stands still.*clock/advance"):
                pay.wait(intent.id, timeout_s=0.4, poll_s=0.3)
            assert 0.4 <= time.monotonic() - started < 0.6
            here.clock.advance(60)
            assert pay.wait(intent.id, timeout_s=0.4).status == "succeeded"

    def test_a_bench_that_is_connected_moves_it(self, here: Workbench):
        intent, started = confirmed(here, "+260960000001"), time.monotonic()
        with here.serve() as served, Workbench.connect(served.base_url, str(served.secret_key)) as bench:
            assert bench.client.wait(intent.id).status == "succeeded"
        assert time.monotonic() - started < 3


class TestAdvanceOverHttp:
    """POST /sandbox/clock/advance takes what `bench.clock.advance` takes."""

    @pytest.mark.parametrize(
        ("body", "seconds"),
        [
            ({"seconds": 1.5}, 1.5), ({"minutes": 2}, 120), ({"hours": 1}, 3600), ({"days": 3}, 259_200),
            ({"days": 1, "hours": 1, "minutes": 1, "seconds": 1}, 90_061), ({"days": 0}, 0),
        ],
        ids=str,
    )  # fmt: skip
    def test_each_unit_is_taken_and_all_add_up(self, bench: Workbench, body: dict[str, float], seconds: float):
        before_ms = bench.clock.now_ms
        answer = post(bench, "/sandbox/clock/advance", body)
        assert answer.status_code == 200, answer.text
        assert seconds * 1000 <= answer.json()["now_ms"] - before_ms < seconds * 1000 + 5_000

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({}, ("seconds", "minutes", "hours", "days")), ({"day": 3}, ("seconds", "minutes", "hours", "days")),
            ({"days": "3"}, ("days",)), ({"days": -1}, ("days",)), ({"hours": 1.5}, ("hours",)),
            ({"minutes": None}, ("minutes",)), ({"seconds": 0.0001}, ("seconds",)), ({"days": 10**6}, ("days",)),
        ],
        ids=str,
    )  # fmt: skip
    def test_nonsense_is_refused_by_name(self, bench: Workbench, body: dict[str, Any], words: tuple[str, ...]):
        refused = post(bench, "/sandbox/clock/advance", body)
        assert refused.status_code == 400
        assert all(each in refused.json()["detail"] for each in words)
        assert refused.json()["param"] in words


def post(bench: Workbench, path: str, body: dict[str, Any]) -> httpx.Response:
    return bench.http.post(path, json=body, headers={"Authorization": f"Bearer {bench.secret_key}"})


class TestTrace:
    def test_it_is_in_order(self, bench: Workbench, new_number: NewNumber):
        assert bench.receiver.secrets
        number = new_number()
        intent = confirmed(bench, number)
        bench.phone(number).enter_pin(PIN)
        bench.clock.advance(0)
        rows = list(bench.trace)
        assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})
        assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
        own = [(row["kind"], row["what"]) for row in bench.trace.for_(intent.id)]
        kinds = [kind for kind, _ in own if kind != "webhook"]
        assert kinds == ["call", "call", "screen", "screen", "entry"]
        assert [what for kind, what in own if kind == "webhook"] == PAID_IN_ORDER

    def test_a_row_of_the_ledger_stands_after_the_pin_and_before_the_webhook(
        self, bench: Workbench, new_number: NewNumber
    ):
        assert bench.receiver.secrets
        number = new_number()
        intent = confirmed(bench, number)
        bench.phone(number).enter_pin(PIN)
        bench.clock.advance(0)
        own = [row["kind"] if row["kind"] != "webhook" else row["what"] for row in bench.trace.for_(intent.id)]
        assert own.index("entry") < own.index("payment_intent.succeeded")

    def test_it_shows_itself_as_text_and_html(self, bench: Workbench, new_number: NewNumber):
        charge = charged(bench, new_number(), new_number())
        shown = bench.trace.for_(charge.id)._repr_mimebundle_()  # what Jupyter calls
        assert "POST /v1/charges" in shown["text/plain"]
        assert "<caption>" in shown["text/html"]
        assert '<th scope="col"' in shown["text/html"]

    def test_the_pin_is_nowhere(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        intent = confirmed(bench, number)
        bench.phone(number).enter_pin("9182")
        assert "9182" not in str([row["detail"] for row in bench.trace.for_(intent.id)])

    def test_an_exchange_is_the_raw_request_and_answer(self, bench: Workbench, new_number: NewNumber):
        charged(bench, new_number(), "order-" + new_number()[4:])
        exchange = next(each for each in reversed(bench.trace.exchanges) if "/v1/charges" in each.request)
        assert exchange.status == 200
        request, response = exchange.request.splitlines(), exchange.response.splitlines()
        assert request[0] == "POST /v1/charges HTTP/1.1"
        assert "Authorization: Basic ••••" in request
        assert "Content-Type: application/json" in request
        assert any(line.startswith("Idempotency-Key: order-") for line in request)
        assert '  "amount": 15000,' in request
        assert response[0] == "HTTP/1.1 200 OK"
        assert any(line.startswith("Request-Id: req_") for line in response)
        assert '  "status": "succeeded",' in response

    @pytest.mark.parametrize("amount", ["150.00", "150.0", "150", "1.5e2"])
    def test_an_exchange_keeps_every_number_as_it_was_written(self, wire: "Wire", amount: str):
        intent = wire.intent(amount=amount).json()
        calls = wire.bench.trace.for_(intent["id"]).exchanges
        assert f'"amount": {amount}' in calls[0].request
        assert '"amount": 150.00' in calls[0].response


class TestReceiver:
    def test_a_message_that_came_before_is_answered_200_and_not_handled_again(
        self, bench: Workbench, new_number: NewNumber
    ):
        receiver, handled = bench.receiver, []
        charge = charged(bench, new_number(), new_number())
        bench.clock.advance(0)
        message = next(each for each in reversed(receiver.arrivals) if charge.id.encode() in each.body)

        @receiver.on("charge.succeeded")
        def ship(event: Event) -> None:
            handled.append(event.id)

        before = len(receiver.events)
        assert receiver.receive(message.body, message.headers) == 200
        assert receiver.arrivals[-1].verdict == "duplicate"
        assert len(receiver.events) == before
        assert handled == []

    def test_a_message_that_was_changed_is_refused(self, bench: Workbench, new_number: NewNumber):
        receiver = bench.receiver
        charge = charged(bench, new_number(), new_number())
        bench.clock.advance(0)
        message = next(each for each in reversed(receiver.arrivals) if charge.id.encode() in each.body)
        changed = message.body.replace(b'"amount":15000', b'"amount":10000')
        assert changed != message.body
        assert receiver.receive(changed, message.headers) == 400
        assert receiver.arrivals[-1].verdict == "refused"
        assert receiver.arrivals[-1].reason == "signature_mismatch"

    def test_a_handler_that_failed_sees_the_message_again(self, bench: Workbench, new_number: NewNumber):
        receiver, number, seen = bench.receiver, new_number(), []
        intent = bench.client.payment_intents.create(amount=Decimal("5.00"))
        bench.clock.advance(0)

        @receiver.on("payment_intent.requires_action")
        def fail_once(event: Event) -> None:
            if event.data.object["id"] == intent.id:
                seen.append(event.id)
                assert len(seen) > 1, "not yet"

        bench.client.payment_intents.confirm(intent.id, phone=number, provider="mtn")
        bench.clock.advance(0)
        assert len(seen) == 1
        bench.clock.advance(seconds=7)
        assert len(seen) == 2
        assert len(set(seen)) == 1
        bench.clock.advance(hours=1)
        assert len(seen) == 2
        own = [each for each in receiver.arrivals if each.headers["webhook-id"] == seen[0]]
        assert [each.verdict for each in own] == ["failed", "accepted"]
        assert "AssertionError" in own[0].reason

    def test_a_cell_that_is_run_twice_handles_once(self, bench: Workbench, new_number: NewNumber):
        receiver, shipped = bench.receiver, []

        def cell() -> None:
            @receiver.on("charge.succeeded")
            def ship(event: Event) -> None:
                shipped.append(event.data.object["id"])

        cell()
        cell()
        charge = charged(bench, new_number(), new_number())
        bench.clock.advance(0)
        assert shipped.count(charge.id) == 1

    def test_a_handler_may_take_a_type_a_family_or_all(self, bench: Workbench, new_number: NewNumber):
        receiver, called = bench.receiver, []

        @receiver.on("charge.succeeded")
        def ship(event: Event) -> None:
            called.append(("ship", event.data.object["id"]))

        @receiver.on("charge.*")
        def count(event: Event) -> None:
            called.append(("count", event.data.object["id"]))

        @receiver.on("*")
        def note(event: Event) -> None:
            called.append(("note", event.data.object["id"]))

        @receiver.on("charge.failed", "payment_intent.*")
        def regret(event: Event) -> None:
            called.append(("regret", event.data.object["id"]))

        charge = charged(bench, new_number(), new_number())
        bench.clock.advance(0)
        assert [name for name, payment in called if payment == charge.id] == ["ship", "count", "note"]

    def test_a_handler_that_nobody_would_await_is_refused(self, bench: Workbench):
        with pytest.raises(TypeError, match="async"):

            @bench.receiver.on("charge.succeeded")
            async def ship(event: Event) -> None:
                """Would never run."""

    def test_over_a_served_sandbox_it_listens_on_a_port_of_this_machine(self, served_bench: Workbench):
        assert served_bench.receiver is served_bench.receiver
        created = [each for each in served_bench.trace if each["what"] == "POST /v1/webhook_endpoints"]
        assert any("http://127.0.0.1:" in each["detail"]["request"]["body"] for each in created)


SECRET = "whsec_" + base64.b64encode(b"the secret of this test, 32 byte").decode()
EVENT = json.dumps(
    {
        "id": "evt_1",
        "type": "charge.succeeded",
        "timestamp": "2026-01-05T06:00:00.000Z",
        "data": {"object": {"id": "ch_1", "status": "succeeded"}},
        "request": {},
    }
).encode()
NOW_S = 1_767_592_800


class Port:
    """A receiver on a real port, and raw HTTP to it."""

    def __init__(self, receiver: Receiver, url: str) -> None:
        self.receiver = receiver
        self.url = urlsplit(url)

    def send(self, method: str = "POST", body: bytes = EVENT, headers: dict[str, str] | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=10)
        try:
            connection.request(method, self.url.path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def signed(self, body: bytes = EVENT, *, at_s: int = NOW_S, message_id: str = "evt_1") -> dict[str, str]:
        return headers_for(SECRET, message_id, at_s, body)


@pytest.fixture
def port() -> Iterator[Port]:
    receiver = Receiver([SECRET], now=lambda: NOW_S)
    with receiver.listen() as url:
        yield Port(receiver, url)


class TestReceiverOnAPort:
    def test_a_genuine_message_is_accepted_once(self, port: Port):
        assert port.send(headers=port.signed()) == (200, "accepted")
        assert port.send(headers=port.signed()) == (200, "duplicate")
        assert [event.id for event in port.receiver.events] == ["evt_1"]

    @pytest.mark.parametrize("case", [str.title, str.upper, str.lower])
    def test_headers_come_in_any_case(self, port: Port, case: Callable[[str], str]):
        headers = {case(name): value for name, value in port.signed().items()}
        assert port.send(headers=headers) == (200, "accepted")

    @pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
    def test_all_three_headers_are_needed(self, port: Port, missing: str):
        headers = {name: value for name, value in port.signed().items() if name != missing}
        assert port.send(headers=headers) == (400, "refused")
        assert port.receiver.arrivals[-1].reason == "header_missing"

    @pytest.mark.parametrize(
        ("away_s", "verdict"), [(-301, "refused"), (-300, "accepted"), (300, "accepted"), (301, "refused")]
    )
    def test_a_message_is_good_for_300_seconds_both_ways(self, port: Port, away_s: int, verdict: str):
        assert port.send(headers=port.signed(at_s=NOW_S + away_s))[1] == verdict

    def test_the_bytes_that_arrived_are_what_is_verified(self, port: Port):
        respaced = json.dumps(json.loads(EVENT), indent=1).encode()
        assert port.send(body=respaced, headers=port.signed()) == (400, "refused")
        assert port.receiver.arrivals[-1].reason == "body_reserialised"

    def test_a_signed_message_that_is_no_event_is_refused(self, port: Port):
        assert port.send(body=b"[]", headers=port.signed(b"[]")) == (400, "refused")
        assert port.receiver.arrivals[-1].reason == "body_not_an_event"

    def test_a_handler_that_raises_is_answered_500_and_called_again(self, port: Port):
        calls = []

        @port.receiver.on("charge.succeeded")
        def ship(event: Event) -> None:
            calls.append(event.id)
            assert len(calls) > 1, "not yet"

        assert port.send(headers=port.signed()) == (500, "failed")
        assert port.receiver.events == []
        assert port.send(headers=port.signed()) == (200, "accepted")
        assert calls == ["evt_1", "evt_1"]

    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
    def test_only_a_post_is_a_webhook(self, port: Port, method: str):
        assert port.send(method, headers=port.signed())[0] == 405
        assert not port.receiver.arrivals

    def test_a_body_that_is_too_large_is_not_read(self, port: Port):
        assert port.send(body=b"", headers={"Content-Length": str((1 << 20) + 1)})[0] == 413

    def test_the_port_is_given_back(self):
        with Receiver([SECRET]).listen() as url:
            number = urlsplit(url).port
        connection = http.client.HTTPConnection("127.0.0.1", number, timeout=2)
        with pytest.raises(ConnectionRefusedError):
            connection.request("POST", "/webhooks")
        connection.close()
