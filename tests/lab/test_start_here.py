"""The first notebook: it robs nobody of the PIN, whatever is run in whatever order."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import code_of

PARAMETERS, SETUP, ASK, RING, PIN, LOOK = code_of("start_here")[:6]


@pytest.fixture
def kernel(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., str]]:
    """Runs cells one after another in one set of names; what the last of them prints."""
    names: dict[str, Any] = {}

    def run(*sources: str) -> str:
        for source in sources:
            capsys.readouterr()
            exec(source, names)  # noqa: S102  the notebook's own cells
        return capsys.readouterr().out

    yield run
    names["bench"].close()


ORDERS = {
    "each twice": (ASK, ASK, RING, RING, PIN, PIN, LOOK, LOOK),
    "out of order": (ASK, PIN, LOOK, RING, LOOK, PIN, RING, LOOK),
    "asked again": (ASK, RING, ASK, LOOK, RING, PIN, LOOK),
    "begun again": (ASK, RING, PIN, LOOK, SETUP, ASK, LOOK),
}


def test_the_pin_is_left_to_whoever_looks_and_an_attempt_that_ended_says_how_to_go_on(
    kernel: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
    said = kernel(PARAMETERS, SETUP, ASK, RING, PIN, LOOK)
    assert "A prompt waits on the phone. Enter the PIN on it, then run this cell again." in said
    assert "Run step 2: it sends the prompt." in kernel(*['bench.phone(phone).enter_pin("0000")'] * 3, PIN, LOOK)
    assert "A prompt waits on the phone." in kernel(RING, LOOK)
    assert "succeeded" in kernel('bench.phone(phone).enter_pin("1234")', LOOK)
    for order in ORDERS.values():
        assert "the intent is" in kernel(*order)


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_of_the_cells_raises_where_nobody_looks(kernel: Callable[..., str], order: str):
    kernel(PARAMETERS, SETUP, *ORDERS[order])
