"""The journal entries that would settle a break: bodies for the operation that posts them, by code."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workbench.analysis.reconcile.rules import (
    BATCH_MISMATCH,
    LATE_SUCCESS,
    PAYOUT_UNPAID,
    REVERSED_UNMATCHED,
    WRONG_REFERENCE,
)
from workbench.analysis.reconcile.words import Pair
from workbench.domain.moments import rfc3339

ROUNDING_MINOR: Final = 50
"""Up to half a kwacha a difference of amounts is taken for rounding."""

Body = dict[str, Any]
Members = Sequence[Pair]
"""The ledger's rows of a group, as pairs of the columns `l_…`."""


def proposal_of(pair: Pair, members: Members) -> str | None:
    """A JSON list of bodies, in the order in which they are posted; null where no entry settles it."""
    bodies = PROPOSALS[pair["code"]](pair, members) if pair["code"] in PROPOSALS else []
    if pair["told_twice"] or not bodies:
        return None
    return json.dumps(bodies)


def _body(pair: Pair, recipe: str, amount: int, said: str, **more: Any) -> Body:  # noqa: ANN401  values of JSON
    return {
        "recipe": recipe,
        "amount_minor": amount,
        "fee_minor": 0,
        "currency": pair["l_currency"] or pair["s_currency"],
        "account": pair["account"],
        "reference": None,
        "entry": None,
        "occurred_at": None,
        "description": said,
        **more,
    }


def _when(pair: Pair) -> str | None:
    """The statement's moment, if it tells one."""
    return None if pair["s_at"] is None else rfc3339(pair["s_at"])


def _reversed(pair: Pair, members: Members = ()) -> list[Body]:
    """Mirror the entry, or each entry of a group."""
    return [
        _body(
            pair,
            "reversed",
            each["l_amount"],
            f"Reverses {each['l_entry']}: {pair['code']}",
            fee_minor=each["l_fee"],
            entry=each["l_entry"],
        )
        for each in (members or [pair])
    ]


def _unknown(pair: Pair, _: Members = ()) -> list[Body]:
    """Book what only the statement has."""
    incoming = pair["s_direction"] == "in"
    if pair["s_kind"] == "fee" and not incoming:
        return [_booked(pair, "fee_raised", pair["s_amount"] + pair["s_fee"])]
    return [_booked(pair, "unknown_credit" if incoming else "unknown_debit", pair["s_amount"], pair["s_fee"])]


def _booked(pair: Pair, recipe: str, amount: int, fee: int = 0) -> Body:
    said = f"{pair['code']} of {pair['s_key']} on {pair['s_source']}, line {pair['s_no']}"
    return _body(pair, recipe, amount, said, fee_minor=fee, reference=pair["g"], occurred_at=_when(pair))


def _signed(recipes: tuple[str, str], pair: Pair, amount: int) -> list[Body]:
    """The first recipe for what the account gains, the second for what it loses; nothing for nothing."""
    up, down = recipes
    return [_booked(pair, up if amount > 0 else down, abs(amount))] if amount else []


def _difference(pair: Pair, _: Members = ()) -> list[Body]:
    """Book by how much amount and fee of the statement differ from the ledger's, each as what it is."""
    sign = 1 if pair["s_direction"] == "in" else -1
    amount = sign * (pair["s_amount"] - pair["l_amount"])
    small = 0 < abs(amount) <= ROUNDING_MINOR
    recipes = ("rounded_up", "rounded_down") if small else ("unknown_credit", "unknown_debit")
    return _signed(recipes, pair, amount) + _signed(_FEE, pair, pair["l_fee"] - pair["s_fee"])


_FEE: Final = ("fee_lowered", "fee_raised")
"""A fee that falls raises the account."""


def _summed(pair: Pair, _: Members) -> list[Body]:
    return _signed(("unknown_credit", "unknown_debit"), pair, pair["s_signed"] - pair["l_signed"])


def _one_sided(pair: Pair, members: Members) -> list[Body]:
    """Reverse what only the ledger has, book what only the statement has."""
    if pair["s_no"] is None:
        return _reversed(pair, members)
    if pair["rows"] > 1:
        return _signed(("unknown_credit", "unknown_debit"), pair, pair["s_signed"])
    return _unknown(pair)


def _status(pair: Pair, _: Members) -> list[Body]:
    return _reversed(pair) if pair["l_moves"] else _unknown(pair)


def _reference(pair: Pair, _: Members) -> list[Body]:
    again = _body(
        pair,
        "reposted",
        pair["l_amount"],
        f"{pair['l_entry']} under the statement's reference {pair['s_key']}",
        fee_minor=pair["l_fee"],
        reference=pair["s_key"],
        entry=pair["l_entry"],
        occurred_at=_when(pair),
    )
    keyed = {**pair, "g": pair["s_key"]}
    return [*_reversed(pair), again, *_signed(_FEE, keyed, pair["s_signed"] - pair["l_signed"])]


def _dated(pair: Pair, _: Members) -> list[Body]:
    return [{**_booked(pair, "redated", pair["l_amount"]), "entry": pair["l_entry"]}]


def _suspense(pair: Pair, _: Members) -> list[Body]:
    said = f"Settles the late money of {pair['l_key']}"
    return [_body(pair, "suspense_settled", pair["l_amount"], said, entry=pair["l_entry"])]


def _reversal(pair: Pair, members: Members) -> list[Body]:
    if pair["s_no"] is None:
        return _reversed(pair, members)
    if pair["reversed_entry"] is None:
        return _unknown(pair)
    mirror = _booked(pair, "reversed", pair["s_amount"], pair["s_fee"])
    # The mirror gives the fee back as well; what the operator kept of it is booked again.
    kept = pair["s_signed"] + pair["reversed_signed"]
    return [{**mirror, "entry": pair["reversed_entry"]}, *_signed(_FEE, pair, kept)]


def _returned(pair: Pair, _: Members) -> list[Body]:
    said = f"The bank did not pay {pair['l_key']}"
    return [_body(pair, "payout_returned", pair["l_amount"], said, reference=pair["g"], entry=pair["l_entry"])]


PROPOSALS: Final[Mapping[str, Callable[[Pair, Members], list[Body]]]] = {
    "duplicate_in_statement": _unknown,
    "duplicate_in_ledger": _reversed,
    "status_mismatch": _status,
    "direction_mismatch": lambda pair, _: [*_reversed(pair), *_unknown(pair)],
    "amount_mismatch": _difference,
    "fee_mismatch": _difference,
    "date_mismatch": _dated,
    WRONG_REFERENCE: _reference,
    BATCH_MISMATCH: _summed,
    "missing_in_statement": _one_sided,
    "missing_in_ledger": _one_sided,
    LATE_SUCCESS: _suspense,
    REVERSED_UNMATCHED: _reversal,
    PAYOUT_UNPAID: _returned,
}
"""By code; for one that is not here, no entry of the books would settle it."""
