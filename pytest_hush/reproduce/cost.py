"""What the runs take at most, before a call: no memory system's library is needed to know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.model import Condition, Pack
from pytest_hush.plan import build_plan, parse_conditions
from pytest_hush.report import forecast
from pytest_hush.reproduce.matrix import Job

_RETRIEVE_NOTHING: Final = frozenset({"none", "full-context", "oracle", "neutral", "irrelevant-sensitive"})


@dataclass(frozen=True, slots=True)
class Named:
    """A generator that is known by its name alone: its endpoint is not configured here."""

    name: str
    max_tokens: int = 800
    settings: dict[str, Any] = field(default_factory=dict)


def lines(
    planned: Sequence[Job],
    pack: Pack,
    model: Callable[[str], object],
    judges: Callable[[Job], Sequence[object]],
    *,
    sample: int | None,
    seed: int,
) -> list[str]:
    """A block for each run and the sum. `model` resolves a generator, `judges` gives those of a run.

    A generator whose endpoint is not configured is priced by its name, where the price list knows it.
    """
    found = ["what it takes at most, with full outputs and memory blocks:"]
    replies, total, unknown = 0, 0.0, False
    for job in planned:
        try:
            generator = model(job.model)
            told = ""
        except UsageError:
            generator, told = Named(job.model), " (its endpoint is not configured here)"
        plan = build_plan(
            pack,
            (job.model,),
            parse_conditions(job.conditions),
            retrieving=_retrieves,
            sample=sample,
            seed=seed,
            invitations=job.experiment.invitations,
        )
        own = list(judges(job))
        found.append(f"{job.experiment.name}, {', '.join(c.name for c in plan.conditions)}{told}:")
        found += forecast.lines(plan, {job.model: generator}, {}, own)
        replies += len(plan.cases)
        bound = forecast.replies(plan, job.model, generator, {})
        prices = [bound.dollars if bound else None]
        prices += [
            forecast.judgements(j, len(plan.probe_cases())) for j in own if getattr(j, "model", None) is not None
        ]
        unknown = unknown or None in prices
        total += sum(p for p in prices if p is not None)
    tail = ", and what is not known" if unknown else ""
    found.append(
        f"together: {replies:,} replies, at most ${total:,.2f}{tail}; what memory systems extract is not in it"
    )
    return found


def _retrieves(condition: Condition) -> bool:
    return condition.base not in _RETRIEVE_NOTHING
