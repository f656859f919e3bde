"""API keys: listed masked, created, rolled and revoked; a value is shown once. And other accounts, to be apart from."""

from workbench.domain import wire
from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.wire import panel
from workbench.errors import InvalidRequest, NotFound, StateConflict
from workbench.sandbox import encode
from workbench.sandbox.service import lists
from workbench.sandbox.service.caller import Caller
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Account, ApiKey

URL = "/v1/api_keys"


def listed(tx: Transaction, caller: Caller, *, query: wire.ListQuery) -> wire.List[wire.ApiKey]:
    """GET /v1/api_keys: the keys, masked, newest first."""
    return lists.page(caller, tx.api_keys, query, URL, encode.api_key)


def create(tx: Transaction, caller: Caller, body: wire.CreateApiKey) -> wire.ApiKey:
    """POST /v1/api_keys: another test key; the answer holds its value, once."""
    if body.kind not in KEY_PREFIXES:
        raise InvalidRequest(
            f"kind is {' or '.join(KEY_PREFIXES)}, not {body.kind[:40]!r}.", code="parameter_invalid", param="kind"
        )
    return _new(tx, caller.account, body.kind)


def roll(tx: Transaction, caller: Caller, *, key_id: wire.PathKey) -> wire.ApiKey:
    """POST /v1/api_keys/{key_id}/roll: a new key in place of one, which ends at once."""
    key = _active(tx, caller, key_id)
    tx.api_keys.put(key, status=ROLLED)
    return _new(tx, caller.account, key.kind)


def revoke(tx: Transaction, caller: Caller, *, key_id: wire.PathKey) -> wire.ApiKey:
    """DELETE /v1/api_keys/{key_id}: end a key at once; the last secret key stays."""
    key = _active(tx, caller, key_id)
    if key.kind == "secret" and tx.api_keys.count(account=caller.account, kind="secret", status=ACTIVE) == 1:
        raise StateConflict(
            "It is the last secret key: without one nobody could call.", code="key_is_last", hint="Roll it instead."
        )
    return encode.api_key(tx.api_keys.put(key, status=REVOKED))


def new_account(tx: Transaction, name: str) -> panel.NewAccountKeys:
    """Another merchant with keys of its own: what belongs to one is not found by the other.

    Raises InvalidRequest: a name that is empty, or longer than a prompt has room for.
    """
    if not name.strip() or len(name) > panel.MAX_NAME:
        raise InvalidRequest(f"name is 1 to {panel.MAX_NAME} characters.", code="parameter_invalid", param="name")
    account = tx.accounts.add(Account(id=tx.new_id("acct"), name=name.strip()))
    values = {kind: tx.new_key(account.id, kind)[1] for kind in KEY_PREFIXES}
    return panel.NewAccountKeys(
        id=account.id, name=account.name, secret_key=values["secret"], publishable_key=values["publishable"]
    )


def _new(tx: Transaction, account: str, kind: str) -> wire.ApiKey:
    key, value = tx.new_key(account, kind)
    return encode.api_key(key, value=value)


def _active(tx: Transaction, caller: Caller, key_id: str) -> ApiKey:
    key = tx.api_keys.first(id=key_id, account=caller.account)
    if key is None:
        raise NotFound(f"There is no key {key_id[:60]!r}.", code="key_not_found", param="id")
    if key.status != ACTIVE:
        raise StateConflict(f"The key is {key.status}.", code="key_not_active", param="id", current=key.status)
    return key
