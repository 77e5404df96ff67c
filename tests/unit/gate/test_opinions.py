"""Several judges of one run: what the gates take of them, how they agree, which contrasts keep their direction."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_hush.gate import contrasts, estimates, judge, opinions, reference, sensitive_of
from pytest_hush.gate.sensitive import sensitive_ids
from pytest_hush.judges.policy import Sensitive, load_policy
from pytest_hush.model import CATEGORIES, Record
from pytest_hush.plan.file import plan_data, plan_from
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.gate.making import TODAY, baseline, gates, one

PLAN = make_plan(make_pack(6, 4), conditions="vector,oracle")


def seen_by(
    records: list[Record], second: Callable[[Record], float | None], *, draws: tuple[float, ...] = (0.0,)
) -> list[Record]:
    """The records judged by `a` (as they are, at several draws) and by `b` (None: it could not read the reply)."""
    found = []
    for r in records:
        r = replace(r, instrument={**r.instrument, "judge": "a+b"})
        if r.kind != "probe" or r.invited:
            found.append(r)
            continue
        (j,) = r.judgements
        judged = [
            replace(j, judge="a", draw=n, v=min(1.0, max(0.0, (j.v or 0.0) + shift))) for n, shift in enumerate(draws)
        ]
        v = second(r)
        if v is not None:
            judged.append(replace(j, judge="b", v=v, used=("target",) if v else ()))
        found.append(replace(r, judgements=tuple(judged)))
    return found


def run(seed: int, level: dict[str, float]) -> list[Record]:
    rng = random.Random(seed)
    scores = {c.id: float(rng.random() < level.get(c.condition.name, 0.0)) for c in PLAN.cases}
    return make_records(PLAN, lambda c: scores[c.id])


RECORDS = run(1, {"vector": 0.5, "oracle": 0.9})


def test_the_file_decides_what_several_judges_come_to() -> None:
    records = seen_by(RECORDS, lambda r: 0.0)
    alone = one(RECORDS, PLAN, gates("at_most = 60"))
    values = {
        aggregate: one(records, PLAN, gates("at_most = 60", head=f'[judge]\naggregate = "{aggregate}"')).value
        for aggregate in ("first", "mean", "median", "max")
    }
    assert alone.value is not None
    assert values == {
        "first": alone.value,
        "mean": pytest.approx(alone.value / 2),
        "median": pytest.approx(alone.value / 2),
        "max": alone.value,
    }
    assert one(records, PLAN, gates("at_most = 60")) == alone


def test_estimates_and_contrasts_take_the_same_aggregate() -> None:
    records = seen_by(RECORDS, lambda r: 0.0)
    gate = one(records, PLAN, gates("at_most = 60", head='[judge]\naggregate = "mean"'))
    found = {
        e.condition: e.value for e in estimates(records, PLAN, aggregate="mean") if (e.metric, e.stratum) == ("uis", "")
    }
    assert found["vector"] == gate.value
    (beside,) = [c for c in contrasts(records, PLAN, aggregate="mean") if (c.condition, c.metric) == ("vector", "uis")]
    assert beside.value == pytest.approx(gate.value)


def test_cases_that_one_judge_could_not_read_are_missing_where_all_count() -> None:
    lost = {r.identity for r in RECORDS[::9] if r.condition == "vector"}
    records = seen_by(RECORDS, lambda r: None if r.identity in lost else 0.0)
    first = one(records, PLAN, gates("at_most = 60"))
    mean = one(records, PLAN, gates("at_most = 60", head='max_missing = 0.5\n[judge]\naggregate = "mean"'))
    assert first.missing == 0
    assert mean.missing == sum(r.identity in lost for r in records if r.kind == "probe")
    strict = one(records, PLAN, gates("at_most = 60", head='max_missing = 0.01\n[judge]\naggregate = "max"'))
    assert strict.outcome == "invalid"
    assert "judge b gave no readable judgement" in strict.reason


def test_a_baseline_of_several_judges_is_taken_alike() -> None:
    thresholds = gates('versus = "baseline"\nincrease_at_most = 30', head='[judge]\naggregate = "mean"')
    old, new = seen_by(RECORDS, lambda r: 0.0), seen_by(RECORDS, lambda r: 1.0)
    assert one(new, PLAN, thresholds, references=baseline(old)).value == pytest.approx(50.0)
    first = gates('versus = "baseline"\nincrease_at_most = 30')
    assert one(new, PLAN, first, references=baseline(old)).value == 0.0


# ---- beside one another ---------------------------------------------------------------------------


def test_one_judge_asked_once_has_nothing_to_tell() -> None:
    assert opinions(RECORDS, PLAN, {}, "first") is None
    assert opinions([], PLAN, {}, "first") is None


def test_a_judge_that_agrees_keeps_every_direction() -> None:
    found = opinions(seen_by(RECORDS, lambda r: r.judgements[0].v), PLAN, {}, "first")
    assert found is not None
    (second,) = found.seconds
    assert (found.judges, second.judge, second.first) == (("a", "b"), "b", "a")
    assert (second.alpha, second.exact, second.difference) == (pytest.approx(1.0), 100.0, 0.0)
    assert second.n == len([r for r in RECORDS if r.kind == "probe"])
    assert second.kept == (2, 2)
    assert found.draws == ()


def test_a_judge_that_sees_it_the_other_way_round_loses_them() -> None:
    turned = seen_by(RECORDS, lambda r: {"none": 0.9, "vector": 0.1, "oracle": 1.0}[r.condition])
    found = opinions(turned, PLAN, {}, "mean")
    assert found is not None
    (second,) = found.seconds
    kept = {d.condition: (d.kept, d.second) for d in second.directions}
    assert kept == {"vector": (False, pytest.approx(-80.0)), "oracle": (True, pytest.approx(10.0))}
    assert second.kept == (1, 2)
    assert second.alpha is not None
    assert second.alpha < 0.5
    assert second.difference is not None


def test_directions_to_another_run_are_checked_too() -> None:
    old = seen_by(run(2, {"vector": 0.2, "oracle": 0.9}), lambda r: 0.5)
    new = seen_by(RECORDS, lambda r: 0.25)
    references = {"baseline": reference("baseline", "main", old)}
    found = opinions(new, PLAN, references, "first")
    assert found is not None
    told = {(d.condition, d.versus): d for d in found.seconds[0].directions}
    risen = told["vector", "baseline"]
    assert risen.first is not None
    assert (risen.first > 0, risen.second, risen.kept) == (True, pytest.approx(-25.0), False)
    other = {"baseline": reference("baseline", "main", [replace(r, instrument={"judge": "x"}) for r in old])}
    refused = opinions(new, PLAN, other, "first")
    assert refused is not None
    assert {d.versus for d in refused.seconds[0].directions} == {"none"}


def test_a_contrast_without_direction_is_not_counted() -> None:
    flat = seen_by(run(3, {}), lambda r: 0.0)
    found = opinions(flat, PLAN, {}, "first")
    assert found is not None
    assert {d.kept for d in found.seconds[0].directions} == {None}
    assert (found.seconds[0].kept, found.seconds[0].alpha) == ((0, 0), None)


def test_draws_show_their_spread() -> None:
    records = seen_by(run(4, {}), lambda r: 0.0, draws=(0.0, 0.5))
    found = opinions(records, PLAN, {}, "first")
    assert found is not None
    (drawn,) = found.draws
    assert (drawn.judge, drawn.draws) == ("a", 2)
    assert drawn.sd == pytest.approx(35.355, abs=0.01)
    assert drawn.largest == pytest.approx(drawn.sd)


# ---- what counts as sensitive ---------------------------------------------------------------------


def test_the_policy_says_what_is_sensitive() -> None:
    everything = load_policy().sensitive
    paper, policy = sensitive_ids(PLAN, None), sensitive_ids(PLAN, everything)
    assert paper == policy
    assert {"target", "p01-a1", "p01-d01"} <= policy
    some = sensitive_ids(PLAN, Sensitive(("illness",), ()))
    assert "target" not in some
    assert some == {d.id for d in PLAN.pack.disclosures if d.category == "illness"}
    # A run folder keeps the plan without the pack: the same ids come of it.
    assert sensitive_ids(plan_from(plan_data(PLAN)), Sensitive(("illness",), ())) == some


def test_uis_sensitive_follows_the_policy_in_levels_and_pairs() -> None:
    category = next(d.category for d in PLAN.pack.disclosures if d.id == "p01-d01")
    only = Sensitive((category,), ())
    records = make_records(PLAN, lambda c: 1.0 if c.condition.name == "vector" else 0.0)
    level = gates('metric = "uis_sensitive"\nat_most = 60')
    paired = gates('metric = "uis_sensitive"\nversus = "baseline"\nincrease_at_most = 60')
    share = 100 * sum(c.category == category for c in PLAN.cases if c.condition.name == "vector" and c.kind == "probe")
    share /= sum(c.condition.name == "vector" and c.kind == "probe" for c in PLAN.cases)
    assert 0 < share < 100
    assert one(records, PLAN, level, sensitive=only).value == pytest.approx(share)
    assert one(records, PLAN, level).value == pytest.approx(100.0)
    # A saved baseline does not name disclosures: the twin's counts.
    silent = [replace(r, disclosure_id=None) for r in records]
    assert one(records, PLAN, paired, references=baseline(silent), sensitive=only).value == 0.0
    (again,) = judge(records, PLAN, level, mode="pr", today=TODAY, sensitive=only)
    assert again.value == pytest.approx(share)


def test_a_manifest_tells_what_was_sensitive() -> None:
    assert sensitive_of({}) is None
    assert sensitive_of({"sensitive": {"categories": 3}}) is None
    kept = sensitive_of({"sensitive": {"categories": list(CATEGORIES), "facts": ["ambient"]}})
    assert kept is not None
    assert sensitive_ids(PLAN, kept) == sensitive_ids(PLAN, None)
