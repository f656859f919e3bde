"""The components of the description: JSON Schema from the structs on the wire, with what their fields say."""

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType

from workbench.domain import wire
from workbench.domain.gaps import Gaps
from workbench.domain.interface import link_to
from workbench.domain.wire import Source, View
from workbench.sandbox.operations import Operation

Schema = dict[str, Any]
TEXT: Final[Schema] = {"type": "string"}
_REF: Final = "#/components/schemas/"
_GENERIC: Final = re.compile(r"(List|NumberedList|Rows|Page)_(.+)_")
_ROWS_OF_ANYTHING: Final = "dict_str__typing.Any_"


def requests(shapes: Iterable[type[View]], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of request bodies, by name."""
    found, structs = _components(shapes), _structs()
    for name, schema in found.items():
        struct = structs[name]
        _refine(schema["properties"], struct, gaps)
        for each in schema["properties"].values():
            # In a generated client a field with a `default` is required: words tell it.
            if default := each.pop("default", None):
                told = f"Default: `{wire.to_json(default).decode()}`."
                each["description"] = f"{each.get('description', '')} {told}".lstrip()
        whole = struct.__whole__(gaps) if callable(struct.__whole__) else struct.__whole__
        for field in whole.get("required", ()):
            if isinstance(schema["properties"][field].get("type"), list):
                schema["properties"][field]["type"] = "string"
        # Generators of clients take a bare `oneOf` for the whole shape, without its fields; conditions they pass over.
        schema.update(whole if "required" in whole or not whole else {"if": {"type": "object"}, "then": whole})
        if gaps.unknown_fields == "refused":
            schema["additionalProperties"] = False
        mark(schema, struct.__source__)
    return found


def shown(rows: Iterable[Operation], also: Iterable[type[View]], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of what operations answer, and others, by name. A field is always there, unless it can be unset."""
    table = tuple(rows)
    of_lists = {of_type(row.response): Source(gap="" if row.source == "sandbox" else row.gap) for row in table}
    found, structs = _components([*(row.response for row in table), *also]), _structs()
    for name, schema in found.items():
        struct = structs.get(name)
        if struct is wire.Event and gaps.event_payload == "cloudevents":
            struct = wire.CloudEvent
            schema.clear()
            schema.update(_components([struct])[struct.__name__])
        schema["title"] = name
        if struct is not None:
            _refine(schema["properties"], struct, gaps)
        schema["required"] = _always_there(struct, schema, gaps)
        mark(schema, struct.__source__ if struct else of_lists[name])
    return found


def parameters(shape: type[View], gaps: Gaps) -> Iterator[tuple[str, str, Schema]]:
    """Name, words and schema of each parameter of a query, which is left out where a field would be null."""
    (schema,) = _components([shape]).values()
    for each in msgspec.structs.fields(shape):
        of_type = schema["properties"][each.name]
        kinds = of_type["type"]
        kind = {"type": next(one for one in kinds if one != "null") if isinstance(kinds, list) else kinds}
        says, schema_said = said(each.type, gaps)
        plain = {name: value for name, value in of_type.items() if name != "description"}
        yield each.name, says, kind | schema_said if schema_said else plain | kind


def said(kind: Any, gaps: Gaps) -> tuple[str, Schema]:  # noqa: ANN401  a type
    """What a parameter of a type is for, and what is said of the type."""
    says, schema = "", Schema()
    for meta in _metas(kind):
        says, schema = meta.description or says, schema | _of_meta(meta, gaps)
    return says, schema


def _of_meta(meta: Meta, gaps: Gaps) -> Schema:
    by_register: Schema = meta.extra["rule"](gaps) if meta.extra else {}
    return (meta.extra_json_schema or {}) | by_register


def reference(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": _REF + name}


def of_type(shape: Any) -> str:  # noqa: ANN401  a type, generic ones too
    """The name of the component of an answer."""
    (schema,), _ = msgspec.json.schema_components([shape], ref_template="{name}")
    return _named(schema["$ref"])


def _named(name: str) -> str:
    """The component of a struct: lists by what they hold."""
    if generic := _GENERIC.fullmatch(name):
        inner = "Gap" if generic[2] == _ROWS_OF_ANYTHING else generic[2]
        return f"{inner}{generic[1]}"
    return name


# Where each field and operation comes from


def mark(schema: Schema, source: Source) -> Schema:
    """The component, with where it comes from on each field."""
    for field, described in schema["properties"].items():
        provenance = documented(source.section) if field in source.shows else open_in(source.gap)
        schema["properties"][field] = described | provenance
    return schema


def of_operation(operation: Operation) -> Schema:
    """Where an operation comes from; a documented one may stand in several sections."""
    if operation.source == "sandbox":
        return open_in("")
    return open_in(operation.gap) if operation.source == "assumed" else documented(operation.source)


def documented(section: str) -> Schema:
    """What the interface shows."""
    return {"x-provenance": "documented", "x-section": section, "externalDocs": {"url": link_to(section)}}


def open_in(section: str) -> Schema:
    """What the interface leaves open, and the section that does; what no real service has for none."""
    return documented(section) | {"x-provenance": "assumed"} if section else {"x-provenance": "sandbox"}


def _structs() -> Mapping[str, type[View]]:
    """Every struct on the wire by its name."""
    found, left = dict[str, type[View]](), [View]
    while left:
        below = left.pop().__subclasses__()
        found |= {each.__name__: each for each in below}
        left += below
    return found


def _components(shapes: Iterable[Any]) -> dict[str, Schema]:
    _, found = msgspec.json.schema_components(list(shapes), ref_template="{name}")
    return {_named(name): _plain(schema) for name, schema in found.items()}


def _plain(schema: Any) -> Any:  # noqa: ANN401  JSON is of any type
    """Decimals as the numbers that they are on this wire, a value or null as two types of one schema; names as here."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        schema = {**schema, "type": "number"}
        del schema["format"]
    if "$ref" in schema:
        return schema | reference(_named(schema["$ref"]))
    match schema.get("anyOf"):
        case [{"type": "integer"}, {"type": "string", "format": "decimal"}]:
            return {**{name: value for name, value in schema.items() if name != "anyOf"}, "type": "number"}
        case [{"type": str(kind), **others}, {"type": "null"}]:
            kept = {name: value for name, value in schema.items() if name != "anyOf"}
            return _plain({**others, **kept, "type": kind}) | {
                "type": [_plain({**others, "type": kind})["type"], "null"]
            }
    # That a field may be left out tells `required`; null as its default would say that null is the same.
    return {name: _plain(value) for name, value in schema.items() if (name, value) != ("default", None)}


def _refine(properties: dict[str, Schema], struct: type[View], gaps: Gaps) -> None:
    """Let what each field says replace what its type says; where it may be null, null is among an enum's values."""
    for each in msgspec.structs.fields(struct):
        said: Schema = {}
        for meta in _metas(each.type):
            said |= _of_meta(meta, gaps)
        before = properties[each.encode_name]
        is_nullable = isinstance(before.get("type"), list)
        if "enum" in said and is_nullable:
            said["enum"] = [*said["enum"], None]
        in_place = {"type", "items"}  # what a type says by itself keeps its place, the type stands first
        kept = {name: value for name, value in before.items() if name in in_place or name not in said}
        first = {} if is_nullable or "type" not in kept else {"type": kept["type"]}
        properties[each.encode_name] = first | kept | said


def _metas(kind: Any) -> Iterator[Meta]:  # noqa: ANN401  a type
    """What is said of a type, in the order in which it is written."""
    if get_origin(kind) in (Union, types.UnionType):
        for each in get_args(kind):
            yield from _metas(each)
    yield from (each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Meta))


def _always_there(struct: type[View] | None, schema: Schema, gaps: Gaps) -> list[str]:
    """The fields of an answer that are there each time; what is set by default is told, not assumed."""
    unset = (
        {each.name for each in msgspec.structs.fields(struct) if UnsetType in get_args(each.type)} if struct else set()
    )
    for each in schema["properties"].values():
        each.pop("default", None)
    if struct is wire.PaymentIntent and gaps.intent_fields == "full":
        unset &= {"client_secret", "suspense"}  # an event's intent goes without the one, most without the other
    return [name for name in schema["properties"] if name not in unset]
