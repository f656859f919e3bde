from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.gaps import REGISTER, Gaps
from workbench.errors import GapRefused

SECTIONS = {
    "1": "clearing payouts",
    "2.1": "success_status currencies currency_case payment_method_types",
    "2.5": "required_fields intent_fields unknown_fields phone_format operator_ids zed_mobile charge_amount_unit "
    "intent_amount_scale channel_and_provider operator_mismatch merchant_fee operator_fee fee_on_refund",
    "3": "intent_states charge_states charge_wait prompt_timeout_s pin_attempts late_success",
    "4": "confirm_response client_secret_on_confirm extra_endpoints pagination token_credentials token_field "
    "refresh_request",
    "5": "access_token_use publishable_key auth_schemes key_rotation key_revocation",
    "6": "event_types event_payload signature_scheme signature_tolerance_s endpoint_registration retry_schedule_s "
    "delivery_success delivery_timeout_s delivery_gone delivery_retry_after dead_letter endpoint_disable_after_s "
    "replay ordering",
    "7": "error_format declined_status reused_key_status failure_triggers",
    "8": "rate_limit amount_bounds idempotency_required idempotency_retention_s idempotency_keeps_errors",
    "9": "version_header deprecation",
}
"""What the interface leaves open, by the section that does."""

ALTERNATIVES: dict[str, int] = {
    "clearing": 2, "payouts": 1,
    "success_status": 1, "currencies": 1, "currency_case": 1, "payment_method_types": 1,
    "required_fields": 1, "intent_fields": 1, "unknown_fields": 1, "phone_format": 1, "operator_ids": 1,
    "zed_mobile": 1, "charge_amount_unit": 1, "intent_amount_scale": 1, "channel_and_provider": 1,
    "operator_mismatch": 1, "merchant_fee": 2, "operator_fee": 1, "fee_on_refund": 1,
    "intent_states": 1, "charge_states": 1, "charge_wait": 2, "prompt_timeout_s": 3, "pin_attempts": 1,
    "late_success": 1,
    "confirm_response": 1, "client_secret_on_confirm": 1, "extra_endpoints": 1, "pagination": 1,
    "token_credentials": 1, "token_field": 2, "refresh_request": 1,
    "access_token_use": 1, "publishable_key": 1, "auth_schemes": 1, "key_rotation": 1, "key_revocation": 0,
    "event_types": 1, "event_payload": 1, "signature_scheme": 2, "signature_tolerance_s": 1,
    "endpoint_registration": 1, "retry_schedule_s": 3, "delivery_success": 1, "delivery_timeout_s": 2,
    "delivery_gone": 1, "delivery_retry_after": 1, "dead_letter": 1, "endpoint_disable_after_s": 1, "replay": 1,
    "ordering": 1,
    "error_format": 2, "declined_status": 1, "reused_key_status": 2, "failure_triggers": 1,
    "rate_limit": 1, "amount_bounds": 1, "idempotency_required": 1, "idempotency_retention_s": 2,
    "idempotency_keeps_errors": 1,
    "version_header": 1, "deprecation": 1,
}  # fmt: skip
"""How many other readings each row has, built or planned."""

SCHEDULE = (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
BY_NAME = {gap.name: gap for gap in REGISTER}


def refused(choices: dict[Any, object]) -> GapRefused:
    with pytest.raises(GapRefused) as caught:
        Gaps.chosen(choices)
    return caught.value


def test_the_register_holds_every_row_in_its_section_and_every_reading_is_offered_or_planned():
    assert [(gap.section, gap.name) for gap in REGISTER] == [
        (section, name) for section, names in SECTIONS.items() for name in names.split()
    ]
    assert {gap.name: len(gap.alternatives) + len(gap.planned) for gap in REGISTER} == ALTERNATIVES


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
        "pin_attempts": 3, "signature_tolerance_s": 300, "retry_schedule_s": SCHEDULE, "delivery_timeout_s": 15,
        "endpoint_disable_after_s": 432_000, "reused_key_status": 422, "idempotency_retention_s": 86_400,
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
        assert "planned" in error.message
        assert "not built yet" in error.message
        assert error.facts["name"] == name
        assert value not in error.facts["allowed"]


@pytest.mark.parametrize("name", ["", "prompt_timeout", "Prompt_timeout_s", "chosen", "__class__", 1, None])
def test_an_unknown_name_is_refused_with_the_nearest_one_or_where_all_are_listed(name: object):
    error = refused({name: "x"})
    assert error.facts["name"] == name
    near = str(name).lower() == "prompt_timeout_s" or name == "prompt_timeout"
    assert error.hint == ("Did you mean prompt_timeout_s?" if near else "`workbench gaps` lists them.")
    assert len(str(error)) < 120
    assert set(error.facts["allowed"]) == {gap.name for gap in REGISTER}


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


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(sorted(BY_NAME)), st.text(max_size=5)),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
            max_leaves=4,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_choices_are_taken_or_refused(choices: dict[str, object]):
    try:
        gaps = Gaps.chosen(choices)
    except GapRefused:
        return
    assert set(gaps.changed()) <= set(choices)


def offered_for(name: str) -> str:
    return refused({name: 1}).hint.removeprefix("Did you mean ").removesuffix("?")


def test_of_near_names_that_which_shares_more_words_is_offered():
    assert offered_for("charge_unit") == "charge_amount_unit"
    assert offered_for("charge_wiat") == "charge_wait"


def test_a_name_with_a_slip_or_without_a_word_leads_to_a_row_with_all_the_others():
    for name in BY_NAME:
        words = name.split("_")
        assert offered_for(name[:-2] + name[-1] + name[-2] + "x") == name
        for left_out in words[: len(words) * (len(words) > 1)]:
            left = [each for each in words if each != left_out]
            assert {*left} <= {*offered_for("_".join(left)).split("_")} or "_".join(left) in BY_NAME
