"""What the templates print, as plain values: rows in the order of the page, numbers as text, bars as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_hush.gate import Contrast, Estimate
from pytest_hush.gate.words import NAMES
from pytest_hush.model import CATEGORIES, FAMILIES, STRENGTHS
from pytest_hush.report import asked, flags
from pytest_hush.report.html.svg import Axis, axis_of, interval_bar, stacked_bar
from pytest_hush.report.published import PUBLISHED_EXPOSURE, PUBLISHED_UIS
from pytest_hush.report.summary import RunStatus, Summary
from pytest_hush.report.wording import left_open

Row = dict[str, Any]
TONE: Final[Mapping[RunStatus, str]] = {
    "passed": "pass",
    "undecided": "none",
    "failed": "fail",
    "invalid": "fail",
    "inconclusive": "fail",
    "skipped": "none",
    "stopped": "none",
    "error": "fail",
}
_STRATA: Final = (("family", FAMILIES), ("strength", STRENGTHS), ("category", CATEGORIES), ("persona", ()))


def tone(summary: Summary) -> str:
    """The colour of the run's word."""
    return "warn" if left_open(summary) else TONE[summary.status]


def plain(name: str) -> str:
    """``attitude_reversal`` as ``attitude reversal``."""
    return name.replace("_", " ")


def number(value: float | None, digits: int = 1) -> str:
    """A number with its digits, ``–`` for none."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign, ``–`` for none."""
    return "–" if value is None else f"{value:+.{digits}f}"


def arm_name(summary: Summary, model: str, condition: str) -> str:
    """The condition, as measured, and the model where the plan has several."""
    shown = ", ".join(summary.labels.get((model, condition), ())) or condition
    return shown if len(summary.plan.models) == 1 or not model else f"{shown} · {model}"


def conditions(summary: Summary) -> tuple[Axis, list[Row]]:
    """One row an arm: UIS with its interval and bar, the published figure, and the scores beside it."""
    own = [summary.estimate(*arm, "uis") for arm in summary.arms()]
    known: list[float | None] = [PUBLISHED_UIS[c.name] for c in summary.plan.conditions if c.name in PUBLISHED_UIS]
    axis = axis_of([x for e in own if e for x in (e.value, e.upper)] + known, most=100.0)
    tallies = {(t.model, t.condition): t for t in summary.controls}
    rows = []
    for arm, uis in zip(summary.arms(), own, strict=True):
        published = PUBLISHED_UIS.get(arm[1])
        statuses = summary.statuses.get(arm, {})
        tally = tallies.get(arm)
        planned = uis.planned if uis else 0
        rows.append(
            {
                "name": arm_name(summary, *arm),
                "cases": f"{uis.n if uis else 0} of {planned}",
                "lost": ", ".join(f"{n} {s}" for s, n in sorted(statuses.items()) if s != "ok"),
                "uis": bounds(uis),
                "bar": bar_of(axis, uis, published=published),
                "published": number(published),
                "published_exposure": PUBLISHED_EXPOSURE.get(arm[1]),
                "sensitive": bounds(summary.estimate(*arm, "uis_sensitive")),
                "exposure": bounds(summary.estimate(*arm, "exposure"), 0),
                "uptake": bounds(summary.estimate(*arm, "target_uptake")),
                "scope": bounds(summary.estimate(*arm, "over_scope")),
                "help": bounds(summary.estimate(*arm, "helpfulness")),
                "controls": (
                    (f"{asked.shown(tally)} of {tally.planned}", bounds(summary.estimate(*arm, "controls"), 0)[1])
                    if tally
                    else ("–", "")
                ),
                "note": uis.note if uis else "",
            }
        )
    return axis, rows


def interval(e: Estimate | Contrast | None, digits: int = 1, *, sign: bool = False) -> str:
    """``14.2 [10.7, 22.3]``, or ``–``."""
    if e is None or e.value is None:
        return "–"
    show = signed if sign else number
    if e.lower is None or e.upper is None:
        return show(e.value, digits)
    return f"{show(e.value, digits)} [{show(e.lower, digits)}, {show(e.upper, digits)}]"


def bounds(e: Estimate | Contrast | None, digits: int = 1, *, sign: bool = False) -> tuple[str, str]:
    """The value and its interval in brackets, apart: in a narrow column one stands below the other."""
    value, _, rest = interval(e, digits, sign=sign).partition(" ")
    return value, rest


def bar_of(axis: Axis, e: Estimate | Contrast | None, *, published: float | None = None) -> Any:
    """The bar of an estimate; '' where it has none."""
    if e is None or e.value is None:
        return ""
    return interval_bar(axis, e.value, e.lower, e.upper, published=published)


def decomposition(summary: Summary) -> tuple[Axis, list[Row]]:
    """UIS = π·UIS(E=1) + (1 − π)·UIS(E=0) by arm; arms whose exposure is unknown or that show nothing are left out."""
    found = []
    for arm in summary.arms():
        exposed, other = (summary.estimate(*arm, "uis", s) for s in ("exposed", "not-exposed"))
        if arm[1] == "none" or exposed is None or other is None or not (exposed.n or other.n):
            continue
        total = exposed.n + other.n
        parts = [(e.value or 0.0) * e.n / total for e in (exposed, other)]
        found.append((arm, exposed, other, total, parts))
    axis = axis_of([sum(p) for *_, p in found], most=100.0)
    return axis, [
        {
            "name": arm_name(summary, *arm),
            "share": f"{number(100 * exposed.n / total, 0)} %",
            "exposed": f"{interval(exposed)} in {exposed.n}" if exposed.n else "no case",
            "other": f"{interval(other)} in {other.n}" if other.n else "no case",
            "parts": f"{number(parts[0])} + {number(parts[1])} = {number(sum(parts))}",
            "bar": stacked_bar(axis, [(parts[0], "exposed"), (parts[1], "other")]),
        }
        for arm, exposed, other, total, parts in found
    ]


def invitations(summary: Summary) -> list[Row]:
    """What an invitation changes, one row an arm."""
    return [
        {
            "name": arm_name(summary, i.model, i.condition),
            "pairs": f"{i.gain.n} of {i.gain.planned}",
            "uptake": bounds(i.uptake),
            "gain": bounds(i.gain, sign=True),
            "help": bounds(i.helpfulness, sign=True),
            "scope": bounds(i.over_scope, sign=True),
            "p": "–" if i.gain.flip_p is None else f"{i.gain.flip_p:.2g}",
        }
        for i in asked.invitations(summary)
    ]


def exposure_flags(summary: Summary) -> list[Row]:
    """UIS by each exposure flag, and what the cases that are not exposed are made of, one row an arm that used any."""
    rows = []
    for s in flags.splits(summary):
        if not s.uis and not any(f.yes.value for f in s.flags):
            continue  # silent throughout: there is nothing to take apart
        sides = {f.flag: [f"{interval(e)} in {e.n}" if e.n else "no case" for e in (f.yes, f.no)] for f in s.flags}
        parts = [
            {
                "name": p.name,
                "uis": number(p.uis),
                "n": p.n,
                "points": number(p.points),
                "beyond": flags.share_text(p.beyond, ""),
            }
            for p in s.parts
        ]
        name = arm_name(summary, s.model, s.condition)
        rows.append({"name": name, "flags": sides, "parts": parts, "uis": number(s.uis), "n": s.n})
    return rows


def strata(summary: Summary) -> list[Row]:
    """UIS by family, lure strength, category and persona: one table a kind, one column an arm."""
    arms = [a for a in summary.arms() if a[1] != "none"]
    by_key = {(e.model, e.condition, e.stratum): e for e in summary.estimates if e.metric == "uis"}
    tables = []
    for kind, names in _STRATA:
        known = [e.stratum.partition("=")[2] for e in summary.estimates if e.stratum.startswith(f"{kind}=")]
        chosen = [n for n in (names or sorted(set(known))) if n in known]
        rows = []
        for name in chosen:
            values = [by_key.get((*arm, f"{kind}={name}")) for arm in arms]
            n = max((e.n for e in values if e), default=0)
            rows.append({"name": plain(name), "values": [interval(e) for e in values], "n": n})
        if rows:
            tables.append({"kind": kind, "head": [arm_name(summary, *a) for a in arms], "rows": rows})
    return tables


def against_none(summary: Summary) -> tuple[Axis, list[Row]]:
    """UIS beside the matched no-memory reference, one row an arm."""
    return _contrast_rows(summary, [c for c in summary.contrasts if c.versus == "none" and c.metric == "uis"])


def _contrast_rows(summary: Summary, own: Sequence[Contrast]) -> tuple[Axis, list[Row]]:
    axis = axis_of([x for c in own for x in (c.value, c.lower, c.upper)], signed=True)
    return axis, [
        {
            "name": arm_name(summary, c.model, c.condition),
            "metric": NAMES.get(c.metric, c.metric),
            "change": interval(c, sign=True),
            "bar": bar_of(axis, c),
            "still": "–" if c.no_increase is None else f"{c.no_increase:.0f} %",
            "p": "–" if c.flip_p is None else f"{c.flip_p:.2g}",
            "effect": signed(c.effect),
            "pairs": f"{c.n} of {c.planned}",
            "exposure": signed(c.exposure_part),
            "response": signed(c.response_part),
            "note": c.note,
        }
        for c in own
    ]


def runs_beside(summary: Summary) -> list[Row]:
    """Each other run: the differences of every metric, what changed, what has no twin, what was refused."""
    found: list[Row] = []
    for role in dict.fromkeys(c.role for c in summary.comparisons):
        own = [c for c in summary.comparisons if c.role == role]
        axis, rows = _contrast_rows(summary, [c for c in summary.contrasts if c.versus == role])
        changed: dict[tuple[str, ...], list[str]] = {}
        for c in own:
            if not c.refused:
                changed.setdefault(c.changed, []).append(arm_name(summary, c.model, c.condition))
        found.append(
            {
                "role": role,
                "source": own[0].source,
                "axis": axis,
                "rows": [r for r in rows if r["metric"] == "UIS"],
                "others": [r for r in rows if r["metric"] != "UIS"],
                "changed": [{"arms": ", ".join(arms), "what": list(what)} for what, arms in changed.items()],
                "unpaired": [
                    {
                        "arm": arm_name(summary, c.model, c.condition),
                        "count": len(c.unpaired),
                        "some": ", ".join(c.unpaired[:8]),
                    }
                    for c in own
                    if c.unpaired and not c.refused
                ],
                "refused": [
                    {"arm": arm_name(summary, c.model, c.condition), "why": c.refused} for c in own if c.refused
                ],
            }
        )
    return found
