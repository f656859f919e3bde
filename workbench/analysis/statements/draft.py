"""Drafts a layout from a file: what its rows prove is declared, and what they leave open becomes a doubt."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from itertools import pairwise, permutations, takewhile
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np

from workbench.analysis.rules import MatchRule
from workbench.analysis.shapes import DIRECTIONS, STATUSES
from workbench.analysis.statements.cells import Amounts, Cell, Line, Wrong, file_refusal, text_of
from workbench.analysis.statements.columns import (
    DAYS,
    MOST_ROWS,
    NEARLY_ALL,
    SEPARATORS,
    Cut,
    MoneyColumn,
    Proof,
    assigned,
    cut_file,
    in_order,
    proofs_of,
    readings_of,
    time_of,
)
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    DEBITS,
    DIRECTION_WORDS,
    FIELDS,
    HEADINGS,
    LAYOUTS,
    LEDGER_FIELDS,
    LEDGER_HEADINGS,
    OPENING,
    STATUS_WORDS,
    SUFFIX,
    SWAPPED,
    TOTAL,
    TYPE_PARTS,
    TYPES,
    Layout,
    heading_key,
    layout_from,
    plain,
)
from workbench.analysis.statements.own_ledger import OwnLedger, read_ledger
from workbench.analysis.statements.preamble import code_in
from workbench.analysis.statements.recognising import recognised
from workbench.analysis.statements.statement import Reading, Statement, read_statement
from workbench.domain.masking import mask_accounts
from workbench.domain.moments import DAY_MS, moment
from workbench.domain.money import ZMW
from workbench.domain.phones import masked_number
from workbench.errors import StatementRefused
from workbench.visible import visible

UNKNOWN_ACCOUNT: Final = "(unknown)"
"""The account of a statement, if neither the file nor the layout nor the caller names it."""
_SETTINGS: Final = [setting.name for setting in fields(Layout)]
WORDS: Final = ("accounts", "directions", "statuses", "types")
_TABLES: Final = ("columns", *WORDS, "preamble")
"""The tables of a layout in the order in which a person reads them; TOML has them last."""
_MOST_WORDS: Final = 30
_LIKELY_OWN: Final = 5
_LEAST_DAYS: Final = 3
_LEAST_LETTERS: Final = 3
_LIKE_A_CODE: Final = re.compile(r"(?=\S*[0-9])[A-Za-z0-9./-]+")
_LIKE_A_DAY: Final = re.compile(r"\W*[0-9]|[A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4}")
_MONTH: Final = re.compile(r"[^\W\d_]{3}")
_ACCOUNT: Final = re.compile(r"[a-z_]+(?::[a-z0-9_]+)+")
_DECIMALS: Final = re.compile(r"[.,][0-9]{2}\b")
_NUMBER: Final = re.compile(r"\+?[0-9][0-9*•]{7,13}[0-9]")
_BEFORE_A_NAME: Final = re.compile(r"\W*\s\W*(?=\w)")
_OWN: Final = re.compile("(?<=:)[^/]+(?=/USER)")


class Draft:
    """A draft of a layout: the settings `declared`, their proofs and the open doubts. Its repr is the TOML file.

    `columns` has the fields of a statement, in which incoming money is a credit. In the user's books it is a debit, so
    the TOML file of a ledger has `debit` and `credit` exchanged.
    """

    def __init__(self, file: Cut) -> None:
        self.file = file
        self.declared: dict[str, Any] = {"columns": {}}
        self.proofs: dict[str, str] = {}
        """Place in the layout, such as `dates` or `statuses.TS` → the comment behind it."""
        self.doubts: dict[str, list[str]] = {}
        """Place in the layout → what a person has to decide, one text for each doubt."""
        self.above: list[str] = []
        """The first lines of the TOML file, on how this draft reads the file; empty after the draft has changed."""

    @property
    def columns(self) -> dict[str, str]:
        """Field → the heading of its column."""
        return dict(self.declared["columns"])

    @property
    def amounts(self) -> Amounts:
        """A reader of amounts by the declared separators."""
        return self.file.amounts(self.declared.get("decimal", "."), self.declared.get("thousands", ""))

    def cells(self, field: str) -> dict[int, Cell]:
        """Line → the cell of its row in the column of a field; all cells are empty if the field has no column."""
        return self.file.column(self.declared["columns"].get(field, ""))

    def texts(self, field: str) -> dict[int, str]:
        """Line → the text of its row's cell in the column of a field, for cells that are not blank."""
        return self.file.texts(self.declared["columns"].get(field, ""))

    def prove(self, name: str, value: object, proof: str = "") -> None:
        """Declare a setting that the file shows, with its proof; None leaves the default."""
        if value is not None:
            self.declared[name] = value
            self.proofs[name] = proof

    def doubt(self, where: str, text: str) -> None:
        """Add a doubt about a place in the layout, for a person to decide."""
        self.doubts.setdefault(where, []).append(text)

    def declare(self, **settings: object) -> None:
        """Set settings of `Layout` by name, and settle their doubts; None removes a setting.

        Raises StatementRefused: there is no such setting.
        """
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise StatementRefused(f"A layout has no {name}; it has {', '.join(_SETTINGS)}.", setting=name)
            for by_setting in (self.declared, self.proofs, self.doubts):
                by_setting.pop(name, None)
            if value is not None:
                self.declared[name] = value
            self.above = []

    @property
    def layout(self) -> Layout:
        """The declared layout. Raises StatementRefused: it cannot be used yet."""
        return layout_from(self.toml.encode(), self.file.path.stem, self.file.path.name)

    def statement(self) -> Statement:
        """The file, read by this draft. Raises StatementRefused: see `read_statement`."""
        return read_as(self.file.path, self.layout)

    def ledger(self) -> OwnLedger:
        """The file, read by this draft. Raises StatementRefused: see `read_ledger`."""
        layout = self.layout
        by_row = layout.sections or "account" in layout.columns
        return read_ledger(self.file.path, layout=layout, account=None if by_row else UNKNOWN_ACCOUNT)

    @property
    def toml(self) -> str:
        """The layout as a file, in the order in which a person reads it."""
        lines = [f"# {masked(text)}" for text in self.above]
        for name in _SETTINGS:
            lines += self._setting(name, name, self.declared.get(name)) if name not in _TABLES else ()
        for name in _TABLES:
            sides = SWAPPED if name == "columns" and self.file.is_ledger else {}
            values = self.declared.get(name, {})
            rows = [line for key in values for line in self._setting(f"{name}.{key}", sides.get(key, key), values[key])]
            rows += [f"# ? {masked(doubt)}" for doubt in self.doubts.get(name, ())]
            lines += ["", f"[{name}]", *rows] if rows else ()
        return "\n".join(lines) + "\n"

    def _setting(self, where: str, key: str, value: object) -> Iterator[str]:
        """Yields the lines of a setting: its doubts, and its value with the proof."""
        for doubt in self.doubts.get(where, ()):
            yield f"# ? {masked(doubt)}"
        is_declared = bool(value) or type(value) is int
        if is_declared or where.startswith(WORDS):
            proof = f"  # {masked(self.proofs[where])}" if self.proofs.get(where) else ""
            named = key if re.fullmatch("[A-Za-z0-9_-]+", key) else toml_value(key)
            # A word without a meaning stands as a comment.
            yield f"{'' if is_declared else '# ? '}{named} = {toml_value(value)}{proof}"

    def __repr__(self) -> str:
        return self.toml

    def write(self, path: str | Path) -> None:
        """Write the layout to a new `.toml` file.

        Raises StatementRefused: the file exists, has another ending, or cannot be written.
        """
        target = Path(path)
        if target.suffix != SUFFIX:
            raise file_refusal(str(path), f"is not a layout: its name must end in {SUFFIX}.")
        try:
            with target.open("x", encoding="utf-8", newline="\n") as handle:
                handle.write(self.toml)
        except FileExistsError:
            raise file_refusal(str(path), "already exists.", hint="Give another name, or replace it.") from None
        except OSError as wrong:
            raise file_refusal(str(path), f"cannot be written: {wrong.strerror}.") from None


def read_as(path: Path, layout: Layout, **options: Unpack[Reading]) -> Statement:
    """The statement in a file as the layout reads it; the account is `(unknown)` if nothing names it."""
    named = layout if layout.account or options.get("account") else replace(layout, account=UNKNOWN_ACCOUNT)
    return read_statement(path, layout=named, **options)


def summary(statement: Statement) -> list[str]:
    """Sentences about the rows, their days, the unreadable ones, and the running balance."""
    bad = int(statement.rows["problem"].notna().sum())
    days = " to ".join(map(str, statement.period)) if statement.period else "no day"
    account = "" if statement.account != UNKNOWN_ACCOUNT else "; the account is unknown"
    rows = f"{_rows(len(statement.rows))}, {days}, {bad:,} unreadable{account}."
    return [rows, f"Running balance: {statement.follows}.", *statement.remarks]


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def masked(text: str) -> str:
    """A file's text as one line for people: long numbers are masked, and control characters are shown as symbols."""
    return visible(mask_accounts(text))


def toml_value(value: object) -> str:
    """The value of a setting as TOML writes it; invisible characters are written by their code."""
    if isinstance(value, str):
        # JSON's escapes are TOML's too, except beyond 16 bits.
        quoted = json.dumps(value, ensure_ascii=False)
        return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)
    if isinstance(value, list | tuple | frozenset):
        return f"[{', '.join(map(toml_value, value if isinstance(value, list | tuple) else sorted(value)))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {toml_value(cell)}' for name, cell in value.items())} }}"
    return str(value) if isinstance(value, MatchRule) else json.dumps(value)


def draft_layout(path: str | Path, *, ledger: bool = False) -> Draft:
    """Draft the layout of a statement's file or, with `ledger`, of your own books.

    In books a debit is incoming money: the layout of a ledger names its debits and credits as the file does.

    Raises StatementRefused: the file cannot be read, or has no line like a header.

    >>> draft_layout("october.csv").write("zanaco.toml")  # doctest: +SKIP
    """
    draft = Draft(cut_file(Path(path), ledger=ledger))
    encoding, delimiter = draft.file.rows_of.encoding, draft.file.rows_of.delimiter
    draft.prove("encoding", encoding, "the file is not UTF-8")
    draft.prove("delimiter", delimiter if delimiter != "," else None)
    directions, newest_first = _columns(draft)
    dated = _dates(draft, newest_first=newest_first)
    _amounts(draft)
    _parties(draft)
    _words(draft, directions)
    moving = _movements(draft, dated)
    keys = {line: text for line, text in draft.texts("key").items() if line in moving}
    if lacking := len(moving) - len(keys):
        proof = f"rows without a key: {lacking} of {len(moving)}; it is made of what they say"
        draft.prove("makes_keys", value=True, proof=proof)
    _preamble(draft)
    columns, headings = draft.columns, draft.file.headings
    draft.declared["columns"] = {name: columns[name] for name in (*LEDGER_FIELDS, *FIELDS) if name in columns}
    draft.declared["ignored"] = [name for name in headings if name and name not in columns.values()]
    for heading in draft.declared["ignored"]:
        cells = draft.file.texts(heading).values()
        if cells and all(_DECIMALS.search(text) and isinstance(draft.amounts.read(text), int) for text in cells):
            draft.doubt("ignored", f"{heading!r} has amounts that are not read: if it is a fee or a balance, name it")
    draft.above, left_out = _result(draft)
    once = [text for line, text in keys.items() if line not in left_out]
    if shared := len(once) - len({*once}):
        count = len(moving - left_out)
        doubt = f"rows with the key of another: {shared} of {count}; told twice, or parts of one payment"
        draft.doubt("columns.key", doubt)
    return draft


def _columns(draft: Draft) -> tuple[dict[str, str], bool | None]:
    """Declares in `draft` the column of each field: by its heading, if its cells fit, else by the balance or its cells.

    Adds doubts about columns that only their cells show, columns without a heading, a missing moment or amount, and a
    statement of several accounts. Returns what the balance proves: word → its direction, and True if the newest row
    comes first, None if no order is proven.
    """
    file, sample, columns = draft.file, draft.file.sample, draft.declared["columns"]
    known = LEDGER_HEADINGS if file.is_ledger else HEADINGS
    columns |= assigned(file.filled, known, sample.fits)
    # A month without a debit has an empty column of debits.
    empty = assigned([name for name in file.headings if name not in file.filled], known)
    for side in SWAPPED:
        if side in empty and side not in columns:
            columns[side] = empty[side]
            sample.money[empty[side]] = MoneyColumn.from_cells(sample.column("").values(), draft.amounts)
    proven = _prove_balance(draft)
    _one_of_two(draft)
    scores = {heading: _scores(sample, heading) for heading in file.filled}
    for name, instead in _BY_CELLS.items():
        by_heading = {heading: by_field[name] for heading, by_field in scores.items() if by_field[name]}
        likely = {heading: score for heading, score in by_heading.items() if heading not in columns.values()}
        if likely and name not in columns and not columns.keys() & instead:
            columns[name] = max(likely, key=likely.__getitem__)
            draft.doubt(f"columns.{name}", "by its cells alone")
    _settle_ways(sample, columns)
    kept = {"columns", *columns}
    draft.doubts = {at: texts for at, texts in draft.doubts.items() if at.removeprefix("columns.") in kept}
    _accounts(draft)
    if "moment" not in columns:
        draft.doubt("columns", 'moment = ""  # no heading is known for it')
    if columns.keys().isdisjoint(("amount", "debit")):
        draft.doubt("columns", 'amount = ""  # no heading is known for it, and no cells prove it')
    for place, heading in enumerate(file.headings):
        is_filled = any(len(cells) > place and cells[place] != "" for _, cells in file.rows)
        if is_filled and not heading and (place or "sections" not in draft.declared):
            draft.doubt("columns", f"column {place + 1} has no heading, so that it cannot be read: give it one")
    return proven


def _accounts(draft: Draft) -> None:
    """Declares in `draft` a ledger's accounts that stand in lines of their own above their rows.

    Adds a doubt about a statement of several accounts.
    """
    file, named = draft.file, dict[str, int]()
    account = assigned(file.headings, {"account": LEDGER_HEADINGS["account"]}).get("account", "")
    if not file.is_ledger and len({*file.texts(account).values()}) > 1:
        doubt = f"{account!r} names several accounts, as your own ledger does: draft it with --ledger (ledger=True)"
        draft.doubt("columns", doubt)
    is_above = file.is_ledger and not file.headings[0] and "account" not in draft.columns
    above, begins = "", 0
    for line, cells in file.rows if is_above else ():
        if not (text := text_of(cells[0]).strip()):
            named.setdefault(above, begins)
        elif not TOTAL.match(text) and not OPENING.match(text):
            above, begins = text, line
    named.pop("", None)
    if named:
        draft.prove("sections", value=True, proof=", ".join(f"line {named[text]} {text!r}" for text in [*named][:2]))
        draft.prove("accounts", dict.fromkeys(named, ""))
        draft.proofs |= {f"accounts.{text}": _MEANINGS["account"][1][0] for text in named}


def _prove_balance(draft: Draft) -> tuple[dict[str, str], bool | None]:
    """Replaces in `draft` the columns of money that headings suggest by those that the balance proves; adds doubts.

    Returns word → the direction that it means, and True if the newest row comes first, None if no order is proven.
    """
    sample, known = draft.file.sample, draft.declared["columns"]
    tried: list[Proof] = []
    for fee in dict.fromkeys((None, known.get("fee"))):
        # A fee is tried if without it a row is left that is not explained.
        if not tried or len(tried[0].steps) < tried[0].compared:
            tried += proofs_of(sample, known, fee)
            tried.sort(key=lambda proof: (proof.explains, proof.agreed, proof.rank), reverse=True)
    if not tried or not tried[0].explains[0]:
        return {}, None
    best = tried[0]
    columns, moves = best.columns, best.moves
    is_known = columns.items() <= known.items()
    alike = [proof for proof in tried if (proof.explains, proof.rank) == (best.explains, best.rank)]
    if len(best.steps) == 1 and not is_known and best.agreed < len(columns) - 1:
        draft.doubt("columns.balance", "one row alone shows it")
    others = [proof for proof in alike if proof.columns != columns and not (is_known and proof.agreed < best.agreed)]
    for other in others[:1]:
        named = ", ".join(f"{name} = {heading!r}" for name, heading in other.columns.items())
        draft.doubt("columns.balance", f"it follows as well with {named}")
    orders = {proof.newest_first for proof in alike if (proof.columns, proof.agreed) == (columns, best.agreed)}
    if not is_known:
        draft.proofs["columns.balance"] = best.in_words(sample)
        kept = {name: heading for name, heading in known.items() if name not in _OF_BALANCE}
        known.clear()
        known |= columns | {name: heading for name, heading in kept.items() if heading not in columns.values()}
    is_signed = columns.keys() & {"amount", "direction", "from"} == {"amount"}
    values = sample.money[columns["amount"]].values if is_signed else moves
    if (values < 0).any() and (values * np.sign(moves) < 0).any():
        text = "the balance falls where this is above zero, and no layout can say so: reverse its signs in the file"
        draft.doubt("columns.amount", text)
    # The rows between two balances that agree; the oldest balance proves nothing about its own row.
    between = {row for before, row in best.steps for row in range(min(before + 1, row), max(before, row + 1))}
    fee = known.get("fee")
    if fee and "fee" not in columns and any(sample.money[fee].values[row] and moves[row] for row in between):
        draft.doubt("columns", f"fee = {json.dumps(known.pop('fee'))}  # the balance follows without it alone")
    moved = zip(sample.words[columns.get("direction", "")], moves.tolist(), strict=True)
    directions = {word: "in" if move > 0 else "out" for word, move in moved if word and move}
    return directions, orders.pop() if len(orders) == 1 else None


_OF_BALANCE: Final = ("amount", "debit", "credit", "direction", "from", "to", "balance", "side")
"""The fields whose columns `_prove_balance` replaces by those that the balance proves."""


def _one_of_two(draft: Draft) -> None:
    """Declares in `draft` two columns as debit and credit if each row fills exactly one of them.

    Does nothing if an amount, or debit and credit, are declared already. Adds a doubt about which column is the debit,
    unless a heading or amounts below zero show it.
    """
    columns, money = draft.declared["columns"], draft.file.sample.money
    if "amount" in columns or {"debit", "credit"} <= columns.keys():
        return
    is_filled = {name: column.values != 0 for name, column in money.items()}
    pairs = [
        (a, b) for a, b in permutations(money, 2)
        if (is_filled[a] ^ is_filled[b]).all() and is_filled[a].any() and is_filled[b].any()
        and (columns.get("debit", a), columns.get("credit", b)) == (a, b)
    ]  # fmt: skip
    if pairs:
        # Amounts below zero go out.
        debit, credit = min(pairs, key=lambda pair: money[pair[0]].values.sum() > 0)
        if not (columns.keys() & {"debit", "credit"} or (money[debit].values < 0).any()):
            text = f"each row fills {debit!r} or {credit!r}; nothing proves which of them goes out"
            draft.doubt("columns.debit", text)
        columns |= {"debit": debit, "credit": credit}


def _settle_ways(sample: Cut, columns: dict[str, str]) -> None:
    """Changes `columns` (field → heading) in place so that they show the direction of a row in only one way.

    Removes `amount` or `direction` beside debit and credit, `direction` beside a signed amount, and `from` or `to` if
    it stands alone. A `direction` beside debit and credit becomes the balance's `side`. If an amount has no direction,
    a `type` with only words for directions becomes `direction`.
    """
    money = sample.money.get(columns.get("amount", ""))
    if {"debit", "credit"} <= columns.keys():
        # A column CR/DR beside the two is that of the balance.
        if side := columns.pop("direction", None):
            columns.setdefault("side", side)
        columns.pop("amount", None)
    elif money and (money.values < 0).any():
        columns.pop("direction", None)
    has_words = sample.says_only(DIRECTION_WORDS, columns.get("type", ""))
    if "amount" in columns and "direction" not in columns and has_words:
        columns["direction"] = columns.pop("type")
    for name in () if {"from", "to"} <= columns.keys() else ("from", "to"):
        columns.pop(name, None)


_BY_CELLS: Final[dict[str, set[str]]] = {
    "moment": set(), "status": set(), "amount": {"debit"}, "direction": {"debit", "from"}, "phone": {"from", "to"},
    "key": set(), "description": set(),
}  # fmt: skip
"""Field whose column may be found by its cells alone → other fields; if one of them has a column, none is sought."""


def _scores(sample: Cut, heading: str) -> dict[str, float]:
    """Field of _BY_CELLS → how well the cells of a column can hold it, 0 if they cannot."""
    texts, money, days = [*sample.texts(heading).values()], sample.money.get(heading), sample.days.get(heading, [])
    different, letters = len({*texts}), sum(sum(map(str.isalpha, text)) for text in texts) / max(1, len(texts))
    codes, phones = (sample.share(kind, heading) for kind in (_LIKE_A_CODE.fullmatch, masked_number))
    is_key = not days and not (money and money.marked)
    if texts and all(re.fullmatch("[0-9]+", text) for text in texts):
        # A column of digits may be a key, unless it counts its rows.
        counts = [*map(int, texts)]
        is_key = min(counts) > 1 or not {abs(b - a) for a, b in pairwise(counts)} <= {1}
    is_narrative = not days and 2 * different >= len(texts) and letters >= _LEAST_LETTERS
    return {
        "moment": max((len(read) * (1 + in_order([*read.values()])) for read in days), default=0),
        "status": sample.says_only(STATUS_WORDS, heading),
        # Plain digits are counts or keys, and a column of fees has zeros.
        "amount": (money.marked + 2 * (money.values < 0).sum()) * (money.values != 0).mean() if money else 0,
        "direction": sample.says_only(DIRECTION_WORDS, heading),
        "phone": phones * (phones >= NEARLY_ALL),
        "key": codes * (codes >= NEARLY_ALL) * is_key * different / max(1, len(sample.rows)),
        "description": letters * is_narrative,
    }


def _moments(draft: Draft) -> dict[int, Cell]:
    """Line → the moment of its row: a text of its day and time, or a workbook's own moment."""
    times = draft.texts("time")
    return {
        line: cell if isinstance(cell, datetime) else f"{text_of(cell).strip()} {times.get(line, '')}".strip()
        for line, cell in draft.cells("moment").items()
    }


def _dates(draft: Draft, *, newest_first: bool | None) -> set[int]:
    """Declares in `draft` the formats of dates that read most rows; if only one format is left, adds its proof.

    A proof is a row that the format with day and month swapped cannot read, the period above the header, or the order
    of the rows (`newest_first`; None if it is unknown). If several formats are left, or days are unread, adds doubts.
    Returns the lines of the rows that have a day.
    """
    cells = _moments(draft)
    own = {line: cell for line, cell in cells.items() if isinstance(cell, datetime)}
    texts = {line: cell for line, cell in cells.items() if isinstance(cell, str) and cell}
    read = readings_of(texts)
    most = max(map(len, read.values()))
    likely = {by: at for by, at in read.items() if len(at) == most}
    # Of formats that read the same the first is kept.
    readings = {by: at for by, at in likely.items() if by == next(first for first in likely if likely[first] == at)}
    chosen = next(iter(readings))
    unread = [
        (f"line {line}", f"{text!r}{': a month has its English name, or a number' * bool(_MONTH.search(text))}")
        for line, text in texts.items() if line not in read[chosen] and (_LIKE_A_DAY.match(text) or not most)
    ]  # fmt: skip
    if not most and own:
        has_time = any((at.hour, at.minute, at.second) != (0, 0, 0) for at in own.values())
        times = [f" {time_of(text)}" for text in draft.texts("time").values()][:1] or [" %H:%M:%S"] * has_time
        draft.prove("dates", ["%Y-%m-%d" + "".join(times)], "the sheet's own moments")
        return {*own}
    if not most:
        draft.prove("dates", ["%Y-%m-%d"])
        draft.doubt("dates", f"no known format reads {unread[0][1]}" if unread else "no row tells how days are written")
        return set()
    if unread:
        draft.doubt("dates", f"{len(unread)} of {len(texts)} days are not read, such as {' '.join(unread[0])}")
    if own:
        text = f"{len(own)} days are the sheet's own and {len(texts)} are text: a spreadsheet may have turned the day"
        draft.doubt("dates", f"{text} and the month of its own round")
    dated = {*own}.union(*readings.values())
    draft.prove("dates", [*readings])
    if len(readings) == 1:
        by_other = read.get(chosen.translate(str.maketrans("dm", "md")), read[chosen])
        line = next((line for line in read[chosen] if line not in by_other), 0)
        first = "day" if _is_day_first(chosen) else "month"
        draft.proofs["dates"] = f"line {line} {texts[line]!r} can only be {first} first" if line else ""
        return dated
    is_out = partial(_out_of_order, texts, newest_first=newest_first)
    for why_not in (partial(_outside_of_period, draft.file.above), is_out):
        out = {by: why for by, at in readings.items() if (why := why_not(by, at))}
        if len(out) == len(readings) - 1:
            draft.prove("dates", [by for by in readings if by not in out], next(iter(out.values())))
            return dated
    choices = []
    for by, at in readings.items():
        days = " to ".join(f"{moment(end(at.values())).date()}" for end in (min, max))
        choices.append(f"{by} reads {days}{' (day first is usual here)' * (by == chosen)}")
    doubt = "no row decides: keep in dates the right format, or all until another file decides"
    draft.doubt("dates", f"{doubt}: {', '.join(choices)}")
    return dated


def _is_day_first(pattern: str) -> bool | None:
    """True if a format writes the day before the month; None if its month is a name or follows the year."""
    return None if "%b" in pattern or pattern.startswith("%Y") else pattern.find("%d") < pattern.find("%m")


def _outside_of_period(above: Sequence[Line], by: str, read: Mapping[int, int]) -> str:
    """The proof, in words, that the format `by` is wrong: a day above the header or the period there contradicts it.

    Empty if nothing contradicts the format. `above` has the lines above the header, and `read` is line → milliseconds
    as this format reads the rows.
    """
    is_day_first = _is_day_first(by)
    # Eight digits are more likely an account's number than a day.
    formats = [DateFormat(day) for day in DAYS if day != "%Y%m%d" and _is_day_first(day) in (None, is_day_first)]
    days: list[tuple[int, int, str]] = []
    for line, text in ((line, text_of(cell).strip()) for line, cells in above for cell in cells):
        for day in next(filter(None, (known.all_in(text) for known in formats)), []):
            if day is None:
                return f"line {line} {text!r} can only be {'month' if is_day_first else 'day'} first"
            days.append((day, line, text))
    begin, end = min(days, default=(0, 0, "")), max(days, default=(0, 0, ""))
    is_before, is_after = min(read.values()) < begin[0], max(read.values()) >= end[0] + DAY_MS
    # A single day, such as that of the print, is no period.
    if begin[0] == end[0] or not (is_before or is_after):
        return ""
    _, line, text = begin if is_before else end
    return f"only so the rows are in the period of line {line}, {text!r}"


def _out_of_order(texts: Mapping[int, str], _: str, read: Mapping[int, int], *, newest_first: bool | None) -> str:
    """The proof, in words, that a format is wrong: it puts a row out of order.

    Empty if the rows are in order, or too few to tell. `texts` is line → text, `read` line → milliseconds as the format
    reads the text; `newest_first` is the order of the rows, None if it is unknown.
    """
    moments = [*read.values()]
    if in_order(moments, newest_first=newest_first) or (newest_first is None and len({*moments}) < _LEAST_DAYS):
        return ""
    step = -1 if newest_first or (newest_first is None and moments[-1] < moments[0]) else 1
    line = next(line for (_, a), (line, b) in pairwise(read.items()) if step * (b - a) < 0)
    return f"only so the rows are in order, line {line} {texts[line]!r} too"


def _amounts(draft: Draft) -> None:
    """Declares in `draft` the separators that read most amounts, and the style of debits."""
    texts = [pair for name in AMOUNTS for pair in draft.texts(name).items()]
    unread = {
        marks: [f"line {line} {text!r}" for line, text in texts if isinstance(read(text), Wrong)]
        for marks in SEPARATORS for read in [draft.file.amounts(*marks).read]
    }  # fmt: skip
    chosen, usual = min(unread, key=lambda marks: len(unread[marks])), SEPARATORS[0]
    for name, mark, other in zip(("decimal", "thousands"), chosen, usual, strict=True):
        if mark != other:
            draft.prove(name, mark, next((proof for proof in unread[usual] if mark in proof), ""))
    if examples := unread[chosen]:
        draft.doubt("decimal", f"{len(examples)} of {len(texts)} amounts are not read, such as {examples[0]}")
    styles = {
        name: MoneyColumn.from_cells(draft.cells(name).values(), draft.amounts).styles
        for name in ("debit", "fee", "amount")
    }
    counts = styles["debit" if draft.texts("debit") else "fee"]
    # Of styles that are equally common the plain one is taken.
    usual_style = max(counts, key=lambda style: (counts[style], style == DEBITS[0]), default=DEBITS[0])
    if usual_style in DEBITS[1:]:
        proof = f"{counts[usual_style]} of {counts.total()}; another is a reversal"
        draft.prove("debits", usual_style, proof)
    if {*styles["amount"]} == {"plain"} and draft.columns.keys().isdisjoint(("debit", "direction", "from")):
        draft.doubt("columns.amount", "no row has a sign, and nothing else tells a direction: all is coming in")


def _parties(draft: Draft) -> None:
    """Declares in `draft` the account's own party, and the pattern by which customers' numbers stand in their cells."""
    sides = [[text_of(cell).strip() for cell in draft.cells(name).values()] for name in ("from", "to")]
    pairs = [*zip(*sides, strict=True)]
    customers = [text for name in ("from", "to", "phone") for text in draft.texts(name).values()]
    if "from" in draft.columns and draft.columns.keys().isdisjoint(("debit", "direction")):
        likely = Counter(name for pair in pairs for name in pair if name).most_common(_LIKELY_OWN)
        clear = {
            own: sum(_is_like(own, sender) != _is_like(own, taker) for sender, taker in pairs)
            for own in (_OWN.sub("*", party) for party, _ in likely)
        }
        fits = [own for own, rows in clear.items() if rows >= NEARLY_ALL * len(pairs)]
        own, *others = sorted(fits, key=lambda own: "*" not in own) or [""]
        if own:
            draft.prove("own", own, f"on one side alone in {clear[own]} of {len(pairs)} rows")
            customers = [party for party in customers if not _is_like(own, party)]
        else:
            draft.doubt("own", 'own = ""  # how the own party is written; with from and to below, it tells directions')
            for name in ("from", "to"):
                draft.doubt("columns", f"{name} = {toml_value(draft.columns[name])}  # needs own")
                del draft.declared["columns"][name]
        for other in others if "*" not in own else ():
            draft.doubt("own", f"{toml_value(other)} could be it as well: which party is the account's?")
    around = [_NUMBER.split(party, maxsplit=1) for party in customers if _NUMBER.search(party)]
    before, after = (_alike([texts[side] for texts in around], from_end=not side) for side in (0, 1))
    draft.prove("party", f"{before}{{phone}}{after}" if before + after else None)


def _is_like(own: str, party: str) -> bool:
    return fnmatchcase(party, own.replace("[", "[[]"))


def _alike(texts: Sequence[str], *, from_end: bool) -> str:
    """The text that all `texts` share next to a number: at their end if `from_end`, else at their beginning.

    `*` stands for a part that differs, or is a customer's name.
    """
    step = -1 if from_end else 1
    characters = zip(*(text[::step] for text in texts), strict=False)
    common = "".join(first for first, *_ in takewhile(lambda column: len({*column}) == 1, characters))
    if parted := _BEFORE_A_NAME.match(common):
        common = parted[0]
    return f"{common}{'*' * any(len(text) > len(common) for text in texts)}"[::step]


_SIDES: Final = {"cr", "credit", "c", "dr", "debit", "d"}
_MEANINGS: Final[dict[str, tuple[str, Sequence[str], Callable[[str], str | None]]]] = {
    "account": ("accounts", ("the name of the account in reconcile, such as operator:mtn:float",), lambda _: None),
    "direction": ("directions", DIRECTIONS, lambda word: DIRECTION_WORDS.get(heading_key(word))),
    "status": ("statuses", STATUSES, lambda word: STATUS_WORDS.get(heading_key(word))),
    "type": (
        "types",
        TYPES,
        lambda word: next((kind for kind, part in TYPE_PARTS if re.search(part, plain(word))), None),
    ),
}
"""Field → its table of words, the possible meanings, and the likely meaning of a word."""


def _words(draft: Draft, directions: Mapping[str, str]) -> None:
    """Declares in `draft` what the words mean in the columns of accounts, directions, statuses and types.

    The comment behind a word has its number of rows. A word without a known meaning is left for the user to fill in.
    `directions` is word → the direction that the balance proves.
    """
    for name, (table, known, meaning) in _MEANINGS.items():
        words = (" ".join(text.split()) for text in draft.texts(name).values())
        counts = Counter(word for word in words if masked(word) == word or not any(map(str.isdigit, word)))
        if len(counts) > _MOST_WORDS:
            draft.doubt(f"columns.{name}", f"it has {len(counts)} different words, too many for a {name}")
            continue
        meanings = {}
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            by_balance = directions.get(heading_key(word)) if name == "direction" else None
            meant = meaning(word)
            if draft.file.is_ledger and heading_key(word) in _SIDES:
                meant = "in" if meant == "out" else "out"
            meanings[word] = by_balance or meant or ""
            how = " by the balance" * bool(by_balance and by_balance != meant)
            proof = f"{_rows(count)}{how}"
            draft.proofs[f"{table}.{word}"] = proof if meanings[word] else f"{proof}: {', '.join(known)}"
        draft.prove(table, meanings or None)
        if name == "direction" and name in draft.columns and not any(meanings.values()):
            heading = draft.declared["columns"].pop(name)
            draft.doubt("columns", f"{name} = {toml_value(heading)}  # none of its words is known")


def _movements(draft: Draft, dated: set[int]) -> set[int]:
    """The lines of the rows that move money; `dated` are the lines of the rows that have a day.

    Declares in `draft` how totals below the rows begin, and how rows that only state a balance begin.
    """
    moments, rows = _moments(draft), draft.file.rows
    # A row with an impossible date is no total, and a narrative that continues the row above neither.
    end = max(dated, default=rows[-1][0] if rows else 0)
    place = draft.file.headings.index(draft.columns["description"]) if "description" in draft.columns else None
    begins: dict[str, None] = {}
    for line, cells in rows:
        filled = [(at, text_of(cell)) for at, cell in enumerate(cells) if cell != ""]
        is_day = _LIKE_A_DAY.match(text_of(moments.get(line, "")).strip())
        if line > end and not is_day and (len(filled) > 1 or filled[0][0] != place or TOTAL.match(filled[0][1])):
            begins[_beginning(filled[0][1])] = None
    draft.prove("footers", None if "sections" in draft.declared else [*filter(None, begins)] or None)
    money = [draft.cells(name) for name in ("amount", "debit", "credit") if name in draft.columns]
    balances, read = draft.cells("balance"), draft.amounts.read
    ends = {min(dated), max(dated)} if len(dated) > 1 else set()
    openings: dict[str, str] = {}
    stated: set[int] = set()
    for line, cell in draft.cells("description").items() if money and place is not None else ():
        text, balance = text_of(cell).strip(), read(balances.get(line, ""))
        known = OPENING.match(text)
        moved = {read(column[line]) for column in money} - {None, 0}
        # The amount of an opening row may be its balance.
        as_balance = {balance, -balance} if isinstance(balance, int) else set()
        is_stated = "balance" not in draft.columns or moved <= as_balance
        if (known and is_stated) or (line in ends and balance is not None and not moved):
            stated.add(line)
            proof = f"line {line}" if known else f"line {line} has a balance and no amount"
            openings.setdefault((known[0] if known else _beginning(text)).strip(), proof)
    for line, cells in rows if "sections" in draft.declared else ():
        if known := OPENING.match(text_of(cells[0]).strip()):
            openings.setdefault(known[0], f"line {line}")
    openings.pop("", None)
    draft.prove("openings", [*openings] or None, ", ".join(openings.values()))
    moving = (dated if "moment" in draft.columns else {line for line, _ in rows}) - stated
    last = max(moving, default=0)
    if any(TOTAL.match(text_of(cell)) for line, cells in rows if line == last for cell in cells):
        draft.doubt("footers", f"line {last} begins as a total does and has a day: it is read as a row")
    return moving


def _beginning(text: str) -> str:
    """The words with which a total or a stated balance begins, up to a colon or a number."""
    return re.split("[:0-9]", text)[0].strip()


def _preamble(draft: Draft) -> None:
    """Declares in `draft` the labels above the header that are known and can be read, and the currency.

    Adds doubts about the other labels.
    """
    labels: dict[str, str] = {}
    days: list[str] = []
    number = ""
    for line, label, meaning, value in draft.file.labelled():
        text = text_of(value).strip()
        name = "account" if _ACCOUNT.fullmatch(text) else meaning
        is_balance = name in ("opening", "closing")
        if not name or not text or name in labels:
            continue
        if name == "number":
            number = number or f"; the file calls it {text} (line {line}, {label!r})"
        elif isinstance(draft.amounts.read(value), Wrong) if is_balance else name == "currency" and not code_in(value):
            draft.doubt("preamble", f"{text!r} in line {line}, after {label!r}, is not read as the {name}")
        else:
            days += [text] if name in ("first", "last", "period") and not isinstance(value, datetime) else []
            labels |= dict.fromkeys(("first", "last") if name == "period" else (name,), label)
    count = 2 if labels.get("first") == labels.get("last") else 1
    # The format of the rows goes before others that read the same.
    likely = sorted(DAYS, key=lambda day: not any(by.startswith(day) for by in draft.declared["dates"]))
    formats = [*map(DateFormat, likely)]
    read = [[by.pattern for by in formats if len(at := by.all_in(text)) == count and None not in at] for text in days]
    if not all(read):
        draft.doubt("preamble", f"no known format reads the days in {' and '.join(map(repr, days))}")
        labels = {name: label for name, label in labels.items() if name not in ("first", "last")}
    elif days:
        common = [pattern for pattern in likely if all(pattern in patterns for patterns in read)]
        chosen = common[:1] or [*dict.fromkeys(patterns[0] for patterns in read)]
        draft.prove("preamble_date", chosen if chosen[1:] else chosen[0])
    draft.prove("preamble", labels or None)
    if "account" not in {*labels, *draft.columns} and "sections" not in draft.declared:
        meaning = f"or another: the account of the ledger that it shows{number}"
        draft.doubt("account", f'account = "bank:settlement"  # {meaning}')
    is_open = "currency" not in {*labels, *draft.columns}
    if is_open and draft.file.currency:
        draft.prove("currency", *draft.file.currency)
    elif is_open:
        draft.doubt("currency", f'currency = "{ZMW.code}"  # or another: nothing here tells it')


def _result(draft: Draft) -> tuple[list[str], set[int]]:
    """Sentences on how the draft reads the file, or why it cannot; and on a shipped layout with the file's headings.

    The second value has the lines that repeat the row above, with its balance, and so count as no rows of their own.
    """
    file, repeated = draft.file, set[int]()
    try:
        if len(file.rows) == MOST_ROWS:
            sentences = [f"? Its first and last {MOST_ROWS // 2:,} rows were looked at; --check reads them all."]
        elif file.is_ledger:
            ledger = draft.ledger()
            days, accounts = ledger.rows["business_date"], " and ".join(ledger.accounts)
            sentences = [f"{_rows(len(days))}, {days.min()} to {days.max()}, of {accounts}."]
        else:
            statement = draft.statement()
            sentences, repeated = summary(statement), {*statement.repeated}
    except StatementRefused as wrong:
        hint = "Keep the right format in dates." if "formats" in wrong.facts else wrong.hint
        sentences = [f"? It cannot be read so: {wrong.message} {hint}".strip()]
    with suppress(StatementRefused):
        if not file.is_ledger:
            name = recognised(file.path, LAYOUTS.values(), named=False).layout.name
            why = f"The shipped layout {name} has its headings, so you may need none of your own: see --check."
            sentences.append(why)
    return sentences, repeated
