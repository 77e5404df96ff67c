"""Hierarchical bootstrap by counts: exact, seeded by content, free of Python loops over replicates.

Drawing cases with replacement inside a cell depends on the data only through how often each score occurs, so
one multinomial draw a cell replaces one index a case.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_hush.stats.aggregate import Cell, Cells

REPLICATES = 10_000
"""As in the paper (section 4): 10,000 hierarchical replicates."""

_FEW_VALUES = 12

Levels = Literal["persona-case", "persona-family-case"]


def seed(*parts: str) -> int:
    """A 64-bit seed made of names (gate id, suite hash), never of order or of a shared stream."""
    return int.from_bytes(hashlib.sha256("\x00".join(parts).encode()).digest()[:8], "big")


@lru_cache(maxsize=128)
def replicates(cells: Cells, levels: Levels, seed: int, n: int = REPLICATES) -> NDArray[np.float64]:
    """Sorted replicate means in 0..1 of the stratum; replicates with an empty stratum are left out.

    ``persona-case``: personas, then cases within each of their cells (families crossed and fixed).
    ``persona-family-case``: the paper's three levels. The array is shared and read-only: metrics with equal cells
    (all silent, all sensitive, all exposed) are drawn once.
    """
    rng = np.random.default_rng(seed)
    groups = len(cells.personas)
    drawn = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=n)
    total = np.zeros(n)
    size = np.zeros(n)
    for index, persona in enumerate(cells.personas):
        times = drawn[:, index]
        if levels == "persona-case":
            picked = np.repeat(times[:, None], len(persona), axis=1)
        else:
            picked = rng.multinomial(times * len(persona), np.full(len(persona), 1.0 / len(persona)))
        for column, cell in enumerate(persona):
            _add(rng, cell, picked[:, column], total, size)
    kept = size > 0
    means = np.sort(total[kept] / size[kept])
    means.flags.writeable = False
    return means


def _add(
    rng: np.random.Generator,
    cell: Cell,
    times: NDArray[np.int64],
    total: NDArray[np.float64],
    size: NDArray[np.float64],
) -> None:
    """Add the cell's resampled sum and count, `times` copies of the cell in each replicate, in place."""
    n = cell.n + cell.outside
    if not cell.values:
        return
    scores = np.array([v for v, _ in cell.values])
    if len(scores) == 1 and not cell.outside:  # nothing to draw
        total += times * (n * scores[0])
        size += times * n
        return
    counts = np.array([c for _, c in cell.values] + ([cell.outside] if cell.outside else []))
    if len(counts) <= _FEW_VALUES:
        draws = rng.multinomial(times * n, counts / n)[:, : len(scores)]
        total += draws @ scores
        size += draws.sum(axis=1)
        return
    # Scores that hardly repeat: drawing cases costs less than drawing a count for each score.
    cases = np.repeat(np.append(scores, 0.0)[: len(counts)], counts)
    inside = np.arange(n) < n - cell.outside
    some = np.flatnonzero(times)
    if not len(some):
        return
    lengths = times[some] * n
    picked = rng.integers(0, n, size=int(lengths.sum()))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    total[some] += np.add.reduceat(cases[picked], starts)
    size[some] += np.add.reduceat(inside[picked].astype(np.float64), starts) if cell.outside else lengths
