"""The shop of your_own_backend is what people copy: its own code, told of payments in any order and more than once.

And called as browsers call it, on a port, with a served sandbox behind a line that loses requests and responses.
"""

import base64
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from socketserver import BaseServer, ThreadingMixIn
from threading import Thread
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench import Workbench, resources
from workbench.domain import wire
from workbench.domain.signatures import headers_for

PHONE = "+260961234567"
CUSTOMER, OTHER = "+260966010203", "+260966010204"
SECRET = "whsec_" + base64.b64encode(b"the signing secret of a shop").decode()
PRICE = 15_000


class Message(NamedTuple):
    """A webhook's body and the id that it is signed under."""

    id: str
    body: bytes


class Told(NamedTuple):
    """A story of one payment: its order, the messages, and what the shop then knows."""

    number: int
    messages: list[Message]
    known: tuple[str, dict[str, int]]


@pytest.fixture(scope="module")
def notebook() -> Iterator[dict[str, Any]]:
    """The names of the notebook once its cells have run, down to the shop."""
    path = resources.course()["your_own_backend"].path
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "Shop" not in names:
            exec("".join(cell["source"]), names)  # noqa: S102  the notebook's own code
    yield names
    names["bench"].close()


class Counter:
    """The shop's door: what browsers and the service send to it, in process."""

    def __init__(self, notebook: dict[str, Any], database: Path) -> None:
        self.bench, served = notebook["bench"], notebook["served"]
        shop = notebook["Shop"](
            served.base_url, served.secret_key, database, [SECRET], now=lambda: self.bench.clock.now_ms / 1000
        )
        self.http = httpx.Client(transport=httpx.WSGITransport(shop), base_url="http://shop.localhost")

    def buy(self) -> dict[str, Any]:
        return self.http.post("/orders", json={"plant": "Fern", "phone": PHONE, "provider": "mtn"}).json()

    def known(self, number: int) -> tuple[str, dict[str, int]]:
        order = self.http.get(f"/orders/{number}").json()
        return order["status"], order["to_settle"]

    def tell(self, message: Message) -> int:
        headers = headers_for(SECRET, message.id, int(time.time()), message.body)
        return self.http.post("/webhooks", content=message.body, headers=headers).status_code


Step = tuple[str, int] | str
STORIES: dict[str, tuple[list[Step], str, dict[str, int]]] = {
    "declined, then paid": ([("insufficient_funds", 10), ("approve", 10)], "paid", {}),
    "a wrong PIN, then silence": ([("wrong_pin", 10), ("prompt_timeout", 310)], "open: prompt_timeout", {}),
    "late": ([("late_success", 420)], "settle", {"ZMW": PRICE}),
    "late, and paid by a second prompt": ([("late_success", 310), ("approve", 420)], "paid", {"ZMW": PRICE}),
    "paid and refunded in parts": ([("approve", 10), "50.00", "100.00"], "refunded", {}),
    "late, paid, and refunded in part": ([("late_success", 310), ("approve", 420), "50.00"], "paid", {"ZMW": PRICE}),
    "late, and credited": ([("late_success", 420), "credit"], "paid", {}),
    "late, and returned": ([("late_success", 420), "return"], "closed", {}),
    "late, paid, and returned": ([("late_success", 310), ("approve", 420), "return"], "paid", {}),
    "late, returned, and paid": ([("late_success", 420), "return", ("approve", 10)], "paid", {}),
    "late, paid, and credited": ([("late_success", 310), ("approve", 420), "credit"], "paid", {"ZMW": PRICE}),
}
"""Attempts from the till, by the customer's answer and the seconds until it is known, refunds, and how the service
settles late money → what is known."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all stories: a number that a second one gave out again would be another order's idempotency key."""
    return tmp_path_factory.mktemp("stories") / "shop.sqlite"


@pytest.fixture(scope="module", params=STORIES)
def told(request: pytest.FixtureRequest, notebook: dict[str, Any], database: Path) -> Told:
    steps, *known = STORIES[request.param]
    bench = notebook["bench"]
    order = Counter(notebook, database).buy()
    bench.phone(PHONE).cancel()
    before = len(bench.receiver.events)
    for step in steps:
        if step in ("credit", "return"):
            bench.operator.settle(order["intent"], step)
            bench.clock.advance(0)
        elif isinstance(step, str):
            bench.client.refunds.create(payment_intent=order["intent"], amount=Decimal(step))
            bench.clock.advance(60)
        else:
            bench.operator.script(PHONE, [step[0]])
            bench.client.payment_intents.confirm(order["intent"], phone=PHONE, provider="mtn")
            bench.clock.advance(step[1])
    bodies = [each.body for each in list(bench.receiver.arrivals) if each.verdict == "accepted"]
    messages = [Message(each.id, body) for each, body in zip(bench.receiver.events, bodies, strict=True)][before:]
    handled = {*notebook["MOVES"], "charge.failed"}
    heard = [each for each in messages if json.loads(each.body)["type"] in handled]
    return Told(order["number"], heard, tuple(known))


@given(data=st.data())
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@pytest.mark.thorough
def test_any_order_and_any_repetition_of_a_payments_events_ends_alike(
    told: Told, notebook: dict[str, Any], database: Path, tmp_path: Path, data: st.DataObject
):
    order = data.draw(st.permutations(told.messages))
    told_so = [*order, *data.draw(st.lists(st.sampled_from(told.messages), max_size=6))]
    restarts = data.draw(st.sets(st.integers(0, len(told_so) - 1), max_size=3))
    own = shutil.copy(database, tmp_path / "shop.sqlite")
    counter = Counter(notebook, own)
    for place, message in enumerate(told_so):
        if place in restarts:
            counter = Counter(notebook, own)
        assert counter.tell(message) == 200
    assert counter.known(told.number) == told.known


class Line(ThreadingHTTPServer):
    """The network between a shop and the service, which loses what it is asked to lose."""

    def __init__(self, service: str) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.service = service
        self.loses: list[tuple[str, str]] = []
        """The ends of paths, and what is lost on the next call to each: the request, the response or half of it."""
        self.passed: list[tuple[str, str, bytes]] = []
        """Calls as the shop made them: the end of the path, the idempotency key and the body."""


class Passing(BaseHTTPRequestHandler):
    """One call on a line."""

    server: Line

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        end = self.path.rpartition("/")[2]
        self.server.passed.append((end, self.headers["Idempotency-Key"], body))
        lost = next((each for each in self.server.loses if each[0] == end), (end, ""))
        if lost[1]:
            self.server.loses.remove(lost)
        if lost[1] == "request":
            return
        names = ("Authorization", "Content-Type", "Idempotency-Key")
        response = httpx.post(
            self.server.service + self.path, content=body, headers={each: self.headers[each] for each in names}
        )
        if lost[1] == "response":
            return
        self.send_response(response.status_code)
        self.send_header("Content-Length", str(len(response.content)))
        self.end_headers()
        self.wfile.write(response.content[: len(response.content) // 2 if lost[1] == "half" else None])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """No line for each call."""


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """No line for each request."""


class Threaded(ThreadingMixIn, WSGIServer):
    """Takes a webhook while a request waits for the service."""


@contextmanager
def running(server: BaseServer) -> Iterator[str]:
    """A server's address while it runs."""
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Street:
    """A served sandbox, the line to it, and a shop on a port that hears of its payments."""

    def __init__(self, bench: Workbench, notebook: dict[str, Any], line: Line, line_url: str, database: Path) -> None:
        self.bench, self.line = bench, line
        self._new_shop = lambda secrets: notebook["Shop"](
            line_url, bench.secret_key, database, secrets, now=lambda: bench.clock.now_ms / 1000
        )
        self.shop = self._new_shop([])
        self.http = httpx.Client()

    def respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """What the shop that is open now responds."""
        return self.shop(environ, start_response)

    def hear(self, url: str) -> None:
        """Open the shop's door, and register where it hears of payments."""
        self.http = httpx.Client(base_url=url, timeout=20)
        types = ["charge.failed", "charge.late_success", "charge.succeeded", "refund.succeeded"]
        types += ["suspense.credited", "suspense.returned"]
        self.endpoint = self.bench.client.webhook_endpoints.create(url=f"{url}/webhooks", enabled_events=types)
        self.restart()

    def restart(self) -> None:
        """A new process over the same database."""
        self.shop = self._new_shop([self.endpoint.secret])

    def buy(self, phone: str = CUSTOMER) -> httpx.Response:
        """What a browser sends that would like to choose the price."""
        return self.http.post("/orders", json={"plant": "Fern", "price": 0.01, "phone": phone, "provider": "mtn"})

    def press(self, number: int, phone: str = CUSTOMER) -> int:
        return self.http.post(f"/orders/{number}/pay", json={"phone": phone, "provider": "mtn"}).status_code

    def advance(self, seconds: int = 0) -> None:
        self.bench.clock.advance(seconds)

    def known(self, number: int) -> tuple[str, dict[str, int]]:
        order = self.http.get(f"/orders/{number}").json()
        return order["status"], order["to_settle"]

    def asked(self) -> list[str]:
        """The statuses of the first order's attempts at the service, the last one first."""
        return [each.status for each in self.attempts()]

    def attempts(self) -> list[wire.Charge]:
        recent = islice(self.bench.client.charges.each(), 10)
        return [each for each in recent if each.payment_intent == self.intent()]

    def intent(self) -> str:
        return str(self.http.get("/orders/1").json()["intent"])

    def newest_intents(self) -> list[str]:
        return [each.id for each in islice(self.bench.client.payment_intents.each(), 2)]

    def keys(self, end: str) -> list[str]:
        return [key for path, key, _ in self.line.passed if path == end]


@pytest.fixture
def street(served_bench: Workbench, notebook: dict[str, Any], tmp_path: Path) -> Iterator[Street]:
    line = Line(served_bench.base_url)
    with ExitStack() as open_ones:
        line_url = open_ones.enter_context(running(line))
        street = Street(served_bench, notebook, line, line_url, tmp_path / "shop.sqlite")
        server = make_server("127.0.0.1", 0, street.respond, server_class=Threaded, handler_class=Quiet)
        street.hear(open_ones.enter_context(running(server)))
        yield street
        street.http.close()
        served_bench.client.webhook_endpoints.delete(street.endpoint.id)


def test_the_price_is_the_shops_and_not_the_browsers(street: Street):
    order = street.buy().json()
    assert street.bench.client.payment_intents.retrieve(order["intent"]).amount == Decimal("150.00")
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known(order["number"]) == ("paid", {})


@pytest.mark.parametrize("number", ["12345", "0961234567", "+260211123456", "+254712345678", ""])
@pytest.mark.thorough
def test_a_number_that_is_refused_costs_no_attempt_and_no_time(number: str, street: Street):
    refused = street.buy(number)
    assert (refused.status_code, refused.json()["status"]) == (400, "open")
    assert refused.json()["error"].endswith(".")
    assert [street.press(1, number), street.press(1)] == [400, 200]
    assert street.asked() == ["pending"]
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known(1) == ("paid", {})


def test_a_number_without_a_wallet_costs_no_waiting_time(street: Street):
    assert street.buy("+260960000007").status_code == 200
    street.advance(5)
    assert street.known(1) == ("open: payer_not_found", {})
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]
    street.bench.phone(CUSTOMER).cancel()


@pytest.mark.parametrize("lost", ["request", "response", "half"])
@pytest.mark.parametrize("end", ["payment_intents", "confirm"])
@pytest.mark.thorough
def test_a_call_whose_response_is_lost_is_sent_again_under_its_key(end: str, lost: str, street: Street):
    street.line.loses = [(end, lost)] * 2
    earlier = street.bench.client.payment_intents.create(amount=1)
    bought = street.buy()
    assert (bought.status_code, bought.json()["number"]) == (503, 1)
    assert bought.json()["error"].endswith(".")
    assert street.press(1) == 503
    street.restart()
    assert street.press(1) == 200
    calls = [call for call in street.line.passed if call[0] == end]
    assert len(calls) == 3
    assert len({*calls}) == 1
    assert street.newest_intents() == [street.intent(), earlier.id]
    assert street.asked() == ["pending"]
    assert street.press(1) == 409
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known(1) == ("paid", {})
    assert street.press(1) == 409


def test_an_order_that_was_paid_while_its_response_was_lost_is_not_asked_for_again(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known(1) == ("paid", {})
    assert street.press(1) == 409
    assert street.asked() == ["succeeded"]


def test_an_attempt_that_failed_while_its_response_was_lost_is_followed_by_another(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    street.bench.phone(CUSTOMER).cancel()
    street.advance()
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]
    first, again, second = street.keys("confirm")
    assert first == again != second
    street.bench.phone(CUSTOMER).cancel()


def test_money_of_a_prompt_whose_response_was_lost_may_still_come(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    street.advance(420)
    assert street.known(1) == ("open: prompt_timeout", {})
    assert street.press(1) == 409
    street.advance(600)
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]
    street.bench.phone(CUSTOMER).cancel()


def test_another_number_waits_for_what_became_of_the_lost_call(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    assert street.press(1, OTHER) == 409
    street.bench.phone(CUSTOMER).cancel()
    street.advance()
    assert street.press(1, OTHER) == 200
    assert [each.phone[-3:] for each in street.attempts()] == [OTHER[-3:], CUSTOMER[-3:]]
    street.bench.phone(OTHER).cancel()


def test_a_failure_that_is_kept_for_its_key_ends_with_the_waiting_time(street: Street):
    street.bench.operator.script(CUSTOMER, ["server_error_after"])
    assert street.buy().status_code == 503
    assert street.press(1) == 503
    street.advance(600)
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]
    street.bench.phone(CUSTOMER).cancel()


@pytest.mark.parametrize("faults", [(), ("out_of_order", "duplicate")], ids=["in order", "out of order"])
@pytest.mark.parametrize(("how", "becomes"), [("credit", "paid"), ("return", "closed")])
def test_what_becomes_of_late_money_moves_the_order(how: str, becomes: str, faults: tuple[str, ...], street: Street):
    street.bench.delivery_faults(*faults, endpoint=street.endpoint.id)
    street.bench.operator.script(CUSTOMER, ["late_success"])
    order = street.buy().json()
    street.advance(420)
    assert street.known(1) == ("settle", {"ZMW": PRICE})
    street.bench.operator.settle(order["intent"], how)
    street.advance(60)
    assert street.known(1) == (becomes, {})
    assert street.press(1) == 409


def test_a_second_attempt_is_paid_whatever_comes_first(street: Street):
    street.bench.delivery_faults("out_of_order", "duplicate", endpoint=street.endpoint.id)
    street.bench.operator.script(CUSTOMER, ["insufficient_funds", "approve"])
    street.buy()
    street.advance(60)
    assert street.known(1) == ("open: insufficient_funds", {})
    assert street.press(1) == 200
    street.advance(60)
    assert street.known(1) == ("paid", {})


BUYER = {"phone": CUSTOMER, "provider": "mtn"}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[]", b'"Fern"', b"null", b"{}", b"[" * 100_000, BUYER, BUYER | {"plant": "Baobab"},
     BUYER | {"plant": 1}, BUYER | {"plant": ["Fern"]}, {"plant": "Fern", "provider": "mtn"},
     {"plant": "Fern", "phone": 961234567, "provider": "mtn"}],
    ids=lambda body: str(body)[:50],
)  # fmt: skip
def test_what_is_no_order_is_a_400_with_a_sentence(body: bytes | dict[str, Any], street: Street):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    refused = street.http.post("/orders", content=content)
    assert refused.status_code == 400
    assert refused.json()["error"].endswith(".")
    assert street.http.get("/orders/1").status_code == 404
    assert street.line.passed == []


def test_an_order_that_there_is_not_is_a_404(street: Street):
    assert street.press(7) == 404
    assert street.http.get("/orders/7").status_code == 404
    assert street.http.post("/orders/x/pay", content=b"{").status_code == 400
    assert street.http.get("/").status_code == 404
