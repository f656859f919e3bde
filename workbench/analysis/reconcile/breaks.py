"""Builds the breaks: pairs that differ, and rows that only one side has.

Pairs are Arrow tables, since millions of rows may be open; only a few pairs become Python objects.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.analysis import break_codes as codes
from workbench.analysis.frames import arranged, day_of, typed, untyped, with_column
from workbench.analysis.phone_key import PhoneKey
from workbench.analysis.reconcile.carry_forward import TOO_LATE, CarryForward
from workbench.analysis.reconcile.classify import (
    ONE_SIDED,
    TOLERATED,
    bare_key_in_sql,
    firsts,
    has_parts,
    parts_of,
    with_codes,
)
from workbench.analysis.reconcile.engines import (
    NULL,
    UNIT,
    among,
    arrow_schema,
    both,
    conform,
    day_numbers,
    mapped,
    shaped,
    texts_of,
)
from workbench.analysis.reconcile.inputs import (
    ANY_DAY,
    GROUP,
    LEDGER,
    MISDATED,
    OF_SIDE,
    OWN,
    PREFIX,
    ROW,
    SHARED,
    STATEMENT,
)
from workbench.analysis.reconcile.matching import PARTNERS_BY, Pairs, Partners, match_without_keys
from workbench.analysis.reconcile.proof import Run, limit_of, period_of
from workbench.analysis.rules import Rule
from workbench.analysis.shapes import BREAK, CARRIED, Columns
from workbench.analysis.statements.layouts import CHARGE, INTEREST
from workbench.domain.masking import mask
from workbench.domain.phones import mask_column

_PAIR: Columns = {
    "account": "string", "g": "string", "code": "string", "rows": "int64", "grouped": "bool",
    **{f"{prefix}{name}": ROW[name] for prefix in PREFIX.values() for name in OF_SIDE},
    **{f"{prefix}parts": "string" for prefix in PREFIX.values()},
    "reversed_entry": "string", "reversed_signed": "int64", "fits": "string",
}  # fmt: skip
"""A ledger row beside its statement row. The missing side's columns are null.

The columns OF_SIDE and `parts` (see classify) stand twice: as `l_…` for the ledger, as `s_…` for the statement. A
`grouped` pair has the first row of each side, with the side's sum as `signed`. For a reversal on the statement,
`reversed_entry` and `reversed_signed` are the ledger entry that the row reverses and its effect. `fits` is a text with
the names of candidates for a row's partner, and the fields by which they fit.
"""
_BROKEN: Columns = {
    **dict.fromkeys(("side", "account", "code"), "string"), "place": "int64", "first": "bool",
    **{name: ROW[name] for name in OF_SIDE}, "parts": "string",
}  # fmt: skip
_TEXTS_AT_ONCE = 20_000
"""The most pairs for which texts are built at a time."""


class Broken(NamedTuple):
    """The outcome of matching.

    `breaks` has the columns BREAK, in an order that depends only on its rows. `rows` has each row of either side that
    is part of a break (columns _BROKEN), with its narrative, the day `since` which it is carried forward, and as
    `place` the index of its break in `breaks`. `rows` also has the rows of `before_period` and `after_period`, without
    a `place`: ledger rows without a partner that are dated before the first statement of an account that no run closed,
    or after the closing date. They are no breaks. The first are part of the opening balance; the next run reads the
    others again.
    `settled` has two kinds of pairs that are no breaks, each with its `rule` and `group`: pairs that a rule without a
    key matched, and pairs that the ledger booked late (rule `key`). A fee that is a line of its own is also a row of
    its own in `settled`. `matched` counts these pairs by account and rule. `tolerated` is account → the sum of the
    differences within the tolerance, in the account's currency. `unsure` counts the rows that have no partner only
    because their customers' numbers cannot be compared.
    """

    breaks: pd.DataFrame
    rows: pa.Table
    before_period: pa.Table
    after_period: pa.Table
    settled: pa.Table
    matched: Counter[tuple[str, str]]
    tolerated: Counter[str]
    unsure: int


def breaks_of(run: Run) -> Broken:
    """Builds the breaks: every pair that differs, and every row that only one side has.

    A row within the run's `cut_off` days up to the closing date may be `timing`, unless it is a charge.
    """
    pairs, members, settled, unsure = _open_pairs(run)
    pairs, settled = _without_late_bookings(pairs, settled, run.carried)
    is_tolerated = pc.equal(pairs["code"], TOLERATED)
    let_pass = pairs.filter(is_tolerated)
    pairs = pairs.filter(pc.invert(is_tolerated)) if len(let_pass) else pairs
    pairs, members = _split_at_the_close(run, pairs, members)
    is_outside = pc.or_(_before_period(run, pairs, members), _after_period(run, pairs))
    pairs, outside = pairs.filter(pc.invert(is_outside)), pairs.filter(is_outside)
    many, pairs = len(pairs), pa.concat_tables([pairs, outside])
    pairs = pairs.append_column("place", pa.array(range(len(pairs)), pa.int64()))
    rows = _hashed(_rows_of(pairs, members), run.key)
    # The texts are looked up last: in the join of ten million rows they would weigh more than all compared columns.
    texts, since = _masked_texts(run, rows.rename_columns([_REPORTED.get(name, name) for name in rows.column_names]))
    for name, column in {**texts, "since": since}.items():
        rows = rows.append_column(name, column)
    pairs, rows = _without_charges(pairs, rows, run.decided.rules)
    breaks, places = _frame(run, pairs.slice(0, many), rows)
    rows = with_column(rows, "place", pc.index_in(rows["place"], places))
    outside = rows.filter(pc.is_null(rows["place"]))
    is_after = pc.greater(outside["day"], mapped(outside["account"], run.ends.__getitem__, pa.int64()))
    let_pass = let_pass.filter(pc.equal(let_pass["l_currency"], _own_currency(let_pass, run.currencies)))
    tolerated = summed(let_pass["account"], pc.subtract(let_pass["l_signed"], let_pass["s_signed"]))
    matched = Counter(zip(settled["account"].to_pylist(), settled["rule"].to_pylist(), strict=True))
    before, after = outside.filter(pc.invert(is_after)), outside.filter(is_after)
    return Broken(breaks, rows, before, after, _with_lines(settled, members), matched, tolerated, unsure)


def _before_period(run: Run, pairs: pa.Table, members: pa.Table) -> pa.Array:
    """For each pair, True if it is a ledger row without a partner that is dated before the account's first statement.

    Such a row is part of the opening balance. A row that cannot be used stays a break, and so do an ambiguous row, a
    duplicate of the last days before the statement, and a batch with a later row; `members` has the rows of batches.
    """
    first = mapped(pairs["account"], run.begins.get, pa.int64())
    until = pc.if_else(
        pc.equal(pairs["code"], codes.DUPLICATE[LEDGER]), pc.subtract(first, run.allowed.most_days), first
    )
    is_in_period = pc.greater_equal(members["day"], mapped(members["account"], run.begins.get, pa.int64()))
    begun = pc.is_in(texts_of(pairs, GROUP), texts_of(members.filter(is_in_period), GROUP))
    stays = pc.or_(
        pc.is_in(pairs["code"], pa.array([codes.INVALID, codes.AMBIGUOUS])), pc.and_(pairs["grouped"], begun)
    )
    is_before = pc.and_(pc.is_null(pairs["s_no"]), pc.less(pairs["l_day"], until))
    return pc.fill_null(pc.and_not(is_before, stays), fill_value=False)


def _after_period(run: Run, pairs: pa.Table) -> pa.Array:
    """For each pair, True if it is a ledger row without a partner that is dated after its account's closing date.

    Such a row is a movement of the next period. A row that cannot be used stays a break, and so does a row that an
    earlier run closed over. Of a batch, the first row counts: see _split_at_the_close.
    """
    is_later = pc.greater(pairs["l_day"], mapped(pairs["account"], run.ends.__getitem__, pa.int64()))
    is_usable = pc.not_equal(pairs["code"], codes.INVALID)
    return pc.fill_null(pc.and_(pc.and_(pc.is_null(pairs["s_no"]), is_usable), is_later), fill_value=False)


def _split_at_the_close(run: Run, pairs: pa.Table, members: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Splits each batch that only the ledger has into the rows up to the closing date and the later rows.

    Returns the pairs, and `members`, the rows of the batches. The later rows become a group with another `g`.
    """
    is_later = pc.greater(members["day"], mapped(members["account"], run.ends.__getitem__, pa.int64()))
    is_batch = pc.and_(pairs["grouped"], pc.and_(pc.is_null(pairs["s_no"]), pc.not_equal(pairs["code"], codes.INVALID)))
    batches, later = pairs.filter(is_batch), texts_of(members.filter(is_later), GROUP)
    split = batches.filter(pc.is_in(texts_of(batches, GROUP), later))
    if not len(split):
        return pairs, members
    names = texts_of(split, GROUP)
    is_split = pc.and_(is_batch, pc.is_in(texts_of(pairs, GROUP), names))
    is_part = pc.is_in(texts_of(members, GROUP), names)
    all_pairs, all_members = [pairs.filter(pc.invert(is_split))], [members.filter(pc.invert(is_part))]
    for is_mine, suffix in ((pc.invert(is_later), ""), (is_later, UNIT)):
        rows = members.filter(pc.and_(is_part, is_mine))
        rows = with_column(rows, "g", pc.binary_join_element_wise(rows["g"], suffix, ""))
        many = rows.group_by(GROUP).aggregate([([], "count_all")]).rename_columns([*GROUP, "n"])
        rows = rows.drop_columns(["n", "first"]).join(many, GROUP)
        rows = rows.append_column("first", firsts(rows)).select(members.column_names)
        parts = _groups(rows, run.currencies)
        wholes = split.take(pc.index_in(pc.utf8_rtrim(texts_of(parts, GROUP), UNIT), names))
        for name in ("code", "fits"):
            parts = with_column(parts, name, wholes[name])
        all_pairs.append(parts)
        all_members.append(rows)
    return pa.concat_tables(all_pairs), pa.concat_tables(all_members)


def _with_lines(settled: pa.Table, members: pa.Table) -> pa.Table:
    """Adds the text `group`, and splits pairs with several rows on a side into their rows.

    These are pairs in which a payment and its fee are two lines, and batches with the statement row that moves their
    sum; `members` has the rows of the batches. The rows that come from one pair have one `group`.
    """
    keys = (settled[name].fill_null("") for name in ("l_key", "l_entry", "s_key"))
    settled = settled.append_column("group", pc.binary_join_element_wise(*keys, " "))
    is_split, is_batch = has_parts(settled), settled["grouped"]
    names = [name for name in OF_SIDE if name != "fee"]
    rows = []
    for pair in settled.filter(is_split).to_pylist():
        for lines in zip_longest(*(parts_of(pair, prefix) for prefix in PREFIX.values()), fillvalue={}):
            sides = zip(PREFIX.values(), lines, strict=True)
            rows.append(pair | {f"{prefix}{name}": line.get(name) for prefix, line in sides for name in names})
    batches = settled.filter(is_batch)
    ours, theirs = ({f"{prefix}{name}": None for name in OF_SIDE} for prefix in PREFIX.values())
    rows += [pair | ours for pair in batches.to_pylist()]
    booked = members.filter(pc.equal(members["side"], LEDGER)).select([*GROUP, *OF_SIDE])
    booked = booked.rename_columns([*GROUP, *ours]).join(batches.drop_columns([*ours]), GROUP, join_type="inner")
    rows += [row | theirs for row in booked.to_pylist()]
    whole = settled.filter(pc.invert(pc.or_(is_split, is_batch)))
    return pa.concat_tables([whole, pa.Table.from_pylist(rows, settled.schema)])


def _open_pairs(run: Run) -> tuple[pa.Table, pa.Table, pa.Table, int]:
    """Returns open and tolerated pairs, the rows of grouped pairs, the settled pairs, and a number of rows.

    The number counts rows that have no partner only because their customers' numbers cannot be compared. Millions of
    pairs may be open; the intermediate tables are freed when this function returns.
    """
    classified = run.classified
    batched = pc.greater(classified.members["batches"], 0)
    members = classified.members.filter(batched)
    members = members.append_column("first", firsts(members))
    invalid = dict.fromkeys(PREFIX, codes.INVALID)
    pairs = pa.concat_tables([
        # Rule 1. An invalid row belongs to no group, even if its key or batch is the name of a group.
        *(_one_sided(run.engine.table(rows, ROW), invalid, g=None) for rows in classified.bad),
        _compared(classified.opened),
        # Rules 2 and 3: further rows of a key, and groups with a batch that do not agree.
        _one_sided(classified.members.filter(pc.invert(batched)), codes.DUPLICATE),
        _groups(members, run.currencies),
    ])  # fmt: skip
    is_waiting = pc.equal(pairs["code"], ONE_SIDED)
    waiting, pairs = pairs.filter(is_waiting), pairs.filter(pc.invert(is_waiting))
    for prefix in PREFIX.values():
        waiting = _hashed(waiting, run.key, prefix)
    waiting = _with_reversed(run, waiting).sort_by([(name, "ascending") for name in _ORDER])
    problems = {f"{prefix}problem": _misdated(run, waiting, prefix) for prefix in PREFIX.values()}
    is_misdated = pc.or_(*map(pc.is_valid, problems.values()))
    partners = match_without_keys(
        waiting,
        run.rules,
        lambda lines: _masked_texts(run, _lines_of(lines))[0]["description"].to_pylist(),
        is_misdated.to_numpy(zero_copy_only=False),
        _is_batch(waiting, members),
    )
    compared, settled = _settled(run, waiting, partners)
    proposed = _paired_rows(waiting, partners.proposed, codes.WRONG_REFERENCE, PARTNERS_BY)
    pairs = pa.concat_tables([pairs, compared, proposed, _unmatched(run, waiting, partners, problems)])
    return pairs, members, settled, partners.unsure


def _is_batch(waiting: pa.Table, members: pa.Table) -> NDArray[np.bool_]:
    """True for each row of `waiting` that is a batch of the ledger in one currency; `members` has the batches' rows."""
    sums = members.group_by(GROUP).aggregate([("currency", "count_distinct")])
    names = (texts_of(table, GROUP) for table in (waiting, sums.filter(pc.equal(sums["currency_count_distinct"], 1))))
    is_ours = pc.and_(waiting["grouped"], pc.is_valid(waiting["l_no"]))
    mask: NDArray[np.bool_] = pc.and_(is_ours, pc.is_in(next(names), next(names))).to_numpy()
    return mask


def summed(accounts: pa.ChunkedArray, amounts: pa.ChunkedArray) -> Counter[str]:
    """Account → the sum of its values in `amounts`."""
    sums = pa.table({"account": accounts, "amount": amounts}).group_by("account").aggregate([("amount", "sum")])
    return Counter(dict(zip(sums["account"].to_pylist(), sums["amount_sum"].to_pylist(), strict=True)))


_ORDER = ("account", "l_day", "s_day", "s_source", "s_no", "l_no", "l_entry", "l_key", "s_key")
"""The columns that sort rows without a partner, so that their order depends only on the rows and not on the engine."""


_pairs = partial(shaped, _PAIR)


def _columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _one_sided(rows: pa.Table, code: Mapping[str, str], **more: object) -> pa.Table:
    """Turns rows without a partner into pairs with one side; `code` is side → code.

    `more` has values for other columns of _PAIR.
    """
    pairs = []
    for side, prefix in PREFIX.items():
        mine = rows.filter(pc.equal(rows["side"], side))
        shown = {f"{prefix}{name}": mine[name] for name in (*OF_SIDE, "parts") if name in mine.column_names}
        usual = {"rows": 1, "grouped": False, "g": mine["g"]}
        pairs.append(_pairs(len(mine), account=mine["account"], code=code[side], **shown, **{**usual, **more}))
    return pa.concat_tables(pairs)


def _compared(opened: pa.Table) -> pa.Table:
    rows = pc.add(*(pc.cast(pc.is_valid(opened[f"{prefix}no"]), pa.int64()) for prefix in PREFIX.values()))
    # An entry is proposed under a key as a file spells it.
    g = pc.coalesce(*(opened[f"{prefix}key"] for prefix in PREFIX.values()))
    return _pairs(len(opened), **{**_columns(opened), "g": g}, rows=rows, grouped=False)


def _own_currency(rows: pa.Table, currencies: Mapping[str, str | None]) -> pa.ChunkedArray:
    """For each row, the currency of its account; `currencies` is by account."""
    return mapped(rows["account"], currencies.get)


def _groups(members: pa.Table, currencies: Mapping[str, str | None]) -> pa.Table:
    """One pair for each group of `members`, with the sum of each side in the currency of the pair.

    That is the account's currency if any row of the group is in it; `currencies` is by account. The sum of a side
    without a row in the pair's currency is null.
    """
    is_own = pc.cast(pc.equal(members["currency"], _own_currency(members, currencies)), pa.int8())
    order = [("is_own", "descending"), ("side", "descending"), ("currency", "ascending")]
    sorted_rows = members.append_column("is_own", is_own).sort_by(order).group_by(GROUP, use_threads=False)
    members = members.join(sorted_rows.aggregate([("currency", "first")]), GROUP)
    counted = members.filter(pc.equal(members["currency"], members["currency_first"]))
    sums = counted.group_by([*GROUP, "side"]).aggregate([("signed", "sum")])
    members = members.join(sums, [*GROUP, "side"])
    first_rows = {}
    for side, prefix in PREFIX.items():
        mine = members.filter(pc.and_(pc.equal(members["side"], side), members["first"]))
        shown = {f"{prefix}{name}": mine[name] for name in OF_SIDE} | {f"{prefix}currency": mine["currency_first"]}
        sums = {f"{prefix}batch": mine["g"], f"{prefix}signed": mine["signed_sum"], f"{prefix}rows": mine["n"]}
        first_rows[side] = pa.table({name: mine[name] for name in GROUP} | shown | sums)
    groups = first_rows[LEDGER].join(first_rows[STATEMENT], GROUP, join_type="full outer")
    is_both = pc.and_(*(pc.is_valid(groups[f"{prefix}no"]) for prefix in PREFIX.values()))
    code = pc.if_else(is_both, codes.BATCH_MISMATCH, ONE_SIDED)
    rows = pc.coalesce(groups["l_rows"], groups["s_rows"])
    return _pairs(len(groups), **_columns(groups), code=code, rows=rows, grouped=True)


def _misdated(run: Run, waiting: pa.Table, prefix: str) -> pa.Array:
    """Text for each pair: the reason why the date of its row on the side `prefix` is impossible.

    The text is null if the date is possible or the side has no row. No statement row may be dated after `as_of`. A
    statement row may lie outside of its statement's period by as many days as a pair's dates may differ. A statement
    with rows that were carried forward has no first day, since these rows may be older. A carried statement row keeps
    the problem that the earlier run recorded. A ledger row is impossible only if its year is mistyped.
    """
    # Old lines may still be open under the name of an earlier statement.
    known, periods = set(run.brought.rows["statement"]), {}
    for name, file in run.inputs.reported.items():
        first, last = period_of(file)
        if first is not None and last is not None:
            first = -ANY_DAY if name in known else first - run.allowed.most_days
            periods[name] = first, min(last, limit_of(file, run.as_of)) + run.allowed.most_days
    sources, days = waiting[f"{prefix}source"].fill_null(""), waiting[f"{prefix}day"]
    spans = mapped(sources, lambda source: periods.get(source, (-ANY_DAY, ANY_DAY)), pa.list_(pa.int64()))
    first, last = (pc.list_element(spans, end) for end in (0, 1))
    where = pa.nulls(len(waiting), pa.string())
    too_late = pc.greater(days, run.as_of), f"after {day_of(min(run.as_of, codes.DAYS[1]))}, {TOO_LATE}"
    if prefix == PREFIX[LEDGER]:
        limits = mapped(waiting["account"], lambda account: run.ledger_limits.get(account, ANY_DAY), pa.int64())
        too_late = pc.greater(days, limits), "over a year after all other rows of the ledger"
    for applies, words in (
        (pc.greater(days, last), "after the last day of its file"),
        (pc.less(days, first), "before the first day of its file"),
        too_late,
    ):
        where = pc.if_else(applies, words, where)
    dated = mapped(pc.if_else(pc.is_valid(where), days, None), lambda day: f"{MISDATED}{day_of(day)}")
    problems = pc.binary_join_element_wise(dated, where, ", ")
    if prefix != PREFIX[STATEMENT] or run.carried.rows.empty:
        return problems
    kept = untyped(run.carried.rows, CARRIED)
    return pc.coalesce(kept["problem"].take(pc.index_in(_identity(_lines_of(waiting)), _identity(kept))), problems)


def _with_reversed(run: Run, waiting: pa.Table) -> pa.Table:
    """The pairs; each reversal on the statement gets `reversed_entry` and `reversed_signed`.

    These are the entry, and the effect on the account, of the ledger row whose key the reversal names; null if there is
    no such row.
    """
    asks = pc.if_else(pc.equal(waiting["s_kind"], "reversal"), waiting["s_refers"], None)
    named = {"account": waiting["account"], "key": asks, "currency": waiting["s_currency"]}
    named = pa.table(named).filter(pc.is_valid(asks))
    if not len(named):
        return waiting
    names = ("account", "asks", "currency", "reversed_entry", "reversed_signed")
    shape = {name: _PAIR.get(name, "string") for name in names}
    reversals = []
    # Most keys are spelt as in the ledger. Only for the others are all of the ledger's keys changed to bare keys.
    for spelt in (str, partial(bare_key_in_sql, run.engine)):
        if len(named):
            wanted = run.engine.arrow(named, dict.fromkeys(named.column_names, "string"))
            entry = "min(case when x.currency = y.currency then entry end)"
            entries = f"""(select x.account, y.key as asks, y.currency, {entry} as reversed_entry,
                max(signed) as reversed_signed
                from {run.everything} x join {wanted} y on x.account = y.account and {spelt("x.key")} = {spelt("y.key")}
                group by x.account, y.key, y.currency)"""
            reversals.append(run.engine.table(entries, shape))
            named = named.join(reversals[-1], named.column_names, [*names[:3]], join_type="left anti")
    plain = waiting.drop_columns(["reversed_entry", "reversed_signed"]).append_column("asks", asks)
    on = ["account", "asks", "s_currency"], [*names[:3]]
    return plain.join(pa.concat_tables(reversals), *on).select(list(_PAIR))


def _hashed(rows: pa.Table, key: PhoneKey, prefix: str = "") -> pa.Table:
    """The rows; each customer's number that is not masked and has no hash gets one.

    `prefix` is that of the columns' names: `l_` or `s_` in pairs, empty in rows.
    """
    hashes, phones = (rows[f"{prefix}{name}"] for name in ("phone_hash", "phone"))
    computed = mapped(pc.if_else(pc.is_valid(hashes), None, phones), key.hash_of)
    return with_column(rows, f"{prefix}phone_hash", pc.coalesce(hashes, computed))


def _settled(run: Run, waiting: pa.Table, partners: Partners) -> tuple[pa.Table, pa.Table]:
    """Two tables of the pairs in `partners.matched`: pairs with a code, and pairs that are no break, with their `rule`.

    A tolerated pair is in both tables: it has a code and is no break.
    """
    compared, agreed = [_pairs(0)], [_pairs(0).append_column("rule", pa.array([], pa.string()))]
    for rule, pairs in partners.matched:
        paired = _paired_rows(waiting, pairs, None)
        if not rule.has_window:
            days = run.allowed.days if rule.days is None else f"{rule.days}"
            paired = with_codes(run.engine, paired, _PAIR, run.allowed._replace(days=days))
            # The sums of a batch and of its row are equal, and the batch's rows may be of several days.
            paired = with_column(paired, "code", pc.if_else(paired["grouped"], None, paired["code"]))
        is_break = pc.fill_null(pc.not_equal(paired["code"], TOLERATED), fill_value=False)
        compared.append(paired.filter(pc.is_valid(paired["code"])))
        mine = paired.filter(pc.invert(is_break))
        agreed.append(mine.append_column("rule", pa.array([rule.name] * len(mine), pa.string())))
    return pa.concat_tables(compared), pa.concat_tables(agreed)


def _paired_rows(waiting: pa.Table, pairs: Pairs, code: str | None, fits: str | None = None) -> pa.Table:
    """Turns `pairs`, indices of ledger and statement rows in `waiting`, into a table with the columns _PAIR.

    Every pair gets this `code` and this text `fits`; None leaves the column null.
    """
    ours, theirs = (waiting.take(pa.array([pair[side] for pair in pairs], pa.int64())) for side in (0, 1))
    reported = {name: column for name, column in _columns(theirs).items() if name.startswith(PREFIX[STATEMENT])}
    return _pairs(len(pairs), **{**_columns(ours), **reported, "code": code, "rows": 2, "fits": fits})


def _unmatched(run: Run, waiting: pa.Table, partners: Partners, problems: dict[str, pa.Array]) -> pa.Table:
    """Gives a code to each row of `waiting` that `partners` neither matches nor proposes to match.

    `problems` has a column for each side that explains why a row's date is impossible, else null: such a row is
    invalid. For any other row, the first code that applies counts: ambiguous, reversal, timing, unpaid payout, missing
    on the other side.
    """
    ours = pc.is_null(waiting["s_no"])
    last = mapped(waiting["account"], lambda account: run.closing[account] - run.cut_off, pa.int64())
    is_late = pc.greater(pc.coalesce(waiting["s_day"], waiting["l_day"]), last)
    is_reversal = pc.or_(pc.and_(ours, pc.is_valid(waiting["l_refers"])), pc.is_valid(waiting["reversed_signed"]))
    is_unpaid = pc.and_(ours, pc.is_in(waiting["l_kind"], pa.array(["payout_paid"])))
    code = pc.if_else(ours, codes.MISSING[LEDGER], codes.MISSING[STATEMENT])
    for named, applies in (
        (codes.PAYOUT_UNPAID, is_unpaid),
        (codes.TIMING, is_late),
        (codes.REVERSED_UNMATCHED, is_reversal),
        (codes.AMBIGUOUS, pc.is_valid(partners.candidates)),
        (codes.INVALID, pc.or_(*map(pc.is_valid, problems.values()))),
    ):
        code = pc.if_else(applies, named, code)
    pairs = chain(partners.proposed, *(matched for _, matched in partners.matched))
    is_done = pc.is_in(pa.array(range(len(waiting)), pa.int64()), pa.array([*chain(*pairs)], pa.int64()))
    lonely = _columns(waiting) | problems | {"code": code, "fits": partners.candidates}
    return _pairs(len(waiting), **lonely).filter(pc.invert(is_done))


_SORTED = ["account", "business_date", "code", "statement", "line", "key", "entry", "side", "reason"]


def _frame(run: Run, pairs: pa.Table, rows: pa.Table) -> tuple[pd.DataFrame, pa.Array]:
    """The breaks as a sorted frame (columns BREAK), and for each break the index of its pair in `pairs`.

    `rows` are the rows of the pairs, with their narratives.
    """
    table = pa.table({**_plain(pairs, run), **_narratives(pairs, rows)})
    order = pc.sort_indices(table, [(name, "ascending") for name in _SORTED[:-1]])
    columns = {name: pa.nulls(len(table)) for name in BREAK} | _columns(table.take(order))
    columns["id"], columns["reason"], columns["proposal"] = _texts(pairs, rows, order)
    result = typed([arranged(columns, BREAK)], BREAK).assign(place=order.to_numpy())
    if result.duplicated(_SORTED[:-1]).any():
        result = result.sort_values([*_SORTED, "id"], kind="stable", ignore_index=True)
    if not result["id"].is_unique:
        result["id"] = pd.Series(_distinct(result["id"]), dtype="string")
    result["code"] = result["code"].cat.set_categories(codes.CODES)
    result["bucket"] = result["bucket"].cat.set_categories(list(codes.BUCKETS), ordered=True)
    return result, pa.array(result.pop("place").to_numpy(), pa.int64())


def _plain(pairs: pa.Table, run: Run) -> dict[str, pa.ChunkedArray]:
    """Name → column, for the columns of BREAK that can be computed without the texts of the rows.

    These are all but `id`, `reason`, `proposal`, `description`, `words`, `since_date` and the columns of a decision.
    """
    ledger, statement = (pc.is_valid(pairs[f"{prefix}no"]) for prefix in PREFIX.values())
    key = pc.if_else(statement, pairs["s_key"], pairs["l_key"])
    # Of a pair in two currencies, only the side in the account's currency has amounts.
    ours, theirs = (pairs[f"{prefix}currency"] for prefix in PREFIX.values())
    is_ours = pc.equal(ours, _own_currency(pairs, run.currencies)).fill_null(fill_value=False)
    currency = pc.if_else(is_ours, ours, pc.coalesce(theirs, ours))
    for prefix in PREFIX.values():
        is_other = pc.not_equal(pairs[f"{prefix}currency"], currency).fill_null(fill_value=False)
        for name in ("amount", "fee", "signed"):
            pairs = with_column(pairs, f"{prefix}{name}", pc.if_else(is_other, None, pairs[f"{prefix}{name}"]))
    # A batch is booked under its own name.
    key = pc.if_else(pairs["grouped"], pairs["g"], key)
    gross = {
        f"{side}_{name}_minor": pc.if_else(pairs["grouped"], None, pairs[f"{prefix}{name}"])
        for side, prefix in PREFIX.items() for name in ("amount", "fee")
    }  # fmt: skip
    apart = pc.subtract(*(pairs[f"{prefix}signed"].fill_null(0) for prefix in PREFIX.values()))
    day = pc.min_element_wise(pairs["l_day"], pairs["s_day"])
    age = pc.max_element_wise(
        pc.subtract(mapped(pairs["account"], run.closing.__getitem__, pa.int64()), day), 0, skip_nulls=False
    )
    theirs = pc.if_else(pc.equal(pairs["s_phone"], ""), None, pairs["s_phone"])
    fees = (pc.is_valid(pairs[f"{prefix}parts"]).cast(pa.int64()) for prefix in PREFIX.values())
    is_charge = pc.and_(
        pc.equal(pairs["code"], codes.MISSING[STATEMENT]), pc.equal(pairs["s_kind"].fill_null(""), "fee")
    )
    settlements = mapped(
        pc.binary_join_element_wise(pairs["code"], pairs["account"], UNIT),
        lambda text: codes.settlement_of(*text.split(UNIT, 1)),
    )
    has_currency = pc.equal(pairs["s_currency"], _own_currency(pairs, run.currencies)).fill_null(fill_value=False)
    is_ours_wrong = pc.and_(pc.equal(pairs["code"], codes.CURRENCY_MISMATCH), has_currency)
    settlements = pc.if_else(is_ours_wrong, codes.CORRECT_CURRENCY, settlements)
    expected_in = {name: ", ".join(sorted({book.source for book in run.books_of(name)})) for name in run.accounts}
    return gross | {
        "statement": pc.if_else(statement, pairs["s_source"], mapped(pairs["account"], expected_in.__getitem__)),
        "line": pairs["s_no"],
        "account": pairs["account"],
        "key": key,
        "code": pairs["code"],
        "side": pc.if_else(pc.and_(ledger, statement), "both", pc.if_else(ledger, LEDGER, STATEMENT)),
        "entry": pairs["l_entry"],
        "ledger_minor": pairs["l_signed"],
        "statement_minor": pairs["s_signed"],
        "variance_minor": apart,
        "currency": currency,
        "business_date": day,
        "age_days": age,
        "bucket": mapped(age, codes.bucket_of),
        "phone": mapped(pc.coalesce(theirs, pairs["l_phone"]), lambda phone: mask_column(phone) or None),
        "rows": pc.add(pairs["rows"], pc.add(*fees)),
        "settlement": pc.if_else(is_charge, codes.BOOK_IT.format("fee"), settlements),
    }


_CONTENTS = ("key", "batch", "at", "day", "direction", "amount", "fee", "currency", "status", "phone", "kind", "refers",
             "state", "problem")  # fmt: skip
"""Columns with the contents of a row: not its line or its entry's id, which another export may change."""
_ROW = "\x1e"


def _contents(rows: pa.Table, prefix: str) -> pa.ChunkedArray:
    """The contents of each row as one text; customers' numbers are masked as in the carry-forward."""
    hides: Mapping[str, Callable[[str], str]] = {"phone": mask_column, "problem": mask}
    columns = {name: rows[f"{prefix}{name}"] for name in _CONTENTS}
    columns |= {name: mapped(columns[name], hide) for name, hide in hides.items()}
    texts = [pc.cast(column, pa.string()) for column in columns.values()]
    return pc.binary_join_element_wise(*texts, UNIT, null_handling="replace", null_replacement="")


def _by_place(rows: pa.Table, texts: pa.ChunkedArray, separator: str, length: int) -> pa.Array:
    """For each pair, from index 0 to `length` - 1, the texts of its rows joined by `separator`; null if it has none.

    `texts` has a text for each of `rows`, whose column `place` is the index of the pair.
    """
    table = pa.table({"place": rows["place"], "text": texts})
    grouped = table.group_by("place", use_threads=False).aggregate([("text", "list")])
    indices = pc.index_in(pa.array(range(length), pa.int64()), grouped["place"])
    return pc.binary_join(grouped["text_list"], separator).take(indices)


def _ids(contents: Iterable[str]) -> list[str]:
    """An id for each text: the letter `b` and 11 base-32 letters, which are 55 bits of the text's hash.

    Because of the letter, spreadsheets do not take the id for a number.
    """
    # Base 32 writes five bytes as eight letters: filled up to ten bytes, all hashes are written at once.
    hashes = (hashlib.blake2b(content.encode(), digest_size=7).digest().ljust(10) for content in contents)
    letters = base64.b32encode(b"".join(hashes)).decode().lower()
    return [f"b{letters[start : start + 11]}" for start in range(0, len(letters), 16)]


def _distinct(ids: Iterable[str]) -> list[str]:
    """The ids, made distinct: of several equal ids, the n-th becomes an id made from the equal id and the number n."""
    distinct: dict[str, None] = {}
    for name in ids:
        copy, other = 1, name
        while other in distinct:
            copy += 1
            (other,) = _ids([f"{name}{UNIT}{copy}"])
        distinct[other] = None
    return list(distinct)


def _narratives(pairs: pa.Table, rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Name → column: the texts of each pair's statement row, else of its ledger row, and `since_date`.

    A grouped pair has the texts of the first row of that side.
    """
    shown = rows.select(["place", "side", *_TEXTS]).filter(rows["first"])
    lines = pa.concat_tables([shown.filter(pc.equal(shown["side"], side)) for side in (STATEMENT, LEDGER)])
    since = rows.group_by("place").aggregate([("since", "min")])
    line_indices, since_indices = (pc.index_in(pairs["place"], part["place"]) for part in (lines, since))
    texts = {name: lines[name].take(line_indices) for name in _TEXTS}
    return texts | {"since_date": since["since_min"].take(since_indices)}


def _texts(pairs: pa.Table, rows: pa.Table, order: pa.Array) -> list[pa.ChunkedArray]:
    """The columns id, reason and proposal of the pairs, in the order of the indices `order`.

    The id is a hash of a pair's account, code and contents; for a group, the contents are those of its rows.
    """
    groups = pairs.filter(pairs["grouped"]).select(["place", "s_currency"])
    rows, count = rows.filter(pc.is_in(rows["place"], groups["place"])), len(pairs)
    row_texts = pc.binary_join_element_wise(rows["side"], _contents(rows, ""), UNIT)
    by_text = pc.sort_indices(row_texts)
    contents = _by_place(rows.take(by_text), row_texts.take(by_text), _ROW, count)
    ours = rows.filter(pc.equal(rows["side"], LEDGER))
    named = {name: f"l_{name}" for name in ("entry", "amount", "fee", "currency")}
    ours = ours.rename_columns([named.get(name, name) for name in ours.column_names]).join(groups, "place")
    ours = ours.sort_by([("no", "ascending"), ("l_entry", "ascending")])
    reversals = _by_place(ours, codes.reverse(ours), ", ", count)
    every = pairs.append_column("contents", contents).append_column("reversals", reversals)
    tables = []
    # A reason names the statement's row where there is one.
    alike = pc.binary_join_element_wise(pairs["code"], pc.is_valid(pairs["s_no"]).cast(pa.string()), UNIT)
    for name in pc.unique(alike):
        places = pc.indices_nonzero(pc.equal(alike, name))
        for start in range(0, len(places), _TEXTS_AT_ONCE):
            mine = places.slice(start, _TEXTS_AT_ONCE)
            some = every.take(mine)
            sides = (_contents(some, prefix) for prefix in PREFIX.values())
            of_rows = pc.coalesce(some["contents"], pc.binary_join_element_wise(*sides, _ROW))
            ids = _ids(pc.binary_join_element_wise(some["account"], some["code"], of_rows, _ROW).to_pylist())
            tables.append(pa.table([mine, ids, codes.reasons_of(some), codes.proposals_of(some)], _TEXT))
    whole = pa.concat_tables([pa.table([[]] * 4, _TEXT), *tables]).sort_by("place").take(order)
    return [whole[name] for name in _TEXT.names[1:]]


_TEXT: Final = pa.schema({"place": pa.uint64(), **dict.fromkeys(("id", "reason", "proposal"), pa.string())})


def _rows_of(pairs: pa.Table, members: pa.Table) -> pa.Table:
    """Each row of either side that is part of a break, with the columns _BROKEN and the `place` of its pair.

    `first` marks the row whose values the break shows for its side.
    """
    is_grouped = pairs["grouped"]
    single, tables = pairs.filter(pc.invert(is_grouped)), []
    for side, prefix in PREFIX.items():
        mine = single.filter(pc.is_valid(single[f"{prefix}no"]))
        shown = {name: mine[f"{prefix}{name}"] for name in (*OF_SIDE, "parts")}
        shown |= {name: mine[name] for name in ("account", "code", "place")}
        tables.append(shaped(_BROKEN, len(mine), side=side, first=True, **shown))
    groups = pairs.filter(is_grouped).select([*GROUP, "code", "place"])
    rows = pa.concat_tables([*tables, members.join(groups, GROUP, join_type="inner").select(list(_BROKEN))])
    is_whole = pc.is_null(rows["parts"])
    lines = [
        {**row, **line, "problem": row["problem"], "first": first, "parts": None}
        for row in rows.filter(pc.invert(is_whole)).to_pylist()
        for line, first in zip(parts_of(row), (True, False), strict=True)
    ]
    return pa.concat_tables([rows.filter(is_whole), pa.Table.from_pylist(lines, rows.schema)])


_LINE: Columns = {"account": "string", "statement": "string", "line": "int64", "key": "string", "entry": "string"}
"""The columns that locate a row; they include the key, since a table in memory may have no line numbers.

A statement row has no entry. A ledger row has no statement, and its `line` is the entry's number.
"""
_TEXTS: Columns = {"description": "string", "words": "string"}
_LINE_TEXTS: Columns = {**_LINE, **_TEXTS}
_REPORTED: Final = SHARED | OWN[STATEMENT]
_FEW: Final = 1_000
"""Up to this many line numbers are listed in the query, so that the engine reads little else of the file."""
_CHARGES: Final = ("fee", "interest")
"""Values of `kind`, in the user's rules, for charges and interest: rows that only the statement shows."""


def _lines_of(pairs: pa.Table) -> pa.Table:
    """The statement rows of pairs, under the column names of the carry-forward."""
    own = {_REPORTED.get(name, name): pairs[f"s_{name}"] for name in OF_SIDE}
    return pa.table({**own, "side": pa.array([STATEMENT] * len(pairs), pa.string()), "account": pairs["account"]})


def _without_late_bookings(pairs: pa.Table, settled: pa.Table, carried: CarryForward) -> tuple[pa.Table, pa.Table]:
    """Settles each `date_mismatch` in which the ledger booked, on a later day, a line that an earlier run left open.

    The ledger entry was not open itself in the earlier run. Returns the remaining `pairs`, and `settled` with the
    settled pairs added. A pair whose amounts differ within the tolerance is in both tables, in `pairs` with the code
    `tolerated`.
    """
    is_late = pc.and_(pc.equal(pairs["code"], "date_mismatch"), pc.greater(pairs["l_day"], pairs["s_day"]))
    is_late = pc.fill_null(is_late, fill_value=False)
    if carried.rows.empty or not pc.any(is_late).as_py():
        return pairs, settled
    kept = untyped(carried.rows, CARRIED)
    # A line of an impossible day keeps that break.
    kept = _identity(kept.filter(pc.invert(pc.starts_with(kept["problem"].fill_null(""), MISDATED))))
    entries = pc.binary_join_element_wise(pairs["account"], pairs["l_entry"].fill_null(""), UNIT)
    was_open, was_booked = (pc.is_in(part, kept) for part in (_identity(_lines_of(pairs)), entries))
    is_late = pc.and_(is_late, pc.and_not(was_open, was_booked))
    late = pairs.filter(is_late)
    # Within a tolerance both sides may still differ.
    is_equal = pc.equal(late["l_signed"], late["s_signed"])
    late = with_column(late, "code", pc.if_else(is_equal, None, pa.scalar(TOLERATED)))
    remaining = pa.concat_tables([pairs.filter(pc.invert(is_late)), late.filter(pc.invert(is_equal))])
    by_key = pa.array(["key"] * len(late), pa.string())
    return remaining, pa.concat_tables([settled, late.append_column("rule", by_key)])


def _masked_texts(run: Run, rows: pa.Table) -> tuple[Mapping[str, pa.Array], pa.ChunkedArray]:
    """The masked `description` and `words` of each row, and the day since which a row is carried forward, else null.

    A carried statement line keeps the texts that were carried with it; so does a ledger row for which today's ledger
    has no texts.
    """
    sources = pa.concat_tables(
        [_texts_in_inputs(run, rows.filter(pc.equal(rows["side"], side)), side) for side in PREFIX]
    )
    indices = pc.index_in(texts_of(rows, _LINE), texts_of(sources, _LINE))
    texts = {name: sources[name].take(indices) for name in _TEXTS}
    since: Any = pa.nulls(len(rows), pa.int64())
    if not run.carried.rows.empty:
        kept = untyped(run.carried.rows, CARRIED)
        before = pc.index_in(_identity(rows), _identity(kept))
        # Today's ledger says what its rows are; the files of two months may have one name.
        is_ours = pc.equal(rows["side"], LEDGER)
        for name, text in texts.items():
            carried = kept[name].take(before)
            texts[name] = pc.if_else(is_ours, pc.coalesce(text, carried), pc.coalesce(carried, text))
        since = day_numbers(kept["since_date"]).take(before)
    return {name: mapped(text, lambda words: mask(words) if words else None) for name, text in texts.items()}, since


def _without_charges(pairs: pa.Table, rows: pa.Table, rules: Sequence[Rule]) -> tuple[pa.Table, pa.Table]:
    """Changes the code of charges and interest from `timing` to missing in the ledger: no ledger row will follow.

    A row is a charge or interest by its statement's type, else by its words, or by one of `rules`. Both tables are
    returned with the new codes.
    """
    of_statement = pc.and_(pc.equal(rows["side"], STATEMENT), pc.equal(rows["code"], codes.TIMING))
    # A payment's fee waits with the payment.
    of_statement = pc.and_(of_statement, rows["first"])
    if not pc.any(of_statement).as_py():
        return pairs, rows
    waits = rows.filter(of_statement).rename_columns({"signed": "statement_minor"}).to_pandas()
    waits = waits.assign(code=codes.MISSING[STATEMENT], ledger_minor=None, variance_minor=-waits["statement_minor"])
    texts = waits["description"].fillna("") + " " + waits["words"].fillna("")
    is_charge = texts.str.contains(INTEREST) | (texts.str.contains(CHARGE) & (waits["statement_minor"] < 0))
    is_charge = (is_charge & waits["kind"].fillna("other").eq("other")) | waits["kind"].eq("fee")
    for rule in rules:
        is_charge |= rule.fits(waits) & (rule.kind in _CHARGES)
    places = pa.array(waits.loc[is_charge.astype(bool), "place"], pa.int64())
    missing, recoded = pa.scalar(codes.MISSING[STATEMENT]), []
    for table in (pairs, rows):
        code = pc.if_else(pc.is_in(table["place"], places), missing, table["code"])
        recoded.append(with_column(table, "code", code))
    return recoded[0], recoded[1]


def _texts_in_inputs(run: Run, rows: pa.Table, side: str) -> pa.Table:
    """Looks up the `description` of the `rows` of one side in the inputs, and of statement rows also the `words`.

    `words` is the file's own text for a row's type and status. The result has the columns _LINE_TEXTS and is sorted. It
    may also have rows that are not in `rows`, such as lines of other statements with the same numbers. A text is null
    if its input lacks the column.
    """
    if side == STATEMENT:
        tables, own, texts = run.inputs.statements, ("statement", "line"), tuple(_TEXTS)
        place = {"entry": "''", **run.inputs.where(run.engine)}
    else:
        tables, own, texts = (run.inputs.ledger,), ("number", "entry"), ("description",)
        place = {"statement": "''", "line": "coalesce(number, 0)", "entry": "coalesce(entry, '')"}
    on, sources = {name: kind for name, kind in _LINE.items() if name != "account"}, []
    for source in tables if len(rows) else ():
        if present := [name for name in texts if source.has_text(name)]:
            loaded = source.load(run.engine, {name: CARRIED[name] for name in ("account", "key", *own, *present)})
            computed = place | dict.fromkeys(_TEXTS.keys() - present, NULL)
            sources.append(conform(loaded, _LINE_TEXTS, key="coalesce(key, '')", **computed))
    if not sources:
        return arrow_schema(_LINE_TEXTS).empty_table()
    wanted = pa.table({name: rows[name].fill_null(0 if name == "line" else "") for name in on})
    wanted = wanted.group_by(list(on)).aggregate([])
    numbers = pc.unique(wanted["line"]).to_pylist()
    # Where lines have no number, every line may be 0.
    if len(numbers) <= _FEW and 0 not in numbers:
        lines = conform(both(*sources), _LINE_TEXTS, f"line in ({', '.join(map(str, numbers))})")
    else:
        lines = among(both(*sources), run.engine.arrow(wanted, on), on)
    return run.engine.table(lines, _LINE_TEXTS).sort_by([(name, "ascending") for name in _LINE_TEXTS])


def _identity(rows: pa.Table) -> pa.ChunkedArray:
    """A text for each row by which the next run recognises it among the open rows.

    For a statement line, the text includes date and amount, since the files of two months may have one name. It also
    includes the row's problem, but no problem of the date, which disappears when the row finds a partner.
    """
    problem = pc.if_else(pc.starts_with(rows["problem"], MISDATED), None, rows["problem"])
    rows = with_column(rows, "problem", problem)
    lines = texts_of(rows, (*_LINE, "business_date", "amount_minor", "problem"))
    return pc.if_else(pc.equal(rows["side"], LEDGER), texts_of(rows, ("account", "entry")), lines)
