"""Each alternative of the register, switched and seen: in process, and some over a socket or by the command."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DOORS, Serving, check_books
from tests.doors.choices import CHOICES, COMMAND, LEAST, NUMBERED, SOCKET, Choice, Looks
from workbench import Workbench
from workbench.domain.gaps import REGISTER

SOCKETS = {("delivery_timeout_s", 15), ("delivery_timeout_s", 5), ("delivery_timeout_s", 30)}
"""Seen where a receiver really hangs, over a socket."""


@contextmanager
def opened(door: str, gaps: Mapping[str, object]) -> Iterator[Workbench]:
    """A sandbox with some choices: this process's own, or connected to the same over a socket. Its books hold."""
    with Workbench(seed=7, gaps=gaps) as own:
        if door == DOORS[0]:
            yield own
        else:
            account = {"email": own.email, "password": str(own.password)}
            with (
                own.serve() as at,
                Workbench.connect(at.base_url, at.secret_key, at.publishable_key, **account) as bench,
            ):
                yield bench
        check_books(own)


def cases() -> Iterator[Any]:
    for choice in CHOICES:
        look = choice.look.__name__.strip("<>")
        for value in choice.seen:
            for door in DOORS if choice.where == SOCKET else DOORS[:1]:
                yield pytest.param(choice, value, door, id=f"{choice.row}-{value}"[:60] + f"-{look}-{door}")


@pytest.mark.parametrize(("choice", "value", "door"), [*cases()])
def test_an_alternative_is_a_value_to_switch(choice: Choice, value: object, door: str):
    with opened(door, {**choice.also, choice.row: value}) as bench:
        assert choice.look(Looks(bench)) == choice.seen[value]


@pytest.mark.parametrize("chosen", [NUMBERED, pytest.param(LEAST, marks=pytest.mark.thorough)], ids=["most", "least"])
def test_the_command_takes_several_from_a_file(chosen: Mapping[str, object], serving: Serving, tmp_path: Path):
    file = tmp_path / "gaps.toml"
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in chosen.items()))
    options = ("--port", "0", "--json", "--seed", "7", "--clock", "manual", "--gaps", str(file))
    with serving(*options) as server, Workbench.connect(**server.address) as bench:
        for choice in CHOICES:
            if choice.where == COMMAND and choice.also is chosen:
                assert choice.look(Looks(bench)) == choice.seen[chosen[choice.row]], choice.look
        check_books(bench)


def test_every_value_that_is_offered_is_seen_by_a_look_that_sees_another_by_default():
    defaults = {gap.name: gap.default for gap in REGISTER}
    offered = {(gap.name, value) for gap in REGISTER if gap.alternatives for value in (gap.default, *gap.alternatives)}
    apart = set(SOCKETS)
    for choice in CHOICES:
        if (default := defaults[choice.row]) in choice.seen:
            others = [value for value, seen in choice.seen.items() if seen != choice.seen[default]]
            apart |= {(choice.row, value) for value in (default, *others)}
    assert offered == apart
