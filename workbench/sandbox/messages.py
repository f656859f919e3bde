"""Requests as they arrive and responses as they go back, free of any framework; the formats of errors."""

import logging
import re
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from workbench.domain.gaps import Gaps
from workbench.domain.masking import mask
from workbench.domain.wire.keys_and_events import PlantError
from workbench.errors import ApiError
from workbench.visible import visible

_LOG = logging.getLogger(__name__)
MAX_BODY_BYTES: Final = 1 << 20
MAX_READ_BYTES: Final = 32 * MAX_BODY_BYTES
"""The most bytes that are read of a body over the limit before it is refused."""
_OF_A_PATH: Final = "/:@!$&'()*+,;="
"""Characters that a URI's path holds unescaped, beside letters and digits (RFC 3986 §3.3)."""
JSON: Final = "application/json"


def log_fault(what: str, error: BaseException) -> None:
    """Log what failed, with the masked traceback."""
    _LOG.error("%s", visible(mask("".join([what, ": ", *traceback.format_exception(error)])), lines=True))


class InForce(NamedTuple):
    """The choices that public pages show: the register, and the operations that are marked as deprecated."""

    gaps: Gaps
    deprecated: frozenset[str] = frozenset()


class Arrived(msgspec.Struct, frozen=True):
    """A request as a socket or a client of this process brings it, not checked yet."""

    method: str
    target: bytes
    """Path and query, percent-encoded."""
    headers: Mapping[str, str]
    """Values by header names in lower case, as `headers_in` makes them."""
    body: bytes = b""
    fault: ApiError | None = None
    """The fault of a request that did not arrive whole."""


class Answer(msgspec.Struct, frozen=True):
    """Status, headers and body as a transport sends them."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Request(msgspec.Struct, frozen=True):
    """A request to respond to; `headers` has the headers that the sandbox uses, by their usual spelling."""

    method: str
    path: str
    target: str = ""
    """Path and query, each parameter decoded."""
    query: Mapping[str, str | list[str]] = {}
    """Parameters by name; the values of a repeated parameter are a list."""
    headers: Mapping[str, str] = {}
    body: bytes = b""
    path_params: Mapping[str, str] = {}
    made: msgspec.Struct | None = None
    """The body as a struct, if the sandbox made the request itself."""
    live: bool = False
    """True if a header or the query holds a live key."""


class Response(msgspec.Struct, frozen=True):
    """A response on its way back to the client."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}
    payment: str | None = None
    """The intent or charge that the call was about."""
    kept: bytes | None = None
    """The body to keep for an idempotency key if it differs from `body`: without a secret that is shown once."""
    is_slow: bool = False
    """True if the scenario `slow` delays the response."""
    relied: tuple[str, ...] = ()
    """Rows of the register that this response relied on, beside the rows of every response of its operation."""
    made: Callable[[], bytes] | None = None
    """Makes the body of a page, which takes long, outside of any transaction; `body` is empty until then."""


def _problem_members(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    """The members of RFC 9457 with the documented `error` and `message` beside them."""
    members = {
        "type": f"/docs/errors#{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": mask(str(error)),
        "instance": quote(mask(path), safe=_OF_A_PATH),
        "code": error.code,
        "param": mask(error.param) if error.param else None,
        "errors": [{"pointer": mask(problem.pointer), "detail": mask(problem.detail)} for problem in error.problems],
        "request_id": request_id,
        "decline_code": error.decline_code,
        **error.facts,
        "error": error.status,
        "message": mask(str(error)),
    }
    return {name: value for name, value in members.items() if value not in (None, [])}


def _envelope_members(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    """The members of an error in Stripe's shape: all within `error`, without the documented status."""
    members = {
        "type": re.sub(r"(?<!^)([A-Z])", r"_\1", type(error).__name__).lower(),
        "code": error.code,
        "message": mask(str(error)),
        "param": mask(error.param) if error.param else None,
        "decline_code": error.decline_code,
        "doc_url": f"/docs/errors#{error.code}",
        "request_id": request_id,
        **error.facts,
    }
    return {"error": {name: value for name, value in members.items() if value is not None}}


ERROR_FORMATS: Mapping[str, tuple[str, Callable[[ApiError, str, str], object]]] = {
    "problem": ("application/problem+json", _problem_members),
    # The one error that the interface documents.
    "plain": ("application/json", lambda error, *_: PlantError(error.status, mask(str(error)))),
    "envelope": ("application/json", _envelope_members),
}
"""Choice of `error_format` → an error's media type, and what makes its members."""
