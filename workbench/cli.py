"""The command `workbench`: its commands by group, and how it shows errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click

from workbench.commands.analysis import layout, reconcile, simulate
from workbench.commands.service import docs, fit, gaps, lab, openapi, run, serve
from workbench.commands.shop import certify, check_live, each
from workbench.errors import WorkbenchError
from workbench.extras import extras_named
from workbench.visible import visible

COMMANDS: Final[Mapping[str, tuple[click.Command, ...]]] = {
    "Learn": (lab, run, docs),
    "Serve": (serve, openapi, gaps, fit),
    "Check": (each, certify, check_live, simulate, layout, reconcile),
}
"""Group → its commands, in the order of the help."""


class _Command(click.Group):
    """Shows a WorkbenchError as a usage error with exit status 2; control characters in messages become symbols."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands in their groups, each command with the first sentence of its help."""
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                # One width for all the groups; a long sentence is wrapped, never cut off.
                width = max(len(name) for name in self.commands)
                longest = formatter.width * 2
                rows = [(f"{command.name:<{width}}", command.get_short_help_str(longest)) for command in commands]
                formatter.write_dl(rows)

    def make_context(self, *args: Any, **more: Any) -> click.Context:  # noqa: ANN401  the base class's arguments
        with _visibly():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with _visibly(), extras_named():
                return super().invoke(ctx)
        except WorkbenchError as error:
            raise click.UsageError(str(error)) from None


@contextmanager
def _visibly() -> Iterator[None]:
    """In the block, control characters in the messages of click errors, which quote arguments, become symbols."""
    try:
        yield
    except click.ClickException as error:
        # The attribute is declared final, but every kind of error shows it.
        vars(error)["message"] = visible(error.message, lines=True)
        raise


@click.group(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mobile-money-workbench")
def app() -> None:
    """An integration workbench for mobile-money payments in Zambia."""


for _group in COMMANDS.values():
    for _command in _group:
        app.add_command(_command)

if __name__ == "__main__":
    app(prog_name="workbench")
