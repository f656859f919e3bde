"""What a board shows, as data: sections of notes, tables, forms and code. Drawn by `board.py` and `static/`."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from workbench.visible import visible

DONE, NOW, AHEAD, FAILED = "done", "now", "ahead", "failed"
"""The states of a step."""
PLAIN, GOOD, BAD, WARN = "plain", "good", "bad", "warn"
"""The tones of a note. Each has a sign of its own beside its colour."""
SIGNS = {PLAIN: "", GOOD: "✓", BAD: "✗", WARN: "!"}


class _View(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=str.lower):
    """A piece of a board. `kind`, its class's name in small letters, is how it travels to the browser."""


class Action(_View, frozen=True):
    """A button. `do` names what it does in its section, `on` what it does it to.

    With `confirm` it asks that first; with `off` it cannot be pressed, for the reason given. `expanded` is "yes" or
    "no" where it unfolds and folds up what is beneath its row.
    """

    do: str
    label: str
    on: str = ""
    primary: bool = False
    confirm: str = ""
    off: str = ""
    expanded: str = ""


class Actions(_View, frozen=True):
    """Buttons in a row; `label` names the group."""

    label: str
    actions: tuple[Action, ...]


class Note(_View, frozen=True):
    """A sentence; its tone is plain, good, bad or warn."""

    text: str
    tone: str = PLAIN


Fact: TypeAlias = tuple[str, str] | tuple[str, str, str]


class Facts(_View, frozen=True):
    """Names and values; those whose names are `pills` are statuses, as in a table's column of them.

    What stands third is shown over the value: of a moment in Lusaka, the one in UTC.
    """

    pairs: tuple[Fact, ...]
    pills: tuple[str, ...] = ()


class Heading(_View, frozen=True):
    """A column's heading; `numeric` columns are set flush right, and `pill` ones hold statuses.

    The tone of a status is that of the sign it begins with: "✓ succeeded".
    """

    text: str
    numeric: bool = False
    pill: bool = False


class Row(_View, frozen=True):
    """A row of a table, its buttons, and what unfolds beneath it, named by `more_label`.

    What is costly to read is `beneath` instead: it is there only while the row is unfolded. `hovers` are shown over
    the cells, in their order: the moment in UTC over one in Lusaka.
    """

    id: str
    cells: tuple[str, ...]
    actions: tuple[Action, ...] = ()
    more: tuple["Item", ...] = ()
    more_label: str = "Details"
    beneath: tuple["Item", ...] = ()
    hovers: tuple[str, ...] = ()


class Grid(_View, frozen=True):
    """A captioned table; `empty` is shown where it has no rows.

    Where it is narrow, the rows of one with buttons, or that may be `cards`, are laid out one below the other.
    With `opens` each row is a button, which asks the section to do that on its id; `opened` is the one that is open.
    """

    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    empty: str = "Nothing yet."
    cards: bool = False
    opens: str = ""
    opened: str = ""


class Field(_View, frozen=True):
    """Something to fill in; `type` is text, number, date, search, select, area or check ("yes" or "")."""

    name: str
    label: str
    value: str = ""
    type: str = "text"
    options: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    error: str = ""


class Form(_View, frozen=True):
    """Fields and buttons; Enter presses the primary one. With `follow` the section gets what is typed.

    In a `row` they stand side by side, as far as there is room.
    """

    id: str
    label: str
    fields: tuple[Field, ...]
    actions: tuple[Action, ...] = ()
    follow: bool = False
    row: bool = False


class Code(_View, frozen=True):
    """Text to read and to copy."""

    label: str
    text: str


class Picture(_View, frozen=True):
    """A drawing; `says` describes it in a sentence."""

    svg: str
    says: str


class Arrow(_View, frozen=True):
    """A step of a sequence: from one lane to another, by their places, and the response's way back if one came.

    `of` is the kind of its row in the trace, `at` its time in Lusaka and `hover` the moment in UTC; `bad` is what went
    wrong, `opened` what is looked into.
    """

    id: str
    at: str
    hover: str
    of: str
    source: int
    target: int
    text: str
    response: str = ""
    bad: bool = False
    opened: bool = False


class Band(_View, frozen=True):
    """The steps that belong together; those of a band that is folded up are not sent."""

    id: str
    fold: Action
    arrows: tuple[Arrow, ...] = ()


class Sequence(_View, frozen=True):
    """A sequence diagram of bands, whose arrows are buttons: each asks the section to `open` its id.

    One that is not `held` moves on with what happens. Of other rows, told by another `looks`, the start is shown.
    """

    label: str
    lanes: tuple[str, ...]
    bands: tuple[Band, ...]
    held: bool = False
    looks: int = 0


class Fold(_View, frozen=True):
    """Something that a person unfolds."""

    id: str
    label: str
    items: tuple["Item", ...]
    open: bool = False


class Beside(_View, frozen=True):
    """Pieces side by side, as far as there is room."""

    items: tuple["Item", ...]


class Drawer(_View, frozen=True):
    """All there is of one row, beside its list: its status, the id to copy, and the button that closes it.

    `row` is the row's id where it is another than the one to copy.
    """

    id: str
    title: str
    status: str
    items: tuple["Item", ...]
    close: Action
    row: str = ""


class Split(_View, frozen=True):
    """A list and the drawer of the row that is open, or the drawer alone where there is no room for both."""

    items: tuple["Item", ...]
    drawer: Drawer | None = None


class Menu(_View, frozen=True):
    """What to choose from, and what is chosen; a choice asks the section to `do` it, which is to `show` it."""

    label: str
    choices: tuple[tuple[str, str], ...]
    chosen: str
    do: str = "show"


class Step(_View, frozen=True):
    """Something on the way; its state is done, now, ahead or failed. `hover` is shown over its note."""

    text: str
    state: str
    note: str = ""
    hover: str = ""


class Steps(_View, frozen=True):
    """How far something has come."""

    label: str
    steps: tuple[Step, ...]


class Slot(_View, frozen=True):
    """The place of another widget, which the board knows by `on`; `instead` is drawn where there is none."""

    on: str
    label: str
    instead: tuple["Item", ...] = ()


ALWAYS = 10_000


class Section(_View, frozen=True):
    """A titled piece of a board; its `id` is that of its `BoardSection`. A `wide` one has a row to itself.

    On a board of fewer rem than `tab` it is one of several that are seen one at a time: `ALWAYS` is more than any
    board has. `badge` says on its tab how much there is, or what came of it.
    """

    id: str
    title: str
    items: tuple["Item", ...]
    wide: bool = False
    tab: int = 0
    badge: str = ""


Item: TypeAlias = (
    Note | Facts | Grid | Form | Actions | Code | Picture | Fold | Beside | Menu | Sequence | Split | Steps | Slot
)


def as_data(view: object) -> Any:  # noqa: ANN401  plain data, of any shape
    """A view as what JSON can hold, controls in what is to be read as symbols: a browser turns text round, too."""
    return _read(msgspec.to_builtins(view))


_TO_SEND_BACK = frozenset({"id", "on", "do", "name", "value", "chosen", "opened", "svg"})
"""What is typed, or tells the kernel what is meant, goes to the browser and comes back as it is."""
_CHOICES = frozenset({"options", "choices"})
_ONE_LINE = frozenset({"cells", "pairs"})


def _read(data: Any, name: str = "") -> Any:  # noqa: ANN401  plain data, of any shape
    if isinstance(data, str):
        return data if name in _TO_SEND_BACK else visible(data, lines=name not in _ONE_LINE)
    if isinstance(data, dict):
        return {each: _read(inner, each) for each, inner in data.items()}
    if name in _CHOICES:
        return [(value, visible(label)) for value, label in data]
    return [_read(each, name) for each in data] if isinstance(data, list | tuple) else data


def slots(items: tuple[Item, ...]) -> Iterator[Slot]:
    """The places of other widgets among these pieces, and within them."""
    for each in items:
        if isinstance(each, Slot):
            yield each
        elif isinstance(each, Beside):
            yield from slots(each.items)
        elif isinstance(each, Split):
            yield from slots((*each.items, *(each.drawer.items if each.drawer else ())))


def headings(*texts: str, numeric: tuple[str, ...] = (), pills: tuple[str, ...] = ()) -> tuple[Heading, ...]:
    """The headings of a table, those named in `numeric` flush right, those in `pills` over statuses."""
    return tuple(Heading(text, text in numeric, text in pills) for text in texts)
