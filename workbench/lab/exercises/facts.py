"""What a check asks a bench: payments by their description, the attempts at one, the calls that were made."""

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import httpx
    import pandas as pd

    from workbench.client import PaymentsClient
    from workbench.control import Clock, Operator
    from workbench.domain.masking import Secret
    from workbench.domain.wire import Charge, PaymentIntent
    from workbench.domain.wire.trace import TracedCall
    from workbench.handset import Phone
    from workbench.receiver import Receiver
    from workbench.trace import Trace


MTN_FLOAT = "operator:mtn:float"


class Bench(Protocol):
    """What checks ask of a Workbench, which stands above them."""

    http: "httpx.Client"
    base_url: str
    secret_key: "Secret"
    client: "PaymentsClient"
    clock: "Clock"
    operator: "Operator"
    receiver: "Receiver"
    receiver_url: str
    trace: "Trace"
    ledger: Any
    """DataFrames of the analysis, which the Lab does not know; so are `tables`."""
    tables: Any
    looking: "Callable[[], PaymentsClient]"
    """A client whose reading leaves no trace."""
    phone: "Callable[[str], Phone]"


class Reconciled(Protocol):
    """What checks ask of a reconciliation, which the Lab does not know either."""

    breaks: "pd.DataFrame"
    proof: "pd.DataFrame"


def kwacha(minor: int) -> str:
    """An amount for a sentence: 123450 is K1,234.50."""
    from workbench.domain.money import Money

    return f"K{Money(minor).plain}"


def intents_for(bench: Bench, description: str) -> "list[PaymentIntent]":
    """The intents with this description, however its letters are written; the newest last."""
    expected = description.casefold()
    found = [each for each in bench.looking().payment_intents.each() if str(each.description).casefold() == expected]
    return found[::-1]


def attempts_at(bench: Bench, intent_id: str) -> "list[Charge]":
    """The charges of an intent, the newest last."""
    return [each for each in bench.looking().charges.each() if each.payment_intent == intent_id][::-1]


def tries(bench: Bench, description: str) -> "list[tuple[PaymentIntent, list[Charge]]]":
    """The intents with this description and the attempts at each; the newest last."""
    return [(each, attempts_at(bench, each.id)) for each in intents_for(bench, description)]


def failures(attempts: "Iterable[Charge]") -> list[str | None]:
    """What each attempt failed with; None for one that has not."""
    return [each.failure_code for each in attempts]


def charges_for(bench: Bench, reference: str) -> "list[Charge]":
    """The charges with this reference, the newest last."""
    return [each for each in bench.looking().charges.each() if each.reference == reference][::-1]


def calls_to(bench: Bench, target: str) -> "list[TracedCall]":
    """The calls of a method and path, such as `POST /v1/charges`, as they went over the wire."""
    from workbench.domain.wire.trace import CALL, call_of

    calls = [call_of(row) for row in bench.trace if row["kind"] == CALL]
    return [each for each in calls if each.target == target]


def json_of(text: str) -> dict[str, Any]:
    """The object that a body holds; an empty one where it holds none."""
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
