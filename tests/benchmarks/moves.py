"""Counts how many of the package's files one confirm passes, and how often it moves between two of them.

    python -m tests.benchmarks.moves [--each]

The confirm is `payment_intents.confirm` in process, in the thread that calls: from the client to the webhook, which
the workbench's own receiver gets and judges before the call returns. The same calls have run once before, so that
nothing is loaded or prepared meanwhile. A file counts if one of its functions is called. A call from a function of one
file into a function of another is two moves: there and back. What other libraries do between the two, such as httpx,
counts for nobody. `--each` lists the calls in their order, with their functions.
"""

import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import workbench
from workbench import Workbench

_PACKAGE = Path(workbench.__file__).parent


class Passed(NamedTuple):
    """The files that were passed, and the calls from a function of one file into one of another, in their order."""

    files: set[str]
    calls: list[tuple[CodeType, CodeType]]

    @property
    def moves(self) -> int:
        """Calls between files and the returns from them."""
        return 2 * len(self.calls)

    @property
    def by_files(self) -> Counter[tuple[str | None, str | None]]:
        """The number of calls by (file of the caller, file that is called)."""
        return Counter((_path_of(caller), _path_of(called)) for caller, called in self.calls)


def passed_by(do: Callable[[], object]) -> Passed:
    """Do something in this thread, and count what it passes."""
    passed = Passed(set(), [])

    def count(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (path := _path_of(frame.f_code)) is None:
            return
        passed.files.add(path)
        caller = frame.f_back
        while caller is not None and _path_of(caller.f_code) is None:
            caller = caller.f_back
        if caller is not None and _path_of(caller.f_code) != path:
            passed.calls.append((caller.f_code, frame.f_code))

    sys.setprofile(count)
    try:
        do()
    finally:
        sys.setprofile(None)
    return passed


def passed_by_confirm() -> Passed:
    """What the second confirm of a sandbox passes."""
    with Workbench(seed=7) as bench:
        intents = bench.client.payment_intents

        def created() -> Callable[[], object]:
            intent = intents.create(amount=Decimal("150.00"), currency="ZMW", payment_method_types=["mobile_money"])
            return partial(intents.confirm, intent.id, phone="+260961234567", provider="mtn")

        created()()
        return passed_by(created())


def _path_of(code: CodeType) -> str | None:
    path = Path(code.co_filename)
    return str(path.relative_to(_PACKAGE)) if path.is_relative_to(_PACKAGE) else None


if __name__ == "__main__":
    counted = passed_by_confirm()
    if "--each" in sys.argv:
        for call in counted.calls:
            print(" → ".join(f"{_path_of(code)}:{code.co_qualname}" for code in call))  # noqa: T201  its answer
    for (caller, called), times in counted.by_files.most_common():
        print(f"{times:3} {caller} → {called}")  # noqa: T201  its answer
    print(f"{len(counted.files)} files, {counted.moves} moves")  # noqa: T201  its answer
