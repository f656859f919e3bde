"""Live keys: known by their beginning, refused wherever they stand."""

import re

from workbench.errors import AuthenticationFailed

_LIVE = re.compile(r"(?<![0-9A-Za-z_])[sp]k_live")


def holds_live_key(text: str) -> bool:
    """Whether something in `text` begins as a live key does."""
    return _LIVE.search(text) is not None


def live_key() -> AuthenticationFailed:
    """The answer to a live key."""
    return AuthenticationFailed(
        "This is a live key, and this is the sandbox: nothing live was touched, no money moved.",
        code="live_key_in_sandbox",
        hint="Use a key that begins sk_test_ or pk_test_, and roll the live key if others could see this call.",
    )
