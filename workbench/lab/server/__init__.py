"""`workbench lab`: JupyterLab on a copy of the notebooks, on this machine's loopback, with a token and no way out."""

import hashlib
import json
import os
import platform
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote, urlsplit

import workbench.notebook_files  # noqa: F401  its import of nbformat takes a second less than JupyterLab's own

# isort: split
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyterlab.labapp import LabApp
from tornado.web import HTTPError, authenticated
from traitlets.config import Config

from workbench.errors import LabRefused, NotFound
from workbench.render import DOCKED
from workbench.resources import notebooks, write_whole

OURS: Final = ".workbench"
"""The folder within theirs that holds what the workbench remembers of it."""
START: Final = notebooks()[0].name
_LAYOUTS: Final = "workspaces"
_BROUGHT: Final = "brought.json"
"""Name → SHA-256 of each notebook as it was last brought: what still has it was not changed since."""
_HERE: Final = Path(__file__).parent
_ERRORS: Final = 40
"""The lowest level that is printed."""

Pages = Mapping[str, Callable[[str], tuple[str, Mapping[str, str], bytes]]]
"""Path → the content type, further headers and body that are served, given what stands for `{name}` in the path.

Raises NotFound: the name is none of those that there are.
"""


class Copies(NamedTuple):
    """The names of the shipped notebooks, by what became of each."""

    new: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    """Changed by the person, or never brought by the workbench: left as they are."""
    renamed: tuple[str, ...] = ()
    """Theirs, too, and `old name, now new name`: those that had the name of an earlier version."""

    def __str__(self) -> str:
        counted = [(self.new, "new"), (self.updated, "brought up to date"), (self.same, "as shipped")]
        parts = [f"{len(names)} {outcome}" for names, outcome in counted if names]
        if self.theirs:
            parts.append(f"{len(self.theirs)} of your own, left as they are ({', '.join(self.theirs)})")
        if self.renamed:
            parts.append(f"{len(self.renamed)} of them renamed ({'; '.join(self.renamed)})")
        return ", ".join(parts)


def bring(shipped: Iterable[Path], folder: Path, was: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Copies:
    """Copy the shipped notebooks into a folder, which is made where there is none.

    A notebook that is not there is written; one that is as it was last brought is replaced by a newer one; any other
    is left alone, whatever it is. To have one anew, delete it. `was` has, by a file's name, those that it had in
    earlier versions: what a person changed under one of them is theirs under the new one, and the rest goes. The copies
    have no outputs: who is asked to predict a run has not seen it.

    Raises LabRefused: the folder cannot be made or written.
    """
    try:
        remembered = folder / OURS / _BROUGHT
        remembered.parent.mkdir(parents=True, exist_ok=True)
        before = _read(remembered)
        became: dict[str, list[str]] = {name: [] for name in Copies._fields}
        hashes = dict(before)
        for source in sorted(shipped):
            content = _not_run(source.read_bytes())
            for old in was.get(source.name, ()):
                if _carried(folder / old, folder / source.name, hashes.pop(old, None)):
                    became["renamed"].append(f"{old}, now {source.name}")
            outcome = _outcome(folder / source.name, _hash(content), before.get(source.name))
            became[outcome].append(source.name)
            if outcome in {"new", "updated"}:
                write_whole(folder / source.name, content)
            if outcome != "theirs":
                hashes[source.name] = _hash(content)
        _renamed_in_layouts(folder, was)
        if hashes != before:
            write_whole(remembered, json.dumps(hashes, indent=1, sort_keys=True).encode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "Name another folder: workbench lab FOLDER."
        raise LabRefused(f"The notebooks cannot be written into {folder}: {reason}.", hint=hint) from None
    return Copies(**{outcome: tuple(names) for outcome, names in became.items()})


def _not_run(content: bytes) -> bytes:
    """A notebook without its outputs; what is none stays as it is."""
    try:
        notebook = json.loads(content)
        cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        return content
    for cell in cells:
        cell |= {"outputs": [], "execution_count": None}
    return f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n".encode()


def _carried(old: Path, new: Path, brought: str | None) -> bool:
    """Whether what a person made of a notebook under an older name has moved to the new one, which was free.

    What they did not change goes.
    """
    if old.is_symlink() or not old.is_file():
        return False
    if _hash(old.read_bytes()) == brought:
        old.unlink()
    elif not os.path.lexists(new):
        old.rename(new)
        return True
    return False


def _renamed_in_layouts(folder: Path, was: Mapping[str, Sequence[str]]) -> None:
    """JupyterLab opens what was open last; a notebook by its older name would be an error on the first screen."""
    gone = {old: new for new, names in was.items() for old in names if not (folder / old).exists()}
    for layout in (folder / OURS / _LAYOUTS).glob("*"):
        before = layout.read_text("utf-8")
        now = reduce(lambda text, names: text.replace(*names), gone.items(), before)
        if now != before:
            write_whole(layout, now.encode())


def _outcome(target: Path, shipped: str, brought: str | None) -> str:
    """What becomes of a shipped notebook whose content has this hash, as a field of Copies."""
    if not os.path.lexists(target):
        return "new"
    found = _hash(target.read_bytes()) if target.is_file() and not target.is_symlink() else None
    if found == shipped:
        return "same"
    return "updated" if found and found == brought else "theirs"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[str, str]:
    """What was remembered; nothing where it cannot be understood, and then every other notebook is theirs."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return {str(name): str(each) for name, each in found.items()} if isinstance(found, dict) else {}


class _Contents(AsyncLargeFileManager):
    """Reads a notebook with what JupyterLab would write into it as soon as its kernel answers: opened, it is unchanged.

    The shipped notebooks name the kernel and the language, and no version of either.
    """

    async def get(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401  the base class's arguments
        """As the base class, which describes the model."""
        model: dict[str, Any] = await super().get(*args, **kwargs)  # type: ignore[no-untyped-call]  # the base class
        metadata = (model["content"] or {}).get("metadata", {}) if model["type"] == "notebook" else {}
        if metadata.get("kernelspec", {}).get("name") == NATIVE_KERNEL_NAME and "language_info" in metadata:
            found = cast("Any", self.parent).kernel_spec_manager.get_kernel_spec(NATIVE_KERNEL_NAME)
            metadata["kernelspec"] |= {"display_name": found.display_name, "language": found.language}
            metadata["language_info"].setdefault("version", platform.python_version())
        return model


class _PageHandler(JupyterHandler):
    """One of the pages, as a served sandbox answers it; JupyterLab alone may show it in a frame."""

    def initialize(self, show: Callable[[str], tuple[str, Mapping[str, str], bytes]]) -> None:
        self._show = show

    @authenticated
    def get(self, name: str = "") -> None:
        """Answer with the page, or 404 for a file that none of the pages needs."""
        try:
            content_type, headers, body = self._show(name)
        except NotFound:
            raise HTTPError(404) from None
        self.set_header("Content-Type", content_type)
        for header, value in headers.items():
            self.set_header(header, value.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))
        self.finish(body)


def first_notebook(folder: Path) -> Path:
    """The notebook to begin with, by its name.

    Raises LabRefused: there is none.
    """
    found = sorted(folder.glob("*.ipynb"))
    if not found:
        raise LabRefused(f"There is no notebook in {folder}.")
    return folder / START if folder / START in found else found[0]


def launch(folder: Path, base_url: str, *, pages: Pages, browser: bool, tell: Callable[[str], None]) -> None:
    """Serve JupyterLab at this address of the machine until it is interrupted; its kernels end with it.

    `pages` are the documentation; `tell` is given the address to open.

    Raises LabRefused: no notebook is in the folder.
    """
    notebook = first_notebook(folder)
    workspaces = folder / OURS / _LAYOUTS
    token = secrets.token_hex(24)
    path = f"/lab/tree/{quote(notebook.name)}"
    LabApp.clear_instance()
    config = _config(folder, workspaces, base_url, token=token, path=path, browser=browser)
    server = LabApp.initialize_server(argv=[], config=config)
    # What the extension shows needs this server's own pages; elsewhere it does without.
    server.web_app.settings.setdefault("page_config_data", {})["workbenchPhone"] = "docked"
    os.environ[DOCKED] = "yes"  # its kernels inherit it
    shown = [(each.replace("{name}", "([^/]+)"), _PageHandler, {"show": show}) for each, show in pages.items()]
    server.web_app.add_handlers(".*$", shown)
    tell(f"{base_url}{path}?token={token}")
    server.start()


def _config(folder: Path, workspaces: Path, base_url: str, *, token: str, path: str, browser: bool) -> Config:
    """What is asked of the server, whatever its owner has configured otherwise."""
    at = urlsplit(base_url)
    return Config({
        "ServerApp": {
            "ip": at.hostname,
            "port": at.port,
            "port_retries": 0,
            "contents_manager_class": _Contents,
            "base_url": "/",
            "root_dir": str(folder.resolve()),
            "open_browser": browser,
            "allow_root": True,
            "answer_yes": True,
            "log_level": _ERRORS,
        },
        "IdentityProvider": {"token": token},
        "KernelManager": {"transport_encryption": "auto"},
        "LabApp": {
            "log_level": _ERRORS,
            "default_url": path,
            "open_browser": browser,
            "extra_labextensions_path": [str(_HERE / "extension")],
            "workspaces_dir": str(workspaces),
            # A notebook that is opened again shows its widgets as they were last; else it would show errors.
            "app_settings_dir": str(_HERE / "settings"),
            # Nothing is asked of other machines: no news, no newer versions, no lists of extensions.
            "news_url": None,
            "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
            "extension_manager": "readonly",
        },
    })  # fmt: skip
