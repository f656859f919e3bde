"""The classification once more, in dictionaries and loops, and what the package finds held against it."""

from collections import Counter, defaultdict
from datetime import UTC, date, datetime
from itertools import product
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from workbench.analysis.reconcile import Reconciliation, Tolerance, reconcile
from workbench.analysis.shapes import LEDGER_MOVEMENT, STATEMENT_ROW

Row = dict[str, Any]
Case = tuple[list[Row], list[Row]]
EPOCH = date(1970, 1, 1)


def signed(row: Row) -> int:
    if row["status"] != "completed" or row["direction"] not in {"in", "out"} or row["amount_minor"] is None:
        return 0
    return (row["amount_minor"] if row["direction"] == "in" else -row["amount_minor"]) - (row["fee_minor"] or 0)


def invalid(row: Row) -> bool:
    if any(row[name] is None for name in ("key", "amount_minor", "fee_minor", "currency", "business_date")):
        return True
    if row.get("problem") is not None or row["amount_minor"] < 0 or row["fee_minor"] < 0:
        return True
    return row["direction"] not in {"in", "out"} or row["status"] not in {"completed", "failed", "pending"}


def moment(row: Row) -> float:
    if row["occurred_at"] is not None:
        return row["occurred_at"].timestamp()
    return (row["business_date"] - EPOCH).days * 86_400


def place(row: Row) -> tuple:
    return (moment(row), row.get("statement") or "", row.get("line", row.get("number")), row.get("entry") or "")


def moves(row: Row) -> bool:
    return row["status"] == "completed"


def classify(
    ledger: list[Row], statement: list[Row], *, closing: dict[str, date], tolerance: Tolerance
) -> tuple[list[tuple], list[tuple]]:
    """The breaks and the matches, each a code or rule, the ledger's rows, the statement's rows, and the variance."""
    breaks, matches = [], []
    groups: dict[tuple, tuple[list, list]] = defaultdict(lambda: ([], []))
    for side, row in [*((0, row) for row in ledger), *((1, row) for row in statement)]:
        if invalid(row):
            breaks.append(("invalid_row", *((([row], []), ([], [row]))[side]), None))
        else:
            groups[row["account"], row["batch"] or row["key"]][side].append(row)
    alone: tuple[list, list] = ([], [])
    for ours, everything in groups.values():
        batched = any(row["batch"] for row in ours + everything)
        ours.sort(key=place)
        theirs, again = told_once(sorted(everything, key=place))
        breaks += [("duplicate_in_statement", [], [row], 0) for row in again]
        if batched:
            one_group(ours, theirs, breaks, matches, alone)
            continue
        breaks += [("duplicate_in_ledger", [row], [], None) for row in ours[1:]]
        breaks += [("duplicate_in_statement", [], [row], None) for row in theirs[1:]]
        one_pair(ours[:1], theirs[:1], breaks, matches, alone, tolerance)
    one_sided(alone, ledger, breaks, closing, tolerance)
    return breaks, matches


def told_once(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows, and apart from them those that another file has told already, as often as it told them."""
    once: list[Row] = []
    again: list[Row] = []
    reported: dict[tuple, Counter] = defaultdict(Counter)
    for row in rows:
        files = reported[line_of(row)]
        elsewhere = max((count for name, count in files.items() if name != row["statement"]), default=0)
        (again if files[row["statement"]] < elsewhere else once).append(row)
        files[row["statement"]] += 1
    return once, again


def line_of(row: Row) -> tuple:
    return (row["key"], row["currency"], row["business_date"], signed(row))


def one_group(ours: list, theirs: list, breaks: list, matches: list, alone: tuple) -> None:
    both = ours + theirs
    agree = sum(map(signed, ours)) == sum(map(signed, theirs)) and len({row["currency"] for row in both}) == 1
    if not agree and ours and theirs:
        breaks.append(("batch_mismatch", ours, theirs, None))
    elif not agree:
        alone[0 if ours else 1].append((ours or theirs, True))
    elif not (ours and theirs):
        matches.append(("nets_to_zero", ours, theirs))
    else:
        rules = (("key", "one_to_many"), ("many_to_one", "many_to_many"))
        matches.append((rules[len(ours) > 1][len(theirs) > 1], ours, theirs))


def one_pair(ours: list, theirs: list, breaks: list, matches: list, alone: tuple, tolerance: Tolerance) -> None:
    if not (ours and theirs):
        for row in ours + theirs:
            if moves(row):
                alone[0 if ours else 1].append(([row], False))
            else:
                matches.append(("nothing_moved", ours, theirs))
        return
    left, right = ours[0], theirs[0]
    checks = [
        ("currency_mismatch", left["currency"] != right["currency"]),
        ("status_mismatch", moves(left) != moves(right)),
        ("direction_mismatch", left["direction"] != right["direction"]),
        ("amount_mismatch", abs(left["amount_minor"] - right["amount_minor"]) > tolerance.amount_minor),
        ("fee_mismatch", abs(left["fee_minor"] - right["fee_minor"]) > tolerance.fee_minor),
        ("date_mismatch", abs((left["business_date"] - right["business_date"]).days) > tolerance.days),
        ("late_success", left["state"] == "in_suspense"),
    ]
    code = next((name for name, differs in checks if differs), None)
    if code:
        breaks.append((code, ours, theirs, None))
    else:
        matches.append(("key", ours, theirs))


NUMBERS = {
    "+260961234567": ("96…567", 1), "0961 234 567": ("96…567", 1), "0969999567": ("96…567", 2),
    "26096****567": ("96…567", None), "254961234567": ("254…567", 3),
}  # fmt: skip
"""Spellings, with what is seen of a number and which it is."""


def partners(left: Row, right: Row, tolerance: Tolerance) -> bool:
    by, days = tolerance.pair_by, abs((left["business_date"] - right["business_date"]).days)
    names = ["account", "currency", "direction", "amount_minor", *(["fee_minor"] if "fee" in by else [])]
    phones = [NUMBERS.get(row["phone"], (row["phone"], None)) for row in (left, right)]
    (seen, one), (other_seen, other) = phones
    unknown = None in {seen, other_seen}
    if unknown or seen != other_seen or (None not in {one, other} and one != other):
        is_one = unknown and "phone" not in by
    else:
        is_one = True
    at_once = days == 0
    if left["occurred_at"] is not None and right["occurred_at"] is not None:
        at_once = abs((left["occurred_at"] - right["occurred_at"]).total_seconds()) <= tolerance.minutes * 60
    fits = {"time": at_once, "day": days <= tolerance.days}
    return is_one and all(left[n] == right[n] for n in names) and all(fit for name, fit in fits.items() if name in by)


def one_sided(alone: tuple, ledger: list[Row], breaks: list, closing: dict[str, date], tolerance: Tolerance) -> None:
    plain = [[rows[0] for rows, batched in side if not batched] for side in alone]
    pairs = [(left, right) for left, right in product(*plain) if partners(left, right, tolerance)]
    count: dict[int, int] = defaultdict(int)
    for pair in pairs:
        for row in pair:
            count[id(row)] += 1
    settled = set()
    for left, right in pairs:
        if count[id(left)] == count[id(right)] == 1:
            breaks.append(("wrong_reference", [left], [right], None))
            settled |= {id(left), id(right)}
    keys = {(row["account"], row["key"]) for row in ledger}
    for side, waiting in enumerate(alone):
        for rows, _ in waiting:
            first = rows[0]
            if id(first) in settled:
                continue
            code = "ambiguous" if count[id(first)] else lonely(first, side, keys, closing)
            breaks.append((code, *((rows, []) if side == 0 else ([], rows)), None))


def lonely(row: Row, side: int, keys: set, closing: dict[str, date]) -> str:
    if side == 0 and row["reverses"] is not None:
        return "reversed_unmatched"
    if side == 1 and row["type"] == "reversal" and row["related"] and (row["account"], row["related"]) in keys:
        return "reversed_unmatched"
    if (closing[row["account"]] - row["business_date"]).days < 1:
        return "timing"
    if side == 0:
        return "payout_unpaid" if row["kind"] == "payout_paid" else "missing_in_statement"
    return "missing_in_ledger"


# What is generated: few keys, amounts and times, so that all that can coincide does. The accounts are
# cases of their own: one run of the rules judges several.

ACCOUNTS = [f"operator:{name}:float" for name in ("mtn", "airtel", "zamtel", "zed")]
LAST = date(2026, 1, 6)


def mostly(usual: object, *others: object) -> st.SearchStrategy:
    return st.sampled_from([usual] * (3 * len(others)) + list(others))


def movements() -> dict[str, st.SearchStrategy]:
    return {
        "account": st.sampled_from(ACCOUNTS),
        "key": st.sampled_from([*(f"k{number}" for number in range(1, 13)), None]),
        "batch": mostly(None, None, None, "k1", "b1"),
        "when": st.tuples(st.sampled_from([1, 2, 5, 6]), st.sampled_from([0, 10, 16, None])),
        "direction": mostly("in", "in", "in", "out", "sideways"),
        "amount_minor": mostly(100, 100, 100, 101, 200, -5),
        "fee_minor": mostly(0, 1, -1),
        "currency": mostly("ZMW", "USD", None),
        "status": mostly("completed", "failed", "pending"),
        "phone": st.sampled_from(["p", "p", "p", "q", None, *NUMBERS]),
    }


LEDGER_ROWS = st.fixed_dictionaries({
    **movements(), "kind": mostly("funds_secured", "payout_paid"), "reverses": mostly(None, "je_0"),
    "state": mostly("posted", "in_suspense"),
})  # fmt: skip
STATEMENT_ROWS = st.fixed_dictionaries({
    **movements(), "amount_minor": mostly(100, 100, 100, 101, 200, None),
    "statement": st.sampled_from(["one.csv", "two.csv"]), "type": mostly("payment", "reversal"),
    "related": st.sampled_from([None, "k1", "k2"]), "problem": mostly(None, "unreadable"),
})  # fmt: skip


def whole(row: Row, **more: object) -> Row:
    day, minute = row.pop("when")
    at = None if minute is None else datetime(2026, 1, day, 10, minute, tzinfo=UTC)
    return {**row, "occurred_at": at, "business_date": date(2026, 1, day), **more}


def plain(account: str, number: int) -> Row:
    """A row of each account that keeps it from being refused: unknown to the ledger, or in another currency."""
    return {
        "account": account, "key": f"plain{number}", "batch": None, "when": (6, 0), "direction": "in",
        "amount_minor": 7, "fee_minor": 0, "currency": "ZMW", "status": "completed", "phone": None,
    }  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ledger = draw(st.lists(LEDGER_ROWS, min_size=30, max_size=60))
    statement = draw(st.lists(STATEMENT_ROWS, min_size=30, max_size=60))
    ours = {"kind": "funds_secured", "reverses": None, "state": "posted"}
    theirs = {"type": "payment", "related": None, "problem": None}
    for number, account in enumerate(ACCOUNTS):
        ledger.append({**plain(account, number), **ours})
        statement.append({**plain(account, number), **theirs, "statement": "one.csv"})
        statement.append({**plain(account, number), **theirs, "statement": "two.csv", "key": f"other{number}"})
    balance: dict[str, int] = defaultdict(int)
    made = []
    for number, row in enumerate(ledger, start=1):
        each = whole(row, entry=f"je_{number}", number=number, payment=None)
        balance[each["account"]] += signed(each)
        made.append({**each, "balance_minor": balance[each["account"]]})
    rows = [whole(row, line=line, description="", balance_minor=None) for line, row in enumerate(statement, start=2)]
    return made, rows


def frames(ledger: list[Row], statement: list[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return (
        pd.DataFrame(ledger, columns=list(LEDGER_MOVEMENT)).astype(dict(LEDGER_MOVEMENT)),
        pd.DataFrame(statement, columns=list(STATEMENT_ROW)).astype(dict(STATEMENT_ROW)),
    )


def assert_same(first: Reconciliation, other: Reconciliation) -> None:
    for name in ("breaks", "matches", "summary", "ageing", "proof"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(other, name))
    for name in ("rows", "closed"):
        pd.testing.assert_frame_equal(getattr(first.carry_forward, name), getattr(other.carry_forward, name))


def found_breaks(result: Reconciliation) -> Counter:
    """What the frame says of each break: its code, its rows' ends, and its figures."""
    return Counter(
        (
            row.code, row.account, none(row.entry), none(row.line), row.rows, row.side,
            none(row.ledger_minor), none(row.statement_minor), row.variance_minor,
        )
        for row in result.breaks.itertuples()
    )  # fmt: skip


def none(value: object) -> object:
    return None if pd.isna(value) else value


def expected_breaks(breaks: list[tuple]) -> Counter:
    made: Counter = Counter()
    for code, ours, theirs, variance in breaks:
        left = sum(map(signed, ours)) if ours else None
        right = sum(map(signed, theirs)) if theirs else None
        side = "both" if ours and theirs else "ledger" if ours else "statement"
        made[
            code, (ours + theirs)[0]["account"], ours[0]["entry"] if ours else None,
            theirs[0]["line"] if theirs else None, len(ours + theirs), side, left, right,
            (left or 0) - (right or 0) if variance is None else variance,
        ] += 1  # fmt: skip
    return made


def expected_matches(matches: list[tuple]) -> Counter:
    return Counter(
        (rule, row["account"], row.get("entry"), row.get("line"), signed(row))
        for rule, ours, theirs in matches
        for row in ours + theirs
    )


def found_matches(result: Reconciliation) -> Counter:
    return Counter(
        (row.rule, row.account, none(row.entry), none(row.line), row.signed_minor)
        for row in result.matches.itertuples()
    )


LONG = settings.get_current_profile_name() == "long"
"""A run takes a second, so each test makes a few by default; `--hypothesis-profile=long` makes ten times as many."""
SOME = settings(
    max_examples=40 if LONG else 4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # A run takes a second: to make a failing case small would take longer than to read it.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)

BY_DAY, BY_BOTH = ("amount", "day"), ("phone", "amount", "fee", "time", "day")
TOLERANCES = st.sampled_from([
    Tolerance(), Tolerance(1, 1, 0), Tolerance(100, 0, 3), Tolerance(minutes=5), Tolerance(pair_by=BY_DAY),
    Tolerance(minutes=3 * 1440, pair_by=BY_BOTH),
])  # fmt: skip
ENGINES = st.sampled_from(["polars", "polars", "duckdb", "pandas"])


class TestAgainstTheModel:
    @settings(SOME, max_examples=60 if LONG else 6)
    @given(engine=ENGINES, case=cases(), tolerance=TOLERANCES)
    def test_each_row_is_where_the_model_has_it(self, engine: str, case: Case, tolerance: Tolerance):
        closing = dict.fromkeys(ACCOUNTS, LAST)
        breaks, matches = classify(*case, closing=closing, tolerance=tolerance)
        result = reconcile(*frames(*case), tolerance=tolerance, engine=engine)
        assert found_breaks(result) == expected_breaks(breaks)
        assert found_matches(result) == expected_matches(matches)

    @settings(SOME, max_examples=15 if LONG else 2)
    @given(engine=ENGINES, case=cases(), seed=st.integers(0, 99))
    def test_the_order_of_rows_changes_nothing_and_neither_does_another_run(self, engine: str, case: Case, seed: int):
        ledger, statement = frames(*case)
        first = reconcile(ledger, statement, engine=engine)
        shuffled = [frame.sample(frac=1, random_state=seed).reset_index(drop=True) for frame in (ledger, statement)]
        for again in (reconcile(*shuffled, engine=engine), reconcile(ledger, statement, engine=engine)):
            assert_same(first, again)

    @settings(SOME, max_examples=30 if LONG else 3)
    @given(engine=ENGINES, case=cases())
    def test_what_is_open_is_the_same_when_nothing_is_new(self, engine: str, case: Case):
        key = {"phone_key": b"the book's own key, of 32 bytes."}
        first = reconcile(*frames(*case), engine=engine, **key)
        carried = first.carry_forward
        again = reconcile(frames(*case)[0], nothing_new(first), carry_forward=carried, engine=engine, **key)
        # A line that another file tells too has no effect, and is told once.
        no_effect = first.breaks["reason"].str.contains("the same line in another file")
        assert found_breaks(again) == found_breaks(SimpleNamespace(breaks=first.breaks[~no_effect]))
        assert again.proof["holds"].all()
        pd.testing.assert_frame_equal(first.carry_forward.rows, again.carry_forward.rows)


def nothing_new(before: Reconciliation) -> list[SimpleNamespace]:
    """For each account the file of a period in which nothing happened."""
    return [
        SimpleNamespace(
            name=f"{line.account}.csv", sha256=line.account, account=line.account, currency="ZMW",
            rows=frames([], [])[1], opening_minor=line.statement_minor, closing_minor=line.statement_minor,
            period=None, findings=pd.DataFrame(columns=["line", "expected_minor", "found_minor"]),
        )
        for line in before.proof.itertuples()
    ]  # fmt: skip


@SOME
@given(case=cases(), tolerance=TOLERANCES)
def test_no_row_is_lost_and_the_proof_is_exact(case: Case, tolerance: Tolerance):
    ledger, statement = frames(*case)
    result = reconcile(ledger, statement, tolerance=tolerance, engine="polars")
    assert result.rows_read == {"ledger": len(ledger), "statement": len(statement)}
    assert result.breaks["rows"].sum() + len(result.matches) == len(ledger) + len(statement)
    summary = result.summary
    assert summary["ledger_rows"].sum() == len(ledger)
    assert summary["statement_rows"].sum() == len(statement)
    matched = summary[summary["code"] == "matched"]
    for side, agreed in result.matches.groupby("side", observed=True):
        assert matched[f"{side}_rows"].sum() == len(agreed)
        assert matched[f"{side}_value_minor"].sum() == agreed["signed_minor"].abs().sum()
    assert summary["variance_minor"].sum() == result.breaks["variance_minor"].sum()
    assert result.ageing["rows"].sum() == result.breaks["rows"].sum()
    assert result.proof["holds"].all()
    for line in result.proof.itertuples():
        mine = result.breaks.loc[result.breaks["account"] == line.account, "variance_minor"].sum()
        assert line.ledger_minor - line.statement_minor == mine + line.tolerated_minor
    if tolerance == Tolerance():
        assert not result.proof["tolerated_minor"].any()


@settings(SOME, max_examples=5 if LONG else 1)
@given(case=cases())
def test_every_input_and_every_engine_has_the_same_answer(case: Case, tmp_path_factory: pytest.TempPathFactory):
    ledger, statement = frames(*case)
    folder = tmp_path_factory.mktemp("tables")
    tables = [pl.from_pandas(frame) for frame in (ledger, statement)]
    for name, table in zip(("ledger", "statement"), tables, strict=True):
        table.write_parquet(folder / f"{name}.parquet")
    relations = [duckdb.read_parquet(str(folder / f"{name}.parquet")) for name in ("ledger", "statement")]
    base = reconcile(ledger, statement, engine="pandas")
    inputs = [
        (ledger, statement), tables, [table.lazy() for table in tables], [table.to_arrow() for table in tables],
        relations, (folder / "ledger.parquet", str(folder / "statement.parq*")),
    ]  # fmt: skip
    for given_ledger, given_statement in inputs:
        other = reconcile(given_ledger, given_statement)
        assert other.engine == "duckdb"
        assert_same(base, other)
