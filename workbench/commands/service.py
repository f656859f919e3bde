"""`workbench serve`, `gaps` and `openapi`: the service over HTTP, its register and its description."""

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.commands import FILE
from workbench.errors import InvalidRequest
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.sandbox.server import Address


_CHARGE = (
    '{"amount": 15000, "currency": "zmw", "type": "mobile_money", "channel": "mtn", '
    '"phone": "+260961234567", "reference": "order-1"}'
)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of this machine to answer at.")
@click.option("--port", type=click.IntRange(0, 65_535), default=4242, show_default=True, help="0 takes a free one.")
@click.option("--store", type=FILE, help="Keep the sandbox in this file; without it, it is thrown away.")
@click.option("--seed", metavar="TEXT", help="Makes keys and identifiers repeatable; without it, they are drawn anew.")
@click.option(
    "--clock",
    type=click.Choice(["running", "manual"]),
    default="running",
    show_default=True,
    help="running goes with the wall clock; manual moves when it is advanced, and not otherwise. In a store that had "
    "the other kind it goes on from the moment at which it stood.",
)
@click.option(
    "--gaps",
    "gaps_file",
    type=FILE,
    help="A TOML file of rows of the register to switch, such as: prompt_timeout_s = 60. The store does not keep them.",
)
@click.option("--webhook", metavar="URL", help="Where every event is sent; its signing secret is printed.")
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="A name to answer by beside 127.0.0.1, localhost and --host, such as a proxy's; may be given again.",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="How many processes share the store."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one line of JSON: base_url, secret_key, publishable_key, and webhook_secret with --webhook.",
)
def serve(  # noqa: PLR0913, PLR0917  one argument per option, handed over by name
    host: str,
    port: int,
    store: Path | None,
    seed: str | None,
    clock: str,
    gaps_file: Path | None,
    webhook: str | None,
    allow_hosts: tuple[str, ...],
    workers: int,
    as_json: bool,  # noqa: FBT001  a flag of the command line
) -> None:
    """Serve a sandbox over HTTP, on this machine's loopback unless --host says otherwise, until interrupted.

    Exit status 0 when it was asked to end, 2 when it cannot be served as asked.
    """
    from workbench.domain.gaps import Gaps
    from workbench.sandbox import ports, server
    from workbench.sandbox.store import Settings

    gaps = Gaps.chosen(_rows_in(gaps_file) if gaps_file else None)
    if not ports.is_loopback(host):
        warning = f"Warning: whoever reaches the port at {visible(host)} can use this sandbox; it has no TLS."
        click.echo(warning, err=True)
    settings = Settings(path=store, seed=seed, clock=clock, gaps=gaps)
    announce = _as_json if as_json else _for_people
    try:
        server.serve(
            settings, host=host, port=port, workers=workers, webhook=webhook, allow_hosts=allow_hosts, announce=announce
        )
    except InvalidRequest as error:
        # The only request made here creates the webhook endpoint.
        raise click.BadParameter(str(error), param_hint="--webhook") from None


def _rows_in(path: Path) -> dict[str, Any]:
    from workbench.domain.gaps import REGISTER

    try:
        rows = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise click.BadParameter(f"{path} cannot be read as TOML: {reason}.", param_hint="--gaps") from None
    known = {row.name for row in REGISTER}
    if tables := [name for name, value in rows.items() if isinstance(value, dict) and name not in known]:
        message = f"{path} has a table [{tables[0]}]; rows stand at the top, such as: prompt_timeout_s = 60"
        raise click.BadParameter(message, param_hint="--gaps")
    return rows


def _as_json(address: "Address") -> None:
    click.echo(json.dumps({name: value for name, value in address._asdict().items() if value is not None}))


def _for_people(address: "Address") -> None:
    signing = f"\n  signing secret   {address.webhook_secret}" if address.webhook_secret else ""
    click.echo(f"""The sandbox answers at {address.base_url}, a page to begin with. Ctrl-C ends it.

  secret key       {address.secret_key}
  publishable key  {address.publishable_key}{signing}

Try it:

  curl '{address.base_url}/v1/charges' -u {address.secret_key}: \\
    -H 'Content-Type: application/json' -H 'Idempotency-Key: order-1' \\
    -d '{_CHARGE}'
""")


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


@click.command()
@click.option("--out", type=FILE, help="Write to this file instead of printing.")
def openapi(out: Path | None) -> None:
    """Print the service's OpenAPI 3.1 description, with the register of gaps at its defaults.

    A served sandbox gives its own at /openapi.json.
    """
    from workbench.domain.gaps import Gaps
    from workbench.sandbox.openapi import document

    text = laid_out(document(Gaps()))
    if out is None:
        click.echo(text)
        return
    try:
        out.write_text(f"{text}\n", "utf-8")
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written: {error.strerror}.", param_hint="--out") from None
