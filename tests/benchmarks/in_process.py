"""What somebody at a notebook waits for: calls, payments, a key press, a simulated month, a growing store."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

import httpx

from tests.benchmarks.measuring import OURS, Results, Sample, Size, timed
from workbench import Workbench, resources

PATH = "/v1/payment_intents"
INTENT = b'{"amount":150.00,"currency":"ZMW","payment_method_types":["mobile_money"]}'
PHONE = "+260961234567"
FLOOR = "httpx alone"
WEBHOOKS = 5
"""How many events a whole payment has."""


def calls(size: Size, results: Results) -> None:
    """Single calls and whole payments, against httpx with nothing behind it."""
    with kinds_of_calls() as (quiet, heard, work):
        contenders = {
            (name, FLOOR if name == "floor" else OURS): partial(timed, -(-3 * size.operations // each), do)
            for name, (each, do) in work.items()
        }
        results.in_turn(size.rounds, contenders)
        assert len(quiet.client.payment_intents.list(limit=100).data) == 100
        paid = [each for each in heard.receiver.events if each.type == "payment_intent.succeeded"]
        made = [each for each in heard.receiver.events if each.type == "payment_intent.created"]
        assert len(heard.receiver.events) == len(made) + len(paid) * (WEBHOOKS - 1) > len(made) > len(paid)


@contextmanager
def kinds_of_calls() -> Iterator[tuple[Workbench, Workbench, dict[str, tuple[int, Callable[[], object]]]]]:
    """A sandbox without endpoints, one with a receiver, and what is done at them: of what takes longer, fewer."""
    with Workbench(seed=7) as quiet, Workbench(seed=7) as heard, floor() as call:
        for each in list(quiet.client.webhook_endpoints.each()):
            quiet.client.webhook_endpoints.delete(each.id)
        intents = [create(quiet) for _ in range(100)]
        mine = quiet.client.payment_intents
        work: dict[str, tuple[int, Callable[[], object]]] = {
            "floor": (1, call),
            "create": (3, partial(create, quiet)),
            "create_webhook": (6, partial(create, heard)),
            "payment": (15, partial(pay, quiet)),
            "payment_webhooks": (30, partial(pay, heard)),
            "retrieve": (3, partial(mine.retrieve, intents[0])),
            "list": (15, partial(mine.list, limit=100)),
        }
        yield quiet, heard, work


@contextmanager
def floor() -> Iterator[Callable[[], None]]:
    """A call by httpx over a transport that answers at once with what a created payment looks like."""
    with Workbench(seed=7) as bench:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {bench.secret_key}"}
        answer = bench.http.post(PATH, content=INTENT, headers=headers).content
    typed = {"Content-Type": "application/json"}
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=answer, headers=typed))
    with httpx.Client(transport=transport, base_url="http://floor.localhost", headers=headers) as http:

        def call() -> None:
            assert http.post(PATH, content=INTENT).content

        yield call


def create(bench: Workbench) -> str:
    """A payment that waits for its customer; its id."""
    intents = bench.client.payment_intents
    return intents.create(amount=Decimal("150.00"), currency="ZMW", payment_method_types=["mobile_money"]).id


def confirmed(bench: Workbench) -> str:
    """A payment whose prompt is on the handset; its id."""
    return bench.client.payment_intents.confirm(create(bench), phone=PHONE, provider="mtn").id


def pay(bench: Workbench) -> None:
    """Create, confirm, PIN, retrieve."""
    intent = confirmed(bench)
    bench.phone(PHONE).enter_pin("1234")
    assert bench.client.payment_intents.retrieve(intent).status == "succeeded"


def opening(size: Size, results: Results) -> None:
    """`Workbench()` and its end, once everything is loaded."""

    def opened() -> None:
        with Workbench(seed=7):
            pass

    results.in_turn(size.rounds, {("opening", OURS): partial(timed, -(-size.operations // 10), opened)})


def press(size: Size, results: Results) -> None:
    """The PIN on the phone, from the page's message to the kernel's response, webhooks included."""
    with Workbench(seed=7) as bench:
        request = {
            "method": "POST", "path": f"/sandbox/phones/{PHONE}/input", "body": '{"text": "1234"}',
            "headers": {"Content-Type": "application/json"},
        }  # fmt: skip
        enters = partial(bench.console().channel.answer, {"number": 1, "request": request})

        def pressed() -> Sample:
            samples = []
            for _ in range(-(-size.operations // 10)):
                confirmed(bench)
                samples.append(timed(1, enters))
                assert bench.phone(PHONE).shown["state"] == "approved"
            return Sample(*map(sum, zip(*samples, strict=True)))

        results.in_turn(size.rounds, {("press", OURS): pressed})


def simulate(size: Size, results: Results) -> None:
    """A month of payments into a new sandbox."""

    def month() -> Sample:
        with Workbench(seed=7) as bench:
            return timed(1, partial(bench.simulate, payments=size.simulated))

    results.in_turn(size.few, {("simulate", OURS): month})
    # The same runs by the payment.
    results.samples["simulate_each", OURS] = [
        each._replace(operations=size.simulated) for each in results.samples["simulate", OURS]
    ]


def growth(size: Size, results: Results) -> None:
    """A whole payment with its webhooks, and a simulated one, when ever more are in the store."""
    steps = [each for power in range(3, 7) for each in (10**power, 3 * 10**power) if each < size.payments]
    held = 0
    with Workbench(seed=7) as bench, floor() as call:
        for then in [*(steps or [size.payments // 2]), size.payments]:
            at = f"{then:,} payments"
            filled = timed(1, partial(bench.simulate, payments=then - held))
            results.samples["simulated", at].append(filled._replace(operations=then - held))
            held = then
            contenders = {
                ("growth", at): partial(timed, -(-size.operations // 5), partial(pay, bench)),
                ("floor", at): partial(timed, size.operations, call),
            }
            results.in_turn(size.rounds, contenders)


def notebooks(size: Size, results: Results) -> None:
    """`workbench run` of one notebook, the kernel's start and the page it writes included."""

    def run(name: str) -> Sample:
        with tempfile.TemporaryDirectory() as folder:
            notebook = resources.course()[name].path
            command = [Path(sys.executable).with_name("workbench"), "run", notebook, "--out", folder]
            before, wall_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603  our own command
            after, wall_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - wall_s
        return Sample(1, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall_s)

    results.in_turn(size.few, {(name, OURS): partial(run, name) for name in size.notebooks})
