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

_HOMES = {
    "CarryForward": "workbench.analysis.reconcile",
    "LAYOUTS": "workbench.analysis.statements",
    "LUSAKA": "workbench.domain.moments",
    "Money": "workbench.domain.money",
    "PaymentsClient": "workbench.merchant.client",
    "Preamble": "workbench.analysis.statements",
    "Receiver": "workbench.merchant.receiver",
    "Traffic": "workbench.analysis.simulate",
    "Workbench": "workbench.bench",
    "as_text": "workbench.domain.reading",
    "draft_layout": "workbench.analysis.statements",
    "exercises": "workbench.lab.exercises",
    "files": "workbench.analysis.files",
    "fixture": "workbench.resources",
    "is_live": "workbench.text.render",
    "ledger_columns": "workbench.analysis.statements",
    "mask": "workbench.domain.masking",
    "money": "workbench.analysis.frames",
    "picture": "workbench.text.render",
    "read_ledger": "workbench.analysis.statements",
    "read_statement": "workbench.analysis.statements",
    "reconcile": "workbench.analysis.reconcile",
    "shapes": "workbench.analysis.shapes",
    "table": "workbench.text.render",
    "verify": "workbench.domain.signatures",
    "write_statement": "workbench.analysis.statements",
}


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
