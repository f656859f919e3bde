"""What an exam found: as text, as a page to read offline, as JSON and as JUnit's XML."""

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

from workbench.domain.moments import in_lusaka, milliseconds
from workbench.errors import ExamRefused
from workbench.render import Column, Table, bundle, page, sentence, table
from workbench.resources import write_whole
from workbench.visible import visible

PASSED: Final = "passed"
FAILED: Final = "failed"
NOT_EXAMINED: Final = "not examined"
_WIDTH: Final = 118
_CAME: Final = 60
_LAB: Final = "http://127.0.0.1:8888/lab/tree"
"""Where `workbench lab` shows a notebook, unless it is told another port."""


class Row(NamedTuple):
    """What one check came to."""

    name: str
    title: str
    verdict: str
    """passed, failed or not examined."""
    came: str
    """What came back."""
    sent: str
    expected: str
    why: str
    fix: str
    notebook: str
    printed: str = ""
    """What the shop printed meanwhile, where it failed."""


_TOLD: Final = (
    ("sent", "Sent"), ("expected", "Expected"), ("came", "Came back"), ("why", "Why it matters"),
    ("fix", "How to fix it"), ("notebook", "To read"),
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Report:
    """The result of an exam, which shows itself as text and HTML; `at` is RFC 3339, `took_s` seconds.

    `switched` names the rows of the register that were not at their default, with their values.
    """

    url: str
    at: str
    took_s: float
    rows: tuple[Row, ...]
    switched: str = ""

    @property
    def failed(self) -> list[Row]:
        """The checks that failed."""
        return [each for each in self.rows if each.verdict == FAILED]

    @property
    def passes(self) -> bool:
        """Whether nothing that was examined failed, and anything was."""
        return not self.failed and any(each.verdict == PASSED for each in self.rows)

    @property
    def score(self) -> str:
        """How many passed, of how many, and how many were not examined."""
        counts = self._counts()
        more = f", {counts[NOT_EXAMINED]} not examined" if counts[NOT_EXAMINED] else ""
        return f"{counts[PASSED]} of {counts[PASSED] + counts[FAILED]} passed{more}"

    def _counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    def as_record(self) -> dict[str, Any]:
        """The report as JSON types."""
        counts = {name.replace(" ", "_"): self._counts()[name] for name in (PASSED, FAILED, NOT_EXAMINED)}
        rows = [{**each._asdict(), "notebook": f"{each.notebook}.ipynb"} for each in self.rows]
        return {
            "endpoint": self.url, "at": self.at, "took_s": self.took_s, "passes": self.passes, "score": self.score,
            "switched": self.switched,
            **counts, "checks": rows,
        }  # fmt: skip

    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_record(), indent=2, ensure_ascii=False) + "\n"

    def junit(self) -> str:
        """The report as the XML that CI servers read: a test case a check."""
        counts = self._counts()
        suite = ET.Element(
            "testsuite", name="workbench certify", timestamp=self.at, time=str(self.took_s), tests=str(len(self.rows)),
            failures=str(counts[FAILED]), skipped=str(counts[NOT_EXAMINED]), errors="0",
        )  # fmt: skip
        for row in self.rows:
            case = ET.SubElement(suite, "testcase", classname="certify", name=f"{row.name}: {row.title}")
            if row.verdict == FAILED:
                ET.SubElement(case, "failure", message=visible(row.came)).text = "\n".join(told(row))
            elif row.verdict == NOT_EXAMINED:
                ET.SubElement(case, "skipped", message=visible(row.came))
        ET.indent(suite)
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"

    def html(self) -> str:
        """The report as a page to read offline."""
        rows = [(row, {heading: visible(getattr(row, name)) for name, heading in _TOLD}) for row in self.rows]
        at = sentence(in_lusaka(milliseconds(datetime.fromisoformat(self.at))))
        body = _template().render(report=self, rows=rows, url=visible(self.url), lab=_LAB, at=at)
        return page(f"Exam of a webhook endpoint: {self.score}", body)

    def write(self, path: Path) -> None:
        """Write it as the ending of the file says. Raises ExamRefused: no such form, or it cannot be written."""
        text = form_of(path)(self)
        try:
            write_whole(path, text.encode())
        except OSError as error:
            raise ExamRefused(f"{path} cannot be written: {error.strerror}.") from None

    def __str__(self) -> str:
        parts = [str(self._table())]
        parts += ["\n".join([f"✗ {each.title}", *told(each)]) for each in self.failed]
        return "\n\n".join([*parts, f"{visible(self.url)}: {self.score}, in {self.took_s} s{self._under}."])

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        # Its notebooks stand beside one that shows this.
        links = [row.notebook for row in self.rows]
        read = Column("to read", link="{}.ipynb")
        shown = self._table()
        rows = tuple((*cells, link) for cells, link in zip(shown.rows, links, strict=True))
        return bundle(str(self), replace(shown, columns=(*shown.columns, read), rows=rows).html())

    @property
    def _under(self) -> str:
        return f", with {self.switched}" if self.switched else ""

    def _table(self) -> Table:
        cells = ((row.verdict, row.title, textwrap.shorten(row.came, _CAME, placeholder=" …")) for row in self.rows)
        return table(f"The exam of {self.url}", ("verdict", "check", "came back"), cells)


def told(row: Row) -> list[str]:
    """What is said of a check that failed, in lines."""
    width = max(len(heading) for _, heading in _TOLD) + 2
    lines: list[str] = []
    for name, heading in _TOLD:
        begins = f"  {heading}:".ljust(width + 3)
        lines += textwrap.wrap(
            visible(getattr(row, name)), _WIDTH, initial_indent=begins, subsequent_indent=" " * len(begins)
        )
    printed = [f"    {line}" for line in row.printed.splitlines()]
    return [*lines, *(["  Your shop printed meanwhile:", *printed] if printed else [])]


_FORMS: Final[Mapping[str, Callable[[Report], str]]] = {
    ".html": Report.html, ".json": Report.json, ".xml": Report.junit, ".txt": lambda report: f"{report}\n",
}  # fmt: skip


def form_of(path: Path) -> Callable[[Report], str]:
    """How a report is written into a file. Raises ExamRefused: its ending says nothing, or there is no such folder."""
    if path.suffix.lower() not in _FORMS:
        raise ExamRefused(f"{path} ends in none of {', '.join(_FORMS)} (.xml is JUnit's).")
    if not path.parent.is_dir():
        raise ExamRefused(f"{path} cannot be written: there is no folder {path.parent}.")
    return _FORMS[path.suffix.lower()]


@cache
def _template() -> Any:  # noqa: ANN401  loaded when it is first used
    from jinja2 import Environment, StrictUndefined

    text = files(__package__).joinpath("templates", "report.html").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        text
    )
