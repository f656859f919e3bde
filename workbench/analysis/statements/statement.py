"""A statement that was read: layout recognised, every row kept, dates decided, the running balance checked."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.frames import compact, release_unused, releasing, typed, with_column
from workbench.analysis.match_rules import MatchRules
from workbench.analysis.phone_key import PhoneKey, key_from
from workbench.analysis.shapes import MADE, STATEMENT_ROW
from workbench.analysis.statements.cells import Mask, Whole, mask_of, refused, spread, text_of
from workbench.analysis.statements.dates import ABSENT, DateFormat
from workbench.analysis.statements.dialect import Body, declared_in, digest_of
from workbench.analysis.statements.fields import IS_OPENING, OTHERWISE, fields_of
from workbench.analysis.statements.layouts import LAYOUTS, SUFFIX, Layout, Preamble, heading_key, layout_in
from workbench.analysis.statements.recognising import Found, recognised
from workbench.domain.moments import DAY_MS
from workbench.domain.money import money_text
from workbench.errors import StatementRefused
from workbench.text.render import Table, Tabular, pairs

_SHOWN_FINDINGS: Final = 3


@dataclass(frozen=True, repr=False, eq=False)
class Statement(Tabular):
    """One file of an operator or a bank, brought to the shape that all have."""

    name: str
    """The file's, without its folder."""
    sha256: str
    layout: str
    account: str
    """The ledger account that the statement mirrors."""
    currency: str
    table: pa.Table
    """`rows` as Arrow has them; columns of few different texts are dictionaries."""
    opening_minor: int | None
    """Declared, or worked out from the first balance; None where the file has neither."""
    closing_minor: int | None
    period: tuple[date, date] | None
    """First and last business day, declared or of the rows; None without either."""
    findings: pd.DataFrame
    """The lines at which the running balance does not follow: `line`, `expected_minor`, `found_minor`."""
    followed: int = 0
    """The number of rows whose balance was compared with the one before; the first row counts too."""
    joined: tuple[int, ...] = ()
    """The lines with a narrative alone, which was joined to the row above."""
    layout_sha256: str | None = None
    match: MatchRules = ()
    """The rules by which its rows are matched, if its layout declares any."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Columns as `analysis.shapes.STATEMENT_ROW` declares them: a row for each of the file, bad ones too."""
        return typed([self.table], STATEMENT_ROW)

    @property
    def days(self) -> dict[int, int]:
        """Business day, as days since 1970 → the number of its usable rows."""
        told = self.table["business_date"].filter(self.table["problem"].is_null()).drop_null().cast(pa.int32())
        return {count["values"]: count["counts"] for count in told.value_counts().to_pylist()}

    def _table(self) -> Table:
        rows = len(self.table)
        invalid = rows - self.table["problem"].null_count
        return pairs(
            self.name,
            {
                "layout": self.layout,
                "account": self.account,
                "period": " to ".join(map(str, self.period)) if self.period else "no rows",
                "rows": f"{rows:,}" + (f", of which {invalid:,} invalid" if invalid else ""),
                "opening balance": self._money(self.opening_minor),
                "closing balance": self._money(self.closing_minor),
                "running balance": self.follows,
                "sha256": self.sha256,
            },
        )

    @property
    def continued(self) -> str:
        """The lines that were joined to rows above them, as a sentence; empty without any."""
        few = ", ".join(map(str, self.joined[:_SHOWN_FINDINGS])) + ", …" * (len(self.joined) > _SHOWN_FINDINGS)
        lines = f"Line {few} has" if len(self.joined) == 1 else f"Lines {few} have"
        return f"{lines} a narrative alone: it was added to the row above." if self.joined else ""

    @property
    def follows(self) -> str:
        """A phrase that says if the running balance follows."""
        if self.findings.empty:
            rows = len(self.table)
            if self.table["balance_minor"].null_count == rows:
                return "not given"
            whole = self.followed == rows
            return "agrees in every row" if whole else f"agrees where compared, in {self.followed:,} of {rows:,} rows"
        lines = [str(line) for line in self.findings["line"].head(_SHOWN_FINDINGS)]
        more = ", …" if len(self.findings) > _SHOWN_FINDINGS else ""
        return f"does not agree in {len(self.findings):,} lines: {', '.join(lines)}{more}"

    def _money(self, minor: int | None) -> str:
        return "not given" if minor is None else money_text(minor, self.currency)


FINDING: Final = {"line": "int64", "expected_minor": "int64", "found_minor": "int64"}
"""`line` has the balance that does not follow."""
_HOUR_MS: Final = 3_600_000
_LUSAKA_MS: Final = 2 * _HOUR_MS

Checked = tuple[int | None, int | None, dict[str, Whole], int]


def checked(rows: pa.Table, said: Preamble, closing_line: int, *, newest_first: bool) -> Checked:
    """Follow the running balance through rows of STATEMENT_ROW, from the last row if the newest stands first.

    Returns the opening and the closing balance, None where the file does not show them, the findings, and the number
    of rows whose balance was compared. `said` holds the file's declarations, with the closing balance in
    `closing_line`. Two balances are compared only if every row between them can be read.
    """
    opening, closing = said.opening_minor, said.closing_minor
    step = -1 if newest_first else 1
    effects, known = (values[::step] for values in effects_of(rows))
    has_balance = mask_of(rows["balance_minor"].is_valid())[::step]
    moved, unknown = np.cumsum(effects), np.cumsum(~known)
    lines, balances = (whole_of(rows, name)[::step][has_balance] for name in ("line", "balance_minor"))
    points = np.array([lines, balances, moved[has_balance], unknown[has_balance]])
    ends = (moved[-1], unknown[-1]) if len(rows) else (0, 0)
    nothing = np.empty((4, 0), np.int64)
    before = nothing if opening is None else np.array([[0], [opening], [0], [0]])
    after = nothing if closing is None else np.array([[value] for value in (closing_line, closing, *ends)])
    lines, balances, moves, unread = np.concatenate([before, points, after], axis=1)
    expected = balances[:-1] + np.diff(moves)
    is_compared = np.diff(unread) == 0
    wrong = (expected != balances[1:]) & is_compared
    of_rows = is_compared[: points.shape[1] - (opening is None)] if points.size else is_compared[:0]
    # The first balance of all, where none is declared before it, is what the others are followed from.
    followed = int(of_rows.sum()) + bool(opening is None and of_rows.any())
    found = {"line": lines[1:][wrong], "expected_minor": expected[wrong], "found_minor": balances[1:][wrong]}
    return (
        _balance_at(points, 0, 0, 0) if opening is None else opening,
        _balance_at(points, -1, *ends) if closing is None else closing,
        found,
        followed,
    )


def as_proven(rows: pa.Table, otherwise: pa.Array, said: Preamble, negative: str, *, newest_first: bool) -> pa.Table:
    """The rows, where a supposed reversal becomes an ordinary row if the balance proves it or `negative` says so.

    It then has the type in `otherwise`. Between two balances all of them are reversals, or none; rows without proof
    follow the proven ones.
    """
    is_back = mask_of(otherwise.is_valid())
    if not is_back.any():
        return rows
    step = -1 if newest_first else 1
    effects, known = effects_of(rows)
    turns = np.where(is_back & (effects != 0), -2 * (effects + whole_of(rows, "fee_minor")), 0)
    balances = whole_of(rows, "balance_minor")[::step]
    told = np.flatnonzero(mask_of(rows["balance_minor"].is_valid())[::step])
    ends = [(0, said.opening_minor), (len(rows), said.closing_minor)]
    before, after = ([point for point in (end,) if point[1] is not None] for end in ends)
    points = [*before, *zip((told + 1).tolist(), balances[told].tolist(), strict=True), *after]
    at = np.array([place for place, _ in points], np.int64)
    moved, turned, unread = (
        np.diff(np.concatenate([[0], np.cumsum(values[::step])])[at]) for values in (effects, turns, ~known)
    )
    lacks = np.diff(np.array([balance for _, balance in points], np.int64)) - moved
    places = np.flatnonzero(is_back[::step])
    between = np.searchsorted(at, places + 1) - 1
    is_between = (between >= 0) & (between < len(lacks))
    places, between = places[is_between], between[is_between]
    is_read = unread[between] == 0
    stays, goes = (places[is_read & (lack[between] == 0)] for lack in (lacks, lacks - turned))
    goes = np.setdiff1d(goes, stays)
    by_default = negative == "debit" or (not negative and len(goes) > 0 and not len(stays))
    comes, goes_out = (pc.equal(rows["direction"], word) for word in ("in", "out"))
    is_debit = (is_back & mask_of(comes))[::step] & by_default
    is_debit[stays], is_debit[goes] = False, True
    where = pa.array(is_debit[::step])
    turned = pc.if_else(comes, "out", pc.if_else(goes_out, "in", None))
    for name, other in (("direction", turned), ("type", otherwise)):
        rows = with_column(rows, name, pc.if_else(where, other, rows[name].combine_chunks()))
    return rows


def whole_of(rows: pa.Table, name: str) -> Whole:
    """A column of whole numbers, with 0 for null."""
    made: Whole = rows[name].fill_null(0).to_numpy()
    return made


def _balance_at(points: Whole, place: int, moved: int, unknown: int) -> int | None:
    """The balance at an end of the rows, from the point nearest to it; None where a row between cannot be read."""
    if not points.size or points[3, place] != unknown:
        return None
    return int(points[1, place] + moved - points[2, place])


def effects_of(rows: pa.Table) -> tuple[Whole, Mask]:
    """The signed effect of each row on the account, and a mask of the rows whose effect is known."""
    status, told = rows["status"], ("direction", "amount_minor", "fee_minor", "status")
    complete = np.all([mask_of(rows[name].is_valid()) for name in told], axis=0)
    stays = mask_of(pc.is_in(status, pa.array(["failed", "pending"])))
    amounts = whole_of(rows, "amount_minor")
    signed = np.where(mask_of(pc.equal(rows["direction"], "in")), amounts, -amounts) - whole_of(rows, "fee_minor")
    return np.where(complete & mask_of(pc.equal(status, "completed")), signed, np.int64(0)), complete | stays


class Reading(TypedDict, total=False):
    """The options of `read_statement` that the layout does not decide."""

    account: str | None
    date_format: str | None
    currency: str | None
    phone_key: str | Path | bytes | None


@releasing
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

    `layout` is a name of LAYOUTS, one of your own, or the path of a `.toml` file with one; without it, the
    layout is recognised from the headings. `layouts`, a folder of `.toml` files or a list of layouts and files, are
    known besides, and go before shipped ones of the same name or headings. `account` is the ledger account, where the
    file and its layout do not say it; `date_format` (such as `%d/%m/%Y %H:%M:%S`) says which of several is meant. Rows
    that cannot be read are kept, with the reason in `problem`. Customers' numbers are masked; `phone_key`, the book's
    key or the file that holds it (`reconcile` takes the same), tells apart in `phone_hash` those that look alike so.

    Raises StatementRefused: the file cannot be read without guessing. Raises PhoneKeyRefused: that is no key.
    """
    if not isinstance(path, str | Path):
        raise StatementRefused(f"Give the path of a statement's file, not {path!r}.")
    source, key = Path(path), key_from(phone_key)
    digest = digest_of(source)
    found = recognised(source, tried_layouts(layout, layouts), named=layout is not None)
    passed = currency and currency.strip().upper()
    said, closing_line = declared_in(source.name, found.layout, found.above, passed)
    account = agreed(source.name, "account", account, said.account, found.layout.account)
    whole_currency = agreed(source.name, "currency", passed, said.currency, found.layout.currency)
    same = {"statement": source.name, "account": account}
    formats = [date_format] if date_format else found.layout.dates
    # Without the cells, which take as much memory as what was read of them.
    rows, local, is_opening, otherwise, joined = read_rows(found, formats, whole_currency, key, same)[1:]
    currencies = sorted(rows["currency"].unique().drop_null().to_pylist())
    if (currency or said.currency) and currencies and whole_currency not in currencies:
        text = f"was declared to be in {whole_currency}, but its rows are in {' and '.join(currencies)}."
        raise refused(source.name, text, passed=whole_currency, found=tuple(currencies))
    proven = partial(as_proven, rows, otherwise, said, found.layout.negative)

    def check(*, newest_first: bool) -> Checked:
        return checked(proven(newest_first=newest_first), said, closing_line, newest_first=newest_first)

    is_turned = newest_first(local[local != ABSENT], check)
    opening, closing, findings, followed = check(newest_first=is_turned)
    rows = proven(newest_first=is_turned)
    rows = rows.filter(pa.array(~is_opening)) if is_opening.any() else rows
    if found.layout.makes_keys:
        rows = with_column(rows, "key", made_keys(rows, newest_first=is_turned))
    days = pc.min_max(rows["business_date"].filter(rows["problem"].is_null())).as_py()
    first, last = said.first or days["min"], said.last or days["max"]
    return Statement(
        name=source.name,
        sha256=digest,
        layout=found.layout.name,
        account=account,
        currency=whole_currency,
        table=compact(rows, STATEMENT_ROW),
        opening_minor=opening,
        closing_minor=closing,
        period=(first, last) if first and last else None,
        findings=pd.DataFrame(findings).astype(FINDING),
        followed=followed - int(is_opening.sum()),
        joined=joined,
        layout_sha256=found.layout.sha256,
        match=found.layout.match,
    )


def tried_layouts(
    layout: str | Path | Layout | None, layouts: str | Path | Iterable[Layout | str | Path] = ()
) -> tuple[Layout, ...]:
    """The named layout alone; without a name, all shipped and given ones.

    Raises StatementRefused: there is none of that name, or two are given with one.
    """
    if isinstance(layout, Layout):
        return (layout,)
    if not isinstance(layout, str | Path | None):
        raise StatementRefused(f"Give a layout, Layout(name=…, …) or its name, not a {type(layout).__name__}.")
    if layout is not None and Path(layout).suffix == SUFFIX:
        return (layout_in(Path(layout)),)
    if isinstance(layouts, str | Path):
        folder, layouts = layouts, sorted(Path(layouts).glob(f"*{SUFFIX}"))
        if not layouts:
            raise StatementRefused(f"{folder} is not a folder of layouts: it has no {SUFFIX} file in it.")
    own = [given if isinstance(given, Layout) else layout_in(Path(given)) for given in layouts]
    twice = [name for name, count in Counter(given.name for given in own).items() if count > 1]
    if twice:
        text = f"Two layouts are named {', '.join(twice)}: rename one."
        raise StatementRefused(text, layouts=tuple(twice))
    known = {**LAYOUTS, **{given.name: given for given in own}}
    if layout is None:
        return tuple(known.values())
    if layout not in known:
        text = f"{str(layout)!r} is not a layout; there are {', '.join(known)}, and those in {SUFFIX} files."
        raise StatementRefused(text, layout=str(layout), layouts=tuple(known))
    return (known[str(layout)],)


def agreed(name: str, what: str, passed: str | None, declared: str | None, otherwise: str | None) -> str:
    """The caller's value, else the file's, else the layout's.

    Raises StatementRefused: caller and file differ, or nobody gives one.
    """
    if passed and declared and passed != declared:
        text = f"declares the {what} {declared!r}, but {passed!r} was passed."
        raise refused(name, text, passed=passed, found=declared)
    value = passed or declared or otherwise
    if value is None:
        raise refused(name, f"does not name its {what}.", hint=f"Pass {what}='…'.", lacks=what)
    return value


class Rows(NamedTuple):
    """The rows of a file as its layout reads them."""

    body: Body
    """Their cells."""
    table: pa.Table
    """In the shape STATEMENT_ROW."""
    local: Whole
    """Local times, ABSENT where a date is bad."""
    is_opening: Mask
    """Marks rows that only state a balance."""
    otherwise: pa.Array
    """The type of a supposed reversal if it is an ordinary row."""
    joined: tuple[int, ...]
    """The lines that were joined to rows above them."""


def read_rows(
    found: Found,
    formats: Sequence[str],
    currency: str,
    key: PhoneKey,
    same: Mapping[str, str],
    iso: timedelta | None = None,
) -> Rows:
    """The rows of a file; `same` holds values for every row, and `iso` the offset of moments of ISO 8601."""
    by = [*map(DateFormat, formats)]
    body, joined = found.body()
    release_unused()
    body = _without_footers(found, body, by)
    made, dates = fields_of(found, body, by, currency, key, iso)
    release_unused()
    absent, has_zone = dates.local == ABSENT, dates.by.has_zone
    utc = dates.local - (0 if has_zone else found.layout.utc_offset_hours * _HOUR_MS)
    days = pa.array((utc + _LUSAKA_MS) // DAY_MS, pa.int64(), mask=absent)
    is_opening, otherwise = made.pop(IS_OPENING), made.pop(OTHERWISE)
    made |= {name: spread(pa.array([value]), np.zeros(len(utc), np.int32)) for name, value in same.items()}
    made["business_date"] = days.cast(pa.int32()).cast(pa.date32())
    # A day without a time is not a moment.
    is_day = dates.without_time if dates.by.has_time else True
    made["occurred_at"] = pa.array(utc, pa.timestamp("ms", "UTC"), mask=absent | is_day)
    return Rows(body, compact(made, STATEMENT_ROW), dates.local, is_opening, otherwise, tuple(joined))


def _without_footers(found: Found, body: Body, formats: Sequence[DateFormat]) -> Body:
    """The rows without the lines of totals at the end. Elsewhere, or with a date, such a line is a row."""
    footers = tuple(heading_key(footer) for footer in found.layout.footers)
    places = [found.places[name] for name in ("moment", "time") if name in found.places]
    count = len(body.lines)
    while footers and count:
        cells = body.row(count - 1)
        told = [cells[place] for place in places if place < len(cells)]
        text = " ".join(text_of(cell).strip() for cell in told)
        is_text = not any(isinstance(cell, datetime) for cell in told) and all(by.read(text) is None for by in formats)
        # A key may begin as a total does.
        begins = heading_key(next((text_of(cell) for cell in cells if cell != ""), ""))
        if not (is_text and begins.startswith(footers)):
            break
        count -= 1
    return body.only(np.arange(len(body.lines)) < count)


def newest_first(read: Whole, check: Callable[..., Checked]) -> bool:
    """True if the newest row stands first, by most dates, unless the balances disprove it."""
    steps = np.sign(np.diff(read))
    told = bool(steps.sum() < 0)
    wrong = len(check(newest_first=told)[2]["line"])
    if not wrong:
        return told
    # One row of 1900 turns dates round that are equal else; where they all go one way, balances that follow do not.
    otherwise, moved = len(check(newest_first=not told)[2]["line"]), np.abs(steps).sum()
    return told != (otherwise == 0 if abs(steps.sum()) == moved > 0 else otherwise < wrong)


def made_keys(rows: pa.Table, *, newest_first: bool) -> pa.Array:
    """The keys; a usable row without one gets a hash of its fields, equal in every export of the day.

    Equal rows are numbered from the oldest. The description's numbers are masked, since hashes can be tried out.
    """
    keys, count = rows["key"].to_pylist(), Counter[tuple[str, ...]]()
    is_without = pc.and_(rows["key"].is_null(), rows["problem"].is_null())
    without = np.flatnonzero(mask_of(is_without)).tolist()
    texts = [rows[name].filter(is_without).cast(pa.string()).fill_null("").to_pylist() for name in _SAID]
    said = [tuple(" ".join(text.split()) for text in row) for row in zip(*texts, strict=True)]
    for place, says in [*zip(without, said, strict=True)][:: -1 if newest_first else 1]:
        count[says] += 1
        content = "\0".join((*says, str(count[says]))).encode(errors="replace")
        keys[place] = MADE + hashlib.blake2b(content, digest_size=8).hexdigest()
    return pa.array(keys, pa.string())


_SAID: Final = ("business_date", "direction", "amount_minor", "description")
