"""What the course says: one waiting rule everywhere, the field's facts, and figures that its own output has."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from workbench import PaymentsClient, Workbench, resources
from workbench.domain.gaps import REGISTER

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CELLS = {each.stem[:2]: json.loads(each.read_text("utf-8"))["cells"] for each in resources.notebooks()}
RINGS = re.compile(r"(?<![\w.-])(rings?|rang|ringing)(?![\w-])", re.IGNORECASE)


def text_of(cell: dict[str, Any]) -> str:
    """What a reader of a cell sees: its source, and its output as text."""
    outputs = [each.get("text") or each.get("data", {}).get("text/plain", []) for each in cell.get("outputs", [])]
    return "".join(cell["source"]) + "".join("".join(each) for each in outputs)


def prose(number: str) -> str:
    return "\n\n".join("".join(each["source"]) for each in CELLS[number] if each["cell_type"] == "markdown")


def shown(number: str) -> str:
    return "\n\n".join(text_of(each) for each in CELLS[number] if each["cell_type"] == "code")


def texts() -> dict[str, str]:
    """All that is read by people: README, notebooks, and what the package writes or shows."""
    kinds = {".py", ".js", ".json", ".html"}
    files = [each for each in (ROOT / "workbench").rglob("*") if each.suffix in kinds]
    notebooks = {number: "\n".join(map(text_of, cells)) for number, cells in CELLS.items()}
    return {"README": README, **notebooks, **{str(each.relative_to(ROOT)): each.read_text("utf-8") for each in files}}


def test_no_text_says_that_a_prompt_rings_or_offers_a_new_prompt_before_the_rule_does():
    early = re.compile(r"a button that sends a new prompt|try again once the time is up|\"offer a new prompt\"")
    assert not {name: each.pattern for name, text in texts().items() for each in (RINGS, early) if each.search(text)}


def test_the_waiting_rule_is_the_same_wherever_it_stands():
    rule = re.compile(r"after `prompt_timeout`,? (send )?no new prompt until ten minutes after the last( one)?\b")
    for place in (README, prose("02"), prose("07"), inspect.getdoc(PaymentsClient.wait)):
        assert rule.search(" ".join(place.split())), place[:80]
    # Whoever speaks of a new prompt names the rule.
    assert not [number for number in ("02", "05", "07", "10", "11") if "waiting rule" not in prose(number)]
    assert "\nWAIT_S = 600 " in shown("10"), "the shop waits as the rule says"


def test_the_rule_says_what_to_do_how_long_and_what_then():
    table = re.search(r"\*\*The waiting rule\.\*\*.*?(\n\|.*?)\n\n", prose("07"), re.DOTALL)
    assert table, "notebook 7 has the rule as a table"
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].strip().splitlines()]
    assert head == ["what you know", "do", "for how long", "and then"]
    assert all(len(row) == 4 and all(row) for row in rows)
    for state in ("requires_action", "pending", "processing", "prompt_timeout", "late_success"):
        assert any(f"`{state}`" in row[0] for row in rows), state


SAYS = {
    # Each figure that is assumed says so where it is explained, where it is first seen, and over a month.
    "02": [r"300 seconds; that is the sandbox's assumption", r"Zed Mobile's and is refused"],
    "04": [r"300 seconds either way are allowed\. That figure is an assum", r"Svix",
           r"over a real port.*time of this machine"],
    "03": [r"Both rates are the sandbox's assumption", r"add up to the same total"],
    "00": [r"Both rates, .* are the sandbox's assumption"],
    "11": [r"Both rates are the sandbox's assumption"],
    "07": [r"two limits.*move in a day.*balance"],
    "10": [r"charges_url=…, plants_url=…", r"`sk_live`.*`allow_live=True`", r"`/v1/v1`",
           r"over a real port is signed with the time of this machine"],
    "README": [r"signed with this machine's clock"],
    "zed_mobile": [r"Zed Mobile \(98, 78, 58\)"],
    "signature_tolerance_s": [r"over a socket this machine's"],
    "the published message": [r"Svix"],
}  # fmt: skip
"""What the notebooks, the README, rows of the register and a fixture say."""


def test_it_is_said():
    texts = {number: prose(number) for number in CELLS} | {gap.name: gap.says for gap in REGISTER}
    texts["README"] = README
    texts["the published message"] = resources.fixture("standard_webhooks_vector.json").read_text("utf-8")
    spaced = {name: " ".join(text.split()) for name, text in texts.items()}
    assert not [(name, words) for name, all_ in SAYS.items() for words in all_ if not re.search(words, spaced[name])]


def test_it_is_said_no_more():
    wrong = {
        "03": "every amount stands twice", "04": "the specification publishes with its secret",
        "07": "hold or move only so much a day", "10": "That is all there is to do", "11": "operator_unknown",
    }  # fmt: skip
    assert not [number for number, words in wrong.items() if words in prose(number)]


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


@pytest.mark.parametrize("ending", ["0000005", "0000010"])
def test_no_money_of_a_test_number_comes_after_the_ten_minutes(ending: str):
    """The rule's time covers what the sandbox does: an attempt that timed out has its late money by then."""
    with Workbench(seed=7) as bench:
        intent = bench.client.payment_intents.create(amount=1)
        bench.client.payment_intents.confirm(intent.id, phone=f"+26096{ending}", provider="mtn")
        bench.clock.advance(600)
        told = len(bench.receiver.events)
        bench.clock.advance(days=2)
        assert len(bench.receiver.events) == told
