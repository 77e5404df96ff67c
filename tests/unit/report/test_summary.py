"""What a summary counts, and what it leaves unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.model import Usage
from pytest_hush.report.html.view import tone
from pytest_hush.report.markdown import step_summary
from pytest_hush.report.result import result
from pytest_hush.report.summary import notices, status_of
from pytest_hush.report.terminal import render
from pytest_hush.report.wording import because, headline, word
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


def test_a_run_in_which_nothing_was_decided_is_no_pass() -> None:
    made = summary_of(make_records(PLAN), PLAN)
    v = replace(made.verdicts[0], severity="block", blocks=False)
    unclear, passing = replace(v, outcome="inconclusive"), replace(v, outcome="pass")
    skipped, warns = replace(v, outcome="skipped"), replace(passing, severity="warn")
    assert status_of([unclear, skipped, warns]) == "undecided"
    assert status_of([unclear, passing]) == "passed"
    assert status_of([replace(unclear, blocks=True)]) == "inconclusive"
    assert status_of([replace(unclear, severity="warn")]) == "undecided"
    summary = replace(made, status="undecided", verdicts=[unclear, skipped])
    told = "every gate that counts is inconclusive, and pr mode lets that pass (1 INCONCLUSIVE, 1 SKIPPED)"
    assert headline(summary) == f"NOT DECIDED: {told}"
    assert because(summary).startswith("Nothing was decided. ")
    lifted = replace(summary, mode="release")  # there it would block: a waiver lifted it
    assert "and none blocks" in headline(lifted)
    assert result(summary, exit_code=0, plugin_version="0")["status"] == "undecided"
    assert "PASS" not in "".join(render(summary)[:1]) + step_summary(summary, exit_code=0, records=()).split("\n")[0]


def test_gates_that_the_mode_left_open_stand_beside_the_pass() -> None:
    made = summary_of(make_records(PLAN), PLAN)
    v = replace(made.verdicts[0], severity="block", blocks=False)
    unclear, passing = replace(v, outcome="inconclusive"), replace(v, outcome="pass")
    summary = replace(made, status="passed", verdicts=[unclear, passing, replace(unclear, severity="warn")])
    assert status_of(summary.verdicts) == "passed"
    assert word(summary) == "PASSED, 1 INCONCLUSIVE"
    assert headline(summary).startswith("PASSED, 1 INCONCLUSIVE: none of 3 verdicts blocks")
    assert render(summary)[0].startswith("PASSED, 1 INCONCLUSIVE")
    assert step_summary(summary, exit_code=0, records=()).startswith("### ⚠ hush: PASSED, 1 INCONCLUSIVE")
    assert tone(summary) == "warn"
    assert result(summary, exit_code=0, plugin_version="0")["status"] == "passed"
    passed = replace(summary, verdicts=[passing, replace(unclear, severity="warn")])
    assert (word(passed), tone(passed)) == ("PASSED", "pass")
    assert step_summary(passed, exit_code=0, records=()).startswith("### ✅ hush: PASSED")


def test_a_judge_that_names_no_policy_is_warned_of_on_every_surface() -> None:
    records = [replace(r, instrument={**r.instrument, "policy": ""}) for r in make_records(PLAN)]
    told = "WARNING: the judge names no policy: nothing shows that it measures conservative-1"
    assert any(line.startswith(told) for line in notices(summary_of(records, PLAN)))
    assert not any(line.startswith(told) for line in notices(summary_of(make_records(PLAN), PLAN)))
