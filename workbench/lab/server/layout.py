"""Where things stand when JupyterLab opens for the first time: the notebook left, the customer's handset right.

The handset is the output of the cell that is tagged `handset`, in a view of its own. JupyterLab restores such a view
by the notebook's path and the cell's place; it is empty until the cell has run.
"""

import json
from pathlib import Path
from typing import Any, Final

from workbench.errors import LabRefused

START: Final = "00_start_here.ipynb"
HANDSET: Final = "handset"
_SHARES: Final = (0.66, 0.34)
"""Of the width: notebook and handset."""


def first_notebook(folder: Path) -> Path:
    """The notebook to begin with, by its name.

    Raises LabRefused: there is none.
    """
    found = sorted(folder.glob("*.ipynb"))
    if not found:
        raise LabRefused(f"There is no notebook in {folder}.")
    return folder / START if folder / START in found else found[0]


def layout(notebook: Path) -> dict[str, Any]:
    """A workspace of JupyterLab with this notebook and, where one of its cells is tagged so, its handset."""
    views: dict[str, dict[str, str | int]] = {
        f"notebook:{notebook.name}": {"path": notebook.name, "factory": "Notebook"}
    }
    place = _handset_in(notebook)
    if place is not None:
        views[f"cloned-outputs:{notebook.name}:{place}"] = {"path": notebook.name, "index": place}
    areas = [{"type": "tab-area", "currentIndex": 0, "widgets": [name]} for name in views]
    sizes = _SHARES if len(areas) > 1 else (1,)
    dock = {"type": "split-area", "orientation": "horizontal", "sizes": sizes, "children": areas}
    restored = {"main": {"dock": dock, "current": next(iter(views))}}
    data = {"layout-restorer:data": restored, **{name: {"data": view} for name, view in views.items()}}
    return {"data": data, "metadata": {"id": "default"}}


def _handset_in(notebook: Path) -> int | None:
    """The place of the cell that shows a handset, counted from 0; None for a notebook that has none."""
    try:
        cells = json.loads(notebook.read_bytes())["cells"]
        tagged = (place for place, cell in enumerate(cells) if HANDSET in cell["metadata"].get("tags", ()))
        return next(tagged, None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # a notebook of theirs may be anything; JupyterLab shows what is wrong with it
