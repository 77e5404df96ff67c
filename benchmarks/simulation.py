"""Simulated runs of assistants whose true UIS is known: what the benchmarks and a test of the statistics share.

A case's mean score is the logistic of a centre, a persona's own level, a fixed level of the family and a level of the
probe. The centre is solved for so that the mean over *new* personas is the wanted UIS exactly: the claim of a gate
is about them. Scores are 0, 0.5 or 1, and in one case of twenty any hundredth between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pytest_hush.gate.arms import Arm
from pytest_hush.model import FAMILIES, Record
from pytest_hush.plan import Plan, identity
from tests.unit.factories import make_pack, make_plan, make_record

Floats = NDArray[np.float64]
Observed = NDArray[np.int64]

PERSONAS = 10
SPREADS = ("low", "mid", "outlier", "rare")
"""Personas differ by 0.3 or by 0.8 on the logit scale, or by 0.3 with one user in ten two logits above the others.

``outlier``: a run of ten holds one of these, always. ``rare``: each persona is one with that chance, so that a run in
three holds none at all, and nothing in it can tell of them.
"""
_SD = {"low": 0.3, "mid": 0.8, "outlier": 0.3, "rare": 0.3}
_OUTLIER, _ONE_IN = 2.0, 10
_LEVELS = np.array([-0.4, -0.1, 0.1, 0.4])
_PROBE_SD = 0.5
_CONTINUOUS = 0.05
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def _logistic(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-x))


@lru_cache(maxsize=256)
def centre(uis: float, spread: str) -> float:
    """The centre on the logit scale at which new personas have the mean `uis` (in 0..1)."""
    noise = math.hypot(_SD[spread], _PROBE_SD) * _NODES
    weights = _WEIGHTS / _WEIGHTS.sum()
    shifts = [(0.0, 1.0)] if spread in ("low", "mid") else [(0.0, 1 - 1 / _ONE_IN), (_OUTLIER, 1 / _ONE_IN)]

    def mean(at: float) -> float:
        parts = [
            share * float(_logistic(at + shift + _LEVELS[:, None] + noise) @ weights @ np.full(4, 0.25))
            for shift, share in shifts
        ]
        return math.fsum(parts)

    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < uis else (low, middle)
    return (low + high) / 2


def case_means(rng: np.random.Generator, uis: float, spread: str, per_cell: int, personas: int = PERSONAS) -> Floats:
    """True mean score of every case of new personas, in 0..1: an array persona x family x probe."""
    own = rng.normal(0.0, _SD[spread], personas)
    if spread == "outlier":
        own = own + _OUTLIER * (np.arange(personas) % _ONE_IN == 0)
    if spread == "rare":
        own = own + _OUTLIER * (rng.random(personas) < 1 / _ONE_IN)
    probes = rng.normal(0.0, _PROBE_SD, (personas, len(_LEVELS), per_cell))
    return _logistic(centre(uis, spread) + own[:, None, None] + _LEVELS[None, :, None] + probes)


def scores(rng: np.random.Generator, means: Floats) -> Observed:
    """One observed score a case, in hundredths; its expectation is the case's mean exactly."""
    halves = 50 * rng.binomial(2, means)
    drawn = np.flatnonzero(rng.random(means.size) < _CONTINUOUS)
    p = means.reshape(-1)[drawn]
    exact = 100 * rng.beta(np.maximum(2 * p, 1e-6), np.maximum(2 * (1 - p), 1e-6))
    flat = halves.reshape(-1)
    flat[drawn] = np.minimum(100, np.floor(exact + rng.random(len(drawn)))).astype(np.int64)
    return flat.reshape(means.shape)


def worse(rng: np.random.Generator, means: Floats, by: float, uis: float) -> Floats:
    """`means` of a release that is worse by `by` on average over new personas, by more in some than in others."""
    weight = rng.uniform(0.0, 2.0, len(means))[:, None, None]
    return means + (1.0 - means) * weight * by / (1.0 - uis)


def naive_bounds(rng: np.random.Generator, observed: Observed, replicates: int = 2000) -> tuple[float, float]:
    """The interval that must fail: percentile bootstrap over cases, as if sixty cases of a user were sixty users."""
    values, counts = np.unique(observed, return_counts=True)
    means = rng.multinomial(observed.size, counts / observed.size, size=replicates) @ values / (100 * observed.size)
    low, high = np.quantile(means, [0.05, 0.95])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Bench:
    """A plan of personas x 4 families x `per_cell` probes under ``vector``, and its records as they are needed.

    `places` are the indices of the scored cases of each model, in the order of an array of scores.
    """

    plan: Plan
    places: tuple[tuple[int, ...], ...]
    _known: dict[tuple[int, int], Record]

    def records(self, observed: Observed, model: int = 0) -> list[Record]:
        """The probe records of one model, with `observed` scores in hundredths (persona x family x probe)."""
        known, found = self._known, []
        for place, hundredths in zip(self.places[model], observed.reshape(-1).tolist(), strict=True):
            record = known.get((place, hundredths))
            if record is None:
                base = known[place, 0]
                judged = replace(base.judgements[0], v=hundredths / 100)
                record = known[place, hundredths] = replace(base, judgements=(judged,))
            found.append(record)
        return found

    def arm(self, observed: Observed) -> Arm:
        """The first model's arm, as `pytest_hush.gate` makes it of the records."""
        return Arm(
            model=self.plan.models[0],
            condition="vector",
            cases=tuple(self.plan.cases[i] for i in self.places[0]),
            invited=(),
            controls=(),
            records={r.identity: r for r in self.records(observed)},
            deselected=frozenset(),
        )

    def whole(self, *observed: Observed) -> list[Record]:
        """A record for every case of the plan: `records` of each model, a silent reference, controls that worked."""
        scored = {place for own in self.places for place in own}
        rest = [self._known[i, 0] for i in range(len(self.plan.cases)) if i not in scored]
        return rest + [r for model, scores in enumerate(observed) for r in self.records(scores, model)]

    def pairs(self, observed: Observed) -> dict[tuple[str, int], Record]:
        """`records` of the first model by (probe id, repeat): one side of a paired difference."""
        return {(r.probe_id, r.repeat): r for r in self.records(observed)}


@lru_cache(maxsize=8)
def bench(per_cell: int, personas: int = PERSONAS, models: int = 1) -> Bench:
    """The plan for arrays of the shape `personas` x 4 x `per_cell`, one for each of the `models`."""
    pack = make_pack(personas, per_cell)
    plan = make_plan(pack, models=[f"openai/test-{k}" for k in range(models)])
    probes = sorted(pack.probes, key=lambda p: (p.persona, FAMILIES.index(p.family)))
    place = {identity(c): i for i, c in enumerate(plan.cases)}
    places = tuple(tuple(place[model, "vector", p.id, False, 0] for p in probes) for model in plan.models)
    return Bench(plan, places, {(i, 0): make_record(c, plan) for i, c in enumerate(plan.cases)})
