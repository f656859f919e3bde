"""Access to shipped files, reading of TOML, atomic writing, and `Closing`, the base of objects that must be closed."""

import os
import re
import tempfile
import tomllib
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from workbench.errors import RunRefused

_PACKAGE = Path(__file__).parent
_READABLE = 0o644


class Notebook(NamedTuple):
    """A notebook of the course, or one in addition to it, as notebooks/course.toml describes it."""

    number: int
    """The position in the course, from 1; 0 for a notebook outside of the course."""
    part: str
    slug: str
    """The notebook's name without its number."""
    title: str
    about: str
    minutes: int
    former_names: tuple[str, ...] = ()
    """Former names of the file without extension, the latest first."""

    @property
    def name(self) -> str:
        """The file's name without its extension."""
        return f"{self.number:02}_{self.slug}" if self.number else self.slug

    @property
    def within(self) -> str:
        """The path of the file within the folder of notebooks."""
        return f"{self.name}.ipynb" if self.number else f"more/{self.name}.ipynb"

    @property
    def path(self) -> Path:
        """The notebook's file."""
        return _shipped("notebooks") / self.within


@cache
def course() -> dict[str, Notebook]:
    """Slug → notebook, in the order of the course; notebooks outside of the course come last."""
    table = tomllib.loads((_shipped("notebooks") / "course.toml").read_text("utf-8"))
    places = count(1)
    return {
        row["slug"]: Notebook(
            **row | {"former_names": tuple(row.get("former_names", ()))},
            part=part["title"],
            number=0 if "beside" in part else next(places),
        )
        for part in table["parts"]
        for row in part["notebooks"]
    }


def notebooks() -> list[Path]:
    """The shipped notebooks, in the order of the course."""
    return [notebook.path for notebook in course().values()]


def former_names() -> dict[str, list[str]]:
    """Path of a notebook within the notebooks' folder → names of the files that it replaces."""
    return {notebook.within: [f"{old}.ipynb" for old in notebook.former_names] for notebook in course().values()}


def notebook_name(slug: str) -> str:
    """The name of a notebook's file without extension; the slug itself if this version has no such notebook."""
    return course()[slug].name if slug in course() else slug


def notebook(name_or_path: str) -> Path:
    """The notebook at this path, or else the shipped one with this name.

    The number before a shipped name and the extension may be omitted; the number may be that of another version.

    Raises RunRefused: no file and no shipped notebook has this name. A path that contains a folder is returned
    unchecked.
    """
    path = Path(name_or_path)
    if path.is_file() or path.name != name_or_path:
        return path
    shipped = {_slug(name): row.path for row in course().values() for name in (*row.former_names, row.slug)}
    slug = _slug(name_or_path.removesuffix(".ipynb"))
    if slug in shipped:
        return shipped[slug]
    from difflib import get_close_matches

    close = get_close_matches(slug, shipped, n=1, cutoff=0.5)
    hint = f"Did you mean {shipped[close[0]].stem}?" if close else f"The shipped notebooks are: {', '.join(course())}."
    raise RunRefused(f"{name_or_path} is not a notebook here, and no shipped notebook has that name.", hint=hint)


def _slug(name: str) -> str:
    return re.sub(r"^\d+_", "", name)


def interface_path() -> Path:
    """The Markdown file about the interface; it is in the notebooks' folder, so that notebooks can link to it."""
    return _shipped("notebooks") / "interface.md"


def guide_paths() -> dict[str, Path]:
    """Name of a page of the documentation → its Markdown file."""
    return {path.stem: path for path in (_PACKAGE / "docs").glob("*.md")}


def console(name: str) -> Path:
    """A file of the console, by its path below the console's folder; also `look.css`, which all pages share."""
    return _PACKAGE / ("templates" if name == "look.css" else "lab/console") / name


def fixture(name: str) -> Path:
    """The shipped file of this name."""
    return _shipped("fixtures") / name


def _shipped(folder: str) -> Path:
    installed = _PACKAGE / folder
    return installed if installed.is_dir() else _PACKAGE.parent / folder


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all, even if this process is killed. Raises OSError: it cannot be written."""
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


def read_toml(content: bytes) -> dict[str, Any]:
    """The content of a TOML file, with or without a byte-order mark.

    Raises ValueError: not UTF-8 or not TOML; put the file's name before the message, which begins with "is".
    """
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        message = str(error).replace("Cannot overwrite a value", "A key stands twice")
        raise ValueError(f"is not TOML: {message}") from None


_KINDS: Final = {
    "int": "a whole number", "float": "a number with a point", "str": "a text", "bool": "true or false",
    "array": "a list", "object": "a table", "null": "nothing",
}  # fmt: skip
_MISMATCH: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")


def wrong_kind(error: Exception) -> str:
    """A message of msgspec about a wrong type in plain words (`takes a list, not a text`); other messages unchanged."""
    match = _MISMATCH.match(str(error))
    if not match:
        return str(error)
    expected, actual = (" or ".join(_KINDS.get(kind, kind) for kind in text.split(" | ")) for text in match.groups())
    return f"takes {expected}, not {actual}"


class Closing:
    """A context manager that calls `close` at the end of its block."""

    def close(self) -> None:
        """Releases everything that the object holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
