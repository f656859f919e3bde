"""The wheel, installed where nothing of this checkout is in sight: it carries the notebooks and runs them."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
