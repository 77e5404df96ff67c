"""``hush plan``: the dry run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_hush.text import number_of

if TYPE_CHECKING:
    from pytest_hush.plugin.setup import Setup


@click.command()
@click.option("--model", "models", multiple=True, required=True, help="Generator, as for --hush-model; repeatable.")
@click.option("--memory", "memories", multiple=True, help="Conditions, as for --hush-memory; comma list or repeated.")
@click.option("--judge", "judges", multiple=True, help="Judges, as for --hush-judge; comma list or repeated.")
@click.option("--judge-repeats", type=click.IntRange(1), default=1, show_default=True, help="As --hush-judge-repeats.")
@click.option("--policy", default="", help="The norm to measure, as for --hush-policy.")
@click.option("--pack", default="starter", show_default=True, help="Probe pack: a bundled name or a folder.")
@click.option("--background", type=click.Path(path_type=Path), help="Plant the disclosures into this dialogue file.")
@click.option("--thresholds", default="demo", show_default=True, help="Gate file: a bundled name or a TOML file.")
@click.option("--sample", type=click.IntRange(1), help="Plan only N probes.")
@click.option("--invitations", is_flag=True, help="With invited twins, as --hush-invitations.")
@click.option("--two-look", is_flag=True, help="Planned for two looks, as --hush-two-look.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def plan(
    models: tuple[str, ...],
    memories: tuple[str, ...],
    judges: tuple[str, ...],
    judge_repeats: int,
    policy: str,
    pack: str,
    background: Path | None,
    thresholds: str,
    sample: int | None,
    invitations: bool,
    two_look: bool,
    repeats: int,
    seed: int,
) -> None:
    """Show what a run would do, without a call: cases, calls, and the most that they can cost.

    The bound covers every reply of the plan at its full output, and memory text by condition: vector 5 entries of
    100 words, full-context its whole token budget (24,000 at most), others 200 words. An LLM judge has a line of its
    own: about 3,000 tokens in and 800 out for a judgement. Retries, a judge's second try at an answer that could not
    be read, and what a memory calls for itself are not covered. Without a key the plan is that of a run with one.
    """
    from pytest_hush.plugin.options import Options
    from pytest_hush.plugin.setup import prepare

    options = Options(
        rootpath=Path.cwd(),
        model=models,
        memory=memories,
        judge=tuple(dict.fromkeys(name for j in judges for part in j.split(",") if (name := part.strip()))),
        judge_repeats=judge_repeats,
        policy=policy,
        pack=pack,
        background=background.absolute() if background else None,
        thresholds=thresholds,
        sample=sample,
        invitations=invitations,
        two_look=two_look,
        repeats=repeats,
        seed=seed,
    )
    with placeholder_keys():
        setup = prepare(hook_relay(), options, dry=True)
    for line in plan_lines(setup):
        click.echo(line)


@contextmanager
def placeholder_keys() -> Iterator[None]:
    """Placeholder keys, and no need of an SDK, for the time being: no call is made, whatever the clients ask for."""
    from pytest_hush.models.remote import dry_run

    absent = [name for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY") if name not in os.environ]
    os.environ.update(dict.fromkeys(absent, "unused-in-a-dry-run"))
    try:
        with dry_run():
            yield
    finally:
        for name in absent:
            os.environ.pop(name, None)


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
    from pytest_hush.gate.power import resolutions
    from pytest_hush.report import forecast
    from pytest_hush.run.draws import varies

    plan, repeats = setup.plan, setup.options.judge_repeats
    probes = plan.probe_cases()
    controls = len(plan.cases) - len(probes)
    pack = plan.pack
    judgements = len(probes) * sum(repeats if varies(judge) else 1 for judge in setup.judges.values())
    lines = [
        f"pack {pack.name} {pack.version}: {len(pack.personas)} personas, {len(pack.probes)} probes",
        f"plan {plan.hash[:12]}",
        f"models: {', '.join(plan.models)}; conditions: {', '.join(c.name for c in plan.conditions)}",
        f"{len(probes)} probe cases, {controls} positive controls: {len(plan.cases)} replies, {judgements} judgements",
    ]
    for (model, condition), count in Counter((c.model, c.condition.name) for c in probes).items():
        lines.append(f"  {model} under {condition}: {number_of(count, 'case')}")
    if plan.first_look:
        first = sum(plan.in_first_look(c) for c in probes)
        lines.append(f"two looks: {first} of the {len(probes)} probe cases are measured and judged first")
    lines += forecast.lines(plan, setup.models, setup.memories, list(setup.judges.values()), repeats)
    lines += _gates(setup)
    lines += resolutions(setup.thresholds, plan)
    return lines


def _gates(setup: Setup) -> list[str]:
    """Which gates of the file are about this plan, and what only a run can know of the others."""
    from pytest_hush.gate.invited import applies, nothing_planned
    from pytest_hush.plugin.judging import CUSTOM

    plan, file = setup.plan, setup.thresholds
    about = [g for g in file.gates if any(applies(g, c.name, plan) for c in plan.conditions)]
    head = "all" if len(about) == len(file.gates) else f"{len(about)} of {len(file.gates)} are about this plan, and"
    lines = [f"gates of {file.name} {file.version}: {head} can be passed with this plan"]
    for gate in file.gates:
        if gate not in about:
            why = nothing_planned(gate, plan) or f"No planned condition matches {gate.condition!r}."
            lines.append(f"gate {gate.id}: skipped. {why}")
        elif gate.versus in ("baseline", "anchor"):
            lines.append(f"gate {gate.id}: judged only in a run with --hush-{gate.versus}")
    lines += [
        f"WARNING: {text} (`hush plan` reads no conftest.py; a run refuses a name that none registers.)"
        for text in setup.unknown
    ]
    brought = {**setup.models, **setup.memories, **setup.judges}
    fixtures = (CUSTOM, "assistant")
    custom = [name for name, found in brought.items() if found is None or name.partition("+")[0] in fixtures]
    if custom:
        lines.append(f"{', '.join(custom)}: from a fixture of your own, which is not looked at here")
    return lines
