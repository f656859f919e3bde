"""How far the exercises are: kept where a person works, and shown as the way through the course."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from workbench.lab.exercises.shape import Exercise, State
from workbench.render import Table, bundle, is_live, table
from workbench.resources import Notebook, course, write_whole

FILE_VARIABLE = "WORKBENCH_PROGRESS"
_FOLDER = ".workbench"
_NAMES = {State.WRONG: "tried", State.DONE: "done"}
_KEPT_STATES = {word: state for state, word in _NAMES.items()}
_STATES = {State.NOT_YET: "not begun", State.WRONG: "tried", State.DONE: "✓ done"}


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
        if self._path is None or together == kept:
            return
        words = {each: _NAMES[together[each]] for each in sorted(together)}
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
        print(f"{problem} From here on it is kept in this notebook alone.")  # noqa: T201  for a cell
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
    folder = next((each for each in (here, here.parent) if (each / _FOLDER).is_dir()), here)
    return Progress(folder / _FOLDER / "progress.json")


def _further(one: dict[str, State], other: dict[str, State]) -> dict[str, State]:
    """What is done in either is done."""
    return {**one, **other, **{name: state for name, state in one.items() if state is State.DONE}}


_GROUND = "var(--jp-layout-color0, Canvas)"
_RINGS = {
    State.NOT_YET: f"background:{_GROUND};border:2px solid",
    State.WRONG: f"background:{_GROUND};border:2px dashed",
    State.DONE: "background:currentColor;border:2px solid",
}
"""How a notebook's place on the way is drawn: a ring, a broken one where something was tried, a full one when all is
done."""


class Report(NamedTuple):
    """Every exercise and how far it is. Shown, it is the way through the course, a ring for each notebook."""

    exercises: tuple[Exercise, ...]
    states: Mapping[str, State]

    def state_of(self, exercise: Exercise) -> State:
        """How far one is."""
        return self.states.get(exercise.name, State.NOT_YET)

    @property
    def caption(self) -> str:
        """How many are done, of how many."""
        return f"Exercises: {self._done(self.exercises)} of {len(self.exercises)} done"

    @property
    def table(self) -> Table:
        """A row for each exercise: its notebook, title, name and state."""
        of_course = course()
        rows = [
            (of_course[each.notebook].name, each.title, each.name, _STATES[self.state_of(each)])
            for each in self.exercises
        ]
        return table(self.caption, ("notebook", "exercise", "its name", "how far"), rows)

    def _done(self, exercises: Iterable[Exercise]) -> int:
        return Counter(map(self.state_of, exercises))[State.DONE]

    def _place(self, notebook: Notebook) -> str:
        """A ring on the line of its part, and beneath it the title and how many exercises are done."""
        own = [each for each in self.exercises if each.notebook == notebook.slug]
        done = self._done(own)
        begun = any(self.state_of(each) is not State.NOT_YET for each in own)
        state = State.DONE if done == len(own) else State.WRONG if begun else State.NOT_YET
        ink = _GROUND if state is State.DONE else "inherit"
        return (
            '<li style="display:inline-block;width:8em;vertical-align:top;text-align:center;padding:0 .3em .8em;'
            'box-sizing:border-box;background:linear-gradient(currentColor,currentColor) 0 1.2em/100% 2px no-repeat">'
            f'<span style="display:inline-block;width:2.4em;line-height:2.1em;border-radius:50%;{_RINGS[state]}">'
            f'<span style="color:{ink}">{"✓" if state is State.DONE else notebook.number or "+"}</span></span><br>'
            f"<small>{escape(notebook.title)}<br>{done} of {len(own)} done</small></li>"
        )

    def _html(self) -> str:
        parts = (
            f'<p style="margin:.8em 0 .4em"><strong>{escape(part)}</strong></p>'
            f'<ol style="list-style:none;margin:0;padding:0">{"".join(map(self._place, those))}</ol>'
            for part, those in groupby(course().values(), key=lambda each: each.part)
        )
        rows = f"<details><summary>All exercises by name</summary>{self.table.html()}</details>"
        return f'<section aria-label="{self.caption}"><p>{self.caption}</p>{"".join(parts)}{rows}</section>'

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), self._html())
