import pytest

from workbench.domain.transitions import next_state
from workbench.errors import IllegalTransition

TABLE = {("closed", "open"): "open", ("open", "close"): "closed", ("open", "break"): "broken"}


@pytest.mark.parametrize(("state", "event", "after"), [(*key, after) for key, after in TABLE.items()])
def test_a_row_of_the_table_is_taken(state: str, event: str, after: str):
    assert next_state(TABLE, state, event) == after


@pytest.mark.parametrize(
    ("state", "event", "allowed", "said"),
    [
        ("closed", "close", ("open",), "takes open"),
        ("open", "open", ("close", "break"), "takes close, break"),
        ("broken", "open", (), "takes nothing more"),
        ("unheard of", "open", (), "takes nothing more"),
    ],
)
def test_anything_else_is_refused_with_what_the_state_takes(
    state: str, event: str, allowed: tuple[str, ...], said: str
):
    with pytest.raises(IllegalTransition, match=said) as refused:
        next_state(TABLE, state, event)
    assert refused.value.facts == {"state": state, "event": event, "allowed": allowed}
    assert refused.value.__suppress_context__
