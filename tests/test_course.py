"""What the course says: one waiting rule everywhere, the field's facts, and figures that its own output has."""

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import PaymentsClient, Workbench, resources
from workbench.domain.gaps import REGISTER

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CELLS = {each.stem[:2]: json.loads(each.read_text("utf-8"))["cells"] for each in resources.notebooks()}
GAPS = {gap.name: gap for gap in REGISTER}
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
    files = [
        each
        for each in sorted((ROOT / "workbench").rglob("*"))
        if each.suffix in {".py", ".js", ".json", ".html"} and "__pycache__" not in each.parts
    ]
    return {
        "README": README,
        **{number: "\n".join(text_of(each) for each in cells) for number, cells in CELLS.items()},
        **{str(each.relative_to(ROOT)): each.read_text("utf-8") for each in files},
    }


def test_no_text_says_that_a_prompt_rings_or_offers_a_new_prompt_before_the_rule_does():
    early = re.compile(r"a button that sends a new prompt|try again once the time is up|\"offer a new prompt\"")
    assert not {
        name: found[0] for name, text in texts().items() for each in (RINGS, early) if (found := each.search(text))
    }


RULE = {
    "README": lambda: README,
    **{f"notebook {number}": lambda number=number: prose(number) for number in ("02", "07")},
    "wait": lambda: inspect.getdoc(PaymentsClient.wait) or "",
}


def test_the_waiting_rule_is_the_same_wherever_it_stands():
    rule = r"after `prompt_timeout`,? (send )?no new prompt until ten minutes after the last( one)?\b"
    assert not [place for place, text in RULE.items() if not re.search(rule, " ".join(text().split()))]
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


SAYS: dict[str, tuple[Callable[[], str], str]] = {
    "the prompt's 300 s are assumed": (lambda: prose("02"), r"300 seconds; that is the sandbox's assumption"),
    "the age of 300 s is assumed": (
        lambda: prose("04"),
        r"300 seconds either way are allowed\. That figure is an assum",
    ),
    "the rates are assumed, when they are explained": (lambda: prose("03"), r"Both rates are the sandbox's assumption"),
    "and when they are first seen": (lambda: prose("00"), r"Both rates, .* are the sandbox's assumption"),
    "and over a month": (lambda: prose("11"), r"Both rates are the sandbox's assumption"),
    "the refused network has its name": (lambda: prose("02"), r"Zed Mobile's and is refused"),
    "in the register too": (lambda: GAPS["zed_mobile"].says, r"Zed Mobile \(98, 78, 58\)"),
    "a wallet has two limits": (lambda: prose("07"), r"two limits.*move in a day.*balance"),
    "whose message the published one is": (lambda: prose("04"), r"Svix"),
    "as its file says": (lambda: resources.fixture("standard_webhooks_vector.json").read_text("utf-8"), r"Svix"),
    "entries balance in total": (lambda: prose("03"), r"add up to the same total"),
    "another host": (lambda: prose("10"), r"charges_url=…, plants_url=…"),
    "a live key": (lambda: prose("10"), r"`sk_live`.*`allow_live=True`"),
    "no version": (lambda: prose("10"), r"`/v1/v1`"),
    "whose clock signs": (lambda: prose("04"), r"over a real port.*time of this machine"),
    "in that of the port": (lambda: prose("10"), r"over a real port is signed with the time of this machine"),
    "in the README": (lambda: README, r"signed with this machine's clock"),
    "in the register": (lambda: GAPS["signature_tolerance_s"].says, r"over a socket this machine's"),
}


def test_it_is_said():
    assert not [fact for fact, (text, wanted) in SAYS.items() if not re.search(wanted, " ".join(text().split()))]


def test_it_is_said_no_more():
    wrong = {
        "03": "every amount stands twice", "04": "the specification publishes with its secret",
        "07": "hold or move only so much a day", "10": "That is all there is to do", "11": "operator_unknown",
    }  # fmt: skip
    assert not [number for number, words in wrong.items() if words in prose(number)]


def test_the_shares_in_the_first_notebooks_prose_are_those_of_its_accounts():
    (words,) = [each for each in prose("00").split("\n\n") if "double-entry ledger" in each]
    named = set(re.findall(r"\d+\.\d\d", words))
    assert named == {"150.00", "148.50", "146.25"}
    assert all(amount in shown("00") for amount in named)


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
