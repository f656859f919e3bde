"""What a row of the trace holds, read back from what travelled."""

import json

import pytest

from workbench.domain import wire
from workbench.domain.wire import trace_rows

REQUEST = trace_rows.TracedRequest({"Host": "shop"}, "{}")
POSTING = trace_rows.TracedPosting("debit", "operator:mtn:float", 15000, "ZMW")


@pytest.mark.parametrize(
    ("read", "held"),
    [
        (
            trace_rows.call_of,
            trace_rows.TracedCall(REQUEST, trace_rows.TracedResponse(200, {}, "{}"), "POST /v1/charges"),
        ),
        (trace_rows.screen_of, trace_rows.TracedScreen("+26096••••567", None, "Pay")),
        (trace_rows.entry_of, trace_rows.TracedEntry([POSTING])),
        (trace_rows.webhook_of, trace_rows.TracedWebhook("evt_1", "we_1", "del_1", {}, "{}", None, "timeout")),
    ],
    ids=trace_rows.KINDS,
)
def test_a_row_holds_what_was_written(read, held):  # noqa: ANN001  one of four functions, and its struct
    row = trace_rows.TraceRow(1, "2026-01-05T06:00:00.000Z", "call", None, "what", "result", held)
    assert read(json.loads(wire.to_json(row))) == held
