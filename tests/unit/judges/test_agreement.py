from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.judges.agreement import (
    LEVELS,
    agreement,
    alpha_figure,
    by_group,
    kappa_figure,
    krippendorff_alpha,
    nearest_level,
    roc,
    weighted_kappa,
)

RATING = st.sampled_from([*LEVELS, 0.125, 0.6, math.nan])
MATRICES = st.integers(2, 4).flatmap(
    lambda raters: st.integers(2, 12).flatmap(
        lambda units: st.lists(st.lists(RATING, min_size=units, max_size=units), min_size=raters, max_size=raters)
    )
)


@given(MATRICES)
@settings(max_examples=150, deadline=None)
def test_alpha_is_that_of_the_reference_implementation(ratings: list[list[float]]) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    data = np.array(ratings)
    ours = krippendorff_alpha(data)
    pairable = data[:, (~np.isnan(data)).sum(axis=0) >= 2]
    if pairable.size == 0 or len(set(pairable[~np.isnan(pairable)])) < 2:
        assert ours is None
        return
    theirs = krippendorff.alpha(reliability_data=pairable, level_of_measurement="interval")
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_alpha_of_the_textbook() -> None:
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers, interval: 0.849.
    n = math.nan
    data = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
        [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
    ]
    assert krippendorff_alpha(data) == pytest.approx(0.849, abs=0.0005)


def test_weighted_kappa_by_hand() -> None:
    # Levels 0 0 1 4 against 0 1 1 4: observed weights 1/16; by chance, over the margins, sum = 90/16, over n = 4.
    a, b = [0, 0, 0.25, 1], [0, 0.25, 0.25, 1]
    chance = sum((x - y) ** 2 for x in (0, 0, 1, 4) for y in (0, 1, 1, 4)) / 16 / 4
    assert weighted_kappa(a, b) == pytest.approx(1 - (1 / 16) / chance)
    assert weighted_kappa(a, a) == 1.0
    assert weighted_kappa([0, 1], [1, 0]) == pytest.approx(-1.0)


def test_what_cannot_be_computed_is_none_and_not_perfect() -> None:
    assert krippendorff_alpha([[0.1] * 7, [0.1] * 7]) is None
    assert krippendorff_alpha([[0.5, math.nan], [math.nan, 0.5]]) is None
    assert weighted_kappa([0.5, 0.5], [0.5, 0.5]) is None
    assert weighted_kappa([], []) is None
    empty = agreement([math.nan], [0.5], ["p"])
    assert (empty.n, empty.alpha.value, empty.mae) == (0, None, None)
    assert alpha_figure([[0, 1, 0], [0, 1, 1]], ["p", "p", "p"]).lower is None
    with pytest.raises(ValueError, match="2 clusters for 3 units"):
        alpha_figure([[0, 1, 0], [0, 1, 1]], ["p", "q"])


def test_levels_and_ties() -> None:
    assert nearest_level([0, 0.12, 0.125, 0.37, 0.375, 0.62, 0.88, 1]).tolist() == [0, 0, 1, 1, 2, 2, 4, 4]


def test_the_interval_covers_and_widens_with_clustering() -> None:
    """Ten personas, each with an error of its own: the interval must know that 400 replies are not 400 witnesses."""
    rng = np.random.default_rng(3)
    people = [f"p{i}" for i in range(10) for _ in range(40)]
    truth = rng.choice(LEVELS, 400)
    noise = np.repeat(rng.normal(0, 0.25, 10), 40) + rng.normal(0, 0.1, 400)
    judged = np.clip(truth + noise, 0, 1)
    clustered = alpha_figure([truth, judged], people)
    alone = alpha_figure([truth, judged], [str(i) for i in range(400)])
    assert clustered.lower < clustered.value < clustered.upper  # type: ignore[operator]
    assert clustered.upper - clustered.lower > 1.5 * (alone.upper - alone.lower)  # type: ignore[operator]
    assert clustered == alpha_figure([truth, judged], people)
    kappa = kappa_figure(truth, judged, people)
    assert kappa.lower < kappa.value < kappa.upper  # type: ignore[operator]


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """200 simulated studies of ten personas: the population's alpha lies inside at least nine times of ten."""

    def study(rng: np.random.Generator, people: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        truth = rng.choice(LEVELS, people * 20)
        own = np.repeat(rng.normal(0, 0.2, people), 20)
        return truth, truth + own + rng.normal(0, 0.15, len(truth)), [str(i // 20) for i in range(len(truth))]

    big = study(np.random.default_rng(0), 4000)
    true = krippendorff_alpha(big[:2])
    assert true is not None
    inside = 0
    for seed in range(200):
        a, b, people = study(np.random.default_rng(seed + 1), 10)
        figure = alpha_figure([a, b], people, draws=400, seed=seed)
        assert figure.lower is not None
        assert figure.upper is not None
        inside += figure.lower <= true <= figure.upper
    assert inside >= 180


def test_agreement_of_one_pair() -> None:
    found = agreement([0, 0.5, 1, math.nan, 0.25], [0.25, 0.5, 0.75, 1, math.nan], ["p", "q", "p", "q", "p"])
    assert found.n == 3
    assert (found.mae, found.bias, found.exact) == (pytest.approx(1 / 6), pytest.approx(0), pytest.approx(1 / 3))


def test_groups_keep_the_order_and_skip_the_empty() -> None:
    groups = by_group([0, 0, 1, math.nan], [0.5, 0, 0.5, 1], ["b", "a", "c", "d"], order=("c", "x"))
    assert [(g.name, g.n, g.bias, g.mae) for g in groups] == [
        ("c", 1, -0.5, 0.5),
        ("a", 1, 0.0, 0.0),
        ("b", 1, 0.5, 0.5),
    ]


def test_roc() -> None:
    curve = roc([0.9, 0.2, 0.2, 0.1, math.nan], [True, True, False, False, True])
    assert (curve.positives, curve.negatives) == (2, 2)
    assert curve.auc == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert curve.points == ((0.9, 0.0, 0.5), (0.2, 0.5, 1.0), (0.1, 1.0, 1.0))
    assert roc([0.1, 0.2], [True, True]).auc is None
