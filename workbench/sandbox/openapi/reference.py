"""What the page of operations shows beside the description: the calls to copy, and the rows that each relies on."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from workbench.domain.gaps import Gaps
from workbench.sandbox import control
from workbench.sandbox.messages import JSON
from workbench.sandbox.openapi import examples
from workbench.sandbox.operations import in_force
from workbench.sandbox.provenance import provenance
from workbench.snippets import Snippet, snippet

Schema = dict[str, Any]
_GIVEN: Final = {"phone": "+260960000001", "operation_id": "createCharge", "account": "operator:mtn:float",
                 "Idempotency-Key": "order-1"}  # fmt: skip
"""Parameters whose example is in no response."""
_IDS: Final = {"request_id": r"\breq_[0-9A-Za-z]{24}\b"}
_ROWS: Final = re.compile('gaps="([^"]+)"')


def shown(described: Schema, gaps: Gaps, base_url: str) -> dict[str, Any]:
    """The groups with their operations as (method, path, operation); calls and rows of the register by operation."""
    listed = [*_operations(described)]
    table = (*in_force(gaps), *control.OPERATIONS)
    groups = {tag["name"]: [each for each in listed if tag["name"] in each[2]["tags"]] for tag in described["tags"]}
    return {
        # Events have a section of their own.
        "groups": {name: operations for name, operations in groups.items() if operations},
        "calls": {each["operationId"]: _call(method, path, each, base_url) for method, path, each in listed},
        "rows": {
            row.id: " ".join(_ROWS.findall(provenance(row, row.success, JSON))).split() for row in table if not row.gone
        },
    }


def by_section(described: Schema) -> Mapping[str, list[str]]:
    """The operations that each section of the interface describes or leaves open."""
    found: dict[str, list[str]] = {}
    for _, _, operation in _operations(described):
        for section in filter(None, operation.get("x-section", "").split(", ")):
            found.setdefault(section, []).append(operation["operationId"])
    return found


def _operations(described: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, item in described["paths"].items():
        yield from ((method.upper(), path, operation) for method, operation in item.items())


def _call(method: str, path: str, operation: Schema, base_url: str) -> Snippet:
    """The call of the operation's first example, with the ids of the run that its response is from."""
    response = str(examples.of_a_run()[operation["operationId"]])
    needed = {each["name"]: each["in"] for each in operation.get("parameters", ()) if each.get("required")}
    ids = {name: re.search(_IDS.get(name, r"\b[a-z]+_[0-9A-Za-z]{24}\b"), response) for name in needed}
    given = {name: _GIVEN.get(name) or (found[0] if found else "") for name, found in ids.items()}
    parts = {place: {name: given[name] for name in needed if needed[name] == place} for place in ("query", "header")}
    sent = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("examples", {})
    body = next((each["value"] for each in sent.values()), None)
    address = re.sub(r"{(\w+)}", lambda found: given[found[1]], path)
    return snippet(method, address, body, query=parts["query"], headers=parts["header"], base_url=base_url)
