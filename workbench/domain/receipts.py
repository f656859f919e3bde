"""What an operator texts to a customer afterwards: for which outcomes, and the text of each.

The texts are ours: each operator has its own. They hold no balance, as a sandbox's wallet has none.
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
"""Screen on which a prompt ends → the kind of its receipt.

The others have none: the customer has just pressed cancel, or never saw a prompt, or the screen said it all.
"""

RECEIPT_TEXTS: Mapping[str, str] = {
    PAID: "{when}: {amount} paid to {merchant}.{about} Transaction {transaction}.",
    NOT_PAID: "{when}: {amount} to {merchant} was not paid.{about} {reason}",
    RETURNED: "{when}: {amount} received back from {merchant}.{about} Transaction {transaction}.",
}


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `seq` is its place among all that happened, `at_ms` milliseconds since 1970.

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
    """The receipt of a prompt that ended at this moment; None where there is none."""
    kind = RECEIPT_KINDS.get(session.screen)
    if kind is None:
        return None
    is_paid = kind == PAID
    made = _receipt(session, kind, seq=seq, at_ms=at_ms, transaction=transaction if is_paid else None)
    return made if is_paid else msgspec.structs.replace(made, reason=_reason(session))


def receipt_of_return(session: UssdSession, *, seq: int, at_ms: int, amount_minor: int, transaction: str) -> Receipt:
    """The receipt of money of a payment that has come back to the wallet."""
    made = _receipt(session, RETURNED, seq=seq, at_ms=at_ms, transaction=transaction)
    return msgspec.structs.replace(made, amount_minor=amount_minor)


def _receipt(session: UssdSession, kind: str, *, seq: int, at_ms: int, transaction: str | None) -> Receipt:
    return Receipt(
        seq=seq,
        at_ms=at_ms,
        kind=kind,
        operator=session.operator,
        merchant=session.merchant,
        amount_minor=session.amount_minor,
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
