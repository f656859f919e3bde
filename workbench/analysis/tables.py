"""The ledger as DataFrames with declared columns and types.

Amounts are int64 in minor units (ngwee) with the currency beside them, moments are UTC, and
`business_date` is the day in Lusaka. No column is ever float.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workbench.analysis.t_accounts import TAccounts
from workbench.control import SandboxControl
from workbench.domain.ledger import CREDIT, DEBIT, KIND_BY_CODE
from workbench.errors import LedgerRefused

MOMENT = "datetime64[ms, UTC]"
ACCOUNTS: Mapping[str, str] = {
    "account": "string",
    "code": "int64",
    "normal_side": "category",
    "currency": "category",
    "balance_minor": "int64",
}
ENTRIES: Mapping[str, str] = {
    "number": "int64",
    "id": "string",
    "kind": "category",
    "payment": "string",
    "description": "string",
    "occurred_at": MOMENT,
    "recorded_at": MOMENT,
    "business_date": "string",
    "reverses": "string",
    "prev_hash": "string",
    "hash": "string",
    "seq": "int64",
}
POSTINGS: Mapping[str, str] = {
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
    "entry": "string",
}
TRIAL_BALANCE: Mapping[str, str] = {
    "account": "string",
    "code": "int64",
    "currency": "category",
    "debit_minor": "int64",
    "credit_minor": "int64",
}


class Ledger:
    """The ledger of a sandbox, read anew each time."""

    def __init__(self, control: SandboxControl) -> None:
        self._control = control

    @property
    def accounts(self) -> pd.DataFrame:
        """Each account posted to; `balance_minor` is positive on the account's normal side."""
        rows = self._control.rows("ledger/accounts")
        for row in rows:
            row["normal_side"] = KIND_BY_CODE[row["code"]].normal_side
            debit_less_credit = row["debit_minor"] - row["credit_minor"]
            row["balance_minor"] = debit_less_credit if row["normal_side"] == DEBIT else -debit_less_credit
        return frame(rows, ACCOUNTS)

    @property
    def entries(self) -> pd.DataFrame:
        """Each entry, in the order of the chain; `hash` covers its postings and the entry before."""
        return frame(self._control.rows("ledger/entries"), ENTRIES)

    @property
    def postings(self) -> pd.DataFrame:
        """Each posting; within an entry debits equal credits."""
        return frame(self._control.rows("ledger/postings"), POSTINGS)

    @property
    def trial_balance(self) -> pd.DataFrame:
        """Each account's balance on the side where it stands; the two columns have one sum for each currency."""
        rows = self._control.rows("ledger/accounts")
        for row in rows:
            net = row["debit_minor"] - row["credit_minor"]
            row["debit_minor"], row["credit_minor"] = max(net, 0), max(-net, 0)
        return frame(rows, TRIAL_BALANCE)

    @property
    def t_accounts(self) -> TAccounts:
        """The accounts as they are drawn by hand: debits left, credits right."""
        return TAccounts(self._control.rows("ledger/postings"))

    def verify(self) -> str:
        """Check that debits equal credits and the chain holds; the hash of its last entry.

        Raises LedgerRefused naming the first entry that was tampered with.
        """
        found = self._control.get("ledger/verify")
        if not found["holds"]:
            raise LedgerRefused(found["message"], entry=found.get("entry"))
        postings = self.postings
        sums = {side: int(postings.loc[postings["side"] == side, "amount_minor"].sum()) for side in (DEBIT, CREDIT)}
        if sums[DEBIT] != sums[CREDIT]:
            raise LedgerRefused(
                f"Debits are {sums[DEBIT]} and credits {sums[CREDIT]}.", debit=sums[DEBIT], credit=sums[CREDIT]
            )
        return str(found["head"])

    def __repr__(self) -> str:
        return f"Ledger(entries={self._control.get('ledger/verify').get('entries', 'tampered with')})"


def frame(rows: list[dict[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """Records as a DataFrame with exactly these columns and types, for no rows too."""
    made = pd.DataFrame({name: [row[name] for row in rows] for name in columns})
    for name in (name for name, kind in columns.items() if kind == MOMENT):
        made[name] = pd.to_datetime(made[name], utc=True)
    return made.astype(dict(columns))
