"""The shipped notebooks and fixtures: inside an installed package, or at the top of a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def notebooks() -> list[Path]:
    """The shipped notebooks, in their order."""
    return sorted(_shipped("notebooks").glob("*.ipynb"))


def fixture(name: str) -> Path:
    """The shipped file of this name."""
    return _shipped("fixtures") / name


def _shipped(folder: str) -> Path:
    installed = _PACKAGE / folder
    return installed if installed.is_dir() else _PACKAGE.parent / folder
