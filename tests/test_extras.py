"""The base installation takes a payment; what it leaves out says which extra brings it."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from workbench.extras import MODULES, how_to_install

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAYS = """
from decimal import Decimal
from workbench import Workbench
from workbench.certify import certify
with Workbench(seed=7) as bench:
    intents = bench.client.payment_intents
    intent = intents.create(amount=Decimal(150), currency="ZMW", payment_method_types=["mobile_money"])
    intents.confirm(intent.id, phone="+260961234567", provider="mtn")
    bench.phone("+260961234567").enter_pin("1234")
    with bench.serve() as served:
        pass
    pages = [bench.http.get(path).status_code for path in ("/docs", "/docs/assets/docs.css")]
    print(intents.retrieve(intent.id).status, bench.receiver.events[-1].type, *pages)
"""
LACKING = {
    "bench.ledger": "analyst", "bench.tables": "analyst", "bench.simulate(payments=1)": "analyst",
    "bench.console()": "lab",
    "__import__('workbench').reconcile": "analyst",
    "__import__('workbench').read_statement": "analyst",
}  # fmt: skip


def names(requirements: list[str]) -> set[str]:
    return {each.partition(">")[0] for each in requirements}


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Code where no module of any extra is found."""
    modules = [module for those in MODULES.values() for module in those]
    without = f"import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
    line = [sys.executable, "-c", without + code]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603  ours


@pytest.mark.thorough
def test_without_any_extra_a_payment_is_taken_and_its_webhooks_and_the_documentation_arrive():
    assert run(PAYS).stdout.split() == ["succeeded", "payment_intent.succeeded", "200", "200"]


def test_what_lacks_its_extra_says_which():
    asked = f"""
import json
from workbench import Workbench
from workbench.errors import ExtraMissing
bench, said = Workbench(seed=7), {{}}
for each in {list(LACKING)!r}:
    try:
        eval(each)
    except ExtraMissing as missing:
        said[each] = missing.hint
bench.close()
print(json.dumps(said))
"""
    said: Mapping[str, str] = json.loads(run(asked).stdout)
    assert said == {each: how_to_install(extra) for each, extra in LACKING.items()}
    assert "pip install '.[lab]' (" in said["bench.console()"], "the package is in no registry"


@pytest.mark.parametrize(
    ("line", "extra"),
    [("run", "lab"), ("lab", "lab"), ("layout x.csv", "analyst"), ("simulate --payments 1 --out x", "analyst")],
    ids=["run", "lab", "layout", "simulate"],
)
def test_a_command_that_lacks_its_extra_says_which_in_one_line(line: str, extra: str):
    code = f"import os; from workbench.cli import app; os.chdir({str(ROOT)!r}); app({line.split()!r})"
    assert run(code).stderr.splitlines()[-1].endswith(how_to_install(extra))


def test_each_module_of_an_extra_is_brought_by_the_smallest_extra_that_has_it():
    brought = packages_distributions()
    extras = {name: names(given) for name, given in PROJECT["optional-dependencies"].items()}
    alone = {"lab": extras["lab"] - extras["analyst"]}
    base = names(PROJECT["dependencies"])
    for extra, modules in MODULES.items():
        for module in set(modules) & set(brought):
            assert not set(brought[module]) & base
            # A notebook's kernel and server come with what is asked for.
            if module not in {"IPython", "jupyterlab_server"}:
                assert set(brought[module]) & alone.get(extra, extras[extra]), module
