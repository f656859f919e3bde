"""Both sides brought to one shape, with what each row does to its account."""

from collections.abc import Mapping

import narwhals.stable.v2 as nw

from workbench.analysis.reconcile.columns import LEDGER, NUMBER, ROW, STATEMENT, Frame
from workbench.analysis.reconcile.engines import Engine, conform
from workbench.analysis.reconcile.rules import DAY_MS

COMPLETED = "completed"
STATUSES = (COMPLETED, "failed", "pending")
DIRECTIONS = ("in", "out")

_NAMES: Mapping[str, Mapping[str, str]] = {
    LEDGER: {"no": "number", "entry": "entry", "kind": "kind", "refers": "reverses", "state": "state"},
    STATEMENT: {
        "source": "statement", "no": "line", "kind": "type", "refers": "related", "problem": "problem",
    },
}  # fmt: skip
"""The row's name of a column → the side's own."""


def rows_of(engine: Engine, frame: Frame, side: str, *, keep: tuple[str, ...] = ()) -> Frame:
    """The rows of one side in the shape ROW; `frame` has the side's own columns, as an engine loads them.

    Of those, the numbers named by `keep` stand at the end.
    """
    names = _NAMES[side]
    given = frame.select(
        "account", "key", "batch", "direction", "currency", "status", "phone",
        *(nw.col(theirs).alias(ours) for ours, theirs in names.items()),
        *(nothing("account").alias(name) for name in ("source", "entry", "state", "problem") if name not in names),
        at=nw.col("occurred_at"), day=nw.col("business_date"),
        amount=nw.col("amount_minor"), fee=nw.col("fee_minor"), **{name: nw.col(name) for name in keep},
    )  # fmt: skip
    made = given.with_columns(
        side=nw.lit(side),
        g=nw.coalesce("batch", "key"),
        order=nw.coalesce(nw.col("at"), nw.col("day") * DAY_MS).fill_null(0),
        moves=(nw.col("status") == COMPLETED).fill_null(value=False),
        signed=effect(),
    )
    return conform(engine, made, {**ROW, **dict.fromkeys(keep, NUMBER)})


def effect(prefix: str = "") -> nw.Expr:
    """What a row does to its account, signed; nothing where that cannot be told."""
    status, direction, amount, fee = (nw.col(f"{prefix}{name}") for name in ("status", "direction", "amount", "fee"))
    moved = nw.when(direction == "in").then(amount).otherwise(-amount) - fee.fill_null(0)
    told = (status == COMPLETED) & _either(f"{prefix}direction", DIRECTIONS)
    return nw.when(told).then(moved).otherwise(0).fill_null(0)


def nothing(like: str) -> nw.Expr:
    """Null, of the type of the column `like`: a literal null has no type in some engines."""
    return nw.when(nw.col(like).is_null()).then(nw.col(like))


def unreadable() -> nw.Expr:
    """True for a row that no rule can work with: a key is missing, or a field that every movement has."""
    missing = [nw.col(name).is_null() for name in ("key", "amount", "fee", "currency", "day")]
    odd = [nw.col("amount") < 0, nw.col("fee") < 0, ~nw.col("problem").is_null()]
    strange = [~_either("direction", DIRECTIONS), ~_either("status", STATUSES)]
    wrong = missing[0]
    for each in (*missing[1:], *(check.fill_null(value=False) for check in odd), *strange):
        wrong = wrong | each
    return wrong


def _either(name: str, words: tuple[str, ...]) -> nw.Expr:
    found = nw.col(name) == words[0]
    for word in words[1:]:
        found = found | (nw.col(name) == word)
    return found.fill_null(value=False)
