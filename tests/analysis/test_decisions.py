"""What people and rules decide about breaks: kept, found again, stale when rows change, and no figure's cause."""

import csv
import json
import os
import re
from collections.abc import Callable
from contextlib import chdir
from datetime import UTC, date, datetime
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.analysis.test_reconcile import ACCOUNT, ledger_of, movement
from tests.analysis.test_reconcile import statement_of as with_balances
from workbench import read_statement
from workbench.analysis import files
from workbench.analysis.break_codes import VERDICTS
from workbench.analysis.reconcile import Reconciliation, reconcile
from workbench.analysis.reconcile.decisions import DecisionTable, decisions_in
from workbench.analysis.report.outputs import write_results
from workbench.analysis.rules import LONGEST_PATTERN, Rule, ruled, rules_in
from workbench.analysis.shapes import DECIDED, LEDGER_MOVEMENT, STATEMENT_ROW
from workbench.analysis.statements import Layout
from workbench.cli import app
from workbench.errors import ReconcileRefused, StatementRefused

HEADER = "break,verdict,partner,who,when,why"
ONE, TWO, THREE, FOUR = "bq4x7m2k5n3a", "bq4x7m2k5n3b", "bq4x7m2k5n3c", "bq4x7m2k5n3d"
LONG = settings.get_current_profile_name() == "long"
SLOW = settings(
    max_examples=60 if LONG else 2, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate]
)
"""A run takes a tenth of a second, and what is made smaller takes hundreds."""
OF_DECISIONS = ["verdict", "partner", "who", "when", "why"]
Row = dict[str, Any]
row, statement_of = partial(movement, day=3), partial(with_balances, opening=None)


def moment(day: int, minute: int) -> datetime:
    return datetime(2026, 1, day, 10, minute, tzinfo=UTC)


OURS = [row("A", 500), row("K", 100), row("L", 200), row("LATE", 900, day=20)]
THEIRS = [row("B", 500), row("K", 150), row("FEE", 35, direction="out", description="MONTHLY SERVICE FEE 260961234567"),
          row("LATE", 900, day=20)]  # fmt: skip
"""A and B are one movement, K differs, only the ledger has L, and only the statement the charge."""


def ran(ours: list[Row] = OURS, theirs: list[Row] = THEIRS, **more: Any) -> Reconciliation:  # noqa: ANN401  settings
    return reconcile(ledger_of(*ours), statement_of(*theirs), **more)


@cache
def plain() -> Reconciliation:
    return ran()


def ids(result: Reconciliation) -> dict[str, str]:
    return dict(zip(result.breaks["key"], result.breaks["id"], strict=True))


@cache
def settled() -> Reconciliation:
    """The same run with a decision about each break."""
    return ran(decisions=everything(ids(plain())))


def decided(*rows: tuple[str, ...]) -> pd.DataFrame:
    """Rows of break, verdict and perhaps partner."""
    made = [(*each, "")[:3] for each in rows]
    return pd.DataFrame([(*each, "Acct", "2026-02-01", "seen") for each in made], columns=HEADER.split(","))


def everything(found: dict[str, str]) -> pd.DataFrame:
    return decided((found["A"], "match", found["B"]), *((found[key], "accept") for key in ("K", "L", "FEE")))


class TestIds:
    def test_another_content_is_another_id(self):
        changes = [{}, {"amount_minor": 501}, {"key": "A2"}, {"direction": "out"}, {"fee_minor": 1}, {"batch": "S"},
                   {"phone": "+260••••567"}, {"business_date": date(2026, 1, 2)}, {"kind": "payout_paid"}]  # fmt: skip
        each_in = [{"account": f"a{place}"} for place, _ in enumerate(changes)]
        opposite = [row("O", 1, **account) for account in each_in]
        before = ran([row("A", 500, **account) for account in each_in], opposite).breaks.set_index("account")
        changed = [row("A", 500) | account | change for account, change in zip(each_in, changes, strict=True)]
        after = ran(changed, opposite).breaks.set_index("account")
        ours = [frame.loc[frame["side"] == "ledger", "id"].sort_index() for frame in (before, after)]
        assert before["id"].is_unique, "the account counts"
        assert (ours[0] == ours[1]).to_list() == [True, *[False] * (len(changes) - 1)]

    def test_a_break_that_is_carried_forward_keeps_its_id(self):
        ours = [*OURS, row("P", 7, phone="0961234567"), row("S1", 3, batch="S"), row("S2", 4, batch="S")]
        first, later = ran([*ours, row("T", 1, day=20)]), [row("NEW", 5, day=25)]
        ledger, statement = ledger_of(*ours, row("T", 1, day=20)), statement_of(*later, name="next.csv")
        second = reconcile(ledger, statement, carry_forward=first.carry_forward)
        gone = set(first.breaks["id"]) - set(second.breaks["id"])
        assert gone == {ids(first)["T"]}, "it waited for the other side, and now it is missing there"
        assert len(second.breaks) == len(first.breaks) + 1


class TestApplied:
    @pytest.mark.thorough
    @SLOW
    @given(st.lists(st.sampled_from([*VERDICTS, None]), min_size=5, max_size=5))
    def test_they_change_nothing_but_their_own_columns(self, verdicts: list[str | None]):
        before, used = plain(), dict[str, tuple[str, ...]]()
        names, moved = before.breaks["id"].to_list(), before.breaks.set_index("id")["variance_minor"]
        for (name, partner), verdict in zip(pairwise([*names, names[0]]), verdicts, strict=True):
            # What is matched with its opposite is closed: see test_closing.
            if verdict == "match" and moved[name] + moved[partner] and not used.keys() & {name, partner}:
                used |= {name: (name, "match", partner), partner: ()}
            elif verdict not in {"match", None}:
                used.setdefault(name, (name, verdict))
        result = ran(decisions=decided(*filter(None, used.values())))
        assert result.breaks["verdict"].notna().sum() == len(used)
        for name in ("proof", "summary", "ageing", "matches"):
            pd.testing.assert_frame_equal(getattr(result, name), getattr(before, name))
        frames = [each.breaks.drop(columns=OF_DECISIONS) for each in (result, before)]
        pd.testing.assert_frame_equal(*frames)
        for name in ("rows", "closed", "ahead"):
            pd.testing.assert_frame_equal(getattr(result.carry_forward, name), getattr(before.carry_forward, name))

    def test_a_later_decision_replaces_what_was_said_of_any_of_its_breaks(self):
        found = ids(plain())
        both, each = [(found["K"], "match", found["L"])], [(found["K"], "accept"), (found["L"], "accept")]
        later = statement_of(row("NEW", 5, day=25), name="next.csv")
        for before, replacing in ((each, both), (both, each)):
            first = ran(decisions=decided(*before)).carry_forward
            for now in replacing:
                result = reconcile(ledger_of(*OURS), later, decisions=decided(now), carry_forward=first)
                assert result.decisions[["break", "verdict"]].to_numpy().tolist() == [[*now[:2]]]

    def test_what_became_of_a_decision_is_said(self):
        found = ids(plain())
        about = everything(found).assign(account=ACCOUNT, key=["A", "00K", "L", "FEE"])
        zeros = decided((THREE, "accept")).assign(account=ACCOUNT, key="000")
        elsewhere = decided((ONE, "accept")).assign(account="bank:settlement")
        about = pd.concat([about, elsewhere, decided((TWO, "ignore")), zeros, decided((FOUR, "open"))])
        changed = [OURS[0], row("K", 101), row("L", 200), OURS[3], row(None, 5)]
        result = ran(changed, [THEIRS[0], THEIRS[1], row("L", 200), THEIRS[3]], decisions=about)
        states = dict(zip(result.decisions["break"], result.decisions["state"], strict=True))
        assert states == {found["A"]: "applied", found["K"]: "stale", found["L"]: "settled", found["FEE"]: "settled",
                          ONE: "elsewhere", TWO: "stale", THREE: "settled", FOUR: "stale"}  # fmt: skip
        assert not result.is_decided
        assert "; 3 stale" in result.sign_off
        assert set(result.carry_forward.decisions["break"]) == {found["A"], ONE}
        assert set(result.closed["key"]) == {"A", "B"}

    def test_a_match_is_of_one_account(self, tmp_path: Path):
        other = {"account": "operator:airtel:float"}
        result = ran([row("A", 500), row("X", 1, **other)], [row("K", 1), row("B", 500, **other), row("X", 1, **other)])
        found = ids(result)
        assert result.decide(tmp_path / "d.csv").partners_of(found["A"]) == {found["A"]: []}
        with pytest.raises(ReconcileRefused, match=r"joins breaks of .*book a transfer between"):
            result.decide(tmp_path / "d.csv", who="Ann").decide([found["A"], found["B"]], "match", why="one")
        with pytest.raises(ReconcileRefused, match=r"joins breaks of .*book a transfer between"):
            ran(
                [row("A", 500), row("X", 1, **other)], [row("K", 1), row("B", 500, **other), row("X", 1, **other)],
                decisions=decided((found["A"], "match", found["B"])),
            )  # fmt: skip

    def test_rows_of_two_amounts_may_be_matched_and_the_sign_off_says_so(self):
        found = ids(plain())
        result = ran(decisions=decided((found["A"], "match", f"{found['B']}; {found['FEE']}")))
        assert f"{min(found[key] for key in ('A', 'B', 'FEE'))} matched with another amount" in result.sign_off
        assert "Acct (3 matched)" in result.sign_off

    def test_the_sign_off_tells_the_last_moment_in_lusaka_and_a_page_shows_utc_over_it(self, tmp_path: Path):
        last = everything(ids(plain())).assign(when=["2026-02-01", "2026-02-01T09:00:00+02:00", "2026-02-01T08:30:05Z",
                                                     "2026-02-01T08:30:00"])  # fmt: skip
        result = ran(decisions=last)
        assert "; last on 2026-02-01 10:30:05 in Lusaka." in result.sign_off
        result.report(tmp_path / "page.html")
        shown = (
            '<time datetime="2026-02-01T08:30:05.000Z" title="2026-02-01 08:30:05 UTC">2026-02-01 10:30:05 in Lusaka'
        )
        assert shown in (tmp_path / "page.html").read_text("utf-8")
        assert shown in result._repr_html_()

    def test_a_match_of_which_one_row_is_gone_is_stale(self):
        found = ids(plain())
        gone = decided((found["FEE"], "match", found["B"])).assign(account=ACCOUNT, key="FEE")
        result = ran(theirs=[each for each in THEIRS if each["key"] != "FEE"], decisions=gone)
        assert result.decisions["state"].to_list() == ["stale"]
        assert result.breaks["verdict"].isna().all()


def fill(path: Path, said: dict[str, tuple[str, ...]], mark: str, encoding: str) -> None:
    """As a person does in a spreadsheet, and saves it: by id, what stands under verdict, partner, owner and comment."""
    wanted = [("verdict",), ("partner",), ("who", "owner"), ("why", "comment")]
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        header, *cells = book["breaks"].iter_rows()
        places = {str(cell.value): cell.column - 1 for cell in header}
        for each in cells:
            for names, value in zip(wanted, said.get(each[places["id"]].value, ()), strict=False):
                each[next(places[name] for name in names if name in places)].value = value or None
        book.save(path)
        return
    text = path.read_bytes().decode(encoding if b"\0" in path.read_bytes() else "utf-8-sig", "replace")
    rows = list(csv.reader(text.splitlines(), delimiter=max(",;\t", key=text.partition("\n")[0].count)))
    for each in rows:
        for names, value in zip(wanted, said.get(each[rows[0].index("id")], ()), strict=False):
            each[next(rows[0].index(name) for name in names if name in rows[0])] = value
    with path.open("w", encoding=encoding, newline="", errors="replace") as file:
        csv.writer(file, delimiter=mark).writerows(rows)


def line(*cells: str) -> str:
    return ",".join([*cells, "", "", "", "", "", ""][:6])


NO_DECISIONS = [
    ("", "is empty"),
    ("break,verdict,partner,who,when\n", "no column 'why'"),
    (f"{HEADER},verdikt\n", "the unknown column 'verdikt'"),
    (f"{HEADER},why\n", "'why' twice"),
    (f"{HEADER}\n{ONE},accepted,,Acct,2026-02-01,x\n", "in line 2 the verdict is accepted; there are match"),
    (f"{HEADER}\n\n{ONE},accept,,,2026-02-01,x\n", "in line 3 `who` is empty"),
    (f"{HEADER}\n{ONE},accept,,Acct,2026-02-01,\n", "in line 2 `why` is empty"),
    (f"{HEADER}\n{ONE},accept,,Acct,soon,x\n", "in line 2 'soon' is not a day or a moment"),
    (f"{HEADER}\n{ONE},accept,,Acct,31/02/2026,x\n", "in line 2 '31/02/2026' is not a day or a moment"),
    (f"{HEADER}\n{ONE},accept,,Acct,03/02/2026,x\n", "may be 2026-02-03 or 2026-03-02"),
    (f"{HEADER}\n{ONE},accept,,A,31/01/2026,x\n{TWO},accept,,A,01/31/2026,x\n", "the day first in one row"),
    (f"{HEADER}\n{ONE},match,,Acct,2026-02-01,x\n", "in line 2 a match needs a partner; for a break that has"),
    (f"{HEADER}\n{ONE},accept,{TWO},Acct,2026-02-01,x\n", "only a match has a partner"),
    (f"{HEADER}\n{ONE},match,{ONE},Acct,2026-02-01,x\n", "its own partner"),
    (f"{HEADER}\nK0100,accept,,Acct,2026-02-01,x\n", "'k0100' is not the id of a break"),
    (f"{HEADER}\n{ONE},accept,,A,2026-02-01,x\n{ONE},ignore,,B,2026-02-01,x\n",
     "is decided twice, as accept in line 2 and as ignore in line 3"),
    (f"{HEADER}\n{ONE},match,{TWO},A,2026-02-01,x\n{TWO},ignore,,B,2026-02-01,x\n", "is decided twice"),
    (f"{HEADER}\n{ONE},match,{TWO},A,2026-02-01,x\n{TWO},match,{THREE},B,2026-02-01,x\n", "is decided twice"),
    (f"{HEADER}\n{ONE},accept,,A,2026-02-01,x,and more\n", "there are more cells than columns: 'and more'"),
    (f'{HEADER}\n{ONE},accept,,A,2026-02-01,"open\n', "unexpected end of data"),
]  # fmt: skip
NO_RULES = [
    ("[[rule]]\nexpcted = true", "has expcted, which no rule takes"),
    ("[[rules]]\nexpected = true", "has rules, which is no rule"),
    ("[rule]\nexpected = true", "a `rule` that is not a"),
    ("[[rule]]\nexpected = true", "it fits every break"),
    ('[[rule]]\ncode = "timing"', "give it a kind, or"),
    ('[[rule]]\ncode = "time"\nkind = "x"', "there is no code 'time'"),
    ('[[rule]]\naccount = "*"\nexpected = true\ntolerated = true', "not both"),
    ("[[rule]]\namount_minor = [5, 1]\nexpected = true", "a least and a most amount"),
    ("[[rule]]\namount_minor = [0.5, 1]\nexpected = true", "amount_minor takes a whole number, not a number with"),
    ('[[rule]]\nnarrative = "("\nexpected = true', "'(' is not a regular expression of RE2"),
    ('[[rule]]\nname="a"\naccount="x"\nkind="x"\n[[rule]]\nname="a"\naccount="x"\nkind="x"', "several rules called a"),
    ("[[rule]", "(at line 1, column 7). Rules are"),
    ('[[rule]]\nname = "a"\nname = "b"\n', "is not TOML: A key stands twice (at line 3, column 11). Rules are"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [*((decisions_in, *each) for each in NO_DECISIONS), *((rules_in, *each) for each in NO_RULES)],
)
def test_what_cannot_be_used_is_refused_by_name(tmp_path: Path, read: Callable[[Path], object], text: str, why: str):
    (tmp_path / "given").write_text(text, "utf-8")
    with pytest.raises(ReconcileRefused) as refused:
        read(tmp_path / "given")
    assert why in str(refused.value)


def test_a_workbook_that_closed_a_match_gives_the_same_result_as_its_decisions(tmp_path: Path):
    settled().to_excel(tmp_path / "month.xlsx")
    again = ran(decisions=tmp_path / "month.xlsx")
    pd.testing.assert_frame_equal(again.closed, settled().closed)
    pd.testing.assert_frame_equal(again.breaks, settled().breaks)


class TestFile:
    @pytest.mark.parametrize(
        ("mark", "when", "encoding"),
        [(",", "2026-01-31", "utf-8"), (";", "31.01.2026", "cp1252"), ("\t", "31/01/2026", "utf-16"),
         (",", "1/31/2026", "utf-8-sig")],
    )  # fmt: skip
    def test_what_a_spreadsheet_saves_again_is_read(self, tmp_path: Path, mark: str, when: str, encoding: str):
        path = tmp_path / "decisions.csv"
        rows = [
            [*HEADER.split(","), "key"],
            [f" {ONE.upper()} ", "Accept", "", "Zoë", when, "0961234567", "0961234567"],
        ]
        path.write_bytes("\r\n".join(mark.join([*each, "", ""]) for each in rows).encode(encoding))
        (found,), _ = decisions_in(path)
        shown = [ONE, "accept", None, "Zoë", "2026-01-31", "096••••567", "0961234567"]
        assert [found[name] for name in rows[0]] == shown, "a number in a comment is masked, and a key is none"

    def test_a_match_may_be_said_of_either_break(self):
        rows, _ = decisions_in(pd.concat([decided((ONE, "match", TWO)), decided((TWO, "match", ONE))]))
        assert len(rows) == 1

    @pytest.mark.parametrize("when", ["03.02.2026", "2026-02-03 00:00:00"])
    def test_of_a_date_with_dots_the_day_is_first_and_of_a_workbooks_midnight_it_is_all(self, when: str):
        rows, _ = decisions_in(decided((ONE, "accept")).assign(when=when))
        assert rows[0]["when"] == "2026-02-03"

    def test_all_that_is_to_be_mended_is_said_at_once_and_bounded(self, tmp_path: Path):
        path = tmp_path / "decisions.csv"
        rows = [f"{ONE},maybe,,,2026-02-01,x", f"{TWO},accept,,A,2026-02-01,x", f"{TWO},ignore,,A,soon,x"]
        path.write_text("\n".join([HEADER, *rows]), "utf-8")
        with pytest.raises(ReconcileRefused) as refused:
            decisions_in(path)
        head, *told = str(refused.value).splitlines()
        assert head == "decisions.csv cannot be used:"
        assert [each.split(";")[0] for each in told] == [
            "- in line 2 the verdict is maybe", "- in line 2 `who` is empty",
            "- in line 4 'soon' is not a day or a moment: write 2026-01-31 or 2026-01-31T08:00Z",
            f"- {TWO} is decided twice, as accept in line 3 and as ignore in line 4",
        ]  # fmt: skip
        path.write_text("\n".join([HEADER, *[f"{ONE},accept,,,2026-02-01,x"] * 50]), "utf-8")
        with pytest.raises(ReconcileRefused, match="- and 30 more") as refused:
            decisions_in(path)
        assert len(str(refused.value).splitlines()) == 22

    def test_the_other_days_of_a_table_tell_which_of_day_and_month_is_first(self, tmp_path: Path):
        path = tmp_path / "breaks.csv"
        for days, when in (("31/12/2025", "2026-02-03"), ("12/31/2025", "2026-03-02"), ("01/02/2026", None)):
            text = f"id,business date,verdict,owner,when,comment\n{ONE},{days},ignore,A,03/02/26,x\n"
            path.write_text(text, "utf-8")
            if when:
                assert decisions_in(path)[0][0]["when"] == when
            else:
                with pytest.raises(ReconcileRefused, match="may be 2026-02-03 or 2026-03-02"):
                    decisions_in(path)

    def test_a_title_in_a_workbook_is_passed_over_and_a_lost_heading_is_named_with_its_sheet(self, tmp_path: Path):
        path, found = tmp_path / "breaks.xlsx", ids(plain())
        # A break is closed, so that another sheet of the workbook has verdicts too.
        ours, theirs = [*OURS, row("D", 70)], [*THEIRS, row("D", 70, day=9)]
        late = ids(ran(ours, theirs))["D"]
        ran(ours, theirs, decisions=decided((late, "accept"))).to_excel(path)
        fill(path, {found["L"]: ("ignore", "", "Zoë", "seen")}, "", "")
        book = openpyxl.load_workbook(path)
        sheet = book["breaks"]
        sheet.insert_rows(1)
        sheet["A1"] = "Reviewed"
        book.save(path)
        rows = {each["break"]: (each["verdict"], each["who"]) for each in decisions_in(path)[0]}
        assert rows == {found["L"]: ("ignore", "Zoë"), late: ("accept", "Acct")}
        for heading in ("id", "owner", "comment"):
            cell = next(cell for cell in sheet[2] if cell.value == heading)
            cell.value = "Lost"
            book.save(path)
            with pytest.raises(ReconcileRefused) as refused:
                decisions_in(path)
            assert refused.value.message == f"The sheet 'breaks' of breaks.xlsx has no column {heading!r}."
            assert refused.value.hint == "It needs id, verdict, owner, comment, as it was written."
            cell.value = heading


RULES = """
[[rule]]
name = "monthly fee"
account = "operator:*"
narrative = "(?i)service fee"
amount_minor = [30, 40]
direction = "out"
kind = "fee"
expected = true

[[rule]]
name = "small change"
code = "amount_mismatch"
amount_minor = [0, 50]
tolerated = true

[[rule]]
name = "named only"
direction = "in"
kind = "interest"
"""


class TestRules:
    def run(self, folder: Path, text: str, **more: Any) -> Reconciliation:  # noqa: ANN401  settings
        path = folder / "rules.toml"
        path.write_text(text, "utf-8")
        return ran(rules=path, **more)

    def test_the_first_that_fits_names_the_break_decides_it_and_steers_the_proposal(self, tmp_path: Path):
        result = self.run(tmp_path, RULES)
        shown = result.breaks.set_index("key")[["rule", "verdict"]].astype(object)
        assert shown.loc["FEE"].to_list() == ["monthly fee", "expected"]
        assert shown.loc["K"].to_list() == ["small change", "tolerated"]
        assert shown.loc["B", "rule"] == "named only"
        assert pd.isna(shown.loc["B", "verdict"])
        proposals = result.breaks.set_index("key")["proposal"]
        (fee,) = json.loads(proposals["FEE"])
        assert (fee["recipe"], fee["amount_minor"], fee["description"][:5]) == ("fee_raised", 35, "fee: ")
        assert json.loads(proposals["B"])[0]["recipe"] == "unknown_credit"
        assert pd.isna(proposals["K"])
        assert result.breaks.set_index("key").loc["FEE", "settlement"] == "Book the fee."
        assert not result.is_decided
        pd.testing.assert_frame_equal(result.proof, plain().proof)
        assert result.inputs.set_index("side").loc["rules", ["name", "rows"]].to_list() == ["rules.toml", 3]
        assert not any("of the kind" in note for note in result.notes)
        other = self.run(tmp_path, RULES.replace('"fee"', '"charge"'))
        note = "The rule 'monthly fee' is of the kind 'charge', for which no entry is known: its money is proposed as"
        assert f"{note} unknown money. The kinds are fee, rounding, interest." in other.notes

    def test_a_kind_advises_to_book_only_what_the_ledger_lacks(self, tmp_path: Path):
        rules = '[[rule]]\nname = "all"\naccount = "*"\nkind = "fee"'
        advice, usual = (
            result.breaks.set_index("key")["settlement"] for result in (self.run(tmp_path, rules), plain())
        )
        assert {key: advice[key] for key in ("FEE", "B")} == dict.fromkeys(("FEE", "B"), "Book the fee.")
        assert all(advice[key] == usual[key] for key in ("K", "A", "L"))

    @pytest.mark.parametrize(
        "miss", ['account = "bank:*"', 'narrative = "^FEE"', "amount_minor = [36, 99]", 'direction = "in"',
                 'code = "amount_mismatch"', 'words = "charge"'],
    )  # fmt: skip
    def test_each_of_its_conditions_must_hold(self, tmp_path: Path, miss: str):
        name = miss.partition(" =")[0]
        own = {"account": "*", "narrative": "SERVICE", "amount_minor": [35, 35], "direction": "out",
               "code": "missing_in_ledger"}  # fmt: skip
        fits = [f"{of} = {json.dumps(value)}" for of, value in own.items()]
        path = tmp_path / "rules.toml"
        for lines, many in ((fits, 1), ([miss, *(each for each in fits if not each.startswith(name))], 0)):
            path.write_text("\n".join(["[[rule]]", "expected = true", *lines]), "utf-8")
            assert (ruled(plain().breaks, rules_in(path)[0])["rule"] == "rule 1").sum() == many

    def test_what_moves_nothing_goes_neither_way(self):
        still = plain().breaks.assign(statement_minor=0)
        assert not any(Rule("r", direction=way, expected=True).fits(still).any() for way in ("in", "out"))

    def test_a_person_goes_before_a_rule(self, tmp_path: Path):
        result = self.run(tmp_path, RULES, decisions=decided((ids(plain())["FEE"], "ignore")))
        shown = result.breaks.set_index("key").loc["FEE"]
        assert (shown["rule"], shown["verdict"], shown["who"]) == ("monthly fee", "ignore", "Acct")
        assert "Acct (1 ignored) and the rule 'small change' (1 tolerated)" in result.sign_off

    def test_a_person_opens_what_a_rule_decided_in_later_periods_too_until_the_person_decides(self, tmp_path: Path):
        opened = decided(*((ids(plain())[key], "open") for key in ("FEE", "K")))
        result, later = self.run(tmp_path, RULES, decisions=opened), statement_of(row("NEW", 5, day=25), name="2.csv")
        kept = result.carry_forward
        for each in (result, reconcile(ledger_of(*OURS), later, rules=tmp_path / "rules.toml", carry_forward=kept)):
            shown = each.breaks.set_index("key")
            assert shown.loc[["FEE", "K"], ["verdict", "who"]].isna().all(axis=None)
            assert shown.loc[["FEE", "K"], "rule"].to_list() == ["monthly fee", "small change"]
            assert shown.loc[["FEE", "K"], "proposal"].notna().all(), "a rule that tolerates proposes nothing"
            assert not each.is_decided
            assert each.decisions[["verdict", "state"]].drop_duplicates().to_numpy().tolist() == [["open", "applied"]]
            for name in ("again.xlsx", "again.csv", "again.html"):
                write_results(each, tmp_path / name)
            for name in ("again.xlsx", "again.csv"):
                (kept_open, _), _ = decisions_in(tmp_path / name)
                assert [kept_open[column] for column in OF_DECISIONS] == ["open", None, "Acct", "2026-02-01", "seen"]
            assert (tmp_path / "again.html").read_text("utf-8").count(' data-verdict="open" ') == 2
        settings = {"rules": tmp_path / "rules.toml", "carry_forward": kept}
        again = reconcile(ledger_of(*OURS), later, decisions=opened.assign(verdict="accept"), **settings)
        assert again.breaks.set_index("key").loc[["FEE", "K"], "verdict"].to_list() == ["accept", "accept"]
        booked = [*OURS, row("FEE", 35, direction="out")]
        (closed,) = reconcile(ledger_of(*booked), later, **settings).closed.to_dict("records")
        assert (closed["key"], closed["rule"], closed["verdict"]) == ("FEE", "key", None)


class TestCommand:
    def run(self, folder: Path, *options: str, theirs: list[Row] = THEIRS) -> Result:
        files.write(ledger_of(*OURS), folder / "ledger.parquet", LEDGER_MOVEMENT)
        files.write(statement_of(*theirs), folder / "mtn.parquet", STATEMENT_ROW)
        with chdir(folder):
            return CliRunner(catch_exceptions=False).invoke(
                app, ["reconcile", "ledger.parquet", "mtn.parquet", *options]
            )

    @pytest.mark.thorough
    def test_after_decisions_nothing_is_open_until_a_row_changes_and_the_next_period_knows(self, tmp_path: Path):
        first = self.run(tmp_path, "--out", "breaks.csv")
        assert first.exit_code == 1
        assert "Decided by" not in first.output
        with (tmp_path / "breaks.csv").open(newline="", encoding="utf-8") as file:
            found = {each["key"]: each["id"] for each in csv.DictReader(file)}
        (tmp_path / "rules.toml").write_text(RULES.partition('[[rule]]\nname = "named')[0], "utf-8")
        everything(found).to_csv(tmp_path / "decisions.csv", index=False)
        options = ("--decisions", "decisions.csv", "--rules", "rules.toml")
        done = self.run(tmp_path, *options, "--carry-to", "kept")
        *_, sign_off, _, last = done.output.splitlines()
        assert done.exit_code == 0
        assert last == "Nothing is left to decide: 5 breaks are decided by Acct; 3 of them wait to be booked."
        assert "agree; rows of closed breaks and of earlier periods do not count" in " ".join(done.output.split())
        assert sign_off.startswith(
            "Decided by Acct (3 accepted, 2 matched); last on 2026-02-01. SHA-256 of ledger.parquet "
        )
        assert all(f"{name} " in sign_off for name in ("mtn.csv", "decisions.csv", "rules.toml"))
        assert "not a file" not in sign_off
        assert "Nothing to settle, and 5 breaks are decided, 2 of them closed." in done.output
        assert done.output.count("matched by Acct: seen") == 2, "closed in this period"
        changed = self.run(tmp_path, *options, theirs=[row("B", 501), *THEIRS[1:]])
        assert changed.exit_code == 1
        assert (
            f"1 decision is stale, because the open breaks have changed: {found['A']}. Decide again" in changed.output
        )
        assert "Nothing is" not in changed.output.splitlines()[-1]
        # The next period has neither the decisions nor the rules, and an older folder has no decisions.
        later = [row("LATER", 5, day=25, status="failed")]
        second = self.run(tmp_path, "--carry-forward", "kept", theirs=later)
        assert second.exit_code == 0, second.output
        assert "decided by Acct; 3 of them" in second.output.splitlines()[-1]
        (tmp_path / "kept" / "decisions.parquet").unlink()
        assert self.run(tmp_path, "--carry-forward", "kept", theirs=later).exit_code == 1

    @pytest.mark.parametrize(
        ("name", "options", "mark", "encoding"),
        [
            ("breaks.csv", (), ",", "utf-8"),
            ("breaks.csv", (), ";", "cp1252"),
            ("breaks.csv", ("--excel",), "\t", "utf-16"),
            ("breaks.csv", ("--excel",), ";", "utf-8-sig"),
            ("breaks.xlsx", (), "", ""),
        ],
    )
    @pytest.mark.thorough
    def test_a_table_of_breaks_that_is_filled_in_is_decisions(
        self, tmp_path: Path, name: str, options: tuple[str, ...], mark: str, encoding: str
    ):
        (tmp_path / "rules.toml").write_text(RULES.replace("[30, 40]", "[30, 31]"), "utf-8")
        self.run(tmp_path, "--out", name, *options, "--rules", "rules.toml")
        found = ids(plain())
        said = {"A": ("MATCH", found["B"]), "L": ("write-off", ""), "FEE": (" Write Off", "")}
        fill(tmp_path / name, {found[key]: (*each, "Zoë", "seen") for key, each in said.items()}, mark, encoding)
        os.utime(tmp_path / name, (saved := moment(30, 0).timestamp(), saved))
        given = ("--decisions", name, "--rules", "rules.toml")
        done = self.run(tmp_path, *given, "--out", "again.csv")
        assert done.exit_code == 0, done.output
        *_, sign_off, _, last = done.output.splitlines()
        who = "4 by Zoë and 1 by the rule 'small change'"
        assert last == f"Nothing is left to decide: 5 breaks are decided, {who}; 2 of them wait to be booked."
        assert "Zoë (2 matched, 2 written off)" in sign_off
        assert "last on 2026-01-30" in sign_off, "the day on which it was saved"
        again = self.run(tmp_path, "--decisions", "again.csv").output
        assert "Zoë (2 written off); last on 2026-01-30" in again, "what is open can be given back"
        fill(tmp_path / name, {found["K"]: ("acept", "", "", "")}, mark or ",", encoding)
        refused = self.run(tmp_path, *given)
        assert refused.exit_code == 2
        assert f"the verdict is acept; there are {', '.join(VERDICTS)}, open" in refused.output
        assert ("`owner` is empty" if name.endswith("x") else "`who` is empty") in refused.output

    def test_a_frame_of_breaks_is_decisions_too(self):
        breaks = plain().breaks.copy()
        for name, text in (("verdict", "ignore"), ("who", "Acct"), ("when", "2026-02-01"), ("why", "seen")):
            breaks.loc[breaks["key"] == "K", name] = text
        assert "Decided by Acct (1 ignored)" in ran(decisions=breaks).sign_off

    def test_what_is_no_path_is_refused(self):
        for more in ({"decisions": []}, {"rules": {}}):
            with pytest.raises(ReconcileRefused, match="Give the path of the"):
                ran(**more)

    def test_a_file_that_cannot_be_used_ends_it_before_anything_runs(self, tmp_path: Path):
        (tmp_path / "decisions.csv").write_text(f"{HEADER}\n{line(ONE, 'accept')}\n", "utf-8")
        done = CliRunner().invoke(app, ["reconcile", "none.parquet", "none.csv", "--decisions", "absent.csv"])
        assert done.exit_code == 2
        refused = self.run(tmp_path, "--decisions", "decisions.csv")
        assert (refused.exit_code, "in line 2 `who` is empty" in refused.output) == (2, True)


class TestTable:
    def test_a_script_and_the_form_write_the_same_file_and_keep_what_others_wrote(self, tmp_path: Path):
        result, path = plain(), tmp_path / "decisions.csv"
        found = ids(result)
        result.decide(path, who="Acct").decide(found["A"], "match", partner=found["B"], why="one payment")
        mine = result.decide(path, who="Audit")
        form = mine.form()
        (part, _, button), said, rows = form.children[0].children, form.children[1], form.children[2]
        for name in part.options:
            part.value = name
            for text, verdict, _, why in (each.children for each in rows.children[1:]):
                if found["A"] not in text.value and found["B"] not in text.value:
                    verdict.value, why.value = "accept", "=agreed"
        button.click()
        assert said.value == f"3 written to {path}."
        again = ran(decisions=path)
        assert again.is_decided
        assert "Acct (2 matched) and Audit (3 accepted)" in again.sign_off
        assert "'=agreed" in path.read_text("utf-8-sig")
        assert set(again.breaks["why"]) == {"=agreed"}
        assert set(again.closed["why"]) == {"one payment"}
        with pytest.raises(ReconcileRefused, match="Acct has decided"):
            mine.decide(found["A"], "ignore", why="no")
        with pytest.raises(ReconcileRefused, match="There is no break"):
            again.decide(tmp_path / "other.csv", who="Audit").decide(found["A"], "ignore", why="no")
        mine.decide(found["A"], "ignore", why="no", replace=True)
        assert set(files.read(path, DECIDED)["who"]) == {"Audit"}

    def test_a_match_of_three_stays_and_is_taken_back_from_any_of_its_breaks(self, tmp_path: Path):
        result, path = plain(), tmp_path / "decisions.csv"
        found, table = ids(result), result.decide(path, who="Acct")
        table.decide(found["A"], "match", partner=f"{found['B']}; {found['FEE']}", why="in parts")
        before = path.read_bytes()
        for shown in (table, ran(decisions=path).decide(path, who="Audit")):
            form = shown.form()
            part, _, button = form.children[0].children
            for name in part.options:
                part.value = name
            button.click()
            assert (form.children[1].value, path.read_bytes()) == (f"0 written to {path}.", before)
        with pytest.raises(ReconcileRefused, match="Acct has decided"):
            result.decide(path, who="Audit").decide(found["FEE"], "accept", why="a charge")
        table.decide(found["FEE"], "accept", why="a charge")
        assert [(each["break"], each["verdict"]) for each in decisions_in(path)[0]] == [(found["FEE"], "accept")]
        form = table.form()
        verdict, _, why = form.children[2].children[1].children[1:]
        verdict.value, why.value = "ignore", ""
        form.children[0].children[2].click()
        assert re.search("Not written.*b[a-z2-7]{11}.*`why` is empty", form.children[1].value)

    def test_it_offers_partners_and_refuses_what_the_file_would_not_take(self, tmp_path: Path):
        result, path = plain(), tmp_path / "decisions.csv"
        found, table = ids(result), result.decide(path, who="Acct")
        known = table.partners_of(*found.values())
        assert {key: known[name] for key, name in found.items()} == {
            "A": [found["B"]], "B": [found["A"]], "K": [], "L": [], "FEE": [],
        }  # fmt: skip
        hinted = DecisionTable(
            result.breaks, path, suggestions=pd.DataFrame({"breaks": [f"{found['L']}; {found['A']}"]})
        )
        assert hinted.partners_of(found["A"])[found["A"]] == [found["L"], found["B"]]
        assert found["FEE"] in repr(table)
        for name, verdict, why, reason in (
            (ONE, "accept", "x", "no break"), (found["A"], "match", "x", "needs a partner"),
            (found["K"], "ignore", "", "empty"),
        ):  # fmt: skip
            with pytest.raises(ReconcileRefused, match=reason):
                table.decide(name, verdict, why=why)
        with pytest.raises(ReconcileRefused, match="kept in a"):
            result.decide(tmp_path / "breaks.xlsx")
        assert not path.exists()


RUNS_AWAY = "(a+)+$"
TO_RUN_AWAY_ON = f"{'a' * 5_000}!"
COLUMNS = {"key": "Ref", "moment": "Day", "description": "Text", "amount": "Amount"}


def with_text(path: Path) -> Path:
    path.write_text(
        f"Ref,Day,Text,Amount\nT1,2026-10-01,{TO_RUN_AWAY_ON},-5.00\nT2,2026-10-02,RENT aaa,-6.00\n", "utf-8"
    )
    return path


def layout(pattern: str) -> Layout:
    return Layout("mine", COLUMNS, ("%Y-%m-%d",), account="bank:settlement", key_pattern=pattern)


@pytest.mark.thorough
def test_a_pattern_on_which_others_run_away_is_fast_in_a_layout_and_in_a_rule(tmp_path: Path):
    begin = perf_counter()
    statement = read_statement(with_text(tmp_path / "bank.csv"), layout=layout("(?P<related>(?:a+)+$)"))
    assert statement.rows["related"].fillna("").tolist() == ["", "aaa"]
    (tmp_path / "rules.toml").write_text(f"[[rule]]\nnarrative = '{RUNS_AWAY}'\nkind = 'rent'\nexpected = true\n")
    ours = pd.DataFrame(
        {"account": "bank:settlement", "key": ["T0"], "occurred_at": ["2026-10-01"], "amount": ["1.00"]}
    )
    breaks = reconcile(ours, statement, rules=tmp_path / "rules.toml").breaks
    decided = breaks.set_index("key")["verdict"].fillna("").to_dict()
    assert (decided["T1"], decided["T2"]) == ("", "expected")
    assert perf_counter() - begin < 20


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(?P<key>a)\1", "neither backreferences nor lookaround: invalid escape sequence"),
        ("(?P<key>a(?=b))", "neither backreferences nor lookaround: invalid perl operator"),
        ("(?P<key>(?<!x)b)", "neither backreferences nor lookaround"),
        ("(?P<key>a{2000})", "invalid repetition size"),
        (f"(?P<key>{'a' * LONGEST_PATTERN})", "has 509 characters; a pattern has at most 500"),
    ],
)
def test_what_re2_does_not_take_is_refused_with_the_reason(pattern: str, why: str):
    with pytest.raises(StatementRefused, match=f"'mine' cannot be used: key_pattern .*{why}"):
        layout(pattern)
    with pytest.raises(ReconcileRefused, match=f"The rule 'x' cannot be used: .*{why}"):
        Rule("x", narrative=pattern, kind="y")


@pytest.mark.thorough
def test_of_two_breaks_of_one_key_that_close_only_the_decided_one_names_who_decided():
    """The ledger has a key twice with another amount than the statement; one break is decided, and both are booked."""
    ours, told = [row("K1", 100), row("K1", 100, day=4)], statement_of(row("K1", 250, day=4))
    found = reconcile(ledger_of(*ours), told).breaks.set_index("code")["id"]
    given = pd.DataFrame([(found["duplicate_in_ledger"], "accept", "", "Ann", "2026-02-01", "typed twice")])
    given.columns = ["break", "verdict", "partner", "who", "when", "why"]
    first = reconcile(ledger_of(*ours), told, decisions=given)
    more = [row("K1", 150), row("K1", 100, direction="out"), row("K2", 1, day=30)]
    then = reconcile(
        ledger_of(*ours, *more), statement_of(row("K2", 1, day=30), name="february.csv"),
        carry_forward=first.carry_forward,
    )  # fmt: skip
    closed = then.closed.set_index("code")["who"]
    assert closed["duplicate_in_ledger"] == "Ann"
    assert pd.isna(closed["amount_mismatch"])
