"""The shop of your_own_backend is what people copy: its own code, told of payments in any order and more than once.

And asked for money as browsers ask, with a sandbox behind a line that loses requests and responses.
"""

import base64
import json
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench import PaymentsClient, Workbench, resources
from workbench.domain.signatures import headers_for
from workbench.domain.wire.payments_and_payouts import Charge

PHONE = "+260961234567"
CUSTOMER, OTHER = "+260966010203", "+260966010204"
SECRET = "whsec_" + base64.b64encode(b"the signing secret of a shop").decode()
PRICE, HOOK = 15_000, "http://shop.localhost/webhooks"


class Message(NamedTuple):
    """A webhook's body and the id that it is signed under."""

    id: str
    body: bytes


class Told(NamedTuple):
    """A story of one payment: its order, the messages, and what the shop then knows."""

    number: int
    messages: list[Message]
    known: tuple[str, str, int]


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


def shop_of(notebook: dict[str, Any], client: PaymentsClient, database: Path) -> Any:  # noqa: ANN401  the notebook's class
    """The shop over this database, by the clock of the notebook's sandbox."""
    return notebook["Shop"](client, database, [SECRET], now=lambda: notebook["bench"].clock.now_ms / 1000)


def known(shop: Any, number: int) -> tuple[str, str, int]:  # noqa: ANN401  the notebook's class
    """The status of an order, why it is open, and the money in ngwee that it does not explain."""
    order = shop.shown(number)
    return order["status"], order["reason"] if order["status"] == "open" else "", order["to_settle"]


def tell(shop: Any, message: Message) -> int:  # noqa: ANN401  the notebook's class
    """Send a message as the service does; the status of the response."""
    return shop.receiver.receive(message.body, headers_for(SECRET, message.id, int(time.time()), message.body))


Step = tuple[str, int] | str | int
STORIES: dict[str, tuple[list[Step], str, str, int]] = {
    "declined, then paid": ([("insufficient_funds", 10), ("approve", 10)], "paid", "", 0),
    "a wrong PIN, then silence": ([("wrong_pin", 10), ("prompt_timeout", 310)], "open", "prompt_timeout", 0),
    "late": ([("late_success", 420)], "settle", "", PRICE),
    "late, and paid by a second prompt": ([("late_success", 310), ("approve", 420)], "paid", "", PRICE),
    "paid and refunded in parts": ([("approve", 10), "50.00", "100.00"], "refunded", "", 0),
    "paid and refunded in part by its charge": ([("approve", 10), 5_000], "paid", "", 0),
    "paid and refunded in parts, by intent and by charge": ([("approve", 10), "50.00", 10_000], "refunded", "", 0),
    "late, paid, and refunded in part": ([("late_success", 310), ("approve", 420), "50.00"], "paid", "", PRICE),
    "late, and credited": ([("late_success", 420), "credit"], "paid", "", 0),
    "late, and returned": ([("late_success", 420), "return"], "closed", "", 0),
    "late, paid, and returned": ([("late_success", 310), ("approve", 420), "return"], "paid", "", 0),
    "late, returned, and paid": ([("late_success", 420), "return", ("approve", 10)], "paid", "", 0),
    "late, paid, and credited": ([("late_success", 310), ("approve", 420), "credit"], "paid", "", PRICE),
}
"""Attempts from the till, by the customer's answer and the seconds until it is known, refunds by intent (kwacha) or by
charge (ngwee), and how the service settles late money → what is known."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all stories: a number that a second one gave out again would be another order's idempotency key."""
    return tmp_path_factory.mktemp("stories") / "shop.sqlite"


@pytest.fixture(scope="module", params=STORIES)
def told(request: pytest.FixtureRequest, notebook: dict[str, Any], database: Path) -> Told:
    steps, *outcome = STORIES[request.param]
    bench = notebook["bench"]
    shop = shop_of(notebook, bench.client, database)
    number = shop.order("Fern")
    assert shop.ask(number, PHONE, "mtn") == 200
    intent = shop.shown(number)["intent"]
    bench.phone(PHONE).cancel()
    before = len(bench.receiver.events)
    for step in steps:
        if step in ("credit", "return"):
            bench.operator.settle(intent, step)
            bench.clock.advance(0)
        elif isinstance(step, str):
            bench.client.refunds.create(payment_intent=intent, amount=Decimal(step))
            bench.clock.advance(60)
        elif isinstance(step, int):
            charge = next(each.id for each in bench.client.charges.list() if each.payment_intent == intent)
            bench.client.refunds.create(charge=charge, amount=step)
            bench.clock.advance(60)
        else:
            bench.operator.script(PHONE, [step[0]])
            bench.client.payment_intents.confirm(intent, phone=PHONE, provider="mtn")
            bench.clock.advance(step[1])
    bodies = [each.body for each in list(bench.receiver.arrivals) if each.verdict == "accepted"]
    messages = [Message(each.id, body) for each, body in zip(bench.receiver.events, bodies, strict=True)][before:]
    heard = [each for each in messages if json.loads(each.body)["type"] in notebook["HANDLED"]]
    return Told(number, heard, tuple(outcome))


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
    client = notebook["bench"].client
    shop = shop_of(notebook, client, own)
    for place, message in enumerate(told_so):
        if place in restarts:
            shop = shop_of(notebook, client, own)
        assert tell(shop, message) == 200
    assert known(shop, told.number) == told.known


def test_another_amount_is_settled_and_counts_once_also_after_a_restart(notebook: dict[str, Any], tmp_path: Path):
    client = notebook["bench"].client
    shop = shop_of(notebook, client, tmp_path / "shop.sqlite")
    number = shop.order("Basil")
    shop.ask(number, PHONE, "mtn")
    intent = shop.shown(number)["intent"]
    notebook["bench"].phone(PHONE).cancel()
    charge = {"id": "ch_1", "amount": PRICE - 1, "currency": "zmw", "payment_intent": intent}
    event = {"id": "evt_1", "type": "charge.succeeded", "timestamp": "", "data": {"object": charge}}
    message = Message("evt_1", json.dumps(event).encode())
    assert tell(shop, message) == 200
    assert tell(shop_of(notebook, client, tmp_path / "shop.sqlite"), message) == 200
    assert known(shop, number) == ("settle", "", PRICE - 1)


class Line(httpx.BaseTransport):
    """The network between a shop and the service, which loses what it is asked to lose."""

    def __init__(self, service: httpx.Client) -> None:
        self.service = service
        self.loses: list[tuple[str, str]] = []
        """The ends of paths, and what is lost on the next call to each: the request or the response."""
        self.passed: list[tuple[str, str, bytes]] = []
        """Calls as the shop made them: the end of the path, the idempotency key and the body."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        end = request.url.path.rpartition("/")[2]
        self.passed.append((end, request.headers["Idempotency-Key"], request.read()))
        lost = next((each for each in self.loses if each[0] == end), (end, ""))
        if lost[1]:
            self.loses.remove(lost)
        response = None if lost[1] == "request" else self.service.send(request)
        if response is None or lost[1]:
            raise httpx.RemoteProtocolError("the connection was lost", request=request)
        return httpx.Response(response.status_code, headers=response.headers, content=response.content)


class Street:
    """A sandbox, the line to it, and a shop that hears of its payments."""

    def __init__(self, bench: Workbench, notebook: dict[str, Any], database: Path) -> None:
        self.bench, self.line = bench, Line(bench.http)
        client = PaymentsClient(bench.base_url, bench.secret_key, http=httpx.Client(transport=self.line))
        self.endpoint = bench.client.webhook_endpoints.create(url=HOOK, enabled_events=notebook["HANDLED"])
        self._new_shop = lambda: notebook["Shop"](
            client, database, [self.endpoint.secret], now=lambda: bench.clock.now_ms / 1000
        )
        self.restart()
        bench.deliver_to(self, HOOK)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """What the shop that is open now responds to a message."""
        return self.shop.receiver(environ, start_response)

    def restart(self) -> None:
        """A new process over the same database."""
        self.shop = self._new_shop()

    def buy(self, phone: str = CUSTOMER) -> int:
        """An order of a Fern and its first press of the button; the status of the response."""
        return self.press(self.shop.order("Fern"), phone)

    def press(self, number: int, phone: str = CUSTOMER) -> int:
        return int(self.shop.ask(number, phone, "mtn"))

    def advance(self, seconds: int = 0) -> None:
        self.bench.clock.advance(seconds)

    def known(self, number: int = 1) -> tuple[str, str, int]:
        return known(self.shop, number)

    def asked(self) -> list[str]:
        """The statuses of the first order's attempts at the service, the last one first."""
        return [each.status for each in self.attempts()]

    def attempts(self) -> list[Charge]:
        recent = islice(self.bench.client.charges.each(), 10)
        return [each for each in recent if each.payment_intent == self.intent()]

    def intent(self) -> str:
        return str(self.shop.shown(1)["intent"])

    def newest_intents(self) -> list[str]:
        return [each.id for each in islice(self.bench.client.payment_intents.each(), 2)]

    def keys(self, end: str) -> list[str]:
        return [key for path, key, _ in self.line.passed if path == end]


@pytest.fixture
def street(notebook: dict[str, Any], tmp_path: Path) -> Iterator[Street]:
    with Workbench(seed=7) as bench:
        yield Street(bench, notebook, tmp_path / "shop.sqlite")


def test_the_price_is_the_shops(street: Street):
    assert street.buy() == 200
    assert street.bench.client.payment_intents.retrieve(street.intent()).amount == Decimal("150.00")
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known() == ("paid", "", 0)


@pytest.mark.parametrize("number", ["12345", "0961234567", "+260211123456", "+254712345678", ""])
@pytest.mark.thorough
def test_a_number_that_is_refused_costs_no_attempt_and_no_time(number: str, street: Street):
    assert street.buy(number) == 400
    assert street.known() == ("open", "", 0)
    assert [street.press(1, number), street.press(1)] == [400, 200]
    assert street.asked() == ["pending"]
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known() == ("paid", "", 0)


def test_a_number_without_a_wallet_costs_no_waiting_time(street: Street):
    assert street.buy("+260960000007") == 200
    street.advance(5)
    assert street.known() == ("open", "payer_not_found", 0)
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]


@pytest.mark.parametrize("lost", ["request", "response"])
@pytest.mark.parametrize("end", ["payment_intents", "confirm"])
@pytest.mark.thorough
def test_a_call_whose_response_is_lost_is_sent_again_under_its_key(end: str, lost: str, street: Street):
    street.line.loses = [(end, lost)] * 2
    earlier = street.bench.client.payment_intents.create(amount=1)
    assert street.buy() == 503
    assert street.press(1) == 503
    street.restart()
    assert street.press(1) == 200
    calls = [call for call in street.line.passed if call[0] == end]
    assert len(calls) == 3
    assert len({*calls}) == 1
    assert street.newest_intents() == [street.intent(), earlier.id]
    assert street.asked() == ["pending"]
    assert [street.press(1), street.asked()] == [200, ["pending"]], "the kept response, and no second prompt"
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known() == ("paid", "", 0)
    assert street.press(1) == 409


def test_a_double_click_makes_one_intent_and_one_prompt(street: Street):
    number = street.shop.order("Fern")
    with ThreadPoolExecutor() as hands:
        statuses = {*hands.map(street.press, [number] * 4)}
    assert 200 in statuses <= {200, 409}
    assert street.asked() == ["pending"]
    assert len({*street.keys("payment_intents")}) == 1


def test_an_order_that_was_paid_while_its_response_was_lost_is_not_asked_for_again(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    street.bench.phone(CUSTOMER).enter_pin("1234")
    street.advance()
    assert street.known() == ("paid", "", 0)
    assert street.press(1) == 409
    assert street.asked() == ["succeeded"]


def test_an_attempt_that_failed_while_its_response_was_lost_is_followed_by_another(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    street.bench.phone(CUSTOMER).cancel()
    street.advance()
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]
    first, second = street.keys("confirm")
    assert first != second


def test_money_of_a_prompt_whose_response_was_lost_may_still_come(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    street.advance(420)
    assert street.known() == ("open", "prompt_timeout", 0)
    assert street.press(1) == 409
    street.advance(600)
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]


def test_another_number_waits_for_what_became_of_the_lost_call(street: Street):
    street.line.loses = [("confirm", "response")]
    street.buy()
    assert street.press(1, OTHER) == 409
    street.bench.phone(CUSTOMER).cancel()
    street.advance()
    assert street.press(1, OTHER) == 200
    assert [each.phone[-3:] for each in street.attempts()] == [OTHER[-3:], CUSTOMER[-3:]]


def test_a_failure_that_is_kept_for_its_key_ends_with_the_waiting_time(street: Street):
    street.bench.operator.script(CUSTOMER, ["server_error_after"])
    assert street.buy() == 503
    assert street.press(1) == 503
    street.advance(600)
    assert street.press(1) == 200
    assert street.asked() == ["pending", "failed"]


@pytest.mark.parametrize("faults", [(), ("out_of_order", "duplicate")], ids=["in order", "out of order"])
@pytest.mark.parametrize(("how", "becomes"), [("credit", "paid"), ("return", "closed")])
def test_what_becomes_of_late_money_moves_the_order(how: str, becomes: str, faults: tuple[str, ...], street: Street):
    street.bench.delivery_faults(*faults, endpoint=street.endpoint.id)
    street.bench.operator.script(CUSTOMER, ["late_success"])
    street.buy()
    street.advance(420)
    assert street.known() == ("settle", "", PRICE)
    street.bench.operator.settle(street.intent(), how)
    street.advance(60)
    assert street.known() == (becomes, "", 0)
    assert street.press(1) == 409


def test_a_second_attempt_is_paid_whatever_comes_first(street: Street):
    street.bench.delivery_faults("out_of_order", "duplicate", endpoint=street.endpoint.id)
    street.bench.operator.script(CUSTOMER, ["insufficient_funds", "approve"])
    street.buy()
    street.advance(60)
    assert street.known() == ("open", "insufficient_funds", 0)
    assert street.press(1) == 200
    street.advance(60)
    assert street.known() == ("paid", "", 0)
