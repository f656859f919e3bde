"""A request as a call of the typed client, from the table of calls; None where there is no such call."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import unquote

from workbench.snippets.pieces import Request, call, is_content_type, literal, noted, python_key


class Call(NamedTuple):
    """One operation as a call in Python."""

    method: str
    path: str
    text: str
    """What is called. An id of the path stands in it in braces, or is its first argument."""
    fields: Mapping[str, str] = {}
    """Path in the body → argument; `a.b` is b within a."""
    always: tuple[str, ...] = ()
    """Arguments that the call always sends: a request without them is not this call."""
    fixed: Mapping[str, str] = {}
    """What the call adds to the body by itself."""
    query: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("Bearer",)
    keyed: bool = False
    """It takes an idempotency key."""
    is_attribute: bool = False


def _same(*names: str) -> dict[str, str]:
    """Arguments with the names of fields."""
    return {name: name for name in names}


_EITHER = ("Bearer", "Basic")
_PAGE = ("limit", "starting_after", "ending_before")


def _listed(path: str, group: str, *filters: str, schemes: tuple[str, ...] = _EITHER) -> Call:
    return Call("GET", path, f"pay.{group}.list", query=(*_PAGE, *filters), schemes=schemes)


def _of_one(method: str, path: str, text: str) -> Call:
    """A call that takes an id and nothing else."""
    return Call(method, path, f"pay.{text}", schemes=_EITHER)


def _of_bench(method: str, path: str, text: str, *fields: str, is_attribute: bool = False) -> Call:
    path = f"/sandbox/{path}"
    return Call(method, path, f"bench.{text}", _same(*fields), always=fields, is_attribute=is_attribute)


# fmt: off
CALLS: tuple[Call, ...] = (
    Call("POST", "/v1/payment_intents", "pay.payment_intents.create",
         _same("amount", "currency", "payment_method_types", "description", "metadata"),
         always=("amount", "currency", "payment_method_types"), keyed=True),
    _listed("/v1/payment_intents", "payment_intents", schemes=("Bearer",)),
    Call("GET", "/v1/payment_intents/{intent_id}", "pay.payment_intents.retrieve", query=("client_secret",)),
    Call("POST", "/v1/payment_intents/{intent_id}/confirm", "pay.payment_intents.confirm",
         {"payment_method.mobile_money.phone": "phone", "payment_method.mobile_money.provider": "provider",
          "client_secret": "client_secret"},
         always=("phone", "provider"), fixed={"payment_method.type": "mobile_money"}, keyed=True),
    Call("POST", "/v1/payment_intents/{intent_id}/cancel", "pay.payment_intents.cancel",
         _same("cancellation_reason"), keyed=True),
    Call("POST", "/v1/charges", "pay.charges.create",
         _same("amount", "currency", "channel", "phone", "reference", "metadata"),
         always=("amount", "currency", "channel", "phone", "idempotency_key"), fixed={"type": "mobile_money"},
         schemes=("Basic",), keyed=True),
    _listed("/v1/charges", "charges"),
    _of_one("GET", "/v1/charges/{charge_id}", "charges.retrieve"),
    Call("POST", "/v1/refunds", "pay.refunds.create",
         _same("charge", "payment_intent", "amount", "reason", "metadata"), schemes=_EITHER, keyed=True),
    _listed("/v1/refunds", "refunds", "charge"),
    _of_one("GET", "/v1/refunds/{refund_id}", "refunds.retrieve"),
    Call("POST", "/v1/payouts", "pay.payouts.create", _same("amount", "currency", "destination", "metadata"),
         always=("amount", "currency"), schemes=_EITHER, keyed=True),
    _listed("/v1/payouts", "payouts"),
    _of_one("GET", "/v1/payouts/{payout_id}", "payouts.retrieve"),
    Call("GET", "/v1/balance", "pay.balance.retrieve", schemes=_EITHER),
    _listed("/v1/events", "events", "type", "created_since", "search"),
    _of_one("GET", "/v1/events/{event_id}", "events.retrieve"),
    _of_one("POST", "/v1/events/{event_id}/replay", "events.replay"),
    Call("POST", "/v1/webhook_endpoints", "pay.webhook_endpoints.create", _same("url", "enabled_events"),
         always=("url", "enabled_events"), schemes=_EITHER),
    _listed("/v1/webhook_endpoints", "webhook_endpoints"),
    _of_one("GET", "/v1/webhook_endpoints/{endpoint_id}", "webhook_endpoints.retrieve"),
    Call("PATCH", "/v1/webhook_endpoints/{endpoint_id}", "pay.webhook_endpoints.update",
         _same("url", "enabled_events", "status"), schemes=_EITHER),
    _of_one("DELETE", "/v1/webhook_endpoints/{endpoint_id}", "webhook_endpoints.delete"),
    _of_one("POST", "/v1/webhook_endpoints/{endpoint_id}/roll_secret", "webhook_endpoints.roll_secret"),
    _listed("/v1/deliveries", "deliveries", "status", "event", "endpoint"),
    _of_one("GET", "/v1/deliveries/{delivery_id}", "deliveries.retrieve"),
    _of_one("POST", "/v1/deliveries/{delivery_id}/replay", "deliveries.replay"),
    _of_one("POST", "/v1/dead_letters/replay", "deliveries.replay_dead_letters"),
    _listed("/v1/api_keys", "api_keys"),
    Call("POST", "/v1/api_keys", "pay.api_keys.create", _same("kind"), schemes=_EITHER),
    _of_one("POST", "/v1/api_keys/{key_id}/roll", "api_keys.roll"),
    _of_one("DELETE", "/v1/api_keys/{key_id}", "api_keys.revoke"),
    Call("POST", "/plants", "pay.plants.create", _same("id", "name", "tag"), always=("id", "name")),
    Call("POST", "/v1/auth/token", "pay.auth.token", _same("email", "password"), always=("email", "password"),
         schemes=("none",)),
    Call("POST", "/v1/auth/refresh", "pay.auth.refresh", _same("refresh_token"), always=("refresh_token",),
         schemes=("none",)),
    _of_bench("GET", "clock", "clock", is_attribute=True),
    _of_bench("POST", "clock/advance", "clock.advance", "seconds"),
    _of_bench("GET", "phones/{phone}", "phone"),
    Call("POST", "/sandbox/phones/{phone}/input", "bench.phone({phone}).enter_pin", {"text": "pin"}, always=("pin",)),
    _of_bench("GET", "phones/{phone}/messages", "phone({phone}).messages", is_attribute=True),
    _of_bench("POST", "phones/{phone}/cancel", "phone({phone}).cancel"),
    _of_bench("POST", "phones/{phone}/ignore", "phone({phone}).ignore"),
    _of_bench("GET", "operator", "operator.states"),
    _of_bench("POST", "operator/script", "operator.script", "phone", "answers"),
    _of_bench("POST", "operator/outage", "operator.outage", "provider", "seconds"),
    Call("POST", "/sandbox/operator/query", "bench.operator.query", {"charge": "charge_id"}, always=("charge_id",)),
    Call("POST", "/sandbox/webhook_endpoints/{endpoint}/faults", "bench.delivery_faults", _same("faults")),
    _of_bench("GET", "ledger/accounts", "ledger.accounts", is_attribute=True),
    _of_bench("GET", "ledger/entries", "ledger.entries", is_attribute=True),
    _of_bench("GET", "ledger/postings", "ledger.postings", is_attribute=True),
    Call("GET", "/sandbox/ledger/movements", "bench.ledger.statement_of", query=("account",),
         always=("account",)),
    _of_bench("GET", "ledger/verify", "ledger.verify"),
    _of_bench("GET", "trace", "trace", is_attribute=True),
    _of_bench("GET", "gaps", "gaps", is_attribute=True),
    _of_bench("POST", "reset", "reset"),
)
NO_CALL = frozenset({
    ("GET", "/sandbox/webhook_endpoints"), ("POST", "/sandbox/accounts"), ("POST", "/sandbox/ledger/entries"),
    ("POST", "/sandbox/ledger/entries/{entry_id}/repeat"), ("POST", "/sandbox/simulation"),
})
# fmt: on
"""Operations without a call of their own in Python: they are written as raw HTTP."""


Arguments = dict[str, Any]
_KEY_HEADER = "idempotency-key"
_POSITIONAL = ("seconds", "phone", "answers", "provider", "pin", "charge_id", "account", "refresh_token")
"""Arguments without their names, in calls of the sandbox and of `auth.refresh`."""
_SPANS = {"days": 86_400, "hours": 3600, "minutes": 60}
_WHOLE = re.compile("0|[1-9][0-9]*")
_CHARGE, _ADVANCE, _FAULTS = "pay.charges.create", "bench.clock.advance", "bench.delivery_faults"


def typed(request: Request) -> str | None:
    """The call that sends this request, after the lines that it needs."""
    for row in CALLS:
        named = _named(row, request)
        if named is not None:
            arguments = _arguments(row, request)
            return None if arguments is None else _text(row, request, named, arguments)
    return None


def _named(row: Call, request: Request) -> dict[str, str] | None:
    """The ids in the path, by their names in the row; None for another path."""
    patterns, given = (each.split("/")[1:] for each in (row.path, request.path))
    given = [unquote(each) for each in given]
    if row.method != request.method or len(patterns) != len(given):
        return None
    pairs = list(zip(patterns, given, strict=True))
    if not all(pattern == text or pattern.startswith("{") for pattern, text in pairs):
        return None
    return {pattern[1:-1]: text for pattern, text in pairs if pattern.startswith("{")}


def _arguments(row: Call, request: Request) -> Arguments | None:
    """The arguments of the call; None if it would send something else."""
    parts = (_of_body(row, request.body), _of_query(row, request.query), _of_headers(row, request))
    if request.scheme not in row.schemes or any(part is None for part in parts):
        return None
    arguments = {name: value for part in parts if part for name, value in part.items()}
    complete = arguments.keys() >= {*row.always}
    fit = all(_fits(row, name, value, arguments) for name, value in arguments.items())
    return arguments if complete and fit else None


def _of_body(row: Call, body: Any) -> Arguments | None:  # noqa: ANN401  JSON is of any type
    if body is None:
        return None if row.fixed else {}
    if not isinstance(body, Mapping):
        return None
    paths = {*row.fields, *row.fixed}
    containers = {path[:place] for path in paths for place, letter in enumerate(path) if letter == "."}
    leaves = dict(_leaves(body, "", containers))
    if not leaves.keys() <= paths or any(leaves.pop(path, None) != value for path, value in row.fixed.items()):
        return None
    return None if None in leaves.values() else {row.fields[path]: value for path, value in leaves.items()}


def _leaves(value: Mapping[str, Any], before: str, containers: set[str]) -> list[tuple[str, Any]]:
    """Each value with its path, within the objects that a call makes by itself."""
    found: list[tuple[str, Any]] = []
    for name, each in value.items():
        # A name with a point in it must not look like a path.
        path = before + ("?" if "." in name else name)
        inside = path in containers and isinstance(each, Mapping)
        found += _leaves(each, f"{path}.", containers) if inside else [(path, each)]
    return found


def _of_query(row: Call, query: Mapping[str, Any]) -> Arguments | None:
    if not query.keys() <= set(row.query) or not all(isinstance(value, str) for value in query.values()):
        return None
    return {name: int(value) if name == "limit" and _WHOLE.fullmatch(value) else value for name, value in query.items()}


def _of_headers(row: Call, request: Request) -> Arguments | None:
    arguments: Arguments = {}
    for name, value in request.headers.items():
        if is_content_type(name) and value == "application/json" and request.body is not None:
            continue
        if not row.keyed or name.lower() != _KEY_HEADER:
            return None
        arguments["idempotency_key"] = value
    return arguments


def _fits(row: Call, name: str, value: Any, others: Arguments) -> bool:  # noqa: ANN401  JSON is of any type
    """Whether the call sends an argument unchanged and does not refuse it."""
    if row.text == _ADVANCE:
        return _is_one(value, int | Decimal) and value >= 0 and value * 1000 % 1 == 0
    if name == "account":
        return "," not in value
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    # A charge and its refunds are in whole ngwee, the rest in kwacha.
    is_whole = name == "amount" and ("charge" in others or row.text == _CHARGE)
    return _is_one(value, int if is_whole else _KINDS.get(name, object))


def _is_one(value: object, kind: Any) -> bool:  # noqa: ANN401  a type, or several
    return isinstance(value, kind) and not (isinstance(value, bool) and kind is not object)


_LISTS = ("payment_method_types", "enabled_events", "answers", "faults")
_KINDS = {"amount": int | Decimal, "seconds": int, "limit": int, "pin": str, "refresh_token": str}


def _text(row: Call, request: Request, named: Mapping[str, str], arguments: Arguments) -> str | None:
    if any(each in ("", ".", "..") or "/" in each for each in named.values()):
        return None
    uses_client = row.text.startswith("pay.")
    if not uses_client and request.key != "secret_key":
        return None
    ids = {name: literal(each) for name, each in named.items()}
    head = row.text.format(**ids)
    line = head if row.is_attribute else call(head, _call_arguments(row, ids, arguments))
    before = ["from decimal import Decimal", ""] if "Decimal(" in line else []
    if uses_client:
        client = "client" if request.key == "secret_key" else f"client_with({python_key(request.key)})"
        before.append(f"pay = bench.{client}")
    return noted("\n".join([*before, line]))


def _call_arguments(row: Call, ids: Mapping[str, str], arguments: Arguments) -> list[str]:
    """The arguments between the brackets, the ids that the text of the call does not hold first."""
    if row.text == _ADVANCE:
        return [_span(arguments["seconds"])]
    if row.text == _FAULTS:
        return [*map(literal, arguments.get("faults", ())), f"endpoint={ids['endpoint']}"]
    bare = not row.text.startswith("pay.") or row.text == "pay.auth.refresh"
    return [each for name, each in ids.items() if f"{{{name}}}" not in row.text] + [
        literal(value) if bare and name in _POSITIONAL else f"{name}={literal(value)}"
        for name, value in arguments.items()
    ]


def _span(seconds: Decimal | int) -> str:
    """A span of time in its largest whole unit."""
    for unit, length in _SPANS.items():
        if seconds and seconds % length == 0:
            return f"{unit}={int(seconds // length)}"
    return literal(seconds)
