"""A row of a statement as its operator or bank knows it, from the ledger's movements and what only operators know."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import groupby
from typing import Any, Final, NamedTuple

from workbench.analysis.break_codes import INVALID, LATE_SUCCESS, MISSING
from workbench.analysis.shapes import COMPLETED
from workbench.analysis.simulate.plan import Chances, Payment, day_of, phone_of
from workbench.domain.catalogue import OPERATOR_NAMES
from workbench.domain.gaps import Gaps
from workbench.domain.ids import reference
from workbench.domain.ledger import BANK, CREDITED, FLOAT, IN, IN_SUSPENSE
from workbench.domain.moments import milliseconds, moment
from workbench.domain.money import ZMW
from workbench.domain.payments import fees_of
from workbench.domain.phones import OPERATORS
from workbench.domain.scenarios import UNKNOWN

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
"""Kind of entry → the row's type and description on a statement."""
_SAME: Final = ("account", "key", "direction", "amount_minor", "fee_minor", "currency", "status", "batch")
"""The columns that a movement and its row share."""
_OTHER: Final = ("other", "Adjustment")
_TRANCHE_MINOR: Final = 500_000
_MOST_TRANCHES: Final = 5
_TRANCHE_MS: Final = 420_000
_OWN_SEQ: Final = 90_000_000
"""The first number of keys that only an operator knows; the ledger's numbers stay far below."""


class Row(NamedTuple):
    """A statement's row to be written; `code` is its planted break, and `cells` are written instead of its values."""

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
    decoy: str | None = None
    """Why the row only looks like a break."""

    @property
    def effect_minor(self) -> int:
        """The change of the file's balance by the row; 0 if the row moves nothing."""
        # The file's own balance does not count an amount that cannot be read.
        if self.status != COMPLETED or (self.code == INVALID and "amount" in self.cells):
            return 0
        return (self.amount_minor if self.direction == IN else -self.amount_minor) - self.fee_minor

    @property
    def natural_key(self) -> str:
        """The row's name in draws: account, moment, amount and payer, whatever ids a sandbox gave it."""
        return f"{self.account} {self.at_ms} {self.amount_minor} {self.phone}"

    @property
    def looks(self) -> tuple[str, str, int, str | None]:
        """The fields by which a partner with another key is sought."""
        return self.account, self.direction, self.amount_minor, self.phone

    def record(self, balance_minor: int) -> dict[str, Any]:
        """The row in the columns of a statement, with the balance after it."""
        when = {"occurred_at": moment(self.at_ms), "business_date": day_of(self.at_ms)}
        return {**self._asdict(), **when, "balance_minor": balance_minor}


class Known(NamedTuple):
    """A movement that both sides know: the statement's rows, and the ledger's entry."""

    rows: tuple[Row, ...]
    entry: str
    kind: str
    day: date
    """The ledger's business date."""
    in_parts: bool = False
    """True if either side has the movement in several rows."""


def known_from(movements: Iterable[Mapping[str, Any]], chances: Chances) -> Iterator[Known]:
    """Yields the ledger's movements on one account, in order, with the rows of its statement.

    The bank has one row for a night's credits, and several for a large payout.
    """
    for _, (first, *others) in groupby(movements, key=lambda movement: movement["batch"] or movement["entry"]):
        row, kind = _row(first, chances), first["kind"]
        if kind == CREDITED:
            whole_minor = row.amount_minor + sum(movement["amount_minor"] for movement in others)
            row = row._replace(key=first["batch"], batch=None, amount_minor=whole_minor)
        rows = _tranches(row) if kind == PAID_OUT else (row,)
        yield Known(rows, first["entry"], kind, first["business_date"], kind == CREDITED or len(rows) > 1)


def statement_row(payment: Payment, gaps: Gaps) -> Row:
    """The operator's row of a payment that failed, or whose money moved without a word."""
    unheard, operator = payment.scenario == UNKNOWN, payment.operator
    row = Row(
        account=FLOAT.name.format(operator=operator),
        key=own_key(operator, payment.at_ms, payment.number),
        at_ms=payment.at_ms,
        direction=IN,
        amount_minor=payment.amount_minor,
        fee_minor=fees_of(payment.amount_minor, gaps).operator_minor if unheard else 0,
        phone=payment.phone,
        type="payment",
        description=_TYPES[SECURED][1],
    )
    if unheard:
        return row._replace(code=MISSING["statement"])
    name = OPERATOR_NAMES[payment.scenario]._asdict().get(operator) or payment.scenario.upper()
    return row._replace(status="failed", description=f"Not paid: {name}")


def own_key(operator: str, at_ms: int, number: int) -> str:
    """A transaction's id that the ledger does not know, in the operator's form."""
    return reference(operator, at_ms, seq=_OWN_SEQ + number)


def _row(movement: Mapping[str, Any], chances: Chances) -> Row:
    kind, words = _TYPES.get(movement["kind"], _OTHER)
    phone = movement["phone"]
    return Row(
        **{name: movement[name] for name in _SAME},
        at_ms=milliseconds(movement["occurred_at"]),
        phone=phone and phone_of(phone[:6], phone[-3:], chances),
        type=kind,
        description=words,
        related=movement["payment"] if kind == "reversal" else None,
        code=LATE_SUCCESS if movement["state"] == IN_SUSPENSE else None,
    )


def _tranches(row: Row) -> tuple[Row, ...]:
    """A large payout as the bank sends it: parts minutes apart, each with a key of its own."""
    parts = min(_MOST_TRANCHES, -(-row.amount_minor // _TRANCHE_MINOR))
    if parts == 1:
        return (row,)
    each_minor, over_minor = divmod(row.amount_minor, parts)
    return tuple(
        row._replace(
            key=f"{row.key}-{part + 1}",
            batch=row.key,
            at_ms=row.at_ms + part * _TRANCHE_MS,
            amount_minor=each_minor + (0 if part else over_minor),
        )
        for part in range(parts)
    )
