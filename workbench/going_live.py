"""What is left to do before real money moves: a checklist from the register, an exam's report and a run's trace."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from workbench.domain.gaps import REGISTER, Gaps, written
from workbench.domain.moments import in_lusaka, milliseconds
from workbench.domain.reliance import relied_on
from workbench.domain.wire import TraceRow
from workbench.domain.wire.trace_rows import CALL, ENTRY, SCREEN, WEBHOOK, call_of, entry_of, screen_of, webhook_of
from workbench.errors import CheckLiveRefused
from workbench.har import TRACE
from workbench.look import page
from workbench.register import GapRow
from workbench.render import Table, Tabular, table
from workbench.resources import notebook_name
from workbench.visible import visible

OPEN: Final = "open"
DONE: Final = "done"
BY_HAND: Final = "by hand"
"""No input tells; somebody has to look."""
HOSTS, ROWS, EXAM, WATCH, CUSTOMERS = TOPICS = (
    "Hosts and keys", "What is still guessed", "The exam", "What to watch", "What is stored of customers",
)  # fmt: skip
_NOT_RELIED_ON: Final = "other rows are assumptions; the run did not rely on them"
_COLUMNS: Final = ("state", "what", "why", "how to check")


class Item(NamedTuple):
    """One line of the checklist; `state` is open, done or by hand."""

    topic: str
    what: str
    why: str
    check: str
    state: str = BY_HAND


# The inputs


class Checked(msgspec.Struct):
    """What an exam found of one check."""

    name: str
    title: str
    verdict: Literal["passed", "failed", "warning", "not examined"]
    came: str
    why: str
    fix: str


class Exam(msgspec.Struct):
    """The report that `workbench certify --report REPORT.json` writes, as far as it is read here."""

    endpoint: str
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    score: str
    switched: Any
    """Rows of the register with their values."""
    checks: Annotated[list[Checked], msgspec.Meta(min_length=1)]


class _Log(msgspec.Struct):
    trace: list[TraceRow] = msgspec.field(name=TRACE)


class _Kept(msgspec.Struct):
    """A list of the sandbox's, or a HAR."""

    data: list[TraceRow] | None = None
    has_more: bool = False
    log: _Log | None = None


_DETAILS: Final[Mapping[str, Callable[[Mapping[str, Any]], object]]] = {
    CALL: call_of, SCREEN: screen_of, ENTRY: entry_of, WEBHOOK: webhook_of,
}  # fmt: skip


def read_exam(path: Path) -> Exam:
    """The report of an exam. Raises CheckLiveRefused: it cannot be read, or is none."""
    exam: Exam = _read(path, Exam, "the JSON that `workbench certify … --report REPORT.json` writes")
    if not isinstance(exam.switched, dict):
        message = f"{path} is an older version's report: the rows of the register in it cannot be compared."
        raise CheckLiveRefused(message, hint="Take the exam again: workbench certify URL … --report REPORT.json.")
    return exam


def read_trace(path: Path) -> list[TraceRow]:
    """The rows of a trace: of `bench.trace.save("x.har")`, `json.dump([*bench.trace], file)` or `GET /sandbox/trace`.

    Raises CheckLiveRefused: it cannot be read, or holds none.
    """
    form = "a trace, such as bench.trace.save('trace.har') or json.dump([*bench.trace], file) writes"
    read = _read(path, list[TraceRow] | _Kept, form)
    rows = (read.log.trace if read.log else read.data) if isinstance(read, _Kept) else read
    if rows is None:
        raise CheckLiveRefused(f"{path} is not {form}.")
    if not rows:
        raise CheckLiveRefused(f"{path} has no rows of a trace.")
    if isinstance(read, _Kept) and read.has_more:
        raise CheckLiveRefused(f"{path} holds one page of a longer trace.", hint="Write it by bench.trace.save(…).")
    try:
        return [
            msgspec.structs.replace(row, detail=msgspec.to_builtins(_DETAILS[row.kind]({"detail": row.detail})))
            for row in rows
        ]
    except (KeyError, msgspec.ValidationError) as error:
        raise CheckLiveRefused(f"{path} is not {form}: {visible(str(error))}.") from None


def _read(path: Path, shape: Any, form: str) -> Any:  # noqa: ANN401  what msgspec decodes is of any type
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except OSError as error:
        raise CheckLiveRefused(f"{path} cannot be read: {error.strerror}.") from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CheckLiveRefused(f"{path} is not {form}: {visible(str(error))}.") from None


# The list


class Checklist(Tabular, tuple[Item, ...]):
    """The items, in the order of their topics; shows itself as text and HTML."""

    __slots__ = ()

    @property
    def open(self) -> list[Item]:
        """What the inputs say is not done."""
        return [each for each in self if each.state == OPEN]

    @property
    def guessed(self) -> list[Item]:
        """The rows of the register that are open."""
        return [each for each in self.open if each.topic == ROWS]

    @property
    def confirmed(self) -> list[Item]:
        """The rows of the register that the provider has answered as the sandbox does it."""
        return [each for each in self if (each.topic, each.state) == (ROWS, DONE)]

    @property
    def knows_a_run(self) -> bool:
        """Whether a trace has told on which rows a run relied."""
        return any(each.what.endswith(_NOT_RELIED_ON) for each in self)

    @property
    def summary(self) -> str:
        """How many items are in each state."""
        states = [each.state for each in self]
        return ", ".join(f"{states.count(state)} {state}" for state in (OPEN, BY_HAND, DONE))

    def markdown(self) -> str:
        """A list to tick off, a heading a topic."""
        parts = ["# Before you go live", f"{self.summary}."]
        for topic, items in groupby(self, lambda each: each.topic):
            lines = [
                f"- [{'x' if each.state == DONE else ' '}] **{_marked(each.what)}** ({each.state})\n"
                f"  - why: {_marked(each.why)}\n  - how to check: {_marked(each.check)}"
                for each in items
            ]
            parts += [f"## {topic}", "\n".join(lines)]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """A page to read offline: one file, no script."""
        tables = "\n".join(each.html() for each in self._tables())
        return page("Before you go live", "Checklist", f"<h1>Before you go live</h1>\n<p>{self.summary}.</p>\n{tables}")

    def _tables(self) -> list[Table]:
        return [
            table(topic, _COLUMNS, [(each.state, each.what, each.why, each.check) for each in items])
            for topic, items in groupby(self, lambda each: each.topic)
        ]

    def __repr__(self) -> str:
        return f"Before you go live: {self.summary}\n\n" + "\n".join(
            f"{each.state:<8} {visible(each.what)}" for each in self
        )


_SIGN: Final = re.compile(r"[\\*`<>\[\]#]|_(?!\w)|(?<!\w)_")
"""An underscore within a word means nothing."""


def _marked(text: str) -> str:
    """Text on one line of Markdown, whose signs mean nothing."""
    return _SIGN.sub(r"\\\g<0>", visible(text))


def checklist(
    settled: Mapping[str, object] | None = None, exam: Exam | None = None, trace: Sequence[TraceRow] | None = None
) -> Checklist:
    """What is open, done, or to be looked at by hand.

    `settled` is the provider's word: row of the register → value, a row that is confirmed at its default named too;
    every other row is a guess. With the trace of a run, only guesses on which the run relied are open.
    Raises GapRefused: there is no such row or value.
    """
    gaps = Gaps.chosen(settled)
    parts: dict[str, Iterable[tuple[str, ...]]] = {
        HOSTS: (*_hosts(trace), *_KEYS), ROWS: _rows(gaps, frozenset(settled or ()), trace),
        EXAM: _examined(gaps, exam), WATCH: _watch(gaps), CUSTOMERS: _CUSTOMERS,
    }  # fmt: skip
    return Checklist(Item(topic, *rest) for topic, items in parts.items() for rest in items)


# What is in an item beside its topic
# fmt: off


def _hosts(trace: Sequence[TraceRow] | None) -> Iterator[tuple[str, ...]]:
    """The hosts that the run called are to be changed; one that it did not call is not."""
    paths = None if trace is None else [row.detail["target"].partition(" ")[2] for row in trace if row.kind == CALL]
    why = "Intents, charges and plants have hosts of their own; a host that is not named is taken to be base_url."
    for name, begins, what in _CALLED:
        if paths is None or any(path.startswith(begins) for path in paths):
            yield (f"{name}: the provider's host of {what}, without /v1 at its end", why,
                   f"PaymentsClient(…, {name}=…) in the production settings, as the provider wrote it to you.")
        else:
            yield (f"{name}: not needed, the run made no call of {what}", why,
                   "The run did everything your shop does.", DONE)


_CALLED: Final = (
    ("base_url", "", "intents"),  # the client takes it always
    ("charges_url", "/v1/charges", "charges"),
    ("plants_url", "/plants", "plants"),
)
_KEYS: Final = (
    ("The live secret key only on the server, never in the repository", "Anybody with sk_live can move your money.",
     "git log -p -S sk_live finds nothing; the server reads it from its environment or a vault."),
    ("The live publishable key in pages and apps", "A page with pk_test takes no real payments.",
     "Search the built pages and apps for pk_test."),
    ("allow_live=True, only in the production settings",
     "Without it the client rejects a live key before anything is sent, as it should on a laptop.",
     "Search for allow_live: one place."),
    ("A webhook endpoint at the live service, over HTTPS, with its own signing secret",
     "The sandbox's secret verifies no live message: each would be rejected, and become a dead letter.",
     "The live endpoint is listed, and its secret is in the server's environment; pay 1.00 ZMW and see it arrive."),
)


def _rows(gaps: Gaps, settled: frozenset[str], trace: Sequence[TraceRow] | None) -> Iterator[tuple[str, ...]]:
    used = None if trace is None else relied_on(trace)
    rest = 0
    for row in map(GapRow, gaps.as_records()):
        name, does = row["name"], row.cells["does"]
        if name in settled and row.is_changed:
            yield (f"{name}: {does}", "The sandbox's default differs.",
                   "Run your tests with it: Workbench(gaps=…) or workbench serve --gaps FILE.")
        elif name in settled:
            yield f"{name}: {does}", "Your file says it is answered.", "The provider's answer is filed.", DONE
        elif used is None or name in used:
            by = f" Your run relied on it: {', '.join(used[name])}." if used else ""
            read = f" To read: {notebook_name(row['notebook'])}." if row["notebook"] else ""
            yield (f"{name}: we assume {does}", f"Section {row['section']} leaves it open.{by}",
                   f"Ask: {row['asks']} Then name it in the file of --gaps.{read}", OPEN)
        else:
            rest += 1
    if used is not None:
        yield (f"{rest} {_NOT_RELIED_ON}",
               "An assumption that nothing depends on costs nothing, if the run did everything your shop does.",
               "Record the trace of your whole test suite, not of one payment.")


def _examined(gaps: Gaps, exam: Exam | None) -> Iterator[tuple[str, ...]]:
    if exam is None:
        yield ("No exam report was given", "Flaws in an endpoint appear when a message comes twice, late or forged.",
               "workbench certify URL … --report exam.json, then check-live --exam exam.json.", OPEN)
        return
    under = Gaps.chosen(exam.switched)
    differ = [(row.name, *(written(getattr(each, row.name)) for each in (under, gaps))) for row in REGISTER
              if getattr(under, row.name) != getattr(gaps, row.name)]
    if differ:
        rows = "; ".join(f"{name} = {was}, which is {is_now} now" for name, was, is_now in differ)
        yield (f"The exam was taken under other rows: {rows}",
               "What it passes under other rows shows nothing about the real service: no check is ticked off.",
               "Take it again under your provider's answers: workbench certify URL … --gaps FILE --report exam.json.",
               OPEN)
        return
    yield (f"{exam.endpoint} on {in_lusaka(milliseconds(exam.at))}: {exam.score}",
           "The report is about the code that was examined.", "The same code goes live; if not, repeat the exam.")
    for each in exam.checks:
        if each.verdict == "passed":
            yield each.title, each.why, each.came, DONE
        else:
            state = BY_HAND if each.verdict == "warning" else OPEN
            yield f"{each.title}: {each.verdict}", each.why, each.fix, state


def _watch(gaps: Gaps) -> tuple[tuple[str, str, str], ...]:
    """What to be woken for, with thresholds from the rows in force."""
    prompt_s, attempts_s, off_after_s = gaps.prompt_timeout_s, gaps.retry_schedule_s, gaps.endpoint_disable_after_s
    last = f"The last attempt, of {len(attempts_s)}, is about {_time(sum(attempts_s))} after the first"
    books = notebook_name("reconcile_a_statement")
    late = {
        "suspense": "The customer has paid and got nothing.",
        "succeeds": "The payment then succeeds, and an order that was given up is paid; of one that was canceled or "
        "paid otherwise the money waits.",
    }[gaps.late_success]
    return (
        (f"Stale orders: pending for more than {_time(2 * prompt_s)}",
         f"The prompt closes after {_time(prompt_s)}, so by then the outcome is known and its webhook was lost.",
         "A job that retrieves each such payment; an alert when one stays pending for a day."),
        ("Dead letters: more than none",
         f"{last}; a dead letter is an order that nobody fulfilled.",
         "List deliveries with status dead_letter each morning; fix the cause, then replay."),
        ("Failing deliveries: no success for an hour",
         f"After {_time(off_after_s)} without a success the endpoint is disabled." if off_after_s else
         "The endpoint is never disabled: only your own log shows that all deliveries fail.",
         "Alert on your own 4xx and 5xx at the webhook URL, and on webhook_endpoint.disabled."),
        ("Money in suspense: more than none for a day",
         f"Money that comes after the prompt has closed: here late_success = {gaps.late_success!r}. {late}",
         "Handle payment_intent.late_success; ask the provider to credit or return it."),
        ("Daily reconciliation: any unexplained break, any variance but 0.00",
         f"The books of shop, provider and operator first differ by one row; money clears {gaps.clearing}.",
         f"workbench reconcile for the business date before, each morning; see {books}."),
        (f"The server's clock: off by more than {_time(max(1, gaps.signature_tolerance_s // 10))}",
         f"A message older than {_time(gaps.signature_tolerance_s)} is rejected: a wrong clock rejects them all.",
         "NTP is on; alert on timestamp_stale and timestamp_in_future."),
    )


_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def _time(seconds: int) -> str:
    """The two largest units of a time, such as `3 d 3 h`."""
    parts = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        parts += [f"{count} {unit}"] if count else []
    return " ".join(parts[:2]) or "0 s"


_CUSTOMERS: Final = (
    ("Your database: the number, and what was bought",
     "It is personal data: you are responsible for how long it is kept and who reads it.",
     "Keep what refunds and the books need; set a day on which the rest is deleted."),
    ("Your logs: no number, no key, no body of a request",
     "Logs get copied to many places. The sandbox's trace masks both: +26096••••567, sk_test_••••.",
     "Search a day's logs for 260 and nine digits, for 0 and nine digits, and for sk_."),
    ("The PIN: nowhere", "It goes from the phone to the operator. A page that asks for it is a fraud.",
     "No field of yours is named for it."),
    ("The sandbox's store (--store FILE): whole numbers, unmasked",
     "It needs them to reach handsets. What it shows is masked; the file is not.",
     "Test with invented numbers; delete the file, and share no copy of it."),
    ("Statements, and the results of reconciliation",
     "A statement has customers' full numbers; breaks and carried rows mask them.",
     "Only the accountants can read the folder of statements; a --phone-key FILE has mode 600."),
    ("Notebooks and exam reports that are shared", "Outputs are stored with the notebook.",
     "What the workbench shows is masked; check and clear what you printed yourself."),
)
