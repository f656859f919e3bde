"""Pictures of the books: the flow of money, the T-accounts of a payment, rows of a ledger beside a statement's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from msgspec.structs import asdict

from workbench.domain import ledger
from workbench.domain.ledger import CREDIT, DEBIT, KIND_BY_CODE, TAccount, t_accounts
from workbench.domain.masking import shortened
from workbench.domain.moments import lusaka_text, milliseconds, utc_text
from workbench.domain.money import Money, money_text
from workbench.domain.wire.ledger_and_trace import LedgerEntry, LedgerPosting
from workbench.text import svg
from workbench.text.render import Column, table
from workbench.text.svg import Drawing
from workbench.visible import visible

if TYPE_CHECKING:
    import pandas as pd


class _Lane(NamedTuple):
    """A holder of money and its place; `is_ours` marks an account in the payment provider's books."""

    who: str
    where: str
    is_ours: bool = False


def _place(kind: ledger.AccountKind) -> _Lane:
    """The holder and the place in the name of an account that is money in somebody's hands."""
    return _Lane(kind.name.partition(":")[0], kind.name.rpartition(":")[2].replace("_", " "), is_ours=True)


_CUSTOMER, _FEES, _MERCHANT = _Lane("customer", "wallet"), _Lane("operator", "fees"), _Lane("merchant", "bank account")
_PLACES: Final = {account.code: _place(account) for account in (ledger.FLOAT, ledger.IN_TRANSIT, ledger.BANK)}
_FLOAT, *_ON_THE_WAY = _PLACES.values()
_LANES: Final = (_CUSTOMER, _FLOAT, _FEES, *_ON_THE_WAY, _MERCHANT)
"""The lanes from left to right."""
_OUTSIDE: Final = {
    **dict.fromkeys((account.code for account in (ledger.MERCHANT_AVAILABLE, ledger.MERCHANT_PAYOUT)), _MERCHANT),
    **dict.fromkeys((account.code for account in (ledger.OPERATOR_FEE, ledger.ROUNDING, ledger.WRITE_OFF)), _FEES),
}
"""The code of an account → the party at the other end of money booked on it; the customer for any other account."""
MOST_ENTRIES: Final = 12
_NOTHING: Final = "Nothing is booked yet."


class _Flow(NamedTuple):
    """Money that changed hands."""

    source: _Lane
    target: _Lane
    amount: str


class _Booked(NamedTuple):
    """An entry: the money that changed hands, and the changes of the other accounts."""

    title: str
    at: str
    utc: str
    flows: list[_Flow]
    claims: list[str]


def money_flow(entries: Sequence[LedgerEntry], postings: Iterable[LedgerPosting]) -> Drawing:
    """The latest entries, each with arrows between the holders of money that it moves."""
    postings_by_entry = {entry: list(group) for entry, group in groupby(postings, key=attrgetter("entry"))}
    booked = [_booked(entry, postings_by_entry[entry.id]) for entry in entries[-MOST_ENTRIES:]]
    used = {lane for entry in booked for flow in entry.flows for lane in flow[:2]}
    lanes = [lane for lane in _LANES if lane in used]
    apart = (svg.WIDTH - 140) / max(len(lanes) - 1, 1)
    places = {lane: round(70 + apart * place) for place, lane in enumerate(lanes)}
    parts, y = [*_heads(places)], 92
    for entry in booked:
        parts += _entry(entry, y, places)
        y += 46 + 28 * len(entry.flows) + 18 * len(_claims(entry))
    title = "Who passed money to whom"
    left_out = len(entries) - len(booked)
    cut = f"the last {len(booked)} of {len(entries)} entries; " if left_out else ""
    note = f"{cut}shaded: the provider's; time in Lusaka"
    if not booked:
        parts.append(svg.text(svg.EDGE, 60, _NOTHING, svg.INK))
    says = "\n".join([f"{title} ({note})", *(map(_in_words, booked) if booked else [_NOTHING])])
    return svg.drawing(title, says, y + 8, parts, note=note)


def _booked(entry: LedgerEntry, postings: Sequence[LedgerPosting]) -> _Booked:
    at_ms = milliseconds(datetime.fromisoformat(entry.occurred_at))
    return _Booked(
        f"#{entry.number} {svg.shown_as(entry.description)}", lusaka_text(at_ms), utc_text(at_ms),
        list(_flows(postings)), [_claim(posting) for posting in postings if posting.code not in _PLACES],
    )  # fmt: skip


def _flows(postings: Sequence[LedgerPosting]) -> Iterator[_Flow]:
    """Flows of the accounts that hold money, with the other end; a flow between two such accounts occurs once."""
    for posting in postings:
        if posting.code not in _PLACES:
            continue
        here = _PLACES[posting.code]
        other = _other_end(posting, [side for side in postings if side.side != posting.side])
        is_in = posting.side == DEBIT
        if other is None or (is_in and other.is_ours):
            continue
        yield _Flow(*((other, here) if is_in else (here, other)), money_text(posting.amount_minor, posting.currency))


def _other_end(posting: LedgerPosting, against: Sequence[LedgerPosting]) -> _Lane | None:
    """The other end of a posting: an account that holds money, or a party; None if `against` has neither."""
    places = [_PLACES[other.code] for other in against if other.code in _PLACES and other.account != posting.account]
    outside = [_OUTSIDE.get(other.code, _CUSTOMER) for other in against if other.code not in _PLACES]
    return next(iter([*places, *outside]), None)


def _claim(posting: LedgerPosting) -> str:
    """An account's increase or decrease, by its normal side."""
    sign = "+" if posting.side == KIND_BY_CODE[posting.code].normal_side else "-"
    return f"{posting.account} {sign}{Money(posting.amount_minor, posting.currency).plain}"


def _heads(places: Mapping[_Lane, int]) -> Iterator[str]:
    for lane, x in places.items():
        yield svg.box(x - 54, 40, 108, 42, svg.TINT if lane.is_ours else svg.GROUND, svg.INK)
        yield svg.centred(x, 57, lane.who)
        yield svg.centred(x, 74, lane.where, font_weight=400)


def _claims(entry: _Booked) -> list[str]:
    return svg.filled(entry.claims, svg.WIDTH - 2 * svg.EDGE - 40, ",  ")


def _entry(entry: _Booked, y: int, places: Mapping[_Lane, int]) -> Iterator[str]:
    """An entry's name and moment, an arrow for every flow, and the other accounts below."""
    yield svg.line(svg.EDGE, y + 6, svg.WIDTH - svg.EDGE, y + 6, svg.RULE)
    yield svg.text(svg.EDGE, y + 26, shortened(entry.title, 80), svg.INK, font_weight=600)
    at = svg.text(svg.WIDTH - svg.EDGE, y + 26, entry.at, svg.FAINT, text_anchor="end")
    yield svg.hovered(at, entry.utc)
    y += 36
    bottom = y + 28 * len(entry.flows)
    yield from (svg.line(x, y, x, bottom, svg.RULE) for x in places.values() if entry.flows)
    for place, flow in enumerate(entry.flows):
        start, end, down = places[flow.source], places[flow.target], y + 20 + 28 * place
        yield from svg.labelled_arrow(start, end, down, flow.amount, svg.GREEN)
    for place, words in enumerate(_claims(entry)):
        yield svg.text(svg.EDGE + 16, bottom + 16 + 18 * place, words, svg.FAINT)


def _in_words(entry: _Booked) -> str:
    flows = [
        f"{flow.source.who} ({flow.source.where}) → {flow.target.who} ({flow.target.where}): {flow.amount}"
        for flow in entry.flows
    ]
    return "\n    ".join([f"{entry.title}, {entry.at}", *flows, *([", ".join(entry.claims)] if entry.claims else [])])


# The accounts of a payment

_HALF: Final = 318


def accounts_of(payment: str, entries: Sequence[LedgerEntry], postings: Sequence[LedgerPosting]) -> Drawing:
    """The entries of a payment, and the accounts that they post to, two in a row."""
    title = f"The ledger of {svg.shown_as(payment, 60)}"
    lines = [f"#{entry.number} {entry.kind}: {svg.shown_as(entry.description)}" for entry in entries]
    lines = lines or ["No entry names it."]
    accounts = t_accounts({**asdict(posting), "entry": f"#{posting.number}"} for posting in postings)
    parts = [svg.text(svg.EDGE, 50 + 20 * place, shortened(line, 100), svg.INK) for place, line in enumerate(lines)]
    y = 64 + 20 * len(lines)
    for pair in (accounts[place : place + 2] for place in range(0, len(accounts), 2)):
        for account, x in zip(pair, (svg.EDGE, svg.WIDTH - svg.EDGE - _HALF), strict=False):
            parts += _t_account(account, x, y)
        y += 70 + 20 * max(map(_lines_of, pair))
    for total in (sums := list(_sums(postings))):
        parts.append(svg.text(svg.EDGE, y + 8, total, svg.INK, font_weight=600))
        y += 20
    columns = ("account", "entry", Column("debit", numeric=True), Column("credit", numeric=True))
    says = table("", columns, (row for account in accounts for row in _account_rows(account)))
    return svg.drawing(title, "\n".join([title, *lines, *([str(says)] if accounts else []), *sums]), y + 8, parts)


def _named(account: TAccount) -> str:
    return visible(f"{account.code} {account.account} ({account.currency})")


def _account_rows(account: TAccount) -> Iterator[tuple[str, str, str, str]]:
    """An account's rows of account, entry, debit and credit: its postings, then its balance."""
    name = _named(account)
    yield from ((name, posting.entry, posting.money.plain, "") for posting in account.debits)
    yield from ((name, posting.entry, "", posting.money.plain) for posting in account.credits)
    yield (name, "balance", *account.balance)


def _lines_of(account: TAccount) -> int:
    return max(len(account.debits), len(account.credits))


def _t_account(account: TAccount, x: int, y: int) -> Iterator[str]:
    """Debits left, credits right, and the balance below on the side where it stands."""
    middle, end, bottom = x + _HALF / 2, x + _HALF, y + 30 + 20 * _lines_of(account)
    yield svg.text(x, y + 12, _named(account), svg.INK, font_weight=600)
    yield svg.line(x, y + 22, end, y + 22, svg.INK)
    yield svg.line(middle, y + 22, middle, bottom + 22, svg.INK)
    yield svg.line(x, bottom, end, bottom, svg.RULE)
    for side, left, right in ((account.debits, x, middle - 12), (account.credits, middle + 12, end)):
        for place, posting in enumerate(side):
            down = y + 40 + 20 * place
            yield svg.text(left, down, posting.entry, svg.FAINT)
            yield svg.text(right, down, posting.money.plain, svg.INK, text_anchor="end")
    for words, right in zip(account.balance, (middle - 12, end), strict=True):
        yield svg.text(right, bottom + 17, words, svg.INK, text_anchor="end", font_weight=600)


def _sums(postings: Sequence[LedgerPosting]) -> Iterator[str]:
    for currency in dict.fromkeys(posting.currency for posting in postings):
        debits, credits_ = (
            sum(posting.amount_minor for posting in postings if (posting.currency, posting.side) == (currency, side))
            for side in (DEBIT, CREDIT)
        )
        yield f"Debits {money_text(debits, currency)} = credits {money_text(credits_, currency)}"


# Rows that belong together


class Paired(Protocol):
    """A reconciliation, as far as this picture shows it; its columns are those of `workbench.analysis`."""

    matches: "pd.DataFrame"
    breaks: "pd.DataFrame"


class _Pair(NamedTuple):
    """A row of the ledger beside a row of the statement; either may be missing."""

    key: str
    ledger: str
    verdict: str
    statement: str


_MATCHES, _BREAKS = 2, 6
"""The most rules of matches, and the most codes of breaks, in the picture."""
_LEFT, _RIGHT, _WIDE = svg.EDGE, 446, 238
_MATCH: Final = "match"
_UNREAD: Final = "unreadable"


def matched_pairs(result: Paired) -> Drawing:
    """A match by each rule and a break of each code: both amounts, and the verdict between them."""
    rows = [*islice(_matched(result.matches), _MATCHES), *islice(_broken(result.breaks), _BREAKS)]
    parts = [svg.text(x, 60, side, svg.INK, font_weight=600) for x, side in ((_LEFT, "ledger"), (_RIGHT, "statement"))]
    for place, row in enumerate(rows):
        parts += _pair(row, 70 + 46 * place)
    title = "Rows that belong together"
    says = table(
        f"{title}: each rule that matched, each code of a break.", ("key", "ledger", "verdict", "statement"), rows
    )
    return svg.drawing(title, str(says), 78 + 46 * len(rows), parts, note="solid line: a match; dashed: a break")


def _matched(matches: "pd.DataFrame") -> Iterator[_Pair]:
    """The first match by every rule, matches by key first; several rows of one side are added up."""
    firsts = matches.drop_duplicates("rule").sort_values("rule", key=lambda rules: rules != "key", kind="stable")
    for first in firsts.itertuples():
        together = matches[(matches["group"] == first.group) & (matches["account"] == first.account)]
        sides = [together[together["side"] == side] for side in ("ledger", "statement")]
        amounts = (
            money_text(int(rows["signed_minor"].sum()), str(first.currency))
            + (f" ({len(rows)} rows)" if len(rows) > 1 else "")
            for rows in sides
        )
        yield _Pair(str(first.group), next(amounts), _MATCH, next(amounts))


def _broken(breaks: "pd.DataFrame") -> Iterator[_Pair]:
    """The first break of each code."""
    for row in breaks.drop_duplicates("code").to_dict("records"):
        # A row that cannot be read has neither key nor amount: a value that is no text or integer is missing.
        first: dict[str, Any] = {
            str(name): value if isinstance(value, str | int) else None for name, value in row.items()
        }
        amounts = (
            "" if first["side"] == other
            else _UNREAD if first[f"{side}_minor"] is None or first["currency"] is None
            else money_text(first[f"{side}_minor"], first["currency"])
            for side, other in (("ledger", "statement"), ("statement", "ledger"))
        )  # fmt: skip
        yield _Pair(first["key"] or "no key", next(amounts), first["code"], next(amounts))


def _pair(pair: _Pair, y: int) -> Iterator[str]:
    """Two boxes, with an empty box for a side without a row, and the verdict on the line between them."""
    for x, amount in ((_LEFT, pair.ledger), (_RIGHT, pair.statement)):
        yield svg.box(x, y, _WIDE, 34, svg.GROUND if amount else svg.PAPER, svg.INK if amount else svg.RULE)
        yield svg.text(x + 10, y + 21, svg.shown_as(pair.key, 12) if amount else "no row", svg.FAINT)
        yield svg.text(x + _WIDE - 10, y + 21, amount, svg.INK, text_anchor="end")
    is_match = pair.verdict == _MATCH
    colour, dashes = (svg.GREEN, {}) if is_match else (svg.BAD, {"stroke_dasharray": "5 4"})
    yield svg.line(_LEFT + _WIDE, y + 17, _RIGHT, y + 17, colour, stroke_width=2, **dashes)
    yield svg.text((_LEFT + _WIDE + _RIGHT) / 2, y + 11, pair.verdict, svg.INK, text_anchor="middle", **svg.HALO)
