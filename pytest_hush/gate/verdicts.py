"""The decision on one gate, in numbers and in words."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_hush.gate import checks, words
from pytest_hush.gate.arms import Arm
from pytest_hush.gate.types import Direction, Outcome, Verdict, WaiverState
from pytest_hush.thresholds import CHANGES, COUNTED, Gate, Mode, Thresholds

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement  # imports numpy: paid for on the first measurement


@dataclass(frozen=True, slots=True)
class Draft:
    """One gate on one arm, measured or found impossible to judge, before the correction for the family.

    `arm` is None for a gate that matches no planned condition. `parts` are those of a UIS change, `source` names the
    run that it is a change from.
    """

    gate: Gate
    arm: Arm | None
    planned: int
    finding: checks.Finding | None = None
    measured: Measurement | None = None
    parts: tuple[float, float] | None = None
    source: str = ""


def _decide(gate: Gate, m: Measurement, p_adjusted: float | None, family: int) -> tuple[Outcome, str]:
    """Pass when the whole interval is inside the limit, fail when it is outside even after correction."""
    assert m.value is not None
    if m.lower is None or m.upper is None:
        inside = m.value >= gate.limit if gate.at_least is not None else m.value <= gate.limit
        return ("pass" if inside else "fail"), ""
    if not (m.lower <= m.value <= m.upper):  # also refuses NaN
        return "invalid", f"The {gate.interval} interval could not be computed ({m.lower} to {m.upper})."
    if gate.interval == "bootstrap" and not m.labels and m.lower == m.upper:
        return "inconclusive", "The bootstrap interval has no width: all scores are alike. Use interval = 'calibrated'."
    at_least = gate.at_least is not None
    if m.lower >= gate.limit if at_least else m.upper <= gate.limit:
        if gate.versus in ("baseline", "anchor") and m.lower > 0:
            return "pass, regressed", words.regressed(gate)
        return "pass", ""
    if not (m.upper < gate.limit if at_least else m.lower > gate.limit):
        return "inconclusive", words.settle(gate, m)
    if p_adjusted is not None and p_adjusted < 1.0 - gate.confidence:
        return "fail", ""
    return "inconclusive", (
        f"Beyond the limit by itself (p = {m.p:.2g}), not after correction for {family} gates (p = {p_adjusted:.2g}). "
        f"More personas, or fewer block gates in the file, would settle it."
    )


def verdict(
    d: Draft,
    p_adjusted: float | None,
    family: int,
    thresholds: Thresholds,
    mode: Mode,
    today: datetime.date,
    *,
    several: bool,
) -> Verdict:
    """The verdict of one draft. `several` models in the plan: sentences name theirs."""
    gate, m = d.gate, d.measured
    model, condition = (d.arm.model, d.arm.condition) if d.arm else ("", gate.condition)
    demonstration = d.arm is not None and d.arm.demonstration
    about = words.subject(gate.metric, gate.stratum, condition, model if several else "")
    outcome: Outcome
    if d.finding is not None or m is None:
        assert d.finding is not None
        outcome, reason = d.finding.outcome, d.finding.reason
    else:
        outcome, reason = _decide(gate, m, p_adjusted, family)
    if (
        m is not None
        and m.value is not None
        and outcome in ("pass", "pass, regressed", "fail", "inconclusive")
        and d.finding is None
    ):
        sentence = words.judged(about, gate, m, outcome)
        if d.parts is not None:
            sentence += words.parts(d.parts)
    else:
        sentence = words.unjudged(about, outcome)
    if demonstration:
        sentence = f"Demonstration model: {sentence}"
    waiver, waiver_text = _waiver(gate, today)
    blocks = gate.severity == "block" and (
        outcome == "invalid"
        or (
            waiver != "active"
            and (outcome == "fail" or (outcome == "inconclusive" and thresholds.inconclusive[mode] == "block"))
        )
    )
    return Verdict(
        gate=gate.id,
        metric=gate.metric,
        stratum=gate.stratum,
        model=model,
        condition=condition,
        outcome=outcome,
        severity=gate.severity,
        blocks=blocks,
        sentence=sentence,
        reason=reason,
        limit=gate.limit,
        direction=_direction(gate),
        value=m.value if m else None,
        lower=m.lower if m else None,
        upper=m.upper if m else None,
        confidence=gate.confidence,
        interval=_interval(gate, m),
        n=m.n if m else 0,
        planned=d.planned,
        missing=m.missing if m else 0,
        p=m.p if m else None,
        p_adjusted=p_adjusted,
        family=family,
        waiver=waiver,
        waiver_text=waiver_text,
        demonstration=demonstration,
        policy=thresholds.policy,
        thresholds=thresholds.label,
        versus=gate.versus,
        reference=d.source,
        no_increase=m.no_increase if m else None,
        effect=m.effect if m else None,
        flip_p=m.flip_p if m else None,
        labels=m.labels if m else 0,
        exposure_part=d.parts[0] if d.parts else None,
        response_part=d.parts[1] if d.parts else None,
    )


def _interval(gate: Gate, m: Measurement | None) -> str:
    if gate.metric in COUNTED:
        return "counted"
    if m is not None and m.labels:
        return "corrected"
    return "paired" if gate.versus or gate.metric in CHANGES else gate.interval


def _direction(gate: Gate) -> Direction:
    if gate.increase_at_most is not None:
        return "increase_at_most"
    if gate.decrease_at_most is not None:
        return "decrease_at_most"
    return "at_least" if gate.at_least is not None else "at_most"


def _waiver(gate: Gate, today: datetime.date) -> tuple[WaiverState, str]:
    if gate.waive is None:
        return "", ""
    w = gate.waive
    if w.active(today):
        return "active", f"Waived by {w.by} until {w.expires.isoformat()}: {w.reason}"
    return "expired", f"The waiver by {w.by} expired on {w.expires.isoformat()}: {w.reason}"
