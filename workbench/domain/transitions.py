"""Tables of `(state, event) → state`, and the one way to read them."""

from collections.abc import Mapping

from workbench.errors import IllegalTransition

Transitions = Mapping[tuple[str, str], str]


def next_state(transitions: Transitions, state: str, event: str) -> str:
    """The state after `event`. Raises IllegalTransition with the events that `state` takes."""
    try:
        return transitions[state, event]
    except KeyError:
        allowed = tuple(each for (start, each) in transitions if start == state)
        raise IllegalTransition(
            f"{event} is not possible in state {state}, which takes {', '.join(allowed) or 'nothing more'}.",
            state=state,
            event=event,
            allowed=allowed,
        ) from None
