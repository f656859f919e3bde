"""The recipes for other languages, and the shops in several frameworks, each run as its first line says."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.certify.checks import CHECKS
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


def need(found: object, what: str, config: pytest.Config) -> None:
    if not found:
        text = f"NOT TRIED: {what} is needed to run it."
        (pytest.fail if config.getoption("--require-recipes") else pytest.skip)(text)


@pytest.mark.thorough
@pytest.mark.parametrize("name", RECIPES)
def test_the_recipe_takes_a_payment(name: str, tmp_path: Path, pytestconfig: pytest.Config):
    line = re.match(r"(?:<\?php\n)?// .*: (.*)", fixture("recipes").joinpath(name).read_text())[1].split()
    need(shutil.which(line[0]), line[0], pytestconfig)
    shutil.copy(fixture("recipes") / name, tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "GOCACHE": str(tmp_path / "cache")}
    done = subprocess.run(  # noqa: S603  ours
        line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^ok|# pass 1$", done.stdout, re.MULTILINE)
    # Without the PIN it fails: it is the payment that is looked at.
    (tmp_path / name).write_text((tmp_path / name).read_text().replace("1234", "4321"))
    wrong = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=240)  # noqa: S603  ours
    assert wrong.returncode != 0


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
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    checkout, orders = OF_NODE if of_node else OF_PYTHON
    url = "http://127.0.0.1:8000/webhooks"
    exam = ["workbench", "certify", url, "--cmd", line, "--checkout", checkout, "--orders", orders]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603  ours
        [each.replace("8000", port) for each in exam], cwd=shop, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert f"{ROWS} of {ROWS} passed, in" in done.stdout, done.stdout + done.stderr
