"""Two ways of drawing the same bootstrap: from tabulated sums where scores lie on a lattice, else by counts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.stats.aggregate import Cell, Cells
from pytest_hush.stats.bootstrap import Levels, _distribution, _lattice, replicates
from tests.unit.stats.cells import from_scores

LEVELS: tuple[Levels, ...] = ("persona-case", "persona-family-case")


def exact(persona: tuple[Cell, ...], levels: Levels, finest: int) -> dict[int, Fraction]:
    """The distribution of a resampled persona's sum, in fractions, by convolving case by case."""

    def convolve(a: dict[int, Fraction], b: dict[int, Fraction]) -> dict[int, Fraction]:
        found: dict[int, Fraction] = {}
        for x, p in a.items():
            for y, q in b.items():
                found[x + y] = found.get(x + y, Fraction(0)) + p * q
        return found

    def resampled(cell: Cell) -> dict[int, Fraction]:
        one = {round(v * finest): Fraction(k, cell.n) for v, k in cell.values}
        total = {0: Fraction(1)}
        for _ in range(cell.n):
            total = convolve(total, one)
        return total

    total = {0: Fraction(1)}
    for cell in persona:
        if levels == "persona-case":
            total = convolve(total, resampled(cell))
        else:
            any_family: dict[int, Fraction] = {}
            for family in persona:
                for x, p in resampled(family).items():
                    any_family[x] = any_family.get(x, Fraction(0)) + p / len(persona)
            total = convolve(total, any_family)
    return total


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=3, max_size=3), min_size=1, max_size=3),
    st.sampled_from(LEVELS),
)
@settings(max_examples=40, deadline=None)
def test_the_tabulated_distribution_is_the_exact_one(rows: list[list[float]], levels: Levels) -> None:
    cells = from_scores([rows])
    finest = _lattice(cells, levels)
    least, shares = _distribution(cells.personas[0], levels, finest)
    wanted = exact(cells.personas[0], levels, finest)
    assert least <= min(wanted)
    below = Fraction(0)
    for step, share in enumerate(shares):
        below += wanted.get(least + step, Fraction(0))
        assert share == pytest.approx(float(below), abs=1e-12)
    assert max(wanted) <= least + len(shares)


@pytest.mark.parametrize(
    "values, finest",
    [
        ((0.0, 1.0), 1), ((0.0, 0.5, 1.0), 2), ((0.0, 0.25), 4), ((0.13, 0.7), 100), ((1 / 3, 0.5), 6),
        ((1 / 12, 0.25), 12), ((math.pi / 4, 0.5), 0),
    ],
)  # fmt: skip
def test_the_lattice_of_scores(values: tuple[float, ...], finest: int) -> None:
    assert _lattice(from_scores([[list(values) * 2]] * 3), "persona-case") == finest


def test_what_has_a_random_denominator_is_drawn_by_counts() -> None:
    outside = Cells(tuple((Cell("a", ((0.0, 3), (1.0, 2)), outside=1),) for _ in range(3)))
    assert _lattice(outside, "persona-case") == 0
    uneven = from_scores([[[0.0] * 3, [1.0] * 5]] * 3)
    assert (_lattice(uneven, "persona-case"), _lattice(uneven, "persona-family-case")) == (1, 0)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("grain", [2, 4, 100])
def test_both_ways_of_drawing_have_one_distribution(levels: Levels, grain: int) -> None:
    """Scores moved off every lattice by a millionth are drawn by counts: quantiles must agree within chance."""
    rng = np.random.default_rng(grain)
    own = rng.beta(1, 3, size=(8, 1, 1))
    data = np.rint(grain * rng.binomial(20, np.broadcast_to(own, (8, 4, 15))) / 20) / grain
    tabulated, counted = from_scores(data.tolist()), from_scores((data * (1 - 1e-6 * math.pi)).tolist())
    assert _lattice(tabulated, levels) > 0 == _lattice(counted, levels)
    one, other = (replicates(c, levels, 3, 20_000) for c in (tabulated, counted))
    spread = one.std()
    for q in (0.01, 0.05, 0.5, 0.95, 0.99):
        # Three standard errors of a difference of quantiles; the tails hold fewer replicates.
        error = 3 * math.sqrt(2 * q * (1 - q) / 20_000) / {0.01: 0.027, 0.05: 0.103, 0.5: 0.4}[min(q, round(1 - q, 2))]
        assert np.quantile(one, q) == pytest.approx(np.quantile(other, q), abs=(error * spread + 2 / (8 * 60 * grain)))
    assert one.std() == pytest.approx(other.std(), rel=0.03)


def test_replicates_lie_on_the_scale_and_know_no_order() -> None:
    cells = from_scores([[[0.0] * 5, [0.0] * 5], [[1.0] * 5, [1.0] * 5]])
    found = replicates(cells, "persona-case", 1)
    assert set(found.tolist()) == {0.0, 0.5, 1.0}
    spotless = replicates(from_scores([[[0.25] * 5]] * 4), "persona-case", 1)
    assert set(spotless.tolist()) == {0.25}
