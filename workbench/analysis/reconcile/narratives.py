"""Looks up the narratives of open rows, and the day since which each row is open.

The join of all rows has no narratives: for ten million rows these would weigh more than all compared columns.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.break_codes import MISSING, TIMING
from workbench.analysis.frames import untyped, with_column
from workbench.analysis.reconcile.carry_forward import CarryForward
from workbench.analysis.reconcile.decisions import Rule
from workbench.analysis.reconcile.engines import (
    NULL,
    UNIT,
    Engine,
    among,
    arrow_schema,
    both,
    conform,
    day_numbers,
    mapped,
    texts_of,
)
from workbench.analysis.reconcile.inputs import OWN, SHARED, Inputs, Source, where
from workbench.analysis.reconcile.pairs import Open
from workbench.analysis.reconcile.rules import LEDGER, OF_SIDE, STATEMENT, TOLERATED, Frame
from workbench.analysis.shapes import CARRIED, Columns
from workbench.analysis.statements.layouts import CHARGE, INTEREST
from workbench.domain.masking import mask

_LINE: Columns = {"account": "string", "statement": "string", "line": "int64", "key": "string"}
"""The place of a statement line. It includes the key, since a table in memory may have no line numbers."""
_TEXTS: Columns = {"description": "string", "words": "string"}
_TOLD: Columns = {**_LINE, **_TEXTS}
_REPORTED: Final = SHARED | OWN[STATEMENT]
_FEW: Final = 1_000
"""The most line numbers that a query names: the engine then reads little else of a file."""
_CHARGES: Final = ("fee", "interest")
"""Kinds of a rule for money that only the statement has."""


def narrated(engine: Engine, inputs: Inputs, rows: pa.Table, carried: CarryForward) -> pa.Table:
    """The rows of breaks with the `description` and `words` of their lines, and the day `since` which each is carried.

    Customers' numbers are masked in the texts. A carried row has the texts that were carried with it.
    """
    known = rows.rename_columns([_REPORTED.get(name, name) for name in rows.column_names])
    made, since = _said(engine, inputs, known, carried)
    for name, text in made.items():
        rows = rows.append_column(name, text)
    return rows.append_column("since", since)


def descriptions(
    engine: Engine, inputs: Inputs, carried: CarryForward, accounts: Sequence[str], lines: pa.Table
) -> list[str | None]:
    """The description of each of the pairs `lines`, which only the statement has; masked as it is carried forward."""
    names = pa.array(accounts, pa.string()).take(lines["account"])
    made, _ = _said(engine, inputs, _lines_of(with_column(lines, "account", names)), carried)
    found: list[str | None] = made["description"].to_pylist()
    return found


def _lines_of(pairs: pa.Table) -> pa.Table:
    """The statement's rows of pairs, under the names that their columns have when they are carried forward."""
    own = {_REPORTED.get(name, name): pairs[f"s_{name}"] for name in OF_SIDE}
    return pa.table({**own, "side": pa.array([STATEMENT] * len(pairs), pa.string()), "account": pairs["account"]})


def without_late_bookings(found: Open, carried: CarryForward) -> Open:
    """Settles each `date_mismatch` whose statement line an earlier run left open, if its ledger entry is a later one.

    The entry has a later day than the line, and was not open itself. Such a pair goes to `settled`; if its amounts
    differ, within the tolerance, it stays in `pairs` too, as TOLERATED.
    """
    is_late = pc.and_(
        pc.equal(found.pairs["code"], "date_mismatch"), pc.greater(found.pairs["l_day"], found.pairs["s_day"])
    )
    is_late = pc.fill_null(is_late, fill_value=False)
    if carried.rows.empty or not pc.any(is_late).as_py():
        return found
    kept = _identity(untyped(carried.rows, CARRIED))
    entries = pc.binary_join_element_wise(found.pairs["account"], found.pairs["l_entry"].fill_null(""), UNIT)
    was_told, was_booked = (pc.is_in(part, kept) for part in (_identity(_lines_of(found.pairs)), entries))
    is_late = pc.and_(is_late, pc.and_not(was_told, was_booked))
    late = found.pairs.filter(is_late)
    # Within a tolerance both sides may still differ.
    is_equal = pc.equal(late["l_signed"], late["s_signed"])
    late = with_column(late, "code", pc.if_else(is_equal, None, pa.scalar(TOLERATED)))
    left = [found.pairs.filter(pc.invert(is_late)), late.filter(pc.invert(is_equal))]
    settled = late.append_column("rule", pa.array(["key"] * len(late), pa.string()))
    return found._replace(pairs=pa.concat_tables(left), settled=pa.concat_tables([found.settled, settled]))


def _said(
    engine: Engine, inputs: Inputs, known: pa.Table, carried: CarryForward
) -> tuple[Mapping[str, pa.Array], pa.ChunkedArray]:
    """The masked texts of rows, and the day since which each row is carried."""
    told = _told(engine, inputs, known.filter(pc.equal(known["side"], STATEMENT)))
    here = pc.index_in(texts_of(known, _LINE), texts_of(told, _LINE))
    made = {name: told[name].take(here) for name in _TEXTS}
    since: Any = pa.nulls(len(known), pa.int64())
    if not carried.rows.empty:
        kept = untyped(carried.rows, CARRIED)
        before = pc.index_in(_identity(known), _identity(kept))
        made = {name: pc.coalesce(kept[name].take(before), text) for name, text in made.items()}
        since = day_numbers(kept["since_date"]).take(before)
    return {name: mapped(text, lambda words: mask(words) if words else None) for name, text in made.items()}, since


def without_charges(found: Open, rows: pa.Table, rules: Sequence[Rule]) -> tuple[Open, pa.Table]:
    """Changes the code of charges and interest from `timing` to missing in the ledger: no later booking will come.

    Returns `found` with its pairs changed so, and the changed `rows` of breaks.
    The statement's type decides, or its words where it has no type, or one of the `rules`.
    """
    of_statement = pc.and_(pc.equal(rows["side"], STATEMENT), pc.equal(rows["code"], TIMING))
    if not pc.any(of_statement).as_py():
        return found, rows
    waits = rows.filter(of_statement).rename_columns({"signed": "statement_minor"}).to_pandas()
    waits = waits.assign(code=MISSING[STATEMENT], ledger_minor=None, variance_minor=-waits["statement_minor"])
    texts = waits["description"].fillna("") + " " + waits["words"].fillna("")
    is_charge = texts.str.contains(INTEREST) | (texts.str.contains(CHARGE) & (waits["statement_minor"] < 0))
    is_charge = (is_charge & waits["kind"].fillna("other").eq("other")) | waits["kind"].eq("fee")
    for rule in rules:
        is_charge |= rule.fits(waits) & (rule.kind in _CHARGES)
    places = pa.array(waits.loc[is_charge.astype(bool), "place"], pa.int64())
    return (
        found._replace(pairs=_recoded(found.pairs, pc.is_in(pa.array(range(len(found.pairs))), places))),
        _recoded(rows, pc.is_in(rows["place"], places)),
    )


def _recoded(table: pa.Table, chosen: pa.Array) -> pa.Table:
    code = pc.if_else(chosen, MISSING[STATEMENT], table["code"])
    return with_column(table, "code", code)


def _told(engine: Engine, inputs: Inputs, lines: pa.Table) -> pa.Table:
    """The places and texts of these statement lines (_TOLD), sorted by both."""
    if not len(lines):
        return arrow_schema(_TOLD).empty_table()
    on = {name: kind for name, kind in _LINE.items() if name != "account"}
    wanted = with_column(lines, "key", lines["key"].fill_null(""))
    wanted = wanted.group_by(list(on)).aggregate([])
    numbers = pc.unique(wanted["line"]).to_pylist()
    told = both(*(_with_texts(engine, source, inputs) for source in inputs.statements))
    # Where lines have no number, every line may be 0.
    if len(numbers) <= _FEW and 0 not in numbers:
        told = conform(told, _TOLD, f"line in ({', '.join(map(str, numbers))})")
    else:
        told = among(told, engine.arrow(wanted, on), on)
    return engine.table(told, _TOLD).sort_by([(name, "ascending") for name in _TOLD])


def _with_texts(engine: Engine, source: Source, inputs: Inputs) -> Frame:
    """The places of a statement's lines and their texts; a text column that the statement lacks is null."""
    there = {name: kind for name, kind in _TEXTS.items() if source.has_text(name)}
    made = {name: NULL for name in _TEXTS if name not in there}
    rows = source.load(engine, {**_LINE, **there})
    return conform(rows, _TOLD, key="coalesce(key, '')", **where(engine, inputs), **made)


def _identity(rows: pa.Table) -> pa.ChunkedArray:
    """The text by which the next run knows an open row: the files of two months may have one name."""
    lines = texts_of(rows, (*_LINE, "business_date", "amount_minor", "problem"))
    return pc.if_else(pc.equal(rows["side"], LEDGER), texts_of(rows, ("account", "entry")), lines)
