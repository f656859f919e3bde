"""The driver lock: one thread of one process at a time runs what is due in a store."""

import sqlite3
import threading
import time
from pathlib import Path

from workbench.sandbox.store.files import BESIDE, make_private

_LOOK_AGAIN_S = 0.05


class DriverLock:
    """The turn, and the place next to it: who waits there is seen by the one whose turn it is."""

    def __init__(self, store: Path) -> None:
        self._held, self._next = (_FileLock(f"{store}{ending}") for ending in BESIDE)
        self._holder: int | None = None
        self._look_again = 0.0

    def take(self) -> bool:
        """The turn, if nobody has it and nobody waits for it."""
        if not self._taken(0):
            return False
        if self.is_wanted():
            self.give_back()
            return False
        return True

    def wait(self, patience_s: float) -> bool:
        """The turn, after at most `patience_s` seconds; who drives meanwhile sees that somebody waits."""
        until = time.monotonic() + patience_s
        if self._holder == threading.get_ident() or not self._next.take(patience_s):
            return False
        try:
            return self._taken(max(0.0, until - time.monotonic()))
        finally:
            self._next.free()

    def is_wanted(self) -> bool:
        """Whether somebody waits; asked by nobody but the one whose turn it is.

        The file is looked at now and then, as a look takes longer than many a job.
        """
        if time.monotonic() < self._look_again:
            return False
        if not self._next.take(0):
            return True
        self._next.free()
        self._look_again = time.monotonic() + _LOOK_AGAIN_S
        return False

    def give_back(self) -> None:
        """End this thread's turn."""
        self._holder = None
        self._held.free()

    def close(self) -> None:
        """Let go of the files, once whoever drives is done; nobody drives after that."""
        self._held.close()
        self._next.close()

    def _taken(self, patience_s: float) -> bool:
        if self._holder == threading.get_ident() or not self._held.take(patience_s):
            return False
        self._holder = threading.get_ident()
        return True


class _FileLock:
    """A lock over the threads and processes that name the same file."""

    def __init__(self, path: str) -> None:
        self._threads = threading.Lock()
        self._closed = False
        make_private(path)
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    def take(self, patience_s: float) -> bool:
        until = time.monotonic() + patience_s
        if not self._threads.acquire(timeout=patience_s):
            return False
        if not self._closed and self._take_file(max(0.0, until - time.monotonic())):
            return True
        self._threads.release()
        return False

    def free(self) -> None:
        self._file.execute("ROLLBACK")
        self._threads.release()

    def close(self) -> None:
        with self._threads:
            self._closed = True
            self._file.close()

    def _take_file(self, patience_s: float) -> bool:
        self._file.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
        try:
            self._file.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True
