"""What the sections of a dashboard share: reading leaves no trace, acting is what a script would do."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.lab.parts.part import BoardSection
from workbench.lab.views import Beside, Code, Item
from workbench.session import Session
from workbench.snippets import snippet

_PAY: Final = "pay = bench.client\n"


class SessionSection(BoardSection):
    """A section that reads with `looking`, the key that the session holds now, and acts with the session's client."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pay = session.client
        self._looking = session.looking()

    def _now_s(self) -> int:
        """The sandbox's moment, in seconds since 1970."""
        return self._session.untraced.clock().now_ms // 1000

    def _code(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        python: str = "{}",
    ) -> tuple[Item, ...]:
        """The same call in Python and in curl; `python` is what stands around the call there."""
        made = snippet(method, path, body, query=query, base_url=self._session.base_url)
        before, pay, call = made.python.rpartition(_PAY)
        return (Beside((Code("Python", before + pay + python.format(call)), Code("curl", made.curl))),)
