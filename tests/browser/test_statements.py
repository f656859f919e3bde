"""The table of ipywidgets in which an analyst decides about breaks."""

import csv
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

TYPED_AHEAD_MS = 1_100
"""Within a second a browser takes letters for one word that is looked for in a dropdown."""
READ = """
from workbench.analysis.reconcile import reconcile
from workbench.analysis.statements import LAYOUTS, read_ledger, read_statement
from workbench.resources import fixture
"""
RECONCILE = f"""{READ}
shop = LAYOUTS["zanaco"].__class__(
    name="shop", dates=("%d/%m/%Y %H:%M",), accounts={{"MTN wallet": "operator:mtn:float", "Bank": "bank:settlement"}},
    columns={{"moment": "Paid at", "account": "Where", "key": "Reference", "amount": "Amount", "fee": "Fee"}},
)
ours = read_ledger(fixture("books/books.csv"), layout=shop)
bank = read_statement(fixture("statements/zanaco.csv"))
"""
DECIDE = 'result = reconcile(ours, [bank]); result.decide("decisions.csv", who="Zoë")'


def test_what_is_decided_in_the_table_is_in_the_file_and_in_the_next_run(lab: "Lab"):
    lab.open([RECONCILE, DECIDE])
    lab.run_all()
    form = lab.output(1)
    one, other = lab.run("print(*result.suggestions['breaks'].iloc[0].split('; '))").split()
    part, keys = form.get_by_label("to do"), lab.page.keyboard
    part.focus()
    row = form.locator(".widget-hbox", has_text=one)
    for key, chosen, is_shown in (("ArrowDown", "missing_in_ledger: 13", 0), ("ArrowUp", "missing_in_statement: 3", 1)):
        keys.press(key)
        expect(part).to_have_value(chosen)
        expect(row).to_have_count(is_shown)
    # In the notebook `a` and `b` add a cell, `m` makes Markdown of this one, and an arrow leaves it.
    row.get_by_label("verdict").focus()
    for key, chosen in (("a", "accept"), ("ArrowDown", "write off"), ("b", "write off"), ("m", "match")):
        if key in "bm":
            lab.page.wait_for_timeout(TYPED_AHEAD_MS)
        keys.press(key)
        expect(row.get_by_label("verdict")).to_have_value(chosen)
    assert lab.sources() == [RECONCILE, DECIDE]
    partner = row.get_by_label("partner")
    row.get_by_label("why").fill("one slip of the fingers")
    offered = row.locator("datalist option").first.get_attribute("value") or ""
    assert offered.startswith(f"{other} ")
    partner.fill(offered)
    form.get_by_role("button", name="Write decisions").click()
    expect(form).to_contain_text("1 written to decisions.csv.")
    (kept,) = csv.DictReader((lab.jupyter.folder / "decisions.csv").read_text("utf-8-sig").splitlines())
    assert [kept[name] for name in ("break", "verdict", "partner", "who", "why")] == [
        one, "match", other, "Zoë", "one slip of the fingers",
    ]  # fmt: skip
    again = 'again = reconcile(ours, [bank], decisions="decisions.csv"); print(again.sign_off)'
    assert "Zoë (2 matched)" in lab.run(again)
    assert lab.axe(form) == []
