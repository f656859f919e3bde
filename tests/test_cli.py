"""The command `workbench`, run as a person or a script runs it."""

import json
import re
import runpy
import shutil
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import pytest
import yaml

from tests.conftest import invoke, is_true_soon
from workbench import Receiver, Workbench
from workbench.analysis.reconcile import Tolerance
from workbench.cli import COMMANDS, app
from workbench.commands import analysis
from workbench.domain.moments import START, milliseconds
from workbench.resources import fixture

if TYPE_CHECKING:
    from tests.conftest import Server, Serving

SOON_S = 30
"""Longer than a worker may take to end."""
LATER = pytest.mark.thorough


def answers(base_url: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", urlsplit(base_url).port), timeout=1):
            return True
    except OSError:
        return False


@pytest.mark.thorough
def test_what_is_announced_to_people_can_be_called_and_its_port_is_taken(serving: "Serving"):
    host = "0.0.0.0"  # noqa: S104  the address under test
    with serving("--port", "0", "--host", host, "--webhook", "http://127.0.0.1:9/") as server:
        lines = [server.first_line]
        while "-d '" not in lines[-1]:
            lines.append(server.process.stdout.readline())
            assert lines[-1], "the output ended without a curl line"
        shown = "".join(lines)
        assert all(words in shown for words in ("Ctrl-C", "  curl ", "/v1/charges"))
        assert re.search("signing secret +whsec_", shown)
        announced = [re.search(each, shown)[0] for each in (r"http://127\.0\.0\.1:\d+", r"sk_test_\w+", r"pk_test_\w+")]
        with Workbench.connect(*announced) as bench:
            assert bench.client.payment_intents.create(amount=1).id
        port = str(urlsplit(announced[0]).port)
        done = invoke("serve", "--host", host, "--port", port)
    assert (done.exit_code, done.stdout) == (2, "")
    # Whoever can use an open port is said, also where it is taken in the end.
    said = " ".join(done.stderr.split())
    assert all(words in said for words in ("listens", port, "--port", "anybody who reaches the port"))


@pytest.mark.thorough
def test_beside_containers_it_answers_by_its_name_and_calls_private_networks_with_a_warning(
    serving: "Serving", tmp_path: Path
):
    compose = yaml.safe_load(fixture("compose.yml").read_text())["services"]["sandbox"]["entrypoint"][-1]
    options = (
        compose.partition("serve ")[2]
        .partition(" >")[0]
        .replace("--port 4242", "--port 0")
        .replace("/store", str(tmp_path))
        .split()
    )
    with serving(*options) as server, connected(server) as bench:
        endpoints = bench.client.webhook_endpoints
        assert [each.url for each in endpoints.each()] == ["http://shop:3000/webhooks"]
        assert endpoints.create(url="http://192.168.0.7:8000/").status == "enabled"
        assert bench.http.get("/openapi.json", headers={"Host": "sandbox:4242"}).status_code == 200
        assert "hosts in your private networks" in server.errors


REFUSED = [
    ("--port 65536", "--port"), ("--port http", "--port"), ("--workers 0", "Invalid value for '--workers'"),
    ("--host 192.0.2.1", "--host"), ("--host nowhere.invalid", "--host"), ("--host 2001:db8::1", "--host"),
    ("--host ", "--host"), ("--clock stopped", "Invalid value for '--clock'"),
    ("--webhook http://10.0.0.1/", "Invalid value for --webhook"),
    ("--webhook localhost:3000", "Invalid value for --webhook"), ("--webhook ", "--webhook: The URL is empty."),
    ("--allow-host http://shop", "not a name"),
    ("--gaps nowhere.toml", "nowhere.toml"), ("--gaps .", "is a directory"), ("--gaps latin.toml", "latin.toml"),
    ("--store letters.txt", "letters.txt"), ("--store nowhere/sandbox.db", "nowhere"),
]  # fmt: skip
ROWS = [
    ("prompt_timeout = 60", "prompt_timeout_s"), ("prompt_timeout_s = 61", "300, 60, 180, 600"),
    ('prompt_timeout_s = "60"', "300, 60, 180, 600"), ("[error_format]", "'problem', 'plain'"),
    ("[gaps]\nprompt_timeout_s = 60", "table [gaps]; put rows at the top level"),
    ("prompt_timeout_s =", "TOML"), ("\x00", "TOML"),
]  # fmt: skip


def test_a_second_endpoint_that_the_dashboard_does_not_allow_is_refused_by_the_option(tmp_path: Path):
    store, rows = tmp_path / "kept.db", tmp_path / "rows.toml"
    rows.write_text('endpoint_registration = "dashboard"')
    with Workbench(store=store) as bench:
        assert bench.receiver.events == []
    asked = ("--store", str(store), "--gaps", str(rows), "--webhook", "http://127.0.0.1:9/")
    done = invoke("serve", "--port", "0", *asked)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Invalid value for --webhook: The dashboard allows one endpoint" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("option", "rows", "said"),
    [*((option, "", said) for option, said in REFUSED), *(("--gaps rows.toml", *each) for each in ROWS)],
)
def test_what_is_refused_is_said_in_a_line_and_nothing_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, rows: str, said: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# \xff")
    (tmp_path / "letters.txt").write_text("Dear Ada,\n" * 1000)
    (tmp_path / "rows.toml").write_text(rows)
    done = invoke("serve", "--port", "0", *option.split(" "))
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert (tmp_path / "letters.txt").read_text() == "Dear Ada,\n" * 1000


@pytest.mark.thorough
def test_a_kept_sandbox_from_first_start_to_third(serving: "Serving", tmp_path: Path, new_number: Callable[..., str]):
    store, rows, hooks = tmp_path / "kept" / "sandbox.db", tmp_path / "gaps.toml", Receiver()
    store.parent.mkdir()
    rows.write_text('prompt_timeout_s = 60\nretry_schedule_s = [0]\ncharge_amount_unit = "major"\n')
    kept = ("--port", "0", "--json", "--store", str(store))
    first = ("--seed", "7", "--clock", "manual", "--gaps", str(rows), "--webhook")
    with hooks.listen() as url:
        with serving(*kept, *first, url) as server, connected(server) as bench, Workbench(seed=7) as same:
            begun = server.address
            assert begun.keys() == {"base_url", "secret_key", "publishable_key", "webhook_secret"}
            assert urlsplit(begun["base_url"]).hostname == "127.0.0.1"
            assert begun["secret_key"] == str(same.secret_key)
            # A manual clock moves only when advanced, and still delivers what is due now.
            hooks.secrets.append(begun["webhook_secret"])
            intent = bench.client.payment_intents.create(amount=1)
            assert is_true_soon(lambda: len(hooks.events) == 1, SOON_S)
            assert bench.clock.now_ms == milliseconds(START)
            assert bench.clock.advance(hours=5).now_ms == milliseconds(START) + 5 * 3_600_000
            # The file switches the register.
            values = {row["name"]: row["value"] for row in bench.gaps}
            assert (values["prompt_timeout_s"], values["retry_schedule_s"]) == (60, [0])
            bench.client.charges.create(amount=3, channel="mtn", phone=new_number(), idempotency_key="j")
            assert bench.ledger.postings["amount_minor"].iloc[0] == 300
            head = bench.ledger.verify()
        with serving(*kept, "--webhook", url) as server, connected(server) as bench:
            assert {**server.address, "base_url": ""} == {**begun, "base_url": ""}
            assert bench.client.payment_intents.retrieve(intent.id) == intent
            assert bench.ledger.verify() == head
            # With a running clock it goes on from the moment at which it stood, and keeps no row of the file.
            assert 0 <= bench.clock.now_ms - milliseconds(START) - 5 * 3_600_000 < 60_000
            assert {row["name"]: row["value"] for row in bench.gaps}["prompt_timeout_s"] == 300
    with serving(*kept, "--webhook", "http://127.0.0.1:9/other") as server:
        assert server.address["webhook_secret"] != begun["webhook_secret"]


def connected(server: "Server") -> Workbench:
    return Workbench.connect(server.address["base_url"], server.address["secret_key"])


@pytest.mark.parametrize(
    ("ask", "workers"),
    [
        (signal.SIGTERM, 1), pytest.param(signal.SIGTERM, 2, marks=LATER),
        pytest.param(signal.SIGINT, 1, marks=LATER), (signal.SIGINT, 2),
        (signal.SIGHUP, 1), pytest.param(signal.SIGHUP, 2, marks=LATER),
    ],
)  # fmt: skip
@pytest.mark.thorough
def test_asked_to_end_it_answers_what_came_ends_with_its_workers_and_leaves_the_file_alone(
    serving: "Serving", tmp_path: Path, ask: signal.Signals, workers: int
):
    store, alone = tmp_path / "kept" / "sandbox.db", tmp_path / "alone.db"
    store.parent.mkdir()
    options = ("--port", "0", "--json", "--quiet", "--workers", str(workers), "--store", str(store))
    with socket.create_server(("127.0.0.1", 0)) as slow, serving(*options) as server:
        base_url, family = server.address["base_url"], server.workers
        assert (answers(base_url), len(family)) == (True, workers)
        with Workbench.connect(**server.address) as bench, ThreadPoolExecutor() as pool:
            charge = bench.client.charges.create(amount=100, channel="mtn", phone="+260961234567", idempotency_key="k")
            head = bench.ledger.verify()
            if workers == 1:
                bench.client.webhook_endpoints.create(url=f"http://127.0.0.1:{slow.getsockname()[1]}/")
                bench.client.payment_intents.create(amount=1)
                connection, _ = slow.accept()
                moved = pool.submit(bench.clock.advance, 1)
                time.sleep(0.5)
            server.process.send_signal(ask)
            if workers == 1:
                time.sleep(0.5)
                assert not moved.done()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                connection.close()
                assert moved.result(SOON_S) is bench.clock
        assert server.process.wait(SOON_S) == 0
        assert not any(map(server.is_alive, family))
        assert not answers(base_url)
        assert server.errors == ""
    assert list(store.parent.iterdir()) == [store]
    shutil.copy(store, alone)
    with Workbench(store=alone) as bench:
        assert bench.client.charges.retrieve(charge.id) == charge
        assert bench.ledger.verify() == head


@pytest.mark.parametrize("ask", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=LATER)], ids=["interrupt", "hang_up"])
@pytest.mark.thorough
def test_an_end_of_the_whole_terminal_ends_it_cleanly(
    serving: "Serving", ask: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--port", "0", "--json", "--quiet", "--workers", "2") as server:
        assert len([*tmp_path.glob("workbench-*")]) == 1
        family = server.workers
        for each in family:
            # A worker is born deaf to what the whole terminal is sent.
            blocked = re.search(r"SigBlk:\s*([0-9a-f]+)", Path(f"/proc/{each.pid}/status").read_text())
            assert blocked
            assert all(int(blocked[1], 16) >> (blocked_one - 1) & 1 for blocked_one in (signal.SIGINT, signal.SIGHUP))
        for each in (*family, server.process):
            each.send_signal(ask)
        assert server.process.wait(SOON_S) == 0
        assert server.errors == ""
    assert [*tmp_path.glob("workbench-*")] == []


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [pytest.param(1, marks=LATER), 2])
def test_a_hang_up_that_is_ignored_stays_so_and_killed_its_workers_do_not_serve_on(serving: "Serving", workers: int):
    with serving("--port", "0", "--json", "--workers", str(workers), hang_up=signal.SIG_IGN) as server:
        base_url, family = server.address["base_url"], server.workers
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert server.process.poll() is None
        assert answers(base_url)
        server.process.kill()
        server.process.wait(SOON_S)
        assert is_true_soon(lambda: not answers(base_url) and not any(map(server.is_alive, family)), SOON_S)


def test_help_lists_every_command_with_its_first_sentence_in_80_columns():
    listed = invoke("--help").stdout
    assert re.findall(r"^(\w+):$", listed, re.MULTILINE) == ["Options", *COMMANDS]
    for name in app.commands:
        (line,) = re.findall(rf"^  {name} .*", listed, re.MULTILINE)
        assert re.search(r"\w\.$", line), "the first sentence of its help, whole"
        shown = invoke(name, "--help").stdout
        assert shown.startswith(f"Usage: workbench {name} ")
        assert max(map(len, shown.splitlines())) <= 80
    assert invoke("--version").stdout.strip().endswith("version 0.1.0")


@pytest.mark.filterwarnings("ignore:'workbench.cli' found in sys.modules")
@pytest.mark.parametrize("module", ["workbench", "workbench.cli"])
def test_it_runs_as_a_module_by_the_same_name(
    module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.argv", ["-m", "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_module(module, run_name="__main__")
    assert capsys.readouterr().out.startswith("Usage: workbench ")


def test_tolerances_are_given_in_major_units_of_currencies_with_as_many_decimals():
    for currencies, units in (({"ZMW"}, 100), ({"USD", "ZMW"}, 100), ({"UGX"}, 1), ({"KWD"}, 1000)):
        made = analysis._tolerance([("amount", "50"), ("fee", "125.0")], currencies)  # noqa: SLF001  each alone
        assert made == Tolerance(amount_minor=50 * units, fee_minor=125 * units)
    with pytest.raises(click.BadParameter, match="currencies differ in their decimals"):
        analysis._tolerance([("amount", "1")], {"UGX", "ZMW"})  # noqa: SLF001  as above


def test_the_description_is_printed_and_written_the_same(tmp_path: Path):
    printed, out = invoke("openapi"), tmp_path / "openapi.json"
    written = invoke("openapi", "--out", str(out))
    assert (printed.exit_code, written.exit_code, written.stdout) == (0, 0, "")
    assert out.read_text("utf-8") == printed.stdout
    with Workbench(seed=7) as bench:
        assert json.loads(printed.stdout) == bench.http.get("/openapi.json").json()


def test_what_cannot_be_done_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for arguments, said in (("openapi --out nowhere/x.json", "cannot be written"), ("lob", "lob"), ("--wat", "--wat")):
        done = invoke(*arguments.split())
        assert (done.exit_code, said in done.stderr, "Traceback" in done.stderr) == (2, True, False)
