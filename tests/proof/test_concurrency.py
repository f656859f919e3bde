"""Many callers at one moment: one idempotency key is one charge, through every door of one store file."""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import httpx
import pytest

from tests.conftest import Serving, StoreFile, charge_of
from workbench import Workbench

CALLERS = 64


class Door(NamedTuple):
    """The ways to one sandbox; callers spread over its clients."""

    clients: Sequence[httpx.Client]
    secret_key: str

    def at_once(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[httpx.Response]:
        """Each (idempotency key, body) by a thread of its own, all let go in the same moment."""
        start = threading.Barrier(len(requests))

        def charge(client: httpx.Client, key: str, body: dict[str, Any]) -> httpx.Response:
            start.wait()
            return client.post(
                "/v1/charges", json=body, headers={"Idempotency-Key": key}, auth=(self.secret_key, ""), timeout=60
            )

        with ThreadPoolExecutor(len(requests)) as threads:
            asked = [
                threads.submit(charge, client, key, body)
                for client, (key, body) in zip(itertools.cycle(self.clients), requests, strict=False)
            ]
            return [each.result() for each in asked]

    def get(self, path: str) -> Any:  # noqa: ANN401  whatever JSON it is
        return self.clients[0].get(path, headers={"Authorization": f"Bearer {self.secret_key}"}, timeout=60).json()


@contextmanager
def opened(serving: Serving, store: StoreFile, workers: int) -> Iterator[Door]:
    """A sandbox in this process for no worker, else so many worker processes that serve one file at one port."""
    if not workers:
        with Workbench(seed=7, store=store.path) as bench:
            yield Door([bench.http], str(bench.secret_key))
        return
    options = ["--port", "0", "--json", "--store", str(store.path), "--workers", str(workers)]
    with serving(*options) as server, ExitStack() as stack:
        # A client for each caller: one connection stays with one worker. Certificates are read once for all of them.
        alike = {"base_url": server.address["base_url"], "trust_env": False, "verify": httpx.create_ssl_context()}
        clients = [stack.enter_context(httpx.Client(**alike)) for _ in range(CALLERS)]
        yield Door(clients, server.address["secret_key"])


@pytest.fixture(params=[0, 4], ids=lambda count: f"{count} workers")
def door(request: pytest.FixtureRequest, serving: Serving, store: StoreFile) -> Iterator[Door]:
    """After every test the chain holds, debits equal credits, and the file is whole."""
    with opened(serving, store, request.param) as door:
        yield door
        verified = door.get("/sandbox/ledger/verify")
        sums = door.get("/sandbox/ledger/accounts")["data"]
    assert verified["holds"], verified
    assert sum(row["debit_minor"] for row in sums) == sum(row["credit_minor"] for row in sums) > 0
    assert store.is_whole()


def entries(door: Door) -> list[tuple[int, str, str]]:
    return [(row["number"], row["kind"], row["payment"]) for row in door.get("/sandbox/ledger/entries")["data"]]


@pytest.mark.thorough
def test_a_key_is_one_charge_and_many_keys_are_as_many(door: Door, store: StoreFile, new_number: Callable[[], str]):
    phone = new_number()
    one = one_body(door, phone)
    assert entries(door) == [(1, "funds_secured", one)]
    assert store.rows("SELECT count(*) FROM charge") == [(1,)]

    other, amount = many_bodies(door, phone)
    assert entries(door) == [(1, "funds_secured", one), (2, "funds_secured", other)]
    assert store.rows("SELECT id, amount_minor FROM charge ORDER BY rowid") == [(one, 10_000), (other, amount)]

    charges = many_keys(door, store, new_number)
    assert [number for number, *_ in entries(door)] == list(range(1, CALLERS + 3))
    assert {payment for *_, payment in entries(door)} == {one, other, *charges}
    # No two rows of any table took the same place in the order of all that happened.
    tables = ("charge", "event", "call", "ussd_session", "screen", "hold", "entry", "attempt", "delivery")
    seqs = [seq for table in tables for (seq,) in store.rows(f"SELECT seq FROM {table}")]  # noqa: S608  names above
    assert len(set(seqs)) == len(seqs)


def one_body(door: Door, phone: str) -> str:
    """One key and one body are one charge: its id."""
    answers = door.at_once([("order-1", charge_of(phone))] * CALLERS)
    assert Counter(each.status_code for each in answers) == {200: CALLERS}
    assert Counter(each.headers.get("Idempotent-Replayed") for each in answers) == {None: 1, "true": CALLERS - 1}
    assert len({each.content for each in answers}) == 1
    return str(answers[0].json()["id"])


def many_bodies(door: Door, phone: str) -> tuple[str, int]:
    """One key and many bodies are one charge, and refusals: its id, its amount."""
    answers = door.at_once([("order-2", charge_of(phone, 100 + number)) for number in range(CALLERS)])
    assert Counter(each.status_code for each in answers) == {200: 1, 422: CALLERS - 1}
    (taken,) = [each.json() for each in answers if each.status_code == 200]
    assert taken["amount"] == 100 + [each.status_code for each in answers].index(200)
    assert {each.json()["code"] for each in answers if each.status_code == 422} == {"idempotency_key_reused"}
    return taken["id"], taken["amount"]


def many_keys(door: Door, store: StoreFile, new_number: Callable[[], str]) -> set[str]:
    """Many keys are as many charges, each told of by its own request: their ids."""
    before = store.rows("SELECT body FROM event")
    answers = door.at_once([(f"order-{3 + number}", charge_of(new_number())) for number in range(CALLERS)])
    assert {each.status_code for each in answers} == {200}
    assert not [each for each in answers if "Idempotent-Replayed" in each.headers]
    events = set(store.rows("SELECT body FROM event")) - {*before}
    requests = [json.loads(body)["request"]["id"] for (body,) in events]
    assert len(set(requests)) == len({each.headers["Request-Id"] for each in answers}) == CALLERS
    charges = {each.json()["id"] for each in answers}
    assert len(charges) == CALLERS
    return charges
