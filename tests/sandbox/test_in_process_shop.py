"""A merchant's own application, called in this process as a server would call it: WSGI and ASGI."""

import asyncio
import functools
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from workbench import Workbench, verify
from workbench.domain.webhooks import IMPOSSIBLE_MESSAGES, TEST_MESSAGES
from workbench.errors import InvalidRequest, NotFound, ServeRefused, StateConflict
from workbench.merchant.receiver import Receiver
from workbench.sandbox import asgi, outbound

PHONE = "+260960000001"
DOORS = ("wsgi", "asgi")
Scope = dict[str, Any]
Call = Callable[[], Awaitable[Scope]]
Tell = Callable[[Scope], Awaitable[None]]


class Shop:
    """What a merchant's handler does with a message: `handle`, which may raise; the rest is WSGI and ASGI."""

    def __init__(self) -> None:
        self.handle: Callable[[bytes, dict[str, str]], object] = lambda *_: None
        self.came: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.threads: list[threading.Thread] = []
        self.life: list[object] = []
        self.answer = (204, "")

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        self.came.append((json.loads(body), headers))
        self.threads.append(threading.current_thread())
        self.handle(body, headers)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event, _ in self.came]

    def wsgi(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
        assert (environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["HTTP_HOST"]) == (
            "POST",
            "/hooks",
            "testserver",
        )
        headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name[:5] == "HTTP_"}
        headers["content-type"] = environ["CONTENT_TYPE"]
        self.take(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])), headers)
        start_response(f"{self.answer[0]} As Asked", [("Retry-After", self.answer[1])])
        yield b"thanks"

    async def asgi(self, scope: Scope, receive: Call, send: Tell) -> None:
        if scope["type"] == "lifespan":
            await self.live(scope, receive, send)
            return
        assert (scope["method"], scope["path"], scope["state"]) == ("POST", "/hooks", {"pots": 5})
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        assert headers["host"] == "testserver"
        self.take((await receive())["body"], headers)
        status, retry_after = self.answer
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"retry-after", retry_after.encode())]}
        )
        await send({"type": "http.response.body", "body": b"thanks"})

    async def live(self, scope: Scope, receive: Call, send: Tell) -> None:
        self.life.append((await receive())["type"])
        scope["state"]["pots"] = 5
        await send({"type": "lifespan.startup.complete"})
        self.life.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})


@pytest.fixture
def shop() -> Shop:
    return Shop()


def at_work(shop: Shop, door: str, **more: Any) -> Workbench:  # noqa: ANN401  of a Workbench
    return Workbench(**{"seed": 7, "webhooks": getattr(shop, door), "webhook_url": "http://testserver/hooks", **more})


def charge(bench: Workbench, key: str = "order-1") -> None:
    bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key=key)


@pytest.mark.parametrize("door", DOORS)
def test_the_shop_is_called_with_what_a_server_would_hand_it_signed_by_its_own_clock(shop: Shop, door: str):
    with at_work(shop, door) as bench:
        bench.clock.advance(days=400)
        charge(bench)
        ((event, headers),) = shop.came
        assert headers["content-type"] == "application/json"
        body = bench.http.get(f"/v1/events/{event['id']}", headers={"Authorization": f"Bearer {bench.secret_key}"})
        verify(body.content, headers, [bench.webhook_secret], now_s=int(time.time()))
        (sent,) = bench.client.deliveries.list().data
        assert (sent.status, sent.url, sent.attempts[0].answer) == ("delivered", "http://testserver/hooks", "thanks")
        assert bench.client.webhook_endpoints.list().data[0].url == bench.webhook_url
    # WSGI in the thread that asks, for what a test holds there; ASGI in one that ends with the bench.
    (thread,) = shop.threads
    assert (thread is threading.current_thread()) is (door == "wsgi")
    assert thread.is_alive() is (door == "wsgi")
    assert shop.life == ([] if door == "wsgi" else ["lifespan.startup", "lifespan.shutdown"])


def test_inside_a_loop_that_runs_as_in_a_notebook_an_asgi_shop_is_called_all_the_same(shop: Shop):
    async def cell() -> list[str]:
        with at_work(shop, "asgi") as bench:
            charge(bench)
            return shop.types

    assert asyncio.run(cell()) == ["charge.succeeded"]


@pytest.mark.parametrize("door", DOORS)
def test_while_it_answers_a_shop_may_pay_and_may_not_move_the_clock(shop: Shop, door: str):
    met: list[object] = []

    def order_more(_body: bytes, _headers: dict[str, str]) -> None:
        if len(shop.came) == 1:
            charge(bench, "from-within")
            met.append(bench.client.charges.list().data[0].status)
            with pytest.raises(StateConflict) as refused:
                bench.clock.advance(5)
            met.append(refused.value.code)

    shop.handle = order_more
    with at_work(shop, door) as bench:
        began = time.monotonic()
        charge(bench)
        assert (met, shop.types) == (["succeeded", "clock_busy"], ["charge.succeeded"] * 2)
        assert time.monotonic() - began < 5, "refused at once, not after the time that an answer has"
        bench.clock.advance(1)


def test_from_its_own_loop_a_shop_that_blocks_it_gets_its_webhook_later_and_not_never(shop: Shop):
    paid, loops = threading.Event(), list[asyncio.AbstractEventLoop]()
    shop.handle = lambda *_: loops.append(asyncio.get_running_loop())
    with at_work(shop, "asgi") as bench:
        charge(bench)
        loops[0].call_soon_threadsafe(lambda: (charge(bench, "in-the-loop"), paid.set()))
        assert paid.wait(5), "no waiting for itself, until the time for an answer is up"
        (waiting,) = bench.client.deliveries.list(status="pending").data
        assert "in its own loop" in str(waiting.attempts[0].fault)
        bench.clock.advance(6)
        assert shop.types == ["charge.succeeded"] * 2


@pytest.mark.parametrize("door", DOORS)
def test_what_a_shop_raises_is_a_500_that_shows_the_traceback_and_is_tried_again(
    shop: Shop, door: str, caplog: pytest.LogCaptureFixture
):
    def out_of_plants(_body: bytes, _headers: dict[str, str]) -> None:
        if len(shop.came) == 1:
            raise TimeoutError("out of plants, +260961234567")

    shop.handle = out_of_plants
    with at_work(shop, door) as bench:
        with caplog.at_level(logging.ERROR):
            charge(bench)
        (waiting,) = bench.client.deliveries.list().data
        assert (waiting.attempts[0].status_code, waiting.attempts[0].fault) == (500, None)
        for text in (waiting.attempts[0].answer, caplog.text):
            assert "in out_of_plants" in text
            assert "TimeoutError: out of plants, +26096••••567" in text
        bench.clock.advance(6)
        assert bench.client.deliveries.list().data[0].status == "delivered"


@pytest.mark.parametrize("door", DOORS)
def test_an_answer_is_read_as_one_over_a_socket_and_one_that_is_late_is_none(
    shop: Shop, door: str, monkeypatch: pytest.MonkeyPatch
):
    shop.answer = (503, "100")
    with at_work(shop, door, gaps={"delivery_timeout_s": 5}) as bench:
        charge(bench)
        (waiting,) = bench.client.deliveries.list().data
        assert (waiting.attempts[0].status_code, waiting.next_attempt_at) == (503, bench.clock.now_ms // 1000 + 100)
        # As if five seconds were a hundredth.
        of_wsgi, of_asgi = time.monotonic, asgi.asyncio.run_coroutine_threadsafe
        monkeypatch.setattr(outbound.time, "monotonic", lambda: of_wsgi() * 500)
        monkeypatch.setattr(asgi.asyncio, "run_coroutine_threadsafe", lambda *a: Hasty(of_asgi(*a)))
        shop.handle, shop.answer = lambda *_: time.sleep(0.05), (200, "")
        charge(bench, "order-2")
        assert bench.client.deliveries.list().data[0].attempts[0].fault == "the response took longer than 5 s"


class Hasty:
    """A future that waits a hundredth of the time."""

    def __init__(self, future: Any) -> None:  # noqa: ANN401  a future
        self.done, self.cancel, self._result = future.done, future.cancel, future.result

    def result(self, timeout_s: float) -> object:
        return self._result(timeout_s / 500)


def test_what_is_asgi_is_told_by_how_it_is_called_and_what_is_neither_is_refused(shop: Shop):
    class Application:
        async def __call__(self, scope: Scope, receive: Call, send: Tell) -> None:
            await shop.asgi(scope, receive, send)

    def returns_a_coroutine(scope: Scope, receive: Call, send: Tell) -> Awaitable[None]:
        return shop.asgi(scope, receive, send)

    for app in (Application(), returns_a_coroutine, functools.partial(shop.asgi), functools.partial(shop.wsgi)):
        with at_work(shop, "wsgi", webhooks=app) as bench:
            charge(bench)
            assert bench.client.deliveries.list().data[0].status == "delivered"
    assert len(shop.came) == 4
    for wrong, says in (("shop:app", "'str'"), (Application, "the class Application"), (5, "'int'")):
        with pytest.raises(TypeError, match=f"a WSGI or ASGI application.*not {says}"):
            Workbench(webhooks=wrong)


def test_a_shop_without_a_lifespan_runs_and_one_that_does_not_start_says_why(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
):
    async def knows_none(scope: Scope, *_: object) -> None:
        message = f"knows no {scope['type']}"
        raise ValueError(message)

    async def fails(_scope: Scope, receive: Call, send: Tell) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "Traceback\nno database"})

    async def hangs(_scope: Scope, receive: Call, _send: Tell) -> None:
        await receive()
        await receive()

    shop.live = knows_none  # type: ignore[method-assign]  # as Django's
    with at_work(shop, "asgi") as bench:
        charge(bench)
        assert "assert" in bench.client.deliveries.list().data[0].attempts[0].answer, "without a state to find"
    del shop.live
    with at_work(shop, "asgi") as bench:
        bench.deliver_to(Receiver())
        assert shop.life == ["lifespan.startup", "lifespan.shutdown"], "another has taken its place"
    monkeypatch.setattr(asgi, "_LIFESPAN_S", 0.05)
    for live, says in ((fails, "did not start: no database"), (hangs, "did not start within 0.05 s")):
        shop.live = live  # type: ignore[method-assign]  # a broken one
        with pytest.raises(ServeRefused, match=says):
            at_work(shop, "asgi")


def test_the_secret_is_there_before_the_shop_is_the_same_for_a_seed_and_the_current_one(
    monkeypatch: pytest.MonkeyPatch,
):
    # A name that an application of this process answers for leads nowhere else, and is not looked up.
    monkeypatch.setattr(outbound, "_looked_up", lambda *_: ["10.0.0.1"])
    with Workbench(seed=7, webhook_url="http://shop.example/hooks") as bench:
        secret = bench.webhook_secret
        assert repr(secret) == "'whsec_••••'"
        charge(bench)
        (waiting,) = bench.client.deliveries.list().data
        assert waiting.attempts[0].fault == "no application is there yet: use bench.deliver_to(app)"
        late = Receiver([secret])
        bench.deliver_to(late)
        bench.clock.advance(6)
        assert [each.type for each in late.events] == ["charge.succeeded"]
        # What is registered is not registered twice, and another one takes its place.
        other = Receiver([secret])
        bench.deliver_to(other)
        charge(bench, "order-2")
        assert (len(late.events), len(other.events), len(bench.client.webhook_endpoints.list())) == (1, 1, 1)
        rolled = bench.client.webhook_endpoints.roll_secret(bench.client.webhook_endpoints.list().data[0].id)
        assert bench.webhook_secret == rolled.secret != secret
    with Workbench(seed=7, webhooks=Receiver(), webhook_url="http://shop.example/hooks") as again:
        assert again.webhook_secret == secret
        # The workbench's own receiver is registered when it is asked for, and by the sandbox's clock.
        assert again.receiver.events == []
        charge(again)
        assert [each.verdict for each in again.receiver.arrivals] == ["accepted"]
    with Workbench(seed=7) as plain:
        assert plain.webhook_secret == plain.receiver.secrets[-1]
        shop = Receiver()
        plain.deliver_to(shop)
        shop.secrets.append(plain.webhook_secret)
        charge(plain)
        assert (plain.webhook_url, len(shop.events)) == ("http://testserver/webhooks", len(plain.receiver.events))


@pytest.mark.parametrize("registration", ["api", "dashboard"])
def test_a_shop_made_with_the_secret_of_a_sandbox_that_is_open_verifies_what_it_is_sent(registration: str):
    with Workbench(seed=7, gaps={"endpoint_registration": registration}) as bench:
        secret = bench.webhook_secret
        shop = Receiver([secret])
        bench.deliver_to(shop)
        charge(bench)
        assert [each.verdict for each in shop.arrivals] == ["accepted"]
        assert bench.webhook_secret == secret
        if registration == "api":
            assert [each.verdict for each in bench.receiver.arrivals] == ["accepted"]
        else:
            with pytest.raises(StateConflict, match="allows one endpoint"):
                _ = bench.receiver


def test_an_address_that_cannot_be_registered_and_a_served_sandbox_are_refused():
    for url in ("testserver/webhooks", "ftp://testserver/", "http://user@testserver/", "http://10.0.0.1/"):
        with pytest.raises(InvalidRequest):
            Workbench(webhooks=Receiver(), webhook_url=url)
    with (
        Workbench(seed=7) as local,
        local.serve() as served,
        Workbench.connect(served.base_url, served.secret_key) as connected,
        pytest.raises(ServeRefused, match="a URL"),
    ):
        connected.deliver_to(Receiver())


WAYS = [
    {"signature_scheme": scheme, "event_payload": payload}
    for scheme in ("standard_webhooks", "stripe", "github")
    for payload in ("envelope", "cloudevents")
]


REASONS = {
    "signature_mismatch", "timestamp_stale", "timestamp_in_future", "body_reserialised", "header_missing",
    "signature_malformed", "timestamp_malformed", "body_not_an_event",
}  # fmt: skip
WITHOUT = {
    "standard_webhooks": set[str](),
    "stripe": {"signature_malformed"},  # what is no signature has no time either, which is looked at first
    "github": {"timestamp_stale", "timestamp_in_future", "timestamp_malformed"},
}


@pytest.mark.parametrize("gaps", WAYS, ids=lambda gaps: "-".join(gaps.values()))
def test_any_message_is_signed_right_or_wrong_on_purpose_in_the_scheme_in_force(gaps: dict[str, str]):
    taken = {name: 200 if name in {"right", "several"} else 400 for name in TEST_MESSAGES}
    impossible = IMPOSSIBLE_MESSAGES.get(gaps["signature_scheme"], {})
    with Workbench(seed=7, gaps=gaps) as bench:
        charge(bench)
        event = bench.client.events.list().data[0]
        made = {"id": "evt_1", "type": "charge.failed", "timestamp": "", "time": "", "data": {"object": {}}}
        for body in (event, made, json.dumps(made), json.dumps(made, indent=3).encode()):
            for how, status in taken.items():
                if how in impossible:
                    with pytest.raises(InvalidRequest, match=impossible[how]):
                        bench.sign(body, how)
                    continue
                message = bench.sign(body, how)
                assert bench.receiver.receive(*message) == status, how
                is_cloud = gaps["event_payload"] == "cloudevents"
                assert message.headers["Content-Type"].startswith("application/cloudevents") is is_cloud
        # What is no JSON can be signed as well, and is genuine, and no event.
        assert bench.receiver.receive(*bench.sign(b"pots", "right")) == 400
        assert bench.receiver.arrivals[-1].reason == "body_not_an_event"
        for how in ("tampered", "reserialised"):
            assert bench.receiver.receive(*bench.sign(b"pots", how)) == 400
            assert bench.receiver.arrivals[-1].reason == "signature_mismatch"
    reasons = {each.reason for each in bench.receiver.arrivals if each.verdict == "refused"}
    assert reasons == REASONS - WITHOUT[gaps["signature_scheme"]]


def test_over_http_a_message_is_signed_with_the_secret_of_ones_own_endpoint_which_no_response_holds():
    with (
        Workbench(seed=7) as local,
        local.serve() as served,
        Workbench.connect(served.base_url, served.secret_key) as bench,
    ):

        def asked(key: str = bench.secret_key, **body: object) -> Any:  # noqa: ANN401  JSON
            return bench.http.post("/sandbox/sign", headers={"Authorization": f"Bearer {key}"}, json=body)

        shop = bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/webhooks")
        bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/newest")
        for body in ('{"id": "evt_1"}', "K150 at ½, no JSON"):
            answer = asked(body=body, endpoint=shop.id)
            assert shop.secret.removeprefix("whsec_") not in answer.text
            assert answer.json()["body"] == body
            assert verify(body.encode(), answer.json()["headers"], [shop.secret], now_s=int(time.time()))
            assert verify(*bench.sign(body, endpoint=shop.id), [shop.secret], now_s=int(time.time()))
        at_noon = asked(body="{}", endpoint=shop.id, message_id="evt_2", timestamp=43_200).json()["headers"]
        assert verify(b"{}", at_noon, [shop.secret], now_s=43_200) == "evt_2"
        newest = bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/last")
        assert verify(b"{}", asked(body="{}").json()["headers"], [newest.secret], now_s=int(time.time()))
        assert bench.receiver.secrets, "it is registered last, and is not one's own"
        assert verify(*bench.sign("{}"), [newest.secret], now_s=int(time.time()))
        for each in bench.client.webhook_endpoints.each():
            bench.client.webhook_endpoints.update(each.id, status="disabled")
        with pytest.raises(NotFound, match="POST /v1/webhook_endpoints"):
            bench.sign("{}")
        with pytest.raises(NotFound, match="we_none"):
            bench.sign("{}", endpoint="we_none")
        with pytest.raises(InvalidRequest, match="UTF-8"):
            bench.sign(b"\xff")
        assert asked(served.publishable_key, body="{}").status_code == 403


def test_over_a_socket_a_connected_receiver_verifies_by_the_scheme_in_force_and_knows_its_types():
    with (
        Workbench(seed=7, gaps={**WAYS[-1], "event_types": "collection"}) as local,
        local.serve() as served,
        Workbench.connect(served.base_url, served.secret_key) as bench,
    ):
        done = threading.Event()
        handle = bench.receiver.on("collection.successful")(lambda _: done.set())
        with pytest.raises(ValueError, match=r"did you mean 'collection\.successful'"):
            bench.receiver.on("collection.sucessful")(handle)
        charge(bench)
        assert done.wait(10)
        (event,) = bench.client.events.list().data
        while not bench.receiver.events:
            time.sleep(0.01)
        assert (bench.receiver.events[0].id, bench.receiver.events[0].timestamp) == (event.id, event.timestamp)
        assert bench.receiver.receive(*bench.sign(event, "tampered")) == 400
        assert local.receiver.scheme == bench.receiver.scheme == "github"
