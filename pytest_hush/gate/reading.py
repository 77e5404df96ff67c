"""Reading the runs to compare with, before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_hush.errors import StoreError, UsageError
from pytest_hush.gate.reference import Reference, reference
from pytest_hush.plan import Plan
from pytest_hush.store import load_scores
from pytest_hush.thresholds import Thresholds


def read_references(paths: Mapping[str, Path | None], thresholds: Thresholds, plan: Plan) -> dict[str, Reference]:
    """The runs to compare with, by role. Raises `UsageError` where one cannot be read, or a required one is absent."""
    found: dict[str, Reference] = {}
    for role, path in paths.items():
        if path is not None:
            try:
                scores = load_scores(path)
            except StoreError as error:
                raise UsageError(f"--hush-{role}: {error}") from None
            found[role] = reference(role, str(path), scores.records)  # type: ignore[arg-type]
    for gate in thresholds.gates:
        wanted = gate.versus in paths and gate.versus not in found and gate.baseline == "required"
        if wanted and any(gate.matches(c.name) for c in plan.conditions):
            raise UsageError(
                f"Thresholds {thresholds.label}, gate {gate.id!r}: it requires the {gate.versus}, and none was given. "
                f"Name one with --hush-{gate.versus}=PATH, or set baseline = 'optional' in the gate."
            )
    return found
