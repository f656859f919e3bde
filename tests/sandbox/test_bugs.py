"""What could fail within the sandbox itself: a bug is a 500 that says so, and nothing is half done."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, cast

import httpx
import pytest

from tests.conftest import INTENT
from tests.sandbox.conftest import NewSandbox, Sandbox
from workbench.errors import ServeRefused, StorageFull
from workbench.sandbox import server
from workbench.sandbox.driver import Driver
from workbench.sandbox.service import payments


def test_a_failure_is_kept_for_its_key_and_undoes_what_the_request_did(
    new_sandbox: NewSandbox, monkeypatch: pytest.MonkeyPatch
):
    sandbox = new_sandbox(raise_bugs=False)

    def create(key: str) -> httpx.Response:
        return sandbox.http.post("/v1/payment_intents", json=INTENT, headers={"Idempotency-Key": key})

    def bug(*_: Any) -> None:  # noqa: ANN401  whatever it is called with
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(payments, "emit", bug)
        first = create("order-1")
    assert (first.status_code, first.json()["code"]) == (500, "service_failed")
    assert sandbox.client.payment_intents.list().data == []
    again, other = create("order-1"), create("order-2")
    assert (again.status_code, again.content) == (500, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert other.status_code == 200
    assert [each.id for each in sandbox.client.payment_intents.list().data] == [other.json()["id"]]


def test_what_was_done_is_answered_though_the_time_that_it_takes_cannot_be_written(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
):
    def cannot(*_: object) -> None:
        message = "the disk is full"
        raise StorageFull(message)

    monkeypatch.setattr(Driver, "advance", cannot)
    made = sandbox.http.post("/v1/payment_intents", json=INTENT, headers={"Sandbox-Scenario": "slow"})
    assert made.status_code == 200
    assert [each.id for each in sandbox.client.payment_intents.list()] == [made.json()["id"]]


def test_a_port_whose_server_does_not_start_says_why_at_once(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    def no_more(answering: Coroutine[Any, Any, None]) -> None:
        answering.close()
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(asyncio, "run", no_more)
    with pytest.raises(ServeRefused, match=r"did not start.*Too many open files"), server.listening(sandbox.engine, 0):
        pass


def test_a_server_whose_workers_are_not_ready_in_time_ends_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(server, "_START_S", 0)
    # Tests of notebooks, before this one in the same process, may have left IPython's `__main__`, which has no spec.
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None, raising=False)
    with pytest.raises(SystemExit):
        server._supervise(1, cast("Any", (None,) * 5), lambda: None)  # noqa: SLF001  no worker gets as far as these
    assert "No worker process was ready within 0 s; so the server ends." in caplog.text
