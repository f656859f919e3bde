"""What a row of the trace holds, read back from what travelled."""

import json

import pytest

from workbench.domain import wire
from workbench.domain.wire import trace

REQUEST = trace.TracedRequest({"Host": "shop"}, "{}")
POSTING = trace.TracedPosting("debit", "operator:mtn:float", 15000, "ZMW")


@pytest.mark.parametrize(
    ("read", "held"),
    [
        (trace.call_of, trace.TracedCall(REQUEST, trace.TracedResponse(200, {}, "{}"), "POST /v1/charges")),
        (trace.screen_of, trace.TracedScreen("+26096••••567", None, "Pay")),
        (trace.entry_of, trace.TracedEntry([POSTING])),
        (trace.webhook_of, trace.TracedWebhook("evt_1", "we_1", "del_1", {}, "{}", None, "timeout")),
    ],
    ids=trace.KINDS,
)
def test_a_row_holds_what_was_written(read, held):  # noqa: ANN001  one of four functions, and its struct
    row = trace.TraceRow(1, "2026-01-05T06:00:00.000Z", "call", None, "what", "result", held)
    assert read(json.loads(wire.to_json(row))) == held
