"""What an exercise is, how a try is judged, and what its check can ask of a bench."""

import ast
import inspect
import json
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache, partial
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbench.errors import ServiceUnreachable
from workbench.lab.exercises.functions import Fault, Watched, bounded, brief, functions_in, line_of, look_at
from workbench.render import bundle
from workbench.resources import course
from workbench.visible import visible

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from workbench.client import PaymentsClient
    from workbench.control import Operator
    from workbench.domain.masking import Secret
    from workbench.domain.wire.ledger_and_trace import TracedCall
    from workbench.receiver import Receiver
    from workbench.register import GapRows
    from workbench.trace import Trace


WIDTH = 76
"""In letters; a line of this width is not broken once more in a notebook beside a handset."""


class Mark(Enum):
    """The sign and the colour of what a check or a prediction found; each is read on white and on black."""

    RIGHT = ("✓", "#2e7d32")
    WRONG = ("✗", "#b3261e")
    OPEN = ("…", "#5f6368")


class Told(NamedTuple):
    """Lines of prose below a cell; with a mark, a page shows its sign and colour before the first."""

    lines: Sequence[str]
    mark: Mark | None = None

    def __repr__(self) -> str:
        return "\n".join(
            fill(visible(line, lines=True), WIDTH, break_long_words=False, break_on_hyphens=False)
            for line in self.lines
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        if self.mark is None:
            return {"text/plain": repr(self)}
        sign, colour = self.mark.value
        texts = "<br>".join(escape(visible(line, lines=True)) for line in self.lines)
        badge = f'<span style="background:{colour};color:#fff;padding:0 .4em;border-radius:.3em">{sign}</span>'
        style = f"border-left:4px solid {colour};padding:.1em .8em;overflow-wrap:anywhere"
        html = f'<div style="{style}">{badge} {texts}</div>'
        return bundle(repr(self), html)


def tell(*lines: str, mark: Mark | None = None) -> None:
    """Show lines of prose below a cell; print them where no notebook runs."""
    told, ipython = Told(lines, mark), sys.modules.get("IPython")
    if mark and ipython and ipython.get_ipython():
        ipython.display.display(told)
    else:
        print(told)  # noqa: T201  for a cell


class State(Enum):
    """How far an exercise is; the value is what a check begins with."""

    NOT_YET = "Not done yet"
    WRONG = "Not right yet"
    DONE = "Done"

    @property
    def mark(self) -> Mark:
        """Its sign and colour."""
        return {State.NOT_YET: Mark.OPEN, State.WRONG: Mark.WRONG, State.DONE: Mark.RIGHT}[self]


class Verdict(NamedTuple):
    """What a check found, in a sentence for the person who did it."""

    state: State
    says: str
    seen: str = ""
    """What the sandbox shows, such as K3,550.00."""
    expected: str = ""
    """What it should show."""
    at: str = ""
    """A piece of the line that did it, such as `amount=`: the last line of the cell that has it is named."""


not_yet, wrong, done = (partial(Verdict, state) for state in State)
"""Each with its sentence: what is missing; what was done, and why it is not what was asked; what was found."""


_TYPES = {"Decimal", "int", "str"}
"""Names around a literal that leave it one: `int(700)`."""


def same(seen: object, expected: object, says: str, at: str, shown: Callable[[Any], str] = repr) -> Iterator[Verdict]:
    """What is wrong where one is not as the other; True is not 1."""
    if type(seen) is not type(expected) or seen != expected:
        yield wrong(says, shown(seen), shown(expected), at)


class Cell(NamedTuple):
    """What a person wrote in the cell of a check; without lines where its code is not known."""

    lines: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: str) -> "Cell":
        """The cell with this source."""
        return cls(tuple(source.splitlines(keepends=True)))

    @classmethod
    def of_file(cls, name: str) -> "Cell":
        """The cell that a kernel runs under this name."""
        return cls(tuple(linecache.getlines(name)))

    def line_with(self, piece: str) -> str:
        """The last line that has this in it, with its number; empty where there is none, or it may be another's."""
        checks = {line.rstrip() for line in self.lines if line.lstrip().startswith(_CHECK)}
        # A script of several exercises, or one that checks in a loop, is no cell.
        if len(checks) != 1 or not checks.pop().startswith(_CHECK):
            return ""
        found = [
            f"line {number}: {line.strip()}"
            for number, line in enumerate(self.lines, 1)
            if piece in line and not line.startswith(_CHECK)
        ]
        return found[-1] if found and piece else ""

    def is_as_in(self, shipped: str) -> bool:
        """Whether it still does what the notebook as it came does; comments and blank lines do not count."""
        return bool(self.lines) and ast.dump(self._tree()) == ast.dump(ast.parse(shipped))

    def literal_of(self, name: str) -> str:
        """What is assigned to a name last, where it is a text or a number that was typed; else empty."""
        values = [
            statement.value
            for statement in self._tree().body
            if isinstance(statement, ast.Assign) and name in [getattr(target, "id", "") for target in statement.targets]
        ]
        names = {node.id for value in values[-1:] for node in ast.walk(value) if isinstance(node, ast.Name)}
        return ast.unparse(values[-1]) if values and names <= _TYPES else ""

    def _tree(self) -> ast.Module:
        try:
            return ast.parse("".join(self.lines))
        except SyntaxError:
            # A line of IPython's own.
            return ast.Module([], [])


class Exercise(NamedTuple):
    """One thing to do in a notebook. The cell that it stands in is tagged `exercise` and ends with its check."""

    name: str
    notebook: str
    """Its slug."""
    hints: Sequence[str]
    """From a nudge to nearly all of it."""
    solution: str
    """Code for the cell, above its check. It may be run twice."""
    check: Callable[..., Iterator[Verdict]]
    """Yields what applies; the first verdict counts, and nothing after it is looked at.

    Its arguments' names are those that a person reads when it was called with others.
    """
    may_change: Sequence[str] = ()
    """The arguments of its function that belong to whoever calls it, and that it may change."""
    repair: bool = False
    """Whether its cell comes with broken code to repair: a function, which nothing calls until it was changed."""

    @property
    def title(self) -> str:
        """A few words, as the notebook has them."""
        return _written(self.notebook, self.name).title

    @property
    def task(self) -> str:
        """The paragraph of the notebook."""
        return _written(self.notebook, self.name).task

    @property
    def cell(self) -> str:
        """The code of its cell, as the notebook came."""
        return _written(self.notebook, self.name).cell


class _Written(NamedTuple):
    title: str
    task: str
    cell: str


_CHECK = "exercises.check("


@cache
def _written(notebook: str, name: str) -> _Written:
    """What a notebook says of an exercise in the text above its check, `**Title.** Task`, and the cell of the check."""
    cells = json.loads(course()[notebook].path.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    place = next(place for place, source in enumerate(sources) if f'{_CHECK}"{name}"' in source)
    ((title, task),) = re.findall(r"^\*\*(.+)\.\*\* (.+)$", sources[place - 1], re.MULTILINE)
    return _Written(str(title), str(task), sources[place])


class Bench(Protocol):
    """What checks ask of a Workbench, which stands above them."""

    http: "httpx.Client"
    base_url: str
    secret_key: "Secret"
    operator: "Operator"
    receiver: "Receiver"
    receiver_url: str
    trace: "Trace"
    gaps: "GapRows"
    ledger: Any
    """DataFrames of the analysis, which the Lab does not know; so are `tables`."""
    tables: Any
    looking: "Callable[[], PaymentsClient]"
    """A client whose reading leaves no trace."""


@contextmanager
def fresh(bench: Bench, **options: object) -> "Iterator[Any]":
    """Another sandbox of the same kind and of one seed, in which a person's function can be tried without a trace."""
    workbench: Any = type(bench)
    with workbench(seed="a try", **options) as another:
        yield another


def calls_of(bench: Any) -> "list[TracedCall]":  # noqa: ANN401  a Bench, or a Workbench as of `fresh`
    """The calls of a bench's trace, as they went over the wire."""
    from workbench.domain.wire.ledger_and_trace import CALL, call_of

    return [call_of(row) for row in bench.trace if row["kind"] == CALL]


class Reconciled(Protocol):
    """What checks ask of a reconciliation, which the Lab does not know either."""

    breaks: "pd.DataFrame"
    proof: "pd.DataFrame"


SOMEBODY = "+260961234567"
"""A number whose handset waits for a person; a charge on it is paid at once."""


def number_of(scenario: str) -> str:
    """The test number that acts a scenario out by itself."""
    # Here, as below, so that the exercises alone load little.
    from workbench.domain.scenarios import SCENARIOS

    return f"+26096{SCENARIOS[scenario].numbers[0].ending}"


def kwacha(minor: int) -> str:
    """An amount for a sentence: 123450 is K1,234.50."""
    from workbench.domain.money import ZMW, money_text

    return money_text(minor, ZMW.code)


def verdict_on(exercise: Exercise, given: tuple[object, ...], cell: Cell) -> Verdict:
    """What becomes of an answer; nothing that goes wrong in a check, or in a person's code, is raised."""
    if any(value is ... for value in given):
        return not_yet("Your answer is still open.")
    if any(value is None for value in given):
        return not_yet("Your answer is None. A call that prints, or that changes its object, returns nothing else.")
    if exercise.repair and cell.is_as_in(exercise.cell):
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
    """What the check yields, or what a person is told where it or their function stopped."""
    watched: Watched | None = None
    try:
        for name, came in functions_in(exercise.cell).items():
            look_at(came, functions_in(exercise.solution)[name], handed[name])
            handed[name] = watched = Watched(handed[name], exercise.may_change)
        with bounded():
            return next(exercise.check(**handed))
    except ServiceUnreachable:
        return not_yet("The sandbox does not respond; it may be closed. Run the notebook from its first cell.")
    except Fault as fault:
        return wrong(f"{fault.says}{line_of(fault)}", fault.seen, fault.expected, fault.at)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever was handed over is a person's first try
        return _of_error(error, watched, [*handed.values()][-1])


def _of_error(error: BaseException, watched: Watched | None, answer: object) -> Verdict:
    """What a person is told of an error: where their code stopped, or what the check could not use."""
    what, place = f"{type(error).__name__}: {str(error).removesuffix('.')}", line_of(error)
    if place:
        called = f"Called as {watched.call}, your" if watched and watched.call else "Your"
        return wrong(f"{called} code stopped with {what}{place}")
    seen = watched.returned if watched else answer
    returned = "what your function returned" if watched else "what it was handed"
    return wrong(f"The check cannot use {returned} ({what}).", seen=brief(seen), expected="what the task asks for")


def _unless_typed(exercise: Exercise, handed: Mapping[str, object], cell: Cell, verdict: Verdict) -> Verdict:
    """The verdict, unless the answer is right for this run alone: typed, where code should find it."""
    for name in handed:
        literal = cell.literal_of(name)
        if literal and verdict.state is State.DONE and not Cell.of(exercise.solution).literal_of(name):
            return wrong(
                f"This is right, and it is typed: with another seed it would not be. Let code find {name}.",
                seen=literal, expected="code", at=f"{name} =",
            )  # fmt: skip
    return verdict
