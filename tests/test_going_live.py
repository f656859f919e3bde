"""The checklist before going live: what is open, and by which input it is closed; what is refused."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import code_of, invoke, prose_of
from workbench import Workbench
from workbench.certify.report import Report, ReportRow
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import REGISTER, Gaps
from workbench.going_live import AT_STAKE, BY_HAND, DONE, OPEN, Checklist, checklist, read_exam, read_trace

PHONE = "+260961234567"
ROWS, EXAM = "What is still guessed", "The exam"
TOML = "\n".join(f"{row.name} = {json.dumps(row.default)}" for row in REGISTER)
NAMES = [row.name for row in REGISTER if not row.of_sandbox]


def exam(*verdicts: str) -> str:
    rows = [ReportRow(f"c{n}", f"Check {n}", each, "came", "sent", "expected", "*why*", "mend_it_", "04") for n, each in
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
        "trace.json": json.dumps({"object": "list", "data": rows}),
        "all.toml": TOML,
        "good.json": exam("passed"),
        "bad.json": exam("passed", "failed", "not examined"),
        "html.json": "<html>",
        "empty.json": '{"data": []}',
        "foreign.har": json.dumps({"log": {"version": "1.2", "entries": []}}),
        "none.json": json.dumps({**json.loads(exam("passed")), "checks": []}),
        "old.json": json.dumps({**json.loads(exam("passed")), "switched": "signature_scheme = stripe"}),
        "kind.json": json.dumps({"data": [{**rows[0], "kind": "walk"}]}),
        "detail.json": json.dumps({"data": [{**rows[0], "detail": 7}]}),
        "unknown.toml": "zebra = 1",
        "value.toml": "late_success = 7",
        "deep.json": "[" * 100_000,
    }.items():
        Path(name).write_text(text)  # fmt: skip
    return tmp_path


def run(*arguments: str) -> Result:
    return invoke("check-live", *arguments)


@pytest.mark.usefixtures("folder")
def test_a_row_is_open_until_it_is_settled_and_with_a_trace_only_where_the_run_relied_on_it():
    used = json.loads(Path("used.json").read_text())
    assert {*checklist().guessed} == {*NAMES}
    for trace in map(read_trace, ("trace.json", Path("saved.har"))):
        assert {*checklist(trace=trace).guessed} == {*used}
        after = checklist({used[0]: getattr(Gaps(), used[0])}, trace=trace)
        confirmed = [name for item in after if item.state == DONE for name in item.rows]
        assert ({*after.guessed}, confirmed) == ({*used[1:]}, used[:1])
        assert f"{len(NAMES) - len(used)} other rows are assumptions" in after.markdown()
        assert "The production settings have the provider's hosts of charges**" in after.markdown()
        quiet = checklist(trace=[row for row in trace if "/v1/charges" not in row.what])
        assert "provider's hosts of intents, charges, plants**" in quiet.markdown()


def of(found: Checklist, topic: str) -> list[tuple[str, str]]:
    return [(each.what, each.state) for each in found if each.topic == topic]


def test_what_is_settled_otherwise_than_the_sandbox_does_is_done_when_the_tests_ran_with_it():
    found = checklist({"charge_amount_unit": "major", "late_success": "suspense"})
    assert ("The provider answered charge_amount_unit: major units: 150 is 150.00 ZMW", BY_HAND) in of(found, ROWS)
    assert ("Answered as assumed: late_success", DONE) in of(found, ROWS)
    assert {*found.guessed} == {*NAMES} - {"charge_amount_unit", "late_success"}


IN_PYTHON = re.compile(
    r"PaymentsClient|allow_live|Workbench\(|bench\.|json\.dump|pytest|import |\bdef |\.py\b|None|True"
)


@pytest.mark.usefixtures("folder")
def test_a_list_has_forty_items_or_fewer_in_the_words_of_any_language_the_costly_first():
    verdicts = ("passed", "failed", "warning", "not examined")
    Path("most.json").write_text(exam(*(verdict for verdict in verdicts for _ in range(12))))
    exams = [None, *map(read_exam, ("good.json", "bad.json", Path("most.json")))]
    traces = [None, read_trace("trace.json"), read_trace("trace.json") * 5]
    other = {row.name: next(iter(row.alternatives), row.default) for row in REGISTER}
    half = {name: other[name] if number % 4 else row for number, (name, row) in enumerate(other.items()) if number % 2}
    for settled, taken, trace in product((None, {}, tomllib.loads(TOML), other, half), exams, traces):
        found = checklist(settled, taken, trace)
        assert 20 < len(found) <= 40
        assert [each.cost for each in found] == sorted((each.cost for each in found), reverse=True)
        assert [each for each in found if not (each.what and each.why and each.evidence)] == []
        assert IN_PYTHON.findall(found.markdown()) == []
    words = checklist().markdown()
    assert len(words.split()) < 2_000
    assert len(checklist(exam=exams[-1]).markdown().split()) < 2_000
    for each in ("host", "sk_live", "time-out", "retry", "Idempotency-Key", "signing secret", "certificate", "clock",
                 "Late money", "Refunds", "reconciliation", "called at night"):  # fmt: skip
        assert each in words


@pytest.mark.usefixtures("folder")
def test_a_trace_is_read_by_pages_and_not_without_its_last():
    rows = json.loads(Path("trace.json").read_text())["data"]
    for name, page in (("1.json", rows[:2]), ("2.json", rows[2:])):
        Path(name).write_text(json.dumps({"object": "list", "data": page, "has_more": name == "1.json"}))
    assert run("--trace", "1.json", "--trace", "2.json").output == run("--trace", "trace.json").output
    alone = run("--trace", "1.json")
    assert (alone.exit_code, f"GET /sandbox/trace?since={rows[1]['seq']}" in " ".join(alone.output.split())) == (
        2,
        True,
    )


@pytest.mark.usefixtures("folder")
def test_the_letter_asks_about_the_rows_that_are_open():
    run("--letter", "all.md")
    run("--letter", "some.md", "--trace", "trace.json", "--gaps", "value.toml")
    Path("few.toml").write_text('late_success = "suspense"\ncharge_amount_unit = "minor"')
    assert run("--letter", "some.md", "--trace", "trace.json", "--gaps", "few.toml").exit_code == 1
    everything, some = Path("all.md").read_text(), Path("some.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in everything] == []
    assert "`charge_amount_unit`" not in some
    assert "- What depends on it in our code: POST /v1/charges" in some


@pytest.mark.usefixtures("folder")
def test_the_exit_status_says_whether_anything_is_open():
    assert run().exit_code == run("--gaps", "all.toml").exit_code == run("--exam", "good.json").exit_code == 1
    good = run("--gaps", "all.toml", "--exam", "good.json")
    assert (good.exit_code, "(open)" in good.output) == (0, False)
    bad = run("--gaps", "all.toml", "--exam", "bad.json")
    assert bad.exit_code == 1
    told = re.findall(r"\[.\] \*\*((?:Check|Not exam|Passed).*)\*\* \((.+)\)", bad.output)
    passed = "Passed: 1 of 2 passed, 1 not examined; http://127.0.0.1:1/\\<b\\> on 2026-01-05 08:00:00 in Lusaka"
    assert told == [("Check 1: failed", "open"), ("Not examined: Check 2", "open"), (passed, "done")]
    assert "ticked off by: mend_it\\_" in bad.output
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
    assert (other.exit_code, "[x] **Passed: 1 of 1" in other.output) == (1, False)
    was, now = (switched.get("signature_scheme", "standard_webhooks"), answers.split('"')[1])
    assert f"signature_scheme = {was}, which is {now} now" in other.output
    Path("same.toml").write_text(TOML.replace('"standard_webhooks"', f'"{was}"'))
    assert "[x] **Passed: 1 of 1" in run("--exam", "exam.json", "--gaps", "same.toml").output


@pytest.mark.usefixtures("folder")
def test_it_is_written_as_markdown_and_as_a_page_with_every_topic_and_item():
    shown = run("--exam", "bad.json")
    assert (
        run("--exam", "bad.json", "--out", "x.md").exit_code == run("--exam", "bad.json", "--out", "x.html").exit_code
    )
    assert Path("x.md").read_text() == shown.output
    page = Path("x.html").read_text()
    assert 'title="2026-01-05 06:00:00 UTC">2026-01-05 08:00:00 in Lusaka</time>' in page
    assert all(f"## {each}\n" in shown.output and f"<caption>{each}</caption>" in page for each in AT_STAKE.values())
    found = re.findall(r"^(\d+) open, (\d+) by hand, (\d+) done", shown.output, re.MULTILINE)[0]
    assert page.count("<tr><td") == shown.output.count("- [") == sum(map(int, found))
    assert "&lt;b&gt;" in page
    assert 'name="viewport"' in page
    assert "td:first-child { white-space: nowrap; }" in page, "a state is no column of letters"
    assert "<b>" not in page + shown.output
    assert "`workbench reconcile`" in shown.output
    assert r"\`" not in shown.output


def test_thresholds_follow_from_the_rows_in_force():
    watched = "\n".join(each.what + each.why for each in checklist({"prompt_timeout_s": 60, "retry_schedule_s": [0]}))
    assert "pending for more than 2 min" in watched
    assert "The last attempt, of 1, is about 0 s after the first" in watched
    assert "After 5 d without a success the endpoint is disabled" in watched
    assert "has paid and got nothing" in watched
    others = "\n".join(each.why for each in checklist({"endpoint_disable_after_s": 0, "late_success": "succeeds"}))
    assert "The endpoint is never disabled" in others
    assert "got nothing" not in others
    assert [state for _, state in of(checklist(), EXAM)] == [OPEN]


REFUSED = {
    "--exam nowhere.json": "nowhere.json cannot be read: No such file",
    "--exam html.json": "html.json is not the JSON that `workbench certify",
    "--exam trace.json": "trace.json is not the JSON that",
    "--exam none.json": "length >= 1 - at `$.checks`",
    "--exam old.json": "Expected `object`, got `str` - at `$.switched`",
    "--trace good.json": "good.json is not a trace",
    "--trace foreign.har": "foreign.har is not a trace",
    "--trace deep.json": "deep.json is not a trace",
    "--trace empty.json": "empty.json has no rows",
    "--trace kind.json": "kind.json is not a trace",
    "--trace detail.json": "detail.json is not a trace",
    "--gaps unknown.toml": "no gap named 'zebra'",
    "--gaps value.toml": "late_success",
    "--gaps html.json": "is not TOML: Invalid statement (at line 1, column 1).",
    "--out x.txt": "x.txt ends in neither .md nor .html",
    "--out nowhere/x.md": "nowhere/x.md cannot be written: No such file",
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_read_or_written_is_refused_in_a_line(line: str):
    done = run(*line.split())
    assert (done.exit_code, REFUSED[line] in done.output) == (2, True), done.output
    assert len(done.output.split("Error: ")[1].splitlines()) == 1


# What the notebook tells of rows and items


BY_NAME = {row.name: row for row in REGISTER}
NOT_ROWS = {"next_action", *CODES}
"""A field and the codes of errors, which the notebooks' prose names besides rows."""


@pytest.mark.parametrize("slug", ["going_live", "tokens_and_plants"])
def test_each_row_that_a_notebook_names_is_in_the_register(slug: str):
    named = {*re.findall(r"`([a-z]+(?:_[a-z]+)+)`", prose_of(slug))} - NOT_ROWS
    assert named
    assert named - {*BY_NAME} == set()


def test_an_order_is_stale_after_twice_the_time_that_its_last_prompt_waits():
    prose, code = prose_of("going_live"), "\n".join(code_of("going_live"))
    assert "stale after twice the time that a prompt waits, counted from its last prompt" in prose
    for wait_s in (Gaps().prompt_timeout_s, *BY_NAME["prompt_timeout_s"].alternatives):
        alerts = [each.what for each in checklist({"prompt_timeout_s": wait_s}) if "pending for more than" in each.what]
        assert alerts == [
            f"An alert for orders that are pending for more than {wait_s * 2 // 60} min after their last prompt"
        ]
    assert not re.search(r"outcome is known", checklist().markdown() + prose), "the operator may never answer"
    assert "If no answer comes, the outcome is unknown" in prose
    settled = ast.literal_eval(re.findall(r"^settled = (\{.*\})$", code, re.MULTILINE)[0])
    assert Gaps.chosen(settled)
    assert [name for name, value in settled.items() if value == getattr(Gaps(), name)] == ["charge_amount_unit"]
