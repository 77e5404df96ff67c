"""Answers the two questions that A-Mem puts to a language model, without one: the same note, the same answer.

A-Mem has no mode without a model. This one keeps what was said and glosses it with words of its own, so that nothing
enters a note but the turn itself, and no note changes another.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pytest_hush.model import digest
from pytest_hush.packs.lexicon import Lexicon, lexicon
from pytest_hush.text import words

NAME: Final = "verbatim-analyser"
KEYWORDS: Final = 5
CONTEXT_WORDS: Final = 12
_VERSION: Final = 1
_LANGUAGES: Final = ("en", "de")
_CLAUSE: Final = re.compile(r"[.!?…;:,]+(?=\s|$)|\s[-–—]+\s")
_SHORTEST_CLAUSE: Final = 3


def analyser_version() -> str:
    """Changes with this module's rules and with the function words that it leaves out."""
    return f"{_VERSION}-{digest([sorted(known.stopwords) for known in _lexicons()], 8)}"


def analyse(note: str) -> dict[str, Any]:
    """Keywords, context and tags of a note of the form ``Speaker: what was said``.

    Keywords are the longest content words, since long words are the rare ones (Zipf's law of abbreviation); the
    context is the clause with the most of them; the tags say what kind of text it is. A name of the speaker is no
    keyword.
    """
    speaker, _, said = note.partition(": ")
    names = words(speaker)
    language = _language(said)
    content = dict.fromkeys(language.content_words(said))
    telling = [word for word in content if word.isalpha() and word not in names]
    return {
        "keywords": sorted(telling, key=len, reverse=True)[:KEYWORDS],
        "context": _main_clause(said, language) or "General",
        "tags": ["conversation", "question" if "?" in said else "statement"],
    }


def no_evolution() -> dict[str, Any]:
    """The answer that leaves the new note and its neighbours as they are."""
    return {
        "should_evolve": False,
        "actions": [],
        "suggested_connections": [],
        "tags_to_update": [],
        "new_context_neighborhood": [],
        "new_tags_neighborhood": [],
    }


def _main_clause(said: str, language: Lexicon) -> str:
    """The first of the clauses that say most, or all of what was said where no clause is long enough."""
    clauses = [clause for clause in _CLAUSE.split(said) if len(clause.split()) >= _SHORTEST_CLAUSE]
    chosen = max(clauses, key=lambda clause: len(set(language.content_words(clause))), default=said)
    return " ".join(chosen.split()[:CONTEXT_WORDS])


def _language(text: str) -> Lexicon:
    """The lexicon most of whose function words stand in `text`; the first where none does."""
    return max(_lexicons(), key=lambda known: sum(word in known.stopwords for word in words(text)))


def _lexicons() -> list[Lexicon]:
    return [found for language in _LANGUAGES if (found := lexicon(language)) is not None]
