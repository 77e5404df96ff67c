"""Paired difference to a matched arm: t on persona mean differences, never narrower than its discordant mass allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import stdtr, stdtrit

from pytest_hush.stats.intervals import invert, korn_graubard


@dataclass(frozen=True, slots=True)
class Difference:
    """`mean` in -1..1 of `n` matched probes; `up` and `down` are the mean positive and negative parts, 0..1."""

    mean: float
    up: float
    down: float
    n: int
    personas: int
    variance: float
    up_variance: float
    down_variance: float


def difference(pairs: Mapping[str, Mapping[str, Sequence[float]]]) -> Difference | None:
    """From differences by persona and probe (repeats are averaged first); None without any pair."""
    probes = sorted(sorted(math.fsum(d) / len(d) for d in by_probe.values()) for by_probe in pairs.values() if by_probe)
    if not probes:
        return None
    mean, variance = _jackknife(probes)
    up, up_variance = _jackknife([[max(d, 0.0) for d in p] for p in probes])
    down, down_variance = _jackknife([[max(-d, 0.0) for d in p] for p in probes])
    n = sum(len(p) for p in probes)
    return Difference(mean, up, down, n, len(probes), variance, up_variance, down_variance)


def _jackknife(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    sums, n, k = [math.fsum(g) for g in groups], sum(len(g) for g in groups), len(groups)
    total = math.fsum(sums)
    mean = total / n
    if k < 2:
        return mean, math.nan
    parts = [((total - s) / (n - len(g)) - mean) ** 2 for s, g in zip(sums, groups, strict=True)]
    variance = (k - 1) / k * math.fsum(parts)
    return mean, 0.0 if variance < 1e-28 else variance


def difference_bound(d: Difference, confidence: float, rho: float, *, upper: bool) -> float:
    """One-sided bound in -1..1. Two identical arms still differ by up to the Korn-Graubard bound on no discordance."""
    if d.personas < 2:
        return 1.0 if upper else -1.0
    step = float(stdtrit(d.personas - 1, confidence)) * math.sqrt(d.variance)
    if upper:
        mass = korn_graubard(d.up, d.n, d.personas, d.up_variance, confidence, rho, upper=True)
        return min(1.0, max(d.mean + step, mass - d.down))
    mass = korn_graubard(d.down, d.n, d.personas, d.down_variance, confidence, rho, upper=True)
    return max(-1.0, min(d.mean - step, d.up - mass))


def difference_p(d: Difference, limit: float) -> float:
    """One-sided p of "the difference is at most `limit`" (in -1..1), inverting `difference_bound`."""
    if d.personas < 2 or d.mean <= limit:
        return 1.0
    t = (d.mean - limit) / math.sqrt(d.variance) if d.variance > 0 else math.inf
    return max(
        float(stdtr(d.personas - 1, -t)),
        invert(lambda confidence: difference_bound(d, confidence, 0.0, upper=False), limit),
    )
