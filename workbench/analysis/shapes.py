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
"""The last word of a column's name → its pandas type; a column with any other last word is text."""


def _columns(names: str, **otherwise: str) -> Columns:
    """These columns, in order: the name gives the type, and `otherwise` has the exceptions."""
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
"""A ledger's movement on an account; `state` is `in_suspense` while late money waits for a decision."""

_REPORTED: Columns = {name: {"int64": "Int64"}.get(kind, kind) for name, kind in MOVEMENT.items()}
"""A movement of which any cell may be empty."""

STATEMENT_ROW: Columns = {
    **_columns("statement line", line="int64"),
    **_REPORTED,
    **_columns("type related description words balance_minor problem phone_hash", balance_minor="Int64"),
}
"""A row of an operator's or bank's file `statement`, in its `line`; a row with a `problem` may have empty cells.

`description` is the narrative, and `words` the file's own words for the row's type and status. `phone_hash` tells
two numbers apart that look alike masked.
"""

MADE: Final = "made-"
"""The beginning of a key that was made because the file has none."""

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
"""Each event; `object_id` and `status` are of the object at the time, and `request` caused the event."""

DELIVERIES: Columns = _columns(
    "id status event event_type endpoint url attempts last_status_code last_fault last_attempt_at next_attempt_at "
    "created_at business_date",
    last_status_code="Int64",
)
"""Each event on its way to an endpoint, and how the last attempt at it ended."""

MATCH: Columns = _columns("rule account group side statement line entry key currency signed_minor differences")
"""Every matched row of either side; rows of one `group` belong together."""

_SAID_BY_BOTH: Final = ("ledger_minor", "statement_minor", "ledger_amount_minor", "ledger_fee_minor",
                        "statement_amount_minor", "statement_fee_minor")  # fmt: skip
BREAK: Columns = _columns(
    "id statement line account key code side entry ledger_amount_minor ledger_fee_minor ledger_minor "
    "statement_amount_minor statement_fee_minor statement_minor variance_minor currency business_date age_days bucket "
    "since_date phone rows description words reason settlement proposal rule verdict partner who when why",
    **dict.fromkeys(_SAID_BY_BOTH, "Int64"),
)
"""Every row that does not agree, with the reason and the entries that would settle it (JSON).

`ledger_minor` and `statement_minor` are signed and net: the effect on the account, fee included; `variance_minor` is
ledger less statement. `…_amount_minor` is gross and positive, and null if several rows make up the break. `id` is a
hash of what the rows say, `since_date` the closing date at which the break was first carried forward, null for a new
break. `description` and `words` are of the statement's row, in a group the first; a break without such a row has the
ledger's `description`. `verdict` to `why` are the decision about the break, by `who` or by your own `rule`.
"""
DECIDED: Columns = _columns("break verdict partner who when why account key code", code="string")
"""A row of `decisions.csv`; the last three are for people. `partner` is the id of another break, or several by `; `."""
DECISION: Columns = {**DECIDED, **_columns("state")}
"""A decision and its `state`: `applied`, `stale` (its rows have changed), `settled` (no such row is open any more),
`elsewhere` (about an account that this run does not compare), or `closed` (it has closed its breaks, and is carried
forward).
"""

SIGNED: Columns = _columns("account prepared_by prepared_on reviewed_by reviewed_on")
"""The preparer and the reviewer of an account's last reconciliation, each with the day; empty while nobody has."""

CLOSED_BREAK: Columns = _columns("id account key code currency variance_minor since_date rule verdict who when why")
"""A break that this period closed: its rows, open since `since_date`, match now (`rule`), or people decided it.

A decision closes a break at once if it leaves nothing to book, else when its entry is booked.
"""

JOURNAL: Columns = _columns("entry date account debit_minor credit_minor currency narrative reference")
"""A line of an entry for a decided break; `entry` is the id of the break, and each entry's debits equal its credits."""

SUMMARY: Columns = _columns(
    "account business_date code currency ledger_rows statement_rows ledger_value_minor statement_value_minor "
    "variance_minor moved_minor"
)
"""The number and the value of each side's rows, by account, day and code (`matched`, `told_again` or a break's).

The values are net of fees and signed as the balance moves; the variance is ledger less statement. `moved_minor` adds
the effects of both sides' rows without their signs, so that a share of it is a rate. A repeated line (`told_again`)
is counted, and adds no value.
"""

AGEING: Columns = _columns("account currency code bucket breaks rows variance_minor")
"""The breaks by age, in days from the business date to the closing date."""

SUGGESTION: Columns = _columns("kind account breaks currency amount_minor why", breaks="string")
"""Breaks that may be one movement, by their ids with `; ` between them: proposed, never taken."""

PROOF: Columns = _columns(
    "account currency ledger_minor statement_minor difference_minor breaks_minor tolerated_minor brought_minor "
    "opening_minor gap_minor unexplained_minor holds note"
)
"""The ledger's closing balance less the statement's, and the parts of this difference, a row for each account.

`difference` = `breaks` + `tolerated` (matches within the tolerance) + `brought` (left over from earlier
runs) + `unexplained`. `unexplained` is zero if the proof holds; otherwise it comes from `opening`, by which
the opening balances differ, less `gap`, by which the file's balances jump beyond its rows.
"""
EXACT = "to the last minor unit"
"""The `note` of an account whose closing balances are both known, and explained."""
WORKED_OUT: Final = "the statement gives no closing balance: it is worked out from its rows"
NOTHING_PROVEN: Final = "and no closing balance: nothing is proven"
"""The end of the `note` of an account without a readable row and a closing balance; `holds` is false then."""

INPUTS: Columns = _columns(
    "side name sha256 rows account first_date last_date unreadable_rows", unreadable_rows="Int64"
)
"""The inputs of a reconciliation; `unreadable_rows` counts rows that cannot be used.

`sha256` is of a file's bytes or a table's rows; null for a table of Spark's, and for decisions in a DataFrame.
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
"""A row of either side that is still open when the books of a period are closed; `code` is that of its break.

The next run needs the code of a duplicate, since its first row may be matched and absent here. `phone_hash` is
empty if the number was never known unmasked, and null if no key was given for the hash.
"""

CLOSED: Columns = _columns(
    "account currency closing_date last_number statement_minor brought_minor", last_number="Int64"
)
"""The close of an account, dated `closing_date`; the ledger's last entry has the number `last_number`.

The next run skips the ledger rows that move nothing, are dated up to `closing_date`, and are numbered up to
`last_number`.

`brought_minor` is the lasting difference of ledger and statement: tolerated, or never explained.
"""

AHEAD: Columns = _columns("account entry business_date")
"""A ledger row after the closing date that is matched already: the next run skips it, too."""

TOLD: Columns = _columns("account key business_date signed_minor", signed_minor="int64")
"""A statement line that was settled without a common key or after the closing date: another file may repeat it."""

READ: Columns = _columns("account hash nth key business_date", account="category", nth="int64")
"""A ledger row that was read, and is not read again: a keyed hash of account, key, moment, net effect and currency.

`nth` counts the rows of one hash from 1. Each account that was closed has a further row with `nth` 0; its `hash` is the
id of the phone key under which the hashes were made, or empty if no key was given.
"""

ANSWER: Columns = _columns("statement line key code", code="string")
"""A planted break: its place in the statements, and its code."""

ACCOUNTS: Columns = _columns("account code normal_side currency balance_minor", code="int64")
"""An account that has postings; the balance is positive on the account's normal side."""

TRIAL_BALANCE: Columns = _columns("account code currency debit_minor credit_minor", code="int64")
"""Each account's balance as a debit or a credit; for each currency the two columns have the same sum."""

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
