"""Simulates a month of a merchant's payments: the ledger, statements with planted breaks, and the codes to find."""

import csv
import difflib
import heapq
import shutil
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import UnsetType

from workbench.analysis import break_codes as codes
from workbench.analysis.frames import schema_of
from workbench.analysis.shapes import ANSWER, COMPLETED, LEDGER_MOVEMENT
from workbench.analysis.simulate.month import ACCOUNTS, Chances, Known, Month, Plan, StatementRow, Traffic, lusaka_day
from workbench.analysis.statements import LAYOUTS, Preamble, statement_writer
from workbench.analysis.tables import Ledger, verified
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK, CREDITED, OUT
from workbench.domain.moments import DAY_MS, LUSAKA, day_start_ms, milliseconds
from workbench.domain.money import ZMW
from workbench.domain.scenarios import LATE
from workbench.errors import SimulationRefused
from workbench.session import SandboxControl, Session
from workbench.text.render import DisplayColumn, DisplayTable, Tabular, table

__all__ = ["MAX_DAYS", "MAX_PAYMENTS", "Simulation", "Traffic", "simulate"]

_BATCH: Final = 1_000
LEDGER: Final = "ledger.parquet"
STATEMENTS: Final = "statements"
ANSWERS: Final = "answers.csv"
MAX_PAYMENTS: Final = 1_000_000
"""The most payments of a month: one statement is a workbook, whose sheet holds 1,048,576 rows."""
MAX_DAYS: Final = 366
_NEEDED: Final[Mapping[str, object]] = {
    "charge_amount_unit": "minor",
    "charge_wait": "answered",
    "client_secret_on_confirm": "with_publishable_key",
    "failure_triggers": "numbers_header_script",
}
"""Row of the register of gaps → the value that the simulated traffic needs."""
_SECOND_MS: Final = 1_000
_MINUTE_MS: Final = 60_000
_TOLERATED_DAYS: Final = 1
"""The difference of two dates, in days, that `reconcile` accepts by default."""
_LATE_HOURS_MS: Final = 3 * 3_600_000
_THOUSAND_MINOR: Final = 100_000
ALL: Final = "all"
_BAD_CELLS: Final[tuple[Mapping[str, str], ...]] = ({"key": ""}, {"moment": "00-00-0000"}, {"amount": "1O5.0O"})
"""Cells that make a row invalid: no key, a date that does not exist, letters in an amount."""
_SPARE: Final = 16

Fits = Callable[[Known, date], bool]
"""Says if a break or decoy can be planted on a movement; the date is the closing date of the movement's statement."""


class PlantInputs(NamedTuple):
    """The inputs of a Plant: `mark` has the fields that mark a planted row, `end_ms` is the statement's last moment."""

    known: Known
    mark: Mapping[str, Any]
    chances: Chances
    new_key: Callable[[StatementRow], str]
    end_ms: int

    def between(self, low: int, high: int, why: str, row: StatementRow) -> int:
        """A random number from `low` to `high`, both included; it depends only on the row and on the purpose `why`."""
        return self.chances.between((low, high), "plant", why, row.natural_key)

    def later(self, row: StatementRow, low_ms: int, high_ms: int, why: str) -> StatementRow:
        """The row, later by `low_ms` to `high_ms` but not after `end_ms`; only the row and `why` decide the delay."""
        return row._replace(at_ms=min(self.end_ms, row.at_ms + self.between(low_ms, high_ms, why, row)))

    def marked(self, row: StatementRow, **changes: Any) -> StatementRow:  # noqa: ANN401  fields of a row
        """The row with the new values `changes`, marked with its break's code, or with the reason why it is a decoy."""
        return row._replace(**self.mark, **changes)

    def reversal_of(self, row: StatementRow, **changes: Any) -> StatementRow:  # noqa: ANN401  fields of a row
        """A marked row that returns the row's amount without a fee, under a new key, with the new values `changes`."""
        back = row._replace(direction=OUT, fee_minor=0, type="reversal", description="Reversal", related=row.key)
        return self.marked(back, key=self.new_key(row), **changes)


Plant = Callable[[StatementRow, PlantInputs], tuple[StatementRow, ...]]
"""A function from the first statement row of a movement to the rows that replace all rows of the movement."""


class Kind(NamedTuple):
    """A kind of break or decoy: `plant` changes a movement's rows, `fits` is true if `plant` may change a movement.

    `entry_kinds` has the kinds of ledger entries that qualify. `is_alone`: the planted row must not get a partner, so
    no other row may have the same account, direction, amount and phone. `lacks_line`: the statement has no line for the
    ledger's row. `posts` is what the ledger posts in addition: `repeated`, `reversed` or empty. `says` describes a
    decoy. `by_default` is the number to plant if `breaks` is None.
    """

    plant: Plant
    fits: Fits = lambda known, closing: True  # noqa: ARG005  any movement
    by_default: int = 2
    entry_kinds: Collection[str] = ("funds_secured",)
    says: str = ""
    is_alone: bool = False
    lacks_line: bool = False
    posts: str = ""


def _is_new(known: Known, closing: date) -> bool:
    return known.day == closing


def _is_old(known: Known, closing: date) -> bool:
    # Also where it comes a quarter of an hour later.
    return known.day < closing and lusaka_day(known.rows[0].at_ms + 15 * _MINUTE_MS) < closing


def _is_late_evening(known: Known, closing: date) -> bool:
    at_ms = known.rows[0].at_ms
    return known.day < closing and day_start_ms(at_ms, days_on=1) - at_ms <= _LATE_HOURS_MS


def _is_of_thousands(known: Known, _: date) -> bool:
    first = known.rows[0]
    return first.amount_minor >= _THOUSAND_MINOR and bool(LAYOUTS[ACCOUNTS[first.account]].thousands)


def _changed(change: Callable[[StatementRow, PlantInputs], Mapping[str, Any]]) -> Plant:
    """Makes a Plant that marks the statement's row and replaces the fields that `change` returns."""
    return lambda row, inputs: (inputs.marked(row, **change(row, inputs)),)


def _other_amount(row: StatementRow, inputs: PlantInputs) -> Mapping[str, Any]:
    """Changes the amount by up to a tenth, and by at least a ngwee."""
    off = inputs.between(1, max(2, row.amount_minor // 10), "off", row)
    more = row.amount_minor - off <= row.fee_minor or inputs.between(0, 1, "more", row)
    return {"amount_minor": row.amount_minor + (off if more else -off)}


def _other_date(row: StatementRow, inputs: PlantInputs) -> Mapping[str, Any]:
    """Changes the moment to two to four days later, but within the period."""
    days = inputs.between(_TOLERATED_DAYS + 1, _TOLERATED_DAYS + 3, "days", row)
    last_ms = inputs.end_ms - (inputs.end_ms - row.at_ms) % DAY_MS
    return {"at_ms": min(row.at_ms + days * DAY_MS, last_ms)}


def _next_morning(row: StatementRow, inputs: PlantInputs) -> Mapping[str, Any]:
    after_ms = inputs.between(_MINUTE_MS, 120 * _MINUTE_MS, "next morning", row)
    return {"at_ms": min(inputs.end_ms, day_start_ms(row.at_ms, days_on=1) + after_ms)}


def _with_thousands(row: StatementRow, _: PlantInputs) -> Mapping[str, Any]:
    layout, (whole, part) = LAYOUTS[ACCOUNTS[row.account]], divmod(row.amount_minor, 100)
    return {"cells": {"amount": f"{whole:,}".replace(",", layout.thousands) + f"{layout.decimal}{part:02}"}}


def _ambiguous(row: StatementRow, inputs: PlantInputs) -> tuple[StatementRow, ...]:
    """Two rows with new keys; either may be the partner of the ledger's one movement."""
    both = (row, inputs.later(row, 30 * _SECOND_MS, 5 * _MINUTE_MS, "second"))
    return tuple(inputs.marked(planted, key=inputs.new_key(planted)) for planted in both)


def _unheard(row: StatementRow, inputs: PlantInputs) -> tuple[StatementRow, ...]:
    """The row, and a second payment of the same customer, with another amount, that the ledger does not have."""
    other = inputs.later(row, _MINUTE_MS, 10 * _MINUTE_MS, "unheard")
    amount_minor = row.amount_minor + inputs.between(101, 9_999, "unheard", row)
    return row, inputs.marked(other, key=inputs.new_key(other), amount_minor=amount_minor)


def _part_differs(_: StatementRow, inputs: PlantInputs) -> tuple[StatementRow, ...]:
    """The rows of a movement; the last has a wrong amount, and the first is marked as the break."""
    last = inputs.known.rows[-1]
    first, *others = *inputs.known.rows[:-1], last._replace(**_other_amount(last, inputs))
    return inputs.marked(first), *others


def _invalid(row: StatementRow, inputs: PlantInputs) -> tuple[StatementRow, ...]:
    cells = _BAD_CELLS[inputs.between(0, len(_BAD_CELLS) - 1, "bad", row)]
    bad = inputs.later(row, _MINUTE_MS, 10 * _MINUTE_MS, "invalid")
    return row, inputs.marked(bad, key=None if "key" in cells else inputs.new_key(bad), cells=cells)


def _both_reverse(row: StatementRow, inputs: PlantInputs) -> tuple[StatementRow, ...]:
    """The row and its reversal, which returns the amount less the fee and has the payment's key as its batch."""
    at_ms = max(row.at_ms, inputs.end_ms - inputs.between(1, DAY_MS // 2, "back", row))
    return row, inputs.reversal_of(row, at_ms=at_ms, amount_minor=row.amount_minor - row.fee_minor, batch=row.key)


def _left_out(fits: Fits, by_default: int = 2, kind: str = "funds_secured") -> Kind:
    return Kind(lambda *_: (), fits, by_default, (kind,), is_alone=True, lacks_line=True)


BREAKS: Final[Mapping[str, Kind]] = {
    codes.TIMING: _left_out(_is_new),
    codes.PAYOUT_UNPAID: _left_out(lambda known, closing: known.day < closing, 1, "payout_paid"),
    codes.BATCH_MISMATCH: Kind(_part_differs, lambda known, _: known.in_parts, 1, ("payout_paid", CREDITED)),
    "date_mismatch": Kind(
        _changed(_other_date), lambda known, closing: known.day + timedelta(days=_TOLERATED_DAYS + 1) <= closing
    ),
    codes.MISSING["ledger"]: _left_out(_is_old),
    codes.MISSING["statement"]: Kind(_unheard, _is_old, is_alone=True),
    codes.INVALID: Kind(_invalid),
    codes.DUPLICATE["statement"]: Kind(
        lambda row, inputs: (row, inputs.marked(inputs.later(row, _SECOND_MS, 30 * _SECOND_MS, "again")))
    ),
    codes.DUPLICATE["ledger"]: Kind(lambda row, _: (row,), lacks_line=True, posts="repeated"),
    codes.AMBIGUOUS: Kind(_ambiguous, by_default=1, is_alone=True, lacks_line=True),
    "currency_mismatch": Kind(_changed(lambda *_: {"currency": "USD"})),
    "status_mismatch": Kind(
        _changed(lambda row, inputs: {"status": ("failed", "pending")[inputs.between(0, 1, "status", row)]})
    ),
    "direction_mismatch": Kind(_changed(lambda *_: {"direction": OUT}), by_default=1),
    "amount_mismatch": Kind(_changed(_other_amount)),
    "fee_mismatch": Kind(
        _changed(lambda row, inputs: {"fee_minor": row.fee_minor + inputs.between(1, 50, "fee", row)})
    ),
    codes.WRONG_REFERENCE: Kind(_changed(lambda row, inputs: {"key": inputs.new_key(row)}), is_alone=True),
    codes.REVERSED_UNMATCHED: Kind(
        lambda row, inputs: (row, inputs.reversal_of(inputs.later(row, 5 * _MINUTE_MS, 600 * _MINUTE_MS, "back"))),
        is_alone=True,
    ),
}
"""Break code → how the break is planted. Codes for which the fewest movements qualify come first."""
PLANTABLE: Final = (*BREAKS, codes.LATE_SUCCESS)
"""The codes that can be planted; the last is produced by the payments themselves, the others in the statements."""
DECOYS: Final[Mapping[str, Kind]] = {
    # What was paid earlier has been swept to the bank, and the operator has nothing left to give back.
    "reversed_on_both": Kind(_both_reverse, _is_new, says="a reversal that both sides know", posts="reversed"),
    "next_morning": Kind(
        _changed(_next_morning), _is_late_evening, says="dated the next morning, within the tolerance"
    ),
    "thousands": Kind(_changed(_with_thousands), _is_of_thousands, says="separators of thousands in the amount"),
    "spaces": Kind(_changed(lambda row, _: {"cells": {"key": f"  {row.key} "}}), says="spaces around the key"),
    "national": Kind(_changed(lambda row, _: {"phone": f"0{str(row.phone)[4:]}"}), says="the number in national form"),
    "other_word": Kind(_changed(lambda *_: {"cells": {"status": "Completed"}}), says="another word for completed"),
}
"""Name → how the decoy is planted; two of each kind, if enough movements qualify.

The traffic brings further decoys: two payments of one customer and amount within a minute under two correct keys;
failed attempts that were paid later; a repeated payment whose first attempt the ledger does not know; fees of zero;
several sweeps of one night that the bank credits in one sum; and a payout that the bank sends in parts.
"""
KINDS: Final[Mapping[str, Kind]] = {**BREAKS, **DECOYS}


def numbers_to_plant(breaks: Mapping[str, int] | None) -> dict[str, int]:
    """Kind of break → the number to plant. None plants some of every kind; the key `all` stands for all other kinds.

    Raises SimulationRefused: there is no such kind, or its number is not a whole number from 0.
    """
    if breaks is None:
        return {**{name: kind.by_default for name, kind in BREAKS.items()}, codes.LATE_SUCCESS: 1}
    for name, number in breaks.items():
        if name not in (*PLANTABLE, ALL):
            near = difflib.get_close_matches(str(name), PLANTABLE, n=1)
            text = f"{name!r} is not a kind of break; the kinds are {', '.join(PLANTABLE)}, and {ALL} for each of them."
            raise SimulationRefused(text, hint=f"Did you mean {near[0]}?" if near else "", kinds=PLANTABLE)
        if type(number) is not int or number < 0:
            raise SimulationRefused(f"The number of {name} is a whole number from 0, not {number!r}.", kind=name)
    return {name: breaks.get(name, breaks.get(ALL, 0)) for name in PLANTABLE}


class Books:
    """The ledger's movements of a month, stored in the Parquet file `path` and read again for each use.

    `after` is the number of the last ledger entry before the month. Memory holds one batch of rows at a time.
    """

    def __init__(self, path: Path, month: Month, after: int) -> None:
        self._path, self.month, self._after = path, month, after
        self._last = after
        """The number of the month's last ledger entry; entries that planting posts come after it."""
        self.opening_minor = dict.fromkeys(ACCOUNTS, 0)
        self.closings: dict[str, date] = {}
        """Account → the last day of its statement."""
        self.deciding: set[str] = set()
        """The entries of the statements' last rows, which decide the closing days: no break is planted on them."""

    def keep(self, pages: Iterable[pa.Table], last_day: date) -> None:
        """Stores the movements of the month that ended on `last_day`, and sets the closing day of each statement."""
        self._last = self.write(pages)
        for account in ACCOUNTS:
            days = {lusaka_day(row.at_ms) for row in deque(self.month.reported(account), maxlen=1)}
            for known in deque(self.known(account), maxlen=1):
                days.add(lusaka_day(known.rows[-1].at_ms))
                self.deciding.add(known.entry)
            # The bank's statement declares its period.
            self.closings[account] = last_day if account == BANK.name else max(days, default=last_day)

    def write(self, pages: Iterable[pa.Table]) -> int:
        """Replaces the file with the month's movements out of `pages`, and returns the number of the last entry.

        Movements before the month are not stored; they set the opening balances.
        """
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
        """Yields an account's movements up to the month's last entry, each with its rows on the statement."""
        with pq.ParquetFile(self._path) as file:
            batches = (
                batch.filter(pc.and_(pc.equal(batch["account"], account), pc.less_equal(batch["number"], self._last)))
                for batch in file.iter_batches(_BATCH)
            )
            yield from self.month.known(row for batch in batches for row in batch.to_pylist())


class Planting:
    """Chooses movements of the month at random, and plants breaks and decoys on them.

    `wanted` is kind → number to plant. With `exactly`, `choose` refuses kinds of break for which too few fit.
    """

    def __init__(self, books: Books, wanted: Mapping[str, int], *, exactly: bool) -> None:
        self._books = books
        self._chances, self._keys = books.month.plan.chances, books.month.plan.payments
        self._wanted, self._exactly = wanted, exactly
        self._looks: set[tuple[str, str, int, str | None]] = set()
        self._withheld: set[str] = set()
        """The entries whose own statement rows are not written."""
        self._planted: list[StatementRow] = []
        self.ledger_only: list[tuple[str, str | None, str]] = []
        """Account, key and code of each break that has no line on the statement."""
        self.posts: list[tuple[str, str]] = []
        """Pairs of `repeated` or `reversed`, and the entry that the ledger repeats or reverses."""

    def choose(self) -> None:
        """Plants the wanted number of each kind.

        Leaves out movements with the account, direction, amount and phone of a row that only the statement has.
        Raises SimulationRefused: with `exactly`, too few movements qualify for a kind of break.
        """
        month, wanted = self._books.month, {name: self._wanted[name] for name in KINDS if self._wanted.get(name)}
        self._expect(codes.LATE_SUCCESS, month.outcomes.get(LATE, 0))
        candidates = self._candidates(wanted, 2 * sum(wanted.values()) + _SPARE)
        looks = {known.rows[0].looks for best in candidates.values() for known in best}
        unheard = (row for account in ACCOUNTS for row in month.reported(account) if row.status == COMPLETED)
        self._looks |= {row.looks for row in unheard if row.looks in looks}
        for name, number in wanted.items():
            planted = islice((known for known in candidates[name] if self._plant(name, known)), number)
            chosen = sum(1 for _ in planted)
            if name in BREAKS:
                self._expect(name, chosen)
        self._planted.sort(key=lambda row: row.at_ms)

    def _expect(self, name: str, room: int) -> None:
        """Raises SimulationRefused: with `exactly`, only `room` breaks of the kind `name` fit, fewer than wanted."""
        wanted = self._wanted.get(name, 0)
        if self._exactly and room < wanted:
            text = f"{wanted} of {name} were asked for, and the month has room for {room}."
            raise SimulationRefused(text, hint="Ask for fewer, or for more payments or days.", kind=name, room=room)

    def _candidates(self, kinds: Iterable[str], room: int) -> dict[str, list[Known]]:
        """Kind → at most `room` movements that qualify for it, chosen at random and in random order."""
        best: dict[str, list[tuple[int, str, Known]]] = {name: [] for name in kinds}
        for account, closing in self._books.closings.items():
            for known in self._books.known(account):
                for name, heap in best.items() if known.entry not in self._books.deciding else ():
                    if known.kind in KINDS[name].entry_kinds and KINDS[name].fits(known, closing):
                        rank = -self._chances.rank("plant", name, known.rows[0].natural_key)
                        heapq.heappush(heap, (rank, known.entry, known))
                        if len(heap) > room:
                            heapq.heappop(heap)
        return {name: [known for *_, known in sorted(heap, reverse=True)] for name, heap in best.items()}

    def _plant(self, name: str, known: Known) -> bool:
        kind, first = KINDS[name], known.rows[0]
        if known.entry in self._withheld or first.looks in self._looks:
            return False
        end_ms = milliseconds(datetime.combine(self._books.closings[first.account], time.max, LUSAKA))
        mark = {"decoy": kind.says} if kind.says else {"code": name}
        rows = kind.plant(first, PlantInputs(known, mark, self._chances, self._new_key, end_ms))
        looks = {row.looks for row in (first, *rows) if kind.is_alone}
        if looks & self._looks:
            return False
        self._looks |= looks
        self._withheld.add(known.entry)
        self._planted += rows
        if kind.lacks_line:
            self.ledger_only.append((first.account, first.batch or first.key, name))
        if kind.posts:
            self.posts.append((kind.posts, known.entry))
        return True

    def _new_key(self, row: StatementRow) -> str:
        self._keys += 1
        return row.own_key(self._keys)

    def rows(self, account: str) -> Iterator[StatementRow]:
        """A statement's rows in time order, with the planted rows in place of the withheld ones."""
        written = (known for known in self._books.known(account) if known.entry not in self._withheld)
        known = (row for movement in written for row in movement.rows)
        planted = (row for row in self._planted if row.account == account)
        return heapq.merge(known, self._books.month.reported(account), planted, key=lambda row: row.at_ms)


class Decoy(NamedTuple):
    """A statement row that looks like a break but is none: its file, line and key, and why it is no break."""

    statement: str
    line: int
    key: str | None
    why: str


class Simulation(Tabular):
    """A simulated month: payments by outcome, planted breaks by code, decoys, and the `folder` with the files."""

    def __init__(self, month: Month, payouts: int) -> None:
        plan = month.plan
        self.payments, self.days = plan.payments, plan.days
        self.first_day, self.last_day = lusaka_day(plan.start_ms), lusaka_day(plan.end_ms)
        self.outcomes = dict(sorted(month.outcomes.items(), key=lambda item: (-item[1], item[0])))
        self.refunds, self.payouts = month.refunds, payouts
        self.folder: Path | None = None
        self.breaks: dict[str, int] = {}
        self.decoys: list[Decoy] = []

    def _tables(self) -> Iterator[DisplayTable]:
        period = f"{self.payments:,} payments from {self.first_day} to {self.last_day}"
        counts = {**self.outcomes, "refunds": self.refunds, "payouts": self.payouts}
        yield _counted(period, "what became of them", counts)
        if self.folder is not None:
            yield _counted(f"Breaks in {self.folder.name}/{STATEMENTS}, all in {ANSWERS}", "code", self.breaks)


def _counted(caption: str, heading: str, counts: Mapping[str, int]) -> DisplayTable:
    columns = (heading, DisplayColumn("number", numeric=True))
    return table(caption, columns, [(name, f"{number:,}") for name, number in counts.items()])


@contextmanager
def _prepared(out: Path) -> Iterator[Path]:
    """Yields an empty folder to write to; if the simulation fails, the folder is left empty.

    Raises SimulationRefused: the folder is not empty, or cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise SimulationRefused(f"{out} is not empty; nothing in it is overwritten.", hint="Name a new folder.")
        (out / STATEMENTS).mkdir()
    except OSError as error:
        raise SimulationRefused(f"{out} cannot be written to: {error.strerror}.", hint="Name another folder.") from None
    try:
        yield out
    except BaseException:
        shutil.rmtree(out / STATEMENTS, ignore_errors=True)
        for name in (LEDGER, ANSWERS):
            (out / name).unlink(missing_ok=True)
        raise


def _fill(session: Session, simulation: Simulation, planting: Planting, books: Books, out: Path) -> None:
    """Plants breaks and decoys, posts their entries, and writes ledger, statements and answers to the folder `out`.

    Sets the folder, the breaks and the decoys of `simulation`.
    """
    books.keep(Ledger(session.control).movements(), simulation.last_day)
    planting.choose()
    for how, entry in planting.posts:
        if how == "repeated":
            session.control.repeat(entry)
        else:
            session.control.settle({"recipe": how, "entry": entry})
    if planting.posts:
        books.write(Ledger(session.control).movements())
    answers: list[tuple[str, int | None, str | None, str]] = []
    for account, kind in ACCOUNTS.items():
        # One operator sends a workbook.
        name, layout = f"{kind}.{'xlsx' if kind == 'airtel' else 'csv'}", LAYOUTS[kind]
        balance_minor, preamble = books.opening_minor[account], None
        if layout.preamble:
            # The closing balance is known when all rows are.
            closing_minor = balance_minor + sum(row.effect_minor for row in planting.rows(account))
            period = simulation.first_day, simulation.last_day
            preamble = Preamble(account, ZMW.code, *period, balance_minor, closing_minor)
        with statement_writer(out / STATEMENTS / name, layout, preamble=preamble) as writer:
            for row in planting.rows(account):
                balance_minor += row.effect_minor
                line = writer.write(row.record(balance_minor), cells=row.cells)
                if row.code:
                    # A row without a partner on the last day is a matter of time: the partner may still come.
                    is_new = row.code == codes.MISSING["statement"] and lusaka_day(row.at_ms) >= books.closings[account]
                    answers.append((name, line, row.key, codes.TIMING if is_new else row.code))
                if row.decoy:
                    simulation.decoys.append(Decoy(name, line, row.key, row.decoy))
        answers += [(name, None, key, code) for on_account, key, code in planting.ledger_only if on_account == account]
    with (out / ANSWERS).open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, lineterminator="\n").writerows([ANSWER, *answers])
    simulation.folder, simulation.breaks = out, dict(sorted(Counter(code for *_, code in answers).items()))


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
    """Simulate a month, with the arguments and errors of `Workbench.simulate`."""
    for name, value, least, most, hint in (
        ("payments", payments, 0, MAX_PAYMENTS, "An operator's workbook holds no more."),
        ("days", days, 1, MAX_DAYS, ""),
    ):
        if type(value) is not int or not least <= value <= most:
            raise SimulationRefused(f"{name} is a whole number from {least} to {most:,}, not {value!r}.", hint=hint)
    if out is None and breaks is not None:
        raise SimulationRefused("Breaks are planted in statements: name their folder with `out`.")
    to_plant, gaps = numbers_to_plant(breaks), _usable_gaps(session.control)
    with ExitStack() as closing:
        target = None if out is None else closing.enter_context(_prepared(Path(out)))
        # The clock moves to the last moment before midnight: the statements show what the month clears and sweeps.
        start_ms = day_start_ms(session.clock.now_ms, days_on=1)
        session.clock.advance(Decimal(start_ms - 1 - session.clock.now_ms) / 1000)
        # Without a seed, draws follow from the sandbox's seed, of which its keys are made, and from the month.
        chances = Chances(f"{session.secret_key}/{start_ms}" if seed is None else str(seed))
        late = 0 if target is None else to_plant[codes.LATE_SUCCESS]
        plan = Plan(chances, traffic or Traffic(), payments=payments, days=days, start_ms=start_ms, late=late)
        entries = 0 if target is None else verified(session.control).entries
        closing.enter_context(_quiet(session))
        month = Month(plan, gaps)
        month.drive(session, show_progress=show_progress)
        session.clock.advance(Decimal(plan.end_ms - session.clock.now_ms) / 1000)
        payouts = sum(payout.created * 1000 >= start_ms for payout in session.looking().payouts.each())
        simulation = Simulation(month, payouts)
        if target is not None:
            books = Books(target / LEDGER, month, 0 if isinstance(entries, UnsetType) else entries)
            wanted = {**to_plant, **{name: kind.by_default for name, kind in DECOYS.items()}}
            _fill(session, simulation, Planting(books, wanted, exactly=breaks is not None), books, target)
    return simulation


def _usable_gaps(control: SandboxControl) -> Gaps:
    """The register's defaults, with the sandbox's own values of `operator_fee` and `prompt_timeout_s`.

    Raises SimulationRefused: a month cannot be simulated with the sandbox's clock or with a row of its register.
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
    """Pauses the webhook endpoints during the block; deliveries that fall due in that time become dead letters."""
    endpoints = session.acting.webhook_endpoints
    enabled = [endpoint.id for endpoint in endpoints.each() if endpoint.status == "enabled"]
    try:
        for name in enabled:
            endpoints.update(name, status="disabled")
        yield
    finally:
        for name in enabled:
            endpoints.update(name, status="enabled")
