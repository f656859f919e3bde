"""A month made from within, in slices: the same as by single calls, however slices fall and whatever ends between."""

import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from workbench import Workbench
from workbench.analysis.simulate import Simulation, Traffic
from workbench.analysis.simulate.month import UNREPORTED, Chances, Month, Plan
from workbench.domain.gaps import Gaps
from workbench.domain.moments import START, day_start_ms, milliseconds
from workbench.domain.money import Money
from workbench.domain.scenarios import SANDBOX_PIN
from workbench.domain.wire.sandbox_controls import MAX_COMMANDS, SIMULATED, Simulated, SimulatedCommand
from workbench.errors import PaymentDeclined, ServiceUnreachable, StateConflict
from workbench.sandbox import month as sandbox_month
from workbench.session import SandboxControl

if TYPE_CHECKING:
    from tests.conftest import Serving

PAYMENTS, DAYS = 150, 9
TRAFFIC = Traffic(late_per_100k=4_000, unknown_per_100k=4_000, refunds_per_100k=15_000)
Tables = dict[str, Counter[tuple[Any, ...]]]
CALLS = {("POST", "charges"), ("POST", "payment_intents"), ("POST", "refunds"), ("POST", "payouts"), ("GET", "balance")}
"""What a month leaves no row of in the log of calls: nobody called."""
OF_CALLS = {"ctl", "sim"}
"""What numbers the calls of `/sandbox`, of which there are fewer."""
SLICE = 20
GONE_S = 15


class SingleCalls(SandboxControl):
    """Does each command by the calls of a merchant and of a person: what a slice is to come to."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench.control.client)
        self.bench = bench
        self.intents: dict[str, str] = {}
        self.charges: dict[str, str] = {}

    def simulate(self, simulation: str, cursor: int, commands: Sequence[SimulatedCommand]) -> Simulated:
        for each in commands:
            ahead_ms = each.at_ms - self.bench.clock.now_ms
            self.bench.clock.advance(Decimal(ahead_ms) / 1000)
            getattr(self, each.what)(each)
        return Simulated(simulation, cursor + len(commands), len(commands))

    def script(self, each: SimulatedCommand) -> None:
        self.bench.operator.script(each.phone, [each.scenario])

    def charge(self, each: SimulatedCommand) -> None:
        try:
            made = self.bench.client.charges.create(
                amount=each.amount_minor, channel=each.provider, phone=each.phone, reference=each.order,
                idempotency_key=each.order,
            )  # fmt: skip
        except PaymentDeclined:
            return
        self.charges[each.order] = made.id

    def intent(self, each: SimulatedCommand) -> None:
        amount = Money(each.amount_minor, "ZMW").major
        self.intents[each.order] = self.bench.client.payment_intents.create(amount=amount, description=each.order).id

    def confirm(self, each: SimulatedCommand) -> None:
        self.bench.client.payment_intents.confirm(self.intents[each.order], phone=each.phone, provider=each.provider)

    def pin(self, each: SimulatedCommand) -> None:
        self.bench.phone(each.phone).enter_pin(SANDBOX_PIN)

    def refund(self, each: SimulatedCommand) -> None:
        if each.order in self.charges:
            self.bench.client.refunds.create(charge=self.charges[each.order], amount=each.amount_minor or None)
        else:
            amount = Money(each.amount_minor, "ZMW").major if each.amount_minor else None
            self.bench.client.refunds.create(payment_intent=self.intents[each.order], amount=amount)

    def payout(self, _: SimulatedCommand) -> None:
        (available,) = self.bench.client.balance.retrieve().available
        if available.amount:
            self.bench.client.payouts.create(amount=available.amount, currency=available.currency)


class Twice(SandboxControl):
    """Sends each slice twice, as who was not answered would."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench.control.client)

    def simulate(self, simulation: str, cursor: int, commands: Sequence[SimulatedCommand]) -> Simulated:
        first = super().simulate(simulation, cursor, commands)
        again = super().simulate(simulation, cursor, commands)
        assert again.done >= first.done > 0
        return again


def tables_in(path: Path) -> Tables:
    with closing(sqlite3.connect(path)) as store:
        names = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: Counter(store.execute(f"SELECT * FROM {name}")) for name in names}  # noqa: S608  its own tables


def differing(one: Tables, other: Tables) -> dict[str, set[str]]:
    """The tables in which two months differ; of counters, which: those of a simulation by their first word."""
    found = {}
    for name in one:
        rows = (one[name] - other[name]) | (other[name] - one[name])
        if rows:
            found[name] = {str(row[0]).partition(" ")[0] for row in rows} if name == "counter" else set()
    return found


def made(path: Path, control: type[SingleCalls] | type[Twice] | None = None) -> tuple[Tables, Simulation]:
    with Workbench(seed=7, store=path) as bench:
        if control is not None:
            bench.control = control(bench)
        month = bench.simulate(payments=PAYMENTS, days=DAYS, seed=1, traffic=TRAFFIC)
    return tables_in(path), month


@pytest.fixture(scope="module")
def from_within(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tables, Simulation]:
    return made(tmp_path_factory.mktemp("within") / "store.db")


@pytest.mark.thorough
def test_it_equals_single_calls_in_all_but_the_calls(tmp_path: Path, from_within: tuple[Tables, Simulation]):
    (tables, month), (single, same) = from_within, made(tmp_path / "single.db", SingleCalls)
    assert repr(month) == repr(same)
    assert (month.refunds > 5, month.payouts) == (True, 1)
    assert differing(tables, single) == {"call": set(), "counter": {*OF_CALLS, "simulated"}}
    assert not tables["call"] - single["call"]
    named = Counter((method, path.split("/")[2]) for _, _, _, method, path, *_ in single["call"] - tables["call"])
    assert set(named) == CALLS
    assert {"charge", "entry", "event", "screen", "kept_response"} <= {name for name in tables if tables[name]}


@pytest.mark.thorough
def test_however_slices_fall_and_though_each_is_sent_twice(
    tmp_path: Path, from_within: tuple[Tables, Simulation], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sandbox_month, "_SLICE_S", 0)  # as few commands a slice as can be
    tables, month = made(tmp_path / "twice.db", Twice)
    assert differing(tables, from_within[0]) == {"counter": {"sim"}}
    assert repr(month) == repr(from_within[1])


def commands() -> list[SimulatedCommand]:
    """Those of the month above."""
    start_ms = day_start_ms(milliseconds(START), days_on=1)
    plan = Plan(Chances("1"), TRAFFIC, payments=PAYMENTS, days=DAYS, start_ms=start_ms)
    return list(Month(plan, Gaps()))


def drive(bench: Workbench, planned: list[SimulatedCommand], cursor: int) -> Iterator[int]:
    """Send slices from a cursor on; where each call came to."""
    while cursor < len(planned):
        cursor += bench.control.simulate("month", cursor, planned[cursor : cursor + SLICE]).done
        yield cursor


class Driving(threading.Thread):
    """Sends slices until all is done or nobody answers."""

    def __init__(self, address: dict[str, str], cursor: int) -> None:
        super().__init__()
        self.address, self.cursor, self.begun = address, cursor, threading.Event()

    def run(self) -> None:
        with Workbench.connect(**self.address) as bench, suppress(ServiceUnreachable):
            for cursor in drive(bench, commands(), self.cursor):
                self.cursor = cursor
                self.begun.set()


def made_served(serving: "Serving", store: Path, how: signal.Signals | None = None) -> Tables:
    """The month by a server that ends so in the midst, twice, and is started again."""
    options = ("--port", "0", "--json", "--seed", "7", "--clock", "manual", "--store", str(store))
    cursor, ends = 0, 2 if how else 0
    while cursor < len(commands()):
        with serving(*options) as server:
            driving = Driving(server.address, cursor)
            driving.start()
            if how and ends:
                assert driving.begun.wait(GONE_S)
                for each in server.workers if how == signal.SIGKILL else []:
                    each.kill()
                server.process.send_signal(how)
                server.process.wait(GONE_S)
                ends -= 1
            driving.join(GONE_S * 4)
            cursor = driving.cursor
        counters = {row[0]: row[1] for row in tables_in(store)["counter"]}
        if how == signal.SIGKILL:
            assert counters["simulated month"] >= cursor
        else:
            assert counters["simulated month"] == cursor, "it ended within a slice"
    assert not ends
    return tables_in(store)


@pytest.mark.thorough
def test_a_month_whose_server_ends_in_the_midst_goes_on(serving: "Serving", tmp_path: Path):
    whole = made_served(serving, tmp_path / "whole.db")
    assert len(whole["charge"]) == PAYMENTS
    for how in (signal.SIGKILL, signal.SIGTERM):
        ended = made_served(serving, tmp_path / f"{how.name}.db", how)
        found = differing(whole, ended)
        assert (found.keys(), found["counter"] <= {*OF_CALLS, "opening"}) == ({"counter"}, True), how.name


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"what": "nothing"}, 400, "parameter_invalid"),
    ({"what": "charge", "phone": "1", "provider": "mtn", "order": "none", "amount_minor": 1}, 400, "phone_invalid"),
    ({"what": "refund", "phone": "+260961234567", "order": "none"}, 404, "charge_not_found"),
    ({"what": "confirm", "order": "none"}, 404, "intent_not_found"),
    ({"what": "pin", "phone": "+260961234567"}, 409, "no_prompt"),
    ({"what": "script", "phone": "+260961234567", "scenario": "none"}, 400, "scenario_unknown"),
]


def test_what_cannot_be_done_is_refused_and_what_came_before_it_stays(bench: Workbench):
    key = {"Authorization": f"Bearer {bench.secret_key}"}
    charge = {"what": "charge", "order": "order-1", "phone": "+260961234567", "provider": "mtn", "amount_minor": 500}

    def sent(*commands: dict[str, Any], cursor: int = 0, simulation: str = "month") -> tuple[int, dict[str, Any]]:
        timed = [{"at_ms": milliseconds(START), **each} for each in commands]
        body = {"simulation": simulation, "cursor": cursor, "commands": timed}
        answer = bench.http.post("/sandbox/simulation", json=body, headers=key)
        return answer.status_code, answer.json()

    before = len(bench.tables.charges)
    for place, (command, status, code) in enumerate(REFUSED):
        name = f"month{place}"
        given = {**charge, "order": name}
        assert (sent(given, simulation=name)[1]["done"], sent(given, command, simulation=name)[0]) == (1, status)
        refused = sent(command, cursor=1, simulation=name)
        assert (refused[0], refused[1]["code"]) == (status, code)
        assert sent(simulation=name)[1] == {"simulation": name, "cursor": 1, "done": 1, "object": "simulation"}
    assert len(bench.tables.charges) == before + len(REFUSED)
    assert sent(charge | {"order": "month0", "amount_minor": 1}, simulation="again")[1]["code"] == "simulation_failed"
    assert sent(cursor=1)[1]["code"] == "cursor_ahead"
    assert sent(simulation="no name")[1]["code"] == "parameter_invalid"
    assert sent(*[charge] * (MAX_COMMANDS + 1))[1]["code"] == "parameter_invalid"
    assert bench.http.post("/sandbox/simulation", json={"simulation": "a"}).status_code == 401


@pytest.mark.parametrize(("choice", "status", "param"), [("ignored", 200, None), ("refused", 400, "commands.0.odrer")])
def test_an_unknown_field_of_a_command_is_treated_as_one_of_any_body(choice: str, status: int, param: str | None):
    commands = [{"at_ms": milliseconds(START), "what": "payout", "odrer": "order-1"}]
    with Workbench(gaps={"unknown_fields": choice}) as bench, bench.serve() as served:
        key, month = {"Authorization": f"Bearer {bench.secret_key}"}, {"simulation": "month", "commands": commands}
        answer = httpx.post(f"{served.base_url}/sandbox/simulation", json=month, headers=key)
        assert (answer.status_code, answer.json().get("param")) == (status, param)
        described = bench.http.get("/openapi.json").json()["components"]["schemas"]
        names = ("Advance", "Simulate", "SimulatedCommand")
        assert {described[name].get("additionalProperties") for name in names} == {None if param is None else False}


def test_who_scripted_a_fault_of_the_service_is_told(bench: Workbench):
    bench.operator.script("+260961234567", ["conflict"])
    command = SimulatedCommand(milliseconds(START), "charge", "order-1", "+260961234567", "mtn", 500)
    with pytest.raises(StateConflict, match="409"):
        bench.control.simulate("month", 0, [command])


def test_every_command_is_in_a_month():
    assert {each.what for each in commands()} == {*SIMULATED}
    assert [each.at_ms for each in commands()] == sorted(each.at_ms for each in commands())


def test_statements_show_no_attempt_that_never_reached_the_operator():
    plan = Plan(Chances("1"), Traffic(), payments=2_000, days=2, start_ms=day_start_ms(milliseconds(START), days_on=1))
    month = Month(plan, Gaps())
    assert list(month)
    shown = {each.scenario for each in month.info}
    assert shown == {
        "insufficient_funds", "prompt_timeout", "declined_by_customer", "wrong_pin", "limit_reached",
        "operator_unknown",
    }  # fmt: skip
    assert month.outcomes.keys() - shown == {"succeeded", "late_success", *UNREPORTED} - shown
