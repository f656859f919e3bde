"""Webhooks as a backend in Node takes them, with the npm package `standardwebhooks`: not our own verifier."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from workbench import Workbench

if TYPE_CHECKING:
    from tests.conftest import Bounded, Serving

ANSWER_S, INSTALL_S = 60, 120
PAID_IN_ORDER = [
    "payment_intent.created", "payment_intent.requires_action", "payment_intent.processing", "charge.succeeded",
    "payment_intent.succeeded",
]  # fmt: skip


@pytest.fixture
def backend(tmp_path: Path) -> list[str | Path]:
    """How to start it, its package fetched; without node and npm it is skipped, aloud: under CI that is a failure."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        reason = "NO NODE BACKEND WAS TRIED: node and npm are needed to verify webhooks in another language."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    for name in ("package.json", "backend.js"):
        shutil.copy(Path(__file__).with_name(name), tmp_path)
    done = subprocess.run(  # noqa: S603  npm, on this test's own package
        [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=INSTALL_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [node, tmp_path / "backend.js"]


@pytest.mark.thorough
def test_node_verifies_every_delivery(
    backend: list[str | Path], serving: "Serving", bounded: "Bounded", new_number: Callable[[], str]
):
    pipe, phone = subprocess.PIPE, new_number()
    process = subprocess.Popen(backend, stdin=pipe, stdout=pipe, text=True)  # noqa: S603  this test's own backend
    with bounded(process), serving("--port", "0", "--json") as server, Workbench.connect(**server.address) as bench:
        # What it does not say in time, it says never.
        limit = threading.Timer(ANSWER_S, process.kill)
        limit.daemon = True
        limit.start()
        told = map(json.loads, process.stdout)
        url = f"http://127.0.0.1:{next(told)['port']}/webhooks"
        process.stdin.write(bench.client.webhook_endpoints.create(url=url).secret + "\n")
        process.stdin.flush()
        assert next(told) == {"ready": True}
        intent = bench.client.payment_intents.create(amount=Decimal("150.10"), description="Monstera, Größe ½")
        bench.client.payment_intents.confirm(intent.id, phone=phone, provider="mtn")
        bench.phone(phone).enter_pin("1234")
        taken = [next(told) for _ in PAID_IN_ORDER]
        bench.clock.advance(0)
        sent = [row["detail"]["event"] for row in bench.trace if row["kind"] == "webhook"]
        assert taken == [
            {"id": event, "status": 200, "event": {"id": event, "type": each}}
            for event, each in zip(sent, PAID_IN_ORDER, strict=True)
        ]
