"""Turns Markdown into HTML or terminal text without a library, as far as the workbench's pages need.

It handles headings, paragraphs, flat lists, tables and fenced code; within them code, bold and italic text, links,
pictures and anchors.
"""

import re
from collections.abc import Callable
from html import escape, unescape
from typing import Final, NamedTuple

from workbench.text.render import LONGEST, table, wrapped

Link = Callable[[str], str | None]
"""A function from the target of a link or picture to its address on the page; None makes it text without a link."""


class Document(NamedTuple):
    """A text as HTML: its first heading separately, and the anchor and title of each second-level heading."""

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
_CODE: Final = r"`(?P<code>[^`]+)`"
_LINK: Final = r"(?P<picture>!)?\[(?P<text>(?:`[^`]*`|[^]`])+)\]\((?P<href>[^)\s]+)\)"
_INLINE: Final = re.compile(
    rf"{_CODE}"
    r"|\*\*(?P<strong>.+?)\*\*"
    r"|\*(?P<em>[^\s*][^*]*)\*"
    rf"|{_LINK}"
    r'|&lt;a id="(?P<id>[^"]+)"&gt;&lt;/a&gt;',
    re.DOTALL,
)
_LINKED: Final = re.compile(rf"{_CODE}|{_LINK}", re.DOTALL)
_PLACE: Final = re.compile(r'<a id="([^"]+)"></a>')
_NOTE: Final = re.compile(r"(?<=\n\n)<!--.*-->\n\n?|^<!--.*-->\n", re.MULTILINE)


def rendered(text: str, link: Link) -> Document:
    """A text in Markdown as HTML."""
    title, parts, headings = "", list[str](), list[tuple[str, str]]()
    for block in _BLOCK.finditer(text):
        if block["level"] == "#":
            title = block["heading"]
            continue
        if block["level"] == "##":
            headings.append((_anchor(block["heading"]), _plain(block["heading"])))
        parts.append(_block(block, link))
    return Document(title, "\n".join(filter(None, parts)), headings)


def in_lines(text: str, width: int, reached_by: Link) -> str:
    """A text in Markdown for a terminal: tables in columns, other lines wrapped to `width` characters, code unchanged.

    A link is its text, followed by what `reached_by` returns for its target, unless that is None. A picture is its
    description, and comments are omitted.
    """

    def linked(part: re.Match[str]) -> str:
        if part["code"]:
            return part[0]
        if part["picture"]:
            return f"Picture: {part['text']}"
        leads = reached_by(part["href"])
        return f"{part['text']} ({leads})" if leads else part["text"]

    def block(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        linked_text = _LINKED.sub(linked, match[0])
        if match["table"]:
            head, _, *rows = _cells(linked_text)
            return table("", head, rows).text(width)
        return wrapped(_SOFT_BREAK.sub(" ", linked_text), min(width, LONGEST))

    return _BLOCK.sub(block, _NOTE.sub("", _PLACE.sub("", text)))


def _anchor(heading: str) -> str:
    """The anchor of a heading: the one that it declares, else its words in the form of code-hosting sites."""
    named = _PLACE.search(heading)
    return named[1] if named else re.sub(r"[^\w -]", "", _plain(heading).lower()).replace(" ", "-")


def _plain(heading: str) -> str:
    return _PLACE.sub("", heading).replace("`", "")


def _block(block: re.Match[str], link: Link) -> str:
    if block["code"] is not None:
        return f"<pre><code>{escape(block['code'], quote=False)}</code></pre>"
    if block["level"]:
        level, heading = len(block["level"]), block["heading"]
        return f'<h{level} id="{escape(_anchor(heading))}">{_inline(_PLACE.sub("", heading), link)}</h{level}>'
    if block["table"]:
        return _table(block["table"], link)
    if block["items"]:
        kind = "ul" if block["mark"] == "-" else "ol"
        items = "\n".join(f"<li>{_inline(item.strip(), link)}</li>" for item in _ITEM.split(block["items"])[1:])
        return f"<{kind}>\n{items}\n</{kind}>"
    return f"<p>{_inline(block['paragraph'], link)}</p>" if block["paragraph"] else ""


def _cells(text: str) -> list[list[str]]:
    return [
        [cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip())[1:-1]] for line in text.splitlines()
    ]


def _table(text: str, link: Link) -> str:
    head, _, *body = _cells(text)
    names = "".join(_heading("col", cell, link) for cell in head)
    rows = ""
    for first, *others in body:
        named = _PLACE.search(first)
        place = f' id="{escape(named[1])}"' if named else ""
        cells = "".join(f"<td>{_inline(cell, link)}</td>" for cell in others)
        rows += f"<tr{place}>{_heading('row', _PLACE.sub('', first), link)}{cells}</tr>\n"
    return f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _heading(scope: str, text: str, link: Link) -> str:
    """The header cell of a column or a row; an ordinary cell if the text is empty."""
    return f'<th scope="{scope}">{_inline(text, link)}</th>' if text.strip() else "<td></td>"


def _inline(text: str, link: Link) -> str:
    """The text as HTML, with its code, bold and italic text, links, pictures and anchors."""
    return _marked_up(escape(text, quote=False), link)


def _marked_up(text: str, link: Link) -> str:
    def marked(part: re.Match[str]) -> str:
        if part["code"]:
            return f"<code>{part['code']}</code>"
        if part["id"]:
            return f'<span id="{part["id"]}"></span>'
        for tag in ("strong", "em"):
            if part[tag]:
                return f"<{tag}>{_marked_up(part[tag], link)}</{tag}>"
        address = link(unescape(part["href"]))
        if part["picture"]:
            return f'<img alt="{escape(unescape(part["text"]))}" src="{escape(address or "")}">'
        inner = _marked_up(part["text"], link)
        return inner if address is None else f'<a href="{escape(address)}">{inner}</a>'

    return _INLINE.sub(marked, text)
