"""Where an answer comes from: shown by the interface, or assumed, and by which rows of the register.

Tables alone decide: a row of the register stands beside the status, kind of body, operation or code of an error that
it settles. What is said is of status, media type and body; headers and the moment of an effect are not looked at.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, get_args, get_origin

from workbench.sandbox.messages import JSON
from workbench.sandbox.operations import Operation

HEADER: Final = "Sandbox-Provenance"
_Rows = tuple[str, ...]
_ERRORS: Final = 300
"""The first status that is no success."""

SHOWN: Final[Mapping[tuple[str, str], frozenset[tuple[int, str]]]] = {
    ("POST", "/v1/charges"): frozenset({(200, JSON)}),
    ("POST", "/plants"): frozenset({(200, JSON), (400, JSON)}),
}
"""Operation → the statuses and media types that the interface shows: those of no other one are."""

OF_BODY: Final[Mapping[str, _Rows]] = {
    "PaymentIntent": ("currency_case", "intent_fields", "intent_states", "operator_ids"),
    "Charge": ("channel_and_provider", "charge_amount_unit", "charge_states", "currency_case", "operator_ids"),
    "Refund": ("charge_amount_unit", "currency_case"),
    "Payout": ("payouts",),
    "Balance": ("clearing",),
    "Token": ("token_field",),
    "Event": ("event_payload", "event_types"),
    "WebhookEndpoint": ("endpoint_registration",),
    "Delivery": ("dead_letter", "retry_schedule_s"),
    "List": ("pagination",),
}
"""Struct of a success → the rows that settle its members."""

OF_OPERATION: Final[Mapping[tuple[str, str], _Rows]] = {
    ("POST", "/v1/payment_intents/{intent_id}/confirm"): ("confirm_response",),
    ("POST", "/v1/charges"): ("charge_wait",),
    ("POST", "/v1/auth/token"): ("token_credentials",),
    ("POST", "/v1/auth/refresh"): ("refresh_request",),
    ("POST", "/v1/events/{event_id}/replay"): ("replay",),
    ("POST", "/v1/deliveries/{delivery_id}/replay"): ("replay",),
    ("POST", "/v1/dead_letters/replay"): ("replay",),
    ("POST", "/v1/api_keys/{key_id}/roll"): ("key_rotation",),
    ("DELETE", "/v1/api_keys/{key_id}"): ("key_revocation",),
}
"""Operation → the rows that settle its success, beside those of its body."""

OF_CODE: Final[Mapping[str, _Rows]] = {
    "amount_not_positive": ("amount_bounds",),
    "amount_too_large": ("amount_bounds",),
    "amount_out_of_bounds": ("amount_bounds",),
    "currency_unsupported": ("currencies",),
    "currency_retired": ("currencies",),
    "phone_invalid": ("phone_format",),
    "phone_without_wallet": ("zed_mobile",),
    "operator_unknown": ("operator_ids",),
    "operator_mismatch": ("operator_mismatch",),
    "event_type_unknown": ("event_types",),
    "scenario_unknown": ("failure_triggers",),
    "version_unknown": ("version_header",),
    "idempotency_key_missing": ("idempotency_required",),
    "idempotency_key_reused": ("idempotency_retention_s", "reused_key_status"),
    "scheme_wrong": ("auth_schemes",),
    "key_rolled": ("key_rotation",),
    "key_revoked": ("key_revocation",),
    "token_replaced": ("refresh_request",),
    "refresh_token_invalid": ("refresh_request",),
    "credentials_wrong": ("token_credentials",),
    "key_not_allowed": ("access_token_use", "publishable_key"),
    "client_secret_missing": ("publishable_key",),
    "client_secret_wrong": ("client_secret_on_confirm",),
    "payment_declined": ("declined_status",),
    "cursor_unknown": ("pagination",),
    "balance_insufficient": ("payouts",),
    "prompt_expired": ("prompt_timeout_s",),
}
"""Code of an error → the rows without which it would be another answer."""

OF_CODE_HERE: Final[Mapping[tuple[str, str], _Rows]] = {
    ("CreatePaymentIntent", "parameter_missing"): ("required_fields",),
    ("CreatePaymentIntent", "amount_too_precise"): ("intent_amount_scale",),
    ("ConfirmPaymentIntent", "parameter_missing"): ("client_secret_on_confirm", "required_fields"),
    ("CreateCharge", "parameter_missing"): ("required_fields",),
}
"""Struct of a request and code → rows that the code means for this body alone."""

_OF_DECLINED: Final = 402


def header_of(
    operation: Operation,
    status: int,
    media_type: str,
    relied: _Rows = (),
    *,
    replayed: bool = False,
) -> str:
    """The value of the header: `documented` with its sections, `assumed` or `sandbox`, and the rows relied on.

    `relied` are those that this answer alone relied on: see `of_error` and `of_result`.
    """
    return _header_of(operation, status, media_type, relied, replayed)


@lru_cache(maxsize=4096)
def _header_of(operation: Operation, status: int, media_type: str, relied: _Rows, replayed: bool) -> str:  # noqa: FBT001  kept by place, which is quicker
    shown = (status, media_type) in SHOWN.get((operation.method, operation.path), ())
    is_sandboxes = operation.source == "sandbox"
    said = f'documented; sections="{operation.source}"' if shown else "sandbox" if is_sandboxes else "assumed"
    rows = {*relied, *_rows(operation, status, shown=shown or is_sandboxes, replayed=replayed)}
    rows |= {"error_format"} if status >= _ERRORS and not shown else set()
    return f'{said}; gaps="{" ".join(sorted(rows))}"' if rows else said


def of_error(operation: Operation, code: str) -> _Rows:
    """The rows that a refusal with this code relied on."""
    body = operation.body.__name__ if operation.body else ""
    return OF_CODE.get(code, ()) + OF_CODE_HERE.get((body, code), ())


def of_result(operation: Operation, result: object) -> _Rows:
    """The rows that this success relied on and others of its kind do not: declined, or with a warning."""
    declined = _OF_DECLINED in operation.refuses and getattr(result, "failure_code", None)
    warned = getattr(result, "warnings", None)
    return (("declined_status",) if declined else ()) + (("operator_mismatch",) if warned else ())


def _rows(operation: Operation, status: int, *, shown: bool, replayed: bool) -> Iterator[str]:
    if operation.source == "assumed":
        yield "extra_endpoints"
    if status == _OF_DECLINED:
        yield "declined_status"
    if status < _ERRORS:
        yield from () if shown else ("success_status",)
        yield from OF_OPERATION.get((operation.method, operation.path), ())
        for name in _structs(operation.answer):
            yield from OF_BODY.get(name, ())
    if replayed:
        yield "idempotency_retention_s"
        yield from () if status < _ERRORS else ("idempotency_keeps_errors",)


def _structs(answer: Any) -> Iterator[str]:  # noqa: ANN401  a type, generic ones too
    """The names of an answer's struct and of the rows that it lists."""
    yield (get_origin(answer) or answer).__name__
    for each in get_args(answer):
        yield from _structs(each)
