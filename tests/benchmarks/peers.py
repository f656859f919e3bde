"""Other people's programs: fetched by pip and npm into a folder of their own, none of which the project needs."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

_PATIENCE_S = 600
_NPM = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error")
_PIP = ("--quiet", "--no-input", "--disable-pip-version-check")
_LOCALSTRIPE = """
import sys
from aiohttp import web
from localstripe import resources, server
# Left alone it listens on every address, and writes into a folder that all programs share.
resources.open = lambda path, mode: open("localstripe.pickle", mode)
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""


class Absent(Exception):
    """A peer is not to be had here; the message says why."""


Canned = Mapping[str, bytes]
"""What the sandbox answers to each kind of request, and its `openapi`."""


def _wiremock(programs: Path, folder: Path, port: str, canned: Canned) -> list[str]:
    for work, request in {
        "create": {"method": "POST", "urlPath": "/v1/payment_intents"},
        "retrieve": {"method": "GET", "urlPathPattern": "/v1/payment_intents/.+"},
        "list": {"method": "GET", "urlPath": "/v1/payment_intents"},
    }.items():
        response = {"status": 200, "body": canned[work].decode(), "headers": {"Content-Type": "application/json"}}
        stub = folder / "mappings" / f"{work}.json"
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(json.dumps({"request": request, "response": response}))
    (jar,) = (programs / "wiremock" / "build").glob("*.jar")
    at = ["--port", port, "--bind-address", "127.0.0.1", "--root-dir", str(folder)]
    return ["java", "-jar", str(jar), *at, "--no-request-journal", "--disable-banner"]


def _mockoon(programs: Path, folder: Path, port: str, canned: Canned) -> list[str]:
    at = ["--port", port, "--hostname", "127.0.0.1", "--data", _described(folder, canned)]
    return [str(programs / ".bin" / "mockoon-cli"), "start", *at, "--disable-log-to-file", "--disable-admin-api"]


def _prism(programs: Path, folder: Path, port: str, canned: Canned) -> list[str]:
    at = ["--port", port, "--host", "127.0.0.1", "--verboseLevel", "error"]
    return [str(programs / ".bin" / "prism"), "mock", *at, _described(folder, canned)]


def _described(folder: Path, canned: Canned) -> str:
    description = folder / "openapi.json"
    description.write_bytes(canned["openapi"])
    return str(description)


class Peer(NamedTuple):
    """A package of `pip` or `npm`, pinned; what else of this machine it needs; and how it serves, if it does."""

    installer: str
    package: str
    version: str
    needs: tuple[str, ...] = ()
    command: Callable[[Path, Path, str, Canned], list[str]] | None = None
    """From its programs, a folder for its files, a port and what the sandbox answers."""
    beside: tuple[str, ...] = ()
    """What it runs with, in the versions that the sandbox has unless another one stands here."""


APP, LOCALSTRIPE, MOCKOON, PRISM, DATACOMPY = "app by hand", "localstripe", "Mockoon", "Prism", "datacompy"
PEERS = {
    APP: Peer("pip", "falcon", "4.4.0", (), lambda programs, folder, port, _canned: [
        str(programs / "python"), str(Path(__file__).with_name("app.py")), port, str(folder / "store.db"),
    ], ("granian==2.8.7", "msgspec")),
    "WireMock": Peer("npm", "wiremock", "3.13.2", ("npm", "java"), _wiremock),
    MOCKOON: Peer("npm", "@mockoon/cli", "9.9.0", ("npm", "node"), _mockoon),
    PRISM: Peer("npm", "@stoplight/prism-cli", "5.14.2", ("npm", "node"), _prism),
    LOCALSTRIPE: Peer("pip", "localstripe", "1.15.10", (), lambda programs, _folder, port, _canned: [
        str(programs / "python"), "-c", _LOCALSTRIPE, port,
    ]),
    DATACOMPY: Peer("pip", "datacompy", "1.1.0"),
}  # fmt: skip


def installed(who: str, folder: Path | None) -> Path:
    """Where a peer's programs are, set up below `folder` unless they are there. Raises Absent."""
    peer = PEERS[who]
    if folder is None:
        raise Absent("left out")
    if lacking := [each for each in peer.needs if not shutil.which(each)]:
        raise Absent(f"{lacking[0]} is not on this machine")
    home = folder / who
    python = str(home / "bin" / "python")
    beside = [each if "==" in each else f"{each}=={version(each)}" for each in peer.beside]
    steps = {
        "npm": [["npm", "install", "--prefix", str(home), *_NPM, f"{peer.package}@{peer.version}"]],
        "pip": [
            [sys.executable, "-m", "venv", str(home)],
            [python, "-m", "pip", "install", *_PIP, f"{peer.package}=={peer.version}", *beside],
        ],
    }
    if not home.exists():
        try:
            for step in steps[peer.installer]:
                subprocess.run(step, check=True, capture_output=True, timeout=_PATIENCE_S)  # noqa: S603  a pinned package
        except (OSError, subprocess.SubprocessError):
            shutil.rmtree(home, ignore_errors=True)
            raise Absent(f"{peer.installer} could not install {peer.package} {peer.version}") from None
    return home / {"npm": "node_modules", "pip": "bin"}[peer.installer]
