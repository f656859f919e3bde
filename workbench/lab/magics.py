"""`%%http`: a raw HTTP request, written in a cell and sent to the bench. Loaded by `%load_ext workbench`."""

import keyword
import re
import shlex
from inspect import getattr_static
from typing import Any, Final

import httpx
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from workbench.domain.masking import mask, shortened
from workbench.lab.raw_http import COMPUTED, Mistyped, RawRequest, read
from workbench.session import Session
from workbench.trace.exchange import Exchange
from workbench.visible import visible

HELP: Final = """%%http [BENCH] [-o NAME]

Send a raw HTTP request to the sandbox, as it is written in the cell:

    %%http
    POST /v1/payment_intents HTTP/1.1
    Authorization: Bearer $bench.secret_key

    {"amount": 150.00, "currency": "ZMW", "payment_method_types": ["mobile_money"]}

The first line is the method and the path; HTTP/1.1 may be left out. Headers follow, and after an empty line the
body. $name and $name.attribute are filled in from the notebook's variables; $$ is a dollar sign. No Authorization
header is sent that you do not write. Without a Content-Type, a body that begins with { or [ is sent as
application/json; Content-Length is worked out. Lines that begin with # before the request are comments.

BENCH    the variable that holds the Workbench; `bench`, or the only one there is, if it is left out
-o NAME  keep the httpx response in a variable; the last one is in _ anyway"""
_MOST_TEXT = 2000
_OF_THE_SERVER = {"date", "server", "content-length", "connection", "transfer-encoding"}
"""Headers that are about the server and differ from run to run."""
_ALONE = re.compile(r"%%http\b[^\n]*")
_PIN = re.compile(r"/sandbox/phones/[^/]+/input")
_TYPED = re.compile(r'("text"\s*:\s*)"[^"]*"')


def load(shell: InteractiveShell) -> None:
    """Make `%%http` known to a shell."""

    def http(line: str, cell: str = "") -> httpx.Response | None:
        try:
            return _run(shell, line, cell)
        except Mistyped as error:
            # Shown as one line and without a traceback; a notebook that is run headlessly stops there.
            raise UsageError(visible(str(error))) from None

    http.__doc__ = HELP
    shell.magics_manager.register_function(http, magic_kind="line_cell", magic_name="http")
    if _with_a_body not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_with_a_body)


def _with_a_body(lines: list[str]) -> list[str]:
    """A cell of `%%http` alone reaches it too, to be helped: IPython itself refuses a cell magic without a body."""
    written = "".join(lines).strip()
    return [f"{written[1:]}\n"] if _ALONE.fullmatch(written) else lines


def _run(shell: InteractiveShell, line: str, cell: str) -> httpx.Response | None:
    bench_name, keep_as, wants_help = _options(line)
    if wants_help:
        print(HELP)  # noqa: T201  a person asked for it
        return None
    session = _session(shell.user_ns, bench_name)
    response = _sent(session, read(cell, shell.user_ns, session.base_url))
    if keep_as:
        shell.user_ns[keep_as] = response
    return response


def _options(line: str) -> tuple[str, str, bool]:
    """The bench's name, the name to keep the response by, and whether help is asked for."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise Mistyped(f"%%http {line}: {error}.") from None
    if {"-h", "--help"} & set(words):
        return "", "", True
    keep_as = ""
    if "-o" in words:
        place = words.index("-o")
        keep_as = words[place + 1] if place + 1 < len(words) else ""
        if not keep_as.isidentifier() or keyword.iskeyword(keep_as):
            raise Mistyped("-o needs a name for the response, such as: %%http -o answer")
        words[place : place + 2] = []
    if len(words) > 1 or any(each.startswith("-") for each in words):
        raise Mistyped(f"%%http {line}: use %%http [BENCH] [-o NAME]. The request begins on the next line.")
    return "".join(words), keep_as, False


def _session(names: dict[str, Any], bench_name: str) -> Session:
    """That of the Workbench with this name, or of the one that there is."""
    # Looked at without running any code of what stands in a notebook.
    held = {name: getattr_static(each, "session", None) for name, each in names.items() if name[0] != "_"}
    benches = {name: each for name, each in held.items() if isinstance(each, Session)}
    if bench_name:
        if bench_name not in benches:
            raise Mistyped(f"{bench_name} is no Workbench here. Make it before: {bench_name} = Workbench()")
        return benches[bench_name]
    if "bench" in benches:
        return benches["bench"]
    if not benches:
        raise Mistyped("There is no bench to send this to. Make one before: bench = Workbench()")
    if len({id(each) for each in benches.values()}) > 1:
        raise Mistyped(f"There are several benches: {', '.join(benches)}. Name one: %%http {next(iter(benches))}")
    return next(iter(benches.values()))


def _sent(session: Session, raw: RawRequest) -> httpx.Response:
    """The response, which shows itself as an exchange."""
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
    if _PIN.fullmatch(raw.target.partition("?")[0]):
        body = _TYPED.sub(r'\1"••••"', body)
    detail = {
        "target": mask(f"{raw.method} {raw.target}"),
        "request": {"headers": {name: mask(value) for name, value in raw.headers}, "body": mask(body)},
        "response": {
            "status": response.status_code,
            "headers": _headers(response),
            "body": _text(response),
        },
    }
    return Exchange({"seq": None, "at": None, "detail": detail}, session.trace_context)


def _headers(response: httpx.Response) -> dict[str, str]:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
    shown = {name.title().replace("Www-", "WWW-"): mask(value) for name, value in pairs}
    return {name: value for name, value in shown.items() if name.lower() not in _OF_THE_SERVER}


def _text(response: httpx.Response) -> str:
    text = mask(response.text)
    is_json = "json" in response.headers.get("Content-Type", "")
    return text if is_json else shortened(text, _MOST_TEXT, counts_mark=False)
