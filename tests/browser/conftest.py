"""A real JupyterLab and a real Chromium, for what a person sees and touches.

One JupyterLab serves a whole session of tests from a temporary folder, with the package of this checkout in its
kernels; each test gets a page of its own. After each test nothing may have been written to the browser's console as
an error, and nothing may have been asked of any other machine.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import nbformat
import pytest
from nbformat.sign import NotebookNotary
from PIL import Image

from tests.conftest import KERNEL, free_port
from workbench.resources import fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from tests.conftest import Bounded

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "workbench/lab/server/extension"
"""As `workbench lab` has it, whose server alone docks a phone."""
HERE = "127.0.0.1"
START_S = 60
PATIENCE_MS, ACTION_MS = 60_000, 30_000
"""For what waits for a kernel, and for what a widget answers: a machine may be busy with other tests."""
MOST_TABS = 60
COLOURS, MOST_BYTES = 256, 200_000
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    # What is asked of another machine fails at once, and is counted.
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HERE}",
)  # fmt: skip
KEPT = {"HOME": "home", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython",
        "MPLCONFIGDIR": "matplotlib"}  # fmt: skip
"""What Jupyter would keep in the home of whoever runs the tests, and where it is kept instead."""
RESTARTED = "Could not restore the debugger state: Canceled future"
"""What JupyterLab 4.6 itself writes as an error when a kernel restarts."""

_numbers = itertools.count(1)

SHOP = """
from decimal import Decimal
from workbench import Workbench

bench = Workbench(seed=7)
pay = bench.client

def ask(phone="+260961234567", provider="mtn", amount="150.00"):
    intent = pay.payment_intents.create(amount=Decimal(amount), currency="ZMW", description="Monstera",
                                        payment_method_types=["mobile_money"])
    return pay.payment_intents.confirm(intent.id, phone=phone, provider=provider).id

def sell(phone="+260961234567", provider="mtn", amount="150.00"):
    made = ask(phone, provider, amount)
    bench.phone(phone).enter_pin("1234")
    return made
"""
"""The first cell of a notebook: a bench, and how its customers are asked and pay."""

PANEL = """(path) => {
  for (const widget of window.jupyterapp.shell.widgets('main')) {
    if (widget.context && widget.context.path === path && widget.sessionContext) return widget;
  }
  throw new Error('no notebook is open at ' + path);
}"""
READY = f"""async (path) => {{
  await window.jupyterapp.restored;
  const panel = ({PANEL})(path);
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}}"""
RUN_ALL = f"""async (path) => {{
  const app = window.jupyterapp;
  app.shell.activateById(({PANEL})(path).id);
  await app.commands.execute('notebook:run-all-cells');
}}"""
RUN_CELL = f"""async ([path, place]) => {{
  const app = window.jupyterapp, panel = ({PANEL})(path);
  app.shell.activateById(panel.id);
  panel.content.activeCellIndex = place;
  await app.commands.execute('notebook:run-cell');
}}"""
RUN = f"""async ([path, code]) => {{
  const kernel = ({PANEL})(path).sessionContext.session.kernel;
  const future = kernel.requestExecute({{code, store_history: false, allow_stdin: false}});
  const told = {{text: '', error: null}};
  future.onIOPub = (message) => {{
    const content = message.content;
    if (message.header.msg_type === 'stream') told.text += content.text;
    if (message.header.msg_type === 'error') told.error = content.traceback.join('\\n');
    if (content.data && content.data['text/plain']) told.text += content.data['text/plain'];
  }};
  await future.done;
  return told;
}}"""
RESTART = f"""async (path) => {{
  const context = ({PANEL})(path).sessionContext;
  await context.session.kernel.restart();
  await context.session.kernel.info;
}}"""
ERRORS = f"""(path) => ({PANEL})(path).content.model.sharedModel.cells.flatMap(
  (cell) => (cell.outputs || []).filter((output) => output.output_type === 'error').map(
    (output) => output.ename + ': ' + output.evalue))"""
SOURCES = f"(path) => ({PANEL})(path).content.model.sharedModel.cells.map((cell) => cell.source)"
COMMAND = "async ([name, options]) => { await window.jupyterapp.commands.execute(name, options); }"
AXE = "(element) => window.axe.run(element, {resultTypes: ['violations']}).then((found) => found.violations)"


class Tools(NamedTuple):
    chromium: str
    axe: Path


def _tools() -> tuple[Tools | None, str]:
    """What there is; or why it was not tried in a browser."""
    chromium = os.environ.get("WORKBENCH_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    folder = Path(os.environ.get("WORKBENCH_AXE") or os.devnull)
    places = (folder / inside / "axe.min.js" for inside in ("", "node_modules/axe-core", "axe-core"))
    axe = next((each for each in places if each.is_file()), None)
    if chromium and axe:
        return Tools(chromium, axe), ""
    missing = [] if chromium else ["Chromium (apt-get install chromium, or its path in WORKBENCH_CHROMIUM)"]
    missing += [] if axe else ["axe-core (npm install axe-core, its folder in WORKBENCH_AXE)"]
    return None, f"THE LAB WAS NOT TRIED IN A BROWSER. It needs {', and '.join(missing)}."


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip these tests, aloud, where there is no browser; with --require-browser each of them fails."""
    _, reason = _tools()
    if reason and not config.getoption("--require-browser"):
        for each in items:
            if each.path.is_relative_to(Path(__file__).parent):
                each.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def tools() -> Tools:
    found, reason = _tools()
    return found or pytest.fail(reason)


class Jupyter(NamedTuple):
    url: str
    folder: Path
    settings: Path

    def keep_widgets(self) -> None:
        """Let a saved notebook hold its widgets, as a person may choose."""
        kept = self.settings / "@jupyter-widgets" / "jupyterlab-manager" / "plugin.jupyterlab-settings"
        kept.parent.mkdir(parents=True)
        kept.write_text('{"saveState": true}')

    def end_kernels(self) -> None:
        with httpx.Client(base_url=self.url) as http:
            xsrf = {"X-XSRFToken": http.get("/tree").cookies.get("_xsrf", "")}
            for session in http.get("/api/sessions").json():
                http.delete(f"/api/sessions/{session['id']}", headers=xsrf)


def apart(folder: Path) -> dict[str, str]:
    """An environment in which Jupyter keeps all that it keeps in this folder, and kernels find this checkout."""
    kept = {name: str(folder / inside) for name, inside in KEPT.items()}
    for path in kept.values():
        Path(path).mkdir(exist_ok=True)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "JPY_", "PYTEST"))}
    return plain | kept | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="session")
def jupyter(
    tools: Tools,  # noqa: ARG001  skips before a server is started for nobody
    bounded: "Bounded",
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Jupyter]:
    """JupyterLab, started once; ended by its process id, with its kernels."""
    options = [
        "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None", "--LabApp.extension_manager=readonly",
        f"--LabApp.extra_labextensions_path={EXTENSION}",
    ]  # fmt: skip
    with served("lab", options, tmp_path_factory.mktemp("jupyter"), bounded) as found:
        yield found


@contextmanager
def served(program: str, options: Sequence[str], top: Path, bounded: "Bounded") -> Iterator[Jupyter]:
    """`jupyter PROGRAM` with these options, and with all that it keeps in the folder `top`."""
    root, log, port = top / "served", top / "log.txt", free_port()
    root.mkdir()
    command = [
        sys.executable, "-m", "jupyter", program, "--no-browser", f"--ip={HERE}", f"--port={port}",
        "--ServerApp.port_retries=0", "--allow-root", "--IdentityProvider.token=", f"--ServerApp.root_dir={root}",
        *options,
    ]  # fmt: skip
    with log.open("w") as told:
        process = subprocess.Popen(command, env=apart(top), stdout=told, stderr=told)  # noqa: S603  our own server
    found = Jupyter(f"http://{HERE}:{port}", root, top / "settings")
    with bounded(process):
        until = time.monotonic() + START_S
        while not answers(found.url):
            assert time.monotonic() < until, f"nothing answers at {found.url}: {log.read_text()}"
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        quiet(found.settings)
        yield found
        found.end_kernels()


def answers(url: str) -> bool:
    with suppress(httpx.TransportError):
        return bool(httpx.get(f"{url}/api", timeout=2))
    return False


def quiet(settings: Path) -> None:
    """No question about news, as `workbench lab` does."""
    shutil.rmtree(settings, ignore_errors=True)
    folder = settings / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    news = {"fetchNews": "false", "checkForUpdates": False}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(news))


@pytest.fixture(scope="module")
def browser(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Browser"]:
    """Chromium, for the tests of a file: Playwright's loop must not run beside the tests of others."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=ACTION_MS)
    home = {**os.environ, "HOME": str(tmp_path_factory.mktemp("browser"))}
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=tools.chromium, args=list(FLAGS), env=home)
        yield chromium
        chromium.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def folder_at() -> Iterator[Callable[[Path], str]]:
    """Serves a folder at an origin of its own, which it returns."""
    with ExitStack() as opened:

        def folder_at(folder: Path) -> str:
            server = opened.enter_context(ThreadingHTTPServer((HERE, 0), partial(_Quiet, directory=folder)))
            thread = Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            opened.callback(thread.join)
            opened.callback(server.shutdown)
            return f"http://{HERE}:{server.server_port}"

        yield folder_at


class Watch:
    """What a browser's pages did that they should not."""

    def __init__(self, context: "BrowserContext") -> None:
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.expected: list[str] = []
        self._context = context
        self._heard: dict[str, Callable[[Any], None]] = {
            "request": lambda request: self._asked(request.url),
            "console": lambda said: self.errors.append(said.text) if said.type == "error" else None,
            "weberror": lambda error: self.errors.append(f"uncaught: {error.error}"),
            "page": lambda page: page.on("websocket", lambda socket: self._asked(socket.url)),
        }
        for event, hears in self._heard.items():
            context.on(event, hears)

    def _asked(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname != HERE:
            self.outside.append(url)

    def end(self) -> None:
        for page in self._context.pages:
            page.close()
        for event, hears in self._heard.items():
            self._context.remove_listener(event, hears)

    def expect(self, pattern: str) -> None:
        self.expected.append(pattern)

    def check(self) -> None:
        unexpected = [error for error in self.errors if not any(re.search(each, error) for each in self.expected)]
        assert self.outside == [], "asked of other machines"
        assert unexpected == [], "errors in the browser's console"


def keep(shot: Path, name: str, config: pytest.Config) -> None:
    """Make a picture small enough for the README; --pictures puts it there."""
    with Image.open(shot) as whole:
        assert min(whole.size) > 300
        reduced = whole.convert("RGB").quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)
    reduced.save(shot, optimize=True)
    assert shot.stat().st_size < MOST_BYTES
    if config.getoption("--pictures"):
        shutil.copy(shot, fixture(f"{name}.png"))


class Lab:
    address = "/lab/workspaces/{name}/tree/{path}"

    def __init__(self, page: "Page", jupyter: Jupyter, watch: Watch, request: pytest.FixtureRequest) -> None:
        self.page = page
        self.jupyter = jupyter
        self.watch = watch
        self.name = re.sub(r"\W+", "-", request.node.name)[:60].strip("-") + f"-{next(_numbers)}"
        self.path = f"{self.name}.ipynb"
        self._request = request
        self.shop = SHOP

    def open(self, cells: Sequence[str] = (), *, notebook: Path | None = None) -> None:
        """Open a notebook of these cells, or a copy of one, in a workspace of its own; "## " begins Markdown."""
        if notebook:
            self.path = notebook.name
            shutil.copy(notebook, self.jupyter.folder / self.path)
            # As `workbench lab` does: else its outputs, and its widgets when the tab is opened again, are not shown.
            data = self.jupyter.settings.with_name(KEPT["JUPYTER_DATA_DIR"])
            NotebookNotary(data_dir=str(data)).sign(nbformat.read(notebook, as_version=nbformat.NO_CONVERT))
        else:
            nbformat.write(made_of(cells), self.jupyter.folder / self.path)
        self._go()

    def save(self) -> str:
        self.command("docmanager:save-all")
        return (self.jupyter.folder / self.path).read_text("utf-8")

    def reopen(self) -> None:
        """Close the tab and open the notebook again, saved before; its kernel has gone on."""
        self.save()
        self.page.goto("about:blank")
        self._go()

    def _go(self) -> None:
        self.page.goto(self.jupyter.url + self.address.format(name=self.name, path=self.path))
        self.page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=PATIENCE_MS)
        self.page.evaluate(READY, self.path)

    def sources(self) -> list[str]:
        return list(self.page.evaluate(SOURCES, self.path))

    def run_all(self) -> None:
        self.page.evaluate(RUN_ALL, self.path)
        assert self.page.evaluate(ERRORS, self.path) == []

    def run_cell(self, place: int) -> None:
        self.page.evaluate(RUN_CELL, [self.path, place])
        assert self.page.evaluate(ERRORS, self.path) == []

    def run(self, source: str) -> str:
        """Run code in the notebook's kernel, beside its cells: what it printed and its last value, as text."""
        told = self.page.evaluate(RUN, [self.path, source])
        assert told["error"] is None, told["error"]
        return str(told["text"]).strip()

    def restart(self) -> None:
        self.watch.expect(RESTARTED)
        self.page.evaluate(RESTART, self.path)

    def cell(self, place: int) -> "Locator":
        return self.page.locator(".jp-NotebookPanel .jp-Notebook .jp-Cell").nth(place)

    def output(self, place: int) -> "Locator":
        return self.cell(place).locator(".jp-Cell-outputArea")

    def command(self, name: str, **options: str) -> None:
        self.page.evaluate(COMMAND, [name, options])

    def themes(self) -> Iterator[str]:
        """Change the theme to each in turn; a short name of it."""
        for theme in THEMES:
            self.command("apputils:change-theme", theme=theme)
            self.page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached", timeout=PATIENCE_MS)
            # The Lab takes its splash away a moment after a change, and a second one within that moment takes it twice.
            self.page.locator("#jupyterlab-splash").wait_for(state="detached")
            yield theme.removeprefix("JupyterLab ").lower().replace(" ", "-")

    def reach(self, place: "Locator") -> None:
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if place.evaluate("(node) => node === document.activeElement"):
                return
        pytest.fail("the keyboard does not get there")

    def axe(self, where: "Locator | str") -> list[str]:
        place = self.page.locator(where) if isinstance(where, str) else where
        return flaws(place, self._request.getfixturevalue("tools"))


def flaws(place: "Locator", tools: Tools) -> list[str]:
    """What the accessibility checker finds in an element: each rule that is broken, and by which HTML."""
    if not place.page.evaluate("() => Boolean(window.axe)"):
        place.page.evaluate(tools.axe.read_text("utf-8"))
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for each in place.evaluate(AXE) for node in each["nodes"]
    ]  # fmt: skip


def made_of(cells: Sequence[str]) -> nbformat.NotebookNode:
    made = [
        nbformat.v4.new_markdown_cell(cell) if cell.startswith("##") else nbformat.v4.new_code_cell(cell)
        for cell in cells
    ]
    return nbformat.v4.new_notebook(cells=made, metadata=KERNEL)


@pytest.fixture(scope="module")
def context(browser: "Browser") -> Iterator["BrowserContext"]:
    """A browser's profile for the tests of a file, since a Lab that was read before opens in half the time."""
    made = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-GB")
    made.set_default_timeout(ACTION_MS)
    yield made
    made.close()


@pytest.fixture
def watch(context: "BrowserContext") -> Iterator[Watch]:
    """Fails the test, at its end, for errors in the console and for requests to other machines."""
    watching = Watch(context)
    yield watching
    watching.end()
    watching.check()


@pytest.fixture
def lab(jupyter: Jupyter, context: "BrowserContext", watch: Watch, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A page of the session's JupyterLab. After the test its kernels are ended and its settings forgotten."""
    made = Lab(context.new_page(), jupyter, watch, request)
    yield made
    made.page.goto("about:blank")  # it would complain of the kernel's end
    jupyter.end_kernels()
    quiet(jupyter.settings)


class Notebook(Lab):
    """Jupyter Notebook: the notebook alone on its page."""

    address = "/notebooks/{path}"


@pytest.fixture
def notebook(
    tools: Tools,  # noqa: ARG001  skips before a server is started for nobody
    bounded: "Bounded",
    context: "BrowserContext",
    watch: Watch,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Notebook]:
    """A page of Jupyter Notebook, which no extra brings: where it is not installed, as where Chromium is not."""
    if not find_spec("notebook"):
        ends = pytest.fail if request.config.getoption("--require-browser") else pytest.skip
        ends("THE WIDGETS WERE NOT TRIED IN JUPYTER NOTEBOOK. It needs notebook (pip install 'notebook>=7').")
    options = ["--JupyterNotebookApp.expose_app_in_browser=True"]
    with served("notebook", options, tmp_path, bounded) as found:
        made = Notebook(context.new_page(), found, watch, request)
        yield made
        made.page.goto("about:blank")
