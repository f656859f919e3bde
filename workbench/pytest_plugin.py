"""The plugin of pytest for a merchant's own tests: `bench`, `served_bench` and a marker.

pytest loads the plugin wherever the package is installed, so slow imports wait until a test asks for a fixture.
"""

import os
import shlex
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from workbench.alternatives import GAPS, JUNIT, switched

if TYPE_CHECKING:
    from workbench.bench import Served, Workbench

    Servers = Callable[["Options"], tuple[Workbench, Served]]

MARKER: Final = "workbench"
SHOWN_ROWS: Final = 20
"""The most rows of the trace, the latest, that are shown below a failed test."""
_ASKS: Final = "Enter PIN to approve:"
_SERVED_SEED: Final = "served_bench"


class LeftOpen(UserWarning):
    """A test ended while a prompt waited for its customer, or before an event was delivered."""


Options: TypeAlias = dict[str, Any]
"""The arguments `seed`, `gaps` and `start` with which a test's sandbox is opened."""


def _options_of(item: pytest.Item, seed: str) -> Options:
    """A test's options by its markers, the nearest of which wins, with this `seed` unless a marker names one.

    Raises UsageError: an unknown argument.
    """
    options: Options = {"seed": None, "gaps": {}, "start": None}
    for marker in reversed([*item.iter_markers(MARKER)]):
        if marker.args or {*marker.kwargs} - {*options}:
            named = ", ".join(f"{name}=" for name in options)
            raise pytest.UsageError(f"{item.nodeid}: the marker workbench takes {named} by name, and nothing else.")
        options |= {**marker.kwargs, "gaps": {**options["gaps"], **marker.kwargs.get("gaps", {})}}
    return options if options["seed"] is not None else {**options, "seed": seed}


_OPEN: Final = pytest.StashKey[list[tuple["Workbench", Options]]]()
"""The sandboxes of a test, each with its options."""
_BROKEN_OFF: Final = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)  # before the report of JUnit is set up
def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker, and lets pytest write the report that `workbench each` reads."""
    config.addinivalue_line(
        "markers",
        "workbench(seed=None, gaps={}, start=None): how bench and served_bench are opened: gaps are rows of the "
        "register; start is the clock's first moment, an aware datetime.",
    )
    if (report := os.environ.get(JUNIT)) and not config.getoption("xmlpath", None):
        config.option.xmlpath = report


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator["Workbench"]:
    """A sandbox in this process for one test; its seed is the test's node id, unless the marker names one."""
    from workbench.bench import Workbench

    options = _options_of(request.node, request.node.nodeid)
    with Workbench(**options) as opened, _watched(request.node, opened, options):
        yield opened


@pytest.fixture(scope="session")
def _workbench_servers() -> Iterator["Servers"]:
    """A function that returns the sandbox for some options, served on a port; equal options share a sandbox."""
    from workbench.bench import Workbench

    servers: dict[str, tuple[Workbench, Served]] = {}
    with ExitStack() as closing:

        def served(options: Options) -> tuple["Workbench", "Served"]:
            key = repr({**options, "gaps": sorted(options["gaps"].items())})
            if key not in servers:
                home = closing.enter_context(Workbench(**options))
                # A client over HTTP has its own receiver, if any.
                _remove(home, _endpoints(home))
                servers[key] = home, closing.enter_context(home.serve())
            return servers[key]

        yield served


@pytest.fixture(scope="session")
def workbench_server(_workbench_servers: "Servers") -> "Served":
    """The served sandbox of `served_bench`, with `base_url` and keys for a backend that starts once for all tests."""
    return _workbench_servers({"seed": _SERVED_SEED, "gaps": {}, "start": None})[1]


@pytest.fixture
def served_bench(request: pytest.FixtureRequest, _workbench_servers: "Servers") -> Iterator["Workbench"]:
    """A sandbox over HTTP on a free port of this machine, empty at the beginning of each test.

    The tests of a process share the sandbox, with one address and one pair of keys; its clock continues from test to
    test. Tests whose markers give other options share another sandbox.
    """
    from workbench.bench import Workbench

    options = _options_of(request.node, _SERVED_SEED)
    home, served = _workbench_servers(options)
    home.reset()
    before = _endpoints(home)
    with (
        Workbench.connect(served.base_url, served.secret_key, served.publishable_key) as opened,
        _watched(request.node, opened, options),
    ):
        yield opened
    _remove(home, _endpoints(home) - before)


def _endpoints(home: "Workbench") -> set[str]:
    return {endpoint.id for endpoint in home.untraced.delivery_faults()}


def _remove(home: "Workbench", endpoints: set[str]) -> None:
    from workbench.errors import WorkbenchError

    for endpoint in endpoints:
        with suppress(WorkbenchError):
            home.acting.webhook_endpoints.delete(endpoint)


@contextmanager
def _watched(item: pytest.Item, opened: "Workbench", options: Options) -> Iterator[None]:
    """Lets a failed test show its sandbox; warns if a passed test left a prompt or a delivery open."""
    item.stash.setdefault(_OPEN, []).append((opened, options))
    yield
    item.stash[_OPEN].pop()
    if not opened.http.is_closed and not item.stash.get(_BROKEN_OFF, False):
        for message in _left_open(opened):
            warnings.warn(LeftOpen(message), stacklevel=1)


def _left_open(opened: "Workbench") -> Iterator[str]:
    from workbench.domain.wire.ledger_and_trace import SCREEN, WEBHOOK

    prompts = {row.payment: row for row in opened.untraced.trace(kind=SCREEN)}
    for payment, row in prompts.items():
        if row.detail["words"].endswith(_ASKS):
            yield f"The test ended while {row.detail['phone']} was asked for the PIN of {payment}."
    attempts = {row.detail["delivery"]: row for row in opened.untraced.trace(kind=WEBHOOK)}
    for row in attempts.values():
        if not row.result.startswith("2"):
            yield f"The test ended before {row.what} of {row.payment} was delivered; the last attempt: {row.result}."


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows below a failed test the latest rows of its sandbox's trace, and how to open the sandbox again."""
    report = yield
    if call.excinfo is not None:
        item.stash[_BROKEN_OFF] = True
    if report.failed:
        report.sections += [("workbench", _shown(item, *opened)) for opened in item.stash.get(_OPEN, [])]
    return report


def _shown(item: pytest.Item, bench: "Workbench", options: Options) -> str:
    try:
        trace = bench.trace
        left_out = f"({len(trace) - SHOWN_ROWS} rows before these)\n" if len(trace) > SHOWN_ROWS else ""
        shown = f"{left_out}{trace[-SHOWN_ROWS:]!r}"
    except Exception as error:  # noqa: BLE001  whatever keeps it from being read, the test's own failure is what counts
        shown = f"The trace cannot be read: {error}"
    opening = {**options, "gaps": switched(options["gaps"])}
    said = ", ".join(f"{name}={value!r}" for name, value in opening.items() if value or name == "seed")
    by_hand = f"Workbench({said})"
    if bench.is_served:
        # The same address and the same keys: the shop that runs beside the sandbox keeps its environment.
        by_hand = f"bench = {by_hand}; bench.serve({bench.base_url.rpartition(':')[2]})"
    within = os.environ.get(GAPS)
    again = f"again:    {f'{GAPS}={shlex.quote(within)} ' if within else ''}pytest {shlex.quote(item.nodeid)}"
    return f"{shown}\n\n{again}\nby hand:  {by_hand}"
