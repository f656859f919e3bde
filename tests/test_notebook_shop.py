"""The shop of your_own_backend is what people copy: its own code, told of payments in any order and more than once.

And asked for money as browsers ask, with a sandbox behind a line that loses requests and responses.
"""

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

from tests.conftest import SECRET, code_of
from workbench import PaymentsClient, Workbench
from workbench.domain.signatures import headers_for
from workbench.domain.wire.payments_and_payouts import Charge

PHONE = "+260961234567"
CUSTOMER, OTHER = "+260966010203", "+260966010204"
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
    names: dict[str, Any] = {}
    for source in code_of("your_own_backend"):
        if "Shop" not in names:
            exec(source, names)  # noqa: S102  the notebook's own code
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

    def press(self, number: int = 1, phone: str = CUSTOMER) -> int:
        """Press the button of an order; the status of the response."""
        return int(self.shop.ask(number, phone, "mtn"))

    def attempts(self) -> list[Charge]:
        """The first order's attempts at the service, the last one first."""
        recent = islice(self.bench.client.charges.each(), 10)
        return [each for each in recent if each.payment_intent == self.intent()]

    def intent(self) -> str:
        return str(self.shop.shown(1)["intent"])

    def keys(self, end: str) -> list[str]:
        return [key for path, key, _ in self.line.passed if path == end]

    def walk(self, *steps: tuple[Any, ...]) -> None:  # noqa: C901  one branch per kind of step
        """Do the steps of a table below, and see what each of them expects."""
        phone, clock = self.bench.phone(CUSTOMER), self.bench.clock
        for what, *rest in steps:
            match what, *rest:
                case "loses", end, lost, times:
                    self.line.loses = [(end, lost)] * times
                case "misbehaves", *faults:
                    self.bench.delivery_faults(*faults, endpoint=self.endpoint.id)
                case "answers", *answers:
                    self.bench.operator.script(CUSTOMER, answers)
                case "asked", *numbers_and_status:
                    *number, status = numbers_and_status
                    assert self.press(1, *number) == status
                case ("pays" | "refuses",):
                    phone.enter_pin("1234") if what == "pays" else phone.cancel()
                    clock.advance(0)
                case "waits", seconds:
                    clock.advance(seconds)
                case "settles", how:
                    self.bench.operator.settle(self.intent(), how)
                    clock.advance(60)
                case "is", *expected:
                    assert known(self.shop, 1) == (*expected,)
                case "attempts", *statuses:
                    assert [each.status for each in self.attempts()] == statuses


@pytest.fixture
def street(notebook: dict[str, Any], tmp_path: Path) -> Iterator[Street]:
    with Workbench(seed=7) as bench:
        yield Street(bench, notebook, tmp_path / "shop.sqlite")


LOST = ("loses", "confirm", "response", 1)
PAID = (("pays",), ("is", "paid", "", 0))
UNKNOWN = ("12345", "0961234567", "+260211123456", "+254712345678", "")
NO_WALLET = "+260960000007"
AGAIN = (("asked", 200), ("attempts", "pending", "failed"))
WALKS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "the price is the shop's": (("asked", 200), *PAID),
    "a number without a wallet costs no waiting time": (
        ("asked", NO_WALLET, 200), ("waits", 5), ("is", "open", "payer_not_found", 0), *AGAIN,
    ),
    "an order that was paid while its response was lost is not asked for again": (
        LOST, ("asked", 503), *PAID, ("asked", 409), ("attempts", "succeeded"),
    ),
    "an attempt that failed while its response was lost is followed by another": (
        LOST, ("asked", 503), ("refuses",), *AGAIN,
    ),
    "money of a prompt whose response was lost may still come": (
        LOST, ("asked", 503), ("waits", 420), ("is", "open", "prompt_timeout", 0), ("asked", 409), ("waits", 600),
        *AGAIN,
    ),
    "another number waits for what became of the lost call": (
        LOST, ("asked", 503), ("asked", OTHER, 409), ("refuses",), ("asked", OTHER, 200),
        ("attempts", "pending", "failed"),
    ),
    "a failure that is kept for its key ends with the waiting time": (
        ("answers", "server_error_after"), ("asked", 503), ("asked", 503), ("waits", 600), *AGAIN,
    ),
    "a second attempt is paid whatever comes first": (
        ("misbehaves", "out_of_order", "duplicate"), ("answers", "insufficient_funds", "approve"), ("asked", 200),
        ("waits", 60), ("is", "open", "insufficient_funds", 0), ("asked", 200), ("waits", 60), ("is", "paid", "", 0),
    ),
    **{
        f"late money, to {how}": (
            ("answers", "late_success"), ("asked", 200), ("waits", 420), ("is", "settle", "", PRICE), ("settles", how),
            ("is", becomes, "", 0), ("asked", 409),
        )
        for how, becomes in (("credit", "paid"), ("return", "closed"))
    },
}  # fmt: skip
"""What befalls an order of a Fern: what the shop, the customer and the service do, and what is then known."""
LONG = {
    f"the number {number!r} is refused, and costs no attempt and no time": (
        ("asked", number, 400), ("is", "open", "", 0), ("asked", number, 400), ("asked", 200), ("attempts", "pending"),
        *PAID,
    )
    for number in UNKNOWN
}  # fmt: skip


@pytest.mark.parametrize("name", [*WALKS, *(pytest.param(each, marks=pytest.mark.thorough) for each in LONG)])
def test_an_order_goes_as_it_should_whatever_befalls_it(name: str, street: Street):
    street.shop.order("Fern")
    street.walk(*{**WALKS, **LONG}[name])
    assert street.bench.client.payment_intents.retrieve(street.intent()).amount == Decimal("150.00")
    if "another" in name:
        assert len({*street.keys("confirm")}) == len(street.attempts()) == 2, "each attempt has a key of its own"
    if "another number" in name:
        assert [each.phone[-3:] for each in street.attempts()] == [OTHER[-3:], CUSTOMER[-3:]]


@pytest.mark.parametrize("lost", ["request", "response"])
@pytest.mark.parametrize("end", ["payment_intents", "confirm"])
@pytest.mark.thorough
def test_a_call_whose_response_is_lost_is_sent_again_under_its_key(end: str, lost: str, street: Street):
    earlier = street.bench.client.payment_intents.create(amount=1)
    street.shop.order("Fern")
    street.walk(("loses", end, lost, 2), ("asked", 503), ("asked", 503))
    street.restart()
    street.walk(("asked", 200))
    calls = [call for call in street.line.passed if call[0] == end]
    assert (len(calls), len({*calls})) == (3, 1)
    newest = islice(street.bench.client.payment_intents.each(), 2)
    assert [each.id for each in newest] == [street.intent(), earlier.id]
    # The kept response, and no second prompt.
    street.walk(("attempts", "pending"), ("asked", 200), ("attempts", "pending"), *PAID, ("asked", 409))


def test_a_double_click_makes_one_intent_and_one_prompt(street: Street):
    number = street.shop.order("Fern")
    with ThreadPoolExecutor() as hands:
        statuses = {*hands.map(street.press, [number] * 4)}
    assert 200 in statuses <= {200, 409}
    street.walk(("attempts", "pending"))
    assert len({*street.keys("payment_intents")}) == 1
