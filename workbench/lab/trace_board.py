"""The trace as a board: a sequence diagram, a table, and each exchange to look into. Of the moment it was asked for."""

from workbench.lab.board import Board
from workbench.lab.parts.trace import TracePart
from workbench.trace import Trace


def trace_board(trace: Trace) -> Board:
    """A board of these rows; they do not change, so nothing is watched."""
    return Board("Trace", (TracePart(trace),), lambda _callback: lambda: None, name="trace")
