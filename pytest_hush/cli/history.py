"""``hush history``: UIS through saved baselines."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from pytest_hush.cli.common import print_line


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--svg", type=click.Path(path_type=Path), help="Write the charts as one SVG picture.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with the charts and every number of them.")
def history(folder: Path, svg: Path | None, html: Path | None) -> None:
    """Show UIS by commit and condition, from the baselines in DIR (what `hush baseline save` wrote, in any names).

    They are ordered by the moment they were measured, then by name; those in folders directly below DIR count too.
    Where the instrument changed, the line is broken. What is no baseline is left out and named. The exit code is 0.
    """
    from pytest_hush.report.history import read_history
    from pytest_hush.report.history_text import render

    found = read_history(folder)
    for line in render(found, width=shutil.get_terminal_size().columns):
        print_line(line)
    if svg is not None:
        from pytest_hush.report.html.history_svg import picture

        _keep(svg, picture(found), "--svg")
    if html is not None:
        from pytest_hush.report.html.history_page import render_history

        _keep(html, render_history(found), "--html")


def _keep(path: Path, text: str, option: str) -> None:
    from pytest_hush.report.html import write_page

    write_page(path.absolute(), text, option=option)
    click.echo(f"wrote {path.absolute()}")
