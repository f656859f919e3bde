"""The served sandbox, killed at random moments under load: what it answered, it keeps.

SIGKILL hits the parent and a worker in turn, one process unless there are several workers, at moments drawn from a
seed that is printed. Between two kills several clients pay. What an unanswered request did is unknown to them, as it is
to a merchant.
"""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import INTENT, Server, Serving, StoreFile, charge_of, is_true_soon, method_on
from workbench import Receiver, Workbench

CHARGING, CONFIRMING = 3, 2
"""How many clients charge, and how many take the three steps of an intent."""
PAUSE_S, LOAD_S = 0.015, (0.05, 0.6)
"""Between two payments of a client, so that deliveries keep up, and before the next kill."""
GONE_S, DELIVERED_S = 15, 60


class Order(NamedTuple):
    """One charge that a client wants, whatever it takes: the key stays the same."""

    key: str
    amount: int
    phone: str

    def sent(self, http: httpx.Client, secret_key: str) -> httpx.Response:
        body = charge_of(self.phone, self.amount)
        return http.post("/v1/charges", json=body, headers={"Idempotency-Key": self.key}, auth=(secret_key, ""))


class Step(NamedTuple):
    """What a client last heard of an intent, and whether a later request stayed unanswered."""

    status: str
    unsure: bool


@dataclass
class Load:
    """Clients that pay until told to stop, and what they were told."""

    base_url: str
    secret_key: str
    new_number: Callable[[], str]
    answered: dict[Order, dict[str, Any]] = field(default_factory=dict)
    unanswered: list[Order] = field(default_factory=list)
    intents: dict[str, Step] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    """Answers that were no 2xx: there are none."""
    up: threading.Event = field(default_factory=threading.Event)
    """Whether a server is there; who was not answered waits for the next one."""
    over: threading.Event = field(default_factory=threading.Event)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @contextmanager
    def running(self) -> Iterator[None]:
        """All clients at work while the block runs."""
        work = [self._charge] * CHARGING + [self._pay_intent] * CONFIRMING
        with ThreadPoolExecutor(len(work)) as pool:
            clients = [pool.submit(self._repeat, each) for each in work]
            try:
                yield
            finally:
                self.over.set()
                self.up.set()
        assert not [each.exception() for each in clients if each.exception()]

    def client(self) -> httpx.Client:
        bearer = {"Authorization": f"Bearer {self.secret_key}"}
        return httpx.Client(base_url=self.base_url, timeout=10, trust_env=False, headers=bearer)

    def _repeat(self, pay: Callable[[httpx.Client, int], None]) -> None:
        with self.client() as http:
            while self.up.wait() and not self.over.wait(PAUSE_S):
                pay(http, next(self._numbers))

    def _charge(self, http: httpx.Client, number: int) -> None:
        order = Order(f"order-{number}", 100 + number, self.new_number())
        answer = self._ask(lambda: order.sent(http, self.secret_key))
        if answer is None:
            self.unanswered.append(order)
        else:
            self.answered[order] = answer

    def _pay_intent(self, http: httpx.Client, number: int) -> None:
        phone = self.new_number()
        wanted = {**INTENT, "amount": number}
        if (made := self._ask(lambda: http.post("/v1/payment_intents", json=wanted))) is None:
            return
        status, approved = made["status"], None
        path = f"/v1/payment_intents/{made['id']}/confirm"
        if confirmed := self._ask(lambda: http.post(path, json=method_on(phone))):
            status = confirmed["status"]
            approved = self._ask(lambda: http.post(f"/sandbox/phones/{phone}/input", json={"text": "1234"}))
        self.intents[made["id"]] = Step("succeeded" if approved else status, unsure=approved is None)

    def _ask(self, send: Callable[[], httpx.Response]) -> dict[str, Any] | None:
        """The body of a 2xx; None when no answer came."""
        try:
            answer = send()
        except httpx.TransportError:
            return None
        if not answer.is_success:
            self.refused.append(f"{answer.status_code} {answer.text}")
            return None
        return answer.json()


def kill(server: Server, victim: str, up: threading.Event) -> None:
    """SIGKILL, and wait until the other processes have found out: the port and the store are free then."""
    family = server.workers
    (server.process if victim == "parent" else family[-1]).kill()
    up.clear()
    server.process.wait(GONE_S)
    assert is_true_soon(lambda: not any(map(server.is_alive, family)), GONE_S), (
        f"after the {victim} was killed, a worker ran on"
    )


@pytest.mark.thorough
def test_what_was_answered_is_kept_and_nothing_happens_twice(
    pytestconfig: pytest.Config, serving: Serving, store: StoreFile, new_number: Callable[[], str]
):
    kills, chosen = pytestconfig.getoption("--kills"), pytestconfig.getoption("--seed")
    seed = random.SystemRandom().randrange(1 << 32) if chosen is None else chosen
    print(f"seed {seed}: see this run again with --seed {seed}")  # noqa: T201  what a failure is repeated with
    draws = random.Random(seed)  # noqa: S311  moments, no secrets
    receiver = Receiver()
    workers = pytestconfig.getoption("--workers")
    options = ["--json", "--workers", str(workers), "--store", str(store.path), "--port"]
    with receiver.listen() as url:
        with serving(*options, "0") as server:
            address = server.address
            with Workbench.connect(**address) as bench:
                receiver.secrets.append(bench.client.webhook_endpoints.create(url=url).secret)
        load = Load(address["base_url"], address["secret_key"], new_number)
        port = str(urlsplit(address["base_url"]).port)
        began = time.monotonic()
        with load.running():
            for number in range(kills):
                with serving(*options, port) as server:
                    load.up.set()
                    time.sleep(draws.uniform(*LOAD_S))
                    kill(server, "worker" if number % 2 else "parent", load.up)
        took_s = time.monotonic() - began
        with serving(*options, port), load.client() as http:
            check_answers(load, http)
            check_books(load, http, store)
            check_deliveries(http, store, receiver)
        assert store.is_whole()
    print(  # noqa: T201  the figures of the proof
        f"{kills} kills, {workers} workers, in {took_s:.0f} s: {len(load.answered)} charges answered, "
        f"{len(load.unanswered)} not, {len(load.intents)} intents, {len(receiver.events)} events "
        f"in {len(receiver.arrivals)} messages"
    )


def check_answers(load: Load, http: httpx.Client) -> None:
    """What was answered is there as it was answered; what was not is made once, however often it is repeated."""
    assert load.refused == []
    assert load.answered
    assert load.unanswered
    for charge in load.answered.values():
        assert http.get(f"/v1/charges/{charge['id']}").json() == charge
    for intent_id, step in load.intents.items():
        status = http.get(f"/v1/payment_intents/{intent_id}").json()["status"]
        assert status == step.status or step.unsure, f"{intent_id} was {step.status} and is {status}"
    for order in load.unanswered:
        first, again = (order.sent(http, load.secret_key) for _ in range(2))
        assert (first.status_code, first.json()["status"]) == (200, "succeeded")
        assert again.json() == first.json()
        load.answered[order] = first.json()
    # Also those that were answered: repeated after all the kills, they are replays.
    for order, charge in load.answered.items():
        again = order.sent(http, load.secret_key)
        assert (again.headers["Idempotent-Replayed"], again.json()) == ("true", charge)


def check_books(load: Load, http: httpx.Client, store: StoreFile) -> None:
    """One entry for each payment that succeeded, none for another; the chain holds; debits equal credits."""
    secured = Counter(payment for (payment,) in store.rows("SELECT payment FROM entry WHERE kind = 'funds_secured'"))
    charges = {charge["id"] for charge in load.answered.values()}
    assert len(charges) == len(load.answered)
    paid = {intent for (intent,) in store.rows("SELECT id FROM payment_intent WHERE status = 'succeeded'")}
    assert secured == Counter(charges | paid)
    assert {intent for intent, step in load.intents.items() if step.status == "succeeded"} <= paid
    # Each order has its own amount: a charge made twice under two keys would show here.
    amounts = Counter(order.amount for order in load.answered)
    stored = store.rows("SELECT amount_minor, count(*) FROM charge WHERE payment_intent IS NULL GROUP BY amount_minor")
    assert dict(stored) == amounts
    verified = http.get("/sandbox/ledger/verify", timeout=60).json()
    assert (verified["holds"], verified["entries"]) == (True, secured.total()), verified
    sums = http.get("/sandbox/ledger/accounts").json()["data"]
    assert sum(row["debit_minor"] for row in sums) == sum(row["credit_minor"] for row in sums) > 0


def check_deliveries(http: httpx.Client, store: StoreFile, receiver: Receiver) -> None:
    """Every event reached the receiver, which verified and took it."""
    waiting = "SELECT count(*) FROM delivery WHERE status = 'pending'"
    due = f"{waiting} AND attempts = 0"
    assert is_true_soon(lambda: store.rows(due) == [(0,)], DELIVERED_S)
    if store.rows(waiting) != [(0,)]:
        # An attempt that failed is repeated after its wait, which a sandbox does not sit out.
        http.post("/sandbox/clock/advance", json={"seconds": 86_400}, timeout=60).raise_for_status()
    assert store.rows("SELECT DISTINCT status FROM delivery") == [("delivered",)]
    events = {event for (event,) in store.rows("SELECT id FROM event")}
    assert {event.id for event in receiver.events} == events
    assert len(receiver.events) == len(events)
