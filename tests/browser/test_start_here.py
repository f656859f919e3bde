"""The first notebook as a newcomer uses it: by hand, cell by cell, and not always in order."""

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from workbench.resources import notebooks

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab

WORDS = {
    "parameters": "seed: int",
    "bench": "bench = Workbench",
    "ask": "payment_intents.create(amount",
    "ring": "bench.phone(phone)",
    "paid": "what_to_do = {",
    "books": "bench.ledger.t_accounts",
    "trace": "bench.trace.for_",
    "exercise": "exercises.check(",
}
"""A name for each cell that the tests run → words of its source that stand there first."""
IN_ORDER = ("parameters", "bench", "ask", "ring")


class Start:
    """The notebook, its cells by name."""

    def __init__(self, lab: "Lab") -> None:
        self.lab = lab
        lab.open(notebook=notebooks()[0])
        sources = lab.sources()
        self.place = {name: next(n for n, text in enumerate(sources) if words in text) for name, words in WORDS.items()}

    def run(self, *names: str) -> None:
        for name in names:
            self.lab.run_cell(self.place[name])

    def output(self, name: str) -> "Locator":
        return self.lab.output(self.place[name])

    @property
    def handset(self) -> "Locator":
        return self.output("ring").locator("section.wb-phone")

    def press_pin(self) -> None:
        self.lab.type_pin(self.handset)
        expect(self.handset).to_contain_text("Approved")


def test_the_first_payment_by_hand(lab: "Lab"):
    start = Start(lab)
    start.run(*IN_ORDER, "paid")
    expect(start.output("paid")).to_contain_text("Enter the PIN on it, then run this cell again")
    start.press_pin()
    start.run("paid", "books", "trace", "exercise")
    expect(start.output("paid")).to_contain_text("The money is secured")
    expect(start.output("books")).to_contain_text("150.00")
    expect(start.output("trace")).to_contain_text("Monstera")


def test_cells_twice_and_out_of_order(lab: "Lab"):
    start = Start(lab)
    start.run(*IN_ORDER, "ring")
    expect(start.handset).to_have_count(1)
    expect(start.handset).to_contain_text("Pay ZMW 150.00")
    # Another payment while this one waits, and the state of one of which nobody was asked.
    start.run("ask", "paid")
    expect(start.output("paid")).to_contain_text("Run step 2: it sends the prompt")
    start.press_pin()
    start.run("ring")
    expect(start.handset).to_contain_text("Pay ZMW 150.00")
    start.press_pin()
    start.run("ring", "paid")
    expect(start.output("paid")).to_contain_text("The money is secured")
    # From the top again: another sandbox, of the same seed.
    start.run(*IN_ORDER)
    expect(start.handset).to_contain_text("Pay ZMW 150.00")
    start.press_pin()
    assert lab.run("len(bench.tables.payments)") == "1"
    lab.reopen()
    expect(start.handset).to_contain_text("Approved")
    lab.run_all()
    expect(start.handset).to_be_visible()
