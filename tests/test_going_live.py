"""The checklist before going live: what is open, and by which input it is closed; what is refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from workbench import Workbench
from workbench.certify.report import Report, Row
from workbench.cli import app
from workbench.domain.gaps import REGISTER, Gaps
from workbench.going_live import BY_HAND, DONE, EXAM, OPEN, ROWS, TOPICS, checklist, read_trace

PHONE = "+260961234567"
TOML = "\n".join(f"{row.name} = {json.dumps(row.default)}" for row in REGISTER)


def exam(*verdicts: str) -> str:
    rows = [Row(f"c{n}", f"Check {n}", each, "came", "sent", "expected", "*why*", "mend_it_", "04") for n, each in
            enumerate(verdicts)]  # fmt: skip
    return Report("http://127.0.0.1:1/<b>", "2026-01-05T06:00:00.000Z", 1.0, tuple(rows)).json()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with Workbench(seed=7) as bench:
        bench.client.charges.create(amount=1, channel="mtn", phone=PHONE, idempotency_key="k")
        rows = [*bench.trace]
        bench.trace.save("saved.har")
        Path("used.json").write_text(json.dumps([each["name"] for each in bench.gaps.used]))
    for name, text in {
        "trace.json": json.dumps(rows),
        "listed.json": json.dumps({"object": "list", "data": rows}),
        "all.toml": TOML,
        "good.json": exam("passed"),
        "bad.json": exam("passed", "failed", "not examined"),
        "html.json": "<html>",
        "empty.json": "[]",
        "foreign.har": json.dumps({"log": {"version": "1.2", "entries": []}}),
        "none.json": json.dumps({**json.loads(exam("passed")), "checks": []}),
        "kind.json": json.dumps([{**rows[0], "kind": "walk"}]),
        "detail.json": json.dumps([{**rows[0], "detail": 7}]),
        "unknown.toml": "zebra = 1",
        "value.toml": "late_success = 7",
        "deep.json": "[" * 100_000,
    }.items():
        Path(name).write_text(text)  # fmt: skip
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check-live", *arguments], prog_name="workbench")


def rows_in(found: Any, state: str) -> list[str]:  # noqa: ANN401  a Checklist
    return [each.what.partition(":")[0] for each in found if (each.topic, each.state) == (ROWS, state)]


@pytest.mark.usefixtures("folder")
def test_a_row_is_open_until_it_is_settled_and_with_a_trace_only_where_the_run_relied_on_it():
    names = [row.name for row in REGISTER]
    used = json.loads(Path("used.json").read_text())
    assert rows_in(checklist(), OPEN) == names
    for trace in map(read_trace, map(Path, ("trace.json", "listed.json", "saved.har"))):
        assert rows_in(checklist(trace=trace), OPEN) == used
        after = checklist({used[0]: getattr(Gaps(), used[0])}, trace=trace)
        assert (rows_in(after, OPEN), rows_in(after, DONE)) == (used[1:], used[:1])
        hosts = {
            each.what.partition(":")[0]: each.state for each in after if each.what.partition(":")[0].endswith("_url")
        }
        assert hosts == {"base_url": BY_HAND, "charges_url": BY_HAND, "plants_url": DONE}
        charged = [row for row in trace if "/v1/charges" in row.what]
        assert next(iter(checklist(trace=charged))).state == BY_HAND, "the client takes base_url always"


def test_what_is_settled_otherwise_than_the_sandbox_does_is_done_when_the_tests_ran_with_it():
    found = checklist({"charge_amount_unit": "major", "late_success": "suspense"})
    states = {each.what.partition(":")[0]: each for each in found if each.topic == ROWS}
    assert states["charge_amount_unit"].state == BY_HAND
    assert "serve --gaps FILE" in states["charge_amount_unit"].check
    assert states["late_success"].state == DONE


@pytest.mark.usefixtures("folder")
def test_the_exit_status_says_whether_anything_is_open():
    assert run().exit_code == run("--gaps", "all.toml").exit_code == run("--exam", "good.json").exit_code == 1
    good = run("--gaps", "all.toml", "--exam", "good.json")
    assert (good.exit_code, "(open)" in good.output) == (0, False)
    bad = run("--gaps", "all.toml", "--exam", "bad.json")
    assert bad.exit_code == 1
    assert re.findall(r"\[ \] \*\*(Check .+)\*\* \(open\)", bad.output) == ["Check 1: failed", "Check 2: not examined"]
    assert "how to check: mend_it\\_" in bad.output
    assert "why: \\*why\\*" in bad.output


@pytest.mark.parametrize(
    ("switched", "answers"),
    [({}, 'signature_scheme = "stripe"'), ({"signature_scheme": "stripe"}, 'signature_scheme = "standard_webhooks"')],
)
def test_an_exam_under_other_rows_ticks_nothing_off_and_says_which(
    switched: dict[str, str], answers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("exam.json").write_text(json.dumps({**json.loads(exam("passed")), "switched": switched}))
    Path("answers.toml").write_text(TOML.replace('signature_scheme = "standard_webhooks"', answers))
    other = run("--exam", "exam.json", "--gaps", "answers.toml")
    assert (other.exit_code, "[x] **Check 0" in other.output) == (1, False)
    was, now = (switched.get("signature_scheme", "standard_webhooks"), answers.split('"')[1])
    assert f"signature_scheme = {was}, which is {now} now" in other.output
    Path("same.toml").write_text(TOML.replace('"standard_webhooks"', f'"{was}"'))
    assert "[x] **Check 0" in run("--exam", "exam.json", "--gaps", "same.toml").output


@pytest.mark.usefixtures("folder")
def test_an_older_report_is_refused_with_what_to_do():
    Path("old.json").write_text(json.dumps({**json.loads(exam("passed")), "switched": "signature_scheme = stripe"}))
    old = run("--exam", "old.json")
    assert (old.exit_code, "Take the exam again: workbench certify" in " ".join(old.stderr.split())) == (2, True)


@pytest.mark.usefixtures("folder")
def test_it_is_written_as_markdown_and_as_a_page_with_every_topic_and_item():
    shown = run("--exam", "bad.json")
    assert (
        run("--exam", "bad.json", "--out", "x.md").exit_code == run("--exam", "bad.json", "--out", "x.html").exit_code
    )
    assert Path("x.md").read_text() == shown.output
    page = Path("x.html").read_text()
    assert 'title="2026-01-05 06:00:00 UTC">2026-01-05 08:00:00 in Lusaka</time>: 1 of 2 passed' in page
    assert all(f"## {topic}\n" in shown.output and f"<caption>{topic}</caption>" in page for topic in TOPICS)
    found = re.findall(r"^(\d+) open, (\d+) by hand, (\d+) done", shown.output, re.MULTILINE)[0]
    assert page.count("<tr><td") == shown.output.count("- [") == sum(map(int, found))
    assert "&lt;b&gt;" in page
    assert 'name="viewport"' in page
    assert "td:first-child { white-space: nowrap; }" in page, "a state is no column of letters"
    assert "<b>" not in page + shown.output


def test_thresholds_follow_from_the_rows_in_force():
    watched = "\n".join(each.what + each.why for each in checklist({"prompt_timeout_s": 60, "retry_schedule_s": [0]}))
    assert "pending for more than 2 min" in watched
    assert "The last attempt, of 1, is about 0 s after the first" in watched
    assert "After 5 d without a success the endpoint is disabled" in watched
    assert "has paid and got nothing" in watched
    others = "\n".join(each.why for each in checklist({"endpoint_disable_after_s": 0, "late_success": "succeeds"}))
    assert "The endpoint is never disabled" in others
    assert "got nothing" not in others
    assert [each.state for each in checklist() if each.topic == EXAM] == [OPEN]


REFUSED = {
    "--exam nowhere.json": "nowhere.json cannot be read: No such file",
    "--exam html.json": "html.json is not the JSON that `workbench certify",
    "--exam trace.json": "trace.json is not the JSON that",
    "--exam none.json": "length >= 1 - at `$.checks`",
    "--trace good.json": "good.json is not a trace",
    "--trace foreign.har": "foreign.har is not a trace",
    "--trace deep.json": "deep.json is not a trace",
    "--trace empty.json": "empty.json has no rows",
    "--trace kind.json": "kind.json is not a trace",
    "--trace detail.json": "detail.json is not a trace",
    "--gaps unknown.toml": "no gap named 'zebra'",
    "--gaps value.toml": "late_success",
    "--gaps html.json": "is not TOML: look at line 1.",
    "--out x.txt": "x.txt ends in neither .md nor .html",
    "--out nowhere/x.md": "nowhere/x.md cannot be written: No such file",
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_read_or_written_is_refused_in_a_line(line: str):
    done = run(*line.split())
    assert (done.exit_code, REFUSED[line] in done.output) == (2, True), done.output
    assert len(done.output.split("Error: ")[1].splitlines()) == 1
