"""Threshold files: versioned TOML that says which numbers a release must keep (``docs/reference/thresholds.md``)."""

from pytest_hush.thresholds.load import load_thresholds, parse_thresholds
from pytest_hush.thresholds.types import (
    COUNTED,
    Gate,
    Health,
    IntervalKind,
    Metric,
    Mode,
    Multiplicity,
    Severity,
    Thresholds,
    Versus,
    Waiver,
)

__all__ = [
    "COUNTED",
    "Gate",
    "Health",
    "IntervalKind",
    "Metric",
    "Mode",
    "Multiplicity",
    "Severity",
    "Thresholds",
    "Versus",
    "Waiver",
    "load_thresholds",
    "parse_thresholds",
]
