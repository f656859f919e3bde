"""A connection to a sandbox, used by the Lab, the analysis and the simulation. `Workbench` is a session.

Besides the merchant's client, a session has the controls under `/sandbox`, which no real service has: the clock, the
operators, a phone, the ledger and the trace.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from decimal import Decimal
from html import escape
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
from msgspec.structs import asdict

from workbench.domain.masking import Secret, mask
from workbench.domain.moments import clock_text, moment, rfc3339, utc_text
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.webhooks import ENABLED, SignedMessage, types_of
from workbench.domain.wire import ledger_and_trace as books
from workbench.domain.wire import sandbox_controls as wire
from workbench.domain.wire.base import Found, Page, Rows, to_json
from workbench.domain.wire.keys_and_events import ENDPOINTS, FaultyEndpoint, Signed
from workbench.domain.wire.payments_and_payouts import Charge, Suspense
from workbench.errors import (
    ApiError,
    AuthenticationFailed,
    NotFound,
    PermissionDenied,
    ServeRefused,
    ServiceUnreachable,
    UnexpectedResponse,
    invalid,
)
from workbench.merchant.calls import checked_text, host_of, ignore_cookies, segments
from workbench.merchant.client import PaymentsClient, checked_names
from workbench.merchant.receiver import Receiver
from workbench.resources import Closing
from workbench.text.render import DisplayTable, Saved, Tabular, table
from workbench.visible import visible
from workbench.watching import Watchers

T = TypeVar("T")
Row = TypeVar("Row", books.LedgerEntry, books.LedgerPosting, books.LedgerMovement)
_MS = timedelta(milliseconds=1)
_PAGE = 1000
"""The number of entries to read at a time, so that a large ledger is never in memory as text."""


class SandboxControl:
    """The calls under `/sandbox`, with the test secret key; `SandboxClock` and `OperatorControl` send others."""

    def __init__(self, client: PaymentsClient) -> None:
        self.client = client
        """Sends the calls."""

    def check(self) -> None:
        """Checks that a sandbox responds.

        Raises UnexpectedResponse: it is no sandbox. Raises AuthenticationFailed or PermissionDenied: a wrong key.
        """
        try:
            if self.clock().object == "clock":
                return
        except (ApiError, UnexpectedResponse) as error:
            if isinstance(error, AuthenticationFailed | PermissionDenied):
                raise
        raise UnexpectedResponse(f"{self.client.base_url} answers, but not like `workbench serve`.")

    def clock(self) -> wire.Clock:
        """The clock's time and its mode, manual or running."""
        return self.get("clock", wire.Clock)

    def simulate(self, simulation: str, cursor: int, commands: Sequence[wire.SimulatedCommand]) -> wire.Simulated:
        """Run commands of a simulated month for at most a second; returns the new cursor and the number done.

        `simulation` identifies the month, and `cursor` is the number of its commands before `commands`.
        Raises StateConflict: the cursor is ahead of the commands done, or a command cannot be done.
        """
        body = {"simulation": simulation, "cursor": cursor, "commands": commands}
        return self.post("simulation", wire.Simulated, body)

    def delivery_faults(self) -> list[FaultyEndpoint]:
        """The webhook endpoints, each with the faults that its deliveries have on purpose."""
        return self.get("webhook_endpoints", Rows[FaultyEndpoint]).data

    def accounts(self, **bounds: str) -> list[books.LedgerAccount]:
        """All accounts with postings, with their sums.

        `bounds` may be `as_of` and `known_at`, moments of RFC 3339: the sums are then of entries that occurred by
        `as_of` and were recorded by `known_at`.
        """
        return self.get("ledger/accounts", Rows[books.LedgerAccount], **bounds).data

    def entries(self) -> Iterator[list[books.LedgerEntry]]:
        """Yields the entries of the ledger, page by page."""
        return self._pages("ledger/entries", Page[books.LedgerEntry])

    def postings(self) -> Iterator[list[books.LedgerPosting]]:
        """Yields the postings, page by page."""
        return self._pages("ledger/postings", Page[books.LedgerPosting])

    def movements(self, *accounts: str) -> Iterator[list[books.LedgerMovement]]:
        """Yields the movements of these accounts, page by page; by default, of accounts at operators and the bank."""
        query = {"account": ",".join(accounts)} if accounts else {}
        return self._pages("ledger/movements", Page[books.LedgerMovement], **query)

    def settle(self, difference: Mapping[str, Any]) -> books.LedgerEntry:
        """Post the entry that settles a difference; `difference` is the request body that a break proposes.

        Raises StateConflict: the difference was settled before.
        """
        return self.post("ledger/entries", books.LedgerEntry, difference)

    def repeat(self, entry_id: str) -> books.LedgerEntry:
        """Post an entry a second time, as a fault for reconciliation to find."""
        return self.post(f"ledger/entries/{entry_id}/repeat", books.LedgerEntry)

    def suspense(self) -> list[Suspense]:
        """Late money of the merchant's customers, oldest first, settled or not."""
        return self.get("suspense", Rows[Suspense]).data

    def payments(self, **filters: str) -> Found[wire.Payment]:
        """A page of payments, newest first, filtered by the fields of `PaymentsQuery`."""
        return self.get("payments", Found[wire.Payment], **filters)

    def verify(self) -> books.LedgerVerified:
        """Check the hash chain of the ledger; returns the result."""
        return self.get("ledger/verify", books.LedgerVerified)

    def trace(self, since: int = 0, **filters: str) -> Iterator[books.TraceRow]:
        """Yields the trace rows whose `seq` is above `since`, in order; `filters` are `kind` and a `payment`'s id."""
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
        """The rows of the register, each with its current `value`."""
        return self.get("gaps", Rows[dict[str, Any]]).data

    def in_force(self) -> dict[str, Any]:
        """Row of the register → its current value."""
        return {row["name"]: row["value"] for row in self.gaps()}

    def deprecate(
        self, operation: str, *, deprecated_at: str | None = None, sunset_at: str | None = None, marked: bool = True
    ) -> wire.Deprecated:
        """Mark an operation, such as `createCharge`, as deprecated; its responses then have headers about it.

        With `marked` False, the mark is removed instead.
        `deprecated_at`, by default now, and `sunset_at` are moments of RFC 3339. Raises NotFound: no such operation.
        Raises StateConflict: the sunset is before the deprecation.
        """
        body = {"marked": marked, "deprecated_at": deprecated_at, "sunset_at": sunset_at}
        return self.post(f"operations{segments(operation)}/deprecation", wire.Deprecated, body)

    def _pages(self, path: str, shape: type[Page[Row]], **query: str) -> Iterator[list[Row]]:
        """Yields the rows of a ledger list in pages of _PAGE entries; entries recorded meanwhile come last."""
        after = 0
        while True:
            page = self.get(path, shape, after=str(after), limit=str(_PAGE), **query)
            yield page.data
            if not page.has_more:
                return
            after = page.data[-1].number

    def get(self, path: str, shape: type[T], **query: str) -> T:
        """GET a path below `/sandbox`; returns the response as a `shape`."""
        return self.client.send("GET", f"{self.client.base_url}/sandbox/{path}", shape, query=query or None)

    def post(self, path: str, shape: type[T], body: Mapping[str, Any] | None = None) -> T:
        """POST `body` as JSON (None: no body) to a path below `/sandbox`; returns the response as a `shape`."""
        return self.client.send("POST", f"{self.client.base_url}/sandbox/{path}", shape, body=body)


class SandboxClock:
    """The sandbox's clock. Moving it runs everything that falls due on the way, without waiting in real time."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control

    @property
    def now_ms(self) -> int:
        """The clock's time in milliseconds since 1970."""
        return self._control.clock().now_ms

    @property
    def mode(self) -> str:
        """`manual` (only `advance` moves the clock) or `running`."""
        return self._control.clock().mode

    @property
    def now(self) -> datetime:
        """The clock's time as a datetime in UTC."""
        return moment(self.now_ms)

    def advance(
        self, seconds: Decimal | float | timedelta = 0, *, minutes: int = 0, hours: int = 0, days: int = 0
    ) -> "SandboxClock":
        """Move the clock by the sum of the arguments, and run what falls due meanwhile, such as time-outs and retries.

        With 0, the sandbox runs what is due now. Seconds are rounded to milliseconds, a timedelta is truncated to them.
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
        return f"SandboxClock({rfc3339(now_ms)}, {clock_text(now_ms)} in Lusaka)"


def _whole_ms(seconds: Decimal | float | timedelta) -> int:
    if isinstance(seconds, timedelta):
        return seconds // _MS
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | Decimal) or not math.isfinite(seconds):
        raise invalid(f"seconds must be a finite number or a timedelta, not {seconds!r}.", "seconds")
    return round(Decimal(str(seconds)) * 1000)


class OperatorOutage(NamedTuple):
    """An outage of the operator `provider` for `seconds`, which ends at `until`, in seconds since 1970."""

    provider: str
    seconds: int
    until: int

    def covers(self, moment_s: int) -> bool:
        """True if a moment, in seconds since 1970, is during the outage."""
        return self.until - self.seconds <= moment_s < self.until


class OperatorControl:
    """Makes the mobile network operators fail or respond late, so that you see failures before your customers do."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control
        self.outages: list[OperatorOutage] = []
        """Outages begun by this object, the latest last; ended outages stay."""

    def script(self, phone: str, answers: Sequence[str]) -> "OperatorControl":
        """Set the outcomes of the next attempts on a number, in order; an empty list removes them.

        An answer is a failure code such as `insufficient_funds`, or `approve`, `late_success`,
        `duplicate_answer`, `operator_unknown`; or a fault of the service: `conflict` (409),
        `server_error` (500 before the effect), `server_error_after` (500 after it), `slow`.
        Raises InvalidRequest: no such answer.

        >>> bench.operator.script("+260961234567", ["insufficient_funds", "approve"])  # doctest: +SKIP
        """
        body = {"phone": phone, "answers": checked_names("answers", answers, "approve")}
        self._control.post("operator/script", wire.Scripted, body)
        return self

    def outage(self, provider: str, seconds: int) -> "OperatorControl":
        """Take an operator down for `seconds` from now; 0 ends the outage."""
        body = {"provider": provider, "seconds": seconds}
        state = self._control.post("operator/outage", wire.OperatorState, body)
        if state.down_until is not None:
            self.outages.append(OperatorOutage(state.provider, seconds, state.down_until))
        return self

    def states(self) -> list[dict[str, Any]]:
        """The operators: `provider` is the id, `down_until` the end of its outage in seconds since 1970, or None."""
        return [asdict(operator) for operator in self._control.get("operator", Rows[wire.OperatorState]).data]

    def query(self, charge_id: str) -> dict[str, Any]:
        """Ask the operator for the outcome of a charge that it never reported; returns the charge with its outcome.

        Raises StateConflict: the charge is not waiting for an answer.
        """
        return asdict(self._control.post("operator/query", Charge, {"charge": charge_id}))

    def suspense(self) -> list[dict[str, Any]]:
        """Money that arrived after its attempt had failed, oldest first, waiting or settled."""
        return [asdict(item) for item in self._control.suspense()]

    def settle(self, item: str, how: str) -> dict[str, Any]:
        """Act as the provider: `credit` late money to the merchant, or `return` it to the customer.

        `item` is the id of a row of `suspense()`, or of its charge or intent. The payment does not change. Raises
        InvalidRequest: another `how`. Raises NotFound: no late money has this id. Raises StateConflict: the money was
        settled before, or several late amounts wait.

        >>> bench.operator.settle(intent.id, "return")["status"]  # doctest: +SKIP
        'returned'
        """
        return asdict(self._control.post(f"suspense{segments(item)}/settle", Suspense, {"how": how}))

    def __repr__(self) -> str:
        return "OperatorControl(script, outage, states, query, suspense, settle)"


class Phone:
    """A handset of the sandbox, identified by its number. Each method returns the handset.

    In a notebook, a handset displays a lasting record of its screen at that moment; use the console for a phone with
    keys. The text and HTML mask the number, and any API key on the screen, because a notebook saves them; `number` and
    `screen` are not masked.

    The PIN of every sandbox wallet is 1234.
    """

    def __init__(self, control: SandboxControl, number: str) -> None:
        self._control = control
        self.number = number
        # Any text may be the number: the sandbox says what is wrong with it. An HTTP client takes dots for steps.
        self._path = "phones/" + quote(number, safe="+", errors="replace").replace(".", "%2E")
        # A number without a wallet is refused here, not when it is first shown.
        self.response = self._look()
        """The sandbox's response to the last key press, or at first to the request for the screen."""

    @property
    def shown(self) -> dict[str, Any]:
        """The fields `screen`, `state`, `waiting`, `tries_left`, `expires_at`, `queued` and `charge`.

        `expires_at` is in seconds since 1970; `queued` counts the prompts that wait behind the present one.
        """
        return asdict(self._look())

    @property
    def screen(self) -> str:
        """The current text on the screen."""
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

        Raises InvalidRequest: not four digits; this does not count as a wrong PIN. Raises StateConflict: no prompt
        waits.
        """
        return self._press("input", {"text": checked_text("pin", pin, such_as="1234")})

    def cancel(self) -> "Phone":
        """Refuse the payment. Raises StateConflict: no prompt waits."""
        return self._press("cancel")

    def ignore(self) -> "Phone":
        """Ignore the prompt, which expires when its time is up. Raises StateConflict: no prompt waits."""
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
        """A record of the current screen, masked; control characters become symbols.

        A screen may contain a merchant's own text.
        """
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
    """The messages on a handset, displayed as a table: dicts with `at`, `sender`, `text` and the payment's fields."""

    def _table(self) -> DisplayTable:
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
    """A record of a handset's screen at one moment: the screen's `lines`, and a line of `status` below.

    Above the screen, the text form shows `name`, and the HTML `operator` and `number`. In HTML, `hover` is the tooltip
    of the status.
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


_TIMEOUT = httpx.Timeout(5, read=120)
"""Limits in seconds; a call that advances the clock waits for all receivers that are called on the way."""
_QUIET: Final = {books.UNSEEN: "true"}


class Session(Closing):
    """A connection to a sandbox at `base_url`, with the test secret key, until `close`.

    `transport` connects to a sandbox in this process, whose calls notify `watchers`. Without `transport`, the sandbox
    is a served one, and the session polls it for news.
    """

    def __init__(
        self,
        base_url: str,
        secret_key: str,
        publishable_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        watchers: Watchers | None = None,
        in_force: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        base_url = host_of(base_url)
        self.closing = ExitStack()
        """Resources that the session closes, the latest first."""
        self.http = self.closing.enter_context(
            httpx.Client(base_url=base_url, transport=transport, timeout=_TIMEOUT, trust_env=False)
        )
        """A bare httpx client of the sandbox, without credentials, for requests that you write yourself."""
        ignore_cookies(self.http)  # a sandbox sets none
        self.watchers = watchers or Watchers(self._position)
        """Callbacks that run soon after anything happens in the sandbox."""
        self.closing.callback(self.watchers.close)
        self.is_served = transport is None
        self.base_url = base_url
        self.secret_key = Secret(secret_key)
        """The key that calls are made with."""
        self.publishable_key = Secret(publishable_key)
        """The publishable key; empty if `connect` was not given one."""
        self.email, self.password = "", Secret("")
        """The e-mail address and password of the merchant's account, if `token_credentials` has one."""
        self.client = PaymentsClient(base_url, secret_key, http=self.http, sleep=self._sleep)
        """The merchant's client, holding the test secret key."""
        self.control = SandboxControl(self.client)
        self.untraced = SandboxControl(self.client.in_mode(_QUIET))
        """The controls in quiet mode: calls are not traced, notify no watcher, and run nothing that is due."""
        self.follow(in_force)
        self.clock = SandboxClock(self.control)
        """The sandbox's clock."""
        self.operator = OperatorControl(self.control)
        """The operators: `script` the outcomes of the next payments, `outage`, `query`."""
        self.webhook_url = ""
        """The URL of the merchant's application in this process; empty without an application."""
        self.started: Receiver | None = None
        """The receiver; None until it is started."""
        self.receiver_url = ""
        """The URL of `receiver`; empty until the receiver is registered."""
        self._phones: dict[str, Phone] = {}

    def follow(self, in_force: Mapping[str, object]) -> None:
        """Adapts the clients to the register: how lists are paged, and which operations the interface lacks."""
        self.in_force = in_force
        """Row of the register → its value; for a sandbox in this process, only rows that are not at their default."""
        self.client.pagination = str(in_force.get("pagination", "cursor"))
        self.on_dashboard: tuple[str, ...] = ()
        """Beginnings of the paths below `/v1` that the sandbox offers only on its dashboard."""
        if in_force.get("extra_endpoints") == "absent":
            self.on_dashboard = ("/",)
        elif in_force.get("endpoint_registration") == "dashboard":
            self.on_dashboard = (ENDPOINTS.removeprefix("/v1"),)
        self._quiet = self.client.in_mode(_QUIET, self.on_dashboard)
        is_whole = not self.on_dashboard and in_force.get("rate_limit", "none") == "none"
        self.acting = self.client if is_whole else self._quiet
        """The client for the bench's own calls: `client`.

        If the interface lacks operations, or limits the merchant's calls, it is the client that `looking` returns.
        """

    def looking(self) -> PaymentsClient:
        """A merchant's client whose reads are not traced and do not count as calls, for displays that refresh often."""
        return self._quiet

    def phone(self, number: str) -> Phone:
        """The handset with this number, `+260` and nine digits; each call returns the same handset."""
        number = checked_text("number", number, such_as="+260961234567")
        if number not in self._phones:
            self._phones[number] = Phone(self.control, number)
        return self._phones[number]

    def client_with(self, key: str) -> PaymentsClient:
        """A client with another key or token, such as the publishable key.

        Raises InvalidRequest: an empty key, such as a publishable key that `connect` was not given.
        """
        if key == "":
            message = "No publishable key is known: pass it to Workbench.connect as the third argument."
            raise invalid(message, "key")
        pagination = self.client.pagination
        return PaymentsClient(self.base_url, key, http=self.http, sleep=self._sleep, pagination=pagination)

    def use_key(self, key: str) -> None:
        """Use another secret key from now on, such as a rolled one; a publishable key replaces `publishable_key`.

        Clients that `client_with` made earlier keep their key. Raises AuthenticationFailed: the secret key is none of
        this sandbox; the session keeps its key. Raises LiveKeyRefused: a live key.
        """
        client = self.client_with(key)
        if key.startswith("pk_"):
            self.publishable_key = Secret(key)
            return
        SandboxControl(client.in_mode(_QUIET)).check()
        self.client.calls.hold(key)
        self.secret_key = Secret(key)

    @property
    def receiver(self) -> Receiver:
        """The merchant's webhook endpoint.

        In process, the receiver is registered at the start or, if `webhooks` was given, on first use. For a served
        sandbox, the first use starts a receiver on a free port of this machine and registers it until `close`; it gets
        the events from then on.
        """
        if self.started is None:
            self.started = self._begin_receiving()
        return self.started

    def _begin_receiving(self) -> Receiver:
        """Starts a receiver on a free port, and registers it until `close`."""
        rows = self.untraced.in_force()
        tolerance_s, types = rows["signature_tolerance_s"], types_of(rows["event_types"])
        receiver = Receiver(tolerance_s=tolerance_s, types=types, scheme=rows["signature_scheme"])
        self.receiver_url = self.closing.enter_context(receiver.listen())
        endpoint = self.acting.webhook_endpoints.create(url=self.receiver_url)
        receiver.secrets.append(Secret(endpoint.secret))
        self.closing.callback(self._forget_endpoint, endpoint.id)
        return receiver

    @property
    def webhook_secret(self) -> Secret:
        """The secret that signs webhooks to `receiver`; the receiver is started if no endpoint is registered yet.

        Raises ServeRefused: your own endpoint is registered, and no receiver is started; its secret was shown once.
        """
        if self.is_served and self.started is None and (own := [*self._enabled_endpoints()]):
            raise ServeRefused(
                f"The secret of {own[0]} is in the response that registered it, and nowhere else.",
                hint="Keep the result of bench.client.webhook_endpoints.create(url=…), or make another secret with "
                "webhook_endpoints.roll_secret(id). To sign a message, bench.sign needs none.",
            )
        return Secret(self.receiver.secrets[-1])

    def _enabled_endpoints(self) -> dict[str, str]:
        """URL → id of the enabled endpoints, newest first."""
        endpoints = self._quiet.webhook_endpoints.each()
        return {endpoint.url: endpoint.id for endpoint in endpoints if endpoint.status == ENABLED}

    def sign(
        self, body: object, how: str = "right", *, message_id: str | None = None, endpoint: str | None = None
    ) -> SignedMessage:
        """A message to send to your own endpoint, signed now with the endpoint's secret in the register's scheme.

        `body` is text, bytes in UTF-8, or an object to write as JSON, such as an event of `client.events`. `how` is
        `right`, `several` (another signature before the right one), or wrong on purpose: `wrong_secret`, `stale`,
        `future`, `other_scheme`, `tampered`, `reserialised`, `unsigned`, `malformed`, `malformed_timestamp`.
        `message_id` is by default the id in the body; a scheme without a header for an id ignores it.
        `endpoint` is an endpoint's id: by default that of `webhook_url`, else of the newest enabled endpoint, else of
        `receiver`. Raises InvalidRequest: a `how` that is unknown or that the scheme lacks, or bytes that are not
        UTF-8. Raises NotFound: no such endpoint.

        >>> body, headers = bench.sign({"id": "evt_1", "type": "charge.succeeded"}, "stale")  # doctest: +SKIP
        >>> shop.test_client().post("/webhooks", data=body, headers=headers)  # doctest: +SKIP
        """
        try:
            text = body if isinstance(body, str) else (body if isinstance(body, bytes) else to_json(body)).decode()
        except UnicodeDecodeError:
            raise invalid("A message is text in UTF-8.", "body") from None
        except NotImplementedError as error:
            raise invalid(f"A message is text, bytes or JSON, and {error} is none of them.", "body") from None
        enabled = self._enabled_endpoints()
        url = self.webhook_url or next((url for url in enabled if url != self.receiver_url), "")
        if not (endpoint or url):
            _ = self.receiver  # its first use registers it
        signing = endpoint or enabled.get(url)
        message = {"body": text, "how": how, "endpoint": signing, "message_id": message_id}
        signed = self.untraced.post("sign", Signed, {**message, "timestamp": self._receivers_now_s()})
        return SignedMessage(signed.body.encode(), signed.headers)

    def _receivers_now_s(self) -> int | None:
        """Seconds since 1970 by the receiver's clock; None if that is this machine's clock."""
        return None

    def close(self) -> None:
        """Close everything that the session opened, in reverse order."""
        self.closing.close()

    def _forget_endpoint(self, endpoint_id: str) -> None:
        # The sandbox may have ended before, the endpoint may be deleted, or the key replaced: nothing is left to do.
        with suppress(ServiceUnreachable, NotFound, AuthenticationFailed):
            self.acting.webhook_endpoints.delete(endpoint_id)

    def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _position(self) -> tuple[object, ...]:
        """The latest `seq`, and a manual clock's time in ms; None for a running clock, as its time always changes."""
        clock = self.untraced.clock()
        return (clock.seq, clock.now_ms if clock.mode == "manual" else None)
