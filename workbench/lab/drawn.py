"""Views as text and as HTML that needs no style sheet and no script: where no widget can run, and on paper."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from workbench.lab.views import (
    SIGNS,
    Actions,
    Beside,
    Code,
    Facts,
    Fold,
    Form,
    Grid,
    Item,
    Menu,
    Note,
    Picture,
    Section,
)
from workbench.render import Column, Table, pairs, preformatted

_LIVE = "(live in JupyterLab)"


def text(title: str, sections: tuple[Section, ...]) -> str:
    """A board as plain text."""
    blocks = [title, *(_section_text(each) for each in sections)]
    return "\n\n".join(blocks)


def html(title: str, sections: tuple[Section, ...]) -> str:
    """A board as plain semantic HTML."""
    drawn = "".join(
        f'<section aria-label="{escape(each.title)}"><h4>{escape(each.title)}</h4>{_htmls(each.items)}</section>'
        for each in sections
    )
    return f"<article><h3>{escape(title)}</h3>{drawn}</article>"


def _section_text(section: Section) -> str:
    lines = [section.title, "─" * len(section.title), *(_drawn(_TEXT, each) for each in section.items)]
    return "\n".join(line for line in lines if line)


def _htmls(items: tuple[Item, ...]) -> str:
    return "".join(_drawn(_HTML, each) for each in items)


def _drawn(ways: Mapping[type, Callable[[Any], str]], item: Item) -> str:
    return ways[type(item)](item)


def _signed(note: Note) -> str:
    return f"{SIGNS[note.tone]} {note.text}".strip()


def _table(grid: Grid) -> Table:
    columns = tuple(Column(each.text, each.numeric) for each in grid.headings)
    return Table(grid.caption, columns, tuple(row.cells for row in grid.rows))


def _grid_text(grid: Grid) -> str:
    return str(_table(grid)) if grid.rows else f"{grid.caption}: {grid.empty}"


def _grid_html(grid: Grid) -> str:
    return _table(grid).html() if grid.rows else f"<p>{escape(grid.caption)}: {escape(grid.empty)}</p>"


def _form_facts(form: Form) -> Table:
    return pairs(f"{form.label} {_LIVE}", {each.label: each.value for each in form.fields})


_TEXT: Mapping[type, Callable[[Any], str]] = {
    Note: _signed,
    Facts: lambda facts: "\n".join(f"{name}: {value}" for name, value in facts.pairs),
    Grid: _grid_text,
    Form: lambda form: str(_form_facts(form)),
    Actions: lambda _: "",
    Code: lambda code: f"{code.label}:\n{code.text}",
    Picture: lambda picture: picture.says,
    Fold: lambda _: "",
    Beside: lambda beside: "\n\n".join(_drawn(_TEXT, each) for each in beside.items),
    Menu: lambda _: "",
}
"""What is unfolded by a person is left out of the text, and buttons stand for nothing there."""

_HTML: Mapping[type, Callable[[Any], str]] = {
    Note: lambda note: f"<p>{escape(_signed(note))}</p>",
    Facts: lambda facts: pairs("", dict(facts.pairs)).html(),
    Grid: _grid_html,
    Form: lambda form: _form_facts(form).html(),
    Actions: lambda _: "",
    Code: lambda code: f"<p>{escape(code.label)}</p>{preformatted(code.text, label=code.label)}",
    Picture: lambda picture: f"<figure>{picture.svg}<figcaption>{escape(picture.says)}</figcaption></figure>",
    Fold: lambda fold: f"<details><summary>{escape(fold.label)}</summary>{_htmls(fold.items)}</details>",
    Beside: lambda beside: _htmls(beside.items),
    Menu: lambda _: "",
}
