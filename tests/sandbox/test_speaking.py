"""What `workbench serve` says on standard error, and what a notebook shows of a run that takes long."""

import math
import os
import pty
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import INTENT, Serving, is_true_soon
from tests.doors.conftest import Door
from tests.sandbox.conftest import Merchant, NewSandbox
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.sandbox import driver
from workbench.sandbox.messages import Answer, Arrived, Speaker
from workbench.sandbox.server import listening

REQUEST = re.compile(r"(no request|[A-Z]+ \S+)  (\d{3})  (\d+\.\d) ms  ((?:req|ctl)_\w{24})")
WEBHOOK = re.compile(r"webhook (\S+) (evt_\w{24}) to (\S+)  (.+?)(?:; (attempt \d+ at \S+|dead letter))?")
NOBODY = "http://127.0.0.1:9/webhooks"
"""The port that discards: nothing listens there."""
URL = "http://merchant.localhost/a"


def said(text: str, pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    """The lines of a kind, in pieces."""
    return [found.groups() for line in text.splitlines() if (found := pattern.fullmatch(line))]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file to which the sandbox's speaker writes."""
    return tmp_path / "stderr.txt"


@pytest.fixture
def spoken(log: Path, new_sandbox: NewSandbox) -> Iterator[NewSandbox]:
    """Makes sandboxes that speak."""
    with log.open("wb") as file:
        yield lambda **gaps: new_sandbox(speaker=Speaker(file.fileno()), **gaps)


@pytest.fixture
def at_port(spoken: NewSandbox) -> Iterator[tuple[httpx.Client, Door]]:
    """A client of a port at which such a sandbox answers, and the port itself."""
    sandbox = spoken()
    with listening(sandbox.engine, 0) as url:
        door = Door.at(url, sandbox.key)
        with door.client() as client:
            yield client, door


class TestRequests:
    def test_each_has_a_line_with_its_status_and_the_number_in_its_response(
        self, at_port: tuple[httpx.Client, Door], log: Path
    ):
        client, door = at_port
        client.timeout = 60  # the first page of documentation is made when it is asked for
        made = client.post("/v1/payment_intents", json=INTENT)
        asked = [
            made, client.get(f"/v1/payment_intents/{made.json()['id']}"), client.get("/v1/payment_intents?limit=2"),
            client.post("/v1/payment_intents", json={}), client.get("/nowhere"), client.delete("/v1/balance"),
            client.get("/v1/balance", headers={"Host": "elsewhere.example"}),
            client.get("/v1/balance", headers={"Authorization": ""}), client.head("/docs"), client.get("/docs"),
        ]  # fmt: skip
        # What is looked at again and again has none.
        client.get("/sandbox/clock", headers={UNSEEN: "true"})
        client.get("/console/console.js")
        broken = door.head("/v1/charges", "Host: localhost", "Content-Length: 50", method="POST")
        for message in (broken + b"{", b"\x16\x03\x01\r\n\r\n"):
            door.send(message, ends=True)
        lines = said(log.read_text(), REQUEST)
        whats = [f"{each.request.method} {each.request.url.raw_path.decode()}" for each in asked]
        assert [each[0] for each in lines[:-2]] == whats
        answers = [(str(each.status_code), each.headers["Request-Id"]) for each in asked]
        assert [(status, number) for _, status, _, number in lines[:-2]] == answers
        assert [each[:2] for each in lines[-2:]] == [("POST /v1/charges", "400"), ("no request", "400")]
        assert {each[1] for each in lines} == {"200", "400", "401", "404", "405", "421"}
        assert all(float(each[2]) < 60_000 for each in lines)
        assert log.read_text().count("\n") == len(lines), "and nothing else"

    def test_a_refused_preflight_names_the_option_that_lets_the_page_in(
        self, at_port: tuple[httpx.Client, Door], log: Path
    ):
        asks = {"Origin": "http://shop.example", "Access-Control-Request-Method": "POST"}
        assert at_port[0].options("/v1/payment_intents", headers=asks).status_code == 403
        assert "  for what a publishable key may do: --allow-origin http://shop.example\n" in log.read_text()

    def test_a_secret_or_a_number_in_a_path_or_a_query_is_masked_and_nothing_steers_the_terminal(
        self, at_port: tuple[httpx.Client, Door], log: Path
    ):
        client, (_, key, _) = at_port
        for path in (
            f"/v1/payment_intents/{key}", f"/v1/payment_intents?key={key}", f"/{key.replace('_', '%5F')}?a={key}",
            "/sandbox/phones/+260961234567", "/v1/charges?phone=%2B260961234567&phone=0961234567",
            "/v1/charges?a=%1b%5B31m%0Ab", f"/{'x' * 5_000}",
        ):  # fmt: skip
            client.get(path)
        text = log.read_text()
        assert len(said(text, REQUEST)) == text.count("\n") == 7
        assert key.removeprefix("sk_test_") not in text
        assert "961234567" not in text
        assert "phone=+26096••••567" in text
        assert "/v1/charges?a=␛[31m␊b" in text
        assert max(map(len, text.splitlines())) < 400


class TestDeliveries:
    def test_each_attempt_has_a_line_with_its_result_and_the_next(
        self, spoken: NewSandbox, merchant: Merchant, log: Path
    ):
        sandbox, merchant.answers["/a"] = spoken(), [500, 200]
        hook = sandbox.hook()
        sandbox.event()
        sandbox.advance(0)
        (delivery,) = hook.deliveries()
        sandbox.advance(10)
        first, second = said(log.read_text(), WEBHOOK)
        assert first[:4] == ("payment_intent.created", delivery["event"], URL, "500")
        again = datetime.fromisoformat(first[4].removeprefix("attempt 2 at "))
        assert math.ceil(again.timestamp()) == delivery["next_attempt_at"]
        assert second == ("payment_intent.created", delivery["event"], URL, "200", None)

    def test_where_nobody_answers_it_says_why_up_to_the_dead_letter(self, spoken: NewSandbox, log: Path):
        sandbox = spoken()
        sandbox.client.webhook_endpoints.create(url=f"{NOBODY}?key=whsec_{'A' * 24}")
        sandbox.event()
        sandbox.advance(days=10)
        lines = said(log.read_text(), WEBHOOK)
        assert [each[4] for each in lines][-1] == "dead letter"
        assert [each[4].split(" ")[1] for each in lines[:-1]] == [str(number) for number in range(2, 11)]
        assert {each[2:4] for each in lines} == {(f"{NOBODY}?key=whsec_••••", lines[0][3])}
        assert "refused" in lines[0][3]

    def test_one_that_is_not_sent_any_more_says_so(self, spoken: NewSandbox, merchant: Merchant, log: Path):
        sandbox, merchant.answers["/a"] = spoken(), [410]
        hook = sandbox.hook()
        sandbox.call("POST", f"/sandbox/webhook_endpoints/{hook.id}/faults", {"faults": ["out_of_order"]})
        for _ in range(2):
            sandbox.event()
        sandbox.advance(60)
        results = [each[3:] for each in said(log.read_text(), WEBHOOK)]
        assert results == [("410", "dead letter"), ("not sent: the endpoint is disabled", "dead letter")]

    def test_one_that_has_to_follow_another_says_that_it_is_held_back(
        self, spoken: NewSandbox, merchant: Merchant, log: Path
    ):
        sandbox, merchant.answers["/a"] = spoken(ordering="per_object"), [500]
        sandbox.hook()
        sandbox.client.payment_intents.cancel(sandbox.client.payment_intents.create(amount=1).id)
        sandbox.advance(1)
        failed, held = said(log.read_text(), WEBHOOK)
        assert failed[4].startswith("attempt 2 at ")
        assert (held[0], *held[3:]) == (
            "payment_intent.canceled",
            "held back",
            failed[4].replace("attempt 2", "attempt 1"),
        )


class TestWhereItSpeaks:
    @pytest.mark.thorough
    def test_lines_of_several_workers_and_threads_are_whole(self, serving: Serving):
        def create(address: dict[str, str]) -> list[str]:
            headers = {"Authorization": f"Bearer {address['secret_key']}"}
            with httpx.Client(base_url=address["base_url"], headers=headers, trust_env=False, timeout=60) as client:
                return [client.post("/v1/payment_intents", json=INTENT).headers["Request-Id"] for _ in range(25)]

        options = ("--port", "0", "--json", "--workers", "2", "--webhook", NOBODY)
        with serving(*options) as server, ThreadPoolExecutor(8) as pool:
            numbers = [number for each in pool.map(create, [server.address] * 8) for number in each]
            assert is_true_soon(lambda: len({each[1] for each in said(server.errors, WEBHOOK)}) == len(numbers), 60)
            assert sorted(each[3] for each in said(server.errors, REQUEST)) == sorted(numbers)
            others = [
                each
                for each in server.errors.splitlines()
                if not (REQUEST.fullmatch(each) or WEBHOOK.fullmatch(each) or " due; " in each)
            ]
            server.process.terminate()
            assert server.process.stdout
            assert (others, server.process.stdout.read()) == ([], ""), "with --json, standard output has one line"

    @pytest.mark.parametrize(
        ("settings", "is_coloured"),
        [
            ({"TERM": "xterm"}, True),
            ({"TERM": "xterm", "NO_COLOR": ""}, True),
            ({"TERM": "xterm", "NO_COLOR": "1"}, False),
            ({"TERM": "dumb"}, False),
        ],
        ids=str,
    )
    def test_colours_are_for_a_terminal_that_wants_them(
        self, new_sandbox: NewSandbox, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], *, is_coloured: bool
    ):
        monkeypatch.delenv("NO_COLOR", raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        ours, theirs = pty.openpty()
        speaker = Speaker(theirs)
        for status in (200, 404, 500):
            speaker.request(Arrived("GET", b"/v1/balance", {}), Answer(status, [], b""), 0.001)
        sandbox = new_sandbox(speaker=speaker)
        sandbox.client.webhook_endpoints.create(url=NOBODY)
        sandbox.event()
        sandbox.advance(0)
        text = ""
        while text.count("\n") < 4:
            text += os.read(ours, 65_536).decode()
        for descriptor in (ours, theirs):
            os.close(descriptor)
        shown = re.findall(r"  \x1b\[(\d+)m([^\x1b]*)\x1b\[0m", text)
        assert [colour for colour, _ in shown] == (["32", "33", "31", "33"] if is_coloured else [])
        assert is_coloured or "\x1b" not in text

    def test_a_pipe_that_nobody_reads_holds_nobody_up(self):
        read, write = os.pipe()
        speaker = Speaker(write)
        for number in range(1_500):  # more lines than a pipe of 64 KiB holds
            speaker.write(f"line {number}".ljust(80))
        text = os.read(read, 1 << 20).decode()
        speaker.write("the last")
        rest = os.read(read, 1 << 20).decode()
        lost = re.fullmatch(r"\(([\d,]+) lines were not written: nobody read\.\)\nthe last\n", rest)
        assert lost
        assert int(lost[1].replace(",", "")) + text.count("line ") == 1_500
        # Whoever read may go, too.
        os.close(read)
        speaker.write("to nobody")
        os.close(write)


LONG = """
import time
from workbench import Workbench
from workbench.sandbox import driver

def shop(environ, start_response):
    time.sleep(0.01)
    start_response("500 Out", [])
    return [b""]

bench = Workbench(seed=7)
bench.deliver_to(shop)
for _ in range(3):
    bench.client.payment_intents.create(amount=1)
driver._REPORT_EVERY_S = 0
bench.clock.advance(days=5)
print("advanced")
bench.client.deliveries.replay_dead_letters()
print("replayed")
"""


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
    assert all(each["data"] == {} for each in saved if each["output_type"] == "display_data")
    return displayed, "".join(each["text"] for each in saved if each["output_type"] == "stream")


class TestLongRuns:
    def test_the_log_says_how_far_an_advance_is(
        self, spoken: NewSandbox, merchant: Merchant, log: Path, monkeypatch: pytest.MonkeyPatch
    ):
        sandbox, merchant.answers["/a"] = spoken(), [500]
        sandbox.hook()
        for _ in range(5):
            sandbox.event()
        sandbox.advance(0)
        assert " due; " not in log.read_text(), "a short one needs none"
        monkeypatch.setattr(driver, "_REPORT_EVERY_S", 0)
        sandbox.advance(days=5)
        line = r"^([\d,]+) jobs done, ([\d,]+) due; the clock is at (\S+) of (\S+)$"
        done, left, moments, ends = zip(*re.findall(line, log.read_text(), re.MULTILINE), strict=True)
        assert [int(each) for each in done] == [*range(1, len(done) + 1)]
        assert all(0 < int(each) <= 5 for each in left)
        assert len({*ends}) == 1
        assert [*moments, ends[0]] == sorted([*moments, ends[0]]), "on its way to one end"

    @pytest.mark.thorough
    @pytest.mark.parametrize("looks", ["somebody's.ipynb", ""], ids=["somebody looks", "headless"])
    def test_a_notebook_shows_it_to_whoever_looks_and_takes_it_away(self, monkeypatch: pytest.MonkeyPatch, looks: str):
        monkeypatch.setenv("JPY_SESSION_NAME", looks)
        if not looks:
            monkeypatch.delenv("JPY_SESSION_NAME")
        displayed, printed = executed(LONG)
        assert printed == "advanced\nreplayed\n"
        texts = [each.get("text/plain", "") for each in displayed]
        assert len(texts) > 20 if looks else texts == []
        assert texts.count("") == (2 if looks else 0), "taken away after each run"
        line = re.compile(r"\d+ jobs done, \d+ due; the clock is at 2026\S+Z( of 2026\S+Z)?")
        assert all(line.fullmatch(each) for each in texts if each)
        assert not looks or " of " not in texts[-2], "a replay has no end"
