"""What a break is: a row for each code, with its texts, its place in the order, and the entries that would settle it.

A pair is what both sides say of one thing (`reconcile.pairs.Pair`): the ledger's columns begin with `l_`, the
statement's with `s_`. An amount as text brings with it whether it is gross, or net of the fee.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from workbench.analysis.frames import day_number, day_of, python_rows
from workbench.analysis.shapes import COMPLETED, DIRECTIONS, MADE, STATUSES
from workbench.domain.masking import mask
from workbench.domain.moments import DAY_MS, rfc3339
from workbench.domain.money import major, money_text

if TYPE_CHECKING:
    import pandas as pd

INVALID: Final = "invalid_row"
DUPLICATE: Final = {"ledger": "duplicate_in_ledger", "statement": "duplicate_in_statement"}
MISSING: Final = {"ledger": "missing_in_statement", "statement": "missing_in_ledger"}
"""By the side that has the row, as above."""
AMBIGUOUS: Final = "ambiguous"
WRONG_REFERENCE: Final = "wrong_reference"
BATCH_MISMATCH: Final = "batch_mismatch"
TIMING: Final = "timing"
LATE_SUCCESS: Final = "late_success"
REVERSED_UNMATCHED: Final = "reversed_unmatched"
PAYOUT_UNPAID: Final = "payout_unpaid"
MATCHED: Final = "matched"
TOLD_AGAIN: Final = "told_again"
"""What a summary calls rows that are part of no break: they agree, or are lines that count once and stand twice."""

VERDICTS: Final[Mapping[str, str]] = {
    "match": "matched", "accept": "accepted", "write_off": "written off", "ignore": "ignored",
}  # fmt: skip
"""What a person may decide about a break, and how it is told. A match names the breaks that are the other part."""

_PARTNERS: Final = 10
"""So many breaks with the opposite amount are offered as the other part of one."""
BUCKETS: Final = {"0–1": 1, "2–3": 3, "4–7": 7, "8–30": 30, "31+": None}  # noqa: RUF001  an en dash, as in print
"""The name of each age and the days to which it reaches."""
DAYS: Final = tuple(day_number(date(year, 1, 1)) for year in (1900, 3000))
"""A date before or after is none: no calendar of a spreadsheet has it, or no text of a date."""
MOST_MINOR: Final = 10**15
"""No movement is larger: thirteen digits before the point, as in a statement's cell."""

Pair = Mapping[str, Any]
Body = dict[str, Any]
"""What the operation that posts an entry takes."""
Propose = Callable[[Pair, Sequence[Pair]], list[Body]]
"""The entries that settle a pair, in the order in which they are posted; of a group its ledger rows are given too."""


def bucket_of(age_days: int) -> str:
    """The bucket of an age."""
    return next(name for name, last in BUCKETS.items() if last is None or age_days <= last)


def partners_of(breaks: "pd.DataFrame", suggested: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """Candidates for the other part of each named break, best first: ids with `; ` between them.

    Candidates are `suggested`, or have the opposite amount; a break that has both sides gets only suggested ones.
    """
    named = [*names]
    mine = breaks[breaks["id"].isin(named) & (breaks["side"] != "both")]
    found: dict[str, list[str]] = {name: [] for name in named}
    for group in suggested:
        ids = group.split("; ")
        for name in found.keys() & ids if len(ids) > 1 else ():
            found[name].append("; ".join(other for other in ids if other != name))
    opposite: dict[tuple[str, int], list[str]] = defaultdict(list)
    others = breaks[(breaks["side"] != "both") & breaks["variance_minor"].isin(-mine["variance_minor"])]
    for name, currency, minor in python_rows(others[others["variance_minor"] != 0], "id", "currency", "variance_minor"):
        opposite[currency, minor].append(name)
    for name, currency, minor in python_rows(mine[mine["variance_minor"].notna()], "id", "currency", "variance_minor"):
        found[name] += opposite[currency, -minor][:_PARTNERS]
    return {name: list(dict.fromkeys(others)) for name, others in found.items()}


def reason_of(pair: Pair) -> str:
    """Why it is a break, with the figures."""
    text = BREAK_CODES[pair["code"]].reason.format_map(_Facts(pair))
    return text.replace(_KEYLESS, _KEYLESS.capitalize(), 1) if text.startswith(_KEYLESS) else text


def settlement_of(code: str, account: str = "") -> str:
    """The advice about a break; the account's name shows whom to ask."""
    whom = next((who for prefix, who in _WHOM.items() if account.startswith(prefix)), "the operator or the bank")
    return BREAK_CODES[code].settlement.format(whom=whom)


_WHOM: Final = {"operator:": "the operator", "bank:": "the bank"}


def proposal_of(pair: Pair, members: Sequence[Pair]) -> str | None:
    """A JSON list of bodies; null where no entry settles it."""
    propose = BREAK_CODES[pair["code"]].propose
    bodies = propose(pair, members) if propose else []
    return json.dumps(bodies) if bodies else None


class _Facts:
    """The facts that a reason may name, as text, made when named: amounts in major units with their currency."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._mine = "s" if pair["s_no"] is not None else "l"

    def __getitem__(self, name: str) -> str:
        if name in _FACTS:
            return _FACTS[name](self._pair, self._mine)
        side, _, field = name.partition("_")
        if field == "amount":
            return _amount(self._pair, side, field)
        value = self._pair[name]
        if field == "fee":
            return money_text(value, _currency(self._pair, side))
        return _day(value) if field == "day" else _or(value)


def has_key(key: str | None) -> bool:
    """True for a row's own key: a made key says nothing to a person."""
    return key is not None and not key.startswith(MADE)


def _or(value: object) -> str:
    return str(value) if has_key(None if value is None else str(value)) else _KEYLESS


_KEYLESS: Final = "a row without a key"


def _day(days: int | None) -> str:
    return "no date" if days is None else day_of(days).isoformat()


def _currency(pair: Pair, side: str) -> str | None:
    found: str | None = pair[f"{side}_currency"] or pair["l_currency"] or pair["s_currency"]
    return found


def _amount(pair: Pair, side: str, field: str = "signed") -> str:
    minor = pair[f"{side}_{field}"]
    text = money_text(minor, _currency(pair, side))
    return text if minor is None else f"{text} {'net' if field == 'signed' else 'gross'}"


def _apart(pair: Pair, field: str) -> str:
    return money_text(abs((pair[f"l_{field}"] or 0) - (pair[f"s_{field}"] or 0)), _currency(pair, "s"))


def _problem(pair: Pair, mine: str) -> str:
    """Why a row cannot be used: what the reader reported, or which field is missing or out of bounds."""
    row = {name.removeprefix(f"{mine}_"): value for name, value in pair.items()}
    if row["problem"] is not None:
        # It quotes a cell, which in a row that is shifted may be the customer's number.
        return mask(str(row["problem"])).rstrip(".")
    names = {"key": "key", "amount": "amount", "fee": "fee", "currency": "currency", "day": "business date"}
    found = [f"no {text}" for name, text in names.items() if row[name] is None]
    found += [f"a negative {name}" for name in ("amount", "fee") if (row[name] or 0) < 0]
    found += [f"more than 13 digits in its {name}" for name in ("amount", "fee") if abs(row[name] or 0) > MOST_MINOR]
    found += [
        f"{row[name]!r} as {name}, which is none of {', '.join(known)}"
        for name, known in (("direction", DIRECTIONS), ("status", STATUSES))
        if row[name] not in known
    ]
    return ", ".join(found)


_FACTS: Final[Mapping[str, Callable[[Pair, str], str]]] = {
    "key": lambda pair, mine: _or(pair[f"{mine}_key"]),
    "g": lambda pair, _: _or(pair["g"]),
    "rows": lambda pair, _: str(pair["rows"]),
    "refers": lambda pair, mine: _or(pair[f"{mine}_refers"]),
    "problem": _problem,
    "ledger": lambda pair, _: _amount(pair, "l"),
    "statement": lambda pair, _: _amount(pair, "s"),
    "moved": _amount,
    "day": lambda pair, mine: _day(pair[f"{mine}_day"]),
    "amount_off": lambda pair, _: _apart(pair, "amount"),
    "fee_off": lambda pair, _: _apart(pair, "fee"),
    "variance_off": lambda pair, _: _apart(pair, "signed"),
    "days_off": lambda pair, _: str(abs(pair["l_day"] - pair["s_day"])),
}


def _body(pair: Pair, recipe: str, amount: int, text: str, **more: Any) -> Body:  # noqa: ANN401  values of JSON
    return {
        "recipe": recipe, "amount_minor": amount, "fee_minor": 0, "currency": pair["l_currency"] or pair["s_currency"],
        "account": pair["account"], "reference": None, "entry": None, "occurred_at": None, "description": text, **more,
    }  # fmt: skip


def _at(pair: Pair) -> str | None:
    """The statement's moment, if it tells one."""
    at = pair["s_at"]
    return rfc3339(at) if at is not None and DAYS[0] <= at // DAY_MS < DAYS[1] else None


def _booked(pair: Pair, recipe: str, amount: int, fee: int = 0) -> Body:
    text = f"{pair['code']} of {pair['s_key']} on {pair['s_source']}, line {pair['s_no']}"
    return _body(pair, recipe, amount, text, fee_minor=fee, reference=pair["g"], occurred_at=_at(pair))


_UNKNOWN: Final = ("unknown_credit", "unknown_debit")
_ROUNDED: Final = ("rounded_up", "rounded_down")
_FEE: Final = ("fee_lowered", "fee_raised")
"""A recipe for an account's gain, and one for its loss: a fee that falls raises the account."""
_OF_KIND: Final = {"fee": _FEE, "rounding": _ROUNDED}


def as_kind(proposal: str, kind: str) -> str:
    """A proposal that books unknown money as money of a kind: a charge as a fee."""
    bodies: list[Body] = json.loads(proposal)
    for body in bodies:
        if body["recipe"] in _UNKNOWN:
            place = _UNKNOWN.index(body["recipe"])
            net = body["amount_minor"] + (body["fee_minor"] if place else -body["fee_minor"])
            if kind in _OF_KIND and net > 0:
                body |= {"recipe": _OF_KIND[kind][place], "amount_minor": net, "fee_minor": 0}
            body["description"] = f"{kind}: {body['description']}"
    return json.dumps(bodies)


def _net(recipes: tuple[str, str], pair: Pair, amount: int) -> list[Body]:
    """Books a gain by the first recipe and a loss by the second; an amount of 0 books nothing."""
    up, down = recipes
    return [_booked(pair, up if amount > 0 else down, abs(amount))] if amount else []


def _reverse(pair: Pair, members: Sequence[Pair] = ()) -> list[Body]:
    """Mirror the entry, or each entry of a group."""
    made = []
    for row in members or [pair]:
        text = f"Reverses {row['l_entry']}: {pair['code']}"
        made.append(_body(pair, "reversed", row["l_amount"], text, fee_minor=row["l_fee"], entry=row["l_entry"]))
    return made


def _book(pair: Pair, _: Sequence[Pair] = ()) -> list[Body]:
    """Book what only the statement has."""
    incoming = pair["s_direction"] == "in"
    if pair["s_kind"] == "fee" and not incoming:
        return [_booked(pair, "fee_raised", pair["s_amount"] + pair["s_fee"])]
    return [_booked(pair, _UNKNOWN[0] if incoming else _UNKNOWN[1], pair["s_amount"], pair["s_fee"])]


def _book_difference(pair: Pair, _: Sequence[Pair]) -> list[Body]:
    """Book by how much amount and fee of the statement differ from the ledger's, each as what it is."""
    amount = (pair["s_amount"] - pair["l_amount"]) * (1 if pair["s_direction"] == "in" else -1)
    # Up to half a kwacha is taken for rounding, or half of another currency's major unit.
    recipes = _ROUNDED if 2 * abs(major(amount, pair["s_currency"])) <= 1 else _UNKNOWN
    return _net(recipes, pair, amount) + _net(_FEE, pair, pair["l_fee"] - pair["s_fee"])


def _post_anew(pair: Pair, _: Sequence[Pair]) -> list[Body]:
    """Under the statement's reference; by how much the fees differ is booked besides."""
    text = f"{pair['l_entry']} under the statement's reference {pair['s_key']}"
    more = {"reference": pair["s_key"], "entry": pair["l_entry"], "occurred_at": _at(pair)}
    again = _body(pair, "reposted", pair["l_amount"], text, fee_minor=pair["l_fee"], **more)
    keyed = {**pair, "g": pair["s_key"]}
    return [*_reverse(pair), again, *_net(_FEE, keyed, pair["s_signed"] - pair["l_signed"])]


def _follow_statement(pair: Pair, members: Sequence[Pair]) -> list[Body]:
    """Reverse what only the ledger has, book what only the statement has."""
    if pair["s_no"] is None:
        return _reverse(pair, members)
    return _net(_UNKNOWN, pair, pair["s_signed"]) if pair["rows"] > 1 else _book(pair)


def _settle_suspense(pair: Pair, _: Sequence[Pair]) -> list[Body]:
    text = f"Settles the late money of {pair['l_key']}"
    return [_body(pair, "suspense_settled", pair["l_amount"], text, entry=pair["l_entry"])]


def _follow_reversal(pair: Pair, members: Sequence[Pair]) -> list[Body]:
    if pair["s_no"] is None:
        return _reverse(pair, members)
    if pair["reversed_entry"] is None:
        return _book(pair)
    mirror = {**_booked(pair, "reversed", pair["s_amount"], pair["s_fee"]), "entry": pair["reversed_entry"]}
    # The mirror gives the fee back as well; what the operator kept of it is booked again.
    return [mirror, *_net(_FEE, pair, pair["s_signed"] + pair["reversed_signed"])]


def _return_payout(pair: Pair, _: Sequence[Pair]) -> list[Body]:
    text = f"The bank did not pay {pair['l_key']}"
    return [_body(pair, "payout_returned", pair["l_amount"], text, reference=pair["g"], entry=pair["l_entry"])]


class BreakCode(NamedTuple):
    """The texts and the proposal for breaks of one code.

    `meaning` explains the code in a report. `reason` is a template over the facts of a break, and `settlement` advises
    a person: `settlement_of` fills in whom to ask. `propose` makes the entries that settle it, if any can.
    """

    meaning: str
    reason: str
    settlement: str
    propose: Propose | None = None


BREAK_CODES: Final[Mapping[str, BreakCode]] = {
    INVALID: BreakCode(
        "A row that cannot be used: it cannot be read, or has no key.",
        "The row cannot be used: {problem}.",
        "Correct the row at its source and read it again; nothing is posted for it.",
    ),
    DUPLICATE["ledger"]: BreakCode(
        "The ledger has a key more than once in one direction, the statement does not; each extra entry is a break.",
        "{key} is booked more than once; this extra entry moves {ledger}, and the statement has no row for it.",
        "Unless the statement has this movement under another key, reverse the extra entry.",
        _reverse,
    ),
    DUPLICATE["statement"]: BreakCode(
        "The statement has a key more than once in one direction, and the ledger does not; each extra row is a break.",
        "{key} is on the statement more than once; this extra row moves {statement}, without an entry in the ledger.",
        "Ask {whom} whether the money moved twice. If it did, book it as unknown money under the same reference.",
        _book,
    ),
    AMBIGUOUS: BreakCode(
        "Several rows fit equally well, so a person must choose.",
        "{key} moves {moved}, and several rows fit by {fits}.",
        "Choose the matching row by hand: the files do not tell which it is.",
    ),
    "currency_mismatch": BreakCode(
        "One key, two currencies.",
        "{key} is in {l_currency} in the ledger and in {s_currency} on the statement.",
        "Ask {whom} for a corrected statement.",
    ),
    "status_mismatch": BreakCode(
        "One side says completed, the other does not.",
        "{key} is {l_status} in the ledger ({ledger}) and {s_status} on the statement ({statement}).",
        "Follow the side that can show the money: reverse the entry, or book what the statement shows.",
        lambda pair, _: _reverse(pair) if pair["l_status"] == COMPLETED else _book(pair),
    ),
    "direction_mismatch": BreakCode(
        "One side has the money coming in, the other going out.",
        "The ledger has {key} going {l_direction} ({ledger}), the statement has it going {s_direction} ({statement}).",
        "Reverse the entry and book the movement as the statement has it.",
        lambda pair, _: [*_reverse(pair), *_book(pair)],
    ),
    "amount_mismatch": BreakCode(
        "One key, two amounts.",
        "{key} is {l_amount} in the ledger and {s_amount} on the statement: {amount_off} apart; "
        "with fees of {l_fee} and {s_fee} that is {ledger} and {statement}.",
        "Ask {whom} which is right; if the statement is, book the difference.",
        _book_difference,
    ),
    "fee_mismatch": BreakCode(
        "One key and one amount, two fees.",
        "The fee of {key} is {l_fee} in the ledger and {s_fee} on the statement: {fee_off} apart, "
        "which leaves {ledger} and {statement}.",
        "Check it against the tariff of {whom}; if the statement is right, book the difference as fee.",
        _book_difference,
    ),
    "date_mismatch": BreakCode(
        "The same movement on two days, further apart than the tolerance.",
        "{key} is of {l_day} in the ledger and of {s_day} on the statement: {days_off} days apart.",
        "Acknowledge the statement's date.",
        lambda pair, _: [{**_booked(pair, "redated", pair["l_amount"]), "entry": pair["l_entry"]}],
    ),
    WRONG_REFERENCE: BreakCode(
        "No common key, but phone, amount and time agree (or the fields that you chose): probably one movement.",
        "{l_key} of the ledger and {s_key} of the statement agree in {fits}: {s_amount}.",
        "If both rows are one movement, book it again under the statement's reference.",
        _post_anew,
    ),
    BATCH_MISMATCH: BreakCode(
        "The rows of a batch do not add up to the other side.",
        "The {rows} rows of {g} add up to {ledger} in the ledger and to {statement} on the statement: "
        "{variance_off} apart.",
        "Find the part that is missing from the batch; then book the difference under its reference.",
        lambda pair, _: _net(_UNKNOWN, pair, pair["s_signed"] - pair["l_signed"]),
    ),
    TIMING: BreakCode(
        "One side has it; within the cut-off, the other may still follow.",
        "{key} moves {moved} on {day}, within the cut-off; the other side may still follow.",
        "Wait: it is carried forward to the next run.",
    ),
    MISSING["ledger"]: BreakCode(
        "The ledger has it, the statement does not, and it is past the cut-off.",
        "The ledger moves {ledger} on {day} ({l_key}); the statement does not have it.",
        "Ask {whom}; if the money never moved, reverse the entry.",
        _follow_statement,
    ),
    MISSING["statement"]: BreakCode(
        "The statement has it, the ledger does not, and it is past the cut-off.",
        "The statement moves {statement} on {day} ({s_key}); the ledger does not have it.",
        "Find out whose money it is; until then, book it as unknown money.",
        _follow_statement,
    ),
    LATE_SUCCESS: BreakCode(
        "Money that arrived after its payment had failed; it is in suspense until somebody decides.",
        "{key} brought {ledger} after the payment had failed; the money is still in suspense.",
        "Give it to the merchant, or send it back to the customer.",
        _settle_suspense,
    ),
    REVERSED_UNMATCHED: BreakCode(
        "A reversal that the other side does not have.",
        "{key} reverses {refers} by {moved}; the other side has no such reversal.",
        "Book the reversal too; if only the ledger has it and it never happened, reverse it.",
        _follow_reversal,
    ),
    PAYOUT_UNPAID: BreakCode(
        "A payout that the ledger shows as paid and the bank does not.",
        "The ledger paid out {ledger} on {day} ({l_key}); the bank never did.",
        "Ask the bank; if it did not pay, book the payout as returned.",
        _return_payout,
    ),
}
"""By code, in the order in which the rules give them; everything that goes by code is derived from this table."""
CODES: Final = tuple(BREAK_CODES)
