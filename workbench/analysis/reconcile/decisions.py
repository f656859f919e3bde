"""Decisions about breaks: reads them strictly, applies them to the breaks, closes breaks, and writes new decisions.

A decision changes neither the amount of a break nor the proof. It records who considers the break settled, and why. The
JupyterLab form has no logic of its own: it calls `DecisionTable.write`, as a script's `decide` does.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
import pyarrow as pa

from workbench.analysis import files
from workbench.analysis.break_codes import TIMING, TO_BOOK, VERDICTS, partners_of
from workbench.analysis.frames import frame, python_rows
from workbench.analysis.reconcile.classify import bare_key
from workbench.analysis.reconcile.inputs import LEDGER
from workbench.analysis.report.captions import counted, heading, key_text
from workbench.analysis.report.totals import listed
from workbench.analysis.rules import (
    EXPECTED,
    TOLERATED,
    InputRow,
    MatchRules,
    Rule,
    by_account,
    content_of,
    ruled,
    rules_in,
)
from workbench.analysis.shapes import BREAK, CLOSED_BREAK, DECIDED, DECISION
from workbench.analysis.statements.cells import CUT_BY_SPREADSHEET, Cell, CellRows, Line, text_of
from workbench.analysis.statements.csv_files import cell_rows_of
from workbench.domain.masking import mask
from workbench.domain.moments import in_lusaka, milliseconds
from workbench.domain.money import money_text
from workbench.errors import ReconcileRefused, StatementRefused, WorkbenchError
from workbench.text.render import DisplayColumn, DisplayTable, bundle, table, with_widget
from workbench.visible import armed, disarmed, visible

if TYPE_CHECKING:
    # ipywidgets takes its time to load, and only the form needs it.
    import ipywidgets

Row = dict[str, str | None]
"""A row with the columns DECIDED; an empty cell is None."""
WITHDRAWN: Final = "open"
"""The verdict that withdraws an earlier verdict, also one that was carried forward."""
APPLIED, STALE, SETTLED, ELSEWHERE = "applied", "stale", "settled", "elsewhere"
ENDED: Final = "closed"
"""The state of a decision that has closed its breaks; only a carry-forward has it."""
_REQUIRED: Final = ("break", "verdict", "partner", "who", "when", "why")
_MAY_LACK: Final = ("partner", "when")
"""Columns of a decision that a table of breaks may lack."""
_COLUMN_OF: Final = {heading(name).casefold(): name for name in BREAK} | {"id": "break"}
"""A column's heading in reports, in lower case → its name in BREAK; `id` → `break`."""
_MOST: Final = 20
"""The most problems of a file that one error lists."""
_FEW: Final = 5
"""The most names that a sentence lists."""
_HEADER_AMONG: Final = 10
"""The number of lines, from the first that is not blank, among which the header of a table of decisions is."""
_ID: Final = re.compile("b[a-z2-7]{11}")
_BETWEEN_WORDS: Final = re.compile(r"[\s_-]+")
_BY_SPREADSHEET: Final = re.compile(
    r"([0-9]{1,2})([/.-])([0-9]{1,2})\2(?:20)?([0-9]{2})(?:[ ,]+([0-9]{1,2})(:[0-9:]{2,5}))?"
)


class Decided(NamedTuple):
    """The decisions of people, the rules, and the sources of both."""

    decisions: Sequence[Row]
    rules: Sequence[Rule]
    inputs: Sequence[InputRow]
    match: Mapping[str, MatchRules]
    """Account (`*` in a name stands for any text) → the rules that match its rows, in place of its layout's rules."""


def decided_by(decisions: Path | str | pd.DataFrame | None, rules: Path | str | None, match: object) -> Decided:
    """Reads decisions and rules. For an account that both `match` and the rules file name, `match` applies."""
    rows, *inputs = ([],) if decisions is None else decisions_in(decisions)
    own: Sequence[Rule] = ()
    in_file: Mapping[str, MatchRules] = {}
    if rules is not None:
        own, file, in_file = rules_in(rules)
        inputs.append(file)
    try:
        passed = {} if match is None else by_account(match)
    except ValueError as error:
        raise ReconcileRefused(f"match {error}.") from None
    if passed:
        text = "\n".join(f"{name}: {', '.join(map(str, of_account))}" for name, of_account in passed.items())
        inputs.append(InputRow("rules", "match", hashlib.sha256(text.encode()).hexdigest(), len(passed)))
    # Those of `match` stand first: of the names that fit an account, the first counts.
    return Decided(rows, own, inputs, {**passed, **in_file, **passed})


def decisions_in(source: Path | str | pd.DataFrame) -> tuple[list[Row], InputRow]:
    """The decisions in a .csv or .xlsx file or a DataFrame, and their source as an InputRow.

    The table has the columns DECIDED, or is a table of breaks with their verdicts. A CSV that a spreadsheet saved is
    accepted: with a byte-order mark, with semicolons or tabs, and with the spreadsheet's date format. A table of breaks
    may have the headings of any report; only its rows with a person's verdict count, and an empty `when` becomes the
    day on which the file was saved. Raises ReconcileRefused: the file cannot be read, has an unknown column, or has
    unusable rows; the message names each row.
    """
    if isinstance(source, pd.DataFrame):
        # The decisions of an earlier result have a state, which is found anew.
        texts = source.drop(columns="state", errors="ignore").astype("string").fillna("")
        lines = iter([(0, list(texts.columns)), *enumerate(map(list, texts.itertuples(index=False)), start=1)])
        rows = _decisions("The decisions", "row", lines)
        return rows, InputRow("decisions", "pandas DataFrame", None, len(rows))
    path, content = content_of(source, "decisions")
    saved = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    try:
        rows = [row for name, lines in _tables(path) for row in _decisions(name, "line", lines, saved)]
    except StatementRefused as wrong:
        raise ReconcileRefused(wrong.message, hint=wrong.hint) from None
    return rows, InputRow("decisions", path.name, hashlib.sha256(content).hexdigest(), len(rows))


def _tables(path: Path) -> list[tuple[str, Iterator[Line]]]:
    """The name of each table of decisions in the file, and its lines from the header on.

    A table is a sheet of a workbook, or a text file split by one separator. Its header is the line with the most known
    columns among the first ones, since a person may have written a title above. If no header has the columns of
    decisions, the list has only the table whose header has the most known columns.
    """
    known, heads = {*DECIDED, *BREAK}, list[tuple[set[str], int, CellRows]]()
    # A file that is not UTF-8 was saved by a spreadsheet in the code page of western Europe.
    ways = cell_rows_of(path, [("cp1252", mark) for mark in ",;\t"])
    for way in ways:
        first = list[tuple[set[str], int, CellRows]]()
        with suppress(StatementRefused):  # a wrong delimiter may be refused
            first.extend(({*map(_column, cells)}, line, way) for line, cells in islice(way.lines(), _HEADER_AMONG))
        heads += sorted(first, key=lambda head: len(head[0] & known), reverse=True)[:1]
    best = max(heads, key=lambda head: (len(head[0] & known), len(head[0])), default=(set(), 0, ways[0]))
    decided = [head for head in heads if "verdict" in head[0] and not head[0].isdisjoint({"break", "who"})]
    return [
        (f"The {way.says} of {path.name}" if way.kind == "xlsx" else path.name, _lines_from(line, way))
        for _, line, way in decided or [best]
    ]


def _lines_from(first: int, way: CellRows) -> Iterator[Line]:
    return (line for line in way.lines() if line[0] >= first)


def _column(heading: Cell) -> str:
    """The column of DECIDED or BREAK that a heading stands for; any other heading in lower case."""
    text = " ".join(text_of(heading).split()).casefold()
    return _COLUMN_OF.get(text, text)


def _decisions(name: str, unit: str, lines: Iterator[Line], saved: str | None = None) -> list[Row]:
    """The decisions in a table whose first line is the header; a decision that two rows repeat counts once.

    In messages, `name` names the table and `unit` (`row` or `line`) its rows. A table with a column `id` is a table of
    breaks: its rows without a person's verdict are skipped, and a decision without a day gets the day `saved`; None
    leaves the day empty. Raises ReconcileRefused: the columns are not those of decisions, or rows cannot be used; the
    message gives the reason for each.
    """
    header = [text_of(title).strip() for title in next(lines, (0, []))[1]]
    while header and not header[-1]:
        header.pop()  # a spreadsheet adds empty columns
    if not header:
        raise ReconcileRefused(f"{name} is empty.", hint=f"Its first line is {','.join(_REQUIRED)}.")
    columns, titles = [_column(title) for title in header], {*map(str.casefold, header)}
    is_of_breaks = "id" in titles or ("break" not in titles and not {*columns}.isdisjoint(BREAK.keys() - DECIDED))
    times, may_have = Counter(columns), columns if is_of_breaks else list(DECIDED)
    may_lack = _MAY_LACK if is_of_breaks else ()
    # A report with headings for people, such as `owner`, has those throughout.
    has_headings = any(heading(name).casefold() in titles for name in BREAK if heading(name) != name)
    title_of = {name: heading(name) if has_headings else name for name in _REQUIRED}
    title_of |= {"break": "id"} if is_of_breaks else {}
    wrong = {
        "the unknown column {}": [title for title, name in zip(header, columns, strict=True) if name not in may_have],
        "no column {}": [title_of[column] for column in _REQUIRED if column not in (*columns, *may_lack)],
        "{} twice": [column for column in DECIDED if times[column] > 1],
    }
    if faults := [text.format(", ".join(map(repr, names))) for text, names in wrong.items() if names]:
        hint = f"The columns are {', '.join(DECIDED)}; the last three may be left out."
        if is_of_breaks:
            needed = ", ".join(title_of[name] for name in _REQUIRED if name not in may_lack)
            hint = f"It needs {needed}, as it was written."
        raise ReconcileRefused(f"{name} has {', and '.join(faults)}.", hint=hint)
    called = dict(zip(columns, header, strict=True))
    rows: dict[str, Row] = {}
    problems: list[str] = []
    days: set[str] = set()
    for line, cells in lines:
        place, texts = f"{unit} {line}", dict(zip(columns, map(text_of, cells), strict=False))
        verdict = _BETWEEN_WORDS.sub("_", texts.get("verdict", "").strip().casefold())
        if is_of_breaks:
            days |= {texts.get(column, "") for column in ("business_date", "since_date")}
            if verdict in {"", EXPECTED, TOLERATED}:
                continue
        elif extra := [text_of(cell) for cell in cells[len(columns) :] if text_of(cell).strip()]:
            problems.append(f"in {place} there are more cells than columns: {extra[0]!r}")
        # An apostrophe disarms a formula; people may have written customers' numbers.
        cells_of = {column: disarmed(texts.get(column, "").strip()) for column in DECIDED}
        cells_of |= {column: mask(cells_of[column]) for column in ("who", "why")}
        cells_of |= {column: cells_of[column].lower() for column in ("break", "partner")}
        row: Row = {column: cell or None for column, cell in cells_of.items()}
        place += f" ({row['break']})" if unit == "row" else ""  # a notebook shows no row numbers
        rows[place] = row = row | {"verdict": verdict or None, "when": row["when"] or (saved if is_of_breaks else None)}
        problems += [f"in {place} {text}" for text in _problems(row, called)]
    rows = _without_smaller(rows)
    problems += [*_decided_twice(rows)]
    if problems := problems or _dated(rows, days):
        more = [f"and {len(problems) - _MOST:,} more"] if len(problems) > _MOST else []
        shown = "".join(f"\n- {problem}" for problem in [*problems[:_MOST], *more])
        raise ReconcileRefused(f"{name} cannot be used:{shown if problems[1:] else f' {problems[0]}.'}")
    return list({frozenset(ids_of(row)): row for row in rows.values()}.values())


def _problems(row: Row, called: Mapping[str, str]) -> list[str]:
    """Every reason why a row cannot be used, with the remedy; `called` is column → the file's heading."""
    known, ids, when = (*VERDICTS, WITHDRAWN), ids_of(row), row["when"]
    odd = [other for other in ids if not _ID.fullmatch(other)]
    is_match = row["verdict"] == "match"
    problems = {
        f"{(odd or [''])[0]!r} is not the id of a break: ids are `b` and eleven letters or digits": bool(odd),
        f"the verdict is {row['verdict'] or 'missing'}; there are {', '.join(known)}": row["verdict"] not in known,
        "a match needs a partner; for a break that has both rows, say accept": is_match and len(ids) == 1,
        "only a match has a partner": not is_match and len(ids) > 1,
        "a break is its own partner": len(ids) > len(set(ids)),
        **{f"`{called.get(name, name)}` is empty": not row[name] for name in ("who", "when", "why")},
        f"{when!r} is not a day or a moment: write 2026-01-31 or 2026-01-31T08:00Z": when and not any(_readings(when)),
    }
    return [text for text, holds in problems.items() if holds]


def ids_of(row: Mapping[str, Any]) -> list[str]:
    """The ids of the breaks that a decision is about: its `break` and its partners."""
    return [row["break"] or "", *filter(None, re.split(r"[;,\s]+", row["partner"] or ""))]


def _readings(text: str) -> list[str | None]:
    """The moment in ISO 8601, read with the day first and with the month first; None where a reading is impossible."""
    return [_moment(text, day_first=first) for first in (True, False)]


def _dated(rows: Mapping[str, Row], days: Collection[str]) -> list[str]:
    """Changes each row's `when`, in place, to ISO 8601; returns a list with the first problem, empty if there is none.

    All rows must fit one order of day and month, which is never guessed. `days` are other dates of the file, which may
    reveal the order.
    """
    moments = {place: (row["when"] or "", _readings(row["when"] or "")) for place, row in rows.items()}
    others = [both for both in map(_readings, days) if any(both)]
    orders = [
        order for order in (0, 1) if all(both[order] for both in [*others, *(both for _, both in moments.values())])
    ]
    if not orders:
        return ["`when` has the day first in one row, and the month in another"]
    for place, (text, both) in moments.items():
        if len(orders) > 1 and both[0] != both[1]:
            return [f"in {place} {text!r} may be {both[0]} or {both[1]}: write it as one of these"]
        rows[place]["when"] = both[orders[0]]
    return []


def _moment(text: str, *, day_first: bool) -> str | None:
    if match := _BY_SPREADSHEET.fullmatch(text):
        first, mark, second, year, hour, minutes = match.groups()
        day, month = (first, second) if day_first or mark == "." else (second, first)
        text = f"20{year}-{month:0>2}-{day:0>2}" + (f"T{hour:0>2}{minutes}" if hour else "")
    try:
        # A day in a workbook is its midnight; in South Africa days are written 2026/01/31.
        at = datetime.fromisoformat(text.removesuffix(" 00:00:00").replace("/", "-"))
    except ValueError:
        return None
    is_day = len(text.removesuffix(" 00:00:00")) <= len("2026-01-31")
    return at.date().isoformat() if is_day else at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _without_smaller(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Leaves out each match whose breaks are all part of a larger match; `rows` is place in the file → row."""
    matched: dict[str, list[set[str]]] = {}
    for ids in ({*ids_of(row)} for row in rows.values() if row["verdict"] == "match"):
        for name in ids:
            matched.setdefault(name, []).append(ids)
    return {
        place: row for place, row in rows.items()
        if row["verdict"] != "match" or not any({*ids_of(row)} < ids for ids in matched[row["break"] or ""])
    }  # fmt: skip


def _decided_twice(rows: Mapping[str, Row]) -> Iterator[str]:
    """Yields a sentence for each break about which two rows disagree; `rows` is place in the file → row."""
    firsts: dict[str, tuple[str, tuple[str | None, list[str]]]] = {}
    for place, row in rows.items():
        decision = (row["verdict"], sorted(ids_of(row)) if row["verdict"] == "match" else [])
        for break_id in ids_of(row):
            first_place, other = firsts.setdefault(break_id, (place, decision))
            if other != decision:
                text = f"{break_id} is decided twice, as {other[0]} in {first_place} and as {decision[0]} in {place}"
                yield f"{text}; empty the verdict that no longer holds"


def applied(
    breaks: pd.DataFrame, rules: Sequence[Rule], current: Sequence[Row], carried: pd.DataFrame,
    accounts: Collection[str],
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """The breaks with the decisions of `rules` and people, and every person's decision with its state (DECISION).

    `carried` has the decisions of an earlier run (columns DECISION); a decision in `current` replaces those about the
    same break. A person who withdraws a rule's decision decides too: no rule decides that break in later runs either.
    A decision about an account outside of `accounts` gets the state `elsewhere`. Raises ReconcileRefused: a given
    decision would reopen a break that an earlier run has closed, or a match joins breaks of two accounts.
    """
    decided_now = {other for row in current for other in ids_of(row)}
    taken_back = {row["break"] for row in current if row["verdict"] == WITHDRAWN}
    for row in _rows(carried[carried["state"] == ENDED]):
        if back := [other for other in ids_of(row) if other in taken_back]:
            why = f"the {row['verdict']} of {row['when']} by {row['who']} has closed it in an earlier period"
            hint = "Take that decision out of the decisions.csv of its period, and run that period"
            raise ReconcileRefused(f"{back[0]} cannot be open again: {why}.", hint=f"{hint} and those since again.")
    kept = [row for row in _rows(carried[carried["state"] != ENDED]) if decided_now.isdisjoint(ids_of(row))]
    withdrawn = {row["break"] for row in [*kept, *current] if row["verdict"] == WITHDRAWN}
    breaks = ruled(breaks, rules, withdrawn)
    rows = sorted([*kept, *current], key=lambda row: row["break"] or "")
    if not rows:
        return breaks, frame([], DECISION)
    wanted = sorted({other for row in rows for other in ids_of(row)})
    positions = pd.Index(breaks["id"]).get_indexer(pd.Index(wanted)).tolist()
    places = {name: place for name, place in zip(wanted, positions, strict=True) if place >= 0}
    named = python_rows(breaks.iloc[list(places.values())], "account", "key", "code")
    about = dict(zip(places, named, strict=True))
    _check_accounts(rows, {name: account for name, (account, *_) in about.items()})
    of_accounts = {row["account"] for row in rows if len(places) < len(wanted)} - {None}
    still_open = python_rows(breaks[breaks["account"].isin(of_accounts)], "account", "key")
    open_keys = {(account, bare_key(key or "")) for account, key in still_open}
    decisions, texts = [], {}
    for row in rows:
        ids = ids_of(row)
        state = _state(row, [other in places for other in ids], open_keys, accounts)
        if state == APPLIED:
            row |= dict(zip(("account", "key", "code"), about[ids[0]], strict=True))
            for other in ids if row["verdict"] != WITHDRAWN else ():
                texts[places[other]] = {**row, "partner": "; ".join(sorted({*ids} - {other})) or None}
        decisions.append({**row, "state": state})
    shown = breaks.copy()
    for name in ("verdict", "partner", "who", "when", "why"):
        column = shown[name].astype("string").to_numpy(dtype=object, copy=True)
        column[list(texts)] = [row[name] for row in texts.values()]
        shown[name] = pd.array(column, "string")
    return shown, frame(decisions, DECISION)


def _check_accounts(rows: Sequence[Row], account_of: Mapping[str, str]) -> None:
    """Raises ReconcileRefused if a match in `rows` joins breaks of two accounts: each account would stay wrong.

    `account_of` is break id → account; breaks that it lacks are left out.
    """
    for row in rows:
        ids = ids_of(row) if row["verdict"] == "match" else []
        accounts = sorted({account_of[name] for name in ids if name in account_of})
        if len(accounts) > 1:
            text = f"The match of {listed(ids)} joins breaks of {listed(accounts)}, and a match is of one account."
            hint = "Decide `accept` for each, and book a transfer between the accounts, each row with its break's key."
            raise ReconcileRefused(text, hint=hint)


def replaced_words(breaks: pd.DataFrame, current: Sequence[Row], carried: pd.DataFrame) -> Iterator[str]:
    """Yields a note for each decision in `current` that replaces an earlier match and leaves one of its breaks open.

    `breaks` already have the verdicts of `current`; `carried` has the decisions of an earlier run (columns DECISION).
    """
    matches = _rows(carried[(carried["state"] == APPLIED) & (carried["verdict"] == "match")])
    opened = breaks[breaks["verdict"].isna() & breaks["id"].isin([name for row in matches for name in ids_of(row)])]
    reopened = {name: text or key_text(key) for name, key, text in python_rows(opened, "id", "key", "description")}
    for new in current if reopened else ():
        old = [row for row in matches if not {*ids_of(row)}.isdisjoint(ids_of(new))]
        again = [name for row in old for name in ids_of(row) if name in reopened and name not in ids_of(new)]
        if not again or new["verdict"] == WITHDRAWN:
            continue
        replaced = listed([f"{listed(ids_of(row))} by {row['who']} ({row['when']}: {row['why']})" for row in old])
        named = listed([f"{name} ({visible(reopened[name])})" for name in again])
        text = f"The {(new['verdict'] or '').replace('_', ' ')} by {new['who']} replaces the match of {replaced}, so "
        text += f"{named} {'is' if len(again) == 1 else 'are'} open again."
        if new["verdict"] == "match":
            first, *others = ids_of(new)
            text += f" To match all, name all partners in one decision: {first},match,{'; '.join([*others, *again])}"
        yield text


def _rows(decisions: pd.DataFrame) -> list[Row]:
    return [dict(zip(DECIDED, row, strict=True)) for row in python_rows(decisions, *DECIDED)]


def _state(row: Row, intact: Sequence[bool], open_keys: set[tuple[str | None, str]], accounts: Collection[str]) -> str:
    """The state of a decision; `intact` has True for each of its breaks that is still open and unchanged.

    `open_keys` has the account and the key (as `bare` writes it) of open breaks; `accounts` are those of this run.
    """
    if all(intact):
        return APPLIED
    if row["account"] and row["account"] not in accounts:
        return ELSEWHERE
    # Only the account and the key say which row the decision was about; a spreadsheet may have spelt the key anew.
    names_row = row["account"] and not CUT_BY_SPREADSHEET.fullmatch(row["key"] or "")
    is_gone = not any(intact) and (row["account"], bare_key(row["key"] or "")) not in open_keys
    return SETTLED if names_row and is_gone else STALE


def carried_on(decisions: pd.DataFrame, closed: pd.Series, before: pd.DataFrame) -> pd.DataFrame:
    """The decisions for the next run (columns DECISION): `decisions`, and those in `before` that closed their breaks.

    A decision whose break is among the ids `closed` gets the state ENDED. Stale and settled decisions are left out.
    """
    states = decisions["state"].astype("string").mask(decisions["break"].isin(closed), ENDED)
    kept = pd.concat([before[before["state"] == ENDED], decisions.assign(state=states)], ignore_index=True)
    return kept[kept["state"].isin([APPLIED, ELSEWHERE, ENDED])].reset_index(drop=True).astype(dict(DECISION))


def groups_closed(breaks: pd.DataFrame) -> pd.Series:
    """For each break that its decision closes, the ids of all breaks of the decision as one text; null for others.

    A decision closes its breaks if nothing is left to book: a `match` whose variances add up to zero in each account
    and currency, or an accepted `date_mismatch`.
    """
    is_dated = (breaks["code"] == "date_mismatch") & (breaks["verdict"] == "accept")
    is_match = breaks["verdict"] == "match"
    if not (is_dated | is_match).any():
        return pd.Series(pd.NA, index=breaks.index, dtype="string")
    partners = python_rows(breaks, "id", "partner")
    ids = ["; ".join(sorted(ids_of({"break": name, "partner": other}))) for name, other in partners]
    groups: pd.Series = pd.Series(ids, index=breaks.index, dtype="string").where(is_dated | is_match)
    sums = breaks[is_match].assign(group=groups).groupby(["group", "account", "currency"], observed=True, dropna=False)
    moved = sums["variance_minor"].sum()
    return groups.mask(groups.isin(moved[moved != 0].index.get_level_values("group")))


def closed_breaks(decided: pd.DataFrame, matched: pa.Table, decisions: pd.DataFrame, settled: pa.Table) -> pd.DataFrame:
    """The breaks that this run closed (columns CLOSED_BREAK).

    `decided` has the breaks that people's decisions closed. `matched` has the carried rows that match now: each of
    their breaks closes by the rule of its pair in `settled`, else by the rule `key`, and gets the verdict of its
    decision in `decisions` (columns DECISION), if it has one.
    """
    if decided.empty and not len(matched):
        return frame([], CLOSED_BREAK)
    same = [name for name in CLOSED_BREAK if name != "rule"]
    closed_rows = [dict(zip(same, row, strict=True)) for row in python_rows(decided, *same)]
    named = ("account", "key", "code", "break", "verdict", "partner", "who", "when", "why")
    # A key may have several breaks, told apart by their codes; a decision that a person wrote may name no code.
    about = {
        (account, bare_key(key or ""), code): dict(zip(("id", *named[4:]), row, strict=True))
        for account, key, code, *row in python_rows(decisions[decisions["state"] == SETTLED], *named)
        if row[1] != WITHDRAWN
    }
    rules = settled["rule"].to_pylist()
    by_place = {
        place: rule
        for names in (("account", "l_entry"), ("account", "s_source", "s_no"))
        for place, rule in zip(zip(*(settled[name].to_pylist() for name in names), strict=True), rules, strict=True)
    }
    broken: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in matched.to_pylist():
        place = (row["account"], *((row["entry"],) if row["side"] == LEDGER else (row["statement"], row["line"])))
        begun = {name: row[name] for name in ("account", "key", "code", "currency", "since_date")}
        begins = begun | {"variance_minor": 0, "rule": by_place.get(place, "key")}
        earlier = broken.setdefault(tuple(begun.values()), begins)
        earlier["variance_minor"] += row["moved"] if row["side"] == LEDGER else -row["moved"]
    for closed in broken.values():
        of_code = (
            about.get((closed["account"], bare_key(closed["key"] or ""), code)) for code in (closed["code"], None)
        )
        closed_rows.append(closed | next(filter(None, of_code), {}))
    rows = [dict.fromkeys(CLOSED_BREAK) | row for row in closed_rows]
    return frame(rows, CLOSED_BREAK).sort_values(["account", "key", "code"], ignore_index=True)


def is_open(breaks: pd.DataFrame) -> pd.Series:
    """True for each break that is undecided and not `timing`."""
    return breaks["verdict"].isna() & (breaks["code"] != TIMING)


def by_whom(breaks: pd.DataFrame) -> dict[str, Counter[str]]:
    """Person or rule → wording of a verdict (VERDICTS) → the number of breaks with this verdict."""
    counts: dict[str, Counter[str]] = {}
    for verdict, who, rule in python_rows(breaks[breaks["verdict"].notna()], "verdict", "who", "rule"):
        counts.setdefault(who or f"the rule {rule!r}", Counter())[VERDICTS.get(verdict, verdict)] += 1
    return dict(sorted(counts.items()))


class Signatures(NamedTuple):
    """The preparer and the reviewer of a reconciliation, each with the day; empty until somebody signs."""

    prepared_by: str = ""
    prepared_on: str = ""
    reviewed_by: str = ""
    reviewed_on: str = ""

    def __str__(self) -> str:
        prepared = f"Prepared by {self.prepared_by} on {self.prepared_on}" if self.prepared_by else "Not prepared"
        reviewed = f"reviewed by {self.reviewed_by} on {self.reviewed_on}" if self.reviewed_by else "not reviewed"
        return f"{prepared}; {reviewed}." if any(self) else "Neither prepared nor reviewed by anybody yet."

    def signed(self, prepared_by: str, reviewed_by: str, on: date) -> "Signatures":
        """The signatures with the given names added, dated `on`; an empty name adds nothing.

        Raises ReconcileRefused: preparer and reviewer are the same person.
        """
        day = on.isoformat()
        signed = self._replace(prepared_by=prepared_by.strip(), prepared_on=day) if prepared_by.strip() else self
        signed = signed._replace(reviewed_by=reviewed_by.strip(), reviewed_on=day) if reviewed_by.strip() else signed
        if signed.reviewed_by and signed.prepared_by.casefold() == signed.reviewed_by.casefold():
            raise ReconcileRefused(f"{signed.reviewed_by} prepared it: another person reviews it.")
        return signed


def sign_off(breaks: pd.DataFrame, decisions: pd.DataFrame, inputs: pd.DataFrame, signatures: Signatures) -> str:
    """Text to sign off: who decided what and when last, the number of stale decisions, input hashes, and who signed."""
    deciders = [
        f"{who} ({', '.join(f'{number:,} {verdict}' for verdict, number in sorted(counts.items()))})"
        for who, counts in by_whom(breaks).items()
    ]
    states = Counter(decisions["state"])
    parts = [f"Decided by {listed(deciders)}" if deciders else "No break has been decided"]
    if len(when := decisions.loc[decisions["break"].isin(breaks["id"]), "when"]):
        last = max(when, key=_instant)
        parts.append(f"last on {in_lusaka(milliseconds(_instant(last))) if 'T' in last else last}")
    parts += [f"{states[STALE]:,} stale"] if states[STALE] else []
    parts += _unequal_matches(breaks, decisions)
    sources = python_rows(inputs, "side", "name", "sha256")
    files_ = [f"{'layout ' if side == 'layout' else ''}{name} {sha[:12]}" for side, name, sha in sources if sha]
    others = inputs.loc[inputs["sha256"].isna(), "name"].tolist()
    hashes = [f"SHA-256 of {listed(files_)}."] if files_ else []
    hashes += [f"Not from a file, and without a hash: {listed(others)}."] if others else []
    return " ".join([f"{'; '.join(parts)}.", *hashes, str(signatures)])


def stale_words(decisions: pd.DataFrame) -> str:
    """A sentence that names the first stale decisions; empty if none is stale."""
    stale = decisions.loc[decisions["state"] == STALE, ["break", "account", "key"]].fillna("")
    shown = ["/".join(names).rstrip("/") for names in stale.head(_FEW).to_numpy()]
    more = ", …" if len(stale) > _FEW else ""
    many = counted(len(stale), "decision is", "decisions are")
    text = f"{many} stale, because the open breaks have changed: {', '.join(shown)}{more}."
    return f"{text} Decide again about the breaks that are still open" if shown else ""


def closing_words(decided: pd.DataFrame, breaks: pd.DataFrame) -> str:
    """A sentence saying that nothing is left to decide, and who decided the breaks `decided`; empty if nobody did.

    The sentence counts the breaks in `breaks`, which no decision has closed, that wait for their booking.
    """
    deciders = {who: counts.total() for who, counts in by_whom(decided).items()}
    if not deciders:
        return ""
    text = counted(sum(deciders.values()), "break is", "breaks are")
    if len(deciders) == 1:
        text += f" decided by {listed(list(deciders))}"
    else:
        text += f" decided, {listed([f'{number:,} by {who}' for who, number in deciders.items()])}"
    if waiting := int(breaks["verdict"].isin(TO_BOOK).sum()):
        wait = f"{waiting:,} of them {'waits' if waiting == 1 else 'wait'} to be booked"
        return f"Nothing is left to decide: {text}; {wait}."
    return f"Nothing is open: {text}."


def _instant(when: str) -> datetime:
    at = datetime.fromisoformat(when)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _unequal_matches(breaks: pd.DataFrame, decisions: pd.DataFrame) -> list[str]:
    """A list with a note on decided matches whose amounts differ; empty if there are none."""
    named = _rows(decisions[(decisions["state"] == APPLIED) & (decisions["verdict"] == "match")])
    variances = {name: row for name, *row in python_rows(breaks, "id", "currency", "variance_minor")}
    sums = Counter[tuple[frozenset[str], str | None]]()
    for group in {frozenset(ids_of(row)) for row in named}:
        for currency, minor in map(variances.__getitem__, group):
            sums[group, currency] += minor
    odd = sorted({min(group) for (group, _), minor in sums.items() if minor})
    return [f"{', '.join(odd)} matched with another amount"] if odd else []


_MOST_SHOWN: Final = 1_000
"""The most breaks in the form. They are sorted by code, and within a code by variance, the largest first."""
_AT_ONCE: Final = 20
_UNDECIDED: Final = "not decided"
_HEADINGS: Final = ("break", "to do", "account", "key", DisplayColumn("variance", numeric=True), "verdict")


class DecisionTable:
    """A table for deciding the breaks of a result; it writes the decisions to a file.

    `who` is the person who decides. As partners of a break, it offers those in `suggestions` (columns SUGGESTION), and
    breaks with the opposite variance. Raises ReconcileRefused: `path` does not end in .csv, or the file exists and
    cannot be used.
    """

    def __init__(
        self, breaks: pd.DataFrame, path: Path, who: str = "", suggestions: pd.DataFrame | None = None
    ) -> None:
        if path.suffix.lower() != files.CSV:
            raise ReconcileRefused(f"Decisions are kept in a .csv file, and {path.name} is not one.")
        self.path = path
        self.who = who
        self._all = breaks
        # Breaks that a rule has decided need nobody, and rows that may still follow wait.
        mine = breaks[(breaks["code"] != TIMING) & (breaks["verdict"].isna() | breaks["who"].notna())]
        order = mine.assign(moves=mine["variance_minor"].abs()).sort_values(["code", "moves"], ascending=[True, False])
        self._breaks = order.drop(columns="moves")
        self._suggested = [] if suggestions is None else list(suggestions["breaks"])
        self._in_file()

    def decide(
        self, breaks: str | Sequence[str], verdict: str, *, why: str, who: str = "", partner: str = "",
        replace: bool = False,
    ) -> None:  # fmt: skip
        """Writes a verdict on one break or several: `match` with a `partner`, `accept`, `write_off` or `ignore`.

        A match without a `partner` joins all `breaks`; to accept a row of the suggestions, pass its `breaks`. The
        verdict `open` withdraws a decision. Another person's decision is replaced only with `replace=True`. Raises
        ReconcileRefused: there is no such break or verdict, `who` or `why` is missing, or another person has decided;
        ReportRefused: the file cannot be written.

        >>> result.decide("decisions.csv", who="Desk").decide("bq4x7m2k5n3a", "accept", why="seen")  # doctest: +SKIP
        """
        names = ids_of({"break": "", "partner": breaks})[1:] if isinstance(breaks, str) else list(breaks)
        if verdict == "match" and not partner:
            names, partner = names[:1], "; ".join(names[1:])
        row = {"verdict": verdict, "partner": partner or None, "who": who or self.who, "why": why}
        self.write([{"break": name, **row} for name in names], replace=replace)

    def write(self, decisions: Sequence[Mapping[str, str | None]], *, replace: bool = False) -> None:
        """Writes all the decisions or none; each has break, verdict, partner, who and why.

        Another person's decision is replaced only with `replace=True`. Raises the same errors as `decide`.
        """
        about = {row[0]: row[1:] for row in python_rows(self._all, "id", "account", "key", "code")}
        before, now = self.decided(), datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        new: dict[str, Row] = {}
        for item in decisions:
            name = item["break"] or ""
            if unknown := [break_id for break_id in ids_of(item) if break_id not in about]:
                raise ReconcileRefused(f"There is no break {', '.join(unknown)} to decide about.")
            _check_accounts([{**item}], {known: account for known, (account, *_) in about.items()})
            old = before.get(name)
            if old is not None and old["who"] != item["who"] and not replace:
                text = f"{old['who']} has decided about {name}: {old['verdict']}, {old['why']}."
                raise ReconcileRefused(text, hint="Pass replace=True to replace that decision.")
            new[name] = {**dict(zip(("account", "key", "code"), about[name], strict=True)), **item, "when": now}
        # The decisions are read here as from the file: rows that it would not take are not written.
        kept = [row for row in self._in_file() if new.keys().isdisjoint(ids_of(row))]
        rows, _ = decisions_in(pd.DataFrame([*kept, *new.values()], columns=list(DECIDED)))
        # Spreadsheets open the file too.
        safe = [{name: text and armed(text) for name, text in row.items()} for row in rows]
        with files.written_whole(self.path) as unfinished:
            files.write(frame(safe, DECIDED), unfinished, DECIDED, marked=True)

    def decided(self) -> dict[str, Row]:
        """Break id → the decision about it in the file as it is now, else the decision in the result."""
        known = _rows(self._breaks[self._breaks["who"].notna()].rename(columns={"id": "break"}))
        in_file = [
            {**row, "break": name, "partner": "; ".join(other for other in ids_of(row) if other != name) or None}
            for row in self._in_file() for name in ids_of(row)
        ]  # fmt: skip
        return {str(row["break"]): row for row in [*known, *in_file]}

    def _in_file(self) -> list[Row]:
        return decisions_in(self.path)[0] if self.path.exists() else []

    def partners_of(self, *names: str) -> dict[str, list[str]]:
        """Id of each break in `names` → candidates for its partner, best first.

        A candidate is an id, or several joined by `; `.
        """
        return partners_of(self._breaks, self._suggested, names)

    def _table(self) -> DisplayTable:
        decided, rows = self.decided(), []
        names = ("id", "settlement", "account", "key", "variance_minor", "currency")
        for name, to_do, account, key, minor, currency in python_rows(self._breaks.head(_AT_ONCE), *names):
            verdict = decided.get(name, {}).get("verdict") or ""
            rows.append((name, to_do, account, key_text(key), money_text(minor, currency), verdict))
        many = len(self._breaks)
        first = f", the first {_AT_ONCE}" if many > _AT_ONCE else ""
        return table(f"{counted(many, 'break')} to decide about{first}", _HEADINGS, rows)

    def __repr__(self) -> str:
        return f"{self._table()}\n\nDecide with .decide(break, verdict, why=…), which writes {self.path.name}."

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return with_widget(bundle(repr(self), self._table().html()), self.form)

    def form(self) -> "ipywidgets.VBox":
        """The table as a JupyterLab form: a row for each break, and a button that writes the verdicts."""
        return _Form(self, self._breaks.head(_MOST_SHOWN), self.decided()).box


class _Form:
    """A form of widgets: `_parts` is page title → breaks, `_controls` is break id → the input fields shown so far."""

    def __init__(self, decisions: DecisionTable, breaks: pd.DataFrame, decided: Mapping[str, Row]) -> None:
        import ipywidgets

        self._widgets, self._decisions = ipywidgets, decisions
        self._written = {
            name: {field: row[field] or "" for field in ("verdict", "partner", "why")} for name, row in decided.items()
        }
        self._parts = dict(_parts(breaks))
        self._labels = {
            name: f"{name} {key_text(key)}, {money_text(minor, currency)}"
            for name, key, minor, currency in python_rows(breaks, "id", "key", "variance_minor", "currency")
        }
        self._ids = {text: name for name, text in self._labels.items()}
        self._controls: dict[str, Any] = {}
        self._boxes: dict[str, Any] = {}
        self._part = ipywidgets.Dropdown(options=list(self._parts), description="to do", layout={"width": "auto"})
        self._who = ipywidgets.Text(value=decisions.who, description="who")
        self._message = ipywidgets.HTML()
        self._rows = ipywidgets.VBox()
        button = ipywidgets.Button(description="Write decisions", button_style="primary")
        button.on_click(lambda _: self._write())
        self._part.observe(lambda _: self._show(), names="value")
        self._show()
        top = self._line([self._part, self._who, button])
        self.box = ipywidgets.VBox([top, self._message, self._rows, _keyboard_guard()])

    def _line(self, parts: "Sequence[ipywidgets.Widget]") -> "ipywidgets.HBox":
        """Places widgets side by side; they wrap if the line is too wide."""
        return self._widgets.HBox(parts, layout={"flex_flow": "row wrap"})

    def _show(self) -> None:
        name = self._part.value
        if name is not None and name not in self._boxes:
            self._boxes[name] = self._opened(self._parts[name])
        self._rows.children = self._boxes.get(name, ())

    def _shown(self, ids: str) -> str:
        """The text of an option for `ids`, joined by `; `: the id, the key and the amount of each break.

        `_ids` keeps which ids the text stands for.
        """
        text = "; ".join(self._labels.get(name, name) for name in ids.split("; "))
        self._ids[text] = ids
        return text

    def _opened(self, breaks: pd.DataFrame) -> list[Any]:
        lines = [self._widgets.HTML(f"<b>{escape(breaks['settlement'].iloc[0])}</b>")]
        partners = self._decisions.partners_of(*breaks["id"])
        for row in breaks.to_dict("records"):
            before, labelled = self._written.get(row["id"], {}), {"description_width": "initial"}
            opposite = partners[row["id"]]
            may_match = opposite or row["side"] != "both" or before.get("verdict") == "match"
            verdicts = [verdict for verdict in (*VERDICTS, WITHDRAWN) if may_match or verdict != "match"]
            controls = {
                "verdict": self._widgets.Dropdown(
                    options=[(_UNDECIDED, ""), *((verdict.replace("_", " "), verdict) for verdict in verdicts)],
                    value=before.get("verdict", ""), description="verdict", style=labelled, layout={"width": "13em"},
                ),
                "partner": self._widgets.Combobox(
                    options=[self._shown(name) for name in opposite], value=before.get("partner", ""),
                    description="partner", placeholder="of a match", style=labelled, layout={"width": "24em"},
                ),
                "why": self._widgets.Text(
                    value=before.get("why", ""), description="why", style=labelled, layout={"width": "24em"}
                ),
            }  # fmt: skip
            self._controls[row["id"]] = controls
            quote = "" if pd.isna(row["description"]) else f" <q>{escape(visible(row['description']))}</q>"
            text = f"<code>{row['id']}</code> {escape(visible(row['reason']))}{quote}"
            reason = self._widgets.HTML(f'<div style="line-height:1.4">{text}</div>', layout={"width": "100%"})
            lines.append(self._line([reason, *controls.values()]))
        return lines

    def _write(self) -> None:
        chosen = {
            name: {field: self._ids.get(control.value, control.value) for field, control in controls.items()}
            for name, controls in self._controls.items()
        }
        changed = {
            name: choice for name, choice in chosen.items() if choice["verdict"] and choice != self._written.get(name)
        }
        try:
            self._decisions.write([{"break": name, **how, "who": self._who.value} for name, how in changed.items()])
        except WorkbenchError as error:
            self._message.value = "<b>Not written.</b> " + "<br>".join(escape(str(error)).splitlines())
            return
        self._written |= changed
        self._message.value = f"{len(changed)} written to {escape(str(self._decisions.path))}."


def _keyboard_guard() -> "ipywidgets.Widget":
    """An invisible widget that stops JupyterLab from acting on keys pressed in the form's fields and buttons.

    Without the widget, an arrow in a dropdown moves to the next cell, and `m` turns the cell into Markdown.
    """
    import anywidget

    class KeyboardGuard(anywidget.AnyWidget):
        _esm = Path(__file__).with_suffix(".js")

    return KeyboardGuard()


def _parts(breaks: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Splits the breaks by code, and into parts of at most _AT_ONCE; yields the title and the breaks of each part."""
    for code, mine in breaks.groupby("code", observed=True, sort=False):
        for start in range(0, len(mine), _AT_ONCE):
            piece = mine.iloc[start : start + _AT_ONCE]
            part = f", {start + 1} to {start + len(piece)}" if len(mine) > _AT_ONCE else ""
            yield f"{code}: {len(mine)}{part}", piece
