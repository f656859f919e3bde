"""`python -m workbench`: the same as the command `workbench`."""

from workbench.cli import app

app(prog_name="workbench")
