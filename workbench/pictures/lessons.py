"""Pictures that the course teaches with: who takes part, which key to send, how long to wait, which rows match."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from workbench import svg
from workbench.domain.gaps import Gaps
from workbench.domain.moments import span
from workbench.domain.money import money_text
from workbench.domain.payments import offer_again_s
from workbench.domain.scenarios import LATE_S
from workbench.render import table
from workbench.svg import Drawing

if TYPE_CHECKING:
    import pandas as pd


class _Passed(NamedTuple):
    """A step from one participant to another."""

    source: str
    target: str
    what: str
    is_money: bool = False


_SHOP, _SERVICE, _OPERATOR, _PHONE = "your shop", "payment service", "operator", "customer's phone"
_LANES: Final = {_PHONE: 76, _SHOP: 250, _SERVICE: 434, _OPERATOR: 618}
_PAYMENT: Final = (
    _Passed(_PHONE, _SHOP, "an order"),
    _Passed(_SHOP, _SERVICE, "amount and phone number"),
    _Passed(_SERVICE, _OPERATOR, "request to collect"),
    _Passed(_OPERATOR, _PHONE, "prompt (USSD)"),
    _Passed(_PHONE, _OPERATOR, "PIN"),
    _Passed(_OPERATOR, _OPERATOR, "money: wallet → float", is_money=True),
    _Passed(_OPERATOR, _SERVICE, "result"),
    _Passed(_SERVICE, _SHOP, "webhook, signed"),
    _Passed(_SHOP, _PHONE, "goods"),
)


def parties() -> Drawing:
    """An arrow for each thing that passes between the participants of one payment, in order."""
    top, bottom = 92, 92 + 32 * len(_PAYMENT)
    parts = [svg.line(x, 80, x, bottom, svg.RULE) for x in _LANES.values()]
    for name, x in _LANES.items():
        parts += [
            svg.box(x - 66, 44, 132, 34, svg.TINT if name == _SHOP else svg.GROUND, svg.INK), svg.centred(x, 65, name)
        ]  # fmt: skip
    for place, passed in enumerate(_PAYMENT, start=1):
        parts += _arrow(passed, place, top + 32 * place - 14)
    title = "Who passes what to whom in one payment"
    rows = [(str(place), step.source, step.target, step.what) for place, step in enumerate(_PAYMENT, start=1)]
    says = table(f"{title}.", ("step", "from", "to", "what"), rows)
    return svg.drawing(title, str(says), bottom + 20, parts, note="shaded: what you write; green: money")


def _arrow(passed: _Passed, place: int, y: int) -> Iterator[str]:
    start, end = _LANES[passed.source], _LANES[passed.target]
    colour, words = svg.GREEN if passed.is_money else svg.BLUE, f"{place}. {passed.what}"
    if start == end:
        yield svg.tag("circle", cx=start, cy=y, r=5, fill=colour)
        yield svg.text(start - 12, y + 4, words, svg.INK, text_anchor="end", **svg.HALO)
        return
    yield from svg.arrow([(start, y), (end, y)], colour)
    # Beside the lane in the middle, which would run through the words.
    yield svg.text((start + end) / 2, y - 6, words, svg.INK, text_anchor="middle", **svg.HALO)


class _Choice(NamedTuple):
    """A question after a charge was sent, and what to do if the answer is yes."""

    question: str
    then: str
    key: str


def _choices(gaps: Gaps) -> Iterator[_Choice]:
    is_kept = gaps.idempotency_keeps_errors == "declines"
    kept = "is kept" if is_kept else "is not kept"
    # Kept or not, a 5xx may come after the customer has paid.
    look = "look for a charge with the order's reference; if there is none, charge again"
    yield _Choice("No response came?", "send the same request again", "the same key")
    yield _Choice("409, the first request still runs?", "wait, then send the same request again", "the same key")
    yield _Choice(f"5xx? It {kept} under its key.", look, "a new key" if is_kept else "the same key")
    yield _Choice(f"402, declined? It {kept} under its key.", "charge again if the customer wants to", "a new key")
    yield _Choice("400, a mistake in the request? It is not kept.", "correct the request", "the same key")
    yield _Choice(
        f"{gaps.reused_key_status}, the key was used for another request?", "make a key for this order", "a new key"
    )
    yield _Choice("200?", "keep the charge's id; nothing is to be sent", "none")


_STEP, _ASKED, _DONE_X = 62, 300, 346


def key_choice(gaps: Gaps) -> Drawing:
    """The questions from top to bottom; the first that is answered yes decides which key to send."""
    choices, top = list(_choices(gaps)), 48
    parts: list[str] = []
    for place, choice in enumerate(choices):
        y = top + _STEP * place
        parts += [
            svg.box(svg.EDGE, y, _ASKED, 40, svg.GROUND, svg.INK),
            svg.text(svg.EDGE + 12, y + 24, choice.question, svg.INK),
        ]
        parts += svg.arrow([(svg.EDGE + _ASKED, y + 20), (_DONE_X, y + 20)])
        parts.append(svg.text(svg.EDGE + _ASKED + 4, y + 12, "yes", svg.FAINT))
        parts += _leaf(choice, y)
        if place < len(choices) - 1:
            parts += svg.arrow([(svg.EDGE + 60, y + 40), (svg.EDGE + 60, y + _STEP)])
            parts.append(svg.text(svg.EDGE + 70, y + 56, "no", svg.FAINT))
    title = "Which idempotency key"
    says = table(f"{title}. The first question that is answered yes decides.", ("question", "then", "key"), choices)
    return svg.drawing(
        title, str(says), top + _STEP * len(choices), parts, note="what came back after a charge was sent"
    )


def _leaf(choice: _Choice, y: int) -> Iterator[str]:
    width = svg.WIDTH - svg.EDGE - _DONE_X
    yield svg.box(_DONE_X, y - 4, width, 48, svg.TINT if choice.key == "a new key" else svg.PAPER, svg.INK)
    lines = [line for line in _halves(choice.then, width - 24) if line]
    # Two or three lines, around the middle of the box.
    top = y + 24 - 15 * len(lines) // 2
    for place, words in enumerate(lines):
        yield svg.text(_DONE_X + 12, top + 15 * place, words, svg.INK)
    yield svg.text(_DONE_X + 12, top + 15 * len(lines), f"key: {choice.key}", svg.INK, font_weight=600)


def _halves(words: str, width: int) -> tuple[str, str]:
    """The words that fit into one line, and the rest."""
    first, rest = words, ""
    while svg.width_of(first) > width:
        first, _, last = first.rpartition(" ")
        rest = f"{last} {rest}".strip()
    return first, rest


class _Moment(NamedTuple):
    """A moment after the prompt was sent, and what a shop knows and does then."""

    at_s: int
    what: str
    do: str


_LINE_X, _LINE_END = 40, svg.WIDTH - 60


def waiting(gaps: Gaps) -> Drawing:
    """The waiting rule: the moments after a prompt nobody answers, along a line of time."""
    expires, late = gaps.prompt_timeout_s, gaps.prompt_timeout_s + LATE_S
    moments = sorted([
        _Moment(0, "the prompt is sent", "wait for the webhook"),
        _Moment(expires, "prompt_timeout: the prompt has expired", "keep the order open; the money may still come"),
        _Moment(late, "late_success: money after the prompt", "send no new prompt; credit or return this money"),
        _Moment(max(offer_again_s(gaps), late), "no late money so far", "offer a new prompt, on the same intent"),
        _Moment(86_400, "processing: the operator never answered",
                "outcome unknown; send the charge's id to the provider"),
    ])  # fmt: skip
    places = [round(_LINE_X + (_LINE_END - _LINE_X) * place / (len(moments) - 1)) for place in range(len(moments))]
    axis, top = 66, 96
    parts = [svg.line(_LINE_X, axis, _LINE_END, axis, svg.BLUE, stroke_width=3)]
    for place, (x, moment) in enumerate(zip(places, moments, strict=True)):
        y = top + 46 * place
        parts += [
            svg.line(x, axis, x, y + 6, svg.RULE), svg.tag("circle", cx=x, cy=axis, r=5, fill=svg.BLUE),
            svg.text(x, axis - 14, span(moment.at_s), svg.INK, text_anchor="middle", font_weight=600),
            *_beside(x, y, moment),
        ]  # fmt: skip
    title = "How long to wait after the last prompt"
    says = table(
        f"{title}.",
        ("after the prompt", "what happens", "what a shop does"),
        [(span(s), *rest) for s, *rest in moments],
    )
    return svg.drawing(
        title, str(says), top + 46 * len(moments) + 8, parts, note="not to scale; late money may come at any moment"
    )


def _beside(x: int, y: int, moment: _Moment) -> Iterator[str]:
    """Two lines of text, on the side of the moment that has room."""
    is_left = x > svg.WIDTH / 2
    at, anchor = (x - 8, "end") if is_left else (x + 8, "start")
    yield svg.text(at, y + 6, moment.what, svg.INK, text_anchor=anchor, font_weight=600, **svg.HALO)
    yield svg.text(at, y + 23, moment.do, svg.INK, text_anchor=anchor, **svg.HALO)


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
        # A row that cannot be read has neither key nor amount; of what is missing, text is all that is sure.
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
    """Two boxes, one of them empty where a side has no row, and the verdict on the line between them."""
    for x, amount in ((_LEFT, pair.ledger), (_RIGHT, pair.statement)):
        yield svg.box(x, y, _WIDE, 34, svg.GROUND if amount else svg.PAPER, svg.INK if amount else svg.RULE)
        yield svg.text(x + 10, y + 21, svg.shown_as(pair.key, 12) if amount else "no row", svg.FAINT)
        yield svg.text(x + _WIDE - 10, y + 21, amount, svg.INK, text_anchor="end")
    is_match = pair.verdict == _MATCH
    colour, dashes = (svg.GREEN, {}) if is_match else (svg.BAD, {"stroke_dasharray": "5 4"})
    yield svg.line(_LEFT + _WIDE, y + 17, _RIGHT, y + 17, colour, stroke_width=2, **dashes)
    yield svg.text((_LEFT + _WIDE + _RIGHT) / 2, y + 11, pair.verdict, svg.INK, text_anchor="middle", **svg.HALO)
