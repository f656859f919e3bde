"""The components of the description: JSON Schema from the structs on the wire, with the texts of their fields."""

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType

from workbench.domain.gaps import Gaps, link_to
from workbench.domain.wire.base import Source, View, to_json
from workbench.domain.wire.endpoints_and_events import CloudEvent, Event
from workbench.domain.wire.payments_and_payouts import PaymentIntent
from workbench.sandbox.operations import Operation

Schema = dict[str, Any]
Json = Any
TEXT: Final[Schema] = {"type": "string"}
_GENERIC: Final = re.compile(r"(List|NumberedList|Rows|Page)_(.+)_")
_ROWS_OF_ANYTHING: Final = "dict_str__typing.Any_"


def of_requests(shapes: Iterable[type[View]], gaps: Gaps) -> dict[str, Schema]:
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
        mark(schema, struct.__source__)
    return components


def of_responses(table: Iterable[Operation], others: Iterable[type[View]], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of the bodies that operations respond with, and of `others`, by name.

    A field is required unless it can be unset.
    """
    rows = tuple(table)
    of_lists = {of_type(row.response): Source(gap="" if row.source == "sandbox" else row.gap) for row in rows}
    components, structs = _components([*(row.response for row in rows), *others]), _structs()
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
        mark(schema, struct.__source__ if struct else of_lists[name])
    return components


def of_query(shape: type[View], gaps: Gaps) -> Iterator[tuple[str, str, Schema]]:
    """Yields name, text and schema of each parameter of a query; a parameter is left out, and never null."""
    (schema,) = _components([shape]).values()
    for field in msgspec.structs.fields(shape):
        of_field = schema["properties"][field.name]
        kinds = of_field["type"]
        kind = {"type": next(one for one in kinds if one != "null") if isinstance(kinds, list) else kinds}
        says, described = of_annotation(field.type, gaps)
        plain = {name: value for name, value in of_field.items() if name != "description"}
        yield field.name, says, kind | described if described else plain | kind


def of_annotation(kind: object, gaps: Gaps) -> tuple[str, Schema]:
    """The text about a type, and the schema that the type's annotations add."""
    says, schema = "", Schema()
    for meta in _metas(kind):
        by_register: Schema = meta.extra["rule"](gaps) if meta.extra else {}
        says, schema = meta.description or says, schema | (meta.extra_json_schema or {}) | by_register
    return says, schema


def reference_to(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def of_type(shape: object) -> str:
    """The name of the component of a response's body."""
    (schema,), _ = _described([shape])
    return _component(schema["$ref"])


def mark(schema: Schema, source: Source) -> Schema:
    """Marks each field of a component as documented or open, and returns the component."""
    for field, described in schema["properties"].items():
        provenance = documented(source.section) if field in source.shows else open_in(source.gap)
        schema["properties"][field] = described | provenance
    return schema


def of_operation(operation: Operation) -> Schema:
    """The marks of an operation's source; a documented operation may be in several sections."""
    if operation.source == "sandbox":
        return open_in("")
    return open_in(operation.gap) if operation.source == "assumed" else documented(operation.source)


def documented(section: str) -> Schema:
    """The marks of a part that a section of the interface shows."""
    return {"x-provenance": "documented", "x-section": section, "externalDocs": {"url": link_to(section)}}


def open_in(section: str) -> Schema:
    """The marks of a part that a section of the interface leaves open; for "", of a part that no real service has."""
    return documented(section) | {"x-provenance": "assumed"} if section else {"x-provenance": "sandbox"}


def _structs() -> Mapping[str, type[View]]:
    """Every struct on the wire by its name."""
    structs, left = dict[str, type[View]](), [View]
    while left:
        below = left.pop().__subclasses__()
        structs |= {struct.__name__: struct for struct in below}
        left += below
    return structs


def _components(shapes: Iterable[Any]) -> dict[str, Schema]:
    """The components of structs, described by docstrings without their margin, which Markdown would take for code."""
    _, components = _described(shapes)
    for schema in components.values():
        schema["description"] = cleandoc(schema["description"])
    return {_component(name): _plain_schema(schema) for name, schema in components.items()}


def _described(shapes: Iterable[Any]) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """References to the schemas of structs, and all components; secrets, unknown to msgspec, are texts."""
    return msgspec.json.schema_components(shapes, schema_hook=lambda _: TEXT, ref_template="{name}")


def _component(name: str) -> str:
    """The name of a struct's component; a list is named for its rows."""
    if generic := _GENERIC.fullmatch(name):
        return ("Gap" if generic[2] == _ROWS_OF_ANYTHING else generic[2]) + generic[1]
    return name


def _plain_schema(schema: Json) -> Json:
    """A schema with decimals as numbers, a value or null as two types of one schema, and the names of components."""
    if isinstance(schema, list):
        return [_plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        schema = {**schema, "type": "number"}
        del schema["format"]
    if "$ref" in schema:
        return schema | reference_to(_component(schema["$ref"]))
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
    """Lets each field's annotations override its type's schema in `properties`; an enum that may be null gets null."""
    for field in msgspec.structs.fields(struct):
        _, described = of_annotation(field.type, gaps)
        before = properties[field.encode_name]
        is_nullable = isinstance(before.get("type"), list)
        if "enum" in described and is_nullable:
            described["enum"] = [*described["enum"], None]
        in_place = {"type", "items"}  # what a type says by itself keeps its place, the type stands first
        kept = {name: value for name, value in before.items() if name in in_place or name not in described}
        first = {} if is_nullable or "type" not in kept else {"type": kept["type"]}
        properties[field.encode_name] = first | kept | described


def _metas(kind: object) -> Iterator[Meta]:
    """The annotations of a type, in the order in which they are written."""
    if get_origin(kind) in (Union, types.UnionType):
        for argument in get_args(kind):
            yield from _metas(argument)
    yield from (meta for meta in getattr(kind, "__metadata__", ()) if isinstance(meta, Meta))
