"""Inspects a person's function before a check calls it, and watches the calls."""

import ast
import inspect
import re
import signal
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeAlias

Given: TypeAlias = Any
"""Any value that a person hands over: a function's result, a class, a reconciliation."""
LIMIT_S = 10
"""A check takes a second; a function that loops without end, or sleeps, is stopped after this many seconds."""
_OF_THE_NOTEBOOK = ("bench", "pay")
"""Names from a cell above that a function may use by mistake in place of its arguments."""
_SHORT = 12
"""The most letters of a text that a message shows: a status is short enough, a phone number or an id is not."""
_OF_OTHERS = (str(Path(__file__).parents[2]), sysconfig.get_paths()["stdlib"], "<frozen ")
_INSTALLED = "-packages"
"""Part of the path of installed libraries, site-packages or dist-packages, whose code no learner has written."""


class Fault(BaseException):
    """A fault of a function, in the words of a verdict. A person's `except Exception` does not catch this error."""


def functions_in(source: str) -> dict[str, ast.FunctionDef]:
    """Name → function that a cell defines."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def look_at(came: ast.FunctionDef, solution: ast.FunctionDef, given: object) -> None:
    """Raises Fault for mistakes that are visible without a call: other arguments, no return, the notebook's names.

    `came` is the shipped function, `solution` the solved one, `given` the person's.
    """
    name, arguments = came.name, [argument.arg for argument in came.args.args]
    if not callable(given):
        raise Fault(f"{name} is no function any more.", type(given).__name__, "a function", f"{name} =")
    try:
        signature = inspect.signature(given)
        signature.bind(*arguments)
    except TypeError:
        says = f"The check calls {name} with {len(arguments)} arguments: leave them as they were."
        raise Fault(says, f"{name}{signature}", f"{name}({', '.join(arguments)})", f"def {name}") from None
    if inspect.iscoroutinefunction(given):
        raise Fault(f"Write def without async: a call of {name} would not run it.", "async def", "def", "async def")
    if inspect.isgeneratorfunction(given):
        raise Fault(f"{name} has a yield, so a call of it runs nothing.", "yield", "return", "yield")
    try:
        (code,) = functions_in(dedent(inspect.getsource(given))).values()
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
        if _calls(code) or _calls(came):
            raise Fault(f"{name} has no return with a value, so it returns None.", "None", "a value", f"def {name}")


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))


def _calls(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Call | ast.Raise) for node in ast.walk(function))


class Watched:
    """A person's function, with its last call as text and the last result."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self.call = ""
        self.returned: object = None

    def __call__(self, *given: object) -> Given:
        """Calls the function. Raises Fault: the function changes a dict or a table among its arguments."""
        name = getattr(self._function, "__name__", "the function")
        arguments: dict[str, Any] = dict(zip(inspect.signature(self._function).parameters, given, strict=False))
        self.call = _shown(name, arguments)
        before = {
            argument: deepcopy(value)
            for argument, value in arguments.items()
            if isinstance(value, dict) or hasattr(value, "columns")  # a table
        }
        self.returned = self._function(*given)
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
    """Raises Fault in a block that runs longer than LIMIT_S; only in the main thread, and if the system has a timer."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Fault(f"Your code had not ended after {LIMIT_S} seconds: it loops without end, waits too long, or sleeps")

    handler = signal.signal(signal.SIGALRM, stop)
    # The timer repeats each second: a bare `except:` inside the loop may swallow the first Fault.
    left, interval = signal.setitimer(signal.ITIMER_REAL, LIMIT_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, handler)


def line_of(error: BaseException) -> str:
    """The end of a sentence that names the line of a person's code where an error arose; empty if there is none."""
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


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def brief(value: object) -> str:
    """A value as one line of text, at most 160 letters long."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(_ADDRESS.sub("", text).split())
    return text if len(text) <= 160 else f"{text[:150]} …"  # noqa: PLR2004  two lines of a cell
