"""An integration workbench for mobile-money payments in Zambia.

>>> from workbench import Workbench
>>> bench = Workbench(seed=7)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # `X as X` tells type checkers that these names are exported.
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.analysis import files as files
    from workbench.analysis import shapes as shapes
    from workbench.analysis.frames import money as money
    from workbench.analysis.reconcile import CarryForward as CarryForward
    from workbench.analysis.reconcile import reconcile as reconcile
    from workbench.analysis.simulate import Traffic as Traffic
    from workbench.analysis.statements import LAYOUTS as LAYOUTS
    from workbench.analysis.statements import Preamble as Preamble
    from workbench.analysis.statements import draft_layout as draft_layout
    from workbench.analysis.statements import ledger_columns as ledger_columns
    from workbench.analysis.statements import read_ledger as read_ledger
    from workbench.analysis.statements import read_statement as read_statement
    from workbench.analysis.statements import write_statement as write_statement
    from workbench.bench import Workbench as Workbench
    from workbench.domain.masking import mask as mask
    from workbench.domain.moments import LUSAKA as LUSAKA
    from workbench.domain.money import Money as Money
    from workbench.domain.reading import as_text as as_text
    from workbench.domain.signatures import verify as verify
    from workbench.lab import exercises as exercises
    from workbench.merchant.client import PaymentsClient as PaymentsClient
    from workbench.merchant.receiver import Receiver as Receiver
    from workbench.resources import fixture as fixture
    from workbench.text.render import is_live as is_live
    from workbench.text.render import picture as picture
    from workbench.text.render import table as table

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
"""Module → the names in it that users import from `workbench`; its own name if they import the module itself."""
_HOMES = {name: f"workbench.{module}" for module, names in _NAMES_OF.items() for name in names.split()}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Loads a public name on first use, since `workbench --help` needs none of them."""
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
