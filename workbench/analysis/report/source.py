"""What a report is made from: the frames of a reconciliation, read row by row without a float in between."""

from collections.abc import Iterator
from typing import Any, Final, Protocol

import pandas as pd
import pyarrow as pa

from workbench.domain.money import CURRENCIES, ZMW

_BATCH_ROWS: Final = 20_000
"""So many rows at a time are Python objects; a table of ten million is none at once."""


class Reconciled(Protocol):
    """The results of a reconciliation, as frames with the columns of `analysis.shapes`."""

    @property
    def matches(self) -> pd.DataFrame: ...  # noqa: D102  the columns of MATCH
    @property
    def breaks(self) -> pd.DataFrame: ...  # noqa: D102  the columns of BREAK
    @property
    def summary(self) -> pd.DataFrame: ...  # noqa: D102  the columns of SUMMARY
    @property
    def ageing(self) -> pd.DataFrame: ...  # noqa: D102  the columns of AGEING
    @property
    def proof(self) -> pd.DataFrame: ...  # noqa: D102  the columns of PROOF
    @property
    def inputs(self) -> pd.DataFrame: ...  # noqa: D102  the columns of INPUTS


def rows(frame: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """The cells of these columns as Python values: whole numbers stay whole, what is missing is None."""
    wanted = frame[list(names)]
    for start in range(0, len(wanted), _BATCH_ROWS):
        batch = pa.Table.from_pandas(wanted.iloc[start : start + _BATCH_ROWS], preserve_index=False)
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def decimals_of(currency: str | None) -> int:
    """The number of decimals of a currency; two for one that is not known here."""
    return CURRENCIES.get(currency or "", ZMW).decimals


def amount(minor: int, currency: str | None = ZMW.code, *, signed: bool = False) -> str:
    """An amount of minor units for reading: `1,234.50`, or `+1,234.50` when its sign is the point."""
    places = decimals_of(currency)
    whole, rest = divmod(abs(minor), 10**places)
    sign = "-" if minor < 0 else "+" if signed and minor else ""
    return f"{sign}{whole:,}.{rest:0{places}}" if places else f"{sign}{whole:,}"
