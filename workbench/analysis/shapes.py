"""The columns of every table: names and pandas types, declared once."""

from collections.abc import Mapping
from typing import Final

Columns = Mapping[str, str]
"""Name → pandas type, in order."""

MOMENT: Final = "datetime64[ms, UTC]"
DAY: Final = "date32[day][pyarrow]"

MOVEMENT: Columns = {
    "account": "string",
    "key": "string",
    "batch": "string",
    "occurred_at": MOMENT,
    "business_date": DAY,
    "direction": "category",
    "amount_minor": "int64",
    "fee_minor": "int64",
    "currency": "category",
    "status": "category",
    "phone": "string",
}
"""One movement of money on one account, as either side tells it.

`key` is the transaction id that both sides know, `batch` the key of the whole of which the row is a
part. `amount_minor` is gross and positive; the fee lowers the balance, in either direction. Only what
is `completed` moves money. Phones are masked.
"""
DIRECTIONS: Final = ("in", "out")
COMPLETED: Final = "completed"
STATUSES: Final = (COMPLETED, "failed", "pending")

LEDGER_MOVEMENT: Columns = {
    **MOVEMENT,
    "entry": "string",
    "number": "int64",
    "kind": "category",
    "payment": "string",
    "reverses": "string",
    "state": "category",
    "balance_minor": "int64",
}
"""What the ledger says of an account; `state` is `in_suspense` while late money waits for a decision."""

_TOLD: Columns = {name: {"int64": "Int64"}.get(kind, kind) for name, kind in MOVEMENT.items()}
"""A movement of which any cell may be empty."""

STATEMENT_ROW: Columns = {
    "statement": "string",
    "line": "int64",
    **_TOLD,
    "type": "category",
    "related": "string",
    "description": "string",
    "balance_minor": "Int64",
    "problem": "string",
}
"""What an operator or a bank says: `line` of the file named `statement`; with a `problem`, cells may be empty."""

PAYMENTS: Columns = {
    "id": "string",
    "status": "category",
    "amount_minor": "int64",
    "currency": "category",
    "provider": "category",
    "phone": "string",
    "failure_code": "category",
    "latest_charge": "string",
    "description": "string",
    "cancellation_reason": "string",
    "canceled_at": MOMENT,
    "created_at": MOMENT,
    "business_date": DAY,
}
"""Payment intents; `failure_code` is the last attempt's."""

CHARGES: Columns = {
    "id": "string",
    "status": "category",
    "amount_minor": "int64",
    "refunded_minor": "int64",
    "currency": "category",
    "channel": "category",
    "provider": "category",
    "phone": "string",
    "failure_code": "category",
    "reference": "string",
    "payment_intent": "string",
    "created_at": MOMENT,
    "business_date": DAY,
}
"""Each attempt to move money, of an intent or on its own."""

REFUNDS: Columns = {
    "id": "string",
    "status": "category",
    "amount_minor": "int64",
    "currency": "category",
    "charge": "string",
    "payment_intent": "string",
    "reason": "string",
    "failure_code": "category",
    "created_at": MOMENT,
    "business_date": DAY,
}

PAYOUTS: Columns = {
    "id": "string",
    "status": "category",
    "amount_minor": "int64",
    "currency": "category",
    "destination": "string",
    "failure_code": "category",
    "created_at": MOMENT,
    "business_date": DAY,
}

EVENTS: Columns = {
    "id": "string",
    "type": "category",
    "object": "category",
    "object_id": "string",
    "status": "category",
    "request": "string",
    "created_at": MOMENT,
    "business_date": DAY,
}
"""What has happened; `object_id` and `status` are of the object as it was then, `request` caused it."""

DELIVERIES: Columns = {
    "id": "string",
    "status": "category",
    "event": "string",
    "event_type": "category",
    "endpoint": "string",
    "url": "string",
    "attempts": "int64",
    "last_status_code": "Int64",
    "last_fault": "string",
    "last_attempt_at": MOMENT,
    "next_attempt_at": MOMENT,
    "created_at": MOMENT,
    "business_date": DAY,
}
"""Each event on its way to an endpoint, and how the last attempt at it ended."""

MATCH: Columns = {
    "rule": "category",
    "account": "string",
    "group": "string",
    "side": "category",
    "statement": "string",
    "line": "Int64",
    "entry": "string",
    "key": "string",
    "currency": "category",
    "signed_minor": "int64",
    "differences": "string",
}
"""Every row that agrees, a row for each side's row; those of one `group` belong together."""

BREAK: Columns = {
    "statement": "string",
    "line": "Int64",
    "account": "string",
    "key": "string",
    "code": "category",
    "side": "category",
    "entry": "string",
    "ledger_minor": "Int64",
    "statement_minor": "Int64",
    "variance_minor": "int64",
    "currency": "category",
    "business_date": DAY,
    "age_days": "Int64",
    "bucket": "category",
    "phone": "string",
    "rows": "int64",
    "reason": "string",
    "settlement": "string",
    "proposal": "string",
}
"""Every row that does not agree, with the reason and the entries that would settle it (JSON).

The three amounts are net, what a row does to the account: its fee included, signed; `variance_minor` is ledger less
statement.
"""

SUMMARY: Columns = {
    "account": "string",
    "business_date": DAY,
    "code": "category",
    "currency": "category",
    "ledger_rows": "int64",
    "statement_rows": "int64",
    "ledger_value_minor": "int64",
    "statement_value_minor": "int64",
    "variance_minor": "int64",
}
"""How many rows each side has, and what they move, by account, day and code (`matched` or a break's).

The values are net of fees, each row's effect without its sign, so that a share of them is a rate.
"""

AGEING: Columns = {
    "account": "string",
    "currency": "category",
    "code": "category",
    "bucket": "category",
    "breaks": "int64",
    "rows": "int64",
    "variance_minor": "int64",
}
"""How old the breaks are, in days from the business date to the closing date."""

PROOF: Columns = {
    "account": "string",
    "currency": "category",
    "ledger_minor": "int64",
    "statement_minor": "int64",
    "difference_minor": "int64",
    "breaks_minor": "int64",
    "tolerated_minor": "int64",
    "brought_minor": "int64",
    "opening_minor": "int64",
    "gap_minor": "int64",
    "unexplained_minor": "int64",
    "holds": "bool",
    "note": "string",
}
"""Ledger closing less statement closing, and what it is made of, an account a row.

`difference` = `breaks` + `tolerated` (matches within the tolerance) + `brought` (left over from earlier
runs) + `unexplained`. The last is zero where the proof holds; `opening`, by which the two opening balances
differ, less `gap`, by which the file's balances jump beyond its rows, say where it comes from.
"""
EXACT = "to the last minor unit"
"""The `note` of an account whose closing balances are both told, and explained."""

INPUTS: Columns = {
    "side": "category",
    "name": "string",
    "sha256": "string",
    "rows": "int64",
    "account": "string",
    "first_date": DAY,
    "last_date": DAY,
}
"""What went into a reconciliation; `sha256` is null for what is no file."""

CARRIED: Columns = {
    "side": "category",
    **_TOLD,
    "entry": "string",
    "number": "Int64",
    "kind": "category",
    "reverses": "string",
    "state": "category",
    "statement": "string",
    "line": "Int64",
    "type": "category",
    "related": "string",
    "problem": "string",
    "code": "category",
}
"""A row of either side that is still open when the books of a period are closed; `code` is that of its break.

The next run goes by the code of a duplicate, of which the first row may be matched, and be absent from here.
"""

CLOSED: Columns = {
    "account": "string",
    "currency": "category",
    "closing_date": DAY,
    "last_number": "Int64",
    "statement_minor": "int64",
    "brought_minor": "int64",
}
"""How far an account was gone through: ledger rows up to both the date and the number are not read again.

`brought_minor` is by how much ledger and statement differ for good: tolerated, or never explained.
"""

AHEAD: Columns = {"account": "string", "entry": "string", "business_date": DAY}
"""A row of the ledger after the closing date that is part of a match already: it is not read again either."""

ANSWER: Columns = {"statement": "string", "line": "Int64", "key": "string", "code": "string"}
"""A break as it was planted."""


ACCOUNTS: Columns = {
    "account": "string",
    "code": "int64",
    "normal_side": "category",
    "currency": "category",
    "balance_minor": "int64",
}
"""Each account posted to; the balance is positive on the account's normal side."""

TRIAL_BALANCE: Columns = {
    "account": "string",
    "code": "int64",
    "currency": "category",
    "debit_minor": "int64",
    "credit_minor": "int64",
}
"""Each account's balance on the side where it stands; the two columns have one sum for each currency."""

ENTRIES: Columns = {
    "number": "int64",
    "id": "string",
    "kind": "category",
    "payment": "string",
    "description": "string",
    "occurred_at": MOMENT,
    "recorded_at": MOMENT,
    "business_date": DAY,
    "reverses": "string",
    "settles": "string",
    "external_reference": "string",
    "prev_hash": "string",
    "hash": "string",
    "seq": "int64",
}
"""Each entry, in the order of the chain; `hash` covers its postings and the entry before."""

POSTINGS: Columns = {
    "number": "int64",
    "line": "int64",
    "account": "string",
    "code": "int64",
    "side": "category",
    "amount_minor": "int64",
    "currency": "category",
    "kind": "category",
    "payment": "string",
    "occurred_at": MOMENT,
    "business_date": DAY,
    "external_reference": "string",
    "entry": "string",
}
"""Each posting; within an entry debits equal credits."""
