import ast
from importlib.resources import files
from pathlib import Path

import workbench.domain

MODULES = sorted(Path(str(files(workbench.domain))).glob("*.py"))
ALLOWED = {
    "base64", "binascii", "collections", "collections.abc", "dataclasses", "datetime", "decimal", "difflib",
    "fractions", "hashlib", "hmac", "json", "re", "typing",
    "msgspec", "phonenumbers",
    "workbench.domain", "workbench.errors",
}  # fmt: skip
"""Data in, data out: nothing here can read a clock, a file, a socket or a source of chance by itself."""

IMPURE = {
    "open", "input", "print", "exec", "eval", "__import__", "globals", "breakpoint",
    "now", "utcnow", "today", "fromtimestamp", "time", "time_ns", "monotonic", "perf_counter", "sleep",
    "random", "randint", "choice", "shuffle", "token_hex", "token_bytes", "token_urlsafe", "urandom", "uuid4",
    "read_text", "write_text", "read_bytes", "write_bytes", "getenv",
}  # fmt: skip


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module)
    return names


def called(tree: ast.AST) -> set[str]:
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {each.id for each in functions if isinstance(each, ast.Name)} | {
        each.attr for each in functions if isinstance(each, ast.Attribute)
    }


def test_there_is_a_domain():
    assert len(MODULES) >= 12


def test_a_module_of_the_domain_is_pure_and_keeps_no_state():
    found = {}
    for module in MODULES:
        tree = ast.parse(module.read_text("utf-8"))
        foreign = {name for name in imported(tree) if not name.startswith("workbench.domain.")} - ALLOWED
        state = {"state" for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal)}
        found[module.stem] = foreign | called(tree) & IMPURE | state
    assert {name: each for name, each in found.items() if each} == {}


def test_what_is_impure_is_found():
    for source, found in (
        ("import time\ntime.time()", {"time"}),
        ("from datetime import datetime\ndatetime.now()", {"now"}),
        ("import secrets\nsecrets.token_hex(8)", {"token_hex"}),
        ("open('x')", {"open"}),
    ):
        assert called(ast.parse(source)) & IMPURE == found
