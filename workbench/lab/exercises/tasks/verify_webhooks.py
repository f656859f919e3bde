"""Notebook 4: a message of one's own, signed."""

from typing import TYPE_CHECKING

from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

if TYPE_CHECKING:
    from workbench.bench import Workbench

_ID = "evt_mine"
_WHY = {
    "timestamp_stale": "the timestamp is older than 300 seconds; bench.clock.now_ms is the present moment",
    "timestamp_in_future": "the timestamp lies ahead of bench.clock, whose moment is bench.clock.now_ms",
    "timestamp_malformed": "the timestamp should be a whole number of seconds, not of milliseconds",
    "body_not_an_event": "it is signed, and its body is no event: it needs id, type, timestamp and data.object",
}


def _own_message(bench: "Workbench") -> Verdict:
    mine = [each for each in bench.receiver.arrivals if each.headers.get("webhook-id") == _ID]
    if not mine:
        return not_yet(f"No message with the webhook-id {_ID} has reached the receiver.")
    if any(each.verdict == "accepted" for each in mine):
        return done("The receiver has taken it for genuine: whoever holds the secret can sign. So keep it.")
    last = mine[-1]
    if last.verdict == "refused":
        return wrong(f"The receiver refused it: {_WHY.get(last.reason, last.reason)}.")
    return wrong(f"The signature held, and a handler failed with {last.reason}. Take a type without a handler.")


EXERCISES = (
    Exercise(
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
    ),
)
