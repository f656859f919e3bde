"""Bad requests and what is answered, through both doors: status, code and field, and nothing left behind."""

import http.client
import json
import select
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from workbench import Workbench
from workbench.receiver import Arrival

if TYPE_CHECKING:
    from tests.doors.conftest import Wire

NewNumber = Callable[..., str]

LIVE_SECRET = "sk" + "_live_" + "x" * 24
LIVE_PUBLISHABLE = "pk" + "_live_" + "x" * 24
OTHER_TEST_KEY = "sk" + "_test_" + "x" * 24
MOBILE_MONEY = '{"phone": "+260961234567", "provider": "mtn"}'
METHOD = f'{{"type": "mobile_money", "mobile_money": {MOBILE_MONEY}}}'
DEEP = "[" * 40 + "]" * 40
DEEPER = "[" * 100_000
MEGABYTE = 1 << 20


class Given:
    """What stands before a bad request is sent: an intent, and for some a prompt or a payment."""

    def __init__(self, wire: "Wire", state: str) -> None:
        self.wire = wire
        self.intent = wire.intent().json()
        self.number = wire.new_number()
        if state in ("prompted", "paid"):
            wire.confirm(self.intent["id"], self.number)
        if state == "paid":
            wire.pin(self.number)
        wire.bench.clock.advance(0)

    @property
    def path(self) -> str:
        return f"/v1/payment_intents/{self.intent['id']}"

    def create_intent(self, **fields: str | None) -> httpx.Response:
        return self.wire.intent(**fields)

    def create_charge(self, **fields: str | None) -> httpx.Response:
        return self.wire.charge(**fields)

    def create_plant(self, **fields: str | None) -> httpx.Response:
        return self.wire.plant(**fields)

    def confirm(self, headers: Mapping[str, str] | None = None, **fields: str | None) -> httpx.Response:
        body = self.wire.written({"payment_method": METHOD, **fields})
        return self.wire.post(f"{self.path}/confirm", body, self.wire.bearer if headers is None else headers)

    def intent_with(self, headers: Mapping[str, str]) -> httpx.Response:
        return self.wire.post("/v1/payment_intents", self.wire.written(INTENT), headers)

    def charge_with(self, headers: Mapping[str, str]) -> httpx.Response:
        body = self.wire.written({**CHARGE, "phone": json.dumps(self.number)})
        return self.wire.post("/v1/charges", body, headers)

    def body(self, path: str, content: bytes) -> httpx.Response:
        """This body to this operation, with all else in order."""
        own = self.wire.basic if path == "/v1/charges" else self.wire.bearer
        return self.wire.post(path, content, {**own, "Idempotency-Key": self.wire.new_key()})

    def typed(self, content_type: str | None) -> httpx.Response:
        headers = {} if content_type is None else {"Content-Type": content_type}
        return self.wire.bench.http.post(
            "/v1/payment_intents", content=self.wire.written(INTENT), headers={**self.wire.bearer, **headers}
        )

    def too_much(self, method: str, path: str) -> httpx.Response:
        """Two mebibytes, in chunks, that tell no length."""
        chunks = iter([b"x" * MEGABYTE] * 2)
        return self.wire.bench.http.request(method, path, content=chunks, headers=self.wire.bearer)


Send = Callable[[Given], httpx.Response]
SendKey = Callable[[Given, str], httpx.Response]


class Case(NamedTuple):
    name: str
    send: Send
    status: int
    code: str
    param: str | None = None
    given: str = "an intent"


INTENT = {"amount": "150.00", "currency": '"ZMW"', "payment_method_types": '["mobile_money"]'}
CHARGE = {"amount": "15000", "currency": '"zmw"', "type": '"mobile_money"', "channel": '"mtn"'}

# Amounts: the JSON text → the code for an intent, the code for a charge.
AMOUNTS: Mapping[str, tuple[str | None, str, str]] = {
    "zero": ("0", "amount_not_positive", "amount_not_positive"),
    "zero_with_decimals": ("0.00", "amount_not_positive", "amount_not_positive"),
    "minus_zero": ("-0.0", "amount_not_positive", "amount_not_positive"),
    "negative": ("-150", "amount_not_positive", "amount_not_positive"),
    "half_an_ngwee": ("150.005", "amount_too_precise", "parameter_invalid"),
    "three_decimals": ("150.001", "amount_too_precise", "parameter_invalid"),
    "thirty_one_decimals": ("150." + "0" * 30 + "1", "amount_too_precise", "parameter_invalid"),
    "a_hair_below": ("149." + "9" * 40, "amount_too_precise", "parameter_invalid"),
    "tiny": ("1e-400", "amount_too_precise", "parameter_invalid"),
    "vanishing": ("1e-999999999", "amount_too_precise", "parameter_invalid"),
    "nan": ("NaN", "number_invalid", "number_invalid"),
    "infinity": ("Infinity", "number_invalid", "number_invalid"),
    "minus_infinity": ("-Infinity", "number_invalid", "number_invalid"),
    "eleven_digits": ("10000000000.00", "amount_too_large", "amount_not_positive"),
    "1e400": ("1e400", "amount_too_large", "parameter_invalid"),
    "1e999999999": ("1e999999999", "amount_too_large", "parameter_invalid"),
    "1e99999999999999999999": ("1e99999999999999999999", "number_invalid", "number_invalid"),
    "500_digits": ("9" * 500, "number_invalid", "number_invalid"),
    "string": ('"150"', "parameter_invalid", "parameter_invalid"),
    "true": ("true", "parameter_invalid", "parameter_invalid"),
    "null": ("null", "parameter_invalid", "parameter_invalid"),
    "array": ("[150]", "parameter_invalid", "parameter_invalid"),
    "object": ('{"value": 150}', "parameter_invalid", "parameter_invalid"),
    "missing": (None, "parameter_missing", "parameter_missing"),
}
ONLY_OF_INTENTS = {"eleven_digits"}
CHARGE_AMOUNTS = {
    "150.5": ("150.5", "parameter_invalid"),
    "over_int64": (str(2**63), "parameter_invalid"),
    "thirteen_digits": ("1000000000000", "amount_too_large"),
}

CURRENCIES = {
    "unknown": ('"USD"', "currency_unsupported"),
    "retired": ('"ZMK"', "currency_retired"),
    "retired_lower_case": ('"zmk"', "currency_retired"),
    "empty": ('""', "currency_unsupported"),
    "padded": ('" ZMW"', "currency_unsupported"),
    "number": ("967", "parameter_invalid"),
    "null": ("null", "parameter_invalid"),
    "missing": (None, "parameter_missing"),
}

PHONES = {
    "fixed_line": ('"+260211234567"', "phone_without_wallet"),
    "zed": ('"+260981234567"', "phone_without_wallet"),
    "no_operator_yet": ('"+260791234567"', "phone_without_wallet"),
    "american": ('"+12025550123"', "phone_invalid"),
    "national": ('"0971234567"', "phone_invalid"),
    "spaces": ('"+260 97 1234567"', "phone_invalid"),
    "hyphens": ('"+260-97-1234567"', "phone_invalid"),
    "no_plus": ('"260971234567"', "phone_invalid"),
    "too_short": ('"+26097123456"', "phone_invalid"),
    "too_long": ('"+2609712345678"', "phone_invalid"),
    "line_break": (r'"+260971234567\n"', "phone_invalid"),
    "other_digits": ('"+26097１２３４５６７"', "phone_invalid"),  # noqa: RUF001  full-width digits are the point
    "empty": ('""', "phone_invalid"),
    "number": ("260971234567", "parameter_invalid"),
    "missing": (None, "parameter_missing"),
}

OPERATORS = {
    "unknown": ('"vodafone"', "operator_unknown"),
    "empty": ('""', "operator_unknown"),
    "number": ("1", "parameter_invalid"),
    "missing": (None, "parameter_missing"),
}

# Bodies that are no JSON object, the same for every operation: the bytes → code, field.
BODIES: Mapping[str, tuple[bytes, str, str | None]] = {
    "malformed": (b"amount=150.00", "body_not_json", None),
    "truncated": (b'{"amount": 150.00, "curr', "body_not_json", None),
    "trailing_comma": (b'{"amount": 150.00,}', "body_not_json", None),
    "two_values": (b"{}{}", "body_not_json", None),
    "byte_order_mark": (b"\xef\xbb\xbf{}", "body_not_json", None),
    "spaces": (b"   ", "body_not_json", None),
    "array": (b'[{"amount": 150.00}]', "parameter_invalid", None),
    "string": (b'"amount"', "parameter_invalid", None),
    "null": (b"null", "parameter_invalid", None),
    "deep": (f'{{"metadata": {DEEP}}}'.encode(), "body_too_deep", None),
    "deeper_than_a_stack": (DEEPER.encode(), "body_too_deep", None),
    "duplicate_key": (b'{"amount": 1, "amount": 100}', "duplicate_key", "amount"),
    "duplicate_key_escaped": (b'{"amount": 1, "\\u0061mount": 100}', "duplicate_key", "amount"),
    "duplicate_key_nested": (b'{"metadata": {"color": "green", "color": "red"}}', "duplicate_key", "color"),
    "duplicate_key_in_array": (b'{"metadata": [{"color": "green", "color": "red"}]}', "duplicate_key", "color"),
    "latin_1": ('{"description": "Bäume"}'.encode("latin-1"), "body_not_utf8", None),
    "utf_16": ('{"amount": 150}'.encode("utf-16"), "body_not_utf8", None),
    "lone_surrogate": (b'{"description": "\\ud83c"}', "body_not_utf8", "description"),
    "lone_surrogate_as_key": (b'{"\\udf3f": 1}', "body_not_utf8", None),
    "empty": (b"", "body_missing", None),
}

MEDIA_TYPES = {
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain",
    "json_like": "application/jsonp",
    "latin_1": "application/json; charset=latin-1",
    "none": None,
}

PINS = {"letters": "abcd", "three_digits": "123", "five_digits": "12345", "empty": "", "full_width": "１２３４"}  # noqa: RUF001  the same


def _confirm_path(field: str) -> str:
    return f"payment_method.mobile_money.{field}"


def _method(**fields: str | None) -> str:
    kept = {"phone": '"+260961234567"', "provider": '"mtn"', **fields}
    inner = ", ".join(f'"{name}": {text}' for name, text in kept.items() if text is not None)
    return f'{{"type": "mobile_money", "mobile_money": {{{inner}}}}}'


def _amount_cases() -> Iterator[Case]:
    for name, (text, of_intent, of_charge) in AMOUNTS.items():
        yield Case(f"intent_amount_{name}", lambda g, t=text: g.create_intent(amount=t), 400, of_intent, "amount")
        if name not in ONLY_OF_INTENTS:
            yield Case(f"charge_amount_{name}", lambda g, t=text: g.create_charge(amount=t), 400, of_charge, "amount")
    for name, (text, code) in CHARGE_AMOUNTS.items():
        yield Case(f"charge_amount_{name}", lambda g, t=text: g.create_charge(amount=t), 400, code, "amount")


def _field_cases() -> Iterator[Case]:
    for name, (text, code) in CURRENCIES.items():
        yield Case(f"intent_currency_{name}", lambda g, t=text: g.create_intent(currency=t), 400, code, "currency")
        yield Case(f"charge_currency_{name}", lambda g, t=text: g.create_charge(currency=t), 400, code, "currency")
    for name, (text, code) in PHONES.items():
        yield Case(
            f"confirm_phone_{name}",
            lambda g, t=text: g.confirm(payment_method=_method(phone=t)),
            400,
            code,
            _confirm_path("phone"),
        )
        yield Case(f"charge_phone_{name}", lambda g, t=text: g.create_charge(phone=t), 400, code, "phone")
    for name, (text, code) in OPERATORS.items():
        yield Case(
            f"confirm_provider_{name}",
            lambda g, t=text: g.confirm(payment_method=_method(provider=t)),
            400,
            code,
            _confirm_path("provider"),
        )
        yield Case(f"charge_channel_{name}", lambda g, t=text: g.create_charge(channel=t), 400, code, "channel")


def _body_cases() -> Iterator[Case]:
    for path in ("/v1/payment_intents", "/v1/charges"):
        for name, (content, code, param) in BODIES.items():
            yield Case(f"{path[4:]}_body_{name}", lambda g, p=path, c=content: g.body(p, c), 400, code, param)
    for name, given in MEDIA_TYPES.items():
        yield Case(f"content_type_{name}", lambda g, t=given: g.typed(t), 415, "media_type_unsupported", "Content-Type")
    for name, text in PINS.items():
        yield Case(
            f"pin_{name}", lambda g, t=text: g.wire.pin(g.number, t), 400, "pin_invalid", "text", given="prompted"
        )


TYPES = (
    Case("types_without_mobile_money", lambda g: g.create_intent(payment_method_types='["card"]'), 400,
         "parameter_invalid", "payment_method_types"),
    Case("types_empty", lambda g: g.create_intent(payment_method_types="[]"), 400,
         "parameter_invalid", "payment_method_types"),
    Case("types_no_array", lambda g: g.create_intent(payment_method_types='"mobile_money"'), 400,
         "parameter_invalid", "payment_method_types"),
    Case("types_of_numbers", lambda g: g.create_intent(payment_method_types='["mobile_money", 1]'), 400,
         "parameter_invalid", "payment_method_types.1"),
    Case("types_missing", lambda g: g.create_intent(payment_method_types=None), 400,
         "parameter_missing", "payment_method_types"),
    Case("description_number", lambda g: g.create_intent(description="1"), 400, "parameter_invalid", "description"),
    Case("metadata_of_numbers", lambda g: g.create_intent(metadata='{"order": 1}'), 400,
         "parameter_invalid", "metadata.order"),
    Case("charge_type_card", lambda g: g.create_charge(type='"card"'), 400, "parameter_invalid", "type"),
    Case("charge_type_missing", lambda g: g.create_charge(type=None), 400, "parameter_missing", "type"),
    Case("charge_reference_number", lambda g: g.create_charge(reference="1"), 400, "parameter_invalid", "reference"),
    Case("confirm_type_card", lambda g: g.confirm(payment_method=METHOD.replace("mobile_money", "card", 1)), 400,
         "parameter_invalid", "payment_method.type"),
    Case("confirm_without_container", lambda g: g.confirm(payment_method=None), 400,
         "parameter_missing", "payment_method"),
    Case("confirm_empty_container", lambda g: g.confirm(payment_method="{}"), 400,
         "parameter_missing", "payment_method.type"),
    Case("confirm_container_string", lambda g: g.confirm(payment_method='"mobile_money"'), 400,
         "parameter_invalid", "payment_method"),
    Case("confirm_without_mobile_money", lambda g: g.confirm(payment_method='{"type": "mobile_money"}'), 400,
         "parameter_missing", "payment_method.mobile_money"),
)  # fmt: skip

KEYS = (
    Case("no_key_intent", lambda g: g.intent_with({}), 401, "key_missing"),
    Case("no_key_charge", lambda g: g.charge_with({}), 401, "key_missing"),
    Case("no_key_retrieve", lambda g: g.wire.get(g.path, {}), 401, "key_missing"),
    Case("no_key_panel", lambda g: g.wire.get("/sandbox/clock", {}), 401, "key_missing"),
    Case("blank_authorization", lambda g: g.intent_with({"Authorization": ""}), 401, "key_missing"),
    Case("wrong_key_intent", lambda g: g.intent_with({"Authorization": f"Bearer {OTHER_TEST_KEY}"}), 401,
         "key_invalid"),
    Case("wrong_key_charge", lambda g: g.charge_with(g.wire.user(OTHER_TEST_KEY)), 401, "key_invalid"),
    Case("wrong_key_plant", lambda g: g.wire.post("/plants", b"{}", {"Authorization": f"Bearer {OTHER_TEST_KEY}"}),
         401, "key_invalid"),
    Case("key_cut_short", lambda g: g.intent_with({"Authorization": f"Bearer {str(g.wire.bench.secret_key)[:-1]}"}),
         401, "key_invalid"),
    Case("bearer_of_nothing", lambda g: g.intent_with({"Authorization": "Bearer"}), 401, "key_invalid"),
    Case("garbage", lambda g: g.intent_with({"Authorization": "open sesame"}), 401, "scheme_wrong"),
    Case("bare_test_key", lambda g: g.intent_with({"Authorization": str(g.wire.bench.secret_key)}), 401,
         "scheme_wrong"),
    Case("basic_not_base64", lambda g: g.charge_with({"Authorization": "Basic %%%"}), 401, "key_invalid"),
    Case("basic_not_utf8", lambda g: g.charge_with({"Authorization": "Basic /////w=="}), 401, "key_invalid"),
    Case("basic_on_intents", lambda g: g.intent_with(g.wire.basic), 401, "scheme_wrong"),
    Case("bearer_on_charges", lambda g: g.charge_with(g.wire.bearer), 401, "scheme_wrong"),
    Case("basic_with_password", lambda g: g.charge_with(g.wire.user(str(g.wire.bench.secret_key), "green")), 401,
         "key_invalid"),
    Case("key_as_password", lambda g: g.charge_with(g.wire.user("", str(g.wire.bench.secret_key))), 401,
         "key_invalid"),
    Case("publishable_creates_intent", lambda g: g.intent_with(g.wire.publishable), 403, "key_not_allowed"),
    Case("publishable_charges", lambda g: g.charge_with(g.wire.user(str(g.wire.bench.publishable_key))), 403,
         "key_not_allowed"),
    Case("publishable_plants", lambda g: g.wire.post("/plants", b"{}", g.wire.publishable), 403, "key_not_allowed"),
    Case("publishable_panel", lambda g: g.wire.get("/sandbox/trace", g.wire.publishable), 403, "key_not_allowed"),
    Case("publishable_registers_webhooks", lambda g: g.wire.post("/v1/webhook_endpoints", b"{}", g.wire.publishable),
         403, "key_not_allowed"),
    Case("publishable_retrieves_without_client_secret", lambda g: g.wire.get(g.path, g.wire.publishable), 403,
         "client_secret_missing", "client_secret"),
    Case("publishable_confirms_without_client_secret", lambda g: g.confirm(g.wire.publishable), 403,
         "client_secret_missing", "client_secret"),
    Case("publishable_wrong_client_secret", lambda g: g.confirm(g.wire.publishable, client_secret='"green"'), 403,
         "client_secret_wrong", "client_secret"),
    Case("publishable_client_secret_null", lambda g: g.confirm(g.wire.publishable, client_secret="null"), 403,
         "client_secret_missing", "client_secret"),
    Case("secret_key_wrong_client_secret", lambda g: g.confirm(client_secret='"green"'), 403,
         "client_secret_wrong", "client_secret"),
    Case("retrieve_wrong_client_secret", lambda g: g.wire.get(f"{g.path}?client_secret=green"), 403,
         "client_secret_wrong", "client_secret"),
    Case("refresh_unknown", lambda g: g.wire.post("/v1/auth/refresh", b'{"refresh_token": "green"}', {}), 401,
         "refresh_token_invalid", "refresh_token"),
    Case("refresh_nothing", lambda g: g.wire.post("/v1/auth/refresh", b"", {}), 400,
         "parameter_missing", "refresh_token"),
    Case("token_wrong_password",
         lambda g: g.wire.post("/v1/auth/token", b'{"email": "a@b.c", "password": "wrong"}', {}),
         401, "credentials_wrong", "password"),
    Case("token_empty_password",
         lambda g: g.wire.post("/v1/auth/token", b'{"email": "a@b.c", "password": ""}', {}),
         400, "parameter_invalid", "password"),
    Case("token_no_address", lambda g: g.wire.post("/v1/auth/token", b'{"email": "ada", "password": "green"}', {}), 400,
         "parameter_invalid", "email"),
)  # fmt: skip

LIVE = (
    Case("bearer_sk_live", lambda g: g.intent_with({"Authorization": f"Bearer {LIVE_SECRET}"}), 401,
         "live_key_in_sandbox"),
    Case("bearer_pk_live", lambda g: g.intent_with({"Authorization": f"Bearer {LIVE_PUBLISHABLE}"}), 401,
         "live_key_in_sandbox"),
    Case("bearer_lower_case_sk_live", lambda g: g.intent_with({"Authorization": f"bearer {LIVE_SECRET}"}), 401,
         "live_key_in_sandbox"),
    Case("bearer_two_spaces_sk_live", lambda g: g.intent_with({"Authorization": f"Bearer  {LIVE_SECRET}"}), 401,
         "live_key_in_sandbox"),
    Case("basic_user_sk_live", lambda g: g.charge_with(g.wire.user(LIVE_SECRET)), 401, "live_key_in_sandbox"),
    Case("basic_user_pk_live", lambda g: g.charge_with(g.wire.user(LIVE_PUBLISHABLE)), 401, "live_key_in_sandbox"),
    Case("basic_password_sk_live", lambda g: g.charge_with(g.wire.user("", LIVE_SECRET)), 401, "live_key_in_sandbox"),
    Case("bare_sk_live", lambda g: g.intent_with({"Authorization": LIVE_SECRET}), 401, "live_key_in_sandbox"),
    Case("other_scheme_sk_live", lambda g: g.intent_with({"Authorization": f"Token {LIVE_SECRET}"}), 401,
         "live_key_in_sandbox"),
    Case("bearer_sk_live_on_plants",
         lambda g: g.wire.post("/plants", b"{}", {"Authorization": f"Bearer {LIVE_SECRET}"}),
         401, "live_key_in_sandbox"),
    Case("bearer_sk_live_for_a_token", lambda g: g.wire.post("/v1/auth/token", b"{}",
         {"Authorization": f"Bearer {LIVE_SECRET}"}), 401, "live_key_in_sandbox"),
    Case("bearer_sk_live_on_no_path", lambda g: g.wire.get("/v1/nothing", {"Authorization": f"Bearer {LIVE_SECRET}"}),
         401, "live_key_in_sandbox"),
    Case("bearer_sk_live_on_panel", lambda g: g.wire.get("/sandbox/clock", {"Authorization": f"Bearer {LIVE_SECRET}"}),
         401, "live_key_in_sandbox"),
)  # fmt: skip

STATES = (
    Case("unknown_intent", lambda g: g.wire.get("/v1/payment_intents/pi_none"), 404, "intent_not_found", "id"),
    Case("unknown_intent_confirmed", lambda g: g.wire.confirm("pi_none", g.number), 404, "intent_not_found", "id"),
    Case("unknown_charge", lambda g: g.wire.get("/v1/charges/ch_none"), 404, "charge_not_found", "id"),
    Case("intent_asked_for_as_charge", lambda g: g.wire.get(f"/v1/charges/{g.intent['id']}"), 404,
         "charge_not_found", "id"),
    Case("confirm_twice", lambda g: g.confirm(), 409, "state_conflict", "status", given="prompted"),
    Case("confirm_after_success", lambda g: g.confirm(), 409, "state_conflict", "status", given="paid"),
    Case("pin_without_prompt", lambda g: g.wire.pin(g.number), 409, "no_prompt", "phone"),
    Case("pin_after_success", lambda g: g.wire.pin(g.number), 409, "no_prompt", "phone", given="paid"),
    Case("cancel_without_prompt", lambda g: g.wire.press(g.number, "cancel"), 409, "no_prompt", "phone"),
    Case("ignore_without_prompt", lambda g: g.wire.press(g.number, "ignore"), 409, "no_prompt", "phone"),
    Case("pin_missing", lambda g: g.wire.press(g.number, "input", b"{}"), 400, "parameter_missing", "text",
         given="prompted"),
    Case("phone_of_no_wallet", lambda g: g.wire.get("/sandbox/phones/+260211234567"), 400,
         "phone_without_wallet", "phone"),
    Case("clock_backwards", lambda g: g.wire.post("/sandbox/clock/advance", b'{"seconds": -1}', g.wire.bearer), 400,
         "parameter_invalid", "seconds"),
    Case("clock_far", lambda g: g.wire.post("/sandbox/clock/advance", b'{"seconds": 1e12}', g.wire.bearer), 400,
         "parameter_invalid", "seconds"),
    Case("clock_very_far",
         lambda g: g.wire.post("/sandbox/clock/advance", b'{"seconds": 1e999999}', g.wire.bearer),
         400, "parameter_invalid", "seconds"),
    Case("clock_too_fine", lambda g: g.wire.post("/sandbox/clock/advance", b'{"seconds": 0.0001}', g.wire.bearer), 400,
         "parameter_invalid", "seconds"),
    Case("trace_since_a_word", lambda g: g.wire.get("/sandbox/trace?since=yesterday"), 400, "parameter_invalid",
         "since"),
)  # fmt: skip

HEADERS = (
    Case("version_unknown", lambda g: g.intent_with({**g.wire.bearer, "Api-Version": "2"}), 400,
         "version_unknown", "Api-Version"),
    Case("version_empty", lambda g: g.intent_with({**g.wire.bearer, "Api-Version": ""}), 400,
         "version_unknown", "Api-Version"),
    Case("idempotency_key_missing", lambda g: g.charge_with(g.wire.basic), 400,
         "idempotency_key_missing", "Idempotency-Key"),
    Case("idempotency_key_empty", lambda g: g.charge_with({**g.wire.basic, "Idempotency-Key": ""}), 400,
         "idempotency_key_invalid", "Idempotency-Key"),
    Case("idempotency_key_empty_in_quotes", lambda g: g.charge_with({**g.wire.basic, "Idempotency-Key": '""'}), 400,
         "idempotency_key_invalid", "Idempotency-Key"),
    Case("idempotency_key_256_long", lambda g: g.charge_with({**g.wire.basic, "Idempotency-Key": "k" * 256}), 400,
         "idempotency_key_invalid", "Idempotency-Key"),
    Case("idempotency_key_unprintable", lambda g: g.charge_with({**g.wire.basic, "Idempotency-Key": "a\tb"}), 400,
         "idempotency_key_invalid", "Idempotency-Key"),
    *(
        Case(f"idempotency_key_{name}", lambda g, k=key: g.charge_with({**g.wire.basic, "Idempotency-Key": k}), 400,
             "idempotency_key_invalid", "Idempotency-Key")
        for name, key in {"twice": "a, b", "twice_in_quotes": '"a", "b"', "half_quoted": '"a', "bad_escape": r'"a\b"',
                          "quote_in_quotes": '"a"b"'}.items()
    ),
    Case("idempotency_key_256_long_on_intents",
         lambda g: g.intent_with({**g.wire.bearer, "Idempotency-Key": "k" * 256}),
         400, "idempotency_key_invalid", "Idempotency-Key"),
    Case("body_over_a_mebibyte", lambda g: g.create_intent(description=json.dumps("x" * MEGABYTE)), 413,
         "body_too_large"),
    *(
        Case(f"body_over_a_mebibyte_that_{method}_{path}_does_not_read", lambda g, m=method, p=path: g.too_much(m, p),
             413, "body_too_large")
        for method, path in (("POST", "/v1/dead_letters/replay"), ("POST", "/sandbox/reset"), ("GET", "/v1/charges"),
                             ("GET", "/sandbox/clock"), ("DELETE", "/v1/webhook_endpoints/we_x"))
    ),
    Case("body_far_over_a_mebibyte", lambda g: g.create_charge(reference=json.dumps("x" * 3 * MEGABYTE)), 413,
         "body_too_large"),
    Case("unknown_path", lambda g: g.wire.get("/v1/nothing"), 404, "path_not_found"),
    Case("unknown_path_at_the_top", lambda g: g.wire.get("/v2"), 404, "path_not_found"),
    Case("trailing_slash", lambda g: g.wire.get("/plants/"), 404, "path_not_found"),
    Case("wrong_method_intents", lambda g: g.wire.bench.http.delete("/v1/payment_intents", headers=g.wire.bearer), 405,
         "method_not_allowed"),
    Case("wrong_method_intent", lambda g: g.wire.bench.http.put(g.path, headers=g.wire.bearer), 405,
         "method_not_allowed"),
    Case("wrong_method_plants", lambda g: g.wire.get("/plants"), 405, "method_not_allowed"),
    Case("wrong_method_panel", lambda g: g.wire.bench.http.delete("/sandbox/clock", headers=g.wire.bearer), 405,
         "method_not_allowed"),
)  # fmt: skip

CASES = (*_amount_cases(), *_field_cases(), *_body_cases(), *TYPES, *KEYS, *LIVE, *STATES, *HEADERS)

PLANT_BODIES = {
    **{f"body_{name}": (lambda g, c=content: g.body("/plants", c)) for name, (content, _, _) in BODIES.items()},
    "id_string": lambda g: g.create_plant(id='"1"'),
    "id_fraction": lambda g: g.create_plant(id="1.5"),
    "id_true": lambda g: g.create_plant(id="true"),
    "id_missing": lambda g: g.create_plant(id=None),
    "id_over_int64": lambda g: g.create_plant(id=str(2**63)),
    "name_missing": lambda g: g.create_plant(name=None),
    "name_null": lambda g: g.create_plant(name="null"),
    "tag_number": lambda g: g.create_plant(tag="1"),
    "tag_null": lambda g: g.create_plant(tag="null"),
    "content_type_text": lambda g: g.wire.post("/plants", b'{"id": 1, "name": "a"}', {
        **g.wire.bearer, "Content-Type": "text/plain"}),
}  # fmt: skip

ALLOW = {
    "/v1/payment_intents": "POST",
    "/v1/payment_intents/pi_none": "GET",
    "/v1/payment_intents/pi_none/confirm": "POST",
    "/v1/charges": "POST",
    "/plants": "POST",
    "/v1/auth/token": "POST",
}

CLEAR_FROM = 14
"""`id is required.` is the shortest message that says what is wrong."""


class Left(NamedTuple):
    """What is compared before and after a bad request: the entries, the events, the receiver's last message."""

    entries: int
    events: set[str]
    last: Arrival | None


def look(wire: "Wire", since: int) -> Left:
    wire.bench.clock.advance(0)
    arrivals = wire.bench.receiver.arrivals
    return Left(len(wire.entries()), wire.events(since), arrivals[-1] if arrivals else None)


def rows_of(wire: "Wire", send: Callable[[Given], httpx.Response]) -> str:
    """The trace of what one request led to, as text; the served store is shared."""
    given = Given(wire, "an intent")
    since = wire.last_seq()
    send(given)
    wire.bench.clock.advance(0)
    return json.dumps(wire.trace(since), ensure_ascii=False)


def secrets_of(wire: "Wire", intent: Mapping[str, str]) -> list[str]:
    bench = wire.bench
    keys = [str(bench.secret_key), str(bench.publishable_key), *bench.receiver.secrets]
    return [*keys, intent["client_secret"], LIVE_SECRET, LIVE_PUBLISHABLE, OTHER_TEST_KEY]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_bad_request_is_refused_by_name_and_leaves_nothing(wire: "Wire", case: Case):
    since, given = wire.last_seq(), Given(wire, case.given)
    before = look(wire, since)

    response = case.send(given)

    assert (response.status_code, response.json().get("code"), response.json().get("param")) == (
        case.status,
        case.code,
        case.param,
    )
    assert_problem(response)
    if case.status == 400 and case.param:
        assert case.param.rpartition(".")[2] in response.json()["detail"]
    assert look(wire, since) == before
    assert not [secret for secret in secrets_of(wire, given.intent) if secret in response.text]


def assert_problem(response: httpx.Response) -> None:
    """RFC 9457 with the documented `error` and `message` as members too."""
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["request-id"] == problem["request_id"]
    assert problem["status"] == problem["error"] == response.status_code
    assert problem["message"] == problem["detail"]
    assert len(problem["message"]) > CLEAR_FROM
    assert {"type", "title", "instance"} <= problem.keys()
    if response.status_code == 401:
        assert "realm=" in response.headers["www-authenticate"]
    if response.status_code == 405:
        assert response.headers["allow"]


@pytest.mark.socket
@pytest.mark.parametrize(
    ("path", "instance"),
    [
        ("/v1/charges/ch_1:a", "/v1/charges/ch_1:a"),
        ("/v1/charges/a%20b", "/v1/charges/a%20b"),
        ("/v1/charges/%22%3C%5E%3E", "/v1/charges/%22%3C%5E%3E"),
        ("/v1/charges/50%25", "/v1/charges/50%25"),
        (
            "/sandbox/phones/+260961234567/nowhere",
            "/sandbox/phones/+26096%E2%80%A2%E2%80%A2%E2%80%A2%E2%80%A2567/nowhere",
        ),
        (f"/v1/charges/{OTHER_TEST_KEY}", "/v1/charges/sk_test_%E2%80%A2%E2%80%A2%E2%80%A2%E2%80%A2"),
    ],
)
def test_the_instance_is_a_uri_reference(wire: "Wire", path: str, instance: str):
    refused = wire.get(path)
    assert (refused.status_code, refused.json()["instance"]) == (404, instance)


@pytest.mark.parametrize("send", PLANT_BODIES.values(), ids=PLANT_BODIES.keys())
def test_a_bad_body_of_a_plant_is_the_documented_error(wire: "Wire", send: Send):
    since, given = wire.last_seq(), Given(wire, "an intent")
    before = look(wire, since)
    response = send(given)
    assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
    assert response.json().keys() == {"error", "message"}
    assert response.json()["error"] == 400
    assert len(response.json()["message"]) > CLEAR_FROM
    assert response.headers["request-id"]
    assert look(wire, since) == before


@pytest.mark.socket
@pytest.mark.parametrize(("path", "method"), ALLOW.items(), ids=ALLOW)
def test_a_wrong_method_is_answered_with_those_that_are_right(wire: "Wire", path: str, method: str):
    response = wire.bench.http.patch(path, headers=wire.bearer)
    assert response.status_code == 405
    assert method in response.headers["allow"].split(", ")
    assert "PATCH" not in response.headers["allow"]


@pytest.mark.parametrize("text", ['"ZMW"', '"zmw"', '"Zmw"'], ids=["upper", "lower", "mixed"])
def test_a_currency_is_taken_in_either_case(wire: "Wire", text: str):
    assert wire.intent(currency=text).json()["currency"] == "ZMW"
    assert wire.charge(currency=text).json()["currency"] == "zmw"


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON", "application/json; charset=utf-8", 'application/json;charset="UTF-8"'],
    ids=["plain", "mixed_case", "charset", "charset_in_quotes"],
)
def test_json_is_taken_in_every_spelling_of_its_type(wire: "Wire", content_type: str):
    assert Given(wire, "an intent").typed(content_type).status_code == 200


@pytest.mark.parametrize("text", PINS.values(), ids=PINS)
def test_what_could_not_be_a_pin_costs_no_try(wire: "Wire", text: str):
    _, phone = wire.prompt()
    wire.pin(phone, text)
    assert wire.get(f"/sandbox/phones/{phone}").json()["tries_left"] == 3


def test_every_fault_of_a_body_is_named_at_once(wire: "Wire"):
    problem = wire.intent(amount='"150"', currency="1", payment_method_types=None).json()
    assert {each["pointer"] for each in problem["errors"]} == {"/amount", "/currency", "/payment_method_types"}
    assert problem["param"] == "amount"


WRONG_CHARGE = {"amount": "0", "currency": '"USD"', "type": '"card"', "channel": '"vodafone"', "phone": '"0961234567"'}
WRONG_HOOK = b'{"url": "ftp://a.example", "enabled_events": ["charge.paid"]}'
WITHIN = "/payment_method/mobile_money"
WRONG_METHOD = '{"type": "card", "mobile_money": {"phone": "1", "provider": "vodafone"}}'


@pytest.mark.parametrize(
    ("send", "param", "pointers"),
    [
        (lambda g: g.create_intent(amount="-1", currency='"USD"', payment_method_types='["card"]'),
         "currency", "/currency /amount /payment_method_types"),
        (lambda g: g.create_charge(**WRONG_CHARGE), "currency", "/currency /amount /type /channel /phone"),
        (lambda g: g.confirm(payment_method=WRONG_METHOD), "payment_method.type",
         f"/payment_method/type {WITHIN}/provider {WITHIN}/phone"),
        (lambda g: g.body("/v1/payouts", b'{"amount": 0, "currency": "ZMK"}'), "currency", "/currency /amount"),
        (lambda g: g.body("/v1/webhook_endpoints", WRONG_HOOK), "url", "/url /enabled_events"),
        (lambda g: g.create_charge(type='"card"'), "type", "/type"),
        (lambda g: g.confirm(client_secret='"wrong"'), "client_secret", "/client_secret"),
        (lambda g: g.body("/v1/api_keys", b'{"kind": "live"}'), "kind", "/kind"),
        (lambda g: g.body("/v1/refunds", b'{"charge": "ch_0"}'), "charge", "/charge"),
        (lambda g: g.body("/sandbox/operator/script", b'{"phone": "+260961234567", "answers": ["none"]}'),
         "answers", "/answers"),
    ],
    ids=range(10),
)  # fmt: skip
def test_every_field_that_breaks_a_rule_is_listed(wire: "Wire", send: Send, param: str, pointers: str):
    problem = send(Given(wire, "an intent")).json()
    assert (problem["param"], [each["pointer"] for each in problem["errors"]]) == (param, pointers.split())
    assert all(each["detail"] for each in problem["errors"])
    assert problem["errors"][0]["detail"] in problem["detail"]


def test_what_is_no_field_of_the_body_is_not_listed(wire: "Wire"):
    for refused in (wire.get("/v1/charges/ch_0"), wire.charge(key="k" * 256)):
        assert refused.json()["param"] in ("id", "Idempotency-Key")
        assert "errors" not in refused.json()


@pytest.mark.socket
def test_a_body_of_exactly_a_mebibyte_is_read(wire: "Wire"):
    body = wire.written(INTENT)
    assert wire.post("/v1/payment_intents", body.ljust(MEGABYTE), wire.bearer).status_code == 200


def test_after_a_body_that_is_too_large_the_connection_is_kept_or_said_to_end(served_bench: Workbench):
    """A connection that ends unannounced takes down whatever request its client sends next."""
    url = urlsplit(served_bench.base_url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    headers = {"Authorization": f"Bearer {served_bench.secret_key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/payment_intents", b"x" * 3 * MEGABYTE, headers)
        response = connection.getresponse()
        response.read()
        assert response.status == 413
        ended = bool(select.select([connection.sock], [], [], 1)[0]) if connection.sock else False
        assert not ended
    finally:
        connection.close()


@pytest.mark.socket
def test_a_body_that_comes_in_chunks_is_read(wire: "Wire"):
    body = wire.written(INTENT)
    response = wire.bench.http.post(
        "/v1/payment_intents",
        content=iter([body[:7], body[7:]]),
        headers={**wire.bearer, "Content-Type": "application/json"},
    )
    assert response.status_code == 200


def test_a_key_that_is_not_ascii_is_refused_over_a_socket(served_bench: Workbench, new_number: NewNumber):
    """In process httpx itself stops such a header."""
    body = {"amount": 100, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": new_number()}
    auth = (str(served_bench.secret_key), "")
    response = served_bench.http.post(
        "/v1/charges", json=body, headers={"Idempotency-Key": "Bäume".encode()}, auth=auth
    )
    assert (response.status_code, response.json()["code"]) == (400, "idempotency_key_invalid")


# How a key is sent: {0} is `key:` in base64, {1} the key.
SPELLINGS = {
    "basic": "Basic {0}",
    "basic_lower_case": "basic {0}",
    "basic_upper_case": "BASIC {0}",
    "basic_two_spaces": "Basic  {0}",
    "bearer": "Bearer {1}",
    "bearer_lower_case": "bearer {1}",
    "bearer_two_spaces": "Bearer  {1}",
    "bare": "{1}",
    "other_scheme": "Token {1}",
}


@pytest.mark.parametrize("kind", ["test", "live"])
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_no_key_stands_in_the_trace_however_it_was_sent(wire: "Wire", spelling: str, kind: str):
    key = LIVE_SECRET if kind == "live" else str(wire.bench.secret_key)
    encoded = wire.user(key)["Authorization"].removeprefix("Basic ")
    text = rows_of(wire, lambda given: given.charge_with({"Authorization": spelling.format(encoded, key)}))
    assert '"kind": "call"' in text
    assert key not in text
    assert encoded not in text


# Where a key lands by mistake → the request that puts it there.
MISPLACED: Mapping[str, SendKey] = {
    "path": lambda g, key: g.wire.get(f"/v1/payment_intents/{key}"),
    "unknown_path": lambda g, key: g.wire.get(f"/v1/{key}"),
    "query": lambda g, key: g.wire.get(f"{g.path}?client_secret={key}"),
    "currency": lambda g, key: g.create_intent(currency=json.dumps(key)),
    "channel": lambda g, key: g.create_charge(channel=json.dumps(key)),
    "type": lambda g, key: g.create_charge(type=json.dumps(key)),
    "field_twice": lambda g, key: g.body("/v1/payment_intents", f'{{"{key}": 1, "{key}": 1}}'.encode()),
    "version": lambda g, key: g.intent_with({**g.wire.bearer, "Api-Version": key}),
    "content_type": lambda g, key: g.typed(key),
    "client_secret": lambda g, key: g.confirm(client_secret=json.dumps(key)),
}


@pytest.mark.parametrize("send", MISPLACED.values(), ids=MISPLACED)
def test_a_key_in_the_wrong_place_is_not_given_back(wire: "Wire", send: SendKey):
    key = str(wire.bench.secret_key)
    response = send(Given(wire, "an intent"), key)
    assert response.status_code >= 400
    # Messages cut what they quote, so that half of a key is looked for.
    assert key[:19] not in response.text


@pytest.mark.parametrize("send", MISPLACED.values(), ids=MISPLACED)
def test_a_key_in_the_wrong_place_does_not_stand_in_the_trace(wire: "Wire", send: SendKey):
    key = str(wire.bench.secret_key)
    text = rows_of(wire, lambda given: send(given, key))
    assert '"kind": "call"' in text
    assert key[:19] not in text


PHONE_SPELLINGS = {
    "e164": '"+26096{0}"',
    "escaped_plus": r'"\u002b26096{0}"',
    "escaped_digit": r'"+2609\u0036{0}"',
    "national": '"096{0}"',
    "no_plus": '"26096{0}"',
    "spaces": '"+260 96 {0}"',
}


@pytest.mark.parametrize("spelling", PHONE_SPELLINGS.values(), ids=PHONE_SPELLINGS)
def test_no_whole_number_stands_in_the_trace_however_it_was_sent(wire: "Wire", spelling: str):
    tail = wire.new_number()[-7:]
    text = rows_of(wire, lambda given: given.create_charge(phone=spelling.format(tail)))
    assert '"kind": "call"' in text
    assert tail not in text


def test_no_secret_stands_in_the_trace_of_a_whole_payment(wire: "Wire"):
    bench, since = wire.bench, wire.last_seq()
    intent_id, phone = wire.prompt()
    wire.pin(phone)
    token = wire.post("/v1/auth/token", b'{"email": "ada@example.com", "password": "monstera-99"}', {}).json()
    wire.post("/v1/auth/refresh", wire.written({"refresh_token": json.dumps(token["refresh_token"])}), {})
    client_secret = wire.get(f"/v1/payment_intents/{intent_id}").json()["client_secret"]
    bench.clock.advance(0)
    keys = [str(bench.secret_key), str(bench.publishable_key), *bench.receiver.secrets]
    hidden = [*keys, client_secret, phone, phone[-7:], token["access_token"], token["refresh_token"], "monstera-99"]
    own = bench.trace[-len(wire.trace(since)) :]
    shown = [
        repr(own),
        str(list(own)),
        str(own._repr_mimebundle_()),
        repr(bench),
        repr(bench.client),
    ]  # what Jupyter calls
    shown += [repr(each) for each in own.exchanges]
    assert not [secret for text in shown for secret in hidden if secret in text]


@pytest.mark.socket
@pytest.mark.parametrize("content", [content for content, _, _ in BODIES.values()], ids=BODIES)
def test_every_exchange_can_be_shown(wire: "Wire", content: bytes):
    Given(wire, "an intent").body("/v1/payment_intents", content)
    exchange = wire.bench.trace.exchanges[-1]
    assert exchange.status == 400
    assert "POST /v1/payment_intents HTTP/1.1" in repr(exchange)
