"""The double-entry ledger: chart of accounts, entries, recipes for money events, movements and T-accounts."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from workbench.domain.money import Money
from workbench.domain.phones import OPERATORS
from workbench.errors import LedgerRefused

DEBIT: Final = "debit"
CREDIT: Final = "credit"
GENESIS: Final = "0" * 64
"""The `prev_hash` of the first entry, which has no entry before it."""


class AccountKind(NamedTuple):
    """A line of the chart of accounts; `{operator}` and `{merchant}` in its name are filled in by a posting."""

    code: int
    name: str
    normal_side: str


BANK: Final = AccountKind(1010, "bank:settlement", DEBIT)
FLOAT: Final = AccountKind(1100, "operator:{operator}:float", DEBIT)
IN_TRANSIT: Final = AccountKind(1200, "operator:{operator}:in_transit", DEBIT)
RECEIVABLE: Final = AccountKind(1310, "receivable:merchant:{merchant}", DEBIT)
MERCHANT_PENDING: Final = AccountKind(2000, "merchant:{merchant}:pending", CREDIT)
MERCHANT_AVAILABLE: Final = AccountKind(2010, "merchant:{merchant}:available", CREDIT)
MERCHANT_PAYOUT: Final = AccountKind(2020, "merchant:{merchant}:payout", CREDIT)
REFUND_PENDING: Final = AccountKind(2100, "customer:refund_pending", CREDIT)
SUSPENSE: Final = AccountKind(2900, "suspense:{operator}", CREDIT)
MERCHANT_FEE: Final = AccountKind(4000, "income:merchant_fee", CREDIT)
OPERATOR_FEE: Final = AccountKind(5000, "expense:operator_fee:{operator}", DEBIT)
WRITE_OFF: Final = AccountKind(5020, "expense:write_off", DEBIT)
ROUNDING: Final = AccountKind(5030, "expense:rounding", DEBIT)

CHART = (
    BANK, FLOAT, IN_TRANSIT, RECEIVABLE, MERCHANT_PENDING, MERCHANT_AVAILABLE, MERCHANT_PAYOUT,
    REFUND_PENDING, SUSPENSE, MERCHANT_FEE, OPERATOR_FEE, WRITE_OFF, ROUNDING,
)  # fmt: skip
KIND_BY_CODE = {kind.code: kind for kind in CHART}
TRACKED: Final[Mapping[str, tuple[AccountKind, str]]] = {
    **{FLOAT.name.format(operator=operator): (FLOAT, operator) for operator in OPERATORS},
    BANK.name: (BANK, "bank"),
}
"""Account with a statement by an operator or the bank → the account's kind, and the operator's id or `bank`."""


class Leg(NamedTuple):
    """A leg of a recipe: the side, the account and the name of its amount."""

    side: str
    account: AccountKind
    amount: str


# fmt: off
RECIPES: Mapping[str, tuple[Leg, ...]] = {
    "funds_secured": (Leg(DEBIT, FLOAT, "gross"), Leg(DEBIT, OPERATOR_FEE, "operator_fee"),
                      Leg(CREDIT, MERCHANT_PENDING, "net"), Leg(CREDIT, MERCHANT_FEE, "merchant_fee"),
                      Leg(CREDIT, FLOAT, "operator_fee")),
    "late_success": (Leg(DEBIT, FLOAT, "gross"), Leg(DEBIT, OPERATOR_FEE, "operator_fee"),
                     Leg(CREDIT, SUSPENSE, "gross"), Leg(CREDIT, FLOAT, "operator_fee")),
    "suspense_settled": (Leg(DEBIT, SUSPENSE, "gross"),
                         Leg(CREDIT, MERCHANT_PENDING, "net"), Leg(CREDIT, MERCHANT_FEE, "merchant_fee")),
    "suspense_returned": (Leg(DEBIT, SUSPENSE, "gross"), Leg(CREDIT, FLOAT, "gross")),
    "cleared": (Leg(DEBIT, MERCHANT_PENDING, "net"), Leg(CREDIT, MERCHANT_AVAILABLE, "net")),
    "receivable_recovered": (Leg(DEBIT, MERCHANT_AVAILABLE, "owed"), Leg(CREDIT, RECEIVABLE, "owed")),
    "recovery_returned": (Leg(DEBIT, RECEIVABLE, "owed"), Leg(CREDIT, MERCHANT_AVAILABLE, "owed")),
    "swept": (Leg(DEBIT, IN_TRANSIT, "swept"), Leg(CREDIT, FLOAT, "swept")),
    "sweep_credited": (Leg(DEBIT, BANK, "swept"), Leg(CREDIT, IN_TRANSIT, "swept")),
    "sweep_recalled": (Leg(DEBIT, FLOAT, "swept"), Leg(CREDIT, IN_TRANSIT, "swept")),
    "payout_asked": (Leg(DEBIT, MERCHANT_AVAILABLE, "gross"), Leg(CREDIT, MERCHANT_PAYOUT, "gross")),
    "payout_paid": (Leg(DEBIT, MERCHANT_PAYOUT, "gross"), Leg(CREDIT, BANK, "gross")),
    "payout_failed": (Leg(DEBIT, MERCHANT_PAYOUT, "gross"), Leg(CREDIT, MERCHANT_AVAILABLE, "gross")),
    "payout_returned": (Leg(DEBIT, BANK, "gross"), Leg(CREDIT, MERCHANT_AVAILABLE, "gross")),
    "refund_asked": (Leg(DEBIT, MERCHANT_AVAILABLE, "from_available"), Leg(DEBIT, MERCHANT_PENDING, "from_pending"),
                     Leg(DEBIT, RECEIVABLE, "from_receivable"), Leg(DEBIT, MERCHANT_FEE, "fee"),
                     Leg(CREDIT, REFUND_PENDING, "gross")),
    "float_topped_up": (Leg(DEBIT, FLOAT, "short"), Leg(CREDIT, BANK, "short")),
    "refund_sent": (Leg(DEBIT, REFUND_PENDING, "gross"), Leg(CREDIT, FLOAT, "gross")),
}
# fmt: on
"""Money event → the legs of its entry. A leg whose amount is zero is omitted from the entry."""

DIFFERING: Final = AccountKind(0, "the account of the difference", DEBIT)
"""A placeholder in settlements for the account in `TRACKED` that differs from its statement."""


class Settlement(NamedTuple):
    """A recipe for settling a difference.

    `lines` are legs with the amounts `amount` and `fee`. A settlement without lines derives its postings from the entry
    that it settles; `entry_kinds` has the allowed kinds of that entry, None for any kind.
    """

    lines: tuple[Leg, ...] = ()
    entry_kinds: tuple[str, ...] | None = None

    @property
    def takes_entry(self) -> bool:
        """True if the amounts follow from the settled entry; False if the caller gives them."""
        return not self.lines

    @property
    def takes_fee(self) -> bool:
        """True if the settlement may have a fee besides the amount."""
        return any(line.amount == "fee" for line in self.lines)


# fmt: off
SETTLEMENTS: Final[Mapping[str, Settlement]] = {
    "reversed": Settlement(),
    "reposted": Settlement(),
    "suspense_settled": Settlement(entry_kinds=("late_success",)),
    "suspense_returned": Settlement(entry_kinds=("late_success",)),
    "payout_returned": Settlement(entry_kinds=("payout_paid",)),
    "unknown_credit": Settlement((Leg(DEBIT, DIFFERING, "amount"), Leg(DEBIT, OPERATOR_FEE, "fee"),
                                  Leg(CREDIT, SUSPENSE, "amount"), Leg(CREDIT, DIFFERING, "fee"))),
    "unknown_debit": Settlement((Leg(DEBIT, SUSPENSE, "amount"), Leg(DEBIT, OPERATOR_FEE, "fee"),
                                 Leg(CREDIT, DIFFERING, "amount"), Leg(CREDIT, DIFFERING, "fee"))),
    "fee_raised": Settlement((Leg(DEBIT, OPERATOR_FEE, "amount"), Leg(CREDIT, DIFFERING, "amount"))),
    "fee_lowered": Settlement((Leg(DEBIT, DIFFERING, "amount"), Leg(CREDIT, OPERATOR_FEE, "amount"))),
    "rounded_up": Settlement((Leg(DEBIT, DIFFERING, "amount"), Leg(CREDIT, ROUNDING, "amount"))),
    "rounded_down": Settlement((Leg(DEBIT, ROUNDING, "amount"), Leg(CREDIT, DIFFERING, "amount"))),
    "written_off": Settlement((Leg(DEBIT, WRITE_OFF, "amount"), Leg(CREDIT, SUSPENSE, "amount"))),
    "redated": Settlement((Leg(DEBIT, DIFFERING, "amount"), Leg(DEBIT, DIFFERING, "fee"),
                           Leg(CREDIT, DIFFERING, "amount"), Leg(CREDIT, DIFFERING, "fee"))),
}
# fmt: on
"""Name → recipe for settling a difference from a statement, by an entry that can be reversed like any other.

`reversed` mirrors the entry; `reposted` repeats it, with another reference if one is given. `redated` moves no money:
it acknowledges that the statement has another date.
"""


class Posting(msgspec.Struct, frozen=True):
    """A debit or credit of one account; `amount_minor` is positive, in minor units of `currency`."""

    account: str
    code: int
    side: str
    amount_minor: int
    currency: str

    @property
    def signed_minor(self) -> int:
        """The amount in minor units: positive for a debit, negative for a credit."""
        return self.amount_minor if self.side == DEBIT else -self.amount_minor


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A balanced entry, at one position in the chain.

    `number` is the entry's position in the ledger, from 1, and `seq` its position in the sandbox's trace. `occurred_ms`
    is when the money moved, and `recorded_ms` when the entry was posted, in milliseconds since 1970.
    `external_reference` is the operator's or the bank's id for the movement; `settles` is the id of an entry that this
    entry settles without undoing it. `hash` covers all other fields, `prev_hash` included.
    """

    id: str
    seq: int
    number: int = 0
    kind: str
    description: str
    payment: str | None
    reverses: str | None
    occurred_ms: int
    recorded_ms: int
    postings: tuple[Posting, ...]
    prev_hash: str = GENESIS
    external_reference: str | None = None
    settles: str | None = None
    hash: str = ""

    def sealed(self) -> "JournalEntry":
        """A copy of the entry with its hash."""
        return msgspec.structs.replace(self, hash=_hash_of(self))


def postings_for(recipe: str, amounts: Mapping[str, int], currency: str, **parties: str) -> tuple[Posting, ...]:
    """The postings of a money event, by its `recipe`, a key of `RECIPES`.

    `amounts` is name in the recipe → minor units; `parties` are the ids of the `operator` and the `merchant`. Raises
    LedgerRefused: a negative amount, or a sum that does not balance.
    """
    return _postings(RECIPES[recipe], amounts, currency, parties)


def settlement_postings(recipe: str, amounts: Mapping[str, int], currency: str, account: str) -> tuple[Posting, ...]:
    """The postings of a settlement, by its `recipe`, a key of `SETTLEMENTS`, on an `account` in `TRACKED`.

    `amounts` are minor units: `amount`, and `fee` where the recipe takes one.
    Raises LedgerRefused: a negative amount, or no amount above zero.
    """
    differing, operator = TRACKED[account]
    lines = [
        line._replace(account=differing) if line.account is DIFFERING else line for line in SETTLEMENTS[recipe].lines
    ]
    return _postings(lines, amounts, currency, {"operator": operator})


def _postings(
    lines: Iterable[Leg], amounts: Mapping[str, int], currency: str, parties: Mapping[str, str]
) -> tuple[Posting, ...]:
    postings = tuple(
        Posting(line.account.name.format(**parties), line.account.code, line.side, amounts[line.amount], currency)
        for line in lines
        if amounts[line.amount]
    )
    check_balanced(postings)
    return postings


def mirrored(postings: tuple[Posting, ...]) -> tuple[Posting, ...]:
    """The postings with debit and credit exchanged, which undo the given postings."""
    return tuple(
        msgspec.structs.replace(posting, side=CREDIT if posting.side == DEBIT else DEBIT) for posting in postings
    )


def refund_split(gross_minor: int, *, available_minor: int, pending_minor: int, fee_minor: int = 0) -> dict[str, int]:
    """Splits a refund of `gross_minor` into the amounts of its recipe: name → minor units.

    The service returns `fee_minor`. The merchant pays the rest from available money, then from pending money, and owes
    what is missing.
    """
    of_merchant = gross_minor - fee_minor
    from_available = min(of_merchant, max(0, available_minor))
    from_pending = min(of_merchant - from_available, max(0, pending_minor))
    return {
        "gross": gross_minor,
        "from_available": from_available,
        "from_pending": from_pending,
        "from_receivable": of_merchant - from_available - from_pending,
        "fee": fee_minor,
    }


def check_balanced(postings: tuple[Posting, ...]) -> None:
    """Raises LedgerRefused unless there are two or more postings, all positive, that balance in each currency."""
    if any(posting.amount_minor <= 0 for posting in postings):
        raise LedgerRefused("A posting's amount is positive; the side tells its direction.")
    sums: Counter[str] = Counter()
    for posting in postings:
        sums[posting.currency] += posting.signed_minor
    if len(postings) < 2 or any(sums.values()):  # noqa: PLR2004  double entry
        raise LedgerRefused(f"The entry does not balance: debits less credits are {dict(sums)}.", sums=dict(sums))


def check_chain(entries: Sequence[JournalEntry], *, start: str = GENESIS, before: int = 0) -> str:
    """Checks that every entry balances and follows the previous one; returns the hash of the last entry.

    `start` is the hash before the first entry, `before` the number of entries before it. Raises LedgerRefused: an entry
    was changed (the error names the first such entry), or does not balance.
    """
    head = start
    for place, entry in enumerate(entries, start=before + 1):
        if entry.number != place or entry.prev_hash != head or entry.hash != _hash_of(entry):
            raise LedgerRefused(
                f"The chain breaks at entry {place}, {entry.id}: its content is not what was recorded.",
                entry=entry.id,
                place=place,
            )
        check_balanced(entry.postings)
        head = entry.hash
    return head


def _hash_of(entry: JournalEntry) -> str:
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(entry, hash=""))).hexdigest()


class ShownPosting(NamedTuple):
    """A posting in a T-account: the label of its entry, and its amount."""

    entry: str
    money: Money


class TAccount(NamedTuple):
    """An account with its postings on both sides, in order."""

    code: int
    account: str
    currency: str
    debits: tuple[ShownPosting, ...]
    credits: tuple[ShownPosting, ...]

    @property
    def balance(self) -> tuple[str, str]:
        """The balance as text, (debit, credit); one of the two is empty."""
        debits, credits_ = (sum(posting.money.amount_minor for posting in side) for side in (self.debits, self.credits))
        shown = Money(abs(debits - credits_), self.currency).plain
        return (shown, "") if debits >= credits_ else ("", shown)


def t_accounts(postings: Iterable[Mapping[str, Any]]) -> list[TAccount]:
    """The T-account of every account with postings, sorted by code, name and currency.

    Rows have `account`, `code`, `side`, `amount_minor`, `currency`, and `entry`, the label of the entry.
    """
    sides: dict[tuple[int, str, str], tuple[list[ShownPosting], list[ShownPosting]]] = {}
    for row in postings:
        debits, credits_ = sides.setdefault((row["code"], row["account"], row["currency"]), ([], []))
        side = ShownPosting(str(row["entry"]), Money(row["amount_minor"], row["currency"]))
        (debits if row["side"] == DEBIT else credits_).append(side)
    return [TAccount(*key, tuple(debits), tuple(credits_)) for key, (debits, credits_) in sorted(sides.items())]


IN: Final = "in"
OUT: Final = "out"
POSTED: Final = "posted"
IN_SUSPENSE: Final = "in_suspense"
LATE: Final = "late_success"
WAITING: Final = "waiting"
SETTLED_AS: Final[Mapping[str, str]] = {"suspense_settled": "credited", "suspense_returned": "returned"}
"""Recipe that settles late money → the money's status afterwards; before, the status is `waiting`."""
LATE_STATES: Final = (WAITING, *SETTLED_AS.values())
CREDITED: Final = "sweep_credited"


class Movement(NamedTuple):
    """Money into or out of an account; `amount_minor` is gross and positive, and the fee lowers the balance."""

    direction: str
    amount_minor: int
    fee_minor: int
    currency: str

    @property
    def signed_minor(self) -> int:
        """The change of the account's balance in minor units: incoming is positive, outgoing and fees are negative."""
        return (self.amount_minor if self.direction == IN else -self.amount_minor) - self.fee_minor


def movements_of(postings: Sequence[Posting], account: str) -> Iterator[Movement]:
    """The movements of an account by one entry with these postings: one movement for each currency.

    A posting on the account's normal side is incoming. An entry without a fee that debits the account as much as it
    credits it gives two movements: in, then out.
    """
    on_account = [posting for posting in postings if posting.account == account]
    for currency in dict.fromkeys(posting.currency for posting in on_account):
        of_currency = [posting for posting in on_account if posting.currency == currency]
        # The operator's fee, if it takes one from this account.
        fees = [
            posting.signed_minor
            for posting in postings
            if (posting.code, posting.currency) == (OPERATOR_FEE.code, currency)
        ]
        fee = max(0, sum(fees)) if account in TRACKED else 0
        sign = 1 if KIND_BY_CODE[of_currency[0].code].normal_side == DEBIT else -1
        gross = sign * sum(posting.signed_minor for posting in of_currency) + fee
        if gross:
            yield Movement(IN if gross > 0 else OUT, abs(gross), fee, currency)
        elif fee:
            yield Movement(OUT, fee, 0, currency)
        else:
            debited_minor = sum(posting.amount_minor for posting in of_currency if posting.side == DEBIT)
            yield Movement(IN, debited_minor, 0, currency)
            yield Movement(OUT, debited_minor, 0, currency)


def key_and_batch(entry: JournalEntry) -> tuple[str | None, str | None]:
    """The key by which an entry's movement matches its statement row, and the id of its batch; each may be None.

    In a batch, the key is the entry's id and the batch is its external reference. For any other movement, the key is
    the entry's external reference, and there is no batch.
    """
    # The other side may book several of these entries as one movement, as it does with a night's credits.
    follows = entry.reverses is not None or entry.settles is not None
    is_reported = entry.kind in SETTLEMENTS and not SETTLEMENTS[entry.kind].takes_entry
    is_part = entry.kind == CREDITED or follows or is_reported
    return (entry.id, entry.external_reference) if is_part else (entry.external_reference, None)
