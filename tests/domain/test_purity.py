import ast
from importlib.resources import files
from pathlib import Path

import workbench.domain

MODULES = sorted(Path(str(files(workbench.domain))).rglob("*.py"))
ALLOWED = {
    "base64", "binascii", "collections", "collections.abc", "dataclasses", "datetime", "decimal", "difflib",
    "contextlib", "fractions", "functools", "hashlib", "hmac", "http", "itertools", "json", "re", "typing",
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


def impure_in(source: str) -> set[str]:
    """What is imported that is not allowed, what is called that is impure, and state that a function keeps."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names} - ALLOWED
            case ast.ImportFrom(module="workbench"):
                found |= {f"workbench.{alias.name}" for alias in node.names} - ALLOWED
            case ast.ImportFrom() if not f"{node.module}.".startswith("workbench.domain."):
                found |= {"." * node.level + (node.module or "")} - ALLOWED
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                found |= {name} & IMPURE
            case ast.Global() | ast.Nonlocal():
                found.add("state")
    return found


def test_a_module_of_the_domain_is_pure_and_keeps_no_state():
    assert len(MODULES) >= 16
    assert {module.stem: found for module in MODULES if (found := impure_in(module.read_text("utf-8")))} == {}
    for source, found in (
        ("import secrets\nsecrets.token_hex(8)", {"secrets", "token_hex"}),
        ("open('x')", {"open"}),
        ("from . import ids", {"."}),
        ("from workbench import bench, errors", {"workbench.bench"}),
        ("def draw():\n    global last", {"state"}),
    ):
        assert impure_in(source) == found
