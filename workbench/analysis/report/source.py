"""What a report is made from: the frames of a reconciliation, read row by row without a float in between."""

from typing import Protocol

import pandas as pd


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
