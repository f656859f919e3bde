import pytest

from workbench.domain.payments import next_state
from workbench.errors import IllegalTransition

TABLE = {("closed", "open"): "open", ("open", "close"): "closed", ("open", "break"): "broken"}


def test_a_row_of_the_table_is_taken_and_anything_else_refused_with_what_the_state_takes():
    for (state, event), after in TABLE.items():
        assert next_state(TABLE, state, event) == after
    for state, event, allowed, said in (
        ("closed", "close", ("open",), "takes open"),
        ("open", "open", ("close", "break"), "takes close, break"),
        ("broken", "open", (), "takes nothing more"),
        ("unheard of", "open", (), "takes nothing more"),
    ):
        with pytest.raises(IllegalTransition, match=said) as refused:
            next_state(TABLE, state, event)
        assert refused.value.facts == {"state": state, "event": event, "allowed": allowed}
        assert refused.value.__suppress_context__
