"""One simulation from its checks to its folder: the month driven through the service, and what is said of it."""

import heapq
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Final

from msgspec import UnsetType
from msgspec.structs import replace

from workbench.analysis.breaks import LATE_SUCCESS
from workbench.analysis.ledger import Ledger, verified
from workbench.analysis.shapes import COMPLETED
from workbench.analysis.simulate import folder, kinds
from workbench.analysis.simulate.folder import Books, Decoy
from workbench.analysis.simulate.kinds import DECOYS, Planting
from workbench.analysis.simulate.plan import CHARGE, INTENT, Chances, Payment, Plan, Traffic, day_of
from workbench.analysis.simulate.rows import ACCOUNTS, StatementInfo
from workbench.control import SandboxControl
from workbench.domain.gaps import Gaps
from workbench.domain.moments import DAY_MS, business_date, day_start_ms
from workbench.domain.scenarios import ACTS_AFTER_S, APPROVE, LATE, LATE_S, TIMEOUT, UNKNOWN
from workbench.domain.webhooks import types_of
from workbench.domain.wire.control import MAX_COMMANDS, SimulatedCommand
from workbench.errors import SimulationRefused
from workbench.render import Column, Table, Tabular, table
from workbench.session import Session

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
            words = f"Breaks in {self.folder.name}/{folder.STATEMENTS}, all in {folder.ANSWERS}"
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
        target = None if out is None else closing.enter_context(folder.prepared(Path(out)))
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
            books = Books(target / folder.LEDGER, month.info, chances, gaps, after=after)
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
    made.breaks, made.decoys = folder.write(books, planting, target, (made.first_day, made.last_day))
