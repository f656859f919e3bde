"""The exercises on payments, webhooks, retries, a backend of one's own, and what it takes to go live."""

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET  # only ever a file that `workbench run` wrote

from workbench.domain.signatures import TIMESTAMP_HEADER, verify
from workbench.errors import IdempotencyKeyReused, ServiceUnreachable, SignatureRefused
from workbench.lab.exercises.functions import brief, line_of
from workbench.lab.exercises.shape import (
    SOMEBODY,
    Bench,
    State,
    Verdict,
    calls_of,
    done,
    fresh,
    kwacha,
    not_yet,
    number_of,
    same,
    wrong,
)

if TYPE_CHECKING:
    from workbench.domain.wire import Charge, PaymentIntent
    from workbench.domain.wire.trace_rows import TracedCall
    from workbench.receiver import Arrival


def _intents(bench: Bench, description: str) -> "list[PaymentIntent]":
    """Those with this description, however its letters are written; the newest last."""
    expected = description.casefold()
    found = [each for each in bench.looking().payment_intents.each() if str(each.description).casefold() == expected]
    return found[::-1]


def _none_yet(bench: Bench, description: str) -> Verdict:
    """What is said where no intent has this description: the newest may have been meant."""
    newest = next(iter(bench.looking().payment_intents.each()), None)
    seen = f"the newest has {newest.description!r}" if newest else "no intent"
    says = f"No intent with the description {description} is there."
    return not_yet(says, seen=seen, expected=repr(description), at="description=")


def _charges(bench: Bench, **fields: str) -> "list[Charge]":
    """Those with these fields, the newest last; `payment_intent` finds the attempts at an intent."""
    every = bench.looking().charges.each()
    return [each for each in every if all(getattr(each, name) == value for name, value in fields.items())][::-1]


def _best_of(tries: Iterable[Iterator[Verdict]], none_yet: Verdict) -> Iterator[Verdict]:
    """Of several tries the one that is right, else the newest, which is the last."""
    verdicts = [next(each) for each in tries]
    yield from [each for each in verdicts if each.state is State.DONE] or verdicts[-1:]
    yield none_yet


def _best_sale(
    bench: Bench, description: str, judge: "Callable[[PaymentIntent, list[Charge], set[str | None]], Iterator[Verdict]]"
) -> Iterator[Verdict]:
    """The best of the intents with this description, judged by its attempts and by what failed in any of them.

    A cell that is run again makes another, and any of them counts.
    """
    found = [(each, _charges(bench, payment_intent=each.id)) for each in _intents(bench, description)]
    codes_met = {charge.failure_code for _, attempts in found for charge in attempts}

    def judged(intent: "PaymentIntent", attempts: "list[Charge]") -> Iterator[Verdict]:
        yield from same(intent.description, description, "The description is written differently.", "description=")
        yield from judge(intent, attempts, codes_met)

    yield from _best_of((judged(*each) for each in found), _none_yet(bench, description))


def _calls_to(bench: Bench, target: str) -> "list[TracedCall]":
    """The calls of a method and path, such as `POST /v1/charges`."""
    return [each for each in calls_of(bench) if each.target == target]


def _json_of(text: str) -> dict[str, Any]:
    """The object that a body holds; an empty one where it holds none."""
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _reason(call: "TracedCall") -> str:
    """Why the service refused a call, in its own words."""
    return str(_json_of(call.response.body).get("message") or call.response.body)


_FERN_PRICE = Decimal("35.50")
_NEXT_STEPS = {
    "requires_payment_method": "The intent for the Fern is there, and no prompt was sent yet: confirm it.",
    "requires_action": "A prompt for the Fern waits on the phone. Enter the PIN 1234 on it.",
    "processing": "The operator is still processing the payment for the Fern.",
    "canceled": "The intent for the Fern was canceled: create another.",
}


def _second_payment(bench: Bench) -> Iterator[Verdict]:
    yield from _best_sale(bench, "Fern", partial(_of_fern, bench))


def _of_fern(bench: Bench, intent: "PaymentIntent", attempts: "list[Charge]", _: set[str | None]) -> Iterator[Verdict]:
    if intent.amount != _FERN_PRICE:
        yield wrong(
            "The amount of the Fern is not its price.",
            seen=_of_intent(intent), expected=f"K{_FERN_PRICE}", at="amount=",
        )  # fmt: skip
    if intent.status == "requires_payment_method" and attempts:
        yield not_yet(
            f"The last attempt at the Fern has failed with {attempts[-1].failure_code}. Confirm the same intent again, "
            "and enter the PIN."
        )
    if intent.status != "succeeded":
        yield not_yet(_NEXT_STEPS.get(intent.status, f"The intent for the Fern is {intent.status}."))
    ferns = {each.id for each in _intents(bench, "Fern")}
    others = {each.phone for each in bench.looking().charges.each() if each.payment_intent not in ferns}
    if others and attempts[-1].phone not in others:
        yield wrong(
            "Another customer has paid for the Fern. Sell it to the customer of step 2.",
            seen=str(attempts[-1].phone), expected=" or ".join(sorted(map(str, others))), at="phone=",
        )  # fmt: skip
    yield done(f"The Fern is paid, K{_FERN_PRICE}, and the ledger has an entry for it.")


def _of_intent(intent: "PaymentIntent") -> str:
    """Its amount for a sentence, which may have been chosen freely."""
    return f"K{intent.amount:,.2f}"


_ORCHID_PRICE, _INTENT_ORDER = Decimal("87.35"), "A-17"


def _exact_amount(bench: Bench) -> Iterator[Verdict]:
    yield from _best_sale(bench, "Orchid", _of_orchid)


def _of_orchid(intent: "PaymentIntent", _: "list[Charge]", __: set[str | None]) -> Iterator[Verdict]:
    if intent.status == "canceled":
        yield not_yet("The intent for the Orchid was canceled: create another.")
    if intent.amount != _ORCHID_PRICE:
        in_ngwee = intent.amount == _ORCHID_PRICE * 100
        yield wrong(
            "An intent counts kwacha, not ngwee." if in_ngwee else "The amount of the Orchid is not its price.",
            seen=_of_intent(intent), expected=f"K{_ORCHID_PRICE}", at="amount=",
        )  # fmt: skip
    says = "The amount is right, the metadata is not."
    yield from same(intent.metadata, {"order": _INTENT_ORDER}, says, "metadata=")
    yield done(f"K{_ORCHID_PRICE} to the ngwee, for order {_INTENT_ORDER}.")


def _second_try(bench: Bench) -> Iterator[Verdict]:
    yield from _best_sale(bench, "Basil", _of_basil)


def _of_basil(intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None]) -> Iterator[Verdict]:
    codes = [each.failure_code for each in attempts]
    if not codes:
        yield not_yet("The intent for the Basil is there, and not confirmed.")
    if intent.status == "requires_action":
        yield not_yet("A prompt is open on the phone: it waits for a PIN.")
    if "wrong_pin" not in codes and "wrong_pin" in codes_met:
        yield wrong(
            "One intent has failed with wrong_pin, and another intent was paid. One intent should see both.",
            seen="two intents", expected="one intent, confirmed twice", at=".create(",
        )  # fmt: skip
    if "wrong_pin" not in codes:
        yield wrong(
            "No attempt at the Basil has failed with wrong_pin: enter a wrong PIN three times, one after another.",
            seen=", ".join(code or "no failure" for code in codes), expected="wrong_pin, no failure", at=".enter_pin(",
        )  # fmt: skip
    if intent.status != "succeeded":
        yield not_yet("The first attempt has failed with wrong_pin, as it should. Now confirm the same intent again.")
    numbers = {each.phone for each in attempts}
    if len(numbers) > 1:
        yield wrong(
            "Another customer has tried again. Create a new intent, and confirm it twice on the same number.",
            seen=", ".join(sorted(map(str, numbers))), expected="one number", at="phone=",
        )  # fmt: skip
    yield done(f"One intent, {len(codes)} attempts: wrong_pin, and then paid.")


_LOST_ORDER, _LOST_MINOR, _KEY = "ORDER-2001", 1205, "Idempotency-Key"


def _lost_answer(bench: Bench) -> Iterator[Verdict]:
    found = _charges(bench, reference=_LOST_ORDER)
    if not found:
        yield not_yet(f"No charge with the reference {_LOST_ORDER} is there.")
    calls = _calls_to(bench, "POST /v1/charges")
    asked = [each for each in calls if _json_of(each.request.body).get("reference") == _LOST_ORDER]
    paid = [each for each in found if each.status == "succeeded"]
    paid = [each for each in paid if each.amount == _LOST_MINOR] or paid
    for each in paid:
        answered = [place for place, call in enumerate(asked) if each.id in call.response.body]
        # One after the other: a cell whose two requests have a key each, run again, asks twice under both.
        repeated = any(place + 1 in answered for place in answered) if len(paid) > 1 else len(answered) > 1
        if each.amount == _LOST_MINOR and repeated:
            yield done(f"Asked {len(answered)} times, paid once: K12.05.")
    if len(paid) > 1:
        yield wrong(
            "The second request needs the first one's key.",
            seen=f"{len(paid)} payments", expected="1 payment", at="idempotency_key",
        )  # fmt: skip
    if not paid:
        yield wrong("Take a number that is no test number.", seen=found[-1].status, expected="succeeded", at="phone=")
    yield from same(int(paid[0].amount), _LOST_MINOR, "The amount of a charge counts ngwee.", "amount=", kwacha)
    answered = [place for place, each in enumerate(asked) if paid[0].id in each.response.body]
    since = asked[answered[0] + 1 :] if answered else []
    if not since:
        yield not_yet("The customer has paid K12.05. Now suppose that the response was lost: ask again.")
    if since[-1].request.headers.get(_KEY) != asked[answered[0]].request.headers.get(_KEY):
        yield wrong(
            "The second request had a key of its own: had it gone through, the customer would have paid twice.",
            seen="two keys", expected="one key", at="idempotency_key",
        )  # fmt: skip
    yield wrong(
        "The second request was refused: under the first one's key it must equal the first one in every field.",
        seen=str(since[-1].response.status), expected="200", at=".create(",
    )  # fmt: skip


_DOWN, _OUTAGE_S = "operator_unavailable", 300


def _patience(bench: Bench) -> Iterator[Verdict]:
    yield from _best_sale(bench, "Sage", partial(_of_sage, bench))


def _of_sage(
    bench: Bench, intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None]
) -> Iterator[Verdict]:
    if not attempts:
        yield not_yet("The intent for the Sage is there, and not confirmed.")
    failed = [each for each in attempts if each.failure_code == _DOWN]
    if not failed and _DOWN in codes_met and intent.status == "succeeded":
        yield wrong(
            "One intent has met the outage, and another intent was paid. One intent should see both.",
            seen="two intents", expected="one intent, confirmed twice", at=".create(",
        )  # fmt: skip
    if not failed:
        yield wrong(
            "The operator was not down when you tried: begin the outage first, and take a new intent.",
            seen=", ".join(each.failure_code or each.status for each in attempts), expected=f"{_DOWN}, succeeded",
            at="attempt(",
        )  # fmt: skip
    # A script and a test number fail one customer with the same code, while the operator is up.
    outages = [each for each in bench.operator.outages if each.provider == failed[0].provider]
    met = [each for each in outages if each.covers(failed[0].created)]
    if not met:
        yield wrong(
            "This attempt failed and the operator was not down: a script or a test number fails one customer alone. "
            "With bench.operator.outage, begin the outage first, and take a new intent.",
            seen="no outage", expected=f"an outage of {_OUTAGE_S} seconds", at="phone=",
        )  # fmt: skip
    yield from same(int(met[0].seconds), _OUTAGE_S, "The outage has another length.", "outage(", "{} seconds".format)
    if intent.status != "succeeded" and len(failed) > 1:
        yield not_yet(
            "The last attempt has met the outage too. Let all of it pass before you confirm the same intent again.",
            seen=f"{len(failed)} attempts failed with {_DOWN}", expected="1", at="advance(",
        )  # fmt: skip
    if intent.status != "succeeded":
        yield not_yet("The first attempt has met the outage. Let time pass, and confirm the same intent again.")
    if met[0].covers(attempts[-1].created):
        yield wrong(
            "It was paid while the outage should have lasted: let time pass instead of ending it.",
            seen="paid during the outage", expected="paid after it", at="outage(",
        )  # fmt: skip
    yield done(f"One intent, {len(attempts)} attempts, paid once the operator was back.")


def _from_the_app(bench: Bench) -> Iterator[Verdict]:
    yield from _best_sale(bench, "Lily", partial(_of_the_app, bench))


def _of_the_app(bench: Bench, intent: "PaymentIntent", _: "list[Charge]", __: set[str | None]) -> Iterator[Verdict]:
    confirms = _calls_to(bench, f"POST /v1/payment_intents/{intent.id}/confirm")
    if not confirms:
        yield not_yet("The intent for the Lily is there, and not confirmed.")
    went_through = [each for each in confirms if each.response.status == HTTPStatus.OK]
    if not went_through:
        yield wrong(
            f"The confirm was rejected: {_reason(confirms[-1])}",
            seen=str(confirms[-1].response.status), expected="200", at=".confirm(",
        )  # fmt: skip
    held = [each.request.headers["Authorization"] for each in went_through]
    if any("pk_test" not in each for each in held):
        key = "an access token" if any("at_" in each for each in held) else "the secret key"
        yield wrong(
            f"It was confirmed with {key}, which an app must not hold. Create another, and confirm it with app.",
            seen=held[-1], expected="Bearer pk_test_••••", at=".confirm(",
        )  # fmt: skip
    if intent.status != "succeeded":
        yield not_yet(f"The app has confirmed it. It is {intent.status}: the customer has a PIN to enter.")
    yield done("Created by the shop, confirmed by the app with a publishable key, and paid by the customer.")


_LOST, _PATIENCE = 2, 100
_SURE_MINOR = 2_500


class _AsksForEver(BaseException):
    """Raised past the `except Exception` of a loop that would never end."""


class _Tried:
    """One order that a person's function has charged over a line whose first responses do not arrive."""

    def __init__(self, sandbox: Any, charge: "Callable[..., Any]", reference: str, lost: int = _LOST) -> None:  # noqa: ANN401  a Workbench, as of `fresh`
        import httpx

        from workbench.client import PaymentsClient

        def answered(request: httpx.Request) -> httpx.Response:
            """What was asked for happens, whether or not its response is lost."""
            self.asked += 1
            if self.asked > _PATIENCE:
                raise _AsksForEver
            response = sandbox.http.send(request)
            if self.asked <= lost:
                raise httpx.ReadTimeout("the connection was lost", request=request)
            return httpx.Response(response.status_code, headers=response.headers, content=response.content)

        self.asked = 0
        self.response: Any = None
        self.error: BaseException | None = None
        line = httpx.Client(transport=httpx.MockTransport(answered))
        client = PaymentsClient(sandbox.base_url, str(sandbox.secret_key), http=line)
        order = {"amount": _SURE_MINOR, "channel": "mtn", "phone": SOMEBODY, "reference": reference}
        try:
            self.response = charge(client, order)
        except (ServiceUnreachable, IdempotencyKeyReused, _AsksForEver) as error:
            self.error = error
        self.paid = [each for each in _charges(sandbox, reference=reference) if each.status == "succeeded"]


def _charge_surely(bench: Bench, charge_surely: "Callable[..., object]") -> Iterator[Verdict]:
    """Two orders that are alike but for their reference, the second of them once more, and one over a dead line."""
    with fresh(bench) as sandbox:
        yield from _of_one_order(_Tried(sandbox, charge_surely, "SURE-1"))
        another = _Tried(sandbox, charge_surely, "SURE-2")
        if not another.paid:
            yield wrong(
                "The first order is paid, and the second of the same customer is not: the key is the same for every "
                "order. Make it from the order's reference.",
                seen="1 payment", expected="2 payments", at="key",
            )  # fmt: skip
        yield from _of_one_order(another)
        times = len(_Tried(sandbox, charge_surely, "SURE-2").paid)
        if times > 1:
            yield wrong(
                f"Asked for the same order again, as after a restart, the customer has paid {times} times. Make the "
                "key from the order's reference.",
                seen=f"{times} payments", expected="1", at="key",
            )  # fmt: skip
        if isinstance(_Tried(sandbox, charge_surely, "SURE-3", lost=_PATIENCE + 1).error, _AsksForEver):
            yield wrong(
                f"On a line that stays dead, the function has asked {_PATIENCE} times, and goes on. After a few rounds "
                "it should give up.",
                seen=f"{_PATIENCE} requests", expected="a few", at="while",
            )  # fmt: skip
    yield done(f"{_LOST} responses were lost, the customer has paid once, and the shop knows it.")


def _of_one_order(tried: _Tried) -> Iterator[Verdict]:
    """What is wrong with how one order was charged."""
    if isinstance(tried.error, ServiceUnreachable):
        yield wrong(
            "A response was lost and the function gave up. The customer has paid and the shop does not know.",
            seen=f"asked {tried.asked} times", expected=f"more than {_LOST}", at="range(",
        )  # fmt: skip
    if isinstance(tried.error, _AsksForEver):
        yield wrong(
            f"The function has asked {_PATIENCE} times, and goes on. After a few rounds it should give up.",
            seen=f"{_PATIENCE} requests", expected="a few", at="while",
        )  # fmt: skip
    if tried.error is not None:
        raise tried.error
    if not tried.paid:
        yield not_yet("The function has not charged anybody.")
    if len(tried.paid) > 1:
        yield wrong(
            "Every request had a key of its own.",
            seen=f"{len(tried.paid)} payments", expected="1", at="key",
        )  # fmt: skip
    says = "The customer has paid another amount than the order's."
    yield from same(int(tried.paid[0].amount), _SURE_MINOR, says, "create(", kwacha)
    if getattr(tried.response, "id", None) != tried.paid[0].id:
        yield wrong(
            "The customer has paid once, as it should be. Now return the charge, so that the shop knows it.",
            seen=type(tried.response).__name__, expected="the charge", at="create(",
        )  # fmt: skip


_OWN_ID, _TYPE = "evt_mine", "charge.failed"
_REFUSALS = {
    "header_missing": "it needs webhook-id, webhook-timestamp and webhook-signature, and one of them is missing",
    "signature_mismatch": "the signature is not that of this id, this timestamp and this body",
    "timestamp_stale": "the timestamp is older than 300 seconds; bench.clock.now_ms is the present moment",
    "timestamp_in_future": "the timestamp is ahead of bench.clock; bench.clock.now_ms is the present moment",
    "timestamp_malformed": "the timestamp should be a whole number of seconds, not of milliseconds",
}


def _no_event(body: dict[str, Any]) -> str:
    """Why a body is no event: what it lacks, or that one of its members is of another kind."""
    data = body.get("data")
    members = {**body, "data.object": None} if isinstance(data, dict) and "object" in data else body
    missing = [each for each in ("id", "type", "timestamp", "data.object") if each not in members]
    said = f"missing: {', '.join(missing)}" if missing else "id and type should be texts, data.object a JSON object"
    return f"the signature fits, but the body is not an event; {said}"


def _own_message(bench: Bench) -> Iterator[Verdict]:
    receiver = bench.receiver
    mine = [each for each in receiver.arrivals if each.headers.get("webhook-id") == _OWN_ID]
    tries = (_of_arrival(each, receiver.secrets[:1]) for each in mine)
    newest = receiver.arrivals[-1].headers.get("webhook-id", "none") if receiver.arrivals else "no message"
    says = f"No message with the webhook-id {_OWN_ID} has reached the receiver."
    yield from _best_of(tries, not_yet(says, seen=f"the newest has {newest}", expected=_OWN_ID, at="webhook-id"))


def _of_arrival(arrival: "Arrival", issued: list[str]) -> Iterator[Verdict]:
    """A message that was wrong before makes the right one a duplicate, which is no mistake of it."""
    event = _json_of(arrival.body.decode("utf-8", "replace"))
    if arrival.verdict == "refused":
        is_no_event = arrival.reason == "body_not_an_event"
        why = _no_event(event) if is_no_event else _REFUSALS.get(arrival.reason, arrival.reason)
        yield wrong(f"The receiver refused it: {why}.", seen=arrival.reason, expected="accepted", at="receive(")
    says = "The signature holds, and the type is another. Send it again with the right one."
    yield from same(event.get("type"), _TYPE, says, '"type"', str)
    says = "A message has one id, in its header and in its body. The body has another."
    yield from same(event.get("id"), _OWN_ID, says, '"id"', str)
    if arrival.error is not None:
        why = f"{type(arrival.error).__name__}{line_of(arrival.error)}"
        yield wrong(
            f"The signature holds, and a handler failed with {why}. Take a type without a handler.",
            seen="failed", expected="accepted", at='"type"',
        )  # fmt: skip
    try:
        verify(arrival.body, arrival.headers, issued, now_s=int(arrival.headers[TIMESTAMP_HEADER]))
    except SignatureRefused:
        yield wrong(
            "It is signed with a secret of your own. Sign it with the endpoint's.",
            seen="another secret", expected="receiver.secrets[0]", at="secret",
        )  # fmt: skip
    yield done("The receiver accepted it. Anybody who holds the secret can sign, so keep it safe.")


_MAX_ATTEMPTS = 10
"""After so many without success a delivery is a dead letter."""


def _lost_and_found(bench: Bench) -> Iterator[Verdict]:
    yield from _best_of((_of_rose(bench, each) for each in _intents(bench, "Rose")), not_yet("No Rose has been sold."))


def _of_rose(bench: Bench, intent: "PaymentIntent") -> Iterator[Verdict]:
    from workbench.domain.wire.trace_rows import webhook_of

    if intent.status != "succeeded":
        yield not_yet("The customer has not paid for the Rose.")
    shops = {each.id for each in bench.looking().webhook_endpoints.each() if each.url == bench.receiver_url}
    has_arrived = [
        row["result"].startswith("2")
        for row in bench.trace.for_(intent.id)
        if row["kind"] == "webhook" and row["what"] == "payment_intent.succeeded" and webhook_of(row).endpoint in shops
    ]
    failed = has_arrived.index(True) if True in has_arrived else len(has_arrived)
    if not has_arrived:
        yield not_yet("The shop was not told of the Rose: its endpoint has to be there and enabled when it is sold.")
    if has_arrived[0]:
        yield wrong(
            "The shop was told of the Rose while its database was up. Sell another while it is down.",
            seen="the first attempt arrived", expected=f"{_MAX_ATTEMPTS} failed attempts", at="sell(",
        )  # fmt: skip
    if failed < _MAX_ATTEMPTS and True in has_arrived:
        yield wrong(
            "An attempt has reached the shop, before it was a dead letter. Keep the database down.",
            seen=f"{failed} failed attempts", expected=f"{_MAX_ATTEMPTS}", at="advance(",
        )  # fmt: skip
    if failed < _MAX_ATTEMPTS:
        yield not_yet(
            "The message is no dead letter yet: let more time pass.",
            seen=f"{failed} failed attempts", expected=f"{_MAX_ATTEMPTS}", at="advance(",
        )  # fmt: skip
    if True not in has_arrived:
        yield not_yet("It is a dead letter. Bring the database back, and have it replayed.")
    yield done("Lost as a dead letter, replayed, and taken by the shop.")


_REFUSED = "declined_by_customer"


def _refused_order(bench: Bench, mint: dict[str, Any]) -> Iterator[Verdict]:
    if (
        not isinstance(mint, dict)
        or not isinstance(mint.get("status"), str)
        or mint.get("intent") not in [each.id for each in bench.looking().payment_intents.each()]
    ):
        yield wrong(
            "The answer should be the order as the shop answers with it: its intent, its status and the rest.",
            seen=brief(mint), expected="a dict with the order's intent and status", at="mint =",
        )  # fmt: skip
    if mint.get("plant", "Mint") != "Mint":
        yield wrong("This is another order.", seen=str(mint["plant"]), expected="Mint", at="buy(")
    attempts = _charges(bench, payment_intent=mint["intent"])
    if not attempts:
        yield not_yet("The shop has asked nobody for the money yet.")
    last = attempts[-1]
    if last.status == "pending":
        yield not_yet("The prompt is on the customer's phone. Refuse the payment there.")
    if last.failure_code != _REFUSED:
        yield wrong("The customer did not refuse.", seen=last.failure_code or "paid", expected=_REFUSED, at="phone(")
    if mint["status"] == "open":
        yield wrong(
            "This is the order as it was before the customer refused. Read it again.",
            seen="open", expected=f"open: {_REFUSED}", at="mint =",
        )  # fmt: skip
    if _REFUSED not in mint["status"]:
        yield wrong("The customer has refused.", seen=mint["status"], expected=f"open: {_REFUSED}", at="mint =")
    yield done("Refused on the phone, told by webhook, and the order is open with its reason.")


def _relied_on_late(bench: Bench) -> Iterator[Verdict]:
    used = {row["name"]: row["used_by"] for row in bench.gaps.used}
    # To read a payment whose prompt has expired relies on the row too, without any money.
    if any(each.startswith("late money") for each in used.get("late_success", ())):
        yield done("Money came after its prompt had expired, and late_success is among the rows to ask about.")
    codes = {each.failure_code for each in _charges(bench)}
    # Of a number, the last three digits are not hidden.
    if any(str(each.phone)[-3:] == number_of("late_success")[-3:] for each in _charges(bench) if each.failure_code):
        yield not_yet("The prompt has expired, and its money is still on the way. Let more time pass.", at="advance(")
    if "prompt_timeout" in codes:
        numbers = ", ".join(sorted({str(each.phone) for each in _charges(bench) if each.failure_code}))
        yield wrong(
            "A prompt has expired, and no money came after it. Use the test number whose money comes late.",
            seen=f"prompt_timeout on {numbers}", expected="a number whose money comes late", at="confirm(",
        )  # fmt: skip
    if any(each.status == "pending" for each in _charges(bench)):
        yield not_yet("The prompt is still open. Let time pass until it has expired.")
    yield not_yet("No payment relies on late_success yet: all money so far came in time.")


def _passes_the_exam(repaired: Any, report: Any) -> Iterator[Verdict]:  # noqa: ANN401  whatever was handed over
    rows = getattr(report, "rows", None)
    if not isinstance(rows, tuple) or not rows:
        yield wrong(
            "The answer should be the report of an exam, as examined(shop) gives it back.",
            seen=type(report).__name__, expected="a report", at="report =",
        )  # fmt: skip
        return
    verdicts = {each.title: each.verdict for each in rows}
    if failed := [title for title, verdict in verdicts.items() if verdict == "failed"]:
        yield wrong(
            f"The shop fails {len(failed)} of {len(rows)} checks, the first of them: {failed[0]}.",
            seen=next(each.came for each in rows if each.verdict == "failed"),
            expected=next(each.expected for each in rows if each.verdict == "failed"), at="examined(",
        )  # fmt: skip
    if left_out := [each.title for each in rows if each.came == "--orders would examine it"]:
        yield wrong(
            f"The exam left {len(left_out)} of {len(rows)} checks out, the first of them: {left_out[0]}. "
            "Let it count the orders.",
            seen=f"{len(left_out)} not examined", expected="none", at="examined(",
        )  # fmt: skip
    arrivals = getattr(getattr(repaired, "receiver", None), "arrivals", None)
    if not arrivals:
        yield wrong(
            "This report is of another shop: no message has reached repaired.",
            seen=type(repaired).__name__ if arrivals is None else "0 messages",
            expected="an examined Shop",
            at="repaired",
        )
    if not repaired.receiver.handlers("plant.watered"):
        yield wrong(
            'All checks are passed by a shop that files nothing: its handler of "*" is gone.',
            seen="no handler", expected='@repaired.receiver.on("*")', at="repaired =",
        )  # fmt: skip
    if all(_is_empty(each) for each in repaired.receiver.handlers("plant.watered")):
        yield wrong(
            'All checks are passed by a shop that files nothing: its handler of "*" does nothing.',
            seen="an empty function", expected="a function that files the event", at="def ",
        )  # fmt: skip
    yield done(f"All {[*verdicts.values()].count('passed')} checks are passed, orders included.")


def _is_empty(handler: object) -> bool:
    """Whether a function names nothing in its code, so that an event cannot be filed by it."""
    code = getattr(handler, "__code__", None)
    return code is not None and not (code.co_names or code.co_freevars)


def _nothing_guessed(answer: Any) -> Iterator[Verdict]:  # noqa: ANN401  whatever was handed over
    if not hasattr(answer, "guessed"):
        yield wrong(
            "The answer should be a list as checklist(…) gives it back.",
            seen=type(answer).__name__, expected="Checklist", at="answer =",
        )  # fmt: skip
        return
    if not answer.knows_a_run:
        yield wrong(
            "Pass the trace too: without it, the list does not know on which rows the run relied.",
            seen="no trace", expected="checklist(…, exam, trace)", at="checklist(",
        )  # fmt: skip
    if answer.guessed:
        yield wrong(
            f"{len(answer.guessed)} rows are still guessed, the first of them {answer.guessed[0]}.",
            seen=f"{len(answer.guessed)} open", expected="none", at="checklist(",
        )  # fmt: skip
    if not answer.confirmed:
        yield wrong(
            "No row is confirmed: the trace is empty, or of a run that relied on none.",
            seen="0 rows confirmed", expected="a row for each name in relied_on", at="checklist(",
        )  # fmt: skip
    yield done("Nothing on which the run relied is a guess any more.")


_HOLDERS = {
    "merchant": "The provider owes it to the merchant, and pays it out days later.",
    "provider": "The provider learns of it at once, and it is in the provider's wallet. But who keeps the wallets?",
    "bank": "The bank receives it with the sweep of the next night.",
    "customer": "The customer has just agreed to give it away.",
}


def _who_has_it(answer: object) -> Iterator[Verdict]:
    given = str(answer).strip().lower()
    if given in _HOLDERS:
        yield wrong(_HOLDERS[given], seen=repr(answer), expected="who keeps the wallets", at="answer =")
    if given != "operator":
        yield wrong(
            "The answer is one word.",
            seen=repr(answer), expected="merchant, provider, operator or bank", at="answer =",
        )  # fmt: skip
    yield done("The operator keeps both wallets: the customer's, which it left, and the provider's, where it is now.")


_DIGITS = 3


def _came_late(bench: Bench, digits: object) -> Iterator[Verdict]:
    if not isinstance(digits, str) or len(digits) != _DIGITS or not digits.isdecimal():
        yield wrong(
            "The answer is a text of three digits, in quotation marks.",
            seen=repr(digits), expected='a text such as "567"', at="digits =",
        )  # fmt: skip
    late = [each for each in bench.operator.suspense() if str(each["phone"]).endswith(str(digits))]
    made = {str(each.phone)[-3:]: each for each in bench.looking().charges.each()}
    if str(digits) not in made:
        yield wrong(
            f"No payment is by a number that ends in {digits}.",
            seen=str(digits), expected=f"one of {', '.join(sorted(made))}", at="digits =",
        )  # fmt: skip
    if not late:
        charge = made[str(digits)]
        yield wrong(
            f"This payment is {charge.failure_code or charge.status}, and no money came for it later.",
            seen="no money in suspense", expected="a payment whose money is in suspense", at="digits =",
        )  # fmt: skip
    amount = late[0]["amount"]
    yield done(f"K{amount:,.2f} came after the prompt had expired. The money is in suspense: hand the case over.")


def _plant_by_token(bench: Bench) -> Iterator[Verdict]:
    calls = _calls_to(bench, "POST /plants")
    asked = [each for each in calls if _json_of(each.request.body).get("name") == "Aloe"]
    if not asked:
        sent = [str(_json_of(each.request.body).get("name")) for each in calls]
        yield not_yet(
            "No plant with the name Aloe was sent.",
            seen=", ".join(sent) or "no plant", expected="Aloe", at="name=",
        )  # fmt: skip
    taken = [each for each in asked if each.response.status == HTTPStatus.OK]
    if not taken:
        yield wrong(
            f"The service refused the Aloe: {_reason(asked[-1])}",
            seen=str(asked[-1].response.status), expected="200", at="Aloe",
        )  # fmt: skip
    if not any("at_" in each.request.headers["Authorization"] for each in taken):
        yield wrong(
            "The Aloe was registered with a key. Ask for a token, and make a client with it.",
            seen=taken[-1].request.headers["Authorization"], expected="Bearer at_••••", at="Aloe",
        )  # fmt: skip
    yield done("The Aloe is registered, and the request carried a token that ends by itself.")


def _failed_case(junit: Path, failed: object) -> Iterator[Verdict]:
    cases = ET.fromstring(Path(junit).read_bytes()).iter("testcase")  # noqa: S314  written by a run of ours
    names = {str(each.get("name")): each.find("failure") is not None for each in cases}
    if not isinstance(failed, str):
        yield wrong(
            'The answer should be the name of one case: each.get("name") is a text.',
            seen=brief(failed), expected="a text", at="failed =",
        )  # fmt: skip
    if failed not in names:
        yield wrong("No test case has this name.", seen=str(failed), expected="; ".join(names), at="failed =")
    if not names[str(failed)]:
        yield wrong(
            "This case has no element failure inside.",
            seen=str(failed), expected="the case that has one", at="failed =",
        )  # fmt: skip
    yield done("A CI server shows this cell as the test that failed.")
