"""The folder of a simulated month: the same bytes again, statements that read back, answers that reconciling finds."""

import csv
import hashlib
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from workbench import Workbench
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.simulate import Simulation, Traffic, breaks_from
from workbench.analysis.simulate.decoys import DECOYS
from workbench.analysis.simulate.kinds import BREAKS, PLANTABLE
from workbench.analysis.statements import Statement, read_statement
from workbench.errors import SimulationRefused

PAYMENTS, DAYS = 250, 5
FILES = ["aggregator.csv", "airtel.xlsx", "mtn.csv", "zamtel.csv"]
Row = tuple[str, str, str, str]
LIMIT_S = 120


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "month" in metafunc.fixturenames:
        metafunc.parametrize("month", range(metafunc.config.getoption("--months")), indirect=True, scope="module")


class Month(NamedTuple):
    made: Simulation
    folder: Path
    statements: list[Statement]
    result: Reconciliation

    @property
    def answers(self) -> Counter[Row]:
        return answers_in(self.folder)

    @property
    def found(self) -> Counter[Row]:
        return breaks_of(self.result)


def answers_in(folder: Path) -> Counter[Row]:
    with (folder / "answers.csv").open() as lines:
        return Counter((row["statement"], row["line"], row["key"], row["code"]) for row in csv.DictReader(lines))


def breaks_of(result: Reconciliation) -> Counter[Row]:
    rows = result.breaks[["statement", "line", "key", "code"]].astype("string").fillna("")
    return Counter(rows.itertuples(index=False, name=None))


def statements_in(folder: Path) -> list[Statement]:
    return [read_statement(each) for each in sorted((folder / "statements").iterdir())]


def simulated(folder: Path, seed: int = 7, **asked: object) -> Simulation:
    with Workbench(seed=seed) as bench:
        made = bench.simulate(**{"payments": PAYMENTS, "days": DAYS, "seed": seed, "out": folder, **asked})  # type: ignore[arg-type]  whatever a test sets
        bench.ledger.verify()
    return made


@pytest.fixture(scope="module")
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Month:
    folder = tmp_path_factory.mktemp("month")
    made = simulated(folder, request.param)
    statements = statements_in(folder)
    return Month(made, folder, statements, reconcile(folder / "ledger.parquet", statements))


class TestEachSeed:
    def test_every_break_is_found_with_its_code_and_no_other(self, month: Month):
        assert month.found == month.answers
        assert set(BREAKS) | {"late_success"} == {code for _, _, _, code in month.answers}

    def test_pandas_finds_the_same(self, month: Month):
        with reconcile(month.folder / "ledger.parquet", month.statements, engine="pandas") as result:
            assert result.engine == "pandas"
            pd.testing.assert_frame_equal(result.breaks, month.result.breaks)
            pd.testing.assert_frame_equal(result.proof, month.result.proof)

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
        invalid = {(statement, line) for statement, line, _, code in month.answers if code == "invalid_row"}
        read = {
            (each.name, str(line))
            for each in month.statements
            for line in each.rows.loc[each.rows["problem"].notna(), "line"]
        }
        assert read == invalid
        assert all(each.findings.empty for each in month.statements), "a balance does not follow"

    def test_the_counts_are_the_answers(self, month: Month):
        assert Counter(month.made.breaks) == Counter(code for _, _, _, code in month.answers.elements())


def test_a_planted_break_that_is_no_answer_would_be_seen(tmp_path: Path):
    simulated(tmp_path, payments=60, days=3)
    statement = tmp_path / "statements" / "mtn.csv"
    text = statement.read_text()
    row = next(line for line in text.splitlines() if ",Successful,Payment," in line)
    statement.write_text(text.replace(row, row.replace(",Successful,", ",Pending,")))
    result = reconcile(tmp_path / "ledger.parquet", statements_in(tmp_path))
    assert len(breaks_of(result) - answers_in(tmp_path)) == 1
    assert not result.proof["holds"].all()


def digests(folder: Path) -> dict[str, str]:
    files = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return {str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def test_one_seed_is_one_folder_byte_for_byte(tmp_path: Path):
    for name, seed in (("one", 4), ("same", 4), ("other", 5)):
        simulated(tmp_path / name, seed, payments=80, days=3)
    one, same, other = (digests(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same
    assert set(one) == {"ledger.parquet", "answers.csv", *(f"statements/{name}" for name in FILES)}
    assert all(one[name] != other[name] for name in one)


def test_so_many_are_planted_as_were_asked_for(tmp_path: Path):
    quiet = Traffic(late_per_100k=0, unknown_per_100k=0)
    made = simulated(tmp_path, breaks={"amount_mismatch": 5, "ambiguous": 2, "late_success": 3}, traffic=quiet)
    assert made.breaks == {"ambiguous": 6, "amount_mismatch": 5, "late_success": 3}


def test_what_happens_by_itself_is_answered_too(tmp_path: Path):
    traffic = Traffic(late_per_100k=3_000, unknown_per_100k=8_000)
    made = simulated(tmp_path, breaks={"all": 0}, traffic=traffic)
    assert set(made.breaks) == {"late_success", "missing_in_ledger", "timing"}
    assert breaks_of(reconcile(tmp_path / "ledger.parquet", statements_in(tmp_path))) == answers_in(tmp_path)


def test_each_decoy_is_there_when_there_are_rows_for_it(tmp_path: Path):
    made = simulated(tmp_path, payments=300, traffic=Traffic(mean_minor=80_000))
    assert Counter(each.why for each in made.decoys) == {kind.says: 2 for kind in DECOYS.values()}


def test_other_decoys_come_with_the_traffic(tmp_path: Path):
    simulated(tmp_path, payments=400, traffic=Traffic(again_per_100k=20_000), breaks={"all": 0})
    rows = pd.concat(each.rows for each in statements_in(tmp_path))
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


@pytest.mark.parametrize(("payments", "days"), [(0, 1), (0, 3), (1, 1), (1, 3), (2, 1), (7, 1), (7, 30)])
def test_small_months(tmp_path: Path, payments: int, days: int):
    made = simulated(tmp_path, payments=payments, days=days)
    assert sum(made.outcomes.values()) == payments
    statements = statements_in(tmp_path)
    result = reconcile(tmp_path / "ledger.parquet", statements)
    assert breaks_of(result) == answers_in(tmp_path)
    assert result.proof["holds"].all()


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
    @pytest.mark.parametrize(
        ("breaks", "said"),
        [
            ({"amount_mismatsh": 1}, "Did you mean amount_mismatch"),
            ({"amount_mismatch": -1}, "a whole number from 0"),
            ({"amount_mismatch": 1.5}, "a whole number from 0"),
            ({"amount_mismatch": True}, "a whole number from 0"),
            ({"amount_mismatch": 31}, "31 of amount_mismatch were asked for, of 30 payments"),
        ],
    )
    def test_before_anything_is_driven(self, tmp_path: Path, breaks: dict[str, int], said: str):
        with Workbench(seed=7) as bench, pytest.raises(SimulationRefused, match=said):
            bench.simulate(payments=30, days=2, out=tmp_path, breaks=breaks)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "breaks", [{"amount_mismatch": 30}, {"payout_unpaid": 2}, {"all": 9}, {"late_success": 30}]
    )
    def test_when_there_are_too_few_rows_and_nothing_is_left(self, tmp_path: Path, breaks: dict[str, int]):
        with Workbench(seed=7) as bench, pytest.raises(SimulationRefused, match="the month has room for"):
            bench.simulate(payments=30, days=2, out=tmp_path, breaks=breaks)
        assert list(tmp_path.iterdir()) == []

    def test_breaks_without_a_folder(self):
        with Workbench(seed=7) as bench, pytest.raises(SimulationRefused, match="out"):
            bench.simulate(payments=1, days=1, breaks={})

    def test_a_folder_that_holds_something(self, tmp_path: Path):
        (tmp_path / "mine.txt").write_text("mine")
        with Workbench(seed=7) as bench, pytest.raises(SimulationRefused, match="not empty"):
            bench.simulate(payments=1, days=1, out=tmp_path)
        assert (tmp_path / "mine.txt").read_text() == "mine"

    @pytest.mark.parametrize("name", ["file", "file/within"])
    def test_what_is_no_folder(self, tmp_path: Path, name: str):
        (tmp_path / "file").write_text("mine")
        with Workbench(seed=7) as bench, pytest.raises(SimulationRefused, match="cannot be written to"):
            bench.simulate(payments=1, days=1, out=tmp_path / name)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_may_not_be_written(self, tmp_path: Path):
        tmp_path.chmod(0o500)
        with Workbench(seed=7) as bench, pytest.raises(SimulationRefused, match="cannot be written to"):
            bench.simulate(payments=1, days=1, out=tmp_path)

    @pytest.mark.parametrize("text", ["amount_mismatch", "amount_mismatch=", "amount_mismatch=x", "=-1", "all=1.5"])
    def test_a_text_that_asks_for_no_number(self, text: str):
        with pytest.raises(SimulationRefused, match="KIND=NUMBER"):
            breaks_from([text])

    def test_a_kind_asked_for_twice(self):
        with pytest.raises(SimulationRefused, match="twice"):
            breaks_from(["all=1", "all=2"])


class TestCommand:
    def test_it_writes_the_folder_and_says_what_is_in_it(self, command: str, tmp_path: Path):
        done = run(command, "--payments", "30", "--days", "3", "--seed", "1", "--out", str(tmp_path / "out"))
        assert done.returncode == 0, done.stderr
        assert "30 payments from 2026-01-06 to 2026-01-08" in done.stdout
        assert "30 of 30 payments\n" in done.stderr
        assert "payments a second" in done.stderr
        assert "\x1b" not in done.stderr
        assert sorted(each.name for each in (tmp_path / "out" / "statements").iterdir()) == FILES

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--breaks", "nothing=1"], "is no kind of break"),
            (["--breaks", "amount_mismatch"], "KIND=NUMBER"),
            (["--breaks", "payout_unpaid=3"], "room for"),
            (["--payments", "1000001"], "1,000,000"),
            (["--days", "0"], "days is a whole number"),
            (["--days", "x"], "not a valid integer"),
        ],
    )
    def test_what_cannot_be_is_one_line_and_status_2(
        self, command: str, tmp_path: Path, arguments: list[str], said: str
    ):
        done = run(command, "--payments", "5", "--days", "2", "--out", str(tmp_path / "out"), *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    def test_the_help_names_every_kind(self, command: str):
        words = run(command, "--help").stdout.split()
        text = " ".join(words)
        assert all(name in text for name in PLANTABLE)

    def test_it_and_the_method_write_the_same(self, command: str, tmp_path: Path):
        done = run(command, "--payments", "20", "--days", "2", "--seed", "9", "--out", str(tmp_path / "command"))
        assert done.returncode == 0, done.stderr
        simulated(tmp_path / "method", 9, payments=20, days=2)
        assert digests(tmp_path / "command") == digests(tmp_path / "method")


def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  our own command
        [command, "simulate", *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
