import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct

from workbench.domain import wire
from workbench.domain.reading import json_from, struct_from
from workbench.errors import InvalidRequest

INTENT = {"amount": 150, "currency": "ZMW", "payment_method_types": ["mobile_money"]}
METHOD = {"type": "mobile_money", "mobile_money": {"phone": "+260961234567", "provider": "mtn"}}
CONFIRM = {"payment_method": METHOD}
CHARGE = {"amount": 15_000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": "+260961234567"}
PLANT = {"id": 1, "name": "Monstera"}
ENDPOINT = {"url": "http://localhost:8000/"}
GOOD: dict[type[Struct], dict[str, Any]] = {
    wire.CreatePaymentIntent: INTENT,
    wire.ConfirmPaymentIntent: CONFIRM,
    wire.CreateCharge: CHARGE,
    wire.NewPlant: PLANT,
    wire.TokenRequest: {"email": "a@b.example", "password": "x"},
    wire.RefreshRequest: {},
    wire.CreateWebhookEndpoint: ENDPOINT,
}
BY_STRUCT = pytest.mark.parametrize("shape", GOOD, ids=lambda shape: shape.__name__)


def refused(body: bytes) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        json_from(body)
    return caught.value


def refused_as(shape: type[Struct], value: object, **more: str) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        struct_from(value, shape, **more)
    return caught.value


NESTS = pytest.mark.parametrize(
    ("opening", "innermost", "closing"),
    [("[", "", "]"), ("[", "1", "]"), ('{"a":', "1", "}"), ('{"a":', "{}", "}")],
    ids=["arrays", "arrays of one", "objects", "objects, the last empty"],
)


def nested(depth: int, opening: str, innermost: str, closing: str) -> bytes:
    depth -= innermost == "{}"
    return (opening * depth + innermost + closing * depth).encode()


# Bytes to JSON


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"150", 150),
        (b"150.00", Decimal("150.00")),
        (b"-0", 0),
        (b"1e2", Decimal("1e2")),
        (b"0.1", Decimal("0.1")),
        (b'"\\u00e9"', "é"),
        ('"é"'.encode(), "é"),
        (b'"\\ud83c\\udf31"', "🌱"),
        (b"null", None),
        (b"true", True),
        (b' {"a": [1, {"b": ""}]}\n', {"a": [1, {"b": ""}]}),
        (b"1" * 400, int("1" * 400)),
    ],
)
def test_json_is_read_exactly(body: bytes, value: object):
    assert json_from(body) == value
    assert type(json_from(body)) is type(value)


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        (b"", "body_not_json", None),
        (b"{", "body_not_json", None),
        (b"{'a': 1}", "body_not_json", None),
        (b'{"a": 1,}', "body_not_json", None),
        (b"1 2", "body_not_json", None),
        (b"01", "body_not_json", None),
        (b"+1", "body_not_json", None),
        (b".5", "body_not_json", None),
        (b'"\t"', "body_not_json", None),
        (b"\xef\xbb\xbf{}", "body_not_json", None),
        (b"\xff", "body_not_utf8", None),
        (b'{"a": "\xe9"}', "body_not_utf8", None),
        ("{}".encode("utf-16"), "body_not_utf8", None),
        (b'"\xed\xa0\x80"', "body_not_utf8", None),
        (b'"\\ud800"', "body_not_utf8", None),
        (b'{"a": "\\udfff"}', "body_not_utf8", "a"),
        (b'{"\\ud800": 1}', "body_not_utf8", None),
        (b'{"a": {"\\ud800": {}}}', "body_not_utf8", "a"),
        (b"NaN", "number_invalid", None),
        (b'{"amount": NaN}', "number_invalid", "amount"),
        (b'{"amount": Infinity}', "number_invalid", "amount"),
        (b'{"amount": -Infinity}', "number_invalid", "amount"),
        (b'{"other": [0, {"deep": NaN}]}', "number_invalid", "other.1.deep"),
        (b'{"amount": ' + b"1" * 401 + b"}", "number_invalid", "amount"),
        (b'{"amount": 0.' + b"1" * 400 + b"}", "number_invalid", "amount"),
        (b'{"amount": ' + b"1" * 100_000 + b"}", "number_invalid", "amount"),
        (b'{"amount": 1e' + b"9" * 30 + b"}", "number_invalid", "amount"),
        (b'{"amount": 1, "amount": 2}', "duplicate_key", "amount"),
        (b'{"amount": 1, "amount": 1}', "duplicate_key", "amount"),
        (b'{"a": [{"b": 1, "\\u0062": 1}]}', "duplicate_key", "b"),
    ],
)
def test_what_money_cannot_bear_is_refused(body: bytes, code: str, param: str | None):
    error = refused(body)
    assert (error.code, error.param) == (code, param)


@pytest.mark.parametrize("body", [b'{"\\ud800": NaN}', b'{"\\ud800": 1, "\\ud800": 2}'])
def test_a_refusal_can_always_be_written_down(body: bytes):
    error = refused(body)
    f"{error} {error.param} {error.problems}".encode()


@NESTS
@pytest.mark.parametrize("depth", [1, 31, 32])
def test_nesting_to_32_levels_is_read(depth: int, opening: str, innermost: str, closing: str):
    json_from(nested(depth, opening, innermost, closing))


@NESTS
@pytest.mark.parametrize("depth", [33, 34, 999, 1_000, 100_000])
def test_deeper_nesting_is_refused(depth: int, opening: str, innermost: str, closing: str):
    assert refused(nested(depth, opening, innermost, closing)).code == "body_too_deep"


def test_deep_nesting_that_is_never_closed_is_refused():
    assert refused(b"[" * 100_000).code in ("body_too_deep", "body_not_json")


@given(st.one_of(st.binary(max_size=60), st.text('[]{}",:\\ud8e0+-.NaIfinty1', max_size=40).map(str.encode)))
def test_any_bytes_are_read_or_refused(body: bytes):
    try:
        json_from(body)
    except InvalidRequest as error:
        str(error).encode()


# JSON to struct


@BY_STRUCT
def test_a_good_body_becomes_its_struct(shape: type[Struct]):
    assert isinstance(struct_from(GOOD[shape], shape), shape)


@pytest.mark.parametrize("text", ["150", "150.0", "150.00", "1.5e2"])
def test_one_amount_has_many_spellings(text: str):
    body = json.dumps(INTENT).replace("150", text).encode()
    assert struct_from(json_from(body), wire.CreatePaymentIntent).amount == Decimal(150)


@pytest.mark.parametrize("text", ["15000", "15000.0", "15000.00", "1.5e4"])
def test_a_whole_number_may_be_written_with_zeros(text: str):
    body = json.dumps(CHARGE).replace("15000", text).encode()
    amount = struct_from(json_from(body), wire.CreateCharge).amount
    assert (amount, type(amount)) == (15_000, int)


@pytest.mark.parametrize(
    ("shape", "field", "value", "said"),
    [
        (wire.CreatePaymentIntent, "amount", "150", "must be a number, not a string"),
        (wire.CreatePaymentIntent, "amount", True, "must be a number, not a boolean"),
        (wire.CreatePaymentIntent, "amount", None, "must be a number, not null"),
        (wire.CreatePaymentIntent, "amount", [150], "must be a number, not an array"),
        (wire.CreatePaymentIntent, "amount", {"value": 150}, "must be a number, not an object"),
        (wire.CreatePaymentIntent, "currency", 967, "must be a string, not a number (967)"),
        (wire.CreatePaymentIntent, "currency", None, "must be a string, not null"),
        (wire.CreatePaymentIntent, "payment_method_types", "mobile_money", "must be an array of strings, not a string"),
        (wire.CreatePaymentIntent, "description", 1, "must be a string or null, not a number (1)"),
        (wire.CreatePaymentIntent, "metadata", None, "must be an object of strings, not null"),
        (
            wire.CreateCharge,
            "amount",
            Decimal("150.5"),
            "must be a whole number that fits 64 bits, not a number (150.5)",
        ),
        (wire.CreateCharge, "amount", "15000", "must be a whole number that fits 64 bits, not a string"),
        (wire.CreateCharge, "amount", True, "must be a whole number that fits 64 bits, not a boolean"),
        (wire.CreateCharge, "amount", 2**63, f"must be a whole number that fits 64 bits, not {2**63}"),
        (
            wire.CreateCharge,
            "amount",
            Decimal("1e30"),
            "must be a whole number that fits 64 bits, not a number (1E+30)",
        ),
        (
            wire.CreateCharge,
            "amount",
            Decimal("1e400"),
            "must be a whole number that fits 64 bits, not a number (1E+400)",
        ),
        (wire.CreateCharge, "amount", Decimal("1e999999"), "must be a whole number that fits 64 bits, not a number"),
        (wire.NewPlant, "id", -(2**63) - 1, "must be a whole number that fits 64 bits, not -9223372036854775809"),
        (wire.NewPlant, "tag", None, "must be a string, not null"),
        (wire.NewPlant, "tag", 1, "must be a string, not a number (1)"),
        (wire.ConfirmPaymentIntent, "payment_method", "mobile_money", "must be an object, not a string"),
        (wire.ConfirmPaymentIntent, "payment_method", None, "must be an object, not null"),
        (wire.CreateWebhookEndpoint, "enabled_events", {}, "must be an array of strings, not an object"),
    ],
)
def test_a_value_of_another_type_is_refused(shape: type[Struct], field: str, value: object, said: str):
    error = refused_as(shape, {**GOOD[shape], field: value})
    assert (error.code, error.param) == ("parameter_invalid", field)
    assert [each.pointer for each in error.problems] == [f"/{field}"]
    assert said in error.problems[0].detail


@pytest.mark.parametrize(
    ("field", "value", "pointers"),
    [
        ("payment_method_types", ["mobile_money", 1, None], {"/1": "a number (1)", "/2": "null"}),
        ("metadata", {"a": 1, "b": "text", "c/d": {}}, {"/a": "a number (1)", "/c~1d": "an object"}),
        ("metadata", {"a" * 100: True}, {"/" + "a" * 80: "a boolean"}),
    ],
)
def test_what_is_no_string_in_an_array_or_object_is_named(field: str, value: object, pointers: dict[str, str]):
    error = refused_as(wire.CreatePaymentIntent, {**GOOD[wire.CreatePaymentIntent], field: value})
    assert {each.pointer: each.detail for each in error.problems} == {
        f"/{field}{pointer}": f"must be a string, not {kind}" for pointer, kind in pointers.items()
    }


@pytest.mark.parametrize("bound", [2**63 - 1, -(2**63)])
def test_a_plant_has_an_id_of_64_bits(bound: int):
    assert struct_from({**PLANT, "id": bound}, wire.NewPlant).id == bound


@pytest.mark.parametrize(
    ("shape", "field"),
    [
        *((wire.CreatePaymentIntent, field) for field in INTENT),
        *((wire.ConfirmPaymentIntent, field) for field in CONFIRM),
        *((wire.CreateCharge, field) for field in CHARGE),
        *((wire.NewPlant, field) for field in PLANT),
        *((wire.TokenRequest, field) for field in ("email", "password")),
        (wire.CreateWebhookEndpoint, "url"),
    ],
)
def test_what_is_missing_is_named(shape: type[Struct], field: str):
    error = refused_as(shape, {name: value for name, value in GOOD[shape].items() if name != field})
    assert (error.code, error.param) == ("parameter_missing", field)
    assert list(error.problems) == [(f"/{field}", "is required")]


def test_what_may_be_missing_has_its_default():
    intent = struct_from(INTENT, wire.CreatePaymentIntent)
    assert (intent.description, intent.metadata) == (None, {})
    assert struct_from(PLANT, wire.NewPlant).tag is UNSET
    assert struct_from(CHARGE, wire.CreateCharge).reference is None
    assert struct_from(ENDPOINT, wire.CreateWebhookEndpoint).enabled_events == ["*"]


def test_every_problem_is_told_at_once():
    method = {"type": 1, "mobile_money": {"provider": None}}
    error = refused_as(wire.ConfirmPaymentIntent, {"payment_method": method, "client_secret": []})
    assert list(error.problems) == [
        ("/payment_method/type", "must be a string, not a number (1)"),
        ("/payment_method/mobile_money/phone", "is required"),
        ("/payment_method/mobile_money/provider", "must be a string, not null"),
        ("/client_secret", "must be a string or null, not an array"),
    ]
    assert (error.code, error.param) == ("parameter_invalid", "payment_method.type")


@BY_STRUCT
@pytest.mark.parametrize("value", [None, True, 1, "x", [], [{}]], ids=repr)
def test_a_body_that_is_no_object_is_refused(shape: type[Struct], value: object):
    error = refused_as(shape, value)
    assert (error.code, error.param) == ("parameter_invalid", None)
    assert str(error).startswith("The body must be an object")


@BY_STRUCT
def test_unknown_fields_are_ignored_or_refused_as_chosen(shape: type[Struct]):
    value = {**GOOD[shape], "surplus": 1, "a/b~c": 2}
    assert struct_from(value, shape) == struct_from(GOOD[shape], shape)
    error = refused_as(shape, value, unknown="refused")
    assert list(error.problems) == [("/surplus", "is not known"), ("/a~1b~0c", "is not known")]


def test_unknown_fields_inside_the_container_are_refused_with_their_place():
    value = {"payment_method": {**METHOD, "card": {}}}
    error = refused_as(wire.ConfirmPaymentIntent, value, unknown="refused")
    assert list(error.problems) == [("/payment_method/card", "is not known")]


NAMES = ("amount", "currency", "payment_method_types", "description", "metadata", "payment_method", "type",
         "mobile_money", "phone", "provider", "client_secret", "channel", "reference", "id", "name", "tag", "email",
         "password", "refresh_token", "url", "enabled_events")  # fmt: skip
JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.decimals(allow_nan=False, allow_infinity=False),
        st.sampled_from([Decimal("1e400"), Decimal("-1e999999"), Decimal("1e-999999"), Decimal("0e999999")]),
        st.text(max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)


@BY_STRUCT
@given(data=st.data())
def test_any_json_is_the_struct_or_refused(shape: type[Struct], data: st.DataObject):
    changed = data.draw(st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=3))
    value = data.draw(st.one_of(JSON_VALUES, st.just({**GOOD[shape], **changed})))
    unknown = data.draw(st.sampled_from(["ignored", "refused"]))
    made, refusal = None, None
    try:
        made = struct_from(value, shape, unknown=unknown)
    except InvalidRequest as error:
        refusal = error
    assert isinstance(made, shape) or (refusal is not None and refusal.problems)
    assert refusal is None or refusal.code in ("parameter_missing", "parameter_invalid")
