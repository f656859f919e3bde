"""What an exercise is, how a try is judged, and what its check can ask of a bench."""

import ast
import inspect
import json
import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache, partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbench.errors import ServiceUnreachable
from workbench.resources import course
from workbench.visible import visible

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from workbench.client import PaymentsClient
    from workbench.control import Operator
    from workbench.domain.masking import Secret
    from workbench.receiver import Receiver
    from workbench.register import GapRows
    from workbench.trace import Trace


WIDTH = 76
"""In letters; a line of this width is not broken once more in a notebook beside a handset."""


def tell(*lines: str) -> None:
    """Print lines of prose below a cell."""
    for line in lines:
        print(fill(visible(line, lines=True), WIDTH, break_long_words=False, break_on_hyphens=False))  # noqa: T201  for a cell


class State(Enum):
    """How far an exercise is; the value is what a check begins with."""

    NOT_YET = "Not done yet"
    WRONG = "Not right yet"
    DONE = "Done"


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


class Cell(NamedTuple):
    """What a person wrote in the cell of a check; without lines where its code is not known."""

    lines: tuple[str, ...] = ()

    @classmethod
    def of_file(cls, name: str) -> "Cell":
        """The cell that a kernel runs under this name."""
        return cls(tuple(linecache.getlines(name)))

    def line_with(self, piece: str) -> str:
        """The last line that has this in it, with its number; empty where there is none."""
        found = [
            f"line {number}: {line.strip()}"
            for number, line in enumerate(self.lines, 1)
            if piece in line and not line.startswith(_CHECK)
        ]
        return found[-1] if found and piece else ""

    def is_as_in(self, shipped: str) -> bool:
        """Whether it still does what the notebook as it came does; comments and blank lines do not count."""
        try:
            return bool(self.lines) and ast.dump(ast.parse("".join(self.lines))) == ast.dump(ast.parse(shipped))
        except SyntaxError:
            # A line of IPython's own: not what came.
            return False


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
    repair: bool = False
    """Whether its cell comes with broken code to mend: a function, which nothing calls until it was changed."""

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
    sources = ["".join(each["source"]) for each in cells]
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


class Reconciled(Protocol):
    """What checks ask of a reconciliation, which the Lab does not know either."""

    breaks: "pd.DataFrame"
    proof: "pd.DataFrame"


def kwacha(minor: int) -> str:
    """An amount for a sentence: 123450 is K1,234.50."""
    from workbench.domain.money import ZMW, money_text

    return money_text(minor, ZMW.code)


_OF_OTHERS = (
    str(Path(__file__).parents[2]),
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    "<frozen ",
)
"""Where code stands that no learner has written."""


def line_of(error: BaseException) -> str:
    """Where in a person's own code an error arose, to end a sentence with; empty where it did not pass through any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not each.filename.startswith(_OF_OTHERS)]
    if not own:
        return ""
    first, last = own[-1].lineno, own[-1].end_lineno or own[-1].lineno
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    code = f": {own[-1].line}" if own[-1].line else ""
    return f", in {lines} of {own[-1].name}{code}"


def verdict_on(exercise: Exercise, given: tuple[object, ...], cell: Cell) -> Verdict:
    """What becomes of an answer; nothing that goes wrong in a check, or in a person's code, is raised."""
    if any(each is None or each is ... for each in given):
        return not_yet("Your answer is still open.")
    if exercise.repair and cell.is_as_in(exercise.cell):
        return not_yet(
            "You have not changed the code yet. Find the mistake, change it and run the cell: the check then calls it."
        )
    signature = inspect.signature(exercise.check)
    try:
        signature.bind(*given)
    except TypeError:
        names = ", ".join([f'"{exercise.name}"', *signature.parameters])
        return wrong(f"The check is written exercises.check({names}).")
    try:
        return next(exercise.check(*given))
    except ServiceUnreachable:
        return not_yet("The sandbox does not respond; it may be closed. Run the notebook from its first cell.")
    except Exception as error:  # noqa: BLE001  whatever was handed over is a person's first try
        place = line_of(error)
        what = f"{type(error).__name__}: {str(error).removesuffix('.')}{place}"
        return wrong(f"Your code stopped with {what}" if place else f"The check stopped with {what}")
