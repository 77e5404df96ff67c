"""A judge's mean, corrected by people's labels of a random part of the same replies.

Prediction-powered inference (Angelopoulos et al., *Science* 382, 2023) with lambda = 1, and with personas as the
clusters: per persona the judge's mean over all cases plus the weighted mean of (reader minus judge) over the labelled
ones; then Student t with G - 1 degrees of freedom. The formula for independent cases covers 40 to 73 % where 95 is
asked for (``docs/reference/statistics.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scipy.special import stdtr, stdtrit

from pytest_hush.stats.intervals import invert, korn_graubard

LEAST: Final = 2
"""Labels that every persona needs: one alone says nothing of how far the judge is off."""
ADVISED: Final = 20
"""Labels a persona and condition that are enough in simulation."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled case: the scores of judge and reader in 0..1, and its weight, one over its chance to be drawn."""

    judge: float
    reader: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """One persona: the judge's mean in 0..1 over all of its `cases`, and those of them that were labelled."""

    judged: float
    cases: int
    labelled: Sequence[Labelled]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected mean. `judged` is the judge's own mean, `mean` the corrected one (not clipped), both in 0..1.

    `up` and `down` are the mean parts by which readers score above and below the judge; `mean` = `judged` + `up` -
    `down`. Variances are of the means, by the delete-one-persona jackknife. `labels` were read; `effective` of equal
    weight say as much (Kish). `parts`: persona -> (corrected mean, cases).
    """

    mean: float
    judged: float
    up: float
    down: float
    cases: int
    personas: int
    labels: int
    effective: float
    variance: float
    judged_variance: float
    up_variance: float
    down_variance: float
    parts: Mapping[str, tuple[float, int]]

    @property
    def bias(self) -> float:
        """Reader minus judge, in -1..1."""
        return self.up - self.down


def lacking(clusters: Mapping[str, Cluster]) -> dict[str, int]:
    """Personas with fewer than `LEAST` labels (or than cases, where those are fewer), and how many they have."""
    return {g: len(c.labelled) for g, c in sorted(clusters.items()) if len(c.labelled) < min(LEAST, c.cases)}


def corrected(clusters: Mapping[str, Cluster]) -> Corrected | None:
    """The corrected mean over the personas of `clusters`; None where one of them is `lacking`, or there is none.

    Within a persona the weighted mean is self-normalised, so weights need only be right up to a factor. A persona
    counts by its cases, as in the judge's own mean.
    """
    if not clusters or lacking(clusters):
        return None
    # In the order of what they hold: estimates do not change when personas are renamed.
    groups = sorted(clusters.items(), key=lambda item: (item[1].judged, item[1].cases, sorted(_key(item[1])), item[0]))
    sizes = [c.cases for _, c in groups]
    judged = [c.judged for _, c in groups]
    ups = [_mean(c.labelled, lambda x: max(x.reader - x.judge, 0.0)) for _, c in groups]
    downs = [_mean(c.labelled, lambda x: max(x.judge - x.reader, 0.0)) for _, c in groups]
    whole = [m + u - d for m, u, d in zip(judged, ups, downs, strict=True)]
    (mean, variance), (own, own_variance) = _jackknife(whole, sizes), _jackknife(judged, sizes)
    (up, up_variance), (down, down_variance) = _jackknife(ups, sizes), _jackknife(downs, sizes)
    return Corrected(
        mean=mean,
        judged=own,
        up=up,
        down=down,
        cases=sum(sizes),
        personas=len(groups),
        labels=sum(len(c.labelled) for _, c in groups),
        effective=_effective(c for _, c in groups),
        variance=variance,
        judged_variance=own_variance,
        up_variance=up_variance,
        down_variance=down_variance,
        parts={g: (w, n) for (g, _), w, n in zip(groups, whole, sizes, strict=True)},
    )


def corrected_bound(c: Corrected, confidence: float, rho: float, *, upper: bool) -> float:
    """The one-sided bound in 0..1 at `confidence` in (0.5, 1).

    The wider of two: t on the personas' corrected means; and the judge's own uncertainty together with the largest
    mass of disagreement that the labels leave open (Korn-Graubard on `effective` labels, `rho` as in
    `korn_graubard`). Without one observed disagreement that mass is about 3 over the labels, not 0. With one persona
    nothing is known: 0 and 1.
    """
    if c.personas < 2:
        return 1.0 if upper else 0.0
    t = float(stdtrit(c.personas - 1, confidence))
    own = min(1.0, max(0.0, c.judged))
    edge = korn_graubard(own, c.cases, c.personas, c.judged_variance, confidence, rho, upper=upper)
    raw = max(t * math.sqrt(c.judged_variance), abs(edge - own))
    seen, spread = (c.up, c.up_variance) if upper else (c.down, c.down_variance)
    # Rounded down, and one at least: an effective number is no whole one.
    mass = korn_graubard(seen, max(1, int(c.effective)), c.personas, spread, confidence, rho, upper=True)
    half = max(t * math.sqrt(c.variance), math.hypot(raw, mass - seen))
    return min(1.0, max(0.0, c.mean + half if upper else c.mean - half))


def corrected_p(c: Corrected, limit: float, rho: float = 0.0) -> float:
    """One-sided p of "the corrected mean is at most `limit`" (in 0..1), inverting `corrected_bound`."""
    if c.personas < 2 or limit >= 1.0 or c.mean <= limit:
        return 1.0
    t = (c.mean - limit) / math.sqrt(c.variance) if c.variance > 0 else math.inf
    return max(
        float(stdtr(c.personas - 1, -t)),
        invert(lambda confidence: corrected_bound(c, confidence, rho, upper=False), limit),
    )


def _mean(labelled: Sequence[Labelled], part: Callable[[Labelled], float]) -> float:
    total = math.fsum(x.weight for x in labelled)
    return math.fsum(x.weight * part(x) for x in labelled) / total


def _key(cluster: Cluster) -> list[tuple[float, float, float]]:
    return [(x.judge, x.reader, x.weight) for x in cluster.labelled]


def _effective(clusters: Iterable[Cluster]) -> float:
    """Kish's effective number of labels, each with its share of the whole mean as its weight."""
    shares = []
    for c in clusters:
        total = math.fsum(x.weight for x in c.labelled)
        shares += [c.cases * x.weight / total for x in c.labelled]
    return math.fsum(shares) ** 2 / math.fsum(s * s for s in shares)


def _jackknife(means: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """The mean over cases, and its variance by leaving out one persona at a time; NaN for one persona."""
    sums, n, k = [m * s for m, s in zip(means, sizes, strict=True)], sum(sizes), len(means)
    total = math.fsum(sums)
    mean = total / n
    if k < 2:
        return mean, math.nan
    parts = [((total - x) / (n - s) - mean) ** 2 for x, s in zip(sums, sizes, strict=True)]
    variance = (k - 1) / k * math.fsum(parts)
    return mean, 0.0 if variance < 1e-28 else variance
