"""Payments from end to end through both doors: the customer, the clock, the retries, the receiver."""

import base64
import http.client
import json
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from workbench import PaymentsClient, Receiver, Workbench
from workbench.domain.phones import mask_phone
from workbench.domain.signatures import headers_for
from workbench.domain.wire import Charge, PaymentIntent
from workbench.errors import AuthenticationFailed, PaymentDeclined, PermissionDenied, StateConflict, WaitExpired
from workbench.receiver import Event

if TYPE_CHECKING:
    from tests.doors.conftest import Wire

NewNumber = Callable[..., str]
DAY_S = 86_400
SECRET = "whsec_" + base64.b64encode(b"the secret of this test, 32 byte").decode()
OBJECT = {"id": "ch_1", "status": "succeeded"}
EVENT = json.dumps({"id": "evt_1", "type": "charge.succeeded", "timestamp": "2026-01-05T06:00:00.000Z",
                    "data": {"object": OBJECT}, "request": {}}).encode()  # fmt: skip
NOW_S = 1_767_592_800
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
            amount=Decimal("150.00"), currency="ZMW", payment_method_types=["mobile_money"], description="Monstera"
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

    def test_the_answer_to_confirm_says_what_comes_next_and_masks_the_number(
        self, bench: Workbench, new_number: NewNumber
    ):
        phone = new_number()
        intent = confirmed(bench, phone)
        masked = f"{phone[:6]}••••{phone[-3:]}"
        assert (intent.status, intent.next_action.type) == ("requires_action", "ussd_prompt")
        assert 298 <= intent.next_action.ussd_prompt.expires_at - bench.clock.now_ms / 1000 <= 300
        assert intent.payment_method.mobile_money.phone == intent.next_action.ussd_prompt.phone == masked

    def test_an_operator_has_a_short_and_a_long_name_and_another_ones_number_is_warned_of(
        self, bench: Workbench, new_number: NewNumber
    ):
        for name in ("mtn", "MTN", "MTN_MOMO_ZMB", "mtn_momo_zmb"):
            assert charged(bench, new_number(), new_number(), channel=name).channel == "mtn"
        charge = charged(bench, new_number("97"), new_number(), channel="mtn")
        assert (charge.status, charge.channel, charge.provider) == ("succeeded", "mtn", "airtel")
        assert len(charge.warnings) == 1


class TestIdempotency:
    """What every POST has in common is in test_idempotency.py."""

    def test_a_decline_is_kept_and_what_was_refused_before_it_is_not(self, wire: "Wire"):
        key = wire.new_key()
        assert wire.charge(key=key, amount="0").status_code == 400
        body = wire.charge().request.content
        assert wire.post("/v1/charges", body, {"Idempotency-Key": key}).status_code == 401
        first, again = (wire.charge(key=key, phone='"+260960000002"') for _ in range(2))
        assert first.status_code == again.status_code == 402
        assert first.content == again.content
        assert ["idempotent-replayed" in each.headers for each in (first, again)] == [False, True]

    def test_a_client_sends_it_and_on_another_path_it_is_another_key(self, bench: Workbench, new_number: NewNumber):
        pay, key, phone = bench.client, f"order-{new_number()[4:]}", new_number()
        charged(bench, phone, key)
        one, two = (pay.payment_intents.create(amount=Decimal("5.00"), idempotency_key=key) for _ in range(2))
        assert one.id == two.id
        one, two = (
            pay.payment_intents.confirm(one.id, phone=phone, provider="mtn", idempotency_key=key) for _ in range(2)
        )
        assert one.latest_charge == two.latest_charge


def test_a_declined_charge_is_an_exception_that_names_the_charge(bench: Workbench, new_number: NewNumber):
    """What comes of each test number is in tests/sandbox/test_operator.py."""
    with pytest.raises(PaymentDeclined) as declined:
        charged(bench, "+260970000004", new_number(), channel="airtel")
    assert (declined.value.code, declined.value.decline_code) == ("payment_declined", "declined_by_customer")
    assert bench.client.charges.retrieve(declined.value.facts["charge"]).status == "failed"


class TestTokens:
    def test_a_token_is_refreshed_replaced_and_ends_on_the_clock(self, bench: Workbench):
        auth, plant = bench.client.auth, {"id": 1, "name": "Monstera"}
        old = auth.token(email="ada@example.com", password="green")
        new = auth.refresh(old.refresh_token)
        holder = bench.client_with(new.access_token)
        assert holder.plants.create(**plant).name == "Monstera"
        with pytest.raises(AuthenticationFailed, match="replaced"):
            bench.client_with(old.access_token).plants.create(**plant)
        with pytest.raises(AuthenticationFailed, match="used before"):
            auth.refresh(old.refresh_token)
        bench.clock.advance(seconds=DAY_S)
        with pytest.raises(AuthenticationFailed, match="expired"):
            holder.plants.create(**plant)

    def test_a_bearer_in_the_header_is_refreshed_without_a_body_and_no_cache_may_keep_a_token(self, wire: "Wire"):
        made = wire.post("/v1/auth/token", b'{"email": "ada@example.com", "password": "green"}', {})
        bearer = {"Authorization": f"Bearer {made.json()['access_token']}"}
        fresh = wire.bench.http.post("/v1/auth/refresh", headers=bearer)
        assert fresh.status_code == 200
        assert fresh.json()["access_token"] != made.json()["access_token"]
        assert fresh.headers["cache-control"] == made.headers["cache-control"] == "no-store"


def test_a_publishable_key_confirms_and_retrieves_with_the_client_secret_of_that_intent(
    bench: Workbench, new_number: NewNumber
):
    browser = bench.client_with(str(bench.publishable_key))
    intent, other = (bench.client.payment_intents.create(amount=Decimal("20.00")) for _ in range(2))
    asked = {"phone": new_number(), "provider": "mtn"}
    with pytest.raises(PermissionDenied) as refused:
        browser.payment_intents.confirm(intent.id, **asked, client_secret=other.client_secret)
    assert (refused.value.code, refused.value.param) == ("client_secret_wrong", "client_secret")
    browser.payment_intents.confirm(intent.id, **asked, client_secret=intent.client_secret)
    seen = browser.payment_intents.retrieve(intent.id, client_secret=intent.client_secret)
    assert seen.status == "requires_action"


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

    def test_it_counts_the_tries_and_after_a_decline_the_intent_is_confirmed_again(
        self, bench: Workbench, new_number: NewNumber
    ):
        """What each key comes to is in tests/sandbox/test_operator.py."""
        number = new_number()
        intent, phone = confirmed(bench, number), bench.phone(number)
        assert "3 tries left" in repr(phone)
        for said in ("Tries left: 2", "Tries left: 1", "too often"):
            assert said in phone.enter_pin(WRONG).screen
        assert bench.client.payment_intents.retrieve(intent.id).last_payment_error.code == "wrong_pin"
        bench.client.payment_intents.confirm(intent.id, phone=number, provider="mtn")
        assert "Nothing was paid" in phone.cancel().screen
        again = bench.client.payment_intents.confirm(intent.id, phone=number, provider="mtn")
        assert again.latest_charge != intent.latest_charge
        assert again.last_payment_error is None
        phone.enter_pin(WRONG).enter_pin(WRONG).enter_pin(PIN)
        assert bench.client.payment_intents.retrieve(intent.id).status == "succeeded"
        payments = [row for row in bench.trace if row["kind"] == "entry" and row["payment"] == intent.id]
        assert len(payments) == 1
        with pytest.raises(StateConflict):
            phone.enter_pin(PIN)

    def test_a_handset_shows_itself_as_text_and_html(self, bench: Workbench, new_number: NewNumber):
        number = new_number()
        phone = bench.phone(number)
        assert "no prompt waits" in repr(phone)
        intent = bench.client.payment_intents.create(amount=Decimal("5.00"), description="<b>Fern & Co</b>")
        bench.client.payment_intents.confirm(intent.id, phone=number, provider="mtn")
        lines = repr(phone).splitlines()
        assert lines[0] == f"{mask_phone(number)} (mtn)"
        assert (lines[1][0], lines[-2][0]) == ("╭", "╰")
        assert len({len(line) for line in lines[1:-1]}) == 1
        assert lines[-1].startswith("waits for a PIN until")
        shown = phone._repr_mimebundle_()  # what Jupyter calls
        assert shown.keys() == {"text/plain", "text/html"}
        assert "<b>Fern & Co</b>" in shown["text/plain"]
        assert "&lt;b&gt;Fern &amp; Co&lt;/b&gt;" in shown["text/html"]
        assert not any(tag in shown["text/html"] for tag in ("<b>", "<script"))
        assert f'aria-label="Phone {mask_phone(number)}, mtn"' in shown["text/html"]


class TestWait:
    def test_it_polls_until_the_payment_has_ended_well_or_not(self, bench: Workbench):
        assert bench.client.wait(confirmed(bench, "+260960000001").id).status == "succeeded"
        settled = bench.client.wait(confirmed(bench, "+260960000005").id)
        assert settled.last_payment_error.code == "prompt_timeout"

    def test_it_gives_up_and_moves_the_clock_rather_than_sleep(self, bench: Workbench, new_number: NewNumber):
        intent, before_ms = confirmed(bench, new_number()), bench.clock.now_ms
        with pytest.raises(WaitExpired, match="still requires_action after 60 s") as expired:
            bench.client.wait(intent.id, timeout_s=60, poll_s=30)
        assert expired.value.facts["status"] == "requires_action"
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

    def test_each_unit_is_taken_and_all_add_up(self, wire: "Wire"):
        for body, seconds in (
            ({"seconds": 1.5}, 1.5), ({"minutes": 2}, 120), ({"hours": 1}, 3600), ({"days": 3}, 259_200),
            ({"days": 1, "hours": 1, "minutes": 1, "seconds": 1}, 90_061), ({"days": 0}, 0),
        ):  # fmt: skip
            before_ms = wire.bench.clock.now_ms
            answer = wire.post("/sandbox/clock/advance", json.dumps(body).encode(), wire.bearer)
            assert answer.status_code == 200, answer.text
            assert seconds * 1000 <= answer.json()["now_ms"] - before_ms < seconds * 1000 + 5_000

    def test_nonsense_is_refused_by_name(self, wire: "Wire"):
        units = ("seconds", "minutes", "hours", "days")
        for body, words in (
            ({}, units), ({"day": 3}, units), ({"days": "3"}, ("days",)), ({"days": -1}, ("days",)),
            ({"hours": 1.5}, ("hours",)), ({"minutes": None}, ("minutes",)), ({"seconds": 0.0001}, ("seconds",)),
            ({"days": 10**6}, ("days",)),
        ):  # fmt: skip
            refused = wire.post("/sandbox/clock/advance", json.dumps(body).encode(), wire.bearer)
            assert refused.status_code == 400
            assert all(each in refused.json()["detail"] for each in words)
            assert refused.json()["param"] in words


class TestTrace:
    def test_it_is_in_order_and_tells_of_each_step_but_the_pin(self, bench: Workbench, new_number: NewNumber):
        assert bench.receiver.secrets
        number = new_number()
        intent = confirmed(bench, number)
        bench.phone(number).enter_pin("9182").enter_pin(PIN)
        bench.clock.advance(0)
        rows = list(bench.trace)
        assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})
        assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
        own = bench.trace.for_(intent.id)
        kinds = [row["kind"] if row["kind"] != "webhook" else row["what"] for row in own]
        assert [each for each in kinds if each not in PAID_IN_ORDER] == ["call", "call", *["screen"] * 3, "entry"]
        assert [each for each in kinds if each in PAID_IN_ORDER] == PAID_IN_ORDER
        assert kinds.index("entry") < kinds.index("payment_intent.succeeded")
        assert "9182" not in str([row["detail"] for row in own])

    def test_it_shows_itself_as_text_and_html_and_an_exchange_as_the_raw_request_and_answer(
        self, bench: Workbench, new_number: NewNumber
    ):
        charge = charged(bench, new_number(), "order-" + new_number()[4:])
        own = bench.trace.for_(charge.id)
        shown = own._repr_mimebundle_()  # what Jupyter calls
        assert "POST /v1/charges" in shown["text/plain"]
        assert "<caption>" in shown["text/html"]
        assert '<th scope="col"' in shown["text/html"]
        (exchange,) = own.exchanges
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

    def test_an_exchange_keeps_every_number_as_it_was_written(self, wire: "Wire"):
        made = {amount: wire.intent(amount=amount).json()["id"] for amount in ("150.00", "150.0", "150", "1.5e2")}
        trace = wire.bench.trace
        for amount, intent_id in made.items():
            call = trace.for_(intent_id).exchanges[0]
            assert f'"amount": {amount}' in call.request
            assert '"amount": 150.00' in call.response


class TestReceiver:
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

    def test_a_handler_may_take_a_type_a_family_or_all_and_a_cell_that_is_run_twice_handles_once(
        self, bench: Workbench, new_number: NewNumber
    ):
        receiver, called = bench.receiver, []

        def noting(name: str) -> Callable[[Event], None]:
            def handle(event: Event) -> None:
                called.append((name, event.data.object["id"]))

            handle.__qualname__ = name  # one of the same name replaces one
            return handle

        for name, *types in 2 * [("ship", "charge.succeeded"), ("count", "charge.*"), ("note", "*"),
                                 ("regret", "charge.failed", "payment_intent.*")]:  # fmt: skip
            receiver.on(*types)(noting(name))
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
    def test_a_genuine_message_is_accepted_once_its_headers_in_any_case(self, port: Port):
        handled = []
        port.receiver.on("charge.succeeded")(lambda event: handled.append(event.id))
        assert port.send(headers=port.signed()) == (200, "accepted")
        assert port.send(headers=port.signed()) == (200, "duplicate")
        assert [event.id for event in port.receiver.events] == handled == ["evt_1"]
        for case in (str.title, str.upper, str.lower):
            headers = {case(name): value for name, value in port.signed(message_id=f"evt_{case.__name__}").items()}
            assert port.send(headers=headers) == (200, "accepted")

    def test_a_message_that_is_not_genuine_is_refused_and_told_why(self, port: Port):
        respaced = json.dumps(json.loads(EVENT), indent=1).encode()
        for reason, body, headers in (
            *(("header_missing", EVENT, {name: each for name, each in port.signed().items() if name != missing})
              for missing in ("webhook-id", "webhook-timestamp", "webhook-signature")),
            ("body_reserialised", respaced, port.signed()),
            ("signature_mismatch", EVENT.replace(b"ch_1", b"ch_2"), port.signed()),
            ("body_not_an_event", b"[]", port.signed(b"[]")),
        ):  # fmt: skip
            assert port.send(body=body, headers=headers) == (400, "refused")
            assert port.receiver.receive(body, headers) == 400
            assert port.receiver.arrivals[-1].reason == reason

    def test_a_message_is_good_for_300_seconds_both_ways(self, port: Port):
        for away_s, verdict in ((-301, "refused"), (-300, "accepted"), (300, "accepted"), (301, "refused")):
            assert port.send(headers=port.signed(at_s=NOW_S + away_s, message_id=f"evt_{away_s}"))[1] == verdict

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

    def test_only_a_post_of_a_bounded_size_is_a_webhook(self, port: Port):
        for method in ("GET", "PUT", "DELETE"):
            assert port.send(method, headers=port.signed())[0] == 405
        assert port.send(body=b"", headers={"Content-Length": str((1 << 20) + 1)})[0] == 413
        assert not port.receiver.arrivals

    def test_the_port_is_given_back(self):
        with Receiver([SECRET]).listen() as url:
            number = urlsplit(url).port
        connection = http.client.HTTPConnection("127.0.0.1", number, timeout=2)
        with pytest.raises(ConnectionRefusedError):
            connection.request("POST", "/webhooks")
        connection.close()
