"""What every section of a board is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
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


class BoardSection(ABC):
    """A section of a board, made of what the sandbox reports whenever it is asked.

    `handlers` names the methods that its buttons call, as `(on, values) -> Message | None`: `on` is what a button is
    about, `values` what its form holds. A `follow` among them gets what is typed into a form, and says nothing.
    """

    id: ClassVar[str]
    handlers: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def section(self) -> Section:
        """What is to be seen now."""
