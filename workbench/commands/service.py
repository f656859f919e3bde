"""`workbench serve`, `gaps`, `fit`, `openapi`, `docs`, `run` and `lab`: the service, its pages, and the notebooks."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.alternatives import report_opening, switched_rows
from workbench.commands import FILE, FOLDER, PATH, PORT, gaps_option, show, show_page
from workbench.errors import InvalidRequest, StateConflict
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.lab.server import Pages
    from workbench.sandbox.server import Address


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of this machine to listen on.")
@click.option("--port", type=PORT, metavar="N", default=4242, show_default=True, help="The port; 0 takes a free one.")
@click.option("--store", type=FILE, help="Keep the sandbox in this file; without --store, it is thrown away.")
@click.option("--seed", metavar="TEXT", help="Make keys and identifiers the same each time.")
@click.option(
    "--clock",
    type=click.Choice(["running", "manual"]),
    default="running",
    show_default=True,
    help="running follows the wall clock and can be advanced; manual moves only when it is advanced. If you reopen a "
    "store with the other kind of clock, its time continues where it stopped.",
)
@gaps_option
@click.option("--webhook", metavar="URL", help="Send every event to this URL, and print the signing secret.")
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="Answer to this name too, beside 127.0.0.1, localhost and --host, such as the name of a proxy. "
    "May be repeated.",
)
@click.option(
    "--allow-origin",
    "allow_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin, such as http://localhost:3000, do what a publishable key may do, and nothing else. "
    "May be repeated.",
)
@click.option(
    "--allow-private-receivers",
    "private_receivers",
    is_flag=True,
    help="Send webhooks to private networks too (10/8, 172.16/12, 192.168/16, fc00::/7), such as other containers.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    default=1,
    show_default=True,
    help="The number of processes that share the store.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one line of JSON: base_url, secret_key, publishable_key, console_url; webhook_secret with --webhook; "
    "email and password with token_credentials = one_account.",
)
@click.option("--open", "in_browser", is_flag=True, help="Open the console in a browser.")
@click.option(
    "--quiet",
    is_flag=True,
    help="Leave out the lines on standard error: those of requests and deliveries, and further links to the console.",
)
def serve(  # noqa: PLR0913  one argument per option, handed over by name
    *,
    host: str,
    store: Path | None,
    seed: str | None,
    clock: str,
    rows: dict[str, Any] | None,
    private_receivers: bool,
    as_json: bool,
    in_browser: bool,
    **more: Any,  # noqa: ANN401  the options that the server takes by the same names
) -> None:
    """Serve a sandbox over HTTP, until interrupted.

    The printed link opens the console in a browser once; after that, standard error shows a new link.

    --gaps switches rows of the register. The file of --store does not keep these values: give --gaps each time.

    The sandbox answers only this machine, unless --host names another address. Standard error has a line for each
    request and each delivery, in colours on a terminal unless NO_COLOR is set.

    Exit status 0 when the sandbox was asked to end, 2 when it cannot start.
    """
    from workbench.domain.gaps import Gaps
    from workbench.sandbox import server
    from workbench.sandbox.store import Settings

    if more["webhook"] == "":
        # An unset variable of a script: without the refusal, its shop would wait for messages in vain.
        raise click.BadParameter("The URL is empty.", param_hint="--webhook")
    gaps = Gaps.chosen(switched_rows(rows))
    if not server.serves_loopback(host):
        warning = f"Warning: anybody who reaches the port at {visible(host)} can use this sandbox; it has no TLS."
        click.echo(warning, err=True)
    if private_receivers:
        click.echo("Warning: anybody with a key can make this sandbox call hosts in your private networks.", err=True)
    settings = Settings(path=store, seed=seed, clock=clock, gaps=gaps, private_receivers=private_receivers)

    def announce(address: "Address") -> None:
        if as_json:
            values = {name: value for name, value in address._asdict().items() if value is not None}
            click.echo(json.dumps(values))
        else:
            _for_people(address)
        if in_browser:
            click.launch(str(address.console_url))

    try:
        server.serve(settings, host=host, announce=announce, opened=report_opening, **more)
    except (InvalidRequest, StateConflict) as error:
        # Nothing else that raises these is done here but to register the webhook endpoint.
        raise click.BadParameter(str(error), param_hint="--webhook") from None


def _for_people(address: "Address") -> None:
    signing = f"\n  signing secret   {address.webhook_secret}" if address.webhook_secret else ""
    account = f"\n  e-mail, password {address.email}  {address.password}" if address.email else ""
    click.echo(f"""The sandbox answers at {address.base_url}. Ctrl-C ends it.

  console          {address.console_url}
                   (open it in a browser; the link works once)
  secret key       {address.secret_key}
  publishable key  {address.publishable_key}{signing}{account}

Try it:

  curl '{address.base_url}/v1/charges' \\
    -u {address.secret_key}: -H 'Idempotency-Key: order-1' \\
    -H 'Content-Type: application/json' \\
    -d '{{"amount": 15000, "currency": "zmw", "type": "mobile_money",
         "channel": "mtn", "phone": "+260961234567", "reference": "order-1"}}'
""")


def laid_out(value: object) -> str:
    """The value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "form", flag_value="json", help="Print the rows as JSON.")
@click.option(
    "--toml",
    "form",
    flag_value="toml",
    help="Print the rows as TOML, each with its other values in a comment: a first draft of a file for "
    "`workbench serve --gaps`.",
)
def gaps(names: tuple[str, ...], form: str | None) -> None:
    """Look up what the interface leaves open, and what the sandbox does.

    Without NAMES, a table lists all rows. Named rows are shown in full.
    A TOML file for `workbench serve --gaps` switches alternatives on. `workbench docs interface` prints the
    interface itself, section by section. `workbench fit` finds values of rows in recorded traffic.

    Exit status 0 when the rows are shown, 2 when there is no such row.
    """
    from workbench.domain.gaps import Gaps, gaps_named
    from workbench.register import GapRows

    named = {row.name for row in gaps_named(names)}
    rows = GapRows(row for row in Gaps().as_records() if row["name"] in named)
    if form == "json":
        click.echo(laid_out([*rows]))
    elif form == "toml":
        for row in rows:
            others = ", ".join(json.dumps(choice["value"]) for choice in row["alternatives"]) or "nothing else"
            click.echo(f"# {row['asks']}\n{row['name']} = {json.dumps(row['value'])}  # or: {others}\n")
    else:
        show(*(rows if names else [rows]))


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=PATH, metavar="FILE…")
@click.option("--out", type=FILE, help="Write the shown values to this file, as TOML for `workbench serve --gaps`.")
@click.option(
    "--letter",
    "letter_file",
    type=FILE,
    help="Write a letter to the provider, in Markdown: it asks the provider to confirm what was seen.",
)
def fit(recordings: tuple[Path, ...], out: Path | None, letter_file: Path | None) -> None:
    """Fit the sandbox to recorded traffic of the real service.

    FILE is a HAR file, or a folder of them. The table says of each row of the register whether the exchanges show its
    value, contradict each other, or leave the row open, and what was seen of it. Keys, secrets and phone numbers are
    masked before anything is read.

    Exit status 0 when the files were read, 2 when one is rejected.
    """
    from workbench.domain.gaps import Gaps
    from workbench.register import letter
    from workbench.traffic.evidence import fit as fitted

    evidence = fitted(*recordings)
    if out:
        write_out(out, evidence.toml)
    if letter_file:
        write_out(letter_file, letter(Gaps().as_records(), evidence.seen))
    show(evidence)


@click.command()
@click.option("--out", type=FILE, help="Write to this file instead of printing.")
def openapi(out: Path | None) -> None:
    """Print the service's OpenAPI 3.1 description.

    It describes a sandbox with the register's defaults. A served sandbox describes itself at /openapi.json.
    """
    from workbench.domain.gaps import Gaps
    from workbench.sandbox.openapi.document import document

    text = laid_out(document(Gaps()))
    write_out(out, f"{text}\n") if out else click.echo(text)


@click.command()
@click.argument("page", default="index")
@click.option("--out", type=FILE, help="Write the page to this file, as Markdown (.md) or as HTML (.html).")
@click.option("--open", "in_browser", is_flag=True, help="Open the documentation in a browser, at this page.")
def docs(*, page: str, out: Path | None, in_browser: bool) -> None:
    """Print a page of the documentation, or open it in a browser.

    PAGE is index unless you name another; index lists all pages. For each section of the provider's interface, the
    page `interface` says what the interface shows, what it leaves open, and what the sandbox does there.

    A served sandbox shows the same pages at /docs/guide.

    Exit status 0 when the page is shown or written, 2 when there is no such page or it cannot be written.
    """
    from workbench.sandbox.openapi import pages

    if page not in pages.names():
        raise click.BadParameter(f"{page!r} is not one of {', '.join(pages.names())}.", param_hint="PAGE")
    if in_browser:
        folder = Path(tempfile.mkdtemp(prefix="workbench-docs-"))
        for name in pages.names():
            write_out(folder / f"{name}.html", pages.single_file(name, linked=True))
        path = str(folder / f"{page}.html")
        click.echo(visible(path))
        click.launch(path)
    if out is None:
        if not in_browser:
            show_page(pages.markdown(page))
        return
    if out.suffix not in {".md", ".html"}:
        raise click.BadParameter(f"{out} must end in .md or .html.", param_hint="--out")
    write_out(out, pages.markdown(page) if out.suffix == ".md" else pages.single_file(page, linked=False))


def write_out(out: Path, text: str) -> None:
    """Writes the file of `--out`. Raises BadParameter: the file cannot be written."""
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written: {error.strerror}.", param_hint="--out") from None


_JOBS = min(2, os.cpu_count() or 1)


@click.command()
@click.argument("notebooks", nargs=-1)
@click.option(
    "-p", "--parameter", nargs=2, multiple=True, metavar="NAME VALUE", help="Set a parameter. May be repeated."
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="FOLDER",
    default="executed",
    show_default=True,
    help="The folder for the executed notebooks, their pages and junit.xml.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    default=_JOBS,
    show_default=True,
    help="How many notebooks run at a time.",
)
@click.option("--solutions", is_flag=True, help="Solve the exercises too; every check must then pass.")
def run(
    notebooks: tuple[str, ...], parameter: tuple[tuple[str, str], ...], out: Path, jobs: int, *, solutions: bool
) -> None:
    """Execute notebooks from top to bottom, and write a page of each.

    NOTEBOOKS are files, or names of shipped notebooks such as verify_webhooks; without
    names, all shipped notebooks run.

    Exit status 0 when every cell ran, 1 when a cell failed, 2 when the notebooks cannot be run or somebody interrupted
    the run.
    """
    from workbench import notebook_runs, resources

    chosen = [resources.notebook(name) for name in notebooks] or resources.notebooks()
    results = notebook_runs.run_notebooks(chosen, parameters=dict(parameter), out=out, jobs=jobs, solutions=solutions)
    show(*notebook_runs.run_summary(results, out))
    sys.exit(0 if all(result.passed for result in results) else 1)


@click.command()
@click.argument("folder", type=PATH, default=Path("workbench-notebooks"))
@click.option("--port", type=PORT, metavar="N", default=8888, show_default=True, help="The port; 0 takes a free one.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def lab(folder: Path, port: int, *, no_browser: bool) -> None:
    """Open JupyterLab on your copy of the notebooks.

    The command copies the notebooks into FOLDER (workbench-notebooks unless you name another). JupyterLab runs until
    you interrupt it. It answers only requests from this machine that carry its token.

    A notebook that you have changed is never overwritten; to get the original again, delete your copy.

    Exit status 0 when JupyterLab was asked to end, 2 when it cannot start.
    """
    # JupyterLab takes seconds to load.
    click.echo("Starting JupyterLab …", err=True)
    from workbench import resources
    from workbench.lab.server import bring, launch
    from workbench.sandbox.server import free_port

    bound = free_port(port)
    shipped = {notebook.within: notebook.path for notebook in resources.course().values()}
    copies = bring(shipped, folder, resources.former_names())
    bring({resources.interface_path().name: resources.interface_path()}, folder)
    click.echo(f"Notebooks in {visible(str(folder))}: {visible(str(copies))}.")

    def tell(url: str) -> None:
        click.echo(f"JupyterLab answers at {url}\nCtrl-C ends it and its kernels.")

    launch(folder, bound.base_url, pages=_pages(), browser=not no_browser, tell=tell)


def _pages() -> "Pages":
    """The public pages of a served sandbox except `/`, for JupyterLab to show, with the register's defaults."""
    from workbench.domain.gaps import Gaps
    from workbench.sandbox.messages import InForce, Request
    from workbench.sandbox.openapi.pages import PAGES, Page

    def shown(path: str, page: Page, name: str) -> tuple[str, Mapping[str, str], bytes]:
        response = page(Request(method="GET", path=path, path_params={"name": name}), InForce(Gaps()))
        body = response.make_body() if response.make_body else response.body
        return response.content_type, response.headers, body

    return {path: partial(shown, path, page) for path, page in PAGES.items() if path != "/"}
