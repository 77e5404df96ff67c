"""``hush ci gate``: the last job of a sharded run. Everything that a reader gets is written here, once."""

from __future__ import annotations

import datetime
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.common import print_line
from pytest_hush.errors import HushError, UsageError
from pytest_hush.private import is_fresh, keep_from_git, write_private
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.report.rejudge import Rejudged
    from pytest_hush.store import RunFolder
    from pytest_hush.thresholds import Mode

RUN, RESULT, PAGE, COMMENT, BASELINE = "run", "result.json", "report.html", "comment.md", "hush-baseline.json"


@click.command()
@click.argument("shards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for all that is written.")
@click.option(
    "--thresholds",
    default="",
    envvar="HUSH_GATE_THRESHOLDS",
    help="Gate file. [default: hush_thresholds of the project's ini file, as for `hush ci measure`; else demo]",
)
@click.option(
    "--mode",
    type=click.Choice(["pr", "release"]),
    envvar="HUSH_GATE_MODE",
    help="As --hush-mode. [default: the run's own mode]",
)
@click.option("--baseline", type=click.Path(path_type=Path), help="As --hush-baseline; a file that is absent is none.")
@click.option("--anchor", type=click.Path(path_type=Path), help="As --hush-anchor; a file that is absent is none.")
@click.option(
    "--calibration",
    "calibrations",
    multiple=True,
    envvar="HUSH_GATE_CALIBRATION",
    type=click.Path(path_type=Path),
    help="As --hush-calibration; repeatable.",
)
@click.option("--pack", "pack_source", default="", envvar="HUSH_GATE_PACK", help="The pack, for the probes' texts.")
@click.option("--redact", is_flag=True, help="Leave out every text of a case.")
@click.option("--allow-no-verdict", is_flag=True, help="Exit with 0 when no gate that blocks was judged.")
def gate(
    shards: tuple[Path, ...],
    out: Path,
    thresholds: str,
    mode: Mode | None,
    baseline: Path | None,
    anchor: Path | None,
    calibrations: tuple[Path, ...],
    pack_source: str,
    redact: bool,
    allow_no_verdict: bool,
) -> None:
    """Put SHARDS together, judge them as one run, and write every report of it to --out.

    SHARDS are run folders, or folders that hold run folders, as downloaded artifacts do. Written are run/ (the merged
    run, with texts), result.json, report.html, comment.md and hush-baseline.json; in GitHub Actions also the step
    summary and annotations. The exit code is that of `hush merge`. Where the shards cannot be judged, comment.md says
    so: a comment of an earlier run must not stand as if it were of this one.
    """
    _clear(out)
    try:
        folder = _merged(shards, out / RUN, mode)
        references = {role: path if path and path.is_file() else None for role, path in _named(baseline, anchor)}
        thresholds = thresholds or _of_the_project(folder)
        found = _judged(folder, thresholds, mode, references, calibrations, redact, allow_no_verdict)
        failed = found.blocked
        _write(folder, found, out, pack_source, int(failed))
    except HushError as error:
        _no_verdict(out, error)
        raise
    _tell(found, failed)
    if failed:
        sys.exit(1)


def _clear(out: Path) -> None:
    """Nothing of an earlier call may be taken for this one's."""
    try:
        fresh = is_fresh(out)
        out.mkdir(parents=True, exist_ok=True)
        if fresh:
            keep_from_git(out)
        for name in (RESULT, PAGE, COMMENT, BASELINE):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"--out={out}: it is no folder that can be written: {error.strerror}.") from error


def _named(baseline: Path | None, anchor: Path | None) -> tuple[tuple[str, Path | None], ...]:
    for path in (baseline, anchor):
        if path is not None and not path.is_file():
            click.echo(f"nothing to compare with: there is no file {path}")
    return (("baseline", baseline), ("anchor", anchor))


def _merged(shards: Sequence[Path], target: Path, mode: Mode | None) -> RunFolder:
    from pytest_hush.store import merge_shards

    folder = merge_shards(run_folders(shards), target.absolute(), warn=_warn, mode=mode)
    for line in folder.messages:
        print_line(line)
    return folder


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """The run folders among `paths` and directly below them, sorted. Raises `UsageError` where there is none.

    A single artifact is unpacked into the folder itself, several into one folder each.
    """
    from pytest_hush.store.folder import MANIFEST

    found: list[Path] = []
    for path in paths:
        below = sorted(p.parent for p in path.glob(f"*/{MANIFEST}")) if path.is_dir() else []
        found += [path] if (path / MANIFEST).is_file() else below
    if not found:
        told = ", ".join(map(str, paths))
        raise UsageError(f"{told}: no run folder is there: no shard came to the point of measuring. See their logs.")
    return list(dict.fromkeys(found))


def _of_the_project(folder: RunFolder) -> str:
    """The gate file that pytest took for the shards where none was named; a warning where it seems another one."""
    from pytest_hush.cli.ini import ini_setting
    from pytest_hush.thresholds import load_thresholds

    source = str(ini_setting("hush_thresholds", Path.cwd()) or "").strip() or "demo"
    taken, measured = load_thresholds(source), folder.manifest.get("thresholds")
    label = f"{taken.name}@{taken.version}+{taken.hash[:12]}"
    if measured and measured != label:
        _warn(
            f"The run was measured with the gate file {measured} and is judged by {label} ({source}), the project's "
            f"own: no --thresholds was given. Name the file that counts."
        )
    return source


def _judged(
    folder: RunFolder,
    thresholds: str,
    mode: Mode | None,
    references: dict[str, Path | None],
    calibrations: Sequence[Path],
    redact: bool,
    allow_no_verdict: bool,
) -> Rejudged:
    from pytest_hush.report.rejudge import rejudge_run

    return rejudge_run(
        folder,
        thresholds,
        mode=mode,
        references=references,
        today=datetime.datetime.now(tz=datetime.UTC).date(),
        warn=_warn,
        redacted=redact,
        calibrations=calibrations,
        allow_no_verdict=allow_no_verdict,
    )


def _write(folder: RunFolder, found: Rejudged, out: Path, pack_source: str, code: int) -> None:
    from pytest_hush.cli.report import measured_pack
    from pytest_hush.cli.runs import keep_baseline
    from pytest_hush.report.html import Material, render_page, write_page
    from pytest_hush.report.markdown import comment
    from pytest_hush.report.result import result, write_result

    # The pack may be named as for the run: then a bundled one is found by itself.
    source = pack_source if pack_source and Path(pack_source).is_dir() else ""
    material = Material(
        found.summary,
        found.records,
        exit_code=code,
        plugin_version=__version__,
        pack=None if found.redacted else measured_pack(found.records, source),
        references=found.references,
        redacted=found.redacted,
        started=str(folder.manifest.get("started", "")),
    )
    try:
        write_result(out / RESULT, result(found.summary, exit_code=code, plugin_version=__version__))
        write_private(out / COMMENT, comment(found.summary, exit_code=code, records=found.records))
    except OSError as error:
        raise UsageError(f"--out={out}: it cannot be written: {error.strerror}.") from error
    write_page(out / PAGE, render_page(material), option="--out")
    if any(r.measured and r.kind == "probe" for r in found.records):
        keep_baseline(folder, out / BASELINE)


def _tell(found: Rejudged, failed: bool) -> None:
    from pytest_hush.ci.job import add_summary
    from pytest_hush.report.annotations import commands, inert, wanted
    from pytest_hush.report.markdown import step_summary
    from pytest_hush.report.terminal import render, wrapped

    width = shutil.get_terminal_size().columns
    lines = [*wrapped(found.mode_from, width), *render(found.summary, width=width)]
    if wanted():
        lines = [*map(inert, lines), *commands(found.summary)]
        if trouble := add_summary(step_summary(found.summary, exit_code=int(failed), records=found.records)):
            _warn(trouble)
    for line in lines:
        print_line(line)


def _no_verdict(out: Path, error: HushError) -> None:
    """`comment.md` and the step summary of a run that could not be judged."""
    from pytest_hush.ci.job import add_summary
    from pytest_hush.report.annotations import message, wanted
    from pytest_hush.report.markdown import MARKER, escaped

    text = f"### ❌ hush: no verdict\n\nWhy: {escaped(str(error))}\n"
    try:
        (out / COMMENT).write_text(f"{MARKER}\n{text}", encoding="utf-8")
    except OSError as trouble:
        _warn(f"{out / COMMENT} cannot be written: {trouble.strerror}.")
    if wanted():
        if unwritten := add_summary(text):
            _warn(unwritten)
        print_line(f"::error title=hush%3A no verdict::{message(str(error))}")


def _warn(text: str) -> None:
    click.echo(f"WARNING: {text}", err=True)
