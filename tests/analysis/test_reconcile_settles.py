"""What a reconciliation proposes is taken by the service as it stands, and the next run finds it settled."""

from pathlib import Path

import pandas as pd

from workbench import Workbench
from workbench.analysis.reconcile import reconcile
from workbench.analysis.statements import read_statement

WITHOUT_ENTRY = {"ambiguous", "currency_mismatch", "timing", "invalid_row"}


def test_all_that_can_be_settled_is(tmp_path: Path):
    bench = Workbench()
    bench.simulate(payments=130, days=5, seed=3, out=tmp_path)
    statements = [read_statement(each) for each in sorted((tmp_path / "statements").iterdir())]
    accounts = sorted({each.account for each in statements})

    def run() -> pd.DataFrame:
        ledger = pd.concat([bench.ledger.statement_of(account) for account in accounts], ignore_index=True)
        result = reconcile(ledger, statements, engine="polars")
        # The ledger itself, as it is at hand in a notebook, is the same as its tables.
        pd.testing.assert_frame_equal(reconcile(bench.ledger, statements).breaks, result.breaks)
        assert result.proof["holds"].all()
        return result.breaks

    found = run()
    assert found["code"].nunique() > 15
    proposed = found[found["proposal"].notna()]
    assert set(found["code"]) - set(proposed["code"]) <= WITHOUT_ENTRY
    for item in proposed.to_dict("records"):
        bench.settle(item)
    left = run()
    assert set(left["code"]) <= WITHOUT_ENTRY
    assert sorted(left["key"].fillna("")) == sorted(found.loc[found["proposal"].isna(), "key"].fillna(""))
