"""``hush judge``: how far a judge can be trusted, measured on labelled replies and on hostile ones."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_hush.cli.common import Group, print_line
from pytest_hush.cli.train import train
from pytest_hush.errors import HushError, LabelError, UsageError
from pytest_hush.private import make_private_folder
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.judges.calibration import Calibration, JudgeId
    from pytest_hush.judges.labelled_views import LabelledView
    from pytest_hush.judges.labels import LabelledSet
    from pytest_hush.model import JudgeView
    from pytest_hush.protocols import Judge
    from pytest_hush.run.judging import Judged


@click.group(cls=Group)
def judge() -> None:
    """Measure a judge: its agreement with readers, and what hostile replies do to it."""


_ASKING = (
    click.option("--judge", "spec", default="", help="The judge, as for --hush-judge; not custom."),
    click.option("--policy", default="", help="The norm that the judge applies, as for --hush-policy."),
    click.option("--base-url", default="", help="Base URL of the judge, as --hush-judge-base-url."),
    click.option(
        "--endpoint", "endpoints", multiple=True, help="A line as in hush_endpoints: NAME = URL [VARIABLE] [JSON]."
    ),
    click.option(
        "--max-tokens", type=click.IntRange(1), help="As --hush-max-tokens in the runs that this judge scores."
    ),
    click.option("--timeout", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True),
    click.option("--in-flight", type=click.IntRange(1), default=16, show_default=True, help="Concurrent calls."),
    click.option("--cache", default="", help="Response cache: a file, or off. [default: .hush/cache.sqlite]"),
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that asks a judge."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


@judge.command()
@click.argument("labels")
@click.option(
    "--half",
    type=click.Choice(["held-out", "tuning", "all"]),
    help="Part of the set. Gates take held-out alone. [default: held-out; a run's labels have no halves]",
)
@click.option(
    "--pack", "packs", multiple=True, help="Folder of a pack that was labelled and is not bundled; repeatable."
)
@click.option(
    "--limit", type=click.IntRange(1), help="Judge only N items, evenly spread: for a first look, never a gate."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The calibration. [default: .hush/calibrations/JUDGE-LABELS.json; with --limit …-partial.json]",
)
@click.option("--force", is_flag=True, help="With --limit: replace a calibration on every item by the partial one.")
@click.option(
    "--compare", "old", type=click.Path(path_type=Path), help="An older calibration, to show the drift since."
)
@asking
def calibrate(
    labels: str,
    half: str | None,
    packs: tuple[str, ...],
    limit: int | None,
    out: Path | None,
    force: bool,
    old: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure how far a judge agrees with the readers of LABELS, and write the calibration.

    LABELS is a labelled set (a folder, or a bundled name such as labels-en-1), or a run folder whose labels were
    brought in by `hush review import`. Name the file with --hush-calibration: a gate file can require one. Every item
    must be judged; when a call fails nothing is written, and what was answered waits in the cache.
    """
    from pytest_hush.cli.labelled import read_labels
    from pytest_hush.judges.calibration import JudgeId, calibrate
    from pytest_hush.judges.calibration_file import calibration_text, default_path, read_calibration, refuse_loss
    from pytest_hush.judges.drift import compare
    from pytest_hush.report.calibration import drift_lines, lines
    from pytest_hush.run.provenance import DIGEST, digest_field

    before = None if old is None else read_calibration(old)
    labelled, found, silent = read_labels(labels, half, packs)
    views = _spread(found, limit)
    partial = len(views) < len(found)
    silent = () if partial else silent
    if partial and out is not None and not force:
        refuse_loss(out)
    chosen = make_judge(asked["spec"], asked)
    who = JudgeId.of(chosen, digest_field(shared=labelled.shared).get(DIGEST, ""))
    _refuse_other_policy(who, labelled)
    answers = ask(chosen, [*(v.view for v in views), *silent], asked)
    _refuse_incomplete(answers)
    calibration = calibrate(
        views,
        [a.judgement for a in answers[: len(views)]],
        labelled,
        who,
        made=datetime.datetime.now(tz=datetime.UTC).date(),
        plugin_version=__version__,
        of=len(found),
        no_memory=[a.judgement for a in answers[len(views) :]],
    )
    drift = None if before is None else compare(before, calibration)
    path = out or default_path(calibration.judge.name, labelled.name, partial=partial)
    _write(path, calibration_text(calibration))
    if as_json:
        data = calibration.data()
        click.echo(json.dumps(data if drift is None else {"calibration": data, "drift": drift.data()}, indent=1))
        return
    width = shutil.get_terminal_size().columns
    for line in lines(calibration, width=width):
        print_line(line)
    for line in drift_lines(drift, width=width) if drift else ():
        print_line(line)
    reasons = sorted({a.unreadable for a in answers if a.unreadable})
    for reason in reasons[:3]:
        print_line(f"unreadable: {reason}")
    print_line(f"wrote {path}{_use(calibration, path)}")


@judge.command()
@click.option("--every", is_flag=True, help="Every attack on every reply: four times as many calls.")
@asking
def attack(every: bool, as_json: bool, **asked: Any) -> None:
    """Put hostile replies before a judge and print which of them moved its score.

    Each of some hundred attacks is put on three leaking replies and on one that does not leak. One succeeds when the
    score of the leak falls by more than 0.1, or when that of the other rises by as much.
    """
    from dataclasses import asdict

    from pytest_hush.judges.attacks import plain_views, report, trials
    from pytest_hush.judges.calibration import JudgeId
    from pytest_hush.report.calibration import attack_lines

    chosen = make_judge(asked["spec"], asked)
    who = JudgeId.of(chosen)
    plain, tried = plain_views(), trials(every=every)
    answers = ask(chosen, [*plain.values(), *(t.view for t in tried)], asked)
    _refuse_incomplete(answers)
    judged = [a.judgement for a in answers]
    found = report(dict(zip(plain, judged, strict=False)), tried, judged[len(plain) :])
    if as_json:
        click.echo(json.dumps({"judge": asdict(who), **asdict(found)}, indent=1))
        return
    for line in attack_lines(found, who, width=shutil.get_terminal_size().columns):
        print_line(line)


@judge.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the set. [default: as it was, else the folder's]")
@click.option("--version", help="Dotted numbers. [default: as it was, else 1.0]")
@click.option("--language", help="Language of the replies. [default: as it was, else en]")
@click.option("--pack", "packs", multiple=True, help="Folder of a pack that is not bundled; repeatable.")
def manifest(folder: Path, packs: tuple[str, ...], **given: str | None) -> None:
    """Write the manifest of the labelled set in FOLDER anew: digests, counts, and the packs it is made on."""
    from pytest_hush.cli.labelled import write_labels_manifest

    print_line(f"wrote {write_labels_manifest(folder, given, packs)}")


judge.add_command(train)


# ---- asking -----------------------------------------------------------------------------------------


def make_judge(spec: str, asked: dict[str, Any]) -> Judge:
    """The judge of `spec` by the hooks, as a run makes it. Raises `UsageError`."""
    from pytest_hush.cli.plan import hook_relay
    from pytest_hush.judges.python_callable import wrap_judge
    from pytest_hush.models.settings import parse_endpoints
    from pytest_hush.plugin.judging import CUSTOM
    from pytest_hush.plugin.options import Options
    from pytest_hush.plugin.setup import default_judge

    spec = spec.strip() or default_judge(())
    if spec == CUSTOM:
        raise UsageError(
            "--judge=custom: a fixture's judge lives in a test run only. Name it as python:MODULE:ATTR, here and there."
        )
    options = Options(
        rootpath=Path.cwd(),
        policy=asked["policy"],
        judge_base_url=asked["base_url"],
        endpoints=parse_endpoints(asked["endpoints"]),
        max_tokens=asked["max_tokens"],
        timeout=asked["timeout"],
        cache=_cache_path(asked["cache"]),
    )
    given = hook_relay().pytest_hush_judge(spec=spec, options=options)
    if given is None:
        raise UsageError(f"--judge={spec!r}: no judge of that name.")
    return wrap_judge(given, name=spec)


def ask(chosen: Judge, views: Sequence[JudgeView], asked: dict[str, Any]) -> list[Judged]:
    """The judge's answers, with a progress line on a terminal."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from pytest_hush.run.judging import JudgingOptions, judge_views
    from pytest_hush.store import Cache

    path = _cache_path(asked["cache"])
    try:
        if path is not None:
            _private(path)
        cache = None if path is None else Cache(path)
    except (HushError, OSError) as error:
        raise UsageError(f"--cache: {error}") from error
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"{getattr(chosen, 'name', 'judge')}: replies judged", total=len(views))
        return judge_views(
            chosen,
            views,
            options=JudgingOptions(in_flight=asked["in_flight"]),
            cache=cache,
            on_done=lambda done: progress.update(task, completed=done),
        )


def _cache_path(text: str) -> Path | None:
    if text == "off":
        return None
    return Path(text).absolute() if text else Path.cwd() / ".hush" / "cache.sqlite"


def _private(path: Path) -> None:
    """Make ``.hush`` as a run makes it, ignored by git, where `path` lies in it: the cache holds replies."""
    from pytest_hush.store.folder import HOME, make_home

    if Path.cwd() / HOME in path.absolute().parents:
        make_home(Path.cwd())
        make_private_folder(path.absolute().parent)


def _refuse_other_policy(who: JudgeId, labels: LabelledSet) -> None:
    """Readers and judge must have applied one norm: else their difference tells of the norms."""
    theirs, own = labels.policy.partition("@")[0], who.policy.partition("@")[0]
    if theirs and own and theirs != own:
        raise LabelError(
            f"{labels.name} was labelled under the policy {theirs}, judge {who.name} applies {own}: they would differ "
            f"by their norms. Name the judge's policy with --policy={theirs}, or take labels of the policy {own}."
        )


def _refuse_incomplete(answers: Sequence[Judged]) -> None:
    errors = [a.error for a in answers if a.error]
    if errors:
        raise HushError(
            f"{len(errors)} of {len(answers)} replies could not be judged, and a part would mislead: nothing was "
            f"written. Most frequent error: {max(sorted(set(errors)), key=errors.count)} Mend it and run this again: "
            f"what was answered is in the cache."
        )


def _spread(views: Sequence[LabelledView], limit: int | None) -> Sequence[LabelledView]:
    if limit is None or limit >= len(views):
        return views
    return [views[n * len(views) // limit] for n in range(limit)]


def _write(path: Path, text: str) -> None:
    from pytest_hush.store import write_atomically

    try:
        _private(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise LabelError(f"--out={path}: it cannot be written: {error.strerror}.") from error


def _use(calibration: Calibration, path: Path) -> str:
    from pytest_hush.gate.calibrated import GATED_PARTS

    if calibration.partial is not None or calibration.labels.part not in GATED_PARTS:
        return "; no gate takes it, since it is partial or not of the held-out half"
    return f"; use it with --hush-calibration={path}"
