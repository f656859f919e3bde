"""The tree of errors, and the table of their codes against the source: those that are raised, no other."""

import ast
import re
from pathlib import Path

import workbench
from workbench import errors
from workbench.domain.catalogue import CODES, OPERATOR_NAMES
from workbench.domain.payments import FAILURES
from workbench.errors import ApiError, WorkbenchError

SOURCES = [path.read_text("utf-8") for path in sorted(Path(workbench.__file__).parent.rglob("*.py"))]
TREE = dict(re.findall(r"[├└]── (\w+) +(.+)", errors.__doc__))


def all_below(root: type[Exception]) -> list[type[Exception]]:
    return [each for child in root.__subclasses__() for each in (child, *all_below(child))]


KINDS = {each.__name__: each for each in all_below(ApiError)}
RAISES = {"Resource": "NotFound", "check_known": "InvalidRequest", "_refusal": "InvalidRequest"}
"""What is called with a code → the class that it raises."""


def codes_in(source: str) -> set[tuple[str, str]]:
    """(code, class) of every call of a class of errors that names a code, of a choice both branches.

    One that is put together as the program runs stands as its expression, and so is in no table.
    """
    # Only a fifth of the files hold such a call, and to parse all of them takes seconds.
    tree = ast.parse(source if "code=" in source else "")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [(ast.unparse(call.func), each.value) for call in calls for each in call.keywords if each.arg == "code"]
    named += [(kind, each) for kind, of in named if isinstance(of, ast.IfExp) for each in (of.body, of.orelse)]
    found = {(RAISES.get(kind, kind), value) for kind, value in named}
    return {
        (value.value if isinstance(value, ast.Constant) else ast.unparse(value), kind)
        for kind, value in found
        if kind in {"ApiError", *KINDS} and isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp)
    }


def test_the_codes_that_are_raised_stand_in_the_table_with_their_class_and_no_other():
    raised = set().union(*map(codes_in, SOURCES))
    defaults = {(kind.default_code, name) for name, kind in KINDS.items()}
    assert {(code, row.kind.__name__) for code, row in CODES.items()} == raised | defaults


def test_failures_of_an_operator_have_its_names():
    assert set(OPERATOR_NAMES) <= set(FAILURES)
    assert OPERATOR_NAMES["insufficient_funds"] == ("NOT_ENOUGH_FUNDS", "DP00800001007", "INSUFFICIENT_BALANCE")


def test_every_exception_stands_in_the_tree_and_each_answer_with_a_status_and_a_code_of_its_own():
    ours = [each for each in all_below(WorkbenchError) if each.__module__ == errors.__name__]
    assert set(TREE) == {kind.__name__ for kind in ours}
    for member in ("status", "default_code", "title"):
        assert len({getattr(kind, member) for kind in KINDS.values()}) == len(KINDS)
    assert {name: TREE[name] for name in KINDS} == {name: str(kind.status) for name, kind in KINDS.items()}
