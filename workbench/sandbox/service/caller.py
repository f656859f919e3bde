"""Who calls, and what goes back to them that is no success."""

from typing import NamedTuple

from workbench.errors import ApiError


class Caller(NamedTuple):
    """The credential behind a call: `kind` is secret, publishable, token or nobody."""

    kind: str
    account: str
    account_name: str = ""
    bearer: str | None = None
    """The access token itself, for the operation that refreshes it."""


NOBODY = Caller("nobody", "")


class Refused(NamedTuple):
    """A refusal that keeps what was done: returned, it is committed, where an ApiError that is raised undoes it all.

    A charge that was declined stays, and so does the prompt that was found expired. As a type of its own, next to
    what a function returns on success, it says in the signature which functions refuse so.
    """

    error: ApiError
