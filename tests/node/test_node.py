"""Webhooks as a backend in Node takes them, with the npm package `standardwebhooks`: not our own verifier."""

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

import pytest

from workbench import Workbench

if TYPE_CHECKING:
    from tests.conftest import Serving

ANSWER_S, INSTALL_S = 20, 120
PAID_IN_ORDER = [
    "payment_intent.created", "payment_intent.requires_action", "payment_intent.processing", "charge.succeeded",
    "payment_intent.succeeded",
]  # fmt: skip


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


def test_node_verifies_every_delivery(bench: Workbench, backend: Backend, new_number: Callable[[], str]):
    backend.knows("/webhooks", bench.client.webhook_endpoints.create(url=f"{backend.url}/webhooks").secret)
    phone = new_number()
    intent = bench.client.payment_intents.create(amount=Decimal("150.10"), description="Monstera, Größe ½")
    bench.client.payment_intents.confirm(intent.id, phone=phone, provider="mtn")
    bench.phone(phone).enter_pin("1234")
    told = [backend.next() for _ in PAID_IN_ORDER]
    assert [(each["status"], each.get("reason")) for each in told] == [(200, None)] * len(told)
    assert [each["event"]["type"] for each in told] == PAID_IN_ORDER
    assert [each["event"]["id"] for each in told] == [each["id"] for each in told]
    bench.clock.advance(0)
    sent = [row["detail"]["event"] for row in bench.trace if row["kind"] == "webhook"]
    assert [each["event"]["id"] for each in told] == sent
