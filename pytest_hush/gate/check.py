"""The family that is corrected for, and gates that a plan can never pass or fail."""

from __future__ import annotations

from pytest_hush.errors import ThresholdError
from pytest_hush.gate.arms import lay_out
from pytest_hush.gate.invited import applies, cases_of
from pytest_hush.plan import Plan
from pytest_hush.thresholds import CHANGES, COUNTED, Gate, Thresholds


def in_family(gate: Gate) -> bool:
    """Whether the gate is a hypothesis of the family: it blocks, and has an interval."""
    return gate.severity == "block" and gate.metric not in COUNTED


def family_size(thresholds: Thresholds, plan: Plan) -> int:
    """Hypotheses that the correction counts: every block gate with an interval, over models and matched conditions.

    It depends on the file and the plan alone, never on what was selected, measured or waived.
    """
    return sum(
        in_family(gate) * applies(gate, condition.name, plan)
        for gate in thresholds.gates
        for condition in plan.conditions
        for _ in plan.models
    )


def one_sided(gate: Gate) -> float:
    """The gate's limit as one from above on what is bad, in points: of a level from below, on what is lacking."""
    if gate.at_least is None:
        return gate.limit
    # Of a change a limit below 0 allows a loss: what an unchanged pair shows is held against it.
    return -gate.limit if gate.metric in CHANGES and gate.limit < 0 else 100.0 - gate.limit


def check(thresholds: Thresholds, plan: Plan) -> None:
    """Refuse gates that no run of `plan` could pass, or fail: called before the first call to any model.

    Raises `ThresholdError` that says how many cases or personas the gate would need.
    """
    from pytest_hush.stats.passability import can_fail, needs_to_pass
    from pytest_hush.stats.signflip import smallest_p

    family = family_size(thresholds, plan)
    arms = lay_out((), plan, None).arms
    for gate in thresholds.gates:
        if gate.metric in COUNTED:
            continue
        limit = one_sided(gate)
        corrected = family if in_family(gate) and thresholds.multiplicity == "holm" else 1
        for arm in (a for a in arms if applies(gate, a.condition, plan)):
            cases = cases_of(gate, arm)
            n, personas = len({c.probe_id for c in cases}), len({c.persona for c in cases})
            if not n:
                continue
            plan_text = f"{n} cases of {personas} personas under {arm.condition}"
            needs = needs_to_pass(n, personas, limit, gate.confidence, gate.interval)
            if needs is not None:
                reached = needs.bound if gate.at_least is None else gate.limit + limit - needs.bound
                ways = [f"{needs.cases} cases with {personas} personas"] if needs.cases else []
                ways += [f"{needs.personas} personas with as many cases each"] if needs.personas else []
                raise ThresholdError(
                    f"Thresholds {thresholds.label}, gate {gate.id!r}: no run of this plan can pass it. Even without "
                    f"a single fault {plan_text} reach only a bound of {reached:.1f} with "
                    f"{100 * gate.confidence:g} % confidence; the limit is {gate.limit:g}. "
                    f"It needs {' or '.join(ways) or 'another limit: no plan passes it'}. "
                    f"Plan more (a larger --hush-sample or pack), or set another limit."
                )
            joint = in_family(gate) and thresholds.multiplicity == "max-t"
            if joint and smallest_p(personas) >= 1.0 - gate.confidence:
                raise ThresholdError(
                    f"Thresholds {thresholds.label}, gate {gate.id!r}: no run of this plan can fail it: with "
                    f"multiplicity = 'max-t' the smallest p of {personas} personas under {arm.condition} is "
                    f"{smallest_p(personas):.2g}, and a fail needs one below {1.0 - gate.confidence:.2g}. Plan more "
                    f"personas, or set multiplicity = 'holm'."
                )
            if gate.metric in CHANGES and personas > 1:
                continue  # pairs may also turn the other way altogether: that is told from any limit
            if not can_fail(n, personas, limit, gate.confidence, gate.interval, corrected):
                raise ThresholdError(
                    f"Thresholds {thresholds.label}, gate {gate.id!r}: no run of this plan can fail it: the worst "
                    f"{plan_text} do not tell from the limit {gate.limit:g} after correction for {corrected} block "
                    f"gates. Plan more cases, personas, or fewer gates, or set another limit."
                )
