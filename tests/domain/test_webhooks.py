from collections.abc import Callable
from decimal import Decimal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import Endpoint, OldSecret, Outcome, outcome_of, takes

DONE, DEAD = Outcome("delivered"), Outcome("dead_letter")


def again(seconds: Decimal | int) -> Outcome:
    return Outcome("pending", int(seconds * 1000))


NONE, DAY = (0,), (0, *(1800,) * 48)
EIGHT = (0, 5, 300, 1800, 7200, 18000, 36000, 36000)
# Number of the attempt, status, Retry-After in seconds, choices of the register.
FOLLOWS: list[tuple[Outcome, list[tuple[int, int | None, int | None, dict[str, object]]]]] = [
    (DONE, [(1, 200, None, {}), (10, 299, None, {}), (1, 202, None, {"delivery_success": "200_201_202"})]),
    (DEAD, [(10, 500, None, {}), (10, None, None, {}), (10, 429, 5, {}), (1, 500, None, {"retry_schedule_s": NONE}),
            (49, 500, None, {"retry_schedule_s": DAY}), (8, 500, None, {"retry_schedule_s": EIGHT})]),
    (Outcome("dead_letter", disables_endpoint=True), [(1, 410, None, {})]),
    (again(5), [*((1, status, None, {}) for status in (300, 302, 199, 400, 404, 500, None, 503)),
                (1, 206, None, {"delivery_success": "200_201_202"}), (1, 410, None, {"delivery_gone": "retried"}),
                (1, 500, 90, {}), (1, 503, 3, {}), (1, 503, 90, {"delivery_retry_after": "ignored"}),
                (1, 429, 90, {"delivery_retry_after": "ignored"})]),
    (again(60), [(1, 429, None, {}), (1, 502, None, {}), (1, 504, None, {}), (1, 429, 30, {})]),
    (again(90), [(1, 429, 90, {}), (1, 503, 90, {})]),
    (again(120), [(1, 429, 120, {}), (1, 429, 121, {}), (1, 429, 999_999_999, {}), (1, 503, 500, {})]),
    (again(300), [(2, None, None, {}), (2, 429, None, {})]),
    (again(450), [(2, 429, 450, {})]),
    (again(600), [(2, 429, 900, {}), (2, 503, 900, {})]),
    (again(1_800), [(1, 500, None, {"retry_schedule_s": DAY})]),
    (again(36_000), [(7, 500, None, {"retry_schedule_s": EIGHT})]),
    (again(86_400), [(9, 500, None, {})]),
]  # fmt: skip


def test_what_follows_an_attempt():
    for outcome, attempts in FOLLOWS:
        for number, status, retry_after_s, choices in attempts:
            found = outcome_of(number, status, retry_after_s, lambda _: 200, Gaps.chosen(choices))
            assert found == outcome, (number, status, retry_after_s, choices)


def draws(jitter: int) -> Callable[[int], int]:
    """Draws this number, one from 0 to 400."""

    def below(bound: int) -> int:
        assert bound == 401
        return jitter

    return below


def test_the_wait_is_the_schedules_with_jitter():
    for number, wait_s in enumerate(Gaps().retry_schedule_s[1:], start=1):
        for jitter, factor in ((0, "0.8"), (100, "0.9"), (200, "1"), (400, "1.2")):
            assert outcome_of(number, 500, None, draws(jitter), Gaps()) == again(wait_s * Decimal(factor))


@given(st.integers(1, 9), st.integers(0, 400), st.sampled_from([429, 502, 504]), st.none() | st.integers(0, 10**9))
def test_slowing_down_never_hurries_and_has_an_end(number: int, jitter: int, status: int, retry_after_s: int | None):
    plain, slowed = (
        outcome_of(number, each, retry_after_s, draws(jitter), Gaps()).wait_ms or 0 for each in (500, status)
    )
    assert plain
    assert max(plain, 60_000) <= slowed <= 2 * max(plain, 60_000)


ENDPOINT = Endpoint(id="we_1", seq=1, account="a", url="http://a.example", secret="c")


def test_a_rolled_secret_signs_until_its_time_is_up():
    old = (OldSecret("b", 20), OldSecret("a", 10))
    endpoint = msgspec.structs.replace(ENDPOINT, old_secrets=old)
    assert [endpoint.overlapping(now_ms) for now_ms in (9, 10, 19, 20)] == [old, old[:1], old[:1], ()]


def test_which_events_a_filter_takes():
    for enabled_events, event_type, wanted in (
        (("*",), "charge.failed", True), (("charge.failed",), "charge.failed", True),
        (("charge.failed",), "charge.succeeded", False), (("charge.*",), "charge.succeeded", True),
        (("charge.*",), "payment_intent.succeeded", False), (("charge",), "charge.failed", False),
        (("payment_intent.*", "charge.failed"), "charge.failed", True), (("char*",), "charge.failed", False),
        ((), "charge.failed", False),
    ):  # fmt: skip
        assert takes(enabled_events, event_type) is wanted
