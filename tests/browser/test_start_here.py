"""The first notebook as a newcomer uses it: by hand, cell by cell, and not always in order."""

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from workbench.lab.exercises import EXERCISES
from workbench.resources import notebooks

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

WORDS = {
    "parameters": "seed: int",
    "bench": "bench = Workbench",
    "ring": "bench.phone(phone)",
    "paid": "what_to_do = {",
    "books": "bench.ledger.t_accounts",
    "trace": "bench.trace.for_",
    "exercise": "exercises.check(",
    "report": "exercises.report(",
}
"""A name for each cell that the tests run → words of its source that stand there first."""


def test_the_first_payment_by_hand_and_what_is_done_is_remembered_by_another_kernel(lab: "Lab"):
    lab.page.set_viewport_size({"width": 1360, "height": 860})
    lab.open(notebook=notebooks()[0])
    sources = lab.sources()
    place = {name: next(n for n, text in enumerate(sources) if words in text) for name, words in WORDS.items()}
    phone = lab.output(place["bench"]).get_by_role("region", name="Customer's phone")

    def run(*names: str) -> None:
        for name in names:
            lab.run_cell(place[name])

    def shows(name: str, words: str) -> None:
        expect(lab.output(place[name])).to_contain_text(words)

    run("parameters", "bench")
    expect(phone).to_contain_text("Pay K150.00")
    run("ring", "paid", "exercise")
    shows("ring", "Pay K150.00")
    shows("paid", "Enter the PIN on it, then run this cell again")
    shows("exercise", "Not done yet")
    phone.get_by_label("PIN").click()
    lab.page.keyboard.type("1234")
    lab.page.keyboard.press("Enter")
    expect(phone).to_contain_text("Approved")
    # What a cell has left is of its moment.
    shows("ring", "Pay K150.00")
    run("paid", "books", "trace")
    shows("paid", "The money is secured")
    shows("books", "150.00")
    shows("trace", "Monstera")
    lab.run(EXERCISES[0].solution)
    run("exercise")
    shows("exercise", "Done: The Fern is paid")
    lab.restart()
    lab.run_all()
    shows("paid", "A prompt waits on the phone.")
    shows("report", "✓ done")
