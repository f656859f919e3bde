"""The packages that the base installation omits, and the extras that install them."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from workbench.errors import ExtraMissing

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "analyst": ("duckdb", "matplotlib", "narwhals", "pandas", "pyarrow", "python_calamine", "rich", "xlsxwriter"),
    "lab": (
        "IPython", "anywidget", "ipykernel", "ipywidgets", "jupyterlab", "jupyterlab_server", "nbconvert", "nbformat",
        "papermill", "traitlets",
    ),
    "spark": ("pyspark",),
    "sql": ("adbc_driver_manager", "adbc_driver_postgresql", "adbc_driver_sqlite"),
}  # fmt: skip
"""Extra → its modules; a module that several extras install is listed at the smallest of these extras."""
_EXTRA_OF: Final = {module: extra for extra, modules in MODULES.items() for module in modules}


def how_to_install(extra: str) -> str:
    """The command that installs an extra from a checkout or a wheel; the package is in no registry."""
    return f"In the checkout: pip install '.[{extra}]' (with a wheel: pip install 'FILE.whl[{extra}]')"


@contextmanager
def extras_named() -> Iterator[None]:
    """In a block or decorated function, raises ExtraMissing instead of ModuleNotFoundError for a module of an extra.

    ExtraMissing names the extra to install.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRA_OF:
            raise
        extra = _EXTRA_OF[module]
        raise ExtraMissing(
            f"{module} is not installed; it comes with the extra {extra!r}.", hint=how_to_install(extra)
        ) from error


@contextmanager
def httpx_alone() -> Iterator[None]:
    """In the block, imports httpx without its command line, which would load rich and more than double the time."""
    is_hidden = sys.modules.setdefault("httpx._main", None) is None  # type: ignore[arg-type]  # it is then not found
    try:
        yield
    finally:
        if is_hidden:
            del sys.modules["httpx._main"]
