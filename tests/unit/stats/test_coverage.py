"""The short version of benchmarks/coverage.py: do the bounds cover, are false alarms rare, could this test tell?"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage, simulation
from benchmarks.coverage import Task


def counts(what: str, *settings: tuple[str, float, int, int]) -> Counter[str]:
    """Simulated runs of each (spread, UIS, cases a cell, runs)."""
    total: Counter[str] = Counter()
    for spread, uis, per_cell, runs in settings:
        total.update(coverage.RUN[what](Task(what, spread, uis, per_cell, runs, chunk=0, seed=7)))
    return total


def at_most(hits: int, n: int, rate: float = 0.05) -> bool:
    return hits / n <= rate + 3 * math.sqrt(rate * (1 - rate) / n)


@pytest.mark.parametrize("spread", simulation.SPREADS)
@pytest.mark.parametrize("uis", [0.02, 0.3])
def test_the_simulation_has_the_uis_that_it_claims(spread: str, uis: float) -> None:
    rng = np.random.default_rng(1)
    means = simulation.case_means(rng, uis, spread, 2, personas=40_000)
    error = means.mean(axis=(1, 2)).std() / 200
    assert means.mean() == pytest.approx(uis, abs=4 * error)
    assert simulation.scores(rng, means).mean() / 100 == pytest.approx(means.mean(), abs=5e-3)
    risen = simulation.worse(rng, means, 0.03, uis)
    assert risen.mean() - means.mean() == pytest.approx(0.03, abs=5e-4)
    assert risen.max() <= 1.0


def test_calibrated_bounds_cover_new_users_and_the_naive_ones_do_not() -> None:
    found = counts("coverage", ("mid", 10.0, 15, 50), ("mid", 30.0, 5, 40), ("low", 2.0, 15, 20))
    n = found["calibrated n"]
    assert n == 110
    for side in ("high", "low"):
        assert found[f"calibrated {side}"] / n >= 0.93
        assert at_most(n - found[f"fixed-suite {side}"], n)  # of the suite as it stands: all that it claims
    assert found["naive high"] / n < 0.85
    # The gates decide by these bounds, so they are as rarely wrong, and not because they decide nothing.
    assert at_most(found["false pass"], n)
    assert at_most(found["false fail"], n)
    assert found["power pass"] / n > 0.5
    assert found["power fail"] / n > 0.2


def test_a_spotless_small_run_does_not_hide_a_rare_fault() -> None:
    """At UIS 0.1 most small runs are spotless: every interval that rests on their spread is a point there."""
    found = counts("coverage", ("low", 0.1, 5, 60))
    assert found["calibrated high"] == 60
    assert found["naive high"] < 40
    assert found["false pass"] == 0


def test_the_same_release_twice_raises_few_alarms_and_a_worse_one_does() -> None:
    found = counts("comparison", ("mid", 10.0, 5, 70), ("low", 30.0, 5, 70), ("rare", 2.0, 5, 60))
    assert found["n"] == 200
    assert at_most(found["false fail"], 200)
    assert at_most(found["false regressed"], 200)
    worse = counts("noninferiority", ("mid", 10.0, 15, 40))
    assert at_most(worse["margin pass"], 40)
    assert at_most(worse["margin fail"], 40)
    assert worse["thrice fail"] / 40 > 0.5


def test_twenty_gates_at_their_limit_fail_rarely_only_when_corrected() -> None:
    found = counts("family", ("mid", 30.0, 5, 25))
    assert found["none"] > 5
    assert at_most(found["holm"], 25)
    assert at_most(found["max-t"], 25)


def test_a_figure_outside_its_tolerance_is_a_fault() -> None:
    """The benchmark's own verdict: coverage that is too low, and a naive interval that suddenly covers."""
    good = Counter({f"{k} {s}": n for k in coverage.KINDS for s, n in (("high", 95), ("low", 95), ("n", 100))})
    found = {("coverage", s, 10.0, 15): Counter(good) for s in simulation.SPREADS}
    for key in found:
        found[key]["naive high"] = 70
    report = coverage.Report(found)
    report.coverage()
    assert report.faults == []
    found["coverage", "mid", 10.0, 15]["calibrated high"] = 92
    report = coverage.Report(found)
    report.coverage()
    assert len(report.faults) == 1
    assert "92.0%" in report.faults[0]
    for key in found:
        found[key]["naive high"] = 95
    report = coverage.Report(found)
    report.coverage()
    assert any("nothing could fail here" in f for f in report.faults)


def test_the_benchmarks_stand_where_the_documents_say() -> None:
    root = Path(coverage.__file__).parent
    assert {"coverage.py", "bootstrap.py", "simulation.py"} <= {p.name for p in root.iterdir()}
