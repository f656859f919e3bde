from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.gaps import REGISTER, Gaps
from workbench.errors import GapRefused

ROWS: dict[str, dict[str, int]] = {
    "1": {"clearing": 2, "payouts": 1},
    "2.1": {"success_status": 1, "currencies": 1, "currency_case": 1, "payment_method_types": 1},
    "2.5": {"required_fields": 1, "intent_fields": 1, "unknown_fields": 1, "phone_format": 1, "operator_ids": 1,
            "zed_mobile": 1, "charge_amount_unit": 1, "intent_amount_scale": 1, "channel_and_provider": 1,
            "operator_mismatch": 1, "merchant_fee": 2, "operator_fee": 1, "fee_on_refund": 1},
    "3": {"intent_states": 1, "charge_states": 1, "charge_wait": 2, "prompt_timeout_s": 3, "pin_attempts": 1,
          "late_success": 1},
    "4": {"confirm_response": 1, "client_secret_on_confirm": 1, "extra_endpoints": 1, "pagination": 1,
          "token_credentials": 1, "token_field": 2, "refresh_request": 1},
    "5": {"access_token_use": 1, "publishable_key": 1, "auth_schemes": 1, "key_rotation": 1, "key_revocation": 0},
    "6": {"event_types": 1, "event_payload": 1, "signature_scheme": 2, "signature_tolerance_s": 1,
          "endpoint_registration": 1, "retry_schedule_s": 3, "delivery_success": 1, "delivery_timeout_s": 2,
          "delivery_gone": 1, "delivery_retry_after": 1, "dead_letter": 1, "endpoint_disable_after_s": 1, "replay": 1,
          "ordering": 1},
    "7": {"error_format": 2, "declined_status": 1, "reused_key_status": 2, "failure_triggers": 1},
    "8": {"rate_limit": 1, "amount_bounds": 1, "idempotency_required": 1, "idempotency_retention_s": 2,
          "idempotency_keeps_errors": 1},
    "9": {"version_header": 1, "deprecation": 1},
}  # fmt: skip
"""What the interface leaves open, by the section that does, and how many other readings it has, built or planned."""
BY_NAME = {gap.name: gap for gap in REGISTER}


def refused(choices: object) -> GapRefused:
    with pytest.raises(GapRefused) as caught:
        Gaps.chosen(choices)
    return caught.value


def test_the_register_holds_every_row_in_its_section_and_every_reading_is_offered_or_planned():
    assert [(gap.section, gap.name, len(gap.alternatives) + len(gap.planned)) for gap in REGISTER] == [
        (section, name, others) for section, names in ROWS.items() for name, others in names.items()
    ]


def test_a_row_explains_itself_and_every_value_is_of_the_annotated_type():
    hints = get_type_hints(Gaps)
    for gap in REGISTER:
        assert gap.says
        assert all(each for each in (*gap.alternatives.values(), *gap.planned.values())), gap.name
        assert gap.default not in gap.alternatives
        assert not {gap.default, *gap.alternatives} & set(gap.planned), gap.name
        of_type = tuple if hints[gap.name] == tuple[int, ...] else hints[gap.name]
        for value in (gap.default, *gap.alternatives, *gap.planned):
            assert type(value) is of_type, gap.name
            assert of_type is not tuple or all(type(each) is int for each in value)


def test_figures_of_the_defaults():
    figures = {
        "charge_amount_unit": "minor", "merchant_fee": "2.5%", "operator_fee": "1.0%", "prompt_timeout_s": 300,
        "pin_attempts": 3, "signature_tolerance_s": 300, "delivery_timeout_s": 15,
        "endpoint_disable_after_s": 432_000, "reused_key_status": 422, "idempotency_retention_s": 86_400,
        "retry_schedule_s": (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400),
    }  # fmt: skip
    assert {name: getattr(Gaps(), name) for name in figures} == figures
    assert set(BY_NAME["retry_schedule_s"].alternatives) == {
        (0, 5, 300, 1800, 7200, 18000, 36000, 36000), (0, *(1800,) * 48), (0,),
    }  # fmt: skip


def test_nothing_chosen_is_the_defaults_and_each_alternative_is_selectable_on_its_own():
    for choices in (None, {}, {gap.name: gap.default for gap in REGISTER}):
        assert Gaps.chosen(choices) == Gaps()
        assert Gaps.chosen(choices).changed() == {}
    for gap in REGISTER:
        for value in gap.alternatives:
            assert Gaps.chosen({gap.name: value}).changed() == {gap.name: value}
    for value in BY_NAME["retry_schedule_s"].alternatives:
        assert Gaps.chosen({"retry_schedule_s": list(value)}).retry_schedule_s == value


def test_what_is_planned_is_refused_as_planned():
    for name, value in [(gap.name, value) for gap in REGISTER for value in gap.planned]:
        error = refused({name: value})
        assert f"is planned for {name} and not built yet" in error.message
        assert error.facts["name"] == name
        assert value not in error.facts["allowed"]


def test_an_unknown_name_is_refused_with_the_nearest_one_or_where_all_are_listed():
    for name in ("", "prompt_timeout", "Prompt_timeout_s", "chosen", "__class__", 1, None):
        error = refused({name: "x"})
        near = name in ("prompt_timeout", "Prompt_timeout_s")
        assert error.hint == ("Did you mean prompt_timeout_s?" if near else "`workbench gaps` lists them.")
        assert len(str(error)) < 120
        assert error.facts == {"name": name, "allowed": tuple(BY_NAME)}
    for choices in (["charge_amount_unit"], "charge_amount_unit", 7):
        assert type(choices).__name__ in refused(choices).message


UNKNOWN: dict[str, list[object]] = {
    "charge_amount_unit": ["Minor", "", None], "prompt_timeout_s": [301, "300", 300.0], "pin_attempts": [True, 1.0],
    "reused_key_status": ["422"], "retry_schedule_s": [(0, 5), "none", 0, (), [False], [0.0]],
}  # fmt: skip
OF_ANY_TYPE = [{}, {"a": 1}, set(), [[0]], [0, [5]], [{}], bytearray(b"x")]


def test_an_unknown_value_is_refused_with_those_there_are():
    for name in ("retry_schedule_s", "charge_amount_unit", "endpoint_disable_after_s", *UNKNOWN):
        allowed = (BY_NAME[name].default, *BY_NAME[name].alternatives)
        for value in [*UNKNOWN.get(name, ()), *OF_ANY_TYPE]:
            error = refused({name: value})
            assert error.facts == {"name": name, "allowed": allowed}
            assert all(repr(each) in error.message for each in allowed)


NAMES = st.sampled_from(sorted(BY_NAME)) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3))
def test_any_choices_are_taken_or_refused(choices: dict[str, object]):
    try:
        gaps = Gaps.chosen(choices)
    except GapRefused:
        return
    assert set(gaps.changed()) <= set(choices)


def offered_for(name: str) -> str:
    return refused({name: 1}).hint.removeprefix("Did you mean ").removesuffix("?")


def test_of_near_names_that_which_shares_more_words_is_offered():
    near = {"charge_unit": "charge_amount_unit", "charge_wiat": "charge_wait", "CLEARNG": "clearing"}
    assert {name: offered_for(name) for name in near} == near
    for name in BY_NAME:
        words = name.split("_")
        assert offered_for(name[:-2] + name[-1] + name[-2] + "x") == name
        for left_out in words[: len(words) * (len(words) > 1)]:
            left = [each for each in words if each != left_out]
            assert {*left} <= {*offered_for("_".join(left)).split("_")} or "_".join(left) in BY_NAME
