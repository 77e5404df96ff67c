"""What was measured, with what, by what: the table that makes a figure traceable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_hush.gate.fits import Fit
from pytest_hush.report.summary import Summary
from pytest_hush.store import revision_text


def provenance(summary: Summary, *, plugin_version: str, started: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Tables of (name, value) with a title each; a field that nobody set is left out."""
    plan, pack, t = summary.plan, summary.plan.pack, summary.thresholds
    background = ", ".join(f"{k} {v}" for k, v in sorted(pack.background.items()))
    run = [
        ("status", summary.status),
        ("started", started),
        ("commit", revision_text(summary.revision)),
        ("plugin", f"pytest-hush {plugin_version}"),
        ("mode", summary.mode),
        ("plan", plan.hash),
        ("cases", f"{len(plan.probe_cases())} probes and {len(plan.cases) - len(plan.probe_cases())} controls"),
        ("sample", "all probes" if plan.sample is None else str(plan.sample)),
        ("seed", str(plan.seed)),
        ("repeats", str(plan.repeats)),
        ("run folder", summary.run_folder),
    ]
    data = [
        ("pack", f"{pack.name} {pack.version}"),
        ("pack hash", pack.hash),
        ("licence", pack.licence),
        ("language", pack.language),
        ("private", "yes" if pack.private else "no"),
        ("background", background),
        ("thresholds", f"{t.name} {t.version}"),
        ("thresholds hash", t.hash),
        ("policy", t.policy),
        ("multiplicity", t.multiplicity),
    ]
    tables = [("Run", run), ("Pack and gates", data)]
    for number, instrument in enumerate(summary.instruments, start=1):
        title = "Instrument" if len(summary.instruments) == 1 else f"Instrument {number}"
        tables.append((title, [(k.replace("_", " "), _text(v)) for k, v in instrument.items()]))
    for fit in summary.calibrated.fits:
        tables.append((f"Calibration of {fit.judge}", _calibration(fit)))
    for model, condition in summary.arms():
        subject = summary.subjects.get((model, condition), {})
        tables.append((f"Under test: {model} · {condition}", _flat(subject)))
    return [(title, kept) for title, rows in tables if (kept := [(k, v) for k, v in rows if v])]


def _calibration(fit: Fit) -> list[tuple[str, str]]:
    alpha = "not defined" if fit.alpha is None else f"{fit.alpha:.3f}"
    bounds = "" if fit.lower is None or fit.upper is None else f" [{fit.lower:.3f}, {fit.upper:.3f}]"
    return [
        ("alpha of v", f"{alpha}{bounds}"),
        ("labels", f"{fit.labels} {fit.labels_version}, {fit.part}"),
        ("labels hash", fit.labels_hash),
        ("calibrated against", fit.readers),
        ("replies", f"{fit.n}, {fit.unreadable} unreadable"),
        ("made", fit.made),
        ("file", fit.source),
    ]


def _flat(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for key, inner in value.items():
        name = f"{prefix}{key.replace('_', ' ')}"
        found += _flat(inner, f"{name} · ") if isinstance(inner, Mapping) and inner else [(name, _text(inner))]
    return found


def _text(value: Any) -> str:
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
