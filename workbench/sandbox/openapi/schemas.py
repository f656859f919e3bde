"""The components of the description: JSON Schema from the structs on the wire, and what is refined in it."""

import re
from collections.abc import Iterable
from typing import Any, get_args

import msgspec
from msgspec import UnsetType

from workbench.domain import wire
from workbench.domain.gaps import Gaps
from workbench.sandbox.openapi import answers, provenance, rules

Schema = dict[str, Any]
_REF = "#/components/schemas/"
_GENERIC = re.compile(r"(List|Rows|Page)_(.+)_")
_ROWS_OF_ANYTHING = "dict_str__typing.Any_"


def requests(shapes: Iterable[type[msgspec.Struct]], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of request bodies and of queries, by name."""
    found = _components(shapes)
    for name, schema in found.items():
        for field, rule in rules.REQUEST_RULES.get(name, {}).items():
            _refine(schema["properties"], field, rule(gaps))
        for field in rules.NEVER_NULL.get(name, _none)(gaps):
            schema["properties"][field]["type"] = "string"
        if name in rules.WHOLE_RULES:
            schema.update(rules.WHOLE_RULES[name](gaps))
        if gaps.unknown_fields == "refused":
            schema["additionalProperties"] = False
        provenance.mark(schema, name)
    return found


def shown(shapes: Iterable[Any], gaps: Gaps) -> dict[str, Schema]:
    """The schemas of answers, by name. A field of an answer is always there, unless it can be unset."""
    found = {}
    for original, schema in _components(shapes).items():
        name = answer_name(original)
        found[name] = {**_renamed(schema), "title": name}
        for field, rule in answers.RULES.get(name, {}).items():
            _refine(found[name]["properties"], field, rule(gaps))
        found[name]["required"] = _always_there(original, found[name], gaps)
        provenance.mark(found[name], name)
    return found


def answer_name(name: str) -> str:
    """The component of an answer's struct: lists by what they hold, apart from what requests hold."""
    if generic := _GENERIC.fullmatch(name):
        inner = "Gap" if generic[2] == _ROWS_OF_ANYTHING else generic[2]
        return f"{inner}{generic[1]}"
    return answers.NAMES.get(name, name)


def reference(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": _REF + name}


def of_type(shape: Any) -> str:  # noqa: ANN401  a type, generic ones too
    """The name of the component of an answer."""
    (schema,), _ = msgspec.json.schema_components([shape], ref_template=_REF + "{name}")
    return answer_name(schema["$ref"].removeprefix(_REF))


def _components(shapes: Iterable[Any]) -> dict[str, Schema]:
    _, found = msgspec.json.schema_components(list(shapes), ref_template=_REF + "{name}")
    return {name: _plain(schema) for name, schema in found.items()}


def _plain(schema: Any) -> Any:  # noqa: ANN401  JSON is of any type
    """Decimals as the numbers that they are on this wire, and a value or null as two types of one schema."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "decimal":
        schema = {**schema, "type": "number"}
        del schema["format"]
    match schema.get("anyOf"):
        case [{"type": str(kind), **others}, {"type": "null"}]:
            kept = {name: value for name, value in schema.items() if name != "anyOf"}
            return _plain({**others, **kept, "type": kind}) | {
                "type": [_plain({**others, "type": kind})["type"], "null"]
            }
    # That a field may be left out tells `required`; null as its default would say that null is the same.
    return {name: _plain(value) for name, value in schema.items() if (name, value) != ("default", None)}


def _refine(properties: dict[str, Schema], field: str, rule: Schema) -> None:
    """Add a rule to a field; where the field may be null, null is among the values of an enum."""
    refined = {**properties[field], **rule}
    nullable = isinstance(refined.get("type"), list)
    if nullable and "enum" in rule:
        refined["enum"] = [*rule["enum"], None]
    properties[field] = refined


def _renamed(value: Any) -> Any:  # noqa: ANN401  JSON is of any type
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return {**value, **reference(answer_name(value["$ref"].removeprefix(_REF)))}
    return {name: _renamed(each) for name, each in value.items()}


def _always_there(original: str, schema: Schema, gaps: Gaps) -> list[str]:
    """The fields of an answer that are there each time; what is set by default is told, not assumed."""
    struct = getattr(wire, original, None)
    unset = (
        {each.name for each in msgspec.structs.fields(struct) if UnsetType in get_args(each.type)} if struct else set()
    )
    for each in schema["properties"].values():
        each.pop("default", None)
    kept = answers.SET_IN_FULL.get(original, ()) if gaps.intent_fields == "full" else ()
    return [name for name in schema["properties"] if name not in unset or name in kept]


def _none(gaps: Gaps) -> tuple[str, ...]:  # noqa: ARG001  one signature
    return ()
