"""What the sections of desk and dashboard share: their base, pages of rows, and what a desk has gathered."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

from workbench.client import Identified
from workbench.domain import wire
from workbench.domain.ids import short_id
from workbench.domain.moments import LUSAKA, moment
from workbench.domain.money import currency_named as currency
from workbench.domain.money import money_from_integer, money_from_major
from workbench.domain.phones import mask_phone
from workbench.domain.reading import json_from
from workbench.domain.wire.trace_rows import call_of, webhook_of
from workbench.errors import NotFound, WorkbenchError
from workbench.lab.views import BAD, GOOD, Action, Actions, Beside, Code, Item, Note, Section
from workbench.receiver import Arrival
from workbench.render import indented
from workbench.session import Session
from workbench.snippets import snippet
from workbench.trace import TraceReader, rows_of

T = TypeVar("T", bound=Identified)
Values: TypeAlias = Mapping[str, str]
"""What a form holds, by the names of its fields."""
TraceRow: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[TraceRow]
LATEST = ""
"""The choice of the payment that was made last, whichever that is."""
_MOST_SHOWN = 50
_MOST_READ = 20_000
_CREATING = ("POST /v1/payment_intents", "POST /v1/charges")
_LINE = 64
_STRING = r'"(?:[^"\\]|\\.)*"'
_INNERMOST = re.compile(rf'(?<=: )(?:\[(?:[^"\[\]{{}}]|{_STRING})*\]|\{{(?:[^"\[\]{{}}]|{_STRING})*\}})')
"""A member's list or object that holds no other, strings skipped whole."""
_BREAK = re.compile(r"\n *")
_PAY: Final = "pay = bench.client\n"
SIZE = 25
NEWEST, NEWER, OLDER = "newest", "newer", "older"
_CURSOR_GONE = "cursor_unknown"


def whole_text(text: str) -> str:
    """Text that can be sent: half of a surrogate pair, which a browser may send, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def when(at_s: float | None) -> str:
    """A moment in Lusaka, to the second; a dash for none."""
    return "-" if at_s is None else moment(int(at_s * 1000)).astimezone(LUSAKA).strftime("%Y-%m-%d %H:%M:%S")


def lusaka(at: str) -> list[str]:
    """The day and the time of day in Lusaka of a moment as the trace has it."""
    return when(datetime.fromisoformat(at).timestamp()).split()


def span(seconds: float) -> str:
    """How long that is, in the two largest units that count: `1 d 2 h`, `5 min`, `20 s`."""
    left, parts = max(0, round(seconds)), []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def counted(count: int, one: str) -> str:
    """`1 event`, `2 events`."""
    return f"{count} {one if count == 1 else f'{one}s'}"


def short_path(path: str) -> str:
    """A path with the ids in it shortened."""
    return "/".join(short_id(each) for each in path.split("/"))


class Payment(NamedTuple):
    """An intent, or a charge made in one call."""

    id: str
    money: str
    at: str
    status: str = ""
    failure: str = ""
    phone: str = ""
    """Masked, as the service shows it."""


NOBODY = Payment("", "", "")
"""What is looked at before anything was asked for."""


class Gathered:
    """What was read of the sandbox. `chosen` is an id, or LATEST; `numbers` are those typed here, by payment."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._client = session.looking()
        self._control = session.untraced
        self._reader = TraceReader(
            lambda seq: rows_of(self._control.trace(seq)),
            # Of a month of traffic, its last hours.
            first=lambda: max(0, self.seq() - _MOST_READ),
        )
        self.chosen = LATEST
        self.numbers: dict[str, str] = {}
        self.payments: tuple[Payment, ...] = ()
        self.payment = NOBODY
        self.rows: Rows = ()
        self.accounts: list[wire.LedgerAccount] = []
        self.deliveries: dict[str, wire.Delivery] = {}

    @cached_property
    def unit_minor(self) -> int:
        """What one unit of a charge's amount is worth in minor units: 1, or 100 where the register says so."""
        return 100 if self._control.in_force().get("charge_amount_unit") == "major" else 1

    @property
    def arrivals(self) -> list[Arrival]:
        """What has reached this bench's receiver."""
        receiver = self._session.started
        return list(receiver.arrivals) if receiver else []

    @property
    def number(self) -> str:
        """The number of the payment that is looked at, whole, if somebody here has typed it; else empty."""
        typed = self.numbers.get(self.payment.id)
        same = [each for each in self._session.numbers if mask_phone(each) == self.payment.phone]
        return typed or next(iter(same), "")

    def seq(self) -> int:
        """How far the sandbox has come."""
        return self._control.clock().seq

    def calls_since(self, seq: int) -> Rows:
        """The calls that pay, after this place."""
        rows = rows_of(self._control.trace(seq))
        return [row for row in rows if row["kind"] == "call" and row["what"].startswith("POST /v1/")]

    def choose(self, name: str) -> None:
        """Look at a payment; where it is the latest, at whichever will be the latest later."""
        self.chosen = LATEST
        self.read()
        if self.payment.id != name:
            self.chosen = name
            self.read()

    def read(self) -> None:
        """Ask for what is new. Raises ServiceUnreachable: no response."""
        self._reader.read()
        by_payment: dict[str, list[TraceRow]] = {}
        for row in self._reader.rows:
            if row["payment"]:
                by_payment.setdefault(row["payment"], []).append(row)
        names = [name for name, rows in by_payment.items() if name[:3] in {"pi_", "ch_"} and any(map(_creates, rows))]
        calls = {name: next(filter(_creates, by_payment[name])) for name in names[: -_MOST_SHOWN - 1 : -1]}
        self.payments = tuple(Payment(name, self._money(call), call["at"]) for name, call in calls.items())
        found = [each for each in self.payments if each.id == self.chosen] or self.payments
        self.payment = self._now(found[0]) if found else NOBODY
        self.rows = by_payment.get(self.payment.id, [])
        self.accounts = self._control.accounts() if self.rows else []
        self.deliveries = self._delivered()

    def _money(self, call: TraceRow) -> str:
        """What the call that created a payment has of its amount."""
        is_charge = call["what"].startswith("POST /v1/charges")
        sides = call_of(call)
        for text in (sides.response.body, sides.request.body):
            try:
                body = json_from(text.encode())
                amount, code = body["amount"], currency(body["currency"])
                if is_charge:
                    return str(money_from_integer(amount, code, units_minor=self.unit_minor))
                return str(money_from_major(amount, code))
            except (WorkbenchError, KeyError, TypeError, AttributeError):
                continue
        return ""

    def _now(self, payment: Payment) -> Payment:
        """With what only its object has, where the service offers that."""
        try:
            if not payment.id.startswith("pi_"):
                charge = self._client.charges.retrieve(payment.id)
                return payment._replace(status=charge.status, failure=charge.failure_code or "", phone=charge.phone)
            intent = self._client.payment_intents.retrieve(payment.id)
        except WorkbenchError:
            return payment
        error, method = intent.last_payment_error, intent.payment_method
        failure, phone = error.code if error else "", method.mobile_money.phone if method else ""
        return payment._replace(status=intent.status, failure=failure, phone=phone)

    def _delivered(self) -> dict[str, wire.Delivery]:
        """Each by its id: of a payment that is long past, none is on the first page of a list."""
        named = dict.fromkeys(webhook_of(row).delivery for row in self.rows if row["kind"] == "webhook")
        try:
            return {name: self._client.deliveries.retrieve(name) for name in named}
        except WorkbenchError:
            return {}


def _creates(row: TraceRow) -> bool:
    """Whether this is the call that created a payment, not one that only read it."""
    return row["kind"] == "call" and str(row["what"]).startswith(_CREATING)


def json_in(text: str) -> Any:  # noqa: ANN401  JSON is of any type
    """What a text holds as JSON; None where it is none."""
    try:
        return json_from(text.encode())
    except WorkbenchError:
        return None


def object_in(text: str) -> dict[str, Any]:
    """The JSON object that a text holds; an empty one where it holds none."""
    body = json_in(text)
    return body if isinstance(body, dict) else {}


def pretty(text: str) -> str:
    """JSON laid out for reading, every number as it was written; anything else as it is."""
    laid_out = indented(text)
    # A list or an object without another in it stands on one line, where it fits. What is no JSON came back itself.
    return text if laid_out is text else _INNERMOST.sub(_on_one_line, laid_out)


def _on_one_line(found: re.Match[str]) -> str:
    inside = _BREAK.sub(" ", found[0][1:-1]).strip()
    line = f"{found[0][0]}{inside}{found[0][-1]}"
    return line if len(line) <= _LINE else found[0]


class Reveal(NamedTuple):
    """A secret to be seen this once: it goes to the browser as a message, and into nothing that is saved."""

    label: str
    secret: str


class Message(NamedTuple):
    """What came of a button: a sentence, its tone, the same in code, and a secret that is shown once."""

    text: str
    tone: str = GOOD
    code: tuple[Item, ...] = ()
    reveal: Reveal | None = None


Handler: TypeAlias = Callable[[str, Values], Message | None]


class BoardSection(ABC):
    """A section of a board, made of what the sandbox reports whenever it is asked.

    A button `name` calls the method `_on_name(on, values) -> Message | None`: `on` is what a button is about, `values`
    what its form holds. `_on_follow` gets what is typed into a form, and says nothing.
    """

    id: ClassVar[str]
    title: ClassVar[str] = ""
    wide: ClassVar[bool] = False
    _open = ""
    """The row that is unfolded, by its id."""

    @abstractmethod
    def _items(self) -> Iterable[Item]:
        """What is to be seen now."""

    def section(self) -> Section:
        """What it shows; or why it cannot."""
        try:
            return Section(self.id, self.title, tuple(self._items()), self.wide)
        except WorkbenchError as error:
            return Section(self.id, self.id.capitalize(), (Note(str(error), BAD),))

    def handler(self, name: str) -> Handler | None:
        """What a button calls; None where there is no such button."""
        return getattr(self, f"_on_{name}", None)

    def _unfolds(self, label: str, row: str) -> Action:
        return Action("unfold", label, row, expanded="yes" if row == self._open else "no")

    def _on_unfold(self, on: str, _values: Values) -> None:
        self._open = "" if on == self._open else on


class DeskSection(BoardSection):
    """A section that shows what was gathered, and acts with the session."""

    def __init__(self, session: Session, gathered: Gathered) -> None:
        self._session = session
        self._gathered = gathered


class SessionSection(BoardSection):
    """A section that reads with `looking`, the key that the session holds now, and acts with the session's client."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pay = session.client
        self._looking = session.looking()

    def _now_s(self) -> int:
        return self._session.untraced.clock().now_ms // 1000

    def _code(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        python: str = "{}",
    ) -> tuple[Item, ...]:
        """The same call in Python and in curl; `python` is what stands around the call there."""
        made = snippet(method, path, body, query=query, base_url=self._session.base_url)
        before, pay, call = made.python.rpartition(_PAY)
        return (Beside((Code("Python", before + pay + python.format(call)), Code("curl", made.curl))),)


class PagedSection(SessionSection, Generic[T]):
    """A section that shows a list page by page, newest first; `group` names the group of calls that lists it."""

    group: ClassVar[str]
    page_size: ClassVar[int] = SIZE

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._group = getattr(self._looking, self.group)
        self._after: list[str] = []
        """The last row of each page before this one."""
        self._last = ""
        self._has_more = False
        """Whether there are older rows than those of the page that was read last."""

    def _rows(self, **filters: str | None) -> list[T]:
        """The page that is shown, as it is now; the newest one where its place is gone, as after a reset."""
        after = self._after[-1] if self._after else None
        try:
            page: wire.List[T] = self._group.list(limit=self.page_size, starting_after=after, **filters)
        except NotFound as error:
            if error.code != _CURSOR_GONE:
                raise
            self._after = []
            return self._rows(**filters)
        self._has_more = page.has_more
        self._last = page.data[-1].id if page.data else ""
        return page.data

    def _on_turn(self, on: str, _values: Values) -> None:
        if on == OLDER and self._has_more and self._last:
            self._after.append(self._last)
        elif on == NEWER:
            self._after = self._after[:-1]
        elif on == NEWEST:
            self._after = []

    def _buttons(self, label: str) -> tuple[Item, ...]:
        """To turn the pages; none where there is but one."""
        if not self._after and not self._has_more:
            return ()
        first = "" if self._after else "This is the newest page."
        last = "" if self._has_more else "This is the oldest page."
        ways = ((NEWEST, first), (NEWER, first), (OLDER, last))
        actions = tuple(Action("turn", where.capitalize(), where, off=off) for where, off in ways)
        return (Actions(f"{label}: page {len(self._after) + 1}", actions),)
