"""A request as a call of the client or of another part of a bench; None if no call sends the same request.

No field more, none less.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from workbench.snippets.calls import CALLS, Call
from workbench.snippets.pieces import call, literal
from workbench.snippets.request import CONTENT_TYPE, Request
from workbench.snippets.written import noted, python_key

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
    patterns, given = row.path.split("/")[1:], request.segments
    if row.method != request.method or len(patterns) != len(given):
        return None
    named = {pattern: text for pattern, text in zip(patterns, given, strict=True) if pattern.startswith("{")}
    if [named.get(each, each) for each in patterns] != given:
        return None
    return {pattern[1:-1]: text for pattern, text in named.items()}


def _arguments(row: Call, request: Request) -> Arguments | None:
    """The arguments of the call; None if it would send something else."""
    parts = (_of_body(row, request.body), _of_query(row, request.query), _of_headers(row, request))
    if request.scheme not in row.schemes or any(part is None for part in parts):
        return None
    arguments = {name: value for part in parts if part for name, value in part.items()}
    complete = arguments.keys() >= {*row.always, *row.needs_query}
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
        if name.lower() == CONTENT_TYPE.lower() and value == "application/json" and request.body is not None:
            continue
        if not row.keyed or name.lower() != _KEY_HEADER:
            return None
        arguments["idempotency_key"] = value
    return arguments


def _fits(row: Call, name: str, value: Any, others: Arguments) -> bool:  # noqa: ANN401  JSON is of any type
    """Whether the call sends an argument unchanged and does not refuse it."""
    # A charge and its refunds are in whole ngwee, the rest in kwacha.
    if name == "amount" and ("charge" in others or row.text == _CHARGE):
        return _is_whole(value)
    if row.text == _ADVANCE:
        return _is_number(value) and value >= 0 and value * 1000 % 1 == 0
    return name not in _FITS or _FITS[name](value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, Decimal)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "amount": _is_number,
    "seconds": _is_whole,
    "limit": _is_whole,
    "payment_method_types": _is_list,
    "enabled_events": _is_list,
    "answers": _is_list,
    "faults": _is_list,
    "pin": _is_text,
    "refresh_token": _is_text,
    "account": lambda value: "," not in value,
}


def _text(row: Call, request: Request, named: Mapping[str, str], arguments: Arguments) -> str | None:
    if any(each in ("", ".", "..") or "/" in each for each in named.values()):
        return None
    uses_client = row.text.startswith("pay.")
    if not uses_client and request.key != "secret_key":
        return None
    head = row.text.format(**{name: literal(each) for name, each in named.items()})
    line = head if row.is_attribute else call(head, _call_arguments(row, named, arguments))
    before = ["from decimal import Decimal", ""] if "Decimal(" in line else []
    if uses_client:
        client = "client" if request.key == "secret_key" else f"client_with({python_key(request.key)})"
        before.append(f"pay = bench.{client}")
    return noted("\n".join([*before, line]))


def _call_arguments(row: Call, named: Mapping[str, str], arguments: Arguments) -> list[str]:
    """The arguments between the brackets, the ids that the text of the call does not hold first."""
    ids = [literal(each) for name, each in named.items() if f"{{{name}}}" not in row.text]
    if row.text == _ADVANCE:
        return [_span(arguments["seconds"])]
    if row.text == _FAULTS:
        return [*(literal(each) for each in arguments.get("faults", ())), f"endpoint={ids[0]}"]
    bare = not row.text.startswith("pay.") or row.text == "pay.auth.refresh"
    return ids + [
        literal(value) if bare and name in _POSITIONAL else f"{name}={literal(value)}"
        for name, value in arguments.items()
    ]


def _span(seconds: Decimal | int) -> str:
    """A span of time in its largest whole unit."""
    for unit, length in _SPANS.items():
        if seconds and seconds % length == 0:
            return f"{unit}={int(seconds // length)}"
    return literal(seconds)
