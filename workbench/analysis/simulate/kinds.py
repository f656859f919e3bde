"""Every kind of break: on which rows it can be planted, and what it makes of them."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final, NamedTuple

from workbench.analysis.simulate.chances import Chances
from workbench.analysis.simulate.plan import DAY_MS
from workbench.analysis.simulate.rows import CREDITED, OUT, PAID_OUT, SECURED, Known, Row
from workbench.domain.moments import LUSAKA, moment
from workbench.domain.scenarios import LATE

_SECOND_MS: Final = 1_000
_MINUTE_MS: Final = 60_000
_DAY: Final = timedelta(days=1)
_TOLERATED_DAYS: Final = 1
"""By `reconcile` unless it is told otherwise, as is the cut-off: T+1."""


class Making(NamedTuple):
    """What a break may need: draws by the entry that it is planted on, and keys that nobody has."""

    chances: Chances
    new_key: Callable[[Row], str]
    end_ms: int

    def between(self, low: int, high: int, *natural_key: str) -> int:
        """A draw from `low` to `high`."""
        return self.chances.between((low, high), "plant", *natural_key)


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
    """A kind of break; `fits` is asked with the closing date of the statement."""

    says: str
    fits: Callable[[Known, date], bool]
    plant: Callable[[Known, Making], Planted]
    by_default: int = 2


def _payment(known: Known, closing: date) -> bool:  # noqa: ARG001  one signature
    return known.kind == SECURED and not known.in_parts


def _old_payment(known: Known, closing: date) -> bool:
    return _payment(known, closing) and known.day < closing and _day_after(known, 15 * _MINUTE_MS) < closing


def _new_payment(known: Known, closing: date) -> bool:
    return _payment(known, closing) and known.day == closing


def _early_payment(known: Known, closing: date) -> bool:
    return _payment(known, closing) and known.day + (_TOLERATED_DAYS + 1) * _DAY <= closing


def _old_payout(known: Known, closing: date) -> bool:
    return known.kind == PAID_OUT and known.day < closing


def _parts(known: Known, closing: date) -> bool:  # noqa: ARG001  one signature
    return known.in_parts and known.kind in (CREDITED, PAID_OUT)


def _day_after(known: Known, span_ms: int) -> date:
    return moment(known.rows[0].at_ms + span_ms).astimezone(LUSAKA).date()


def _later(row: Row, making: Making, low_ms: int, high_ms: int, why: str) -> Row:
    """The row, so much later, and not after the end."""
    after_ms = making.between(low_ms, high_ms, why, row.natural_key)
    return row._replace(at_ms=min(making.end_ms, row.at_ms + after_ms))


def _changed(code: str, change: Callable[[Row, Making], Row]) -> Callable[[Known, Making], Planted]:
    """One field of the statement's row differs."""

    def plant(known: Known, making: Making) -> Planted:
        return Planted((change(known.rows[0], making)._replace(code=code),))

    return plant


def _other_amount(row: Row, making: Making) -> Row:
    """Up to a tenth more or less, and a ngwee at least."""
    span = max(2, row.amount_minor // 10)
    off = making.between(1, span, "off", row.natural_key)
    more = row.amount_minor - off <= row.fee_minor or making.between(0, 1, "more", row.natural_key)
    return row._replace(amount_minor=row.amount_minor + (off if more else -off))


def _other_fee(row: Row, making: Making) -> Row:
    return row._replace(fee_minor=row.fee_minor + making.between(1, 50, "fee", row.natural_key))


def _other_direction(row: Row, making: Making) -> Row:  # noqa: ARG001  one signature
    return row._replace(direction=OUT)


def _other_status(row: Row, making: Making) -> Row:
    return row._replace(status=("failed", "pending")[making.between(0, 1, "status", row.natural_key)])


def _other_currency(row: Row, making: Making) -> Row:  # noqa: ARG001  one signature
    return row._replace(currency="USD")


def _other_date(row: Row, making: Making) -> Row:
    """Two to four days later, as far as the period goes."""
    days = making.between(_TOLERATED_DAYS + 1, _TOLERATED_DAYS + 3, "days", row.natural_key)
    last_ms = making.end_ms - (making.end_ms - row.at_ms) % DAY_MS
    return row._replace(at_ms=min(row.at_ms + days * DAY_MS, last_ms))


def _told_twice(known: Known, making: Making) -> Planted:
    row = known.rows[0]
    again = _later(row, making, _SECOND_MS, 30 * _SECOND_MS, "again")
    return Planted((row, again._replace(code="duplicate_in_statement")))


def _posted_twice(known: Known, making: Making) -> Planted:  # noqa: ARG001  one signature
    return Planted(known.rows, ((known.rows[0].key, "duplicate_in_ledger"),), repeated=True)


def _wrong_reference(known: Known, making: Making) -> Planted:
    row = known.rows[0]
    return Planted((row._replace(key=making.new_key(row), code="wrong_reference"),), alone=True)


def _ambiguous(known: Known, making: Making) -> Planted:
    """Two rows under keys that nobody knows, and one movement that either may be."""
    row = known.rows[0]._replace(code="ambiguous")
    second = _later(row, making, 30 * _SECOND_MS, 5 * _MINUTE_MS, "second")
    rows = (row._replace(key=making.new_key(row)), second._replace(key=making.new_key(second)))
    return Planted(rows, ((known.rows[0].key, "ambiguous"),), alone=True)


def _left_out(code: str) -> Callable[[Known, Making], Planted]:
    def plant(known: Known, making: Making) -> Planted:  # noqa: ARG001  one signature
        key = known.rows[0].batch or known.rows[0].key
        return Planted((), ((key, code),), alone=True)

    return plant


def _unheard(known: Known, making: Making) -> Planted:
    """The same customer pays once more, another amount, and the ledger does not hear of it."""
    row = known.rows[0]
    other = _later(row, making, _MINUTE_MS, 10 * _MINUTE_MS, "unheard")
    amount_minor = row.amount_minor + making.between(101, 9_999, "unheard", row.natural_key)
    other = other._replace(key=making.new_key(other), amount_minor=amount_minor, code="missing_in_ledger")
    return Planted((row, other), alone=True)


def _taken_back(known: Known, making: Making) -> Planted:
    """The operator reverses a payment, and the ledger does not know."""
    row = known.rows[0]
    back = _later(row, making, 5 * _MINUTE_MS, 600 * _MINUTE_MS, "back")
    back = back._replace(
        key=making.new_key(back),
        direction=OUT,
        fee_minor=0,
        type="reversal",
        related=row.key,
        description="Reversal",
        code="reversed_unmatched",
    )
    return Planted((row, back), alone=True)


def _part_differs(known: Known, making: Making) -> Planted:
    """One part of a whole is another amount; the break stands at the first."""
    first, *others = known.rows
    last = _other_amount(known.rows[-1], making)
    rows = (first, *others[:-1], last) if others else (last,)
    return Planted((rows[0]._replace(code="batch_mismatch"), *rows[1:]))


_BAD_CELLS: Final[tuple[Mapping[str, str], ...]] = ({"key": ""}, {"moment": "00-00-0000"}, {"amount": "1O5.0O"})
"""What makes a row invalid: no key, no such day, letters in an amount."""


def _invalid(known: Known, making: Making) -> Planted:
    row = known.rows[0]
    cells = _BAD_CELLS[making.between(0, len(_BAD_CELLS) - 1, "bad", row.natural_key)]
    bad = _later(row, making, _MINUTE_MS, 10 * _MINUTE_MS, "invalid")
    key = None if "key" in cells else making.new_key(bad)
    bad = bad._replace(key=key, cells=cells, unreadable="amount" in cells, code="invalid_row")
    return Planted((row, bad))


BREAKS: Final[Mapping[str, Kind]] = {
    "timing": Kind("a payment of the last day that the statement will tell of tomorrow", _new_payment,
                   _left_out("timing")),
    "payout_unpaid": Kind("a payout that the bank never made", _old_payout, _left_out("payout_unpaid"), 1),
    "batch_mismatch": Kind("a part of a night's credit or of a payout is another amount", _parts, _part_differs, 1),
    "date_mismatch": Kind("dated two to four days later", _early_payment,
                          _changed("date_mismatch", _other_date)),
    "missing_in_statement": Kind("a payment that the operator does not know", _old_payment,
                                 _left_out("missing_in_statement")),
    "missing_in_ledger": Kind("a payment that the ledger does not know", _old_payment, _unheard),
    "invalid_row": Kind("a row without a key, with no such day, or with letters in its amount", _payment, _invalid),
    "duplicate_in_statement": Kind("told twice", _payment, _told_twice),
    "duplicate_in_ledger": Kind("posted twice", _payment, _posted_twice),
    "ambiguous": Kind("two rows under unknown keys that one movement fits; three breaks each", _payment, _ambiguous, 1),
    "currency_mismatch": Kind("in another currency", _payment, _changed("currency_mismatch", _other_currency)),
    "status_mismatch": Kind("failed or pending at the operator", _payment,
                            _changed("status_mismatch", _other_status)),
    "direction_mismatch": Kind("out instead of in", _payment, _changed("direction_mismatch", _other_direction), 1),
    "amount_mismatch": Kind("another amount", _payment, _changed("amount_mismatch", _other_amount)),
    "fee_mismatch": Kind("another fee", _payment, _changed("fee_mismatch", _other_fee)),
    "wrong_reference": Kind("under a key that nobody knows", _payment, _wrong_reference),
    "reversed_unmatched": Kind("taken back by the operator, unknown to the ledger", _payment, _taken_back),
}  # fmt: skip
"""By our code, those that fewest rows can carry first."""
PLANTABLE: Final = (*BREAKS, LATE)
"""By our code; late money is planted while the month is driven, not in a statement."""
