"""What a merchant's side sees of a payment through both doors: the prompt, tokens, the handset, waiting, the clock."""

import json
import time
from collections.abc import Callable
from decimal import Decimal

import pytest

from tests.doors.conftest import Wire
from workbench import PaymentsClient, Workbench
from workbench.domain.phones import mask_phone
from workbench.domain.wire import PaymentIntent
from workbench.errors import AuthenticationFailed, WaitExpired

NewNumber = Callable[..., str]


def confirmed(bench: Workbench, phone: str, description: str = "Monstera") -> PaymentIntent:
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"), description=description)
    return bench.client.payment_intents.confirm(intent.id, phone=phone, provider="mtn")


def test_the_answer_to_confirm_says_what_comes_next_and_masks_the_number(bench: Workbench, new_number: NewNumber):
    phone = new_number()
    intent = confirmed(bench, phone)
    masked = f"{phone[:6]}••••{phone[-3:]}"
    assert (intent.status, intent.next_action.type) == ("requires_action", "ussd_prompt")
    assert 298 <= intent.next_action.ussd_prompt.expires_at - bench.clock.now_ms / 1000 <= 300
    assert intent.payment_method.mobile_money.phone == intent.next_action.ussd_prompt.phone == masked


def test_a_token_is_refreshed_once_and_replaced(bench: Workbench):
    auth, plant = bench.client.auth, {"id": 1, "name": "Monstera"}
    old = auth.token(email="ada@example.com", password="green")
    new = auth.refresh(old.refresh_token)
    holder = bench.client_with(new.access_token)
    assert holder.plants.create(**plant).name == "Monstera"
    with pytest.raises(AuthenticationFailed, match="replaced"):
        bench.client_with(old.access_token).plants.create(**plant)
    with pytest.raises(AuthenticationFailed, match="used before"):
        auth.refresh(old.refresh_token)


def test_a_handset_shows_itself_as_text_and_html(bench: Workbench, new_number: NewNumber):
    number = new_number()
    phone = bench.phone(number)
    assert "no prompt waits" in repr(phone)
    for description in ("<b>Fern & Co</b>", "Monstera"):
        confirmed(bench, number, description)
    assert all(each in repr(phone) for each in ("3 tries left", "1 more behind it"))
    lines = repr(phone).splitlines()
    assert lines[0] == f"{mask_phone(number)} (mtn)"
    assert (lines[1][0], lines[-2][0]) == ("╭", "╰")
    assert len({len(line) for line in lines[1:-1]}) == 1
    assert lines[-1].startswith("waits for a PIN until")
    shown = phone._repr_mimebundle_()  # what Jupyter calls
    assert "<b>Fern & Co</b>" in shown["text/plain"]
    assert "&lt;b&gt;Fern &amp; Co&lt;/b&gt;" in shown["text/html"]
    assert "<b>" not in shown["text/html"]
    assert f'aria-label="Phone {mask_phone(number)}, mtn"' in shown["text/html"]


def test_wait_moves_the_clock_until_the_payment_has_ended_well_or_not_or_its_limit_is_reached(
    bench: Workbench, new_number: NewNumber
):
    assert bench.client.wait(confirmed(bench, "+260960000001").id).status == "succeeded"
    assert bench.client.wait(confirmed(bench, "+260960000005").id).last_payment_error.code == "prompt_timeout"
    intent, before_ms = confirmed(bench, new_number()), bench.clock.now_ms
    with pytest.raises(WaitExpired, match="still requires_action after 60 s") as expired:
        bench.client.wait(intent.id, timeout_s=60, poll_s=30)
    assert expired.value.facts["status"] == "requires_action"
    assert bench.clock.now_ms >= before_ms + 60_000


def test_over_http_wait_keeps_to_its_limit_where_the_clock_stands_still_and_a_connected_bench_moves_it():
    with Workbench(seed=7) as here, here.serve() as served:
        intent = confirmed(here, "+260960000001")
        with PaymentsClient(served.base_url, str(served.secret_key)) as pay:
            started = time.monotonic()
            with pytest.raises(WaitExpired, match=r"after 0\.4 s\. The sandbox's clock stands still.*clock/advance"):
                pay.wait(intent.id, timeout_s=0.4, poll_s=0.3)
            assert time.monotonic() - started >= 0.4
        with Workbench.connect(served.base_url, str(served.secret_key)) as bench:
            assert bench.client.wait(intent.id).status == "succeeded"


class TestAdvanceOverHttp:
    def test_each_unit_is_taken_and_all_add_up(self, wire: Wire):
        for body, seconds in (
            ({"seconds": 1.5}, 1.5), ({"minutes": 2}, 120), ({"days": 0}, 0),
            ({"days": 1, "hours": 1, "minutes": 1, "seconds": 1}, 90_061),
        ):  # fmt: skip
            before_ms = wire.bench.clock.now_ms
            answer = wire.post("/sandbox/clock/advance", json.dumps(body).encode(), wire.bearer)
            assert answer.status_code == 200, answer.text
            assert seconds * 1000 <= answer.json()["now_ms"] - before_ms < seconds * 1000 + 5_000


def test_an_exchange_in_the_trace_keeps_every_number_as_it_was_written(wire: Wire):
    made = {amount: wire.intent(amount=amount).json()["id"] for amount in ("150.00", "150.0", "150", "1.5e2")}
    trace = wire.bench.trace
    for amount, intent_id in made.items():
        call = trace.for_(intent_id).exchanges[0]
        assert f'"amount": {amount}' in call.request
        assert '"amount": 150.00' in call.response
