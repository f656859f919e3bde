"""What an entry does to one account, as a statement shows it: money in or out, and the fee beside it."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from workbench.domain.ledger import DEBIT, KIND_BY_CODE, OPERATOR_FEE, SETTLEMENTS, TRACKED, JournalEntry, Posting

IN: Final = "in"
OUT: Final = "out"
POSTED: Final = "posted"
IN_SUSPENSE: Final = "in_suspense"
LATE: Final = "late_success"
CREDITED: Final = "sweep_credited"


class Movement(NamedTuple):
    """Money in or out of an account; `amount_minor` is gross and positive, the fee lowers the balance."""

    direction: str
    amount_minor: int
    fee_minor: int
    currency: str

    @property
    def signed_minor(self) -> int:
        """What it does to the account."""
        return (self.amount_minor if self.direction == IN else -self.amount_minor) - self.fee_minor


def movements_of(postings: Sequence[Posting], account: str) -> Iterator[Movement]:
    """What an entry of these postings does to an account, one movement for each currency.

    Money comes in on the account's normal side. An entry without a fee that takes as much as it gives is both: in,
    then out.
    """
    here = [each for each in postings if each.account == account]
    for currency in dict.fromkeys(each.currency for each in here):
        of_currency = [each for each in here if each.currency == currency]
        yield from _of_currency(of_currency, _fee(postings, account, currency), currency)


def _fee(postings: Sequence[Posting], account: str, currency: str) -> int:
    """The operator's fee, if it takes one from this account."""
    fees = [each for each in postings if each.code == OPERATOR_FEE.code and each.currency == currency]
    return max(0, sum(each.signed_minor for each in fees)) if account in TRACKED else 0


def _of_currency(here: Sequence[Posting], fee: int, currency: str) -> Iterator[Movement]:
    sign = 1 if KIND_BY_CODE[here[0].code].normal_side == DEBIT else -1
    gross = sign * sum(each.signed_minor for each in here) + fee
    if gross:
        yield Movement(IN if gross > 0 else OUT, abs(gross), fee, currency)
    elif fee:
        yield Movement(OUT, fee, 0, currency)
    else:
        given = sum(each.amount_minor for each in here if each.side == DEBIT)
        yield Movement(IN, given, 0, currency)
        yield Movement(OUT, given, 0, currency)


def key_and_batch(entry: JournalEntry, known_as: str | None) -> tuple[str | None, str | None]:
    """The other side's id of the movement, and its id of the batch that the movement is a part of.

    `known_as` is the entry's external reference, or for a reversal without one that of what it reverses.
    """
    return (entry.id, known_as) if _is_part(entry) else (known_as, None)


def _is_part(entry: JournalEntry) -> bool:
    """Whether several of these may be one movement to the other side, as a night's credits are."""
    follows = entry.reverses is not None or entry.settles is not None
    is_reported = entry.kind in SETTLEMENTS and not SETTLEMENTS[entry.kind].takes_entry
    return entry.kind == CREDITED or follows or is_reported
