"""Verdicts and waivers as the templates print them: one row each, with a bar of its own axis."""

from __future__ import annotations

from typing import Final

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


FOLDED: Final = 6
"""Passed gates that stand open in a wide page; more are folded, and in a narrow page all are."""


def gates(summary: Summary) -> tuple[list[Row], list[Row]]:
    """Every verdict with a bar of its own axis, the most urgent first: those that did not pass, and those that did."""
    rows = [_gate(v, summary) for v in by_urgency(summary.verdicts)]
    return [r for r in rows if r["outcome"] != "pass"], [r for r in rows if r["outcome"] == "pass"]


def _gate(v: Verdict, summary: Summary) -> Row:
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
        "about": _about(v, summary),
    }


def _about(v: Verdict, summary: Summary) -> str:
    parts = [f"{v.n} of {v.planned} cases" + (f", {v.missing} missing" if v.missing else "")]
    parts.append(_severity(v, summary))
    if v.look:
        parts.append(f"look {v.look} of 2")
    if v.labels:
        parts.append(f"corrected by {v.labels} readers' labels, not the judge alone")
    elif v.interval:
        parts.append(f"interval {v.interval}")
    # Of a gate that passed, or whose value is on the right side, p would only say that nothing failed.
    if v.p is not None and v.p < 1 and v.outcome != "pass":
        corrected = v.severity == "block" and v.p_adjusted is not None
        parts.append(f"p {v.p:.2g}" + (f", {v.p_adjusted:.2g} corrected for {v.family} gates" if corrected else ""))
    return " · ".join(parts)


def _severity(v: Verdict, summary: Summary) -> str:
    """What the gate does to the run, where its word alone would leave that open."""
    if v.severity == "warn":
        return "a gate that only warns"
    if v.waiver == "active" and not v.blocks:
        return "a gate that blocks, waived here"
    if v.outcome != "inconclusive" or v.blocks:
        return "a gate that blocks"
    modes = [mode for mode, what in summary.thresholds.inconclusive.items() if what == "block"]
    also = f"where it fails, or is inconclusive in {' or '.join(modes)} mode" if modes else "only where it fails"
    return f"a gate that blocks {also}; this is {summary.mode} mode"


def waivers(summary: Summary) -> list[Row]:
    """Each waiver once, with the gates that it stands on; expired ones too, since they lift nothing."""
    found: dict[tuple[str, str], list[str]] = {}
    for v in summary.verdicts:
        if v.waiver:
            found.setdefault((v.waiver, v.waiver_text), []).append(v.gate)
    return [{"state": s, "text": t, "gates": list(dict.fromkeys(g))} for (s, t), g in found.items()]
