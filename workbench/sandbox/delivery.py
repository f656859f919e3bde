"""Webhook deliveries: begun in one transaction, sent in none, recorded in another; side by side over endpoints.

A message goes to an application in this process, or over a socket to a checked address.
"""

import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from queue import Empty, SimpleQueue
from typing import NamedTuple
from urllib.parse import urlsplit

from workbench.domain import webhooks
from workbench.domain.masking import mask
from workbench.domain.signatures import headers_for
from workbench.domain.webhooks import DUPLICATE, MAX_RESPONSE_BYTES, Delivery, Endpoint, Outcome
from workbench.sandbox import outgoing, views
from workbench.sandbox.messages import log_fault
from workbench.sandbox.mounted import Mounted, NoAnswer
from workbench.sandbox.service.lists import BY_ITSELF
from workbench.sandbox.service.webhooks import DELIVER, emit, held_until_ms, settled
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Job

MAX_IN_FLIGHT = 8
_MOST_DIGITS = 9
"""Thirty years of seconds; what is more is no wish."""
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "workbench-webhooks/1"}


class Reply(NamedTuple):
    """The reply of a receiver; without one, `status_code` is None and `fault` says why."""

    status_code: int | None
    answer: str = ""
    retry_after: str = ""
    fault: str | None = None
    latency_ms: int = 0


class Outbound:
    """`apps` are applications of this process by the host that they answer for; used by several threads.

    `private` lets a message go to private ranges too.
    Those that go by the sandbox's clock are the workbench's own: what a merchant's reads is this machine's.
    """

    def __init__(self, apps: Mapping[str, Mounted] | None = None, *, private: bool = False) -> None:
        self._apps = dict(apps or {})
        self._private = private
        self._by_sandbox_clock = set(self._apps)

    def mount(self, host: str, app: Mounted, *, by_sandbox_clock: bool = False) -> None:
        """Let an application answer for a host from now on; the one before is closed."""
        before, self._apps[host] = self._apps.get(host), app
        if before is not None:
            before.close()
        if by_sandbox_clock:
            self._by_sandbox_clock.add(host)

    def close(self) -> None:
        """Close the applications."""
        for app in self._apps.values():
            app.close()

    def goes_by_sandbox_clock(self, url: str) -> bool:
        """True if the receiver at this URL reads the sandbox's clock."""
        return _host_of(url) in self._by_sandbox_clock

    def send(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        """One POST, no redirect followed, `timeout_s` seconds for the whole answer; never raises."""
        started = time.monotonic()
        app = self._apps.get(_host_of(url))
        if app is None:
            reply = _over_a_socket(url, headers, body, timeout_s, private=self._private)
        else:
            reply = _from_app(app, url, {**_HEADERS, **headers}, body, timeout_s)
        took_s = time.monotonic() - started
        if app is not None and took_s > timeout_s and not self.goes_by_sandbox_clock(url):
            # What cannot be interrupted is late all the same: the service would have hung up.
            reply = Reply(None, fault=_too_long(timeout_s))
        return reply._replace(latency_ms=round(took_s * 1000))


def _from_app(app: Mounted, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
    """The reply of an application of this process. What it raises is a 500, as from a server, and the traceback shown.

    It is in the answer, which the trace and the delivery show, and in the log.
    """
    try:
        return _reply(*app.post(url, headers, body, timeout_s))
    except NoAnswer as error:
        return Reply(None, fault=str(error))
    except Exception as error:  # noqa: BLE001  the application's bug is its own, and a failed attempt here
        log_fault(f"the application at {url} failed on a webhook", error)
        return _reply(500, "".join(traceback.format_exception(error)).encode()[-MAX_RESPONSE_BYTES:], "")


def _too_long(timeout_s: int) -> str:
    return f"the response took longer than {timeout_s} s"


def _over_a_socket(url: str, headers: Mapping[str, str], body: bytes, timeout_s: int, *, private: bool) -> Reply:
    """The reply, if it is whole within `timeout_s`; whatever went wrong instead is its fault."""
    try:
        return _reply(*outgoing.post(url, {**_HEADERS, **headers}, body, timeout_s, private=private))
    except TimeoutError:
        return Reply(None, fault=_too_long(timeout_s))
    except outgoing.NotReceived as error:
        return Reply(None, fault=mask(str(error)))
    except Exception as error:  # noqa: BLE001  whatever it is, nothing came back, and somebody waits for the reply
        return Reply(None, fault=mask(f"{type(error).__name__}: {error}"))


def _reply(status_code: int, answer: bytes, retry_after: str) -> Reply:
    return Reply(status_code, mask(answer.decode("utf-8", "replace")), retry_after)


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def seconds_asked(retry_after: str, now_s: int) -> int | None:
    """Seconds from `now_s` that a Retry-After asks to wait; it names seconds or a date (RFC 9110 §10.2.3)."""
    if not retry_after:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return int(retry_after) if len(retry_after) <= _MOST_DIGITS else None
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, TypeError):
        return None
    # An HTTP-date is in UTC, whether it says so or not.
    return max(0, int(until.replace(tzinfo=until.tzinfo or UTC).timestamp()) - now_s)


class Sending(NamedTuple):
    """All that one attempt needs, read in the transaction that begins it."""

    job: Job
    delivery: Delivery
    url: str
    headers: dict[str, str]
    body: bytes
    timeout_s: int
    by_sandbox_clock: bool


def sending_for(tx: Transaction, job: Job, outbound: Outbound) -> Sending | None:
    """Prepare the message of a due delivery. None if its endpoint is disabled, which ends it, or if it must wait."""
    delivery = tx.deliveries.get(job.ref)
    event = tx.events.get(delivery.event) if delivery else None
    endpoint = tx.endpoints.get(delivery.endpoint) if delivery else None
    if delivery is None or event is None or endpoint is None or endpoint.status != webhooks.ENABLED:
        if delivery is not None:
            settled(tx, tx.deliveries.put(delivery, status=webhooks.DEAD_LETTER))
        tx.jobs.remove(job)
        return None
    if (until_ms := held_until_ms(tx, delivery)) is not None:
        # Due at the same moment it comes later, as its place in the order is a new one.
        tx.jobs.remove(job)
        tx.schedule(DELIVER, delivery.id, in_ms=max(0, until_ms - tx.now_ms))
        return None
    by_sandbox_clock = outbound.goes_by_sandbox_clock(endpoint.url)
    stamp_s = _receivers_now_s(tx, by_sandbox_clock=by_sandbox_clock)
    body = event.body.encode()
    also = [old.secret for old in endpoint.overlapping(tx.now_ms)]
    scheme = tx.gaps.signature_scheme
    headers = {
        "Content-Type": views.media_type_of(event.body),
        **headers_for(endpoint.secret, event.id, stamp_s, body, also=also, scheme=scheme),
    }
    return Sending(job, delivery, endpoint.url, headers, body, tx.gaps.delivery_timeout_s, by_sandbox_clock)


def _receivers_now_s(tx: Transaction, *, by_sandbox_clock: bool) -> int:
    """The moment by the receiver's clock: a merchant's goes by its own, which is this machine's."""
    return tx.now_ms // 1000 if by_sandbox_clock else int(time.time())


def record(tx: Transaction, sending: Sending, reply: Reply) -> None:
    """Record the result of an attempt, and schedule the next one."""
    delivery = tx.deliveries.get(sending.delivery.id)
    if delivery is None:
        return  # the sandbox was reset meanwhile
    number = delivery.attempts + 1
    _write_down(tx, sending, reply, number)
    if tx.jobs.get(sending.job.seq) is None:
        # Replayed meanwhile: what is due now decides.
        tx.deliveries.put(delivery, attempts=number)
        return
    jitter = tx.draws.below(401, "jitter", delivery.id, number)
    asked_s = seconds_asked(reply.retry_after, _receivers_now_s(tx, by_sandbox_clock=sending.by_sandbox_clock))
    outcome = webhooks.outcome_of(number - delivery.spent, reply.status_code, asked_s, jitter, tx.gaps)
    delivery = tx.deliveries.put(delivery, status=outcome.status, attempts=number)
    tx.jobs.remove(sending.job)
    endpoint = tx.endpoints.get(delivery.endpoint)
    if endpoint is None:
        return
    is_doubled = tx.gaps.repeats == DUPLICATE or DUPLICATE in endpoint.faults
    if outcome.wait_ms is not None:
        tx.schedule(DELIVER, delivery.id, in_ms=outcome.wait_ms)
    elif is_doubled and outcome.status == webhooks.DELIVERED and number == delivery.spent + 1:
        tx.schedule(DELIVER, delivery.id)
    if outcome.status != webhooks.PENDING:
        settled(tx, delivery)
    _note_failing(tx, endpoint, outcome)


def _note_failing(tx: Transaction, endpoint: Endpoint, outcome: Outcome) -> None:
    """Note since when an endpoint fails; disable it after too long, or if it is gone."""
    if outcome.status == webhooks.DELIVERED:
        if endpoint.failing_since_ms is not None:
            tx.endpoints.put(endpoint, failing_since_ms=None)
        return
    since_ms = tx.now_ms if endpoint.failing_since_ms is None else endpoint.failing_since_ms
    endpoint = tx.endpoints.put(endpoint, failing_since_ms=since_ms)
    patience_ms = tx.gaps.endpoint_disable_after_s * 1000
    too_long = patience_ms and tx.now_ms - since_ms >= patience_ms
    if (outcome.disables_endpoint or too_long) and endpoint.status == webhooks.ENABLED:
        disabled = views.webhook_endpoint(tx, tx.endpoints.put(endpoint, status=webhooks.DISABLED))
        emit(tx, BY_ITSELF, endpoint.account, "webhook_endpoint.disabled", disabled)


def _write_down(tx: Transaction, sending: Sending, reply: Reply, number: int) -> None:
    tx.attempts.create(
        delivery=sending.delivery.id,
        number=number,
        # Where all goes by the sandbox's clock no time is told, so that two runs say the same.
        latency_ms=0 if sending.by_sandbox_clock else reply.latency_ms,
        status_code=reply.status_code,
        answer=reply.answer,
        fault=reply.fault,
        # An id, a moment and signatures: nothing in them is to be masked.
        headers=sending.headers,
    )


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
        """True if an attempt to this endpoint may start now."""
        return endpoint not in self._busy and len(self._busy) < MAX_IN_FLIGHT

    def put_behind(self, endpoint: str, job: Job) -> None:
        """Keep a job until there is room."""
        self._waiting.setdefault(endpoint, deque()).append(job)

    def next_ready(self) -> Job | None:
        """A job that waited and for which there is room now; endpoints take turns."""
        endpoint = next((waiting for waiting in self._waiting if self.has_room(waiting)), None)
        if endpoint is None:
            return None
        jobs = self._waiting.pop(endpoint)
        job = jobs.popleft()
        if jobs:
            self._waiting[endpoint] = jobs
        return job

    def start(self, sending: Sending) -> None:
        """Send it in a thread of its own. Daemons: a process that ends does not wait for a receiver."""
        # Where there are no more threads, nothing is in flight.
        threading.Thread(target=self._send, args=(sending,), daemon=True).start()
        self._busy.add(sending.delivery.endpoint)

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
