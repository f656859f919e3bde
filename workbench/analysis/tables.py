"""The records of a sandbox as DataFrames: the ledger, and a merchant's payments, refunds, payouts and events."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, TypeVar

import msgspec
import pandas as pd
import pyarrow as pa
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from workbench.analysis import shapes
from workbench.analysis.frames import arrow_table, frame, typed
from workbench.analysis.shapes import Columns
from workbench.domain.ledger import CHART, DEBIT, IN, KIND_BY_CODE, SUSPENSE, TRACKED
from workbench.domain.moments import LUSAKA, business_date, milliseconds, milliseconds_in, moment, rfc3339
from workbench.domain.money import ISO_4217, money_from_major
from workbench.domain.phones import OPERATORS
from workbench.domain.wire.keys_and_events import Delivery, Event
from workbench.domain.wire.ledger_and_trace import LedgerVerified
from workbench.domain.wire.payments_and_payouts import MobileMoneyMethod, PaymentError, PaymentIntent
from workbench.errors import LedgerRefused, StateConflict, UnexpectedResponse
from workbench.merchant.client import PaymentsClient
from workbench.session import SandboxControl
from workbench.traffic.trace import TAccounts

T = TypeVar("T")
Row = dict[str, Any]
Minor = Callable[[Decimal | int, str], int]
_PAGE = 1000


def _minor(amount: Decimal | int, currency: str) -> int:
    return money_from_major(Decimal(amount), ISO_4217[currency.upper()]).amount_minor


class Tables:
    """The records of one merchant, oldest first. Every access reads them anew, page by page.

    Amounts are int64 in minor units, with the currency in a column beside them; moments are UTC, `business_date` is the
    day in Lusaka, and phones are masked.
    """

    def __init__(self, client: PaymentsClient, control: SandboxControl) -> None:
        self._client = client
        self._control = control

    @property
    def payments(self) -> pd.DataFrame:
        """Payment intents. Raises UnexpectedResponse: the service's intents have no amounts (`intent_fields`)."""
        return _frame(self._client.payment_intents.each(), shapes.PAYMENTS, _of_payment)

    @property
    def charges(self) -> pd.DataFrame:
        """Attempts to move money, for an intent or without one."""
        return _frame(self._client.charges.each(), shapes.CHARGES, minor=self._minor_of_charges())

    @property
    def refunds(self) -> pd.DataFrame:
        """Refunds, of a whole payment or of a part."""
        of_charges = self._minor_of_charges()

        def minor(amount: Decimal | int, currency: str) -> int:
            # A refund has its amount in the unit, and its currency in the case, of the intent or charge that was named.
            return (_minor if currency.isupper() else of_charges)(amount, currency)

        return _frame(self._client.refunds.each(), shapes.REFUNDS, minor=minor)

    @property
    def payouts(self) -> pd.DataFrame:
        """Payouts of cleared money to the bank."""
        return _frame(self._client.payouts.each(), shapes.PAYOUTS)

    @property
    def suspense(self) -> pd.DataFrame:
        """Money that came after its attempt had failed: waiting in suspense, credited to the merchant, or returned."""
        return _frame(self._control.suspense()[::-1], shapes.SUSPENSE)

    @property
    def events(self) -> pd.DataFrame:
        """All events, also those that no webhook reported."""
        return _frame(self._client.events.each(), shapes.EVENTS, _of_event)

    @property
    def deliveries(self) -> pd.DataFrame:
        """Deliveries of events to endpoints, each with the outcome of its last attempt."""
        return _frame(self._client.deliveries.each(), shapes.DELIVERIES, _of_delivery)

    def __repr__(self) -> str:
        return "Tables(payments, charges, refunds, payouts, suspense, events, deliveries)"

    def _minor_of_charges(self) -> Minor:
        """Returns the function that converts a charge's amount to minor units, in the unit that the service uses."""
        return _minor if self._control.in_force()["charge_amount_unit"] == "major" else lambda amount, _: int(amount)


_SOURCES = {"amount_minor": "amount", "refunded_minor": "amount_refunded", "created_at": "created", "since_at": "since"}
"""Column → the attribute of a record that gives its value; every other column is named like its attribute."""


def _frame(
    records: Iterable[T], columns: Columns, others_of: Callable[[T], Row] = lambda _: {}, *, minor: Minor = _minor
) -> pd.DataFrame:
    """A DataFrame with one row for each record, in reverse order.

    `others_of` returns column → value for the cells that are not plain attributes of a record. `minor` converts an
    amount and its currency to minor units.
    """

    def cell(record: Any, name: str) -> object:  # noqa: ANN401  a record has what its columns name
        if name == "business_date":
            return business_date(1000 * (record.since if "since_at" in columns else record.created))
        value = getattr(record, _SOURCES.get(name, name))
        value = None if isinstance(value, UnsetType) else value
        if name.endswith("_minor"):
            return minor(value, record.currency) if value else 0
        if name.endswith("_at"):
            return _at(value)
        return value.upper() if value and name == "currency" else value

    def row(record: T) -> Row:
        others = others_of(record)
        return {name: others[name] if name in others else cell(record, name) for name in columns}

    unread = iter(records)
    pages = iter(lambda: tuple(islice(unread, _PAGE)), ())
    # A list begins with the newest.
    return typed((arrow_table(map(row, page), columns) for page in pages), columns).iloc[::-1].reset_index(drop=True)


def _of_payment(intent: PaymentIntent) -> Row:
    if isinstance(intent.amount, UnsetType) or isinstance(intent.currency, UnsetType):
        hint = "See `intent_fields` in the register of gaps."
        raise UnexpectedResponse("The service's intents have no amounts.", hint=hint)
    wallet = intent.payment_method.mobile_money if isinstance(intent.payment_method, MobileMoneyMethod) else None
    error = intent.last_payment_error if isinstance(intent.last_payment_error, PaymentError) else None
    return {
        "provider": wallet.provider if wallet else None,
        "phone": wallet.phone if wallet else None,
        "failure_code": error.code if error else None,
    }


def _of_event(event: Event) -> Row:
    about = event.data.object
    return {
        "object": about.get("object"),
        "object_id": about.get("id"),
        "status": about.get("status"),
        "request": event.request.id,
        "created_at": event.timestamp,
        "business_date": business_date(milliseconds_in(event.timestamp, param="timestamp")),
    }


def _of_delivery(delivery: Delivery) -> Row:
    last = delivery.attempts[-1] if delivery.attempts else None
    return {
        "attempts": len(delivery.attempts),
        "last_status_code": last.status_code if last else None,
        "last_fault": last.fault if last else None,
        "last_attempt_at": _at(last.at) if last else None,
    }


def _at(seconds: int | None) -> datetime | None:
    return None if seconds is None else moment(seconds * 1000)


def settle_break(control: SandboxControl, item: object) -> pd.DataFrame:
    """Post the entries that a break proposes; returns them in the shape of `bench.ledger.entries`.

    `item` is the break: a mapping, a row of `result.breaks` or a named tuple. Entries that were posted earlier are not
    posted again, and not returned. Raises LedgerRefused: the break proposes nothing, or its proposal is no JSON list of
    entries. Raises StateConflict: all its entries were posted earlier.
    """
    proposal = item.get("proposal") if isinstance(item, Mapping | pd.Series) else getattr(item, "proposal", None)
    if not isinstance(proposal, str):
        raise LedgerRefused(
            "This row has no proposed entry, so nothing can be posted.",
            hint="Settle a row of `result.breaks` with a `proposal`; for the others, see `settlement`.",
        )
    bodies, posted, conflict = list[dict[str, Any]](), [], None
    with suppress(msgspec.DecodeError):
        bodies = msgspec.json.decode(proposal, type=list[dict[str, Any]])
    if not bodies:
        raise LedgerRefused(f"The proposal is no list of entries in JSON: {proposal[:60]!r}.")
    for body in bodies:
        try:
            posted.append(asdict(control.settle(body)))
        except StateConflict as error:
            if error.code != "already_settled":
                raise
            conflict = error
    if conflict and not posted:
        raise conflict
    return frame(posted, shapes.ENTRIES)


_OF_CHART = {
    kind.name.format(operator=name)
    for kind in CHART
    for name in (*OPERATORS, *(["bank"] if kind is SUSPENSE else []))
    if "{merchant}" not in kind.name
}
"""The names of the accounts that exist before any merchant; each merchant adds accounts of its own."""

Instant = datetime | date | str
"""An aware datetime; a business day, which stands for its last millisecond in Lusaka; or either as ISO 8601 text."""


class Ledger:
    """The ledger of a sandbox. Every access reads it anew, page by page."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control

    @property
    def accounts(self) -> pd.DataFrame:
        """The accounts that have postings; `balance_minor` is positive on the account's normal side."""
        rows = []
        for account in self._control.accounts():
            side, net = KIND_BY_CODE[account.code].normal_side, account.debit_minor - account.credit_minor
            rows.append({**asdict(account), "normal_side": side, "balance_minor": net if side == DEBIT else -net})
        return frame(rows, shapes.ACCOUNTS)

    @property
    def business_date(self) -> date:
        """The current day in Lusaka, by the sandbox's clock."""
        return moment(self._control.clock().now_ms).astimezone(LUSAKA).date()

    @property
    def entries(self) -> pd.DataFrame:
        """Entries in chain order; `hash` covers the entry's postings and `prev_hash`."""
        return _whole(self._control.entries(), shapes.ENTRIES)

    @property
    def postings(self) -> pd.DataFrame:
        """Postings; the debits and the credits of one entry are equal."""
        return _whole(self._control.postings(), shapes.POSTINGS)

    def trial_balance(self, *, as_of: Instant | None = None, known_at: Instant | None = None) -> pd.DataFrame:
        """The balance of each account as a debit or a credit; the totals of both columns are equal in each currency.

        Only entries count that had occurred by `as_of` and were recorded by `known_at`. Both limits are inclusive: an
        aware datetime, or a business day, which means its end in Lusaka; or either as text, such as "2026-01-05". An
        entry that corrects last week can have occurred last week and be recorded today.

        Raises ValueError: other text, or a moment without a zone. Raises TypeError: another type.
        """
        bounds = {"as_of": as_of, "known_at": known_at}
        query = {name: _moment(bound) for name, bound in bounds.items() if bound is not None}
        rows = [asdict(account) for account in self._control.accounts(**query)]
        for row in rows:
            net = row["debit_minor"] - row["credit_minor"]
            row["debit_minor"], row["credit_minor"] = max(net, 0), max(-net, 0)
        return frame(rows, shapes.TRIAL_BALANCE)

    def statement_of(self, account: str) -> pd.DataFrame:
        """The ledger's movements on one account, such as `operator:mtn:float`, with a running balance.

        The rows are in the order of recording, even if an entry occurred earlier. An account of the chart without
        postings gives no rows. Raises LedgerRefused: there is no such account.
        """
        return typed(self.movements(account), shapes.LEDGER_MOVEMENT)

    def movements(self, *accounts: str) -> Iterator[pa.Table]:
        """Yields the rows of `statement_of` for these `accounts` as Arrow tables, page by page.

        Without `accounts`, yields the rows of all accounts for which an operator or the bank issues a statement. Each
        account and currency has its own running balance. Raises LedgerRefused: there is no such account.
        """
        for account in accounts:
            if not isinstance(account, str):
                raise LedgerRefused(f"Give the name of an account, such as {next(iter(TRACKED))!r}, not {account!r}.")
        balances: Counter[tuple[str, str]] = Counter()
        for page in self._control.movements(*accounts):
            rows = [asdict(movement) for movement in page]
            for row in rows:
                gross = row["amount_minor"] if row["direction"] == IN else -row["amount_minor"]
                balances[row["account"], row["currency"]] += gross - row["fee_minor"]
                row["balance_minor"] = balances[row["account"], row["currency"]]
            yield arrow_table(rows, shapes.LEDGER_MOVEMENT)
        unknown = set(accounts) - {account for account, _ in balances} - _OF_CHART
        posted = sorted({account.account for account in self._control.accounts()}) if unknown else []
        if unknown := unknown.difference(posted):
            raise LedgerRefused(
                f"The ledger has no account {' or '.join(map(repr, sorted(unknown)))}.",
                hint=f"`bench.ledger.accounts` lists those posted to; statements are of {', '.join(TRACKED)}.",
                accounts=posted,
            )

    @property
    def t_accounts(self) -> TAccounts:
        """The accounts as T-accounts: debits on the left, credits on the right."""
        return TAccounts(asdict(posting) for page in self._control.postings() for posting in page)

    def verify(self) -> str:
        """Check that debits equal credits and that the hash chain is unbroken; returns the hash of the last entry.

        Raises LedgerRefused: the sums differ, or an entry was tampered with; the message names the first such entry.
        """
        head = verified(self._control).head
        sums: Counter[str] = Counter()
        for account in self._control.accounts():
            sums[account.currency] += account.debit_minor - account.credit_minor
        if any(sums.values()):
            raise LedgerRefused(f"Debits less credits are {dict(sums)}.", sums=dict(sums))
        return str(head)

    @property
    def head(self) -> str:
        """The hash of the chain's last entry; does not verify the chain."""
        return str(self._control.verify().head)

    def __repr__(self) -> str:
        chain = self._control.verify()
        return f"Ledger(entries={chain.entries if chain.holds else 'tampered with'})"


def verified(control: SandboxControl) -> LedgerVerified:
    """Verifies the hash chain; returns the service's verdict with the number of entries and the last entry's hash.

    Raises LedgerRefused: an entry was tampered with; the message names the first such entry.
    """
    verdict = control.verify()
    if not verdict.holds:
        raise LedgerRefused(str(verdict.message), entry=None if verdict.entry is UNSET else verdict.entry)
    return verdict


def _whole(pages: Iterable[Iterable[msgspec.Struct]], columns: Columns) -> pd.DataFrame:
    return typed((arrow_table(map(asdict, page), columns) for page in pages), columns)


def _moment(bound: Instant) -> str:
    if isinstance(bound, str):
        bound = _read(bound)
    if not isinstance(bound, date):
        raise TypeError(f"Give a day or a moment, such as date(2026, 1, 5), not {bound!r}.")
    if not isinstance(bound, datetime):
        bound = datetime(bound.year, bound.month, bound.day, tzinfo=LUSAKA) + timedelta(days=1, milliseconds=-1)
    if bound.tzinfo is None:
        raise ValueError("A moment needs a time zone, such as datetime(2026, 1, 5, 6, tzinfo=UTC).")
    return rfc3339(milliseconds(bound))


def _read(text: str) -> date:
    """The day or the moment in ISO 8601 text. Raises ValueError: the text is neither."""
    for read in (date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text)
    example = '"2026-01-05" or "2026-01-05T08:00:00+02:00"'
    raise ValueError(f"{text[:40]!r} is neither a day nor a moment: write {example}.")
