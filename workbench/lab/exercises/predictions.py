"""Predict first: a question before a run, and a comparison with the result after the run."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import ascii_lowercase
from textwrap import fill, indent
from typing import Any

from workbench.errors import InvalidRequest
from workbench.lab.exercises.verdicts import WIDTH, State, tell
from workbench.text.render import Widget, bundle, with_widget


@dataclass(eq=False)
class Question:
    """A question before a run; a learner at a notebook sees it with a button for each choice."""

    name: str
    notebook: str
    """The notebook's slug."""
    ask: str
    choices: Sequence[str]
    """The possible answers; one of them equals the text of the run's result exactly."""
    why: str
    """A sentence that explains the result, shown after the run."""
    chosen: str = ""
    """The chosen letter, for the life of this process; empty before."""
    state: State = State.NOT_YET
    """The verdict on the choice, once `compare` has run."""
    lines: list[Any] = field(default_factory=list)
    """Widgets below the buttons that show the choice, one for each display of the question."""

    @property
    def by_letter(self) -> dict[str, str]:
        """Letter (a, b, …) → choice."""
        return dict(zip(ascii_lowercase, self.choices, strict=False))

    def __repr__(self) -> str:
        rows = "\n".join(f"{letter}) {text}" for letter, text in self.by_letter.items())
        return f"{fill(f'Predict first: {self.ask}', WIDTH)}\n{indent(rows, '  ')}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        items = "".join(f"<li>{escape(text)}</li>" for text in self.choices)
        # By its style too: a page's own style may number every list.
        letters = f'<ol type="a" style="list-style-type:lower-alpha">{items}</ol>'
        html = f"<p><strong>Predict first.</strong> {escape(self.ask)}</p>{letters}"
        return with_widget(bundle(repr(self), html), self.buttons)

    def buttons(self) -> Widget:
        """The question with a button for each choice."""
        import ipywidgets

        options = [(f"{letter}) {text}", letter) for letter, text in self.by_letter.items()]
        # Not radio buttons: JupyterLab takes the arrow keys, so the keyboard would reach only one button.
        choice = ipywidgets.ToggleButtons(options=options, value=self.chosen or None, style={"button_width": "auto"})
        question = ipywidgets.HTML(f"<strong>Predict first.</strong> {escape(self.ask)}")
        line = ipywidgets.HTML(self.verdict())
        self.lines.append(line)

        def choose(change: Mapping[str, str]) -> None:
            self.chosen, self.state = change["new"], State.NOT_YET
            line.value = self.verdict()

        choice.observe(choose, "value")
        box: Widget = ipywidgets.VBox([question, choice, line])
        return box

    def verdict(self) -> str:
        """HTML with the choice in words, also for screen readers, and after the run whether it was right."""
        says = {State.DONE: f" {self.state.sign} right", State.WRONG: f" {self.state.sign} wrong"}.get(self.state, "")
        return f'<span role="status">{f"Your choice: {self.chosen}{says}" if self.chosen else ""}</span>'


QUESTIONS = {
    name: Question(name, slug, **row)
    for slug, rows in tomllib.loads(Path(__file__).with_name("predictions.toml").read_text("utf-8")).items()
    for name, row in rows.items()
}


def predict(name: str, letter: str | None = None) -> Question:
    """The question with this name, to be answered before the run; `letter` answers without buttons.

    Raises InvalidRequest: no such question or letter.
    """
    question = _named(name)
    if letter is not None:
        if letter not in question.by_letter:
            raise InvalidRequest(f"choose one of {', '.join(question.by_letter)}, not {letter!r}", param="letter")
        question.chosen = letter
    return question


def compare(name: str, result: object) -> None:
    """Prints the choice that the run proves right, the learner's choice, and the reason.

    `result` is the run's result; its text is compared with the choices. Raises InvalidRequest: no such question.
    """
    question = _named(name)
    letters = {text: letter for letter, text in question.by_letter.items()}
    text, chosen = str(result), question.chosen
    shown = f"{letters.get(text)}) {text}"
    if text not in letters:
        says, state = f"The run shows {text}, which is none of the choices. Has every cell above run?", State.NOT_YET
    elif not chosen:
        says, state = f"It is {shown}. {question.why}", State.NOT_YET
    elif letters[text] == chosen:
        says, state = f"As you predicted: {shown}. {question.why}", State.DONE
    else:
        predicted = f"{chosen}) {question.by_letter[chosen]}"
        says, state = f"You predicted {predicted}. It is {shown}. {question.why}", State.WRONG
    tell(says, state=state)
    question.state = state
    for line in question.lines:
        line.value = question.verdict()


def _named(name: str) -> Question:
    if name not in QUESTIONS:
        raise InvalidRequest(f"there is no question {name!r}; there are: {', '.join(QUESTIONS)}", param="name")
    return QUESTIONS[name]
