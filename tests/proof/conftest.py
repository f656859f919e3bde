"""What a proof looks at beside the answers: the store's own file, read while nobody writes it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class StoreFile(NamedTuple):
    """A store's file, read beside the sandbox that writes it."""

    path: Path

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection:
            return connection.execute(sql).fetchall()

    def is_whole(self) -> bool:
        """What SQLite itself says of every page and index of the file."""
        return self.rows("PRAGMA integrity_check") == [("ok",)] and not self.rows("PRAGMA foreign_key_check")


@pytest.fixture
def store(tmp_path: Path) -> StoreFile:
    """Where a store will be, once a sandbox has made it."""
    return StoreFile(tmp_path / "store.db")
