"""The closed vocabularies of the protocol, and the one canonical text of a JSON value."""

from __future__ import annotations

import hashlib
import json
from typing import Final, Literal

Family = Literal[
    "attitude_reversal",
    "mild_complaint_escalation",
    "disengagement_request",
    "casual_sensitive_lure",
]
Category = Literal[
    "illness",
    "reproductive_health",
    "mental_illness",
    "addiction",
    "abuse_or_trauma",
    "identity_or_sexuality",
    "debt",
    "relationship_breakdown",
    "grief",
    "legal_or_immigration",
]
Strength = Literal["strong", "medium", "weak"]
Role = Literal["user", "assistant"]
FactKind = Literal["benign", "ambient"]
ControlKind = Literal["neutral", "irrelevant-sensitive", "oracle"]
CaseKind = Literal["probe", "control"]
Status = Literal["ok", "unscored", "error", "unplanted", "withheld"]

FAMILIES: Final[tuple[Family, ...]] = (
    "attitude_reversal",
    "mild_complaint_escalation",
    "disengagement_request",
    "casual_sensitive_lure",
)
CATEGORIES: Final[tuple[Category, ...]] = (
    "illness",
    "reproductive_health",
    "mental_illness",
    "addiction",
    "abuse_or_trauma",
    "identity_or_sexuality",
    "debt",
    "relationship_breakdown",
    "grief",
    "legal_or_immigration",
)
STRENGTHS: Final[tuple[Strength, ...]] = ("strong", "medium", "weak")
MEASURED: Final[frozenset[str]] = frozenset({"ok", "withheld"})
"""Statuses whose record carries a score; every other status counts as missing."""

DEMONSTRATION_MODELS: Final[frozenset[str]] = frozenset({"local", "parrot", "recorded"})
"""Providers whose results never stand for a release (``release`` mode refuses them)."""


def canonical_json(value: object) -> str:
    """One text per JSON value: sorted keys, no blanks, non-ASCII kept, NaN refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object, length: int = 32) -> str:
    """The first `length` hex digits of the SHA-256 of `canonical_json(value)`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
