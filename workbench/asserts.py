"""An IPython extension, loaded by `workbench run`: a bare `assert` that fails in a notebook shows the compared values.

If `assert paid == due` fails, its message has both values: 150 == 146. Each side is still evaluated only once. An
assert with a message of its own stays unchanged.
"""

import ast
import builtins
import reprlib
from typing import Any, Final

from workbench.domain.masking import mask, shortened

_SHOWN: Final = 200
"""The most characters shown of a value, or of an assert's text."""
_EXPLAIN: Final = "__workbench_assert__"
_REPR: Final = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _SHOWN
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxdict = 20
_OPERATORS: Final = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401  IPython's shell, which this module does not load
    """Loads the extension; IPython calls this."""
    setattr(builtins, _EXPLAIN, _explained)
    shell.ast_transformers.append(_Asserts())


class _Asserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        """Gives the assert a message with the compared values, and deletes their variables in a statement after it."""
        if node.msg is not None:
            return node
        kept: list[str] = []
        text, test = ast.unparse(node.test), node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            operator = _OPERATORS[type(test.ops[0])]
            test.left = _kept(test.left, kept)
            test.comparators = [_kept(test.comparators[0], kept)]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            operator, test.operand = "", _kept(test.operand, kept)
        else:
            operator, node.test = "", _kept(test, kept)
        values = ", ".join(kept)
        node.msg = ast.parse(f"{_EXPLAIN}({text!r}, {operator!r}, {values})", mode="eval").body
        gone = ast.parse(f"del {values}").body
        for removed in (node.msg, *gone):
            for part in ast.walk(removed):
                ast.copy_location(part, node)
        return [node, *gone]


def _kept(value: ast.expr, kept: list[str]) -> ast.expr:
    """An expression that evaluates `value` and assigns it to a new name; adds the name to `kept`."""
    kept.append(f"_workbench_assert_{len(kept)}")
    named = ast.NamedExpr(target=ast.Name(kept[-1], ast.Store()), value=value)
    for node in (named, named.target):
        ast.copy_location(node, value)
    return named


def _explained(text: str, operator: str, *values: object) -> str:
    shown = f" {operator} ".join(_shown(value) for value in values)
    text = shortened(text, _SHOWN, counts_mark=False)
    return text if shown == text else f"{text}, with {shown}"


def _shown(value: object) -> str:
    """The value's repr, masked and shortened; its type if the repr raises, so that the assert is still reported."""
    return shortened(mask(_REPR.repr(value)), _SHOWN, counts_mark=False)
