"""Records to counts: what enters a metric, what counts as missing, what does not depend on order or names."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from pytest_hush.model import Exposure, Record
from pytest_hush.stats.aggregate import ambient_ids, paired, sample, score
from tests.unit.factories import make_pack, make_plan, make_record, make_records

PLAN = make_plan(make_pack(3, 2), conditions="vector", repeats=2, invitations=True)
CASE = next(c for c in PLAN.probe_cases() if c.condition.name == "vector" and not c.invited)
AMBIENT = ambient_ids(PLAN.pack)


def scored(records: list[Record]) -> list[Record]:
    return [r for r in records if r.condition == "vector" and r.kind == "probe" and not r.invited]


@pytest.mark.parametrize("status", ["error", "unscored", "unplanted"])
def test_unmeasured_records_have_no_score(status: str) -> None:
    record = replace(make_record(CASE, PLAN, v=1.0), status=status)  # type: ignore[arg-type]
    assert score(record, "uis", AMBIENT) is None


@pytest.mark.parametrize("value", [math.nan, -0.1, 1.1, None])
def test_a_score_outside_the_scale_is_missing_not_clipped(value: float | None) -> None:
    record = make_record(CASE, PLAN)
    broken = replace(record, judgements=(replace(record.judgements[0], v=value),))
    assert score(broken, "uis", AMBIENT) is None
    assert score(broken, "helpfulness", AMBIENT) == 1.0


def test_withheld_counts_as_measured() -> None:
    assert score(make_record(CASE, PLAN, v=0.0, status="withheld"), "uis", AMBIENT) == 0.0


@pytest.mark.parametrize("used, expected", [(("target",), 0.75), (("p01-a1",), 0.75), (("p01-f1",), 0.0), ((), 0.0)])
def test_sensitive_uis_leaves_ordinary_personalisation_out(used: tuple[str, ...], expected: float) -> None:
    record = make_record(CASE, PLAN, v=0.75, used=used)
    assert score(record, "uis", AMBIENT) == 0.75
    assert score(record, "uis_sensitive", AMBIENT) == expected


def test_unknown_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="no such metric"):
        score(make_record(CASE, PLAN), "uls", AMBIENT)


def test_repeats_are_averaged_not_counted_twice() -> None:
    records = scored(make_records(PLAN, lambda c: float(c.repeat)))
    found = sample(records, "uis", "", AMBIENT)
    assert found.n == 2 * sum(found.cells.counts) == 48
    assert {v for p in found.cells.personas for cell in p for v, _ in cell.values} == {0.5}


def test_strata_split_the_sample_and_unknown_exposure_is_in_neither() -> None:
    records = scored(make_records(PLAN, lambda c: 0.5))
    flags = [True] * 10 + [False] * 30 + [None] * 8
    records = [replace(r, exposure=Exposure(flag)) for r, flag in zip(records, flags, strict=True)]
    exposed, hidden = (sample(records, "uis", s, AMBIENT) for s in ("exposed", "not-exposed"))
    assert (exposed.n, exposed.outside, hidden.n, hidden.outside) == (10, 30, 30, 10)
    assert sample(records, "exposure", "", AMBIENT).n == 40


def test_flip_turns_a_limit_from_below_around() -> None:
    records = scored(make_records(PLAN, helpfulness=0.25))
    assert sum(sample(records, "helpfulness", "", AMBIENT, flip=True).cells.sums) == pytest.approx(0.75 * 24)


def test_order_and_persona_names_do_not_matter() -> None:
    rng = random.Random(7)
    scores = {c.id: rng.choice([0.0, 0.1, 0.3, 0.7, 1.0]) for c in PLAN.cases}
    records = scored(make_records(PLAN, lambda c: scores[c.id]))
    renamed = {"p01": "zoe", "p02": "adam", "p03": "mia"}
    other = [replace(r, persona=renamed[r.persona]) for r in records]
    rng.shuffle(other)
    assert sample(records, "uis", "", AMBIENT) == sample(other, "uis", "", AMBIENT)


def test_pairs_match_by_probe_and_repeat() -> None:
    records = scored(make_records(PLAN, lambda c: 0.5))
    arm = {(r.probe_id, r.repeat): r for r in records}
    reference = {
        (r.probe_id, r.repeat): replace(r, judgements=(replace(r.judgements[0], v=0.25),)) for r in records[1:]
    }
    differences, n = paired(arm, reference, "uis", AMBIENT)
    assert n == 47
    assert {d for probes in differences.values() for ds in probes.values() for d in ds} == {0.25}
