"""What a newcomer gets wrong in a call is refused in the words of that call, and nothing is carried out."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench
from workbench.errors import GapRefused, InvalidRequest, ServeRefused, StoreRefused

PHONE = "+260961234567"
Call = Callable[[Workbench, Any], object]


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as made:
        yield made


INTENT_FOR_ID = "The id must be a string such as 'pi_…', not PaymentIntent. Pass its .id."
PORTS = "a whole number from 0 to 65535, not "
CALLS: dict[str, tuple[Call, type[Exception], str]] = {
    "an intent for its id": (lambda b, it: b.client.payment_intents.retrieve(it), InvalidRequest, INTENT_FOR_ID),
    "none for an id": (
        lambda b, _: b.client.payment_intents.confirm(None, phone=PHONE, provider="mtn"), InvalidRequest,
        "The id must be a string such as 'pi_…', not NoneType.",
    ),
    "an intent to list by": (
        lambda b, it: b.client.deliveries.list(event=it), InvalidRequest,
        "event must be a string, not PaymentIntent. Pass its .id.",
    ),
    "an intent for a number": (
        lambda b, it: b.phone(it), InvalidRequest, f"number must be a string such as '{PHONE}', not PaymentIntent.",
    ),
    "a bare string of types": (
        lambda b, _: b.client.payment_intents.create(amount=1, payment_method_types="mobile_money"), InvalidRequest,
        'payment_method_types must be a list, such as ["mobile_money"], not \'mobile_money\'.',
    ),
    "a number as metadata": (
        lambda b, _: b.client.payment_intents.create(amount=1, metadata={"order": 17, "shop": "a"}), InvalidRequest,
        "metadata.order must be a string, not a number (17).",
    ),
    "a bare answer": (
        lambda b, _: b.operator.script(PHONE, "approve"), InvalidRequest, 'answers must be a list, such as ["approve"]',
    ),
    "a PIN of digits": (
        lambda b, _: b.phone(PHONE).enter_pin(1234), InvalidRequest, "pin must be a string such as '1234', not int.",
    ),
    "a clock that goes back": (
        lambda b, _: b.clock.advance(hours=-1), InvalidRequest, "cannot go back, and this is -3600 s in all",
    ),
    "a phone with a line break": (
        lambda b, _: b.phone(f"{PHONE}\n"), InvalidRequest, "After +260 come nine digits and nothing else.",
    ),
    "a phone with half a character": (
        lambda b, _: b.phone("\ud800"), InvalidRequest, "number has half of a surrogate pair",
    ),
    "a phone that is a dot": (
        lambda b, _: b.phone("."), InvalidRequest, "The number must be in international form",
    ),
    "a number of digits": (
        lambda b, _: b.trace.exchanges[-1].unmasked(5), InvalidRequest, "number must be a string such as '+26096",
    ),
    "a message of no kind": (
        lambda b, _: b.sign(object()), InvalidRequest, "text, bytes or JSON, and object is none of them.",
    ),
    "an application at a number": (
        lambda b, _: b.deliver_to(list, 5), InvalidRequest, "url must be a string such as 'http://testserver/webhooks'",
    ),
    "minutes that are no number": (
        lambda b, _: b.clock.advance(minutes=float("nan")), InvalidRequest, "minutes, hours and days must be numbers",
    ),
    "seconds without end": (
        lambda b, _: b.clock.advance(10**400), InvalidRequest, "The clock cannot go as far as that.",
    ),
    "seconds in a string": (
        lambda b, _: b.clock.advance("5"), InvalidRequest, "seconds must be a finite number or a timedelta, not '5'",
    ),
    "an idempotency key of digits": (
        lambda b, _: b.client.payment_intents.create(amount=1, idempotency_key=5), InvalidRequest,
        "idempotency_key must be a string such as 'order-1', not int.",
    ),
    "an idempotency key of another alphabet": (
        lambda b, _: b.client.payment_intents.create(amount=1, idempotency_key="ключ"), InvalidRequest, "one key of 1",
    ),
    "a message signed in no known way": (
        lambda b, it: b.sign(it, "wrong"), InvalidRequest, "how is one of right, several, wrong_secret, stale, ",
    ),
    "no application": (lambda b, _: b.deliver_to(None), TypeError, "a WSGI or ASGI application, not None"),
    "no key": (lambda b, _: b.client_with(None), InvalidRequest, "The key must be a string such as 'sk_test_…'"),
    "an empty key": (lambda b, _: b.client_with(""), InvalidRequest, "Workbench.connect as the third argument"),
    **{
        f"the port {port!r}": (lambda b, _, port=port: b.serve(port), ServeRefused, PORTS + repr(port))
        for port in ("x", -1, 99_999)
    },
    "a misspelt type": (
        lambda b, _: b.receiver.on("charge.succeded"), ValueError, "did you mean 'charge.succeeded'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", CALLS)
def test_a_call_says_what_is_wrong_with_it(bench: Workbench, mistake: str):
    call, kind, said = CALLS[mistake]
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"))
    before = bench.clock.now_ms, bench.client.payment_intents.list()
    with pytest.raises(kind) as refused:
        call(bench, intent)
    assert said in str(refused.value)
    assert (bench.clock.now_ms, bench.client.payment_intents.list()) == before


MAKING: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a start without a time": (lambda: Workbench(start=date(2026, 1, 1)), ValueError, "aware datetime"),
    "a seed with a point": (lambda: Workbench(seed=1.5), TypeError, "seed must be an int or a string, not 1.5"),
    "a folder for a store": (lambda: Workbench(store="."), StoreRefused, "is a folder"),
    "a store in no folder": (lambda: Workbench(store="nowhere/x.db"), StoreRefused, "no folder"),
    "a misspelt gap": (lambda: Workbench(gaps={"prompt_timeout": 60}), GapRefused, "Did you mean prompt_timeout_s?"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MAKING)
def test_what_a_workbench_is_made_from_is_looked_at(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    make, kind, said = MAKING[mistake]
    with pytest.raises(kind) as refused:
        make()
    assert said in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_store_begun_at_another_moment_is_refused_and_left_alone(tmp_path: Path):
    store, start = tmp_path / "shop.db", datetime(2026, 3, 1, 12, tzinfo=UTC)
    with Workbench(seed=7, store=store, start=start) as bench:
        bench.clock.advance(60)
    before = store.read_bytes()
    with pytest.raises(StoreRefused, match=r"begun at another moment.*Leave the start out"):
        Workbench(store=store, start=start + timedelta(days=1))
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [before]
    for again in (start, None):
        with Workbench(store=store, start=again) as bench:
            assert bench.clock.now == start + timedelta(seconds=60)


def test_a_timedelta_moves_the_clock_and_a_reset_leaves_what_the_merchant_received():
    step = timedelta(hours=1, milliseconds=5)
    with Workbench(seed=7) as bench:
        before = bench.clock.now
        assert bench.clock.advance(step, minutes=1).now - before == step + timedelta(minutes=1)
        made = [bench.client.payment_intents.create(amount=number).id for number in (1, 2)]
        page = bench.client.payment_intents.list()
        assert [each.id for each in page] == [page[0].id, page[1].id] == made[::-1]
        assert all(each in repr(page) for each in ("count=2", *made))
        bench.reset()
        assert (len(bench.receiver.events), list(bench.client.events.each())) == (2, [])


def test_a_bench_closes_though_its_receivers_endpoint_was_deleted_or_its_key_rolled():
    with Workbench(seed=7) as bench, bench.serve() as served:
        own, pay = bench.receiver_url, bench.client
        for with_its_key in (True, False):
            other = Workbench.connect(served.base_url, bench.secret_key)
            assert other.receiver.events == []
            (endpoint,) = [each.id for each in pay.webhook_endpoints.each() if each.url != own]
            if with_its_key:
                pay.webhook_endpoints.delete(endpoint)
            else:
                (key,) = [each.id for each in pay.api_keys.list() if each.kind == "secret"]
                bench.use_key(pay.api_keys.roll(key).value)
            other.close()
            assert other.http.is_closed


@pytest.mark.parametrize(
    "call", [Workbench.serve, lambda bench: bench.deliver_to(list), lambda bench: bench.webhook_secret,
             lambda bench: bench.receiver],
    ids=["served", "delivered to", "asked for its secret", "asked for its receiver"],
)  # fmt: skip
def test_a_closed_bench_says_so_where_it_would_ask_its_store(call: Callable[[Workbench], object]):
    with Workbench(seed=7, webhook_url="http://testserver/webhooks") as bench:
        pass
    with pytest.raises(ServeRefused, match="This Workbench is closed"):
        call(bench)
