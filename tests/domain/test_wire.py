"""The structs on the wire: what travels, what does not, and what a row of the trace holds, read back from it."""

import json
from collections.abc import Iterator

import msgspec
import pytest

from workbench.domain.masking import Secret
from workbench.domain.wire import ledger_and_trace as rows
from workbench.domain.wire.base import SECRETS, View, secret_text, to_json, without_once
from workbench.domain.wire.keys_and_events import ApiKey, TokenRequest, WebhookEndpoint
from workbench.domain.wire.payments_and_payouts import PaymentIntent


def test_what_is_no_json_is_not_written_as_if_it_were_and_a_secret_travels_as_its_text():
    for write in (secret_text, lambda value: to_json({"amount": value})):
        with pytest.raises(NotImplementedError, match="complex"):
            write(1j)
    assert msgspec.json.decode(to_json({"secret": Secret("told")})) == {"secret": "told"}


def views(of: type[View]) -> Iterator[type[View]]:
    for each in of.__subclasses__():
        yield each
        yield from views(each)


def test_every_view_with_a_field_for_a_secret_hides_it():
    held = [each for each in views(View) if {*each.__struct_fields__} & {*SECRETS}]
    assert {"PaymentIntent", "ApiKey", "NewAccountKeys", "TokenRequest"} <= {each.__name__ for each in held}
    for view in held:
        secret = dict.fromkeys({*view.__struct_fields__} & {*SECRETS}, "tulip-season")
        assert "tulip-season" not in repr(view(**dict.fromkeys(view.__struct_fields__) | secret)), view
    request = TokenRequest(email="shop@example.com", password="tulip-season")
    assert "tulip-season" not in repr(request)
    assert json.loads(to_json(request))["password"] == "tulip-season"


def test_a_repr_tells_what_says_something_and_what_is_shown_once_can_be_left_out():
    intent = PaymentIntent("pi_1", status="succeeded", description=None, metadata={}, warnings=[])
    assert repr(intent) == "PaymentIntent(id='pi_1', object='payment_intent', status='succeeded', livemode=False)"
    assert "096••••567" in repr(PaymentIntent("pi_1", description="for 0961234567"))
    key = ApiKey("key_1", "secret", "active", "sk_test_••••", value="sk_test_1")
    endpoint = WebhookEndpoint("we_1", "http://localhost", ["*"], "enabled", secret="whsec_1")
    for shown in (key, endpoint):
        assert {"value", "secret"} & {*msgspec.to_builtins(shown, enc_hook=secret_text)}
        assert not {"value", "secret"} & {*msgspec.to_builtins(without_once(shown))}
    assert without_once(intent) is intent


def test_a_row_of_the_trace_holds_what_was_written():
    request, response = rows.TracedRequest({"Host": "shop"}, "{}"), rows.TracedResponse(200, {}, "{}")
    posting = rows.TracedPosting("debit", "operator:mtn:float", 15000, "ZMW")
    for read, held in (
        (rows.call_of, rows.TracedCall(request, response, "POST /v1/charges")),
        (rows.screen_of, rows.TracedScreen("+26096••••567", None, "Pay")),
        (rows.entry_of, rows.TracedEntry([posting])),
        (rows.webhook_of, rows.TracedWebhook("evt_1", "we_1", "del_1", {}, "{}", None, "timeout")),
    ):
        row = rows.TraceRow(1, "2026-01-05T06:00:00.000Z", "call", None, "what", "result", held)
        assert read(json.loads(to_json(row))) == held
