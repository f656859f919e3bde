"""How far a simulation has come: a bar on a terminal, a line now and then elsewhere, always on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_TENTHS: Final = 10
_REFRESH: Final = 25
"""A bar is told after so many payments: telling it takes as long as a hundredth of one."""


@contextmanager
def shown(total: int) -> Iterator[Callable[[], None]]:
    """A function to call after each payment."""
    if sys.stderr.isatty():
        with _bar(total) as step:
            yield step
    else:
        yield _lines(total)


def silent() -> None:
    """Tell nothing."""


@contextmanager
def _bar(total: int) -> Iterator[Callable[[], None]]:
    # rich takes a tenth of a second to load, which a simulation without a bar does without.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    done = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("payments", total=total)

        def step() -> None:
            nonlocal done
            done += 1
            if done % _REFRESH == 0 or done == total:
                progress.update(task, completed=done)

        yield step


def _lines(total: int) -> Callable[[], None]:
    done = 0

    def step() -> None:
        nonlocal done
        before, done = done * _TENTHS // total, done + 1
        if done * _TENTHS // total > before:
            sys.stderr.write(f"{done:,} of {total:,} payments\n")
            sys.stderr.flush()

    return step
