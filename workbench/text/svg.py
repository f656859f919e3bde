"""Pictures in SVG: their elements, one palette for light and dark, and drawings with a text of the same facts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from workbench.domain.masking import mask, shortened, xml_text
from workbench.visible import visible

_PALETTE: Final = {
    "paper": ("#ffffff", "#14181f"), "ground": ("#f5f7fa", "#1b212a"), "ink": ("#1b2330", "#e6eaf0"),
    "faint": ("#566173", "#a3adbb"), "rule": ("#d8dee8", "#323a47"), "bad": ("#a3261c", "#ff9d94"),
    "blue": ("#0b5cad", "#7db8f5"), "purple": ("#6a3fa0", "#c6a8f0"), "green": ("#14663b", "#7fd6a4"),
    "brown": ("#7a4b00", "#e5b567"), "tint": ("#e6f0fb", "#1a2d43"),
}  # fmt: skip
"""Name → the colour on a light and on a dark page, as in the console. `tint` is the background of emphasised parts."""
PAPER, GROUND, INK, FAINT, RULE, BAD, BLUE, PURPLE, GREEN, BROWN, TINT = (light for light, _ in _PALETTE.values())
IN_THE_DARK: Final[Mapping[str, str]] = dict(_PALETTE.values())
_VARIABLES: Final = {light: f"--wb-{name}" for name, (light, _) in _PALETTE.items()}
VARIABLES: Final = "".join(f"{name}:light-dark({light},{IN_THE_DARK[light]});" for light, name in _VARIABLES.items())
"""The palette as CSS custom properties that follow the colour scheme of the surrounding page."""
_CLASS: Final = "wb-drawn"
FONT: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"
MONO: Final = "ui-monospace,'SFMono-Regular',Menlo,Consolas,'DejaVu Sans Mono',monospace"
_NARROW, _BROAD = frozenset(" iljtfrI.,:;'|!/()[]{}-"), frozenset("mwMW@%—…•✗→")
_USUAL: Final = 7.5
"""The average width of a character of normal size in a wide font; narrow ones take half, broad ones half more."""
HALO: Final = {"stroke": PAPER, "stroke_width": 4, "stroke_linejoin": "round", "paint_order": "stroke"}
"""A halo around a text, so that lines do not run through it."""
WIDTH, EDGE = 700, 16
"""The default width of a drawing, and the distance of its texts from the edge."""


class Drawing(NamedTuple):
    """A picture, and a text with the same facts."""

    svg: str
    says: str

    def __repr__(self) -> str:
        return self.says

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        # Without HTML, which Jupyter would show in place of the picture.
        return {"text/plain": self.says, "image/svg+xml": self.svg}, {"image/svg+xml": {"alt": self.says}}


def titled_svg(
    title: str, label: str, says: str, size: tuple[int, int], parts: Iterable[str], *, note: str = ""
) -> str:
    """A complete SVG of the elements `parts` on a background of this size, with a title, and `note` beside or below it.

    Screen readers read `label` first; `says` describes the whole picture.
    """
    width, height = size
    is_beside = width_of(f"{title}{note}") + 48 < width
    body = "\n".join(
        [
            box(0.5, 0.5, width - 1, height - 1, PAPER, RULE),
            text_at(16, 24, title, INK, font_size=13, font_weight=600),
            text_at(width - 16, 24, note, FAINT, text_anchor="end") if is_beside else text_at(16, 40, note, FAINT),
            *parts,
        ]
    )
    start = _start(size, f'role="img" aria-label="{_escaped(label)}"')
    return "\n".join([start, tag("title", title), tag("desc", says), _dark(body), body, "</svg>"])


def inline_svg(size: tuple[int, int], parts: Iterable[str]) -> str:
    """An SVG of only the elements `parts`, for HTML that describes the picture and sets the palette's colours."""
    body = "".join(parts)
    for light, name in _VARIABLES.items():
        body = body.replace(f'"{light}"', f'"var({name})"')
    return _start(size, 'aria-hidden="true"') + body + "</svg>"


def _start(size: tuple[int, int], says: str) -> str:
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'{says} class="{_CLASS}" font-family="{FONT}" font-size="12" style="max-width:100%;height:auto">'
    )


def _dark(body: str) -> str:
    """A style element that gives the picture `body` the palette's dark colours on screens in dark mode."""
    rules = (
        f'.{_CLASS} [{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in IN_THE_DARK.items()
        for name in ("fill", "stroke")
        if f'{name}="{light}"' in body
    )
    return f"<style>@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


def drawing(title: str, says: str, height: int, parts: Iterable[str], *, note: str = "") -> Drawing:
    """A Drawing, WIDTH wide, of the SVG elements `parts`; `says` is a text with the same facts.

    `note` stands beside the title or below it.
    """
    return Drawing(titled_svg(title, f"{title}.", says, (WIDTH, height), parts, note=note), says)


def safe_text(words: str, most: int = 0) -> str:
    """Text from outside, made safe to display: masked, controls visible, cut to `most` characters (0: uncut)."""
    safe = visible(mask(words))
    return shortened(safe, most) if most else safe


def width_of(words: str) -> int:
    """The approximate width of a text of normal size, in a wide font."""
    halves = sum((letter not in _NARROW) + (letter in _BROAD) for letter in words)
    return round((len(words) + halves) * _USUAL / 2)


def joined_lines(parts: Iterable[str], room: int, joint: str) -> list[str]:
    """The parts joined by `joint`, in as few lines of the width `room` as possible; a wider part has its own line."""
    lines: list[str] = []
    for part in parts:
        if lines and width_of(f"{lines[-1]}{joint}{part}") <= room:
            lines[-1] += f"{joint}{part}"
        else:
            lines.append(part)
    return lines


def tag(name: str, content: str | None = None, /, **attributes: object) -> str:
    """An SVG element with the text `content`, or empty for None; `_` in an attribute's name stands for a hyphen."""
    written = _written(attributes)
    return f"<{name}{written}/>" if content is None else f"<{name}{written}>{_escaped(content)}</{name}>"


def group(parts: Iterable[str], **attributes: object) -> str:
    """A group of elements with these common attributes."""
    return f"<g{_written(attributes)}>{''.join(parts)}</g>"


def _written(attributes: Mapping[str, object]) -> str:
    return "".join(f' {attribute.replace("_", "-")}="{value}"' for attribute, value in attributes.items())


def box(x: float, y: float, width: float, height: float, fill: str, stroke: str) -> str:
    """A rectangle with round corners."""
    return tag("rect", x=f"{x:g}", y=f"{y:g}", width=width, height=height, rx=6, fill=fill, stroke=stroke)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, **more: object) -> str:
    """A straight line; `more` has further attributes."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)


def text_at(x: float, y: float, words: str, fill: str, **more: object) -> str:
    """A line of text that begins at `x`; attributes in `more`, such as `text_anchor`, override the usual ones."""
    usual = {"font_size": 12, "font_weight": 400, "text_anchor": "start"}
    return tag("text", words, x=x, y=y, fill=fill, **{**usual, **more})


def with_tooltip(element: str, words: str) -> str:
    """The element with the tooltip `words`."""
    inside, end, name = element.rpartition("</")
    return f"{inside}{tag('title', words)}{end}{name}"


def centred(x: float, y: float, words: str, **more: object) -> str:
    """A line of text, centred on `x`; `more` has further attributes."""
    return text_at(x, y, words, INK, text_anchor="middle", **{"font_weight": 600, **more})


def arrow(points: Sequence[tuple[int, int]], colour: str = BLUE) -> list[str]:
    """The elements of a line through the points, with an arrow's tip at the last one."""
    (x1, y1), (x2, y2) = points[-2:]
    along = ((x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1))
    body = [*points[:-1], (x2 - 8 * along[0], y2 - 8 * along[1])]
    path = " ".join(f"{x},{y}" for x, y in body)
    back, side = (x2 - 9 * along[0], y2 - 9 * along[1]), (4.5 * along[1], 4.5 * along[0])
    ends = ((x2, y2), (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1]))
    return [
        tag("polyline", points=path, fill="none", stroke=colour, stroke_width=1.6),
        tag("polygon", points=" ".join(f"{x:g},{y:g}" for x, y in ends), fill=colour),
    ]


def labelled_arrow(start: int, end: int, y: int, words: str, colour: str) -> list[str]:
    """The elements of a horizontal arrow with a text above its middle; a halo keeps lines away from the text."""
    label = text_at((start + end) / 2, y - 6, words, INK, text_anchor="middle", **HALO)
    return [*arrow([(start, y), (end, y)], colour), label]


def _escaped(words: str) -> str:
    return escape(xml_text(words))
