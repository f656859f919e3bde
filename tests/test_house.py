"""The rules of the house, each as one test."""

import ast
import importlib
import itertools
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from workbench.domain.masking import mask

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"
TOP = {"pyproject.toml", "README.md", "notebooks", "workbench", "fixtures", "tests"}
MONEY_IS_WHOLE_IN = ("domain", "sandbox/service", "sandbox/store")
NO_DIVISION_IN = ("domain", "sandbox/service")
SUPPRESSION = re.compile(r"#\s*(?:ruff:\s*)?noqa|#\s*type:\s*ignore|#\s*pragma:")
WITH_REASON = re.compile(r"# noqa: [A-Z]+[0-9]+(?:, ?[A-Z]+[0-9]+)*  \S+|# type: ignore\[[\w, -]+\]  \S+")
LOOKS_LIKE_A_KEY = re.compile(r"[sp]k_(?:test|live)_[0-9A-Za-z]{16,}|whsec_[A-Za-z0-9+/]{20,}")
OF_A_MACHINE = re.compile(r"/(?:home|Users|root|tmp)/[\w.-]+/|[A-Z]:\\\\Users")
INEXACT = re.compile(r"\b(?:REAL|FLOAT|DOUBLE|NUMERIC|DECIMAL)\b", re.IGNORECASE)


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py"))


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tracked() -> list[Path]:
    """The files of the repository; a source archive has none to ask."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607  the git of whoever runs the tests
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def has_reason(line: str, above: str) -> bool:
    """On its own line, or, for one that counts for a whole file, on the line above."""
    return bool(WITH_REASON.search(line)) or (line.startswith("# ruff: noqa: ") and above.startswith("# "))


def test_every_suppression_states_its_reason():
    bare = []
    for path in [*modules("."), *(ROOT / "tests").rglob("*.py")]:
        lines = enumerate(itertools.pairwise(path.read_text("utf-8").splitlines()), start=2)
        suppressed = [each for each in lines if SUPPRESSION.search(each[1][1]) and path != Path(__file__)]
        bare += [f"{named(path)}:{place}" for place, (above, line) in suppressed if not has_reason(line, above)]
    assert bare == []


def described(path: Path) -> set[int]:
    """The steps of numbers in JSON Schema, which describe an amount and never are one."""
    nodes = list(ast.walk(parsed(path)))
    dicts = [pair for node in nodes if isinstance(node, ast.Dict) for pair in zip(node.keys, node.values, strict=True)]
    rows = {id(value) for key, value in dicts if isinstance(key, ast.Constant) and key.value == "multipleOf"}
    return rows | {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg == "multipleOf"}


def is_float(node: ast.AST) -> bool:
    return (isinstance(node, ast.Constant) and type(node.value) is float) or getattr(node, "id", "") == "float"


def test_no_float_is_where_money_is_and_nothing_is_divided_into_one():
    floats = [
        f"{named(path)}:{node.lineno}"
        for path in modules(*MONEY_IS_WHOLE_IN)
        for node in ast.walk(parsed(path))
        if is_float(node) and id(node) not in described(path)
    ]
    assert floats == []
    walked = ((path, node) for path in modules(*NO_DIVISION_IN) for node in ast.walk(parsed(path)))
    assert [named(path) for path, node in walked if isinstance(node, ast.Div)] == []


def test_what_moves_in_the_consoles_sheet_stands_on_lines_of_their_own():
    """A notebook takes those lines out of the rules that are the console's alone."""
    text = (PACKAGE / "lab" / "console" / "console.css").read_text("utf-8")
    lines = re.findall(r"^@keyframes wb-\w+ \{(?: [\w%, ]+ \{[^}]*\})+ \}$", text, re.MULTILINE)
    assert len(lines) == text.count("@keyframes") > 0


def test_no_column_of_the_store_is_inexact():
    assert INEXACT.findall((PACKAGE / "sandbox" / "store" / "schema.sql").read_text("utf-8")) == []


def test_the_top_of_the_repository_holds_these_and_dot_files_alone():
    assert {top for path in tracked() if not (top := path.relative_to(ROOT).parts[0]).startswith(".")} == TOP


def test_nothing_that_looks_like_a_key_and_no_path_of_a_machine_is_in_the_repository():
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{named(path)}: {each}" for each in LOOKS_LIKE_A_KEY.findall(text)]
        if path.suffix in {".py", ".md", ".toml", ".ipynb", ".json", ".sql", ".txt"}:
            found += [f"{named(path)}: {each}" for each in OF_A_MACHINE.findall(text)]
    assert found == []


def test_no_output_of_a_notebook_holds_a_secret_or_a_whole_number():
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        outputs = [
            output for cell in json.loads(notebook.read_text("utf-8"))["cells"] for output in cell.get("outputs", ())
        ]
        texts = ["".join(text) for each in outputs for text in (each.get("text", ""), *each.get("data", {}).values())]
        shown = [text for text in texts if not text.startswith("iVBOR")]
        assert shown, notebook.stem
        assert [line for text in shown for line in text.splitlines() if mask(line) != line] == [], notebook.stem


FINDS_A_NUMBER = {
    "workbench.domain.masking", "workbench.domain.phones",
    # How a party is written, and a pattern that a draft offers: neither hides anything.
    "workbench.analysis.statements.draft",
}  # fmt: skip
LONG_NUMBERS = ("+254712345678", "+263 77 123 4567", "0961234567", "254712345678")
NO_LONG_NUMBER = ("1500.00", "2026", "12345678", "abcdefghijklmnop", "+1500.00", "order-81")


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, tuple | list | set | frozenset):
        yield from itertools.chain.from_iterable(map(patterns_in, value))
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(patterns_in, value.values()))


def finds_a_number(pattern: re.Pattern[str]) -> bool:
    """Whether it finds a customer's number in a sentence, and nothing in texts without a long one."""
    found = [pattern.search(f"to {number} now") for number in LONG_NUMBERS]
    whole = [each for each in found if each and sum(map(str.isdigit, each[0])) > len("20261031")]
    return bool(whole) and not any(map(pattern.search, NO_LONG_NUMBER))


@pytest.mark.thorough
def test_what_is_masked_stands_in_one_table():
    """A second pattern for customers' numbers would mask others than the first; a second mark would not be known."""
    finds: set[str] = set()
    for path in modules("."):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name != "workbench.__main__" and any("re.compile(" in line for line in path.read_text("utf-8").splitlines()):
            kept = patterns_in([*vars(importlib.import_module(name)).values()])
            finds |= {name} if any(map(finds_a_number, kept)) else set()
    assert finds == FINDS_A_NUMBER
    marks = {
        named(path) for path in modules(".") for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch("•{2,}", node.value)
    }  # fmt: skip
    assert marks == set(), "import MARK"


def is_of_formulas(texts: Iterable[object]) -> bool:
    """Whether these, each a text of no letters, are signs with which formulas begin."""
    signs = "".join(each for each in texts if isinstance(each, str))
    return {"=", "+", "-", "@"} <= set(signs) and not re.search(
        "[A-Za-z0-9]{3}|[/:]", re.sub(r"\\u\w{4}|\\.", "", signs)
    )


@pytest.mark.thorough
def test_what_begins_a_formula_stands_in_one_table():
    found = []
    for path in modules("."):
        nodes = [*ast.walk(parsed(path))]
        groups = [[node] for node in nodes] + [
            node.elts for node in nodes if isinstance(node, ast.Tuple | ast.List | ast.Set)
        ]
        texts = [[each.value for each in group if isinstance(each, ast.Constant)] for group in groups]
        found += [named(path) for each in texts if is_of_formulas(each)]
    for path in [*PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.html")]:
        classes = re.findall(r"\[((?:[^\]\\\n]|\\.)+)\]", path.read_text("utf-8"))
        found += [named(path) for each in classes if is_of_formulas([each])]
    assert found == ["workbench/visible.py"]
