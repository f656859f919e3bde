"""The trace as a sequence diagram: a picture where one can be shown, a line for each step everywhere else."""

from typing import Any, Final

from workbench.render import Table, table
from workbench.trace.drawing import drawn
from workbench.trace.steps import Step, steps_of
from workbench.trace.words import MASK_NOTE

MOST_ROWS: Final = 60
"""Nobody reads a larger picture."""
_COLUMNS = ("moment (UTC)", "from", "to", "what", "answer")
_TITLE = "Who told whom what"


class SequenceDiagram:
    """The steps of the last rows of a trace."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.steps: list[Step] = steps_of(rows[-MOST_ROWS:])
        left_out = len(rows) - len(self.steps)
        self.note = f"the last {len(self.steps)} of {len(rows):,} steps" if left_out else ""

    @property
    def svg(self) -> str:
        """The picture; the same steps give the same text."""
        return drawn(self.steps, _TITLE, "; ".join(each for each in (self.note, "UTC", MASK_NOTE) if each))

    @property
    def table(self) -> Table:
        """The same as a table, one row for each step."""
        rows = [(each.at, each.source, each.target, *_texts(each)) for each in self.steps]
        return table(", ".join(each for each in (_TITLE, self.note, MASK_NOTE) if each), _COLUMNS, rows)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        # No HTML beside it: where both are offered, the picture would not be shown.
        return {"text/plain": repr(self), "image/svg+xml": self.svg}, {"image/svg+xml": {"alt": repr(self)}}


def _texts(step: Step) -> tuple[str, str]:
    """Label and response; a cross stands before the response that went wrong, or before the label if none came."""
    cross = "✗ " if step.is_bad else ""
    return (step.label, f"{cross}{step.response}") if step.response else (f"{cross}{step.label}", "")
