"""Holm's correction against a worked example, and its independence of what was selected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_hush.stats.multiplicity import holm


def test_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005], 4) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_hypotheses_that_were_not_judged_still_count() -> None:
    assert holm([0.01], 20) == pytest.approx((0.2,))
    assert holm([], 3) == ()


def test_a_family_smaller_than_its_members_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        holm([0.1, 0.2], 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_nothing_gets_smaller(p: list[float], random: object) -> None:
    adjusted = holm(p, len(p) + 2)
    assert all(a >= min(1.0, x) for a, x in zip(adjusted, p, strict=True))
    order = list(range(len(p)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert holm([p[i] for i in order], len(p) + 2) == tuple(adjusted[i] for i in order)
