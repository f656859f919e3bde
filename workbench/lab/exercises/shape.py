"""Describes an exercise, judges a try at it, and offers helpers for checks."""

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from textwrap import fill
from typing import Any, NamedTuple, TypeAlias

from workbench.domain.scenarios import SCENARIOS
from workbench.errors import ServiceUnreachable
from workbench.lab.exercises.functions import Fault, Watched, bounded, brief, functions_in, line_of, look_at
from workbench.resources import course
from workbench.text.render import bundle, sentence
from workbench.visible import visible

WIDTH = 76
"""The width of a line in letters; a notebook beside a handset does not break such a line again."""
Bench: TypeAlias = Any
"""A Workbench; its class is in a layer above the Lab, which cannot import it."""


class State(Enum):
    """The state of an exercise or of a prediction; each colour can be read on white and on black."""

    NOT_YET = ("Not done yet", "…", "#5f6368")
    WRONG = ("Not right yet", "✗", "#b3261e")
    DONE = ("Done", "✓", "#2e7d32")

    def __init__(self, heading: str, sign: str, colour: str) -> None:
        self.heading, self.sign, self.colour = heading, sign, colour


def html_of(lines: Sequence[str], state: State) -> str:
    """Lines of prose as HTML, with the sign and the colour of a state."""
    badge = f'<span style="background:{state.colour};color:#fff;padding:0 .4em;border-radius:.3em">{state.sign}</span>'
    style = f"border-left:4px solid {state.colour};padding:.1em .8em;overflow-wrap:anywhere"
    text = sentence("\n".join(lines))
    return f'<div style="{style}">{badge} {text}</div>'


def tell(*lines: str, state: State | None = None) -> None:
    """Show lines of prose below a cell with the colour of a state; without a state or a notebook, print the lines."""
    filled = partial(fill, width=WIDTH, break_long_words=False, break_on_hyphens=False)
    text = "\n".join(filled(visible(line, lines=True)) for line in lines)
    ipython = sys.modules.get("IPython")
    if state and ipython and ipython.get_ipython():
        ipython.display.display(bundle(text, html_of(lines, state)), raw=True)
    else:
        print(text)  # noqa: T201  for a cell


class Verdict(NamedTuple):
    """The result of a check, in a sentence for the person who did the exercise."""

    state: State
    says: str
    seen: str = ""
    """The value in the sandbox, such as K3,550.00."""
    expected: str = ""
    """The value that the sandbox should have."""
    at: str = ""
    """A piece of the line at fault, such as `amount=`: the message names the cell's last line with this piece."""


not_yet, wrong, done = (partial(Verdict, state) for state in State)
"""Make a Verdict from a sentence: what is missing; what was done and why it is wrong; what was found."""


_TYPES = {"Decimal", "int", "str"}
"""Types whose call on a literal still counts as a literal: `int(700)`."""


def same(seen: object, expected: object, says: str, at: str, shown: Callable[[Any], str] = repr) -> Iterator[Verdict]:
    """Yields a verdict if two values differ; True is not 1."""
    if type(seen) is not type(expected) or seen != expected:
        yield wrong(says, shown(seen), shown(expected), at)


class Cell(NamedTuple):
    """The code of a check's cell; empty if the code is unknown."""

    source: str

    def line_with(self, piece: str) -> str:
        """The last line that contains `piece`, with its number; empty without such a line, or in a script of cells."""
        lines = self.source.splitlines()
        checks = {line.rstrip() for line in lines if line.lstrip().startswith(_CHECK)}
        # A script of several exercises, or a script that checks in a loop, is no cell.
        if len(checks) != 1 or not checks.pop().startswith(_CHECK):
            return ""
        found = [
            f"line {number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if piece in line and not line.startswith(_CHECK)
        ]
        return found[-1] if found and piece else ""

    def is_as_in(self, shipped: str) -> bool:
        """True if the cell's code equals the `shipped` code; comments and blank lines do not count."""
        return bool(self.source) and ast.dump(self._tree()) == ast.dump(ast.parse(shipped))

    def literal_of(self, name: str) -> str:
        """The literal that the cell assigned to a name last; empty if the name's last value is no literal."""
        values = [
            statement.value
            for statement in self._tree().body
            if isinstance(statement, ast.Assign) and name in [getattr(target, "id", "") for target in statement.targets]
        ]
        names = {node.id for value in values[-1:] for node in ast.walk(value) if isinstance(node, ast.Name)}
        return ast.unparse(values[-1]) if values and names <= _TYPES else ""

    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self.source)
        except SyntaxError:
            # The cell has a line of IPython's own syntax.
            return ast.Module([], [])


class Written(NamedTuple):
    """An exercise in its notebook: `**Title.** Task` in the text above its check, and the cell of the check."""

    title: str
    task: str
    cell: str


_CHECK = "exercises.check("


@dataclass(frozen=True)
class Exercise:
    """One task in a notebook. The task's cell is tagged `exercise` and ends with the check."""

    name: str
    notebook: str
    """The notebook's slug."""
    hints: Sequence[str]
    """Hints, from a nudge to nearly the whole solution."""
    solution: str
    """Code for the cell, above its check; the code may run twice."""
    check: Callable[..., Iterator[Verdict]]
    """Yields verdicts, of which only the first is taken.

    If a person calls the check with wrong arguments, the message names the function's arguments.
    """
    repair: bool = False
    """True if the cell comes with a broken function to repair; the check calls the function only once it is changed."""

    @cached_property
    def written(self) -> Written:
        """The title, task and cell in the shipped notebook."""
        cells = json.loads(course()[self.notebook].path.read_text("utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
        place = next(place for place, source in enumerate(sources) if f'{_CHECK}"{self.name}"' in source)
        ((title, task),) = re.findall(r"^\*\*(.+)\.\*\* (.+)$", sources[place - 1], re.MULTILINE)
        return Written(title, task, sources[place])


def fresh(bench: Bench, **options: object) -> Bench:
    """A new sandbox of the same class with a fixed seed, so that a check changes nothing in the notebook's sandbox."""
    return type(bench)(seed="a try", **options)


SOMEBODY = "+260961234567"
"""A number without a scenario: an intent's prompt waits there for a person; a charge by itself is paid at once."""


def number_of(scenario: str) -> str:
    """The test number that runs a scenario by itself."""
    return f"+26096{SCENARIOS[scenario].numbers[0].ending}"


def kwacha(minor: int) -> str:
    """An amount for a sentence: 123450 is K1,234.50."""
    # Imported here, so that the exercises alone load little.
    from workbench.domain.money import ZMW, money_text

    return money_text(minor, ZMW.code)


def verdict_on(exercise: Exercise, given: tuple[object, ...], cell: Cell) -> Verdict:
    """Judges an answer; an error in a check or in a person's code becomes a verdict."""
    if any(value is ... for value in given):
        return not_yet("Your answer is still open.")
    if any(value is None for value in given):
        return not_yet("Your answer is None. A call that prints, or that changes its object, returns nothing else.")
    if exercise.repair and cell.is_as_in(exercise.written.cell):
        return not_yet(
            "You have not changed the code yet. Find the mistake, change it and run the cell: the check then calls it."
        )
    signature = inspect.signature(exercise.check)
    try:
        handed = signature.bind(*given).arguments
    except TypeError:
        names = ", ".join([f'"{exercise.name}"', *signature.parameters])
        return wrong(f"The check is written exercises.check({names}).")
    if "bench" in handed and not hasattr(handed["bench"], "looking"):
        return wrong("The check looks into the sandbox: hand it your Workbench.", brief(handed["bench"]), "bench")
    return _unless_typed(exercise, handed, cell, _tried(exercise, handed))


def _tried(exercise: Exercise, handed: dict[str, Any]) -> Verdict:
    """Runs the check; an error of the check or of a person's function becomes a verdict."""
    watched: Watched | None = None
    try:
        for name, came in functions_in(exercise.written.cell).items():
            look_at(came, functions_in(exercise.solution)[name], handed[name])
            handed[name] = watched = Watched(handed[name])
        with bounded():
            return next(exercise.check(**handed))
    except ServiceUnreachable:
        return not_yet("The sandbox does not respond; it may be closed. Run the notebook from its first cell.")
    except Fault as fault:
        says, *seen = fault.args
        return wrong(f"{says}{line_of(fault)}", *seen)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever was handed over is a person's first try
        return _of_error(error, watched, [*handed.values()][-1])


def _of_error(error: BaseException, watched: Watched | None, answer: object) -> Verdict:
    """The verdict on an error: names the line where a person's code stopped, or the value that the check cannot use."""
    what, place = f"{type(error).__name__}: {str(error).removesuffix('.')}", line_of(error)
    if place:
        called = f"Called as {watched.call}, your" if watched and watched.call else "Your"
        return wrong(f"{called} code stopped with {what}{place}")
    seen = watched.returned if watched else answer
    returned = "what your function returned" if watched else "what it was handed"
    return wrong(f"The check cannot use {returned} ({what}).", seen=brief(seen), expected="what the task asks for")


def _unless_typed(exercise: Exercise, handed: Mapping[str, object], cell: Cell, verdict: Verdict) -> Verdict:
    """The verdict, or `wrong` if the cell assigns the right answer as a literal: another seed has another answer.

    A literal that the exercise's solution has too is no mistake.
    """
    for name in handed:
        literal = cell.literal_of(name)
        if literal and verdict.state is State.DONE and not Cell(exercise.solution).literal_of(name):
            says = f"This is right, and it is typed: with another seed it would not be. Let code find {name}."
            return wrong(says, literal, "code", f"{name} =")
    return verdict
