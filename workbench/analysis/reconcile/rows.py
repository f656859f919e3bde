"""Both sides brought to one shape, with what each row does to its account."""

from collections.abc import Mapping, Sequence

import narwhals.stable.v2 as nw
import pyarrow as pa

from workbench.analysis.reconcile.columns import LEDGER, NUMBER, ROW, STATEMENT, WORD, Frame
from workbench.analysis.reconcile.engines import Engine, conform
from workbench.analysis.shapes import COMPLETED, DIRECTIONS, STATUSES
from workbench.domain.moments import DAY_MS

_NAMES: Mapping[str, Mapping[str, str]] = {
    LEDGER: {"no": "number", "entry": "entry", "kind": "kind", "refers": "reverses", "state": "state"},
    STATEMENT: {
        "source": "statement", "no": "line", "kind": "type", "refers": "related", "problem": "problem",
    },
}  # fmt: skip
"""The row's name of a column → the side's own."""


def rows_of(engine: Engine, frame: Frame, side: str, *, keep: tuple[str, ...] = (), carried: bool = False) -> Frame:
    """The rows of one side in the shape ROW, but for the account, which is still its name.

    `frame` has the side's own columns, as an engine loads them, and if `carried` the column `was`; those numbers
    named by `keep` stand at the end. An empty text names nothing: many a table has it where a null belongs.
    """
    names = _NAMES[side]
    given = frame.select(
        "account", "direction", "currency", "status", "phone",
        *(nw.when(nw.col(name) != "").then(nw.col(name)) for name in ("key", "batch")),
        *(nw.col(theirs).alias(ours) for ours, theirs in names.items()),
        *(nothing("account").alias(name) for name in ("source", "entry", "state", "problem") if name not in names),
        was=nw.col("was") if carried else nothing("account"),
        at=nw.col("occurred_at"), day=nw.col("business_date"),
        amount=nw.col("amount_minor"), fee=nw.col("fee_minor"), **{name: nw.col(name) for name in keep},
    )  # fmt: skip
    return conform(
        engine,
        given,
        {**ROW, "account": WORD, **dict.fromkeys(keep, NUMBER)},
        side=nw.lit(side),
        g=nw.coalesce("batch", "key"),
        order=nw.coalesce(nw.col("at"), nw.col("day") * DAY_MS).fill_null(0),
        moves=(nw.col("status") == COMPLETED).fill_null(value=False),
        signed=effect(),
    )


def numbered(engine: Engine, rows: Frame, accounts: Sequence[str]) -> Frame:
    """The rows with the places of their accounts in `accounts` for the names: the shape ROW."""
    place = nw.when(nw.col("account") == accounts[0]).then(0)
    for number, account in enumerate(accounts[1:], start=1):
        place = place.when(nw.col("account") == account).then(number)
    return conform(engine, rows, ROW, account=place)


def named(table: pa.Table, accounts: Sequence[str]) -> pa.Table:
    """A collected table with the names of its accounts again."""
    names = pa.array(accounts, pa.string()).take(table["account"])
    return table.set_column(table.schema.get_field_index("account"), "account", names)


def effect(prefix: str = "") -> nw.Expr:
    """What a row does to its account, signed; nothing where that cannot be told."""
    status, direction, amount, fee = (nw.col(f"{prefix}{name}") for name in ("status", "direction", "amount", "fee"))
    moved = nw.when(direction == "in").then(amount).otherwise(-amount) - fee.fill_null(0)
    reported = (status == COMPLETED) & _either(f"{prefix}direction", DIRECTIONS)
    return nw.when(reported).then(moved).otherwise(0).fill_null(0)


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
