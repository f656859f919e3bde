"""Shops with one flaw each, started as users start theirs, and what the exam says of each."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from workbench.certify import checks
from workbench.cli import app

SHOP = '''
import json, os, sqlite3, sys, time
from contextlib import closing
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from workbench.domain.signatures import verify
from workbench.errors import SignatureRefused

KIND, PORT, SEEN = sys.argv[1], int(sys.argv[2]), set()
TABLES = """
CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS orders (payment TEXT PRIMARY KEY, fulfilled INTEGER DEFAULT 0,
                                   refunded INTEGER DEFAULT 0, status TEXT DEFAULT 'open');
"""

def opened():
    books = sqlite3.connect(__file__ + ".sqlite")
    books.executescript(TABLES)
    return books

def is_new(books, event_id):
    if KIND == "in memory":
        return not (event_id in SEEN or SEEN.add(event_id))
    return books.execute("INSERT OR IGNORE INTO messages VALUES (?)", [event_id]).rowcount == 1

def handle(body):
    event = json.loads(body)
    kind, about = event["type"], event["data"]["object"]
    with closing(opened()) as books, books:
        if not is_new(books, event["id"]):
            return
        payment = about["payment_intent"] if kind == "refund.created" else about["id"]
        changes = {
            "payment_intent.succeeded": "status = 'paid', fulfilled = fulfilled + 1 WHERE NOT refunded",
            "payment_intent.processing": "status = 'waiting' WHERE " + ("status = 'open'", "1")[KIND == "un-pays"],
            "refund.created": "status = 'refunded', refunded = 1 WHERE 1",
        }
        if kind in changes:
            books.execute("INSERT OR IGNORE INTO orders (payment) VALUES (?)", [payment])
            books.execute(f"UPDATE orders SET {changes[kind]} AND payment = ?", [payment])

def take(body, headers):
    if KIND == "slow":
        time.sleep(9)
    if KIND == "acts first":
        handle(body)
    try:
        if KIND == "verifies after parsing":
            body = json.dumps(json.loads(body), separators=(",", ":")).encode()
        if KIND == "verifies with blanks":
            body = json.dumps(json.loads(body)).encode()
        verify(body, headers, [os.environ["PAYMENTS_WEBHOOK_SECRET"]], now_s=int(time.time()))
    except SignatureRefused:
        if KIND == "uncaught":
            raise
        return 200 if KIND == "verifies nothing" else 400
    handle(body)
    return 200

def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    headers = {name[5:].replace("_", "-").lower(): environ[name] for name in environ if name.startswith("HTTP_")}
    too_large = KIND == "small bodies" and len(body) > 100_000
    start_response(f"{413 if too_large else take(body, headers)} As Asked", [])
    return [b""]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): ...

class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True

if sys.argv[3:] == ["orders"]:
    with closing(opened()) as books:
        for payment, fulfilled, status in books.execute("SELECT payment, fulfilled, status FROM orders"):
            print(json.dumps({"payment": payment, "fulfilled": fulfilled, "status": status}))
elif KIND == "starts once" and os.path.exists(__file__ + ".started"):
    sys.exit("the lock file of the last start is still there")
else:
    open(__file__ + ".started", "w").close()
    if KIND == "forgets" and os.path.exists(__file__ + ".sqlite"):
        os.remove(__file__ + ".sqlite")
    make_server("127.0.0.1", PORT, app, server_class=Threads, handler_class=Quiet).serve_forever()
'''


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "BURST", 2)


class Exam:
    """An exam by the command line; `arguments` are those that it is started with."""

    def __init__(self, folder: Path, kind: str, *more: str, orders: bool = True) -> None:
        path = folder / "shop.py"
        path.write_text(SHOP)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        line = f"{sys.executable} {path} '{kind}' {port}"
        self.report = folder / "exam.json"
        asked = ["--orders", f"{line} orders"] if orders else []
        url = f"http://127.0.0.1:{port}/webhooks"
        self.arguments = ["certify", url, "--cmd", line, *asked, "--report", str(self.report), *more]

    def run(self) -> Result:
        return CliRunner().invoke(app, self.arguments)

    @property
    def record(self) -> dict[str, Any]:
        return dict(json.loads(self.report.read_text()))

    def named(self, verdict: str) -> list[str]:
        return [each["name"] for each in self.record["checks"] if each["verdict"] == verdict]


@pytest.mark.thorough
def test_a_good_shop_passes_every_check(tmp_path: Path):
    exam = Exam(tmp_path, "good")
    done = exam.run()
    assert (done.exit_code, exam.named("passed")) == (0, [each["name"] for each in exam.record["checks"]]), done.output
    assert exam.record["causes"] == []
    assert {"restart", "restart.order", "out_of_order.status"} < {*exam.named("passed")}


ONE_FLAW = [
    ("in memory", "restart.order", "fulfilled 2 times"),
    pytest.param("forgets", "restart.order", "9 earlier orders are gone", marks=pytest.mark.thorough),
    ("un-pays", "out_of_order.status", "waiting"),
    pytest.param(
        "acts first",
        "wrong_secret.order",
        "fulfilled 2 times, although the message was rejected",
        marks=pytest.mark.thorough,
    ),
]


@pytest.mark.parametrize(("kind", "name", "came"), ONE_FLAW)
@pytest.mark.thorough
def test_a_shop_with_a_flaw_in_its_orders_fails_the_check_by_name(kind: str, name: str, came: str, tmp_path: Path):
    exam = Exam(tmp_path, kind)
    done = exam.run()
    assert (done.exit_code, exam.named("failed")) == (1, [name]), done.output
    assert next(each["came"] for each in exam.record["checks"] if each["name"] == name) == came


@pytest.mark.thorough
def test_a_slow_shop_is_told_to_respond_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.certify.exam._PATIENCE_S", 1)
    (tmp_path / "gaps.toml").write_text("delivery_timeout_s = 5\n")
    exam = Exam(tmp_path, "slow", "--gaps", str(tmp_path / "gaps.toml"))
    done = exam.run()
    assert done.exit_code == 1
    assert "Respond first, work later" in done.stdout
    assert "CSRF" not in done.stdout
    assert exam.record["causes"][0]["came"] == "no whole response within 5 s"
    (line,) = [each for each in done.stdout.splitlines() if "not examined: " in each]
    assert line.startswith("- not examined: let your shop accept genuine messages first: The same message again; ")
    assert line.endswith("; and 29 more")


EXPLAINED = [
    ("verifies after parsing", "The signature is verified after parsing", {"valid", "exact_bytes", "rolled_secret"}),
    pytest.param(
        "verifies with blanks", "The signature is verified after parsing", {"valid"}, marks=pytest.mark.thorough
    ),
    ("uncaught", "An exception is not caught",
     {"tampered", "wrong_secret", "stale", "future", "missing_headers", "malformed_headers"}),
    pytest.param(
        "verifies nothing", "Signatures are not verified", {"tampered", "stale", "missing_headers"},
        marks=pytest.mark.thorough,
    ),
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "title", "names"), EXPLAINED)
def test_what_explains_several_failures_stands_first_and_once(kind: str, title: str, names: set[str], tmp_path: Path):
    exam = Exam(tmp_path, kind)
    done = exam.run()
    assert done.exit_code == 1
    (cause,) = exam.record["causes"]
    flagged = [each for each in exam.record["checks"] if each["verdict"] in {"failed", "warning"}]
    assert cause["title"] == title
    assert names <= {each["name"] for each in flagged}
    assert {(each["cause"], each["fix"]) for each in flagged} == {(title, cause["fix"])}
    assert done.stdout.split("\n\n")[1].startswith(f"✗ {title}\n")
    shown = " ".join(done.stdout.split())
    assert shown.count(" ".join(cause["fix"].split())) == 1
    assert shown.count(f"Cause: {title}") == len(flagged)
    assert done.stdout.count("not examined: ") == ("valid" in exam.named("failed")), "one line, for one reason"
    assert kind == "verifies nothing" or not re.search("accepted as genuine|Whoever knows|Anybody who", done.stdout)


@pytest.mark.thorough
def test_a_large_body_is_a_warning_with_the_setting_of_each_framework(tmp_path: Path):
    exam = Exam(tmp_path, "small bodies")
    done = exam.run()
    assert (done.exit_code, exam.named("failed"), exam.named("warning")) == (0, [], ["large"])
    assert "1 warning" in done.stdout
    assert all(each in done.stdout for each in ("express.raw", "bodyLimit", "DATA_UPLOAD_MAX_MEMORY_SIZE"))


@pytest.mark.thorough
def test_a_shop_that_does_not_start_again_fails_that_check_and_ends_the_exam(tmp_path: Path):
    exam = Exam(tmp_path, "starts once")
    done = exam.run()
    assert (done.exit_code, exam.named("failed")) == (1, ["restart"])
    assert "the lock file of the last start is still there" in done.stdout
    assert "nothing listens any more" in done.stdout


@pytest.mark.thorough
def test_what_was_not_examined_is_one_line_with_the_option(tmp_path: Path):
    exam = Exam(tmp_path, "good", orders=False)
    done = exam.run()
    assert done.exit_code == 0
    (line,) = [each for each in done.stdout.splitlines() if "not examined: " in each]
    assert line.startswith("- not examined: --orders would examine it: A paid payment: its order; ")
    assert line.endswith("; and 8 more")
    assert len(exam.named("not examined")) == 11


@pytest.mark.thorough
def test_an_interrupted_exam_prints_checks_as_they_end_and_writes_what_is_known(command: str, tmp_path: Path):
    (tmp_path / "gaps.toml").write_text("delivery_timeout_s = 30\n")
    exam = Exam(tmp_path, "good", "--gaps", str(tmp_path / "gaps.toml"))
    with subprocess.Popen([command, *exam.arguments], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  our own command
        assert process.stdout
        first = process.stdout.readline()
        assert (first.split()[:2], process.poll(), exam.report.exists()) == (["✓", "passed"], None, False)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(30) == 128 + signal.SIGINT
    assert "- not examined: interrupted: " in rest
    assert exam.named("passed")[0] == "valid"
    assert "slow" in exam.named("not examined")
    assert exam.record["causes"] == []
