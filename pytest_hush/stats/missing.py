"""Missing cases widen the bounds; they are never dropped in silence."""

from __future__ import annotations


def widen(lower: float, upper: float, share: float, *, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """Bounds in `low`..`high` with both sides moved out by `share` in 0..1: missing cases may have scored anything."""
    return max(low, lower - share), min(high, upper + share)


def share(missing: int, scored: int) -> float:
    """Missing cases as a share of all that could have counted; 1 when nothing could."""
    return missing / (missing + scored) if missing + scored else 1.0
