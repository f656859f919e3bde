"""The layouts that are known by name.

The operators of Zambia do not publish theirs. `mtn` and `airtel` begin with the headings of their
neighbours' exports; `zamtel` and `aggregator` are ours, to show other ways of writing. The optional
columns are ours as well: they carry what reconciliation can use and those exports do not say.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from workbench.analysis.statements.layouts import Layout

_STATUSES = {"Successful": "completed", "Completed": "completed", "Failed": "failed", "Pending": "pending"}
_CUSTOMER_TYPES = {
    "Payment": "payment", "Refund": "refund", "Reversal": "reversal", "Transfer": "transfer",
    "Disbursement": "payout", "Charge": "fee", "Adjustment": "other",
}  # fmt: skip
_EXTENSIONS = {"currency": "Currency", "batch": "Batch Id", "related": "Original Id"}
_ADDED_TO_MTN = {"description": "Message", **_EXTENSIONS}
_ADDED_TO_AIRTEL = {"type": "Transaction Type", "phone": "Customer MSISDN", **_EXTENSIONS}
_AIRTEL_BEGINS = {
    "key": "Transaction ID", "moment": "Transaction Date", "description": "Description", "status": "Status",
    "amount": "Transaction Amount",
}  # fmt: skip
_AIRTEL_ENDS = {"fee": "Fee", "balance": "Balance", **_ADDED_TO_AIRTEL}

MTN = Layout(
    name="mtn",
    account="operator:mtn:float",
    columns={
        "key": "Id", "moment": "Date", "status": "Status", "type": "Type", "from": "From", "to": "To",
        "amount": "Amount", "fee": "Fee", "balance": "Balance", **_ADDED_TO_MTN,
    },
    optional=frozenset(_ADDED_TO_MTN),
    dates=("%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d-%b-%Y %H:%M:%S"),
    own="FRI:*/USER",
    party="FRI:{phone}/MSISDN",
    statuses=_STATUSES,
    types=_CUSTOMER_TYPES,
)  # fmt: skip

AIRTEL = Layout(
    name="airtel",
    account="operator:airtel:float",
    columns={**_AIRTEL_BEGINS, "direction": "Credit/Debit", **_AIRTEL_ENDS},
    optional=frozenset(_ADDED_TO_AIRTEL),
    dates=("%d-%b-%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"),
    thousands=",",
    directions={"Credit": "in", "Debit": "out", "CR": "in", "DR": "out"},
    statuses={"Transaction Success": "completed", "Transaction Failed": "failed", **_STATUSES},
    types=_CUSTOMER_TYPES,
)

AIRTEL_SIGNED = replace(AIRTEL, name="airtel_signed", columns={**_AIRTEL_BEGINS, **_AIRTEL_ENDS}, directions={})

ZAMTEL = Layout(
    name="zamtel",
    account="operator:zamtel:float",
    columns={
        "key": "Receipt No", "moment": "Completion Time", "description": "Details", "type": "Reason Type",
        "status": "Transaction Status", "debit": "Withdrawn", "credit": "Paid In", "fee": "Charge",
        "balance": "Running Balance", "phone": "Other Party", "currency": "Currency", "batch": "Batch No",
        "related": "Linked Receipt No",
    },
    optional=frozenset({"description", "currency", "batch", "related"}),
    dates=("%d.%m.%Y %H:%M:%S",),
    delimiter=";",
    decimal=",",
    thousands=".",
    statuses=_STATUSES,
    types=_CUSTOMER_TYPES,
)  # fmt: skip

AGGREGATOR = Layout(
    name="aggregator",
    account="bank:settlement",
    columns={
        "key": "Transaction Ref", "batch": "Settlement Ref", "moment": "Booked At", "description": "Narrative",
        "type": "Category", "status": "State", "direction": "CR/DR", "amount": "Gross Amount", "fee": "Charges",
        "balance": "Ledger Balance", "currency": "Ccy", "phone": "Counterparty", "related": "Related Ref",
    },
    optional=frozenset({"currency", "phone", "related"}),
    dates=("%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"),
    directions={"CR": "in", "DR": "out"},
    statuses={"Booked": "completed", "Rejected": "failed", "Pending": "pending"},
    types={
        "Collection": "payment", "Refund": "refund", "Reversal": "reversal", "Settlement": "transfer",
        "Payout": "payout", "Charges": "fee", "Other": "other",
    },
    preamble={
        "account": "Account", "currency": "Currency", "first": "Period From", "last": "Period To",
        "opening": "Opening Balance", "closing": "Closing Balance",
    },
    footers=("Total", "End of statement"),
)  # fmt: skip

LAYOUTS: Final[Mapping[str, Layout]] = MappingProxyType(
    {layout.name: layout for layout in (MTN, AIRTEL, AIRTEL_SIGNED, ZAMTEL, AGGREGATOR)}
)
"""Name → layout; a file is recognised as one of these."""
