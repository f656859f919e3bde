"""Parameters from the command line, as the types that a notebook's parameters cell declares."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

import nbformat

from workbench.errors import RunRefused
from workbench.runner.quiet import papermill

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_READ: Mapping[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: _TRUTH[text.lower()],
    "Decimal": lambda text: str(Decimal(text)),
    "None": str,
}


def typed(notebooks: Sequence[Path], parameters: Mapping[str, str]) -> dict[Path, dict[str, object]]:
    """For each notebook, those of `parameters` that it declares.

    Raises RunRefused: a name that none declares, or a text that is not of the declared type.
    """
    if not parameters:
        return {each: {} for each in notebooks}
    declared = {each: _declared(each) for each in notebooks}
    known = {name for names in declared.values() for name in names}
    if not any(map(_cell, notebooks)):
        raise RunRefused(
            f"No cell of {', '.join(each.name for each in notebooks)} is tagged parameters: -p has nothing to set.",
            hint="Tag the cell that assigns them.",
        )
    if unknown := sorted(set(parameters) - known):
        raise RunRefused(
            f"No notebook takes a parameter {', '.join(unknown)}; they take {', '.join(sorted(known)) or 'none'}.",
            unknown=unknown,
        )
    return {
        each: {name: _read(name, text, names[name]) for name, text in parameters.items() if name in names}
        for each, names in declared.items()
    }


def _cell(notebook: Path) -> nbformat.NotebookNode | None:
    """The cell tagged `parameters`, if there is one; a notebook that cannot be read fails when it is run."""
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    except Exception:  # noqa: BLE001  whatever a file that is no notebook leads to
        return None
    return next((each for each in cells if "parameters" in each.metadata.get("tags", ())), None)


def _declared(notebook: Path) -> dict[str, str]:
    """The names in the cell tagged `parameters`, and their types, as papermill reads them."""
    papermill()
    from papermill.translators import PythonTranslator

    cell = _cell(notebook)
    try:
        return {each.name: each.inferred_type_name for each in PythonTranslator.inspect(cell)} if cell else {}
    except Exception:  # noqa: BLE001  a cell that cannot be read fails when it is run
        return {}


def _read(name: str, text: str, kind: str) -> object:
    try:
        return _READ.get(kind, str)(text)
    except (ValueError, KeyError, InvalidOperation):
        raise RunRefused(f"The parameter {name} is of type {kind}, which {text!r} is not.", name=name) from None
