"""The service's documentation within JupyterLab: the pages that a served sandbox shows, to read."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, authenticated

from workbench.errors import NotFound

_PARAMETER: Final = "{name}"


class Page(Protocol):
    """A page, as it is served."""

    @property
    def content_type(self) -> str:
        """Of the body."""

    @property
    def body(self) -> bytes:
        """The page."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Further headers of the response."""


Pages = Mapping[str, Callable[[str], Page]]
"""Path → what it shows, given the name that stands for `{name}` in the path.

Raises NotFound: the name is none of those that there are.
"""


class _PageHandler(JupyterHandler):
    """One of the pages, as a served sandbox answers it; JupyterLab alone may show it in a frame."""

    def initialize(self, show: Callable[[str], Page]) -> None:
        self._show = show

    @authenticated
    def get(self, name: str = "") -> None:
        """Answer with the page, or 404 for a file that none of the pages needs."""
        try:
            page = self._show(name)
        except NotFound:
            raise HTTPError(404) from None
        self.set_header("Content-Type", page.content_type)
        for header, value in page.headers.items():
            self.set_header(header, value.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))
        self.finish(page.body)


def handlers(pages: Pages) -> list[tuple[str, type[_PageHandler], dict[str, Any]]]:
    """Every page at its own path, as Tornado takes them."""
    return [(path.replace(_PARAMETER, "([^/]+)"), _PageHandler, {"show": show}) for path, show in pages.items()]
