"""What both sides have written when the month is over: the ledger in a file, and what the operators were told."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.frames import schema_of
from workbench.analysis.shapes import LEDGER_MOVEMENT
from workbench.analysis.simulate.chances import Chances
from workbench.analysis.simulate.notes import Notes
from workbench.analysis.simulate.rows import ACCOUNTS, Known, Row, known_from, statement_row
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK

_BATCH: Final = 1_000


class Books:
    """The movements of a month, kept in `path` and read from there as often as they are needed.

    `after` is the number of the last entry before the month. Memory holds a batch of rows at a time.
    """

    def __init__(self, path: Path, notes: Notes, chances: Chances, gaps: Gaps, *, after: int) -> None:
        self._path = path
        self._notes = notes
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
        self._last = self._write(pages)
        for account in ACCOUNTS:
            days = {row.day for row in deque(self.reported(account), maxlen=1)}
            for known in deque(self.known(account), maxlen=1):
                days.add(known.rows[-1].day)
                self.deciding.add(known.entry)
            # The bank's statement declares its period.
            self.closings[account] = last_day if account == BANK.name else max(days, default=last_day)

    def keep_again(self, pages: Iterable[pa.Table]) -> None:
        """Write the movements once more, with those that were posted since."""
        self._write(pages)

    def known(self, account: str) -> Iterator[Known]:
        """What an account's statement tells of the ledger as it was when the month ended."""
        return known_from(self._movements(account), self._chances)

    def reported(self, account: str) -> Iterator[Row]:
        """What an operator tells and the ledger does not know."""
        return (statement_row(each, self._gaps) for each in self._notes.of(ACCOUNTS[account]))

    def rows(self, account: str, withheld: set[str]) -> Iterator[Row]:
        """A statement's rows in time order, but for those of some entries."""
        known = (row for each in self.known(account) if each.entry not in withheld for row in each.rows)
        return heapq.merge(known, self.reported(account), key=lambda row: row.at_ms)

    def _write(self, pages: Iterable[pa.Table]) -> int:
        """The number of the last entry written."""
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

    def _movements(self, account: str) -> Iterator[Mapping[str, Any]]:
        with pq.ParquetFile(self._path) as file:
            for batch in file.iter_batches(_BATCH):
                here = pc.and_(pc.equal(batch["account"], account), pc.less_equal(batch["number"], self._last))
                yield from batch.filter(here).to_pylist()
