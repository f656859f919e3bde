"""Webhook deliveries: claimed in one transaction, sent in none, recorded in another; side by side over endpoints."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import NamedTuple

from workbench.domain import webhooks
from workbench.domain.masking import mask
from workbench.domain.signatures import headers_for
from workbench.domain.webhooks import DUPLICATE, Attempt, Delivery, Endpoint, Outcome
from workbench.sandbox import views
from workbench.sandbox.outbound import Outbound, Reply, seconds_asked
from workbench.sandbox.service.deliveries import DELIVER, emit
from workbench.sandbox.service.lists import BY_ITSELF
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Job


class Sending(NamedTuple):
    """All that one attempt needs, read in the transaction that claimed it."""

    job: Job
    delivery: Delivery
    url: str
    headers: dict[str, str]
    body: bytes
    timeout_s: int
    in_process: bool


def claim(tx: Transaction, job: Job, outbound: Outbound) -> Sending | None:
    """Take a due delivery in hand; None when its endpoint is disabled, which ends it."""
    delivery = tx.deliveries.get(job.ref)
    event = tx.events.get(delivery.event) if delivery else None
    endpoint = tx.endpoints.get(delivery.endpoint) if delivery else None
    if delivery is None or event is None or endpoint is None or endpoint.status != webhooks.ENABLED:
        if delivery is not None:
            tx.deliveries.put(delivery, status=webhooks.DEAD_LETTER)
        tx.jobs.remove(job)
        return None
    tx.jobs.put(job, claimed=1)
    in_process = outbound.is_in_process(endpoint.url)
    stamp_s = _receivers_now_s(tx, in_process=in_process)
    body = event.body.encode()
    also = [each.secret for each in endpoint.overlapping(tx.now_ms)]
    return Sending(
        job,
        delivery,
        endpoint.url,
        {"Content-Type": "application/json", **headers_for(endpoint.secret, event.id, stamp_s, body, also=also)},
        body,
        tx.gaps.delivery_timeout_s,
        in_process,
    )


def _receivers_now_s(tx: Transaction, *, in_process: bool) -> int:
    """The moment by the receiver's clock: one on a socket goes by its own, which is this machine's."""
    return tx.now_ms // 1000 if in_process else int(time.time())


def record(tx: Transaction, sending: Sending, reply: Reply) -> None:
    """Write what came of an attempt, and when the next is due."""
    delivery = tx.deliveries.get(sending.delivery.id)
    if delivery is None:
        return  # the sandbox was reset meanwhile
    number = delivery.attempts + 1
    _write_down(tx, sending, reply, number)
    if tx.jobs.first(seq=sending.job.seq) is None:
        # Replayed meanwhile: what is due now decides.
        tx.deliveries.put(delivery, attempts=number)
        return
    jitter = tx.draws.below(401, "jitter", delivery.id, number)
    asked_s = seconds_asked(reply.retry_after, _receivers_now_s(tx, in_process=sending.in_process))
    outcome = webhooks.outcome_of(number - delivery.spent, reply.status_code, asked_s, jitter, tx.gaps)
    tx.deliveries.put(delivery, status=outcome.status, attempts=number)
    tx.jobs.remove(sending.job)
    endpoint = tx.endpoints.get(delivery.endpoint)
    if endpoint is None:
        return
    if outcome.wait_ms is not None:
        tx.schedule(DELIVER, delivery.id, in_ms=outcome.wait_ms)
    elif outcome.status == webhooks.DELIVERED and number == delivery.spent + 1 and DUPLICATE in endpoint.faults:
        tx.schedule(DELIVER, delivery.id)
    _note(tx, endpoint, outcome)


def _note(tx: Transaction, endpoint: Endpoint, outcome: Outcome) -> None:
    """Since when an endpoint fails; after too long, and when it is gone, it is disabled."""
    if outcome.status == webhooks.DELIVERED:
        if endpoint.failing_since_ms is not None:
            tx.endpoints.put(endpoint, failing_since_ms=None)
        return
    since_ms = tx.now_ms if endpoint.failing_since_ms is None else endpoint.failing_since_ms
    endpoint = tx.endpoints.put(endpoint, failing_since_ms=since_ms)
    patience_ms = tx.gaps.endpoint_disable_after_s * 1000
    too_long = patience_ms and tx.now_ms - since_ms >= patience_ms
    if (outcome.disables_endpoint or too_long) and endpoint.status == webhooks.ENABLED:
        disabled = tx.endpoints.put(endpoint, status=webhooks.DISABLED)
        emit(
            tx,
            BY_ITSELF,
            endpoint.account,
            "webhook_endpoint.disabled",
            views.webhook_endpoint(disabled, tx.now_ms, secret=False),
        )


def _write_down(tx: Transaction, sending: Sending, reply: Reply, number: int) -> None:
    tx.attempts.add(
        Attempt(
            id=tx.new_id("att"),
            seq=tx.next_seq(),
            delivery=sending.delivery.id,
            number=number,
            at_ms=tx.now_ms,
            # Of an application in this process no time is told, so that two runs say the same.
            latency_ms=0 if sending.in_process else reply.latency_ms,
            status_code=reply.status_code,
            answer=reply.answer,
            fault=reply.fault,
            headers={name: mask(value) for name, value in sending.headers.items()},
        )
    )


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
