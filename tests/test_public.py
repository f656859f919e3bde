"""The public names, and what importing them loads."""

import subprocess
import sys

import pytest

import workbench

NAMES = {"Money", "PaymentsClient", "Receiver", "Workbench", "exercises", "read_statement", "reconcile", "verify"}
HEAVY = {"pandas", "ipywidgets", "papermill", "matplotlib", "IPython", "nbconvert", "granian"}
SERVER_SIDE = {"falcon", "httpx", "msgspec"}


def loaded_by(*arguments: str) -> set[str]:
    """The top-level modules in a fresh interpreter after `-c` and these arguments."""
    script = "; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", arguments[0] + script, *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603  our own lines
    return set(done.stdout.splitlines()[-1].split())


def test_the_exported_names_are_these():
    assert set(workbench.__all__) == NAMES
    assert set(dir(workbench)) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_is_there(name: str):
    assert getattr(workbench, name).__name__.rpartition(".")[2] == name


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'Wrokbench'"):
        getattr(workbench, "Wrokbench")  # noqa: B009  as a person would mistype it


def test_the_package_itself_loads_nothing():
    assert not loaded_by("import sys; import workbench") & (HEAVY | SERVER_SIDE)


def test_the_exercises_load_nothing_of_the_server():
    assert not loaded_by("import sys; from workbench import exercises") & (HEAVY | SERVER_SIDE)


def test_the_workbench_loads_nothing_heavy():
    assert not loaded_by("import sys; from workbench import Workbench") & HEAVY


def test_a_payment_in_process_loads_nothing_heavy():
    script = (
        "import sys; from workbench import Workbench; bench = Workbench(seed=7); "
        "bench.client.charges.create(amount=1, channel='mtn', phone='+260961234567', idempotency_key='k'); "
        "bench.close()"
    )
    assert not loaded_by(script) & HEAVY


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_commands_help_loads_neither_server_nor_client(argument: str):
    script = "import sys; from workbench.cli import app; sys.exit = lambda *_: None; app(standalone_mode=False)"
    assert not loaded_by(script, argument) & (HEAVY | {"falcon", "httpx"})


@pytest.mark.parametrize("module", ["pytest_plugin"])
def test_no_module_that_does_not_exist_is_promised(module: str):
    assert module not in workbench.__all__
