"""A bug of the sandbox's own, as a served one meets it: a 500 that says so, and nothing half done."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.conftest import INTENT
from tests.sandbox.conftest import Sandbox
from workbench.sandbox.service import payments


def test_a_failure_is_kept_for_its_key_and_undoes_what_the_request_did(
    new_sandbox: Callable[..., Sandbox], monkeypatch: pytest.MonkeyPatch
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
