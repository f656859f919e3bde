"""Payments as a merchant asks for them: intents in two calls, charges in one."""

import hmac

from workbench.domain import payments
from workbench.domain.payments import Charge, PaymentIntent, intent_transitions, next_state
from workbench.domain.phones import operator_named
from workbench.domain.ussd import UssdSession
from workbench.domain.wire import intents_and_charges
from workbench.domain.wire.intents_and_charges import (
    CancelPaymentIntent,
    ClientSecretQuery,
    ConfirmPaymentIntent,
    CreateCharge,
    CreatePaymentIntent,
)
from workbench.errors import IllegalTransition, InvalidRequest, PaymentDeclined, PermissionDenied, StateConflict
from workbench.sandbox import views
from workbench.sandbox.service import attempts, checks, suspense
from workbench.sandbox.service.lists import Caller, Refused, Resource
from workbench.sandbox.service.webhooks import emit
from workbench.sandbox.store import Transaction

_WHY_NOT = {
    payments.REQUIRES_ACTION: "A prompt is open on the customer's phone: wait for the customer's answer.",
    payments.PROCESSING: "The customer has approved: wait for the operator.",
    payments.SUCCEEDED: "It is paid: create another intent for another payment.",
    payments.FAILED: "Its attempt failed: create another intent.",
    payments.CANCELED: "It was canceled: create another intent.",
}


def _open_prompt(tx: Transaction, intent: PaymentIntent) -> UssdSession | None:
    if intent.status != payments.REQUIRES_ACTION or intent.latest_charge is None:
        return None
    return tx.sessions.first(charge=intent.latest_charge)


def _intent_view(tx: Transaction, intent: PaymentIntent) -> intents_and_charges.PaymentIntent:
    return views.payment_intent(tx, intent, _open_prompt(tx, intent), suspense.of_intent(tx, intent))


def _charge_view(tx: Transaction, charge: Charge) -> intents_and_charges.Charge:
    return views.charge(tx, charge, suspense.of_charge(tx, charge))


INTENTS = Resource(
    "payment intent", "/v1/payment_intents", lambda tx: tx.intents, _intent_view, code="intent_not_found"
)
CHARGES = Resource("charge", "/v1/charges", lambda tx: tx.charges, _charge_view, code="charge_not_found")


def create_intent(tx: Transaction, caller: Caller, body: CreatePaymentIntent) -> intents_and_charges.PaymentIntent:
    """POST /v1/payment_intents: create a payment intent."""
    with checks.EveryFault() as every:
        every.read(checks.read_currency, tx.gaps, body.currency, str.upper)
        money = every.read(checks.intent_money, tx.gaps, body.amount, checks.currency_or_only(body.currency))
        every.read(checks.check_method_types, tx.gaps, body.payment_method_types)
    intent_id = tx.new_id("pi")
    intent = tx.intents.create(
        id=intent_id,
        account=caller.account,
        client_secret=f"{intent_id}_secret_{tx.draws.token('client_secret', intent_id)}",
        amount_minor=money.amount_minor,
        currency=money.currency,
        description=body.description,
        payment_method_types=tuple(body.payment_method_types),
        metadata=body.metadata,
    )
    return emit(tx, caller.cause, caller.account, "payment_intent.created", views.payment_intent(tx, intent))


def confirm_intent(
    tx: Transaction, caller: Caller, body: ConfirmPaymentIntent, *, intent_id: str
) -> intents_and_charges.PaymentIntent:
    """POST /v1/payment_intents/{intent_id}/confirm: send the prompt to the customer's phone."""
    intent = INTENTS.find(tx, caller, intent_id)
    if body.client_secret is None and tx.gaps.client_secret_on_confirm == "always":  # noqa: S105  a choice of the register
        raise InvalidRequest("client_secret is required.", code="parameter_missing", param="client_secret")
    _check_client_secret(tx, caller, intent, body.client_secret)
    asked, phone = checks.read_method(tx.gaps, body.payment_method)
    warnings = checks.warnings_of(tx.gaps, asked, phone, "payment_method.mobile_money.provider")
    _check_takes(tx, intent, "confirm")
    warnings += suspense.paid_already(tx, intent)
    named = {"payment_intent": intent.id, "warnings": warnings}
    charge = attempts.new_charge(tx, intent.account, intent.money, asked, phone, **named)
    session = attempts.begin(tx, caller, charge, phone, intent.description)
    intent = tx.intents.put(intent, phone=phone.e164, provider=asked.id, latest_charge=charge.id, warnings=warnings)
    shown = attempts.move_intent(
        tx, caller.cause, intent, "confirm", "payment_intent.requires_action", prompt=session, failure_code=None
    )
    attempts.let_act(tx, session)
    return shown


def cancel_intent(
    tx: Transaction, caller: Caller, body: CancelPaymentIntent, *, intent_id: str
) -> intents_and_charges.PaymentIntent:
    """POST /v1/payment_intents/{intent_id}/cancel: cancel an intent, and withdraw an open prompt."""
    intent = INTENTS.find(tx, caller, intent_id)
    _check_takes(tx, intent, "cancel")
    if prompt := _open_prompt(tx, intent):
        attempts.press(tx, caller.cause, prompt, "withdraw")
    why = body.cancellation_reason
    return attempts.move_intent(
        tx, caller.cause, intent, "cancel", "payment_intent.canceled", cancellation_reason=why, canceled_ms=tx.now_ms
    )


def retrieve_intent(
    tx: Transaction, caller: Caller, *, intent_id: str, query: ClientSecretQuery
) -> intents_and_charges.PaymentIntent:
    """GET /v1/payment_intents/{intent_id}: retrieve an intent."""
    intent = INTENTS.find(tx, caller, intent_id)
    _check_client_secret(tx, caller, intent, query.client_secret)
    return _intent_view(tx, intent)


def _check_client_secret(tx: Transaction, caller: Caller, intent: PaymentIntent, sent: str | None) -> None:
    if caller.kind == "publishable" and tx.gaps.publishable_key == "nothing":
        raise PermissionDenied("A publishable key may do nothing here; use the secret key on your server.")
    if sent is None and caller.kind == "publishable":
        message = "With a publishable key, client_secret is required."
        raise PermissionDenied(message, code="client_secret_missing", param="client_secret")
    if sent is not None and not hmac.compare_digest(sent.encode(), intent.client_secret.encode()):
        raise PermissionDenied("client_secret is of another intent.", code="client_secret_wrong", param="client_secret")


def _check_takes(tx: Transaction, intent: PaymentIntent, event: str) -> None:
    try:
        next_state(intent_transitions(tx.gaps), intent.status, event)
    except IllegalTransition:
        raise StateConflict(
            f"status is {intent.status}, which does not allow {event}.",
            hint=_WHY_NOT[intent.status],
            param="status",
            current=intent.status,
            attempted=event,
        ) from None


def create_charge(tx: Transaction, caller: Caller, body: CreateCharge) -> intents_and_charges.Charge | Refused:
    """POST /v1/charges: charge a wallet; by default, the outcome is in the response."""
    with checks.EveryFault() as every:
        every.read(checks.read_currency, tx.gaps, body.currency, str.lower)
        money = every.read(checks.charge_money, tx.gaps, body.amount, checks.currency_or_only(body.currency))
        every.read(checks.check_type, body.type, "type")
        asked = every.read(operator_named, body.channel, param="channel", zed=tx.gaps.zed_mobile)
        phone = every.read(checks.read_phone, tx.gaps, body.phone)
        every.read(checks.check_reference, tx.gaps, body.reference)
    warnings = checks.warnings_of(tx.gaps, asked, phone, "channel")
    before_minor = tx.latest_amounts(caller.account, money.currency, payments.USUAL_OF)
    warnings += checks.amount_warning(tx.gaps, money, before_minor)
    named = {"reference": body.reference, "metadata": body.metadata, "warnings": warnings}
    charge = attempts.new_charge(tx, caller.account, money, asked, phone, **named)
    session = attempts.begin(tx, caller, charge, phone, body.reference)
    if tx.gaps.charge_wait == "answered":
        attempts.act(tx, caller.cause, session)
        charge = CHARGES.find(tx, caller, charge.id)
    shown = views.charge(tx, charge)
    if charge.status == payments.PENDING:
        emit(tx, caller.cause, charge.account, "charge.pending", shown)
    if tx.gaps.charge_wait != "answered":
        attempts.let_act(tx, session)
    if charge.failure_code is None or tx.gaps.declined_status == "200":
        return shown
    why = payments.FAILURES[charge.failure_code]
    return Refused(PaymentDeclined(why, decline_code=charge.failure_code, charge=charge.id))
