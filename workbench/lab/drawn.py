"""Views as text and as HTML that needs no style sheet and no script: where no widget can run, and on paper."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from workbench.domain.masking import mask
from workbench.lab import views
from workbench.render import Column, Table, pairs, preformatted
from workbench.visible import visible

_LIVE = "(live in JupyterLab)"
_AREA = "area"
_HOLDERS = (views.Picture, views.Beside, views.Fold, views.Slot)
_STATES = {views.DONE: "✓", views.NOW: "●", views.AHEAD: "○", views.FAILED: "✗"}
"""The signs of steps; the widget names the states in words too, for screen readers."""


def text(title: str, sections: tuple[views.Section, ...]) -> str:
    """A board as plain text."""
    blocks = [title, *(_section_text(each) for each in sections)]
    return visible("\n\n".join(blocks), lines=True)


def html(title: str, sections: tuple[views.Section, ...]) -> str:
    """A board as plain semantic HTML."""
    drawn = "".join(
        f'<section aria-label="{escape(each.title)}"><h4>{escape(each.title)}</h4>{_htmls(each.items)}</section>'
        for each in sections
    )
    return visible(f"<article><h3>{escape(title)}</h3>{drawn}</article>", lines=True)


def _section_text(section: views.Section) -> str:
    lines = [section.title, "─" * len(section.title), *(_drawn(_TEXT, each) for each in section.items)]
    return "\n".join(line for line in lines if line)


def _htmls(items: tuple[views.Item, ...]) -> str:
    return "".join(_drawn(_HTML, each) for each in items)


def _drawn(ways: Mapping[type, Callable[[Any], str]], item: views.Item) -> str:
    """A piece as it may stand in a saved notebook: secrets and numbers masked, but not in what is drawn by numbers."""
    written = ways[type(item)](item)
    return written if isinstance(item, _HOLDERS) else mask(written)


def _signed(note: views.Note) -> str:
    return f"{views.SIGNS[note.tone]} {note.text}".strip()


def _table(grid: views.Grid) -> Table:
    columns = tuple(Column(each.text, each.numeric) for each in grid.headings)
    return Table(grid.caption, columns, tuple(row.cells for row in grid.rows))


def _grid_text(grid: views.Grid) -> str:
    return str(_table(grid)) if grid.rows else f"{grid.caption}: {grid.empty}"


def _grid_html(grid: views.Grid) -> str:
    return _table(grid).html() if grid.rows else f"<p>{escape(grid.caption)}: {escape(grid.empty)}</p>"


def _step(steps: views.Steps) -> str:
    return " → ".join(
        f"{_STATES[each.state]} {each.text}{f' ({each.note})' if each.note else ''}" for each in steps.steps
    )


def _form_facts(form: views.Form) -> Table:
    """What a form holds, in one line each; texts of several lines stand below it."""
    lines = {each.label: _filled_in(each) for each in form.fields if each.type != _AREA}
    return pairs(f"{form.label} {_LIVE}", lines)


def _filled_in(field: views.Field) -> str:
    value = dict(field.options).get(field.value, field.value)
    return f"{value} ({views.SIGNS[views.BAD]} {field.error})" if field.error else value


def _areas(form: views.Form) -> tuple[views.Code, ...]:
    return tuple(views.Code(each.label, each.value) for each in form.fields if each.type == _AREA)


def _form_text(form: views.Form) -> str:
    facts = [str(_form_facts(form))] if len(_areas(form)) < len(form.fields) else [f"{form.label} {_LIVE}"]
    return "\n".join([*facts, *(_drawn(_TEXT, each) for each in _areas(form))])


def _form_html(form: views.Form) -> str:
    facts = _form_facts(form).html() if len(_areas(form)) < len(form.fields) else ""
    return facts + _htmls(_areas(form))


_TEXT: Mapping[type, Callable[[Any], str]] = {
    views.Note: _signed,
    views.Facts: lambda facts: "\n".join(visible(f"{name}: {value}") for name, value in facts.pairs),
    views.Grid: _grid_text,
    views.Form: _form_text,
    views.Actions: lambda _: "",
    views.Code: lambda code: f"{code.label}:\n{code.text}",
    views.Picture: lambda picture: picture.says,
    views.Fold: lambda _: "",
    views.Beside: lambda beside: "\n\n".join(_drawn(_TEXT, each) for each in beside.items),
    views.Menu: lambda _: "",
    views.Steps: lambda steps: f"{steps.label}: {_step(steps)}",
    views.Slot: lambda slot: "\n".join(_drawn(_TEXT, each) for each in slot.instead),
}
"""What is unfolded by a person is left out of the text, and buttons stand for nothing there."""

_HTML: Mapping[type, Callable[[Any], str]] = {
    views.Note: lambda note: f"<p>{escape(_signed(note))}</p>",
    views.Facts: lambda facts: pairs("", dict(facts.pairs)).html(),
    views.Grid: _grid_html,
    views.Form: _form_html,
    views.Actions: lambda _: "",
    views.Code: lambda code: f"<p>{escape(code.label)}</p>{preformatted(code.text, code.label)}",
    views.Picture: lambda picture: f"<figure>{picture.svg}<figcaption>{escape(picture.says)}</figcaption></figure>",
    views.Fold: lambda fold: f"<details><summary>{escape(fold.label)}</summary>{_htmls(fold.items)}</details>",
    views.Beside: lambda beside: _htmls(beside.items),
    views.Menu: lambda _: "",
    views.Steps: lambda steps: f"<p>{escape(steps.label)}: {escape(_step(steps))}</p>",
    views.Slot: lambda slot: _htmls(slot.instead),
}
