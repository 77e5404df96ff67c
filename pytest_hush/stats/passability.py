"""Can a gate pass, and can it fail, with this many cases and personas? Asked before the first call."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pytest_hush.stats.bootstrap import REPLICATES
from pytest_hush.stats.intervals import TABLE_RHO, Evidence, bound, clopper_pearson, korn_graubard, passing_rho
from pytest_hush.stats.paired import Difference, difference_bound


@dataclass(frozen=True, slots=True)
class Needs:
    """What a gate would need: `cases` at the same personas, `personas` at the same cases each; None: no number does."""

    bound: float
    cases: int | None
    personas: int | None


def spotless_upper(n: int, personas: int, limit: float, confidence: float, kind: str) -> float:
    """Upper bound in points of a run of `n` probes that all score 0, as the bound that passes `limit` (points)."""
    if kind == "fixed-suite":
        return 100.0 * clopper_pearson(0.0, n, confidence, upper=True)
    if personas < 2:
        return 100.0
    if kind == "bootstrap":
        return 0.0
    return 100.0 * korn_graubard(0.0, n, personas, 0.0, confidence, passing_rho(limit), upper=True)


def needs_to_pass(n: int, personas: int, limit: float, confidence: float, kind: str) -> Needs | None:
    """None when a spotless run passes; else the bound that it reaches and what would be enough."""
    reached = spotless_upper(n, personas, limit, confidence, kind)
    if reached <= limit:
        return None
    per_persona = max(1, n // max(1, personas))
    cases = _first(lambda m: spotless_upper(m, personas, limit, confidence, kind) <= limit, n, 10_000_000)
    people = _first(lambda g: spotless_upper(g * per_persona, g, limit, confidence, kind) <= limit, personas, 100_000)
    return Needs(reached, cases, people)


def can_fail(n: int, personas: int, limit: float, confidence: float, kind: str, family: int) -> bool:
    """Whether a run that scores 1 everywhere would fail `limit` (points) after correction for `family` gates."""
    alpha = (1.0 - confidence) / family
    if kind == "fixed-suite":
        return 100.0 * clopper_pearson(1.0, n, 1.0 - alpha, upper=False) > limit
    if personas < 2 or alpha <= 1.0 / (REPLICATES + 1):
        return False
    if kind == "bootstrap":
        return limit < 100.0
    return 100.0 * korn_graubard(1.0, n, personas, 0.0, 1.0 - alpha, 0.0, upper=False) > limit


def _first(enough: Callable[[int], bool], start: int, stop: int) -> int | None:
    """The smallest number from `start` on for which the monotone `enough` holds, or None up to `stop`."""
    high = max(1, start)
    while not enough(high):
        high *= 2
        if high > stop:
            return None
    low = max(0, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a plan can tell, in points: values up to `passes` pass as a rule, from `fails` on they fail; None: none do.

    Between the two a gate stays inconclusive. Both rest on an assumed intra-persona correlation.
    """

    passes: float | None
    fails: float | None


def resolution(
    n: int, personas: int, limit: float, confidence: float, kind: str, family: int, rho: float = TABLE_RHO
) -> Resolution:
    """What a level gate over `n` probes of `personas` can tell from `limit` (points), if personas correlate `rho`."""

    def made(mean: float) -> Evidence:
        bernoulli = mean * (1.0 - mean) / n
        variance = bernoulli * (1.0 + (n / personas - 1.0) * rho) if personas > 1 else math.nan
        return Evidence("calibrated" if kind == "bootstrap" else kind, mean, n, personas, variance, bernoulli)

    corrected = 1.0 - (1.0 - confidence) / family
    return Resolution(
        _last(lambda m: 100.0 * bound(made(m), confidence, passing_rho(limit), upper=True) <= limit, limit / 100.0),
        _next(lambda m: 100.0 * bound(made(m), corrected, 0.0, upper=False) > limit, limit / 100.0),
    )


def resolution_of_increase(
    n: int, personas: int, margin: float, confidence: float, family: int, rho: float = TABLE_RHO
) -> Resolution:
    """The same for a paired increase against `margin` (points), where every pair that differs rises."""

    def made(mean: float) -> Difference:
        variance = mean * (1.0 - mean) / n * (1.0 + (n / personas - 1.0) * rho) if personas > 1 else math.nan
        return Difference(mean, mean, 0.0, n, personas, variance, variance, 0.0)

    corrected = 1.0 - (1.0 - confidence) / family
    return Resolution(
        _last(
            lambda m: 100.0 * difference_bound(made(m), confidence, passing_rho(margin), upper=True) <= margin,
            margin / 100.0,
        ),
        _next(lambda m: 100.0 * difference_bound(made(m), corrected, 0.0, upper=False) > margin, margin / 100.0),
    )


_STEPS = 1000
"""Steps of 0.1 points: what a dry run prints needs no more."""


def _last(holds: Callable[[float], bool], stop: float) -> float | None:
    """The largest of the steps from 0 to `stop` up to which `holds` is true, in points; None when not even 0 is."""
    found = None
    for step in range(int(stop * _STEPS) + 1):
        if not holds(step / _STEPS):
            break
        found = 100.0 * step / _STEPS
    return found


def _next(holds: Callable[[float], bool], start: float) -> float | None:
    """The smallest of the steps from `start` to 1 at which `holds` is true, in points; None when none is."""
    return next((100.0 * s / _STEPS for s in range(int(start * _STEPS), _STEPS + 1) if holds(s / _STEPS)), None)
