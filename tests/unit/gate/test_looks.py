"""Two looks: what is clear is settled early, what is not goes on, and the result needs no more than was measured."""

from __future__ import annotations

import datetime
import json

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.gate import Verdict, judge_in_looks
from pytest_hush.gate.looks import first_look
from pytest_hush.model import Case, Record
from pytest_hush.plan import Plan
from pytest_hush.plan.file import plan_data, plan_from
from pytest_hush.thresholds import parse_thresholds
from tests.unit.factories import make_pack, make_plan, make_records

TODAY = datetime.date(2026, 6, 1)
PACK = make_pack(per_cell=12)
PLAN = make_plan(PACK, conditions="vector,oracle,mem0", two_look=True)
FILE = parse_thresholds(
    'schema = 1\nname = "t"\nversion = "1"\npolicy = "conservative-1"\n'
    '[[gate]]\nid = "uis"\nmetric = "uis"\ncondition = "*"\nat_most = 20\n'
    '[[gate]]\nid = "complete"\nmetric = "completeness"\ncondition = "*"\nat_least = 95\n'
)
LEAK = {"vector": 0.0, "oracle": 1.0, "mem0": 0.2}


def score(case: Case) -> float:
    """Silent, always leaking, and one probe in five: far below, far above, at the limit."""
    level = LEAK[case.condition.name]
    return float(hash_of(case.probe_id) % 10 < 10 * level)


def hash_of(text: str) -> int:
    return sum(ord(c) * (i + 1) for i, c in enumerate(text))


def judged(records: list[Record], plan: Plan = PLAN) -> tuple[dict[str, Verdict], Plan]:
    verdicts, part = judge_in_looks(records, plan, FILE, mode="pr", today=TODAY)
    return {f"{v.gate} {v.condition}": v for v in verdicts}, part


def test_the_first_subset_is_a_balanced_quarter_that_comes_first() -> None:
    assert len(PLAN.first_look) == len(PACK.probes) // 4
    cells = {(p.persona, p.family) for p in PACK.probes if p.id in PLAN.first_look}
    assert len(cells) == 40
    early = [PLAN.in_first_look(c) for c in PLAN.cases]
    assert early == sorted(early, reverse=True)
    assert PLAN.hash != make_plan(PACK, conditions="vector,oracle,mem0").hash


def test_only_what_is_open_goes_on() -> None:
    records = make_records(PLAN, score)
    look = first_look(records, PLAN, FILE, mode="pr", selected=None, references={}, today=TODAY)
    assert look.going_on == {("openai/test", "mem0")}
    by, part = judged(records)
    assert (by["uis vector"].outcome, by["uis vector"].look, by["uis vector"].n) == ("pass", 1, 120)
    assert (by["uis oracle"].outcome, by["uis oracle"].look, by["uis oracle"].confidence) == ("fail", 1, 0.99)
    assert (by["uis mem0"].look, by["uis mem0"].n) == (2, 480)
    assert by["uis mem0"].confidence == pytest.approx(0.955)
    assert {c.condition.name for c in part.cases if not PLAN.in_first_look(c)} == {"mem0"}


def test_completeness_is_of_what_was_to_be_measured() -> None:
    kept = [r for r in make_records(PLAN, score) if r.condition == "mem0" or r.probe_id in PLAN.first_look or r.control]
    by, _ = judged(kept)
    assert by["complete vector"].outcome == by["complete mem0"].outcome == "pass"
    assert by["complete vector"].planned == 120


def test_more_records_than_needed_change_nothing() -> None:
    whole = make_records(PLAN, score)
    kept = [r for r in whole if r.condition == "mem0" or r.probe_id in PLAN.first_look or r.control]
    assert judged(whole)[0] == judged(kept)[0] == judged(whole[::-1])[0]


def test_an_open_gate_without_its_second_part_is_no_verdict() -> None:
    kept = [r for r in make_records(PLAN, score) if r.probe_id in PLAN.first_look or r.control]
    by, _ = judged(kept)
    assert by["uis vector"].outcome == "pass"
    assert by["uis mem0"].outcome == "invalid"
    assert "not complete" in by["uis mem0"].reason


def test_a_plan_of_two_looks_is_kept_and_read() -> None:
    again = plan_from(json.loads(json.dumps(plan_data(PLAN))))
    assert (again.first_look, again.hash) == (PLAN.first_look, PLAN.hash)
    records = make_records(PLAN, score)
    assert judged(records, again)[0] == judged(records)[0]


def test_too_few_probes_for_two_looks_is_said() -> None:
    with pytest.raises(UsageError, match="expected 160 or more"):
        make_plan(make_pack(per_cell=3), two_look=True)
