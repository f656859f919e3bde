"""`workbench openapi`: the description of the service, without a sandbox."""

from pathlib import Path

import click

from workbench.commands.gaps import laid_out


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead of printing.")
def openapi(out: Path | None) -> None:
    """Print the service's OpenAPI 3.1 description, with the register of gaps at its defaults.

    A served sandbox gives its own at /openapi.json.
    """
    from workbench.domain.gaps import Gaps
    from workbench.sandbox.openapi import document

    text = laid_out(document(Gaps()))
    if out is None:
        click.echo(text)
    else:
        try:
            out.write_text(f"{text}\n", "utf-8")
        except OSError as error:
            raise click.BadParameter(f"{out} cannot be written: {error.strerror}.", param_hint="--out") from None
