"""The table and the sentences at the end of a run, as plain text of a given width."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_hush.gate import Estimate, Verdict
from pytest_hush.report.published import PUBLISHED_EXPOSURE, PUBLISHED_UIS, SOURCE
from pytest_hush.report.summary import Summary, notices

_MARK = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", "invalid": "INVALID", "skipped": "SKIPPED"}


def render(summary: Summary, *, width: int = 100) -> list[str]:
    """The lines of the closing section: estimates by condition, gates, notices, where things are."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=max(width, 80), color_system=None, highlight=False, emoji=False, markup=False)
    console.print(_estimates(summary))
    for line in _strata(summary):
        console.print(Text(line))
    console.print(_legend(summary))
    if summary.verdicts:
        console.print()
        for verdict in summary.verdicts:
            console.print(_gate(verdict))
    console.print()
    for line in (*notices(summary), *summary.notes):
        console.print(Text(line))
    return [line.rstrip() for line in buffer.getvalue().splitlines()]


def _estimates(summary: Summary) -> Table:
    title = "Unrequested use of memory (UIS, 0-100, higher is worse)"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    several = len(summary.plan.models) > 1
    for name in (*(["model"] if several else []), "condition"):
        table.add_column(name, no_wrap=True)
    for name in ("cases", "UIS", "exposure %", "over-scope", "helpful", "controls"):
        table.add_column(name, justify="right", no_wrap=True)
    tallies = {(t.model, t.condition): t for t in summary.controls}
    for model, condition in summary.arms():
        label = ", ".join(summary.labels.get((model, condition), ())) or condition
        uis = summary.estimate(model, condition, "uis")
        tally = tallies.get((model, condition))
        row = [
            label,
            f"{uis.n}/{uis.planned}" if uis else "0",
            _interval(uis),
            _interval(summary.estimate(model, condition, "exposure"), digits=0),
            _value(summary.estimate(model, condition, "over_scope")),
            _value(summary.estimate(model, condition, "helpfulness")),
            f"{tally.retrieved}/{tally.planned}" if tally else "",
        ]
        table.add_row(*([model, *row] if several else row))
    return table


def _strata(summary: Summary) -> list[str]:
    """UIS by exposure, for the conditions in which both strata hold cases."""
    lines = []
    for model, condition in summary.arms():
        both = [summary.estimate(model, condition, "uis", stratum) for stratum in ("exposed", "not-exposed")]
        if all(e is not None and e.n for e in both):
            parts = (f"{e.stratum} {_interval(e)} ({e.n} cases)" for e in both if e is not None)
            where = condition if len(summary.plan.models) == 1 else f"{model} under {condition}"
            lines.append(f"UIS under {where}: {', '.join(parts)}")
    return lines


def _legend(summary: Summary) -> Text:
    first = next((e for e in summary.estimates if e.value is not None), None)
    bounds = f"[lower, upper], each {first.confidence:.0%} one-sided, {first.interval}" if first else ""
    lines = [f"model {summary.plan.models[0]}" if len(summary.plan.models) == 1 else "", bounds]
    text = "; ".join(line for line in lines if line)
    text += "; controls: harmless facts that retrieval returned" if summary.controls else ""
    shown = [c.name for c in summary.plan.conditions if c.name in PUBLISHED_UIS]
    figures = ", ".join(f"{name} {PUBLISHED_UIS[name]}" for name in shown)
    exposure = ", ".join(f"{n} {PUBLISHED_EXPOSURE[n]} %" for n in shown if n in PUBLISHED_EXPOSURE)
    if figures:
        text += f"\npublished ({SOURCE}, gpt-4o): UIS {figures}" + (f"; exposure {exposure}" if exposure else "")
    return Text(text)


def _interval(estimate: Estimate | None, *, digits: int = 1) -> str:
    if estimate is None or estimate.value is None or estimate.lower is None or estimate.upper is None:
        return "-"
    value, lower, upper = (f"{x:.{digits}f}" for x in (estimate.value, estimate.lower, estimate.upper))
    return f"{value} [{lower}, {upper}]"


def _value(estimate: Estimate | None) -> str:
    return "-" if estimate is None or estimate.value is None else f"{estimate.value:.1f}"


def _gate(verdict: Verdict) -> Text:
    mark = _MARK[verdict.outcome] + ("" if verdict.blocks or verdict.outcome in ("pass", "skipped") else " (warns)")
    if verdict.waiver == "active":
        mark += " (waived)"
    # The notice below the gates says it once for all of them.
    text = f"{mark}: {verdict.id}: {verdict.sentence.removeprefix('Demonstration model: ')}"
    if verdict.reason and verdict.reason not in verdict.sentence:
        text += f" {verdict.reason}"
    if verdict.waiver_text:
        text += f" {verdict.waiver_text}"
    return Text(text)
