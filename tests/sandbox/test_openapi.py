"""The description: it is valid, it is all that is routed, and it tells the documented from the assumed."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from workbench.domain.gaps import REGISTER, Gaps
from workbench.sandbox import controls, operations
from workbench.sandbox.openapi.document import document

Document = dict[str, Any]

TABLE = (*operations.OPERATIONS, *controls.OPERATIONS)
ROUTED = [(row.method.lower(), row.path) for row in TABLE]
ALTERNATIVES = [{gap.name: value} for gap in REGISTER for value in gap.alternatives]
SWITCHED = [gap for gap in REGISTER if gap.alternatives]
TOGETHER = [
    {gap.name: [*gap.alternatives][min(place, len(gap.alternatives) - 1)] for gap in SWITCHED}
    for place in range(max(len(gap.alternatives) for gap in SWITCHED))
]
"""Every alternative, in as few documents as rows have alternatives."""
PLACES = [f"choice {place}" for place in range(len(TOGETHER))]


@cache
def described(**choices: object) -> Document:
    return json.loads(json.dumps(document(Gaps.chosen(choices))))


DOCUMENT = described()
SCHEMA = "#/components/schemas/"
OPERATIONS = {(method, path): each for path, item in DOCUMENT["paths"].items() for method, each in item.items()}
SCHEMAS = DOCUMENT["components"]["schemas"]


def names(operation: Document, place: str) -> dict[str, Document]:
    return {each["name"]: each for each in operation["parameters"] if each["in"] == place}


class TestTheWhole:
    @pytest.mark.thorough
    def test_it_is_valid_and_what_is_wrong_is_found(self):
        assert errors_of(DOCUMENT) == unresolved(DOCUMENT) == []
        assert errors_of({**DOCUMENT, "paths": {}, "components": {"schemas": {"Plant": {"type": "thing"}}}})

    @pytest.mark.parametrize(
        "choices",
        [*TOGETHER, *(pytest.param(each, marks=pytest.mark.thorough) for each in ALTERNATIVES)],
        ids=[*PLACES, *map(str, ALTERNATIVES)],
    )
    def test_it_is_valid_with_every_alternative_of_the_register(self, choices: dict[str, object]):
        other = described(**choices)
        assert unresolved(other) == []
        # Paths and webhooks that are as before are valid as before.
        changed = {
            part: {name: each for name, each in other[part].items() if each != DOCUMENT[part].get(name)}
            for part in ("paths", "webhooks")
        }
        assert other == DOCUMENT or errors_of({**other, **changed}) == []

    def test_a_description_is_markdown_without_the_margin_of_its_docstring(self):
        texts = [each["description"] for each in schemas_in(DOCUMENT) if isinstance(each.get("description"), str)]
        assert [text for text in texts if re.search("^    ", text, re.MULTILINE)] == []

    def test_no_component_is_unused(self):
        used = set(re.findall(r'"#/components/(\w+/[\w-]+)"', json.dumps(DOCUMENT)))
        groups = {group: each for group, each in DOCUMENT["components"].items() if group != "securitySchemes"}
        there = {f"{group}/{name}" for group, members in groups.items() for name in members}
        assert there - used == {"responses/Refusal405"}  # no described method is answered so; the others are

    def test_it_is_the_same_each_time_in_the_order_of_the_tables_and_names_no_other_host_and_no_key(self):
        assert json.dumps(DOCUMENT) == json.dumps(document(Gaps()))
        assert list(DOCUMENT["paths"]) == list(dict.fromkeys(path for _, path in ROUTED))
        assert not re.search(r"[sp]k_(test|live)_\w{6}|whsec_\w|_secret_[0-9A-Z]", json.dumps(DOCUMENT))
        assert re.findall(r"https?://(?!127\.0\.0\.1)[\w.]+", json.dumps(DOCUMENT)) == []


def errors_of(tree: Document) -> list[str]:
    return [error.message for error in OpenAPIV31SpecValidator(tree).iter_errors()]


def schemas_in(tree: Any) -> Iterator[Document]:  # noqa: ANN401  JSON
    """Every object of JSON in a tree."""
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from schemas_in(each)


def unresolved(tree: Document) -> list[str]:
    found = []
    for reference in re.findall(r'"#/([^"]+)"', json.dumps(tree)):
        place: Any = tree
        for step in reference.split("/"):
            place = place.get(step) if isinstance(place, dict) else None
        if place is None:
            found.append(reference)
    return found


class TestOperations:
    def test_all_that_is_routed_is_described_and_nothing_else(self):
        assert set(OPERATIONS) == set(ROUTED)
        assert len({each["operationId"] for each in OPERATIONS.values()}) == len(ROUTED)
        tags = {tag["name"] for tag in DOCUMENT["tags"]}
        for row in TABLE:
            each = OPERATIONS[row.method.lower(), row.path]
            assert each["summary"].endswith("."), row.path
            assert each["tags"][0] in tags, row.path
            assert set(names(each, "path")) == set(re.findall(r"\{(\w+)\}", row.path))
            assert set(names(each, "query")) == (set(row.query.__struct_fields__) if row.query else set())
            assert ("requestBody" in each) == (row.body is not None), row.path
            assert {"200", "400", "401", "500"} <= each["responses"].keys(), row.path
            schemes = [{"bearerAuth": []} if name == "Bearer" else {"basicAuth": []} for name in row.schemes]
            assert each["security"] == schemes
            assert ("403" in each["responses"]) == bool(row.schemes), row.path
            assert ("Idempotency-Key" in names(each, "header")) == row.takes_keys, row.path
            # What can be asked to go wrong.
            scenario = names(each, "header").get("Sandbox-Scenario", {"schema": {"enum": []}})
            assert scenario["schema"]["enum"] == list(dict.fromkeys(row.scenarios)), row.path

    def test_a_charge_needs_an_idempotency_key(self):
        assert names(OPERATIONS["post", "/v1/charges"], "header")["Idempotency-Key"]["required"]
        free = described(idempotency_required="never")["paths"]["/v1/charges"]["post"]
        assert "required" not in names(free, "header")["Idempotency-Key"]

    def test_a_link_leads_to_an_operation_that_takes_it(self):
        by_id = {each["operationId"]: each for each in OPERATIONS.values()}
        for identifier, link in [(row.id, link) for row in TABLE for link in row.links]:
            leads = by_id[identifier]["responses"]["200"]["links"][link.name]
            target = by_id[leads["operationId"]]
            # A body of a link is one value as a whole: of one field of it, generators of clients say that it is wrong.
            assert {*leads} == {"operationId", "parameters"}
            assert set(leads["parameters"]) <= {each["name"] for each in target["parameters"]}, identifier

    def test_a_gap_shows(self):
        waits = described(charge_wait="accepted")["paths"]["/v1/charges"]["post"]["responses"]
        assert "202" in waits
        assert not {"200", "201", "402"} & waits.keys(), "whoever is waited for declines later"
        of_intent = described(currencies="iso4217")["components"]["schemas"]["CreateRefund"]["then"]["oneOf"][1]
        assert str(of_intent["properties"]["amount"]["multipleOf"]) == "0.0001"
        assert '"name": "Api-Version"' in json.dumps(DOCUMENT)
        assert '"name": "Api-Version"' not in json.dumps(described(version_header="none"))
        strict = described(currency_case="strict")["components"]["schemas"]["CreatePaymentIntent"]["properties"]
        assert strict["currency"]["const"] == "ZMW"

    def test_an_error_has_the_shape_in_force(self):
        for error_format, shape in (("plain", "PlantError"), ("envelope", "Envelope")):
            other = described(error_format=error_format)["components"]
            ((media_type, refusal),) = other["responses"]["Refusal404"]["content"].items()
            assert media_type == "application/json"
            assert refusal["schema"] == {"$ref": f"#/components/schemas/{shape}"}
            assert set(refusal["example"]) == set(other["schemas"][shape]["required"])


class TestWebhooks:
    def test_they_share_no_group_with_operations_or_one_would_take_the_file_of_the_other_in_a_generated_client(self):
        sent = {each["post"]["tags"][0] for each in DOCUMENT["webhooks"].values()}
        called = {each["tags"][0] for each in OPERATIONS.values()}
        assert sent | called == {tag["name"] for tag in DOCUMENT["tags"]}
        assert not sent & called


# The tables of the interface, sections 2.1 to 2.4, by the component that carries each.
INTERFACE = {
    ("2.1", "CreatePaymentIntent"): {"amount", "currency", "payment_method_types", "description"},
    ("2.1", "PaymentIntent"): {"id", "client_secret"},
    ("2.2", "ConfirmPaymentIntent"): {"payment_method"},
    ("2.2", "MobileMoneyMethod"): {"type", "mobile_money"},
    ("2.2", "MobileMoney"): {"phone", "provider"},
    ("2.3", "CreateCharge"): {"amount", "currency", "type", "channel", "phone", "reference"},
    ("2.3", "Charge"): {"id", "status", "amount", "currency", "channel", "provider"},
    ("2.4", "NewPlant"): {"id", "name", "tag"},
    ("2.4", "Plant"): {"name", "tag"},
    ("2.4", "PlantError"): {"error", "message"},
    ("4", "TokenRequest"): {"email", "password"},
}
# Section 4: the six endpoints.
ENDPOINTS = {
    ("post", "/v1/payment_intents"): "2.1, 4", ("post", "/v1/payment_intents/{intent_id}/confirm"): "2.2, 4",
    ("post", "/v1/charges"): "2.3, 4", ("post", "/plants"): "2.4, 4",
    ("post", "/v1/auth/token"): "4, 5", ("post", "/v1/auth/refresh"): "4, 5",
}  # fmt: skip


class TestProvenance:
    def test_the_fields_that_the_interface_shows_are_marked_documented_and_no_others(self):
        marked: dict[tuple[str, str], set[str]] = defaultdict(set)
        for component, schema in SCHEMAS.items():
            for name, each in schema["properties"].items():
                assert each["x-provenance"] in {"documented", "assumed", "sandbox"}
                # What is not shown names the section that leaves it open, or is the sandbox's own.
                assert ("x-section" in each) == (each["x-provenance"] != "sandbox")
                if each["x-provenance"] == "documented":
                    marked[each["x-section"], component].add(name)
        assert marked == INTERFACE

    def test_the_documented_operations_are_these_and_the_panel_is_the_sandboxes_own(self):
        shown = {key: each["x-section"] for key, each in OPERATIONS.items() if each["x-provenance"] == "documented"}
        assert shown == ENDPOINTS
        own = {path for (_, path), each in OPERATIONS.items() if each["x-provenance"] == "sandbox"}
        assert own == {path for _, path in ROUTED if path.startswith("/sandbox/")}

    def test_of_the_headers_one_is_documented(self):
        shown = {
            (path, header["name"], header["x-section"])
            for (_, path), each in OPERATIONS.items()
            for header in names(each, "header").values()
            if header["x-provenance"] == "documented"
        }
        assert shown == {("/v1/charges", "Idempotency-Key", "2.3")}
