"""The wheel, installed where nothing of this checkout is in sight: it carries the notebooks and runs them."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
"""The environment without what would let the checkout be found."""


class Installed(NamedTuple):
    wheel: Path
    bin: Path
    elsewhere: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program, *others = arguments
        return called(str(self.bin / program), *others, cwd=self.elsewhere)


def called(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  our own build and the package's own command
        arguments, cwd=cwd, env=CLEAN, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    done = called(sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(ROOT), cwd=out)
    assert done.returncode == 0, done.stderr[-2000:]
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Installed:
    if not pytestconfig.getoption("--installed"):
        pytest.skip("asked for with --installed: all that the package needs is fetched once more")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = called(sys.executable, "-m", "venv", str(elsewhere / "venv"), cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    made = Installed(wheel, elsewhere / "venv" / "bin", elsewhere)
    done = made.run("python", "-m", "pip", "install", "--quiet", "--no-input", str(wheel))
    assert done.returncode == 0, done.stderr[-2000:]
    return made


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module_notebook_and_fixture_and_no_test_nor_what_stands_beside(names: set[str]):
    for name in (
        "py.typed", "sandbox/store/schema.sql", "lab/static/phone.js", "lab/server/settings/overrides.json",
        "lab/server/extension/workbench-docs/static/entry.js",
    ):  # fmt: skip
        assert f"workbench/{name}" in names
    for folder in ("notebooks", "fixtures"):
        shown = {each.name for each in (ROOT / folder).iterdir() if not each.name.startswith(".")}
        assert shown
        held = {name for name in names if name.startswith(f"workbench/{folder}/")}
        assert held == {f"workbench/{folder}/{name}" for name in shown}
    package = ROOT / "workbench"
    modules = {f"workbench/{each.relative_to(package).as_posix()}" for each in package.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {name.partition("/")[0].rpartition(".")[2] for name in names} == {"workbench", "dist-info"}


def test_every_shipped_notebook_passes_from_another_folder(installed: Installed):
    done = installed.run("workbench", "run", "--out", "results")
    shown = sorted(each.stem for each in (ROOT / "notebooks").glob("*.ipynb"))
    assert done.returncode == 0, done.stderr
    assert f"{len(shown)} passed, 0 failed" in done.stderr
    written = installed.elsewhere / "results"
    assert sorted(each.stem for each in written.glob("*.ipynb")) == shown
    assert sorted(each.stem for each in written.glob("*.html")) == shown
    assert (written / "junit.xml").is_file()


def test_it_is_the_installed_package_that_ran_and_fits_together(installed: Installed):
    done = installed.run("python", "-c", "import workbench; print(workbench.__file__)")
    assert str(ROOT) not in done.stdout
    assert str(installed.elsewhere) in done.stdout
    done = installed.run("python", "-m", "pip", "check")
    assert done.returncode == 0, done.stdout
    for command in ("run", "serve", "gaps", "lab"):
        assert installed.run("workbench", command, "--help").returncode == 0
