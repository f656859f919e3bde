"""The table of mutants fits the package: each text is there once, what it becomes is Python, its tests are there."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants import KILLED, ROOT, SURVIVED, UNTRIED, Mutant, chosen, main, table

ROWS = table()


@cache
def functions(path: Path) -> set[str]:
    """The classes and tests of a file, as in a node id."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        found.add(getattr(node, "name", ""))
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


@cache
def statements(source: str) -> list[str]:
    return [*map(ast.dump, ast.parse(source).body)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.file}: {row.was.strip()}")
def test_each_applies_once_and_its_tests_are_there(row: Mutant):
    source = (ROOT / "workbench" / row.file).read_text("utf-8")
    changed = row.applied(source)
    assert changed != source
    if row.file.endswith(".py"):
        assert any(map(str.__ne__, statements(source), map(ast.dump, ast.parse(changed).body)))
    assert row.hurts.endswith(".")
    assert row.tests
    for test in row.tests:
        name, _, place = test.partition("::")
        assert (ROOT / "tests" / name).is_file(), test
        assert not place or place.partition("[")[0] in functions(ROOT / "tests" / name), test


def test_no_mutant_stands_there_twice_and_every_folder_of_the_package_has_one():
    times = Counter((row.file, row.was, row.becomes) for row in ROWS)
    assert [each for each in times if times[each] > 1] == []
    package = ROOT / "workbench"
    folders = {path.parent.relative_to(package).as_posix() for path in package.rglob("*.py")}
    assert folders - {row.folder for row in ROWS} == set()


def test_rows_are_chosen_by_their_text_and_their_folder():
    assert chosen(ROWS, [], []) == ROWS
    assert {row.file for row in chosen(ROWS, ["sandbox/driver.py"], [])} == {"sandbox/driver.py"}
    assert {row.folder.partition("/")[0] for row in chosen(ROWS, [], ["sandbox"])} == {"sandbox"}
    assert {row.folder for row in chosen(ROWS, [], ["."])} == {"."}
    assert chosen(ROWS, ["sandbox/driver.py"], ["domain"]) == []


OF_ITS_OWN = """
[[mutant]]
file = "domain/money.py"
was = "from typing import"
becomes = "{becomes}"
hurts = "Nobody."
tests = ["domain/test_money.py"]
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("becomes", "said"), [("from typing import", SURVIVED), ("assert 0  #", UNTRIED)])
def test_one_that_no_test_notices_or_that_cannot_be_imported_is_an_error(
    becomes: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "table.toml"
    path.write_text(OF_ITS_OWN.format(becomes=becomes), "utf-8")
    assert main(["--table", str(path)]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.thorough
def test_one_of_the_table_is_killed_and_the_checkout_is_as_it_was(capsys: pytest.CaptureFixture[str]):
    source = ROOT / "workbench" / "domain" / "signatures.py"
    before = source.read_bytes(), source.stat().st_mtime_ns
    assert main(["--only", "times[0]"]) == 0
    assert capsys.readouterr().out.startswith(f"{KILLED}  domain/signatures.py: ")
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
