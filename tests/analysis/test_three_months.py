"""A shop with two operators and a bank over three months, whose books no sandbox made.

The world is a plain model: what happened is told once to the shop's own ledger and once to a statement, and a break of
every code is planted by telling one of them otherwise. The model knows what is open at the end of each month, and
with which code. Some of it is settled a month later.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd
import pytest

from workbench.analysis import files
from workbench.analysis.break_codes import CODES
from workbench.analysis.frames import frame
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.shapes import EXACT, LEDGER_MOVEMENT
from workbench.analysis.statements import LAYOUTS, Preamble, read_statement, write_statement

MTN, AIRTEL, BANK = "operator:mtn:float", "operator:airtel:float", "bank:settlement"
LAYOUT_OF = {MTN: "mtn", AIRTEL: "airtel", BANK: "aggregator"}
LAST_DAYS = (date(2026, 1, 31), date(2026, 2, 28), date(2026, 3, 31))
Row = dict[str, Any]


def effect(row: Row) -> int:
    """What a row does to its account."""
    gross = row["amount_minor"] if row["direction"] == "in" else -row["amount_minor"]
    return gross - row["fee_minor"] if row["status"] == "completed" else 0


def later(row: Row, days: int) -> Row:
    """The moment and the day of a row, so many days on."""
    return {name: row[name] + timedelta(days=days) for name in ("occurred_at", "business_date")}


@dataclass
class Told:
    """One thing as both sides tell it: rows of the ledger and of a statement, each with the month that it is told in.

    `codes` is what it is called at the end of the months 0, 1 and 2, or nothing where it agrees; `carried` is what of
    it is open then, and `key` the one that the break has.
    """

    ours: list[tuple[int, Row]] = field(default_factory=list)
    theirs: list[tuple[int, Row]] = field(default_factory=list)
    codes: tuple[str, str, str] = ("", "", "")
    key: str | None = None
    further: str = ""
    """The side of which only the last row is part of the break."""

    def open_rows(self, month: int) -> Iterator[tuple[str, Row]]:
        """The side and the rows that are part of the break at the end of a month."""
        for side, rows in (("ledger", self.ours), ("statement", self.theirs)):
            there = [row for when, row in rows if when <= month]
            if self.further in {"", side}:
                yield from ((side, row) for row in (there[-1:] if self.further else there))

    def break_at(self, month: int) -> tuple[str, str | None, str, int]:
        rows = list(self.open_rows(month))
        variance = sum(effect(row) * (1 if side == "ledger" else -1) for side, row in rows)
        return rows[0][1]["account"], self.key, self.codes[month], variance


class Transposed(NamedTuple):
    """One movement under a reference of which each side has two digits the other way round."""

    account: str
    net_minor: int
    keys: tuple[str, str]


class World:
    """Three months of a shop; one seed is one world."""

    def __init__(self, seed: int, payments: int) -> None:
        self.random = Random(seed)  # noqa: S311  a model
        self.count = 0
        self.all: list[Told] = []
        self.transposed: list[Transposed] = []
        self.settles = {code: self.random.random() < 0.5 for code in CODES}
        for self.month, last in enumerate(LAST_DAYS):
            # Somebody pays on the last day too: the books of an operator close with its last row.
            days = [1 + place * (last.day - 1) // (payments - 1) for place in range(payments)]
            for account in (MTN, AIRTEL):
                self.agreed(*(self.row(account, last.replace(day=day)) for day in days))
                self.sweeps(account)
            self.agreed(self.row(BANK, last, direction="out", kind="payout_paid", type="payout"))
            self.plant()

    def row(self, account: str, day: date, **more: object) -> Row:
        """Another movement: no two have one amount, or one key that is like another's."""
        self.count += 1
        at = datetime(day.year, day.month, day.day, 6, tzinfo=UTC) + timedelta(minutes=self.random.randrange(600))
        amount = 10_000 + 37 * self.count
        letters = {MTN: "71", AIRTEL: "MP", BANK: "BK"}[account]
        return {
            "account": account, "key": f"{letters}{self.random.randrange(10**5):05}{self.count * 7919 % 10**5:05}",
            "batch": None, "occurred_at": at, "business_date": day, "direction": "in", "amount_minor": amount,
            "fee_minor": 0 if account == BANK else amount // 100, "currency": "ZMW", "status": "completed",
            "phone": None if account == BANK else f"+26096{1_000_000 + self.count * 7919}", "kind": "funds_secured",
            "type": "payment", "reverses": None, "related": None, "state": "posted", **more,
        }  # fmt: skip

    def agreed(self, *rows: Row) -> None:
        self.all += [Told([(self.month, row)], [(self.month, row)]) for row in rows]

    def sweeps(self, account: str) -> None:
        """What the operator sends to the bank, and what is there a day later."""
        for week in range(1, 4):
            day = LAST_DAYS[self.month].replace(day=7 * week)
            out = self.row(account, day, direction="out", fee_minor=0, phone=None, kind="swept", type="transfer")
            into = self.row(BANK, day + timedelta(days=1), amount_minor=out["amount_minor"], type="transfer")
            self.agreed(out, into)

    def new(self, account: str = "", **more: object) -> Row:
        """A movement in the middle of the month that is lived through."""
        day = LAST_DAYS[self.month].replace(day=self.random.randrange(4, 22))
        return self.row(account or self.random.choice([MTN, AIRTEL]), day, **more)

    def broken(self, code: str, ours: list[Row], theirs: list[Row], further: str = "") -> Told:
        """A break of this code, from this month on."""
        codes = tuple(code if self.month <= each else "" for each in range(3))
        both = [[(self.month, row) for row in rows] for rows in (ours, theirs)]
        self.all.append(Told(*both, codes, (theirs or ours)[0]["key"], further))  # type: ignore[arg-type]  three of them
        return self.all[-1]

    def perhaps_settled(self, told: Told, *, ours: Row | None = None, theirs: Row | None = None) -> None:
        """Every second one of a code is settled by what either side tells in the month after."""
        code = told.codes[self.month]
        self.settles[code] = not self.settles[code]
        if self.settles[code]:
            told.codes = tuple(code if month == self.month else "" for month in range(3))  # type: ignore[assignment]  three
            told.ours += [(self.month + 1, ours)] if ours else []
            told.theirs += [(self.month + 1, theirs)] if theirs else []

    def plant(self) -> None:
        """A break of every code that begins in this month."""
        for code, change in {
            "currency_mismatch": {"currency": "USD"},
            "status_mismatch": {"status": "failed"},
            "direction_mismatch": {"direction": "out"},
            "amount_mismatch": {"amount_minor": 9_000 + self.random.randrange(900)},
            "fee_mismatch": {"fee_minor": 55},
            "wrong_reference": {"key": f"X{self.count}{self.random.randrange(10**8)}"},
        }.items():
            one = self.new()
            self.broken(code, [one], [one | change])
        one = self.new()
        self.broken("date_mismatch", [one], [one | later(one, 3)])
        self.broken("invalid_row", [], [self.new(key=None)])
        one = self.new()
        self.broken("late_success", [one | {"state": "in_suspense"}], [one])
        self.plant_several()
        for account in LAYOUT_OF:
            self.plant_one_sided(account)
        self.plant_transposed()

    def plant_several(self) -> None:
        """Rows of one key, of no key that tells which, and of one batch."""
        one = self.new()
        self.broken("duplicate_in_statement", [one], [one, one], "statement")
        one = self.new()
        self.broken("duplicate_in_ledger", [one, one], [one], "ledger")
        one = self.new()
        for place in range(4):
            row = one | {"key": f"{one['key']}{'ABCD'[place]}"}
            self.broken("ambiguous", *([[row], []] if place < 2 else [[], [row]]))
        whole = self.new(BANK)
        parts = [self.new(BANK, batch=whole["key"], **later(whole, 0)) for _ in range(3)]
        total = sum(row["amount_minor"] for row in parts)
        self.broken("batch_mismatch", parts, [whole | {"amount_minor": total - 500}])

    def plant_one_sided(self, account: str) -> None:
        """What one side has alone, and the other has a month later, or never."""
        # What the ledger has on the last day, the statement has on the first of the next month.
        one = self.row(account, LAST_DAYS[self.month])
        told = self.broken("timing", [one], [])
        self.perhaps_settled(told, theirs=one | later(one, 1))
        still = {month: "missing_in_statement" for month in range(self.month + 1, 3) if told.codes[month]}
        told.codes = tuple(still.get(month, code) for month, code in enumerate(told.codes))  # type: ignore[assignment]  three
        one = self.new(account)
        self.perhaps_settled(self.broken("missing_in_statement", [one], []), theirs=one)
        one = self.new(account)
        self.perhaps_settled(self.broken("missing_in_ledger", [], [one]), ours=one)
        if account == BANK:
            one = self.new(BANK, direction="out", kind="payout_paid", type="payout")
            self.perhaps_settled(self.broken("payout_unpaid", [one], []), theirs=one)
            return
        paid = self.new(account)
        self.agreed(paid)
        back = self.new(account, direction="out", type="reversal", related=paid["key"], fee_minor=0)
        told = self.broken("reversed_unmatched", [], [back])
        self.perhaps_settled(told, ours=back | {"kind": "reversed", "reverses": paid["key"]})

    def plant_transposed(self) -> None:
        one = self.new(phone=None)
        begins, digit = one["key"][:-2], int(one["key"][-1])
        other = (digit + 1) % 10
        ours, theirs = (one | {"key": f"{begins}{last}"} for last in (f"{digit}{other}", f"{other}{digit}"))
        self.broken("missing_in_statement", [ours], [])
        self.broken("missing_in_ledger", [], [theirs])
        self.transposed.append(Transposed(one["account"], effect(one), (ours["key"], theirs["key"])))

    def open(self, month: int) -> list[Told]:
        """What is open at the end of a month."""
        return [told for told in self.all if told.codes[month]]

    def ledger(self, month: int) -> pd.DataFrame:
        """The shop's own ledger as it stands at the end of a month: in the order of its booking."""
        booked = [(when, row["occurred_at"], place, row)
                  for place, told in enumerate(self.all) for when, row in told.ours if when <= month]  # fmt: skip
        balances: Counter[str] = Counter()
        made = []
        for number, (*_, row) in enumerate(sorted(booked, key=lambda each: each[:3]), start=1):
            balances[row["account"]] += effect(row)
            own = {"entry": f"B{number}", "number": number, "payment": None, "balance_minor": balances[row["account"]]}
            made.append({name: (row | own)[name] for name in LEDGER_MOVEMENT})
        return frame(made, LEDGER_MOVEMENT)

    def statement(self, account: str, month: int, folder: Path) -> tuple[Path, int]:
        """The file of an account for a month, and its closing balance."""
        told = [(when, row) for each in self.all for when, row in each.theirs if row["account"] == account]
        balance = opening = sum(effect(row) for when, row in told if when < month)
        rows = []
        for row in sorted((row for when, row in told if when == month), key=lambda row: row["occurred_at"]):
            balance += effect(row)
            rows.append(row | {"balance_minor": balance})
        last = LAST_DAYS[month]
        path = folder / f"{LAYOUT_OF[account]}-{month + 1}.csv"
        preamble = Preamble(account, "ZMW", last.replace(day=1), last, opening, balance)
        write_statement(rows, path, LAYOUTS[LAYOUT_OF[account]], preamble=preamble)
        return path, balance


class Month(NamedTuple):
    """The files of a month, and the balances that the model has at its end."""

    ledger: Path
    statements: list[Path]
    balances: Mapping[str, tuple[int, int]]


def months(world: World, folder: Path) -> Iterator[Month]:
    for month in range(3):
        ledger = world.ledger(month)
        path = folder / f"ledger-{month + 1}.parquet"
        files.write(ledger, path, LEDGER_MOVEMENT)
        ours = ledger.groupby("account")["balance_minor"].last()
        made = {account: world.statement(account, month, folder) for account in LAYOUT_OF}
        balances = {account: (int(ours[account]), closing) for account, (_, closing) in made.items()}
        yield Month(path, [each for each, _ in made.values()], balances)


def none(value: object) -> object:
    return None if pd.isna(value) else value


def found_in(breaks: pd.DataFrame) -> Counter[Any]:
    rows = breaks[["account", "key", "code", "variance_minor"]].itertuples(index=False, name=None)
    return Counter((account, none(key), code, variance) for account, key, code, variance in rows)


def carried_in(rows: pd.DataFrame) -> Counter[Any]:
    names = rows[["side", "account", "key", "amount_minor", "code"]].itertuples(index=False, name=None)
    return Counter((side, account, none(key), amount, code) for side, account, key, amount, code in names)


def check(world: World, month: int, breaks: pd.DataFrame, carried: pd.DataFrame) -> None:
    """What is found, and what is carried, is what the model has open: nothing else, with these codes and amounts."""
    told = world.open(month)
    assert found_in(breaks) == Counter(each.break_at(month) for each in told)
    assert carried_in(carried) == Counter(
        (side, row["account"], row["key"], row["amount_minor"], each.codes[month])
        for each in told
        for side, row in each.open_rows(month)
    )


class Lived(NamedTuple):
    """Three months, one after the other, each with what the one before left open."""

    world: World
    results: list[Reconciliation]


KEY = b"the book's own key, of 32 bytes."
WORLDS = [(1, 8), *(pytest.param((seed, 60), marks=pytest.mark.thorough) for seed in range(2, 6))]


@pytest.fixture(params=WORLDS, scope="module", ids=str)
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    seed, payments = request.param
    world, results, carried = World(seed, payments), [], None
    for month, made in enumerate(months(world, tmp_path_factory.mktemp("months"))):
        read = [read_statement(each, phone_key=KEY) for each in made.statements]
        assert all(each.findings.empty for each in read)
        settings = {"as_of": LAST_DAYS[month], "phone_key": KEY}
        results.append(reconcile(made.ledger, read, carry_forward=carried, **settings))
        carried = results[-1].carry_forward
        proof = results[-1].proof
        assert {line.account: (line.ledger_minor, line.statement_minor) for line in proof.itertuples()} == made.balances
    return Lived(world, results)


@pytest.mark.thorough
def test_each_month_every_break_is_found_with_its_code_and_carried_and_no_other_is(lived: Lived):
    world, results = lived
    for month, result in enumerate(results):
        check(world, month, result.breaks, result.carry_forward.rows)
    assert {code for told in world.all for code in told.codes} == {"", *CODES}


def test_each_month_the_proof_is_exact_and_the_books_close_on_its_last_day(lived: Lived):
    _, results = lived
    for last, result in zip(LAST_DAYS, results, strict=True):
        assert result.proof["holds"].all()
        assert set(result.proof["note"]) == {EXACT}
        assert (result.proof["difference_minor"] == result.proof["breaks_minor"]).all()
        assert not result.proof["brought_minor"].any()
        assert set(result.carry_forward.closed["closing_date"]) == {last}


def test_what_is_open_for_longer_says_since_when(lived: Lived):
    world, results = lived
    for month, result in enumerate(results):
        first = {told.break_at(month)[:3]: min(n for n in range(3) if told.codes[n]) for told in world.open(month)}
        for line in result.breaks.dropna(subset="key").itertuples():
            begun = first[line.account, line.key, line.code]
            assert none(line.since_date) == (None if begun == month else LAST_DAYS[begun])


def test_transposed_references_are_proposed(lived: Lived):
    world, results = lived
    for month, result in enumerate(results):
        proposed = {(each.account, each.amount_minor): each.why for each in result.suggestions.itertuples()}
        for each in world.transposed[: month + 1]:
            assert all(key in proposed[each.account, each.net_minor] for key in each.keys)
