"""The plugin of pytest for a merchant's own tests: `bench`, `served_bench` and a marker.

pytest loads it wherever the package is installed, so nothing of weight is imported before a test asks for a fixture.
"""

import os
import shlex
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from workbench.alternatives import GAPS, JUNIT, switched

if TYPE_CHECKING:
    import httpx

    from workbench.bench import Served, Workbench

MARKER: Final = "workbench"
SHOWN_ROWS: Final = 20
"""The number of the trace's last rows that stand below a failed test."""
_ASKS: Final = "Enter PIN to approve:"


class LeftOpen(UserWarning):
    """A test ended while a prompt waited for its customer, or with an event that had not been delivered."""


class Options(NamedTuple):
    """The arguments of a test's markers; the nearest marker wins."""

    seed: int | str | None = None
    gaps: Mapping[str, Any] = {}
    scenario: str | None = None
    start: Any = None

    @classmethod
    def of(cls, item: pytest.Item) -> "Options":
        """Raises UsageError: an argument that the marker does not take."""
        said: dict[str, Any] = {}
        for marker in reversed([*item.iter_markers(MARKER)]):
            if marker.args or {*marker.kwargs} - {*cls._fields}:
                named = ", ".join(f"{name}=" for name in cls._fields)
                raise pytest.UsageError(f"{item.nodeid}: the marker workbench takes {named} by name, and nothing else.")
            said |= {**marker.kwargs, "gaps": {**said.get("gaps", {}), **marker.kwargs.get("gaps", {})}}
        return cls(**said)


class _Open(NamedTuple):
    """A sandbox that a test has, and what it was opened with."""

    bench: "Workbench"
    seed: int | str
    gaps: Mapping[str, Any]


_OPEN: Final = pytest.StashKey[list[_Open]]()
_BROKEN_OFF: Final = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)  # before the report of JUnit is set up
def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and write the report that `workbench each` reads."""
    config.addinivalue_line(
        "markers",
        "workbench(seed=None, gaps={}, scenario=None, start=None): with what bench and served_bench are opened: "
        "gaps are rows of the register; scenario is what every call runs into that can be asked for it; start is the "
        "clock's first moment, an aware datetime.",
    )
    if (report := os.environ.get(JUNIT)) and not config.getoption("xmlpath", None):
        config.option.xmlpath = report


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator["Workbench"]:
    """A sandbox in this process for one test; its seed is the test's node id, unless the marker names one."""
    from workbench.bench import Workbench

    options = Options.of(request.node)
    seed = request.node.nodeid if options.seed is None else options.seed
    with (
        Workbench(seed=seed, gaps=options.gaps, start=options.start) as opened,
        _watched(request.node, opened, seed, options.gaps),
    ):
        yield opened


@pytest.fixture(scope="session")
def _workbench_servers() -> Iterator["_Servers"]:
    with ExitStack() as closing:
        yield _Servers(closing)


@pytest.fixture(scope="session")
def workbench_server(_workbench_servers: "_Servers") -> "Served":
    """The sandbox behind `served_bench`: its `base_url` and keys, for a backend that is started once for all tests."""
    return _workbench_servers.of(Options()).served


@pytest.fixture
def served_bench(request: pytest.FixtureRequest, _workbench_servers: "_Servers") -> Iterator["Workbench"]:
    """A sandbox over HTTP on a free port of this machine, empty at the beginning of each test.

    One for all tests of a process, with one address and one pair of keys; its clock goes on from test to test. What
    the marker asks for otherwise has a sandbox of its own.
    """
    from workbench.bench import Workbench
    from workbench.errors import WorkbenchError

    options = Options.of(request.node)
    home, served, seed = _workbench_servers.of(options)
    home.reset()
    before = _endpoints(home)
    with (
        Workbench.connect(served.base_url, served.secret_key, served.publishable_key) as opened,
        _watched(request.node, opened, seed, options.gaps),
    ):
        yield opened
    for endpoint in _endpoints(home) - before:
        with suppress(WorkbenchError):
            home.acting.webhook_endpoints.delete(endpoint)


def _endpoints(home: "Workbench") -> set[str]:
    return {endpoint.id for endpoint in home.untraced.delivery_faults()}


class _Server(NamedTuple):
    home: "Workbench"
    served: "Served"
    seed: int | str


class _Servers:
    """The sandboxes of this process that answer on a port, one for each thing that is asked for; ended with it."""

    def __init__(self, closing: ExitStack) -> None:
        self._closing = closing
        self._open: dict[str, _Server] = {}

    def of(self, options: Options) -> _Server:
        from workbench.bench import Workbench

        key = repr((options.seed, sorted(options.gaps.items()), options.start))
        if key not in self._open:
            seed = "served_bench" if options.seed is None else options.seed
            home = self._closing.enter_context(Workbench(seed=seed, gaps=options.gaps, start=options.start))
            # Who uses it over HTTP has a receiver there, if any.
            for endpoint in _endpoints(home):
                home.acting.webhook_endpoints.delete(endpoint)
            self._open[key] = _Server(home, self._closing.enter_context(home.serve()), seed)
        return self._open[key]


@contextmanager
def _watched(item: pytest.Item, opened: "Workbench", seed: int | str, gaps: Mapping[str, Any]) -> Iterator[None]:
    """Let a sandbox be shown below its test if that fails, and look what the test has left if it does not."""
    if scenario := Options.of(item).scenario:
        opened.http.event_hooks["request"].append(_asking_for(scenario))
    item.stash.setdefault(_OPEN, []).append(_Open(opened, seed, gaps))
    yield
    item.stash[_OPEN].pop()
    if not opened.http.is_closed and not item.stash.get(_BROKEN_OFF, False):
        for message in _left_open(opened):
            warnings.warn(LeftOpen(message), stacklevel=1)


def _asking_for(scenario: str) -> Callable[["httpx.Request"], None]:
    """Puts the header with a scenario on each request that may ask for it."""
    import re

    from workbench.sandbox.operations import OPERATIONS

    offered = {name for operation in OPERATIONS for name in operation.scenarios}
    if scenario not in offered:
        raise pytest.UsageError(f"There is no scenario {scenario!r}; there are {', '.join(sorted(offered))}.")
    paths = [re.sub(r"{\w+}", "[^/]+", operation.path) for operation in OPERATIONS if scenario in operation.scenarios]
    taken = re.compile("|".join(paths))

    def ask(request: "httpx.Request") -> None:
        if request.method == "POST" and taken.fullmatch(request.url.path):
            request.headers.setdefault("Sandbox-Scenario", scenario)

    return ask


def _left_open(opened: "Workbench") -> Iterator[str]:
    """Describes what a test began and did not end."""
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
    """Show below a test that failed what happened in its sandbox, and how to have it again."""
    report = yield
    if call.excinfo is not None:
        item.stash[_BROKEN_OFF] = True
    if report.failed:
        report.sections += [("workbench", _shown(item, opened)) for opened in item.stash.get(_OPEN, [])]
    return report


def _shown(item: pytest.Item, opened: _Open) -> str:
    try:
        trace = opened.bench.trace
        left_out = f"({len(trace) - SHOWN_ROWS} rows before these)\n" if len(trace) > SHOWN_ROWS else ""
        shown = f"{left_out}{trace[-SHOWN_ROWS:]!r}"
    except Exception as error:  # noqa: BLE001  whatever keeps it from being read, the test's own failure is what counts
        shown = f"The trace cannot be read: {error}"
    opening = {"seed": opened.seed, "gaps": switched(opened.gaps), "start": Options.of(item).start}
    said = ", ".join(f"{name}={value!r}" for name, value in opening.items() if value or name == "seed")
    by_hand = f"Workbench({said})"
    if opened.bench.is_served:
        # The same address and the same keys: the shop that runs beside it keeps its environment.
        by_hand = f"bench = {by_hand}; bench.serve({opened.bench.base_url.rpartition(':')[2]})"
    within = os.environ.get(GAPS)
    again = f"again:    {f'{GAPS}={shlex.quote(within)} ' if within else ''}pytest {shlex.quote(item.nodeid)}"
    return f"{shown}\n\n{again}\nby hand:  {by_hand}"
