"""A page of a list is used as a list is."""

import pytest

from workbench.domain import wire


@pytest.mark.parametrize("rows", [[], ["a"], ["a", "b", "c"]])
def test_a_page_is_looped_over_measured_and_indexed(rows: list[str]):
    page = wire.List(url="/v1/refunds", has_more=False, data=rows)
    assert list(page) == rows
    assert len(page) == len(rows)
    assert [page[place] for place in range(len(rows))] == rows
    assert repr(rows) in repr(page)
