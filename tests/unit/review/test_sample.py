"""The draw: deterministic, of every persona, unbiased by its weights, the same whatever the order."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.errors import UsageError
from pytest_hush.model import Record
from pytest_hush.review.sample import Sample, draw, item_ids, population
from tests.unit.factories import make_pack, make_plan, make_records

PLAN = make_plan(make_pack(5, 3), conditions="vector,oracle", invitations=True)


def scored(seed: int = 0) -> list[Record]:
    rng = random.Random(seed)
    return make_records(PLAN, lambda case: rng.choice((0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 1.0)))


RUN = scored()
POOL = population(RUN)


def keys(sample: Sample) -> set[str]:
    return {d.record.key for d in sample.drawn}


def test_the_population_is_the_scored_uninvited_probes() -> None:
    lost = [replace(r, status="error", judgements=()) if n % 7 == 0 else r for n, r in enumerate(RUN)]
    found = population(lost)
    assert {r.kind for r in found} == {"probe"}
    assert not any(r.invited for r in found)
    assert all(r.measured for r in found)
    assert len(found) < len(POOL) == 5 * 3 * 4 * 3


@settings(max_examples=30, deadline=None)
@given(st.integers(15, len(POOL)), st.integers(0, 50))
def test_a_draw_has_its_size_every_cell_and_weights_that_add_up(size: int, seed: int) -> None:
    sample = draw(RUN, size, seed)
    assert len(sample.drawn) == len(keys(sample)) == size
    weights: Counter[tuple[str, str]] = Counter()
    for d in sample.drawn:
        weights[d.record.persona, d.record.condition] += d.weight
    assert len(weights) == 15
    assert all(math.isclose(total, 12) for total in weights.values()), "each cell stands for its 12 cases"
    counts = Counter((d.record.persona, d.record.condition) for d in sample.drawn)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_seed_decides_and_the_order_of_records_does_not() -> None:
    assert draw(RUN, 60, 4) == draw(RUN[::-1], 60, 4)
    assert keys(draw(RUN, 60, 4)) != keys(draw(RUN, 60, 5))


@pytest.mark.parametrize("smaller, larger", [(30, 60), (60, 90), (90, 170)])
def test_a_larger_sample_of_one_seed_holds_the_smaller_one(smaller: int, larger: int) -> None:
    few, many = draw(RUN, smaller, 3, by_level=False), draw(RUN, larger, 3, by_level=False)
    assert keys(few) < keys(many)
    assert item_ids(few, 3).keys() < item_ids(many, 3).keys()


def test_rare_high_scores_are_read_more_often_than_their_share() -> None:
    def share(sample: Sample) -> float:
        return sum(d.record.judgements[0].v > 0 for d in sample.drawn) / len(sample.drawn)  # type: ignore[operator]

    in_run = sum(r.judgements[0].v > 0 for r in POOL) / len(POOL)  # type: ignore[operator]
    assert share(draw(RUN, 90, 1)) > 1.1 * in_run
    assert share(draw(RUN, 90, 1, by_level=False)) < share(draw(RUN, 90, 1))


@pytest.mark.parametrize("by_level", [True, False])
def test_weighted_means_over_many_draws_are_the_mean_of_the_run(by_level: bool) -> None:
    """Of a figure that goes with the judge's level and with the cell: what an unweighted mean gets wrong."""
    figure = {r.key: (r.judgements[0].v or 0.0) + 0.1 * (n % 5) for n, r in enumerate(POOL)}
    truth = math.fsum(figure.values()) / len(figure)
    draws = [draw(RUN, 60, seed, by_level=by_level) for seed in range(60)]
    means = [math.fsum(d.weight * figure[d.record.key] for d in s.drawn) / len(POOL) for s in draws]
    assert math.fsum(means) / len(means) == pytest.approx(truth, abs=0.012)
    plain = [math.fsum(figure[d.record.key] for d in s.drawn) / len(s.drawn) for s in draws]
    if by_level:
        assert math.fsum(plain) / len(plain) > truth + 0.03


def test_too_large_a_size_takes_all_and_says_so() -> None:
    sample = draw(RUN, 1000, 0)
    assert len(sample.drawn) == sample.population == len(POOL)
    assert {d.weight for d in sample.drawn} == {1.0}
    assert sample.notes == (f"The run has {len(POOL)} scored replies: all of them are taken, not 1000.",)
    assert draw(RUN, len(POOL), 0).notes == ()


def test_a_small_size_tells_what_it_cannot_tell_apart() -> None:
    sample = draw(RUN, 10, 0)
    assert Counter(d.record.persona for d in sample.drawn) == dict.fromkeys(Counter(r.persona for r in POOL), 2)
    assert "conditions are not told apart" in sample.notes[0]
    with pytest.raises(UsageError, match=r"--n=4: the run has 5 personas.*Give 5 at least"):
        draw(RUN, 4, 0)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError, match="no scored reply"):
        draw([r for r in RUN if r.kind == "control"], 10, 0)
    for text in ("", "(redacted)"):
        with pytest.raises(UsageError, match=r"180 scored records hold no replies"):
            draw([replace(r, reply=text) for r in RUN], 10, 0)


def test_ids_and_their_order_tell_nothing() -> None:
    items = item_ids(draw(RUN, 180, 2), 2)
    assert list(items) == sorted(items)
    assert all(len(i) == 12 for i in items)
    places = [POOL.index(d.record) for d in items.values()]
    assert places != sorted(places)
    half = Counter(d.record.condition for d in list(items.values())[:90])
    assert all(20 <= n <= 40 for n in half.values()), "who stops half-way has read all conditions"


def test_a_sample_too_small_for_the_levels_says_of_what_and_which_one_is_not() -> None:
    (note,) = draw(RUN, 30, 0).notes
    found = re.search(r"In (\d+) of 15 pairs of persona and condition fewer replies.* --n=(\d+) draws some", note)
    assert found, note
    assert 0 < int(found[1]) <= 15
    assert draw(RUN, int(found[2]), 0).notes == ()
    with pytest.raises(UsageError, match="and this run has 12 at most: --n=180 takes all"):
        draw(RUN, 4, 0)
