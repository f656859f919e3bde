"""A sequence diagram as SVG: the same steps are the same bytes.

It brings its own background, needs no font, style sheet or script, and shows nothing by colour alone. Widths of
texts are estimates, on the wide side, as nothing here can measure them.
"""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from workbench.domain.masking import xml_text
from workbench.trace.steps import LANES, Step

_LETTER: Final = 6.5
_LEFT: Final = 96
"""Where the times stand."""
_RIGHT, _HEAD, _HEAD_BOX, _NARROWEST = 24, 76, 30, 150
_STEP, _RESPONSE, _DAY, _AFTER = 34, 26, 30, 8
"""How far down each goes."""
_LONG: Final = 900
"""A picture of this height repeats the names of the lanes at its end."""
_PAPER, _INK, _FAINT, _RULE, _BAD = "#fdfcf9", "#22262b", "#5c6670", "#c9ced4", "#b3261e"
_COLOURS: Final = {"call": "#1a5fa8", "screen": "#7a3e9d", "entry": "#1b6e45", "webhook": "#94500a"}
_FONT: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"


class _Place(NamedTuple):
    """Where the lanes stand."""

    lanes: dict[str, int]
    width: int


def drawn(steps: Sequence[Step], title: str, note: str = "") -> str:
    """The SVG of some steps; `note` stands below the title."""
    place = _placed(steps)
    body, bottom = _steps(steps, place)
    height = bottom + 20 + (_HEAD_BOX if bottom > _LONG else 0)
    label = f"{title}. {len(steps)} steps between {', '.join(place.lanes)}."
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{place.width}" height="{height}" '
        f'viewBox="0 0 {place.width} {height}" role="img" aria-label="{_text(label)}" '
        f'font-family="{_FONT}" font-size="12" style="max-width:100%;height:auto">'
    )
    parts = [
        start,
        f"<title>{_text(title)}</title>",
        f"<desc>{_text(' '.join(map(_spoken, steps)))}</desc>",
        _box(0.5, 0.5, place.width - 1, height - 1, fill=_PAPER, stroke=_RULE),
        _label(16, 24, title, _INK, size=13, weight=600),
        _label(place.width - 16, 24, note, _FAINT, size=11, anchor="end") if note else "",
        *_lanes(place, bottom),
        *body,
        "</svg>",
    ]
    return "\n".join(each for each in parts if each)


def _spoken(step: Step) -> str:
    response = f", answered {step.response}" if step.response else ""
    return f"{step.at}: {step.source} to {step.target}: {step.label}{response}."


def _placed(steps: Sequence[Step]) -> _Place:
    """The lanes in use, so far apart that every label fits between the two that it is about."""
    used = {each for step in steps for each in (step.source, step.target)}
    names = [each for each in LANES if each in used]
    gaps = dict.fromkeys(names[:-1], _NARROWEST)
    # Labels between neighbours first: what reaches further then needs less.
    for step in sorted(steps, key=lambda step: abs(names.index(step.source) - names.index(step.target))):
        first, last = sorted((names.index(step.source), names.index(step.target)))
        between = names[first:last]
        wanted = _width(max(step.label, step.response, key=len)) + 44
        missing = wanted - sum(gaps[each] for each in between)
        if missing > 0:
            gaps[between[-1]] += missing
    lanes, x = {}, _LEFT + 64
    for name in names:
        lanes[name] = x
        x += gaps.get(name, 0)
    return _Place(lanes, max(x + 64 + _RIGHT, 420))


def _width(text: str) -> int:
    return round(len(text) * _LETTER)


def _lanes(place: _Place, bottom: int) -> list[str]:
    """The lifelines, with their names above; in a long picture below, too."""
    heads = [_HEAD - _HEAD_BOX, bottom] if bottom > _LONG else [_HEAD - _HEAD_BOX]
    parts = []
    for name, x in place.lanes.items():
        half = _width(name) // 2 + 14
        parts.append(f'<line x1="{x}" y1="{_HEAD}" x2="{x}" y2="{bottom}" stroke="{_RULE}" stroke-width="1.5"/>')
        for y in heads:
            parts.append(_box(x - half, y, 2 * half, _HEAD_BOX, fill="#ffffff", stroke=_INK))
            parts.append(_label(x, y + 19, name, _INK, weight=600, anchor="middle"))
    return parts


def _box(x: float, y: float, width: int, height: int, *, fill: str, stroke: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{stroke}"/>'


def _steps(steps: Sequence[Step], place: _Place) -> tuple[list[str], int]:
    """The arrows from top to bottom, and where they end."""
    parts: list[str] = []
    y, day, time = _HEAD + 6, "", ""
    for step in steps:
        if step.at[:10] != day:
            day, time = step.at[:10], ""
            y += _DAY
            parts += _new_day(day, y - 8, place.width)
        y += _STEP
        if step.at[11:] != time:
            time = step.at[11:]
            parts.append(_label(16, y + 4, time, _FAINT, size=11))
        parts += _arrow(step, step.source, step.target, y, place)
        if step.response:
            y += _RESPONSE
            parts += _arrow(step, step.target, step.source, y, place)
        y += _AFTER
    return parts, y + 8


def _new_day(day: str, y: int, width: int) -> list[str]:
    return [
        f'<line x1="{_LEFT - 8}" y1="{y - 4}" x2="{width - 16}" y2="{y - 4}" stroke="{_RULE}" stroke-dasharray="1 4"/>',
        _label(16, y, day, _FAINT, size=11, weight=600),
    ]


def _arrow(step: Step, source: str, target: str, y: int, place: _Place) -> list[str]:
    """An arrow with its text above it; a response is dashed, and what went wrong has a cross."""
    is_response = source != step.source
    start, end = place.lanes[source], place.lanes[target]
    sign = 1 if end > start else -1
    is_bad = step.is_bad and (is_response or not step.response)
    colour = _BAD if is_bad else _COLOURS[step.kind]
    text = step.response if is_response else step.label
    dashes = ' stroke-dasharray="6 4"' if is_response else ""
    tip = f"{end},{y} {end - sign * 9},{y - 4.5:g} {end - sign * 9},{y + 4.5:g}"
    return [
        f'<line x1="{start}" y1="{y}" x2="{end - sign * 8}" y2="{y}" stroke="{colour}" stroke-width="1.6"{dashes}/>',
        f'<polygon points="{tip}" fill="{colour}"/>',
        f'<circle cx="{start}" cy="{y}" r="3.2" fill="{colour}"/>',
        _label((start + end) // 2, y - 7, f"✗ {text}" if is_bad else text, colour, anchor="middle", halo=True),
    ]


def _label(  # noqa: PLR0913  one argument per attribute
    x: int,
    y: int,
    text: str,
    colour: str,
    *,
    size: int = 12,
    weight: int = 400,
    anchor: str = "start",
    halo: bool = False,
) -> str:
    """Text; a halo keeps the line behind it from running through it."""
    behind = f' stroke="{_PAPER}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}"{behind}>{_text(text)}</text>'
    )


def _text(text: str) -> str:
    return escape(xml_text(text))
