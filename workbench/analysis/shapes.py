"""The columns of every table: names and pandas types, declared once."""

from collections.abc import Mapping
from typing import Final

Columns = Mapping[str, str]
"""Column name → pandas type, in the order of the columns."""

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
"""Last word of a column's name → its pandas type; every other column is text."""


def _columns(names: str, **otherwise: str) -> Columns:
    """Column → pandas type, for `names` separated by spaces.

    `otherwise` is column → type; the types of other columns follow from the last words of their names (_TYPES).
    """
    return {name: otherwise.get(name, _TYPES.get(name.rpartition("_")[2], "string")) for name in names.split()}


MOVEMENT: Columns = _columns(
    "account key batch occurred_at business_date direction amount_minor fee_minor currency status phone"
)
"""One movement of money on one account, as either side reports it.

`key` is the transaction id that both sides know, `batch` the key of the batch that the row is part
of. `amount_minor` is gross and positive; the fee lowers the balance, in either direction. Only a
`completed` row moves money. Phones are masked.
"""
DIRECTIONS: Final = ("in", "out")
COMPLETED: Final = "completed"
STATUSES: Final = (COMPLETED, "failed", "pending")

LEDGER_MOVEMENT: Columns = {**MOVEMENT, **_columns("entry number kind payment reverses state balance_minor")}
"""A ledger's movement on an account; `state` is `in_suspense` while money that came late waits for a decision."""

_REPORTED: Columns = {name: {"int64": "Int64"}.get(kind, kind) for name, kind in MOVEMENT.items()}
"""The columns MOVEMENT with types that allow empty cells in every column."""

STATEMENT_ROW: Columns = {
    **_columns("statement line", line="int64"),
    **_REPORTED,
    **_columns("type related description words balance_minor problem phone_hash", balance_minor="Int64"),
}
"""A row of a statement: `statement` names the file, `line` its line. A row with a `problem` may have empty cells.

`description` is the narrative; `words` has the file's own text for the row's type and status. `phone_hash`
distinguishes two numbers that look the same when masked.
"""

MADE_UP_PREFIX: Final = "made-"
"""Prefix of a key that the reader makes up for a row without a key."""

PAYMENTS: Columns = _columns(
    "id status amount_minor currency provider phone failure_code latest_charge description cancellation_reason "
    "canceled_at created_at business_date"
)
"""Payment intents; `failure_code` is that of the last attempt."""

CHARGES: Columns = _columns(
    "id status amount_minor refunded_minor currency channel provider phone failure_code reference payment_intent "
    "created_at business_date"
)
"""Attempts to move money, for an intent or without one."""

REFUNDS: Columns = _columns(
    "id status amount_minor currency charge payment_intent reason failure_code created_at business_date"
)

PAYOUTS: Columns = _columns("id status amount_minor currency destination failure_code created_at business_date")

SUSPENSE: Columns = _columns(
    "id status amount_minor currency charge payment_intent phone operator_reference since_at business_date settled_at "
    "settled_by"
)
"""Money that came after its attempt had failed: waiting, or by now credited to the merchant or returned."""

EVENTS: Columns = _columns("id type object object_id status request created_at business_date")
"""Events; `status` is that of the object at the time, `request` the id of the API request that caused the event."""

DELIVERIES: Columns = _columns(
    "id status event event_type endpoint url attempts last_status_code last_fault last_attempt_at next_attempt_at "
    "created_at business_date",
    last_status_code="Int64",
)
"""Deliveries of events to endpoints, each with the outcome of its last attempt."""

MATCH: Columns = _columns("rule account group side statement line entry key currency signed_minor differences")
"""Matched rows of both sides; the rows of one match have the same `group`."""

_SIDE_AMOUNTS: Final = ("ledger_minor", "statement_minor", "ledger_amount_minor", "ledger_fee_minor",
                        "statement_amount_minor", "statement_fee_minor")  # fmt: skip
BREAK: Columns = _columns(
    "id statement line account key code side entry ledger_amount_minor ledger_fee_minor ledger_minor "
    "statement_amount_minor statement_fee_minor statement_minor variance_minor currency business_date age_days bucket "
    "since_date phone rows description words reason settlement proposal rule verdict partner who when why",
    **dict.fromkeys(_SIDE_AMOUNTS, "Int64"),
)
"""A break: one or more rows that do not agree, the reason, and the entries that would settle it (`proposal`, JSON).

`ledger_minor` and `statement_minor` are signed and net: the effect on the account, after the fee; `variance_minor` is
ledger less statement. `…_amount_minor` is gross and positive, and null if several rows make up the break. `id` is a
hash of the rows' contents. `since_date` is the closing date at which the break was first carried forward; null for a
new break. `description` and `words` come from the statement's row, or the first of several; a break without such a row
has the ledger's `description`. Of two rows in two currencies, only the one in the account's currency has amounts here.
The columns from `verdict` to `why` are the decision about the break, by the person `who` or by the user's `rule`.
"""
DECIDED: Columns = _columns("break verdict partner who when why account key code", code="string")
"""A row of `decisions.csv`; the last three columns are for readers. `partner` has ids of breaks, joined by `; `."""
DECISION: Columns = {**DECIDED, **_columns("state")}
"""A decision and its `state`.

`applied`; `stale` (its rows have changed); `settled` (its rows are no longer open); `elsewhere` (its account is not in
this run); `closed` (it has closed its breaks, and is carried forward).
"""

SIGNED: Columns = _columns("account prepared_by prepared_on reviewed_by reviewed_on")
"""The preparer and the reviewer of an account's last reconciliation, each with the day; empty until somebody signs."""

CLOSED_BREAK: Columns = _columns(
    "id account key code currency variance_minor since_date rule verdict partner who when why"
)
"""A break that this period closed: its rows, open since `since_date`, now match (`rule`), or a person decided it.

A decision that needs no entry closes its break at once; otherwise the break closes when the entry is booked.
"""

JOURNAL: Columns = _columns("entry date account debit_minor credit_minor currency narrative reference")
"""A line of an entry for a decided break; `entry` is the id of the break, and each entry's debits equal its credits."""

SUMMARY: Columns = _columns(
    "account business_date code currency ledger_rows statement_rows ledger_value_minor statement_value_minor "
    "variance_minor moved_minor"
)
"""The number and the value of each side's rows, by account, day and code (`matched`, `told_again` or a break's).

The values are net of fees and signed as the balance moves; the variance is ledger less statement. `moved_minor` adds
the effects of both sides' rows without their signs, as the denominator of rates. A repeated line (`told_again`) is
counted and adds no value.
"""

AGEING: Columns = _columns("account currency code bucket breaks rows variance_minor")
"""Breaks by age: the days from the business date to the closing date."""

SUGGESTION: Columns = _columns("kind account breaks currency amount_minor why", breaks="string")
"""Breaks that may be one movement: `breaks` has their ids, joined by `; `. Only a person can accept a suggestion."""

PROOF: Columns = _columns(
    "account currency ledger_minor statement_minor difference_minor breaks_minor tolerated_minor brought_minor "
    "opening_minor gap_minor unexplained_minor holds note"
)
"""One row for each account: the ledger's closing balance less the statement's, and what this difference consists of.

`difference` = `breaks` + `tolerated` (matches within the tolerance) + `brought` (left over from earlier runs) +
`unexplained`. `unexplained` is `opening` less `gap`, and all three are zero if the proof holds. `opening` is the
difference of the opening balances that `brought` does not explain; `gap` is the change of the statement's balance that
its rows do not explain.
Rows of another currency than the account's are in none of the amounts, and `note` names them; if any of these rows
matches or is `timing`, the proof does not hold.
"""
EXACT = "to the last minor unit"
"""The `note` of an account whose closing balances are known and whose difference is explained completely."""
WORKED_OUT: Final = "the statement gives no closing balance: it is worked out from its rows"
NOTHING_PROVEN: Final = "and no closing balance: nothing is proven"
"""The end of the `note` of an account without a usable row and without a closing balance; `holds` is then false."""

INPUTS: Columns = _columns(
    "side name sha256 rows account first_date last_date unreadable_rows", unreadable_rows="Int64"
)
"""The inputs of a reconciliation; `unreadable_rows` counts rows that cannot be used.

`sha256` is of a file's bytes, a table's rows or a query's text; null for a Spark table and a DataFrame of decisions.
"""

CARRIED: Columns = {
    **_columns("side"),
    **_REPORTED,
    **_columns(
        "entry number kind reverses state statement line type related problem description words phone_hash code "
        "since_date",
        number="Int64",
    ),
}
"""A row of either side that is still open when the books of a period are closed; `code` is the code of its break.

The next run needs the code of a duplicate, since the row that it duplicates may be matched, and so not carried.
`phone_hash` is empty if the number was never known unmasked, and null if the run had no phone key.
"""

CLOSED: Columns = _columns(
    "account currency closing_date last_number statement_minor brought_minor", last_number="Int64"
)
"""The close of an account at `closing_date`; `last_number` is the number of the ledger's last entry.

The next run skips ledger rows that move no money, dated up to `closing_date` and numbered up to `last_number`.

`brought_minor` is the part of ledger less statement that no break explains: brought forward, tolerated or unexplained.
"""

AHEAD: Columns = _columns("account entry business_date")
"""A ledger row dated after the closing date that a run has already matched; the next run skips the row."""

TOLD: Columns = _columns("account key business_date signed_minor", signed_minor="int64")
"""A statement line that was settled without a common key or after the closing date; another file may repeat it."""

READ: Columns = _columns("account hash nth key business_date", account="category", nth="int64")
"""A ledger row that later runs skip: `hash` is a keyed hash of account, key, moment, net effect and currency.

`nth` counts rows with equal hashes from 1. Each closed account also has a row with `nth` 0, whose `hash` is the id of
the phone key that made the hashes, or empty if no key was given.
"""

ANSWER: Columns = _columns("statement line key code", code="string")
"""A planted break: its file and line, its key, and the code that a reconciliation should find."""

ACCOUNTS: Columns = _columns("account code normal_side currency balance_minor", code="int64")
"""An account that has postings; the balance is positive on the account's normal side."""

TRIAL_BALANCE: Columns = _columns("account code currency debit_minor credit_minor", code="int64")
"""The balance of each account as a debit or a credit; the totals of both columns are equal in each currency."""

ENTRIES: Columns = _columns(
    "number id kind payment description occurred_at recorded_at business_date reverses settles external_reference "
    "prev_hash hash seq"
)
"""Entries in chain order; `hash` covers the entry's postings and `prev_hash`."""

POSTINGS: Columns = _columns(
    "number line account code side amount_minor currency kind payment occurred_at business_date "
    "external_reference entry",
    line="int64",
    code="int64",
)
"""Postings; the debits and the credits of one entry are equal."""
