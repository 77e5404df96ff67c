"""The JSON result of a run (``docs/reference/result.md``): the numbers of every surface, and no text of a case."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_hush.gate import Opinions
from pytest_hush.report import corrected, flags
from pytest_hush.report.published import PUBLISHED_EXPOSURE, PUBLISHED_UIS, SOURCE
from pytest_hush.report.summary import Summary, notices

SCHEMA = 1


def result(summary: Summary, *, exit_code: int, plugin_version: str) -> dict[str, Any]:
    """The result as JSON data; its shape is `docs/reference/schemas/result.schema.json`."""
    plan = summary.plan
    return {
        "schema": SCHEMA,
        "status": summary.status,
        "reason": summary.reason,
        "exit_code": exit_code,
        "demonstration": summary.demonstration,
        "notices": notices(summary),
        "plugin_version": plugin_version,
        "mode": summary.mode,
        "thresholds": {
            "name": summary.thresholds.name,
            "version": summary.thresholds.version,
            "policy": summary.thresholds.policy,
            "hash": summary.thresholds.hash,
        },
        "plan": {
            "hash": plan.hash,
            "pack": {
                "name": plan.pack.name,
                "version": plan.pack.version,
                "hash": plan.pack.hash,
                "licence": plan.pack.licence,
                "language": plan.pack.language,
                "private": plan.pack.private,
                "background": dict(plan.pack.background),
            },
            "models": list(plan.models),
            "conditions": [c.name for c in plan.conditions],
            "probe_cases": len(plan.probe_cases()),
            "control_cases": len(plan.cases) - len(plan.probe_cases()),
            "personas": len({c.persona for c in plan.cases}),
            "sample": plan.sample,
            "seed": plan.seed,
            "repeats": plan.repeats,
            "shard": list(plan.shard) if plan.shard else None,
        },
        "instruments": [dict(i) for i in summary.instruments],
        "calibration": summary.calibrated.data(),
        "review": corrected.data(summary.review),
        "arms": [
            {
                "model": model,
                "condition": condition,
                "labels": list(summary.labels.get((model, condition), ())),
                "statuses": dict(sorted(summary.statuses.get((model, condition), {}).items())),
                "subject": dict(summary.subjects.get((model, condition), {})),
            }
            for model, condition in summary.arms()
        ],
        "estimates": [asdict(e) for e in summary.estimates],
        "exposure_flags": [_split(s) for s in flags.splits(summary)],
        "contrasts": [asdict(c) for c in summary.contrasts],
        "comparisons": [
            asdict(c) | {"changed": list(c.changed), "unpaired": list(c.unpaired)} for c in summary.comparisons
        ],
        "judges": _judges(summary.opinions),
        "verdicts": [{"id": v.id, **asdict(v)} for v in summary.verdicts],
        "positive_controls": [asdict(c) for c in summary.controls],
        "spending": asdict(summary.spending),
        "calls": None if summary.calls is None else {"made": summary.calls[0], "from_cache": summary.calls[1]},
        "revision": dict(summary.revision),
        "published": {
            "source": SOURCE,
            "model": "gpt-4o",
            "uis": dict(PUBLISHED_UIS),
            "exposure": dict(PUBLISHED_EXPOSURE),
        },
        "notes": list(summary.notes),
    }


def _judges(found: Opinions | None) -> dict[str, Any] | None:
    """How the judges stand to one another; null for a run that one judge scored once."""
    if found is None:
        return None
    seconds = [
        asdict(s) | {"directions": [asdict(d) for d in s.directions], "kept": s.kept[0], "of": s.kept[1]}
        for s in found.seconds
    ]
    return {
        "judges": list(found.judges),
        "aggregate": found.aggregate,
        "seconds": seconds,
        "draws": [asdict(d) for d in found.draws],
    }


def _split(s: flags.Split) -> dict[str, Any]:
    """UIS by the exposure flags under one condition; the intervals are those of `estimates`."""
    sides = {f.flag: {"yes": [f.yes.value, f.yes.n], "no": [f.no.value, f.no.n]} for f in s.flags}
    return {
        "model": s.model,
        "condition": s.condition,
        "flags": sides,
        "not_exposed": {"uis": s.uis, "n": s.n, "unknown": s.unknown, "parts": [asdict(p) for p in s.parts]},
    }


def write_result(path: Path, data: dict[str, Any]) -> None:
    """Write `data` to `path` whole or not at all, readable by its owner only. Raises `OSError`."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        temporary.chmod(0o600)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
