"""Why an entry was shown or kept back, in words that can be put before the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import shorten
from typing import Literal

Action = Literal["shown", "abstracted", "ask first", "kept back", "withdrawn", "expired"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision on one entry. `why` is a sentence part; `sources` and `date` say where the entry comes from.

    `label` says by which words the entry was found sensitive, empty for one that is not. `turn` is the user's turn.
    """

    entry: str
    action: Action
    why: str
    categories: tuple[str, ...] = ()
    label: str = ""
    sources: tuple[str, ...] | None = None
    date: str = ""
    turn: str = ""


def explain(decisions: Iterable[Decision], *, turns: bool = False) -> list[str]:
    """A line for each decision: what was done with which entry, from where, and why. No entry is quoted.

    With `turns` a line before those of each user's turn says which one it is, by its first words.
    """
    lines = []
    before: str | None = None
    for d in decisions:
        if turns and d.turn != before:
            lines.append(f"for the turn {shorten(d.turn, 80, placeholder='…')!r}:")
            before = d.turn
        told = f" of {d.date[:10]}" if d.date else ""
        known = "" if d.sources is None else f" (from {', '.join(d.sources)})" if d.sources else ""
        kind = f"; sensitive by {d.label}" if d.label else ""
        lines.append(f"{d.action}: entry {d.entry}{told}{known}: {d.why}{kind}")
    return lines
