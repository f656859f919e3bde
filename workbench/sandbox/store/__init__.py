"""All SQL: one SQLite file, one transaction for each command."""

from workbench.sandbox.store.files import Settings, Store
from workbench.sandbox.store.transaction import Transaction

__all__ = ["Settings", "Store", "Transaction"]
