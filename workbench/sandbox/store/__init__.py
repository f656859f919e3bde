"""The store, which has all SQL: one SQLite file, one transaction for each command."""

from workbench.sandbox.store.database_files import Settings, Store
from workbench.sandbox.store.transaction import NotNow, Transaction

__all__ = ["NotNow", "Settings", "Store", "Transaction"]
