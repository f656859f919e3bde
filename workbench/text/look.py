"""The look of all pages, served or written to a file: their frame, style sheets and mark."""

import re
from base64 import b64encode
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from workbench.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment

_HEADING: Final = re.compile(r'<h([1-3])\b[^>]*?\bid="([^"]+)"[^>]*>(.+?)(?:<a class="anchor-link"|</h\1>)', re.DOTALL)
_TAG: Final = re.compile(r"<[^>]+>")


class Heading(NamedTuple):
    """A heading of a page: its level, its id for links, and its text as HTML."""

    level: int
    id: str
    text: str


def headings(html: str, depth: int = 3) -> list[Heading]:
    """The headings with an id in this HTML, in their order, down to the level `depth`."""
    all_levels = (Heading(int(level), anchor, _TAG.sub("", text)) for level, anchor, text in _HEADING.findall(html))
    return [heading for heading in all_levels if heading.level <= depth]


def data_url(content: bytes, kind: str) -> str:
    """A data: URL that holds a file of the media type `kind`."""
    return f"data:{kind};base64,{b64encode(content).decode()}"


def templates(package: str = "workbench", finalize: Callable[[Any], Any] | None = None) -> "Environment":
    """The templates of a package, by the names of their files; they extend base.html, the frame of every page.

    `finalize` converts each value before a template writes it.
    """
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


def page(title: str, kind: str, content: str, **values: object) -> str:
    """HTML `content` as a page to read offline: one file without a script, which loads nothing from a network.

    `kind` is the kind of page, which stands at its top; `values` are further values for base.html.
    """
    return templates().get_template("base.html").render(title=visible(title), kind=kind, content=content, **values)
