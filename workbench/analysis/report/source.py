"""What a report is made from: the frames, read row by row without a float; and files that are there once whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pandas as pd

from workbench.errors import ReportRefused


@contextmanager
def written_whole(path: Path, *, makes_folder: bool = False) -> Iterator[Path]:
    """Where to write what is to be at `path`; nothing is left, and what was there stays, when writing fails.

    Raises ReportRefused: the folder is not there, or the file cannot be written.
    """
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Asked first: whoever writes for minutes is to know before.
        unfinished.touch()
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise ReportRefused(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


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
