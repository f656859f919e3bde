"""The classification once more, in dictionaries and loops, and what the package finds held against it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import product
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.analysis.test_reconcile import KINDS
from workbench.analysis.frames import untyped
from workbench.analysis.reconcile import Reconciliation, Tolerance, reconcile
from workbench.analysis.rules import MatchRule
from workbench.analysis.shapes import LEDGER_MOVEMENT, STATEMENT_ROW
from workbench.analysis.statements import Statement

Row = dict[str, Any]
Case = tuple[list[Row], list[Row]]


class Asked(NamedTuple):
    """How far rows of one key may differ, and the rules by which others are matched.

    With rules, `rows` are the amounts of both sides, and `stay` the sums of payments and fees that stay apart.
    `closing` is the last day of each account.
    """

    amount_minor: int = 0
    fee_minor: int = 0
    days: int = 1
    match: tuple[Row, ...] = ()
    rows: frozenset[tuple] = frozenset()
    stay: frozenset[tuple] = frozenset()
    closing: dict[str, date] | None = None

    def among(self, groups: Iterable[Sequence[list[Row]]]) -> "Asked":
        """With the sums of these groups' payments and fees of which a line has a row of its own on the other side."""
        pairs = [pair for sides in groups if self.match[1:] for pair in lone_fees(*sides, self)]
        return self._replace(stay=frozenset(moved_by(pair) for pair in pairs if self.has_row(pair)))

    def is_later(self, row: Row) -> bool:
        """Whether the ledger has the row after the closing date."""
        return "type" not in row and self.closing is not None and row["business_date"] > self.closing[row["account"]]

    def has_row(self, pair: Sequence[Row]) -> bool:
        return any(moved_by([row], other=True) in self.rows for row in pair)

    def are_one(self, pairs: list[tuple[Row, Row]]) -> bool:
        return not self.match[1:] or not any(self.has_row(pair) or moved_by(pair) in self.stay for pair in pairs)


def moved_by(rows: Sequence[Row], *, other: bool = False) -> tuple:
    """Account, currency, net amount, and the side that has the rows, or the other one."""
    return rows[0]["account"], rows[0]["currency"], sum(map(signed, rows)), ("type" in rows[0]) is not other


EPOCH = date(1970, 1, 1)


def signed(row: Row) -> int:
    if row["status"] != "completed" or row["direction"] not in {"in", "out"} or row["amount_minor"] is None:
        return 0
    return (row["amount_minor"] if row["direction"] == "in" else -row["amount_minor"]) - (row["fee_minor"] or 0)


def invalid(row: Row) -> bool:
    if any(row[name] is None for name in ("key", "amount_minor", "fee_minor", "currency", "business_date")):
        return True
    if row.get("problem") is not None or row["amount_minor"] < 0 or row["fee_minor"] < 0:
        return True
    return row["direction"] not in {"in", "out"} or row["status"] not in {"completed", "failed", "pending"}


def moment(row: Row) -> float:
    if row["occurred_at"] is not None:
        return row["occurred_at"].timestamp()
    return (row["business_date"] - EPOCH).days * 86_400


def place(row: Row) -> tuple:
    said = [row.get(name) or "" for name in ("kind", "type", "reverses", "related", "state")]
    says = (row["key"], row["amount_minor"], row["fee_minor"], row["direction"], row["status"], row["currency"], *said)
    stands = (row.get("statement") or "", row.get("line", row.get("number")), row.get("entry") or "")
    return (moment(row), row["business_date"], *says, (row["phone"] or "")[-3:], *stands)


def moves(row: Row) -> bool:
    return row["status"] == "completed"


def classify(ledger: list[Row], statement: list[Row], *, closing: dict[str, date], by: Asked) -> list[list[tuple]]:
    """The breaks and the matches, each a code or rule, the ledger's rows, the statement's rows, and the variance."""
    breaks, matches = [], []
    groups: dict[tuple, tuple[list, list]] = defaultdict(lambda: ([], []))
    unusable, repeated = told_once(sorted(filter(invalid, statement), key=itemgetter("statement", "line")), contents)
    usable = [row for row in statement if not invalid(row)]
    for side, row in [*((0, row) for row in ledger), *((1, row) for row in [*usable, *unusable])]:
        if invalid(row):
            breaks.append(("invalid_row", *((([row], []), ([], [row]))[side]), None))
        else:
            groups[row["account"], row["batch"] or row["key"]][side].append(row)
    every = [row for sides in groups.values() for rows in sides for row in rows]
    by = by._replace(closing=closing, rows=frozenset(moved_by([row]) for row in every)).among(groups.values())
    judged = {name: one_name(*sides, by) for name, sides in groups.items()}
    spelt: dict[tuple, list] = defaultdict(list)
    for (account, name), (broken, _, waiting) in judged.items():
        sides = groups[account, name]
        if (broken or any(waiting)) and not all(sides) and not all(by.is_later(row) for rows in sides for row in rows):
            spelt[account, bare(name)].append((account, name))
    several = [names for names in spelt.values() if len(names) > 1]
    merged = [[[row for name in names for row in groups[name][side]] for side in (0, 1)] for names in several]
    for names, sides in zip(several, merged, strict=True):
        judged = {name: found for name, found in judged.items() if name not in names}
        judged[names[0]] = one_name(*sides, by.among(merged))
    alone: tuple[list, list] = ([], [])
    for broken, agreed, waiting in judged.values():
        breaks += broken
        matches += agreed
        for side in (0, 1):
            alone[side].extend(waiting[side])
    # Without a key or a balance, a line of a file is known only if the file repeats another row.
    known = [row for row in repeated if row["key"] is not None or row["balance_minor"] is not None]
    files = {
        (row["account"], row["statement"])
        for row in [*known, *(row for code, _, rows in matches if code == "told_again" for row in rows)]
    }
    for row in repeated:
        if row in known or (row["account"], row["statement"]) in files:
            matches.append(("told_again", [], [row]))
        else:
            breaks.append(("invalid_row", [], [row], None))
    one_sided(alone, ledger, breaks, matches, closing, by)
    breaks = [part for each in breaks if (part := of_period(*each, closing))]
    return [[(said, lines(ours), lines(theirs), *more) for said, ours, theirs, *more in found]
            for found in (breaks, matches)]  # fmt: skip


def of_period(code: str, ours: list[Row], theirs: list[Row], variance: None, closing: dict[str, date]) -> tuple | None:
    """The break; of rows that only the ledger has, those up to the closing date: the next period has the others."""
    if not theirs and code != "invalid_row":
        ours = [row for row in ours if row["business_date"] <= closing[row["account"]]]
    return (code, ours, theirs, variance) if ours or theirs else None


def lines(rows: list[Row]) -> list[Row]:
    """The rows, each payment with the fee that is a line of its own as these two."""
    return [line for row in rows for line in row.get("lines", [row])]


def bare(name: str) -> str:
    return name.replace(" ", "").lower().lstrip("0")


def one_name(ours: list, theirs: list, by: Asked) -> tuple[list, list, tuple]:
    breaks: list[tuple] = []
    matches: list[tuple] = []
    alone: tuple[list, list] = ([], [])
    ours = sorted(ours, key=place)
    theirs, again = told_once(sorted(theirs, key=place))
    batched = any(row["batch"] for row in ours + theirs)
    matches += [("told_again", [], [row]) for row in again]
    if batched:
        if ours or theirs:
            one_group(ours, theirs, breaks, matches, alone, by)
    else:
        one_key(ours, theirs, breaks, matches, alone, by)
    return breaks, matches, alone


def one_key(ours: list, theirs: list, breaks: list, matches: list, alone: tuple, by: Asked) -> None:
    """The same movement on both sides, then the same sum, then the nearest; then duplicates, and rows on their own."""
    if len(ours) == len(theirs) == 1 and ours[0]["key"] == theirs[0]["key"]:
        one_pair(ours, theirs, breaks, matches, alone, by)
        return
    whole = ("direction", "amount_minor", "fee_minor", "currency")
    moved, still = ([[row for row in rows if moves(row) is each] for rows in (ours, theirs)] for each in (True, False))
    pairs = [*met(moved, "key", *whole), *met(moved, *whole)]
    agreed = rows_that_agree(*moved, by)
    agree = any(agreed)
    if agree:
        matches.append((rule_of(*agreed), *agreed))
        moved, ours, theirs = without(moved, agreed), *without([ours, theirs], agreed)
    if any(moved) and (joined := with_fees(ours, theirs, by)):
        moved, still = ([[row for row in rows if moves(row) is each] for rows in joined] for each in (True, False))
        pairs = [*met(moved, "key", *whole), *met(moved, *whole)]
    rest = [moved[side] + still[side] for side in (0, 1)]
    pairs += met(rest, "direction", "amount_minor")
    moved, still = ([[row for row in rows if moves(row) is each] for rows in rest] for each in (True, False))
    pairs += [*met(moved, "amount_minor"), *met(moved, "direction")]
    stands = [[way(pair[side]) for pair in pairs if moves(pair[side])] for side in (0, 1)]
    rest = [[row for row in moved[side] if way(row) not in stands[side]] for side in (0, 1)]
    if not pairs and not agree:
        rest = [rest[side] + still[side] for side in (0, 1)]
    for key in {row["key"] for row in rest[0]} & {row["key"] for row in rest[1]}:
        pairs.append(tuple(next(row for row in rows if row["key"] == key) for rows in rest))
    paired = [row for pair in pairs for row in pair]
    moved, still = ([[r for r in rows if not any(r is p for p in paired)] for rows in s] for s in (moved, still))
    for left, right in pairs:
        one_pair([left], [right], breaks, matches, alone, by)
    for side, (rows, code) in enumerate(((moved[0], "duplicate_in_ledger"), (moved[1], "duplicate_in_statement"))):
        stands = [way(pair[side]) for pair in pairs if moves(pair[side])]
        for row in sorted(rows, key=place):
            one = ([row], []) if side == 0 else ([], [row])
            if way(row) in stands:
                breaks.append((code, *one, None))
            else:
                one_pair(*one, breaks, matches, alone, by)
            stands.append(way(row))
    matches += [("nothing_moved", [row], []) for row in still[0] + still[1]]


def without(sides: Sequence[list[Row]], others: Sequence[list[Row]]) -> list[list[Row]]:
    gone = {id(row) for rows in others for row in rows}
    return [[row for row in rows if id(row) not in gone] for rows in sides]


def rows_that_agree(ours: list[Row], theirs: list[Row], by: Asked, *, batched: bool = False) -> list[list[Row]]:
    """The rows of one sum on both sides: without the ledger's later rows, else with them if the statement has a row."""
    of_period = [row for row in ours if not by.is_later(row)]
    for mine in (of_period, ours) if theirs or len(of_period) == len(ours) else (of_period,):
        left = mine + theirs
        is_several = len(left) > 1 and [len(mine), len(theirs)] != [1, 1]
        sums = [sum(map(signed, rows)) for rows in (mine, theirs)]
        if left and (batched or is_several) and sums[0] == sums[1] and len({row["currency"] for row in left}) == 1:
            return [mine, theirs]
    return [[], []]


def with_fees(ours: list, theirs: list, by: Asked) -> list[list] | None:
    """Both sides with a payment and its fee as one row, where they are two; None if there is none."""
    moved = [[row for row in rows if moves(row)] for rows in (ours, theirs)]
    found = [fees_of(*moved), fees_of(*moved[::-1])]
    joined: list[list] = []
    for mine, rows, other, others in zip(found, (ours, theirs), found[::-1], moved[::-1], strict=True):
        is_told = other or any(row["fee_minor"] for row in others) or (not others and by.are_one(mine))
        fees = {id(fee) for _, fee in mine} if is_told else set()
        whole = {id(row): fee for row, fee in mine} if is_told else {}
        joined.append([
            {**row, "fee_minor": whole[id(row)]["amount_minor"], "lines": [row, whole[id(row)]]}
            if id(row) in whole else row for row in rows if id(row) not in fees
        ])  # fmt: skip
    return joined if any("lines" in row for rows in joined for row in rows) else None


def lone_fees(ours: list[Row], theirs: list[Row], by: Asked) -> list[tuple[Row, Row]]:
    """Payments and fees of a group of which only one side has rows that move, and that are not zero together."""
    theirs, _ = told_once(sorted(theirs, key=place))
    moved = [[row for row in sorted(rows, key=place) if moves(row)] for rows in (ours, theirs)]
    moved = without(moved, rows_that_agree(*moved, by))
    if all(moved) or any(row["batch"] for row in [*ours, *theirs]):
        return []
    return fees_of(*moved) + fees_of(*moved[::-1])


def fees_of(rows: list[Row], others: list[Row]) -> list[tuple[Row, Row]]:
    """Payments of one side without a fee, each with the line that is its fee."""
    told = [row for row in others if row["fee_minor"] or sort_of(row) == "fee"]
    most = max((row["fee_minor"] or row["amount_minor"] for row in told), default=0)
    twins = [(row["direction"], row["amount_minor"]) for row in others if not row["fee_minor"]]
    lines = []
    for row in sorted(rows, key=lambda row: (sort_of(row) != "fee", abs(row["amount_minor"] - most))):
        named = row.get("reverses") or row.get("related")
        if (row["direction"], row["amount_minor"]) in twins:
            twins.remove((row["direction"], row["amount_minor"]))
        elif row["direction"] == "out" and row["amount_minor"] and not row["fee_minor"] and not named:
            lines += [row] if sort_of(row) in {"fee", "other", None} else []
    like = [(row["direction"], row["amount_minor"]) for row in told]
    payments = [row for row in rows if not row["fee_minor"] and sort_of(row) != "fee"]
    ranks = [[is_like, way] for is_like in (True, False) for way in ("in", "out")]
    ranked = [row for rank in ranks for row in payments
              if [(row["direction"], row["amount_minor"]) in like, row["direction"]] == rank]  # fmt: skip
    pairs: list[tuple[Row, Row]] = []
    for line in lines:
        used = [each for pair in pairs for each in pair]
        for row in ranked if not any(line is each for each in used) else ():
            limit = row["amount_minor"] if sort_of(line) == "fee" else 4 * most or row["amount_minor"] // 10
            same = all(row[name] == line[name] for name in ("key", "business_date", "currency"))
            smaller = line["amount_minor"] < row["amount_minor"] and line["amount_minor"] <= limit
            if same and smaller and not any(row is each for each in used):
                pairs.append((row, line))
                break
    return pairs


def sort_of(row: Row) -> str | None:
    return row["type"] if "type" in row else row["kind"]


def way(row: Row) -> tuple:
    return row["key"], row["direction"]


def met(sides: list[list[Row]], *alike: str) -> list[tuple[Row, Row]]:
    """Take from both sides the first two that are alike, as long as there are any."""
    pairs = []
    for left in list(sides[0]):
        right = next((each for each in sides[1] if all(each[name] == left[name] for name in alike)), None)
        if right is not None:
            pairs.append((left, right))
            for side, row in zip(sides, (left, right), strict=True):
                side[:] = [each for each in side if each is not row]
    return pairs


def line_of(row: Row) -> tuple:
    return (row["key"], row["currency"], row["business_date"], signed(row))


def contents(row: Row) -> tuple:
    """What two lines have in common of which one repeats the other, if neither can be used."""
    return (*(row[name] for name in row if name not in {"statement", "line", "phone"}), (row["phone"] or "")[-3:])


def told_once(rows: list[Row], line_of: Callable[[Row], tuple] = line_of) -> tuple[list[Row], list[Row]]:
    """The rows, and apart from them those that another file has told already, as often as it told them."""
    once: list[Row] = []
    again: list[Row] = []
    reported: dict[tuple, Counter] = defaultdict(Counter)
    for row in rows:
        files = reported[line_of(row)]
        elsewhere = max((count for name, count in files.items() if name != row["statement"]), default=0)
        (again if files[row["statement"]] < elsewhere else once).append(row)
        files[row["statement"]] += 1
    return once, again


def one_group(ours: list, theirs: list, breaks: list, matches: list, alone: tuple, by: Asked) -> None:
    agreed = rows_that_agree(ours, theirs, by, batched=True)
    if any(agreed):
        matches.append((rule_of(*agreed), *agreed))
    ours, theirs = without([ours, theirs], agreed)
    if ours and theirs:
        breaks.append(("batch_mismatch", ours, theirs, None))
    elif ours or theirs:
        alone[0 if ours else 1].append((ours or theirs, True))


def rule_of(ours: list, theirs: list) -> str:
    if not (ours and theirs):
        return "nets_to_zero"
    return (("key", "one_to_many"), ("many_to_one", "many_to_many"))[len(ours) > 1][len(theirs) > 1]


def one_pair(ours: list, theirs: list, breaks: list, matches: list, alone: tuple, by: Asked) -> None:
    if not (ours and theirs):
        for row in ours + theirs:
            if moves(row):
                alone[0 if ours else 1].append(([row], False))
            else:
                matches.append(("nothing_moved", ours, theirs))
        return
    left, right = ours[0], theirs[0]
    checks = [
        ("currency_mismatch", left["currency"] != right["currency"]),
        ("status_mismatch", moves(left) != moves(right)),
        ("direction_mismatch", left["direction"] != right["direction"]),
        ("amount_mismatch", abs(left["amount_minor"] - right["amount_minor"]) > by.amount_minor),
        ("fee_mismatch", abs(left["fee_minor"] - right["fee_minor"]) > by.fee_minor),
        ("date_mismatch", abs((left["business_date"] - right["business_date"]).days) > by.days),
        ("late_success", left["state"] == "in_suspense"),
    ]
    code = next((name for name, differs in checks if differs), None)
    if code:
        breaks.append((code, ours, theirs, None))
    else:
        has_lines = "lines" in left or "lines" in right
        matches.append((rule_of(lines(ours), lines(theirs)) if has_lines else "key", ours, theirs))


NUMBERS = {
    "+260961234567": ("96…567", 1), "0961 234 567": ("96…567", 1), "0969999567": ("96…567", 2),
    "26096****567": ("96…567", None), "254961234567": ("254…567", 3),
}  # fmt: skip
"""Spellings, with what is seen of a number and which it is."""


def is_one(left: Row, right: Row, *, asked: bool) -> bool:
    """Whether two numbers may be one; where it is `asked` for, both rows have one."""
    (seen, one), (other_seen, other) = (NUMBERS.get(row["phone"], (row["phone"], None)) for row in (left, right))
    if None in {seen, other_seen}:
        return not asked
    return seen == other_seen and (None in {one, other} or one == other)


def partners(left: Row, right: Row) -> bool:
    """Proposed by phone, amount and time."""
    at_once = left["business_date"] == right["business_date"]
    if left["occurred_at"] is not None and right["occurred_at"] is not None:
        at_once = apart(left, right, "minutes") <= 15
    names = ["account", "currency", "direction", "amount_minor"]
    return at_once and is_one(left, right, asked=True) and all(left[name] == right[name] for name in names)


def apart(left: Row, right: Row, unit: str) -> float:
    if unit == "days":
        return abs((left["business_date"] - right["business_date"]).days)
    if left["occurred_at"] is None or right["occurred_at"] is None:
        return float("inf")
    return abs((left["occurred_at"] - right["occurred_at"]).total_seconds()) / 60


def by_window(plain: list[list[Row]], rule: Row) -> tuple[list[tuple[Row, Row]], dict[int, list[Row]]]:
    """The pairs of a rule, and for the rows that it leaves ambiguous the candidates of the other side."""
    unit = "days" if "days" in rule else "minutes"

    def like(one: Row, other: Row, times: int) -> bool:
        names = ["account", "currency", "direction", *(["fee_minor"] if "fee" in rule["on"] else [])]
        ends = [NUMBERS.get(row["phone"], (row["phone"], None))[0] for row in (one, other)]
        same = all(one[name] == other[name] for name in names) and signed(one) == signed(other)
        same = same and ("phone" not in rule["on"] or (ends[0] == ends[1] and ends[0] is not None))
        return same and apart(one, other, unit) <= times * rule[unit]

    def around(row: Row) -> list[list[Row]]:
        return [[each for each in side if like(row, each, 2)] for side in plain]

    pairs, unclear, clear = [], {}, set()
    for left, right in product(*plain):
        if like(left, right, 1) and all(len(side) == 1 for row in (left, right) for side in around(row)):
            pairs += [(left, right)] if is_one(left, right, asked=False) else []
            clear |= {id(left), id(right)}
    for side, rows in enumerate(plain):
        for row in rows:
            fits = any(like(row, other, 1) for other in plain[1 - side])
            if fits and id(row) not in clear:
                unclear[id(row)] = around(row)[1 - side]
    return pairs, unclear


def one_sided(
    alone: tuple, ledger: list[Row], breaks: list, matches: list, closing: dict[str, date], by: Asked
) -> None:
    plain = [[rows[0] for rows, batched in side if not batched] for side in alone]
    settled: set[int] = set()
    unclear: dict[int, list[Row]] = {}
    for rule in by.match[1:]:
        met, doubted = by_window(plain, rule)
        matches += [(MatchRule(**rule).name, [left], [right]) for left, right in met]
        settled |= {id(row) for pair in met for row in pair}
        unclear |= doubted
        plain = [[row for row in rows if id(row) not in settled] for rows in plain]
    # What a later rule has matched is in question no more.
    unclear = {row: others for row, others in unclear.items() if any(id(each) not in settled for each in others)}
    pairs = [(left, right) for left, right in product(*plain) if partners(left, right)]
    count: dict[int, int] = defaultdict(int)
    for pair in pairs:
        for row in pair:
            count[id(row)] += 1
    for left, right in pairs:
        if count[id(left)] == count[id(right)] == 1:
            breaks.append(("wrong_reference", [left], [right], None))
            settled |= {id(left), id(right)}
    keys = {(row["account"], bare(row["key"])) for row in ledger if row["key"]}
    for side, waiting in enumerate(alone):
        for rows, _ in waiting:
            first = rows[0]
            if id(first) in settled:
                continue
            is_unclear = count[id(first)] or id(first) in unclear
            code = "ambiguous" if is_unclear else lonely(first, side, keys, closing)
            breaks.append((code, *((rows, []) if side == 0 else ([], rows)), None))


def lonely(row: Row, side: int, keys: set, closing: dict[str, date]) -> str:
    if side == 0 and row["reverses"] is not None:
        return "reversed_unmatched"
    if side == 1 and row["type"] == "reversal" and row["related"] and (row["account"], bare(row["related"])) in keys:
        return "reversed_unmatched"
    if (closing[row["account"]] - row["business_date"]).days < 1 and sort_of(row) != "fee":
        return "timing"
    if side == 0:
        return "payout_unpaid" if row["kind"] == "payout_paid" else "missing_in_statement"
    return "missing_in_ledger"


# What is generated: few keys, amounts and times, so that all that can coincide does. The accounts are
# cases of their own: one run of the rules judges several.

ACCOUNTS = [f"operator:{name}:float" for name in ("mtn", "airtel", "zamtel", "zed")]
LAST = date(2026, 1, 6)


def mostly(usual: object, *others: object) -> st.SearchStrategy:
    return st.sampled_from([usual] * (3 * len(others)) + list(others))


def movements() -> dict[str, st.SearchStrategy]:
    return {
        "account": st.sampled_from(ACCOUNTS),
        "key": st.sampled_from([*(f"k{number}" for number in range(1, 13)), None, "K1", "k 1", " K2", "0k3"]),
        "batch": mostly(None, None, None, "k1", "b1"),
        "when": st.tuples(st.sampled_from([1, 2, 5, 6]), st.sampled_from([0, 10, 16, None])),
        "direction": mostly("in", "in", "out", "out", "sideways"),
        "amount_minor": mostly(100, 100, 101, 200, 3, 3, -5),
        "fee_minor": mostly(0, 1, -1),
        "currency": mostly("ZMW", "USD", None),
        "status": mostly("completed", "failed", "pending"),
        "phone": st.sampled_from(["p", "p", "p", "q", None, *NUMBERS]),
    }


LEDGER_ROWS = st.fixed_dictionaries({
    # Most statements end on the sixth.
    **movements(), "when": st.tuples(st.sampled_from([1, 2, 5, 6, 7, 8]), st.sampled_from([0, 10, 16, None])),
    "kind": st.sampled_from([None, "funds_secured", "payout_paid"]), "reverses": mostly(None, "je_0"),
    "state": mostly("posted", "in_suspense"),
})  # fmt: skip
STATEMENT_ROWS = st.fixed_dictionaries({
    **movements(), "amount_minor": mostly(100, 100, 101, 200, 3, 3, None),
    "statement": st.sampled_from(["one.csv", "two.csv"]),
    "type": st.sampled_from(["payment", "payment", "other", "fee", "reversal"]),
    "related": st.sampled_from([None, "k1", "k2", "K 2", "0k3"]), "problem": mostly(None, "unreadable"),
})  # fmt: skip


def whole(row: Row, **more: object) -> Row:
    day, minute = row.pop("when")
    at = None if minute is None else datetime(2026, 1, day, 10, minute, tzinfo=UTC)
    return {**row, "occurred_at": at, "business_date": date(2026, 1, day), **more}


def plain(account: str, number: int) -> Row:
    """A row of each account that keeps it from being refused: unknown to the ledger, or in another currency."""
    return {
        "account": account, "key": f"plain{number}", "batch": None, "when": (6, 0), "direction": "in",
        "amount_minor": 7, "fee_minor": 0, "currency": "ZMW", "status": "completed", "phone": None,
    }  # fmt: skip


def own_currencies(statement: list[Row]) -> dict[str, str]:
    """Account → its currency: the commonest of the statement's rows, and of several the first of the alphabet."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for row in statement:
        counts[row["account"]][row["currency"]] += row["currency"] is not None
    return {account: min(of, key=lambda name: (-of[name], name or "")) for account, of in counts.items()}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ledger = draw(st.lists(LEDGER_ROWS, min_size=30, max_size=60))
    statement = draw(st.lists(STATEMENT_ROWS, min_size=30, max_size=60))
    ours = {"kind": "funds_secured", "reverses": None, "state": "posted"}
    theirs = {"type": "payment", "related": None, "problem": None}
    for mine, other, own, its in (
        (ledger, statement, {"kind": None}, theirs | {"statement": "one.csv"}),
        (statement, ledger, {"type": "fee"}, ours | {"kind": None}),
    ):
        # Some payments have a fee on a line of its own, and of these the other side has some with a fee in the column.
        for place, is_told in draw(st.lists(st.tuples(st.integers(0, 29), st.booleans()), max_size=10)):
            fee = draw(st.sampled_from([2, 3, 10]))
            mine.append({**mine[place], **own, "direction": "out", "amount_minor": fee, "fee_minor": 0})
            if is_told and mine[place]["amount_minor"] is not None:
                told = {name: mine[place][name] for name in movements()}
                other.append({**told, "fee_minor": fee - 1, **its})
    for number, account in enumerate(ACCOUNTS):
        ledger.append({**plain(account, number), **ours})
        statement.append({**plain(account, number), **theirs, "statement": "one.csv"})
        statement.append({**plain(account, number), **theirs, "statement": "two.csv", "key": f"other{number}"})
    balance: dict[tuple, int] = defaultdict(int)
    made, own = [], own_currencies(statement)
    for number, row in enumerate(ledger, start=1):
        each = whole(row, entry=f"je_{number}", number=number, payment=None)
        of = each["account"], each["currency"] or own[each["account"]]
        balance[of] += signed(each)
        made.append({**each, "balance_minor": balance[of]})
    rows = [whole(row, line=line, description="", balance_minor=None) for line, row in enumerate(statement, start=2)]
    return made, rows


def frames(ledger: list[Row], statement: list[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return (
        pd.DataFrame(ledger, columns=list(LEDGER_MOVEMENT)).astype(dict(LEDGER_MOVEMENT)),
        pd.DataFrame(statement, columns=list(STATEMENT_ROW)).astype(dict(STATEMENT_ROW)),
    )


def assert_same(first: Reconciliation, other: Reconciliation) -> None:
    for name in ("breaks", "matches", "summary", "ageing", "proof"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(other, name))
    for name in ("rows", "closed"):
        pd.testing.assert_frame_equal(getattr(first.carry_forward, name), getattr(other.carry_forward, name))


def found_breaks(result: Reconciliation) -> Counter:
    """What the frame says of each break: its code, its rows' ends, and its figures."""
    return Counter(
        (
            row.code, row.account, none(row.entry), none(row.line), row.rows, row.side, none(row.currency),
            none(row.ledger_minor), none(row.statement_minor), row.variance_minor,
        )
        for row in result.breaks.itertuples()
    )  # fmt: skip


def none(value: object) -> object:
    return None if pd.isna(value) else value


def expected_breaks(breaks: list[tuple], own: dict[str, str]) -> Counter:
    """Each break has one currency, the account's where one of its rows is in it, and sums the rows in that."""
    made: Counter = Counter()
    for code, ours, theirs, variance in breaks:
        first, there = (ours + theirs)[0], [row["currency"] for row in ours + theirs]
        currency = own[first["account"]]
        currency = currency if currency in there else min(row["currency"] or "" for row in theirs or ours) or None
        mine, its = ([row for row in rows if row["currency"] == currency] for rows in (ours, theirs))
        left = sum(map(signed, mine)) if mine else None
        right = sum(map(signed, its)) if its else None
        side = "both" if ours and theirs else "ledger" if ours else "statement"
        made[
            code, first["account"], ours[0]["entry"] if ours else None,
            theirs[0]["line"] if theirs else None, len(ours + theirs), side, currency, left, right,
            (left or 0) - (right or 0) if variance is None else variance,
        ] += 1  # fmt: skip
    return made


def expected_matches(matches: list[tuple]) -> Counter:
    return Counter(
        (rule, row["account"], row.get("entry"), row.get("line"), signed(row))
        for rule, ours, theirs in matches
        for row in ours + theirs
    )


def found_matches(result: Reconciliation) -> Counter:
    return Counter(
        (row.rule, row.account, none(row.entry), none(row.line), row.signed_minor)
        for row in result.matches.itertuples()
    )


LONG = settings.get_current_profile_name() == "long"
"""A run takes a second, so each test makes a few by default; `--hypothesis-profile=long` makes ten times as many."""
SOME = settings(
    max_examples=20 if LONG else 4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # A run takes a second: to make a failing case small would take longer than to read it.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)

KEYS = {"on": ["key"]}
ASKED = st.sampled_from([
    Asked(), Asked(1, 1, 0), Asked(100, 0, 3), Asked(match=(KEYS, {"on": ["amount"], "days": 1})),
    Asked(match=(KEYS, {"on": ["amount", "fee"], "minutes": 12}, {"on": ["amount"], "days": 0})),
    Asked(match=(KEYS, {"on": ["phone", "amount"], "days": 2}, {"on": ["amount"], "minutes": 1440})),
])  # fmt: skip
KIND = st.sampled_from(sorted(KINDS))


class TestAgainstTheModel:
    @pytest.mark.thorough
    @settings(SOME, max_examples=30 if LONG else 4)
    @given(kind=KIND, case=cases(), by=ASKED)
    def test_each_row_is_where_the_model_has_it(self, kind: str, case: Case, by: Asked):
        closing = dict.fromkeys(ACCOUNTS, LAST)
        for row in case[1]:
            if not invalid(row):
                closing[row["account"]] = max(closing[row["account"]], row["business_date"])
        breaks, matches = classify(*case, closing=closing, by=by)
        result = reconcile(
            *map(KINDS[kind], frames(*case)), tolerance=Tolerance(by.amount_minor, by.fee_minor),
            match=[{**KEYS, "days": by.days}, *by.match[1:]],
        )  # fmt: skip
        assert found_breaks(result) == expected_breaks(breaks, own_currencies(case[1]))
        assert found_matches(result) == expected_matches(matches)
        compared = sum(len(rows) for each in (*breaks, *matches) for rows in each[1:3])
        assert_every_row_counts_once(result, *map(len, case), later=sum(map(len, case)) - compared)
        if not by.amount_minor + by.fee_minor:
            assert not result.proof["tolerated_minor"].any()

    @pytest.mark.thorough
    @settings(SOME, max_examples=8 if LONG else 1)
    @given(kind=KIND, case=cases(), seed=st.integers(0, 99))
    def test_another_run_changes_nothing_and_neither_does_the_order_of_rows(self, kind: str, case: Case, seed: int):
        tables = frames(*case)
        shuffled = [frame.sample(frac=1, random_state=seed).reset_index(drop=True) for frame in tables]
        assert_same(reconcile(*tables), reconcile(*map(KINDS[kind], shuffled)))

    @settings(SOME, max_examples=15 if LONG else 3)
    @given(kind=KIND, case=cases())
    @pytest.mark.thorough
    def test_what_is_open_is_the_same_when_nothing_is_new(self, kind: str, case: Case):
        key = {"phone_key": b"the book's own key, of 32 bytes."}
        first = reconcile(*map(KINDS[kind], frames(*case)), **key)
        carried = first.carry_forward
        again = reconcile(KINDS[kind](frames(*case)[0]), nothing_new(first), carry_forward=carried, **key)
        # What the statement has before the closing date, and the ledger after it, may be booked late in the next run.
        later = {row["entry"] for row in case[0] if row["business_date"] > LAST}
        found, still = (
            Counter({each: many for each, many in breaks.items() if each[0] != "date_mismatch" or each[2] not in later})
            for breaks in map(found_breaks, (first, again))
        )
        assert still == found
        assert not again.proof[["opening_minor", "gap_minor", "unexplained_minor"]].any(axis=None)
        assert (again.proof["holds"] | again.proof["note"].str.contains(" in an account in ")).all()
        kept = (result.carry_forward.rows.astype({"code": "string"}) for result in (first, again))
        # A duplicate after the closing date has no day since when it is open: it is a row of the next period.
        kept = (rows[(rows["code"] != "date_mismatch") & rows["since_date"].notna()] for rows in kept)
        kept = (rows.reset_index(drop=True) for rows in kept)
        pd.testing.assert_frame_equal(*kept)

    @settings(SOME, max_examples=15 if LONG else 3)
    @given(kind=KIND, case=cases(), order=st.randoms(use_true_random=False))
    @pytest.mark.thorough
    def test_another_export_in_another_order_has_the_same_breaks(self, kind: str, case: Case, order: Random):
        tables = (map(KINDS[kind], without_balances(*rows)) for rows in (case, exported(case, order)))
        first, again = (reconcile(*both) for both in tables)
        assert first.breaks["id"].is_unique
        assert first.breaks["id"].str.fullmatch("b[a-z2-7]{11}").all()
        said = ["account", "id", "code", "key", "ledger_minor", "statement_minor", "variance_minor", "rows"]
        pd.testing.assert_frame_equal(*(of.breaks[said].sort_values(said, ignore_index=True) for of in (first, again)))
        figures = [name for name in first.proof.columns if name.endswith("_minor") or name == "holds"]
        pd.testing.assert_frame_equal(first.proof[figures], again.proof[figures])
        pd.testing.assert_frame_equal(first.summary, again.summary)


def exported(case: Case, order: Random) -> Case:
    """The same rows in another order, numbered in it, and the statement's in files of other names."""
    ledger, statement = (order.sample(side, len(side)) for side in case)
    ours = [{**row, "number": number, "entry": f"je_{number}"} for number, row in enumerate(ledger, start=1)]
    theirs = [
        {**row, "line": line, "statement": f"again-{row['statement']}"} for line, row in enumerate(statement, start=2)
    ]
    return ours, theirs


def without_balances(ledger: list[Row], statement: list[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
    ours, theirs = frames(ledger, statement)
    return ours.assign(balance_minor=pd.Series(pd.NA, ours.index, "Int64")), theirs


def nothing_new(before: Reconciliation) -> list[Statement]:
    """For each account the file of a period in which nothing happened."""
    return [
        Statement(
            name=f"{line.account}.csv", sha256=line.account, layout="", account=line.account, currency=line.currency,
            table=untyped(frames([], [])[1], STATEMENT_ROW), opening_minor=line.statement_minor,
            closing_minor=line.statement_minor,
            period=None, findings=pd.DataFrame(columns=["line", "expected_minor", "found_minor"]), followed=0,
        )
        for line in before.proof.itertuples()
    ]  # fmt: skip


def assert_every_row_counts_once(result: Reconciliation, ledger: int, statement: int, later: int = 0) -> None:
    """In a break or a match and in the summary, of this many rows, but `later` ones; and the proof is exact.

    It is exact in the account's currency.
    """
    assert result.rows_read == {"ledger": ledger, "statement": statement}
    assert result.breaks["rows"].sum() + len(result.matches) == ledger - later + statement
    summary = result.summary
    assert summary[["ledger_rows", "statement_rows"]].sum().tolist() == [ledger - later, statement]
    matched = summary[summary["code"] == "matched"]
    told_again = result.matches["rule"] == "told_again"
    assert summary.loc[summary["code"] == "told_again", "statement_rows"].sum() == told_again.sum() == result.told_again
    for side, agreed in result.matches[~told_again].groupby("side", observed=True):
        assert matched[f"{side}_rows"].sum() == len(agreed)
        assert matched[f"{side}_value_minor"].sum() == agreed["signed_minor"].sum()
    assert matched["moved_minor"].sum() == result.matches.loc[~told_again, "signed_minor"].abs().sum()
    assert (summary["ledger_value_minor"] - summary["statement_value_minor"] == summary["variance_minor"]).all()
    assert result.ageing["rows"].sum() == result.breaks["rows"].sum()
    for line in result.proof.itertuples():
        breaks, sums = (each[each["account"] == line.account] for each in (result.breaks, summary))
        in_own, own_sums = (
            each["currency"].isin([line.currency, None]) | each["currency"].isna() for each in (breaks, sums)
        )
        explained = breaks.loc[in_own, "variance_minor"].sum() + line.tolerated_minor
        assert line.ledger_minor - line.statement_minor == sums.loc[own_sums, "variance_minor"].sum() == explained
        assert (line.opening_minor, line.gap_minor, line.unexplained_minor) == (0, 0, 0)
        # A statement without a closing balance that has a row without an amount proves nothing.
        unread = (breaks["side"] == "statement") & (breaks["code"] == "invalid_row")
        has_end = not (unread & breaks["statement_amount_minor"].isna()).any()
        is_own = not sums.loc[~own_sums & sums["code"].isin(["matched", "timing"]), "moved_minor"].any()
        assert line.holds == (is_own and has_end)
