"""Can a gate pass, and can it fail, with this many cases and personas? Asked before the first call."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_hush.stats.bootstrap import REPLICATES
from pytest_hush.stats.intervals import clopper_pearson, korn_graubard, passing_rho


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


def _first(enough: object, start: int, stop: int) -> int | None:
    """The smallest number from `start` on for which the monotone `enough` holds, or None up to `stop`."""
    assert callable(enough)
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
