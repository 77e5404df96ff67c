"""Threshold files: versioned TOML that says which numbers a release must keep (``docs/reference/thresholds.md``)."""

from pytest_hush.thresholds.load import load_thresholds, parse_thresholds
from pytest_hush.thresholds.types import (
    CHANGES,
    CONTROLS,
    COUNTED,
    INVITED,
    Aggregate,
    Annotators,
    Gate,
    Health,
    IntervalKind,
    JudgeRules,
    Metric,
    Mode,
    Multiplicity,
    Severity,
    Thresholds,
    Versus,
    Waiver,
)

__all__ = [
    "CHANGES",
    "CONTROLS",
    "COUNTED",
    "INVITED",
    "Aggregate",
    "Annotators",
    "Gate",
    "Health",
    "IntervalKind",
    "JudgeRules",
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
