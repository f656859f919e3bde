"""The trace: every call, screen, ledger entry and webhook, in order, with its secrets masked."""

import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, overload

import msgspec

from workbench.render import Table, bundle, preformatted, table

_COLUMNS = ("seq", "moment (UTC)", "kind", "what", "result")
_MASK_NOTE = "secrets masked"
_WIDEST = 64
_IDENTIFIER = re.compile(r"\b([a-z]{2,4}_[0-9A-Za-z]{6})[0-9A-Za-z]{18}\b")


class Exchange:
    """One HTTP request and its answer, as they went over the wire; keys and numbers are masked."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._target: str = row["detail"]["target"]
        self._request: dict[str, Any] = row["detail"]["request"]
        self._response: dict[str, Any] = row["detail"]["response"]

    @property
    def request(self) -> str:
        """Request line, headers, body."""
        return _message(f"{self._target} HTTP/1.1", self._request["headers"], self._request["body"])

    @property
    def response(self) -> str:
        """Status line, headers, body."""
        status = self._response["status"]
        line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"
        return _message(line, self._response["headers"], self._response["body"])

    @property
    def status(self) -> int:
        """The answer's status."""
        return int(self._response["status"])

    def __repr__(self) -> str:
        return f"{self.request}\n\n{self.response}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        html = preformatted(self.request, label="request") + preformatted(self.response, label="response")
        return bundle(repr(self), html)


class Trace(Sequence["dict[str, Any]"]):
    """What happened, row by row: a snapshot; ask for it again to see more.

    A row has `seq`, `at`, `kind` (call, screen, entry, webhook), `payment`, `what`, `result`, `detail`.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def for_(self, payment: str) -> "Trace":
        """The rows of one intent or charge."""
        return Trace([row for row in self._rows if row["payment"] == payment])

    @property
    def exchanges(self) -> list[Exchange]:
        """The calls, each as raw request and answer; the last is `exchanges[-1]`."""
        return [Exchange(row) for row in self._rows if row["kind"] == "call"]

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Trace": ...
    def __getitem__(self, place: int | slice) -> "dict[str, Any] | Trace":
        return self._rows[place] if isinstance(place, int) else Trace(self._rows[place])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _table(self) -> Table:
        rows = [
            (str(row["seq"]), row["at"][:19].replace("T", " "), row["kind"], _short(row["what"]), row["result"])
            for row in self._rows
        ]
        return table(f"Trace, in order, {_MASK_NOTE}", _COLUMNS, rows)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        made = self._table()
        return bundle(str(made), made.html())


def _short(text: str) -> str:
    """Text for a narrow column: identifiers by their first letters, the rest cut; a row has it whole."""
    text = _IDENTIFIER.sub(r"\1…", text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _message(first_line: str, headers: dict[str, str], body: str) -> str:
    lines = [first_line, *(f"{name}: {value}" for name, value in headers.items())]
    return "\n".join([*lines, "", _indented(body)]) if body else "\n".join(lines)


def _indented(body: str) -> str:
    """JSON laid out for reading, every number as it was written; anything else as it is."""
    try:
        return msgspec.json.format(body.encode(), indent=2).decode()
    except (msgspec.MsgspecError, RecursionError):
        return body
