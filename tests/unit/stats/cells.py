"""Made-up cells for tests of intervals, and hypothesis strategies for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from pytest_hush.stats.aggregate import Cell, Cells

FAMILIES = ("a", "b", "c", "d")


def from_scores(personas: Sequence[Sequence[Sequence[float]]]) -> Cells:
    """Scores by persona and family."""
    rows = [
        tuple(Cell(FAMILIES[i], tuple(sorted(Counter(scores).items()))) for i, scores in enumerate(persona) if scores)
        for persona in personas
    ]
    return Cells(tuple(sorted((r for r in rows if r), key=lambda r: [(c.family, c.values) for c in r])))


def simulate(rng: np.random.Generator, uis: float, n: int, spread: float, personas: int = 10) -> tuple[Cells, float]:
    """Half-point scores with a logit-normal persona effect, and the true mean over new personas (0..1)."""
    centre = np.log(uis / (1 - uis))
    new = 1 / (1 + np.exp(-(centre + spread * rng.standard_normal(20_000))))
    own = 1 / (1 + np.exp(-(centre + spread * rng.standard_normal(personas))))
    scores = [[list(rng.binomial(2, p, size=n) / 2) for _ in FAMILIES] for p in own]
    return from_scores(scores), float(new.mean())


scores = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
cell_lists = st.lists(
    st.lists(st.lists(scores, min_size=1, max_size=5), min_size=1, max_size=4), min_size=2, max_size=8
)
