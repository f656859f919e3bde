"""Clients that others' generators make of the description, without a setting, each used as a shop would use it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sandbox.test_openapi import PLACES, TOGETHER, described

if TYPE_CHECKING:
    from tests.conftest import Server, Serving

pytestmark = pytest.mark.thorough

BESIDE = str(Path(sys.executable).parent)
NPM = Path(os.environ.get("WORKBENCH_GENERATORS") or os.devnull) / "node_modules"
"""A folder into which npm has installed openapi-typescript, openapi-fetch and typescript."""
WITHIN_S = 120
Generate = Callable[[str, Path], None]


@pytest.fixture(scope="module")
def server(serving: "Serving") -> Iterator["Server"]:
    with serving("--port", "0", "--json") as started:
        yield started


def tool(name: str, config: pytest.Config) -> str:
    found = shutil.which(name, path=os.pathsep.join([BESIDE, str(NPM / ".bin"), os.environ["PATH"]]))
    if not found:
        text = f"NOT TRIED: {name} is needed (pip, or npm into a folder named by WORKBENCH_GENERATORS)."
        (pytest.fail if config.getoption("--require-generators") else pytest.skip)(text)
    return str(found)


def said(*line: str | Path, cwd: Path, **environment: str) -> str:
    """What a command prints, which must succeed."""
    # A generator formats what it made with ruff, where that is on the path.
    path = os.pathsep.join([BESIDE, os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603  the generators, and what they made
        line, cwd=cwd, env={**os.environ, "PATH": path, **environment}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, timeout=WITHIN_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def python_client(pytestconfig: pytest.Config) -> Generate:
    """Has openapi-python-client make a client of a document, at an address or in a file: all of it, or it warns."""
    generator = tool("openapi-python-client", pytestconfig)

    def generate(document: str, into: Path) -> None:
        given = "--url" if document.startswith("http") else "--path"
        told = said(generator, "generate", given, document, "--output-path", into / "made", "--overwrite", cwd=into)
        assert "arning" not in told, told

    return generate


@pytest.fixture
def typescript_client(pytestconfig: pytest.Config) -> Generate:
    """Has openapi-typescript write the types of a document."""
    generator = tool("openapi-typescript", pytestconfig)

    def generate(document: str, into: Path) -> None:
        said(generator, document, "--output", "schema.d.ts", cwd=into)

    return generate


def test_a_shop_in_python_takes_a_payment(python_client: Generate, server: "Server", tmp_path: Path):
    address = server.address
    python_client(f"{address['base_url']}/openapi.json", tmp_path)
    shop, made = Path(__file__).with_name("shop.py"), str(tmp_path / "made")
    check = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", "mypy", shop]
    assert said(*check, cwd=tmp_path, MYPYPATH=made).startswith("Success")
    run = partial(said, sys.executable, shop, address["base_url"], cwd=tmp_path, PYTHONPATH=made)
    assert run(address["secret_key"]) == "refund_exceeds_charge\n"


def test_a_shop_in_typescript_takes_a_payment(
    typescript_client: Generate, server: "Server", tmp_path: Path, pytestconfig: pytest.Config
):
    address = server.address
    typescript_client(f"{address['base_url']}/openapi.json", tmp_path)
    shutil.copy(Path(__file__).with_name("shop.mts"), tmp_path)
    (tmp_path / "node_modules").symlink_to(NPM)
    said(
        tool("tsc", pytestconfig), "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
        "--target", "es2022", "--module", "nodenext", "shop.mts", cwd=tmp_path,
    )  # fmt: skip
    shop = partial(said, tool("node", pytestconfig), "shop.mjs", address["base_url"], cwd=tmp_path)
    assert shop(address["secret_key"]) == "refund_exceeds_charge\n"


@pytest.mark.parametrize("choices", TOGETHER, ids=PLACES)
def test_so_it_is_with_every_alternative_of_the_register(
    choices: dict[str, object], python_client: Generate, typescript_client: Generate, tmp_path: Path
):
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(described(**choices)))
    python_client(str(document), tmp_path)
    typescript_client(str(document), tmp_path)
