"""The kernel's side of the console in Jupyter: what it answers to a page, and what it tells it."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import INTENT, Serving, charge_of, is_true_soon
from workbench import Workbench
from workbench.lab.console_widget import Console

Ask = Callable[..., dict[str, Any]]


def asking(bench: Workbench) -> Ask:
    """Ask as a page does: by messages with a number each."""
    channel = Console(bench).channel

    def ask(
        method: str, path: str, body: object = None, headers: dict[str, str] | None = None, **more: object
    ) -> dict[str, Any]:
        sent = {"Content-Type": "application/json", "Idempotency-Key": "k"} if body else headers
        request = {"method": method, "path": path, "headers": sent, "body": body and json.dumps(body), **more}
        answered = channel.answer({"number": "a7", "request": request})
        assert answered["number"] == "a7"
        return answered

    return ask


@pytest.fixture
def ask(bench: Workbench) -> Ask:
    return asking(bench)


def test_a_request_has_the_benchs_key_its_own_or_none(bench: Workbench, ask: Ask):
    assert ask("GET", "/v1/payment_intents?limit=1")["status"] == 200
    # The one that takes the key as Basic.
    assert ask("POST", "/v1/charges", charge_of("+260961234567"))["status"] == 200
    assert ask("GET", "/v1/balance", anonymous=True)["status"] == 401
    own = {"Authorization": f"Bearer {bench.publishable_key!s}"}
    assert ask("GET", "/v1/balance", headers=own)["status"] == 403


def test_what_a_page_does_is_what_a_script_does_and_what_it_reads_leaves_no_trace(bench: Workbench, ask: Ask):
    before = len(bench.trace)
    assert ask("GET", "/v1/balance", headers={"Sandbox-Unseen": "true"})["status"] == 200
    assert len(bench.trace) == before
    made = ask("POST", "/v1/payment_intents", INTENT)
    assert "POST /v1/payment_intents" in [row["what"] for row in bench.trace]
    assert bench.client.payment_intents.list().data[0].id == json.loads(made["text"])["id"]


@pytest.mark.parametrize("path", ["http://example.org/v1/balance", "//example.org/v1/balance", "/nothing"])
def test_nothing_but_this_sandbox_is_reached(ask: Ask, path: str):
    answered = ask("GET", path)
    assert answered.get("status") == 404 or answered["failed"]


def told(bench: Workbench) -> list[dict[str, Any]]:
    news = list[dict[str, Any]]()
    Console(bench).channel.listeners.append(news.append)
    return news


def test_what_changes_is_told_with_its_kind_a_reset_and_the_end_too(bench: Workbench):
    news = told(bench)
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"))
    bench.client.payment_intents.confirm(intent.id, phone="+260961234567", provider="mtn")
    assert is_true_soon(lambda: {("payment", intent.id), ("prompt", "+260961234567")} <= {
        (row["kind"], row["id"]) for each in news for row in each["data"]
    })  # fmt: skip
    bench.reset()
    assert is_true_soon(lambda: any(each["reset"] for each in news))
    bench.close()
    assert "Run the notebook's cells again" in news[-1]["lost"]


def test_a_closed_bench_fails_what_is_asked(bench: Workbench, ask: Ask):
    bench.close()
    assert ask("GET", "/sandbox/clock")["failed"]


@pytest.mark.thorough
@pytest.mark.socket
def test_served_it_is_told_that_the_sandbox_is_gone(serving: Serving):
    with serving("--port", "0", "--json") as server, Workbench.connect(**server.address) as bench:
        ask, news = asking(bench), told(bench)
        assert ask("GET", "/sandbox/clock")["status"] == 200
        # What is asked for the page's sake is no line of the server's.
        assert "/sandbox/clock" in server.errors
        assert "/sandbox/changes" not in server.errors
        server.process.terminate()
        assert is_true_soon(lambda: any("lost" in each for each in news))
        assert ask("GET", "/sandbox/clock")["failed"]


def test_without_a_kernel_it_is_a_record_and_says_how_it_is_live(bench: Workbench):
    assert "bench.console()" in repr(bench.console())
    bench.client.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
    shown = bench.console()._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert "payment_intents" in str(shown["text/html"])
    assert bench.console() is bench.console()


def test_in_jupyter_a_widget_shows_it_and_what_a_notebook_keeps_of_it_is_small(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    bench.client.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
    assert "application/vnd.jupyter.widget-view+json" in bench.console()._repr_mimebundle_()
    widget = bench.console().widget
    kept = widget.get_state()
    assert kept["record"] == widget.record != ""
    # The console's files go to a page by messages.
    assert len(kept["_esm"]) < 10_000
    assert str(bench.secret_key) not in json.dumps(kept)
