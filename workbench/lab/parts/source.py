"""What the parts of a dashboard read from and act on: reading leaves no trace, acting is what a script would do."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from workbench.client import PaymentsClient
from workbench.control import SandboxControl
from workbench.domain.masking import mask
from workbench.domain.moments import LUSAKA, moment
from workbench.lab.views import Beside, Code, Item
from workbench.snippets import snippet

if TYPE_CHECKING:
    from workbench.bench import Workbench

_PAY: Final = "pay = bench.client\n"
_BRIEF: Final = 10
SHORT: Final = 300
"""So many characters are shown of what a receiver answered."""


class Source:
    """A bench, as the parts of a dashboard know it."""

    def __init__(self, bench: "Workbench") -> None:
        self.bench = bench

    @property
    def looking(self) -> PaymentsClient:
        """To read with, by the key that the bench holds now."""
        return self.bench.looking()

    @property
    def pay(self) -> PaymentsClient:
        """To act with."""
        return self.bench.client

    def panel(self, path: str) -> dict[str, Any]:
        """What `/sandbox` tells at a path."""
        return SandboxControl(self.looking).get(path)

    def code(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        python: str = "{}",
    ) -> tuple[Item, ...]:
        """The same call in Python and in curl; `python` is what stands around the call there."""
        made = snippet(method, path, body, query=query, base_url=self.bench.base_url)
        before, pay, call = made.python.rpartition(_PAY)
        return (Beside((Code("Python", before + pay + python.format(call)), Code("curl", made.curl))),)


def when(at_s: float | None) -> str:
    """A moment in Lusaka, to the second; a dash for none."""
    return "-" if at_s is None else moment(int(at_s * 1000)).astimezone(LUSAKA).strftime("%Y-%m-%d %H:%M:%S")


def span(seconds: float) -> str:
    """How long that is, in the two largest units that count: `1 d 2 h`, `5 min`, `20 s`."""
    left, said = max(0, round(seconds)), []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            said.append(f"{count} {unit}")
    return " ".join(said[:2]) or "0 s"


def short(text: str, most: int = SHORT) -> str:
    """The first part of a text, its secrets masked."""
    text = mask(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def brief(identifier: str) -> str:
    """The beginning of an id: enough to tell it from those beside it."""
    return identifier if len(identifier) <= _BRIEF else f"{identifier[:_BRIEF]}…"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 event`, `2 events`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def options(values: Sequence[str], all_of_them: str = "") -> tuple[tuple[str, str], ...]:
    """The options of a choice; underscores are blanks to a person."""
    every = (("", all_of_them),) if all_of_them else ()
    return (*every, *((each, each.replace("_", " ")) for each in values))
