"""What the parts of a dashboard read from and act on: reading leaves no trace, acting is what a script would do."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.client import PaymentsClient
from workbench.control import SandboxControl
from workbench.lab.views import Beside, Code, Item
from workbench.session import Session
from workbench.snippets import snippet

_PAY: Final = "pay = bench.client\n"


class Source:
    """A session, as the parts of a dashboard know it."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def looking(self) -> PaymentsClient:
        """To read with, by the key that the bench holds now."""
        return self.session.looking()

    @property
    def pay(self) -> PaymentsClient:
        """To act with."""
        return self.session.client

    @property
    def control(self) -> SandboxControl:
        """To read what only a sandbox has."""
        return self.session.untraced

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
        made = snippet(method, path, body, query=query, base_url=self.session.base_url)
        before, pay, call = made.python.rpartition(_PAY)
        return (Beside((Code("Python", before + pay + python.format(call)), Code("curl", made.curl))),)
