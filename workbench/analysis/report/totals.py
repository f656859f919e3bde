"""The totals that all reports show: sums by account, code, age and day, and both adjusted balances, in minor units."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, cast

import pandas as pd

from workbench.analysis import break_codes as codes
from workbench.analysis.frames import python_rows
from workbench.analysis.shapes import AGEING, EXACT
from workbench.domain.money import money_text
from workbench.resources import Closing


@dataclass(frozen=True, repr=False, eq=False)
class Reconciled(Closing):
    """The frames from which every report of a reconciliation is made; `analysis.shapes` declares their columns."""

    breaks: pd.DataFrame
    """The breaks (columns BREAK), with the reason in words and the entries that would settle each."""
    decisions: pd.DataFrame
    """The decisions of people, given or carried forward, each with its state (columns DECISION)."""
    proof: pd.DataFrame
    """For each account, ledger closing less statement closing, and what explains the difference (columns PROOF)."""
    carry_note: str
    """A sentence about customers' numbers that the next run cannot compare; empty if it can compare all."""
    rows_read: dict[str, int]
    """`ledger` or `statement` → the number of rows that were read, including those brought forward."""
    told_again: int
    """The number of statement lines that another file repeats or an earlier run settled; they are not compared."""
    engine: str
    """The engine that ran the rules: `duckdb` or `spark`."""
    notes: tuple[str, ...]
    """Sentences for readers: what was matched without a key, what could not be compared, and what to check."""
    account_names: Mapping[str, str]
    """Account → its name in the user's books, if the ledger's layout names it; reports show this name."""
    closed: pd.DataFrame
    """Breaks that this period closed, from this run or earlier ones (columns CLOSED_BREAK)."""
    aside: pd.DataFrame = field(repr=False)
    """Rows that the shares of matched rows leave out: those of earlier periods, and those that decisions closed.

    For each account and currency, the number and the value (in minor units) of all these rows and of the matched ones.
    """
    matched_by: Mapping[str, int]
    """Rule → the number of pairs that it matched without a common key; every other match is by key."""
    _summary: Callable[[], pd.DataFrame] = field(repr=False)
    _matches: Callable[[], pd.DataFrame] = field(repr=False)
    _suggestions: Callable[[], pd.DataFrame] = field(repr=False)
    _inputs: Callable[[], pd.DataFrame] = field(repr=False)
    _close: Callable[[], None] = field(repr=False)
    signatures: tuple[str, str, str, str] = ("", "", "", "")
    """The preparer and the day, then the reviewer and the day; empty until signed."""

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Rows and values by account, day and code (columns SUMMARY); computed on first use."""
        return self._summary()

    @cached_property
    def ageing(self) -> pd.DataFrame:
        """The breaks in each age bucket, the oldest last (columns AGEING); computed on first use."""
        by = ["account", "currency", "code", "bucket"]
        grouped = self.breaks.groupby(by, observed=True, dropna=False)
        ages = grouped.agg(breaks=("rows", "size"), rows=("rows", "sum"), variance_minor=("variance_minor", "sum"))
        ages = ages.reset_index().sort_values(by, ignore_index=True)
        return ages[list(AGEING)].astype(
            {name: kind for name, kind in AGEING.items() if name not in {"code", "bucket"}}
        )

    @cached_property
    def matches(self) -> pd.DataFrame:
        """Every matched row, with its rule (columns MATCH); computed on first use."""
        return self._matches()

    @cached_property
    def suggestions(self) -> pd.DataFrame:
        """Open breaks that may be one movement, for a person to accept (columns SUGGESTION); computed on first use."""
        return self._suggestions()

    @cached_property
    def inputs(self) -> pd.DataFrame:
        """The tables and files that were read, with their hashes (columns INPUTS)."""
        return self._inputs()

    @property
    def sign_off(self) -> str:
        """Text to sign off: decisions by person, hashes of inputs, layouts, decisions and rules, and who signed."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases the rows that the engine holds. Read `matches` first: afterwards it cannot be computed."""
        self._close()


class AccountSums(NamedTuple):
    """The numbers of an account's rows on both sides, and its signed net variance in minor units.

    `of_period` has the numbers of matched rows and of all rows of this period. `value_of_period` sums, for the same
    rows, the amounts that they move, net of fees and without signs, in minor units.
    """

    account: str
    currency: str
    ledger_rows: int
    statement_rows: int
    matched_rows: int
    timing_rows: int
    variance_minor: int
    of_period: tuple[int, int]
    value_of_period: tuple[int, int]


class CodeSums(NamedTuple):
    """The breaks of one code in one currency; `up_minor` and `down_minor` sum the positive and the negative variances.

    `decided` is the number of decided breaks, and `who` names the people and rules that decided. `oldest_days` is the
    greatest age, None if no break has a date. `settlement` is the advice for open breaks.
    """

    code: str
    currency: str
    breaks: int
    rows: int
    up_minor: int
    down_minor: int
    decided: int
    who: str
    oldest_days: int | None
    settlement: str

    @property
    def net_minor(self) -> int:
        """The sum of the breaks' signed variances, in minor units."""
        return self.up_minor + self.down_minor

    @property
    def is_decided(self) -> bool:
        """True if every break is decided."""
        return self.decided == self.breaks


def named(result: Reconciled) -> Reconciled:
    """The result for readers: accounts have the names that the user's books give them."""
    return cast("Reconciled", _Named(result)) if result.account_names else result


class _Named:
    """A result whose frames show accounts by name.

    The accounts in a frame are renamed when the frame is first used; the renamed frame is kept.
    """

    def __init__(self, result: Reconciled) -> None:
        self._result = result

    def __getattr__(self, name: str) -> object:
        value = getattr(self._result, name)
        if isinstance(value, pd.DataFrame) and "account" in value:
            names, column = self._result.account_names, value["account"]
            value = value.assign(account=column.map(lambda name: names.get(name, name)).astype(column.dtype))
        setattr(self, name, value)
        return value


def in_words(verdict: str, who: str | None, why: str | None) -> str:
    """A decision in words: the verdict, then who decided and why, if known."""
    words = codes.VERDICTS.get(verdict, verdict)
    return f"{words}{f' by {who}' if who else ''}{f': {why}' if why else ''}"


def with_withdrawals(breaks: pd.DataFrame, decisions: pd.DataFrame) -> pd.DataFrame:
    """The breaks; one that a person opened again has the verdict `open`, with who opened it, when and why.

    A run that reads these breaks as decisions opens the same ones. `decisions` has the columns DECISION.
    """
    opened = decisions[(decisions["verdict"] == "open") & (decisions["state"] == "applied")].set_index("break")
    if opened.empty:
        return breaks
    columns = {
        name: breaks[name].astype("string").fillna(breaks["id"].map(opened[name]).astype("string"))
        for name in ("verdict", "who", "when", "why")
    }
    return breaks.assign(**columns)


def settled(breaks: pd.DataFrame) -> pd.DataFrame:
    """The breaks, with the decision in place of the advice in the column `settlement` of each decided break."""
    is_decided = breaks["verdict"].notna()
    if not is_decided.any():
        return breaks
    decisions = python_rows(breaks[is_decided], "verdict", "who", "rule", "why")
    texts = [in_words(verdict, who or f"the rule {rule!r}", why) for verdict, who, rule, why in decisions]
    settlements = breaks["settlement"].astype("string")
    settlements[is_decided] = pd.array([text[0].upper() + text[1:] for text in texts], "string")
    return breaks.assign(settlement=settlements)


_ASIDE: Final = ("account", "currency", "rows", "matched_rows", "value", "matched_value")


def sums_by_account(result: Reconciled) -> list[AccountSums]:
    """The totals for each account and currency of the summary, sorted by account; repeated lines are left out."""
    sums: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    counts = ("ledger_rows", "statement_rows", "variance_minor", "moved_minor")
    for account, currency, code, ledger, statement, variance, value in python_rows(
        result.summary, "account", "currency", "code", *counts
    ):
        if code == codes.TOLD_AGAIN:
            continue
        total, rows = sums[account or "", currency or ""], ledger + statement
        total.update(ledger_rows=ledger, statement_rows=statement, rows=rows, value=value)
        if code == codes.MATCHED:
            total.update(matched=rows, matched_rows=rows, matched_value=value)
        else:
            total.update(variance_minor=variance, timing_rows=rows if code == codes.TIMING else 0)
    for account, currency, *aside in python_rows(result.aside, *_ASIDE) if len(result.aside) else ():
        sums[account or "", currency or ""].subtract(dict(zip(_ASIDE[2:], aside, strict=True)))
    return [
        AccountSums(
            *key, total["ledger_rows"], total["statement_rows"], total["matched"], total["timing_rows"],
            total["variance_minor"], (total["matched_rows"], total["rows"]), (total["matched_value"], total["value"]),
        ) for key, total in sorted(sums.items())
    ]  # fmt: skip


def sums_by_code(result: Reconciled) -> list[CodeSums]:
    """The totals for each code and currency of the breaks, in the order of CODES, but with `timing` last."""
    by_code: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for code, currency, *more in python_rows(
        result.breaks, "code", "currency", "variance_minor", "rows", "age_days", "verdict", "who", "rule", "settlement"
    ):
        by_code[code, currency or ""].append(tuple(more))
    totals = []
    for (code, currency), breaks in by_code.items():
        variances, rows, ages, verdicts, who, rules, settlements = zip(*breaks, strict=True)
        by_rule = {repr(rule) for rule, name, verdict in zip(rules, who, verdicts, strict=True) if verdict and not name}
        of_rules = [f"the rule{'s' if len(by_rule) > 1 else ''} {listed(sorted(by_rule))}"][: len(by_rule)]
        to_do = {text for text, verdict in zip(settlements, verdicts, strict=True) if text and not verdict}
        totals.append(
            CodeSums(
                code, currency, len(breaks), sum(rows), *by_sign(variances),
                decided=sum(verdict is not None for verdict in verdicts),
                who=listed([*sorted({person for person in who if person}), *of_rules]),
                oldest_days=max((age for age in ages if age is not None), default=None),
                settlement=to_do.pop() if len(to_do) == 1 else codes.settlement_of(code),
            )
        )  # fmt: skip
    return sorted(totals, key=lambda line: (line.code == codes.TIMING, codes.CODES.index(line.code), line.currency))


def listed(names: Sequence[str]) -> str:
    """The names joined into a text: `a`, `a and b`, `a, b and c`."""
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def in_own_currency(breaks: pd.DataFrame, currencies: Mapping[str, str | None]) -> pd.DataFrame:
    """The breaks in the currency of their account, and those that name no currency; `currencies` is by account."""
    own, currency = (breaks[name].astype("string") for name in ("account", "currency"))
    own = own.map(currencies).astype("string")
    return breaks[(currency.fillna(own) == own).fillna(value=False)]


def by_sign(variances: Sequence[int]) -> tuple[int, int]:
    """The sum of the positive variances, and the sum of the negative ones."""
    return sum(minor for minor in variances if minor > 0), sum(minor for minor in variances if minor < 0)


_MISSING: Final[Mapping[str, codes.Item]] = {
    codes.STATEMENT: codes.Item("receipts in the books, not yet on the statement", "outstanding payments"),
    codes.BOOKS: codes.Item(
        "receipts on the statement, not in the books", "payments on the statement, not in the books"
    ),
}
_CHARGES: Final = codes.Item("charges not booked", adjusts=codes.BOOKS)
_WRITTEN_OFF: Final = codes.Item("entries written off", adjusts=codes.BOOKS)
_PROOF: Final = (
    "account", "currency", "ledger_minor", "statement_minor", "tolerated_minor", "brought_minor", "unexplained_minor",
    "holds", "note",
)  # fmt: skip


def item_of(code: str, side: str) -> tuple[codes.Item, str]:
    """The reconciling item for breaks of this code and `side`, and which balance the item adjusts.

    The balance is STATEMENT for entries that are not yet on the statement, and for errors of the operator or the bank;
    BOOKS for movements that are booked wrongly or not at all. `side` is `ledger`, `statement` or `both`.
    """
    lacks = codes.STATEMENT if side == "ledger" else codes.BOOKS
    item = codes.BREAK_CODES[code].item or _MISSING[lacks]
    return item, item.adjusts or lacks


class Line(NamedTuple):
    """A line of an account's reconciliation; `minor` is its signed amount in minor units.

    `items` is the number of breaks in the amount: 0 if the number is unknown, None if the line is a balance.
    """

    text: str
    minor: int
    items: int | None = None


class Balances(NamedTuple):
    """The reconciliation of one account in the accountants' form: two balances, their items, two adjusted balances.

    `sides` has the lines of the statement and of the books, each from the balance to the adjusted balance. The books'
    adjusted balance exceeds the statement's by `unexplained_minor`. `caption` says whether the proof holds.
    """

    account: str
    currency: str
    caption: str
    sides: Sequence[Sequence[Line]]
    unexplained_minor: int

    @property
    def lines(self) -> list[Line]:
        """The lines of both sides, then a line for the unexplained amount if there is one."""
        unexplained = [Line("Not explained: books less statement, both adjusted", self.unexplained_minor)]
        return [line for side in (*self.sides, unexplained[: bool(self.unexplained_minor)]) for line in side]


def balances(result: Reconciled) -> Iterator[Balances]:
    """Yields the reconciliation of each account, with its breaks in the account's currency."""
    sums, counts = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    own = dict(python_rows(result.proof, "account", "currency"))
    for account, code, side, variance, proposal, verdict, rows in _items(in_own_currency(result.breaks, own)):
        if not variance and code != codes.AMBIGUOUS:
            continue
        item, adjusts = item_of(code, side)
        if verdict == codes.WRITE_OFF and adjusts == codes.STATEMENT and proposal:
            # Nobody waits for the other side any more: the books change by the journal's entry. Without a proposal, as
            # for a timing difference, the journal has none.
            item, adjusts = _WRITTEN_OFF, codes.BOOKS
        if item is _MISSING[codes.BOOKS] and proposal and '"fee_raised"' in proposal and '"unknown_' not in proposal:
            item = _CHARGES
        minor = variance if adjusts == codes.STATEMENT else -variance
        text = item.plus if minor > 0 else item.less or item.plus
        sums[account, adjusts, text] += minor
        counts[account, adjusts, text] += rows
    days = dict(sorted(row for row in python_rows(result.inputs, "account", "last_date") if all(row)))
    for row in python_rows(result.proof, *_PROOF):
        account, currency, ledger, statement, tolerated, brought, unexplained, holds, note = row
        sides = []
        for side, balance, text, kept_minor in (
            (codes.STATEMENT, statement, "open items of earlier runs", brought),
            (codes.BOOKS, ledger, "differences within the tolerance", -tolerated),
        ):
            items = [(key[2], minor, counts[key]) for key, minor in sums.items() if key[:2] == (account, side)]
            items += [(text, kept_minor, 0)] if kept_minor else []
            items.sort(key=lambda item: (item[1] < 0, -abs(item[1])))
            sides.append([
                Line(f"Balance per {side}", balance),
                *(Line(f"{'less' if minor < 0 else 'plus'} {kind}", minor, count) for kind, minor, count in items),
                Line(f"Adjusted balance per {side}", balance + sum(minor for _, minor, _ in items)),
            ])  # fmt: skip
        at = f" at {days[account]}" if account in days else ""
        apart = f"{money_text(unexplained, currency, signed=True)} is not explained" if unexplained else ""
        why = "; ".join(filter(None, [apart, note]))
        proven = f"both adjusted balances agree{f'; {note}' if note not in {None, EXACT} else ''}"
        verdict = proven if holds else f"it does not prove: {why}"
        caption = f"Reconciliation of {account}{at}, in {currency}: {verdict}"
        yield Balances(account, currency, caption, sides, unexplained)


def _items(breaks: pd.DataFrame) -> Iterator[tuple[str, str, str, int, str | None, str | None, int]]:
    """Yields (account, code, side, variance, proposal, verdict, number of breaks) for each reconciling item.

    Breaks that a person matched are one item with the sum of their variances; if they are on both sides, the item is an
    error in the books. Ambiguous rows of one amount are one item, of the side that has more of these rows: the rows
    that both sides have are in both balances.
    """
    groups: dict[tuple[str, Any], list[list[Any]]] = {}
    names = ("id", "partner", "verdict", "account", "currency", "code", "side", "variance_minor", "proposal")
    for index, (name, partner, verdict, account, currency, *values) in enumerate(python_rows(breaks, *names)):
        code, side, variance, _ = values
        group: Any = index
        if verdict == "match":
            group = frozenset([name, *(partner or "").split("; ")])
        elif code == codes.AMBIGUOUS:
            group = currency, variance if side == "ledger" else -variance
        groups.setdefault((account, group), []).append([*values, verdict])
    for (account, group), rows in groups.items():
        code, side, _, proposal, verdict = rows[0]
        total, items = sum(row[2] for row in rows), 1
        if isinstance(group, tuple):
            side, items = "ledger" if total * group[1] >= 0 else "statement", len(rows)
        elif len({row[1] for row in rows}) > 1:
            code, side, proposal = "amount_mismatch", "both", None
        yield account, code, side, total, proposal, verdict, items
