"""An integration workbench for mobile-money payments in Zambia.

>>> from workbench import Workbench
>>> bench = Workbench(seed=7)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.analysis import files, shapes
    from workbench.analysis.frames import money
    from workbench.analysis.reconcile import CarryForward, reconcile
    from workbench.analysis.simulate import Traffic
    from workbench.analysis.statements import (
        LAYOUTS,
        Preamble,
        draft_layout,
        ledger_columns,
        read_ledger,
        read_statement,
        write_statement,
    )
    from workbench.bench import Workbench
    from workbench.domain.masking import mask
    from workbench.domain.moments import LUSAKA
    from workbench.domain.money import Money
    from workbench.domain.reading import as_text
    from workbench.domain.signatures import verify
    from workbench.lab import exercises
    from workbench.merchant.client import PaymentsClient
    from workbench.merchant.receiver import Receiver
    from workbench.resources import fixture
    from workbench.text.render import is_live, picture, table

__all__ = [
    "LAYOUTS",
    "LUSAKA",
    "CarryForward",
    "Money",
    "PaymentsClient",
    "Preamble",
    "Receiver",
    "Traffic",
    "Workbench",
    "as_text",
    "draft_layout",
    "exercises",
    "files",
    "fixture",
    "is_live",
    "ledger_columns",
    "mask",
    "money",
    "picture",
    "read_ledger",
    "read_statement",
    "reconcile",
    "shapes",
    "table",
    "verify",
    "write_statement",
]

_NAMES_OF = {
    "analysis.files": "files",
    "analysis.frames": "money",
    "analysis.reconcile": "CarryForward reconcile",
    "analysis.shapes": "shapes",
    "analysis.simulate": "Traffic",
    "analysis.statements": "LAYOUTS Preamble draft_layout ledger_columns read_ledger read_statement write_statement",
    "bench": "Workbench",
    "domain.masking": "mask",
    "domain.moments": "LUSAKA",
    "domain.money": "Money",
    "domain.reading": "as_text",
    "domain.signatures": "verify",
    "lab.exercises": "exercises",
    "merchant.client": "PaymentsClient",
    "merchant.receiver": "Receiver",
    "resources": "fixture",
    "text.render": "is_live picture table",
}
"""Module of this package → its names, or the module itself, that users import from here."""
_HOMES = {name: f"workbench.{module}" for module, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Loads a public name at its first use: `workbench --help` needs no public name."""
    if name not in _HOMES:
        message = f"module 'workbench' has no attribute {name!r}"
        raise AttributeError(message)
    from workbench.extras import extras_named, httpx_alone

    with extras_named(), httpx_alone():
        home = import_module(_HOMES[name])
    return getattr(home, name, home)  # a few are modules themselves


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Registers the cell magic `%%http`; `%load_ext workbench` calls this function."""
    from workbench.lab.magics import load

    load(shell)
