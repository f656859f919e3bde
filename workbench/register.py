"""The register as a table, and as a letter of questions to the provider."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, SupportsIndex, overload

from workbench.domain.gaps import PAGE, Choice, choices_of, written
from workbench.domain.wire.sandbox_controls import ReliedRow
from workbench.errors import GapRefused
from workbench.resources import notebook_name
from workbench.text.render import DisplayColumn, DisplayTable, Tabular, beside, bundle, preformatted, table

Record = Mapping[str, Any]
"""A row of `GET /sandbox/gaps`."""

_WIDTH: Final = 80
"""The default width of a text, in columns."""
_LABEL, _BESIDE = 8, 12
"""The width of a label in the text of a row, and the columns of a line that are not for the labelled text."""


# A row


class GapRow(Tabular, dict[str, Any]):
    """One row of the register, shown in full."""

    @property
    def choices(self) -> list[Choice]:
        """The row's values, the value in force first."""
        return choices_of(self)

    @property
    def is_changed(self) -> bool:
        """True if a value other than the default is in force."""
        return written(self["value"]) != written(self["default"])

    @property
    def does(self) -> str:
        """The value in force and its meaning."""
        return str(self.choices[0]._replace(is_default=False))

    def text(self, width: int | None = None) -> str:
        """The row in lines of at most `width` columns, 80 by default."""
        does, *others = [f"{choice.value}: {choice._replace(value='')}" for choice in self.choices]
        parts = [
            ("shows", self["shows"]), ("asks", self["asks"]), ("does", does), *(("or", other) for other in others),
            ("why", self["why"]), ("here", self["here"]), ("code", ", ".join(self["code"])),
            ("notebook", notebook_name(self["notebook"])), ("page", self["page"]),
            ("used by", ", ".join(self.get("used_by", ()))),
        ]  # fmt: skip
        widths = (_LABEL, (width or _WIDTH) - _BESIDE)
        lines = [f"  {line}" for part in parts if part[1] for line in beside(part, widths)]
        return "\n".join([f"{self['name']} (section {self['section']})", *lines])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), preformatted(repr(self), self["name"]))


# The table


class GapRows(Tabular, list[GapRow]):
    """Rows of the register, by their order or their name; `used` and `questions` are about one sandbox's run so far.

    `used` returns the rows of GET /sandbox/gaps/used; `page` is the URL of the page on the provider's interface.
    """

    _width = _WIDTH

    def __init__(
        self, rows: Iterable[Record], used: Callable[[], Iterable[ReliedRow]] = tuple, page: str = PAGE
    ) -> None:
        super().__init__(map(GapRow, rows))
        self._used, self._page = used, page

    @overload
    def __getitem__(self, name: SupportsIndex | str) -> GapRow: ...
    @overload
    def __getitem__(self, name: slice) -> list[GapRow]: ...
    def __getitem__(self, name: SupportsIndex | slice | str) -> GapRow | list[GapRow]:
        """The row with this name or index, or a slice of the rows. Raises GapRefused: no row has the name."""
        if not isinstance(name, str):
            return super().__getitem__(name)
        for row in self:
            if row["name"] == name:
                return row
        raise GapRefused(f"There is no gap named {name!r} here.", hint="`[*bench.gaps]` lists the rows.", name=name)

    @property
    def used(self) -> "GapRows":
        """The rows that this run relied on so far; `used_by` lists the calls that relied on a row, by frequency."""
        uses = {row.name: row.used_by for row in self._used()}
        rows = ({**row, "used_by": uses[row["name"]]} for row in self if row["name"] in uses)
        return GapRows(rows, self._used, self._page)

    def questions(self) -> "Letter":
        """A letter to the provider, in Markdown, about the rows that this run relied on."""
        return letter(self.used)

    def _table(self) -> DisplayTable:
        section = DisplayColumn("section", link=f"{self._page}#section-{{}}")
        headings = (section, "name", "what the sandbox does", "what else it may do")
        names = [row["name"] + " (changed)" * row.is_changed for row in self]
        others = ["; ".join(map(str, row.choices[1:])) for row in self]
        columns = ([row["section"] for row in self], names, [row.does for row in self], others)
        return table("What the interface leaves open", headings, zip(*columns, strict=True))


# The letter


class Letter(str):
    """Text in Markdown, which JupyterLab renders."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return str(self)


_FIRST_ASKED: Final = 5
_MOST_USES: Final = 3


def letter(rows: Iterable[Record], seen: Mapping[str, str] | None = None) -> Letter:
    """A letter to the provider: the five most costly questions, and the others in an appendix, one line each.

    `seen` is `Evidence.seen`: row → what recorded traffic shows, as a question. Of equally costly rows, rows without
    traffic come first. For a row with `used_by`, the letter says what depends on the row.
    """
    known = seen or {}
    of_provider = (GapRow(row) for row in rows if not row["of_sandbox"])
    questions = sorted(of_provider, key=lambda row: (-row["cost"], row["name"] in known))
    first, appendix = questions[:_FIRST_ASKED], questions[_FIRST_ASKED:]
    parts = ["# Questions about your payment interface", _GREETING if questions else _NONE]
    parts[1] += f" An appendix has {len(appendix)} more." * bool(appendix)
    for number, row in enumerate(first, 1):
        is_schedule = isinstance(row["value"], list | tuple)
        does, *others = [str(choice) if is_schedule else choice.says for choice in row.choices]
        observed, uses = known.get(row["name"]), [use for use in row.get("used_by", ()) if "/sandbox" not in use]
        lines = [
            ("Your documentation shows", row["shows"]),
            *([("We saw", observed)] if observed else [("We assume", does), ("It may also be", "; or ".join(others))]),
            ("What depends on it in our code", ", ".join(uses[:_MOST_USES])),
        ]
        parts += [f"## {number}. {row['asks']}", "\n".join(f"- {name}: {text}" for name, text in lines if text)]
        parts += [f"Our reference: `{row['name']}`"]
    if appendix:
        parts += [f"## Appendix: {len(appendix)} more questions"]
        texts = {row["name"]: f"We assume: {row.choices[0].says}" for row in appendix}
        texts |= {name: f"We saw: {text}" for name, text in known.items()}
        parts += ["\n".join(f"- **{row['asks']}** {texts[row['name']]} (`{row['name']}`)" for row in appendix)]
    return Letter("\n\n".join(parts) + "\n")


_GREETING = (
    "We are integrating your interface, and its documentation leaves some questions open. A wrong guess at these would "
    "cost us most. Please answer them, or tell us where to find the answer."
)
_NONE = "So far our code depends on nothing that your interface leaves open."
