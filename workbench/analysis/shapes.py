"""The columns of every table: names and pandas types, declared once."""

from collections.abc import Mapping
from typing import Final

Columns = Mapping[str, str]
"""Name → pandas type, in order."""

MOMENT: Final = "datetime64[ms, UTC]"
DAY: Final = "date32[day][pyarrow]"

_TYPES: Final[Mapping[str, str]] = {
    "at": MOMENT,
    "date": DAY,
    "days": "Int64",
    "line": "Int64",
    "holds": "bool",
    **dict.fromkeys(("minor", "number", "rows", "breaks", "attempts", "seq"), "int64"),
    **dict.fromkeys(("direction", "currency", "status", "state", "kind", "type", "rule", "side"), "category"),
    **dict.fromkeys(("provider", "channel", "object", "code", "bucket"), "category"),
}
"""The last word of a column's name → its type; any other word is that of a text."""


def _columns(names: str, **otherwise: str) -> Columns:
    """These columns, in order: the name gives the type, and `otherwise` has the exceptions."""
    return {name: otherwise.get(name, _TYPES.get(name.rpartition("_")[2], "string")) for name in names.split()}


MOVEMENT: Columns = _columns(
    "account key batch occurred_at business_date direction amount_minor fee_minor currency status phone"
)
"""One movement of money on one account, as either side tells it.

`key` is the transaction id that both sides know, `batch` the key of the whole of which the row is a
part. `amount_minor` is gross and positive; the fee lowers the balance, in either direction. Only what
is `completed` moves money. Phones are masked.
"""
DIRECTIONS: Final = ("in", "out")
COMPLETED: Final = "completed"
STATUSES: Final = (COMPLETED, "failed", "pending")

LEDGER_MOVEMENT: Columns = {**MOVEMENT, **_columns("entry number kind payment reverses state balance_minor")}
"""What the ledger says of an account; `state` is `in_suspense` while late money waits for a decision."""

_REPORTED: Columns = {name: {"int64": "Int64"}.get(kind, kind) for name, kind in MOVEMENT.items()}
"""A movement of which any cell may be empty."""

STATEMENT_ROW: Columns = {
    **_columns("statement line", line="int64"),
    **_REPORTED,
    **_columns("type related description words balance_minor problem phone_hash", balance_minor="Int64"),
}
"""What an operator or a bank says: `line` of the file named `statement`; with a `problem`, cells may be empty.

`description` is the narrative, and `words` what the file itself calls the row's type and status. `phone_hash` tells
two numbers apart that look alike masked.
"""

MADE: Final = "made-"
"""How a key begins that was made, because the file has none."""

PAYMENTS: Columns = _columns(
    "id status amount_minor currency provider phone failure_code latest_charge description cancellation_reason "
    "canceled_at created_at business_date"
)
"""Payment intents; `failure_code` is the last attempt's."""

CHARGES: Columns = _columns(
    "id status amount_minor refunded_minor currency channel provider phone failure_code reference payment_intent "
    "created_at business_date"
)
"""Each attempt to move money, of an intent or on its own."""

REFUNDS: Columns = _columns(
    "id status amount_minor currency charge payment_intent reason failure_code created_at business_date"
)

PAYOUTS: Columns = _columns("id status amount_minor currency destination failure_code created_at business_date")

SUSPENSE: Columns = _columns(
    "id status amount_minor currency charge payment_intent phone operator_reference since_at business_date settled_at "
    "settled_by"
)
"""Money that came after its attempt had failed: it waits, or was credited to the merchant or returned by an entry."""

EVENTS: Columns = _columns("id type object object_id status request created_at business_date")
"""What has happened; `object_id` and `status` are of the object as it was then, `request` caused it."""

DELIVERIES: Columns = _columns(
    "id status event event_type endpoint url attempts last_status_code last_fault last_attempt_at next_attempt_at "
    "created_at business_date",
    last_status_code="Int64",
)
"""Each event on its way to an endpoint, and how the last attempt at it ended."""

MATCH: Columns = _columns("rule account group side statement line entry key currency signed_minor differences")
"""Every row that agrees, a row for each side's row; those of one `group` belong together."""

_SAID_BY_BOTH: Final = ("ledger_minor", "statement_minor", "ledger_amount_minor", "ledger_fee_minor",
                        "statement_amount_minor", "statement_fee_minor")  # fmt: skip
BREAK: Columns = _columns(
    "id statement line account key code side entry ledger_amount_minor ledger_fee_minor ledger_minor "
    "statement_amount_minor statement_fee_minor statement_minor variance_minor currency business_date age_days bucket "
    "since_date phone rows description words reason settlement proposal rule verdict partner who when why",
    **dict.fromkeys(_SAID_BY_BOTH, "Int64"),
)
"""Every row that does not agree, with the reason and the entries that would settle it (JSON).

`ledger_minor`, `statement_minor` and `variance_minor` are net, what a row does to the account: its fee included,
signed; the last is ledger less statement. `…_amount_minor` is gross and positive, and null where several rows make up
the break. `id` is a hash of what the rows say, `since_date` the closing date at which it was first carried forward,
null for what is new. `description` and `words` are of the statement's row, a group's first. `verdict` to `why` are of
the decision about it: a break that has a verdict is decided, by `who`, or by the `rule` of one's own that it falls
under.
"""
DECIDED: Columns = _columns("break verdict partner who when why account key code", code="string")
"""A row of `decisions.csv`; the last three are for people. `partner` is the id of another break, or several by `; `."""
DECISION: Columns = {**DECIDED, **_columns("state")}
"""A decision and what became of it: `applied`, `stale` (its rows have changed), `settled` (no such row is open any
more), or `elsewhere` (of an account that was not looked at); `closed` where it is carried forward
after it has closed its breaks.
"""

CLOSED_BREAK: Columns = _columns("id account key code currency variance_minor since_date rule verdict who when why")
"""A break of an earlier run that this period closed: by a match (`rule`), or by a decision that was booked."""

JOURNAL: Columns = _columns("entry date account debit_minor credit_minor currency narrative reference")
"""A line of an entry for what was decided; `entry` is the id of the break, and the debits of an entry its credits."""

SUMMARY: Columns = _columns(
    "account business_date code currency ledger_rows statement_rows ledger_value_minor statement_value_minor "
    "variance_minor moved_minor"
)
"""How many rows each side has, and what they move, by account, day and code (`matched` or a break's).

The values are net of fees and signed as the balance moves; the variance is ledger less statement. `moved_minor` adds
the effects of both sides' rows without their signs, so that a share of it is a rate. A line that stands twice and
counts once moves nothing more.
"""

AGEING: Columns = _columns("account currency code bucket breaks rows variance_minor")
"""How old the breaks are, in days from the business date to the closing date."""

SUGGESTION: Columns = _columns("kind account breaks currency amount_minor why", breaks="string")
"""Breaks that may be one movement, by their ids with `; ` between them: proposed, never taken."""

PROOF: Columns = _columns(
    "account currency ledger_minor statement_minor difference_minor breaks_minor tolerated_minor brought_minor "
    "opening_minor gap_minor unexplained_minor holds note"
)
"""Ledger closing less statement closing, and what it is made of, an account a row.

`difference` = `breaks` + `tolerated` (matches within the tolerance) + `brought` (left over from earlier
runs) + `unexplained`. The last is zero where the proof holds; `opening`, by which the two opening balances
differ, less `gap`, by which the file's balances jump beyond its rows, say where it comes from.
"""
EXACT = "to the last minor unit"
"""The `note` of an account whose closing balances are both known, and explained."""
WORKED_OUT: Final = "the statement gives no closing balance: it is worked out from its rows"
NOTHING_PROVEN: Final = "and no closing balance: nothing is proven"
"""How the `note` of an account ends of which no row was read: it does not hold, and neither is it refuted."""

INPUTS: Columns = _columns(
    "side name sha256 rows account first_date last_date unreadable_rows", unreadable_rows="Int64"
)
"""What went into a reconciliation; `sha256` is null for what is no file, `unreadable_rows` are those of no use."""

CARRIED: Columns = {
    **_columns("side"),
    **_REPORTED,
    **_columns(
        "entry number kind reverses state statement line type related problem description words phone_hash code "
        "since_date",
        number="Int64",
    ),
}
"""A row of either side that is still open when the books of a period are closed; `code` is that of its break.

The next run goes by the code of a duplicate, of which the first row may be matched, and be absent from here.
`phone_hash` is empty where the number was never known whole, and null where no key was given to hash it under.
"""

CLOSED: Columns = _columns(
    "account currency closing_date last_number statement_minor brought_minor", last_number="Int64"
)
"""How far an account was gone through. Ledger rows that move nothing are not read again up to both date and number.

`brought_minor` is by how much ledger and statement differ for good: tolerated, or never explained.
"""

AHEAD: Columns = _columns("account entry business_date")
"""A row of the ledger after the closing date that is part of a match already: it is not read again either."""

TOLD: Columns = _columns("account key business_date signed_minor", signed_minor="int64")
"""A statement's line that was settled otherwise than by its key: another file may tell it again."""

READ: Columns = _columns("account hash nth key business_date", account="category", nth="int64")
"""A ledger row that was read, and is not read again: a keyed hash of account, key, moment, net effect and currency.

`nth` tells rows of one hash apart. Each account that was closed has one row more, whose `nth` is 0: its `hash` is the
id of the key, and empty where there was none.
"""

ANSWER: Columns = _columns("statement line key code", code="string")
"""A break as it was planted."""

ACCOUNTS: Columns = _columns("account code normal_side currency balance_minor", code="int64")
"""Each account posted to; the balance is positive on the account's normal side."""

TRIAL_BALANCE: Columns = _columns("account code currency debit_minor credit_minor", code="int64")
"""Each account's balance on the side where it stands; the two columns have one sum for each currency."""

ENTRIES: Columns = _columns(
    "number id kind payment description occurred_at recorded_at business_date reverses settles external_reference "
    "prev_hash hash seq"
)
"""Each entry, in the order of the chain; `hash` covers its postings and the entry before."""

POSTINGS: Columns = _columns(
    "number line account code side amount_minor currency kind payment occurred_at business_date "
    "external_reference entry",
    line="int64",
    code="int64",
)
"""Each posting; within an entry debits equal credits."""
