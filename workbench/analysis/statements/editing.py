"""A draft of a layout as a table that is edited in JupyterLab: what is chosen there changes the draft itself."""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Final

import ipywidgets as widgets

from workbench.analysis.forms import OwnKeys
from workbench.analysis.statements.draft import MOST_ROWS, WORDS, Draft, masked
from workbench.analysis.statements.layouts import FIELDS, SUFFIX
from workbench.domain.masking import shortened
from workbench.errors import WorkbenchError
from workbench.visible import visible

_TEXTS: Final = ("account", "decimal", "thousands", "debits", "key_pattern", "own", "party")
_LISTS: Final = ("dates", "openings", "footers")
_TRUTHS: Final = ("makes_keys",)
_SAMPLES: Final = 3
_LONGEST: Final = 28
_NOT_READ: Final = "(not read)"
_BETWEEN: Final = "; "
_WIDE: Final = {"description_width": "8em"}
_HEADING: Final = {"description_width": "12em"}
_FIELD: Final = {"width": "24em"}
_PLAIN: Final = '<div style="line-height:1.4">'
"""A widget's own lines are as high as its boxes."""
_SCROLLS: Final = (
    '<div style="line-height:1.4;overflow-x:auto" tabindex="0" role="region" aria-label="As it would be read">'
)


class Editor:
    """The widgets of a draft. `fields` are by heading, `settings` by name, `words` by table; `box` is all of them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._is_showing = False
        kinds = [(_NOT_READ, ""), *((each, each) for each in FIELDS)]
        self.fields = {
            each: widgets.Dropdown(
                options=kinds, description=visible(each), tooltip=visible(each), style=_HEADING, layout=_FIELD
            )
            for each in draft.file.headings if each
        }  # fmt: skip
        self.settings = {name: _setting(name) for name in (*_LISTS, *_TEXTS, *_TRUTHS)}
        # A word is read when its box is left: half of a line is none, and would be taken away while it is typed.
        self.words = {
            name: widgets.Textarea(
                description=name, style=_WIDE, rows=3, continuous_update=False, placeholder="a word = what it means"
            )
            for name in WORDS
        }
        self.doubts = widgets.HTML()
        self.preview = widgets.HTML()
        self.path = widgets.Text(value=draft.file.path.stem + SUFFIX, description="Write to", style=_WIDE)
        self.save = widgets.Button(description="Write")
        self.said = widgets.HTML()
        self._show()
        for heading, field in self.fields.items():
            field.observe(lambda change, heading=heading: self._do(draft.use, heading, change["new"] or None), "value")
        for name, setting in {**self.settings, **self.words}.items():
            setting.observe(lambda change, name=name: self._do(self._declare, name, change["new"]), "value")
        self.save.on_click(lambda _: self._do(self._write))
        self.box = widgets.VBox(
            [self._columns(), self.doubts, *self.settings.values(), *self.words.values(), self.preview,
             widgets.HBox([self.path, self.save]), self.said, OwnKeys()]
        )  # fmt: skip

    def _columns(self) -> Any:  # noqa: ANN401  a widget, whose library has no types
        """A row for each column of the file: its heading, the field that it is, and some of its cells."""
        cells = [widgets.HTML(f"<b>{each}</b>") for each in ("each heading, and the field that it is", "cells")]
        for heading, field in self.fields.items():
            samples = dict.fromkeys(
                shortened(masked(" ".join(text.split())), _LONGEST) for _, text in self._draft.file.texts(heading)
            )
            shown = " · ".join(list(samples)[:_SAMPLES])
            cells += [field, widgets.HTML(escape(shown))]
        return widgets.GridBox(cells, layout=widgets.Layout(grid_template_columns="max-content auto", grid_gap="0 1em"))

    def _do(self, change: Callable[..., str | None], *given: Any) -> None:  # noqa: ANN401  its arguments
        """What a person does; a refusal is shown, and nothing is raised into the kernel's log."""
        if self._is_showing:
            return
        try:
            said = change(*given) or ""
        except WorkbenchError as error:
            said = str(error)
        self.said.value = escape(visible(said))
        self._show()

    def _declare(self, name: str, value: Any) -> None:  # noqa: ANN401  a text or a truth, as the widget has it
        read = _words_in if name in self.words else _texts_in if name in _LISTS else None
        self._draft.declare(**{name: (read(value) if read else value) or None})

    def _write(self) -> str:
        self._draft.write(Path(self.path.value))
        return f"Written: {self.path.value}"

    def _show(self) -> None:
        """Bring every widget to what the draft says."""
        declared = self._draft.declared
        by_heading = {heading: name for name, heading in declared["columns"].items()}
        self._is_showing = True
        try:
            for heading, field in self.fields.items():
                field.value = by_heading.get(heading, "")
            for name, setting in self.settings.items():
                value = declared.get(name, False if name in _TRUTHS else "")
                setting.value = _BETWEEN.join(value) if isinstance(value, list) else value
            for name, words in self.words.items():
                words.value = "\n".join(f"{word} = {meaning}" for word, meaning in declared.get(name, {}).items())
        finally:
            self._is_showing = False
        doubts = [f"<li>{escape(each)}</li>" for each in self._draft.to_decide()]
        self.doubts.value = f"{_PLAIN}To decide:<ul>{''.join(doubts)}</ul></div>" if doubts else ""
        if len(self._draft.file.rows) == MOST_ROWS:
            self.preview.value = "<p>The file is long: <code>draft.check()</code> reads it as is said above.</p>"
            return
        try:
            self.preview.value = f"{_SCROLLS}{self._draft.check().html()}</div>"
        except WorkbenchError as error:
            self.preview.value = f"{_PLAIN}{escape(visible(str(error)))}</div>"


def _setting(name: str) -> Any:  # noqa: ANN401  a widget
    if name in _TRUTHS:
        return widgets.Checkbox(description=name, style=_WIDE)
    return widgets.Text(description=name, style=_WIDE, continuous_update=False)


def _texts_in(text: str) -> list[str]:
    return [each for each in text.split(_BETWEEN) if each]


def _words_in(text: str) -> dict[str, str]:
    """Lines such as `TS = completed`."""
    pairs = (line.rpartition("=") for line in text.splitlines() if "=" in line)
    return {word.strip(): meaning.strip() for word, _, meaning in pairs}
