"""The desk without a browser: what its buttons do, what it shows, and that it leaves the trace of a script."""

import json
import re
import shlex
import time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from workbench import Workbench
from workbench.control import SandboxControl
from workbench.errors import WorkbenchError
from workbench.lab.desk import Desk, draft
from workbench.lab.desk.gathered import Gathered
from workbench.lab.sections import Message
from workbench.lab.views import BAD, Field, Fold, Form, Grid, Item, Section, Steps, as_data

NUMBER, OTHER = "+260961234567", "+260971234567"
SEED = 7


@pytest.fixture
def desk(bench: Workbench) -> Desk:
    return bench.desk()


def section(desk: Desk, name: str) -> Section:
    return next(each for each in desk.sections() if each.id == name)


def text(desk: Desk, name: str) -> str:
    return json.dumps(as_data(section(desk, name)), ensure_ascii=False)


def items(section: Section, kind: type[Item]) -> list[Any]:
    return [each for each in section.items if isinstance(each, kind)]


def field(desk: Desk, name: str) -> Field:
    forms = items(section(desk, "request"), Form)
    return next(each for form in forms for each in form.fields if each.name == name)


def act(desk: Desk, message: dict[str, Any]) -> None:
    desk._act(message)  # noqa: SLF001  the widget calls it, where there is a browser


def gathered(desk: Desk) -> Gathered:
    return desk._gathered  # noqa: SLF001  what it shows is made of this


def send(desk: Desk, do: str = "send", **values: str) -> Message:
    message = desk.do("request", do, **values)
    assert message is not None
    return message


def cells(desk: Desk, name: str) -> list[tuple[str, ...]]:
    (grid,) = items(section(desk, name), Grid)
    return [row.cells for row in grid.rows]


class TestAPayment:
    def test_from_empty_to_verified_webhook_and_looking_changes_nothing(self, bench: Workbench, desk: Desk):
        assert bench.desk() is desk
        assert desk.widget is desk.widget
        assert "Nothing was sent yet." in text(desk, "answer")
        assert "shows the prompt" in send(desk).text
        before = list(bench.trace), bench.clock.now_ms
        for _ in range(3):
            repr(desk)
            desk._repr_mimebundle_()
        assert (list(bench.trace), bench.clock.now_ms) == before
        bench.phone(NUMBER).enter_pin("1234")
        desk.sections()
        assert desk.message == (
            "Paid: ZMW 150.00 is booked in the ledger, and its webhook has come, its signature verified."
        )
        assert cells(desk, "webhooks")[-1][1:] == ("payment_intent.succeeded", "1, 200", "✓ verified", "✓ once")
        assert "Debits equal credits: debits ZMW 151.50, credits ZMW 151.50." in text(desk, "ledger")
        assert "webhook verified" in text(desk, "payment")
        shown = repr(desk) + str(desk._repr_mimebundle_())
        assert NUMBER not in shown, "what is saved masks the number"
        everything = shown + json.dumps(as_data(desk.sections()))
        for secret in (bench.secret_key, bench.publishable_key, *bench.receiver.secrets):
            assert str(secret) not in everything

    def test_the_trace_is_that_of_a_script(self, bench: Workbench, desk: Desk):
        key = field(desk, "idempotency_key").value
        _ = desk.widget
        act(desk, {"id": 1, "part": "request", "do": "follow", "on": "form", "values": {"amount": "20.00"}})
        act(desk, {"id": 2, "part": "request", "do": "send", "on": "", "values": {"amount": "20.00"}})
        bench.phone(NUMBER).enter_pin("1234")
        act(desk, {"id": 3, "part": "payment", "do": "wait", "on": "10", "values": {}})
        with Workbench(seed=SEED) as other:
            pay = other.client.payment_intents
            intent = pay.create(
                amount=Decimal("20.00"), currency="ZMW", payment_method_types=["mobile_money"],
                description="Monstera", idempotency_key=key,
            )  # fmt: skip
            pay.confirm(intent.id, phone=NUMBER, provider="mtn", idempotency_key=key)
            other.phone(NUMBER).enter_pin("1234")
            other.clock.advance(10)
            assert list(bench.trace) == list(other.trace)

    def test_a_refused_number_that_is_mended_has_its_handset_before_it_is_sent(self, desk: Desk):
        assert "national form" in send(desk, phone="0961234567").text
        assert "national form" in text(desk, "handset")
        assert "now" not in [each.state for each in items(section(desk, "payment"), Steps)[0].steps]
        desk.do("request", "follow", "form", phone=OTHER)
        assert "national form" not in text(desk, "handset")
        assert OTHER in text(desk, "handset")
        send(desk, phone=NUMBER)
        desk.do("request", "follow", "form", phone=OTHER)
        assert OTHER not in text(desk, "handset")

    def test_a_charge_in_one_call_paid_and_declined(self, desk: Desk):
        desk.do("request", "follow", "form", operation="charge")
        assert field(desk, "amount").hint == "Sent as 15000, in whole ngwee."
        assert send(desk).text.startswith("Paid: ZMW 150.00")
        assert "POST /v1/charges → 200 OK" in text(desk, "answer")
        assert send(desk, phone="+260960000002").tone == BAD
        assert gathered(desk).number == "+260960000002"
        assert "insufficient funds" in text(desk, "payment")
        assert "402 Payment Required" in text(desk, "answer")
        body = {"amount": 500, "currency": "zmw", "type": "mobile_money", "channel": "airtel", "phone": OTHER}
        desk.do("request", "follow", "json", body0=json.dumps(body))
        assert send(desk).text.startswith("Paid: ZMW 5.00")
        assert gathered(desk).number == OTHER


class TestTheKey:
    def test_the_same_key_does_it_once_and_another_body_with_it_is_refused_beside_it(
        self, bench: Workbench, desk: Desk
    ):
        key = field(desk, "idempotency_key").value
        assert send(desk, "again").text == "Nothing was sent yet."
        send(desk)
        drawn = {key, field(desk, "idempotency_key").value}
        assert send(desk, "again").text == "The service gave the answer of before: nothing was done a second time."
        assert len(bench.client.payment_intents.list()) == 1
        assert "Idempotent-Replayed: true" in text(desk, "answer")
        assert "another body" in send(desk, "again", amount="151.00").text
        assert field(desk, "idempotency_key").value == key
        assert "another body" in field(desk, "idempotency_key").error
        for _ in range(3):
            desk.do("request", "new_key")
            drawn.add(field(desk, "idempotency_key").value)
        assert field(desk, "idempotency_key").error == ""
        assert len(drawn) == 5

    def test_what_was_refused_is_sent_again_with_its_key(self, bench: Workbench, desk: Desk):
        key = field(desk, "idempotency_key").value
        message = send(desk, phone="+447911123456")
        assert "not Zambian" in message.text
        assert "The intent was created and is not confirmed." in message.text
        assert "not Zambian" in field(desk, "phone").error
        assert field(desk, "idempotency_key").value == key
        assert "shows the prompt" in send(desk, phone=NUMBER).text
        # The same key: no second intent for one order.
        assert len(bench.client.payment_intents.list()) == 1


WRONG = [
    ({"amount": "abc"}, "amount", "abc is no amount"),
    ({"amount": "1,5"}, "amount", "Write the ngwee after a point: 1.5."),
    ({"amount": "1e5"}, "amount", "1e5 is no amount"),
    ({"amount": "-5"}, "amount", "amount: -5 is not more than zero."),
    ({"amount": "1.005"}, "amount", "more decimals"),
    ({"amount": "0.1000000000000000055511151231257827"}, "amount", "more decimals"),
    ({"amount": ""}, "amount", "Fill in an amount"),
    ({"amount": "٣"}, "amount", "is no amount"),
    ({"amount": "1" * 30}, "amount", "more than 10 digits"),
    ({"phone": "+447911123456"}, "phone", "not Zambian"),
    ({"phone": "+260981234567"}, "phone", "No wallet"),
    ({"phone": "x" * 10_000}, "phone", "international form"),
    ({"provider": "mt"}, "provider", "not an operator"),
    ({"idempotency_key": "a\nb"}, "idempotency_key", "printable ASCII"),
    ({"idempotency_key": "x" * 300}, "idempotency_key", "printable ASCII"),
    ({"operation": "charge", "amount": "1.005"}, "amount", "whole ngwee"),
    ({"operation": "charge", "phone": "+44"}, "phone", "not Zambian"),
    ({"operation": "charge", "provider": "mt"}, "provider", "not an operator"),
    ({"operation": "charge", "idempotency_key": ""}, "idempotency_key", "Idempotency-Key"),
]


class TestBadInput:
    def test_it_is_said_beside_its_field(self, desk: Desk):
        for values, name, words in WRONG:
            desk.do("request", "new_key")
            message = send(desk, **{**draft.START, "idempotency_key": field(desk, "idempotency_key").value, **values})
            assert (message.tone, words in message.text, words in field(desk, name).error) == (BAD, True, True), values
            # Typing there takes it away.
            desk.do("request", "follow", "form", **{name: "7"})
            assert field(desk, name).error == ""

    def test_nothing_is_sent_of_what_cannot_be_and_a_publishable_key_is_refused_in_words(
        self, bench: Workbench, desk: Desk
    ):
        before = list(bench.trace)
        assert send(desk, amount="abc").text.startswith("Nothing was sent.")
        assert list(bench.trace) == before
        assert "publishable key" in send(desk, amount="1.00", key="publishable_key").text
        assert "403 Forbidden" in text(desk, "answer")

    def test_any_description_is_sent_or_refused_in_words(self, desk: Desk):
        for description in ("x" * 10_000, "<script>alert(1)</script>", "\ud800", "a\x00b", "K̶"):
            assert send(desk, description=description).text
            assert "<script>" not in str(desk._repr_mimebundle_()["text/html"])
            as_data(desk.sections())
        send(desk, description="")
        assert "description" not in field(desk, "body0").value
        assert "shows the prompt" in desk.message

    def test_an_outage_and_faults_of_the_service_are_seen(self, bench: Workbench, desk: Desk):
        bench.operator.outage("mtn", 600)
        assert "no handset shows a prompt yet" in send(desk).text
        desk.do("payment", "wait", "10")
        assert "operator unavailable" in text(desk, "payment")
        bench.operator.outage("mtn", 0)
        for scenario in ("server_error", "server_error_after", "conflict", "slow"):
            bench.operator.script(NUMBER, [scenario])
            assert send(desk).text
            assert "→" in text(desk, "answer")

    def test_what_is_not_there_and_a_closed_bench_are_said(self, bench: Workbench, desk: Desk):
        for part, name, on in (("request", "nothing", ""), ("nobody", "send", ""), ("payment", "wait", "x")):
            assert desk.do(part, name, on) is not None
        desk.do("payment", "follow", "choice", payment="pi_nobody")
        desk.do("request", "follow", "nothing", nothing="1")
        act(desk, {})
        send(desk)
        bench.close()
        assert "closed" in send(desk).text
        assert "closed" in text(desk, "unread")
        assert "run the cells again" in text(desk, "unread")
        assert "closed" in repr(desk)


class TestTheJson:
    def test_it_follows_the_form_until_it_is_written_and_is_sent_as_it_was_written(self, bench: Workbench, desk: Desk):
        written = '{"amount":   9.50, "currency": "ZMW", "payment_method_types": ["mobile_money"], "more": null}'
        for back in ({"name": "follow", "on": "form", "amount": "8.00"}, {"name": "follow_form"}):
            desk.do("request", "follow", "json", body0=written)
            assert field(desk, "body0").value == written
            desk.do("request", **back)
            assert '"amount": 8.00' in field(desk, "body0").value
        for _ in ("written", "as it stands already"):
            desk.do("request", "follow", "json", body0=written)
        assert "shows the prompt" in send(desk).text
        (intent,) = bench.client.payment_intents.list()
        assert bench.trace.for_(intent.id)[0]["detail"]["request"]["body"] == written

    def test_what_is_no_request_is_refused_beside_it(self, desk: Desk):
        bodies = ["", "{", "[]", "null", '"x"', "{" * 1000, '{"amount": 1e400}', '{"amount": "5"}', "\ud800"]
        for body in (*bodies, "{}" * 9_999):
            desk.do("request", "follow", "json", body0=body)
            assert send(desk).tone == BAD
            assert field(desk, "body0").error
            assert "400 Bad Request" in text(desk, "answer")


class TestSeveralPayments:
    def test_the_one_chosen_is_looked_at_until_a_reset(self, bench: Workbench, desk: Desk):
        send(desk)
        first = bench.client.payment_intents.list()[0].id
        send(desk, amount="2.00", phone=OTHER, provider="airtel")
        for chosen, number in (("", OTHER), (first, NUMBER), ("", OTHER)):
            desk.do("payment", "follow", "choice", payment=chosen)
            assert gathered(desk).number == number
        elsewhere = bench.client.payment_intents.create(amount=5)
        bench.client.payment_intents.confirm(elsewhere.id, phone="+260961111222", provider="mtn")
        assert "masked" in text(desk, "handset")
        bench.phone("+260961111222")
        assert "Handset" in text(desk, "handset"), "a handset is known by those that were opened"
        bench.reset()
        assert (bool(desk.sections()), gathered(desk).payments) == (True, ())
        send(desk)
        assert len(gathered(desk).payments) == 1

    def test_an_older_one_tells_when_its_webhooks_are_tried_again(self, bench: Workbench, desk: Desk):
        bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/hooks")
        send(desk)
        first = gathered(desk).payment
        for order in range(30):
            bench.client.charges.create(amount=100, channel="mtn", phone="+260960000001", idempotency_key=str(order))
        desk.do("payment", "follow", payment=first.id)
        assert gathered(desk).payment == first
        assert any(", next at " in row[2] for row in cells(desk, "webhooks"))

    def test_many_payments_are_read_piece_by_piece(self, bench: Workbench, desk: Desk, monkeypatch: pytest.MonkeyPatch):
        for _ in range(10):
            send(desk, operation="charge")
        desk.sections()
        asked, trace = [], SandboxControl.trace
        with monkeypatch.context() as patched:
            patched.setattr(SandboxControl, "trace", lambda self, since=None: asked.append(since) or trace(self, since))
            desk.sections()
        assert min(since or 0 for since in asked) > 30
        assert len(gathered(desk).payments) == 10
        assert gathered(desk).rows == list(bench.trace.for_(gathered(desk).payments[0].id))


def sent_bodies(bench: Workbench) -> list[Any]:
    """With every number as it was written."""
    bodies = [row["detail"]["request"]["body"] for row in bench.trace if row["kind"] == "call"]
    return [json.loads(body, parse_float=str, parse_int=str) for body in bodies]


BY_HAND = '{"amount": 9.50, "currency": "ZMW", "payment_method_types": ["mobile_money"], "more": [1.0]}'


class TestTheCode:
    """Copied and run as it stands, it does the same."""

    @pytest.mark.parametrize(
        "values",
        [{}, {"operation": "charge"}, {"description": "a \"b\" 'c' \\ {x}\nü"}, {"amount": "7"}, {"body0": BY_HAND}],
    )
    def test_python_before_sending_and_curl_afterwards(self, bench: Workbench, desk: Desk, values: dict[str, str]):
        desk.do("request", "follow", "json" if "body0" in values else "form", **values)
        source = str(items(section(desk, "request"), Fold)[0].items[0].text)
        python, curl = (str(each.text) for each in send(desk).code)
        assert "/confirm" not in curl or gathered(desk).payment.id in python
        with Workbench(seed=SEED) as other:
            exec(source, {"bench": other})  # noqa: S102  what a person would copy
            assert sent_bodies(other) == sent_bodies(bench)
            # What is written by hand is no call of the client, which sends headers of its own.
            assert "body0" in values or list(other.trace) == list(bench.trace)
        for each in curl.split("\n\n"):
            line = each.replace("$SECRET_KEY", str(bench.secret_key)).replace("$BASE_URL", bench.base_url)
            words = shlex.split(line)
            headers = dict(word.split(": ", 1) for option, word in pairwise(words) if option == "-H")
            users = [(word[:-1], "") for option, word in pairwise(words) if option == "-u"]
            content = words[words.index("--data-raw") + 1]
            answer = bench.http.post(words[3], headers=headers, content=content, auth=users[0] if users else None)
            assert (answer.status_code, answer.headers.get("Idempotent-Replayed")) == (200, "true")

    @pytest.mark.parametrize(("key", "reason"), [("Cancel", "declined by customer"), ("Ignore", "prompt timeout")])
    def test_each_key_of_the_handset(self, bench: Workbench, desk: Desk, key: str, reason: str):
        send(desk)
        told = {each.label: each.text for each in items(section(desk, "handset"), Fold)[0].items}
        assert f"/{key.lower()}" in told[f"{key} in curl"]
        exec(told[f"{key} in Python"], {"bench": bench})  # noqa: S102  the same
        bench.clock.advance(600)
        assert reason in text(desk, "payment")
        assert desk.message == f"Not paid: {reason}."


class TestServed:
    def test_a_payment_over_http_and_the_receiver_by_its_button(self):
        with (
            Workbench(seed=SEED) as other,
            other.serve() as served,
            Workbench.connect(served.base_url, served.secret_key) as bench,
        ):
            desk = bench.desk()
            assert "Nothing here receives webhooks yet." in text(desk, "webhooks")
            assert bench.session.started is None
            assert "listens" in getattr(desk.do("webhooks", "start"), "text", "")
            assert "Nothing here receives" not in text(desk, "webhooks")
            assert re.fullmatch("desk-[0-9a-f]{8}", field(desk, "idempotency_key").value)
            assert "shows the prompt" in send(desk).text
            assert f"{bench.base_url}/v1/payment_intents" in text(desk, "request")
            bench.phone(NUMBER).enter_pin("1234")
            until = time.monotonic() + 5
            while desk.sections() and "verified" not in desk.message and time.monotonic() < until:
                time.sleep(0.05)
            assert "verified" in desk.message
        with pytest.raises(WorkbenchError):
            bench.clock.now_ms  # noqa: B018  it is closed
        assert send(desk).tone == BAD
