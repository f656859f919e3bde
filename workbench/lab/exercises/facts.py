"""What a check asks a bench: payments by their description, the attempts at one, the calls that were made."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.bench import Workbench
    from workbench.domain.wire import Charge, PaymentIntent


def kwacha(minor: int) -> str:
    """An amount for a sentence: 123450 is K1,234.50."""
    from workbench.domain.money import Money

    return f"K{Money(minor).plain}"


def intents_for(bench: "Workbench", description: str) -> "list[PaymentIntent]":
    """The intents with this description, however its letters are written; the newest last."""
    wanted = description.casefold()
    found = [each for each in bench.looking().payment_intents.each() if str(each.description).casefold() == wanted]
    return found[::-1]


def attempts_at(bench: "Workbench", intent_id: str) -> "list[Charge]":
    """The charges of an intent, the newest last."""
    return [each for each in bench.looking().charges.each() if each.payment_intent == intent_id][::-1]


def tries(bench: "Workbench", description: str) -> "list[tuple[PaymentIntent, list[Charge]]]":
    """The intents with this description and the attempts at each; the newest last."""
    return [(each, attempts_at(bench, each.id)) for each in intents_for(bench, description)]


def failures(attempts: "Iterable[Charge]") -> list[str | None]:
    """What each attempt failed with; None for one that has not."""
    return [each.failure_code for each in attempts]


def charges_for(bench: "Workbench", reference: str) -> "list[Charge]":
    """The charges with this reference, the newest last."""
    return [each for each in bench.looking().charges.each() if each.reference == reference][::-1]


def calls_to(bench: "Workbench", target: str) -> list[dict[str, Any]]:
    """The calls of a method and path, such as `POST /v1/charges`, as they went over the wire."""
    return [row["detail"] for row in bench.trace if row["kind"] == "call" and row["detail"]["target"] == target]


def json_of(text: str) -> dict[str, Any]:
    """The object that a body holds; an empty one where it holds none."""
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
