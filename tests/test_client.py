"""The merchant's client against a scripted service: what it sends, what it makes of each answer."""

import json
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import httpx
import pytest

from workbench import PaymentsClient, Workbench
from workbench.errors import (
    ApiError,
    InvalidRequest,
    LiveKeyRefused,
    ServiceFailed,
    ServiceUnreachable,
    UnexpectedResponse,
    WaitExpired,
)

KEY = "sk" + "_test_" + "x" * 24
LIVE_KEYS = {
    "sk_live_": "sk" + "_live_" + "x" * 24,
    "sk_live": "sk" + "_live" + "x" * 24,
    "pk_live_": "pk" + "_live_" + "x" * 24,
}
Call = Callable[[PaymentsClient], object]
Answer = dict[str, Any] | Callable[[httpx.Request], httpx.Response]
Talk = Callable[..., tuple[PaymentsClient, "Service"]]

INTENT = {"id": "pi_1", "client_secret": "pi_1_secret_" + "x" * 24}
CHARGE = {"id": "ch_1", "status": "succeeded", "amount": 15_000, "currency": "zmw", "channel": "mtn", "provider": "mtn"}
TOKEN = {"access_token": "at_" + "x" * 24, "refresh_token": "rt_" + "x" * 24}
ENDPOINT = {"id": "we_1", "url": "http://127.0.0.1:1/", "enabled_events": ["*"], "status": "enabled"}

PHONE = "+260961234567"


class Row(NamedTuple):
    """A call, the answer it needs, and the request that goes out."""

    call: Call
    answer: dict[str, Any]
    method: str
    path: str
    scheme: str


CALLS = {
    "create_intent": Row(lambda pay: pay.payment_intents.create(amount=Decimal("150.00")),
                         INTENT, "POST", "/v1/payment_intents", "Bearer"),
    "confirm_intent": Row(lambda pay: pay.payment_intents.confirm("pi_1", phone=PHONE, provider="mtn"),
                          INTENT, "POST", "/v1/payment_intents/pi_1/confirm", "Bearer"),
    "retrieve_intent": Row(lambda pay: pay.payment_intents.retrieve("pi_1"),
                           INTENT, "GET", "/v1/payment_intents/pi_1", "Bearer"),
    "create_charge": Row(lambda pay: pay.charges.create(amount=1, channel="mtn", phone=PHONE, idempotency_key="k"),
                         CHARGE, "POST", "/v1/charges", "Basic"),
    "retrieve_charge": Row(lambda pay: pay.charges.retrieve("ch_1"), CHARGE, "GET", "/v1/charges/ch_1", "Basic"),
    "create_plant": Row(lambda pay: pay.plants.create(id=1, name="A"), {"name": "A"}, "POST", "/plants", "Bearer"),
    "token": Row(lambda pay: pay.auth.token(email="ada@example.com", password="green"),
                 TOKEN, "POST", "/v1/auth/token", ""),
    "refresh": Row(lambda pay: pay.auth.refresh("rt_1"), TOKEN, "POST", "/v1/auth/refresh", ""),
    "create_endpoint": Row(lambda pay: pay.webhook_endpoints.create(url="http://127.0.0.1:1/"),
                           ENDPOINT, "POST", "/v1/webhook_endpoints", "Bearer"),
}  # fmt: skip
CHARGES_HOST = {"create_charge", "retrieve_charge"}
PLANTS_HOST = {"create_plant"}
ERROR_CLASSES = sorted(ApiError.__subclasses__(), key=lambda each: each.status)


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


@pytest.fixture
def talk() -> Iterator[Talk]:
    """A client and its scripted service."""
    opened: list[httpx.Client] = []

    def start(
        answer: Answer, base_url: str = "https://api.example.com", **options: str | Callable[[float], object]
    ) -> tuple[PaymentsClient, Service]:
        service = Service(answer if callable(answer) else lambda _: httpx.Response(200, json=answer))
        opened.append(httpx.Client(transport=httpx.MockTransport(service)))
        return PaymentsClient(base_url, KEY, http=opened[-1], **options), service

    yield start
    for each in opened:
        each.close()


# What goes out


@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_one_documented_request_and_charges_and_plants_may_have_hosts_of_their_own(talk: Talk, name: str):
    call, answer, method, path, scheme = CALLS[name]
    pay, service = talk(answer)
    call(pay)
    (request,) = service.requests
    assert (request.method, request.url.host, request.url.path) == (method, "api.example.com", path)
    assert request.headers.get("authorization", "").partition(" ")[0] == scheme
    assert request.headers.get("content-type") == ("application/json" if method == "POST" else None)
    pay, service = talk(answer, charges_url="https://charges.example.com/", plants_url="https://plants.example.com")
    call(pay)
    host = "charges" if name in CHARGES_HOST else "plants" if name in PLANTS_HOST else "api"
    assert service.requests[0].url.host == f"{host}.example.com"
    assert "//" not in service.requests[0].url.path


@pytest.mark.parametrize("kind", ["mobile_money", "card"])
def test_a_charge_is_sent_as_documented(talk: Talk, kind: str):
    pay, service = talk(CHARGE)
    more = {} if kind == "mobile_money" else {"type": kind}
    pay.charges.create(
        amount=15_000, channel="mtn", phone=PHONE, reference="order-1", idempotency_key="order-2", **more
    )
    assert service.sent == {
        "amount": 15_000, "currency": "zmw", "type": kind, "channel": "mtn", "phone": PHONE, "reference": "order-1",
    }  # fmt: skip
    request = service.requests[0]
    assert request.headers["idempotency-key"] == "order-2"
    assert request.headers["authorization"] == httpx.BasicAuth(KEY, "")._auth_header  # noqa: SLF001  httpx's own spelling


def test_an_intent_is_sent_as_documented(talk: Talk):
    pay, service = talk(INTENT)
    pay.payment_intents.create(amount=Decimal("150.00"), description="Monstera")
    assert service.requests[0].content.startswith(b'{"amount":150.00,')
    assert service.sent == {
        "amount": Decimal("150.00"), "currency": "ZMW", "payment_method_types": ["mobile_money"],
        "description": "Monstera",
    }  # fmt: skip


# Where it goes


def test_a_url_may_have_a_path_a_slash_at_its_end_and_the_version_anywhere_but_there(talk: Talk):
    pay, service = talk(INTENT, "https://example.com/pay/")
    pay.payment_intents.retrieve("pi_1")
    assert str(service.requests[0].url) == "https://example.com/pay/v1/payment_intents/pi_1"
    for url in ("https://charges.example.com/v1/zm", "http://v1", "https://example.com/pay-v1"):
        pay, service = talk(CHARGE, charges_url=url)
        pay.charges.retrieve("ch_1")
        assert str(service.requests[0].url) == f"{url}/v1/charges/ch_1"


@pytest.mark.parametrize("name", ["base_url", "charges_url", "plants_url"])
def test_a_url_that_ends_in_the_version_or_is_of_another_kind_is_refused_by_its_name(name: str):
    def refused(url: object) -> str:
        with pytest.raises(InvalidRequest) as refused:
            PaymentsClient(**{"base_url": "https://api.example.com", "secret_key": KEY, name: url})
        assert refused.value.param == name
        return str(refused.value)

    for tail in ("", "/", "/pay"):
        wanted = f"https://{name[:3]}.example.com{tail.rstrip('/')}"
        for version in ("/v1", "/v1/", "/V1//"):
            said = refused(wanted + version)
            assert f"{name} ends in /v1, and the client writes the path itself. Pass {wanted!r}." in said
    for url in ("api.example.com", "ftp://api.example.com", 7, b"https://api.example.com"):
        assert refused(url).startswith(f"{name} must begin with http:// or https://")


def test_a_sandbox_is_connected_to_by_its_host_alone():
    with pytest.raises(InvalidRequest, match=r"base_url ends in /v1, .* Pass 'http://127.0.0.1:4242'"):
        Workbench.connect("http://127.0.0.1:4242/v1", KEY)


@pytest.mark.parametrize("prefix", LIVE_KEYS)
def test_a_live_key_is_refused_before_anything_is_sent_and_taken_by_who_says_so(prefix: str):
    with pytest.raises(LiveKeyRefused) as refused:
        PaymentsClient("https://api.example.com", LIVE_KEYS[prefix])
    assert "x" * 8 not in str(refused.value)
    assert "PaymentsClient(…, allow_live=True)" in refused.value.hint
    with PaymentsClient("https://api.example.com", LIVE_KEYS[prefix], allow_live=True) as pay:
        assert "x" * 8 not in repr(pay)


def test_an_intents_amount_is_a_decimal_or_an_int_and_a_charges_an_int(talk: Talk):
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


# What comes back


@pytest.mark.parametrize("kind", ERROR_CLASSES, ids=[each.__name__ for each in ERROR_CLASSES])
def test_each_status_is_its_class(talk: Talk, kind: type[ApiError]):
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
    assert (error.message, error.request_id, error.facts) == ("what went wrong", "req_1", {"charge": "ch_1"})
    assert [tuple(each) for each in error.problems] == [("/amount", "is required")]
    assert [each.status for each in ERROR_CLASSES].count(kind.status) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"null",
        b'{"error": 400, "message": "no"}', b'{"error": {"type": "invalid", "message": "no"}}',
        b'{"errors": "amount"}', b'{"errors": [{"field": "amount"}]}', b'{"errors": null, "code": null, "param": 7}',
        b'{"message": null, "detail": ["no"]}', b'{"hint": "no", "problems": 1, "self": 2}',
    ],
)  # fmt: skip
def test_an_error_in_any_form_is_an_api_error(talk: Talk, body: bytes):
    """The real service's error format is not shown, so that nothing in it may break the client."""
    for status in (302, 400, 418, 429, 500, 501, 502, 503, 504, 599):
        pay, service = talk(
            lambda _, status=status: httpx.Response(status, content=body, headers={"Location": "https://example.com/"})
        )
        with pytest.raises(ServiceFailed if status >= 500 else ApiError):
            pay.payment_intents.retrieve("pi_1")
        assert len(service.requests) == 1, "a redirect is not followed"


def test_the_documented_error_is_read(talk: Talk):
    pay, _ = talk(lambda _: httpx.Response(400, json={"error": 400, "message": "id must be a whole number"}))
    with pytest.raises(InvalidRequest, match="id must be a whole number"):
        pay.plants.create(id=1, name="Monstera")


# What went wrong on the way → what may be said about the request.
FAULTS = {
    httpx.ConnectError: "Nothing was changed",
    httpx.ConnectTimeout: "Nothing was changed",
    httpx.ReadTimeout: "same idempotency key",
    httpx.ReadError: "same idempotency key",
    httpx.WriteError: "same idempotency key",
    httpx.RemoteProtocolError: "same idempotency key",
}


@pytest.mark.parametrize(("fault", "words"), FAULTS.items(), ids=[each.__name__ for each in FAULTS])
def test_no_answer_says_whether_the_request_may_have_been_carried_out(
    talk: Talk, fault: type[httpx.TransportError], words: str
):
    def fail(request: httpx.Request) -> httpx.Response:
        raise fault("gone", request=request)

    pay, _ = talk(fail)
    with pytest.raises(ServiceUnreachable, match=words):
        pay.payment_intents.create(amount=Decimal("1.00"))


def test_the_shown_fields_are_enough_and_an_answer_of_another_shape_is_unexpected(talk: Talk):
    """The interface shows two fields of an intent and six of a charge; more may come, none may be needed."""
    pay, _ = talk(INTENT)
    assert pay.payment_intents.retrieve("pi_1").id == "pi_1"
    pay, _ = talk({**CHARGE, "something_new": [1, 2]})
    assert pay.charges.retrieve("ch_1").status == "succeeded"
    shapes = [b"", b"<html>", b"[]", b"null", b"{}", b'{"id": 1}', b'{"client_secret": "x"}']
    for body in (*shapes, b'{"id": "pi_1", "status": 3}'):
        pay, _ = talk(lambda _, body=body: httpx.Response(200, content=body))
        with pytest.raises(UnexpectedResponse):
            pay.payment_intents.retrieve("pi_1")


def test_what_is_secret_is_masked_in_a_repr(talk: Talk):
    secret = "x" * 24
    rows: list[tuple[Call, Answer, str]] = [
        (lambda pay: pay, INTENT, KEY),
        (lambda pay: pay.payment_intents.retrieve("pi_1"), INTENT, secret),
        (lambda pay: pay.auth.token(email="a@b.c", password="green"), TOKEN, secret),
        (lambda pay: pay.webhook_endpoints.create(url="http://127.0.0.1:1/"),
         {**ENDPOINT, "secret": "whsec" + "_" + "x" * 44}, secret),
        (lambda pay: pay.charges.retrieve("ch_1"), {**CHARGE, "phone": PHONE}, "1234567"),
    ]  # fmt: skip
    for call, answer, hidden in rows:
        pay, _ = talk(answer)
        shown = repr(call(pay))
        assert hidden not in shown
        assert "••••" in shown


# Waiting


def test_wait_polls_by_the_sleep_it_was_given(talk: Talk):
    slept: list[float] = []
    answers = iter(["requires_action", "processing", "succeeded"])
    pay, service = talk(lambda _: httpx.Response(200, json={**INTENT, "status": next(answers)}), sleep=slept.append)
    assert pay.wait("pi_1", poll_s=2).status == "succeeded"
    assert (slept, len(service.requests)) == ([2, 2], 3)


@pytest.mark.parametrize(
    ("status", "limit", "words", "pauses"),
    [
        ("processing", {"timeout_s": 10}, "pi_1 is still processing after 10 s", [5, 5]),
        ("processing", {"timeout_s": 7}, "pi_1 is still processing after 7 s", [5, 2]),
        ("requires_payment_method", {}, "pi_1 has not been confirmed", []),
    ],
)
def test_wait_gives_up_and_not_past_its_limit(
    talk: Talk, status: str, limit: dict[str, float], words: str, pauses: list[float]
):
    slept: list[float] = []
    pay, service = talk({**INTENT, "status": status}, sleep=slept.append)
    with pytest.raises(WaitExpired, match=words):
        pay.wait("pi_1", **limit)
    assert (slept, len(service.requests)) == (pauses, len(pauses) + 1)


def test_the_time_that_answers_take_counts_for_the_limit(talk: Talk):
    def answer(_: httpx.Request) -> httpx.Response:
        time.sleep(0.05)
        return httpx.Response(200, json={**INTENT, "status": "processing"})

    pay, service = talk(answer, sleep=lambda _: None)
    with pytest.raises(WaitExpired, match=r"after 0\.2 s"):
        pay.wait("pi_1", timeout_s=0.2, poll_s=0.001)
    assert len(service.requests) <= 5


@pytest.mark.parametrize("wrong", [{"poll_s": 0}, {"poll_s": -1}, {"timeout_s": -1}, {"poll_s": float("nan")}], ids=str)
def test_a_wait_that_could_not_end_is_refused_by_name(talk: Talk, wrong: dict[str, float]):
    pay, service = talk({**INTENT, "status": "processing"}, sleep=lambda _: None)
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        pay.wait("pi_1", **wrong)
    assert not service.requests


def test_a_client_closes_what_it_made_and_nothing_else():
    with httpx.Client() as http:
        PaymentsClient("https://api.example.com", KEY, http=http).close()
        assert not http.is_closed
    with PaymentsClient("https://api.example.com", KEY) as pay:
        pass
    with pytest.raises(ServiceUnreachable, match="closed"):
        pay.payment_intents.retrieve("pi_1")
