"""Sends a request to the service, and returns the response as a struct or raises its error."""

import re
from base64 import b64encode
from collections.abc import Hashable, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from threading import Lock
from typing import Any, TypedDict, TypeVar, Unpack, cast
from urllib.parse import quote

import httpx
import msgspec

from workbench.domain.masking import Secret, mask
from workbench.domain.wire.base import to_json
from workbench.domain.wire.keys_and_events import OTHER_FORM
from workbench.errors import (
    ApiError,
    FieldProblem,
    LiveKeyRefused,
    ServiceFailed,
    ServiceUnreachable,
    UnexpectedResponse,
    WorkbenchError,
    invalid,
)
from workbench.visible import visible

T = TypeVar("T")
_UNKNOWN_OUTCOME = "It may or may not have been carried out: repeat it with the same idempotency key."
_VERSIONED = re.compile(r"(https?://[^/]+(?:/.*)?)/v1/*", re.IGNORECASE)
_HOST = re.compile(r"https?://[^/?#]")
_SECONDS = re.compile(r"[0-9]{1,9}")
_ERRORS: dict[int, type[ApiError]] = {
    kind.status: kind for parent in (ApiError, ServiceFailed) for kind in parent.__subclasses__()
}
_READ = {
    "type", "title", "status", "detail", "instance", "code", "param", "errors", "request_id", "decline_code",
    "error", "message",
}  # fmt: skip
"""Members of an error response that the error has as attributes; all others go into its `facts`."""
_AS_IT_IS = httpx.Auth()
"""Stops httpx from sending its client's credentials, or those in a URL, instead of the key."""
_url = lru_cache(httpx.URL)
"""Parses a URL; cached, since parsing takes a fifth of a call's time in httpx, and few URLs differ."""
_BEFORE_SENDING = (
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.LocalProtocolError, httpx.UnsupportedProtocol,
)  # fmt: skip
"""Exceptions that mean that nothing of a request was sent."""


def ignore_cookies(client: httpx.Client) -> None:
    """Stops a client from searching responses for cookies, which takes half of httpx's time."""
    client.cookies.extract_cookies = lambda _: None  # type: ignore[assignment, method-assign]  # of this client's jar


class RequestParts(TypedDict, total=False):
    """Optional parts of a request.

    With `basic`, the key is sent by Basic authentication; `key` replaces the client's key, and "" sends none.
    """

    body: Mapping[str, Any] | None
    query: Mapping[str, str] | None
    headers: Mapping[str, str]
    basic: bool
    key: str | None


class Calls:
    """Sends requests with one key, using one httpx client."""

    def __init__(self, key: str, http: httpx.Client, *, allow_live: bool = False) -> None:
        self._allow_live = allow_live
        self.hold(key)
        self._http = http
        self._latest: Mapping[str, str] = {}
        """The headers of the last response."""

    def hold(self, key: str) -> None:
        """Sends this key from now on. Raises LiveKeyRefused: a live key. Raises InvalidRequest: not a string."""
        self._check(key)
        self.key = Secret(key)

    @property
    def is_sandbox(self) -> bool:
        """True if the last response had the header of a sandbox."""
        return "Sandbox-Provenance" in self._latest

    def send(self, method: str, url: str, shape: type[T], **parts: Unpack[RequestParts]) -> T:
        """Sends one request; returns the response's body as a `shape`.

        - Raises a subclass of ApiError by the status.
        - Raises InvalidRequest before anything is sent: a `key` that is no string, or a body that JSON cannot hold.
        - Raises LiveKeyRefused before anything is sent: a live `key`.
        - Raises ServiceUnreachable: no response came.
        - Raises UnexpectedResponse: the response cannot be decoded, or not read as a `shape`.
        """
        body, key, query, basic = parts.get("body"), parts.get("key"), parts.get("query"), parts.get("basic")
        content, sent = b"", {**parts.get("headers", {})}
        if body is not None:
            content, sent["Content-Type"] = _written(body), "application/json"
        if method != "GET":
            sent["Content-Length"] = str(len(content))
        if key is not None:
            self._check(key)
        if bearer := str(self.key) if key is None else key:
            credential = b64encode(f"{bearer}:".encode()).decode() if basic else bearer
            sent["Authorization"] = f"{'Basic' if basic else 'Bearer'} {credential}"
        if self._http.is_closed:
            raise ServiceUnreachable(
                "This client and its Workbench are closed.",
                hint="In a notebook, run the cells again, from the cell that opens the sandbox.",
            )
        try:
            response = self._http.send(self._request(method, url, content, query, sent), auth=_AS_IT_IS, stream=True)
            is_success = response.is_success
            received = _content_of(response) if is_success else response.read()
        except httpx.RequestError as error:
            raise _lost(method, url, error) from error
        self._latest = response.headers
        if not is_success:
            raise error_from(response)
        try:
            read: T = _read(shape, received)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UnexpectedResponse(f"{method} {mask(url)} got an undocumented response: {error}.") from error
        return read

    def _request(
        self, method: str, url: str, content: bytes, query: Mapping[str, str] | None, sent: Mapping[str, str]
    ) -> httpx.Request:
        """A request like that of the client's `build_request`, but without its copying, which doubles the time.

        `query` has further parameters for the URL, or is None; `sent` has the headers.
        """
        client, place = self._http, _url(url)
        headers = {b"host": (b"Host", place.netloc)}
        headers |= {name.lower(): (name, value) for name, value in client.headers.raw}
        headers |= {name.lower().encode(): (name.encode(), value.encode()) for name, value in sent.items()}
        params = client.params.merge(query) if query else client.params or None
        request = httpx.Request(
            method, place, params=params, headers=[*headers.values()], cookies=client.cookies,
            stream=httpx.ByteStream(content),
        )  # fmt: skip
        request.read()
        return request

    def _check(self, key: str) -> None:
        """Raises LiveKeyRefused: a live key, which this client must not send. Raises InvalidRequest: not a string."""
        text = checked_text("The key", key, such_as="sk_test_…").strip()
        if text.startswith(("sk_live", "pk_live")) and not self._allow_live:
            raise LiveKeyRefused(
                "This is a live key; it moves real money.",
                hint="Use a key that begins with sk_test_ or pk_test_. To move real money, use "
                "PaymentsClient(…, allow_live=True).",
            )


def _written(body: Mapping[str, Any]) -> bytes:
    """The members of a body as JSON, without members that are None. Raises InvalidRequest: JSON cannot hold a value."""
    try:
        return to_json({name: value for name, value in body.items() if value is not None})
    except (ValueError, TypeError, NotImplementedError, RecursionError) as error:
        raise invalid(f"The request cannot be written as JSON: {error}.") from error


def _content_of(response: httpx.Response) -> bytes:
    """The body of a successful response; a body without an encoding skips the decoding, a third of httpx's time."""
    try:
        if response.is_stream_consumed or "content-encoding" in response.headers:
            return response.read()
        stream: Any = response.stream
        return b"".join(stream)
    finally:
        response.close()


def _lost(method: str, url: str, error: httpx.RequestError) -> WorkbenchError:
    """The error for a request without a response, or with a response whose content encoding is broken."""
    if isinstance(error, httpx.DecodingError):
        return UnexpectedResponse(f"{method} {mask(url)} got a response that cannot be decoded: {error}.")
    sent_nothing = method == "GET" or isinstance(error, _BEFORE_SENDING)
    why = str(error).rstrip(".") or type(error).__name__
    hint = "Nothing was changed." if sent_nothing else _UNKNOWN_OUTCOME
    return ServiceUnreachable(f"{method} {mask(url)} got no response: {why}.", hint=hint)


def host_of(url: str, name: str = "base_url") -> str:
    """A service's URL without a slash at its end; `name` is the argument's name in an error.

    Raises InvalidRequest: the URL is not http or https, has no host, has a query, cannot be parsed, or ends in /v1,
    which the client adds itself.
    """
    if not isinstance(url, str) or not _HOST.match(url):
        message = f"{name} must begin with http:// or https://, as in 'http://127.0.0.1:4242', and is {url!r}."
        raise invalid(message, name)
    if "?" in url or "#" in url:
        raise invalid(f"{name} must end with its host or a path, without a query, and is {url!r}.", name)
    try:
        _url(url).host.encode("idna")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise invalid(f"{name} cannot be parsed: {error}, and is {url!r}.", name) from error
    if versioned := _VERSIONED.fullmatch(url):
        hint = f"Pass {versioned[1].rstrip('/')!r}."
        raise invalid(f"{name} ends in /v1; leave it out, because the client adds the path.", name, hint=hint)
    return url.rstrip("/")


def checked_text(name: str, value: str, *, such_as: str = "") -> str:
    """Returns `value` if it can be sent; an error calls it `name`, and shows the example `such_as` if not empty.

    Raises InvalidRequest: not a string, or a string with half of a surrogate pair.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise invalid(f"{name} has half of a surrogate pair, which cannot be sent.", name) from None
        return value
    wanted = f"a string such as {such_as!r}" if such_as else "a string"
    hint = "Pass its .id." if isinstance(getattr(value, "id", None), str) else ""
    raise invalid(f"{name} must be {wanted}, not {type(value).__name__}.", name.removeprefix("The "), hint=hint)


def segments(*identifiers: str) -> str:
    """Identifiers as segments of a path, each after a slash.

    Raises InvalidRequest: an identifier is empty, `.` or `..`, or `checked_text` refuses it.
    """
    for identifier in identifiers:
        if checked_text("The id", identifier, such_as="pi_…") in ("", ".", ".."):
            raise invalid(f"{identifier!r} is not an identifier.", "id")
    return "".join([f"/{quote(identifier, safe='')}" for identifier in identifiers])


_DECODER_LOCK = Lock()
"""A lock for creating a decoder: msgspec then inspects the struct, which no other thread may use in that time."""


@cache
def _decoder(shape: Hashable) -> msgspec.json.Decoder[Any]:
    """A decoder of JSON to `shape`; numbers with a point become Decimals, never floats, whatever the shape."""
    with _DECODER_LOCK:
        return msgspec.json.Decoder(cast("type[Any]", shape), float_hook=Decimal, dec_hook=_secret_or_same)


def _secret_or_same(kind: type, value: object) -> object:
    """Returns `value`, as a Secret if `kind`, the type that the struct's field declares, is Secret.

    Raises TypeError: the value of such a field is no string.
    """
    if kind is not Secret:
        return value
    if isinstance(value, str):
        return Secret(value)
    raise TypeError(f"Expected `str`, got `{'null' if value is None else type(value).__name__}`")


def _read(shape: Any, content: bytes) -> Any:  # noqa: ANN401  an object of the type `shape`
    """Decodes a body as `shape`, or else as its other format in `OTHER_FORM`, since a service may use either."""
    try:
        return _decoder(shape).decode(content)
    except InvalidOperation as error:
        raise msgspec.ValidationError("a number in it is too large") from error
    except msgspec.ValidationError:
        if shape not in OTHER_FORM:
            raise
        return _read(OTHER_FORM[shape], content)


def error_from(response: httpx.Response) -> ApiError:
    """The error in a response, for every format of its body, since the interface does not show the real one."""
    members: dict[str, Any] = {}
    with suppress(msgspec.MsgspecError, RecursionError, InvalidOperation):
        members = _decoder(dict[str, Any]).decode(response.content)
    if isinstance(members.get("error"), dict):
        members = members["error"]

    def text(name: str) -> str:
        value = members.get(name)
        return value if isinstance(value, str) else ""

    status = response.status_code
    kind = _ERRORS.get(status, ServiceFailed if response.is_server_error else ApiError)
    error = kind(
        text("detail") or text("message") or f"The service answered {status}.",
        code=text("code"),
        param=text("param") or None,
        problems=_problems(members.get("errors")),
        decline_code=text("decline_code") or None,
        request_id=text("request_id") or response.headers.get("Request-Id"),
    )
    error.facts.update({name: value for name, value in members.items() if name not in _READ})
    if error.request_id:
        # The id leads to the request in the log. As a note it stands below a traceback, but not in the message.
        error.add_note(f"Request-Id: {visible(error.request_id)}")
    waits = response.headers.get("Retry-After", "")
    if _SECONDS.fullmatch(waits):
        error.facts["retry_after_s"] = int(waits)
    return error


def _problems(listed: object) -> tuple[FieldProblem, ...]:
    with suppress(TypeError, KeyError):
        problems = listed if isinstance(listed, list) else []
        return tuple(FieldProblem(str(problem["pointer"]), str(problem["detail"])) for problem in problems)
    return ()
