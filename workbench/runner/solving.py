"""A notebook with its exercises done: the solution stands where a person would write."""

import os
import re

import nbformat

from workbench.errors import RunRefused
from workbench.lab.exercises import MUST_BE_DONE
from workbench.lab.exercises.tasks import EXERCISES

_TAG = "exercise"
_CHECK = re.compile(r'^exercises\.check\(\s*"(\w+)"', re.MULTILINE)


def let_checks_raise(wanted: bool) -> None:  # noqa: FBT001  it is the one thing that there is to say
    """Whether, in kernels started from now on, a check raises that is not done. Else it prints, as for a person."""
    os.environ[MUST_BE_DONE] = "1" if wanted else "0"


def solved(node: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with the code of its solutions above each check.

    An exercise's cell is tagged `exercise` and ends with `exercises.check("its_name", …)`.
    Raises RunRefused: a cell without a check at a line's beginning, or with the check of no exercise.
    """
    codes = {each.name: each.solution for each in EXERCISES}
    for cell in node.cells:
        if _TAG in cell.metadata.get("tags", ()):
            check = _CHECK.search(cell.source)
            if check is None or check[1] not in codes:
                named = f"of {check[1]!r}, which is no exercise" if check else "of no exercise"
                raise RunRefused(f"A cell tagged {_TAG} has the check {named}:\n{cell.source}")
            cell["source"] = f"{codes[check[1]]}\n{cell.source[check.start() :]}"
    return node
