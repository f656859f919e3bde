"""The exercises on webhooks, retries, idempotency and a backend of one's own: notebooks 4 and 8 to 10."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.domain.signatures import TIMESTAMP_HEADER, verify
from workbench.errors import IdempotencyKeyReused, ServiceUnreachable, SignatureRefused
from workbench.lab.exercises.shape import (
    Bench,
    Exercise,
    Verdict,
    attempts_at,
    best_of,
    charges_for,
    done,
    first_verdict,
    intents_for,
    json_of,
    kwacha,
    line_of,
    not_yet,
    wrong,
)

if TYPE_CHECKING:
    import httpx

    from workbench.client import PaymentsClient
    from workbench.domain.wire import Charge, PaymentIntent
    from workbench.receiver import Arrival


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


_OWN_ID, _TYPE = "evt_mine", "charge.failed"
_REFUSALS = {
    "timestamp_stale": "the timestamp is older than 300 seconds; bench.clock.now_ms is the present moment",
    "timestamp_in_future": "the timestamp lies ahead of bench.clock, whose moment is bench.clock.now_ms",
    "timestamp_malformed": "the timestamp should be a whole number of seconds, not of milliseconds",
    "body_not_an_event": "it is signed, and its body is no event: it needs id, type, timestamp and data.object",
}


def _own_message(bench: Bench) -> Verdict:
    receiver = bench.receiver
    mine = [each for each in receiver.arrivals if each.headers.get("webhook-id") == _OWN_ID]
    verdict = best_of(_of_arrival(each, receiver.secrets[:1]) for each in mine)
    return verdict or not_yet(f"No message with the webhook-id {_OWN_ID} has reached the receiver.")


def _of_arrival(arrival: "Arrival", issued: list[str]) -> Verdict:
    """A message that was wrong before makes the right one a duplicate, which is no mistake of it."""
    if arrival.verdict == "refused":
        return wrong(f"The receiver refused it: {_REFUSALS.get(arrival.reason, arrival.reason)}.")
    event = json_of(arrival.body.decode("utf-8", "replace"))
    if event.get("type") != _TYPE:
        return wrong(f"The signature held, and its type is {event.get('type')}, not {_TYPE}. Send it again with that.")
    if event.get("id") != _OWN_ID:
        return wrong(f"The header says {_OWN_ID}, and its body calls it {event.get('id')}: one message has one id.")
    if arrival.error is not None:
        why = f"{type(arrival.error).__name__}{line_of(arrival.error)}"
        return wrong(f"The signature held, and a handler failed with {why}. Take a type without a handler.")
    try:
        verify(arrival.body, arrival.headers, issued, now_s=int(arrival.headers[TIMESTAMP_HEADER]))
    except SignatureRefused:
        return wrong("It is signed with a secret of your own. Sign it with the endpoint's: receiver.secrets[0].")
    return done("The receiver has taken it for genuine: whoever holds the secret can sign. So keep it.")


OWN_MESSAGE = Exercise(
    name="own_message",
    notebook="04_verify_webhooks",
    title="Sign a message yourself",
    task="You hold the secret, so you can sign. Make an event of your own with the id evt_mine and the type "
    "charge.failed, sign it, and hand it to the receiver so that it is accepted. A test of a backend does just "
    "that.",
    hints=(
        "A body in bytes and three headers go to receiver.receive. Step 4 has the signature.",
        (
            "The event needs id, type, timestamp and data, and an object in data. json.dumps(…).encode() makes the "
            "bytes."
        ),
        (
            "The moment is str(bench.clock.now_ms // 1000), once for the header and once for signature_of(secret, "
            '"evt_mine", moment, body).'
        ),
    ),
    solution="""\
mine = json.dumps({
    "id": "evt_mine",
    "type": "charge.failed",
    "timestamp": "2026-01-05T06:00:00.000Z",
    "data": {"object": {"id": "ch_mine", "status": "failed"}},
}).encode()
moment = str(bench.clock.now_ms // 1000)
signed = {
    "webhook-id": "evt_mine",
    "webhook-timestamp": moment,
    "webhook-signature": signature_of(secret, "evt_mine", moment, mine),
}
receiver.receive(mine, signed)
""",
    check=_own_message,
)


_MAX_ATTEMPTS = 10
"""After so many without success a delivery is a dead letter."""


def _lost_and_found(bench: Bench) -> Verdict:
    verdict = best_of(_of_rose(bench, each) for each in intents_for(bench, "Rose"))
    return verdict or not_yet("No Rose has been sold.")


@first_verdict
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
        yield wrong("The shop was told of the Rose while its database was up. Sell another while it is down.")
    if failed < _MAX_ATTEMPTS and True in has_arrived:
        yield wrong(f"Attempt {failed + 1} has reached the shop, before it was a dead letter. Keep the database down.")
    if failed < _MAX_ATTEMPTS:
        yield not_yet(f"{failed} attempts to tell the shop have failed. After the tenth it is a dead letter.")
    if True not in has_arrived:
        yield not_yet("It is a dead letter. Bring the database back, and have it replayed.")
    yield done("Lost as a dead letter, replayed, and taken by the shop.")


LOST_AND_FOUND = Exercise(
    name="lost_and_found",
    notebook="08_retries_dead_letters_and_replay",
    title="Lost for four days, and found",
    task='Sell a Rose, sell("Rose"), while the shop\'s database is down, let the message become a dead letter, and '
    "then get the shop to know of it.",
    hints=(
        "database_is_up is the switch.",
        "bench.clock.advance(days=4) is longer than ten attempts take.",
        "pay.deliveries.replay_dead_letters() sends every dead letter again. The database should be up by then.",
    ),
    solution="""\
database_is_up = False
sell("Rose")
bench.clock.advance(days=4)
database_is_up = True
pay.deliveries.replay_dead_letters()
""",
    check=_lost_and_found,
)


_REFUSED = "declined_by_customer"


def _is_intent(bench: Bench, name: object) -> bool:
    return any(each.id == name for each in bench.looking().payment_intents.each())


@first_verdict
def _refused_order(bench: Bench, mint: dict[str, Any]) -> Iterator[Verdict]:
    if (
        not isinstance(mint, dict)
        or not isinstance(mint.get("status"), str)
        or not _is_intent(bench, mint.get("intent"))
    ):
        yield wrong("The answer should be the order as the shop answers with it: its intent, its status and the rest.")
    if mint.get("plant", "Mint") != "Mint":
        yield wrong(f"This is the order of a {mint['plant']}. Order a Mint, and read that one.")
    attempts = attempts_at(bench, mint["intent"])
    if not attempts:
        yield not_yet("The shop has asked nobody for the money yet.")
    last = attempts[-1]
    if last.status == "pending":
        yield not_yet("The prompt is on the customer's phone. Refuse the payment there.")
    if last.failure_code != _REFUSED:
        yield wrong(f"The customer did not refuse: the charge is {last.status} ({last.failure_code or 'paid'}).")
    if mint["status"] == "open":
        yield wrong("The customer has refused, and this is the order as it was before. Ask the shop for it again.")
    if _REFUSED not in mint["status"]:
        yield wrong(f"The shop says {mint['status']!r} of an order that the customer has refused.")
    yield done("Refused on the phone, told by webhook, and the order is open with its reason.")


REFUSED_ORDER = Exercise(
    name="refused_order",
    notebook="10_your_own_backend",
    title="An order that the customer refuses",
    task="Order a Mint at the shop, refuse the payment on the customer's phone, and then read the order at the "
    "shop again. Put what the shop says into mint.",
    hints=(
        'buy("Mint") orders it. bench.phone(phone).cancel() is the key that refuses.',
        "bench.clock.advance(0) waits until the webhook has been delivered.",
        'browse(f"/orders/{number}") reads an order; the number stands in what buy has returned.',
    ),
    solution="""\
mint = buy("Mint")
bench.phone(phone).cancel()
bench.clock.advance(0)
mint = browse(f"/orders/{mint['number']}")
""",
    check=_refused_order,
)
