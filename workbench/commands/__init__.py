"""The commands of `workbench`. Slow imports wait until a command is called."""

from pathlib import Path
from typing import Final

import click

PATH: Final = click.Path(path_type=Path)
FILE: Final = click.Path(path_type=Path, dir_okay=False)
PLACE: Final = click.Path(path_type=str, dir_okay=False)
"""A file's path, or the address of a database, of which a path would make another."""
FOLDER: Final = click.Path(path_type=Path, file_okay=False)
