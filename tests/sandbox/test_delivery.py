import itertools
import json
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from workbench import verify
from workbench.domain.ids import Draws
from workbench.sandbox import driver
from workbench.sandbox.store import Transaction

if TYPE_CHECKING:
    from tests.sandbox.conftest import Merchant, Sandbox

    NewSandbox = Callable[..., Sandbox]

START_MS = 1_767_592_800_000
SCHEDULE_S = (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
DAY_S = 86_400


# What arrives


def test_an_event_arrives_signed_on_the_sandboxes_clock(sandbox: "Sandbox", merchant: "Merchant"):
    secret = sandbox.hook().secret
    sandbox.advance(1_000)
    sandbox.event()
    assert merchant.arrivals == []
    sandbox.engine.run_due()
    (arrival,) = merchant.arrivals
    assert verify(arrival.body, arrival.headers, [secret], now_s=START_MS // 1000 + 1_000, tolerance_s=0) == arrival.id
    assert arrival.headers["content-type"] == "application/json"
    assert json.loads(arrival.body)["id"] == arrival.id
    assert sandbox.outcomes() == [("delivered", 1)]


# Retries


def test_the_schedule_is_kept_on_the_clock_within_jitter(sandbox: "Sandbox", merchant: "Merchant"):
    merchant.answers["/a"] = [500]
    secret = sandbox.hook().secret
    sandbox.event()
    sandbox.advance(10 * DAY_S)
    attempts = sandbox.attempts()
    waits_ms = [after.at_ms - before.at_ms for before, after in itertools.pairwise(attempts)]
    assert len(attempts) == len(merchant.arrivals) == 10
    assert attempts[0].at_ms == START_MS
    factors = [wait_ms / (each * 1000) for wait_ms, each in zip(waits_ms, SCHEDULE_S[1:], strict=True)]
    assert all(0.8 <= factor <= 1.2 for factor in factors)
    assert len(set(factors)) == len(factors)
    # One message, signed anew at each attempt.
    assert len({(each.id, each.body) for each in merchant.arrivals}) == 1
    for attempt, arrival in zip(attempts, merchant.arrivals, strict=True):
        verify(arrival.body, arrival.headers, [secret], now_s=attempt.at_ms // 1000, tolerance_s=0)


def test_after_the_last_attempt_it_is_a_dead_letter(sandbox: "Sandbox", merchant: "Merchant"):
    merchant.answers["/a"] = [500]
    sandbox.told()
    seen = [sandbox.outcomes()]
    for wait_s in SCHEDULE_S[1:]:
        sandbox.advance(int(wait_s * 1.2) + 1)
        seen.append(sandbox.outcomes())
    assert seen == [[("pending" if number < 10 else "dead_letter", number)] for number in range(1, 11)]
    told = [row["result"] for row in sandbox.call("GET", "/sandbox/trace").json()["data"] if row["kind"] == "webhook"]
    assert told == ["500", *(f"500, attempt {number}" for number in range(2, 10)), "500, attempt 10, dead letter"]
    sandbox.advance(30 * DAY_S)
    assert len(merchant.arrivals) == 10
    with sandbox.engine.store.transaction() as tx:
        assert (tx.jobs.count(), tx.events.count()) == (0, 1)


@pytest.mark.parametrize(
    ("choices", "statuses", "outcome"),
    [
        ({}, [500, 204], ("delivered", 2)), ({}, [500] * 9 + [204], ("delivered", 10)),
        ({"retry_schedule_s": [0]}, [500], ("dead_letter", 1)),
        ({"retry_schedule_s": [0, 5, 300, 1800, 7200, 18000, 36000, 36000]}, [500], ("dead_letter", 8)),
        ({"retry_schedule_s": [0, *[1800] * 48]}, [500], ("dead_letter", 49)),
        ({"delivery_gone": "retried"}, [410, 200], ("delivered", 2)),
    ],
    ids=["a success", "a late one", "none", "eight", "a day", "gone is a failure like any other"],
)  # fmt: skip
def test_a_success_ends_it_and_the_register_says_how_it_goes_on(
    new_sandbox: "NewSandbox", choices: dict[str, object], statuses: list[int], outcome: tuple[str, int]
):
    sandbox = new_sandbox(**choices)
    sandbox.merchant.answers["/a"] = [*statuses]
    sandbox.told()
    sandbox.advance(10 * DAY_S)
    assert sandbox.outcomes() == [outcome]
    codes = statuses if len(statuses) > 1 else statuses * outcome[1]
    assert [each.status_code for each in sandbox.attempts()] == codes
    assert sandbox.client.webhook_endpoints.create(url="http://localhost/").status == "enabled"


WAITS: list[tuple[tuple[int, int], list[tuple[int, str | None]]]] = [
    ((4, 6), [(500, None), (500, "90"), (503, None)]),
    ((60, 60), [(429, None), (502, None), (504, None), (429, "soon"), (429, "-5"),
                (429, "Mon, 05 Jan 2026 05:59:00 GMT"), (429, "Wed, 99 Oct 2026 07:28:00 GMT")]),
    ((60, 120), [(429, "9" * 40)]),
    ((90, 90), [(429, "90"), (503, "90")]),
    ((100, 100), [(503, "Mon, 05 Jan 2026 06:01:40 GMT"), (429, "Mon, 05 Jan 2026 06:01:40 GMT"),
                  (429, "Monday, 05-Jan-26 06:01:40 GMT"), (429, "Mon Jan  5 06:01:40 2026")]),
    ((120, 120), [(429, "500"), (429, "Wed, 21 Oct 2026 07:28:00 GMT")]),
]  # fmt: skip
"""At least and at most so many seconds, for each status and Retry-After."""


def test_a_receiver_can_ask_for_time(merchant: "Merchant", sandbox: "Sandbox"):
    asked = [(waits_s, *each) for waits_s, answers in WAITS for each in answers]
    for number, (_, status, retry_after) in enumerate(asked):
        merchant.answers[f"/{number}"] = [status, 200]
        merchant.headers_at[f"/{number}"] = [] if retry_after is None else [("Retry-After", retry_after)]
        sandbox.hook(f"/{number}")
    sandbox.event()
    sandbox.advance(1_000)
    moments = defaultdict(list)
    for each in sandbox.attempts():
        moments[each.delivery].append(each.at_ms)
    for (at_least_s, at_most_s), status, retry_after in asked:
        first, second = moments.pop(next(iter(moments)))
        assert at_least_s * 1000 <= second - first <= at_most_s * 1000, (status, retry_after)


def test_a_redirect_is_an_answer_and_not_followed(sandbox: "Sandbox", merchant: "Merchant"):
    merchant.answers["/a"] = [302, 200]
    merchant.headers_at["/a"] = [("Location", "http://merchant.localhost/elsewhere")]
    sandbox.told()
    assert ([each.path for each in merchant.arrivals], sandbox.outcomes()) == (["/a"], [("pending", 1)])
    sandbox.advance(6)
    assert [each.path for each in merchant.arrivals] == ["/a", "/a"]
    assert [each.status_code for each in sandbox.attempts()] == [302, 200]


def test_a_receiver_that_fails_is_told_of_and_tried_again(sandbox: "Sandbox", merchant: "Merchant"):
    merchant.answers["/a"] = [RuntimeError("out of plants, +260961234567"), 200]
    sandbox.told()
    sandbox.advance(6)
    first, second = sandbox.attempts()
    assert (first.status_code, first.answer) == (None, "")
    assert "RuntimeError: out of plants, +26096••••567" in str(first.fault)
    assert (second.status_code, second.fault) == (200, None)


def test_a_name_that_does_not_resolve_or_leads_inside_later_is_a_failed_attempt(
    sandbox: "Sandbox", monkeypatch: pytest.MonkeyPatch
):
    sandbox.client.webhook_endpoints.create(url="https://nowhere.invalid/")
    looked_up: list[Any] = [
        socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long"),
        [(socket.AF_INET, 1, 6, "", ("10.0.0.1", 443))],
    ]  # fmt: skip
    now: list[Any] = [None]

    def look_up(*_: object, **__: object) -> Any:  # noqa: ANN401  as of socket.getaddrinfo
        (found,) = now
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for now[0] in looked_up:
        sandbox.event()
        sandbox.advance(0)
    attempts = sandbox.attempts()
    assert [each.status_code for each in attempts] == [None] * 3
    assert [str(each.fault) for each in attempts[:2]] == [f"{type(each).__name__}: {each}" for each in looked_up[:2]]
    assert "10.0.0.1" in str(attempts[2].fault)
    assert sandbox.outcomes() == [("pending", 1)] * 3


def test_of_an_answer_at_most_20_kb_are_kept_and_masked(sandbox: "Sandbox", merchant: "Merchant"):
    secret = sandbox.hook().secret
    sizes = [0, 1, 20_000, 20_001, 70_000]
    for size in sizes:
        merchant.answer = b"x" * size
        sandbox.event()
        sandbox.advance(0)
    merchant.answer = f"{secret} {sandbox.key} +260961234567 \xff".encode("latin-1")
    sandbox.event()
    sandbox.advance(0)
    *plain, masked = sandbox.attempts()
    assert [(len(each.answer), each.status_code) for each in plain] == [(min(size, 20_000), 200) for size in sizes]
    assert masked.answer == "whsec_•••• sk_test_•••• +26096••••567 \ufffd"


# Gone


def test_gone_disables_the_endpoint_and_tells_the_others(sandbox: "Sandbox", merchant: "Merchant"):
    merchant.answers["/a"] = [410]
    for path in ("/a", "/b"):
        sandbox.hook(path)
    for _ in range(3):
        sandbox.event()
    sandbox.advance(10 * DAY_S)
    assert len(merchant.at("/a")) == 1
    told = [json.loads(each.body) for each in merchant.at("/b")]
    assert [each["type"] for each in told] == ["payment_intent.created"] * 3 + ["webhook_endpoint.disabled"]
    shown = told[-1]["data"]["object"]
    assert (shown["url"], shown["status"], "secret" in shown) == ("http://merchant.localhost/a", "disabled", False)
    # What was on its way to it ends there.
    with sandbox.engine.store.transaction() as tx:
        disabled, enabled = tx.endpoints.all()
        ends = {each.id: [] for each in (disabled, enabled)}
        for each in tx.deliveries.all():
            ends[each.endpoint].append((each.status, each.attempts))
        assert (disabled.status, enabled.status) == ("disabled", "enabled")
        assert ends == {
            disabled.id: [("dead_letter", 1)] + [("dead_letter", 0)] * 2,
            enabled.id: [("delivered", 1)] * 4,
        }
        assert tx.jobs.count() == 0
    sandbox.event()
    sandbox.advance(0)
    assert (len(merchant.at("/a")), len(merchant.at("/b"))) == (1, 5)


# A process that dies


@pytest.mark.parametrize("how", ["advance", "run_due", "another process, advance", "another process, run_due"])
def test_what_was_in_hand_when_a_process_died_is_sent_again(
    store_path: Path, merchant: "Merchant", new_sandbox: "NewSandbox", how: str
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


# The clock as an event loop


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
    "nothing": ([], [], 0),
}  # fmt: skip
"""What is due when, what ran when, and how much is left after ten seconds."""


@pytest.mark.parametrize("case", RUNS)
def test_advance_runs_each_job_at_its_moment(sandbox: "Sandbox", noted: list[Any], case: str):
    jobs, ran, left = RUNS[case]
    sandbox.schedule(*jobs)
    sandbox.advance(10)
    assert noted == ran
    assert sandbox.now_ms() == 10_000
    with sandbox.engine.store.transaction() as tx:
        assert tx.jobs.count() == left


@pytest.mark.parametrize("steps", [[5, 5], [0, 10, 0], [Decimal("0.5")] * 20], ids=repr)
def test_many_small_steps_are_one_big_one(sandbox: "Sandbox", noted: list[Any], steps: list[Decimal | int]):
    sandbox.schedule((1_500, "a+2000"), (5_000, "b"), (9_750, "c"))
    for step in steps:
        sandbox.advance(step)
    assert noted == [(1_500, "a+2000"), (3_500, "a'"), (5_000, "b"), (9_750, "c")]
    assert sandbox.now_ms() == 10_000


def test_a_job_that_fails_is_not_lost(sandbox: "Sandbox", noted: list[Any], monkeypatch: pytest.MonkeyPatch):
    good = driver.HANDLERS["note"]

    def fails(tx: Transaction, ref: str) -> None:
        good(tx, ref)
        raise RuntimeError(ref)

    sandbox.schedule((1_000, "a"), (2_000, "b"))
    monkeypatch.setitem(driver.HANDLERS, "note", fails)
    with pytest.raises(RuntimeError):
        sandbox.advance(10)
    assert sandbox.now_ms() == 0
    monkeypatch.setitem(driver.HANDLERS, "note", good)
    noted.clear()
    sandbox.advance(10)
    assert noted == [(1_000, "a"), (2_000, "b")]


@pytest.mark.parametrize("raise_bugs", [True, False])
def test_what_was_sent_stays_recorded_when_the_next_job_fails(
    new_sandbox: "NewSandbox", noted: list[Any], monkeypatch: pytest.MonkeyPatch, *, raise_bugs: bool
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
    sandbox: "Sandbox", merchant: "Merchant", noted: list[Any]
):
    merchant.meanwhile = lambda: noted.append((sandbox.now_ms(), "webhook"))
    sandbox.hook()
    sandbox.schedule((0, "before"), (1, "later"))
    sandbox.event()
    sandbox.schedule((0, "after"))
    sandbox.engine.run_due()
    assert noted == [(0, "before"), (0, "webhook"), (0, "after")]
    assert sandbox.now_ms() == 0


def test_a_receiver_may_call_the_service_and_may_not_move_the_clock(sandbox: "Sandbox", merchant: "Merchant"):
    answers = []

    def call_back() -> None:
        if len(merchant.arrivals) == 1:
            sandbox.event()
            answers.append(sandbox.advance(5))

    merchant.meanwhile = call_back
    sandbox.hook()
    sandbox.event()
    sandbox.advance(1)
    assert [(each.status_code, each.json()["code"]) for each in answers] == [(409, "clock_busy")]
    # The event that the call back made went out in the same round.
    assert len(merchant.arrivals) == 2
    assert sandbox.now_ms() == 1_000


def test_one_that_is_replayed_while_it_is_in_hand_is_sent_again_once(sandbox: "Sandbox", merchant: "Merchant"):
    def replay() -> None:
        if len(merchant.arrivals) == 1:
            (waiting,) = sandbox.deliveries()
            assert sandbox.http.post(f"/v1/deliveries/{waiting.id}/replay").is_success

    merchant.answers["/a"], merchant.meanwhile = [500, 200], replay
    sandbox.told()
    sandbox.advance(10 * DAY_S)
    assert (len(merchant.arrivals), sandbox.outcomes()) == (2, [("delivered", 2)])


def test_a_receiver_on_another_thread_may_call_the_service_too(merchant: "Merchant", new_sandbox: "NewSandbox"):
    """As a backend does on its own port, while the delivery to it waits for its answer."""
    sandbox, threads, waits = new_sandbox(delivery_timeout_s=5), [], []

    def call_back() -> None:
        thread = threading.Thread(target=sandbox.engine.run_due)
        threads.append(thread)
        thread.start()
        thread.join(timeout=2)
        waits.append(thread.is_alive())

    merchant.meanwhile = call_back
    sandbox.hook()
    sandbox.event()
    sandbox.event()
    sandbox.engine.run_due()
    for thread in threads:
        thread.join()
    assert waits == [False, False]
