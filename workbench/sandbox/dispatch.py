"""Deliveries side by side: one at a time to an endpoint, so many in all, the others wait their turn."""

import threading
from collections import deque
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from workbench.sandbox.delivery import Sending
from workbench.sandbox.outbound import Outbound, Reply
from workbench.sandbox.store.records import Job

MAX_IN_FLIGHT = 8


class Dispatch:
    """The attempts in flight of one turn, and the jobs behind them, by endpoint in the order they fell due."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[Job]] = {}
        self._done: SimpleQueue[tuple[Sending, Reply]] = SimpleQueue()

    @property
    def is_idle(self) -> bool:
        """Nothing is in flight."""
        return not self._busy

    def has_room(self, endpoint: str) -> bool:
        """Whether an attempt to this endpoint may start now."""
        return endpoint not in self._busy and len(self._busy) < MAX_IN_FLIGHT

    def put_behind(self, endpoint: str, job: Job) -> None:
        """Keep a job until there is room."""
        self._waiting.setdefault(endpoint, deque()).append(job)

    def next_ready(self) -> Job | None:
        """A job that waited and for which there is room now; endpoints take turns."""
        endpoint = next((each for each in self._waiting if self.has_room(each)), None)
        if endpoint is None:
            return None
        jobs = self._waiting.pop(endpoint)
        job = jobs.popleft()
        if jobs:
            self._waiting[endpoint] = jobs
        return job

    def start(self, sending: Sending) -> None:
        """Send it in a thread of its own. Daemons: a process that ends does not wait for a receiver."""
        self._busy.add(sending.delivery.endpoint)
        threading.Thread(target=self._send, args=(sending,), daemon=True).start()

    def finished(self, wait_s: float | None) -> Iterator[tuple[Sending, Reply]]:
        """Attempts that have ended; waits `wait_s` seconds for the first, without end for None."""
        try:
            ended = self._done.get(timeout=wait_s)
            while True:
                self._busy.discard(ended[0].delivery.endpoint)
                yield ended
                ended = self._done.get_nowait()
        except Empty:
            return

    def _send(self, sending: Sending) -> None:
        self._done.put((sending, self._outbound.send(sending.url, sending.headers, sending.body, sending.timeout_s)))
