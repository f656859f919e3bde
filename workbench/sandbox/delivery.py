"""Webhook deliveries: begun in one transaction, sent in none, recorded in another; side by side over endpoints.

A message goes to a WSGI application in this process, or over a socket to a checked address.
"""

import io
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from wsgiref.types import WSGIApplication, WSGIEnvironment

import httpx

from workbench.domain import webhooks
from workbench.domain.masking import mask, mask_values
from workbench.domain.signatures import headers_for
from workbench.domain.webhooks import DUPLICATE, MAX_RESPONSE_BYTES, Attempt, Delivery, Endpoint, Outcome
from workbench.errors import InvalidRequest
from workbench.sandbox import views
from workbench.sandbox.addresses import resolved
from workbench.sandbox.service.deliveries import DELIVER, emit
from workbench.sandbox.service.lists import BY_ITSELF
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Job

MAX_IN_FLIGHT = 8
_MOST_DIGITS = 9
"""Thirty years of seconds; what is more is no wish."""
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "workbench-webhooks/1"}


class Reply(NamedTuple):
    """What came back; `status_code` None and a `fault` when nothing did."""

    status_code: int | None
    answer: str = ""
    retry_after: str = ""
    fault: str | None = None
    latency_ms: int = 0


class Outbound:
    """`mounted` are applications of this process by the host that they answer for; used by several threads."""

    def __init__(self, mounted: Mapping[str, WSGIApplication] | None = None) -> None:
        self._mounted = mounted or {}

    def is_in_process(self, url: str) -> bool:
        """Whether a mounted application answers: then the sandbox's clock is everyone's clock."""
        return _host_of(url) in self._mounted

    def send(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        """One POST, no redirect followed, `timeout_s` seconds for the whole answer; never raises."""
        started = time.monotonic()
        mounted = self._mounted.get(_host_of(url))
        if mounted is not None:
            reply = _tried(lambda: _from_mounted(mounted, url, headers, body))
        else:
            reply = _over_a_socket(url, headers, body, timeout_s)
        return reply._replace(latency_ms=round((time.monotonic() - started) * 1000))


def _from_mounted(app: WSGIApplication, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply of an application of this process, called as a server would call it (PEP 3333)."""
    parts = urlsplit(url)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": unquote(parts.path, "latin-1") or "/",
        "QUERY_STRING": parts.query, "SERVER_NAME": parts.hostname, "SERVER_PORT": str(parts.port or 80),
        "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0), "wsgi.url_scheme": parts.scheme, "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr, "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
    }  # fmt: skip
    for name, value in ("Host", parts.netloc), *_HEADERS.items(), *headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    begun: list[tuple[int, dict[str, str]]] = []

    def start_response(status: str, headers: Iterable[tuple[str, str]], exc_info: object = None) -> Any:  # noqa: ANN401, ARG001  WSGI's signature
        begun.append((int(status[:3]), {name.lower(): value for name, value in headers}))
        return lambda _: None

    chunks = app(environ, start_response)
    try:
        answer = _beginning(chunks)
    finally:
        getattr(chunks, "close", lambda: None)()
    status_code, shown = begun[-1]
    return _reply(status_code, answer, shown.get("retry-after", ""))


def _over_a_socket(url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
    """The reply, if it is whole within `timeout_s`; over a connection of its own.

    httpx bounds each read, and a receiver that drips bytes would hold the sandbox's clock for ever:
    so the request has a thread of its own, and when the time is up its connection is closed, which
    ends it. Nothing is sent over a connection that is idle, as a receiver may be closing that very one.
    """
    too_long = Reply(None, fault=f"the answer took longer than {timeout_s} s")
    replies: list[Reply] = []
    client = httpx.Client(
        transport=httpx.HTTPTransport(verify=_context(is_https=url[:6].lower() == "https:")),
        headers={**_HEADERS, "Connection": "close"},
        timeout=timeout_s,
        trust_env=False,
    )

    def attempt() -> Reply:
        """Looked up, checked, and sent to the very address that was checked."""
        try:
            destination = resolved(url)
            target = str(httpx.URL(url).copy_with(host=destination.address))
            sent = {**headers, "Host": urlsplit(url).netloc}
            sni = {"sni_hostname": destination.host}
            with client.stream("POST", target, headers=sent, content=body, extensions=sni) as response:
                answer = _beginning(response.iter_raw())
            return _reply(response.status_code, answer, response.headers.get("retry-after", ""))
        except httpx.TimeoutException:
            # Whichever of the two bounds is noticed first, it is one fault.
            return too_long

    sending = threading.Thread(target=lambda: replies.append(_tried(attempt)), daemon=True)
    with client:
        sending.start()
        sending.join(timeout_s)
    return replies[0] if replies else too_long


def _beginning(chunks: Iterable[bytes]) -> bytes:
    """As much of a body as is kept; what comes behind it is not waited for."""
    answer = b""
    for chunk in chunks:
        answer += chunk
        if len(answer) >= MAX_RESPONSE_BYTES:
            break
    return answer[:MAX_RESPONSE_BYTES]


def _reply(status_code: int, answer: bytes, retry_after: str) -> Reply:
    return Reply(status_code, mask(answer.decode("utf-8", "replace")), retry_after)


def _tried(send: Callable[[], Reply]) -> Reply:
    try:
        return send()
    except (httpx.HTTPError, OSError, InvalidRequest, UnicodeError) as error:
        return Reply(None, fault=mask(f"{type(error).__name__}: {error}"))
    except Exception as error:  # noqa: BLE001  a mounted application's bug is its own, and a failed attempt here
        return Reply(None, fault=mask(f"the receiver raised {type(error).__name__}: {error}"))


@cache
def _context(*, is_https: bool) -> ssl.SSLContext:
    """What https is checked against, made when first needed, as that takes 30 ms.

    For plain http httpx makes one in any case, and one that trusts nobody costs next to nothing.
    """
    return httpx.create_ssl_context(trust_env=False) if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def seconds_asked(retry_after: str, now_s: int) -> int | None:
    """How long a Retry-After asks to wait from `now_s` on, in seconds or as a date (RFC 9110 §10.2.3)."""
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
    in_process: bool


def sending_for(tx: Transaction, job: Job, outbound: Outbound) -> Sending | None:
    """What is to be sent for a due delivery; None when its endpoint is disabled, which ends it."""
    delivery = tx.deliveries.get(job.ref)
    event = tx.events.get(delivery.event) if delivery else None
    endpoint = tx.endpoints.get(delivery.endpoint) if delivery else None
    if delivery is None or event is None or endpoint is None or endpoint.status != webhooks.ENABLED:
        if delivery is not None:
            tx.deliveries.put(delivery, status=webhooks.DEAD_LETTER)
        tx.jobs.remove(job)
        return None
    in_process = outbound.is_in_process(endpoint.url)
    stamp_s = _receivers_now_s(tx, in_process=in_process)
    body = event.body.encode()
    also = [each.secret for each in endpoint.overlapping(tx.now_ms)]
    headers = {"Content-Type": "application/json", **headers_for(endpoint.secret, event.id, stamp_s, body, also=also)}
    return Sending(job, delivery, endpoint.url, headers, body, tx.gaps.delivery_timeout_s, in_process)


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
    if tx.jobs.get(sending.job.seq) is None:
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
        disabled = views.webhook_endpoint(tx.endpoints.put(endpoint, status=webhooks.DISABLED), tx.now_ms)
        emit(tx, BY_ITSELF, endpoint.account, "webhook_endpoint.disabled", disabled)


def _write_down(tx: Transaction, sending: Sending, reply: Reply, number: int) -> None:
    tx.attempts.add(
        Attempt(
            **tx.numbered("att"),
            delivery=sending.delivery.id,
            number=number,
            at_ms=tx.now_ms,
            # Of an application in this process no time is told, so that two runs say the same.
            latency_ms=0 if sending.in_process else reply.latency_ms,
            status_code=reply.status_code,
            answer=reply.answer,
            fault=reply.fault,
            headers=mask_values(sending.headers),
        )
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
