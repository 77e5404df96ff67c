"""Numbers that only the page shows: means by cell, spending by arm. No interval is claimed for any of them."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_hush.gate.price import cost
from pytest_hush.model import FAMILIES, Record
from pytest_hush.stats.aggregate import score

Arm = tuple[str, str]
_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Heat:
    """Mean UIS (0..100) and cases of each family and persona of one arm; a pair that no case has is absent."""

    model: str
    condition: str
    families: tuple[str, ...]
    personas: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[float, int]]
    worst: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What the replies of one arm took. Seconds are of measured replies; `cost_usd` None: some price is unknown."""

    model: str
    condition: str
    replies: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    median_s: float | None
    p95_s: float | None
    retries: int


def heats(records: Iterable[Record], arms: Sequence[Arm]) -> list[Heat]:
    """One map for each arm beside the reference that has a scored case, the worst arm first."""
    cells: dict[Arm, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in records:
        value = score(r, "uis", _NOBODY) if r.kind == "probe" else None
        if value is not None:
            cells[r.model, r.condition][r.family, r.persona].append(100 * value)
    found = []
    for model, condition in arms:
        own = cells.get((model, condition))
        if not own or condition == "none":
            continue
        families = tuple(f for f in FAMILIES if any(k[0] == f for k in own))
        means = {k: (math.fsum(v) / len(v), len(v)) for k, v in own.items()}
        every = [x for v in own.values() for x in v]
        found.append(
            Heat(
                model,
                condition,
                families,
                tuple(sorted({k[1] for k in own})),
                means,
                math.fsum(every) / len(every),
            )
        )
    return sorted(found, key=lambda h: -h.worst)


def costs(records: Iterable[Record], arms: Sequence[Arm]) -> list[Cost]:
    """Spending and latency by arm, in plan order; positive controls are included, since they are calls."""
    answered: dict[Arm, list[Record]] = defaultdict(list)
    for r in records:
        if r.reply:
            answered[r.model, r.condition].append(r)
    found = []
    for arm in arms:
        own = answered[arm]
        prices = [cost(r) for r in own]
        times = sorted(r.latency_s for r in own if r.measured)
        found.append(
            Cost(
                *arm,
                replies=len(own),
                input_tokens=sum(r.usage.input_tokens for r in own),
                output_tokens=sum(r.usage.output_tokens for r in own),
                cost_usd=None if None in prices else math.fsum(p for p in prices if p is not None),
                median_s=statistics.median(times) if times else None,
                p95_s=times[math.ceil(0.95 * len(times)) - 1] if times else None,
                retries=sum(max(0, r.attempts - 1) for r in own),
            )
        )
    return found


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)
