"""Reads and checks statements of operators and banks, converts them to common columns, and writes simulated ones.

>>> read_statement("statements/mtn.csv").rows  # doctest: +SKIP
"""

from workbench.analysis.statements.checking import LayoutCheck, checked
from workbench.analysis.statements.draft import Draft, draft_layout
from workbench.analysis.statements.layouts import LAYOUTS, Layout, Preamble
from workbench.analysis.statements.own_ledger import OwnLedger, ledger_columns, read_ledger
from workbench.analysis.statements.statement import Statement, read_statement
from workbench.analysis.statements.writing import StatementWriter, statement_writer, write_statement

__all__ = [
    "LAYOUTS", "Draft", "Layout", "LayoutCheck", "OwnLedger", "Preamble", "Statement", "StatementWriter", "checked",
    "draft_layout", "ledger_columns", "read_ledger", "read_statement", "statement_writer", "write_statement",
]  # fmt: skip
