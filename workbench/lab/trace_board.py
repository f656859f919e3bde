"""The trace as a board: a sequence diagram, a table, and each exchange to look into. It follows what happens."""

from workbench.lab.board import Board
from workbench.lab.parts.trace import TraceSection
from workbench.session import Session
from workbench.trace import Trace, TraceReader, rows_of


def trace_board(trace: Trace, session: Session) -> Board:
    """A board of what was chosen in `trace`, now and as it grows in this session.

    Rows that were picked by their places, such as `trace[-5:]`, stay as they are.
    """
    section = TraceSection(trace)
    if trace.whole is None:
        return Board("Trace", (section,), lambda _callback: lambda: None, name="trace")
    reader = TraceReader(lambda seq: rows_of(session.untraced.trace(seq)), trace.whole)

    def read() -> None:
        before = reader.rows
        reader.read()
        if len(reader.rows) != len(before) or reader.rows[-1:] != before[-1:]:
            section.grow(trace.among(reader.rows))

    return Board("Trace", (section,), session.watch, name="trace", read=read)
