"""Notebook 5: a response that is lost, and a customer who pays once."""

from collections.abc import Iterator

from workbench.lab.exercises.facts import Bench, calls_to, charges_for, json_of, kwacha
from workbench.lab.exercises.shape import Exercise, Verdict, done, first_verdict, not_yet, wrong

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
