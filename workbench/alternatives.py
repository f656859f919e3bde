"""The environment that `workbench each` gives to a command, and the rows that its sandboxes report as relied on."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.errors import GapRefused

if TYPE_CHECKING:
    from workbench.domain.wire.ledger_and_trace import TraceRow
    from workbench.sandbox.engine import Engine
    from workbench.session import SandboxControl

GAPS: Final = "WORKBENCH_GAPS"
"""The environment variable with the rows that a run switches: a JSON object, row → value.

Every sandbox that a process of the run opens follows these values, except for rows that it is opened with.
"""
RELIED: Final = "WORKBENCH_RELIED"
"""The environment variable with the path of a file, to which every sandbox of a run adds two lines of JSON.

The first says that the sandbox has opened; the second has the rows on which it relied, and is written before it closes.
"""
JUNIT: Final = "WORKBENCH_JUNIT"
"""The environment variable with the path at which `each` looks for the run's test report."""


def switched(rows: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Row → value: those that GAPS switches, overridden by `rows`. Raises GapRefused: GAPS holds no JSON object."""
    try:
        within = dict(json.loads(os.environ.get(GAPS) or "{}"))
    except (ValueError, TypeError):
        raise GapRefused(f'{GAPS} must be a JSON object of rows, such as {{"clearing": "immediate"}}.') from None
    return {**within, **(rows or {})}


class Relied:
    """Collects the names of the register's rows that decided something in a sandbox, across its resets.

    `counts` returns False for an entry of the trace that is to be ignored.
    """

    def __init__(self, engine: "Engine", counts: Callable[["TraceRow"], bool] = lambda _: True) -> None:
        self._engine, self._counts = engine, counts
        self._found: set[str] = set()
        engine.store.before_reset.append(self.rows)

    def rows(self) -> set[str]:
        """The rows of the register that the sandbox has relied on so far."""
        from workbench.domain.reliance import relied_on

        with looking_at(self._engine) as control:
            self._found |= relied_on(filter(self._counts, control.trace())).keys()
        return self._found


@contextmanager
def looking_at(engine: "Engine") -> Iterator["SandboxControl"]:
    """Yields the control plane of a sandbox in this process; calls use the present secret key and leave no trace."""
    from workbench.sandbox.engine import InProcess
    from workbench.session import Session
    from workbench.text.snippets import IN_PROCESS_URL
    from workbench.watching import Watchers

    watchers = Watchers()
    transport = InProcess(engine, watchers)
    with Session(IN_PROCESS_URL, engine.store.key("secret"), "", transport=transport, watchers=watchers) as session:
        yield session.untraced


def reporting(engine: "Engine") -> Callable[[], None]:
    """Report to the file in RELIED, if it is set, that a sandbox has opened.

    Returns a function that reports the rows on which the sandbox relied, to call before it closes.
    """
    if RELIED not in os.environ:
        return lambda: None
    file, which = Path(os.environ[RELIED]), f"{os.getpid()}.{id(engine)}.{time.monotonic_ns()}"
    _append(file, {"sandbox": which})
    relied = Relied(engine)
    return lambda: _append(file, {"sandbox": which, "rows": sorted(relied.rows())})


def reported(file: Path) -> set[str] | None:
    """The rows that all sandboxes in the file of RELIED relied on together; empty if there is no such file.

    None if a sandbox opened but did not report its rows, or a line was cut off.
    """
    try:
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    except FileNotFoundError:
        return set()
    except ValueError:  # killed while it reported
        return None
    rows_of = {line["sandbox"]: line["rows"] for line in lines if "rows" in line}
    is_whole = all(line["sandbox"] in rows_of for line in lines)
    return {row for rows in rows_of.values() for row in rows} if is_whole else None


def _append(file: Path, line: Mapping[str, object]) -> None:
    # One write at the file's end: lines of several processes do not mix.
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
