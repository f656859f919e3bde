"""Describes an exercise and judges a try: inspects the learner's function, observes its calls, and runs the check."""

import ast
import inspect
import json
import re
import signal
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple, TypeAlias

from workbench.errors import ServiceUnreachable
from workbench.lab.exercises.verdicts import State, Verdict, brief, not_yet, wrong
from workbench.resources import course

Answer: TypeAlias = Any
"""Any value that a learner passes to a check: a function's result, a class, a reconciliation."""
LIMIT_S = 10
"""Seconds after which a function is stopped, because it loops without end or sleeps; a check takes one second."""
_OF_THE_NOTEBOOK = ("bench", "pay")
"""Names from cells above, which a function may use by mistake instead of its arguments."""
_SHORT = 12
"""The most characters of a text that a message shows: a status is short enough, a phone number or an id is not."""
_OF_OTHERS = (str(Path(__file__).parents[2]), sysconfig.get_paths()["stdlib"], "<frozen ")
_INSTALLED = "-packages"
"""Part of the paths of installed libraries (site-packages or dist-packages), whose code is not the learner's."""


class Fault(BaseException):
    """A fault of a function, worded as a verdict. No Exception: `except Exception` in the function lets it pass."""


def functions_in(source: str) -> dict[str, ast.FunctionDef]:
    """Name → function defined in the code of a cell."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def look_at(shipped: ast.FunctionDef, solution: ast.FunctionDef, function: object) -> None:
    """Raises Fault for mistakes that are visible without a call: other arguments, no return, the notebook's variables.

    `shipped` is the function in the shipped notebook, `solution` the solved one, `function` the learner's.
    """
    name, arguments = shipped.name, [argument.arg for argument in shipped.args.args]
    if not callable(function):
        raise Fault(f"{name} is no function any more.", type(function).__name__, "a function", f"{name} =")
    try:
        signature = inspect.signature(function)
        signature.bind(*arguments)
    except TypeError:
        says = f"The check calls {name} with {len(arguments)} arguments: leave them as they were."
        raise Fault(says, f"{name}{signature}", f"{name}({', '.join(arguments)})", f"def {name}") from None
    if inspect.iscoroutinefunction(function):
        raise Fault(f"Write def without async: a call of {name} would not run it.", "async def", "def", "async def")
    if inspect.isgeneratorfunction(function):
        raise Fault(f"{name} has a yield, so a call of it runs nothing.", "yield", "return", "yield")
    try:
        (code,) = functions_in(dedent(inspect.getsource(function))).values()
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    used = [node for node in ast.walk(code) if isinstance(node, ast.Name)]
    own = {node.arg for node in ast.walk(code) if isinstance(node, ast.arg)}
    own |= {node.id for node in used if isinstance(node.ctx, ast.Store)}
    names = {node.id for node in used}
    for word in names.intersection(_OF_THE_NOTEBOOK) - own:
        says = f"{name} uses the notebook's {word}, and the check hands it another sandbox. Use its arguments."
        raise Fault(says, word, " or ".join(signature.parameters), f"{word}.")
    if _returns(solution) and not _returns(code):
        if "print" in names:
            raise Fault(f"{name} prints its result and returns None.", "print", "return", "print(")
        if _calls(code) or _calls(shipped):
            raise Fault(f"{name} has no return with a value, so it returns None.", "None", "a value", f"def {name}")


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))


def _calls(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Call | ast.Raise) for node in ast.walk(function))


class Watched:
    """A learner's function, with its last call as text and its last result."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self.call = ""
        self.returned: object = None

    def __call__(self, *values: object) -> Answer:
        """Calls the function and returns its result. Raises Fault: the call changed a dict or table among `values`."""
        name = getattr(self._function, "__name__", "the function")
        arguments: dict[str, Any] = dict(zip(inspect.signature(self._function).parameters, values, strict=False))
        self.call = _shown(name, arguments)
        before = {
            argument: deepcopy(value)
            for argument, value in arguments.items()
            if isinstance(value, dict) or hasattr(value, "columns")  # a table
        }
        self.returned = self._function(*values)
        for argument, value in before.items():
            now = arguments[argument]
            if not (value == now if isinstance(value, dict) else value.equals(now)):
                moved = [f"{part!r} is new" for part in now if part not in value]
                moved += [f"{part!r} is gone" for part in value if part not in now]
                says = f"{name} changes {argument}, which belongs to whoever calls it. Work on a copy."
                raise Fault(says, [*moved, "another value"][0], f"{argument} as it was", argument)
        return self.returned


def _shown(name: str, arguments: Mapping[str, object]) -> str:
    """A call as text for a sentence; empty if no argument is short enough to show."""
    telling = {
        argument: repr(value)
        for argument, value in arguments.items()
        if value is None or isinstance(value, int) or (isinstance(value, str) and len(value) <= _SHORT)
    }
    return f"{name}({', '.join(telling.get(argument, argument) for argument in arguments)})" if telling else ""


@contextmanager
def bounded() -> Iterator[None]:
    """In the block, raises Fault after LIMIT_S seconds; only in the main thread of a system with timers."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Fault(f"Your code had not ended after {LIMIT_S} seconds: it loops without end, waits too long, or sleeps")

    handler = signal.signal(signal.SIGALRM, stop)
    # The timer repeats each second: a bare `except:` inside the loop may swallow the first Fault.
    remaining_s, interval = signal.setitimer(signal.ITIMER_REAL, LIMIT_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining_s, interval)
        signal.signal(signal.SIGALRM, handler)


def line_of(error: BaseException) -> str:
    """The end of a sentence that names the line of the learner's code where an error arose; empty if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if frame.line and _INSTALLED not in frame.filename and not frame.filename.startswith(_OF_OTHERS)
    ]
    if not own:
        return ""
    first, last = own[-1].lineno, own[-1].end_lineno or own[-1].lineno
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return f", in {lines} of {own[-1].name}: {own[-1].line}"


_TYPES = {"Decimal", "int", "str"}
"""Types whose call with a literal counts as a literal too: `int(700)`."""


class Cell(NamedTuple):
    """The code of the cell with a check; empty if it is unknown."""

    source: str

    def line_with(self, piece: str) -> str:
        """The last line that contains `piece`, with its number; empty if there is none, or in a script."""
        lines = self.source.splitlines()
        checks = {line.rstrip() for line in lines if line.lstrip().startswith(_CHECK)}
        # A script of several exercises, or a script that checks in a loop, is no cell.
        if len(checks) != 1 or not checks.pop().startswith(_CHECK):
            return ""
        matches = [
            f"line {number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if piece in line and not line.startswith(_CHECK)
        ]
        return matches[-1] if matches and piece else ""

    def is_as_in(self, shipped: str) -> bool:
        """True if the cell's code equals the `shipped` code, apart from comments and blank lines."""
        return bool(self.source) and ast.dump(self._tree()) == ast.dump(ast.parse(shipped))

    def literal_of(self, name: str) -> str:
        """The literal that the cell assigned last to a name; empty if the last value is no literal."""
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
    """An exercise in its notebook: title and task from the text above, `**Title.** Task`, and the cell of the check."""

    title: str
    task: str
    cell: str


_CHECK = "exercises.check("


@dataclass(frozen=True)
class Exercise:
    """A task in a notebook. Its cell is tagged `exercise` and ends with the check."""

    name: str
    notebook: str
    """The notebook's slug."""
    hints: Sequence[str]
    """Hints, from a first nudge to almost the whole solution."""
    solution: str
    """Code for the cell, above the check; it may run twice."""
    check: Callable[..., Iterator[Verdict]]
    """Yields verdicts, of which only the first is taken.

    If a person calls the check with wrong arguments, the message names the function's arguments.
    """
    repair: bool = False
    """True if the cell has a broken function to repair; the check does not call it before the learner changes it."""

    @cached_property
    def written(self) -> Written:
        """The title, task and cell in the shipped notebook."""
        cells = json.loads(course()[self.notebook].path.read_text("utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
        place = next(place for place, source in enumerate(sources) if f'{_CHECK}"{self.name}"' in source)
        ((title, task),) = re.findall(r"^\*\*(.+)\.\*\* (.+)$", sources[place - 1], re.MULTILINE)
        return Written(title, task, sources[place])


def verdict_on(exercise: Exercise, answers: tuple[object, ...], cell: Cell) -> Verdict:
    """Judges the `answers` in a call of the check; an error in the check or in the learner's code becomes a verdict."""
    if any(value is ... for value in answers):
        return not_yet("Your answer is still open.")
    if any(value is None for value in answers):
        return not_yet("Your answer is None. A call that prints, or that changes its object, returns nothing else.")
    if exercise.repair and cell.is_as_in(exercise.written.cell):
        return not_yet(
            "You have not changed the code yet. Find the mistake, change it and run the cell: the check then calls it."
        )
    signature = inspect.signature(exercise.check)
    try:
        arguments = signature.bind(*answers).arguments
    except TypeError:
        names = ", ".join([f'"{exercise.name}"', *signature.parameters])
        return wrong(f"The check is written exercises.check({names}).")
    if "bench" in arguments and not hasattr(arguments["bench"], "looking"):
        return wrong("The check looks into the sandbox: hand it your Workbench.", brief(arguments["bench"]), "bench")
    return _unless_typed(exercise, arguments, cell, _tried(exercise, arguments))


def _tried(exercise: Exercise, arguments: dict[str, Any]) -> Verdict:
    """Runs the check with its arguments; an error of the check or of the learner's function becomes a verdict."""
    watched: Watched | None = None
    try:
        for name, shipped in functions_in(exercise.written.cell).items():
            look_at(shipped, functions_in(exercise.solution)[name], arguments[name])
            arguments[name] = watched = Watched(arguments[name])
        with bounded():
            return next(exercise.check(**arguments))
    except ServiceUnreachable:
        return not_yet("The sandbox does not respond; it may be closed. Run the notebook from its first cell.")
    except Fault as fault:
        says, *details = fault.args
        return wrong(f"{says}{line_of(fault)}", *details)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever was handed over is a person's first try
        return _verdict_on_error(error, watched, [*arguments.values()][-1])


def _verdict_on_error(error: BaseException, watched: Watched | None, answer: object) -> Verdict:
    """The verdict on an error: names the line where the learner's code stopped, or the value that the check cannot use.

    That value is the last result of the `watched` function or, if there is none, the `answer`.
    """
    problem, place = f"{type(error).__name__}: {str(error).removesuffix('.')}", line_of(error)
    if place:
        called = f"Called as {watched.call}, your" if watched and watched.call else "Your"
        return wrong(f"{called} code stopped with {problem}{place}")
    value = watched.returned if watched else answer
    source = "what your function returned" if watched else "what it was handed"
    return wrong(f"The check cannot use {source} ({problem}).", seen=brief(value), expected="what the task asks for")


def _unless_typed(exercise: Exercise, arguments: Mapping[str, object], cell: Cell, verdict: Verdict) -> Verdict:
    """The verdict; but `wrong` if the cell assigns the right answer as a literal, since other seeds have other answers.

    A literal that the exercise's solution has too is no mistake.
    """
    for name in arguments:
        literal = cell.literal_of(name)
        if literal and verdict.state is State.DONE and not Cell(exercise.solution).literal_of(name):
            says = f"This is right, and it is typed: with another seed it would not be. Let code find {name}."
            return wrong(says, literal, "code", f"{name} =")
    return verdict
