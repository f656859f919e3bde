"""The table of error codes against the source: each code that is raised stands in it, and nothing else."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import workbench
from workbench import errors
from workbench.domain.catalogue import CODES, OPERATOR_NAMES
from workbench.domain.payments import FAILURES
from workbench.errors import ApiError

SOURCES = sorted(Path(workbench.__file__).parent.rglob("*.py"))
KINDS = {each.__name__: each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ApiError)}
DEFAULTS = {(kind.default_code, name) for name, kind in KINDS.items() if kind is not ApiError}


parsed = cache(ast.parse)


def codes_in(source: str) -> Iterator[tuple[str, str]]:
    """(code, class) of every call of a class of errors that names a code, in either branch of a choice."""
    for node, value in named_codes(source):
        if isinstance(node.func, ast.Name) and node.func.id in KINDS:
            for each in (value, *branches_of(value)):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value, node.func.id


def composed_in(source: str) -> list[str]:
    """Codes that are put together as the program runs: none of the tests here would see what they come to."""
    return [ast.unparse(value) for _, value in named_codes(source) if isinstance(value, ast.JoinedStr | ast.BinOp)]


def named_codes(source: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    if "code" in source:
        for node in ast.walk(parsed(source)):
            if isinstance(node, ast.Call):
                yield from ((node, keyword.value) for keyword in node.keywords if keyword.arg == "code")


def branches_of(value: ast.expr) -> tuple[ast.expr, ...]:
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else ()


RAISED = {found for path in SOURCES for found in codes_in(path.read_text("utf-8"))}


def test_there_is_something_to_find():
    assert len(RAISED) > 50
    assert ("parameter_missing", "InvalidRequest") in RAISED


def test_the_codes_that_are_raised_stand_in_the_table_with_their_class_and_no_other():
    assert {(code, row.kind.__name__) for code, row in CODES.items()} == RAISED | DEFAULTS


def test_a_code_stands_in_the_source_as_it_is_sent():
    assert {path.name: found for path in SOURCES if (found := composed_in(path.read_text("utf-8")))} == {}
    assert composed_in("raise NotFound('x', code=f'key_{state}')") == ["f'key_{state}'"]


def test_a_row_says_in_sentences_what_it_means_and_what_to_do():
    for code, row in CODES.items():
        assert row.means.endswith("."), code
        assert row.do.endswith("."), code
        assert row.means != row.do, code


def test_rows_stand_by_class():
    kinds = [row.kind for row in CODES.values()]
    assert len([at for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] is not kind]) == len(set(kinds))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise NotFound('x', code='a_b')", {("a_b", "NotFound")}),
        ("InvalidRequest('x', code='a' if y else 'b')", {("a", "InvalidRequest"), ("b", "InvalidRequest")}),
        ("InvalidRequest('x', code=other.code)", set()),
        ("Something('x', code='a')", set()),
    ],
)
def test_what_is_raised_is_found(source: str, found: set[tuple[str, str]]):
    assert set(codes_in(source)) == found


def test_failures_of_an_operator_have_its_names():
    assert set(OPERATOR_NAMES) <= set(FAILURES)
    assert OPERATOR_NAMES["insufficient_funds"] == ("NOT_ENOUGH_FUNDS", "DP00800001007", "INSUFFICIENT_BALANCE")
    assert OPERATOR_NAMES["payer_busy"].mtn == "ONGOING"
    assert OPERATOR_NAMES["wrong_pin"] == ("", "DP00800001002", "")
