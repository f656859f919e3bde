"""Webhooks as a backend in Node takes them, with the npm package `standardwebhooks`: not our own verifier."""

import base64
import json
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import httpx
import pytest

from workbench import Workbench

if TYPE_CHECKING:
    from tests.conftest import Serving

ANSWER_S, INSTALL_S = 20, 120
PAID_IN_ORDER = [
    "payment_intent.created", "payment_intent.requires_action", "payment_intent.processing", "charge.succeeded",
    "payment_intent.succeeded",
]  # fmt: skip
CHANGES: dict[str, Callable[[bytes, dict[str, str]], tuple[bytes, dict[str, str]]]] = {
    "a byte of the body": lambda body, headers: (body.replace(b"ZMW", b"ZMV").replace(b"zmw", b"zmv"), headers),
    "a space more": lambda body, headers: (body + b" ", headers),
    "another id": lambda body, headers: (body, {**headers, "webhook-id": "evt_other"}),
    "another second": lambda body, headers: (
        body, {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 1)},
    ),
    "an old stamp": lambda body, headers: (body, {**headers, "webhook-timestamp": "1"}),
    "no signature": lambda body, headers: (body, {**headers, "webhook-signature": ""}),
}  # fmt: skip


class Backend:
    """The Node process: what it is told, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._told: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(process.stdout,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.next()['port']}"

    def knows(self, path: str, secret: str) -> None:
        self._process.stdin.write(json.dumps({path: secret}) + "\n")
        self._process.stdin.flush()
        assert path in self.next()["known"]

    def next(self) -> dict[str, Any]:
        """The next line that it writes; queue.Empty when none comes."""
        return self._told.get(timeout=ANSWER_S)

    def _listen(self, output: IO[str]) -> None:
        for line in output:
            self._told.put(json.loads(line))


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """The backend, its package fetched; without node and npm it is skipped, aloud, and under CI that is a failure."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        reason = "NO NODE BACKEND WAS TRIED: node and npm are needed to verify webhooks in another language."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "backend.js"):
        shutil.copy(Path(__file__).with_name(name), folder)
    done = subprocess.run(  # noqa: S603  npm, on this test's own package
        [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=INSTALL_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    process = subprocess.Popen(  # noqa: S603  this test's own backend
        [node, folder / "backend.js"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Backend(process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def bench(serving: "Serving") -> Iterator[Workbench]:
    with serving("--port", "0", "--json") as server, Workbench.connect(**server.address) as bench:
        yield bench


@pytest.fixture
def pay(bench: Workbench, backend: Backend, new_number: Callable[[], str]) -> Iterator[Callable[[], object]]:
    """Takes a payment; the backend's URL is registered, and its secret handed over."""
    made = bench.client.webhook_endpoints.create(url=f"{backend.url}/webhooks")
    backend.knows("/webhooks", made.secret)
    yield lambda: charged(bench, new_number)
    bench.client.webhook_endpoints.delete(made.id)


def charged(bench: Workbench, new_number: Callable[[], str]) -> object:
    phone = new_number()
    return bench.client.charges.create(amount=100, channel="mtn", phone=phone, idempotency_key=phone[1:])


def test_node_verifies_every_delivery(
    bench: Workbench, backend: Backend, pay: Callable[[], object], new_number: Callable[[], str]
):
    phone = new_number()
    intent = bench.client.payment_intents.create(amount=Decimal("150.10"), description="Monstera, Größe ½")
    bench.client.payment_intents.confirm(intent.id, phone=phone, provider="mtn")
    bench.phone(phone).enter_pin("1234")
    charges = [pay() for _ in range(5)]
    told = [backend.next() for _ in [*PAID_IN_ORDER, *charges]]
    assert [(each["status"], each.get("reason")) for each in told] == [(200, None)] * len(told)
    assert [each["event"]["type"] for each in told] == PAID_IN_ORDER + ["charge.succeeded"] * len(charges)
    assert [each["event"]["id"] for each in told] == [each["headers"]["webhook-id"] for each in told]
    bench.clock.advance(0)
    sent = [row["detail"]["event"] for row in bench.trace if row["kind"] == "webhook"]
    assert [each["event"]["id"] for each in told] == sent


def test_node_refuses_what_was_tampered_with(backend: Backend, pay: Callable[[], object]):
    pay()
    genuine = backend.next()
    body = base64.b64decode(genuine["body"])
    headers = {name: value for name, value in genuine["headers"].items() if name.startswith("webhook-")}
    with httpx.Client(trust_env=False) as http:

        def sent(body: bytes, headers: dict[str, str]) -> int:
            answer = http.post(f"{backend.url}/webhooks", content=body, headers=headers)
            assert backend.next()["status"] == answer.status_code
            return answer.status_code

        assert sent(body, headers) == 200
        assert {name: sent(*change(body, headers)) for name, change in CHANGES.items()} == dict.fromkeys(CHANGES, 400)
