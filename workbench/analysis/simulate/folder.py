"""The folder of a simulation: the ledger, a statement for each account that others keep books of, the answers."""

import csv
import heapq
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from workbench.analysis.breaks import MISSING, TIMING
from workbench.analysis.shapes import ANSWER
from workbench.analysis.simulate.books import Books
from workbench.analysis.simulate.planting import Planting
from workbench.analysis.simulate.rows import ACCOUNTS, FILES, Row
from workbench.analysis.statements import LAYOUTS, Layout, Preamble, statement_writer
from workbench.domain.money import ZMW
from workbench.domain.movements import OUT
from workbench.errors import SimulationRefused

LEDGER: Final = "ledger.parquet"
STATEMENTS: Final = "statements"
ANSWERS: Final = "answers.csv"


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
            raise SimulationRefused(f"{out} is not empty, and nothing in it is overwritten.", hint="Name a new folder.")
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

        for account, layout in ACCOUNTS.items():
            statement = _Statement(books, planting, account, LAYOUTS[layout], period)
            for line, row in statement.written(out / STATEMENTS / FILES[layout]):
                if row.code:
                    answer(FILES[layout], line, row.key, statement.code_of(row))
                if row.decoy:
                    decoys.append(Decoy(FILES[layout], line, row.key, row.decoy))
            for each in planting.ledger_only:
                if each.account == account:
                    answer(FILES[layout], None, each.key, each.code)
    return dict(sorted(counts.items())), decoys


@dataclass(frozen=True)
class _Statement:
    """One account as its operator or bank tells it."""

    books: Books
    planting: Planting
    account: str
    layout: Layout
    period: tuple[date, date]

    def written(self, path: Path) -> Iterator[tuple[int, Row]]:
        """Write it row by row; each row with the line where it stands."""
        balance_minor = self.books.opening_minor[self.account]
        with statement_writer(path, self.layout, preamble=self._preamble()) as writer:
            for row in self._rows():
                balance_minor += row.effect_minor
                yield writer.write(row.record(balance_minor), cells=self._cells(row)), row

    def code_of(self, row: Row) -> str:
        """What has no partner on the last day may still come: then it is a matter of time."""
        is_new = row.day >= self.books.closings[self.account]
        return TIMING if row.code == MISSING["statement"] and is_new else str(row.code)

    def _rows(self) -> Iterator[Row]:
        own = self.books.rows(self.account, self.planting.withheld)
        return heapq.merge(own, self.planting.rows[self.account], key=lambda row: row.at_ms)

    def _preamble(self) -> Preamble:
        """Only for a layout that has one: the closing balance is known when all rows are."""
        if not self.layout.preamble:
            return Preamble()
        opening_minor = self.books.opening_minor[self.account]
        closing_minor = opening_minor + sum(row.effect_minor for row in self._rows())
        return Preamble(self.account, ZMW.code, *self.period, opening_minor, closing_minor)

    def _cells(self, row: Row) -> dict[str, str]:
        """Cells by the columns of the layout, which may tell amounts and numbers in columns of a side."""
        made = dict(row.cells)
        by = self.layout.direction_by
        if by == "columns" and "amount" in made:
            made["debit" if row.direction == OUT else "credit"] = made.pop("amount")
        if by == "parties" and "phone" in made:
            made["to" if row.direction == OUT else "from"] = self.layout.party.format(phone=made.pop("phone"))
        return made
