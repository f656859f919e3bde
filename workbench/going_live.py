"""Forty items or fewer to do before real money moves: from the register, an exam's report and a run's trace."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from workbench.domain.gaps import REGISTER, Gaps, written
from workbench.domain.moments import in_lusaka, milliseconds, span
from workbench.domain.payments import offer_again_s
from workbench.domain.wire.ledger_and_trace import CALL, DETAILS, TraceRow
from workbench.errors import CheckLiveRefused
from workbench.register import GapRow
from workbench.sandbox.provenance import relied_on
from workbench.text.render import Table, Tabular, page, table
from workbench.traffic.har import TRACE
from workbench.visible import visible

T = TypeVar("T")
OPEN: Final = "open"
DONE: Final = "done"
BY_HAND: Final = "by hand"
"""The state of an item that no input shows as done or open; somebody has to look."""
ROWS, EXAM = "What is still guessed", "The exam"
AT_STAKE: Final = {3: "Money can be lost", 2: "Payments can go wrong", 1: "Calls can fail"}
"""Cost of a mistake → the heading above its items."""
_COLUMNS: Final = ("state", "what", "why", "ticked off by")
_MOST_ROWS, _MOST_FAILURES, _MOST_USES = 8, 3, 3
"""The most rows, and the most failed checks, with an item of their own; the most calls that a row's item names."""


class Item(NamedTuple):
    """One line of the checklist; `state` is open, done or by hand."""

    cost: int
    topic: str
    what: str
    why: str
    evidence: str
    """The evidence that ticks the item off."""
    state: str = BY_HAND
    rows: tuple[str, ...] = ()
    """The rows of the register that the item is about."""


# The inputs


class Checked(msgspec.Struct):
    """One check of an exam's report."""

    title: str
    verdict: Literal["passed", "failed", "warning", "not examined"]
    why: str
    fix: str


class Exam(msgspec.Struct):
    """The fields of the report by `workbench certify --report REPORT.json` that the checklist reads."""

    endpoint: str
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    score: str
    switched: Any
    """Row of the register → its value, of the rows that the exam switched; in an older version's report no dict."""
    checks: Annotated[list[Checked], msgspec.Meta(min_length=1)]


class _Log(msgspec.Struct):
    trace: list[TraceRow] = msgspec.field(name=TRACE)


class _Kept(msgspec.Struct):
    """A kept file: a page of the sandbox's trace, or a HAR."""

    data: list[TraceRow] | None = None
    has_more: bool = False
    log: _Log | None = None


def read_exam(path: str | Path) -> Exam:
    """The report of an exam. Raises CheckLiveRefused: the file cannot be read, or is no report of this version."""
    exam = _read(path, msgspec.json.Decoder(Exam), "the JSON that `workbench certify … --report REPORT.json` writes")
    if not isinstance(exam.switched, dict):
        message = f"{path} is an older version's report: the rows of the register in it cannot be compared."
        raise CheckLiveRefused(message, hint="Take the exam again: workbench certify URL … --report REPORT.json.")
    return exam


def read_trace(*paths: str | Path) -> list[TraceRow]:
    """The rows of a trace, from its pages in the order of `paths`.

    A file is from `bench.trace.save("x.har")`, `json.dump([*bench.trace], file)` or `GET /sandbox/trace`.
    Raises CheckLiveRefused: a file cannot be read or holds no rows, or the last page is missing.
    """
    form = "a trace, such as GET /sandbox/trace returns or bench.trace.save('trace.har') writes"
    trace: list[TraceRow] = []
    decoder = msgspec.json.Decoder(list[TraceRow] | _Kept)
    for path in paths:
        read: list[TraceRow] | _Kept = _read(path, decoder, form)
        rows = (read.log.trace if read.log else read.data) if isinstance(read, _Kept) else read
        if rows is None:
            raise CheckLiveRefused(f"{path} is not {form}.")
        if not rows:
            raise CheckLiveRefused(f"{path} has no rows of a trace.")
        if isinstance(read, _Kept) and read.has_more and path == paths[-1]:
            hint = f"Add the next page as another file: GET /sandbox/trace?since={rows[-1].seq}"
            raise CheckLiveRefused(f"{path} holds one page of a longer trace.", hint=hint)
        try:
            details = [msgspec.to_builtins(msgspec.convert(row.detail, DETAILS[row.kind])) for row in rows]
        except (KeyError, msgspec.ValidationError) as error:
            raise CheckLiveRefused(f"{path} is not {form}: {visible(str(error))}.") from None
        trace += [msgspec.structs.replace(row, detail=detail) for row, detail in zip(rows, details, strict=True)]
    return trace


def _read(path: str | Path, decoder: msgspec.json.Decoder[T], form: str) -> T:
    try:
        return decoder.decode(Path(path).read_bytes())
    except OSError as error:
        raise CheckLiveRefused(f"{path} cannot be read: {error.strerror}.") from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CheckLiveRefused(f"{path} is not {form}: {visible(str(error))}.") from None


# The list


class Checklist(Tabular, tuple[Item, ...]):
    """The items, the most costly first; the checklist shows itself as text and HTML."""

    __slots__ = ()

    @property
    def open(self) -> list[Item]:
        """The items that the inputs show as not done."""
        return [item for item in self if item.state == OPEN]

    @property
    def guessed(self) -> list[str]:
        """The names of the register's rows that no input has confirmed, the most costly guesses first."""
        return [name for item in self.open for name in item.rows]

    @property
    def summary(self) -> str:
        """The number of items in each state, in words."""
        states = [item.state for item in self]
        return ", ".join(f"{states.count(state)} {state}" for state in (OPEN, BY_HAND, DONE))

    def markdown(self) -> str:
        """A list in Markdown to tick off, the items that can cost money first."""
        parts = ["# Before you go live", f"{self.summary}."]
        for cost, items in groupby(self, lambda item: item.cost):
            lines = [
                f"- [{'x' if item.state == DONE else ' '}] **{_marked(item.what)}** ({item.state})\n"
                f"  - why: {_marked(item.why)}\n  - ticked off by: {_marked(item.evidence)}"
                for item in items
            ]
            parts += [f"## {AT_STAKE[cost]}", "\n".join(lines)]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """A page to read offline: one file, no script."""
        tables = "\n".join(listed.html() for listed in self._tables())
        return page("Before you go live", "Checklist", f"<h1>Before you go live</h1>\n<p>{self.summary}.</p>\n{tables}")

    def _tables(self) -> list[Table]:
        return [
            table(AT_STAKE[cost], _COLUMNS, [(item.state, item.what, item.why, item.evidence) for item in items])
            for cost, items in groupby(self, lambda item: item.cost)
        ]

    def __repr__(self) -> str:
        lines = (f"{item.state:<8} {visible(item.what)}" for item in self)
        return "\n".join([f"Before you go live: {self.summary}", "", *lines])


_SIGN: Final = re.compile(r"[\\*`<>\[\]#]|_(?!\w)|(?<!\w)_")
"""Markdown's signs; an underscore within a word has no meaning in Markdown."""


def _marked(text: str) -> str:
    """Text for one line of Markdown, with Markdown's signs escaped."""
    return _SIGN.sub(r"\\\g<0>", visible(text))


def checklist(
    settled: Mapping[str, object] | None = None, exam: Exam | None = None, trace: Sequence[TraceRow] | None = None
) -> Checklist:
    """Builds the checklist of items that are open, done, or to be checked by hand.

    `settled` holds the provider's answers: row of the register → value, including rows confirmed at their default.
    Every other row is a guess. With the trace of a run, only guesses that the run relied on are open.
    Raises GapRefused: there is no such row or value.
    """
    gaps = Gaps.chosen(settled)
    items = (*_by_hand(gaps, trace), *_rows(gaps, frozenset(settled or ()), trace), *_examined(gaps, exam))
    return Checklist(sorted(items, key=lambda item: (-item.cost, item.state != OPEN)))


# What is in an item
# fmt: off


def _by_hand(gaps: Gaps, trace: Sequence[TraceRow] | None) -> Iterator[Item]:
    """Yields the items that no input ticks off.

    Their texts name values of the rows in force, and which of intents, charges and plants the trace calls; they name
    all three without a trace, or if the trace calls none of them.
    """
    waits, off_after_s = gaps.retry_schedule_s, gaps.endpoint_disable_after_s
    paths = None if trace is None else [row.detail["target"].partition(" ")[2] for row in trace if row.kind == CALL]
    called = [name for name, start in _CALLED.items() if paths is None or any(path.startswith(start) for path in paths)]
    thresholds = {
        **{name: span(value) if isinstance(value, int) else value for name, value in asdict(gaps).items()},
        "hosts": ", ".join(called or _CALLED), "stale": span(offer_again_s(gaps)),
        "skew": span(max(1, gaps.signature_tolerance_s // 10)),
        "last": f"The last attempt, of {len(waits)}, is about {span(sum(waits))} after the first",
        "off": f"After {span(off_after_s)} without a success the endpoint is disabled." if off_after_s else
               "The endpoint is never disabled: only your own log shows that all deliveries fail.",
        "clears": next(row.choices[0].says for row in map(GapRow, gaps.as_records()) if row["name"] == "clearing"),
        "late": {
            "suspense": "the customer has paid and got nothing",
            "succeeds": "the payment then succeeds, and an order that was given up is paid",
        }[gaps.late_success],
    }
    for item in tomllib.loads(_BY_HAND.read_text("utf-8"))["item"]:
        texts = {name: item[name].format_map(thresholds) for name in ("what", "why", "evidence")}
        yield Item(item["cost"], item["topic"], **texts)


_BY_HAND: Final = Path(__file__).with_suffix(".toml")
_CALLED: Final = {"intents": "/v1/payment_intents", "charges": "/v1/charges", "plants": "/plants"}


def _rows(gaps: Gaps, settled: frozenset[str], trace: Sequence[TraceRow] | None) -> Iterator[Item]:
    used = None if trace is None else relied_on(trace)
    rows = [row for row in map(GapRow, gaps.as_records()) if not row["of_sandbox"]]
    rows.sort(key=lambda row: -row["cost"])
    answered = [row for row in rows if row["name"] in settled]
    left = [row for row in rows if row["name"] not in settled and (used is None or row["name"] in used)]
    for row in left[:_MOST_ROWS]:
        by = f" Your run relied on it: {', '.join(used[row['name']][:_MOST_USES])}." if used else ""
        yield Item(row["cost"], ROWS, f"{row['name']}: we assume {row.cells['does']}",
                   f"Section {row['section']} of the interface leaves it open.{by}",
                   f"The provider's answer to: {row['asks']} Name it in the file of --gaps.",
                   OPEN, (row["name"],))
    if rest := left[_MOST_ROWS:]:
        yield Item(max(row["cost"] for row in rest), ROWS, f"{len(rest)} more assumptions, less costly if wrong",
                   "The interface leaves them open.",
                   "The provider's answers to the letter of --letter. Name them in the file of --gaps.",
                   OPEN, tuple(row["name"] for row in rest))
    if otherwise := [row for row in answered if row.is_changed]:
        listed = "; ".join(f"{row['name']}: {row.cells['does']}" for row in otherwise)
        yield Item(otherwise[0]["cost"], ROWS, f"The provider answered {listed}", "The sandbox's default differs.",
                   "Your tests pass against workbench serve --gaps FILE.")
    if as_assumed := [row["name"] for row in answered if not row.is_changed]:
        yield Item(1, ROWS, f"Answered as assumed: {', '.join(as_assumed)}", "Your file says so.",
                   "The provider's answers are filed.", DONE, tuple(as_assumed))
    if used is not None:
        others = len(rows) - len(answered) - len(left)
        yield Item(1, ROWS, f"{others} other rows are assumptions; the run did not rely on them",
                   "An assumption that nothing depends on costs nothing, if the run did everything your shop does.",
                   "The trace is that of your whole test suite, not of one payment.")


def _examined(gaps: Gaps, exam: Exam | None) -> Iterator[Item]:
    if exam is None:
        yield Item(3, EXAM, "The webhook endpoint has not passed the exam: no report was given",
                   "Flaws appear when a message is forged, late, repeated or out of order.",
                   "workbench certify URL … --report exam.json, then check-live --exam exam.json.", OPEN)
        return
    under = Gaps.chosen(exam.switched)
    differ = [(row.name, *(written(getattr(chosen, row.name)) for chosen in (under, gaps))) for row in REGISTER
              if getattr(under, row.name) != getattr(gaps, row.name)]
    if differ:
        rows = "; ".join(f"{name} = {was}, which is {is_now} now" for name, was, is_now in differ)
        yield Item(3, EXAM, f"The exam was taken under other rows: {rows}",
                   "What it passes then shows nothing about the real service: no check is ticked off.",
                   "A report under the provider's answers: workbench certify URL … --gaps FILE --report exam.json.",
                   OPEN)
        return
    failed, unseen, warned, passed = (
        [check for check in exam.checks if check.verdict == verdict]
        for verdict in ("failed", "not examined", "warning", "passed")
    )
    for check in failed[:_MOST_FAILURES]:
        yield Item(3, EXAM, f"{check.title}: failed", check.why, check.fix, OPEN)
    if rest := failed[_MOST_FAILURES:]:
        yield Item(3, EXAM, f"Failed too: {'; '.join(check.title for check in rest)}",
                   "One cause often explains several.", "The exam passes, taken again.", OPEN)
    if unseen:
        yield Item(3, EXAM, f"Not examined: {'; '.join(check.title for check in unseen)}",
                   unseen[0].why, unseen[0].fix, OPEN)
    if warned:
        yield Item(2, EXAM, f"Warnings: {'; '.join(check.title for check in warned)}", warned[0].why, warned[0].fix)
    if passed:
        taken = f"{exam.endpoint} on {in_lusaka(milliseconds(exam.at))}"
        yield Item(1, EXAM, f"Passed: {exam.score}; {taken}",
                   "The report is about the code that was examined.",
                   "The same code goes live; if not, the exam is taken again.", DONE)
