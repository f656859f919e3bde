from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import Endpoint, OldSecret, Outcome, outcome_of

# What follows an attempt

DEFAULT = Gaps()
SCHEDULE_S = (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
MIDDLE = 200
DONE, DEAD = Outcome("delivered"), Outcome("dead_letter")


def again(seconds: Decimal | int) -> Outcome:
    return Outcome("pending", int(seconds * 1000))


@pytest.mark.parametrize(
    ("number", "status", "retry_after_s", "choices", "outcome"),
    [
        (1, 200, None, {}, DONE),
        (10, 204, None, {}, DONE),
        (1, 299, None, {}, DONE),
        (1, 206, None, {"delivery_success": "200_201_202"}, again(5)),
        (1, 202, None, {"delivery_success": "200_201_202"}, DONE),
        (1, 300, None, {}, again(5)),
        (1, 302, None, {}, again(5)),
        (1, 199, None, {}, again(5)),
        (1, 400, None, {}, again(5)),
        (1, 404, None, {}, again(5)),
        (1, 500, None, {}, again(5)),
        (1, None, None, {}, again(5)),
        (2, None, None, {}, again(300)),
        (9, 500, None, {}, again(86_400)),
        (10, 500, None, {}, DEAD),
        (10, None, None, {}, DEAD),
        (11, 500, None, {}, DEAD),
        (10, 429, 5, {}, DEAD),
        (1, 410, None, {}, Outcome("dead_letter", disables_endpoint=True)),
        (1, 410, None, {"delivery_gone": "retried"}, again(5)),
        (10, 410, None, {"delivery_gone": "retried"}, DEAD),
        (1, 429, None, {}, again(60)),
        (1, 502, None, {}, again(60)),
        (1, 504, None, {}, again(60)),
        (1, 503, None, {}, again(5)),
        (1, 429, 30, {}, again(60)),
        (1, 429, 90, {}, again(90)),
        (1, 429, 120, {}, again(120)),
        (1, 429, 121, {}, again(120)),
        (1, 429, 999_999_999, {}, again(120)),
        (2, 429, None, {}, again(300)),
        (2, 429, 450, {}, again(450)),
        (2, 429, 900, {}, again(600)),
        (1, 500, 90, {}, again(5)),
        (1, 503, 3, {}, again(5)),
        (1, 503, 90, {}, again(90)),
        (1, 503, 500, {}, again(120)),
        (2, 503, 450, {}, again(450)),
        (2, 503, 900, {}, again(600)),
        (1, 503, 90, {"delivery_retry_after": "ignored"}, again(5)),
        (1, 429, 90, {"delivery_retry_after": "ignored"}, again(5)),
        (1, 500, None, {"retry_schedule_s": (0,)}, DEAD),
        (1, 500, None, {"retry_schedule_s": (0, *(1800,) * 48)}, again(1_800)),
        (49, 500, None, {"retry_schedule_s": (0, *(1800,) * 48)}, DEAD),
        (7, 500, None, {"retry_schedule_s": (0, 5, 300, 1800, 7200, 18000, 36000, 36000)}, again(36_000)),
        (8, 500, None, {"retry_schedule_s": (0, 5, 300, 1800, 7200, 18000, 36000, 36000)}, DEAD),
    ],
)
def test_what_follows_an_attempt(
    number: int, status: int | None, retry_after_s: int | None, choices: dict[str, object], outcome: Outcome
):
    assert outcome_of(number, status, retry_after_s, MIDDLE, Gaps.chosen(choices)) == outcome


@pytest.mark.parametrize(("jitter", "factor"), [(0, "0.8"), (100, "0.9"), (200, "1"), (400, "1.2")])
@pytest.mark.parametrize("number", range(1, 10))
def test_the_wait_is_the_schedules_with_jitter(number: int, jitter: int, factor: str):
    assert outcome_of(number, 500, None, jitter, DEFAULT) == again(SCHEDULE_S[number] * Decimal(factor))


@given(st.integers(1, 9), st.integers(0, 400), st.sampled_from([429, 502, 504]), st.none() | st.integers(0, 10**9))
def test_slowing_down_never_hurries_and_has_an_end(number: int, jitter: int, status: int, retry_after_s: int | None):
    plain = outcome_of(number, 500, None, jitter, DEFAULT).wait_ms
    slowed = outcome_of(number, status, retry_after_s, jitter, DEFAULT).wait_ms
    assert plain is not None
    assert slowed is not None
    assert max(plain, 60_000) <= slowed <= 2 * max(plain, 60_000)


# Endpoints


def test_a_rolled_secret_signs_until_its_time_is_up():
    old = (OldSecret("b", 20), OldSecret("a", 10))
    endpoint = Endpoint(id="we_1", seq=1, account="a", url="http://a.example", secret="c", old_secrets=old)
    assert [endpoint.overlapping(now_ms) for now_ms in (9, 10, 19, 20)] == [old, old[:1], old[:1], ()]


@pytest.mark.parametrize(
    ("enabled_events", "status", "event_type", "wanted"),
    [
        (("*",), "enabled", "charge.failed", True),
        (("*",), "disabled", "charge.failed", False),
        (("charge.failed",), "enabled", "charge.failed", True),
        (("charge.failed",), "enabled", "charge.succeeded", False),
        (("charge.*",), "enabled", "charge.succeeded", True),
        (("charge.*",), "enabled", "payment_intent.succeeded", False),
        (("payment_intent.*", "charge.failed"), "enabled", "charge.failed", True),
        (("charge",), "enabled", "charge.failed", False),
        (("char*",), "enabled", "charge.failed", False),
        ((), "enabled", "charge.failed", False),
    ],
)
def test_which_events_an_endpoint_wants(enabled_events: tuple[str, ...], status: str, event_type: str, wanted: bool):  # noqa: FBT001  a table
    endpoint = Endpoint(
        id="we_1", seq=1, account="plants", url="http://x", secret="", enabled_events=enabled_events, status=status
    )
    assert endpoint.wants(event_type) is wanted
