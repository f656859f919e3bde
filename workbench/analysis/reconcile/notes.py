"""Notes of a run beside its breaks: days, balances and numbers that limit what it proves."""

from collections import Counter
from collections.abc import Iterator, Mapping

import pandas as pd
import pyarrow as pa

from workbench.analysis.frames import day_of
from workbench.analysis.match_rules import AMOUNT, WITHOUT_KEYS, MatchRules
from workbench.analysis.phone_key import OF, PhoneKey
from workbench.analysis.reconcile.carry_forward import GIVE_THE_KEY, CarryForward, rows_named
from workbench.analysis.reconcile.inputs import Inputs
from workbench.analysis.statements.statement import Statement

_FAR = 31
"""A gap of more days before the last day is noted, if all earlier rows span fewer days."""


def notes_of(
    inputs: Inputs, carried: CarryForward, closing: Mapping[str, int], key: PhoneKey, unsure: int, late: pd.DataFrame
) -> tuple[str, ...]:
    """The notes in their order; `closing` has each account's last day, `unsure` is Open's, `late` LedgerRead's."""
    far = [note for file in inputs.reported.values() for note in _far(file, closing)]
    return (
        *far,
        *(f"{file.name}: {file.continued}" for file in inputs.reported.values() if file.continued),
        *_unopened(inputs, carried, closing),
        *_booked_after(inputs, carried, late),
        *_phones(carried, key, unsure),
    )


def matched_notes(rules: Mapping[str, MatchRules], settled: pa.Table, names: Mapping[str, str]) -> Iterator[str]:
    """Counts the pairs that each account's rules matched without a key; `names` are the books' names of accounts."""
    counted = Counter(zip(settled["account"].to_pylist(), settled["rule"].to_pylist(), strict=True))
    for account, declared in rules.items():
        told = [
            f"{many:,} by {rule.name}{' alone' if rule.on == (AMOUNT,) else ''}"
            for rule in declared[1:] if (many := counted[account, rule.name])
        ]  # fmt: skip
        called = names.get(account, account)
        if declared == WITHOUT_KEYS:
            many = counted[account, declared[-1].name]
            yield (
                f"The statement of {called} has no keys, so its rows are matched by {declared[-1].name} alone: "
                f"{many:,} pair{'s' * (many != 1)}. Another rule is declared with match, in its layout."
            )
        elif told:
            yield f"Pairs of {called} that were matched without a common key: {', '.join(told)}."


def _far(file: Statement, closing: Mapping[str, int]) -> Iterator[str]:
    """Warns if the books close on a lone day long after all others: its year may be mistyped."""
    told = file.days
    days = sorted(told)
    if len(days) > 1 and closing.get(file.account) == days[-1]:
        first, before, last = days[0], *days[-2:]
        if last - before > max(_FAR, before - first):
            yield (
                f"{file.account} closes on {day_of(last)} because of {told[last]:,} of {sum(told.values()):,} rows of "
                f"{file.name}; the day before that is {day_of(before)}. Check the year; with --as-of {day_of(before)} "
                "(as_of) these rows close nothing."
            )


def _unopened(inputs: Inputs, carried: CarryForward, closing: Mapping[str, int]) -> Iterator[str]:
    """The accounts of which one's own books tell no balance, so that they open as the other side does."""
    books = inputs.ledger.read_from
    if books is None or not carried.is_first:
        return
    told = books.table["account"].filter(books.table["balance_minor"].is_valid()).unique().to_pylist()
    if silent := sorted(books.account_names.get(account, account) for account in {*closing}.difference(told)):
        yield (
            f"{books.name} has no balance for {' and '.join(silent)}: the statement's opening balance is used, so the "
            "proof covers only the movements. To compare the openings, add a column balance or balance_minor."
        )


def _booked_after(inputs: Inputs, carried: CarryForward, late: pd.DataFrame) -> Iterator[str]:
    """The rows that the ledger has since a close to which they are dated."""
    books = inputs.ledger.read_from
    for account, rows in ((str(name), rows) for name, rows in late.groupby("account", observed=True)):
        called = books.account_names.get(account, account) if books else account
        many = "1 row of the ledger is" if len(rows) == 1 else f"{len(rows):,} rows of the ledger are"
        close = carried.closed_of(account)["closing_date"]
        yield f"{called}: {many} booked after the close of {close}, and read now: {rows_named(rows)}."


def _phones(carried: CarryForward, key: PhoneKey, unsure: int) -> Iterator[str]:
    """Notes a new key, and customers' numbers that could not be compared."""
    if key.made:
        yield f"{key.made} did not exist; it is a new key for customers' numbers. Give it in every later run."
    hashes: list[str] = carried.rows["phone_hash"].dropna().tolist()
    other = sum(bool(hashed) and not hashed.startswith(key.id + OF) for hashed in hashes)
    if other:
        rows = "row" if other == 1 else "rows"
        text = f"The customers' numbers of {other:,} {rows} brought forward cannot be compared: another key was used"
        yield f"{text} then. {GIVE_THE_KEY}"
    elif unsure:
        rows = f"{unsure:,} open row{'s' if unsure > 1 else ''}"
        yield f"{rows} may match by the customer's number, but the numbers cannot be compared. {GIVE_THE_KEY}"
