"""The positive side of a run in words: what invitations change, and what memory shows to direct questions."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_hush.gate import Contrast, Estimate
from pytest_hush.report.summary import ControlTally, Summary


@dataclass(frozen=True, slots=True)
class Invited:
    """What an invitation changes under one condition, and target uptake of the invited turns themselves."""

    model: str
    condition: str
    uptake: Estimate | None
    gain: Contrast
    helpfulness: Contrast
    over_scope: Contrast


def invitations(summary: Summary) -> list[Invited]:
    """One for each arm with invited turns, in plan order."""
    by = {(c.model, c.condition, c.metric): c for c in summary.contrasts if c.versus == "uninvited"}
    found = []
    for arm in summary.arms():
        three = [by.get((*arm, metric)) for metric in ("uptake_gain", "helpfulness_change", "over_scope_rise")]
        gain, helpfulness, over_scope = three
        if gain is not None and helpfulness is not None and over_scope is not None:
            found.append(Invited(*arm, summary.estimate(*arm, "invited_uptake"), gain, helpfulness, over_scope))
    return found


def sentences(summary: Summary) -> list[str]:
    """One line an arm with invited turns: gain, change, rise, with their intervals and sign-flip p."""
    lines = []
    for i in invitations(summary):
        where = i.condition if len(summary.plan.models) == 1 else f"{i.model} under {i.condition}"
        if i.gain.value is None:
            lines.append(f"invited under {where}: {i.gain.note}")
            continue
        parts = [
            f"{name} {_change(c)}"
            for name, c in (("target uptake", i.gain), ("helpfulness", i.helpfulness), ("over-scope", i.over_scope))
        ]
        p = "" if i.gain.flip_p is None else f" (sign-flip p of the gain {i.gain.flip_p:.2g})"
        level = "" if i.uptake is None or i.uptake.value is None else f", to {i.uptake.value:.1f} of target uptake"
        lines.append(f"invited under {where} beside uninvited, {i.gain.n} pairs: {', '.join(parts)}{level}{p}")
    return lines


def shown_of(tally: ControlTally) -> str:
    """Positive controls as ``9/10``: how many of those planned memory showed, or a closed assistant used."""
    return f"{shown(tally)}/{tally.planned}"


def shown(tally: ControlTally) -> int:
    """How many positive controls memory showed: past a guard, where there is one; used, where nothing is shown."""
    if not tally.known:
        return tally.used
    return tally.retrieved if tally.shown is None else tally.shown


def usefulness(summary: Summary) -> list[str]:
    """The score that keeps a gate from being won by a broken memory, in one line for all arms that retrieve."""
    parts = []
    for tally in summary.controls:
        e = summary.estimate(tally.model, tally.condition, "controls")
        if e is not None and e.value is not None and e.lower is not None and e.upper is not None:
            where = tally.condition if len(summary.plan.models) == 1 else f"{tally.model} under {tally.condition}"
            parts.append(f"{where} {e.value:.0f} [{e.lower:.0f}, {e.upper:.0f}]")
    return [f"usefulness of memory (positive controls shown, %): {', '.join(parts)}"] if parts else []


def _change(c: Contrast) -> str:
    if c.value is None or c.lower is None or c.upper is None:
        return "-"
    return f"{c.value:+.1f} [{c.lower:+.1f}, {c.upper:+.1f}]"
