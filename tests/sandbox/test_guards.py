"""What goes wrong only under load, with a slow receiver, or with a caller who means harm."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from workbench import PaymentsClient, Workbench
from workbench.errors import InvalidRequest, LiveKeyRefused, PermissionDenied

if TYPE_CHECKING:
    from tests.sandbox.conftest import Sandbox

PHONE, OTHER = "+260961234567", "+260961234568"
LIVE = "sk_" + "live_" + "x" * 8


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with Workbench(seed=7) as made:
        yield made


def bearer(bench: Workbench) -> dict[str, str]:
    return {"Authorization": f"Bearer {bench.secret_key!s}"}


def told(bench: Workbench) -> str:
    return repr(list(bench.trace)) + repr(bench.trace.exchanges)


def test_a_pin_after_the_time_is_up_moves_no_money_though_nobody_had_closed_the_prompt(sandbox: "Sandbox"):
    """A running clock passes the moment before whoever drives comes to it."""
    pay = sandbox.client.payment_intents
    intent = pay.create(amount=10)
    pay.confirm(intent.id, phone=PHONE, provider="mtn")
    with sandbox.engine.store.transaction() as tx:
        tx.move_clock(tx.now_ms + 300_000)
    refused = sandbox.http.post(f"/sandbox/phones/{PHONE}/input", json={"text": "1234"})
    assert (refused.status_code, refused.json()["code"]) == (409, "prompt_expired")
    after = pay.retrieve(intent.id)
    assert (after.status, after.last_payment_error.code) == ("requires_payment_method", "prompt_timeout")
    with sandbox.engine.store.transaction() as tx:
        assert list(tx.journal.entries()) == []
    sandbox.engine.run_due()


def test_threads_that_come_and_go_leave_no_file_open(sandbox: "Sandbox"):
    def look() -> None:
        with sandbox.engine.store.transaction() as tx:
            tx.journal.head()

    def crowd() -> int:
        for _ in range(50):
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
        return len(list(Path("/proc/self/fd").iterdir()))

    first = crowd()
    assert crowd() == first


def test_an_idempotency_key_on_the_panel_is_ignored(bench: Workbench):
    before_ms = bench.clock.now_ms
    for _ in range(2):
        headers = {**bearer(bench), "Idempotency-Key": "k"}
        assert bench.http.post("/sandbox/clock/advance", json={"seconds": 5}, headers=headers).is_success
    assert bench.clock.now_ms == before_ms + 10_000


def test_a_replay_tells_a_publishable_key_nothing(bench: Workbench):
    intent = bench.client.payment_intents.create(amount=10)
    confirmed = bench.client.payment_intents.confirm(intent.id, phone=OTHER, provider="mtn", idempotency_key="c")
    assert confirmed.client_secret
    app = bench.client_with(str(bench.publishable_key))
    with pytest.raises(PermissionDenied):
        app.payment_intents.confirm(intent.id, phone=OTHER, provider="mtn", idempotency_key="c")


def test_a_live_key_is_refused_wherever_it_stands(bench: Workbench):
    for sent in (
        {"headers": {"Authorization": f"Basic {LIVE}:"}}, {"headers": {"Authorization": f'Bearer "{LIVE}"'}},
        {"headers": {"X-Api-Key": LIVE}}, {"params": {"key": LIVE}}, {"auth": (LIVE, "")}, {"auth": ("nobody", LIVE)},
    ):  # fmt: skip
        answer = bench.http.post("/v1/payment_intents", json={}, **sent)
        assert (answer.status_code, answer.json()["code"]) == (401, "live_key_in_sandbox"), sent
    refreshed = bench.http.post("/v1/auth/refresh", json={"refresh_token": LIVE})
    assert (refreshed.status_code, refreshed.json()["code"]) == (401, "live_key_in_sandbox")
    assert LIVE not in told(bench)


HEADERS = {
    (421, "host_refused"): [{"Host": "elsewhere.example"}],
    (400, "host_malformed"): [{"Host": each} for each in ("::1", "[::zz]", "localhost:99999")],
    (403, "origin_refused"): [{"Origin": each} for each in ("http://elsewhere.example", "null", "ftp://localhost")],
    (401, "key_missing"): [{"Authorization": " "}],
    (401, "scheme_wrong"): [{"Authorization": "Basic c2s6"}],
    (401, "key_invalid"): [{"Authorization": each} for each in ("Bearer nobody", "Basic ???")],
    (400, "version_unknown"): [{"Api-Version": "2"}],
    (400, "scenario_unknown"): [{"Sandbox-Scenario": "none"}],
    (400, "idempotency_key_invalid"): [{"Idempotency-Key": "a, b"}],
    (415, "media_type_unsupported"): [{"Content-Type": "text/plain"}],
    (400, "parameter_missing"): [{"Host": "[::1]:80"}, {"Origin": "http://localhost:3000"}],
}
"""What is answered to a body without fields, by the header that is not as it should be; in the last all are."""


def test_a_header_that_is_wrong_is_refused_by_its_code(bench: Workbench):
    right = {**bearer(bench), "Content-Type": "application/json"}
    for expected, headers in HEADERS.items():
        for wrong in headers:
            answer = bench.http.post("/v1/payment_intents", content=b"{}", headers={**right, **wrong})
            assert (answer.status_code, answer.json()["code"]) == expected, wrong


def test_a_key_that_ended_or_may_not_is_refused_and_says_which(bench: Workbench):
    rolled, revoked = (bench.http.post("/v1/api_keys", json={}, headers=bearer(bench)).json() for _ in range(2))
    bench.http.post(f"/v1/api_keys/{rolled['id']}/roll", headers=bearer(bench))
    bench.http.delete(f"/v1/api_keys/{revoked['id']}", headers=bearer(bench))
    for key, expected in (
        (rolled["value"], (401, "key_rolled")), (revoked["value"], (401, "key_revoked")),
        (bench.publishable_key, (403, "key_not_allowed")), (bench.secret_key, (400, "idempotency_key_missing")),
    ):  # fmt: skip
        path = "charges" if key == bench.secret_key else "payment_intents"
        sent = {"auth": (str(key), "")} if path == "charges" else {"headers": {"Authorization": f"Bearer {key!s}"}}
        answer = bench.http.post(f"/v1/{path}", json={}, **sent)
        assert (answer.status_code, answer.json()["code"]) == expected
    spoken = bench.http.post("/v1/charges", json={}, auth=(str(bench.secret_key), "word"))
    assert (spoken.status_code, spoken.json()["code"]) == (401, "key_invalid")


def test_the_client_lets_no_live_key_out(bench: Workbench):
    with pytest.raises(LiveKeyRefused):
        PaymentsClient("http://sandbox.localhost", f" {LIVE}")
    with pytest.raises(LiveKeyRefused):
        bench.client.plants.create(id=1, name="Monstera", token=LIVE)


def test_an_identifier_is_no_way_to_another_path(bench: Workbench):
    before = len(bench.trace)
    for identifier in ("", ".", ".."):
        with pytest.raises(InvalidRequest):
            bench.client.payment_intents.retrieve(identifier)
    assert len(bench.trace) == before


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SENT: dict[str, dict[str, Any]] = {
    "form": {"content": "email=a@example.com&password=hunter22", "headers": FORM},
    "not JSON": {"content": "{'password': 'hunter22'}", "headers": {"Content-Type": "application/json"}},
    "list": {"json": {"email": "a@example.com", "password": ["hunter22"]}},
    "as it should be": {"json": {"email": "a@example.com", "password": "hunter22"}},
}


def test_a_password_or_a_pin_is_in_no_answer_and_no_trace(bench: Workbench):
    for sent in SENT.values():
        assert "hunter22" not in bench.http.post("/v1/auth/token", **sent).text
    # A number in the place of a text.
    for path, body in (
        ("/v1/auth/token", {"email": "a@example.com", "password": 12345678}),
        (f"/sandbox/phones/{PHONE}/input", {"text": 12345678}),
    ):
        answer = bench.http.post(path, json=body, headers=bearer(bench))
        assert (answer.status_code, "12345678" in answer.text) == (400, False)
    assert not [each for each in ("hunter22", "12345678") if each in told(bench)]


def test_a_filter_that_would_hear_nothing_is_refused(bench: Workbench):
    for types in ([], ["payment_intent.suceeded"], ["charge"], ["*", "nothing.*"]):
        with pytest.raises(InvalidRequest) as refused:
            bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/", enabled_events=types)
        assert (refused.value.code, refused.value.param) == ("event_type_unknown", "enabled_events")


def test_an_event_names_the_idempotency_key_as_it_was_sent(bench: Workbench):
    bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key="0971234567")
    assert b'"idempotency_key":"0971234567"' in bench.receiver.arrivals[-1].body


def test_a_header_that_is_not_ascii_is_answered_in_process_too(bench: Workbench):
    answer = bench.http.get("/v1/charges/x", headers={"Authorization": "Bearer schl\u00fcssel".encode("latin-1")})
    assert (answer.status_code, answer.json()["code"]) == (400, "request_not_ascii")


def test_an_ignored_prompt_makes_way_for_the_next(bench: Workbench):
    for description in ("Fern", "Monstera"):
        intent = bench.client.payment_intents.create(amount=10, description=description)
        bench.client.payment_intents.confirm(intent.id, phone=PHONE, provider="mtn")
    phone = bench.phone(PHONE)
    assert "Fern" in phone.screen
    assert "Monstera" in phone.ignore().screen
    phone.enter_pin("1234")
    assert bench.client.payment_intents.retrieve(intent.id).status == "succeeded"


def test_holds_only_grow(tmp_path: Path):
    with Workbench(seed=7, store=tmp_path / "store.db") as bench:
        bench.client.charges.create(amount=100, channel="mtn", phone=PHONE, idempotency_key="k")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        for sql in ("UPDATE hold SET amount_minor = 1", "DELETE FROM hold",
                    "INSERT OR REPLACE INTO hold SELECT * FROM hold"):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(sql)


def test_the_errors_that_newcomers_meet_read_as_they_were_written(bench: Workbench):
    missing = bench.http.post("/v1/payment_intents", json={}).json()["detail"]
    basic = bench.http.post("/v1/charges", json={}, headers={"Authorization": "Basic ???"}).json()["detail"]
    assert missing == "The Authorization header is missing; this operation takes Authorization: Bearer and the key."
    assert basic == "The Basic credentials are not base64 of key and colon."
