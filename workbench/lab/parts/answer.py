"""The response to the last request that was sent."""

from http import HTTPStatus

from workbench.domain.wire.trace import call_of
from workbench.lab.parts.seen import Rows, TraceRow, json_in, pretty
from workbench.lab.parts.words import short_path
from workbench.lab.views import BAD, GOOD, WARN, Code, Fold, Item, Note

_AGAIN = "The answer of before, given again (Idempotent-Replayed: true): nothing was done a second time."
_REPLAYED = "Idempotent-Replayed"
_HEADERS = ("Request-Id", _REPLAYED, "Api-Version")


def responses(calls: Rows) -> tuple[Item, ...]:
    """Status, headers and body of each call; the last one open."""
    if not calls:
        return (Note("Nothing was sent yet."),)
    *before, last = calls
    return (*(Fold(str(call["seq"]), _title(call), _response(call)) for call in before), *_response(last))


def was_replayed(calls: Rows) -> bool:
    """Whether every response was that of before."""
    return bool(calls) and all(_REPLAYED in call_of(call).response.headers for call in calls)


def _response(call: TraceRow) -> tuple[Item, ...]:
    request, response = call_of(call).request, call_of(call).response
    is_good = response.status < HTTPStatus.BAD_REQUEST
    items: list[Item] = [Note(_title(call), GOOD if is_good else BAD)]
    body = json_in(response.body)
    if not is_good and isinstance(body, dict) and isinstance(body.get("param"), str):
        items.append(Note(f"The field is {body['param']}.", WARN))
    if was_replayed([call]):
        items.append(Note(_AGAIN))
    head = [f"{name}: {response.headers[name]}" for name in _HEADERS if name in response.headers]
    items.append(Code("Answer", "\n".join([*head, "", pretty(response.body)])))
    lines = [call["what"], *(f"{name}: {value}" for name, value in request.headers.items()), ""]
    sent = Code("Request", "\n".join([*lines, pretty(request.body)]))
    return (*items, Fold(f"{call['seq']}sent", "Request as it was sent", (sent,)))


def _title(call: TraceRow) -> str:
    status = call_of(call).response.status
    method, _, path = str(call["what"]).partition(" ")
    return f"{method} {short_path(path)} → {status} {HTTPStatus(status).phrase}"
