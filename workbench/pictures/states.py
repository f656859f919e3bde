"""The states of a payment, a refund or a payout, and the events that lead from state to state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from workbench import svg
from workbench.domain.payments import Transitions
from workbench.render import table
from workbench.svg import Drawing

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
    """States that can be left from top to bottom, final ones beside them."""
    sources = list(dict.fromkeys(state for state, _ in transitions))
    states = list(_placed(sources, transitions))
    finals = _beside(states, [state for state in dict.fromkeys(transitions.values()) if state not in sources])
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
        f"{title}. It begins as {sources[0]}; final: {', '.join(finals)}.",
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


def _beside(states: Sequence[_State], finals: Iterable[str]) -> dict[str, int]:
    """The heights of the final states: in the middle of their lines, and no two at one height."""
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
    """Lines to a state that is not the next one, left of all."""
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
    """Lines from their states over one lane to a height; a dot where lines meet, so that others only cross."""
    start, lane, end = xs
    for way in exits:
        yield from svg.arrow([(start, way.y), (lane, way.y), (lane, y), (end, y)])
    ends = [y, *(way.y for way in exits)]
    meeting = {height for height in ends if min(ends) < height < max(ends)}
    yield from (svg.tag("circle", cx=lane, cy=height, r=3.2, fill=svg.BLUE) for height in sorted(meeting))
