"""Whether a person looks at what this kernel shows, and what a widget adds to text and HTML."""

import os
from collections.abc import Callable
from typing import Protocol

_SESSION = "JPY_SESSION_NAME"
"""Set by a Jupyter server for the kernels of its notebooks, and by nothing that runs them headlessly."""
_VIEW = "application/vnd.jupyter.widget-view+json"


class Widget(Protocol):
    """What is shown by its model's number: a DOMWidget of ipywidgets, which is not loaded here."""

    @property
    def model_id(self) -> str:
        """The number."""


def is_live() -> bool:
    """Whether this kernel was started for somebody at a Jupyter server."""
    return _SESSION in os.environ


def with_widget(shown: dict[str, str], widget: Callable[[], Widget]) -> dict[str, object]:
    """A bundle of text and HTML and, where a person looks, the view of a widget besides.

    Run headlessly it stays as it is: the number of a model differs in every run.
    """
    if not is_live():
        return {**shown}
    return {**shown, _VIEW: {"version_major": 2, "version_minor": 0, "model_id": widget().model_id}}
