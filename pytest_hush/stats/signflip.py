"""Sign-flip tests on persona contrasts: exact, and joint over a family of gates.

Under "no worse than the limit" a persona's contrast is as likely above as below, so that flipping signs of whole
personas gives the null distribution (paper, appendix on tests; Romano and Wolf, *JASA* 100, 2005, for the joint one).
All 2^G flips are looked at up to `EXACT` personas; above, a seeded sample of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

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
    reached = np.zeros(len(rows), dtype=np.int64)
    flips = 0
    for signs in _signs(personas):
        largest = (signs @ (rows / scale[:, None]).T).max(axis=1)
        reached += (largest[:, None] >= observed[None, :] - _TIE).sum(axis=0)
        flips += len(signs)
    p = reached / flips if personas <= EXACT else (reached + 1) / (flips + 1)
    return tuple(float(x) if s > 0 else 1.0 for x, s in zip(p, size, strict=True))


def _signs(personas: int) -> Iterator[NDArray[np.float64]]:
    if personas <= EXACT:
        bits = np.arange(personas)
        for start in range(0, 1 << personas, _CHUNK):
            flips = np.arange(start, min(start + _CHUNK, 1 << personas))
            yield np.where((flips[:, None] >> bits) & 1, -1.0, 1.0)
        return
    rng = np.random.default_rng(personas)
    for _ in range(SAMPLED // _CHUNK):
        yield np.where(rng.integers(0, 2, size=(_CHUNK, personas)) == 1, -1.0, 1.0)


def effect_size(contrasts: Sequence[float]) -> float | None:
    """Mean over standard deviation of the persona contrasts (Cohen's d of pairs); None where they do not vary."""
    n = len(contrasts)
    if n < 2:
        return None
    mean = math.fsum(contrasts) / n
    variance = math.fsum((c - mean) ** 2 for c in contrasts) / (n - 1)
    return mean / math.sqrt(variance) if variance > 1e-24 else None
