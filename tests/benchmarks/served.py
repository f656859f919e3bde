"""What a backend meets: requests and webhooks a second, of a sandbox with a durable file and one worker."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil

from tests.benchmarks.in_process import INTENT, PATH, WEBHOOKS, create, pay
from tests.benchmarks.measuring import OURS, Results, Sample, Size
from tests.benchmarks.peers import APP, LOCALSTRIPE, MOCKOON, PEERS, PRISM, Absent, Canned, installed
from workbench import Workbench

LOOP = "httpx loop by hand"
_HERE = Path(__file__).parent
_CONNECTIONS = 8
_MANY_CONNECTIONS = 64
_START_S = 600
_STOP_S = 15
_LIFE_S = 1800


class Server(NamedTuple):
    """A process that answers on a port of the loopback."""

    process: psutil.Popen
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cpu_s(self) -> float:
        """What it and its children have taken so far."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(sum(each.cpu_times()[:2]) for each in family)


@contextmanager
def started(command: Callable[[str], list[str]], folder: Path) -> Iterator[Server]:
    """A server on a free port, once it answers anything; ended by its process id, in any case in half an hour.

    `command` is made from the port. Raises Absent: it does not come up.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder / "log.txt").open("w") as log:
        environment = {**os.environ, "HOME": str(folder), "NO_PROXY": "*"}
        process = psutil.Popen(command(str(port)), stdout=log, stderr=log, cwd=folder, env=environment)
    limit = threading.Timer(_LIFE_S, process.kill)
    limit.daemon = True
    limit.start()
    try:
        server = Server(process, port)
        _wait(server)
        yield server
    finally:
        limit.cancel()
        process.terminate()
        try:
            process.wait(_STOP_S)
        except psutil.TimeoutExpired:
            process.kill()


def _wait(server: Server) -> None:
    until = time.monotonic() + _START_S
    while server.process.poll() is None and time.monotonic() < until:
        try:
            httpx.get(f"{server.url}{PATH}/none", timeout=_START_S, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise Absent("it did not start")


def _sandbox(folder: Path, *options: str) -> Callable[[str], list[str]]:
    workbench = str(Path(sys.executable).with_name("workbench"))
    return lambda port: [
        workbench, "serve", "--port", port, "--store", str(folder / "store.db"), "--seed", "7", "--quiet", *options,
    ]  # fmt: skip


def served(size: Size, results: Results) -> None:
    """Create, retrieve and list, by the sandbox, the app by hand and the peers that serve."""
    contenders: dict[tuple[str, str], Callable[[], Sample]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with Workbench(seed=7) as bench:
            key, canned = str(bench.secret_key), _canned(bench)
        for who in (OURS, *(name for name, peer in PEERS.items() if peer.command)):
            own = folder / who
            own.mkdir()
            try:
                server = stack.enter_context(started(_command(who, own, size, canned), own))
            except Absent as absent:
                results.missing[who] = str(absent)
                continue
            if who in PEERS:
                results.versions["falcon" if who == APP else who] = PEERS[who].version
            requests = _requests(who, server, key)
            for work, request in requests.items():
                contenders[f"served_{work}", who] = partial(_loaded, server, request, size.load_s, _CONNECTIONS)
                if who in (OURS, APP) and work != "list":
                    many = partial(_loaded, server, request, size.load_s, _MANY_CONNECTIONS)
                    contenders[f"served_{work}_64", who] = many
        results.in_turn(size.rounds, contenders)


def _command(who: str, folder: Path, size: Size, canned: Canned) -> Callable[[str], list[str]]:
    if who == OURS:
        return _sandbox(folder)
    command, programs = PEERS[who].command, installed(who, size.peers)
    assert command
    return lambda port: command(programs, folder, port, canned)


def _canned(bench: Workbench) -> Canned:
    one = create(bench)
    for _ in range(99):
        create(bench)
    paths = {"create": f"{PATH}/{one}", "retrieve": f"{PATH}/{one}", "list": f"{PATH}?limit=100"}
    headers = {"Authorization": f"Bearer {bench.secret_key}"}
    return {
        name: bench.http.get(path, headers=headers).content
        for name, path in {**paths, "openapi": "/openapi.json"}.items()
    }


def _requests(who: str, server: Server, key: str) -> dict[str, bytes]:
    """Each kind of request to somebody who has a hundred payments then; what a description makes up is no list."""
    headers, body = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}, INTENT
    if who == LOCALSTRIPE:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer sk_test_12345"}
        body = b"amount=15000&currency=zmw&payment_method_types[]=card"
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=_START_S) as http:
        made = [http.post(PATH, content=body).raise_for_status().json()["id"] for _ in range(100)]
    head = {"Host": f"127.0.0.1:{server.port}", **headers}
    requests = {"create": _raw("POST", PATH, head, body), "retrieve": _raw("GET", f"{PATH}/{made[0]}", head)}
    return requests if who in (MOCKOON, PRISM) else {**requests, "list": _raw("GET", f"{PATH}?limit=100", head)}


def _raw(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    fields = {**headers, "Content-Length": len(body)}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def _loaded(server: Server, request: bytes, seconds: float, connections: int) -> Sample:
    cpu_s = server.cpu_s
    told = _told([str(_HERE / "load.py"), str(server.port), str(seconds), str(connections)], request)
    assert not told["failed"], told
    assert told["cpu_s"] < told["wall_s"] * 0.9, "the load is at its own limit"
    return Sample(told["responses"], server.cpu_s - cpu_s, told["wall_s"])


def _told(script: list[str], given: bytes = b"") -> dict:
    done = subprocess.run([sys.executable, *script], input=given, capture_output=True, check=True, timeout=_LIFE_S)  # noqa: S603  our own script
    return json.loads(done.stdout)


def webhooks(size: Size, results: Results) -> None:
    """The five of each payment, from a running sandbox to a receiver on this machine; a loop by hand beside it."""
    payments = -(-size.operations // 4)
    script = str(_HERE / "webhooks_by_hand.py")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        receiver = stack.enter_context(started(lambda port: [sys.executable, script, "receive", port], folder))
        hook = f"{receiver.url}/webhooks"
        server = stack.enter_context(started(_sandbox(folder, "--webhook", hook), folder))
        with Workbench(seed=7) as same:
            bench = stack.enter_context(Workbench.connect(server.url, str(same.secret_key)))

        def asked(what: str) -> dict[str, float]:
            return dict(httpx.get(f"{receiver.url}/{what}", trust_env=False).json())

        def ours() -> Sample:
            # The first response is held back until all payments are made: then what is timed is delivery alone.
            asked("hold")
            for _ in range(payments):
                pay(bench)
            cpu_s, until = server.cpu_s, time.monotonic() + _START_S
            asked("release")
            while asked("count")["count"] < payments * WEBHOOKS and time.monotonic() < until:
                time.sleep(0.02)
            last = asked("count")
            assert last["count"] == payments * WEBHOOKS, last
            return Sample(payments * WEBHOOKS, server.cpu_s - cpu_s, last["seconds"])

        def by_hand() -> Sample:
            took = _told([script, "post", hook, str(payments * WEBHOOKS)])
            return Sample(payments * WEBHOOKS, took["cpu_s"], took["wall_s"])

        results.in_turn(size.rounds, {("webhooks", OURS): ours, ("webhooks", LOOP): by_hand})
