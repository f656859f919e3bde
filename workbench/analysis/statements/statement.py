"""Reads a statement: recognises its layout, keeps every row, finds the date format, and checks the running balance."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import compact, releasing, typed, with_column
from workbench.analysis.phone_key import key_from
from workbench.analysis.rules import MatchRules
from workbench.analysis.shapes import MADE_UP_PREFIX, STATEMENT_ROW
from workbench.analysis.statements.cells import CellColumn, Mask, Whole, file_refusal, mask_of
from workbench.analysis.statements.csv_files import digest_of
from workbench.analysis.statements.dates import ABSENT
from workbench.analysis.statements.fields import read_rows
from workbench.analysis.statements.layouts import Layout, Preamble, tried_layouts
from workbench.analysis.statements.preamble import declared
from workbench.analysis.statements.recognising import recognised
from workbench.domain.money import money_text
from workbench.errors import StatementRefused
from workbench.text.render import DisplayTable, Tabular, pairs

_SHOWN_FINDINGS: Final = 3


@dataclass(frozen=True, repr=False, eq=False)
class Statement(Tabular):
    """A statement of an operator or a bank, read from a file into the same columns for every layout."""

    name: str
    """The file's name, without its folder."""
    sha256: str
    layout: str
    account: str
    """The ledger account that the statement mirrors."""
    currency: str
    table: pa.Table
    """`rows` as an Arrow table, in which columns with few distinct texts are dictionaries."""
    opening_minor: int | None
    """The opening balance in minor units, declared or computed from the first balance; None if there is neither."""
    closing_minor: int | None
    period: tuple[date, date] | None
    """The first and the last business day, declared or of the rows; None if there are neither."""
    findings: pd.DataFrame
    """Lines whose running balance is not the expected one: `line`, `expected_minor`, `found_minor`."""
    followed: int = 0
    """The number of rows whose balance was compared with the previous one; the first row counts too."""
    joined: tuple[int, ...] = ()
    """The lines with only a narrative, which was added to the row above."""
    repeated: tuple[int, ...] = ()
    """The lines that repeat the row above, with its balance; they were left out."""
    of_pages: tuple[int, ...] = ()
    """The lines of page numbers, repeated headers and balances carried forward; they were left out."""
    zeros: tuple[int, ...] = ()
    """The lines that move nothing because their amounts are zero; they were left out."""
    cut_numbers: int = 0
    """The number of rows whose customer's number shows too few digits to be compared."""
    layout_sha256: str | None = None
    match: MatchRules = ()
    """The rules by which the rows are matched; empty if the layout declares none."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The file's rows, also unusable ones, with the columns of `analysis.shapes.STATEMENT_ROW`."""
        return typed([self.table], STATEMENT_ROW)

    @cached_property
    def days(self) -> dict[int, int]:
        """Business day, as days since 1970 → the number of its usable rows."""
        days = self.table["business_date"].filter(self.table["problem"].is_null()).drop_null().cast(pa.int32())
        return {count["values"]: count["counts"] for count in days.value_counts().to_pylist()}

    def _table(self) -> DisplayTable:
        rows = len(self.table)
        invalid = rows - self.table["problem"].null_count
        no_day = "no day that can be read" if rows else "no rows"
        return pairs(
            self.name,
            {
                "layout": self.layout,
                "account": self.account,
                "period": " to ".join(map(str, self.period)) if self.period else no_day,
                "rows": f"{rows:,}" + (f", of which {invalid:,} invalid" if invalid else ""),
                "opening balance": self._money(self.opening_minor),
                "closing balance": self._money(self.closing_minor),
                "running balance": self.follows,
                "sha256": self.sha256,
            },
        )

    @property
    def remarks(self) -> list[str]:
        """Sentences on lines that are no rows of their own, and on customers' numbers that cannot be compared."""
        of_pages = "to a page: page numbers, repeated headers and balances carried forward are no rows."
        kinds = (
            (self.joined, ("has", "have"), "a narrative alone: it was added to the row above."),
            (self.repeated, ("repeats", "repeat"), "the row above, the balance too: such a row counts once."),
            (self.of_pages, ("belongs", "belong"), of_pages),
        )
        sentences = []
        for lines, (has, have), text in kinds:
            verb = f"Line {_few(lines)} {has}" if len(lines) == 1 else f"Lines {_few(lines)} {have}"
            sentences += [f"{verb} {text}"] if lines else []
        return [*sentences, *remarks_on(self.zeros, self.cut_numbers)]

    @property
    def follows(self) -> str:
        """A phrase on the running balance: whether each balance follows from the previous one."""
        if self.findings.empty:
            rows = len(self.table)
            if self.table["balance_minor"].null_count == rows:
                return "not given"
            whole = self.followed == rows
            return "agrees in every row" if whole else f"agrees where compared, in {self.followed:,} of {rows:,} rows"
        many = len(self.findings)
        return f"does not agree in {many:,} line{'s' * (many > 1)}: {_few(self.findings['line'].tolist())}"

    def _money(self, minor: int | None) -> str:
        return "not given" if minor is None else money_text(minor, self.currency)


FINDING: Final = {"line": "int64", "expected_minor": "int64", "found_minor": "int64"}
"""The columns of findings: a line whose running balance is not the expected one."""


class Followed(NamedTuple):
    """The result of checking the running balance through the rows of a file."""

    opening_minor: int | None
    """The opening balance in minor units; None if the file does not show it. `closing_minor` is the closing balance."""
    closing_minor: int | None
    findings: dict[str, Whole]
    is_compared: Mask
    """A mask of the rows whose balance was compared with the previous one; the first balance counts too."""
    is_ordinary: Mask
    """A mask of the supposed reversals that are ordinary rows, as the balance or the layout's `negative` shows."""


def follow(
    rows: pa.Table,
    preamble: Preamble,
    closing_line: int = 0,
    *,
    newest_first: bool,
    is_back: Mask | None = None,
    negative: str = "",
) -> Followed:
    """Checks the running balance through rows with the columns STATEMENT_ROW, from the last row if `newest_first`.

    `preamble` has the values above the header, its closing balance in line `closing_line` (0 if none). `is_back` marks
    supposed reversals, if there are any, and `negative` is the layout's. Two balances are compared only if every row
    between them is usable. Each account has its own balance, and the rows of an account are adjacent.
    Rows of another currency are not in the balance.
    """
    step, count, ends = -1 if newest_first else 1, len(rows), (preamble.opening_minor, preamble.closing_minor)

    def between_ends(values: Whole | Mask, first: object = 0, last: object = 0) -> Whole:
        return np.concatenate([[first], values[::step], [last]]).astype(np.int64)

    has_balance = mask_of(rows["balance_minor"].is_valid())
    at = np.flatnonzero(between_ends(has_balance, *(end is not None for end in ends)))
    if is_back is None and not at.size:
        nothing = np.zeros(count, bool)
        return Followed(None, None, dict.fromkeys(FINDING, at), nothing, nothing)
    effects, known, turns = effects_of(rows)
    effects, turns = (np.where(_is_in_another_currency(rows), 0, values) for values in (effects, turns))
    accounts = CellColumn.from_arrow(rows["account"]).coded()
    # No balance goes on from one account to the next.
    is_next = np.diff(accounts[::step], prepend=accounts[::step][:1])[::step] != 0
    effects, unread = between_ends(effects), between_ends(~known | is_next)
    balances = between_ends(whole_of(rows, "balance_minor"), *(end or 0 for end in ends))

    def between(values: Whole) -> Whole:
        """The sums of `values` over the rows between each known balance and the next."""
        return np.diff(np.cumsum(values)[at])

    changes, is_read = np.diff(balances[at]), between(unread) == 0
    is_ordinary = np.zeros(count + 2, bool)
    if is_back is not None and is_back.any():
        turns = between_ends(np.where(is_back, turns, 0))
        places = np.flatnonzero(between_ends(is_back))
        nth = np.searchsorted(at, places) - 1
        is_within = (nth >= 0) & (nth < len(changes))
        within, nth = places[is_within], nth[is_within]
        lacks = changes - between(effects)
        # Between two balances all of them are reversals, or none; rows without proof follow the proven ones.
        stays, goes = (within[is_read[nth] & (lack[nth] == 0)] for lack in (lacks, lacks - between(turns)))
        goes = np.setdiff1d(goes, stays)
        comes = between_ends(mask_of(pc.equal(rows["direction"], "in")))[places]
        is_ordinary[places] = comes & (negative == "debit" or (not negative and len(goes) > 0 and not len(stays)))
        is_ordinary[stays], is_ordinary[goes] = False, True
        effects = effects + np.where(is_ordinary, turns, 0)
    moved = between(effects)
    wrong = (changes != moved) & is_read
    opening, closing = ends
    of_rows, is_compared = at[(at > 0) & (at <= count)], np.zeros(count + 2, bool)
    is_compared[at[1:][is_read]] = True
    # Without a declared opening balance the others are followed from the first balance.
    is_compared[at[:1]] = is_compared[1:-1].any()
    # At an end the balance follows from the nearest one, unless a row on the way cannot be read.
    if of_rows.size and opening is None and not unread[: of_rows[0] + 1].any():
        opening = int(balances[of_rows[0]] - effects[: of_rows[0] + 1].sum())
    if of_rows.size and closing is None and not unread[of_rows[-1] + 1 :].any():
        closing = int(balances[of_rows[-1]] + effects[of_rows[-1] + 1 :].sum())
    lines = between_ends(whole_of(rows, "line"), last=closing_line)[at][1:]
    expected, in_file = balances[at][:-1] + moved, balances[at][1:]
    findings = {"line": lines[wrong], "expected_minor": expected[wrong], "found_minor": in_file[wrong]}
    return Followed(opening, closing, findings, is_compared[1:-1][::step], is_ordinary[1:-1][::step])


def whole_of(rows: pa.Table, name: str) -> Whole:
    """A column of whole numbers, with 0 for null."""
    values: Whole = rows[name].fill_null(0).to_numpy()
    return values


def _is_in_another_currency(rows: pa.Table) -> Mask:
    """A mask of the rows in another currency than most rows of their account."""
    account, currency = (rows[name].cast(pa.string()) for name in ("account", "currency"))
    if len(currency.drop_null().unique()) <= 1:
        return np.zeros(len(rows), bool)
    named = pa.table({"account": account, "currency": currency}).filter(currency.is_valid())
    order = [("account", "ascending"), ("count_all", "descending"), ("currency", "ascending")]
    counts = named.group_by(named.column_names).aggregate([([], "count_all")]).sort_by(order)
    own = counts.group_by("account", use_threads=False).aggregate([("currency", "first")])
    own_currency = own["currency_first"].take(pc.index_in(account, own["account"]))
    return mask_of(pc.not_equal(currency, own_currency).fill_null(fill_value=False))


def effects_of(rows: pa.Table) -> tuple[Whole, Mask, Whole]:
    """The signed effect of each row on the balance in minor units, a mask of the known effects, and corrections.

    If the direction of a row turns out to be the opposite, add its correction to its effect; the fee stays the same.
    """
    status, needed = rows["status"], ("direction", "amount_minor", "fee_minor", "status")
    complete = np.all([mask_of(rows[name].is_valid()) for name in needed], axis=0)
    stays = mask_of(pc.is_in(status, pa.array(["failed", "pending"])))
    moves = complete & mask_of(pc.equal(status, "completed"))
    amounts = np.where(moves, whole_of(rows, "amount_minor"), np.int64(0))
    signed = np.where(mask_of(pc.equal(rows["direction"], "in")), amounts, -amounts)
    return signed - np.where(moves, whole_of(rows, "fee_minor"), 0), complete | stays, -2 * signed


def refuse_other_than_text(**options: object) -> None:
    """Raises StatementRefused: an option is neither a text nor None."""
    for name, value in options.items():
        if not isinstance(value, str | None):
            raise StatementRefused(f"Give {name} as text, not {value!r}.")


def remarks_on(zeros: Sequence[int], cut_numbers: int, unit: str = "line") -> list[str]:
    """Sentences on lines that move nothing, and on rows whose customer's number shows too few digits.

    `unit` is what the sentences call a line: `line` or `row`.
    """
    sentences = []
    if zeros:
        moves = f"row of zero moves nothing: {unit}" if len(zeros) == 1 else f"rows of zero move nothing: {unit}s"
        sentences += [f"{len(zeros):,} {moves} {_few(zeros)}."]
    if cut_numbers:
        shows = "customer's number shows" if cut_numbers == 1 else "customers' numbers show"
        needed = "the operator's prefix and the last three are needed"
        sentences += [f"{cut_numbers:,} {shows} too few digits to compare: {needed}."]
    return sentences


def _few(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:_SHOWN_FINDINGS])) + ", …" * (len(lines) > _SHOWN_FINDINGS)


class Reading(TypedDict, total=False):
    """The options of `read_statement` that apply with every layout."""

    account: str | None
    date_format: str | None
    currency: str | None
    phone_key: str | Path | bytes | None


@releasing()
def read_statement(  # noqa: PLR0913  what is read, and what it does not say itself
    path: str | Path,
    *,
    layout: str | Path | Layout | None = None,
    layouts: str | Path | Iterable[Layout | str | Path] = (),
    account: str | None = None,
    date_format: str | None = None,
    currency: str | None = None,
    phone_key: str | Path | bytes | None = None,
) -> Statement:
    """Read a statement from a `.csv` or `.xlsx` file.

    `layout` is a name in LAYOUTS, a Layout of your own, or the path of a `.toml` file with one; by default, the layout
    is recognised from the headings. `layouts`, a folder of `.toml` files or a list of layouts and files, adds layouts
    to the shipped ones, and overrides those of the same name or headings. `account` is the ledger account and
    `currency` the code of the currency, if the file and its layout do not name them; `date_format` (such as `%d/%m/%Y
    %H:%M:%S`) replaces the layout's formats. Rows that cannot be read are kept, with the reason in `problem`.
    Customers' numbers are masked; `phone_hash`, made with `phone_key` (the key of the books or its file, as for
    `reconcile`), distinguishes numbers that look the same when masked.

    Raises StatementRefused: the file cannot be read without guessing. Raises PhoneKeyRefused: `phone_key` is no key.
    """
    if not isinstance(path, str | Path):
        raise StatementRefused(f"Give the path of a statement's file, not {path!r}.")
    refuse_other_than_text(account=account, date_format=date_format, currency=currency)
    source, key = Path(path), key_from(phone_key)
    digest = digest_of(source)
    file = recognised(source, tried_layouts(layout, layouts), named=layout is not None)
    preamble, closing_line, account, whole_currency = declared(file, account, currency)
    formats = [date_format] if date_format else file.layout.dates
    read = read_rows(file, formats, whole_currency, key, account)
    rows, local, is_opening, otherwise = read.table, read.local, read.is_opening, read.otherwise
    repeated: tuple[int, ...] = ()
    currencies = sorted(rows["currency"].unique().drop_null().to_pylist())
    if (currency or preamble.currency) and currencies and whole_currency not in currencies:
        text = f"was declared to be in {whole_currency}, but its rows are in {' and '.join(currencies)}."
        raise file_refusal(source.name, text, passed=whole_currency, found=tuple(currencies))
    followed = partial(follow, preamble=preamble, closing_line=closing_line, negative=file.layout.negative)
    is_turned, balance = newest_first(local, partial(followed, rows, is_back=mask_of(otherwise.is_valid())))
    wrong, has_opening = balance.findings["line"], preamble.opening_minor is not None
    again = _repeats(rows, wrong, newest_first=is_turned, has_opening=has_opening)
    if again.any():
        once, apart = pa.array(~again), otherwise.filter(pa.array(~again))
        without = followed(rows.filter(once), is_back=mask_of(apart.is_valid()), newest_first=is_turned)
        # The balances prove it: without the repeated rows, nothing but their findings is gone.
        if len(without.findings["line"]) == len(wrong) - again.sum():
            repeated, balance = tuple(whole_of(rows, "line")[again].tolist()), without
            rows, otherwise, is_opening = rows.filter(once), apart, is_opening[~again]
    if balance.is_ordinary.any():
        # A supposed reversal that is an ordinary row goes the other way.
        turns, ways = pa.array(balance.is_ordinary), rows["direction"].combine_chunks()
        back = pc.if_else(pc.equal(ways, "in"), "out", "in")
        for column, other in (("direction", back), ("type", otherwise)):
            rows = with_column(rows, column, pc.if_else(turns, other, rows[column].combine_chunks()))
    rows = rows.filter(pa.array(~is_opening)) if is_opening.any() else rows
    if file.layout.makes_keys:
        rows = with_column(rows, "key", made_keys(rows, newest_first=is_turned))
    days = pc.min_max(rows["business_date"].filter(rows["problem"].is_null())).as_py()
    first, last = preamble.first or days["min"], preamble.last or days["max"]
    return Statement(
        name=source.name,
        sha256=digest,
        layout=file.layout.name,
        account=account,
        currency=whole_currency,
        table=compact(rows, STATEMENT_ROW),
        opening_minor=balance.opening_minor,
        closing_minor=balance.closing_minor,
        period=(first, last) if first and last else None,
        findings=pd.DataFrame(balance.findings).astype(FINDING),
        followed=int((balance.is_compared & ~is_opening).sum()),
        joined=read.joined,
        repeated=repeated,
        of_pages=read.of_pages,
        zeros=read.zeros,
        cut_numbers=read.cut_numbers,
        layout_sha256=file.layout.sha256,
        match=file.layout.match,
    )


def _repeats(rows: pa.Table, findings: Whole, *, newest_first: bool, has_opening: bool) -> Mask:
    """A mask of rows that repeat an earlier row: all columns are equal, the balance too, although the row moves money.

    The earlier row is the one before in time. `findings` has the lines with a wrong balance; the mask's rows are among
    them, and the balances before and after them are right; a bank that shows each day's closing balance in all rows of
    the day repeats nothing. The oldest row can be repeated only if the file has an opening balance. Of two equal rows,
    the lower one in the file is marked.
    """
    order, marks = slice(None, None, -1 if newest_first else 1), np.zeros(len(rows), bool)
    if len(findings):
        columns = [CellColumn.from_arrow(rows[name]).coded()[order] for name in rows.column_names if name != "line"]
        is_wrong = np.isin(whole_of(rows, "line"), findings)[order]
        marks[1:] = np.all([np.diff(column) == 0 for column in columns], axis=0) & is_wrong[1:]
        marks[:2] &= has_opening
        for row in np.flatnonzero(marks).tolist():
            marks[row] = marks[row - 1] or not is_wrong[row - 1]
        for row in np.flatnonzero(marks[:-1])[::-1].tolist():
            marks[row] = marks[row + 1] or not is_wrong[row + 1]
    # The first row of a file or of a period repeats none.
    return np.roll(marks[::-1], 1) if newest_first else marks


def newest_first(local: Whole, followed: Callable[..., Followed]) -> tuple[bool, Followed]:
    """True if the first row of the file is the newest, and the running balance as checked in that order.

    The order of most dates decides, unless the balances disprove it. `local` has the milliseconds of the rows, ABSENT
    for a row without a moment; `followed` checks the balance, given `newest_first`.
    """
    steps = np.sign(np.diff(local[local != ABSENT]))
    by_dates = bool(steps.sum() < 0)
    usual = followed(newest_first=by_dates)
    if not (wrong := len(usual.findings["line"])):
        return by_dates, usual
    # One wrong date can turn equal dates round; if all dates go one way, only balances without a finding overrule them.
    other, moved = followed(newest_first=not by_dates), np.abs(steps).sum()
    otherwise = len(other.findings["line"])
    is_other = otherwise == 0 if abs(steps.sum()) == moved > 0 else otherwise < wrong
    return (not by_dates, other) if is_other else (by_dates, usual)


def reasons_in(problems: Iterable[tuple[int, str]]) -> dict[str, tuple[int, int]]:
    """Reason why rows cannot be used → (first line, number of rows), the most frequent reason first.

    `problems` has (line, reason) pairs.
    """
    reasons: dict[str, tuple[int, int]] = {}
    for line, why in problems:
        first, count = reasons.get(why, (line, 0))
        reasons[why] = min(first, line), count + 1
    return dict(sorted(reasons.items(), key=lambda reason: -reason[1][1]))


def made_keys(rows: pa.Table, *, newest_first: bool) -> pa.Array:
    """The keys of the rows; a usable row without a key gets a hash of its fields, equal in every export of the day.

    Equal rows of an account are numbered from the oldest, which is the last one if `newest_first`. Pass rows with
    masked descriptions: a phone number could be guessed from its hash.
    """
    keys, count = rows["key"].to_pylist(), Counter[tuple[str, ...]]()
    is_without = pc.and_(rows["key"].is_null(), rows["problem"].is_null())
    without = np.flatnonzero(mask_of(is_without)).tolist()
    texts = [rows[name].filter(is_without).cast(pa.string()).fill_null("").to_pylist() for name in _OF_MADE_KEYS]
    cells = [tuple(" ".join(text.split()) for text in row) for row in zip(*texts, strict=True)]
    accounts = rows["account"].filter(is_without).to_pylist()
    for place, account, row in [*zip(without, accounts, cells, strict=True)][:: -1 if newest_first else 1]:
        count[account, *row] += 1
        content = "\0".join((*row, str(count[account, *row]))).encode(errors="replace")
        keys[place] = MADE_UP_PREFIX + hashlib.blake2b(content, digest_size=8).hexdigest()
    return pa.array(keys, pa.string())


_OF_MADE_KEYS: Final = ("business_date", "direction", "amount_minor", "description")
