"""The service's documentation within JupyterLab: the pages that a served sandbox shows, to read."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, authenticated

from workbench.errors import NotFound

_PARAMETER: Final = "{name}"


class Shown(Protocol):
    """What a page answers with."""

    @property
    def content_type(self) -> str:
        """Of the body."""

    @property
    def body(self) -> bytes:
        """The page."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What the browser is told besides."""


Pages = Mapping[str, Callable[[str], Shown]]
"""Path → what it shows, given the name that stands for `{name}` in the path.

Raises NotFound: the name is none of those that there are.
"""


class _Page(JupyterHandler):
    """One of the pages, as a served sandbox answers it; JupyterLab alone may show it in a frame."""

    def initialize(self, show: Callable[[str], Shown]) -> None:
        self._show = show

    @authenticated
    def get(self, name: str = "") -> None:
        """Answer with the page, or 404 for a file that none of the pages needs."""
        try:
            shown = self._show(name)
        except NotFound:
            raise HTTPError(404) from None
        self.set_header("Content-Type", shown.content_type)
        for header, value in shown.headers.items():
            self.set_header(header, value.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))
        self.finish(shown.body)


def handlers(pages: Pages) -> list[tuple[str, type[_Page], dict[str, Any]]]:
    """Every page at its own path, as Tornado takes them."""
    return [(path.replace(_PARAMETER, "([^/]+)"), _Page, {"show": show}) for path, show in pages.items()]
