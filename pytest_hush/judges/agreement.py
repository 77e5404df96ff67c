"""Agreement between raters: plain functions over arrays, used for calibration, human review and several judges.

Scores are in [0, 1]; NaN stands for "not rated". A figure that cannot be computed is None, never 0 or 1. Imports numpy.

Sources: K. Krippendorff, *Content Analysis* (chapter on reliability) for alpha; J. Cohen 1968 (Psychological Bulletin
70) for the weighted kappa; T. Hesterberg 2015 (The American Statistician 69) for the expanded percentile interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LEVELS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The anchors of the rubric: what the weighted kappa is taken on."""
DRAWS: Final = 2000
CONFIDENCE: Final = 0.95
_NOTHING: Final = 1e-12
"""A disagreement below this is rounding: the ratings do not vary."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with a two-sided interval at `CONFIDENCE`; None where it cannot be computed."""

    value: float | None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far `judged` agrees with `reference` over the `n` units that both rate.

    `mae` and `bias` (judged minus reference) are in 0..1 and -1..1; `exact` is the share on the same of five levels.
    """

    n: int
    alpha: Figure
    kappa: Figure
    mae: float | None
    bias: float | None
    exact: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """Bias (judged minus reference) and mean absolute error over the `n` units of one group."""

    name: str
    n: int
    bias: float
    mae: float


@dataclass(frozen=True, slots=True)
class Roc:
    """How well a score sorts `positives` from `negatives`. `points`: (threshold, false and true positive rate), where
    a score of the threshold or more counts as positive, from the highest threshold down. `auc` None: one kind only."""

    positives: int
    negatives: int
    auc: float | None
    points: tuple[tuple[float, float, float], ...]


def nearest_level(scores: ArrayLike) -> NDArray[np.int64]:
    """The index in `LEVELS` nearest to each score; a tie goes to the higher level."""
    return np.floor(4.0 * np.asarray(scores, dtype=np.float64) + 0.5).astype(np.int64)


def krippendorff_alpha(ratings: ArrayLike) -> float | None:
    """Krippendorff's alpha at the interval level of `ratings`, shape (raters, units), NaN where a rater is silent.

    1 is perfect agreement, 0 what chance gives, below 0 systematic disagreement. Units with fewer than two ratings
    tell nothing and are left out. None where no unit has two, or nothing varies.
    """
    return _one(_alphas(_alpha_sums(_matrix(ratings)).sum(axis=0)[None, :]))


def weighted_kappa(a: ArrayLike, b: ArrayLike) -> float | None:
    """Cohen's kappa of two raters on the five levels, quadratic weights; units that one does not rate are left out.

    None where no unit is left or nothing varies.
    """
    return _one(_kappas(_confusions(np.stack([_vector(a), _vector(b)])).sum(axis=0)[None, :]))


def alpha_figure(ratings: ArrayLike, clusters: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> Figure:
    """`krippendorff_alpha` with the interval of a bootstrap over `clusters`, one name a unit (its persona).

    Units of one persona are alike, so personas are what is drawn. The percentiles are those of Hesterberg's expanded
    interval, since plain ones are too narrow for ten personas. Below two clusters there is no interval.
    """
    return _figure(_alpha_sums(_matrix(ratings)), clusters, _alphas, draws, seed)


def kappa_figure(a: ArrayLike, b: ArrayLike, clusters: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> Figure:
    """`weighted_kappa` with the interval of `alpha_figure`."""
    return _figure(_confusions(np.stack([_vector(a), _vector(b)])), clusters, _kappas, draws, seed)


def agreement(
    reference: ArrayLike, judged: ArrayLike, clusters: Sequence[str], *, draws: int = DRAWS, seed: int = 0
) -> Agreement:
    """All figures of two raters, of equal length; units that one does not rate are left out."""
    a, b = _vector(reference), _vector(judged)
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    kept = [c for c, keep in zip(clusters, both, strict=True) if keep]
    if not len(a):
        return Agreement(0, Figure(None), Figure(None), None, None, None)
    return Agreement(
        n=len(a),
        alpha=alpha_figure(np.stack([a, b]), kept, draws=draws, seed=seed),
        kappa=kappa_figure(a, b, kept, draws=draws, seed=seed),
        mae=float(np.abs(b - a).mean()),
        bias=float((b - a).mean()),
        exact=float((nearest_level(a) == nearest_level(b)).mean()),
    )


def by_group(
    reference: ArrayLike, judged: ArrayLike, groups: Sequence[str], order: Sequence[str] = ()
) -> tuple[Group, ...]:
    """Bias and error by group: names of `order` first, the others sorted; groups without a unit are left out."""
    a, b = _vector(reference), _vector(judged)
    names = np.asarray(groups, dtype=object)
    both = ~(np.isnan(a) | np.isnan(b))
    known = dict.fromkeys(order) | dict.fromkeys(sorted(set(groups)))
    found = []
    for name in known:
        here = both & (names == name)
        if here.any():
            gap = b[here] - a[here]
            found.append(Group(name, int(here.sum()), float(gap.mean()), float(np.abs(gap).mean())))
    return tuple(found)


def roc(judged: ArrayLike, positive: ArrayLike) -> Roc:
    """The curve of `judged` against the truth `positive` (bool), and the area under it by ranks, ties half."""
    scores, truth = _vector(judged), np.asarray(positive, dtype=bool)
    rated = ~np.isnan(scores)
    scores, truth = scores[rated], truth[rated]
    yes, no = int(truth.sum()), int((~truth).sum())
    if not (yes and no):
        return Roc(yes, no, None, ())
    points = []
    for threshold in sorted(set(scores.tolist()), reverse=True):
        called = scores >= threshold
        points.append((threshold, float((called & ~truth).sum() / no), float((called & truth).sum() / yes)))
    high, low = scores[truth][:, None], scores[~truth][None, :]
    auc = float(((high > low) + 0.5 * (high == low)).mean())
    return Roc(yes, no, auc, tuple(points))


# ---- sums a unit, so that a draw of clusters is one multiplication ---------------------------------


def _alpha_sums(ratings: Floats) -> Floats:
    """(units, 4): ratings, their sum, their sum of squares, and the unit's own disagreement; 0 where not pairable."""
    rated = ~np.isnan(ratings)
    count = rated.sum(axis=0).astype(np.float64)
    pairable = count >= 2
    if not pairable.any():
        return np.zeros((ratings.shape[1], 4))
    # Centred: sums of squares of raw scores would lose the digits that tell a small disagreement from none.
    x = np.where(rated, ratings - ratings[:, pairable][rated[:, pairable]].mean(), 0.0)
    sums, squares = x.sum(axis=0), (x * x).sum(axis=0)
    within = 2.0 * (count * squares - sums**2) / np.maximum(count - 1.0, 1.0)
    return np.where(pairable, np.stack([count, sums, squares, within]), 0.0).T


def _alphas(sums: Floats) -> Floats:
    """Alpha of each row of summed (count, sum, squares, within); NaN where undefined."""
    n, s, q, within = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = 2.0 * (n * q - s**2) / (n * (n - 1.0))
        alphas = 1.0 - (within / n) / expected
    return np.where((n > 1) & (expected > _NOTHING), alphas, np.nan)


def _confusions(pair: Floats) -> Floats:
    """(units, 25): a one in the cell of the two levels; a row of zeros where one rater is silent."""
    units = pair.shape[1]
    cells = np.zeros((units, 25))
    both = ~np.isnan(pair).any(axis=0)
    a, b = (nearest_level(pair[i][both]) for i in (0, 1))
    cells[np.flatnonzero(both), 5 * a + b] = 1.0
    return cells


def _kappas(cells: Floats) -> Floats:
    """Quadratic-weighted kappa of each row of 25 cells; NaN where undefined."""
    table = cells.reshape(-1, 5, 5)
    steps = np.arange(5)
    weights = (steps[:, None] - steps[None, :]) ** 2 / 16.0
    n = table.sum(axis=(1, 2))
    chance = table.sum(axis=2)[:, :, None] * table.sum(axis=1)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (weights * chance).sum(axis=(1, 2)) / n
        kappas = 1.0 - (weights * table).sum(axis=(1, 2)) / expected
    return np.where((n > 0) & (expected > _NOTHING), kappas, np.nan)


def _figure(
    sums: Floats, clusters: Sequence[str], statistic: Callable[[Floats], Floats], draws: int, seed: int
) -> Figure:
    if len(clusters) != len(sums):
        raise ValueError(f"{len(clusters)} clusters for {len(sums)} units; expected one a unit")
    value = _one(statistic(sums.sum(axis=0)[None, :]))
    _, place = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    count = int(place.max(initial=-1)) + 1
    if value is None or count < 2:
        return Figure(value)
    by_cluster = np.zeros((count, sums.shape[1]))
    np.add.at(by_cluster, place, sums)
    times = np.random.default_rng(seed).multinomial(count, np.full(count, 1.0 / count), size=draws)
    drawn = statistic(times @ by_cluster)
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < draws / 2:  # a resample too often holds nothing that varies: its percentiles mean little
        return Figure(value)
    tail = _expanded_tail(count)
    lower, upper = np.quantile(drawn, [tail, 1.0 - tail])
    # With few clusters the value itself can lie at the edge of what resamples give.
    return Figure(value, min(float(lower), value), max(float(upper), value))


def _expanded_tail(clusters: int) -> float:
    from scipy.special import ndtr, stdtrit

    t = stdtrit(clusters - 1, (1.0 + CONFIDENCE) / 2.0)
    return float(ndtr(-t * math.sqrt(clusters / (clusters - 1))))


def _one(values: Floats) -> float | None:
    value = float(values[0])
    return None if math.isnan(value) else value


def _vector(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _matrix(ratings: ArrayLike) -> Floats:
    found = np.asarray(ratings, dtype=np.float64)
    if found.ndim != 2:
        raise ValueError(f"ratings of shape {found.shape}; expected (raters, units)")
    return found
