"""Numbers that only the page shows: means by cell, invited pairs, second opinions, spending by arm. No interval is
claimed for any of them."""

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
class Invited:
    """Matched pairs of one arm, the invited twin minus the plain one, in points: means over `n` pairs."""

    model: str
    condition: str
    n: int
    plain: float
    invited: float
    helpfulness: float
    over_scope: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """A second judge beside the first: `n` cases both scored, their mean distance in points, the share within 25."""

    judge: str
    n: int
    distance: float
    within: float
    mean_first: float
    mean_second: float


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


def invitations(records: Iterable[Record], arms: Sequence[Arm]) -> list[Invited]:
    """Invited turns beside their plain twins, by arm; arms without a matched pair are left out."""
    sides: dict[Arm, dict[tuple[str, int], dict[bool, Record]]] = defaultdict(lambda: defaultdict(dict))
    for r in records:
        if r.kind == "probe" and r.measured and r.judgements:
            sides[r.model, r.condition][r.probe_id, r.repeat][r.invited] = r
    found = []
    for arm in arms:
        pairs = [(p[False].judgements[0], p[True].judgements[0]) for p in sides[arm].values() if len(p) == 2]
        if pairs:
            found.append(
                Invited(
                    *arm,
                    n=len(pairs),
                    plain=_mean(100 * a.target_uptake for a, _ in pairs),
                    invited=_mean(100 * b.target_uptake for _, b in pairs),
                    helpfulness=_mean(100 * (b.helpfulness - a.helpfulness) for a, b in pairs),
                    over_scope=_mean(100 * (b.over_scope - a.over_scope) for a, b in pairs),
                )
            )
    return found


def agreements(records: Iterable[Record]) -> list[Agreement]:
    """Each second judge beside the first, over the cases that both scored; empty for a run with one judge."""
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for r in records:
        if r.kind == "probe" and len(r.judgements) > 1 and r.judgements[0].v is not None:
            for other in r.judgements[1:]:
                if other.v is not None:
                    pairs[other.judge].append((100 * r.judgements[0].v, 100 * other.v))
    return [
        Agreement(
            judge,
            len(both),
            _mean(abs(a - b) for a, b in both),
            100 * sum(abs(a - b) <= 25 for a, b in both) / len(both),
            _mean(a for a, _ in both),
            _mean(b for _, b in both),
        )
        for judge, both in sorted(pairs.items())
    ]


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
