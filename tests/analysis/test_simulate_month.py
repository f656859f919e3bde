"""A month driven through the service: what it did, what the books say, and on which sandbox it cannot be."""

import csv
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from workbench import Workbench
from workbench.analysis.simulate import Simulation, Traffic
from workbench.domain.moments import moment
from workbench.errors import SimulationRefused

if TYPE_CHECKING:
    from tests.conftest import Serving

PAYMENTS, DAYS = 160, 9
NAMES = {"late_success": "prompt_timeout"}
"""What a charge says whose money came after it had failed."""


@pytest.fixture(scope="module")
def driven() -> Iterator[tuple[Workbench, Simulation]]:
    traffic = Traffic(late_per_100k=4_000, unknown_per_100k=4_000, refunds_per_100k=8_000)
    with Workbench(seed=7) as bench:
        yield bench, bench.simulate(payments=PAYMENTS, days=DAYS, seed=1, traffic=traffic)


def test_the_counts_are_what_the_service_lists_and_the_ledger_verifies(driven: tuple[Workbench, Simulation]):
    bench, made = driven
    listed = Counter(each.failure_code or each.status for each in bench.client.charges.each())
    reported: Counter[str] = Counter()
    for outcome, number in made.outcomes.items():
        reported[NAMES.get(outcome, "pending" if outcome in ("operator_unknown", "open") else outcome)] += number
    assert reported == listed
    assert sum(made.outcomes.values()) == PAYMENTS
    assert {"succeeded", "late_success", "operator_unknown", "insufficient_funds"} <= made.outcomes.keys()
    assert made.refunds == len(list(bench.client.refunds.each())) > 0
    assert made.payouts == len(list(bench.client.payouts.each())) == 1
    intents = list(bench.client.payment_intents.each())
    assert len(intents) / PAYMENTS == pytest.approx(0.3, abs=0.1)
    assert any(each.status == "succeeded" for each in intents)
    bench.ledger.verify()
    balances = bench.ledger.trial_balance()
    assert balances["debit_minor"].sum() == balances["credit_minor"].sum() > 0


def test_it_ends_before_the_night_after_the_last_day(driven: tuple[Workbench, Simulation]):
    bench, made = driven
    assert bench.clock.now == datetime(2026, 1, 14, 21, 59, 59, 999_000, tzinfo=UTC)
    assert (str(made.first_day), str(made.last_day)) == ("2026-01-06", "2026-01-14")
    cleared = list(bench.ledger.entries.query("kind == 'cleared'")["occurred_at"])
    assert {f"{at:%H:%M:%S.%f}" for at in cleared} == {"22:00:00.000000"}
    assert len(cleared) == DAYS - 1


def test_webhooks_are_sent_again_when_it_is_over(driven: tuple[Workbench, Simulation]):
    bench, _ = driven
    assert bench.receiver.events == []
    bench.client.payment_intents.create(amount=Decimal(10))
    assert [each.type for each in bench.receiver.events] == ["payment_intent.created"]


def test_it_tells_of_itself_and_not_of_the_machine(driven: tuple[Workbench, Simulation]):
    _, made = driven
    assert "160 payments from 2026-01-06 to 2026-01-14" in repr(made)
    html = made._repr_mimebundle_()["text/html"]
    assert "<table>" in html
    assert f'<td style="text-align:right">{made.refunds:,}</td>' in html


def test_webhooks_are_sent_again_when_it_fails(tmp_path: Path):
    with Workbench(seed=7) as bench:
        with pytest.raises(SimulationRefused, match="payout_unpaid"):
            bench.simulate(payments=3, days=1, out=tmp_path, breaks={"payout_unpaid": 1})
        assert list(tmp_path.iterdir()) == [], "nothing is left of what failed"
        bench.client.payment_intents.create(amount=Decimal(10))
        assert len(bench.receiver.events) == 1


def test_without_a_seed_it_follows_from_the_sandboxs(tmp_path: Path):
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with Workbench(seed=seed) as bench:
            bench.simulate(payments=10, days=1, out=tmp_path / name)
        made.append((tmp_path / name / "ledger.parquet").read_bytes())
    assert made[0] == made[1] != made[2]


def answers_without_keys(folder: Path) -> list[tuple[str, str, str]]:
    with (folder / "answers.csv").open() as lines:
        return [(row["statement"], row["line"], row["code"]) for row in csv.DictReader(lines)]


def test_both_doors_tell_the_same_month(tmp_path: Path, serving: "Serving"):
    with Workbench(seed=5) as bench:
        one = bench.simulate(payments=40, days=2, seed=3, out=tmp_path / "in_process")
    options = ("--port", "0", "--json", "--seed", "6", "--clock", "manual")
    with serving(*options) as server, Workbench.connect(**server.address) as bench:
        other = bench.simulate(payments=40, days=2, seed=3, out=tmp_path / "served")
    assert one.outcomes == other.outcomes
    found = answers_without_keys(tmp_path / "in_process")
    assert found == answers_without_keys(tmp_path / "served") != []


NEEDED = [("charge_amount_unit", "major"), ("client_secret_on_confirm", "always"), ("failure_triggers", "header")]


def test_a_clock_that_runs_and_a_register_that_no_traffic_fits_are_refused(served_bench: Workbench):
    with pytest.raises(SimulationRefused, match="--clock manual"):
        served_bench.simulate(payments=1, days=1)
    for name, value in NEEDED:
        with Workbench(seed=7, gaps={name: value}) as bench, pytest.raises(SimulationRefused, match=name):
            bench.simulate(payments=1, days=1)


OTHERS = [
    {"error_format": "plain", "declined_status": "200", "operator_fee": "none", "merchant_fee": "flat_1.00"},
    {"prompt_timeout_s": 60, "pin_attempts": 1, "intent_fields": "minimal", "success_status": "201_created"},
    {"error_format": "envelope", "amount_bounds": "1_to_20000", "required_fields": "with_reference",
     "currency_case": "strict"},
]  # fmt: skip


@pytest.mark.parametrize("gaps", OTHERS, ids="-".join)
def test_any_other_register_will_do(gaps: dict[str, object]):
    with Workbench(seed=7, gaps=gaps) as bench:
        made = bench.simulate(payments=40, days=1, seed=2, traffic=Traffic(late_per_100k=5_000))
        listed = Counter(each.failure_code or each.status for each in bench.client.charges.each())
        assert listed["succeeded"] == made.outcomes["succeeded"]
        bench.ledger.verify()


SIZES = [
    (-1, 1, "payments is a whole number from 0 to 1,000,000"),
    (1_000_001, 30, "payments is a whole number from 0 to 1,000,000"),
    (True, 1, "payments"),
    (10.0, 1, "payments"),
    (1, 0, "days is a whole number from 1 to 366"),
    (1, 367, "days"),
]


def test_sizes_that_cannot_be_are_refused_and_the_clock_begins_where_it_stood():
    with Workbench(seed=7) as bench:
        for payments, days, said in SIZES:
            with pytest.raises(SimulationRefused, match=said):
                bench.simulate(payments=payments, days=days)
        assert bench.clock.now == datetime(2026, 1, 5, 6, tzinfo=UTC), "nothing was driven"
        bench.clock.advance(days=3)
        assert bench.simulate(payments=2, days=1).first_day == moment(bench.clock.now_ms).date() == date(2026, 1, 9)
