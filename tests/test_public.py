"""The public names, and what importing them loads."""

import subprocess
import sys

import pytest

import workbench

NAMES = {
    "CarryForward",
    "LAYOUTS",
    "LUSAKA",
    "Money",
    "PaymentsClient",
    "Preamble",
    "Receiver",
    "Traffic",
    "Workbench",
    "as_text",
    "draft_layout",
    "exercises",
    "files",
    "fixture",
    "is_live",
    "ledger_columns",
    "mask",
    "money",
    "picture",
    "read_ledger",
    "read_statement",
    "reconcile",
    "shapes",
    "table",
    "verify",
    "write_statement",
}
HEAVY = {"duckdb", "pandas", "pyarrow", "ipywidgets", "nbclient", "papermill", "matplotlib", "IPython", "nbconvert"}
SERVER_SIDE = {"httpx", "msgspec"}


def loaded_by(*arguments: str) -> set[str]:
    """The top-level modules in a fresh interpreter after `-c` and these arguments."""
    script = "; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", arguments[0] + script, *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603  our own lines
    return set(done.stdout.splitlines()[-1].split())


def test_the_exported_names_are_these_and_each_is_there():
    assert set(workbench.__all__) == NAMES
    assert set(dir(workbench)) >= NAMES
    named = {name for name in NAMES if not name.isupper()}
    assert {getattr(workbench, name).__name__.rpartition(".")[2] for name in named} == named
    assert "zanaco" in workbench.LAYOUTS
    with pytest.raises(AttributeError, match="'Wrokbench'"):
        getattr(workbench, "Wrokbench")  # noqa: B009  as a person would mistype it


CHARGE = (
    "bench = Workbench(seed=7); "
    "bench.client.charges.create(amount=1, channel='mtn', phone='+260961234567', idempotency_key='k'); "
    "bench.close()"
)
COMMAND = "import sys; from workbench.cli import app; sys.exit = lambda *_: None; app(standalone_mode=False)"


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        # The package itself, and the exercises, which need nothing of the server.
        (("import sys; import workbench; from workbench import exercises",), HEAVY | SERVER_SIDE),
        # The workbench, and a payment in process.
        ((f"import sys; from workbench import Workbench; {CHARGE}",), HEAVY | {"rich", "pygments"}),
        # The plugin, in tests that do not use it.
        (("import sys; import pytest; import workbench.pytest_plugin",), HEAVY | SERVER_SIDE),
        # The commands' help needs neither server nor client.
        ((COMMAND, "--help"), HEAVY | {"httpx"}),
    ],
    ids=["the package", "a payment", "the plugin", "help"],
)
def test_nothing_heavy_is_loaded(arguments: tuple[str, ...], unwanted: set[str]):
    assert not loaded_by(*arguments) & unwanted
