"""The wheel, installed where nothing of this checkout is in sight, and the steps of the container, done without one."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import free_port
from workbench.resources import fixture

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300
MOST_PACKAGES = 20
"""In the base installation, ours among them."""
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
"""The environment without what would let the checkout be found."""


def called(*arguments: str | Path, cwd: Path) -> str:
    """What our own build, or a command of the package, prints on both streams."""
    done = subprocess.run(arguments, cwd=cwd, env=CLEAN, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603  ours
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    called(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT, cwd=out)
    (made,) = out.glob("*.whl")
    return made


SHIPPED = ("workbench/notebooks/", "workbench/fixtures/")


@pytest.mark.thorough
def test_the_wheel_holds_every_module_notebook_and_fixture_and_no_test_nor_what_stands_beside(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for name in (
        "py.typed", "sandbox/store/schema.sql", "lab/console/jupyter.js", "lab/server/settings/overrides.json",
        "docs/index.md", "lab/server/extension/workbench-docs/static/entry.js", "templates/notebook.html.j2",
    ):  # fmt: skip
        assert f"workbench/{name}" in names
    for folder in ("notebooks", "fixtures"):
        paths = {each.relative_to(ROOT / folder) for each in (ROOT / folder).rglob("*") if each.is_file()}
        shown = {each.as_posix() for each in paths if not each.parts[0].startswith(".")}
        assert shown
        held = {name for name in names if name.startswith(f"workbench/{folder}/")}
        assert held == {f"workbench/{folder}/{name}" for name in shown}
    package = ROOT / "workbench"
    for ending in (".py", ".toml"):
        there = {f"workbench/{each.relative_to(package).as_posix()}" for each in package.rglob(f"*{ending}")}
        assert {name for name in names if name.endswith(ending) and not name.startswith(SHIPPED)} == there
    assert {name.partition("/")[0].rpartition(".")[2] for name in names} == {"workbench", "dist-info"}


@pytest.mark.thorough
def test_installed_elsewhere_it_is_that_package_that_runs_every_notebook_and_fits_together(
    wheel: Path, tmp_path: Path, pytestconfig: pytest.Config
):
    if not pytestconfig.getoption("--installed"):
        pytest.skip("asked for with --installed: all that the package needs is fetched once more")
    bin_folder = tmp_path / "venv" / "bin"

    def ran(program: str, *arguments: str | Path) -> str:
        return called(bin_folder / program, *arguments, cwd=tmp_path)

    called(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    pip = ("-m", "pip", "install", "--quiet", "--no-input")
    ran("python", *pip, wheel)
    brought = ran("python", "-c", "from importlib.metadata import distributions as d; print(*{e.name for e in d()})")
    assert len({*brought.split()} - {"pip", "setuptools"}) <= MOST_PACKAGES
    assert "createCharge" in ran("workbench", "openapi")
    ran("python", *pip, f"{wheel}[all]")
    where = ran("python", "-c", "import workbench; print(workbench.__file__)")
    assert str(ROOT) not in where
    assert str(tmp_path) in where
    ran("python", "-m", "pip", "check")
    for command in ("run", "serve", "gaps", "lab"):
        ran("workbench", command, "--help")
    exported = Path(where.strip()).parent / "fixtures/statements/fnb.csv"
    assert "The shipped layout fnb fits it" in ran("workbench", "layout", exported)
    assert "read as fnb" in ran("workbench", "layout", exported, "--check")
    shown = sorted(each.stem for each in (ROOT / "notebooks").glob("*.ipynb"))
    assert f"{len(shown)} passed, 0 failed" in ran("workbench", "run", "--out", "results")
    for kind in ("ipynb", "html"):
        assert sorted(each.stem for each in (tmp_path / "results").glob(f"*.{kind}")) == shown
    assert (tmp_path / "results" / "junit.xml").is_file()


# The container. Its steps are done in folders and environments of this machine, one for each stage: no image is pulled.

STEPS = [line.split(maxsplit=1) for line in fixture("Dockerfile").read_text("utf-8").splitlines() if line[:1].isupper()]
FOLDERS = ("/src", "/wheels", "/store", "/keys")


class Stage:
    """A stage of the image as a folder: its Python is an environment, its absolute paths lie below it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.within = root
        called(sys.executable, "-m", "venv", root / "venv", cwd=ROOT)
        path = f"{root / 'venv/bin'}:{os.environ['PATH']}"
        self.environment = {**CLEAN, "PATH": path, "HOME": str(root)}

    def own(self, text: str) -> str:
        """A text of the Dockerfile with the paths of this stage."""
        return re.sub("|".join(FOLDERS), lambda found: f"{self.root}{found[0]}", text)

    def run(self, command: str) -> None:
        """As RUN does; no account is made on this machine."""
        command = self.own(re.sub(r"useradd .*? && (.*) --owner=\w+", r"\1", command))
        done = subprocess.run(  # noqa: S603  ours
            ["/bin/sh", "-ec", command],
            cwd=self.within,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def copied(arguments: str, stage: Stage, stages: dict[str, Stage]) -> None:
    """As COPY does, from this checkout or from another stage."""
    *names, target = arguments.split()
    source = stages[names.pop(0).removeprefix("--from=")] if names[0].startswith("--from=") else None
    for name in names:
        there = Path(source.own(name)) if source else ROOT / name
        to = stage.root / target[1:] if target.startswith("/") else stage.within / target
        if there.is_dir():
            shutil.copytree(there, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(there, to)


def test_the_steps_of_the_container_make_a_sandbox_that_is_healthy_and_keeps_its_store(
    tmp_path: Path, pytestconfig: pytest.Config
):
    if not pytestconfig.getoption("--installed"):
        pytest.skip("asked for with --installed: all that the package needs is fetched once more")
    stages, said = dict[str, Stage](), dict[str, str]()
    for step, arguments in STEPS:
        match step:
            case "FROM":
                stage = Stage(tmp_path / str(len(stages)))
                stages[arguments.partition(" AS ")[2]] = stage
            case "WORKDIR":
                stage.within = stage.root / arguments[1:]
                stage.within.mkdir()
            case "COPY":
                copied(arguments, stage, stages)
            case "RUN":
                stage.run(arguments)
            case _:
                said[step] = arguments
    assert (said["USER"], said["VOLUME"]) == ("workbench", "/store")
    port = free_port()

    def command(text: str) -> list[str]:
        # Here it listens on this machine's loopback alone.
        return json.loads(stage.own(text).replace("0.0.0.0", "127.0.0.1").replace("4242", port))  # noqa: S104  none here

    addresses = []
    for _ in range(2):
        serve = [*command(said["ENTRYPOINT"]), *command(said["CMD"])]
        with subprocess.Popen(serve, env=stage.environment, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ours
            addresses.append(json.loads(process.stdout.readline()))
            called(*command(said["HEALTHCHECK"].partition("CMD ")[2]), cwd=stage.root)
            process.terminate()
            assert process.wait(30) == 0
    assert addresses[0]["secret_key"] == addresses[1]["secret_key"]
    assert [each.name for each in (stage.root / "store").iterdir()] == ["sandbox.db"]
