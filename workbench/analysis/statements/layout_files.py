"""A layout that is written in a file: the table of `layouts.py` in TOML, for the command line."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from workbench.analysis.statements.layouts import Layout
from workbench.errors import StatementRefused

SUFFIX: Final = ".toml"


def layout_in(path: Path) -> Layout:
    """The layout in a file: the names of `Layout` as keys, mappings as tables; `name` is the file's, if it has none.

    Raises StatementRefused: the file cannot be read, has a key that a layout has not, or makes no layout.
    """
    try:
        declared = {"name": path.stem, **tomllib.loads(path.read_text("utf-8"))}
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StatementRefused(f"The layout in {path.name} cannot be read: {why}.", file=path.name) from error
    kinds = get_type_hints(Layout)
    lacking = [each for each in ("columns", "dates") if each not in declared]
    unknown = [each for each in declared if each not in kinds]
    if lacking or unknown:
        text = f"lacks {', '.join(lacking)}" if lacking else f"has {', '.join(unknown)}, which no layout has"
        raise StatementRefused(
            f"The layout in {path.name} {text}.",
            hint=f"A layout has {', '.join(each.name for each in fields(Layout))}.",
            file=path.name,
        )
    return Layout(**{name: _as_declared(path, name, value, kinds[name]) for name, value in declared.items()})


def _as_declared(path: Path, name: str, value: object, kind: Any) -> Any:  # noqa: ANN401  whatever the field holds
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise StatementRefused(f"In the layout in {path.name}, {name}: {error}.", file=path.name) from None
