"""From checked options to everything that a run needs: pack, models, memories, judges, gates, plan.

Nothing here calls a model: a wrong name, a missing key or an unreadable file ends the run before the first
call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import UsageError
from pytest_hush.model import DEMONSTRATION_MODELS, Condition, Pack
from pytest_hush.plan import Plan, build_plan, parse_conditions, parse_shard

if TYPE_CHECKING:
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


def prepare(hook: Any, options: Options) -> Setup:
    """Resolve `options` through the hooks (`hook` is pytest's or the command line's hook relay).

    Raises `UsageError` and its kinds with one clear message.
    """
    if not options.model:
        raise UsageError(
            "No generator: give --hush-model, for example --hush-model=openai/gpt-4o, or --hush-model=parrot to learn "
            "without a key."
        )
    pack: Pack | None = hook.pytest_hush_pack(spec=options.pack, options=options)
    if pack is None:
        raise UsageError(f"--hush-pack={options.pack!r}: no such pack.")
    models: dict[str, Model | None] = {}
    for spec in options.model:
        if spec == CUSTOM:
            models[spec] = None
            continue
        model: Model | None = hook.pytest_hush_model(spec=spec, options=options)
        if model is None:
            raise UsageError(f"--hush-model={spec!r}: no provider answers to that name.")
        name = str(getattr(model, "name", "") or spec)
        models[name] = model
    known = {name: model for name, model in models.items() if model is not None}
    conditions = parse_conditions(options.memory)
    memories: dict[str, Memory | None] = {}
    for condition in conditions:
        if condition.name == CUSTOM:
            memories[condition.name] = None
            continue
        memory: Memory | None = hook.pytest_hush_memory(condition=condition, pack=pack, models=known, options=options)
        if memory is None:
            raise UsageError(f"--hush-memory={condition.name!r}: no memory condition of that name.")
        memories[condition.name] = memory
    judge: Judge | None = None
    judge_spec = options.judge or default_judge(tuple(models))
    if judge_spec != CUSTOM:
        judge = hook.pytest_hush_judge(spec=judge_spec, options=options)
        if judge is None:
            raise UsageError(f"--hush-judge={judge_spec!r}: no judge of that name.")
    from pytest_hush.gate import check
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
    )
    plan = hook.pytest_hush_plan(plan=plan, options=options) or plan
    thresholds = load_thresholds(options.thresholds)
    check(thresholds, plan)
    return Setup(options, pack, plan, thresholds, models, memories, judge)


def default_judge(models: tuple[str, ...]) -> str:
    """``openai/gpt-4o`` when its key is set and every generator is a real one, else ``embedded``.

    A demonstration run stays free of paid calls even on a machine that has a key.
    """
    real = all(name.partition("/")[0] not in DEMONSTRATION_MODELS for name in models)
    return "openai/gpt-4o" if real and os.environ.get("OPENAI_API_KEY") else "embedded"
