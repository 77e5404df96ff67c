"""The family of gates: who is in it, what the corrections do to it, and families that could never fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.errors import ThresholdError
from pytest_hush.gate import Verdict, check
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.stats.multiplicity import holm
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.gate.making import drawn, gates, probes, verdicts

PLAN = make_plan(conditions="vector,oracle")
RECORDS = make_records(PLAN, drawn(3))
LIMITS = ["at_most = 14", "at_most = 16", 'metric = "over_scope"\nat_most = 20', 'condition = "oracle"\nat_most = 18']


def judged(*tables: str, method: str, records: list[Record] = RECORDS, plan: Plan = PLAN) -> list[Verdict]:
    return verdicts(records, plan, gates(*tables, head=f'multiplicity = "{method}"'))


def test_holm_adjusts_the_p_of_the_block_gates_and_no_other() -> None:
    found = judged(*LIMITS, 'at_most = 15\nseverity = "warn"', method="holm")
    single = [v.p for v in found[:4] if v.p is not None]
    assert len(set(single)) == 4
    assert [v.p_adjusted for v in found[:4]] == list(holm(single, 4))
    assert found[4].p_adjusted == found[4].p
    assert {v.family for v in found} == {4}


def test_twins_cost_holm_a_factor_and_a_joint_test_nothing() -> None:
    """Thirteen copies of one gate are one question: the joint sign-flips see that, Holm cannot."""
    alone = judged("at_most = 14", method="max-t")[0]
    assert alone.outcome == "fail"
    joint = judged(*["at_most = 14"] * 13, method="max-t")
    assert {(v.outcome, v.p_adjusted) for v in joint} == {("fail", alone.p_adjusted)}
    corrected = judged(*["at_most = 14"] * 13, method="holm")
    assert {v.outcome for v in corrected} == {"inconclusive"}
    assert "not after correction for 13 gates" in corrected[0].reason
    assert [v.p for v in joint] == [v.p for v in corrected]


def test_a_joint_p_is_a_share_of_all_flips() -> None:
    for v in judged(*LIMITS, method="max-t"):
        assert v.p_adjusted is not None
        assert v.p_adjusted * 2**10 == int(v.p_adjusted * 2**10)
        assert 2**-10 <= v.p_adjusted <= 1


@pytest.mark.parametrize("method", ["holm", "max-t"])
def test_a_gate_that_was_not_measured_keeps_its_place(method: str) -> None:
    """An oracle that cannot be judged must not make the failure of another gate easier."""
    limits = ["at_most = 14", 'condition = "oracle"\nat_most = 99']
    whole = judged(*limits, method=method)
    dead = {r.identity for r in probes(RECORDS, "oracle")}
    silent = [replace(r, entries=()) if r.identity in dead else r for r in RECORDS]
    partial = judged(*limits, method=method, records=silent)
    assert partial[1].outcome == "invalid"
    assert (partial[0].family, partial[0].p) == (2, whole[0].p)
    assert whole[0].p_adjusted is not None
    assert partial[0].p_adjusted is not None
    assert partial[0].p_adjusted >= whole[0].p_adjusted


def test_counted_gates_are_no_hypotheses() -> None:
    found = judged("at_most = 14", 'metric = "latency_s"\nat_most = 0.1', method="max-t")
    assert (found[0].family, found[1].p_adjusted, found[1].outcome) == (1, None, "fail")


def test_models_and_conditions_multiply_the_family() -> None:
    plan = make_plan(make_pack(10, 2), conditions="vector,oracle", models=["openai/a", "openai/b"])
    found = judged(
        'condition = "*"\nat_most = 50', 'metric = "helpfulness"\nat_least = 20', method="holm",
        plan=plan, records=make_records(plan),
    )  # fmt: skip
    assert [v.family for v in found] == [6] * 6


# ---- families that cannot fail ------------------------------------------------------------------------


def test_a_joint_test_of_too_few_personas_is_refused_when_the_file_is_read() -> None:
    """Four personas have sixteen flips: the smallest p is 1/16, and no run could ever fail at 95 %."""
    plan = make_plan(make_pack(4, 15), conditions="vector")
    check(gates("at_most = 50"), plan)
    with pytest.raises(ThresholdError, match=r"gate 'g0': no run of this plan can fail it.*max-t") as caught:
        check(gates("at_most = 50", head='multiplicity = "max-t"'), plan)
    assert "4 personas" in str(caught.value)
    five = make_plan(make_pack(5, 15), conditions="vector")
    check(gates("at_most = 50", head='multiplicity = "max-t"'), five)


def test_what_the_check_lets_through_can_fail() -> None:
    plan = make_plan(make_pack(5, 15), conditions="vector")
    loud = make_records(plan, lambda c: 1.0)
    for method in ("holm", "max-t"):
        thresholds = gates("at_most = 50", head=f'multiplicity = "{method}"')
        check(thresholds, plan)
        assert verdicts(loud, plan, thresholds)[0].outcome == "fail"


def test_a_warning_is_not_corrected_and_needs_no_family() -> None:
    plan = make_plan(make_pack(4, 15), conditions="vector")
    check(gates('at_most = 50\nseverity = "warn"', head='multiplicity = "max-t"'), plan)
