import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import bearer
from workbench import Workbench
from workbench.domain.wire.keys_and_events import Event
from workbench.errors import ApiError

PHONE = "+260971234567"


class History(NamedTuple):
    """All that a run left behind."""

    ledger: list[tuple[Any, ...]]
    events: list[tuple[Any, ...]]
    arrivals: list[tuple[str, bytes, dict[str, str]]]
    trace: list[dict[str, Any]]
    keys: tuple[str, str]
    file: list[str]


def look_around(bench: Workbench) -> None:
    """Reads of the panel, and of what a notebook would show in between."""
    paths = ("clock", f"phones/{PHONE}", "ledger/accounts", "ledger/entries", "ledger/postings", "ledger/verify",
             "trace", "gaps", "nowhere")  # fmt: skip
    for path in paths:
        bench.http.get(f"/sandbox/{path}", headers=bearer(bench))
    repr(bench.phone(PHONE))
    repr(bench.trace)
    assert bench.clock.now_ms


def work(bench: Workbench, pause: Callable[[Workbench], object]) -> None:
    """Payments that succeed, fail, wait, are refused and replayed, and a receiver that fails twice."""
    failures = iter([True, True])

    @bench.receiver.on("charge.failed")
    def ship(event: Event) -> None:
        if next(failures, False):
            raise RuntimeError(event.id)

    pay = bench.client
    for ending, provider in (("0000001", "mtn"), ("0000002", "mtn"), ("0000003", "airtel"), ("0000005", "mtn")):
        named = {"description": "Monstera", "metadata": {"b": "1", "a": "2"}}
        intent = pay.payment_intents.create(amount=Decimal("150.00"), **named)
        pause(bench)
        pay.payment_intents.confirm(intent.id, phone=f"+26096{ending}", provider=provider)
        pause(bench)
        bench.clock.advance(5)
        with suppress(ApiError):
            key, phone = f"order-{ending}", f"+26095{ending}"
            pay.charges.create(amount=2_000, channel=provider, phone=phone, idempotency_key=key, reference="x")
        pause(bench)
    intent = pay.payment_intents.create(amount=Decimal("20.50"))
    with suppress(ApiError):
        pay.payment_intents.confirm(intent.id, phone="+254712345678", provider="mtn")
    pay.payment_intents.confirm(intent.id, phone=PHONE, provider="airtel")
    pause(bench)
    bench.phone(PHONE).enter_pin("0000").enter_pin("1234")
    for _ in range(2):
        pay.charges.create(amount=300, channel="zamtel", phone="+260951234567", idempotency_key="order-9")
    token = pay.auth.token(email="a@b.example", password="open sesame")
    pay.auth.refresh(token.refresh_token)
    pay.plants.create(id=1, name="Monstera")
    pause(bench)
    pay.charges.create(amount=700, channel="mtn", phone="+260960000010", idempotency_key="order-10")
    bench.clock.advance(days=2)
    pause(bench)
    made = {"refunds": {"payment_intent": intent.id, "amount": 7}, "payouts": {"amount": 9, "currency": "ZMW"}}
    for path, body in {**made, "api_keys": {}}.items():
        assert bench.http.post(f"/v1/{path}", json=body, headers=bearer(bench)).is_success
    pause(bench)
    bench.clock.advance(days=2)


OF_LOOKING = tuple(f"INSERT INTO \"counter\" VALUES('{kind}'" for kind in ("ctl", "opening"))
"""What the file counts of who only looks."""


def history(path: Path, seed: int | str | None, pause: Callable[[Workbench], object] = id) -> History:
    with Workbench(seed=seed, store=path) as bench:
        work(bench, pause)
        arrivals = [(each.verdict, each.body, each.headers) for each in bench.receiver.arrivals]
        trace = list(bench.trace)
        keys = (str(bench.secret_key), str(bench.publishable_key))
    with closing(sqlite3.connect(path)) as connection:
        ledger = connection.execute("SELECT * FROM entry JOIN posting ON id = entry ORDER BY number, line").fetchall()
        events = connection.execute("SELECT * FROM event ORDER BY seq").fetchall()
        file = [line for line in connection.iterdump() if not line.startswith(OF_LOOKING)]
    return History(ledger, events, arrivals, trace, keys, file)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> History:
    return history(tmp_path_factory.mktemp("first") / "store.db", 7)


def test_a_history_is_worth_comparing(first: History):
    assert len({row[3] for row in first.ledger}) == 10
    assert Counter(verdict for verdict, _, _ in first.arrivals) == {"failed": 2, "accepted": len(first.events)}
    assert {row["kind"] for row in first.trace} == {"call", "screen", "entry", "webhook"}
    assert any('INSERT INTO "kept_response"' in line for line in first.file)


@pytest.mark.parametrize("pause", [id, look_around])
def test_one_seed_is_one_history_to_the_byte_and_looking_around_changes_nothing(
    tmp_path: Path, first: History, pause: Callable[[Workbench], object]
):
    # A number and its text are one seed.
    again = history(tmp_path / "again.db", "7", pause)
    for part in History._fields:
        assert getattr(again, part) == getattr(first, part), part


def test_another_seed_is_another_history_of_the_same_facts(tmp_path: Path, first: History):
    other = history(tmp_path / "other.db", None)
    assert not set(other.keys) & set(first.keys)
    for one, another in ((other.ledger, first.ledger), (other.events, first.events)):
        assert not {row[0] for row in one} & {row[0] for row in another}
    signatures = [{headers["webhook-signature"] for _, _, headers in each.arrivals} for each in (other, first)]
    assert not signatures[0] & signatures[1]
    # What happened is the same: types in order, and every account and amount.
    assert [row[3] for row in other.events] == [row[3] for row in first.events]
    assert [row[-5:] for row in other.ledger] == [row[-5:] for row in first.ledger]


@pytest.mark.thorough
def test_a_process_with_another_hash_seed_has_the_same_history(
    tmp_path: Path, first: History, pytestconfig: pytest.Config
):
    script = (
        "import sys; from pathlib import Path; from tests.sandbox.test_determinism import history;"
        "print(*history(Path(sys.argv[1]), 7), sep='\\n')"
    )
    # It is not the one that this process may have been given.
    other = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    ran = subprocess.run(  # noqa: S603  this interpreter, with the text above
        [sys.executable, "-c", script, str(tmp_path / "there.db")], env={**os.environ, "PYTHONHASHSEED": other},
        cwd=pytestconfig.rootpath, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert ran.stdout.splitlines() == [str(part) for part in first]
