"""Turns rows of the trace into steps (who sent what to whom) and a sequence diagram, as a drawing or a table."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

from workbench.domain.ids import with_short_ids
from workbench.domain.masking import shortened
from workbench.domain.moments import lusaka_text, milliseconds, utc_text
from workbench.domain.wire.ledger_and_trace import CALL, ENTRY, SCREEN, WEBHOOK, TraceStep, call_of, screen_of
from workbench.text import svg
from workbench.text.render import DisplayColumn, DisplayTable, table
from workbench.visible import visible

MERCHANT, SERVICE, PHONE, LEDGER, RECEIVER = LANES = (
    "your server", "payment service", "customer's phone", "ledger", "webhook receiver",
)  # fmt: skip
"""The lanes of a sequence diagram, from left to right."""
_WIDEST: Final = 64
_LONGEST: Final = 52
_OK: Final = range(200, 400)
_CODE: Final = re.compile(r'"(?:decline_code|code|status)":"([\w.]+)"')
_ASKING: Final = " Enter PIN to approve:"
_BY_THE_SERVICE: Final = ("timeout", "withdraw")
"""Inputs to a prompt that come from the service instead of the customer."""
Row = Mapping[str, Any]
"""A row of the trace: field name → value."""


def short(text: str, widest: int = _WIDEST) -> str:
    """The text with short identifiers, cut to `widest` characters."""
    return shortened(with_short_ids(text), widest)


def step_of(row: Row) -> TraceStep:
    """The step for a row of the trace."""
    kind, what, result = row["kind"], row["what"], row["result"]
    if kind == CALL:
        response = call_of(row).response
        code = _CODE.search(response.body)
        result = f"{response.status} {code[1]}" if code else str(response.status)
        return _step(row, MERCHANT, SERVICE, what, result, is_bad=response.status not in _OK)
    if kind == WEBHOOK:
        return _step(row, SERVICE, RECEIVER, what, result, is_bad=not result.startswith("2"))
    if kind == ENTRY:
        return _step(row, SERVICE, LEDGER, what)
    screen = screen_of(row)
    lines, pressed = screen.words.split("\n"), screen.pressed
    text = " ".join(lines[1:] or lines).removesuffix(_ASKING)
    if pressed is None or pressed in _BY_THE_SERVICE:
        return _step(row, SERVICE, PHONE, text)
    if pressed == "ignore":
        return _step(row, PHONE, SERVICE, text)
    return _step(row, PHONE, SERVICE, f"PIN {pressed}" if "•" in pressed else pressed, text)


def _step(row: Row, source: str, target: str, label: str, response: str = "", *, is_bad: bool = False) -> TraceStep:
    label, response = (short(visible(" ".join(text.split())), _LONGEST) for text in (label, response))
    return TraceStep(row["seq"], row["at"], row["kind"], source, target, label, response, is_bad)


MASK_NOTE = "secrets masked"
TIME: Final = DisplayColumn("time (Lusaka)", in_lusaka=True)


def clock_of(at: str) -> str:
    """A moment of the trace in Lusaka time, to the second."""
    return lusaka_text(_ms(at))


def utc_of(at: str) -> str:
    """A moment of the trace in UTC, as text for a tooltip."""
    return utc_text(_ms(at))


@lru_cache(4096)
def _ms(at: str) -> int:
    return milliseconds(datetime.fromisoformat(at))


_TITLE: Final = "Messages, in order"
_TIMES: Final = f"times in Lusaka; {MASK_NOTE}"
_TOP: Final = 40
"""The y at which the diagram begins, below its title. A narrow diagram begins a line lower, below its note."""
_LINE, _PADDING, _MARGIN, _HEAD = 15, 6, 16, 42
_LONG: Final = 900
"""A picture higher than this repeats the lanes' names at its end."""
_COLOURS: Final = {CALL: svg.BLUE, SCREEN: svg.PURPLE, ENTRY: svg.GREEN, WEBHOOK: svg.BROWN}
_PIECE: Final = re.compile(r"(?:[^ /_.]|\.(?=\d))*[ /_.]|(?:[^ /_.]|\.(?=\d))+")


class Shape(NamedTuple):
    """The widths of a diagram, of its times and of a lane's heading; a width of 0 puts times above their arrows.

    `shares` are the relative widths of the gaps between lanes.
    """

    width: int
    times: int
    head: int
    shares: tuple[float, ...]

    @property
    def lanes(self) -> dict[str, int]:
        """Lane → the x of its line; all lanes are in the picture at every width."""
        first_x = self.times + self.head / 2 + 2
        unit = (self.width - first_x - self.head / 2 - 2) / sum(self.shares)
        places = accumulate((unit * share for share in self.shares), initial=first_x)
        return dict(zip(LANES, map(round, places), strict=True))


WIDE: Final = Shape(700, 84, 92, (1.8, 1.3, 0.95, 0.95))
TIGHT: Final = Shape(360, 0, 62, (1.2, 1.15, 1, 1))
"""The shape for a mobile phone: times are above their arrows."""


def _drawing(steps: Sequence[TraceStep], shape: Shape) -> tuple[list[str], int]:
    """The SVG elements of a diagram in this shape, and its height; each step is as high as its texts require."""
    arrows, texts, times, y = list[str](), list[str](), list[str](), _HEAD + _PADDING
    moment = ""
    for step in steps:
        before, moment = moment, clock_of(step.at)
        day, time = moment.split()
        if not before.startswith(day):
            y += _LINE
            times.append(_time(4, y, day, step, font_weight=600))
            before = ""
        start, end = shape.lanes[step.source], shape.lanes[step.target]
        label, response = _arrow_texts(step, abs(end - start) - _MARGIN)
        is_new = moment != before
        y += _PADDING + (_LINE if is_new and not shape.times else 0)
        if is_new:
            x, down = (4, y + _LINE - 4) if shape.times else (min(start, end) + 4, y - 4)
            times.append(_time(x, down, time, step))
        colour = svg.BAD if step.is_bad else _COLOURS[step.kind]
        for lines, (source, target), is_back in ((label, (start, end), False), (response, (end, start), True)):
            y += _LINE * len(lines) + (_PADDING if is_back and lines else 0)
            if lines:
                arrows += _arrow(source, target, y, colour, is_back=is_back)
                for index, line in enumerate(lines, start=1 - len(lines)):
                    texts.append(svg.tag("text", line, x=(start + end) // 2, y=y - 5 + _LINE * index, fill=colour))
        y += _PADDING
    lives = [svg.line(x, _HEAD, x, y + _PADDING, svg.RULE) for x in shape.lanes.values()]
    head_tops = [0] if y <= _LONG else [0, y + _PADDING]
    heads = [head for end in head_tops for head in _lane_headings(shape, end)]
    written = svg.group([*times, svg.group(texts, text_anchor="middle")], **svg.HALO, font_weight=500)
    parts = [*lives, *heads, svg.group(arrows, stroke_width=1.4), written]
    return parts, head_tops[-1] + _HEAD if head_tops[-1] else y + _PADDING


def _arrow_texts(step: TraceStep, room: float) -> tuple[list[str], list[str]]:
    """The lines above an arrow, and above the arrow of its response. A webhook has label and status on one arrow."""
    label, response = crossed(step)
    if step.kind == WEBHOOK and step.response:
        label, response = f"{'✗ ' if step.is_bad else ''}{step.label} {step.response}", ""
    return _lines(label, room), _lines(response, room) if response else []


def _lines(words: str, room: float) -> list[str]:
    """Splits text into lines of at most this width: after spaces, slashes, points and underscores, else anywhere."""
    lines = [""]
    for piece in _PIECE.findall(words):
        if lines[-1] and svg.width_of((lines[-1] + piece).rstrip()) > room:
            lines.append("")
        for part in piece if svg.width_of(piece.rstrip()) > room else [piece]:
            if lines[-1] and svg.width_of((lines[-1] + part).rstrip()) > room:
                lines.append("")
            lines[-1] += part
    return [line.strip() for line in lines]


def _lane_headings(shape: Shape, y: int) -> Iterator[str]:
    """Draws the lanes' headings. If a word of a name is wider than the heading, only the name's last word is shown."""
    size = 12 if shape.times else 10
    for name, x in shape.lanes.items():
        yield svg.box(x - shape.head // 2, y + 0.5, shape.head, _HEAD - 1, svg.GROUND, svg.RULE)
        words = name.split()
        is_short = all(svg.width_of(word) * size / 11 <= shape.head for word in words)
        lines = words if is_short else words[-1:]
        for index, line in enumerate(lines):
            down = y + _HEAD / 2 + 4 + (index - (len(lines) - 1) / 2) * 14
            yield svg.text_at(x, down, line, svg.INK, font_size=size, font_weight=600, text_anchor="middle")


def _time(x: int, y: int, words: str, step: TraceStep, **more: object) -> str:
    return svg.with_tooltip(svg.tag("text", words, x=x, y=y, fill=svg.FAINT, **more), utc_of(step.at))


def _arrow(start: int, end: int, y: int, colour: str, *, is_back: bool) -> Iterator[str]:
    """Draws an arrow from x `start` to x `end`; if `is_back`, as for a response, it is dashed with an open tip."""
    sign = 1 if end > start else -1
    dashes = {"stroke_dasharray": "5 3"} if is_back else {}
    yield svg.line(start, y, end - 2 * sign, y, colour, **dashes)
    tip = f"{end - 8 * sign},{y - 4} {end - sign},{y} {end - 8 * sign},{y + 4}"
    if is_back:
        yield svg.tag("polyline", points=tip, fill="none", stroke=colour)
    else:
        yield svg.tag("polygon", points=tip, fill=colour)
        yield svg.tag("circle", cx=start, cy=y, r=3, fill=colour)


MOST_ROWS: Final = 60
"""The most rows in a picture; a larger one would be unreadable."""
_COLUMNS = (TIME, "from", "to", "what", "response")


class SequenceDiagram:
    """The steps of a trace's last MOST_ROWS rows."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.steps: list[TraceStep] = [step_of(row) for row in rows[-MOST_ROWS:]]
        left_out = len(rows) - len(self.steps)
        self.note = f"the last {len(self.steps)} of {len(rows):,} steps" if left_out else ""

    @property
    def svg(self) -> str:
        """The picture; equal steps give equal text."""
        return self._drawn(WIDE, _TOP, _TITLE, "; ".join(filter(None, (self.note, _TIMES))))

    @property
    def tight(self) -> str:
        """The picture for a narrow page."""
        return self._drawn(TIGHT, _TOP + _LINE, self.note or _TITLE, _TIMES)

    def _drawn(self, shape: Shape, top: int, title: str, note: str) -> str:
        parts, height = _drawing(self.steps, shape)
        size, moved = (shape.width, top + height + 8), svg.group(parts, transform=f"translate(0 {top})")
        return svg.titled_svg(title, f"{_TITLE}. {len(self.steps)} steps.", repr(self), size, [moved], note=note)

    @property
    def html(self) -> str:
        """The picture without its title, in two shapes; the page shows the one that fits its width."""
        drawings = ""
        for name, shape in (("wide", WIDE), ("tight", TIGHT)):
            parts, height = _drawing(self.steps, shape)
            drawings += f'<div class="{name}">{svg.inline_svg((shape.width, height), parts)}</div>'
        label = ", ".join(filter(None, (_TITLE, self.note, f"{len(self.steps)} steps")))
        return f'<div role="img" aria-label="{label}; the table below has the same">{drawings}</div>'

    @property
    def table(self) -> DisplayTable:
        """The steps as a table with one row each."""
        rows = [(clock_of(step.at), step.source, step.target, *crossed(step)) for step in self.steps]
        return table(", ".join(filter(None, (_TITLE, self.note, MASK_NOTE))), _COLUMNS, rows)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        data, metadata = svg.Drawing(self.svg, repr(self))._repr_mimebundle_()
        metadata["image/svg+xml"]["tight"] = self.tight
        return data, metadata


def crossed(step: TraceStep) -> tuple[str, str]:
    """The label and the response of a step, with a cross at a bad response or, if none came, at the label."""
    cross = "✗ " if step.is_bad else ""
    return (step.label, f"{cross}{step.response}") if step.response else (f"{cross}{step.label}", "")
