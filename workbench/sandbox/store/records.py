"""Rows of the store that are not structs of the domain: keys, holds, jobs, calls, kept responses."""

import msgspec


class StoredAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A merchant; `name` is what a customer reads in the prompt."""

    id: str
    name: str


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key by its digest; `kind` is secret or publishable, `status` is active, rolled or revoked."""

    id: str
    seq: int
    digest: str
    account: str
    kind: str
    masked: str
    status: str = "active"
    created_ms: int = 0


class TokenPair(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token and its refresh token, by their digests."""

    id: str
    seq: int
    account: str
    access_digest: str
    refresh_digest: str
    issued_ms: int
    retired: int = 0


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """A screen of a handset, and the input that led to the screen."""

    seq: int
    at_ms: int
    session: str
    charge: str
    phone: str
    pressed: str | None
    words: str


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """The opening or the end of a hold on a charge's amount; `change` is `opened` or `ended`."""

    seq: int
    at_ms: int
    charge: str
    change: str
    amount_minor: int


class StoredScript(msgspec.Struct, frozen=True, kw_only=True):
    """The scenario of a coming attempt on a number; scenarios are used in the order of `seq`."""

    seq: int
    phone: str
    scenario: str


class StoredOutage(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's outage and its end."""

    provider: str
    until_ms: int


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job: its kind, its object and the moment when it is due."""

    seq: int
    due_ms: int
    kind: str
    ref: str
    claimed: int = 0


class KeptResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The first response to an idempotency key."""

    scope: str
    body_digest: str
    status: int
    content_type: str
    body: str
    payment: str | None
    at_ms: int


class StoredPayment(msgspec.Struct, frozen=True, kw_only=True):
    """An intent or a charge without an intent: a row of the view `payment`; `state` is in `wire.PAYMENT_STATES`."""

    id: str
    seq: int
    account: str
    amount_minor: int
    refunded_minor: int
    currency: str
    description: str | None
    phone: str | None
    provider: str | None
    charge: str | None
    failure_code: str | None
    created_ms: int
    state: str


class StoredCall(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP exchange, masked."""

    id: str
    seq: int
    at_ms: int
    method: str
    path: str
    payment: str | None
    request_headers: dict[str, str]
    request_body: str
    status: int
    response_headers: dict[str, str]
    response_body: str
