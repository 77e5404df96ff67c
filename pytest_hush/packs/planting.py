"""Planting: the history that one memory ingests, with the disclosure's session in its place and dated.

Deterministic: the same pack and disclosure give the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pytest_hush.errors import PackError
from pytest_hush.model import Disclosure, History, Pack, Persona, Session
from pytest_hush.packs.schema import DATE_FORMAT


def plant(pack: Pack, disclosure: Disclosure) -> History:
    """The persona's history with the disclosure's session planted in it.

    The session goes to index floor(position * n) of the n background sessions, at least 1, so that a history
    never opens with it; its date is midway between its neighbours', to the minute. Raises `PackError` when
    the pack lacks the persona or the persona has no sessions.
    """
    persona = find_persona(pack, disclosure.persona)
    index = planted_index(disclosure.position, len(persona.sessions))
    date = _date_between(persona.sessions, index)
    planted = Session(disclosure.session_id, date, disclosure.turns)
    return History(
        persona=persona,
        sessions=(*persona.sessions[:index], planted, *persona.sessions[index:]),
        disclosure=disclosure,
        planted=disclosure.session_id,
        planted_turn=disclosure.turn_id,
        ambient_labelled=pack.ambient_labelled,
    )


def background(pack: Pack, persona: Persona | str) -> History:
    """The persona's history with nothing planted: what the positive controls are asked on."""
    found = find_persona(pack, persona) if isinstance(persona, str) else persona
    return History(found, found.sessions, None, ambient_labelled=pack.ambient_labelled)


def find_persona(pack: Pack, persona_id: str) -> Persona:
    """The persona of that id with at least one session. Raises `PackError`."""
    for persona in pack.personas:
        if persona.id == persona_id:
            if not persona.sessions:
                raise PackError(f"pack {pack.name}: persona {persona_id} has no sessions; expected at least one.")
            return persona
    known = ", ".join(p.id for p in pack.personas)
    raise PackError(f"pack {pack.name}: no persona {persona_id!r}; expected one of {known}.")


def planted_index(position: float, sessions: int) -> int:
    """floor(position * sessions), at least 1; in tenths, so that no rounding of a float moves a session."""
    return max(1, round(position * 10) * sessions // 10)


def _date_between(sessions: Sequence[Session], index: int) -> str:
    before = datetime.strptime(sessions[index - 1].date, DATE_FORMAT)
    if index >= len(sessions):
        return (before + timedelta(days=1)).strftime(DATE_FORMAT)
    after = datetime.strptime(sessions[index].date, DATE_FORMAT)
    minutes = (after - before) // timedelta(minutes=2)
    return (before + timedelta(minutes=minutes)).strftime(DATE_FORMAT)
