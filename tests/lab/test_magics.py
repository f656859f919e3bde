"""`%%http` in a real IPython shell: as a person would write it, and mistype it."""

import json
import re
import select
import socket
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from workbench import Workbench
from workbench.lab.magics import METHODS, Mistyped, read_request

BASE = "http://sandbox.localhost"
KEY = "Authorization: Bearer $bench.secret_key"
INTENT = '{"amount": 150.00, "currency": "ZMW", "payment_method_types": ["mobile_money"]}'
NUMBER = "+260961234567"


class Ran(NamedTuple):
    """What a cell came to: its result, what it showed, what it said, and whether it failed."""

    result: Any
    shown: str
    said: str
    failed: bool


Cell = Callable[..., Ran]


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    # A singleton: another would be refused. No history file is written.
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "workbench")
    yield shell
    shell.reset(new_session=False)
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as bench:
        yield bench


@pytest.fixture
def cell(shell: InteractiveShell, bench: Workbench) -> Cell:
    """Run a cell in which `bench`, and what else is named, are variables; other names if `bench` is None."""

    def run(*lines: str, **names: object) -> Ran:
        # What shell.reset does besides is to collect garbage, which takes longer than all the rest.
        shell.user_ns.clear()
        shell.init_user_ns()
        shell.push({name: each for name, each in {"bench": bench, **names}.items() if each is not None})
        with capture_output() as told:
            done = shell.run_cell("\n".join(lines))
        shown = "" if done.result is None else shell.display_formatter.format(done.result)[0]["text/plain"]
        return Ran(done.result, shown, told.stdout + told.stderr, not done.success)

    return run


ATTACK = "Order \x1b]0;owned\x07 \x9b2J \u202edlog\u2069 \x00\x7f"
AWKWARD = '", "id": 99, "x": "\\ \n'
SENT: dict[str, tuple[list[str], int, dict[str, object]]] = {
    **{f"by {method}": ([f"{method} /plants", KEY, "", '{"id": 1, "name": "A"}'], 200 if method == "POST" else 405, {})
       for method in METHODS},
    "without an Authorization": (["GET /v1/balance"], 401, {}),
    "with comments, blank lines and CRLF": (
        ["\r", "# a plant\r", "POST /plants\r", f"{KEY}\r", "\r", '{"id": 1,\r', '"name": "Aloe"}\r'],
        200, {"name": "Aloe"},
    ),
    "with Unicode": (["POST /plants", KEY, "", '{"id": 1, "name": "Ümbrella 🌱"}'], 200, {"name": "Ümbrella 🌱"}),
    "with a slip in its JSON": (["POST /v1/payouts", KEY, "", '{"amount": 1,}'], 400, {"code": "body_not_json"}),
    "with a type of its own": (["POST /v1/payouts", KEY, "content-type: text/plain", "", '{"amount": 1}'], 415, {}),
    "with a wrong length": (["POST /plants", KEY, "Content-Length: 3", "", '{"id": 1, "name": "Aloe"}'], 200, {}),
    "to the own address": ([f"GET {BASE}/v1/balance", KEY], 200, {}),
    "with a variable in a header": (["GET /v1/balance", "$kind: Bearer $bench.secret_key"], 200, {}),
    "with a text that stays within its quotes": (
        ["POST /plants", KEY, "", '{"id": $number, "name": "$awkward"}'], 200, {"name": AWKWARD},
    ),
    "with other values as JSON": (
        ["POST /v1/payment_intents", KEY, "",
         '{"amount": $amount, "currency": "ZMW", "payment_method_types": $types, "metadata": $more}'],
        200, {"amount": Decimal("1.50"), "metadata": {"a": "b"}},
    ),
    "with a variable in its path": (["GET /sandbox/phones/$phone", KEY], 200, {"phone": NUMBER}),
    "with two dollars, and a price": (["POST /plants", KEY, "", '{"id": 1, "name": "$$x $5"}'], 200, {"name": "$x $5"}),
}  # fmt: skip
VARIABLES = {"kind": "Authorization", "number": 1, "awkward": AWKWARD, "amount": Decimal("1.50"), "phone": NUMBER,
             "types": ["mobile_money"], "more": {"a": "b"}}  # fmt: skip


class TestARequestAsWritten:
    def test_it_is_sent_and_shown_as_the_trace_tells_it_and_what_is_not_written_is_not_sent(
        self, cell: Cell, bench: Workbench
    ):
        ran = cell("%%http", "POST /v1/payment_intents HTTP/1.1", KEY, "Idempotency-Key: order-1", "", INTENT)
        assert bench.client.payment_intents.retrieve(ran.result.json()["id"]).amount == Decimal("150.00")
        request, _, answer = ran.shown.partition("\n\nHTTP/1.1 ")
        assert request.split("\n")[:6] == [
            "POST /v1/payment_intents HTTP/1.1", "Authorization: Bearer sk_test_••••", "Idempotency-Key: order-1",
            "Content-Type: application/json", "", "{",
        ]  # fmt: skip
        told = next(each for each in bench.trace.exchanges if "order-1" in each.request)
        assert answer == told.response.removeprefix("HTTP/1.1 ")
        cell("%%http", "GET /v1/balance")
        assert "Authorization" not in bench.trace.exchanges[-1].request
        assert cell("%%http", "POST /plants", KEY, "", "not json").result.status_code == 400
        assert "Content-Type" not in bench.trace.exchanges[-1].request

    @pytest.mark.parametrize("how", SENT)
    def test_it_arrives(self, cell: Cell, how: str):
        lines, status, holds = SENT[how]
        ran = cell("%%http", *lines, **VARIABLES)
        assert ran.result.status_code == status, ran
        assert ran.result.request.method == lines[0].partition(" ")[0] or "\r" in lines[0]
        if holds:
            found = json.loads(ran.result.content, parse_float=Decimal)
            assert {name: found[name] for name in holds} == holds
            assert str(holds.get("name", ""))[:5].rstrip("\\ ") in ran.shown.replace("\\", "")

    def test_no_secret_is_shown(self, cell: Cell, bench: Workbench):
        token = str(bench.client.auth.token(email="a@example.com", password="hunter22").access_token)
        intent = bench.client.payment_intents.create(amount=1)
        path = "/v1/payment_intents/$intent.id?client_secret=$intent.client_secret"
        shown = [
            cell("%%http", f"GET {path}", KEY, intent=intent),
            cell("%%http", "GET /v1/balance", f"Authorization: Bearer {token}"),
            cell("%%http", "POST /v1/auth/token", "", '{"email": "a@example.com", "password": "hunter22"}'),
            cell("%%http", f"POST /sandbox/phones/{NUMBER}/input", KEY, "", '{"text": "4321"}'),
            cell("%%http", "POST /v1/api_keys", KEY),
        ]
        assert shown[0].result.json()["id"] == intent.id
        text = "".join(each.shown for each in shown)
        hidden = [token, intent.client_secret, "hunter22", NUMBER, "4321", shown[-1].result.json()["value"]]
        assert [each for each in hidden if str(each) in text] == []

    def test_it_is_kept_as_underscore_and_a_long_page_is_cut(self, cell: Cell, shell: InteractiveShell):
        ran = cell("%%http", "GET /docs")
        assert shell.run_cell("_").result is ran.result
        assert len(ran.shown) < 3000


@settings(max_examples=80, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_whatever_a_text_holds_a_body_stays_json_and_a_path_one_path(text: str):
    raw = read_request('POST /plants\n\n{"name": "$text"}', {"text": text}, BASE)
    assert json.loads(raw.body or b"") == {"name": text}
    try:
        raw = read_request("GET /v1/x/$text\nA: b", {"text": text}, BASE)
    except Mistyped as error:
        assert "control character" in str(error)  # noqa: PT017  which texts these are is not the point
        return
    assert re.fullmatch(r"/v1/x/[^\s?#&=]*", raw.target)
    assert raw.headers == [("A", "b")]


ELSEWHERE = ".*nothing leaves the sandbox"
MISTYPED: dict[str, tuple[list[str], str]] = {
    "empty": ([], "%%http is a cell magic, but the cell body is empty"),
    "only_comments": (["# nothing", ""], "The cell is empty. Begin with a method and a path"),
    "no_path": (["GET"], "Line 2: a request line is a method and a path, such as: GET /v1/balance"),
    "three_words": (["GET /v1/balance now please"], "Line 2: a request line"),
    "unknown_method": (["FETCH /v1/balance"], "Line 2: 'FETCH' is no method. Use GET, POST"),
    "small_method": (["", "get /v1/balance"], "Line 3: 'get' is no method. Did you mean GET?"),
    "headers_first": ([KEY, "GET /v1/balance"], "Line 2: 'Authorization:' is no method"),
    "no_slash": (["GET v1/balance"], "Line 2: a path begins with /"),
    "header_without_colon": (["GET /v1/balance", "Authorization Bearer x"], "Line 3: a header is a name, a colon"),
    "header_with_a_space": (["GET /v1/balance", "My Header: x"], "Line 3: a header is"),
    "no_empty_line": (["POST /plants", KEY, '{"id": 1}'], "Line 4: a header is .* An empty line goes before the body"),
    "unknown_variable": (["GET /v1/balance", "", "", '{"a": "$nope"}'], "Line 5: there is no variable nope here"),
    "unknown_attribute": (["GET /v1/$bench.nope"], r"Line 2: \$bench.nope: a Workbench has no nope"),
    "break_in_a_header": (["GET /v1/balance", "A: $broken"], r"Line 3: \$broken holds a line break"),
    "break_in_a_path": (["GET /v1/$broken"], r"Line 2: \$broken holds a line break"),
    "https": (["GET https://example.com/v1"], ELSEWHERE),
    "another_name": ([f"GET {BASE}.example.com/"], ELSEWHERE),
    "no_scheme": (["GET //example.com/v1"], ELSEWHERE),
    "this_machine": (["GET http://127.0.0.1:1/x"], ELSEWHERE),
    "as_a_user": ([f"GET {BASE}@example.com/"], ELSEWHERE),
    "ftp": (["GET ftp://example.com"], ELSEWHERE),
    "controls": ([f"GET {ATTACK.replace(' ', '')}"], "Line 2: a path begins with /, .*owned"),
}
FIRST_LINES = {
    "%%http nothing": "nothing is no Workbench here. Make it before: nothing = Workbench()",
    "%%http -o answer": "its response is in _",
    "%%http --verbose": "use %%http [BENCH]",
    "%%http 'a": "use %%http [BENCH]",
    "%%http GET /v1/balance": "The request begins on the next line",
    f"%%http {ATTACK}": "owned",
}


class TestWhatIsMistyped:
    @pytest.mark.parametrize("name", MISTYPED)
    def test_it_is_said_in_one_line_without_a_traceback(self, cell: Cell, bench: Workbench, name: str):
        lines, message = MISTYPED[name]
        before = len(bench.trace)
        ran = cell("%%http", *lines, broken="a\nB: c")
        assert ran.failed
        assert re.match("UsageError: (" + message + ")", ran.said)
        assert ran.said.removesuffix("\n").isprintable(), "one line, and no control is quoted"
        assert len(bench.trace) == before

    @pytest.mark.parametrize("target", ["$where/x", "/$where/x", "$where", "/\\$where"])
    def test_no_other_server_is_reached_by_a_variable(self, cell: Cell, target: str):
        with socket.create_server(("127.0.0.1", 0)) as other:
            cell("%%http", f"GET {target}", KEY, where=f"http://127.0.0.1:{other.getsockname()[1]}")
            assert select.select([other], [], [], 0)[0] == [], "nobody has called"

    def test_the_first_line_is_read_too(self, cell: Cell):
        said = {line: cell(line, "GET /v1/balance").said.removesuffix("\n") for line in FIRST_LINES}
        wrong = {line: text for line, text in said.items() if FIRST_LINES[line] not in text or not text.isprintable()}
        assert (wrong, {text[:12] for text in said.values()}) == ({}, {"UsageError: "})


def test_a_served_sandbox_is_asked_as_well_and_said_to_be_gone(cell: Cell, bench: Workbench):
    lines = ("%%http other", "GET /v1/balance", "Authorization: Bearer $other.secret_key")
    with bench.serve() as served:
        other = Workbench.connect(served.base_url, served.secret_key)
        ran = cell(*lines, other=other)
        assert str(ran.result.url) == f"{served.base_url}/v1/balance"
        assert "Date:" not in ran.shown
    assert "gives no answer" in cell(*lines, other=other).said
    other.close()
    assert "This bench is closed" in cell(*lines, other=other).said


def test_which_bench_it_is_sent_to(cell: Cell, bench: Workbench):
    lines = "%%http\nGET /v1/balance"
    assert cell(lines, bench=None, shop=bench, same=bench).result.status_code == 401, "the only one, whatever its name"
    assert "Make one before: bench = Workbench()" in cell(lines, bench=None).said
    with Workbench(seed=8) as other:
        several = cell(lines, bench=None, first=bench, second=other)
        before = len(bench.trace)
        assert not cell(lines, second=other).failed
        assert len(bench.trace) == before + 1, "the one that is called bench"
    assert "several benches: first, second. Name one: %%http first" in several.said
