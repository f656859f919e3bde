"""How long responses took, by this machine's clock: the one thing about a call that differs from run to run."""

import time
from collections import OrderedDict

import httpx

_KEPT = 1000
_STARTED = "workbench.started"


class Latencies:
    """How long each of the latest responses took, by its Request-Id; kept in memory alone."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._ms: OrderedDict[str, int] = OrderedDict()

    def watch(self, client: httpx.Client) -> None:
        """Measure this client's requests from now on, up to the headers of the response."""
        client.event_hooks["request"].append(self._start)
        client.event_hooks["response"].append(self._end)

    def of(self, request_id: str) -> int | None:
        """Whole milliseconds; None for another client's response, or one that is no longer kept."""
        return self._ms.get(request_id)

    def _start(self, request: httpx.Request) -> None:
        # Calls of /sandbox are in no trace, and a board makes many.
        if not request.url.path.startswith("/sandbox/"):
            request.extensions[_STARTED] = time.perf_counter()

    def _end(self, response: httpx.Response) -> None:
        request_id = response.headers.get("Request-Id")
        started = response.request.extensions.get(_STARTED)
        if request_id is None or started is None:
            return
        self._ms[request_id] = round((time.perf_counter() - started) * 1000)
        while len(self._ms) > self._kept:
            self._ms.popitem(last=False)
