"""Runs an ASGI application of this process, its lifespan included, on an event loop in a thread of its own.

The caller's thread may already run a loop, as Jupyter does.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

import httpx

from workbench.errors import ServeRefused
from workbench.sandbox.messages import log_fault
from workbench.sandbox.outbound import NotReceived, Reply, received

_LIFESPAN_S = 30
"""The most seconds that an application may take to start, and to shut down."""
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
ASGIApplication = Callable[[_Message, _Receive, _Send], Awaitable[None]]


class Asgi:
    """An ASGI application on its own event loop, from startup to shutdown. Raises ServeRefused: it does not start."""

    def __init__(self, app: ASGIApplication) -> None:
        self._app = app
        self._state: dict[str, Any] = {}
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._begun: Future[None] = Future()
        self._transport = httpx.ASGITransport(app=self._with_state)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        self._begun.result()

    def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        """The response to a POST. Raises NotReceived: no response within `timeout_s` seconds, or none at all."""
        if threading.current_thread() is self._thread:
            message = "the application waits for the sandbox in its own loop, and cannot take a webhook meanwhile"
            raise NotReceived(message)
        answering = asyncio.run_coroutine_threadsafe(self._post(url, headers, body), self._loop)
        try:
            answer = answering.result(timeout_s)
        except TimeoutError:
            raise NotReceived(f"the response took longer than {timeout_s} s") from None
        finally:
            answering.cancel()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Shuts the application down, and stops its loop."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(_LIFESPAN_S)

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply | Exception:
        """The response, or the application's exception as a value, since a future would lose some tracebacks."""
        request = httpx.Request("POST", url, headers=headers, content=body)
        try:
            response = await self._transport.handle_async_request(request)
        except Exception as error:
            return error
        return received(response.status_code, await response.aread(), response.headers.get("retry-after", ""))

    async def _with_state(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Calls the application with a copy of the state that its lifespan set for requests."""
        await self._app({**scope, "state": self._state.copy()}, receive, send)

    async def _live(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with _lifespan(self._app, self._state):
                self._begun.set_result(None)
                await self._end.wait()
        except Exception as error:
            if self._begun.done():
                log_fault("the application failed as it ended", error)
            else:
                self._begun.set_exception(error)


@asynccontextmanager
async def _lifespan(app: ASGIApplication, state: _Message) -> AsyncIterator[None]:
    """Starts an application, and shuts it down after the block, if the application supports lifespan events.

    Raises ServeRefused: the application reports that its start failed, or reports nothing.
    """
    to_app, from_app = asyncio.Queue[_Message](), asyncio.Queue[_Message]()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": state}

    async def live() -> None:
        try:
            await app(scope, to_app.get, from_app.put)
        finally:
            await from_app.put({"type": "ended"})

    living = asyncio.create_task(live())
    await to_app.put({"type": "lifespan.startup"})
    try:
        async with asyncio.timeout(_LIFESPAN_S):
            first = await from_app.get()
    except TimeoutError:
        raise ServeRefused(f"The application did not start within {_LIFESPAN_S} s.") from None
    if first["type"] == "lifespan.startup.failed":
        reason = str(first.get("message", "")).strip() or "it gives no reason"
        await asyncio.wait([living], timeout=1)
        raise ServeRefused("The application did not start: " + reason.splitlines()[-1]) from (
            living.exception() if living.done() else None
        )
    yield
    if first["type"] == "lifespan.startup.complete":
        await to_app.put({"type": "lifespan.shutdown"})
        async with asyncio.timeout(_LIFESPAN_S):
            await living
    elif living.done():
        living.exception()  # read and dropped: an application without a lifespan may raise
