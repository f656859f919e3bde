"""Pictures of how payments work, drawn from the sandbox's own tables: its transitions, schedules, ledger and messages.

Each is a `Drawing`, an SVG with a text of the same facts, except for the T-accounts of a payment.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, groupby, islice, zip_longest
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from msgspec.structs import asdict

from workbench.domain import ledger, payments
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import DEBIT, KIND_BY_CODE
from workbench.domain.masking import mask, shortened
from workbench.domain.moments import lusaka_text, milliseconds, span, utc_text
from workbench.domain.money import Money, money_text
from workbench.domain.payments import Transitions, offer_again_s
from workbench.domain.scenarios import LATE_S
from workbench.domain.signatures import SCHEMES, id_in
from workbench.domain.webhooks import DEAD_LETTER, JITTER_PERMILLE
from workbench.domain.wire.ledger_and_trace import LedgerEntry, LedgerPosting
from workbench.merchant.receiver import Arrival
from workbench.session import Session
from workbench.text import svg
from workbench.text.render import table
from workbench.text.svg import Drawing
from workbench.traffic.trace import TAccounts
from workbench.visible import visible

if TYPE_CHECKING:
    import pandas as pd


class MatchesAndBreaks(Protocol):
    """The attributes of a reconciliation that `Pictures.pairs` uses: DataFrames as `reconcile` returns them."""

    matches: "pd.DataFrame"
    breaks: "pd.DataFrame"


_TABLES: Final[Mapping[str, Callable[[Gaps], Transitions]]] = {
    "payment_intent": payments.intent_transitions,
    "charge": payments.charge_transitions,
    "refund": lambda _: payments.REFUND_TRANSITIONS,
    "payout": lambda _: payments.PAYOUT_TRANSITIONS,
}


class Pictures:
    """Pictures of this sandbox's behaviour, drawn again at each call; equal facts give the same picture."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def state_machine(self, of: str = "payment_intent") -> Drawing:
        """The states of a payment_intent, charge, refund or payout, and every event that leads from one to another.

        Raises ValueError: `of` is none of these.
        """
        if of not in _TABLES:
            message = f"states are of {', '.join(_TABLES)}, not {of!r}"
            raise ValueError(message)
        return _states(of, _TABLES[of](self._gaps()))

    def transitions(self, table: Mapping[str, Mapping[str, str]], of: str = "order") -> Drawing:
        """The states of a kind of record in your program, named `of`; `table` is state → event → next state.

        Raises ValueError: the table has no transition.
        """
        flat = {(state, event): target for state, events in table.items() for event, target in events.items()}
        if not flat:
            raise ValueError("The table has no transition: give it {state: {event: next state}}.")
        return _states(of, flat)

    def parties(self) -> Drawing:
        """Customer, shop, payment service and operator, and the messages between them in one payment."""
        top, bottom = 92, 92 + 32 * len(_PAYMENT)
        parts = [svg.line(x, 80, x, bottom, svg.RULE) for x in _PARTIES.values()]
        for name, x in _PARTIES.items():
            parts.append(svg.box(x - 66, 44, 132, 34, svg.TINT if name == _SHOP else svg.GROUND, svg.INK))
            parts.append(svg.centred(x, 65, name))
        for place, (source, target, message) in enumerate(_PAYMENT, start=1):
            start, end, y, words = _PARTIES[source], _PARTIES[target], top + 32 * place - 14, f"{place}. {message}"
            if start == end:
                parts.append(svg.tag("circle", cx=start, cy=y, r=5, fill=svg.GREEN))
                parts.append(svg.text_at(start - 12, y + 4, words, svg.INK, text_anchor="end", **svg.HALO))
            else:
                parts += svg.labelled_arrow(start, end, y, words, svg.BLUE)
        title = "Who passes what to whom in one payment"
        rows = [(place, *step) for place, step in enumerate(_PAYMENT, start=1)]
        says = table(f"{title}.", ("step", "from", "to", "what"), rows)
        return svg.drawing(title, str(says), bottom + 20, parts, note="shaded: what you write; green: money")

    def key_choice(self) -> Drawing:
        """The idempotency key that a shop sends next, after each response to a charge, and if no response comes."""
        choices, top, step, question_width, done_x = list(_choices(self._gaps())), 48, 62, 300, 346
        width = svg.WIDTH - svg.EDGE - done_x
        parts: list[str] = []
        for place, (question, then, key) in enumerate(choices):
            y, lines = top + step * place, svg.joined_lines(then.split(), width - 24, " ")
            # Two or three lines, around the middle of the box.
            line_y = y + 24 - 15 * len(lines) // 2
            parts += [
                svg.box(svg.EDGE, y, question_width, 40, svg.GROUND, svg.INK),
                svg.text_at(svg.EDGE + 12, y + 24, question, svg.INK),
                *svg.arrow([(svg.EDGE + question_width, y + 20), (done_x, y + 20)]),
                svg.text_at(svg.EDGE + question_width + 4, y + 12, "yes", svg.FAINT),
                svg.box(done_x, y - 4, width, 48, svg.TINT if key == "a new key" else svg.PAPER, svg.INK),
                *(svg.text_at(done_x + 12, line_y + 15 * place, words, svg.INK) for place, words in enumerate(lines)),
                svg.text_at(done_x + 12, line_y + 15 * len(lines), f"key: {key}", svg.INK, font_weight=600),
            ]
            if place < len(choices) - 1:
                parts += svg.arrow([(svg.EDGE + 60, y + 40), (svg.EDGE + 60, y + step)])
                parts.append(svg.text_at(svg.EDGE + 70, y + 56, "no", svg.FAINT))
        title, note = "Which idempotency key", "what came back after a charge was sent"
        says = table(f"{title}. The first question that is answered yes decides.", ("question", "then", "key"), choices)
        return svg.drawing(title, str(says), top + step * len(choices), parts, note=note)

    def waiting(self) -> Drawing:
        """A shop's steps after a prompt that nobody answers, with their times."""
        rows = [(span(at_s), event, action) for at_s, event, action in sorted(_waits(self._gaps()))]
        left, right, axis, top = 40, svg.WIDTH - 60, 66, 96
        parts = [svg.line(left, axis, right, axis, svg.BLUE, stroke_width=3)]
        for place, (at, event, action) in enumerate(rows):
            x, y = round(left + (right - left) * place / (len(rows) - 1)), top + 46 * place
            # The lines stand on the side of the moment that has room.
            text_x, anchor = (x - 8, "end") if x > svg.WIDTH / 2 else (x + 8, "start")
            parts += [
                svg.line(x, axis, x, y + 6, svg.RULE),
                svg.tag("circle", cx=x, cy=axis, r=5, fill=svg.BLUE),
                svg.text_at(x, axis - 14, at, svg.INK, text_anchor="middle", font_weight=600),
                svg.text_at(text_x, y + 6, event, svg.INK, text_anchor=anchor, font_weight=600, **svg.HALO),
                svg.text_at(text_x, y + 23, action, svg.INK, text_anchor=anchor, **svg.HALO),
            ]
        title, note = "How long to wait after the last prompt", "not to scale; late money may come at any moment"
        says = table(f"{title}.", ("after the prompt", "what happens", "what a shop does"), rows)
        return svg.drawing(title, str(says), top + 46 * len(rows) + 8, parts, note=note)

    def retry_timeline(self) -> Drawing:
        """The retries of a webhook that no receiver accepts, until it is a dead letter: each wait, and when it ends."""
        gaps = self._gaps()
        offsets = list(accumulate(gaps.retry_schedule_s))
        rows = [
            (str(place), span(wait, units=4), span(at, units=4))
            for place, (wait, at) in enumerate(zip(gaps.retry_schedule_s, offsets, strict=True), start=1)
        ]
        bottom = _CHART_Y + _TRY * len(offsets)
        success, given_up = gaps.delivery_success.replace("_", ", "), DEAD_LETTER.replace("_", " ")
        end = f"After {len(offsets)} without one, the delivery is a {given_up}."
        ends = (
            f"A response of {success} ends the attempts. {end}",
            f"Each wait is shorter or longer by up to {JITTER_PERMILLE // 10} %, as the frames show.",
        )
        columns = {svg.EDGE: "attempt", 76: "wait", 152: "after the first"}
        parts = [svg.text_at(x, 56, words, svg.FAINT) for x, words in columns.items()]
        parts += _chart(offsets, bottom - 10)
        for place, row in enumerate(rows):
            y = _CHART_Y + 4 + _TRY * place
            parts += [svg.text_at(x, y, words, svg.INK) for x, words in zip(columns, row, strict=True)]
        parts += [svg.text_at(svg.EDGE, bottom + 14 + 20 * place, words, svg.INK) for place, words in enumerate(ends)]
        title = "When a webhook is sent"
        says = table(" ".join([f"{title}.", *ends]), columns.values(), rows)
        return svg.drawing(title, str(says), bottom + 52, parts)

    def webhook(self, arrival: Arrival | None = None) -> Drawing:
        """An accepted message's parts, and which of them are signed; `arrival` is by default the latest at `receiver`.

        A part that occurs in several of headers, body and signed content has the same colour in each. Raises
        ValueError: `arrival` was not accepted, or there is no accepted message.
        """
        among = self._session.receiver.arrivals if arrival is None else [arrival]
        accepted = [arrival for arrival in among if arrival.verdict == "accepted"]
        if not accepted:
            raise ValueError("No message was accepted; creating a payment intent sends one.")
        arrival, scheme = accepted[-1], SCHEMES[self._gaps().signature_scheme]
        headers = {name: arrival.headers[name.lower()] for name in scheme.headers}
        signed = scheme.read(headers)
        body_name = "Body, as it arrived"
        blocks = {
            "Headers": [f"{name}: {value}" for name, value in headers.items()],
            body_name: [svg.safe_text(arrival.body.decode("utf-8", "replace"))],
            "What is signed": [f"{scheme.prefix(*signed[:2])}⟨the body, {len(arrival.body)} bytes⟩"],
            "Its HMAC-SHA256 with the endpoint's secret, which is the signature": signed.signatures,
        }
        of_id = {signed.message_id or id_in(arrival.body): svg.BLUE}
        marks = {**of_id, str(signed.sent_s or ""): svg.PURPLE, **dict.fromkeys(signed.signatures, svg.BROWN)}
        parts: list[str] = []
        y = 44
        for name, lines in blocks.items():
            # The body may name the same second, which is not the one that is signed.
            written = [line[at : at + _LETTERS] for line in lines for at in range(0, len(line), _LETTERS)]
            parts += _block(name, written, of_id if name == body_name else marks, y)
            y += _LINE * len(written) + 48
        title = f"A webhook: {visible(arrival.reason)}"
        ends = f"The receiver responded {arrival.status}: {arrival.verdict}."
        parts.append(svg.text_at(svg.EDGE, y + 8, ends, svg.INK))
        says = [title, *(line for name, lines in blocks.items() for line in (f"{name}:", *lines)), ends]
        return svg.drawing(title, "\n".join(says), y + 26, parts)

    def ledger(self, payment: str) -> TAccounts:
        """The T-accounts of one payment, by the id of an intent, of a charge without an intent, or of a payout."""
        entries, postings = self._journal(payment)
        lines = [f"#{entry.number} {entry.kind}: {mask(entry.description)}" for entry in entries]
        title = f"The ledger of {svg.safe_text(payment, 60)}"
        return TAccounts(map(asdict, postings), title, lines or ["No entry names it."])

    def money_flow(self) -> Drawing:
        """The latest entries of the ledger, each with the money that moved and the claims that changed."""
        entries, postings = self._journal()
        by_entry = {entry: list(group) for entry, group in groupby(postings, key=attrgetter("entry"))}
        booked = [_booked(entry, by_entry[entry.id]) for entry in entries[-MOST_ENTRIES:]]
        used = {lane for entry in booked for flow in entry.flows for lane in flow[:2]}
        lanes = [lane for lane in _LANES if lane in used]
        apart = (svg.WIDTH - 140) / max(len(lanes) - 1, 1)
        places = {lane: round(70 + apart * place) for place, lane in enumerate(lanes)}
        parts, y = list[str](), 92
        for lane, x in places.items():
            parts.append(svg.box(x - 54, 40, 108, 42, svg.TINT if lane.is_ours else svg.GROUND, svg.INK))
            parts += [svg.centred(x, 57, lane.who), svg.centred(x, 74, lane.where, font_weight=400)]
        for entry in booked:
            claims = svg.joined_lines(entry.claims, svg.WIDTH - 2 * svg.EDGE - 40, ",  ")
            parts += _entry(entry, claims, y, places)
            y += 46 + 28 * len(entry.flows) + 18 * len(claims)
        title = "Who passed money to whom"
        cut = f"the last {len(booked)} of {len(entries)} entries; " if len(booked) < len(entries) else ""
        note = f"{cut}shaded: the provider's; time in Lusaka"
        lines = [_in_words(entry) for entry in booked] or ["Nothing is booked yet."]
        parts += [] if booked else [svg.text_at(svg.EDGE, 60, lines[0], svg.INK)]
        return svg.drawing(title, "\n".join([f"{title} ({note})", *lines]), y + 8, parts, note=note)

    def pairs(self, result: MatchesAndBreaks) -> Drawing:
        """Rows of the ledger beside rows of the statements: a match by each rule, a break of each code.

        `result` is what `reconcile` returned.
        """
        rows = [*islice(_matched(result.matches), _MATCHES), *islice(_broken(result.breaks), _BREAKS)]
        parts = [
            svg.text_at(x, 60, side, svg.INK, font_weight=600) for x, side in ((_LEFT, "ledger"), (_RIGHT, "statement"))
        ]
        for place, row in enumerate(rows):
            parts += _pair(*row, 70 + 46 * place)
        title, note = "Rows that belong together", "solid line: a match; dashed: a break"
        columns = ("key", "ledger", "verdict", "statement")
        says = table(f"{title}: each rule that matched, each code of a break.", columns, rows)
        return svg.drawing(title, str(says), 78 + 46 * len(rows), parts, note=note)

    def _gaps(self) -> Gaps:
        return Gaps.chosen(self._session.untraced.in_force())

    def _journal(self, payment: str | None = None) -> tuple[list[LedgerEntry], list[LedgerPosting]]:
        """The entries and the postings of the ledger; with `payment`, only those of this payment."""
        read = self._session.untraced
        return (
            [row for page in read.entries() for row in page if payment in {None, row.payment}],
            [row for page in read.postings() for row in page if payment in {None, row.payment}],
        )

    def __repr__(self) -> str:
        return f"Pictures({', '.join(sorted(name for name in vars(Pictures) if not name.startswith('_')))})"


# One payment

_SHOP, _SERVICE, _OPERATOR, _PHONE = "your shop", "payment service", "operator", "customer's phone"
_PARTIES: Final = {_PHONE: 76, _SHOP: 250, _SERVICE: 434, _OPERATOR: 618}
"""Participant → the x of its line."""
_PAYMENT: Final = (
    (_PHONE, _SHOP, "an order"),
    (_SHOP, _SERVICE, "amount and phone number"),
    (_SERVICE, _OPERATOR, "request to collect"),
    (_OPERATOR, _PHONE, "prompt (USSD)"),
    (_PHONE, _OPERATOR, "PIN"),
    (_OPERATOR, _OPERATOR, "money: wallet → float"),
    (_OPERATOR, _SERVICE, "result"),
    (_SERVICE, _SHOP, "webhook, signed"),
    (_SHOP, _PHONE, "goods"),
)
"""Messages from one participant to another; the money moves within the operator's books."""


def _choices(gaps: Gaps) -> Iterator[tuple[str, str, str]]:
    """Yields questions after a charge was sent, each with what to do if the answer is yes, and with which key."""
    is_kept = gaps.idempotency_keeps_errors == "declines"
    kept = "is kept" if is_kept else "is not kept"
    # Kept or not, a 5xx may come after the customer has paid.
    look = "look for a charge with the order's reference; if there is none, charge again"
    reused = f"{gaps.reused_key_status}, the key was used for another request?"
    yield "No response came?", "send the same request again", "the same key"
    yield "409, the first request still runs?", "wait, then send the same request again", "the same key"
    yield f"5xx? It {kept} under its key.", look, "a new key" if is_kept else "the same key"
    yield f"402, declined? It {kept} under its key.", "charge again if the customer wants to", "a new key"
    yield "400, a mistake in the request? It is not kept.", "correct the request", "the same key"
    yield reused, "make a key for this order", "a new key"
    yield "200?", "keep the charge's id; nothing is to be sent", "none"


def _waits(gaps: Gaps) -> Iterator[tuple[int, str, str]]:
    """Yields moments after an unanswered prompt, in seconds, each with what happens and what a shop does then."""
    expires, late = gaps.prompt_timeout_s, gaps.prompt_timeout_s + LATE_S
    keep_open = "keep the order open; the money may still come"
    ask = "outcome unknown; send the charge's id to the provider"
    yield 0, "the prompt is sent", "wait for the webhook"
    yield expires, "prompt_timeout: the prompt has expired", keep_open
    yield late, "late_success: money after the prompt", "send no new prompt; credit or return this money"
    yield max(offer_again_s(gaps), late), "no late money so far", "offer a new prompt, on the same intent"
    yield 86_400, "processing: the operator never answered", ask


_CHART_X, _CHART_END, _CHART_Y, _TRY = 316, svg.WIDTH - 24, 82, 30
_TICKS: Final = (60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400)
_MOST_TICKS, _FRAME = 6, 12
"""The most ticks that are legible, and the least width of a frame that its dot does not hide, in pixels."""


def _chart(offsets: Sequence[int], bottom: int) -> Iterator[str]:
    """Draws the waits along a time axis, and at the end of each a frame: the time within which the attempt may come.

    `offsets` are the moments of the attempts, in seconds from the event; the axis reaches down to `bottom`.
    """
    early, late = ([offset * (1000 + sign * JITTER_PERMILLE) // 1000 for offset in offsets] for sign in (-1, 1))
    longest = late[-1]

    def at(seconds: int) -> int:
        return _CHART_X + (_CHART_END - _CHART_X) * seconds // max(longest, 1)

    every = next((tick for tick in _TICKS if longest <= tick * _MOST_TICKS), _TICKS[-1])
    for seconds in range(0, longest + 1, every):
        yield svg.line(at(seconds), 64, at(seconds), bottom, svg.RULE)
        yield svg.text_at(at(seconds), 56, span(seconds), svg.FAINT, text_anchor="middle")
    for place, moments in enumerate(zip([0, *offsets], offsets, early, late, strict=False)):
        y = _CHART_Y + _TRY * place
        before, x, first, last = map(at, moments)
        yield svg.line(before, y, x, y, svg.BLUE, stroke_width=3)
        yield svg.tag("circle", cx=x, cy=y, r=5, fill=svg.BLUE)
        if last - first > _FRAME:
            yield svg.box(first, y - 8, last - first, 16, "none", svg.BLUE)


_LETTERS, _LETTER, _LINE = 88, 7.25, 18
"""Characters in a line of a message, the width of a character, and the height of a line."""


def _block(name: str, lines: Sequence[str], marks: Mapping[str, str], y: int) -> Iterator[str]:
    """Draws lines in a monospaced font, below their name.

    `marks` is part of the text → the colour that marks it, also across line ends.
    """
    yield svg.text_at(svg.EDGE, y + 12, name, svg.INK, font_weight=600)
    yield svg.box(svg.EDGE, y + 20, svg.WIDTH - 2 * svg.EDGE, _LINE * len(lines) + 12, svg.GROUND, svg.RULE)
    whole = "".join(lines)
    colours = [svg.INK] * len(whole)
    for mark, colour in marks.items():
        for match in re.finditer(re.escape(mark), whole) if mark else ():
            colours[match.start() : match.end()] = [colour] * len(mark)
    letters = iter(zip(whole, colours, strict=True))
    for place, line in enumerate(lines):
        at = 0
        for colour, run in groupby(islice(letters, len(line)), key=itemgetter(1)):
            words = "".join(letter for letter, _ in run)
            x, down = svg.EDGE + 10 + at * _LETTER, y + 38 + _LINE * place
            yield svg.text_at(x, down, words, colour, font_family=svg.MONO, style="white-space:pre")
            at += len(words)


# States

_STATE_X, _STATE_WIDTH, _FINAL_X, _FINAL_WIDTH, _FINAL_HEIGHT = 176, 200, 552, 132, 34
_MIDDLE: Final = _STATE_X + _STATE_WIDTH // 2
_BACK_X, _ON_X, _LANE = _STATE_X - 132, _FINAL_X - 24, 14
"""The x of the first lane for lines back, the x of the first lane to final states, and the distance between lanes."""
_EXIT, _DOWN = 30, 20
"""The height of a line out of a state, and of an event between two states."""


class _Exit(NamedTuple):
    """A line out of a state, to the right or back to the left, at a height of the picture."""

    y: int
    event: str
    target: str


def _states(object_name: str, transitions: Transitions) -> Drawing:
    """Draws the states with exits from top to bottom, as high as their lines require, and final states beside them.

    `object_name` is the object in the title, such as `payment_intent`.
    """
    sources = list(dict.fromkeys(state for state, _ in transitions))
    following = dict(zip_longest(sources, sources[1:]))
    entered = {target for (state, _), target in transitions.items() if target != following[state]}
    downs, boxes, tops, back, on, y = list[str](), list[str](), dict[str, int](), list[_Exit](), list[_Exit](), 76
    for state, below in following.items():
        exits = [(event, target) for (start, event), target in transitions.items() if start == state]
        down = [event for event, target in exits if target == below]
        aside = [(event, target) for event, target in exits if target in following and target != below]
        final = [(event, target) for event, target in exits if target not in following]
        height = max(len(final), len(aside) + (state in entered), 1) * _EXIT + 8
        back += [_Exit(y + _EXIT * (place + (state in entered)) + 20, *step) for place, step in enumerate(aside)]
        on += [_Exit(y + _EXIT * place + 20, *step) for place, step in enumerate(final)]
        boxes.append(svg.box(_STATE_X, y, _STATE_WIDTH, height, svg.GROUND, svg.INK))
        boxes.append(svg.centred(_STATE_X + _STATE_WIDTH / 2, y + height / 2 + 4, state))
        tops[state], bottom = y, y + height
        y = bottom + _DOWN * (len(down) + 1) + 8
        downs += svg.arrow([(_MIDDLE, bottom), (_MIDDLE, y)]) if down else []
        downs += [svg.text_at(_MIDDLE + 12, bottom + 22 + _DOWN * at, event, svg.INK) for at, event in enumerate(down)]
    finals = _final_heights(on)
    for name, top in finals.items():
        boxes.append(svg.box(_FINAL_X, top, _FINAL_WIDTH, _FINAL_HEIGHT, svg.TINT, svg.INK))
        boxes.append(svg.box(_FINAL_X + 3, top + 3, _FINAL_WIDTH - 6, _FINAL_HEIGHT - 6, "none", svg.INK))
        boxes.append(svg.centred(_FINAL_X + _FINAL_WIDTH / 2, top + 21, name))
    title = f"States of {'an' if object_name[0] in 'aeiou' else 'a'} {object_name.replace('_', ' ')}"
    says = table(
        f"{title}. It begins as {sources[0]}; final: {', '.join(finals) or 'none'}.",
        ("state", "event", "next state"),
        [(*key, target) for key, target in transitions.items()],
    )
    start = [svg.tag("circle", cx=_MIDDLE, cy=48, r=6, fill=svg.INK), *svg.arrow([(_MIDDLE, 52), (_MIDDLE, 76)])]
    returns = {line.target: tops[line.target] + 20 for line in back}
    ends = {name: top + _FINAL_HEIGHT // 2 for name, top in finals.items()}
    parts = [
        *start, *downs,
        *_lines(back, returns, (_STATE_X, _BACK_X, _STATE_X), -10),
        *_lines(on, ends, (_STATE_X + _STATE_WIDTH, _ON_X, _FINAL_X), 10),
        *boxes,
    ]  # fmt: skip
    height = max([bottom, *(top + _FINAL_HEIGHT for top in finals.values())]) + 20
    return svg.drawing(title, str(says), height, parts, note="double frame: final")


def _final_heights(exits: Sequence[_Exit]) -> dict[str, int]:
    """Final state → the y of its top edge: level with the middle of its arrows, or lower if boxes would overlap."""
    middles = {}
    for final in dict.fromkeys(line.target for line in exits):
        at = [line.y for line in exits if line.target == final]
        middles[final] = sum(at) // len(at) - _FINAL_HEIGHT // 2
    placed: dict[str, int] = {}
    for final, y in sorted(middles.items(), key=itemgetter(1)):
        placed[final] = max([y, *(height + _FINAL_HEIGHT + 12 for height in placed.values())])
    return placed


def _lines(exits: Sequence[_Exit], heights: Mapping[str, int], xs: tuple[int, int, int], label: int) -> Iterator[str]:
    """Draws the lines to each target in `heights` (target → y of the lines' end), and the names of their events.

    `xs` has the x of the states' edge, of the first lane, and of the ends. `label` is the distance of a name from the
    edge; a negative one puts the name to the left. Lines to one target share a lane; a dot shows that lines join there
    and do not only cross.
    """
    edge, lane, end = xs
    for target, y in heights.items():
        incoming = [line for line in exits if line.target == target]
        for line in incoming:
            yield from svg.arrow([(edge, line.y), (lane, line.y), (lane, y), (end, y)])
        levels = [y, *(line.y for line in incoming)]
        meeting = {level for level in levels if min(levels) < level < max(levels)}
        yield from (svg.tag("circle", cx=lane, cy=level, r=3.2, fill=svg.BLUE) for level in sorted(meeting))
        anchor = "end" if label < 0 else "start"
        yield from (svg.text_at(edge + label, line.y - 6, line.event, svg.INK, text_anchor=anchor) for line in incoming)
        lane -= _LANE


# The flow of money


class _Lane(NamedTuple):
    """A column of the flow: who holds money, and where; `is_ours` marks an account in the payment provider's books."""

    who: str
    where: str
    is_ours: bool = False


_CUSTOMER, _FEES, _MERCHANT = _Lane("customer", "wallet"), _Lane("operator", "fees"), _Lane("merchant", "bank account")
_PLACES: Final = {
    kind.code: _Lane(kind.name.partition(":")[0], kind.name.rpartition(":")[2].replace("_", " "), is_ours=True)
    for kind in (ledger.FLOAT, ledger.IN_TRANSIT, ledger.BANK)
}
"""Code of an account that holds money → its lane, with holder and place from the account's name."""
_FLOAT, *_ON_THE_WAY = _PLACES.values()
_LANES: Final = (_CUSTOMER, _FLOAT, _FEES, *_ON_THE_WAY, _MERCHANT)
"""The lanes, from left to right."""
_OUTSIDE: Final = {
    **dict.fromkeys((account.code for account in (ledger.MERCHANT_AVAILABLE, ledger.MERCHANT_PAYOUT)), _MERCHANT),
    **dict.fromkeys((account.code for account in (ledger.OPERATOR_FEE, ledger.ROUNDING, ledger.WRITE_OFF)), _FEES),
}
"""Code of an account that holds no money → the party that pays or gets the money; for other codes, the customer."""
MOST_ENTRIES: Final = 12


class _Booked(NamedTuple):
    """An entry: the money that moved, as (source, target, amount), and the changes of the other accounts."""

    title: str
    at: str
    utc: str
    flows: list[tuple[_Lane, _Lane, str]]
    claims: list[str]


def _booked(entry: LedgerEntry, postings: Sequence[LedgerPosting]) -> _Booked:
    at_ms = milliseconds(datetime.fromisoformat(entry.occurred_at))
    claims = []
    for posting in postings:
        if posting.code not in _PLACES:
            # An account increases on its normal side.
            sign = "+" if posting.side == KIND_BY_CODE[posting.code].normal_side else "-"
            claims.append(f"{posting.account} {sign}{Money(posting.amount_minor, posting.currency).plain}")
    title = f"#{entry.number} {svg.safe_text(entry.description)}"
    return _Booked(title, lusaka_text(at_ms), utc_text(at_ms), [*_flows(postings)], claims)


def _flows(postings: Sequence[LedgerPosting]) -> Iterator[tuple[_Lane, _Lane, str]]:
    """Yields (source, target, amount) for each posting on an account that holds money.

    A movement between two such accounts is yielded once.
    """
    for posting in (posting for posting in postings if posting.code in _PLACES):
        lane, amount = _PLACES[posting.code], money_text(posting.amount_minor, posting.currency)
        against = [other for other in postings if other.side != posting.side and other.account != posting.account]
        others = [_PLACES.get(other.code) or _OUTSIDE.get(other.code, _CUSTOMER) for other in against]
        # The other end is rather an account that holds money than a party.
        opposite = min(others, key=lambda other: not other.is_ours, default=None)
        if opposite and posting.side != DEBIT:
            yield lane, opposite, amount
        elif opposite and not opposite.is_ours:
            yield opposite, lane, amount


def _entry(entry: _Booked, claims: Sequence[str], y: int, places: Mapping[_Lane, int]) -> Iterator[str]:
    """Yields the SVG of an entry from the height `y` down: name and moment, then an arrow with an amount for each flow.

    The texts `claims`, the changes of accounts that hold no money, stand below. `places` is holder → x.
    """
    yield svg.line(svg.EDGE, y + 6, svg.WIDTH - svg.EDGE, y + 6, svg.RULE)
    yield svg.text_at(svg.EDGE, y + 26, shortened(entry.title, 80), svg.INK, font_weight=600)
    at = svg.text_at(svg.WIDTH - svg.EDGE, y + 26, entry.at, svg.FAINT, text_anchor="end")
    yield svg.with_tooltip(at, entry.utc)
    y += 36
    bottom = y + 28 * len(entry.flows)
    yield from (svg.line(x, y, x, bottom, svg.RULE) for x in places.values() if entry.flows)
    for place, (source, target, amount) in enumerate(entry.flows):
        yield from svg.labelled_arrow(places[source], places[target], y + 20 + 28 * place, amount, svg.GREEN)
    for place, words in enumerate(claims):
        yield svg.text_at(svg.EDGE + 16, bottom + 16 + 18 * place, words, svg.FAINT)


def _in_words(entry: _Booked) -> str:
    flows = [
        f"{source.who} ({source.where}) → {target.who} ({target.where}): {amount}"
        for source, target, amount in entry.flows
    ]
    return "\n    ".join([f"{entry.title}, {entry.at}", *flows, *([", ".join(entry.claims)] if entry.claims else [])])


# Rows that belong together

_MATCHES, _BREAKS = 2, 6
"""The most rules of matches, and the most codes of breaks, that the picture shows."""
_LEFT, _RIGHT, _WIDE = svg.EDGE, 446, 238
_MATCH: Final = "match"
_Pair = tuple[str, str, str, str]
"""(key, amount in the ledger, verdict, amount in the statement); the amount of a missing row is empty."""


def _matched(matches: "pd.DataFrame") -> Iterator[_Pair]:
    """Yields the first match by each rule that has matches; the rule `key` comes first.

    The amounts of several rows of one side are added up.
    """
    firsts = matches.drop_duplicates("rule").sort_values("rule", key=lambda rules: rules != "key", kind="stable")
    for first in firsts.itertuples():
        together = matches[(matches["group"] == first.group) & (matches["account"] == first.account)]
        sides = [together[together["side"] == side] for side in ("ledger", "statement")]
        ours, theirs = (
            money_text(int(rows["signed_minor"].sum()), str(first.currency))
            + (f" ({len(rows)} rows)" if len(rows) > 1 else "")
            for rows in sides
        )
        yield str(first.group), ours, _MATCH, theirs


def _broken(breaks: "pd.DataFrame") -> Iterator[_Pair]:
    """Yields the first break of each code."""
    for row in breaks.drop_duplicates("code").to_dict("records"):
        # A row that cannot be read has neither key nor amount: a value that is no text or integer is missing.
        first: dict[str, Any] = {
            str(name): value if isinstance(value, str | int) else None for name, value in row.items()
        }
        ours, theirs = (
            "" if first["side"] == other
            else money_text(first[f"{side}_minor"], first["currency"])
            if first[f"{side}_minor"] is not None and first["currency"] is not None
            else "another currency" if first["side"] == "both" else "unreadable"
            for side, other in (("ledger", "statement"), ("statement", "ledger"))
        )  # fmt: skip
        yield first["key"] or "no key", ours, first["code"], theirs


def _pair(key: str, ours: str, verdict: str, theirs: str, y: int) -> Iterator[str]:
    """Draws two boxes with a line between them that has the verdict; the box of a missing row is empty."""
    for x, amount in ((_LEFT, ours), (_RIGHT, theirs)):
        yield svg.box(x, y, _WIDE, 34, svg.GROUND if amount else svg.PAPER, svg.INK if amount else svg.RULE)
        yield svg.text_at(x + 10, y + 21, svg.safe_text(key, 12) if amount else "no row", svg.FAINT)
        yield svg.text_at(x + _WIDE - 10, y + 21, amount, svg.INK, text_anchor="end")
    colour, dashes = (svg.GREEN, {}) if verdict == _MATCH else (svg.BAD, {"stroke_dasharray": "5 4"})
    yield svg.line(_LEFT + _WIDE, y + 17, _RIGHT, y + 17, colour, stroke_width=2, **dashes)
    yield svg.text_at((_LEFT + _WIDE + _RIGHT) / 2, y + 11, verdict, svg.INK, text_anchor="middle", **svg.HALO)
