"""What the course says: one waiting rule everywhere, and figures that its own output has."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

from workbench import PaymentsClient, resources

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CELLS = {each.stem[:2]: json.loads(each.read_text("utf-8"))["cells"] for each in resources.notebooks()}


def text_of(cell: dict[str, Any]) -> str:
    """What a reader of a cell sees: its source, and its output as text."""
    outputs = [each.get("text") or each.get("data", {}).get("text/plain", []) for each in cell.get("outputs", [])]
    return "".join(cell["source"]) + "".join("".join(each) for each in outputs)


def prose(number: str) -> str:
    return "\n\n".join("".join(each["source"]) for each in CELLS[number] if each["cell_type"] == "markdown")


def shown(number: str) -> str:
    return "\n\n".join(text_of(each) for each in CELLS[number] if each["cell_type"] == "code")


def test_the_waiting_rule_is_the_same_wherever_it_stands():
    rule = re.compile(r"after `prompt_timeout`,? (send )?no new prompt until ten minutes after the last( one)?\b")
    for place in (README, prose("02"), prose("07"), inspect.getdoc(PaymentsClient.wait)):
        assert rule.search(" ".join(place.split())), place[:80]
    # Whoever speaks of a new prompt names the rule.
    assert not [number for number in ("02", "05", "07", "10", "11") if "waiting rule" not in prose(number)]
    assert "\nWAIT_S = 600 " in shown("10"), "the shop waits as the rule says"


def test_the_shares_in_the_first_notebooks_prose_are_those_of_its_accounts():
    (words,) = [each for each in prose("00").split("\n\n") if "double-entry ledger" in each]
    assert set(re.findall(r"\d+\.\d\d", words)) == {"150.00", "148.50", "146.25"}
    assert all(amount in shown("00") for amount in ("150.00", "148.50", "146.25"))


def test_a_late_success_is_counted_once_in_the_month_and_what_it_explains_its_table_has():
    (month,) = [each for each in map(text_of, CELLS["11"]) if "what became of them" in each]
    (causes,) = [each for each in map(text_of, CELLS["11"]) if "Bars, the longest first: insufficient" in each]
    outcomes = {code: int(number) for code, number in re.findall(r"^([a-z_]+) +(\d+)$", month, re.MULTILINE)}
    bars = causes.rpartition("Bars, the longest first: ")[2]
    failures = {code: int(number) for code, number in re.findall(r"([a-z_]+) (\d+)", bars.partition(". ")[0])}
    assert failures == {code: outcomes[code] for code in failures}
    assert outcomes["succeeded"] + sum(failures.values()) == 800
    (words,) = [each for each in prose("11").split("\n\n") if "About nine in ten succeed" in each]
    named = set(re.findall(r"`([a-z_]+)`", words))
    assert "late_success" in named
    assert all(re.search(rf"^{code} +\d+$", shown("11"), re.MULTILINE) for code in named)
