"""The trace: every call, screen, ledger entry and webhook, in order, with its secrets masked."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeAlias, overload

from msgspec.structs import asdict

from workbench import har
from workbench.domain import wire
from workbench.domain.wire.trace_rows import CALL, KINDS, WEBHOOK, call_of, webhook_of
from workbench.render import Table, Widget, bundle, table, with_widget
from workbench.trace.diagram import MASK_NOTE, TIME, SequenceDiagram, clock_of, short, utc_of
from workbench.trace.inspector import Exchange, TraceContext

__all__ = ["KINDS", "Exchange", "SequenceDiagram", "Trace", "TraceContext", "TraceReader", "rows_of"]

Rows: TypeAlias = list[dict[str, Any]]
Choice: TypeAlias = Callable[[Rows], Rows]

_COLUMNS = ("seq", TIME, "kind", "what", "result")


def rows_of(reported: Iterable[wire.TraceRow]) -> Rows:
    """What the sandbox reported as the rows of a trace, which are dicts: a notebook reads them by name."""
    return [asdict(each) for each in reported]


class TraceReader:
    """The rows of a trace, kept up to date: each `read` asks for what is new.

    `after` returns the rows after a `seq`.
    """

    def __init__(self, after: Callable[[int], Rows], rows: Rows | None = None) -> None:
        self._after = after
        self.rows = list(rows or ())

    def read(self) -> None:
        """Ask for the last row again and for what came after it: a missing last row shows a reset.

        No row is inserted before it later: rows are numbered in the transaction that writes them.
        """
        known = self.rows[-1]["seq"] if self.rows else None
        fresh = self._after(0 if known is None else known - 1)
        if known is not None and (not fresh or fresh[0]["seq"] != known):
            known, fresh = None, self._after(0)
        self.rows = fresh if known is None else self.rows[:-1] + fresh


class Trace(Sequence["dict[str, Any]"]):
    """What happened, row by row: a snapshot; ask for it again to see more. Its board in JupyterLab is kept up to date.

    A row has `seq`, `at`, `kind` (call, screen, entry, webhook), `payment`, `what`, `result`, `detail`.
    """

    def __init__(
        self, rows: Rows, context: TraceContext | None = None, widget: "Callable[[Trace], Widget] | None" = None
    ) -> None:
        self._rows = rows
        self._context = context or TraceContext()
        self._make_widget = widget
        self._choices: tuple[Choice, ...] = ()
        self.whole: Rows | None = rows
        """All rows among which these were chosen; None for a slice, whose rows stay the same."""

    def for_(self, payment: str) -> "Trace":
        """The rows of one payment, by the id of its intent, its charge or a refund of it; or those of one payout."""
        return self._choose(partial(_rows_for, payment))

    def only(self, *kinds: str) -> "Trace":
        """The rows of some kinds. Raises ValueError: no such kind."""
        if unknown := set(kinds) - set(KINDS):
            message = f"kinds are {', '.join(KINDS)}, not {', '.join(sorted(unknown))}"
            raise ValueError(message)
        return self._choose(lambda rows: [row for row in rows if row["kind"] in kinds])

    def among(self, rows: Rows) -> "Trace":
        """The same choice among other rows."""
        found = reduce(lambda left, choose: choose(left), self._choices, rows)
        return self._with(found, rows, self._choices)

    @property
    def exchanges(self) -> list[Exchange]:
        """The calls, each as raw request and response; the last is `exchanges[-1]`."""
        return [Exchange(row, self._context) for row in self._rows if row["kind"] == "call"]

    @property
    def sequence(self) -> SequenceDiagram:
        """The latest rows as a sequence diagram: who sent what to whom."""
        return SequenceDiagram(self._rows)

    def save(self, file: str | Path) -> None:
        """Write the calls and webhooks as HAR 1.2, secrets masked: for browsers' tools, `gaps --from` and `check-live`.

        Raises TrafficRefused: it cannot be written there.
        """
        har.write(Path(file), self._rows, self._context.base_url or "http://sandbox")

    def as_dicts(self) -> list[dict[str, Any]]:
        """The columns of the table as plain values."""
        return [dict(zip(("seq", "at", "kind", "what", "result"), _cells(row), strict=True)) for row in self._rows]

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Trace": ...
    def __getitem__(self, place: int | slice) -> "dict[str, Any] | Trace":
        if isinstance(place, int):
            return self._rows[place]
        return self._with(self._rows[place], None, ())

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _choose(self, choice: Choice) -> "Trace":
        return self._with(choice(self._rows), self.whole, (*self._choices, choice))

    def _with(self, rows: Rows, whole: Rows | None, choices: tuple[Choice, ...]) -> "Trace":
        made = Trace(rows, self._context, self._make_widget)
        made.whole, made._choices = whole, choices
        return made

    def _table(self) -> Table:
        hovers = tuple(("", utc_of(row["at"])) for row in self._rows)
        return replace(table(f"Trace, in order, {MASK_NOTE}", _COLUMNS, map(_cells, self._rows)), hovers=hovers)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        made = self._table()
        shown = bundle(str(made), made.html())
        return with_widget(shown, partial(self._make_widget, self)) if self._make_widget else {**shown}


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (str(row["seq"]), clock_of(row["at"]), row["kind"], short(row["what"]), row["result"])


def _rows_for(payment: str, rows: Rows) -> Rows:
    related = {row["payment"] for row in rows if row["payment"] and _is_about(row, payment)}
    return [row for row in rows if row["payment"] in {payment, *related}]


def _is_about(row: dict[str, Any], identifier: str) -> bool:
    """Whether the object in a call's response, or in a webhook, has this id."""
    found = f'"id":"{identifier}"'
    if row["kind"] == CALL:
        return found in call_of(row).response.body
    return row["kind"] == WEBHOOK and found in webhook_of(row).body
