"""Compares a ledger with the statements of an operator or a bank for the same accounts.

>>> reconcile("ledger.parquet", "statement.parquet").breaks  # doctest: +SKIP
"""

from workbench.analysis.break_codes import BUCKETS, CODES
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.reconciliation import reconcile
from workbench.analysis.reconcile.result import Reconciliation
from workbench.analysis.reconcile.rules import Tolerance

__all__ = ["BUCKETS", "CODES", "CarryForward", "Reconciliation", "Tolerance", "reconcile"]
