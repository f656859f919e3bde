"""The trace: every call, screen, ledger entry and webhook, in order, with its secrets masked."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from html import escape
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, overload

from msgspec.structs import asdict

from workbench.control import SandboxControl
from workbench.domain.ledger import CHART, DEBIT
from workbench.domain.masking import mask
from workbench.domain.moments import lusaka_text
from workbench.domain.money import money_text
from workbench.domain.wire.ledger_and_trace import (
    CALL,
    ENTRY,
    KINDS,
    SCREEN,
    WEBHOOK,
    TracePage,
    TraceRow,
    call_of,
    entry_of,
    screen_of,
    webhook_of,
)
from workbench.domain.wire.sandbox_controls import Payment
from workbench.errors import NotFound
from workbench.text import saved
from workbench.text.render import Column, Table, Tabular, is_live, table
from workbench.text.saved import STYLE, Saved, TAccounts
from workbench.text.steps import short
from workbench.traffic import har
from workbench.traffic.diagram import MASK_NOTE, MOST_ROWS, TIME, SequenceDiagram, clock_of, utc_of
from workbench.traffic.inspector import Exchange, TraceContext
from workbench.visible import visible

__all__ = ["KINDS", "Exchange", "PagedRows", "SequenceDiagram", "Trace", "TraceContext", "rows_of", "saved_console"]

Rows: TypeAlias = list[dict[str, Any]]
PAGE: Final = 500
"""Rows read at a time."""

_FOLLOWS: Final = "<p>This is a record. <code>bench.console()</code> shows payments as they happen.</p>"
_NOTHING: Final = "No payment was made yet."
_LISTED: Final = 10
"""The most payments in a saved console."""
_LIST: Final = (TIME, Column("amount", numeric=True), "description", "status", "customer", "payment")
_CODES: Final = {re.compile(re.sub(r"{\w+}", "[^:]+", kind.name)): kind.code for kind in CHART}
_COLUMNS = ("seq", TIME, "kind", "what", "result")


def rows_of(reported: Iterable[TraceRow]) -> Rows:
    """The sandbox's rows as dicts, the rows of a trace: a notebook reads their fields by name."""
    return [asdict(row) for row in reported]


class PagedRows(Sequence["dict[str, Any]"]):
    """The rows of a sandbox's trace up to now: holds the latest rows, and reads the others page by page when needed.

    `ask` asks for a page by the fields of `wire.TraceQuery`; `filters` are values of `kind` and `payment`. Rows whose
    `seq` is above `until` are left out.
    """

    def __init__(
        self, ask: Callable[..., TracePage], filters: Mapping[str, str] = MappingProxyType({}), until: float = inf
    ) -> None:
        self._ask, self.filters = ask, filters
        self.latest, newer, more = Rows(), 0, True
        while more and not self.latest:
            page = ask(latest=str(PAGE), skip=str(newer), **filters)
            self.latest = [row for row in rows_of(page.data) if row["seq"] <= until]
            newer, more = newer + len(page.data) - len(self.latest), page.has_more
        self.total = (page.total or 0) - newer
        self._number, self._page = -1, Rows()
        """The number and the rows of the page that was read last; -1 and no rows at first."""

    def filtered(self, name: str, value: str) -> "PagedRows":
        """The rows that also pass the filter `name` = `value`; asks the sandbox, unless all rows are held here."""
        filters = {**self.filters, name: value}
        if len(self) > len(self.latest):
            return PagedRows(self._ask, filters, self.latest[-1]["seq"])
        made = copy(self)
        made.filters, made.latest = filters, _filtered(self.latest, name, value)
        made.total = len(made.latest)
        return made

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | Rows:
        """A row, or a list of rows. Raises NotFound: a reset has deleted the rows."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(self.total))]
        place = range(self.total)[place]
        older = self.total - len(self.latest)
        if place >= older:
            return self.latest[place - older]
        number, at = divmod(place, PAGE)
        if number != self._number:
            follows = number == self._number + 1 and self._page
            start = {"since": str(self._page[-1]["seq"])} if follows else {"skip": str(number * PAGE)}
            found = rows_of(self._ask(limit=str(PAGE), **self.filters, **start).data)
            if not found or found[0]["seq"] >= self.latest[0]["seq"]:
                raise NotFound("These rows are gone: the sandbox was reset since. Ask for the trace again.")
            self._number, self._page = number, found
        return self._page[at]


AnyRows: TypeAlias = Rows | PagedRows


class Exchanges(Sequence[Exchange]):
    """The calls of a trace, each as raw request and response."""

    def __init__(self, rows: AnyRows, context: TraceContext) -> None:
        self._rows, self._context = rows, context

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Exchange: ...
    @overload
    def __getitem__(self, place: slice) -> list[Exchange]: ...
    def __getitem__(self, place: int | slice) -> Exchange | list[Exchange]:
        if isinstance(place, slice):
            return [Exchange(row, self._context) for row in self._rows[place]]
        return Exchange(self._rows[place], self._context)

    def __repr__(self) -> str:
        return repr([*self])


def saved_console(control: SandboxControl) -> Saved:
    """The console as a record: the latest payments, and the trace of the newest payment."""
    found = control.payments(limit=str(_LISTED)).data
    if not found:
        return Saved(_NOTHING, f"<p>{_NOTHING}</p>")
    listed = table("Payments, the newest first", _LIST, map(_listed, found))
    shown = Trace(PagedRows(control.trace_page, {"payment": found[0].id})).saved
    title = f"The newest: {_listed(found[0])[-1]}"
    return Saved(f"{listed}\n\n{title}\n{shown.text}", f"{listed.html()}<p>{title}</p>{shown.html}")


def _listed(payment: Payment) -> tuple[str, ...]:
    state = f"{payment.state}: {payment.failure_code}" if payment.failure_code else payment.state
    amount = money_text(payment.amount_minor, payment.currency)
    texts = (payment.description or "", state, payment.phone or "", short(payment.id))
    return lusaka_text(payment.created * 1000), amount, *map(mask, texts)


class Trace(Tabular, Sequence["dict[str, Any]"]):
    """A snapshot of everything that happened, row by row. Displayed in a notebook, the trace leaves a record.

    A row has `seq`, `at`, `kind` (call, screen, entry, webhook), `payment`, `what`, `result`, `detail`.
    """

    def __init__(self, rows: AnyRows, context: TraceContext | None = None) -> None:
        self._rows = rows
        self._context = context or TraceContext()

    def for_(self, payment: str) -> "Trace":
        """The rows of one payment, by the id of its intent, its charge or its refund, or the rows of one payout."""
        return self._with(_chosen(self._rows, "payment", payment))

    def only(self, *kinds: str) -> "Trace":
        """The rows of some kinds. Raises ValueError: no such kind."""
        if unknown := set(kinds) - set(KINDS):
            message = f"kinds are {', '.join(KINDS)}, not {', '.join(sorted(unknown))}"
            raise ValueError(message)
        return self._with(_chosen(self._rows, "kind", ",".join(kinds)))

    @property
    def exchanges(self) -> Exchanges:
        """The calls, each as raw request and response; the last is `exchanges[-1]`."""
        return Exchanges(_chosen(self._rows, "kind", CALL), self._context)

    @property
    def sequence(self) -> SequenceDiagram:
        """The latest rows as a sequence diagram: who sent what to whom."""
        return SequenceDiagram(self._rows)

    @property
    def saved(self) -> Saved:
        """The latest rows as a record: the sequence, the ledger, the phone's last screen, and the table."""
        return _record_of_trace(self._rows, self._table())

    def save(self, file: str | Path) -> None:
        """Write the calls and webhooks as HAR 1.2, secrets masked: for browsers' tools, `fit` and `check-live`.

        Raises TrafficRefused: the file cannot be written.
        """
        har.write(Path(file), self._rows, self._context.base_url or "http://sandbox")

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Trace": ...
    def __getitem__(self, place: int | slice) -> "dict[str, Any] | Trace":
        if isinstance(place, int):
            return self._rows[place]
        return self._with(self._rows[place])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _with(self, rows: AnyRows) -> "Trace":
        return Trace(rows, self._context)

    def _table(self) -> Table:
        rows = self._rows[-PAGE:]
        note = f"the last {PAGE} of {len(self):,} rows, " if len(rows) < len(self) else ""
        hovers = tuple(("", utc_of(row["at"])) for row in rows)
        return replace(table(f"Trace, in order, {note}{MASK_NOTE}", _COLUMNS, map(_cells, rows)), hovers=hovers)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        shown = self.saved
        return (shown._replace(html=shown.html + _FOLLOWS) if is_live() else shown).bundle


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (str(row["seq"]), clock_of(row["at"]), row["kind"], short(row["what"]), row["result"])


def _chosen(rows: AnyRows, name: str, value: str) -> AnyRows:
    """The rows of the kinds (separated by commas) or of the payment in `value`; `name` is `kind` or `payment`."""
    if isinstance(rows, PagedRows) and value and name not in rows.filters:
        return rows.filtered(name, value)
    return _filtered(rows, name, value)


def _filtered(rows: AnyRows, name: str, value: str) -> Rows:
    if name == "kind":
        return [row for row in rows if row["kind"] in value.split(",")]
    related = {row["payment"] for row in rows if row["payment"] and _is_about(row, value)}
    return [row for row in rows if row["payment"] in {value, *related}]


def _is_about(row: dict[str, Any], identifier: str) -> bool:
    """True if the object in a call's response, or in a webhook, has this id."""
    marker = f'"id":"{identifier}"'
    if row["kind"] == CALL:
        return marker in call_of(row).response.body
    return row["kind"] == WEBHOOK and marker in webhook_of(row).body


def _record_of_trace(rows: AnyRows, steps: Table) -> Saved:
    """A record of the latest rows of a trace; `steps` is the table of the rows."""
    diagram, latest = SequenceDiagram(rows), [*rows[-MOST_ROWS:]]
    texts, came = [str(steps)], ""
    if entries := [row for row in latest if row["kind"] == ENTRY]:
        accounts, sums, named = _accounts_of(entries)
        texts.append(f"{sums}\n{named}\n\n{accounts!r}")
        came += f"<section><p>{sums}</p><div>{escape(named)}</div>{accounts.html}</section>"
    if screens := [row for row in latest if row["kind"] == SCREEN]:
        shown = _last_screen(screens[-1])
        texts.append(shown.text)
        came += f"<section><p>The phone</p>{shown.html}</section>"
    listed = f"<details><summary>The rows as a table</summary>{steps.html()}</details>"
    html = f'<div class="wb-saved">{STYLE}{diagram.html}<div class="came">{came}</div>{listed}</div>'
    return Saved("\n\n".join(texts), html)


def _accounts_of(entries: Rows) -> tuple[TAccounts, str, str]:
    """The accounts of some entries, the sums of both sides by currency, and the entries' names."""
    postings, sums = list[dict[str, Any]](), dict[str, list[int]]()
    for place, row in enumerate(entries, start=1):
        for side, account, minor, currency in entry_of(row).postings:
            code = next((code for name, code in _CODES.items() if name.fullmatch(account)), 0)
            posting = {"account": account, "code": code, "side": side, "amount_minor": minor, "currency": currency}
            postings.append({**posting, "number": place})
            sums.setdefault(currency, [0, 0])[side != DEBIT] += minor
    named = "; ".join(f"({place}) {visible(row['what'])}" for place, row in enumerate(entries, start=1))
    totals = ", ".join(
        f"debits {money_text(debits, currency)}, credits {money_text(credits_, currency)}"
        for currency, (debits, credits_) in sums.items()
    )
    return TAccounts(postings, entry="({})"), f"Ledger: {totals}", named


def _last_screen(row: dict[str, Any]) -> Saved:
    screen = screen_of(row)
    lines = [visible(line) for line in screen.words.split("\n")]
    status = f"{clock_of(row['at'])[11:]} in Lusaka"
    return saved.receipt(visible(screen.phone), lines[0], visible(screen.phone), lines, status, hover=utc_of(row["at"]))
