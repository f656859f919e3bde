"""A pattern of the user's own runs on RE2 alone: none takes for ever, and what RE2 lacks is refused by name."""

from pathlib import Path
from time import perf_counter

import pandas as pd
import pytest

from workbench import read_statement, reconcile
from workbench.analysis.reconcile.decisions import Rule
from workbench.analysis.statements import Layout
from workbench.analysis.statements.layouts import LONGEST_PATTERN
from workbench.errors import ReconcileRefused, StatementRefused

RUNS_AWAY = "(a+)+$"
LONG = f"{'a' * 5_000}!"
COLUMNS = {"key": "Ref", "moment": "Day", "description": "Text", "amount": "Amount"}


def written(path: Path) -> Path:
    path.write_text(f"Ref,Day,Text,Amount\nT1,2026-10-01,{LONG},-5.00\nT2,2026-10-02,RENT aaa,-6.00\n", "utf-8")
    return path


def layout(pattern: str) -> Layout:
    return Layout("mine", COLUMNS, ("%Y-%m-%d",), account="bank:settlement", key_pattern=pattern)


@pytest.mark.thorough
def test_a_pattern_on_which_others_run_away_is_fast_in_a_layout_and_in_a_rule(tmp_path: Path):
    begin = perf_counter()
    statement = read_statement(written(tmp_path / "bank.csv"), layout=layout("(?P<related>(?:a+)+$)"))
    assert statement.rows["related"].fillna("").tolist() == ["", "aaa"]
    (tmp_path / "rules.toml").write_text(f"[[rule]]\nnarrative = '{RUNS_AWAY}'\nkind = 'rent'\nexpected = true\n")
    ours = pd.DataFrame(
        {"account": "bank:settlement", "key": ["T0"], "occurred_at": ["2026-10-01"], "amount": ["1.00"]}
    )
    breaks = reconcile(ours, statement, rules=tmp_path / "rules.toml").breaks
    decided = breaks.set_index("key")["verdict"].fillna("").to_dict()
    assert (decided["T1"], decided["T2"]) == ("", "expected")
    assert perf_counter() - begin < 20


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(?P<key>a)\1", "neither backreferences nor lookaround: invalid escape sequence"),
        ("(?P<key>a(?=b))", "neither backreferences nor lookaround: invalid perl operator"),
        ("(?P<key>(?<!x)b)", "neither backreferences nor lookaround"),
        ("(?P<key>a{2000})", "invalid repetition size"),
        (f"(?P<key>{'a' * LONGEST_PATTERN})", "has 509 characters; a pattern has at most 500"),
    ],
)
def test_what_re2_does_not_take_is_refused_with_the_reason(pattern: str, why: str):
    with pytest.raises(StatementRefused, match=f"'mine' cannot be used: key_pattern .*{why}"):
        layout(pattern)
    with pytest.raises(ReconcileRefused, match=f"The rule 'x' cannot be used: .*{why}"):
        Rule("x", narrative=pattern, kind="y")
