"""A merchant's records as DataFrames: payments, charges, refunds, payouts, late money, events and deliveries."""

from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any, TypeVar

import pandas as pd
from msgspec import UnsetType

from workbench.analysis.frames import table, typed
from workbench.analysis.shapes import CHARGES, DELIVERIES, EVENTS, PAYMENTS, PAYOUTS, REFUNDS, SUSPENSE, Columns
from workbench.domain.moments import business_date, milliseconds_in, moment
from workbench.domain.money import ISO_4217, money_from_major
from workbench.domain.wire.endpoints_and_events import Delivery, Event
from workbench.domain.wire.payments_and_payouts import (
    Charge,
    MobileMoneyMethod,
    PaymentError,
    PaymentIntent,
    Payout,
    Refund,
    Suspense,
)
from workbench.errors import UnexpectedResponse
from workbench.merchant.client import PaymentsClient
from workbench.session import SandboxControl

T = TypeVar("T")
Row = dict[str, Any]
Minor = Callable[[Decimal | int, str], int]
_PAGE = 1000


class Tables:
    """One merchant's records, oldest first, read anew each time and page by page.

    Amounts are int64 in minor units with the currency beside them, moments UTC, `business_date` the day in
    Lusaka, phones masked.
    """

    def __init__(self, client: PaymentsClient, control: SandboxControl) -> None:
        self._client = client
        self._control = control

    @property
    def payments(self) -> pd.DataFrame:
        """Payment intents.

        Raises UnexpectedResponse: the service's intents have no amounts (`intent_fields`).
        """
        return _frame(self._client.payment_intents.each(), _payment, PAYMENTS)

    @property
    def charges(self) -> pd.DataFrame:
        """Each attempt to move money, of an intent or on its own."""
        minor = self._whole_minor()
        return _frame(self._client.charges.each(), lambda charge: _charge(charge, minor), CHARGES)

    @property
    def refunds(self) -> pd.DataFrame:
        """Money given back, all of a payment or a part."""
        minor = self._whole_minor()
        return _frame(self._client.refunds.each(), lambda refund: _refund(refund, minor), REFUNDS)

    @property
    def payouts(self) -> pd.DataFrame:
        """Cleared money sent to the bank."""
        return _frame(self._client.payouts.each(), _payout, PAYOUTS)

    @property
    def suspense(self) -> pd.DataFrame:
        """Money that came late and waits in suspense, or was credited or returned."""
        return _frame(self._control.suspense()[::-1], _late, SUSPENSE)

    @property
    def events(self) -> pd.DataFrame:
        """All events, also those that no webhook reported."""
        return _frame(self._client.events.each(), _event, EVENTS)

    @property
    def deliveries(self) -> pd.DataFrame:
        """Each event on its way to an endpoint, and how the last attempt at it ended."""
        return _frame(self._client.deliveries.each(), _delivery, DELIVERIES)

    def __repr__(self) -> str:
        return "Tables(payments, charges, refunds, payouts, suspense, events, deliveries)"

    def _whole_minor(self) -> Minor:
        """A function from a charge's amount to minor units; the register says in which unit charges are."""
        return _minor if self._control.in_force()["charge_amount_unit"] == "major" else lambda amount, _: int(amount)


def _frame(found: Iterable[T], made_of: Callable[[T], Row], columns: Columns) -> pd.DataFrame:
    """A row for each record of `found`, in reverse order.

    `made_of` makes cells of a record; the record's attribute of the same name fills any other column.
    """

    def row(record: T) -> Row:
        made = made_of(record)
        return {name: made[name] if name in made else getattr(record, name) for name in columns}

    rest = iter(found)
    pages = iter(lambda: tuple(islice(rest, _PAGE)), ())
    # A list begins with the newest.
    return typed((table(map(row, page), columns) for page in pages), columns).iloc[::-1].reset_index(drop=True)


def _payment(intent: PaymentIntent) -> Row:
    if isinstance(intent.amount, UnsetType) or isinstance(intent.currency, UnsetType):
        raise UnexpectedResponse(
            "The service's intents have no amounts.", hint="See `intent_fields` in the register of gaps."
        )
    wallet = intent.payment_method.mobile_money if isinstance(intent.payment_method, MobileMoneyMethod) else None
    error = intent.last_payment_error if isinstance(intent.last_payment_error, PaymentError) else None
    return {
        "amount_minor": _minor(intent.amount, intent.currency),
        "provider": wallet.provider if wallet else None,
        "phone": wallet.phone if wallet else None,
        "failure_code": error.code if error else None,
        "canceled_at": _at(_set(intent.canceled_at)),
        **{name: _set(getattr(intent, name)) for name in ("latest_charge", "description", "cancellation_reason")},
        **_created(_set(intent.created) or 0),
    }


def _charge(charge: Charge, minor: Minor) -> Row:
    return {
        "amount_minor": minor(charge.amount, charge.currency),
        "refunded_minor": minor(charge.amount_refunded, charge.currency) if charge.amount_refunded else 0,
        "currency": charge.currency.upper(),
        **_created(charge.created),
    }


def _refund(refund: Refund, minor: Minor) -> Row:
    # A refund has its amount in the unit, and its currency in the case, of the intent or charge that was named.
    of_intent = refund.currency.isupper()
    amount_minor = (_minor if of_intent else minor)(refund.amount, refund.currency)
    return {"amount_minor": amount_minor, "currency": refund.currency.upper(), **_created(refund.created)}


def _payout(payout: Payout) -> Row:
    return {"amount_minor": _minor(payout.amount, payout.currency), **_created(payout.created)}


def _late(late: Suspense) -> Row:
    return {
        "amount_minor": _minor(late.amount, late.currency),
        "since_at": _at(late.since),
        "business_date": business_date(late.since * 1000),
        "settled_at": _at(late.settled_at),
    }


def _event(event: Event) -> Row:
    about = event.data.object
    return {
        "object": about.get("object"),
        "object_id": about.get("id"),
        "status": about.get("status"),
        "request": event.request.id,
        "created_at": event.timestamp,
        "business_date": business_date(milliseconds_in(event.timestamp, param="timestamp")),
    }


def _delivery(delivery: Delivery) -> Row:
    last = delivery.attempts[-1] if delivery.attempts else None
    return {
        "attempts": len(delivery.attempts),
        "last_status_code": last.status_code if last else None,
        "last_fault": last.fault if last else None,
        "last_attempt_at": _at(last.at) if last else None,
        "next_attempt_at": _at(delivery.next_attempt_at),
        **_created(delivery.created),
    }


def _created(seconds: int) -> Row:
    return {"created_at": _at(seconds), "business_date": business_date(seconds * 1000)}


def _at(seconds: int | None) -> datetime | None:
    return None if seconds is None else moment(seconds * 1000)


def _set(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value


def _minor(amount: Decimal | int, currency: str) -> int:
    return money_from_major(Decimal(amount), ISO_4217[currency.upper()]).amount_minor
