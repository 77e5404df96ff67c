"""From checked options to everything that a run needs: pack, models, memories, judges, gates, plan.

Nothing here calls a model: a wrong name, a missing key or an unreadable file ends the run before the first
call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import HushError, UsageError
from pytest_hush.loading import in_one_line
from pytest_hush.model import DEMONSTRATION_MODELS, Condition, Pack
from pytest_hush.plan import Plan, build_plan, parse_conditions, parse_shard

if TYPE_CHECKING:
    from pytest_hush.gate import Reference
    from pytest_hush.plugin.options import Options
    from pytest_hush.protocols import Judge, Memory, Model
    from pytest_hush.thresholds import Thresholds

CUSTOM = "custom"
"""The name of a model, condition or judge that comes from the user's fixture."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run is made of. A value of None stands for ``custom``: the fixture fills it when tests start."""

    options: Options
    pack: Pack
    plan: Plan
    thresholds: Thresholds
    models: Mapping[str, Model | None]
    memories: Mapping[str, Memory | None]
    judge: Judge | None
    references: Mapping[str, Reference]


def prepare(hook: Any, options: Options) -> Setup:
    """Resolve `options` through the hooks (`hook` is pytest's or the command line's hook relay).

    Raises `UsageError` and its kinds with one clear message.
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
    from pytest_hush.judges.python_callable import wrap_judge
    from pytest_hush.memories import wrap_memory
    from pytest_hush.models import wrap_model

    models: dict[str, Model | None] = {}
    for spec in options.model:
        if spec == CUSTOM:
            models[spec] = None
            continue
        given = _ask(hook, "pytest_hush_model", spec=spec, options=options)
        if given is None:
            raise UsageError(f"--hush-model={spec!r}: no provider answers to that name.")
        model = wrap_model(given, name=str(getattr(given, "name", "") or spec))
        models[str(getattr(model, "name", "") or spec)] = model
    for name, found in models.items():
        if options.mode == "release" and (is_demonstration(name) or getattr(found, "demonstration", False)):
            raise UsageError(
                f"--hush-mode=release refuses --hush-model={name}: a demonstration model can never carry a release. "
                f"Leave the mode out to try things, or name the model that you ship."
            )
    known = {name: model for name, model in models.items() if model is not None}
    conditions = parse_conditions(options.memory)
    memories: dict[str, Memory | None] = {}
    for condition in conditions:
        if condition.name == CUSTOM:
            memories[condition.name] = None
            continue
        given = _ask(hook, "pytest_hush_memory", condition=condition, pack=pack, models=known, options=options)
        if given is None:
            raise UsageError(f"--hush-memory={condition.name!r}: no memory condition of that name.")
        memories[condition.name] = wrap_memory(given, name=condition.name)
    judge: Judge | None = None
    judge_spec = options.judge or default_judge(tuple(models))
    if judge_spec != CUSTOM:
        given = _ask(hook, "pytest_hush_judge", spec=judge_spec, options=options)
        if given is None:
            raise UsageError(f"--hush-judge={judge_spec!r}: no judge of that name.")
        judge = wrap_judge(given, name=judge_spec)
    from pytest_hush.gate import check, refusal
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
        shard=parse_shard(options.shard) if options.shard else None,
        two_look=options.two_look,
    )
    plan = _ask(hook, "pytest_hush_plan", plan=plan, options=options) or plan
    if not isinstance(plan, Plan):
        raise UsageError(
            f"A hook pytest_hush_plan returned a {type(plan).__name__}; expected a Plan, or None to keep it."
        )
    thresholds = load_thresholds(options.thresholds)
    policy = str(getattr(judge, "policy", "") or "")
    if policy and policy != thresholds.policy:
        raise UsageError(
            f"--hush-thresholds={options.thresholds}: the file is for the policy {thresholds.policy!r}, the judge "
            f"{judge_spec} measures {policy!r}. Name a file and a judge of one policy."
        )
    check(at_look(thresholds, SECOND_SHARE) if plan.first_look else thresholds, plan)
    references = read_references({"baseline": options.baseline, "anchor": options.anchor}, thresholds, plan)
    for other in references.values():
        # What this run knows of its instrument before a call: a night is not spent on a comparison that is refused.
        if refused := refusal(other, known_instrument(plan, judge)):
            raise UsageError(f"--hush-{other.role}: {refused}")
    return Setup(options, pack, plan, thresholds, models, memories, judge, references)


def known_instrument(plan: Plan, judge: Judge | None) -> dict[str, Any]:
    """The fields of the instrument that stand before the first call; those of a judge to come are left out."""
    pack = plan.pack
    found = {"pack": f"{pack.name}@{pack.version}+{pack.hash[:12]}"}
    for name, attribute in (("judge", "name"), ("judge_version", "version"), ("rubric", "rubric")):
        if value := str(getattr(judge, attribute, "") or ""):
            found[name] = value
    return found


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
