"""What holds for every run: of levels and paired differences, from records to bounds in points."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_hush.gate.arms import Arm, lay_out
from pytest_hush.gate.measure import Measurement, increase, level
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from tests.unit.factories import make_pack, make_plan, make_record, make_records

PLAN = make_plan(make_pack(4, 2), conditions="vector", repeats=2)
"""4 personas x 4 families x 2 probes x 2 repeats: 64 cases."""
PLACES = [i for i, c in enumerate(PLAN.cases) if c.kind == "probe" and c.condition.name == "vector"]
REST = {i: make_record(c, PLAN) for i, c in enumerate(PLAN.cases)}
CONFIDENCES = (0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
KINDS = st.sampled_from(["calibrated", "bootstrap", "fixed-suite"])
SCORES = st.one_of(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=64, max_size=64),
    st.lists(st.floats(0, 1), min_size=64, max_size=64),
    st.floats(0, 1).map(lambda v: [v] * 64),
    st.integers(0, 2**32).map(lambda seed: [random.Random(seed + k).choice([0.0, 0.0, 0.0, 1.0]) for k in range(64)]),
)
LOST = st.sets(st.integers(0, 63), max_size=20)
SLOW = settings(max_examples=25, deadline=None)


def arm(scores: list[float | None], plan: Plan = PLAN, names: Mapping[str, str] | None = None, order: int = 0) -> Arm:
    """The arm of a run with these scores, None for a case that failed, as the gate lays it out."""
    records = dict(REST)
    for place, v in zip(PLACES, scores, strict=True):
        record = records[place]
        records[place] = (
            replace(record, status="error", judgements=())
            if v is None
            else replace(record, judgements=(replace(record.judgements[0], v=v),))
        )
    found: list[Record] = list(records.values())
    if names:
        plan = replace(plan, cases=tuple(replace(c, persona=names[c.persona]) for c in plan.cases))
        found = [replace(r, persona=names[r.persona]) for r in found]
    random.Random(order).shuffle(found)
    made = lay_out(found, plan, None).arm("openai/test", "vector")
    assert made is not None
    return made


def pairs(scores: list[float | None]) -> dict[tuple[str, int], Record]:
    made = arm(scores)
    return {(r.probe_id, r.repeat): r for r in made.found(made.cases)}


def measured(a: Arm, kind: str = "calibrated", confidence: float = 0.95, limit: float | None = 20.0) -> Measurement:
    return level(
        a, "uis", "", ambient=frozenset(), confidence=confidence, kind=kind, seed_parts=("g", "pack"), limit=limit
    )


def compared(a: Arm, theirs: dict[tuple[str, int], Record], confidence: float = 0.95) -> Measurement:
    return increase(a, theirs, "uis", "", ambient=frozenset(), confidence=confidence, limit=3.0)


def bounds(m: Measurement) -> tuple[float, float, float]:
    assert m.lower is not None
    assert m.value is not None
    assert m.upper is not None
    return m.lower, m.value, m.upper


def dropped(scores: list[float], lost: set[int]) -> list[float | None]:
    return [None if k in lost else v for k, v in enumerate(scores)]


# ---- levels -----------------------------------------------------------------------------------------


@given(SCORES, LOST, KINDS)
@SLOW
def test_bounds_of_a_level_are_on_the_scale_and_grow_with_confidence(
    scores: list[float], lost: set[int], kind: str
) -> None:
    a = arm(dropped(scores, lost))
    found = [bounds(measured(a, kind, confidence)) for confidence in CONFIDENCES]
    for low, value, high in found:
        assert 0.0 <= low <= high <= 100.0
        if kind != "bootstrap":
            assert low <= value <= high
            assert high - low > 1e-4
    for (low, _, high), (lower, _, higher) in pairwise(found):
        assert lower <= low + 1e-9
        assert higher >= high - 1e-9


@given(SCORES, LOST, KINDS)
@SLOW
def test_whatever_missing_cases_had_scored_the_bounds_hold_it(scores: list[float], lost: set[int], kind: str) -> None:
    m = measured(arm(dropped(scores, lost)), kind)
    assert (m.n, m.missing) == (64 - len(lost), len(lost))
    assert m.widened == pytest.approx(100 * len(lost) / 64)
    low, _, high = bounds(m)
    for extreme in (0.0, 1.0):
        full = measured(arm([extreme if k in lost else v for k, v in enumerate(scores)]), kind)
        assert full.value is not None
        if kind != "bootstrap":  # which may lie beside its own mean
            assert low - 1e-9 <= full.value <= high + 1e-9


@given(st.floats(0, 1), LOST, LOST)
@SLOW
def test_more_missing_cases_are_wider_bounds(v: float, some: set[int], more: set[int]) -> None:
    """Of equal scores, so that nothing but their number changes."""
    few, many = (bounds(measured(arm(dropped([v] * 64, lost)))) for lost in (some, some | more))
    assert many[0] <= few[0] + 1e-9
    assert many[2] >= few[2] - 1e-9


@given(SCORES, LOST, st.permutations([p.id for p in PLAN.pack.personas]), st.integers(1, 10**6))
@SLOW
def test_names_of_personas_and_the_order_of_records_change_no_bit_of_a_level(
    scores: list[float], lost: set[int], names: list[str], order: int
) -> None:
    given_scores = dropped(scores, lost)
    other = dict(zip([p.id for p in PLAN.pack.personas], names, strict=True))
    one, two = measured(arm(given_scores)), measured(arm(given_scores, names=other, order=order))
    assert {other[g]: c for g, c in one.contrasts.items()} == two.contrasts
    assert replace(one, contrasts={}) == replace(two, contrasts={})


@given(SCORES, LOST, st.floats(0, 100))
@SLOW
def test_p_and_the_lower_bound_of_a_level_agree(scores: list[float], lost: set[int], limit: float) -> None:
    m = measured(arm(dropped(scores, lost)), limit=limit)
    assert m.p is not None
    assert m.lower is not None
    assume(abs(m.p - 0.05) > 1e-3)  # the replicates' quantile is interpolated, their p is a count
    assume(abs(m.lower - limit) > 1e-6)
    assert (m.p < 0.05) == (m.lower > limit)


@given(SCORES, LOST)
@SLOW
def test_a_limit_from_below_is_the_mirror_of_one_from_above(scores: list[float], lost: set[int]) -> None:
    a = arm(dropped(scores, lost))
    mirrored = arm([None if v is None else 1.0 - v for v in dropped(scores, lost)])
    above = measured(a, limit=30.0)
    below = level(
        mirrored, "uis", "", ambient=frozenset(), confidence=0.95, kind="calibrated", seed_parts=("g", "pack"),
        limit=70.0, at_least=True,
    )  # fmt: skip
    low, value, high = bounds(above)
    # The scores 1 - (1 - v) may differ from v in their last bit, and then be drawn in another order.
    assert bounds(below) == pytest.approx((100 - high, 100 - value, 100 - low), abs=1.0)
    assert below.missing == above.missing


# ---- differences ------------------------------------------------------------------------------------------


@given(SCORES, SCORES, LOST, LOST)
@SLOW
def test_bounds_of_a_difference_are_on_the_scale_and_grow_with_confidence(
    new: list[float], old: list[float], lost: set[int], gone: set[int]
) -> None:
    a, theirs = arm(dropped(new, lost)), pairs(dropped(old, gone))
    found = [bounds(compared(a, theirs, confidence)) for confidence in CONFIDENCES]
    for low, value, high in found:
        assert -100.0 <= low <= value <= high <= 100.0
        assert high - low > 1e-4
    for (low, _, high), (lower, _, higher) in pairwise(found):
        assert lower <= low + 1e-9
        assert higher >= high - 1e-9


@given(SCORES, SCORES, LOST, LOST)
@SLOW
def test_whatever_missing_pairs_had_scored_the_bounds_hold_it(
    new: list[float], old: list[float], lost: set[int], gone: set[int]
) -> None:
    m = compared(arm(dropped(new, lost)), pairs(dropped(old, gone)))
    assert (m.n, m.missing) == (64 - len(lost | gone), len(lost | gone))
    low, _, high = bounds(m)
    for extreme in (0.0, 1.0):
        mine = [extreme if k in lost else v for k, v in enumerate(new)]
        other = [1.0 - extreme if k in gone else v for k, v in enumerate(old)]
        full = compared(arm(mine), pairs(other))
        assert full.value is not None
        assert low - 1e-9 <= full.value <= high + 1e-9


@given(SCORES, SCORES, LOST, st.permutations([p.id for p in PLAN.pack.personas]), st.integers(1, 10**6))
@SLOW
def test_names_of_personas_and_the_order_of_records_change_no_bit_of_a_difference(
    new: list[float], old: list[float], lost: set[int], names: list[str], order: int
) -> None:
    theirs = pairs(dropped(old, lost))
    other = dict(zip([p.id for p in PLAN.pack.personas], names, strict=True))
    one, two = compared(arm([*new]), theirs), compared(arm([*new], names=other, order=order), theirs)
    assert {other[g]: c for g, c in one.contrasts.items()} == two.contrasts
    assert replace(one, contrasts={}) == replace(two, contrasts={})


@given(SCORES)
@SLOW
def test_a_run_beside_itself_is_no_change_that_is_known_to_be_none(scores: list[float]) -> None:
    m = compared(arm([*scores]), pairs([*scores]))
    low, value, high = bounds(m)
    assert low < value == 0.0 < high
    assert low == pytest.approx(-high, abs=3.0)  # they differ by the correlation that passing assumes
    assert (m.no_increase, m.effect, m.flip_p) == (100.0, None, 1.0)


@given(SCORES, SCORES)
@SLOW
def test_a_repeat_is_no_new_observation(new: list[float], old: list[float]) -> None:
    """Every probe asked twice with the same answers has the bounds of asking once."""
    single = make_plan(make_pack(4, 2), conditions="vector")
    by_probe = {(PLAN.cases[p].probe_id): (new[k], old[k]) for k, p in enumerate(PLACES)}
    twice_new, twice_old = (
        [by_probe[PLAN.cases[p].probe_id][side] for p in PLACES] for side in (0, 1)
    )  # fmt: skip
    once = [
        lay_out(make_records(single, lambda c, side=side: by_probe[c.probe_id][side]), single, None)  # type: ignore[misc]
        for side in (0, 1)
    ]
    mine, other = (o.arm("openai/test", "vector") for o in once)
    assert mine is not None
    assert other is not None
    theirs = {(r.probe_id, r.repeat): r for r in other.found(other.cases)}
    assert bounds(measured(arm([*twice_new]))) == bounds(measured(mine))
    assert bounds(compared(arm([*twice_new]), pairs([*twice_old]))) == bounds(compared(mine, theirs))
