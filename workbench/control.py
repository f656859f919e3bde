"""The control plane, `/sandbox`, which no real service has: the clock, the operator, a phone, the ledger, the trace."""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from msgspec.structs import asdict

from workbench.domain.masking import mask
from workbench.domain.moments import clock_text, moment, rfc3339, utc_text
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.signing import SignedMessage
from workbench.domain.wire import ledger_and_trace as books
from workbench.domain.wire import sandbox_controls as wire
from workbench.domain.wire.base import Found, Page, Rows
from workbench.domain.wire.endpoints_and_events import FaultyEndpoint, Signed
from workbench.domain.wire.payments_and_payouts import Charge, Suspense
from workbench.errors import ApiError, AuthenticationFailed, PermissionDenied, UnexpectedResponse
from workbench.merchant.calls import checked_text, invalid, segments
from workbench.merchant.client import PaymentsClient, checked_names
from workbench.text.render import Saved, Table, Tabular, table
from workbench.visible import visible

T = TypeVar("T")
Row = TypeVar("Row", books.LedgerEntry, books.LedgerPosting, books.LedgerMovement)
_MS = timedelta(milliseconds=1)
_PAGE = 1000
"""Entries read at a time: a large ledger is never in memory as text."""


class SandboxControl:
    """The calls of `/sandbox`, made with the test secret key; `Clock` and `Operator` have further calls."""

    def __init__(self, client: PaymentsClient) -> None:
        self.client = client
        """Sends the calls."""

    def check(self) -> None:
        """Raises UnexpectedResponse unless a sandbox answers; AuthenticationFailed or PermissionDenied: a wrong key."""
        try:
            is_sandbox = self.clock().object == "clock"
        except (AuthenticationFailed, PermissionDenied):
            raise
        except (ApiError, UnexpectedResponse):
            is_sandbox = False
        if not is_sandbox:
            raise UnexpectedResponse(f"{self.client.base_url} answers, but not like `workbench serve`.")

    def clock(self) -> wire.Clock:
        """The clock's time and its mode, manual or running."""
        return self.get("clock", wire.Clock)

    def simulate(self, simulation: str, cursor: int, commands: Sequence[wire.SimulatedCommand]) -> wire.Simulated:
        """Run commands of the month `simulation` for at most a second; returns the new cursor, and how many were done.

        `cursor` is the number of the month's commands before `commands`.
        Raises StateConflict: the cursor is ahead of the commands done, or a command cannot be done.
        """
        body = {"simulation": simulation, "cursor": cursor, "commands": commands}
        return self.post("simulation", wire.Simulated, body)

    def delivery_faults(self) -> list[FaultyEndpoint]:
        """Endpoints and the faults of deliveries to them."""
        return self.get("webhook_endpoints", Rows[FaultyEndpoint]).data

    def set_delivery_faults(self, endpoint_id: str, faults: list[str]) -> FaultyEndpoint:
        """Set the faults of deliveries to an endpoint; an empty list makes the endpoint well-behaved again."""
        path = f"webhook_endpoints{segments(endpoint_id)}/faults"
        return self.post(path, FaultyEndpoint, {"faults": faults})

    def sign(self, body: str, how: str, **more: str | int | None) -> SignedMessage:
        """A message with this body, signed right or wrong as `how` says; `more` are further fields of `Sign`."""
        made = self.post("sign", Signed, {"body": body, "how": how, **more})
        return SignedMessage(made.body.encode(), made.headers)

    def accounts(self, **bounds: str) -> list[books.LedgerAccount]:
        """Every account posted to, with its sums.

        `bounds` may be `as_of` and `known_at`, moments of RFC 3339: the sums are then of entries that occurred by
        `as_of` and were recorded by `known_at`.
        """
        return self.get("ledger/accounts", Rows[books.LedgerAccount], **bounds).data

    def entries(self) -> Iterator[list[books.LedgerEntry]]:
        """The entries of the ledger, page by page."""
        return self._pages("ledger/entries", Page[books.LedgerEntry])

    def postings(self) -> Iterator[list[books.LedgerPosting]]:
        """The postings, page by page."""
        return self._pages("ledger/postings", Page[books.LedgerPosting])

    def movements(self, *accounts: str) -> Iterator[list[books.LedgerMovement]]:
        """Movements of the given accounts, page by page; by default, of the accounts with an operator or the bank."""
        query = {"account": ",".join(accounts)} if accounts else {}
        return self._pages("ledger/movements", Page[books.LedgerMovement], **query)

    def settle(self, difference: Mapping[str, Any]) -> books.LedgerEntry:
        """Post the entry that settles a difference; `difference` is the request's body, as a break proposes it.

        Raises StateConflict: the difference was settled before.
        """
        return self.post("ledger/entries", books.LedgerEntry, difference)

    def repeat(self, entry_id: str) -> books.LedgerEntry:
        """Post an entry a second time: a fault for reconciliation to find."""
        return self.post(f"ledger/entries/{entry_id}/repeat", books.LedgerEntry)

    def suspense(self) -> list[Suspense]:
        """Late money of the merchant's customers, oldest first, settled or not."""
        return self.get("suspense", Rows[Suspense]).data

    def payments(self, **filters: str) -> Found[wire.Payment]:
        """A page of payments, newest first, filtered by the fields of `PaymentsQuery`."""
        return self.get("payments", Found[wire.Payment], **filters)

    def verify(self) -> books.LedgerVerified:
        """Check the hash chain of the ledger, and return the result."""
        return self.get("ledger/verify", books.LedgerVerified)

    def trace(self, since: int = 0, **filters: str) -> Iterator[books.TraceRow]:
        """Rows of the trace after a `seq`, in order, read page by page; filtered by `kind` and `payment`."""
        while True:
            page = self.trace_page(since=str(since), **filters)
            yield from page.data
            if not page.has_more:
                return
            since = page.data[-1].seq

    def trace_page(self, **query: str) -> books.TracePage:
        """A page of the trace, filtered by the fields of `TraceQuery`."""
        return self.get("trace", books.TracePage, **query)

    def gaps(self) -> list[dict[str, Any]]:
        """The rows of the register with the `value` in force."""
        return self.get("gaps", Rows[dict[str, Any]]).data

    def in_force(self) -> dict[str, Any]:
        """Row of the register → its value in force."""
        return {row["name"]: row["value"] for row in self.gaps()}

    def deprecate(
        self, operation: str, *, deprecated_at: str | None = None, sunset_at: str | None = None, marked: bool = True
    ) -> wire.Deprecated:
        """Mark an operation, such as `createCharge`, as deprecated, which its responses say in their headers.

        With `marked` False, the mark is removed instead.
        `deprecated_at`, by default now, and `sunset_at` are moments of RFC 3339. Raises NotFound: no such operation.
        Raises StateConflict: the sunset is before the deprecation.
        """
        body = {"marked": marked, "deprecated_at": deprecated_at, "sunset_at": sunset_at}
        return self.post(f"operations{segments(operation)}/deprecation", wire.Deprecated, body)

    def reset(self) -> wire.WasReset:
        """Forget all payments, events and entries."""
        return self.post("reset", wire.WasReset)

    def _pages(self, path: str, shape: type[Page[Row]], **query: str) -> Iterator[list[Row]]:
        """The rows of a list of the ledger, page by page of _PAGE entries; entries recorded meanwhile come last."""
        after = 0
        while True:
            page = self.get(path, shape, after=str(after), limit=str(_PAGE), **query)
            yield page.data
            if not page.has_more:
                return
            after = page.data[-1].number

    def get(self, path: str, shape: type[T], **query: str) -> T:
        """GET a path below `/sandbox`, and read the response as a `shape`."""
        return self.client.send("GET", f"{self.client.base_url}/sandbox/{path}", shape, query=query or None)

    def post(self, path: str, shape: type[T], body: Mapping[str, Any] | None = None) -> T:
        """POST to a path below `/sandbox`, and read the response as a `shape`."""
        return self.client.send("POST", f"{self.client.base_url}/sandbox/{path}", shape, body=body)


class Clock:
    """The sandbox's clock. Moving the clock runs everything that falls due on the way, without a wait in real time."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control

    @property
    def now_ms(self) -> int:
        """The clock's time in milliseconds since 1970."""
        return self._control.clock().now_ms

    @property
    def mode(self) -> str:
        """`manual`, moved by `advance` alone, or `running`."""
        return self._control.clock().mode

    @property
    def now(self) -> datetime:
        """The clock's time as a datetime in UTC."""
        return moment(self.now_ms)

    def advance(
        self, seconds: Decimal | float | timedelta = 0, *, minutes: int = 0, hours: int = 0, days: int = 0
    ) -> "Clock":
        """Move the clock and run all that falls due on the way: time-outs, retries, answers.

        With 0, the sandbox runs what is due now. Seconds are rounded to the millisecond, a timedelta is cut to it.
        Raises InvalidRequest: not a number or timedelta, a negative span, or more than ten years.
        """
        try:
            total_ms = timedelta(minutes=minutes, hours=hours, days=days) // _MS + _whole_ms(seconds)
        except (TypeError, ValueError):
            raise invalid("minutes, hours and days must be numbers; seconds may be a timedelta.") from None
        except OverflowError:
            raise invalid("The clock cannot go as far as that.") from None
        if total_ms < 0:
            raise invalid(f"The clock cannot go back, and this is {total_ms / 1000:g} s in all.")
        self._control.post("clock/advance", wire.Clock, {"seconds": Decimal(total_ms) / 1000})
        return self

    def __repr__(self) -> str:
        now_ms = self.now_ms
        return f"Clock({rfc3339(now_ms)}, {clock_text(now_ms)} in Lusaka)"


def _whole_ms(seconds: Decimal | float | timedelta) -> int:
    if isinstance(seconds, timedelta):
        return seconds // _MS
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | Decimal) or not math.isfinite(seconds):
        raise invalid(f"seconds must be a finite number or a timedelta, not {seconds!r}.", "seconds")
    return round(Decimal(str(seconds)) * 1000)


class Outage(NamedTuple):
    """An outage of the operator `provider` that lasts `seconds`, until the moment `until` in seconds since 1970."""

    provider: str
    seconds: int
    until: int

    def covers(self, moment_s: int) -> bool:
        """True if a moment, in seconds since 1970, is during the outage."""
        return self.until - self.seconds <= moment_s < self.until


class Operator:
    """Makes the mobile network operators fail or answer late, to see a failure before a customer does."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control
        self.outages: list[Outage] = []
        """Outages begun by this object, the latest last; ended outages stay."""

    def script(self, phone: str, answers: Sequence[str]) -> "Operator":
        """Set the outcomes of the next attempts on a number, in order; an empty list forgets them.

        An answer is a failure code such as `insufficient_funds`, or `approve`, `late_success`,
        `duplicate_answer`, `operator_unknown`; or a fault of the service: `conflict` (409),
        `server_error` (500 before the effect), `server_error_after` (500 after it), `slow`.
        Raises InvalidRequest: no such answer.

        >>> bench.operator.script("+260961234567", ["insufficient_funds", "approve"])  # doctest: +SKIP
        """
        body = {"phone": phone, "answers": checked_names("answers", answers, "approve")}
        self._control.post("operator/script", wire.Scripted, body)
        return self

    def outage(self, provider: str, seconds: int) -> "Operator":
        """Take an operator down for some seconds from now; 0 ends the outage."""
        body = {"provider": provider, "seconds": seconds}
        state = self._control.post("operator/outage", wire.OperatorState, body)
        if state.down_until is not None:
            self.outages.append(Outage(state.provider, seconds, state.down_until))
        return self

    def states(self) -> list[dict[str, Any]]:
        """The operators, with `provider` and `down_until`: seconds since 1970, None if the operator is up."""
        return [asdict(operator) for operator in self._control.get("operator", Rows[wire.OperatorState]).data]

    def query(self, charge_id: str) -> dict[str, Any]:
        """Ask the operator for the outcome of a charge that it never reported; returns the charge with its outcome.

        Raises StateConflict: the charge waits for no answer.
        """
        return asdict(self._control.post("operator/query", Charge, {"charge": charge_id}))

    def suspense(self) -> list[dict[str, Any]]:
        """Money that arrived after its attempt had failed, oldest first, waiting or settled."""
        return [asdict(item) for item in self._control.suspense()]

    def settle(self, item: str, how: str) -> dict[str, Any]:
        """Act as the provider: `credit` late money to the merchant, or `return` it to the customer.

        `item` is the id of a row of `suspense()`, or of its charge or intent. The payment stays as it is.
        Raises InvalidRequest: another `how`. Raises NotFound: no late money by this id. Raises StateConflict: the money
        was settled before, or several sums wait.

        >>> bench.operator.settle(intent.id, "return")["status"]  # doctest: +SKIP
        'returned'
        """
        return asdict(self._control.post(f"suspense{segments(item)}/settle", Suspense, {"how": how}))

    def __repr__(self) -> str:
        return "Operator(script, outage, states, query, suspense, settle)"


class Phone:
    """A handset of the sandbox, by its number. Each method returns the handset.

    Displayed in a notebook, a handset leaves a receipt of its screen at that moment; the console has a phone to press.
    The text and HTML mask the number, and any key on the screen, because a notebook saves them; `number` and `screen`
    are not masked.
    The PIN of every sandbox wallet is 1234.
    """

    def __init__(self, control: SandboxControl, number: str) -> None:
        self._control = control
        self.number = number
        # Any text may be the number: the sandbox says what is wrong with it. An HTTP client takes dots for steps.
        self._path = "phones/" + quote(number, safe="+", errors="replace").replace(".", "%2E")
        # A number without a wallet is refused here, not when it is first shown.
        self.response = self._look()
        """The sandbox's response to the last key press, with the screen of that moment."""

    @property
    def shown(self) -> dict[str, Any]:
        """State now: `screen`, `state`, `waiting`, `tries_left`, `expires_at` (Unix seconds), `queued`, `charge`."""
        return asdict(self._look())

    @property
    def screen(self) -> str:
        """The text on the screen now."""
        return self._look().screen

    @property
    def waiting(self) -> bool:
        """True if a prompt waits for an answer."""
        return self._look().waiting

    @property
    def messages(self) -> "Messages":
        """The operator's text messages to this number, oldest first."""
        return Messages(map(asdict, self._control.get(f"{self._path}/messages", Rows[wire.Message]).data))

    def enter_pin(self, pin: str) -> "Phone":
        """Type the PIN and send it.

        Raises InvalidRequest: not four digits, and no try is lost. Raises StateConflict: no prompt waits.
        """
        return self._press("input", {"text": checked_text("pin", pin, such_as="1234")})

    def cancel(self) -> "Phone":
        """Refuse the payment. Raises StateConflict: no prompt waits."""
        return self._press("cancel")

    def ignore(self) -> "Phone":
        """Put the phone away; the prompt closes when its time is up. Raises StateConflict: no prompt waits."""
        return self._press("ignore")

    def __repr__(self) -> str:
        return self._record().text

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return self._record().bundle

    def _look(self) -> wire.Handset:
        return self._control.get(self._path, wire.Handset)

    def _press(self, key: str, body: Mapping[str, str] | None = None) -> "Phone":
        self.response = self._control.post(f"{self._path}/{key}", wire.Handset, body)
        return self

    def _record(self) -> Saved:
        """A record of the screen now: masked, controls as symbols, as a screen may show a merchant's own text."""
        handset, at_ms = self._look(), self._control.clock().now_ms
        number, operator = mask_phone(handset.phone), EVERY_OPERATOR[handset.operator].name
        state, hover = "no prompt waits", utc_text(at_ms)
        if handset.expires_at is not None:
            tries = "1 try" if handset.tries_left == 1 else f"{handset.tries_left} tries"
            more = f", {handset.queued} more behind it" if handset.queued else ""
            until_ms = handset.expires_at * 1000
            state = f"waits for a PIN until {clock_text(until_ms)}, {tries} left{more}"
            hover = f"{hover}, until {utc_text(until_ms)}"
        lines = [visible(line) for line in mask(handset.screen).split("\n")]
        status = f"{clock_text(at_ms)} in Lusaka: {state}"
        return receipt(f"{number} ({handset.operator})", operator, number, lines, status, hover=hover)


class Messages(Tabular, list[dict[str, Any]]):
    """The messages on a handset, shown as a table: dicts with `at`, `sender`, `text` and the payment's fields."""

    def _table(self) -> Table:
        return table("Messages, oldest first", ("from", "text"), [(row["sender"], mask(row["text"])) for row in self])


_WIDTH: Final = 32
_CASE: Final = (
    "box-sizing:border-box;width:22em;max-width:100%;max-height:160px;margin:4px 0;overflow:hidden;"
    "border:4px solid #2f3644;border-radius:12px;background:#f4f6f2;color:#16211a;"
    "font:13px/1.35 system-ui,-apple-system,'Segoe UI','Noto Sans',sans-serif;"
    "break-inside:avoid;print-color-adjust:exact"
)
"""CSS of the box around a handset's screen, which has its own colours, readable on any background."""
_BAR: Final = "display:flex;justify-content:space-between;gap:8px;padding:2px 10px;background:#1f3d2c;color:#fff"
_FOOT: Final = "display:block;padding:2px 10px 4px;color:#4b5a50;font-size:11.5px"


def receipt(name: str, operator: str, number: str, lines: Sequence[str], status: str, *, hover: str) -> Saved:
    """A lasting record of a handset's screen at one moment: the screen's `lines`, and a line of `status` below.

    Above the screen, the text shows `name`, the HTML `operator` and `number`. HTML shows `hover` when the pointer rests
    on the status.
    """
    folded = [part for line in lines for part in textwrap.wrap(line, _WIDTH) or [""]]
    edge = "─" * (_WIDTH + 2)
    text = [name, f"╭{edge}╮", *(f"│ {line:<{_WIDTH}} │" for line in folded), f"╰{edge}╯", status]
    body = lines[1:] if lines[0] == operator else lines
    html = (
        f'<div class="wb-receipt" role="group" aria-label="{escape(f"Phone {number}, {operator}")}" style="{_CASE}">'
        f'<div style="{_BAR}"><strong>{escape(operator)}</strong><span>{escape(number)}</span></div>'
        f'<div style="padding:5px 10px 2px;overflow-wrap:anywhere">{"<br>".join(map(escape, body))}</div>'
        f'<small style="{_FOOT}" title="{escape(hover)}">{escape(status)}</small></div>'
    )
    return Saved("\n".join(text), html)
