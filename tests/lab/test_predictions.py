"""Predict first: what is asked, chosen and told, and that each question of a notebook is answered by its own run."""

import re
from typing import Any

import ipywidgets
import pytest

from tests.conftest import cells_of
from workbench import exercises, resources
from workbench.errors import InvalidRequest
from workbench.lab.exercises.predictions import QUESTIONS, Question
from workbench.lab.exercises.verdicts import State, html_of

ONE = QUESTIONS["float_amount"]


@pytest.fixture(autouse=True)
def _nobody_has_chosen() -> None:
    ONE.chosen, ONE.state, ONE.lines = "", State.NOT_YET, []


def sources(slug: str) -> list[tuple[str, str]]:
    """The code cells of a notebook, each with what it printed."""

    def shown(cell: dict[str, Any]) -> str:
        return "\n".join("".join(each.get("text") or each["data"]["text/plain"]) for each in cell["outputs"])

    return [(each["source"], shown(each)) for each in cells_of(slug) if each["cell_type"] == "code"]


def test_each_notebook_asks_two_and_its_own_run_shows_one_of_the_choices():
    for slug, notebook in resources.course().items():
        own = [each for each in QUESTIONS.values() if each.notebook == slug]
        assert len(own) == (2 if notebook.number else 1), slug
        cells = sources(slug)
        asked = [place for place, (source, _) in enumerate(cells) if source.startswith("exercises.predict(")]
        assert [cells[place][0] for place in asked] == [f'exercises.predict("{each.name}")' for each in own]
        for place, each in zip(asked, own, strict=True):
            source, shown = cells[place + 1]
            assert f'exercises.compare("{each.name}", ' in source, "the run follows its question"
            assert re.search(r"^It is [a-d]\) ", shown, re.MULTILINE), each.name
            assert each.why in " ".join(shown.split())
            assert len(set(each.choices)) == len(each.choices) >= 2


def test_no_letter_is_right_more_often_than_by_chance():
    found = [shown for slug in resources.course() for _, shown in sources(slug)]
    right = [letter for shown in found for letter in re.findall(r"^It is ([a-d])\) ", shown, re.MULTILINE)]
    assert len(right) == len(QUESTIONS)
    assert max(map(right.count, "abcd")) <= len(right) * 0.5


@pytest.mark.parametrize(
    ("chosen", "seen", "told"),
    [
        (None, 0, "It is a) 0."), ("a", 0, "As you predicted: a) 0."), ("b", 0, "You predicted b) 1. It is a) 0."),
        ("b", 9, "The run shows 9, which is none of the choices. Has every cell above run?"),
    ],
)  # fmt: skip
def test_what_was_chosen_is_held_against_what_was_seen(
    capsys: pytest.CaptureFixture[str], chosen: str | None, seen: int, told: str
):
    exercises.predict(ONE.name, chosen)
    exercises.compare(ONE.name, seen)
    why = "" if "none of" in told else f" {ONE.why}"
    assert " ".join(capsys.readouterr().out.split()) == f"{told}{why}"


def box_of(question: Question) -> ipywidgets.VBox:
    box = question.buttons()
    assert isinstance(box, ipywidgets.VBox)
    return box


def test_a_question_shows_itself_and_its_buttons_choose(monkeypatch: pytest.MonkeyPatch):
    shown = ONE._repr_mimebundle_()
    assert ("  b) 1" in shown["text/plain"], "<li>1</li>" in shown["text/html"]) == (True, True)
    assert list(shown) == ["text/plain", "text/html"], "no buttons where nobody looks"
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
    assert "application/vnd.jupyter.widget-view+json" in ONE._repr_mimebundle_()
    _, choice, told = box_of(ONE).children
    assert "Your choice" not in told.value
    choice.value = "c"
    assert ONE.chosen == "c"
    assert "Your choice: c<" in told.value
    assert box_of(ONE).children[1].value == "c", "shown again, it stands as it was chosen"


def test_a_choice_is_marked_once_the_run_has_shown_which_is_right(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
    *_, told = box_of(ONE).children
    for letter, seen, says in (("b", 0, "Your choice: b ✗ wrong"), ("a", 0, "Your choice: a ✓ right")):
        exercises.predict(ONE.name, letter)
        exercises.compare(ONE.name, seen)
        assert says in told.value
        assert says in box_of(ONE).children[2].value, "shown again, it is still marked"
    box_of(ONE).children[1].value = "c"
    assert "✓" not in box_of(ONE).children[2].value, "another choice waits for another run"


@pytest.mark.parametrize("state", State)
def test_a_verdict_has_a_sign_and_a_colour_that_is_read_on_any_ground(state: State):
    badge = f'{state.colour};color:#fff;padding:0 .4em;border-radius:.3em">{state.sign}</span>'
    assert f"{badge} &lt;Done&gt;<br>line 2" in html_of(["<Done>", "line 2"], state)
    channels = (int(state.colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    assert 1.05 / (luminance + 0.05) >= 4.5, "white text on it"
    assert (luminance + 0.05) / 0.05 >= 3, "it, on black"


def test_a_name_or_a_letter_that_is_none():
    for call in (lambda: exercises.predict("x"), lambda: exercises.compare("x", 1)):
        with pytest.raises(InvalidRequest, match="there is no question 'x'; there are: "):
            call()
    with pytest.raises(InvalidRequest, match="choose one of a, b, c, not 'z'"):
        exercises.predict(ONE.name, "z")
