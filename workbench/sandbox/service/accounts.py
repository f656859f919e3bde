"""API keys: listed masked, created, rolled and revoked. Tokens for the plant store: issued and refreshed."""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, UnsetType

from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.wire import keys_and_events as wire
from workbench.errors import AuthenticationFailed, InvalidRequest, StateConflict, invalid
from workbench.sandbox.service import LIVE_KEY, Caller, Resource, live_key, view_of
from workbench.sandbox.store import MERCHANT_ID, Transaction
from workbench.sandbox.store.rows import StoredAccount, StoredKey
from workbench.sandbox.store.transaction import secret_digest

LIFETIME_MS: Final = 86_400_000
_OVERLAP_MS: Final[Mapping[str, int]] = {"at_once": 0, "overlap": 86_400_000}
"""Value of the register's `key_rotation` → milliseconds for which a rolled key still works."""
_WRONG_PASSWORD: Final = "wrong"


def _ends_ms(tx: Transaction, key: StoredKey) -> int | None:
    return tx.last(f"end of {key.id}") or None if key.status == ROLLED and _OVERLAP_MS[tx.gaps.key_rotation] else None


def still_works(tx: Transaction, key: StoredKey) -> bool:
    """True if a rolled key is still within the time for which it works."""
    return tx.now_ms < (_ends_ms(tx, key) or 0)


def _key_view(tx: Transaction, key: StoredKey, value: str | UnsetType = UNSET) -> wire.ApiKey:
    """The view of a key; a new key's view includes its `value`."""
    ends_ms = _ends_ms(tx, key)
    return view_of(wire.ApiKey, key, value=value, works_until=ends_ms // 1000 if ends_ms else UNSET)


KEYS = Resource("key", "/v1/api_keys", lambda tx: tx.api_keys, _key_view, code="key_not_found")


def create_key(tx: Transaction, caller: Caller, body: wire.CreateApiKey) -> wire.ApiKey:
    """POST /v1/api_keys: create a test key; the response holds its value, once."""
    if body.kind not in KEY_PREFIXES:
        raise invalid(f"kind is {' or '.join(KEY_PREFIXES)}, not {body.kind[:40]!r}.", "kind")
    return _key_view(tx, *tx.new_key(caller.account, body.kind))


def roll_key(tx: Transaction, caller: Caller, *, key_id: str) -> wire.ApiKey:
    """POST /v1/api_keys/{key_id}/roll: replace a key by a new one; the old one ends at once, or a day later."""
    key = KEYS.find(tx, caller, key_id)
    if key.status != ACTIVE:
        raise _not_active(key)
    tx.api_keys.put(key, status=ROLLED)
    if overlap_ms := _OVERLAP_MS[tx.gaps.key_rotation]:
        tx.note(f"end of {key.id}", tx.now_ms + overlap_ms)
    return _key_view(tx, *tx.new_key(caller.account, key.kind))


def revoke_key(tx: Transaction, caller: Caller, *, key_id: str) -> wire.ApiKey:
    """DELETE /v1/api_keys/{key_id}: revoke a key at once; the last secret key cannot be revoked."""
    key = KEYS.find(tx, caller, key_id)
    if key.status != ACTIVE and not still_works(tx, key):
        raise _not_active(key)
    is_last = tx.api_keys.count(account=caller.account, kind="secret", status=ACTIVE) == 1
    if is_last and key.status == ACTIVE and key.kind == "secret":
        message = "It is the last secret key: without it, nobody could call."
        raise StateConflict(message, code="key_is_last", hint="Roll it instead.")
    return _key_view(tx, tx.api_keys.put(key, status=REVOKED))


def _not_active(key: StoredKey) -> StateConflict:
    return StateConflict(f"The key is {key.status}.", code="key_not_active", param="id", current=key.status)


def show_keys(tx: Transaction, caller: Caller) -> wire.MerchantKeys:
    """GET /sandbox/keys: the merchant's secret and publishable key."""
    return wire.MerchantKeys(tx.key(caller.account, "secret"), tx.key(caller.account, "publishable"))


def new_account(tx: Transaction, caller: Caller, body: wire.NewAccount) -> wire.NewAccountKeys:
    """POST /sandbox/accounts: add a merchant to this sandbox; the response holds its keys, once."""
    if not body.name.strip() or len(body.name) > wire.MAX_NAME:
        raise invalid(f"name is 1 to {wire.MAX_NAME} characters.", "name")
    account = tx.accounts.add(StoredAccount(id=tx.new_id("acct"), name=body.name.strip()))
    values = {f"{kind}_key": tx.new_key(account.id, kind)[1] for kind in KEY_PREFIXES}
    return wire.NewAccountKeys(id=account.id, name=account.name, **values)


def issue_token(tx: Transaction, caller: Caller, body: wire.TokenRequest) -> wire.Token:
    """POST /v1/auth/token: get a token, by default with any e-mail address and any password but `wrong`."""
    if not wire.EMAIL.fullmatch(body.email):
        raise invalid("email must be an e-mail address.", "email")
    if not body.password:
        raise invalid("password must not be empty.", "password")
    known = tx.credentials()
    if body.password == _WRONG_PASSWORD or (known and known != (body.email, body.password)):
        raise AuthenticationFailed("email or password is wrong.", code="credentials_wrong", param="password")
    return _new_pair(tx, MERCHANT_ID)


def refresh_token(tx: Transaction, caller: Caller, body: wire.RefreshRequest) -> wire.Token:
    """POST /v1/auth/refresh: exchange the refresh token, or the bearer token, for a new pair."""
    if body.refresh_token is not None:
        if LIVE_KEY.search(body.refresh_token):
            raise live_key()
        pair = tx.tokens.first(refresh_digest=secret_digest(body.refresh_token))
    elif caller.bearer is not None and tx.gaps.refresh_request == "body_or_header":
        pair = tx.tokens.first(access_digest=secret_digest(caller.bearer))
    else:
        raise InvalidRequest("refresh_token is required.", code="parameter_missing", param="refresh_token")
    if pair is None or pair.retired:
        message = "The refresh token is unknown or was used before; ask for a new token."
        raise AuthenticationFailed(message, code="refresh_token_invalid", param="refresh_token")
    tx.tokens.put(pair, retired=1)
    return _new_pair(tx, pair.account)


def _new_pair(tx: Transaction, account: str) -> wire.Token:
    identifier = tx.new_id("tok")
    access, renewal = (f"{kind}_{tx.draws.token(kind, identifier)}" for kind in ("at", "rt"))
    tx.tokens.create(
        id=identifier, account=account, access_digest=secret_digest(access), refresh_digest=secret_digest(renewal)
    )
    return wire.Token(access_token=access, refresh_token=renewal, expires_in=LIFETIME_MS // 1000)


def create_plant(tx: Transaction, caller: Caller, body: wire.NewPlant) -> wire.Plant:
    """POST /plants: create a plant; the response is the plant without its id."""
    return wire.Plant(name=body.name, tag=body.tag)
