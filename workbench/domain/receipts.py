"""What an operator texts to a customer afterwards: which outcomes it tells of, and in which words.

The words are ours: operators word theirs each in its own way. They tell no balance, as a sandbox's wallet has none.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from workbench.domain import ussd
from workbench.domain.moments import LUSAKA, moment
from workbench.domain.money import Money
from workbench.domain.payments import FAILURES
from workbench.domain.ussd import UssdSession

PAID: Final = "paid"
NOT_PAID: Final = "not_paid"
RETURNED: Final = "returned"

RECEIPT_KINDS: Mapping[str, str] = {ussd.APPROVED: PAID, ussd.REFUSED: NOT_PAID, ussd.BLOCKED: NOT_PAID}
"""Screen on which a prompt ends → what is told of it.

Of the others nothing is: the customer has just pressed cancel, or never saw a prompt, or the screen said it all.
"""

RECEIPT_TEXTS: Mapping[str, str] = {
    PAID: "{when}: {amount} paid to {merchant}.{about} Transaction {transaction}.",
    NOT_PAID: "{when}: {amount} to {merchant} was not paid.{about} {reason}",
    RETURNED: "{when}: {amount} received back from {merchant}.{about} Transaction {transaction}.",
}


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `seq` is its place in the order of all that happened, `at_ms` milliseconds since 1970.

    `transaction` is the operator's own reference, None where no money moved.
    """

    seq: int
    at_ms: int
    kind: str
    operator: str
    merchant: str
    amount_minor: int
    currency: str
    about: str | None
    transaction: str | None = None
    reason: str | None = None


def receipt_of(session: UssdSession, *, seq: int, at_ms: int, transaction: str) -> Receipt | None:
    """What is told of a prompt that ended at this moment; None where nothing is."""
    kind = RECEIPT_KINDS.get(session.screen)
    if kind is None:
        return None
    return Receipt(
        seq=seq,
        at_ms=at_ms,
        kind=kind,
        operator=session.operator,
        merchant=session.merchant,
        amount_minor=session.amount_minor,
        currency=session.currency,
        about=session.reference,
        transaction=transaction if kind == PAID else None,
        reason=_reason(session) if kind == NOT_PAID else None,
    )


def receipt_of_return(session: UssdSession, *, seq: int, at_ms: int, amount_minor: int, transaction: str) -> Receipt:
    """What is told when money of a payment has come back to the wallet."""
    return Receipt(
        seq=seq,
        at_ms=at_ms,
        kind=RETURNED,
        operator=session.operator,
        merchant=session.merchant,
        amount_minor=amount_minor,
        currency=session.currency,
        about=session.reference,
        transaction=transaction,
    )


def receipt_text(receipt: Receipt) -> str:
    """The text of the message, with the wall-clock time in Lusaka."""
    return RECEIPT_TEXTS[receipt.kind].format(
        when=moment(receipt.at_ms).astimezone(LUSAKA).strftime("%d/%m/%Y %H:%M"),
        amount=Money(receipt.amount_minor, receipt.currency),
        merchant=receipt.merchant,
        about=f" For: {ussd.reference_line(receipt.about)}." if receipt.about else "",
        transaction=receipt.transaction,
        reason=receipt.reason,
    )


def _reason(session: UssdSession) -> str | None:
    code = ussd.FAILURE_OF.get(session.screen)
    return FAILURES[code] if code else session.reason
