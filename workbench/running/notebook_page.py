"""The page of a notebook: one file of HTML with contents, folds and two colour schemes, and without a script."""

import re
from itertools import chain, groupby
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from workbench.notebook_files import nbformat
from workbench.text.look import data_url, page

HIDDEN: Final = "hide-input"
"""The tag of a code cell whose code is folded, on the page and in JupyterLab, as in a Jupyter Book."""
_PARAMETERS: Final = ("parameters", "injected-parameters")
_PRIORITY: Final = ["text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain"]
"""No widgets: a page shows the HTML or text beside them."""
_NEXT: Final = re.compile(r'href="(?:\.\./|more/)?([\w-]+)\.ipynb(#[^"]*)?"')
"""A link to another notebook, whose page stands beside this one."""
_IMAGE: Final = re.compile(r'(<img\b[^>]*? src=)"(?!\w+:)([^"]+)"')
_WRITTEN: Final = re.compile(r"(<pre\b[^>]*>)(.*?)(?=</pre>)", re.DOTALL)
_ALIGNED: Final = re.compile(r"\S {2,}[^\s#]|\t|[\u2500-\u257f]")
"""In a line of text that stands in columns: gaps, but before a comment, or lines that are drawn."""
_LONG: Final = re.compile(r"<td\b([^>]*>(?=[^<]*[^<\s]{20}))")
_DRAWN: Final = frozenset(
    ["svg", "title", "desc", "style", "rect", "circle", "line", "polyline", "polygon", "text", "g"]
)
_ACTS: Final = re.compile(r"\s(?:on\w+|[\w:]*href)=|url\(|@import", re.IGNORECASE)


def write_page(node: nbformat.NotebookNode, path: Path, *, folder: Path) -> None:
    """Write the page of a notebook; the pictures that its text names, from `folder`, are in it."""
    from jinja2 import PackageLoader
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    exporter = HTMLExporter(
        config=Config(NbConvertBase={"display_data_priority": _PRIORITY}),
        extra_loaders=[PackageLoader("workbench")],
        template_file="notebook.html.j2",
        preprocessors=[_with_folds],
        filters={"only_drawn": _only_drawn, "unwrapped": unwrapped},
    )
    body, _ = exporter.from_notebook_node(node, resources={"metadata": {"name": path.stem}})
    # A heading without words, as the corner of a DataFrame has it, is none.
    body = body.replace("<th></th>", "<td></td>")
    body = _IMAGE.sub(lambda match: f'{match[1]}"{_embedded(folder, match[2])}"', body)
    body = _NEXT.sub(r'href="\1.html\2"', body)
    title = node.metadata.get("title", path.stem)
    # What its cells show may need scripts of their own, and pictures from elsewhere.
    path.write_text(page(title, "Notebook", body, sheets=["notebook.css"], is_bound=False), "utf-8")


def _embedded(folder: Path, source: str) -> str:
    """A picture's file as what stands for it; nbconvert's own way closes every tag of the text (its issue 2020)."""
    file, kind = folder / unquote(source), guess_type(source)[0] or ""
    if not kind.startswith("image/") or not file.is_file():
        return source
    return data_url(file.read_bytes(), kind)


def _only_drawn(svg: str) -> bool:
    """True if a picture is the workbench's own: it holds shapes and text for both schemes, and nothing active."""
    return 'class="wb-drawn"' in svg and {*re.findall(r"<(\w+)", svg)} <= _DRAWN and not _ACTS.search(svg)


def unwrapped(html: str) -> str:
    """A cell's output, with marks on lines that stand in columns and on cells that may be broken on paper."""
    marked = _WRITTEN.sub(lambda match: f"{match[1]}{_marked(match[2])}", html)
    return _LONG.sub(r"<td data-long\1", marked)


def _marked(text: str) -> str:
    # Colours may begin in one line and end in another.
    lines = [text] if "<" in text else text.splitlines(keepends=True)
    runs = ((is_aligned, "".join(run)) for is_aligned, run in groupby(lines, lambda line: bool(_ALIGNED.search(line))))
    return "".join(f'<span class="aligned">{run}</span>' if is_aligned else run for is_aligned, run in runs)


def _with_folds(node: nbformat.NotebookNode, resources: dict[str, Any]) -> tuple[nbformat.NotebookNode, dict[str, Any]]:
    """Give each cell whose code is folded the `fold` that says what is in it, and say whether it failed."""
    is_setup = False
    for cell in node.cells:
        tags = cell.metadata.get("tags", ())
        # Set-up: the cell with the parameters, and the code directly below it.
        is_setup = cell.cell_type == "code" and (is_setup or not {*_PARAMETERS}.isdisjoint(tags))
        if cell.cell_type == "code" and (is_setup or HIDDEN in tags):
            cell.metadata["fold"] = _summary(cell, tags, is_setup=is_setup)
            cell.metadata["failed"] = any(output.output_type == "error" for output in cell.outputs)
    return node, resources


def _summary(cell: nbformat.NotebookNode, tags: list[str], *, is_setup: bool) -> str:
    first = next(iter(cell.source.strip().splitlines()), "")
    if first.startswith("# "):
        return first.removeprefix("# ")
    if is_setup:
        return "Set-up" if {*_PARAMETERS}.isdisjoint(tags) else "Parameters"
    shown = {*chain.from_iterable(output.get("data", ()) for output in cell.outputs)}
    is_plot = any(media_type.startswith("image/") for media_type in shown)
    return "Code of the plot" if is_plot else "Checks for automated runs"
