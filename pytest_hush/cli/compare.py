"""``hush compare``: two runs side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.common import print_line

if TYPE_CHECKING:
    from pytest_hush.report.compare import Compared


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with both runs' cases side by side.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON data in place of the table.")
@click.option(
    "--pack", "pack_source", default="", help="The pack that was measured, for the probes' texts on the page."
)
@click.option("--redact", "redacted", is_flag=True, help="Leave every text of a case out of the page.")
def compare(a: Path, b: Path, html: Path | None, as_json: bool, pack_source: str, redacted: bool) -> None:
    """Show run B beside run A: what changed, levels, paired differences, and which cases changed.

    A and B are run folders, records files (.jsonl), or what `hush baseline save` wrote. Runs of two instruments (pack,
    judge, rubric, policy) are refused with the field that differs. No gate is judged: the exit code is 0.
    """
    from pytest_hush.report import compare as comparing
    from pytest_hush.report.compare_text import data, render

    found = comparing.compare(comparing.read_side("A", a), comparing.read_side("B", b))
    if html is not None:
        _write(found, html, pack_source, redacted)
        click.echo(f"wrote {html.absolute()}: {html.stat().st_size / 1e6:.1f} MB", err=as_json)
    if as_json:
        click.echo(json.dumps(data(found), indent=2, ensure_ascii=True))
        return
    for line in render(found, width=shutil.get_terminal_size().columns):
        print_line(line)


def _write(found: Compared, html: Path, pack_source: str, asked: bool) -> None:
    from pytest_hush.cli.report import measured_pack
    from pytest_hush.report import redact
    from pytest_hush.report.html import write_page
    from pytest_hush.report.html.compare_page import render_comparison

    bare = [s for s in (found.a, found.b) if s.kind == "records file"]
    known = measured_pack(found.b.scores.records, pack_source)
    # A records file does not say whether its pack is private; a bundled pack does.
    private = any(s.private for s in (found.a, found.b) if s not in bare) or (
        bool(bare) and (known is None or known.private)
    )
    why = redact.why(private=private, asked=asked)
    write_page(html.absolute(), render_comparison(found, pack=None if why else known, redacted=why), option="--html")
