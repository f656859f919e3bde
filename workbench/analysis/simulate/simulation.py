"""One simulation: the month driven through the service, and the folder of its ledger, statements and answers."""

import csv
import heapq
import itertools
import shutil
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import UnsetType
from msgspec.structs import replace

from workbench.analysis.breaks import LATE_SUCCESS, MISSING, TIMING
from workbench.analysis.frames import schema_of
from workbench.analysis.ledger import Ledger, verified
from workbench.analysis.shapes import ANSWER, COMPLETED, LEDGER_MOVEMENT
from workbench.analysis.simulate import kinds
from workbench.analysis.simulate.kinds import DECOYS, Planting
from workbench.analysis.simulate.plan import CHARGE, INTENT, Chances, Payment, Plan, Traffic, day_of
from workbench.analysis.simulate.rows import ACCOUNTS, FILES, Known, Row, StatementInfo, known_from, statement_row
from workbench.analysis.statements import LAYOUTS, Layout, Preamble, statement_writer
from workbench.control import SandboxControl
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK, OUT
from workbench.domain.moments import DAY_MS, business_date, day_start_ms
from workbench.domain.money import ZMW
from workbench.domain.scenarios import ACTS_AFTER_S, APPROVE, LATE, LATE_S, TIMEOUT, UNKNOWN
from workbench.domain.webhooks import types_of
from workbench.domain.wire.control import MAX_COMMANDS, SimulatedCommand
from workbench.errors import SimulationRefused
from workbench.render import Column, Table, Tabular, table
from workbench.session import Session

_BATCH: Final = 1_000
LEDGER: Final = "ledger.parquet"
STATEMENTS: Final = "statements"
ANSWERS: Final = "answers.csv"
_FEWEST: Final = 25
"""So many commands are sent at first, and then as many as are done in a call."""
SUCCEEDED: Final = "succeeded"
OPEN: Final = "open"
"""The outcome of what the end of the month found unanswered."""
MAX_PAYMENTS: Final = 1_000_000
"""A workbook holds 1,048,576 rows, and one of the statements is one."""
MAX_DAYS: Final = 366
_NEEDED: Final[Mapping[str, object]] = {
    "charge_amount_unit": "minor",
    "charge_wait": "answered",
    "client_secret_on_confirm": "with_publishable_key",
    "failure_triggers": "numbers_header_script",
}
"""The rows of the register on which the traffic relies."""
_NUMBER: Final = Column("number", numeric=True)
_NEVER: Final = "webhook_endpoint.disabled"
"""What does not happen while nothing is sent."""


Happens = Callable[[], Iterable[SimulatedCommand] | None]
"""What happens at a moment of a month, and what is to be done then."""


@contextmanager
def shown(total: int) -> Iterator[Callable[[], None]]:
    """A function to call after each payment: it moves a bar on a terminal, and writes ten lines elsewhere."""
    payments = itertools.count(1)

    def after(parts: int, tell: Callable[[int], object]) -> None:
        done = next(payments)
        if done * parts // total > (done - 1) * parts // total:
            tell(done)

    if not sys.stderr.isatty():
        yield lambda: after(10, lambda done: sys.stderr.write(f"{done:,} of {total:,} payments\n"))
        return
    # rich takes a tenth of a second to load, which a simulation without a bar does without.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("Simulating payments", total=total)
        yield lambda: after(500, lambda done: progress.update(task, completed=done))


class Month:
    """What is done in a plan's month, in order of time, to be iterated once.

    `outcomes` counts payments by what became of them; together they are the plan's. `info` is what operators tell of
    them besides, in order of time. `prompt_ms` is how long a prompt waits for its answer.
    """

    def __init__(self, plan: Plan, *, prompt_ms: int) -> None:
        self._plan = plan
        self._prompt_ms = prompt_ms
        self._now_ms = plan.start_ms
        self._waiting: list[tuple[int, int, Happens]] = []
        self._places = itertools.count()
        self._rings_until_ms: defaultdict[str, int] = defaultdict(int)
        self.outcomes: Counter[str] = Counter()
        self.refunds = 0
        self.info: list[StatementInfo] = []

    def __iter__(self) -> Iterator[SimulatedCommand]:
        traffic = self._plan.traffic
        for day in range(traffic.payout_on_day, self._plan.days, traffic.payout_every_days):
            self._later(self._plan.start_ms + day * DAY_MS + traffic.payout_at_ms, self._pay_out)
        for payment in self._plan:
            yield from self._until(payment.at_ms)
            yield from self._pay(payment)
        yield from self._until(self._plan.end_ms)
        if left := self._plan.payments - self.outcomes.total():
            self.outcomes[OPEN] = left

    def _until(self, at_ms: int) -> Iterator[SimulatedCommand]:
        while self._waiting and self._waiting[0][0] <= at_ms:
            self._now_ms, _, happens = heapq.heappop(self._waiting)
            yield from happens() or ()
        self._now_ms = at_ms

    def _later(self, at_ms: int, happen: Happens) -> None:
        """What comes after the end is of another month."""
        if at_ms <= self._plan.end_ms:
            heapq.heappush(self._waiting, (at_ms, next(self._places), happen))

    def _pay(self, payment: Payment) -> Iterator[SimulatedCommand]:
        if payment.at_ms < self._rings_until_ms[payment.phone]:
            # A handset that shows a prompt would take the PIN for that one.
            payment = payment._replace(way=CHARGE)
        asked = self._command(payment, payment.way, payment.amount_minor)
        if payment.scenario != APPROVE:
            yield replace(asked, what="script", scenario=payment.scenario)
        yield asked
        if payment.way != CHARGE:
            yield replace(asked, what="confirm")
        self._follow(payment)
        if payment.refund_minor:
            self._later(payment.at_ms + payment.refund_after_ms, lambda: self._refund(payment))

    def _command(self, payment: Payment, what: str, amount_minor: int = 0) -> SimulatedCommand:
        order = f"order-{business_date(self._plan.start_ms)}-{payment.number + 1}"
        return SimulatedCommand(self._now_ms, what, order, payment.phone, payment.operator, amount_minor)

    def _follow(self, payment: Payment) -> None:
        """What becomes of a payment, and when that is known; a charge is answered within the call."""
        at_once = payment.way == CHARGE
        if payment.scenario == APPROVE and at_once:
            self.outcomes[SUCCEEDED] += 1
        elif payment.scenario == APPROVE:
            self._ring(payment, self._plan.pin_after_ms(payment), lambda: self._enter_pin(payment))
        elif payment.scenario == LATE:
            self._ring(payment, self._prompt_ms, lambda: self._note(payment, TIMEOUT))
            came_late_ms = payment.at_ms + self._prompt_ms + LATE_S * 1000
            self._later(came_late_ms, lambda: self.outcomes.update({TIMEOUT: -1, LATE: 1}))
        elif payment.scenario == TIMEOUT:
            self._ring(payment, self._prompt_ms, lambda: self._note(payment, TIMEOUT, reported=True))
        else:
            reported = payment.scenario == UNKNOWN or self._plan.traffic.failures[payment.scenario].reported
            # A customer who acts by himself has the prompt before him until then.
            after_ms = 0 if at_once else ACTS_AFTER_S * 1000
            self._ring(payment, after_ms, lambda: self._note(payment, payment.scenario, reported=reported))

    def _ring(self, payment: Payment, for_ms: int, happens: Happens) -> None:
        """A prompt is on the handset for so long, beside others that are there already, and then something happens."""
        until_ms = payment.at_ms + for_ms
        self._rings_until_ms[payment.phone] = max(self._rings_until_ms[payment.phone], until_ms)
        self._later(until_ms, happens)

    def _enter_pin(self, payment: Payment) -> list[SimulatedCommand]:
        self.outcomes[SUCCEEDED] += 1
        return [self._command(payment, "pin")]

    def _note(self, payment: Payment, scenario: str, *, reported: bool = False) -> None:
        self.outcomes[scenario] += 1
        if reported:
            known = payment.number, payment.operator, payment.amount_minor, payment.phone, scenario
            self.info.append(StatementInfo(self._now_ms, *known))

    def _refund(self, payment: Payment) -> list[SimulatedCommand]:
        self.refunds += 1
        full = payment.refund_minor == payment.amount_minor
        return [self._command(payment, "refund", 0 if full else payment.refund_minor)]

    def _pay_out(self) -> list[SimulatedCommand]:
        return [SimulatedCommand(self._now_ms, "payout")]


def _drive(session: Session, name: str, month: Iterable[SimulatedCommand], step: Callable[[], object]) -> None:
    """Have the sandbox do a month's commands, as many as it does in a second at a time; `step` follows each payment."""
    commands, cursor, size = iter(month), 0, _FEWEST
    ahead: list[SimulatedCommand] = []
    while ahead := [*ahead, *itertools.islice(commands, max(0, size - len(ahead)))]:
        done = session.control.simulate(name, cursor, ahead[:size]).done
        cursor += done
        # What is sent and not done is read for nothing.
        size = min(MAX_COMMANDS, max(_FEWEST, 2 * done if done == size else done))
        for each in ahead[:done]:
            if each.what in (CHARGE, INTENT):
                step()
        ahead = ahead[done:]


class Books:
    """The movements of a month, kept in `path` and read from there as often as they are needed.

    `after` is the number of the last entry before the month. Memory holds a batch of rows at a time.
    """

    def __init__(self, path: Path, info: Sequence[StatementInfo], chances: Chances, gaps: Gaps, *, after: int) -> None:
        self._path = path
        self._info = info
        self._chances = chances
        self._gaps = gaps
        self._after = after
        self._last = after
        self.opening_minor = dict.fromkeys(ACCOUNTS, 0)
        self.closings: dict[str, date] = {}
        """Account → the last day that its statement tells of."""
        self.deciding: set[str] = set()
        """The entries that decide it: without the last row a statement might close earlier."""

    def keep(self, pages: Iterable[pa.Table], last_day: date) -> None:
        """Write the movements of the month that has ended on `last_day`, and see on which day each statement closes."""
        self._last = self.write(pages)
        for account in ACCOUNTS:
            days = {row.day for row in deque(self.reported(account), maxlen=1)}
            for known in deque(self.known(account), maxlen=1):
                days.add(known.rows[-1].day)
                self.deciding.add(known.entry)
            # The bank's statement declares its period.
            self.closings[account] = last_day if account == BANK.name else max(days, default=last_day)

    def write(self, pages: Iterable[pa.Table]) -> int:
        """Write the movements, again with those that were posted since; the number of the last entry."""
        last = self._after
        with pq.ParquetWriter(self._path, schema_of(LEDGER_MOVEMENT)) as file:
            for page in pages:
                is_new = pc.greater(page["number"], self._after)
                for row in page.filter(pc.invert(is_new)).select(["account", "balance_minor"]).to_pylist():
                    self.opening_minor[row["account"]] = row["balance_minor"]
                new = page.filter(is_new)
                if new.num_rows:
                    file.write_table(new)
                    last = max(last, pc.max(new["number"]).as_py())
        return last

    def known(self, account: str) -> Iterator[Known]:
        """What an account's statement tells of the ledger as it was when the month ended."""
        return known_from(self._movements(account), self._chances)

    def reported(self, account: str) -> Iterator[Row]:
        """What an operator tells and the ledger does not know."""
        return (statement_row(each, self._gaps) for each in self._info if each.operator == ACCOUNTS[account])

    def rows(self, account: str, planting: Planting) -> Iterator[Row]:
        """A statement's rows in time order, with what is planted in place of some."""
        known = (row for each in self.known(account) if each.entry not in planting.withheld for row in each.rows)
        return heapq.merge(known, self.reported(account), planting.rows[account], key=lambda row: row.at_ms)

    def _movements(self, account: str) -> Iterator[Mapping[str, Any]]:
        with pq.ParquetFile(self._path) as file:
            for batch in file.iter_batches(_BATCH):
                here = pc.and_(pc.equal(batch["account"], account), pc.less_equal(batch["number"], self._last))
                yield from batch.filter(here).to_pylist()


class Decoy(NamedTuple):
    """A row that only looks like a break."""

    statement: str
    line: int
    key: str | None
    why: str


@contextmanager
def _prepared(out: Path) -> Iterator[Path]:
    """An empty folder to write to; of a simulation that fails nothing is left in it.

    Raises SimulationRefused: it holds something, or cannot be written to.
    """
    statements = out / STATEMENTS
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise SimulationRefused(f"{out} is not empty; nothing in it is overwritten.", hint="Name a new folder.")
        statements.mkdir()
    except OSError as error:
        raise SimulationRefused(f"{out} cannot be written to: {error.strerror}.", hint="Name another folder.") from None
    try:
        yield out
    except BaseException:
        shutil.rmtree(statements, ignore_errors=True)
        for name in (LEDGER, ANSWERS):
            (out / name).unlink(missing_ok=True)
        raise


def _write(
    books: Books, planting: Planting, out: Path, period: tuple[date, date]
) -> tuple[dict[str, int], list[Decoy]]:
    """Write the statements and the answers; how many answers there are of each code, and the decoys."""
    counts: Counter[str] = Counter()
    decoys: list[Decoy] = []
    with (out / ANSWERS).open("w", encoding="utf-8", newline="") as handle:
        answers = csv.writer(handle, lineterminator="\n")
        answers.writerow(ANSWER)

        def answer(statement: str, line: int | None, key: str | None, code: str) -> None:
            answers.writerow([statement, line, key, code])
            counts[code] += 1

        for account, name in ACCOUNTS.items():
            for line, row in _written(books, planting, account, out / STATEMENTS / FILES[name], period):
                if row.code:
                    # What has no partner on the last day may still come: then it is a matter of time.
                    is_new = row.code == MISSING["statement"] and row.day >= books.closings[account]
                    answer(FILES[name], line, row.key, TIMING if is_new else row.code)
                if row.decoy:
                    decoys.append(Decoy(FILES[name], line, row.key, row.decoy))
            for key, code in planting.ledger_only[account]:
                answer(FILES[name], None, key, code)
    return dict(sorted(counts.items())), decoys


def _written(
    books: Books, planting: Planting, account: str, path: Path, period: tuple[date, date]
) -> Iterator[tuple[int, Row]]:
    """Write one account as its operator or bank tells it, row by row; each row with the line where it stands."""
    layout, balance_minor, preamble = LAYOUTS[ACCOUNTS[account]], books.opening_minor[account], None
    if layout.preamble:
        # The closing balance is known when all rows are.
        closing_minor = balance_minor + sum(row.effect_minor for row in books.rows(account, planting))
        preamble = Preamble(account, ZMW.code, *period, balance_minor, closing_minor)
    with statement_writer(path, layout, preamble=preamble) as writer:
        for row in books.rows(account, planting):
            balance_minor += row.effect_minor
            yield writer.write(row.record(balance_minor), cells=_cells(row, layout)), row


def _cells(row: Row, layout: Layout) -> dict[str, str]:
    """Cells by the columns of the layout, which may tell amounts and numbers in columns of a side."""
    made = dict(row.cells)
    if layout.direction_by == "columns" and "amount" in made:
        made["debit" if row.direction == OUT else "credit"] = made.pop("amount")
    if layout.direction_by == "parties" and "phone" in made:
        made["to" if row.direction == OUT else "from"] = layout.party.format(phone=made.pop("phone"))
    return made


class Simulation(Tabular):
    """What came of a simulation: `outcomes` of its payments, `breaks` by code, `decoys`, and its `folder`."""

    def __init__(self, plan: Plan, month: Month, *, payouts: int, seed: str | None) -> None:
        self.seed = seed
        self.payments = plan.payments
        self.days = plan.days
        self.first_day, self.last_day = day_of(plan.start_ms), day_of(plan.end_ms)
        self.outcomes = dict(sorted(month.outcomes.items(), key=lambda item: (-item[1], item[0])))
        self.refunds = month.refunds
        self.payouts = payouts
        self.folder: Path | None = None
        self.breaks: dict[str, int] = {}
        self.decoys: list[Decoy] = []

    def _tables(self) -> Iterator[Table]:
        period = f"{self.payments:,} payments from {self.first_day} to {self.last_day}"
        rows = [*self.outcomes.items(), ("refunds", self.refunds), ("payouts", self.payouts)]
        yield table(period, ("what became of them", _NUMBER), [(name, f"{number:,}") for name, number in rows])
        if self.folder is not None:
            words = f"Breaks in {self.folder.name}/{STATEMENTS}, all in {ANSWERS}"
            yield table(words, ("code", _NUMBER), [(code, f"{number:,}") for code, number in self.breaks.items()])


def simulate(  # noqa: PLR0913  each says another thing about the month
    session: Session,
    *,
    payments: int,
    days: int,
    seed: int | str | None = None,
    out: Path | str | None = None,
    breaks: Mapping[str, int] | None = None,
    traffic: Traffic | None = None,
    show_progress: bool = False,
) -> Simulation:
    """See `Workbench.simulate`."""
    _check_size(payments, days)
    if out is None and breaks is not None:
        raise SimulationRefused("Breaks are planted in statements: name their folder with `out`.")
    asked = kinds.checked(breaks, payments)
    gaps = _usable(session.control)
    with ExitStack() as closing:
        target = None if out is None else closing.enter_context(_prepared(Path(out)))
        start_ms = _at_midnight(session)
        # Without a seed, draws follow from the sandbox's own, of which its keys are made, and from the month.
        chances = Chances(f"{session.secret_key}/{start_ms}" if seed is None else str(seed))
        late = 0 if target is None else asked[LATE_SUCCESS]
        plan = Plan(chances, traffic or Traffic(), payments=payments, days=days, start_ms=start_ms, late=late)
        entries = 0 if target is None else verified(session.control).entries
        closing.enter_context(_quiet(session))
        month = Month(plan, prompt_ms=gaps.prompt_timeout_s * 1000)
        with shown(payments) if show_progress else nullcontext(lambda: None) as step:
            _drive(session, chances.token("simulation", start_ms), month, step)
        session.clock.advance(Decimal(plan.end_ms - session.clock.now_ms) / 1000)
        payouts = sum(each.created * 1000 >= start_ms for each in session.looking().payouts.each())
        made = Simulation(plan, month, payouts=payouts, seed=None if seed is None else str(seed))
        if target is not None:
            after = 0 if isinstance(entries, UnsetType) else entries
            books = Books(target / LEDGER, month.info, chances, gaps, after=after)
            numbers = {**asked, **{name: kind.by_default for name, kind in DECOYS.items()}}
            planting = Planting(numbers, chances, exactly=breaks is not None, first_key=payments)
            _tell(session, made, books, planting, target)
    return made


def _at_midnight(session: Session) -> int:
    """Move the clock to the last moment before the coming midnight in Lusaka, which is the answer.

    That midnight is the month's: what it clears and sweeps is told by its statements.
    """
    now_ms = session.clock.now_ms
    start_ms = day_start_ms(now_ms, days_on=1)
    session.clock.advance(Decimal(start_ms - 1 - now_ms) / 1000)
    return start_ms


def _check_size(payments: int, days: int) -> None:
    bounds = [("payments", payments, 0, MAX_PAYMENTS, "An operator's workbook holds no more.")]
    for name, given, least, most, hint in [*bounds, ("days", days, 1, MAX_DAYS, "")]:
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise SimulationRefused(f"{name} is a whole number from {least} to {most:,}, not {given!r}.", hint=hint)


def _usable(control: SandboxControl) -> Gaps:
    """The register of a sandbox with which a month can be simulated. Raises SimulationRefused: it cannot."""
    if control.clock().mode != "manual":
        raise SimulationRefused(
            "The clock of this sandbox runs in real time, so a month would take a month.",
            hint="Serve one with a manual clock: workbench serve --clock manual.",
        )
    in_force = control.in_force()
    for name, value in _NEEDED.items():
        if in_force[name] != value:
            raise SimulationRefused(
                f"With {name} at {in_force[name]!r} no traffic can be simulated; it needs {value!r}."
            )
    return Gaps.chosen({name: in_force[name] for name in ("operator_fee", "prompt_timeout_s")})


@contextmanager
def _quiet(session: Session) -> Iterator[None]:
    """No webhooks: what nobody handles would pile up. Endpoints hear of what comes after, and of what came before.

    Where the register has no event that never happens they are paused, and of what came before hear what was sent.
    """
    endpoints = session.acting.webhook_endpoints
    heard = {each.id: each.enabled_events for each in endpoints.each() if each.status == "enabled"}
    has_one = _NEVER in types_of(session.untraced.in_force()["event_types"])
    try:
        for each in heard:
            endpoints.update(each, **({"enabled_events": [_NEVER]} if has_one else {"status": "disabled"}))
        yield
    finally:
        for each, events in heard.items():
            endpoints.update(each, enabled_events=events, status=None if has_one else "enabled")


def _tell(session: Session, made: Simulation, books: Books, planting: Planting, target: Path) -> None:
    """Keep the ledger, plant, post what is planted there, and write what the operators tell."""
    planting.expect(LATE_SUCCESS, made.outcomes.get(LATE, 0))
    books.keep(Ledger(session.control).movements(), made.last_day)
    for account in ACCOUNTS:
        for known in books.known(account):
            if known.entry not in books.deciding:
                planting.consider(known, books.closings[account])
    unheard = (row for account in ACCOUNTS for row in books.reported(account) if row.status == COMPLETED)
    planting.choose(unheard, books.closings)
    for entry in planting.repeated:
        session.control.repeat(entry)
    for entry in planting.reversed:
        session.control.settle({"recipe": "reversed", "entry": entry})
    if planting.repeated or planting.reversed:
        books.write(Ledger(session.control).movements())
    made.folder = target
    made.breaks, made.decoys = _write(books, planting, target, (made.first_day, made.last_day))
