"""The page of a comparison: levels, differences and changes of two runs, with their cases side by side."""

from __future__ import annotations

from typing import Any

from pytest_hush.model import Pack
from pytest_hush.report import compare_text as words
from pytest_hush.report import redact
from pytest_hush.report.compare import TOP, Compared, Row
from pytest_hush.report.html.data import pack_cases
from pytest_hush.report.html.page import environment, policy, scripts, styles
from pytest_hush.report.html.svg import Axis, axis_of, interval_bar
from pytest_hush.store import revision_text

WORSE_WHEN_FALLING = frozenset({"helpfulness"})
NEITHER = frozenset({"exposure"})
"""Metrics that are no fault by themselves."""


def render_comparison(found: Compared, *, pack: Pack | None, redacted: str = "") -> str:
    """The whole page as HTML text; the same comparison gives the same bytes.

    `pack` gives the probes' texts; `redacted` says why no text is shown, or is empty.
    """
    css, script = styles(), scripts()
    records = redact.redacted(found.b.scores.records, redacted)
    texts = found.b.scores.texts and not redacted
    packed = pack_cases(records, pack=pack, reference=found.reference, texts=texts, sides=("A", "B"))
    values: dict[str, Any] = {
        "policy": policy(css, script),
        "css": css,
        "script": script,
        "found": found,
        "headline": headline(found),
        "sides": [_side(found, letter) for letter in "AB"],
        "instrument": [(k.replace("_", " "), str(v)) for k, v in found.b.scores.instrument.items() if v != ""],
        "changed": [{"arms": arms, "fields": fields} for arms, fields in words.changes(found)],
        "groups": _groups(found),
        "chance": words.CHANCE.capitalize(),
        "legend": words.LEGEND.format(confidence=found.confidence),
        "lists": [
            {"id": "worse", "title": "Worse in B", "cases": found.worse[:TOP], "more": len(found.worse) - TOP},
            {"id": "better", "title": "Better in B", "cases": found.better[:TOP], "more": len(found.better) - TOP},
        ],
        "texts": found.b.scores.texts,
        "worst": [],
        "silent": False,
        "redacted": redacted,
        "packed": packed,
    }
    return environment().get_template("compare.html.j2").render(values)


def headline(found: Compared) -> str:
    """The change of UIS, condition by condition."""
    parts = [
        f"{words.arm_name(found, r.model, r.condition)} {words.difference(r)}"
        for r in found.rows
        if r.metric == "uis" and r.condition != "none"
    ] or [
        f"{words.arm_name(found, r.model, r.condition)} {words.difference(r)}" for r in found.rows if r.metric == "uis"
    ]
    return f"UIS from A to B: {', '.join(parts)}" if parts else "No UIS was measured in both"


def _side(found: Compared, letter: str) -> dict[str, Any]:
    side = found.a if letter == "A" else found.b
    rows = [
        ("kind", side.kind),
        ("measured", words.when(side.measured)),
        ("commit", revision_text(side.revision)),
        ("plugin", side.plugin_version and f"pytest-hush {side.plugin_version}"),
        ("models", ", ".join(side.models)),
        ("conditions", ", ".join(side.conditions)),
        ("measured cases", f"{len(side.scores.records):,}"),
        ("plan", side.scores.plan_hash),
    ]
    return {"letter": letter, "source": side.source, "rows": [(k, v) for k, v in rows if v]}


def _groups(found: Compared) -> list[dict[str, Any]]:
    """One table a condition, each metric with its bar on one axis for all."""
    differences = [x for r in found.rows for x in _bounds(r)]
    axis = axis_of(differences, signed=True)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found.rows:
        groups.setdefault((row.model, row.condition), []).append(_row(row, axis))
    known = {(r.model, r.condition) for r in found.rows if r.difference.value is not None}
    still = known - {(r.model, r.condition) for r in found.rows if r.difference.value}
    return [
        {"name": words.arm_name(found, *arm), "axis": axis.label, "rows": rows, "number": n, "still": arm in still}
        for n, (arm, rows) in enumerate(groups.items())
    ]


def _row(row: Row, axis: Axis) -> dict[str, Any]:
    c = row.difference
    value, lower, upper = _bounds(row)
    bar = "" if value is None else interval_bar(axis, value, lower, upper, tone=tone(row))
    return {
        "metric": words.metric_name(row.metric),
        "a": words.level(row.a).partition(" "),
        "b": words.level(row.b).partition(" "),
        "change": words.difference(row).partition(" "),
        "bar": bar,
        "p": words.chance(row),
        "pairs": f"{c.n} of {c.planned}",
        "exposure": "–" if c.exposure_part is None else f"{c.exposure_part:+.1f}",
        "response": "–" if c.response_part is None else f"{c.response_part:+.1f}",
        "note": c.note,
    }


def _bounds(row: Row) -> tuple[float | None, float | None, float | None]:
    c = row.difference
    known = c.value is not None and c.note != "one persona"
    return c.value, c.lower if known else None, c.upper if known else None


def tone(row: Row) -> str:
    """``fail`` or ``pass`` where the interval leaves 0 out, '' else: colour beside numbers, never instead."""
    _, lower, upper = _bounds(row)
    if lower is None or upper is None or lower <= 0 <= upper or row.metric in NEITHER:
        return ""
    return "fail" if (lower > 0) is (row.metric not in WORSE_WHEN_FALLING) else "pass"
