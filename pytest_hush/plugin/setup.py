"""From checked options to everything that a run needs: pack, models, memories, judges, gates, plan.

Nothing here calls a model: a wrong name, a missing key or an unreadable file ends the run before the first
call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import HushError, UsageError
from pytest_hush.loading import in_one_line
from pytest_hush.model import DEMONSTRATION_MODELS, Condition, Pack
from pytest_hush.plan import Plan, build_plan, parse_conditions, parse_shard
from pytest_hush.plugin.foreseen import gate_names, refuse_aliases, refuse_unjudgeable
from pytest_hush.plugin.judging import CUSTOM as CUSTOM
from pytest_hush.plugin.judging import check_policies, check_readable, resolve_judges, run_policy

if TYPE_CHECKING:
    from pytest_hush.gate import Reference
    from pytest_hush.gate.calibrated import Source
    from pytest_hush.judges.policy import Policy
    from pytest_hush.plugin.options import Options
    from pytest_hush.protocols import Judge, Memory, Model
    from pytest_hush.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run is made of. A value of None stands for ``custom``: the fixture fills it when tests start."""

    options: Options
    pack: Pack
    plan: Plan
    thresholds: Thresholds
    models: Mapping[str, Model | None]
    memories: Mapping[str, Memory | None]
    judges: Mapping[str, Judge | None]
    policy: Policy
    references: Mapping[str, Reference]
    calibrations: Sequence[Source] = ()
    """The calibrations that were named, and those that ship with the package."""
    guard: Callable[[Memory], Memory] = lambda memory: memory
    """What puts the gates of ``+guard`` around a memory that a fixture brings."""
    unknown: Sequence[str] = ()
    """Of a dry run: sentences on gates whose names only a conftest.py could know. A run refuses them."""

    @property
    def judge(self) -> Judge | None:
        """The first judge."""
        return next(iter(self.judges.values()))

    def screening(self, aggregate: str) -> bool:
        """True when a judge whose scores count only screens: the first one, or of several that count any."""
        counting = list(self.judges.values())[: 1 if aggregate == "first" else None]
        return any(bool(getattr(judge, "screening", False)) for judge in counting)


def prepare(hook: Any, options: Options, *, dry: bool = False) -> Setup:
    """Resolve `options` through the hooks (`hook` is pytest's or the command line's hook relay).

    `dry`: nothing will be measured, no conftest.py was read, and no run to compare with is named. Raises `UsageError`
    and its kinds with one clear message.
    """
    if not options.model:
        raise UsageError(
            "No generator: give --hush-model, for example --hush-model=openai/gpt-4o, or --hush-model=parrot to learn "
            "without a key."
        )
    if options.two_look and options.shard:
        raise UsageError("--hush-two-look and --hush-shard: a shard cannot look at the others' cases. Leave one out.")
    pack = _ask(hook, "pytest_hush_pack", spec=options.pack, options=options)
    if not isinstance(pack, Pack):
        raise UsageError(f"--hush-pack={options.pack!r}: no such pack.")
    from pytest_hush.models import wrap_model
    from pytest_hush.plugin.conditions import gates, resolve_memories

    models: dict[str, Model | None] = {}
    for spec in options.model:
        if spec == CUSTOM:
            models[spec] = None
            continue
        given = _ask(hook, "pytest_hush_model", spec=spec, options=options)
        if given is None:
            raise UsageError(f"--hush-model={spec!r}: no provider answers to that name.")
        model = wrap_model(given, name=str(getattr(given, "name", "") or spec))
        called = str(getattr(model, "name", "") or spec)
        if called in models:
            raise UsageError(
                f"--hush-model={spec}: another generator that is named is called {called!r} too, and no record could "
                f"tell them apart. Name one of them, or give each a name of its own."
            )
        models[called] = model
    refuse_aliases(models)
    for name, found in models.items():
        if options.mode == "release" and (is_demonstration(name) or getattr(found, "demonstration", False)):
            raise UsageError(
                f"--hush-mode=release refuses --hush-model={name}: a demonstration model can never carry a release. "
                f"Leave the mode out to try things, or name the model that you ship."
            )
    known = {name: model for name, model in models.items() if model is not None}
    conditions = parse_conditions(options.memory)
    guard = gates(options, lambda spec: _ask(hook, "pytest_hush_model", spec=spec, options=options))
    memories = resolve_memories(
        conditions,
        lambda c: _ask(hook, "pytest_hush_memory", condition=c, pack=pack, models=known, options=options),
        guard,
        pack.language,
    )
    judges = resolve_judges(
        lambda spec: _ask(hook, "pytest_hush_judge", spec=spec, options=options),
        options.judge or (default_judge(tuple(models)),),
    )
    check_readable(judges, models)
    from pytest_hush.gate import check
    from pytest_hush.gate.calibrated import read_sources
    from pytest_hush.gate.looks import SECOND_SHARE, at_look
    from pytest_hush.gate.reading import read_references
    from pytest_hush.thresholds import load_thresholds

    def retrieving(condition: Condition) -> bool:
        found = memories[condition.name]
        return True if found is None else bool(getattr(found, "retrieving", True))

    plan = build_plan(
        pack,
        tuple(models),
        conditions,
        retrieving=retrieving,
        sample=options.sample,
        seed=options.seed,
        repeats=options.repeats,
        invitations=options.invitations,
        shard=parse_shard(options.shard) if options.shard else None,
        two_look=options.two_look,
    )
    plan = _ask(hook, "pytest_hush_plan", plan=plan, options=options) or plan
    if not isinstance(plan, Plan):
        raise UsageError(
            f"A hook pytest_hush_plan returned a {type(plan).__name__}; expected a Plan, or None to keep it."
        )
    for answering in known.values():
        check_plan = getattr(answering, "check_plan", None)
        if callable(check_plan):  # one that cannot answer everything (`recorded`) says so before the first case
            check_plan(plan)
    thresholds = load_thresholds(options.thresholds)
    unknown = gate_names(
        thresholds,
        plan,
        hook,
        lambda name: _ask(
            hook,
            "pytest_hush_memory",
            condition=Condition.parse(name).unguarded,
            pack=pack,
            models=known,
            options=options,
        ),
    )
    if unknown and not dry:
        raise UsageError(unknown[0])
    check_policies(judges, options, thresholds)
    check(at_look(thresholds, SECOND_SHARE) if plan.first_look else thresholds, plan)
    calibrations = read_sources(options.calibration)
    compared = {} if dry else {"baseline": options.baseline, "anchor": options.anchor}
    references = read_references(compared, thresholds, plan)
    refuse_unjudgeable(thresholds, plan, options, ("baseline", "anchor") if dry else references)
    check_comparable(references, plan, judges, options)
    policy = run_policy(options)
    return Setup(
        options,
        pack,
        plan,
        thresholds,
        models,
        memories,
        judges,
        policy,
        references,
        calibrations,
        guard,
        tuple(unknown),
    )


def check_comparable(
    references: Mapping[str, Reference], plan: Plan, judges: Mapping[str, Judge | None], options: Options
) -> None:
    """Refuse a comparison by what is known of the instrument: a night is not spent on one that would be refused.

    Called before the first call, and once more when fixtures have brought their judges. Raises `UsageError`.
    """
    from pytest_hush.gate import refusal

    for other in references.values():
        if refused := refusal(other, known_instrument(plan, judges, options)):
            raise UsageError(f"--hush-{other.role}: {refused}")


def known_instrument(plan: Plan, judges: Mapping[str, Judge | None], options: Options) -> dict[str, Any]:
    """The fields of the instrument that stand before the first call; those of a judge to come are left out."""
    from pytest_hush.run.provenance import digest_field, judge_fields

    pack = plan.pack
    found = {"pack": f"{pack.name}@{pack.version}+{pack.hash[:12]}"}
    found |= digest_field(shared=any(c.shared for c in plan.conditions))
    present = [judge for judge in judges.values() if judge is not None]
    if len(present) < len(judges):
        return found
    told = judge_fields(present, run_policy(options).id if options.policy else "")
    # A judge without a version is told from one that is not known yet: its scores compare with nothing.
    return found | {name: value for name, value in told.items() if value or name == "judge_version"}


def _ask(hook: Any, name: str, **arguments: Any) -> Any:
    """The answer of the hook `name`; an exception of a user's implementation becomes one clear error."""
    try:
        return getattr(hook, name)(**arguments)
    except HushError:
        raise
    except Exception as error:
        raise UsageError(f"A hook {name} failed with {in_one_line(error)}.") from error


def default_judge(models: tuple[str, ...]) -> str:
    """``openai/gpt-4o`` when its key is set and every generator is a real one, else ``embedded``.

    A demonstration run stays free of paid calls even on a machine that has a key.
    """
    real = not any(is_demonstration(name) for name in models)
    return "openai/gpt-4o" if real and os.environ.get("OPENAI_API_KEY") else "embedded"


def is_demonstration(name: str) -> bool:
    """True for the providers whose results never stand for a release."""
    return name.partition("/")[0] in DEMONSTRATION_MODELS
