"""The columns of the ledger's own tables; those of movements stand with the statements' in `shapes.py`."""

from workbench.analysis.shapes import DAY, MOMENT, Columns

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
