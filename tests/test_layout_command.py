"""`workbench layout`, and of `workbench reconcile` `--layout` and `--account FILE=…`, and `--layouts FOLDER`."""

import re
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from workbench.analysis.statements import read_statement
from workbench.cli import app
from workbench.errors import StatementRefused

SHOP = "Ref;Day;In;Who\nA1;31.10.2026;1 500,00;0961234567\nA2;30.10.2026;-20,50;0971234567\n"
SHOP_TOML = """\
account = "operator:mtn:float"
dates = ["%d.%m.%Y"]
delimiter = ";"
decimal = ","
thousands = " "
[columns]
key = "Ref"
moment = "Day"
amount = "In"
phone = "Who"
"""
BANK = "Number,On,Money\nB1,2026-10-31,99.00\n"
BANK_TOML = (
    'account = "bank:settlement"\ndates = ["%Y-%m-%d"]\n[columns]\nkey = "Number"\nmoment = "On"\namount = "Money"\n'
)
BOOKED = [
    ("operator:mtn:float", "A2", "2026-10-30", "-20.50"),
    ("operator:mtn:float", "A1", "2026-10-31", "1500.00"),
    ("bank:settlement", "B1", "2026-10-31", "99.00"),
]


def run(*arguments: str | Path) -> Result:
    return CliRunner(catch_exceptions=False).invoke(app, list(map(str, arguments)), prog_name="workbench")


def said(result: Result) -> str:
    return " ".join(result.stderr.split())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a ledger, two statements of layouts of one's own, and these."""
    monkeypatch.chdir(tmp_path)
    Path("ours").mkdir()
    for name, text in (
        ("shop.csv", SHOP),
        ("bank.csv", BANK),
        ("ours/shop.toml", SHOP_TOML),
        ("ours/bank.toml", BANK_TOML),
    ):
        Path(name).write_text(text)
    pd.DataFrame(BOOKED, columns=["account", "key", "occurred_at", "amount"]).to_parquet("ledger.parquet")
    return tmp_path


BOTH = ("ledger.parquet", "shop.csv", "bank.csv")


@pytest.mark.usefixtures("here")
class TestWhichFileIsWhich:
    @pytest.mark.parametrize(
        "options",
        [
            ("--layout", "./shop.csv=ours/shop.toml", "--layout", "ours/bank.toml"),
            ("--layouts", "ours", "--layout", "bank.csv=bank"),
        ],
    )
    def test_each_has_its_own_named_or_recognised(self, options: tuple[str, ...]):
        done = run("reconcile", *BOTH, *options)
        assert (done.exit_code, done.stderr) == (0, ""), done.output
        assert done.stdout.startswith("Nothing to settle")

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (("--layout", "ours/shop.toml"), "bank.csv fits none of the known layouts (shop)"),
            (
                ("--layout", "ours/shop.toml"),
                "--layout bank.csv=LAYOUT, or none, and it is recognised. Next: workbench",
            ),
            (("--layout", "ours/shop.toml", "--layout", "ours/bank.toml"), "cannot each apply to all statements"),
            (("--layout", "bnak.csv=ours/bank.toml"), "names none of the statements; they are shop.csv, bank.csv"),
            (("t.parquet", "--layout", "t.parquet=mtn"), "mtn: t.parquet is a table whose columns are already named"),
            (("--layout", "bank.csv=ours/bank.toml", "--layout", "bank.csv=mtn"), "bank.csv has two layouts"),
            (("--layouts", "nowhere"), "it has no .toml file in it"),
            (("--layouts", "ours", "--layout", "bank.csv=bnak"), "'bnak' is not a layout; there are mtn,"),
            ((), "shop.csv fits none of the known layouts"),
        ],
    )
    def test_what_is_not_clear_is_refused_and_the_file_named(self, options: tuple[str, ...], expected: str):
        done = run("reconcile", *BOTH, *options)
        assert (done.exit_code, done.stdout) == (2, "")
        assert expected in said(done)
        assert "Traceback" not in done.output

    @pytest.mark.parametrize(
        "accounts",
        [
            ("--account", "shop.csv=operator:mtn:float", "--account", "./bank.csv=bank:settlement"),
            ("--account", "operator:mtn:float", "--account", "bank.csv=bank:settlement"),
        ],
    )
    def test_each_has_its_own_account_named_for_it_or_that_of_all(self, accounts: tuple[str, ...]):
        for name, text in (("shop", SHOP_TOML), ("bank", BANK_TOML)):
            Path(f"ours/{name}.toml").write_text(text.partition("\n")[2])
        layouts = ("--layout", "shop.csv=ours/shop.toml", "--layout", "bank.csv=ours/bank.toml")
        done = run("reconcile", *BOTH, *layouts, *accounts)
        assert (done.exit_code, done.stderr) == (0, ""), done.output
        alone = run("reconcile", *BOTH, *layouts, *accounts[2:])
        assert alone.exit_code == 2, "each is needed"
        assert "shop.csv does not name its account" in said(alone)

    @pytest.mark.parametrize(
        ("accounts", "expected"),
        [
            (("--account", "bnak.csv=x"), "--account bnak.csv=x names none of the statements; they are shop.csv, bank"),
            (("--account", "bank.csv=x", "--account", "bank.csv=y"), "bank.csv has two accounts, x and y"),
            (("--account", "x", "--account", "y"), "cannot each apply to all statements: write --account STATEMENT=A"),
            (("t.parquet", "--account", "t.parquet=x"), "t.parquet is a table whose columns are already named"),
            (("--layouts", "ours", "--account", "bank.csv=x"), "The ledger has no row of x, the account of bank.csv"),
        ],
    )  # fmt: skip
    def test_an_account_that_is_not_clear_is_refused(self, accounts: tuple[str, ...], expected: str):
        done = run("reconcile", *BOTH, *accounts)
        assert (done.exit_code, done.stdout) == (2, "")
        assert expected in said(done)

    def test_a_name_may_have_an_equals_sign_and_one_of_several_is_named_with_its_folder(self):
        Path("shop.csv").rename("a=b.csv")
        Path("ours/shop.toml").rename("my=shop.toml")
        options = ("--layout", "a=b.csv=my=shop.toml", "--layout", "bank.csv=ours/bank.toml")
        assert run("reconcile", "ledger.parquet", "a=b.csv", "bank.csv", *options).exit_code == 0
        assert run("layout", "a=b.csv", "--check", "--layout", "my=shop.toml").exit_code == 0
        Path("old").mkdir()
        Path("bank.csv").rename("old/a=b.csv")
        done = run("reconcile", "ledger.parquet", "a=b.csv", "old/a=b.csv", "--layout", "old/a=b.csv=ours/bank.toml")
        assert "fits none of the known layouts" in said(done), "the other is not read by it"
        Path("new").mkdir()
        Path("a=b.csv").rename("new/a=b.csv")
        done = run("reconcile", "ledger.parquet", "new/a=b.csv", "old/a=b.csv", "--layout", "a=b.csv=ours/bank.toml")
        assert "several statements are called a=b.csv" in said(done)

    def test_one_with_a_shipped_name_goes_before_it_and_two_of_one_name_are_refused(self, here: Path):
        (here / "ours/shop.toml").rename(here / "ours/mtn.toml")
        assert read_statement("shop.csv", layouts="ours").layout == "mtn"
        assert read_statement("shop.csv", layouts=["ours/mtn.toml"], layout="mtn").rows["key"].tolist() == ["A1", "A2"]
        (here / "ours/other.toml").write_text('name = "mtn"\n' + SHOP_TOML)
        with pytest.raises(StatementRefused, match="Two layouts are named mtn"):
            read_statement("bank.csv", layouts=here / "ours")


MTN = "Id,Date,Status,Type,From,To,Amount,Fee,Balance"
ODD_NAMES = ("my shop's.csv", "a b.csv", "$HOME;x.csv", "-x.csv")


@pytest.mark.usefixtures("here")
class TestWhatComesNext:
    def pasted(self, text: str) -> Result:
        """The command behind the last `workbench` of a text, as a shell would cut it."""
        return run(*shlex.split(text.strip().rpartition("workbench ")[2]))

    @pytest.mark.parametrize("name", ODD_NAMES)
    @pytest.mark.parametrize(
        ("text", "options", "why"),
        [
            ("Number,On,Money,Balance\nB1,2026-10-31,99.00,1\n", ("--layout", "mtn"), "fits none"),
            ("{header}\n", ("--layout", "shop"), "is not a layout"),
            (
                BANK,
                ("--layout", "ours/bank.toml", "--account", "nobody", "--date-format", "%d"),
                "is not a date format",
            ),
            ("Account,a\nAccount,b\n" + BANK, ("--layout", "ours/told.toml"), "has two values for Account"),
            (BANK, ("--layout", "ours/nobodys.toml"), "does not name its account"),
        ],
    )
    def test_a_refusal_ends_with_a_command_that_can_be_pasted(
        self, name: str, text: str, options: tuple[str, ...], why: str
    ):
        Path("ours/nobodys.toml").write_text(BANK_TOML.partition("\n")[2])
        Path("ours/told.toml").write_text(f'{BANK_TOML}[preamble]\naccount = "Account"\n')
        Path(name).write_text(text.replace("{header}", SHOP))
        given = f"./{name}" if name.startswith("-") else name
        done = run("reconcile", "ledger.parquet", given, *options)
        assert (done.exit_code, done.stdout) == (2, "")
        assert why in said(done)
        drafted = self.pasted(done.stderr.replace("\n", " "))
        assert drafted.exit_code == 0, done.stderr
        assert "[columns]" in drafted.stdout
        if "does not name" in why:
            (named,) = [each for each in shlex.split(said(done).replace("Error: ", "").partition("it: ")[2])
                        if each.endswith("=NAME.")]  # fmt: skip
            assert named == f"{Path(given)}=NAME."

    @pytest.mark.parametrize("name", ODD_NAMES[:3])
    def test_what_is_written_is_checked_by_a_command_that_can_be_pasted(self, name: str):
        Path(name).write_text(SHOP)
        done = run("layout", name, "--out", f"{name}.toml")
        assert done.exit_code == 0
        assert self.pasted(done.stdout).exit_code == 0

    def test_a_file_that_no_layout_is_drafted_of_offers_none(self):
        Path("a.csv").write_bytes(b"")
        assert "workbench layout" not in said(run("reconcile", "ledger.parquet", "a.csv"))
        assert "workbench layout" not in said(run("reconcile", "ledger.parquet", "nowhere.csv"))


@pytest.mark.usefixtures("here")
def test_the_shipped_layout_that_has_the_headings_is_named_in_the_draft():
    row = "7700001,2026-10-01 08:15:00,Successful,Payment,FRI:260960000001/MSISDN,FRI:shop/USER,10.00,0.00,10.00"
    Path("mtn.csv").write_text(f"{MTN}\n{row}\n")
    assert "# The shipped layout mtn has its headings, so you may need" in run("layout", "mtn.csv").stdout
    assert "The shipped layout" not in run("layout", "shop.csv").stdout


@pytest.mark.usefixtures("here")
class TestCommand:
    def test_a_draft_is_printed_or_written_never_over_another(self):
        printed = run("layout", "shop.csv")
        assert (printed.exit_code, printed.stderr) == (0, "")
        assert tomllib.loads(printed.stdout)["columns"]["key"] == "Ref"
        written = run("layout", "shop.csv", "--out", "mine.toml")
        assert written.exit_code == 0
        assert Path("mine.toml").read_text("utf-8") == printed.stdout
        Path("mine.toml").write_text("kept")
        again = run("layout", "shop.csv", "--out", "mine.toml")
        assert (again.exit_code, Path("mine.toml").read_text()) == (2, "kept")
        assert "already exists" in said(again)

    def test_the_layout_of_a_ledger_is_drafted_checked_and_named_for_reconcile(self):
        rows = "30.10.2026;A2;Bank;;20,50;-20,50\n31.10.2026;A1;Cash;1500,00;;1479,50\n"
        Path("books.csv").write_text(f"Date;Num;Memo;Debit;Credit;Balance\n{rows}")
        drafted = run("layout", "--ledger", "books.csv", "--out", "books.toml")
        assert (drafted.exit_code, drafted.stdout.splitlines()[1]) == (
            0, "Next: workbench layout --ledger --check books.csv --layout books.toml",
        )  # fmt: skip
        assert tomllib.loads(Path("books.toml").read_text("utf-8"))["columns"]["debit"] == "Debit"
        options = ("--layout", "books.toml", "--account", "cash", "--date-format", "%d.%m.%Y")
        checked = run("layout", "--ledger", "--check", "books.csv", *options)
        assert checked.exit_code == 0
        assert "2026-10-30 to 2026-10-31" in checked.stdout
        assert checked.stdout.endswith("Next: workbench reconcile books.csv STATEMENT --ledger-layout books.toml\n")
        refused = run("layout", "--ledger", "--check", "books.csv", "--layouts", "ours")
        assert "--layouts is for statements" in said(refused)

    def test_a_ledger_with_the_usual_columns_is_checked_as_reconcile_reads_it(self):
        rows = "bank:settlement,A1,2026-10-31,150.00\nbank:settlement,B1,2026-10-30 08:15:00,99.00\n"
        Path("books.csv").write_text(f"account,key,occurred_at,amount\n{rows}")
        checked = run("layout", "--ledger", "--check", "books.csv")
        assert (checked.exit_code, checked.stderr) == (0, "")
        assert "2026-10-30 to 2026-10-31" in checked.stdout
        assert checked.stdout.endswith("Next: workbench reconcile books.csv STATEMENT\n")
        compared = run("reconcile", "books.csv", "bank.csv", "--layout", "ours/bank.toml")
        assert (compared.exit_code, compared.stderr) == (0, "")
        Path("books.csv").write_text(Path("books.csv").read_text().replace("2026-10-31", "31/10/2026"))
        refused = said(run("layout", "--ledger", "--check", "books.csv"))
        assert said(run("reconcile", "books.csv", "bank.csv", "--layout", "ours/bank.toml")) in refused
        assert refused.endswith("Next: workbench layout --ledger books.csv --out books.toml")

    def test_a_row_that_the_export_repeats_has_no_key_of_another(self):
        rows = ["13.10.2026;A1;5,00;5,00\n", "14.10.2026;A2;5,00;10,00\n", "15.10.2026;A3;1,00;11,00\n"]
        Path("own.csv").write_text("".join(["Date;Reference;Amount;Balance\n", *rows[:2], *rows[1:]]))
        draft = run("layout", "own.csv").stdout
        assert "# Line 4 repeats the row above" in draft
        assert "the key of another" not in draft
        with Path("own.csv").open("a") as file:
            file.write("16.10.2026;A1;1,00;12,00\n")
        assert "# ? rows with the key of another: 1 of 4;" in run("layout", "own.csv").stdout

    def test_a_draft_of_ambiguous_days_loads_as_it_is_and_after_each_answer(self):
        Path("amb.csv").write_text("Date,Ref,Amount\n03/04/2026,A1,5.00\n05/06/2026,A2,-6.00\n")
        assert "3 doubts to decide" in run("layout", "amb.csv", "--out", "amb.toml").stdout
        draft = Path("amb.toml").read_text("utf-8")
        assert "date_format" not in draft
        check = ("layout", "amb.csv", "--check", "--layout", "amb.toml")
        assert "no other date of the file decides it" in said(run(*check))
        for wrong, first in ((', "%m/%d/%Y"', "2026-04-03"), ('"%d/%m/%Y", ', "2026-03-04")):
            answered = re.sub(r"^# \? (?=\S+ = )", "", draft.replace(wrong, ""), flags=re.MULTILINE)
            Path("amb.toml").write_text(answered)
            checked = run(*check)
            assert (checked.exit_code, first in checked.stdout) == (0, True), checked.output
        Path("amb.toml").write_text('account = "a"\naccount = "b"\n')
        assert "amb.toml is not TOML: A key stands twice (at line 2, column 14)." in said(run(*check))

    def test_a_ledger_without_an_account_says_where_to_name_it(self):
        Path("books.csv").write_text("Day,Num,Memo,Debit,Credit\n30.10.2026,A2,Bank,,20.50\n")
        run("layout", "--ledger", "books.csv", "--out", "books.toml")
        draft = Path("books.toml").read_text("utf-8")
        assert draft.startswith("# 1 row, 2026-10-30")
        check = ("layout", "--ledger", "--check", "books.csv", "--layout", "books.toml")
        where = 'rite account = "…" above [columns] in {}: a draft has the line as `# ? account`.'
        assert f"Pass --account NAME, or w{where.format('its layout')}" in said(run(*check))
        compare = ("reconcile", "books.csv", "t.parquet", "--ledger-layout", "books.toml")
        assert f"W{where.format('the --ledger-layout')}" in said(run(*compare))
        assert run(*check, "--account", "bank").exit_code == 0
        Path("books.toml").write_text(draft.replace("# ? account", "account"))
        assert run(*check).exit_code == 0

    def test_a_check_ends_with_0_1_or_2_and_shows_numbers_masked(self):
        good = run("layout", "shop.csv", "--check", "--layout", "ours/shop.toml")
        assert good.exit_code == 0
        assert "+26096••••567" in good.stdout
        assert "1,500.00" in good.stdout
        assert "1234567" not in good.output
        Path("shop.csv").write_text(SHOP + "A3;32.10.2026;1,00;\nA4;1.11.2026;\x1b[2J;0961234567\n")
        bad = run("layout", "shop.csv", "--check", "--layouts", "ours")
        assert bad.exit_code == 1
        assert "4 rows, 2026-10-30 to 2026-10-31, 2 unreadable" in bad.stdout
        assert "'32.10.2026' is not a date" in bad.stdout
        assert "\x1b" not in bad.output
        assert run("layout", "bank.csv", "--check", "--layout", "ours/shop.toml").exit_code == 2

    def test_a_check_fits_a_terminal_and_names_the_command_that_comes_next(self):
        text = "a narrative of a length that none would read to its end on a line"
        rows = "\n".join(f"A{day};{day:02}.02.2026;{text};{day},00-" for day in range(1, 9))
        Path("own bank.csv").write_text(f"Ref;Day;Narrative;Amount\n{rows}\n")
        asked = run("layout", "own bank.csv", "--check")
        assert asked.exit_code == 2
        command = "workbench layout 'own bank.csv' --check --date-format %d.%m.%Y"
        assert f"Next: {command} (or %m.%d.%Y)" in said(asked)
        drafted = run(*shlex.split(command)[1:])
        assert drafted.exit_code == 0
        assert max(map(len, drafted.stdout.splitlines())) <= 80
        assert "To decide:\n- account = " in drafted.stdout
        assert "dates" not in drafted.stdout, "what is said is no doubt"
        assert drafted.stdout.endswith("Next: workbench layout 'own bank.csv' --out 'own bank.toml'\n")
        sound = run("layout", "shop.csv", "--check", "--layout", "ours/shop.toml")
        assert sound.stdout.endswith("Next: workbench reconcile LEDGER shop.csv --layout ours/shop.toml\n")
        Path("shop.csv").write_text(SHOP + "A3;32.10.2026;1,00;\n")
        assert run("layout", "shop.csv", "--check", "--layout", "ours/shop.toml").stdout.endswith("fix the layout\n")

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (("nowhere.csv",), "no such file"),
            (("ours",), "is a directory"),
            (("ledger.parquet",), "is not text"),
            (("ours/shop.toml",), "has no header"),
            (("shop.csv", "--out", "mine.txt"), "its name must end in .toml"),
            (("shop.csv", "--out", "nowhere/mine.toml"), "cannot be written"),
            (("shop.csv", "--out", "mine.toml", "--check"), "--check writes nothing"),
            (("shop.csv", "--layout", "mtn"), "--layout is for --check"),
        ],
    )
    def test_what_cannot_be_used_ends_with_2_and_says_why(self, arguments: tuple[str, ...], expected: str):
        done = run("layout", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert expected in said(done)
