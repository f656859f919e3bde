"""Each break in words: why it is one, and what a person does about it. One table of both, by code."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

from workbench.analysis.reconcile.rows import DIRECTIONS, STATUSES
from workbench.analysis.reconcile.rules import (
    AMBIGUOUS,
    BATCH_MISMATCH,
    INVALID,
    LATE_SUCCESS,
    PAYOUT_UNPAID,
    REVERSED_UNMATCHED,
    TIMING,
    WRONG_REFERENCE,
)
from workbench.domain.masking import mask

EPOCH: Final = date(1970, 1, 1)
Pair = Mapping[str, Any]
"""A row of BROKEN: columns to values."""


class Said(NamedTuple):
    """Templates over the facts of a break (`Facts`). An amount brings the word with it: gross, or net of the fee."""

    reason: str
    settlement: str


WORDS: Final[Mapping[str, Said]] = {
    INVALID: Said(
        "The row cannot be used: {problem}.",
        "Correct the row at its source and read it again; nothing is posted for it.",
    ),
    "duplicate_in_statement": Said(
        "{key} stands more than once on the statement; this further row moves {statement}{told_twice}.",
        "Ask the operator whether the money moved twice. If it did, book it as unknown money under the same reference.",
    ),
    "duplicate_in_ledger": Said(
        "{key} is booked more than once; this further entry moves {ledger}.",
        "Reverse the further entry.",
    ),
    AMBIGUOUS: Said(
        "{key} moves {moved} and fits several rows of the other side by phone, amount and time.",
        "Choose the partner by hand: no machine can tell them apart.",
    ),
    "currency_mismatch": Said(
        "{key} is in {l_currency} in the ledger and in {s_currency} on the statement.",
        "Ask the operator for a corrected statement.",
    ),
    "status_mismatch": Said(
        "{key} is {l_status} in the ledger ({ledger}) and {s_status} on the statement ({statement}).",
        "Follow the side that can show the money: reverse the entry, or book what the statement shows.",
    ),
    "direction_mismatch": Said(
        "{key} goes {l_direction} in the ledger ({ledger}) and {s_direction} on the statement ({statement}).",
        "Reverse the entry and book the movement as the statement has it.",
    ),
    "amount_mismatch": Said(
        "{key} is {l_amount} in the ledger and {s_amount} on the statement: {amount_off} apart; "
        "with fees of {l_fee} and {s_fee} that is {ledger} and {statement}.",
        "Ask the operator which is right; if the statement is, book the difference.",
    ),
    "fee_mismatch": Said(
        "The fee of {key} is {l_fee} in the ledger and {s_fee} on the statement: {fee_off} apart, "
        "which leaves {ledger} and {statement}.",
        "Check it against the operator's tariff; if the statement is right, book the difference as fee.",
    ),
    "date_mismatch": Said(
        "{key} is of {l_day} in the ledger and of {s_day} on the statement: {days_off} days apart.",
        "Acknowledge the statement's date.",
    ),
    WRONG_REFERENCE: Said(
        "{l_key} of the ledger and {s_key} of the statement agree in phone, amount ({s_amount}) and time.",
        "If they are one movement, book it anew under the statement's reference.",
    ),
    BATCH_MISMATCH: Said(
        "The {rows} rows of {g} add up to {ledger} in the ledger and to {statement} on the statement: "
        "{variance_off} apart.",
        "Find the part that is missing from the batch; then book the difference under its reference.",
    ),
    TIMING: Said(
        "{key} moves {moved} on {day}, too near the end of the books to be on both sides.",
        "Wait: it is carried forward to the next run.",
    ),
    "missing_in_statement": Said(
        "The ledger moves {ledger} on {day} ({l_key}); the statement does not have it.",
        "Ask the operator; if the money never moved, reverse the entry.",
    ),
    "missing_in_ledger": Said(
        "The statement moves {statement} on {day} ({s_key}); the ledger does not have it.",
        "Find whose it is; until then book it as unknown money.",
    ),
    LATE_SUCCESS: Said(
        "{key} brought {ledger} after the payment had been given up; the money is still in suspense.",
        "Give it to the merchant, or send it back to the customer.",
    ),
    REVERSED_UNMATCHED: Said(
        "{key} reverses {refers} by {moved}; the other side has no such reversal.",
        "Book the reversal too; if it is the ledger's and never happened, reverse it.",
    ),
    PAYOUT_UNPAID: Said(
        "The ledger paid out {ledger} on {day} ({l_key}); the bank never did.",
        "Ask the bank; if it did not pay, book the payout as returned.",
    ),
}


class Facts:
    """What the templates may name, as text: amounts in major units with their currency. Worked out when named."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._mine = "s" if pair["s_no"] is not None else "l"

    def __getitem__(self, name: str) -> str:
        if name in _FACTS:
            return _FACTS[name](self._pair, self._mine)
        side, _, field = name.partition("_")
        value = self._pair[name]
        if field == "amount":
            return _called(value, self._pair, side, "gross")
        if field == "fee":
            return amount_text(value, _currency(self._pair, side))
        return day_text(value) if field == "day" else _or(value)


_FACTS: Final[Mapping[str, Callable[[Pair, str], str]]] = {
    "key": lambda pair, mine: _or(pair[f"{mine}_key"]),
    "g": lambda pair, _: _or(pair["g"]),
    "rows": lambda pair, _: str(pair["rows"]),
    "refers": lambda pair, mine: _or(pair[f"{mine}_refers"]),
    "problem": lambda pair, mine: problem_of(pair, mine),  # noqa: PLW0108  it is defined below
    "told_twice": lambda pair, _: ", though it is the same line in another file" if pair["told_twice"] else "",
    "ledger": lambda pair, _: _called(pair["l_signed"], pair, "l", "net"),
    "statement": lambda pair, _: _called(pair["s_signed"], pair, "s", "net"),
    "moved": lambda pair, mine: _called(pair[f"{mine}_signed"], pair, mine, "net"),
    "day": lambda pair, mine: day_text(pair[f"{mine}_day"]),
    "amount_off": lambda pair, _: _apart(pair, "amount"),
    "fee_off": lambda pair, _: _apart(pair, "fee"),
    "variance_off": lambda pair, _: _apart(pair, "signed"),
    "days_off": lambda pair, _: str(abs(pair["l_day"] - pair["s_day"])),
}


def reason_of(pair: Pair) -> str:
    """Why it is a break, with the figures."""
    return WORDS[pair["code"]].reason.format_map(Facts(pair))


def _currency(pair: Pair, side: str) -> str | None:
    found: str | None = pair[f"{side}_currency"] or pair["l_currency"] or pair["s_currency"]
    return found


_FIELDS: Final = {
    "key": "no key", "amount": "no amount", "fee": "no fee", "currency": "no currency", "day": "no business date",
}  # fmt: skip


def problem_of(pair: Pair, mine: str) -> str:
    """Why a row cannot be used: what the reader said, or which field is missing or out of bounds."""
    if pair[f"{mine}_problem"] is not None:
        # It quotes a cell, which in a row that is shifted may be the customer's number.
        return mask(str(pair[f"{mine}_problem"])).rstrip(".")
    found = [words for name, words in _FIELDS.items() if pair[f"{mine}_{name}"] is None]
    found += [f"a negative {name}" for name in ("amount", "fee") if (pair[f"{mine}_{name}"] or 0) < 0]
    found += [
        f"{pair[f'{mine}_{name}']!r} as {name}, which is none of {', '.join(words)}"
        for name, words in (("direction", DIRECTIONS), ("status", STATUSES))
        if pair[f"{mine}_{name}"] not in words
    ]
    return ", ".join(found)


def amount_text(amount_minor: int | None, currency: str | None) -> str:
    """Major units with two decimals: `K1,234.50`, `USD 3.00`; a minus stands first."""
    if amount_minor is None:
        return "nothing"
    sign = "−" if amount_minor < 0 else ""  # noqa: RUF001  a minus, not a hyphen
    before = "K" if currency == "ZMW" else f"{currency} " if currency else ""
    whole, rest = divmod(abs(amount_minor), 100)
    return f"{sign}{before}{whole:,}.{rest:02d}"


def _called(minor: int | None, pair: Pair, side: str, what: str) -> str:
    said = amount_text(minor, _currency(pair, side))
    return said if minor is None else f"{said} {what}"


def day_text(day: int | None) -> str:
    """A day as ISO 8601."""
    return "no date" if day is None else (EPOCH + timedelta(days=day)).isoformat()


def _apart(pair: Pair, name: str) -> str:
    return amount_text(abs((pair[f"l_{name}"] or 0) - (pair[f"s_{name}"] or 0)), _currency(pair, "s"))


def _or(value: object) -> str:
    return "a row without a key" if value is None else str(value)
