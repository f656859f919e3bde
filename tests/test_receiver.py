"""The receiver as a merchant takes it home: four files and the standard library."""

import io
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

import workbench
from tests.conftest import SECRET
from workbench import Receiver, Workbench
from workbench.domain.signatures import headers_for
from workbench.merchant.receiver import MAX_BODY_BYTES, Event

NOW_S = 1_767_592_800
PACKAGE = Path(workbench.__file__).parent
TAKEN = ("merchant/receiver.py", "errors.py", "visible.py", "domain/signatures.py")
BACKEND = """
import base64, json, sys, time
sys.path.insert(0, sys.argv[1])
from workbench.domain.signatures import headers_for
from workbench.merchant.receiver import Receiver

secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
receiver, shipped = Receiver([secret]), []

@receiver.on("charge.*")
def ship(event):
    shipped.append(event.data.object["amount"])

event = {"id": "evt_1", "type": "charge.succeeded", "timestamp": "", "data": {"object": {"amount": 5}}}
body = json.dumps(event).encode()
headers = headers_for(secret, "evt_1", int(time.time()), body)
print([receiver.receive(each, headers) for each in (body, body, body + b" ")], shipped)
"""


def test_four_files_and_the_standard_library_are_a_webhook_endpoint(tmp_path: Path):
    for name in TAKEN:
        there = tmp_path / "workbench" / name
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, there)
    # -I and -S: no site-packages, no environment, nothing but what was copied.
    done = subprocess.run(  # noqa: S603  this test's own script
        [sys.executable, "-I", "-S", "-c", BACKEND, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[200, 200, 400] [5]\n", "")


def event(kind: str = "charge.succeeded") -> bytes:
    told = {"id": "evt_1", "type": kind, "timestamp": "2026-01-05T06:00:00.000Z", "data": {"object": {"id": "ch_1"}}}
    return json.dumps(told).encode()


HUGE = event().replace(b'"ch_1"', b"1e9999999999999999999")
"""An amount that no Decimal holds."""


def signed(body: bytes, event_id: str = "evt_1", at_s: int = NOW_S) -> dict[str, str]:
    return headers_for(SECRET, event_id, at_s, body)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver([SECRET], now=lambda: NOW_S)


def test_it_shows_what_came_and_what_it_made_of_it(receiver: Receiver):
    assert repr(receiver.events).splitlines()[1:] == ["(none yet)"]
    failed = []

    @receiver.on("refund.*")
    def fail_once(told: Event) -> None:
        failed.append(told)
        if len(failed) == 1:
            raise ValueError(told.id)

    refund = event("refund.created")
    headers = signed(event())
    assert [receiver.receive(event(), headers) for _ in range(2)] == [200, 200]
    assert receiver.receive(event(), signed(event() + b" ")) == 400
    assert receiver.receive(refund, signed(refund, "evt_2")) == 500
    assert repr(receiver) == "Receiver(1 accepted, 1 duplicate, 1 refused, 1 failed)"
    assert repr(receiver.events).splitlines()[1:] == ["2026-01-05T06:00:00.000Z  charge.succeeded  ch_1"]
    assert isinstance(receiver.arrivals[-1].error, ValueError)
    assert receiver.receive(refund, signed(refund, "evt_2")) == 200, "what failed is handled when it comes again"
    assert len(receiver.events) == len(failed) == 2
    head, _, body = receiver.arrivals[0].raw.partition("\n\n")
    assert dict(line.split(": ", 1) for line in head.split("\n")) == headers, "as it came over the wire"
    assert body.encode() == event()


def numbered(number: int) -> tuple[bytes, dict[str, str]]:
    """The message of an event whose id has this number."""
    body = event().replace(b"evt_1", b"evt_%d" % number)
    return body, signed(body, f"evt_{number}")


def test_it_keeps_the_newest_events_says_so_and_knows_the_dropped_ones_as_duplicates(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.merchant.receiver.MAX_EVENTS", 3)
    receiver = Receiver([SECRET], now=lambda: NOW_S)
    handled = []
    receiver.on("*")(handled.append)
    for number in range(3):
        receiver.receive(*numbered(number))
    assert (len(receiver.events), receiver.events.dropped) == (3, 0)
    assert "dropped" not in repr(receiver.events)
    for number in (*range(3, 5), 0, 1):
        receiver.receive(*numbered(number))
    assert [each.id for each in receiver.events] == ["evt_2", "evt_3", "evt_4"]
    first, *rows = str(receiver.events).splitlines()
    assert first == "Webhooks received, each signature verified (2 older ones were dropped):"
    assert len(rows) == 3
    assert [each.verdict for each in receiver.arrivals][-2:] == ["duplicate", "duplicate"], "of a dropped one too"
    assert len(handled) == 5


def test_a_message_that_is_not_genuine_or_not_of_now_is_refused_with_the_reason(receiver: Receiver):
    good = signed(event())
    for reason, body, headers in (
        ("header_missing", event(), {}),
        ("body_reserialised", json.dumps(json.loads(event()), indent=1).encode(), good),
        ("signature_mismatch", event("charge.failed"), good),
        ("body_not_an_event", b"[]", signed(b"[]")),
        ("body_not_an_event", HUGE, signed(HUGE)),
    ):
        assert (receiver.receive(body, headers), receiver.arrivals[-1].reason) == (400, reason)
    assert [receiver.receive(event(), signed(event(), at_s=NOW_S + away_s)) for away_s in (301, 300)] == [400, 200]


def test_it_verifies_by_the_scheme_that_it_is_told_and_there_is_no_other():
    by_stripe = Receiver("any text", now=lambda: NOW_S, scheme="stripe")
    headers = headers_for("any text", "", NOW_S, event(), scheme="stripe")
    assert [by_stripe.receive(event(), headers) for _ in range(2)] == [200, 200]
    assert by_stripe.arrivals[-1][1:3] == ("duplicate", "evt_1"), "by the id in the body"
    assert by_stripe.receive(event(), signed(event())) == 400
    with pytest.raises(ValueError, match="'standard_webhooks' or 'stripe' or 'github', not 'hmac'"):
        Receiver(scheme="hmac")


def test_on_a_port_headers_come_in_any_case_and_the_port_is_given_back(receiver: Receiver):
    with receiver.listen() as url:
        for case in (str.title, str.upper, str.lower):
            headers = {case(name): value for name, value in signed(event(), f"evt_{case.__name__}").items()}
            assert httpx.post(url, content=event(), headers=headers, trust_env=False).text == "accepted"
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_handler_takes_a_type_a_family_or_all_and_a_cell_that_is_run_twice_handles_once(receiver: Receiver):
    called: list[str] = []

    def noting(name: str) -> Callable[[Event], None]:
        def handle(_: Event) -> None:
            called.append(name)

        handle.__qualname__ = name  # one of the same name replaces one
        return handle

    for name, *types in 2 * [("note", "*"), ("count", "charge.*"), ("ship", "charge.succeeded", "charge.*", "*"),
                             ("regret", "charge.failed", "payment_intent.*")]:  # fmt: skip
        receiver.on(*types)(noting(name))
    receiver.receive(event(), signed(event()))
    assert called == ["ship", "count", "note"], "the type itself first, then its family, then all"


def test_a_handler_gets_amounts_as_they_were_written(receiver: Receiver):
    got: list[object] = []
    receiver.on("charge.succeeded")(lambda told: got.append(told.data.object["id"]))
    body = event().replace(b'"ch_1"', b"150.10")
    assert receiver.receive(body, signed(body)) == 200
    assert (got, type(got[0])) == ([Decimal("150.10")], Decimal)


def test_types_are_named_and_of_their_form_and_with_a_list_of_types_one_of_it(receiver: Receiver):
    async def nobody_would_await(_: Event) -> None: ...

    with pytest.raises(TypeError, match="async"):
        receiver.on("charge.succeeded")(nobody_would_await)
    for names in ((), (print,), (None,), ("charge.*", 5)):
        with pytest.raises(TypeError, match=r'name the types to handle: @receiver.on\("charge.succeeded"\)'):
            receiver.on(*names)
    for name in ("charge.succeeded", "charge.*", "*", "invoice.paid"):
        assert receiver.on(name)(print) is print
    for name in ("", "charge", "charge.", ".*", "charge.succeeded ", "Charge.succeeded", "**"):
        with pytest.raises(ValueError, match="no event is named"):
            receiver.on(name)
    listed = Receiver([SECRET], types=["charge.succeeded", "refund.failed"])
    for name in ("charge.succeded", "invoice.paid", "invoice.*"):
        with pytest.raises(ValueError, match=re.escape(name)):
            listed.on("charge.*", name)
    assert listed.on("refund.*", "charge.succeeded", "*")(print) is print


def test_only_a_post_is_answered_its_body_read_by_the_length_that_is_told_or_in_chunks_to_the_limit(receiver: Receiver):
    def called(body: bytes, **environ: object) -> int:
        came: list[tuple[str, list[tuple[str, str]]]] = []
        asked = {"REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(body), **environ}
        receiver(asked, lambda *response: came.append(response))
        ((status, headers),) = came
        assert (("Allow", "POST") in headers) == status.startswith("405")
        return int(status[:3])

    assert called(b"", REQUEST_METHOD="GET") == 405
    assert not receiver.arrivals
    # Without a length and chunks there is no body.
    for length, status in (
        (None, 400), ("", 400), ("1", 400), (str(MAX_BODY_BYTES), 400), (str(MAX_BODY_BYTES + 1), 413),
        ("many", 413), ("-1", 413), ("9" * 5_000, 413),
    ):  # fmt: skip
        assert called(b"{}", **({} if length is None else {"CONTENT_LENGTH": length})) == status, length
    chunked = {"wsgi.input_terminated": True}
    for more, status in ((0, 400), (1, 413)):
        assert called(b" " * (MAX_BODY_BYTES + more), **chunked) == status
    headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in signed(event()).items()}
    assert called(event(), **chunked, **headers) == 200


def test_a_message_is_signed_by_the_clock_that_its_receiver_checks_by():
    """In process that is the sandbox's, on a port this machine's, however far the two are apart."""
    on_a_port = Receiver()
    with Workbench(seed=7) as bench, on_a_port.listen() as url:
        on_a_port.secrets.append(bench.client.webhook_endpoints.create(url=url).secret)
        bench.clock.advance(days=400)
        bench.client.payment_intents.create(amount=1)
        bench.clock.advance(0)
        stamps = [int(each.arrivals[-1].headers["webhook-timestamp"]) for each in (bench.receiver, on_a_port)]
        within, over_a_port = stamps
        assert within == bench.clock.now_ms // 1000
        assert abs(over_a_port - time.time()) < 60
        assert abs(over_a_port - within) > 300, "each would be stale by the other's clock"
        assert on_a_port.events[-1] == bench.receiver.events[-1], "what is told is the sandbox's time in both"
        assert {each.verdict for each in on_a_port.arrivals} == {"accepted"}
