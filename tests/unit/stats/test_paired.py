"""Paired differences: identical arms keep a width, one-sided p agrees with the bound."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.stats.paired import difference, difference_bound, difference_p

values = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0])
pairings = st.lists(st.lists(values, min_size=1, max_size=6), min_size=2, max_size=8)


def as_pairs(rows: list[list[float]]) -> dict[str, dict[str, list[float]]]:
    return {f"p{i}": {f"q{k}": [d] for k, d in enumerate(row)} for i, row in enumerate(rows)}


def test_identical_arms_are_not_known_to_be_identical() -> None:
    d = difference(as_pairs([[0.0] * 12] * 10))
    assert d is not None
    low, high = (difference_bound(d, 0.95, 0.02, upper=u) for u in (False, True))
    assert -0.05 < low < 0 < high < 0.05
    assert low == -high


def test_no_pair_is_no_difference() -> None:
    assert difference({}) is None


def test_one_persona_says_nothing() -> None:
    d = difference(as_pairs([[1.0] * 40]))
    assert d is not None
    assert [difference_bound(d, 0.95, 0.0, upper=u) for u in (False, True)] == [-1.0, 1.0]
    assert difference_p(d, 0.03) == 1.0


def test_repeats_are_averaged() -> None:
    d = difference({"a": {"q": [1.0, 0.0]}, "b": {"q": [0.5]}})
    assert d is not None
    assert (d.n, d.mean, d.variance) == (2, 0.5, 0.0)


@given(pairings, st.floats(-0.5, 0.5))
@settings(max_examples=60, deadline=None)
def test_bounds_hold_the_mean_and_p_inverts_them(rows: list[list[float]], limit: float) -> None:
    d = difference(as_pairs(rows))
    assert d is not None
    low, high = (difference_bound(d, 0.95, 0.0, upper=u) for u in (False, True))
    assert -1.0 <= low <= d.mean <= high <= 1.0
    assert low < high
    p = difference_p(d, limit)
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (low > limit)


@given(pairings)
@settings(max_examples=30, deadline=None)
def test_exchanging_the_arms_mirrors_the_bounds(rows: list[list[float]]) -> None:
    one, other = difference(as_pairs(rows)), difference(as_pairs([[-d for d in row] for row in rows]))
    assert one is not None
    assert other is not None
    assert difference_bound(one, 0.95, 0.01, upper=True) == pytest.approx(
        -difference_bound(other, 0.95, 0.01, upper=False)
    )
