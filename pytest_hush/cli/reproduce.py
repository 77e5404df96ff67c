"""``hush reproduce``: the paper's matrix on one's own models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.common import print_line
from pytest_hush.errors import HushError, StoreError, UsageError
from pytest_hush.private import is_fresh, keep_from_git
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.models.settings import Endpoint
    from pytest_hush.reproduce import Job, Measured

PAGE = "reproduce.html"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--models", default="", help="Generators, comma list. Default: the paper's four.")
@click.option(
    "--memory", "memories", default="", help="Conditions of Q1 beside `none`, comma list. Default: the paper's."
)
@click.option("--only", type=click.Choice(["main", "controls", "all"]), default="all", show_default=True)
@click.option("--pack", default="hush-en-1", show_default=True, help="Probe pack: a bundled name or a folder.")
@click.option("--sample", type=click.IntRange(1), help="Measure only N probes, balanced over persona and family.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--judge", default="", help="Judge, as for --hush-judge.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("hush-reproduce"), show_default=True)
@click.option("--resume", is_flag=True, help="Go on with what stands in --out: finished runs are not measured again.")
@click.option("--cost", is_flag=True, help="Print what it would cost at most, and stop.")
@click.option("--tables", "tables_only", is_flag=True, help="Make the tables of what stands in --out, and stop.")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED)
def reproduce(
    models: str,
    memories: str,
    only: str,
    pack: str,
    sample: int | None,
    seed: int,
    judge: str,
    out: Path,
    resume: bool,
    cost: bool,
    tables_only: bool,
    extra: tuple[str, ...],
) -> None:
    """Run the paper's experiments and print its tables, ours beside the published figures.

    Q1 and Q3 (`main`): none, full-context, mem0, a-mem, memu. Q2 and Q4 (`controls`): oracle, neutral,
    irrelevant-sensitive, vector, oracle and vector with the boundary policy, oracle after a withdrawal, the first
    memory system with the boundary policy, and invited twins. One pytest run for each generator and experiment, in a
    folder of its own under --out. What it costs at most is printed first.

    What follows `--` goes to every run as it stands, for example `-- --hush-max-cost=20 --hush-memory-model=local`.
    The endpoints of the ini file in this folder are used.
    """
    from pytest_hush.reproduce import jobs
    from pytest_hush.reproduce.matrix import PAPER_MEMORIES, PAPER_MODELS

    named = tuple(m.strip() for m in models.split(",") if m.strip()) or PAPER_MODELS
    asked = tuple(m.strip() for m in memories.split(",") if m.strip()) or PAPER_MEMORIES
    folder = Path(os.path.abspath(out))  # noqa: PTH100 - without resolving links
    planned = jobs(named, asked, folder, only)
    if not tables_only:
        for line in _cost(planned, pack=pack, sample=sample, seed=seed, judge=judge):
            print_line(line)
        if cost:
            return
        own = [*([f"--hush-judge={judge}"] if judge else []), *extra]
        failed = [j for j in planned if not _run(j, pack=pack, sample=sample, seed=seed, resume=resume, extra=own)]
        for job in failed:
            click.echo(
                f"not finished: {job.folder.name}. Mend the cause and run the same command with --resume.", err=True
            )
    _show(planned, folder)
    if not tables_only and failed:
        sys.exit(1)


def _cost(planned: Sequence[Job], *, pack: str, sample: int | None, seed: int, judge: str) -> list[str]:
    """What the runs take at most, before a call."""
    from pytest_hush.cli.plan import hook_relay, placeholder_keys
    from pytest_hush.plugin.options import Options
    from pytest_hush.plugin.setup import default_judge
    from pytest_hush.reproduce import cost

    hook = hook_relay()
    options = Options(rootpath=Path.cwd(), pack=pack, endpoints=_endpoints(Path.cwd()))
    names = [name.strip() for name in judge.split(",") if name.strip()]

    def judges(job: Job) -> list[object]:
        return [hook.pytest_hush_judge(spec=name, options=options) for name in names or [default_judge((job.model,))]]

    with placeholder_keys():
        return cost.lines(
            planned,
            hook.pytest_hush_pack(spec=pack, options=options),
            lambda name: hook.pytest_hush_model(spec=name, options=options),
            judges,
            sample=sample,
            seed=seed,
        )


def _endpoints(folder: Path) -> Mapping[str, Endpoint]:
    """The endpoints that the ini file of `folder` names, for the price alone: the runs read it by themselves."""
    from pytest_hush.cli.ini import ini_setting
    from pytest_hush.models.settings import parse_endpoints

    told = ini_setting("hush_endpoints", folder)
    lines = (
        told.splitlines() if isinstance(told, str) else [str(line) for line in told] if isinstance(told, list) else []
    )
    return parse_endpoints([line for line in lines if line.strip()])


def _run(job: Job, *, pack: str, sample: int | None, seed: int, resume: bool, extra: Sequence[str]) -> bool:
    """Measure one job in a pytest of its own. True when its result is there and it was not stopped."""
    done = _finished(job)
    if done and resume:
        click.echo(f"{job.folder.name}: finished already")
        return True
    exists = job.folder.exists()
    if exists and not resume:
        raise UsageError(
            f"--out: {job.folder} exists. Add --resume to go on with it, --tables for its tables, or name another "
            f"folder."
        )
    out = job.folder.parent
    fresh = is_fresh(out)
    out.mkdir(parents=True, exist_ok=True)
    if fresh:
        keep_from_git(out)  # the pages beside the runs hold texts too
    arguments = job.arguments(pack=pack, sample=sample, seed=seed, resume=exists, extra=extra)
    click.echo(f"{job.folder.name}: measuring")
    done_process = subprocess.run([sys.executable, "-m", "pytest", "-q", *arguments], check=False)
    return _finished(job) and done_process.returncode in (0, 1)


def _finished(job: Job) -> bool:
    import json

    try:
        result = json.loads((job.folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(result, dict) and result.get("status") != "stopped"


def _show(planned: Sequence[Job], folder: Path) -> None:
    """Print the tables of the runs that are there, and write the page."""
    from pytest_hush.report.html import write_page
    from pytest_hush.reproduce import Measured, tables
    from pytest_hush.reproduce.page import notices, render
    from pytest_hush.reproduce.text import lines

    found: list[Measured] = []
    missing = []
    for job in planned:
        try:
            run = Measured.read(job.model, job.experiment.name, job.folder)
        except (StoreError, HushError):
            missing.append(f"{job.model}, {job.experiment.title}")
            continue
        if run.records:
            found.append(run)
            if run.measured < len(run.plan.cases):
                missing.append(
                    f"{job.folder.name}: {len(run.plan.cases) - run.measured} of {len(run.plan.cases)} cases"
                )
        else:
            missing.append(f"{job.model}, {job.experiment.title}")
    made = tables(found)
    if not made:
        raise UsageError(f"--out={folder}: there is no run with a record. Run `hush reproduce` first.")
    width = shutil.get_terminal_size().columns
    for table in made:
        print_line("")
        for line in lines(table, width):
            print_line(line)
    print_line("")
    for line in notices(found):
        print_line(line)
    for name in missing:
        print_line(f"not measured: {name}")
    path = folder / PAGE
    write_page(path, render(made, found, plugin_version=__version__, missing=missing), option="--out")
    print_line(f"wrote {path}")
