"""Builds the OpenAPI 3.1 document from the tables of operations and the request and response structs.

`document.toml` has its texts. `examples.json` has the responses and events of a seeded run, with secrets masked; a test
repeats the run and compares.
"""

import re
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from inspect import cleandoc
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType

from workbench.domain import scenarios
from workbench.domain.catalogue import CODES
from workbench.domain.gaps import PAGE, Gaps, link_to
from workbench.domain.webhooks import SENT_AS
from workbench.domain.wire.base import PATHS, FieldSource, ListQuery, Schema, View, to_json
from workbench.domain.wire.keys_and_events import API_VERSION, MEDIA_TYPES, CloudEvent, Event, PlantError
from workbench.domain.wire.payments_and_payouts import PaymentIntent
from workbench.errors import FieldProblem, RateLimited, ServiceUnavailable, StorageFull
from workbench.sandbox import controls, operations
from workbench.sandbox.exchange import KEY
from workbench.sandbox.messages import ERROR_FORMATS, JSON
from workbench.sandbox.operations import ANY_POST, Operation
from workbench.sandbox.service.webhooks import PAYLOADS

Json = Any
_TEXT: Final[Schema] = {"type": "string"}
_GENERIC: Final = re.compile(r"(List|NumberedList|Rows|Page)_(.+)_")
_ROWS_OF_ANYTHING: Final = "dict_str__typing.Any_"
_UNREQUESTED: Final = (Event, PlantError)
"""Structs of bodies that no operation returns: those of webhooks, and the documented error."""
EXAMPLES: Final = "examples.json"
_SHAPES_BY_DEFAULT: Final = {operation.id: operation.response for operation in operations.OPERATIONS}
_SHAPES: Final = {"problem": "Problem", "plain": "PlantError", "envelope": "Envelope"}
"""Value of the register's `error_format` → the name of the error's component."""
_ALWAYS: Final = ("Request-Id", "Sandbox-Provenance", "Api-Version")
_EVENTS_OF_RUN: Final = (Gaps().event_types, Gaps().event_payload)


@cache
def parts() -> Schema:
    """The description's texts and example requests, from `document.toml`."""
    text = files(__package__).joinpath("document.toml").read_text("utf-8")
    return tomllib.loads(text.replace("{version}", API_VERSION).replace("{page}", PAGE))


def _in_force(name: str, gaps: Gaps) -> dict[str, Schema]:
    """The parts in the table `name` of `document.toml` that apply with this register, by their names.

    A part does not apply if the row of the register in its `needs` has the value `none`.
    """
    return {key: part for key, part in parts()[name].items() if getattr(gaps, part.get("needs", ""), "") != "none"}


@cache
def examples_of_run() -> dict[str, Schema]:
    """Examples from a run with a fixed seed: operation id → its response as JSON types, and event type → an event."""
    return msgspec.json.decode(files(__package__).joinpath(EXAMPLES).read_bytes(), type=dict[str, Schema])


def offered(gaps: Gaps) -> list[Operation]:
    """The operations that the description of a sandbox with this register has, including those below `/sandbox`."""
    return [row for row in (*operations.in_force(gaps), *controls.OPERATIONS) if not row.gone]


def document(gaps: Gaps, deprecated: frozenset[str] = frozenset()) -> Schema:
    """The description of a sandbox with this register; `deprecated` has the ids of deprecated operations."""
    table = offered(gaps)
    paths: Schema = {}
    for row in table:
        paths.setdefault(row.path, {})[row.method.lower()] = _described_operation(row, gaps, deprecated)
    refused, plant = _in_force("refusals", gaps), parts()["plant"]
    of_plants = {"schema": _reference_to("PlantError"), "example": plant["example"]}
    whole = {
        **parts()["whole"],
        "tags": [{"name": group["name"], "description": group["says"]} for group in parts()["groups"]],
        "paths": paths,
        "webhooks": {
            event_type: {"post": _described_webhook(happens, event_type, gaps)}
            for happens, event_type in SENT_AS[gaps.event_types].items()
        },
        "components": {
            "securitySchemes": parts()["security"],
            "schemas": {
                **_request_components([row.body for row in table if row.body is not None], gaps),
                **_response_components(table, gaps),
                **_error_components(gaps),
            },
            "responses": {
                **{f"Refusal{status}": _refusal(status, part, gaps) for status, part in refused.items()},
                "PlantRefusal400": _response(plant["means"], _ALWAYS, JSON, of_plants, gaps),
            },
            "headers": {
                name: {
                    "description": part["says"],
                    "required": not part.get("sometimes"),
                    "schema": _TEXT | {"pattern": part["pattern"]},
                }
                for name, part in _in_force("headers", gaps).items()
            },
        },
    }
    # Turns bounds, which are decimals in the domain, into numbers of JSON.
    return msgspec.json.decode(to_json(whole), type=Schema)


def _described_operation(operation: Operation, gaps: Gaps, deprecated: frozenset[str]) -> Schema:
    # The docstring of `run` has the path before the summary.
    first, _, paragraphs_text = (operation.says or (operation.run.__doc__ or "").partition(": ")[2]).partition("\n")
    paragraphs = (" ".join(part.split()).partition("Raises ")[0].strip() for part in paragraphs_text.split("\n\n"))
    everywhere = operation.schemes and gaps.auth_schemes != "as_documented"
    schemes = operations.EITHER if everywhere else operation.schemes
    groups = (part["name"] for part in parts()["groups"] if operation.path.startswith(tuple(part["paths"])))
    body: Schema = {}
    if operation.body is not None:
        name = operation.body.__name__
        content = {"schema": _reference_to(name), "examples": parts()["requests"][name]}
        # A refresh may leave out the body only with a bearer in the header, which is not described.
        optional = operation.body_optional and operation.schemes != operations.NO_KEY
        body = {"required": not optional, "content": {JSON: content}}
    described: Schema = {
        "operationId": operation.id,
        "summary": first[:1].upper() + first[1:],
        "description": "\n\n".join(filter(None, paragraphs)),
        "deprecated": operation.id in deprecated,
        "tags": [next(groups)],
        "security": [{f"{scheme.lower()}Auth": []} for scheme in schemes],
        "parameters": [*_parameters(operation, gaps)],
        "requestBody": body,
        "responses": _responses(operation, gaps),
        **_source_of(operation),
    }
    return {name: value for name, value in described.items() if value or name == "security"}


def _parameters(operation: Operation, gaps: Gaps) -> Iterator[Schema]:
    """The parameters of a request: in its path, its query and its headers."""
    source = _source_of(operation)
    for name in re.findall(r"{(\w+)}", operation.path):
        says, schema = _annotated(PATHS[name], gaps)
        yield _parameter("path", name, says, _TEXT | schema, source, required=True)
    for name, says, schema in _query_parameters(operation.query, gaps) if operation.query else ():
        yield _parameter("query", name, says, schema, source)
    if operation.takes_keys:
        yield _idempotency_key(operation, gaps)
    if operation.scenarios:
        offered = [*dict.fromkeys(operation.scenarios)]
        of_operator = any(name in scenarios.SCENARIOS or name not in ANY_POST for name in offered)
        kinds = "the operator's answers" if of_operator else "faults of the service"
        says = parts()["texts"]["scenario"].format(kinds=kinds)
        yield _parameter("header", "Sandbox-Scenario", says, _TEXT | {"enum": offered}, _open_in(""))
    if gaps.version_header == "api_version":
        version = _TEXT | {"enum": [API_VERSION]}
        yield _parameter("header", "Api-Version", "The version asked for.", version, _open_in("9"))


def _idempotency_key(operation: Operation, gaps: Gaps) -> Schema:
    texts = parts()["texts"]
    says = texts["idempotency_key"].format(retention_s=gaps.idempotency_retention_s)
    says += texts["shown_once"] if operation.no_store else ""
    source = _documented("2.3") if operation.needs_idempotency_key else _open_in("8")
    key = _parameter("header", "Idempotency-Key", says, _TEXT | {"pattern": f"^({KEY.pattern})$"}, source)
    is_required = operation.needs_idempotency_key and gaps.idempotency_required == "charges"
    return key | ({"required": True} if is_required else {})


def _parameter(place: str, name: str, says: str, schema: Schema, source: Schema, *, required: bool = False) -> Schema:
    return {
        "name": name,
        "in": place,
        **({"required": True} if required else {}),
        "description": says,
        **({"style": "form", "explode": False} if schema["type"] == "array" else {}),
        # A parameter has no link of its own; its schema may.
        "schema": schema | {key: value for key, value in source.items() if key == "externalDocs"},
        **{key: value for key, value in source.items() if key != "externalDocs"},
    }


def _described_webhook(happens: str, event_type: str, gaps: Gaps) -> Schema:
    family, _, happened = event_type.partition(".")
    words = event_type.replace(".", "_").split("_")
    schema = _reference_to("".join(word.capitalize() for word in happens.partition(".")[0].split("_")))
    members = {"type": {"const": event_type}, "data": {"properties": {"object": schema}}}
    content = {
        "schema": {"allOf": [_reference_to("Event"), {"properties": members}]},
        "example": _example_event(happens, gaps),
    }
    texts, source = parts()["texts"], _open_in("6")
    failed = texts["failed"].format(waits=", ".join(map(str, gaps.retry_schedule_s)))
    failed += texts["dead_letter_dropped"] if gaps.dead_letter == "dropped" else ""
    return {
        "operationId": "on" + "".join(word.capitalize() for word in words),
        "summary": f"{family.replace('_', ' ').capitalize()}: {happened.replace('_', ' ')}",
        "tags": [parts()["groups"][-1]["name"]],
        "security": [],
        "parameters": [
            _parameter("header", row["name"], row["says"], _TEXT | {"pattern": row["pattern"]}, source, required=True)
            for row in parts()["signatures"][gaps.signature_scheme]
        ],
        "requestBody": {"required": True, "content": {MEDIA_TYPES[gaps.event_payload]: content}},
        "responses": {
            "2XX" if gaps.delivery_success == "2xx" else "200": {
                "description": texts["received"].format(timeout_s=gaps.delivery_timeout_s)
            },
            "410": {"description": texts["gone_disables" if gaps.delivery_gone == "disables" else "gone_is_retried"]},
            "default": {"description": failed},
        },
        **source,
    }


def _responses(operation: Operation, gaps: Gaps) -> Schema:
    """The responses of an operation by status: its success, and every error that it can return."""
    # A cursor may name no row.
    is_paged = operation.query is not None and issubclass(operation.query, ListQuery)
    is_limited = gaps.rate_limit != "none" and _counts(operation)
    comes = (
        (403, bool(operation.schemes)),
        (404, "_id}" in operation.path or is_paged),
        (409, bool(operation.scenarios)),
        (413, not operation.plain_400),
        (415, operation.body is not None and not operation.plain_400),
        (gaps.reused_key_status, operation.takes_keys),
        (RateLimited.status, is_limited),
        (StorageFull.status, operation.method != "GET" or is_limited),
    )
    statuses = {400, 401, 500, ServiceUnavailable.status, *operation.refuses}
    statuses |= {status for status, is_one in comes if is_one}
    # If a charge does not wait for the customer, a decline comes after the response.
    declines = gaps.declined_status == "402" and gaps.charge_wait == "answered"
    by_status = {str(operation.success): _success(operation, gaps)}
    for status in sorted(statuses - (set() if declines else {402})):
        plain = operation.plain_400 and status == HTTPStatus.BAD_REQUEST
        by_status[str(status)] = {"$ref": f"#/components/responses/{'Plant' if plain else ''}Refusal{status}"}
    return by_status


def _counts(operation: Operation) -> bool:
    """True if the rate limit counts calls of the operation: merchants make them with a key."""
    return operation.traced and bool(operation.schemes)


def _error_components(gaps: Gaps) -> Schema:
    """The components of errors in the format that the register chooses."""
    if gaps.error_format == "plain":
        return {}
    members = {
        name: _TEXT | {key: value for key, value in part.items() if key != "needs"}
        for name, part in _in_force("problem", gaps).items()
    }
    members["status"]["enum"] = [int(status) for status in _in_force("refusals", gaps)]
    members["code"]["enum"] = [*CODES]
    source, shapes, envelope = FieldSource(gap="7"), parts()["errors"], parts()["envelope"]
    if gaps.error_format == "problem":
        problem = _marked({**shapes["Problem"], "properties": members}, source)
        return {"Problem": problem, "FieldProblem": _marked({**shapes["FieldProblem"]}, source)}
    within = envelope["properties"] | {name: members[name] for name in envelope["members"] if name in members}
    error = _marked({"type": "object", "properties": within, "required": envelope["required"]}, source) | _open_in("7")
    return {"Envelope": {"type": "object", "title": "Envelope", "properties": {"error": error}, "required": ["error"]}}


def _success(operation: Operation, gaps: Gaps) -> Schema:
    names = [*_ALWAYS]
    names += ["Idempotent-Replayed"] if operation.takes_keys else []
    names += ["Cache-Control"] if operation.no_store else []
    names += ["Deprecation", "Sunset"] if operation.source != "sandbox" else []
    names += ["RateLimit-Policy", "RateLimit"] if _counts(operation) else []
    content = {"schema": _reference_to(_component_of(operation.response))}
    # There are examples only for the defaults.
    if _SHAPES_BY_DEFAULT.get(operation.id, operation.response) == operation.response:
        content["example"] = _example(operation.id, gaps)
    links = {
        link.name: {"operationId": link.leads_to, "parameters": {link.takes: f"$response.body#/{link.gives}"}}
        for link in operation.links
    }
    return _response("Done.", names, JSON, content, gaps) | ({"links": links} if links else {})


def _refusal(status: str, part: Schema, gaps: Gaps) -> Schema:
    media_type, members = ERROR_FORMATS[gaps.error_format]
    facts = part.get("facts", {})
    if "problems" in facts:
        facts = {**facts, "problems": tuple(FieldProblem(*problem) for problem in facts["problems"])}
    error = CODES[part["code"]].kind(part["detail"], code=part["code"], **facts)
    example = msgspec.to_builtins(members(error, "req_000000000000000000000001", "/v1/payment_intents"))
    content = {"schema": _reference_to(_SHAPES[gaps.error_format]), "example": example}
    says = f"{HTTPStatus(int(status)).phrase}. {part['means']}"
    # A 405 is the response of no operation.
    names = [name for name in _ALWAYS if status != "405" or name != "Sandbox-Provenance"]
    return _response(says, [*names, *part.get("headers", ())], media_type, content, gaps)


def _response(says: str, names: Iterable[str], media_type: str, content: Schema, gaps: Gaps) -> Schema:
    headers = _in_force("headers", gaps)
    referred = {name: {"$ref": f"#/components/headers/{name}"} for name in names if name in headers}
    return {"description": says, "headers": referred, "content": {media_type: content}}


def _example(operation: str, gaps: Gaps) -> Schema:
    """The response of an operation in the seeded run; events have the format that the register chooses."""
    shown = examples_of_run()[operation]
    if operation not in ("listEvents", "retrieveEvent") or (gaps.event_types, gaps.event_payload) == _EVENTS_OF_RUN:
        return shown
    another = _example_event("charge.succeeded", gaps)
    return {**shown, "data": [another]} if operation == "listEvents" else another


def _example_event(happens: str, gaps: Gaps) -> Schema:
    """The event of type `happens` in the seeded run, in the format that the register chooses."""
    shown = examples_of_run()[happens]
    event = msgspec.convert({**shown, "type": SENT_AS[gaps.event_types][happens]}, Event)
    payload: Schema = msgspec.to_builtins(PAYLOADS[gaps.event_payload](event, shown["data"]["object"]["id"]))
    return payload


def _request_components(shapes: Iterable[type[View]], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of request bodies, by name."""
    components, structs = _components(shapes), _structs()
    for name, schema in components.items():
        struct, properties = structs[name], schema["properties"]
        _refine(properties, struct, gaps)
        for described in properties.values():
            # A generated client requires a field with a `default`: the description has the default instead.
            if default := described.pop("default", None):
                says = f"Default: `{to_json(default).decode()}`."
                described["description"] = f"{described.get('description', '')} {says}".lstrip()
        whole = struct.__whole__(gaps) if callable(struct.__whole__) else struct.__whole__
        for field in whole.get("required", ()):
            if isinstance(properties[field].get("type"), list):
                properties[field]["type"] = "string"
        # Generators of clients take a bare `oneOf` for the whole shape, without its fields, but ignore conditions.
        schema.update(whole if "required" in whole or not whole else {"if": {"type": "object"}, "then": whole})
        if gaps.unknown_fields == "refused":
            schema["additionalProperties"] = False
        _marked(schema, struct.__source__)
    return components


def _response_components(table: list[Operation], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of response and webhook bodies, by name; a field is required unless it can be missing."""
    of_lists = {
        _component_of(row.response): FieldSource(gap="" if row.source == "sandbox" else row.gap) for row in table
    }
    components, structs = _components([*(row.response for row in table), *_UNREQUESTED]), _structs()
    for name, schema in components.items():
        struct = structs.get(name)
        if struct is Event and gaps.event_payload == "cloudevents":
            struct = CloudEvent
            schema.clear()
            schema.update(_components([struct])[struct.__name__])
        schema["title"] = name
        unset: set[str] = set()
        if struct is not None:
            _refine(schema["properties"], struct, gaps)
            unset = {field.name for field in msgspec.structs.fields(struct) if UnsetType in get_args(field.type)}
        # A field with a default is in each response: no reader has to assume the default.
        for described in schema["properties"].values():
            described.pop("default", None)
        if struct is PaymentIntent and gaps.intent_fields == "full":
            unset &= {"client_secret", "suspense"}  # an event's intent goes without the one, most without the other
        schema["required"] = [field for field in schema["properties"] if field not in unset]
        _marked(schema, struct.__source__ if struct else of_lists[name])
    return components


def _query_parameters(shape: type[View], gaps: Gaps) -> Iterator[tuple[str, str, Schema]]:
    """Yields name, text and schema of each parameter of a query.

    No schema allows null, since clients omit a parameter instead.
    """
    (schema,) = _components([shape]).values()
    for field in msgspec.structs.fields(shape):
        of_field = schema["properties"][field.name]
        kinds = of_field["type"]
        kind = {"type": next(name for name in kinds if name != "null") if isinstance(kinds, list) else kinds}
        says, described = _annotated(field.type, gaps)
        plain = {name: value for name, value in of_field.items() if name != "description"}
        yield field.name, says, kind | described if described else plain | kind


def _annotated(kind: object, gaps: Gaps) -> tuple[str, Schema]:
    """The description of a type, and the schema members that its annotations add."""
    says, schema = "", Schema()
    for meta in _metas(kind):
        by_register: Schema = meta.extra["rule"](gaps) if meta.extra else {}
        says, schema = meta.description or says, schema | (meta.extra_json_schema or {}) | by_register
    return says, schema


def _reference_to(name: str) -> Schema:
    """A `$ref` to the schema with this name in the document's components."""
    return {"$ref": f"#/components/schemas/{name}"}


def _component_of(shape: object) -> str:
    """The name of the component for the body of a response."""
    (schema,), _ = _described([shape])
    return _component(schema["$ref"])


def _marked(schema: Schema, source: FieldSource) -> Schema:
    """Marks each field of a component, in place, as documented or open; returns the component."""
    schema["properties"] = {
        field: described | (_documented(source.section) if field in source.shows else _open_in(source.gap))
        for field, described in schema["properties"].items()
    }
    return schema


def _source_of(operation: Operation) -> Schema:
    """OpenAPI members that name the source of an operation; a documented one may have several sections."""
    if operation.source == "sandbox":
        return _open_in("")
    return _open_in(operation.gap) if operation.source == "assumed" else _documented(operation.source)


def _documented(section: str) -> Schema:
    """OpenAPI members for a field or operation that a section of the interface shows, with a link to the section."""
    return {"x-provenance": "documented", "x-section": section, "externalDocs": {"url": link_to(section)}}


def _open_in(section: str) -> Schema:
    """OpenAPI members for a field or operation that this section of the interface does not specify, with a link to it.

    An empty `section` stands for a field or operation that only a sandbox has.
    """
    return _documented(section) | {"x-provenance": "assumed"} if section else {"x-provenance": "sandbox"}


def _structs() -> Mapping[str, type[View]]:
    """Name → struct, for every struct that a request, response or event may have."""
    structs, parents = dict[str, type[View]](), [View]
    while parents:
        below = parents.pop().__subclasses__()
        structs |= {struct.__name__: struct for struct in below}
        parents += below
    return structs


def _components(shapes: Iterable[Any]) -> dict[str, Schema]:
    """The components of structs; their docstrings, without indentation, are the descriptions."""
    _, components = _described(shapes)
    for schema in components.values():
        schema["description"] = cleandoc(schema["description"])
    return {_component(name): _plain_schema(schema) for name, schema in components.items()}


def _described(shapes: Iterable[Any]) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """References to the schemas of structs, and all components; secrets, which msgspec does not know, become texts."""
    return msgspec.json.schema_components(shapes, schema_hook=lambda _: _TEXT, ref_template="{name}")


def _component(name: str) -> str:
    """The component's name for msgspec's name of a struct, such as `ChargeList` for `List_Charge_`."""
    if generic := _GENERIC.fullmatch(name):
        return ("Gap" if generic[2] == _ROWS_OF_ANYTHING else generic[2]) + generic[1]
    return name


def _plain_schema(schema: Json) -> Json:
    """The schema, simplified: decimals become numbers, "value or null" is one schema, references name components."""
    if isinstance(schema, list):
        return [_plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        schema = {**schema, "type": "number"}
        del schema["format"]
    if "$ref" in schema:
        return schema | _reference_to(_component(schema["$ref"]))
    kept = {name: value for name, value in schema.items() if name != "anyOf"}
    match schema.get("anyOf"):
        case [{"type": "integer"}, {"type": "string", "format": "decimal"}]:
            return {**kept, "type": "number"}
        case [{"type": str(kind), **others}, {"type": "null"}]:
            plain = _plain_schema({**others, **kept, "type": kind})
            return plain | {"type": [_plain_schema({**others, "type": kind})["type"], "null"]}
    # `required` says that a field may be left out; a default of null would say that null is the same.
    return {name: _plain_schema(value) for name, value in schema.items() if (name, value) != ("default", None)}


def _refine(properties: dict[str, Schema], struct: type[View], gaps: Gaps) -> None:
    """Changes `properties`, field → schema, in place: each field's annotations override the schema of its type.

    A nullable enum gets null as a value.
    """
    for field in msgspec.structs.fields(struct):
        _, described = _annotated(field.type, gaps)
        before = properties[field.encode_name]
        is_nullable = isinstance(before.get("type"), list)
        if "enum" in described and is_nullable:
            described["enum"] = [*described["enum"], None]
        in_place = {"type", "items"}  # what a type says by itself keeps its place, the type stands first
        kept = {name: value for name, value in before.items() if name in in_place or name not in described}
        first = {} if is_nullable or "type" not in kept else {"type": kept["type"]}
        properties[field.encode_name] = first | kept | described


def _metas(kind: object) -> Iterator[Meta]:
    """The annotations of a type in the written order; if `kind` is itself an annotation, only that."""
    if get_origin(kind) in (Union, types.UnionType):
        for argument in get_args(kind):
            yield from _metas(argument)
    yield from (meta for meta in getattr(kind, "__metadata__", (kind,)) if isinstance(meta, Meta))
