"""`workbench lab` as somebody uses it: one command, and JupyterLab is there as it was promised."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx
import nbformat
import psutil
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import apart, keep, made_of
from tests.conftest import is_true_soon
from workbench.resources import course, notebooks

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

    from tests.browser.conftest import Watch
    from tests.conftest import Bounded

START_S, STOP_S, READY_MS, AGAIN_MS = 60, 60, 60_000, 5_000
LINES = 3
FIRST = notebooks()[0].name
MADE = """from workbench import Workbench
bench = Workbench(seed=7)
pay = bench.client"""
ASKED = """intent = pay.payment_intents.create(amount=150, description="Monstera")
pay.payment_intents.confirm(intent.id, phone="+260961234567", provider="mtn").status"""
WAITED = """import time
until = time.monotonic() + 20
while pay.payment_intents.retrieve(intent.id).status != "succeeded" and time.monotonic() < until:
    time.sleep(0.02)
print("paid" if time.monotonic() < until else "not paid")"""


class Opened(NamedTuple):
    process: subprocess.Popen[bytes]
    said: str
    errors: Path
    folder: Path

    @property
    def url(self) -> str:
        found = re.search(r"http://\S+", self.said)
        assert found, self.said
        return found[0]


@pytest.fixture(scope="module")
def opened(
    tools: object,  # noqa: ARG001  skips before a server is started for nobody
    command: str,
    bounded: "Bounded",
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Opened]:
    top = tmp_path_factory.mktemp("command")
    folder = top / "mine"
    folder.mkdir()
    # A notebook of one's own, by the name of the one that begins.
    nbformat.write(made_of(["## Mine", MADE, ASKED, WAITED, "'end'"]), folder / FIRST)
    said, errors = top / "stdout.txt", top / "stderr.txt"
    with said.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(  # noqa: S603  our own command
            [command, "lab", str(folder), "--port", "0", "--no-browser"],
            env=apart(top), stdout=out, stderr=err, cwd=top,
        )  # fmt: skip
    with bounded(process):
        until = time.monotonic() + START_S
        while said.read_text().count("\n") < LINES:
            assert process.poll() is None, errors.read_text()
            assert time.monotonic() < until, f"it said no more than {said.read_text()!r}: {errors.read_text()}"
            time.sleep(0.05)
        yield Opened(process, said.read_text(), errors, folder)


@pytest.fixture
def page(context: "BrowserContext", watch: "Watch") -> "Page":  # noqa: ARG001  it watches
    return context.new_page()


def go(page: "Page", url: str) -> None:
    page.goto(url)
    page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell").first.wait_for(timeout=READY_MS)
    page.get_by_text("| Idle").wait_for(timeout=READY_MS)


def test_it_says_what_it_did_in_three_lines(opened: Opened):
    first, second, third = opened.said.splitlines()
    others = len(course()) - 1
    assert first == f"Notebooks in {opened.folder}: {others} new, 1 of your own, left as they are ({FIRST})."
    assert re.fullmatch(
        rf"JupyterLab answers at http://127\.0\.0\.1:\d+/lab/tree/{FIRST}\?token=[0-9a-f]{{48}}", second
    )
    assert third == "Ctrl-C ends it and its kernels."
    assert opened.errors.read_text().startswith("Starting JupyterLab …\n")
    assert "bench.client" in (opened.folder / FIRST).read_text()


def test_no_copy_has_been_run_a_saved_notebook_keeps_its_widgets_and_nobody_is_answered_without_the_token(
    opened: Opened,
):
    base, token = opened.url.partition("/lab/")[0], opened.url.partition("token=")[2]
    wanted = {
        "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    with httpx.Client(base_url=base, headers={"Authorization": f"token {token}"}) as http:
        cells = http.get(f"/api/contents/{[*course().values()][-1].within}").json()["content"]["cells"]
        # Who is asked to predict a run has not seen it.
        run = [cell for cell in cells if cell["cell_type"] == "code"]
        assert [each for each in run if each["outputs"] or each["execution_count"] is not None] == []
        for plugin, settings in wanted.items():
            schema = http.get(f"/lab/api/settings/{plugin}").raise_for_status().json()["schema"]["properties"]
            assert {name: schema[name]["default"] for name in settings} == settings
        assert http.get("/").headers["location"].startswith(f"/lab/tree/{FIRST}")
        # An address of the course as it was before leads to what teaches the same now.
        for old, now in (
            ("03_keys", course()["intents_and_keys"]),
            ("06_keys_tokens_and_plants", course()["tokens_and_plants"]),
        ):
            assert http.get(f"/lab/tree/{old}.ipynb").headers["location"] == f"/lab/tree/{now.within}"
            assert httpx.get(f"{base}/lab/tree/{old}.ipynb").headers["location"].startswith("/login")
    assert base.startswith("http://127.0.0.1:")
    assert httpx.get(f"{base}/api/contents").status_code == 403
    for path in ("docs", "console/jupyter.js"):
        assert httpx.get(f"{base}/{path}").status_code in {302, 403}
    listening = {each.laddr.ip for each in psutil.Process(opened.process.pid).net_connections() if not each.raddr}
    assert listening == {"127.0.0.1"}


class Docked:
    """The phone at the right of the page."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.root = page.locator("#workbench-phone .phone:visible")
        self.pin = self.root.get_by_label("PIN")

    def run(self, text: str, key: str = "Shift+Enter") -> None:
        """Run the cell of the notebook in front that has this text."""
        self._cell(text).locator(".cm-content").click()
        self.page.keyboard.press(key)

    def switch_on(self, text: str) -> None:
        """Run a cell until it has its number: JupyterLab drops a run that is asked for while it still connects."""
        for _ in range(READY_MS // AGAIN_MS):
            self.run(text)
            with suppress(AssertionError):
                prompt = self._cell(text).locator(".jp-InputPrompt")
                return expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=AGAIN_MS)
        return None

    def _cell(self, text: str) -> "Locator":
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell", has_text=text)

    def pays(self) -> None:
        """Type the PIN without a click."""
        expect(self.pin).to_be_focused(timeout=READY_MS)
        self.page.keyboard.type("1234")
        self.page.keyboard.press("Enter")
        expect(self.root).to_contain_text("Approved.")


@pytest.fixture
def docked(page: "Page", opened: Opened) -> Docked:
    go(page, opened.url)
    return Docked(page)


def sources(page: "Page") -> list[str]:
    cells = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell"
    return [each.strip() for each in page.locator(f"{cells} .jp-InputArea-editor").all_inner_texts()]


def test_the_phone_is_dark_beside_the_notebook_and_a_cell_makes_it_ring(page: "Page", docked: Docked):
    expect(docked.root).to_have_class(re.compile(r"\boff\b"))
    expect(docked.root).to_contain_text("Run the notebook's first cells to switch it on.")
    expect(docked.pin).to_have_count(0)
    left, right = page.locator(".jp-NotebookPanel").bounding_box(), docked.root.bounding_box()
    assert left["x"] + left["width"] <= right["x"]
    assert left["width"] > right["width"] > 300
    docked.run("seed=7")
    expect(docked.root).to_contain_text("No customer was asked yet.", timeout=READY_MS)
    before = sources(page)
    docked.run("create(")
    # Digits are the notebook's shortcuts for headings: they are typed where the PIN is.
    docked.pays()
    assert sources(page) == before
    expect(docked.pin).to_be_focused()
    page.keyboard.press("Escape")
    assert page.evaluate("Boolean(document.activeElement.closest('.jp-Notebook'))"), "the cell has the focus again"
    # What asks has asked by now: where it is not switched off, this fails.
    expect(page.get_by_text("Would you like to")).to_have_count(0)
    expect(page.get_by_role("tab", name="Extension Manager")).to_have_count(0)
    expect(page.get_by_role("tab", name="File Browser")).to_have_count(1)


def test_it_pays_while_a_cell_runs_and_after_the_page_was_loaded_again(page: "Page", docked: Docked):
    docked.run("seed=7")
    expect(docked.root).to_contain_text("No customer was asked yet.", timeout=READY_MS)
    docked.run("create(", "Control+Enter")
    expect(docked.pin).to_be_focused(timeout=READY_MS)
    docked.run("monotonic")
    docked.pin.focus()
    docked.pays()
    expect(page.locator(".jp-OutputArea-output", has_text="paid")).to_have_text("paid\n")
    with page.expect_response(lambda response: response.request.method == "PUT" and FIRST in response.url):
        page.keyboard.press("Control+s")
    page.reload()
    expect(docked.root).to_contain_text("Approved.", timeout=READY_MS)
    # On its way to the next cell JupyterLab takes the keyboard, at times in the middle of the PIN.
    docked.run("create(")
    docked.pays()


def test_it_says_that_its_kernel_has_ended_and_is_there_again_for_the_next(page: "Page", docked: Docked):
    docked.run("seed=7")
    docked.run("create(")
    expect(docked.pin).to_be_focused(timeout=READY_MS)
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(docked.root).to_contain_text("Its kernel has ended.", timeout=READY_MS)
    expect(docked.pin).to_have_count(0)
    page.get_by_text("| Idle").wait_for(timeout=READY_MS)
    docked.run("seed=7")
    docked.run("create(")
    docked.pays()


def test_where_it_is_narrow_the_phone_is_one_tap_away(page: "Page", opened: Opened):
    page.set_viewport_size({"width": 360, "height": 740})
    docked = Docked(page)
    go(page, opened.url)
    tab = page.locator(".lm-TabBar-tabLabel", has_text="Customer's phone")
    expect(docked.root).to_have_count(0)
    expect(page.get_by_text("| Idle")).to_be_visible()

    def is_in_front() -> bool:
        """Whether the tap has brought the phone: JupyterLab brings the notebook once more when its layout is restored.

        Where the notebook leaves, its place is laid out anew, and the phone may be gone for a moment.
        """
        tab.click()
        page.wait_for_timeout(500)
        box = None if page.locator(".jp-NotebookPanel").is_visible() else docked.root.bounding_box()
        return box is not None and box["x"] + box["width"] <= 360

    assert is_true_soon(is_in_front, within_s=30)


def test_beside_the_phone_a_notebook_keeps_half_of_a_narrow_window(page: "Page", opened: Opened):
    page.set_viewport_size({"width": 900, "height": 740})
    docked = Docked(page)
    go(page, opened.url)
    expect(docked.root).to_be_visible(timeout=READY_MS)
    expect(page.locator(".jp-DirListing")).to_be_hidden()
    assert page.locator(".jp-NotebookPanel").bounding_box()["width"] > 450


def test_the_foot_of_a_shipped_notebook_leads_on_and_back_and_opening_changes_none(page: "Page", opened: Opened):
    _, here, following = (each.name for each in notebooks()[:3])
    go(page, opened.url.replace(FIRST, here))
    foot = page.locator(".jp-Cell").last
    for way, name in (("Next", following), ("Contents", FIRST)):
        shown = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        foot = shown.locator(".jp-RenderedMarkdown", has_text="Troubleshooting")
        foot.scroll_into_view_if_needed()
        foot.locator("a", has_text=course()[following[3:-6]].title if way == "Next" else way).click()
        expect(page.locator(".lm-mod-current .lm-TabBar-tabLabel", has_text=name)).to_be_visible(timeout=READY_MS)
    # JupyterLab has the description of both kernels by now, and has written it into neither notebook.
    page.get_by_text("| Idle").wait_for(timeout=READY_MS)
    for shipped in (here, following):
        expect(page.locator(".lm-TabBar-tab", has_text=shipped)).to_be_visible()
        expect(page.locator(".lm-TabBar-tab.jp-mod-dirty", has_text=shipped)).to_have_count(0)


def test_a_tile_opens_the_documentation(page: "Page", opened: Opened):
    # Without the notebook's own address: JupyterLab brings what that names to the front, some time later.
    # What else is open there is what the tests before have left, or nothing; a narrow page folds its contents.
    page.set_viewport_size({"width": 1900, "height": 900})
    page.goto(re.sub(r"/tree/[^?]+", "", opened.url))
    page.get_by_role("button", name="New Launcher").first.click(timeout=READY_MS)
    page.locator(".jp-LauncherCard:visible").get_by_text("API docs").first.click()
    docs = page.frame_locator("#workbench-docs iframe")
    expect(docs.get_by_role("link", name="Test numbers", exact=True)).to_be_visible(timeout=READY_MS)
    docs.get_by_role("navigation", name="Operations").get_by_role(
        "link", name="POST /v1/payment_intents", exact=True
    ).click()
    operation = docs.get_by_role("region", name="Create a payment intent")
    expect(operation.get_by_role("table", name="Body", exact=True)).to_be_visible()
    docs.get_by_role("radio", name="Python").check()
    expect(operation.locator(".python")).to_contain_text("pay.payment_intents.create(")
    expect(operation.locator(".curl")).to_be_hidden()
    docs.get_by_role("link", name="Test numbers", exact=True).click()
    expect(docs.get_by_role("table").first).to_contain_text("0000001")


def test_a_picture_has_its_description_and_the_colours_of_the_theme(page: "Page", opened: Opened):
    draws = "from workbench import Workbench\nWorkbench(seed=7).pictures.state_machine()"
    nbformat.write(made_of([draws]), opened.folder / "drawn.ipynb")
    go(page, opened.url.replace(f"/lab/tree/{FIRST}", "/lab/workspaces/drawn/tree/drawn.ipynb"))
    page.get_by_text("state_machine").click()
    page.keyboard.press("Control+Enter")
    picture = page.get_by_alt_text("It begins as requires_payment_method")
    picture.scroll_into_view_if_needed()
    for is_light, paper in (("true", (255, 255, 255)), ("false", (20, 24, 31))):
        page.evaluate("(light) => { document.body.dataset.jpThemeLight = light; }", is_light)
        with Image.open(BytesIO(picture.screenshot())) as shot:
            assert shot.convert("RGB").getpixel((8, 30)) == paper


def test_it_is_the_phone_of_the_notebook_in_front_or_of_one_that_rings(page: "Page", docked: Docked, opened: Opened):
    nbformat.write(made_of([MADE.replace("7", "8"), "'nothing'"]), opened.folder / "other.ipynb")
    docked.switch_on("seed=7")
    expect(docked.root).to_contain_text("No customer was asked yet.", timeout=READY_MS)
    docked.run("create(")
    docked.pays()
    # A click on the tab of what is open already would close it.
    if not page.locator(".jp-FileBrowser").is_visible():
        page.get_by_role("tab", name="File Browser").click()
    page.locator(".jp-DirListing-item", has_text="other.ipynb").dblclick()
    expect(docked.root).to_contain_text("to switch it on", timeout=READY_MS)
    expect(docked.root).to_have_count(1)
    docked.switch_on("seed=8")
    expect(docked.root).to_contain_text("No customer was asked yet.", timeout=READY_MS)
    page.locator(".lm-TabBar-tabLabel", has_text=FIRST).click()
    expect(docked.root).to_contain_text("Approved.")


def test_the_second_cell_of_the_first_notebook_makes_the_phone_ring_and_the_guide_shows_it(
    page: "Page", opened: Opened, tmp_path: Path, request: pytest.FixtureRequest
):
    copy = opened.folder / "first.ipynb"
    copy.write_bytes(notebooks()[0].read_bytes())
    page.set_viewport_size({"width": 1360, "height": 860})
    go(page, opened.url.replace(f"/lab/tree/{FIRST}", f"/lab/workspaces/first/tree/{copy.name}"))
    docked = Docked(page)
    docked.run("seed: int")
    docked.run("bench = Workbench")
    expect(docked.root).to_contain_text("Pay K150.00", timeout=READY_MS)
    console = page.locator(".jp-OutputArea-output .wb-console")
    expect(console).to_contain_text("Monstera")
    console.scroll_into_view_if_needed()
    page.screenshot(path=tmp_path / "notebook.png", animations="disabled")
    keep(tmp_path / "notebook.png", "notebook", request.config)
    docked.pays()
    expect(console.locator(".lead .pill")).to_have_text("succeeded")


def test_ctrl_c_ends_it_and_its_kernels(opened: Opened):
    """The last of the file: nobody answers after it."""
    base, token = opened.url.partition("/lab/")[0], opened.url.partition("token=")[2]
    # Whichever tests ran before, and whatever they opened.
    httpx.post(f"{base}/api/kernels", headers={"Authorization": f"token {token}"}, timeout=START_S).raise_for_status()
    server = psutil.Process(opened.process.pid)
    kernels = server.children(recursive=True)
    assert kernels
    # A page of an earlier test that left while its channel was opened is an error of Jupyter's own.
    before = len(opened.errors.read_text())
    opened.process.send_signal(signal.SIGINT)
    assert opened.process.wait(STOP_S) == 0
    assert "ServerApp" not in opened.errors.read_text()[before:]
    assert psutil.wait_procs(kernels, timeout=STOP_S)[1] == []
