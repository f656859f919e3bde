"""The plugin of pytest for a merchant's own tests: `bench`, `served_bench` and a marker.

pytest loads the plugin wherever the package is installed, so slow imports wait until a test asks for a fixture.
"""

import os
import shlex
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from workbench.alternatives import GAPS, JUNIT, switched_rows

if TYPE_CHECKING:
    import httpx

    from workbench.bench import Served, Workbench

    Servers = Callable[["Options"], tuple[Workbench, Served]]

MARKER: Final = "workbench"
SHOWN_ROWS: Final = 20
"""The most rows of the trace, the latest, that are shown below a failed test."""
_ASKS: Final = "Enter PIN to approve:"
_SERVED_SEED: Final = "served_bench"


class LeftOpen(UserWarning):
    """A test ended while a prompt waited for its customer, or before an event was delivered."""


class Options(NamedTuple):
    """The arguments of a test's `workbench` markers; a marker nearer to the test overrides others."""

    seed: int | str | None = None
    gaps: Mapping[str, Any] = {}
    scenario: str | None = None
    start: Any = None

    @classmethod
    def for_test(cls, item: pytest.Item, seed: str) -> "Options":
        """A test's options, with this `seed` unless a marker names one. Raises UsageError: an unknown argument."""
        arguments: dict[str, Any] = {}
        for marker in reversed([*item.iter_markers(MARKER)]):
            if marker.args or {*marker.kwargs} - {*cls._fields}:
                names = ", ".join(f"{name}=" for name in cls._fields)
                raise pytest.UsageError(f"{item.nodeid}: the marker workbench takes {names} by name, and nothing else.")
            arguments |= {**marker.kwargs, "gaps": {**arguments.get("gaps", {}), **marker.kwargs.get("gaps", {})}}
        options = cls(**arguments)
        return options._replace(seed=seed) if options.seed is None else options

    def open(self) -> "Workbench":
        """Opens a sandbox in this process with these options."""
        from workbench.bench import Workbench

        return Workbench(seed=self.seed, gaps=self.gaps, start=self.start)


_SANDBOXES: Final = pytest.StashKey[list[tuple["Workbench", Options]]]()
"""The sandboxes of a test, each with its options."""
_BROKEN_OFF: Final = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)  # before the report of JUnit is set up
def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker, and lets pytest write the report that `workbench each` reads."""
    config.addinivalue_line(
        "markers",
        "workbench(seed=None, gaps={}, scenario=None, start=None): how bench and served_bench are opened: "
        "gaps are rows of the register; scenario happens in every call that can produce it; start is the "
        "clock's first moment, an aware datetime.",
    )
    if (report := os.environ.get(JUNIT)) and not config.getoption("xmlpath", None):
        config.option.xmlpath = report


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator["Workbench"]:
    """A sandbox in this process for one test; its seed is the test's node id, unless the marker names one."""
    options = Options.for_test(request.node, request.node.nodeid)
    with options.open() as opened, _watched(request.node, opened, options):
        yield opened


@pytest.fixture(scope="session")
def _workbench_servers() -> Iterator["Servers"]:
    """A function that returns the sandbox for some options, served on a port; equal options share a sandbox."""
    servers: dict[str, tuple[Workbench, Served]] = {}
    with ExitStack() as closing:

        def served(options: Options) -> tuple["Workbench", "Served"]:
            key = repr((options.seed, sorted(options.gaps.items()), options.start))
            if key not in servers:
                home = closing.enter_context(options.open())
                # A client over HTTP has its own receiver, if any.
                _remove(home, _endpoints(home))
                servers[key] = home, closing.enter_context(home.serve())
            return servers[key]

        yield served


@pytest.fixture(scope="session")
def workbench_server(_workbench_servers: "Servers") -> "Served":
    """The served sandbox of `served_bench`, with `base_url` and keys for a backend that starts once for all tests."""
    return _workbench_servers(Options(_SERVED_SEED))[1]


@pytest.fixture
def served_bench(request: pytest.FixtureRequest, _workbench_servers: "Servers") -> Iterator["Workbench"]:
    """A sandbox over HTTP on a free port of this machine, empty at the beginning of each test.

    The tests of a process share the sandbox, with one address and one pair of keys; its clock continues from test to
    test. Tests whose markers give other options share another sandbox.
    """
    from workbench.bench import Workbench

    options = Options.for_test(request.node, _SERVED_SEED)
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
    if options.scenario:
        opened.http.event_hooks["request"].append(_scenario_hook(options.scenario))
    item.stash.setdefault(_SANDBOXES, []).append((opened, options))
    yield
    item.stash[_SANDBOXES].pop()
    if not opened.http.is_closed and not item.stash.get(_BROKEN_OFF, False):
        for message in _left_open(opened):
            warnings.warn(LeftOpen(message), stacklevel=1)


def _scenario_hook(scenario: str) -> Callable[["httpx.Request"], None]:
    """An httpx hook that adds a scenario's header to requests that take it. Raises UsageError: unknown scenario."""
    import re

    from workbench.sandbox.operations import OPERATIONS

    offered = {name for operation in OPERATIONS for name in operation.scenarios}
    if scenario not in offered:
        raise pytest.UsageError(f"There is no scenario {scenario!r}; there are {', '.join(sorted(offered))}.")
    paths = [re.sub(r"{\w+}", "[^/]+", operation.path) for operation in OPERATIONS if scenario in operation.scenarios]
    pattern = re.compile("|".join(paths))

    def ask(request: "httpx.Request") -> None:
        if request.method == "POST" and pattern.fullmatch(request.url.path):
            request.headers.setdefault("Sandbox-Scenario", scenario)

    return ask


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
        report.sections += [("workbench", _shown(item, *opened)) for opened in item.stash.get(_SANDBOXES, [])]
    return report


def _shown(item: pytest.Item, bench: "Workbench", options: Options) -> str:
    try:
        trace = bench.trace
        left_out = f"({len(trace) - SHOWN_ROWS} rows before these)\n" if len(trace) > SHOWN_ROWS else ""
        shown = f"{left_out}{trace[-SHOWN_ROWS:]!r}"
    except Exception as error:  # noqa: BLE001  whatever keeps it from being read, the test's own failure is what counts
        shown = f"The trace cannot be read: {error}"
    opening = {"seed": options.seed, "gaps": switched_rows(options.gaps), "start": options.start}
    arguments = ", ".join(f"{name}={value!r}" for name, value in opening.items() if value or name == "seed")
    by_hand = f"Workbench({arguments})"
    if bench.is_served:
        # The same address and the same keys: the shop that runs beside the sandbox keeps its environment.
        by_hand = f"bench = {by_hand}; bench.serve({bench.base_url.rpartition(':')[2]})"
    within = os.environ.get(GAPS)
    again = f"again:    {f'{GAPS}={shlex.quote(within)} ' if within else ''}pytest {shlex.quote(item.nodeid)}"
    return f"{shown}\n\n{again}\nby hand:  {by_hand}"
