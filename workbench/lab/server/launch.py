"""JupyterLab on somebody's folder of notebooks: on this machine's loopback, with a token, and with no way out."""

import json
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

import nbformat
from jupyterlab.labapp import LabApp
from jupyterlab_server.workspaces_handler import WorkspacesManager
from nbformat.sign import NotebookNotary
from traitlets.config import Config

from workbench.lab.server import docs
from workbench.lab.server.copies import OURS
from workbench.lab.server.layout import first_notebook, layout


class Address(Protocol):
    """Where to listen."""

    @property
    def address(self) -> str:
        """Of this machine, as a number."""

    @property
    def port(self) -> int:
        """The port."""

    @property
    def base_url(self) -> str:
        """What a browser on this machine opens."""


_EXTENSIONS: Final = Path(__file__).with_name("extension")
_SETTINGS: Final = Path(__file__).with_name("settings")
_ERRORS: Final = 40
"""The lowest level that is printed."""
_TOKEN_BYTES: Final = 24
_EVERY_HOST: Final = ".*$"


def launch(
    folder: Path,
    at: Address,
    *,
    trusted: Iterable[str],
    pages: docs.Pages,
    browser: bool,
    tell: Callable[[str], None],
) -> None:
    """Serve JupyterLab until it is interrupted; its kernels end with it.

    `trusted` names notebooks whose outputs are shown as they are, pictures and all, before they are run; `pages` are
    the documentation; `tell` is given the address to open.

    Raises LabRefused: no notebook is in the folder.
    """
    notebook = first_notebook(folder)
    workspaces = folder / OURS / "workspaces"
    _lay_out(workspaces, notebook)
    token = secrets.token_hex(_TOKEN_BYTES)
    path = f"/lab/tree/{quote(notebook.name)}"
    LabApp.clear_instance()
    server = LabApp.initialize_server(
        argv=[], config=_config(folder, workspaces, at, token=token, path=path, browser=browser)
    )
    _trust(server.contents_manager.notary, (folder / name for name in trusted))
    server.web_app.add_handlers(_EVERY_HOST, docs.handlers(pages))
    tell(f"{at.base_url}{path}?token={token}")
    server.start()


def _config(folder: Path, workspaces: Path, at: Address, *, token: str, path: str, browser: bool) -> Config:
    """What is asked of the server, whatever its owner has configured otherwise."""
    return Config({
        "ServerApp": {
            "ip": at.address,
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
            "extra_labextensions_path": [str(_EXTENSIONS)],
            "workspaces_dir": str(workspaces),
            # A notebook that is opened again shows its widgets as they were last; else it would show errors.
            "app_settings_dir": str(_SETTINGS),
            # Nothing is asked of other machines: no news, no newer versions, no lists of extensions.
            "news_url": None,
            "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
            "extension_manager": "readonly",
        },
    })  # fmt: skip


def _trust(notary: NotebookNotary, paths: Iterable[Path]) -> None:
    for path in paths:
        notary.sign(nbformat.read(path, as_version=nbformat.NO_CONVERT))


def _lay_out(workspaces: Path, notebook: Path) -> None:
    """The first layout; the one that JupyterLab has kept since is left alone."""
    if not any(workspaces.glob("*")):
        workspaces.mkdir(parents=True, exist_ok=True)
        WorkspacesManager(str(workspaces)).save("default", json.dumps(layout(notebook)))
