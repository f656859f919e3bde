"""The README is run: what it shows is what happens."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from workbench import Receiver, Workbench
from workbench.domain.scenarios import ASKABLE
from workbench.sandbox import operations

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"`((?:workbench|notebooks|tests|fixtures)/[\w./]*)`")


class Block(NamedTuple):
    """A fenced block: its language and its text."""

    language: str
    text: str


def section(title: str) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README has no section {title}"
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


def test_the_first_payment_prints_what_the_readme_shows():
    code, shown = blocks(section("A payment in one cell"))
    assert (code.language, shown.language) == ("python", "text")
    done = subprocess.run(  # noqa: S603  the README's own lines
        [sys.executable, "-c", code.text], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == shown.text
    assert done.stderr == ""


def test_the_call_with_a_scenario_prints_what_its_comment_says(capsys: pytest.CaptureFixture[str]):
    (call,) = [each for each in blocks(section("What is in it")) if "Sandbox-Scenario" in each.text]
    with Workbench(seed=7) as bench:
        exec(call.text, {"bench": bench})  # noqa: S102  the README's own lines
    assert capsys.readouterr().out.strip() == call.text.rstrip().rpartition("# ")[2]


def test_every_scenario_is_named():
    told = section("What is in it")
    assert not [name for name in (*ASKABLE, *operations.ANY_POST) if f"`{name}`" not in told]


def test_the_books_of_a_shop_are_reconciled_as_the_readme_does(tmp_path: Path):
    line = blocks(section("Reconcile a statement"))[0].text.replace("cd fixtures\n", "").replace("\\\n", "")
    for name in ("october.html", "october.xlsx"):
        line = line.replace(name, str(tmp_path / name))
    command = ["/bin/sh", "-c", f"PATH={Path(sys.executable).parent}:$PATH {line}"]
    done = subprocess.run(command, cwd=ROOT / "fixtures", capture_output=True, text=True, timeout=120, check=False)  # noqa: S603  the README's own line
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("5 breaks to settle, and 10 breaks are decided. The proof holds to the last ngwee.")
    assert {each.name for each in tmp_path.iterdir()} == {"october.html", "october.xlsx"}


def test_a_week_is_reconciled_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (code,) = [each for each in blocks(section("Reconcile a statement")) if each.language == "python"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code.text, names)  # noqa: S102  the README's own lines
    with names["bench"] as bench:
        again = names["reconcile"](bench.ledger.statement_of("operator:mtn:float"), names["statement"])
    assert names["result"].proof["holds"].all()
    assert names["differing"]["key"] not in set(again.breaks["key"])
    assert (tmp_path / "week.xlsx").is_file()


class Shop:
    """An application that is told its signing secret when it is there, as the README's test does."""

    def __init__(self) -> None:
        self.config: dict[str, str] = {}
        self.orders: dict[str, Any] = defaultdict(lambda: SimpleNamespace(times_fulfilled=0))

    def __call__(self, environ: Any, start_response: Any) -> Any:  # noqa: ANN401  as WSGI has them
        receiver = Receiver([self.config["WEBHOOK_SECRET"]])
        receiver.on("payment_intent.succeeded")(self.fulfil)
        return receiver(environ, start_response)

    def fulfil(self, event: Any) -> None:  # noqa: ANN401  an event
        self.orders[event.data.object["id"]].times_fulfilled += 1


def test_the_test_of_a_shop_passes(monkeypatch: pytest.MonkeyPatch):
    (code,) = [each for each in blocks(section("A shop's own tests")) if each.language == "python"]
    monkeypatch.setitem(sys.modules, "shop", SimpleNamespace(create_app=Shop))
    names: dict[str, Any] = {}
    exec(code.text, names)  # noqa: S102  the README's own lines
    with Workbench(seed=7) as bench:
        names["test_an_order_is_paid_once"](bench)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not on this machine")
def test_the_curl_lines_work_one_after_another():
    (lines,) = [each for each in blocks(section("From another language")) if each.language == "sh"]
    calls = re.findall(r"^curl .*?(?<!\\)$", lines.text, re.MULTILINE | re.DOTALL)
    answers = []
    with Workbench(seed=7) as bench, bench.serve() as served:
        environment = {**os.environ, "URL": served.base_url, "KEY": str(served.secret_key)}
        for call in calls:
            command = ["sh", "-c", call.replace("curl ", "curl -sS -m 20 --noproxy '*' ", 1)]
            done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)  # noqa: S603  the README's own lines
            answers.append(json.loads(done.stdout))
            if len(answers) == 2:
                environment["ID"] = answers[1]["id"]
        assert bench.client.payment_intents.retrieve(environment["ID"]).status == "succeeded"
    assert [each["object"] for each in answers] == [
        "webhook_endpoint", "payment_intent", "payment_intent", "phone", "clock", "charge",
    ]  # fmt: skip


def test_every_path_it_names_is_there():
    named = LINK.findall(README)
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]
