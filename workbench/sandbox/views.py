"""Stored objects as they look on the wire: where the gaps that only change a shape are applied."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from msgspec import UNSET

from workbench.domain import payments, wire
from workbench.domain.gaps import Gaps
from workbench.domain.masking import mask
from workbench.domain.money import Money
from workbench.domain.payments import FAILURES, MOBILE_MONEY, unit_minor
from workbench.domain.phones import EVERY_OPERATOR, mask_phone
from workbench.domain.ussd import UssdSession
from workbench.domain.webhooks import Attempt, Delivery, Endpoint, StoredEvent
from workbench.errors import ApiError
from workbench.sandbox.store.records import ApiKey

_OF_A_PATH = "/:@!$&'()*+,;="
"""What stands in a URI's path as it is, beside letters and digits (RFC 3986 §3.3)."""


def payment_intent(
    intent: payments.PaymentIntent,
    gaps: Gaps,
    prompt: UssdSession | None = None,
    late: list[wire.Suspense] | None = None,
) -> wire.PaymentIntent:
    """An intent's answer; `prompt` while one is open, `late` the money of it that came late."""
    if gaps.intent_fields == "minimal":
        return wire.PaymentIntent(
            id=intent.id, client_secret=intent.client_secret, status=intent.status, object=UNSET, livemode=UNSET
        )
    method = action = error = None
    if intent.phone is not None and intent.provider is not None:
        phone = mask_phone(intent.phone)
        method = wire.ShownMethod(MOBILE_MONEY, wire.ShownMobileMoney(phone, operator_id(intent.provider, gaps)))
        if prompt is not None:
            action = wire.NextAction("ussd_prompt", wire.UssdPrompt(phone, prompt.expires_ms // 1000))
    if intent.failure_code is not None:
        error = wire.PaymentError(intent.failure_code, FAILURES[intent.failure_code], intent.latest_charge)
    return wire.PaymentIntent(
        id=intent.id,
        client_secret=intent.client_secret,
        amount=intent.money.major,
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


def accepted_intent(shown: wire.PaymentIntent) -> wire.AcceptedIntent:
    """Of an intent's answer, what tells that a confirm was taken."""
    return wire.AcceptedIntent(shown.id, shown.status)


def charge(stored: payments.Charge, gaps: Gaps, late: list[wire.Suspense] | None = None) -> wire.Charge:
    """A charge's answer; `late` the money of it that came late."""
    moved = stored.channel if gaps.channel_and_provider == "equal" else stored.provider
    return wire.Charge(
        **_alike(stored),
        amount=_in_units(stored.money, gaps),
        currency=stored.currency.lower(),
        channel=operator_id(stored.channel, gaps),
        provider=operator_id(moved, gaps),
        phone=mask_phone(stored.phone),
        reference=stored.reference,
        payment_intent=stored.payment_intent,
        amount_refunded=_in_units(Money(stored.refunded_minor, stored.currency), gaps),
        refunded=stored.refunded_minor == stored.amount_minor,
        warnings=list(stored.warnings),
        suspense=late or UNSET,
    )


def _in_units(money: Money, gaps: Gaps) -> int | Decimal:
    """An amount as charges tell it: a whole number of units, or, of an intent that has less than one, with decimals."""
    whole, rest = divmod(money.amount_minor, unit_minor(gaps, money.currency))
    return money.major if rest else whole


def _alike(stored: payments.Charge | payments.Refund | payments.Payout) -> dict[str, Any]:
    """What a charge, a refund and a payout show in the same way."""
    code = stored.failure_code
    return {
        "id": stored.id, "status": stored.status, "metadata": stored.metadata, "created": stored.created_ms // 1000,
        "failure_code": code, "failure_message": FAILURES[code] if code else None,
    }  # fmt: skip


def webhook_endpoint(stored: Endpoint, now_ms: int, *, secret: bool = False) -> wire.WebhookEndpoint:
    """An endpoint's answer; `secret` True only when it is created or rolled."""
    ends_ms = [each.until_ms for each in stored.overlapping(now_ms)]
    return wire.WebhookEndpoint(
        id=stored.id,
        url=stored.url,
        enabled_events=list(stored.enabled_events),
        status=stored.status,
        secret=stored.secret if secret else UNSET,
        secret_overlap_until=max(ends_ms) // 1000 if ends_ms else None,
        created=stored.created_ms // 1000,
    )


def refund(stored: payments.Refund, gaps: Gaps) -> wire.Refund:
    """A refund's answer: its amount in the unit of what was named, an intent or a charge."""
    of_charge = Decimal(_in_units(stored.money, gaps))
    return wire.Refund(
        **_alike(stored),
        amount=stored.money.major if stored.of_intent else of_charge,
        currency=stored.currency if stored.of_intent else stored.currency.lower(),
        charge=stored.charge,
        payment_intent=stored.payment_intent,
        reason=stored.reason,
    )


def payout(stored: payments.Payout) -> wire.Payout:
    """A payout's answer."""
    money, destination = stored.money, stored.destination
    return wire.Payout(**_alike(stored), amount=money.major, currency=money.currency, destination=destination)


def delivery(
    stored: Delivery,
    event: StoredEvent | None,
    endpoint: Endpoint | None,
    attempts: list[Attempt],
    *,
    next_ms: int | None,
) -> wire.Delivery:
    """A delivery's answer with each attempt; `next_ms` is when it is tried next."""
    return wire.Delivery(
        id=stored.id,
        status=stored.status,
        event=stored.event,
        event_type=event.type if event else "",
        endpoint=stored.endpoint,
        url=endpoint.url if endpoint else "",
        attempts=[
            wire.DeliveryAttempt(
                each.number, each.at_ms // 1000, each.latency_ms, each.status_code, each.fault, each.answer
            )
            for each in attempts
        ],
        # Rounded up: at this second it is due.
        next_attempt_at=None if next_ms is None else -(-next_ms // 1000),
        created=stored.created_ms // 1000,
    )


def cloud_event(event: wire.Event, subject: str) -> wire.CloudEvent:
    """An event as CloudEvents 1.0: what the envelope has beside their attributes are extensions, never null."""
    caused = {"requestid": event.request.id, "idempotencykey": event.request.idempotency_key}
    return wire.CloudEvent(
        specversion="1.0",
        id=event.id,
        source="/v1",
        type=event.type,
        subject=subject,
        time=event.timestamp,
        datacontenttype="application/json",
        data=event.data,
        apiversion=event.api_version,
        livemode=event.livemode,
        **{name: value for name, value in caused.items() if value is not None},
    )


PAYLOADS: Mapping[str, Callable[[wire.Event, str], object]] = {
    "envelope": lambda event, _: event,
    "cloudevents": cloud_event,
}
"""The body of a message from an event and the id of its object, by `event_payload`."""


def media_type_of(body: str) -> str:
    """The media type of an event's body, which may be older than the register that is in force."""
    return wire.MEDIA_TYPES["cloudevents" if body.startswith('{"specversion"') else "envelope"]


def api_key(stored: ApiKey, *, value: str | None = None, until_ms: int | None = None) -> wire.ApiKey:
    """A key's answer; `value` only when it has just been made, `until_ms` while it works on after it was rolled."""
    return wire.ApiKey(
        id=stored.id,
        kind=stored.kind,
        status=stored.status,
        masked=stored.masked,
        value=UNSET if value is None else value,
        works_until=UNSET if until_ms is None else until_ms // 1000,
        created=stored.created_ms // 1000,
    )


def named_token(pair: wire.Token) -> wire.NamedToken:
    """A token by another name."""
    return wire.NamedToken(pair.access_token, pair.refresh_token)


def wrapped_token(pair: wire.Token) -> wire.WrappedToken:
    """A token in a member of its own."""
    return wire.WrappedToken(named_token(pair))


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
        "errors": [{"pointer": mask(each.pointer), "detail": mask(each.detail)} for each in error.problems],
        "request_id": request_id,
        "decline_code": error.decline_code,
        **error.facts,
        "error": error.status,
        "message": mask(str(error)),
    }
    return {name: value for name, value in members.items() if value not in (None, [])}


def plain_error(error: ApiError, request_id: str, path: str) -> wire.PlantError:
    """The one error that the interface documents: `error` and `message`."""
    return wire.PlantError(error.status, mask(str(error)))


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
    "plain": ("application/json", plain_error),
    "envelope": ("application/json", envelope),
}
"""Media type and members of an error, by `error_format`."""
