"""Pictures of one payment: who takes part, its states, which key to send, how long to wait, and its webhooks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, islice, pairwise, zip_longest
from operator import itemgetter
from typing import Final, NamedTuple

from workbench.domain.gaps import Gaps
from workbench.domain.moments import span
from workbench.domain.payments import Transitions, offer_again_s
from workbench.domain.scenarios import LATE_S
from workbench.domain.signatures import SCHEMES, id_in
from workbench.domain.webhooks import DEAD_LETTER, JITTER_PERMILLE
from workbench.merchant.receiver import Arrival
from workbench.text import svg
from workbench.text.render import table
from workbench.text.svg import Drawing
from workbench.visible import visible


class _Passed(NamedTuple):
    """A step from one participant to another."""

    source: str
    target: str
    what: str
    is_money: bool = False


_SHOP, _SERVICE, _OPERATOR, _PHONE = "your shop", "payment service", "operator", "customer's phone"
_LANES: Final = {_PHONE: 76, _SHOP: 250, _SERVICE: 434, _OPERATOR: 618}
_PAYMENT: Final = (
    _Passed(_PHONE, _SHOP, "an order"),
    _Passed(_SHOP, _SERVICE, "amount and phone number"),
    _Passed(_SERVICE, _OPERATOR, "request to collect"),
    _Passed(_OPERATOR, _PHONE, "prompt (USSD)"),
    _Passed(_PHONE, _OPERATOR, "PIN"),
    _Passed(_OPERATOR, _OPERATOR, "money: wallet → float", is_money=True),
    _Passed(_OPERATOR, _SERVICE, "result"),
    _Passed(_SERVICE, _SHOP, "webhook, signed"),
    _Passed(_SHOP, _PHONE, "goods"),
)


def parties() -> Drawing:
    """An arrow for each thing that passes between the participants of one payment, in order."""
    top, bottom = 92, 92 + 32 * len(_PAYMENT)
    parts = [svg.line(x, 80, x, bottom, svg.RULE) for x in _LANES.values()]
    for name, x in _LANES.items():
        parts += [
            svg.box(x - 66, 44, 132, 34, svg.TINT if name == _SHOP else svg.GROUND, svg.INK), svg.centred(x, 65, name)
        ]  # fmt: skip
    for place, passed in enumerate(_PAYMENT, start=1):
        parts += _arrow(passed, place, top + 32 * place - 14)
    title = "Who passes what to whom in one payment"
    rows = [(str(place), step.source, step.target, step.what) for place, step in enumerate(_PAYMENT, start=1)]
    says = table(f"{title}.", ("step", "from", "to", "what"), rows)
    return svg.drawing(title, str(says), bottom + 20, parts, note="shaded: what you write; green: money")


def _arrow(passed: _Passed, place: int, y: int) -> Iterator[str]:
    start, end = _LANES[passed.source], _LANES[passed.target]
    colour, words = svg.GREEN if passed.is_money else svg.BLUE, f"{place}. {passed.what}"
    if start == end:
        yield svg.tag("circle", cx=start, cy=y, r=5, fill=colour)
        yield svg.text(start - 12, y + 4, words, svg.INK, text_anchor="end", **svg.HALO)
        return
    yield from svg.labelled_arrow(start, end, y, words, colour)


class _Choice(NamedTuple):
    """A question after a charge was sent, and what to do if the answer is yes."""

    question: str
    then: str
    key: str


def _choices(gaps: Gaps) -> Iterator[_Choice]:
    is_kept = gaps.idempotency_keeps_errors == "declines"
    kept = "is kept" if is_kept else "is not kept"
    # Kept or not, a 5xx may come after the customer has paid.
    look = "look for a charge with the order's reference; if there is none, charge again"
    yield _Choice("No response came?", "send the same request again", "the same key")
    yield _Choice("409, the first request still runs?", "wait, then send the same request again", "the same key")
    yield _Choice(f"5xx? It {kept} under its key.", look, "a new key" if is_kept else "the same key")
    yield _Choice(f"402, declined? It {kept} under its key.", "charge again if the customer wants to", "a new key")
    yield _Choice("400, a mistake in the request? It is not kept.", "correct the request", "the same key")
    yield _Choice(
        f"{gaps.reused_key_status}, the key was used for another request?", "make a key for this order", "a new key"
    )
    yield _Choice("200?", "keep the charge's id; nothing is to be sent", "none")


_STEP, _ASKED, _DONE_X = 62, 300, 346


def key_choice(gaps: Gaps) -> Drawing:
    """The questions from top to bottom; the first that is answered yes decides which key to send."""
    choices, top = list(_choices(gaps)), 48
    parts: list[str] = []
    for place, choice in enumerate(choices):
        y = top + _STEP * place
        parts += [
            svg.box(svg.EDGE, y, _ASKED, 40, svg.GROUND, svg.INK),
            svg.text(svg.EDGE + 12, y + 24, choice.question, svg.INK),
        ]
        parts += svg.arrow([(svg.EDGE + _ASKED, y + 20), (_DONE_X, y + 20)])
        parts.append(svg.text(svg.EDGE + _ASKED + 4, y + 12, "yes", svg.FAINT))
        parts += _leaf(choice, y)
        if place < len(choices) - 1:
            parts += svg.arrow([(svg.EDGE + 60, y + 40), (svg.EDGE + 60, y + _STEP)])
            parts.append(svg.text(svg.EDGE + 70, y + 56, "no", svg.FAINT))
    title = "Which idempotency key"
    says = table(f"{title}. The first question that is answered yes decides.", ("question", "then", "key"), choices)
    return svg.drawing(
        title, str(says), top + _STEP * len(choices), parts, note="what came back after a charge was sent"
    )


def _leaf(choice: _Choice, y: int) -> Iterator[str]:
    width = svg.WIDTH - svg.EDGE - _DONE_X
    yield svg.box(_DONE_X, y - 4, width, 48, svg.TINT if choice.key == "a new key" else svg.PAPER, svg.INK)
    lines = svg.filled(choice.then.split(), width - 24, " ")
    # Two or three lines, around the middle of the box.
    top = y + 24 - 15 * len(lines) // 2
    for place, words in enumerate(lines):
        yield svg.text(_DONE_X + 12, top + 15 * place, words, svg.INK)
    yield svg.text(_DONE_X + 12, top + 15 * len(lines), f"key: {choice.key}", svg.INK, font_weight=600)


class _Moment(NamedTuple):
    """A moment after the prompt was sent, and what a shop knows and does then."""

    at_s: int
    what: str
    do: str


_LINE_X, _LINE_END = 40, svg.WIDTH - 60


def waiting(gaps: Gaps) -> Drawing:
    """The waiting rule: the moments after a prompt nobody answers, along a line of time."""
    expires, late = gaps.prompt_timeout_s, gaps.prompt_timeout_s + LATE_S
    moments = sorted([
        _Moment(0, "the prompt is sent", "wait for the webhook"),
        _Moment(expires, "prompt_timeout: the prompt has expired", "keep the order open; the money may still come"),
        _Moment(late, "late_success: money after the prompt", "send no new prompt; credit or return this money"),
        _Moment(max(offer_again_s(gaps), late), "no late money so far", "offer a new prompt, on the same intent"),
        _Moment(86_400, "processing: the operator never answered",
                "outcome unknown; send the charge's id to the provider"),
    ])  # fmt: skip
    places = [round(_LINE_X + (_LINE_END - _LINE_X) * place / (len(moments) - 1)) for place in range(len(moments))]
    axis, top = 66, 96
    parts = [svg.line(_LINE_X, axis, _LINE_END, axis, svg.BLUE, stroke_width=3)]
    for place, (x, moment) in enumerate(zip(places, moments, strict=True)):
        y = top + 46 * place
        parts += [
            svg.line(x, axis, x, y + 6, svg.RULE), svg.tag("circle", cx=x, cy=axis, r=5, fill=svg.BLUE),
            svg.text(x, axis - 14, span(moment.at_s), svg.INK, text_anchor="middle", font_weight=600),
            *_beside(x, y, moment),
        ]  # fmt: skip
    title = "How long to wait after the last prompt"
    says = table(
        f"{title}.",
        ("after the prompt", "what happens", "what a shop does"),
        [(span(s), *rest) for s, *rest in moments],
    )
    return svg.drawing(
        title, str(says), top + 46 * len(moments) + 8, parts, note="not to scale; late money may come at any moment"
    )


def _beside(x: int, y: int, moment: _Moment) -> Iterator[str]:
    """Two lines of text, on the side of the moment that has room."""
    is_left = x > svg.WIDTH / 2
    at, anchor = (x - 8, "end") if is_left else (x + 8, "start")
    yield svg.text(at, y + 6, moment.what, svg.INK, text_anchor=anchor, font_weight=600, **svg.HALO)
    yield svg.text(at, y + 23, moment.do, svg.INK, text_anchor=anchor, **svg.HALO)


# The states

_STATE_X, _STATE_WIDTH, _FINAL_X, _FINAL_WIDTH, _FINAL_HEIGHT = 176, 200, 552, 132, 34
_BACK_X, _ON_X, _LANE = _STATE_X - 132, _FINAL_X - 24, 14
"""The beginnings of the lanes back and of the lanes to the final states, and the distance between lanes."""
_EXIT, _DOWN = 30, 20
"""The heights of a line out of a state, and of an event between two states."""


class _Exit(NamedTuple):
    """A line out of a state, to the right or back to the left, at a height."""

    y: int
    event: str
    target: str


class _State(NamedTuple):
    """A state with its outgoing lines; the events in `down` lead to the next state."""

    name: str
    y: int
    height: int
    down: list[str]
    back: list[_Exit]
    on: list[_Exit]


def state_machine(of: str, transitions: Transitions) -> Drawing:
    """The states with exits from top to bottom, the final states beside them."""
    sources = list(dict.fromkeys(state for state, _ in transitions))
    states = list(_placed(sources, transitions))
    finals = _final_heights(states, [state for state in dict.fromkeys(transitions.values()) if state not in sources])
    title = f"States of {'an' if of[0] in 'aeiou' else 'a'} {of.replace('_', ' ')}"
    bottom = max([states[-1].y + states[-1].height, *(y + _FINAL_HEIGHT for y in finals.values())])
    parts = [*_start(states[0]), *_lines_down(states), *_lines_back(states), *_lines_on(states, finals)]
    for state in states:
        parts.append(svg.box(_STATE_X, state.y, _STATE_WIDTH, state.height, svg.GROUND, svg.INK))
        parts.append(svg.centred(_STATE_X + _STATE_WIDTH / 2, state.y + state.height / 2 + 4, state.name))
    for name, y in finals.items():
        parts.append(svg.box(_FINAL_X, y, _FINAL_WIDTH, _FINAL_HEIGHT, svg.TINT, svg.INK))
        parts.append(svg.box(_FINAL_X + 3, y + 3, _FINAL_WIDTH - 6, _FINAL_HEIGHT - 6, "none", svg.INK))
        parts.append(svg.centred(_FINAL_X + _FINAL_WIDTH / 2, y + 21, name))
    says = table(
        f"{title}. It begins as {sources[0]}; final: {', '.join(finals) or 'none'}.",
        ("state", "event", "next state"),
        [(*key, target) for key, target in transitions.items()],
    )
    return svg.drawing(title, str(says), bottom + 20, parts, note="double frame: final")


def _placed(sources: Sequence[str], transitions: Transitions) -> Iterator[_State]:
    """Places the states one under another, as high as their lines need."""
    y = 76
    for state, following in zip_longest(sources, sources[1:]):
        exits = [(event, target) for (start, event), target in transitions.items() if start == state]
        down = [event for event, target in exits if target == following]
        on = [way for way in exits if way[1] not in sources]
        back = [way for way in exits if way[1] in sources and way[1] != following]
        is_entered = state in _targets_back(sources, transitions)
        height = max(len(on), len(back) + is_entered, 1) * _EXIT + 8
        yield _State(state, y, height, down, _exits(back, y + _EXIT * is_entered), _exits(on, y))
        y += height + _DOWN * (len(down) + 1) + 8


def _targets_back(sources: Sequence[str], transitions: Transitions) -> set[str]:
    places = {state: place for place, state in enumerate(sources)}
    return {
        target for (start, _), target in transitions.items() if target in places and places[target] != places[start] + 1
    }


def _exits(exits: Iterable[tuple[str, str]], top: int) -> list[_Exit]:
    return [_Exit(top + _EXIT * place + 20, *way) for place, way in enumerate(exits)]


def _final_heights(states: Sequence[_State], finals: Iterable[str]) -> dict[str, int]:
    """Final state → the y of its top edge: in the middle of the lines to it, or lower, so that no two overlap."""
    middles = {}
    for final in finals:
        at = [way.y for state in states for way in state.on if way.target == final]
        middles[final] = sum(at) // len(at) - _FINAL_HEIGHT // 2
    placed: dict[str, int] = {}
    for final, y in sorted(middles.items(), key=lambda item: item[1]):
        placed[final] = max([y, *(height + _FINAL_HEIGHT + 12 for height in placed.values())])
    return placed


def _start(state: _State) -> list[str]:
    x = _STATE_X + _STATE_WIDTH // 2
    return [svg.tag("circle", cx=x, cy=48, r=6, fill=svg.INK), *svg.arrow([(x, 52), (x, state.y)])]


def _lines_down(states: Sequence[_State]) -> Iterator[str]:
    x = _STATE_X + _STATE_WIDTH // 2
    for state, following in pairwise(states):
        if state.down:
            yield from svg.arrow([(x, state.y + state.height), (x, following.y)])
        for place, event in enumerate(state.down):
            yield svg.text(x + 12, state.y + state.height + 22 + _DOWN * place, event, svg.INK)


def _lines_back(states: Sequence[_State]) -> Iterator[str]:
    """Lines to a state with exits that is not the next one, on the left of all states."""
    entries = {state.name: state.y + 20 for state in states}
    exits = [way for state in states for way in state.back]
    for place, target in enumerate(dict.fromkeys(way.target for way in exits)):
        here = [way for way in exits if way.target == target]
        yield from _bus(here, (_STATE_X, _BACK_X - _LANE * place, _STATE_X), entries[target])
        yield from (svg.text(_STATE_X - 10, way.y - 6, way.event, svg.INK, text_anchor="end") for way in here)


def _lines_on(states: Sequence[_State], finals: Mapping[str, int]) -> Iterator[str]:
    """Lines to the final states."""
    right = _STATE_X + _STATE_WIDTH
    for place, (target, top) in enumerate(finals.items()):
        here = [way for state in states for way in state.on if way.target == target]
        yield from _bus(here, (right, _ON_X - _LANE * place, _FINAL_X), top + _FINAL_HEIGHT // 2)
        yield from (svg.text(right + 10, way.y - 6, way.event, svg.INK) for way in here)


def _bus(exits: Sequence[_Exit], xs: tuple[int, int, int], y: int) -> Iterator[str]:
    """Lines that leave states, share a lane and end at height `y`; dots show where lines meet, and not only cross.

    `xs` are the x of the states' edge, of the lane and of the end.
    """
    start, lane, end = xs
    for way in exits:
        yield from svg.arrow([(start, way.y), (lane, way.y), (lane, y), (end, y)])
    ends = [y, *(way.y for way in exits)]
    meeting = {height for height in ends if min(ends) < height < max(ends)}
    yield from (svg.tag("circle", cx=lane, cy=height, r=3.2, fill=svg.BLUE) for height in sorted(meeting))


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
    """Lines in a monospaced font under their name; `marks` is part of the text → its colour, across line ends too."""
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
    """The waits along an axis of time, and around the end of each the frame in which the attempt may come.

    `offsets` are the moments of the attempts, in seconds from the event; the axis reaches down to `bottom`.
    """
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
