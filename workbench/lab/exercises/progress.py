"""Keeps which exercises were tried and done, where a person works."""

import json
import os
from functools import cache
from pathlib import Path

from workbench.lab.exercises.shape import State, tell
from workbench.resources import write_whole
from workbench.text.render import is_live

FILE_VARIABLE = "WORKBENCH_PROGRESS"
_FOLDER = ".workbench"
_NAMES = {State.WRONG: "tried", State.DONE: "done"}
_KEPT_STATES = {word: state for state, word in _NAMES.items()}


class Progress:
    """The state of each exercise, by its name; without a file only as long as this process lives."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._here: dict[str, State] = {}

    def states(self) -> dict[str, State]:
        """The states of what was tried or done, here or in another notebook."""
        return _further(self._read(), self._here)

    def note(self, name: str, state: State) -> None:
        """Keep how far an exercise has come. What was done once stays done."""
        if state is State.NOT_YET:
            return
        self._here = _further(self._here, {name: state})
        kept = self._read()
        together = _further(kept, self._here)
        if self._path is None or together == kept:
            return
        words = {exercise: _NAMES[together[exercise]] for exercise in sorted(together)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Another notebook may read it in this moment.
            write_whole(self._path, f"{json.dumps({'exercises': words}, indent=2)}\n".encode())
        except OSError as error:
            self._give_up("written", error)

    def _read(self) -> dict[str, State]:
        if self._path is None:
            return {}
        try:
            rows = json.loads(self._path.read_text("utf-8"))["exercises"]
            return {str(name): _KEPT_STATES[word] for name, word in rows.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return self._give_up("read", error)

    def _give_up(self, what: str, error: Exception) -> dict[str, State]:
        why = getattr(error, "strerror", None) or "it holds something else"
        problem = f"{self._path and self._path.name}, which keeps your progress, cannot be {what}: {why}."
        tell(f"{problem} From here on it is kept in this notebook alone.")
        self._path = None
        return {}


@cache
def progress() -> Progress:
    """The progress of the person who runs this process."""
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return Progress(Path(named))
    if not is_live():
        return Progress(None)
    # A kernel runs in its notebook's folder; the notebooks beside the course have a folder of their own.
    here = Path.cwd()
    folder = next((place for place in (here, here.parent) if (place / _FOLDER).is_dir()), here)
    return Progress(folder / _FOLDER / "progress.json")


def _further(one: dict[str, State], other: dict[str, State]) -> dict[str, State]:
    """Adds the other states to these; an exercise that is done in either is done."""
    return {**one, **other, **{name: state for name, state in one.items() if state is State.DONE}}
