"""Books of several periods in which entries are dated back into one that is closed, changed or taken out."""

import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from workbench.analysis import files
from workbench.analysis.reconcile import CarryForward, Reconciliation, reconcile
from workbench.analysis.shapes import READ
from workbench.analysis.statements import read_ledger, read_statement
from workbench.cli import app

MTN = "operator:mtn:float"
HEADINGS = "account,key,occurred_at,amount"
KEY = b"the book's own key, of 32 bytes."


class Moved(NamedTuple):
    """A movement: the day of January to March 2026 on which it was, counted from 1, and minor units."""

    key: str
    day: int
    minor: int

    @property
    def at(self) -> str:
        return f"{pd.Timestamp(2026, 1, 1, 10) + pd.Timedelta(days=self.day - 1)}"

    @property
    def entry(self) -> str:
        return f"{MTN},{self.key},{self.at},{self.minor / 100:.2f}"

    def line(self, balance: int) -> str:
        sides = "FRI:260961234567/MSISDN,FRI:shop/USER" if self.minor > 0 else "FRI:shop/USER,FRI:260961234567/MSISDN"
        kind = "Payment" if self.minor > 0 else "Refund"
        return f"{self.key},{self.at},Successful,{kind},{sides},{abs(self.minor) / 100:.2f},0,{balance / 100:.2f}"


def books(path: Path, rows: list[Moved]) -> Path:
    path.write_text("\n".join([HEADINGS, *(row.entry for row in rows)]), "utf-8")
    return path


def statement(path: Path, rows: list[Moved], opening: int = 0) -> int:
    """Writes the file of a period, and returns the balance at its end."""
    lines = ["Id,Date,Status,Type,From,To,Amount,Fee,Balance"]
    for row in sorted(rows, key=lambda each: each.day):
        opening += row.minor
        lines.append(row.line(opening))
    path.write_text("\n".join(lines), "utf-8")
    return opening


ONE, TWO, LATE, LAST = (
    Moved("T1", 5, 100_000),
    Moved("T2", 10, 80_000),
    Moved("T3", 20, 40_000),
    Moved("T4", 31, 60_000),
)
NEXT = Moved("T5", 34, 5_000)


class Shop:
    """The first period is closed over a ledger that lacks what the statement tells of the 20th."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        closing = statement(folder / "january.csv", [ONE, TWO, LATE, LAST])
        statement(folder / "february.csv", [NEXT], closing)
        first = self.run([ONE, TWO, LAST], "january.csv", "--carry-to", "kept")
        assert (first.exit_code, "2,400.00" in first.stdout) == (1, True), first.output

    def run(self, ledger: list[Moved], told: str, *options: str) -> Result:
        """The kept folder is named by the option; all paths are those of the shop."""
        given = [str(self.folder / each) if each in {"kept", "again"} else each for each in options]
        arguments = [str(books(self.folder / "books.csv", ledger)), str(self.folder / told), *self.options, *given]
        return CliRunner(catch_exceptions=False).invoke(app, ["reconcile", *arguments])

    def go_on(self, ledger: list[Moved], *options: str) -> Result:
        return self.run(ledger, "february.csv", "--carry-forward", "kept", *options)


@pytest.fixture(
    params=[pytest.param(False, id="without a key", marks=pytest.mark.thorough), pytest.param(True, id="with a key")]
)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    return Shop(tmp_path, *(("--phone-key", str(tmp_path / "book.key")) if request.param else ()))


class TestACommand:
    @pytest.mark.thorough
    def test_reads_what_was_booked_into_a_closed_period_and_pairs_it_with_what_is_open(self, shop: Shop):
        done = shop.go_on([ONE, TWO, LATE, LAST, NEXT])
        assert (done.exit_code, "Nothing to settle. The proof holds" in done.stdout) == (0, True), done.output
        said = f"{MTN}: 1 row of the ledger is booked after the close of 2026-01-31, and read now: T3 of 2026-01-20."
        assert said in done.stdout
        assert re.findall(r"^Adjusted balance per \w+ +([\d.,]+)$", done.stdout, re.MULTILINE) == [
            "2,850.00",
            "2,850.00",
        ]

    @pytest.mark.thorough
    def test_takes_a_line_that_has_the_name_of_an_open_entry_for_what_it_is(self, shop: Shop):
        """Where the books name no entries, the earlier of two rows of one key has the key for its name."""
        other = Moved("T4", 30, 7_000)
        done = shop.go_on([ONE, TWO, LATE, other, LAST, NEXT])
        assert done.exit_code == 1
        assert "read now: T3 of 2026-01-20, T4 of 2026-01-30." in done.stdout
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert {"Balance per statement 2,850.00", "Balance per books 2,920.00"} <= set(lines)
        assert len(re.findall("^Adjusted balance per .* 2,920.00$", done.stdout, re.MULTILINE)) == 2

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("ledger", "named"),
        [
            ([ONE, LATE, LAST, NEXT], "the ledger lacks 1 row read in an earlier run, or has changed them: T2 of"),
            ([ONE, TWO._replace(minor=70_000), LATE, LAST, NEXT], "has changed them: T2 of 2026-01-10"),
            ([ONE, TWO._replace(day=11), LATE, LAST, NEXT], "has changed them: T2 of 2026-01-10"),
            ([LATE, NEXT], "lacks 3 rows read in an earlier run, or has changed them: T1 of 2026-01-05, T2"),
            ([NEXT], ("the ledger begins after 3 rows read in an earlier run, and lacks them: T1 of 2026-01-05, T2 of "
             "2026-01-10, T4 of 2026-01-31: give the whole ledger in each period, from its first row")),
        ],
    )  # fmt: skip
    def test_names_what_was_read_and_is_missing_or_changed_until_it_is_back(
        self, ledger: list[Moved], named: str, shop: Shop
    ):
        done = shop.go_on(ledger, "--carry-to", "again")
        assert (done.exit_code, named in done.stdout) == (1, True), done.output
        assert "The proof does not hold for" in done.stdout
        march = Moved("T6", 62, 100)
        statement(shop.folder / "march.csv", [march], 285_000)
        later = shop.run([*ledger, march], "march.csv", "--carry-forward", "again")
        assert (later.exit_code, named in later.stdout) == (1, True), later.output

    @pytest.mark.thorough
    def test_does_not_prove_over_a_folder_that_does_not_say_what_was_read(self, shop: Shop):
        (shop.folder / "kept" / "read.parquet").unlink()
        done = shop.go_on([ONE, TWO, LATE, LAST, NEXT])
        assert done.exit_code == 1
        said = "it does not prove: the earlier run was of a version that did not note which rows of the ledger"
        assert said in done.stdout
        assert "reconcile the earlier periods again" in done.stdout


def test_a_run_without_the_key_says_so_and_nothing_of_an_amount_is_kept(tmp_path: Path):
    shop = Shop(tmp_path, "--phone-key", str(tmp_path / "book.key"))
    kept = files.read(tmp_path / "kept" / "read.parquet", READ)
    assert kept["hash"][1:].str.fullmatch("[0-9a-f]{16}").all()
    shop.options = ()
    done = shop.go_on([ONE, TWO, LATE, LAST, NEXT])
    assert done.exit_code == 1
    assert "use one key in every run: --phone-key FILE" in done.stdout


def test_books_that_began_without_a_key_go_on_without_one(tmp_path: Path):
    shop = Shop(tmp_path)
    shop.options = ("--phone-key", str(tmp_path / "book.key"))
    done = shop.go_on([ONE, TWO, LATE, LAST, NEXT])
    assert (done.exit_code, "Nothing to settle. The proof holds" in done.stdout) == (0, True), done.output


def test_the_hashes_are_of_the_key(tmp_path: Path):
    statement(tmp_path / "january.csv", [ONE, LAST])
    ledger, told = read_ledger(books(tmp_path / "books.csv", [ONE, LAST])), read_statement(tmp_path / "january.csv")
    kept = [reconcile(ledger, told, phone_key=key).carry_forward.read["hash"] for key in (None, KEY, KEY[::-1])]
    assert len({*pd.concat(kept)}) == 3 * len(kept[0])


@pytest.mark.thorough
def test_a_late_row_may_stand_before_an_equal_one_that_is_open(tmp_path: Path):
    """The entry e1 is matched and e2 a duplicate of it; e3 is booked after the close."""
    statement(tmp_path / "january.csv", [ONE, LAST])
    statement(tmp_path / "february.csv", [NEXT], 160_000)
    carried = None
    for month, entries in (("january", "12"), ("february", "312")):
        lines = [*(f"{ONE.entry},e{each}" for each in entries), f"{LAST.entry},e8", f"{NEXT.entry},e9"]
        (tmp_path / "books.csv").write_text("\n".join([f"{HEADINGS},entry", *lines]))
        told = read_statement(tmp_path / f"{month}.csv")
        result = reconcile(read_ledger(tmp_path / "books.csv"), told, carry_forward=carried)
        carried = result.carry_forward
    assert proven(result) == [(MTN, 365_000, 165_000, True)]


def test_an_open_row_that_the_ledger_lacks_pairs_with_its_line_and_the_proof_says_what_is_missing(tmp_path: Path):
    waits = LATE._replace(day=31)
    statement(tmp_path / "january.csv", [ONE, LAST])
    statement(tmp_path / "february.csv", [waits._replace(day=32), NEXT], 160_000)
    first, second = (books(tmp_path / f"{len(rows)}.csv", rows) for rows in ([ONE, waits, LAST], [NEXT]))
    closed = reconcile(read_ledger(first), read_statement(tmp_path / "january.csv"))
    assert closed.breaks[["key", "code"]].to_numpy().tolist() == [["T3", "timing"]]
    told = read_statement(tmp_path / "february.csv")
    result = reconcile(read_ledger(second), told, carry_forward=closed.carry_forward)
    assert result.breaks.empty
    assert "lacks them: T1 of 2026-01-05, T3 of 2026-01-31, T4 of 2026-01-31" in result.proof["note"][0]


def test_a_payment_that_was_pending_at_the_close_is_read_when_it_is_completed(tmp_path: Path):
    statement(tmp_path / "january.csv", [ONE, TWO, LATE, LAST])
    statement(tmp_path / "february.csv", [NEXT], 280_000)
    rows = pd.DataFrame([row.entry.split(",") for row in (ONE, TWO, LATE, LAST)], columns=HEADINGS.split(","))
    told = rows.assign(status=["completed", "completed", "pending", "completed"])
    first = reconcile(read_ledger(told), read_statement(tmp_path / "january.csv"))
    new = pd.concat([rows, pd.DataFrame([NEXT.entry.split(",")], columns=rows.columns)]).assign(status="completed")
    second = reconcile(read_ledger(new), read_statement(tmp_path / "february.csv"), carry_forward=first.carry_forward)
    assert proven(second) == [(MTN, 285_000, 285_000, True)]
    assert second.breaks.empty


IN_KWACHA, IN_DOLLARS = (f"{ONE.entry},{currency}" for currency in ("ZMW", "USD"))
TOLD_APART = {
    "a third equal row": ([ONE, ONE], [ONE, ONE, ONE], "booked after the close of 2026-01-31, and read now: T1"),
    "one of two equal rows": ([ONE, ONE], [ONE], "lacks 1 row read in an earlier run, or has changed them: T1"),
    "another key": ([ONE], [ONE._replace(key="T9")], "lacks 1 row read in an earlier run, or has changed them: T1"),
    "another currency": ([IN_KWACHA], [IN_DOLLARS], "lacks 1 row read in an earlier run, or has changed them: T1"),
}
"""What the ledger has of one movement at the close and later, and what is said of it."""


@pytest.mark.parametrize("name", TOLD_APART)
def test_equal_rows_keys_and_currencies_are_told_apart(name: str, tmp_path: Path):
    *ledgers, said = TOLD_APART[name]
    statement(tmp_path / "january.csv", [ONE, LAST])
    statement(tmp_path / "february.csv", [NEXT], 160_000)
    carried = None
    for month, rows in zip(("january", "february"), ledgers, strict=True):
        lines = [row if isinstance(row, str) else f"{row.entry},ZMW" for row in (*rows, LAST, NEXT)]
        (tmp_path / "books.csv").write_text("\n".join([f"{HEADINGS},currency", *lines]))
        told = read_statement(tmp_path / f"{month}.csv")
        result = reconcile(read_ledger(tmp_path / "books.csv"), told, carry_forward=carried)
        carried = result.carry_forward
    assert said in "; ".join([*result.notes, *result.proof["note"]])
    assert result.proof["holds"].tolist() == ["booked after" in said]


def proven(result: Reconciliation) -> list[tuple[str, int, int, bool]]:
    return [(line.account, line.ledger_minor, line.statement_minor, line.holds) for line in result.proof.itertuples()]


ENDS = (31, 59, 90)


@st.composite
def worlds(draw: st.DrawFn) -> list[tuple[Moved, int | None, bool]]:
    """Each movement with the period in which the ledger books it, if it does, and whether the statement tells it."""
    moved = st.builds(
        Moved, st.sampled_from(["A", "B", "C", "D", "E"]), st.integers(1, 90), st.sampled_from([100, 250, -100])
    )
    made = []
    for row in draw(st.lists(moved, max_size=14)):
        own = next(place for place, end in enumerate(ENDS) if row.day <= end)
        made.append((row, draw(st.one_of(st.none(), st.integers(own, 2))), draw(st.booleans())))
    # Each file has a row on its last day, so that every period closes there.
    return made + [(Moved(f"end{end}", end, 1_000), place, True) for place, end in enumerate(ENDS)]


@pytest.mark.parametrize("kind", ["text", "frame"])
@pytest.mark.parametrize(("before", "now"), [("10:00:00", ""), ("", "10:00:00"), ("00:00:00", "")])
def test_a_row_with_a_day_alone_changes_no_row_that_was_read_before(tmp_path: Path, kind: str, before: str, now: str):
    rows = [f"{MTN},T1,2026-01-05 {before},1.00", f"{MTN},T4,2026-01-31 {before},2.00"]
    later = [*rows, f"{MTN},T5,2026-02-03 {now},50.00"]

    def run(given: list[str], name: str, carried: CarryForward | None) -> Reconciliation:
        path = tmp_path / "books.csv"
        path.write_text("\n".join([HEADINGS, *given]).replace(" ,", ","), "utf-8")
        frame = pd.read_csv(path, dtype=str)
        frame["occurred_at"] = pd.to_datetime(frame["occurred_at"], format="ISO8601")
        return reconcile(path if kind == "text" else frame, tmp_path / name, carry_forward=carried)

    closing = statement(tmp_path / "january.csv", [Moved("T1", 5, 100), Moved("T4", 31, 200)])
    statement(tmp_path / "february.csv", [NEXT], closing)
    first = run(rows, "january.csv", None)
    second = run(later, "february.csv", first.carry_forward)
    assert [result.proof["holds"].tolist() for result in (first, second)] == [[True], [True]]
    assert second.breaks.empty


def test_a_midnight_is_known_from_a_folder_that_has_the_hash_of_its_moment(tmp_path: Path):
    closing = statement(tmp_path / "january.csv", [ONE, LAST])
    statement(tmp_path / "february.csv", [NEXT], closing)
    at, midnight = LAST.at, pd.Timestamp(2026, 1, 31, tz="Africa/Lusaka")

    def run(rows: list[Moved], name: str, carried: CarryForward | None = None) -> Reconciliation:
        path = books(tmp_path / "books.csv", rows)
        path.write_text(path.read_text("utf-8").replace(at, f"{midnight:%Y-%m-%d %H:%M:%S}"), "utf-8")
        return reconcile(path, tmp_path / name, carry_forward=carried)

    kept = run([ONE, LAST], "january.csv").carry_forward
    fields = [MTN, LAST.key, str(round(midnight.timestamp() * 1000)), str(LAST.minor), "ZMW"]
    former = sha256("\x1f".join(fields).encode()).hexdigest()[:16]
    read = kept.read.copy()
    read.loc[read["key"].eq(LAST.key).fillna(value=False), "hash"] = former
    second = run([ONE, LAST, NEXT], "february.csv", replace(kept, read=read))
    assert (second.proof["holds"].tolist(), second.breaks.empty, second.notes) == ([True], True, ())
    changed = run([ONE, LAST._replace(minor=1), NEXT], "february.csv", replace(kept, read=read))
    assert "lacks 1 row read in an earlier run, or has changed them: T4" in changed.proof["note"].item()


LONG = settings.get_current_profile_name() == "long"


@pytest.mark.thorough
@settings(
    max_examples=60 if LONG else 3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # A run takes half a second: to make a failing case small would take longer than to read it.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(world=worlds(), order=st.randoms(use_true_random=False), splits=st.sampled_from([(0, 1, 2), (0, 2), (1, 2)]))
def test_any_split_into_periods_ends_in_the_closings_of_one_run(
    world: list[tuple[Moved, int | None, bool]], order: Random, splits: tuple[int, ...]
):
    with TemporaryDirectory() as name:
        folder, carried, begins, opening, told = Path(name), None, -1, 0, []
        for period in splits:
            first = 0 if begins < 0 else ENDS[begins]
            rows = [row for row, _, is_told in world if is_told and first < row.day <= ENDS[period]]
            opening = statement(folder / f"{period}.csv", rows, opening)
            # Now and then the whole ledger is given, with the days of later periods.
            ends = order.choice([ENDS[period], ENDS[-1]])
            ledger = [
                row for row, when, _ in world
                if when is not None and (when <= period or ENDS[period] < row.day <= ends)
            ]  # fmt: skip
            order.shuffle(ledger)
            told.append(read_statement(folder / f"{period}.csv"))
            read = read_ledger(books(folder / "books.csv", ledger))
            result = reconcile(read, told[-1], carry_forward=carried)
            carried, begins = result.carry_forward, period
        whole = reconcile(read, told)
    assert proven(result) == proven(whole)
    assert result.proof["holds"].all()
    assert result.breaks["variance_minor"].sum() == whole.breaks["variance_minor"].sum()
    moved = sum(row.minor for row in ledger)
    assert result.proof["ledger_minor"].tolist() == [moved]
