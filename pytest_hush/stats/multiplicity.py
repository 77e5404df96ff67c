"""Correction for looking at many gates: Holm's step-down procedure (Scandinavian Journal of Statistics 6, 1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p: Sequence[float], family: int) -> tuple[float, ...]:
    """Adjusted p values in the order given, for `family` >= len(p) hypotheses.

    Hypotheses without a p (their gate was skipped or invalid) still count: the correction does not depend on
    what was selected.
    """
    if family < len(p):
        raise ValueError(f"a family of {family} cannot hold {len(p)} hypotheses")
    adjusted = [1.0] * len(p)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = max(running, min(1.0, (family - rank) * p[index]))
        adjusted[index] = running
    return tuple(adjusted)
