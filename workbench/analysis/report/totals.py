"""Sums of the frames by account, code, age and day, in whole minor units."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast

import pandas as pd

from workbench.analysis.break_codes import BUCKETS, CODES, MATCHED, TIMING, TOLD_AGAIN, VERDICTS, settlement_of
from workbench.analysis.frames import python_rows
from workbench.analysis.shapes import AGEING
from workbench.errors import ReportRefused
from workbench.resources import Closing


class Kept(Protocol):
    """The carry-forward as reports read it."""

    @property
    def note(self) -> str:
        """A sentence about numbers that the next run cannot compare; empty if it can compare all."""


@dataclass(frozen=True, repr=False, eq=False)
class Reconciled(Closing):
    """The frames of a reconciliation, from which every report is made; `analysis.shapes` declares their columns."""

    breaks: pd.DataFrame
    """BREAK: rows that do not agree, with the reason in words and the entries that would settle them."""
    decisions: pd.DataFrame
    """DECISION: people's decisions, given or carried forward, with the state of each."""
    proof: pd.DataFrame
    """PROOF: ledger closing less statement closing, explained, a row for each account."""
    carry_forward: Kept
    """The open rows and closings that the next run takes."""
    rows_read: dict[str, int]
    """`ledger` and `statement` → the number of rows that were read, with those that were brought forward."""
    told_again: int
    """The number of statement lines that do not count: another file has them too, or an earlier run settled them."""
    engine: str
    """The engine that ran the rules: `duckdb` or `spark`."""
    notes: tuple[str, ...]
    """Sentences for a person: what was matched without a key, what could not be compared, and what to check."""
    account_names: Mapping[str, str]
    """Account → its name in one's own books, where their layout gives it; people are shown this name."""
    closed: pd.DataFrame
    """CLOSED_BREAK: breaks decided to zero, and breaks of earlier runs that this period closed."""
    aside: pd.DataFrame = field(repr=False)
    """The rows of each account that no rate counts: of earlier periods, or decided to zero."""
    matched_by: Mapping[str, int]
    """Rule → the number of pairs that it matched without a common key; every other match is by key."""
    _summary: Callable[[], pd.DataFrame] = field(repr=False)
    _matches: Callable[[], pd.DataFrame] = field(repr=False)
    _suggestions: Callable[[], pd.DataFrame] = field(repr=False)
    _inputs: Callable[[], pd.DataFrame] = field(repr=False)
    _close: Callable[[], None] = field(repr=False)
    signatures: tuple[str, str, str, str] = ("", "", "", "")
    """The preparer and the day, the reviewer and the day."""

    @cached_property
    def summary(self) -> pd.DataFrame:
        """SUMMARY: rows and value by account, day and code; worked out when it is first asked for."""
        return self._summary()

    @cached_property
    def ageing(self) -> pd.DataFrame:
        """AGEING: the breaks of each bucket, oldest last; worked out when it is first asked for."""
        by = ["account", "currency", "code", "bucket"]
        grouped = self.breaks.groupby(by, observed=True, dropna=False)
        made = grouped.agg(breaks=("rows", "size"), rows=("rows", "sum"), variance_minor=("variance_minor", "sum"))
        made = made.reset_index().sort_values(by, ignore_index=True)
        return made[list(AGEING)].astype(
            {name: kind for name, kind in AGEING.items() if name not in {"code", "bucket"}}
        )

    @cached_property
    def matches(self) -> pd.DataFrame:
        """MATCH: every row that agrees, with the rule; worked out when it is first asked for."""
        return self._matches()

    @cached_property
    def suggestions(self) -> pd.DataFrame:
        """SUGGESTION: open breaks that may be one movement, proposed and not taken; worked out when asked for."""
        return self._suggestions()

    @cached_property
    def inputs(self) -> pd.DataFrame:
        """INPUTS: the tables and files that were read, with their hashes."""
        return self._inputs()

    @property
    def sign_off(self) -> str:
        """The decisions by person, the hashes of inputs, layouts, decisions and rules, preparer and reviewer."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the engine holds; ask for `matches` before."""
        self._close()


class Account(NamedTuple):
    """An account's rows and values on both sides, net of fees, in minor units; only the variance has a sign."""

    account: str
    currency: str
    ledger_rows: int
    statement_rows: int
    matched_rows: int
    timing_rows: int
    value_minor: int
    matched_minor: int
    variance_minor: int
    aside_rows: int = 0
    aside_matched_rows: int = 0
    aside_value: int = 0
    aside_matched_value: int = 0
    """The four `aside_…` are of rows of earlier periods or decided to zero, which no rate counts."""

    @property
    def all_rows(self) -> int:
        """The rows of both sides."""
        return self.ledger_rows + self.statement_rows

    @property
    def of_period(self) -> tuple[int, int]:
        """The number of this period's rows that matched, and of all this period's rows."""
        return self.matched_rows - self.aside_matched_rows, self.all_rows - self.aside_rows

    @property
    def value_of_period(self) -> tuple[int, int]:
        """The value of this period's rows that matched, and of all this period's rows."""
        return self.matched_minor - self.aside_matched_value, self.value_minor - self.aside_value


class Code(NamedTuple):
    """The breaks of one code in one currency; `up_minor` and `down_minor` sum the positive and negative variances.

    `decided` is the number of breaks that `who` has decided, `oldest_days` the greatest age, if any is known, and
    `settlement` the advice for open breaks.
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
        """The sum of the variances."""
        return self.up_minor + self.down_minor

    @property
    def is_decided(self) -> bool:
        """True if every break is decided."""
        return self.decided == self.breaks


class Net(NamedTuple):
    """Variances by sign, so that they do not hide each other; minor units."""

    breaks: int
    up_minor: int
    down_minor: int


def named(result: Reconciled) -> Reconciled:
    """The result with the accounts' names in the books, for people to read."""
    return cast("Reconciled", _Named(result)) if result.account_names else result


class _Named:
    """A result with named accounts: each frame is renamed when it is first asked for, and kept."""

    def __init__(self, result: Reconciled) -> None:
        self._result = result

    def __getattr__(self, name: str) -> object:
        value = getattr(self._result, name)
        if isinstance(value, pd.DataFrame) and "account" in value:
            names, told = self._result.account_names, value["account"]
            value = value.assign(account=told.map(lambda account: names.get(account, account)).astype(told.dtype))
        setattr(self, name, value)
        return value


def settled(breaks: pd.DataFrame) -> pd.DataFrame:
    """The breaks, with the decision as the `settlement` of each decided break."""
    is_decided = breaks["verdict"].notna()
    if not is_decided.any():
        return breaks
    told = python_rows(breaks[is_decided], "verdict", "who", "rule", "why")
    texts = [
        f"{VERDICTS.get(verdict, verdict).capitalize()} by {who or f'the rule {rule!r}'}{f': {why}' if why else ''}"
        for verdict, who, rule, why in told
    ]
    made = breaks["settlement"].astype("string")
    made[is_decided] = pd.array(texts, "string")
    return breaks.assign(settlement=made)


def by_account(result: Reconciled) -> list[Account]:
    """A row for each account and currency of the summary, by name."""
    sums: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    counts = ("ledger_rows", "statement_rows", "variance_minor", "moved_minor")
    for account, currency, code, ledger, statement, variance, value in python_rows(
        result.summary, "account", "currency", "code", *counts
    ):
        if code == TOLD_AGAIN:
            continue
        found, both = sums[account or "", currency or ""], ledger + statement
        found.update(ledger_rows=ledger, statement_rows=statement, value_minor=value)
        if code == MATCHED:
            found.update(matched_rows=both, matched_minor=value)
        else:
            found.update(variance_minor=variance, timing_rows=both if code == TIMING else 0)
    for row in result.aside.to_dict("records"):
        account, currency = row.pop("account"), row.pop("currency")
        sums[account or "", currency or ""].update({f"aside_{name}": count for name, count in row.items()})
    return [Account(*key, *(found[name] for name in Account._fields[2:])) for key, found in sorted(sums.items())]


def by_code(result: Reconciled) -> list[Code]:
    """A row for each code and currency of the breaks, in the order of the rules; TIMING comes last."""
    found: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for code, currency, *more in python_rows(
        result.breaks, "code", "currency", "variance_minor", "rows", "age_days", "verdict", "who", "rule", "settlement"
    ):
        found[code, currency or ""].append(tuple(more))
    made = []
    for (code, currency), breaks in found.items():
        variances, rows, ages, verdicts, who, rules, settlements = zip(*breaks, strict=True)
        by_rule = {repr(rule) for rule, one, said in zip(rules, who, verdicts, strict=True) if said and not one}
        of_rules = [f"the rule{'s' if len(by_rule) > 1 else ''} {listed(sorted(by_rule))}"][: len(by_rule)]
        to_do = {text for text, said in zip(settlements, verdicts, strict=True) if text and not said}
        net = _grouped((code, variance) for variance in variances)[code]
        made.append(
            Code(
                code, currency, net.breaks, sum(rows), net.up_minor, net.down_minor,
                decided=sum(verdict is not None for verdict in verdicts),
                who=listed([*sorted({person for person in who if person}), *of_rules]),
                oldest_days=max((age for age in ages if age is not None), default=None),
                settlement=to_do.pop() if len(to_do) == 1 else settlement_of(code),
            )
        )  # fmt: skip
    return sorted(made, key=lambda line: (line.code == TIMING, CODES.index(line.code), line.currency))


def listed(names: Sequence[str]) -> str:
    """The names in one text: `a`, `a and b`, `a, b and c`."""
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def by_bucket(result: Reconciled, currency: str) -> Mapping[str, Net]:
    """The breaks of the accounts in one currency by age, youngest first; breaks without a date are left out."""
    found = _grouped(python_rows(_in_currency(result, currency), "bucket", "variance_minor"))
    return {bucket: found[bucket] for bucket in BUCKETS if bucket in found}


def by_day(result: Reconciled, currency: str) -> Mapping[date, Net]:
    """The breaks of the accounts in one currency by business date; breaks without one are left out."""
    return dict(
        sorted(_grouped(python_rows(_in_currency(result, currency), "business_date", "variance_minor")).items())
    )


def currency_of(result: Reconciled, currency: str | None) -> str:
    """The currency that was asked for, or the accounts' only currency; empty if there is no account.

    Raises ReportRefused: no currency was asked for and there are several, or no account has that currency.
    """
    there = sorted({code for (code,) in python_rows(result.proof, "currency")})
    if currency in there or (not currency and len(there) <= 1):
        return currency or "".join(there)
    raise ReportRefused(
        f"The accounts are in {', '.join(there) or 'no currency'}; amounts in several currencies are not added.",
        hint="Choose one: currency=…",
    )


def _in_currency(result: Reconciled, currency: str) -> pd.DataFrame:
    """The breaks of accounts in that currency: a break may itself be about another."""
    accounts = [account for account, code in python_rows(result.proof, "account", "currency") if code == currency]
    return result.breaks[result.breaks["account"].isin(accounts)]


def _grouped(pairs: Iterable[tuple[Any, ...]]) -> dict[Any, Net]:
    found: dict[Any, Net] = {}
    for key, variance in pairs:
        if key is not None:
            breaks, up_minor, down_minor = found.get(key, (0, 0, 0))
            found[key] = Net(breaks + 1, up_minor + max(variance, 0), down_minor + min(variance, 0))
    return found
