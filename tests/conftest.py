"""The two doors of one sandbox: in this process, and served by a process of its own."""

import itertools
import json
import select
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from workbench import Workbench

COMMAND = str(Path(sys.executable).with_name("workbench"))
START_S = 30
STOP_S = 15
LIFE_S = 600
DOORS = ("in_process", "served")


class Server(NamedTuple):
    """`workbench serve` as a process, and the first line that it printed."""

    process: subprocess.Popen[str]
    first_line: str
    log: Path

    @property
    def errors(self) -> str:
        """What it has written to standard error."""
        return self.log.read_text()

    @property
    def address(self) -> dict[str, str]:
        return json.loads(self.first_line)


Serving = Callable[..., AbstractContextManager[Server]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=5, help="How often the served sandbox is killed under load.")
    parser.addoption("--seed", type=int, default=None, help="The seed of that load, to see a run again.")


@pytest.fixture(scope="session")
def command() -> str:
    """The console script of this very interpreter's environment."""
    return COMMAND


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    """Start `workbench serve` with options; ended by its process id when the block is left."""

    @contextmanager
    def start(*options: str) -> Iterator[Server]:
        errors = tmp_path_factory.mktemp("serve") / "stderr.txt"
        with errors.open("w") as stderr:
            process = subprocess.Popen(  # noqa: S603  our own command
                [COMMAND, "serve", *options], stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        limit = threading.Timer(LIFE_S, process.kill)
        limit.daemon = True
        limit.start()
        try:
            ready, _, _ = select.select([process.stdout], [], [], START_S)
            line = process.stdout.readline() if ready and process.stdout else ""
            assert line, f"the server said nothing: {errors.read_text()}"
            yield Server(process, line, errors)
        finally:
            limit.cancel()
            end(process)

    return start


def end(process: subprocess.Popen[str]) -> None:
    """Ask it to end, wait, and make it."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_S)
    if process.stdout:
        process.stdout.close()


@pytest.fixture(scope="session")
def served_bench(serving: Serving) -> Iterator[Workbench]:
    """One served sandbox for the whole session, and one receiver for it: its store is shared."""
    with serving("--port", "0", "--json") as server, Workbench.connect(**server.address) as bench:
        yield bench


@pytest.fixture(params=DOORS)
def bench(request: pytest.FixtureRequest) -> Iterator[Workbench]:
    """A sandbox through each door; after every test its ledger verifies and balances."""
    if request.param == "served":
        bench = request.getfixturevalue("served_bench")
        yield bench
        check_books(bench)
        return
    with Workbench(seed=7) as bench:
        yield bench
        check_books(bench)


@pytest.fixture(scope="session")
def new_number() -> Callable[..., str]:
    """Numbers that no test used before, of MTN unless another prefix is asked for."""
    numbers = itertools.count(1_000_001)
    return lambda prefix="96": f"+260{prefix}{next(numbers)}"


def panel(bench: Workbench, path: str) -> httpx.Response:
    return bench.http.get(f"/sandbox/{path}", headers={"Authorization": f"Bearer {bench.secret_key}"})


def check_books(bench: Workbench) -> None:
    """The chain of hashes holds, and debits equal credits for each entry and each currency."""
    verified = panel(bench, "ledger/verify").json()
    assert verified["holds"], verified
    net: Counter[tuple[str, str]] = Counter()
    for row in panel(bench, "ledger/postings").json()["data"]:
        assert type(row["amount_minor"]) is int
        assert row["amount_minor"] > 0
        net[row["entry"], row["currency"]] += row["amount_minor"] if row["side"] == "debit" else -row["amount_minor"]
    assert not {key: value for key, value in net.items() if value}
    assert len({entry for entry, _ in net}) == verified["entries"]
