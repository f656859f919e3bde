"""`workbench run` and `workbench lab`: notebooks executed headlessly, or opened in JupyterLab."""

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.commands import FOLDER, PATH, PORT, show
from workbench.visible import visible

if TYPE_CHECKING:
    from workbench.lab.server import Pages

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
    results = notebook_runs.run(chosen, parameters=dict(parameter), out=out, jobs=jobs, solutions=solutions)
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
    bring({resources.interface().name: resources.interface()}, folder)
    click.echo(f"Notebooks in {visible(str(folder))}: {visible(str(copies))}.")

    def tell(url: str) -> None:
        click.echo(f"JupyterLab answers at {url}\nCtrl-C ends it and its kernels.")

    launch(folder, bound.base_url, pages=_pages(), browser=not no_browser, tell=tell)


def _pages() -> "Pages":
    """The public pages of a served sandbox, without the first, which leads to calls; the register has its defaults."""
    from workbench.domain.gaps import Gaps
    from workbench.sandbox.messages import InForce, Request
    from workbench.sandbox.openapi.pages import PAGES, Page

    def shown(path: str, page: Page, name: str) -> tuple[str, Mapping[str, str], bytes]:
        response = page(Request(method="GET", path=path, path_params={"name": name}), InForce(Gaps()))
        body = response.made() if response.made else response.body
        return response.content_type, response.headers, body

    return {path: partial(shown, path, page) for path, page in PAGES.items() if path != "/"}
