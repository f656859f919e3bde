"""The folder of a simulation: the ledger, a statement for each account that others keep books of, the answers."""

import csv
import heapq
import shutil
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.breaks import MISSING, TIMING
from workbench.analysis.frames import schema_of
from workbench.analysis.shapes import ANSWER, LEDGER_MOVEMENT
from workbench.analysis.simulate.kinds import Planting
from workbench.analysis.simulate.plan import Chances
from workbench.analysis.simulate.rows import ACCOUNTS, FILES, Known, Row, StatementInfo, known_from, statement_row
from workbench.analysis.statements import LAYOUTS, Layout, Preamble, statement_writer
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK, OUT
from workbench.domain.money import ZMW
from workbench.errors import SimulationRefused

_BATCH: Final = 1_000
LEDGER: Final = "ledger.parquet"
STATEMENTS: Final = "statements"
ANSWERS: Final = "answers.csv"


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
def prepared(out: Path) -> Iterator[Path]:
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


def write(books: Books, planting: Planting, out: Path, period: tuple[date, date]) -> tuple[dict[str, int], list[Decoy]]:
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
