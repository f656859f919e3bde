"""Decides who may call, by the host name, the origin of the page, and the key or token.

A page of any site can let its own name resolve to this machine (DNS rebinding). The page then has the same origin as
the sandbox and could read keys, ledger and handsets. The headers `Host` and `Origin` of its calls reveal such a page.
"""

import base64
import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple, TypeGuard

from workbench.domain.ids import REVOKED, ROLLED
from workbench.errors import AuthenticationFailed, HostRefused, InvalidRequest, PermissionDenied, ServeRefused
from workbench.sandbox.messages import InForce, Request, Response
from workbench.sandbox.operations import EITHER, Operation
from workbench.sandbox.service import LIVE_KEY, NOBODY, Caller, live_key
from workbench.sandbox.service.accounts import LIFETIME_MS, still_works
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.transaction import secret_digest

_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:(?P<port>[0-9]{1,5}))?")
LAST_PORT: Final = 65_535
_SHOWN: Final = 80
_ALLOWING: Final = "workbench serve --allow-host NAME, or bench.serve(allow_hosts=[NAME])."
_PORTS: Final = {"http": ":80", "https": ":443"}
"""Scheme → the port that a browser omits from an origin."""
_PREFLIGHT: Final = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Api-Version, Sandbox-Scenario",
    "Access-Control-Max-Age": "600",
}
_READ_BY_PAGES: Final = "Request-Id, Api-Version, Idempotent-Replayed, Sandbox-Provenance"
_FOR_TOKENS: Final = "/plants"
"""The path that may be called with any token."""
_WAYS: Final = {
    "Bearer": "Authorization: Bearer and the key",
    "Basic": "HTTP Basic with the key as user name, no password",
}


class Admitted:
    """Host names under which the sandbox may be called, and origins whose pages may call publishable-key operations.

    `hosts` are names in addition to this machine's loopback names. By default no page is admitted (CORS). Raises
    ServeRefused: a host is neither a name nor an address, or an origin is malformed.
    """

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        allowed = map(_allowed_host, [hosts] if isinstance(hosts, str) else hosts)
        self._names = frozenset({"127.0.0.1", "::1", "localhost", *allowed})
        self._origins = frozenset(map(_allowed_origin, [origins] if isinstance(origins, str) else origins))

    def check(self, host: str | None, origin: str | None) -> None:
        """Checks the headers Host and Origin of a request; the values of a repeated header are joined by commas.

        Raises InvalidRequest: the host is missing or unreadable. Raises HostRefused: the host is not admitted. Raises
        PermissionDenied: the origin's host is not admitted.
        """
        name = _host_in(host or "")
        if name is None:
            message = "A request needs one Host header: a name or an address, with or without a port"
            raise InvalidRequest(f"{message}, not {_shown_name(host)}.", code="host_malformed", param="Host")
        if not self._knows(name):
            message = (
                f"This sandbox does not answer to the name {_shown_name(host)}: it cannot tell a "
                "proxy's name, or another name of this machine, from that of a page that must not reach it."
            )
            hint = f"Call 127.0.0.1 or localhost, or allow the name: {_ALLOWING}"
            raise HostRefused(message, hint=hint, param="Host")
        scheme, _, authority = (origin or "").partition("://")
        home = _host_in(authority) if scheme in _PORTS else None
        if origin is not None and not (home and self._knows(home)):
            message = f"A page of the origin {_shown_name(origin)} may not call this sandbox."
            hint = (
                "Call from a server; for what a publishable key may do, allow the origin: --allow-origin or "
                f"bench.serve(allow_origins=[…]). To let a host's pages in, allow its name: {_ALLOWING}"
            )
            raise PermissionDenied(message, code="origin_refused", hint=hint, param="Origin")

    def _knows(self, name: str) -> bool:
        return name in self._names or (name.endswith(".localhost") and _NAME.fullmatch(name) is not None)

    def lets(self, handler: object, origin: str) -> TypeGuard[Operation]:
        """True if `handler` is an operation that pages of `origin` may call, and whose response they may read."""
        return origin in self._origins and isinstance(handler, Operation) and handler.publishable


def preflight(operation: Operation, request: Request, choices: InForce) -> Response:
    """The response to a CORS preflight request for an operation."""
    return Response(200, "text/plain", b"", {"Access-Control-Allow-Methods": operation.method, **_PREFLIGHT})


def shared_with(origin: str) -> list[tuple[str, str]]:
    """The CORS headers that let a page of this origin read a response."""
    shown = ("access-control-expose-headers", _READ_BY_PAGES)
    return [("access-control-allow-origin", origin), shown, ("vary", "Origin")]


def _allowed_origin(text: str) -> str:
    """The origin as browsers send it, without the scheme's default port. Raises ServeRefused: not an origin."""
    scheme, _, authority = text.lower().removesuffix("/").partition("://")
    if scheme not in _PORTS or _host_in(authority) is None:
        raise ServeRefused(
            f"{text[:_SHOWN]!r} is not the origin of a page.",
            hint="Give scheme, host and port as a browser's address bar shows them, such as http://localhost:3000. "
            "* and null would admit every page, and are not accepted.",
        )
    return f"{scheme}://{authority.removesuffix(_PORTS[scheme])}"


@lru_cache(maxsize=64)
def _host_in(authority: str) -> str | None:
    """The host of `host` or `host:port`, an IPv6 address in its shortest form; None if the text is neither."""
    parts = _AUTHORITY.fullmatch(authority.lower())
    if parts is None or int(parts["port"] or 0) > LAST_PORT:
        return None
    return _shortest_address(parts["host"].strip("[]")) if parts["host"].startswith("[") else parts["host"]


def _shortest_address(address: str) -> str | None:
    try:
        return ipaddress.IPv6Address(address).compressed
    except ValueError:
        return None


def _allowed_host(name: str) -> str:
    """The name or address, an IPv6 address in its shortest form. Raises ServeRefused: neither."""
    plain = name.lower().partition("%")[0]
    address = _shortest_address(plain[1:-1] if plain[:1] + plain[-1:] == "[]" else plain)
    if address is None and _NAME.fullmatch(plain) is None:
        raise ServeRefused(
            f"{name[:_SHOWN]!r} is not a name or an address that a request can be sent to.",
            hint="Give only a host, without http://, port or *, such as sandbox or 192.0.2.7.",
        )
    return address or plain


def _shown_name(value: str | None) -> str:
    return repr(value[:_SHOWN]) if value else "none"


class Credential(NamedTuple):
    """The Authorization header: a capitalized scheme, a key or token, and with Basic the password."""

    scheme: str
    value: str
    password: str = ""


def credential_in(request: Request) -> Credential | None:
    """The credential of a request; None if it has none.

    Raises AuthenticationFailed: a live key in any form and any header, or a credential that cannot be read.
    """
    if request.live:
        raise live_key()
    header = request.headers.get("Authorization")
    if not header or not header.strip():
        return None
    scheme, _, value = header.strip().partition(" ")
    value, password = value.strip(), ""
    if scheme.lower() == "basic":
        try:
            value, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except ValueError:  # also for what is not ASCII, or not UTF-8 once it is decoded
            message = "The Basic credentials are not base64 of key and colon."
            raise AuthenticationFailed(message, code="key_invalid") from None
        if LIVE_KEY.search(f"{value} {password}"):
            raise live_key()
    return Credential(scheme.capitalize(), value, password)


def caller_of(tx: Transaction, request: Request, operation: Operation) -> Caller:
    """The caller of an operation, identified by the request's key or token.

    Raises AuthenticationFailed: no key, a wrong or live key, an expired token, or a scheme of other operations. Raises
    PermissionDenied: a publishable key or a token may not call this operation.
    """
    credential = credential_in(request)
    if not operation.schemes:
        return NOBODY._replace(bearer=credential.value if credential else None)
    if credential is None:
        message = f"The Authorization header is missing; this operation takes {_accepted_schemes(operation)}."
        raise AuthenticationFailed(message, code="key_missing")
    accepted = operation.schemes if tx.gaps.auth_schemes == "as_documented" else EITHER
    if credential.scheme not in accepted:
        raise AuthenticationFailed(f"This operation takes {_accepted_schemes(operation)}.", code="scheme_wrong")
    if credential.password:
        raise AuthenticationFailed("The key is the user name; the password stays empty.", code="key_invalid")
    caller = _caller_by_credential(tx, credential)
    if caller.kind == "publishable" and not operation.publishable:
        message = "A publishable key may only confirm and retrieve one intent."
        raise PermissionDenied(message, hint="Use the secret key, on a server.")
    if caller.kind == "token" and tx.gaps.access_token_use != "everywhere" and operation.path != _FOR_TOKENS:
        raise PermissionDenied("A token may only add plants.", hint="Use the secret key, on a server.")
    return caller


def _caller_by_credential(tx: Transaction, credential: Credential) -> Caller:
    digest = secret_digest(credential.value)
    if match := tx.key_and_account(digest):
        key, account = match
        if key.status == ROLLED and still_works(tx, key):
            return Caller(key.kind, account.id, account.name, relied=("key_rotation",))
        if key.status == ROLLED:
            hint = "The newer key was shown once, when the key was rolled; pass it to bench.use_key."
            raise AuthenticationFailed("The key was rolled and replaced by a newer one.", code="key_rolled", hint=hint)
        if key.status == REVOKED:
            raise AuthenticationFailed("The key was revoked.", code="key_revoked")
        return Caller(key.kind, account.id, account.name)
    if credential.scheme == "Bearer" and (pair := tx.tokens.first(access_digest=digest)):
        if pair.retired:
            raise AuthenticationFailed("The token was replaced by a newer one.", code="token_replaced")
        if tx.now_ms >= pair.issued_ms + LIFETIME_MS:
            raise AuthenticationFailed("The token has expired; refresh it.", code="token_expired")
        return Caller("token", pair.account, tx.accounts[pair.account].name)
    raise AuthenticationFailed("The key does not belong to this sandbox.", code="key_invalid")


def _accepted_schemes(operation: Operation) -> str:
    return " or ".join(_WAYS[scheme] for scheme in operation.schemes)


def challenges(operation: Operation | None) -> str:
    """The value of the header WWW-Authenticate of a 401: the schemes that the operation accepts, or else Bearer."""
    schemes = operation.schemes if operation and operation.schemes else ("Bearer",)
    return ", ".join(f'{scheme} realm="sandbox"' for scheme in schemes)
