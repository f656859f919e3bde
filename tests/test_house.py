"""The rules of the house, each as one test."""

import ast
import itertools
import json
import re
import subprocess
from collections import Counter
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
NAMESAKES = {
    "a schema of /openapi.json, named as the interface names it": "Event EventData",
    "a command, named after the function that it runs": "certify fit reconcile serve simulate",
    "the name by which IPython calls an extension": "load_ipython_extension",
}
"""Reason → names that stand in a second module; a name that stands in a third, too, is here twice."""
HEADLESS = re.compile(r"(What|Whether|How|Those|That|Which|The same|The one|As many|So many|Where|Here|In what)\b")
"""Beginnings of a docstring that name nothing: it begins with the thing or with the verb."""
EMPTY_NAMES = {"told", "further", "met", "alone", "here", "Was", "Seen", "Open", "each"}
"""Names that do not name a thing."""
EMPTY_NAMES_STAY = {
    "a method of the client, which users call": "merchant/client.py:each",
    "the command `workbench each`": "commands/shop.py:each",
    "a field of the register, which is a file": "domain/gaps.py:here",
    "a table of the carry-forward, which is a file": "analysis/reconcile/carry_forward.py:told",
}
"""Reason → places of EMPTY_NAMES, as file:name; one that is no longer there goes."""


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


def name_of(node: ast.AST) -> str:
    """The name that a node gives to a variable, a parameter, a function or a class; empty for any other node."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""


def listed(table: dict[str, str]) -> list[str]:
    return sorted(name for names in table.values() for name in names.split())


def test_public_functions_and_classes_of_different_modules_have_different_names():
    tops = [name_of(node) for path in modules(".") for node in parsed(path).body]
    times = Counter(name for name in tops if name and not name.startswith("_"))
    assert sorted((times - Counter([*times])).elements()) == listed(NAMESAKES)


def test_docstrings_begin_with_a_thing_or_a_verb():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    documented = [node for path in modules(".") for node in ast.walk(parsed(path)) if isinstance(node, kinds)]
    assert [node.name for node in documented if HEADLESS.match(ast.get_docstring(node) or "")] == []


def test_names_name_a_thing():
    places = {
        f"{path.relative_to(PACKAGE).as_posix()}:{name}"
        for path in modules(".")
        for node in ast.walk(parsed(path))
        if (name := name_of(node).strip("_")) in EMPTY_NAMES
    }
    assert sorted(places) == listed(EMPTY_NAMES_STAY)


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
