"""The shipped notebooks in somebody's folder: brought and kept up to date, and never written over what is theirs."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from workbench.errors import LabRefused

OURS: Final = ".workbench"
"""The folder within theirs that holds what the workbench remembers of it."""
_BROUGHT: Final = "brought.json"
"""Name → SHA-256 of each notebook as it was last brought: what still has it was not changed since."""
_READABLE: Final = 0o644


class Copies(NamedTuple):
    """The names of the shipped notebooks, by what became of each."""

    new: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    """Changed by the person, or never brought by the workbench: left as they are."""

    @property
    def shipped(self) -> tuple[str, ...]:
        """Those that are as they were shipped."""
        return (*self.new, *self.updated, *self.same)

    def __str__(self) -> str:
        counted = [(self.new, "new"), (self.updated, "brought up to date"), (self.same, "as shipped")]
        parts = [f"{len(names)} {outcome}" for names, outcome in counted if names]
        if self.theirs:
            parts.append(f"{len(self.theirs)} of your own, left as they are ({', '.join(self.theirs)})")
        return ", ".join(parts)


def bring(shipped: Iterable[Path], folder: Path) -> Copies:
    """Copy the shipped notebooks into a folder, which is made where there is none.

    A notebook that is not there is written; one that is as it was last brought is replaced by a newer one; any other
    is left alone, whatever it is. To have one anew, delete it.

    Raises LabRefused: the folder cannot be made or written.
    """
    try:
        remembered = folder / OURS / _BROUGHT
        remembered.parent.mkdir(parents=True, exist_ok=True)
        before = _read(remembered)
        became: dict[str, list[str]] = {name: [] for name in Copies._fields}
        hashes = dict(before)
        for source in sorted(shipped):
            content = source.read_bytes()
            outcome = _outcome(folder / source.name, _hash(content), before.get(source.name))
            became[outcome].append(source.name)
            if outcome in {"new", "updated"}:
                _write(folder / source.name, content)
            if outcome != "theirs":
                hashes[source.name] = _hash(content)
        if hashes != before:
            _write(remembered, json.dumps(hashes, indent=1, sort_keys=True).encode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "Name another folder: workbench lab FOLDER."
        raise LabRefused(f"The notebooks cannot be written into {folder}: {reason}.", hint=hint) from None
    return Copies(**{outcome: tuple(names) for outcome, names in became.items()})


def _outcome(target: Path, shipped: str, brought: str | None) -> str:
    """What becomes of a shipped notebook whose content has this hash, as a field of Copies."""
    if not os.path.lexists(target):
        return "new"
    found = _hash(target.read_bytes()) if target.is_file() and not target.is_symlink() else None
    if found == shipped:
        return "same"
    return "updated" if found and found == brought else "theirs"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[str, str]:
    """What was remembered; nothing where it cannot be understood, and then every other notebook is theirs."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return {str(name): str(each) for name, each in found.items()} if isinstance(found, dict) else {}


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, even when this process is ended in the midst."""
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
