"""Hierarchical bootstrap by distributions: seeded by content, free of Python loops over replicates.

A resampled persona enters a mean through its sum alone, and scores lie on a lattice (quarters, hundredths). The
distribution of that sum is a convolution, computed once; a replicate then takes one uniform a persona instead of
one index a case. Scores on no lattice, and strata with a random denominator, are drawn by counts: inside a cell
only the number of times that each score occurs matters, so one multinomial draw replaces the cell's cases.
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
_FINEST = 1200
"""Lattices up to this fine are looked for: hundredths averaged over up to twelve repeats."""
_LONGEST = 1 << 18
"""Points of a persona's distribution up to which it is tabulated."""

Levels = Literal["persona-case", "persona-family-case"]
Drawn = tuple[NDArray[np.float64], NDArray[np.float64]]


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
    finest = _lattice(cells, levels)
    total, size = _tabulated(rng, cells, levels, n, finest) if finest else _counted(rng, cells, levels, n)
    kept = size > 0
    means = np.sort(total[kept] / size[kept])
    means.flags.writeable = False
    return means


def _tabulated(rng: np.random.Generator, cells: Cells, levels: Levels, n: int, finest: int) -> Drawn:
    """Sum and size of every replicate, in units of the lattice: whole numbers, so no order of summation matters."""
    groups = len(cells.personas)
    total, size = np.zeros(n), np.zeros(n)
    picked = rng.integers(0, groups, size=(n, groups)) + groups * np.arange(n)[:, None]
    drawn = np.bincount(picked.ravel(), minlength=n * groups).reshape(n, groups)
    for index, persona in enumerate(cells.personas):
        times = drawn[:, index]
        least, shares = _distribution(persona, levels, finest)
        owner = np.repeat(np.arange(n), times)
        above = np.searchsorted(shares, rng.random(len(owner)), side="right")
        total += np.bincount(owner, weights=above, minlength=n) + times * least
        size += times * (sum(cell.n for cell in persona) * finest)
    return total, size


def _counted(rng: np.random.Generator, cells: Cells, levels: Levels, n: int) -> Drawn:
    """Sum and size of every replicate, from how often each score of each cell is drawn."""
    groups = len(cells.personas)
    drawn = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=n)
    total, size = np.zeros(n), np.zeros(n)
    for index, persona in enumerate(cells.personas):
        times = drawn[:, index]
        if levels == "persona-case":
            picked = np.repeat(times[:, None], len(persona), axis=1)
        else:
            picked = rng.multinomial(times * len(persona), np.full(len(persona), 1.0 / len(persona)))
        for column, cell in enumerate(persona):
            _add(rng, cell, picked[:, column], total, size)
    return total, size


def _lattice(cells: Cells, levels: Levels) -> int:
    """The smallest whole number whose multiples hold every score (1, 2, 4, 100); 0 where sums are not tabulated."""
    if any(c.outside or not c.values for p in cells.personas for c in p):
        return 0
    if levels == "persona-family-case" and any(len({c.n for c in p}) > 1 for p in cells.personas):
        return 0
    scores = np.array(sorted({v for p in cells.personas for c in p for v, _ in c.values}))
    cases = max(sum(c.n for c in p) for p in cells.personas)
    for finest in range(1, min(_FINEST, _LONGEST // cases) + 1):
        multiples = scores * finest
        if np.all(np.abs(multiples - np.rint(multiples)) < 1e-9):
            return finest
    return 0


def _distribution(persona: tuple[Cell, ...], levels: Levels, finest: int) -> tuple[int, NDArray[np.float64]]:
    """The smallest resampled sum of one persona in units of the lattice, and the shares of sums up to each next one."""
    cells = [[(round(v * finest), k) for v, k in cell.values] for cell in persona]
    if levels == "persona-case":
        least = sum(cell[0][0] * sum(k for _, k in cell) for cell in cells)
        spread = sum((cell[-1][0] - cell[0][0]) * sum(k for _, k in cell) for cell in cells)
        lows = [cell[0][0] for cell in cells]
    else:
        low, high = min(cell[0][0] for cell in cells), max(cell[-1][0] for cell in cells)
        cases = sum(k for cell in cells for _, k in cell)
        least, spread, lows = low * cases, (high - low) * cases, [low] * len(cells)
    length = 1 << spread.bit_length()
    waves = []
    for cell, low in zip(cells, lows, strict=True):
        n = sum(k for _, k in cell)
        single = np.zeros(length)
        for value, k in cell:
            single[value - low] = k / n
        waves.append(_power(np.fft.rfft(single), n))
    if levels == "persona-case":
        wave = np.multiply.reduce(waves)
    else:
        wave = _power(np.add.reduce(waves) / len(waves), len(waves))
    chances = np.fft.irfft(wave, length)[: spread + 1]
    chances[chances < 1e-15] = 0.0  # rounding of the transform: sums that cannot be
    shares = np.cumsum(chances)
    return least, shares[:-1] / shares[-1]


def _power(wave: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """`wave` to the power `n`, by squaring: a power by logarithms would lose digits."""
    found = np.ones_like(wave)
    while n:
        if n & 1:
            found = found * wave
        wave, n = wave * wave, n >> 1
    return found


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
