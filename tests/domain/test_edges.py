"""What the domain says to a caller that hands in something else altogether, and a list used as a list is."""

import msgspec
import pytest

from workbench.domain import wire
from workbench.domain.gaps import Gaps
from workbench.domain.masking import Secret
from workbench.errors import GapRefused


def test_what_is_no_json_is_not_written_as_if_it_were():
    class Other:
        pass

    with pytest.raises(NotImplementedError, match="Other"):
        wire.plain(Other())
    with pytest.raises(NotImplementedError, match="Other"):
        wire.to_json({"amount": Other()})


def test_a_secret_travels_as_its_text():
    assert msgspec.json.decode(wire.to_json({"secret": Secret("told")})) == {"secret": "told"}


@pytest.mark.parametrize("choices", [["charge_amount_unit"], "charge_amount_unit", 7])
def test_choices_are_names_and_values(choices: object):
    with pytest.raises(GapRefused, match=type(choices).__name__):
        Gaps.chosen(choices)


@pytest.mark.parametrize("rows", [[], ["a"], ["a", "b", "c"]])
def test_a_page_is_looped_over_measured_and_indexed(rows: list[str]):
    page = wire.List(url="/v1/refunds", has_more=False, data=rows)
    assert list(page) == [page[place] for place in range(len(page))] == rows
    assert repr(rows) in repr(page)
