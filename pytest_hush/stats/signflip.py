"""Sign-flip tests on persona contrasts: exact, and joint over a family of gates.

Under "no worse than the limit" a persona's contrast is as likely above as below, so that flipping signs of whole
personas gives the null distribution (paper, appendix on tests; Romano and Wolf, *JASA* 100, 2005, for the joint one).
All 2^G flips are looked at up to `EXACT` personas; above, a seeded sample of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

EXACT = 20
"""Personas up to which all 2^G flips are enumerated."""
SAMPLED = 1 << 17
"""Flips drawn above that."""
_CHUNK = 1 << 16
_TIE = 1e-12


def smallest_p(personas: int) -> float:
    """The smallest p that `personas` can give: 2^-G, or that of the sample above `EXACT`."""
    return 2.0**-personas if personas <= EXACT else 1.0 / (SAMPLED + 1)


def sign_flip(contrasts: Sequence[float]) -> float:
    """One-sided p of "the contrasts are not above 0", in (0, 1]; 1 without any contrast."""
    return max_t([contrasts])[0]


def sign_flip_two_sided(contrasts: Sequence[float]) -> float:
    """Two-sided p of "the contrasts are as often below 0 as above", in (0, 1]: twice the tail that they point to."""
    up = math.fsum(contrasts) >= 0
    return min(1.0, 2.0 * sign_flip([c if up else -c for c in contrasts]))


def max_t(family: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Adjusted one-sided p of each hypothesis: the share of flips whose largest statistic reaches its own.

    `family[k][g]` is the contrast of persona g under hypothesis k, 0 where the persona has none; all rows name the
    same personas in the same order. The result does not depend on that order, nor on the rows' order.
    """
    if not family or not family[0]:
        return tuple(1.0 for _ in family)
    # Ordered by content: the sampled flips, and the order of summation, must not know the personas' names.
    rows = np.array(sorted(zip(*family, strict=True), key=lambda c: (sorted(c), c)), dtype=np.float64).T
    size = np.sqrt((rows**2).sum(axis=1))
    scale = np.where(size > 0, size, 1.0)
    observed = np.array([math.fsum(row) for row in rows]) / scale
    personas = rows.shape[1]
    turned = _flips(personas)
    flips = len(turned)
    sums = _eights((rows / scale[:, None]).T)
    reached = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, flips, _CHUNK):
        part = turned[start : start + _CHUNK]
        statistics = sum((own[part[:, k]] for k, own in enumerate(sums)), np.zeros(len(rows)))
        largest = statistics.max(axis=1)
        reached += (largest[:, None] >= observed[None, :] - _TIE).sum(axis=0)
    p = reached / flips if personas <= EXACT else (reached + 1) / (flips + 1)
    return tuple(float(x) if s > 0 else 1.0 for x, s in zip(p, size, strict=True))


@lru_cache(maxsize=2)
def _flips(personas: int) -> NDArray[np.uint8]:
    """Whose signs each flip turns: a row a flip, a bit a persona, eight to a byte."""
    if personas <= EXACT:
        every = np.arange(1 << personas, dtype="<u4")
        found = every.view(np.uint8).reshape(-1, 4)[:, : (personas + 7) // 8]
    else:
        rng = np.random.default_rng(personas)
        drawn = (rng.integers(0, 2, size=(_CHUNK, personas)) for _ in range(SAMPLED // _CHUNK))
        found = np.concatenate([np.packbits(bits.astype(np.uint8), axis=1, bitorder="little") for bits in drawn])
    found.flags.writeable = False
    return found


def _eights(contrasts: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The sums (byte x hypothesis) of each eight personas' `contrasts` (persona x hypothesis) under all 256 flips.

    Looking sums up costs a twentieth of multiplying by signs.
    """
    signs = np.where(np.arange(256)[:, None] >> np.arange(8) & 1, -1.0, 1.0)
    eights = [contrasts[k : k + 8] for k in range(0, len(contrasts), 8)]
    return [signs[:, : len(own)] @ own for own in eights]


def effect_size(contrasts: Sequence[float]) -> float | None:
    """Mean over standard deviation of the persona contrasts (Cohen's d of pairs); None where they do not vary."""
    n = len(contrasts)
    if n < 2:
        return None
    mean = math.fsum(contrasts) / n
    variance = math.fsum((c - mean) ** 2 for c in contrasts) / (n - 1)
    return mean / math.sqrt(variance) if variance > 1e-24 else None
