"""Notebook 6: confirmed from the customer's side."""

from http import HTTPStatus

from workbench.lab.exercises.facts import Bench, calls_to, intents_for
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong


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
