"""Which scenario an attempt gets: asked for with the call, an outage, a script, or the number's own; and faults."""

from collections.abc import Sequence

from workbench.domain import scenarios
from workbench.domain.payments import Charge
from workbench.domain.phones import OPERATORS, Msisdn, msisdn_from, operator_named
from workbench.domain.wire import panel
from workbench.errors import InvalidRequest
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Outage, Script


def scenario_for(tx: Transaction, charge: Charge, phone: Msisdn, *, asked: str | None) -> str:
    """The name of the scenario of a charge that has just been stored; `asked` is what its call asks for."""
    if asked in scenarios.ASKABLE:
        return asked
    if tx.gaps.failure_triggers == "header":
        return scenarios.PERSON
    if _is_down(tx, charge.provider):
        return scenarios.UNAVAILABLE
    # One answer of a script for each call: a fault of the service that was asked for is that call's.
    if asked is None and (scripted := tx.scripts.first(order="seq", phone=charge.phone)):
        tx.scripts.remove(scripted)
        return scripted.play
    first = tx.charges.first(order="seq", account=charge.account, phone=charge.phone)
    return scenarios.scenario_on(
        phone.ending,
        attempt=_attempt(tx, charge),
        since_first_ms=tx.now_ms - (first or charge).created_ms,
    )


def take_fault(tx: Transaction, number: str, *, asked: str | None) -> str | None:
    """What a call on a number asks to go wrong, or else the fault that its script has next, which is used up."""
    scripted = tx.scripts.first(order="seq", phone=number)
    if scripted is None or scripted.play not in scenarios.FAULTS:
        return asked
    is_heard = asked is None and tx.gaps.failure_triggers != "header"
    if is_heard and not _is_down(tx, msisdn_from(number, param="phone").operator.id):
        tx.scripts.remove(scripted)
        return scripted.play
    return asked


def _attempt(tx: Transaction, charge: Charge) -> int:
    """Attempts are counted for each intent; those of charges for each phone and reference."""
    if charge.payment_intent is not None:
        return tx.charges.count(payment_intent=charge.payment_intent)
    return tx.charges.count(account=charge.account, phone=charge.phone, reference=charge.reference, payment_intent=None)


def _is_down(tx: Transaction, provider: str) -> bool:
    outage = tx.outages.get(provider)
    return outage is not None and tx.now_ms < outage.until_ms


def script(tx: Transaction, number: str, answers: Sequence[str]) -> panel.Scripted:
    """Set what the next attempts on a number come to; an empty list forgets what was set.

    Raises InvalidRequest: a number without a wallet, or an answer that there is not.
    """
    phone = msisdn_from(number, param="phone").e164
    for response in answers:
        if response not in scenarios.SCRIPTABLE:
            raise InvalidRequest(
                f"{response[:40]!r} cannot be scripted; what can is {', '.join(scenarios.SCRIPTABLE)}.",
                code="scenario_unknown",
                param="answers",
            )
    if len(answers) > panel.MAX_ANSWERS:
        raise InvalidRequest(f"answers are at most {panel.MAX_ANSWERS}.", code="parameter_invalid", param="answers")
    for each in tx.scripts.all(phone=phone):
        tx.scripts.remove(each)
    for response in answers:
        tx.scripts.add(Script(seq=tx.next_seq(), phone=phone, play=response))
    return panel.Scripted(phone, list(answers))


def outage(tx: Transaction, named: str, for_ms: int) -> panel.OperatorState:
    """Take an operator down for so many milliseconds from now, or up again for 0.

    Raises InvalidRequest: no such scenarios.
    """
    provider = operator_named(named, param="provider").id
    if before := tx.outages.get(provider):
        tx.outages.remove(before)
    if not for_ms:
        return panel.OperatorState(provider, None)
    ends = tx.outages.add(Outage(provider=provider, until_ms=tx.now_ms + for_ms))
    return panel.OperatorState(provider, ends.until_ms // 1000)


def states(tx: Transaction) -> list[panel.OperatorState]:
    """Each operator, and until when it is down."""
    return [panel.OperatorState(each, _down_until_s(tx, each)) for each in OPERATORS]


def _down_until_s(tx: Transaction, provider: str) -> int | None:
    outage = tx.outages.get(provider)
    return outage.until_ms // 1000 if outage and tx.now_ms < outage.until_ms else None
