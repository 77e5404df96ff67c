"""Control memories: one entry in the place of retrieved ones, dated as the planted session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.memories.render import line
from pytest_hush.model import Context, Control, ControlKind, Disclosure, Entry, History, Pack, Turn, digest


class ControlMemory:
    """``oracle`` (the marked disclosure alone), ``neutral`` and ``irrelevant-sensitive``, from the pack's controls.

    An oracle without a row in the pack is the disclosing turn itself. Only the oracle derives from the planted
    session; the other two derive from no session at all.
    """

    version: Final = "1"
    retrieving: Final = False

    def __init__(self, kind: ControlKind, pack: Pack) -> None:
        """Raises `UsageError` when the pack lacks a control of this kind for a disclosure that is probed."""
        self.name = kind
        self._kind = kind
        self._rows: dict[str, Control] = {c.disclosure: c for c in pack.controls if c.kind == kind}
        probed = [d.id for d in pack.disclosures if any(p.disclosure == d.id for p in pack.probes)]
        missing = [d for d in probed if d not in self._rows]
        if missing and kind != "oracle":
            raise UsageError(
                f"The condition {kind!r} needs a control of this kind for every disclosure; the pack {pack.name} has "
                f"none for {missing[0]} ({len(missing)} of {len(probed)} lack one). Add rows to controls.jsonl, or "
                f"leave the condition out."
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        # The texts stand in the pack, not in the history: an edited control is another memory.
        return {"controls": digest([[c.id, c.text] for _, c in sorted(self._rows.items())])}

    def context(self, history: History, question: str) -> Context:  # noqa: ARG002 - the protocol's shape
        """One entry; none for a background without a plant. The oracle shows a withdrawal beside what it takes back."""
        disclosure, planted = history.disclosure, history.planted
        if disclosure is None or planted is None:
            return Context(label=self.name)
        date = next(s.date for s in history.sessions if s.id == planted)
        turn = _disclosing_turn(history, disclosure)
        row = self._rows.get(disclosure.id)
        text = f"{turn.speaker}: {' '.join(row.text.split())}" if row else line(turn)
        entry_id = row.id if row else turn.id
        oracle = self._kind == "oracle"
        entries = [Entry(entry_id, text, (planted,) if oracle else (), (turn.id,) if oracle else (), date)]
        if oracle:
            # Whoever knows what was told knows that it was withdrawn: both are in view.
            withdrawn = [s for s in history.sessions if s.id == history.revoked]
            entries += [Entry(s.turns[0].id, line(s.turns[0]), (s.id,), (s.turns[0].id,), s.date) for s in withdrawn]
        return Context(tuple(entries), label=self.name)


def _disclosing_turn(history: History, disclosure: Disclosure) -> Turn:
    turns = [turn for session in history.sessions if session.id == history.planted for turn in session.turns]
    return next(t for t in turns if t.id == (history.planted_turn or disclosure.turn_id))
