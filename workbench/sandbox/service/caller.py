"""Who calls, and what of the path and query comes with the call."""

from typing import NamedTuple


class Caller(NamedTuple):
    """The credential behind a call: `kind` is secret, publishable, token or nobody."""

    kind: str
    account: str
    account_name: str = ""
    bearer: str | None = None
    """The access token itself, for the operation that refreshes it."""


NOBODY = Caller("nobody", "")
