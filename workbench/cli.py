"""The command `workbench`: what it offers, and how it says that something cannot be."""

import click

from workbench.commands.gaps import gaps
from workbench.commands.lab import lab
from workbench.commands.openapi import openapi
from workbench.commands.reconcile import reconcile
from workbench.commands.run import run
from workbench.commands.serve import serve
from workbench.commands.simulate import simulate
from workbench.errors import WorkbenchError


class _Command(click.Group):
    """What this package raises on purpose is shown as one line, with exit status 2."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except WorkbenchError as error:
            raise click.UsageError(str(error)) from None


@click.group(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mobile-money-workbench")
def app() -> None:
    """An integration workbench for mobile-money payments in Zambia."""


for _each in (run, lab, serve, simulate, reconcile, gaps, openapi):
    app.add_command(_each)
