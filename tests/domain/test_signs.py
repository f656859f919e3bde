from decimal import Decimal

import pytest

from workbench.domain.signs import (
    Message,
    ObservedCall,
    Other,
    Part,
    Reading,
    rate_shown,
    scale_shown,
    states,
)


def observed(status: int, sent: dict[str, object], got: dict[str, object], **headers: str) -> ObservedCall:
    """An intent that was asked for, and its response."""
    response = Message(headers, body=got)
    asked, about = Message({}, body=sent), ("createPaymentIntent", ("Bearer",), None)
    return ObservedCall("a.har 1", "https://a.example", asked, status, response, Decimal(0), *about)


@pytest.mark.parametrize(
    ("asked", "amount", "shown"),
    [
        (Decimal("1.005"), Decimal("1.00"), Part("half_even", "half a ngwee goes down", 3)),
        (Decimal("1.015"), Decimal("1.02"), Part("half_even", "half a ngwee goes up", 3)),
        (Decimal("1.005"), Decimal("1.01"), Other("1.005 becomes 1.01")),
        (Decimal("1.001"), Decimal("1.00"), Part("half_even", "more than two decimals are accepted", 3)),
        (Decimal("1.005"), None, Part("half_even", "more than two decimals are accepted", 3)),
        (Decimal("1.05"), Decimal("1.05"), None),
    ],
)
def test_an_amount_of_a_fraction_of_a_ngwee_shows_how_it_is_rounded(asked: Decimal, amount: object, shown: Reading):
    assert scale_shown(observed(200, {"amount": asked}, {"id": "pi_1", "amount": amount})) == shown


@pytest.mark.parametrize(
    ("status", "headers", "shown"),
    [
        (200, {}, None),
        (429, {}, Other("429, with no policy told")),
        (200, {"ratelimit-policy": '"a";q=100;w=60'}, "100_per_60"),
        (429, {"ratelimit-policy": '"a";q=5;w=1'}, Other('"a";q=5;w=1')),
    ],
)
def test_a_limit_shows_in_the_policy_that_a_response_announces(status: int, headers: dict[str, str], shown: Reading):
    assert rate_shown(observed(status, {}, {}, **headers)) == shown


@pytest.mark.parametrize(
    ("status", "error", "shown"),
    [
        ("failed", None, "failed"),
        ("requires_payment_method", {"code": "wrong_pin"}, "retryable"),
        ("requires_payment_method", None, None),
        ("on_hold", None, Other("the state on_hold")),
        (None, None, None),
    ],
)
def test_a_state_of_its_own_shows_and_one_that_stands_for_it_shows_the_default(
    status: object, error: object, shown: Reading
):
    shows = states(
        "failed",
        "retryable",
        lambda exchange: exchange.intents,
        lambda intent: intent.get("error"),
        known="requires_payment_method",
    )
    assert shows(observed(200, {}, {"id": "pi_1", "status": status, "error": error})) == shown
