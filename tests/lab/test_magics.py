"""`%%http` in a real IPython shell, and once in a notebook that is run: as a person would write it, and mistype it."""

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_code_cell, new_notebook

from workbench import Workbench
from workbench.lab.raw_http import METHODS, Mistyped, read

BASE = "http://sandbox.localhost"
KEY = "Authorization: Bearer $bench.secret_key"
INTENT = '{"amount": 150.00, "currency": "ZMW", "payment_method_types": ["mobile_money"]}'


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


@pytest.fixture
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as bench:
        yield bench


@pytest.fixture
def cell(shell: InteractiveShell, bench: Workbench) -> Cell:
    """Run a cell in which `bench`, and what else is named, are variables."""

    def run(*lines: str, **names: object) -> Ran:
        shell.reset(new_session=False)
        shell.push({"bench": bench, **names})
        with capture_output() as told:
            done = shell.run_cell("\n".join(lines))
        shown = "" if done.result is None else shell.display_formatter.format(done.result)[0]["text/plain"]
        return Ran(done.result, shown, told.stdout + told.stderr, not done.success)

    return run


class TestARequestAsWritten:
    def test_it_is_sent_and_the_exchange_shown(self, cell: Cell, bench: Workbench):
        ran = cell("%%http", "POST /v1/payment_intents HTTP/1.1", KEY, "Content-Type: application/json", "", INTENT)
        assert not ran.failed
        assert isinstance(ran.result, httpx.Response)
        assert ran.result.status_code == 200
        request, _, answer = ran.shown.partition("\n\nHTTP/1.1 ")
        assert request.split("\n")[:5] == [
            "POST /v1/payment_intents HTTP/1.1", "Authorization: Bearer sk_test_••••", "Content-Type: application/json",
            "", "{",
        ]  # fmt: skip
        assert answer.startswith("200 OK\n")
        assert '"amount": 150.00' in answer
        assert bench.client.payment_intents.retrieve(ran.result.json()["id"]).amount == Decimal("150.00")

    def test_it_is_what_the_trace_tells(self, cell: Cell, bench: Workbench):
        ran = cell("%%http", "POST /v1/payment_intents", KEY, "Idempotency-Key: order-1", "", INTENT)
        told = bench.trace.exchanges[-1]
        assert ran.shown.partition("\n\nHTTP")[2] == told.response[4:]
        assert "Idempotency-Key: order-1" in told.request
        assert "Content-Type: application/json" in told.request

    def test_no_secret_is_shown(self, cell: Cell, bench: Workbench):
        token = str(bench.client.auth.token(email="a@example.com", password="hunter22").access_token)
        intent = bench.client.payment_intents.create(amount=1)
        number = "+260961234567"
        shown = [
            cell(
                "%%http", f"GET /v1/payment_intents/{intent.id}?client_secret=$secret", KEY, secret=intent.client_secret
            ),
            cell("%%http", "GET /v1/balance", f"Authorization: Bearer {token}"),
            cell("%%http", "POST /v1/auth/token", "", '{"email": "a@example.com", "password": "hunter22"}'),
            cell("%%http", f"POST /sandbox/phones/{number}/input", KEY, "", '{"text": "4321"}'),
            cell("%%http", "POST /v1/api_keys", KEY),
        ]
        text = "".join(each.shown for each in shown)
        hidden = [token, intent.client_secret, "hunter22", number, "4321", shown[-1].result.json()["value"]]
        assert [each for each in hidden if str(each) in text] == []

    def test_it_is_kept_as_underscore_and_by_a_name(self, cell: Cell, shell: InteractiveShell):
        ran = cell("%%http -o answer", "GET /v1/balance", KEY)
        assert shell.user_ns["answer"] is ran.result
        assert shell.run_cell("_.status_code, _ is answer").result == (200, True)

    def test_without_an_authorization_none_is_sent(self, cell: Cell, bench: Workbench):
        assert cell("%%http", "GET /v1/balance").result.status_code == 401
        assert "Authorization" not in bench.trace.exchanges[-1].request

    @pytest.mark.parametrize("method", METHODS)
    def test_each_method_is_sent(self, cell: Cell, method: str):
        assert cell("%%http", f"{method} /v1/charges", KEY).result.request.method == method

    def test_comments_blank_lines_and_crlf_are_no_part_of_it(self, cell: Cell):
        ran = cell(
            "%%http\r", "\r", "# a plant\r", "POST /plants\r", f"{KEY}\r", "\r", '{"id": 1,\r', '"name": "Aloe"}\r'
        )
        assert ran.result.status_code == 200
        assert ran.result.json() == {"name": "Aloe"}

    def test_unicode_arrives(self, cell: Cell):
        ran = cell("%%http", "POST /plants", KEY, "", '{"id": 1, "name": "Ngoni Ümbrella 🌱"}')
        assert ran.result.json() == {"name": "Ngoni Ümbrella 🌱"}
        assert "Ngoni Ümbrella 🌱" in ran.shown

    def test_a_slip_in_json_is_said_and_no_header_missed(self, cell: Cell):
        ran = cell("%%http", "POST /v1/payment_intents", KEY, "", '{"amount": 1,}')
        assert (ran.result.status_code, ran.result.json()["code"]) == (400, "body_not_json")

    def test_a_body_that_is_no_json_has_no_type_unless_one_is_written(self, cell: Cell, bench: Workbench):
        assert cell("%%http", "POST /plants", KEY, "", "not json").result.status_code == 400
        assert "Content-Type" not in bench.trace.exchanges[-1].request
        ran = cell("%%http", "POST /v1/payouts", KEY, "content-type: text/plain", "", '{"amount": 1}')
        assert ran.result.status_code == 415

    def test_a_length_that_is_written_is_worked_out_all_the_same(self, cell: Cell):
        ran = cell("%%http", "POST /plants", KEY, "Content-Length: 3", "", '{"id": 1, "name": "Aloe"}')
        assert ran.result.status_code == 200

    def test_the_own_address_may_stand_before_the_path(self, cell: Cell):
        assert cell("%%http", f"GET {BASE}/v1/balance", KEY).result.status_code == 200

    def test_a_long_page_is_cut(self, cell: Cell):
        ran = cell("%%http", "GET /docs")
        assert ran.result.status_code == 200
        assert len(ran.shown) < 3000

    def test_a_served_sandbox_is_asked_as_well(self, cell: Cell, bench: Workbench):
        with bench.serve() as served, Workbench.connect(served.base_url, served.secret_key) as other:
            ran = cell("%%http other", "GET /v1/balance", "Authorization: Bearer $other.secret_key", other=other)
            assert ran.result.status_code == 200
            assert str(ran.result.url).startswith(served.base_url)
            assert "Date:" not in ran.shown


class TestVariables:
    def test_they_and_their_attributes_are_filled_in_where_they_stand(self, cell: Cell, bench: Workbench):
        intent = bench.client.payment_intents.create(amount=1)
        ran = cell("%%http", "GET /v1/payment_intents/$intent.id", "$kind: Bearer $bench.secret_key", intent=intent,
                   kind="Authorization")  # fmt: skip
        assert ran.result.json()["id"] == intent.id

    def test_a_text_in_a_body_stays_within_its_quotes(self, cell: Cell):
        name = '", "id": 99, "x": "\\ \n'
        ran = cell("%%http", "POST /plants", KEY, "", '{"id": $number, "name": "$name"}', number=1, name=name)
        assert ran.result.json() == {"name": name}

    def test_other_values_are_json(self, cell: Cell, bench: Workbench):
        body = '{"amount": $amount, "currency": "ZMW", "payment_method_types": $types, "metadata": $more}'
        ran = cell("%%http", "POST /v1/payment_intents", KEY, "", body, amount=Decimal("1.50"), types=["mobile_money"],
                   more={"a": "b"})  # fmt: skip
        assert bench.client.payment_intents.retrieve(ran.result.json()["id"]).amount == Decimal("1.50")
        assert ran.result.json()["metadata"] == {"a": "b"}

    def test_in_a_path_they_are_encoded(self, cell: Cell):
        ran = cell("%%http", "GET /sandbox/phones/$number", KEY, number="+260961234567")
        assert ran.result.json()["phone"] == "+260961234567"
        assert read("GET /v1/x?a=$a", {"a": "b&c=d #e"}, BASE).target == "/v1/x?a=b%26c%3Dd%20%23e"

    def test_two_dollars_are_one_and_a_price_is_none(self, cell: Cell):
        assert cell("%%http", "POST /plants", KEY, "", '{"id": 1, "name": "$$x $5"}').result.json() == {"name": "$x $5"}

    @settings(max_examples=80, deadline=None)
    @given(text=st.text(st.characters(exclude_categories=["Cs"])))
    def test_whatever_a_text_holds_a_body_stays_json(self, text: str):
        raw = read('POST /plants\n\n{"name": "$text"}', {"text": text}, BASE)
        assert json.loads(raw.body or b"") == {"name": text}

    @settings(max_examples=80, deadline=None)
    @given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
    def test_whatever_a_text_holds_a_path_stays_one_path(self, text: str):
        try:
            raw = read("GET /v1/x/$text\nA: b", {"text": text}, BASE)
        except Mistyped as error:
            assert "control character" in str(error)  # noqa: PT017  which texts these are is not the point
            return
        assert re.fullmatch(r"/v1/x/[^\s?#]*", raw.target)
        assert raw.headers == [("A", "b")]


MISTYPED = {
    "empty": ([], "The cell is empty. Begin with a method and a path"),
    "only_comments": (["# nothing", ""], "The cell is empty"),
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
}


class TestWhatIsMistyped:
    @pytest.mark.parametrize("name", MISTYPED)
    def test_it_is_said_in_one_line_without_a_traceback(self, cell: Cell, bench: Workbench, name: str):
        lines, message = MISTYPED[name]
        before = len(bench.trace)
        ran = cell("%%http", *lines, broken="a\nB: c")
        assert ran.failed
        assert re.match("UsageError: (" + message + ")", ran.said)
        assert ran.said.count("\n") == 1
        assert len(bench.trace) == before

    @pytest.mark.parametrize(
        "target",
        ["https://example.com/v1", "http://sandbox.localhost.example.com/", "//example.com/v1", "http://127.0.0.1:1/x",
         "http://sandbox.localhost@example.com/", "ftp://example.com"],
    )  # fmt: skip
    def test_nothing_leaves_the_sandbox(self, cell: Cell, target: str):
        ran = cell("%%http", f"GET {target}", KEY)
        assert "nothing leaves the sandbox" in ran.said
        assert ran.failed

    def test_no_other_server_is_reached_by_a_variable(self, cell: Cell):
        reached: list[str] = []

        class Other(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reached.append(self.path)

        server = HTTPServer(("127.0.0.1", 0), Other)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for target in ("$where/x", "/$where/x", "$where", "/\\$where"):
                cell("%%http", f"GET {target}", KEY, where=f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            server.server_close()
            thread.join(5)
        assert reached == []

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("%%http nothing", "nothing is no Workbench here. Make it before: nothing = Workbench()"),
            ("%%http -o", "-o needs a name"),
            ("%%http -o 1x", "-o needs a name"),
            ("%%http -o class", "-o needs a name"),
            ("%%http --verbose", "use %%http [BENCH] [-o NAME]"),
            ("%%http GET /v1/balance", "The request begins on the next line"),
            ("%%http 'a", "No closing quotation"),
        ],
    )
    def test_the_first_line_is_read_too(self, cell: Cell, line: str, message: str):
        ran = cell(line, "GET /v1/balance")
        assert ran.said.startswith("UsageError: ")
        assert message in ran.said

    def test_a_closed_bench_says_so(self, cell: Cell):
        closed = Workbench(seed=8)
        closed.close()
        assert "This bench is closed" in cell("%%http closed", "GET /v1/balance", closed=closed).said

    def test_a_server_that_is_gone_says_so(self, cell: Cell, bench: Workbench):
        with bench.serve() as served:
            other = Workbench.connect(served.base_url, served.secret_key)
        assert "gives no answer" in cell("%%http other", "GET /v1/balance", other=other).said
        other.close()


class TestWhichBench:
    def test_the_only_one_under_whatever_name(self, shell: InteractiveShell, bench: Workbench):
        shell.reset(new_session=False)
        shell.push({"shop": bench, "same": bench})
        with capture_output():
            done = shell.run_cell("%%http\nGET /v1/balance")
        assert done.result.status_code == 401

    def test_none_and_several_say_what_to_do(self, shell: InteractiveShell, bench: Workbench):
        shell.reset(new_session=False)
        with capture_output() as none:
            shell.run_cell("%%http\nGET /v1/balance")
        with Workbench(seed=8) as other, capture_output() as several:
            shell.push({"first": bench, "second": other})
            shell.run_cell("%%http\nGET /v1/balance")
        assert "Make one before: bench = Workbench()" in none.stderr
        assert "several benches: first, second. Name one: %%http first" in several.stderr

    @pytest.mark.parametrize("line", ["%%http --help", "%%http -h\n", "%http --help"])
    def test_help_is_printed(self, cell: Cell, line: str):
        ran = cell(line)
        assert not ran.failed
        assert ran.said.startswith("%%http [BENCH] [-o NAME]")
        assert "$bench.secret_key" in ran.said


def test_in_a_notebook_that_is_run(command: str, tmp_path: Path):
    setup = "from workbench import Workbench\nbench = Workbench(seed=7)\n%load_ext workbench\n%load_ext workbench"
    good = [
        "%%http -o answer\nPOST /v1/payment_intents\n" + KEY + "\n\n" + INTENT,
        "assert answer.status_code == 200",
        "bench.trace.sequence",
    ]
    bad = ["%%http\nPSOT /v1/payment_intents", "print('went on')"]
    for name, cells in (("good", good), ("bad", bad)):
        notebook = new_notebook(cells=[new_code_cell(each, id=f"c{n}") for n, each in enumerate([setup, *cells])])
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    done = subprocess.run(  # noqa: S603  our own command
        [command, "run", tmp_path / "good.ipynb", tmp_path / "bad.ipynb", "--out", tmp_path / "out"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "1 passed, 1 failed" in said
    assert "UsageError: Line 2: 'PSOT' is no method" in said
    shown = nbformat.read(tmp_path / "out" / "good.ipynb", as_version=4).cells[1].outputs
    assert (
        shown[0].data["text/plain"].startswith("POST /v1/payment_intents HTTP/1.1\nAuthorization: Bearer sk_test_••••")
    )
    assert "went on" not in (tmp_path / "out" / "bad.ipynb").read_text("utf-8").replace("print('went on')", "")
    page = (tmp_path / "out" / "good.html").read_text("utf-8")
    assert re.search(r'<img[^>]* src="data:image/svg\+xml;base64,[^>]*>', page)
    assert re.search(r'<img[^>]* alt="Who told whom what[^>]*>', page)
