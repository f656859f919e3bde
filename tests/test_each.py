"""`workbench each`: on which assumptions a command depends, by its own tests, in whatever language they are."""

import json
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import Result

from tests.conftest import invoke
from workbench import process

Each = Callable[..., Result]
Words = tuple[str, ...]
PYTHON = (sys.executable, "shop.py")

SHOP = '''
"""A shop with its tests, each of which takes something for granted that no documentation says."""
import json, os, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import quoteattr
from workbench import Workbench, verify
from workbench.errors import PaymentDeclined

PHONE = "+260961234567"
bench = Workbench.connect(os.environ["PAYMENTS_BASE_URL"], os.environ["PAYMENTS_SECRET_KEY"])
prompted, paid = set(), []

class Webhooks(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        verify(body, self.headers, [os.environ["PAYMENTS_WEBHOOK_SECRET"]], now_s=int(time.time()))
        event = json.loads(body)
        if event["type"] == "payment_intent.requires_action":
            prompted.add(event["data"]["object"]["id"])
        if event["type"] == "payment_intent.succeeded" and event["data"]["object"]["id"] in prompted:
            paid.append(event["data"]["object"]["id"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

def charge(phone):
    bench.client.charges.create(amount=10000, channel="mtn", phone=phone, reference="r", idempotency_key=phone)

def test_amount_is_in_ngwee():
    charge(PHONE)
    assert bench.control.get("ledger/accounts", dict)["data"][0]["debit_minor"] == 10000

def test_declined_is_402():
    try:
        charge("+260960000002")
    except PaymentDeclined as declined:
        assert declined.status == 402
    else:
        raise AssertionError("not declined")

def test_ships_after_the_prompt():
    intent = bench.client.payment_intents.create(amount=5)
    bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    bench.phone(PHONE).enter_pin("1234")
    until = time.monotonic() + 0.6
    while intent.id not in paid and time.monotonic() < until:
        time.sleep(0.02)
    assert intent.id in paid

def test_ships_once():
    time.sleep(0.2)
    assert len(paid) == len({*paid})

server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Webhooks)
threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
cases = []
for name, test in [*globals().items()]:
    if name.startswith("test_"):
        try:
            test()
            cases.append(f"<testcase classname='shop' name={quoteattr(name)}/>")
        except Exception as error:
            cases.append(f"<testcase classname='shop' name={quoteattr(name)}><failure/></testcase>")
            print(name, repr(error))
with open(os.environ["WORKBENCH_JUNIT"], "w") as report:
    report.write("<testsuites><testsuite>" + "".join(cases) + "</testsuite></testsuites>")
raise SystemExit(any("failure" in case for case in cases))
'''
CALL = """
import json, os, pathlib, sys, time, urllib.request
request = urllib.request.Request(os.environ["PAYMENTS_BASE_URL"] + "/v1/payment_intents", data=b'{"amount": 5}')
request.add_header("Content-Type", "application/json")
request.add_header("Authorization", "Bearer " + os.environ["PAYMENTS_SECRET_KEY"])
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    media_type = error.headers["Content-Type"]
switched = json.loads(os.environ.get("WORKBENCH_GAPS", "{}"))
"""
"""A call that lacks fields, which relies on `required_fields` and `error_format`."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Each:
    """Run `workbench each` over a program in Python, with only some rows."""
    monkeypatch.chdir(tmp_path)

    def ran(source: str, *options: str, rows: str = "", command: Words = PYTHON) -> Result:
        (tmp_path / "shop.py").write_text(textwrap.dedent(source))
        named = [option for row in rows.split() for option in ("--row", row)]
        return invoke("each", *named, *options, "--", *command)

    return ran


def found(result: Result) -> dict[str, Any]:
    """Row = value → the tests that failed, of a result in JSON."""
    runs = json.loads(result.stdout)["runs"]
    return {f"{each['row']} = {each['value']}": each["failed"] for each in runs if not each["passed"]}


@pytest.mark.thorough
def test_what_a_shop_takes_for_granted_is_found_by_the_names_of_its_tests(run: Each):
    rows = "charge_amount_unit declined_status event_types ordering repeats rate_limit zed_mobile phone_format"
    began_s = time.monotonic()
    result = run(SHOP, "--json", rows=rows)
    took_s = time.monotonic() - began_s
    assert found(result) == {
        "charge_amount_unit = major": ["test_amount_is_in_ngwee"],
        "declined_status = 200": ["test_declined_is_402"],
        "event_types = collection": ["test_ships_after_the_prompt"],
        "ordering = out_of_order": ["test_ships_after_the_prompt"],
        "repeats = duplicate": ["test_ships_once"],
    }
    made = json.loads(result.stdout)
    assert took_s < 1.5 * sum(each["took_s"] for each in made["runs"]) + 1, "beside loading the sandbox, once"
    assert made["skipped"] == ["zed_mobile", "phone_format"], "whether a suite makes too many calls, no response tells"
    assert (result.exit_code, made["left"], made["runs"][0]["row"]) == (1, 0, None)
    assert "test_declined_is_402 AssertionError" in next(
        each["printed"] for each in made["runs"] if each["row"] == "declined_status"
    )


@pytest.mark.thorough
def test_the_table_says_what_depends_and_what_was_not_run(run: Each):
    result = run(CALL + "sys.exit('problem' not in media_type)", rows="error_format zed_mobile")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [each.split("  ")[0] for each in lines if each.endswith("exit status 1")] == [
        "error_format = plain", "error_format = envelope"
    ]  # fmt: skip
    assert "Not run, as the first run relied on none of these rows: zed_mobile." in lines
    assert "`workbench docs testing`" in result.stdout, "it says how tests are named"
    assert [line.partition("s  ")[2] for line in result.stderr.splitlines()] == [
        "nothing switched", "error_format = plain: exit status 1", "error_format = envelope: exit status 1"
    ]  # fmt: skip


REPORTS = """
said = {"in kwacha, exact": "<failure>the body has no title</failure>", "refund": "<error message='no code'/>"}
faults = ["" if "problem" in media_type else fault for fault in said.values()]
cases = [f"<testcase name='{name}'>{fault}</testcase>" for name, fault in zip(said, faults)]
pathlib.Path(os.environ["WORKBENCH_JUNIT"]).write_text(f"<testsuite>{''.join(cases)}</testsuite>")
sys.exit(any(faults))
"""


@pytest.mark.thorough
def test_one_value_is_run_as_the_table_writes_it_each_test_has_a_line_and_the_report_says_why(run: Each):
    options = ("--row", "error_format = plain", "--row", "required_fields")
    shown = run(CALL + REPORTS, *options).stdout.splitlines()
    place = next(number for number, line in enumerate(shown) if line.startswith("error_format = plain"))
    assert [line.split("  ")[-1] for line in shown[place : place + 2]] == ["in kwacha, exact", "refund"]
    assert "Passed, as no test of yours saw a difference: required_fields." in shown
    assert not any("docs testing" in line or "envelope" in line for line in shown)
    printed = next(each["printed"] for each in json.loads(run(CALL + REPORTS, "--json", *options).stdout)["runs"][1:])
    assert printed.split("\n\n") == ["in kwacha, exact: the body has no title", "refund: no code"]
    refused = run(CALL, "--row", "error_format=none")
    assert (refused.exit_code, "plain, envelope" in refused.stderr) == (2, True)


@pytest.mark.thorough
def test_sandboxes_of_the_command_itself_are_switched_and_tell_what_they_relied_on(run: Each):
    own = """
    from workbench import Workbench
    with Workbench() as bench:
        bench.client.charges.create(amount=10_000, channel="mtn", phone="+260961234567", idempotency_key="k")
        bench.reset()
        assert bench.control.in_force()["merchant_fee"] == "2.5%"
    """
    result = run(own, "--json", rows="merchant_fee declined_status")
    assert [*found(result)] == ["merchant_fee = none", "merchant_fee = flat_1.00"]
    assert json.loads(result.stdout)["skipped"] == ["declined_status"]


@pytest.mark.thorough
def test_nothing_is_skipped_where_a_sandbox_did_not_tell_what_it_relied_on(run: Each):
    result = run("import os\nfrom workbench import Workbench\nWorkbench()\nos._exit(0)", "--json", rows="zed_mobile")
    made = json.loads(result.stdout)
    assert (result.exit_code, made["skipped"], [each["row"] for each in made["runs"]]) == (
        0,
        None,
        [None, "zed_mobile"],
    )


@pytest.mark.thorough
def test_a_run_that_is_stuck_is_ended_with_its_children_and_counts_as_failed(
    run: Each, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process, "_END_S", 0.3)
    stuck = """
    import signal, subprocess
    if switched:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        pathlib.Path("child").write_text(str(child.pid))
        time.sleep(600)
    """
    result = run(CALL + textwrap.dedent(stuck), "--timeout", "1", rows="required_fields")
    assert result.exit_code == 1
    assert "required_fields = with_reference  not ended after 1 s" in result.stdout
    assert "1 alternative run: 1 failed." in result.stdout
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_runs_beside_each_other_have_ports_folders_and_reports_of_their_own(run: Each, tmp_path: Path):
    beside = """
    own = {name: os.environ[name] for name in ("PORT", "WORKBENCH_RUN_FOLDER", "WORKBENCH_JUNIT", "PAYMENTS_BASE_URL")}
    assert os.listdir(own["WORKBENCH_RUN_FOLDER"]) in ([], ["relied"])
    until = time.monotonic() + 10
    pathlib.Path(own["PORT"] + ".json").write_text(json.dumps(own))
    while switched and len([*pathlib.Path().glob("*.json")]) < 3 and time.monotonic() < until:
        time.sleep(0.02)  # for the run beside this one
    sys.exit(bool(switched) or time.monotonic() > until)
    """
    result = run(CALL + textwrap.dedent(beside), "--jobs", "2", rows="error_format")
    assert result.exit_code == 1, result.output
    assert "if your tests share a file or a port, run those that failed with --jobs 1" in " ".join(
        result.output.split()
    )
    owned = [json.loads(file.read_text()).values() for file in tmp_path.glob("*.json")]
    assert len(owned) == 3
    assert len({value for values in owned for value in values}) == 12
    assert not any(Path(value).exists() for values in owned for value in values)


REPORT = "<testsuite><testcase name='old'><failure/></testcase><testcase name='new'>{}</testcase></testsuite>"


def test_a_report_of_an_earlier_run_is_not_taken_for_this_ones(run: Each, tmp_path: Path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "old.xml").write_text(REPORT.format(""))
    source = """
    failed = "<error/>" if switched.get("error_format") == "plain" else ""
    text = f"<testsuite><testcase classname='A' name='new'>{failed}</testcase></testsuite>"
    pathlib.Path("reports/new.xml").write_text(text)
    """
    result = run(CALL + textwrap.dedent(source), "--junit", "reports", "--json", rows="error_format")
    assert found(result) == {"error_format = plain": ["new"]}, "a report counts where the exit status says nothing"


@pytest.mark.parametrize(
    ("source", "options", "command", "said"),
    [
        ("print('no', 'sk_' + 'test_' + 20 * 'a'); exit(3)", (), PYTHON, "(exit status 3); it printed: no sk_test_•••"),
        ("import time; time.sleep(60)", ("--timeout", "0.2"), PYTHON, "(not ended after 0 s); it printed: (nothing)"),
        ("", (), PYTHON, "The command called no sandbox"),
        ("", ("--row", "clear"), PYTHON, "There is no gap named"),
        ("", ("--section", "99"), PYTHON, "no section '99'"),
        ("", ("--row", "clearing", "--section", "9"), PYTHON, "None of the chosen rows has an alternative."),
        ("", ("--row", "key_revocation"), PYTHON, "None of the chosen rows has an alternative."),
        ("", ("--junit", "x", "--jobs", "2"), PYTHON, "--junit is one place for all runs"),
        ("", ("--webhook", "hook"), PYTHON, "--webhook is a path on the port in PORT"),
        ("", (), ("no-such-command",), "no-such-command cannot be started: No such file"),
        ("", (), ("npm test",), "Give COMMAND as words"),
    ],
)  # fmt: skip
def test_what_keeps_it_from_running_is_said(run: Each, source: str, options: Words, command: Words, said: str):
    result = run(source, *options, command=command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())


def test_a_program_whose_path_has_a_blank_is_run(run: Each, tmp_path: Path):
    program = tmp_path / "my tests"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} shop.py\n")
    program.chmod(0o755)
    assert run(CALL, rows="required_fields", command=(str(program),)).exit_code == 0


def test_a_run_that_calls_no_sandbox_any_more_is_no_proof(run: Each):
    kept = f"import os, sys\nif os.environ['WORKBENCH_GAPS'] != '{{}}': sys.exit()\n{CALL}"
    result = run(kept, rows="error_format")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "passed with error_format = plain and called no sandbox, which it did before" in result.stderr


def test_a_command_that_only_reads_has_called_the_sandbox(run: Each):
    assert run(CALL.replace("data=b'{\"amount\": 5}'", 'method="GET"'), rows="error_format").exit_code == 0


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_the_runs_and_prints_what_is_known(times: int, tmp_path: Path, command: str):
    waits = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('begun', 'w').close(); time.sleep(600)"
    (tmp_path / "shop.py").write_text(f"{CALL}\nif switched:\n    {waits}")
    line = [command, "each", "--row", "error_format", "--json", "--", sys.executable, "shop.py"]
    with subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:  # noqa: S603  ours
        until = time.monotonic() + 30
        while not (tmp_path / "begun").exists() and time.monotonic() < until:
            time.sleep(0.02)
        running = psutil.Process(started.pid).children()
        for _ in range(times):
            started.send_signal(signal.SIGINT)
            time.sleep(0.3)
        printed, _ = started.communicate(timeout=30)
    made = json.loads(printed)
    assert (started.returncode, made["left"], [each["row"] for each in made["runs"]]) == (130, 2, [None])
    assert running
    assert not any(child.is_running() for child in running)


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
def test_a_suite_in_node_is_named_test_by_test(run: Each, tmp_path: Path):
    (tmp_path / "shop.test.mjs").write_text("""
import assert from "node:assert/strict";
import { test } from "node:test";
const { PAYMENTS_BASE_URL, PAYMENTS_SECRET_KEY } = process.env;
const call = (body) => fetch(`${PAYMENTS_BASE_URL}/v1/payment_intents`, { method: "POST", body: JSON.stringify(body),
  headers: { Authorization: `Bearer ${PAYMENTS_SECRET_KEY}`, "Content-Type": "application/json" } });
const body = { amount: 5, currency: "ZMW", payment_method_types: ["mobile_money"] };
test("an intent is created", async () => assert.equal((await call(body)).status, 200));
test("a missing field is told", async () => assert.ok((await (await call({ amount: 5 })).json()).code));
""")
    line = 'node --test --test-reporter=junit --test-reporter-destination="$WORKBENCH_JUNIT" shop.test.mjs'
    result = run("", "--json", rows="success_status error_format", command=("sh", "-c", line))
    assert found(result) == {
        "success_status = 201_created": ["an intent is created"],
        "error_format = plain": ["a missing field is told"],
        "error_format = envelope": ["a missing field is told"],
    }


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sandbox_that_the_command_serves_itself_is_switched_and_tells(run: Each, command: str, workers: int):
    serving = f"""
    import json, subprocess, urllib.request
    line = "{command} serve --json --port 0 --workers {workers}"
    server = subprocess.Popen(line.split(), stdout=subprocess.PIPE)
    served = json.loads(server.stdout.readline())
    request = urllib.request.Request(served["base_url"] + "/v1/payment_intents", data=b"{{}}")
    request.add_header("Authorization", "Bearer " + served["secret_key"])
    request.add_header("Content-Type", "application/json")
    try:
        urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        is_problem = "problem" in error.headers["Content-Type"]
    server.terminate()
    assert is_problem
    """
    result = run(serving, "--json", rows="error_format=plain zed_mobile")
    assert [*found(result)] == ["error_format = plain"]
    assert json.loads(result.stdout)["skipped"] == ["zed_mobile"]
