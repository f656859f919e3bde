"""Rows that only look like breaks: each agrees with the ledger, and none is in the answers."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from workbench.analysis.simulate.kinds import MINUTE_MS, Kind, Making, Planted, is_payment, reversal_of
from workbench.analysis.simulate.rows import ACCOUNTS, Known, Row
from workbench.analysis.statements import LAYOUTS, Layout
from workbench.domain.moments import DAY_MS, day_start_ms

_LATE_HOURS_MS: Final = 3 * 3_600_000
_THOUSAND_MINOR: Final = 100_000
_NATIONAL: Final = len("+260")


def _paid_on_the_last_day(known: Known, closing: date) -> bool:
    """What was paid earlier has been swept to the bank, and the operator has nothing left to give back."""
    return is_payment(known, closing) and known.day == closing


def _late_evening(known: Known, closing: date) -> bool:
    at_ms = known.rows[0].at_ms
    return (
        is_payment(known, closing) and known.day < closing and day_start_ms(at_ms, days_on=1) - at_ms <= _LATE_HOURS_MS
    )


def _thousands(known: Known, closing: date) -> bool:
    row = known.rows[0]
    return is_payment(known, closing) and row.amount_minor >= _THOUSAND_MINOR and bool(_layout(row).thousands)


def _next_morning(row: Row, making: Making) -> Row:
    after_ms = making.between(MINUTE_MS, 120 * MINUTE_MS, "next morning", row.natural_key)
    return row._replace(at_ms=min(making.end_ms, day_start_ms(row.at_ms, days_on=1) + after_ms))


def _with_thousands(row: Row, making: Making) -> Row:  # noqa: ARG001  one signature
    layout, (whole, part) = _layout(row), divmod(row.amount_minor, 100)
    text = f"{whole:,}".replace(",", layout.thousands)
    return _written(row, amount=f"{text}{layout.decimal}{part:02}")


def _written(row: Row, **cells: str) -> Row:
    return row._replace(cells=cells)


def _layout(row: Row) -> Layout:
    return LAYOUTS[ACCOUNTS[row.account]]


def _kind(says: str, change: Callable[[Row, Making], Row], fits: Callable[[Known, date], bool] = is_payment) -> Kind:
    """A row that is written in another way."""
    return Kind(fits, lambda known, making: Planted((change(known.rows[0], making)._replace(decoy=says),)), says=says)


_REVERSED: Final = "a reversal that both sides know"


def _both_reverse(known: Known, making: Making) -> Planted:
    """Net of the fee, which an operator gives back, too; the file names the payment as the whole of both rows."""
    row = known.rows[0]
    at_ms = max(row.at_ms, making.end_ms - making.between(1, DAY_MS // 2, "back", row.natural_key))
    net_minor = row.amount_minor - row.fee_minor
    back = reversal_of(row, making, at_ms=at_ms, amount_minor=net_minor, batch=row.key, decoy=_REVERSED)
    return Planted((row, back), reversed=True)


DECOYS: Final[Mapping[str, Kind]] = {
    "reversed_on_both": Kind(_paid_on_the_last_day, _both_reverse, says=_REVERSED),
    "next_morning": _kind("dated the next morning, within the tolerance", _next_morning, _late_evening),
    "thousands": _kind("separators of thousands in the amount", _with_thousands, _thousands),
    "spaces": _kind("spaces around the key", lambda row, _: _written(row, key=f"  {row.key} ")),
    "national": _kind(
        "the number in national form", lambda row, _: _written(row, phone=f"0{(row.phone or '')[_NATIONAL:]}")
    ),
    "other_word": _kind("another word for completed", lambda row, _: _written(row, status="Completed")),
}
"""Name → what is done, two of each where there are rows for it.

Others come with the traffic: the same customer and amount within the minute under two right keys, attempts
that failed and were paid after, a payment repeated whose first try the ledger never heard of, fees of zero,
a night's sweeps that the bank credits as one, and a payout that it sends in tranches.
"""
