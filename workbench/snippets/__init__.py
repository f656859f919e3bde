"""One operation as text to copy: the same as a call of the typed client, as raw HTTP in httpx, and as curl.

>>> snippet("POST", "/sandbox/clock/advance", {"seconds": 3600}).python
'bench.clock.advance(hours=1)'

No key stands in a text: it is `bench.secret_key` in Python and `$SECRET_KEY` in a shell. What else is secret in a
body is a variable of its field's name, to be set by whoever runs the text.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.snippets.request import IN_PROCESS_URL, Request, read
from workbench.snippets.typed import typed
from workbench.snippets.written import curl, httpx

__all__ = ["IN_PROCESS_URL", "Snippet", "snippet"]


class Snippet(NamedTuple):
    """The same request three times; each text works when it is run."""

    python: str
    """With `bench`, and `pay` for its client; as `httpx` where the client has no such call or cannot say it."""
    httpx: str
    """With `bench.http`, which holds no credentials."""
    curl: str
    """For a shell in which SECRET_KEY is set, and BASE_URL where the sandbox has no address of its own."""

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

    `path` is the one that is called, with its ids; a query may stand in it, or in `query`. `body` is what is to
    be JSON, amounts as Decimal or int, or a text to be sent as it stands. A Content-Type is added where `headers`
    have none; an empty one means that none is sent. `scheme` is `Bearer`, `Basic` or `none`: without it what the
    operation takes. `key` is whose it is: `secret_key`, `publishable_key` or `access_token`. `base_url` stands in
    the curl; nothing outside of a process reaches `http://sandbox.localhost`, so that `$BASE_URL` stands there,
    which `bench.serve().base_url` tells.
    """
    request = read(
        Request(method.upper(), path, body, dict(query or {}), dict(headers or {}), scheme or "", key, base_url)
    )
    raw = httpx(request)
    return Snippet(typed(request) or raw, raw, curl(request))
