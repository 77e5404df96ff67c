"""From records to verdicts. Pure: the same records in any order give the same verdicts, in the file's order."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_hush.gate import checks
from pytest_hush.gate.arms import Arm, Run, lay_out
from pytest_hush.gate.change import change_parts
from pytest_hush.gate.check import family_size, in_family
from pytest_hush.gate.corrected import asks, corrected_level
from pytest_hush.gate.invited import applies, cases_of, invited_change, nothing_planned, selected_of
from pytest_hush.gate.reference import Pair, Reference, refusal, resolved
from pytest_hush.gate.sensitive import sensitive_ids
from pytest_hush.gate.types import Verdict
from pytest_hush.gate.verdicts import Draft, verdict
from pytest_hush.judges.policy import Sensitive
from pytest_hush.model import Record
from pytest_hush.plan import Identity, Plan
from pytest_hush.stats.judges import one_judgement
from pytest_hush.stats.multiplicity import holm
from pytest_hush.store.labels import RunLabels
from pytest_hush.thresholds import CHANGES, CONTROLS, COUNTED, INVITED, Gate, Mode, Thresholds

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement  # imports numpy: paid for on the first measurement


def judge(
    records: Iterable[Record],
    plan: Plan,
    thresholds: Thresholds,
    *,
    mode: Mode,
    selected: frozenset[Identity] | None = None,
    references: Mapping[str, Reference] | None = None,
    today: datetime.date,
    sensitive: Sensitive | None = None,
    labels: RunLabels | None = None,
) -> list[Verdict]:
    """One verdict for each gate, model and planned condition that the gate matches, in the order of the file.

    `selected` are the cases that this session meant to run (None: all, or those of the plan's shard): cases left
    out of it make a gate skipped, cases lost for any other reason widen its bounds. `references`: ``baseline`` and
    ``anchor``, where they were given. `today` decides waivers. Several judgements of a case become one by the file's
    ``judge.aggregate``. `sensitive` is what the run's policy counts in `uis_sensitive` (None: what the paper does).
    `labels` of this run correct the UIS gates of a file that asks for it.
    """
    aggregate = thresholds.judge.aggregate
    run = lay_out(one_judgement(records, aggregate), plan, selected)
    others = resolved(references or {}, aggregate)
    ids = sensitive_ids(plan, sensitive)
    family = family_size(thresholds, plan)
    drafts: list[Draft] = []
    for gate in thresholds.gates:
        arms = [a for a in run.arms if applies(gate, a.condition, plan)]
        drafts += [_draft(gate, a, run, plan, thresholds, mode, others, ids, labels) for a in arms]
        drafts += [] if arms else [_unmatched(gate, plan)]
    adjusted = iter(_adjusted([d for d in drafts if in_family(d.gate) and _p(d) is not None], family, thresholds))
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


def no_verdict(verdicts: Sequence[Verdict], *, lift: str) -> str:
    """Why the whole run fails for want of a verdict, or '' when a gate that counts was judged.

    Those that block count; in a file that only warns, all do. `lift` is the option that accepts a run without one.
    """
    counted = [v for v in verdicts if v.severity == "block"] or verdicts
    if not all_skipped(counted):
        return ""
    why = f": {counted[0].reason or counted[0].sentence}" if counted else "."
    return (
        f"No gate that blocks was judged{why} "
        f"Run the whole plan, with all that its gates compare with, or pass {lift} when no verdict is what you want."
    )


def _p(d: Draft) -> float | None:
    return d.measured.p if d.measured is not None and d.finding is None else None


def _unmatched(gate: Gate, plan: Plan) -> Draft:
    if nothing := nothing_planned(gate, plan):
        return Draft(gate, None, 0, checks.Finding("skipped", nothing))
    planned = ", ".join(c.name for c in plan.conditions)
    reason = f"No planned condition matches {gate.condition!r}; planned are {planned}."
    return Draft(gate, None, 0, checks.Finding("skipped", reason))


def _adjusted(tested: Sequence[Draft], family: int, thresholds: Thresholds) -> Sequence[float]:
    """The p of the family's measured hypotheses, corrected as the file says."""
    single = [p for d in tested if (p := _p(d)) is not None]
    if thresholds.multiplicity == "none" or not tested:
        return single
    if thresholds.multiplicity == "holm":
        return holm(single, family)
    from pytest_hush.stats.signflip import max_t

    measured = [d.measured for d in tested if d.measured is not None]
    personas = sorted({g for m in measured for g in m.contrasts})
    joint = max_t([[m.contrasts.get(g, 0.0) for g in personas] for m in measured])
    # Hypotheses of the family that were not measured have no contrasts: Bonferroni's factor stands for them.
    return [min(1.0, p * family / len(tested)) for p in joint]


def _draft(
    gate: Gate,
    arm: Arm,
    run: Run,
    plan: Plan,
    thresholds: Thresholds,
    mode: Mode,
    references: Mapping[str, Reference],
    ambient: frozenset[str],
    labels: RunLabels | None,
) -> Draft:
    counted = gate.metric in COUNTED
    cases = cases_of(gate, arm)
    matched = run.arm(arm.model, "none") if gate.versus == "none" else None

    def found(outcome: checks.Unjudged, reason: str) -> Draft:
        return Draft(gate, arm, len(cases), checks.Finding(outcome, reason))

    if mode == "release" and arm.demonstration:
        return found("invalid", "Release mode refuses demonstration models. Name the model that is to be released.")
    fault = run.fault or run.model_faults.get(arm.model, "")
    if fault:
        return found("invalid", fault)
    if not cases:
        return found("skipped", f"The plan has no case for it ({gate.stratum or 'no probe'}).")
    skipped = checks.selection(arm, selected_of(gate, arm))
    if skipped is None and matched is not None:
        skipped = checks.selection(matched, matched.relevant(gate.stratum))
    if skipped is not None:
        return Draft(gate, arm, len(cases), skipped)
    if not arm.records:
        return Draft(gate, arm, len(cases), checks.missing(arm, cases, len(cases), thresholds.max_missing))
    theirs: Mapping[Pair, Record] | None = None
    if matched is not None:
        theirs = {(r.probe_id, r.repeat): r for r in matched.found(matched.relevant(gate.stratum))}
    elif gate.versus:
        other = references.get(gate.versus)
        if other is None:
            return found(*_without(gate))
        if refused := refusal(other, next(iter(arm.records.values())).instrument):
            return found("invalid", refused)
        model, absent = other.model_for(arm.model, arm.condition)
        if absent:
            return found("invalid" if gate.baseline == "required" else "skipped", absent)
        theirs = other.records[model, arm.condition]
    measured = _measure(gate, arm, theirs, plan, ambient, labels if asks(gate, thresholds) else None)
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
        finding = checks.missing(
            arm, cases, measured.missing, thresholds.max_missing, partner=gate.versus if theirs is not None else ""
        )
    if finding is None and not counted and gate.metric != CONTROLS:
        finding = checks.health(arm, thresholds.health)
    if finding is None and measured.value is None:
        finding = checks.Finding("inconclusive", f"Nothing to judge: {measured.note}.")
    parts = None
    if gate.metric == "uis" and gate.versus in ("baseline", "anchor") and theirs is not None:
        parts = change_parts(arm, theirs, gate.stratum)
    source = references[gate.versus].source if gate.versus in references else ""
    return Draft(gate, arm, len(cases), finding, measured, parts, source)


def _without(gate: Gate) -> tuple[checks.Unjudged, str]:
    """What a gate comes to whose reference was not given."""
    option = f"--hush-{gate.versus}"
    if gate.baseline == "required":
        return "invalid", f"This gate needs the {gate.versus}: give {option}."
    return "skipped", f"No {gate.versus} was given ({option}), and this gate does not require one."


def _measure(
    gate: Gate,
    arm: Arm,
    theirs: Mapping[Pair, Record] | None,
    plan: Plan,
    ambient: frozenset[str],
    labels: RunLabels | None,
) -> Measurement:
    from pytest_hush.gate import measure

    if gate.metric in COUNTED:
        return measure.counted(arm, gate.metric)
    at_least = gate.at_least is not None
    if gate.metric in CHANGES:
        return invited_change(
            arm, gate.metric, gate.stratum, confidence=gate.confidence, limit=gate.limit, at_least=at_least
        )
    if theirs is not None:
        return measure.increase(
            arm,
            theirs,
            gate.metric,
            gate.stratum,
            ambient=ambient,
            confidence=gate.confidence,
            limit=gate.limit,
            at_least=gate.decrease_at_most is not None,
        )
    if labels is not None:
        corrected = corrected_level(arm, gate.metric, labels, confidence=gate.confidence, limit=gate.limit)
        if corrected.labels:
            return corrected
    return measure.level(
        arm,
        "target_uptake" if gate.metric in INVITED else gate.metric,
        gate.stratum,
        ambient=ambient,
        confidence=gate.confidence,
        kind=gate.interval,
        seed_parts=(gate.id, plan.pack.hash),
        limit=gate.limit,
        at_least=at_least,
        of=cases_of(gate, arm),
    )
