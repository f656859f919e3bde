"""Rows of two keys that may be one movement: by the customer's number, by the fields that are asked for, by chance."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir
from datetime import UTC, date, datetime, timedelta
from itertools import combinations, product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.analysis.test_reconcile import ACCOUNT, KINDS, ledger_of, movement, statement_of
from workbench.analysis import files
from workbench.analysis.break_codes import CODES
from workbench.analysis.frames import frame
from workbench.analysis.phone_key import key_from
from workbench.analysis.reconcile import CarryForward, reconcile
from workbench.analysis.reconcile.carry_forward import KEPT
from workbench.analysis.reconcile.suggestions import MOST, suggestions_of
from workbench.analysis.shapes import BREAK, CARRIED, LEDGER_MOVEMENT, PROOF
from workbench.analysis.statements import read_statement
from workbench.cli import app
from workbench.domain.phones import mask_column, phone_hash
from workbench.errors import PhoneKeyRefused

KEY = b"a key that only this test knows."
NATIONAL = st.builds("{}{:08}".format, st.sampled_from("579"), st.integers(0, 10**8 - 1))
FOREIGN = st.builds("{}{:09}".format, st.sampled_from(["254", "255", "27", "263"]), st.integers(10**8, 10**9 - 1))
GAP = st.sampled_from(["", "", "", " ", "-", ".", "\u00a0", "\u202f", "\u2011", "/", ")", "\u202a"])


@st.composite
def spelled(draw: st.DrawFn) -> tuple[str, str]:
    """A number in its international form, and as somebody wrote it."""
    own = draw(st.booleans())
    digits = draw(NATIONAL if own else FOREIGN)
    prefix = draw(st.sampled_from(["", "0", "260", "+260", "00260", "+260 (0)"] if own else ["", "+", "00"]))
    gaps = draw(st.lists(GAP, min_size=len(digits), max_size=len(digits)))
    return f"+260{digits}" if own else f"+{digits}", prefix + "".join(map("".join, zip(gaps, digits, strict=True)))


@pytest.mark.thorough
@settings(max_examples=100)
@given(one=spelled(), other=spelled())
def test_every_spelling_of_a_number_hashes_alike_and_another_number_does_not(
    one: tuple[str, str], other: tuple[str, str]
):
    hashes = [phone_hash(text, KEY) for text in (*one, *other)]
    assert None not in hashes
    assert hashes[0] == hashes[1] != phone_hash(one[1], KEY[::-1])
    assert (hashes[1] == hashes[3]) is (one[0] == other[0])
    masked = mask_column(one[1])
    assert re.fullmatch(r"\+260[0-9]{2}••••[0-9]{3}|\+•{8,9}[0-9]{3}", masked)
    assert (mask_column(masked), phone_hash(masked, KEY)) == (masked, None)


def tables(ledger: list[dict[str, Any]], statement: list[dict[str, Any]]) -> list[pd.DataFrame]:
    """A ledger that tells its balance, with hashes of numbers, and a statement that does not."""
    hashes = pd.array([row.get("phone_hash") for row in ledger], "string")
    return [ledger_of(*ledger).assign(phone_hash=hashes), statement_of(*statement, name="s.csv", opening=None)]


def pairs(found: pd.DataFrame) -> dict[str, str]:
    return dict(zip(found["key"], found["code"], strict=True))


@pytest.mark.parametrize(
    "kind", ["pandas", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("duckdb", "polars"))]
)
def test_a_hash_that_is_given_counts_as_one_that_is_made_and_of_two_keys_none_does(kind: str):
    made, other = key_from(KEY).hash_of("0961234567"), key_from(KEY[::-1]).hash_of("0961234567")
    whole, masked = {"phone": "0961234567"}, {"phone": "+26096••••567"}
    ours = [whole, {**masked, "phone_hash": made}, whole, whole, masked, {**masked, "phone_hash": "their own"}]
    theirs = [{**masked, "phone_hash": made}, {"phone": "096 9999 567"}, masked, {**masked, "phone_hash": other},
              {"phone": "0969999567"}, {**masked, "phone_hash": "their own"}]  # fmt: skip
    sides = zip("az", (ours, theirs), strict=True)
    ledger, statement = tables(
        *([movement(f"{side}{n}", n + 1, **row) for n, row in enumerate(rows)] for side, rows in sides)
    )
    result = reconcile(KINDS[kind](ledger), KINDS[kind](statement), phone_key=KEY)
    alone = {f"{side}{n}": "timing" for side in "az" for n in (1, 3)}
    assert pairs(result.breaks) == alone | {f"z{n}": "wrong_reference" for n in (0, 2, 4, 5)}
    assert [re.findall("^[0-9]+ open rows may", note) for note in result.notes] == [["2 open rows may"]]
    carried = result.carry_forward.rows.set_index("key")
    assert carried.loc[["a0", "a1", "z0", "z2", "z3", "a5"], "phone_hash"].tolist() == [made, made, made, "", other,
                                                                                      "their own"]  # fmt: skip
    assert set(carried["phone"]) == {"+26096••••567"}
    # A table without the column is taken.
    without = ledger.drop(columns="phone_hash"), statement.drop(columns=["phone_hash", "words"])
    old = reconcile(*map(KINDS[kind], without))
    assert pairs(old.breaks)["z4"] == "wrong_reference"


@pytest.mark.thorough
def test_thousands_of_one_customer_and_one_amount_are_ambiguous_at_once():
    rows = [movement(f"{n}", 5, occurred_at=None, phone="0961234567") for n in range(4_000)]
    found = reconcile(*tables([row | {"key": f"a{row['key']}"} for row in rows], rows)).breaks
    assert set(found["code"]) == {"ambiguous"}
    assert (found["reason"].str.count(" and others of the (ledger|statement)") == 2).all()


def opened(*rows: tuple[str, str, int, int], **more: object) -> pd.DataFrame:
    """Open rows: side, key, what it moves, and the day."""
    usual = dict.fromkeys(BREAK) | {"account": ACCOUNT, "code": "timing", "currency": "ZMW", "variance_minor": 0}
    made = [
        usual | {
            "id": f"{side[0]}{n}", "side": side, "key": key, f"{side}_minor": moved, "rows": 1, "line": n,
            "business_date": date(2026, 1, 1) + timedelta(days=day),
        } | more
        for n, (side, key, moved, day) in enumerate(rows)
    ]  # fmt: skip
    return frame(made, BREAK)


def proposed(breaks: pd.DataFrame, kind: str) -> set[str]:
    found = suggestions_of(breaks)
    return set(found.loc[found["kind"] == kind, "breaks"])


def one_slip(one: str, other: str) -> bool:
    """Whether one change, one character more or less, or two adjacent characters swapped, makes one the other."""
    letters = set(one + other)
    cut = [(one[:n], one[n:]) for n in range(len(one) + 1)]
    made = {a + b[1:] for a, b in cut if b} | {a + c + b for a, b in cut for c in letters}
    made |= {a + c + b[1:] for a, b in cut if b for c in letters} | {a + b[1] + b[0] + b[2:] for a, b in cut if b[1:]}
    return one != other and other in made


KEYS = st.lists(st.text("12", min_size=5, max_size=6), min_size=1, max_size=6, unique=True)


def few(pairs: Sequence[tuple[str, str]]) -> set[frozenset[str]]:
    """The pairs of which neither row has more candidates than are proposed."""
    count = Counter(name for both in pairs for name in both)
    return {frozenset(both) for both in pairs if max(count[name] for name in both) <= MOST}


def groups(breaks: pd.DataFrame, kind: str) -> set[frozenset[str]]:
    return {frozenset(each.split("; ")) for each in proposed(breaks, kind)}


class TestSuggestions:
    @settings(max_examples=15)
    @given(ours=KEYS, theirs=KEYS)
    def test_references_one_slip_apart_are_proposed_with_every_candidate(self, ours: list[str], theirs: list[str]):
        rows = [*(("ledger", key, 7, 0) for key in ours), *(("statement", key, 7, 0) for key in theirs)]
        names = {(side, key): f"{side[0]}{n}" for n, (side, key, _, _) in enumerate(rows)}
        fits = [(names["ledger", a], names["statement", b]) for a, b in product(ours, theirs) if one_slip(a, b)]
        assert groups(opened(*rows), "near_reference") == few(fits)

    @settings(max_examples=15)
    @given(st.sampled_from(sorted({*CODES} - {"invalid_row"})), st.integers(0, 6), st.sampled_from("clt"))
    def test_a_planted_slip_is_proposed_whatever_the_code_of_either_row(self, code: str, place: int, slip: str):
        key = "7205413"
        wrong = {"c": key[:place] + "9" + key[place + 1 :], "l": key[:place] + key[place + 1 :],
                 "t": key[:place] + key[place : place + 2][::-1] + key[place + 2 :]}[slip]  # fmt: skip
        breaks = opened(("ledger", key, 5, 0), ("statement", wrong, 5, 3))
        breaks["code"] = pd.Categorical(["timing", code], CODES)
        assert groups(breaks, "near_reference") == ({frozenset({"l0", "s1"})} if wrong != key else set())

    def test_another_amount_direction_or_week_is_another_movement_and_a_decided_break_is_none(self):
        near = [("ledger", "1234567", 5, 0), ("statement", "1243567", 5, 3)]
        assert "are swapped" in suggestions_of(opened(*near))["why"][0]
        for moved, day in ((6, 3), (-5, 3), (5, 4)):
            assert suggestions_of(opened(near[0], ("statement", "1243567", moved, day))).empty
        assert suggestions_of(opened(*near, verdict="accept")).empty
        assert suggestions_of(opened(*near, code="duplicate_in_ledger")).empty
        assert suggestions_of(opened(*near).iloc[:0]).empty
        summed = [("statement", "sweep", 9, 0), ("ledger", "a", 4, 0), ("ledger", "b", 5, 0)]
        assert proposed(opened(*summed), "sum")
        assert suggestions_of(opened(*summed, code="duplicate_in_ledger")).empty

    @pytest.mark.parametrize("side", ["statement", "ledger"])
    def test_a_duplicate_whose_key_is_one_slip_from_a_missing_one_is_proposed_as_that(self, side: str):
        own, typed_wrong = [movement("1234567", 5), movement("1243567", 5)], [movement("1234567", 5)] * 2
        both = tables(typed_wrong, own) if side == "ledger" else tables(own, typed_wrong)
        found = reconcile(*both)
        codes = dict(zip(found.breaks["code"], found.breaks["id"], strict=True))
        assert f"duplicate_in_{side}" in codes
        assert len(codes) == 2
        (row,) = found.suggestions.to_dict("records")
        assert row["kind"] == "near_reference"
        assert set(row["breaks"].split("; ")) == set(codes.values())
        assert row["why"].endswith(f"The {side} has 1234567 in another row too.")

    @pytest.mark.parametrize("theirs", ["1234567", "1234576"])
    def test_a_row_that_cannot_be_read_is_proposed_by_its_key(self, theirs: str):
        found = reconcile(*tables([movement(theirs, 5)], [movement("1234567", 5, problem="Amount: 5.0.0")]))
        (row,) = found.suggestions.to_dict("records")
        assert set(row["breaks"].split("; ")) == set(found.breaks["id"])
        assert "one row cannot be read" in row["why"]

    @settings(max_examples=15)
    @given(target=st.integers(10, 40), parts=st.lists(st.integers(1, 30), min_size=2, max_size=7), both=st.booleans())
    @example(target=10, parts=[10, 3], both=True)
    def test_every_choice_that_makes_up_for_a_row_or_a_difference_is_proposed(
        self, target: int, parts: list[int], *, both: bool
    ):
        rows = [("statement", "credit", target, 2), *(("ledger", f"k{n}", each, 1) for n, each in enumerate(parts))]
        breaks = opened(*rows)
        if both:
            breaks["side"] = pd.Categorical(["both", *breaks["side"][1:]])
            breaks.loc[0, "variance_minor"] = -target
        places = range(len(parts))
        every = (chosen for size in range(1, len(parts) + 1) for chosen in combinations(places, size))
        fits = [frozenset(["s0", *(f"l{n + 1}" for n in chosen)]) for chosen in every
                if sum(parts[n] for n in chosen) == target]  # fmt: skip
        one, several = ([each for each in fits if (len(each) > 2) == is_sum] for is_sum in (False, True))
        assert groups(breaks, "sum") == ({*several} if len(several) <= MOST and not one else set())
        assert groups(breaks, "difference") == ({*one} if both and len(one) <= MOST else set())

    @settings(max_examples=10)
    @given(parts=st.lists(st.integers(10**6, 10**8), min_size=2, max_size=4, unique=True), seed=st.integers(0, 10**6))
    def test_a_planted_sum_is_proposed_among_others(self, parts: list[int], seed: int):
        drawn = Random(seed)  # noqa: S311  a model
        rows = [("statement", "credit", sum(parts), 2), *(("ledger", f"k{n}", each, 1) for n, each in enumerate(parts))]
        rows += [("ledger", f"m{n}", drawn.randint(10**6, 10**8), drawn.choice([0, 1, 2])) for n in range(9)]
        planted = frozenset(["s0", *(f"l{n + 1}" for n in range(len(parts)))])
        found = suggestions_of(opened(*rows))
        made = {frozenset(each.split("; ")) for each in found["breaks"]}
        assert planted in made or "not_searched" in set(found["kind"])

    def test_of_many_rows_whole_days_are_added_up(self):
        day = [("ledger", f"k{n}", 1_000 + n * n, 1) for n in range(30)]
        other = [("ledger", f"m{n}", 2_000 + n * n, 2) for n in range(30)]
        moved, everything = sum(row[2] for row in day), {f"l{n}" for n in range(30)}
        assert groups(opened(*day, *other, ("statement", "sweep", moved, 2)), "sum") == {
            frozenset({"s60", *everything})
        }
        # Two credits of one sum: the rows may be of either.
        two = opened(*day, *(("statement", f"s{n}", moved, 2) for n in range(2)))
        assert groups(two, "sum") == {frozenset({f"s{n}", *everything}) for n in (30, 31)}

    def test_a_key_in_what_the_other_side_says_is_proposed_whatever_the_amounts_and_days(self):
        ours = [("ledger", "INV-2026/71", 500, 0), ("ledger", "PAY-7100012", 4, 0), ("ledger", "INV-2026/7", 1, 0)]
        keys = (("made-1", 510, 9), ("x INV 2026 71", 7, 0), ("7100012", 3, 0))
        rows = [*ours, *(("statement", *each) for each in keys)]
        breaks = opened(*rows)
        breaks["description"] = pd.array([*[None] * 3, "Paid inv 2026 71 thanks", None, None], "string")
        assert groups(breaks, "in_text") == {frozenset(each) for each in (("l0", "s3"), ("l0", "s4"), ("l1", "s5"))}
        why = suggestions_of(breaks).query("kind == 'in_text'")["why"]
        said = "INV-2026/71 of the ledger stands in what the statement says of s3; they move K0.10 apart"
        assert any(each.startswith(said) for each in why), [*why]

    def test_one_amount_on_any_days_is_proposed_where_both_narratives_name_a_number(self):
        sides = {"ledger": ("PV1", "Chq 000451 Pots 12345"), "statement": ("S1", "CHQ 000451 AC 12345")}
        rows = [(side, key, -1_120, 40 * place) for place, (side, (key, _)) in enumerate(sides.items())]
        others = [("statement", f"N{n}", -1_120, n) for n in range(5)] + [("statement", "M", -1_121, 9)]
        breaks = opened(*rows, *others)
        said = [*(text for _, text in sides.values()), *["CHEQUE AC 12345"] * 5, "CHQ 000451"]
        breaks["description"] = pd.array(said, "string")
        assert groups(breaks, "shared_number") == {frozenset({"l0", "s1"})}
        (why,) = suggestions_of(breaks).query("kind == 'shared_number'")["why"]
        assert why == (
            "PV1 of the ledger and S1 of the statement both name 000451; account, direction and net amount are the "
            "same, and the days are 40 apart."
        )
        breaks["description"] = pd.array([said[0].replace("451", "452"), *said[1:]], "string")
        assert not groups(breaks, "shared_number")
        # The digits that a mask leaves of customers' numbers are no number of a payment.
        breaks["description"] = "PAY +26097••••123 26097••••123"
        assert not groups(breaks, "shared_number")

    @pytest.mark.parametrize("verdict", [None, "ignore", "accept", "write_off"])
    def test_a_cheque_that_was_ignored_is_suggested_when_the_bank_pays_it_and_matched(self, verdict: str | None):
        drawn = movement("PV9", 912, direction="out", day=5, description="Cheque 000412 Water")
        paid = movement("S7", 912, direction="out", day=29, description="CHQ 000412")
        ledger, first = tables([drawn, movement("A", 7, day=10)], [movement("A", 7, day=10)])
        ledger = ledger.assign(description=pd.array([drawn["description"], None], "string"))
        later = tables([], [paid, movement("B", 1, day=30)])[1].assign(statement="next.csv")
        (cheque,) = reconcile(ledger, first).breaks["id"]
        day = {"who": "Acct", "when": "2026-02-01", "why": "seen"}
        decided = pd.DataFrame([{"break": cheque, "verdict": verdict or "open", "partner": "", **day}])
        kept = reconcile(ledger, first, decisions=decided).carry_forward
        result = reconcile(ledger, later, carry_forward=kept)
        found = result.suggestions
        if verdict == "write_off":
            assert found.empty, "this money is given up"
            return
        ids = set(result.breaks.loc[result.breaks["key"].isin(["PV9", "S7"]), "id"])
        assert [set(each.split("; ")) for each in found["breaks"]] == [ids]
        so_far = {"ignore": " So far PV9 is ignored.", "accept": " So far PV9 is accepted."}.get(verdict or "", "")
        assert found["why"].item().endswith(f"are 24 apart.{so_far}")
        match = decided.assign(verdict="match", partner="; ".join(ids - {cheque}))
        again = reconcile(ledger, later, carry_forward=kept, decisions=match)
        assert set(again.closed["key"]) == {"PV9", "S7"}
        assert again.suggestions.empty

    @pytest.mark.parametrize(
        ("ours", "theirs", "fits"),
        [
            (("412", None), ("CHQ 000412", None), True), (("CHQ412", None), ("chq 000412", None), True),
            (("PV9", "Chq 412 Pots"), ("S7", "CHEQUE NO. 000412"), True), (("412", None), ("S7", "CHQ000412"), True),
            (("PV412", None), ("CHQ 000412", None), False), (("412", None), ("CHQ 0004120", None), False),
            (("412", None), ("S7", "TILL 412"), False), (("INV 412", None), ("S7", "CHQ 000412"), False),
            (("412", None), ("S7", "CHQ 412.50"), False), (("412", None), ("S7", "CHQ 412."), True),
            (("Chq no 412", None), ("S7", "CHQ 000412"), True),
            (("PV9", "Till 51412"), ("S7", "51412,50 IN ALL"), False),
        ],
    )  # fmt: skip
    def test_a_number_counts_without_its_prefix_and_its_leading_zeros(
        self, ours: tuple[str, str | None], theirs: tuple[str, str | None], *, fits: bool
    ):
        last = movement("Z", 7, day=30)
        ledger, statement = tables(
            *([movement(key, 912, direction="out", day=day, description=text), last]
              for day, (key, text) in ((5, ours), (29, theirs)))
        )  # fmt: skip
        result = reconcile(ledger.assign(description=pd.array([ours[1], None], "string")), statement)
        found = result.suggestions
        assert set(found["kind"]) == ({"shared_number"} if fits else set())
        for row in found.itertuples():
            assert set(row.breaks.split("; ")) == set(result.breaks["id"])
            assert " both name 412; account, direction and net amount are the same" in row.why

    @pytest.mark.parametrize(
        ("theirs", "fits"),
        [
            ([(-65_480, 0)], True), ([(-65_480, 3)], True), ([(-65_480, 4)], False), ([(65_480, 0)], False),
            ([(-64_508, 1)], True), ([(-54_680, 1)], False), ([(-65_480, 0), (-64_508, 0)], False),
        ],
    )  # fmt: skip
    def test_amounts_with_two_swapped_digits_are_proposed_where_no_other_row_fits(
        self, theirs: list[tuple[int, int]], *, fits: bool
    ):
        rows = [("ledger", "PV202", -64_580, 0), ("ledger", "PV203", -100, 0), ("statement", "x", -10, 0)]
        breaks = opened(*rows, *(("statement", f"S{n}", *each) for n, each in enumerate(theirs)))
        for side in ("ledger", "statement"):
            breaks[f"{side}_amount_minor"] = breaks[f"{side}_minor"].abs()
        assert groups(breaks, "swapped_digits") == ({frozenset({"l0", "s3"})} if fits else set())
        assert not fits or suggestions_of(breaks)["why"].str.contains("two adjacent digits that are swapped").any()

    def test_what_an_account_does_not_explain_is_shown_beside_the_rows_that_move_as_much(self):
        breaks = opened(("ledger", "a", 900, 0), ("statement", "b", 900, 30), ("statement", "c", 901, 0))
        proof = frame([dict.fromkeys(PROOF, 0) | {"account": ACCOUNT, "currency": "ZMW", "unexplained_minor": -900,
                                                  "holds": False, "note": ""}], PROOF)  # fmt: skip
        found = suggestions_of(breaks, proof)
        assert found["breaks"].tolist() == ["l0", "s1"]
        assert found["why"].str.startswith("The difference that is not explained, K9.00, is what ").all()

    def test_what_is_not_searched_is_said(self):
        rows = [("statement", "c", 9, 0), ("ledger", "a", 4, 0), ("ledger", "b", 5, 0)] * 2_001
        breaks = opened(*rows)
        breaks["account"] = pd.Series([f"bank:{n // 3}" for n in range(len(rows))], dtype="string")
        found = suggestions_of(breaks)
        assert found["kind"].value_counts().to_dict() == {"sum": 2_000, "not_searched": 1}
        assert (
            found["why"]
            .iloc[-1]
            .startswith("Not every sum was tried or proposed for 4,003 rows: only of the 2,000 largest")
        )

    @pytest.mark.thorough
    @pytest.mark.parametrize("amounts", [1, 30, 10**6])
    def test_ten_thousand_open_rows_take_less_than_a_second(self, amounts: int):
        drawn = Random(1)  # noqa: S311  a model
        rows = [(("ledger", "statement")[n % 2], f"{drawn.choice([n, drawn.randrange(10**9)]):09}",
                 drawn.randint(1, amounts) * 100, drawn.randrange(30)) for n in range(10_000)]  # fmt: skip
        breaks, took = opened(*rows, description="PAY 1234567 TO AIRTEL ZAMBIA"), []
        for _ in range(3):
            begun = process_time()
            suggestions_of(breaks)
            took.append(process_time() - begun)
        assert min(took) < 1

    @pytest.mark.thorough
    @settings(max_examples=4)
    @given(seed=st.integers(0, 10**6))
    def test_no_suggestion_changes_a_figure_and_one_call_takes_it(self, seed: int):
        drawn = Random(seed)  # noqa: S311  a model
        key, parts = f"{drawn.randrange(10**6, 10**7)}", [drawn.randint(100, 999), drawn.randint(1_000, 9_999)]
        wrong = key[:3] + key[4:]
        ours = [movement(key, 77), *(movement(f"part{n}", each) for n, each in enumerate(parts))]
        both = tables(ours, [movement(wrong, 77), movement("SWEEP", sum(parts))])
        with TemporaryDirectory() as folder:
            bare, result, path = reconcile(*both), reconcile(*both), Path(folder) / "decisions.csv"
            kinds = dict(zip(result.suggestions["kind"], result.suggestions["breaks"], strict=True))
            assert set(kinds) == {"near_reference", "sum"}
            for name in ("breaks", "proof", "summary", "ageing"):
                pd.testing.assert_frame_equal(getattr(bare, name), getattr(result, name))
            table = result.decide(path, who="Ann")
            for ids in kinds.values():
                table.decide(ids, "match", why="seen on the slip")
            after = reconcile(*both, decisions=path)
        assert (len(after.breaks), len(after.closed)) == (0, 5)
        pd.testing.assert_frame_equal(after.proof, bare.proof)


HEADER = "Id,Date,Status,Type,From,To,Amount,Fee,Balance"
WHOLE = ("0961234567", "+260 96 999 9567", "0961111999", "0962222999")
Row = tuple[str, datetime, int, str]


class Book:
    """A folder with a ledger and a statement of each of two periods, in which rows near the close have other keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        close = datetime(2026, 1, 31, 21, 55, tzinfo=UTC)
        same, other, alike = (("1000001", close - timedelta(days=9), 100, WHOLE[0]), ("2000002", close, 50, WHOLE[1]),
                              ("2000003", close, 70, WHOLE[2]))  # fmt: skip
        later = close + timedelta(minutes=9)
        new = [("9000008", later, 50, WHOLE[1]), ("9000009", later, 70, WHOLE[3]), ("3000001", later, 9, WHOLE[0])]
        self.write("jan", [same], [same, other, alike])
        self.write("feb", [same, *new], [new[2]])

    def write(self, name: str, ledger: list[Row], statement: list[Row]) -> None:
        booked = [
            movement(key, kwacha * 100, occurred_at=at, business_date=(at + timedelta(hours=2)).date(), phone=phone)
            for key, at, kwacha, phone in ledger
        ]
        files.write(tables(booked, [])[0][list(LEDGER_MOVEMENT)], self.folder / f"{name}.parquet", LEDGER_MOVEMENT)
        local = (
            (key, f"{at + timedelta(hours=2):%d-%b-%Y %H:%M:%S}", kwacha, phone) for key, at, kwacha, phone in statement
        )
        rows = (
            f"{key},{at},Successful,Payment,FRI:{phone}/MSISDN,FRI:shop/USER,{kwacha}.00,0,"
            for key, at, kwacha, phone in local
        )
        (self.folder / f"{name}.csv").write_text("\n".join([HEADER, *rows]), "utf-8")

    def run(self, name: str, *options: str) -> Result:
        with chdir(self.folder):
            command = ["reconcile", f"{name}.parquet", f"{name}.csv", *options]
            return CliRunner(catch_exceptions=False).invoke(app, command)

    def partners(self, *options: str) -> tuple[str, set[str]]:
        """What the second period prints, and the keys that it finds partners for."""
        done = self.run("feb", *options, "--out", "b.csv", "--carry-to", "last")
        with chdir(self.folder):
            found = pd.read_csv("b.csv", dtype=str)
        assert done.exit_code == 1
        return done.output, set(found.loc[found["code"] == "wrong_reference", "key"])

    def partners_of(self, kept: str, key: str, *, reads: bool = True) -> tuple[str, set[str]]:
        """The same in Python; a key that is not there is made by whatever `reads` with it first."""
        carried = CarryForward(
            **{name: files.read(self.folder / kept / f"{name}.parquet", KEPT[name]) for name in KEPT}
        )
        told = read_statement(self.folder / "feb.csv", phone_key=self.folder / key if reads else None)
        more = {"carry_forward": carried, "phone_key": self.folder / key}
        result = reconcile(self.folder / "feb.parquet", told, **more)
        found = result.breaks
        return " ".join(result.notes), set(found.loc[found["code"] == "wrong_reference", "key"])


@pytest.mark.thorough
def test_what_is_carried_pairs_by_the_whole_number_under_the_books_key_alone(tmp_path: Path):
    book = Book(tmp_path)
    first, bare = (book.run("jan", "--carry-to", to, *key) for to, *key in (("kept", "--phone-key", "key"), ("bare",)))
    key = tmp_path / "key"
    assert "\nkey did not exist; it is a new key for customers' numbers. Give it in every later run.\n" in first.output
    mistyped = book.run("feb", "--carry-forward", "kept", "--phone-key", "kee")
    assert mistyped.exit_code == 2
    assert "There is no key kee, and 2 numbers brought forward are hashed under the key " in mistyped.output
    with pytest.raises(PhoneKeyRefused, match="There is no key"):
        book.partners_of("kept", "kee", reads=False)
    assert not (tmp_path / "kee").exists()
    assert "without a hash" not in first.output
    assert key.stat().st_mode & 0o777 == 0o600
    assert "The next run cannot compare the customers' numbers of 2 open rows." in bare.output
    assert files.read(tmp_path / "bare" / "rows.parquet", CARRIED)["phone_hash"].isna().all()
    secret = key.read_text("ascii")
    said, found = book.partners("--carry-forward", "kept", "--phone-key", "key")
    # The same number pairs, and one that only looks like it does not: nothing is to be said of that.
    assert (found, "hash" in said, key.read_text("ascii")) == ({"2000002"}, False, secret)
    written = [said.encode(), *(each.read_bytes() for each in sorted(tmp_path.rglob("*")) if each.suffix == ".csv")]
    written = [text for text in written if not text.startswith(HEADER.encode())]
    written += [files.read(each, CARRIED).to_csv().encode() for each in sorted(tmp_path.glob("*/rows.parquet"))]
    assert len(written) >= 5
    national = [number.replace(" ", "")[-9:].encode() for number in WHOLE]
    assert [
        each for text in written for each in (*national, secret.strip().encode()) if each in re.sub(rb"[ -]", b"", text)
    ] == []
    said, found = book.partners_of("kept", "another")
    assert (found, said.count("numbers of 2 rows brought forward cannot be compared: another key")) == (set(), 1)
    said, found = book.partners_of("bare", "key")
    assert (found, said.count("4 open rows may match by the customer's number")) == (set(), 1)


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text, "ascii")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda at: write(at / "k", "0" * 64, 0o640), "its mode is 0640. chmod 600"),
        (lambda at: write(at / "k", "\n"), "is empty"),
        (lambda at: write(at / "k", "0" * 31), "has 31 bytes"),
        (lambda at: write(at / "k", "0" * 5_000), "is not a key file"),
        (lambda at: at, "Is a directory"),
        (lambda at: at / "nowhere" / "k", "No such file"),
        (lambda at: os.mkfifo(at / "k", 0o600) or at / "k", "is not a key file"),
        (lambda _: b"short", "has 5 bytes"),
        (lambda _: 7, "not a int"),
    ],
)
def test_a_key_that_is_none_or_that_others_can_read_is_refused(make: Any, said: str, tmp_path: Path):  # noqa: ANN401  a path or not
    with pytest.raises(PhoneKeyRefused, match=re.escape(said)):
        key_from(make(tmp_path))


def test_a_key_is_made_once_and_does_not_lie_with_what_is_carried(tmp_path: Path):
    made = [key_from(tmp_path / name) for name in ("one", "one", "other")]
    assert [each.id for each in made].count(made[0].id) == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "other"]
    assert (tmp_path / "one").read_text("ascii").strip() not in repr(made) + str(vars(made[0]).keys())
    done = Book(tmp_path).run("jan", "--carry-to", "kept", "--phone-key", "kept/../kept/key")
    assert (done.exit_code, "keep the key elsewhere" in done.output) == (2, True)
    assert not (tmp_path / "kept").exists()
