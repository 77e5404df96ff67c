"""A history as lines of text, and the words that its page and picture share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_hush.report.compare_text import level, when
from pytest_hush.report.history import Entry, History, Line
from pytest_hush.report.terminal import wrapped
from pytest_hush.store import revision_text
from pytest_hush.text import number_of

BREAK = "The instrument changed here: figures on its two sides are not comparable"
LEGEND = "UIS, 0 to 100, higher is worse; [lower, upper]: each bound one-sided, as it was saved."


def place_name(entry: Entry) -> str:
    """What an entry is called: its commit, else its file."""
    return revision_text(entry.revision) or entry.name


def value_of(entry: Entry, line: Line) -> Mapping[str, Any] | None:
    """The level of `line`'s condition in `entry`, None where it has none."""
    return next((e for (m, c), e in entry.values.items() if line.name in (c, f"{c} · {m}")), None)


def render(history: History, *, width: int = 100) -> list[str]:
    """The history in lines of at most `width` cells (80 at least), the oldest first."""
    width = max(80, width)
    lines = [f"UIS over {number_of(len(history.entries), 'saved baseline')}, the oldest first"]
    for entry in history.entries:
        if entry.broken:
            lines += wrapped(f"---- {BREAK} ({'; '.join(entry.broken)})", width)
        head = " ".join(p for p in (when(entry.measured), place_name(entry)) if p)
        lines += wrapped(head if head.endswith(entry.name) else f"{head} ({entry.name})", width)
        for line in history.lines:
            found = value_of(entry, line)
            if found is not None:
                lines += wrapped(f"    {line.name}: {level(found)} of {found['n']}/{found['planned']} cases", width)
        if entry.changed:
            lines += wrapped(f"    changed: {'; '.join(entry.changed)}", width)
    for name, why in history.left_out:
        lines += wrapped(f"left out: {name}: {why}", width)
    return [*lines, "", *wrapped(LEGEND, width)]
