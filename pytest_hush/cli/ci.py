"""``hush ci``: the steps of a CI job. What each takes from the environment is what GitHub Actions sets."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.ci_gate import gate
from pytest_hush.cli.common import Group, print_line
from pytest_hush.errors import UsageError

if TYPE_CHECKING:
    from pytest_hush.ci.api import Api

MOST_SHARDS = 256
"""Jobs of one matrix that GitHub takes."""
NO_REPORT = "### ❌ hush: no verdict\n\nWhy: the run came to no report. Look at its log.\n"


@click.group(cls=Group)
def ci() -> None:
    """Steps of a CI job: measure a shard, judge all of them, fetch the baseline, comment on the pull request."""


ci.add_command(gate)


@ci.command()
@click.argument("count", type=click.IntRange(1, MOST_SHARDS))
def shards(count: int) -> None:
    """Print the COUNT shards of a run as JSON, and set them as the step's output `shards` for a matrix."""
    from pytest_hush.ci.job import set_outputs

    text = json.dumps([f"{i}/{count}" for i in range(1, count + 1)])
    set_outputs({"shards": text})
    click.echo(text)


@ci.command()
@click.option("--model", "models", multiple=True, required=True, envvar="HUSH_GATE_MODEL", help="As --hush-model.")
@click.option("--memory", default="", envvar="HUSH_GATE_MEMORY", help="As --hush-memory.")
@click.option("--judge", default="", envvar="HUSH_GATE_JUDGE", help="As --hush-judge.")
@click.option("--policy", default="", envvar="HUSH_GATE_POLICY", help="As --hush-policy.")
@click.option("--pack", default="", envvar="HUSH_GATE_PACK", help="As --hush-pack.")
@click.option("--thresholds", default="", envvar="HUSH_GATE_THRESHOLDS", help="As --hush-thresholds.")
@click.option("--mode", default="", envvar="HUSH_GATE_MODE", help="As --hush-mode.")
@click.option(
    "--calibration",
    "calibrations",
    multiple=True,
    envvar="HUSH_GATE_CALIBRATION",
    type=click.Path(path_type=Path),
    help="As --hush-calibration; repeatable.",
)
@click.option("--shard", default="1/1", show_default=True, envvar="HUSH_GATE_SHARD", help="As --hush-shard.")
@click.option("--baseline", type=click.Path(path_type=Path), help="As --hush-baseline; a file that is absent is none.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Run folder of the shard.")
@click.option("--args", "more", default="", envvar="HUSH_GATE_ARGS", help="More arguments for pytest, as in a shell.")
def measure(
    models: tuple[str, ...],
    memory: str,
    judge: str,
    policy: str,
    pack: str,
    thresholds: str,
    mode: str,
    calibrations: tuple[Path, ...],
    shard: str,
    baseline: Path | None,
    out: Path,
    more: str,
) -> None:
    """Measure one shard with pytest in this folder; the exit code is pytest's.

    Options that are empty are left to the project's ini file. Each has a variable HUSH_GATE_NAME (HUSH_GATE_MODEL
    holds one or more, with blanks between them, HUSH_GATE_CALIBRATION with what parts the folders of PATH), so that a
    workflow needs no shell to put the command together.
    """
    try:
        extra = shlex.split(more)
    except ValueError as error:
        raise UsageError(f"--args={more!r}: it cannot be split as a shell would ({error}).") from None
    given = {"memory": memory, "judge": judge, "policy": policy, "pack": pack}
    given |= {"thresholds": thresholds, "mode": mode, "shard": shard}
    command = [sys.executable, "-m", "pytest", *(f"--hush-model={m}" for m in models)]
    command += [f"--hush-{name}={value.strip()}" for name, value in given.items() if value.strip()]
    command += [f"--hush-calibration={path}" for path in calibrations]
    if baseline is not None and baseline.is_file():
        command.append(f"--hush-baseline={baseline}")
    elif baseline is not None:
        click.echo(f"no baseline: there is no file {baseline}")
    command += [f"--hush-out={out}", f"--junitxml={out}.xml", *extra]
    click.echo(f"running: {shlex.join(command[1:])}")
    with subprocess.Popen(command) as run:
        while True:
            try:
                code = run.wait()
                break
            except KeyboardInterrupt:
                continue  # the terminal told pytest too, which ends by itself and keeps what is finished
    if not code and not (out / "result.json").is_file():
        raise UsageError(
            f"pytest ended with 0 and left no {out / 'result.json'}: it was ended from inside before the gates "
            f"were judged (os._exit?), or it measured nothing. Nothing is known of this release."
        )
    sys.exit(code if code >= 0 else 128 - code)


@ci.command("baseline")
@click.option("--branch", default="main", show_default=True, help="Branch whose runs are looked at.")
@click.option("--artifact", default="hush-baseline", show_default=True, help="Name of the artifact.")
@click.option("--file", "name", default="hush-baseline.json", show_default=True, help="File in the artifact.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where the baseline is put.")
@click.option("--workflow", default="", help="File name of the workflow that left it. [default: this job's workflow]")
@click.option("--repo", default="", help="owner/name. [default: this job's repository]")
def fetch(branch: str, artifact: str, name: str, out: Path, workflow: str, repo: str) -> None:
    """Fetch the baseline that the last successful run of a branch left as an artifact.

    Runs of pull requests are passed over, and so is what does not read as a baseline. Sets the step's output `found`
    to true or false: without one the exit code is 0, since whether a baseline is required is said by the gate file.
    Needs GITHUB_TOKEN with the permission `actions: read`.
    """
    from pytest_hush.ci import job
    from pytest_hush.ci.main_branch import fetch_baseline

    found = fetch_baseline(
        _api(),
        job.repository(repo),
        workflow=job.workflow_file(workflow),
        branch=branch,
        artifact=artifact,
        name=name,
        out=out,
        say=_say,
    )
    job.set_outputs({"found": "true" if found else "false"})
    if found is None:
        print_line(f"no baseline: no successful run of {branch} has left an artifact {artifact}")
    else:
        print_line(f"wrote {out}: baseline of run {found.run}, commit {found.commit[:12]} {found.page}".rstrip())


@ci.command()
@click.option("--body", required=True, type=click.Path(path_type=Path), help="The Markdown to put on the pull request.")
@click.option("--or-no-verdict", is_flag=True, help="Where the file is absent, say that the run came to no report.")
@click.option("--untrusted", is_flag=True, help="The file is a fork's: say so, and take links and mentions out of it.")
@click.option("--pr", type=click.IntRange(1), help="Number of the pull request. [default: the event's]")
@click.option("--repo", default="", help="owner/name. [default: this job's repository]")
@click.option("--author", default="github-actions[bot]", show_default=True, help="Whose comment is updated.")
@click.option("--dry-run", is_flag=True, help="Print the comment, and ask the server nothing.")
def comment(
    body: Path, or_no_verdict: bool, untrusted: bool, pr: int | None, repo: str, author: str, dry_run: bool
) -> None:
    """Put a report on the pull request as one comment, which later runs update in place.

    The comment is found by its first line and its author; a later run's is left alone. Where the token may not
    comment, as in a pull request from a fork, a warning says so and the exit code is 0. In a `workflow_run` the
    pull request is asked of the server. Needs GITHUB_TOKEN with the permission `pull-requests: write`.
    """
    from pytest_hush.ci import comment as comments
    from pytest_hush.ci import job
    from pytest_hush.ci.api import ApiError
    from pytest_hush.report.markdown import MARKER

    text = _read(body, or_no_verdict)
    if untrusted:
        text = comments.defanged(text, MARKER)
    known = bool(os.environ.get("GITHUB_EVENT_PATH"))
    event = job.event() if known or (pr is None and not dry_run) else {}
    run = comments.run_number(event, os.environ)
    text = comments.with_marks(text, MARKER, run)
    if dry_run:
        print_line(text)
        return
    repository, api = job.repository(repo), _api()
    try:
        why = ""
        if pr is None:
            pr, why = comments.pull_request(api, repository, event)
        if pr is None:
            print_line(f"no comment: {why}")
            return
        done = comments.place(api, repository, pr, text, marker=MARKER, run=run, author=author)
    except ApiError as error:
        if error.status not in (403, 404):
            raise
        _say(f"{error} The token may not comment on it; the verdicts stand, and are in the run's summary.")
        return
    print_line(f"comment on #{pr}: {done}")


def _read(body: Path, or_no_verdict: bool) -> str:
    try:
        return body.read_text(encoding="utf-8")
    except FileNotFoundError:
        if or_no_verdict:
            return NO_REPORT
        raise UsageError(f"--body={body}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"--body={body}: it cannot be read as text ({error}).") from None


def _api() -> Api:
    from pytest_hush.ci import job
    from pytest_hush.ci.api import API, Api

    return Api(os.environ.get("GITHUB_API_URL") or API, job.token(), say=_say)


def _say(text: str) -> None:
    """A warning: in GitHub Actions as an annotation."""
    from pytest_hush.report.annotations import message, wanted

    print_line(f"::warning title=hush::{message(text)}" if wanted() else f"WARNING: {text}")
