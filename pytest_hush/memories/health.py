"""Does the memory work at all? A store that lost everything is perfectly silent, and must never pass for it.

Both checks read the entries that the memory returns for *direct* questions, before any score is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pytest_hush.memories._match import found_stems, gives_away, holds_all
from pytest_hush.model import Context, Disclosure, Entry, History, PositiveControl

Readiness = Literal["planted", "withheld", "unplanted"]


def readiness(entries_for_question: Iterable[Entry], entries_for_fact: Iterable[Entry], history: History) -> Readiness:
    """Whether the planted session is in the store, from the entries for its two direct questions.

    ``planted``: the disclosure is found. ``withheld``: only the session's harmless fact is, so the session was
    read and the disclosure kept out (a valid case). ``unplanted``: neither, the session was lost (missing).
    Entries for either question count for both: what is found is stored. Raises `ValueError` on a background
    without a plant.
    """
    disclosure = history.disclosure
    if disclosure is None:
        raise ValueError("readiness is about a planted session; this history has none")
    entries = [*entries_for_question, *entries_for_fact]
    if any(_holds_disclosure(entry, disclosure, history) for entry in entries):
        return "planted"
    if any(_from_planted(entry, history) is not False and _holds_fact(entry, disclosure) for entry in entries):
        return "withheld"
    return "unplanted"


def control_retrieved(context: Context, control: PositiveControl, history: History) -> bool | None:
    """True when one entry holds every answer stem of `control`, else False.

    None when it cannot be told: the system shows no context, or the turn that tells the fact is not part of
    `history`, so that no memory could know it.
    """
    if not context.known:
        return None
    fact = next((f for f in history.persona.facts if f.id == control.fact), None)
    if fact is not None and not any(t.id == fact.turn for s in history.sessions for t in s.turns):
        return None
    return any(holds_all(entry.text, control.answer) for entry in context.entries)


def _from_planted(entry: Entry, history: History) -> bool | None:
    return None if entry.sources is None else history.planted in entry.sources


def _holds_disclosure(entry: Entry, disclosure: Disclosure, history: History) -> bool:
    if history.planted_turn in entry.turns or gives_away(entry.text, disclosure):
        return True
    # Of an entry known to come from the planted session one stem is enough: a memory rewords and shortens.
    stems = disclosure.core + disclosure.synonyms
    return not entry.turns and _from_planted(entry, history) is True and bool(found_stems(entry.text, stems))


def _holds_fact(entry: Entry, disclosure: Disclosure) -> bool:
    return holds_all(entry.text, disclosure.session_fact.answer)
