"""Files: the shipped notebooks and fixtures, in a package or a checkout, and one way to write a file whole."""

import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).parent
_READABLE = 0o644


def notebooks() -> list[Path]:
    """The shipped notebooks, in their order."""
    return sorted(_shipped("notebooks").glob("*.ipynb"))


def fixture(name: str) -> Path:
    """The shipped file of this name."""
    return _shipped("fixtures") / name


def _shipped(folder: str) -> Path:
    installed = _PACKAGE / folder
    return installed if installed.is_dir() else _PACKAGE.parent / folder


def write_whole(path: Path, content: bytes) -> None:
    """Whole or not at all, even when this process is ended in the midst. Raises OSError: it cannot be written."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    half = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        half.chmod(_READABLE)
        half.replace(path)
    except OSError:
        half.unlink(missing_ok=True)
        raise
