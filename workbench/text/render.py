"""Tables, pictures and pages, as text and as semantic HTML; detects whether a person sees this kernel's output."""

import os
import re
import shutil
import sys
import textwrap
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from io import BytesIO
from itertools import pairwise, repeat, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

from workbench.domain.moments import IN_LUSAKA, LUSAKA, milliseconds, rfc3339, utc_text
from workbench.errors import ExtraMissing
from workbench.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

PERSONS: Final = ("JPY_SESSION_NAME", "VSCODE_PID")
"""Environment variables that a Jupyter server (the first) and VS Code (the second) set for notebook kernels."""
DOCKED: Final = "WORKBENCH_PHONE_IS_DOCKED"
"""The environment variable that `workbench lab` sets for kernels, since it shows a simulated phone beside notebooks."""
_VIEW = "application/vnd.jupyter.widget-view+json"


class Widget(Protocol):
    """The type of an ipywidgets DOMWidget, with only what this module uses: ipywidgets need not be loaded."""

    @property
    def model_id(self) -> str:
        """The id of the widget's model, by which a page displays it."""


def is_live() -> bool:
    """True if this kernel was started for a person at a Jupyter server or in VS Code."""
    return any(variable in os.environ for variable in PERSONS)


def with_widget(shown: Mapping[str, object], widget: Callable[[], Widget]) -> dict[str, object]:
    """The MIME bundle `shown` with, if a person sees the output, the view of a widget added.

    A headless run omits the view, since model ids differ in every run.
    """
    if is_live():
        # A kernel elsewhere than JupyterLab, without the extra, shows what a headless run does.
        with suppress(ExtraMissing):
            return {**shown, _VIEW: {"version_major": 2, "version_minor": 0, "model_id": widget().model_id}}
    return {**shown}


def is_docked() -> bool:
    """True if a simulated phone is shown beside the notebook of this kernel."""
    return DOCKED in os.environ


class LiveLine:
    """A line below the running cell, which a headless run neither shows nor saves."""

    _handle: Any = None

    def show(self, text: str) -> None:
        """Shows `text` below the running cell, in place of the earlier text; an empty text removes the line."""
        ipython: Any = sys.modules.get("IPython")
        # Output of another thread lands in whichever cell runs.
        if ipython and is_live() and threading.current_thread() is threading.main_thread() and (text or self._handle):
            show = self._handle.update if self._handle else partial(ipython.display.display, display_id=True)
            shown = show({"text/plain": text} if text else {}, raw=True)
            self._handle = (self._handle or shown) if text else None


_EMPTY = "(none)"
_MOMENT: Final = re.compile(IN_LUSAKA.pattern.removesuffix(" in Lusaka"))
_GAP, _READABLE = "  ", 20
"""The gap between two columns, and the least legible width of a column of text, in characters."""
LONGEST: Final = 120
"""The most characters in a line of a paragraph, however wide the terminal is."""
_BEGINS: Final = re.compile(r"\s*(?:(?:-|\d+\.) +(?:\[[ x]\] +)?)?")
"""The indentation of a line, with the marker of a list item."""


def terminal_width(*, only_of_terminal: bool = False) -> int | None:
    """The number in the variable COLUMNS, else the width of the terminal on standard output; None without either.

    With `only_of_terminal`, COLUMNS counts only if there is a terminal.
    """
    has_columns = os.environ.get("COLUMNS", "").lstrip("0").isdecimal() and not only_of_terminal
    return max(shutil.get_terminal_size().columns, _READABLE) if has_columns or sys.stdout.isatty() else None


def wrapped(text: str, width: int | None) -> str:
    """The text in lines of at most `width` characters; a longer word, such as a path, is not split."""
    if width is None or len(text) <= width:
        return text
    wrap = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrap(line, subsequent_indent=" " * len(_BEGINS.findall(line)[0])) for line in text.split("\n"))


def beside(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool] = ()) -> Iterator[str]:
    """Yields the lines of cells side by side, each wrapped to its width; a true `numeric` aligns its cell right."""
    columns = (wrapped(cell, width).split("\n") for cell, width in zip(cells, widths, strict=True))
    for texts in zip_longest(*columns, fillvalue=""):
        shape = zip(texts, widths, numeric or repeat(None), strict=False)
        yield _GAP.join(text.rjust(width) if right else text.ljust(width) for text, width, right in shape).rstrip()


class DisplayColumn(NamedTuple):
    """A column of a DisplayTable; `numeric` aligns it right. Cells link to `link`, in which `{}` is the cell's text.

    In an `in_lusaka` column, whose cells are moments in Lusaka, HTML has the UTC moment as tooltip.
    """

    heading: str
    numeric: bool = False
    link: str = ""
    in_lusaka: bool = False


class Tabular:
    """The base of objects that display themselves as one or more tables."""

    _width: ClassVar[int | None] = None
    """The usual limit of a line of the text, in characters; None sets no limit."""

    def _table(self) -> "DisplayTable":
        raise NotImplementedError

    def _tables(self) -> "Iterable[DisplayTable]":
        return [self._table()]

    def text(self, width: int | None = None) -> str:
        """The tables as text; with a `width`, in lines of at most that many characters."""
        return "\n\n".join(table.text(width or self._width) for table in self._tables())

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, **_: object) -> Mapping[str, object]:
        return bundle(repr(self), "".join(table.html() for table in self._tables()))


@dataclass(frozen=True, repr=False)
class DisplayTable(Tabular):
    """A captioned table that displays itself as text and as HTML; line breaks in a cell are shown as symbols.

    `titles` has a line for each row; the text form shows it above the row unless it is empty. A further line in
    `titles` comes after the last row.
    """

    caption: str
    columns: tuple[DisplayColumn, ...]
    rows: tuple[tuple[str, ...], ...]
    titles: tuple[str, ...] = ()

    def _table(self) -> "DisplayTable":
        return self

    def text(self, width: int | None = None) -> str:
        """The table as text; with a `width`, no line is longer, except for a single longer word.

        Headings and text columns are wrapped. If the columns would then be too narrow to read, each row takes several
        lines, below headings in the same arrangement.
        """
        headings, *rows = [[*map(visible, row)] for row in ([column.heading for column in self.columns], *self.rows)]
        widths, parts = self._fitted([*zip(headings, *rows, strict=True)], width or sys.maxsize)
        lines = [wrapped(visible(self.caption), width)] if self.caption else []
        lines += [
            self._lines(headings, widths, parts),
            self._lines(["─" * width for width in widths], widths, parts[:1]),
        ]
        for row, title in zip_longest(rows, self.titles):
            lines += [wrapped(visible(title), width)] if title else []
            lines += [] if row is None else [self._lines(row, widths, parts)]
        return "\n".join(lines if rows else [*lines, _EMPTY])

    def _fitted(self, columns: Sequence[Sequence[str]], width: int) -> tuple[list[int], list[slice]]:
        """The width of each column, and a slice of the columns for each line of a row.

        `columns` has the texts of each column, the heading first.
        """

        def longest(texts: Iterable[str]) -> int:
            return max(map(len, texts), default=0)

        room, widths, least = width - len(_GAP) * (len(columns) - 1), [*map(longest, columns)], []
        for column, (heading, *cells) in zip(self.columns, columns, strict=True):
            whole = (*heading.split(), *(cells if column.numeric else " ".join(cells).split()))
            least.append(max(longest(whole), min(longest(cells), _READABLE)))
        if sum(least) <= room:
            while sum(widths) > room:
                above = [width if width > most else 0 for width, most in zip(widths, least, strict=True)]
                widths[above.index(max(above))] -= 1
            return widths, [slice(None)]
        # The further lines of a wrapped cell are indented once more.
        widths = [
            column_width if column_width <= width - len(_GAP) else width - 2 * len(_GAP) for column_width in widths
        ]
        cuts, used = [0], 0
        for index, column_width in enumerate(widths):
            if index and used + column_width > width:
                cuts, used = [*cuts, index], len(_GAP)
            used += column_width + len(_GAP)
        return widths, [slice(*cut) for cut in pairwise((*cuts, None))]

    def _lines(self, row: Sequence[str], widths: Sequence[int], parts: Iterable[slice]) -> str:
        numeric = [column.numeric for column in self.columns]
        lines: list[str] = []
        for columns in parts:
            first, *others = beside(row[columns], widths[columns], numeric[columns])
            indent, hangs = _GAP * bool(columns.start), bool(columns.start) and len(row[columns]) == 1
            lines += [f"{indent}{first}" if first else "", *(f"{indent}{_GAP * hangs}{line}" for line in others)]
        return "\n".join(filter(None, lines))

    def html(self) -> str:
        """The table as HTML: a `<table>` with a caption and column headings, without script or style sheet."""
        head = self._row("th", ' scope="col"', [column.heading for column in self.columns])
        body = "".join(self._row("td", "", row) for row in self.rows)
        body = body or f'<tr><td colspan="{len(self.columns)}">{_EMPTY}</td></tr>'
        caption = f"<caption>{_text(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"

    def _row(self, tag: str, attributes: str, texts: Sequence[str]) -> str:
        cells = ""
        for text, column in zip(texts, self.columns, strict=True):
            align = "right" if column.numeric else "left"
            shown = (_MOMENT if column.in_lusaka else IN_LUSAKA).sub(_with_utc, _text(text))
            if column.link and tag == "td":
                shown = f'<a href="{_text(column.link.format(text))}">{shown}</a>'
            cells += f'<{tag}{attributes} style="text-align:{align}">{shown}</{tag}>'
        return f"<tr>{cells}</tr>"


def bundle(text: str, html: str) -> dict[str, str]:
    """The value of `_repr_mimebundle_`: HTML for displays that support it, and text for others."""
    return {"text/plain": text, "text/html": html}


class Saved(NamedTuple):
    """The part of a live display that an executed notebook keeps: text and HTML with the same facts, no script."""

    text: str
    html: str

    @property
    def bundle(self) -> dict[str, str]:
        """The value of `_repr_mimebundle_`."""
        return bundle(*self)


def sentence(text: str) -> str:
    """The text as HTML with its line breaks; a moment in Lusaka has the UTC moment as tooltip."""
    return IN_LUSAKA.sub(_with_utc, escape(visible(text, lines=True)).replace("\n", "<br>"))


def _with_utc(match: re.Match[str]) -> str:
    at = milliseconds(datetime.fromisoformat(match[1]).replace(tzinfo=LUSAKA))
    return f'<time datetime="{rfc3339(at)}" title="{utc_text(at)}">{match[0]}</time>'


def preformatted(text: str, label: str) -> str:
    """The text as HTML with its line breaks; screen readers read the `label`."""
    style = "font-family:monospace;margin:0 0 1em"
    return f'<pre role="group" aria-label="{_text(label)}" style="{style}">{escape(visible(text, lines=True))}</pre>'


def indented(text: str) -> str:
    """JSON with line breaks and indentation, every number as written; any other text unchanged."""
    import msgspec

    try:
        return msgspec.json.format(text.encode(), indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text


def pairs(caption: str, values: Mapping[str, str]) -> DisplayTable:
    """A table with two columns: names and values."""
    return DisplayTable(caption, (DisplayColumn("field"), DisplayColumn("value")), tuple(values.items()))


def table(caption: str, columns: Iterable[str | DisplayColumn], rows: Iterable[Sequence[object]]) -> DisplayTable:
    """A table from headings and rows; cells that are not text are converted by `str`.

    Raises ValueError: a row has more or fewer cells than there are headings.
    """
    headings = tuple(column if isinstance(column, DisplayColumn) else DisplayColumn(column) for column in columns)
    cells = tuple(tuple(map(str, row)) for row in rows)
    for row in cells:
        if len(row) != len(headings):
            message = f"a row has {len(row)} cells, and the table has {len(headings)} headings: {row}"
            raise ValueError(message)
    return DisplayTable(caption, headings, cells)


def _text(line: str) -> str:
    return escape(visible(line))


@dataclass(frozen=True, repr=False)
class Picture:
    """A PNG image, and a description for readers who cannot see it."""

    png: bytes
    says: str

    def __repr__(self) -> str:
        return visible(self.says, lines=True)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        data = {"text/plain": repr(self), "image/png": b64encode(self.png).decode()}
        return data, {"image/png": {"alt": repr(self)}}


def picture(figure: "Figure", says: str) -> Picture:
    """A figure as a PNG image with the same bytes in every run; `says` describes it.

    >>> picture(figure, "Ten attempts, the last after three days.")  # doctest: +SKIP
    """
    written = BytesIO()
    # Without this, the file would contain the version of the library.
    figure.savefig(written, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    return Picture(written.getvalue(), says)


def percent(part: int, whole: int) -> str:
    """A share in percent with two decimals, truncated, so that only the whole is `100.00 %`; `none` if `whole` is 0."""
    if not whole:
        return "none"
    hundredths = part * 10_000 // whole
    return f"{hundredths // 100}.{hundredths % 100:02} %"


# Pages

_HEADING: Final = re.compile(r'<h([1-3])\b[^>]*?\bid="([^"]+)"[^>]*>(.+?)(?:<a class="anchor-link"|</h\1>)', re.DOTALL)
_TAG: Final = re.compile(r"<[^>]+>")


class Heading(NamedTuple):
    """A heading of a page: its level, its id for links, and its text as HTML."""

    level: int
    id: str
    text: str


def headings(html: str, depth: int = 3) -> list[Heading]:
    """The headings with an id in this HTML, in order, down to the level `depth`: 3 for h3."""
    all_levels = (Heading(int(level), anchor, _TAG.sub("", text)) for level, anchor, text in _HEADING.findall(html))
    return [heading for heading in all_levels if heading.level <= depth]


def data_url(content: bytes, kind: str) -> str:
    """A data: URL with the file `content`, whose media type is `kind`."""
    return f"data:{kind};base64,{b64encode(content).decode()}"


def templates(package: str = "workbench", finalize: Callable[[Any], Any] | None = None) -> "Environment":
    """The templates of a package by file name; they extend base.html, the frame of every page.

    `finalize` converts each value before a template writes it.
    """
    from importlib.resources import files

    from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape
    from markupsafe import Markup

    folders = (files(name).joinpath("templates") for name in ("workbench", package))
    texts = {path.name: path.read_text("utf-8") for folder in folders for path in folder.iterdir()}
    environment = Environment(
        loader=DictLoader(texts), autoescape=select_autoescape(["html"]), undefined=StrictUndefined, finalize=finalize,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    mark = texts["mark.svg"]
    inline = Markup(mark.replace(' xmlns="http://www.w3.org/2000/svg"', ' aria-hidden="true"'))  # noqa: S704  our own
    environment.globals |= {"asset": None, "icon": data_url(mark.encode(), "image/svg+xml"), "mark": inline}
    environment.filters |= {"headings": headings}
    return environment


def offline_page(title: str, kind: str, content: str, **values: object) -> str:
    """A page for reading offline with the HTML `content`: one file that has no script and loads nothing.

    `kind` is a word for the kind of page, shown at its top; `values` are further values for base.html.
    """
    return templates().get_template("base.html").render(title=visible(title), kind=kind, content=content, **values)
