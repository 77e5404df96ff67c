from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.stats.decompose import Stratified, decompose
from pytest_hush.stats.signflip import EXACT, effect_size, max_t, sign_flip, smallest_p

CONTRASTS = st.lists(st.integers(-64, 64).map(lambda n: n / 64), min_size=1, max_size=9)


def by_hand(contrasts: list[float]) -> float:
    flips = list(itertools.product((1, -1), repeat=len(contrasts)))
    observed = sum(contrasts)
    return sum(sum(s * c for s, c in zip(f, contrasts, strict=True)) >= observed - 1e-9 for f in flips) / len(flips)


@given(CONTRASTS)
@settings(max_examples=60, deadline=None)
def test_it_is_the_share_of_all_flips(contrasts: list[float]) -> None:
    assert sign_flip(contrasts) == pytest.approx(by_hand(contrasts))


def test_ten_personas_all_above_give_the_smallest_p() -> None:
    assert sign_flip([0.1] * 10) == smallest_p(10) == 2**-10
    assert sign_flip([-0.1] * 10) == 1.0
    assert sign_flip([]) == 1.0
    assert sign_flip([0.0] * 10) == 1.0


def test_many_personas_are_sampled_the_same_way_every_time() -> None:
    contrasts = [0.3 * math.sin(k) + 0.08 for k in range(EXACT + 5)]
    p = sign_flip(contrasts)
    assert 0.0 < p < 1.0
    assert sign_flip(contrasts[::-1]) == p
    assert sign_flip([1.0] * 25) == smallest_p(25)


@given(st.lists(CONTRASTS.filter(lambda c: len(c) == 4), min_size=1, max_size=4), st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_joint_p_is_never_below_the_single_one_and_knows_no_order(rows: list[list[float]], random: object) -> None:
    joint = max_t(rows)
    assert all(j >= sign_flip(r) - 1e-12 for j, r in zip(joint, rows, strict=True))
    order = [2, 0, 3, 1]
    assert max_t([[r[i] for i in order] for r in rows]) == pytest.approx(joint, abs=1e-12)
    assert max_t(rows[::-1]) == pytest.approx(joint[::-1], abs=1e-12)


def test_equal_hypotheses_cost_nothing_together() -> None:
    row = [0.2, 0.1, 0.3, 0.25, 0.15, -0.05]
    assert max_t([row, row, row]) == pytest.approx((sign_flip(row),) * 3)


def test_effect_size() -> None:
    assert effect_size([0.1, 0.3]) == pytest.approx(0.2 / math.sqrt(0.02))
    assert effect_size([0.2, 0.2]) is None
    assert effect_size([0.2]) is None


PART = st.one_of(st.none(), st.floats(0, 1))


@given(st.floats(0, 1), PART, PART, st.floats(0, 1), PART, PART)
@settings(deadline=None)
def test_the_parts_of_a_change_add_up_to_it(
    pi: float, e: float | None, o: float | None, pi2: float, e2: float | None, o2: float | None
) -> None:
    def run(share: float, exposed: float | None, other: float | None) -> Stratified:
        # A stratum is empty exactly when its share is nought.
        share = 0.0 if exposed is None else 1.0 if other is None else share
        return Stratified(share, exposed if share > 0 else None, other if share < 1 else None)

    new, old = run(pi, e, o), run(pi2, e2, o2)
    if (new.exposed is None and new.other is None) or (old.exposed is None and old.other is None):
        return
    assert sum(decompose(new, old)) == pytest.approx(new.mean - old.mean, abs=1e-12)


def test_more_exposure_and_more_use_are_told_apart() -> None:
    old = Stratified(0.2, 0.5, 0.1)
    assert decompose(Stratified(0.4, 0.5, 0.1), old) == pytest.approx((0.08, 0.0))
    assert decompose(Stratified(0.2, 0.9, 0.1), old) == pytest.approx((0.0, 0.08))
