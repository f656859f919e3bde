"""The handset's widget without a browser: what it shows, what it sends, and that it does what a script does."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Workbench
from workbench.domain import ussd
from workbench.errors import ServiceUnreachable, WorkbenchError
from workbench.handset import Phone
from workbench.lab.phone import CLOSED, PhoneWidget
from workbench.lab.phone_view import EMPTY, MOST_MESSAGES, OUTCOMES, Now, View, view_of

NUMBER, OTHER = "+260961234567", "+260971234567"
SOON_S = 5
RIGHT, WRONG = "1234", "9876"


def arrives(widget: PhoneWidget, message: dict[str, Any]) -> None:
    """What ipywidgets does with a message from the browser."""
    widget._handle_custom_msg(message, [])  # noqa: SLF001  there is no other door than the kernel's socket


def gone(_: Phone) -> None:
    raise ServiceUnreachable("gone")


class Browser:
    """Stands where a browser does: sends what it sends, keeps what it is sent."""

    def __init__(self, widget: PhoneWidget, monkeypatch: pytest.MonkeyPatch) -> None:
        self.widget = widget
        self.sent: list[dict[str, Any]] = []
        self.seen: list[View] = []
        self._ids = 0
        monkeypatch.setattr(widget, "send", lambda content, buffers=None: self.sent.append(content))  # noqa: ARG005  ipywidgets' names
        widget.observe(lambda change: self.seen.append(change["new"]), "view")

    def press(self, what: str, **more: object) -> str:
        """What is said in answer."""
        self._ids += 1
        message = {"id": self._ids, "do": what, **more}
        arrives(self.widget, message)
        answer = self.sent[-1]
        assert answer["answered"] == self._ids
        return str(answer["said"])

    def pin(self, text: str = RIGHT) -> str:
        return self.press("pin", pin=text)

    @property
    def view(self) -> View:
        return dict(self.widget.view)

    def sees(self, holds: Callable[[View], object]) -> bool:
        """Whether it comes to that soon, by itself."""
        until = time.monotonic() + SOON_S
        while not holds(self.widget.view) and time.monotonic() < until:
            time.sleep(0.01)
        return bool(holds(self.widget.view))


@pytest.fixture
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as bench:
        yield bench


@pytest.fixture
def browser(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Browser:
    return Browser(widget_of(bench), monkeypatch)


def widget_of(bench: Workbench, number: str = NUMBER) -> PhoneWidget:
    widget = bench.phone(number).widget
    assert isinstance(widget, PhoneWidget)
    return widget


def ask(bench: Workbench, number: str = NUMBER, provider: str = "mtn", amount: str = "150.00") -> str:
    pay = bench.client.payment_intents
    intent = pay.create(
        amount=Decimal(amount), currency="ZMW", payment_method_types=["mobile_money"], description="Monstera"
    )
    return pay.confirm(intent.id, phone=number, provider=provider).id


class TestWhatItShows:
    def test_a_handset_on_which_nothing_has_happened(self, browser: Browser):
        assert browser.view == {
            **EMPTY, "name": "+26096••••567", "operator": "MTN MoMo", "words": ussd.IDLE_TEXT,
        }  # fmt: skip

    def test_a_prompt_appears_by_itself(self, bench: Workbench, browser: Browser):
        ask(bench)
        assert browser.sees(lambda view: view["waiting"])
        assert "Pay ZMW 150.00" in browser.view["words"]
        assert (browser.view["clock"], browser.view["left_ms"], browser.view["ends_ms"]) == ("manual", 300_000, 0)
        bench.clock.advance(Decimal("0.5"))
        assert browser.sees(lambda view: view["left_ms"] == 299_500)
        bench.clock.advance(300)
        assert browser.sees(lambda view: view["outcome"] == "bad")
        assert not browser.view["waiting"]

    def test_a_payment_and_its_receipt(self, bench: Workbench, browser: Browser):
        intent = ask(bench)
        assert browser.pin() == ""
        assert browser.view["outcome"] == "good"
        assert [each["text"] for each in browser.view["messages"]] == [
            each["text"] for each in bench.phone(NUMBER).messages
        ]
        assert bench.client.payment_intents.retrieve(intent).status == "succeeded"

    def test_it_is_sent_only_where_it_differs(self, bench: Workbench, browser: Browser):
        browser.press("look")
        browser.widget.refresh()
        for _ in range(3):
            ask(bench, OTHER, "airtel")
        browser.widget.refresh()
        assert browser.seen == []

    def test_one_widget_for_each_number(self, bench: Workbench):
        one = widget_of(bench)
        assert widget_of(bench) is one
        assert bench.phone(NUMBER).widget is one
        assert widget_of(bench, OTHER) is not one

    def test_its_repr_holds_no_address_and_no_whole_number(self, browser: Browser):
        assert repr(browser.widget) == "PhoneWidget('+26096••••567')"

    def test_a_closed_bench_says_what_to_do(self, bench: Workbench, browser: Browser):
        ask(bench)
        browser.press("look")
        bench.close()
        assert (browser.view["trouble"], browser.view["waiting"]) == (CLOSED, False)
        assert browser.pin() == CLOSED
        assert browser.press("look") == ""
        browser.widget.refresh()
        assert browser.view["trouble"] == CLOSED

    def test_a_sandbox_that_is_gone_is_said_and_forgotten_when_it_is_back(
        self, browser: Browser, monkeypatch: pytest.MonkeyPatch
    ):
        with monkeypatch.context() as patched:
            patched.setattr(Phone, "shown", property(gone))
            browser.widget.refresh()
            assert browser.view["trouble"] == "gone"
        browser.widget.refresh()
        assert browser.view["trouble"] == ""


class TestWhatIsPressed:
    def test_no_prompt_waits(self, browser: Browser):
        for what in ("pin", "cancel", "ignore"):
            assert browser.press(what, pin=RIGHT) == "No prompt waits for an answer on this handset."

    @pytest.mark.parametrize("text", ["", "12", "12345", "abcd", "١٢٣٤"])
    def test_what_is_no_pin_costs_no_try(self, bench: Workbench, browser: Browser, text: str):
        ask(bench)
        assert browser.pin(text).startswith("A PIN is 4 digits")
        assert browser.view["tries_left"] == 3

    def test_wrong_pins(self, bench: Workbench, browser: Browser):
        ask(bench)
        for left in (2, 1):
            assert browser.pin(WRONG) == ""
            assert browser.view["tries_left"] == left
        browser.pin(WRONG)
        assert (browser.view["waiting"], browser.view["outcome"]) == (False, "bad")

    @pytest.mark.parametrize(("what", "words"), [("cancel", "Canceled."), ("ignore", "left unanswered")])
    def test_refused_or_put_away(self, bench: Workbench, browser: Browser, what: str, words: str):
        ask(bench)
        assert browser.press(what) == ""
        assert words in browser.view["words"]

    @pytest.mark.parametrize("what", ["", "shutdown", "None", "__class__"])
    def test_another_word_is_answered_and_does_nothing(self, bench: Workbench, browser: Browser, what: str):
        ask(bench)
        browser.press("look")
        assert browser.press(what) == "This handset has changed: run its cell again."
        assert browser.view["waiting"]

    def test_what_breaks_is_answered_all_the_same(
        self, browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ):
        monkeypatch.setattr(Phone, "cancel", lambda _: 1 / 0)
        assert "failed" in browser.press("cancel")
        assert "ZeroDivisionError" in caplog.text

    def test_an_answer_tells_the_kernels_clock(self, browser: Browser):
        before = time.time_ns() // 1_000_000
        browser.press("look")
        assert before <= browser.sent[-1]["kernel_ms"] <= time.time_ns() // 1_000_000

    def test_keys_and_cells_at_once(self, bench: Workbench, browser: Browser):
        def cells() -> None:
            for _ in range(20):
                ask(bench, OTHER, "airtel")
                bench.clock.advance(1)

        working = threading.Thread(target=cells)
        working.start()
        for _ in range(20):
            ask(bench)
            assert browser.pin() == ""
        working.join(60)
        assert not working.is_alive()
        assert len(browser.view["messages"]) == 20


PRESSES: dict[str, tuple[Callable[[Workbench], object], dict[str, object]]] = {
    "right": (lambda bench: bench.phone(NUMBER).enter_pin(RIGHT), {"do": "pin", "pin": RIGHT}),
    "wrong": (lambda bench: bench.phone(NUMBER).enter_pin(WRONG), {"do": "pin", "pin": WRONG}),
    "short": (lambda bench: bench.phone(NUMBER).enter_pin("12"), {"do": "pin", "pin": "12"}),
    "cancel": (lambda bench: bench.phone(NUMBER).cancel(), {"do": "cancel"}),
    "ignore": (lambda bench: bench.phone(NUMBER).ignore(), {"do": "ignore"}),
}
"""What a person may press → what a script calls, and what a browser sends."""
CELLS: dict[str, Callable[[Workbench], object]] = {
    "ask": ask,
    "minute": lambda bench: bench.clock.advance(60),
    "expire": lambda bench: bench.clock.advance(301),
    "script": lambda bench: bench.operator.script(NUMBER, ["insufficient_funds"]),
}


def by_script(steps: list[str]) -> list[dict[str, Any]]:
    with Workbench(seed=11) as bench:
        for step in steps:
            try:
                (CELLS.get(step) or PRESSES[step][0])(bench)
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
                arrives(widget, {"id": number, **PRESSES[step][1]})
        return list(bench.trace), [*views, widget.view]


class TestAPersonAndAScriptTakeOnePath:
    def test_the_traces_of_one_payment_are_equal(self):
        steps = ["ask", "wrong", "right", "minute"]
        trace, _ = by_widget(steps)
        assert trace == by_script(steps)
        assert [row["kind"] for row in trace].count("screen") == 3

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.sampled_from([*PRESSES, *CELLS]), max_size=8).map(lambda steps: ["ask", *steps]))
    def test_the_traces_of_any_steps_are_equal_and_no_view_tells_a_pin_or_a_number(self, steps: list[str]):
        trace, views = by_widget(steps)
        assert trace == by_script(steps)
        for view in views:
            shown = json.dumps({**view, "prompt": "", "messages": [{**each, "seq": 0} for each in view["messages"]]})
            assert NUMBER[1:] not in shown
            assert WRONG not in shown
            assert set(view) == set(EMPTY)

    def test_the_pin_is_nowhere_but_in_the_message(
        self, bench: Workbench, browser: Browser, caplog: pytest.LogCaptureFixture
    ):
        with caplog.at_level(logging.DEBUG):
            ask(bench)
            browser.pin(WRONG)
            browser.pin("98")
            browser.press("cancel")
        everything = [json.dumps(browser.widget.get_state(), default=str), json.dumps(browser.sent), caplog.text]
        everything += [json.dumps(browser.seen), repr(browser.widget), json.dumps(list(bench.trace))]
        assert [text for text in everything if WRONG in text] == []
        assert NUMBER[1:] not in everything[0]


def shown(**more: object) -> dict[str, Any]:
    return {
        "phone": NUMBER, "operator": "mtn", "screen": "Pay", "state": ussd.ENTER_PIN, "waiting": True,
        "tries_left": 3, "expires_at": 1_000, "queued": 0, "charge": "ch_1", **more,
    }  # fmt: skip


class TestTheView:
    @given(st.integers(0, 2_000_000), st.integers(0, 2**41))
    def test_time_left_on_a_clock_that_stands_still_is_never_negative(self, sandbox_ms: int, kernel_ms: int):
        view = view_of(shown(), [], Now("manual", sandbox_ms, kernel_ms), EMPTY)
        assert view["left_ms"] == max(0, 1_000_000 - sandbox_ms)
        assert view["ends_ms"] == 0

    @given(st.integers(-1_400, 1_400), st.integers(0, 10**6), st.integers(0, 2**41))
    def test_the_end_on_a_running_clock_is_one_moment_however_the_clocks_are_read(
        self, off_ms: int, gone_ms: int, kernel_ms: int
    ):
        first = view_of(shown(), [], Now("running", 0, kernel_ms), EMPTY)
        assert first["ends_ms"] == kernel_ms + 1_000_000
        again = view_of(shown(), [], Now("running", gone_ms, kernel_ms + gone_ms + off_ms), first)
        assert again == first

    def test_a_running_clock_that_was_moved_and_another_prompt_end_at_other_moments(self):
        first = view_of(shown(), [], Now("running", 0, 0), EMPTY)
        moved = view_of(shown(), [], Now("running", 60_000, 0), first)
        assert moved["ends_ms"] == 940_000
        other = view_of(shown(charge="ch_2"), [], Now("running", 500, 0), first)
        assert other["ends_ms"] == 999_500

    def test_every_screen_that_ends_a_payment_says_how(self):
        ended = set(ussd.SCREEN_TEXTS) - set(ussd.OPEN) - {ussd.IGNORED}
        assert set(OUTCOMES) == ended
        for state, outcome in OUTCOMES.items():
            view = view_of(shown(state=state, waiting=False, expires_at=None), [], Now("manual", 0, 0), EMPTY)
            assert view["outcome"] == outcome

    def test_a_long_inbox_is_cut_at_its_old_end(self):
        many = [{"seq": seq, "sender": "MTN MoMo", "text": str(seq)} for seq in range(MOST_MESSAGES + 5)]
        view = view_of(shown(), many, Now("manual", 0, 0), EMPTY)
        assert [each["seq"] for each in view["messages"]] == list(range(5, MOST_MESSAGES + 5))


def test_the_handset_offers_its_widget_only_where_somebody_looks(bench: Workbench, monkeypatch: pytest.MonkeyPatch):
    phone = bench.phone(NUMBER)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert set(phone._repr_mimebundle_()) == {"text/plain", "text/html"}
    monkeypatch.setenv("JPY_SESSION_NAME", "notebook.ipynb")
    view = phone._repr_mimebundle_()["application/vnd.jupyter.widget-view+json"]
    assert isinstance(view, dict)
    assert view["model_id"] == phone.widget.model_id
