"""The recipes for other languages, and the shops in several frameworks, each run as its first line says."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.conftest import SECRET, free_port
from workbench.certify.checks import CHECKS
from workbench.certify.shop import ShopOrder, Target, output_of, read_orders, running
from workbench.domain.signatures import headers_for
from workbench.resources import fixture

RECIPES = sorted(each.name for each in fixture("recipes").iterdir())
SHOPS = sorted(
    line
    for each in fixture("receivers").iterdir()
    for line in re.findall(r'^(?:"""|// )Webhooks in .*?: (.*?)(?:""")?$', each.read_text(), re.MULTILINE)
)
ROWS = sum(1 + (bool(each.order.status) + 1 if each.order else 0) for each in CHECKS)
OF_NODE = (
    'curl -fsS --data-urlencode "phone=$PAYMENTS_CUSTOMER_PHONE" 127.0.0.1:8000/checkout',
    "curl -fsS 127.0.0.1:8000/orders",
)
OF_PYTHON = ("python shop.py checkout", "python shop.py orders")


VERIFIER = """
import { createHmac } from "node:crypto";

export class Webhook {
  constructor(secret) { this.key = Buffer.from(secret.slice(6), "base64"); }
  verify(body, headers) {
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const signature = `v1,${createHmac("sha256", this.key).update(signed).digest("base64")}`;
    if (headers["webhook-signature"] !== signature) throw new Error("not ours");
    return JSON.parse(body);
  }
}
"""
"""In the place of the package that Node's shop is given by name, so that nothing is installed."""
BOOKS = {
    "node": ("node shop.mjs {port} ./verifier.mjs", "shop.jsonl"),
    "flask": (f"{sys.executable} -m flask --app flask_shop run --port {{port}}", "shop.sqlite"),
}
"""How each shop is started, and where it keeps what it has done."""


@contextmanager
def open_shop(command: str, folder: Path) -> Iterator[str]:
    """The shop's address, while it runs as a process of its own."""
    target = Target(f"http://127.0.0.1:{free_port()}")
    line = f"cd {folder} && exec {command.format(port=target.port)}"
    with running(line, {"PAYMENTS_WEBHOOK_SECRET": SECRET}, target):
        yield target.url


def tell(shop_url: str) -> int:
    """The status of the response to a message that says: paid."""
    event = {"id": "evt_1", "type": "payment_intent.succeeded", "data": {"object": {"id": "pi_1"}}}
    body = json.dumps(event).encode()
    return httpx.post(
        f"{shop_url}/webhooks", content=body, headers=headers_for(SECRET, "evt_1", int(time.time()), body)
    ).status_code


def orders(name: str, shop_url: str, folder: Path) -> dict[str, ShopOrder]:
    """What the shop has fulfilled, as the exam asks it."""
    line = f"cd {folder} && {sys.executable} shop.py orders"
    given = {"PAYMENTS_WEBHOOK_SECRET": SECRET}
    return read_orders(httpx.get(f"{shop_url}/orders").text if name == "node" else output_of("--orders", line, given))


def need(found: object, what: str, config: pytest.Config) -> None:
    if not found:
        text = f"NOT TRIED: {what} is needed to run it."
        (pytest.fail if config.getoption("--require-recipes") else pytest.skip)(text)


GUARDS = {
    "PaymentsTest.java": {
        "!messages.add(id)": "false",
        "before.refunded ?": "false ?",
        "return 400; // not genuine": ";",
    },
    "payments.test.mjs": {"messages.has(id)": "false", "refunded ?": "false ?", "return 400; // not genuine": ";"},
    "payments_test.go": {
        "s.messages[id] {": "false {",
        "!before.refunded": "true",
        "return http.StatusBadRequest // not genuine": "_ = 0 //",
    },
    "payments_test.php": {
        "isset($books['messages'][$id])": "false",
        "!isset($books['orders'][$about['id']]['refunded'])": "true",
        "return 400; // not genuine": ";",
    },
}
"""What keeps a shop from shipping twice, from shipping what was refunded and from believing anybody → without it."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", RECIPES)
def test_the_recipe_passes_and_finds_each_flaw_of_its_shop(name: str, tmp_path: Path, pytestconfig: pytest.Config):
    text = fixture("recipes").joinpath(name).read_text("utf-8")
    line = re.match(r"(?:<\?php\n)?// .*: (.*)", text)[1].split()
    need(shutil.which(line[0]), line[0], pytestconfig)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "GOCACHE": str(tmp_path / "cache")}

    def run(recipe: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / name).write_text(recipe, "utf-8")
        return subprocess.run(  # noqa: S603  ours
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=240
        )

    done = run(text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"(^ok: .*\n){3}|# pass 3$|^ok ", done.stdout, re.MULTILINE)
    flawed = {guard: text.replace(guard, instead) for guard, instead in GUARDS[name].items()}
    for flaw, recipe in {**flawed, "another PIN": re.sub(r"\b1234\b", "4321", text)}.items():
        assert recipe != text, flaw
        assert run(recipe).returncode != 0, flaw


@pytest.mark.thorough
@pytest.mark.parametrize("name", BOOKS)
def test_a_shop_whose_books_fail_once_fulfils_the_order_when_the_message_comes_again(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
):
    is_there = shutil.which("node") if name == "node" else importlib.util.find_spec("standardwebhooks")
    need(is_there and (name == "node" or importlib.util.find_spec("flask")), name, pytestconfig)
    command, books = BOOKS[name]
    folder = shutil.copytree(fixture("receivers"), tmp_path / "shop")
    (folder / "verifier.mjs").write_text(VERIFIER)
    once = {"pi_1": (1, "paid")}
    with open_shop(command, folder) as url:
        (folder / books).mkdir()  # nothing can be written to it
        assert tell(url) == 500
        (folder / books).rmdir()
        assert [tell(url), tell(url)] == [200, 200]
        assert orders(name, url, folder) == once
    with open_shop(command, folder) as url:
        assert orders(name, url, folder) == once
        assert tell(url) == 200
        assert orders(name, url, folder) == once


def test_nodes_shop_reads_books_that_end_in_the_middle_of_a_line(tmp_path: Path, pytestconfig: pytest.Config):
    need(shutil.which("node"), "node", pytestconfig)
    folder = shutil.copytree(fixture("receivers"), tmp_path / "shop")
    (folder / "verifier.mjs").write_text(VERIFIER)
    (folder / "shop.jsonl").write_text('\n{"message":"evt_0","fulfils":"pi_0"}\n{"message":"evt_1","ful')
    command, _ = BOOKS["node"]
    both = {"pi_0": (1, "paid"), "pi_1": (1, "paid")}
    with open_shop(command, folder) as url:
        assert tell(url) == 200
        assert orders("node", url, folder) == both
    with open_shop(command, folder) as url:
        assert orders("node", url, folder) == both


@pytest.mark.thorough
@pytest.mark.parametrize("line", SHOPS)
def test_the_shop_passes_the_whole_exam(line: str, tmp_path: Path, pytestconfig: pytest.Config):
    of_node = line.startswith("node")
    framework = "npm" if of_node else next(each for each in ("django", "fastapi", "flask") if each in line)
    need(shutil.which("npm") if of_node else importlib.util.find_spec(framework), framework, pytestconfig)
    shop = shutil.copytree(fixture("receivers"), tmp_path / "shop")
    if of_node:
        install = [shutil.which("npm"), "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(install, cwd=shop, capture_output=True, check=True, timeout=120)  # noqa: S603  this shop's packages
    port = free_port()
    checkout, orders = OF_NODE if of_node else OF_PYTHON
    url = "http://127.0.0.1:8000/webhooks"
    exam = ["workbench", "certify", url, "--cmd", line, "--checkout", checkout, "--orders", orders]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603  ours
        [each.replace("8000", port) for each in exam], cwd=shop, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert f"{ROWS} of {ROWS} passed, in" in done.stdout, done.stdout + done.stderr
