"""Six sessions with a plant, and the five without it."""

from __future__ import annotations

from dataclasses import replace

from pytest_hush.model import History
from tests.unit.memories.histories import DISCLOSURE, PERSONA, PLANTED, session

MORE = (
    session("p1-s4", "2025-03-17T18:00", "My sister visits from Ghent on Sunday.", "What will you show her?"),
    session("p1-s5", "2025-03-24T18:00", "I planted leeks and chard today.", "When do they come up?"),
)
SESSIONS = (*PERSONA.sessions, *MORE)
SIX = History(
    replace(PERSONA, sessions=SESSIONS),
    (*SESSIONS[:2], PLANTED, *SESSIONS[2:]),
    DISCLOSURE,
    PLANTED.id,
    PLANTED.turns[2].id,
    True,
)
BARE = replace(SIX, sessions=SESSIONS, disclosure=None, planted=None, planted_turn=None)
