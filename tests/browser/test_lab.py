"""The harness itself: a notebook opens and runs, a widget answers, and what must not happen is noticed."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

COUNTER = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    function render({model, el}) {
      const button = document.createElement("button");
      const show = () => { button.textContent = `pressed ${model.get("count")}`; };
      button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
      model.on("change:count", show);
      show();
      el.append(button);
    }
    export default { render };
    """
    count = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
'''


def test_a_widget_answers(lab: "Lab"):
    button = lab.show("## A counter", COUNTER).get_by_role("button")
    button.click()
    expect(button).to_have_text("pressed 1")
    assert lab.run("counter.count") == "1"
    lab.run("counter.count = 7")
    expect(button).to_have_text("pressed 7")
    assert lab.axe(button) == []
    lab.snapshot(lab.output(1), "counter")


def test_the_kernel_runs_this_checkout_and_is_live_and_each_theme_is_there(lab: "Lab"):
    lab.open(["1 + 1"])
    assert list(lab.themes()) == ["light", "dark", "dark-high-contrast"]
    assert lab.run("from workbench.render import is_live; is_live()") == "True"
    lab.run("kept = 1")
    lab.reopen()
    assert lab.run("kept") == "1"
    lab.restart()
    with pytest.raises(AssertionError, match="NameError"):
        lab.run("kept")


def test_what_is_asked_of_others_and_errors_in_the_console_are_noticed(lab: "Lab"):
    lab.open(["1 + 1"])
    lab.page.evaluate("() => fetch('http://example.org/').catch(() => console.error('no way out'))")
    with pytest.raises(AssertionError, match="other machines"):
        lab.watch.check()
    assert lab.watch.outside == ["http://example.org/"]
    lab.watch.outside.clear()
    with pytest.raises(AssertionError, match="no way out"):
        lab.watch.check()
    lab.watch.expect("no way out|ERR_NAME_NOT_RESOLVED|Content Security Policy|violates")


def test_axe_objects_to_what_is_wrong_and_a_cell_that_fails_fails_the_test(lab: "Lab"):
    lab.open(["from IPython.display import HTML; HTML('<button></button>')", "1 / 0"])
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab.run_all()
    (found,) = lab.axe(lab.output(0).locator("button"))
    assert found.startswith("button-name")
