"""Runs a command, such as a shop's tests, once for each alternative value of the register's rows.

Each run has a sandbox in which this value is in force. If the command opens sandboxes of its own, environment variables
tell them which rows to switch, and where to report the rows on which they relied.
pytest loads this module wherever the package is installed, so slow imports wait until a run begins.
"""

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from workbench.errors import CommandRefused, GapRefused

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from workbench.domain.signs import Value
    from workbench.domain.wire.ledger_and_trace import TraceRow
    from workbench.sandbox.engine import Engine
    from workbench.text.render import DisplayTable

GAPS: Final = "WORKBENCH_GAPS"
"""The environment variable with the rows that a run switches: a JSON object, row → value.

Every sandbox that a process of the run opens uses these values, unless the process passes other values itself.
"""
RELIED: Final = "WORKBENCH_RELIED"
"""The environment variable with the path of a file, to which every sandbox of a run adds two lines of JSON.

The first line says that the sandbox has opened. The second, written before the sandbox closes, has the rows on which
it relied.
"""
JUNIT: Final = "WORKBENCH_JUNIT"
"""The environment variable with the path to which the command may write a JUnit report; `workbench each` reads it."""
FOLDER: Final = "WORKBENCH_RUN_FOLDER"
FIRST_S: Final = 600.0
"""The usual time limit of the first run, in seconds."""
_TIMES, _MORE_S = 10, 10.0
"""The usual time limit of a later run: `_TIMES` times the duration of the first run, and `_MORE_S` seconds more."""
_REPORT_S: Final = 10.0
_MOST_TEXT: Final = 2_000
"""The most characters that are kept of a report's text about a failed test."""
_SILENT: Final = {"rate_limit", "version_header"}
"""Rows that are never skipped: at their default, no response shows whether the command relies on them."""


# The sandboxes of a run


def switched_rows(rows: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Row of the register → value, from the environment variable that GAPS names; `rows` override its values.

    Raises GapRefused: the variable holds no JSON object.
    """
    try:
        within = dict(json.loads(os.environ.get(GAPS) or "{}"))
    except (ValueError, TypeError):
        raise GapRefused(f'{GAPS} must be a JSON object of rows, such as {{"clearing": "immediate"}}.') from None
    return {**within, **(rows or {})}


def rows_relied_on(engine: "Engine", counts: Callable[["TraceRow"], bool] = lambda _: True) -> Callable[[], set[str]]:
    """A function that returns the rows of the register on which a sandbox has relied so far.

    Calls from before a reset of the sandbox count too. `counts` returns False for a row of the trace to ignore.
    """
    from workbench.sandbox.controls import whole_trace
    from workbench.sandbox.provenance import relied_on
    from workbench.sandbox.service import Caller
    from workbench.sandbox.store import MERCHANT_ID

    relied: set[str] = set()

    def rows() -> set[str]:
        engine.store.write_calls()
        with engine.store.reading() as tx:
            relied.update(relied_on(filter(counts, whole_trace(tx, Caller("secret", MERCHANT_ID)))))
        return relied

    engine.store.before_reset.append(rows)
    return rows


def report_opening(engine: "Engine") -> Callable[[], None]:
    """Reports that a sandbox has opened, to the file that the variable RELIED names; does nothing without the variable.

    Returns a function to call before the sandbox closes: it reports the rows on which the sandbox relied.
    """
    if RELIED not in os.environ:
        return lambda: None
    file, sandbox = Path(os.environ[RELIED]), f"{os.getpid()}.{id(engine)}.{time.monotonic_ns()}"

    def report(**more: object) -> None:
        # One write at the file's end: lines of several processes do not mix.
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"sandbox": sandbox, **more}) + "\n")

    report()
    rows = rows_relied_on(engine)
    return lambda: report(rows=sorted(rows()))


def reported_rows(file: Path) -> set[str] | None:
    """The rows of the register that any sandbox relied on, as the sandboxes reported to the `file` named by RELIED.

    Empty if there is no such file; None if a sandbox opened but did not report its rows, or a line was cut off.
    """
    try:
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    except FileNotFoundError:
        return set()
    except ValueError:  # killed while it reported
        return None
    rows_of = {line["sandbox"]: line["rows"] for line in lines if "rows" in line}
    is_whole = all(line["sandbox"] in rows_of for line in lines)
    return {row for rows in rows_of.values() for row in rows} if is_whole else None


# The runs of a command


class Failure(NamedTuple):
    """A test that failed: its class or file, its name, and the report's text about the failure."""

    home: str
    name: str
    says: str


class CommandRun(NamedTuple):
    """One run of the command: the switched row and its value, how the run ended, and the failed tests, if known."""

    row: str
    """The switched row; empty, with the value None, for the run with nothing switched."""
    value: "Value | None"
    status: int | None
    """The exit status; None if the run had not ended in time."""
    took_s: float
    reached: bool
    """True if the command called the sandbox, or opened one."""
    relied: set[str] | None
    """In the run with nothing switched, the rows on which its sandboxes relied; None if they are not known."""
    failed: tuple[Failure, ...] = ()
    printed: str = ""
    """The report's texts about failed tests, and the command's output; empty if the run passed."""

    @property
    def passed(self) -> bool:
        """True if neither the command's status nor its report shows a failure."""
        return self.status == 0 and not self.failed

    @property
    def switched(self) -> str:
        """The row with its value as text; `nothing switched` without a row."""
        from workbench.domain.gaps import written

        return f"{self.row} = {written(self.value)}" if self.row else "nothing switched"

    @property
    def why(self) -> str:
        """The run's exit status or timeout in words, for a failed run without named tests."""
        return f"not ended after {self.took_s:.0f} s" if self.status is None else f"exit status {self.status}"


@dataclass(eq=False)
class AlternativeRuns:
    """Runs a command under the alternatives, and holds the results of all runs so far.

    `rows` is row → the values to run the command under; a row that the first run does not rely on is left out.
    `webhook` is the path at which the command takes webhooks, on the port in the variable PORT; empty for none. `junit`
    is the file, or the folder of files, to which the command writes its report; by default the file in WORKBENCH_JUNIT.
    `limit_s` is how many seconds a run may take, by default FIRST_S for the first run, and for a later one ten times
    the first run's duration and 10 s more. `jobs` is how many runs go side by side.
    """

    command: Sequence[str]
    rows: Mapping[str, "Collection[Value]"]
    webhook: str = "/webhooks"
    junit: Path | None = None
    limit_s: float | None = None
    jobs: int = 1
    first: CommandRun | None = None
    """The run with nothing switched."""
    to_run: int = 0
    """The number of runs to come."""
    runs: list[CommandRun] = field(default_factory=list)
    """The runs under alternatives."""
    skipped: list[str] | None = field(default_factory=list)
    """Rows on which the first run did not rely; None if one of its sandboxes did not report its rows."""
    _closers: "ThreadPoolExecutor" = field(init=False)
    """Closes the sandboxes, which takes a while: the next run does not wait for it."""
    _given_up: Event = field(default_factory=Event, init=False)

    def run(self, ended: Callable[[CommandRun, int, int], object]) -> None:
        """Runs the command with nothing switched, then under each alternative of the rows on which this run relied.

        When a run ends, calls `ended` with the run, the number of ended runs and the number of all runs. SIGTERM and
        Ctrl-C end the runs in progress.
        Raises CommandRefused: the command cannot be started, fails with nothing switched, or calls no sandbox.
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed

        from workbench.process import NOTHING, ended_when_asked

        with ended_when_asked(), ThreadPoolExecutor() as self._closers, ThreadPoolExecutor(self.jobs) as runners:
            try:
                first = self._run("", None, self.limit_s or FIRST_S)
                if not first.passed:
                    names = ", ".join(failure.name for failure in first.failed)
                    why = f"{first.why}; these tests failed: {names}" if names else first.why
                    message = f"With nothing switched, the command must pass, and it did not ({why}); it printed:"
                    raise CommandRefused(f"{message}\n{first.printed or NOTHING}")
                if not first.reached:
                    raise CommandRefused(
                        "The command called no sandbox, so that no alternative would tell anything.",
                        hint="Let it call the sandbox at PAYMENTS_BASE_URL, or open one with Workbench() or workbench "
                        "serve.",
                    )
                kept = [row for row in self.rows if first.relied is None or row in first.relied | _SILENT]
                self.skipped = None if first.relied is None else [row for row in self.rows if row not in kept]
                row_values: list[tuple[str, Value | None]] = [(row, value) for row in kept for value in self.rows[row]]
                self.first, self.to_run, all_ = first, len(row_values), len(row_values) + 1
                ended(first, 1, all_)
                limit_s = self.limit_s or first.took_s * _TIMES + _MORE_S
                later = [runners.submit(self._run, *alternative, limit_s) for alternative in row_values]
                for run in (done.result() for done in as_completed(later)):
                    if run.passed and not run.reached:
                        raise CommandRefused(
                            f"The command passed with {run.switched} and called no sandbox, which it did before.",
                            hint="If it keeps the results of earlier runs, switch that off, such as by go test "
                            "-count=1.",
                        )
                    self.runs.append(run)
                    # Of runs side by side, a later run may end first.
                    self.runs.sort(key=lambda other: row_values.index((other.row, other.value)))
                    self.to_run -= 1
                    ended(run, all_ - self.to_run, all_)
            finally:
                self._given_up.set()
                runners.shutdown(cancel_futures=True)

    def _run(self, row: str, value: "Value | None", limit_s: float) -> CommandRun:
        """Runs the command beside a sandbox of its own, in which the register's `row` has the `value`.

        The run lasts until the command has ended or `limit_s` seconds are over, or until `run` cancels all runs. An
        empty `row`, with the value None, switches nothing.
        """
        from workbench.domain.gaps import Gaps
        from workbench.domain.masking import mask
        from workbench.domain.wire.ledger_and_trace import WEBHOOK
        from workbench.process import Process, printed
        from workbench.sandbox.engine import Engine
        from workbench.sandbox.outbound import LOOPBACK
        from workbench.sandbox.server import free_port, listening
        from workbench.sandbox.store import Settings
        from workbench.visible import visible

        gaps = {row: value} if row else {}
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="workbench-each-")))
            log = opened.enter_context(tempfile.TemporaryFile())
            engine = Engine(Settings(seed="each", clock="running", gaps=Gaps.chosen(gaps)), raise_bugs=False)
            opened.callback(engine.close, patience_s=0)
            base_url = opened.enter_context(listening(engine, 0, ticks=True))
            port, relied_file = free_port(0).port, folder / "relied"
            environment = {
                "PAYMENTS_BASE_URL": base_url,
                "PAYMENTS_SECRET_KEY": engine.store.key("secret"),
                "PAYMENTS_PUBLISHABLE_KEY": engine.store.key("publishable"),
                "PORT": str(port),
                FOLDER: str(folder),
                JUNIT: str(folder / "junit.xml"),
                GAPS: json.dumps(gaps),
                RELIED: str(relied_file),
            }
            if self.webhook:
                environment["PAYMENTS_WEBHOOK_SECRET"] = engine.registered(f"http://{LOOPBACK}:{port}{self.webhook}")
            with engine.store.reading() as tx:
                own_endpoints = {endpoint.id for endpoint in tx.endpoints.all()}
            last_seq = _last(engine)

            def counts(row: "TraceRow") -> bool:
                """False for rows from before the command, and for messages to its endpoint while nobody listened."""
                if row.kind == WEBHOOK and row.detail["endpoint"] in own_endpoints:
                    return "ConnectError" not in (row.detail["fault"] or "")
                return row.seq > last_seq

            relied_so_far = None if row else rows_relied_on(engine, counts)
            report = self.junit or folder / "junit.xml"
            before, began = _ages(report), time.monotonic()
            process = Process(self.command, environment, log)
            opened.callback(process.end)
            process.wait(limit_s, until=self._given_up.is_set)
            status, took_s = process.status, time.monotonic() - began
            # A server that the command started reports its rows when it ends, which takes a while.
            process.end(_REPORT_S if relied_so_far else None)
            failed = tuple(_failed(file for file, age in _ages(report).items() if before.get(file) != age))
            reached = relied_file.exists() or _last(engine) > last_seq
            rows_reported = reported_rows(relied_file) if relied_so_far else None
            relied = rows_reported | relied_so_far() if relied_so_far and rows_reported is not None else None
            run = CommandRun(row, value, status, took_s, reached, relied, failed)
            if not run.passed:
                test_texts = [visible(mask(f"{test.name}: {test.says}"), lines=True) for test in failed if test.says]
                run = run._replace(printed="\n\n".join(filter(None, [*test_texts, printed(log)])))
            self._closers.submit(opened.pop_all().close)
            return run

    @property
    def failed_runs(self) -> list[CommandRun]:
        """The runs under alternatives that failed."""
        return [run for run in self.runs if not run.passed]

    def failed_tests(self, run: CommandRun) -> list[str]:
        """The names of the run's failed tests, sorted; with class or file if several tests share the name."""
        count_by_name = Counter(name for _, name in {test[:2] for other in self.runs for test in other.failed})
        failed = sorted({test[:2] for test in run.failed})
        return [name if count_by_name[name] == 1 else f"{home}::{name}" for home, name in failed]

    def table(self) -> "DisplayTable":
        """The alternatives under which the command failed, with the failed tests."""
        from workbench.text.render import table

        rows = [
            (run.switched if number == 0 else "", test)
            for run in self.failed_runs
            for number, test in enumerate(self.failed_tests(run) or [run.why])
        ]
        return table("What your code depends on", ("if this differs", "these fail"), rows)

    def sentences(self) -> Iterator[str]:
        """Yields the sentences to print below the table: counts, rows that were left out, and what to do next."""
        not_run = f"; {self.to_run} were not run any more" if self.to_run else ""
        ran = "1 alternative" if len(self.runs) == 1 else f"{len(self.runs)} alternatives"
        yield f"{ran} run: {len(self.failed_runs)} failed{not_run}."
        if self.skipped is None:
            yield "No row was left out, as a sandbox of the command did not tell on which rows it had relied."
        elif self.skipped:
            yield f"Not run, as the first run relied on none of these rows: {', '.join(self.skipped)}."
        if passed := {run.row for run in self.runs} - {run.row for run in self.failed_runs}:
            yield f"Passed, as no test of yours saw a difference: {', '.join(sorted(passed))}."
        if any(not run.failed for run in self.failed_runs):
            yield "To have the tests named, let them write a JUnit report: `workbench docs testing` says how."
        if self.failed_runs:
            run = self.failed_runs[0]
            yield f"`workbench gaps {run.row}` explains the first row, and --row '{run.switched}' runs it again."
            yield "--json prints the output of failed tests and of the command."
        if self.failed_runs and self.jobs > 1:
            yield "Runs went side by side: if your tests share a file or a port, run those that failed with --jobs 1."

    def as_record(self) -> dict[str, Any]:
        """The result as JSON types."""
        runs = [
            {
                "row": run.row or None, "value": run.value, "passed": run.passed, "status": run.status,
                "took_s": round(run.took_s, 2), "failed": self.failed_tests(run), "printed": run.printed,
            }
            for run in (*([self.first] if self.first else []), *self.runs)
        ]  # fmt: skip
        return {"runs": runs, "skipped": self.skipped, "left": self.to_run}


def _last(engine: "Engine") -> int:
    """The `seq` of the latest row in a sandbox's trace; a reset does not set the number back."""
    engine.store.write_calls()
    with engine.store.reading() as tx:
        return tx.last("seq")


def _ages(report: Path) -> dict[Path, int]:
    """File → the time of its last change, in nanoseconds; `report` is one file, or a folder of .xml files."""
    files = report.rglob("*.xml") if report.is_dir() else [report]
    return {file: file.stat().st_mtime_ns for file in files if file.exists()}


def _failed(files: Iterable[Path]) -> Iterator[Failure]:
    """The failed tests in JUnit reports; a file that is no XML is skipped."""
    import xml.etree.ElementTree as ET

    for file in sorted(files):
        with suppress(ET.ParseError):
            for case in ET.parse(file).iter("testcase"):  # noqa: S314  the report of the user's own tests
                for fault in (*case.findall("failure"), *case.findall("error"))[:1]:
                    home, says = case.get("classname") or case.get("file"), fault.text or fault.get("message") or ""
                    yield Failure(home or "", case.get("name", ""), says.strip()[:_MOST_TEXT])
