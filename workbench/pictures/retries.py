"""The retries of a webhook that nobody takes."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from workbench import svg
from workbench.domain.gaps import Gaps
from workbench.domain.moments import span
from workbench.domain.webhooks import DEAD_LETTER, JITTER_PERMILLE
from workbench.render import table
from workbench.svg import Drawing

_CHART_X, _CHART_END, _CHART_Y, _TRY = 316, svg.WIDTH - 24, 82, 30
_TICKS: Final = (60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400)
_MOST_TICKS, _FRAME = 6, 12
"""The most ticks that can be read, and the least width of a frame that its dot does not hide."""
_COLUMNS: Final = {svg.EDGE: "attempt", 76: "wait", 152: "after the first"}


def retry_timeline(gaps: Gaps) -> Drawing:
    """A line for every attempt: the wait before it, and its moment."""
    offsets = list(accumulate(gaps.retry_schedule_s))
    rows = [
        (str(place), span(wait, units=4), span(at, units=4))
        for place, (wait, at) in enumerate(zip(gaps.retry_schedule_s, offsets, strict=True), start=1)
    ]
    bottom = _CHART_Y + _TRY * len(offsets)
    success, given_up = gaps.delivery_success.replace("_", ", "), DEAD_LETTER.replace("_", " ")
    ends = (
        f"A response of {success} ends the attempts. After {len(offsets)} without one, the delivery is a {given_up}.",
        f"Each wait is shorter or longer by up to {JITTER_PERMILLE // 10} %, as the frames show.",
    )
    parts = [
        *(svg.text(x, 56, words, svg.FAINT) for x, words in _COLUMNS.items()),
        *_waits(offsets, bottom - 10),
        *(
            svg.text(x, _CHART_Y + 4 + _TRY * place, words, svg.INK)
            for place, row in enumerate(rows)
            for x, words in zip(_COLUMNS, row, strict=True)
        ),
        *(svg.text(svg.EDGE, bottom + 14 + 20 * place, words, svg.INK) for place, words in enumerate(ends)),
    ]
    title = "When a webhook is sent"
    says = table(" ".join([f"{title}.", *ends]), _COLUMNS.values(), rows)
    return svg.drawing(title, str(says), bottom + 52, parts)


def _waits(offsets: Sequence[int], bottom: int) -> Iterator[str]:
    """The waits along an axis of time, and around their ends the frames in which the attempts may come."""
    early, late = ([offset * (1000 + sign * JITTER_PERMILLE) // 1000 for offset in offsets] for sign in (-1, 1))
    longest = late[-1]
    yield from _axis(longest, bottom)
    for place, moments in enumerate(zip([0, *offsets], offsets, early, late, strict=False)):
        y = _CHART_Y + _TRY * place
        before, x, first, last = (_at(moment, longest) for moment in moments)
        yield svg.line(before, y, x, y, svg.BLUE, stroke_width=3)
        yield svg.tag("circle", cx=x, cy=y, r=5, fill=svg.BLUE)
        if last - first > _FRAME:
            yield svg.box(first, y - 8, last - first, 16, "none", svg.BLUE)


def _at(seconds: int, longest: int) -> int:
    return _CHART_X + (_CHART_END - _CHART_X) * seconds // max(longest, 1)


def _axis(longest: int, bottom: int) -> Iterator[str]:
    every = next((tick for tick in _TICKS if longest <= tick * _MOST_TICKS), _TICKS[-1])
    for seconds in range(0, longest + 1, every):
        x = _at(seconds, longest)
        yield svg.line(x, 64, x, bottom, svg.RULE)
        yield svg.text(x, 56, span(seconds), svg.FAINT, text_anchor="middle")
