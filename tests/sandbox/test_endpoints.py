"""Several endpoints of a merchant: filters, disabling, rolled secrets, deliveries read back, replay, faults."""

from typing import Any

import pytest

from tests.sandbox.conftest import Hook, Sandbox
from workbench import verify
from workbench.domain.signatures import sign
from workbench.errors import SignatureRefused

DAY_S = 86_400


@pytest.fixture
def hook(sandbox: Sandbox) -> Hook:
    return sandbox.hook("/a", "charge.succeeded")


@pytest.fixture
def failing(hook: Hook) -> Hook:
    hook.sandbox.merchant.answers["/a"] = [500]
    return hook


class TestSeveral:
    def test_each_gets_what_it_wants_under_its_own_secret(self, sandbox: Sandbox):
        wanted = {"/all": ("*",), "/paid": ("charge.succeeded",), "/refunds": ("refund.*", "payout.*")}
        hooks = [sandbox.hook(path, *events) for path, events in wanted.items()]
        sandbox.pay()
        sandbox.event()
        sandbox.advance()
        assert [each.types() for each in hooks] == [
            ["charge.succeeded", "payment_intent.created"], ["charge.succeeded"], [],
        ]  # fmt: skip
        assert len({each.secret for each in hooks}) == 3
        (arrival,) = hooks[1].arrivals
        verify(arrival.body, arrival.headers, [hooks[1].secret], now_s=sandbox.now_s)
        with pytest.raises(SignatureRefused):
            verify(arrival.body, arrival.headers, [hooks[0].secret], now_s=sandbox.now_s)

    def test_a_change_is_in_force_at_once_and_shows_no_secret(self, sandbox: Sandbox):
        hook, other = sandbox.hook("/a"), sandbox.hook("/b", "refund.*")
        changed = sandbox.call("PATCH", hook.url, {"enabled_events": ["charge.*"]}).json()
        assert (changed["enabled_events"], "secret" in changed) == (["charge.*"], False)
        sandbox.event()
        sandbox.advance()
        assert hook.types() == []
        sandbox.call("PATCH", hook.url, {"url": "http://merchant.localhost/b"})
        sandbox.pay()
        assert (hook.types(), other.types()) == ([], ["charge.succeeded"])
        # One that is refused changes nothing.
        before = sandbox.call("GET", hook.url).json()
        for param, body in (
            ("status", {"status": "deleted"}), ("url", {"url": "http://169.254.169.254/"}),
            ("enabled_events", {"url": "http://merchant.localhost/new", "enabled_events": ["nothing"]}),
        ):  # fmt: skip
            assert sandbox.call("PATCH", hook.url, body).json()["param"] == param
        assert sandbox.call("PATCH", hook.url, {}).json() == sandbox.call("GET", hook.url).json() == before

    def test_a_disabled_one_gets_nothing_until_it_is_enabled(self, sandbox: Sandbox):
        hook = sandbox.hook("/a", "charge.*")
        sandbox.merchant.answers["/a"] = [500]
        sandbox.pay()
        assert sandbox.call("PATCH", hook.url, {"status": "disabled"}).json()["status"] == "disabled"
        sandbox.advance(60)
        sandbox.pay()
        sandbox.advance(days=5)
        assert len(hook.arrivals) == 1
        (waiting,) = hook.deliveries()
        assert (waiting["status"], len(waiting["attempts"]), waiting["next_attempt_at"]) == ("dead_letter", 1, None)
        refused = sandbox.call("POST", f"/v1/deliveries/{waiting['id']}/replay")
        assert (refused.status_code, refused.json()["code"]) == (409, "endpoint_not_enabled")
        assert sandbox.call("POST", "/v1/dead_letters/replay").json()["data"] == []
        sandbox.merchant.answers["/a"] = [200]
        sandbox.call("PATCH", hook.url, {"status": "enabled"})
        sent = sandbox.call("POST", "/v1/dead_letters/replay").json()["data"]
        assert [each["id"] for each in sent] == [waiting["id"]]
        assert hook.types() == ["charge.succeeded"] * 2
        assert hook.deliveries()[0]["status"] == "delivered"

    def test_a_deleted_one_is_gone(self, sandbox: Sandbox):
        hook = sandbox.hook("/a")
        sandbox.merchant.answers["/a"] = [500]
        sandbox.pay()
        gone = sandbox.call("DELETE", hook.url).json()
        assert gone == {"id": hook.id, "object": "webhook_endpoint", "deleted": True}
        sandbox.advance(days=5)
        assert len(hook.arrivals) == 1
        assert sandbox.call("GET", hook.url).status_code == 404
        assert hook.id not in sandbox.call("GET", "/v1/webhook_endpoints").text


class TestRolledSecrets:
    def roll(self, hook: Hook) -> str:
        rolled = hook.sandbox.call("POST", f"{hook.url}/roll_secret")
        assert rolled.headers["Cache-Control"] == "no-store"
        assert rolled.json()["secret_overlap_until"] == hook.sandbox.now_s + DAY_S
        return str(rolled.json()["secret"])

    def test_each_secret_signs_for_its_whole_day_however_often_it_is_rolled(self, sandbox: Sandbox, hook: Hook):
        secrets = [hook.secret, self.roll(hook)]
        sandbox.advance(DAY_S // 2)
        secrets.append(self.roll(hook))
        assert len({*secrets}) == 3
        for wait_s, signing in ((0, "111"), (DAY_S // 2 - 1, "111"), (1, "011"), (DAY_S // 2 - 1, "011"), (1, "001")):
            sandbox.advance(wait_s)
            # An overlap that has ended is not told.
            assert (sandbox.call("GET", hook.url).json()["secret_overlap_until"] is None) == (signing == "001")
            sandbox.pay()
            arrival = hook.arrivals[-1]
            stamp_s = int(arrival.headers["webhook-timestamp"])
            signed = {sign(each, arrival.id, stamp_s, arrival.body) for each in secrets[signing.index("1") :]}
            assert {*arrival.headers["webhook-signature"].split()} == signed


class TestDeliveriesReadBack:
    def test_each_attempt_is_shown(self, sandbox: Sandbox, hook: Hook):
        sandbox.merchant.answers["/a"], sandbox.merchant.answer = [503], b"later"
        start_s = sandbox.now_s
        sandbox.pay()
        (found,) = hook.deliveries()
        shown = {"status": "pending", "event_type": "charge.succeeded", "url": "http://merchant.localhost/a"}
        assert {**found, **shown} == found
        (attempt,) = found["attempts"]
        tried = {"number": 1, "at": start_s, "status_code": 503, "fault": None, "latency_ms": 0, "answer": "later"}
        assert {**attempt, **tried} == attempt
        assert start_s + 4 <= found["next_attempt_at"] <= start_s + 6
        sandbox.merchant.answers["/a"] = [204]
        sandbox.advance(6)
        one = sandbox.call("GET", f"/v1/deliveries/{found['id']}").json()
        assert [(each["number"], each["status_code"]) for each in one["attempts"]] == [(1, 503), (2, 204)]
        assert (one["status"], one["next_attempt_at"]) == ("delivered", None)

    def test_five_days_on_end_without_a_success_disable_it(self, sandbox: Sandbox, failing: Hook):
        other = sandbox.hook("/b", "webhook_endpoint.disabled")
        sandbox.pay()
        sandbox.advance(days=3)
        # A success begins the five days anew.
        for sandbox.merchant.answers["/a"] in ([200], [500]):
            sandbox.pay()
        for _ in range(5):
            sandbox.pay()
            sandbox.advance(days=1)
            assert sandbox.call("GET", failing.url).json()["status"] == "enabled"
        sandbox.advance(days=1)
        assert sandbox.call("GET", failing.url).json()["status"] == "disabled"
        assert [each.event["data"]["object"]["id"] for each in other.arrivals] == [failing.id]


class TestReplay:
    def test_a_delivery_again_is_the_same_message_signed_anew(self, sandbox: Sandbox, hook: Hook):
        sandbox.pay()
        sandbox.advance(1_000)
        (found,) = hook.deliveries()
        answer = sandbox.call("POST", f"/v1/deliveries/{found['id']}/replay").json()
        assert (answer["status"], answer["next_attempt_at"]) == ("pending", sandbox.now_s)
        first, second = hook.arrivals
        assert (second.id, second.body) == (first.id, first.body)
        assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 1_000
        assert second.headers["webhook-signature"] != first.headers["webhook-signature"]
        verify(second.body, second.headers, [hook.secret], now_s=sandbox.now_s, tolerance_s=0)
        assert (second.headers["content-type"], second.id) == ("application/json", second.event["id"])
        assert hook.deliveries()[0]["status"] == "delivered"

    def test_the_schedule_begins_anew(self, sandbox: Sandbox, failing: Hook):
        sandbox.pay()
        sandbox.advance(days=4)
        (found,) = failing.deliveries("&status=dead_letter")
        assert (len(found["attempts"]), found["next_attempt_at"]) == (10, None)
        sandbox.call("POST", f"/v1/deliveries/{found['id']}/replay")
        sandbox.call("PATCH", failing.url, {"status": "enabled"})
        (again,) = failing.deliveries()
        assert (again["status"], len(again["attempts"])) == ("pending", 11)
        assert 4 <= again["next_attempt_at"] - again["attempts"][-1]["at"] <= 6
        sandbox.advance(days=4)
        assert len(failing.arrivals) == 20
        assert failing.deliveries()[0]["status"] == "dead_letter"

    def test_an_event_goes_to_every_endpoint_that_wants_it_now(self, sandbox: Sandbox):
        first = sandbox.hook("/first")
        sandbox.pay()
        (event,) = sandbox.call("GET", "/v1/events").json()["data"]
        late, other = sandbox.hook("/late", "charge.*"), sandbox.hook("/other", "refund.*")
        sent = sandbox.call("POST", f"/v1/events/{event['id']}/replay").json()["data"]
        assert len(sent) == 2
        assert (late.types(), other.types()) == (["charge.succeeded"], [])
        assert [each.id for each in first.arrivals] == [event["id"]] * 2
        assert late.arrivals[0].event == event
        assert sandbox.call("GET", f"/v1/events/{event['id']}").content == late.arrivals[0].body


class TestFaults:
    def faults(self, hook: Hook, *faults: str) -> Any:  # noqa: ANN401  an httpx response
        return hook.sandbox.call("POST", f"/sandbox/webhook_endpoints/{hook.id}/faults", {"faults": list(faults)})

    def test_duplicates_come_twice_and_once_again_when_it_is_over(self, sandbox: Sandbox, hook: Hook):
        assert self.faults(hook, "duplicate").json()["faults"] == ["duplicate"]
        sandbox.pay()
        sandbox.advance(days=1)
        assert len(hook.arrivals) == 2
        assert len({(each.id, each.body) for each in hook.arrivals}) == 1
        assert self.faults(hook).json()["faults"] == []
        sandbox.pay()
        sandbox.advance(days=1)
        assert len(hook.arrivals) == 3
        assert self.faults(hook, "lost").json()["param"] == "faults"

    def test_events_come_out_of_order_and_none_is_lost(self, sandbox: Sandbox):
        hook = sandbox.hook("/a")
        self.faults(hook, "out_of_order")
        intent = sandbox.client.payment_intents.create(amount=1)
        sandbox.client.payment_intents.confirm(intent.id, phone="+260960000001", provider="mtn")
        sandbox.advance(30)
        written = [each["type"] for each in sandbox.call("GET", "/v1/events").json()["data"]][::-1]
        assert sorted(hook.types()) == sorted(written)
        assert hook.types() != written
