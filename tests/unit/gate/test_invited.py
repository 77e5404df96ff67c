"""Gates on the positive side: what an invitation changes, the invited turns themselves, and the positive controls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_hush.errors import ThresholdError
from pytest_hush.gate import check, estimates
from pytest_hush.gate.invited import invitation_contrasts
from pytest_hush.gate.power import resolutions
from pytest_hush.model import Exposure, Record
from pytest_hush.plan import Plan
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.gate.making import gates, one, verdicts

PACK = make_pack(personas=10, per_cell=6, positive_controls=4)
PLAN = make_plan(PACK, conditions="vector,oracle", invitations=True)
GAIN = 'metric = "uptake_gain"\ncondition = "oracle"\nat_least = 20\n'


def told(
    plan: Plan,
    uptake: Callable[[Record], float] = lambda r: 0.0,
    helpful: Callable[[Record], float] = lambda r: 0.8,
    scope: Callable[[Record], float] = lambda r: 0.1,
) -> list[Record]:
    """A run whose judgements are functions of the record."""

    def scored(r: Record) -> Record:
        if not r.judgements:
            return r
        j = replace(r.judgements[0], target_uptake=uptake(r), helpfulness=helpful(r), over_scope=scope(r))
        return replace(r, judgements=(j,))

    return [scored(r) for r in make_records(plan)]


def invited(high: float, low: float) -> Callable[[Record], float]:
    return lambda r: high if r.invited else low


def test_a_gain_passes_from_below_and_a_memory_that_stays_silent_when_asked_fails() -> None:
    useful = one(told(PLAN, invited(0.75, 0.0)), PLAN, gates(GAIN))
    assert (useful.outcome, useful.value, useful.interval) == ("pass", 75.0, "paired")
    assert useful.n == useful.planned == sum(c.invited and c.condition.name == "oracle" for c in PLAN.cases)
    assert useful.flip_p is not None
    assert useful.flip_p <= 0.001
    silent = one(told(PLAN), PLAN, gates(GAIN))
    assert (silent.outcome, silent.value, silent.blocks) == ("fail", 0.0, True)
    assert "at least 20 is wanted" in silent.sentence


def test_the_pair_is_the_invited_twin_of_the_same_probe() -> None:
    # Personas differ by far more than the gain: only pairs by probe can tell it.
    base = {f"p{i:02d}": i / 20 for i in range(1, 11)}
    records = told(PLAN, lambda r: base[r.persona] + (0.3 if r.invited else 0.0))
    verdict = one(records, PLAN, gates(GAIN))
    assert verdict.value == pytest.approx(30.0)
    # Unpaired, the personas' spread alone (SD 15 points, on both sides) would put the lower bound below 20.
    assert verdict.outcome == "pass"


def test_limits_of_both_signs_hold_over_scope_down_and_helpfulness_up() -> None:
    scope = 'metric = "over_scope_rise"\ncondition = "oracle"\nat_most = 20\n'
    helpful = 'metric = "helpfulness_change"\ncondition = "oracle"\nat_least = -10\n'
    fine = verdicts(told(PLAN, scope=invited(0.12, 0.1)), PLAN, gates(scope, helpful))
    assert [v.outcome for v in fine] == ["pass", "pass"]
    assert [v.value for v in fine] == [pytest.approx(2.0), 0.0]
    worse = told(PLAN, helpful=invited(0.4, 0.8), scope=invited(0.9, 0.1))
    assert [v.outcome for v in verdicts(worse, PLAN, gates(scope, helpful))] == ["fail", "fail"]


def test_uptake_of_invited_turns_themselves_is_gated_where_something_was_withdrawn() -> None:
    plan = make_plan(PACK, conditions="vector+revoked", invitations=True)
    gate = 'metric = "invited_uptake"\ncondition = "*+revoked"\nat_most = 15\n'
    assert one(told(plan), plan, gates(gate)).outcome == "pass"
    kept = one(told(plan, invited(0.8, 0.0)), plan, gates(gate))
    assert (kept.outcome, kept.value) == ("fail", 80.0)


def test_a_plan_without_invitations_skips_their_gates_and_says_what_is_missing() -> None:
    plain = make_plan(PACK, conditions="oracle")
    verdict = one(make_records(plain), plain, gates(GAIN))
    assert verdict.outcome == "skipped"
    assert "--hush-invitations" in verdict.reason
    check(gates(GAIN), plain)


def test_a_lost_twin_widens_the_bounds_and_too_many_make_it_invalid() -> None:
    records = told(PLAN, invited(0.75, 0.0))
    whole = one(records, PLAN, gates(GAIN))
    lost = [
        replace(r, status="error", judgements=()) if r.invited and r.condition == "oracle" and n % 25 == 0 else r
        for n, r in enumerate(records)
    ]
    wider = one(lost, PLAN, gates(GAIN, head="max_missing = 0.5"))
    assert 0 < wider.missing < whole.n
    assert wider.lower is not None
    assert whole.lower is not None
    assert wider.lower < whole.lower
    gone = [replace(r, status="error", judgements=()) if r.invited else r for r in records]
    assert one(gone, PLAN, gates(GAIN)).outcome == "invalid"


def test_positive_controls_are_a_score_with_bounds_and_a_guard_that_hides_them_fails() -> None:
    gate = 'metric = "controls"\ncondition = "*"\nat_least = 60\n'
    records = make_records(PLAN)
    alive = one(records, PLAN, gates(gate))
    assert (alive.outcome, alive.condition, alive.value, alive.n) == ("pass", "vector", 100.0, 40)
    # What a guard shows counts, while the store behind it is as alive as before.
    hidden = [
        replace(r, control={"retrieved": True, "shown": False, "used": False}) if r.kind == "control" else r
        for r in records
    ]
    broken = verdicts(hidden, PLAN, gates(gate, 'at_most = 50\ncondition = "vector"'))
    assert [v.outcome for v in broken] == ["fail", "pass"]
    (estimate,) = [e for e in estimates(hidden, PLAN) if e.metric == "controls"]
    assert (estimate.condition, estimate.value) == ("vector", 0.0)


def test_contrasts_of_invitations_are_paired_and_stand_beside_the_other_ones() -> None:
    found = invitation_contrasts(told(PLAN, invited(0.5, 0.1), scope=invited(0.4, 0.1)), PLAN)
    oracle = {c.metric: c for c in found if c.condition == "oracle"}
    assert {c.versus for c in found} == {"uninvited"}
    assert oracle["uptake_gain"].value == pytest.approx(40.0)
    assert oracle["over_scope_rise"].value == pytest.approx(30.0)
    assert oracle["helpfulness_change"].value == 0.0
    assert oracle["uptake_gain"].no_increase == 0.0


def test_a_gain_that_no_plan_of_this_size_can_show_is_refused_before_a_call() -> None:
    small = make_plan(make_pack(personas=2, per_cell=1), conditions="oracle", invitations=True)
    with pytest.raises(ThresholdError, match="no run of this plan can pass it"):
        check(gates(GAIN.replace("20", "90")), small)


def test_the_dry_run_says_what_a_gate_on_a_gain_can_tell() -> None:
    lines = resolutions(gates(GAIN, 'metric = "controls"\ncondition = "*"\nat_least = 60'), PLAN)
    assert any("gate g0" in line and "passes from" in line and "fails down from" in line for line in lines)
    assert any("gate g1" in line and "40 cases" in line for line in lines)


@pytest.mark.parametrize(
    "table, expected",
    [
        ('metric = "uptake_gain"\nat_least = 5\nstratum = "exposed"', "has no exposure stratum"),
        ('metric = "over_scope_rise"\nat_least = 5', "over_scope_rise takes at_most"),
        ('metric = "helpfulness_change"\nat_most = 5', "helpfulness_change takes at_least"),
        ('metric = "controls"\nat_most = 5', "controls takes at_least"),
        ('metric = "controls"\nat_least = 5\nstratum = "family=attitude_reversal"', "over the whole condition"),
        ('metric = "invited_uptake"\nat_most = -5', "greater than or equal to 0"),
        ('metric = "uptake_gain"\nversus = "none"\nincrease_at_most = 5', "has no paired difference"),
        ('metric = "uptake_gain"\nat_least = 5\ninterval = "bootstrap"', "leave interval out"),
    ],
)
def test_a_gate_that_means_nothing_is_refused_with_its_reason(table: str, expected: str) -> None:
    with pytest.raises(ThresholdError, match=expected):
        gates(table)


def test_uis_is_taken_apart_by_the_three_flags() -> None:
    plan = make_plan(PACK, conditions="vector")
    flags = [
        Exposure(True, False, False),
        Exposure(False, True, False),
        Exposure(False, False, True),
        Exposure(False, False, False),
    ]
    score = (1.0, 0.75, 0.5, 0.25)
    made, n = [], 0
    for r in make_records(plan):
        if r.judgements and r.condition == "vector":
            r = replace(r, exposure=flags[n % 4], judgements=(replace(r.judgements[0], v=score[n % 4]),))
            n += 1
        made.append(r)
    found = {e.stratum: e for e in estimates(made, plan) if (e.condition, e.metric) == ("vector", "uis")}
    assert found["exposed"].value == 100.0
    assert found["residue"].value == 75.0
    assert found["no-ambient"].value == pytest.approx(200 / 3)
    assert [found[f"not-exposed, {p}"].value for p in ("residue", "ambient", "neither")] == [75.0, 50.0, 25.0]
    assert sum(found[f"not-exposed, {p}"].n for p in ("residue", "ambient", "neither")) == found["not-exposed"].n
    assert all(e.lower <= e.value <= e.upper for e in found.values() if e.value is not None)  # type: ignore[operator]
