"""Runs the commands of a simulated month inside the sandbox, each at its moment, with the effect of single calls."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Final

import msgspec

from workbench.domain.ledger import MERCHANT_AVAILABLE
from workbench.domain.money import ZMW, Money
from workbench.domain.payments import MOBILE_MONEY
from workbench.domain.reading import body_from
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.domain.wire.base import to_json
from workbench.domain.wire.sandbox_controls import Input, Script, Simulate, SimulatedCommand
from workbench.errors import ApiError, IdempotencyKeyReused, NotFound, PaymentDeclined, StateConflict
from workbench.sandbox import controls, exchange, operations
from workbench.sandbox.access import caller_of
from workbench.sandbox.driver import Command, Driver
from workbench.sandbox.messages import Request
from workbench.sandbox.service import Caller, balances, handsets
from workbench.sandbox.store import Transaction

_SLICE_S: Final = 0.5
"""Seconds during which one call starts commands; the last command may run on for as long again."""
_OPERATIONS: Final = {operation.id: operation for operation in operations.OPERATIONS}


def run_commands(driver: Driver, request: Request) -> Request:
    """Runs the commands of a valid request to `/sandbox/simulation`, until all are done or half a second is over.

    Returns the same request without commands: the response to it has the number of commands that are done.

    Raises ApiError: a command fails; earlier commands are kept.
    """
    body = body_from(request.body, Simulate)

    def planned(tx: Transaction) -> Iterator[Command]:
        caller = caller_of(tx, request, controls.SIMULATE)
        remaining = body.commands[controls.run_simulation(tx, caller, body).done :]
        return ((command.at_ms, partial(_do, caller, command, controls.counter_of(body))) for command in remaining)

    driver.do_all(planned, _SLICE_S)
    return msgspec.structs.replace(request, body=to_json({**msgspec.structs.asdict(body), "commands": []}))


def _do(caller: Caller, command: SimulatedCommand, counter: str, tx: Transaction) -> None:
    """Runs a command and counts it in the store's counter `counter`, in one commit.

    Raises StateConflict: another charge used the command's order.
    """
    try:
        _DO[command.what](tx, caller, command)
    except IdempotencyKeyReused as error:
        raise StateConflict(error.message, code="simulation_failed", param="order") from None
    tx.count_up(counter)


def _make_call(tx: Transaction, caller: Caller, operation: str, body: Mapping[str, object], **more: str) -> None:
    """Makes a call as the merchant; `more` has its idempotency `key` and its path parameters.

    Raises StateConflict: the call is refused, other than by a decline.
    """
    response = exchange.call_within(tx, caller, _OPERATIONS[operation], body, **more)
    if response.status >= operations.ERRORS and response.status != PaymentDeclined.status:
        raise StateConflict(f"{operation} was answered {response.status}, as was scripted.", code="simulation_failed")


def _create_charge(tx: Transaction, caller: Caller, command: SimulatedCommand) -> None:
    amount = {"amount": command.amount_minor, "currency": ZMW.code.lower()}
    wallet = {"type": MOBILE_MONEY, "channel": command.provider, "phone": command.phone}
    _make_call(tx, caller, "createCharge", {**amount, **wallet, "reference": command.order}, key=command.order)


def _create_intent(tx: Transaction, caller: Caller, command: SimulatedCommand) -> None:
    amount = {"amount": Money(command.amount_minor, ZMW.code).major, "currency": ZMW.code}
    body = {**amount, "payment_method_types": [MOBILE_MONEY], "description": command.order}
    _make_call(tx, caller, "createPaymentIntent", body)


def _confirm_intent(tx: Transaction, caller: Caller, command: SimulatedCommand) -> None:
    intent = tx.intents.first("seq DESC", account=caller.account)
    if intent is None or intent.description != command.order:
        message = f"The latest intent is not that of {command.order[:60]!r}."
        raise NotFound(message, code="intent_not_found", param="order")
    account = {"phone": command.phone, "provider": command.provider}
    body = {"payment_method": {"type": MOBILE_MONEY, "mobile_money": account}}
    _make_call(tx, caller, "confirmPaymentIntent", body, intent_id=intent.id)


def _enter_pin(tx: Transaction, caller: Caller, command: SimulatedCommand) -> None:
    shown = handsets.enter(tx, caller, Input(SANDBOX_PIN), phone=command.phone)
    if isinstance(shown, ApiError):
        raise shown


def _create_refund(tx: Transaction, caller: Caller, command: SimulatedCommand) -> None:
    session = tx.sessions.first("seq DESC", phone=command.phone, reference=command.order)
    if session is None:
        message = f"There is no charge of this phone for {command.order[:60]!r}."
        raise NotFound(message, code="charge_not_found", param="order")
    charge = tx.charges[session.charge]
    body: dict[str, object] = {"charge": charge.id, "amount": Decimal(command.amount_minor)}
    if charge.payment_intent:
        body = {"payment_intent": charge.payment_intent, "amount": Money(command.amount_minor, ZMW.code).major}
    _make_call(tx, caller, "createRefund", {name: value for name, value in body.items() if value})


def _create_payout(tx: Transaction, caller: Caller, command: SimulatedCommand) -> None:
    _make_call(tx, caller, "retrieveBalance", {})
    available = balances.balance_of(tx, MERCHANT_AVAILABLE, ZMW.code, merchant=caller.account)
    if available > 0:
        _make_call(tx, caller, "createPayout", {"amount": Money(available, ZMW.code).major, "currency": ZMW.code})


_DO: Final[Mapping[str, Callable[[Transaction, Caller, SimulatedCommand], object]]] = {
    "script": lambda tx, caller, command: handsets.script(tx, caller, Script(command.phone, [command.scenario])),
    "charge": _create_charge, "intent": _create_intent, "confirm": _confirm_intent, "pin": _enter_pin,
    "refund": _create_refund, "payout": _create_payout,
}  # fmt: skip
