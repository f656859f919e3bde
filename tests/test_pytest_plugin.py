"""The plugin of pytest, seen from outside: a merchant's tests that are run by it."""

import datetime as dt
import re
import shlex
import socket
import time
from collections.abc import Callable
from importlib.metadata import entry_points

import httpcore
import pytest

from workbench import Workbench, pytest_plugin
from workbench.sandbox import server

LOADED = (httpcore, server)
"""What a run here loads first would be forgotten at its end, and loaded again by the next."""
pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

CHARGES = """
import httpcore
import pytest

def charged(bench, minor=10_000):
    return bench.client.charges.create(
        amount=minor, channel="mtn", phone="+260961234567", reference="r", idempotency_key="k")

def pending(bench):
    return bench.client.balance.retrieve().pending[0].amount
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """A merchant's tests, run here: what is loaded already is not loaded again."""

    def ran(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_shop=f"{CHARGES}\n{source}")
        plugins = [f"-pno:{name}" for name in ("schemathesis", "nbval", "xdist", "cacheprovider", "hypothesispytest")]
        return pytester.runpytest_inprocess("--strict-markers", "-Wdefault", *plugins, *options)

    return ran


def test_it_is_installed_with_the_package():
    (entry,) = entry_points(group="pytest11", name="workbench")
    assert entry.load() is pytest_plugin


def test_ten_tests_of_a_shop_take_less_than_a_second(run: Run):
    source = """
@pytest.mark.parametrize("amount", range(1, 11))
def test_pays(bench, amount):
    made = bench.client.payment_intents.create(amount=amount)
    bench.client.payment_intents.confirm(made.id, phone="+260961234567", provider="mtn")
    bench.phone("+260961234567").enter_pin("1234")
    assert [each.type for each in bench.receiver.events][-1] == "payment_intent.succeeded"
"""
    took_s = []
    # Less than 0.7 s where nothing else runs; a core that is shared counts up to twice as much.
    while len(took_s) < 3 and min(took_s, default=2) >= 2:
        before_s = time.process_time()
        run(source).assert_outcomes(passed=10)
        took_s.append(time.process_time() - before_s)
    assert min(took_s) < 2


def test_the_seed_is_the_tests_own_unless_it_is_named(run: Run, pytester: pytest.Pytester):
    source = """
def noted(bench):
    with open("keys", "a") as keys:
        print(str(bench.secret_key), file=keys)

@pytest.mark.parametrize("n", [1, 2])
def test_own(bench, n):
    noted(bench)

@pytest.mark.workbench(seed=7)
def test_named(bench):
    noted(bench)
"""
    run(source).assert_outcomes(passed=3)
    keys = []
    for seed in ("test_shop.py::test_own[1]", "test_shop.py::test_own[2]", 7):
        with Workbench(seed=seed) as bench:
            keys.append(str(bench.secret_key))
    assert (pytester.path / "keys").read_text().split() == keys


def test_the_marker_says_with_what_a_sandbox_is_opened(run: Run):
    run("""
from datetime import UTC, datetime
from workbench.errors import ApiError, PaymentDeclined
START = datetime(2027, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.workbench(gaps={"merchant_fee": "none", "operator_fee": "none"}, start=START)

@pytest.mark.workbench(gaps={"merchant_fee": "flat_1.00"})
def test_gaps(bench):
    charged(bench)
    assert pending(bench) == 99
    assert bench.control.in_force()["operator_fee"] == "none"

@pytest.mark.workbench(scenario="insufficient_funds")
def test_scenario(bench):
    with pytest.raises(PaymentDeclined):
        charged(bench)
    assert bench.client.payment_intents.create(amount=1).status == "requires_payment_method"

@pytest.mark.workbench(scenario="server_error")
def test_fault(served_bench):
    with pytest.raises(ApiError, match="as the scenario asks"):
        served_bench.client.payment_intents.create(amount=1)
    assert served_bench.client.payment_intents.list().data == []

def test_start(bench, served_bench):
    assert bench.clock.now == served_bench.clock.now == START
""").assert_outcomes(passed=4)


REFUSED = {
    "7": "takes seed=, gaps=, scenario=, start= by name, and nothing else",
    "sed=7": "takes seed=, gaps=, scenario=, start= by name, and nothing else",
    "scenario='rain'": "There is no scenario 'rain'; there are approve, bank_refused",
    "gaps={'merchant_fee': 'low'}": "merchant_fee is not 'low'; it takes '2.5%', 'none', 'flat_1.00'",
    "start='2027'": "start must be an aware datetime",
}


def test_what_the_marker_does_not_take_is_said(run: Run):
    tests = (f"@pytest.mark.workbench({marker})\ndef test_{place}(bench): pass" for place, marker in enumerate(REFUSED))
    result = run("\n".join(tests))
    result.assert_outcomes(errors=len(REFUSED))
    result.stdout.fnmatch_lines([f"*{said.replace('[', '[[]')}*" for said in REFUSED.values()])


@pytest.mark.thorough
def test_what_is_served_is_one_and_empty_for_each_test(run: Run, pytester: pytest.Pytester):
    result = run("""
import pathlib
import httpx

@pytest.fixture(scope="session")
def backend(workbench_server):
    return httpx.Client(base_url=workbench_server.base_url, auth=(str(workbench_server.secret_key), ""))

@pytest.mark.parametrize("n", [1, 2])
def test_one(served_bench, backend, n):
    assert served_bench.client.charges.list().data == []
    assert served_bench.client.webhook_endpoints.list().data == []
    assert backend.get("/v1/charges").json()["data"] == []
    served_bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/webhooks")
    assert served_bench.receiver.secrets
    charged(served_bench)
    served_bench.clock.advance(0)
    assert [each.type for each in served_bench.receiver.events] == ["charge.succeeded"]
    assert len(backend.get("/v1/charges").json()["data"]) == 1
    pathlib.Path("port").write_text(served_bench.base_url.rpartition(":")[2])

@pytest.mark.workbench(gaps={"merchant_fee": "none"})
def test_other(served_bench, workbench_server):
    assert served_bench.base_url != workbench_server.base_url
    charged(served_bench)
    assert pending(served_bench) == 100
""")
    result.assert_outcomes(passed=3)
    assert result.stdout.str().count("LeftOpen: ") == 2
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int((pytester.path / "port").read_text())), timeout=5)


def test_a_test_that_fails_shows_what_happened_and_how_to_have_it_again(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    source = """
@pytest.mark.parametrize("n", [30])
def test_one(bench, n):
    for each in range(n):
        bench.client.payment_intents.create(amount=1)
    charged(bench, 100)
    assert pending(bench) < 1

@pytest.mark.workbench(gaps={"merchant_fee": "2.5%"})
def test_own(bench):
    assert charged(bench) and pending(bench) == 97.5
"""
    run(source).assert_outcomes(passed=2)
    monkeypatch.setenv("WORKBENCH_GAPS", '{"merchant_fee": "none"}')
    monkeypatch.setenv("WORKBENCH_JUNIT", "report.xml")
    result = run(source)
    result.assert_outcomes(passed=1, failed=1)
    assert re.findall(r' name="(\S+)"[^>]*><failure', (pytester.path / "report.xml").read_text()) == ["test_one[30]"]
    shown = result.stdout.str()
    assert shown.count("rows before these)") == 1
    assert shown.count("POST /v1/payment_intents ") < pytest_plugin.SHOWN_ROWS
    assert "by hand:  Workbench(seed='test_shop.py::test_one[30]', gaps={'merchant_fee': 'none'})" in result.outlines
    again = next(line for line in result.outlines if line.startswith("again:"))
    switched, _, node = shlex.split(again)[1:]
    assert switched == 'WORKBENCH_GAPS={"merchant_fee": "none"}'
    run(source, node).assert_outcomes(failed=1)


@pytest.mark.thorough
def test_by_hand_a_sandbox_is_opened_as_it_was_and_served_with_the_same_address_and_keys(
    run: Run, pytester: pytest.Pytester
):
    result = run("""
from datetime import UTC, datetime

@pytest.mark.workbench(gaps={"merchant_fee": "none"}, start=datetime(2027, 1, 1, tzinfo=UTC))
def test_own(bench, served_bench):
    with open("served", "w") as told:
        print(served_bench.base_url, str(served_bench.secret_key), str(bench.secret_key), file=told)
    assert False
""")
    result.assert_outcomes(failed=1)
    base_url, *keys = (pytester.path / "served").read_text().split()
    lines = [line.partition("by hand:  ")[2] for line in result.outlines if line.startswith("by hand:")]
    (in_process,) = [line for line in lines if "serve(" not in line]
    (served,) = [line for line in lines if "serve(" in line]
    names: dict[str, object] = {"Workbench": Workbench, "datetime": dt}
    exec(served, names)  # noqa: S102  our own lines
    with names["bench"], eval(in_process, names) as bench, Workbench.connect(base_url, keys[0]) as served:  # noqa: S307  the same
        assert str(bench.secret_key) == keys[1]
        for each in (served, bench):
            assert each.clock.now.year == 2027
            assert each.control.in_force()["merchant_fee"] == "none"


def test_what_served_bench_cannot_do_names_the_call_that_does(run: Run):
    run("""
from workbench.errors import ServeRefused

def test_calls(served_bench):
    with pytest.raises(ServeRefused, match=r"bench\\.client\\.webhook_endpoints\\.create\\(url=…\\)"):
        served_bench.deliver_to(lambda environ, start: [])
    with pytest.raises(ServeRefused, match="Give your shop bench.base_url and bench.secret_key"):
        served_bench.serve()
    assert served_bench.webhook_secret == served_bench.receiver.secrets[-1]

def test_secret(served_bench):
    served_bench.client.webhook_endpoints.create(url="http://127.0.0.1:9/webhooks")
    with pytest.raises(ServeRefused, match=r"The secret of http://127.0.0.1:9/webhooks .* bench\\.sign needs none"):
        served_bench.webhook_secret
""").assert_outcomes(passed=2)


def test_what_a_test_leaves_open_is_told_and_is_no_failure(run: Run):
    result = run("""
def prompted(bench):
    made = bench.client.payment_intents.create(amount=1)
    bench.client.payment_intents.confirm(made.id, phone="+260961234567", provider="mtn")

def test_prompt(bench):
    prompted(bench)

def test_wrong_pin(bench):
    prompted(bench)
    bench.phone("+260961234567").enter_pin("0000")

def test_event(bench):
    @bench.receiver.on("*")
    def fail(event):
        raise OSError
    charged(bench)

def test_nothing(bench):
    prompted(bench)
    bench.phone("+260961234567").enter_pin("1234")

def test_expired(bench):
    prompted(bench)
    bench.clock.advance(300)

def test_delivered_later(bench):
    @bench.receiver.on("*")
    def fail(event):
        assert bench.receiver.arrivals
    charged(bench)
    bench.clock.advance(60)

def test_closed(bench):
    prompted(bench)
    bench.close()

@pytest.mark.xfail
def test_failed(bench):
    prompted(bench)
    assert False
""")
    result.assert_outcomes(passed=7, xfailed=1)
    told = [line.partition("LeftOpen: ")[2] for line in result.outlines if "LeftOpen: " in line]
    assert [each.partition(" of ")[0] for each in told] == [
        "The test ended while +26096••••567 was asked for the PIN",
        "The test ended while +26096••••567 was asked for the PIN",
        "The test ended before charge.succeeded",
    ]
