from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from workbench.domain.reading import as_text, json_from, struct_from
from workbench.domain.wire.keys_and_events import (
    CreateWebhookEndpoint,
    NewPlant,
    RefreshRequest,
    TokenRequest,
    UpdateWebhookEndpoint,
)
from workbench.domain.wire.payments_and_payouts import (
    ConfirmPaymentIntent,
    CreateCharge,
    CreatePaymentIntent,
)
from workbench.domain.wire.sandbox_controls import Simulate
from workbench.errors import InvalidRequest

INTENT = {"amount": 150, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
METHOD = {"type": "mobile_money", "mobile_money": {"phone": "+260961234567", "provider": "mtn"}}
CHARGE = {"amount": 15_000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": "+260961234567"}
PLANT = {"id": 1, "name": "Monstera"}
GOOD: dict[type[Struct], dict[str, Any]] = {
    CreatePaymentIntent: INTENT,
    ConfirmPaymentIntent: {"payment_method": METHOD},
    CreateCharge: CHARGE,
    NewPlant: PLANT,
    TokenRequest: {"email": "a@b.example", "password": "x"},
    RefreshRequest: {},
    CreateWebhookEndpoint: {"url": "http://localhost:8000/"},
}


def refused(read: Callable[..., object], *args: object, **more: str) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read(*args, **more)
    return caught.value


def nested(depth: int, opening: str, innermost: str, closing: str) -> bytes:
    depth -= innermost == "{}"
    return (opening * depth + innermost + closing * depth).encode()


def test_json_is_read_exactly():
    for body, value in (
        (b"150", 150), (b"150.00", Decimal("150.00")), (b"-0", 0), (b"1e2", Decimal("1e2")), (b"0.1", Decimal("0.1")),
        (b'"\\u00e9"', "é"), ('"é"'.encode(), "é"), (b'"\\ud83c\\udf31"', "🌱"), (b"null", None), (b"true", True),
        (b' {"a": [1, {"b": ""}]}\n', {"a": [1, {"b": ""}]}), (b"1" * 400, int("1" * 400)),
    ):  # fmt: skip
        assert json_from(body) == value
        assert type(json_from(body)) is type(value)


REFUSED = {
    ("body_not_json", None): [b"{'a': 1}", b"01", b".5", b'"\t"'],
    ("body_not_utf8", None): [b'"\xed\xa0\x80"', b'"\\ud800"', b'{"\\ud800": NaN}'],
    ("body_not_utf8", "a"): [b'{"a": {"\\ud800": {}}}'],
    ("number_invalid", None): [b"NaN"],
    ("number_invalid", "a"): [b'{"a": -Infinity}', b'{"a": %s}' % (b"1" * 401), b'{"a": 0.%s}' % (b"1" * 400)],
    ("number_invalid", "other.1.deep"): [b'{"other": [0, {"deep": 1e%s}]}' % (b"9" * 30)],
    ("duplicate_key", "\\ud800"): [b'{"\\ud800": 1, "\\ud800": 2}'],
}
"""(code, param) → bodies, beside those that are sent through the doors."""


def test_what_money_cannot_bear_is_refused_by_what_can_always_be_written_down():
    for (code, param), bodies in REFUSED.items():
        for body in bodies:
            error = refused(json_from, body)
            assert (error.code, error.param) == (code, param), body[:40]
            f"{error} {error.param} {error.problems}".encode()


def test_nesting_to_32_levels_is_read_and_deeper_is_refused():
    for nest in (("[", "", "]"), ("[", "1", "]"), ('{"a":', "1", "}"), ('{"a":', "{}", "}")):
        json_from(nested(32, *nest))
        for depth in (33, 1_000, 100_000):
            assert refused(json_from, nested(depth, *nest)).code == "body_too_deep", (nest, depth)
    # Of what is never closed too.
    assert refused(json_from, b"[" * 100_000).code in ("body_too_deep", "body_not_json")


@given(st.one_of(st.binary(max_size=60), st.text('[]{}",:\\ud8e0+-.NaIfinty1', max_size=40).map(str.encode)))
def test_any_bytes_are_read_or_refused(body: bytes):
    try:
        json_from(body)
    except InvalidRequest as error:
        str(error).encode()


WHOLE, MINOR = "a whole number that fits 64 bits", "a whole number from 0 to 999999999999"
OTHER_TYPES: list[tuple[type[Struct], str, str, list[tuple[object, str]]]] = [
    (CreatePaymentIntent, "amount", "a number", [
        ("150", "a string"), (True, "a boolean"), (None, "null"), ([150], "an array"), ({"value": 150}, "an object"),
    ]),
    (CreatePaymentIntent, "currency", "a string", [(967, "a number (967)"), (None, "null")]),
    (CreatePaymentIntent, "payment_method_types", "an array of strings", [("mobile_money", "a string")]),
    (CreatePaymentIntent, "description", "a string or null", [(1, "a number (1)")]),
    (CreatePaymentIntent, "metadata", "an object of strings", [(None, "null")]),
    (CreateCharge, "amount", WHOLE, [
        (Decimal("150.5"), "a number (150.5)"), ("15000", "a string"), (True, "a boolean"), (2**63, f"{2**63}"),
        (Decimal("1e30"), "a number (1E+30)"), (Decimal("1e400"), "a number (1E+400)"),
        (Decimal("1e999999"), "a number (1E+999999)"),
    ]),
    (NewPlant, "id", WHOLE, [(-(2**63) - 1, "-9223372036854775809")]),
    (NewPlant, "tag", "a string", [(None, "null"), (1, "a number (1)")]),
    (ConfirmPaymentIntent, "payment_method", "an object", [("mobile_money", "a string"), (None, "null")]),
    (CreateWebhookEndpoint, "enabled_events", "an array of strings", [({}, "an object")]),
]  # fmt: skip


def test_a_value_of_another_type_is_refused_and_what_is_no_string_in_an_array_or_object_named():
    for shape, field, wanted, values in OTHER_TYPES:
        for value, kind in values:
            error = refused(struct_from, {**GOOD[shape], field: value}, shape)
            assert (error.code, error.param) == ("parameter_invalid", field)
            assert list(error.problems) == [(f"/{field}", f"must be {wanted}, not {kind}")]
    intent = CreatePaymentIntent
    for shape, field, value, kinds in (
        (intent, "payment_method_types", ["mobile_money", 1, None], {"1": "a number (1)", "2": "null"}),
        (intent, "metadata", {"a": 1, "b": "text", "c/d": {}}, {"a": "a number (1)", "c~1d": "an object"}),
        (intent, "metadata", {"a" * 100: True}, {"a" * 80: "a boolean"}),
        (UpdateWebhookEndpoint, "enabled_events", [1], {"0": "a number (1)"}),
    ):  # fmt: skip
        error = refused(struct_from, {**GOOD.get(shape, {}), field: value}, shape)
        assert list(error.problems) == [(f"/{field}/{at}", f"must be a string, not {kinds[at]}") for at in kinds]


def test_of_an_array_of_objects_each_is_read_and_what_is_wrong_with_one_named():
    commands = [{"at_ms": 0, "what": "pin"}, {"at_ms": Decimal("5.0"), "what": "pin", "more": 1}]
    read = struct_from({"simulation": "m", "commands": commands}, Simulate).commands
    assert [(each.at_ms, type(each.at_ms)) for each in read] == [(0, int), (5, int)]
    for commands, at, detail in (
        ([{"at_ms": 0, "what": "pin"}, {"at_ms": 0}], "/1/what", "is required"),
        (["pin"], "/0", "must be an object, not a string"),
        ([{"at_ms": 0, "what": "pin", "amount_minor": -1}], "/0/amount_minor", f"must be {MINOR}, not -1"),
        ({}, "", "must be an array of objects, not an object"),
    ):
        error = refused(struct_from, {"simulation": "m", "commands": commands}, Simulate)
        assert list(error.problems) == [(f"/commands{at}", detail)]


def test_what_is_no_object_is_refused_what_is_missing_named_and_what_is_unknown_ignored_or_refused_as_chosen():
    for value in (None, 1, "x", [{}]):
        error = refused(struct_from, value, NewPlant)
        assert (error.code, error.param) == ("parameter_invalid", None)
        assert str(error).startswith("The body must be an object")
    for shape, good in GOOD.items():
        for field in good:
            error = refused(struct_from, {name: value for name, value in good.items() if name != field}, shape)
            assert (error.code, error.param) == ("parameter_missing", field)
            assert list(error.problems) == [(f"/{field}", "is required")]
        surplus = {**good, "surplus": 1, "a/b~c": 2}
        assert struct_from(surplus, shape) == struct_from(good, shape)
        error = refused(struct_from, surplus, shape, unknown="refused")
        assert list(error.problems) == [("/surplus", "is not known"), ("/a~1b~0c", "is not known")]


def test_every_problem_is_told_at_once():
    method = {"type": 1, "mobile_money": {"provider": None}}
    error = refused(struct_from, {"payment_method": method, "client_secret": []}, ConfirmPaymentIntent)
    assert list(error.problems) == [
        ("/payment_method/type", "must be a string, not a number (1)"),
        ("/payment_method/mobile_money/phone", "is required"),
        ("/payment_method/mobile_money/provider", "must be a string, not null"),
        ("/client_secret", "must be a string or null, not an array"),
    ]
    assert (error.code, error.param) == ("parameter_invalid", "payment_method.type")
    method = {**METHOD, "card": {}}
    error = refused(struct_from, {"payment_method": method}, ConfirmPaymentIntent, unknown="refused")
    assert list(error.problems) == [("/payment_method/card", "is not known")]


NAMES = sorted({name for shape in GOOD for name in shape.__struct_fields__} | {"type", "mobile_money", "phone"})
LONG = [Decimal(text) for text in ("1e400", "-1e999999", "1e-999999", "0e999999")]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.sampled_from(LONG) | st.text(max_size=5)
    | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=4 * settings().max_examples)
@given(st.sampled_from(list(GOOD)), JSON_VALUES, st.booleans(), st.sampled_from(["ignored", "refused"]))
def test_any_json_is_the_struct_or_refused(shape: type[Struct], drawn: object, whole: bool, unknown: str):  # noqa: FBT001  drawn
    value = drawn if whole or not isinstance(drawn, dict) else {**GOOD[shape], **drawn}
    try:
        is_right = isinstance(struct_from(value, shape, unknown=unknown), shape)
    except InvalidRequest as error:
        is_right = bool(error.problems) and error.code in ("parameter_missing", "parameter_invalid")
    assert is_right


def test_a_parameter_of_which_a_number_was_made_is_the_text_that_was_typed():
    typed = {0.37: "0.37", 87.35: "87.35", 150: "150", 260961234567: "+260961234567", "0.10": "0.10", 26096: "26096"}
    assert {value: as_text(value) for value in typed} == typed
