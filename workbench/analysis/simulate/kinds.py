"""Every kind of break and decoy: which rows can carry it, what it makes of them, and on which of them it is planted."""

import difflib
import heapq
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final, NamedTuple

from workbench.analysis import breaks as codes
from workbench.analysis.breaks import LATE_SUCCESS
from workbench.analysis.simulate.plan import Chances, day_of
from workbench.analysis.simulate.rows import ACCOUNTS, PAID_OUT, SECURED, Known, Row, own_key
from workbench.analysis.statements import LAYOUTS, Layout
from workbench.domain.ledger import OUT
from workbench.domain.moments import DAY_MS, LUSAKA, day_start_ms, milliseconds
from workbench.errors import SimulationRefused

_SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60_000
_DAY: Final = timedelta(days=1)
_TOLERATED_DAYS: Final = 1
"""By `reconcile` unless it is told otherwise, as is the cut-off: T+1."""
_LATE_HOURS_MS: Final = 3 * 3_600_000
_THOUSAND_MINOR: Final = 100_000
_NATIONAL: Final = len("+260")
ALL: Final = "all"
_BAD_CELLS: Final[tuple[Mapping[str, str], ...]] = ({"key": ""}, {"moment": "00-00-0000"}, {"amount": "1O5.0O"})
"""What makes a row invalid: no key, no such day, letters in an amount."""
_REVERSED: Final = "a reversal that both sides know"

Fits = Callable[[Known, date], bool]
"""Which rows can carry a kind, asked with the closing date of the statement."""


class Making(NamedTuple):
    """What a break may need: its code, draws by the entry that it is planted on, and keys that nobody has."""

    code: str
    chances: Chances
    new_key: Callable[[Row], str]
    end_ms: int

    def between(self, low: int, high: int, why: str, row: Row) -> int:
        """A draw from `low` to `high`."""
        return self.chances.between((low, high), "plant", why, row.natural_key)


class Planted(NamedTuple):
    """What becomes of the rows: those of the statement, and the answers without a line.

    `alone` tells that a row has no partner, so that no other such row may look like it; `repeated` and
    `reversed` that the ledger's entry is.
    """

    rows: tuple[Row, ...]
    ledger_only: tuple[tuple[str | None, str], ...] = ()
    alone: bool = False
    repeated: bool = False
    reversed: bool = False


class Kind(NamedTuple):
    """A kind of break: the rows that can carry it, and what it makes of one."""

    fits: Fits
    plant: Callable[[Known, Making], Planted]
    by_default: int = 2
    says: str = ""


def _later(row: Row, making: Making, low_ms: int, high_ms: int, why: str) -> Row:
    """The row, so much later, and not after the end."""
    after_ms = making.between(low_ms, high_ms, why, row)
    return row._replace(at_ms=min(making.end_ms, row.at_ms + after_ms))


def _payment(fits: Callable[[Row, date, date], bool] = lambda *_: True) -> Fits:
    """Payments that fit by their row, the ledger's day and the closing date."""
    return lambda known, closing: known.kind == SECURED and fits(known.rows[0], known.day, closing)


_IS_PAYMENT: Final = _payment()
_IS_NEW_PAYMENT: Final = _payment(lambda _, day, closing: day == closing)
# Also where it comes a quarter of an hour later.
_IS_OLD_PAYMENT: Final = _payment(
    lambda row, day, closing: day < closing and day_of(row.at_ms + 15 * MINUTE_MS) < closing
)


def _changed(change: Callable[[Row, Making], Row]) -> Callable[[Known, Making], Planted]:
    """One field of the statement's row differs."""
    return lambda known, making: Planted((change(known.rows[0], making)._replace(code=making.code),))


def _other_amount(row: Row, making: Making) -> Row:
    """Up to a tenth more or less, and a ngwee at least."""
    span = max(2, row.amount_minor // 10)
    off = making.between(1, span, "off", row)
    more = row.amount_minor - off <= row.fee_minor or making.between(0, 1, "more", row)
    return row._replace(amount_minor=row.amount_minor + (off if more else -off))


def _other_fee(row: Row, making: Making) -> Row:
    return row._replace(fee_minor=row.fee_minor + making.between(1, 50, "fee", row))


def _other_status(row: Row, making: Making) -> Row:
    return row._replace(status=("failed", "pending")[making.between(0, 1, "status", row)])


def _other_date(row: Row, making: Making) -> Row:
    """Two to four days later, as far as the period goes."""
    days = making.between(_TOLERATED_DAYS + 1, _TOLERATED_DAYS + 3, "days", row)
    last_ms = making.end_ms - (making.end_ms - row.at_ms) % DAY_MS
    return row._replace(at_ms=min(row.at_ms + days * DAY_MS, last_ms))


def _told_twice(known: Known, making: Making) -> Planted:
    row = known.rows[0]
    again = _later(row, making, _SECOND_MS, 30 * _SECOND_MS, "again")
    return Planted((row, again._replace(code=making.code)))


def _posted_twice(known: Known, making: Making) -> Planted:
    return Planted(known.rows, ((known.rows[0].key, making.code),), repeated=True)


def _wrong_reference(known: Known, making: Making) -> Planted:
    row = known.rows[0]
    return Planted((row._replace(key=making.new_key(row), code=making.code),), alone=True)


def _ambiguous(known: Known, making: Making) -> Planted:
    """Two rows under keys that nobody knows, and one movement that either may be."""
    row = known.rows[0]._replace(code=making.code)
    second = _later(row, making, 30 * _SECOND_MS, 5 * MINUTE_MS, "second")
    rows = (row._replace(key=making.new_key(row)), second._replace(key=making.new_key(second)))
    return Planted(rows, ((known.rows[0].key, making.code),), alone=True)


def _left_out(known: Known, making: Making) -> Planted:
    return Planted((), ((known.rows[0].batch or known.rows[0].key, making.code),), alone=True)


def _unheard(known: Known, making: Making) -> Planted:
    """The same customer pays once more, another amount, and the ledger does not hear of it."""
    row = known.rows[0]
    other = _later(row, making, MINUTE_MS, 10 * MINUTE_MS, "unheard")
    amount_minor = row.amount_minor + making.between(101, 9_999, "unheard", row)
    return Planted(
        (row, other._replace(key=making.new_key(other), amount_minor=amount_minor, code=making.code)), alone=True
    )


def reversal_of(row: Row, making: Making, **changes: Any) -> Row:  # noqa: ANN401  fields of a row
    """Money that the operator gives back, without a fee, under a key of its own."""
    back = row._replace(direction=OUT, fee_minor=0, type="reversal", description="Reversal", related=row.key)
    return back._replace(key=making.new_key(row), **changes)


def _taken_back(known: Known, making: Making) -> Planted:
    """The operator reverses a payment, and the ledger does not know."""
    row = known.rows[0]
    later = _later(row, making, 5 * MINUTE_MS, 600 * MINUTE_MS, "back")
    return Planted((row, reversal_of(later, making, code=making.code)), alone=True)


def _part_differs(known: Known, making: Making) -> Planted:
    """One part of a whole is another amount; the break stands at the first."""
    first, *rest = *known.rows[:-1], _other_amount(known.rows[-1], making)
    return Planted((first._replace(code=making.code), *rest))


def _invalid(known: Known, making: Making) -> Planted:
    row = known.rows[0]
    cells = _BAD_CELLS[making.between(0, len(_BAD_CELLS) - 1, "bad", row)]
    bad = _later(row, making, MINUTE_MS, 10 * MINUTE_MS, "invalid")
    key = None if "key" in cells else making.new_key(bad)
    bad = bad._replace(key=key, cells=cells, unreadable="amount" in cells, code=making.code)
    return Planted((row, bad))


BREAKS: Final[Mapping[str, Kind]] = {
    codes.TIMING: Kind(_IS_NEW_PAYMENT, _left_out),
    codes.PAYOUT_UNPAID: Kind(lambda known, closing: known.kind == PAID_OUT and known.day < closing, _left_out, 1),
    codes.BATCH_MISMATCH: Kind(lambda known, _: known.in_parts, _part_differs, 1),
    "date_mismatch": Kind(
        _payment(lambda _, day, closing: day + (_TOLERATED_DAYS + 1) * _DAY <= closing), _changed(_other_date)
    ),
    codes.MISSING["ledger"]: Kind(_IS_OLD_PAYMENT, _left_out),
    codes.MISSING["statement"]: Kind(_IS_OLD_PAYMENT, _unheard),
    codes.INVALID: Kind(_IS_PAYMENT, _invalid),
    codes.DUPLICATE["statement"]: Kind(_IS_PAYMENT, _told_twice),
    codes.DUPLICATE["ledger"]: Kind(_IS_PAYMENT, _posted_twice),
    codes.AMBIGUOUS: Kind(_IS_PAYMENT, _ambiguous, 1),
    "currency_mismatch": Kind(_IS_PAYMENT, _changed(lambda row, _: row._replace(currency="USD"))),
    "status_mismatch": Kind(_IS_PAYMENT, _changed(_other_status)),
    "direction_mismatch": Kind(_IS_PAYMENT, _changed(lambda row, _: row._replace(direction=OUT)), 1),
    "amount_mismatch": Kind(_IS_PAYMENT, _changed(_other_amount)),
    "fee_mismatch": Kind(_IS_PAYMENT, _changed(_other_fee)),
    codes.WRONG_REFERENCE: Kind(_IS_PAYMENT, _wrong_reference),
    codes.REVERSED_UNMATCHED: Kind(_IS_PAYMENT, _taken_back),
}
"""How each code of `analysis.breaks` is planted, those that fewest rows can carry first."""
PLANTABLE: Final = (*BREAKS, codes.LATE_SUCCESS)
"""The last is planted while the month is driven, not in a statement."""


_IS_LATE_EVENING: Final = _payment(
    lambda row, day, closing: day < closing and day_start_ms(row.at_ms, days_on=1) - row.at_ms <= _LATE_HOURS_MS
)
_IS_OF_THOUSANDS: Final = _payment(lambda row, *_: row.amount_minor >= _THOUSAND_MINOR and bool(_layout(row).thousands))


def _next_morning(row: Row, making: Making) -> Row:
    after_ms = making.between(MINUTE_MS, 120 * MINUTE_MS, "next morning", row)
    return row._replace(at_ms=min(making.end_ms, day_start_ms(row.at_ms, days_on=1) + after_ms))


def _with_thousands(row: Row, making: Making) -> Row:  # noqa: ARG001  one signature
    layout, (whole, part) = _layout(row), divmod(row.amount_minor, 100)
    text = f"{whole:,}".replace(",", layout.thousands)
    return row._replace(cells={"amount": f"{text}{layout.decimal}{part:02}"})


def _layout(row: Row) -> Layout:
    return LAYOUTS[ACCOUNTS[row.account]]


def _kind(says: str, change: Callable[[Row, Making], Row], fits: Fits = _IS_PAYMENT) -> Kind:
    """A row that is written in another way."""
    return Kind(fits, lambda known, making: Planted((change(known.rows[0], making)._replace(decoy=says),)), says=says)


def _both_reverse(known: Known, making: Making) -> Planted:
    """Net of the fee, which an operator gives back, too; the file names the payment as the whole of both rows."""
    row = known.rows[0]
    at_ms = max(row.at_ms, making.end_ms - making.between(1, DAY_MS // 2, "back", row))
    net_minor = row.amount_minor - row.fee_minor
    back = reversal_of(row, making, at_ms=at_ms, amount_minor=net_minor, batch=row.key, decoy=_REVERSED)
    return Planted((row, back), reversed=True)


DECOYS: Final[Mapping[str, Kind]] = {
    # What was paid earlier has been swept to the bank, and the operator has nothing left to give back.
    "reversed_on_both": Kind(_IS_NEW_PAYMENT, _both_reverse, says=_REVERSED),
    "next_morning": _kind("dated the next morning, within the tolerance", _next_morning, _IS_LATE_EVENING),
    "thousands": _kind("separators of thousands in the amount", _with_thousands, _IS_OF_THOUSANDS),
    "spaces": _kind("spaces around the key", lambda row, _: row._replace(cells={"key": f"  {row.key} "})),
    "national": _kind(
        "the number in national form", lambda row, _: row._replace(cells={"phone": f"0{(row.phone or '')[_NATIONAL:]}"})
    ),
    "other_word": _kind("another word for completed", lambda row, _: row._replace(cells={"status": "Completed"})),
}
"""Name → what is done, two of each where there are rows for it.

Others come with the traffic: the same customer and amount within the minute under two right keys, attempts
that failed and were paid after, a payment repeated whose first try the ledger never heard of, fees of zero,
a night's sweeps that the bank credits as one, and a payout that it sends in tranches.
"""


def checked(breaks: Mapping[str, int] | None, payments: int) -> dict[str, int]:
    """What was asked for, by kind, or else some of each; `all` stands for each that is not named.

    Raises SimulationRefused: no such kind, no number of them, or more of one than there are payments.
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
        if not (number.isascii() and number.isdigit() and len(number) <= 7):  # noqa: PLR2004  ten million
            raise SimulationRefused(f"{text!r} is not KIND=NUMBER, such as amount_mismatch=3.")
        if name in breaks:
            raise SimulationRefused(f"{name} is asked for twice.")
        breaks[name] = int(number)
    return breaks


KINDS: Final[Mapping[str, Kind]] = {**BREAKS, **DECOYS}
_SPARE: Final = 16


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
        self.ledger_only: dict[str, list[tuple[str | None, str]]] = {account: [] for account in ACCOUNTS}
        """Key and code of the breaks that have no line: what a statement should tell and does not."""
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
        self.ledger_only[first.account] += planted.ledger_only
        self.repeated += [known.entry] if planted.repeated else []
        self.reversed += [known.entry] if planted.reversed else []
        return True

    def _new_key(self, row: Row) -> str:
        self._keys += 1
        return own_key(ACCOUNTS[row.account], row.at_ms, self._first_key + self._keys)
