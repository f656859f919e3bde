"""A question before a run and a check after it, as somebody meets them who uses the keyboard alone."""

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

CELLS = (
    """from workbench import Workbench, exercises
from workbench.lab.exercises import judging

bench, judging.LIMIT_S = Workbench(seed=7), 1""",
    'exercises.predict("refreshed_twice")',
    'exercises.compare("refreshed_twice", 401)',
    """def may_leave(pay, intent_id):
    while True:
        pass
    return True


exercises.check("only_when_paid", bench, may_leave)""",
)


def test_a_question_is_answered_by_the_keyboard_and_a_loop_without_end_is_stopped(lab: "Lab"):
    lab.open(CELLS)
    lab.run_cell(0)
    lab.run_cell(1)
    question = lab.output(1)
    expect(question).to_contain_text("Predict first. You use the same refresh token a second time.")
    expect(question.get_by_role("button")).to_have_count(3)
    question.get_by_role("button").first.focus()
    lab.reach(question.get_by_role("button", name="c) 200, with another pair"))
    lab.page.keyboard.press("Space")
    expect(question.get_by_role("status")).to_have_text("Your choice: c")
    assert lab.axe(question) == []
    lab.run_cell(2)
    expect(lab.output(2)).to_contain_text("✗ You predicted c) 200, with another pair. It is a) 401.")
    lab.run_cell(3)
    expect(lab.output(3)).to_contain_text("Your code had not ended after 1 seconds")
    expect(lab.output(3)).to_contain_text("of may_leave: ")
