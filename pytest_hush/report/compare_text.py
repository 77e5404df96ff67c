"""Two runs side by side as lines of text, and as JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from pytest_hush.gate.words import NAMES
from pytest_hush.report.compare import TOP, Change, Compared, Row, Side
from pytest_hush.report.terminal import wrapped
from pytest_hush.store import revision_text
from pytest_hush.text import number_of

SCHEMA: Final = 1
LEGEND: Final = (
    "[lower, upper]: each bound one-sided at {confidence:.0%}. Two-sided p: sign-flip over personas, of no change "
    "between A and B in either direction. For UIS, over-scope and target uptake a rise is worse."
)
CHANCE: Final = "two-sided p"


def metric_name(metric: str) -> str:
    """How a metric is called in tables."""
    return NAMES.get(metric, metric)


def level(e: Mapping[str, Any] | None) -> str:
    """``14.2 [10.7, 22.3]``, or ``-``."""
    if e is None or e["value"] is None:
        return "-"
    bounds = f" [{e['lower']:.1f}, {e['upper']:.1f}]" if e["lower"] is not None and e["upper"] is not None else ""
    return f"{e['value']:.1f}{bounds}"


def difference(row: Row) -> str:
    """``+5.9 [+1.0, +9.9]``, or ``-``."""
    c = row.difference
    if c.value is None:
        return "-"
    if c.lower is None or c.upper is None or c.note == "one persona":
        return f"{c.value:+.1f}"
    return f"{c.value:+.1f} [{c.lower:+.1f}, {c.upper:+.1f}]"


def chance(row: Row) -> str:
    """The two-sided sign-flip p, or ``-``."""
    return "-" if row.p is None or row.difference.note == "one persona" else f"{row.p:.2g}"


def about(side: Side) -> str:
    """Where a side comes from, in one line."""
    parts = [
        side.kind,
        f"measured {when(side.measured)}" if side.measured else "",
        f"commit {found}" if (found := revision_text(side.revision)) else "",
        f"pytest-hush {side.plugin_version}" if side.plugin_version else "",
        f"{len(side.scores.records)} measured cases",
    ]
    return ", ".join(p for p in parts if p)


def when(moment: str) -> str:
    """``2026-11-30 10:22 UTC`` of an ISO 8601 moment; what is only a day stays one."""
    day, _, time = moment.partition("T")
    return f"{day} {time[:5]} UTC" if time else day


def instrument_line(found: Compared) -> str:
    """What measured both."""
    parts = (f"{k.replace('_', ' ')} {v}" for k, v in sorted(found.b.scores.instrument.items()) if v not in ("", None))
    return f"the same instrument: {', '.join(parts)}"


def changes(found: Compared) -> list[tuple[str, list[str]]]:
    """What changed in the subject: (conditions, fields) with the conditions joined that changed alike."""
    told: dict[tuple[str, ...], list[str]] = {}
    for c in found.beside:
        told.setdefault(c.changed, []).append(arm_name(found, c.model, c.condition))
    return [(", ".join(arms), list(fields)) for fields, arms in told.items()]


def arm_name(found: Compared, model: str, condition: str) -> str:
    """The condition, and the model where B has several."""
    return condition if len(found.b.models) == 1 else f"{model} under {condition}"


def render(found: Compared, *, width: int = 100) -> list[str]:
    """The comparison in lines of at most `width` cells (80 at least)."""
    width = max(80, width)
    lines = []
    for side in (found.a, found.b):
        lines += wrapped(f"{side.letter}  {side.source}: {about(side)}", width)
    lines += wrapped(instrument_line(found), width)
    for arms, fields in changes(found):
        lines += wrapped(f"changed under {arms}: {'; '.join(fields) or 'nothing in the recorded subject'}", width)
    for note in found.notes:
        lines += wrapped(note, width)
    for condition, rows in _grouped(found.rows):
        lines += ["", *wrapped(arm_name(found, *condition), width), *_table(rows, width)]
    lines.append("")
    lines += wrapped(_counted(found), width)
    for title, cases in (("worse", found.worse), ("better", found.better)):
        if cases:
            lines += ["", f"{title}, the largest change first:"]
            lines += [line for c in cases[:TOP] for line in wrapped(f"  {case_line(c)}", width)]
            lines += [f"  and {len(cases) - TOP} more"] if len(cases) > TOP else []
    lines.append("")
    lines += wrapped(LEGEND.format(confidence=found.confidence), width)
    return lines


def case_line(c: Change) -> str:
    """``+0.75: 0.00 then, 0.75 now: ID (exposed: no then, yes now)``."""
    exposed = "" if c.exact_a == c.exact_b else f" (exposed: {_flag(c.exact_a)} then, {_flag(c.exact_b)} now)"
    return f"{c.change:+.2f}: {c.v_a:.2f} then, {c.v_b:.2f} now: {c.id}{exposed}"


def _flag(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _counted(found: Compared) -> str:
    text = f"{number_of(len(found.worse), 'case')} worse in B, {len(found.better)} better, {found.same} the same"
    lone = [f"{n} only in {side}" for n, side in ((found.only_a, "A"), (found.only_b, "B")) if n]
    return f"{text}{'; ' + ', '.join(lone) if lone else ''}."


def _grouped(rows: Sequence[Row]) -> Iterable[tuple[tuple[str, str], list[Row]]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.model, row.condition), []).append(row)
    return found.items()


def _table(rows: Sequence[Row], width: int) -> list[str]:
    head = ("", "A", "B", "B - A", CHANCE, "pairs")
    cells = [
        (
            metric_name(r.metric),
            level(r.a),
            level(r.b),
            difference(r),
            chance(r),
            f"{r.difference.n}/{r.difference.planned}",
        )
        for r in rows
    ]
    widths = [max(len(x) for x in column) for column in zip(head, *cells, strict=True)]
    if sum(widths) + 2 * len(widths) <= width:
        return [_row(line, widths) for line in (head, *cells)]
    return [
        line
        for name, a, b, change, p, pairs in cells
        for line in (f"  {name}: {change} ({CHANCE} {p}, pairs {pairs})", f"    A {a}   B {b}")
    ]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(cells, widths, strict=True))
    )
    return f"  {'  '.join([first, *rest])}".rstrip()


def data(found: Compared) -> dict[str, Any]:
    """The comparison as JSON data; no text of a case."""
    return {
        "schema": SCHEMA,
        "kind": "pytest-hush comparison",
        "confidence": found.confidence,
        "instrument": dict(found.b.scores.instrument),
        "sides": [
            {
                "letter": side.letter,
                "source": side.source,
                "kind": side.kind,
                "measured": side.measured,
                "revision": dict(side.revision),
                "plugin_version": side.plugin_version,
                "plan_hash": side.scores.plan_hash,
                "cases": len(side.scores.records),
            }
            for side in (found.a, found.b)
        ],
        "notes": list(found.notes),
        "changed": [
            {"model": c.model, "condition": c.condition, "other_model": c.other_model, "fields": list(c.changed)}
            for c in found.beside
        ],
        "rows": [
            {
                "model": r.model,
                "condition": r.condition,
                "other_model": r.other_model,
                "metric": r.metric,
                "a": None if r.a is None else dict(r.a),
                "b": None if r.b is None else dict(r.b),
                "difference": asdict(r.difference),
                "p_two_sided": r.p,
            }
            for r in found.rows
        ],
        "cases": {
            "worse": [asdict(c) for c in found.worse],
            "better": [asdict(c) for c in found.better],
            "same": found.same,
            "only_a": found.only_a,
            "only_b": found.only_b,
        },
    }
