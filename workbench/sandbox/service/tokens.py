"""The illustrative token flow: a bearer token for 86,400 seconds of the clock."""

from workbench.domain import wire
from workbench.domain.wire.requests import EMAIL
from workbench.errors import AuthenticationFailed, InvalidRequest
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.service.live_keys import holds_live_key, live_key
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.creation import digest_of
from workbench.sandbox.store.files import MERCHANT_ID
from workbench.sandbox.store.records import TokenPair

LIFETIME_MS = 86_400_000
WRONG_PASSWORD = "wrong"  # noqa: S105  the one password that is refused, so that a refusal can be tried


def issue(tx: Transaction, caller: Caller, body: wire.TokenRequest) -> wire.Token:  # noqa: ARG001  one signature
    """POST /v1/auth/token: any e-mail address, any password but `wrong`."""
    if not EMAIL.fullmatch(body.email):
        raise InvalidRequest("email must be an e-mail address.", code="parameter_invalid", param="email")
    if not body.password:
        raise InvalidRequest("password must not be empty.", code="parameter_invalid", param="password")
    if body.password == WRONG_PASSWORD:
        raise AuthenticationFailed("email and password do not fit.", code="credentials_wrong", param="password")
    return _new_pair(tx, MERCHANT_ID)


def refresh(tx: Transaction, caller: Caller, body: wire.RefreshRequest) -> wire.Token:
    """POST /v1/auth/refresh: a new pair for the old, by its refresh token or by its bearer."""
    pair = _pair_of(tx, caller, body)
    tx.tokens.put(pair, retired=1)
    return _new_pair(tx, pair.account)


def _pair_of(tx: Transaction, caller: Caller, body: wire.RefreshRequest) -> TokenPair:
    if body.refresh_token is not None:
        if holds_live_key(body.refresh_token):
            raise live_key()
        pair = tx.tokens.first(refresh_digest=digest_of(body.refresh_token))
    elif caller.bearer is not None and tx.gaps.refresh_request == "body_or_header":
        pair = tx.tokens.first(access_digest=digest_of(caller.bearer))
    else:
        raise InvalidRequest("refresh_token is required.", code="parameter_missing", param="refresh_token")
    if pair is None or pair.retired:
        raise AuthenticationFailed(
            "The refresh token is unknown or was used before; ask for a new token.",
            code="refresh_token_invalid",
            param="refresh_token",
        )
    return pair


def _new_pair(tx: Transaction, account: str) -> wire.Token:
    identifier = tx.new_id("tok")
    access, renewal = (f"{kind}_{tx.draws.token(kind, identifier)}" for kind in ("at", "rt"))
    tx.tokens.add(
        TokenPair(
            id=identifier,
            seq=tx.next_seq(),
            account=account,
            access_digest=digest_of(access),
            refresh_digest=digest_of(renewal),
            issued_ms=tx.now_ms,
        )
    )
    return wire.Token(access_token=access, refresh_token=renewal, expires_in=LIFETIME_MS // 1000)
