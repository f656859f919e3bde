"""How many breaks of which kind are wanted: by default some of each, else what was asked for, checked."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from workbench.analysis.breaks import LATE_SUCCESS
from workbench.analysis.simulate.kinds import BREAKS, PLANTABLE
from workbench.errors import SimulationRefused

ALL: Final = "all"


def by_default() -> dict[str, int]:
    """Some of every kind, as far as there are rows for them."""
    return {**{name: kind.by_default for name, kind in BREAKS.items()}, LATE_SUCCESS: 1}


def checked(breaks: Mapping[str, int], payments: int) -> dict[str, int]:
    """What was asked for, by kind; `all` stands for each that is not named.

    Raises SimulationRefused: no such kind, no number of them, or more of one than there are payments.
    """
    for name, number in breaks.items():
        if name not in (*PLANTABLE, ALL):
            near = difflib.get_close_matches(str(name), PLANTABLE, n=1)
            raise SimulationRefused(
                f"{name!r} is no kind of break; they are {', '.join(PLANTABLE)}, and {ALL} for each of them.",
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
