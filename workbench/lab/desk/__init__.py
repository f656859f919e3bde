"""The desk: one payment from its request to its ledger, with the handset between; put together from its sections."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from workbench.domain import wire
from workbench.domain.ledger import CREDIT, DEBIT, Side, TAccount, t_accounts
from workbench.domain.money import money_text
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.domain.wire.trace_rows import entry_of
from workbench.errors import WorkbenchError
from workbench.lab.board import Board
from workbench.lab.desk.gathered import DeskSection, Gathered, Rows, news
from workbench.lab.desk.progress_section import PaymentSection, ProgressSection, WebhooksSection, asks, verified_in
from workbench.lab.desk.request_section import RequestSection, ResponseSection
from workbench.lab.sections import Message
from workbench.lab.views import (
    ALWAYS,
    BAD,
    GOOD,
    PLAIN,
    WARN,
    Beside,
    Code,
    Fold,
    Grid,
    Item,
    Note,
    Row,
    Slot,
    headings,
)
from workbench.session import Session
from workbench.snippets import snippet

_NOTHING = "No entry yet: money is booked when the customer has paid."
_MEANINGS: Mapping[int, str] = {
    1010: "money at the bank",
    1100: "money at the operator",
    1200: "on its way to the bank",
    1310: "what the merchant owes",
    2000: "the merchant's, not cleared yet",
    2010: "the merchant's, to be paid out",
    2020: "the merchant's, being paid out",
    2100: "owed to the customer",
    2900: "nobody's yet",
    4000: "the service's fee",
    5000: "the operator's fee",
    5020: "written off",
    5030: "rounding",
}


class LedgerSection(DeskSection):
    """The accounts that a payment was booked to."""

    id, title, tab = "ledger", "Ledger", ALWAYS

    def _badge(self) -> str:
        return str(sum(row["kind"] == "entry" for row in self._gathered.rows) or "")

    def _items(self) -> Iterable[Item]:
        return ledger(self._gathered.rows, self._gathered.accounts)


def ledger(rows: Rows, accounts: Sequence[wire.LedgerAccount]) -> tuple[Item, ...]:
    """The entries among a payment's rows as T-accounts; `accounts` has the code and the balance of each."""
    codes = {each.account: each.code for each in accounts}
    balances = {(each.account, each.currency): each.debit_minor - each.credit_minor for each in accounts}
    postings = [
        {
            "entry": str(row["result"]).replace("_", " "),
            "code": codes.get(account, 0),
            "account": account,
            "side": side,
            "amount_minor": amount_minor,
            "currency": code,
        }
        for row in rows
        if row["kind"] == "entry"
        for side, account, amount_minor, code in entry_of(row).postings
    ]
    if not postings:
        return (Note(_NOTHING),)
    entries = tuple(dict.fromkeys(str(each["entry"]) for each in postings))
    return (_proof(postings), Beside(tuple(_grid(each, entries, balances) for each in t_accounts(postings))))


def _proof(postings: Sequence[Mapping[str, Any]]) -> Note:
    sums: Counter[tuple[str, str]] = Counter()
    for row in postings:
        sums[row["currency"], row["side"]] += row["amount_minor"]
    sides = {code: (sums[code, DEBIT], sums[code, CREDIT]) for code, _ in sorted(sums)}
    text = "; ".join(
        f"debits {money_text(debit, code)}, credits {money_text(credit, code)}"
        for code, (debit, credit) in sides.items()
    )
    if all(debit == credit for debit, credit in sides.values()):
        return Note(f"Debits equal credits: {text}.", GOOD)
    return Note(f"It does not balance: {text}.", BAD)


def _side(posting: Side | None) -> str:
    return money_text(posting.money.amount_minor, posting.money.currency) if posting else ""


def _total(text: str, balance_minor: int, currency: str) -> Row:
    """A balance on the side on which it stands."""
    shown = money_text(abs(balance_minor), currency)
    return Row(text, (text, *((shown, "") if balance_minor >= 0 else ("", shown))))


def _grid(account: TAccount, entries: Sequence[str], balances: Mapping[tuple[str, str], int]) -> Grid:
    rows = []
    for entry in entries:
        sides = ([each for each in side if each.entry == entry] for side in (account.debits, account.credits))
        rows += [Row(f"{entry} {place}", (entry, *map(_side, both))) for place, both in enumerate(zip_longest(*sides))]
    rows.append(_total("balance", account.balance_minor, account.currency))
    in_all = balances.get((account.account, account.currency), account.balance_minor)
    if in_all != account.balance_minor:
        rows.append(_total("of all payments", in_all, account.currency))
    meaning = f"\n{_MEANINGS[account.code]}" if account.code in _MEANINGS else ""
    caption = f"{account.code} {account.account}{meaning}"
    return Grid(caption, headings("entry", "debit", "credit", numeric=("debit", "credit")), tuple(rows))


_KEYS = (("The PIN", "input", {"text": SANDBOX_PIN}), ("Cancel", "cancel", None), ("Ignore", "ignore", None))
"""What a person presses, and the call that is the same."""
_FIRST = f"Send a request, enter {SANDBOX_PIN} on the phone, then see the webhooks and the ledger."
_UNKNOWN = (
    "The number of this payment is masked, and nobody has typed it here: open its handset with bench.phone(number)."
)


class HandsetSection(DeskSection):
    """The phone of the payment chosen; before that has one, the phone of the number in the form."""

    id, title, tab = "handset", "Customer's phone", 42

    def __init__(self, session: Session, gathered: Gathered, request: RequestSection) -> None:
        super().__init__(session, gathered)
        self._request = request

    @property
    def number(self) -> str:
        """The number of the phone that is shown; empty where nobody here has typed it."""
        payment = self._gathered.payment
        return self._gathered.number if payment and payment.phone else self._request.values["phone"]

    def _badge(self) -> str:
        return "1" if asks(self._gathered.rows) else ""

    def _items(self) -> tuple[Item, ...]:
        number = self.number
        if not number:
            return (Note(_UNKNOWN, WARN),)
        try:
            shown = repr(self._session.phone(number))
        except WorkbenchError as error:
            return (Note(str(error), WARN),)
        instead = (Code("Handset", shown), Note(f"The PIN of every wallet here is {SANDBOX_PIN}."))
        return (Slot(number, "Handset", instead),)


class CodeSection(DeskSection):
    """What is done here by hand, as a script does it."""

    id, title, tab = "code", "Code", ALWAYS

    def __init__(self, session: Session, gathered: Gathered, request: RequestSection, handset: HandsetSection) -> None:
        super().__init__(session, gathered)
        self._request = request
        self._handset = handset

    def _items(self) -> Iterator[Item]:
        yield from self._request.code()
        codes: list[Item] = []
        for name, path, body in _KEYS:
            url = f"/sandbox/phones/{self._handset.number}/{path}"
            same = snippet("POST", url, body, base_url=self._session.base_url)
            codes += [Code(f"{name} in Python", same.python), Code(f"{name} in curl", same.curl)]
        if self._handset.number:
            yield Fold("keys", "The phone's keys in Python and curl", tuple(codes))


class Desk(Board):
    """`do` presses its buttons from a script: `desk.do("request", "send", amount="20.00")`."""

    def __init__(self, session: Session) -> None:
        self._gathered = gathered = Gathered(session)
        self._known: tuple[wire.Payment | None, bool] = (None, False)
        request = RequestSection(session, gathered)
        handset = HandsetSection(session, gathered, request)
        sections = (
            PaymentSection(session, gathered),
            request,
            handset,
            ProgressSection(session, gathered),
            ResponseSection(request),
            WebhooksSection(session, gathered),
            LedgerSection(session, gathered),
            CodeSection(session, gathered, request, handset),
        )
        super().__init__(
            "Desk",
            sections,
            session.watch,
            name="desk",
            read=self._look,
            slot=lambda number: session.phone(number).widget,
        )
        self.say(Message(_FIRST, PLAIN))

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
        is_verified = bool(verified_in(self._gathered.rows, self._gathered.arrivals))
        before, self._known = self._known, (payment, is_verified)
        is_same = before[0] and payment and before[0].id == payment.id
        if payment and is_same and before != self._known and (message := news(payment, is_verified=is_verified)):
            self.say(message)
