"""The trace: every call, screen, ledger entry and webhook, in order, with its secrets masked."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, overload

from workbench.live import Widget, with_widget
from workbench.render import Table, bundle, table
from workbench.trace.exchange import Exchange, Seen
from workbench.trace.sequence import SequenceDiagram
from workbench.trace.words import MASK_NOTE, clock_of, short

__all__ = ["KINDS", "Exchange", "Seen", "SequenceDiagram", "Trace"]

KINDS = ("call", "screen", "entry", "webhook")
_COLUMNS = ("seq", "moment (UTC)", "kind", "what", "result")


class Trace(Sequence["dict[str, Any]"]):
    """What happened, row by row: a snapshot; ask for it again to see more.

    A row has `seq`, `at`, `kind` (call, screen, entry, webhook), `payment`, `what`, `result`, `detail`.
    """

    def __init__(
        self,
        rows: list[dict[str, Any]],
        seen: Seen | None = None,
        widget: "Callable[[Trace], Widget] | None" = None,
    ) -> None:
        self._rows = rows
        self._seen = seen or Seen()
        self._make_widget = widget

    def for_(self, payment: str) -> "Trace":
        """The rows of one payment, by the id of its intent, its charge or a refund of it; or those of one payout."""
        told = {row["payment"] for row in self._rows if row["payment"] and _tells_of(row, payment)}
        return self._of([row for row in self._rows if row["payment"] in {payment, *told}])

    def only(self, *kinds: str) -> "Trace":
        """The rows of some kinds. Raises ValueError: no such kind."""
        if unknown := set(kinds) - set(KINDS):
            message = f"kinds are {', '.join(KINDS)}, not {', '.join(sorted(unknown))}"
            raise ValueError(message)
        return self._of([row for row in self._rows if row["kind"] in kinds])

    @property
    def exchanges(self) -> list[Exchange]:
        """The calls, each as raw request and answer; the last is `exchanges[-1]`."""
        return [Exchange(row, self._seen) for row in self._rows if row["kind"] == "call"]

    @property
    def sequence(self) -> SequenceDiagram:
        """The latest rows as a sequence diagram: who told whom what."""
        return SequenceDiagram(self._rows)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The columns of the table as plain values, for whatever draws them."""
        return [dict(zip(("seq", "at", "kind", "what", "result"), _cells(row), strict=True)) for row in self._rows]

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Trace": ...
    def __getitem__(self, place: int | slice) -> "dict[str, Any] | Trace":
        return self._rows[place] if isinstance(place, int) else self._of(self._rows[place])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _of(self, rows: list[dict[str, Any]]) -> "Trace":
        return Trace(rows, self._seen, self._make_widget)

    def _table(self) -> Table:
        return table(f"Trace, in order, {MASK_NOTE}", _COLUMNS, [_cells(row) for row in self._rows])

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        made = self._table()
        shown = bundle(str(made), made.html())
        return with_widget(shown, partial(self._make_widget, self)) if self._make_widget else {**shown}


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (str(row["seq"]), clock_of(row["at"]), row["kind"], short(row["what"]), row["result"])


def _tells_of(row: dict[str, Any], identifier: str) -> bool:
    """Whether the object that a call was answered with, or a webhook is about, has this id."""
    body = row["detail"].get("response", row["detail"]).get("body") or ""
    return f'"id":"{identifier}"' in body
