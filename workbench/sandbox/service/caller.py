"""What comes with a call: who calls, what follows from it, what is asked to go wrong; and a refusal that is kept."""

from typing import Final, NamedTuple

from workbench.errors import ApiError


class Cause(NamedTuple):
    """The merchant's request that something follows from, which events name."""

    request_id: str | None = None
    idempotency_key: str | None = None


BY_ITSELF: Final = Cause()
"""What falls due, and what a person does on the panel, which is no request of the merchant's."""


class Caller(NamedTuple):
    """The credential behind a call: `kind` is secret, publishable, token or nobody."""

    kind: str
    account: str
    account_name: str = ""
    bearer: str | None = None
    """The access token itself, for the operation that refreshes it."""
    cause: Cause = BY_ITSELF
    scenario: str | None = None
    """What the call, or the script of its number, asks to go wrong."""


NOBODY = Caller("nobody", "")


class Refused(NamedTuple):
    """A refusal that keeps what was done: returned, it is committed, where an ApiError that is raised undoes it all.

    A charge that was declined stays, and so does the prompt that was found expired. As a type of its own, next to
    what a function returns on success, it says in the signature which functions refuse so.
    """

    error: ApiError
