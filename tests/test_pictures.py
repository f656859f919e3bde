"""The pictures: each tells what its table holds, in the drawing and in the text, on light and on dark paper."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal
from itertools import accumulate
from types import SimpleNamespace

import pandas as pd
import pytest

from workbench import Workbench, verify
from workbench.domain import payments
from workbench.domain.gaps import Gaps
from workbench.domain.ledger import BANK, FLOAT, IN_TRANSIT, KIND_BY_CODE, RECIPES
from workbench.domain.moments import span
from workbench.domain.money import Money, money_text
from workbench.domain.scenarios import LATE_S
from workbench.domain.signatures import SCHEMES
from workbench.pictures import MOST_ENTRIES, Pictures
from workbench.text.svg import Drawing

NUMBER = "+260961234567"
SVG = "{http://www.w3.org/2000/svg}"
NARROWEST = 5.5
"""Of a letter of the usual size in a narrow font."""


ORDER = {
    "open": {"charge.late_success": "settle", "charge.succeeded": "paid"}, "settle": {"charge.succeeded": "paid"},
    "paid": {"refund.succeeded": "refunded"},
}  # fmt: skip
MOVED = ("signed_minor", "ledger_minor", "statement_minor")


def minor(rows: list[dict[str, object]]) -> pd.DataFrame:
    """A frame whose amounts are whole numbers, missing ones too."""
    frame = pd.DataFrame(rows)
    return frame.astype({name: "Int64" for name in MOVED if name in frame})


RESULT = SimpleNamespace(
    matches=minor([
        {"rule": rule, "account": "bank", "group": group, "side": side, "signed_minor": signed, "currency": "ZMW"}
        for rule, group, side, signed in (
            ("many_to_one", "STL1", "ledger", 10_000), ("many_to_one", "STL1", "ledger", -500),
            ("many_to_one", "STL1", "statement", 9_500), ("key", "PAY1", "ledger", 123),
            ("key", "PAY1", "statement", 123),
            ("key", "PAY2", "ledger", 777), ("key", "PAY2", "statement", 777),
        )
    ]),
    breaks=minor([
        {"code": code, "key": key, "side": side, "ledger_minor": ledger, "statement_minor": theirs, "currency": "ZMW"}
        for code, key, side, ledger, theirs in (
            ("amount_mismatch", "PAY3", "both", 200, 250), ("amount_mismatch", "PAY4", "both", 1, 2),
            ("timing", "PAY5", "ledger", 4_200, None), ("missing_in_ledger", "PAY6", "statement", None, -67),
            ("invalid_row", None, "statement", None, None),
        )
    ]),
)  # fmt: skip


def paid(bench: Workbench, description: str = "Fern & <Co>") -> str:
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"), description=description)
    bench.client.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
    bench.phone(NUMBER).enter_pin("1234")
    return intent.id


class Shop:
    """A payment, cleared and swept; a refund; a payout."""

    def __init__(self) -> None:
        self.bench = Workbench(seed=7)
        self.payment = paid(self.bench)
        self.bench.clock.advance(days=1)
        self.bench.client.refunds.create(payment_intent=self.payment, amount=Decimal("20.00"))
        self.bench.clock.advance(days=1)
        self.bench.client.payouts.create(amount=Decimal("100.00"))
        self.bench.clock.advance(days=1)
        self.postings = [each for page in self.bench.untraced.postings() for each in page]

    @property
    def every(self) -> list[Drawing]:
        pictures = self.bench.pictures
        machines = [pictures.state_machine(each) for each in ("payment_intent", "charge", "refund", "payout")]
        drawings = [pictures.retry_timeline(), pictures.webhook(), pictures.money_flow()]
        lessons = [pictures.parties(), pictures.key_choice(), pictures.waiting(), pictures.pairs(RESULT)]
        return [*machines, *drawings, *lessons, pictures.transitions(ORDER)]


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    shop = Shop()
    yield shop
    shop.bench.close()


def drawn(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.svg)  # noqa: S314  our own text


def words_in(drawing: Drawing) -> list[str]:
    return [each.text or "" for each in drawn(drawing).iter(f"{SVG}text")]


def test_each_is_a_picture_of_one_width_with_a_text_and_needs_nothing_from_outside(shop: Shop):
    for each in shop.every:
        data, metadata = each._repr_mimebundle_()
        assert data == {"text/plain": repr(each), "image/svg+xml": each.svg}
        assert metadata == {"image/svg+xml": {"alt": repr(each)}}
        root = drawn(each)
        assert (root.get("role"), root.get("width")) == ("img", "700")
        assert root.findtext(f"{SVG}desc") == each.says
        assert each.svg.count("http") == 1
        assert [found for found in ("href", "url(", "<script", "@import", "<image") if found in each.svg] == []
    assert shop.every == shop.every, "the same facts give the same picture"


def test_no_text_is_small_or_longer_than_the_paper_and_every_colour_has_one_for_the_dark(shop: Shop):
    for drawing in shop.every:
        root = drawn(drawing)
        for each in root.iter(f"{SVG}text"):
            wide = len(each.text or "") * (7.25 if each.get("font-family") else NARROWEST)
            x, anchor = float(each.get("x", "0")), each.get("text-anchor")
            left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[str(anchor)]
            assert float(each.get("font-size", "0")) >= 12
            assert left >= 4, each.text
            assert left + wide <= 696, each.text
        rules = root.findtext(f"{SVG}style") or ""
        assert rules.startswith("@media screen and (prefers-color-scheme:dark)")
        used = {(name, each.get(name)) for each in root.iter() for name in ("fill", "stroke")}
        assert [
            name for name, colour in used if colour not in {None, "none"} and f'[{name}="{colour}"]{{' not in rules
        ] == []


@pytest.mark.parametrize("states", ["retryable", "failed"])
@pytest.mark.parametrize("late", ["suspense", "succeeds"])
def test_every_transition_is_a_line_with_its_event_and_a_row_of_the_text(states: str, late: str):
    with Workbench(seed=7, gaps={"intent_states": states, "late_success": late}) as bench:
        gaps = Gaps.chosen({"intent_states": states, "late_success": late})
        tables = {
            "payment_intent": payments.intent_transitions(gaps),
            "charge": payments.charge_transitions(gaps),
            "refund": payments.REFUND_TRANSITIONS,
            "payout": payments.PAYOUT_TRANSITIONS,
        }
        for of, transitions in tables.items():
            picture = bench.pictures.state_machine(of)
            words, rows = words_in(picture), [each.split() for each in picture.says.splitlines()]
            for (state, event), target in transitions.items():
                assert [state, event, target] in rows
            names = {*(state for state, _ in transitions), *transitions.values()}
            assert sorted(words[2:]) == sorted([*names, *(event for _, event in transitions)])
            starts = {(state, target) for (state, _), target in transitions.items()}
            assert picture.svg.count("<polyline") >= len(starts) + 1, "an arrow each, and the one that begins"


@pytest.mark.parametrize("schedule", [Gaps().retry_schedule_s, (0, *(1800,) * 48), (0,)])
def test_every_attempt_of_the_schedule_stands_in_the_timeline_with_its_moment(schedule: tuple[int, ...]):
    with Workbench(seed=7, gaps={"retry_schedule_s": schedule}) as bench:
        picture = bench.pictures.retry_timeline()
    words, dots = words_in(picture), [each.get("cx", "") for each in drawn(picture).iter(f"{SVG}circle")]
    for place, at in enumerate(accumulate(schedule), start=1):
        assert span(at, units=4) in words
        assert f"{place}  " in picture.says
        assert picture.says.count(span(at, units=4)) >= 1
    assert len(dots) == len(schedule)
    assert [int(each) for each in dots] == sorted(int(each) for each in dots)
    assert "20 %" in picture.says


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_webhook_that_is_drawn_verifies(scheme: str):
    with Workbench(seed=7, gaps={"signature_scheme": scheme}) as bench:
        with pytest.raises(ValueError, match="No message was accepted"):
            bench.pictures.webhook()
        paid(bench)
        arrival = bench.receiver.arrivals[-1]
        picture = bench.pictures.webhook()
        lines: dict[float, str] = {}
        for each in drawn(picture).iter(f"{SVG}text"):
            if each.get("font-family"):
                lines[float(each.get("y", "0"))] = lines.get(float(each.get("y", "0")), "") + (each.text or "")
        written = "".join(lines.values())
        body = written[written.index('{"id"') : written.rindex("}") + 1].encode()
        head = written[: written.index('{"id"')]
        names = SCHEMES[scheme].headers
        starts = [head.index(f"{name}: ") for name in names]
        ends = [*starts[1:], len(head)]
        headers = {
            name: head[start + len(name) + 2 : end] for name, start, end in zip(names, starts, ends, strict=True)
        }
        assert {name.lower(): value for name, value in headers.items()} == arrival.headers
        verify(body, headers, bench.receiver.secrets, now_s=bench.clock.now_ms // 1000, scheme=scheme)
        assert [each for each in headers.values() if each not in picture.says] == []
        assert body.decode() in picture.says
        assert str(bench.receiver.secrets[0]) not in picture.svg
        bench.receiver.receive(b"{}", arrival.headers)
        assert bench.pictures.webhook() == picture, "what was refused is passed over"


def test_a_key_or_a_number_in_a_text_of_the_merchant_is_masked():
    with Workbench(seed=7) as bench:
        key = str(bench.secret_key)
        paid(bench, f"{key[:38]} {NUMBER}")
        picture = bench.pictures.webhook()
        assert [each for each in (key[:20], NUMBER) if each in "".join([*words_in(picture), picture.says])] == []


def test_every_posting_of_a_payment_is_in_its_ledger_and_the_sides_are_equal(shop: Shop):
    data = shop.bench.pictures.ledger(shop.payment)._repr_mimebundle_()
    of_payment = [each for each in shop.postings if each.payment == shop.payment]
    assert {each.kind for each in of_payment} >= {"funds_secured", "refund_asked", "refund_sent"}
    total = money_text(sum(each.amount_minor for each in of_payment) // 2, "ZMW")
    for text in data.values():
        assert f"Debits {total} = credits {total}" in text
        for each in of_payment:
            assert text.count(f"#{each.number}  {Money(each.amount_minor, each.currency).plain}") >= 1
            assert f"{each.code} {each.account} (ZMW)" in text
            assert f"#{each.number} {each.kind}: " in text
    assert "white-space:pre" in data["text/html"], "a browser keeps the blanks between an entry and its amount"


def test_over_each_time_in_lusaka_stands_the_moment_in_utc(shop: Shop):
    entries = [each for page in shop.bench.untraced.entries() for each in page]
    hovers = [each.findtext(f"{SVG}title") for each in drawn(shop.bench.pictures.money_flow()).iter(f"{SVG}text")]
    moments = [each.occurred_at[:19].replace("T", " ") for each in entries[-MOST_ENTRIES:]]
    assert [each for each in hovers if each] == [f"{each} UTC" for each in moments]


def test_every_posting_of_the_ledger_is_in_the_flow_of_money(shop: Shop):
    picture = shop.bench.pictures.money_flow()
    words, text = (", ".join(lines).replace(",  ", ", ") for lines in (words_in(picture), picture.says.splitlines()))
    for each in shop.postings:
        kind, amount = KIND_BY_CODE[each.code], Money(each.amount_minor, each.currency).plain
        sign = "+" if each.side == kind.normal_side else "-"
        shown = f"K{amount}" if kind in {BANK, FLOAT, IN_TRANSIT} else f"{each.account} {sign}{amount}"
        assert f"{shown}, " in f"{words}, "
        assert f"{shown}, " in f"{text}, "
    for told in (
        "customer (wallet) → operator (float): K150.00",
        "operator (float) → operator (fees): K1.50",
        "operator (float) → operator (in transit): K148.50",
        "operator (in transit) → bank (settlement): K128.50",
        "bank (settlement) → merchant (bank account): K100.00",
        "operator (float) → customer (wallet): K20.00",
    ):
        assert told in picture.says
    assert {each.kind for each in shop.postings} <= set(RECIPES)


def test_rows_of_both_sides_stand_beside_each_other_with_the_verdict(shop: Shop):
    rows = [line.split("  ") for line in shop.bench.pictures.pairs(RESULT).says.splitlines()[3:]]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["PAY1", "K1.23", "match", "K1.23"],
        ["STL1", "K95.00 (2 rows)", "match", "K95.00"],
        ["PAY3", "K2.00", "amount_mismatch", "K2.50"],
        ["PAY5", "K42.00", "timing"],
        ["PAY6", "missing_in_ledger", "-K0.67"],
        ["no key", "invalid_row", "unreadable"],
    ]
    words = words_in(shop.bench.pictures.pairs(RESULT))
    assert words.count("no row") == 3
    assert not {"PAY2", "PAY4"} & {*words}, "one of each"


@pytest.mark.parametrize("gaps", [
    {}, {"idempotency_keeps_errors": "none"}, {"reused_key_status": 409, "prompt_timeout_s": 60},
    {"prompt_timeout_s": 600},
])  # fmt: skip
def test_the_rules_that_are_drawn_are_those_of_the_register(gaps: dict[str, object]):
    with Workbench(seed=7, gaps=gaps) as bench:
        in_force, keys, waits = Gaps.chosen(gaps), bench.pictures.key_choice(), bench.pictures.waiting()
        assert ("5xx? It is kept under its key." in words_in(keys)) is (in_force.idempotency_keeps_errors == "declines")
        # A request that failed after the customer has paid would be carried out again, if no 5xx is kept.
        assert "look for a charge with" in keys.says
        assert f"{in_force.reused_key_status}, the key was used for another request?" in words_in(keys)
        assert span(in_force.prompt_timeout_s) in words_in(waits)
        assert span(max(payments.offer_again_s(in_force), in_force.prompt_timeout_s + LATE_S)) in words_in(waits)
        dots = [float(each.get("cx", "")) for each in drawn(waits).iter(f"{SVG}circle")]
        assert dots == sorted(dots)
        assert len(dots) == 5
        for response in keys, waits:
            assert {*words_in(response)} & {
                cell.strip() for row in response.says.splitlines() for cell in row.split("  ")
            }


def test_what_a_program_keeps_is_drawn_from_its_own_table(shop: Shop):
    picture = shop.bench.pictures.transitions(ORDER)
    assert "States of an order. It begins as open; final: refunded." in picture.says
    assert {"open", "settle", "paid", "refunded", "charge.late_success"} <= {*words_in(picture)}
    circle = shop.bench.pictures.transitions({"on": {"press": "off"}, "off": {"press": "on"}})
    assert "It begins as on; final: none." in circle.says
    with pytest.raises(ValueError, match="no transition"):
        shop.bench.pictures.transitions({"open": {}})


def test_of_many_entries_the_last_are_drawn_and_an_empty_ledger_says_so(shop: Shop):
    with Workbench(seed=7) as bench:
        assert "Nothing is booked yet." in words_in(bench.pictures.money_flow())
        assert repr(bench.pictures.ledger("pi_<none>")) == "The ledger of pi_<none>\nNo entry names it."
        assert "pi_&lt;none&gt;" in bench.pictures.ledger("pi_<none>").html
        for _ in range(13):
            paid(bench)
        flow = bench.pictures.money_flow()
        assert "the last 12 of 13 entries" in flow.says
        assert [each.split()[0] for each in words_in(flow) if each[0] == "#"] == [f"#{place}" for place in range(2, 14)]
    assert repr(shop.bench.pictures) == f"Pictures({', '.join(sorted(n for n in vars(Pictures) if n[0] != '_'))})"
    with pytest.raises(ValueError, match="payment_intent, charge, refund, payout, not 'order'"):
        shop.bench.pictures.state_machine("order")
