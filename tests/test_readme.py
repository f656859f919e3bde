"""The README and the documentation are run: what they show is what happens. --renew writes what is generated."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import click
import pytest

from tests.conftest import invoke
from tests.test_recipes import VERIFIER
from workbench import Receiver, Workbench, resources
from workbench.analysis.statements import layouts
from workbench.cli import COMMANDS
from workbench.domain.scenarios import ASKABLE, TEST_NUMBERS
from workbench.domain.webhooks import EVENT_TYPES
from workbench.sandbox import operations
from workbench.sandbox.openapi.markdown import rendered

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
GUIDE = resources.guide_paths()
PAGES = (README, *GUIDE.values())
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`((?:workbench|notebooks|tests|fixtures)/[\w./]*)`")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
MADE = ("<!-- made by: pytest tests/test_readme.py --renew -->\n", "<!-- to here -->")
COLUMNS = 80


class Block(NamedTuple):
    """A fenced block: its language and its text."""

    language: str
    text: str


def section(title: str, page: Path = README) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"{page.name} has no section {title}"
    return found[1]


def blocks(text: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(text)]


def test_the_quick_start_installs_and_runs_the_notebooks_then_the_tests():
    (only,) = blocks(section("Quick start"))
    run, test = only.text.splitlines()
    assert "pip install '.[all]'" in run
    assert "workbench run" in run
    assert "[test]" in test
    assert "pytest" in test


@pytest.mark.thorough
def test_the_first_payment_prints_what_the_readme_shows():
    code, shown = blocks(section("A payment in one cell"))
    assert (code.language, shown.language) == ("python", "text")
    done = subprocess.run(  # noqa: S603  our own lines
        [sys.executable, "-c", code.text], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == shown.text
    assert done.stderr == ""


def test_the_call_with_a_scenario_prints_what_its_comment_says(capsys: pytest.CaptureFixture[str]):
    (call,) = [each for each in blocks(GUIDE["scenarios"].read_text("utf-8")) if "Sandbox-Scenario" in each.text]
    with Workbench(seed=7) as bench:
        exec(call.text, {"bench": bench})  # noqa: S102  our own lines
    assert capsys.readouterr().out.strip() == call.text.rstrip().rpartition("# ")[2]


def test_every_scenario_is_named():
    told = section("Scenarios on any number", GUIDE["scenarios"])
    assert not [name for name in (*ASKABLE, *operations.ANY_POST) if f"`{name}`" not in told]


@pytest.mark.thorough
def test_the_books_of_a_shop_are_reconciled_as_the_page_does(tmp_path: Path):
    line = blocks(GUIDE["reconcile"].read_text("utf-8"))[0].text.replace("cd fixtures\n", "").replace("\\\n", "")
    for name in ("october.html", "october.xlsx"):
        line = line.replace(name, str(tmp_path / name))
    command = ["/bin/sh", "-c", f"PATH={Path(sys.executable).parent}:$PATH {line}"]
    done = subprocess.run(command, cwd=ROOT / "fixtures", capture_output=True, text=True, timeout=120, check=False)  # noqa: S603  our own line
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("5 breaks to settle, and 10 breaks are decided. The proof holds to the last ngwee.")
    assert {each.name for each in tmp_path.iterdir()} == {"october.html", "october.xlsx"}


@pytest.mark.thorough
def test_a_week_is_reconciled_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (code,) = [each for each in blocks(section("In a notebook", GUIDE["reconcile"])) if each.language == "python"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code.text, names)  # noqa: S102  our own lines
    names["bench"].close()
    assert names["result"].proof["holds"].all()
    assert names["differing"]["key"] not in set(names["again"].breaks["key"])
    assert (tmp_path / "week.xlsx").is_file()


def test_the_books_of_a_past_moment_are_read():
    (code,) = blocks(section("Time", GUIDE["python"]))
    with Workbench(seed=7) as bench:
        bench.simulate(payments=3, days=1)
        exec(code.text, {"bench": bench})  # noqa: S102  our own lines


@pytest.mark.parametrize("test", ["test_an_order_is_fulfilled_once", "test_a_refunded_order_is_not_fulfilled"])
def test_the_tests_of_a_shop_pass(test: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    shop, tests = [each for each in blocks(section("Tests in Python", GUIDE["testing"])) if each.language == "python"]
    module, names = ModuleType("shop"), dict[str, Any]()
    exec(shop.text, vars(module))  # noqa: S102  our own lines
    monkeypatch.setitem(sys.modules, "shop", module)
    exec(tests.text, names)  # noqa: S102  our own lines
    with Workbench(seed=7) as bench:
        names[test](bench, tmp_path)


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("node"), reason="node is not on this machine")
def test_the_shop_beside_the_tests_passes_them(tmp_path: Path):
    text = section("A shop that runs beside the tests", GUIDE["testing"])
    conftest, tests = [each.text for each in blocks(text) if each.language == "python"]
    shutil.copy(resources.fixture("receivers") / "shop.mjs", tmp_path)
    verifier = tmp_path / "node_modules/standardwebhooks/index.mjs"
    verifier.parent.mkdir(parents=True)
    verifier.write_text(VERIFIER, "utf-8")
    (verifier.parent / "package.json").write_text('{"exports": "./index.mjs"}', "utf-8")
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    (tmp_path / "test_shop.py").write_text(tests, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "workbench.pytest_plugin", "-W", "error"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603  ours
    assert "2 passed" in done.stdout, done.stdout


@contextmanager
def shop_beside_a_sandbox() -> Iterator[dict[str, str]]:
    """The variables that the page names, of a sandbox on a port and of a shop that verifies what arrives."""

    class Shop(Receiver):
        """Its endpoint is registered by the lines themselves."""

        def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
            self.secrets = [bench._engine.signing_secret(url)]  # noqa: SLF001  the response with it is the lines' own
            return super().__call__(environ, start_response)

    with Workbench(seed=7) as bench, bench.serve() as served, Shop().listen() as url:
        yield {**os.environ, "URL": served.base_url, "KEY": str(served.secret_key), "SHOP": url}


NAMED_BY = {"payment_intent": "INTENT", "webhook_endpoint": "ENDPOINT"}
"""The object of a response → the variable that holds its id in the lines after it."""


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not on this machine")
def test_the_curl_lines_work_one_after_another():
    lines = "\n".join(each.text for each in blocks(GUIDE["http"].read_text("utf-8")) if each.language == "sh")
    calls = re.findall(r"^curl .*?(?<!\\)$", lines, re.MULTILINE | re.DOTALL)
    objects = []
    with shop_beside_a_sandbox() as environment:
        for call in calls:
            command = ["sh", "-c", call.replace("curl ", "curl -sS -m 20 --noproxy '*' ", 1)]
            done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)  # noqa: S603  our own lines
            answer = json.loads(done.stdout)
            objects.append(answer.get("object", answer.get("code")))
            if name := NAMED_BY.get(objects[-1]):
                environment[name] = answer["id"]
    assert objects == [
        "payment_intent", "payment_intent", "phone", "refund", "charge", "clock", "clock", "payment_declined",
        "operator_script", "operator", "webhook_endpoint", "webhook_endpoint", "list", "signed_message", "list",
        "payment_details", "list", "reset", "account",
    ]  # fmt: skip


def test_the_events_to_handle_are_events_of_the_sandbox():
    part = GUIDE["http"].read_text("utf-8").partition("### Events to handle")[2].partition("###")[0]
    assert len(named := {*re.findall(r"`(\w+\.\w+)`", part)}) > 9
    assert named <= {*EVENT_TYPES}


@pytest.mark.skipif(not shutil.which("node"), reason="node is not on this machine")
def test_the_javascript_prints_what_its_comments_say():
    script = "\n".join(each.text for each in blocks(GUIDE["http"].read_text("utf-8")) if each.language == "js")
    with shop_beside_a_sandbox() as environment:
        command = ["node", "--input-type=module", "--eval", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603  our own lines
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"^console\.log\(.*\); // (.*)$", script, re.MULTILINE)


def test_the_commands_of_going_live_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with Workbench(seed=7) as bench:
        bench.client.payment_intents.create(amount=Decimal(150))
        bench.trace.save("trace.har")
    check = dict.fromkeys(("name", "title", "came", "why", "fix"), "") | {"verdict": "passed"}
    exam = {"endpoint": "", "at": "2026-01-05T06:00:00Z", "score": "", "switched": {}, "checks": [check]}
    Path("exam.json").write_text(json.dumps(exam), "utf-8")
    Path("answers.toml").write_text("prompt_timeout_s = 60", "utf-8")
    lines = [line for each in blocks(GUIDE["going-live"].read_text("utf-8")) for line in each.text.splitlines()]
    ended = {line: invoke(*shlex.split(line)[1:]).exit_code for line in lines if line.startswith("workbench")}
    assert {*ended.values()} == {0, 1}, ended
    assert [line for line, status in ended.items() if status] == [lines[-1]], "guesses are left open"


# What is generated


def numbers() -> str:
    rows = (f"| {ending} | {number.says} |\n" for ending, number in TEST_NUMBERS.items())
    return "".join(["| ending | what happens |\n|---|---|\n", *rows])


def help_of(command: click.Command) -> str:
    context = click.Context(command, info_name=f"workbench {command.name}", max_content_width=COLUMNS)
    context.help_option_names = ["-h", "--help"]
    return command.get_help(context)


def commands() -> str:
    return "\n".join(
        f"## {group}\n\n" + "\n".join(f"### workbench {each.name}\n\n```text\n{help_of(each)}\n```\n" for each in those)
        for group, those in COMMANDS.items()
    )


def layout_settings() -> str:
    """A table of a layout's settings: the first sentence on each in its docstring, with the words that it may have."""
    named = re.findall(
        r"^ {4}(\w+(?:, \w+)*): (.*?)\.(?: |\n|$)", layouts.Layout.__doc__ or "", re.MULTILINE | re.DOTALL
    )
    rows = []
    for names, text in named:
        line = re.sub(r"\b([A-Z]+_?FIELDS|FIELDS|TYPES)\b", lambda found: listed(getattr(layouts, found[1])), text)
        rows.append(f"| {listed(names.split(', '))} | {' '.join(line.split())} |\n")
    return "".join(["| setting | meaning |\n|---|---|\n", *rows])


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def test_every_setting_of_a_layout_has_a_line():
    lines = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in layout_settings().splitlines()]
    assert sorted(chain(*lines)) == sorted(each.name for each in fields(layouts.Layout))


@pytest.mark.parametrize(
    ("page", "made"), [("scenarios", numbers), ("commands", commands), ("reconcile", layout_settings)]
)
def test_what_is_generated_is_up_to_date(page: str, made: Callable[[], str], request: pytest.FixtureRequest):
    text = GUIDE[page].read_text("utf-8")
    before, rest = text.split(MADE[0])
    now = f"{before}{MADE[0]}\n{made()}\n{MADE[1]}{rest.split(MADE[1], 1)[1]}"
    if request.config.getoption("--renew"):
        GUIDE[page].write_text(now, "utf-8")
    elif now != text:
        pytest.fail("pytest tests/test_readme.py --renew brings it up to date")


# Where it leads


def anchors(page: Path) -> set[str]:
    text = page.read_text("utf-8")
    return {*re.findall(r' id="([^"]+)"', rendered(text, str).html), *re.findall(r'<a id="([^"]+)"', text)}


def test_every_link_leads_to_a_file_and_a_heading_that_are_there_and_every_page_is_reached():
    broken, reached = [], {README}
    for page in PAGES:
        for path, anchor in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
            if "//" in path:
                continue
            leads = (page.parent / path).resolve() if path else page
            if page in {README, GUIDE["index"]}:
                reached.add(leads)
            if not leads.exists() or (anchor and anchor not in anchors(leads)):
                broken.append(f"{page.name}: {path}#{anchor}")
    assert broken == []
    assert {*PAGES} <= reached


def test_every_path_they_name_is_there():
    named = [path for page in PAGES for path in NAMED.findall(page.read_text("utf-8"))]
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_readme_is_short_enough_to_be_read():
    assert len(README.read_text("utf-8").splitlines()) <= 95
