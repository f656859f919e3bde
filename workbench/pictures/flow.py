"""The flow of money: who passed how much to whom by each entry of the ledger, and what is owed since."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from workbench import svg
from workbench.domain import ledger
from workbench.domain.ledger import DEBIT, KIND_BY_CODE
from workbench.domain.masking import shortened
from workbench.domain.moments import lusaka_text, milliseconds, utc_text
from workbench.domain.money import Money, money_text
from workbench.domain.wire.ledger_and_trace import LedgerEntry, LedgerPosting
from workbench.svg import Drawing


class _Lane(NamedTuple):
    """A holder of money and its place; `is_ours` marks the provider's own."""

    who: str
    where: str
    is_ours: bool = False


def _place(kind: ledger.AccountKind) -> _Lane:
    """An account of the chart that is money in somebody's hands."""
    return _Lane(kind.name.partition(":")[0], kind.name.rpartition(":")[2].replace("_", " "), is_ours=True)


_CUSTOMER, _FEES, _MERCHANT = _Lane("customer", "wallet"), _Lane("operator", "fees"), _Lane("merchant", "bank account")
_PLACES: Final = {account.code: _place(account) for account in (ledger.FLOAT, ledger.IN_TRANSIT, ledger.BANK)}
_FLOAT, *_ON_THE_WAY = _PLACES.values()
_LANES: Final = (_CUSTOMER, _FLOAT, _FEES, *_ON_THE_WAY, _MERCHANT)
"""From left to right."""
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
    """A line of arrows for each entry, between those who have the money."""
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
    """The other end: an account that holds money, otherwise another party; None if the entry moves nothing."""
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
    """The claims in lines that fit."""
    lines: list[str] = []
    for claim in entry.claims:
        longer = f"{lines[-1]},  {claim}" if lines else claim
        fits = svg.width_of(longer) <= svg.WIDTH - 2 * svg.EDGE - 40
        lines = [*lines[:-1], longer] if lines and fits else [*lines, claim]
    return lines


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
        yield from svg.arrow([(start, down), (end, down)], svg.GREEN)
        yield svg.text((start + end) / 2, down - 6, flow.amount, svg.INK, text_anchor="middle", **svg.HALO)
    for place, words in enumerate(_claims(entry)):
        yield svg.text(svg.EDGE + 16, bottom + 16 + 18 * place, words, svg.FAINT)


def _in_words(entry: _Booked) -> str:
    flows = [
        f"{flow.source.who} ({flow.source.where}) → {flow.target.who} ({flow.target.where}): {flow.amount}"
        for flow in entry.flows
    ]
    return "\n    ".join([f"{entry.title}, {entry.at}", *flows, *([", ".join(entry.claims)] if entry.claims else [])])
