"""What pytest prints of a gate in the line that it cuts, and gates that were skipped for one reason."""

from __future__ import annotations

from dataclasses import replace

from pytest_hush.plugin.gates import told
from pytest_hush.report.markdown import step_summary
from pytest_hush.report.terminal import render
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(3, 2))
SUMMARY = summary_of(make_records(PLAN), PLAN)
VERDICT = SUMMARY.verdicts[0]


def test_the_figure_and_its_limit_come_first() -> None:
    failed = replace(VERDICT, outcome="fail", value=53.5, limit=40.0, metric="uis", sentence="UIS is 53.5.")
    assert told(failed).startswith("53.5, limit 40; fail: UIS is 53.5.")
    assert told(replace(failed, metric="completeness")).startswith("53.5 %, limit 40 %; fail: ")
    assert told(replace(failed, outcome="invalid", value=None)).startswith("invalid: UIS is 53.5.")


def test_gates_that_were_skipped_for_one_reason_take_one_line() -> None:
    skipped = [
        replace(VERDICT, gate=f"gate-{n}", outcome="skipped", blocks=False, value=None, reason="It is a shard.")
        for n in range(3)
    ]
    other = replace(skipped[0], gate="gate-other", reason="No baseline.")
    assert {told(v) for v in skipped} == {"It is a shard."}
    summary = replace(SUMMARY, verdicts=[*skipped, other])
    text = " ".join(" ".join(render(summary, width=100)).split())
    assert f"SKIPPED: 3 gates ({', '.join(v.id for v in skipped)}): It is a shard." in text
    assert text.count("It is a shard.") == 1
    assert f"SKIPPED: {other.id}: " in text
    page = step_summary(summary, exit_code=0, records=())
    assert "**4 verdicts**: 4 SKIPPED" in page
    assert "3 gates: It is a shard." in page
    assert page.count("| SKIPPED |") == 2
