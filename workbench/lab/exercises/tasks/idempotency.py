"""Notebook 9: a function that charges once over a line that loses responses."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.errors import IdempotencyKeyReused, ServiceUnreachable
from workbench.lab.exercises.facts import Bench, charges_for, kwacha
from workbench.lab.exercises.shape import Exercise, Verdict, done, first_verdict, not_yet, wrong

if TYPE_CHECKING:
    import httpx

    from workbench.client import PaymentsClient
    from workbench.domain.wire import Charge

_LOST, _PATIENCE = 2, 100
_SURE_PHONE, _SURE_MINOR = "+260961234567", 2_500
_SAME_KEY = (
    "The first order is paid, and the second of the same customer is not: the key is the same for every order. Make "
    "it from the order's reference."
)


class _AsksForEver(BaseException):
    """Raised past the `except Exception` of a loop that would never end."""


class _Tried:
    """One order that a person's function has charged over a line whose first responses do not arrive."""

    def __init__(self, bench: Bench, charge: "Callable[[PaymentsClient, dict[str, Any]], Any]", name: str) -> None:
        self._bench = bench
        self.asked = 0
        self.response: Any = None
        self.error: BaseException | None = None
        order = {"amount": _SURE_MINOR, "channel": "mtn", "phone": _SURE_PHONE, "reference": name}
        try:
            self.response = charge(self._client(), order)
        except (ServiceUnreachable, IdempotencyKeyReused, _AsksForEver) as error:
            self.error = error
        self.paid: list[Charge] = [each for each in charges_for(bench, name) if each.status == "succeeded"]

    def _client(self) -> "PaymentsClient":
        import httpx

        from workbench.client import PaymentsClient

        line = httpx.Client(transport=httpx.MockTransport(self._answered))
        return PaymentsClient(self._bench.base_url, str(self._bench.secret_key), http=line)

    def _answered(self, request: "httpx.Request") -> "httpx.Response":
        """What was asked for happens, whether or not its response is lost."""
        import httpx

        self.asked += 1
        if self.asked > _PATIENCE:
            raise _AsksForEver
        response = self._bench.http.send(request)
        if self.asked <= _LOST:
            raise httpx.ReadTimeout("the connection was lost", request=request)
        return httpx.Response(response.status_code, headers=response.headers, content=response.content)


@first_verdict
def _charge_surely(
    bench: Bench, charge_surely: "Callable[[PaymentsClient, dict[str, Any]], object]"
) -> Iterator[Verdict]:
    """Two orders that are alike but for their reference, and the second of them once more."""
    number = sum(str(each.reference).startswith("SURE-") for each in bench.looking().charges.each()) + 1
    yield from _of_one_order(_Tried(bench, charge_surely, f"SURE-{number}"))
    another = _Tried(bench, charge_surely, f"SURE-{number + 1}")
    if not another.paid:
        yield wrong(_SAME_KEY)
    yield from _of_one_order(another)
    times = len(_Tried(bench, charge_surely, f"SURE-{number + 1}").paid)
    if times > 1:
        yield wrong(
            f"Asked for the same order again, as after a restart, the customer has paid {times} times. Make the key "
            "from the order's reference."
        )
    yield done(f"{_LOST} answers were lost, the customer has paid once, and the shop knows it.")


def _of_one_order(tried: _Tried) -> Iterator[Verdict]:
    """What is wrong with how one order was charged."""
    if isinstance(tried.error, ServiceUnreachable):
        yield wrong("The answer was lost and the function gave up. The customer has paid and the shop does not know.")
    if isinstance(tried.error, _AsksForEver):
        yield wrong(f"The function has asked {_PATIENCE} times, and goes on. After a few rounds it should give up.")
    if tried.error is not None:
        raise tried.error
    if not tried.paid:
        yield not_yet("The function has not charged anybody.")
    if len(tried.paid) > 1:
        yield wrong(f"The customer has paid {len(tried.paid)} times: every request had a key of its own.")
    if tried.paid[0].amount != _SURE_MINOR:
        yield wrong(f"The customer has paid {kwacha(tried.paid[0].amount)}, not {kwacha(_SURE_MINOR)}.")
    if getattr(tried.response, "id", None) != tried.paid[0].id:
        yield wrong("The customer has paid once, as it should be. Now return the charge, so that the shop knows it.")
    if tried.asked <= _LOST:
        yield wrong("The function has asked over another client than the one it was handed, whose answers get lost.")


CHARGE_SURELY = Exercise(
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
)
