"""What every part of a board is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, TypeAlias

from workbench.lab.views import GOOD, Item, Section

Values: TypeAlias = Mapping[str, str]
"""What a form holds, by the names of its fields."""


class Reveal(NamedTuple):
    """A secret to be seen this once: it goes to the browser as a message, and into nothing that is saved."""

    label: str
    secret: str


class Message(NamedTuple):
    """What came of a button: a sentence, its tone, the same in code, and a secret that is shown once."""

    text: str
    tone: str = GOOD
    code: tuple[Item, ...] = ()
    reveal: Reveal | None = None


Handler: TypeAlias = Callable[..., Message | None]
"""`(part, on, values)`: `on` is what a button is about, `values` what its form holds."""


class BoardSection(ABC):
    """A section of a board, made of what the sandbox says whenever it is asked.

    `doings` says what its buttons do; a `follow` among them hears of what is typed into a form, and says nothing.
    """

    id: ClassVar[str]
    handlers: ClassVar[Mapping[str, Handler]] = {}

    @abstractmethod
    def section(self) -> Section:
        """What is to be seen now."""
