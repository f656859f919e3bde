"""Watchers of a sandbox: callbacks that run soon after something may have happened in it."""

import logging
import threading
from collections.abc import Callable

_GATHER_S = 0.03
"""The wait before callbacks run, in seconds, so that a loop of a thousand calls redraws once."""
_REST_S = 0.15
"""Seconds of pause after callbacks, so that drawing takes the smaller part of a loop's time."""
_ASK_EVERY_S = 0.5


class Watchers:
    """Callbacks without arguments, which run in one separate thread until `close`.

    For a sandbox in this process, `notify` is called after each call. For a served one, `position` is called twice a
    second as long as there is a callback; the callbacks run if its result, such as the last trace row, has changed.
    """

    def __init__(self, position: Callable[[], object] | None = None) -> None:
        self._position = position
        self._callbacks: list[Callable[[], object]] = []
        self._news = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._known: object = None

    def add(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Runs `callback` after everything that happens from now on; returns a function that removes it.

        An exception of the callback is logged.
        """
        if not self._callbacks:
            # What happened before the first callback is no news.
            self._news.clear()
            self._known = self._where()
        self._callbacks.append(callback)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="workbench-watch", daemon=True)
            self._thread.start()

        def stop() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return stop

    def notify(self) -> None:
        """Makes the thread of the watchers run all callbacks soon; does nothing if a callback calls it."""
        if self._callbacks and not self.is_watching():
            self._news.set()

    def is_watching(self) -> bool:
        """True while a callback runs in this thread."""
        return self._thread is threading.current_thread()

    def close(self) -> None:
        """Ends the thread, waiting up to 5 seconds for a running callback; no further callback starts."""
        self._ended.set()
        self._news.set()
        if self._thread not in (None, threading.current_thread()):
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._ended.is_set():
            if self._position is None:
                self._news.wait()
                self._ended.wait(_GATHER_S)
            else:
                self._ended.wait(_ASK_EVERY_S)
                before = self._known
                self._known = self._where() if self._callbacks else before
                if self._known == before:
                    continue
            self._news.clear()
            for callback in [*self._callbacks]:
                if self._ended.is_set():
                    return
                try:
                    callback()
                except Exception:
                    logging.getLogger("workbench").exception("The code that watches the sandbox failed.")
            self._ended.wait(_REST_S)

    def _where(self) -> object:
        """The result of `position`; None if there is no `position`, or the sandbox does not respond."""
        try:
            return self._position() if self._position else None
        except Exception:  # noqa: BLE001  a server that is down or gone: the callback shows that
            return None
