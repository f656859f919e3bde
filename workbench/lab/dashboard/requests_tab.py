"""The dashboard's request log: every request of the merchant's, looked into and sent again."""

from collections.abc import Iterable, Mapping
from typing import Final

import httpx

from workbench.domain import wire
from workbench.domain.moments import milliseconds_in
from workbench.lab import views
from workbench.lab.dashboard.found import OF_TIME, FoundSection, timed
from workbench.lab.sections import Message, Values, fact_at, when
from workbench.render import is_live
from workbench.steps import short
from workbench.trace import Exchange
from workbench.trace.inspector import named_status

_ANY: Final = ("", "any")
_METHODS: Final = (_ANY, *((each, each) for each in ("GET", "POST", "PATCH", "DELETE")))
_CLASSES: Final = (_ANY, ("2", "2xx succeeded"), ("4", "4xx refused"), ("5", "5xx failed"))
_COLUMNS: Final = views.headings(
    "Request", "Status", "Took", "Key", "Idempotency key", "Time (Lusaka)", numeric=("Took",), pills=("Status",)
)
_GONE: Final = views.Note(
    "This session does not hold this request unmasked, so it cannot send it again: fill in what is masked in one of "
    "these."
)
_TWICE: Final = "It has no idempotency key, so the service carries it out a second time. Send it again?"


class RequestsSection(FoundSection[wire.LoggedRequest]):
    """The requests, newest first; of one of them what was sent and answered."""

    id, title, wide = "requests", "Developers: requests", True
    noun = "request"
    columns = ("id", "time_lusaka", "method", "path", "status", "took", "key", "idempotency_key", "payment")
    filters = (
        ("search", "Request-Id, path, payment or key", "search", ()),
        ("method", "Method", "select", _METHODS),
        ("status", "Status", "select", _CLASSES),
        *OF_TIME,
    )

    def _read(self, query: Mapping[str, str]) -> wire.Found[wire.LoggedRequest]:
        return self._session.untraced.requests(**query)

    def _grid(self, caption: str, rows: Iterable[wire.LoggedRequest]) -> views.Grid:
        return views.Grid(caption, _COLUMNS, tuple(map(self._row, rows)))

    def _row(self, request: wire.LoggedRequest) -> views.Row:
        named, status = short(f"{request.method} {request.path}"), _status(request.status)
        cells = (named, status, self._took(request.id), request.key, request.idempotency_key or "")
        return timed(request.id, cells, milliseconds_in(request.at, param="at") // 1000)

    def _line(self, row: wire.LoggedRequest) -> tuple[object, ...]:
        made, took = when(milliseconds_in(row.at, param="at") // 1000), self._took(row.id)
        return row.id, made, row.method, row.path, row.status, took, row.key, row.idempotency_key, row.payment

    def _took(self, request_id: str) -> str:
        # As in the trace: two headless runs show the same.
        taken_ms = self._session.trace_context.latencies.of(request_id) if is_live() else None
        return "" if taken_ms is None else f"{taken_ms} ms"

    def _drawer(self, opened: str) -> views.Drawer:
        row = self._session.untraced.request(opened)
        exchange = Exchange({"detail": row.detail}, self._session.trace_context)
        at_s = milliseconds_in(row.at, param="at") // 1000
        facts = [fact_at("Time", at_s), ("Took", self._took(opened))]
        same = {"curl": exchange.curl, "httpx": exchange.httpx, "Python": exchange.python}
        codes = tuple(map(views.Code, same, same.values()))
        buttons = [views.Action("go", "Payment", f"payments {row.payment}")] if row.payment else []
        if held := self._held(opened):
            twice = held.method == "POST" and "Idempotency-Key" not in held.headers
            buttons.append(views.Action("again", "Send again", opened, primary=True, confirm=_TWICE if twice else ""))
        items = (
            views.Facts(tuple(each for each in facts if each[1])),
            *((views.Actions("This request", tuple(buttons)),) if buttons else ()),
            views.Code("Request", exchange.request),
            views.Code("Response", exchange.response),
            *(() if held else (_GONE,)),
            views.Fold("code", "The same call in curl, httpx and Python", codes, open=not held),
        )
        return views.Drawer(
            opened, short(row.what), _status(exchange.status), items, views.Action("unfold", "Close", opened)
        )

    def _held(self, request_id: str) -> httpx.Request | None:
        return self._session.trace_context.latencies.request_of(request_id)

    def _on_again(self, on: str, _values: Values) -> Message:
        held = self._held(on)
        if held is None:
            return Message(_GONE.text, views.WARN)
        http = self._session.http
        again = http.send(http.build_request(held.method, held.url, headers=held.headers, content=held.content))
        made = again.headers.get("Request-Id", "")
        replayed = " It is the first response once more." if "Idempotent-Replayed" in again.headers else ""
        text = f"Sent again: {named_status(again.status_code)}.{replayed}"
        leads = views.Action("go", "Show it", f"requests {made}") if made else None
        return Message(text, views.GOOD if again.is_success else views.WARN, leads=leads)


def _status(status: int) -> str:
    sign = "✓" if status < httpx.codes.BAD_REQUEST else "✗"
    return f"{sign} {named_status(status)}"
