"""The README is run: what it shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"`((?:workbench|notebooks|tests|fixtures)/[\w./]*)`")


class Block(NamedTuple):
    """A fenced block: its language and its text."""

    language: str
    text: str


def section(title: str) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README has no section {title}"
    return found[1]


def blocks(text: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(text)]


def test_the_quick_start_is_one_block_of_two_lines():
    (only,) = blocks(section("Quick start"))
    assert len(only.text.splitlines()) == 2
    assert all(line.strip() for line in only.text.splitlines())


def test_the_quick_start_installs_and_runs_the_notebooks_then_the_tests():
    run, test = blocks(section("Quick start"))[0].text.splitlines()
    assert "pip install ." in run
    assert "workbench run" in run
    assert "[test]" in test
    assert "pytest" in test


def test_the_first_payment_prints_what_the_readme_shows():
    code, shown = blocks(section("A payment in one cell"))
    assert (code.language, shown.language) == ("python", "text")
    done = subprocess.run(  # noqa: S603  the README's own lines
        [sys.executable, "-c", code.text], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == shown.text
    assert done.stderr == ""


@pytest.mark.parametrize("notebook", sorted(each.stem for each in (ROOT / "notebooks").glob("*.ipynb")))
def test_every_notebook_is_listed(notebook: str):
    assert f"`{notebook}`" in section("The notebooks")


def test_no_notebook_is_listed_that_is_not_there():
    listed = re.findall(r"^\d+\. `(\w+)`", section("The notebooks"), re.MULTILINE)
    assert listed == sorted(each.stem for each in (ROOT / "notebooks").glob("*.ipynb"))


def test_every_path_it_names_is_there():
    named = LINK.findall(README)
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]
