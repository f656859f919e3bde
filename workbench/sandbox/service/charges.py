"""Charges in one call: create, retrieve, list."""

from workbench.domain import payments, wire
from workbench.domain.payments import Charge
from workbench.domain.phones import operator_named
from workbench.errors import PaymentDeclined
from workbench.sandbox import views
from workbench.sandbox.service import attempts, checks, lists, suspense
from workbench.sandbox.service.deliveries import emit
from workbench.sandbox.service.lists import Caller, Refused
from workbench.sandbox.store import Transaction

URL = "/v1/charges"


def create(tx: Transaction, caller: Caller, body: wire.CreateCharge) -> wire.Charge | Refused:
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
    charge = tx.charges.add(
        Charge(
            **tx.made("ch", caller.account),
            amount_minor=money.amount_minor,
            currency=money.currency,
            channel=asked.id,
            provider=phone.operator.id,
            phone=phone.e164,
            reference=body.reference,
            metadata=body.metadata,
            warnings=warnings,
        )
    )
    session = attempts.begin(tx, caller, charge, phone, body.reference)
    if tx.gaps.charge_wait == "answered":
        attempts.act(tx, caller.cause, session)
        charge = found(tx, caller, charge.id)
    shown = views.charge(charge, tx.gaps)
    if charge.status == payments.PENDING:
        emit(tx, caller.cause, charge.account, "charge.pending", shown)
    if tx.gaps.charge_wait != "answered":
        attempts.let_act(tx, session)
    if charge.failure_code is None or tx.gaps.declined_status == "200":
        return shown
    why = payments.FAILURES[charge.failure_code]
    return Refused(PaymentDeclined(why, decline_code=charge.failure_code, charge=charge.id))


def retrieve(tx: Transaction, caller: Caller, *, charge_id: wire.PathCharge) -> wire.Charge:
    """GET /v1/charges/{charge_id}: retrieve a charge."""
    return _shown(tx, found(tx, caller, charge_id))


def listed(tx: Transaction, caller: Caller, *, query: wire.ListQuery) -> lists.Listed[wire.Charge]:
    """GET /v1/charges: the charges, those of intents too, newest first."""
    return lists.page(caller, tx.charges, query, URL, lambda each: _shown(tx, each))


def _shown(tx: Transaction, charge: Charge) -> wire.Charge:
    return views.charge(charge, tx.gaps, suspense.of_charge(tx, charge))


def found(tx: Transaction, caller: Caller, charge_id: str, *, param: str = "id") -> Charge:
    """The caller's charge of this id. Raises NotFound."""
    return checks.found(caller, tx.charges, charge_id, "charge", code="charge_not_found", param=param)
