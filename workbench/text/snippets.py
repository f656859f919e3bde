"""A request as code to copy: a call of the typed client, raw HTTP with httpx, curl, and JavaScript.

>>> snippet("POST", "/sandbox/clock/advance", {"seconds": 3600}).python
'bench.clock.advance(hours=1)'

The code contains no key: it uses `bench.secret_key` in Python and `$SECRET_KEY` in a shell. Any other secret in a body
becomes a variable with the field's name, for you to set.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, cast
from urllib.parse import parse_qs, quote, unquote, urlsplit

from workbench.domain.masking import SECRET_FIELDS, mask, mask_secrets
from workbench.domain.phones import MARK
from workbench.domain.reading import json_from
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.domain.wire.base import to_json
from workbench.domain.wire.ledger_and_trace import TracedCall
from workbench.errors import InvalidRequest
from workbench.visible import escaped, visible

if TYPE_CHECKING:
    import httpx

    from workbench.merchant.calls import RequestParts


class Snippet(NamedTuple):
    """A request as code in four forms; each runs once its variables are set and its masked values are replaced."""

    python: str
    """A call of `bench`, or of `pay`, its client; the same as `httpx` if no such call sends this request."""
    httpx: str
    """A call of `bench.http`, the httpx client without credentials."""
    curl: str
    """A shell command that uses the variables SECRET_KEY and, for a sandbox in this process, BASE_URL."""
    javascript: str
    """A call of `fetch` for a browser or Node, with variables of the same names."""

    def __str__(self) -> str:
        return "\n\n".join(self[:3])


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
    """The Snippet of a request.

    `path` is the actual path, with ids, and may have a query, to which `query` is added. `body` is a value to send as
    JSON, with amounts as Decimal or int, or a text to send as it is. Without a Content-Type in `headers` one is added;
    an empty Content-Type is not sent. `scheme` is `Bearer`, `Basic` or `none`, by default the operation's. `key` is
    `secret_key`, `publishable_key` or `access_token`. `base_url` is for curl and JavaScript; a sandbox in this process,
    which nothing outside reaches, has `$BASE_URL` in its place: set that to `bench.serve().base_url`.
    """
    method, (path, _, query_text) = method.upper(), path.partition("?")
    in_path = parse_qs(query_text, keep_blank_values=True)
    query_values = {
        **{name: identifier[0] if len(identifier) == 1 else identifier for name, identifier in in_path.items()},
        **(query or {}),
    }
    value, content = _body(body, path)
    usual = "none" if path.startswith("/v1/auth/") else "Basic" if (method, path) == _BASIC else "Bearer"
    request = UnsentRequest(
        method, _shown(path), value, content, _hidden(query_values),
        _sent(headers or {}, has_body=value is not None), scheme or usual, key, base_url.rstrip("/"),
    )  # fmt: skip
    raw = _httpx(request)
    texts = (_typed(request) or raw, raw, _curl(request), _javascript(request))
    return Snippet(*(f"{_MASKED_NOTE}\n{text}" if MARK in text else text for text in texts))


def snippet_of(call: TracedCall, base_url: str) -> Snippet:
    """The Snippet of a call in the trace; masked values are left for you to fill in."""
    method, _, path = call.target.partition(" ")
    body = call.request.body or None
    # A body that was sent without this header is repeated without the header.
    headers = {**({_CONTENT_TYPE: ""} if body else {}), **call.request.headers}
    scheme, _, credential = headers.get("Authorization", "").partition(" ")
    key = next((name for start, name in _OWN_KEYS if credential.startswith(start)), "secret_key")
    named = scheme.title() if scheme.title() in {"Bearer", "Basic"} else "none"
    return snippet(method, path, body, headers=headers, scheme=named, key=key, base_url=base_url)


_VARIABLE = re.compile("\ue000(\\w+)\ue000")
"""Matches a variable that replaces a secret in a text: its name between two private-use characters."""
_WHOLE = re.compile(f'"{_VARIABLE.pattern}"')
_REPLACED = re.compile("[\ud800-\udfff\ue000]")
"""Halves of surrogate pairs, which UTF-8 cannot encode, and the character that marks a variable."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
IN_PROCESS_URL: Final = "http://sandbox.localhost"
_CONTENT_TYPE: Final = "Content-Type"
_OWN_KEYS = (("pk_", "publishable_key"), ("at_", "access_token"))
"""Prefix of a masked credential → its variable; any other credential is the secret key."""
PIN_PATH: Final = re.compile(r"/sandbox/phones/[^/]+/input")
"""Matches the path to which a customer's PIN is sent; the code never contains the PIN."""
_BASIC = ("POST", "/v1/charges")


class UnsentRequest(NamedTuple):
    """A request to be written as code: its query is separate from the path, and its secrets are variables or masked."""

    method: str
    path: str
    body: Any
    content: str | None
    """The body's text as it is sent; None without a body."""
    query: dict[str, Any]
    headers: dict[str, str]
    scheme: str
    key: str
    base_url: str

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers, except for a Content-Type that is not to be sent."""
        return {name: value for name, value in self.headers.items() if value or not _is_content_type(name)}


def _variable(name: str) -> str:
    return f"\ue000{name}\ue000"


def _shown(text: str) -> str:
    """The text with its secrets masked, and without characters that UTF-8 cannot encode."""
    return mask_secrets(_REPLACED.sub("\ufffd", text))


def _sent(headers: Mapping[str, str], *, has_body: bool) -> dict[str, str]:
    """The headers to write, with secrets masked and, if `has_body`, a Content-Type.

    Credential, host and length are omitted: the key and the sending program supply them.
    """
    sent = {
        _shown(name): _CONTROL.sub(" ", _shown(value))
        for name, value in headers.items()
        if name.lower() not in {"authorization", "host", "content-length"}
    }
    typed = has_body and not any(map(_is_content_type, sent))
    return {**sent, _CONTENT_TYPE: "application/json"} if typed else sent


def _is_content_type(name: str) -> bool:
    """True if `name` is Content-Type, in upper or lower case."""
    return name.lower() == _CONTENT_TYPE.lower()


def _body(body: object, path: str) -> tuple[Any, str | None]:
    """The body's value without secrets, and its text; a body that is not JSON is only masked.

    The text equals what the client sends, with every digit, so that a repeated idempotency key has the same body.
    """
    value: Any = body
    if isinstance(body, str):
        try:
            value = json_from(body.encode("utf-8", "surrogatepass"))
        except InvalidRequest:
            text = mask(_REPLACED.sub("\ufffd", body))
            return text, text
    if value is None:
        return None, None
    is_pin = isinstance(value, Mapping) and PIN_PATH.fullmatch(path) and value.get("text") != SANDBOX_PIN
    hidden = _hidden(value)
    if is_pin:
        hidden["text"] = _variable("pin")
    # A text without a secret keeps its blanks, as an idempotency key is for the same bytes.
    if isinstance(body, str) and value == hidden:
        return hidden, body
    return hidden, hidden if isinstance(hidden, str) else to_json(hidden).decode()


def _hidden(value: object, name: str = "") -> Any:  # noqa: ANN401  JSON
    """The value without secrets; `name` is the name of its field."""
    if isinstance(value, Mapping):
        return {_shown(field): _hidden(inner, field) for field, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item) for item in value]
    if not isinstance(value, str):
        return value
    return _variable(name) if name in SECRET_FIELDS else _shown(value)


_WIDTH = 88
_INDENT = "    "
_NEEDS_QUOTES = re.compile(r'["$`\\!]')
_BRACES = re.compile(r"\$\{(\w+)\}(?!\w)")
"""Matches a `${NAME}` that means the same without braces."""
_TEMPLATE = re.compile(r"[`\\$]")
_MASKED_NOTE = f"# Replace what is masked with {MARK}."
_SAFE = "/:@+,;=~"
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SHORT = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_WITH_BODY = ("POST", "PUT", "PATCH")


def _python_key(key: str) -> str:
    """The Python expression for the key named `key`."""
    return f"bench.{key}" if key in ("secret_key", "publishable_key") else key


def _literal(value: object) -> str:
    """The value as a Python literal; a variable as its name."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(key)}" for name, key in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    if isinstance(value, str):
        parts = _VARIABLE.split(value)
        return " + ".join(_in_quotes(part, index) for index, part in enumerate(parts) if part or len(parts) == 1)
    return f'Decimal("{value}")' if isinstance(value, Decimal | float) else repr(value)


def _in_quotes(piece: str, index: int) -> str:
    """A part of a text that was split at its variables, as a Python expression; parts at odd indexes are variables."""
    shown = repr(piece)
    return piece if index % 2 else f'"{shown[1:-1]}"' if '"' not in shown else shown


def _call(head: str, arguments: list[str]) -> str:
    """A call that begins with `head`, on one line if it fits, otherwise with one argument per line."""
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    return f"{head}(\n" + "".join(f"{_INDENT}{argument},\n" for argument in arguments) + ")"


def _httpx(request: UnsentRequest) -> str:
    """The request as Python code that sends it with `bench.http`."""
    arguments = [_literal(_path(request))]
    if request.query:
        arguments.append(f"params={_literal(request.query)}")
    if request.content is not None:
        # As text: a number with a point would be a float in Python.
        arguments.append(f"content={_literal(request.content)}")
    headers = [f"{_literal(name)}: {_literal(value)}" for name, value in request.sent_headers.items()]
    if request.scheme == "Bearer":
        headers.insert(0, f'"Authorization": f"Bearer {{{_python_key(request.key)}}}"')
    if headers:
        arguments.append(f"headers={{{', '.join(headers)}}}")
    if request.scheme == "Basic":
        arguments.append(f'auth=({_python_key(request.key)}, "")')
    if request.method in (_SHORT if request.content is None else _WITH_BODY):
        return _call(f"bench.http.{request.method.lower()}", arguments)
    return _call("bench.http.request", [_literal(request.method), *arguments])


def _curl(request: UnsentRequest) -> str:
    """The request as a curl command, one option per line."""
    key = request.key.upper()
    method = "--head" if request.method == "HEAD" else f"-X {_shell_word(request.method)}"
    parts = [f"curl {method} {_shell_word(_url(request))}"]
    if request.scheme == "Bearer":
        parts.append(f'-H "Authorization: Bearer ${key}"')
    if request.scheme == "Basic":
        parts.append(f'-u "${key}:"')
    for name, value in request.headers.items():
        # `;` sends an empty header; `:` keeps curl from adding its own Content-Type.
        empty = f"{name}:" if _is_content_type(name) else f"{name};"
        parts.append(f"-H {_shell_word(f'{name}: {value}' if value else empty)}")
    if request.content is not None:
        # Not -d, for which a text that begins with @ is the name of a file.
        parts.append(f"--data-raw {_shell_word(request.content)}")
    return " \\\n  ".join(parts)


def _shell_word(text: str) -> str:
    """A text with variables as one shell word; NUL, which no program accepts in an argument, is replaced."""
    pieces = _VARIABLE.split(text.replace("\0", "\ufffd"))
    if len(pieces) > 1 and not any(_NEEDS_QUOTES.search(piece) or _is_unseen(piece) for piece in pieces[::2]):
        shown = _VARIABLE.sub(lambda match: f"${{{match[1].upper()}}}", text)
        return '"' + _BRACES.sub(r"$\1", shown) + '"'
    words = (f'"${piece.upper()}"' if index % 2 else _shell_quoted(piece) for index, piece in enumerate(pieces))
    return "".join(word for word, piece in zip(words, pieces, strict=True) if piece or len(pieces) == 1)


def _shell_quoted(text: str) -> str:
    """A text as a shell word: in single quotes or, if it contains control characters, in `$'…'` of bash and zsh."""
    return "$'" + "".join(map(_escaped, text)) + "'" if _is_unseen(text) else shlex.quote(text)


def _escaped(letter: str) -> str:
    """A character for use in `$'…'`; an invisible one is escaped byte by byte, to mean the same in every locale."""
    if letter in "\\'":
        return f"\\{letter}"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode()) if _is_unseen(letter) else letter


def _is_unseen(text: str) -> bool:
    return visible(text, lines=True) != text


def _javascript(request: UnsentRequest) -> str:
    """The request as a call of `fetch`, for a browser or Node."""
    key = _variable(request.key)
    credentials = {"Bearer": _js_text(f"Bearer {key}"), "Basic": f'"Basic " + btoa({_js_text(f"{key}:")})'}
    headers = {name: _js_text(value) for name, value in request.sent_headers.items()}
    if request.scheme in credentials:
        headers = {"Authorization": credentials[request.scheme], **headers}
    options = [f"method: {_js_text(request.method)}"]
    if headers:
        lines = "".join(f"    {_js_text(name)}: {value},\n" for name, value in headers.items())
        options.append(f"headers: {{\n{lines}  }}")
    if request.content is not None:
        options.append(f"body: {_js_body(request.content)}")
    lines = "".join(f"  {option},\n" for option in options)
    return escaped(f"const response = await fetch({_js_text(_url(request))}, {{\n{lines}}});")


def _js_text(text: str) -> str:
    """A text as a JavaScript literal; if it has a variable, as a template literal."""
    texts = _VARIABLE.split(text)
    if len(texts) > 1:
        texts[::2] = (_TEMPLATE.sub(r"\\\g<0>", piece) for piece in texts[::2])
        texts[1::2] = (f"${{{name.upper()}}}" for name in texts[1::2])
        return f"`{''.join(texts)}`"
    shown = json.dumps(text, ensure_ascii=False)
    return "'" + shown[1:-1].replace('\\"', '"').replace("'", "\\'") + "'" if '\\"' in shown else shown


def _js_body(content: str) -> str:
    """A call of `JSON.stringify` if it gives the same bytes as `content`; else a text, as for amounts with decimals."""
    try:
        value = json.loads(content, parse_float=str)
    except ValueError:
        return _js_text(content)
    if json.dumps(value, ensure_ascii=False, separators=(",", ":")) != content:
        return _js_text(content)
    shown = json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\n  ")
    return f"JSON.stringify({_WHOLE.sub(lambda match: match[1].upper(), shown)})"


def _path(request: UnsentRequest) -> str:
    return _readable(quote(_STRAY_PERCENT.sub("%25", request.path), safe=_SAFE + "%"))


def _url(request: UnsentRequest) -> str:
    in_process = request.base_url in ("", IN_PROCESS_URL)
    url, joint = f"{_variable('base_url') if in_process else request.base_url}{_path(request)}", "?"
    for name, value in request.query.items():
        for item in value if isinstance(value, list) else [value]:
            url += f"{joint}{_encoded(name)}={item if _VARIABLE.fullmatch(item) else _encoded(item)}"
            joint = "&"
    return url


def _encoded(text: str) -> str:
    return _readable(quote(text, safe="*"))


def _readable(encoded: str) -> str:
    """The percent-encoded text with its masks readable; users replace masks before they send the request."""
    return encoded.replace(quote(MARK), MARK)


_KEY_HEADER = "idempotency-key"
_ID = re.compile(r"\{(\w+)\}")
_ONE_SCHEME = ("/v1/payment_intents", "/plants")
"""Path prefixes of operations that accept only the Bearer scheme."""
_SPANS = {"days": 86_400, "hours": 3600, "minutes": 60}


def _typed(request: UnsentRequest) -> str | None:
    """The typed call that sends this request, after the import and client that it needs; None if there is none."""
    calls: tuple[ClientCall | BenchCall, ...] = (*client_calls(), *BENCH_CALLS)
    for call in calls:
        match = re.fullmatch(_ID.sub(r"(?P<\1>[^/]+)", call.path), request.path)
        if not match or call.method != request.method:
            continue
        ids = {name: unquote(part) for name, part in match.groupdict().items()}
        leads_elsewhere = any(part in (".", "..") or "/" in part for part in ids.values())
        if not leads_elsewhere and (lines := call.lines(request, ids)):
            before = ["from decimal import Decimal", ""] if "Decimal(" in lines[-1] else []
            return "\n".join([*before, *lines])
    return None


class _Unsent(Exception):
    """Raised instead of sending a request; has the request's HTTP method, URL and parts."""


def _stop(method: str, url: str, _shape: object, **parts: object) -> NoReturn:
    raise _Unsent(method, url, parts)


class ClientCall(NamedTuple):
    """A method of the client, and the operation that it calls."""

    text: str
    run: Callable[..., object]
    method: str = ""
    path: str = ""
    """The path, with the names of the method's parameters in braces instead of ids."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the client's method."""
        return signature(self.run).parameters

    def unsent(self, arguments: Mapping[str, Any]) -> "tuple[str, str, RequestParts] | None":
        """Calls the method without sending; returns HTTP method, URL and parts, or None if it would send nothing.

        Raises TypeError and InvalidRequest: the method does not accept the arguments.
        """
        try:
            self.run(**arguments)
        except _Unsent as unsent:
            return unsent.args[0], unsent.args[1], unsent.args[2]
        return None

    def lines(self, request: UnsentRequest, ids: Mapping[str, str]) -> list[str]:
        """Lines of code that create the client and call the method; empty if the method cannot send this request.

        `ids` is parameter in the path → id.
        """
        arguments = {**ids, **dict(_named(request.body, self.parameters)), **request.query}
        for name, value in _own_headers(request).items():
            # Any other header is an argument that no method takes.
            arguments["idempotency_key" if name.lower() == _KEY_HEADER else name] = value
        try:
            if "limit" in request.query:
                arguments["limit"] = int(request.query["limit"])
            unsent = self.unsent(arguments)
        except (TypeError, ValueError, InvalidRequest):
            return []
        if unsent is None or not _is_sent_by(unsent[2], request):
            return []
        # Without a default, and not by keyword alone: the ids, and the token to refresh.
        required = {name: row for name, row in self.parameters.items() if row.default is row.empty}
        positional = {name for name, row in required.items() if row.kind != row.KEYWORD_ONLY}
        literals = ((name, _literal(value)) for name, value in arguments.items())
        written = [literal if name in positional else f"{name}={literal}" for name, literal in literals]
        client = "client" if request.key == "secret_key" else f"client_with({_python_key(request.key)})"
        return [f"pay = bench.{client}", _call(self.text, written)]


def _is_sent_by(parts: "RequestParts", request: UnsentRequest) -> bool:
    """True if the parts of a method's request equal the request's scheme, body and query."""
    scheme = "none" if parts.get("key") == "" else "Basic" if parts.get("basic") else "Bearer"
    takes_one = request.path.startswith(_ONE_SCHEME) or (request.method, request.path) == _BASIC
    if {scheme, request.scheme} == {"Basic", "Bearer"} and not takes_one:
        scheme = request.scheme
    body = {name: value for name, value in (parts.get("body") or {}).items() if value is not None}
    query = parts.get("query") or {}
    return scheme == request.scheme and request.body in (None, body) and request.query.items() <= query.items()


@cache
def client_calls() -> tuple[ClientCall, ...]:
    """The methods of the client's groups; each is called once without sending, to find its operation."""
    # httpx, which the client loads, takes a tenth of a second.
    from workbench.merchant.client import Group, PaymentsClient

    client = PaymentsClient(IN_PROCESS_URL, "sk_test_", http=cast("httpx.Client", object()))
    vars(client)["send"] = _stop
    calls = []
    groups = {name: group for name, group in vars(client).items() if isinstance(group, Group)}
    for group_name, group in groups.items():
        for name in dir(group):
            if name.startswith("_"):
                continue
            call = ClientCall(f"pay.{group_name}.{name}", getattr(group, name))
            needed = [name for name, parameter in call.parameters.items() if parameter.default is parameter.empty]
            if unsent := call.unsent({name: 1 if name == "amount" else name for name in needed}):
                parts = urlsplit(unsent[1]).path.split("/")
                path = "/".join(f"{{{part}}}" if part in needed else part for part in parts)
                calls.append(call._replace(method=unsent[0], path=path))
    return tuple(calls)


def _named(body: object, parameters: Mapping[str, Parameter]) -> Iterator[tuple[str, object]]:
    """Yields the members of a body, at any depth, that are `parameters`; not a `type` that the method adds itself."""
    for name, value in body.items() if isinstance(body, Mapping) else ():
        if name not in parameters:
            yield from _named(value, parameters)
        elif name != "type" or value != parameters[name].default:
            yield name, value


def _own_headers(request: UnsentRequest) -> dict[str, str]:
    """The request's headers, except for the Content-Type of a JSON body, which every call adds itself."""
    usual = None if request.body is None else "application/json"
    return {name: value for name, value in request.headers.items() if not (_is_content_type(name) and value == usual)}


def _literal_of(kind: type) -> Callable[[Any], str | None]:
    """A function that writes a value of type `kind` as a literal; it returns None for True and for other types."""
    return lambda value: _literal(value) if isinstance(value, kind) and value is not True else None


def _span(seconds: object) -> str | None:
    """Seconds as an argument in the largest whole unit, such as `hours=1`; None if the clock cannot advance by them."""
    if not isinstance(seconds, int | Decimal) or seconds is True or seconds < 0 or seconds * 1000 % 1:
        return None
    for unit, length in _SPANS.items():
        if seconds and seconds % length == 0:
            return f"{unit}={int(seconds // length)}"
    return _literal(seconds)


_FIELD = re.compile(r"\{(\w+):?(\w*)\}")
_WRITERS: Final[Mapping[str, Callable[[Any], str | None]]] = {
    "": _literal, "text": _literal_of(str), "number": _literal_of(int), "list": _literal_of(list), "span": _span,
    "account": lambda name: _literal(name) if isinstance(name, str) and "," not in name else None,
    "each": lambda items: ", ".join(map(_literal, items)) if isinstance(items, list) else None,
}  # fmt: skip
"""Kind of a field in a BenchCall → the function that writes a value as Python, or None for another kind of value."""


class BenchCall(NamedTuple):
    """An operation under `/sandbox`, as a call of `bench`."""

    method: str
    path: str
    text: str
    """The expression; in braces, ids of the path, and fields of the body (or of a GET's query) with their kind."""

    def lines(self, request: UnsentRequest, ids: Mapping[str, str]) -> list[str]:
        """The expression that sends this request, as one line; no line if the operation cannot send it.

        `ids` is parameter in the path → id.
        """
        fields, others = request.body or {}, request.query
        if self.method == "GET":
            fields, others = request.query, request.body
        if (request.key, request.scheme) != ("secret_key", "Bearer") or others or _own_headers(request):
            return []
        kinds = dict(_FIELD.findall(self.text))
        if not isinstance(fields, Mapping) or {*fields, *ids} != {*kinds}:
            return []
        written = {name: _WRITERS[kind]({**fields, **ids}[name]) for name, kind in kinds.items()}
        if None in written.values():
            return []

        def filled(text: str) -> str:
            return _FIELD.sub(lambda match: str(written[match[1]]), text)

        if not self.text.endswith(")"):
            return [filled(self.text)]
        head, _, arguments = self.text[:-1].rpartition("(")
        return [_call(filled(head), [argument for argument in map(filled, arguments.split(", ")) if argument])]


BENCH_CALLS: Final = (
    BenchCall("GET", "/sandbox/clock", "bench.clock"),
    BenchCall("POST", "/sandbox/clock/advance", "bench.clock.advance({seconds:span})"),
    BenchCall("GET", "/sandbox/phones/{phone}", "bench.phone({phone})"),
    BenchCall("POST", "/sandbox/phones/{phone}/input", "bench.phone({phone}).enter_pin({text:text})"),
    BenchCall("GET", "/sandbox/phones/{phone}/messages", "bench.phone({phone}).messages"),
    BenchCall("POST", "/sandbox/phones/{phone}/cancel", "bench.phone({phone}).cancel()"),
    BenchCall("POST", "/sandbox/phones/{phone}/ignore", "bench.phone({phone}).ignore()"),
    BenchCall("GET", "/sandbox/operator", "bench.operator.states()"),
    BenchCall("POST", "/sandbox/operator/script", "bench.operator.script({phone:text}, {answers:list})"),
    BenchCall("POST", "/sandbox/operator/outage", "bench.operator.outage({provider:text}, {seconds:number})"),
    BenchCall("POST", "/sandbox/operator/query", "bench.operator.query({charge:text})"),
    BenchCall(
        "POST", "/sandbox/webhook_endpoints/{endpoint_id}/faults",
        "bench.delivery_faults({faults:each}, endpoint={endpoint_id})",
    ),
    BenchCall("GET", "/sandbox/ledger/accounts", "bench.ledger.accounts"),
    BenchCall("GET", "/sandbox/ledger/entries", "bench.ledger.entries"),
    BenchCall("GET", "/sandbox/ledger/postings", "bench.ledger.postings"),
    BenchCall("GET", "/sandbox/ledger/movements", "bench.ledger.statement_of({account:account})"),
    BenchCall("GET", "/sandbox/ledger/verify", "bench.ledger.verify()"),
    BenchCall("GET", "/sandbox/suspense", "bench.operator.suspense()"),
    BenchCall("POST", "/sandbox/suspense/{item}/settle", "bench.operator.settle({item}, {how:text})"),
    BenchCall("GET", "/sandbox/trace", "bench.trace"),
    BenchCall("GET", "/sandbox/gaps", "bench.gaps"),
    BenchCall("POST", "/sandbox/reset", "bench.reset()"),
)  # fmt: skip
"""Operations under `/sandbox` with calls of their own; all others are written as raw HTTP."""
