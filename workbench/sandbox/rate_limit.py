"""Limits the calls of an account per window; each response says how many calls are left.

The headers are those of draft-ietf-httpapi-ratelimit-headers-11. A window begins, on the sandbox's clock, with the
first call after the window before has ended. Every response of an operation that takes an API key counts, except a
429.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench.errors import RateLimited
from workbench.sandbox.store import Transaction

_CALLS, _WINDOW = "calls of {}", "window of {}"
"""Counters of an account: the calls in its window, and the moment at which the window began."""


class Quota(NamedTuple):
    """A limit of `calls` in `window_s` seconds."""

    calls: int
    window_s: int


QUOTAS: Final[Mapping[str, Quota]] = {"100_per_60": Quota(100, 60)}
"""Choice of `rate_limit` → its quota; the choice `none` has no quota, and calls are not counted."""


def check_quota(tx: Transaction, account: str) -> None:
    """Raises RateLimited: the account has used up the calls of its window."""
    quota = QUOTAS[tx.gaps.rate_limit]
    left, ends_s = _window(tx, account, quota)
    if left == 0:
        message = f"The account has made {quota.calls} calls in {quota.window_s} s and may make no more for now."
        hint = f"Wait {ends_s} s, then send the same request again."
        raise RateLimited(message, hint=hint, retry_after_s=ends_s)


def count_call(tx: Transaction, account: str, status: int) -> dict[str, str]:
    """Count a call that gets this status, and return the headers of its response."""
    quota = QUOTAS[tx.gaps.rate_limit]
    left, ends_s = _window(tx, account, quota)
    if status != RateLimited.status:
        if left == quota.calls:
            tx.note(_WINDOW.format(account), tx.now_ms)
        left -= 1
        tx.note(_CALLS.format(account), quota.calls - left)
    headers = {
        "RateLimit-Policy": f'"default";q={quota.calls};w={quota.window_s}',
        "RateLimit": f'"default";r={left};t={ends_s}',
    }
    return headers | ({"Retry-After": str(ends_s)} if status == RateLimited.status else {})


def forget_calls(tx: Transaction) -> None:
    """Give every account its full quota again."""
    if tx.gaps.rate_limit in QUOTAS:
        for account in tx.accounts.all("id"):
            tx.note(_CALLS.format(account.id), 0)


def _window(tx: Transaction, account: str, quota: Quota) -> tuple[int, int]:
    """The calls that an account has left, and the full seconds until its window ends."""
    made, ends_ms = tx.last(_CALLS.format(account)), tx.last(_WINDOW.format(account)) + quota.window_s * 1000
    if not made or tx.now_ms >= ends_ms:
        return quota.calls, quota.window_s
    return quota.calls - made, -((tx.now_ms - ends_ms) // 1000)
