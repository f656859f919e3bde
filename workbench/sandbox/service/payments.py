"""Payments: intents, made and confirmed in two calls, and direct charges; each attempt, from prompt to outcome."""

import hmac
from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter

from msgspec import UNSET

from workbench.domain import ledger, payments, scenarios, ussd
from workbench.domain.gaps import Gaps
from workbench.domain.ids import reference
from workbench.domain.ledger import JournalEntry
from workbench.domain.money import ISO_4217, Money, major, money_from_major
from workbench.domain.payments import (
    MOBILE_MONEY,
    REFUND_TRANSITIONS,
    StoredCharge,
    StoredIntent,
    StoredRefund,
    next_state,
)
from workbench.domain.phones import EVERY_OPERATOR, Msisdn, Operator, e164_of, mask_phone, operator_named, operator_of
from workbench.domain.scenarios import SCENARIOS
from workbench.domain.ussd import UssdSession
from workbench.domain.wire import payments_and_payouts as wire
from workbench.errors import ApiError, InvalidRequest, PaymentDeclined, PermissionDenied, StateConflict
from workbench.sandbox import service
from workbench.sandbox.service import BY_ITSELF, Caller, Cause, Listed, Resource, balances, view_of
from workbench.sandbox.service.balances import Late
from workbench.sandbox.service.webhooks import emit
from workbench.sandbox.store import Transaction

ACTS, PROMPT_TIMEOUT, LATE_MONEY = "customer_acts", "prompt_timeout", "late_money"
_TYPES_WRONG = f"payment_method_types must include {MOBILE_MONEY!r}."
_WHY_NOT = {
    payments.REQUIRES_ACTION: "A prompt is open on the customer's phone: wait for the customer's answer.",
    payments.PROCESSING: "The customer has approved: wait for the operator.",
    payments.SUCCEEDED: "It is paid: create another intent for another payment.",
    payments.FAILED: "Its attempt failed: create another intent.",
    payments.CANCELED: "It was canceled: create another intent.",
}


def _open_prompt(tx: Transaction, intent: StoredIntent) -> UssdSession | None:
    return tx.sessions.first(charge=intent.latest_charge) if intent.status == payments.REQUIRES_ACTION else None


def _intent_view(
    tx: Transaction, intent: StoredIntent, prompt: UssdSession | None = None, late: Sequence[Late] = ()
) -> wire.PaymentIntent:
    """The view of an intent; `prompt` is its open prompt, `late` its late money."""
    if tx.gaps.intent_fields == "minimal":
        return wire.PaymentIntent(
            id=intent.id, client_secret=intent.client_secret, status=intent.status, object=UNSET, livemode=UNSET
        )
    method = action = error = None
    if intent.phone is not None and intent.provider is not None:
        phone = mask_phone(intent.phone)
        method = wire.ShownMethod(MOBILE_MONEY, wire.ShownMobileMoney(phone, _shown_operator(intent.provider, tx.gaps)))
        if prompt is not None:
            action = wire.NextAction("ussd_prompt", wire.UssdPrompt(phone, prompt.expires_ms // 1000))
    if intent.failure_code is not None:
        error = wire.PaymentError(intent.failure_code, payments.FAILURES[intent.failure_code], intent.latest_charge)
    return wire.PaymentIntent(
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
        suspense=[money.view for money in late] or UNSET,
        canceled_at=None if intent.canceled_ms is None else intent.canceled_ms // 1000,
        cancellation_reason=intent.cancellation_reason,
        created=intent.created_ms // 1000,
    )


def charge_view(tx: Transaction, stored: StoredCharge, late: Sequence[Late] = ()) -> wire.Charge:
    """The view of a charge; of the late money in `late`, it shows only this charge's."""
    moved, code = stored.channel if tx.gaps.channel_and_provider == "equal" else stored.provider, stored.failure_code
    return wire.Charge(
        id=stored.id,
        status=stored.status,
        amount=in_units(stored.money, tx.gaps),
        currency=stored.currency.lower(),
        channel=_shown_operator(stored.channel, tx.gaps),
        provider=_shown_operator(moved, tx.gaps),
        phone=mask_phone(stored.phone),
        reference=stored.reference,
        payment_intent=stored.payment_intent,
        failure_code=code,
        failure_message=payments.FAILURES[code] if code else None,
        amount_refunded=in_units(Money(stored.refunded_minor, stored.currency), tx.gaps),
        refunded=stored.refunded_minor == stored.amount_minor,
        metadata=stored.metadata,
        warnings=list(stored.warnings),
        suspense=[money.view for money in late if money.charge.id == stored.id] or UNSET,
        created=stored.created_ms // 1000,
    )


def in_units(money: Money, gaps: Gaps) -> int | Decimal:
    """An amount in the unit that the register gives to charges: an integer.

    An amount that is no whole number of this unit is a decimal in major units.
    """
    whole, remainder = divmod(money.amount_minor, payments.unit_minor(gaps, money.currency))
    return money.major if remainder else whole


def _shown_operator(identifier: str, gaps: Gaps) -> str:
    return identifier if gaps.operator_ids == "short" else EVERY_OPERATOR[identifier].long_id


def _late_money(tx: Transaction, payment: str) -> list[Late]:
    # Every view of a payment calls this. As long as no money ever came late, there is nothing to look for.
    return balances.late_money_of(tx, payment) if tx.journal.came_late else []


INTENTS: Resource[StoredIntent, wire.PaymentIntent] = Resource(
    "payment intent",
    "/v1/payment_intents",
    attrgetter("intents"),
    lambda tx, intent: _intent_view(tx, intent, _open_prompt(tx, intent), _late_money(tx, intent.id)),
    code="intent_not_found",
)
CHARGES: Resource[StoredCharge, wire.Charge] = Resource(
    "charge",
    "/v1/charges",
    attrgetter("charges"),
    lambda tx, charge: charge_view(tx, charge, _late_money(tx, charge.payment_intent or charge.id)),
    code="charge_not_found",
)


def create_intent(tx: Transaction, caller: Caller, body: wire.CreatePaymentIntent) -> wire.PaymentIntent:
    """POST /v1/payment_intents: create a payment intent."""
    with service.EveryFault() as every:
        every.read(service.read_currency, tx.gaps, body.currency, str.upper)
        money = every.read(service.intent_money, tx.gaps, body.amount, service.currency_or_kwacha(body.currency))
        types, takes_others = body.payment_method_types, tx.gaps.payment_method_types != "only"
        is_named = MOBILE_MONEY in types and (takes_others or {*types} == {MOBILE_MONEY})
        every.check(is_named, _TYPES_WRONG, param="payment_method_types")
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
    return emit(tx, caller.cause, caller.account, "payment_intent.created", _intent_view(tx, intent))


def confirm_intent(
    tx: Transaction, caller: Caller, body: wire.ConfirmPaymentIntent, *, intent_id: str
) -> wire.PaymentIntent:
    """POST /v1/payment_intents/{intent_id}/confirm: send the prompt to the customer's phone."""
    intent = INTENTS.find(tx, caller, intent_id)
    if body.client_secret is None and tx.gaps.client_secret_on_confirm == "always":
        raise InvalidRequest("client_secret is required.", code="parameter_missing", param="client_secret")
    _check_client_secret(tx, caller, intent, body.client_secret)
    operator, phone, warnings = service.read_method(tx.gaps, body.payment_method)
    status = _checked_status(tx, intent, "confirm")
    late = _late_money(tx, intent.id)
    warnings += balances.paid_already(tx, late) if late else ()
    money, columns = Money(intent.amount_minor, intent.currency), {"payment_intent": intent.id, "warnings": warnings}
    charge, session = _begin(tx, caller, operator, phone, money, intent.description, **columns)
    attempt = {"phone": phone.e164, "provider": operator.id, "latest_charge": charge.id, "warnings": warnings}
    changes = {"status": status, "failure_code": None, **attempt}
    shown = _change_intent(tx, caller.cause, intent, "payment_intent.requires_action", late, session, **changes)
    _let_act(tx, session)
    return shown


def cancel_intent(
    tx: Transaction, caller: Caller, body: wire.CancelPaymentIntent, *, intent_id: str
) -> wire.PaymentIntent:
    """POST /v1/payment_intents/{intent_id}/cancel: cancel an intent; an open prompt is withdrawn."""
    intent = INTENTS.find(tx, caller, intent_id)
    status = _checked_status(tx, intent, "cancel")
    if prompt := _open_prompt(tx, intent):
        press(tx, caller.cause, prompt, "withdraw")
    changes = {"status": status, "cancellation_reason": body.cancellation_reason, "canceled_ms": tx.now_ms}
    return _change_intent(tx, caller.cause, intent, "payment_intent.canceled", **changes)


def retrieve_intent(
    tx: Transaction, caller: Caller, *, intent_id: str, query: wire.ClientSecretQuery
) -> wire.PaymentIntent:
    """GET /v1/payment_intents/{intent_id}: retrieve an intent."""
    intent = INTENTS.find(tx, caller, intent_id)
    _check_client_secret(tx, caller, intent, query.client_secret)
    return INTENTS.view(tx, intent)


def _check_client_secret(tx: Transaction, caller: Caller, intent: StoredIntent, sent: str | None) -> None:
    if caller.kind == "publishable" and tx.gaps.publishable_key == "nothing":
        raise PermissionDenied("A publishable key may do nothing here; use the secret key on your server.")
    if sent is None and caller.kind == "publishable":
        message = "With a publishable key, client_secret is required."
        raise PermissionDenied(message, code="client_secret_missing", param="client_secret")
    if sent is not None and not hmac.compare_digest(sent.encode(), intent.client_secret.encode()):
        raise PermissionDenied("client_secret is of another intent.", code="client_secret_wrong", param="client_secret")


def _checked_status(tx: Transaction, intent: StoredIntent, event: str) -> str:
    status = tx.intent_transitions.get((intent.status, event))
    if status is None:
        raise StateConflict(
            f"status is {intent.status}, which does not allow {event}.",
            hint=_WHY_NOT[intent.status],
            param="status",
            current=intent.status,
            attempted=event,
        )
    return status


def create_charge(tx: Transaction, caller: Caller, body: wire.CreateCharge) -> wire.Charge | ApiError:
    """POST /v1/charges: charge a wallet; by default, the response has the outcome."""
    with service.EveryFault() as every:
        every.read(service.read_currency, tx.gaps, body.currency, str.lower)
        money = every.read(service.charge_money, tx.gaps, body.amount, service.currency_or_kwacha(body.currency))
        every.check_type(body.type, "type")
        operator = every.read(operator_named, body.channel, param="channel", zed=tx.gaps.zed_mobile)
        phone = every.read(service.read_phone, tx.gaps, body.phone)
        has_all = body.reference is not None or tx.gaps.required_fields != "with_reference"
        every.check(has_all, "reference is required.", code="parameter_missing", param="reference")
    warnings = service.warnings_of(tx.gaps, operator, phone, "channel")
    before_minor = tx.latest_amounts(caller.account, money.currency, payments.COMPARED_CHARGES)
    warnings += service.amount_warning(tx.gaps, money, before_minor)
    columns = {"reference": body.reference, "metadata": body.metadata, "warnings": warnings}
    charge, session = _begin(tx, caller, operator, phone, money, body.reference, **columns)
    if tx.gaps.charge_wait == "answered":
        act(tx, caller.cause, session)
        charge = tx.charges[charge.id]
    shown = charge_view(tx, charge)
    if charge.status == payments.PENDING:
        emit(tx, caller.cause, charge.account, "charge.pending", shown)
    if tx.gaps.charge_wait != "answered":
        _let_act(tx, session)
    if charge.failure_code is None or tx.gaps.declined_status == "200":
        return shown
    why = payments.FAILURES[charge.failure_code]
    return PaymentDeclined(why, decline_code=charge.failure_code, charge=charge.id)


def _begin(
    tx: Transaction, caller: Caller, channel: Operator, phone: Msisdn, money: Money, text: str | None, **columns: object
) -> tuple[StoredCharge, UssdSession]:
    """Begins an attempt: stores the charge, holds its amount, sends the prompt, and schedules the prompt's time-out.

    `channel` is the operator that the merchant named. The prompt shows `text`; None for no text. `columns` has further
    columns of the charge.
    """
    charge = tx.charges.create(
        account=caller.account,
        channel=channel.id,
        provider=phone.operator.id,
        phone=phone.e164,
        amount_minor=money.amount_minor,
        currency=money.currency,
        **columns,
    )
    _hold(tx, charge, "opened")
    scenario = _scenario_for(tx, caller, charge, phone)
    session = tx.sessions.create(
        charge=charge.id,
        phone=charge.phone,
        operator=phone.operator.name,
        merchant=caller.name,
        amount_minor=charge.amount_minor,
        currency=charge.currency,
        reference=text,
        tries_left=tx.gaps.pin_attempts,
        expires_ms=tx.now_ms + tx.gaps.prompt_timeout_s * 1000,
        scenario=scenario,
        screen=ussd.UNSENT if SCENARIOS[scenario].rejection else ussd.ENTER_PIN,
    )
    _show(tx, session, None)
    tx.schedule(PROMPT_TIMEOUT, session.id, in_ms=tx.gaps.prompt_timeout_s * 1000)
    return charge, session


def _hold(tx: Transaction, charge: StoredCharge, change: str) -> None:
    tx.holds.create(charge=charge.id, change=change, amount_minor=charge.amount_minor)


def _scenario_for(tx: Transaction, caller: Caller, charge: StoredCharge, phone: Msisdn) -> str:
    if caller.scenario in scenarios.ASKABLE:
        return caller.scenario
    if tx.gaps.failure_triggers == "header":
        return scenarios.PERSON
    if down_until_ms(tx, charge.provider):
        return scenarios.UNAVAILABLE
    # A call uses up one answer of a script, unless the call asks for a fault of the service itself.
    if caller.scenario is None and caller.script is not None:
        tx.scripts.remove(caller.script)
        return caller.script.scenario
    ending = phone.e164[-scenarios.ENDING :]
    if ending not in scenarios.TEST_NUMBERS:
        return scenarios.PERSON
    first = tx.charges.first(order="seq", account=charge.account, phone=charge.phone)
    since_first_ms = tx.now_ms - (first or charge).created_ms
    return scenarios.scenario_on(ending, attempt=_number_of(tx, charge), since_first_ms=since_first_ms)


def _number_of(tx: Transaction, charge: StoredCharge) -> int:
    """The number of an attempt, from 1: at its intent or, for a direct charge, with its phone and reference.

    If the register ends each intent with its first attempt, attempts at intents with the same phone and description
    are counted together.
    """
    intent = _intent_of(tx, charge)
    if intent is None:
        return tx.charges.count(
            account=charge.account, phone=charge.phone, reference=charge.reference, payment_intent=None
        )
    if tx.gaps.intent_states == "failed":
        others = (_intent_of(tx, other) for other in tx.charges.all(account=charge.account, phone=charge.phone))
        return sum(other is not None and other.description == intent.description for other in others)
    return tx.charges.count(payment_intent=intent.id)


def with_script(tx: Transaction, caller: Caller, number: str) -> Caller:
    """The caller with the next scenario of the number's script as `script`; unchanged if the number has no script.

    If the scenario is a fault of the service, it becomes the call's `scenario` instead, and the script loses it. There
    are three exceptions, in which a fault is treated as any other scenario: the call names a scenario itself, the
    register takes failures only from the header, or the operator is down.
    """
    number = e164_of(number) if tx.gaps.phone_format == "national" else number
    script = tx.scripts.first(order="seq", phone=number)
    if script is None:
        return caller
    is_heard = caller.scenario is None and tx.gaps.failure_triggers != "header"
    if script.scenario in scenarios.FAULTS and is_heard and not down_until_ms(tx, operator_of(number).id):
        tx.scripts.remove(script)
        return caller._replace(scenario=script.scenario)
    return caller._replace(script=script)


def down_until_ms(tx: Transaction, provider: str) -> int | None:
    """The end of an operator's outage; None while the operator is up."""
    outage = tx.outages.get(provider)
    return outage.until_ms if outage and tx.now_ms < outage.until_ms else None


def _let_act(tx: Transaction, session: UssdSession) -> None:
    scenario = SCENARIOS[session.scenario]
    if scenario.by_itself and scenario.acts:
        tx.schedule(ACTS, session.id, in_ms=scenario.after_s * 1000)


def act(tx: Transaction, cause: Cause, session: UssdSession) -> None:
    """Applies the inputs of the session's scenario, with the same functions as a person's inputs."""
    if session.screen == ussd.UNSENT:
        press(tx, cause, session, "reject")
        return
    for pressed in SCENARIOS[session.scenario].presses:
        if session.screen not in ussd.OPEN_SCREENS:
            return
        does_cancel = pressed == scenarios.CANCEL
        session = press(tx, cause, session, "cancel") if does_cancel else enter_pin(tx, cause, session, pressed)


def enter_pin(tx: Transaction, cause: Cause, session: UssdSession, text: str) -> UssdSession:
    """Enters a PIN on the handset: approves, counts a wrong PIN or fails the attempt; returns the changed session.

    The PIN is not stored. Raises InvalidRequest: it has more or fewer digits than the operator's PINs.
    """
    ussd.check_pin(text, operator_of(session.phone).pin_length)
    event = ussd.judged_pin(session, right=text == scenarios.SANDBOX_PIN, refusal=SCENARIOS[session.scenario].refusal)
    return press(tx, cause, session, event, shown="•" * len(text))


def press(tx: Transaction, cause: Cause, session: UssdSession, event: str, *, shown: str | None = None) -> UssdSession:
    """Applies an input to a session, its charge and its intent; returns the changed session.

    The input `event` is a PIN that was judged (see `ussd.judged_pin`), `cancel` or `ignore` by the customer, `timeout`
    by the clock, `reject` by the operator or `withdraw` by the service. The stored screen shows `shown` instead of the
    input, to hide a PIN; with None it shows the input.
    """
    scenario = SCENARIOS[session.scenario]
    refused = event == "right_pin_refused" and scenario.refusal
    session = ussd.after(session, event, reason=payments.FAILURES[refused] if refused else None)
    _show(tx, session, shown or event)
    if session.screen in (*ussd.OPEN_SCREENS, ussd.IGNORED):
        return tx.sessions.put(session)
    session = tx.sessions.put(session, ended_seq=tx.next_seq())
    tx.unschedule(session.id)
    if session.screen == ussd.EXPIRED and scenario.late:
        tx.schedule(LATE_MONEY, session.id, in_ms=scenarios.LATE_S * 1000)
    charge = tx.charges[session.charge]
    if session.screen in (ussd.APPROVED, ussd.REFUSED):
        _move_intent_of(tx, cause, charge, "pin_accepted", "payment_intent.processing")
    if session.screen == ussd.APPROVED:
        # Once for each answer of the operator: a second answer finds the charge settled.
        for _ in range(scenario.answers):
            secure_funds(tx, cause, charge)
    else:
        own = {ussd.REFUSED: scenario.refusal, ussd.REJECTED: scenario.rejection}.get(session.screen)
        _fail(tx, cause, charge, own or ussd.FAILURE_OF[session.screen])
    return session


def _show(tx: Transaction, session: UssdSession, pressed: str | None) -> None:
    if session.screen not in ussd.HIDDEN_SCREENS:
        words, shown_on = ussd.screen_text(session), {"charge": session.charge, "phone": session.phone}
        tx.screens.create(session=session.id, pressed=pressed, words=words, **shown_on)


def secure_funds(tx: Transaction, cause: Cause, charge: StoredCharge, *, moved_ms: int | None = None) -> None:
    """Posts the money of a pending charge that the operator has confirmed, moved at `moved_ms` (None: now).

    A second confirmation changes nothing.
    """
    if tx.charges[charge.id].status != payments.PENDING:
        return
    _hold(tx, charge, "ended")
    _post_secured(tx, charge, tx.now_ms if moved_ms is None else moved_ms)
    _move_charge(tx, cause, charge, "funds_secured", "charge.succeeded")
    _move_intent_of(tx, cause, charge, "funds_secured", "payment_intent.succeeded")


def _fail(tx: Transaction, cause: Cause, charge: StoredCharge, code: str) -> None:
    """Fails an attempt with the failure `code`, and changes its intent's status; a canceled intent stays canceled."""
    _hold(tx, charge, "ended")
    ended = "prompt_expired" if code == scenarios.TIMEOUT else "attempt_failed"
    _move_charge(tx, cause, charge, ended, "charge.failed", failure_code=code)
    if code != "canceled_by_merchant":
        _move_intent_of(tx, cause, charge, "attempt_failed", "payment_intent.payment_failed", failure_code=code)


def money_comes_late(tx: Transaction, session: UssdSession) -> None:
    """Records that the customer's approval, and the money, reached the operator after the prompt had expired.

    The money pays the attempt. But if its intent is already paid or canceled, the money waits in suspense and the
    payment does not change.
    """
    charge = tx.charges[session.charge]
    session = ussd.after(session, "late_pin")
    _show(tx, session, "•" * operator_of(session.phone).pin_length)
    tx.sessions.put(session)
    intent = _intent_of(tx, charge)
    by_intent = intent is None or (intent.status, payments.LATE_FUNDS) in tx.intent_transitions
    if by_intent and (charge.status, payments.LATE_FUNDS) in tx.charge_transitions:
        _pay_late(tx, charge, intent)
        return
    fees = payments.fees_of(charge.amount_minor, tx.gaps, charge.currency)
    amounts = {"gross": charge.amount_minor, "operator_fee": fees.operator_minor}
    known_as = reference(charge.provider, tx.now_ms, seq=charge.seq)
    post(tx, charge, "late_success", amounts, f"{charge.money} arrived late through {charge.provider}", known_as)
    balances.expect_clearing(tx)
    emit(tx, BY_ITSELF, charge.account, "charge.late_success", CHARGES.view(tx, charge))
    if intent:
        shown = _intent_view(tx, intent, None, _late_money(tx, intent.id))
        emit(tx, BY_ITSELF, charge.account, "payment_intent.late_success", shown)


def _pay_late(tx: Transaction, charge: StoredCharge, intent: StoredIntent | None) -> None:
    """Marks a failed attempt as paid by its late money, and withdraws another open prompt of the same intent."""
    warnings = (*charge.warnings, "The money came after its prompt had expired.")
    if intent and (other := _open_prompt(tx, intent)):
        press(tx, BY_ITSELF, other, "withdraw")
    _post_secured(tx, charge, tx.now_ms)
    _move_charge(tx, BY_ITSELF, charge, payments.LATE_FUNDS, "charge.succeeded", warnings=warnings)
    if intent:
        # The intent now names the charge that paid it: a refund of the intent is a refund of that charge.
        paid_by = {"latest_charge": charge.id, "phone": charge.phone, "provider": charge.channel, "warnings": warnings}
        status = next_state(tx.intent_transitions, intent.status, payments.LATE_FUNDS)
        event_type = "payment_intent.succeeded"
        _change_intent(tx, BY_ITSELF, intent, event_type, status=status, failure_code=None, **paid_by)


def _intent_of(tx: Transaction, charge: StoredCharge) -> StoredIntent | None:
    return tx.intents[charge.payment_intent] if charge.payment_intent else None


def _change_intent(
    tx: Transaction,
    cause: Cause,
    intent: StoredIntent,
    event_type: str,
    late: Sequence[Late] | None = None,
    prompt: UssdSession | None = None,
    /,
    **changes: object,
) -> wire.PaymentIntent:
    """Changes fields of an intent, its status included, and emits an event of `event_type`; returns the intent's view.

    The view shows `prompt`, the open prompt if there is one, and `late`, the intent's late money; None looks it up.
    """
    late = _late_money(tx, intent.id) if late is None else late
    shown = _intent_view(tx, tx.intents.put(intent, **changes), prompt, late)
    return emit(tx, cause, intent.account, event_type, shown, before={"status": intent.status})


def _move_intent_of(
    tx: Transaction, cause: Cause, charge: StoredCharge, event: str, event_type: str, *, failure_code: str | None = None
) -> None:
    if intent := _intent_of(tx, charge):
        status = next_state(tx.intent_transitions, intent.status, event)
        _change_intent(tx, cause, intent, event_type, status=status, failure_code=failure_code)


def _move_charge(
    tx: Transaction, cause: Cause, charge: StoredCharge, event: str, event_type: str, **changes: str | tuple[str, ...]
) -> None:
    before = charge.status
    status = next_state(tx.charge_transitions, before, event)
    moved = tx.charges.put(charge, **{"failure_code": None, **changes}, status=status)
    emit(tx, cause, charge.account, event_type, charge_view(tx, moved), before={"status": before})


def post(
    tx: Transaction,
    charge: StoredCharge,
    recipe: str,
    amounts: dict[str, int],
    description: str,
    known_as: str | None = None,
) -> JournalEntry:
    """Appends an entry about a charge to the ledger, by a recipe; `amounts` is name in the recipe → minor units.

    `known_as` is the id by which the operator or the bank knows the movement.
    """
    payment, parties = charge.payment_intent or charge.id, {"operator": charge.provider, "merchant": charge.account}
    return tx.book(recipe, amounts, charge.currency, description, payment=payment, reference=known_as, **parties)


def _post_secured(tx: Transaction, charge: StoredCharge, moved_ms: int) -> None:
    """Posts the money of an attempt, moved at `moved_ms` (milliseconds since 1970), to its merchant, less the fees."""
    fees = payments.fees_of(charge.amount_minor, tx.gaps, charge.currency)
    amounts = {
        "gross": charge.amount_minor,
        "net": charge.amount_minor - fees.merchant_minor,
        "merchant_fee": fees.merchant_minor,
        "operator_fee": fees.operator_minor,
    }
    known_as = reference(charge.provider, moved_ms, seq=charge.seq)
    post(tx, charge, "funds_secured", amounts, f"{charge.money} received through {charge.provider}", known_as)
    balances.expect_clearing(tx)


REFUND_SENT = "refund_sent"


def _refund_view(tx: Transaction, stored: StoredRefund) -> wire.Refund:
    """The view of a refund; its amount is in the unit of the intent or charge that the request named."""
    if stored.of_intent:
        return view_of(wire.Refund, stored, amount=stored.money.major)
    amount = Decimal(in_units(stored.money, tx.gaps))
    return view_of(wire.Refund, stored, amount=amount, currency=stored.currency.lower())


REFUNDS = Resource("refund", "/v1/refunds", lambda tx: tx.refunds, _refund_view, code="refund_not_found")


def create_refund(tx: Transaction, caller: Caller, body: wire.CreateRefund) -> wire.Refund:
    """POST /v1/refunds: refund a charge or an intent; pending until the operator has sent the money."""
    charge = _charge_to_refund(tx, caller, body)
    if charge.status != payments.SUCCEEDED:
        message = f"The charge is {charge.status}; only a succeeded one can be refunded."
        raise StateConflict(message, code="charge_not_refundable", param="charge", current=charge.status)
    amount_minor = _amount_to_refund(tx, charge, body)
    available, pending = (
        balances.balance_of(tx, kind, charge.currency, merchant=charge.account)
        for kind in (ledger.MERCHANT_AVAILABLE, ledger.MERCHANT_PENDING)
    )
    fee = _fee_returned(tx, charge, amount_minor) if tx.gaps.fee_on_refund == "returned" else 0
    split = ledger.refund_split(amount_minor, available_minor=available, pending_minor=pending, fee_minor=fee)
    words = f"{Money(amount_minor, charge.currency)} to be refunded"
    entry = post(tx, charge, "refund_asked", split, words)
    refund = tx.refunds.create(
        account=caller.account,
        charge=charge.id,
        of_intent=int(body.payment_intent is not None),
        payment_intent=charge.payment_intent,
        amount_minor=amount_minor,
        currency=charge.currency,
        entry=entry.id,
        reason=body.reason,
        scenario=caller.scenario if caller.scenario in scenarios.REFUND_FAILURES else None,
        metadata=body.metadata,
    )
    tx.charges.put(charge, refunded_minor=charge.refunded_minor + amount_minor)
    tx.schedule(REFUND_SENT, refund.id, in_ms=scenarios.REFUND_SENT_S * 1000)
    return emit(tx, caller.cause, caller.account, "refund.created", _refund_view(tx, refund))


def list_refunds(tx: Transaction, caller: Caller, *, query: wire.RefundsQuery) -> Listed[wire.Refund]:
    """GET /v1/refunds: the refunds, newest first; optionally only those of one charge."""
    return REFUNDS.page(tx, caller, query=query, charge=query.charge)


def send_refund(tx: Transaction, refund_id: str) -> None:
    """Completes a refund, as the operator sends it to the wallet; or fails it, if its scenario says so."""
    refund = tx.refunds[refund_id]
    charge = tx.charges[refund.charge]
    if refund.scenario is not None:
        _fail_refund(tx, refund, charge, refund.scenario)
        return
    top_up(tx, charge, refund.amount_minor, refund.seq)
    sent = reference(charge.provider, tx.now_ms, seq=refund.seq)
    words = f"{refund.money} sent back to the customer"
    post(tx, charge, "refund_sent", {"gross": refund.amount_minor}, words, sent)
    _move_refund(tx, refund, "sent", "refund.succeeded")
    emit(tx, BY_ITSELF, charge.account, "charge.refunded", charge_view(tx, charge))


def _fail_refund(tx: Transaction, refund: StoredRefund, charge: StoredCharge, code: str) -> None:
    request_entry, words = tx.journal[refund.entry], f"{refund.money} could not be sent back"
    if tx.journal.reversal_of(request_entry.id) is None:  # somebody may have reversed it through `/sandbox`
        mirror = ledger.mirrored(request_entry.postings)
        tx.post("refund_failed", mirror, description=words, payment=request_entry.payment, reverses=request_entry.id)
    # Money that a clearing took from the merchant for this refund is available again.
    over = -balances.balance_of(tx, ledger.RECEIVABLE, charge.currency, merchant=charge.account)
    if over > 0:
        words = f"{Money(over, charge.currency)} given back, taken for what was not owed"
        post(tx, charge, "recovery_returned", {"owed": over}, words)
    tx.charges.put(charge, refunded_minor=charge.refunded_minor - refund.amount_minor)
    _move_refund(tx, refund, "failed", "refund.failed", code)
    balances.expect_clearing(tx)


def _move_refund(tx: Transaction, refund: StoredRefund, event: str, event_type: str, code: str | None = None) -> None:
    moved = tx.refunds.put(refund, status=next_state(REFUND_TRANSITIONS, refund.status, event), failure_code=code)
    emit(tx, BY_ITSELF, refund.account, event_type, _refund_view(tx, moved), before={"status": refund.status})


def _charge_to_refund(tx: Transaction, caller: Caller, body: wire.CreateRefund) -> StoredCharge:
    if (body.charge is None) == (body.payment_intent is None):
        raise InvalidRequest("Send either charge or payment_intent.", code="parameter_missing", param="charge")
    if body.charge is not None:
        return CHARGES.find(tx, caller, body.charge, param="charge")
    intent = INTENTS.find(tx, caller, body.payment_intent or "", param="payment_intent")
    if intent.latest_charge is None:
        message = f"The intent is {intent.status}: nothing was paid."
        raise StateConflict(message, code="charge_not_refundable", param="payment_intent", current=intent.status)
    return tx.charges[intent.latest_charge]


def _amount_to_refund(tx: Transaction, charge: StoredCharge, body: wire.CreateRefund) -> int:
    """The minor units to refund: the body's amount; by default all that is left of the charge.

    The body's amount is in major units if it names an intent, and in the unit of charges if it names a charge.

    Raises StateConflict: nothing is left. Raises InvalidRequest: not an amount, or more than is left.
    """
    currency, left_minor = ISO_4217[charge.currency], charge.amount_minor - charge.refunded_minor
    if body.amount is None:
        if not left_minor:
            param = "charge" if body.charge else "payment_intent"
            message = "The charge is refunded in full."
            raise StateConflict(message, code="charge_not_refundable", param=param, current="refunded")
        return left_minor
    if body.charge is None:
        money = money_from_major(body.amount, currency)
    else:
        money = service.whole_units(tx.gaps, body.amount, currency)
    if money.amount_minor > left_minor:
        message = f"{Money(left_minor, charge.currency)} of this charge can still be refunded, not {money}."
        raise InvalidRequest(message, code="refund_exceeds_charge", param="amount")
    return money.amount_minor


def _fee_returned(tx: Transaction, charge: StoredCharge, amount_minor: int) -> int:
    """The fee to return with a refund of `amount_minor`, less what earlier refunds returned, in minor units."""
    secured = next(tx.journal.of_payment(charge.payment_intent or charge.id, ("funds_secured",)))
    stand = [refund for refund in tx.refunds.all(charge=charge.id) if refund.status != payments.FAILED]
    return payments.fee_returned(
        _fee_in(secured),
        amount_minor=charge.amount_minor,
        refunded_minor=charge.refunded_minor + amount_minor,
        returned_minor=sum(_fee_in(tx.journal[refund.entry]) for refund in stand),
    )


def _fee_in(entry: JournalEntry) -> int:
    return sum(posting.amount_minor for posting in entry.postings if posting.code == ledger.MERCHANT_FEE.code)


def top_up(tx: Transaction, charge: StoredCharge, amount_minor: int, seq: int) -> None:
    """Provides an operator's float with the money to pay out `amount_minor`.

    First, a sweep that is on its way to the bank is called back; the bank pays in the rest. `seq` is that of the refund
    or late money to pay; the ids of these movements are derived from it.
    """
    in_float, on_its_way = (
        max(0, balances.balance_of(tx, kind, charge.currency, operator=charge.provider))
        for kind in (ledger.FLOAT, ledger.IN_TRANSIT)
    )
    short = max(0, amount_minor - in_float)
    recalled = min(short, on_its_way)
    if recalled:
        words = f"{Money(recalled, charge.currency)} called back to {charge.provider} on its way to the bank"
        recall = reference("recall", tx.now_ms, seq=seq)
        post(tx, charge, "sweep_recalled", {"swept": recalled}, words, recall)
    if short > recalled:
        words = f"{Money(short - recalled, charge.currency)} moved from the bank to {charge.provider}"
        from_bank = reference("top_up", tx.now_ms, seq=seq)
        post(tx, charge, "float_topped_up", {"short": short - recalled}, words, from_bank)
