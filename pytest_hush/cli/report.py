"""``hush report``: a finished run as a page, as Markdown, or both."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.runs import opened
from pytest_hush.cli.show import bundled_pack
from pytest_hush.errors import UsageError
from pytest_hush.private import write_private
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_hush.model import Pack, Record
    from pytest_hush.thresholds import Mode

DEFAULT = Path("hush-report.html")


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--thresholds", required=True, help="Gate file: a bundled name or a TOML file.")
@click.option("--mode", type=click.Choice(["pr", "release"]), help="As for --hush-mode. [default: the run's own mode]")
@click.option("--out", type=click.Path(path_type=Path), help=f"The page. [default: {DEFAULT}, without --markdown]")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write Markdown for a pull request's comment here.")
@click.option("--baseline", type=click.Path(path_type=Path), help="The run to compare with, as for --hush-baseline.")
@click.option("--anchor", type=click.Path(path_type=Path), help="The last release's run, as for --hush-anchor.")
@click.option(
    "--calibration",
    "calibrations",
    multiple=True,
    type=click.Path(path_type=Path),
    help="What `hush judge calibrate` wrote of the run's judge, as for --hush-calibration; repeatable.",
)
@click.option("--pack", "pack_source", default="", help="The pack that was measured, for the probes' texts.")
@click.option("--whole", is_flag=True, help="Keep every text whole, however large the page becomes.")
@click.option("--redact", "redacted", is_flag=True, help="Leave out every text of a case.")
def report(
    run: Path | None,
    thresholds: str,
    mode: Mode | None,
    out: Path | None,
    markdown: Path | None,
    baseline: Path | None,
    anchor: Path | None,
    calibrations: tuple[Path, ...],
    pack_source: str,
    whole: bool,
    redacted: bool,
) -> None:
    """Write the report of the finished RUN (a run folder; by default the last one under ./.hush).

    The page is one file that loads nothing. The Markdown fits a comment on a pull request. Verdicts are those of the
    gate file, as `hush gate` gives them; the exit code is 0 whatever they are. Of a private pack, or with --redact, no
    text of a case is written. Probes' texts are shown for bundled packs, and for the one that --pack names.
    """
    from pytest_hush.report.html import Material, render_page, write_page
    from pytest_hush.report.markdown import comment
    from pytest_hush.report.rejudge import rejudge_run

    folder = opened(run)
    found = rejudge_run(
        folder,
        thresholds,
        mode=mode,
        references={"baseline": baseline, "anchor": anchor},
        today=datetime.datetime.now(tz=datetime.UTC).date(),
        warn=lambda text: click.echo(f"WARNING: {text}", err=True),
        redacted=redacted,
        calibrations=calibrations,
    )
    # What the process of the run would have exited with, were this file its own.
    code = int(found.blocked)
    if out is not None or markdown is None:
        page = render_page(
            Material(
                found.summary,
                found.records,
                exit_code=code,
                plugin_version=__version__,
                pack=None if found.redacted else measured_pack(found.records, pack_source),
                references=found.references,
                redacted=found.redacted,
                started=str(folder.manifest.get("started", "")),
                whole=whole,
            )
        )
        path = (out or DEFAULT).absolute()
        write_page(path, page, option="--out")
        click.echo(f"wrote {path}: {len(page.encode()) / 1e6:.1f} MB")
    if markdown is not None:
        try:
            write_private(markdown, comment(found.summary, exit_code=code, records=found.records))
        except OSError as error:
            raise UsageError(f"--markdown={markdown}: it cannot be written: {error.strerror}.") from error
        click.echo(f"wrote {markdown}")


def measured_pack(records: Sequence[Record], source: str) -> Pack | None:
    """The pack that `records` were measured with: the one named, else a bundled one; None where neither is it.

    Raises `UsageError` where the pack named is another than the one measured.
    """
    from pytest_hush.packs import load_pack
    from pytest_hush.report.show import instrument_pack

    names = {str(r.instrument.get("pack", "")) for r in records}
    if not source:
        return bundled_pack(names.pop()) if len(names) == 1 else None
    pack = load_pack(source)
    if names != {instrument_pack(pack)}:
        raise UsageError(
            f"--pack={source}: it is {instrument_pack(pack)}, the run measured {', '.join(sorted(names))}. Name the "
            f"pack that was measured, or leave the option out."
        )
    return pack
