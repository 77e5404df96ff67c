"""The cluster bootstrap: whole personas are drawn, their cases stay as they are. For comparison with published work."""

from __future__ import annotations

import numpy as np

from pytest_hush.stats.aggregate import Cells
from pytest_hush.stats.bootstrap import REPLICATES


def cluster_bounds(
    cells: Cells, seed: int, confidence: float, replicates: int = REPLICATES
) -> tuple[float, float] | None:
    """Percentile bounds in 0..1, each one-sided at `confidence`; None without a case.

    It undercovers with ten personas, and has no width where all are alike: gates never use it
    (``docs/reference/statistics.md``).
    """
    sums, counts = np.array(cells.sums), np.array(cells.counts, dtype=np.float64)
    if not counts.sum():
        return None
    groups = len(sums)
    drawn = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1.0 / groups), size=replicates)
    sizes = drawn @ counts
    kept = sizes > 0
    means = np.sort((drawn @ sums)[kept] / sizes[kept])
    low, high = np.quantile(means, [1.0 - confidence, confidence])
    return float(low), float(high)
