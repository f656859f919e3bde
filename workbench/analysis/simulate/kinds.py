"""The kinds of breaks and decoys: which rows can carry a kind, what it makes of them, and where it is planted."""

import difflib
import heapq
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from workbench.analysis import break_codes as codes
from workbench.analysis.break_codes import LATE_SUCCESS
from workbench.analysis.simulate.plan import Chances, day_of
from workbench.analysis.simulate.rows import ACCOUNTS, PAID_OUT, SECURED, Known, Row, own_key
from workbench.analysis.statements import LAYOUTS, Layout
from workbench.domain.ledger import OUT
from workbench.domain.moments import DAY_MS, LUSAKA, day_start_ms, milliseconds
from workbench.errors import SimulationRefused

_SECOND_MS: Final = 1_000
_MINUTE_MS: Final = 60_000
_DAY: Final = timedelta(days=1)
_TOLERATED_DAYS: Final = 1
"""The days between two dates that `reconcile` tolerates by default."""
_LATE_HOURS_MS: Final = 3 * 3_600_000
_THOUSAND_MINOR: Final = 100_000
_NATIONAL: Final = len("+260")
ALL: Final = "all"
_BAD_CELLS: Final[tuple[Mapping[str, str], ...]] = ({"key": ""}, {"moment": "00-00-0000"}, {"amount": "1O5.0O"})
"""What makes a row invalid: no key, no such day, letters in an amount."""
_SPARE: Final = 16

Fits = Callable[[Known, date], bool]
"""True if a movement can carry a kind, given the closing date of its statement."""


class Making(NamedTuple):
    """The means to plant a kind: its mark on a row, draws by the row that carries it, and new keys.

    `known` is the movement that carries the kind, which both sides know.
    """

    known: Known
    mark: Mapping[str, Any]
    chances: Chances
    new_key: Callable[[Row], str]
    end_ms: int

    def between(self, low: int, high: int, why: str, row: Row) -> int:
        """A number from `low` to `high`, drawn by the word `why` and the row."""
        return self.chances.between((low, high), "plant", why, row.natural_key)

    def later(self, row: Row, low_ms: int, high_ms: int, why: str) -> Row:
        """The row, later by a draw from `low_ms` to `high_ms`, but not after the end."""
        return row._replace(at_ms=min(self.end_ms, row.at_ms + self.between(low_ms, high_ms, why, row)))

    def reversal_of(self, row: Row, **changes: Any) -> Row:  # noqa: ANN401  fields of a row
        """A marked row in which the operator gives back the row's money, without a fee, under a new key."""
        back = row._replace(direction=OUT, fee_minor=0, type="reversal", description="Reversal", related=row.key)
        return back._replace(key=self.new_key(row), **self.mark, **changes)


Plant = Callable[[Row, Making], tuple[Row, ...]]
"""Returns the statement's rows in place of those of the movement."""


class Kind(NamedTuple):
    """A kind of break or decoy: a test of the movements that can carry the kind, and how it changes their rows.

    `is_alone` says that a row has no partner, so that no other such row may look like it; `lacks_line` that the
    statement has no line for the ledger's row. `posts` is what the ledger then posts, `says` describes a decoy, and
    `by_default` is the number that is planted if no breaks are asked for.
    """

    fits: Fits
    plant: Plant
    by_default: int = 2
    says: str = ""
    is_alone: bool = False
    lacks_line: bool = False
    posts: str = ""


def _payment(fits: Callable[[Row, date, date], bool] = lambda *_: True) -> Fits:
    """A test that is true for payments whose row, ledger's day and closing date fit."""
    return lambda known, closing: known.kind == SECURED and fits(known.rows[0], known.day, closing)


_IS_PAYMENT: Final = _payment()
_IS_NEW_PAYMENT: Final = _payment(lambda _, day, closing: day == closing)
# Also where it comes a quarter of an hour later.
_IS_OLD_PAYMENT: Final = _payment(
    lambda row, day, closing: day < closing and day_of(row.at_ms + 15 * _MINUTE_MS) < closing
)
_IS_LATE_EVENING: Final = _payment(
    lambda row, day, closing: day < closing and day_start_ms(row.at_ms, days_on=1) - row.at_ms <= _LATE_HOURS_MS
)
_IS_OF_THOUSANDS: Final = _payment(lambda row, *_: row.amount_minor >= _THOUSAND_MINOR and bool(_layout(row).thousands))


def _layout(row: Row) -> Layout:
    return LAYOUTS[ACCOUNTS[row.account]]


def _changed(change: Callable[[Row, Making], Mapping[str, Any]]) -> Plant:
    """A plant that changes some fields of the statement's row, and marks the row."""
    return lambda row, making: (row._replace(**making.mark, **change(row, making)),)


def _other_amount(row: Row, making: Making) -> Mapping[str, Any]:
    """An amount that is up to a tenth more or less, and differs by a ngwee at least."""
    off = making.between(1, max(2, row.amount_minor // 10), "off", row)
    more = row.amount_minor - off <= row.fee_minor or making.between(0, 1, "more", row)
    return {"amount_minor": row.amount_minor + (off if more else -off)}


def _other_date(row: Row, making: Making) -> Mapping[str, Any]:
    """A moment two to four days later, but within the period."""
    days = making.between(_TOLERATED_DAYS + 1, _TOLERATED_DAYS + 3, "days", row)
    last_ms = making.end_ms - (making.end_ms - row.at_ms) % DAY_MS
    return {"at_ms": min(row.at_ms + days * DAY_MS, last_ms)}


def _next_morning(row: Row, making: Making) -> Mapping[str, Any]:
    after_ms = making.between(_MINUTE_MS, 120 * _MINUTE_MS, "next morning", row)
    return {"at_ms": min(making.end_ms, day_start_ms(row.at_ms, days_on=1) + after_ms)}


def _with_thousands(row: Row, _: Making) -> Mapping[str, Any]:
    layout, (whole, part) = _layout(row), divmod(row.amount_minor, 100)
    text = f"{whole:,}".replace(",", layout.thousands)
    return {"cells": {"amount": f"{text}{layout.decimal}{part:02}"}}


def _ambiguous(row: Row, making: Making) -> tuple[Row, ...]:
    """Two rows under new keys, either of which may be the ledger's one movement."""
    row = row._replace(**making.mark)
    second = making.later(row, 30 * _SECOND_MS, 5 * _MINUTE_MS, "second")
    return row._replace(key=making.new_key(row)), second._replace(key=making.new_key(second))


def _unheard(row: Row, making: Making) -> tuple[Row, ...]:
    """The row, and a second payment of the same customer, of another amount, that the ledger lacks."""
    other = making.later(row, _MINUTE_MS, 10 * _MINUTE_MS, "unheard")
    amount_minor = row.amount_minor + making.between(101, 9_999, "unheard", row)
    return row, other._replace(key=making.new_key(other), amount_minor=amount_minor, **making.mark)


def _part_differs(_: Row, making: Making) -> tuple[Row, ...]:
    """The rows of a movement, the last with another amount; the first is marked as the break."""
    last = making.known.rows[-1]
    first, *rest = *making.known.rows[:-1], last._replace(**_other_amount(last, making))
    return first._replace(**making.mark), *rest


def _invalid(row: Row, making: Making) -> tuple[Row, ...]:
    cells = _BAD_CELLS[making.between(0, len(_BAD_CELLS) - 1, "bad", row)]
    bad = making.later(row, _MINUTE_MS, 10 * _MINUTE_MS, "invalid")
    key = None if "key" in cells else making.new_key(bad)
    return row, bad._replace(key=key, cells=cells, **making.mark)


def _both_reverse(row: Row, making: Making) -> tuple[Row, ...]:
    """The row, and its reversal, less the fee, which the operator gives back; its batch is the payment's key."""
    at_ms = max(row.at_ms, making.end_ms - making.between(1, DAY_MS // 2, "back", row))
    net_minor = row.amount_minor - row.fee_minor
    return row, making.reversal_of(row, at_ms=at_ms, amount_minor=net_minor, batch=row.key)


def _left_out(fits: Fits, by_default: int = 2) -> Kind:
    return Kind(fits, lambda *_: (), by_default, is_alone=True, lacks_line=True)


BREAKS: Final[Mapping[str, Kind]] = {
    codes.TIMING: _left_out(_IS_NEW_PAYMENT),
    codes.PAYOUT_UNPAID: _left_out(lambda known, closing: known.kind == PAID_OUT and known.day < closing, 1),
    codes.BATCH_MISMATCH: Kind(lambda known, _: known.in_parts, _part_differs, 1),
    "date_mismatch": Kind(
        _payment(lambda _, day, closing: day + (_TOLERATED_DAYS + 1) * _DAY <= closing), _changed(_other_date)
    ),
    codes.MISSING["ledger"]: _left_out(_IS_OLD_PAYMENT),
    codes.MISSING["statement"]: Kind(_IS_OLD_PAYMENT, _unheard, is_alone=True),
    codes.INVALID: Kind(_IS_PAYMENT, _invalid),
    codes.DUPLICATE["statement"]: Kind(
        _IS_PAYMENT,
        lambda row, making: (row, making.later(row, _SECOND_MS, 30 * _SECOND_MS, "again")._replace(**making.mark)),
    ),
    codes.DUPLICATE["ledger"]: Kind(_IS_PAYMENT, lambda row, _: (row,), lacks_line=True, posts="repeated"),
    codes.AMBIGUOUS: Kind(_IS_PAYMENT, _ambiguous, 1, is_alone=True, lacks_line=True),
    "currency_mismatch": Kind(_IS_PAYMENT, _changed(lambda *_: {"currency": "USD"})),
    "status_mismatch": Kind(
        _IS_PAYMENT,
        _changed(lambda row, making: {"status": ("failed", "pending")[making.between(0, 1, "status", row)]}),
    ),
    "direction_mismatch": Kind(_IS_PAYMENT, _changed(lambda *_: {"direction": OUT}), 1),
    "amount_mismatch": Kind(_IS_PAYMENT, _changed(_other_amount)),
    "fee_mismatch": Kind(
        _IS_PAYMENT,
        _changed(lambda row, making: {"fee_minor": row.fee_minor + making.between(1, 50, "fee", row)}),
    ),
    codes.WRONG_REFERENCE: Kind(_IS_PAYMENT, _changed(lambda row, making: {"key": making.new_key(row)}), is_alone=True),
    codes.REVERSED_UNMATCHED: Kind(
        _IS_PAYMENT,
        lambda row, making: (row, making.reversal_of(making.later(row, 5 * _MINUTE_MS, 600 * _MINUTE_MS, "back"))),
        is_alone=True,
    ),
}
"""Code of `analysis.break_codes` → how it is planted; codes that fewest rows can carry come first."""
PLANTABLE: Final = (*BREAKS, LATE_SUCCESS)
"""The codes that can be planted; the last is planted while the month is driven, not in a statement."""


def _decoy(says: str, change: Callable[[Row, Making], Mapping[str, Any]], fits: Fits = _IS_PAYMENT) -> Kind:
    return Kind(fits, _changed(change), says=says)


DECOYS: Final[Mapping[str, Kind]] = {
    # What was paid earlier has been swept to the bank, and the operator has nothing left to give back.
    "reversed_on_both": Kind(_IS_NEW_PAYMENT, _both_reverse, says="a reversal that both sides know", posts="reversed"),
    "next_morning": _decoy("dated the next morning, within the tolerance", _next_morning, _IS_LATE_EVENING),
    "thousands": _decoy("separators of thousands in the amount", _with_thousands, _IS_OF_THOUSANDS),
    "spaces": _decoy("spaces around the key", lambda row, _: {"cells": {"key": f"  {row.key} "}}),
    "national": _decoy("the number in national form", lambda row, _: {"phone": f"0{(row.phone or '')[_NATIONAL:]}"}),
    "other_word": _decoy("another word for completed", lambda *_: {"cells": {"status": "Completed"}}),
}
"""Name → how a decoy is planted, two of each if there are rows for it.

Other decoys come with the traffic: the same customer and amount within the minute under two right keys, attempts
that failed and were paid after, a repeated payment whose first try the ledger does not know, fees of zero,
a night's sweeps that the bank credits as one, and a payout that the bank sends in tranches.
"""
KINDS: Final[Mapping[str, Kind]] = {**BREAKS, **DECOYS}


def checked(breaks: Mapping[str, int] | None, payments: int) -> dict[str, int]:
    """The number of each kind to plant, by default some of every kind; `all` stands for the kinds not named.

    Raises SimulationRefused: no such kind, no whole number from 0, or more of a kind than there are payments.
    """
    if breaks is None:
        return {**{name: kind.by_default for name, kind in BREAKS.items()}, LATE_SUCCESS: 1}
    for name, number in breaks.items():
        if name not in (*PLANTABLE, ALL):
            near = difflib.get_close_matches(str(name), PLANTABLE, n=1)
            raise SimulationRefused(
                f"{name!r} is not a kind of break; the kinds are {', '.join(PLANTABLE)}, and {ALL} for each of them.",
                hint=f"Did you mean {near[0]}?" if near else "",
                kinds=PLANTABLE,
            )
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise SimulationRefused(f"The number of {name} is a whole number from 0, not {number!r}.", kind=name)
        if number > payments:
            raise SimulationRefused(f"{number} of {name} were asked for, of {payments} payments.", kind=name)
    return {name: breaks.get(name, breaks.get(ALL, 0)) for name in PLANTABLE}


def breaks_from(texts: Iterable[str]) -> dict[str, int]:
    """Kinds and numbers from texts such as `amount_mismatch=3`.

    Raises SimulationRefused: a text of another form, or a kind named twice.
    """
    breaks: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not re.fullmatch("[0-9]{1,7}", number):
            raise SimulationRefused(f"{text!r} is not KIND=NUMBER, such as amount_mismatch=3.")
        if name in breaks:
            raise SimulationRefused(f"{name} is asked for twice.")
        breaks[name] = int(number)
    return breaks


class Planting:
    """Takes known movements one by one; `choose` then plants. Memory holds only the candidates that may be needed.

    `wanted` is the number of each kind; with `exactly`, too few rows for a kind of break are refused. New keys are
    made of numbers above `first_key`.
    """

    def __init__(self, wanted: Mapping[str, int], chances: Chances, *, exactly: bool, first_key: int) -> None:
        self._all_wanted = wanted
        self._wanted = {name: wanted[name] for name in KINDS if wanted.get(name)}
        self._chances = chances
        self._exactly = exactly
        self._keys = first_key
        self._room = 2 * sum(self._wanted.values()) + _SPARE
        self._best: dict[str, list[tuple[int, str, Known]]] = {name: [] for name in self._wanted}
        """Kind → a heap of the movements of lowest rank, the highest of these first."""
        self._looks: set[tuple[str, str, int, str | None]] = set()
        self.withheld: set[str] = set()
        """The entries whose own rows are not written."""
        self.rows: dict[str, list[Row]] = {account: [] for account in ACCOUNTS}
        """Account → the planted rows, in time order."""
        self.ledger_only: dict[str, list[tuple[str | None, str]]] = {account: [] for account in ACCOUNTS}
        """Account → key and code of the breaks without a line: the statement lacks them."""
        self.posts: list[tuple[str, str]] = []
        """Pairs of what the ledger posts, `repeated` or `reversed`, and the entry that it is about."""

    def consider(self, known: Known, closing: date) -> None:
        """Keep a movement as a candidate of each kind that it can carry, unless enough others have a lower drawn rank.

        `closing` is the closing date of its statement.
        """
        for name, best in self._best.items():
            if KINDS[name].fits(known, closing):
                rank = -self._chances.rank("plant", name, known.rows[0].natural_key)
                heapq.heappush(best, (rank, known.entry, known))
                if len(best) > self._room:
                    heapq.heappop(best)

    def choose(self, alone: Iterable[Row], closings: Mapping[str, date]) -> None:
        """Plant every kind. `alone` are rows without a partner: no row that looks like one of them is planted.

        Raises SimulationRefused: more of a kind are asked for than there are rows.
        """
        candidates = {known.rows[0].looks for best in self._best.values() for *_, known in best}
        self._looks |= {row.looks for row in alone if row.looks in candidates}
        for name, wanted in self._wanted.items():
            best = sorted(self._best[name], reverse=True)
            planted = islice((known for *_, known in best if self._plant(name, known, closings)), wanted)
            chosen = sum(1 for _ in planted)
            if name in BREAKS:
                self.expect(name, chosen)
        for rows in self.rows.values():
            rows.sort(key=lambda row: row.at_ms)

    def expect(self, name: str, found: int) -> None:
        """Raises SimulationRefused: fewer of a kind were found than exactly asked for."""
        wanted = self._all_wanted.get(name, 0)
        if self._exactly and found < wanted:
            raise SimulationRefused(
                f"{wanted} of {name} were asked for, and the month has room for {found}.",
                hint="Ask for fewer, or for more payments or days.",
                kind=name,
                room=found,
            )

    def _plant(self, name: str, known: Known, closings: Mapping[str, date]) -> bool:
        kind, first = KINDS[name], known.rows[0]
        if known.entry in self.withheld or first.looks in self._looks:
            return False
        end_ms = milliseconds(datetime.combine(closings[first.account], time.max, LUSAKA))
        mark = {"decoy": kind.says} if kind.says else {"code": name}
        rows = kind.plant(first, Making(known, mark, self._chances, self._new_key, end_ms))
        looks = {row.looks for row in (first, *rows) if kind.is_alone}
        if looks & self._looks:
            return False
        self._looks |= looks
        self.withheld.add(known.entry)
        self.rows[first.account] += rows
        self.ledger_only[first.account] += [(first.batch or first.key, name)] * kind.lacks_line
        self.posts += [(kind.posts, known.entry)] if kind.posts else []
        return True

    def _new_key(self, row: Row) -> str:
        self._keys += 1
        return own_key(ACCOUNTS[row.account], row.at_ms, self._keys)
