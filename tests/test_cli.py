"""The command `workbench`, run as a person or a script runs it."""

import json
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

from workbench import Workbench
from workbench.domain.gaps import REGISTER

if TYPE_CHECKING:
    from tests.conftest import Serving

NewNumber = Callable[..., str]

LIMIT_S = 60
SOON_S = 15


def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  our own command
        [command, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


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
    def test_a_port_that_is_none_is_refused(self, command: str, port: str):
        assert run(command, "serve", "--port", port).returncode == 2


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

    def test_a_file_that_is_no_store_is_refused_and_left_alone(self, command: str, tmp_path: Path):
        other = tmp_path / "letters.txt"
        other.write_text("Dear Ada,\n" * 1000)
        done = run(command, "serve", "--port", "0", "--store", str(other))
        assert done.returncode == 2
        assert str(other) in done.stderr
        assert "Traceback" not in done.stderr
        assert other.read_text() == "Dear Ada,\n" * 1000

    def test_a_folder_that_is_not_there_is_refused(self, command: str, tmp_path: Path):
        done = run(command, "serve", "--port", "0", "--store", str(tmp_path / "nowhere" / "sandbox.db"))
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


class TestTheEnd:
    @pytest.mark.parametrize("ask", [signal.SIGTERM, signal.SIGINT], ids=["terminate", "interrupt"])
    def test_asked_to_end_it_ends_with_its_worker(self, serving: "Serving", ask: signal.Signals):
        with serving("--port", "0", "--json") as server:
            base_url = server.address["base_url"]
            assert answers(base_url)
            server.process.send_signal(ask)
            server.process.wait(SOON_S)
            assert is_true_soon(lambda: not answers(base_url))

    def test_killed_its_worker_does_not_serve_on(self, serving: "Serving"):
        with serving("--port", "0", "--json") as server:
            base_url = server.address["base_url"]
            assert answers(base_url)
            server.process.kill()
            server.process.wait(SOON_S)
            assert is_true_soon(lambda: not answers(base_url))


class TestOther:
    def test_gaps_lists_every_row_by_its_whole_name(self, command: str):
        done = run(command, "gaps")
        assert done.returncode == 0
        assert not [row.name for row in REGISTER if row.name not in done.stdout]

    def test_help_lists_every_command(self, command: str):
        done = run(command, "--help")
        assert done.returncode == 0
        assert all(f"\n  {name} " in done.stdout for name in ("gaps", "openapi", "run", "serve"))

    @pytest.mark.parametrize("name", ["run", "serve", "gaps", "openapi"])
    def test_every_command_helps(self, command: str, name: str):
        done = run(command, name, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith(f"Usage: workbench {name} ")

    def test_the_description_is_printed_and_written_the_same(self, command: str, tmp_path: Path):
        printed, out = run(command, "openapi"), tmp_path / "openapi.json"
        written = run(command, "openapi", "--out", str(out))
        assert (printed.returncode, written.returncode, written.stdout) == (0, 0, "")
        assert out.read_text("utf-8") == printed.stdout
        with Workbench(seed=7) as bench:
            assert json.loads(printed.stdout) == bench.http.get("/openapi.json").json()

    def test_the_version_is_the_packages(self, command: str):
        assert run(command, "--version").stdout.strip().endswith("version 0.1.0")

    @pytest.mark.parametrize("argument", ["lob", "--wat"])
    def test_what_is_not_known_is_refused(self, command: str, argument: str):
        done = run(command, argument)
        assert done.returncode == 2
        assert argument in done.stderr
