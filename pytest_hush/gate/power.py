"""What a plan's gates can tell, before a call: the dry run's answer to "is this size enough?"."""

from __future__ import annotations

from pytest_hush.gate.arms import lay_out
from pytest_hush.gate.check import family_size, in_family, one_sided
from pytest_hush.gate.invited import applies, cases_of
from pytest_hush.plan import Plan
from pytest_hush.text import number_of
from pytest_hush.thresholds import CHANGES, COUNTED, Thresholds


def resolutions(thresholds: Thresholds, plan: Plan) -> list[str]:
    """One line a gate and size: the values that pass, that fail, and that stay open.

    An exposure stratum is taken for all planned cases, the most that it can hold. Personas are assumed to correlate
    as the tables assume (0.02): a run whose personas differ more tells less.
    """
    from pytest_hush.stats.passability import resolution, resolution_of_increase

    family = family_size(thresholds, plan) if thresholds.multiplicity != "none" else 1
    arms = lay_out((), plan, None).arms
    lines: dict[str, None] = {}
    for gate in (g for g in thresholds.gates if g.metric not in COUNTED):
        counted = max(1, family if in_family(gate) else 1)
        for arm in (a for a in arms if applies(gate, a.condition, plan)):
            cases = cases_of(gate, arm)
            n, personas = len({c.probe_id for c in cases}), len({c.persona for c in cases})
            if not n:
                continue
            at_least = gate.at_least is not None
            if gate.versus or (gate.metric in CHANGES and not at_least):
                found = resolution_of_increase(n, personas, gate.limit, gate.confidence, counted)
            else:
                found = resolution(n, personas, one_sided(gate), gate.confidence, gate.interval, counted)
            passes, fails = (
                None if x is None else gate.limit + one_sided(gate) - x if at_least else x
                for x in (found.passes, found.fails)
            )
            told = "nothing passes" if passes is None else f"passes {'from' if at_least else 'up to'} {passes:.1f}"
            told += ", nothing fails" if fails is None else f", fails {'down from' if at_least else 'from'} {fails:.1f}"
            of = f" of {gate.stratum}" if gate.stratum else ""
            size = f"{number_of(n, 'case')}{of}, {number_of(personas, 'persona')}"
            lines[f"gate {gate.id} (limit {gate.limit:g}; {size}): {told}"] = None
    if not lines:
        return []
    return ["what the gates can tell at this size (personas correlating 0.02; between the two they stay open):", *lines]
