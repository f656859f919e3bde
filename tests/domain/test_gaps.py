from typing import get_type_hints

import pytest

from workbench.domain import gaps
from workbench.domain.gaps import REGISTER, Gaps
from workbench.errors import GapRefused

BY_NAME = {gap.name: gap for gap in REGISTER}


def refused(choices: object) -> GapRefused:
    with pytest.raises(GapRefused) as caught:
        Gaps.chosen(choices)
    return caught.value


def test_every_section_that_leaves_something_open_has_rows_that_explain_themselves():
    assert {gap.section for gap in REGISTER} == {"1", "2.1", "2.5", *"3456789"}
    hints = get_type_hints(Gaps)
    for gap in REGISTER:
        assert all((gap.says, *gap.alternatives.values())), gap.name
        values = [gap.default, *gap.alternatives]
        assert len({*values}) == len(values), gap.name
        of_type = tuple if hints[gap.name] == tuple[int, ...] else hints[gap.name]
        assert {type(value) for value in values} == {of_type}, gap.name


def test_nothing_chosen_is_the_defaults_each_alternative_is_selectable():
    for choices in (None, {}, {gap.name: gap.default for gap in REGISTER}):
        assert Gaps.chosen(choices) == Gaps()
        assert Gaps.chosen(choices).changed() == {}
    for gap in REGISTER:
        for value in gap.alternatives:
            assert Gaps.chosen({gap.name: value}).changed() == {gap.name: value}
    assert Gaps.chosen({"retry_schedule_s": [0]}).retry_schedule_s == (0,)


def test_an_unknown_name_is_refused_with_the_nearest_one_or_where_all_are_listed():
    for name in ("", "prompt_timeout", "Prompt_timeout_s", "chosen", "__class__", 1, None):
        error = refused({name: "x"})
        near = name in ("prompt_timeout", "Prompt_timeout_s")
        assert error.hint == ("Did you mean prompt_timeout_s?" if near else "`workbench gaps` lists them.")
        assert error.facts == {"name": name, "allowed": tuple(BY_NAME)}
    assert "list" in refused(["charge_amount_unit"]).message
    # Of near names that which shares more words.
    near_names = {"charge_unit": "charge_amount_unit", "charge_wiat": "charge_wait", "CLEARNG": "clearing"}
    assert {name: refused({name: 1}).hint for name in near_names} == {
        name: f"Did you mean {meant}?" for name, meant in near_names.items()
    }


UNKNOWN: dict[str, list[object]] = {
    "charge_amount_unit": ["Minor", "", None], "prompt_timeout_s": [301, "300", 300.0], "pin_attempts": [True, 1.0],
    "reused_key_status": ["422"], "retry_schedule_s": [(0, 5), "none", 0, (), [False], [0.0]],
    "endpoint_disable_after_s": [],
}  # fmt: skip
OF_ANY_TYPE = [{}, {"a": 1}, set(), [[0]], [0, [5]], [{}], bytearray(b"x")]


def test_an_unknown_value_is_refused_with_those_there_are():
    for name, values in UNKNOWN.items():
        allowed = (BY_NAME[name].default, *BY_NAME[name].alternatives)
        for value in [*values, *OF_ANY_TYPE]:
            error = refused({name: value})
            assert error.facts == {"name": name, "allowed": allowed}
            assert all(gaps.written(each) in error.message for each in allowed)
