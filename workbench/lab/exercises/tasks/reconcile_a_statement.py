"""Notebook 12: where to begin when there are twenty breaks."""

from typing import Any

from workbench.lab.exercises.facts import MTN_FLOAT, Reconciled, kwacha
from workbench.lab.exercises.shape import Exercise, Verdict, done, wrong


def _largest_break(result: Reconciled, largest: Any) -> Verdict:  # noqa: ANN401  a row of pandas, or a first try
    if getattr(largest, "ndim", 0) == 2:  # noqa: PLR2004  a table: of one row it is as good as the row
        largest = largest.iloc[0] if len(largest) == 1 else largest
    if getattr(largest, "ndim", 0) != 1 or not set(result.breaks.columns) <= set(largest.index):
        return wrong("The answer should be one row of result.breaks, with all its columns.")
    if largest["account"] != MTN_FLOAT:
        return wrong(f"This break is one of {largest['account']}, not of {MTN_FLOAT}.")
    breaks = result.breaks
    # As text: what is not known is not equal to itself.
    if not (breaks.map(str) == largest[breaks.columns].map(str)).all(axis=1).any():
        return wrong("This is no row of result.breaks: hand over one of them as it is.")
    sizes = breaks.loc[breaks["account"] == MTN_FLOAT, "variance_minor"].abs()
    size = abs(int(largest["variance_minor"]))
    larger = int((sizes > size).sum())
    if larger:
        are = "break of this account is" if larger == 1 else "breaks of this account are"
        return wrong(f"{larger} {are} larger than {kwacha(size)}, on one side or the other.")
    return done(f"{largest['code']}, {kwacha(size)}: begin with this one.")


LARGEST_BREAK = Exercise(
    name="largest_break",
    notebook="12_reconcile_a_statement",
    title="Where to begin",
    task="Which break changes the balance of operator:mtn:float most, in either direction? Put that row of "
    "result.breaks into largest.",
    hints=(
        "Take the rows of that account first: result.breaks.query(\"account == 'operator:mtn:float'\").",
        "A variance may be negative: compare its size without the sign.",
        'sort_values("variance_minor", key=abs) puts the largest last, and .iloc[-1] is the last row.',
    ),
    solution="""\
of_mtn = result.breaks.query("account == 'operator:mtn:float'")
largest = of_mtn.sort_values("variance_minor", key=abs).iloc[-1]
""",
    check=_largest_break,
)
