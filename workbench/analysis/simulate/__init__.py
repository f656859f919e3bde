"""Drives a month of a merchant's payments through the service, and writes its ledger, statements and answers."""

import csv
import heapq
import itertools
import shutil
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import UnsetType
from msgspec.structs import replace

from workbench.analysis.break_codes import LATE_SUCCESS, MISSING, TIMING
from workbench.analysis.frames import schema_of
from workbench.analysis.ledger_tables import Ledger, verified
from workbench.analysis.shapes import ANSWER, COMPLETED, LEDGER_MOVEMENT
from workbench.analysis.simulate import kinds
from workbench.analysis.simulate.kinds import DECOYS, Planting
from workbench.analysis.simulate.plan import (
    CHARGE,
    INTENT,
    PAYOUTS_MS,
    PIN_AFTER_MS,
    UNREPORTED,
    Chances,
    Payment,
    Plan,
    Traffic,
    day_of,
)
from workbench.analysis.simulate.rows import ACCOUNTS, FILES, Known, Row, known_from, statement_row
from workbench.analysis.statements import LAYOUTS, Preamble, statement_writer
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK
from workbench.domain.moments import business_date, day_start_ms
from workbench.domain.money import ZMW
from workbench.domain.scenarios import ACTS_AFTER_S, APPROVE, LATE, LATE_S, TIMEOUT
from workbench.domain.webhooks import types_of
from workbench.domain.wire.sandbox_controls import MAX_COMMANDS, SimulatedCommand
from workbench.errors import SimulationRefused
from workbench.session import SandboxControl, Session
from workbench.text.render import Column, Table, Tabular, table

__all__ = ["MAX_DAYS", "MAX_PAYMENTS", "Simulation", "Traffic", "simulate"]

_BATCH: Final = 1_000
LEDGER: Final = "ledger.parquet"
STATEMENTS: Final = "statements"
ANSWERS: Final = "answers.csv"
_FEWEST: Final = 25
"""The least commands in a call; a call sends more if the one before did more."""
SUCCEEDED: Final = "succeeded"
OPEN: Final = "open"
"""The outcome of a payment that is unanswered at the end of the month."""
MAX_PAYMENTS: Final = 1_000_000
"""The most payments of a month: one of the statements is a workbook, which holds 1,048,576 rows."""
MAX_DAYS: Final = 366
_PAYMENTS, _DAYS = (0, MAX_PAYMENTS, "An operator's workbook holds no more."), (1, MAX_DAYS, "")
_NEEDED: Final[Mapping[str, object]] = {
    "charge_amount_unit": "minor",
    "charge_wait": "answered",
    "client_secret_on_confirm": "with_publishable_key",
    "failure_triggers": "numbers_header_script",
}
"""Rows of the register → the values that the traffic needs."""
_NUMBER: Final = Column("number", numeric=True)
_NEVER: Final = "webhook_endpoint.disabled"
"""An event that cannot happen while no webhook is sent."""
Happens = Callable[[], Iterable[SimulatedCommand] | None]
"""An event of the month, which returns the commands to send then."""


class Month:
    """The commands of a plan's month, in order of time, to be iterated once.

    `outcomes` counts the payments by outcome; at the end the counts add up to the plan's payments. `info` are the
    payments that operators report and the ledger does not know, with the moments at which they ended, in order of
    time. `prompt_ms` is the time that a prompt waits for its answer.
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
        self.info: list[Payment] = []

    def __iter__(self) -> Iterator[SimulatedCommand]:
        first_ms, every_ms = PAYOUTS_MS
        for at_ms in range(self._plan.start_ms + first_ms, self._plan.end_ms, every_ms):
            self._later(at_ms, lambda: [SimulatedCommand(self._now_ms, "payout")])
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
        """Queues an event; an event after the month's end is dropped."""
        if at_ms <= self._plan.end_ms:
            heapq.heappush(self._waiting, (at_ms, next(self._places), happen))

    def _pay(self, payment: Payment) -> Iterator[SimulatedCommand]:
        if payment.at_ms < self._rings_until_ms[payment.phone]:
            # A handset that shows a prompt would take the PIN for that prompt.
            payment = payment._replace(way=CHARGE)
        asked = self._command(payment, payment.way, payment.amount_minor)
        if payment.scenario != APPROVE:
            yield replace(asked, what="script", scenario=payment.scenario)
        yield asked
        if payment.way != CHARGE:
            yield replace(asked, what="confirm")
        self._follow(payment)
        if payment.refund_minor:
            refunded_ms = payment.at_ms + payment.refund_after_ms
            self.refunds += refunded_ms <= self._plan.end_ms
            # A full refund names no amount.
            part_minor = 0 if payment.refund_minor == payment.amount_minor else payment.refund_minor
            self._later(refunded_ms, lambda: [self._command(payment, "refund", part_minor)])

    def _command(self, payment: Payment, what: str, amount_minor: int = 0) -> SimulatedCommand:
        order = f"order-{business_date(self._plan.start_ms)}-{payment.number + 1}"
        return SimulatedCommand(self._now_ms, what, order, payment.phone, payment.operator, amount_minor)

    def _follow(self, payment: Payment) -> None:
        """Queues the payment's end; until then its handset shows a prompt, unless a charge ends within the call."""
        if payment.scenario in (LATE, TIMEOUT):
            rings_ms = self._prompt_ms
        elif payment.way == CHARGE:
            rings_ms = 0
        else:
            is_typed = payment.scenario == APPROVE
            pin_after_ms = self._plan.chances.between(PIN_AFTER_MS, "pin after", payment.number)
            rings_ms = pin_after_ms if is_typed else ACTS_AFTER_S * 1000
        until_ms = payment.at_ms + rings_ms
        self._rings_until_ms[payment.phone] = max(self._rings_until_ms[payment.phone], until_ms)
        self._later(until_ms, lambda: self._end(payment))
        if payment.scenario == LATE:
            self._later(until_ms + LATE_S * 1000, lambda: self.outcomes.update({TIMEOUT: -1, LATE: 1}))

    def _end(self, payment: Payment) -> Iterator[SimulatedCommand]:
        outcome = {APPROVE: SUCCEEDED, LATE: TIMEOUT}.get(payment.scenario, payment.scenario)
        self.outcomes[outcome] += 1
        if outcome == payment.scenario and outcome not in UNREPORTED:
            self.info.append(payment._replace(at_ms=self._now_ms))
        if payment.scenario == APPROVE and payment.way != CHARGE:
            yield self._command(payment, "pin")


def _drive(session: Session, name: str, month: Iterable[SimulatedCommand], payments: int) -> None:
    """Send a month's commands to the sandbox, in each call about as many as the calls before did.

    Standard error shows each tenth of `payments` that is done; 0 shows nothing.
    """
    commands, cursor, size, paid = iter(month), 0, _FEWEST, 0
    ahead: list[SimulatedCommand] = []
    while ahead := [*ahead, *itertools.islice(commands, max(0, size - len(ahead)))]:
        done = session.control.simulate(name, cursor, ahead[:size]).done
        cursor += done
        # The sandbox reads in vain the commands that it does not do.
        size = min(MAX_COMMANDS, max(_FEWEST, 2 * done if done == size else done))
        for _ in (command for command in ahead[:done] if payments and command.what in (CHARGE, INTENT)):
            paid += 1
            if paid * 10 // payments > (paid - 1) * 10 // payments:
                sys.stderr.write(f"{paid:,} of {payments:,} payments\n")
        ahead = ahead[done:]


@dataclass
class Books:
    """The movements of a month, kept in the file `path` and read again each time that they are needed.

    `after` is the number of the last entry before the month, `last` of the last entry in it. Memory holds a batch of
    rows at a time.
    """

    path: Path
    info: Sequence[Payment]
    chances: Chances
    gaps: Gaps
    after: int
    last: int = 0
    opening_minor: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACCOUNTS, 0))
    closings: dict[str, date] = field(default_factory=dict)
    """Account → the last day of its statement."""
    deciding: set[str] = field(default_factory=set)
    """The entries of the last rows, which decide the closing days: no break is planted on them."""

    def keep(self, pages: Iterable[pa.Table], last_day: date) -> None:
        """Write the movements of the month that ended on `last_day`, and set the closing day of each statement."""
        self.last = self.write(pages)
        for account in ACCOUNTS:
            days = {day_of(row.at_ms) for row in deque(self.reported(account), maxlen=1)}
            for known in deque(self.known(account), maxlen=1):
                days.add(day_of(known.rows[-1].at_ms))
                self.deciding.add(known.entry)
            # The bank's statement declares its period.
            self.closings[account] = last_day if account == BANK.name else max(days, default=last_day)

    def write(self, pages: Iterable[pa.Table]) -> int:
        """Replace the file by the month's movements, and return the number of the last entry.

        Movements up to the entry `after` are not written; they set the opening balances.
        """
        last = self.after
        with pq.ParquetWriter(self.path, schema_of(LEDGER_MOVEMENT)) as file:
            for page in pages:
                is_new = pc.greater(page["number"], self.after)
                for row in page.filter(pc.invert(is_new)).select(["account", "balance_minor"]).to_pylist():
                    self.opening_minor[row["account"]] = row["balance_minor"]
                new = page.filter(is_new)
                if new.num_rows:
                    file.write_table(new)
                    last = max(last, pc.max(new["number"]).as_py())
        return last

    def known(self, account: str) -> Iterator[Known]:
        """An account's movements as its statement has them, without entries posted after the month ended."""
        with pq.ParquetFile(self.path) as file:
            here = (
                batch.filter(pc.and_(pc.equal(batch["account"], account), pc.less_equal(batch["number"], self.last)))
                for batch in file.iter_batches(_BATCH)
            )
            yield from known_from((row for batch in here for row in batch.to_pylist()), self.chances)

    def reported(self, account: str) -> Iterator[Row]:
        """The rows that an account's operator reports and the ledger does not know."""
        return (statement_row(payment, self.gaps) for payment in self.info if payment.operator == ACCOUNTS[account])

    def rows(self, account: str, planting: Planting) -> Iterator[Row]:
        """A statement's rows in time order, with the planted rows in place of the withheld ones."""
        written = (known for known in self.known(account) if known.entry not in planting.withheld)
        known = (row for movement in written for row in movement.rows)
        return heapq.merge(known, self.reported(account), planting.rows[account], key=lambda row: row.at_ms)


class Decoy(NamedTuple):
    """A row that only looks like a break."""

    statement: str
    line: int
    key: str | None
    why: str


class Simulation(Tabular):
    """A simulated month: `outcomes` of its payments, `breaks` by code, `decoys`, and its `folder`."""

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


@contextmanager
def _prepared(out: Path) -> Iterator[Path]:
    """Yields an empty folder to write to; a simulation that fails leaves nothing in it.

    Raises SimulationRefused: the folder is not empty, or cannot be written to.
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


def _write(made: Simulation, books: Books, planting: Planting, out: Path) -> None:
    """Write the statements and the answers, and set `breaks` and `decoys` of the simulation."""
    answers: list[tuple[str, int | None, str | None, str]] = []
    for account, layout in ACCOUNTS.items():
        name = FILES[layout]
        for line, row in _written(made, books, planting, account, out / STATEMENTS / name):
            if row.code:
                # A row without a partner on the last day is a matter of time: the partner may still come.
                is_new = row.code == MISSING["statement"] and day_of(row.at_ms) >= books.closings[account]
                answers.append((name, line, row.key, TIMING if is_new else row.code))
            if row.decoy:
                made.decoys.append(Decoy(name, line, row.key, row.decoy))
        answers += [(name, None, key, code) for key, code in planting.ledger_only[account]]
    with (out / ANSWERS).open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, lineterminator="\n").writerows([ANSWER, *answers])
    made.breaks = dict(sorted(Counter(code for *_, code in answers).items()))


def _written(made: Simulation, books: Books, planting: Planting, account: str, path: Path) -> Iterator[tuple[int, Row]]:
    """Write the statement of an account row by row, and yield each row with its line."""
    layout, balance_minor, preamble = LAYOUTS[ACCOUNTS[account]], books.opening_minor[account], None
    if layout.preamble:
        # The closing balance is known when all rows are.
        closing_minor = balance_minor + sum(row.effect_minor for row in books.rows(account, planting))
        preamble = Preamble(account, ZMW.code, made.first_day, made.last_day, balance_minor, closing_minor)
    with statement_writer(path, layout, preamble=preamble) as writer:
        for row in books.rows(account, planting):
            balance_minor += row.effect_minor
            yield writer.write(row.record(balance_minor), cells=row.cells), row


def simulate(  # noqa: PLR0913  settings of the month
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
    for name, given, (least, most, hint) in (("payments", payments, _PAYMENTS), ("days", days, _DAYS)):
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise SimulationRefused(f"{name} is a whole number from {least} to {most:,}, not {given!r}.", hint=hint)
    if out is None and breaks is not None:
        raise SimulationRefused("Breaks are planted in statements: name their folder with `out`.")
    asked = kinds.checked(breaks, payments)
    gaps = _usable_gaps(session.control)
    with ExitStack() as closing:
        target = None if out is None else closing.enter_context(_prepared(Path(out)))
        # The clock moves to the last moment before midnight: the statements show what the month clears and sweeps.
        start_ms = day_start_ms(session.clock.now_ms, days_on=1)
        session.clock.advance(Decimal(start_ms - 1 - session.clock.now_ms) / 1000)
        # Without a seed, draws follow from the sandbox's seed, of which its keys are made, and from the month.
        chances = Chances(f"{session.secret_key}/{start_ms}" if seed is None else str(seed))
        late = 0 if target is None else asked[LATE_SUCCESS]
        plan = Plan(chances, traffic or Traffic(), payments=payments, days=days, start_ms=start_ms, late=late)
        entries = 0 if target is None else verified(session.control).entries
        closing.enter_context(_quiet(session))
        month = Month(plan, prompt_ms=gaps.prompt_timeout_s * 1000)
        _drive(session, chances.token("simulation", start_ms), month, payments if show_progress else 0)
        session.clock.advance(Decimal(plan.end_ms - session.clock.now_ms) / 1000)
        payouts = sum(payout.created * 1000 >= start_ms for payout in session.looking().payouts.each())
        made = Simulation(plan, month, payouts=payouts, seed=None if seed is None else str(seed))
        if target is not None:
            after = 0 if isinstance(entries, UnsetType) else entries
            books = Books(target / LEDGER, month.info, chances, gaps, after)
            numbers = {**asked, **{name: kind.by_default for name, kind in DECOYS.items()}}
            planting = Planting(numbers, chances, exactly=breaks is not None, first_key=payments)
            _fill(session, made, books, planting, target)
    return made


def _usable_gaps(control: SandboxControl) -> Gaps:
    """The register's defaults, with the sandbox's own `operator_fee` and `prompt_timeout_s`.

    Raises SimulationRefused: the sandbox's clock or a row of its register does not allow to simulate a month.
    """
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
    """Send no webhooks while the block runs: nobody handles them, and they would pile up.

    Endpoints listen to an event that never happens; if the register has no such event, they are paused.
    """
    endpoints = session.acting.webhook_endpoints
    heard = {endpoint.id: endpoint.enabled_events for endpoint in endpoints.each() if endpoint.status == "enabled"}
    has_one = _NEVER in types_of(session.untraced.in_force()["event_types"])
    try:
        for name in heard:
            endpoints.update(name, **({"enabled_events": [_NEVER]} if has_one else {"status": "disabled"}))
        yield
    finally:
        for name, events in heard.items():
            endpoints.update(name, enabled_events=events, status=None if has_one else "enabled")


def _fill(session: Session, made: Simulation, books: Books, planting: Planting, target: Path) -> None:
    """Keep the ledger, plant the breaks and decoys, post their entries, and write the statements and answers."""
    planting.expect(LATE_SUCCESS, made.outcomes.get(LATE, 0))
    books.keep(Ledger(session.control).movements(), made.last_day)
    for account in ACCOUNTS:
        for known in books.known(account):
            if known.entry not in books.deciding:
                planting.consider(known, books.closings[account])
    unheard = (row for account in ACCOUNTS for row in books.reported(account) if row.status == COMPLETED)
    planting.choose(unheard, books.closings)
    for how, entry in planting.posts:
        if how == "repeated":
            session.control.repeat(entry)
        else:
            session.control.settle({"recipe": how, "entry": entry})
    if planting.posts:
        books.write(Ledger(session.control).movements())
    made.folder = target
    _write(made, books, planting, target)
