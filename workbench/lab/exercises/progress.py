"""What has been tried and done, kept between notebooks in a small file beside them.

The file is `.workbench/progress.json` in the folder in which the notebooks run. It is read and written only where a
person looks (`workbench.live`): a run without anybody leaves nothing behind and finds nothing. The variable
`WORKBENCH_PROGRESS` names another file, which then is used in any run. A file that cannot be read or written is no
error: it is left as it is, and a message says so once.
"""

import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from workbench.lab.exercises.shape import State
from workbench.live import is_live

FILE_VARIABLE = "WORKBENCH_PROGRESS"
_BESIDE_THE_NOTEBOOKS = Path(".workbench") / "progress.json"
_NAMES = {State.WRONG: "tried", State.DONE: "done"}
_STATES = {word: state for state, word in _NAMES.items()}


class Progress:
    """How far each exercise is, by its name; without a file only as long as this process lives."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._here: dict[str, State] = {}

    def states(self) -> dict[str, State]:
        """Those that were tried or done, here or in another notebook."""
        return _further(self._read(), self._here)

    def note(self, name: str, state: State) -> None:
        """Keep how far an exercise has come. What was done once stays done."""
        if state is State.NOT_YET:
            return
        self._here = _further(self._here, {name: state})
        kept = self._read()
        together = _further(kept, self._here)
        if self._path is not None and together != kept:
            self._write(self._path, together)

    def _read(self) -> dict[str, State]:
        if self._path is None:
            return {}
        try:
            rows = json.loads(self._path.read_text("utf-8"))["exercises"]
            return {str(name): _STATES[word] for name, word in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return self._give_up("read", error)

    def _write(self, path: Path, states: dict[str, State]) -> None:
        """Whole or not at all: another notebook may read it in this moment."""
        text = json.dumps({"exercises": {name: _NAMES[states[name]] for name in sorted(states)}}, indent=2) + "\n"
        written = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
                written = file.name
                file.write(text)
            Path(written).replace(path)
        except OSError as error:
            self._give_up("written", error)
            with suppress(OSError):
                Path(written).unlink()

    def _give_up(self, what: str, error: Exception) -> dict[str, State]:
        why = getattr(error, "strerror", None) or "it holds something else"
        name = self._path.name if self._path else ""
        problem = f"{name}, which keeps your progress, cannot be {what}: {why}."
        print(f"{problem} From here on it is kept in this notebook alone.")  # noqa: T201  for a cell
        self._path = None
        return {}


@cache
def progress() -> Progress:
    """The progress of the person who runs this process."""
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return Progress(Path(named))
    return Progress(_BESIDE_THE_NOTEBOOKS.absolute() if is_live() else None)


def _further(*all_states: dict[str, State]) -> dict[str, State]:
    """What is done in any of them is done."""
    together: dict[str, State] = {}
    for states in all_states:
        for name, state in states.items():
            if together.get(name) is not State.DONE:
                together[name] = state
    return together
