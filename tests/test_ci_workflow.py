"""The CI workflows to copy: they parse, ask only for what `workbench` offers, and the sandbox starts."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from workbench import Workbench
from workbench.cli import app
from workbench.resources import fixture

NAMES = {"PAYMENTS_BASE_URL", "PAYMENTS_SECRET_KEY", "PAYMENTS_PUBLISHABLE_KEY", "PAYMENTS_WEBHOOK_SECRET"}
TEXT = fixture("ci-workflow.yml").read_text("utf-8")
JOB = yaml.safe_load(TEXT)["jobs"]["payments"]


def test_it_cannot_run_for_ever_and_holds_no_key():
    assert JOB["timeout-minutes"] <= 10
    assert not re.search(r"(sk|pk)_(test|live)_\w|whsec_", TEXT)
    assert set(re.findall(r"PAYMENTS_\w+", TEXT)) == NAMES


def test_the_sandbox_starts_in_the_runners_shell_and_takes_a_payment(tmp_path: Path):
    written = tmp_path / "github_env"
    (start,) = [step["run"] for step in JOB["steps"] if step.get("name") == "Start the sandbox"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, **JOB["env"], "GITHUB_ENV": str(written), "PATH": path}
    shell = subprocess.Popen(  # noqa: S603  the workflow is ours
        ["bash", "-e", "-c", start],  # noqa: S607  the runner's bash
        cwd=tmp_path, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        assert shell.wait(60) == 0
        started = dict(line.split("=", 1) for line in written.read_text().splitlines())
        assert set(started) == NAMES | {"PAYMENTS_CONSOLE_URL"}, "the link for a person comes with what tests need"
        with Workbench.connect(started["PAYMENTS_BASE_URL"], started["PAYMENTS_SECRET_KEY"]) as bench:
            charge = bench.client.charges.create(amount=100, channel="mtn", phone="+260961234567", idempotency_key="k")
        assert charge.status == "succeeded"
    finally:
        # The sandbox outlives the shell that started it: the group is ours alone.
        os.killpg(shell.pid, signal.SIGTERM)


def test_the_notebooks_are_run_with_options_that_there_are_and_what_came_out_is_kept_even_if_one_failed():
    text = fixture("notebooks-workflow.yml").read_text("utf-8")
    job = yaml.safe_load(text)["jobs"]["notebooks"]
    assert job["timeout-minutes"] <= 15
    *_, ran, kept = job["steps"]
    program, name, *arguments = ran["run"].split()
    assert (program, name) == ("workbench", "run")
    asked = app.commands[name].make_context(name, arguments).params
    assert asked["parameter"] == (), "a copy runs notebooks without parameters too"
    assert (kept["if"], kept["with"]["path"]) == ("always()", str(asked["out"]))
    (example,) = re.findall("add for example: (.*)", text)
    assert app.commands[name].make_context(name, [*arguments, *example.split()]).params["parameter"] == (
        ("amount", "87.35"),
    )
