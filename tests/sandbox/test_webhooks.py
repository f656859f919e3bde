"""Deliveries of a manual clock: attempts, the schedule, several endpoints, rolled secrets, replay, faults."""

from collections import Counter
from contextlib import closing, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sandbox.conftest import START_MS, Hook, Merchant, NewSandbox, Sandbox
from workbench import verify
from workbench.domain.ids import Draws
from workbench.domain.signatures import SCHEMES, SIGNATURE_HEADER, headers_for
from workbench.errors import InvalidRequest, SignatureRefused
from workbench.sandbox import driver
from workbench.sandbox.service.webhooks import seconds_asked
from workbench.sandbox.store import Transaction

SCHEDULE_S = (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
EIGHT = (0, 5, 300, 1800, 7200, 18000, 36000, 36000)
DAY_S = 86_400


def test_after_the_last_attempt_it_is_a_dead_letter(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [500]
    sandbox.told()
    seen = sandbox.outcomes()
    for wait_s in SCHEDULE_S[1:]:
        sandbox.advance(int(wait_s * 1.2) + 1)
        seen += sandbox.outcomes()
    assert seen == [("pending" if number < 10 else "dead_letter", number) for number in range(1, 11)]
    told = [row["result"] for row in sandbox.call("GET", "/sandbox/trace").json()["data"] if row["kind"] == "webhook"]
    assert told == ["500", *(f"500, attempt {number}" for number in range(2, 10)), "500, attempt 10, dead letter"]
    sandbox.advance(30 * DAY_S)
    # One message, signed anew at each attempt.
    assert len(merchant.arrivals) == 10
    assert len({(each.id, each.body) for each in merchant.arrivals}) == 1
    moments_s = [each.at_ms // 1000 for each in sandbox.attempts()]
    assert [int(each.headers["webhook-timestamp"]) for each in merchant.arrivals] == moments_s


ASKED: list[tuple[str, int | None]] = [
    ("90", 90), ("Mon, 05 Jan 2026 06:01:40 GMT", 100), ("Monday, 05-Jan-26 06:01:40 GMT", 100),
    ("Mon Jan  5 06:01:40 2026", 100), ("Mon, 05 Jan 2026 05:59:00 GMT", 0),
    *((text, None) for text in ("", "soon", "-5", "9" * 40, "Wed, 99 Oct 2026 07:28:00 GMT",
                                 f"Wed, {'9' * 40} Oct 2026 07:28:00 GMT")),
]  # fmt: skip
"""Retry-After → seconds from the sandbox's first moment on."""


def test_a_receiver_can_ask_for_time(merchant: Merchant, sandbox: Sandbox):
    assert [(text, seconds_asked(text, START_MS // 1000)) for text, _ in ASKED] == ASKED
    merchant.answers["/a"], merchant.headers_at["/a"] = [503, 200], [("Retry-After", "90")]
    sandbox.told()
    sandbox.advance(1_000)
    assert [each.at_ms - START_MS for each in sandbox.attempts()] == [0, 90_000]


def test_of_an_answer_at_most_20_kb_are_kept_and_masked(sandbox: Sandbox, merchant: Merchant):
    secret = sandbox.hook().secret
    for answer in (b"x" * 20_001, f"{secret} {sandbox.key} +260961234567 \xff".encode("latin-1")):
        merchant.answer = answer
        sandbox.event()
        sandbox.advance(0)
    long, masked = sandbox.attempts()
    assert long.answer == "x" * 20_000
    assert masked.answer == "whsec_•••• sk_test_•••• +26096••••567 \ufffd"


def test_gone_disables_the_endpoint_and_tells_the_others(sandbox: Sandbox, merchant: Merchant):
    merchant.answers["/a"] = [410]
    for path in ("/a", "/b"):
        sandbox.hook(path)
    for _ in range(3):
        sandbox.event()
    sandbox.advance()
    assert len(merchant.at("/a")) == 1
    told = [each.event for each in merchant.at("/b")]
    assert [each["type"] for each in told] == ["payment_intent.created"] * 3 + ["webhook_endpoint.disabled"]
    shown = told[-1]["data"]["object"]
    assert (shown["url"], shown["status"], "secret" in shown) == ("http://merchant.localhost/a", "disabled", False)
    # What was on its way to it ends there.
    assert Counter(sandbox.outcomes()) == {("dead_letter", 1): 1, ("dead_letter", 0): 2, ("delivered", 1): 4}
    sandbox.event()
    sandbox.advance(0)
    assert (len(merchant.at("/a")), len(merchant.at("/b"))) == (1, 5)


@pytest.mark.parametrize("how", ["advance", "run_due", "another process, advance", "another process, run_due"])
def test_what_was_in_hand_when_a_process_died_is_sent_again(
    store_path: Path, merchant: Merchant, new_sandbox: NewSandbox, how: str
):
    """The message has arrived, and nobody has written that down."""
    merchant.answers["/a"] = [KeyboardInterrupt(), 200]
    sandbox = new_sandbox(store_path)
    sandbox.hook()
    sandbox.event()
    with pytest.raises(KeyboardInterrupt):
        sandbox.engine.run_due()
    assert sandbox.attempts() == []
    if "another" in how:
        sandbox.close()
        sandbox = new_sandbox(store_path)
    if "advance" in how:
        sandbox.advance(0)
    else:
        sandbox.engine.run_due()
    assert len(merchant.arrivals) == 2
    assert len({(each.id, each.body, each.headers["webhook-signature"]) for each in merchant.arrivals}) == 1
    assert sandbox.outcomes() == [("delivered", 1)]
    sandbox.advance(10 * DAY_S)
    assert len(merchant.arrivals) == 2


RUNS: dict[str, tuple[list[tuple[int, str]], list[tuple[int, str]], int]] = {
    "by due moment": (
        [(3_000, "c"), (1_000, "a"), (2_000, "b")], [(1_000, "a"), (2_000, "b"), (3_000, "c")], 0,
    ),
    "ties by seq": ([(1_000, "x"), (1_000, "a"), (1_000, "m")], [(1_000, "x"), (1_000, "a"), (1_000, "m")], 0),
    "up to the end": (
        [(0, "now"), (9_999, "late"), (10_000, "last"), (10_001, "not yet")],
        [(0, "now"), (9_999, "late"), (10_000, "last")], 1,
    ),
    "now again": ([(1_000, "a+0"), (1_000, "b")], [(1_000, "a+0"), (1_000, "b"), (1_000, "a'")], 0),
    "in between": ([(1_000, "a+500"), (2_000, "b")], [(1_000, "a+500"), (1_500, "a'"), (2_000, "b")], 0),
    "follow-ups": (
        [(9_000, "a+1000"), (9_500, "b+1000")], [(9_000, "a+1000"), (9_500, "b+1000"), (10_000, "a'")], 1,
    ),
}  # fmt: skip
"""What is due when, what ran when, and how much is left after ten seconds."""


@pytest.mark.parametrize("case", RUNS)
def test_advance_runs_each_job_at_its_moment(sandbox: Sandbox, noted: list[Any], case: str):
    jobs, ran, left = RUNS[case]
    sandbox.schedule(*jobs)
    sandbox.advance(10)
    assert noted == ran
    assert sandbox.now_ms() == 10_000
    with sandbox.engine.store.transaction() as tx:
        assert tx.jobs.count() == left


@pytest.mark.parametrize("raise_bugs", [True, False])
def test_what_was_sent_stays_recorded_when_the_next_job_fails(
    new_sandbox: NewSandbox, noted: list[Any], monkeypatch: pytest.MonkeyPatch, *, raise_bugs: bool
):
    """Both are one commit; what the failed job did before it failed is undone, down to the clock."""

    def fails(tx: Transaction, ref: str) -> None:
        tx.new_id("pi")
        raise RuntimeError(ref)

    sandbox = new_sandbox(raise_bugs=raise_bugs)
    sandbox.hook()
    sandbox.event()
    sandbox.schedule((1_000, "a"))
    with monkeypatch.context() as patch:
        patch.setitem(driver.HANDLERS, "note", fails)
        with pytest.raises(RuntimeError) if raise_bugs else nullcontext():
            sandbox.advance(10)
    assert sandbox.outcomes() == [("delivered", 1)]
    assert sandbox.now_ms() == (0 if raise_bugs else 10_000)
    sandbox.advance(100)
    assert (len(sandbox.merchant.arrivals), [ref for _, ref in noted]) == (1, ["a"])
    made = sandbox.client.payment_intents.create(amount=Decimal(1))
    assert made.id == Draws("7").identifier("pi", 2)


def test_deliveries_and_timers_share_one_order_and_the_clock_is_left_where_it_is(
    sandbox: Sandbox, merchant: Merchant, noted: list[Any]
):
    merchant.meanwhile = lambda: noted.append((sandbox.now_ms(), "webhook"))
    sandbox.hook()
    sandbox.schedule((0, "before"), (1, "later"))
    sandbox.event()
    sandbox.schedule((0, "after"))
    sandbox.engine.run_due()
    assert noted == [(0, "before"), (0, "webhook"), (0, "after")]
    assert sandbox.now_ms() == 0


def test_one_that_is_replayed_while_it_is_in_hand_is_sent_again_once(sandbox: Sandbox, merchant: Merchant):
    def replay() -> None:
        if len(merchant.arrivals) == 1:
            (waiting,) = sandbox.deliveries()
            assert sandbox.http.post(f"/v1/deliveries/{waiting.id}/replay").is_success

    merchant.answers["/a"], merchant.meanwhile = [500, 200], replay
    sandbox.told()
    sandbox.advance(10 * DAY_S)
    assert (len(merchant.arrivals), sandbox.outcomes()) == (2, [("delivered", 2)])


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
            ways = (headers_for(each, arrival.id, stamp_s, arrival.body) for each in secrets[signing.index("1") :])
            signed = {headers[SIGNATURE_HEADER] for headers in ways}
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


class TestAlternatives:
    """What the register may say of deliveries otherwise."""

    @settings(max_examples=25, deadline=None)
    @given(st.data())
    def test_by_object_no_event_overtakes_an_earlier_one_to_the_same_endpoint(self, data: st.DataObject):
        merchant = Merchant()
        statuses = st.lists(st.sampled_from([200, 500, 503]), min_size=1, max_size=12)
        for path in ("/a", "/b"):
            merchant.answers[path] = [*data.draw(statuses), data.draw(st.sampled_from([200, 500]))]
        replay = data.draw(st.sampled_from(["same_id", "new_id"]))
        schedule = (0,) if data.draw(st.booleans()) else EIGHT
        with closing(Sandbox(merchant, ordering="per_object", retry_schedule_s=schedule, replay=replay)) as sandbox:
            sandbox.hook("/a"), sandbox.hook("/b")
            made = list[str]()
            for step in data.draw(st.lists(st.sampled_from(["new", "cancel", "wait", "again"]), max_size=12)):
                if step == "new":
                    made.append(sandbox.client.payment_intents.create(amount=Decimal(1)).id)
                elif step == "cancel" and made:
                    sandbox.client.payment_intents.cancel(made.pop(0))
                elif step == "wait":
                    sandbox.advance(data.draw(st.sampled_from([0, 6, 4_000])))
                elif step == "again":
                    sandbox.call("POST", "/v1/dead_letters/replay")
                assert sandbox.overtaking() == []
            sandbox.advance(days=4)
            assert sandbox.overtaking() == []
            assert {each.status for each in sandbox.deliveries()} <= {"delivered", "dead_letter"}, "none is forgotten"

    def test_by_object_others_go_on_and_what_waits_says_so(self, new_sandbox: NewSandbox, merchant: Merchant):
        sandbox = new_sandbox(ordering="per_object")
        hook, merchant.answers["/a"] = sandbox.hook(), [500, 200]
        first = sandbox.client.payment_intents.create(amount=Decimal(1)).id
        sandbox.client.payment_intents.cancel(first)
        sandbox.pay()
        sandbox.advance(0)
        assert hook.types() == ["payment_intent.created", "charge.succeeded"]
        _, waiting, ahead = hook.deliveries()
        assert (waiting["status"], waiting["attempts"]) == ("pending", [])
        assert waiting["next_attempt_at"] == ahead["next_attempt_at"] > sandbox.now_s
        shown = sandbox.call("GET", f"/v1/deliveries/{waiting['id']}")
        assert "ordering" in shown.headers["Sandbox-Provenance"]
        sandbox.advance(6)
        assert hook.types()[2:] == ["payment_intent.created", "payment_intent.canceled"]

    def test_by_object_what_was_held_goes_as_soon_as_the_one_before_is_over(
        self, new_sandbox: NewSandbox, merchant: Merchant
    ):
        sandbox = new_sandbox(ordering="per_object")
        hook, merchant.answers["/a"] = sandbox.hook(), [500] * 8 + [200]
        sandbox.client.payment_intents.cancel(sandbox.client.payment_intents.create(amount=Decimal(1)).id)
        sandbox.advance(days=1)
        assert hook.types() == ["payment_intent.created"] * 7, "the next is due in hours"
        merchant.answers["/a"] = [200]
        created = hook.deliveries()[-1]
        sandbox.call("POST", f"/v1/deliveries/{created['id']}/replay")
        assert hook.types()[7:] == ["payment_intent.created", "payment_intent.canceled"]

    def test_by_object_a_dead_letter_holds_up_nobody_and_one_that_is_replayed_goes_first(
        self, new_sandbox: NewSandbox, merchant: Merchant
    ):
        sandbox = new_sandbox(ordering="per_object", retry_schedule_s=[0])
        hook, merchant.answers["/a"] = sandbox.hook(), [500, 200]
        sandbox.client.payment_intents.cancel(sandbox.client.payment_intents.create(amount=Decimal(1)).id)
        sandbox.advance(0)
        assert sandbox.outcomes() == [("dead_letter", 1), ("delivered", 1)]
        # The second waits for the first, which is on its way again.
        canceled, created = hook.deliveries()
        for each in (canceled, created):
            assert sandbox.http.post(f"/v1/deliveries/{each['id']}/replay").is_success
        sandbox.advance(0)
        assert hook.types()[2:] == ["payment_intent.created", "payment_intent.canceled"]

    def test_a_dead_letter_is_dropped_after_thirty_days_unless_it_was_sent_again(
        self, new_sandbox: NewSandbox, merchant: Merchant
    ):
        sandbox = new_sandbox(dead_letter="dropped", retry_schedule_s=[0], endpoint_disable_after_s=0)
        hook, merchant.answers["/a"] = sandbox.hook(), [500]
        for _ in range(2):
            sandbox.event()
        sandbox.advance(0)
        dropped, kept = hook.deliveries()[::-1]
        assert (dropped["status"], dropped["next_attempt_at"]) == ("dead_letter", None), "no attempt is due"
        sandbox.advance(days=29)
        sandbox.call("POST", f"/v1/deliveries/{kept['id']}/replay")
        sandbox.advance(days=1)
        assert [each["id"] for each in hook.deliveries()] == [kept["id"]]
        for method, path in (("GET", ""), ("POST", "/replay")):
            assert sandbox.call(method, f"/v1/deliveries/{dropped['id']}{path}").status_code == 404
        again = sandbox.call("POST", "/v1/dead_letters/replay").json()["data"]
        assert [each["id"] for each in again] == [kept["id"]]
        rows = [each for each in sandbox.call("GET", "/sandbox/trace").json()["data"] if each["kind"] == "webhook"]
        assert next(each["result"] for each in rows) == "500, dead letter", "what happened stays in the trace"
        sandbox.advance(days=31)
        assert hook.deliveries() == []

    def test_with_a_new_id_a_replay_is_another_event_and_each_dead_letter_goes_again_once(
        self, new_sandbox: NewSandbox, merchant: Merchant
    ):
        sandbox = new_sandbox(replay="new_id", retry_schedule_s=[0], signature_scheme="stripe")
        hook, merchant.answers["/a"] = sandbox.hook(), [500, 200]
        sandbox.event()
        sandbox.advance(0)
        (dead,) = hook.deliveries()
        (again,) = sandbox.call("POST", "/v1/dead_letters/replay").json()["data"]
        first, second = (each.event for each in hook.arrivals)
        assert first["id"] == dead["event"] != again["event"] == second["id"]
        assert {**first, "id": ""} == {**second, "id": ""}
        verify(hook.arrivals[1].body, hook.arrivals[1].headers, [hook.secret], now_s=sandbox.now_s, scheme="stripe")
        assert sandbox.call("GET", f"/v1/events/{second['id']}").json() == second
        assert sandbox.outcomes() == [("dead_letter", 1), ("delivered", 1)], "the one before stays as it ended"
        assert sandbox.call("POST", "/v1/dead_letters/replay").json()["data"] == []
        for path in (f"/v1/events/{first['id']}/replay", f"/v1/deliveries/{dead['id']}/replay"):
            sandbox.call("POST", path)
        assert len({each.event["id"] for each in hook.arrivals}) == len(hook.arrivals) == 4

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_a_rolled_secret_signs_on_where_there_is_room_for_it(self, new_sandbox: NewSandbox, scheme: str):
        sandbox = new_sandbox(signature_scheme=scheme)
        hook = sandbox.hook()
        rolled = sandbox.call("POST", f"{hook.url}/roll_secret").json()
        has_room = scheme != "github"
        assert (rolled["secret_overlap_until"] is not None) is has_room
        for by_old, later in ((has_room, {"seconds": 0}), (False, {"days": 1})):
            sandbox.advance(**later)
            sandbox.event()
            sandbox.advance()
            last = hook.arrivals[-1]
            for secret, holds in ((hook.secret, by_old), (rolled["secret"], True)):
                how = {"now_s": sandbox.now_s, "scheme": scheme}
                with nullcontext() if holds else pytest.raises(SignatureRefused, match="No signature fits"):
                    verify(last.body, last.headers, [secret], **how)

    def test_as_a_cloud_event_a_message_is_what_the_envelope_would_be(self, new_sandbox: NewSandbox):
        told = []
        for payload in ("envelope", "cloudevents"):
            sandbox = new_sandbox(event_payload=payload)
            hook = sandbox.hook(f"/{payload}")
            made = {"amount": 100, "channel": "mtn", "phone": "+260960000001", "idempotency_key": "order-1"}
            sandbox.client.charges.create(**made)
            sandbox.advance(0)
            told.append(hook.arrivals[-1])
            assert sandbox.http.get(f"/v1/events/{told[-1].id}").content == told[-1].body, "to the byte"
        envelope, cloud = (each.event for each in told)
        assert [each.headers["content-type"] for each in told] == ["application/json", "application/cloudevents+json"]
        assert cloud == {
            "specversion": "1.0", "id": envelope["id"], "source": "/v1", "type": envelope["type"],
            "subject": envelope["data"]["object"]["id"], "time": envelope["timestamp"],
            "datacontenttype": "application/json", "data": envelope["data"], "apiversion": envelope["api_version"],
            "livemode": False, "requestid": envelope["request"]["id"],
            "idempotencykey": envelope["request"]["idempotency_key"],
        }  # fmt: skip

    def test_of_collections_alone_is_told_and_nothing_else_can_be_asked_for(self, new_sandbox: NewSandbox):
        sandbox = new_sandbox(event_types="collection")
        hook, failed = sandbox.hook("/a"), sandbox.hook("/b", "collection.failed")
        sandbox.event()
        sandbox.pay()
        assert (hook.types(), failed.types()) == (["collection.successful"], [])
        assert hook.arrivals[0].event["data"]["object"]["object"] == "charge"
        assert {each.type for each in sandbox.client.events.each(type="collection.*")} == {"collection.successful"}
        for ask in (
            lambda: sandbox.hook("/c", "charge.succeeded"), lambda: sandbox.client.events.list(type="charge.*"),
        ):  # fmt: skip
            with pytest.raises(InvalidRequest, match="is not a type of event"):
                ask()
