"""The parts of the desk: rows of the trace in, what is to be seen out. No sandbox, no browser."""

from decimal import Decimal
from typing import Any

import pytest

from workbench.domain.wire import Delivery, DeliveryAttempt, LedgerAccount
from workbench.lab import views
from workbench.lab.board import Board, html
from workbench.lab.desk import draft, ledger
from workbench.lab.desk.gathered import Payment, news, pretty
from workbench.lab.desk.progress_section import steps, timeline, verified_at, webhooks
from workbench.lab.desk.request_section import responses, was_replayed
from workbench.lab.sections import BoardSection, Message
from workbench.receiver import Arrival

AT = "2026-01-05T06:00:00.000Z"
LATER = "2026-01-05T22:30:00.000Z"
PHONE_DETAIL = {"phone": "+26096••••567", "pressed": None, "words": ""}


def row(seq: int, kind: str, what: str, result: str, detail: dict[str, Any], at: str = AT) -> dict[str, Any]:
    return {
        "seq": seq, "at": at, "kind": kind, "payment": "pi_1", "what": what, "result": result, "detail": detail,
    }  # fmt: skip


def call(
    status: int = 200, path: str = "/v1/payment_intents", *, at: str = AT, body: str = "{}", **headers: str
) -> dict[str, Any]:
    detail = {
        "request": {"headers": {"Host": "h"}, "body": '{"amount":1.50}'},
        "response": {"status": status, "headers": {"Request-Id": "req_1", **headers}, "body": body},
    }
    return row(1, "call", f"POST {path}", str(status), detail, at)


def screen(result: str = "prompt", *, pressed: str | None = None) -> dict[str, Any]:
    return row(2, "screen", "MTN / Pay", result, {**PHONE_DETAIL, "pressed": pressed})


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
            ("Merchant: intent created", "answered 200"),
            ("Merchant: POST /v1/payment_intents", "answered 400"),
            ("Merchant: intent confirmed", "answered 200"),
            ("Merchant: intent created", "answered 200 again"),
            ("Phone: MTN / Pay", "prompt"),
            ("Phone: MTN / Pay", "PIN ••••"),
            ("Ledger: received", "funds secured"),
            ("Webhook: charge.succeeded", "answered 200"),
            ("Webhook: charge.succeeded", "no answer"),
        ]

    def test_steps(self):
        done, ahead = views.DONE, views.AHEAD

        def states(rows: list[dict[str, Any]], status: str, verified: str = "") -> list[str]:
            return [each.state for each in steps(rows, status, "", verified).steps]

        assert states([], "") == [ahead] * 5
        assert states([call()], "requires_payment_method") == [done, ahead, ahead, ahead, ahead]
        assert states([call(), screen()], "requires_action") == [done, done, views.NOW, ahead, ahead]
        assert states([call(), screen(), screen("pressed"), entry()], "succeeded", "08:00:01") == [done] * 5
        # Of another account's webhook it is not said that it was verified.
        assert states([call()], "succeeded", "08:00:01")[-1] == ahead
        failed = steps([call(), screen()], "requires_payment_method", "prompt_timeout", "")
        assert failed.steps[-1] == views.Step("not paid", views.FAILED, "prompt timeout")
        canceled = news(Payment("pi_1", "ZMW 1.00", AT, "canceled"), is_verified=False)
        assert canceled == Message("ZMW 1.00 was canceled.", views.WARN)


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

    def test_each_account_is_a_grid_and_debits_equal_credits(self):
        note, beside = ledger([entry(*self.POSTINGS)], self.ACCOUNTS)
        assert note == views.Note("Debits equal credits: debits ZMW 151.50, credits ZMW 151.50.", views.GOOD)
        assert isinstance(beside, views.Beside)
        grids = {str(each.caption).split()[1]: [line.cells for line in each.rows] for each in beside.items}  # type: ignore[union-attr]  grids
        assert grids["operator:mtn:float"] == [
            ("funds secured", "150.00", "1.50"),
            ("balance", "148.50", ""),
            ("of all payments", "297.00", ""),
        ]
        assert grids["merchant:m:pending"] == [("funds secured", "", "146.25"), ("balance", "", "146.25")]

    def test_what_does_not_balance_is_said_and_before_any_money_when_there_is_some(self):
        assert ledger([call()], ()) == (views.Note("No entry yet: money is booked when the customer has paid."),)
        note, _ = ledger([entry(*self.POSTINGS[:2])], self.ACCOUNTS)
        assert note == views.Note("It does not balance: debits ZMW 151.50, credits ZMW 0.00.", views.BAD)


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
        assert verified_at([webhook()], arrivals) == ("08:00:00" if verified == "✓ verified" else "")

    def test_attempts_are_counted_and_the_next_one_told(self):
        attempt = DeliveryAttempt(number=1, at=0, latency_ms=0, status_code=None, fault="refused", answer="")
        delivery = Delivery("del_evt_1", "pending", "evt_1", "t", "we_1", "http://h", [attempt], 1_767_592_805)
        rows = [webhook(result="no answer", fault="connection refused"), webhook(result="no answer, attempt 2")]
        (found,) = webhooks(rows, [], {"del_evt_1": delivery}).rows
        assert found.cells[2] == "2, no answer, attempt 2, next at 08:00:05"
        assert "connection refused" in str(found.more)


class TestAnswer:
    def test_the_last_call_is_open_and_what_was_refused_names_its_field(self):
        items = responses([call(), call(400, body='{"param": "amount", "detail": "no"}')])
        assert items[0].label == "POST /v1/payment_intents → 200 OK"  # type: ignore[union-attr]  a fold
        assert items[1] == views.Note("POST /v1/payment_intents → 400 Bad Request", views.BAD)
        assert views.Note("The field is amount.", "warn") in items
        assert not was_replayed([])

    @pytest.mark.parametrize("body", ["", "no JSON", "[1]", "null", '{"param": 5}'])
    def test_any_body_is_shown(self, body: str):
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
