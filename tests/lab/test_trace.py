"""The trace: its table, diagram and exchanges, the record that it leaves, and what is kept back in each."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Workbench
from workbench.domain.wire.ledger_and_trace import KINDS
from workbench.errors import InvalidRequest
from workbench.text.diagram import LANES, LEDGER, MERCHANT, PHONE, RECEIVER, SERVICE, SequenceDiagram, clock_of, utc_of
from workbench.text.svg import IN_THE_DARK, INK
from workbench.traffic.trace import Exchange, Trace, saved_console

NUMBER = "+260961234567"
SVG = "{http://www.w3.org/2000/svg}"


class Shop:
    """A payment with a wrong PIN, refunded a day later; a charge; a payout."""

    def __init__(self) -> None:
        self.bench = Workbench(seed=7)
        pay = self.bench.client
        self.intent = pay.payment_intents.create(amount=Decimal("150.00"), description="Fern & <Co>")
        pay.payment_intents.confirm(self.intent.id, phone=NUMBER, provider="mtn")
        self.bench.phone(NUMBER).enter_pin("0000").enter_pin("1234")
        self.bench.clock.advance(days=1)
        self.refund = pay.refunds.create(payment_intent=self.intent.id, amount=Decimal("20.00"))
        self.charge = pay.charges.create(amount=500, channel="mtn", phone="+260961234568", idempotency_key="k-1")
        self.payout = pay.payouts.create(amount=Decimal("1.00"))
        self.bench.clock.advance(days=1)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    shop = Shop()
    yield shop
    shop.bench.close()


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  our own text


def words_in(svg: str) -> list[str]:
    return [each.text or "" for each in drawn(svg).iter(f"{SVG}text")]


def pictures(html: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", html, re.DOTALL)


class TestWhichRows:
    def test_a_payments_rows_are_of_every_kind_and_those_of_its_refund_and_charge_too(self, shop: Shop):
        trace = shop.bench.trace
        whole = list(trace.for_(shop.intent.id))
        assert {row["kind"] for row in whole} == set(KINDS)
        assert shop.refund.charge
        assert list(trace.for_(shop.refund.id)) == list(trace.for_(str(shop.refund.charge))) == whole
        for each in (shop.charge, shop.payout):
            rows = trace.for_(each.id)
            assert {row["payment"] for row in rows} == {each.id}
            assert {"call", "entry", "webhook"} <= {row["kind"] for row in rows}
        assert [len(trace.for_(each)) for each in ("pi_none", "", "1")] == [0, 0, 0]
        assert {row["kind"] for row in trace.only("screen", "entry")} == {"screen", "entry"}
        with pytest.raises(ValueError, match="call, screen, entry, webhook, not calls"):
            trace.only("calls")


class TestTheDiagram:
    def test_its_steps_are_the_rows(self, shop: Shop):
        steps = shop.bench.trace.for_(shop.intent.id).sequence.steps
        found = [(step.source, step.target, step.label, step.response) for step in steps]
        path = f"POST /v1/payment_intents/{shop.intent.id[:9]}…/confirm"
        assert found[2] == (MERCHANT, SERVICE, path, "200 requires_action")
        assert found[3] == (SERVICE, PHONE, "Pay K150.00 to PLANT STORE Ref: Fern & <Co>", "")
        assert found[6] == (PHONE, SERVICE, "PIN ••••", "Approved. K150.00 paid to PLANT STORE.")
        assert found[7] == (SERVICE, LEDGER, "K150.00 received through mtn", "")
        assert found[8] == (SERVICE, RECEIVER, "payment_intent.processing", "200")
        assert len(found) == len(shop.bench.trace.for_(shop.intent.id))

    def test_all_that_is_told_stands_in_the_picture_which_needs_nothing_from_outside(self, shop: Shop):
        sequence = shop.bench.trace.for_(shop.intent.id).sequence
        told = repr(sequence).splitlines()
        texts = [*LANES, *(text for step in sequence.steps for text in (step.label, step.response))]
        for picture in (sequence.svg, *pictures(shop.bench.trace.for_(shop.intent.id).saved.html)):
            # A long text goes on in another line, broken at a blank or a slash.
            run_on = "".join(words_in(picture)).replace(" ", "")
            assert [each for each in texts if each.replace(" ", "") not in run_on] == []
        assert int(drawn(sequence.svg).get("width", "0")) == 700, "five lanes fit beside each other on a page"
        assert len(told) == len(sequence.steps) + 3
        data, metadata = sequence._repr_mimebundle_()
        assert set(data) == {"text/plain", "image/svg+xml"}
        tight = sequence.tight
        assert metadata["image/svg+xml"] == {"alt": data["text/plain"], "tight": tight}
        assert (drawn(tight).get("width"), drawn(tight).findtext(f"{SVG}desc")) == (
            "360",
            drawn(sequence.svg).findtext(f"{SVG}desc"),
        )
        assert [each for each in (str(shop.bench.secret_key), NUMBER) if each in tight] == []
        svg = shop.bench.trace.sequence.svg
        hidden = [shop.bench.secret_key, shop.intent.client_secret, NUMBER]
        assert [str(each) for each in hidden if str(each) in svg + repr(shop.bench.trace.sequence)] == []
        written = " ".join([*words_in(svg), drawn(svg).findtext(f"{SVG}desc", ""), repr(shop.bench.trace.sequence)])
        assert [pin for pin in ("0000", "1234") if pin in written] == []
        root = drawn(svg)
        assert (root.get("role"), bool(root.get("aria-label"))) == ("img", True)
        assert [each.tag for each in root][:4] == [f"{SVG}{name}" for name in ("title", "desc", "style", "rect")]
        assert "customer's phone" in (root[1].text or "")
        assert root[3].get("fill", "").startswith("#"), "a background of its own, on a dark page too"
        assert [each for each in ("href", "url(", "<script", "@import", "<image") if each in svg] == []
        assert svg.count("http") == svg.count('xmlns="http://www.w3.org/2000/svg"')

    def test_over_each_time_in_lusaka_stands_the_moment_in_utc(self, shop: Shop):
        sequence = shop.bench.trace.sequence
        times = {clock_of(step.at)[11:]: utc_of(step.at) for step in sequence.steps}
        days = {clock_of(step.at)[:10]: utc_of(step.at) for step in reversed(sequence.steps)}
        assert times["08:00:00"].endswith(" 06:00:00 UTC")
        for picture in (sequence.svg, sequence.tight):
            texts = [(each.text, each.findtext(f"{SVG}title")) for each in drawn(picture).iter(f"{SVG}text")]
            assert {text: hover for text, hover in texts if hover} == times | days

    def test_a_key_that_stands_in_a_text_of_the_merchant_is_masked_in_every_row(self):
        with Workbench(seed=7) as bench:
            key, signing = str(bench.secret_key), "whsec_" + "A1b2" * 8
            intent = bench.client.payment_intents.create(amount=Decimal("1.00"), description=f"{key[:38]} {NUMBER}")
            bench.client.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
            handset = bench.phone(NUMBER)
            asked = [repr(handset), handset._repr_mimebundle_()["text/html"]]
            handset.enter_pin("1234")
            booked = {"recipe": "unknown_credit", "amount_minor": 5, "account": "operator:mtn:float", "reference": "r"}
            bench.http.post(
                "/sandbox/ledger/entries",
                json={**booked, "description": f"by {signing}"},
                headers={"Authorization": f"Bearer {key}"},
            ).raise_for_status()
            trace = bench.trace
            told = [repr(trace), repr(trace.sequence), trace.sequence.svg, json.dumps(list(trace), ensure_ascii=False)]
        assert {"screen", "entry"} <= {row["kind"] for row in trace}
        hidden = [key[:20], signing[:12], NUMBER]
        assert all("sk_test_••••" in each for each in asked)
        assert [(place, each) for place, text in enumerate([*told, *asked]) for each in hidden if each in text] == []
        assert "Ref: sk_test_••••" in told[3]
        assert "whsec_••••" in told[0]

    def test_of_thousands_of_rows_the_last_are_drawn_and_it_says_so(self, shop: Shop):
        rows = list(shop.bench.trace) * 200
        sequence = Trace(rows).sequence
        assert len(sequence.steps) == 60
        note = f"the last 60 of {len(rows):,} steps"
        assert any(each.startswith(note) for each in words_in(sequence.svg))
        assert note in words_in(sequence.tight)
        assert note in repr(sequence)
        assert "the last" not in repr(SequenceDiagram(rows[:60]))
        prompt = next(row for row in rows if row["kind"] == "screen")
        ignored = {**prompt, "detail": {"words": "MTN MoMo\nLeft unanswered", "pressed": "ignore"}}
        step = SequenceDiagram([ignored]).steps[0]
        assert (step.source, step.target, step.label, step.response) == (PHONE, SERVICE, "Left unanswered", "")
        assert drawn(SequenceDiagram([]).svg).get("role") == "img"

    @settings(deadline=None)
    @given(what=st.text(max_size=200), words=st.text(max_size=200), kind=st.sampled_from(KINDS))
    def test_whatever_a_text_holds_it_is_xml_of_bounded_width(self, what: str, words: str, kind: str):
        detail: dict[str, Any] = {
            "words": words, "pressed": None, "response": {"status": 200, "body": words},
        }  # fmt: skip
        row = {
            "seq": 1,
            "at": "2026-01-05T06:00:00.000Z",
            "kind": kind,
            "what": what,
            "result": words,
            "detail": detail,
        }
        trace = Trace([row])
        for svg in (trace.sequence.svg, *pictures(trace.saved.html)):
            assert svg.encode()
            assert int(drawn(svg).get("width", "0")) in {700, 360}


class TestTheRecord:
    def test_html_and_text_tell_the_same_without_a_script_and_in_both_schemes(self, shop: Shop):
        trace = shop.bench.trace.for_(shop.intent.id)
        text, html = trace.saved
        assert trace._repr_mimebundle_() == {"text/plain": text, "text/html": html}
        for fact in (
            "Ledger",
            "Debits K206.55 = credits K206.55",
            "1100 operator:mtn:float (ZMW)",
            "(1)  150.00",
            "143.55",
            "to PLANT STORE.",
            "K150.00 paid",
        ):
            assert fact in text
            assert fact in html
        assert re.sub(r"<[^>]+>", "", html.partition("<details>")[2]).count("2026-01-06 08:00:0") == text.count(
            "2026-01-06 08:00:0"
        ), "the table has every row of the text"
        assert "<p><strong>Ledger</strong></p><div>(1) K150.00 received" in html, "a long list of entries is not bold"
        hidden = [shop.bench.secret_key, shop.intent.client_secret, NUMBER]
        assert [str(each) for each in hidden if str(each) in html + text] == []
        assert [pin for pin in ("0000", "1234") if pin in text + re.sub(r"<[^>]+>", "", html)] == []
        assert [each for each in ("<script", "href", "url(", "@import", "onclick") if each in html] == []
        assert f"--wb-ink:light-dark({INK},{IN_THE_DARK[INK]})" in html
        assert [each for each in IN_THE_DARK if f'"{each}"' in html] == [], "all colours are those of a scheme"

    def test_where_no_money_moved_there_is_no_ledger_and_where_nobody_was_asked_no_phone(self):
        with Workbench(seed=7) as bench:
            intent = bench.client.payment_intents.create(amount=1)
            asked_nobody = bench.trace.for_(intent.id).saved
            bench.client.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
            asked = bench.trace.for_(intent.id).saved
            bench.phone(NUMBER).cancel()
        for shown in asked_nobody:
            assert "Ledger" not in shown
            assert not re.search("╭|wb-receipt", shown)
        for shown in asked:
            assert "Ledger" not in shown
            assert "Enter PIN to approve:" in shown
        assert "Canceled." not in asked.text, "a record stays as it was"

    def test_where_somebody_looks_one_sentence_names_the_console_and_no_widget_is_shown(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ):
        html = shop.bench.trace._repr_mimebundle_()["text/html"]
        monkeypatch.setenv("JPY_SESSION_NAME", "somebody's.ipynb")
        live = shop.bench.trace._repr_mimebundle_()
        assert {*live} == {"text/plain", "text/html"}
        assert live["text/html"].removeprefix(html).count("bench.console()") == 1

    def test_a_console_leaves_the_payments_and_the_record_of_the_newest(self, shop: Shop):
        with Workbench(seed=7) as bench:
            assert saved_console(bench.untraced) == ("No payment was made yet.", "<p>No payment was made yet.</p>")
        before = len(shop.bench.trace)
        text, html = saved_console(shop.bench.untraced)
        assert len(shop.bench.trace) == before, "looking leaves no trace"
        newest = shop.bench.trace.for_(shop.charge.id).saved
        assert text.endswith(newest.text)
        assert html.endswith(newest.html)
        listed = text.splitlines()[3:5]
        assert [line.split()[2] for line in listed] == ["K5.00", "K150.00"]
        assert "part_refunded" in listed[1]
        assert "Fern & <Co>" in listed[1]
        assert "Fern &amp; &lt;Co&gt;" in html


class TestTheInspector:
    def test_what_was_masked_is_yours_to_fill_in_and_a_number_is_put_back_by_its_name(self, shop: Shop):
        exchange = next(each for each in shop.bench.trace.exchanges if "/confirm" in each.request)
        assert exchange.python.startswith("# Replace what is masked")
        assert NUMBER not in exchange.python + exchange.curl
        whole = exchange.unmasked(NUMBER)
        assert all(NUMBER in each and "•" not in each for each in (whole.python, whole.httpx, whole.curl))
        assert NUMBER not in exchange.curl
        searched = Exchange({"detail": {"target": "GET /v1/events?search=%2B26096••••567"}})
        assert "search=%2B260961234567" in searched.unmasked(NUMBER).request
        with pytest.raises(InvalidRequest, match="number"):
            exchange.unmasked("+260961234999")

    def test_each_credential_is_named(self):
        with Workbench(seed=7) as bench:
            bench.client.charges.create(amount=1, channel="mtn", phone=NUMBER, idempotency_key="k")
            token = bench.client.auth.token(email="a@example.com", password="any").access_token
            intent = bench.client_with(token).payment_intents.create(amount=1)
            app = bench.client_with(bench.publishable_key)
            app.payment_intents.retrieve(intent.id, client_secret=intent.client_secret)
            bench.http.get("/v1/balance")
            basic, none, bearer, publishable, bare = (each.curl for each in bench.trace.exchanges[1:])
            diagram = bench.trace.sequence
        assert '-u "$SECRET_KEY:"' in basic
        assert any(each.startswith("✗ 401 ") for each in words_in(diagram.svg)), (
            "what went wrong is told by a cross too"
        )
        assert "✗ 401" in repr(diagram)
        assert "Authorization" not in none + bare
        assert "Content-Type" in basic
        assert "Content-Type" not in bare + publishable
        assert "$PASSWORD" in none
        assert "Bearer $ACCESS_TOKEN" in bearer
        assert "Bearer $PUBLISHABLE_KEY" in publishable
        assert "client_secret=$CLIENT_SECRET" in publishable

    def test_a_served_exchange_tells_what_went_over_the_wire(self):
        with (
            Workbench(seed=7) as bench,
            bench.serve() as served,
            Workbench.connect(served.base_url, served.secret_key) as other,
        ):
            other.client.balance.retrieve()
            exchange = other.trace.exchanges[-1]
            assert exchange.request.startswith("GET /v1/balance HTTP/1.1\n")
            assert exchange.response.startswith("HTTP/1.1 200 OK\n")
            assert exchange.curl.startswith(f"curl -X GET {served.base_url}/v1/balance")
