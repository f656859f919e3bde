"""Recorded traffic as HAR 1.2, as browsers and proxies save it: written from a trace, and read one exchange at a time.

Reading masks keys, secrets, tokens, passwords and numbers before anything else sees an exchange.
"""

import base64
import json
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from http.client import responses
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote_plus

import msgspec

from workbench.domain.masking import mask, mask_numbers, mask_secrets
from workbench.domain.phones import MARK
from workbench.domain.signs import ObservedCall, ObservedMessage
from workbench.domain.wire.ledger_and_trace import CALL, WEBHOOK, call_of, webhook_of
from workbench.errors import TrafficRefused

SUFFIX: Final = ".har"
TRACE: Final = "_trace"
"""Our own field in a HAR's log; HAR wants an underscore before the name of such a field."""
MOST_BYTES: Final = 4 * 2**20
"""A reader skips an exchange of more bytes: no call of this interface is that long."""
_SECRET_NAME = re.compile(r"secret|token|password|passwd|cookie|api.?key|^pin$|authorization|x.auth|jwt", re.IGNORECASE)
# In _IN_QUERY, no character of a name can begin another name, so that even a long text is read only once.
_NAMED = re.compile(rf"""(?i)("[^"\\]{{0,60}}?(?:{_SECRET_NAME.pattern})[^"\\]{{0,60}}"\s*:\s*")(?:[^"\\]|\\.)*""")
_IN_QUERY = re.compile(r"""(?:^|[?&#])[^=&?#"\s]*=[^&#"\s]*""")
_FORM = "application/x-www-form-urlencoded"
_USER_INFO = re.compile(r"//[^/?#]*@")
"""Matches a user's name and password before the host of a URL."""
_CREDENTIAL_START = re.compile(r"(?i)^(basic|bearer)\s+(?:[sp]k_|at_)?")
_BOM = b"\xef\xbb\xbf"
_UNKNOWN_URL = "http://webhook.invalid/{}"


# The parts of a file that are read; all other parts are skipped.


class _Pair(msgspec.Struct):
    name: str
    value: str | None = ""


class _Content(msgspec.Struct):
    text: str | None = None
    encoding: str | None = None
    media_type: str | None = msgspec.field(default=None, name="mimeType")


class _Request(msgspec.Struct):
    method: str
    url: str
    headers: list[_Pair] = []
    post: _Content | None = msgspec.field(default=None, name="postData")


class _Response(msgspec.Struct):
    status: int
    headers: list[_Pair] = []
    content: _Content | None = None


class _Entry(msgspec.Struct):
    request: _Request
    response: _Response
    started: str = msgspec.field(default="", name="startedDateTime")


class _Log(msgspec.Struct):
    entries: list[msgspec.Raw]


class _File(msgspec.Struct):
    log: _Log


def files_of(place: Path) -> list[Path]:
    """The HAR files in a folder, sorted, or the file `place` itself. Raises TrafficRefused: no HAR in the folder."""
    if not place.is_dir():
        return [place]
    files = sorted(file for file in place.iterdir() if file.suffix.lower() == SUFFIX and file.is_file())
    if not files:
        hint = "Save what your browser or proxy recorded as HAR, or a trace by bench.trace.save(…)."
        raise TrafficRefused(f"The folder {place} holds no {SUFFIX} file.", hint=hint)
    return files


About: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...] | None]
"""The fields `id`, `schemes` and `fields` of an `ObservedCall`."""


def recorded(file: Path, about: Callable[[str, str], About | None]) -> Iterator[ObservedCall]:
    """The exchanges of a HAR file, one at a time; `about` maps method and URL to About, or to None to skip it.

    The file is mapped, not loaded, so that its size does not matter.
    Raises TrafficRefused: the file cannot be read, is empty, is not JSON or cut off, or is JSON of another kind.
    """
    try:
        with file.open("rb") as opened:
            if not opened.seek(0, 2):
                raise TrafficRefused(f"{file} is empty.", hint="Save the recording again.")
            # The file is unmapped when no view of it is left.
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise TrafficRefused(f"{file} cannot be read: {error.strerror}.") from None
    try:
        har = msgspec.json.decode(memoryview(mapped)[len(_BOM) if mapped[: len(_BOM)] == _BOM else 0 :], type=_File)
    except (msgspec.ValidationError, RecursionError) as error:
        hint = "Save a browser's network panel with “Save all as HAR”, a trace with bench.trace.save('trace.har')."
        raise TrafficRefused(f"{file} is JSON, but not a HAR file: {error}.", hint=hint) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = "It may have been cut off: save the recording again."
        raise TrafficRefused(f"{file} is not JSON: {error}.", hint=hint) from None
    for number, raw in enumerate(har.log.entries, 1):
        if memoryview(raw).nbytes > MOST_BYTES:
            continue
        # An entry of another form, such as of a call that was broken off, is skipped.
        with suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            entry = msgspec.json.decode(raw, type=_Entry)
            sent, received = entry.request, entry.response
            if operation := about(sent.method, sent.url):
                request, response = _message(sent.headers, sent.post), _message(received.headers, received.content)
                url, place = _hidden(_USER_INFO.sub("//", sent.url)), f"{file.name} #{number}"
                yield ObservedCall(place, url, request, received.status, response, moment_s(entry.started), *operation)


def _message(headers: Iterable[_Pair], content: _Content | None) -> ObservedMessage:
    text, body = _text(content), None
    with suppress(ValueError, ArithmeticError, RecursionError):
        body = _masked(json.loads(text, parse_float=Decimal))
    return ObservedMessage(_headers(headers), text, body)


def _text(content: _Content | None) -> str:
    if content is None or not content.text:
        return ""
    text, is_form = content.text, (content.media_type or "").partition(";")[0].strip().lower() == _FORM
    if content.encoding == "base64":
        try:
            text = base64.b64decode(text).decode("utf-8", "replace")
        except ValueError:
            return ""
    text = _hidden(text)
    return "&".join(_without_secret(field) for field in text.split("&")) if is_form else text


def _hidden(text: str) -> str:
    """Masks phone numbers, secrets known by their form, and values under a secret's name."""
    named = _NAMED.sub(rf"\1{MARK}", mask(text))
    return _IN_QUERY.sub(lambda match: _without_secret(match[0]), named)


def _without_secret(field: str) -> str:
    """A field `name=value` of a form or query; hides the value if the name, once decoded, is a secret's name."""
    name, equals, _ = field.partition("=")
    is_secret = equals and _SECRET_NAME.search(unquote_plus(name.lstrip("?&#")))
    return f"{name}={MARK}" if is_secret else field


def _headers(pairs: Iterable[_Pair]) -> dict[str, str]:
    """The headers with names in lower case and masked values; a credential keeps its scheme and the kind of key."""
    masked = {pair.name.lower(): mask_numbers(mask_secrets(pair.value or "")) for pair in pairs}
    for name, value in masked.items():
        if _SECRET_NAME.search(name):
            scheme = _CREDENTIAL_START.match(value)
            masked[name] = f"{scheme[0] if scheme else ''}{MARK}"
    return masked


def _masked(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        return {key: _masked(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [_masked(item, name) for item in value]
    return MARK if isinstance(value, str) and _SECRET_NAME.search(name) else value


def moment_s(text: str) -> Decimal:
    """A moment of ISO 8601 in seconds since 1970; 0 if the text is no moment."""
    try:
        return Decimal(str(datetime.fromisoformat(text).timestamp()))
    except (ValueError, OverflowError):
        return Decimal(0)


# Written


def write_har(file: Path, rows: Iterable[Mapping[str, Any]], base_url: str) -> None:
    """Writes the calls and webhooks of a trace's rows as a HAR file. Raises TrafficRefused: it cannot be written.

    The field `TRACE`, which other tools skip, has all rows as they are: HAR has no form for screens and ledger entries,
    which also show what a run relied on.
    """
    rows = list(rows)
    entries = [_entry(row, base_url.rstrip("/")) for row in rows if row["kind"] in {CALL, WEBHOOK}]
    creator = {"name": "workbench", "version": "1"}
    log = {"version": "1.2", "creator": creator, "entries": entries, TRACE: rows}
    text = json.dumps({"log": log}, indent=1, ensure_ascii=False)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise TrafficRefused(f"{file} cannot be written: {error.strerror}.") from None


def _entry(row: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    """An entry of a HAR for a call or a webhook of a trace."""
    if row["kind"] == CALL:
        call = call_of(row)
        method, _, target = call.target.partition(" ")
        url, status = base_url + target, call.response.status
        sent = _message_part(call.request.headers, "postData", call.request.body)
        back = _message_part(call.response.headers, "content", call.response.body)
    else:
        webhook, code = webhook_of(row), row["result"][:3]
        method, url, status = "POST", _UNKNOWN_URL.format(webhook.endpoint), int(code) if code.isdigit() else 0
        sent = _message_part(webhook.headers, "postData", webhook.body)
        back = _message_part({}, "content", webhook.answer or "")
    return {
        "startedDateTime": row["at"], "time": 0, "cache": {}, "timings": {"send": 0, "wait": 0, "receive": 0},
        "request": {"method": method, "url": url, "queryString": [], **sent},
        "response": {"status": status, "statusText": responses.get(status, ""), "redirectURL": "", **back},
    }  # fmt: skip


def _message_part(headers: Mapping[str, str], name: str, body: str) -> dict[str, Any]:
    media_type = {key.lower(): value for key, value in headers.items()}.get("content-type", "")
    content = {"mimeType": media_type, "text": body, **({"size": len(body.encode())} if name == "content" else {})}
    listed = [{"name": key, "value": value} for key, value in headers.items()]
    common = {"httpVersion": "HTTP/1.1", "cookies": [], "headers": listed, "headersSize": -1, "bodySize": -1}
    return {**common, name: content} if body or name == "content" else common
