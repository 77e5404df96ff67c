"""Calibrations made of pairs (label, judged), without a labelled set behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_hush.judges.agreement import agreement, roc
from pytest_hush.judges.calibration import (
    SCHEMA,
    SCORES,
    Calibration,
    FalsePositives,
    ItemScore,
    JudgeId,
    LabelsId,
    Limit,
)
from pytest_hush.judges.calibration_file import calibration_text

GOOD = [(0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (0.75, 0.75), (1.0, 1.0)] * 4
POOR = [(0.0, 0.5), (0.25, 0.75), (0.5, 0.0), (0.75, 0.0), (1.0, 0.5)] * 4


def calibration(
    judge: JudgeId,
    pairs: Sequence[tuple[float, float | None]] = GOOD,
    *,
    labels: str = "labels-test",
    part: Any = "held-out",
    partial: Limit | None = None,
    human: int = 0,
    made: str = "2026-06-01",
) -> Calibration:
    items = tuple(
        ItemScore(f"i{n}", label, judged, *([None if judged is None else 0.5] * 3))
        for n, (label, judged) in enumerate(pairs)
    )
    people = [f"p{n % 5}" for n in range(len(pairs))]
    scored = agreement([a for a, _ in pairs], [float("nan") if b is None else b for _, b in pairs], people)
    kinds = {"human": human, "model": len(pairs) - human}
    return Calibration(
        schema=SCHEMA,
        made=made,
        plugin_version="1",
        judge=judge,
        labels=LabelsId(labels, "1.0", "f" * 64, "en", part, {"starter": "e" * 64}),
        partial=partial,
        annotators={kind: n for kind, n in kinds.items() if n},  # type: ignore[misc]
        n=len(pairs),
        unreadable=sum(b is None for _, b in pairs),
        personas=5,
        scores=dict.fromkeys(SCORES, scored),
        ceiling=dict.fromkeys(SCORES, scored),
        bias={},
        roc={"above-0": roc([], []), "half": roc([], [])},
        false_positives=FalsePositives(0, None, None, 0),
        no_memory=FalsePositives(0, None, None, 0),
        items=items,
    )


def write(path: Path, made: Calibration) -> Path:
    path.write_text(calibration_text(made), encoding="utf-8")
    return path
