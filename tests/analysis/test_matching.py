"""Rows that no key joins: matched by amount where nothing else is like them, and by the key in a narrative."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.analysis.test_partners import tables
from tests.analysis.test_reconcile import ACCOUNT, effect, movement
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.report import totals
from workbench.cli import app
from workbench.errors import ReconcileRefused

FIRST = date(2026, 1, 1)
Row = dict[str, Any]


def on(day: int, key: str, amount: int, **more: object) -> Row:
    """A row without a time, so many days after the first."""
    return movement(key, amount, occurred_at=None, business_date=FIRST + timedelta(days=day), **more)


def matched(ledger: Sequence[Row], statement: Sequence[Row], *rules: Row, **more: object) -> Reconciliation:
    asked: dict[str, Any] = {"match": rules} if rules else {}
    return reconcile(*tables([*ledger], [*statement]), **asked, **more)


def matched_apart(cases: Mapping[str, Sequence[Any]], *rules: Row, **more: object) -> Reconciliation:
    """One run over all cases, each an account of its own: its ledger, and its statement."""
    ledger, statement = (
        [row | {"account": name} for name, case in cases.items() for row in case[side]] for side in (0, 1)
    )
    return matched(ledger, statement, *rules, **more)


def within(days: int, **more: object) -> Row:
    return {"on": ["amount"], "days": days, **more}


def pairs_of(result: Reconciliation) -> set[tuple[str, str]]:
    """The keys of each pair that a rule by amount matched."""
    rows = result.matches[result.matches["rule"].str.startswith("amount")]
    sides = (rows[rows["side"] == side].set_index("group")["key"] for side in ("ledger", "statement"))
    both = pd.concat(sides, axis=1, keys=("ours", "theirs"))
    return set(both.itertuples(index=False, name=None))


class World(NamedTuple):
    """What both sides tell, and which rows are one movement."""

    ledger: list[Row]
    statement: list[Row]
    pairs: set[tuple[str, str]]


def world(seed: int, *, rows: int, amounts: int, days: int, missing: tuple[float, float], lag: int = 4) -> World:
    """Movements of so many amounts over so many days; a bank has each up to `lag` days later."""
    drawn = Random(seed)  # noqa: S311  a model
    made = World([], [], set())
    for n in range(rows):
        day, amount, direction = drawn.randrange(days), 100 + drawn.randrange(amounts), drawn.choice(["in", "out"])
        ours, theirs = (drawn.random() >= share for share in missing)
        key, other, more = f"P{n}", f"made-{n}", {"direction": direction}
        made.ledger.extend([on(day, key, amount, **more)] if ours else [])
        made.statement.extend([on(day + drawn.randint(0, lag), other, amount, **more)] if theirs else [])
        made.pairs.update([(key, other)] if ours and theirs else [])
    drawn.shuffle(made.ledger)
    drawn.shuffle(made.statement)
    return made


def rows_of(amounts: Iterable[tuple[int, int]], **more: object) -> list[Row]:
    """Rows on these days, of amounts that go out if they are below zero."""
    return [on(day, f"S{n}", abs(minor), direction="out" if minor < 0 else "in", **more)
            for n, (day, minor) in enumerate(amounts)]  # fmt: skip


def fee_lines(books: dict[str, tuple[int, int]]) -> list[Row]:
    """Key → amount and fee, as two rows of one key on the first day."""
    return [row | {"key": key} for key, (amount, fee) in books.items()
            for row in rows_of([(0, amount), (0, -fee)], kind=None)]  # fmt: skip


FEES_WITHOUT_KEYS = [
    ({"P": (26000, 390)}, [(1, 25610)], 0),
    ({"P": (26000, 390)}, [(1, 26000), (2, -390)], 0),
    ({"P": (26000, 390)}, [(9, 25610)], 3),
    ({"P": (26000, 390)}, [(1, 25610), (2, 25610)], 4),
    # Either line may be a row of the statement.
    ({"P": (26000, 390)}, [(1, 25610), (50, 26000)], 4),
    ({"P": (26000, 390)}, [(1, 25610), (50, -390)], 4),
    # The credit may be of either payment: the gross amount of Q is on the statement too.
    ({"P": (26000, 390), "Q": (26010, 400)}, [(1, 25610), (50, 26010)], 6),
    ({"P": (26000, 390), "Q": (26011, 400)}, [(1, 25610), (2, 25611)], 0),
]
"""Keys with an amount and a fee in the books, the statement's rows without keys (day, amount), and the open rows."""


class TestByAmount:
    def test_settlements_of_a_bank_without_keys_a_day_after_the_books_leave_nothing_open(self):
        ours = [on(n, f"P{n}", 100_000 + 37 * n) for n in range(25)]
        theirs = [on(n + 1, f"made-{n}", 100_000 + 37 * n) for n in range(25)]
        result = matched(ours, theirs)
        assert (result.is_clean, len(result.breaks), result.rates["by_count"].tolist()) == (True, 0, [1.0])
        assert result.matched_by == {"amount within 2 days": 25}
        assert pairs_of(result) == {(f"P{n}", f"made-{n}") for n in range(25)}
        assert set(result.matches["differences"]) == {"1 day"}
        assert result.carry_forward.rows.empty
        assert any("has no keys" in note and "25 pairs" in note for note in result.notes)
        assert "amount within 2 days alone: 25 pairs" in repr(result)
        # One key of the statement's own, and it has keys.
        assert len(matched(ours, [*theirs[1:], on(1, "K1", 5)]).breaks) == 50

    def test_a_pair_is_alone_within_twice_the_window_of_either_row(self):
        cases = [
            ([0], [3], 0), ([3], [0], 0), ([0], [4], 2), ([0, 10], [3, 13], 0), ([0, 6], [3, 9], 4),
            ([0], [2, 9], 1), ([0], [2, 8], 3), ([0, 10], [3], 1), ([0, 9], [3], 3),
        ]  # fmt: skip
        # The period ends after all rows: a ledger row after it would be one of the next period.
        books = {
            f"{days}": [[*(on(day, f"{side}{day}", 500) for day in of_side), on(20, "end", 1)]
                        for side, of_side in zip("PS", days, strict=False)]
            for days in cases
        }  # fmt: skip
        result = matched_apart(books, within(3))
        open_ = Counter(result.breaks["account"])
        assert {name: open_[name] for name in books} == {f"{days}": days[2] for days in cases}
        for row in result.breaks[result.breaks["code"] == "ambiguous"].itertuples():
            assert "several rows fit by amount within 3 days: P" in row.reason
            assert " of the ledger; S" in row.reason
            assert row.reason.endswith(" of the statement.")

    @pytest.mark.parametrize(("day", "open_"), [(4, {"P2", "S3"}), (9, set())])
    def test_a_ledger_row_after_the_closing_date_is_a_candidate_within_the_window_and_no_break(
        self, day: int, open_: set[str]
    ):
        last = on(3, "end", 1)
        result = matched([on(2, "P2", 500), last, on(day, "later", 500)], [on(3, "S3", 500), last], within(2))
        assert set(result.breaks["key"]) == open_
        assert result.breaks["reason"].str.contains("P2 of 2026-01-03, later of 2026-01-05 of the ledger").all()
        assert result.proof[["ledger_minor", "statement_minor"]].to_numpy().tolist() == [[501, 501]]
        assert result.proof["holds"].all()

    def test_the_nearest_day_counts_where_it_is_asked_for(self):
        ours, theirs = ([on(day, f"{side}{day}", 500) for day in (0, 2, 3)] for side in "PS")
        asked = matched(ours, theirs, within(3, nearest=True))
        assert pairs_of(asked) == {("P0", "S0"), ("P2", "S2"), ("P3", "S3")}
        assert asked.matched_by == {"amount within 3 days, the nearest": 3}
        assert len(matched(ours, theirs, within(3)).breaks) == 6
        # Of a row that is left, nothing is in question: the row that fitted has another partner.
        for rules in ([within(3, nearest=True)], [within(1), within(3, nearest=True)]):
            last = on(20, "Z", 7)
            left = matched([on(0, "P0", 500), on(1, "P1", 500), last], [on(0, "S0", 500), last], *rules)
            assert (pairs_of(left), left.breaks["code"].tolist()) == ({("P0", "S0")}, ["missing_in_statement"])

    def test_the_nearest_day_joins_no_rows_of_two_customers(self):
        one, other = "0961234567", "0969994567"  # these agree in all digits that a mask leaves
        for asked in (within(3, nearest=True), {"on": ["amount", "phone"], "days": 3, "nearest": True}):
            ours = [on(0, "P", 500, phone=one), on(0, "Q", 500, phone=other), on(20, "Z", 7)]
            theirs = [on(1, "S", 500, phone=other), on(2, "T", 500, phone=None), on(20, "Z", 7)]
            taken = pairs_of(matched(ours, theirs, asked))
            assert taken == {("Q", "S")} | ({("P", "T")} if asked["on"] == ["amount"] else set())

    def test_what_a_later_rule_takes_is_no_candidate_any_more_and_all_others_are_named_and_counted(self):
        narrative, far = {"on": ["key in narrative"]}, on(20, "Z", 7)
        many_more = {0: "2 more", 1: "1 more", 5: "", 6: "", 7: ""}
        sides = {
            f"{taken}": (
                [*(on(0, f"PAY{n}", 500) for n in range(7)), far],
                [*(on(0, f"S{n}", 500, description=f"PAY{n}" if n < taken else None) for n in range(7)), far],
            )
            for taken in many_more
        }
        breaks = matched_apart(sides, within(1), narrative).breaks
        for taken, more in many_more.items():
            left = breaks[(breaks["code"] == "ambiguous") & (breaks["account"] == f"{taken}")]
            assert len(left) == 2 * (7 - taken)
            for reason in left["reason"]:
                names = [f"PAY{n} of 2026-01-01" for n in range(taken, 7)][:5]
                assert f"within 1 day: {', '.join(names)}{f' and {more}' if more else ''} of the ledger; S" in reason
                assert reason.endswith("; a later rule matched the others." if taken else " of the statement.")

    def test_a_row_of_which_no_partner_is_left_is_not_in_question(self):
        # A later rule takes S0 and S1 for P0 and P1, and S4 is too far from P2 to be its partner.
        ours = [*(on(0, f"P{n}", 500) for n in range(3)), on(20, "Z", 7)]
        theirs = [on(1, "S0", 500), on(1, "S1", 500), on(4, "S4", 500), on(20, "Z", 7)]
        left = matched(ours, theirs, within(2), within(2, nearest=True))
        assert pairs_of(left) == {("P0", "S0"), ("P1", "S1")}
        assert [*zip(left.breaks["key"], left.breaks["code"], strict=True)] == [
            ("P2", "missing_in_statement"), ("S4", "missing_in_ledger"),
        ]  # fmt: skip

    def test_what_differs_in_net_amount_direction_customer_or_currency_is_no_match(self):
        ours = [on(0, "a", 100, fee_minor=1), on(0, "b", 200), on(0, "c", 300, phone="0961234567"), on(0, "d", 7),
                on(0, "e", 400)]  # fmt: skip
        theirs = [on(0, "w", 100), on(0, "x", 200, direction="out"), on(0, "y", 300, phone="0961234568"), on(0, "z", 7),
                  on(0, "v", 400, currency="USD")]  # fmt: skip
        assert pairs_of(matched(ours, theirs, within(3))) == {("d", "z")}

    def test_both_adjusted_balances_are_those_of_the_true_pairs_though_rows_are_ambiguous(self):
        worlds = {
            f"{rows} {missing} {seed}": world(seed, rows=rows, amounts=amounts, days=30, missing=missing)
            for seed in range(5)
            for rows, amounts in ((4, 1), (120, 4), (300, 200))
            for missing in ((0.0, 0.0), (0.1, 0.0), (0.0, 0.1))
        }
        result = matched_apart(worlds, within(4))
        accounts = totals.balances(result)
        assert [each.account for each in accounts] == sorted(worlds)
        for account in accounts:
            made = worlds[account.account]
            paired = {key for pair in made.pairs for key in pair}
            lacking = sum(effect(row) for row in made.ledger if row["key"] not in paired)
            adjusted = [line.minor for line in account.lines if line.text.startswith("Adjusted")]
            assert adjusted == [sum(map(effect, made.statement)) + lacking] * 2
            shown = sum(line.items or 0 for line in account.lines if "ambiguous rows" in line.text)
            of_account = result.breaks[result.breaks["account"] == account.account]
            assert shown == (of_account["code"] == "ambiguous").sum()
        assert result.proof["holds"].all()

    def test_a_lone_amount_a_little_beyond_the_window_is_suggested(self):
        more = [on(1, "fee", 91_300, direction="out"), on(70, "Z", 7)]
        cases = {
            f"{days}": [[*(on(day, f"{side}{day}", 91_300) for day in of_side), *more]
                        for side, of_side in zip("PS", days, strict=True)]
            for days in (([0], [5]), ([16], [0]), ([0], [17]), ([0], [5, 60]), ([0, 60], [5]))
        }  # fmt: skip
        result = matched_apart(cases, within(4))
        assert len(result.breaks) == 2 + 2 + 2 + 3 + 3
        fits = ["([0], [5])", "([16], [0])"]
        rows = (result.breaks[result.breaks["account"] == name].sort_values("side") for name in fits)
        assert sorted(result.suggestions["breaks"]) == sorted("; ".join(of_one["id"]) for of_one in rows)
        for why in result.suggestions["why"]:
            assert "are the only open rows that move K913.00 in their direction; the days are" in why
            assert why.endswith(" apart, and the rule by amount allows 4 days.")
        assert matched_apart(cases, {"on": ["key in narrative"]}).suggestions.empty

    def test_a_payment_and_its_fee_are_one_row_where_neither_line_can_match_by_itself(self):
        cases = {
            f"{n}": [[*rows, on(60, "Z", 7)] for rows in (fee_lines(books), rows_of(statement))]
            for n, (books, statement, _) in enumerate(FEES_WITHOUT_KEYS)
        }
        result, nearest = (matched_apart(cases, within(4, nearest=nearest)) for nearest in (False, True))
        rows = result.breaks.groupby("account", observed=True)["rows"].sum()
        assert [rows.get(name, 0) for name in cases] == [open_ for *_, open_ in FEES_WITHOUT_KEYS]
        assert result.proof["holds"].all()
        found, of_nearest = (Counter(each.breaks["account"]) for each in (result, nearest))
        assert found <= of_nearest

    def test_no_payment_is_wrong_that_matches_together_with_its_fee(self):
        worlds = {
            f"{amounts} {missing}": world(seed, rows=250, amounts=amounts, days=60, missing=missing)
            for missing in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.2))
            for seed, amounts in enumerate((100, 400, 3_000))
        }
        for made in worlds.values():
            paid = [(row, 3 + 2 * (n % 4)) for n, row in enumerate(made.ledger) if row["direction"] == "in"]
            others = [row for row in made.ledger if row["direction"] == "out"]
            lines = [{**row, "kind": None, **more} for row, fee in paid for more in (
                {"amount_minor": row["amount_minor"] + fee}, {"amount_minor": fee, "direction": "out"})]  # fmt: skip
            made.ledger[:] = [*lines, *others]
        rows = matched_apart(worlds, within(4)).matches
        together = Counter[str]()
        by_group = {"index": ["account", "group"], "columns": "side", "values": "key", "observed": True}
        for (name, _), ours, theirs in rows[rows["rule"] != "key"].pivot_table(aggfunc=list, **by_group).itertuples():
            if len(ours) > 1:
                together[name.partition(" ")[2]] += 1
                assert (ours[0], *theirs) in worlds[name].pairs
        assert min(together.values()) > 100
        assert len(together) == 3

    def test_rules_are_tried_in_their_order(self):
        ours = [on(0, "P0", 500), on(4, "P4", 500)]
        theirs = [on(0, "S0", 500), on(6, "S6", 500)]
        assert len(matched(ours, theirs, within(3)).breaks) == 4
        result = matched(ours, theirs, within(0), within(3))
        assert result.matched_by == {"amount within 0 days": 1, "amount within 3 days": 1}
        assert pairs_of(result) == {("P0", "S0"), ("P4", "S6")}

    @pytest.mark.thorough
    @pytest.mark.parametrize("missing", [(0, 0), (0.1, 0), (0, 0.1)])
    @pytest.mark.parametrize("days", [2, 3, 4])
    def test_no_match_is_wrong_where_rows_are_missing_on_one_side(self, missing: tuple[float, float], days: int):
        matches = 0
        for seed, amounts in enumerate((20, 200, 2_000)):
            made = world(seed, rows=4_000, amounts=amounts, days=120, missing=missing)
            found = pairs_of(matched(made.ledger, made.statement, within(days)))
            assert found <= made.pairs
            matches += len(found)
        assert matches > 1_000, "where amounts repeat within days there are hardly any"

    @pytest.mark.thorough
    @pytest.mark.parametrize("days", [3, 4])
    def test_at_most_one_match_in_ten_thousand_is_wrong_where_rows_are_missing_on_both_sides(self, days: int):
        found = wrong = 0
        for seed, amounts in enumerate((500, 2_000, 5_000) * 2):
            made = world(seed, rows=6_000, amounts=amounts, days=180, missing=(0.02, 0.02))
            pairs = pairs_of(matched(made.ledger, made.statement, within(days)))
            found, wrong = found + len(pairs), wrong + len(pairs - made.pairs)
        assert found > 10_000
        assert wrong * 10_000 <= found


@pytest.mark.parametrize("rules", [(), (within(3),)], ids=["by key", "by amount"])
def test_rows_after_the_day_pair_are_known_when_they_are_told_again_and_wait_for_their_day(rules: Sequence[Row]):
    def told(days: dict[str, int], file: str) -> list[Row]:
        rows = ((f"{name}{'' if not rules else ' of the bank'}", day) for name, day in days.items())
        return [on(day, key, 100 * ord(key[0]), statement=file, line=n) for n, (key, day) in enumerate(rows, start=2)]

    def booked(days: dict[str, int]) -> list[Row]:
        return [on(day, name, 100 * ord(name)) for name, day in days.items()]

    statement = told({"a": 30, "b": 31, "c": 35, "d": 36, "far": 9_999}, "1.csv")
    first = matched(booked({"a": 30, "b": 30, "c": 34}), statement, *rules, as_of=date(2026, 1, 31))
    assert {key[0]: code for key, code in zip(first.breaks["key"], first.breaks["code"], strict=True)} == {
        "d": "invalid_row", "f": "invalid_row",
    }  # fmt: skip
    assert first.carry_forward.closed["closing_date"].tolist() == [date(2026, 1, 31)]
    ledger = booked({"a": 30, "b": 30, "c": 34, "d": 37, "e": 50})
    statement, settings = told({"b": 31, "c": 35, "d": 36, "e": 50}, "2.csv"), {"carry_forward": first.carry_forward}
    with pytest.raises(ReconcileRefused, match=r"reported again: 2\.csv, 2 lines from line 2"):
        matched(ledger, statement, *rules, **settings)
    for as_of in (None, date(2026, 2, 28)):
        second = matched(ledger, statement, *rules, skip_settled=True, as_of=as_of, **settings)
        assert second.breaks["code"].tolist() == ["invalid_row"]
        assert second.breaks["reason"].str.contains("after 2026-01-31, the day of the reconciliation").all()
        assert second.breaks["since_date"].tolist() == [date(2026, 1, 31)]
        assert second.proof["holds"].all()


def test_a_duplicate_is_one_break_when_the_next_file_tells_its_lines_again():
    cases = {f"{booked} {told} {day}": (booked, told, day) for booked, told in ((1, 2), (2, 1)) for day in (29, 35)}

    def run(file: str, *more: Row, **settings: object) -> Reconciliation:
        last = on(30, "last", 1, statement=file)
        sides = {
            name: [[last, *[on(day, "K", 500, statement=file)] * many, *more] for many in (booked, told)]
            for name, (booked, told, day) in cases.items()
        }
        return matched_apart(sides, **settings)

    first = run("1.csv", as_of=date(2026, 1, 31))
    later = {"as_of": date(2026, 2, 28), "carry_forward": first.carry_forward, "skip_settled": True}
    second = run("2.csv", on(58, "next", 2, statement="2.csv"), **later)
    for result, balance in ((first, 1), (second, 3)):
        for name, (booked, told, day) in cases.items():
            # The ledger's duplicate of a day after the period is a break of the next one.
            waits = result is first and booked > told and day > 30
            breaks, proof = (frame[frame["account"] == name] for frame in (result.breaks, result.proof))
            code = "duplicate_in_ledger" if booked > told else "duplicate_in_statement"
            assert breaks["code"].tolist() == [code] * (not waits), name
            assert proof[["ledger_minor", "statement_minor"]].to_numpy().tolist() == [
                [500 * (booked - waits) + balance, 500 * told + balance]
            ]
        assert result.proof["holds"].all()


class TestInNarratives:
    RULES = ({"on": ["key in narrative"]}, within(2))

    def test_the_ledgers_key_is_found_whole_in_one_narrative(self):
        ours = [on(0, key, 100 * n) for n, key in enumerate(["INV-2026/7", "7100012", "7100013", "12", "7100014"], 1)]
        said = ["PAID inv 2026 7 THANKS", "REF 71000129", "REF:7100013 AND MORE", "12 EGGS", "7100014", "X 7100014 Y"]
        theirs = [on(1, f"made-{n}", 100 * (n + 1), description=text) for n, text in enumerate(said)]
        result = matched(ours, theirs, self.RULES[0])
        assert result.matched_by == {"key in narrative": 2}
        found = dict(zip(result.breaks["key"], result.breaks["code"], strict=True))
        ambiguous = {"7100014", "made-4", "made-5"}
        assert {key for key, code in found.items() if code == "ambiguous"} == ambiguous
        assert "several rows fit by key in narrative: 7100014 of 2026-01-01 of the ledger; s.csv line 6 of" in (
            result.breaks.loc[result.breaks["key"] == "7100014", "reason"].item()
        )

    def test_a_row_of_a_ledger_without_numbers_is_looked_for_too(self):
        ours = [on(0, key, 100) for key in ("7100012", "7100013")]
        ledger, statement = tables(ours, [on(1, "made-1", 100, description="REF 7100012")])
        result = reconcile(ledger.assign(number=pd.array([None, None], "Int64")), statement, match=self.RULES[:1])
        assert result.matched_by == {"key in narrative": 1}

    def test_what_it_finds_is_compared_as_rows_of_one_key_are(self):
        ours = [on(0, "7100012", 100), on(0, "7100013", 200)]
        theirs = [on(0, "made-1", 101, description="7100012"), on(5, "made-2", 200, description="7100013")]
        result = matched(ours, theirs, *self.RULES)
        assert sorted(result.breaks["code"]) == ["amount_mismatch", "date_mismatch"]
        assert result.proof["holds"].all()
        assert matched(ours, theirs, {"on": ["key in narrative"], "days": 5}).matched_by == {"key in narrative": 1}

    def test_a_batch_is_found_by_its_name_in_the_only_row_that_moves_its_sum(self):
        parts = [on(0, "P8", 5_940, batch="SW-1004"), on(1, "P9", 3_960, batch="SW-1004")]
        one = [on(0, "P7", 100, batch="SW-1003")]
        paid, single = on(4, "made-1", 9_900, description="SETTLEMENT SW-1004 MTN"), on(4, "made-2", 100)
        single["description"] = "sw 1003"
        result = matched([*parts, *one], [paid, single], *self.RULES)
        assert result.breaks.empty
        assert result.matched_by == {"key in narrative": 2}
        assert result.proof["holds"].all()
        shown = result.matches.sort_values(["group", "side", "key"])[["side", "key", "rule", "differences"]]
        assert shown.astype(object).where(shown.notna(), None).to_numpy().tolist() == [
            [*row, "key in narrative", None] for row in (
                ("ledger", "P7"), ("statement", "made-2"),
                ("ledger", "P8"), ("ledger", "P9"), ("statement", "made-1"),
            )
        ]  # fmt: skip
        # What is matched stays matched, and a row of the next month that names the batch again is no part of it.
        ledger, next_month = tables([*parts, *one], [on(34, "made-3", 5, description="SW-1004")])
        more = {"match": self.RULES, "carry_forward": result.carry_forward}
        again = reconcile(ledger, next_month.assign(statement="next.csv"), **more)
        assert again.breaks["key"].to_list() == ["made-3"]

    @pytest.mark.parametrize(
        ("said", "others"),
        [
            ([("SW-1004", 9_901)], []),
            ([("SW-1004", -9_900)], []),
            ([("SW-1004", 9_900), ("FEE SW-1004", -5)], []),
            ([("SW-1004 AND SW-1005", 9_900)], [("SW-1005", 9_900)]),
            ([("SW-10041", 9_900)], []),
        ],
        ids=["another sum", "another way", "two rows name it", "two batches named", "a longer name"],
    )
    def test_a_batch_stays_open_where_its_name_or_its_sum_is_not_sure(
        self, said: list[tuple[str, int]], others: list[tuple[str, int]]
    ):
        def row(key: str, minor: int, **more: str) -> Row:
            return on(0, key, abs(minor), direction="out" if minor < 0 else "in", **more)

        books = [("SW-1004", 5_940), ("SW-1004", 3_960), *others]
        ours = [row(f"P{n}", minor, batch=name) for n, (name, minor) in enumerate(books)]
        theirs = [row(f"made-{n}", minor, description=text) for n, (text, minor) in enumerate(said)]
        result = matched(ours, theirs, self.RULES[0])
        assert not result.matched_by
        assert set(result.breaks["code"]) <= {"missing_in_ledger", "missing_in_statement", "timing"}
        assert result.breaks["rows"].sum() == len(ours) + len(theirs)
        assert result.proof["holds"].all()


def movement_of(row: Row) -> int:
    """The number of the movement of a world that a row of either side tells."""
    return int(row["key"].strip("P").removeprefix("made-"))


@settings(max_examples=4)
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(8, 80), min_size=1, max_size=2, unique=True),
    overlap=st.sampled_from([0, 15]),
)
@example(seed=1, cuts=[30, 60], overlap=15)
@pytest.mark.thorough
def test_periods_end_as_one_run_does(seed: int, cuts: list[int], overlap: int):
    """Around a cut no two movements have one amount: what is like a row, and not told yet, nobody can see.

    A file may tell again the last days of the one before.
    """
    days, lag = 2, 3
    made = world(seed, rows=120, amounts=40, days=90, missing=(0.05, 0.05), lag=lag)
    drawn = Random(seed)  # noqa: S311  a model
    amount_of = {}
    for row in [*made.ledger, *made.statement]:
        day = (row["business_date"] - FIRST).days
        if any(abs(day - cut) <= 4 * days + 2 * lag for cut in cuts):
            amount_of[movement_of(row)] = 10_000 + movement_of(row)
    ours, theirs = (
        [
            {**row, "direction": "in", "amount_minor": amount_of.get(movement_of(row), row["amount_minor"])}
            for row in sorted(side, key=lambda row: row["business_date"])
        ]
        for side in (made.ledger, made.statement)
    )
    last = FIRST + timedelta(days=90 + lag)
    rules = {"match": [within(days)], "as_of": last}
    whole = reconcile(*tables(ours, [{**row, "line": n} for n, row in enumerate(theirs, 2)]), **rules)
    carried, begins, by_rule = None, FIRST, Counter[str]()
    for month, end in enumerate([*(FIRST + timedelta(days=cut) for cut in sorted(cuts)), last]):
        ledger = [row for row in ours if row["business_date"] <= (end if drawn.random() < 0.5 else last)]
        told = [row for row in theirs if begins - timedelta(days=overlap) <= row["business_date"] <= end]
        told = [{**row, "statement": f"{month}.csv", "line": n} for n, row in enumerate(told, 2)]
        given = {**rules, "as_of": end, "carry_forward": carried}
        if month and overlap:
            with pytest.raises(ReconcileRefused, match="already reconciled"):
                reconcile(*tables(ledger, told), **given)
        part = reconcile(*tables(ledger, told), skip_settled=True, **given)
        carried, begins = part.carry_forward, end + timedelta(days=1)
        by_rule.update(part.matched_by)
    assert by_rule == whole.matched_by
    said = ["key", "code", "variance_minor", "business_date", "age_days", "side"]
    pd.testing.assert_frame_equal(
        *(each.breaks[said].sort_values(said, ignore_index=True) for each in (whole, part)), check_dtype=False
    )
    assert part.proof["holds"].all()
    assert part.proof["ledger_minor"].tolist() == whole.proof["ledger_minor"].tolist()


BANK = """Date;Narrative;Paid in;Paid out;Balance
02.01.2026;DEPOSIT;10,00;;10,00
05.01.2026;DEPOSIT 7100012;20,00;;30,00
06.01.2026;DEPOSIT;30,00;;60,00
"""
LAYOUT = """account = "bank:settlement"
dates = ["%d.%m.%Y"]
delimiter = ";"
decimal = ","
makes_keys = true
{match}
[columns]
moment = "Date"
description = "Narrative"
credit = "Paid in"
debit = "Paid out"
balance = "Balance"
"""
BOOKS = """account,key,occurred_at,amount
bank:settlement,P1,2026-01-01,10.00
bank:settlement,7100012,2026-01-04,20.00
bank:settlement,P3,2026-01-06,30.00
bank:settlement,P4,2026-01-06,30.00
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("bank.csv", BANK), ("books.csv", BOOKS)):
        (tmp_path / name).write_text(text)
    return tmp_path


class TestWhereTheyAreDeclared:
    MATCH = '[{ on = ["key"] }, { on = ["key in narrative"] }, { on = ["amount"], days = 3 }]'

    def run(self, files: Path, match: str, *more: str) -> str:
        (files / "bank.toml").write_text(LAYOUT.format(match=match))
        arguments = [str(files / name) for name in ("books.csv", "bank.csv")]
        command = ["reconcile", *arguments, "--layout", str(files / "bank.toml"), *more]
        return CliRunner(catch_exceptions=False).invoke(app, command).output

    def test_in_the_layout(self, files: Path):
        told = self.run(files, f"match = {self.MATCH}")
        said = "without a common key: 1 by key in narrative, 1 by amount within 3 days alone."
        assert said in " ".join(told.split())
        assert "ambiguous" in told

    def test_beside_it_in_the_rules_for_each_account_by_name(self, files: Path):
        (files / "rules.toml").write_text(f'[match]\n"bank:*" = {self.MATCH}\n')
        told = self.run(files, 'match = [{ on = ["amount"], days = 0 }]', "--rules", str(files / "rules.toml"))
        assert "1 by key in narrative, 1 by amount within 3 days alone." in " ".join(told.split())

    def test_a_note_names_the_accounts_of_rules_that_do_not_exist_and_those_that_do(self, files: Path):
        charges = '[[rule]]\naccount = "Bank"\nexpected = true\n'
        match = f'[match]\n"bank:setlement" = {self.MATCH}\n"bank:*" = {self.MATCH}\n'
        (files / "rules.toml").write_text(charges + match)
        told = " ".join(self.run(files, "", "--rules", str(files / "rules.toml")).split())
        assert "No account here is named bank:setlement or Bank, as a rule says; there are bank:settlement." in told

    def test_by_default_a_statement_without_keys_goes_by_amount_within_two_days_and_says_so(self, files: Path):
        told = " ".join(self.run(files, "").split())
        assert "has no keys, so its rows are matched by amount within 2 days alone: 2 pairs" in told
        declared = " ".join(self.run(files, 'match = [{ on = ["amount"], days = 2 }]').split())
        assert ("has no keys" in declared, "key: 2 by amount within 2 days alone." in declared) == (False, True)

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            ('[{ on = ["amount"] }]', "an amount goes with `days` or `minutes`"),
            ('[{ on = ["colour"], days = 2 }]', "phone, fee, type"),
            ('[{ on = ["amount"], days = -1 }]', "from 0 up"),
            ('[{ on = ["amount"], days = 1 }, { on = ["key"] }]', "a rule by key after another"),
            ('[{ on = ["amount"], hours = 1 }]', "`hours`"),
            ('"amount"', "takes a list, not a text"),
        ],
    )
    def test_what_is_no_rule_is_refused_with_an_example(self, files: Path, wrong: str, why: str):
        told = " ".join(self.run(files, f"match = {wrong}").split())
        assert why in told
        assert 'match = [{ on = ["key"] }, { on = ["amount"], days = 3 }]' in told
        (files / "rules.toml").write_text(f'[match]\n"{ACCOUNT}" = {wrong}\n')
        with pytest.raises(ReconcileRefused) as refused:
            matched([on(0, "a", 1)], [on(0, "b", 1)], rules=files / "rules.toml")
        assert why in str(refused.value)
