"""The trace: its table, diagram and exchanges, its board in JupyterLab, and what is kept back in each."""

import json
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from workbench.lab.board import Board
from workbench.lab.trace_board import payment_board, trace_board

from workbench import Workbench
from workbench.calls import Latencies
from workbench.errors import InvalidRequest
from workbench.lab import trace_board as trace_part
from workbench.render import is_live
from workbench.steps import LEDGER, MERCHANT, PHONE, RECEIVER, SERVICE
from workbench.trace import KINDS, Exchange, Trace, TraceContext
from workbench.trace.diagram import SequenceDiagram, clock_of, utc_of

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
        assert found[3] == (SERVICE, PHONE, "Pay K150.00 to PLANT STORE Ref: Fern & <Co>", "")
        assert found[6] == (PHONE, SERVICE, "PIN ••••", "Approved. K150.00 paid to PLANT STORE.")
        assert found[7] == (SERVICE, LEDGER, "K150.00 received through mtn", "")
        assert found[8] == (SERVICE, RECEIVER, "payment_intent.processing", "200")
        assert len(found) == len(shop.bench.trace.for_(shop.intent.id))

    def test_all_that_is_told_stands_in_the_picture_which_needs_nothing_from_outside(self, shop: Shop):
        sequence = shop.bench.trace.for_(shop.intent.id).sequence
        words, told = words_in(sequence.svg), repr(sequence).splitlines()
        # A long text goes on in another line, broken at a blank or a slash.
        run_on = "".join(words).replace(" ", "")
        for step in sequence.steps:
            assert all(each.replace(" ", "") in run_on for each in (step.label, step.response))
        assert int(drawn(sequence.svg).get("width", "0")) < 930, "five lanes fit beside each other on a page"
        assert len(told) == len(sequence.steps) + 3
        data, metadata = sequence._repr_mimebundle_()
        assert set(data) == {"text/plain", "image/svg+xml"}
        assert metadata["image/svg+xml"]["alt"] == data["text/plain"]
        svg = shop.bench.trace.sequence.svg
        hidden = [shop.bench.secret_key, shop.intent.client_secret, NUMBER, "0000", "1234"]
        assert [str(each) for each in hidden if str(each) in svg + repr(shop.bench.trace.sequence)] == []
        root = drawn(svg)
        assert (root.get("role"), bool(root.get("aria-label"))) == ("img", True)
        assert [each.tag for each in root][:4] == [f"{SVG}{name}" for name in ("title", "desc", "style", "rect")]
        assert "customer's phone" in (root[1].text or "")
        assert root[3].get("fill", "").startswith("#"), "a background of its own, on a dark page too"
        assert [each for each in ("href", "url(", "<script", "@import", "<image") if each in svg] == []
        assert svg.count("http") == svg.count('xmlns="http://www.w3.org/2000/svg"')

    def test_over_each_time_in_lusaka_stands_the_moment_in_utc(self, shop: Shop):
        sequence = shop.bench.trace.sequence
        texts = [(each.text, each.findtext(f"{SVG}title")) for each in drawn(sequence.svg).iter(f"{SVG}text")]
        hovers = {text: hover for text, hover in texts if hover}
        times = {clock_of(each.at)[11:]: utc_of(each.at) for each in sequence.steps}
        assert hovers == times
        assert hovers["08:00:00"].endswith(" 06:00:00 UTC")

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
        svg = Trace([row]).sequence.svg
        assert svg.encode()
        assert 0 < int(drawn(svg).get("width", "0")) < 1200


class TestTheInspector:
    def test_what_was_masked_is_yours_to_fill_in_and_a_number_is_put_back_by_its_name(self, shop: Shop):
        exchange = next(each for each in shop.bench.trace.exchanges if "/confirm" in each.request)
        assert exchange.python.startswith("# Replace what is masked")
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


SOON_S = 1.0
VIEW = "application/vnd.jupyter.widget-view+json"
PAGE = 12


@pytest.fixture
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a few payments fill."""
    monkeypatch.setattr(trace_part, "PAGE", PAGE)


def paid(bench: Workbench, amount: str = "150.00") -> str:
    made = bench.client.payment_intents.create(amount=Decimal(amount), description="<b>Monstera</b>")
    bench.client.payment_intents.confirm(made.id, phone=NUMBER, provider="mtn")
    bench.phone(NUMBER).enter_pin("1234")
    return made.id


def board_of(bench: Workbench, trace: Trace | None = None, form: str = "table") -> Board:
    board = trace_board(bench.trace if trace is None else trace, bench)
    board.do("trace", "show", form)
    return board


def seen(board: Board) -> dict[str, Any]:
    widget: Any = board.widget
    board.refresh()
    return json.loads(json.dumps(widget.view["sections"][0]))


def items(board: Board, kind: str) -> list[dict[str, Any]]:
    return [each for each in seen(board)["items"] if each["kind"] == kind]


def rows(board: Board) -> list[dict[str, Any]]:
    return items(board, "grid")[0].get("rows", [])


def ids(board: Board) -> list[str]:
    return [row["id"] for row in rows(board)]


def shown(board: Board) -> list[str]:
    """The rows that the browser holds, without asking for more."""
    widget: Any = board.widget
    grid = next(each for each in widget.view["sections"][-1]["items"] if each["kind"] == "grid")
    return [row["id"] for row in grid.get("rows", [])]


def seqs(trace: Trace) -> list[str]:
    return [str(row["seq"]) for row in trace]


def test_the_table_is_that_of_the_text_and_every_row_unfolds_and_folds_up_again(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JPY_SESSION_NAME", "somebody's.ipynb")
    paid(bench)
    board = board_of(bench)
    told = repr(bench.trace).splitlines()[3:]
    assert [" ".join(row["cells"]).split() for row in rows(board)] == [line.split() for line in told]
    assert (rows(board)[0]["cells"][1], rows(board)[0]["hovers"][1]) == (
        "2026-01-05 08:00:00", "2026-01-05 06:00:00 UTC",
    )  # fmt: skip
    html = bench.trace[:1]._repr_mimebundle_()["text/html"]
    assert '<td title="2026-01-05 06:00:00 UTC" style="text-align:left">2026-01-05 08:00:00</td>' in str(html)
    beneath = {}
    for row in rows(board):
        board.do("trace", "unfold", row["id"])
        (unfolded,) = [each for each in rows(board) if each.get("beneath")]
        beneath[row["cells"][3]] = unfolded["beneath"]
        board.do("trace", "unfold", unfolded["id"])
        assert not any(each.get("beneath") for each in rows(board))
    call = json.dumps(beneath["POST /v1/payment_intents"], ensure_ascii=False)
    parts = ("POST /v1/payment_intents HTTP/1.1", "HTTP/1.1 200 OK", "curl ", "bench.http", "answered in")
    assert [part for part in parts if part not in call] == []
    assert str(bench.secret_key) not in json.dumps(list(beneath.values()))
    monkeypatch.delenv("JPY_SESSION_NAME")
    board.do("trace", "unfold", rows(board)[1]["id"])
    assert "answered in" not in json.dumps(rows(board)), "no two runs differ"
    sides = [line["cells"] for line in beneath["K150.00 received through mtn"][0]["rows"]]
    assert [sum(Decimal(cells[side] or 0) for cells in sides) for side in (1, 2)] == [Decimal("151.50")] * 2


def test_one_payment_and_one_kind_can_be_chosen_and_not_what_there_is_not(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    first, second = paid(bench), paid(bench, "20.00")
    board = board_of(bench)
    options = items(board, "form")[0]["fields"][0]["options"]
    assert [value for value, _ in options] == ["", second, first]
    for values in ({"payment": "pi_unknown", "of_kind": "nothing"}, {}):
        board.do("trace", "follow", **values)
        assert len(rows(board)) == len(bench.trace)
    board.do("trace", "follow", payment=first, of_kind="entry")
    assert [row["cells"][3] for row in rows(board)] == ["K150.00 received through mtn"]
    saved = board.do("trace", "save", "SVG")
    assert saved
    assert saved.download
    assert "K150.00" in saved.download.text
    assert "K20.00" not in saved.download.text
    monkeypatch.setattr(trace_part, "MOST_PAYMENTS", 1)
    assert [value for value, _ in items(board, "form")[0]["fields"][0]["options"]] == ["", second, first], "the chosen"
    board.do("trace", "follow", payment="", of_kind="entry")
    assert len(rows(board)) == 2
    assert [value for value, _ in items(board, "form")[0]["fields"][0]["options"]] == ["", second]


def test_a_picture_has_every_step_that_is_shown(bench: Workbench):
    for _ in range(9):
        paid(bench)
    saved = board_of(bench, form="diagram").do("trace", "save", "SVG")
    assert saved
    assert saved.download
    assert saved.text == "trace.svg: all steps."
    assert saved.download.text.count("<polygon") > len(bench.trace) > 80, "more than a notebook draws"


@pytest.mark.usefixtures("_short_pages")
def test_long_traces_are_turned_page_by_page(bench: Workbench):
    for _ in range(4):
        paid(bench, "1.00")
    board, every = board_of(bench), seqs(bench.trace)
    assert ids(board) == every[-PAGE:]
    board.do("trace", "turn", "older")
    assert ids(board) == every[-2 * PAGE : -PAGE]
    for where, expected in (("older", every[:PAGE]), ("newer", every[-PAGE:])):
        for _ in range(9):
            board.do("trace", "turn", where)
        assert ids(board)[0] == expected[0]
    assert ids(board) == every[-PAGE:]
    empty = board_of(bench, bench.trace[:0], "diagram")
    assert (rows(empty), items(empty, "split")) == ([], [])


def test_it_is_live_only_where_somebody_looks_and_nothing_of_it_is_saved(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    first = paid(bench)
    assert not is_live()
    assert set(bench.trace._repr_mimebundle_()) == {"text/plain", "text/html"}
    for widget in (board_of(bench).widget, bench.desk().widget, bench.dashboard().widget):
        state = json.dumps({name: value for name, value in widget.get_state().items() if name not in {"_esm", "_css"}})
        assert NUMBER not in state
        assert "Monstera" not in state
        assert widget.view["sections"]
    monkeypatch.setenv("JPY_SESSION_NAME", "somebody's.ipynb")
    assert VIEW in bench.trace._repr_mimebundle_()
    assert VIEW in bench.trace.for_(first)._repr_mimebundle_()


def piece(board: Board) -> dict[str, Any]:
    """The diagram and its drawer."""
    (split,) = items(board, "split")
    return split


def bands(board: Board) -> dict[str, list[str]]:
    """The steps that are unfolded, by their payments."""
    found = piece(board)["items"][0]["bands"]
    return {band["id"]: [arrow["id"] for arrow in band.get("arrows", [])] for band in found}


def buttons(board: Board) -> list[str]:
    return [each["label"] for each in items(board, "actions")[0]["actions"]]


class TestTheDiagramToTouch:
    def test_a_payments_steps_stand_in_a_band_that_folds(self, bench: Workbench):
        made = [paid(bench, "1.00") for _ in range(4)]
        bench.client.refunds.create(payment_intent=made[0], amount=Decimal("1.00"))
        board = board_of(bench, form="diagram")
        trace = bench.trace
        expected = {each: [str(row["seq"]) for row in trace if row["payment"] == each] for each in bands(board)}
        assert {*made} < {*expected}
        latest = [*expected][-3:]
        assert bands(board) == {each: rows if each in latest else [] for each, rows in expected.items()}
        board.do("trace", "fold", made[0])
        board.do("trace", "fold", latest[-1])
        assert bands(board)[made[0]] == expected[made[0]]
        assert bands(board)[latest[-1]] == []
        before = bands(board)
        paid(bench)
        assert {each: rows for each, rows in bands(board).items() if each in before and each not in latest} == {
            each: rows for each, rows in before.items() if each not in latest
        }, "what somebody chose stays"
        for label, is_open in (("Fold all", False), ("Unfold all", True)):
            assert label in buttons(board)
            board.do("trace", "fold")
            assert {bool(rows) for rows in bands(board).values()} == {is_open}
        told = repr(board)
        assert all(each in told for each in ("your server", "payment_intent.succeeded", "200 requires_action"))

    def test_it_is_paused_says_how_much_is_new_and_follows_again(self, bench: Workbench):
        paid(bench)
        for form in ("diagram", "table"):
            board = board_of(bench, form=form)
            board.do("trace", "pause")
            before = seen(board)["items"]
            assert "Follow again" in buttons(board)
            known = len(bench.trace)
            paid(bench)
            assert f"{len(bench.trace) - known} new, show" in buttons(board)
            assert seen(board)["items"][3:] == before[3:]
            board.do("trace", "newest")
            assert "Pause" in buttons(board)
            assert seen(board)["items"][3:] != before[3:]
        board.do("trace", "pause")
        bench.reset()
        assert "Pause" in buttons(board), "there is nothing left to hold"

    def test_a_diagram_of_other_rows_is_looked_at_from_its_start_and_one_that_grows_is_not(self, bench: Workbench):
        payments = [paid(bench, "1.00") for _ in range(2)]
        board = board_of(bench, form="diagram")

        def looks() -> int:
            return int(piece(board)["items"][0].get("looks", 0))

        before = looks()
        for name in ("pause", "newest", "fold"):
            board.do("trace", name)
            paid(bench)
            assert looks() == before
        for values in ({"payment": payments[0]}, {"payment": payments[0], "of_kind": "webhook"}, {}):
            board.do("trace", "follow", **values)
            assert looks() > before
            before = looks()

    def test_what_cannot_grow_cannot_be_paused_and_a_choice_of_one_is_none(self, bench: Workbench):
        payment = paid(bench)
        picked = board_of(bench, bench.trace.for_(payment)[:], "diagram")
        assert buttons(picked) == ["SVG", "PNG", "Mermaid"]
        picked.do("trace", "show", "table")
        assert items(picked, "actions") == []
        board = payment_board(payment, bench)
        assert [each["name"] for each in items(board, "form")[0]["fields"]] == ["of_kind"]
        assert "Pause" in buttons(board)
        bench.client.refunds.create(payment_intent=payment, amount=Decimal("1.00"))
        paid(bench, "2.00")
        assert [*bands(board)] == [payment]
        assert bands(board)[payment][-1] == str(bench.trace.for_(payment)[-1]["seq"])

    def test_an_arrow_opens_what_its_row_of_the_table_unfolds(self, bench: Workbench):
        paid(bench)
        board, table = board_of(bench, form="diagram"), board_of(bench)
        for row in bench.trace:
            place = str(row["seq"])
            for each, name in ((board, "fold"), (table, "unfold")):
                each.do("trace", name if name == "unfold" else "open", place)
            (unfolded,) = [each for each in rows(table) if each.get("beneath")]
            assert piece(board)["drawer"]["items"][1:] == unfolded["beneath"]
            (arrow,) = [
                arrow
                for band in piece(board)["items"][0]["bands"]
                for arrow in band.get("arrows", [])
                if arrow.get("opened")
            ] or [{"id": place}]
            assert (arrow["id"], piece(board)["drawer"]["row"]) == (place, place)
        board.do("trace", "close")
        assert "drawer" not in piece(board)

    def test_what_is_saved_is_what_is_shown(self, bench: Workbench):
        first, _ = paid(bench), paid(bench, "20.00")
        board = board_of(bench, form="diagram")
        board.do("trace", "follow", payment=first, of_kind="")
        drawn = bench.trace.for_(first).sequence
        for form in ("SVG", "PNG"):
            saved = board.do("trace", "save", form)
            assert saved
            assert saved.download == (f"{first}.{form.lower()}", drawn.svg), "a browser makes the PNG of it"
        shown = board.do("trace", "save", "Mermaid")
        assert shown
        assert shown.code[0].text == f"```mermaid\n{drawn.mermaid}```"  # type: ignore[union-attr]  a Code

    @settings(deadline=None)
    @given(words=st.text(max_size=60))
    @example(words="#1; <b>%%{init}%% $x$ \\")
    def test_whatever_a_text_holds_mermaid_gets_a_line_a_message(self, words: str):
        row = {"seq": 1, "at": "2026-01-05T06:00:00.000Z", "kind": "entry", "what": words, "result": "", "detail": {}}
        head, *lines = SequenceDiagram([row]).mermaid.splitlines()
        assert head == "sequenceDiagram"
        assert [line.split()[0] for line in lines] == ["participant", "participant", "lane1->>lane3:"]
        text = lines[-1].partition(": ")[2]
        assert text
        assert not set(re.sub(r"#\d+;", "", text)) & set("#;<>&%$\\")


class TestItFollows:
    """What happens after a board was shown is seen without being asked for."""

    def follows(self, board: Board, rows: Callable[[], Trace]) -> bool:
        """Within a second; a delivery may still be on its way when it is first looked at."""
        until = time.monotonic() + SOON_S
        while shown(board) != seqs(rows()) and time.monotonic() < until:
            time.sleep(0.01)
        return shown(board) == seqs(rows())

    def test_calls_of_the_same_bench_of_a_backend_a_reset_and_the_end(self):
        with Workbench(seed=7) as bench:
            board = board_of(bench)
            assert len(shown(board)) == 1
            with bench.serve() as served, Workbench.connect(served.base_url, served.secret_key) as looking:
                elsewhere = board_of(looking)
                assert shown(elsewhere) == shown(board)
                paid(bench)
                assert self.follows(board, lambda: bench.trace)
                assert self.follows(elsewhere, lambda: bench.trace)
            bench.reset()
            assert self.follows(board, lambda: bench.trace[:0])
            paid(bench)
            board.refresh()
            before = shown(board)
            assert before == seqs(bench.trace)
        board.refresh()
        assert shown(board) == before
        assert "closed" in json.dumps(seen(board)), "that it has ended is said over what was seen"

    def test_what_was_chosen_stays_chosen(self, bench: Workbench):
        first = paid(bench)
        boards = {kind: board_of(bench, bench.trace.for_(first).only(kind)) for kind in ("entry", "webhook")}
        picked = board_of(bench, bench.trace[-3:].only("webhook", "entry", "screen", "call"))
        before = {each: shown(each) for each in (*boards.values(), picked)}
        paid(bench)
        bench.client.refunds.create(payment_intent=first, amount=Decimal("1.00"))
        bench.clock.advance(days=1)
        for kind, board in boards.items():
            assert self.follows(board, lambda kind=kind: bench.trace.for_(first).only(kind))
            assert len(shown(board)) > len(before[board])
        assert ids(picked) == before[picked], "rows picked by their places stay"

    @pytest.mark.usefixtures("_short_pages")
    def test_an_older_page_and_an_open_row_stay(self, bench: Workbench):
        for _ in range(4):
            paid(bench, "1.00")
        board = board_of(bench)
        board.do("trace", "turn", "older")
        before = ids(board)
        paid(bench)
        assert ids(board) == before
        board.do("trace", "turn", "newer")
        board.do("trace", "turn", "newer")
        newest = ids(board)
        assert newest == seqs(bench.trace)[-PAGE:]
        board.do("trace", "unfold", newest[0])
        paid(bench)
        assert ids(board) == newest
        board.do("trace", "turn", "newer")
        assert ids(board) == seqs(bench.trace)[-PAGE:]

    def test_a_board_that_nobody_sees_does_not_follow(self, bench: Workbench):
        board = board_of(bench)
        widget: Any = board.widget
        before = shown(board)
        for message in ({"look": True, "id": 1}, {"look": True, "id": 2}, {"gone": True}, {"gone": True}):
            widget._handle_custom_msg(message, [])  # noqa: SLF001  what arrives from a browser
        paid(bench)
        time.sleep(0.2)
        assert shown(board) == before
        widget._handle_custom_msg({"look": True, "id": 3}, [])  # noqa: SLF001  the same
        assert (shown(board), widget.answered) == (seqs(bench.trace), 3)
        paid(bench)
        assert self.follows(board, lambda: bench.trace)
