"""Notebook 9: a function that charges once over a line that loses answers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.errors import ServiceUnreachable
from workbench.lab.exercises.facts import charges_for
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

if TYPE_CHECKING:
    from workbench.bench import Workbench
    from workbench.client import PaymentsClient

_LOST = 2
_PHONE = "+260961234567"


def _over_a_bad_line(bench: "Workbench") -> "PaymentsClient":
    """A client whose first answers do not arrive: what it asked for has happened all the same."""
    import httpx

    from workbench.client import PaymentsClient

    class LosesAnswers(httpx.BaseTransport):
        lost = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = bench.http.send(request)
            if self.lost < _LOST:
                self.lost += 1
                raise httpx.ReadTimeout("the connection was lost", request=request)
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    line = httpx.Client(transport=LosesAnswers())
    return PaymentsClient(bench.base_url, str(bench.secret_key), http=line)


def _charge_surely(bench: "Workbench", charge_surely: "Callable[[PaymentsClient, dict[str, Any]], object]") -> Verdict:
    number = sum(str(each.reference).startswith("SURE-") for each in bench.looking().charges.each()) + 1
    reference = f"SURE-{number}"
    order = {"amount": 2_500, "channel": "mtn", "phone": _PHONE, "reference": reference}
    try:
        answer = charge_surely(_over_a_bad_line(bench), order)
    except ServiceUnreachable:
        return wrong("The answer was lost and the function gave up. The customer has paid and the shop does not know.")
    paid = [each for each in charges_for(bench, reference) if each.status == "succeeded"]
    if not paid:
        return not_yet("The function has not charged anybody.")
    if len(paid) > 1:
        return wrong(f"The customer has paid {len(paid)} times: every request had a key of its own.")
    if getattr(answer, "id", None) != paid[0].id:
        return wrong("The customer has paid once, as it should be. Now return the charge, so that the shop knows it.")
    return done(f"{_LOST} answers were lost, the customer has paid once, and the shop knows it.")


EXERCISES = (
    Exercise(
        name="charge_surely",
        notebook="09_idempotency",
        title="Charge once, whatever the line does",
        task="Write the function charge_surely, which charges an order and returns the charge. Its line may lose a few "
        "answers; the customer must pay once. The check loses two answers on purpose.",
        hints=(
            "A lost answer is a ServiceUnreachable, and step 3 says what to do after it.",
            "The key is made once, before the first request, from order['reference'].",
            (
                "A loop of a few rounds: return client.charges.create(**order, idempotency_key=key), and pass over "
                "a ServiceUnreachable."
            ),
        ),
        solution='''\
def charge_surely(client, order):
    """Charge an order and return the charge."""
    key = f"{order['reference']}-attempt-1"
    for _ in range(5):
        try:
            return client.charges.create(**order, idempotency_key=key)
        except ServiceUnreachable:
            pass  # it may have been carried out: the same again, under the same key
    raise ServiceUnreachable("five answers were lost; ask for the charge later")
''',
        check=_charge_surely,
    ),
)
