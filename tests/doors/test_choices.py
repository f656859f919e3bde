"""Each alternative of the register, switched and seen through both doors; and how pages and calls are counted."""

import atexit
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DOORS, Serving, check_books
from tests.doors.choices import ALWAYS, CHOICES, COMMAND, EITHER, LEAST, NUMBERED, PHONE, Choice, Looks
from workbench import PaymentsClient, Workbench
from workbench.domain.gaps import REGISTER, Gaps
from workbench.errors import RateLimited, UnexpectedResponse
from workbench.sandbox import rate_limit

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
            for door in DOORS if choice.where in {EITHER, ALWAYS} else DOORS[:1]:
                marks = [pytest.mark.thorough] if (door, choice.where) == (DOORS[1], EITHER) else []
                yield pytest.param(
                    choice, value, door, marks=marks, id=f"{choice.row}-{value}"[:60] + f"-{look}-{door}"
                )


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


def test_how_long_to_wait_is_read_of_any_service():
    answers = httpx.MockTransport(lambda _: httpx.Response(429, headers={"Retry-After": "7"}, text="slow down"))
    with httpx.Client(transport=answers) as http, pytest.raises(RateLimited) as limited:
        PaymentsClient("http://127.0.0.1", "sk_test_x", http=http).balance.retrieve()
    assert limited.value.facts == {"retry_after_s": 7}


def test_a_token_by_no_known_name_is_no_token():
    answers = httpx.MockTransport(lambda _: httpx.Response(200, json={"bearer": "at_x"}))
    with httpx.Client(transport=answers) as http, pytest.raises(UnexpectedResponse, match="no token"):
        PaymentsClient("http://127.0.0.1", "sk_test_x", http=http).auth.token(email="a@b", password="a")


class Kept:
    """As much of a transaction as counting takes."""

    def __init__(self, gaps: Any) -> None:  # noqa: ANN401  the register
        self.gaps = gaps
        self.now_ms = 1
        self.kept: dict[str, int] = {}

    def note(self, name: str, value: int) -> None:
        self.kept[name] = value

    def last(self, name: str) -> int:
        return self.kept.get(name, 0)


@given(st.lists(st.tuples(st.integers(0, 40_000), st.integers(1, 70)), max_size=6))
def test_no_window_takes_more_than_its_calls_and_what_is_told_is_kept(steps: list[tuple[int, int]]):
    """`steps` are the milliseconds to let go by, and how many calls are made then."""
    tx: Any = Kept(Gaps(rate_limit="100_per_60"))
    began_ms, made = -60_000, 0
    for step in [later for wait, calls in steps for later in (wait, *[0] * (calls - 1))]:
        tx.now_ms += step
        if tx.now_ms >= began_ms + 60_000:
            began_ms, made = tx.now_ms, 0
        status = 200
        try:
            rate_limit.check_quota(tx, "shop")
        except RateLimited as error:
            status = error.status
        assert (status == 429) == (made == 100)
        made += status == 200
        ends_s = -((tx.now_ms - began_ms - 60_000) // 1000)
        told = rate_limit.count_call(tx, "shop", status)
        assert told["RateLimit"] == f'"default";r={100 - made};t={ends_s}'
        assert told.get("Retry-After") == (str(ends_s) if status == 429 else None)


@given(st.integers(1, 9), st.booleans())
def test_the_pages_of_a_list_are_the_list(size: int, of_charges: bool):  # noqa: FBT001  drawn
    listed = _paged()
    query = "&type=charge.*" if of_charges else ""
    pages, number = [], 1
    while (body := listed(f"/v1/events?per_page={size}&page={number}{query}"))["data"]:
        pages.append([each["id"] for each in body["data"]])
        number += 1
    found = [each for page in pages for each in page]
    every = listed(f"/v1/events?per_page=100{query}")
    assert found == [each["id"] for each in every["data"]]
    assert body["total"] == len(found) == every["total"] == {True: 2, False: 10}[of_charges]
    assert {len(page) for page in pages[:-1]} <= {size}


@cache
def _paged() -> Callable[[str], Any]:
    """A sandbox with some events, and how its lists are read."""
    bench = Workbench(seed=7, gaps={"pagination": "page"})
    atexit.register(bench.close)
    for phone in (PHONE, "+260961234568"):
        Looks(bench).paid(phone)
    return lambda path: Looks(bench).get(path).json()
