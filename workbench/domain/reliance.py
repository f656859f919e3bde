"""Finds in a run's trace the rows of the register that the run relied on."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from workbench.domain.gaps import REGISTER, rows_settling
from workbench.domain.scenarios import SCENARIOS
from workbench.domain.wire.keys_and_events import ABOUT
from workbench.domain.wire.ledger_and_trace import CALL, WEBHOOK, TraceRow

_OPERATOR_CODES: Final = tuple(
    f'code":"{code}"' for scenario in SCENARIOS.values() for code in (scenario.refusal, scenario.rejection) if code
)
"""Pieces of JSON: a body with one of them has a failure by the operator, not by the customer at the handset."""


def _failed_by_request(row: TraceRow) -> bool:
    if row.kind not in {CALL, WEBHOOK}:
        return False
    body = row.detail["body"] if row.kind == WEBHOOK else row.detail["response"]["body"]
    asked = row.kind == CALL and any(name.lower() == "sandbox-scenario" for name in row.detail["request"]["headers"])
    return asked or any(code in body for code in _OPERATOR_CODES)


def relied_on(trace: Iterable[TraceRow]) -> dict[str, list[str]]:
    """Name of a row of the register → texts of what relied on it, the most frequent first: `POST /v1/charges (3)`.

    They are calls, webhooks and the names in `Gap.happens`, each with its count, unless that is 1.
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
    """Yields (row of the register, what relied on it), both by name, for each row of the register that `row` shows."""
    own = f"webhook {row.what}" if row.kind == WEBHOOK else _operation(row.what)
    if row.kind == CALL:
        said = row.detail["response"]["headers"].get("Sandbox-Provenance", "")
        yield from ((name, own) for name in said.partition('gaps="')[2].rstrip('"').split())
    if row.kind == WEBHOOK and (about := ABOUT.get(row.what.partition(".")[0])):
        yield from ((name, own) for name in rows_settling(about.__name__))
    fault = row.detail["fault"] or "" if row.kind == WEBHOOK else ""
    shown = f"{row.kind} {row.result} {row.what} {fault}"
    for gap in REGISTER:
        pattern, called = gap.happens
        if pattern and re.match(pattern, shown):
            yield gap.name, called or own
    if _failed_by_request(row):
        yield "failure_triggers", own


def _operation(called: str) -> str:
    """A call without its query, and with `…` in place of the ids in its path."""
    path = called.partition("?")[0].split("/")
    return "/".join("…" if "_" in part and any(map(str.isupper, part)) else part for part in path)
