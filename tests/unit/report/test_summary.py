"""What a summary counts, and what it leaves unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.model import Usage
from pytest_hush.report.summary import notices
from tests.unit.factories import make_pack, make_plan, make_record, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(3, 2))


def test_controls_are_counted_by_arm() -> None:
    records = make_records(PLAN)
    (tally,) = summary_of(records, PLAN).controls
    assert (tally.condition, tally.planned, tally.measured, tally.retrieved, tally.used) == ("vector", 6, 6, 6, 6)
    assert tally.known


def test_what_a_closed_assistant_retrieved_is_not_known() -> None:
    records = make_records(PLAN, exact=None, retrieved=None)
    (tally,) = summary_of(records, PLAN).controls
    assert (tally.known, tally.retrieved, tally.used) == (False, 0, 6)
    one = next(i for i, r in enumerate(records) if r.kind == "control")
    records[one] = replace(records[one], control={"retrieved": False, "used": True})
    assert summary_of(records, PLAN).controls[0].known


def test_controls_that_nobody_measured_are_no_closed_assistant() -> None:
    (tally,) = summary_of([r for r in make_records(PLAN) if r.kind != "control"], PLAN).controls
    assert (tally.known, tally.measured) == (True, 0)


@pytest.mark.parametrize("usage", [Usage(), Usage(5, 5, None), Usage(5, 5, -1.0), Usage(5, 5, float("nan"))])
def test_one_unknown_price_makes_the_sum_unknown(usage: Usage) -> None:
    records = make_records(PLAN)
    whole = summary_of(records, PLAN).spending
    assert whole.cost_usd == pytest.approx(0.001 * whole.replies)
    probe = next(i for i, r in enumerate(records) if r.reply)
    records[probe] = replace(records[probe], usage=usage)
    spent = summary_of(records, PLAN).spending
    assert (spent.cost_usd, spent.unpriced) == (None, 1)


def test_a_demonstration_says_so() -> None:
    plan = make_plan(make_pack(3, 2), models=["parrot"])
    summary = summary_of([make_record(c, plan) for c in plan.cases], plan)
    assert summary.demonstration
    assert notices(summary)[0].startswith("Demonstration model:")


def test_a_run_that_stopped_has_no_verdict() -> None:
    summary = summary_of(make_records(PLAN)[:5], PLAN, stopped="5 failures")
    assert (summary.status, summary.reason, list(summary.verdicts)) == ("stopped", "5 failures", [])
