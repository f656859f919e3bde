"""A receiver on a port of its own, as a merchant's backend has: how long it took, and for how long it asks."""

import email.utils
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Shop

pytestmark = pytest.mark.socket

SLOWNESS_S = 0.05
ASKED_S = 100


class Busy(BaseHTTPRequestHandler):
    """Takes its time, and asks to be left alone until a date by this machine's clock."""

    def do_POST(self) -> None:
        time.sleep(SLOWNESS_S)
        self.send_response(503)
        self.send_header("Retry-After", email.utils.formatdate(time.time() + ASKED_S, usegmt=True))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's signature
        del format, args


@pytest.fixture
def busy() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_how_long_a_receiver_took_and_when_it_asks_for_the_next_attempt_by_its_own_clock(shop: "Shop", busy: str):
    shop.post("/v1/webhook_endpoints", {"url": busy, "enabled_events": ["payment_intent.created"]})
    shop.intent()
    shop.advance()
    found = shop.read("/v1/deliveries")["data"][0]
    (attempt,) = found["attempts"]
    assert attempt["status_code"] == 503
    assert SLOWNESS_S * 1000 <= attempt["latency_ms"] < 15_000
    assert ASKED_S - 5 <= found["next_attempt_at"] - attempt["at"] <= ASKED_S + 5
    now_ms = shop.read("/sandbox/clock")["now_ms"]
    shop.advance(found["next_attempt_at"] - now_ms / 1000)
    assert len(shop.read(f"/v1/deliveries/{found['id']}")["attempts"]) == 2
