"""The two doors of one sandbox: in this process, and served by a process of its own."""

import atexit
import base64
import gc
import itertools
import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

from workbench import Workbench
from workbench.cli import app
from workbench.resources import course

# A worker of xdist has COLUMNS, by which commands would wrap what they print.
os.environ.pop("COLUMNS", None)
COMMAND = str(Path(sys.executable).with_name("workbench"))
START_S = 60
STOP_S = 15
LIFE_S = 1800
"""Longer than any run of the tests: one served sandbox lives as long as they do."""
DOORS = ("in_process", "served")
_NUMBERS = itertools.count(1_000_001)
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
"""The metadata of a notebook for Python."""


SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
"""The signing secret of an endpoint that no sandbox has registered."""


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
        """What a bench connects with."""
        return {name: value for name, value in json.loads(self.first_line).items() if name != "console_url"}

    @property
    def console_url(self) -> str:
        return json.loads(self.first_line)["console_url"]

    @property
    def workers(self) -> list[psutil.Process]:
        """The processes that answer, without the helpers of multiprocessing: a single one is the server itself."""
        own = psutil.Process(self.process.pid)
        return [each for each in own.children() if "spawn_main" in " ".join(each.cmdline())] or [own]

    @staticmethod
    def is_alive(worker: psutil.Process) -> bool:
        """A process that ended and that nobody asked for yet is a zombie: it holds nothing."""
        try:
            return worker.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


INTENT = {"amount": 1, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
"""The body of the least intent."""
Serving = Callable[..., AbstractContextManager[Server]]
Bounded = Callable[[subprocess.Popen[Any]], AbstractContextManager[None]]

# The same examples on every machine: a failure tells of the change that is tested, not of the luck of a draw. To look
# further, `--hypothesis-profile=explore` draws anew each time.
settings.register_profile("workbench", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=200, derandomize=True)
settings.register_profile("long", derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=200)
# Before pytest reads --hypothesis-profile, which then has the last word.
settings.load_profile("workbench")
# Next to nothing of what is loaded until all tests are collected is garbage: to look for it took a quarter of the time.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=5, help="How often the served sandbox is killed under load.")
    parser.addoption("--workers", type=int, default=1, help="By how many workers it is served then.")
    parser.addoption("--thorough", action="store_true", help="Run the long tests too, and all of the doors served.")
    parser.addoption("--examples", type=int, help="With how many random requests each operation is tried.")
    parser.addoption("--installed", action="store_true", help="Install the wheel elsewhere, and run its notebooks.")
    parser.addoption("--months", type=int, default=2, help="Over how many seeds months are simulated and reconciled.")
    parser.addoption("--payments", type=int, help="With how many, and four times as many, memory is told.")
    parser.addoption("--renew", action="store_true", help="Write what is held in files anew, from a run.")
    parser.addoption("--require-browser", action="store_true", help="Fail, rather than skip, without a browser.")
    parser.addoption("--require-recipes", action="store_true", help="Fail, rather than skip, without a language.")
    parser.addoption("--require-generators", action="store_true", help="Fail, rather than skip, without a generator.")
    parser.addoption("--require-postgresql", action="store_true", help="Fail, rather than skip, without PostgreSQL.")
    parser.addoption("--pictures", action="store_true", help="Write the README's pictures anew, into fixtures/.")
    parser.addoption("--seed", type=int, default=None, help="The seed of that load, to see a run again.")


def pytest_configure() -> None:
    """Let what the tests start hear Ctrl-C, even where they run in a shell's background, which ignores it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest itself selects by markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the thorough tests to whoever asks for them; one through a socket that is not about it is such a one."""
    kept, left_out = [], []
    for item in items:
        through = getattr(item, "callspec", None) and item.callspec.params.get("shared_bench")
        if through == "served" and not item.get_closest_marker("socket"):
            item.add_marker("thorough")
        (left_out if item.get_closest_marker("thorough") else kept).append(item)
    if left_out and not config.getoption("--thorough"):
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_finish() -> None:
    # Until the interpreter ends, no round of the collector looks through all that is loaded.
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_server_is_left() -> Iterator[None]:
    """One whose socket was closed before it was shut down spins, and takes as long again as the tests do."""
    yield
    assert [each.name for each in threading.enumerate() if "serve_forever" in each.name] == []


@pytest.fixture(scope="session")
def command() -> str:
    """The console script of this very interpreter's environment."""
    return COMMAND


@pytest.fixture(scope="session")
def bounded() -> Bounded:
    """Ends a process by its id when the block is left: asks it to, waits, and makes it. None outlives a test run."""

    @contextmanager
    def started(process: subprocess.Popen[Any]) -> Iterator[None]:
        limit = threading.Timer(LIFE_S, process.kill)
        limit.daemon = True
        limit.start()
        # Popen's own exit closes the pipes and waits for the process.
        with process:
            try:
                yield
            finally:
                limit.cancel()
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()

    return started


@pytest.fixture(scope="session")
def serving(bounded: Bounded, tmp_path_factory: pytest.TempPathFactory) -> Serving:
    """Start `workbench serve` with options; ended by its process id when the block is left.

    What SIGHUP means to it is `hang_up`, whether or not the tests themselves run under nohup.
    """

    @contextmanager
    def start(*options: str, hang_up: Any = signal.SIG_DFL) -> Iterator[Server]:  # noqa: ANN401  as of signal.signal
        errors = tmp_path_factory.mktemp("serve") / "stderr.txt"
        with errors.open("w") as stderr:
            process = subprocess.Popen(  # noqa: S603  our own command
                [COMMAND, "serve", *options], stdout=subprocess.PIPE, stderr=stderr, text=True,
                preexec_fn=partial(signal.signal, signal.SIGHUP, hang_up),  # noqa: PLW1509  one call, which takes no lock
            )  # fmt: skip
        with bounded(process):
            ready, _, _ = select.select([process.stdout], [], [], START_S)
            line = process.stdout.readline() if ready and process.stdout else ""
            assert line, f"the server said nothing: {errors.read_text()}"
            yield Server(process, line, errors)

    return start


@contextmanager
def served(serving: Serving, *options: str) -> Iterator[Workbench]:
    with serving("--port", "0", "--json", *options) as server, Workbench.connect(**server.address) as bench:
        yield bench


@pytest.fixture(scope="session")
def served_bench(serving: Serving) -> Iterator[Workbench]:
    """One served sandbox for the whole session, and one receiver for it: its store is shared."""
    with served(serving, "--seed", "7", "--allow-host", "allowed.example", "--allow-host", "192.0.2.7") as bench:
        yield bench


@pytest.fixture(scope="module", params=DOORS)
def shared_bench(request: pytest.FixtureRequest) -> Iterator[Workbench]:
    """A sandbox through each door for the tests of a file; after the last of them its ledger verifies and balances.

    Served it is that of the session, or the file's own if that is to be ALONE.
    """
    if request.param == "in_process":
        opened = Workbench(seed=7)
    elif getattr(request.module, "ALONE", False):
        opened = served(request.getfixturevalue("serving"))
    else:
        opened = nullcontext(request.getfixturevalue("served_bench"))
    with opened as bench:
        yield bench
        check_books(bench)


@pytest.fixture
def bench(shared_bench: Workbench) -> Workbench:
    """The file's sandbox."""
    return shared_bench


class StoreFile(NamedTuple):
    """A store's file, read and changed beside the sandbox that writes it."""

    path: Path

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection:
            return connection.execute(sql).fetchall()

    def run(self, statements: str) -> None:
        """Change the file as somebody with SQL would."""
        with closing(sqlite3.connect(self.path, timeout=30)) as connection:
            connection.executescript(statements)

    def is_whole(self) -> bool:
        """What SQLite itself says of every page and index of the file."""
        return self.rows("PRAGMA integrity_check") == [("ok",)] and not self.rows("PRAGMA foreign_key_check")


@pytest.fixture
def store(tmp_path: Path) -> StoreFile:
    """Where a store will be, once a sandbox has made it."""
    return StoreFile(tmp_path / "store.db")


@pytest.fixture(scope="session")
def new_number() -> Callable[..., str]:
    """Numbers that no test used before, of MTN unless another prefix is asked for."""
    return lambda prefix="96": f"+260{prefix}{next(_NUMBERS)}"


def charge_of(phone: str, minor: int = 10_000, channel: str = "mtn") -> dict[str, Any]:
    """The body of a charge."""
    return {"amount": minor, "currency": "zmw", "type": "mobile_money", "channel": channel, "phone": phone}


def method_on(phone: str, provider: str = "mtn") -> dict[str, Any]:
    """The body of a confirm."""
    return {"payment_method": {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": provider}}}


class Caller:
    """Requests with a key of a sandbox."""

    def __init__(self, bench: Workbench, key: str) -> None:
        self.bench, self.key = bench, key

    def call(
        self, method: str, path: str, body: object = None, *, key: str | None = None, **headers: str
    ) -> httpx.Response:
        """A request with the key as the operation takes it; `Sandbox_Scenario="x"` is a header."""
        key = self.key if key is None else key
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if path == "/v1/charges" and method == "POST":
            named.setdefault("Idempotency-Key", f"key-{next(_NUMBERS)}")
            named["Authorization"] = "Basic " + base64.b64encode(f"{key}:".encode()).decode()
        else:
            named["Authorization"] = f"Bearer {key}"
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **named}
        return self.bench.http.request(method, path, content=content, headers=headers)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        return self.call("POST", path, body, **headers)


class Shop(Caller):
    """A merchant of its own in a sandbox that others use too: raw requests, and what they left behind."""

    def __init__(self, bench: Workbench, new_number: Callable[..., str]) -> None:
        made = bench.http.post("/sandbox/accounts", json={"name": "SHOP"}, headers=bearer(bench)).json()
        super().__init__(bench, made["secret_key"])
        self.new_number = new_number
        self.id: str = made["id"]
        self.publishable: str = made["publishable_key"]

    def read(self, path: str) -> Any:  # noqa: ANN401  JSON
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return json.loads(answer.content, parse_float=Decimal)

    def charge(self, minor: int = 10_000, phone: str | None = None, *, channel: str = "mtn", **more: str) -> str:
        """The id of a charge, paid unless the number says otherwise."""
        phone = phone or self.new_number({"mtn": "96", "airtel": "97", "zamtel": "95"}[channel])
        answer = self.post("/v1/charges", charge_of(phone, minor, channel), **more)
        return str(answer.json()["id" if answer.status_code == 200 else "charge"])

    def intent(self, amount: str = "100.00") -> str:
        return str(self.post("/v1/payment_intents", {**INTENT, "amount": float(amount)}).json()["id"])

    def confirm(self, intent_id: str, phone: str, **more: str) -> httpx.Response:
        return self.post(f"/v1/payment_intents/{intent_id}/confirm", method_on(phone), **more)

    def paid_intent(self, amount: str = "100.00") -> str:
        intent_id, phone = self.intent(amount), self.new_number()
        assert self.confirm(intent_id, phone).status_code == 200
        assert self.post(f"/sandbox/phones/{phone}/input", {"text": "1234"}).status_code == 200
        return intent_id

    def status(self, path: str) -> str:
        return str(self.read(path)["status"])

    def events(self) -> list[str]:
        """The types of this merchant's events, oldest first."""
        return [each["type"] for each in self.read("/v1/events?limit=100")["data"]][::-1]

    def balance(self) -> tuple[int, int, int]:
        """Pending, available and owed, in ngwee."""
        found = self.read("/v1/balance")
        return tuple(int(found[name][0]["amount"] * 100) for name in ("pending", "available", "owed"))  # type: ignore[return-value]  three of them

    def entries(self, payment: str | None = None) -> list[tuple[str, list[tuple[str, int, int]]]]:
        """(kind, [(side, code, ngwee)]) of each entry about a payment, in order; of all for None."""
        found: dict[str, tuple[str, list[tuple[str, int, int]]]] = {}
        for row in panel(self.bench, "ledger/postings").json()["data"]:
            if payment in (None, row["payment"]):
                _, lines = found.setdefault(row["entry"], (row["kind"], []))
                lines.append((row["side"], row["code"], row["amount_minor"]))
        return list(found.values())

    def entries_of(self, payment: str, kind: str, name: str = "id") -> list[str]:
        """This column of each entry of a kind about a payment, in order."""
        rows = self.read("/sandbox/ledger/entries")["data"]
        return [each[name] for each in rows if (each["kind"], each["payment"]) == (kind, payment)]

    def advance(self, seconds: Decimal | float = 0, **more: int) -> None:
        self.bench.clock.advance(seconds, **more)

    def to_midnight(self) -> None:
        """The next midnight in Lusaka, 22:00 UTC, and what it does."""
        day_ms, now_ms = 86_400_000, self.bench.clock.now_ms + 7_200_000
        self.advance(Decimal(day_ms - now_ms % day_ms) / 1000)


@pytest.fixture
def shop(bench: Workbench, new_number: Callable[..., str]) -> Shop:
    return Shop(bench, new_number)


def bearer(bench: Workbench) -> dict[str, str]:
    """The header with the key of a bench."""
    return {"Authorization": f"Bearer {bench.secret_key}"}


def refusal(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and field of a response that refuses."""
    body = answer.json()
    return answer.status_code, body["code"], body.get("param")


def invoke(*arguments: object) -> Result:
    """The command `workbench` in this process, which is a second faster than in one of its own."""
    return CliRunner(catch_exceptions=False).invoke(app, [*map(str, arguments)], prog_name="workbench")


def cells_of(slug: str) -> list[dict[str, Any]]:
    """The cells of a notebook of the course, each with its source as one text."""
    cells = json.loads(course()[slug].path.read_text("utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def prose_of(slug: str) -> str:
    """The texts of a notebook of the course."""
    return "\n".join(cell["source"] for cell in cells_of(slug) if cell["cell_type"] == "markdown")


def code_of(slug: str) -> list[str]:
    """The code cells of a notebook of the course."""
    return [cell["source"] for cell in cells_of(slug) if cell["cell_type"] == "code"]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def is_true_soon(condition: Callable[[], bool], within_s: float = 10) -> bool:
    """Whether it is by then, looked at again and again; for what another thread or process does."""
    until = time.monotonic() + within_s
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.005)
    return met


def panel(bench: Workbench, path: str) -> httpx.Response:
    return bench.http.get(f"/sandbox/{path}", headers=bearer(bench))


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
