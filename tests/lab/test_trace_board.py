"""The trace to look through: what is chosen, turned to and unfolded, and that it tells what the trace tells."""

import json
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from workbench import Workbench
from workbench.lab import trace_board as trace_part
from workbench.lab.board import Board
from workbench.lab.trace_board import trace_board
from workbench.render import is_live
from workbench.trace import Trace

NUMBER = "+260961234567"
SOON_S = 1.0
VIEW = "application/vnd.jupyter.widget-view+json"
PAGE, MOST_PAYMENTS = 12, 6


@pytest.fixture
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page, and a choice of payments, that a few payments fill."""
    monkeypatch.setattr(trace_part, "PAGE", PAGE)
    monkeypatch.setattr(trace_part, "MOST_PAYMENTS", MOST_PAYMENTS)


def paid(bench: Workbench, amount: str = "150.00") -> str:
    made = bench.client.payment_intents.create(
        amount=Decimal(amount), currency="ZMW", payment_method_types=["mobile_money"], description="<b>Monstera</b>"
    )
    bench.client.payment_intents.confirm(made.id, phone=NUMBER, provider="mtn")
    bench.phone(NUMBER).enter_pin("1234")
    return made.id


def board_of(bench: Workbench, trace: Trace | None = None) -> Board:
    return trace_board(bench.trace if trace is None else trace, bench)


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
    sides = [line["cells"] for line in beneath["ZMW 150.00 received through mtn"][0]["rows"]]
    assert [sum(Decimal(cells[side] or 0) for cells in sides) for side in (1, 2)] == [Decimal("151.50")] * 2


def test_one_payment_and_one_kind_can_be_chosen_and_not_what_there_is_not(bench: Workbench):
    first, second = paid(bench), paid(bench, "20.00")
    board = board_of(bench)
    options = items(board, "form")[0]["fields"][0]["options"]
    assert [value for value, _ in options] == ["", second, first]
    for values in ({"payment": "pi_unknown", "of_kind": "nothing"}, {}):
        board.do("trace", "follow", **values)
        assert len(rows(board)) == len(bench.trace)
    board.do("trace", "follow", payment=first, of_kind="entry")
    assert [row["cells"][3] for row in rows(board)] == ["ZMW 150.00 received through mtn"]
    assert "ZMW 20.00" not in items(board, "fold")[0]["items"][0]["svg"]
    board.do("trace", "follow", payment="", of_kind="entry")
    assert len(rows(board)) == 2


@pytest.mark.usefixtures("_short_pages")
def test_the_choice_is_of_the_latest_payments_and_of_the_one_that_is_chosen(bench: Workbench):
    first = paid(bench)
    board = board_of(bench)
    board.do("trace", "follow", payment=first, of_kind="")
    for _ in range(MOST_PAYMENTS):
        bench.client.payment_intents.create(amount=Decimal("1.00"))
    options = [value for value, _ in items(board, "form")[0]["fields"][0]["options"]]
    assert (len(options), first in options) == (MOST_PAYMENTS + 2, True)


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
    empty = board_of(bench, bench.trace[:0])
    assert (rows(empty), items(empty, "fold")) == ([], [])


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
