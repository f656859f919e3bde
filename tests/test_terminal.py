"""What a person sees in a terminal: nothing is wider than it, and no word of what a pipe gets is lost."""

import os
import pty
import re
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook

from tests.conftest import KERNEL, free_port, invoke
from tests.test_certify import SHOP
from workbench import Workbench, commands
from workbench.domain.gaps import gaps_named
from workbench.resources import fixture, guide_paths
from workbench.text.render import DisplayColumn, DisplayTable, table

RUNS = """
import contextlib, fcntl, io, struct, sys, termios
from workbench.cli import app

for width in (None, *map(int, sys.argv[1].split())):
    if width:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
    piped = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.nullcontext() if width else contextlib.redirect_stdout(piped):
        app([each.replace("WIDTH", str(width)) for each in sys.argv[2:]], prog_name="workbench")
    print(piped.getvalue(), end="\\f")
"""
"""Runs a command into a pipe, and then in a terminal of each width; a form feed ends what each run prints."""
LIMIT_S = 300
WIDTHS = (80, 120)


@cache
def shown(folder: Path, *arguments: str, widths: tuple[int, ...] = WIDTHS, **variables: str) -> list[str]:
    """What the command `workbench` prints into a pipe, and in a terminal of each width."""
    ours, theirs = pty.openpty()
    environment = {name: each for name, each in os.environ.items() if name != "COLUMNS"} | variables
    command = [sys.executable, "-c", RUNS, " ".join(map(str, widths)), *arguments]
    with (folder / "stderr.txt").open("w") as errors:
        process = subprocess.Popen(command, stdout=theirs, stderr=errors, cwd=folder, env=environment)  # noqa: S603  our own command
    os.close(theirs)
    text = b""
    while part := _read(ours):
        text += part
    os.close(ours)
    assert process.wait(LIMIT_S) == 0, (folder / "stderr.txt").read_text()
    made = text.decode().replace("\r\n", "\n").split("\f")[:-1]
    assert all(each.strip() for each in made), (folder / "stderr.txt").read_text()
    return made


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so when the last of those who could write is gone
        return b""


def words(text: str, *, is_timed: bool) -> Counter[str]:
    """What must not be lost: no rules, anchors and targets of links, nothing that is cut off, no times that differ."""
    left_out = re.compile(r"[─|-]+|.*….*" + r"|[\d.]+|m?s[.,]?" * is_timed)
    told = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r'<a id="[^"]*"></a>', "", text))
    return Counter(each.strip(":") for each in told.split() if not left_out.fullmatch(each))


BOOKS, STATEMENTS = fixture("books"), fixture("statements")
BANK = f"{STATEMENTS / 'zanaco.csv'}"
RECONCILE = (
    "reconcile", f"{BOOKS / 'books.csv'}", f"{STATEMENTS / 'mtn_portal.csv'}", BANK,
    "--ledger-layout", f"{BOOKS / 'books.toml'}", "--layout", f"{BANK}={BOOKS / 'bank.toml'}",
)  # fmt: skip
COMMANDS = {
    "gaps": ("gaps",),
    "rows": ("gaps", "retry_schedule_s", "charge_amount_unit"),
    "evidence": ("fit", "trace.har"),
    "reconcile": RECONCILE,
    "month": ("reconcile", "month/ledger.parquet", "month/statements/mtn.csv", "month/statements/airtel.xlsx"),
    "simulate": ("simulate", "--payments", "20", "--days", "2", "--seed", "7", "--out", "simWIDTH/month"),
    "layout": ("layout", "--check", f"{STATEMENTS / 'zanaco.csv'}"),
    "check-live": ("check-live",),
    "docs": ("docs",),
    "interface": ("docs", "interface"),
    "run": ("run", "a_notebook_with_a_name_that_leaves_no_room_for_its_page.ipynb"),
    "certify": ("certify", "http://127.0.0.1:PORT/", "--cmd", f"{sys.executable} shop.py PORT careless"),
}  # fmt: skip
"""Name → a command that prints a table or a long text."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace, a month, notebooks and a shop."""
    made = tmp_path_factory.mktemp("terminal")
    with Workbench(seed=7) as bench:
        bench.client.payment_intents.create(amount=1)
        bench.trace.save(made / "trace.har")
        bench.simulate(payments=60, days=5, seed=7, out=made / "month")
    for name in COMMANDS["run"][1:]:
        nbformat.write(new_notebook(cells=[new_code_cell("1", id="a")], metadata=KERNEL), made / name)
    (made / "shop.py").write_text(SHOP)
    return made


LONG = {"run", "certify", "reconcile", "month", "simulate"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.thorough] if each in LONG else []) for each in COMMANDS]
)
def test_no_line_is_wider_than_the_terminal_and_no_word_of_a_pipe_is_lost(name: str, folder: Path):
    port = free_port()
    piped, *seen = shown(folder, *(each.replace("PORT", port) for each in COMMANDS[name]))
    for width, text in zip(WIDTHS, seen, strict=True):
        # A command is there to be pasted.
        lines = [line for line in text.splitlines() if not line.startswith("Next: ")]
        assert [line for line in lines if len(line) > width] == []
        assert words(piped, is_timed=name in LONG) - words(text, is_timed=name in LONG) == {}


ACCOUNTS = """
account     ledger rows  statement rows  matched  timing  in breaks
  matched by count  by net value  net variance  currency
──────────  ───────────  ──────────────  ───────  ──────  ─────────
Bank                  9              19       16       0         12
           57.14 %       93.43 %       +132.66  ZMW
"""
WIDE_ACCOUNTS = """
account     ledger rows      statement  matched  timing  in breaks      matched by  by net value  net variance  currency
                                  rows                                       count
──────────  ───────────  ─────────────  ───────  ──────  ─────────  ──────────────  ────────────  ────────────  ────────
Bank                  9             19       16       0         12         57.14 %       93.43 %       +132.66  ZMW
"""


@pytest.mark.thorough
def test_where_columns_would_be_too_narrow_a_row_is_a_record_below_headings_of_the_same_form(folder: Path):
    piped, narrow, wide = shown(folder, *RECONCILE)
    assert ACCOUNTS in narrow
    assert WIDE_ACCOUNTS in wide
    assert "\n  POS SETTLEMENT MERCHANT 00417\n" in narrow
    assert max(map(len, piped.splitlines())) > WIDTHS[-1]


@pytest.mark.parametrize("page", [*guide_paths(), "interface"])
def test_a_link_is_shown_as_the_command_that_prints_its_page_and_no_file(page: str, monkeypatch: pytest.MonkeyPatch):
    piped = invoke("docs", page).stdout
    monkeypatch.setattr(commands, "terminal_width", lambda **_: 100)
    seen = invoke("docs", page).stdout
    # What stands in a block of code is there to be copied.
    text = re.sub(r"^```.*?^```$", "", seen, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"\]\(|!\[|<!--", text)
    pages = {*re.findall(r"\]\((?:\.\./)*(?:notebooks/)?([\w-]+)\.md", piped)}
    assert pages <= {*guide_paths(), "interface"}
    assert {each for each in pages if f"(`workbench docs {each}`)" not in " ".join(text.split())} == set()


def test_the_register_uses_a_wide_terminal(folder: Path):
    piped, _, wide = shown(folder, "gaps", widths=(60, 200))
    assert max(map(len, piped.splitlines())) <= 80
    assert max(map(len, wide.splitlines())) > 160
    why = gaps_named(["clearing"])[0].unseen[None].split()[-1]
    assert [why in text for text in shown(folder, *COMMANDS["evidence"])] == [True, True, True]


def test_columns_overrides_the_width(folder: Path):
    _, text = shown(folder, "gaps", widths=(200,), COLUMNS="100")
    assert 90 < max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", ["gaps", "reconcile", pytest.param("certify", marks=pytest.mark.thorough)])
def test_columns_is_the_width_of_a_pipe_too_and_markdown_stays_markdown(name: str, folder: Path):
    port = free_port()
    piped, *_ = shown(folder, *(each.replace("PORT", port) for each in COMMANDS[name]), widths=(), COLUMNS="90")
    assert 80 < max(map(len, piped.splitlines())) <= 90
    markdown = [shown(folder, *COMMANDS["check-live"], widths=(), **each) for each in ({}, {"COLUMNS": "90"})]
    assert markdown[0] == markdown[1]


CELL = st.lists(st.sampled_from(["a", "b", "word", "word-by-word", "much_longer_word"]), max_size=12).map(" ".join)
HEADS = st.lists(st.builds(DisplayColumn, CELL, st.booleans()), min_size=1, max_size=6)
TABLES = HEADS.flatmap(
    lambda heads: st.lists(st.tuples(*(CELL for _ in heads)), max_size=5).map(
        lambda rows: table("A table", heads, rows)
    )
)


@given(TABLES, st.integers(20, 200))
def test_a_table_of_any_cells_keeps_its_words_and_the_width(made: DisplayTable, width: int):
    text = made.text(width)
    told = [
        word for row in ([each.heading for each in made.columns], *made.rows) for cell in row for word in cell.split()
    ]
    assert Counter(told) - Counter(text.split()) == {}
    # A word is not broken; where each cell has a line of its own, those below the first are indented.
    assert max(map(len, text.splitlines())) <= max(width, 2 + max(map(len, told), default=0))


def test_a_cell_may_be_a_number_and_a_row_with_a_cell_too_few_is_refused():
    assert table("", ("n", "of"), [(5, Decimal("1.50"))]).text().splitlines()[-1] == "5  1.50"
    with pytest.raises(ValueError, match=r"a row has 1 cells, and the table has 2 headings: \('a',\)"):
        table("", ("n", "of"), [("a",)])
