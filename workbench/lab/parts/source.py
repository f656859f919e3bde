"""What the parts of a dashboard read from and act on: reading leaves no trace, acting is what a script would do."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from workbench.client import PaymentsClient
from workbench.control import SandboxControl
from workbench.lab.views import Beside, Code, Item
from workbench.snippets import snippet

if TYPE_CHECKING:
    from workbench.bench import Workbench

_PAY: Final = "pay = bench.client\n"


class Source:
    """A bench, as the parts of a dashboard know it."""

    def __init__(self, bench: "Workbench") -> None:
        self.bench = bench

    @property
    def looking(self) -> PaymentsClient:
        """To read with, by the key that the bench holds now."""
        return self.bench.looking()

    @property
    def pay(self) -> PaymentsClient:
        """To act with."""
        return self.bench.client

    def panel(self, path: str) -> dict[str, Any]:
        """What `/sandbox` tells at a path."""
        return SandboxControl(self.looking).get(path)

    def code(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        python: str = "{}",
    ) -> tuple[Item, ...]:
        """The same call in Python and in curl; `python` is what stands around the call there."""
        made = snippet(method, path, body, query=query, base_url=self.bench.base_url)
        before, pay, call = made.python.rpartition(_PAY)
        return (Beside((Code("Python", before + pay + python.format(call)), Code("curl", made.curl))),)
