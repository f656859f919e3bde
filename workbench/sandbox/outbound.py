"""Sending a webhook: to a WSGI application in this process, or over a socket to a checked address."""

import ssl
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit
from wsgiref.types import WSGIApplication

import httpx

from workbench.domain.masking import mask
from workbench.domain.webhooks import MAX_RESPONSE_BYTES
from workbench.errors import InvalidRequest
from workbench.sandbox.addresses import resolved

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
        self._mounted = {
            host: httpx.Client(transport=httpx.WSGITransport(app), headers=_HEADERS, trust_env=False)
            for host, app in (mounted or {}).items()
        }

    def is_in_process(self, url: str) -> bool:
        """Whether a mounted application answers: then the sandbox's clock is everyone's clock."""
        return _host_of(url) in self._mounted

    def send(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        """One POST, no redirect followed, `timeout_s` seconds for the whole answer; never raises."""
        started = time.monotonic()
        mounted = self._mounted.get(_host_of(url))
        if mounted is not None:
            reply = _tried(lambda: _response(mounted, url, headers, body))
        else:
            reply = _over_a_socket(url, headers, body, timeout_s)
        return reply._replace(latency_ms=round((time.monotonic() - started) * 1000))

    def close(self) -> None:
        """Let go of the mounted applications."""
        for client in self._mounted.values():
            client.close()


def _over_a_socket(url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
    """The reply, if it is whole within `timeout_s`; over a connection of its own.

    httpx bounds each read, and a receiver that drips bytes would hold the sandbox's clock for ever:
    so the request has a thread of its own, and when the time is up its connection is closed, which
    ends it. Nothing is sent over a connection that is idle, as a receiver may be closing that very one.
    """
    too_long = Reply(None, fault=f"the answer took longer than {timeout_s} s")
    replies: list[Reply] = []
    client = httpx.Client(
        transport=httpx.HTTPTransport(verify=_trusted() if url[:6].lower() == "https:" else _unused()),
        headers={**_HEADERS, "Connection": "close"},
        timeout=timeout_s,
        trust_env=False,
    )

    def attempt() -> Reply:
        try:
            return _pinned(client, url, headers, body)
        except httpx.TimeoutException:
            # Whichever of the two bounds is noticed first, it is one fault.
            return too_long

    sending = threading.Thread(target=lambda: replies.append(_tried(attempt)), daemon=True)
    with client:
        sending.start()
        sending.join(timeout_s)
    return replies[0] if replies else too_long


def _pinned(client: httpx.Client, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """Looked up, checked, and sent to the very address that was checked."""
    destination = resolved(url)
    target = str(httpx.URL(url).copy_with(host=destination.address))
    host = {"Host": urlsplit(url).netloc}
    return _response(client, target, {**headers, **host}, body, {"sni_hostname": destination.host})


def _response(
    client: httpx.Client, url: str, headers: Mapping[str, str], body: bytes, extensions: dict[str, str] | None = None
) -> Reply:
    with client.stream("POST", url, headers=headers, content=body, extensions=extensions) as response:
        answer = b""
        for chunk in response.iter_raw():
            answer += chunk
            if len(answer) >= MAX_RESPONSE_BYTES:
                break
    return Reply(
        response.status_code,
        mask(answer[:MAX_RESPONSE_BYTES].decode("utf-8", "replace")),
        response.headers.get("retry-after", ""),
    )


def _tried(send: Callable[[], Reply]) -> Reply:
    try:
        return send()
    except (httpx.HTTPError, OSError, InvalidRequest, UnicodeError) as error:
        return Reply(None, fault=mask(f"{type(error).__name__}: {error}"))
    except Exception as error:  # noqa: BLE001  a mounted application's bug is its own, and a failed attempt here
        return Reply(None, fault=mask(f"the receiver raised {type(error).__name__}: {error}"))


@cache
def _trusted() -> ssl.SSLContext:
    """What https is checked against; made when first needed, as that takes 30 ms."""
    return httpx.create_ssl_context(trust_env=False)


@cache
def _unused() -> ssl.SSLContext:
    """For plain http: httpx makes a context in any case, and one that trusts nobody costs next to nothing."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def seconds_asked(retry_after: str, now_s: int) -> int | None:
    """How long a Retry-After asks to wait from `now_s` on, in seconds or as a date (RFC 9110 §10.2.3)."""
    if retry_after.isascii() and retry_after.isdigit():
        return int(retry_after) if len(retry_after) <= _MOST_DIGITS else None
    try:
        until = parsedate_to_datetime(retry_after)
    except (ValueError, TypeError):
        return None
    # An HTTP-date is in UTC, whether it says so or not.
    return max(0, int(until.replace(tzinfo=until.tzinfo or UTC).timestamp()) - now_s)
