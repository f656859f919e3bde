"""Notebook 4: a message of one's own, signed."""

from typing import TYPE_CHECKING

from workbench.domain.signatures import TIMESTAMP_HEADER, verify
from workbench.errors import SignatureRefused
from workbench.lab.exercises.facts import Bench, json_of
from workbench.lab.exercises.judging import line_of
from workbench.lab.exercises.shape import Exercise, Verdict, best_of, done, not_yet, wrong

if TYPE_CHECKING:
    from workbench.receiver import Arrival

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
