"""The answer to the last request that was sent."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from workbench.domain.ids import short_id
from workbench.domain.wire.trace import call_of
from workbench.lab.parts.seen import json_in, pretty
from workbench.lab.views import BAD, GOOD, WARN, Code, Fold, Item, Note

_AGAIN = "The answer of before, given again (Idempotent-Replayed: true): nothing was done a second time."
_HEADERS = ("Request-Id", "Idempotent-Replayed", "Api-Version")
_ERRORS = 400


def responses(calls: Sequence[Mapping[str, Any]]) -> tuple[Item, ...]:
    """Status, headers and body of each call; the last one open."""
    if not calls:
        return (Note("Nothing was sent yet."),)
    items: list[Item] = []
    for call in calls:
        is_last = call is calls[-1]
        shown = _one(call)
        items += shown if is_last else [Fold(str(call["seq"]), _title(call), shown)]
    return tuple(items)


def was_replayed(calls: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every answer was that of before."""
    return bool(calls) and all("Idempotent-Replayed" in call_of(call).response.headers for call in calls)


def _one(call: Mapping[str, Any]) -> tuple[Item, ...]:
    request, response = call_of(call).request, call_of(call).response
    is_good = response.status < _ERRORS
    items: list[Item] = [Note(_title(call), GOOD if is_good else BAD)]
    body = json_in(response.body)
    if not is_good and isinstance(body, dict) and isinstance(body.get("param"), str):
        items.append(Note(f"The field is {body['param']}.", WARN))
    if was_replayed([call]):
        items.append(Note(_AGAIN))
    head = [f"{name}: {response.headers[name]}" for name in _HEADERS if name in response.headers]
    items.append(Code("Answer", "\n".join([*head, "", pretty(response.body)])))
    sent = [call["what"], *(f"{name}: {value}" for name, value in request.headers.items()), ""]
    items.append(
        Fold(
            f"{call['seq']}sent",
            "Request as it was sent",
            (Code("Request", "\n".join([*sent, pretty(request.body)])),),
        )
    )
    return tuple(items)


def _title(call: Mapping[str, Any]) -> str:
    status = call_of(call).response.status
    method, _, path = str(call["what"]).partition(" ")
    shown = "/".join(short_id(each) for each in path.split("/"))
    return f"{method} {shown} → {status} {HTTPStatus(status).phrase}"
