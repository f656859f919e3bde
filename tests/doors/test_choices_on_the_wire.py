"""What the interface may be instead, through both doors: several choices at once, and the bench at work under them."""

import atexit
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DOORS, INTENT, Serving, bearer, check_books, is_true_soon, method_on, refusal
from workbench import PaymentsClient, Workbench
from workbench.domain.gaps import Gaps
from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.domain.wire.sandbox_controls import DASHBOARD
from workbench.errors import InvalidRequest, NotFound, RateLimited, StateConflict, UnexpectedResponse, WaitExpired
from workbench.sandbox import rate_limit

PHONE = "+260961234567"
DAY_S = 86_400
NUMBERED: dict[str, Any] = {
    "confirm_response": "accepted", "pagination": "page", "token_credentials": "one_account",
    "token_field": "data.token", "key_rotation": "overlap", "rate_limit": "100_per_60",
}  # fmt: skip
LEAST: dict[str, Any] = {"extra_endpoints": "absent", "endpoint_registration": "dashboard", "token_field": "token"}


class Opened(NamedTuple):
    """A sandbox through a door, and whether it is served."""

    bench: Workbench
    is_served: bool


def opened(door: str, gaps: dict[str, Any], serving: Serving, folder: Path) -> Iterator[Opened]:
    with ExitStack() as closing:
        if door == "in_process":
            bench = closing.enter_context(Workbench(seed=7, gaps=gaps))
        else:
            file = folder / "gaps.toml"
            file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in gaps.items()))
            options = ("--port", "0", "--json", "--seed", "7", "--clock", "manual", "--gaps", str(file))
            server = closing.enter_context(serving(*options))
            bench = closing.enter_context(Workbench.connect(**server.address))
        yield Opened(bench, door != "in_process")
        check_books(bench)


@pytest.fixture(scope="module", params=DOORS)
def numbered(request: pytest.FixtureRequest, serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401  a fixture
    yield from opened(request.param, NUMBERED, serving, tmp_path_factory.mktemp("numbered"))


@pytest.fixture(scope="module", params=[DOORS[0], pytest.param(DOORS[1], marks=pytest.mark.thorough)])
def least(request: pytest.FixtureRequest, serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401  a fixture
    yield from opened(request.param, LEAST, serving, tmp_path_factory.mktemp("least"))


def rows_in(answer: Any) -> set[str]:  # noqa: ANN401  an httpx response
    """The rows that an answer says it relied on."""
    return {*answer.headers["Sandbox-Provenance"].partition('gaps="')[2].rstrip('"').split()}


def calls_in(bench: Workbench) -> list[str]:
    """The merchant's calls so far."""
    return [row["what"] for row in bench.trace if row["kind"] == "call"]


def paid(bench: Workbench, phone: str = PHONE) -> str:
    made = bench.client.payment_intents.create(amount=150)
    bench.client.payment_intents.confirm(made.id, phone=phone, provider="mtn")
    bench.phone(phone).enter_pin("1234")
    return made.id


def new_window(bench: Workbench) -> None:
    bench.clock.advance(seconds=60)


class TestNumbered:
    def test_a_confirm_is_accepted_and_given_again(self, numbered: Opened):
        bench = numbered.bench
        made = bench.http.post("/v1/payment_intents", json=INTENT, headers=bearer(bench)).json()
        path, headers = f"/v1/payment_intents/{made['id']}/confirm", {**bearer(bench), "Idempotency-Key": made["id"]}
        answers = [bench.http.post(path, json=method_on("+260961234568"), headers=headers) for _ in range(2)]
        assert [each.status_code for each in answers] == [202, 202]
        assert [each.json() for each in answers] == [{"id": made["id"], "status": "requires_action"}] * 2
        assert {"confirm_response", "intent_states"} <= rows_in(answers[0])
        assert "currency_case" not in rows_in(answers[0])
        assert "Idempotent-Replayed" in answers[1].headers
        again = bench.client.payment_intents.create(amount=1)
        confirmed = bench.client.payment_intents.confirm(again.id, phone="+260961234569", provider="mtn")
        assert (confirmed.id, confirmed.status) == (again.id, "requires_action")

    def test_a_list_goes_by_the_numbers_of_its_pages(self, numbered: Opened):
        bench, pay = numbered.bench, numbered.bench.client
        new_window(bench)
        made = [pay.payment_intents.create(amount=each).id for each in range(1, 6)][::-1]
        first = bench.http.get("/v1/payment_intents?per_page=3", headers=bearer(bench))
        body = first.json()
        assert ([each["id"] for each in body["data"]], body["page"], body["per_page"]) == (made[:3], 1, 3)
        assert {*body} == {"object", "url", "data", "page", "per_page", "total"}
        assert "pagination" in rows_in(first)
        assert [each.id for each in pay.payment_intents.list(limit=2, page=2)] == made[2:4]
        assert pay.payment_intents.list(limit=2, page=2).has_more
        last = pay.payment_intents.list(limit=1, page=body["total"])
        assert (len(last), last.has_more) == (1, False)
        assert pay.payment_intents.list(page=1000).data == []
        assert len([*pay.payment_intents.each()]) == body["total"]
        for misplaced in ({"starting_after": made[0]}, {"ending_before": made[0]}):
            with pytest.raises(InvalidRequest, match="by numbers of pages"):
                pay.payment_intents.list(**misplaced)
        for wrong in ("page=0", "per_page=0", "per_page=101", "page=x", f"page={2**31}"):
            answer = bench.http.get(f"/v1/charges?{wrong}", headers=bearer(bench))
            assert refusal(answer) == (400, "parameter_invalid", wrong.partition("=")[0])
        # A cursor is a parameter that there is not, and is ignored as all are.
        ignored = bench.http.get(f"/v1/payment_intents?starting_after={made[0]}&per_page=1", headers=bearer(bench))
        assert ignored.json()["data"][0]["id"] == made[0]

    def test_rows_that_arrive_between_two_pages_are_not_given_twice(self, numbered: Opened):
        bench = numbered.bench
        new_window(bench)
        made = [bench.client.api_keys.create("publishable").id for _ in range(3)]
        sent, shop = [], PaymentsClient(bench.base_url, str(bench.secret_key), http=bench.http, pagination="page")
        listed = shop.api_keys._listed  # noqa: SLF001  pages of two in place of hundred

        def in_twos(limit: int, *places: Any, **more: Any) -> Any:  # noqa: ANN401, ARG001  as it is called
            sent.append(bench.client.api_keys.create("publishable").id)
            return listed(2, *places, **more)

        shop.api_keys._listed = in_twos  # type: ignore[method-assign]  # noqa: SLF001  the same
        found = [each.id for each in shop.api_keys.each()]
        assert len({*found}) == len(found)
        assert {*made, sent[0]} <= {*found}
        assert not {*sent[1:]} & {*found}

    def test_one_account_signs_in_and_its_token_is_wrapped(self, numbered: Opened):
        bench = numbered.bench
        new_window(bench)
        assert bench.email.endswith("@merchant.example")
        assert str(bench.password) not in repr(bench.password)
        good = {"email": bench.email, "password": str(bench.password)}
        answer = bench.http.post("/v1/auth/token", json=good)
        assert [*answer.json()] == ["data"]
        assert [*answer.json()["data"]] == ["token", "refresh_token", "token_type", "expires_in"]
        assert {"token_credentials", "token_field"} <= rows_in(answer)
        assert "no-store" in answer.headers["Cache-Control"]
        for wrong in ({"email": "a@example.com"}, {"password": "greenhouse"}, {"password": "wrong"}):
            refused = bench.http.post("/v1/auth/token", json={**good, **wrong})
            assert refusal(refused) == (401, "credentials_wrong", "password")
            assert "token_credentials" in rows_in(refused)
        token = bench.client.auth.token(**good)
        newer = bench.client.auth.refresh(str(token.refresh_token))
        assert bench.client_with(str(newer.access_token)).balance.retrieve().object == "balance"
        trace = bench.http.get("/sandbox/trace", headers=bearer(bench)).text
        shown = (bench.password, token.access_token, newer.access_token, newer.refresh_token)
        assert not [each for each in shown if str(each) in trace]

    def test_a_rolled_key_works_for_a_day_more_and_can_be_revoked_before(self, numbered: Opened):
        bench, keys = numbered.bench, numbered.bench.client.api_keys
        new_window(bench)
        first, second = keys.create(), keys.create()
        rolled_s = bench.clock.now_ms // 1000
        newer = keys.roll(first.id), keys.roll(second.id)
        assert {each.status for each in newer} == {"active"}
        listed = {each.id: each for each in keys.list(limit=100)}
        assert (listed[first.id].status, listed[first.id].works_until) == ("rolled", rolled_s + DAY_S)
        assert not listed[newer[0].id].works_until
        with pytest.raises(StateConflict):
            keys.roll(first.id)
        assert keys.revoke(second.id).status == "revoked"
        seen = []
        for seconds in (0, DAY_S - 1, 1):
            bench.clock.advance(seconds)
            answers = [bench.http.get("/v1/balance", headers=bearer_of(str(each.value))) for each in (first, second)]
            seen.append([(each.status_code, "key_rotation" in rows_in(each)) for each in answers])
        assert seen == [[(200, True), (401, False)]] * 2 + [[(401, True), (401, False)]]
        with pytest.raises(StateConflict):
            keys.revoke(first.id)

    def test_a_hundred_calls_of_an_account_and_those_of_no_other(self, numbered: Opened):
        bench = numbered.bench
        new_window(bench)
        made = bench.http.post("/sandbox/accounts", json={"name": "OTHER"}, headers=bearer(bench)).json()
        headers = bearer_of(made["secret_key"])
        first = bench.http.post("/plants", json={"id": 1, "name": "Monstera"}, headers=headers)
        assert first.headers["RateLimit-Policy"] == '"default";q=100;w=60'
        assert first.headers["RateLimit"] == '"default";r=99;t=60'
        # What is refused counts, as what is done; what has no account, or is the sandbox's own, does not.
        assert bench.http.post("/v1/payment_intents", headers=headers).headers["RateLimit"] == '"default";r=98;t=60'
        for path in ("/v1/nothing", "/sandbox/clock", "/openapi.json"):
            assert "RateLimit" not in bench.http.get(path, headers=headers).headers
        assert "RateLimit" not in bench.http.get("/v1/balance", headers=bearer_of("sk_test_none")).headers
        assert "RateLimit" not in bench.http.get("/v1/balance", headers={**headers, UNSEEN: "true"}).headers
        bench.clock.advance(seconds=20.5)
        left = [bench.http.get("/v1/balance", headers=headers).headers["RateLimit"] for _ in range(98)]
        assert left == [f'"default";r={each};t=40' for each in range(97, -1, -1)]
        key = {"Idempotency-Key": "limited"}
        refused = bench.http.post("/v1/payment_intents", json=INTENT, headers={**headers, **key})
        assert refusal(refused) == (429, "rate_limited", None)
        assert (refused.headers["Retry-After"], refused.headers["RateLimit"]) == ("40", '"default";r=0;t=40')
        assert "rate_limit" in rows_in(refused)
        other = bench.client_with(made["secret_key"])
        with pytest.raises(RateLimited) as limited:
            other.balance.retrieve()
        assert limited.value.facts["retry_after_s"] == 40
        assert bench.client.balance.retrieve().object == "balance"
        bench.clock.advance(seconds=39)
        assert bench.http.get("/v1/balance", headers=headers).headers["Retry-After"] == "1"
        bench.clock.advance(seconds=1)
        # Nothing was done and nothing kept: the same is sent again.
        again = bench.http.post("/v1/payment_intents", json=INTENT, headers={**headers, **key})
        assert (again.status_code, again.headers["RateLimit"]) == (200, '"default";r=99;t=60')
        assert "Idempotent-Replayed" not in again.headers

    def test_a_wait_waits_for_as_long_as_it_is_told(self, numbered: Opened):
        bench = numbered.bench
        new_window(bench)
        paid_intent = paid(bench, "+260961234570")
        open_intent = bench.client.payment_intents.create(amount=1).id
        bench.client.payment_intents.confirm(open_intent, phone="+260961234571", provider="mtn")
        while "Retry-After" not in bench.http.get("/v1/balance", headers=bearer(bench)).headers:
            pass
        before_ms, calls = bench.clock.now_ms, len(calls_in(bench))
        assert bench.client.wait(paid_intent).status == "succeeded"
        assert (bench.clock.now_ms - before_ms, len(calls_in(bench)) - calls) == (60_000, 2)
        while "Retry-After" not in bench.http.get("/v1/balance", headers=bearer(bench)).headers:
            pass
        with pytest.raises(WaitExpired, match="still unknown after 10 s"):
            bench.client.wait(open_intent, timeout_s=10)

    def test_tables_console_and_receiver_go_on(self, numbered: Opened):
        bench = numbered.bench
        new_window(bench)
        assert bench.receiver.secrets
        name = paid(bench, "+260961234572")
        assert is_true_soon(lambda: "payment_intent.succeeded" in [each.type for each in bench.receiver.events])
        while "Retry-After" not in bench.http.get("/v1/balance", headers=bearer(bench)).headers:
            pass
        assert name in [*bench.tables.payments["id"]]
        assert len(bench.tables.events) >= 5
        assert str(bench.console())


class TestLeast:
    def test_nothing_is_there_but_what_the_interface_shows(self, least: Opened):
        bench = least.bench
        made = bench.client.payment_intents.create(amount=150)
        for method, path, row in (
            ("GET", f"/v1/payment_intents/{made.id}", "extra_endpoints"), ("GET", "/v1/charges", "extra_endpoints"),
            ("POST", "/v1/refunds", "extra_endpoints"), ("DELETE", "/v1/api_keys/x", "extra_endpoints"),
            ("GET", "/v1/webhook_endpoints", "endpoint_registration"), ("HEAD", "/v1/events", "extra_endpoints"),
        ):  # fmt: skip
            answer = bench.http.request(method, path, headers=bearer(bench))
            assert (answer.status_code, row in rows_in(answer)) == (404, True), path
            assert answer.text == "" if method == "HEAD" else answer.json()["code"] == "path_not_found"
        other = bench.http.put("/v1/charges", headers=bearer(bench))
        assert (other.status_code, other.headers["Allow"]) == (405, "POST")
        assert bench.http.put("/v1/refunds", headers=bearer(bench)).status_code == 404
        for call in (lambda: bench.client.payment_intents.retrieve(made.id), lambda: bench.client.wait(made.id)):
            with pytest.raises(NotFound):
                call()

    def test_the_dashboard_has_the_rest_for_a_secret_key_and_leaves_no_trace(self, least: Opened):
        bench = least.bench
        name = paid(bench, "+260961234573")
        before = calls_in(bench)
        path = f"{DASHBOARD}/payment_intents"
        answer = bench.http.get(path, headers=bearer(bench))
        assert (answer.json()["url"], name in answer.text) == (path, True)
        assert answer.headers["Sandbox-Provenance"].startswith("sandbox")
        assert bench.http.get(path).status_code == 401
        assert bench.http.get(path, headers=bearer_of(str(bench.publishable_key))).status_code == 403
        made = bench.acting.refunds.create(payment_intent=name, amount=1)
        assert (made.amount, bench.looking().refunds.retrieve(made.id).status) == (1, "pending")
        bench.acting.payment_intents.cancel(bench.client.payment_intents.create(amount=1).id)
        assert calls_in(bench) == [*before, "POST /v1/payment_intents"]

    def test_one_endpoint_by_the_dashboard(self, least: Opened):
        bench = least.bench
        assert bench.receiver.secrets
        (endpoint,) = bench.acting.webhook_endpoints.each()
        assert endpoint.url == bench.receiver_url
        with pytest.raises(StateConflict) as refused:
            bench.acting.webhook_endpoints.create(url="http://127.0.0.1:9/more")
        assert refused.value.code == "endpoint_exists"
        answer = bench.http.post(
            f"{DASHBOARD}/webhook_endpoints", json={"url": "http://127.0.0.1:9/more"}, headers=bearer(bench)
        )
        assert (answer.status_code, "endpoint_registration" in rows_in(answer)) == (409, True)
        assert bench.acting.webhook_endpoints.roll_secret(endpoint.id).secret

    def test_tables_console_and_handset_go_on(self, least: Opened):
        bench = least.bench
        name = paid(bench, "+260961234574")
        assert name in [*bench.tables.payments["id"]]
        assert {"charges", "refunds", "payouts", "events", "deliveries"} == {
            each for each in ("charges", "refunds", "payouts", "events", "deliveries")
            if getattr(bench.tables, each) is not None
        }  # fmt: skip
        assert "There is no such path" not in str(bench.console())
        bench.delivery_faults("duplicate")
        bench.delivery_faults()
        event = next(iter(bench.looking().events.each()))
        assert len(bench.acting.events.replay(event.id).data) == 1
        assert str(bench.client.auth.token(email="a@example.com", password="a").access_token).startswith("at_")


class TestDeprecation:
    def test_what_is_marked_says_so_until_it_is_no_more(self, bench: Workbench):
        def described() -> list[str]:
            paths = bench.http.get("/openapi.json").json()["paths"].values()
            return [each["operationId"] for path in paths for each in path.values() if "deprecated" in each]

        for _ in range(2):
            assert described() == []
            assert "Deprecation" not in bench.http.get("/v1/balance", headers=bearer(bench)).headers
            moments = {"deprecated_at": "2026-01-05T00:00:00Z", "sunset_at": "2026-12-31T22:00:00Z"}
            assert bench.control.deprecate("retrieveBalance", **moments).sunset_at == "2026-12-31T22:00:00.000Z"
            answer = bench.http.get("/v1/balance", headers=bearer(bench))
            assert (answer.headers["Deprecation"], answer.headers["Sunset"]) == (
                "@1767571200", "Thu, 31 Dec 2026 22:00:00 GMT",
            )  # fmt: skip
            assert "deprecation" in rows_in(answer)
            assert "Deprecation" not in bench.http.get("/v1/charges", headers=bearer(bench)).headers
            assert described() == ["retrieveBalance"]
            bench.control.deprecate("retrieveBalance", marked=False)

    @pytest.mark.parametrize(
        ("operation", "moments", "error"),
        [
            ("payCash", {}, NotFound),
            ("retrieveBalance", {"sunset_at": "2020-01-01T00:00:00Z"}, StateConflict),
            ("retrieveBalance", {"deprecated_at": "soon"}, InvalidRequest),
        ],
    )
    def test_what_cannot_be_marked(
        self, bench: Workbench, operation: str, moments: dict[str, str], error: type[Exception]
    ):
        with pytest.raises(error):
            bench.control.deprecate(operation, **moments)

    def test_a_reset_forgets_it_and_lets_every_account_begin_anew(self):
        with Workbench(seed=7, gaps={"rate_limit": "100_per_60"}) as bench:
            bench.control.deprecate("retrieveBalance")
            seen = []
            for reset in (bench.clock.advance, bench.reset):
                answer = bench.http.get("/v1/balance", headers=bearer(bench))
                seen.append(("Deprecation" in answer.headers, answer.headers["RateLimit"]))
                reset()
            answer = bench.http.get("/v1/balance", headers=bearer(bench))
            seen.append(("Deprecation" in answer.headers, answer.headers["RateLimit"]))
            assert seen == [
                (True, '"default";r=99;t=60'), (True, '"default";r=98;t=60'), (False, '"default";r=99;t=60'),
            ]  # fmt: skip


def bearer_of(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_how_long_to_wait_is_read_of_any_service():
    answers = httpx.MockTransport(lambda _: httpx.Response(429, headers={"Retry-After": "7"}, text="slow down"))
    with httpx.Client(transport=answers) as http, pytest.raises(RateLimited) as limited:
        PaymentsClient("http://127.0.0.1", "sk_test_x", http=http).balance.retrieve()
    assert limited.value.facts == {"retry_after_s": 7}


def test_a_token_by_no_known_name_is_no_token():
    answers = httpx.MockTransport(lambda _: httpx.Response(200, json={"bearer": "at_x"}))
    with httpx.Client(transport=answers) as http, pytest.raises(UnexpectedResponse, match="no token"):
        PaymentsClient("http://127.0.0.1", "sk_test_x", http=http).auth.token(email="a@b", password="a")


class _Kept:
    """As much of a transaction as counting takes."""

    def __init__(self, gaps: Any) -> None:  # noqa: ANN401  the register
        self.gaps = gaps
        self.now_ms = 1
        self.kept: dict[str, int] = {}

    def note(self, name: str, value: int) -> None:
        self.kept[name] = value

    def last(self, name: str) -> int:
        return self.kept.get(name, 0)


@given(st.lists(st.tuples(st.integers(0, 40_000), st.integers(1, 70)), max_size=6))
def test_no_window_takes_more_than_its_calls_and_what_is_told_is_kept(steps: list[tuple[int, int]]):
    """`steps` are the milliseconds to let go by, and how many calls are made then."""
    tx: Any = _Kept(Gaps(rate_limit="100_per_60"))
    began_ms, made = -60_000, 0
    for step in [later for wait, calls in steps for later in (wait, *[0] * (calls - 1))]:
        tx.now_ms += step
        if tx.now_ms >= began_ms + 60_000:
            began_ms, made = tx.now_ms, 0
        status = 200
        try:
            rate_limit.check_quota(tx, "shop")
        except RateLimited as error:
            status = error.status
        assert (status == 429) == (made == 100)
        made += status == 200
        ends_s = -((tx.now_ms - began_ms - 60_000) // 1000)
        told = rate_limit.count_call(tx, "shop", status)
        assert told["RateLimit"] == f'"default";r={100 - made};t={ends_s}'
        assert told.get("Retry-After") == (str(ends_s) if status == 429 else None)


@given(st.integers(1, 9), st.booleans())
def test_the_pages_of_a_list_are_the_list(size: int, of_charges: bool):  # noqa: FBT001  drawn
    listed = _paged()
    query = "&type=charge.*" if of_charges else ""
    pages, number = [], 1
    while (body := listed(f"/v1/events?per_page={size}&page={number}{query}"))["data"]:
        pages.append([each["id"] for each in body["data"]])
        number += 1
    found = [each for page in pages for each in page]
    every = listed(f"/v1/events?per_page=100{query}")
    assert found == [each["id"] for each in every["data"]]
    assert body["total"] == len(found) == every["total"] == {True: 2, False: 10}[of_charges]
    assert {len(page) for page in pages[:-1]} <= {size}


@cache
def _paged() -> Callable[[str], Any]:
    """A sandbox with some events, and how its lists are read."""
    bench = Workbench(seed=7, gaps={"pagination": "page"})
    atexit.register(bench.close)
    for phone in (PHONE, "+260961234568"):
        paid(bench, phone)
    return lambda path: bench.http.get(path, headers=bearer(bench)).json()
