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
    (date,) = dates_between(persona.sessions, index, 1)
    planted = Session(disclosure.session_id, date, disclosure.turns)
    return History(
        persona=persona,
        sessions=(*persona.sessions[:index], planted, *persona.sessions[index:]),
        disclosure=disclosure,
        planted=disclosure.session_id,
        planted_turn=disclosure.turn_id,
        ambient_labelled=pack.ambient_labelled,
    )


def plant_shared(pack: Pack, persona: Persona | str, disclosure: Disclosure | None = None) -> History:
    """The persona's history with the sessions of all its disclosures in it, each in the place that `plant` gives it.

    `disclosure` is the one that is asked about, the rest are its `siblings`; None: nothing is, as for the positive
    controls. The sessions and so the fingerprint are the same for all. Those that share a place stand in the order
    of the pack, their dates spread evenly between the neighbours of the place. Raises `PackError` as `plant` does.
    """
    found = find_persona(pack, persona) if isinstance(persona, str) else persona
    count = len(found.sessions)
    own = [d for d in pack.disclosures if d.persona == found.id]
    places: dict[int, list[Disclosure]] = {}
    for d in own:
        places.setdefault(planted_index(d.position, count), []).append(d)
    sessions: list[Session] = []
    for index in range(count + 1):
        here = places.get(index, [])
        dates = dates_between(found.sessions, index, len(here)) if here else []
        sessions += [Session(d.session_id, date, d.turns) for d, date in zip(here, dates, strict=True)]
        sessions += found.sessions[index : index + 1]
    return History(
        persona=found,
        sessions=tuple(sessions),
        disclosure=disclosure,
        planted=None if disclosure is None else disclosure.session_id,
        planted_turn=None if disclosure is None else disclosure.turn_id,
        ambient_labelled=pack.ambient_labelled,
        siblings=tuple(d for d in own if disclosure is None or d.id != disclosure.id),
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


def dates_between(sessions: Sequence[Session], index: int, count: int) -> list[str]:
    """`count` dates before session `index`, evenly apart; a day apart where none comes after."""
    before = datetime.strptime(sessions[index - 1].date, DATE_FORMAT)
    if index >= len(sessions):
        return [(before + timedelta(days=i)).strftime(DATE_FORMAT) for i in range(1, count + 1)]
    gap = (datetime.strptime(sessions[index].date, DATE_FORMAT) - before) // timedelta(minutes=1)
    return [(before + timedelta(minutes=gap * i // (count + 1))).strftime(DATE_FORMAT) for i in range(1, count + 1)]
