"""The codes of breaks: for each code its texts, its place in the order, and the entries that would settle a break.

A pair is a ledger row beside its statement row (`reconcile.breaks`): the ledger's columns begin with `l_`, the
statement's with `s_`. The functions take a table of many pairs and work column by column. The texts say whether an
amount is gross, or net of the fee.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import day_number, python_rows
from workbench.analysis.shapes import COMPLETED, DIRECTIONS, MADE_UP_PREFIX, STATUSES
from workbench.domain.masking import mask
from workbench.domain.moments import DAY_MS
from workbench.domain.money import decimals_of, money_text
from workbench.resources import read_toml

if TYPE_CHECKING:
    import pandas as pd

INVALID: Final = "invalid_row"
DUPLICATE: Final = {"ledger": "duplicate_in_ledger", "statement": "duplicate_in_statement"}
MISSING: Final = {"ledger": "missing_in_statement", "statement": "missing_in_ledger"}
"""Side that has the row → the code of the break, since the other side lacks the row."""
AMBIGUOUS: Final = "ambiguous"
WRONG_REFERENCE: Final = "wrong_reference"
BATCH_MISMATCH: Final = "batch_mismatch"
TIMING: Final = "timing"
LATE_SUCCESS: Final = "late_success"
REVERSED_UNMATCHED: Final = "reversed_unmatched"
CURRENCY_MISMATCH: Final = "currency_mismatch"
PAYOUT_UNPAID: Final = "payout_unpaid"
MATCHED: Final = "matched"
"""The code, in the summary, of rows that are part of no break and are not repeated."""
TOLD_AGAIN: Final = "told_again"
"""The code, in the summary, of statement lines that repeat an earlier line: they are listed, and add no value."""

WRITE_OFF: Final = "write_off"
VERDICTS: Final[Mapping[str, str]] = {
    "match": "matched", "accept": "accepted", WRITE_OFF: "written off", "ignore": "ignored",
}  # fmt: skip
"""A person's verdict on a break → its wording in a sentence. A `match` also names the other breaks of the match."""
TO_BOOK: Final = ("accept", WRITE_OFF, "expected")
"""The verdicts, of people or of a rule, after which a break waits for its booking."""

_PARTNERS: Final = 10
"""The most breaks with the opposite variance that are offered as partners of one break."""
BUCKETS: Final = {"0\u20131": 1, "2\u20133": 3, "4\u20137": 7, "8\u201330": 30, "31+": None}
"""Name of an age bucket (days, with an en dash) → its greatest age in days; None for no limit."""
DAYS: Final = tuple(day_number(date(year, 1, 1)) for year in (1900, 3000))
"""The limits of valid dates, in days since 1970: 1900-01-01 and 3000-01-01."""
MOST_MINOR: Final = 10**15
"""The largest amount of a movement, in minor units: thirteen digits before the point, as in a statement's cell."""

Values: TypeAlias = pa.ChunkedArray
"""A column of a table of pairs: one value for each pair."""
Propose = Callable[[pa.Table], Values]
"""A function from the pairs of one code to a request body for each pair, as JSON; the request posts the proposed entry.

The body is null where no entry fits. Either all pairs of a table have a statement row, or none has: then `s_no` is null
in all pairs. In a grouped pair, the column `reversals` has the bodies that reverse its ledger rows.
"""


def bucket_of(age_days: int) -> str:
    """The name, in BUCKETS, of the bucket for an age in days."""
    return next(name for name, last in BUCKETS.items() if last is None or age_days <= last)


def partners_of(breaks: "pd.DataFrame", suggested: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """Id of each break in `names` → candidates for its partner in a match, best first.

    A candidate is the id of a break, or several ids joined by `; `. First come the other breaks of each suggestion that
    includes the break: a text in `suggested` has all ids of one suggestion, joined by `; `. If the break has rows on
    one side only, other breaks with rows on one side only follow: those of its account and currency with the opposite
    variance.
    """
    named = [*names]
    mine = breaks[breaks["id"].isin(named) & (breaks["side"] != "both")]
    candidates: dict[str, list[str]] = {name: [] for name in named}
    for group in suggested:
        ids = group.split("; ")
        for name in candidates.keys() & ids if len(ids) > 1 else ():
            candidates[name].append("; ".join(other for other in ids if other != name))
    opposite: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    others = breaks[(breaks["side"] != "both") & breaks["variance_minor"].isin(-mine["variance_minor"])]
    names_of = ("id", "account", "currency", "variance_minor")
    for name, account, currency, minor in python_rows(others[others["variance_minor"] != 0], *names_of):
        opposite[account, currency, minor].append(name)
    for name, account, currency, minor in python_rows(mine[mine["variance_minor"].notna()], *names_of):
        candidates[name] += opposite[account, currency, -minor][:_PARTNERS]
    return {name: list(dict.fromkeys(others)) for name, others in candidates.items()}


def reasons_of(pairs: pa.Table) -> Values:
    """The reason of each pair, a sentence with figures. All pairs share one code; all or none have a statement row."""
    mine = "l" if pairs["s_no"].null_count else "s"
    parts = Formatter().parse(BREAK_CODES[pairs["code"][0].as_py()].reason)
    texts = [part for literal, name, *_ in parts for part in (literal, _fact(pairs, name, mine) if name else "")]
    text = _joined(*texts)
    begins = _joined(KEYLESS[0].upper(), pc.utf8_slice_codeunits(text, 1))
    return pc.if_else(pc.starts_with(text, KEYLESS), begins, text)


def settlement_of(code: str, account: str = "") -> str:
    """Advice to a person on how to settle breaks of this code; the account's prefix decides whom to ask."""
    whom = next((who for prefix, who in _WHOM.items() if account.startswith(prefix)), "the operator or the bank")
    return BREAK_CODES[code].settlement.format(whom=whom)


BOOK_IT: Final = "Book the {}."
"""The advice on money whose kind is known: `fee`, `interest` or `rounding`."""
CORRECT_CURRENCY: Final = "Correct the ledger: reverse the entry, and book it in the account's currency."
"""The advice on a pair in two currencies, of which the ledger's is not the account's."""
_WHOM: Final = {"operator:": "the operator", "bank:": "the bank"}


def proposals_of(pairs: pa.Table) -> Values:
    """The proposed entries of each pair as a JSON list of request bodies; null where no entry settles the pair.

    All pairs have one code; all or none have a statement row.
    """
    proposed = [propose(pairs) for propose in _PROPOSED.get(pairs["code"][0].as_py(), ())]
    bodies = [pc.if_else(pc.is_valid(body), _joined(", ", body), "") for body in proposed]
    joined = _joined("[", *bodies, pa.array([""] * len(pairs)), "]")
    joined = pc.replace_substring(joined, "[, ", "[", max_replacements=1)
    return pc.if_else(pc.equal(joined, "[]"), None, joined)


def _fact(pairs: pa.Table, name: str, mine: str) -> Values:
    """The value of the fact `name` of each pair, as text for its reason; amounts are in major units with the currency.

    `mine` is the side that the reason is about: `l` for the ledger, `s` for the statement. A fact `…_off` is the
    difference between the sides. A fact whose name has no side is read from the side `mine`.
    """
    side, _, field = _FACTS.get(name, name).format(mine).partition("_")
    if name == "days_off":
        return pc.abs(pc.subtract(pairs["l_day"], pairs["s_day"]))
    if field == "off":
        return _money(pc.abs(_statement_less_ledger(pairs, side)), _currency(pairs, "s"))
    if field in _SORTS:
        minor = pairs[f"{side}_{field}"]
        text = _money(minor, _currency(pairs, side))
        return pc.if_else(pc.is_valid(minor), _joined(text, _SORTS[field]), text)
    if field == "day":
        return pairs[f"{side}_day"].cast(pa.int32()).cast(pa.date32()).cast(pa.string()).fill_null("no date")
    if field == "problem":
        return _problems(pairs, side)
    texts = pairs[f"{side}_{field}" if field else side].cast(pa.string())
    return pc.if_else(pc.starts_with(texts, MADE_UP_PREFIX), KEYLESS, texts).fill_null(KEYLESS)


_FACTS: Final = {
    "ledger": "l_signed", "statement": "s_signed", "moved": "{}_signed", "variance_off": "signed_off",
    **{name: f"{{}}_{name}" for name in ("key", "day", "refers", "problem")},
}  # fmt: skip
"""Name of a fact → the column that has it; `{}` stands for the side's prefix, `l` or `s`."""
_SORTS: Final = {"amount": " gross", "signed": " net", "fee": ""}


def _joined(*parts: str | Values) -> Values:
    """The texts and columns, joined in each row without a separator; a null is written as `None`."""
    texts = [part if isinstance(part, str) else part.cast(pa.string()) for part in parts]
    return pc.binary_join_element_wise(*texts, "", null_handling="replace", null_replacement="None")


def has_key(key: str | None) -> bool:
    """True for a key that a file gave; False for None, and for a key that the reader made up (MADE_UP_PREFIX)."""
    return key is not None and not key.startswith(MADE_UP_PREFIX)


KEYLESS: Final = "a row without a key"


def _currency(pairs: pa.Table, *sides: str) -> Values:
    """The currency of each pair, from the first side that names one: `sides`, then the ledger, then the statement."""
    return pc.coalesce(*(pairs[f"{side}_currency"] for side in (*sides, "l", "s")))


def _money(amounts: Values, currencies: Values) -> Values:
    rows = zip(amounts.to_pylist(), currencies.to_pylist(), strict=True)
    return pa.array([money_text(minor, currency) for minor, currency in rows], pa.string())


def _statement_less_ledger(pairs: pa.Table, field: str) -> Values:
    """The statement's value of `field` less the ledger's, for each pair; a missing row counts as 0."""
    return pc.subtract(*(pairs[f"{side}_{field}"].fill_null(0) for side in ("s", "l")))


def _problems(pairs: pa.Table, mine: str) -> Values:
    """The reason why each row of the side `mine` is unusable: the reader's problem, or the missing and wrong fields."""
    fields = {"key": "key", "amount": "amount", "fee": "fee", "currency": "currency", "day": "business date"}
    names, problems = ("problem", *fields, "direction", "status"), []
    for values in zip(*(pairs[f"{mine}_{name}"].to_pylist() for name in names), strict=True):
        row = dict(zip(names, values, strict=True))
        faults = [f"no {text}" for name, text in fields.items() if row[name] is None]
        faults += [f"a negative {name}" for name in ("amount", "fee") if (row[name] or 0) < 0]
        large = [name for name in ("amount", "fee") if abs(row[name] or 0) > MOST_MINOR]
        faults += [f"more than 13 digits in its {name}" for name in large]
        faults += [
            f"{row[name]!r} as {name}, which is none of {', '.join(known)}"
            for name, known in (("direction", DIRECTIONS), ("status", STATUSES))
            if row[name] not in known
        ]
        # The problem quotes a cell, which in a row that is shifted may be the customer's number.
        reported = row["problem"] is not None
        problems.append(mask(str(row["problem"])).rstrip(".") if reported else ", ".join(faults))
    return pa.array(problems, pa.string())


def _body(
    pairs: pa.Table, recipe: str | Values, amount: str | Values, text: str, **more: str | int | Values | None
) -> Values:
    """The JSON body, for each pair, of the request that posts an entry; null where the column `recipe` is null.

    `recipe` is the name of a kind of entry, or a column of names. `text` is a template over columns of the pairs and
    gives the entry's description. `amount` and the further fields in `more` are columns, names of columns, or numbers.
    """
    fields = {
        "recipe": recipe, "amount_minor": amount, "fee_minor": 0, "currency": _currency(pairs),
        "account": "account", "reference": None, "entry": None, "occurred_at": None, **more,
    }  # fmt: skip
    texts = [part for literal, name, *_ in Formatter().parse(text) for part in (literal, pairs[name] if name else "")]
    fields["description"] = _joined(*texts)
    parts = []
    for name, value in fields.items():
        values = pairs[value] if isinstance(value, str) and name != "recipe" else value
        parts += [f', "{name}": ', _json(values)]
    body = _joined("{", parts[0].removeprefix(", "), *parts[1:], "}")
    return body if isinstance(recipe, str) else pc.if_else(pc.is_valid(recipe), body, None)


def _json(value: str | int | Values | None) -> str | Values:
    """The value as JSON text; for a column, the JSON text of each of its values."""
    if value is None or isinstance(value, str | int):
        return json.dumps(value)
    if not pa.types.is_string(value.type):
        return value.cast(pa.string()).fill_null("null")
    if pc.any(pc.match_substring_regex(value, _ESCAPED)).as_py():
        return pa.array(map(json.dumps, value.to_pylist()), pa.string())
    return pc.binary_join_element_wise('"', value, '"', "").fill_null("null")


_ESCAPED: Final = r'[^ -~]|["\\]'
"""A pattern for the characters that ASCII JSON escapes."""


def _at(pairs: pa.Table) -> Values:
    """The moment of each statement row in RFC 3339; null if the row has no moment, or one outside of DAYS."""
    at, (first, last) = pairs["s_at"], (day * DAY_MS for day in DAYS)
    is_known = pc.and_(pc.greater_equal(at, first), pc.less(at, last))
    text = pc.if_else(is_known, at, None).cast(pa.timestamp("ms")).cast(pa.string())
    return pc.binary_join_element_wise(pc.replace_substring(text, " ", "T"), "Z", "")


def _booked(
    pairs: pa.Table, recipe: str | Values, amount: str | Values, fee: str | int | Values = 0, **more: str
) -> Values:
    more = {"reference": "g", **more}
    text = "{code} of {s_key} on {s_source}, line {s_no}"
    return _body(pairs, recipe, amount, text, fee_minor=fee, occurred_at=_at(pairs), **more)


UNKNOWN: Final = ("unknown_credit", "unknown_debit")
_ROUNDED: Final = ("rounded_up", "rounded_down")
_FEE: Final = ("fee_lowered", "fee_raised")
"""UNKNOWN, _ROUNDED and _FEE have the recipe for a gain of the account, then that for a loss. A lower fee is a gain."""
_OF_KIND: Final = {"fee": _FEE, "rounding": _ROUNDED}
KINDS: Final = (*_OF_KIND, "interest")
"""Values of a rule's `kind` that have a meaning; any other text only labels unknown money."""


def as_kind(proposal: str, kind: str) -> str:
    """The proposal (a JSON list) with the kind before the description of each `unknown_credit` or `unknown_debit`.

    The description then begins with `fee: `, for example. If the kind is `fee` or `rounding`, and the entry's net
    amount is above 0, the entry becomes a fee or rounding entry of the net amount, without a fee. The net amount of a
    credit is the amount less the fee; of a debit, it is the sum.
    """
    bodies: list[dict[str, Any]] = json.loads(proposal)
    for body in bodies:
        if body["recipe"] in UNKNOWN:
            place = UNKNOWN.index(body["recipe"])
            net = body["amount_minor"] + (body["fee_minor"] if place else -body["fee_minor"])
            if kind in _OF_KIND and net > 0:
                body |= {"recipe": _OF_KIND[kind][place], "amount_minor": net, "fee_minor": 0}
            body["description"] = f"{kind}: {body['description']}"
    return json.dumps(bodies)


def _net(recipes: tuple[str, str], pairs: pa.Table, amount: Values, **more: str) -> Values:
    """Proposes to book a gain by the first recipe or a loss by the second; proposes nothing for an amount of 0.

    `amount` has the gain of each pair in minor units, negative for a loss; `more` has further fields of the body.
    """
    up, down = recipes
    recipe = pc.if_else(pc.equal(amount, 0), None, pc.if_else(pc.greater(amount, 0), up, down))
    return _booked(pairs, recipe, pc.abs(amount), **more)


def reverse(pairs: pa.Table, **more: str) -> Values:
    """Proposes to reverse the ledger entry of each pair; `more` replaces fields of the JSON body."""
    more = {"fee_minor": "l_fee", "entry": "l_entry", **more}
    return _body(pairs, "reversed", "l_amount", "Reverses {l_entry}: {code}", **more)


def _book(pairs: pa.Table) -> Values:
    """Proposes to book the statement's row: an outgoing fee as a fee, any other row as unknown money."""
    is_incoming = pc.equal(pairs["s_direction"], "in")
    is_fee = pc.and_not(pc.fill_null(pc.equal(pairs["s_kind"], "fee"), fill_value=False), is_incoming)
    recipe = pc.if_else(is_fee, _FEE[1], pc.if_else(is_incoming, *UNKNOWN))
    amount = pc.if_else(is_fee, pc.add(pairs["s_amount"], pairs["s_fee"]), pairs["s_amount"])
    return _booked(pairs, recipe, amount, pc.if_else(is_fee, 0, pairs["s_fee"]))


def _book_difference(pairs: pa.Table) -> Values:
    """Proposes to book the statement's amount less the ledger's.

    A difference of up to half a major unit is booked as rounding, a larger one as unknown money.
    """
    more = _statement_less_ledger(pairs, "amount")
    amount = pc.if_else(pc.equal(pairs["s_direction"], "in"), more, pc.negate(more))
    units = pa.array([10 ** decimals_of(currency) for currency in pairs["s_currency"].to_pylist()], pa.int64())
    # Up to half a kwacha is taken for rounding, or half of another currency's major unit.
    is_rounding = pc.less_equal(pc.multiply(pc.abs(amount), 2), units)
    return pc.if_else(is_rounding, _net(_ROUNDED, pairs, amount), _net(UNKNOWN, pairs, amount))


def _book_fee(pairs: pa.Table) -> Values:
    """Proposes to book the difference between the statement's fee and the ledger's."""
    return _net(_FEE, pairs, pc.negate(_statement_less_ledger(pairs, "fee")))


def _book_fee_anew(pairs: pa.Table) -> Values:
    """Proposes to book the difference between the sides' net amounts as a fee, under the statement's reference."""
    return _net(_FEE, pairs, _statement_less_ledger(pairs, "signed"), reference="s_key")


def _post_anew(pairs: pa.Table) -> Values:
    """Proposes to post the ledger's entry again, under the statement's reference."""
    text = "{l_entry} under the statement's reference {s_key}"
    more = {"fee_minor": "l_fee", "reference": "s_key", "entry": "l_entry", "occurred_at": _at(pairs)}
    return _body(pairs, "reposted", "l_amount", text, **more)


def _follow_statement(pairs: pa.Table) -> Values:
    """Proposes to reverse a row that only the ledger has.

    Proposes to book a row, or the sum of a batch, that only the statement has.
    """
    if pairs["s_no"].null_count:
        return pc.coalesce(pairs["reversals"], reverse(pairs))
    several = _net(UNKNOWN, pairs, pairs["s_signed"])
    return pc.if_else(pc.greater(pairs["rows"], 1), several, _book(pairs))


def _follow_reversal(pairs: pa.Table) -> Values:
    """Proposes to reverse a row that only the ledger has.

    For a reversal that only the statement has, proposes to reverse the ledger entry that it names; if the ledger has no
    such entry, proposes to book the row.
    """
    if pairs["s_no"].null_count:
        return pc.coalesce(pairs["reversals"], reverse(pairs))
    mirror = _booked(pairs, "reversed", "s_amount", "s_fee", entry="reversed_entry")
    return pc.if_else(pc.is_valid(pairs["reversed_entry"]), mirror, _book(pairs))


def _book_kept_fee(pairs: pa.Table) -> Values:
    """Proposes to book the part of a reversed payment's fee that the operator kept.

    The entry that reverses the payment comes first in the proposal and gives back the whole fee.
    """
    kept = pc.add(pairs["s_signed"], pairs["reversed_signed"])
    return _net(_FEE, pairs, pc.if_else(pc.is_valid(pairs["reversed_entry"]), kept, None))


def _follow_status(pairs: pa.Table) -> Values:
    is_booked = pc.equal(pairs["l_status"], COMPLETED)
    return pc.if_else(is_booked, reverse(pairs), _book(pairs))


STATEMENT, BOOKS = "statement", "books"


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line of an account's reconciliation that lists breaks of one code.

    `plus` is its text for breaks that raise the balance, `less` for those that lower it, if that text differs.
    `adjusts` is the balance that the line adjusts: the constant STATEMENT or BOOKS. None stands for the balance of the
    side that lacks the row.
    """

    plus: str
    less: str = ""
    adjusts: str | None = None


class BreakCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts for breaks of one code.

    `meaning` explains the code in a report. `reason` is a template over the facts of a break. `settlement` advises a
    person; `settlement_of` fills in whom to ask. `item` is the line under which an account's reconciliation lists the
    breaks.
    """

    meaning: str
    reason: str
    settlement: str
    item: Item | None = None
    """None for rows without a partner: the side that lacks them decides the line, `outstanding` or `not booked`."""


BREAK_CODES: Final = msgspec.convert(read_toml(Path(__file__).with_suffix(".toml").read_bytes()), dict[str, BreakCode])
"""Code → its texts, in the order in which the rules try the codes. All else about codes is derived from this table."""
CODES: Final = tuple(BREAK_CODES)
_PROPOSED: Final[Mapping[str, Sequence[Propose]]] = {
    DUPLICATE["ledger"]: (reverse,),
    DUPLICATE["statement"]: (_book,),
    "status_mismatch": (_follow_status,),
    "direction_mismatch": (reverse, _book),
    "amount_mismatch": (_book_difference, _book_fee),
    "fee_mismatch": (_book_difference, _book_fee),
    "date_mismatch": (partial(_booked, recipe="redated", amount="l_amount", entry="l_entry"),),
    WRONG_REFERENCE: (partial(reverse, reference="l_key"), _post_anew, _book_fee_anew),
    BATCH_MISMATCH: (lambda pairs: _net(UNKNOWN, pairs, _statement_less_ledger(pairs, "signed")),),
    MISSING["ledger"]: (_follow_statement,),
    MISSING["statement"]: (_follow_statement,),
    LATE_SUCCESS: (
        partial(
            _body,
            recipe="suspense_settled",
            amount="l_amount",
            text="Settles the late money of {l_key}",
            entry="l_entry",
        ),
    ),
    REVERSED_UNMATCHED: (_follow_reversal, _book_kept_fee),
    PAYOUT_UNPAID: (
        partial(
            _body,
            recipe="payout_returned",
            amount="l_amount",
            text="The bank did not pay {l_key}",
            reference="g",
            entry="l_entry",
        ),
    ),
}
"""Code → the functions that propose the entries for its breaks, in posting order; other codes propose no entry."""
