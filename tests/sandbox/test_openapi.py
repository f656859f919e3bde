"""The description: it is valid, it is all that is routed, and it tells the documented from the assumed."""

import json
import re
from collections import defaultdict
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from workbench.domain.gaps import REGISTER, Gaps
from workbench.domain.webhooks import EVENT_TYPES
from workbench.sandbox import control, operations
from workbench.sandbox.openapi import document, examples

Document = dict[str, Any]

TABLE = (*operations.OPERATIONS, *control.OPERATIONS)
ROUTED = [(row.method.lower(), row.path) for row in TABLE]
ALTERNATIVES = [(gap.name, value) for gap in REGISTER for value in gap.alternatives]


def described(gaps: Gaps | None = None) -> Document:
    return json.loads(json.dumps(document(gaps or Gaps())))


DOCUMENT = described()
OPERATIONS = {(method, path): each for path, item in DOCUMENT["paths"].items() for method, each in item.items()}
SCHEMAS = DOCUMENT["components"]["schemas"]


def at(method: str, path: str) -> Document:
    return OPERATIONS[method, path]


def names(operation: Document, place: str) -> dict[str, Document]:
    return {each["name"]: each for each in operation["parameters"] if each["in"] == place}


class TestTheWhole:
    def test_it_is_valid_and_what_is_wrong_is_found(self):
        assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []
        broken = {**DOCUMENT, "paths": {}, "components": {"schemas": {"Plant": {"type": "thing"}}}}
        assert list(OpenAPIV31SpecValidator(broken).iter_errors())

    @pytest.mark.parametrize(
        "choices",
        [{}, *({"error_format": each} for each in ("plain", "envelope")), {"success_status": "201_created"},
         {"declined_status": "200", "reused_key_status": 409, "intent_fields": "minimal", "version_header": "none"}],
        ids=str,
    )  # fmt: skip
    def test_every_reference_leads_somewhere(self, choices: dict[str, object]):
        assert unresolved(described(Gaps.chosen(choices))) == []

    @pytest.mark.thorough
    def test_a_field_is_described_by_the_rows_in_force(self):
        strict = described(Gaps(currency_case="strict", payment_method_types="only"))["components"]["schemas"]
        asked = [each["CreatePaymentIntent"]["properties"] for each in (SCHEMAS, strict)]
        assert [each["currency"].get("const") for each in asked] == [None, "ZMW"]
        assert [each["payment_method_types"]["items"] for each in asked] == [
            {"type": "string"},
            {"const": "mobile_money"},
        ]

    @pytest.mark.parametrize(("name", "value"), ALTERNATIVES)
    def test_it_is_valid_with_every_alternative_of_the_register(self, name: str, value: object):
        other = described(Gaps.chosen({name: value}))
        assert unresolved(other) == []
        if other != DOCUMENT:
            assert [error.message for error in OpenAPIV31SpecValidator(other).iter_errors()] == []

    def test_no_component_is_unused(self):
        used = set(re.findall(r'"#/components/(\w+/[\w-]+)"', json.dumps(DOCUMENT)))
        groups = {group: each for group, each in DOCUMENT["components"].items() if group != "securitySchemes"}
        there = {f"{group}/{name}" for group, members in groups.items() for name in members}
        assert there - used == {"responses/Refusal405"}  # no described method is answered so; the others are

    def test_it_is_the_same_each_time_in_the_order_of_the_tables_and_names_no_other_host(self):
        assert json.dumps(document(Gaps())) == json.dumps(document(Gaps()))
        assert list(DOCUMENT["paths"]) == list(dict.fromkeys(path for _, path in ROUTED))
        assert re.findall(r"https?://(?!127\.0\.0\.1)[\w.]+", json.dumps(DOCUMENT)) == []


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
            each = at(row.method.lower(), row.path)
            assert each["summary"].endswith("."), row.path
            assert each["tags"][0] in tags, row.path
            assert set(names(each, "path")) == set(re.findall(r"\{(\w+)\}", row.path))
            assert set(names(each, "query")) == (set(row.query.__struct_fields__) if row.query else set())
            assert ("requestBody" in each) == (row.body is not None), row.path
            assert {"200", "400", "401", "500"} <= each["responses"].keys(), row.path
            schemes = [{"bearerAuth": []} if name == "Bearer" else {"basicAuth": []} for name in row.schemes]
            assert each["security"] == schemes
            assert ("403" in each["responses"]) == bool(row.schemes), row.path
            # What can be asked to go wrong.
            scenario = names(each, "header").get("Sandbox-Scenario", {"schema": {"enum": []}})
            assert scenario["schema"]["enum"] == list(dict.fromkeys(row.scenarios)), row.path

    def test_a_charge_needs_an_idempotency_key(self):
        assert names(at("post", "/v1/charges"), "header")["Idempotency-Key"]["required"]
        free = described(Gaps.chosen({"idempotency_required": "never"}))["paths"]["/v1/charges"]["post"]
        assert "required" not in names(free, "header")["Idempotency-Key"]

    def test_keys_count_on_these(self):
        counting = {path for (_, path), each in OPERATIONS.items() if "Idempotency-Key" in names(each, "header")}
        assert counting == {row.path for row in TABLE if row.takes_keys}
        assert {"/v1/charges", "/v1/refunds", "/plants", "/v1/api_keys"} <= counting
        says = {path: names(at("post", path), "header")["Idempotency-Key"]["description"] for path in counting}
        assert all("to the byte" in each for each in says.values())
        assert ["is without it" in says[path] for path in ("/v1/api_keys", "/v1/charges")] == [True, False]
        assert "/v1/auth/token" not in counting

    def test_a_link_leads_to_an_operation_that_takes_it(self):
        by_id = {each["operationId"]: each for each in OPERATIONS.values()}
        for identifier, link in [(row.id, link) for row in TABLE for link in row.links]:
            leads = by_id[identifier]["responses"]["200"]["links"][link.name]
            target = by_id[leads["operationId"]]
            assert set(leads.get("parameters", {})) <= {each["name"] for each in target["parameters"]}, identifier

    def test_the_plant_store_answers_the_documented_error(self):
        answer = at("post", "/plants")["responses"]["400"]["$ref"].rpartition("/")[2]
        assert DOCUMENT["components"]["responses"][answer]["content"]["application/json"]["schema"] == {
            "$ref": "#/components/schemas/PlantError"
        }

    def test_a_gap_shows(self):
        gaps = Gaps.chosen({"success_status": "201_created", "error_format": "plain", "declined_status": "200"})
        charge = described(gaps)["paths"]["/v1/charges"]["post"]["responses"]
        assert "201" in charge
        assert not {"200", "402"} & charge.keys()
        refused = described(gaps)["components"]["responses"]["Refusal400"]
        assert list(refused["content"]) == ["application/json"]

    @pytest.mark.parametrize(("error_format", "shape"), [("plain", "PlantError"), ("envelope", "Envelope")])
    def test_an_error_has_the_shape_in_force(self, error_format: str, shape: str):
        other = described(Gaps.chosen({"error_format": error_format}))["components"]
        refusal = other["responses"]["Refusal404"]["content"]["application/json"]
        assert refusal["schema"] == {"$ref": f"#/components/schemas/{shape}"}
        assert set(refusal["example"]) == set(other["schemas"][shape]["required"])
        assert "Problem" not in other["schemas"]

    def test_a_reused_key_is_answered_as_chosen(self):
        for status in (400, 409):
            charge = described(Gaps.chosen({"reused_key_status": status}))["paths"]["/v1/charges"]["post"]["responses"]
            assert "422" not in charge
            assert str(status) in charge

    def test_without_a_version_header_there_is_none(self):
        other = described(Gaps.chosen({"version_header": "none"}))
        assert "Api-Version" not in other["components"]["headers"]
        assert unresolved(other) == []
        operations_ = [each for item in other["paths"].values() for each in item.values()]
        assert "Api-Version" not in {header["name"] for each in operations_ for header in each.get("parameters", [])}


class TestExamples:
    def test_every_body_has_some(self):
        assert set(examples.REQUESTS) == {row.body.__name__ for row in TABLE if row.body}

    def test_no_key_or_token_is_among_them(self):
        assert not re.search(r"[sp]k_(test|live)_\w{6}|whsec_\w|_secret_[0-9A-Z]", json.dumps(DOCUMENT))


class TestWebhooks:
    def test_every_type_of_event_has_one_that_tells_headers_and_answers(self):
        assert list(DOCUMENT["webhooks"]) == list(EVENT_TYPES)
        for webhook in DOCUMENT["webhooks"].values():
            each = webhook["post"]
            assert list(names(each, "header")) == ["webhook-id", "webhook-timestamp", "webhook-signature"]
            assert {"2XX", "410"} <= each["responses"].keys()
            assert each["security"] == []
            assert each["x-provenance"] == "assumed"


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
    ("post", "/v1/payment_intents"): "2.1, 4",
    ("post", "/v1/payment_intents/{intent_id}/confirm"): "2.2, 4",
    ("post", "/v1/charges"): "2.3, 4",
    ("post", "/plants"): "2.4, 4",
    ("post", "/v1/auth/token"): "4, 5",
    ("post", "/v1/auth/refresh"): "4, 5",
}


class TestProvenance:
    def test_the_fields_that_the_interface_shows_are_marked_documented_and_no_others(self):
        marked: dict[tuple[str, str], set[str]] = defaultdict(set)
        for component, schema in SCHEMAS.items():
            for name, each in schema["properties"].items():
                if each["x-provenance"] == "documented":
                    marked[each["x-section"], component].add(name)
        assert marked == INTERFACE

    def test_every_other_field_names_the_section_that_leaves_it_open_or_is_the_sandboxes_own(self):
        for schema in SCHEMAS.values():
            for each in schema["properties"].values():
                assert each["x-provenance"] in {"documented", "assumed", "sandbox"}
                assert ("x-section" in each) == (each["x-provenance"] != "sandbox")

    def test_the_types_of_documented_fields_are_the_documented_ones(self):
        assert SCHEMAS["CreatePaymentIntent"]["properties"]["amount"]["type"] == "number"
        assert SCHEMAS["CreateCharge"]["properties"]["amount"]["type"] == "integer"
        assert SCHEMAS["Charge"]["properties"]["amount"]["type"] == "integer"
        assert SCHEMAS["NewPlant"]["properties"]["id"]["format"] == "int64"
        assert SCHEMAS["PlantError"]["properties"]["error"]["format"] == "int32"

    def test_the_documented_operations_are_these(self):
        shown = {key: each["x-section"] for key, each in OPERATIONS.items() if each["x-provenance"] == "documented"}
        assert shown == ENDPOINTS

    def test_the_panel_is_the_sandboxes_own_and_nothing_else_is(self):
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
