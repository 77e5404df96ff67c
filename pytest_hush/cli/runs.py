"""``hush gate``, ``hush merge`` and ``hush baseline``: what is done with a finished run, without a call."""

from __future__ import annotations

import datetime
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_hush.cli.common import Group, print_line
from pytest_hush.errors import UsageError
from pytest_hush.plan import identity
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.store import RunFolder
    from pytest_hush.thresholds import Mode

DEFAULT_BASELINE = Path("hush-baseline.json")


def opened(run: Path | None) -> RunFolder:
    """The run folder named, or the last one under ``./.hush``. Raises `UsageError` and `StoreError`."""
    from pytest_hush.store import RunFolder, latest

    path = run or latest(Path.cwd())
    if path is None:
        raise UsageError("There is no run under ./.hush here. Give the folder of a run.")
    return RunFolder.open(path)


def _warn(text: str) -> None:
    click.echo(f"WARNING: {text}", err=True)


_JUDGING = (
    click.option("--thresholds", required=True, help="Gate file: a bundled name or a TOML file."),
    click.option("--mode", type=click.Choice(["pr", "release"]), help="As --hush-mode. [default: the run's own mode]"),
    click.option("--baseline", type=click.Path(path_type=Path), help="The run to compare with, as --hush-baseline."),
    click.option("--anchor", type=click.Path(path_type=Path), help="The last release's run, as --hush-anchor."),
    click.option(
        "--calibration",
        "calibrations",
        multiple=True,
        type=click.Path(path_type=Path),
        help="What `hush judge calibrate` wrote of the run's judge, as --hush-calibration; repeatable.",
    ),
    click.option("--allow-no-verdict", is_flag=True, help="Exit with 0 when no gate that blocks was judged."),
    click.option("--json", "result_path", type=click.Path(path_type=Path), help="Write the JSON result to this file."),
)


def judging(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that judges."""
    for option in reversed(_JUDGING):
        command = option(command)
    return command


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@judging
def gate(run: Path | None, **options: Any) -> None:
    """Judge the finished RUN (a run folder; by default the last one under ./.hush) by another gate file.

    No model, memory or judge is called, and neither the pack nor the probes are needed: the run folder holds its
    plan. Exit code 1 when a gate blocks or no gate that blocks was judged, as in the run itself.
    """
    folder = opened(run)
    if shard := folder.manifest.get("shard"):
        raise UsageError(
            f"{folder.path}: it is shard {shard} of its run, and gates are judged on the whole plan. Put all shards "
            f"together: `hush merge SHARD SHARD … --out=DIR --thresholds={options['thresholds']}`."
        )
    judge_folder(folder, **options)


@click.command()
@click.argument("shards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Run folder of the whole run.")
@judging
def merge(shards: tuple[Path, ...], out: Path, **options: Any) -> None:
    """Put the run folders of all SHARDS (--hush-shard=i/n) together, and judge them as the one run that they are.

    Shards of another plan, instrument or subject, missing ones, doubles and unfinished ones are refused by name. The
    verdicts are those of the unsharded run.
    """
    from pytest_hush.store import merge_shards

    folder = merge_shards(shards, out.absolute(), warn=_warn, mode=options["mode"])
    for message in folder.messages:
        print_line(message)
    judge_folder(folder, **options)


def judge_folder(
    folder: RunFolder,
    *,
    thresholds: str,
    mode: Mode | None,
    baseline: Path | None,
    anchor: Path | None,
    calibrations: Sequence[Path],
    allow_no_verdict: bool,
    result_path: Path | None,
) -> None:
    """Print the verdicts on `folder`, write them where asked, and end with 1 when one blocks or there is none."""
    from pytest_hush.report.rejudge import rejudge_run
    from pytest_hush.report.result import result, write_result
    from pytest_hush.report.terminal import render, wrapped

    paths = {role: path.absolute() if path else None for role, path in (("baseline", baseline), ("anchor", anchor))}
    found = rejudge_run(
        folder,
        thresholds,
        mode=mode,
        references=paths,
        today=datetime.datetime.now(tz=datetime.UTC).date(),
        warn=_warn,
        calibrations=calibrations,
        allow_no_verdict=allow_no_verdict,
    )
    summary, failed = found.summary, found.blocked
    width = shutil.get_terminal_size().columns
    for text in (found.mode_from, summary.reason):
        for line in wrapped(text, width) if text else ():
            print_line(line)
    for line in render(summary, width=width):
        print_line(line)
    if result_path is not None:
        try:
            write_result(result_path, result(summary, exit_code=int(failed), plugin_version=__version__))
        except OSError as error:
            raise UsageError(f"--json={result_path}: it cannot be written: {error.strerror}.") from error
    if failed:
        sys.exit(1)


@click.group(cls=Group)
def baseline() -> None:
    """Keep a run's scores to compare later runs with."""


@baseline.command("save")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_BASELINE, show_default=True)
@click.option("--force", is_flag=True, help="Also of a run that did not end, and over a file that is no baseline.")
def baseline_save(run: Path | None, out: Path, force: bool) -> None:
    """Write the scores of RUN (a run folder; by default the last one under ./.hush) to a small file to commit.

    It holds probe ids, exposure flags, scores, the instrument and the subject: no probe, reply, memory entry or
    disclosure. Name it with --hush-baseline or --hush-anchor.
    """
    folder = opened(run)
    if not force:
        _check_whole(folder)
        _check_room(out)
    keep_baseline(folder, out)


def _check_whole(folder: RunFolder) -> None:
    """Refuse a run that did not end: its missing cases would be missing in every comparison. Raises `UsageError`."""
    if shard := folder.manifest.get("shard"):
        raise UsageError(
            f"{folder.path}: it is shard {shard} of its run. Put all shards together with `hush merge`, and save that; "
            f"or keep this part alone with --force."
        )
    plan = folder.plan()
    if plan.first_look:
        return  # what the first look settled is not measured any further
    planned = {identity(c) for c in plan.cases if c.kind == "probe"}
    absent = planned - {r.identity for r in folder.records(warn=_warn)}
    if absent and len(absent) < len(planned):
        raise UsageError(
            f"{folder.path}: {len(absent)} of {len(planned)} planned cases have no record: the run was interrupted, "
            f"stopped, or a part of it was selected. Finish it (the same options and --hush-resume "
            f"--hush-out={folder.path}), or keep the part with --force: the rest will be missing in every comparison."
        )


def _check_room(out: Path) -> None:
    """Refuse to write over what is no baseline. Raises `UsageError`."""
    from pytest_hush.errors import StoreError
    from pytest_hush.store import load_scores

    if out.is_dir():
        raise UsageError(f"--out={out}: it is a folder. Name a file, for example {out / DEFAULT_BASELINE.name}.")
    if not out.exists() or not out.stat().st_size:
        return
    try:
        if out.suffix != ".jsonl":  # that would be read as records: never overwritten by a baseline
            load_scores(out)
            return
    except StoreError:
        pass
    raise UsageError(
        f"--out={out}: a file is there that is no saved baseline; nothing was written. Give another name, or --force."
    )


def keep_baseline(folder: RunFolder, out: Path) -> None:
    """Write the scores and levels of `folder`'s run to `out`, and say so. Raises `StoreError`."""
    from pytest_hush.report.levels import levels
    from pytest_hush.store import revision_from, save_baseline

    plan, records = folder.plan(), folder.records(warn=_warn)
    planned = [c for c in plan.cases if c.kind == "probe"]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    kept = save_baseline(
        out,
        records,
        plugin_version=__version__,
        today=today,
        source=str(folder.path),
        measured=str(folder.manifest.get("started") or ""),
        revision=revision_from(folder.manifest.get("revision")),
        estimates=levels(records, plan),
    )
    print_line(f"wrote {out}: {kept} of {len(planned)} probe cases, {out.stat().st_size / 1024:.0f} KiB, no texts")
    if kept < len(planned):
        _warn(f"{len(planned) - kept} cases were not measured: their pairs will be missing in every comparison.")
