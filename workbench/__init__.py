"""An integration workbench for mobile-money payments in Zambia.

>>> from workbench import Workbench
>>> bench = Workbench(seed=7)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.analysis.reconcile import reconcile
    from workbench.analysis.statements import draft_layout, read_statement
    from workbench.bench import Workbench
    from workbench.client import PaymentsClient
    from workbench.domain.money import Money
    from workbench.domain.signatures import verify
    from workbench.lab import exercises
    from workbench.receiver import Receiver

__all__ = [
    "Money",
    "PaymentsClient",
    "Receiver",
    "Workbench",
    "draft_layout",
    "exercises",
    "read_statement",
    "reconcile",
    "verify",
]

_HOMES = {
    "Money": "workbench.domain.money",
    "PaymentsClient": "workbench.client",
    "Receiver": "workbench.receiver",
    "Workbench": "workbench.bench",
    "draft_layout": "workbench.analysis.statements",
    "exercises": "workbench.lab.exercises",
    "read_statement": "workbench.analysis.statements",
    "reconcile": "workbench.analysis.reconcile",
    "verify": "workbench.domain.signatures",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  each name has its own type
    """Load a public name when it is first used: `workbench --help` needs none of them."""
    if name not in _HOMES:
        message = f"module 'workbench' has no attribute {name!r}"
        raise AttributeError(message)
    from workbench.extras import extras_named, httpx_alone

    with extras_named(), httpx_alone():
        home = import_module(_HOMES[name])
    return getattr(home, name, home)  # the exercises are a module themselves


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """What `%load_ext workbench` runs: it makes the cell magic `%%http` known."""
    from workbench.lab.magics import load

    load(shell)
