"""One-sided bounds for a mean of scores in 0..1 whose clusters are personas, and the p that inverts them.

``calibrated`` is an envelope: the largest upper and the smallest lower bound of the hierarchical bootstrap
percentile, Student t on persona means, and Korn-Graubard (*Survey Methodology* 24, 1998). Each member alone
fails somewhere: the bootstrap and t collapse to a point when all scores are equal and cover too little with ten
clusters; Korn-Graubard alone rests on a variance that ten clusters estimate poorly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtr, stdtrit

from pytest_hush.stats.aggregate import Cells
from pytest_hush.stats.bootstrap import replicates

TABLE_RHO = 0.02
"""Floor on the intra-persona correlation for numbers that belong to no gate."""


def passing_rho(limit: float) -> float:
    """Floor on the intra-persona correlation of the bound that can pass a gate; `limit` in points."""
    return min(TABLE_RHO, abs(limit) / 200.0)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """All that the bounds of one mean need. `mean` in 0..1; variances are of the mean.

    `variance` comes from the delete-one-persona jackknife (CV3); with equal persona sizes it is that of Student
    t on persona means. `within` is the stratified one, over cases, for the suite as it stands. NaN with fewer
    than two personas. `replicates` are sorted, or None where the interval does not use them.
    """

    kind: str
    mean: float
    n: int
    personas: int
    variance: float
    within: float
    replicates: NDArray[np.float64] | None = None


def evidence(cells: Cells, kind: str, seed: int, *, ratio: bool = False) -> Evidence | None:
    """Evidence for the mean of `cells`; None when the stratum is empty in all personas (unknown, not 0).

    `ratio`: the denominator is random (exposure strata) or the metric is the exposure share: the calibrated
    envelope then has no bootstrap member (jackknife t and Korn-Graubard cover 97 to 100 % in simulation).
    """
    pairs = [(s, n) for s, n in zip(cells.sums, cells.counts, strict=True) if n]
    if not pairs:
        return None
    total, n, groups = math.fsum(s for s, _ in pairs), sum(n for _, n in pairs), len(pairs)
    mean = min(1.0, max(0.0, total / n))
    variance = math.nan
    if groups > 1:
        deviations = [(total - s) / (n - m) - mean for s, m in pairs]
        variance = (groups - 1) / groups * math.fsum(d * d for d in deviations)
        if variance < 1e-28:  # what is left of equal persona means after rounding
            variance = 0.0
    drawn = None
    if groups > 1 and kind == "bootstrap":
        drawn = replicates(cells, "persona-family-case", seed)
    elif groups > 1 and kind == "calibrated" and not ratio:
        drawn = replicates(cells, "persona-case", seed)
    return Evidence(kind, mean, n, groups, variance, _within(cells, n), drawn)


def _within(cells: Cells, n: int) -> float:
    parts = []
    for cell in (c for p in cells.personas for c in p if c.n > 1):
        centre = cell.total / cell.n
        spread = math.fsum(k * (v - centre) ** 2 for v, k in cell.values) / (cell.n - 1)
        parts.append(cell.n * spread / n**2)
    return math.fsum(parts)


def korn_graubard(
    mean: float, n: int, personas: int, variance: float, confidence: float, rho: float, *, upper: bool
) -> float:
    """Clopper-Pearson bound in 0..1 at the effective sample size of a clustered sample.

    n_eff = min(n, n / deff * (z/t)^2), deff the largest of the observed design effect, 1 + (n/G - 1) rho, and 1.
    """
    z, t = float(ndtri(confidence)), float(stdtrit(personas - 1, confidence))
    bernoulli = mean * (1.0 - mean) / n
    observed = variance / bernoulli if bernoulli > 0 else 1.0
    deff = max(observed, 1.0 + (n / personas - 1.0) * rho, 1.0)
    return clopper_pearson(mean, min(float(n), n / deff * (z / t) ** 2), confidence, upper=upper)


def clopper_pearson(mean: float, n: float, confidence: float, *, upper: bool) -> float:
    """Exact binomial bound for `mean` * `n` successes of `n`, neither of them whole, through the beta quantile."""
    hits = mean * n
    if upper:
        return 1.0 if mean >= 1.0 else float(betaincinv(hits + 1.0, n - hits, confidence))
    return 0.0 if mean <= 0.0 else float(betaincinv(hits, n - hits + 1.0, 1.0 - confidence))


def bound(e: Evidence, confidence: float, rho: float, *, upper: bool) -> float:
    """The one-sided bound in 0..1 at `confidence` in (0.5, 1), of the kind of interval that `e` was made for.

    With one persona nothing is known of the spread between users: 0 and 1, except for ``fixed-suite``, which
    speaks of the suite alone.
    """
    sign = 1.0 if upper else -1.0
    if e.kind == "fixed-suite":
        normal = e.mean + sign * float(ndtri(confidence)) * math.sqrt(e.within)
        members = [normal, clopper_pearson(e.mean, e.n, confidence, upper=upper)]
    elif e.personas < 2:
        members = [1.0 if upper else 0.0]
    else:
        members = []
        if e.replicates is not None and len(e.replicates):
            members.append(float(np.quantile(e.replicates, confidence if upper else 1.0 - confidence)))
        if e.kind != "bootstrap":
            members.append(e.mean + sign * float(stdtrit(e.personas - 1, confidence)) * math.sqrt(e.variance))
            members.append(korn_graubard(e.mean, e.n, e.personas, e.variance, confidence, rho, upper=upper))
        if not members:
            return math.nan
    return min(1.0, max(0.0, max(members) if upper else min(members)))


def p_above(e: Evidence, limit: float, rho: float = 0.0) -> float:
    """One-sided p of "the mean is at most `limit`" (in 0..1): the smallest level at which the lower bound passes it.

    It inverts the very interval that is shown, so p < alpha and "lower bound above the limit" agree. The
    bootstrap member has the resolution of its replicates, (k + 1) / (R + 1).
    """
    if limit >= 1.0 or e.mean <= limit:
        return 1.0
    if e.kind == "fixed-suite":
        return invert(lambda confidence: bound(e, confidence, rho, upper=False), limit)
    if e.personas < 2:
        return 1.0
    members = []
    if e.replicates is not None and len(e.replicates):
        below = int(np.searchsorted(e.replicates, limit, side="right"))
        members.append((below + 1) / (len(e.replicates) + 1))
    if e.kind != "bootstrap":
        t = (e.mean - limit) / math.sqrt(e.variance) if e.variance > 0 else math.inf
        members.append(float(stdtr(e.personas - 1, -t)))
        members.append(
            invert(
                lambda c: korn_graubard(e.mean, e.n, e.personas, e.variance, c, rho, upper=False),
                limit,
            )
        )
    return max(members, default=1.0)


def invert(lower: Callable[[float], float], limit: float) -> float:
    """The smallest alpha in (0, 0.5) with ``lower(1 - alpha) > limit``, by bisection on log alpha; 1 when none."""
    small, large = math.log(1e-12), math.log(0.4999)
    if not lower(1.0 - math.exp(large)) > limit:
        return 1.0
    if lower(1.0 - math.exp(small)) > limit:
        return math.exp(small)
    for _ in range(50):
        middle = (small + large) / 2
        if lower(1.0 - math.exp(middle)) > limit:
            large = middle
        else:
            small = middle
    return math.exp(large)
