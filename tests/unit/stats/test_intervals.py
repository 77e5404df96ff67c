"""Bounds: published values, limits of the scale, monotonicity, invariances, and coverage that a naive bound lacks."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri, stdtrit

from pytest_hush.stats.bootstrap import replicates, seed
from pytest_hush.stats.intervals import (
    bound,
    clopper_pearson,
    evidence,
    korn_graubard,
    p_above,
    passing_rho,
)
from pytest_hush.stats.missing import share, widen
from tests.unit.stats.cells import cell_lists, from_scores, simulate

KINDS = ("calibrated", "bootstrap", "fixed-suite")


def both(e: object, confidence: float = 0.95, rho: float = 0.02) -> tuple[float, float]:
    return bound(e, confidence, rho, upper=False), bound(e, confidence, rho, upper=True)  # type: ignore[arg-type]


def test_clopper_pearson_is_the_textbook_one() -> None:
    # No success in 20: 1 - 0.05^(1/20); 5 in 20 at one-sided 97.5 %: 0.0866 to 0.4910 (Clopper and Pearson 1934).
    assert clopper_pearson(0.0, 20, 0.95, upper=True) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert clopper_pearson(0.25, 20, 0.975, upper=False) == pytest.approx(0.0866, abs=5e-5)
    assert clopper_pearson(0.25, 20, 0.975, upper=True) == pytest.approx(0.4910, abs=5e-5)


@pytest.mark.parametrize("n, reached", [(200, 2.23), (600, 0.76), (1200, 0.38), (2400, 0.20)])
def test_korn_graubard_of_a_spotless_run_has_the_designed_values(n: int, reached: float) -> None:
    upper = 100 * korn_graubard(0.0, n, 10, 0.0, 0.95, passing_rho(reached), upper=True)
    assert upper == pytest.approx(reached, abs=0.012)


def test_equal_persona_sizes_give_student_t_on_persona_means() -> None:
    rows = [[[0.0, 0.5], [1.0, 0.5]], [[0.0, 0.0], [0.5, 0.0]], [[1.0, 1.0], [0.5, 1.0]]]
    e = evidence(from_scores(rows), "calibrated", 1, ratio=True)
    assert e is not None
    means = [np.mean(r) for r in rows]
    assert e.mean == pytest.approx(np.mean(means))
    assert e.variance == pytest.approx(np.var(means, ddof=1) / 3)
    t = e.mean + stdtrit(2, 0.95) * math.sqrt(e.variance)
    assert bound(e, 0.95, 0.0, upper=True) >= min(1.0, t)


def test_an_empty_stratum_is_unknown_not_zero() -> None:
    assert evidence(from_scores([]), "calibrated", 1) is None


@pytest.mark.parametrize("kind", ["calibrated", "bootstrap"])
def test_one_persona_says_nothing_about_users(kind: str) -> None:
    e = evidence(from_scores([[[0.0] * 50]]), kind, 1)
    assert e is not None
    assert both(e) == (0.0, 1.0)
    assert p_above(e, 0.0) == 1.0


@given(cell_lists, st.sampled_from(KINDS), st.booleans())
@settings(max_examples=60, deadline=None)
def test_bounds_hold_the_mean_and_stay_on_the_scale(rows: list[list[list[float]]], kind: str, ratio: bool) -> None:
    e = evidence(from_scores(rows), kind, 3, ratio=ratio)
    assert e is not None
    low, high = both(e)
    assert 0.0 <= low <= high <= 1.0
    if kind != "bootstrap":  # the paper's own interval may lie beside the mean, and has no width on equal scores
        assert low <= e.mean <= high
        assert high - low > 1e-6


@given(cell_lists, st.sampled_from(KINDS))
@settings(max_examples=40, deadline=None)
def test_bounds_grow_with_confidence(rows: list[list[list[float]]], kind: str) -> None:
    e = evidence(from_scores(rows), kind, 3)
    assert e is not None
    found = [both(e, c) for c in (0.8, 0.9, 0.95, 0.975, 0.99, 0.999)]
    for (low, high), (lower, higher) in pairwise(found):
        assert lower <= low + 1e-12
        assert higher >= high - 1e-12


@given(cell_lists, st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_missing_cases_only_widen(rows: list[list[list[float]]], one: float, other: float) -> None:
    e = evidence(from_scores(rows), "calibrated", 3, ratio=True)
    assert e is not None
    narrow, wide = (widen(*both(e), f) for f in sorted((one, other)))
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    assert widen(*both(e), 1.0) == (0.0, 1.0)


def test_missing_share() -> None:
    assert share(3, 9) == 0.25
    assert share(0, 0) == 1.0


@given(cell_lists, st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_persona_means_are_all_that_the_jackknife_sees_of_case_counts(rows: list[list[list[float]]], k: int) -> None:
    one = evidence(from_scores(rows), "calibrated", 3, ratio=True)
    many = evidence(from_scores([[cell * k for cell in p] for p in rows]), "calibrated", 3, ratio=True)
    assert one is not None
    assert many is not None
    assert many.mean == pytest.approx(one.mean)
    assert many.variance == pytest.approx(one.variance, abs=1e-12)


@given(cell_lists, st.floats(0.01, 0.99))
@settings(max_examples=60, deadline=None)
def test_p_inverts_the_interval(rows: list[list[list[float]]], limit: float) -> None:
    e = evidence(from_scores(rows), "calibrated", 3, ratio=True)
    assert e is not None
    p = p_above(e, limit)
    for confidence in (0.9, 0.95, 0.99):
        if abs(p - (1 - confidence)) > 1e-6:
            assert (p < 1 - confidence) == (bound(e, confidence, 0.0, upper=False) > limit)


def test_p_of_the_bootstrap_member_has_the_resolution_of_its_replicates() -> None:
    e = evidence(from_scores([[[1.0] * 60] * 4] * 10), "calibrated", 3)
    assert e is not None
    assert p_above(e, 0.05) == 1 / 10_001


def test_replicates_depend_on_the_seed_alone() -> None:
    cells, _ = simulate(np.random.default_rng(1), 0.3, 15, 0.8)
    first = replicates(cells, "persona-case", seed("uis", "hash"))
    assert np.array_equal(first, replicates(cells, "persona-case", seed("uis", "hash")))
    assert not np.array_equal(first, replicates(cells, "persona-case", seed("uis-2", "hash")))
    assert seed("a", "bc") != seed("ab", "c")


@pytest.mark.parametrize("distinct", [3, 40])
def test_counting_bootstrap_is_the_bootstrap_over_cases(distinct: int) -> None:
    """Against a plain loop that draws personas, then cases by index; both ways of drawing inside a cell."""
    rng = np.random.default_rng(5)
    values = np.linspace(0, 1, distinct)
    data = rng.choice(values, size=(6, 2, 20)) * rng.uniform(0.2, 1, size=(6, 1, 1))
    cells = from_scores(data.tolist())
    fast = replicates(cells, "persona-case", 9, 4000)
    slow = np.sort(
        [
            np.mean([rng.choice(data[g, f], size=20) for g in rng.integers(0, 6, 6) for f in range(2)])
            for _ in range(3000)
        ]
    )
    assert fast.mean() == pytest.approx(slow.mean(), abs=0.01)
    assert fast.std() == pytest.approx(slow.std(), rel=0.06)
    assert np.quantile(fast, 0.95) == pytest.approx(np.quantile(slow, 0.95), abs=0.015)


def test_three_levels_spread_wider_than_two_when_families_differ() -> None:
    rows = [[[0.0] * 20, [0.0] * 20, [1.0] * 20, [1.0] * 20]] * 6
    two, three = (replicates(from_scores(rows), levels, 1) for levels in ("persona-case", "persona-family-case"))
    assert two.std() == pytest.approx(0.0, abs=1e-12)
    assert three.std() == pytest.approx(0.5 / math.sqrt(24), rel=0.05)


def test_upper_bound_covers_new_personas_where_the_naive_one_does_not() -> None:
    """Personas that differ little and much: z over cases ignores them (designed: 68 % at nominal 95)."""
    rng = np.random.default_rng(20260101)
    runs, covered, naive = 300, 0, 0
    for run in range(runs):
        cells, truth = simulate(rng, 0.10, 60, (0.3, 0.8)[run % 2])
        e = evidence(cells, "calibrated", 0, ratio=True)  # t and Korn-Graubard: the bootstrap only widens them
        assert e is not None
        covered += bound(e, 0.95, passing_rho(10), upper=True) >= truth
        values = np.array([v for p in cells.personas for c in p for v, k in c.values for _ in range(k)])
        naive += values.mean() + ndtri(0.95) * values.std(ddof=1) / math.sqrt(len(values)) >= truth
    assert covered / runs >= 0.94
    assert naive / runs < 0.85


def test_all_zero_scores_still_cover_a_small_rate() -> None:
    """At UIS 0.1 most small runs are spotless; every mean-based interval then collapses and misses the truth."""
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(100):
        cells, truth = simulate(rng, 0.001, 5, 0.3)
        e = evidence(cells, "calibrated", 0, ratio=True)
        assert e is not None
        covered += bound(e, 0.95, passing_rho(5), upper=True) >= truth
    assert covered == 100
