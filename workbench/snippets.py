"""One operation as text to copy: as a call of the typed client, as raw HTTP in httpx, as curl, and in JavaScript.

>>> snippet("POST", "/sandbox/clock/advance", {"seconds": 3600}).python
'bench.clock.advance(hours=1)'

No text holds a key: it is `bench.secret_key` in Python and `$SECRET_KEY` in a shell. Any other secret in a body is a
variable of its field's name, for you to set.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import reduce
from itertools import groupby
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, quote, unquote

from workbench.domain.masking import SECRET_FIELDS, mask, mask_secrets
from workbench.domain.phones import MARK
from workbench.domain.reading import json_from
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.domain.wire.ledger_and_trace import TracedCall
from workbench.errors import InvalidRequest
from workbench.visible import escaped, visible


class Snippet(NamedTuple):
    """One request as four texts; every text runs unchanged."""

    python: str
    """A call of `bench`, or of `pay`, its client; equals `httpx` if no call sends this request."""
    httpx: str
    """A call of `bench.http`, which holds no credentials."""
    curl: str
    """A command for a shell in which SECRET_KEY is set, and BASE_URL for a sandbox in this process."""
    javascript: str
    """A call of `fetch` for a browser or Node, with the same names."""

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
    """The texts of one request.

    `path` holds its ids, and may hold a query, as may `query`. `body` is a value to send as JSON, amounts as Decimal
    or int, or a text to send as it is. Without a Content-Type in `headers` one is added; an empty one is not sent.
    `scheme` is `Bearer`, `Basic` or `none`, by default what the operation takes. `key` is `secret_key`,
    `publishable_key` or `access_token`. `base_url` is for the curl: it is `$BASE_URL` for a sandbox in this process,
    which nothing outside reaches; set it to `bench.serve().base_url`.
    """
    method, (path, _, query_text) = method.upper(), path.partition("?")
    in_path = parse_qs(query_text, keep_blank_values=True)
    asked = {
        **{name: identifier[0] if len(identifier) == 1 else identifier for name, identifier in in_path.items()},
        **(query or {}),
    }
    value, content = _body(body, path)
    usual = "none" if path.startswith("/v1/auth/") else "Basic" if (method, path) == _BASIC else "Bearer"
    request = Request(
        method, mask_secrets(path), value, content, _hidden_members(asked),
        _sent(headers or {}, has_body=value is not None), scheme or usual, key, base_url.rstrip("/"),
    )  # fmt: skip
    raw = _httpx(request)
    texts = (_typed(request) or raw, raw, _curl(request), _javascript(request))
    return Snippet(*(f"{_MASKED_NOTE}\n{text}" if MARK in text else text for text in texts))


def snippet_of(call: TracedCall, base_url: str) -> Snippet:
    """The texts of a call of the trace; fill in the masked values."""
    method, _, path = call.target.partition(" ")
    body = call.request.body or None
    # A body that was sent without this header is repeated without it.
    headers = {**({_CONTENT_TYPE: ""} if body else {}), **call.request.headers}
    scheme, _, credential = headers.get("Authorization", "").partition(" ")
    key = next((name for start, name in _OWN_KEYS if credential.startswith(start)), "secret_key")
    named = scheme.title() if scheme.title() in {"Bearer", "Basic"} else "none"
    return snippet(method, path, body, headers=headers, scheme=named, key=key, base_url=base_url)


class Variable(str):
    """The name of a variable that stands for a secret."""

    __slots__ = ()


Piece = str | Variable
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r'["$`\\!]')
_BRACES = re.compile(r"\$\{(\w+)\}(?!\w)")
"""A `${NAME}` whose name ends at the same place without the braces."""
_TEMPLATE = re.compile(r"[`\\$]")
_UNSET = re.compile(r'"\\u0000(\w+)\\u0000"')
_WIDTH = 88
_INDENT = "    "


def _json_pieces(value: object) -> list[Piece]:
    """JSON with every digit of its numbers; a variable stands between quotes, as a string's content.

    Written as the client writes it, to the byte: another blank is another body to an idempotency key.
    """
    pieces: list[Piece] = []
    for is_variable, run in groupby(_json(value), lambda piece: isinstance(piece, Variable)):
        together = [*run]
        pieces += together if is_variable else ["".join(together)]
    return pieces


def _json(value: object) -> Iterator[Piece]:
    if isinstance(value, Variable):
        yield from ('"', value, '"')
    elif isinstance(value, Mapping):
        for place, (name, item) in enumerate(value.items()):
            yield f"{',' if place else '{'}{_json_text(str(name))}:"
            yield from _json(item)
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield "," if place else "["
            yield from _json(item)
        yield "]" if value else "[]"
    elif isinstance(value, str):
        yield _json_text(value)
    else:
        # A float comes from a reader that knew no better; its shortest form is what was written.
        yield str(value) if isinstance(value, Decimal) else json.dumps(value)


def _json_text(text: str) -> str:
    return _whole(json.dumps(text, ensure_ascii=False))


def _whole(text: str) -> str:
    """Text that can be encoded: half of a surrogate pair is escaped as in JSON."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _literal(value: object) -> str:
    """A value as Python writes it; variables by their names."""
    if isinstance(value, Variable):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(key)}" for name, key in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    if isinstance(value, str):
        shown = repr(str(value))
        return f'"{shown[1:-1]}"' if '"' not in shown else shown
    return f'Decimal("{value}")' if isinstance(value, Decimal | float) else repr(value)


def _call(head: str, arguments: list[str]) -> str:
    """A call, on one line if it fits, otherwise with every argument on a line."""
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    return f"{head}(\n" + "".join(f"{_INDENT}{argument},\n" for argument in arguments) + ")"


def _shell_word(pieces: list[Piece]) -> str:
    """A text with variables in it as one word of a shell. A NUL, which no argument of a program holds, is replaced."""
    pieces = [piece if isinstance(piece, Variable) else _whole(piece).replace("\0", "\ufffd") for piece in pieces]
    texts = [piece for piece in pieces if not isinstance(piece, Variable)]
    if len(texts) == len(pieces):
        return _quoted("".join(texts))
    if not any(_NEEDS_QUOTES.search(text) or _is_unseen(text) for text in texts):
        shown = "".join(f"${{{piece.upper()}}}" if isinstance(piece, Variable) else piece for piece in pieces)
        return '"' + _BRACES.sub(r"$\1", shown) + '"'
    return "".join(f'"${piece.upper()}"' if isinstance(piece, Variable) else _quoted(piece) for piece in pieces)


def _quoted(text: str) -> str:
    """A text as a word: in single quotes or, with a control in it, in `$'…'`, in which bash and zsh read escapes."""
    return "$'" + "".join(map(_escaped, text)) + "'" if _is_unseen(text) else shlex.quote(text)


def _escaped(letter: str) -> str:
    """A letter escaped byte by byte, so that it means the same in every locale."""
    if letter in "\\'":
        return f"\\{letter}"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode()) if _is_unseen(letter) else letter


def _is_unseen(text: str) -> bool:
    return visible(text, lines=True) != text


IN_PROCESS_URL: Final = "http://sandbox.localhost"
_CONTENT_TYPE: Final = "Content-Type"
_OWN_KEYS = (("pk_", "publishable_key"), ("at_", "access_token"))
"""The beginning of a masked credential → its variable; any other credential is the secret key."""
_PIN_PATH = re.compile(r"/sandbox/phones/[^/]+/input")
_BASIC = ("POST", "/v1/charges")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


class Request(NamedTuple):
    """A request to write as text: its query is apart from its path, and every secret is a variable or masked."""

    method: str
    path: str
    body: Any
    content: "list[Piece] | None"
    """The body as it is sent, a text with variables in it."""
    query: dict[str, Any]
    headers: dict[str, str]
    scheme: str
    key: str
    base_url: str


def _sent(headers: Mapping[str, str], *, has_body: bool) -> dict[str, str]:
    """The headers to write; the key gives the credential, and the sending program the length and the host."""
    sent = {
        name: _CONTROL.sub(" ", mask_secrets(value))
        for name, value in headers.items()
        if name.lower() not in {"authorization", "host", "content-length"}
    }
    typed = has_body and not any(map(_is_content_type, sent))
    return {**sent, _CONTENT_TYPE: "application/json"} if typed else sent


def _is_content_type(name: str) -> bool:
    """True if `name` is Content-Type, in any case."""
    return name.lower() == _CONTENT_TYPE.lower()


def _body(body: object, path: str) -> tuple[Any, list[Piece] | None]:
    """The value of a body without its secrets, and its text; a body that is not JSON is sent unchanged, masked."""
    value: Any = body
    if isinstance(body, str):
        try:
            value = json_from(body.encode("utf-8", "surrogatepass"))
        except InvalidRequest:
            return mask(body), [mask(body)]
    if value is None:
        return None, None
    is_pin = isinstance(value, Mapping) and _PIN_PATH.fullmatch(path) and value.get("text") != SANDBOX_PIN
    hidden = _hidden({**value, "text": Variable("pin")} if is_pin else value)
    # A text without a secret keeps its blanks, as an idempotency key is for the same bytes.
    if isinstance(body, str) and _json_pieces(value) == _json_pieces(hidden):
        return hidden, [body]
    return hidden, [hidden] if isinstance(hidden, str) else _json_pieces(hidden)


def _hidden_members(members: Mapping[str, object]) -> dict[str, object]:
    return {mask_secrets(name): _hidden(value, name) for name, value in members.items()}


def _hidden(value: object, name: str = "") -> object:
    if isinstance(value, Mapping):
        return _hidden_members(value)
    if isinstance(value, list | tuple):
        return [_hidden(item) for item in value]
    if not isinstance(value, str) or isinstance(value, Variable):
        return value
    return Variable(name) if name in SECRET_FIELDS else mask_secrets(str(value))


_MASKED_NOTE = f"# Replace what is masked with {MARK}."
_SAFE = "/:@+,;=~"
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SHORT = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_WITH_BODY = ("POST", "PUT", "PATCH")


def _python_key(key: str) -> str:
    """The key as Python names it."""
    return f"bench.{key}" if key in ("secret_key", "publishable_key") else key


def _httpx(request: Request) -> str:
    """The request as `bench.http` sends it."""
    arguments = [_literal(_path(request))]
    if request.query:
        arguments.append(f"params={_literal(request.query)}")
    if request.content is not None:
        # As text: a number with a point would be a float in Python.
        arguments.append(f"content={' + '.join(map(_literal, request.content))}")
    if headers := _python_headers(request):
        arguments.append(f"headers={headers}")
    if request.scheme == "Basic":
        arguments.append(f'auth=({_python_key(request.key)}, "")')
    if request.method in (_SHORT if request.content is None else _WITH_BODY):
        return _call(f"bench.http.{request.method.lower()}", arguments)
    return _call("bench.http.request", [_literal(request.method), *arguments])


def _python_headers(request: Request) -> str:
    headers = [
        f"{_literal(name)}: {_literal(value)}"
        for name, value in request.headers.items()
        if value or not _is_content_type(name)
    ]
    if request.scheme == "Bearer":
        headers.insert(0, f'"Authorization": f"Bearer {{{_python_key(request.key)}}}"')
    return "{" + ", ".join(headers) + "}" if headers else ""


def _curl(request: Request) -> str:
    """The request as curl sends it, one option on a line."""
    key = request.key.upper()
    asked = "--head" if request.method == "HEAD" else f"-X {_shell_word([request.method])}"
    parts = [f"curl {asked} {_shell_word(_url(request))}"]
    if request.scheme == "Bearer":
        parts.append(f'-H "Authorization: Bearer ${key}"')
    if request.scheme == "Basic":
        parts.append(f'-u "${key}:"')
    parts += [f"-H {_shell_word([_header_line(name, value)])}" for name, value in request.headers.items()]
    if request.content is not None:
        # Not -d, for which a text that begins with @ is the name of a file.
        parts.append(f"--data-raw {_shell_word(request.content)}")
    return " \\\n  ".join(parts)


def _javascript(request: Request) -> str:
    """The request as `fetch` sends it, in a browser or in Node."""
    key = Variable(request.key)
    credentials = {
        "Bearer": _js_text(["Bearer ", key]),
        "Basic": f'"Basic " + btoa({_js_text([key, ":"])})',
    }
    headers = {
        name: _js_text([value]) for name, value in request.headers.items() if value or not _is_content_type(name)
    }
    if request.scheme in credentials:
        headers = {"Authorization": credentials[request.scheme], **headers}
    options = [f"method: {_js_text([request.method])}"]
    if headers:
        lines = "".join(f"    {_js_text([name])}: {value},\n" for name, value in headers.items())
        options.append(f"headers: {{\n{lines}  }}")
    if request.content is not None:
        options.append(f"body: {_js_body(request.content)}")
    lines = "".join(f"  {option},\n" for option in options)
    return escaped(f"const response = await fetch({_js_text(_url(request))}, {{\n{lines}}});")


def _js_text(pieces: list[Piece]) -> str:
    """A text as JavaScript writes it; as a template where a variable is in it."""
    if not any(isinstance(piece, Variable) for piece in pieces):
        shown = _json_text("".join(pieces))
        return "'" + shown[1:-1].replace('\\"', '"').replace("'", "\\'") + "'" if '\\"' in shown else shown
    texts = (
        f"${{{piece.upper()}}}" if isinstance(piece, Variable) else _TEMPLATE.sub(r"\\\g<0>", piece) for piece in pieces
    )
    return f"`{''.join(texts)}`"


def _js_body(content: list[Piece]) -> str:
    """An object where `JSON.stringify` writes the same bytes; else a text, as of an amount with decimals."""
    text = "".join(f"\0{piece}\0" if isinstance(piece, Variable) else piece for piece in content)
    try:
        value = json.loads(text, strict=False, parse_float=str)
    except ValueError:
        return _js_text(content)
    if json.dumps(value, ensure_ascii=False, separators=(",", ":")) != text.replace("\0", r"\u0000"):
        return _js_text(content)
    shown = _whole(json.dumps(value, ensure_ascii=False, indent=2)).replace("\n", "\n  ")
    return f"JSON.stringify({_UNSET.sub(lambda found: found[1].upper(), shown)})"


def _header_line(name: str, value: str) -> str:
    """A header as curl takes it: `;` sends an empty header; `:` keeps curl from adding its own Content-Type."""
    if value:
        return f"{name}: {value}"
    return f"{name}:" if _is_content_type(name) else f"{name};"


def _path(request: Request) -> str:
    return _readable(quote(_STRAY_PERCENT.sub("%25", request.path), safe=_SAFE + "%", errors="replace"))


def _url(request: Request) -> list[Piece]:
    in_process = request.base_url in ("", IN_PROCESS_URL)
    pieces: list[Piece] = [Variable("base_url") if in_process else request.base_url, _path(request)]
    mark = "?"
    for name, value in request.query.items():
        for item in value if isinstance(value, list) else [value]:
            pieces += [f"{mark}{_encoded(name)}=", item if isinstance(item, Variable) else _encoded(str(item))]
            mark = "&"
    return pieces


def _encoded(text: str) -> str:
    return _readable(quote(text, safe="*", errors="replace"))


def _readable(encoded: str) -> str:
    """The encoded text with its masks readable: nobody sends a mask."""
    return encoded.replace(quote(MARK), MARK)


class Call(NamedTuple):
    """One operation as a call in Python."""

    method: str
    path: str
    text: str
    """The called expression. An id of the path stands in it in braces, or is its first argument."""
    fields: Mapping[str, str] = {}
    """Path in the body → argument; `a.b` is b within a."""
    always: tuple[str, ...] = ()
    """Arguments that the call always sends: a request without them is not this call."""
    fixed: Mapping[str, str] = {}
    """Fields that the call adds to the body by itself."""
    query: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("Bearer",)
    keyed: bool = False
    """True if the call takes an idempotency key."""
    is_attribute: bool = False


def _same(*names: str) -> dict[str, str]:
    """Arguments with the names of fields."""
    return {name: name for name in names}


_EITHER = ("Bearer", "Basic")
_PAGE = ("limit", "starting_after", "ending_before")


def _read(group: str, identifier: str, *filters: str) -> tuple[Call, Call]:
    """Calls that list the objects of a group and retrieve one of them."""
    listed = Call("GET", f"/v1/{group}", f"pay.{group}.list", query=(*_PAGE, *filters), schemes=_EITHER)
    return listed, _of_one("GET", f"{group}/{{{identifier}}}", f"{group}.retrieve")


def _of_one(method: str, path: str, text: str) -> Call:
    """A call that takes an id and nothing else."""
    return Call(method, f"/v1/{path}", f"pay.{text}", schemes=_EITHER)


def _of_bench(method: str, path: str, text: str, *fields: str, is_attribute: bool = False) -> Call:
    path = f"/sandbox/{path}"
    return Call(method, path, f"bench.{text}", _same(*fields), always=fields, is_attribute=is_attribute)


# fmt: off
CALLS: tuple[Call, ...] = (
    Call("POST", "/v1/payment_intents", "pay.payment_intents.create",
         _same("amount", "currency", "payment_method_types", "description", "metadata"),
         always=("amount", "currency", "payment_method_types"), keyed=True),
    Call("GET", "/v1/payment_intents", "pay.payment_intents.list", query=_PAGE),
    Call("GET", "/v1/payment_intents/{intent_id}", "pay.payment_intents.retrieve", query=("client_secret",)),
    Call("POST", "/v1/payment_intents/{intent_id}/confirm", "pay.payment_intents.confirm",
         {"payment_method.mobile_money.phone": "phone", "payment_method.mobile_money.provider": "provider",
          "client_secret": "client_secret"},
         always=("phone", "provider"), fixed={"payment_method.type": "mobile_money"}, keyed=True),
    Call("POST", "/v1/payment_intents/{intent_id}/cancel", "pay.payment_intents.cancel",
         _same("cancellation_reason"), keyed=True),
    Call("POST", "/v1/charges", "pay.charges.create",
         _same("amount", "currency", "channel", "phone", "reference", "metadata"),
         always=("amount", "currency", "channel", "phone", "idempotency_key"), fixed={"type": "mobile_money"},
         schemes=("Basic",), keyed=True),
    *_read("charges", "charge_id"),
    Call("POST", "/v1/refunds", "pay.refunds.create",
         _same("charge", "payment_intent", "amount", "reason", "metadata"), schemes=_EITHER, keyed=True),
    *_read("refunds", "refund_id", "charge"),
    Call("POST", "/v1/payouts", "pay.payouts.create", _same("amount", "currency", "destination", "metadata"),
         always=("amount", "currency"), schemes=_EITHER, keyed=True),
    *_read("payouts", "payout_id"),
    Call("GET", "/v1/balance", "pay.balance.retrieve", schemes=_EITHER),
    *_read("events", "event_id", "type", "created_since", "search"),
    _of_one("POST", "events/{event_id}/replay", "events.replay"),
    Call("POST", "/v1/webhook_endpoints", "pay.webhook_endpoints.create", _same("url", "enabled_events"),
         always=("url", "enabled_events"), schemes=_EITHER),
    *_read("webhook_endpoints", "endpoint_id"),
    Call("PATCH", "/v1/webhook_endpoints/{endpoint_id}", "pay.webhook_endpoints.update",
         _same("url", "enabled_events", "status"), schemes=_EITHER),
    _of_one("DELETE", "webhook_endpoints/{endpoint_id}", "webhook_endpoints.delete"),
    _of_one("POST", "webhook_endpoints/{endpoint_id}/roll_secret", "webhook_endpoints.roll_secret"),
    *_read("deliveries", "delivery_id", "status", "event", "endpoint"),
    _of_one("POST", "deliveries/{delivery_id}/replay", "deliveries.replay"),
    _of_one("POST", "dead_letters/replay", "deliveries.replay_dead_letters"),
    Call("GET", "/v1/api_keys", "pay.api_keys.list", query=_PAGE, schemes=_EITHER),
    Call("POST", "/v1/api_keys", "pay.api_keys.create", _same("kind"), schemes=_EITHER),
    _of_one("POST", "api_keys/{key_id}/roll", "api_keys.roll"),
    _of_one("DELETE", "api_keys/{key_id}", "api_keys.revoke"),
    Call("POST", "/plants", "pay.plants.create", _same("id", "name", "tag"), always=("id", "name")),
    Call("POST", "/v1/auth/token", "pay.auth.token", _same("email", "password"), always=("email", "password"),
         schemes=("none",)),
    Call("POST", "/v1/auth/refresh", "pay.auth.refresh", _same("refresh_token"), always=("refresh_token",),
         schemes=("none",)),
    _of_bench("GET", "clock", "clock", is_attribute=True),
    _of_bench("POST", "clock/advance", "clock.advance", "seconds"),
    _of_bench("GET", "phones/{phone}", "phone"),
    Call("POST", "/sandbox/phones/{phone}/input", "bench.phone({phone}).enter_pin", {"text": "pin"}, always=("pin",)),
    _of_bench("GET", "phones/{phone}/messages", "phone({phone}).messages", is_attribute=True),
    _of_bench("POST", "phones/{phone}/cancel", "phone({phone}).cancel"),
    _of_bench("POST", "phones/{phone}/ignore", "phone({phone}).ignore"),
    _of_bench("GET", "operator", "operator.states"),
    _of_bench("POST", "operator/script", "operator.script", "phone", "answers"),
    _of_bench("POST", "operator/outage", "operator.outage", "provider", "seconds"),
    Call("POST", "/sandbox/operator/query", "bench.operator.query", {"charge": "charge_id"}, always=("charge_id",)),
    Call("POST", "/sandbox/webhook_endpoints/{endpoint}/faults", "bench.delivery_faults", _same("faults")),
    _of_bench("GET", "ledger/accounts", "ledger.accounts", is_attribute=True),
    _of_bench("GET", "ledger/entries", "ledger.entries", is_attribute=True),
    _of_bench("GET", "ledger/postings", "ledger.postings", is_attribute=True),
    Call("GET", "/sandbox/ledger/movements", "bench.ledger.statement_of", query=("account",),
         always=("account",)),
    _of_bench("GET", "ledger/verify", "ledger.verify"),
    _of_bench("GET", "suspense", "operator.suspense"),
    Call("POST", "/sandbox/suspense/{item}/settle", "bench.operator.settle", _same("how"), always=("how",)),
    _of_bench("GET", "trace", "trace", is_attribute=True),
    _of_bench("GET", "gaps", "gaps", is_attribute=True),
    _of_bench("POST", "reset", "reset"),
)
NO_CALL = frozenset({
    ("GET", "/sandbox/webhook_endpoints"), ("POST", "/sandbox/accounts"), ("POST", "/sandbox/ledger/entries"),
    ("POST", "/sandbox/ledger/entries/{entry_id}/repeat"), ("POST", "/sandbox/simulation"),
    ("POST", "/sandbox/operations/{operation_id}/deprecation"), ("GET", "/sandbox/payments"),
    ("GET", "/sandbox/payments/{payment_id}"), ("GET", "/sandbox/requests"), ("GET", "/sandbox/requests/{request_id}"),
    ("GET", "/sandbox/requests/{request_id}/code"), ("GET", "/sandbox/changes"), ("GET", "/sandbox/phones"),
    ("GET", "/sandbox/keys"), ("GET", "/sandbox/scenarios"), ("POST", "/sandbox/sign"),
    ("GET", "/sandbox/gaps/used"),
})
# fmt: on
"""Operations without a call of their own in Python: they are written as raw HTTP."""


Arguments = dict[str, Any]
_KEY_HEADER = "idempotency-key"
_POSITIONAL = (
    "seconds", "phone", "answers", "provider", "pin", "charge_id", "account", "refresh_token", "how",
)  # fmt: skip
"""Arguments without their names, in calls of the sandbox and of `auth.refresh`."""
_SPANS = {"days": 86_400, "hours": 3600, "minutes": 60}
_WHOLE = re.compile("0|[1-9][0-9]*")
_ID = re.compile(r"\{(\w+)\}")
_CHARGE, _ADVANCE, _FAULTS = "pay.charges.create", "bench.clock.advance", "bench.delivery_faults"


def _typed(request: Request) -> str | None:
    """The call that sends this request, after the lines that it needs."""
    for row in CALLS:
        named = _named(row, request)
        if named is not None:
            arguments = _arguments(row, request)
            return None if arguments is None else _text(row, request, named, arguments)
    return None


def _named(row: Call, request: Request) -> dict[str, str] | None:
    """The ids in the path, by their names in the row; None for another path."""
    pattern = _ID.sub(r"(?P<\1>[^/]+)", row.path)
    found = re.fullmatch(pattern, request.path) if row.method == request.method else None
    return None if found is None else {name: unquote(part) for name, part in found.groupdict().items()}


def _arguments(row: Call, request: Request) -> Arguments | None:
    """The arguments of the call; None if it would send something else."""
    parts = (_of_body(row, request.body), _of_query(row, request.query), _of_headers(row, request))
    if request.scheme not in row.schemes or any(part is None for part in parts):
        return None
    arguments = {name: value for part in parts if part for name, value in part.items()}
    complete = arguments.keys() >= {*row.always}
    fit = all(_fits(row, name, value, arguments) for name, value in arguments.items())
    return arguments if complete and fit else None


def _of_body(row: Call, body: object) -> Arguments | None:
    if body is None:
        return None if row.fixed else {}
    found = {path: value for path in row.fields if (value := _at(body, path)) is not None}
    sent: dict[str, Any] = {}
    for path, value in {**row.fixed, **found}.items():
        *containers, name = path.split(".")
        reduce(lambda inner, key: inner.setdefault(key, {}), containers, sent)[name] = value
    return {row.fields[path]: value for path, value in found.items()} if sent == body else None


def _at(value: object, path: str) -> object:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _of_query(row: Call, query: Mapping[str, Any]) -> Arguments | None:
    if not query.keys() <= set(row.query) or not all(isinstance(value, str) for value in query.values()):
        return None
    return {name: int(value) if name == "limit" and _WHOLE.fullmatch(value) else value for name, value in query.items()}


def _of_headers(row: Call, request: Request) -> Arguments | None:
    arguments: Arguments = {}
    for name, value in request.headers.items():
        if _is_content_type(name) and value == "application/json" and request.body is not None:
            continue
        if not row.keyed or name.lower() != _KEY_HEADER:
            return None
        arguments["idempotency_key"] = value
    return arguments


def _fits(row: Call, name: str, value: object, others: Arguments) -> bool:
    """True if the call sends an argument unchanged and does not refuse it."""
    if row.text == _ADVANCE:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            return False
        return value >= 0 and value * 1000 % 1 == 0
    if name == "account":
        return isinstance(value, str) and "," not in value
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    # A charge and its refunds are in whole ngwee, the rest in kwacha.
    is_whole = name == "amount" and ("charge" in others or row.text == _CHARGE)
    kind = int if is_whole else _KINDS.get(name, object)
    return isinstance(value, kind) and not (isinstance(value, bool) and kind is not object)


_LISTS = ("payment_method_types", "enabled_events", "answers", "faults")
_KINDS = {"amount": int | Decimal, "seconds": int, "limit": int, "pin": str, "how": str, "refresh_token": str}


def _text(row: Call, request: Request, named: Mapping[str, str], arguments: Arguments) -> str | None:
    if any(identifier in ("", ".", "..") or "/" in identifier for identifier in named.values()):
        return None
    uses_client = row.text.startswith("pay.")
    if not uses_client and request.key != "secret_key":
        return None
    ids = {name: _literal(identifier) for name, identifier in named.items()}
    head = row.text.format(**ids)
    line = head if row.is_attribute else _call(head, _call_arguments(row, ids, arguments))
    before = ["from decimal import Decimal", ""] if "Decimal(" in line else []
    if uses_client:
        client = "client" if request.key == "secret_key" else f"client_with({_python_key(request.key)})"
        before.append(f"pay = bench.{client}")
    return "\n".join([*before, line])


def _call_arguments(row: Call, ids: Mapping[str, str], arguments: Arguments) -> list[str]:
    """The arguments in the brackets: first the ids that are not in the called expression."""
    if row.text == _ADVANCE:
        return [_span(arguments["seconds"])]
    if row.text == _FAULTS:
        return [*map(_literal, arguments.get("faults", ())), f"endpoint={ids['endpoint']}"]
    bare = not row.text.startswith("pay.") or row.text == "pay.auth.refresh"
    return [literal for name, literal in ids.items() if f"{{{name}}}" not in row.text] + [
        _literal(value) if bare and name in _POSITIONAL else f"{name}={_literal(value)}"
        for name, value in arguments.items()
    ]


def _span(seconds: Decimal | int) -> str:
    """A span of time in its largest whole unit."""
    for unit, length in _SPANS.items():
        if seconds and seconds % length == 0:
            return f"{unit}={int(seconds // length)}"
    return _literal(seconds)
