"""A row of a statement as its operator or bank knows it, from the ledger's movements and what only operators know."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import groupby
from typing import Any, Final, NamedTuple

from workbench.analysis.breaks import LATE_SUCCESS, MISSING
from workbench.analysis.shapes import COMPLETED
from workbench.analysis.simulate.plan import Chances, day_of, phone_of
from workbench.domain.catalogue import OPERATOR_NAMES
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK, CREDITED, FLOAT, IN, IN_SUSPENSE
from workbench.domain.moments import milliseconds, moment
from workbench.domain.money import ZMW
from workbench.domain.payments import fees_of
from workbench.domain.phones import OPERATORS
from workbench.domain.references import reference
from workbench.domain.scenarios import UNKNOWN


class StatementInfo(NamedTuple):
    """A payment that failed, or whose money moved without a word: `scenario` is our code for it."""

    at_ms: int
    number: int
    operator: str
    amount_minor: int
    phone: str
    scenario: str


FAILED: Final = "failed"
SECURED: Final = "funds_secured"
PAID_OUT: Final = "payout_paid"
ACCOUNTS: Final[Mapping[str, str]] = {
    **{FLOAT.name.format(operator=operator): operator for operator in OPERATORS},
    BANK.name: "aggregator",
}
"""Account → the layout of its statement."""
FILES: Final[Mapping[str, str]] = {
    "mtn": "mtn.csv", "airtel": "airtel.xlsx", "zamtel": "zamtel.csv", "aggregator": "aggregator.csv",
}  # fmt: skip
"""Layout → the file's name."""

_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    SECURED: ("payment", "Payment to PLANT STORE"),
    LATE_SUCCESS: ("payment", "Payment to PLANT STORE"),
    "refund_sent": ("refund", "Refund from PLANT STORE"),
    "swept": ("transfer", "Sweep to settlement account"),
    "sweep_recalled": ("transfer", "Sweep called back"),
    "float_topped_up": ("transfer", "Top-up from settlement account"),
    CREDITED: ("transfer", "Collections credited"),
    PAID_OUT: ("payout", "Payout to merchant"),
    "payout_returned": ("reversal", "Payout returned"),
}
"""Kind of entry → what the other side calls it, and its words."""
_OTHER: Final = ("other", "Adjustment")
_TRANCHE_MINOR: Final = 500_000
_MOST_TRANCHES: Final = 5
_TRANCHE_MS: Final = 420_000
_OWN_SEQ: Final = 90_000_000
"""Where the keys begin that an operator gave and the ledger never heard of; the ledger's stay far below."""


class Row(NamedTuple):
    """A row as it will be written; `code` is the break that it is, `cells` are written instead of its values."""

    account: str
    key: str | None
    at_ms: int
    direction: str
    amount_minor: int
    fee_minor: int
    phone: str | None
    type: str
    description: str
    currency: str = ZMW.code
    status: str = COMPLETED
    batch: str | None = None
    related: str | None = None
    code: str | None = None
    cells: Mapping[str, str] = {}
    unreadable: bool = False
    """The amount cannot be read: the file's own balance does not count it."""
    decoy: str | None = None
    """As what it only looks like a break."""

    @property
    def day(self) -> date:
        """The business date."""
        return day_of(self.at_ms)

    @property
    def effect_minor(self) -> int:
        """What it does to the balance."""
        if self.status != COMPLETED or self.unreadable:
            return 0
        return (self.amount_minor if self.direction == IN else -self.amount_minor) - self.fee_minor

    @property
    def natural_key(self) -> str:
        """By what draws know it: what was paid by whom and when, whatever ids a sandbox gave it."""
        return f"{self.account} {self.at_ms} {self.amount_minor} {self.phone}"

    @property
    def looks(self) -> tuple[str, str, int, str | None]:
        """By what a partner is sought where keys do not agree."""
        return self.account, self.direction, self.amount_minor, self.phone

    def record(self, balance_minor: int) -> dict[str, Any]:
        """The row in the columns of a statement."""
        own = self._asdict()
        return {**own, "occurred_at": moment(self.at_ms), "business_date": self.day, "balance_minor": balance_minor}


class Known(NamedTuple):
    """What both sides know as one: the rows that the other side tells it in, and the ledger's entry."""

    rows: tuple[Row, ...]
    entry: str
    kind: str
    day: date
    """The ledger's business date."""
    in_parts: bool = False
    """Whether either side has it in several rows."""


def known_from(movements: Iterable[Mapping[str, Any]], chances: Chances) -> Iterator[Known]:
    """The ledger's movements on one account, in order, as its operator or bank tells them.

    A night's credits are one for the bank, and a large payout leaves it in several.
    """
    for _, of_one in groupby(movements, key=lambda each: each["batch"] or each["entry"]):
        together = list(of_one)
        first = together[0]
        row = _row(first, chances)
        if first["kind"] == CREDITED:
            whole = sum(each["amount_minor"] for each in together)
            row = row._replace(key=first["batch"], batch=None, amount_minor=whole)
        rows = _tranches(row) if first["kind"] == PAID_OUT else (row,)
        in_parts = first["kind"] == CREDITED or len(rows) > 1
        yield Known(rows, first["entry"], first["kind"], first["business_date"], in_parts)


def statement_row(info: StatementInfo, gaps: Gaps) -> Row:
    """What an operator tells of a payment that the ledger did not hear of."""
    unheard = info.scenario == UNKNOWN
    names = OPERATOR_NAMES[info.scenario]._asdict()
    return Row(
        account=FLOAT.name.format(operator=info.operator),
        key=own_key(info.operator, info.at_ms, info.number),
        at_ms=info.at_ms,
        direction=IN,
        amount_minor=info.amount_minor,
        fee_minor=fees_of(info.amount_minor, gaps).operator_minor if unheard else 0,
        phone=info.phone,
        type="payment",
        description=_TYPES[SECURED][1] if unheard else f"Not paid: {names.get(info.operator) or info.scenario.upper()}",
        status=COMPLETED if unheard else FAILED,
        code=MISSING["statement"] if unheard else None,
    )


def own_key(operator: str, at_ms: int, number: int) -> str:
    """A transaction's id that the ledger does not know, in the operator's form."""
    return reference(operator, at_ms, seq=_OWN_SEQ + number)


def _row(movement: Mapping[str, Any], chances: Chances) -> Row:
    kind, words = _TYPES.get(movement["kind"], _OTHER)
    phone = movement["phone"]
    return Row(
        account=movement["account"],
        key=movement["key"],
        at_ms=milliseconds(movement["occurred_at"]),
        direction=movement["direction"],
        amount_minor=movement["amount_minor"],
        fee_minor=movement["fee_minor"],
        phone=phone and phone_of(phone[:6], phone[-3:], chances),
        type=kind,
        description=words,
        currency=movement["currency"],
        status=movement["status"],
        batch=movement["batch"],
        related=movement["payment"] if kind == "reversal" else None,
        code=LATE_SUCCESS if movement["state"] == IN_SUSPENSE else None,
    )


def _tranches(row: Row) -> tuple[Row, ...]:
    """A large payout as the bank sends it: parts minutes apart, each with a key of its own."""
    parts = min(_MOST_TRANCHES, -(-row.amount_minor // _TRANCHE_MINOR))
    if parts == 1:
        return (row,)
    each_minor, over_minor = divmod(row.amount_minor, parts)
    rows = []
    for part in range(parts):
        amount_minor, at_ms = each_minor + (over_minor if part == 0 else 0), row.at_ms + part * _TRANCHE_MS
        rows.append(row._replace(key=f"{row.key}-{part + 1}", batch=row.key, at_ms=at_ms, amount_minor=amount_minor))
    return tuple(rows)
