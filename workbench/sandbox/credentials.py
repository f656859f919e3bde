"""Who calls: the Authorization header read, live keys refused, the key or token looked up."""

import base64
import binascii
from typing import NamedTuple

from workbench.domain.ids import REVOKED, ROLLED
from workbench.errors import AuthenticationFailed, PermissionDenied
from workbench.sandbox.operations import Operation
from workbench.sandbox.service.checks import holds_live_key, live_key
from workbench.sandbox.service.keys import LIFETIME_MS
from workbench.sandbox.service.lists import NOBODY, Caller
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.transaction import digest_of


class Credential(NamedTuple):
    """What stands in the Authorization header: a scheme in capital case and a key or token."""

    scheme: str
    value: str
    password: str = ""


def credential_in(header: str | None, *, live: bool = False) -> Credential | None:
    """The credential of an Authorization header, None without one; `live` when a live key was seen elsewhere.

    Raises AuthenticationFailed: a live key in any form, or a header that cannot be read.
    """
    if live:
        raise live_key()
    if not header or not header.strip():
        return None
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    password = ""
    if scheme.lower() == "basic":
        value, password = _basic(value)
        if holds_live_key(f"{value} {password}"):
            raise live_key()
    return Credential(scheme.capitalize(), value, password)


def caller_of(tx: Transaction, credential: Credential | None, operation: Operation) -> Caller:
    """Who calls, when they may call this.

    Raises AuthenticationFailed: no key, a wrong one, an expired token, or the other scheme.
    Raises PermissionDenied: a publishable key or a token where it may not.
    """
    if not operation.schemes:
        return NOBODY._replace(bearer=credential.value if credential else None)
    if credential is None:
        raise AuthenticationFailed(
            f"The Authorization header is missing; this operation takes {_ways(operation)}.", code="key_missing"
        )
    if credential.scheme not in _accepted(tx, operation):
        raise AuthenticationFailed(f"This operation takes {_ways(operation)}.", code="scheme_wrong")
    if credential.password:
        raise AuthenticationFailed("The key is the user name; the password stays empty.", code="key_invalid")
    caller = _known(tx, credential)
    if caller.kind == "publishable" and not operation.publishable:
        raise PermissionDenied(
            "A publishable key may confirm and retrieve one intent, nothing else.",
            hint="Use the secret key, on a server.",
        )
    if caller.kind == "token" and tx.gaps.access_token_use != "everywhere" and operation.path != _FOR_TOKENS:  # noqa: S105  a choice of the register
        raise PermissionDenied("A token may add plants, nothing else.", hint="Use the secret key, on a server.")
    return caller


_FOR_TOKENS = "/plants"
"""All that a token may be good for."""


def _known(tx: Transaction, credential: Credential) -> Caller:
    key = tx.api_keys.first(digest=digest_of(credential.value))
    if key is not None and key.status == ROLLED:
        raise AuthenticationFailed(
            "The key was rolled: a newer one is in its place.",
            code="key_rolled",
            hint="The newer one was shown once, where the key was rolled; bench.use_key takes it.",
        )
    if key is not None and key.status == REVOKED:
        raise AuthenticationFailed("The key was revoked.", code="key_revoked")
    if key is not None:
        return _caller(tx, key.kind, key.account)
    if credential.scheme == "Bearer" and (pair := tx.tokens.first(access_digest=digest_of(credential.value))):
        if pair.retired:
            raise AuthenticationFailed("The token was replaced by a newer one.", code="token_replaced")
        if tx.now_ms >= pair.issued_ms + LIFETIME_MS:
            raise AuthenticationFailed("The token has expired; refresh it.", code="token_expired")
        return _caller(tx, "token", pair.account)._replace(bearer=credential.value)
    raise AuthenticationFailed("The key is not one of this sandbox.", code="key_invalid")


def _caller(tx: Transaction, kind: str, account: str) -> Caller:
    found = tx.accounts.get(account)
    return Caller(kind, account, found.name if found else "")


def _accepted(tx: Transaction, operation: Operation) -> tuple[str, ...]:
    return operation.schemes if tx.gaps.auth_schemes == "as_documented" else ("Bearer", "Basic")


_WAYS = {"Bearer": "Authorization: Bearer and the key", "Basic": "HTTP Basic with the key as user name, no password"}


def _ways(operation: Operation) -> str:
    return " or ".join(_WAYS[scheme] for scheme in operation.schemes)


def challenges(operation: Operation | None) -> str:
    """The WWW-Authenticate header of a 401."""
    schemes = operation.schemes if operation and operation.schemes else ("Bearer",)
    return ", ".join(f'{scheme} realm="sandbox"' for scheme in schemes)


def _basic(value: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise AuthenticationFailed(
            "The Basic credentials are not base64 of key and colon.", code="key_invalid"
        ) from None
    return user, password
