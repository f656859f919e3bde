"""A board: sections drawn by the browser's script, as HTML, and as text, and what is pressed on them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from threading import RLock
from typing import TYPE_CHECKING, Any

from workbench.domain.masking import mask
from workbench.errors import WorkbenchError
from workbench.lab import views
from workbench.lab.board_widget import BROKEN
from workbench.lab.sections import BoardSection, Message, whole_text
from workbench.lab.views import BAD, Action, Item, Note, Section, as_data, slots
from workbench.render import Column, Table, Widget, bundle, pairs, preformatted, with_widget
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.lab.board_widget import BoardWidget


FOLLOW = "follow"
"""What a form that is typed into asks its section to do."""
_LIVE = "(live in JupyterLab)"
_AREA = "area"
_HOLDERS = (views.Picture, views.Beside, views.Fold, views.Slot, views.Split)
_STATES = {views.DONE: "✓", views.NOW: "●", views.AHEAD: "○", views.FAILED: "✗"}
"""The signs of steps; the widget names the states in words too, for screen readers."""


def text(title: str, sections: tuple[Section, ...]) -> str:
    """A board as plain text."""
    blocks = [[each.title, "─" * len(each.title), *_texts(each.items)] for each in sections]
    return visible("\n\n".join([title, *("\n".join(filter(None, block)) for block in blocks)]), lines=True)


def html(title: str, sections: tuple[Section, ...]) -> str:
    """A board as plain semantic HTML."""
    drawn = "".join(
        f'<section aria-label="{escape(each.title)}"><h4>{escape(each.title)}</h4>{_htmls(each.items)}</section>'
        for each in sections
    )
    return visible(f"<article><h3>{escape(title)}</h3>{drawn}</article>", lines=True)


def _texts(items: tuple[Item, ...]) -> list[str]:
    return [_drawn(_TEXT, each) for each in items]


def _htmls(items: tuple[Item, ...]) -> str:
    return "".join(_drawn(_HTML, each) for each in items)


def _drawn(ways: Mapping[type, Callable[[Any], str]], item: Item) -> str:
    """A piece as it may stand in a saved notebook: secrets and numbers masked, but not in what is drawn by numbers."""
    written = ways[type(item)](item)
    return written if isinstance(item, _HOLDERS) else mask(written)


def _signed(note: Note) -> str:
    return f"{views.SIGNS[note.tone]} {note.text}".strip()


def _table(grid: views.Grid) -> Table:
    columns = tuple(Column(each.text, each.numeric) for each in grid.headings)
    return Table(grid.caption, columns, tuple(row.cells for row in grid.rows), tuple(row.hovers for row in grid.rows))


def _step(step: views.Step) -> str:
    return f"{_STATES[step.state]} {step.text}{f' ({step.note})' if step.note else ''}"


def _step_html(step: views.Step) -> str:
    over = f' title="{escape(step.hover)}"' if step.hover else ""
    return f"<span{over}>{escape(_step(step))}</span>"


def _split(split: views.Split) -> tuple[Item, ...]:
    """The list, and what is open of it."""
    opened = split.drawer
    return (*split.items, *((Note(f"{opened.title}: {opened.id}, {opened.status}"), *opened.items) if opened else ()))


def _listed(sequence: views.Sequence) -> views.Grid:
    """The steps that are unfolded, one a row."""
    lanes = sequence.lanes
    rows = tuple(
        views.Row(
            each.id, (each.at, lanes[each.source], lanes[each.target], each.text, each.response), hovers=(each.hover,)
        )
        for band in sequence.bands for each in band.arrows
    )  # fmt: skip
    return views.Grid(sequence.label, views.headings("time (Lusaka)", "from", "to", "what", "response"), rows)


def _lines(form: views.Form) -> dict[str, str]:
    """What a form holds, in one line each; texts of several lines stand below it."""
    return {each.label: _filled_in(each) for each in form.fields if each.type != _AREA}


def _filled_in(field: views.Field) -> str:
    value = dict(field.options).get(field.value, field.value)
    return f"{value} ({views.SIGNS[BAD]} {field.error})" if field.error else value


def _areas(form: views.Form) -> tuple[views.Code, ...]:
    return tuple(views.Code(each.label, each.value) for each in form.fields if each.type == _AREA)


def _form_text(form: views.Form) -> str:
    label, lines = f"{form.label} {_LIVE}", _lines(form)
    return "\n".join([str(pairs(label, lines)) if lines else label, *_texts(_areas(form))])


def _form_html(form: views.Form) -> str:
    lines = _lines(form)
    return (pairs(f"{form.label} {_LIVE}", lines).html() if lines else "") + _htmls(_areas(form))


_TEXT: Mapping[type, Callable[[Any], str]] = {
    **dict.fromkeys((views.Actions, views.Fold, views.Menu), lambda _: ""),
    Note: _signed,
    views.Facts: lambda facts: "\n".join(visible(f"{name}: {value}") for name, value, *_ in facts.pairs),
    views.Grid: lambda grid: str(_table(grid)) if grid.rows else f"{grid.caption}: {grid.empty}",
    views.Form: _form_text,
    views.Code: lambda code: f"{code.label}:\n{code.text}",
    views.Picture: lambda picture: picture.says,
    views.Beside: lambda beside: "\n\n".join(_texts(beside.items)),
    views.Sequence: lambda sequence: _drawn(_TEXT, _listed(sequence)),
    views.Split: lambda split: "\n\n".join(_texts(_split(split))),
    views.Steps: lambda steps: f"{steps.label}: {' → '.join(map(_step, steps.steps))}",
    views.Slot: lambda slot: "\n".join(_texts(slot.instead)),
}
"""What is unfolded by a person is left out of the text, and buttons stand for nothing there."""

_HTML: Mapping[type, Callable[[Any], str]] = {
    **dict.fromkeys((views.Actions, views.Menu), lambda _: ""),
    Note: lambda note: f"<p>{escape(_signed(note))}</p>",
    views.Facts: lambda facts: pairs("", {name: value for name, value, *_ in facts.pairs}).html(),
    views.Grid: lambda grid: _table(grid).html() if grid.rows else f"<p>{escape(f'{grid.caption}: {grid.empty}')}</p>",
    views.Form: _form_html,
    views.Code: lambda code: f"<p>{escape(code.label)}</p>{preformatted(code.text, code.label)}",
    views.Picture: lambda picture: f"<figure>{picture.svg}<figcaption>{escape(picture.says)}</figcaption></figure>",
    views.Fold: lambda fold: f"<details><summary>{escape(fold.label)}</summary>{_htmls(fold.items)}</details>",
    views.Beside: lambda beside: _htmls(beside.items),
    views.Sequence: lambda sequence: _drawn(_HTML, _listed(sequence)),
    views.Split: lambda split: _htmls(_split(split)),
    views.Steps: lambda steps: f"<p>{escape(steps.label)}: {' → '.join(map(_step_html, steps.steps))}</p>",
    views.Slot: lambda slot: _htmls(slot.instead),
}


class Board:
    """Sections under one title. While it is shown, it is drawn anew when `watch`, the session's, calls back.

    `name` is what its style sheet knows it by, `read` is called before the sections are asked what they show, and
    `slot` gives the widget of a place that a section leaves for one.
    """

    def __init__(
        self,
        title: str,
        sections: Sequence[BoardSection],
        watch: Callable[[Callable[[], object]], Callable[[], None]],
        *,
        name: str = "",
        read: Callable[[], object] = lambda: None,
        slot: Callable[[str], Widget] | None = None,
    ) -> None:
        self.title = title
        self.name = name
        self._sections = {each.id: each for each in sections}
        self._watch = watch
        self._read = read
        self._slot = slot
        self._lock = RLock()
        self._widget: BoardWidget | None = None
        self._unwatch: Callable[[], None] | None = None
        self._said: dict[str, Any] = {}
        """The message of the status line, as it travels."""
        self._code: tuple[Item, ...] = ()

    @property
    def message(self) -> str:
        """The message of the status line."""
        return str(self._said.get("text", ""))

    def sections(self) -> tuple[Section, ...]:
        """What is to be seen now; where the sandbox does not answer, what was seen last, and that it does not."""
        with self._lock:
            unread: tuple[Section, ...] = ()
            try:
                self._read()
            except WorkbenchError as error:
                unread = (Section("unread", "No answer", (Note(str(error), BAD),)),)
            return (*unread, *(each.section() for each in self._sections.values()))

    @property
    def widget(self) -> "BoardWidget":
        """The board to touch, for JupyterLab; one, however often it is shown."""
        if self._widget is None:
            from workbench.lab.board_widget import BoardWidget

            self._widget = BoardWidget(self._act, self._shown)
            self._shown(is_shown=True)
        return self._widget

    def live_sections(self) -> tuple[Section, ...]:
        """What is to be seen where one can touch it: all, unless a board shows one thing at a time."""
        return self.sections()

    def refresh(self) -> None:
        """Draw what has changed since."""
        with self._lock:
            if self._widget is not None:
                sections = self.live_sections()
                view = {"title": self.title, "name": self.name, "sections": as_data(sections)}
                self._widget.show({**view, "widgets": self._widgets(sections), **self._status()})

    def do(self, section: str, name: str, on: str = "", **values: str) -> Message | None:
        """Press a button: what a click does, for a script. An error of the service is a message, not raised."""
        with self._lock:
            message = self._handle(section, name, on, values)
            if message is not None:
                self.say(message)
                self._code = message.code
            return message

    def say(self, message: Message) -> None:
        """Show a message in the board's status line."""
        text = visible(message.text, lines=True)
        self._said = {"text": text, "tone": message.tone, "number": self._said.get("number", 0) + 1}
        if message.leads is not None:
            self._said["leads"] = as_data(message.leads)

    def __repr__(self) -> str:
        return text(self.title, self.sections())

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        sections = self.sections()
        shown = bundle(text(self.title, sections), html(self.title, sections))
        return with_widget(shown, lambda: self.widget)

    def _widgets(self, sections: tuple[Section, ...]) -> dict[str, str]:
        made: dict[str, str] = {}
        for place in slots(tuple(each for section in sections for each in section.items)):
            # Without its widget, what stands in its place is drawn.
            with suppress(WorkbenchError):
                made |= {place.on: self._slot(place.on).model_id} if self._slot else {}
        return made

    def _status(self) -> dict[str, Any]:
        return {"said": self._said, "code": as_data(self._code)}

    def _act(self, pressed: dict[str, Any]) -> None:
        """What the browser sends: press the button, draw, acknowledge."""
        values = {str(name): str(value) for name, value in dict(pressed.get("values") or {}).items()}
        with self._lock:
            try:
                on = str(pressed.get("on") or "")
                message = self.do(str(pressed.get("part")), str(pressed.get("do")), on, **values)
                self.refresh()
                if message is not None:
                    self.widget.hand_over(message)
            except Exception:
                # Over what was drawn last: to draw anew may be what failed.
                self.say(Message(BROKEN, BAD))
                self.widget.show({**self.widget.view, **self._status()})
                raise
            finally:
                # A button that is not acknowledged waits, and then blames the kernel.
                self.widget.answered = int(pressed.get("id") or 0)

    def _shown(self, *, is_shown: bool) -> None:
        """Follow what happens while somebody looks: a cell that is run again leaves a board that nobody sees."""
        with self._lock:
            if is_shown and self._unwatch is None:
                self._unwatch = self._watch(self.refresh)
                self.refresh()
            elif not is_shown and self._unwatch is not None:
                self._unwatch()
                self._unwatch = None

    def _handle(self, section: str, name: str, on: str, values: dict[str, str]) -> Message | None:
        found = self._sections.get(section)
        handler = found.handler(name) if found else None
        if handler is None:
            return Message("This board has changed: run its cell again.", BAD)
        try:
            return handler(on, {each: whole_text(value) for each, value in values.items()})
        except WorkbenchError as error:
            return None if name == FOLLOW else Message(str(error), BAD, leads=self._leads(error))

    def _leads(self, error: WorkbenchError) -> Action | None:  # noqa: ARG002  for who knows where
        """Where a person looks further after an error."""
        return None
