"""Verdicts and waivers as the templates print them: one row each, with a bar of its own axis."""

from __future__ import annotations

from pytest_hush.gate import Verdict
from pytest_hush.gate.words import UNITS
from pytest_hush.report.html.svg import axis_of, interval_bar
from pytest_hush.report.html.view import Row, number
from pytest_hush.report.summary import Summary
from pytest_hush.report.wording import by_urgency, detail, mark, sentence
from pytest_hush.thresholds import CHANGES


def tone(v: Verdict) -> str:
    """The colour of a verdict; its word says the same."""
    if v.outcome == "pass":
        return "pass"
    if v.outcome == "skipped":
        return "none"
    return "fail" if v.blocks else "warn"


def gates(summary: Summary) -> list[Row]:
    """Every verdict, the most urgent first, with a bar of its own axis."""
    return [_gate(v) for v in by_urgency(summary.verdicts)]


def _gate(v: Verdict) -> Row:
    unit = UNITS.get(v.metric, "" if v.versus else " points")
    bar, axis = None, None
    if v.value is not None:
        values = [v.value, v.lower, v.upper, v.limit]
        points = v.metric not in ("cost_usd", "latency_s")
        signed_axis = bool(v.versus) or v.metric in CHANGES
        axis = axis_of(values, signed=signed_axis, most=100.0 if points else None)
        falls = v.direction == "at_least"
        bar = interval_bar(axis, v.value, v.lower, v.upper, limit=v.limit, at_least=falls, tone=tone(v))
    wanted = {
        "at_most": "at most",
        "at_least": "at least",
        "increase_at_most": "increase at most",
        "decrease_at_most": "decrease at most",
    }[v.direction]
    return {
        "id": v.id,
        "outcome": v.outcome,
        "mark": mark(v),
        "tone": tone(v),
        "blocks": v.blocks,
        "sentence": sentence(v),
        "detail": detail(v),
        "bar": bar,
        "axis": axis.label if axis else "",
        # Bounds on a decrease are of the decrease: without the word its sign would read the wrong way round.
        "value": ("decrease " if v.direction == "decrease_at_most" else "") + number(v.value) + unit,
        "interval": f"{number(v.lower)} to {number(v.upper)}" if v.lower is not None else "",
        "confidence": f"{100 * v.confidence:g} %",
        "limit": f"{wanted} {v.limit:g}{unit}",
        "about": _about(v),
    }


def _about(v: Verdict) -> str:
    parts = [f"{v.n} of {v.planned} cases" + (f", {v.missing} missing" if v.missing else "")]
    parts.append("gate warns only" if v.severity == "warn" else "gate blocks")
    if v.look:
        parts.append(f"look {v.look} of 2")
    if v.interval:
        parts.append(f"interval {v.interval}")
    if v.p is not None:
        corrected = v.severity == "block" and v.p_adjusted is not None
        parts.append(f"p {v.p:.2g}" + (f", {v.p_adjusted:.2g} corrected for {v.family} gates" if corrected else ""))
    return " · ".join(parts)


def waivers(summary: Summary) -> list[Row]:
    """Each waiver once, with the gates that it stands on; expired ones too, since they lift nothing."""
    found: dict[tuple[str, str], list[str]] = {}
    for v in summary.verdicts:
        if v.waiver:
            found.setdefault((v.waiver, v.waiver_text), []).append(v.gate)
    return [{"state": s, "text": t, "gates": list(dict.fromkeys(g))} for (s, t), g in found.items()]
