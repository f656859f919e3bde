"""The repairs: broken functions that stand in the notebooks, called here once they were changed.

Each is tried in a sandbox of its own, so that the notebook's books and trace stay as they are.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from workbench.domain.gaps import Gaps
from workbench.domain.payments import fees_of
from workbench.errors import SignatureRefused
from workbench.lab.exercises.shape import Bench, Verdict, done, fresh, kwacha, wrong

# start_here


# how_mobile_money_works


# create_an_intent


def _priced_in_ngwee(bench: Bench, order: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for minor in (8_735, 5, 120_000):
            intent = order(sandbox.client, minor, "A-17")
            if getattr(intent, "object", None) != "payment_intent":
                yield wrong("The function should return the intent.", at="return")
            if intent.amount != Decimal(minor) / 100:
                yield wrong(
                    "An intent counts kwacha, and the shop's price is in ngwee.",
                    seen=kwacha(int(intent.amount * 100)), expected=kwacha(minor), at="amount=",
                )  # fmt: skip
            if intent.metadata != {"order": "A-17"}:
                yield wrong("The order's number is gone.", seen=str(intent.metadata), expected="{'order': 'A-17'}")
    yield done("8735 ngwee are K87.35, and 5 ngwee are K0.05.")


# keys


# confirm_with_ussd


# read_the_ledger


def _split_to_the_ngwee(split: Callable[[int], Any]) -> Iterator[Verdict]:
    for gross in (10_000, 8_735, 100, 20, 1):
        returned = split(gross)
        if not isinstance(returned, tuple) or [type(each) for each in returned] != [int, int]:
            yield wrong("The function should return two integers: the merchant's share and the fee.", at="return")
        net, fee = returned
        right = fees_of(gross, Gaps()).merchant_minor
        if fee != right:
            yield wrong(
                f"The fee of {kwacha(gross)} is rounded half up to a ngwee, and is at least one.",
                seen=kwacha(fee), expected=kwacha(right), at="fee =",
            )  # fmt: skip
        if net + fee != gross:
            yield wrong(
                "The shares do not add up to the payment: each was rounded on its own.",
                seen=f"{kwacha(net)} + {kwacha(fee)} = {kwacha(net + fee)}", expected=kwacha(gross), at="net =",
            )  # fmt: skip
    yield done("Share and fee add up to the payment, from one ngwee on.")


# after_the_payment


def _payout_of_what_is_there(bench: Bench, pay_out: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        pay = sandbox.client
        _take(pay, 10_000, "cleared")
        sandbox.clock.advance(days=1)
        _take(pay, 5_000, "pending")
        available = pay.balance.retrieve().available[0].amount
        payout = pay_out(pay)
        if getattr(payout, "object", None) != "payout":
            yield wrong(f"K{available} are available, and the function should return the payout of it.", at="return")
        if payout.amount != available:
            yield wrong(
                "The payout is not all that is available.",
                seen=f"K{payout.amount}", expected=f"K{available}", at="amount = ",
            )  # fmt: skip
        if pay_out(pay) is not None:
            yield wrong("Nothing is available any more, and the function should return None.", at="return")
    yield done(f"K{available} were available and another payment was pending: it pays out K{available}.")


def _take(pay: Any, amount_minor: int, order: str) -> None:  # noqa: ANN401  a client of another sandbox
    """A payment that succeeds at once."""
    pay.charges.create(
        amount=amount_minor, channel="mtn", phone="+260961234567", reference=order, idempotency_key=order
    )


# verify_webhooks


def _genuine_messages(bench: Bench, type_of: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        sandbox.client.payment_intents.create(amount=Decimal("150.00"))
        arrival = sandbox.receiver.arrivals[-1]
        secret, now_s = sandbox.receiver.secrets[0], sandbox.clock.now_ms // 1000

        def told(body: bytes, moment_s: int) -> str:
            try:
                return str(type_of(body, arrival.headers, secret, moment_s))
            except SignatureRefused as error:
                return error.reason

        if (seen := told(arrival.body, now_s)) != arrival.reason:
            yield wrong("A genuine message does not get through.", seen=seen, expected=arrival.reason, at="verify(")
        for what, body, moment_s in (
            ("whose amount was changed", arrival.body.replace(b"150.00", b"950.00"), now_s),
            ("that is 301 seconds old", arrival.body, now_s + 301),
        ):
            if (seen := told(body, moment_s)) == arrival.reason:
                yield wrong(f"A message {what} gets through.", seen=seen, expected="SignatureRefused", at="verify(")
    yield done("Genuine messages get through, changed and old ones do not.")


# charge_in_one_call


_OF_CHARGES = {
    "A customer has paid.": ("+260961234567", True),
    "The wallet holds too little, and the charge is declined.": ("+260960000002", False),
    "Nobody has answered the prompt yet, and the charge is pending.": ("+260960000005", False),
}
"""What has become of a charge: the number that does it, and whether goods may leave."""


def _shipped_unpaid(bench: Bench, may_ship: Callable[..., Any]) -> Iterator[Verdict]:
    with fresh(bench) as sandbox:
        for what, (phone, expected) in _OF_CHARGES.items():
            seen = may_ship(sandbox.client, 15_000, phone, f"ORDER-{phone[-1]}")
            if seen is not expected:
                yield wrong(what, seen=str(seen), expected=str(expected), at="return")
    yield done("Goods leave for a paid charge, not for a declined one, and not for one that is pending.")


# when_payments_fail


# retries_dead_letters_and_replay


# idempotency


# your_own_backend


# for_support_staff


# explore_a_month


# reconcile_a_statement


# settle_and_decide


# when_the_data_outgrows_the_laptop


# what_is_not_documented


# certify_your_endpoint


# going_live


# tokens_and_plants


# your_own_notebooks
