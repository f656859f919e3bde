"""A simulated month: what the service and the books say of it; its folder, of which reconciling finds the answers."""

import csv
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from workbench import Workbench
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.shapes import NOTHING_PROVEN
from workbench.analysis.simulate import DECOYS, PLANTABLE, Simulation, Traffic
from workbench.analysis.statements import Statement, read_statement
from workbench.cli import app
from workbench.domain.moments import moment
from workbench.errors import SimulationRefused

if TYPE_CHECKING:
    from tests.conftest import Serving

PAYMENTS, DAYS = 250, 5
DRIVEN, DRIVEN_DAYS = 160, 9
FILES = ["aggregator.csv", "airtel.xlsx", "mtn.csv", "zamtel.csv"]
Row = tuple[str, str, str, str]
LIMIT_S = 120


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "month" in metafunc.fixturenames:
        first, *others = range(metafunc.config.getoption("--months"))
        seeds = [first, *(pytest.param(each, marks=pytest.mark.thorough) for each in others)]
        metafunc.parametrize("month", seeds, indirect=True, scope="module")


class Month(NamedTuple):
    made: Simulation
    folder: Path
    statements: list[Statement]
    result: Reconciliation
    answers: Counter[Row]
    found: Counter[Row]


def answers_in(folder: Path) -> Counter[Row]:
    with (folder / "answers.csv").open() as lines:
        return Counter((row["statement"], row["line"], row["key"], row["code"]) for row in csv.DictReader(lines))


def reconciled(made: Simulation, folder: Path, **options: str) -> Month:
    """What the folder holds, what reconciling finds in it, and what it should find."""
    statements = [read_statement(each) for each in sorted((folder / "statements").iterdir())]
    result = reconcile(folder / "ledger.parquet", statements, **options)
    rows = result.breaks[["statement", "line", "key", "code"]].astype("string").fillna("")
    found = Counter(rows.itertuples(index=False, name=None))
    return Month(made, folder, statements, result, answers_in(folder), found)


def simulated(folder: Path, seed: int = 7, **asked: object) -> Simulation:
    with Workbench(seed=seed) as bench:
        made = bench.simulate(**{"payments": PAYMENTS, "days": DAYS, "seed": seed, "out": folder, **asked})  # type: ignore[arg-type]  whatever a test sets
        bench.ledger.verify()
    return made


@pytest.fixture(scope="module")
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Month:
    folder = tmp_path_factory.mktemp("month")
    return reconciled(simulated(folder, request.param), folder)


class TestEachSeed:
    def test_every_break_is_found_with_its_code_and_no_other(self, month: Month):
        assert month.found == month.answers
        assert set(PLANTABLE) == {code for _, _, _, code in month.answers}
        assert Counter(month.made.breaks) == Counter(code for _, _, _, code in month.answers.elements())

    def test_no_decoy_is_reported(self, month: Month):
        reported = {(statement, line) for statement, line, _, _ in month.found}
        assert month.made.decoys
        assert [each for each in month.made.decoys if (each.statement, str(each.line)) in reported] == []

    def test_the_difference_is_proved_to_the_ngwee(self, month: Month):
        proof = month.result.proof
        assert len(proof) == len(FILES)
        assert proof["holds"].all()
        assert (proof["ledger_minor"] - proof["statement_minor"]).abs().sum() > 0

    def test_statements_read_back_with_no_problem_that_was_not_planted(self, month: Month):
        assert [each.name for each in month.statements] == FILES
        rows = pd.concat(each.rows for each in month.statements).dropna(subset="problem")
        invalid = {(statement, line) for statement, line, _, code in month.answers if code == "invalid_row"}
        assert set(zip(rows["statement"], rows["line"].astype(str), strict=True)) == invalid
        assert all(each.findings.empty for each in month.statements), "a balance does not follow"


@pytest.mark.thorough
def test_so_many_are_planted_as_were_asked_for_and_each_decoy_where_there_are_rows_for_it(tmp_path: Path):
    traffic = Traffic(late_per_100k=0, unknown_per_100k=0, mean_minor=80_000)
    breaks = {"amount_mismatch": 5, "ambiguous": 2, "late_success": 3}
    made = simulated(tmp_path, payments=300, breaks=breaks, traffic=traffic)
    assert made.breaks == {"ambiguous": 6, "amount_mismatch": 5, "late_success": 3}
    assert Counter(each.why for each in made.decoys) == {kind.says: 2 for kind in DECOYS.values()}


@pytest.mark.thorough
def test_what_comes_with_the_traffic_is_answered_or_a_decoy(tmp_path: Path):
    traffic = Traffic(late_per_100k=3_000, unknown_per_100k=8_000, again_per_100k=20_000)
    made = simulated(tmp_path, payments=400, breaks={"all": 0}, traffic=traffic)
    assert set(made.breaks) == {"late_success", "missing_in_ledger", "timing"}
    month = reconciled(made, tmp_path)
    assert month.found == month.answers
    rows = pd.concat(each.rows for each in month.statements)
    paid = rows[rows["type"] == "payment"]
    assert (paid["status"] == "failed").sum() > 10
    twins = paid[paid["status"] == "completed"].groupby(["phone", "amount_minor"], observed=True)["key"].nunique()
    assert (twins > 1).sum() > 10
    credits_ = rows[rows["description"] == "Collections credited"]
    assert credits_["key"].str.startswith("STL").all()
    assert len(credits_) == DAYS - 2
    tranches = rows[rows["batch"].str.startswith("po_", na=False)]
    assert len(tranches) > 1
    assert len(set(tranches["batch"])) == 1


SMALL = [(0, 1), (1, 3), (7, 30)]
SMALL += [pytest.param(*each, marks=pytest.mark.thorough) for each in [(0, 3), (1, 1), (2, 1), (7, 1)]]


@pytest.mark.parametrize(("payments", "days"), SMALL)
def test_small_months(tmp_path: Path, payments: int, days: int):
    month = reconciled(simulated(tmp_path, payments=payments, days=days), tmp_path)
    assert sum(month.made.outcomes.values()) == payments
    assert month.found == month.answers
    # An operator by whom nobody paid sends headings alone, which say nothing.
    silent = {each.account for each in month.statements if each.rows.empty and each.closing_minor is None}
    proven = {
        line.account: line.holds and not line.note.endswith(NOTHING_PROVEN) for line in month.result.proof.itertuples()
    }
    assert proven == {account: account not in silent for account in proven}


def test_a_second_month_goes_on_from_the_first(tmp_path: Path):
    with Workbench(seed=7) as bench:
        first = bench.simulate(payments=60, days=4, seed=1, out=tmp_path / "first", breaks={"all": 0})
        held = bench.ledger.statement_of("operator:mtn:float")["balance_minor"].iloc[-1]
        second = bench.simulate(payments=60, days=4, seed=2, out=tmp_path / "second")
    assert (second.first_day - first.last_day).days == 1
    ledger = pd.read_parquet(tmp_path / "second" / "ledger.parquet")
    assert str(ledger["business_date"].min()) == str(second.first_day)
    assert read_statement(tmp_path / "second" / "statements" / "mtn.csv").opening_minor == held
    assert answers_in(tmp_path / "second")


class TestRefused:
    def test_of_a_month_that_has_no_room_for_its_breaks_nothing_is_left(self, tmp_path: Path):
        with Workbench(seed=7) as bench:
            for breaks in ({"amount_mismatch": 30}, {"all": 9}, {"late_success": 30}):
                with pytest.raises(SimulationRefused, match="the month has room for"):
                    bench.simulate(payments=30, days=2, out=tmp_path, breaks=breaks)
                assert list(tmp_path.iterdir()) == []
            bench.client.payment_intents.create(amount=Decimal(10))
            assert len(bench.receiver.events) == 1, "webhooks are sent again"

    def test_breaks_without_a_folder_and_what_is_no_empty_folder(self, tmp_path: Path):
        mine = tmp_path / "mine.txt"
        mine.write_text("mine")
        asked = [
            ({"out": tmp_path}, "not empty"),
            ({"out": mine}, "cannot be written to"),
            ({"out": mine / "in"}, "cannot be written to"),
            ({"breaks": {}}, "out"),
        ]
        with Workbench(seed=7) as bench:
            for options, said in asked:
                with pytest.raises(SimulationRefused, match=said):
                    bench.simulate(payments=1, days=1, **options)
        assert mine.read_text() == "mine"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def run(*arguments: str) -> Result:
    return CliRunner(catch_exceptions=False).invoke(app, ["simulate", *arguments])


class TestCommand:
    @pytest.mark.thorough
    def test_it_tells_what_it_writes_and_one_seed_is_one_folder_byte_for_byte(self, command: str, tmp_path: Path):
        asked = ("--payments", "30", "--days", "3", "--seed", "9", "--out", str(tmp_path / "command"))
        done = subprocess.run(  # noqa: S603  our own command
            [command, "simulate", *asked], capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        assert done.returncode == 0, done.stderr
        assert "30 payments from 2026-01-06 to 2026-01-08" in done.stdout
        assert [f"{number} of 30 payments" for number in range(3, 31, 3)] == done.stderr.splitlines()[:10]
        assert "payments a second" in done.stderr
        assert "\x1b" not in done.stderr
        for name, seed in (("method", 9), ("other", 10)):
            simulated(tmp_path / name, seed, payments=30, days=3)
        made, same, other = (contents(tmp_path / name) for name in ("command", "method", "other"))
        assert made == same
        assert set(made) == {"ledger.parquet", "answers.csv", *(f"statements/{name}" for name in FILES)}
        assert all(made[name] != other[name] for name in made)

    def test_what_cannot_be_is_one_line_and_status_2_and_the_help_names_every_kind(self, tmp_path: Path):
        for *arguments, said in (
            *(("--breaks", text, "is not KIND=NUMBER") for text in ("amount_mismatch", "amount_mismatch=", "=-1")),
            *(("--breaks", f"amount_mismatch={text}", "a whole number from 0") for text in ("x", "-1", "1.5")),
            ("--breaks", "nothing=1", "is not a kind of break"),
            ("--breaks", "amount_mismatsh=1", "Did you mean amount_mismatch"),
            ("--breaks", "timing=1", "--breaks", "timing=2", "timing is given twice"),
            ("--breaks", "payout_unpaid=3", "room for"),
            ("--days", "x", "not a valid integer"),
        ):
            done = run("--payments", "5", "--days", "2", "--out", str(tmp_path / "out"), *arguments)
            assert (done.exit_code, done.stdout) == (2, ""), arguments
            assert said in done.stderr
            assert "Traceback" not in done.stderr
        text = " ".join(run("--help").stdout.split())
        assert all(name in text for name in PLANTABLE)


@pytest.fixture(scope="module")
def driven() -> Iterator[tuple[Workbench, Simulation]]:
    traffic = Traffic(late_per_100k=4_000, unknown_per_100k=4_000, refunds_per_100k=8_000)
    with Workbench(seed=7) as bench:
        yield bench, bench.simulate(payments=DRIVEN, days=DRIVEN_DAYS, seed=1, traffic=traffic)


def test_the_counts_are_what_the_service_lists_and_the_ledger_verifies(driven: tuple[Workbench, Simulation]):
    bench, made = driven
    listed = Counter(each.failure_code or each.status for each in bench.client.charges.each())
    # What a charge says whose money came after it had failed, and one that nobody has answered.
    names = {"late_success": "prompt_timeout", "operator_unknown": "pending", "open": "pending"}
    reported: Counter[str] = Counter()
    for outcome, number in made.outcomes.items():
        reported[names.get(outcome, outcome)] += number
    assert reported == listed
    assert sum(made.outcomes.values()) == DRIVEN
    assert {"succeeded", "late_success", "operator_unknown", "insufficient_funds"} <= made.outcomes.keys()
    assert made.refunds == len(list(bench.client.refunds.each())) > 0
    assert made.payouts == len(list(bench.client.payouts.each())) == 1
    intents = list(bench.client.payment_intents.each())
    assert len(intents) / DRIVEN == pytest.approx(0.3, abs=0.1)
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
    assert len(cleared) == DRIVEN_DAYS - 1


def test_it_tells_of_itself_and_webhooks_are_sent_again_when_it_is_over(driven: tuple[Workbench, Simulation]):
    bench, made = driven
    assert "160 payments from 2026-01-06 to 2026-01-14" in repr(made)
    assert f'<td style="text-align:right">{made.refunds:,}</td>' in made._repr_mimebundle_()["text/html"]
    assert bench.receiver.events == []
    bench.client.payment_intents.create(amount=Decimal(10))
    assert [each.type for each in bench.receiver.events] == ["payment_intent.created"]


def test_without_a_seed_it_follows_from_the_sandboxs(tmp_path: Path):
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with Workbench(seed=seed) as bench:
            bench.simulate(payments=10, days=1, out=tmp_path / name)
        made.append((tmp_path / name / "ledger.parquet").read_bytes())
    assert made[0] == made[1] != made[2]


@pytest.mark.thorough
def test_both_doors_tell_the_same_month(tmp_path: Path, serving: "Serving"):
    one = simulated(tmp_path / "in_process", 3, payments=40, days=2)
    options = ("--port", "0", "--json", "--seed", "6", "--clock", "manual")
    with serving(*options) as server, Workbench.connect(**server.address) as bench:
        other = bench.simulate(payments=40, days=2, seed=3, out=tmp_path / "served")
    assert one.outcomes == other.outcomes
    # Keys are a sandbox's own.
    in_process, served = (
        [(statement, line, code) for statement, line, _, code in answers_in(tmp_path / name)]
        for name in ("in_process", "served")
    )
    assert in_process == served != []


NEEDED = [("charge_amount_unit", "major"), ("charge_wait", "interactive"), ("charge_wait", "accepted"),
          ("client_secret_on_confirm", "always"), ("failure_triggers", "header")]  # fmt: skip


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
    {"clearing": "immediate", "payouts": "daily", "fee_on_refund": "returned", "late_success": "succeeds",
     "charge_states": "expired", "currencies": "iso4217"},
]  # fmt: skip


@pytest.mark.parametrize("gaps", OTHERS, ids="-".join)
def test_any_other_register_will_do(gaps: dict[str, object]):
    with Workbench(seed=7, gaps=gaps) as bench:
        made = bench.simulate(payments=40, days=1, seed=2, traffic=Traffic(late_per_100k=5_000))
        listed = Counter(each.failure_code or each.status for each in bench.client.charges.each())
        assert listed["succeeded"] == made.outcomes["succeeded"]
        bench.ledger.verify()


@pytest.mark.thorough
def test_however_often_a_customer_pays_each_pin_is_typed_into_its_own_prompt():
    often = Traffic(
        customers=1, intents_per_100k=90_000, late_per_100k=8_000, refunds_per_100k=40_000,
        refund_after_ms=(600_000, 1_200_000),
    )  # fmt: skip
    with Workbench(seed=7) as bench:
        made = bench.simulate(payments=600, days=1, seed=1, traffic=often)
        charges = bench.tables.charges["status"].value_counts()
        assert charges["succeeded"] == made.outcomes["succeeded"] > 400
        bench.ledger.verify()


PAYMENTS_FROM, DAYS_FROM = "payments is a whole number from 0 to 1,000,000", "days is a whole number from 1 to 366"
SIZES = [
    *((payments, 1, PAYMENTS_FROM) for payments in (-1, 1_000_001, True, 10.0)),
    *((1, days, DAYS_FROM) for days in (0, 367)),
]


def test_sizes_that_cannot_be_are_refused_and_the_clock_begins_where_it_stood():
    with Workbench(seed=7) as bench:
        for payments, days, said in SIZES:
            with pytest.raises(SimulationRefused, match=said):
                bench.simulate(payments=payments, days=days)
        assert bench.clock.now == datetime(2026, 1, 5, 6, tzinfo=UTC), "nothing was driven"
        bench.clock.advance(days=3)
        assert bench.simulate(payments=2, days=1).first_day == moment(bench.clock.now_ms).date() == date(2026, 1, 9)
