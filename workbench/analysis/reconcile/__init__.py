"""Reconciling: a ledger held against what an operator or a bank says of the same account.

The rules are written once, as SQL that both DuckDB and Spark run.
"""

from workbench.analysis.breaks import BUCKETS, CODES
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.reconciliation import reconcile
from workbench.analysis.reconcile.result import Reconciliation
from workbench.analysis.reconcile.rules import Tolerance

__all__ = ["BUCKETS", "CODES", "CarryForward", "Reconciliation", "Tolerance", "reconcile"]
