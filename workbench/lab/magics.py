"""The magic `%%http` sends a request written in the format of HTTP/1.1, and shows it with the response."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote

import httpx
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from workbench.domain.masking import mask, shortened
from workbench.domain.phones import MARK
from workbench.domain.wire.base import to_json
from workbench.session import Session
from workbench.text.snippets import PIN_PATH
from workbench.traffic.trace import Exchange
from workbench.visible import visible

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
COMPUTED: Final = ("content-length", "transfer-encoding", "connection")
"""Headers that depend on the body; the HTTP client sets them."""
HELP: Final = """%%http [BENCH]

Send a raw HTTP request to the sandbox, as it is written in the cell:

    %%http
    POST /v1/payment_intents HTTP/1.1
    Authorization: Bearer $bench.secret_key

    {"amount": 150.00, "currency": "ZMW", "payment_method_types": ["mobile_money"]}

The first line is the method and the path; HTTP/1.1 may be left out. Headers follow, and after an empty line the
body. $name and $name.attribute are filled in from the notebook's variables; $$ is a dollar sign. No Authorization
header is sent that you do not write. Without a Content-Type, a body that begins with { or [ is sent as
application/json; Content-Length is worked out. Lines that begin with # before the request are comments.

BENCH is the variable that holds the Workbench; `bench`, or the only one there is, if it is left out. The httpx response
is in _ afterwards."""
_MOST_TEXT = 2000
_OF_THE_SERVER = {"date", "server", *COMPUTED}
"""Response headers that the magic does not show, because they differ from run to run or follow from the body."""
_TYPED = re.compile(r'("text"\s*:\s*)"[^"]*"')
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))")
_Write: TypeAlias = Callable[[str, object], str]
"""A function from a variable's name (for messages) and value to the text that replaces it."""


class Mistyped(Exception):
    """The cell is not a request. The message gives the correct format and, if `read_request` raised it, the line."""


class RawRequest(NamedTuple):
    """The request in a `%%http` cell, with its variables filled in; `target` is path and query, beginning with `/`."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes | None


def read_request(text: str, names: Mapping[str, Any], base_url: str) -> RawRequest:
    """The request in a cell, with `$name` and `$name.attribute` filled in from `names`; `$$` is a dollar sign.

    Raises Mistyped: the request cannot be sent, or is for another host than `base_url`.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    start = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        raise Mistyped("The cell is empty. Begin with a method and a path, such as: GET /v1/balance")
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    method, target, headers, body = "", "", list[tuple[str, str]](), list[str]()
    for place, line in enumerate(lines[start:], start):
        try:
            if place == start:
                method, target = _request_line(_filled(line, names, _in_path), base_url)
            elif place < end:
                headers.append(_header(_filled(line, names, _as_text)))
            elif place > end:
                body.append(_filled(line, names, _in_body))
        except Mistyped as error:
            # The first line of the cell is `%%http`.
            raise Mistyped(f"Line {place + 2}: {error}") from None
    written = "\n".join(body).rstrip("\n")
    if not written.strip():
        return RawRequest(method, target, headers, None)
    # Faulty JSON gets the header too: the service then says where the fault is, not that a header is missing.
    if written.lstrip().startswith(("{", "[")) and "content-type" not in {name.lower() for name, _ in headers}:
        headers.append(("Content-Type", "application/json"))
    return RawRequest(method, target, headers, written.encode("utf-8", "surrogatepass"))


def _request_line(line: str, base_url: str) -> tuple[str, str]:
    method, *rest = line.split()
    if method not in METHODS:
        hint = f"Did you mean {method.upper()}?" if method.upper() in METHODS else f"Use {', '.join(METHODS)}."
        raise Mistyped(f"{method[:40]!r} is no method. {hint}")
    match rest:
        case [target]:
            return method, _local(target, base_url)
        case [target, version] if version.upper().startswith("HTTP/"):
            return method, _local(target, base_url)
    raise Mistyped(f"a request line is a method and a path, such as: {method} /v1/balance")


def _local(target: str, base_url: str) -> str:
    """The path and query of a target. Raises Mistyped: it is on another host, or its path does not begin with /."""
    base = base_url.rstrip("/")
    if target == base or target.startswith((f"{base}/", f"{base}?")):
        target = target.removeprefix(base) or "/"
    if "://" in target.partition("?")[0] or target.startswith("//"):
        raise Mistyped("that is another host, and nothing leaves the sandbox. Write the path alone, from /.")
    if not target.startswith("/"):
        raise Mistyped(f"a path begins with /, such as /v1/balance, and this is {target[:60]!r}.")
    return target


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _HEADER_NAME.fullmatch(name):
        hint = "An empty line goes before the body." if line.lstrip().startswith(("{", "[")) else ""
        raise Mistyped(f"a header is a name, a colon and a value: Name: value. {hint}".rstrip())
    return name, value.strip()


def _filled(line: str, names: Mapping[str, Any], write: _Write) -> str:
    def value_of(match: re.Match[str]) -> str:
        return "$" if match[1] is None else write(match[1], _looked_up(match[1], names))

    return _VARIABLE.sub(value_of, line)


def _looked_up(path: str, names: Mapping[str, Any]) -> object:
    first, *attributes = path.split(".")
    if first not in names:
        raise Mistyped(f"there is no variable {first} here. For a dollar sign write $$.")
    value = names[first]
    for attribute in attributes:
        if not hasattr(value, attribute):
            raise Mistyped(f"${path}: a {type(value).__name__} has no {attribute}.")
        value = getattr(value, attribute)
    return value


def _as_text(name: str, value: object) -> str:
    text = str(value)
    if _CONTROL.search(text):
        raise Mistyped(f"${name} holds a line break or another control character.")
    return text


def _in_path(name: str, value: object) -> str:
    return quote(_as_text(name, value), safe="/")


def _in_body(_name: str, value: object) -> str:
    """The text of a value in a JSON body: a string without quotes, a number as it is, anything else as JSON."""
    if isinstance(value, str):
        return to_json(str(value)).decode()[1:-1]
    if value is None or isinstance(value, bool | Mapping | list | tuple):
        return to_json(value).decode()
    return str(value)


def load(shell: InteractiveShell) -> None:
    """Registers the magic `%%http` in a shell."""

    def http(line: str, cell: str) -> httpx.Response:
        try:
            session = _session(shell.user_ns, line)
            return _sent(session, read_request(cell, shell.user_ns, session.base_url))
        except Mistyped as error:
            # A UsageError shows as one line without a traceback; a headless run of the notebook stops there.
            raise UsageError(visible(str(error))) from None

    http.__doc__ = HELP
    shell.magics_manager.register_function(http, magic_kind="cell", magic_name="http")


def _session(names: dict[str, Any], line: str) -> Session:
    """The Workbench in the variable that `line` names; for an empty `line`, that in `bench`, else the only Workbench.

    Raises Mistyped: the named variable holds no Workbench; or `line` is empty and there is no Workbench, or several.
    """
    bench_name, *more = line.split() or [""]
    if more or not (bench_name or "bench").isidentifier():
        raise Mistyped(f"%%http {line}: use %%http [BENCH]. The request begins on the next line; its response is in _.")
    # The check by type runs no code of the notebook's objects.
    benches: dict[str, Session] = {
        name: bench for name, bench in names.items() if name[0] != "_" and issubclass(type(bench), Session)
    }
    if bench_name and bench_name not in benches:
        raise Mistyped(f"{bench_name} is no Workbench here. Make it before: {bench_name} = Workbench()")
    if bench_name or "bench" in benches:
        return benches[bench_name or "bench"]
    if not benches:
        raise Mistyped("There is no bench to send this to. Make one before: bench = Workbench()")
    if len({id(bench) for bench in benches.values()}) > 1:
        raise Mistyped(f"There are several benches: {', '.join(benches)}. Name one: %%http {next(iter(benches))}")
    return next(iter(benches.values()))


def _sent(session: Session, raw: RawRequest) -> httpx.Response:
    if session.http.is_closed:
        raise Mistyped("This bench is closed. Make another: bench = Workbench()")
    headers = [(name.encode(), value.encode()) for name, value in raw.headers if name.lower() not in COMPUTED]
    try:
        response = session.http.request(raw.method, session.base_url + raw.target, headers=headers, content=raw.body)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise Mistyped(f"This cannot be sent: {error}.") from None
    except httpx.TransportError as error:
        raise Mistyped(f"{session.base_url} gives no answer: {error}.") from None
    shown = _exchange(session, raw, response)
    response._repr_mimebundle_ = shown._repr_mimebundle_  # type: ignore[attr-defined]  # this one shows itself
    return response


def _exchange(session: Session, raw: RawRequest, response: httpx.Response) -> Exchange:
    body = (raw.body or b"").decode("utf-8", "replace")
    if PIN_PATH.fullmatch(raw.target.partition("?")[0]):
        body = _TYPED.sub(rf'\1"{MARK}"', body)
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
    shown = {name.title().replace("Www-", "WWW-"): mask(value) for name, value in pairs}
    headers = {name: value for name, value in shown.items() if name.lower() not in _OF_THE_SERVER}
    text = mask(response.text)
    if "json" not in response.headers.get("Content-Type", ""):
        text = shortened(text, _MOST_TEXT, counts_mark=False)
    detail = {
        "target": mask(f"{raw.method} {raw.target}"),
        "request": {"headers": {name: mask(value) for name, value in raw.headers}, "body": mask(body)},
        "response": {"status": response.status_code, "headers": headers, "body": text},
    }
    return Exchange({"seq": None, "at": None, "detail": detail}, session.base_url)
