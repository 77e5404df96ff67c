"""The vocabulary of the protocol: frozen values that every floor shares. No I/O, no third-party import.

Source of the terms: HUSH-Bench (arXiv 2606.06055) and ``docs/reference/protocol.md``.
"""

from __future__ import annotations

from pytest_hush.model.case import (
    BOUNDARY,
    NONE,
    Case,
    Condition,
    Context,
    Entry,
    Exposure,
    Message,
    Prompt,
    Reply,
    Usage,
)
from pytest_hush.model.judging import (
    DigestFact,
    Judgement,
    JudgeView,
)
from pytest_hush.model.names import (
    CATEGORIES,
    DEMONSTRATION_MODELS,
    FAMILIES,
    MEASURED,
    STRENGTHS,
    CaseKind,
    Category,
    ControlKind,
    FactKind,
    Family,
    Role,
    Status,
    Strength,
    canonical_json,
    digest,
)
from pytest_hush.model.pack import (
    Control,
    Disclosure,
    Fact,
    History,
    Invitation,
    Pack,
    Persona,
    PositiveControl,
    Probe,
    Session,
    SessionFact,
    Turn,
)
from pytest_hush.model.record import (
    Record,
)

__all__ = [
    "BOUNDARY",
    "CATEGORIES",
    "DEMONSTRATION_MODELS",
    "FAMILIES",
    "MEASURED",
    "NONE",
    "STRENGTHS",
    "Case",
    "CaseKind",
    "Category",
    "Condition",
    "Context",
    "Control",
    "ControlKind",
    "DigestFact",
    "Disclosure",
    "Entry",
    "Exposure",
    "Fact",
    "FactKind",
    "Family",
    "History",
    "Invitation",
    "JudgeView",
    "Judgement",
    "Message",
    "Pack",
    "Persona",
    "PositiveControl",
    "Probe",
    "Prompt",
    "Record",
    "Reply",
    "Role",
    "Session",
    "SessionFact",
    "Status",
    "Strength",
    "Turn",
    "Usage",
    "canonical_json",
    "digest",
]
