"""`workbench lab`: JupyterLab with a copy of the notebooks, on this machine only, with a token, and offline."""

import hashlib
import json
import os
import platform
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

import workbench.notebook_files  # noqa: F401  its import of nbformat takes a second less than JupyterLab's own

# isort: split
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.base.handlers import JupyterHandler
from jupyterlab.labapp import LabApp
from tornado.web import HTTPError, authenticated
from traitlets.config import Config

from workbench.errors import LabRefused, NotFound
from workbench.resources import course, former_names, write_whole
from workbench.text.render import DOCKED

OURS: Final = ".workbench"
"""The subfolder of the learner's folder with the workbench's own files."""
START: Final = next(iter(course().values())).name + ".ipynb"
EARLIER: Final = "earlier"
"""The subfolder of the learner's folder for changed notebooks whose names are no longer in the course."""
_LAYOUTS: Final = "workspaces"
_BROUGHT: Final = "brought.json"
"""The file with name → SHA-256 of each notebook as last copied; a notebook that still has this hash is unchanged."""
_FOLDER: Final = Path(__file__).parent
_ERRORS: Final = 40
"""The lowest level of log messages that are printed."""

Pages = Mapping[str, Callable[[str], tuple[str, Mapping[str, str], bytes]]]
"""Path → a function from the text for `{name}` in the path to (content type, further headers, body).

The function raises NotFound: no page has this name.
"""
FormerNames = Mapping[str, Sequence[str]]
"""Path of a notebook within the notebooks' folder → names of the files that it replaces."""


class Copies(NamedTuple):
    """Paths of the shipped notebooks within the learner's folder, grouped by the outcome of copying."""

    new: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    """Notebooks that the learner changed, or that the workbench never copied: they stay unchanged."""
    kept: tuple[str, ...] = ()
    """Names of notebooks of an earlier course that the learner had changed; they are now in the folder `earlier`."""

    def __str__(self) -> str:
        counted = [(self.new, "new"), (self.updated, "brought up to date"), (self.same, "as shipped")]
        parts = [f"{len(names)} {outcome}" for names, outcome in counted if names]
        if self.theirs:
            parts.append(f"{len(self.theirs)} of your own, left as they are ({', '.join(self.theirs)})")
        if self.kept:
            parts.append(
                f"{len(self.kept)} that you changed in an earlier course, now in {EARLIER}/ ({', '.join(self.kept)})"
            )
        return ", ".join(parts)


def bring(shipped: Mapping[str, Path], folder: Path, former: FormerNames = MappingProxyType({})) -> Copies:
    """Copies the shipped notebooks (path within the folder → file) into the folder, creating it if necessary.

    Writes a missing notebook, and replaces one that is unchanged since it was last copied. Leaves all other files
    unchanged: to get the original again, delete your copy. Files with `former` names are moved to `earlier` if the
    learner changed them, else deleted. The copies have no outputs: nobody sees a result before predicting it.

    Raises LabRefused: the folder cannot be created or written.
    """
    try:
        hashes_file = folder / OURS / _BROUGHT
        hashes_file.parent.mkdir(parents=True, exist_ok=True)
        before = _read(hashes_file)
        by_outcome: dict[str, list[str]] = {outcome: [] for outcome in Copies._fields}
        hashes = dict(before)
        for within, source in sorted(shipped.items()):
            content = _to_open(source.read_bytes())
            by_outcome["kept"] += [old for old in former.get(within, ()) if _retire(folder, old, hashes.pop(old, None))]
            outcome = _outcome(folder / within, _hash(content), before.get(within))
            by_outcome[outcome].append(within)
            if outcome in {"new", "updated"}:
                (folder / within).parent.mkdir(exist_ok=True)
                write_whole(folder / within, content)
            if outcome != "theirs":
                hashes[within] = _hash(content)
        _renamed_in_layouts(folder, former)
        if hashes != before:
            write_whole(hashes_file, json.dumps(hashes, indent=1, sort_keys=True).encode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "Name another folder: workbench lab FOLDER."
        raise LabRefused(f"The notebooks cannot be written into {folder}: {reason}.", hint=hint) from None
    return Copies(**{outcome: tuple(names) for outcome, names in by_outcome.items()})


def _to_open(content: bytes) -> bytes:
    """A notebook without outputs, and with the metadata that JupyterLab would add, so that opening it changes nothing.

    The shipped notebooks name kernel and language, without versions. Content that is no notebook stays unchanged.
    """
    try:
        notebook = json.loads(content)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        metadata = notebook["metadata"]
        kernel = KernelSpecManager().get_kernel_spec(metadata["kernelspec"]["name"])
        metadata["kernelspec"] |= {"display_name": kernel.display_name, "language": kernel.language}
        metadata["language_info"]["version"] = platform.python_version()
    except (ValueError, KeyError, TypeError):
        return content
    for cell in cells:
        cell |= {"outputs": [], "execution_count": None}
    return f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n".encode()


def _retire(folder: Path, name: str, brought: str | None) -> bool:
    """Moves a notebook of an earlier course to `earlier` if it was changed, else deletes it; True if it was moved.

    It was changed if its hash is not `brought`, None if unknown. A link, and a notebook whose name `earlier` has, stay.
    """
    old, kept = folder / name, folder / EARLIER / name
    if old.is_symlink() or not old.is_file() or os.path.lexists(kept):
        return False
    if _hash(old.read_bytes()) == brought:
        old.unlink()
        return False
    kept.parent.mkdir(exist_ok=True)
    old.rename(kept)
    return True


def _replaced(folder: Path, former: FormerNames) -> dict[str, str]:
    """Name of a notebook of an earlier course that is gone from `folder` → the notebook that replaces it."""
    return {old: new for new, names in former.items() for old in names if not (folder / old).exists()}


def _renamed_in_layouts(folder: Path, former: FormerNames) -> None:
    """Renames replaced notebooks in JupyterLab's saved layouts, which would otherwise cause an error at the start."""
    replaced = _replaced(folder, former)
    for layout in (folder / OURS / _LAYOUTS).glob("*"):
        before = layout.read_text("utf-8")
        now = reduce(lambda text, names: text.replace(*names), replaced.items(), before)
        if now != before:
            write_whole(layout, now.encode())


def _outcome(target: Path, shipped: str, brought: str | None) -> str:
    """The field of Copies to which the notebook at `target` belongs: `new`, `same`, `updated` or `theirs`.

    `new` does not exist, `same` is as shipped, `updated` is unchanged since it was copied, and `theirs` is any other.
    `shipped` is the shipped notebook's hash, `brought` the hash of the last copy; None if there was none.
    """
    if not os.path.lexists(target):
        return "new"
    current = _hash(target.read_bytes()) if target.is_file() and not target.is_symlink() else None
    if current == shipped:
        return "same"
    return "updated" if current and current == brought else "theirs"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[str, str]:
    """Name → stored hash; empty if the file is missing or malformed: then all notebooks count as the learner's."""
    try:
        hashes = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return {str(name): str(value) for name, value in hashes.items()} if isinstance(hashes, dict) else {}


class _PageHandler(JupyterHandler):
    """Serves a page as a served sandbox does; only JupyterLab may show it in a frame."""

    def initialize(self, show: Callable[[str], tuple[str, Mapping[str, str], bytes]]) -> None:
        self._show = show

    @authenticated
    def get(self, name: str = "") -> None:
        """Responds with the page, or 404 if there is no such page."""
        try:
            content_type, headers, body = self._show(name)
        except NotFound:
            raise HTTPError(404) from None
        self.set_header("Content-Type", content_type)
        for header, value in headers.items():
            self.set_header(header, value.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))
        self.finish(body)


class _FormerHandler(JupyterHandler):
    """Redirects from a notebook of an earlier course to the one that replaces it, for browsers with the token."""

    def initialize(self, url: str) -> None:
        self._url = url

    @authenticated
    def get(self) -> None:
        """Redirects to the notebook that replaces the requested one."""
        self.redirect(self._url)


def launch(folder: Path, base_url: str, *, pages: Pages, browser: bool, tell: Callable[[str], None]) -> None:
    """Serves JupyterLab at this address until it is interrupted, which also ends its kernels.

    JupyterLab opens the course's first notebook, or else the folder's first by name; with `browser`, it opens a
    browser. `pages` has the documentation; `tell` is called with the address to open.

    Raises LabRefused: no notebook is in the folder.
    """
    notebooks = sorted(folder.glob("*.ipynb"))
    if not notebooks:
        raise LabRefused(f"There is no notebook in {folder}.")
    notebook = folder / START if folder / START in notebooks else notebooks[0]
    workspaces = folder / OURS / _LAYOUTS
    token = secrets.token_hex(24)
    path = f"/lab/tree/{quote(notebook.name)}"
    LabApp.clear_instance()
    config = _config(folder, workspaces, base_url, token=token, path=path, browser=browser)
    server = LabApp.initialize_server(argv=[], config=config)
    # The extension shows a phone only with this server's own pages.
    server.web_app.settings.setdefault("page_config_data", {})["workbenchPhone"] = "docked"
    os.environ[DOCKED] = "yes"  # its kernels inherit it
    former = [
        (f"/lab/tree/{re.escape(old)}", _FormerHandler, {"url": f"/lab/tree/{quote(new)}"})
        for old, new in _replaced(folder, former_names()).items()
    ]
    shown = [(address.replace("{name}", "([^/]+)"), _PageHandler, {"show": show}) for address, show in pages.items()]
    server.web_app.add_handlers(".*$", [*former, *shown])
    # Tornado puts these handlers second to last, and JupyterLab's own take every address below /lab/tree.
    rules = server.web_app.default_router.rules
    rules.insert(0, rules.pop(-2))
    tell(f"{base_url}{path}?token={token}")
    server.start()


def _config(folder: Path, workspaces: Path, base_url: str, *, token: str, path: str, browser: bool) -> Config:
    """The server's settings, which override the user's Jupyter configuration."""
    at = urlsplit(base_url)
    return Config({
        "ServerApp": {
            "ip": at.hostname,
            "port": at.port,
            "port_retries": 0,
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
            "extra_labextensions_path": [str(_FOLDER / "extension")],
            "workspaces_dir": str(workspaces),
            # A reopened notebook shows its widgets in their last state; otherwise it would show errors.
            "app_settings_dir": str(_FOLDER / "settings"),
            # JupyterLab asks other machines for nothing: no news, no newer versions, no lists of extensions.
            "news_url": None,
            "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
            "extension_manager": "readonly",
        },
    })  # fmt: skip
