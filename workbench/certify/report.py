"""The report of an exam: as text, as a page to read offline, as JSON and as JUnit's XML."""

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

from workbench.domain.gaps import written
from workbench.domain.moments import in_lusaka, milliseconds
from workbench.errors import ExamRefused
from workbench.resources import write_whole
from workbench.text.render import beside, sentence, templates, wrapped
from workbench.visible import visible

PASSED: Final = "passed"
FAILED: Final = "failed"
WARNING: Final = "warning"
NOT_EXAMINED: Final = "not examined"
_MARKS: Final[Mapping[str, str]] = {PASSED: "✓", FAILED: "✗", WARNING: "!", NOT_EXAMINED: "-"}
_TONES: Final[Mapping[str, str]] = {PASSED: "good", FAILED: "bad", WARNING: "warn", NOT_EXAMINED: ""}
"""Verdict → its colour on the page."""
_VERDICT, _TITLE, _LINE = 9, 48, 121
_WIDTH: Final = 118
_CAME: Final = 60
_MOST_LISTED: Final = 3
"""The most faults shown of one check, and the most titles or messages shown of one cause."""
_LAB: Final = "http://127.0.0.1:8888/lab/tree"
"""The address at which `workbench lab` shows notebooks, on its usual port."""


class ReportRow(NamedTuple):
    """A check or a cause in the report."""

    name: str
    title: str
    verdict: str
    """passed, failed, warning or not examined."""
    came: str
    """The responses in words."""
    sent: str
    expected: str
    why: str
    fix: str
    notebook: str
    printed: str = ""
    """The shop's output during a check that failed or got a warning; for a failed command, the command's output."""
    cause: str = ""
    """The title of the cause that explains this failure and others; `why` and `fix` then belong to the cause."""

    def line(self, width: int | None = None) -> str:
        """Verdict, title and responses on one line, or on several if `width` columns (121 by default) are too few."""
        room = (width or _LINE) - _VERDICT - 4
        title = min(_TITLE, room * 3 // 5)
        came, most = visible(self.came), max(_CAME, room - title)
        if len(came) > most:
            came = f"{textwrap.wrap(came, most - 2)[0]} …"
        cells = (f"{_MARKS[self.verdict]} {self.verdict}", self.title, came)
        return "\n".join(beside(cells, (_VERDICT, title, room - title)))

    @property
    def paragraphs(self) -> list[tuple[str, str]]:
        """Heading and text of each paragraph about the check; a failure with a known cause has only two paragraphs."""
        texts = [(heading, visible(getattr(self, name))) for name, heading in _HEADINGS]
        return [(heading, text) for heading, text in texts if text and (not self.cause or heading in _WITH_A_CAUSE)]


_HEADINGS: Final = (
    ("sent", "Sent"), ("expected", "Expected"), ("came", "Came back"), ("cause", "Cause"),
    ("why", "Why it matters"), ("fix", "How to fix it"), ("notebook", "To read"),
)  # fmt: skip
_LABEL: Final = 1 + max(len(heading) for _, heading in _HEADINGS)
"""The width of a heading before its paragraph, in a text."""
_WITH_A_CAUSE: Final = {"Came back", "Cause"}


@dataclass(frozen=True, repr=False)
class Report:
    """The result of an exam as text, HTML, JSON and JUnit's XML; `at` is an RFC 3339 time.

    `switched` is row of the register → value, for rows that were not at their default. `took_s` is in seconds. `causes`
    has a row for each cause that explains failed checks.
    """

    url: str
    at: str
    took_s: float
    rows: tuple[ReportRow, ...]
    switched: Mapping[str, Any] = field(default_factory=dict)
    causes: tuple[ReportRow, ...] = ()

    @property
    def failed(self) -> list[ReportRow]:
        """The checks that failed."""
        return [row for row in self.rows if row.verdict == FAILED]

    @property
    def passes(self) -> bool:
        """True if a check passed and none failed."""
        return not self.failed and any(row.verdict == PASSED for row in self.rows)

    @property
    def score(self) -> str:
        """The counts of passed and examined checks, of warnings, and of checks that were not examined."""
        counts = self._counts()
        more = "".join(f", {counts[verdict]} {verdict}" for verdict in (WARNING, NOT_EXAMINED) if counts[verdict])
        return f"{counts[PASSED]} of {len(self.rows) - counts[NOT_EXAMINED]} passed{more}"

    def _counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    def as_record(self) -> dict[str, Any]:
        """The report as JSON types."""
        counts = {name.replace(" ", "_"): self._counts()[name] for name in (PASSED, FAILED, WARNING, NOT_EXAMINED)}
        causes, rows = (
            [{**row._asdict(), "notebook": f"{row.notebook}.ipynb"} for row in group]
            for group in (self.causes, self.rows)
        )
        return {
            "endpoint": self.url, "at": self.at, "took_s": self.took_s, "passes": self.passes, "score": self.score,
            "switched": dict(self.switched),
            **counts, "causes": causes, "checks": rows,
        }  # fmt: skip

    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_record(), indent=2, ensure_ascii=False) + "\n"

    def junit(self) -> str:
        """The report as the XML that CI servers read: one test case per check."""
        counts = self._counts()
        suite = ET.Element(
            "testsuite", name="workbench certify", timestamp=self.at, time=str(self.took_s), tests=str(len(self.rows)),
            failures=str(counts[FAILED]), skipped=str(counts[NOT_EXAMINED]), errors="0",
        )  # fmt: skip
        for row in self.rows:
            case = ET.SubElement(suite, "testcase", classname="certify", name=f"{row.name}: {row.title}")
            if row.verdict == FAILED:
                ET.SubElement(case, "failure", message=visible(row.came)).text = "\n".join(_lines_of(row))
            elif row.verdict == WARNING:
                ET.SubElement(case, "system-out").text = "\n".join(_lines_of(row))
            elif row.verdict == NOT_EXAMINED:
                ET.SubElement(case, "skipped", message=visible(row.came))
        ET.indent(suite)
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"

    def html(self) -> str:
        """The report as a page to read offline."""
        at = sentence(in_lusaka(milliseconds(datetime.fromisoformat(self.at))))
        template = templates(__package__).get_template("report.html")
        return template.render(report=self, marks=_MARKS, tones=_TONES, url=visible(self.url), lab=_LAB, at=at)

    def write(self, path: str | Path) -> None:
        """Writes the report as `form_of` renders it. Raises ExamRefused: as `form_of`, or the file is not writable."""
        text = form_of(Path(path))(self)
        try:
            write_whole(Path(path), text.encode())
        except OSError as error:
            raise ExamRefused(f"{path} cannot be written: {error.strerror}.") from None

    @property
    def examined(self) -> list[ReportRow]:
        """The checks that have a verdict, in the order in which they ended."""
        return [row for row in self.rows if row.verdict != NOT_EXAMINED]

    @property
    def left_out(self) -> list[tuple[str, list[str]]]:
        """Each reason for which checks were not examined, with the titles of these checks."""
        titles_by_reason: dict[str, list[str]] = {}
        for row in self.rows:
            if row.verdict == NOT_EXAMINED:
                titles_by_reason.setdefault(row.came, []).append(row.title)
        return [(visible(why), titles) for why, titles in titles_by_reason.items()]

    def ending(self, width: int | None = None) -> str:
        """The text after the lines of the checks: causes, failures, checks that were not examined, and the score.

        Lines have at most `width` columns. For None, lines about a check have at most 118, and the others are not
        wrapped.
        """
        flagged = sorted((row for row in self.examined if row.verdict != PASSED), key=lambda row: bool(row.cause))
        parts = [
            "\n".join([f"{_MARKS[row.verdict]} {row.title}", *_lines_of(row, width or _WIDTH)])
            for row in (*self.causes, *flagged)
        ]
        parts += [wrapped(f"- not examined: {why}: {first_few(titles, '; ')}", width) for why, titles in self.left_out]
        score = f"{visible(self.url)}: {self.score}, in {self.took_s} s{self.switched_note}."
        return "\n\n".join([*parts, wrapped(score, width)])

    def __repr__(self) -> str:
        return "\n".join([*(row.line() for row in self.examined), "", self.ending()])

    @property
    def switched_note(self) -> str:
        """The register's switched rows, as the end of a sentence; empty if none is switched."""
        return f", with {switched_text(self.switched)}" if self.switched else ""


def switched_text(rows: Mapping[str, Any]) -> str:
    """Rows of the register with their values, as text: `name = value`, separated by commas."""
    return ", ".join(f"{name} = {written(value)}" for name, value in rows.items())


def first_few(texts: Sequence[str], separator: str) -> str:
    """The first three texts, joined by `separator`, and the number of further texts."""
    more = [f"and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return separator.join([*texts[:_MOST_LISTED], *more])


def _lines_of(row: ReportRow, width: int = _WIDTH) -> list[str]:
    """The lines about a check or a cause, wrapped to `width` columns, or to _WIDTH if that is less.

    Lines that the shop printed are not wrapped.
    """
    widths = (_LABEL, min(width, _WIDTH) - _LABEL - 4)
    texts = ((f"{heading}:", text) for heading, text in row.paragraphs)
    printed = ["Printed meanwhile:", *(f"  {line}" for line in row.printed.splitlines())] if row.printed else []
    return [f"  {line}" for line in (*chain.from_iterable(beside(text, widths) for text in texts), *printed)]


_FORMS: Final[Mapping[str, Callable[[Report], str]]] = {
    ".html": Report.html, ".json": Report.json, ".xml": Report.junit, ".txt": lambda report: f"{report}\n",
}  # fmt: skip


def form_of(path: Path) -> Callable[[Report], str]:
    """Returns the function that renders a report in the format of the path's extension: .html, .json, .xml or .txt.

    Raises ExamRefused: another extension, or the folder does not exist.
    """
    if path.suffix.lower() not in _FORMS:
        raise ExamRefused(f"{path} ends in none of {', '.join(_FORMS)} (.xml is JUnit's).")
    if not path.parent.is_dir():
        raise ExamRefused(f"{path} cannot be written: there is no folder {path.parent}.")
    return _FORMS[path.suffix.lower()]
