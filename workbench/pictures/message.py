"""The parts of a webhook: headers, body, signed content and signature."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

from workbench import svg
from workbench.domain.signatures import SCHEMES, id_in
from workbench.receiver import Arrival
from workbench.svg import Drawing
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
