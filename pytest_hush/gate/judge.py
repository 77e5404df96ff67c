"""From records to verdicts. Pure: the same records in any order give the same verdicts, in the file's order."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_hush.gate import checks
from pytest_hush.gate.arms import Arm, Run, lay_out
from pytest_hush.gate.check import family_size, in_family
from pytest_hush.gate.types import Verdict
from pytest_hush.gate.verdicts import Draft, verdict
from pytest_hush.model import Record
from pytest_hush.plan import Identity, Plan
from pytest_hush.stats.aggregate import ambient_ids
from pytest_hush.stats.multiplicity import holm
from pytest_hush.thresholds import COUNTED, Gate, Mode, Thresholds

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement  # imports numpy: paid for on the first measurement


def judge(
    records: Iterable[Record],
    plan: Plan,
    thresholds: Thresholds,
    *,
    mode: Mode,
    selected: frozenset[Identity] | None = None,
    today: datetime.date,
) -> list[Verdict]:
    """One verdict for each gate, model and planned condition that the gate matches, in the order of the file.

    `selected` are the cases that this session meant to run (None: all, or those of the plan's shard): cases left
    out of it make a gate skipped, cases lost for any other reason widen its bounds. `today` decides waivers.
    """
    run = lay_out(records, plan, selected)
    family = family_size(thresholds, plan)
    drafts: list[Draft] = []
    for gate in thresholds.gates:
        arms = [a for a in run.arms if gate.matches(a.condition)]
        drafts += [_draft(gate, a, run, plan, thresholds, mode) for a in arms] or [_unmatched(gate, plan)]
    tested = [p for d in drafts if in_family(d.gate) and (p := _p(d)) is not None]
    adjusted = iter(holm(tested, family) if thresholds.multiplicity == "holm" else tested)
    verdicts = []
    for d in drafts:
        p = _p(d)
        corrected = next(adjusted) if p is not None and in_family(d.gate) else p
        verdicts.append(verdict(d, corrected, family, thresholds, mode, today, several=len(plan.models) > 1))
    return verdicts


def exit_blocked(verdicts: Iterable[Verdict]) -> bool:
    """True when at least one verdict blocks: exit code 1."""
    return any(v.blocks for v in verdicts)


def all_skipped(verdicts: Iterable[Verdict]) -> bool:
    """True when nothing was judged, an empty list included: no verdict is no pass."""
    return all(v.outcome == "skipped" for v in verdicts)


def _p(d: Draft) -> float | None:
    return d.measured.p if d.measured is not None and d.finding is None else None


def _unmatched(gate: Gate, plan: Plan) -> Draft:
    planned = ", ".join(c.name for c in plan.conditions)
    reason = f"No planned condition matches {gate.condition!r}; planned are {planned}."
    return Draft(gate, None, 0, checks.Finding("skipped", reason))


def _draft(gate: Gate, arm: Arm, run: Run, plan: Plan, thresholds: Thresholds, mode: Mode) -> Draft:
    counted = gate.metric in COUNTED
    cases = arm.cases + arm.invited if counted else arm.relevant(gate.stratum)
    reference = run.arm(arm.model, "none") if gate.versus == "none" else None

    def found(outcome: checks.Unjudged, reason: str) -> Draft:
        return Draft(gate, arm, len(cases), checks.Finding(outcome, reason))

    if mode == "release" and arm.demonstration:
        return found("invalid", "Release mode refuses demonstration models. Name the model that is to be released.")
    fault = run.fault or run.model_faults.get(arm.model, "")
    if fault:
        return found("invalid", fault)
    if not cases:
        return found("skipped", f"The plan has no case for it ({gate.stratum or 'no probe'}).")
    skipped = checks.selection(arm, cases)
    if skipped is None and reference is not None:
        skipped = checks.selection(reference, reference.relevant(gate.stratum))
    if skipped is not None:
        return Draft(gate, arm, len(cases), skipped)
    if not arm.records:
        return Draft(gate, arm, len(cases), checks.missing(arm, cases, len(cases), thresholds.max_missing))
    measured = _measure(gate, arm, reference, plan)
    if measured.note.startswith("exposure is unknown"):
        return Draft(
            gate,
            arm,
            len(cases),
            checks.Finding("invalid", f"{measured.note.capitalize()}. Name conditions that do."),
            measured,
        )
    finding = None
    if gate.metric != "completeness":
        finding = checks.missing(arm, cases, measured.missing, thresholds.max_missing)
    if finding is None and not counted:
        finding = checks.health(arm, thresholds.health)
    if finding is None and measured.value is None:
        finding = checks.Finding("inconclusive", f"Nothing to judge: {measured.note}.")
    return Draft(gate, arm, len(cases), finding, measured)


def _measure(gate: Gate, arm: Arm, reference: Arm | None, plan: Plan) -> Measurement:
    from pytest_hush.gate import measure

    ambient = ambient_ids(plan.pack)
    if gate.metric in COUNTED:
        return measure.counted(arm, gate.metric)
    if reference is not None:
        return measure.increase(
            arm,
            reference,
            gate.metric,
            gate.stratum,
            ambient=ambient,
            confidence=gate.confidence,
            limit=gate.limit,
        )
    return measure.level(
        arm,
        gate.metric,
        gate.stratum,
        ambient=ambient,
        confidence=gate.confidence,
        kind=gate.interval,
        seed_parts=(gate.id, plan.pack.hash),
        limit=gate.limit,
        at_least=gate.at_least is not None,
    )
