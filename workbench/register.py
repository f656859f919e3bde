"""The register as a table, and as a letter of questions to the provider."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, overload

from workbench.domain.gaps import PAGE, REGISTER, Choice, choices_of, written
from workbench.domain.wire.ledger_and_trace import TraceRow
from workbench.errors import GapRefused
from workbench.extras import extras_named
from workbench.resources import notebook_name
from workbench.text.render import Column, Table, Tabular, bundle, preformatted, table

if TYPE_CHECKING:
    import pandas as pd

Record = Mapping[str, Any]
"""A row of `GET /sandbox/gaps`."""

COLUMNS: Final = {
    "section": "section", "name": "name", "shows": "what the interface shows", "does": "what the sandbox does",
    "else": "what else it may do", "why": "why", "code": "where in the code", "notebook": "notebook",
}  # fmt: skip
"""Column → its heading."""
_CAPTION: Final = "What the interface leaves open"
_WIDTH, _LABEL, _BESIDE, _LINES = 80, 12, 13, 3
"""The usual width, the columns beside the texts of a row and of the table, and the most lines of a shortened cell."""


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
    def cells(self) -> dict[str, str]:
        """Column of COLUMNS → the row's text in it."""
        does, *others = self.choices
        return {
            **{name: self[name] for name in ("section", "name", "shows", "why")},
            "notebook": notebook_name(self["notebook"]),
            "does": str(does._replace(is_default=False)), "else": "; ".join(map(str, others)),
            "code": ", ".join(self["code"]),
        }  # fmt: skip

    def text(self, width: int | None = None) -> str:
        """The row in lines of at most `width` columns, 80 by default."""
        does, *others = [f"{choice.value}: {choice._replace(value='')}" for choice in self.choices]
        cells = self.cells
        parts = [
            ("shows", self["shows"]), ("asks", self["asks"]), ("does", does), *(("or", other) for other in others),
            ("why", cells["why"]), ("here", self["here"]), *((name, cells[name]) for name in ("code", "notebook")),
            ("page", self["page"]),
            ("used by", ", ".join(self.get("used_by", ()))),
        ]  # fmt: skip
        lines = [f"{self['name']} (section {self['section']})"]
        for name, text in parts:
            # An empty text has no line.
            for number, line in enumerate(textwrap.wrap(text, (width or _WIDTH) - _LABEL, break_on_hyphens=False)):
                lines.append(f"  {'' if number else name:<9} {line}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), preformatted(repr(self), self["name"]))


# The table


class GapRows(Tabular, list[GapRow]):
    """Rows of the register. `trace` returns the rows of the sandbox's trace; `page` is the address of the interface."""

    def __init__(
        self, rows: Iterable[Record], trace: Callable[[], Iterable[TraceRow]] = tuple, page: str = PAGE
    ) -> None:
        super().__init__(map(GapRow, rows))
        self._trace, self._page = trace, page

    @overload
    def __getitem__(self, place: SupportsIndex | str) -> GapRow: ...
    @overload
    def __getitem__(self, place: slice) -> "GapRows": ...
    def __getitem__(self, place: SupportsIndex | str | slice) -> "GapRow | GapRows":
        """A row by its name or place, or the rows of a slice. Raises GapRefused: no row here has this name."""
        if isinstance(place, slice):
            return self._with(super().__getitem__(place))
        if isinstance(place, str):
            named = [row for row in self if row["name"] == place]
            if not named:
                raise GapRefused(f"There is no gap named {place!r} here.", name=place)
            return named[0]
        return super().__getitem__(place)

    @property
    def changed(self) -> "GapRows":
        """The rows that are not at their default."""
        return self._with(row for row in self if row.is_changed)

    def section(self, number: str) -> "GapRows":
        """The rows of a section, such as `6`; `2` includes 2.1 and 2.5. Raises GapRefused: no row has this section."""
        numbers = sorted({part for gap in REGISTER for part in (gap.section, gap.section.partition(".")[0])})
        if number not in numbers:
            raise GapRefused(f"The register has no section {number!r}; it has {', '.join(numbers)}.")
        return self._with(row for row in self if number in {row["section"], row["section"].partition(".")[0]})

    def about(self, word: str) -> "GapRows":
        """The rows with `word`, whole or as a part, in any column and case."""
        return self._with(row for row in self if word.casefold() in repr(row).casefold())

    @property
    def used(self) -> "GapRows":
        """The rows that this run relied on so far; `used_by` lists the calls that relied on a row, by frequency."""
        from workbench.sandbox.provenance import relied_on

        uses = relied_on(self._trace())
        return self._with({**row, "used_by": uses[row["name"]]} for row in self if row["name"] in uses)

    def questions(self) -> "Letter":
        """A letter to the provider, in Markdown, about the rows that this run relied on."""
        return letter(self.used)

    @property
    @extras_named()
    def frame(self) -> "pd.DataFrame":
        """The table as a DataFrame of text."""
        import pandas as pd

        return pd.DataFrame([row.cells for row in self], columns=[*COLUMNS], dtype="string")

    def _with(self, rows: Iterable[Record]) -> "GapRows":
        return GapRows(rows, self._trace, self._page)

    def text(self, width: int | None = None) -> str:
        """The table in lines of at most `width` columns with whole texts; without a width, long texts are cut off."""
        headings = ("section", "name, and what the sandbox does", "what else it may do")
        return table(_CAPTION, headings, (line for row in self for line in _lines(row, width))).text(width)

    def _table(self) -> Table:
        cells = ([row.cells[name] for name in COLUMNS] for row in self)
        links = {"section": f"{self._page}#section-{{}}"}
        headings = [Column(heading, link=links.get(name, "")) for name, heading in COLUMNS.items()]
        return table(_CAPTION, headings, cells)


def _lines(row: GapRow, width: int | None) -> Iterator[tuple[str, ...]]:
    """Yields the table's lines for a row, three cells each: section and name, then its value beside its other values.

    `width` is the table's: below 80 the values are not wrapped here; with None they are cut off after three lines.
    """
    cells, room, most = row.cells, max(width or _WIDTH, _WIDTH) - _BESIDE, _LINES if width is None else None
    does, others = (
        [cells[name]] if width and width < _WIDTH
        else textwrap.wrap(cells[name], half, max_lines=most, placeholder=" …", break_on_hyphens=False)
        for name, half in (("does", room - room // 2), ("else", room // 2))
    )  # fmt: skip
    yield cells["section"], cells["name"] + (" (changed)" if row.is_changed else ""), ""
    for left, right in zip_longest(does, others, fillvalue=""):
        yield "", f"  {left}", right


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
    asked = sorted(of_provider, key=lambda row: (-row["cost"], row["name"] in known))
    first, rest = asked[:_FIRST_ASKED], asked[_FIRST_ASKED:]
    parts = ["# Questions about your payment interface", _GREETING if asked else _NONE]
    parts[1] += f" An appendix has {len(rest)} more." * bool(rest)
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
    if rest:
        parts += [f"## Appendix: {len(rest)} more questions"]
        texts = {row["name"]: f"We assume: {row.choices[0].says}" for row in rest}
        texts |= {name: f"We saw: {text}" for name, text in known.items()}
        parts += ["\n".join(f"- **{row['asks']}** {texts[row['name']]} (`{row['name']}`)" for row in rest)]
    return Letter("\n\n".join(parts) + "\n")


_GREETING = (
    "We are integrating your interface, and its documentation leaves some questions open. A wrong guess at these would "
    "cost us most. Please answer them, or tell us where to find the answer."
)
_NONE = "So far our code depends on nothing that your interface leaves open."
