from collections.abc import Iterator

import pytest

from workbench import Workbench


@pytest.fixture
def bench() -> Iterator[Workbench]:
    """A sandbox in this process for one test; a file that is tried through both doors, or is slow, has its own."""
    with Workbench(seed=7) as bench:
        yield bench
