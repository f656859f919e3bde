"""The course: one table, and all that follows from it. With --renew, the files are renamed and what follows is written.

What follows: the files' names wherever they stand, and in each notebook its heading, how long it takes, and its foot;
the contents in the first notebook and in the documentation; and the minutes in the table itself, which are measured.
"""

import json
import re
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.test_house import ROOT, tracked
from workbench import resources
from workbench.lab.exercises import EXERCISES
from workbench.notebook_runs import HIDDEN
from workbench.resources import Notebook, course

FOLDER = ROOT / "notebooks"
TABLE = FOLDER / "course.toml"
PAGE = resources.guide_paths()["notebooks"]
TEXTS = {".py", ".md", ".toml", ".ipynb", ".json", ".yaml"}
WORDS, CODE, OUTPUT = 200, 10, 60
"""Words, lines of code and lines of output that are read in a minute."""
COUNTS = {1: "an exercise", 2: "two exercises", 3: "three exercises"}
MADE = ("<!-- made by: pytest tests/test_course.py --renew -->\n", "<!-- to here -->")
SLUGS = "|".join(course())
NAMED = re.compile(rf"\b\d\d_({SLUGS})\b")
NUMBERED = re.compile(rf"\[([Nn]otebook )?\d+\]\((\S*?\d\d_({SLUGS})\.ipynb)")
MOST_MINUTES, MOST_WORDS = 25, 14_725
"""Of one notebook, and of all that are in order: three fifths of the 24,543 words that the course once had."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
FIGURE = re.compile(r"(?<![\w.,:/-])K?\d[\d,]*(?:\.\d+)?(?![\w/:-]|\.\d)")
NO_FIGURES = re.compile(
    r"`[^`]*`|\[[^\]]*\]\([^)]*\)|^#.*$|\*\*How long\*\*\n\n.*|RFC \d+|^\d+\. "
    r"|(?i:steps?|sections?|notebooks?) [\d.]+(?:(?:,| to| and| or) \d+)*",
    re.MULTILINE,
)
UNLINKED = re.compile(r"(?<![\[\w])[Nn]otebooks? \d+")


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def cells(notebook: Notebook) -> list[dict[str, Any]]:
    return list(json.loads(notebook.path.read_text("utf-8"))["cells"])


def shown(cell: dict[str, Any]) -> str:
    """What a code cell has printed and shown, as text."""
    return "\n".join("".join(each.get("text") or each["data"].get("text/plain", "")) for each in cell["outputs"])


@cache
def minutes(notebook: Notebook) -> int:
    """To the next five, exercises apart; what is made from the table counts for nothing."""
    taken = 0.0
    for cell in cells(notebook):
        lines = [line for line in source(cell).splitlines() if line.strip()]
        if cell["cell_type"] == "markdown":
            taken += 0 if cell["id"] in {"contents", "foot"} else len(source(cell).split()) / WORDS
        elif "exercise" not in cell["metadata"].get("tags", ()):
            taken += len(lines) / CODE + len(shown(cell).splitlines()) / OUTPUT
    return max(5, 5 * round(taken / 5))


def how_long(notebook: Notebook) -> str:
    count = sum("exercise" in each["metadata"].get("tags", ()) for each in cells(notebook))
    return f"About {minutes(notebook)} minutes{f', and {COUNTS[count]}' if count else ''}"


def link(notebook: Notebook, text: str = "") -> str:
    return f"[{text or f'{notebook.number}. {notebook.title}'}]({notebook.path.name})"


def contents(folder: str = "") -> str:
    """A row for each notebook, under its part; the first notebook's own table leaves itself out."""
    rows = ["| | notebook | what it is about | minutes |", "|---|---|---|---|"]
    for part, those in groupby(list(course().values())[0 if folder else 1 :], key=lambda each: each.part):
        of_part = list(those)
        rows.append(f"| | **{part}** | | **{sum(map(minutes, of_part))}** |")
        for each in of_part:
            title = f"[{each.title}]({folder}{each.within})"
            rows.append(f"| {each.number or ''} | {title} | {each.about} | {minutes(each)} |")
    return "\n".join(rows)


def readers() -> str:
    return "\n".join(
        f"- **{who}:** {', '.join(link(course()[slug], str(course()[slug].number)) for slug in slugs)}."
        for who, slugs in tomllib.loads(TABLE.read_text("utf-8"))["readers"].items()
    )


def foot(notebook: Notebook) -> str:
    order = [each for each in course().values() if each.number]
    start, place = order[0].path.name, notebook.number
    if not place:
        start = f"../{start}"
    ways = [f"Previous: {link(order[place - 2])}"] if place > 1 else []
    ways += [f"[Contents]({start}#Contents)"]
    ways += [f"Next: {link(order[place])}"] if 0 < place < len(order) else []
    return f"---\n\n{' · '.join([*ways, f'[Troubleshooting]({start}#Troubleshooting)'])}"


def renewed_notebook(notebook: Notebook, text: str) -> str:
    node = json.loads(text)
    if node["cells"][-1]["id"] != "foot":
        node["cells"].append({"cell_type": "markdown", "id": "foot", "metadata": {}})
    first = source(node["cells"][0])
    place = f"{notebook.number}. " if notebook.number else ""
    first = re.sub(r"^# .*", f"# {place}{notebook.title}", first)
    first = re.sub(r"(?<=\*\*How long\*\*\n\n)About \d+ minutes(, and \w+ exercises?)?", how_long(notebook), first)
    made = {
        node["cells"][0]["id"]: first,
        "contents": f"## Contents\n\n{contents()}\n\n{readers()}",
        "foot": foot(notebook),
    }
    for cell in node["cells"]:
        if cell["id"] in made:
            cell["source"] = made[cell["id"]].splitlines(keepends=True)
        fold_in_lab(cell["metadata"])
    return json.dumps(node, indent=1, ensure_ascii=False) + "\n"


def fold_in_lab(metadata: dict[str, Any]) -> None:
    """JupyterLab folds a cell's code where this is set: it is set where the tag is, and nowhere else."""
    if HIDDEN in metadata.get("tags", ()):
        metadata["jupyter"] = {"source_hidden": True}
    else:
        metadata.pop("jupyter", None)


def renewed_table(text: str) -> str:
    for each in course().values():
        text = re.sub(rf'(slug = "{each.slug}".* minutes = )\d+', rf"\g<1>{minutes(each)}", text)
    return text


def renewed(path: Path, text: str) -> str:
    """The text of a file as it follows from the table."""
    if path == TABLE:
        return renewed_table(text)
    text = NAMED.sub(lambda found: course()[found[1]].name, text)
    text = NUMBERED.sub(lambda found: f"[{found[1] or ''}{course()[found[3]].number}]({found[2]}", text)
    if path == PAGE:
        before, rest = text.split(MADE[0])
        return f"{before}{MADE[0]}{contents('../../notebooks/')}\n{MADE[1]}{rest.split(MADE[1], 1)[1]}"
    of_course = [each for each in course().values() if each.path == path]
    return renewed_notebook(of_course[0], text) if of_course else text


def rename() -> None:
    """Give each notebook the name that its place asks for, and remember the one that it had."""
    for each in course().values():
        if each.number and not each.path.exists():
            (found,) = FOLDER.glob(f"[0-9][0-9]_{each.slug}.ipynb")
            found.rename(each.path)
            had = ", ".join(f'"{name}"' for name in (found.stem, *each.former_names) if name != each.name)
            table = re.sub(
                rf'(slug = "{each.slug}".*?)(?:, was = \[.*?\])? }}', rf"\1, was = [{had}] }}", TABLE.read_text("utf-8")
            )
            TABLE.write_text(table, "utf-8")


def test_what_follows_from_the_table_is_as_it_says(request: pytest.FixtureRequest):
    renew = request.config.getoption("--renew")
    if renew:
        rename()
    assert {*FOLDER.rglob("*.ipynb")} == {*resources.notebooks()}
    stale = []
    for path in {*tracked(), *resources.notebooks()}:
        if path.suffix in TEXTS or path.parent.name == ".ci":
            text = path.read_text("utf-8")
            if (now := renewed(path, text)) != text:
                stale.append(path.relative_to(ROOT).as_posix())
                if renew:
                    path.write_text(now, "utf-8")
    assert renew or stale == [], "pytest tests/test_course.py --renew brings them up to date"


def test_each_notebook_is_short_enough_to_be_done_in_one_go():
    assert {each.name: minutes(each) for each in course().values() if minutes(each) > MOST_MINUTES} == {}
    prose = (
        source(each)
        for notebook in course().values()
        for each in cells(notebook)
        if notebook.number and each["cell_type"] == "markdown"
    )
    assert sum(len(each.split()) for each in prose) <= MOST_WORDS


PUBLIC = {"workbench", "workbench.errors", "workbench.certify", "workbench.going_live"}


def test_what_a_reader_copies_uses_public_names_only():
    imports = re.compile(r"^(?:from|import) (workbench[\w.]*)", re.MULTILINE)
    sources = {each.name: "\n".join(source(cell) for cell in cells(each)) for each in course().values()}
    assert {name: found for name, text in sources.items() if (found := {*imports.findall(text)} - PUBLIC)} == {}


def test_no_text_names_a_notebook_by_a_number_that_nothing_holds():
    found = []
    for path in tracked():
        if path.suffix in TEXTS and path != Path(__file__):
            text = path.read_text("utf-8")
            found += [f"{path.relative_to(ROOT)}: {each}" for each in UNLINKED.findall(text)]
    assert found == []


def figures(text: str) -> list[str]:
    """The numbers that prose tells, from 4 on; not those of steps, sections, standards and code."""
    return [each for each in FIGURE.findall(NO_FIGURES.sub("", text)) if digits(each) not in {"0", "1", "2", "3"}]


def digits(text: str) -> str:
    """A number as its digits, whether it is written 1,000.00, 1000.00 or, in ngwee, 100000."""
    return text.replace(",", "").replace(".", "").lstrip("K0") or "0"


def test_every_figure_in_prose_stands_in_the_code_or_the_output_of_its_notebook():
    missing = {}
    for notebook in course().values():
        solutions = [each.solution for each in EXERCISES if each.notebook == notebook.slug]
        run = "\n".join(
            [*solutions, *(f"{source(each)}\n{shown(each)}" for each in cells(notebook) if "outputs" in each)]
        )
        seen = {digits(each) for each in NUMBER.findall(run)}
        # K40.00 is 4000 ngwee, and a whole number of kwacha may be told without its ngwee.
        told = {
            each
            for cell in cells(notebook)
            if cell["cell_type"] == "markdown" and cell["id"] not in {"contents", "foot"}
            for each in figures(source(cell))
            if not {digits(each), digits(f"{each}.00"), digits(each.removesuffix(".00"))} & seen
        }
        if told:
            missing[notebook.name] = sorted(told)
    assert missing == {}


def test_every_link_of_a_notebook_leads_to_a_file_and_a_heading_that_are_there():
    there = {each.path: headings(each) for each in course().values()}
    there[resources.interface_path()] = set(re.findall(r'id="([^"]+)"', resources.interface_path().read_text("utf-8")))
    broken = []
    for notebook in course().values():
        texts = "\n".join(source(each) for each in cells(notebook) if each["cell_type"] == "markdown")
        for file, anchor in re.findall(r"\]\((?!https?:|/)([^)#]*)#?([^)]*)\)", texts):
            target = (notebook.path.parent / file).resolve() if file else notebook.path
            if not target.exists() or (anchor and anchor not in there.get(target, ())):
                broken.append(f"{notebook.name}: {file}#{anchor}")
    assert broken == []


def headings(notebook: Notebook) -> set[str]:
    """As JupyterLab and a page that the runner writes name them."""
    texts = (source(each) for each in cells(notebook) if each["cell_type"] == "markdown")
    found = (re.findall(r"^#+ (.+)$", text, re.MULTILINE) for text in texts)
    return {heading.replace(" ", "-") for each in found for heading in each}
