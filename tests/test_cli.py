"""The command `workbench`, run as a person or a script runs it."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest
from click.testing import CliRunner

from workbench import Workbench, verify
from workbench.cli import app
from workbench.domain.gaps import REGISTER
from workbench.domain.moments import START, milliseconds

if TYPE_CHECKING:
    from tests.conftest import HangUpMeans, Serving

NewNumber = Callable[..., str]

LIMIT_S = 60
SOON_S = 15
ENDS = pytest.mark.parametrize(
    "ask", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["terminate", "interrupt", "hang_up"]
)


def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a person runs it, a process of its own."""
    return subprocess.run(  # noqa: S603  our own command
        [command, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


def invoke(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which is a second faster."""
    done = CliRunner().invoke(app, arguments, prog_name="workbench")
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def answers(base_url: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", urlsplit(base_url).port), timeout=1):
            return True
    except OSError:
        return False


def is_true_soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON_S
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return met


@pytest.fixture(scope="module")
def shown(serving: "Serving") -> Iterator[str]:
    with serving("--port", "0") as server:
        lines = [server.first_line]
        while "-d '" not in lines[-1]:
            lines.append(server.process.stdout.readline())
            assert lines[-1], "the output ended without a curl line"
        yield "".join(lines)


class TestForPeople:
    """`workbench serve`, without --json."""

    @pytest.mark.parametrize(
        "words",
        ["http://127.0.0.1:", "sk_test_", "pk_test_", "Ctrl-C"],
        ids=["address", "secret", "publishable", "end"],
    )
    def test_it_says_where_and_with_which_keys(self, shown: str, words: str):
        assert words in shown

    def test_its_curl_line_works_as_it_stands(self, shown: str):
        arguments = shlex.split(shown[shown.index("  curl ") :].replace("\\\n", " "))
        if shutil.which("curl"):
            done = subprocess.run(  # noqa: S603  the line under test
                [*arguments, "-sS", "-m", "20"], capture_output=True, check=True, timeout=LIMIT_S
            )
            charge = json.loads(done.stdout)
        else:
            charge = by_httpx(arguments).json()
        assert (charge["status"], charge["amount"], charge["currency"]) == ("succeeded", 15_000, "zmw")


def by_httpx(arguments: list[str]) -> httpx.Response:
    """The request that this curl line makes."""
    values = {"-u": "", "-d": "", "-H": ""}
    headers = {}
    for flag, value in zip(arguments[2::2], arguments[3::2], strict=True):
        values[flag] = value
        if flag == "-H":
            name, _, text = value.partition(": ")
            headers[name] = text
    return httpx.post(
        arguments[1], content=values["-d"], headers=headers, auth=(values["-u"][:-1], ""), trust_env=False
    )


class TestForScripts:
    def test_the_first_line_is_json(self, serving: "Serving"):
        with serving("--port", "0", "--json") as server:
            assert server.address.keys() == {"base_url", "secret_key", "publishable_key"}
            with Workbench.connect(**server.address) as bench:
                assert bench.client.payment_intents.create(amount=1).id

    def test_it_answers_only_on_this_machines_loopback(self, serving: "Serving"):
        with serving("--port", "0", "--json") as server:
            assert urlsplit(server.address["base_url"]).hostname == "127.0.0.1"

    def test_two_servers_have_keys_of_their_own(self, serving: "Serving", served_bench: Workbench):
        with serving("--port", "0", "--json") as server:
            assert server.address["secret_key"] != str(served_bench.secret_key)

    def test_a_port_that_is_taken_is_refused_with_a_hint(self, command: str, served_bench: Workbench):
        port = str(urlsplit(served_bench.base_url).port)
        done = run(command, "serve", "--port", port, "--json")
        assert done.returncode == 2
        assert port in done.stderr
        assert "--port" in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""

    @pytest.mark.parametrize("port", ["-1", "65536", "http"])
    def test_a_port_that_is_none_is_refused(self, port: str):
        assert invoke("serve", "--port", port).returncode == 2


def receiver_of(events: list[dict[str, Any]]) -> HTTPServer:
    """A receiver on a free port that keeps what arrives; its thread ends with `shutdown`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            events.append({"body": body, "headers": dict(self.headers)})
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's signature
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def events() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of a receiver, and what has arrived there."""
    arrived: list[dict[str, Any]] = []
    server = receiver_of(arrived)
    yield f"http://127.0.0.1:{server.server_port}/webhooks", arrived
    server.shutdown()
    server.server_close()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


HOSTS = [
    ("127.0.0.1", "http://127.0.0.1:"),
    ("localhost", "http://"),
    pytest.param("::1", "http://[::1]:", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")),
    ("0.0.0.0", "http://127.0.0.1:"),  # noqa: S104  the address under test
]


class TestHost:
    @pytest.mark.parametrize(("host", "begins"), HOSTS)
    def test_what_is_announced_can_be_called(self, serving: "Serving", host: str, begins: str):
        with serving("--port", "0", "--json", "--host", host) as server:
            assert server.address["base_url"].startswith(begins)
            with Workbench.connect(**server.address) as bench:
                assert bench.client.payment_intents.create(amount=1).id

    @pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104  the address under test
    def test_a_warning_says_who_can_use_an_open_port(self, served_bench: Workbench, host: str):
        port = str(urlsplit(served_bench.base_url).port)
        warned = "whoever reaches the port" in invoke("serve", "--host", host, "--port", port).stderr
        assert warned == (host != "127.0.0.1")

    @pytest.mark.parametrize(("host", "begins"), HOSTS[2:])
    def test_a_taken_port_is_refused_at_every_address(self, serving: "Serving", host: str, begins: str):
        del begins
        with serving("--port", "0", "--json", "--host", host) as server:
            done = invoke("serve", "--host", host, "--port", str(urlsplit(server.address["base_url"]).port))
        assert done.returncode == 2
        assert "listens" in done.stderr
        assert done.stdout == ""

    @pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid", "2001:db8::1", ""])
    def test_an_address_of_another_machine_is_refused(self, host: str):
        done = invoke("serve", "--port", "0", "--host", host)
        assert done.returncode == 2
        assert "--host" in done.stderr
        assert "Traceback" not in done.stderr


class TestSettings:
    def test_one_seed_is_one_set_of_keys(self, serving: "Serving", tmp_path: Path):
        store = str(tmp_path / "sandbox.db")
        with serving("--port", "0", "--json", "--seed", "7", "--store", store) as server:
            first = server.address
        with Workbench(seed=7) as bench, serving("--port", "0", "--json", "--seed", "7", "--store", store) as server:
            assert server.address["secret_key"] == first["secret_key"] == str(bench.secret_key)
        done = invoke("serve", "--port", "0", "--seed", "8", "--store", store)
        assert done.returncode == 2
        assert "another seed" in done.stderr

    def test_a_manual_clock_moves_only_when_advanced(self, serving: "Serving"):
        served = serving("--port", "0", "--json", "--clock", "manual")
        with served as server, Workbench.connect(**server.address) as bench:
            before = bench.clock.now_ms
            time.sleep(0.2)
            assert bench.clock.now_ms == before == milliseconds(START)
            assert bench.clock.advance(hours=5).now_ms == before + 5 * 3_600_000

    def test_a_manual_clock_still_delivers_what_is_due_now(self, serving: "Serving", events: Any):  # noqa: ANN401  a pair
        url, arrived = events
        served = serving("--port", "0", "--json", "--clock", "manual", "--webhook", url)
        with served as server, Workbench.connect(server.address["base_url"], server.address["secret_key"]) as bench:
            bench.client.payment_intents.create(amount=1)
            assert is_true_soon(lambda: len(arrived) == 1)

    def test_a_file_switches_the_register(self, serving: "Serving", tmp_path: Path, new_number: NewNumber):
        file = tmp_path / "gaps.toml"
        file.write_text('prompt_timeout_s = 60\nretry_schedule_s = [0]\ncharge_amount_unit = "major"\n')
        served = serving("--port", "0", "--json", "--gaps", str(file))
        with served as server, Workbench.connect(**server.address) as bench:
            values = {row["name"]: row["value"] for row in bench.gaps}
            bench.client.charges.create(amount=3, channel="mtn", phone=new_number(), idempotency_key="k")
            assert bench.ledger.postings["amount_minor"].iloc[0] == 300
        assert (values["prompt_timeout_s"], values["retry_schedule_s"]) == (60, [0])

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("prompt_timeout = 60", "prompt_timeout_s"),
            ("prompt_timeout_s = 61", "300, 60, 180, 600"),
            ('prompt_timeout_s = "60"', "300, 60, 180, 600"),
            ("[error_format]", "'problem', 'plain'"),
            ("[gaps]\nprompt_timeout_s = 60", "table [gaps]; rows stand at the top"),
            ("prompt_timeout_s =", "TOML"),
            ("\x00", "TOML"),
        ],
    )
    def test_a_row_that_there_is_not_is_refused(self, tmp_path: Path, text: str, said: str):
        file = tmp_path / "gaps.toml"
        file.write_text(text)
        done = invoke("serve", "--port", "0", "--gaps", str(file))
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("name", ["nowhere.toml", "", "latin.toml"])
    def test_a_file_that_cannot_be_read_is_refused(self, tmp_path: Path, name: str):
        (tmp_path / "latin.toml").write_bytes(b"# \xff")
        done = invoke("serve", "--port", "0", "--gaps", str(tmp_path / name))
        assert done.returncode == 2
        assert str(tmp_path) in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        "options",
        [
            ("--workers", "0"),
            ("--workers", "65"),
            ("--clock", "stopped"),
            ("--webhook", "http://10.0.0.1/"),
            ("--webhook", "localhost:3000"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, options: tuple[str, str]):
        done = invoke("serve", "--port", "0", *options)
        assert done.returncode == 2
        assert f"Invalid value for '{options[0]}'" in done.stderr or f"Invalid value for {options[0]}" in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


class TestWebhook:
    def test_events_arrive_signed_with_the_announced_secret(self, serving: "Serving", events: Any):  # noqa: ANN401  a pair
        url, arrived = events
        with serving("--port", "0", "--json", "--webhook", url) as server:
            address = server.address
            assert address.keys() == {"base_url", "secret_key", "publishable_key", "webhook_secret"}
            with Workbench.connect(address["base_url"], address["secret_key"]) as bench:
                bench.client.payment_intents.create(amount=1)
                assert is_true_soon(lambda: len(arrived) == 1)
        verify(arrived[0]["body"], arrived[0]["headers"], [address["webhook_secret"]], now_s=int(time.time()))

    def test_the_endpoint_of_a_kept_store_is_used_again(self, serving: "Serving", tmp_path: Path):
        options = ("--port", "0", "--json", "--store", str(tmp_path / "sandbox.db"), "--webhook", "http://127.0.0.1:9/")
        secrets = []
        for _ in range(2):
            with serving(*options) as server:
                secrets.append(server.address["webhook_secret"])
        with serving(*options[:-1], "http://127.0.0.1:9/other") as server:
            secrets.append(server.address["webhook_secret"])
        assert secrets[0] == secrets[1] != secrets[2]

    def test_its_secret_is_shown_to_people(self, serving: "Serving"):
        with serving("--port", "0", "--webhook", "http://127.0.0.1:9/") as server:
            lines = [server.first_line, *(server.process.stdout.readline() for _ in range(4))]
        assert any("signing secret" in line and "whsec_" in line for line in lines)


class TestStore:
    def test_payments_are_there_after_a_restart(self, serving: "Serving", tmp_path: Path, new_number: NewNumber):
        store = tmp_path / "sandbox.db"
        with serving("--port", "0", "--json", "--store", str(store)) as server:
            first = server.address
            with Workbench.connect(**first) as bench:
                charge = bench.client.charges.create(amount=100, channel="mtn", phone=new_number(), idempotency_key="k")
                head = bench.ledger.verify()
        with serving("--port", "0", "--json", "--store", str(store)) as server:
            again = server.address
            with Workbench.connect(**again) as bench:
                assert bench.client.charges.retrieve(charge.id) == charge
                assert bench.ledger.verify() == head
        assert (first["secret_key"], first["publishable_key"]) == (again["secret_key"], again["publishable_key"])

    def test_what_was_answered_survives_a_kill(self, serving: "Serving", tmp_path: Path, new_number: NewNumber):
        store = tmp_path / "sandbox.db"
        with serving("--port", "0", "--json", "--store", str(store)) as server:
            with Workbench.connect(**server.address) as bench:
                charge = bench.client.charges.create(amount=100, channel="mtn", phone=new_number(), idempotency_key="k")
            server.process.kill()
            server.process.wait(SOON_S)
            assert is_true_soon(lambda: not answers(server.address["base_url"]))
        again = serving("--port", "0", "--json", "--store", str(store))
        with again as server, Workbench.connect(**server.address) as bench:
            assert bench.client.charges.retrieve(charge.id) == charge
            assert bench.ledger.verify()

    @ENDS
    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_after_a_clean_end_the_file_alone_holds_everything(
        self, serving: "Serving", tmp_path: Path, new_number: NewNumber, ask: signal.Signals, workers: str
    ):
        store, alone = tmp_path / "kept" / "sandbox.db", tmp_path / "alone.db"
        store.parent.mkdir()
        with serving("--port", "0", "--json", "--workers", workers, "--store", str(store)) as server:
            with Workbench.connect(**server.address) as bench:
                charge = bench.client.charges.create(amount=100, channel="mtn", phone=new_number(), idempotency_key="k")
                head = bench.ledger.verify()
            server.process.send_signal(ask)
            assert server.process.wait(SOON_S) == 0
        assert list(store.parent.iterdir()) == [store]
        shutil.copy(store, alone)
        with Workbench(store=alone) as bench:
            assert bench.client.charges.retrieve(charge.id) == charge
            assert bench.ledger.verify() == head

    def test_a_file_that_is_no_store_is_refused_and_left_alone(self, tmp_path: Path):
        other = tmp_path / "letters.txt"
        other.write_text("Dear Ada,\n" * 1000)
        done = invoke("serve", "--port", "0", "--store", str(other))
        assert done.returncode == 2
        assert str(other) in done.stderr
        assert "Traceback" not in done.stderr
        assert other.read_text() == "Dear Ada,\n" * 1000

    def test_a_manual_store_that_is_served_with_a_running_clock_goes_on_from_its_moment(
        self, serving: "Serving", tmp_path: Path
    ):
        store = str(tmp_path / "m.db")
        with serving("--port", "0", "--json", "--store", store, "--clock", "manual"):
            pass
        again = serving("--port", "0", "--json", "--store", store)
        with again as server, Workbench.connect(**server.address) as bench:
            assert 0 <= bench.clock.now_ms - milliseconds(START) < 60_000

    def test_a_folder_that_is_not_there_is_refused(self, tmp_path: Path):
        done = invoke("serve", "--port", "0", "--store", str(tmp_path / "nowhere" / "sandbox.db"))
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Process ids of the workers, without the helpers of multiprocessing."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("children are listed under Linux alone")
    pids = [int(each) for each in children.read_text().split()]
    return [each for each in pids if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


class TestTheEnd:
    @ENDS
    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_asked_to_end_it_ends_with_its_workers(self, serving: "Serving", ask: signal.Signals, workers: str):
        with serving("--port", "0", "--json", "--workers", workers) as server:
            base_url, pids = server.address["base_url"], workers_of(server.process)
            assert (answers(base_url), len(pids)) == (True, int(workers))
            server.process.send_signal(ask)
            assert server.process.wait(SOON_S) == 0
            assert not any(map(is_alive, pids))
            assert not answers(base_url)
            assert server.errors == ""

    @pytest.mark.parametrize("ask", [signal.SIGINT, signal.SIGHUP], ids=["interrupt", "hang_up"])
    def test_an_end_of_the_whole_terminal_ends_it_cleanly(
        self, serving: "Serving", ask: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        with serving("--port", "0", "--json", "--workers", "2") as server:
            assert len([*tmp_path.glob("workbench-*")]) == 1
            for pid in (*workers_of(server.process), server.process.pid):
                os.kill(pid, ask)
            assert server.process.wait(SOON_S) == 0
            assert server.errors == ""
        assert [*tmp_path.glob("workbench-*")] == []

    def test_a_worker_is_born_deaf_to_what_the_whole_terminal_is_sent(self, serving: "Serving"):
        with serving("--port", "0", "--json", "--workers", "2") as server:
            for pid in workers_of(server.process):
                blocked = re.search(r"SigBlk:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
                assert blocked
                assert all(int(blocked[1], 16) >> (each - 1) & 1 for each in (signal.SIGINT, signal.SIGHUP))

    def test_a_hang_up_that_is_ignored_stays_so(self, serving: "Serving"):
        with serving("--port", "0", "--json", hang_up=signal.SIG_IGN) as server:
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            assert server.process.poll() is None
            assert answers(server.address["base_url"])

    def test_where_the_tests_themselves_run_under_nohup_their_servers_hear_a_hang_up(
        self, serving: "Serving", hang_up_means: "HangUpMeans"
    ):
        with hang_up_means(signal.SIG_IGN), serving("--port", "0", "--json") as server:
            server.process.send_signal(signal.SIGHUP)
            assert server.process.wait(SOON_S) == 0

    @ENDS
    def test_a_request_in_flight_is_answered(self, serving: "Serving", ask: signal.Signals):
        with socket.create_server(("127.0.0.1", 0)) as slow, serving("--port", "0", "--json") as server:
            with Workbench.connect(**server.address) as bench, ThreadPoolExecutor() as pool:
                bench.client.webhook_endpoints.create(url=f"http://127.0.0.1:{slow.getsockname()[1]}/")
                bench.client.payment_intents.create(amount=1)
                connection, _ = slow.accept()
                moved = pool.submit(bench.clock.advance, 1)
                time.sleep(0.5)
                server.process.send_signal(ask)
                time.sleep(0.5)
                assert not moved.done()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                connection.close()
                assert moved.result(SOON_S) is bench.clock
            assert server.process.wait(SOON_S) == 0

    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_killed_its_workers_do_not_serve_on(self, serving: "Serving", workers: str):
        with serving("--port", "0", "--json", "--workers", workers) as server:
            base_url, pids = server.address["base_url"], workers_of(server.process)
            assert answers(base_url)
            server.process.kill()
            server.process.wait(SOON_S)
            assert is_true_soon(lambda: not answers(base_url) and not any(map(is_alive, pids)))


class TestOther:
    def test_gaps_lists_every_row_by_its_whole_name(self):
        done = invoke("gaps")
        assert done.returncode == 0
        assert not [row.name for row in REGISTER if row.name not in done.stdout]

    def test_help_lists_every_command(self, command: str):
        done = run(command, "--help")
        assert done.returncode == 0
        assert all(f"\n  {name} " in done.stdout for name in ("gaps", "openapi", "run", "serve"))

    @pytest.mark.parametrize("name", ["run", "serve", "gaps", "openapi"])
    def test_every_command_helps(self, name: str):
        done = invoke(name, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith(f"Usage: workbench {name} ")

    def test_the_description_is_printed_and_written_the_same(self, tmp_path: Path):
        printed, out = invoke("openapi"), tmp_path / "openapi.json"
        written = invoke("openapi", "--out", str(out))
        assert (printed.returncode, written.returncode, written.stdout) == (0, 0, "")
        assert out.read_text("utf-8") == printed.stdout
        with Workbench(seed=7) as bench:
            assert json.loads(printed.stdout) == bench.http.get("/openapi.json").json()

    @pytest.mark.parametrize("where", ["nowhere/x.json", "a_file/x.json"])
    def test_a_description_that_cannot_be_written_is_told_in_a_line(self, tmp_path: Path, where: str):
        (tmp_path / "a_file").write_text("")
        done = invoke("openapi", "--out", str(tmp_path / where))
        assert done.returncode == 2
        assert "cannot be written" in done.stderr
        assert "Traceback" not in done.stderr

    def test_the_help_tells_what_an_exit_status_and_a_kept_store_mean(self):
        told = {name: " ".join(invoke(name, "--help").stdout.split()) for name in ("run", "serve")}
        assert "or the run was interrupted" in told["run"]
        assert "goes on from the moment at which it stood" in told["serve"]
        assert "The store does not keep them" in told["serve"]

    def test_the_version_is_the_packages(self, command: str):
        assert run(command, "--version").stdout.strip().endswith("version 0.1.0")

    @pytest.mark.parametrize("argument", ["lob", "--wat"])
    def test_what_is_not_known_is_refused(self, argument: str):
        done = invoke(argument)
        assert done.returncode == 2
        assert argument in done.stderr
