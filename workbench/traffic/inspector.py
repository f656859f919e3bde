"""One call of the trace to look into: request, response, duration, and code that repeats the call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.client import responses
from typing import Any
from urllib.parse import quote

from msgspec import to_builtins
from msgspec.structs import replace

from workbench.domain.masking import mask
from workbench.domain.wire.ledger_and_trace import call_of
from workbench.errors import InvalidRequest
from workbench.merchant.calls import Latencies, checked_text
from workbench.text.render import bundle, indented, is_live, preformatted
from workbench.text.snippets import Snippet, snippet_of
from workbench.visible import visible


@dataclass(frozen=True)
class TraceContext:
    """Facts that a trace's rows lack: the sandbox's address, and the times of its responses."""

    base_url: str = ""
    latencies: Latencies = field(default_factory=Latencies)


class Exchange:
    """One HTTP request and its response, as sent, with keys and numbers masked. The repr shows controls as symbols."""

    def __init__(self, row: dict[str, Any], context: TraceContext) -> None:
        self._row = row
        self._call = call_of(row)
        self._context = context

    @property
    def request(self) -> str:
        """The request as text: request line, headers, body."""
        return message(f"{self._call.target} HTTP/1.1", self._call.request.headers, self._call.request.body)

    @property
    def response(self) -> str:
        """The response as text: status line, headers, body."""
        return message(f"HTTP/1.1 {named_status(self.status)}", self._call.response.headers, self._call.response.body)

    @property
    def status(self) -> int:
        """The response's status."""
        return self._call.response.status

    @property
    def latency_ms(self) -> int | None:
        """Milliseconds that this bench waited for the response; None for another client's call.

        In a headless run it is None too, so that two runs of one notebook print the same.
        """
        return self._context.latencies.of(self._call.response.headers.get("Request-Id", "")) if is_live() else None

    @property
    def python(self) -> str:
        """The call in Python; you fill in the masked values."""
        return self._snippet.python

    @property
    def httpx(self) -> str:
        """The call with `bench.http`."""
        return self._snippet.httpx

    @property
    def curl(self) -> str:
        """The call as curl, for a shell with SECRET_KEY set."""
        return self._snippet.curl

    def unmasked(self, number: str) -> "Exchange":
        """The call with the customer's whole number, which the sandbox does not keep, so that it can be sent again.

        Raises InvalidRequest: the number is not in this call.
        """
        masked, sent = mask(checked_text("number", number, such_as="+260961234567")), self._call.request

        def whole(text: str) -> str:
            return text.replace(f"+{masked[1:]}", number).replace(f"%2B{masked[1:]}", quote(number, safe=""))

        headers = {name: whole(header) for name, header in sent.headers.items()}
        call = replace(
            self._call, target=whole(self._call.target), request=replace(sent, headers=headers, body=whole(sent.body))
        )
        if masked == number or call == self._call:
            message = f"number is not one that is masked in this call: {masked} does not occur in it."
            raise InvalidRequest(message, code="parameter_invalid", param="number")
        return Exchange({**self._row, "detail": to_builtins(call)}, self._context)

    @cached_property
    def _snippet(self) -> Snippet:
        return snippet_of(self._call, self._context.base_url)

    def __repr__(self) -> str:
        return visible(f"{self.request}\n\n{self.response}", lines=True)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        html = preformatted(self.request, "request") + preformatted(self.response, "response")
        if self.latency_ms is not None:
            html += f"<p>answered in {self.latency_ms} ms</p>"
        return bundle(repr(self), html)


def named_status(status: int) -> str:
    """A status with its name: `409 Conflict`."""
    return f"{status} {responses.get(status, '')}".rstrip()


def message(first_line: str, headers: Mapping[str, str], body: str) -> str:
    """A request or a response as text: the first line, the headers, and the body with indented JSON."""
    lines = [first_line, *(f"{name}: {value}" for name, value in headers.items())]
    return "\n".join([*lines, "", indented(body)]) if body else "\n".join(lines)
