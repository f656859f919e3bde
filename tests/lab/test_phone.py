"""The handset's widget without a browser: what it shows, what it sends, and that it does what a script does."""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from workbench.lab.phone import CLOSED, EMPTY, MOST_MESSAGES, OUTCOMES, Now, PhoneState, PhoneWidget, View, view_of

from workbench import Workbench
from workbench.control import SandboxControl
from workbench.domain import ussd, wire
from workbench.domain.wire import control
from workbench.errors import ServiceUnreachable, WorkbenchError
from workbench.handset import Phone

NUMBER, OTHER = "+260961234567", "+260971234567"
SOON_S = 5
REST_S = 0.4
RIGHT, WRONG = "1234", "9876"


def arrives(widget: PhoneWidget, message: dict[str, Any]) -> None:
    """What ipywidgets does with a message from the browser."""
    widget._handle_custom_msg(message, [])  # noqa: SLF001  there is no other door than the kernel's socket


class Browser:
    """Stands where a browser does: sends what it sends, keeps what it is sent."""

    def __init__(self, widget: PhoneWidget, monkeypatch: pytest.MonkeyPatch) -> None:
        self.widget = widget
        self.sent: list[dict[str, Any]] = []
        self.seen: list[View] = []
        monkeypatch.setattr(widget, "send", lambda content, buffers=None: self.sent.append(content))  # noqa: ARG005  ipywidgets' names
        widget.observe(lambda change: self.seen.append(change["new"]), "view")

    def press(self, what: str, **more: object) -> str:
        number = len(self.sent)
        arrives(self.widget, {"id": number, "do": what, **more})
        assert self.sent[-1]["answered"] == number
        return str(self.sent[-1]["said"])

    def pin(self, text: str = RIGHT) -> str:
        return self.press("pin", pin=text)

    @property
    def view(self) -> View:
        return dict(self.widget.view)

    def sees(self, holds: Callable[[View], object]) -> bool:
        until = time.monotonic() + SOON_S
        while not holds(self.widget.view) and time.monotonic() < until:
            time.sleep(0.01)
        return bool(holds(self.widget.view))


@pytest.fixture
def browser(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Browser:
    return Browser(widget_of(bench), monkeypatch)


def widget_of(bench: Workbench, number: str = NUMBER) -> PhoneWidget:
    widget = bench.phone(number).widget
    assert isinstance(widget, PhoneWidget)
    return widget


def ask(bench: Workbench, number: str = NUMBER, provider: str = "mtn", amount: str = "150.00") -> str:
    intent = bench.client.payment_intents.create(amount=Decimal(amount), description="Monstera")
    return bench.client.payment_intents.confirm(intent.id, phone=number, provider=provider).id


class TestWhatItShows:
    def test_a_prompt_appears_by_itself_in_the_one_widget_and_goes(self, bench: Workbench, browser: Browser):
        assert widget_of(bench) is browser.widget is not widget_of(bench, OTHER)
        assert repr(browser.widget) == "PhoneWidget('+26096••••567')"
        assert browser.view == {**EMPTY, "name": "+26096••••567", "operator": "MTN MoMo", "words": ussd.IDLE_TEXT}
        ask(bench)
        assert browser.sees(lambda view: view["waiting"])
        assert "Pay K150.00" in browser.view["words"]
        assert (browser.view["clock"], browser.view["left_ms"], browser.view["ends_ms"]) == ("manual", 300_000, 0)
        bench.clock.advance(Decimal("0.5"))
        assert browser.sees(lambda view: view["left_ms"] == 299_500)
        bench.clock.advance(300)
        assert browser.sees(lambda view: view["outcome"] == "bad")
        assert not browser.view["waiting"]

    def test_a_payment_its_receipt_and_what_a_closed_bench_says(self, bench: Workbench, browser: Browser):
        intent = ask(bench)
        assert (browser.pin(), browser.view["outcome"]) == ("", "good")
        kept = [each["text"] for each in bench.phone(NUMBER).messages]
        assert [each["text"] for each in browser.view["messages"]] == kept
        assert bench.client.payment_intents.retrieve(intent).status == "succeeded"
        ask(bench)
        browser.press("look")
        bench.close()
        assert (browser.view["trouble"], browser.view["waiting"]) == (CLOSED, False)
        assert (browser.pin(), browser.press("look")) == (CLOSED, "")
        browser.widget.refresh()
        assert browser.view["trouble"] == CLOSED

    def test_a_sandbox_that_is_gone_is_said_and_forgotten_and_nothing_is_sent_anew(
        self, bench: Workbench, browser: Browser, monkeypatch: pytest.MonkeyPatch
    ):
        browser.press("look")
        ask(bench, OTHER, "airtel")
        browser.widget.refresh()
        assert browser.seen == [], "it is sent only where it differs"
        monkeypatch.setattr(SandboxControl, "phone", Mock(side_effect=ServiceUnreachable("gone")))
        browser.widget.refresh()
        assert browser.view["trouble"] == "gone"
        monkeypatch.undo()
        browser.widget.refresh()
        assert browser.view["trouble"] == ""


class TestWhatIsPressed:
    def test_what_is_no_answer_costs_no_try_and_how_a_prompt_ends(self, bench: Workbench, browser: Browser):
        for what in ("pin", "cancel", "ignore"):
            assert browser.press(what, pin=RIGHT) == "No prompt waits for an answer on this handset."
        ask(bench)
        for text, typed in (
            ("", "none"),
            ("1", "1"),
            ("12345", "5"),
            *((each, "4 characters, not all of them digits") for each in ("abcd", "١٢٣٤")),
        ):
            assert browser.pin(text) == f"A PIN has 4 digits; you typed {typed}."
        for what in ("", "shutdown", "None", "__class__"):
            assert browser.press(what) == "This handset has changed: run its cell again."
        assert (browser.view["waiting"], browser.view["tries_left"]) == (True, 3)
        for left in (2, 1, 0):
            assert (browser.pin(WRONG), browser.view["tries_left"]) == ("", left)
        assert (browser.view["waiting"], browser.view["outcome"]) == (False, "bad")
        for what, words in (("cancel", "Canceled."), ("ignore", "left unanswered")):
            ask(bench)
            assert browser.press(what) == ""
            assert words in browser.view["words"]
            bench.clock.advance(600)

    def test_the_pin_is_nowhere_but_in_the_message(
        self, bench: Workbench, browser: Browser, caplog: pytest.LogCaptureFixture
    ):
        with caplog.at_level(logging.DEBUG):
            ask(bench)
            browser.pin(WRONG)
            browser.pin("98")
            browser.press("cancel")
        state = json.dumps(browser.widget.get_state(), default=str)
        sent = [{**each, "kernel_ms": "its digits may be a PIN's"} for each in browser.sent]
        kept = (state, *map(str, (sent, browser.seen, caplog.text, [*bench.trace], repr(browser.widget))))
        assert [text for text in kept if WRONG in text] == []
        assert NUMBER[1:] not in state

    def test_what_breaks_is_answered_all_the_same_and_an_answer_tells_the_kernels_clock(
        self, browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ):
        monkeypatch.setattr(Phone, "cancel", lambda _: 1 / 0)
        before = time.time_ns() // 1_000_000
        assert "failed" in browser.press("cancel")
        assert "ZeroDivisionError" in caplog.text
        assert before <= browser.sent[-1]["kernel_ms"] <= time.time_ns() // 1_000_000

    def test_keys_and_cells_at_once_and_what_a_handler_does_is_shown(self, bench: Workbench, browser: Browser):
        def cells() -> None:
            for _ in range(10):
                ask(bench, OTHER, "airtel")
                bench.clock.advance(1)

        heard = threading.Event()
        bench.watch(heard.set)
        working = threading.Thread(target=cells)
        working.start()
        for _ in range(10):
            ask(bench)
            assert browser.pin() == ""
        working.join(60)
        assert not working.is_alive()
        assert len(browser.view["messages"]) == 10
        bench.receiver.on("payment_intent.succeeded")(lambda _event: ask(bench, amount="20.00"))
        ask(bench)
        time.sleep(REST_S)
        heard.clear()
        browser.pin(WRONG)
        assert heard.wait(SOON_S), "a key is news for others"
        browser.pin()
        assert browser.sees(lambda view: "Pay K20.00" in view["words"] and view["left_ms"] == 300_000)


OF_PHONE = f"phones/{NUMBER}"
SCREEN, INBOX, CLOCK = f"GET {OF_PHONE}", f"GET {OF_PHONE}/messages", "GET clock"
Press = tuple[dict[str, str], Callable[[Phone], object], list[str]]
PRESSES: dict[str, Press] = {
    "look": ({"do": "look"}, str, [SCREEN, CLOCK]),
    "right": ({"do": "pin", "pin": RIGHT}, lambda phone: phone.enter_pin(RIGHT), [f"POST {OF_PHONE}/input", INBOX]),
    "wrong": ({"do": "pin", "pin": WRONG}, lambda phone: phone.enter_pin(WRONG), [f"POST {OF_PHONE}/input", CLOCK]),
    "short": ({"do": "pin", "pin": "12"}, lambda phone: phone.enter_pin("12"), [f"POST {OF_PHONE}/input", SCREEN]),
    "cancel": ({"do": "cancel"}, Phone.cancel, [f"POST {OF_PHONE}/cancel", INBOX]),
    "ignore": ({"do": "ignore"}, Phone.ignore, [f"POST {OF_PHONE}/ignore", INBOX]),
}
"""What a person may press → what a browser sends, what a script calls, and what is asked for it."""
CELLS: dict[str, Callable[[Workbench], object]] = {
    "ask": ask,
    "minute": lambda bench: bench.clock.advance(60),
    "expire": lambda bench: bench.clock.advance(301),
    "script": lambda bench: bench.operator.script(NUMBER, ["insufficient_funds"]),
}


class TestHowOftenTheSandboxIsAsked:
    """Typing a digit asks nothing: it stays in the browser until the PIN is sent."""

    @pytest.fixture
    def during(
        self, bench: Workbench, browser: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[[Callable[[], object]], list[str]]:
        """What is asked through the bench, by its client, its watchers and its receiver, until nobody asks any more."""
        asked: list[str] = []
        transport = bench.http._transport  # noqa: SLF001  where everything goes through
        handle = transport.handle_request

        def counted(request: httpx.Request) -> httpx.Response:
            asked.append(f"{request.method} {request.url.path.removeprefix('/sandbox/')}")
            return handle(request)

        def during(happens: Callable[[], object]) -> list[str]:
            asked.clear()
            happens()
            time.sleep(REST_S)
            return list(asked)

        monkeypatch.setattr(transport, "handle_request", counted)
        intent = bench.client.payment_intents.create(amount=1)
        time.sleep(REST_S)
        confirm = bench.client.payment_intents.confirm
        opens = during(lambda: confirm(intent.id, phone=NUMBER, provider="mtn"))
        assert opens[1:] == [SCREEN, INBOX, CLOCK], "a prompt that opens is read once"
        assert browser.view["waiting"]
        return during

    @pytest.mark.parametrize("name", PRESSES)
    def test_a_key_asks_twice(self, browser: Browser, during: Callable[..., list[str]], name: str):
        sent, _, asked = PRESSES[name]
        assert during(lambda: arrives(browser.widget, {"id": 1, **sent})) == asked
        view = browser.view
        browser.widget.refresh()
        assert browser.view == view
        assert name != "cancel" or len(during(lambda: browser.press("cancel"))) == 2, "without a prompt, too"

    def test_a_key_of_two_prompts_asks_twice_and_shows_how_long_the_other_waits(
        self, bench: Workbench, browser: Browser, during: Callable[..., list[str]]
    ):
        bench.clock.advance(7)
        during(lambda: ask(bench, amount="20.00"))
        assert browser.sees(lambda view: view["queued"] == 1)
        assert len(during(browser.pin)) == 2
        view = browser.view
        assert (view["left_ms"], view["queued"], len(view["messages"])) == (300_000, 0, 1)
        browser.widget.refresh()
        assert browser.view == view


def by_script(steps: list[str]) -> list[dict[str, Any]]:
    with Workbench(seed=11) as bench:
        for step in steps:
            try:
                CELLS[step](bench) if step in CELLS else PRESSES[step][1](bench.phone(NUMBER))
            except WorkbenchError:
                continue
        return list(bench.trace)


def by_widget(steps: list[str]) -> tuple[list[dict[str, Any]], list[View]]:
    with Workbench(seed=11) as bench:
        widget, views = widget_of(bench), list[View]()
        widget.observe(lambda change: views.append(change["new"]), "view")
        for number, step in enumerate(steps):
            if step in CELLS:
                CELLS[step](bench)
            else:
                arrives(widget, {"id": number, **PRESSES[step][0]})
        return list(bench.trace), [*views, widget.view]


class TestAPersonAndAScriptTakeOnePath:
    @settings(max_examples=max(8, settings.default.max_examples // 4), deadline=None)
    @given(st.lists(st.sampled_from([*PRESSES, *CELLS]), max_size=8).map(lambda steps: ["ask", *steps]))
    @example(["ask", "wrong", "right", "minute"])
    def test_the_traces_of_any_steps_are_equal_and_no_view_tells_a_pin_or_a_number(self, steps: list[str]):
        trace, views = by_widget(steps)
        assert trace == by_script(steps)
        assert "screen" in [row["kind"] for row in trace]
        for view in views:
            handset = json.dumps({**view, "prompt": "", "messages": [{**each, "seq": 0} for each in view["messages"]]})
            assert NUMBER[1:] not in handset
            assert WRONG not in handset
            assert set(view) == set(EMPTY)


def seen(
    before: View = EMPTY, now: Now | None = None, messages: Sequence[control.Message] = (), **more: object
) -> View:
    screen = {
        "phone": NUMBER, "operator": "mtn", "screen": "Pay", "state": ussd.ENTER_PIN, "waiting": True,
        "tries_left": 3, "expires_at": 1_000, "queued": 0, "charge": "ch_1", **more,
    }  # fmt: skip
    return view_of(PhoneState(wire.Handset(**screen), messages, now), before)


class TestTheView:
    @given(st.integers(0, 2_000_000), st.integers(-1_400, 1_400), st.integers(0, 10**6), st.integers(0, 2**41))
    def test_time_left_is_never_negative_and_the_end_on_a_running_clock_one_moment_however_the_clocks_are_read(
        self, sandbox_ms: int, off_ms: int, gone_ms: int, kernel_ms: int
    ):
        view = seen(now=Now("manual", sandbox_ms, kernel_ms))
        assert (view["left_ms"], view["ends_ms"]) == (max(0, 1_000_000 - sandbox_ms), 0)
        first = seen(now=Now("running", 0, kernel_ms))
        assert first["ends_ms"] == kernel_ms + 1_000_000
        assert seen(first, Now("running", gone_ms, kernel_ms + gone_ms + off_ms)) == first
        # A clock that was moved, and another prompt, end at other moments.
        assert seen(first, Now("running", 60_000, kernel_ms))["ends_ms"] == kernel_ms + 940_000
        assert seen(first, Now("running", 500, kernel_ms), charge="ch_2")["ends_ms"] == kernel_ms + 999_500

    def test_every_screen_that_ends_a_payment_says_how(self):
        assert set(OUTCOMES) == set(ussd.SCREEN_TEXTS) - set(ussd.OPEN) - {ussd.IGNORED}
        outcomes = {state: seen(state=state, waiting=False, expires_at=None)["outcome"] for state in OUTCOMES}
        assert outcomes == OUTCOMES

    def test_a_long_inbox_is_cut_at_its_old_end(self):
        many = [
            control.Message(seq, "", "paid", "MTN MoMo", str(seq), 1, "ZMW", "", None)
            for seq in range(MOST_MESSAGES + 5)
        ]
        assert [each["seq"] for each in seen(messages=many)["messages"]] == list(range(5, MOST_MESSAGES + 5))
