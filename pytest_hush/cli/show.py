"""``hush show``: single cases of a run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.bundled import bundled
from pytest_hush.cli.common import print_line
from pytest_hush.errors import UsageError

if TYPE_CHECKING:
    from pytest_hush.model import Pack, Record


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--worst", type=click.IntRange(1), default=3, show_default=True, help="Show the N worst measured cases.")
@click.option(
    "--case", "wanted", default="", help="This case alone: ID as in hush::test_case[ID], or a part that only it has."
)
@click.option("--condition", default="", help="Only cases of this condition.")
@click.option(
    "--min-v", type=click.FloatRange(0, 1), help="Only probes of at least this v: all of them, unless --worst is given."
)
@click.pass_context
def show(
    context: click.Context, run: Path | None, worst: int, wanted: str, condition: str, min_v: float | None
) -> None:
    """Show single cases of RUN (a run folder; by default the last one under ./.hush).

    A probe's id names its case where it was measured once; else the ids of its cases are listed. For each case: what
    was asked, what memory showed and from which sessions, the reply, and what the judge made of it.
    Characters that could drive a terminal are shown as escapes. Of a private pack only the scores are shown.
    """
    from pytest_hush.store import RunFolder, latest

    path = run or latest(Path.cwd())
    if path is None:
        raise UsageError("There is no run under ./.hush here. Give the folder of a run: hush show RUN.")
    records = RunFolder.open(path).records(warn=lambda text: click.echo(f"WARNING: {text}", err=True))
    number: int | None = worst
    if min_v is not None and context.get_parameter_source("worst") is click.core.ParameterSource.DEFAULT:
        number = None
    asked = Asked(number, wanted, condition, min_v)
    for line in show_lines(path, records, asked, width=shutil.get_terminal_size().columns):
        print_line(line)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cases: the `worst` so many (None: all), or the one `wanted`; of `condition` and of `min_v` where given."""

    worst: int | None = 3
    wanted: str = ""
    condition: str = ""
    min_v: float | None = None


def show_lines(path: Path, records: Sequence[Record], asked: Asked, *, width: int) -> list[str]:
    """The cases of one run in words. Raises `UsageError` when there is no such case, or none was measured."""
    from pytest_hush.report import show

    if not records:
        raise UsageError(f"{path}: the run holds no record: nothing was measured. Run it first, or finish it.")
    if asked.condition:
        known = list(dict.fromkeys(r.condition for r in records))
        records = [r for r in records if r.condition == asked.condition]
        if not records:
            raise UsageError(
                f"--condition={asked.condition}: the run has no case of it. Expected one of: {', '.join(known)}."
            )
    chosen = [show.named(records, asked.wanted)] if asked.wanted else show.worst(records, asked.worst, asked.min_v)
    if not chosen and asked.min_v is not None:
        raise UsageError(f"{path}: no measured probe has a v of {asked.min_v:g} or more. Lower --min-v.")
    if not chosen:
        raise UsageError(
            f"{path}: none of its {len(records)} records is a measured probe. Name a case with --case to see its error."
        )
    packs = {name: bundled_pack(name) for name in {str(r.instrument.get("pack", "")) for r in chosen}}
    secret = _why_private(path, packs.values())
    lines = [secret] if secret else []
    for record in chosen:
        turn = show.question(record, packs[str(record.instrument.get("pack", ""))])
        lines += [*([""] if lines else []), *show.render_case(record, turn, scores_only=bool(secret), width=width)]
    return lines


def bundled_pack(named: str) -> Pack | None:
    """The bundled pack that `instrument.pack` of a record names, by content; None when it is another."""
    from pytest_hush.bundled import bundled_names
    from pytest_hush.packs import load_pack
    from pytest_hush.report.show import instrument_pack

    name = named.partition("@")[0]
    if name not in bundled_names("probes"):
        return None
    pack = load_pack(bundled("probes", name))
    return pack if instrument_pack(pack) == named else None


def _why_private(path: Path, packs: Iterable[Pack | None]) -> str:
    """Why no text of the run may be shown, or ''. What nobody says to be public is taken for private."""
    if all(pack is not None and not pack.private for pack in packs):
        return ""
    from pytest_hush.store import RunFolder

    private = RunFolder.open(path).manifest.get("private", True)
    return "Scores only: the pack is private, and so is every text of its cases." if private else ""
