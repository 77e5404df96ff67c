"""The memory block: entries as the text that the generator reads, the same layout in every condition."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_hush.model import Entry, Session, Turn


def line(turn: Turn) -> str:
    """One turn as ``Speaker: text`` on one line; runs of white space become one blank."""
    return f"{turn.speaker}: {' '.join(turn.text.split())}"


def transcript(session: Session) -> str:
    """A session as one `line` a turn."""
    return "\n".join(line(turn) for turn in session.turns)


def render(entries: Iterable[Entry]) -> str:
    """The memory block: ``- [2025-03-14] text`` an entry, in the order given; no entries give ``""``.

    An entry of several lines (a whole session) gets its date as a heading and its lines indented below. Only
    an entry starts in the first column, so no text inside one can pass for another entry.
    """
    blocks: list[str] = []
    for entry in entries:
        lines = [part.rstrip() for part in entry.text.strip().splitlines() if part.strip()]
        # The day is enough: the minute of a planted session would be told apart from nothing.
        head = f"- [{entry.date[:10]}]" if entry.date else "-"
        if len(lines) == 1:
            blocks.append(f"{head} {lines[0].lstrip()}")
        elif lines:
            blocks.append("\n".join([head, *(f"  {part}" for part in lines)]))
    return "\n".join(blocks)
