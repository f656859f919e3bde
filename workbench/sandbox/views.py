"""Stored objects as they look on the wire: where the gaps that only change a shape are applied."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import UNSET, Raw, Struct

from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.masking import mask
from workbench.domain.money import Money, major
from workbench.domain.payments import FAILURES, MOBILE_MONEY, unit_minor
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.ussd import UssdSession
from workbench.domain.webhooks import Delivery, Endpoint, StoredEvent
from workbench.domain.wire import accounts_and_keys, endpoints_and_events
from workbench.domain.wire.endpoints_and_events import DeliveryAttempt, WebhookEndpoint
from workbench.domain.wire.intents_and_charges import (
    Charge,
    NextAction,
    PaymentError,
    PaymentIntent,
    ShownMethod,
    ShownMobileMoney,
    Suspense,
    UssdPrompt,
)
from workbench.domain.wire.plants import PlantError
from workbench.domain.wire.refunds_and_payouts import Payout, Refund
from workbench.errors import ApiError
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import ApiKey

_OF_A_PATH = "/:@!$&'()*+,;="
"""Characters that a URI's path holds unescaped, beside letters and digits (RFC 3986 §3.3)."""


V = TypeVar("V", bound=Struct)


@cache
def _shared(shape: type[Struct], kind: type[Struct]) -> tuple[tuple[str, ...], Callable[[Struct], tuple[Any, ...]]]:
    """The fields that a stored object and its view have by the same names, and how they are read."""
    names = tuple(name for name in shape.__struct_fields__ if name in kind.__struct_fields__)
    return names, attrgetter(*names)


def view_of(shape: type[V], stored: Struct, **others: Any) -> V:  # noqa: ANN401  fields are of any type
    """The view of a stored object: the fields of the same names, its creation in seconds, and the others.

    Intents and charges, of which there are most, are written out below: that is twice as quick.
    """
    names, values = _shared(shape, type(stored))
    fields = dict(zip(names, values(stored), strict=True))
    if hasattr(shape, "created"):
        fields["created"] = stored.created_ms // 1000  # type: ignore[attr-defined]  # what has the one has the other
    return shape(**fields | others)


def payment_intent(
    tx: Transaction,
    intent: payments.PaymentIntent,
    prompt: UssdSession | None = None,
    late: list[Suspense] | None = None,
) -> PaymentIntent:
    """An intent; `prompt` while one is open, `late` its money that came late."""
    if tx.gaps.intent_fields == "minimal":
        return PaymentIntent(
            id=intent.id, client_secret=intent.client_secret, status=intent.status, object=UNSET, livemode=UNSET
        )
    method = action = error = None
    if intent.phone is not None and intent.provider is not None:
        phone = mask_phone(intent.phone)
        method = ShownMethod(MOBILE_MONEY, ShownMobileMoney(phone, operator_id(intent.provider, tx.gaps)))
        if prompt is not None:
            action = NextAction("ussd_prompt", UssdPrompt(phone, prompt.expires_ms // 1000))
    if intent.failure_code is not None:
        error = PaymentError(intent.failure_code, FAILURES[intent.failure_code], intent.latest_charge)
    return PaymentIntent(
        id=intent.id,
        client_secret=intent.client_secret,
        amount=major(intent.amount_minor, intent.currency),
        currency=intent.currency,
        status=intent.status,
        description=intent.description,
        payment_method_types=list(intent.payment_method_types),
        payment_method=method,
        next_action=action,
        last_payment_error=error,
        latest_charge=intent.latest_charge,
        metadata=intent.metadata,
        warnings=list(intent.warnings),
        suspense=late or UNSET,
        canceled_at=None if intent.canceled_ms is None else intent.canceled_ms // 1000,
        cancellation_reason=intent.cancellation_reason,
        created=intent.created_ms // 1000,
    )


def charge(tx: Transaction, stored: payments.Charge, late: list[Suspense] | None = None) -> Charge:
    """A charge; `late` its money that came late."""
    moved, code = stored.channel if tx.gaps.channel_and_provider == "equal" else stored.provider, stored.failure_code
    return Charge(
        id=stored.id,
        status=stored.status,
        amount=_in_units(stored.money, tx.gaps),
        currency=stored.currency.lower(),
        channel=operator_id(stored.channel, tx.gaps),
        provider=operator_id(moved, tx.gaps),
        phone=mask_phone(stored.phone),
        reference=stored.reference,
        payment_intent=stored.payment_intent,
        failure_code=code,
        failure_message=FAILURES[code] if code else None,
        amount_refunded=_in_units(Money(stored.refunded_minor, stored.currency), tx.gaps),
        refunded=stored.refunded_minor == stored.amount_minor,
        metadata=stored.metadata,
        warnings=list(stored.warnings),
        suspense=late or UNSET,
        created=stored.created_ms // 1000,
    )


def _in_units(money: Money, gaps: Gaps) -> int | Decimal:
    """An amount as charges have it: a whole number of units, or, of an intent that has less than one, with decimals."""
    whole, rest = divmod(money.amount_minor, unit_minor(gaps, money.currency))
    return money.major if rest else whole


def _of_sum(shape: type[V], stored: payments.Refund | payments.Payout, **others: Any) -> V:  # noqa: ANN401  fields are of any type
    code = stored.failure_code
    return view_of(shape, stored, failure_message=FAILURES[code] if code else None, **others)


def refund(tx: Transaction, stored: payments.Refund) -> Refund:
    """A refund; its amount is in the unit of what was named, an intent or a charge."""
    if stored.of_intent:
        return _of_sum(Refund, stored, amount=stored.money.major)
    amount = Decimal(_in_units(stored.money, tx.gaps))
    return _of_sum(Refund, stored, amount=amount, currency=stored.currency.lower())


def payout(_: Transaction, stored: payments.Payout) -> Payout:
    """A payout."""
    return _of_sum(Payout, stored, amount=stored.money.major)


def webhook_endpoint(tx: Transaction, stored: Endpoint, *, secret: bool = False) -> WebhookEndpoint:
    """An endpoint; `secret` True only when it is created or rolled."""
    ends_ms = [old.until_ms for old in stored.overlapping(tx.now_ms)]
    return view_of(
        WebhookEndpoint,
        stored,
        enabled_events=list(stored.enabled_events),
        secret=stored.secret if secret else UNSET,
        secret_overlap_until=max(ends_ms) // 1000 if ends_ms else None,
    )


def event(_: Transaction, stored: StoredEvent) -> Raw:
    """An event, byte for byte as it is sent."""
    return Raw(stored.body.encode())


def delivery(tx: Transaction, stored: Delivery, *, next_ms: int | None) -> endpoints_and_events.Delivery:
    """A delivery with each attempt; `next_ms` is the moment of the next one."""
    _, about, endpoint = tx.message(stored.id)
    attempts = tx.attempts.all(delivery=stored.id)
    return view_of(
        endpoints_and_events.Delivery,
        stored,
        event_type=about.type if about else "",
        url=endpoint.url if endpoint else "",
        attempts=[view_of(DeliveryAttempt, attempt, at=attempt.at_ms // 1000) for attempt in attempts],
        # Rounded up: at this second it is due.
        next_attempt_at=None if next_ms is None else -(-next_ms // 1000),
    )


def api_key(stored: ApiKey, *, value: str | None = None, until_ms: int | None = None) -> accounts_and_keys.ApiKey:
    """A key; `value` only when it has just been made, `until_ms` while it works on after it was rolled."""
    until = UNSET if until_ms is None else until_ms // 1000
    return view_of(accounts_and_keys.ApiKey, stored, value=UNSET if value is None else value, works_until=until)


def operator_id(identifier: str, gaps: Gaps) -> str:
    """An operator's identifier in the form that `operator_ids` asks for."""
    return identifier if gaps.operator_ids == "short" else EVERY_OPERATOR[identifier].long_id


def problem(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    """The members of RFC 9457 with the documented `error` and `message` beside them."""
    members = {
        "type": f"/docs/errors#{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": mask(str(error)),
        "instance": quote(mask(path), safe=_OF_A_PATH),
        "code": error.code,
        "param": mask(error.param) if error.param else None,
        "errors": [{"pointer": mask(problem.pointer), "detail": mask(problem.detail)} for problem in error.problems],
        "request_id": request_id,
        "decline_code": error.decline_code,
        **error.facts,
        "error": error.status,
        "message": mask(str(error)),
    }
    return {name: value for name, value in members.items() if value not in (None, [])}


def envelope(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    """Stripe's shape: all members in `error`, without the documented status."""
    members = {
        "type": re.sub(r"(?<!^)([A-Z])", r"_\1", type(error).__name__).lower(),
        "code": error.code,
        "message": mask(str(error)),
        "param": mask(error.param) if error.param else None,
        "decline_code": error.decline_code,
        "doc_url": f"/docs/errors#{error.code}",
        "request_id": request_id,
        **error.facts,
    }
    return {"error": {name: value for name, value in members.items() if value is not None}}


ERROR_FORMATS: Mapping[str, tuple[str, Callable[[ApiError, str, str], object]]] = {
    "problem": ("application/problem+json", problem),
    # The one error that the interface documents.
    "plain": ("application/json", lambda error, *_: PlantError(error.status, mask(str(error)))),
    "envelope": ("application/json", envelope),
}
"""Media type and members of an error, by `error_format`."""
