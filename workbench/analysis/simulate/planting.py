"""Which rows carry which break: chosen by keyed hash over all of them, while they stream by."""

import heapq
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from typing import Final, NamedTuple

from workbench.analysis.simulate.kinds import BREAKS, DECOYS, Kind, Making
from workbench.analysis.simulate.plan import Chances
from workbench.analysis.simulate.rows import ACCOUNTS, Known, Row, own_key
from workbench.domain.moments import LUSAKA, milliseconds
from workbench.errors import SimulationRefused

KINDS: Final[Mapping[str, Kind]] = {**BREAKS, **DECOYS}
_SPARE: Final = 16


class Answer(NamedTuple):
    """A break that has no line: something that a statement should tell and does not."""

    account: str
    key: str | None
    code: str


class Planting:
    """Takes what is known row by row; `choose` then decides. It holds no more than the breaks asked for need.

    `wanted` is how many of each kind; where `exactly`, too few rows for one of them are refused.
    """

    def __init__(self, wanted: Mapping[str, int], chances: Chances, *, exactly: bool, first_key: int) -> None:
        self._all_wanted = wanted
        self._wanted = {name: wanted[name] for name in KINDS if wanted.get(name)}
        self._chances = chances
        self._exactly = exactly
        self._first_key = first_key
        self._room = 2 * sum(self._wanted.values()) + _SPARE
        self._best: dict[str, list[tuple[int, str, Known]]] = {name: [] for name in self._wanted}
        """For each kind, a heap of those of lowest rank; the highest of these is its first."""
        self._looks: set[tuple[str, str, int, str | None]] = set()
        self._keys = 0
        self.withheld: set[str] = set()
        """Entries whose rows are not written as they are."""
        self.rows: dict[str, list[Row]] = {account: [] for account in ACCOUNTS}
        """What is written instead, in time order."""
        self.ledger_only: list[Answer] = []
        self.repeated: list[str] = []
        """Entries that are posted once more."""
        self.reversed: list[str] = []
        """Entries that are reversed."""

    def consider(self, known: Known, closing: date) -> None:
        """See whether a row is among the best for any kind."""
        for name, best in self._best.items():
            if KINDS[name].fits(known, closing):
                item = (-self._chances.rank("plant", name, known.rows[0].natural_key), known.entry, known)
                if len(best) < self._room:
                    heapq.heappush(best, item)
                else:
                    heapq.heappushpop(best, item)

    def choose(self, alone: Iterable[Row], closings: Mapping[str, date]) -> None:
        """Plant. `alone` are rows that have no partner by themselves: none that looks the same is made another such.

        Raises SimulationRefused: more are asked for than there are rows.
        """
        candidates = {known.rows[0].looks for best in self._best.values() for *_, known in best}
        self._looks |= {row.looks for row in alone if row.looks in candidates}
        for name, wanted in self._wanted.items():
            chosen = 0
            for *_, known in sorted(self._best[name], reverse=True):
                if chosen == wanted:
                    break
                chosen += self._plant(name, known, closings)
            if name in BREAKS:
                self.expect(name, chosen)
        for rows in self.rows.values():
            rows.sort(key=lambda row: row.at_ms)

    def expect(self, name: str, found: int) -> None:
        """Raises SimulationRefused: of a kind that is to be there exactly so often, fewer were found."""
        wanted = self._all_wanted.get(name, 0)
        if self._exactly and found < wanted:
            raise SimulationRefused(
                f"{wanted} of {name} were asked for, and the month has room for {found}.",
                hint="Ask for fewer, or for more payments or days.",
                kind=name,
                room=found,
            )

    def _plant(self, name: str, known: Known, closings: Mapping[str, date]) -> bool:
        first = known.rows[0]
        if known.entry in self.withheld or first.looks in self._looks:
            return False
        end_ms = milliseconds(datetime.combine(closings[first.account], time.max, LUSAKA))
        planted = KINDS[name].plant(known, Making(name, self._chances, self._new_key, end_ms))
        looks = {row.looks for row in (first, *planted.rows) if planted.alone}
        if looks & self._looks:
            return False
        self._looks |= looks
        self.withheld.add(known.entry)
        self.rows[first.account] += planted.rows
        self.ledger_only += [Answer(first.account, key, code) for key, code in planted.ledger_only]
        self.repeated += [known.entry] if planted.repeated else []
        self.reversed += [known.entry] if planted.reversed else []
        return True

    def _new_key(self, row: Row) -> str:
        self._keys += 1
        return own_key(ACCOUNTS[row.account], row.at_ms, self._first_key + self._keys)
