"""Judge's means corrected by labels: unbiased under weights, as wide as personas differ, never a point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.stats.corrected import Cluster, Corrected, Labelled, corrected, corrected_bound, corrected_p, lacking

levels = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
labels = st.builds(Labelled, levels, levels, st.sampled_from([1.0, 2.0, 7.5]))
clusters = st.builds(
    lambda judged, own, more: Cluster(judged, len(own) + more, own),
    st.floats(0, 1),
    st.lists(labels, min_size=2, max_size=6),
    st.integers(0, 30),
)
groups = st.lists(clusters, min_size=2, max_size=8).map(lambda found: {f"p{i}": c for i, c in enumerate(found)})


def of(found: dict[str, Cluster]) -> Corrected:
    done = corrected(found)
    assert done is not None
    return done


def same(judged: float, reader: float, *, personas: int = 10, cases: int = 60, read: int = 20) -> Corrected:
    return of({f"p{i}": Cluster(judged, cases, [Labelled(judged, reader)] * read) for i in range(personas)})


# ---- the estimate -----------------------------------------------------------------------------------


def test_a_judge_that_is_always_off_by_a_tenth_is_set_right() -> None:
    c = same(0.4, 0.5)
    assert (c.mean, c.bias) == (pytest.approx(0.5), pytest.approx(0.1))
    assert (c.judged, c.labels, c.cases) == (0.4, 200, 600)


def test_weights_undo_the_sampling() -> None:
    """The judge sees nothing in 90 cases and 1 in 10; readers say 0.2 of the first and 0.5 of the second kind."""
    drawn = [Labelled(0.0, 0.2, 90 / 5)] * 5 + [Labelled(1.0, 0.5, 10 / 5)] * 5
    c = of({g: Cluster(0.1, 100, drawn) for g in "ab"})
    assert c.mean == pytest.approx(0.9 * 0.2 + 0.1 * 0.5)
    assert c.effective < c.labels


def test_every_case_labelled_gives_the_readers_mean() -> None:
    rng = np.random.default_rng(3)
    found, means = {}, []
    for g in "abcde":
        judge, reader = rng.random(12), rng.random(12)
        found[g] = Cluster(float(judge.mean()), 12, [Labelled(*pair) for pair in zip(judge, reader, strict=True)])
        means.append(reader.mean())
    assert of(found).mean == pytest.approx(float(np.mean(means)))


def test_a_persona_counts_by_its_cases() -> None:
    few, many = Cluster(0.0, 10, [Labelled(0.0, 0.0)] * 2), Cluster(1.0, 30, [Labelled(1.0, 1.0)] * 2)
    assert of({"a": few, "b": many}).mean == 0.75


def test_a_persona_without_two_labels_is_named_and_refused() -> None:
    found = {
        "a": Cluster(0.1, 9, [Labelled(0, 0)] * 2),
        "b": Cluster(0.1, 9, [Labelled(0, 0)]),
        "c": Cluster(0.1, 9, []),
        "d": Cluster(0.1, 1, [Labelled(0, 0)]),
    }
    assert lacking(found) == {"b": 1, "c": 0}
    assert corrected(found) is None
    assert corrected({}) is None


# ---- the bounds -------------------------------------------------------------------------------------


def test_no_disagreement_still_leaves_about_three_over_the_labels() -> None:
    c = same(0.0, 0.0, cases=600, read=20)
    high = corrected_bound(c, 0.95, 0.0, upper=True)
    assert 3 / 200 < high < 2 * 3 / 200
    assert corrected_bound(c, 0.95, 0.0, upper=False) == 0.0
    more = corrected_bound(same(0.0, 0.0, cases=600, read=80), 0.95, 0.0, upper=True)
    assert 3 / 800 < more < high / 2.5


def test_agreement_does_not_make_the_bounds_narrower_than_the_judges_own_spread() -> None:
    judged = [0.1, 0.2, 0.3, 0.4, 0.5]
    c = of({f"p{i}": Cluster(m, 100, [Labelled(m, m)] * 40) for i, m in enumerate(judged)})
    t = 2.1318 * float(np.std(judged, ddof=1)) / math.sqrt(5)
    assert corrected_bound(c, 0.95, 0.0, upper=True) >= 0.3 + t
    assert corrected_bound(c, 0.95, 0.0, upper=False) <= 0.3 - t


def test_one_persona_says_nothing() -> None:
    c = same(0.2, 0.2, personas=1)
    assert [corrected_bound(c, 0.95, 0.0, upper=u) for u in (False, True)] == [0.0, 1.0]
    assert corrected_p(c, 0.01) == 1.0


@settings(max_examples=60, deadline=None)
@given(groups, st.sampled_from([0.0, 0.02]))
def test_bounds_enclose_the_estimate_and_widen_with_confidence(found: dict[str, Cluster], rho: float) -> None:
    c = of(found)
    inside = min(1.0, max(0.0, c.mean))
    low, high = (corrected_bound(c, 0.95, rho, upper=u) for u in (False, True))
    assert 0.0 <= low <= inside + 1e-12
    assert inside - 1e-12 <= high <= 1.0
    assert high > low
    assert corrected_bound(c, 0.99, rho, upper=True) >= high
    assert corrected_bound(c, 0.99, rho, upper=False) <= low


@settings(max_examples=60, deadline=None)
@given(groups, st.sampled_from([0.05, 0.2, 0.5]))
def test_p_agrees_with_the_lower_bound(found: dict[str, Cluster], limit: float) -> None:
    c = of(found)
    p = corrected_p(c, limit)
    assert (corrected_bound(c, 0.95, 0.0, upper=False) > limit) == (p < 0.05)


@settings(max_examples=40, deadline=None)
@given(groups)
def test_names_orders_and_the_scale_of_weights_change_nothing(found: dict[str, Cluster]) -> None:
    renamed = {
        f"z{9 - i}": Cluster(c.judged, c.cases, [Labelled(x.judge, x.reader, 2 * x.weight) for x in c.labelled[::-1]])
        for i, c in enumerate(found.values())
    }
    a, b = of(found), of(renamed)
    assert (a.mean, a.variance, a.effective) == (b.mean, b.variance, b.effective)


# ---- coverage ---------------------------------------------------------------------------------------


def test_the_clustered_interval_covers_and_the_one_for_independent_cases_does_not() -> None:
    """At 95 %: ten personas differ in leakage and in how far the judge is off; 20 of 120 cases of each are labelled."""
    rng = np.random.default_rng(11)
    runs, personas, cases, read = 400, 10, 120, 20
    truth, covered, naive = 0.3, 0, 0
    for _ in range(runs):
        # Readers' share and the judge's misses both vary by persona; both have their mean over new personas.
        share = rng.beta(0.3 * 4, 0.7 * 4, personas)
        misses = rng.beta(0.3 * 4, 0.7 * 4, personas)
        found, gaps = {}, []
        for g in range(personas):
            reader = (rng.random(cases) < share[g]).astype(float)
            judge = reader * (rng.random(cases) >= misses[g])
            drawn = rng.choice(cases, read, replace=False)
            found[f"p{g}"] = Cluster(float(judge.mean()), cases, [Labelled(judge[i], reader[i]) for i in drawn])
            gaps += list(reader[drawn] - judge[drawn])
        c = of(found)
        low, high = (corrected_bound(c, 0.975, 0.0, upper=u) for u in (False, True))
        covered += low <= truth <= high
        spread = math.sqrt(c.judged * (1 - c.judged) / (personas * cases) + np.var(gaps) / len(gaps))
        naive += abs(c.mean - truth) <= 1.96 * spread
    assert covered / runs >= 0.90
    assert naive / runs < 0.80
