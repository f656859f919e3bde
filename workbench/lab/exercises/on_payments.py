"""The exercises on taking a payment: notebooks 0 to 2, and 5 to 7."""

from collections.abc import Iterator
from decimal import Decimal
from http import HTTPStatus
from typing import TYPE_CHECKING

from workbench.lab.exercises.shape import (
    Bench,
    Exercise,
    Verdict,
    attempts_at,
    best_of,
    calls_to,
    charges_for,
    done,
    failures,
    first_verdict,
    intents_for,
    json_of,
    kwacha,
    not_yet,
    tries,
    wrong,
)

if TYPE_CHECKING:
    from workbench.control import Outage
    from workbench.domain.wire import Charge, PaymentIntent


_FERN_PRICE = Decimal("35.50")
_NEXT_STEPS = {
    "requires_payment_method": "The intent for the Fern is there, and no phone has rung yet: confirm it.",
    "requires_action": "A prompt for the Fern waits on the phone. Enter the PIN 1234 on it.",
    "processing": "The operator is at work on the Fern.",
    "canceled": "The intent for the Fern was cancelled: make another.",
}


def _second_payment(bench: Bench) -> Verdict:
    found = intents_for(bench, "Fern")
    if not found:
        return not_yet("No intent with the description Fern is there.")
    intent = found[-1]
    if intent.amount != _FERN_PRICE:
        return wrong(f"The Fern is offered for {intent.amount} kwacha, and it costs {_FERN_PRICE}.")
    attempts = attempts_at(bench, intent.id)
    if intent.status == "requires_payment_method" and attempts:
        return not_yet(
            f"The last attempt at the Fern has failed with {attempts[-1].failure_code}. Confirm the same intent again, "
            "and enter the PIN."
        )
    if intent.status != "succeeded":
        return not_yet(_NEXT_STEPS.get(intent.status, f"The intent for the Fern is {intent.status}."))
    others = {each.phone for each in bench.looking().charges.each() if each.payment_intent not in {i.id for i in found}}
    if others and attempts[-1].phone not in others:
        return wrong(
            f"With {attempts[-1].phone}, another customer has paid for the Fern. Sell it to the one of before."
        )
    return done(f"The Fern is paid, K{_FERN_PRICE}, and the ledger has an entry for it.")


SECOND_PAYMENT = Exercise(
    name="second_payment",
    notebook="00_start_here",
    title="A payment of your own",
    task="Sell a Fern for K35.50 to the same customer: make the intent with the description Fern, confirm it, and "
    "enter the PIN.",
    hints=(
        'Steps 1 to 3 are all it takes. The amount is a Decimal of a text, the description "Fern".',
        (
            "pay.payment_intents.create, then pay.payment_intents.confirm with its id, phone and provider. Then the"
            ' phone shows the prompt: press the keys, or call bench.phone(phone).enter_pin("1234").'
        ),
    ),
    solution="""\
fern = pay.payment_intents.create(amount=Decimal("35.50"), currency="ZMW", description="Fern")
pay.payment_intents.confirm(fern.id, phone=phone, provider=provider)
bench.phone(phone).enter_pin("1234")
""",
    check=_second_payment,
)


_ORCHID_PRICE = Decimal("87.35")
_INTENT_ORDER = "A-17"


def _exact_amount(bench: Bench) -> Verdict:
    found = intents_for(bench, "Orchid")
    if not found:
        return not_yet("No intent with the description Orchid is there.")
    intent = found[-1]
    if intent.status == "canceled":
        return not_yet("The intent for the Orchid was cancelled: make another.")
    if intent.amount == _ORCHID_PRICE * 100:
        return wrong(f"The Orchid is offered for K{intent.amount:,}: the amount of an intent counts kwacha, not ngwee.")
    if intent.amount != _ORCHID_PRICE:
        return wrong(f"The Orchid is offered for K{intent.amount:,}, and it costs K{_ORCHID_PRICE}.")
    if intent.metadata != {"order": _INTENT_ORDER}:
        return wrong(
            f"The amount is right. The metadata is {intent.metadata}, where order alone should be {_INTENT_ORDER}."
        )
    return done(f"K{_ORCHID_PRICE} to the ngwee, for order {_INTENT_ORDER}.")


EXACT_AMOUNT = Exercise(
    name="exact_amount",
    notebook="01_create_an_intent",
    title="An amount to the ngwee",
    task="Create an intent of K87.35 with the description Orchid. Your shop calls this order A-17: write that into "
    "the intent's metadata, under the name order.",
    hints=(
        "It is the call of step 1 with another amount, and metadata beside the description.",
        'A Decimal made from a text is exact: Decimal("87.35").',
        'metadata is a dictionary of texts: metadata={"order": "A-17"}.',
    ),
    solution="""\
orchid = pay.payment_intents.create(
    amount=Decimal("87.35"), currency="ZMW", description="Orchid", metadata={"order": "A-17"}
)
""",
    check=_exact_amount,
)


def _second_try(bench: Bench) -> Verdict:
    found = tries(bench, "Basil")
    codes_met = {code for _, attempts in found for code in failures(attempts)}
    verdict = best_of(_of_basil(intent, attempts, codes_met) for intent, attempts in found)
    return verdict or not_yet("No intent with the description Basil is there.")


@first_verdict
def _of_basil(intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None]) -> Iterator[Verdict]:
    codes = failures(attempts)
    if not codes:
        yield not_yet("The intent for the Basil is there, and not confirmed.")
    if intent.status == "requires_action":
        yield not_yet("A prompt is open on the phone: it waits for a PIN.")
    if "wrong_pin" not in codes and "wrong_pin" in codes_met:
        yield wrong("One intent has failed with wrong_pin, and another intent was paid. One intent should see both.")
    if "wrong_pin" not in codes:
        yield wrong("No attempt at the Basil has failed with wrong_pin: three wrong PINs are needed, one by one.")
    if intent.status != "succeeded":
        yield not_yet("The first attempt has failed with wrong_pin, as it should. Now confirm the same intent again.")
    numbers = {each.phone for each in attempts}
    if len(numbers) > 1:
        yield wrong(f"The attempts were on {len(numbers)} numbers. The same customer tries again: take a new intent.")
    yield done(f"One intent, {len(codes)} attempts: wrong_pin, and then paid.")


SECOND_TRY = Exercise(
    name="second_try",
    notebook="02_confirm_with_ussd",
    title="Three wrong PINs, and a second try",
    task="A customer buys a Basil (that is the description) and types a wrong PIN three times. Then the same "
    "customer tries again and pays. One intent should see both.",
    hints=(
        'handset.enter_pin("0000") is one wrong PIN. The third one ends the attempt.',
        "After a failed attempt the intent is back at requires_payment_method. Step 7 confirms it again.",
        "create, confirm, three wrong PINs, confirm with the same id, the right PIN.",
    ),
    solution="""\
basil = pay.payment_intents.create(amount=Decimal(amount), currency="ZMW", description="Basil")
pay.payment_intents.confirm(basil.id, phone=phone, provider=provider)
for _ in range(3):
    handset.enter_pin("0000")
pay.payment_intents.confirm(basil.id, phone=phone, provider=provider)
handset.enter_pin("1234")
""",
    check=_second_try,
)


_LOST_ORDER, _LOST_MINOR, _KEY = "ORDER-2001", 1205, "Idempotency-Key"


@first_verdict
def _lost_answer(bench: Bench) -> Iterator[Verdict]:
    found = charges_for(bench, _LOST_ORDER)
    paid = [each for each in found if each.status == "succeeded"]
    if not found:
        yield not_yet(f"No charge with the reference {_LOST_ORDER} is there.")
    if len(paid) > 1:
        yield wrong(f"The customer has paid {len(paid)} times. The second request needs the first one's key.")
    if not paid:
        yield wrong(f"The charge is {found[-1].status}. Take a number that is no test number.")
    if paid[0].amount != _LOST_MINOR:
        yield wrong(f"The customer has paid {kwacha(paid[0].amount)}, not K12.05. The amount of a charge counts ngwee.")
    asked = [
        each
        for each in calls_to(bench, "POST /v1/charges")
        if json_of(each.request.body).get("reference") == _LOST_ORDER
    ]
    answered = [place for place, each in enumerate(asked) if paid[0].id in each.response.body]
    if len(answered) > 1:
        yield done(f"Asked {len(answered)} times, paid once: K12.05.")
    since = asked[answered[0] + 1 :] if answered else []
    if not since:
        yield not_yet("The customer has paid K12.05. Now suppose that the answer was lost: ask again.")
    if since[-1].request.headers.get(_KEY) != asked[answered[0]].request.headers.get(_KEY):
        yield wrong("The second request had a key of its own: had it gone through, the customer would have paid twice.")
    yield wrong(
        f"The second request was refused with {since[-1].response.status}: under the first one's key it has to "
        "be the first one, field by field."
    )


LOST_ANSWER = Exercise(
    name="lost_answer",
    notebook="05_charge_in_one_call",
    title="Asked twice, paid once",
    task="Charge K12.05 for ORDER-2001 (that is the reference). Then suppose that the answer was lost, and send "
    "the request a second time, so that the customer pays once.",
    hints=(
        "The amount of a charge is a whole number of ngwee.",
        "Step 11 sends a request twice. What has to be the same in both?",
        "The same idempotency_key and the same fields, in two calls of pay.charges.create.",
    ),
    solution="""\
for _ in range(2):
    pay.charges.create(
        amount=1205, channel=provider, phone=phone, reference="ORDER-2001", idempotency_key="order-2001-attempt-1"
    )
""",
    check=_lost_answer,
)


_DOWN, _OUTAGE_S = "operator_unavailable", 300


def _patience(bench: Bench) -> Verdict:
    found = tries(bench, "Sage")
    codes_met = {code for _, attempts in found for code in failures(attempts)}
    verdict = best_of(_of_sage(intent, attempts, codes_met, bench.operator.outages) for intent, attempts in found)
    return verdict or not_yet("No intent with the description Sage is there.")


@first_verdict
def _of_sage(
    intent: "PaymentIntent", attempts: "list[Charge]", codes_met: set[str | None], outages: "list[Outage]"
) -> Iterator[Verdict]:
    if not attempts:
        yield not_yet("The intent for the Sage is there, and not confirmed.")
    failed = next((each for each in attempts if each.failure_code == _DOWN), None)
    if failed is None:
        if _DOWN in codes_met and intent.status == "succeeded":
            yield wrong("One intent has met the outage, and another intent was paid. One intent should see both.")
        yield wrong("The operator was not down when you tried: begin the outage first, and take a new intent.")
        return
    # A script and a test number fail one customer with the same code, while the operator is up.
    met = next((each for each in outages if each.provider == failed.provider and each.covers(failed.created)), None)
    if met is None:
        yield wrong(
            "This attempt failed and the operator was not down: a script or a test number fails one customer alone. "
            "With bench.operator.outage, begin the outage first, and take a new intent."
        )
        return
    if met.seconds != _OUTAGE_S:
        yield wrong(f"The outage was to last {_OUTAGE_S} seconds, and this one was begun for {met.seconds}.")
    if intent.status != "succeeded":
        yield not_yet("The first attempt has met the outage. Let time pass, and confirm the same intent again.")
    if met.covers(attempts[-1].created):
        yield wrong("It was paid while the outage should have lasted: let time pass instead of ending it.")
    yield done(f"One intent, {len(attempts)} attempts, paid once the operator was back.")


PATIENCE = Exercise(
    name="patience",
    notebook="07_when_payments_fail",
    title="An outage of five minutes",
    task="Let the operator be down for 300 seconds. Sell a Sage (that is the description) while it is, see the "
    "attempt fail, and bring the same intent to success when the operator is back.",
    hints=(
        "Step 9 has bench.operator.outage.",
        'attempt(intent_id, prefix + "0000001") confirms on a number that pays by itself, and waits.',
        "Between two attempts bench.clock.advance(seconds=300) lets the outage pass.",
    ),
    solution="""\
sage = pay.payment_intents.create(amount=Decimal(amount), description="Sage")
bench.operator.outage(provider, seconds=300)
attempt(sage.id, prefix + "0000001")
bench.clock.advance(seconds=300)
attempt(sage.id, prefix + "0000001")
""",
    check=_patience,
)


def _from_the_app(bench: Bench) -> Verdict:
    found = intents_for(bench, "Lily")
    if not found:
        return not_yet("No intent with the description Lily is there.")
    intent = found[-1]
    confirms = calls_to(bench, f"POST /v1/payment_intents/{intent.id}/confirm")
    if not confirms:
        return not_yet("The intent for the Lily is there, and not confirmed.")
    went_through = [each for each in confirms if each.response.status == HTTPStatus.OK]
    if not went_through:
        return wrong(f"The confirm was answered {confirms[-1].response.status}: bench.trace.exchanges has why.")
    held = [each.request.headers["Authorization"] for each in went_through]
    if any("pk_test" not in each for each in held):
        key = "an access token" if any("at_" in each for each in held) else "the secret key"
        return wrong(f"It was confirmed with {key}, which an app must not hold. Make another, and let app do it.")
    if intent.status != "succeeded":
        return not_yet(f"The app has confirmed it, and it is {intent.status}: the customer has a PIN to enter.")
    return done("Made by the shop, confirmed by the app with a publishable key, and paid by the customer.")


FROM_THE_APP = Exercise(
    name="from_the_app",
    notebook="06_keys_tokens_and_plants",
    title="Three parties, three rights",
    task="Sell a Lily (that is the description): the shop makes the intent, the app confirms it without the "
    "secret key, and the customer pays.",
    hints=(
        "shop and app are there since step 4.",
        "app.payment_intents.confirm takes the intent's client_secret, too.",
    ),
    solution="""\
lily = shop.payment_intents.create(amount=Decimal(amount), currency="ZMW", description="Lily")
app.payment_intents.confirm(lily.id, phone=phone, provider=provider, client_secret=lily.client_secret)
bench.phone(phone).enter_pin("1234")
""",
    check=_from_the_app,
)
