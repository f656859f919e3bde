"""Where an answer comes from: shown by the interface, or assumed, and by which rows of the register.

Tables alone decide: a row of the register stands beside the operation, the struct of a body or the code of an error
that it settles. What is said is of status, media type and body; headers and the moment of an effect are not looked at.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, get_args, get_origin

from workbench.domain import wire
from workbench.sandbox.operations import Operation

HEADER: Final = "Sandbox-Provenance"
_Rows = tuple[str, ...]
_ERRORS: Final = 300
"""The first status that is no success."""

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
    shown = (status, media_type) in operation.shows
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
        yield from operation.relies
        yield from _of_body(operation.response)
    if replayed:
        yield "idempotency_retention_s"
        yield from () if status < _ERRORS else ("idempotency_keeps_errors",)


def _of_body(response: Any) -> Iterator[str]:  # noqa: ANN401  a type, generic ones too
    """The rows that settle the members of a body, and of the rows that it lists."""
    shape = get_origin(response) or response
    yield from shape.__source__.relies if issubclass(shape, wire.View) else ()
    for each in get_args(response):
        yield from _of_body(each)
