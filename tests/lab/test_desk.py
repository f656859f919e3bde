"""The desk without a browser: what its buttons do, what its parts make of a trace, and that it leaves a script's."""

import json
import re
import shlex
import time
from decimal import Decimal
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import pytest
from workbench.lab.board import Board, html
from workbench.lab.desk import Desk, draft, ledger
from workbench.lab.desk.gathered import Gathered, news, pretty
from workbench.lab.desk.progress_section import steps, timeline, verified_in, webhooks
from workbench.lab.desk.request_section import responses, was_replayed
from workbench.lab.sections import BoardSection, Message
from workbench.lab.views import BAD, Code, Field, Fold, Form, Grid, Item, Section, Steps, as_data

from workbench import Workbench
from workbench.control import SandboxControl
from workbench.domain.wire import LedgerAccount, Payment
from workbench.errors import WorkbenchError
from workbench.lab import views
from workbench.receiver import Arrival

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
    folds = [each for fold in items(section(desk, "request"), Fold) for each in fold.items]
    forms = [*items(section(desk, "request"), Form), *folds]
    return next(each for form in forms for each in form.fields if each.name == name)


def act(desk: Desk, message: dict[str, Any]) -> None:
    desk._act(message)  # noqa: SLF001  the widget calls it, where there is a browser


def gathered(desk: Desk) -> Gathered:
    return desk._gathered  # noqa: SLF001  what it shows is made of this


def one(desk: Desk) -> Payment:
    """The payment that is looked at."""
    payment = gathered(desk).payment
    assert payment
    return payment


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
        assert "Nothing was sent yet." in text(desk, "response")
        assert "shows the prompt" in send(desk).text
        before = list(bench.trace), bench.clock.now_ms
        for _ in range(3):
            repr(desk)
            desk._repr_mimebundle_()
        assert (list(bench.trace), bench.clock.now_ms) == before
        bench.phone(NUMBER).enter_pin("1234")
        desk.sections()
        assert desk.message == "Paid: K150.00 is booked in the ledger, and its webhook is verified."
        facts = items(section(desk, "progress"), views.Facts)[0]
        assert (dict(facts.pairs)["Amount"], dict(facts.pairs)["Status"]) == ("K150.00", "✓ succeeded")
        assert items(section(desk, "progress"), Grid)[0].rows[0].hovers == ("2026-01-05 06:00:00 UTC",)
        badges = {each.title: each.badge for each in desk.sections() if each.tab == views.ALWAYS}
        assert badges == {"Progress": "", "Response": "200", "Webhooks": "5", "Ledger": "1", "Code": ""}
        assert cells(desk, "webhooks")[-1] == (
            "payment_intent.succeeded", "08:00:00", "1 attempt, 200", "✓ verified", "✓ once",
        )  # fmt: skip
        assert "Debits equal credits: debits K151.50, credits K151.50." in text(desk, "ledger")
        assert "verified 08:00:00" in text(desk, "payment")
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
        act(desk, {"id": 3, "part": "progress", "do": "wait", "on": "10", "values": {}})
        with Workbench(seed=SEED) as other:
            pay = other.client.payment_intents
            intent = pay.create(amount=Decimal("20.00"), description="Monstera", idempotency_key=key)
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

    @pytest.mark.parametrize("choice", ["interactive", "accepted"])
    def test_a_charge_that_waits_for_its_customer(self, choice: str):
        with Workbench(seed=SEED, gaps={"charge_wait": choice}) as bench:
            desk = bench.desk()
            assert "shows the prompt" in send(desk, operation="charge", amount="20.00").text
            assert NUMBER in text(desk, "handset")
            assert [each.state for each in items(section(desk, "payment"), Steps)[0].steps] == [
                views.DONE, views.DONE, views.NOW, views.AHEAD, views.AHEAD,
            ]  # fmt: skip
            bench.phone(NUMBER).enter_pin("1234")
            desk.sections()
            assert (desk.message or "").startswith("Paid: K20.00")
            assert "verified 08:00:00" in text(desk, "payment")
            assert "no phone shows a prompt yet" in send(desk, operation="charge", phone="+260960000007").text
            desk.do("progress", "wait", "10")
            assert "not paid (payer not found)" in repr(desk)

    def test_an_operator_and_a_number_that_the_register_lets_pass(self):
        with Workbench(seed=SEED, gaps={"zed_mobile": "zed", "phone_format": "national"}) as bench:
            desk = bench.desk()
            assert ("zed", "Zed Mobile") in field(desk, "provider").options
            assert "shows the prompt" in send(desk, phone="0981234567", provider="zed").text
            assert "0981234567" in text(desk, "handset")
            bench.phone("0981234567").enter_pin("1234")
            desk.sections()
            assert (desk.message or "").startswith("Paid: K150.00")
            assert "Zed Mobile" in repr(bench.dashboard())

    def test_a_charge_in_one_call_paid_and_declined(self, desk: Desk):
        desk.do("request", "follow", "form", operation="charge")
        assert field(desk, "amount").hint == "Sent as 15000, in whole ngwee."
        assert send(desk).text.startswith("Paid: K150.00")
        assert "POST /v1/charges → 200 OK" in text(desk, "response")
        assert send(desk, phone="+260960000002").tone == BAD
        assert gathered(desk).number == "+260960000002"
        assert "insufficient funds" in text(desk, "payment")
        assert "✗ failed" in text(desk, "progress")
        assert "402 Payment Required" in text(desk, "response")
        body = {"amount": 500, "currency": "zmw", "type": "mobile_money", "channel": "airtel", "phone": OTHER}
        desk.do("request", "follow", "json", body0=json.dumps(body))
        assert send(desk).text.startswith("Paid: K5.00")
        assert gathered(desk).number == OTHER


class TestTheKey:
    def test_the_same_key_does_it_once_and_another_body_with_it_is_refused_beside_it(
        self, bench: Workbench, desk: Desk
    ):
        key = field(desk, "idempotency_key").value
        assert send(desk, "again").text == "Nothing was sent yet."
        send(desk)
        drawn = {key, field(desk, "idempotency_key").value}
        assert send(desk, "again").text == "The service returned its earlier response: nothing was done a second time."
        assert len(bench.client.payment_intents.list()) == 1
        assert "Idempotent-Replayed: true" in text(desk, "response")
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
    ({"amount": "1,5"}, "amount", "Write 1.5, with a point."),
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
        assert "403 Forbidden" in text(desk, "response")

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
        assert "no phone shows a prompt yet" in send(desk).text
        desk.do("progress", "wait", "10")
        assert "operator unavailable" in text(desk, "payment")
        bench.operator.outage("mtn", 0)
        for scenario in ("server_error", "server_error_after", "conflict", "slow"):
            bench.operator.script(NUMBER, [scenario])
            assert send(desk).text
            assert "→" in text(desk, "response")

    def test_what_is_not_there_and_a_closed_bench_are_said(self, bench: Workbench, desk: Desk):
        for part, name, on in (("request", "nothing", ""), ("nobody", "send", ""), ("progress", "wait", "x")):
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
            assert "400 Bad Request" in text(desk, "response")


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
        assert (bool(desk.sections()), gathered(desk).payments) == (True, [])
        send(desk)
        assert len(gathered(desk).payments) == 1

    def test_an_older_one_tells_when_its_webhooks_are_tried_again(self, bench: Workbench, desk: Desk):
        bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/hooks")
        send(desk)
        first = one(desk)
        for order in range(30):
            bench.client.charges.create(amount=100, channel="mtn", phone="+260960000001", idempotency_key=str(order))
        desk.do("payment", "follow", payment=first.id)
        assert one(desk) == first
        assert any(
            re.fullmatch(r"1 attempt, no answer, next at \d\d:\d\d:\d\d", row[2]) for row in cells(desk, "webhooks")
        )
        assert "refused" in text(desk, "webhooks")
        assert section(desk, "webhooks").badge.endswith(" ✗")

    def test_many_payments_are_read_piece_by_piece(self, bench: Workbench, desk: Desk, monkeypatch: pytest.MonkeyPatch):
        for _ in range(10):
            send(desk, operation="charge")
        desk.sections()
        with monkeypatch.context() as patched:
            patched.setattr(SandboxControl, "trace", Mock(side_effect=AssertionError("the whole trace is read")))
            desk.sections()
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
        source = str(items(section(desk, "code"), Code)[0].text)
        python, curl = (str(each.text) for each in send(desk).code)
        assert "/confirm" not in curl or one(desk).id in python
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
        told = {each.label: each.text for each in items(section(desk, "code"), Fold)[0].items}
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
            assert bench.started is None
            assert "listens" in getattr(desk.do("webhooks", "start"), "text", "")
            assert "Nothing here receives" not in text(desk, "webhooks")
            assert re.fullmatch("desk-[0-9a-f]{8}", field(desk, "idempotency_key").value)
            assert "shows the prompt" in send(desk).text
            assert bench.base_url in text(desk, "request")
            bench.phone(NUMBER).enter_pin("1234")
            until = time.monotonic() + 5
            while desk.sections() and "verified" not in desk.message and time.monotonic() < until:
                time.sleep(0.05)
            assert "verified" in desk.message
        with pytest.raises(WorkbenchError):
            bench.clock.now_ms  # noqa: B018  it is closed
        assert send(desk).tone == BAD


AT = "2026-01-05T06:00:00.000Z"
LATER = "2026-01-05T22:30:00.000Z"
PHONE_DETAIL = {"phone": "+26096••••567", "pressed": None, "words": ""}


def row(seq: int, kind: str, what: str, result: str, detail: dict[str, Any], at: str = AT) -> dict[str, Any]:
    row = {"seq": seq, "at": at, "kind": kind, "payment": "pi_1"}
    return {**row, "what": what, "result": result, "detail": detail}


def call(
    status: int = 200, path: str = "/v1/payment_intents", *, at: str = AT, body: str = "{}", **headers: str
) -> dict[str, Any]:
    detail = {
        "request": {"headers": {"Host": "h"}, "body": '{"amount":1.50}'},
        "response": {"status": status, "headers": {"Request-Id": "req_1", **headers}, "body": body},
    }
    return row(1, "call", f"POST {path}", str(status), detail, at)


PROMPT = "MTN / Pay / Enter PIN to approve:"


def screen(result: str = "prompt", *, pressed: str | None = None, what: str = PROMPT) -> dict[str, Any]:
    return row(2, "screen", what, result, {**PHONE_DETAIL, "pressed": pressed})


def entry(*postings: tuple[str, str, int, str], kind: str = "funds_secured") -> dict[str, Any]:
    return row(3, "entry", "received", kind, {"postings": [list(each) for each in postings]})


def webhook(event: str = "evt_1", result: str = "200", *, fault: str | None = None) -> dict[str, Any]:
    detail = {
        "event": event, "endpoint": "we_1", "delivery": f"del_{event}", "headers": {"webhook-id": event},
        "body": '{"id":"x"}', "answer": "accepted", "fault": fault,
    }  # fmt: skip
    return row(4, "webhook", "charge.succeeded", result, detail)


def arrival(verdict: str = "accepted", reason: str = "", event: str = "evt_1") -> Arrival:
    return Arrival(200, verdict, reason, f'{{"id":"{event}"}}'.encode(), {})


class TestTimeline:
    def test_moments_are_of_lusaka_and_days_are_named_where_there_are_two(self):
        one, two = timeline([call()]), timeline([call(), call(at=LATER)])
        assert (one.caption, one.rows[0].cells[0]) == ("Timeline on 2026-01-05, time in Lusaka", "08:00:00")
        assert [each.cells[0] for each in two.rows] == ["2026-01-05 08:00:00", "2026-01-06 00:30:00"]

    def test_what_happened_is_said_in_words(self):
        rows = [
            call(), call(400), call(path="/v1/payment_intents/pi_1/confirm"), call(**{"Idempotent-Replayed": "true"}),
            screen(), screen("pressed ••••", pressed="••••"), entry(), webhook(), webhook(result="no answer"),
        ]  # fmt: skip
        assert [each.cells[1:] for each in timeline(rows).rows] == [
            ("Merchant: intent created", "200"),
            ("Merchant: POST /v1/payment_intents", "400"),
            ("Merchant: intent confirmed", "200"),
            ("Merchant: intent created", "200 again"),
            ("Phone: MTN / Pay", "prompt"),
            ("Phone: MTN / Pay", "PIN ••••"),
            ("Ledger: received", "funds secured"),
            ("Webhook: charge.succeeded", "200"),
            ("Webhook: charge.succeeded", "no answer"),
        ]

    def test_steps(self):
        done, ahead = views.DONE, views.AHEAD

        def states(rows: list[dict[str, Any]], status: str, verified: dict[str, Any] | None = None) -> list[str]:
            return [each.state for each in steps(rows, status, "", verified).steps]

        assert states([], "") == [ahead] * 5
        assert states([call()], "new") == [done, ahead, ahead, ahead, ahead]
        waiting = [done, done, views.NOW, ahead, ahead]
        assert states([call(), screen()], "waiting") == waiting
        # A wrong PIN is asked for again, and so is a PIN of an intent that is confirmed again.
        for more in ([screen("pressed")], [screen("pressed cancel", what="Canceled."), screen()]):
            assert states([call(), screen(), *more], "waiting") == waiting
        paid = [call(), screen(), screen("pressed", what="Approved."), entry()]
        assert states(paid, "succeeded", webhook()) == [done] * 5
        # Of another account's webhook it is not said that it was verified.
        assert states([call()], "succeeded", webhook())[-1] == ahead
        failed = steps([call(), screen()], "failed", "prompt timeout", None)
        assert failed.steps[-1] == views.Step("not paid", views.FAILED, "prompt timeout")

    @pytest.mark.parametrize(
        ("state", "refunded_minor", "says"),
        [
            ("canceled", 0, Message("K1.50 was canceled.", views.WARN)),
            ("part_refunded", 50, Message("K0.50 of K1.50 goes back to the customer.")),
            ("refunded", 150, Message("K1.50 of K1.50 goes back to the customer.")),
            ("succeeded", 0, Message("Paid: K1.50 is booked in the ledger.")),
            ("new", 0, None),
        ],
    )
    def test_what_a_payment_comes_to_is_told(self, state: str, refunded_minor: int, says: Message | None):
        payment = Payment("pi_1", 1, 0, 150, refunded_minor, "ZMW", state, None, None, None, None, None)
        assert news(payment, is_verified=False) == says


class TestLedger:
    POSTINGS = (
        ("debit", "operator:mtn:float", 15_000, "ZMW"), ("debit", "expense:operator_fee:mtn", 150, "ZMW"),
        ("credit", "merchant:m:pending", 14_625, "ZMW"), ("credit", "income:merchant_fee", 375, "ZMW"),
        ("credit", "operator:mtn:float", 150, "ZMW"),
    )  # fmt: skip
    ACCOUNTS = (
        LedgerAccount("operator:mtn:float", 1100, "ZMW", debit_minor=30_000, credit_minor=300),
        LedgerAccount("merchant:m:pending", 2000, "ZMW", debit_minor=0, credit_minor=14_625),
    )

    def test_each_account_is_a_grid_debits_equal_credits_and_what_does_not_balance_is_said(self):
        note, beside = ledger([entry(*self.POSTINGS)], self.ACCOUNTS)
        assert note == views.Note("Debits equal credits: debits K151.50, credits K151.50.", views.GOOD)
        assert isinstance(beside, views.Beside)
        grids = {str(each.caption).split()[1]: [line.cells for line in each.rows] for each in beside.items}  # type: ignore[union-attr]  grids
        assert grids["operator:mtn:float"] == [
            ("funds secured", "K150.00", "K1.50"),
            ("balance", "K148.50", ""),
            ("of all payments", "K297.00", ""),
        ]
        assert grids["merchant:m:pending"] == [("funds secured", "", "K146.25"), ("balance", "", "K146.25")]

        # Each line is of one entry, in the order in which they were booked.
        refund = ("debit", "merchant:m:pending", 5_000, "ZMW"), ("credit", "customer:refund_pending", 5_000, "ZMW")
        _, beside = ledger([entry(*self.POSTINGS), entry(*refund, kind="refund_asked")], ())
        (pending,) = [each for each in beside.items if "merchant:m:pending" in each.caption]  # type: ignore[union-attr]  grids
        assert [line.cells for line in pending.rows] == [  # type: ignore[union-attr]  a grid
            ("funds secured", "", "K146.25"), ("refund asked", "K50.00", ""), ("balance", "", "K96.25"),
        ]  # fmt: skip

        assert ledger([call()], ()) == (views.Note("No entry yet: money is booked when the customer has paid."),)
        note, _ = ledger([entry(*self.POSTINGS[:2])], self.ACCOUNTS)
        assert note == views.Note("It does not balance: debits K151.50, credits K0.00.", views.BAD)
        note, _ = ledger([entry(*self.POSTINGS, ("debit", "operator:mtn:float", 300, "USD"))], self.ACCOUNTS)
        says = "It does not balance: debits USD 3.00, credits USD 0.00; debits K151.50, credits K151.50."
        assert note == views.Note(says, views.BAD), "each currency by itself"


class TestWebhooks:
    @pytest.mark.parametrize(
        ("arrivals", "verified", "handled"),
        [
            ([], "not received here", "no"),
            ([arrival()], "✓ verified", "✓ once"),
            ([arrival(), arrival("duplicate")], "✓ verified", "✓ once; 1 repeated"),
            ([arrival("refused", "stale")], "✗ stale", "no"),
            ([arrival("failed", "KeyError: 'x'")], "✓ verified", "✗ KeyError: 'x'"),
            ([arrival("failed", "KeyError"), arrival()], "✓ verified", "✓ once"),
            ([arrival(event="evt_2")], "not received here", "no"),
        ],
    )
    def test_what_the_receiver_made_of_it(self, arrivals: list[Arrival], verified: str, handled: str):
        assert webhooks([webhook()], arrivals, {}).rows[0].cells[3:] == (verified, handled)
        assert verified_in([webhook()], arrivals) == (webhook() if verified == "✓ verified" else None)


class TestAnswer:
    def test_the_last_call_is_open_what_was_refused_names_its_field_and_any_body_is_shown(self):
        items = responses([call(), call(400, body='{"param": "amount", "detail": "no"}')])
        assert items[0].label == "POST /v1/payment_intents → 200 OK"  # type: ignore[union-attr]  a fold
        assert items[1] == views.Note("POST /v1/payment_intents → 400 Bad Request", views.BAD)
        assert views.Note("The field is amount.", "warn") in items
        assert not was_replayed([])

        for body in ("", "no JSON", "[1]", "null", '{"param": 5}'):
            texts = [each.text for each in responses([call(500, body=body)]) if isinstance(each, views.Code)]
            assert texts[0].endswith(pretty(body))


class TestDraft:
    @pytest.mark.parametrize(
        ("typed", "unit", "amount"),
        [("150.00", 1, 15_000), ("150", 1, 15_000), ("0.5", 1, 50), ("1.500", 1, 150), ("7", 100, 7), ("7.00", 100, 7),
         ("9999999999.99", 1, 999_999_999_999), ("-1.5", 1, -150)],
    )  # fmt: skip
    def test_a_charges_amount_is_whole_and_an_intents_every_digit_that_was_typed(
        self, typed: str, unit: int, amount: int
    ):
        found = draft.amount_of({**draft.START, "operation": draft.CHARGE, "amount": typed}, unit)
        assert (type(found), found) == (int, amount)
        for text in (typed, "0.1", "12345678901234567890.123456789012345678901234567890") if "." in typed else ():
            kept = draft.amount_of({**draft.START, "amount": text}, 1)
            assert (type(kept), str(kept)) == (Decimal, text)

    def test_a_number_of_another_operator_is_told_and_none_found_where_there_is_none(self):
        assert draft.phone_hint({**draft.START, "provider": "airtel"}).startswith("This number is of MTN MoMo")
        assert draft.phone_hint(draft.START) == draft.phone_hint({**draft.START, "phone": "x"}) == ""
        bodies = ["", "[]", '{"payment_method": 5}', '{"payment_method": {"mobile_money": []}}', '{"phone": 5}']
        assert [draft.phone_of([text]) for text in bodies] == [""] * len(bodies)

    def test_json_is_laid_out_with_its_numbers_as_they_were(self):
        assert pretty('{"a":[1.50,"[x"],"b":{"c":{"d":1e2}}}') == (
            '{\n  "a": [1.50, "[x"],\n  "b": {\n    "c": {"d": 1e2}\n  }\n}'
        )


class Typed(BoardSection):
    id, title = "typed", "Typed"

    def _items(self) -> tuple[views.Item, ...]:
        fields = (
            views.Field("phone", "Number", "+260961234567"),
            views.Field("op", "Operator", "mtn", "select", (("mtn", "MTN MoMo"),)),
            views.Field("amount", "Amount", "x", error="no amount"),
            views.Field("body", "JSON", '{\n  "a": 1\n}', "area"),
        )
        slot = views.Slot("+260961234567", "Handset", (views.Code("Handset", "call +260961234567"),))
        way = views.Steps("Way", (views.Step("a", views.NOW, "b"),))
        return views.Form("f", "To fill in", fields), views.Beside((slot,)), way, views.Note("<script>")


def test_where_no_widget_runs_forms_are_tables_errors_are_said_and_numbers_masked():
    board = Board("A board", (Typed(),), lambda _: lambda: None, name="typed")
    for shown in (repr(board), str(board._repr_mimebundle_()["text/html"])):
        parts = ("+26096••••567", "1234567", "MTN MoMo", "✗ no amount", "● a (b)")
        assert [part for part in parts if part not in shown] == ["1234567"]
    assert "&lt;script&gt;" in shown
    assert 'JSON:\n{\n  "a": 1\n}' in repr(board)
    # A place without a widget is drawn as what stands for it.
    widget: Any = board.widget
    assert [each.on for each in views.slots(board.sections()[0].items)] == ["+260961234567"]
    assert (widget.view["widgets"], widget.view["name"]) == ({}, "typed")
    assert views.as_data(board.sections()) == widget.view["sections"]
    assert html("t", board.sections()).count("<h4>") == 1
