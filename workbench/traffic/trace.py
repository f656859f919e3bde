"""The trace (calls, screens, ledger entries and webhooks in order, secrets masked), and `Exchange`, a call in full."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from http.client import responses
from itertools import zip_longest
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, overload
from urllib.parse import quote

from msgspec import structs, to_builtins

from workbench.domain.ledger import CHART, TAccount, t_accounts
from workbench.domain.masking import mask
from workbench.domain.moments import lusaka_text
from workbench.domain.money import money_text
from workbench.domain.wire import ledger_and_trace as wire
from workbench.domain.wire.sandbox_controls import Payment
from workbench.errors import NotFound, invalid
from workbench.merchant.calls import checked_text
from workbench.session import SandboxControl, receipt
from workbench.text import svg
from workbench.text.diagram import MASK_NOTE, MOST_ROWS, TIME, SequenceDiagram, clock_of, short, utc_of
from workbench.text.render import (
    DisplayColumn,
    DisplayTable,
    Saved,
    Tabular,
    bundle,
    indented,
    is_live,
    preformatted,
    table,
)
from workbench.text.snippets import Snippet, snippet_of
from workbench.traffic import har
from workbench.visible import visible

Rows: TypeAlias = list[dict[str, Any]]
PAGE: Final = 500
"""The number of rows to read at a time."""
_FOLLOWS: Final = "<p>This is a record. <code>bench.console()</code> shows payments as they happen.</p>"
_NOTHING: Final = "No payment was made yet."
_LISTED: Final = 10
"""The most payments that a saved console lists."""
_LIST: Final = (TIME, DisplayColumn("amount", numeric=True), "description", "status", "customer", "payment")
_CODES: Final = {re.compile(re.sub(r"{\w+}", "[^:]+", kind.name)): kind.code for kind in CHART}
_BODY_OF: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {
    wire.CALL: lambda row: wire.call_of(row).response.body, wire.WEBHOOK: lambda row: wire.webhook_of(row).body,
}  # fmt: skip
_COLUMNS = ("seq", TIME, "kind", "what", "result")


def rows_of(reported: Iterable[wire.TraceRow]) -> Rows:
    """The sandbox's trace rows as dicts."""
    return [structs.asdict(row) for row in reported]


class PagedRows(Sequence["dict[str, Any]"]):
    """The rows of a sandbox's trace up to now: the latest in memory, the others requested page by page when needed.

    `ask` requests a page by the fields of `wire.TraceQuery`; `filters` has values of `kind` and `payment`. Rows with a
    `seq` above `until` are left out.
    """

    def __init__(
        self, ask: Callable[..., wire.TracePage], filters: Mapping[str, str] = MappingProxyType({}), until: float = inf
    ) -> None:
        self.ask, self.filters = ask, filters
        self.latest, newer, more = Rows(), 0, True
        while more and not self.latest:
            page = ask(latest=str(PAGE), skip=str(newer), **filters)
            self.latest = [row for row in rows_of(page.data) if row["seq"] <= until]
            newer, more = newer + len(page.data) - len(self.latest), page.has_more
        self.total = (page.total or 0) - newer
        self._number, self._page = -1, Rows()
        """The number and the rows of the last requested page; -1 and no rows before the first."""

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Rows:
        """The row at an index, or the rows of a slice. Raises NotFound: a reset has deleted the rows."""
        if isinstance(index, slice):
            return [self[offset] for offset in range(*index.indices(self.total))]
        index = range(self.total)[index]
        older = self.total - len(self.latest)
        if index >= older:
            return self.latest[index - older]
        number, offset = divmod(index, PAGE)
        if number != self._number:
            follows = number == self._number + 1 and self._page
            start = {"since": str(self._page[-1]["seq"])} if follows else {"skip": str(number * PAGE)}
            rows = rows_of(self.ask(limit=str(PAGE), **self.filters, **start).data)
            if not rows or rows[0]["seq"] >= self.latest[0]["seq"]:
                raise NotFound("These rows are gone: the sandbox was reset since. Ask for the trace again.")
            self._number, self._page = number, rows
        return self._page[offset]


AnyRows: TypeAlias = Rows | PagedRows


class Exchange:
    """An HTTP request and its response as sent, with keys and numbers masked; in the repr, controls are symbols."""

    def __init__(self, row: dict[str, Any], base_url: str = "") -> None:
        self._row = row
        self._call = wire.call_of(row)
        self._base_url = base_url

    @property
    def request(self) -> str:
        """The request as text: request line, headers, body."""
        return _message(f"{self._call.target} HTTP/1.1", self._call.request)

    @property
    def response(self) -> str:
        """The response as text: status line, headers, body."""
        status = f"{self.status} {responses.get(self.status, '')}".rstrip()
        return _message(f"HTTP/1.1 {status}", self._call.response)

    @property
    def status(self) -> int:
        """The response's status."""
        return self._call.response.status

    @property
    def python(self) -> str:
        """The call in Python; masked values are left for you to fill in."""
        return self._snippet.python

    @property
    def httpx(self) -> str:
        """The call as Python code that sends it with `bench.http`."""
        return self._snippet.httpx

    @property
    def curl(self) -> str:
        """The call as curl, for a shell with SECRET_KEY set."""
        return self._snippet.curl

    def unmasked(self, number: str) -> "Exchange":
        """The call with the customer's whole number, which the sandbox does not keep, so that you can send it again.

        Raises InvalidRequest: the number is not in this call.
        """
        masked, sent = mask(checked_text("number", number, such_as="+260961234567")), self._call.request

        def whole(text: str) -> str:
            return text.replace(f"+{masked[1:]}", number).replace(f"%2B{masked[1:]}", quote(number, safe=""))

        headers = {name: whole(header) for name, header in sent.headers.items()}
        request = structs.replace(sent, headers=headers, body=whole(sent.body))
        call = structs.replace(self._call, target=whole(self._call.target), request=request)
        if masked == number or call == self._call:
            raise invalid(f"number is not one that is masked in this call: {masked} does not occur in it.", "number")
        return Exchange({**self._row, "detail": to_builtins(call)}, self._base_url)

    @cached_property
    def _snippet(self) -> Snippet:
        return snippet_of(self._call, self._base_url)

    def __repr__(self) -> str:
        return visible(f"{self.request}\n\n{self.response}", lines=True)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), preformatted(self.request, "request") + preformatted(self.response, "response"))


def _message(first_line: str, sent: wire.TracedRequest | wire.TracedResponse) -> str:
    """A request or a response as text: the first line, the headers, and the body with indented JSON."""
    lines = [first_line, *(f"{name}: {value}" for name, value in sent.headers.items())]
    return "\n".join([*lines, "", indented(sent.body)] if sent.body else lines)


_HALF: Final = 18
_T: Final = (
    "<style>.wb-t{border-collapse:collapse}.wb-t :is(th,td){text-align:right;min-width:8em;padding:2px 8px;border:0}"
    ".wb-t :is(th,td):first-child{border-right:2px solid}.wb-t thead th{border-bottom:2px solid}"
    ".wb-t tfoot td{border-top:1px solid;font-weight:600}.wb-t td{white-space:pre}</style>"
)


class TAccounts:
    """T-accounts made from rows of postings (`account`, `code`, `side`, `amount_minor`, `currency`, `number`).

    Beside each amount is the number of its ledger entry, in the format `entry`. A title and `notes` come before the
    accounts, and the sums of both sides after them.
    """

    def __init__(
        self, postings: Iterable[Mapping[str, Any]], title: str = "", notes: Sequence[str] = (), *, entry: str = "#{}"
    ) -> None:
        self._accounts = t_accounts({**row, "entry": entry.format(row["number"])} for row in postings)
        self._title = visible(title)
        self._notes = [*map(visible, notes)]

    @property
    def _sums(self) -> str:
        """The totals of both sides by currency, as text.

        If there are no postings, a sentence about that, unless `notes` explain it.
        """
        if not self._accounts:
            return "" if self._notes else "(no postings yet)"
        sums: dict[str, list[int]] = {}
        for account in self._accounts:
            sides = sums.setdefault(account.currency, [0, 0])
            for column, side in enumerate((account.debits, account.credits)):
                sides[column] += sum(posting.money.amount_minor for posting in side)
        totals = ([money_text(side, currency) for side in sides] for currency, sides in sums.items())
        return "; ".join(f"Debits {debits} = credits {credits_}" for debits, credits_ in totals)

    @property
    def html(self) -> str:
        """The accounts as HTML tables in the form of a T."""
        html = f"{_T}<p><strong>{escape(self._title)}</strong></p>" if self._title else _T
        html += f"<div>{'<br>'.join(map(escape, self._notes))}</div>" if self._notes else ""
        for account in self._accounts:
            *lines, total = (f"<tr><td>{debit}</td><td>{credit}</td></tr>" for debit, credit in _lines_of(account))
            html += (
                '<table style="display:inline-table;margin:0 1.5em 1em 0;vertical-align:top" class="wb-t">'
                f'<caption style="white-space:nowrap">{escape(_title_of(account))}</caption>'
                '<thead><tr><th scope="col">Debit</th><th scope="col">Credit</th></tr></thead>'
                f"<tbody>{''.join(lines)}</tbody><tfoot>{total}</tfoot></table>"
            )
        return f"{html}<p>{self._sums}</p>" if self._sums else html

    def __repr__(self) -> str:
        parts, rule = ["\n".join(filter(None, (self._title, *self._notes)))], "─" * _HALF
        for account in self._accounts:
            *lines, total = (f"{debit:>{_HALF}} │{credit:>{_HALF}}".rstrip() for debit, credit in _lines_of(account))
            parts.append("\n".join([_title_of(account), f"{rule}─┬{rule}", *lines, f"{rule}─┼{rule}", total]))
        return "\n\n".join(filter(None, (*parts, self._sums)))

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), self.html)


def _title_of(account: TAccount) -> str:
    """The code, name and currency of an account."""
    return visible(f"{account.code} {account.account} ({account.currency})")


def _lines_of(account: TAccount) -> Iterator[tuple[str, ...]]:
    """Yields the debit and the credit of each line of an account, and last its balance."""
    sides = (
        [f"{posting.entry}  {posting.money.plain}" for posting in side] for side in (account.debits, account.credits)
    )
    yield from zip_longest(*sides, fillvalue="")
    yield account.balance


class Exchanges(Sequence[Exchange]):
    """The calls of a trace, each as request and response."""

    def __init__(self, rows: AnyRows, base_url: str) -> None:
        self._rows, self._base_url = rows, base_url

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Exchange: ...
    @overload
    def __getitem__(self, index: slice) -> list[Exchange]: ...
    def __getitem__(self, index: int | slice) -> Exchange | list[Exchange]:
        if isinstance(index, slice):
            return [Exchange(row, self._base_url) for row in self._rows[index]]
        return Exchange(self._rows[index], self._base_url)

    def __repr__(self) -> str:
        return repr([*self])


def saved_console(control: SandboxControl) -> Saved:
    """A record of the console: the latest payments, and the trace of the newest one."""
    payments = control.payments(limit=str(_LISTED)).data
    if not payments:
        return Saved(_NOTHING, f"<p>{_NOTHING}</p>")
    listing = table("Payments, the newest first", _LIST, map(_listed, payments))
    shown = Trace(PagedRows(control.trace_page, {"payment": payments[0].id})).saved
    title = f"The newest: {_listed(payments[0])[-1]}"
    return Saved(f"{listing}\n\n{title}\n{shown.text}", f"{listing.html()}<p>{title}</p>{shown.html}")


def _listed(payment: Payment) -> tuple[str, ...]:
    state = f"{payment.state}: {payment.failure_code}" if payment.failure_code else payment.state
    amount = money_text(payment.amount_minor, payment.currency)
    texts = (payment.description or "", state, payment.phone or "", short(payment.id))
    return lusaka_text(payment.created * 1000), amount, *map(mask, texts)


_STYLE: Final = f"""<style>
.wb-saved{{{svg.VARIABLES}container-type:inline-size;max-width:760px;box-sizing:border-box;padding:10px 12px;
border:1px solid var(--wb-rule);border-radius:8px;background:var(--wb-paper);color:var(--wb-ink);
font:13px/1.45 {svg.FONT};font-variant-numeric:tabular-nums}}
.wb-saved svg{{display:block;width:100%}}.wb-saved .tight{{display:none;max-width:440px}}
.wb-saved p{{margin:10px 0 4px;font-weight:600}}
.wb-saved .came{{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:flex-start}}
.wb-saved details{{margin-top:8px;overflow-x:auto}}.wb-saved summary{{cursor:pointer;color:var(--wb-blue)}}
@container (max-width:559px){{.wb-saved .wide{{display:none}}.wb-saved .tight{{display:block}}}}
</style>"""
"""CSS with the console's colours and fonts in the page's colour scheme; the width decides which diagram is shown."""


class Trace(Tabular, Sequence["dict[str, Any]"]):
    """A snapshot of everything that happened, row by row. A notebook that displays it keeps a record: see `saved`.

    A row has `seq`, `at`, `kind` (call, screen, entry, webhook), `payment`, `what`, `result`, `detail`.
    """

    def __init__(self, rows: AnyRows, base_url: str = "") -> None:
        self._rows = rows
        self._base_url = base_url

    def for_(self, payment: str) -> "Trace":
        """The rows of one payment, by the id of its intent, charge or refund; or the rows of a payout, by its id."""
        return self._with(_chosen(self._rows, "payment", payment))

    def only(self, *kinds: str) -> "Trace":
        """The rows of these kinds. Raises ValueError: there is no such kind."""
        if unknown := set(kinds) - set(wire.KINDS):
            message = f"kinds are {', '.join(wire.KINDS)}, not {', '.join(sorted(unknown))}"
            raise ValueError(message)
        return self._with(_chosen(self._rows, "kind", ",".join(kinds)))

    @property
    def exchanges(self) -> Exchanges:
        """The calls, each as request and response; the last one is `exchanges[-1]`."""
        return Exchanges(_chosen(self._rows, "kind", wire.CALL), self._base_url)

    @property
    def sequence(self) -> SequenceDiagram:
        """The latest rows as a sequence diagram: who sent what to whom."""
        return SequenceDiagram(self._rows)

    @property
    def saved(self) -> Saved:
        """A record of the latest rows: the sequence, the ledger, the phone's last screen, and the table."""
        latest, steps = [*self._rows[-MOST_ROWS:]], self._table()
        texts, sections = [str(steps)], ""
        if entries := [row for row in latest if row["kind"] == wire.ENTRY]:
            accounts = _accounts_of(entries)
            texts.append(repr(accounts))
            sections += f"<section>{accounts.html}</section>"
        if screens := [row for row in latest if row["kind"] == wire.SCREEN]:
            at, screen = screens[-1]["at"], wire.screen_of(screens[-1])
            number, lines = visible(screen.phone), [visible(line) for line in screen.words.split("\n")]
            status = f"{clock_of(at)[11:]} in Lusaka"
            shown = receipt(number, lines[0], number, lines, status, hover=utc_of(at))
            texts.append(shown.text)
            sections += f"<section><p>The phone</p>{shown.html}</section>"
        listed = f"<details><summary>The rows as a table</summary>{steps.html()}</details>"
        drawn = f'{_STYLE}{self.sequence.html}<div class="came">{sections}</div>{listed}'
        return Saved("\n\n".join(texts), f'<div class="wb-saved">{drawn}</div>')

    def save(self, file: str | Path) -> None:
        """Writes the calls and webhooks as HAR 1.2 with secrets masked, for browser tools, `fit` and `check-live`.

        Raises TrafficRefused: the file cannot be written.
        """
        har.write_har(Path(file), self._rows, self._base_url or "http://sandbox")

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> "Trace": ...
    def __getitem__(self, index: int | slice) -> "dict[str, Any] | Trace":
        if isinstance(index, int):
            return self._rows[index]
        return self._with(self._rows[index])

    def __len__(self) -> int:
        return len(self._rows)

    def _with(self, rows: AnyRows) -> "Trace":
        return Trace(rows, self._base_url)

    def _table(self) -> DisplayTable:
        rows = self._rows[-PAGE:]
        note = f"the last {PAGE} of {len(self):,} rows, " if len(rows) < len(self) else ""
        return table(f"Trace, in order, {note}{MASK_NOTE}", _COLUMNS, map(_cells, rows))

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        shown = self.saved
        return (shown._replace(html=shown.html + _FOLLOWS) if is_live() else shown).bundle


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (str(row["seq"]), clock_of(row["at"]), row["kind"], short(row["what"]), row["result"])


def _chosen(rows: AnyRows, name: str, value: str) -> AnyRows:
    """Filters rows by `name`: `kind`, with `value` as kinds separated by commas, or `payment`, with an id as `value`.

    The sandbox filters, unless `rows` has all rows in memory or was filtered by `name` before, or `value` is empty:
    then this function filters `rows`.
    """
    if isinstance(rows, PagedRows) and len(rows) > len(rows.latest) and value and name not in rows.filters:
        return PagedRows(rows.ask, {**rows.filters, name: value}, rows.latest[-1]["seq"])
    return _filtered(rows, name, value)


def _filtered(rows: AnyRows, name: str, value: str) -> Rows:
    if name == "kind":
        return [row for row in rows if row["kind"] in value.split(",")]
    # An object with this id in a call's response, or in a webhook, leads to its payment.
    marker, related = f'"id":"{value}"', {value}
    for row in rows:
        if row["payment"] and row["kind"] in _BODY_OF and marker in _BODY_OF[row["kind"]](row):
            related.add(row["payment"])
    return [row for row in rows if row["payment"] in related]


def _accounts_of(entries: Rows) -> TAccounts:
    """The T-accounts of the trace's ledger entries; a line above the accounts lists the entries."""
    postings = [
        {
            "account": account, "side": side, "amount_minor": minor, "currency": currency, "number": number,
            "code": next((code for name, code in _CODES.items() if name.fullmatch(account)), 0),
        }
        for number, row in enumerate(entries, start=1)
        for side, account, minor, currency in wire.entry_of(row).postings
    ]  # fmt: skip
    named = "; ".join(f"({number}) {row['what']}" for number, row in enumerate(entries, start=1))
    return TAccounts(postings, "Ledger", [named], entry="({})")
