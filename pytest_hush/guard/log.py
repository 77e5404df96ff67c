"""Why an entry was shown or kept back, in words that can be put before the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Action = Literal["shown", "abstracted", "ask first", "kept back", "withdrawn", "expired"]
SHOWN: Final[frozenset[str]] = frozenset({"shown", "abstracted", "ask first"})
"""Actions after which something of the entry stands in the memory block."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision on one entry. `why` is a sentence part; `sources` and `date` say where the entry comes from.

    `label` says by which words the entry was found sensitive, empty for one that is not.
    """

    entry: str
    action: Action
    why: str
    categories: tuple[str, ...] = ()
    label: str = ""
    sources: tuple[str, ...] | None = None
    date: str = ""


def explain(decisions: Iterable[Decision]) -> list[str]:
    """A line for each decision: what was done with which entry, from where, and why. No entry is quoted."""
    lines = []
    for d in decisions:
        told = f" of {d.date[:10]}" if d.date else ""
        known = "" if d.sources is None else f" (from {', '.join(d.sources)})" if d.sources else ""
        kind = f"; sensitive by {d.label}" if d.label else ""
        lines.append(f"{d.action}: entry {d.entry}{told}{known}: {d.why}{kind}")
    return lines
