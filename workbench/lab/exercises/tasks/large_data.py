"""Notebook 13: one account of the whole, by the same call."""

from collections import Counter

from workbench.lab.exercises.facts import MTN_FLOAT, Reconciled
from workbench.lab.exercises.shape import Exercise, Verdict, done, wrong


def _codes_and_sizes(result: Reconciled) -> "Counter[tuple[str, int]]":
    """The breaks of the account by code and size."""
    of_account = result.breaks.loc[result.breaks["account"] == MTN_FLOAT]
    return Counter(zip(of_account["code"].astype(str), of_account["variance_minor"].astype(int), strict=True))


def _one_account(result: Reconciled, one: Reconciled) -> Verdict:
    if type(one) is not type(result) or not hasattr(one, "proof"):
        return wrong(f"The answer is a {type(one).__name__}, and should be what reconcile returns.")
    accounts = sorted(set(one.proof["account"]))
    if accounts != [MTN_FLOAT]:
        return wrong(f"It compares {', '.join(accounts)}. Leave the other rows out of the file of statements.")
    expected = int((result.breaks["account"] == MTN_FLOAT).sum())
    if len(one.breaks) != expected:
        return wrong(f"It finds {len(one.breaks)} breaks, where the whole has {expected} for this account.")
    if _codes_and_sizes(one) != _codes_and_sizes(result):
        return wrong(f"It finds {expected} breaks, as many as the whole, and not the same breaks. Copy every row.")
    return done(f"{expected} breaks, as many as the whole has for {MTN_FLOAT}.")


ONE_ACCOUNT = Exercise(
    name="one_account",
    notebook="13_when_the_data_outgrows_the_laptop",
    title="One account of many",
    task="Write the statement rows of operator:mtn:float into a Parquet file of their own, without loading them "
    "into Python, and reconcile the ledger with that file. Put the result into one.",
    hints=(
        "Step 3 copies rows from one Parquet file into another with duckdb.sql.",
        "COPY (FROM '…' WHERE account = 'operator:mtn:float') TO '…' (FORMAT parquet)",
    ),
    solution="""\
mine = folder / "mtn.parquet"
duckdb.sql(f"COPY (FROM '{statements}' WHERE account = 'operator:mtn:float') TO '{mine}' (FORMAT parquet)")
one = reconcile(ledger, mine)
""",
    check=_one_account,
)
