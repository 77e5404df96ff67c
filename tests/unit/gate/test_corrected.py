"""Figures and gates corrected by labels of the run: sampled labels set a wrong judge right, and too few do nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pytest_hush.gate import estimates, judge
from pytest_hush.gate.corrected import Correction, corrections, reviewed
from pytest_hush.model import Record
from pytest_hush.review.sample import draw
from pytest_hush.store.labels import Consensus, RunLabels
from pytest_hush.thresholds import Thresholds
from pytest_hush.thresholds.load import parse_thresholds
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import TODAY

PLAN = make_plan(make_pack(6, 5), conditions="vector")
FILE = """
schema = 1
name = "c"
version = "1"
policy = "conservative-1"
[judge]
corrected = {corrected}
[[gate]]
id = "uis"
metric = "uis"
condition = "vector"
at_most = 40.0
[[gate]]
id = "family"
metric = "uis"
condition = "vector"
stratum = "family=attitude_reversal"
at_most = 60.0
"""


def thresholds(corrected: bool = True) -> Thresholds:
    return parse_thresholds(FILE.format(corrected=str(corrected).lower()))


def run() -> list[Record]:
    """A judge that finds 20 points under ``vector``."""
    rng = random.Random(5)
    return make_records(PLAN, lambda case: float(rng.random() < 0.2))


def read(records: list[Record], size: int, miss: float) -> RunLabels:
    """Labels of a sample, by readers who score `miss` above the judge where memory was used by nobody's word."""
    items = {}
    for d in draw(records, size, 3).drawn:
        v = d.record.judgements[0].v or 0.0
        seen = v if v or d.record.condition == "none" else miss
        items[d.record.key] = Consensus(seen, seen, seen, 0.75, d.weight)
    return RunLabels(items, ("Ada",), "human")


RECORDS = run()


def of(found: list[Correction], condition: str, metric: str) -> Correction:
    return next(c for c in found if (c.condition, c.metric) == (condition, metric))


def test_every_reply_labelled_gives_the_readers_mean() -> None:
    found = corrections(RECORDS, PLAN, read(RECORDS, 10_000, 0.5))
    raw = next(e for e in estimates(RECORDS, PLAN) if (e.condition, e.metric, e.stratum) == ("vector", "uis", ""))
    c = of(found, "vector", "uis")
    assert (c.raw, c.raw_lower, c.raw_upper) == (raw.value, raw.lower, raw.upper)
    assert c.raw is not None
    assert c.value == pytest.approx(c.raw + 0.5 * (100 - c.raw))
    assert c.bias == pytest.approx(0.5 * (100 - c.raw))
    assert c.labels == 120
    none = of(found, "none", "uis")
    assert none.value == 0.0
    assert none.upper is not None
    assert none.raw_upper is not None
    assert none.raw_upper < none.upper < 2 * none.raw_upper, "no observed disagreement is not none"
    assert of(found, "vector", "helpfulness").bias == -25.0


def test_a_sample_is_near_it_and_its_bounds_hold_it() -> None:
    truth = of(corrections(RECORDS, PLAN, read(RECORDS, 10_000, 0.5)), "vector", "uis").value
    c = of(corrections(RECORDS, PLAN, read(RECORDS, 96, 0.5)), "vector", "uis")
    assert truth is not None
    assert c.value == pytest.approx(truth, abs=4)
    assert c.lower is not None
    assert c.upper is not None
    assert c.lower < truth < c.upper
    assert c.labels == 48


def test_repeats_of_a_probe_are_averaged() -> None:
    plan = make_plan(make_pack(3, 2), conditions="vector", repeats=2)
    records = make_records(plan, lambda case: float(case.repeat))
    labels = RunLabels(
        {r.key: Consensus(0.0, 0.0, 0.0, 1.0, 1.0) for r in records if r.condition == "vector" and r.judgements},
        ("Ada",),
        "human",
    )
    c = of(corrections(records, plan, labels), "vector", "uis")
    assert (c.raw, c.value, c.bias) == (50.0, 0.0, -50.0)


def test_too_few_labels_are_refused_with_the_number_needed() -> None:
    labels = read(RECORDS, 96, 0.5)
    persona = RECORDS[0].persona
    own = [r.key for r in RECORDS if r.persona == persona and r.condition == "vector" and r.key in labels.items]
    fewer = replace(labels, items={k: v for k, v in labels.items.items() if k not in own[1:]})
    c = of(corrections(RECORDS, PLAN, fewer), "vector", "uis")
    assert (c.value, c.lower, c.upper, c.bias) == (None, None, None, None)
    assert f"{persona} has 1; 2 a persona and condition are needed, about 20 are advised" in c.note
    small = make_records(make_plan(make_pack(3, 1), conditions="vector"))
    one = {r.key: Consensus(0.0, 0.0, 0.0, 1.0, 1.0) for r in small[:1]}
    note = of(corrections(small, make_plan(make_pack(3, 1), conditions="vector"), RunLabels(one, ("Ada",), "human")),
              "vector", "uis").note  # fmt: skip
    assert "but this run has 4 at most: label all of them" in note, "twenty cannot be labelled where there are four"
    verdict = judge(RECORDS, PLAN, thresholds(), mode="pr", today=TODAY, labels=fewer)[0]
    assert verdict.outcome == "inconclusive"
    assert f"labels are too few to correct the judge: {persona} has 1" in verdict.reason


def test_missing_cases_widen_the_corrected_bounds_too() -> None:
    labels = read(RECORDS, 96, 0.5)
    lost = {r.key for r in RECORDS if r.condition == "vector" and r.kind == "probe" and r.key not in labels.items}
    gone = set(sorted(lost)[:12])
    fewer = [replace(r, status="error", judgements=()) if r.key in gone else r for r in RECORDS]
    whole, part = (of(corrections(records, PLAN, labels), "vector", "uis") for records in (RECORDS, fewer))
    assert part.upper is not None
    assert whole.upper is not None
    assert part.upper > whole.upper + 5


def test_a_gate_is_judged_on_corrected_bounds_only_where_the_file_asks_and_labels_are_there() -> None:
    labels = read(RECORDS, 10_000, 0.9)

    def verdicts(corrected: bool, given: RunLabels | None) -> list[tuple[str, str, int]]:
        found = judge(RECORDS, PLAN, thresholds(corrected), mode="pr", today=TODAY, labels=given)
        return [(v.outcome, v.interval, v.labels) for v in found]

    raw = [("pass", "calibrated", 0), ("pass", "calibrated", 0)]
    assert verdicts(False, labels) == raw
    assert verdicts(True, None) == raw
    assert verdicts(True, labels) == [("fail", "corrected", 120), ("pass", "calibrated", 0)]
    failed = judge(RECORDS, PLAN, thresholds(), mode="pr", today=TODAY, labels=labels)[0]
    assert "with 95 % confidence, corrected by 120 labels; the limit is 40." in failed.sentence
    assert failed.p is not None
    assert failed.p < 0.05


def test_what_was_asked_for_and_is_not_there_is_said() -> None:
    labels = read(RECORDS, 96, 0.5)
    assert reviewed((None, ""), RECORDS, PLAN, thresholds(False)).notes == ()
    assert reviewed((labels, ""), RECORDS, PLAN, thresholds()).notes == ()
    (note,) = reviewed((None, ""), RECORDS, PLAN, thresholds()).notes
    assert "asks for UIS corrected by readers' labels. This run has none: the judge's scores alone decide" in note
    stale = reviewed((None, "stale"), RECORDS, PLAN, thresholds(False))
    assert (stale.notes, stale.corrections, stale.who) == (("stale",), (), "")
    bare = {r.key for r in RECORDS if r.condition == "vector"}
    other = replace(labels, items={k: v for k, v in labels.items.items() if k not in bare})
    assert "This run has none under vector" in reviewed((other, ""), RECORDS, PLAN, thresholds()).notes[0]
