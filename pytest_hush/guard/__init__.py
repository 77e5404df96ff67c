"""Permission gates around any memory: a reference cure that can be shipped (``docs/guide/guard.md``).

Four decisions are kept apart: *storage* (what is sensitive, and how long it stays), *retrieval* (which kinds are
silent by default), *warrant* (does the current turn bring the matter up, or ask for earlier context?) and *scope* (how
much may be said). Each is logged with its reason. Nothing here needs a key or a network.
"""

from __future__ import annotations

from pytest_hush.guard.decide import Filtered, filter_entries
from pytest_hush.guard.labels import Label, Labeller
from pytest_hush.guard.log import Decision, explain
from pytest_hush.guard.memory import GuardedMemory
from pytest_hush.guard.revoke import Revocation, find_revocations
from pytest_hush.guard.rules import Rules, rules_for
from pytest_hush.guard.settings import GuardSettings
from pytest_hush.guard.warrant import Warrant, WarrantReader

__all__ = [
    "Decision",
    "Filtered",
    "GuardSettings",
    "GuardedMemory",
    "Label",
    "Labeller",
    "Revocation",
    "Rules",
    "Warrant",
    "WarrantReader",
    "explain",
    "filter_entries",
    "find_revocations",
    "rules_for",
]
