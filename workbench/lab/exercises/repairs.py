"""The repairs: broken functions that stand in the notebooks, called here once they were changed.

Each is tried in a sandbox of its own, so that the notebook's books and trace stay as they are.
"""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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


# after_the_payment


# verify_webhooks


# charge_in_one_call


# when_payments_fail


# retries_dead_letters_and_replay


# idempotency


# your_own_backend


# for_support_staff


# explore_a_month


def _net_by_operator(net_by_operator: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    charges = pd.DataFrame(
        {
            "id": ["ch_1", "ch_2", "ch_3"],
            "status": ["succeeded", "succeeded", "failed"],
            "amount_minor": [10_000, 4_000, 700],
            "refunded_minor": [5_000, 0, 0],
            "provider": ["mtn", "airtel", "airtel"],
        }
    )
    refunds = pd.DataFrame(
        {
            "id": ["re_1", "re_2"],
            "charge": ["ch_1", "ch_1"],
            "status": ["succeeded"] * 2,
            "amount_minor": [3_000, 2_000],
        }
    )
    slips = {15_000: "A charge with two refunds counts twice: the join makes two rows of it."}
    net = net_by_operator(charges, refunds)
    if not isinstance(net, pd.Series):
        yield wrong(
            "The function should return a Series: ngwee by operator.",
            seen=type(net).__name__,
            expected="Series",
            at="return",
        )
    for provider, expected, of_what in (
        ("airtel", 4_000, "One payment of K40.00 succeeded with airtel, and none was refunded."),
        ("mtn", 5_000, "With mtn, K100.00 were paid; K30.00 and K20.00 of them went back."),
    ):
        if provider not in net:
            yield wrong(
                f"{provider} is missing. A payment without a refund counts too.",
                seen=str(list(net.index)),
                expected="['airtel', 'mtn']",
                at="how=",
            )
        seen = int(net[provider])
        if seen != expected:
            yield wrong(slips.get(seen, of_what), seen=kwacha(seen), expected=kwacha(expected), at="merge")
    if net.dtype.kind != "i":
        yield wrong(
            "The amounts are right, and floats: a missing value has made them so.",
            seen=str(net.dtype),
            expected="int64",
            at="fillna",
        )
    yield done("K50.00 with mtn after two refunds, K40.00 with airtel, in whole ngwee.")


# reconcile_a_statement


def _one_sided(one_sided: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    ledger = pd.DataFrame({"key": ["A-1", "A-2", "A-4"], "amount_minor": [5, 6, 7]})
    statement = pd.DataFrame({"key": ["A-3", "A-2", "A-1"], "amount_minor": [8, 6, 5]})
    keys = one_sided(ledger, statement)
    if not isinstance(keys, list):
        yield wrong(
            "The function should return a list of keys.", seen=type(keys).__name__, expected="list", at="return"
        )
    says = {
        "A-1": "Both sides have A-1.",
        "A-3": "A-3 is on the statement alone, and is not reported.",
        "A-4": "A-4 is in the ledger alone, and is not reported.",
    }
    expected = ["A-3", "A-4"]
    for key in [*(key for key in says if (key in keys) != (key in expected)), *([""] if keys != expected else [])]:
        yield wrong(says.get(key, "Give each key once, in order."), seen=str(keys), expected=str(expected), at="_merge")
    yield done("A-3 of the statement and A-4 of the ledger are both reported.")


# settle_and_decide


def _settle_all(bench: Bench, settle_all: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    fee = {
        "recipe": "fee_raised", "fee_minor": 0, "currency": "ZMW", "account": "operator:mtn:float", "entry": None,
        "occurred_at": "2026-01-05T06:00:00.000Z", "description": "a fee",
    }  # fmt: skip
    proposals = [json.dumps([{**fee, "amount_minor": minor, "reference": f"MP-{minor}"}]) for minor in (2, 3)]
    breaks = pd.DataFrame(
        {
            "code": ["fee_mismatch", "ambiguous", "fee_mismatch", "timing"],
            "proposal": [proposals[0], None, proposals[1], None],
        }
    )
    with fresh(bench) as sandbox:
        without = settle_all(sandbox, breaks)
        posted = len(sandbox.ledger.entries)
    if posted != len(proposals):
        yield wrong(
            "Two of four breaks have a proposal: the first and the third. Not every proposal is posted.",
            seen=f"{posted} posted", expected="2 posted", at="try",
        )  # fmt: skip
    if not isinstance(without, list) or sorted(without) != ["ambiguous", "timing"]:
        yield wrong(
            "Both entries are posted. The codes that no entry settles are not the right ones.",
            seen=str(without), expected="['ambiguous', 'timing']", at="return",
        )  # fmt: skip
    yield done("Two entries are posted, and ambiguous and timing are left for a person.")


# when_the_data_outgrows_the_laptop


def _mean_of_parts(mean_of_parts: Callable[..., Any]) -> Iterator[Verdict]:
    import pandas as pd

    with TemporaryDirectory() as folder:
        parts = [Path(folder) / "part-0.parquet", Path(folder) / "part-1.parquet"]
        for part, minors in zip(parts, ([1_000, 2_000, 3_000], [10_000]), strict=True):
            pd.DataFrame({"amount_minor": minors}).to_parquet(part)
        mean = mean_of_parts(parts)
    if isinstance(mean, float) or not hasattr(mean, "__index__"):
        yield wrong("A mean of ngwee is a whole number.", seen=type(mean).__name__, expected="int", at="return")
    right = 4_000
    slips = {
        6_000: "The mean of means counts a part of one row as much as a part of three.",
        8_000: "The sum is divided by the number of parts. Divide it by the number of rows.",
    }
    if mean != right:
        yield wrong(
            slips.get(int(mean), "The parts hold K10.00, K20.00 and K30.00, and K100.00."),
            seen=kwacha(int(mean)), expected=kwacha(right), at="return",
        )  # fmt: skip
    yield done("Of K10.00, K20.00 and K30.00 in one part and K100.00 in the other, the mean is K40.00.")


# what_is_not_documented


# certify_your_endpoint


# going_live


# tokens_and_plants


# your_own_notebooks
