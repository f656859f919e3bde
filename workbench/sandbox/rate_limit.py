"""How many calls an account may make in a time, and what each response tells of what is left of them.

The headers are those of draft-ietf-httpapi-ratelimit-headers-11. A window begins with the first call after the one
before has ended, on the sandbox's clock. Each response of an operation that takes a key counts, whatever it is, but
for the 429 itself: a refusal uses nothing up.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench.errors import RateLimited
from workbench.sandbox.store import Transaction

REFUSED: Final = RateLimited.status


class Quota(NamedTuple):
    """So many calls in so many seconds."""

    calls: int
    window_s: int


QUOTAS: Final[Mapping[str, Quota | None]] = {"none": None, "100_per_60": Quota(100, 60)}
"""By `rate_limit`."""


class _Window(NamedTuple):
    """What is left of an account's calls, and for how many seconds, in full ones."""

    left: int
    ends_s: int


def check(tx: Transaction, account: str) -> None:
    """Raises RateLimited: the calls of this time are used up."""
    quota = QUOTAS[tx.gaps.rate_limit]
    if quota is not None and (window := _window(tx, account, quota)).left == 0:
        message = f"The account has made {quota.calls} calls in {quota.window_s} s and may make no more for now."
        hint = f"Wait {window.ends_s} s, then send the same request again."
        raise RateLimited(message, hint=hint, retry_after_s=window.ends_s)


def counted(tx: Transaction, account: str, status: int) -> dict[str, str]:
    """Count a call that is answered with this status; the headers of its response, none where nothing is limited."""
    quota = QUOTAS[tx.gaps.rate_limit]
    if quota is None:
        return {}
    left, ends_s = _window(tx, account, quota)
    if status != REFUSED:
        if left == quota.calls:
            tx.note(_begun(account), tx.now_ms)
        left -= 1
        tx.note(_made(account), quota.calls - left)
    told = {
        "RateLimit-Policy": f'"default";q={quota.calls};w={quota.window_s}',
        "RateLimit": f'"default";r={left};t={ends_s}',
    }
    return told | ({"Retry-After": str(ends_s)} if status == REFUSED else {})


def forget(tx: Transaction) -> None:
    """Let every account begin anew."""
    if QUOTAS[tx.gaps.rate_limit] is not None:
        for each in tx.accounts.all("id"):
            tx.note(_made(each.id), 0)


def _window(tx: Transaction, account: str, quota: Quota) -> _Window:
    made, ends_ms = tx.last(_made(account)), tx.last(_begun(account)) + quota.window_s * 1000
    if not made or tx.now_ms >= ends_ms:
        return _Window(quota.calls, quota.window_s)
    return _Window(quota.calls - made, -((tx.now_ms - ends_ms) // 1000))


def _begun(account: str) -> str:
    return f"window of {account}"


def _made(account: str) -> str:
    return f"calls of {account}"
