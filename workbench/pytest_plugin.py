"""The plugin of pytest for a merchant's own tests: `bench`, `served_bench`, a marker, runs under every alternative.

pytest loads it wherever the package is installed, so nothing of weight is imported before a test asks for a fixture.
A fixture of your own that opens a sandbox takes `workbench_gaps` and hands it on, `Workbench(gaps=workbench_gaps)`:
then `--workbench-gaps` runs its tests under the alternatives too.
"""

import shlex
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    import httpx

    from workbench.bench import Served, Workbench
    from workbench.domain.gaps import Value

FIXTURES: Final = ("bench", "served_bench")
GAPS: Final = "workbench_gaps"
"""The fixture that holds what the run has switched; a test that needs it, directly or not, runs under alternatives."""
MARKER: Final = "workbench"
SHOWN_ROWS: Final = 20
"""Of the trace, the latest, below a test that failed."""
_ASKS: Final = "Enter PIN to approve:"

Choices = Mapping[str, "Value"]


class LeftOpen(UserWarning):
    """A test ended while a prompt waited for its customer, or with an event that had not been delivered."""


class Options(NamedTuple):
    """What the markers of a test say, the nearest one first."""

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


class Variation(NamedTuple):
    """What one run of the tests switches: nothing, one row, or a combination of many."""

    id: str
    gaps: Choices


class _Open(NamedTuple):
    """A sandbox that a test has, and what it was opened with."""

    bench: "Workbench"
    seed: int | str
    gaps: Choices


_OPEN: Final = pytest.StashKey[list[_Open]]()
_BROKEN_OFF: Final = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Make the option known."""
    parser.getgroup("workbench").addoption(
        "--workbench-gaps",
        choices=("each", "pairwise", "all"),
        help="Run each test that uses bench or served_bench as it is, and under what the real service may do instead: "
        "each alternative alone, combinations that hold every pair of them, or all of these; report on what it "
        "depends.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known; what varies the tests is there when it is asked for alone."""
    config.addinivalue_line(
        "markers",
        "workbench(seed=None, gaps={}, scenario=None, start=None): with what bench and served_bench are opened: "
        "gaps are rows of the register; scenario is what every call runs into that can be asked for it; start is the "
        "clock's first moment, an aware datetime.",
    )
    if mode := config.getoption("--workbench-gaps"):
        from workbench.errors import ExtraMissing

        try:
            varying = _Varying(config, variations(mode))
        except ExtraMissing as missing:
            raise pytest.UsageError(f"--workbench-gaps={mode}: {missing}") from None
        config.pluginmanager.register(varying, "workbench-varying")


@pytest.fixture(scope="session")
def workbench_gaps(request: pytest.FixtureRequest) -> Choices:
    """The rows of the register that this run switches: none, unless --workbench-gaps is given."""
    variation: Variation | None = getattr(request, "param", None)
    return {} if variation is None else variation.gaps


@pytest.fixture
def bench(request: pytest.FixtureRequest, workbench_gaps: Choices) -> Iterator["Workbench"]:
    """A sandbox in this process for one test; its seed is the test's node id, unless the marker names one."""
    from workbench.bench import Workbench

    options = Options.of(request.node)
    seed = _test_id(request.node) if options.seed is None else options.seed
    gaps = {**workbench_gaps, **options.gaps}
    with Workbench(seed=seed, gaps=gaps, start=options.start) as opened, _watched(request.node, opened, seed, gaps):
        yield opened


@pytest.fixture(scope="session")
def _workbench_servers() -> Iterator["_Servers"]:
    with ExitStack() as closing:
        yield _Servers(closing)


@pytest.fixture(scope="session")
def workbench_server(_workbench_servers: "_Servers", workbench_gaps: Choices) -> "Served":
    """The sandbox behind `served_bench`: its `base_url` and keys, for a backend that is started once for all tests."""
    return _workbench_servers.of(Options(gaps=workbench_gaps)).served


@pytest.fixture
def served_bench(
    request: pytest.FixtureRequest, _workbench_servers: "_Servers", workbench_gaps: Choices
) -> Iterator["Workbench"]:
    """A sandbox over HTTP on a free port of this machine, empty at the beginning of each test.

    One for all tests of a process, with one address and one pair of keys; its clock goes on from test to test. What
    the marker asks for otherwise has a sandbox of its own.
    """
    from workbench.bench import Workbench
    from workbench.errors import WorkbenchError

    options = Options.of(request.node)
    options = options._replace(gaps={**workbench_gaps, **options.gaps})
    home, served, seed = _workbench_servers.of(options)
    home.reset()
    before = _endpoints(home)
    with (
        Workbench.connect(served.base_url, served.secret_key, served.publishable_key) as opened,
        _watched(request.node, opened, seed, options.gaps),
    ):
        yield opened
    for each in _endpoints(home) - before:
        with suppress(WorkbenchError):
            home.acting.webhook_endpoints.delete(each)


def _endpoints(home: "Workbench") -> set[str]:
    return {each.id for each in home.untraced.delivery_faults()}


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
            for each in _endpoints(home):
                home.acting.webhook_endpoints.delete(each)
            self._open[key] = _Server(home, self._closing.enter_context(home.serve()), seed)
        return self._open[key]


@contextmanager
def _watched(item: pytest.Item, opened: "Workbench", seed: int | str, gaps: Choices) -> Iterator[None]:
    """Let a sandbox be shown below its test if that fails, and look what the test has left if it does not."""
    if scenario := Options.of(item).scenario:
        opened.http.event_hooks["request"].append(_asking_for(scenario))
    item.stash.setdefault(_OPEN, []).append(_Open(opened, seed, gaps))
    yield
    item.stash[_OPEN].pop()
    if not opened.http.is_closed and not item.stash.get(_BROKEN_OFF, False):
        for each in _left_open(opened):
            warnings.warn(LeftOpen(each), stacklevel=1)


def _asking_for(scenario: str) -> Callable[["httpx.Request"], None]:
    """Puts the header with a scenario on each request that may ask for it."""
    import re

    from workbench.sandbox.operations import OPERATIONS

    offered = {name for each in OPERATIONS for name in each.scenarios}
    if scenario not in offered:
        raise pytest.UsageError(f"There is no scenario {scenario!r}; there are {', '.join(sorted(offered))}.")
    paths = [re.sub(r"{\w+}", "[^/]+", each.path) for each in OPERATIONS if scenario in each.scenarios]
    taken = re.compile("|".join(paths))

    def ask(request: "httpx.Request") -> None:
        if request.method == "POST" and taken.fullmatch(request.url.path):
            request.headers.setdefault("Sandbox-Scenario", scenario)

    return ask


def _left_open(opened: "Workbench") -> Iterator[str]:
    """What a test has begun and not ended, in words."""
    from workbench.domain.wire.trace_rows import SCREEN, WEBHOOK

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
        report.sections += [("workbench", _shown(item, each)) for each in item.stash.get(_OPEN, [])]
    return report


def _shown(item: pytest.Item, opened: _Open) -> str:
    try:
        trace = opened.bench.trace
        left_out = f"({len(trace) - SHOWN_ROWS} rows before these)\n" if len(trace) > SHOWN_ROWS else ""
        shown = f"{left_out}{trace[-SHOWN_ROWS:]!r}"
    except Exception as error:  # noqa: BLE001  whatever keeps it from being read, the test's own failure is what counts
        shown = f"The trace cannot be read: {error}"
    mode = item.config.getoption("--workbench-gaps")
    options = f" --workbench-gaps={mode}" if mode else ""
    opening = {"seed": opened.seed, "gaps": {**opened.gaps}, "start": Options.of(item).start}
    said = ", ".join(f"{name}={value!r}" for name, value in opening.items() if value or name == "seed")
    by_hand = f"Workbench({said})"
    if opened.bench.is_served:
        # The same address and the same keys: the shop that runs beside it keeps its environment.
        by_hand = f"bench = {by_hand}; bench.serve({opened.bench.base_url.rpartition(':')[2]})"
    again = f"again:    pytest {shlex.quote(item.nodeid)}{options}"
    return f"{shown}\n\n{again}\nby hand:  {by_hand}"


def _variation_of(item: pytest.Item) -> Variation | None:
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get(GAPS)


def _is_settled(item: pytest.Item) -> bool:
    """Whether the test's own marker leaves nothing of a variation to switch."""
    variation, own = _variation_of(item), Options.of(item).gaps
    return variation not in (None, DEFAULT) and bool(own) and {*variation.gaps} <= {*own}


def _test_id(item: pytest.Item) -> str:
    """The node id without what varies: one test, one name and one seed, whatever is switched."""
    variation, name = _variation_of(item), item.name
    if variation is not None:
        name = name.removesuffix(f"[{variation.id}]").replace(f"-{variation.id}]", "]")
    return f"{item.parent.nodeid}::{name}" if item.parent else name


# Runs under alternatives. A test is collected once for each variation; what needs two or more switches to fail is
# found by running it again with fewer of them.

DEFAULT: Final = Variation("gaps=default", {})


def variations(mode: str) -> tuple[Variation, ...]:
    """What tests run under in a mode, the defaults first.

    Raises ExtraMissing: there is nothing that finds the combinations.
    """
    from workbench.domain.gaps import REGISTER

    alone = [
        Variation(f"{gap.name}={_short(value)}", {gap.name: value}) for gap in REGISTER for value in gap.alternatives
    ]
    if mode == "each":
        return (DEFAULT, *alone)
    pairs = [Variation(f"pairs={place:02}", gaps) for place, gaps in enumerate(combinations())]
    return (DEFAULT, *pairs) if mode == "pairwise" else (DEFAULT, *alone, *pairs)


def _short(value: "Value") -> str:
    """A value as an identifier; a list with how often each number stands there, one behind the other."""
    import itertools

    if not isinstance(value, tuple):
        return str(value)
    runs = [(number, len([*those])) for number, those in itertools.groupby(value)]
    return ",".join(f"{number}x{count}" if count > 1 else str(number) for number, count in runs)


def combinations() -> list[Choices]:
    """So few combinations of all rows that each pair of their values is in one of them; always the same.

    Raises ExtraMissing: the library that finds them is not installed.
    """
    from workbench.domain.gaps import REGISTER
    from workbench.extras import extras_named

    with extras_named():
        from covertable import criteria, make

    values = {gap.name: (gap.default, *gap.alternatives) for gap in REGISTER if gap.alternatives}
    # By their places: the library orders by the text of what it is given.
    places = {name: list(range(len(those))) for name, those in values.items()}
    # The other criterion finds as few and takes ten times as long.
    rows = make(places, criterion=criteria.simple)
    return [{name: those[row[name]] for name, those in values.items() if row[name]} for row in rows]


class _Varying:
    """Collects each test once for each variation, and reports at the end on what they depend."""

    def __init__(self, config: pytest.Config, switched: Sequence[Variation]) -> None:
        self._config = config
        self._variations = switched
        self._of: dict[str, tuple[str, Variation]] = {}
        """Node id → the test, and what it varies."""
        self._results: dict[str, dict[str, bool]] = defaultdict(dict)
        """Test → variation → whether it passed."""
        self._causes: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Test → the least that makes it fail."""
        self._refused: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if GAPS in metafunc.fixturenames:
            named = [each.id for each in self._variations]
            metafunc.parametrize(GAPS, self._variations, indirect=True, ids=named, scope="session")

    @pytest.hookimpl(trylast=True)  # after what selects by name or marker
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        self._config.hook.pytest_deselected(items=[each for each in items if _is_settled(each)])
        items[:] = [each for each in items if not _is_settled(each)]
        refused = "" if session.testsfailed else _why_nothing_varies(items)
        if refused and not hasattr(self._config, "workeroutput"):
            raise pytest.UsageError(refused)
        if refused:
            # A worker of pytest-xdist cannot end the run; the process that started it does.
            self._refused.append(refused)
            items.clear()
        for item in items:
            if variation := _variation_of(item):
                self._of[item.nodeid] = (_test_id(item), variation)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid in self._of:
            test, variation = self._of[report.nodeid]
            results = self._results[test]
            results[variation.id] = results.get(variation.id, True) and not report.failed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        result = yield
        test, variation = self._of.get(item.nodeid, ("", DEFAULT))
        is_stopping = item.session.shouldstop or item.session.shouldfail
        if variation.gaps and not is_stopping and not self._results[test].get(variation.id, True):
            self._explain(item, nextitem)
        return result

    def _explain(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Find the least of what was switched that makes the test fail, unless it is known."""
        test, variation = self._of[item.nodeid]
        if self._is_explained(test, variation):
            return
        fails = partial(_fails_under, item, nextitem)
        least = dict(variation.gaps)
        if len(least) > 1:
            # What fails by itself, or passes when it is run again, has no cause here.
            if not fails(least) or fails({}):
                return
            least = least_of(least, fails)
        self._causes[test].append(least)

    def _is_explained(self, test: str, variation: Variation) -> bool:
        return any(cause.items() <= variation.gaps.items() for cause in self._causes[test])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["workbench"] = dict(self._results), dict(self._causes), self._refused
        elif self._refused:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401  pytest-xdist has no types
        """What a worker of pytest-xdist has found."""
        found, explained, refused = getattr(node, "workeroutput", {}).get("workbench", ({}, {}, []))
        for test, results in found.items():
            self._results[test] |= results
        for test, causes in explained.items():
            self._causes[test] += [each for each in causes if each not in self._causes[test]]
        self._refused += [each for each in refused if each not in self._refused]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("what your code depends on")
        for line in [f"ERROR: {each}" for each in self._refused] or self._report():
            terminalreporter.line(line)

    def _report(self) -> Iterator[str]:
        compared = {test for test, results in self._results.items() if results.get(DEFAULT.id)}
        failing: dict[str, list[str]] = defaultdict(list)
        for test in compared:
            for cause in self._causes[test]:
                switched = " with ".join(f"{name} = {_short(value)}" for name, value in cause.items())
                failing[f"your code depends on {switched}:"].append(test)
            for variation in self._variations:
                if not self._results[test].get(variation.id, True) and not self._is_explained(test, variation):
                    failing[f"{variation.id} is explained by no choice:"].append(test)
        in_one_file = len({test.partition("::")[0] for test in self._results}) == 1

        def listed(tests: Iterable[str]) -> str:
            return ", ".join(sorted(test.partition("::")[2] if in_one_file else test for test in tests))

        for said in sorted(failing):
            yield f"{said} {listed(failing[said])}"
        if others := {*self._results} - compared:
            yield f"Nothing is said of what did not pass, or was not run, with the defaults: {listed(others)}"
        ran = {each for results in self._results.values() for each in results} - {DEFAULT.id}
        yield f"Tests: {len(compared)}; variations beside the defaults: {len(ran)}."


def _fails_under(item: pytest.Item, nextitem: pytest.Item | None, gaps: Choices) -> bool:
    """Whether a test fails, run once more with these choices and without a report."""
    from _pytest.runner import runtestprotocol

    params: dict[str, Any] = vars(item)["callspec"].params
    kept = params[GAPS]
    params[GAPS] = Variation(kept.id, gaps)
    try:
        return any(report.failed for report in runtestprotocol(item, log=False, nextitem=nextitem))
    finally:
        params[GAPS] = kept


def least_of(gaps: Choices, fails: Callable[[Choices], bool]) -> dict[str, Any]:
    """Choices without which it would not fail: halves are left out, then quarters, down to single ones."""
    kept = [*gaps.items()]
    size = len(kept)
    while size := size // 2:
        place = 0
        while place < len(kept):
            left = kept[:place] + kept[place + size :]
            if left and fails(dict(left)):
                kept = left
            else:
                place += size
    return dict(kept)


def _why_nothing_varies(items: Sequence[pytest.Item]) -> str:
    """What keeps a run from varying its tests; empty if nothing does."""
    opening = f"it must take the fixture {GAPS} and open its sandbox with it: Workbench(gaps={GAPS})"
    overriding = sorted({each for item in items for each in _overriding(item)})
    if overriding:
        return f"--workbench-gaps does not reach a fixture of your own: {opening}. {' '.join(overriding)}"
    if not any(_variation_of(item) for item in items):
        return (
            f"--workbench-gaps varies tests that use {' or '.join(FIXTURES)}, and none of those selected does. "
            f"If a fixture of yours opens the sandbox, {opening}."
        )
    return ""


def _overriding(item: pytest.Item) -> Iterator[str]:
    """Where each of our fixtures is defined anew for a test, if what is defined does not take the choices."""
    if GAPS in getattr(item, "fixturenames", ()):
        return
    info = getattr(item, "_fixtureinfo", None)
    for name in FIXTURES:
        for each in info.name2fixturedefs.get(name, ())[-1:] if info else ():
            code = each.func.__code__
            yield f"{name} is defined anew at {code.co_filename}:{code.co_firstlineno}."
