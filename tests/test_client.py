"""The merchant's client against a scripted service: what it sends, what it makes of each answer."""

import inspect
import json
import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from workbench import PaymentsClient, Workbench
from workbench.domain.masking import Secret
from workbench.domain.wire.keys_and_events import Token
from workbench.errors import (
    ApiError,
    InvalidRequest,
    LiveKeyRefused,
    RateLimited,
    ServiceFailed,
    ServiceUnreachable,
    UnexpectedResponse,
    WaitExpired,
)
from workbench.merchant.client import Group
from workbench.sandbox import controls, operations
from workbench.session import SandboxControl

HIDDEN = "x" * 24
KEY = "sk" + "_test_" + HIDDEN
Call = Callable[[PaymentsClient], object]
Answer = dict[str, Any] | Callable[[httpx.Request], httpx.Response]

INTENT = {"id": "pi_1", "client_secret": "pi_1_secret_" + HIDDEN}
CHARGE = {"id": "ch_1", "status": "succeeded", "amount": 15_000, "currency": "zmw", "channel": "mtn", "provider": "mtn"}
TOKEN = {"access_token": "at_" + HIDDEN, "refresh_token": "rt_" + HIDDEN}
ENDPOINT = {"id": "we_1", "url": "http://127.0.0.1:1/", "enabled_events": ["*"], "status": "enabled"}
PHONE = "+260961234567"
ERROR_CLASSES = sorted(ApiError.__subclasses__(), key=lambda each: each.status)
DEEP = b'{"id": "pi_1", "x": %s%s}' % (b"[" * 100_000, b"]" * 100_000)
HUGE = b'{"limit": 1e9999999999999999999}'
"""A number that no Decimal holds."""
NOTHING, UNKNOWN = "Nothing was changed", "same idempotency key"
FAULTS = {
    httpx.ConnectError: NOTHING, httpx.ConnectTimeout: NOTHING, httpx.ReadTimeout: UNKNOWN, httpx.ReadError: UNKNOWN,
    httpx.WriteError: UNKNOWN, httpx.RemoteProtocolError: UNKNOWN, httpx.PoolTimeout: NOTHING,
    httpx.LocalProtocolError: NOTHING, httpx.UnsupportedProtocol: NOTHING,
}  # fmt: skip
"""What went wrong on the way → what may be said about the request."""


class Service:
    """Answers what it was told to and keeps what it was asked."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.requests: list[httpx.Request] = []
        self._answer = answer

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answer(request)

    @property
    def sent(self) -> dict[str, Any]:
        return json.loads(self.requests[-1].content, parse_float=Decimal)


def talk(
    answer: Answer, base_url: str = "https://api.example.com", **options: str | Callable[[float], object]
) -> tuple[PaymentsClient, Service]:
    """A client and its scripted service."""
    service = Service(answer if callable(answer) else lambda _: httpx.Response(200, json=answer))
    http = httpx.Client(transport=httpx.MockTransport(service), trust_env=False)
    return PaymentsClient(base_url, KEY, http=http, **options), service


@pytest.mark.parametrize(
    ("host", "answer", "call"),
    [
        ("api", INTENT, lambda pay: pay.payment_intents.retrieve("pi_1")),
        ("charges", CHARGE, lambda pay: pay.charges.retrieve("ch_1")),
        ("plants", {"name": "A"}, lambda pay: pay.plants.create(id=1, name="A")),
    ],
)
def test_charges_and_plants_may_have_hosts_of_their_own(host: str, answer: dict[str, Any], call: Call):
    own = {"charges_url": "https://charges.example.com/", "plants_url": "https://plants.example.com"}
    for urls, expected in (({}, "api"), (own, host)):
        pay, service = talk(answer, **urls)
        call(pay)
        assert [each.url.host for each in service.requests] == [f"{expected}.example.com"]
        assert "//" not in service.requests[0].url.path


def test_a_charge_and_an_intent_are_sent_as_documented():
    pay, service = talk(CHARGE)
    pay.charges.create(amount=15_000, channel="mtn", phone=PHONE, reference="order-1", idempotency_key="order-2")
    assert service.sent == {
        "amount": 15_000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", "phone": PHONE,
        "reference": "order-1",
    }  # fmt: skip
    headers = service.requests[-1].headers
    assert headers["idempotency-key"] == "order-2"
    assert headers["authorization"] == httpx.BasicAuth(KEY, "")._auth_header  # noqa: SLF001  httpx's own spelling
    pay, service = talk(INTENT)
    pay.payment_intents.create(amount=Decimal("150.00"), idempotency_key="order-3")
    assert service.requests[0].headers["idempotency-key"] == "order-3"
    assert service.requests[0].content.startswith(b'{"amount":150.00,')


UNCALLABLE = (
    "api.example.com", "ftp://api.example.com", 7, "http://", "https:///pay", "http://a.example?b=c",
    "http://a.example/#b", "http://[::1", "http://a.example:x", "http://a\0b", f"http://{'a' * 70}.example",
)  # fmt: skip


@pytest.mark.parametrize("name", ["base_url", "charges_url", "plants_url"])
def test_a_url_may_have_a_path_and_one_that_ends_in_the_version_or_is_of_another_kind_is_refused(name: str):
    pay, service = talk(CHARGE, charges_url="https://example.com/v1/pay/")
    pay.charges.retrieve("ch_1")
    assert str(service.requests[0].url) == "https://example.com/v1/pay/v1/charges/ch_1"
    pass_instead = "ends in /v1; leave it out, because the client adds the path. Pass 'https://example.com/pay'."
    for url, said in (
        *((f"https://example.com/pay{version}", pass_instead) for version in ("/v1", "/v1/", "/V1//")),
        *((url, f"and is {url!r}.") for url in UNCALLABLE),
    ):
        with pytest.raises(InvalidRequest, match=re.escape(said)) as refused, httpx.Client() as http:
            PaymentsClient(**{"base_url": "https://api.example.com", "secret_key": KEY, "http": http, name: url})
        assert refused.value.param == name
        assert str(refused.value).startswith(name)
    with pytest.raises(InvalidRequest, match="pagination is 'cursor' or 'page', not 'pages'"):
        talk(CHARGE, pagination="pages")


@pytest.mark.parametrize("prefix", ["sk_live_", "sk_live", "pk_live_"])
def test_a_live_key_is_refused_before_anything_is_sent_and_taken_by_who_says_so(prefix: str):
    with pytest.raises(LiveKeyRefused) as refused:
        PaymentsClient("https://api.example.com", prefix + HIDDEN)
    assert "x" * 8 not in str(refused.value)
    assert "PaymentsClient(…, allow_live=True)" in refused.value.hint
    with PaymentsClient("https://api.example.com", prefix + HIDDEN, allow_live=True) as pay:
        assert "x" * 8 not in repr(pay)


def test_an_intents_amount_is_a_decimal_or_an_int_and_a_charges_an_int():
    pay, service = talk(INTENT)
    intents = [150.0, 150.5, True, "150.00", None, Decimal("NaN"), Decimal("Infinity")]
    calls = [lambda wrong=wrong: pay.payment_intents.create(amount=wrong) for wrong in intents]
    calls += [
        lambda wrong=wrong: pay.charges.create(amount=wrong, channel="mtn", phone=PHONE, idempotency_key="order-1")
        for wrong in (150.0, Decimal(150), True, "15000", None)
    ]
    for call in calls:
        with pytest.raises(InvalidRequest) as refused:
            call()
        assert (refused.value.code, refused.value.param) == ("amount_not_exact", "amount")
    assert service.requests == []


@pytest.mark.parametrize("kind", ERROR_CLASSES, ids=[each.__name__ for each in ERROR_CLASSES])
def test_each_status_is_its_class(kind: type[ApiError]):
    problem = {
        "status": kind.status, "detail": "what went wrong", "code": "some_code", "param": "amount",
        "errors": [{"pointer": "/amount", "detail": "is required"}], "decline_code": "wrong_pin",
        "request_id": "req_1", "charge": "ch_1", "error": kind.status, "message": "what went wrong",
    }  # fmt: skip
    pay, _ = talk(lambda _: httpx.Response(kind.status, json=problem))
    with pytest.raises(kind) as raised:
        pay.payment_intents.retrieve("pi_1")
    error = raised.value
    assert type(error) is kind
    assert (error.code, error.param, error.decline_code) == ("some_code", "amount", "wrong_pin")
    assert error.__notes__ == ["Request-Id: req_1"]
    assert "req_1" not in str(error)
    assert (error.message, error.request_id, error.facts) == ("what went wrong", "req_1", {"charge": "ch_1"})
    assert [tuple(each) for each in error.problems] == [("/amount", "is required")]
    assert [each.status for each in ERROR_CLASSES].count(kind.status) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>", b"[]",
        b'{"error": 400, "message": "no"}', b'{"error": {"type": "invalid", "message": "no"}}',
        b'{"errors": "amount"}', b'{"errors": [{"field": "amount"}]}', b'{"errors": null, "code": null, "param": 7}',
        b'{"message": null, "detail": ["no"]}', b'{"hint": "no", "problems": 1, "self": 2}', DEEP, HUGE,
    ],
)  # fmt: skip
def test_an_error_in_any_form_is_an_api_error_also_the_documented_one(body: bytes):
    """The real service's error format is not shown, so that nothing in it may break the client."""
    for status in (302, 400, 418, 500, 599):
        pay, service = talk(
            lambda _, status=status: httpx.Response(
                status, content=body, headers={"Location": "https://example.com/", "Retry-After": "9" * 5_000}
            )
        )
        with pytest.raises(ServiceFailed if status >= 500 else ApiError) as raised:
            pay.payment_intents.retrieve("pi_1")
        assert raised.value.message == ("no" if b'"message": "no"' in body else f"The service answered {status}.")
        assert len(service.requests) == 1, "a redirect is not followed"


def test_what_cannot_be_written_is_refused_before_anything_is_sent():
    pay, service = talk(INTENT)
    itself: dict[str, Any] = {}
    itself["a"] = itself
    for wrong in (
        {"description": "\ud800"},
        {"metadata": {"a": object()}},
        {"metadata": itself},
        {"amount": 10**5_000},
    ):
        with pytest.raises(InvalidRequest, match="cannot be written as JSON"):
            pay.payment_intents.create(**{"amount": 1, **wrong})
    half = "\ud800"
    for call in (
        lambda: pay.events.list(search=half), lambda: pay.payment_intents.retrieve(half),
        lambda: pay.payment_intents.retrieve("pi_1", client_secret=half),
        lambda: pay.payment_intents.create(amount=1, idempotency_key=half), lambda: pay.calls.hold(half),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest, match="has half of a surrogate pair, which cannot be sent"):
            call()
    assert service.requests == []


@pytest.mark.parametrize(("fault", "words"), FAULTS.items(), ids=[each.__name__ for each in FAULTS])
def test_no_answer_says_whether_the_request_may_have_been_carried_out(fault: type[httpx.TransportError], words: str):
    def fail(request: httpx.Request) -> httpx.Response:
        raise fault("gone", request=request)

    pay, _ = talk(fail)
    with pytest.raises(ServiceUnreachable, match=words):
        pay.payment_intents.create(amount=Decimal("1.00"))
    # What only reads has changed nothing, wherever it was lost.
    with pytest.raises(ServiceUnreachable, match=NOTHING):
        pay.payment_intents.retrieve("pi_1")


def test_the_shown_fields_are_enough_and_an_answer_of_another_shape_is_unexpected():
    """The interface shows two fields of an intent and six of a charge; more may come, none may be needed."""
    pay, _ = talk(INTENT)
    assert pay.payment_intents.retrieve("pi_1").id == "pi_1"
    pay, _ = talk({**CHARGE, "something_new": [1, 2]})
    assert pay.charges.retrieve("ch_1").status == "succeeded"
    for body in (b"", b"<html>", b"[]", b'{"id": 1}', b'{"client_secret": "x"}', b'{"id": "pi_1", "status": 3}', DEEP):
        pay, _ = talk(lambda _, body=body: httpx.Response(200, content=body))
        with pytest.raises(UnexpectedResponse):
            pay.payment_intents.retrieve("pi_1")
    pay, _ = talk(lambda _: httpx.Response(200, stream=httpx.ByteStream(b"{}"), headers={"Content-Encoding": "gzip"}))
    with pytest.raises(UnexpectedResponse, match="cannot be decoded"):
        pay.payment_intents.retrieve("pi_1")
    event = b'{"id": "evt_1", "type": "", "timestamp": "", "request": {}, "data": {"object": %s}}' % HUGE
    pay, _ = talk(lambda _: httpx.Response(200, content=event))
    with pytest.raises(UnexpectedResponse, match="a number in it is too large"):
        pay.events.retrieve("evt_1")
    pay, _ = talk({"bearer": "at_x"})
    with pytest.raises(UnexpectedResponse, match="no token"):
        pay.auth.token(email="a@b", password="a")


def test_a_secret_that_the_service_returns_is_masked_wherever_it_is_shown():
    with Workbench(seed=7) as bench:
        pay = bench.client
        token = pay.auth.token(email="shop@example.com", password="green")
        again = pay.auth.refresh(token.refresh_token)
        intent = pay.payment_intents.create(amount=1, currency="ZMW")
        endpoint = pay.webhook_endpoints.create(url="http://127.0.0.1:1/")
        key = pay.api_keys.create(kind="secret")
        for secret in (
            token.access_token, token.refresh_token, again.access_token, again.refresh_token, intent.client_secret,
            endpoint.secret, key.value, bench.secret_key, bench.publishable_key, bench.webhook_secret,
        ):  # fmt: skip
            assert isinstance(secret, Secret)
            assert "••••" in repr(secret)


@pytest.mark.parametrize(
    ("statuses", "limit", "words", "pauses"),
    [
        (["requires_action", "processing", "succeeded"], {"poll_s": 2}, "", [2, 2]),
        (["processing"] * 3, {"timeout_s": 10}, "pi_1 is still processing after 10 s", [5, 5]),
        (["processing"] * 3, {"timeout_s": 7}, "pi_1 is still processing after 7 s", [5, 2]),
        (["requires_payment_method"], {}, "pi_1 has not been confirmed", []),
    ],
)
def test_wait_polls_by_the_sleep_it_was_given_and_gives_up_not_past_its_limit(
    statuses: list[str], limit: dict[str, float], words: str, pauses: list[float]
):
    slept: list[float] = []
    told = iter(statuses)
    pay, service = talk(lambda _: httpx.Response(200, json={**INTENT, "status": next(told)}), sleep=slept.append)
    with pytest.raises(WaitExpired, match=words) if words else nullcontext():
        assert pay.wait("pi_1", **limit).status == "succeeded"
    assert (slept, len(service.requests)) == (pauses, len(statuses))


def test_a_wait_counts_the_time_that_a_slow_service_takes_to_answer():
    slept: list[float] = []

    def slowly(_: httpx.Request) -> httpx.Response:
        time.sleep(0.4)
        return httpx.Response(200, json={**INTENT, "status": "processing"})

    pay, service = talk(slowly, sleep=slept.append)
    with pytest.raises(WaitExpired, match=r"still processing after 0\.6 s"):
        pay.wait("pi_1", timeout_s=0.6, poll_s=0.01)
    assert len(service.requests) == 2
    assert slept == [0.01]


def test_an_id_is_one_segment_of_a_path_whatever_is_in_it():
    pay, service = talk(INTENT)
    pay.payment_intents.retrieve("../charges/ch_1?x")
    assert service.requests[0].url.raw_path == b"/v1/payment_intents/..%2Fcharges%2Fch_1%3Fx"
    for identifier in ("", ".", "..", 5):
        with pytest.raises(InvalidRequest):
            pay.payment_intents.retrieve(identifier)
    with pytest.raises(InvalidRequest, match=r"The key must be a string such as 'sk_test_…', not int"):
        pay.plants.create(id=1, name="A", token=5)
    assert len(service.requests) == 1


def test_what_an_error_tells_is_exact_and_says_when_to_come_again():
    body = {"detail": "later", "limit": 1}
    pay, _ = talk(lambda _: httpx.Response(429, content=json.dumps(body).replace("1}", "150.10}"),
                                           headers={"Retry-After": "7"}))  # fmt: skip
    with pytest.raises(RateLimited) as raised:
        pay.balance.retrieve()
    assert raised.value.facts == {"limit": Decimal("150.10"), "retry_after_s": 7}
    assert type(raised.value.facts["limit"]) is Decimal


@pytest.mark.parametrize(("asked_s", "pause_s"), [("7", 7), ("2", 5), (None, 5)])
def test_a_wait_comes_again_no_sooner_than_the_service_asks_for(asked_s: str | None, pause_s: int):
    slept: list[float] = []
    responses = iter([
        httpx.Response(429, headers={"Retry-After": asked_s} if asked_s else {}),
        httpx.Response(200, json={**CHARGE, "status": "pending"}),
        httpx.Response(200, json=CHARGE),
    ])  # fmt: skip
    pay, _ = talk(lambda _: next(responses), sleep=slept.append)
    assert pay.wait_charge("ch_1").status == "succeeded"
    assert slept == [pause_s, 5]
    pay, _ = talk(lambda _: httpx.Response(429), sleep=slept.append)
    with pytest.raises(WaitExpired, match="still unknown after 10 s"):
        pay.wait("pi_1", timeout_s=10)


def test_every_object_is_listed_once_page_after_page_by_the_last_id_or_by_the_number():
    """The last page may be a full one; of numbered pages the second begins with a row that was pushed onto it."""

    def by_id(request: httpx.Request) -> httpx.Response:
        after = int(request.url.params.get("starting_after", "ch_0").removeprefix("ch_"))
        rows = [{**CHARGE, "id": f"ch_{number}"} for number in (after + 1, after + 2)]
        return httpx.Response(200, json={"url": "/v1/charges", "has_more": after < 2, "data": rows})

    def by_number(request: httpx.Request) -> httpx.Response:
        page = int(request.url.params["page"])
        rows = [{**CHARGE, "id": f"ch_{number}"} for number in (page, page + 1)]
        return httpx.Response(200, json={"url": "/v1/charges", "page": page, "per_page": 2, "total": 4, "data": rows})

    for answer, options, count in ((by_id, {}, 4), (by_number, {"pagination": "page"}, 3)):
        pay, service = talk(answer, **options)
        assert [each.id for each in pay.charges.each()] == [f"ch_{number + 1}" for number in range(count)]
        assert len(service.requests) == 2


@pytest.mark.parametrize("wrong", [{"poll_s": 0}, {"poll_s": -1}, {"timeout_s": -1}, {"poll_s": float("nan")}], ids=str)
def test_a_wait_that_could_not_end_is_refused_by_name(wrong: dict[str, float]):
    pay, service = talk({**INTENT, "status": "processing"}, sleep=lambda _: None)
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        pay.wait("pi_1", **wrong)
    assert not service.requests


def test_a_client_closes_what_it_made():
    with PaymentsClient("https://api.example.com", KEY) as pay:
        pass
    with pytest.raises(ServiceUnreachable, match="closed"):
        pay.payment_intents.retrieve("pi_1")


class Sent(Exception):
    """What a method would send: the HTTP method, the path and what it reads the response as."""


def stop(method: str, url: str, shape: object, **_: object) -> None:
    raise Sent(method, urlsplit(url).path, shape)


PAY = PaymentsClient("https://api.example.com", KEY)
PAY.send = stop
CALLED = [
    getattr(group, name)
    for group in (*(part for part in vars(PAY).values() if isinstance(part, Group)), SandboxControl(PAY))
    for name in dir(group)
    if not name.startswith("_") and name not in {"client", "get", "post"}
]
ANY_TOKEN = {PAY.auth.token, PAY.auth.refresh}
"""A token is read by any of the names it may have."""


@pytest.mark.parametrize("call", CALLED, ids=lambda call: call.__qualname__)
def test_what_a_method_reads_is_what_its_operation_responds_with(call: Callable[..., Any]):
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    parameters = inspect.signature(call).parameters.values()
    needed = [row.name for row in parameters if row.default is row.empty and row.kind not in variable]
    with pytest.raises(Sent) as sent:
        next(call(**{name: {"amount": 1, "key": "cancel"}.get(name, name) for name in needed}))
    method, path, shape = sent.value.args
    table = (*operations.OPERATIONS, *controls.OPERATIONS)
    offered = [row for row in table if row.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", row.path), path)]
    assert len(offered) == 1
    assert {row.response for row in offered} <= ({shape} if call not in ANY_TOKEN else {Token})
