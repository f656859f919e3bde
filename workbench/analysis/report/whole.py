"""A file is there when it is whole: it is written under another name beside its own, and moved at the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
