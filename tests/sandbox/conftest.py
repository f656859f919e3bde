import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def bench(store_path: Path) -> Iterator[Workbench]:
    with Workbench(seed=7, store=store_path) as made:
        yield made


@pytest.fixture
def rows(store_path: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    """The rows of a query on the store's file, as a reader beside the sandbox sees them."""

    def read(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(store_path)) as connection:
            return connection.execute(sql).fetchall()

    return read
