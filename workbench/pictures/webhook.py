"""Pictures of a webhook: the parts of its message, and its retries."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, islice
from operator import itemgetter
from typing import Final

from workbench.domain.gaps import Gaps
from workbench.domain.moments import span
from workbench.domain.signatures import SCHEMES, id_in
from workbench.domain.webhooks import DEAD_LETTER, JITTER_PERMILLE
from workbench.merchant.receiver import Arrival
from workbench.text import svg
from workbench.text.render import table
from workbench.text.svg import Drawing
from workbench.visible import visible

_LETTERS, _LETTER, _LINE = 88, 7.25, 18
"""Letters in a line, the width of a letter, and the height of a line."""
_BODY: Final = "Body, as it arrived"


def webhook(arrival: Arrival, scheme: str) -> Drawing:
    """Headers, body and signed content; a part that occurs in several of them has one colour."""
    way = SCHEMES[scheme]
    headers = {name: arrival.headers[name.lower()] for name in way.headers}
    signed = way.read(headers)
    signed_with = f"{way.prefix(*signed[:2])}⟨the body, {len(arrival.body)} bytes⟩"
    blocks = {
        "Headers": [f"{name}: {value}" for name, value in headers.items()],
        _BODY: [svg.shown_as(arrival.body.decode("utf-8", "replace"))],
        "What is signed": [signed_with],
        "Its HMAC-SHA256 with the endpoint's secret, which is the signature": signed.signatures,
    }
    of_id = {signed.message_id or id_in(arrival.body): svg.BLUE}
    marks = {**of_id, str(signed.sent_s or ""): svg.PURPLE, **dict.fromkeys(signed.signatures, svg.BROWN)}
    parts: list[str] = []
    y = 44
    for name, lines in blocks.items():
        # The body may name the same second, which is not the one that is signed.
        parts += _block(name, lines, of_id if name == _BODY else marks, y)
        y += _LINE * len(_wrapped(lines)) + 48
    title = f"A webhook: {visible(arrival.reason)}"
    ends = f"The receiver responded {arrival.status}: {arrival.verdict}."
    parts.append(svg.text(svg.EDGE, y + 8, ends, svg.INK))
    says = [title, *(line for name, lines in blocks.items() for line in (f"{name}:", *lines)), ends]
    return svg.drawing(title, "\n".join(says), y + 26, parts)


def _block(name: str, lines: Sequence[str], marks: Mapping[str, str], y: int) -> Iterator[str]:
    """Lines in a monospaced font under their name; marked parts are coloured, across line ends too."""
    written = _wrapped(lines)
    yield svg.text(svg.EDGE, y + 12, name, svg.INK, font_weight=600)
    yield svg.box(svg.EDGE, y + 20, svg.WIDTH - 2 * svg.EDGE, _LINE * len(written) + 12, svg.GROUND, svg.RULE)
    whole = "".join(written)
    colours = [svg.INK] * len(whole)
    for mark, colour in marks.items():
        for match in re.finditer(re.escape(mark), whole) if mark else ():
            colours[match.start() : match.end()] = [colour] * len(mark)
    letters = iter(zip(whole, colours, strict=True))
    for place, line in enumerate(written):
        at = 0
        for colour, run in groupby(islice(letters, len(line)), key=itemgetter(1)):
            words = "".join(letter for letter, _ in run)
            x, down = svg.EDGE + 10 + at * _LETTER, y + 38 + _LINE * place
            yield svg.text(x, down, words, colour, font_family=svg.MONO, style="white-space:pre")
            at += len(words)


def _wrapped(lines: Iterable[str]) -> list[str]:
    return [line[place : place + _LETTERS] for line in lines for place in range(0, len(line), _LETTERS)]


# The retries

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
