"""Whether a person looks at this kernel's outputs, and the view of a widget beside text and HTML."""

import os
from collections.abc import Callable
from typing import Protocol

_SESSION = "JPY_SESSION_NAME"
"""A Jupyter server sets it for the kernels of its notebooks; headless runs do not."""
_VIEW = "application/vnd.jupyter.widget-view+json"


class Widget(Protocol):
    """A DOMWidget of ipywidgets, which is not loaded here."""

    @property
    def model_id(self) -> str:
        """The id of its model, by which a page shows it."""


def is_live() -> bool:
    """Whether this kernel was started for somebody at a Jupyter server."""
    return _SESSION in os.environ


def with_widget(shown: dict[str, str], widget: Callable[[], Widget]) -> dict[str, object]:
    """A bundle of text and HTML and, if a person looks, the view of a widget.

    A headless run adds nothing: the id of a model differs in every run.
    """
    if not is_live():
        return {**shown}
    return {**shown, _VIEW: {"version_major": 2, "version_minor": 0, "model_id": widget().model_id}}
