"""Gate releases of assistants with long-term memory: does memory stay silent when nobody asked?

The public names are below; they load on first use, so that importing the package costs the standard library
only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_hush.errors import (
        FatalModelError,
        HushError,
        LabelError,
        MemoryStoreError,
        MissingExtraError,
        ModelError,
        PackError,
        RefusedCallError,
        ThresholdError,
        TransientError,
        UnreadableJudgement,
        UsageError,
    )
    from pytest_hush.gate import Estimate, Verdict
    from pytest_hush.model import (
        Case,
        Condition,
        Context,
        Disclosure,
        Entry,
        Exposure,
        History,
        Judgement,
        JudgeView,
        Message,
        Pack,
        Persona,
        Probe,
        Prompt,
        Record,
        Reply,
        Session,
        Turn,
        Usage,
    )
    from pytest_hush.packs import load_pack
    from pytest_hush.plan import Plan
    from pytest_hush.protocols import Assistant, Embedder, Judge, Memory, Model
    from pytest_hush.thresholds import Gate, Thresholds, load_thresholds
    from pytest_hush.version import __version__

_HOME = {
    "errors": (
        "FatalModelError",
        "HushError",
        "LabelError",
        "MemoryStoreError",
        "MissingExtraError",
        "ModelError",
        "PackError",
        "RefusedCallError",
        "ThresholdError",
        "TransientError",
        "UnreadableJudgement",
        "UsageError",
    ),
    "gate": ("Estimate", "Verdict"),
    "model": (
        "Case",
        "Condition",
        "Context",
        "Disclosure",
        "Entry",
        "Exposure",
        "History",
        "Judgement",
        "JudgeView",
        "Message",
        "Pack",
        "Persona",
        "Probe",
        "Prompt",
        "Record",
        "Reply",
        "Session",
        "Turn",
        "Usage",
    ),
    "packs": ("load_pack",),
    "plan": ("Plan",),
    "protocols": ("Assistant", "Embedder", "Judge", "Memory", "Model"),
    "thresholds": ("Gate", "Thresholds", "load_thresholds"),
    "version": ("__version__",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Assistant",
    "Case",
    "Condition",
    "Context",
    "Disclosure",
    "Embedder",
    "Entry",
    "Estimate",
    "Exposure",
    "FatalModelError",
    "Gate",
    "History",
    "HushError",
    "Judge",
    "JudgeView",
    "Judgement",
    "LabelError",
    "Memory",
    "MemoryStoreError",
    "Message",
    "MissingExtraError",
    "Model",
    "ModelError",
    "Pack",
    "PackError",
    "Persona",
    "Plan",
    "Probe",
    "Prompt",
    "Record",
    "RefusedCallError",
    "Reply",
    "Session",
    "ThresholdError",
    "Thresholds",
    "TransientError",
    "Turn",
    "UnreadableJudgement",
    "Usage",
    "UsageError",
    "Verdict",
    "__version__",
    "load_pack",
    "load_thresholds",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'pytest_hush' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"pytest_hush.{module}"), name)


def __dir__() -> list[str]:
    return list(__all__)
