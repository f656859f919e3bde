"""One simulation from its checks to its folder, and what is told of it."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from msgspec import UnsetType

from workbench.analysis.breaks import LATE_SUCCESS
from workbench.analysis.ledger import Ledger, verified
from workbench.analysis.shapes import COMPLETED
from workbench.analysis.simulate import folder, progress, wanted
from workbench.analysis.simulate.books import Books
from workbench.analysis.simulate.chances import Chances
from workbench.analysis.simulate.decoys import DECOYS
from workbench.analysis.simulate.folder import Decoy
from workbench.analysis.simulate.month import Month
from workbench.analysis.simulate.notes import Notes
from workbench.analysis.simulate.plan import Plan
from workbench.analysis.simulate.planting import Planting
from workbench.analysis.simulate.rows import ACCOUNTS
from workbench.analysis.simulate.traffic import Traffic
from workbench.control import SandboxControl
from workbench.domain.gaps import Gaps
from workbench.domain.moments import LUSAKA, day_start_ms, moment
from workbench.domain.scenarios import LATE
from workbench.errors import SimulationRefused
from workbench.render import Column, bundle, table
from workbench.session import Session

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


class Simulation:
    """What came of a simulation: `outcomes` of its payments, `breaks` by code, `decoys`, and its `folder`."""

    def __init__(self, plan: Plan, month: Month, *, seed: str | None) -> None:
        self.seed = seed
        self.payments = plan.payments
        self.days = plan.days
        self.first_day, self.last_day = _day(plan.start_ms), _day(plan.end_ms)
        self.outcomes = dict(sorted(month.outcomes.items(), key=lambda item: (-item[1], item[0])))
        self.refunds = month.refunds
        self.payouts = month.payouts
        self.folder: Path | None = None
        self.breaks: dict[str, int] = {}
        self.decoys: list[Decoy] = []

    def __repr__(self) -> str:
        return "\n\n".join(str(each) for each in self._tables())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), "".join(each.html() for each in self._tables()))

    def _tables(self) -> Iterator[Any]:
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
        raise SimulationRefused("Breaks are planted in statements: say with `out` where those go.")
    asked = wanted.by_default() if breaks is None else wanted.checked(breaks, payments)
    gaps = _usable(session.control)
    with ExitStack() as closing:
        target = None if out is None else closing.enter_context(folder.prepared(Path(out)))
        start_ms = _at_midnight(session)
        chances = Chances(_seed_of(session, seed, start_ms))
        late = 0 if target is None else asked[LATE_SUCCESS]
        plan = Plan(chances, traffic or Traffic(), payments=payments, days=days, start_ms=start_ms, late=late)
        after = _entries(session.control)
        notes = closing.enter_context(Notes())
        closing.enter_context(_quiet(session))
        month = Month(session, plan, prompt_ms=gaps.prompt_timeout_s * 1000, notes=notes)
        with progress.shown(payments) if show_progress else nullcontext(progress.silent) as step:
            month.run(step)
        made = Simulation(plan, month, seed=None if seed is None else str(seed))
        if target is not None:
            books = Books(target / folder.LEDGER, notes, chances, gaps, after=after)
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


def _entries(control: SandboxControl) -> int:
    """How many entries the ledger has. Raises LedgerRefused: it does not verify."""
    entries = verified(control).entries
    return 0 if isinstance(entries, UnsetType) else entries


def _check_size(payments: int, days: int) -> None:
    for name, given, most in (("payments", payments, MAX_PAYMENTS), ("days", days, MAX_DAYS)):
        least = 0 if name == "payments" else 1
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            hint = "An operator's workbook holds no more." if name == "payments" else ""
            raise SimulationRefused(f"{name} is a whole number from {least} to {most:,}, not {given!r}.", hint=hint)


def _usable(control: SandboxControl) -> Gaps:
    """The register of a sandbox with which a month can be simulated. Raises SimulationRefused: it cannot."""
    if control.clock().mode != "manual":
        raise SimulationRefused(
            "The clock of this sandbox runs by itself, and a month of it takes a month.",
            hint="Serve one whose clock is moved: workbench serve --clock manual.",
        )
    in_force = control.in_force()
    for name, value in _NEEDED.items():
        if in_force[name] != value:
            raise SimulationRefused(
                f"With {name} at {in_force[name]!r} no traffic can be simulated; it needs {value!r}."
            )
    return Gaps.chosen({name: in_force[name] for name in ("operator_fee", "prompt_timeout_s")})


def _seed_of(session: Session, seed: int | str | None, start_ms: int) -> str:
    """Without one, draws follow from the sandbox's own seed, of which its keys are made, and from the month."""
    return f"{session.secret_key}/{start_ms}" if seed is None else str(seed)


@contextmanager
def _quiet(session: Session) -> Iterator[None]:
    """No webhooks: what nobody handles would pile up. Endpoints hear of what comes after, and of what came before."""
    endpoints = session.client.webhook_endpoints
    heard = {each.id: each.enabled_events for each in endpoints.each() if each.status == "enabled"}
    try:
        for each in heard:
            endpoints.update(each, enabled_events=[_NEVER])
        yield
    finally:
        for each, events in heard.items():
            endpoints.update(each, enabled_events=events)


def _tell(
    session: Session,
    made: Simulation,
    books: Books,
    planting: Planting,
    target: Path,
) -> None:
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
        books.keep_again(Ledger(session.control).movements())
    made.folder = target
    made.breaks, made.decoys = folder.write(books, planting, target, (made.first_day, made.last_day))


def _day(at_ms: int) -> date:
    return moment(at_ms).astimezone(LUSAKA).date()
