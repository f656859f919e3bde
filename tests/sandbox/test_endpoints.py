"""Several endpoints of a merchant: filters, disabling, rolled secrets, deliveries read back, replay, faults."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from standardwebhooks import Webhook

from workbench import Workbench, verify
from workbench.domain.webhooks import MAX_RESPONSE_BYTES
from workbench.errors import SignatureRefused
from workbench.receiver import Receiver

DAY_S = 86_400


class Arrival(NamedTuple):
    """One message at the merchant's side."""

    body: bytes
    headers: dict[str, str]
    at_ms: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Hook:
    """An endpoint of the merchant, mounted in place of the bench's own receiver under a path."""

    def __init__(self, bench: Workbench, path: str, *enabled_events: str) -> None:
        self.bench = bench
        self.path = path
        self.status = 200
        self.answer = b"thanks"
        self.headers: list[tuple[str, str]] = []
        self.arrivals: list[Arrival] = []
        body = {"url": f"http://merchant.localhost{path}", "enabled_events": list(enabled_events) or ["*"]}
        made = call(bench, "POST", "/v1/webhook_endpoints", body).json()
        self.id, self.secret = str(made["id"]), str(made["secret"])

    def respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        found = {
            name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")
        }
        self.arrivals.append(Arrival(body, found, self.bench.clock.now_ms))
        start_response(f"{self.status} Status", [("Content-Length", str(len(self.answer))), *self.headers])
        return [self.answer]

    @property
    def url(self) -> str:
        return f"/v1/webhook_endpoints/{self.id}"

    def types(self) -> list[str]:
        return [json.loads(each.body)["type"] for each in self.arrivals]

    def deliveries(self, query: str = "") -> list[dict[str, Any]]:
        found = call(self.bench, "GET", f"/v1/deliveries?endpoint={self.id}&limit=100{query}").json()["data"]
        return list(found)


def call(bench: Workbench, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  an httpx response
    content = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {bench.secret_key!s}", "Content-Type": "application/json"}
    return bench.http.request(method, path, content=content, headers=headers)


def pay(bench: Workbench) -> None:
    phone = "+260960000001"
    bench.client.charges.create(amount=100, channel="mtn", phone=phone, idempotency_key=str(bench.clock.now_ms))


@pytest.fixture
def hook_at(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Hook]:
    """Make an endpoint at a path; requests to it go there, all others to the bench's own receiver."""
    hooks: dict[str, Hook] = {}
    answer = bench.receiver._respond  # noqa: SLF001  the merchant's server, with more paths

    def route(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        hook = hooks.get(environ["PATH_INFO"])
        if hook:
            return hook.respond(environ, start_response)
        status, text = answer(environ)
        start_response(f"{status} Status", [("Content-Length", str(len(text)))])
        return [text]

    monkeypatch.setattr(Receiver, "__call__", lambda _, environ, start_response: route(environ, start_response))

    def make(path: str, *enabled_events: str) -> Hook:
        hooks[path] = Hook(bench, path, *enabled_events)
        return hooks[path]

    return make


class TestSeveral:
    def test_each_gets_what_it_wants_under_its_own_secret(self, bench: Workbench, hook_at: Callable[..., Hook]):
        wanted = {"/all": ("*",), "/paid": ("charge.succeeded",), "/refunds": ("refund.*", "payout.*")}
        hooks = [hook_at(path, *events) for path, events in wanted.items()]
        pay(bench)
        bench.client.payment_intents.create(amount=1)
        assert [each.types() for each in hooks] == [
            ["charge.succeeded", "payment_intent.created"], ["charge.succeeded"], [],
        ]  # fmt: skip
        assert len({each.secret for each in hooks}) == 3
        (arrival,) = hooks[1].arrivals
        verify(arrival.body, arrival.headers, [hooks[1].secret], now_s=arrival.at_ms // 1000)
        with pytest.raises(SignatureRefused):
            verify(arrival.body, arrival.headers, [hooks[0].secret], now_s=arrival.at_ms // 1000)

    def test_a_change_is_in_force_at_once_and_shows_no_secret(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook, other = hook_at("/a"), hook_at("/b", "refund.*")
        changed = call(bench, "PATCH", hook.url, {"enabled_events": ["charge.*"]}).json()
        assert (changed["enabled_events"], changed["url"], "secret" in changed) == (
            ["charge.*"], "http://merchant.localhost/a", False,
        )  # fmt: skip
        bench.client.payment_intents.create(amount=1)
        assert hook.types() == []
        call(bench, "PATCH", hook.url, {"url": "http://merchant.localhost/b"})
        pay(bench)
        assert (hook.types(), other.types()) == ([], ["charge.succeeded"])
        assert call(bench, "PATCH", hook.url, {}).json() == call(bench, "GET", hook.url).json()

    def test_a_change_that_is_refused_changes_nothing(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a")
        before = call(bench, "GET", hook.url).json()
        for param, body in (
            ("status", {"status": "deleted"}), ("status", {"status": "on"}), ("enabled_events", {"enabled_events": []}),
            ("enabled_events", {"url": "http://merchant.localhost/new", "enabled_events": ["nothing"]}),
            ("url", {"url": "http://169.254.169.254/"}), ("url", {"url": "no address"}),
        ):  # fmt: skip
            refused = call(bench, "PATCH", hook.url, body)
            assert (refused.status_code, refused.json()["param"]) == (400, param)
            assert call(bench, "GET", hook.url).json() == before

    def test_a_disabled_one_gets_nothing_until_it_is_enabled(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.*")
        hook.status = 500
        pay(bench)
        assert call(bench, "PATCH", hook.url, {"status": "disabled"}).json()["status"] == "disabled"
        bench.clock.advance(60)
        pay(bench)
        bench.clock.advance(days=5)
        assert len(hook.arrivals) == 1
        (waiting,) = hook.deliveries()
        assert (waiting["status"], len(waiting["attempts"]), waiting["next_attempt_at"]) == ("dead_letter", 1, None)
        refused = call(bench, "POST", f"/v1/deliveries/{waiting['id']}/replay")
        assert (refused.status_code, refused.json()["code"]) == (409, "endpoint_not_enabled")
        assert call(bench, "POST", "/v1/dead_letters/replay").json()["data"] == []
        hook.status = 200
        call(bench, "PATCH", hook.url, {"status": "enabled"})
        sent = call(bench, "POST", "/v1/dead_letters/replay").json()["data"]
        assert [each["id"] for each in sent] == [waiting["id"]]
        assert hook.types() == ["charge.succeeded"] * 2
        assert hook.deliveries()[0]["status"] == "delivered"

    def test_a_deleted_one_is_gone(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a")
        hook.status = 500
        pay(bench)
        gone = call(bench, "DELETE", hook.url).json()
        assert gone == {"id": hook.id, "object": "webhook_endpoint", "deleted": True}
        bench.clock.advance(days=5)
        assert len(hook.arrivals) == 1
        for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/roll_secret")):
            body = {} if method == "PATCH" else None
            assert call(bench, method, hook.url + path, body).status_code == 404
        assert hook.id not in call(bench, "GET", "/v1/webhook_endpoints").text


class TestRolledSecrets:
    def roll(self, bench: Workbench, hook: Hook) -> str:
        rolled = call(bench, "POST", f"{hook.url}/roll_secret")
        assert rolled.headers["Cache-Control"] == "no-store"
        now_s = bench.clock.now_ms // 1000
        assert rolled.json()["secret_overlap_until"] == now_s + DAY_S
        return str(rolled.json()["secret"])

    def signs(self, arrival: Arrival, secret: str) -> bool:
        try:
            verify(arrival.body, arrival.headers, [secret], now_s=arrival.at_ms // 1000)
        except SignatureRefused:
            return False
        return True

    def test_each_secret_signs_for_its_whole_day_however_often_it_is_rolled(
        self, bench: Workbench, hook_at: Callable[..., Hook]
    ):
        hook = hook_at("/a", "charge.succeeded")
        secrets = [hook.secret, self.roll(bench, hook)]
        bench.clock.advance(DAY_S // 2)
        secrets.append(self.roll(bench, hook))
        assert len({*secrets}) == 3
        for wait_s, signing in ((0, "111"), (DAY_S // 2 - 1, "111"), (1, "011"), (DAY_S // 2 - 1, "011"), (1, "001")):
            bench.clock.advance(wait_s)
            # An overlap that has ended is not told.
            assert (call(bench, "GET", hook.url).json()["secret_overlap_until"] is None) == (signing == "001")
            pay(bench)
            arrival = hook.arrivals[-1]
            assert [self.signs(arrival, each) for each in secrets] == [each == "1" for each in signing]
            assert len(arrival.headers["webhook-signature"].split()) == signing.count("1")

    def test_the_library_of_the_standard_takes_both(
        self, bench: Workbench, hook_at: Callable[..., Hook], monkeypatch: pytest.MonkeyPatch
    ):
        hook = hook_at("/a", "charge.succeeded")
        new = self.roll(bench, hook)
        pay(bench)
        (arrival,) = hook.arrivals

        class Now(datetime):
            @classmethod
            def now(cls, tz: object = None) -> datetime:
                del tz
                return datetime.fromtimestamp(arrival.at_ms / 1000, tz=UTC)

        monkeypatch.setattr("standardwebhooks.webhooks.datetime", Now)
        for secret in (hook.secret, new):
            assert Webhook(secret).verify(arrival.body, arrival.headers)["type"] == "charge.succeeded"

    def test_the_receiver_takes_messages_all_through_a_roll(self, bench: Workbench):
        (own,) = call(bench, "GET", "/v1/webhook_endpoints").json()["data"]
        new = call(bench, "POST", f"/v1/webhook_endpoints/{own['id']}/roll_secret").json()["secret"]
        pay(bench)
        bench.receiver.secrets.append(new)
        pay(bench)
        bench.clock.advance(DAY_S)
        bench.receiver.secrets.pop(0)
        pay(bench)
        assert {each.verdict for each in bench.receiver.arrivals} == {"accepted"}


class TestDeliveriesReadBack:
    def test_each_attempt_is_shown(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.succeeded")
        hook.status, hook.answer = 503, b"\xff" + b"x" * 30_000
        start_s = bench.clock.now_ms // 1000
        pay(bench)
        (found,) = hook.deliveries()
        assert (found["status"], found["event_type"], found["url"]) == (
            "pending", "charge.succeeded", "http://merchant.localhost/a",
        )  # fmt: skip
        (attempt,) = found["attempts"]
        assert (attempt["number"], attempt["at"], attempt["status_code"], attempt["fault"], attempt["latency_ms"]) == (
            1, start_s, 503, None, 0,
        )  # fmt: skip
        assert len(attempt["answer"].encode()) <= MAX_RESPONSE_BYTES + 2
        assert attempt["answer"].endswith("x" * 1_000)
        assert start_s + 4 <= found["next_attempt_at"] <= start_s + 6
        hook.status = 204
        bench.clock.advance(6)
        one = call(bench, "GET", f"/v1/deliveries/{found['id']}").json()
        assert [(each["number"], each["status_code"]) for each in one["attempts"]] == [(1, 503), (2, 204)]
        assert (one["status"], one["next_attempt_at"]) == ("delivered", None)

    def test_five_days_without_a_success_disable_it(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.succeeded")
        hook.status = 500
        for _ in range(5):
            pay(bench)
            bench.clock.advance(days=1)
            assert call(bench, "GET", hook.url).json()["status"] == "enabled"
        bench.clock.advance(days=1)
        assert call(bench, "GET", hook.url).json()["status"] == "disabled"
        told = [each for each in bench.receiver.events if each.type == "webhook_endpoint.disabled"]
        assert [each.data.object["id"] for each in told] == [hook.id]


class TestReplay:
    def test_a_delivery_again_is_the_same_message_signed_anew(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.succeeded")
        pay(bench)
        bench.clock.advance(1_000)
        (found,) = hook.deliveries()
        answer = call(bench, "POST", f"/v1/deliveries/{found['id']}/replay").json()
        assert (answer["status"], answer["next_attempt_at"]) == ("pending", bench.clock.now_ms // 1000)
        first, second = hook.arrivals
        assert (second.id, second.body) == (first.id, first.body)
        assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 1_000
        assert second.headers["webhook-signature"] != first.headers["webhook-signature"]
        verify(second.body, second.headers, [hook.secret], now_s=bench.clock.now_ms // 1000, tolerance_s=0)
        assert hook.deliveries()[0]["status"] == "delivered"

    def test_the_schedule_begins_anew(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.succeeded")
        hook.status = 500
        pay(bench)
        bench.clock.advance(days=4)
        (found,) = hook.deliveries("&status=dead_letter")
        assert (len(found["attempts"]), found["next_attempt_at"]) == (10, None)
        call(bench, "POST", f"/v1/deliveries/{found['id']}/replay")
        call(bench, "PATCH", hook.url, {"status": "enabled"})
        (again,) = hook.deliveries()
        assert (again["status"], len(again["attempts"])) == ("pending", 11)
        assert 4 <= again["next_attempt_at"] - again["attempts"][-1]["at"] <= 6
        bench.clock.advance(days=4)
        assert len(hook.arrivals) == 20
        assert hook.deliveries()[0]["status"] == "dead_letter"

    def test_an_event_goes_to_every_endpoint_that_wants_it_now(self, bench: Workbench, hook_at: Callable[..., Hook]):
        pay(bench)
        (event,) = call(bench, "GET", "/v1/events").json()["data"]
        late, other = hook_at("/late", "charge.*"), hook_at("/other", "refund.*")
        sent = call(bench, "POST", f"/v1/events/{event['id']}/replay").json()["data"]
        assert len(sent) == 2
        assert (late.types(), other.types()) == (["charge.succeeded"], [])
        assert [each.verdict for each in bench.receiver.arrivals] == ["accepted", "duplicate"]
        assert json.loads(late.arrivals[0].body) == event
        assert call(bench, "GET", f"/v1/events/{event['id']}").content == late.arrivals[0].body
        assert call(bench, "POST", "/v1/events/evt_x/replay").status_code == 404
        assert call(bench, "POST", "/v1/deliveries/del_x/replay").status_code == 404

    def test_the_whole_queue(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.succeeded")
        hook.status = 500
        for _ in range(3):
            bench.clock.advance(1)
            pay(bench)
        bench.clock.advance(days=4)
        before = [each.id for each in hook.arrivals[:3]]
        hook.status, hook.arrivals = 200, []
        sent = call(bench, "POST", "/v1/dead_letters/replay").json()
        assert (len(sent["data"]), sent["has_more"], sent["url"]) == (3, False, "/v1/dead_letters/replay")
        assert [each.id for each in hook.arrivals] == before
        assert hook.deliveries("&status=dead_letter") == []
        assert call(bench, "POST", "/v1/dead_letters/replay").json()["data"] == []


class TestFaults:
    def faults(self, bench: Workbench, hook: Hook, *faults: str) -> Any:  # noqa: ANN401  an httpx response
        return call(bench, "POST", f"/sandbox/webhook_endpoints/{hook.id}/faults", {"faults": list(faults)})

    def test_duplicates_come_twice_and_once_again_when_it_is_over(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a", "charge.succeeded")
        assert self.faults(bench, hook, "duplicate").json()["faults"] == ["duplicate"]
        pay(bench)
        bench.clock.advance(days=1)
        assert len(hook.arrivals) == 2
        assert len({(each.id, each.body) for each in hook.arrivals}) == 1
        assert self.faults(bench, hook).json()["faults"] == []
        pay(bench)
        bench.clock.advance(days=1)
        assert len(hook.arrivals) == 3

    def test_events_come_out_of_order_and_none_is_lost(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a")
        self.faults(bench, hook, "out_of_order")
        intent = bench.client.payment_intents.create(amount=1)
        bench.client.payment_intents.confirm(intent.id, phone="+260960000001", provider="mtn")
        bench.clock.advance(30)
        written = [each["type"] for each in call(bench, "GET", "/v1/events").json()["data"]][::-1]
        assert sorted(hook.types()) == sorted(written)
        assert hook.types() != written

    def test_a_fault_that_there_is_not(self, bench: Workbench, hook_at: Callable[..., Hook]):
        hook = hook_at("/a")
        refused = self.faults(bench, hook, "lost")
        assert (refused.status_code, refused.json()["param"]) == (400, "faults")
        assert call(bench, "POST", "/sandbox/webhook_endpoints/we_x/faults", {"faults": []}).status_code == 404
