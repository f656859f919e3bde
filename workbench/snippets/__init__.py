"""One operation as text to copy: as a call of the typed client, as raw HTTP in httpx, and as curl.

>>> snippet("POST", "/sandbox/clock/advance", {"seconds": 3600}).python
'bench.clock.advance(hours=1)'

No text holds a key: it is `bench.secret_key` in Python and `$SECRET_KEY` in a shell. Any other secret in a body is a
variable of its field's name, for you to set.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.snippets.pieces import IN_PROCESS_URL, Request, curl, httpx, read
from workbench.snippets.typed import typed

__all__ = ["IN_PROCESS_URL", "Snippet", "snippet"]


class Snippet(NamedTuple):
    """The same request three times; each text runs as it stands."""

    python: str
    """With `bench`, and `pay` for its client; the same as `httpx` if no call sends the same request."""
    httpx: str
    """With `bench.http`, which holds no credentials."""
    curl: str
    """For a shell in which SECRET_KEY is set, and BASE_URL for a sandbox in this process."""

    def __str__(self) -> str:
        return "\n\n".join(self)


def snippet(  # noqa: PLR0913  one argument per part of a request
    method: str,
    path: str,
    body: Mapping[str, Any] | list[Any] | str | None = None,
    *,
    query: Mapping[str, str | list[str]] | None = None,
    headers: Mapping[str, str] | None = None,
    scheme: str | None = None,
    key: str = "secret_key",
    base_url: str = "",
) -> Snippet:
    """The texts of one request.

    `path` holds its ids, and may hold a query, as may `query`. `body` is a value to send as JSON, amounts as Decimal
    or int, or a text to send as it is. Without a Content-Type in `headers` one is added; an empty one is not sent.
    `scheme` is `Bearer`, `Basic` or `none`, by default what the operation takes. `key` is `secret_key`,
    `publishable_key` or `access_token`. `base_url` is for the curl: it is `$BASE_URL` for a sandbox in this process,
    which nothing outside reaches; set it to `bench.serve().base_url`.
    """
    request = read(
        Request(method.upper(), path, body, dict(query or {}), dict(headers or {}), scheme or "", key, base_url)
    )
    raw = httpx(request)
    return Snippet(typed(request) or raw, raw, curl(request))
