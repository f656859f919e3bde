"""What closes: matched, written off and booked, accepted and booked later; and what stays, with its age."""

import csv
import re
from contextlib import chdir
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from tests.analysis.test_matching import FIRST, on
from tests.analysis.test_partners import tables
from tests.analysis.test_reconcile import ACCOUNT, file_of
from workbench import read_ledger, resources
from workbench.analysis import files
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.shapes import BREAK, CARRIED, DECIDED, LEDGER_MOVEMENT, STATEMENT_ROW
from workbench.analysis.statements import Statement
from workbench.cli import app
from workbench.errors import ReconcileRefused

Row = dict[str, Any]
MONTHS = (date(2026, 1, 31), date(2026, 2, 28), date(2026, 3, 31))
BOOKED = [
    [on(1, "K1", 100), on(2, "K2", 200), on(3, "A", 500), on(4, "W", 70), on(30, "E1", 1)],
    # In February somebody books what was found, on the day on which it was found, and reverses what was written off.
    [on(40, "R", 30), on(41, "W", 70, direction="out"), on(42, "N", 9), on(58, "E2", 1)],
    [on(70, "U", 45), on(89, "E3", 1)],
]
TOLD = [
    [on(1, "K1", 100), on(2, "K2", 250), on(3, "B", 500), on(5, "R", 30), on(6, "U", 45), on(30, "E1", 1)],
    [on(42, "N", 9), on(58, "E2", 1)],
    [on(89, "E3", 1)],
]


def written(month: int) -> None:
    """The ledger so far, and the statement of a month."""
    ours = [row for rows in BOOKED[: month + 1] for row in rows]
    told = [{**row, "statement": f"{month}.csv", "line": line} for line, row in enumerate(TOLD[month], 2)]
    ledger, statement = tables(ours, told)
    files.write(ledger, Path("l.parquet"), LEDGER_MOVEMENT)
    files.write(statement, Path(f"{month}.parquet"), STATEMENT_ROW)


def run(month: int, *options: str) -> tuple[Result, pd.DataFrame, pd.DataFrame]:
    """What the command says, the breaks that it writes and the rows that it carries forward."""
    written(month)
    brought = ["--carry-forward", f"kept{month - 1}"] if month else []
    asked = ["--as-of", str(MONTHS[month]), "--carry-to", f"kept{month}", "--out", "b.parquet", *brought, *options]
    done = CliRunner(catch_exceptions=False).invoke(app, ["reconcile", "l.parquet", f"{month}.parquet", *asked])
    return done, files.read(Path("b.parquet"), BREAK), files.read(Path(f"kept{month}/rows.parquet"), CARRIED)


@pytest.mark.thorough
def test_over_three_months_what_is_decided_to_zero_closes_and_what_is_not_stays(tmp_path: Path):
    with chdir(tmp_path):
        _, first, _ = run(0)
        found = dict(zip(first["key"], first["id"], strict=True))
        verdicts = [("A", "match", found["B"]), ("W", "write_off", ""), ("R", "accept", ""), ("K2", "accept", "")]
        rows = [(found[key], *more, "Ann", "2026-02-01", f"{key} seen") for key, *more in verdicts]
        pd.DataFrame(rows, columns=list(DECIDED)[:6]).to_csv("decisions.csv", index=False)
        decided, breaks, kept = run(0, "--decisions", "decisions.csv")
        second, later, left = run(1)
        third, last, rest = run(2)
    assert set(first["key"]) == {"A", "B", "W", "R", "U", "K2"}
    assert set(breaks["key"]) == set(kept["key"]) == {"W", "R", "U", "K2"}
    assert decided.output.count("matched by Ann: A seen") == 2
    # Of eleven rows nine are looked at: K1 and E1 agree, and what was matched is counted nowhere.
    assert rates(decided) == "44.44 %"
    assert set(later["key"]) == set(left["key"]) == {"U", "K2"}
    assert "date_mismatch" not in second.output
    assert "written off by Ann: W seen" in second.output
    assert "accepted by Ann: R seen" in second.output
    assert rates(second) == "100.00 %", "of this month's rows"
    assert dict(zip(last["key"], last["age_days"], strict=True)) == {"K2": (MONTHS[2] - FIRST).days - 2}
    assert set(rest["key"]) == {"K2"}
    assert last["since_date"].tolist() == [FIRST + timedelta(days=30)]
    assert "matched by key" in third.output
    assert "Closed in this period" in third.output
    for done in (decided, second, third):
        assert "The proof holds to the last ngwee" in done.output
    assert [each.exit_code for each in (decided, second, third)] == [1, 1, 0]


def month(ours: list[Row], told: list[Row], *verdicts: tuple[str, ...], **more: Any) -> Reconciliation:  # noqa: ANN401  settings
    """One period of books that tell their balance, with decisions of break, verdict and perhaps partner."""
    ledger, statement = tables(ours, [{**row, "line": line} for line, row in enumerate(told, 2)])
    rows = [(*(*each, "")[:3], "Ann", "2026-03-01", "seen") for each in verdicts]
    decisions = pd.DataFrame(rows, columns=list(DECIDED)[:6]) if rows else None
    return reconcile(ledger, statement, decisions=decisions, **more)


def test_a_duplicate_after_the_close_that_the_next_ledger_lacks_is_gone():
    """It stood in no balance, so no balance keeps it, and no break."""
    ours = [on(1, "E1", 1), on(30, "A", 50)]
    first = month([*ours, on(31, "A", 50)], ours)
    assert first.breaks.empty
    booked = [*ours, on(58, "E2", 1, entry="je_9", number=9)]
    second = month(booked, [on(58, "E2", 1)], carry_forward=first.carry_forward)
    assert second.breaks.empty
    assert second.proof["difference_minor"].tolist() == [0]
    assert second.proof["holds"].all()


def test_an_account_stays_in_the_currency_of_its_earlier_close():
    foreign = [on(40, "U1", 5, currency="USD"), on(41, "U2", 5, currency="USD")]
    first = month([on(1, "A", 50)], [on(1, "A", 50)])
    second = month([on(1, "A", 50), on(58, "E2", 1)], [*foreign, on(58, "E2", 1)], carry_forward=first.carry_forward)
    assert second.proof["currency"].tolist() == ["ZMW"]
    assert second.breaks["key"].tolist() == ["U1", "U2"]
    assert second.proof["difference_minor"].tolist() == [0]


def test_two_unusable_lines_with_different_balances_are_two():
    odd = [on(29, None, 4, problem="unreadable", balance_minor=many) for many in (54, 58)]
    ledger, statement = tables(
        [on(1, "A", 50)],
        [{**row, "statement": name, "line": 3} for name, row in zip(("1.csv", "2.csv"), odd, strict=True)],
    )  # fmt: skip
    assert reconcile(ledger, statement).breaks["code"].tolist().count("invalid_row") == len(odd)


@pytest.mark.thorough
def test_what_is_booked_under_another_key_closes_once_it_is_matched_and_only_its_own_period_can_take_that_back(
    tmp_path: Path,
):
    ours, booked = BOOKED[0][:1] + BOOKED[0][-1:], [on(45, "JV77", 30), on(58, "E2", 1)]
    told = [TOLD[0][0], on(5, "R", 30), TOLD[0][-1]]
    found = month(ours, told).breaks.set_index("key")["id"]
    first = month(ours, told, (found["R"], "accept")).carry_forward
    second = partial(month, [*ours, *booked], booked[1:], carry_forward=first)
    waiting = second().breaks
    entry = waiting.set_index("key")["id"]["JV77"]
    assert waiting["key"].tolist() == ["R", "JV77"], "no rule knows that they are one"
    done = second((entry, "match", found["R"]))
    assert done.breaks.empty
    assert set(done.closed["key"]) == {"R", "JV77"}
    assert done.carry_forward.rows.empty
    assert done.proof["holds"].all()
    third, fourth = (
        partial(month, [*ours, *booked, on(89, "E3", 1), *more], [*more, on(89, "E3", 1)][:1])
        for more in ([], [on(119, "E4", 1)])
    )
    left = done.carry_forward, third(carry_forward=done.carry_forward).carry_forward
    for later, carried in zip((third, fourth), left, strict=True):
        carried.save(tmp_path / "kept")
        with pytest.raises(
            ReconcileRefused, match=f"{found['R']} cannot be open again: the match of 2026-03-01 by Ann"
        ):
            later((found["R"], "open"), carry_forward=tmp_path / "kept")
    again = second((found["R"], "open"))
    assert again.breaks["verdict"].isna().all(), "in its own period"
    assert len(third(carry_forward=again.carry_forward).breaks) == 2


def test_a_match_that_replaces_an_earlier_one_names_what_is_open_again_and_how_to_match_all():
    ours, told = (
        [on(1, "RV104", 1_000), on(30, "E1", 1)],
        [on(2, "FT88", 964, description="EFT MULENGA"), on(30, "E1", 1)],
    )
    found = month(ours, told).breaks.set_index("key")["id"]
    first = month(ours, told, (found["RV104"], "match", found["FT88"]))
    assert not any("replaces" in note for note in first.notes)
    booked = [on(40, "JV12", 36, direction="out"), on(58, "E2", 1)]
    second = partial(month, [*ours, *booked], booked[1:], carry_forward=first.carry_forward)
    journal = second().breaks.set_index("key")["id"]["JV12"]
    torn = second((found["RV104"], "match", journal))
    assert set(torn.breaks.query("verdict.isna()")["key"]) == {"FT88"}
    (note,) = [note for note in torn.notes if "replaces" in note]
    ids = " and ".join((found["RV104"], found["FT88"]))
    assert f"by Ann replaces the match of {ids} by Ann (2026-03-01: seen), so {found['FT88']} (EFT MULENGA) is" in note
    row = note.rpartition(": ")[2].split(",")
    assert row == [found["RV104"], "match", f"{journal}; {found['FT88']}"]
    for verdict in (tuple(row), (found["RV104"], "match", f"{journal} {found['FT88']}")):
        done = second(verdict)
        assert done.breaks.empty
        assert not any("replaces" in note for note in done.notes)
    # The product's own file has the earlier match, which the larger one replaces.
    earlier = (found["FT88"], "match", found["RV104"])
    assert second(earlier, tuple(row)).breaks.empty
    with pytest.raises(ReconcileRefused, match=r"is decided twice.*; empty the verdict that no longer holds"):
        second(earlier, (found["RV104"], "match", journal))
    alone = second((found["RV104"], "accept"))
    assert [note.endswith("(EFT MULENGA) is open again.") for note in alone.notes if "replaces" in note] == [True]
    assert not any("replaces" in note for note in second((found["RV104"], "open")).notes), "that is asked for"


def test_the_terminal_counts_all_breaks_shows_what_differs_in_one_net_amount_and_names_a_booking_by_its_reference():
    ours, told = [on(1, "K1", 5), on(2, "X", 7330), on(30, "E1", 1)], [on(1, "K1", 5), on(2, "X", 7404, fee_minor=74)]
    first = month(ours, [*told, on(3, None, 5), on(30, "E1", 1)])
    assert first.headline.startswith("2 breaks to settle.")
    text = repr(first)
    assert "1 of 2 breaks to settle, by what to do" in text
    assert "1 row that cannot be used is listed apart" in text
    assert "+73.30 ≠ +74.04 less fee 0.74 ZMW" in text
    missing = month(ours[::2], [*told, on(30, "E1", 1)])
    (line,) = [line for line in repr(missing).splitlines() if line.startswith("missing_in_ledger  ")]
    assert line.split()[3:6] == ["0.00", "73.30", "-73.30"]
    late = [on(20, "made-9168", 9), on(58, "E2", 1)]
    second = month([*ours, *late], late[1:], carry_forward=first.carry_forward)
    assert any(note.endswith("read now: made-9168 of 2026-01-21.") for note in second.notes), second.notes


MOVED, OWES = {"fee_minor": 74}, {"phone": "+260961234567"}
TO_BOOK = {
    "missing": ([], [on(2, "X", 7404, **MOVED)]),
    "paid": ([], [on(2, "X", 7404, direction="out", **MOVED)]),
    "a charge with a fee": ([], [on(2, "X", 100, direction="out", type="fee", **MOVED)]),
    "a fee that takes all": ([], [on(2, "X", 74, **MOVED)]),
    "on the statement twice": ([on(2, "X", 7404, **MOVED)], [on(2, "X", 7404, **MOVED)] * 2),
    "booked twice": ([on(2, "X", 7404, **MOVED)] * 2, [on(2, "X", 7404, **MOVED)]),
    "failed there": ([on(2, "X", 7404, **MOVED)], [on(2, "X", 7404, status="failed", **MOVED)]),
    "failed here": ([on(2, "X", 7404, status="failed", **MOVED)], [on(2, "X", 7404, **MOVED)]),
    "direction": ([on(2, "X", 7404, **MOVED)], [on(2, "X", 7404, direction="out", **MOVED)]),
    "amount and fee": ([on(2, "X", 7404, **MOVED)], [on(2, "X", 7500, fee_minor=75)]),
    "one net amount": ([on(2, "X", 7330)], [on(2, "X", 7404, **MOVED)]),
    "fee": ([on(2, "X", 7404)], [on(2, "X", 7404, **MOVED)]),
    "another reference": ([on(2, "X", 7404, **MOVED, **OWES)], [on(2, "Y", 7404, **MOVED, **OWES)]),
    "another reference and fee": ([on(2, "X", 7404, **OWES)], [on(2, "Y", 7404, **MOVED, **OWES)]),
    "a batch": ([on(2, "X", 100, batch="B"), on(2, "Z", 200, batch="B")], [on(2, "B", 290, fee_minor=5)]),
    "a batch there": ([], [on(2, "X", 100, batch="B", **MOVED), on(2, "Z", 200, batch="B")]),
    "reversal": ([], [on(2, "R", 5, direction="out", fee_minor=1, type="reversal", related="K1")]),
    "payout": ([on(2, "P", 100, direction="out", kind="payout_paid", **MOVED)], []),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", TO_BOOK)
def test_what_the_journal_books_leaves_nothing_open_in_its_own_period_and_in_the_next(case: str):
    key = {"phone_key": b"a key that only this test knows."}
    ours, told = ([on(1, "K1", 5), *rows, on(30, "E1", 1)] for rows in TO_BOOK[case])
    (name,) = month(ours, told, **key).breaks["id"]
    for verdict in ("accept", "write_off"):
        done = month(ours, told, (name, verdict), **key)
        lines = done.journal()
        assert lines["debit_minor"].sum() == lines["credit_minor"].sum()
        mine = lines[lines["account"] == done.proof["account"].item()].to_dict("records")
        dated, later = (
            [
                on(day or (line["date"] - FIRST).days, line["reference"], line["debit_minor"] or line["credit_minor"],
                   direction="in" if line["debit_minor"] else "out")
                for line in mine
            ] for day in (None, 45)
        )  # fmt: skip
        rest = on(58, "E2", 1)
        runs = [month([*ours, *dated], told, **key)]
        runs += [
            month([*ours, *booked, rest], [rest], carry_forward=done.carry_forward, **key) for booked in (dated, later)
        ]
        for again in runs:
            assert again.breaks.empty
            assert again.proof[["difference_minor", "unexplained_minor"]].to_numpy().tolist() == [[0, 0]]
            assert again.proof["holds"].all()


@pytest.mark.parametrize("form", ["quickbooks", "xero", "sage"])
def test_by_the_guides_patterns_the_next_run_finds_what_a_program_exports_of_the_journal(form: str, tmp_path: Path):
    patterns = re.findall(r"`(key_pattern = .+)`", resources.guide_paths()["reconcile"].read_text("utf-8"))
    pattern = dict(zip(["quickbooks", "xero"], patterns, strict=True)).get(form, "")
    (tmp_path / "books.toml").write_text(
        f'dates = ["%d/%m/%Y"]\naccount = "{ACCOUNT}"\n{pattern}\n[columns]\nkey = "Num"\nmoment = "Date"\n'
        'description = "Memo"\namount = "Amount"\n'
    )
    told = [on(1, "K1", 500), on(2, "K2", 7404), on(3, "K3", 35, direction="out", type="fee"), on(30, "E1", 1)]
    _, statement = tables([], [{**row, "line": line} for line, row in enumerate(told, 2)])
    exported = ["Date,Num,Memo,Amount", "02/01/2026,K1,Fern,5.00", "31/01/2026,E1,Fern,0.01"]

    def run(decisions: pd.DataFrame | None = None) -> Reconciliation:
        (tmp_path / "books.csv").write_text("\n".join(exported))
        ledger = read_ledger(tmp_path / "books.csv", layout=tmp_path / "books.toml")
        return reconcile(ledger, statement, decisions=decisions)

    names = run().breaks["id"]
    verdicts = zip(names, ("accept", "write_off"), strict=True)
    decisions = [(name, verdict, "", "Ann", "2026-02-01", "seen") for name, verdict in verdicts]
    run(pd.DataFrame(decisions, columns=list(DECIDED)[:6])).journal(tmp_path / "journal.csv", form)
    for line in csv.DictReader((tmp_path / "journal.csv").read_text("utf-8").splitlines()):
        if ACCOUNT not in line.values():
            continue
        if form == "quickbooks":
            cells = (
                line["Journal Date"],
                line["Journal No."],
                line["Description"],
                line["Debits"] or f"-{line['Credits']}",
            )
        elif form == "xero":
            cells = line["*Date"], "", f"{line['*Narration']} - {line['Description']}", line["*Amount"]
        else:
            sign = "" if line["Type"] == "JD" else "-"
            cells = line["Date"], line["Reference"], line["Details"], f"{sign}{line['Net Amount']}"
        exported.append(",".join(cells))
    assert len(exported) == 5
    assert run().breaks.empty


def test_a_forgotten_carry_forward_is_asked_for():
    ours, told = [on(1, "K1", 5), on(30, "E1", 1)], [on(1, "K1", 5), on(30, "E1", 1)]
    first, later = month(ours, told), [on(58, "E2", 1)]
    asked = "begins before the statement, and the opening balances differ. Was an earlier period saved?"
    for settings, is_asked in (({}, True), ({"carry_forward": first.carry_forward}, False)):
        statement = tables([], [{**row, "line": 2, "balance_minor": 7} for row in later])[1]
        result = reconcile(tables([*ours, *later], [])[0], statement, **settings)
        assert any(asked in note and "--carry-forward FOLDER" in note for note in result.notes) == is_asked
    assert not any(asked in note for note in first.notes)


def test_a_reviewed_period_that_is_saved_over_is_said_and_a_later_period_is_not(tmp_path: Path):
    with chdir(tmp_path):
        _, first, _ = run(0)
        rows = [(each, "accept", "", "Ann", "2026-02-01", "seen") for each in first["id"][:2]]
        pd.DataFrame(rows, columns=list(DECIDED)[:6]).to_csv("decisions.csv", index=False)
        given = ("--decisions", "decisions.csv")
        signed = run(0, *given, "--reviewed-by", "Ben")[0]
        assert "overwritten" not in signed.output
        run(1)
        assert "overwritten" not in run(1, "--carry-to", "kept0")[0].output, "the folder goes on to the next month"
        run(0, *given, "--reviewed-by", "Ben")
        held = "kept0 held a period with 2 decisions, reviewed by Ben, and is overwritten by this run with"
        assert f"{held} 2 decisions, not reviewed. To keep them, run again with --decisions" in run(0, *given)[0].stderr
        run(0, *given, "--reviewed-by", "Ben")
        assert f"{held} 0 decisions, reviewed by Eve." in run(0, "--reviewed-by", "Eve")[0].stderr


@pytest.mark.thorough
def test_what_adds_up_closes_and_nothing_else_does_and_each_line_says_what_it_was():
    pairs = {"in": (10, 10), "out": (20, 20), "apart": (30, 31)}
    ours, told = [on(1, "K1", 5)], [on(1, "K1", 5)]
    for name, (our, their) in pairs.items():
        way = {"direction": "out"} if name == "out" else {}
        ours.append(on(2, f"{name} L", our, **way))
        told.append(on(2, f"{name} S", their, **way))
    ours, told = [*ours, on(3, "D", 7)], [*told, on(9, "D", 7)]
    found = month(ours, told).breaks.set_index("key")["id"]
    verdicts = [(found[f"{name} L"], "match", found[f"{name} S"]) for name in pairs]
    ignored, accepted = (month(ours, told, *verdicts, (found["D"], verdict)) for verdict in ("ignore", "accept"))
    assert set(ignored.breaks["key"]) == {"apart L", "apart S", "D"}
    assert set(accepted.breaks["key"]) == {"apart L", "apart S"}
    assert accepted.closed.set_index("key")["variance_minor"].to_dict() == {
        "in L": 10, "in S": -10, "out L": -20, "out S": 20, "D": 0,
    }  # fmt: skip


@pytest.mark.thorough
def test_open_rows_that_meet_their_other_part_close_with_what_they_moved():
    last, waits = on(30, "E1", 1), [on(2, "F", 9, fee_minor=2), on(3, "P", 20, direction="out")]
    first = month([last], [*waits, last])
    later = [on(40, "F", 9, fee_minor=2), on(41, "P", 20, direction="out"), on(58, "E2", 1)]
    second = month([last, *later], later[-1:], carry_forward=first.carry_forward)
    assert second.closed.set_index("key")["variance_minor"].to_dict() == {"F": -7, "P": 20}
    assert set(second.closed["rule"]) == {"key"}
    (aside,) = second.aside.to_dict("records")
    assert (aside["matched_rows"], aside["matched_value"]) == (2, 27)


@pytest.mark.thorough
def test_a_line_that_people_matched_is_known_when_another_file_tells_it_again(tmp_path: Path):
    """And a second one like it is not: only what was told then is known."""
    ours, told = [on(1, "A", 50), on(30, "E1", 1)], [on(3, "made-b", 50), on(30, "E1", 1)]
    found = month(ours, told).breaks.set_index("key")["id"]
    month(ours, told, (found["A"], "match", found["made-b"])).carry_forward.save(tmp_path / "kept")
    later = partial(month, [*ours, on(58, "E2", 1)], carry_forward=tmp_path / "kept")
    with pytest.raises(ReconcileRefused, match="already reconciled"):
        later([told[0], on(58, "E2", 1)])
    again = later([told[0], on(58, "E2", 1)], skip_settled=True)
    assert again.breaks.empty
    assert again.proof["holds"].all()
    assert again.told_again == 1
    twice = later([told[0], told[0], on(58, "E2", 1)], skip_settled=True)
    assert twice.breaks["key"].tolist() == ["made-b"]
    (tmp_path / "kept" / "told.parquet").unlink()
    assert later([told[0], on(58, "E2", 1)]).breaks["key"].tolist() == ["made-b"], "an earlier version kept none"


def rates(done: Result) -> str:
    """The share of the rows that matched, as the table of accounts shows it."""
    return next(line for line in done.output.splitlines() if " %  " in line).partition(" %")[0].split()[-1] + " %"


ODD = [on(29, "odd", 9, problem="unreadable"), on(29, None, 4), on(30, "unpriced", None)]


def only_lacks_an_amount(result: Reconciliation) -> None:
    """Nothing is left unexplained, and still nothing holds, since a row has no amount and no file a closing balance."""
    assert not result.proof[["unexplained_minor", "opening_minor"]].to_numpy().any()
    assert not result.proof["holds"].any()
    assert result.proof["note"].str.contains("without an amount that can be read").all()


def test_a_line_that_cannot_be_used_counts_once_when_the_next_file_tells_it_again():
    ours, told = [on(1, "A", 50), on(58, "E2", 1)], [on(1, "A", 50), *ODD, on(58, "E2", 1)]
    first = month(ours[:1], told[:-1])
    later = month(ours, [*ODD, on(58, "E2", 1)], carry_forward=first.carry_forward, skip_settled=True)
    ledger, statement = tables(
        ours, [{**row, "statement": name, "line": line} for name, rows in (("1.csv", told[:-1]), ("2.csv", told[1:]))
               for line, row in enumerate(rows, 2)],
    )  # fmt: skip
    for result in (later, reconcile(ledger, statement)):
        assert result.breaks["code"].tolist() == ["invalid_row"] * len(ODD)
        assert set(result.breaks["id"]) == set(first.breaks["id"])
        assert result.told_again == len(ODD)
        only_lacks_an_amount(result)
    twice = month(ours, [*ODD, *ODD, on(58, "E2", 1)], carry_forward=first.carry_forward)
    assert len(twice.breaks) == 2 * len(ODD), "a file that has them twice means two of each"


def test_a_line_that_cannot_be_used_is_known_when_people_matched_it():
    ours, told = [on(1, "L", 9), on(2, "A", 50)], [on(2, "A", 50), *ODD]
    found = month(ours, told).breaks.set_index("key")["id"]
    first = month(ours, told, (found["L"], "match", found["odd"]))
    later = partial(month, [*ours, on(58, "E2", 1)], [*ODD, on(58, "E2", 1)], carry_forward=first.carry_forward)
    with pytest.raises(ReconcileRefused, match=r"s\.csv, 1 line from line 2"):
        later()
    second = later(skip_settled=True)
    assert set(second.breaks["id"]) == set(first.breaks["id"])
    assert second.told_again == len(ODD)
    only_lacks_an_amount(second)


def test_whoever_decided_what_closes_in_a_later_period_is_named_at_its_end():
    ours, told = [on(1, "A", 50), on(30, "E1", 1)], [on(1, "A", 50), on(5, "R", 30), on(30, "E1", 1)]
    (found,) = month(ours, told).breaks["id"]
    first = month(ours, told, (found, "accept"))
    booked = [on(45, "R", 30), on(58, "E2", 1)]
    second = month([*ours, *booked], booked[1:], carry_forward=first.carry_forward)
    assert second.closed["who"].tolist() == ["Ann"]
    for result in (first, second):
        assert result.sign_off.startswith("Decided by Ann (1 accepted); last on 2026-03-01.")
    third = month([*ours, *booked, on(89, "E3", 1)], [on(89, "E3", 1)], carry_forward=second.carry_forward)
    assert third.sign_off.startswith("No break has been decided.")


def test_a_line_that_was_settled_with_another_amount_is_named():
    ours = [on(3, "A", 40_000), on(30, "E1", 1)]
    first = month(ours, ours)
    again = month([*ours, on(58, "E2", 1)], [on(3, "A", 41_000), on(58, "E2", 1)], carry_forward=first.carry_forward)
    assert again.breaks["key"].tolist() == ["A"]
    (note,) = [note for note in again.notes if "A is closed in the books" in note]
    assert "at K400.00 net" in note
    assert "now has it at K410.00 net" in note


REVERSED = [on(1, "E1", 1), on(30, "A", 50), on(30, "E2", 1), on(31, "A", 50, direction="out"), on(58, "E3", 1)]


@pytest.mark.parametrize(
    ("told", "open_keys"),
    [([1, 3], []), ([], []), ([1], [("A", "missing_in_statement", -50)]), ([3], [("A", "missing_in_statement", 50)])],
    ids=["both", "neither", "the payment", "the reversal"],
)
def test_a_payment_and_its_reversal_after_the_close_belong_to_two_periods(
    told: list[int], open_keys: list[tuple[str, str, int]]
):
    lines = [{**REVERSED[place], "business_date": FIRST + timedelta(days=31)} for place in told]
    first = month(REVERSED[:-1], [REVERSED[0], REVERSED[2]])
    assert first.breaks[["key", "code", "variance_minor"]].to_numpy().tolist() == [["A", "timing", 50]]
    assert first.proof[["ledger_minor", "statement_minor", "holds"]].to_numpy().tolist() == [[52, 2, True]]
    second = month(REVERSED, [*lines, REVERSED[-1]], carry_forward=first.carry_forward)
    found = zip(*(second.breaks[name] for name in ("key", "code", "variance_minor")), strict=True)
    assert [*found] == open_keys
    assert second.proof[["ledger_minor", "holds"]].to_numpy().tolist() == [[3, True]]


def test_of_what_nets_to_zero_in_the_period_the_later_rows_are_of_the_next():
    """Both pairs are zero: the later one is not lost when the bank has only its payment."""
    ours = [on(10, "A", 50), on(11, "A", 50, direction="out"), on(30, "E1", 1), *REVERSED[3:4], on(32, "A", 50)]
    first = month(ours, [on(30, "E1", 1)])
    assert first.breaks.empty
    assert first.proof["ledger_minor"].tolist() == [1]
    second = month([*ours, on(58, "E2", 1)], [on(32, "A", 50), on(58, "E2", 1)], carry_forward=first.carry_forward)
    found = zip(*(second.breaks[name] for name in ("key", "code", "variance_minor")), strict=True)
    assert [*found] == [("A", "missing_in_statement", -50)]
    assert second.proof["holds"].all()


@pytest.mark.parametrize(
    ("told", "open_codes"),
    [([300], []), ([], ["missing_in_statement"]), ([200], ["batch_mismatch"])],
    ids=["whole", "never", "short"],
)
def test_of_a_batch_across_the_close_each_month_has_its_own_rows(told: list[int], open_codes: list[str]):
    """At the close the books have two of three rows: 200 and not 300 is outstanding."""
    ours = [on(30, "E1", 1), *(on(day, f"K{day}", 100, batch="B1") for day in (29, 30, 31))]
    first = month(ours, [on(30, "E1", 1)])
    assert first.breaks[["key", "variance_minor", "rows"]].to_numpy().tolist() == [["B1", 200, 2]]
    assert first.proof[["ledger_minor", "statement_minor", "holds"]].to_numpy().tolist() == [[201, 1, True]]
    assert "1 row of the ledger is dated after the closing date" in "".join(first.notes)
    booked = [*ours, on(58, "E2", 1)]
    lines = [*(on(32, "S", amount, batch="B1") for amount in told), on(58, "E2", 1)]
    second = month(booked, lines, carry_forward=first.carry_forward)
    assert second.breaks["code"].tolist() == open_codes
    assert second.proof[["ledger_minor", "holds"]].to_numpy().tolist() == [[302, True]]


def test_a_batch_that_the_statement_has_counts_whole_unless_the_rows_up_to_the_close_are_its_sum():
    ours = [on(30, "E1", 1), *(on(day, f"K{day}", 100, batch="B1") for day in (29, 30, 31))]
    for paid, ledger_minor in ((300, 301), (200, 201)):
        result = month(ours, [on(30, "S", paid, batch="B1"), on(30, "E1", 1)])
        assert result.breaks.empty
        assert result.proof[["ledger_minor", "holds"]].to_numpy().tolist() == [[ledger_minor, True]]


def test_a_later_duplicate_is_a_row_of_its_own_period():
    ours, gone = [on(1, "E1", 1), on(30, "A", 50)], on(58, "E2", 1, entry="je_9", number=9)
    first = month([*ours, on(31, "A", 50)], ours)
    second = month([*ours, on(31, "A", 50), gone], [gone], carry_forward=first.carry_forward)
    assert second.breaks["code"].tolist() == ["duplicate_in_ledger"]
    assert second.breaks["since_date"].isna().all()
    assert second.rates["by_count"].tolist() == [2 / 3]
    third = month([*ours, gone], [gone], carry_forward=first.carry_forward)
    assert third.closed.empty
    assert third.rates["by_count"].tolist() == [1.0]


def empty_statement(balance: int) -> Statement:
    rows = tables([], [])[1]
    return file_of(rows, name="february.csv", opening_minor=balance, closing_minor=balance)


def test_an_empty_statement_without_days_closes_on_as_of_or_says_what_to_state():
    first = month([on(1, "E1", 1)], [on(1, "E1", 1)])
    ledger, _ = tables([on(1, "E1", 1), on(40, "A", 50)], [])
    quiet = reconcile(ledger, empty_statement(1), carry_forward=first.carry_forward)
    assert quiet.breaks.empty
    assert quiet.notes[0].startswith(
        f"No statement of {ACCOUNT} states its days or has a usable row, so the books close on 2026-01-02."
    )
    assert "--as-of DATE (as_of in Python)" in quiet.notes[0]
    dated = reconcile(ledger, empty_statement(1), carry_forward=first.carry_forward, as_of=date(2026, 2, 28))
    assert dated.breaks["key"].tolist() == ["A"]
    assert dated.carry_forward.closed["closing_date"].tolist() == [date(2026, 2, 28)]
    assert not dated.notes


def test_keyless_unusable_lines_without_a_balance_are_one_only_if_their_files_overlap():
    odd = on(29, None, 4, problem="unreadable")
    for shared, many in (([], 2), ([on(29, "A", 50)], 1)):
        files = {"1.csv": [on(1, "E1", 1), *shared, odd], "2.csv": [*shared, odd, on(30, "E2", 1)]}
        lines = [
            {**row, "statement": name, "line": line} for name, rows in files.items() for line, row in enumerate(rows, 2)
        ]
        result = reconcile(*tables([on(1, "E1", 1), on(29, "A", 50), on(30, "E2", 1)], lines))
        assert result.breaks["code"].tolist().count("invalid_row") == many


def test_a_batch_that_agrees_at_the_close_is_not_undone_by_another_spelling_of_its_name():
    """Its later row is open; so is the other group, which must not be added to it."""
    ours = [on(30, "E1", 1), *(on(day, f"K{day}", 100, batch="B1") for day in (29, 30, 31))]
    result = month(ours, [on(30, "S", 200, batch="B1"), on(30, "T", 70, batch="b1"), on(30, "E1", 1)])
    found = zip(*(result.breaks[name] for name in ("key", "code", "variance_minor")), strict=True)
    assert [*found] == [("b1", "timing", -70)]
    assert result.proof[["ledger_minor", "holds"]].to_numpy().tolist() == [[201, True]]
