"""A request as Python, httpx and curl: each text, run as it stands, is answered as the request itself."""

import argparse
import ast
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench import Workbench
from workbench.domain.wire.base import Found, View, to_json
from workbench.domain.wire.sandbox_controls import LoggedRequest
from workbench.errors import ApiError
from workbench.sandbox import controls, operations
from workbench.session import SandboxControl
from workbench.text.snippets import BENCH_CALLS, BenchCall, ClientCall, Snippet, client_calls, snippet
from workbench.traffic.trace import Trace, rows_of

_ECHO = 'curl() { printf "%s\\0" "$@"; }\n'
CURL = argparse.ArgumentParser()
CURL.add_argument("url")
CURL.add_argument("-X", dest="method", default="GET")
CURL.add_argument("--head", dest="method", action="store_const", const="HEAD")
CURL.add_argument("-H", dest="headers", action="append", default=[])
CURL.add_argument("-u", dest="user")
CURL.add_argument("--data-raw", dest="body")


def run_python(text: str, bench: Workbench, **names: object) -> Any:  # noqa: ANN401  whatever it comes to
    lines = ast.parse(text).body
    names = {"bench": bench, **names}
    exec(compile(ast.Module(lines[:-1], []), "snippet", "exec"), names)  # noqa: S102  the text that is tested
    last = lines[-1]
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "snippet", "eval"), names)  # noqa: S307  the same


def arguments_of(text: str, **variables: str) -> list[str]:
    """The words that bash makes of a curl, a function taking its place."""
    done = subprocess.run(  # noqa: S603  the text that is tested
        ["bash", "--norc", "-c", _ECHO + text],  # noqa: S607  the bash of whoever runs the tests
        env={"LC_ALL": "C.UTF-8", **variables}, capture_output=True, check=True, timeout=20,
    )  # fmt: skip
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def exact(text: str | bytes) -> Any:  # noqa: ANN401  JSON
    return json.loads(text, parse_float=Decimal)


PHONE = "+260961234567"
SECRETS = ("client_secret", "password", "refresh_token", "pin")


class World:
    """A sandbox with one of each thing in it; those from one file are the same to the byte."""

    def __init__(self, file: Path, names: Mapping[str, str]) -> None:
        self.bench = Workbench(seed=7, store=file)
        self.names = names
        self.secrets = {name: names[name] for name in SECRETS}

    def trace(self, case: "Case") -> Trace:
        """What happened after the world was made; all of it where a reset has taken that away."""
        since = 0 if case.path == "/sandbox/reset" else int(self.names["last_row"])
        return Trace(rows_of(SandboxControl(self.bench.looking()).trace(since)))

    def left(self, case: "Case") -> object:
        """What a request has left in the sandbox, without the way in which it was asked for."""
        trace = self.trace(case)
        rows = [(*row.values(),)[:4] for row in trace if row["kind"] != "call"]
        answers = [each.response for each in trace.exchanges]
        return rows, answers, self.bench.clock.now_ms, self.bench.phone(PHONE).screen


def filled(bench: Workbench) -> dict[str, str]:
    pay = bench.client
    bench.receiver.on("charge.*")(_refuse)
    token = pay.auth.token(email="shop@example.com", password="any")
    paid = pay.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
    pay.payment_intents.confirm(paid.id, phone=PHONE, provider="mtn")
    bench.phone(PHONE).enter_pin("1234")
    charge = pay.charges.create(amount=20_000, channel="mtn", phone="+260961234568", idempotency_key="order-1")
    late = pay.charges.create(amount=5_000, channel="mtn", phone="+260960000010", idempotency_key="order-0")
    bench.clock.advance(days=4)
    open_intent = pay.payment_intents.create(amount=Decimal("20.00"))
    prompted = pay.payment_intents.create(amount=Decimal("30.00"))
    pay.payment_intents.confirm(prompted.id, phone=PHONE, provider="mtn")
    refund = pay.refunds.create(charge=charge.id, amount=1000)
    payout = pay.payouts.create(amount=Decimal("10.00"))
    return {
        "intent_id": open_intent.id, "client_secret": str(open_intent.client_secret), "paid_id": paid.id,
        "charge_id": charge.id, "item": late.id, "refund_id": refund.id, "payout_id": payout.id,
        "payment_id": paid.id, "request_id": bench.control.get("requests", Found[LoggedRequest], limit="1").data[0].id,
        "event_id": pay.events.list().data[0].id,
        "delivery_id": pay.deliveries.list(status="dead_letter").data[0].id,
        "endpoint_id": pay.webhook_endpoints.list().data[0].id, "key_id": pay.api_keys.create().id,
        "operation_id": "createCharge",
        "entry_id": bench.ledger.entries["id"].iloc[-1], "last_row": str(bench.trace[-1]["seq"]),
        "phone": PHONE, "refresh_token": str(token.refresh_token), "password": "any", "pin": "9999",
    }  # fmt: skip


def _refuse(event: object) -> None:
    raise ConnectionError(type(event).__name__)


class Case(NamedTuple):
    """One request: `{name}` in its path and texts is what the world has of that name."""

    method: str
    path: str
    body: dict[str, Any] | None = None
    query: Mapping[str, str] = MappingProxyType({})
    headers: Mapping[str, str] = MappingProxyType({})
    key: str = "secret_key"

    def within(self, names: Mapping[str, str]) -> "Case":
        def filled(value: object) -> Any:  # noqa: ANN401  JSON
            if isinstance(value, Mapping):
                return {name: filled(each) for name, each in value.items()}
            return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], value) if isinstance(value, str) else value

        return self._replace(path=filled(self.path), body=filled(self.body), query=filled(self.query))


MONEY = {"type": "mobile_money", "mobile_money": {"phone": "{phone}", "provider": "mtn"}}
CHARGE = {"amount": 15_000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": "{phone}"}
KEYED = {"Idempotency-Key": "order-2"}
# fmt: off
SAID = [
    Case("POST", "/v1/payment_intents", {"amount": Decimal("150.00"), "currency": "ZMW",
         "payment_method_types": ["mobile_money"], "description": "it's $HOME \"x\"",
         "metadata": {"a b": "ü\n"}}, {}, KEYED),
    Case("GET", "/v1/payment_intents", None, {"limit": "1", "starting_after": "{intent_id}"}),
    Case("GET", "/v1/payment_intents/{intent_id}", None, {"client_secret": "{client_secret}"}, {}, "publishable_key"),
    Case("GET", "/v1/payment_intents/pi_none"),
    Case("POST", "/v1/payment_intents/{intent_id}/confirm", {"payment_method": MONEY}, {}, KEYED),
    Case("POST", "/v1/payment_intents/{intent_id}/confirm",
         {"payment_method": MONEY, "client_secret": "{client_secret}"}, {}, {}, "publishable_key"),
    Case("POST", "/v1/payment_intents/{intent_id}/cancel", {"cancellation_reason": "abandoned"}),
    Case("POST", "/v1/charges", CHARGE, {}, KEYED),
    Case("POST", "/v1/charges", {**CHARGE, "phone": "+260960000002", "reference": "ORDER-1"}, {}, KEYED),
    Case("POST", "/v1/refunds", {"charge": "{charge_id}", "amount": 500}),
    Case("POST", "/v1/refunds", {"payment_intent": "{paid_id}", "amount": Decimal("1.50"), "reason": "requested"}),
    Case("GET", "/v1/refunds", None, {"charge": "{charge_id}"}),
    Case("POST", "/v1/payouts", {"amount": Decimal("5.00"), "currency": "ZMW"}),
    Case("GET", "/v1/events", None, {"type": "charge.*", "limit": "2"}),
    Case("POST", "/v1/webhook_endpoints", {"url": "http://merchant.localhost/other", "enabled_events": ["charge.*"]}),
    Case("PATCH", "/v1/webhook_endpoints/{endpoint_id}", {"status": "disabled"}),
    Case("GET", "/v1/deliveries", None, {"status": "dead_letter", "endpoint": "{endpoint_id}"}),
    Case("POST", "/v1/api_keys", {"kind": "publishable"}),
    Case("POST", "/plants", {"id": 1, "name": "Monstera", "tag": "climber"}),
    Case("POST", "/v1/auth/token", {"email": "shop@example.com", "password": "{password}"}),
    Case("POST", "/v1/auth/refresh", {"refresh_token": "{refresh_token}"}),
    Case("POST", "/sandbox/clock/advance", {"seconds": 7200}),
    Case("POST", "/sandbox/clock/advance", {"seconds": Decimal("0.5")}),
    Case("POST", "/sandbox/phones/{phone}/input", {"text": "1234"}),
    Case("POST", "/sandbox/phones/{phone}/input", {"text": "{pin}"}),
    Case("POST", "/sandbox/operator/script", {"phone": "{phone}", "answers": ["insufficient_funds", "approve"]}),
    Case("POST", "/sandbox/operator/outage", {"provider": "mtn", "seconds": 600}),
    Case("POST", "/sandbox/operator/query", {"charge": "{charge_id}"}),
    Case("POST", "/sandbox/accounts", {"name": "SEED STORE"}),
    Case("POST", "/sandbox/webhook_endpoints/{endpoint_id}/faults", {"faults": ["duplicate", "out_of_order"]}),
    Case("POST", "/sandbox/suspense/{item}/settle", {"how": "return"}),
    Case("POST", "/sandbox/ledger/entries", {"recipe": "rounding", "amount_minor": 1,
         "account": "operator:mtn:float", "reference": "r-1"}),
    Case("GET", "/sandbox/ledger/movements", None, {"account": "operator:mtn:float"}),
    Case("POST", "/sandbox/simulation", {"simulation": "march", "cursor": 0, "commands": []}),
]
# fmt: on
TABLE = (*operations.OPERATIONS, *controls.OPERATIONS)
SAID_OF = {(each.method, each.path) for each in SAID}
CASES = [*SAID, *(Case(each.method, each.path) for each in TABLE if (each.method, each.path) not in SAID_OF)]
"""What needs no body and no query is asked for as it stands in the table."""


def raw(case: Case, bench: Workbench) -> httpx.Response:
    key = str(getattr(bench, case.key))
    is_basic = (case.method, case.path) == ("POST", "/v1/charges")
    headers = dict(case.headers)
    if not is_basic and not case.path.startswith("/v1/auth"):
        headers["Authorization"] = f"Bearer {key}"
    content = None if case.body is None else to_json(case.body)
    if content is not None:
        headers["Content-Type"] = "application/json"
    return bench.http.request(
        case.method, case.path, params=case.query or None, content=content, headers=headers,
        auth=httpx.BasicAuth(key, "") if is_basic else None,
    )  # fmt: skip


def texts(case: Case) -> Snippet:
    return snippet(case.method, case.path, case.body, query=case.query, headers=case.headers, key=case.key)


def by_python(text: str, world: World) -> object:
    """What a typed call says: the body of the answer, or that of the error."""
    try:
        return run_python(text, world.bench, **world.secrets)
    except ApiError as error:
        return error


def by_httpx(text: str, world: World) -> httpx.Response:
    return run_python(text, world.bench, **world.secrets)


def by_curl(text: str, world: World) -> httpx.Response:
    keys = {"SECRET_KEY": str(world.bench.secret_key), "PUBLISHABLE_KEY": str(world.bench.publishable_key)}
    more = {name.upper(): value for name, value in world.secrets.items()}
    sent = CURL.parse_args(arguments_of(text, BASE_URL=world.bench.base_url, **keys, **more))
    assert all(":" in line or line.endswith(";") for line in sent.headers)
    parts = [line.partition(":") if ":" in line else (line[:-1], "", "") for line in sent.headers]
    headers = [(name, value.strip()) for name, _, value in parts]
    content = None if sent.body is None else sent.body.encode()
    # curl's own header for a body, which a Content-Type without a value takes away.
    assert content is None or any(name.lower() == "content-type" for name, _ in headers)
    headers = [(name, value) for name, value in headers if value or name.lower() != "content-type"]
    auth = None if sent.user is None else httpx.BasicAuth(*sent.user.split(":", 1))
    return world.bench.http.request(sent.method, sent.url, headers=headers, content=content, auth=auth)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AbstractContextManager[World]]:
    folder = tmp_path_factory.mktemp("worlds")
    with Workbench(seed=7, store=folder / "first.db") as first:
        names = filled(first)

    numbers = itertools.count()

    @contextmanager
    def made() -> Iterator[World]:
        world = World(shutil.copy(folder / "first.db", folder / f"{next(numbers)}.db"), names)
        with world.bench:
            yield world

    return made


@pytest.fixture(scope="module")
def shared(worlds: Callable[[], AbstractContextManager[World]]) -> Iterator[World]:
    with worlds() as world:
        yield world


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method}{case.path.replace('/', '.')}")
def test_each_text_says_what_the_request_says(
    case: Case, worlds: Callable[[], AbstractContextManager[World]], shared: World
):
    asked = case.within(shared.names)
    made = texts(asked)
    # What is read changes nothing: the same world serves all, and counts the calls.
    is_read = case.method == "GET" and "none" not in case.path
    world_of = (lambda: nullcontext(shared)) if is_read else worlds

    def calls() -> int:
        return len(shared.trace(case).exchanges) if is_read else 0

    before = calls()
    with world_of() as world:
        answer, left = raw(asked, world.bench), world.left(case)
    one = calls() - before
    for run, text in ((by_httpx, made.httpx), (by_curl, made.curl)):
        with world_of() as world:
            again = run(text, world)
            assert (again.status_code, again.content) == (answer.status_code, answer.content)
            assert world is shared or world.left(case) == left
    with world_of() as world:
        said = by_python(made.python, world)
        assert world is shared or world.left(case) == left
    assert calls() == before + 4 * one
    if isinstance(said, ApiError):
        assert (said.status, said.message) == (answer.status_code, answer.json()["detail"])
    elif isinstance(said, View):
        assert exact(to_json(said)) == exact(answer.content)
    else:
        assert answer.status_code == 200 or made.python == made.httpx
    hidden = [shared.bench.secret_key, shared.bench.publishable_key]
    hidden += [shared.names[name] for name in SECRETS if name != "password"]
    assert [each for each in hidden if str(each) in str(made)] == []


NO_CALL = {
    ("GET", "/sandbox/webhook_endpoints"), ("POST", "/sandbox/accounts"), ("POST", "/sandbox/ledger/entries"),
    ("POST", "/sandbox/ledger/entries/{entry_id}/repeat"), ("POST", "/sandbox/simulation"),
    ("POST", "/sandbox/operations/{operation_id}/deprecation"), ("GET", "/sandbox/payments"),
    ("GET", "/sandbox/payments/{payment_id}"), ("GET", "/sandbox/requests"), ("GET", "/sandbox/requests/{request_id}"),
    ("GET", "/sandbox/requests/{request_id}/code"), ("GET", "/sandbox/changes"), ("GET", "/sandbox/phones"),
    ("GET", "/sandbox/keys"), ("GET", "/sandbox/scenarios"), ("POST", "/sandbox/sign"),
    ("GET", "/sandbox/gaps/used"),
}  # fmt: skip
"""Operations without a call of their own in Python."""


def route(row: ClientCall | BenchCall | operations.Operation) -> tuple[str, str]:
    return row.method, re.sub(r"\{\w+\}", "{}", row.path)


def test_each_operation_has_its_call_or_none_on_purpose_and_no_call_is_of_another():
    calls = [*map(route, (*client_calls(), *BENCH_CALLS))]
    assert {*calls} <= {*map(route, TABLE)}
    assert len({*calls}) == len(calls)
    for operation in TABLE:
        method, path = operation.method, operation.path
        pattern = re.sub(r"\{\w+\}", "[^/]+", path)
        cases = [texts(each) for each in CASES if each.method == method and re.fullmatch(pattern, each.path)]
        assert cases, path
        assert {each.python == each.httpx for each in cases} == {(method, path) in NO_CALL}, path


def fields_of(struct: type[View] | None) -> Iterator[str]:
    """The fields of a body or query; within a container, those of the object in it."""
    for field in msgspec.structs.fields(struct) if struct else ():
        inner = field.type if isinstance(field.type, type) and issubclass(field.type, View) else None
        yield from fields_of(inner) if inner else (field.encode_name,)


@pytest.mark.parametrize("operation", operations.OPERATIONS, ids=lambda each: each.id)
def test_a_method_of_the_client_takes_what_the_table_says(operation: operations.Operation):
    """Every field of the body and the query, an idempotency key where one is needed, and the ids of the path."""
    path = re.sub(r"\{\w+\}", "{}", operation.path)
    (call,) = (
        each
        for each in client_calls()
        if (each.method, re.sub(r"\{\w+\}", "{}", each.path)) == (operation.method, path)
    )
    by_client = {*re.findall(r"\{(\w+)\}", call.path), "idempotency_key", "page", "token"}
    assert call.parameters.keys() - by_client == {*fields_of(operation.body), *fields_of(operation.query)} - (
        # The method writes the only type there is by itself.
        {"type"} if operation.id == "confirmPaymentIntent" else set()
    )
    needs_key = [row.default is row.empty for name, row in call.parameters.items() if name == "idempotency_key"]
    assert any(needs_key) == operation.needs_idempotency_key


INTENT = {"amount": Decimal("150.00"), "currency": "ZMW", "payment_method_types": ["mobile_money"]}
UNSAID: list[tuple[str, Any, dict[str, Any]]] = [
    *(("payment_intents", body, {}) for body in (
        {**INTENT, "amount": "150.00"}, {**INTENT, "amount": True}, {**INTENT, "colour": "green"},
        {**INTENT, "description": None}, {"amount": 1, "currency": "ZMW"},
        {**INTENT, "payment_method_types": "mobile_money"}, "{not JSON", [1],
    )),
    *(("payment_intents", INTENT, options) for options in (
        {"scheme": "Basic"}, {"scheme": "none"}, {"headers": {"Sandbox-Scenario": "server_error"}},
        {"headers": {"Content-Type": "text/plain"}},
    )),
    ("payment_intents/pi_1/confirm", {"payment_method": {"type": "card"}}, {}),
    ("payment_intents/pi_1/confirm", {"payment_method.type": "mobile_money"}, {}),
    ("payment_intents/%2E%2E/cancel", None, {}),
    ("charges", CHARGE, {}),
    ("charges", {**CHARGE, "amount": Decimal("1.5")}, {"headers": KEYED}),
    ("refunds", {"charge": "ch_1", "amount": Decimal("1.5")}, {}),
    ("api_keys", {"kind": "secret"}, {"headers": KEYED}),
    ("auth/refresh", {"refresh_token": 5}, {}),
    ("/sandbox/operator/script", {"phone": PHONE, "answers": "approve"}, {}),
    ("/sandbox/operator/outage", {"provider": "mtn", "seconds": Decimal("1.5")}, {}),
    ("/sandbox/clock/advance", {"seconds": -1}, {}),
    ("/sandbox/reset", None, {"key": "publishable_key"}),
    ("nowhere", None, {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "options"), UNSAID)
def test_what_the_client_cannot_say_is_said_as_raw_http(path: str, body: object, options: dict[str, Any]):
    made = snippet("POST", path if path[0] == "/" else f"/v1/{path}", body, **options)
    assert made.python == made.httpx


class TestTheWords:
    def test_amounts_keep_every_digit_and_the_clock_moves_by_its_largest_unit(self):
        written = '{"id": 1,  "name": "Aloe"}'
        assert all(written in each for each in snippet("POST", "/plants", written)[1:])
        made = snippet("POST", "/v1/payment_intents", {**INTENT, "amount": Decimal("0.10")})
        assert 'amount=Decimal("0.10")' in made.python
        assert all('"amount":0.10,' in each for each in made[1:])
        assert "-H 'A;'" in snippet("GET", "/v1/balance", headers={"A": ""}).curl
        assert """--data-raw '{"a":{},"b":[]}'""" in snippet("POST", "/plants", {"a": {}, "b": []}).curl
        needed = snippet("GET", "/sandbox/ledger/movements")
        assert needed.python == needed.httpx, "a call needs its account"
        moved = {0: "(0)", 30: "(30)", 60: "(minutes=1)", 90_000: "(hours=25)", 86_400: "(days=1)"}
        for seconds, words in moved.items():
            made = snippet("POST", "/sandbox/clock/advance", {"seconds": seconds})
            assert made.python == f"bench.clock.advance{words}"

    def test_a_nul_is_sent_as_it_is_written_unless_no_program_takes_it(self):
        made = snippet("POST", "/plants/a\0", {"name": "b\0"})
        assert all(r'"b\u0000"' in each.replace(r"\\", "\\") for each in made)
        assert all("/plants/a%00" in each for each in made)
        assert "\0" not in snippet("POST", "/plants", "b\0 and no JSON").curl

    def test_a_pin_that_is_not_the_sandboxs_is_a_variable_and_a_key_in_a_text_masked(self):
        path = f"/sandbox/phones/{PHONE}/input"
        assert snippet("POST", path, {"text": "1234"}).python == f'bench.phone("{PHONE}").enter_pin("1234")'
        assert snippet("POST", path, {"text": "4321"}).python == f'bench.phone("{PHONE}").enter_pin(pin)'
        key = "sk_" + "test_" + "a1B2" * 6
        shown = str(snippet("POST", "/plants", {"id": 1, "name": f"{key} {PHONE}"}))
        assert key not in shown
        assert PHONE in shown
        for body in ({"email": "e", "password": "hunter2"}, '{"email": "e", "password": "hunter2"}'):
            assert "hunter2" not in str(snippet("POST", "/v1/auth/token", body))
        masked = snippet("GET", "/v1/charges", query={"starting_after": "ch_••••"})
        assert all(each.startswith("# Replace what is masked") for each in masked)


ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NASTY = st.one_of(ANY, st.text("'\"$`\\!\n\t @;&|<>(){}*?#~%é€😀\u2028", max_size=20))


class TestEveryText:
    @pytest.mark.thorough
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(name=NASTY, tag=NASTY)
    def test_it_is_answered_as_the_request(self, shared: World, name: str, tag: str):
        case = Case("POST", "/plants", {"id": 1, "name": name, "tag": tag})
        answer = raw(case, shared.bench)
        made = texts(case)
        assert by_curl(made.curl, shared).content == answer.content
        assert by_httpx(made.httpx, shared).content == answer.content
        said = by_python(made.python, shared)
        plain = {"message": said.message} if isinstance(said, ApiError) else exact(to_json(said))
        assert plain.items() <= answer.json().items()


@pytest.mark.skipif(not shutil.which("curl"), reason="NO CURL HERE: its text is read by bash alone")
def test_curl_itself_takes_a_payment():
    with Workbench(seed=7) as bench, bench.serve() as served:
        body = {**INTENT, "description": 'it\'s 5 < $6 & "ü"\n@home'}
        made = snippet("POST", "/v1/payment_intents", body, headers=KEYED, base_url=served.base_url)
        done = subprocess.run(  # noqa: S603  the text that is tested
            ["bash", "--norc", "-c", made.curl],  # noqa: S607  the bash of whoever runs the tests
            env={"SECRET_KEY": str(served.secret_key), "NO_PROXY": "*"}, capture_output=True, check=True, timeout=30,
        )  # fmt: skip
        said = exact(done.stdout)
        assert said["description"] == body["description"]
        assert bench.client.payment_intents.retrieve(said["id"]).amount == Decimal("150.00")
