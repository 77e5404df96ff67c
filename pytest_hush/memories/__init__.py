"""Memory conditions: what the generator sees besides the probe, where it came from, and whether it works at all."""

from __future__ import annotations

from pytest_hush.memories.callable import wrap_memory
from pytest_hush.memories.exposure import exposure
from pytest_hush.memories.health import Readiness, control_retrieved, readiness
from pytest_hush.memories.provenance import Ledger
from pytest_hush.memories.registry import BUILT_IN, resolve_memory
from pytest_hush.memories.render import line, render

__all__ = [
    "BUILT_IN",
    "Ledger",
    "Readiness",
    "control_retrieved",
    "exposure",
    "line",
    "readiness",
    "render",
    "resolve_memory",
    "wrap_memory",
]
