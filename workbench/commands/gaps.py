"""`workbench gaps`: the register of what the interface leaves open."""

import json

import click


def laid_out(value: object) -> str:
    """JSON for a person or a file."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def gaps(names: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001  a flag of the command line
    """Show what the interface leaves open and what this sandbox does about it: all rows, or those of NAMES.

    A value marked "planned" is known and not built yet; choosing it is refused.
    """
    from workbench.domain.gaps import rows_named

    rows = rows_named(names)
    if as_json:
        click.echo(laid_out([row.as_record() for row in rows]))
    else:
        click.echo("\n\n".join(row.as_text() for row in rows))
