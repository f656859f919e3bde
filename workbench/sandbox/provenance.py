"""The register's rows that a response relied on, for its header Sandbox-Provenance, and the rows that a run relied on.

The register's column `relied` names, in terms that this module defines, the responses that rely on a row. Only a
response's status, media type and body count, and not its headers or when something happens. The column `happens` finds
in a run's trace what else the run relied on.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, get_args, get_origin

from msgspec import UNSET

from workbench.domain.gaps import REGISTER, Gaps, rows_by
from workbench.domain.money import ISO_4217, ZMW
from workbench.domain.payments import BOUNDS_MAJOR, one_minor, unit_minor
from workbench.domain.phones import COUNTRY_CODE, ZED
from workbench.domain.scenarios import ENDING, SCENARIOS, TEST_NUMBERS
from workbench.domain.wire.keys_and_events import ABOUT, CloudEvent, Event
from workbench.domain.wire.ledger_and_trace import CALL, WEBHOOK, TraceRow
from workbench.domain.wire.payments_and_payouts import CreateCharge, CreatePaymentIntent, PaymentIntent
from workbench.sandbox.operations import ERRORS, Operation
from workbench.sandbox.service import Caller

Rows = tuple[str, ...]
"""Names of rows of the register."""

_DECLINED: Final = 402
_OF_ZED: Final = tuple(f"{before}{prefix}" for before in (COUNTRY_CODE, "0") for prefix in ZED.prefixes)
"""Beginnings of Zed Mobile's numbers, international and national."""
_OF_KEY, _OF_MEMBER, _OF_FAILURE, _OF_WARNING = map(rows_by, ("key", "member", "failure", "warning"))
_SETTLING, _OF_RESPONSE, _OF_CALL = map(rows_by, ("", "response", "call"))
_EVENTS: Final = (Event, CloudEvent)
TRIGGERED: Final = _OF_CALL["test_number"]


@lru_cache(maxsize=4096)
def provenance(operation: Operation, status: int, media_type: str, relied: Rows = (), replayed: bool = False) -> str:  # noqa: FBT001, FBT002  kept by place, which is quicker
    """The header Sandbox-Provenance: `documented` with its sections, `assumed` or `sandbox`, and the rows relied on.

    `relied` are rows that this response relied on, beyond those of every such response. `replayed` is true for a kept
    response, which relies on the rows about replays too.
    """
    is_shown, is_sandboxes = (status, media_type) in operation.shows, operation.source == "sandbox"
    source = f'documented; sections="{operation.source}"' if is_shown else "sandbox" if is_sandboxes else "assumed"
    kind = "success" if status < ERRORS else "error"
    # A success of the sandbox's own operations leaves nothing open.
    is_open = not is_shown and not (is_sandboxes and kind == "success")
    kinds = [operation.source, str(status), *([f"unshown_{kind}"] if is_open else [])]
    kinds += ["replayed", f"replayed_{kind}"] if replayed else []
    rows = {*relied, *operation.gone, *(row for name in kinds for row in _OF_RESPONSE.get(name, ()))}
    if status < ERRORS:
        rows |= {*_SETTLING.get(operation.id, ()), *_of_response(operation.response)}
    return f'{source}; gaps="{" ".join(sorted(rows))}"' if rows else source


def _of_response(response: type) -> Iterator[str]:
    """Yields the rows that decide the members of a response's body, and of the objects that the body lists."""
    yield from _SETTLING.get((get_origin(response) or response).__name__, ())
    for inner in (*get_args(response), *(ABOUT.values() if response in _EVENTS else ())):
        yield from _of_response(inner)


def refused_by(operation: Operation, code: str) -> Rows:
    """The register's rows that decide how a refusal with this error code looks.

    First come rows that concern the code in every operation, then rows that concern it in this operation's body.
    """
    struct = operation.body.__name__ if operation.body else ""
    return _SETTLING.get(code, ()) + _SETTLING.get(f"{struct} {code}", ())


def _is_small_or_large(body: CreatePaymentIntent | CreateCharge, gaps: Gaps) -> bool:
    """True if an amount is outside the bounds that the register offers."""
    least, most = BOUNDS_MAJOR["1_to_20000"]
    code = body.currency.upper()
    is_whole = isinstance(body, CreateCharge) and code in ISO_4217
    scale = one_minor(code) // unit_minor(gaps, code) if is_whole else 1
    return not least * scale <= body.amount <= (most or 0) * scale


def touched_by(gaps: Gaps, caller: Caller, operation: Operation, body: object, result: object = None) -> Rows:
    """The rows that this request relied on, beyond the rows that every request to the operation relies on.

    If `result`, the operation's return value, is given, the rows of `relied_by` follow.
    """
    rows = () if operation.plain_400 else _OF_KEY.get(caller.kind, ())
    if isinstance(body, CreatePaymentIntent | CreateCharge) and _is_small_or_large(body, gaps):
        rows += _OF_CALL["outside_bounds"]
    if isinstance(body, CreatePaymentIntent) and len(body.payment_method_types) > 1:
        rows += _OF_CALL["several_types"]
    if isinstance(body, CreateCharge) and body.reference is None:
        rows += _OF_CALL["no_reference"]
    if operation.phone is not None and caller.scenario is None:
        rows += TRIGGERED if operation.phone(body)[-ENDING:] in TEST_NUMBERS else ()
    return rows if result is None else rows + relied_by(operation, result, body)


def relied_by(operation: Operation, result: object, body: object = None) -> Rows:
    """The rows that this success relied on, beyond the rows that every such response relies on.

    The rows are about a decline, a warning, a wait for a customer, or a request that only the register allows. Without
    the request's `body`, rows that only a request shows are left out.
    """
    rows: Rows = ()
    error = getattr(result, "last_payment_error", None)
    if failure := error.code if error else getattr(result, "failure_code", None):
        rows = _OF_CALL["declined"] if _DECLINED in operation.refuses else ()
        rows += _OF_FAILURE.get(failure, ())
    if warnings := getattr(result, "warnings", None):
        rows += sum((named for text, named in _OF_WARNING.items() if any(text in warning for warning in warnings)), ())
    for item in getattr(result, "data", (result,)):
        for member, named in _OF_MEMBER.items():
            rows += tuple(row for row in named if getattr(item, member, None) and row not in rows)
    currency = getattr(result, "currency", None)
    if currency and currency.upper() != ZMW.code:
        rows += _OF_CALL["other_currency"]
    if operation.phone is not None and body is not None:
        number = operation.phone(body)
        rows += () if number.startswith(COUNTRY_CODE) else _OF_CALL["national_number"]
        rows += _OF_CALL["zed_number"] if number.startswith(_OF_ZED) else ()
    # A response without its amount does not show that the amount was rounded.
    if isinstance(body, CreatePaymentIntent) and isinstance(result, PaymentIntent):
        rows += _OF_CALL["rounded"] if result.amount not in (body.amount, UNSET) else ()
    return rows


# The rows that a run relied on

_OPERATOR_CODES: Final = tuple(
    f'code":"{code}"' for scenario in SCENARIOS.values() for code in (scenario.refusal, scenario.rejection) if code
)
"""Parts of JSON: a body with one of them reports a failure by the operator, not by the customer at the handset."""


def relied_on(trace: Iterable[TraceRow]) -> dict[str, list[str]]:
    """Name of a row of the register → texts of what relied on it, the most frequent first: `POST /v1/charges (3)`.

    The texts are calls, webhooks, or names from the column `happens`; a count above 1 follows in brackets.
    """
    counts: dict[str, Counter[str]] = {}
    for row in trace:
        for name, by in _by_row(row):
            counts.setdefault(name, Counter())[by] += 1
    return {
        name: [by if count == 1 else f"{by} ({count})" for by, count in counted.most_common()]
        for name, counted in counts.items()
    }


def _by_row(row: TraceRow) -> Iterator[tuple[str, str]]:
    """Yields (name of a register row, call or webhook that relied on it) for each register row that `row` shows."""
    own, fault, body, by_scenario = _operation(row.what), "", "", False
    if row.kind == CALL:
        request, response = row.detail["request"], row.detail["response"]
        by_scenario, body = any(name.lower() == "sandbox-scenario" for name in request["headers"]), response["body"]
        header = response["headers"].get("Sandbox-Provenance", "")
        yield from ((name, own) for name in header.partition('gaps="')[2].rstrip('"').split())
    elif row.kind == WEBHOOK:
        own, fault, body = f"webhook {row.what}", row.detail["fault"] or "", row.detail["body"]
        if about := ABOUT.get(row.what.partition(".")[0]):
            yield from ((name, own) for name in _SETTLING.get(about.__name__, ()))
    shown = f"{row.kind} {row.result} {row.what} {fault}"
    for gap in REGISTER:
        pattern, called = gap.happens
        if pattern and re.match(pattern, shown):
            yield gap.name, called or own
    if by_scenario or any(code in body for code in _OPERATOR_CODES):
        yield from ((name, own) for name in TRIGGERED)


def _operation(called: str) -> str:
    """A call's method and path, without its query and with `…` for each id."""
    path = called.partition("?")[0].split("/")
    return "/".join("…" if "_" in part and any(map(str.isupper, part)) else part for part in path)
