"""Sending a webhook: to a WSGI application in this process, or over a socket to a checked address."""

import threading
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit
from wsgiref.types import WSGIApplication

import httpx

from workbench.domain.masking import mask
from workbench.domain.webhooks import MAX_ANSWER_BYTES
from workbench.errors import InvalidRequest
from workbench.sandbox.addresses import resolved


class Reply(NamedTuple):
    """What came back; `status_code` None and a `fault` when nothing did."""

    status_code: int | None
    answer: str = ""
    retry_after_s: int | None = None
    fault: str | None = None
    latency_ms: int = 0


class Outbound:
    """`mounted` are applications of this process by the host that they answer for."""

    def __init__(self, mounted: Mapping[str, WSGIApplication] | None = None) -> None:
        self._mounted = dict(mounted or {})
        self._client: httpx.Client | None = None

    def is_in_process(self, url: str) -> bool:
        """Whether a mounted application answers: then the sandbox's clock is everyone's clock."""
        try:
            return urlsplit(url).hostname in self._mounted
        except ValueError:
            return False

    def send(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        """One POST, no redirect followed, `timeout_s` seconds for the whole answer; never raises."""
        started = time.monotonic()
        if self.is_in_process(url):
            reply = self._tried(url, headers, body, timeout_s)
        else:
            reply = self._in_time(timeout_s, url, headers, body)
        return reply._replace(latency_ms=round((time.monotonic() - started) * 1000))

    def close(self) -> None:
        """Close the client, if one was needed."""
        if self._client is not None:
            self._client.close()

    def _in_time(self, timeout_s: int, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply, if it is whole within `timeout_s`.

        httpx bounds each read, and a receiver that drips bytes would hold the sandbox's clock for ever:
        so the request has a thread of its own, which is left behind when the time is up.
        """
        replies: list[Reply] = []
        sending = threading.Thread(
            target=lambda: replies.append(self._tried(url, headers, body, timeout_s)), daemon=True
        )
        sending.start()
        sending.join(timeout_s)
        return replies[0] if replies else Reply(None, fault=f"the answer took longer than {timeout_s} s")

    def _tried(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        try:
            return self._send(url, headers, body, timeout_s)
        except (httpx.HTTPError, OSError, InvalidRequest, UnicodeError) as error:
            return Reply(None, fault=mask(f"{type(error).__name__}: {error}"))
        except Exception as error:  # noqa: BLE001  a mounted application's bug is its own, and a failed attempt here
            return Reply(None, fault=mask(f"the receiver raised {type(error).__name__}: {error}"))

    def _send(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: int) -> Reply:
        target, extensions, host = url, {}, {}
        if not self.is_in_process(url):
            destination = resolved(url)
            target = str(httpx.URL(url).copy_with(host=destination.address))
            extensions = {"sni_hostname": destination.host}
            host = {"Host": urlsplit(url).netloc}
        with self._opened().stream(
            "POST", target, headers={**headers, **host}, content=body, timeout=timeout_s, extensions=extensions
        ) as response:
            answer = b""
            for chunk in response.iter_raw():
                answer += chunk
                if len(answer) >= MAX_ANSWER_BYTES:
                    break
        return Reply(
            response.status_code,
            mask(answer[:MAX_ANSWER_BYTES].decode("utf-8", "replace")),
            _seconds(response.headers.get("retry-after", "")),
        )

    def _opened(self) -> httpx.Client:
        if self._client is None:
            self._client = httpx.Client(
                mounts={f"all://{host}": httpx.WSGITransport(app) for host, app in self._mounted.items()},
                headers={"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "workbench-webhooks/1"},
                trust_env=False,
            )
        return self._client


def _seconds(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None  # noqa: PLR2004  30 years
