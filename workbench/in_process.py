"""A sandbox of this process: called here without a socket, or answering on a port."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx

from workbench.closing import Closing
from workbench.domain import wire
from workbench.domain.masking import Secret

_LOOKS = ("GET", "HEAD")

if TYPE_CHECKING:
    # granian and falcon take a quarter of a second to load, which a connected Workbench does without.
    from workbench.sandbox.engine import Engine


class Served(Closing):
    """A sandbox of this process on a port. Use it as a context manager, or `close` it."""

    def __init__(self, base_url: str, secret_key: Secret, publishable_key: Secret, serving: ExitStack) -> None:
        self.base_url = base_url
        self.secret_key = secret_key
        self.publishable_key = publishable_key
        self._serving = serving

    def close(self) -> None:
        """Finish the calls in flight and free the port; the sandbox itself stays."""
        self._serving.close()

    def __repr__(self) -> str:
        return f"Served({self.base_url!r}, {self.secret_key!r}, {self.publishable_key!r})"


class InProcess(httpx.WSGITransport):
    """Calls the application here, then runs what the call made due: webhooks arrive before the next line.

    `after_each` is called when that is done. Neither happens for a call that only looks: a GET that asks to leave no
    trace, or one of a thread that `is_watching`.
    """

    def __init__(self, engine: "Engine", *, after_each: Callable[[], object], is_watching: Callable[[], bool]) -> None:
        super().__init__(app=engine.app)
        self._engine = engine
        self._after_each = after_each
        self._is_watching = is_watching

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request, with what it made due done."""
        try:
            response = super().handle_request(request)
        except UnicodeError:
            # httpx reads headers and paths as ASCII here; over a socket a server answers such a request.
            message = "The request's headers and path must be ASCII."
            members = {"status": 400, "code": "request_not_ascii", "detail": message, "error": 400, "message": message}
            return httpx.Response(400, json=members, headers={"Content-Type": "application/problem+json"})
        response.read()
        if not self._only_looks(request):
            self._engine.run_due()
            self._after_each()
        return response

    def _only_looks(self, request: httpx.Request) -> bool:
        return request.method in _LOOKS and (wire.UNSEEN in request.headers or self._is_watching())
