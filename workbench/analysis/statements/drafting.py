"""Drafts a layout from a file: what its rows prove is declared, and what they leave open becomes a doubt."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Final, Unpack

from workbench.analysis.shapes import DIRECTIONS, STATUSES
from workbench.analysis.statements.cells import Amount, Amounts, Cell, Wrong, currencies_named, refused, text_of
from workbench.analysis.statements.columns import (
    DAYS,
    NEARLY_ALL,
    SEPARATORS,
    assigned,
    in_order,
    is_date,
    put_columns,
    readings_of,
    time_of,
)
from workbench.analysis.statements.csv_files import cell_rows_of, digest_of
from workbench.analysis.statements.dates import DateFormat
from workbench.analysis.statements.draft import (
    MOST_ROWS,
    Check,
    Cut,
    Draft,
    masked,
    named_currency,
    read_as,
    summary,
    toml_value,
)
from workbench.analysis.statements.layouts import (
    AMOUNTS,
    DEBITS,
    DIRECTION_WORDS,
    HEADINGS,
    LAYOUTS,
    LEDGER_HEADINGS,
    OPENING,
    STATUS_WORDS,
    TOTAL,
    TYPE_PARTS,
    TYPES,
    Layout,
    heading_key,
    plain,
    tried_layouts,
)  # fmt: skip
from workbench.analysis.statements.preamble import code_in
from workbench.analysis.statements.recognising import HEADER_WITHIN, head_of, headings_of, recognised
from workbench.analysis.statements.statement import Reading
from workbench.domain.moments import DAY_MS, moment
from workbench.domain.money import ZMW
from workbench.errors import StatementRefused

_MOST_WORDS: Final = 30
_LEAST_FIELDS: Final = 3

_LIKE_A_DAY: Final = re.compile(r"\W*[0-9]|[A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4}")
_NAME: Final = re.compile(r"[^\W\d_]{3}")
_ACCOUNT: Final = re.compile(r"[a-z_]+(?::[a-z0-9_]+)+")
_REFERENCE: Final = re.compile(r"(?<![A-Z0-9])([A-Z]{2,4})([0-9][A-Z0-9.]{5,})(?![A-Z0-9])")
"""A reference in a narrative, such as `SW2610130001`: letters that say whose it is, and the rest."""
_NUMBER: Final = re.compile(r"\+?[0-9][0-9*•]{7,13}[0-9]")
_BEFORE_A_NAME: Final = re.compile(r"\W*\s\W*(?=\w)")
_PHONE: Final = re.compile(r"\b(?:260|0)[579][0-9]{8}\b")
_OWN: Final = re.compile("(?<=:)[^/]+(?=/USER)")
_LIKELY_OWN: Final = 5
_LEAST_DAYS: Final = 3


def cut(path: Path, *, ledger: bool = False) -> Cut:
    """Cut a file into cells by the delimiter that gives the likeliest header.

    Raises StatementRefused: the file cannot be read, or has no line like a header.
    """
    digest_of(path)
    heads = [*map(head_of, cell_rows_of(path, [("cp1252", mark) for mark in ",;\t|"]))]
    likest, cut_by = (0, 0), None
    for head in heads:
        for place, (_, cells) in enumerate(head.lines):
            known = len(assigned(headings_of(cells), known=LEDGER_HEADINGS if ledger else HEADINGS))
            # Unknown headings count by the rows below them; a line above them may have a day, too.
            below = [cells for _, cells in head.lines[place + 1 : place + 1 + _LEAST_FIELDS]]
            count = 0 if _is_row(cells) else sum(1 for _ in takewhile(_is_row, below))
            found = known if known >= _LEAST_FIELDS else min(count, _LEAST_FIELDS - 1), len(headings_of(cells))
            if found[0] and found > likest:
                likest, cut_by = found, (head, place)
    if cut_by is None:
        hint = "Put a line of headings above the rows: A,B,C… will do, since the cells tell what stands below."
        why = f"none of its first {HEADER_WITHIN} lines has headings that are known, or a row with a date below it"
        unread = all(head.failure for head in heads) and heads[0].failure
        raise unread or refused(path.name, f"has no header: {why}.", hint=hint)
    (way, lines, _), place = cut_by
    line, cells = lines[place]
    rows = tuple(islice((row for row in way.lines() if row[0] > line), MOST_ROWS))
    made = Cut(path, way, headings_of(cells), line, tuple(lines[:place]), rows, is_ledger=ledger)
    return made._replace(currency=named_currency(made))


def _is_row(cells: Sequence[Cell]) -> bool:
    """True for a line with a day and an amount."""
    day = next((place for place, cell in enumerate(cells) if is_date(cell)), None)
    others = [cell for place, cell in enumerate(cells) if place != day]
    amounts = (Amounts(*marks).styled(cell) for marks in SEPARATORS for cell in others)
    return day is not None and any(isinstance(amount, Amount) for amount in amounts)


def _columns(draft: Draft) -> None:
    """Declares the column of each field, by headings, cells and the balance.

    Doubts columns without a heading, a missing moment or amount, and a statement of several accounts.
    """
    put_columns(draft)
    if draft.file.is_ledger and not draft.file.headings[0]:
        _sections(draft)
    account = assigned(draft.file.headings, known={"account": LEDGER_HEADINGS["account"]}).get("account", "")
    if not draft.file.is_ledger and len({text for _, text in draft.file.texts(account)}) > 1:
        said = f"{account!r} names several accounts, as your own ledger does: draft it with --ledger (ledger=True)"
        draft.doubt("columns", said)
    if "moment" not in draft.columns:
        draft.doubt("columns", 'moment = ""  # no heading is known for it')
    if draft.columns.keys().isdisjoint(("amount", "debit")):
        draft.doubt("columns", 'amount = ""  # no heading is known for it, and no cells prove it')
    for place, heading in enumerate(draft.file.headings):
        is_section = not place and "sections" in draft.declared
        filled = (cells[place] for _, cells in draft.file.rows if len(cells) > place and cells[place] != "")
        if not (heading or is_section) and any(True for _ in filled):
            draft.doubt("columns", f"column {place + 1} has no heading, so that it cannot be read: give it one")


def _sections(draft: Draft) -> None:
    """Declares the accounts that stand in lines of their own above their rows."""
    titles = [(line, text_of(cells[0]).strip()) for line, cells in draft.file.rows]
    named = {text: line for line, text in reversed(titles) if text and not TOTAL.match(text)}
    if named and "account" not in draft.columns:
        accounts = [*named][::-1]
        draft.found("sections", value=True, proof=", ".join(f"line {named[text]} {text!r}" for text in accounts[:2]))
        draft.found("accounts", dict.fromkeys(accounts, ""))
        draft.proofs |= {f"accounts.{text}": _MEANINGS["account"][1][0] for text in named}


def _dates(draft: Draft) -> None:
    """Declares the formats that read most rows; the proof is a row that another format cannot read."""
    moments = [cell for _, cell in draft.moments() if isinstance(cell, datetime)]
    texts = [(line, cell) for line, cell in draft.moments() if isinstance(cell, str) and cell]
    read = draft.readings = readings_of(texts)
    most = max(map(len, read.values()), default=0)
    if moments and not most:
        has_time = any((at.hour, at.minute, at.second) != (0, 0, 0) for at in moments)
        times = [f" {time_of(text)}" for _, text in draft.texts("time")[:1]]
        draft.found("dates", ["%Y-%m-%d" + "".join(times or [" %H:%M:%S"] * has_time)], "the sheet's own moments")
        return
    if not most:
        draft.found("dates", ["%Y-%m-%d"])
        text = f"no known format reads {_in_english(texts[0][1])}" if texts else "no row tells how days are written"
        draft.doubt("dates", text)
        return
    # Of formats that read the same the first is kept.
    first = {tuple(at.values()): by for by, at in reversed(read.items()) if len(at) == most}
    readings = {by: at for by, at in read.items() if by in first.values()}
    chosen = next(iter(readings))
    swapped = chosen.pattern.translate(str.maketrans("dm", "md"))
    others = [by for by, fewer in read.items() if len(fewer) < most and (fewer or by.pattern == swapped)]
    decide = ((by, line) for by in others for line, _ in texts if line in read[chosen] and line not in read[by])
    proof = ""
    for other, line in islice(decide, 1):
        is_first, is_not = (by.pattern.find("%d") < by.pattern.find("%m") for by in (chosen, other))
        why = f"can only be {'day' if is_first else 'month'} first" if is_first != is_not else "decides"
        proof = f"line {line} {dict(texts)[line]!r} {why}"
    draft.found("dates", [by.pattern for by in readings], proof)
    unread = [(line, text) for line, text in texts if _LIKE_A_DAY.match(text) and line not in read[chosen]]
    for line, text in unread[:1]:
        said = f"{len(unread)} of {len(texts)} days are not read, such as line {line} {_in_english(text)}"
        draft.doubt("dates", said)
    if moments:
        text = f"{len(moments)} days are the sheet's own and {len(texts)} are text: a spreadsheet may have turned the"
        draft.doubt("dates", f"{text} day and the month of its own round")
    if len(readings) == 1:
        return
    for fits in (_in_period, _in_sequence):
        out = {by: why for by, at in readings.items() if (why := fits(draft, by, at, dict(texts)))}
        left = [by.pattern for by in readings if by not in out]
        if len(left) == 1:
            draft.found("dates", left, next(iter(out.values())))
            return
    draft.proofs.pop("dates", None)
    draft.doubt("dates", "no row decides: choose one of these, or let another file decide")
    for by, moments_read in readings.items():
        days = " to ".join(f"{moment(end(moments_read.values())).date()}" for end in (min, max))
        said = ": choose this, day first is usual here" if by is chosen else ""
        draft.doubt("dates", f"dates = [{toml_value(by.pattern)}]  # reads {days}{said}")


def _in_english(text: str) -> str:
    """The text of a day that no format reads, in quotes; if it names a month, with a hint that months are English."""
    return f"{text!r}{': a month has its English name, or a number' * bool(_NAME.search(text))}"


def _is_day_first(pattern: str) -> bool | None:
    """True if a format writes the day before the month; None if its month is a name or follows the year."""
    return None if "%b" in pattern or pattern.startswith("%Y") else pattern.find("%d") < pattern.find("%m")


_IN_A_TEXT: Final = [pattern for pattern in DAYS if pattern != "%Y%m%d"]
"""Formats of a day within a text, without eight digits, which are more likely an account's number."""


def _in_period(draft: Draft, by: DateFormat, read: Mapping[int, int], _: object) -> str:
    """Words that prove the other format right: by this one, rows contradict a day or period above the header.

    `read` is line → milliseconds by this format. Empty if nothing contradicts it.
    """
    is_day_first = _is_day_first(by.pattern)
    ends: dict[str, tuple[int, str, int]] = {}
    formats = [DateFormat(pattern) for pattern in _IN_A_TEXT if _is_day_first(pattern) in (None, is_day_first)]
    values = [(line, "", cell) for line, cells in draft.file.above for cell in cells]
    values += [(line, meaning, cell) for line, _, meaning, cell in draft.file.labelled()]
    for line, label, cell in values:
        text = text_of(cell).strip()
        found = next(filter(None, (format_.all_in(text) for format_ in formats)), [])
        if None in found:
            return f"line {line} {text!r} can only be {'month' if is_day_first else 'day'} first"
        days = [day for day in found if day is not None]
        if len(days) > 1:
            ends |= {"first": (line, text, days[0]), "last": (line, text, days[-1])}
        elif label in ("first", "last") and days:
            ends[label] = line, text, days[0]
    for name, (line, text, day) in ends.items():
        if min(read.values()) < day if name == "first" else max(read.values()) >= day + DAY_MS:
            return f"only so the rows are in the period of line {line}, {text!r}"
    return ""


def _in_sequence(draft: Draft, _: object, read: Mapping[int, int], texts: Mapping[int, str]) -> str:
    """Words that prove the other format right: this one puts a row out of order.

    `read` is line → milliseconds by this format, `texts` line → text. Empty if rows are in order, or too few to tell.
    """
    moments, way = [*read.values()], draft.newest_first
    if in_order(moments, newest_first=way) or (way is None and len({*moments}) < _LEAST_DAYS):
        return ""
    step = -1 if way or (way is None and moments[-1] < moments[0]) else 1
    line = next(line for (_, a), (line, b) in pairwise(read.items()) if step * (b - a) < 0)
    return f"only so the rows are in order, line {line} {texts[line]!r} too"


def _amounts(draft: Draft) -> None:
    """Declares the separators that read most amounts, the currency, and the style of debits."""
    texts = [pair for name in AMOUNTS for pair in draft.texts(name)]

    def unread(pair: tuple[str, str]) -> list[str]:
        read = draft.file.amounts(*pair).read
        return [f"line {line} {text!r}" for line, text in texts if isinstance(read(text), Wrong)]

    chosen = min(SEPARATORS, key=lambda pair: len(unread(pair)))
    proofs = unread(SEPARATORS[0])
    for name, mark, usual in zip(("decimal", "thousands"), chosen, SEPARATORS[0], strict=True):
        if mark != usual:
            draft.found(name, mark, next((proof for proof in proofs if mark in proof), ""))
    if left := unread(chosen):
        draft.doubt("decimal", f"{len(left)} of {len(texts)} amounts are not read, such as {left[0]}")
    named = [(codes, line, text) for line, text in texts if (codes := currencies_named(text))]
    if len({codes for codes, *_ in named}) == len(named[:1] and named[0][0]) == 1:
        (code,), line, text = named[0]
        draft.found("currency", code, f"line {line} {text!r}")
    elif draft.file.currency and draft.file.currency[1].startswith("heading"):
        draft.found("currency", *draft.file.currency)
    amounts = draft.file.amounts(*chosen)
    ways = _styles(amounts, draft.texts("debit") or draft.texts("fee"))
    # Of ways that are equally common the plain one is taken.
    way = max(ways, key=lambda style: (ways[style], style == DEBITS[0]), default=DEBITS[0])
    if way in DEBITS[1:]:
        draft.found("debits", way, f"{ways[way]} of {ways.total()}; another is a reversal")
    is_bare = {*_styles(amounts, draft.texts("amount"))} == {"plain"}
    if is_bare and draft.columns.keys().isdisjoint(("debit", "direction", "from")):
        draft.doubt("columns.amount", "no row has a sign, and nothing else tells a direction: all is coming in")


def _styles(amounts: Amounts, texts: Sequence[tuple[int, str]]) -> Counter[str]:
    """The number of amounts in each style; zeros are not counted."""
    read = (amounts.styled(text) for _, text in texts)
    return Counter(amount.style for amount in read if isinstance(amount, Amount) and amount.minor)


def _parties(draft: Draft) -> None:
    """Declares the account's own party, on one side of each row, and how the other parties write a number."""
    sides = [[text_of(cell).strip() for _, cell in draft.cells(name)] for name in ("from", "to")]
    pairs = list(zip(*sides, strict=True))
    parties = [name for name, _ in Counter(name for pair in pairs for name in pair if name).most_common(_LIKELY_OWN)]
    customers = [text for name in ("from", "to", "phone") for _, text in draft.texts(name)]
    if "from" in draft.columns and draft.columns.keys().isdisjoint(("debit", "direction")):
        clear = {
            own: sum(_is_like(own, sender) != _is_like(own, taker) for sender, taker in pairs)
            for own in dict.fromkeys(_OWN.sub("*", party) for party in parties)
        }
        fits = [own for own, rows in clear.items() if rows >= NEARLY_ALL * len(pairs)]
        fits.sort(key=lambda own: "*" not in own)
        for own in fits[:1]:
            draft.found("own", own, f"on one side alone in {clear[own]} of {len(pairs)} rows")
            customers = [party for party in customers if not _is_like(own, party)]
        for own in fits[1:] if fits and "*" not in fits[0] else ():
            draft.doubt("own", f"own = {toml_value(own)}  # it could be this party as well: which is the account's?")
        if not fits:
            draft.doubt("own", 'own = ""  # how the own party is written: without it, parties tell no direction')
            draft.put({name: heading for name, heading in draft.columns.items() if name not in ("from", "to")})
    around = [_NUMBER.split(party, maxsplit=1) for party in customers if _NUMBER.search(party)]
    before, after = (_alike([texts[side] for texts in around], from_end=not side) for side in (0, 1))
    draft.found("party", f"{before}{{phone}}{after}" if before + after else None)


def _is_like(own: str, party: str) -> bool:
    return fnmatchcase(party, own.replace("[", "[[]"))


def _alike(texts: Sequence[str], *, from_end: bool) -> str:
    """The text that all `texts` share next to a number, at their end or their beginning.

    `*` stands for a part that differs, or is a customer's name.
    """
    step = -1 if from_end else 1
    characters = zip(*(text[::step] for text in texts), strict=False)
    common = "".join(first for first, *_ in takewhile(lambda column: len({*column}) == 1, characters))
    if parted := _BEFORE_A_NAME.match(common):
        common = parted[0]
    return f"{common}{'*' * any(len(text) > len(common) for text in texts)}"[::step]


def _words(draft: Draft) -> None:
    """Declares the meanings of columns' words, with the number of rows; unknown words are left to be filled in."""
    for name, (table, known, meaning) in _MEANINGS.items():
        heading = draft.columns.get(name)
        if heading is None:
            continue
        words = (" ".join(text.split()) for _, text in draft.texts(name))
        counts = Counter(word for word in words if masked(word) == word or not any(map(str.isdigit, word)))
        if len(counts) > _MOST_WORDS:
            draft.doubt(f"columns.{name}", f"it has {len(counts)} different words, too many for a {name}")
            continue
        found = {}
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            by_balance = draft.directions.get(heading_key(word)) if name == "direction" else None
            meant = meaning(word)
            if draft.file.is_ledger and heading_key(word) in _SIDES:
                meant = "in" if meant == "out" else "out"
            found[word] = by_balance or meant or ""
            told = " by the balance" * bool(by_balance and by_balance != meant)
            draft.proofs[f"{table}.{word}"] = f"{count:,} row{'s' * (count > 1)}{told}"
            if not found[word]:
                draft.proofs[f"{table}.{word}"] += f": {', '.join(known)}"
        draft.found(table, found or None)
        if name == "direction" and not any(found.values()):
            draft.put({field: heading for field, heading in draft.columns.items() if field != name})
            draft.doubt("columns", f"{name} = {toml_value(heading)}  # none of its words is known")


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


def _lines(draft: Draft) -> None:
    """Declares how totals below the rows begin, and how rows that only state a balance begin; sets `draft.moving`."""
    moments: list[tuple[int, Cell]] = draft.moments() or [(line, "") for line, _ in draft.file.rows]
    read = {line for by, at in draft.readings.items() if by.pattern in draft.declared["dates"] for line in at}
    dated = [place for place, (line, cell) in enumerate(moments) if isinstance(cell, datetime) or line in read]
    # A row with an impossible date is no total.
    end = dated[-1] + 1 if dated else len(moments)
    after = zip(draft.file.rows[end:], moments[end:], strict=True)
    below = [row for row, (_, cell) in after if not _LIKE_A_DAY.match(text_of(cell).strip())]
    # A narrative that continues the row above is no total.
    place = draft.file.headings.index(draft.columns["description"]) if "description" in draft.columns else None
    told = [[(at, text_of(cell)) for at, cell in enumerate(cells) if cell != ""] for _, cells in below]
    totals = (row[0][1] for row in told if len(row) > 1 or row[0][0] != place or TOTAL.match(row[0][1]))
    begins = dict.fromkeys(filter(None, (re.split("[:0-9]", text)[0].strip() for text in totals)))
    draft.found("footers", None if "sections" in draft.declared else [*begins] or None)
    openings: dict[str, str] = {}
    draft.moving = {draft.file.rows[place][0] for place in dated}
    amounts = [cells for name in ("amount", "debit", "credit") if (cells := draft.cells(name))]
    balances, ends = draft.cells("balance"), {dated[0], dated[-1]} if len(dated) > 1 else set()
    for place, (line, cell) in enumerate(draft.cells("description") if amounts else ()):
        text = text_of(cell).strip()
        known = OPENING.match(text)
        is_told = place in ends and balances and text_of(balances[place][1]).strip()
        has_amount = any(re.search("[1-9]", text_of(column[place][1])) for column in amounts)
        if has_amount or not (known or is_told):
            continue
        draft.moving.discard(line)
        begins_so = (known[0] if known else re.split("[:0-9]", text)[0]).strip()
        if begins_so:
            openings.setdefault(begins_so, f"line {line}" if known else f"line {line} has a balance and no amount")
    draft.found("openings", [*openings] or None, ", ".join(openings.values()))
    last = max(draft.moving, default=0)
    if any(TOTAL.match(text_of(cell)) for line, cells in draft.file.rows if line == last for cell in cells):
        draft.doubt("footers", f"line {last} begins as a total does and has a day: it is read as a row")


def _keys(draft: Draft) -> None:
    """Adds a doubt if rows share a key, and declares `makes_keys` if rows lack one.

    Suggests, as doubts, each `key_pattern` that would find keys or customers' numbers in the narratives.
    """
    keys = [text for line, text in draft.texts("key") if line in draft.moving]
    of_rows, lacking = f"of {len(draft.moving)} rows", len(draft.moving) - len(keys)
    if repeated := len(keys) - len(set(keys)):
        draft.doubt("columns.key", f"{repeated} {of_rows} have the key of another: told twice, or parts of one payment")
    if lacking:
        draft.found("makes_keys", value=True, proof=f"{lacking} {of_rows} have no key: it is made of what they say")
    said = [(line, text) for line, text in draft.texts("description") if line in draft.moving]
    found = [(line, match) for line, text in said for match in _REFERENCE.finditer(text)]
    heads = Counter(head for _, head in dict.fromkeys((line, match[1]) for line, match in found))
    for head, count in heads.most_common(1) if lacking or repeated else ():
        (line, first), *_ = alike = [(line, match) for line, match in found if match[1] == head]
        lengths = sorted({len(match[2]) for _, match in alike})
        kind = "[0-9]" if all(match[2].isdigit() for _, match in alike) else "[0-9A-Z.]"
        pattern = f"(?P<key>{head}{kind}{{{','.join(map(str, dict.fromkeys((lengths[0], lengths[-1]))))}}})"
        would = f"would find {first[0]!r} in line {line}, and one in {count} {of_rows}"
        draft.doubt("key_pattern", f"key_pattern = {toml_value(pattern)}  # {would}")
    phones = [line for line, text in said if _PHONE.search(text)]
    if phones and draft.columns.keys().isdisjoint(("phone", "from")):
        would = f"would find a number in line {phones[0]}, and one in {len(phones)} {of_rows}"
        draft.doubt("key_pattern", f"key_pattern = {toml_value(f'(?P<phone>{_PHONE.pattern})')}  # {would}")


def _preamble(draft: Draft) -> None:
    """Declares the labels above the header that are known and whose values can be read; doubts the others."""
    labels: dict[str, str] = {}
    numbers: list[str] = []
    days: list[tuple[int, str]] = []
    amounts = draft.file.amounts(draft.declared.get("decimal", "."), draft.declared.get("thousands", ""))
    for line, label, meaning, value in draft.file.labelled():
        text = text_of(value).strip()
        name = "account" if _ACCOUNT.fullmatch(text) else meaning
        if not name or not text or name in labels:
            continue
        if name == "number":
            numbers.append(f"the file calls it {text} (line {line}, {label!r})")
            continue
        is_balance = name in ("opening", "closing")
        if (is_balance and isinstance(amounts.read(value), Wrong)) or (name == "currency" and not code_in(value)):
            draft.doubt("preamble", f"{name} = {toml_value(label)}  # {text!r} in line {line} is not read")
            continue
        is_day = name in ("first", "last", "period") and not isinstance(value, datetime)
        days += [(line, text)] if is_day else []
        labels |= dict.fromkeys(("first", "last") if name == "period" else (name,), label)
    count = 2 if labels.get("first") == labels.get("last") else 1
    read = [
        [by.pattern for by in map(DateFormat, DAYS) if len(at := by.all_in(text)) == count and None not in at]
        for _, text in days
    ]
    formats = [pattern for pattern in DAYS if all(pattern in patterns for patterns in read)]
    if days and not all(read):
        draft.doubt("preamble", f"no known format reads the days in {' and '.join(repr(text) for _, text in days)}")
        labels = {name: label for name, label in labels.items() if name not in ("first", "last")}
    like = [pattern for pattern in formats if any(date.startswith(pattern) for date in draft.declared["dates"])]
    one = (like or formats)[:1] or [*dict.fromkeys(patterns[0] for patterns in read if patterns)]
    draft.found("preamble_date", (one if one[1:] else one[0]) if days and all(read) else None)
    draft.found("preamble", labels or None)
    if "account" not in labels and not draft.names_accounts:
        said = "".join(f"; {number}" for number in numbers[:1])
        text = f'account = "bank:settlement"  # or another: the account of the ledger that it shows{said}'
        draft.doubt("account", text)
    if "currency" not in {*labels, *draft.columns, *draft.declared}:
        draft.doubt("currency", f'currency = "{ZMW.code}"  # or another: nothing here tells it')


def _result(draft: Draft) -> None:
    """Reads the file by the draft, and adds the summary, or why there is none, to `draft.above`.

    If the balance follows only without the fees, the draft drops their column.
    """
    if len(draft.file.rows) == MOST_ROWS:
        draft.above.append(f"? Its first {MOST_ROWS:,} rows were looked at; --check reads them all.")
        return
    try:
        if draft.file.is_ledger:
            ledger = draft.ledger()
            days, accounts = ledger.rows["business_date"], " and ".join(ledger.accounts)
            draft.above.append(f"{len(days):,} rows, {days.min()} to {days.max()}, of {masked(accounts)}.")
            return
        statement = draft.statement()
        if len(statement.findings) and "fee" in draft.columns:
            columns = draft.columns
            draft.put({name: heading for name, heading in columns.items() if name != "fee"})
            without = draft.statement()
            if without.findings.empty:
                statement = without
                draft.doubt("columns", f"fee = {toml_value(columns['fee'])}  # the balance follows without it alone")
            else:
                draft.put(columns)
    except StatementRefused as wrong:
        draft.above.append(f"? It cannot be read so: {wrong}")
        return
    draft.above += summary(statement)


def _shipped(draft: Draft) -> None:
    """Notes in `draft.above` that a shipped layout with the file's headings fits the file, or why it does not."""
    if len(draft.file.rows) == MOST_ROWS or draft.file.is_ledger:
        return
    with suppress(StatementRefused):
        known = recognised(draft.file.path, LAYOUTS.values(), named=False).layout
        try:
            check = Check(read_as(draft.file.path, known))
            reasons = [] if check.is_sound else [*check.reasons(), *summary(check.statement)[1:]]
        except StatementRefused as wrong:
            reasons = [wrong.message]
        why = "; ".join(reasons)
        said = f"has its headings, and does not fit it: {why}" if why else "fits it too: you need none of your own."
        draft.above.append(f"The shipped layout {known.name} {said}")


_STEPS: Final = (_columns, _dates, _amounts, _parties, _words, _lines, _keys, _preamble, _result, _shipped)


def draft_layout(path: str | Path, *, ledger: bool = False) -> Draft:
    """Draft the layout of a statement's file or, with `ledger`, of your own books.

    In books a debit is what comes in: the layout of a ledger names its debits and credits as the file does.

    Raises StatementRefused: the file cannot be read, or has no line like a header.

    >>> draft_layout("october.csv").write("zanaco.toml")  # doctest: +SKIP
    """
    draft = Draft(cut(Path(path), ledger=ledger))
    way = draft.file.rows_of
    draft.found("encoding", way.encoding, "the file is not UTF-8")
    draft.found("delimiter", way.delimiter if way.delimiter != "," else None)
    for step in _STEPS:
        step(draft)
    return draft


_OPTIONS: Final = {"account": "account", "date_format": "dates", "currency": "currency"}
"""Option of `read_statement` → the setting that it overrides."""


def checked(
    path: str | Path,
    *,
    layout: str | Path | Layout | None = None,
    layouts: str | Path | Iterable[Layout | str | Path] | None = None,
    **options: Unpack[Reading],
) -> Check:
    """Check how the named or recognised layout reads a file; if no layout is recognised, check a draft.

    Raises StatementRefused: see `read_statement`.
    """
    source = Path(path)
    digest_of(source)
    try:
        known = recognised(source, tried_layouts(layout, layouts or ()), named=layout is not None).layout
    except StatementRefused as wrong:
        if layout is not None or "headings" not in wrong.facts:
            raise
        draft = draft_layout(source)
        drafted = draft.layout
        # The caller's options settle their doubts.
        draft.declare(**dict.fromkeys([setting for name, setting in _OPTIONS.items() if options.get(name)]))
        return Check(read_as(source, drafted, **options), draft.to_decide())
    return Check(read_as(source, known, **options))
