"""The desk: one payment from its request to the ledger, with the handset between."""

import secrets
from contextlib import suppress
from itertools import chain, count

from workbench.domain.scenarios import SANDBOX_PIN
from workbench.errors import WorkbenchError
from workbench.lab.board import Board
from workbench.lab.desk.ledger_section import LedgerSection
from workbench.lab.desk.progress_section import PaymentSection, WebhooksSection, news, verified_at
from workbench.lab.desk.request_section import RequestSection, ResponseSection
from workbench.lab.sections import BoardSection, Gathered, Message
from workbench.lab.views import WARN, Code, Fold, Item, Note, Section, Slot
from workbench.session import Session
from workbench.snippets import snippet

_KEYS = (("The PIN", "input", {"text": SANDBOX_PIN}), ("Cancel", "cancel", None), ("Ignore", "ignore", None))
"""What a person presses, and the call that is the same."""
_UNKNOWN = (
    "The number of this payment is masked, and nobody has typed it here: open its handset with bench.phone(number)."
)


class HandsetSection(BoardSection):
    """The phone of the payment chosen; before that has one, the phone of the number in the form."""

    id = "handset"

    def __init__(self, session: Session, gathered: Gathered, request: RequestSection) -> None:
        self._session = session
        self._gathered = gathered
        self._request = request

    def section(self) -> Section:
        """A place for the phone's widget, and its buttons in code."""
        payment = self._gathered.payment
        number = self._gathered.number if payment and payment.phone else self._request.values["phone"]
        return Section(self.id, "Handset of the customer", self._items(number))

    def _items(self, number: str) -> tuple[Item, ...]:
        if not number:
            return (Note(_UNKNOWN, WARN),)
        try:
            shown = repr(self._session.phone(number))
        except WorkbenchError as error:
            return (Note(str(error), WARN),)
        codes: list[Item] = []
        for name, path, body in _KEYS:
            same = snippet("POST", f"/sandbox/phones/{number}/{path}", body, base_url=self._session.base_url)
            codes += [Code(f"{name} in Python", same.python), Code(f"{name} in curl", same.curl)]
        return (
            Slot(number, "Handset", (Code("Handset", shown), Note(f"The PIN of every wallet here is {SANDBOX_PIN}."))),
            Fold("code", "Its keys in Python and curl", tuple(codes)),
        )


class Desk(Board):
    """`do` presses its buttons from a script: `desk.do("request", "send", amount="20.00")`."""

    def __init__(self, session: Session) -> None:
        self._gathered = gathered = Gathered(session)
        self._known = ("", "", "")
        request = RequestSection(session, gathered, _Keys(gathered, is_served=session.is_served))
        sections = (
            request,
            HandsetSection(session, gathered, request),
            PaymentSection(session, gathered),
            ResponseSection(request),
            WebhooksSection(session, gathered),
            LedgerSection(gathered),
        )
        super().__init__(
            "Desk",
            sections,
            session.watch,
            name="desk",
            read=self._look,
            slot=lambda number: session.phone(number).widget,
        )

    def do(self, section: str, name: str, on: str = "", **values: str) -> Message | None:
        """Press a button: what a click does, for a script. An error of the service is a message, not raised."""
        message = super().do(section, name, on, **values)
        with suppress(WorkbenchError):
            self._look()
        return message

    def _look(self) -> None:
        """Read, and report what has become of the payment that is looked at."""
        self._gathered.read()
        payment = self._gathered.payment
        now = (payment.id, payment.status, verified_at(self._gathered.rows, self._gathered.arrivals))
        before, self._known = self._known, now
        if before != now and before[0] == payment.id and (message := news(payment, is_verified=bool(now[2]))):
            self.say(message)


class _Keys:
    """Idempotency keys: in this process the same in every run, over a served sandbox nobody else's."""

    def __init__(self, gathered: Gathered, *, is_served: bool) -> None:
        self._gathered = gathered
        self._is_served = is_served
        self._used: set[str] = set()

    def __call__(self) -> str:
        name = f"desk-{secrets.token_hex(4) if self._is_served else self._gathered.seq()}"
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        key = next(each for each in names if each not in self._used)
        self._used.add(key)
        return key
