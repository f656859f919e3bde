"""The console's door lets a browser in by a code in the printed link, which works once, and then by a cookie."""

import base64
import hmac
import multiprocessing
import secrets
from collections.abc import Mapping

import msgspec

from workbench.domain.ids import Draws
from workbench.sandbox.messages import Arrived, InForce, Request, Response
from workbench.sandbox.openapi import pages
from workbench.sandbox.operations import Operation
from workbench.sandbox.speaking import Speaker
from workbench.sandbox.store import Store


class Door:
    """The door of a server, the same in all its workers: codes and cookie are made from one secret."""

    store: Store
    speaker: Speaker | None

    def __init__(self, base_url: str, port: int) -> None:
        self._draws, self._base_url = Draws(secrets.token_hex(32)), base_url
        self._used = multiprocessing.get_context("spawn").Value("L")
        # A browser sends the cookie to all ports of this machine.
        self._cookie = f"workbench_{port}={self._draws.token('cookie')}"

    @property
    def link(self) -> str:
        """The next address that lets a browser in, once; its code has 24 letters and digits, about 142 bits."""
        return f"{self._base_url}/?code={self._draws.token('code', self._used.value)}"

    def page(self, arrived: Arrived, request: Request, choices: InForce) -> Response:
        """GET /: the console for whoever was let in; a code is exchanged for the cookie; else a field for a code."""
        code = request.query.get("code") if arrived.method == "GET" else None
        was_let_in, headers = self._was_let_in(arrived.headers), {"Location": "/", **pages.ONCE}
        if code is None:
            return pages.of_console(request, choices) if was_let_in else pages.entrance(request, choices, 200)
        if not was_let_in:
            with self._used.get_lock():
                if not hmac.compare_digest(str(code).encode(), self.link.partition("=")[2].encode()):
                    return pages.entrance(request, choices, 403)
                self._used.value += 1
            headers["Set-Cookie"] = f"{self._cookie}; Path=/; HttpOnly; SameSite=Strict"
            if self.speaker:
                self.speaker.write(f"The console's next link: {self.link}")
        return Response(303, "text/plain", b"", headers)

    def let_in(self, arrived: Arrived, request: Request, operation: Operation) -> Request:
        """The request, with the secret key added if the console's page sent it with the cookie and without a key.

        Other pages on this machine send the cookie too: a browser names the page's origin in `Origin`, or for a GET or
        HEAD in `Sec-Fetch-Site`.
        """
        headers, origin = arrived.headers, arrived.headers.get("origin", "")
        is_own = origin.lower().removeprefix("https").removeprefix("http") == f"://{headers.get('host', '').lower()}"
        if not origin and arrived.method in {"GET", "HEAD"}:
            is_own = headers.get("sec-fetch-site") == "same-origin"
        if "authorization" in headers or not (operation.schemes and is_own and self._was_let_in(headers)):
            return request
        scheme, value = operation.schemes[0], self.store.key("secret")
        value = base64.b64encode(f"{value}:".encode()).decode() if scheme == "Basic" else value
        return msgspec.structs.replace(request, headers={**request.headers, "Authorization": f"{scheme} {value}"})

    def _was_let_in(self, headers: Mapping[str, str]) -> bool:
        sent = headers.get("cookie", "").split(";")
        return any(hmac.compare_digest(cookie.strip().encode(), self._cookie.encode()) for cookie in sent)
