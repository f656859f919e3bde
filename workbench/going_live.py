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
from workbench.text.render import DisplayTable, Tabular, offline_page, table
from workbench.traffic.har import TRACE
from workbench.visible import visible

T = TypeVar("T")
OPEN: Final = "open"
DONE: Final = "done"
BY_HAND: Final = "by hand"
"""The state of an item that no input shows as done or open; somebody has to look."""
AT_STAKE: Final = {3: "Money can be lost", 2: "Payments can go wrong", 1: "Calls can fail, and what else to settle"}
"""Cost of a mistake → the heading above its items."""
_COLUMNS: Final = ("state", "what", "why", "ticked off by")
_MOST_ROWS, _MOST_FAILURES, _MOST_USES = 8, 3, 3
"""The most rows and the most failed checks that get an item each, and the most calls that a row's item names."""


class ChecklistItem(NamedTuple):
    """One line of the checklist; `state` is `open`, `done` or `by hand`; `cost` is a key of AT_STAKE."""

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


class ExamReport(msgspec.Struct):
    """The fields of the report by `workbench certify --report REPORT.json` that the checklist reads."""

    endpoint: str
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    score: str
    switched: dict[str, Any]
    """Row of the register → value, for the rows that were switched during the exam."""
    checks: Annotated[list[Checked], msgspec.Meta(min_length=1)]


class _Log(msgspec.Struct):
    trace: list[TraceRow] = msgspec.field(name=TRACE)


class _Kept(msgspec.Struct):
    """The JSON of a saved trace: a page from GET /sandbox/trace (`data`), or a HAR (`log`)."""

    data: list[TraceRow] | None = None
    has_more: bool = False
    log: _Log | None = None


def read_exam(path: str | Path) -> ExamReport:
    """The report of an exam. Raises CheckLiveRefused: the file cannot be read, or is no such report."""
    return _read(path, ExamReport, "the JSON that `workbench certify … --report REPORT.json` writes")


def read_trace(*paths: str | Path) -> list[TraceRow]:
    """The rows of a trace, from its pages in the order of `paths`.

    A file is from `bench.trace.save("x.har")` or `GET /sandbox/trace`.
    Raises CheckLiveRefused: a file cannot be read or holds no rows, or the last page is missing.
    """
    form = "a trace, such as GET /sandbox/trace returns or bench.trace.save('trace.har') writes"
    trace: list[TraceRow] = []
    for path in paths:
        kept = _read(path, _Kept, form)
        rows = kept.log.trace if kept.log else kept.data
        if rows is None:
            raise CheckLiveRefused(f"{path} is not {form}.")
        if not rows:
            raise CheckLiveRefused(f"{path} has no rows of a trace.")
        if kept.has_more and path == paths[-1]:
            hint = f"Add the next page as another file: GET /sandbox/trace?since={rows[-1].seq}"
            raise CheckLiveRefused(f"{path} holds one page of a longer trace.", hint=hint)
        try:
            for row in rows:
                row.detail = msgspec.to_builtins(msgspec.convert(row.detail, DETAILS[row.kind]))
        except (KeyError, msgspec.ValidationError) as error:
            raise CheckLiveRefused(f"{path} is not {form}: {visible(str(error))}.") from None
        trace += rows
    return trace


def _read(path: str | Path, kind: type[T], form: str) -> T:
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=kind)
    except OSError as error:
        raise CheckLiveRefused(f"{path} cannot be read: {error.strerror}.") from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CheckLiveRefused(f"{path} is not {form}: {visible(str(error))}.") from None


# The list


class Checklist(Tabular, tuple[ChecklistItem, ...]):
    """The items, the most costly first; the checklist shows itself as tables and as Markdown."""

    __slots__ = ()

    @property
    def open(self) -> list[ChecklistItem]:
        """The items that the inputs show as not done."""
        return [item for item in self if item.state == OPEN]

    @property
    def guessed(self) -> list[str]:
        """The names of the register's rows in open items, since no input confirmed them, the most costly first."""
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
        content = f"<h1>Before you go live</h1>\n<p>{self.summary}.</p>\n{tables}"
        return offline_page("Before you go live", "Checklist", content)

    def _tables(self) -> list[DisplayTable]:
        return [
            table(AT_STAKE[cost], _COLUMNS, [(item.state, item.what, item.why, item.evidence) for item in items])
            for cost, items in groupby(self, lambda item: item.cost)
        ]


_SIGN: Final = re.compile(r"(`[^`]+`)|[\\*`<>\[\]#]|_(?!\w)|(?<!\w)_")
"""Code, or one of Markdown's signs; an underscore within a word has no meaning in Markdown."""


def _marked(text: str) -> str:
    """Text for one line of Markdown, with Markdown's signs outside code escaped."""
    return _SIGN.sub(lambda match: match[1] or f"\\{match[0]}", visible(text))


def checklist(
    settled: Mapping[str, object] | None = None, exam: ExamReport | None = None, trace: Sequence[TraceRow] | None = None
) -> Checklist:
    """Builds the checklist of items that are open, done, or to be checked by hand.

    `settled` holds the provider's answers: row of the register → value, including rows confirmed at their default.
    Every other row is a guess. With the `trace` of a run, only guesses that the run relied on are open. `exam` is the
    report of an exam; None if there was none. Raises GapRefused: there is no such row or value.
    """
    gaps = Gaps.chosen(settled)
    items = (*_by_hand(gaps, trace), *_rows(gaps, frozenset(settled or ()), trace), *_examined(gaps, exam))
    return Checklist(sorted(items, key=lambda item: (-item.cost, item.state != OPEN)))


# The items

_TEXTS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_CALLED: Final = {"intents": "/v1/payment_intents", "charges": "/v1/charges", "plants": "/plants"}


def _item(texts: Mapping[str, Any], /, **facts: object) -> ChecklistItem:
    """An item from its texts, whose braces are filled with `facts`."""
    what, why, evidence = (texts[name].format_map(facts) for name in ("what", "why", "evidence"))
    return ChecklistItem(texts["cost"], texts["topic"], what, why, evidence, texts.get("state", BY_HAND))


def _item_from(kind: str, /, **facts: object) -> ChecklistItem:
    return _item(_TEXTS["computed"][kind], **facts)


def _by_hand(gaps: Gaps, trace: Sequence[TraceRow] | None) -> Iterator[ChecklistItem]:
    """Yields the items that no input ticks off.

    Their texts name the register's values in force, and which of intents, charges and plants the trace calls. Without
    a trace, or if it calls none of them, the texts name all three.
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
    }  # fmt: skip
    yield from (_item(texts, **thresholds) for texts in _TEXTS["item"])


def _rows(gaps: Gaps, settled: frozenset[str], trace: Sequence[TraceRow] | None) -> Iterator[ChecklistItem]:
    used = None if trace is None else relied_on(trace)
    rows = [row for row in map(GapRow, gaps.as_records()) if not row["of_sandbox"]]
    rows.sort(key=lambda row: -row["cost"])
    answered = [row for row in rows if row["name"] in settled]
    guesses = [row for row in rows if row["name"] not in settled and (used is None or row["name"] in used)]
    for row in guesses[:_MOST_ROWS]:
        by = f" Your run relied on it: {', '.join(used[row['name']][:_MOST_USES])}." if used else ""
        item = _item_from("guess", **{**row, "does": row.does, "used": by})
        yield item._replace(cost=row["cost"], rows=(row["name"],))
    if later := guesses[_MOST_ROWS:]:
        item = _item_from("more_guesses", count=len(later))
        yield item._replace(cost=later[0]["cost"], rows=tuple(row["name"] for row in later))
    if otherwise := [row for row in answered if row.is_changed]:
        listed = "; ".join(f"{row['name']}: {row.does}" for row in otherwise)
        yield _item_from("answered_otherwise", listed=listed)._replace(cost=otherwise[0]["cost"])
    if as_assumed := [row["name"] for row in answered if not row.is_changed]:
        yield _item_from("answered_as_assumed", listed=", ".join(as_assumed))._replace(rows=tuple(as_assumed))
    if used is not None:
        yield _item_from("not_relied_on", count=len(rows) - len(answered) - len(guesses))


def _examined(gaps: Gaps, exam: ExamReport | None) -> Iterator[ChecklistItem]:
    if exam is None:
        yield _item_from("no_exam")
        return
    exam_gaps = Gaps.chosen(exam.switched)
    differ = [
        f"{row.name} = {written(getattr(exam_gaps, row.name))}, which is {written(getattr(gaps, row.name))} now"
        for row in REGISTER if getattr(exam_gaps, row.name) != getattr(gaps, row.name)
    ]  # fmt: skip
    if differ:
        yield _item_from("other_exam", listed="; ".join(differ))
        return
    failed, unseen, warned, passed = (
        [check for check in exam.checks if check.verdict == verdict]
        for verdict in ("failed", "not examined", "warning", "passed")
    )
    yield from (
        _item_from("failed", title=check.title, why=check.why, fix=check.fix) for check in failed[:_MOST_FAILURES]
    )
    for name, checks in (("failed_too", failed[_MOST_FAILURES:]), ("not_examined", unseen), ("warned", warned)):
        if checks:
            listed = "; ".join(check.title for check in checks)
            yield _item_from(name, listed=listed, why=checks[0].why, fix=checks[0].fix)
    if passed:
        yield _item_from("passed", score=exam.score, endpoint=exam.endpoint, at=in_lusaka(milliseconds(exam.at)))
