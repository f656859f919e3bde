"""Whoever looks at a sandbox is told, soon after, that something may have happened there."""

import logging
import threading
from collections.abc import Callable

from workbench.closing import Closing

_GATHER_S = 0.03
"""How long news is gathered before it is told: a loop of a thousand calls is not a thousand redrawings."""
_REST_S = 0.15
"""How long nobody is told after that: while a loop runs, drawing takes the smaller part of its time."""
_ASK_EVERY_S = 0.5


class Watchers(Closing):
    """Callbacks without arguments, run in one thread of their own until `close`.

    `tell` is for a sandbox of this process, to be called after each call. `position` is for one that is served:
    what it returns is asked for twice a second while somebody watches, and news is that it has changed.
    """

    def __init__(self, position: Callable[[], object] | None = None) -> None:
        self._position = position
        self._callbacks: list[Callable[[], object]] = []
        self._news = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._known: object = None

    def add(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` after whatever happens from now on; the function that is returned ends that."""
        if not self._callbacks:
            # What happened while nobody looked is no news.
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

    def tell(self) -> None:
        """Something may have happened. What a callback itself calls is no news."""
        if not self.is_watching():
            self._news.set()

    def is_watching(self) -> bool:
        """Whether it is a callback that runs now, in this thread."""
        return self._thread is threading.current_thread()

    def close(self) -> None:
        """Tell nobody any more."""
        self._ended.set()
        self._news.set()
        if self._thread not in (None, threading.current_thread()):
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._ended.is_set():
            if self._has_news():
                self._tell_all()
                self._ended.wait(_REST_S)

    def _has_news(self) -> bool:
        if self._position is None:
            self._news.wait()
            self._ended.wait(_GATHER_S)
            self._news.clear()
            return True
        self._ended.wait(_ASK_EVERY_S)
        if not self._callbacks:
            return False
        before, self._known = self._known, self._where()
        return self._known != before

    def _where(self) -> object:
        """How far the sandbox has come; None where it does not answer, which is news once."""
        try:
            return self._position() if self._position else None
        except Exception:  # noqa: BLE001  a server that is down or gone: whoever looks shows that
            return None

    def _tell_all(self) -> None:
        for callback in list(self._callbacks):
            if self._ended.is_set():
                return
            try:
                callback()
            except Exception:
                logging.getLogger("workbench").exception("What watches the sandbox failed.")
