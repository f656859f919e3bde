"""The trace as a table, a sequence diagram and single exchanges: what is shown, and what is kept back."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Workbench
from workbench.calls import Latencies
from workbench.errors import InvalidRequest
from workbench.trace import KINDS, Exchange, Trace, TraceContext
from workbench.trace.diagram import LEDGER, MERCHANT, PHONE, RECEIVER, SERVICE, SequenceDiagram

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


@pytest.fixture(autouse=True)
def _unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  our own text


def words_in(svg: str) -> list[str]:
    return [each.text or "" for each in drawn(svg).iter(f"{SVG}text")]


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
        assert found[3] == (SERVICE, PHONE, "Pay ZMW 150.00 to PLANT STORE Ref: Fern & <Co>", "")
        assert found[6] == (PHONE, SERVICE, "PIN ••••", "Approved. ZMW 150.00 paid to PLANT STORE.")
        assert found[7] == (SERVICE, LEDGER, "ZMW 150.00 received through mtn", "")
        assert found[8] == (SERVICE, RECEIVER, "payment_intent.processing", "200")
        assert len(found) == len(shop.bench.trace.for_(shop.intent.id))

    def test_all_that_is_told_stands_in_the_picture_which_needs_nothing_from_outside(self, shop: Shop):
        sequence = shop.bench.trace.for_(shop.intent.id).sequence
        words, told = words_in(sequence.svg), repr(sequence).splitlines()
        for step in sequence.steps:
            assert step.label in words
            assert step.response in {*words, ""}
        assert len(told) == len(sequence.steps) + 3
        data, metadata = sequence._repr_mimebundle_()
        assert set(data) == {"text/plain", "image/svg+xml"}
        assert metadata["image/svg+xml"]["alt"] == data["text/plain"]
        svg = shop.bench.trace.sequence.svg
        hidden = [shop.bench.secret_key, shop.intent.client_secret, NUMBER, "0000", "1234"]
        assert [str(each) for each in hidden if str(each) in svg + repr(shop.bench.trace.sequence)] == []
        root = drawn(svg)
        assert (root.get("role"), bool(root.get("aria-label"))) == ("img", True)
        assert [each.tag for each in root][:3] == [f"{SVG}title", f"{SVG}desc", f"{SVG}rect"]
        assert "customer's phone" in (root[1].text or "")
        assert root[2].get("fill", "").startswith("#"), "a background of its own, on a dark page too"
        assert [each for each in ("href", "url(", "<script", "<style", "@import", "<image") if each in svg] == []
        assert svg.count("http") == svg.count('xmlns="http://www.w3.org/2000/svg"')

    def test_a_key_that_stands_in_a_text_of_the_merchant_is_masked_in_every_row(self):
        with Workbench(seed=7) as bench:
            key, signing = str(bench.secret_key), "whsec_" + "A1b2" * 8
            intent = bench.client.payment_intents.create(amount=Decimal("1.00"), description=f"{key[:38]} {NUMBER}")
            bench.client.payment_intents.confirm(intent.id, phone=NUMBER, provider="mtn")
            handset = bench.phone(NUMBER)
            asked = [repr(handset), str(handset.widget.view)]
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
        assert note in repr(sequence)
        assert "the last" not in repr(SequenceDiagram(rows[:60]))
        prompt = next(row for row in rows if row["kind"] == "screen")
        ignored = {**prompt, "detail": {"words": "MTN MoMo\nLeft unanswered", "pressed": "ignore"}}
        assert SequenceDiagram([ignored]).steps[0][2:6] == (PHONE, SERVICE, "Left unanswered", "")
        assert drawn(SequenceDiagram([]).svg).get("role") == "img"

    @settings(deadline=None)
    @given(what=st.text(max_size=200), words=st.text(max_size=200), kind=st.sampled_from(KINDS))
    def test_whatever_a_text_holds_it_is_xml_of_bounded_width(self, what: str, words: str, kind: str):
        detail: dict[str, Any] = {
            "words": words, "pressed": None, "response": {"status": 200, "body": words},
        }  # fmt: skip
        row = {"at": "2026-01-05T06:00:00.000Z", "kind": kind, "what": what, "result": words, "detail": detail}
        svg = Trace([row]).sequence.svg
        assert svg.encode()
        assert 0 < int(drawn(svg).get("width", "0")) < 1200


class TestTheInspector:
    def test_what_was_masked_is_yours_to_fill_in_and_a_number_is_put_back_by_its_name(self, shop: Shop):
        exchange = next(each for each in shop.bench.trace.exchanges if "/confirm" in each.request)
        assert exchange.python.startswith("# What is masked")
        assert NUMBER not in exchange.python + exchange.curl
        whole = exchange.unmasked(NUMBER)
        assert all(NUMBER in each and "•" not in each for each in (whole.python, whole.httpx, whole.curl))
        assert NUMBER not in exchange.curl
        searched = Exchange({"detail": {"target": "GET /v1/events?search=%2B26096••••567"}}, TraceContext())
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

    def test_a_served_exchange_tells_how_long_it_took_to_its_caller_where_somebody_looks(
        self, monkeypatch: pytest.MonkeyPatch
    ):
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
            assert "answered in" not in exchange._repr_mimebundle_()["text/html"], "no two runs differ"
            monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
            assert 0 <= (other.trace.exchanges[-1].latency_ms or -1) < 10_000
            assert "answered in" in other.trace.exchanges[-1]._repr_mimebundle_()["text/html"]
            assert bench.trace.exchanges[-1].latency_ms is None

    def test_only_the_latest_latencies_are_kept(self):
        latencies = Latencies(kept=2)
        with Workbench(seed=7) as bench:
            latencies.watch(bench.http)
            ids = [bench.http.get("/v1/balance").headers["Request-Id"] for _ in range(3)]
        assert [latencies.of(each) is None for each in ids] == [True, False, False]
