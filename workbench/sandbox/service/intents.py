"""Payment intents: create, confirm, cancel, retrieve, list."""

import hmac

from workbench.domain import payments, wire
from workbench.domain.payments import Charge, PaymentIntent, intent_transitions, next_state
from workbench.domain.ussd import UssdSession
from workbench.errors import IllegalTransition, InvalidRequest, PermissionDenied, StateConflict
from workbench.sandbox import views
from workbench.sandbox.service import attempts, checks, lists, suspense
from workbench.sandbox.service.deliveries import emit
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction

URL = "/v1/payment_intents"
_WHY_NOT = {
    payments.REQUIRES_ACTION: "A prompt is open on the customer's phone: wait for the customer's answer.",
    payments.PROCESSING: "The customer has approved: wait for the operator.",
    payments.SUCCEEDED: "It is paid: create another intent for another payment.",
    payments.FAILED: "Its attempt failed: create another intent.",
    payments.CANCELED: "It was canceled: create another intent.",
}


def create(tx: Transaction, caller: Caller, body: wire.CreatePaymentIntent) -> wire.PaymentIntent:
    """POST /v1/payment_intents: create a payment intent."""
    with checks.EveryFault() as every:
        every.read(checks.read_currency, tx.gaps, body.currency, str.upper)
        money = every.read(checks.intent_money, tx.gaps, body.amount, checks.currency_or_only(body.currency))
        every.read(checks.check_method_types, tx.gaps, body.payment_method_types)
    made = tx.made("pi", caller.account)
    intent = tx.intents.add(
        PaymentIntent(
            **made,
            client_secret=f"{made['id']}_secret_{tx.draws.token('client_secret', made['id'])}",
            amount_minor=money.amount_minor,
            currency=money.currency,
            description=body.description,
            payment_method_types=tuple(body.payment_method_types),
            metadata=body.metadata,
        )
    )
    shown = views.payment_intent(intent, tx.gaps)
    emit(tx, caller.cause, caller.account, "payment_intent.created", shown)
    return shown


def confirm(
    tx: Transaction, caller: Caller, body: wire.ConfirmPaymentIntent, *, intent_id: wire.PathIntent
) -> wire.PaymentIntent:
    """POST /v1/payment_intents/{intent_id}/confirm: send the prompt to the customer's phone."""
    intent = found(tx, caller, intent_id)
    if body.client_secret is None and tx.gaps.client_secret_on_confirm == "always":  # noqa: S105  a choice of the register
        raise InvalidRequest("client_secret is required.", code="parameter_missing", param="client_secret")
    _check_client_secret(tx, caller, intent, body.client_secret)
    asked, phone = checks.read_method(tx.gaps, body.payment_method)
    warnings = checks.warnings_of(tx.gaps, asked, phone, "payment_method.mobile_money.provider")
    _check_takes(tx, intent, "confirm")
    warnings += suspense.warnings_of(tx, intent)
    charge = tx.charges.add(
        Charge(
            **tx.made("ch", intent.account),
            amount_minor=intent.amount_minor,
            currency=intent.currency,
            channel=asked.id,
            provider=phone.operator.id,
            phone=phone.e164,
            payment_intent=intent.id,
            warnings=warnings,
        )
    )
    intent = tx.intents.put(intent, phone=phone.e164, provider=asked.id, latest_charge=charge.id, warnings=warnings)
    session = attempts.begin(tx, caller, charge, phone, intent.description)
    shown = attempts.move_intent(
        tx, caller.cause, intent, "confirm", "payment_intent.requires_action", prompt=session, failure_code=None
    )
    attempts.let_act(tx, session)
    return shown


def cancel(
    tx: Transaction, caller: Caller, body: wire.CancelPaymentIntent, *, intent_id: wire.PathIntent
) -> wire.PaymentIntent:
    """POST /v1/payment_intents/{intent_id}/cancel: cancel an intent, and withdraw an open prompt."""
    intent = found(tx, caller, intent_id)
    _check_takes(tx, intent, "cancel")
    if prompt := _prompt_of(tx, intent):
        attempts.press(tx, caller.cause, prompt, "withdraw")
    why = body.cancellation_reason
    return attempts.move_intent(
        tx, caller.cause, intent, "cancel", "payment_intent.canceled", cancellation_reason=why, canceled_ms=tx.now_ms
    )


def retrieve(
    tx: Transaction, caller: Caller, *, intent_id: wire.PathIntent, query: wire.ClientSecretQuery
) -> wire.PaymentIntent:
    """GET /v1/payment_intents/{intent_id}: retrieve an intent."""
    intent = found(tx, caller, intent_id)
    _check_client_secret(tx, caller, intent, query.client_secret)
    return _shown(tx, intent)


def listed(tx: Transaction, caller: Caller, *, query: wire.ListQuery) -> lists.Listed[wire.PaymentIntent]:
    """GET /v1/payment_intents: the intents, newest first."""
    return lists.page(caller, tx.intents, query, URL, lambda each: _shown(tx, each))


def _shown(tx: Transaction, intent: PaymentIntent) -> wire.PaymentIntent:
    return views.payment_intent(intent, tx.gaps, _prompt_of(tx, intent), suspense.of_intent(tx, intent))


def found(tx: Transaction, caller: Caller, intent_id: str, *, param: str = "id") -> PaymentIntent:
    """The caller's intent of this id. Raises NotFound."""
    return checks.found(caller, tx.intents, intent_id, "payment intent", code="intent_not_found", param=param)


def _check_client_secret(tx: Transaction, caller: Caller, intent: PaymentIntent, sent: str | None) -> None:
    if caller.kind == "publishable" and tx.gaps.publishable_key == "nothing":
        raise PermissionDenied("A publishable key may do nothing here; use the secret key on your server.")
    if sent is None:
        if caller.kind == "publishable":
            raise PermissionDenied(
                "With a publishable key, client_secret is required.",
                code="client_secret_missing",
                param="client_secret",
            )
    elif not hmac.compare_digest(sent.encode(), intent.client_secret.encode()):
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


def _prompt_of(tx: Transaction, intent: PaymentIntent) -> UssdSession | None:
    if intent.status != payments.REQUIRES_ACTION or intent.latest_charge is None:
        return None
    return tx.sessions.first(charge=intent.latest_charge)
