"""Markdown, as far as our own pages use it, as HTML or for a terminal; the base installation brings no library for it.

Headings, paragraphs, flat lists, tables and fenced code; within them code, bold and italic text, links, pictures and
named places.
"""

import re
from collections.abc import Callable
from html import escape
from typing import Final, NamedTuple

from workbench.render import LONGEST, table, wrapped

Link = Callable[[str], str | None]
"""Where a link or picture of the text leads from the page that is made; None where there is nothing to lead to."""


class Document(NamedTuple):
    """A text as HTML: its first heading apart, and the anchor and title of each heading of the second level."""

    title: str
    html: str
    headings: list[tuple[str, str]]


_BLOCK: Final = re.compile(
    r"^```\w*\n(?P<code>(?s:.*?))^```$"
    r"|^(?P<level>#{1,3}) (?P<heading>.+)$"
    r"|^(?P<table>\|.*(?:\n\|.*)*)"
    r"|^(?P<items>(?P<mark>-|\d+\.) .*(?:\n.+)*)"
    r"|^<!--.*-->$"
    r"|^(?P<paragraph>.+(?:\n(?!```|<!--|\|).+)*)",
    re.MULTILINE,
)
_ITEM: Final = re.compile(r"^(?:-|\d+\.) ", re.MULTILINE)
_SOFT_BREAK: Final = re.compile(r"\n *(?![ -]|\d+\. )")
_CELL: Final = re.compile(r"(?<!\\)\|")
_INLINE: Final = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>.+?)\*\*"
    r"|\*(?P<em>[^\s*][^*]*)\*"
    r"|(?P<picture>!)?\[(?P<text>(?:`[^`]*`|[^]`])+)\]\((?P<href>[^)\s]+)\)"
    r'|<a id="(?P<id>[^"]+)"></a>',
    re.DOTALL,
)
_PLACE: Final = re.compile(r'<a id="([^"]+)"></a>')


def rendered(text: str, link: Link) -> Document:
    """The text as HTML."""
    title, parts, headings = "", [], []
    for found in _BLOCK.finditer(text):
        if found["level"] == "#":
            title = found["heading"]
        elif found["level"] == "##":
            place, plain = anchor(found["heading"]), _plain(found["heading"])
            headings.append((place, plain))
        if found["level"] != "#":
            parts.append(_block(found, link))
    return Document(title, "\n".join(filter(None, parts)), headings)


def in_lines(text: str, width: int) -> str:
    """The text for a terminal: its tables in columns, other lines wrapped; code stays as it is."""

    def block(found: re.Match[str]) -> str:
        if found["table"]:
            head, _, *rows = _cells(found["table"])
            return table("", head, rows).text(width)
        return found[0] if found["code"] is not None else wrapped(_SOFT_BREAK.sub(" ", found[0]), min(width, LONGEST))

    return _BLOCK.sub(block, _PLACE.sub("", text))


def anchor(heading: str) -> str:
    """Where a heading stands: the place that it names, or what code-hosting sites make of its words."""
    named = _PLACE.search(heading)
    return named[1] if named else re.sub(r"[^\w -]", "", _plain(heading).lower()).replace(" ", "-")


def _plain(heading: str) -> str:
    return _PLACE.sub("", heading).replace("`", "")


def _block(found: re.Match[str], link: Link) -> str:
    if found["code"] is not None:
        return f"<pre><code>{escape(found['code'], quote=False)}</code></pre>"
    if found["level"]:
        level, heading = len(found["level"]), found["heading"]
        return f'<h{level} id="{escape(anchor(heading))}">{_inline(_PLACE.sub("", heading), link)}</h{level}>'
    if found["table"]:
        return _table(found["table"], link)
    if found["items"]:
        kind = "ul" if found["mark"] == "-" else "ol"
        items = "\n".join(f"<li>{_inline(each.strip(), link)}</li>" for each in _ITEM.split(found["items"])[1:])
        return f"<{kind}>\n{items}\n</{kind}>"
    return f"<p>{_inline(found['paragraph'], link)}</p>" if found["paragraph"] else ""


def _cells(text: str) -> list[list[str]]:
    return [
        [cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip())[1:-1]] for line in text.splitlines()
    ]


def _table(text: str, link: Link) -> str:
    head, _, *body = _cells(text)
    names = "".join(f'<th scope="col">{_inline(cell, link)}</th>' for cell in head)
    rows = "\n".join(_row(first, rest, link) for first, *rest in body)
    return f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _row(first: str, rest: list[str], link: Link) -> str:
    named = _PLACE.search(first)
    opening = f'<tr id="{escape(named[1])}">' if named else "<tr>"
    cells = "".join(f"<td>{_inline(cell, link)}</td>" for cell in rest)
    return f'{opening}<th scope="row">{_inline(_PLACE.sub("", first), link)}</th>{cells}</tr>'


def _inline(text: str, link: Link) -> str:
    done, parts = 0, []
    for found in _INLINE.finditer(text):
        parts += [escape(text[done : found.start()], quote=False), _marked(found, link)]
        done = found.end()
    return "".join([*parts, escape(text[done:], quote=False)])


def _marked(found: re.Match[str], link: Link) -> str:
    if found["code"]:
        return f"<code>{escape(found['code'], quote=False)}</code>"
    if found["id"]:
        return f'<span id="{escape(found["id"])}"></span>'
    for tag in ("strong", "em"):
        if found[tag]:
            return f"<{tag}>{_inline(found[tag], link)}</{tag}>"
    text, leads = _inline(found["text"], link), link(found["href"])
    if found["picture"]:
        return f'<img alt="{escape(found["text"])}" src="{escape(leads or "")}">'
    return text if leads is None else f'<a href="{escape(leads)}">{text}</a>'
