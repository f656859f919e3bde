"""What `workbench serve` says on standard error, and what a notebook shows of a run that takes long."""

import json
import math
import os
import pty
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import COMMAND, INTENT, Bounded, Server, Serving, is_true_soon
from tests.doors.conftest import Door
from workbench import Workbench

REQUEST = re.compile(r"([A-Z]+) (\S+)  (\d{3})  (\d+\.\d) ms  ((?:req|ctl)_\w{24})")
WEBHOOK = re.compile(r"webhook (\S+) (evt_\w{24}) to (\S+)  (.+?)(?:; (attempt \d+ at \S+|dead letter))?")
NOBODY = "http://127.0.0.1:9/webhooks"
"""The port that discards: nothing listens there."""
JSON = ("--port", "0", "--json")
MANUAL = (*JSON, "--clock", "manual")


def said(server: Server, pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    """The lines of a kind, in pieces."""
    return [found.groups() for line in server.errors.splitlines() if (found := pattern.fullmatch(line))]


def caller(address: dict[str, str]) -> httpx.Client:
    headers = {"Authorization": f"Bearer {address['secret_key']}"}
    return httpx.Client(base_url=address["base_url"], headers=headers, trust_env=False, timeout=60)


def create(client: httpx.Client, times: int = 1) -> list[str]:
    """Intents, by the numbers of the requests that made them."""
    return [client.post("/v1/payment_intents", json=INTENT).headers["Request-Id"] for _ in range(times)]


def advance(client: httpx.Client, seconds: int) -> None:
    assert client.post("/sandbox/clock/advance", json={"seconds": seconds}).status_code == 200


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's
        del format, args


@contextmanager
def shop(statuses: Sequence[str], takes_s: float = 0) -> Iterator[str]:
    """Where a shop answers with these, one after the other, then with the last; its URL."""
    left = list(statuses)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        time.sleep(takes_s)
        start_response(left.pop(0) if len(left) > 1 else left[0], [("Content-Length", "0")])
        return []

    server = make_server("127.0.0.1", 0, answer, handler_class=_Silent)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/webhooks"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class TestRequests:
    @pytest.mark.thorough
    def test_each_has_a_line_with_its_status_and_the_number_in_its_response(self, serving: Serving):
        with serving(*JSON) as server, caller(server.address) as client:
            made = client.post("/v1/payment_intents", json=INTENT)
            asked = [
                made, client.get(f"/v1/payment_intents/{made.json()['id']}"), client.get("/v1/payment_intents?limit=2"),
                client.post("/v1/payment_intents", json={}), client.get("/nowhere"), client.delete("/v1/balance"),
                client.get("/v1/balance", headers={"Host": "elsewhere.example"}),
                client.get("/v1/balance", headers={"Authorization": ""}), client.head("/docs"), client.get("/docs"),
            ]  # fmt: skip
            spoken = said(server, REQUEST)
        expected = [
            (each.request.method, each.request.url.raw_path.decode(), str(each.status_code), each.headers["Request-Id"])
            for each in asked
        ]
        assert [(*each[:3], each[4]) for each in spoken] == expected
        assert {each[2] for each in spoken} == {"200", "400", "401", "404", "405", "421"}
        assert all(float(each[3]) < 60_000 for each in spoken)
        assert server.errors.count("\n") == len(asked), "and nothing else, not even of the look whether it is up"

    @pytest.mark.thorough
    def test_one_that_does_not_come_whole_has_a_line(self, serving: Serving):
        with serving(*JSON) as server:
            address = server.address
            door = Door(urlsplit(address["base_url"]).port or 0, address["secret_key"])
            lines = ("Host: localhost", "Content-Length: 50")
            assert door.send(door.head("/v1/charges", *lines, method="POST") + b"{")[:2] == (408, "body_late")
            assert [each[:3] for each in said(server, REQUEST)] == [("POST", "/v1/charges", "408")]

    @pytest.mark.thorough
    def test_a_secret_or_a_number_in_a_path_or_a_query_is_masked_and_nothing_steers_the_terminal(
        self, serving: Serving
    ):
        with serving(*JSON) as server, caller(server.address) as client:
            key = server.address["secret_key"]
            for path in (
                f"/v1/payment_intents/{key}", f"/v1/payment_intents?key={key}", f"/{key.replace('_', '%5F')}?a={key}",
                "/sandbox/phones/+260961234567", "/v1/charges?phone=%2B260961234567&phone=0961234567",
                "/v1/charges?a=%1b%5B31m%0Ab", f"/{'x' * 5_000}",
            ):  # fmt: skip
                client.get(path)
            text = server.errors
            assert len(said(server, REQUEST)) == text.count("\n") == 7
        assert key.removeprefix("sk_test_") not in text
        assert "961234567" not in text
        assert "phone=+26096••••567" in text
        assert "/v1/charges?a=␛[31m␊b" in text
        assert max(map(len, text.splitlines())) < 400

    @pytest.mark.thorough
    def test_what_a_notebook_looks_at_again_and_again_has_none(self, serving: Serving):
        with serving(*JSON) as server, Workbench.connect(**server.address) as bench:
            seen = threading.Event()
            bench.watch(seen.set)
            time.sleep(1.2)  # looks twice a second
            bench.client.payment_intents.create(amount=1)
            assert seen.wait(10)
            spoken = said(server, REQUEST)
        assert [each[:2] for each in spoken].count(("GET", "/sandbox/clock")) == 1, "the one of `connect`"
        assert spoken[-1][:3] == ("POST", "/v1/payment_intents", "200")


class TestDeliveries:
    @pytest.mark.thorough
    def test_each_attempt_has_a_line_with_its_result_and_the_next(self, serving: Serving):
        with (
            shop(["500 Out", "200 OK"]) as url,
            serving(*MANUAL, "--webhook", url) as server,
            caller(server.address) as client,
        ):
            create(client)
            assert is_true_soon(lambda: len(said(server, WEBHOOK)) == 1)
            (delivery,) = client.get("/v1/deliveries").json()["data"]
            advance(client, 10)
            first, second = said(server, WEBHOOK)
        assert first[:4] == ("payment_intent.created", delivery["event"], url, "500")
        again = datetime.fromisoformat(first[4].removeprefix("attempt 2 at "))
        assert math.ceil(again.timestamp()) == delivery["next_attempt_at"]
        assert second == ("payment_intent.created", delivery["event"], url, "200", None)

    @pytest.mark.thorough
    def test_where_nobody_answers_it_says_why_up_to_the_dead_letter(self, serving: Serving):
        with (
            serving(*MANUAL, "--webhook", f"{NOBODY}?key=whsec_{'A' * 24}") as server,
            caller(server.address) as client,
        ):
            create(client)
            advance(client, 10 * 86_400)
            spoken = said(server, WEBHOOK)
        assert [each[4] for each in spoken][-1] == "dead letter"
        assert [each[4].split(" ")[1] for each in spoken[:-1]] == [str(number) for number in range(2, 11)]
        assert {each[2:4] for each in spoken} == {(f"{NOBODY}?key=whsec_••••", spoken[0][3])}
        assert "refused" in spoken[0][3]

    @pytest.mark.thorough
    def test_one_that_is_not_sent_any_more_says_so(self, serving: Serving):
        with shop(["410 Gone"]) as url, serving(*MANUAL, "--webhook", url) as server, caller(server.address) as client:
            (endpoint,) = client.get("/v1/webhook_endpoints").json()["data"]
            client.post(f"/sandbox/webhook_endpoints/{endpoint['id']}/faults", json={"faults": ["out_of_order"]})
            create(client, 2)
            advance(client, 60)
            results = [each[3:] for each in said(server, WEBHOOK)]
        assert results == [("410", "dead letter"), ("not sent: the endpoint is disabled", "dead letter")]

    @pytest.mark.thorough
    def test_one_that_has_to_follow_another_says_that_it_is_held_back(self, serving: Serving, tmp_path: Path):
        gaps = tmp_path / "gaps.toml"
        gaps.write_text('ordering = "per_object"')
        options = (*MANUAL, "--webhook", NOBODY, "--gaps", str(gaps))
        with serving(*options) as server, caller(server.address) as client:
            made = client.post("/v1/payment_intents", json=INTENT).json()
            client.post(f"/v1/payment_intents/{made['id']}/cancel")
            advance(client, 1)
            told = said(server, WEBHOOK)
        failed = next(each for each in told if each[0] == "payment_intent.created")
        held = next(each for each in told if each[0] == "payment_intent.canceled")
        assert failed[4].startswith("attempt 2 at ")
        assert held[3:] == ("held back", failed[4].replace("attempt 2", "attempt 1"))


class TestWhereItSpeaks:
    @pytest.mark.thorough
    def test_quiet_it_says_nothing_and_json_is_one_line(self, serving: Serving):
        for options, lines in ((("--quiet",), 0), ((), 3)):
            with serving(*MANUAL, "--webhook", NOBODY, *options) as server, caller(server.address) as client:
                create(client)
                advance(client, 1)
                assert json.loads(server.first_line)["base_url"]
                assert server.errors.count("\n") == lines, server.errors
                server.process.terminate()
                assert server.process.stdout
                assert server.process.stdout.read() == ""

    @pytest.mark.thorough
    def test_lines_of_several_workers_and_threads_are_whole(self, serving: Serving):
        def run(address: dict[str, str]) -> list[str]:
            with caller(address) as client:
                return create(client, 50)

        with serving(*JSON, "--workers", "2", "--webhook", NOBODY) as server, ThreadPoolExecutor(8) as pool:
            numbers = [number for each in pool.map(run, [server.address] * 8) for number in each]
            assert is_true_soon(lambda: len({each[1] for each in said(server, WEBHOOK)}) == len(numbers), 60)
            assert sorted(each[4] for each in said(server, REQUEST)) == sorted(numbers)
            lines = server.errors.splitlines()
        others = [
            each for each in lines if not (REQUEST.fullmatch(each) or WEBHOOK.fullmatch(each) or " due; " in each)
        ]
        assert others == []

    @pytest.mark.thorough
    def test_colours_are_for_a_terminal_that_wants_them(self, bounded: Bounded):
        def shown(**settings: str) -> str:
            """What a terminal gets of a request that is fine, one that is not, and a delivery that fails."""
            ours, theirs = pty.openpty()
            environment = {**{name: each for name, each in os.environ.items() if name != "NO_COLOR"}, **settings}
            command = [COMMAND, "serve", *MANUAL, "--webhook", NOBODY]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True)  # noqa: S603  our own command
            os.close(theirs)
            with bounded(process):
                assert process.stdout
                with caller(json.loads(process.stdout.readline())) as client:
                    create(client)
                    client.get("/nowhere")
                    advance(client, 1)
                    text = ""
                    while "clock/advance" not in text:
                        text += os.read(ours, 65_536).decode()
            os.close(ours)
            return text

        coloured = shown(TERM="xterm")
        assert "  \x1b[32m200\x1b[0m  " in coloured
        assert "  \x1b[33m404\x1b[0m  " in coloured
        assert re.search(r"  \x1b\[33m[^\x1b]*refused\x1b\[0m; attempt 2 at ", coloured)
        for settings in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in shown(**settings)
        assert "\x1b[32m200" in shown(TERM="xterm", NO_COLOR=""), "set but empty, it says nothing"

    @pytest.mark.thorough
    def test_a_pipe_that_nobody_reads_holds_nobody_up(self, bounded: Bounded):
        command = [COMMAND, "serve", *JSON]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603  our own command
        with bounded(process):
            assert process.stdout
            assert process.stderr
            with caller(json.loads(process.stdout.readline())) as client:
                numbers = create(client, 1_500)  # more lines than a pipe of 64 KiB holds
                text = os.read(process.stderr.fileno(), 1 << 20).decode()
                numbers += create(client)
                text += os.read(process.stderr.fileno(), 1 << 20).decode()
        lost = re.search(r"^\(([\d,]+) lines were not written: nobody read\.\)\n.*(req_\w+)\n\Z", text, re.MULTILINE)
        assert lost
        assert lost[2] == numbers[-1]
        assert int(lost[1].replace(",", "")) + text.count(" ms ") == len(numbers)

    @pytest.mark.thorough
    def test_whoever_read_may_go(self, bounded: Bounded):
        command = [COMMAND, "serve", *JSON]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603  our own command
        with bounded(process):
            assert process.stdout
            assert process.stderr
            process.stderr.close()
            with caller(json.loads(process.stdout.readline())) as client:
                assert len(set(create(client, 3))) == 3


LONG = """
import time
from workbench import Workbench

def shop(environ, start_response):
    time.sleep({takes_s})
    start_response("500 Out", [])
    return [b""]

bench = Workbench(seed=7)
bench.deliver_to(shop)
for _ in range({payments}):
    bench.client.payment_intents.create(amount=1)
print("before")
bench.clock.advance({seconds})
print("after")
"""
AFTER = "before\nafter\n"


def executed(source: str) -> tuple[list[dict[str, Any]], str]:
    """What a cell displays, one after the other, and what it prints; nothing else is saved."""

    class Listening(NotebookClient):
        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:  # noqa: ANN401  of the base class
            if "display_data" in msg["msg_type"]:
                displayed.append(msg["content"]["data"])
            return super().process_message(msg, cell, cell_index)

    displayed: list[dict[str, Any]] = []
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    Listening(notebook, timeout=300, kernel_name="python3").execute()
    saved = notebook.cells[0].outputs
    assert [each["data"] for each in saved if each["output_type"] == "display_data"] in ([], [{}])
    return displayed, "".join(each["text"] for each in saved if each["output_type"] == "stream")


class TestLongRuns:
    @pytest.mark.thorough
    def test_the_log_says_how_far_an_advance_is(self, serving: Serving):
        with (
            shop(["500 Out"], 0.1) as url,
            serving(*MANUAL, "--webhook", url) as server,
            caller(server.address) as client,
        ):
            create(client, 5)
            advance(client, 0)
            assert " due; " not in server.errors, "a short one needs none"
            advance(client, 5 * 86_400)
            found = re.findall(
                r"^([\d,]+) jobs done, ([\d,]+) due; the clock is at (\S+) of (\S+)$", server.errors, re.MULTILINE
            )
        assert len(found) >= 2
        done, left, moments, ends = zip(*found, strict=True)
        assert sorted(map(int, done)) == list(map(int, done))
        assert all(0 < int(each) <= 5 for each in left)
        assert [*moments, ends[0]] == sorted({*moments, ends[0]}), "on its way to one end"

    @pytest.mark.thorough
    def test_a_notebook_shows_it_to_whoever_looks_and_takes_it_away(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("JPY_SESSION_NAME", "somebody's.ipynb")
        displayed, printed = executed(LONG.format(takes_s=0.05, payments=10, seconds=5 * 86_400))
        assert printed == AFTER
        assert len(displayed) >= 2
        *shown, last = displayed
        assert last == {}
        assert all(re.match(r"\d+ jobs done, \d+ due; the clock is at 2026", each["text/plain"]) for each in shown)

    @pytest.mark.thorough
    @pytest.mark.parametrize(("looks", "takes_s"), [("somebody's.ipynb", "0"), ("", "0.05")], ids=["short", "headless"])
    def test_a_short_one_and_a_headless_run_show_nothing(
        self, monkeypatch: pytest.MonkeyPatch, looks: str, takes_s: str
    ):
        monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
        if looks:
            monkeypatch.setenv("JPY_SESSION_NAME", looks)
        assert executed(LONG.format(takes_s=takes_s, payments=5, seconds=5 * 86_400)) == ([], AFTER)

    @pytest.mark.thorough
    def test_a_replay_of_many_dead_letters_shows_it_too(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("JPY_SESSION_NAME", "somebody's.ipynb")
        lost = "takes_s = 0" + LONG.format(takes_s="takes_s", payments=40, seconds=4 * 86_400)
        displayed, printed = executed(f"{lost}takes_s = 0.06\nbench.client.deliveries.replay_dead_letters()\n")
        assert (printed, displayed[-1]) == (AFTER, {})
        assert re.match(r"\d+ jobs done, \d+ due; the clock is at \S+Z$", displayed[-2]["text/plain"])
