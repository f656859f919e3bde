"""The command `workbench`, and how it shows errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from workbench.commands.analysis import reconcile, simulate
from workbench.commands.layouts import layout
from workbench.commands.notebooks import lab, run
from workbench.commands.service import gaps, openapi, serve
from workbench.errors import WorkbenchError
from workbench.visible import visible


class _Command(click.Group):
    """A WorkbenchError is shown as one line, with exit status 2; no message steers a terminal."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:  # noqa: ANN401  the base class's arguments
        with _visibly():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with _visibly():
                return super().invoke(ctx)
        except WorkbenchError as error:
            raise click.UsageError(str(error)) from None


@contextmanager
def _visibly() -> Iterator[None]:
    """Messages quote arguments and the names of files."""
    try:
        yield
    except click.ClickException as error:
        # Declared final, but every kind shows this attribute.
        vars(error)["message"] = visible(error.message, lines=True)
        raise


@click.group(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mobile-money-workbench")
def app() -> None:
    """An integration workbench for mobile-money payments in Zambia."""


for _each in (run, lab, serve, simulate, layout, reconcile, gaps, openapi):
    app.add_command(_each)
