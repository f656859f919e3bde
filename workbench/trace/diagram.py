"""The trace as a sequence diagram: its rows as steps, drawn as SVG, or written a line a step."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

from workbench import svg
from workbench.domain.moments import lusaka_text, milliseconds, utc_text
from workbench.domain.wire.trace_rows import TraceStep
from workbench.render import Table, table
from workbench.steps import LANES, step_of

MASK_NOTE = "secrets masked"
TIME: Final = "time (Lusaka)"


def clock_of(at: str) -> str:
    """The moment of a row in Lusaka, to the second."""
    return lusaka_text(_ms(at))


def utc_of(at: str) -> str:
    """The same in UTC, to be shown over it."""
    return utc_text(_ms(at))


@lru_cache(4096)
def _ms(at: str) -> int:
    return milliseconds(datetime.fromisoformat(at))


_TITLE: Final = "Who told whom what"
_LEFT: Final = 96
"""Where the times stand."""
_BESIDE, _RIGHT, _HEAD, _HEAD_BOX, _NARROWEST, _LEAST = 64, 24, 76, 30, 150, 420
_WIDEST_GAP, _MARGIN = 170, 44
"""How far neighbours stand apart at most, and how much of it is no text: what is longer goes on in a line above."""
_STEP, _RESPONSE, _DAY, _AFTER, _LINE = 34, 26, 30, 8, 15
"""How far down each goes."""
_LONG: Final = 900
"""A picture of this height repeats the names of the lanes at its end."""
_COLOURS: Final = {"call": svg.BLUE, "screen": svg.PURPLE, "entry": svg.GREEN, "webhook": svg.BROWN}


def _drawn(steps: Sequence[TraceStep], note: str) -> str:
    """The SVG of some steps; `note` stands beside the title."""
    lanes = _placed(steps)
    width = max([_LEAST, *(x + _BESIDE + _RIGHT for x in lanes.values())])
    body, bottom = _arrows(steps, lanes, width)
    height = bottom + 20 + (_HEAD_BOX if bottom > _LONG else 0)
    spoken = (
        f"{clock_of(each.at)}: {each.source} to {each.target}: {each.label}"
        f"{each.response and f', answered {each.response}'}."
        for each in steps
    )
    label = f"{_TITLE}. {len(steps)} steps between {', '.join(lanes)}."
    parts = [*_lifelines(lanes, bottom), *body]
    return svg.drawn(_TITLE, label, " ".join(spoken), (width, height), parts, note=note)


def _placed(steps: Sequence[TraceStep]) -> dict[str, int]:
    """Where the lanes in use stand: so far apart that labels fit between the two that they are about, up to a limit."""
    used = {each for step in steps for each in (step.source, step.target)}
    names = [each for each in LANES if each in used]
    gaps = dict.fromkeys(names[:-1], _NARROWEST)
    # Labels between neighbours first: what reaches further then needs less.
    for step in sorted(steps, key=lambda step: abs(names.index(step.source) - names.index(step.target))):
        first, last = sorted((names.index(step.source), names.index(step.target)))
        between = names[first:last]
        wanted = min(svg.width_of(max(step.label, step.response, key=len)) + _MARGIN, _WIDEST_GAP * len(between))
        gaps[between[-1]] += max(0, wanted - sum(gaps[each] for each in between))
    return dict(zip(names, accumulate(gaps.values(), initial=_LEFT + _BESIDE), strict=False))


def _lifelines(lanes: Mapping[str, int], bottom: int) -> list[str]:
    """The lifelines, with their names above; in a long picture below, too."""
    heads = [_HEAD - _HEAD_BOX, bottom] if bottom > _LONG else [_HEAD - _HEAD_BOX]
    parts = []
    for name, x in lanes.items():
        half = svg.width_of(name) // 2 + 14
        parts.append(svg.line(x, _HEAD, x, bottom, svg.RULE, stroke_width=1.5))
        for y in heads:
            parts.append(svg.box(x - half, y, 2 * half, _HEAD_BOX, svg.GROUND, svg.INK))
            parts.append(svg.text(x, y + 19, name, svg.INK, font_weight=600, text_anchor="middle"))
    return parts


def _arrows(steps: Sequence[TraceStep], lanes: Mapping[str, int], width: int) -> tuple[list[str], int]:
    """The arrows from top to bottom, days and times beside them, and where they end."""
    parts: list[str] = []
    y, day, time = _HEAD + 6, "", ""
    for step in steps:
        moment = clock_of(step.at)
        if moment[:10] != day:
            day, time = moment[:10], ""
            y += _DAY
            parts.append(svg.line(_LEFT - 8, y - 12, width - 16, y - 12, svg.RULE, stroke_dasharray="1 4"))
            parts.append(svg.text(16, y - 8, day, svg.FAINT, font_weight=600))
        room = abs(lanes[step.source] - lanes[step.target]) - _MARGIN
        label, response = _lines(step.label, room), _lines(step.response, room)
        y += _STEP + _LINE * (len(label) - 1)
        if moment[11:] != time:
            time = moment[11:]
            parts.append(svg.hovered(svg.text(16, y + 4, time, svg.FAINT), utc_of(step.at)))
        parts += _arrow(step, y, lanes, label)
        if step.response:
            y += _RESPONSE + _LINE * (len(response) - 1)
            parts += _arrow(step, y, lanes, response, is_response=True)
        y += _AFTER
    return parts, y + 8


def _lines(words: str, room: int) -> list[str]:
    """Text in lines that are no wider than this, broken at blanks and slashes."""
    lines = [""]
    for piece in re.findall(r"[^ /]*[ /]|[^ /]+", words):
        if lines[-1] and svg.width_of((lines[-1] + piece).rstrip()) > room:
            lines.append("")
        lines[-1] += piece
    return [each.rstrip() for each in lines]


def _arrow(
    step: TraceStep, y: int, lanes: Mapping[str, int], lines: Sequence[str], *, is_response: bool = False
) -> list[str]:
    """An arrow with its text above it; a response is dashed, and what went wrong has a cross."""
    start, end = lanes[step.source], lanes[step.target]
    if is_response:
        start, end = end, start
    sign = 1 if end > start else -1
    is_bad = step.is_bad and (is_response or not step.response)
    colour = svg.BAD if is_bad else _COLOURS[step.kind]
    words = [f"✗ {lines[0]}" if is_bad else lines[0], *lines[1:]]
    middle, top = (start + end) // 2, y - 7 - _LINE * (len(words) - 1)
    dashes = {"stroke_dasharray": "6 4"} if is_response else {}
    return [
        svg.line(start, y, end - sign * 8, y, colour, stroke_width=1.6, **dashes),
        svg.arrow_head(end, y, (sign, 0), colour),
        svg.tag("circle", cx=start, cy=y, r=3.2, fill=colour),
        *(
            svg.text(middle, top + _LINE * place, each, colour, text_anchor="middle", **svg.HALO)
            for place, each in enumerate(words)
        ),
    ]


MOST_ROWS: Final = 60
"""Nobody reads a larger picture."""
_COLUMNS = (TIME, "from", "to", "what", "response")


class SequenceDiagram:
    """The steps of the last rows of a trace, `most` of them."""

    def __init__(self, rows: Sequence[dict[str, Any]], most: int = MOST_ROWS) -> None:
        self.steps: list[TraceStep] = [step_of(row) for row in rows[-most:]]
        left_out = len(rows) - len(self.steps)
        self.note = f"the last {len(self.steps)} of {len(rows):,} steps" if left_out else ""

    @property
    def svg(self) -> str:
        """The picture; the same steps give the same text."""
        return _drawn(self.steps, "; ".join(each for each in (self.note, "times in Lusaka", MASK_NOTE) if each))

    @property
    def mermaid(self) -> str:
        """The same for a Markdown page that draws Mermaid: put it between "```mermaid" and "```"."""
        used = {each for step in self.steps for each in (step.source, step.target)}
        lanes = {lane: f"lane{place}" for place, lane in enumerate(LANES) if lane in used}
        lines = ["sequenceDiagram", *(f"    participant {name} as {lane}" for lane, name in lanes.items())]
        for step in self.steps:
            (label, response), source, target = _crossed(step), lanes[step.source], lanes[step.target]
            lines.append(f"    {source}->>{target}: {_in_mermaid(label)}")
            lines += [f"    {target}-->>{source}: {_in_mermaid(response)}"] if response else []
        return "\n".join(lines) + "\n"

    @property
    def table(self) -> Table:
        """The same as a table, one row for each step."""
        rows = [(clock_of(each.at), each.source, each.target, *_crossed(each)) for each in self.steps]
        return table(", ".join(each for each in (_TITLE, self.note, MASK_NOTE) if each), _COLUMNS, rows)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        return svg.mimebundle(repr(self), self.svg)


def _in_mermaid(text: str) -> str:
    """Text of which Mermaid takes nothing for its own; an empty one it would refuse."""
    return re.sub(r"[#;<>&%$\\]", lambda sign: f"#{ord(sign[0])};", text) or "-"


def _crossed(step: TraceStep) -> tuple[str, str]:
    """Label and response; a cross stands before the response that went wrong, or before the label if none came."""
    cross = "✗ " if step.is_bad else ""
    return (step.label, f"{cross}{step.response}") if step.response else (f"{cross}{step.label}", "")
