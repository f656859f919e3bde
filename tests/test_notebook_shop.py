"""The shop of your_own_backend is what people copy: its own code, told of payments in any order and more than once."""

import base64
import json
import shutil
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench import resources
from workbench.domain.signatures import headers_for

PHONE = "+260961234567"
SECRET = "whsec_" + base64.b64encode(b"the signing secret of a shop").decode()
HANDLED = {"charge.succeeded", "charge.failed", "charge.late_success", "refund.succeeded"}
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
        body = f'{{"plant": "Fern", "price": 150.00, "phone": "{PHONE}", "provider": "mtn"}}'
        return self.http.post("/orders", content=body).json()

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
}
"""Attempts from the till, by the customer's answer and the seconds until it is known, and refunds → what is known."""


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
        if isinstance(step, str):
            bench.client.refunds.create(payment_intent=order["intent"], amount=Decimal(step))
            bench.clock.advance(60)
        else:
            bench.operator.script(PHONE, [step[0]])
            bench.client.payment_intents.confirm(order["intent"], phone=PHONE, provider="mtn")
            bench.clock.advance(step[1])
    bodies = [each.body for each in list(bench.receiver.arrivals) if each.verdict == "accepted"]
    messages = [Message(each.id, body) for each, body in zip(bench.receiver.events, bodies, strict=True)][before:]
    heard = [each for each in messages if json.loads(each.body)["type"] in HANDLED]
    return Told(order["number"], heard, tuple(known))


@given(data=st.data())
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
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
