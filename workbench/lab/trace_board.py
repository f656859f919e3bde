"""The trace as a board: a sequence diagram, a table, and each exchange to look into. It follows what happens."""

from collections.abc import Callable
from typing import Any

from workbench.lab.board import Board
from workbench.lab.parts.trace import TracePart
from workbench.trace import Trace, TraceReader


def trace_board(
    trace: Trace,
    after: Callable[[int], list[dict[str, Any]]],
    watch: Callable[[Callable[[], object]], Callable[[], None]],
) -> Board:
    """A board of what was chosen in `trace`, now and as it grows; `after` asks for the rows after a `seq`.

    Rows that were picked by their places, such as `trace[-5:]`, stay as they are.
    """
    part = TracePart(trace)
    if trace.whole is None:
        return Board("Trace", (part,), lambda _callback: lambda: None, name="trace")
    history = TraceReader(after, trace.whole)

    def read() -> None:
        before = history.rows
        history.read()
        if len(history.rows) != len(before) or history.rows[-1:] != before[-1:]:
            part.grow(trace.among(history.rows))

    return Board("Trace", (part,), watch, name="trace", read=read)
